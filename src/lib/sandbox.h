/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A sandbox: what commands may do, and the session that they run in.
 *
 * The library has no threads of its own. Whoever waits for a command reads the control socket and
 * hands frames to the commands they are for, whichever thread waits for those. Of many threads that
 * wait, one at a time (the leader) polls the socket; each of the others polls the eventfd of its
 * process, which is raised when something came for it. A leader that leaves wakes another.
 *
 * `lock` guards what is marked so below and in process.h. It is held for moments only, except while
 * a new session is made, and never while code of the host runs.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "corral/sandbox.h"
#include "jail/account.h"
#include "lib/destinations.h"
#include "lib/warden-link.h"
#include "policy/policy.h"

enum { SANDBOX_LAYERS_MAX = 64, SANDBOX_NEWS_MAX = 64 };

struct sandbox_news;

/* What does not change after building. Everything is in the arena, or owned besides. */
struct sandbox_setup {
	struct arena arena;
	struct permissions *permissions; /* all of them, owned */
	struct policy *policy;           /* compiled from them, owned */
	bool exec_listed;                /* some layer has a list of programs */
	struct limits limits;
	struct variables variables;
	const char *json; /* for the warden */
	size_t json_len;
	const char *warden;
	const char *const *environment; /* of the host, when the sandbox was built */
	char user[ACCOUNT_NAME_BYTES];  /* who runs the commands */
	corral_audit_sink *sink;
	void *context;
};

struct corral_sandbox {
	struct sandbox_setup setup;
	int null; /* /dev/null, for commands without input */

	pthread_mutex_t lock; /* guards the rest */
	unsigned refs;        /* the host's, and one for each process */
	bool freed;
	struct warden_link *link; /* NULL: the next command makes one */
	unsigned tier;
	struct corral_process *first; /* all that are not finished */
	struct corral_process *leader;
	uint64_t last_id;
	struct corral_stats stats;
	struct destinations destinations;
	struct sandbox_news *first_news, *last_news; /* denials for the sink (sandbox-records.c) */
	size_t n_news;
};

/* Takes over *setup, also on failure. Makes the first session. */
int sandbox_new(struct corral_sandbox **ret, struct sandbox_setup *setup, struct error *e);
void sandbox_setup_deinit(struct sandbox_setup *setup);
void sandbox_unref(struct corral_sandbox *s);

/*
 * Gives p an id and a session to run in, a new one if need be. May wait for that. Then p is known
 * to the sandbox, until sandbox_remove().
 */
int sandbox_add(struct corral_sandbox *s, struct corral_process *p, struct error *e);
void sandbox_remove(struct corral_sandbox *s, struct corral_process *p);
/* Hands out the frames that are there for everybody on that link; tells the sink of denials. */
void sandbox_dispatch(struct corral_sandbox *s, struct warden_link *link);
/* The same for the session as it is now, without telling: for calls that a sink may make. */
void sandbox_refresh(struct corral_sandbox *s);
/* With the lock held: takes a FRAME_RECORD. -EPROTO: a warden would not send that. */
int sandbox_record(struct corral_sandbox *s, const struct warden_link *link, const struct frame *f);
/* Without the lock: the denials that are queued. */
void sandbox_tell_news(struct corral_sandbox *s);
/*
 * Gives p's command to the init that the session lent, which saves the way through the warden.
 * -EAGAIN: there is none, or it is busy; other errors: the session is of no more use.
 */
int sandbox_start_directly(struct corral_sandbox *s, struct corral_process *p,
	const struct buffer *body, const int *fds, size_t n_fds, uint64_t timeout_ms);
/* Takes what that init said. False: p was not given to it, or has ended. */
bool sandbox_hear(struct corral_sandbox *s, struct corral_process *p);
/* Sends it a frame; -ENOTCONN: p was not given to it. */
int sandbox_tell_channel(
	struct corral_process *p, enum frame_type type, const void *body, size_t len);
/* The link does not work: all its commands are lost. */
void sandbox_lose(struct corral_sandbox *s, struct warden_link *link, const struct error *why);

/* Whether p is to poll the socket while it waits; and that it waits no more. */
bool sandbox_lead(struct corral_sandbox *s, struct corral_process *p);
void sandbox_follow(struct corral_sandbox *s, struct corral_process *p);

/* Counts a command that was started, and one that ended; result NULL: it is not known how. */
void sandbox_count_start(struct corral_sandbox *s);
void sandbox_count_end(
	struct corral_sandbox *s, const struct corral_result *result, uint64_t stdin_bytes);
/* Counts one that was not; denials: how many of the policy's denials were in it. */
void sandbox_count_refusal(struct corral_sandbox *s, unsigned denials);

/* Sends a frame; waits a moment where the socket is full. */
int sandbox_send(struct warden_link *link, enum frame_type type, uint64_t id,
	const struct buffer *body, const int *fds, size_t n_fds);
/* Tells the audit sink, if there is one; kind, command … are set, the rest is filled in. */
void sandbox_tell(struct corral_sandbox *s, struct corral_event event);
