/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A preset: what a tool or an agent needs, under a name, on top of the base of a run. A pack
 * (`--with npm`) is hosts, variables and a folder that is kept for the project; an agent's is the
 * same with a folder for its state, and attaches to its program by itself. Both are one kind of
 * data file (data/presets), and become single grants, as if options had named them: they join
 * every layer of the base, and no ceiling is widened by them.
 *
 * The folder that is kept ($KEEP in a text) belongs to one pack of one project, or to one agent:
 *
 *     ~/.cache/corral-packs/PROJECT/PACK     PROJECT: the working folder's name and a digest
 *     ~/.local/share/corral-agents/AGENT
 *
 * The baseline denies both trees, and a preset lifts that for its own folder. So a command never
 * sees what another project has downloaded, nor the login of another agent.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/path.h"
#include "policy/operation.h"

/* Below the home. */
#define PRESET_AGENTS ".local/share/corral-agents"
#define PRESET_PACKS ".cache/corral-packs"

enum preset_key {
	PRESET_PROGRAM,       /* a glob of the agent's real file; only an agent has some */
	PRESET_ARGUMENT,      /* a word behind the program */
	PRESET_READ,          /* a glob */
	PRESET_HOST,          /* HOST:PORT */
	PRESET_HOST_VARIABLE, /* a variable of the user's that may hold another URL */
	PRESET_LISTEN,        /* a port */
	PRESET_LOGIN,         /* WORD... PORT: published if these are the first arguments */
	PRESET_PAGE,          /* PAGE CLIENT BACK: of a login (services/desktop/login.h) */
	PRESET_TURN,          /* WORD...: a command that changes settings; one at a time */
	PRESET_ENV,           /* NAME or NAME=value */
	PRESET_OFFLINE,       /* the same, in the profile offline only */
	PRESET_IDENTITY,      /* "git": who the user is, as git's variables */
	PRESET_SHARED,        /* a file of the user's that bare runs use; a folder ends in / */
	PRESET_PROTECT,       /* what these execute of it, or obey: kept from being written, */
	PRESET_REPORT,        /* or only reported */
	PRESET_SEED,          /* FROM TO: a file of the user's, and its name in the folder */
	PRESET_SECRET,        /* NAME HOST:PORT [VARIABLE]...: of the vault, if it has it */
	PRESET_NOTE,          /* said at each run */
};

/* By name; a negative number if there is none. */
int preset_find(const char *name);
const char *preset_name(int preset);
/* It has programs that it attaches to. */
bool preset_is_agent(int preset);
/* The text of the i-th row of that key; NULL if there are fewer. */
const char *preset_text(int preset, enum preset_key key, size_t i);
/* All names, and "none", for a shell (cli/complete.h). */
struct buffer;
struct call;
void preset_offer(struct call *c, struct buffer *out);
/* -ENOENT with a sentence that names those that there are; who: the option or key that names it. */
int preset_unknown(const char *who, const char *name, struct error *e);

/* The agent whose program this file is; real: without links. Negative: none is known. */
int preset_of_program(const char *real, const char *home);

/* Whether a location's file is a preset. */
bool preset_is_origin(const char *file);
/* The same, to write one: "preset NAME". */
#define PRESET_ORIGIN "preset "

/*
 * Makes the folder that is kept, and writes where it really is to real; *ret_is_new: nothing was
 * there. -EPERM: a link that a command may have left is on the way.
 */
int preset_keep(int preset, const char *home, const char *work_dir, char real[PATH_BYTES],
	bool *ret_is_new, struct error *e);
/*
 * Copies a file of the user's into the folder that is kept, unless it is there. 1: copied; 0: there
 * is nothing to copy, or it is no regular file of the user's own (a link, for example).
 */
int preset_seed(const char *keep, const char *from, const char *to, struct error *e);

/* Calls for each file of the user's that bare runs of a known agent execute; path: absolute. */
typedef int preset_runs_later(void *data, const char *path, const char *what, bool is_protected);
int preset_runs_later_each(const char *home, preset_runs_later *one, void *data);

/* "HOST:PORT" of a URL with http or https, in the arena. NULL: it is none. */
const char *preset_host_of(struct arena *a, const char *url);

struct run;
/* Chooses the presets of a run and adds what they are. After the base, before the grants. */
int preset_attach(struct run *r);
