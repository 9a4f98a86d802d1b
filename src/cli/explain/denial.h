/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What a watched command was denied, and gathering it into few lines. `run --explain` shows the
 * lines, `corral learn` (cli/learn) puts them into a policy. The rules are in docs/learn.md.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "audit/event.h"
#include "base/arena.h"
#include "policy/operation.h"

enum denial_kind {
	DENIAL_READ,
	DENIAL_WRITE,
	DENIAL_EXEC,
	DENIAL_CONNECT, /* path: a host or socket, as the policy names it */
	DENIAL_SANDBOX, /* new namespaces; path: the name of the program that wanted them */
};

/* By kind: the option that grants it, what it is called, and what the policy and the log call it;
 * of DENIAL_SANDBOX neither knows. */
struct denial_row {
	const char *option, *word;
	const char *action_name; /* NULL: as the operation */
	enum operation op;
	enum audit_action action;
};

/* May a line grant it? Only DENIAL_OPEN may be learnt. */
enum denial_state {
	DENIAL_UNKNOWN, /* it was not looked at, or something else stands in the way */
	DENIAL_OPEN,
	DENIAL_SECRET,  /* of the baseline, which an option lifts */
	DENIAL_NEVER,   /* of the baseline, which nothing lifts */
	DENIAL_OWN,     /* Corral's own state */
	DENIAL_BROAD,   /* the home, the root, what holds them or many programs share */
	DENIAL_RULE,    /* a rule or a deny list forbids it */
	DENIAL_CEILING, /* the user's or the system's policy does not allow it */
	DENIAL_LATER,   /* other programs run it later */
	DENIAL_LINKED,  /* by a link that a command could have made */
	DENIAL_UNNAMED, /* no policy can spell it */
	DENIAL_STATES,
};

/* Why a line has a folder that the command did not ask for itself. */
enum denial_fold {
	FOLD_NONE,
	FOLD_LOADED,  /* a library or module: its loader goes on to the others */
	FOLD_OWN,     /* two or more of a program's own folder in the home */
	FOLD_FILES,   /* three or more files of it */
	FOLD_FOLDERS, /* four or more folders of it */
};

/* What one line would allow. */
struct denial {
	enum denial_kind kind;
	bool is_folder;            /* path stands for all in it */
	bool is_look;              /* it was only asked whether it is there */
	bool is_quiet;             /* programs ask for it and do without */
	bool is_moot;              /* and made their own, or no line would grant it */
	bool is_fixed;             /* by a rule or the baseline: never merged into a folder */
	bool is_replaced;          /* a file in the folder: granted alone, it cannot be replaced */
	bool is_linked;            /* by a link that a command could have made */
	bool is_exact;             /* the relay said so: */
	const char *said, *remedy; /* its reason, and what it would change; else NULL */
	const char *path;
	const char *program; /* who asked last; "" if it is not known */
	uint64_t count;
	uint64_t last; /* when it was asked for last: a number that grows */
	enum denial_state state;
	enum denial_fold fold;
};

struct denials {
	struct denial *items;
	size_t n, cap;
};

struct explain_place {
	const char *home, *work; /* either may be NULL */
};
/* Gathers l in place, by the rules of docs/learn.md. -ENOMEM. */
int explain_fold(const struct explain_place *place, struct denials *l, struct arena *a);
/* The root, the home, what holds it, and what its programs share (~/.cache): never to be granted
 * as a whole. */
bool explain_fold_is_protected(const struct explain_place *place, const char *folder);
