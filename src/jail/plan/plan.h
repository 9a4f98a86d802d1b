/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * From a policy to what the kernel is to hold: the list of mounts, links and files that make up the
 * tree a command sees. Making a plan looks at the host (it follows links, asks what exists) but
 * changes nothing; jail/tree.h carries it out.
 *
 * Everything is decided by asking the policy, so layers, rules, priorities and the baseline mean
 * here what they mean everywhere. The places that any pattern names cut the file system into
 * regions in which every path gets the same answer; a plan asks once for each region and puts a
 * mount where the answer changes. It costs what the number of patterns costs, never what lies in
 * the folders.
 *
 * What the kernel can't hold is refused with a sentence, never widened: see plan_new().
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "policy/network/address.h"
#include "policy/network/listen.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "policy/variable.h"

struct skill_archive;

enum plan_kind {
	PLAN_DIR,    /* an empty folder, read-only: on the way to something, or granted as itself */
	PLAN_LINK,   /* a symbolic link as the host has it; text: its target */
	PLAN_FILE,   /* a small read-only file of Corral's (/etc/passwd …); text: what is in it */
	PLAN_TMP,    /* an empty writable folder of the session's own */
	PLAN_BIND,   /* the host's file or folder of the same name; or that of the skill's copy */
	PLAN_MASK,   /* hides the host's file or folder of that name */
	PLAN_SOCKET, /* the relay's, in place of the host's socket (net/enter/doors.h) */
};

struct plan_entry {
	enum plan_kind kind;
	const char *path; /* absolute, normal, free of links on the host (but PLAN_LINK itself) */
	const char *text;
	bool is_base64; /* FILE: the text is that of bytes */
	bool is_dir;    /* BIND, MASK, FILE: what is there on the host */
	bool writable;  /* BIND; TMP is always */
	bool exec;      /* programs in it may run; false: mounted noexec */
	bool copied;    /* BIND: from the copy of a skill (plan.skill), not from the host */
	/* BIND: no mount, but a copy of the host's file, in the folder of the session's own around
	 * it. Programs can replace it; the holder puts it back (plan_options.replaces). */
	bool stands_in;
	/* BIND: a name in the shadow of a folder (plan/stand-ins.c): whatever file or folder of the
	 * host has it when the tree is made, to be read; none: it is left out. */
	bool live;
	bool over;    /* stands on a BIND, so that the host can pull it off by renaming: watch it */
	bool passing; /* on a socket that a server of the host may remove, or the way to it */
	bool is_found;     /* what a pattern matched: it may be removed or replaced any time */
	bool is_masked;    /* FILE: in place of one with secrets; for the user alone (0600) */
	uint64_t dev, ino; /* BIND, MASK: what was looked at, which the tree checks once more */
};

/* Something a person may want to know; nothing is wider than granted because of it. */
struct plan_note {
	const char *text;
	struct location where;
};

enum plan_network {
	PLAN_NETWORK_NONE,  /* a network of its own with nothing but loopback */
	PLAN_NETWORK_RELAY, /* the same, and a relay that leads to what is granted (net/relay.h) */
	PLAN_NETWORK_HOST,  /* the host's: only where everything is granted (or public_is_open) */
};

/* Of plan.appear. */
enum { PLAN_APPEAR_LAYER = '|', PLAN_APPEAR_ALLOW = '+', PLAN_APPEAR_DENY = '-' };

enum {
	/* Of the look for what matches a denial by pattern. */
	PLAN_FOUND_FOLDERS_MAX = 32768,
	PLAN_FOUND_NAMES_MAX = 524288,
	PLAN_FOUND_MATCHES_MAX = 1024,
	PLAN_PORTS_MAX = 32,
	PLAN_RANGES_MAX = 8,
	PLAN_SOCKETS_MAX = 64,
	PLAN_LITERALS_MAX = 256,
	PLAN_LISTENERS_MAX = 256,
	PLAN_STAND_INS_MAX = 32,
	PLAN_STAND_IN_BYTES = 8 << 20,
};

/* Of ports, of 127.0.0.0/8 and ::1. */
enum { PLAN_FAMILY_4 = 1, PLAN_FAMILY_6 = 2 };
struct plan_range {
	uint16_t lo, hi, families;
};

/* An address that a grant names, at one port. */
struct plan_literal {
	struct address address;
	uint16_t port;
};

/* Of a sandbox with a relay (net/dns/synthetic.h): its own address, and that of its name server. */
#define PLAN_SELF_4 "198.19.255.1"
#define PLAN_SERVER_4 "198.19.255.53"
/* Of one without a network: the same, on its loopback. */
#define PLAN_SELF_LOCAL "127.0.1.1"
#define PLAN_SERVER_LOCAL "127.0.0.53"

/*
 * Of a session with a broker: where commands find its socket, and the program that calls it. It is
 * in the private /dev, which the tree makes for every plan: no grant shows anything of the host
 * there, none takes it away, and nothing in it can be made, removed or renamed.
 */
