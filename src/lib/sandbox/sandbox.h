/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A sandbox: what commands may do, and the session that they run in.
 *
 * The library has no threads of its own. Whoever waits for a command reads the control socket and
 * hands frames to the commands they are for, whichever thread waits for those. Of many threads that
 * wait, one at a time (the leader) polls the socket; each of the others polls the eventfd of its
 * process, which is raised when something came for it. A leader that leaves wakes another. Where an
 * update has made a new session, commands of the one before run on, and each has its own leader.
 *
 * `lock` guards what is marked so below and in process.h. It is held for moments only, except while
 * a new session is made, and never while code of the host runs.
 */
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"
#include "corral/sandbox.h"
#include "host/account.h"
#include "launch/broker.h"
#include "launch/wasm.h"
#include "lib/sandbox/backend.h"
#include "lib/sandbox/warden-link.h"
#include "policy/policy.h"
#include "wire/configure.h"

enum { SANDBOX_LAYERS_MAX = 64, SANDBOX_NEWS_MAX = 64 };

struct joined;
struct sandbox_lent;
struct sandbox_news;
struct sandbox_skill;

/* What does not change after building. Everything but the skill is in the arena. */
struct sandbox_base {
	struct arena arena;
	const struct sandbox_backend *backend;
	struct limits limits; /* beside those of the permissions */
	struct variables variables;
	const char *private; /* the folder of its own (private.h); NULL: none was needed */
	const char *warden;
	struct launch_broker broker; /* .program is NULL without one */
	const char *services;        /* sections of services.yaml for it; NULL: none */
	char http_token[65]; /* that the broker wants of HTTP clients; "": there is no HTTP */
	const int *ledger;   /* the builder's (sandbox_builder_share()); or NULL */
	const struct sandbox_lent *lent; /* the same (sandbox_builder_lend()) */
	const char *const *environment;  /* of the host, when the sandbox was built */
	char user[ACCOUNT_NAME_BYTES];   /* who runs the commands */
	/* Files and folders that are read for other commands */
	const char *guarded[CONFIGURE_GUARDED_MAX];
	uint32_t n_guarded;
	bool is_skill; /* $SKILL_DIR is a skill's, which its commands must not change */
	struct sandbox_skill *skill; /* a reference; NULL: it was not built from a manifest */
	bool serves;                 /* workers of it answer calls (lib/skill) */
	bool unapproved;             /* its entry may run although nobody approved it */
	corral_audit_sink *sink;
	void *context;
	bool no_daemon;           /* it does not join by itself */
	uint32_t ask_ms;          /* that a question waits for the daemon's answer */
	struct joined *of_others; /* whoever has the sandbox joined (an enclave); or NULL */
	/* Carries out what the daemon ordered there, if it can now. */
	void (*turn)(void *turns);
	void *turns;
};
void sandbox_base_deinit(struct sandbox_base *base);

struct change;
struct sandbox_reach;

/*
 * The permissions, from one update to the next. A command has those of the time at which it was
 * started, until its result is there; so they live as long as somebody holds a reference.
 */
struct sandbox_setup {
	atomic_uint refs;
	const struct sandbox_base *base; /* the sandbox's, which lives longer */
	struct permissions *permissions; /* all of them */
	struct policy *policy;           /* compiled from them */
	bool exec_listed;                /* some layer has a list of programs */
	bool is_offline;                 /* no host is granted or asked about */
	struct limits limits;
	/* What of the host's variables is granted (host/environment.h); NULL: each command asks. */
	const char *const *granted;
	struct arena arena; /* of it */
	/* Of a skill that is a module: what runs it; or why nothing can. */
	struct launch_wasm wasm;
	int wasm_code; /* 0: it can be run */
	struct error wasm_error;
	char *json; /* for the warden */
	size_t json_len;
	struct sandbox_reach *reach; /* for updates, and guarded by `updating`; NULL: not known */
};

/*
 * Where a sandbox went, or wanted to go, by target. None is ever dropped, so that their texts live
 * as long as the sandbox does. Zeroed: empty.
 */
struct destinations {
	struct corral_destination *items; /* in the order in which they came */
	size_t n, cap;
	uint16_t *slots; /* by the target's hash: the item's place, from 1; 0: free */
};
void destinations_deinit(struct destinations *d);

struct corral_sandbox {
	struct sandbox_base base;
	int null; /* /dev/null, for commands without input */

	/* The daemon; NULL: there is none. Set once, and used without the lock. */
	struct joined *_Atomic joined;
	_Atomic uint64_t looked_ms; /* for it */

	/* One update at a time. Taken before `lock`, never while that is held. */
	pthread_mutex_t updating;

	pthread_mutex_t lock; /* guards the rest */
	unsigned refs;        /* the host's, and one for each process */
	bool freed;
	struct sandbox_setup *setup; /* of commands that start now */
	uint64_t generation;         /* of it */
	struct warden_link *link;    /* for them; NULL: the next command makes one */
	struct sandbox_setup *built; /* what that link was made from; NULL without one */
	unsigned tier;
	struct corral_process *first; /* all that are not finished, also of links before this one */
	uint64_t last_id;
	struct corral_stats stats;
	struct destinations destinations;
	struct sandbox_news *first_news, *last_news; /* denials for the sink (sandbox/records.c) */
	size_t n_news;
};

