/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Events for the clients that listen. */
#include <stdint.h>

#include "base/buffer.h"

enum { BUS_KEPT = 256 }; /* events that a new corrald-http gets */

struct supervisor;

struct bus_event {
	uint64_t id;
	struct buffer body;
};

struct bus {
	struct bus_event kept[BUS_KEPT];
	uint64_t first_id, next_id;
};

/* Sends an event to all clients that listen; json is one object in one line. */
void bus_publish(struct supervisor *s, const char *type, const char *json);
/* The same without http_link_flush(), which the caller owes. */
void bus_add(struct supervisor *s, const char *type, const char *json);
/* What a new corrald-http has missed. */
void bus_repeat(struct supervisor *s);
void bus_begin(struct bus *b);
void bus_deinit(struct bus *b);