#define PLAN_BROKER_FOLDER "/dev/corral"
#define PLAN_BROKER_SOCKET "broker.sock"
#define PLAN_BROKER_CALLER "sandbox-call"
/* A link to it: under this name it has the user's browser open the page of a login. */
#define PLAN_BROKER_OPENER "xdg-open"
#define PLAN_BROKER_OPENER_PATH PLAN_BROKER_FOLDER "/" PLAN_BROKER_OPENER
/*
 * Of a session that runs a WASM skill: the worker, the engine and the compiled module, each a file
 * of the host that may be mapped as code, in a folder of the private /dev for the same reasons.
 */
#define PLAN_WORKER_FOLDER "/dev/corral-wasm"
#define PLAN_WORKER_PROGRAM_PATH PLAN_WORKER_FOLDER "/corral-wasm"
enum plan_worker_file {
	PLAN_WORKER_PROGRAM,
	PLAN_WORKER_LIBRARY,
	PLAN_WORKER_MODULE,
	PLAN_WORKER_FILES
};
extern const char *const plan_worker_names[PLAN_WORKER_FILES];

/* Where it serves HTTP, if it does: of the sandbox's own loopback, where it has any port it likes.
 */
#define PLAN_BROKER_PORT 3849
#define PLAN_BROKER_URL "http://127.0.0.1:3849/rpc"

struct plan {
	struct arena arena;
	struct plan_entry *entries; /* sorted by path, a folder before what is in it */
	size_t n, cap;
	struct plan_note *notes;
	size_t n_notes, cap_notes;
	bool exec_listed;      /* some layer lists programs: no memfd may run either */
	const char **programs; /* then: the files that may run, each once; Landlock's EXECUTE */
	size_t n_programs, cap_programs;
	/* Forbidden to be read, not there, and visible if it appears: to be masked then. The
	 * baseline's own are not listed, but those of them that a policy lifts are. */
	const char **late, **spared;
	size_t n_late, cap_late, n_spared, cap_spared;
	/* Denials by pattern that are masked where they match: folders to watch ("/…"), then for
	 * each layer PLAN_APPEAR_LAYER and its rules about reading, strongest first: "+/pattern" or
	 * "-/pattern". The first that matches decides for its layer. */
	const char **appear;
	size_t n_appear, cap_appear;
	const char *home;      /* of the command */
	const char *home_real; /* where that is, without links */
	const char *work_dir;  /* where commands start unless told; NULL: home */
	enum plan_network network;
	/* No host is granted, nor can one be while it runs; also where a relay watches. */
	bool reaches_nothing;
	uint32_t ask_ms;                           /* of the options */
	struct listen_entry ports[PLAN_PORTS_MAX]; /* of the sandbox, to be published on the host */
	size_t n_ports;
	/* Of the host's loopback, that some layer names: the relay is to be asked for them. */
	struct plan_range loopback[PLAN_RANGES_MAX];
	size_t n_loopback;
	/* For kernels without nf_tables: all granted addresses, if one layer has nothing but names
	 * and addresses with their ports. Else `unheld` says what stands in the way. */
	struct plan_literal *literals;
	size_t n_literals, cap_literals;
	size_t n_listeners; /* as many sockets of each family as names may take */
	const char *unheld;
	struct limits limits;
	/* The copy of a skill; NULL: none. To the zygote it goes as a descriptor (FRAME_PLAN). */
	const struct skill_archive *skill;
	bool has_skill;           /* of a plan that was decoded: there is one */
	bool has_broker;          /* its socket is made */
	bool has_http;            /* and one for HTTP, at PLAN_BROKER_PORT */
	bool is_watched;          /* of a single command: its calls are (jail/notify.h) */
	struct plan_entry caller; /* BIND: the host's sandbox-call; path NULL: there is none */
	struct plan_entry worker[PLAN_WORKER_FILES]; /* BIND; path NULL: there is none */
	const struct policy *policy; /* that it was made from; not sent to the zygote */
	/* Hosts with secrets, of whoever made the plan. Not sent either. */
	const struct plan_lent *lent;
	size_t n_lent;
};

/* Hosts whose connections go through one process that is lent their secrets (net/lent.h). */
enum { PLAN_LENT_MAX = 2 };
struct plan_lent {
	int socket;
	const char *const *hosts;
	const bool *by_program; /* of each host: some secret is lent to programs */
	size_t n;
};

/* A file of Corral's in place of the host's. */
struct plan_text {
	const char *path; /* absolute, normal, without links; NULL: none */
	const char *text;
	bool is_base64; /* the text is that of bytes */
};

struct plan_worker_source {
	const char *path;
	uint64_t dev, ino;
};

