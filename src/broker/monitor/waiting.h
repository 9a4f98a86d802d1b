/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Secrets that wait for the next exec.run of their connection (secret_inject): a name and a
 * variable each. They are taken by one call, whatever becomes of that, and end with their
 * connection.
 */
#include <stdint.h>

#include "base/arena.h"
#include "broker/monitor/lending.h"
#include "broker/service/rate.h"

enum { WAITING_ALL_MAX = 256, WAITING_CONNECTION_MAX = 8, WAITING_VARIABLE_MAX = 256 };

struct waiting_secret;

/* Of a monitor. Zeroed: empty. */
struct waiting_secrets {
	struct waiting_secret *first;
	struct service_rates rates;
	_Atomic size_t n_lent; /* programs with secrets that run */
};

/* One for a variable: the last one counts. Names and variables are no longer than they may be.
 * -EBUSY: too many wait. -ENOMEM. */
int waiting_add(
	struct waiting_secrets *w, uint64_t connection, const struct lending_secret *secret);
/* Those of the connection, in the arena; they wait no more. -ENOMEM. */
int waiting_take(struct waiting_secrets *w, uint64_t connection, struct arena *a,
	const struct lending_secret **ret, size_t *ret_n);
/* Of a connection that has ended; UINT64_MAX: of all. */
void waiting_end_of(struct waiting_secrets *w, uint64_t connection);