/* The file that a new builder's permissions came from: commands may not change it. -ENOMEM. */
int sandbox_builder_set_source(struct corral_builder *b, const char *path);
/* One more path that commands may not change. -E2BIG, -ENOMEM; building fails with it, too. */
int sandbox_builder_guard(struct corral_builder *b, const char *path);
/*
 * What the sandbox uses counts together with others (wire/ledger.h); the descriptor must outlive
 * the sandbox.
 */
void sandbox_builder_share(struct corral_builder *b, const int *ledger);
/* Secrets are lent to it, by what must outlive the sandbox. */
void sandbox_builder_lend(struct corral_builder *b, const struct sandbox_lent *lent);
/* The skill that it was made from, which is the builder's; NULL: none. */
const struct sandbox_skill *sandbox_builder_skill(const struct corral_builder *b);
/* Its skill's module is for workers that answer calls (lib/skill), and for no others. */
void sandbox_builder_serve(struct corral_builder *b);
/* corral_builder_build() with one more layer; NULL: none. Secrets that its permissions name are not
 * lent: the caller lends them (sandbox_builder_lend()), or needs none. */
int sandbox_builder_build(struct corral_builder *b, const struct permissions *layer,
	struct corral_sandbox **ret, struct corral_error **e);
/*
 * The sandbox is a part of what joined already; it does not join by itself. j may be NULL. turn is
 * called while something waits there (joined_turn()), also by a thread that is about to start a
 * command.
 */
void sandbox_builder_joined(
	struct corral_builder *b, struct joined *j, void (*turn)(void *turns), void *turns);
/* Takes over *base and the permissions, also on failure. Makes the first session. */
int sandbox_new(struct corral_sandbox **ret, struct sandbox_base *base,
	struct permissions *permissions, struct error *e);
void sandbox_unref(struct corral_sandbox *s);
/* A mutex that a thread cannot wait for while it holds it: -EDEADLK. */
void sandbox_init_checked(pthread_mutex_t *m);

/* One out of several, all of which must allow; none at all: nothing is allowed. The caller's. */
int sandbox_combine(
	struct permissions **ret, const struct permissions *const *all, size_t n, struct error *e);
/* Compiles; takes over the permissions, also on failure. */
int sandbox_setup_new(struct sandbox_setup **ret, const struct sandbox_base *base,
	struct permissions *permissions, struct error *e);
struct sandbox_setup *sandbox_setup_ref(struct sandbox_setup *s);
void sandbox_setup_unref(struct sandbox_setup *s);
/* The parts (CORRAL_PART_…) that are not written the same; -ENOMEM. */
int sandbox_setup_compare(
	const struct permissions *a, const struct permissions *b, unsigned *ret_changed);
/*
 * Finds out what its network needs (`reach`), if that is not known yet; everything that is wrong
 * with that part is reported here, as it would be by a new session.
 */
int sandbox_setup_reach(struct sandbox_setup *s, struct error *e);
/* What a relay needs to know of it; points into s, whose reach is known. */
void sandbox_setup_describe(const struct sandbox_setup *s, struct change *ret);
/*
 * Whether a session that was built for `built`, and has been `now` since, can be made one for
 * `next` by its relay alone: it has a relay, and each socket that next needs. The reach of all
 * three is known.
 */
bool sandbox_setup_fits(const struct sandbox_setup *built, const struct sandbox_setup *now,
	const struct sandbox_setup *next);
/* A reference to the one for commands that start now. */
struct sandbox_setup *sandbox_hold_setup(struct corral_sandbox *s);

/* A session for that setup; nothing of the sandbox changes. */
int sandbox_new_link(const struct sandbox_setup *setup, struct warden_link **ret, struct error *e);
/* A reference to the link as it is now, or NULL; and to what it was made from. */
struct warden_link *sandbox_hold_link(struct corral_sandbox *s, struct sandbox_setup **ret_built);
/*
 * From now on commands have this setup, and run by `fresh`; both are taken over. If that is NULL
 * they run by the link that there is, if it is `kept`, or if `kept` is NULL. A link that is not
 * used for new commands any more lives on while its commands do.
 */
void sandbox_swap(struct corral_sandbox *s, struct sandbox_setup *setup, struct warden_link *fresh,
	const struct warden_link *kept);
/* New commands need another link, if none runs by this one; false: some do. */
bool sandbox_retire(struct corral_sandbox *s, struct warden_link *link);

/*
 * Gives p an id and a session to run in, a new one if need be. May wait for that. Then p is known
 * to the sandbox, until sandbox_remove(). 1: p's setup is not that of the sandbox any more; nothing
 * was done.
 */
