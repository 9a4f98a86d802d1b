/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of an enclave: enclave.c makes it; enclave/call.c is what every
 * tool begins and ends with; enclave/files.c, enclave/save.c, enclave/shell.c … are the tools;
 * enclave/policy.c changes it; enclave/questions.c has the answers.
 *
 * A tool is always the same: begin, find what is meant, permit (once), do it, tell.
 *
 * Tools take no lock to be judged: they pin the policy (policy-box.h) for as long as that takes.
 * `lock` is held by those who change the policy, and by shell_exec for the moment in which it gets
 * hold of the sandbox; never while code of the host runs, and never by somebody who holds a pin,
 * because a change waits for pins.
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "audit/trail.h"
#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "base/path.h"
#include "consent/consent.h"
#include "consent/policy-box.h"
#include "lib/api/handles.h"
#include "corral/enclave.h"
#include "lib/api/joined.h"
#include "lib/enclave/private.h"

enum {
	ENCLAVE_CEILING_MAX = 16,
	ENCLAVE_GRANTS_MAX = 4096,
	ENCLAVE_PRIVATE_MAX = 16,
	ENCLAVE_GUARDED_MAX = 48, /* with those that a builder adds they fit into a frame */
};

struct enclave_sandbox;
struct sandbox_lent;

/* private.c */
struct enclave_private {
	int fd;         /* held so that its number stays its own */
	uint64_t mount; /* that number */
};

struct corral_enclave {
	struct policy_box *box;
	struct audit_trail *trail; /* of `audit` */
	uint64_t max_file_bytes;

	/* The rest does not change, but for what the lock guards. */
	struct corral_audit *audit;
	bool owns_audit;
	struct joined *joined; /* the daemon hears what the audit does; NULL: there is none */
	bool exec_readable;    /* grants without a list of programs stay so */
	struct consent *consent;
	int answers; /* an eventfd: one was given; -1: none could be made */
	corral_ask *ask;
	void *context;
	corral_ask *own_ask; /* of the options */
	void *own_context;
	const char *asks_whom; /* enclave_ask_by(); NULL: whom the host's callback asks */
	uint64_t ask_ttl_ms, ask_count;
	char token[CORRAL_TOKEN_BYTES];
	struct arena arena; /* of the texts here */
	int root;           /* where files are looked up: a descriptor, or BENEATH_HOST */
	bool looks_outside; /* enclave_look_outside() */
	struct enclave_private private[ENCLAVE_PRIVATE_MAX];
	size_t n_private;
	struct variables variables;
	const char *real_home;                    /* where $HOME leads; NULL: nowhere */
	const char *warden;                       /* or NULL */
	const int *ledger;                        /* of its sandboxes; or NULL */
	const char *guarded[ENCLAVE_GUARDED_MAX]; /* what no command may change */
	size_t n_guarded;
	struct permissions *ceiling[ENCLAVE_CEILING_MAX];
	size_t n_ceiling;
	bool ceiling_grants; /* the user may grant all that it allows */

	pthread_mutex_t session_lock;
	char session[HANDLES_SESSION_BYTES]; /* session_id of what is granted, or "" */
	pthread_mutex_t lock;                /* guards what follows */
	struct permissions *granted;
	struct enclave_sandbox *sandboxes;
	struct permissions *writable;  /* whatever was granted for writing, ever */
	struct permissions *contested; /* enclave_links_drop(); NULL: none */
	struct joined_change live;     /* what the user granted at the daemon: live.c */
	_Atomic uint64_t live_ends_ms; /* of CLOCK_BOOTTIME: the first of it; UINT64_MAX: none */
	_Atomic bool is_over;          /* some of that cannot be taken back: nothing is done */
};

