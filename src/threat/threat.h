/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Threat tables: files that other programs run later, programs that run what they are given, hosts
 * that pass on what anybody gives them, variables that hold secrets, sockets behind which no policy
 * holds. They are data (data/runs-later.conf, interpreters.conf, hosts.conf, secrets.conf and
 * sockets.conf, turned into C when Corral is built; docs/threats.md explains them). The profiles,
 * lint, the scan and explain read the same rows, and the uses of a row say which of them do what
 * with it. Nothing here is a boundary: that are the policy and its baseline (policy/baseline.h),
 * where also the hosts stand that hand out a machine's own credentials.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum threat_use {
	/* files */
	THREAT_PROTECT = 1 << 0, /* kept from being written where it exists, and reported if new */
	THREAT_REPORT = 1 << 1,  /* only reported */
	THREAT_FILE = 1 << 2,    /* where it is a folder, it is something else */
	THREAT_LARGE = 1 << 3,   /* a folder that is not looked through */
	THREAT_LINT = 1 << 4,    /* a grant to write it is warned about */
	THREAT_HOOKS = 1 << 5,   /* the scan looks for it: git-hooks, */
	THREAT_STARTUP = 1 << 6, /* shell-startup, */
	THREAT_SESSION = 1 << 7, /* autostart */
	THREAT_PROGRAMS =
		1 << 8, /* programs are looked for there; a pattern, "~/": the home folder */
	/* programs */
	THREAT_CODE = 1 << 9,         /* runs any code */
	THREAT_ROOT = 1 << 10,        /* leads to more rights than the policy gives */
	THREAT_NAMED = 1 << 11,       /* unless an argument says what is run */
	THREAT_INTERPRETER = 1 << 12, /* what it runs is not judged */
	THREAT_STDIN = 1 << 13,       /* runs what is piped into it */
	/* hosts */
	THREAT_DROP = 1 << 14,   /* a grant is warned about */
	THREAT_SHARED = 1 << 15, /* names below it are for sale to the public */
	THREAT_SCAN = 1 << 16,   /* the scan looks for the name, */
	THREAT_URL = 1 << 17,    /* or only in addresses */
	/* secrets */
	THREAT_SECRET = 1 << 18,   /* a word for names of variables */
	THREAT_HARMLESS = 1 << 19, /* a word for those that are no secrets */
	THREAT_KNOWN = 1 << 20,    /* a name that everybody knows */
	THREAT_VALUE = 1 << 21,    /* how a value begins; inside: the least length of all of it */
				   /* sockets: THREAT_ROOT, THREAT_SESSION */
	/* files */
	THREAT_CHECKOUT = 1 << 22, /* only at the top of a working copy */
	THREAT_SKIP = 1 << 23,     /* a folder that is not looked into */
	/* hosts */
	THREAT_INSTALLER = 1 << 24, /* hands out the installer of a well-known program */
	THREAT_HOOK = 1 << 28,      /* takes messages to whoever made the address */
	/* packages */
	THREAT_PYPI = 1 << 25, /* of PyPI, which others are named after */
	THREAT_NPM = 1 << 26,  /* of npm, likewise */
	THREAT_FINE = 1 << 27, /* near one of these, and what it is */
	/* files */
	THREAT_SOON = 1 << 29, /* runs without being asked for: it is reported first */
	THREAT_HOME = 1 << 30, /* only in the user's home, for what links from there lead to */
};

/* Texts are where they start in threat_texts, so that the tables need no relocation. */
struct threat {
	uint16_t name, inside, what;
	unsigned uses;
};

extern const char threat_texts[];
/* As in the data file. */
static inline const char *threat_name(const struct threat *t)
{
	return threat_texts + t->name;
}
/* Files: a pattern of what in the folder is run; NULL: all. */
static inline const char *threat_inside(const struct threat *t)
{
	return t->inside ? threat_texts + t->inside : NULL;
}
/* Who runs it and when, or what it does: after the name in a sentence. */
static inline const char *threat_what(const struct threat *t)
{
	return threat_texts + t->what;
}

/*
 * Files as they are written: a path below any folder ('/' at its end: a folder), with {a,b} and *.
 * The paths are those that are protected, reported or skipped, each by itself; those that count in
 * a home only are apart.
 */
extern const struct threat threat_files[], threat_paths[], threat_programs[], threat_hosts[];
extern const struct threat threat_secrets[], threat_sockets[], threat_packages[], threat_home[];
extern const size_t threat_files_n, threat_paths_n, threat_programs_n, threat_hosts_n;
extern const size_t threat_secrets_n, threat_sockets_n, threat_packages_n, threat_home_n;

/* The first components of threat_paths, with their rows in the order of the table. */
enum { THREAT_HEADS_MAX = 512, THREAT_HEAD_SLOTS = 2048 };
struct threat_head {
	uint16_t name; /* of len bytes, in threat_texts */
	uint16_t len;
	uint16_t first; /* row + 1; 0: none */
	bool is_skipped;
};

extern const struct threat_head threat_heads[];
extern const size_t threat_heads_n;
extern const uint16_t threat_head_slots[]; /* by hash: head + 1 */
extern const uint16_t threat_head_next[];  /* row + 1 after each row of the same head */

/* The head of this name, or -1. */
int threat_head_find(const char *name, size_t len);

/* The program that a path or name means, if it has one of the uses; NULL: none. "python3.11" is
 * python. */
const struct threat *threat_program(const char *path, unsigned uses);
/* The host that a name in lower case is, or lies below, if it has one of the uses; or NULL. */
const struct threat *threat_host(const char *name, unsigned uses);

/*
 * Can anybody get a name below this one (in lower case, A-labels)? 1 or 0; or -ELIBACC if libpsl,
 * which knows the public suffixes, is not there and the tables do not know either. It is loaded by
 * the first name that needs it: no start of a program waits for it.
 */
int threat_is_public_suffix(const char *name);
