/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A headless Chromium in a sandbox of its own, for corral-browser (services/browser): its network
 * is the granted domains (broker/service/chromium-rights.h), and its only files are its profile, in
 * the sandbox's private /tmp, which is gone with it. The monitor starts it, because it may start
 * sandboxes, and reads nothing of what it says: the pipes of its DevTools protocol are handed to
 * corral-browser. docs/decisions/0058 says why it is so.
 */
#include <stdbool.h>
#include <stddef.h>

#include <corral/sandbox.h>

#include "base/error.h"
#include "base/path.h"

struct chromium;

struct chromium_options {
	const char *program;       /* an absolute path; NULL: the first of those that are usual */
	const char *warden;        /* "" or NULL: as the library finds it */
	const char *const *layers; /* permissions, as struct broker_setup has them */
	size_t n_layers;
	corral_audit_sink *sink; /* hears of hosts that were refused; or NULL */
	void *context;
};

/* Whether it is there, without starting it. */
int chromium_look(const struct chromium_options *o, struct error *e);
/*
 * Builds the sandbox and starts Chromium. Takes as long as a sandbox takes; any thread may call it.
 * -ENOENT: there is no Chromium; the error says what to install.
 */
int chromium_start(struct chromium **ret, const struct chromium_options *o, struct error *e);
/* The pipe that it reads commands from, and the one that it writes to; both are given away. */
int chromium_take_pipes(struct chromium *c, int ret[2]);
/* Readable when chromium_dispatch() has something to do: from then on, by one thread. */
int chromium_fd(const struct chromium *c);
/* Hears what the sandbox reports. True: it has ended. */
bool chromium_dispatch(struct chromium *c);
/* Ends it with all its processes, and waits for that. Accepts NULL. */
void chromium_free(struct chromium *c);

/* The program that would be started, in buffer; NULL: there is none. */
const char *chromium_find(const char *configured, char buffer[PATH_BYTES]);