struct plan_options {
	const struct policy *policy;
	const struct permissions *const *layers; /* what the policy was compiled from */
	size_t n_layers;
	const struct variables *variables; /* HOME and WORK_DIR at least */
	const struct resolver *resolver;
	bool shell; /* /bin/sh may run whatever exec lists say */
	/* Every public host and port granted is enough for the host's network, which does not keep
	 * private addresses from a command: for omega's modes. */
	bool public_is_open;
	/* Never writable and, if inside a write grant, made read-only: policy files, profiles,
	 * approvals, keys. Absolute paths; those that do not exist are skipped. */
	const char *const *guarded;
	size_t n_guarded;
	/* Never visible: Corral's own folders with keys, locks and sockets. Absolute paths; those
	 * that do not exist are masked when they appear. */
	const char *const *hidden;
	size_t n_hidden;
	/*
	 * The holder puts files back, so a single file in the home that may be written can be a
	 * copy (plan_entry.stands_in): a mount can be written, and not replaced. Only regular files
	 * of this user with one name, up to PLAN_STAND_IN_BYTES; all others are mounts.
	 */
	bool replaces;
	/* Files that do not exist, and that the holder makes if a command does. Absolute paths. */
	const char *const *made;
	size_t n_made;
	/* AgenShield's denials by pattern mask what matches, and a note says what is not enforced;
	 * else they are refused, as all others are. */
	bool masks_matches;
	/* The command's calls are watched. And a relay even where no host is granted: it connects
	 * to none, and records each attempt. */
	bool explain;
	/* Hosts may be granted while it runs: there is a relay, whatever is granted now. */
	bool asks_hosts;
	/* With them: how long a connection that the policy asks about waits for an answer. */
	uint32_t ask_ms;
	/*
	 * The copy of a skill, or NULL; must outlive the plan. Whatever of the skill's folder is
	 * visible is the copy, and can't be written; but for what is live in it, which is the
	 * host's, and from which nothing runs. The plan looks at the host's folder, so the caller
	 * checks afterwards that it still is what was copied (launch_skill_unchanged()).
	 */
	const struct skill_archive *skill;
	/* There is a broker; and the program sandbox-call of the host, or NULL: it is left out
	 * where it does not exist, or where a rule denies it by name. */
	bool broker;
	bool http; /* which serves HTTP, too */
	const char *caller;
	/* Secrets are lent to the sandbox: it has a relay, whatever is granted. */
	bool lends;
	/* What stands in place of files of the host: lists of authorities that it trusts. */
	const struct plan_text *covers;
	size_t n_covers;
	/* Files of the host with secrets, as they are shown: whatever is granted around them, where
	 * nothing but the baseline forbids them. A folder of the baseline's that one lies in is
	 * empty but for it, and the session's own. */
	const struct plan_text *masked;
	size_t n_masked;
	/* The files of a WASM worker, or NULL; an inode that is not 0 must be what is there. */
	const struct plan_worker_source *worker;
};

/*
 * -EOPNOTSUPP: a pattern that mounts can't hold (a true glob that allows writing, or denies inside
 *   what is granted; a denied path that does not exist where the command could create it; a command
 *   pattern with arguments; hosts other than none or all): the sentence names the rule's place and
 *   what to write instead.
 * -EACCES: a granted path leads by symbolic links to something denied.
 * -ESTALE: a file of the worker is not the one that was looked at.
 * -ENOENT, -ENOTSOCK: a granted socket (unix:/path) is not there, or is none.
 * -ENOMEM, -EIO …
 */
int plan_new(struct plan **ret, const struct plan_options *o, struct error *e);
void plan_free(struct plan *p);
static inline void plan_freep(struct plan **p)
{
	plan_free(*p);
}
#define auto_plan __attribute__((cleanup(plan_freep))) struct plan

/* The entry at this very path, or NULL. */
const struct plan_entry *plan_at(const struct plan *p, const char *path);
/* The entry at path, or the nearest above it that is no PLAN_DIR or PLAN_LINK; NULL: none is. */
const struct plan_entry *plan_find(const struct plan *p, const char *path);
/*
 * The time of an untouched copy (plan_entry.stands_in): a nanosecond before that of the host's
 * file. The kernel's clock stands for some milliseconds, so a write right after the host's has its
 * time.
 */
struct timespec plan_stand_in_time(struct timespec host);

/*
 * A plan as bytes, for FRAME_PLAN: the zygote is started before the plan is made, so that the
 * kernel makes namespaces while the policy is compiled. Only what the zygote needs travels:
 * entries, programs, limits, and the switches. Both ends are of one program; still, what does not
 * fit is -EPROTO, not a crash.
 */
int plan_encode(const struct plan *p, struct buffer *out);
/* Strings point into the body, which must outlive the plan. */
int plan_decode(struct plan **ret, const void *body, size_t len);

struct change;
/* The ports and sockets of a plan, for a relay that gets other permissions; the rest is zeroed. */
void plan_describe_network(const struct plan *p, struct change *ret);
