/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the writers of the formats share. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/store/log.h"

struct buffer;

typedef void export_writer(const struct audit_row *r, struct buffer *out);
export_writer export_jsonl, export_ocsf, export_cef, export_csv;

extern const char export_csv_head[];

enum { EXPORT_TIME_BYTES = 40, EXPORT_HASH_BYTES = 2 * HASH_BYTES + 1 };
/* "2026-01-02T03:04:05.123456789Z", whatever the time zone. */
const char *export_time(uint64_t time_ns, char out[EXPORT_TIME_BYTES]);
const char *export_hash(const struct hash *h, char out[EXPORT_HASH_BYTES]);

/* Where a connection goes, as its target has it: "host:443", "udp://[::1]:53", "unix:/run/x". */
struct export_host {
	const char *protocol; /* "tcp", "udp", "unix" */
	const char *name;     /* not NUL-terminated */
	size_t len;
	unsigned port; /* 0: none */
};
struct export_host export_host(const char *target);

/* Members of JSON objects. The comma in front comes by itself. */
void export_put_text(struct buffer *out, const char *key, const char *text);
void export_put_number(struct buffer *out, const char *key, uint64_t n);
void export_put_signed(struct buffer *out, const char *key, int64_t n);
void export_put_flag(struct buffer *out, const char *key, bool flag);
void export_open(struct buffer *out, const char *key);
void export_close(struct buffer *out);