int sandbox_add(struct corral_sandbox *s, struct corral_process *p, struct error *e);
void sandbox_remove(struct corral_sandbox *s, struct corral_process *p);
/* Hands out the frames that are there for everybody on that link; tells the sink of denials. */
void sandbox_dispatch(struct corral_sandbox *s, struct warden_link *link);
/* The same for the session as it is now, without telling: for calls that a sink may make. */
void sandbox_refresh(struct corral_sandbox *s);
/* With the lock held: takes a FRAME_RECORD. -EPROTO: a warden would not send that. */
int sandbox_record(struct corral_sandbox *s, const struct warden_link *link, const struct frame *f);
/* The same for a FRAME_EVENT, of the broker. */
int sandbox_call(struct corral_sandbox *s, const struct frame *f);
/* At the end: the session ends, and all that its broker says until then is told. */
void sandbox_finish(struct corral_sandbox *s, struct warden_link *link);
/* Without the lock: the denials that are queued. */
void sandbox_tell_news(struct corral_sandbox *s);
/*
 * Gives p's command to the init that the session lent, which saves the way through the warden.
 * -EAGAIN: there is none, or it is busy; other errors: the session is of no more use.
 */
int sandbox_start_directly(struct corral_sandbox *s, struct corral_process *p,
	const struct buffer *body, const int *fds, size_t n_fds, uint64_t timeout_ms);
/* Takes what that init said. False: p was not given to it, or has ended: what the warden said by
 * then is to be heard. */
bool sandbox_hear(struct corral_sandbox *s, struct corral_process *p);
/* Sends it a frame; -ENOTCONN: p was not given to it. */
int sandbox_tell_channel(
	struct corral_process *p, enum frame_type type, const void *body, size_t len);
/* The link does not work: all its commands are lost. */
void sandbox_lose(struct corral_sandbox *s, struct warden_link *link, const struct error *why);

/* With the lock held: whoever asked the link's relay for something looks again. */
void sandbox_wake_asker(const struct warden_link *link);
/* With the lock held: the lent init is of no more use, and the warden lets it end. */
void sandbox_drop_channel(struct warden_link *link);

/* Whether p is to poll the socket while it waits; and that it waits no more. */
bool sandbox_lead(struct corral_sandbox *s, struct corral_process *p);
void sandbox_follow(struct corral_sandbox *s, struct corral_process *p);

/*
 * Counts a command that was started, which has a reference to s from now on; and one that ended;
 * result NULL: it is not known how.
 */
void sandbox_count_start(struct corral_sandbox *s);
void sandbox_count_end(
	struct corral_sandbox *s, const struct corral_result *r, uint64_t stdin_bytes);
/* Counts one that was not; denials: how many of the policy's denials were in it. */
void sandbox_count_refusal(struct corral_sandbox *s, unsigned denials);

/* A number for what is reported like a command but is none of the warden's. */
uint64_t sandbox_next_id(struct corral_sandbox *s);
/*
 * Looks for a daemon, if there is none yet and no command runs: what it is to hear is redacted from
 * the first word on. env: the variables of a command that is to start, or NULL. If there are too
 * many values to keep out, it hears nothing from then on.
 */
void sandbox_join(struct corral_sandbox *s, const char *const *env);
/* Sends and hears. What the daemon ended is killed, for good: -ECANCELED, with a sentence. */
int sandbox_turn_joined(struct corral_sandbox *s, struct error *e);
/* As joined_fd() and joined_wait_ms(). */
int sandbox_joined_fd(struct corral_sandbox *s);
int sandbox_joined_wait_ms(struct corral_sandbox *s, int otherwise);

/* Hears what the holder has to say. */
void sandbox_live_turn(struct corral_sandbox *s, struct joined *j);
/*
 * With `updating` held: the permissions are others, or the daemon is new. All grants are over. And
 * before they are changed: all grants are over, and no order comes until they are declared.
 */
void sandbox_live_declare(struct corral_sandbox *s);
void sandbox_live_pause(struct corral_sandbox *s);
/* With the lock held: a session gets a holder, if there is one, and what is granted. */
void sandbox_live_begin(struct corral_sandbox *s, struct warden_link *link);

/* With the lock held: a question of a session's relay or broker, and its end. -EPROTO: a warden
 * would not send that. And of all questions of a session that was lost. */
int sandbox_live_question(
	struct corral_sandbox *s, struct warden_link *link, const struct frame *f);
int sandbox_live_question_over(
	struct corral_sandbox *s, struct warden_link *link, const struct frame *f);
void sandbox_live_forget(struct corral_sandbox *s, const struct warden_link *link);

/*
 * With `updating` held: sends a frame that is answered by one of the same type, and waits for that.
 * 0: it was without a body; else what it says, and e (may be NULL) has the sentence. -ECONNRESET:
 * the session has ended. One that does not answer is ended.
 */
int sandbox_ask(struct corral_sandbox *s, struct warden_link *link, enum frame_type type,
	uint64_t id, const struct buffer *body, struct error *e);
/* Sends a frame; waits a moment where the socket is full. */
int sandbox_send(struct warden_link *link, enum frame_type type, uint64_t id,
	const struct buffer *body, const int *fds, size_t n_fds);
/* Tells the audit sink, if there is one; kind, command … are set, the rest is filled in. */
void sandbox_tell(struct corral_sandbox *s, struct corral_event event);
