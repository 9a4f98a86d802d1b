/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Starting a back end: first what it needs is gathered (its section, its password, its scopes, its
 * variables), which may read files; then the process is started.
 */
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "broker/service/chromium.h"
#include "broker/service/table.h"
#include "process/child.h"

/* Whom it serves. */
struct service_session {
	const char *sandbox;            /* a name for people; "" or NULL: none */
	const char *services;           /* sections that the host gave, or NULL */
	const char *home;               /* of the user, or NULL */
	const char *const *environment; /* the user's, NAME=value (launch/broker.h) */
	size_t n_environment;
	const char *const
		*layers; /* permissions, as in wire/broker.h; none: nothing is run inside */
	size_t n_layers;
	const struct variables *variables; /* of the permissions, or NULL */
	/* For what is started in a sandbox of its own: as the library finds it if NULL or ""; and
	 * who hears of what that sandbox refuses, or NULL. */
	const char *warden;
	corral_audit_sink *sink;
	void *sink_context;
	bool looks_only; /* nothing is to be started: what is missing is of interest */
};

struct service_start {
	const struct service_backend *backend;
	const char *program; /* absolute path */
	char **environment;
	struct buffer setup;       /* body of FRAME_SERVICE; it may have a password */
	struct chromium *chromium; /* or NULL */
	int fds[2];                /* that go along with the setup */
	size_t n_fds;
	struct arena arena;
	const char *uses; /* a folder or a server; "" or NULL: it needs none */
};

/* The value of a variable of the user's; NULL: it is not set. */
const char *service_variable(const struct service_session *s, const char *name);
/* Where the program of a back end is: CORRAL_BACKENDS, or where Corral was installed. */
const char *service_program(
	struct arena *a, const struct service_session *s, const struct service_backend *b);
/*
 * Reads services.yaml and gathers the rest. -ENOENT …: something is missing; the error says what,
 * and what to do. *ret is empty then. It does nothing that another thread could notice.
 */
int service_start_prepare(struct service_start *ret, const struct service_backend *b,
	const struct service_session *s, struct error *e);
/*
 * Starts it, and sends the setup. The caller ends it.
 */
int service_start_run(const struct service_start *s, struct child *ret);
void service_start_deinit(struct service_start *s);