/* One call of a tool, on the stack of whoever made it. */
struct enclave_call {
	struct corral_enclave *enclave;
	const char *actor; /* never NULL */
	bool nameless; /* the caller gave one, in a struct without a size: nothing is permitted */
	uint32_t pid;
	enum audit_action action;
	const char *target; /* as the caller named it, but absolute; never NULL */
	/*
	 * What somebody is asked about, and agrees to: exactly these bytes. NULL: the target of the
	 * last request, so that is to be the thing itself: where a file really is, not the name
	 * that led there.
	 */
	const char *object;
	const struct request *asked; /* what that is, while enclave_permit() asks */
	uint64_t began_ns;
	uint64_t sent, received; /* for the audit: bytes written, bytes read */
	unsigned private;        /* bit i: request i is about something on a private place */
	bool approved;           /* not by the policy alone: the user agreed */
	char rule[256];          /* that allowed it */
	char placed[PATH_BYTES]; /* a target that was relative */
};

/* Fills *c. by may be NULL. */
void enclave_begin(struct enclave_call *c, struct corral_enclave *enclave,
	const struct corral_by *by, enum audit_action action, const char *target);
/*
 * Judges all n requests by one and the same policy: the strictest verdict counts. "ask" uses an
 * approval (one for the call, for c->object and the last request's operation), or asks. 0: allowed;
 * nothing was reported yet. Requests in c->private need no grant; what a rule or the baseline says
 * about them counts. Otherwise it was told to the audit, and *e is filled: -EACCES, -EINPROGRESS.
 * Call it once.
 */
int enclave_permit(
	struct enclave_call *c, const struct request *requests, size_t n, struct corral_error **e);
/*
 * What the policy alone says about them now: nothing is asked, used or told. For finding out what
 * is meant: a name that is denied need not be looked up. VERDICT_ALLOW permits nothing yet.
 */
enum verdict enclave_look(const struct enclave_call *c, const struct request *requests, size_t n);
/* Whether it was granted while the sandbox runs (policy/algebra/ceiling.h), in some layer. */
bool enclave_is_agreed(const struct enclave_call *c, const struct request *r);
/* One request by a pinned policy; on a private place by what rules and the baseline say alone. */
enum verdict enclave_decide(
	const struct policy *p, const struct request *r, bool is_private, struct decision *ret);
/* Refused for a reason of its own (a FIFO, too large …): tells, fills *e, returns code. */
int enclave_refuse(struct enclave_call *c, int code, struct corral_error **e, const char *format,
	...) __attribute__((format(printf, 4, 5)));
/*
 * It was done (r >= 0), or it was allowed and did not work (r < 0: a negative errno, and *e is
 * filled with its words). Tells; returns r.
 */
int enclave_done(struct enclave_call *c, int r, struct corral_error **e);
/* Records name the session of what is granted from now on; NULL: there is none. */
void enclave_set_session(struct corral_enclave *enclave, const struct corral_permissions *granted);
/* Tells the audit, whatever there is to tell. Texts may be NULL. */
void enclave_tell(const struct enclave_call *c, enum audit_decision decision, const char *rule,
	const char *reason);
/* The same for what no tool did: a policy that changed, a session that ended. */
void enclave_note(struct corral_enclave *enclave, enum audit_action action,
	enum audit_decision decision, const char *target, const char *reason);
/* True if the policy of now denies some paths: then a second name of a file could dodge it. */
bool enclave_denies_paths(struct corral_enclave *enclave);

/* An event, for the audit and the daemon. */
void enclave_record(struct corral_enclave *enclave, const struct audit_event *event);
/* The same for one of a sandbox. */
void enclave_record_sandbox(struct corral_enclave *enclave, const struct corral_event *event);

/*
 * live.c: what the user grants at the daemon. With the lock held: the host declared something, and
 * all of that is over.
 */
void enclave_live_declare(struct corral_enclave *enclave);
/* The same, before it does so: nothing is granted until then. */
void enclave_live_pause(struct corral_enclave *enclave);
/* Whether the time of some grant is over. */
bool enclave_live_is_due(const struct corral_enclave *enclave);
/* Carries out what the daemon ordered, and ends what is over. With the lock held, without a pin. */
void enclave_live_held(struct corral_enclave *enclave);
/* The same without the lock; and answers. */
void enclave_live_turn(struct corral_enclave *enclave);
/* The same unless the lock is held, by this thread or another. */
void enclave_live_try(void *context);

/* questions.c: what the user answered at the daemon. */
void enclave_hear_answers(struct corral_enclave *enclave);

