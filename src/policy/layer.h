/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * One layer of permissions, compiled. For every operation there is a list of *sources*: the entries
 * that can decide, strongest first, so that an entry's place in the list is its rank (rank.h) in
 * the set that matches it. Deny lists come first, then rules by priority, then grants.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "policy/folders.h"
#include "policy/match/pathset.h"
#include "policy/network/hostset.h"
#include "policy/permissions.h"
#include "policy/variable.h"

/* What the entries of a list, or of a rule, have in common. */
struct source_list {
	enum verdict verdict;
	const char *name;                 /* "fs.read", "network.deny", … or "rules" */
	const char *id;                   /* a rule's id, or NULL */
	bool is_granted;                  /* a rule that was granted while the sandbox runs */
	const struct grant_list *methods; /* a rule's HTTP methods; NULL or empty: all */
};

/* An entry that can decide. Kept small: a long list has as many. */
struct source {
	const struct source_list *in;
	const struct grant *grant; /* what was written, and where */
};

struct sources {
	struct source *items;
	size_t n, cap;
	/* The verdicts once more, close together: deciding reads one byte, not a whole source. */
	uint8_t *verdicts;
};

/* A command pattern whose program is a glob and which says something about arguments: rare, kept as
 * a list. */
struct fine_command {
	const struct glob *programs; /* all must match; none: any program, by name too */
	size_t n_programs;
	const struct command_pattern *pattern;
	uint32_t rank;
};

/* A denial by the text of a host or a command (glob:TEXT): few, and tried one by one. */
struct text_glob {
	const char *glob;
	uint32_t rank;
};

struct text_globs {
	struct text_glob *items; /* strongest first */
	size_t n, cap;
};

struct layer {
	const char *origin;
	enum line_place line_place;
	enum verdict fallback;
	enum mode mode;
	bool exec_listed;
	struct sources sources[OPERATION_COUNT];
	size_t n_denied_paths; /* sources of fs.read that come from fs.deny */
	uint32_t any_file;     /* the strongest source of fs.read that covers every file */

	struct folders folders[3];     /* of the lists of paths */
	struct pathset *paths[2];      /* fs.read, fs.write */
	struct pathset *dangerous;     /* dangerously_allow */
	struct hostset *hosts;         /* what allows */
	struct hostset *forbidden;     /* what denies or asks: wide patterns */
	struct hostset *private_names; /* of network.private, which are in `hosts` as well */
	struct text_globs host_globs, command_globs;
	struct pathset *commands; /* words of a command as a path: see command.h */
	struct pathset *programs; /* globs over program files */
	struct fine_command *fine;
	size_t n_fine, cap_fine;
	/* Of operations on names: "/NAME", and "/NAME=value". */
	struct pathset *names[OPERATION_COUNT], *values[OPERATION_COUNT];
	const struct service *services;
	size_t n_services;
	struct limits limits;
	struct network_limits network;
};

/* Neither a list nor a rule speaks of programs: what may be read may run. */
static inline bool layer_exec_is_open(const struct layer *l)
{
	return !l->exec_listed && l->sources[OPERATION_EXEC].n == 0;
}

/*
 * Finds the files that a program is: called once for each file that `name` (a name for a trusted
 * PATH, or a path) leads to, every hop of its symbolic links included. Returns 0, or -ENOENT if
 * there is none.
 */
struct resolver {
	void *context;
	int (*programs)(void *context, const char *name, int (*found)(void *data, const char *path),
		void *data);
};

/* Compiles p (no all_of) into the arena. `resolver` may be NULL: names then stand for themselves
 * only. */
int layer_compile(struct layer *l, struct arena *a, const struct permissions *p,
	const struct variables *vars, const struct resolver *resolver, struct error *e);
void layer_deinit(struct layer *l);
/* The rows of operation_rows: each puts one source into its set, under its rank. */
operation_compile layer_add_path, layer_add_host, layer_add_command, layer_add_name;
