/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Back ends of services, as they would be started for a sandbox of this user. */
#include "base/arena.h"
#include "base/error.h"
#include "broker/service/start.h"

/* What was found: everything as text, for people. */
struct try_result {
	const struct service_backend *backend;
	const char *program;   /* its path */
	bool is_installed;     /* the program is there */
	bool is_ready;         /* what can be seen without starting it is there */
	bool was_tried, works; /* by try_run() */
	const char *text,
		*hint; /* what was found, or what is missing and what to do; "": nothing */
};

/* The session of this user, from the environment; in the arena. */
int try_session(struct arena *a, struct service_session *ret);
/* Looks, and starts nothing but what is of a desktop (services' table). */
int try_look(struct arena *a, const struct service_session *s, const struct service_backend *b,
	struct try_result *ret);
/* Starts it for one call. ret->works: it was done; else ret->text says why not. */
struct broker_call;
int try_call(struct arena *a, const struct service_session *s, const struct service_backend *b,
	const struct broker_call *call, uint32_t ms, struct try_result *ret);
/* Starts it, and lets it try what it serves. */
int try_run(struct arena *a, const struct service_session *s, const struct service_backend *b,
	struct try_result *ret);