/* Milliseconds by a clock that cannot be set. */
uint64_t enclave_now_ms(void);
/* -EPERM with a sentence, and told to the audit, if it is not the enclave's token. */
int enclave_check_token(struct corral_enclave *enclave, const char *token, const char *what,
	struct corral_error **e);
/* A copy of grants (NULL: none) as an enclave keeps them: programs are a list, unless its options
 * say otherwise. */
struct permissions *enclave_adopt(
	const struct corral_enclave *enclave, const struct permissions *p);
/*
 * Ceiling and grants as they are to be judged, with what the user granted beside them (NULL:
 * nothing), and where one may write by them or could before. The caller owns both.
 */
int enclave_compile(struct policy **ret, struct permissions **ret_writable,
	const struct corral_enclave *enclave, const struct permissions *granted,
	const struct joined_change *live, struct error *e);
/* The layers of all of these, compiled. */
int enclave_policy_new(struct policy **ret, struct permissions *const *from, size_t n,
	const struct policy_options *o, struct error *e);

/*
 * grants.c: single grants in permissions, by operation and pattern: put one in, take it out, say
 * what differs between two sets. Permissions of several layers have a grant in every layer, because
 * all of them must allow.
 */

/* Whether an entry is this pattern alone. */
bool grants_has(const struct grant_list *list, const char *pattern);
/* The canonical spelling, in the arena. -EINVAL with a sentence. */
int grants_spell(
	enum operation op, const char *pattern, struct arena *a, const char **ret, struct error *e);
/* For the audit: of a variable without what it may be, which may be a secret. */
void grants_print(enum operation op, const char *pattern, struct buffer *out);
/* 1: it is new; 0: it was there already. -E2BIG: there are too many. The spelling is canonical. */
int grants_add(struct permissions *p, enum operation op, const char *pattern, struct error *e);
/* -ENOENT with a sentence and what would be near. */
int grants_remove(struct permissions *p, enum operation op, const char *pattern, struct error *e);
/* ", still granted by X" if others grant all of it, or a part; nothing if none does. */
int grants_rest(
	const struct permissions *p, enum operation op, const char *pattern, struct buffer *out);

/* "+fs.read /srv/**, -exec git": from a to b. */
void grants_diff(const struct permissions *a, const struct permissions *b, struct buffer *out);

/*
 * private.c: the root below which files are looked up, and the places in it that need no grant.
 */

/* What is set by options; -EINVAL … with a sentence. enclave->root must be BENEATH_HOST before. */
int enclave_private_set(
	struct corral_enclave *enclave, const struct corral_enclave_options *o, struct error *e);
void enclave_private_drop(struct corral_enclave *enclave);
/* Whether what a descriptor stands for lies on a private place. */
bool enclave_private_has(const struct corral_enclave *enclave, int fd);
/*
 * Something is mounted over that name. Below a root in another mount namespace the kernel does not
 * keep a mount point from being deleted or replaced: it takes off what is mounted there, a mask
 * too.
 */
bool enclave_private_is_mount_point(const struct corral_enclave *enclave, int folder, int fd);
/*
 * For the time in which files are looked up, opened and named below a root: the calling thread
 * gives up the rights to pass by their modes, which root has and its commands do not have. Not
 * while the host's code runs, or the log is written.
 */
uint32_t enclave_private_suspend(const struct corral_enclave *enclave);
void enclave_private_resume(const uint32_t *suspended);
#define auto_enclave_suspend __attribute__((cleanup(enclave_private_resume), unused)) uint32_t
/* A file of /proc below a root: it is about processes that are not the caller's. */
bool enclave_private_is_proc(const struct corral_enclave *enclave, int fd);

/*
 * place.c: what a path means: found without following anything that was not judged, permitted, and
 * held by a descriptor, so that whatever is done to it is done to what was judged.
 */

enum enclave_wanted {
	ENCLAVE_THING, /* that is there */
	ENCLAVE_NAME,  /* in its folder, whether something has it or not; a link at the end is
			  followed */
	ENCLAVE_ENTRY, /* of its folder; a link at the end is itself meant */
};

