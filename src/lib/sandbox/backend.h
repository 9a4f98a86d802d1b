/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Back ends: how the commands of a sandbox are run, one row each.
 *
 *     namespaces  a jail (docs/architecture.md): all that the permissions say is enforced, or
 *                 corral_builder_build() fails
 *     none        no jail: nothing is enforced, and results and events say so
 *
 * The builder chooses: `none` for mode rwx, and for nothing else. A back end that cannot be had
 * here is an error; no other takes its place.
 *
 * Both rows reach their commands through a warden, as a library must neither fork its host nor
 * depend on its SIGCHLD. The command line has other needs and does not use this table: `corral run`
 * holds the session itself (warden/session/session.h), one process less, and in mode rwx becomes
 * the command by execvp() (cli/run/plain.c), no process at all.
 */
#include <stdbool.h>

#include "base/arena.h"
#include "base/error.h"
#include "lib/sandbox/warden-link.h"
#include "wire/start.h"

struct corral_call;
struct corral_denial;
struct process_command;
struct sandbox_base;
struct sandbox_setup;

struct sandbox_backend {
	const char *name;
	bool enforces;
	/* Whether this system has what it needs, as far as that is known without trying. */
	int (*probe)(const struct sandbox_base *base, struct error *e);
	/* A session, which stands when this returns. */
	int (*set_up)(const struct sandbox_setup *setup, struct warden_link **ret, struct error *e);
	/*
	 * A command: s, whose argv and cwd are set, gets its environment and its program; the frame
	 * that starts it is the same for all. -EACCES: the policy forbids it, and *ret_denial, the
	 * caller's, says why.
	 */
	int (*command)(const struct sandbox_setup *setup, const struct process_command *c,
		const struct corral_call *call, struct arena *a, struct start *s,
		struct corral_denial **ret_denial, struct error *e);
	/* A script with its arguments, as a command (launch/program.h). */
	int (*script)(const char *path, const char *runtime, const char *const *args,
		struct arena *a, const char *const **ret, struct error *e);
	/* Ends the session with all that runs in it, and waits until it is gone. */
	void (*tear_down)(struct warden_link *link);
};

enum backend_kind { BACKEND_NAMESPACES, BACKEND_NONE, BACKEND_COUNT };
extern const struct sandbox_backend backends[BACKEND_COUNT];