struct enclave_place {
	char path[PATH_BYTES]; /* where it is, free of links */
	int root;              /* where it was looked up: the enclave's, or BENEATH_HOST */
	int folder;            /* O_PATH: what it lies in; -1 if that was not asked for */
	const char *name;      /* in that folder; points into path */
	int fd;                /* O_PATH: the thing itself; -1: nothing has that name yet */
	struct stat st;        /* of fd */
};

void enclave_place_deinit(struct enclave_place *p);
#define auto_enclave_place __attribute__((cleanup(enclave_place_deinit))) struct enclave_place

/*
 * Finds c->target, and has it permitted. 0: go ahead; there is something to tell then
 * (enclave_done). Otherwise it was reported, and *e is filled.
 */
int enclave_place_find(struct enclave_call *c, enum operation op, enum enclave_wanted wanted,
	struct enclave_place *ret, struct corral_error **e);

/* enclave_done(), which also tells where it was if links led there. */
int enclave_place_done(
	struct enclave_call *c, const struct enclave_place *p, int r, struct corral_error **e);

/* Of a new file, less the umask. */
enum { ENCLAVE_FILE_MODE = 0644 };
/* files.c: told and refused unless it is a plain file. */
int enclave_file_check(struct enclave_call *c, const struct stat *st, struct corral_error **e);
/* What a file is; ret->size says how much of it the caller knows. */
void enclave_file_fill(struct corral_file *ret, const char *name, const struct stat *st);

/*
 * inside.c: what a sandbox of an enclave may have of the permissions that the enclave judges by, as
 * launch/inside.h has it. A call that the enclave itself permitted by its arguments gets a sandbox
 * of its own, in which this one program runs, with any arguments if it starts itself again.
 *
 * Grants whose names go through links, for a jail. It follows links when a session is made, but for
 * those that lie where commands may write *now*. An enclave's grants change: the attack is a link
 * that was left where one could write before. Such grants are left out.
 */
struct enclave_links {
	const struct variables *variables;
	/* Allows writing wherever that is possible, or ever was; and where it is now. */
	const struct policy *ever, *now;
	/* What `ever` was made of. */
	const struct permissions *written;
};

/*
 * Takes the grants out of p, and of its layers, that a link leads elsewhere which lies where one
 * could write, ever. Denials stay. Returns how many.
 *
 * Those that stay, but lie where one could write before and cannot now, are added to `contested`
 * (its fs_read): for commands that still run from then, links there are a matter of a moment.
 * -ENOMEM.
 */
int enclave_links_drop(
	const struct enclave_links *l, struct permissions *p, struct permissions *contested);

/*
 * sandbox.c: the sandboxes of an enclave: one for its commands, made at the first; and one more for
 * each call of a program that may not run in that, for as long as the call takes. What changes in
 * the policy reaches them all before the change returns.
 */

struct enclave_sandbox {
	struct corral_enclave *enclave;
	struct corral_sandbox *sandbox;
	struct policy *policy; /* what may run in it */
	char *program;         /* that it was made for; NULL: for all */
	bool is_lent;          /* secrets are lent to it: it is for one command */
	/* Guarded by the enclave's lock. */
	unsigned refs;
	struct enclave_sandbox *next;
};

/*
 * With the lock held, which must not be let go before the command was started: the one in which
 * argv[0], a path, may run; made if need be. Until enclave_sandbox_unref(). lent: one of its own,
 * to which that is lent; or NULL.
 */
int enclave_sandbox_get(struct corral_enclave *enclave, const char *const *argv,
	const struct sandbox_lent *lent, struct enclave_sandbox **ret, struct corral_error **e);
/* Without the lock. */
void enclave_sandbox_unref(struct enclave_sandbox *s);

/*
 * With the lock held: gives them what is granted now. *u becomes what corral_sandbox_update() says,
 * of all of them. One that cannot be changed is ended, and told of: the next command has a new one.
 */
void enclave_sandbox_update(struct corral_enclave *enclave, struct corral_update *u);
/* With the lock held: all commands are killed. */
void enclave_sandbox_end_all(struct corral_enclave *enclave, const char *why);
/* Ends what is left. They are not used any more. */
void enclave_sandbox_drop(struct corral_enclave *enclave);
