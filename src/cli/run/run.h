/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * `corral run` and `corral shell`: one command under a policy, with a session of its own that this
 * process holds itself (warden/session/session.h), because for one command a second program would
 * only cost time.
 *
 *     options  ->  layers  ->  policy  ->  plan  ->  session  ->  exit status
 *
 * A run has a base, and a ceiling above it. The base is what --policy, --skill, --mode and
 * --profile say, each a layer that must allow, or the profile `workspace` if none is given; single
 * grants
 * (--read …) are added to every layer of the base, and --deny taken from it. The ceiling is what
 * the system's and the user's own policy files say; no option widens it.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/buffer.h"
#include "base/path.h"
#include "cli/agent.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/profile/profile.h"
#include "cli/profile/runs-later.h"
#include "cli/run/audit.h"
#include "cli/run/network.h"
#include "host/replace.h"
#include "jail/plan/plan.h"
#include "launch/broker.h"
#include "holder/live.h"
#include "launch/needs.h"
#include "launch/skill.h"
#include "launch/wasm.h"
#include "skill/archive.h"
#include "warden/session/session.h"
#include "wire/report.h"

/* How a run ends if not by the command's own status. */
enum run_status {
	RUN_TIMED_OUT = 124,
	RUN_FAILED =
		125, /* Corral itself failed: nothing ran, or its output could not be written */
	/*
	 * The command may not be run: the policy forbids the program, or it is no program that this
	 * user can run (run_refused()); --cwd is not granted; the skill is not approved; its entry
	 * cannot be run; a limit of 0.
	 */
	RUN_FORBIDDEN = 126,
	RUN_NOT_FOUND = 127,
	RUN_SIGNALLED = 128, /* and the number of the signal */
};

enum { RUN_LAYERS_MAX = 64, RUN_LATER_MAX = 16, RUN_ASK_MS = 60 * 1000 };

/* Folders in which files that other programs run later are kept from being written. */
struct run_later {
	struct runs_later items[RUN_LATER_MAX];
	size_t n;
	struct permissions *to; /* the layer that says so; NULL: none does */
};

/* Claude Code's own settings, where it is the command of an agent mode (run/claude.c). */
struct run_claude {
	const char *path;     /* NULL: it is not */
	struct buffer before; /* what of it starts programs */
	int error;            /* of reading that */
};

/* What it left in its private folders, which is gone (run/private.c). */
enum { RUN_PRIVATE_GROUPS = 16 };
struct run_private {
	int own; /* of these folders, each by the number of its entry; -1: not there */
	size_t n_files;
	bool is_cut; /* there are more */
	/* The first of them, each by the path that a grant would name. */
	struct run_private_group {
		const char *path;
		bool is_folder, is_home;
	} groups[RUN_PRIVATE_GROUPS];
	size_t n_groups;
};

/* Granted files of the home that the command may replace (run/replaced.c). */
enum { RUN_REPLACED_MAX = 64 };
enum run_replaced_end {
	RUN_REPLACED_SAME, /* there is nothing to do */
	RUN_REPLACED_PUT,
	RUN_REPLACED_GONE,    /* the copy was removed */
	RUN_REPLACED_STRANGE, /* it is a link, a folder, a pipe … */
	RUN_REPLACED_LARGE,
	RUN_REPLACED_BOTH, /* the host's file was changed: the copy is beside it */
	RUN_REPLACED_FAILED,
};
struct run_replaced {
	struct run_replaced_file {
		const char *path;
		struct replace host;
		enum run_replaced_end end;
		int error;
		const char *beside; /* the name of the copy, if both are kept */
	} items[RUN_REPLACED_MAX];
	size_t n;
};

/* What was asked for. */
struct run_options {
	struct options_list policies, ceilings, read, write, deny, dangerous, net, net_private,
		listen, exec, env, with;
	const char *profile, *skill, *input, *audit, *cwd, *work_dir;
	struct agent agent;
	bool yes, is_command, json, explain, no_limits, strict, ssh_agent, no_cache;
	bool broker, broker_http, no_broker;
	bool shared_state, seed_state;
	const char *tier;
	struct limits limits;
	uint64_t ask_ms; /* how long a question waits for its answer */
};

/* Questions and grants while it runs (run/live.c). */
struct run_live {
	bool is_on; /* there is a daemon */
	struct holder_live live;
	size_t n_expired; /* questions that were not answered in time */
	/* The change that is under way: its number, and who is to answer. */
	uint64_t change;
	bool relay_waits, broker_waits;
	int code;
	struct error why;
};

/* Packs and agents of this run (cli/preset/preset.h). */
struct run_presets {
	struct run_preset {
		int preset;
		const char *origin; /* of its grants: "preset NAME" */
		const char *keep;   /* its folder; NULL: the state is shared with bare runs */
	} * items;
	struct run_preset_grant {
		const char *origin;
		enum permission_list list;
		const char *text;
	} * grants;
	const char **words;  /* behind the program */
	const char **shared; /* files and folders of the user's that may be written */
	size_t n, cap, n_grants, cap_grants, n_words, cap_words, n_shared, cap_shared;
	bool is_offline;
};

struct run {
	struct call *call;
	struct run_options options;
	bool is_shell;

	struct load load, ceiling;
	struct load declared; /* --ceiling: what may be granted at most while it runs */
	const struct permissions *declared_layers[RUN_LAYERS_MAX];
	struct profile profile;
	struct launch_skill skill; /* .fd is -1 without one */
	struct skill_archive copy; /* of it; .map is NULL without one */
	struct launch_needs needs; /* what it requires */
	bool is_wasm;              /* it has a module, which runs */
	struct launch_wasm wasm;
	struct permissions *mode;
	struct load_builtin
		builtin; /* the built-in profile of the base, or that a policy extends */
	struct run_later later;
	struct run_claude claude;
	struct run_presets presets;
	struct permissions *base[RUN_LAYERS_MAX];
	size_t n_base;
	const struct permissions *layers[RUN_LAYERS_MAX]; /* the base, then the ceiling */
	size_t n_layers;
	const char **guarded; /* files and folders that the command must not change, as named */
	size_t n_guarded, cap_guarded;

	struct session *session;     /* from the start: see prepare_session() */
	struct launch_broker broker; /* .program is NULL without one */
	char http_token[65]; /* that the broker wants of HTTP clients; "": there is no HTTP */
	struct policy *policy;
	/* What is left of the layers in the jail; NULL: all of them (run/inside.c). */
	struct permissions *inside[RUN_LAYERS_MAX];
	struct policy *inside_policy;
	struct plan *plan;
	struct limits limits;
	bool is_default[LIMIT_COUNT]; /* which of them are the built-in profile's */
	const char *cwd;
	const char **argv; /* ends with NULL */
	size_t n_argv;
	const char *const *env; /* ends with NULL */
	size_t n_env;

	struct run_private private;
	struct run_replaced replaced;
	struct options_list missing; /* files of --write that are not there, absolute */
	struct run_network network;  /* what it did there */
	struct run_explain *explain; /* --explain, --json: what it was denied; else NULL */
	bool is_told;                /* what went wrong was said at length already */
	bool is_printed;             /* --json: the one object */
	struct run_audit audit;
	struct run_live live;
};

/* The whole of it; returns the status to exit with, and has told what went wrong. */
int run_main(struct call *c, bool is_shell);

/* run/options.c: 1 if --help was printed. */
int run_options(struct run *r);

/* run/layers.c: variables, base, ceiling; compiles. */
int run_layers(struct run *r);
/* A folder by the name that has no links in it, in the arena: what is granted is what the kernel
 * sees. option: that named it, for the error. */
int run_real_folder(struct run *r, const char *option, const char *path, const char **ret);
/*
 * Remembers a file or folder that the command must not change, nor any link or folder on the way to
 * it: the plan sees to that. Absolute and normal; NULL is nothing. Takes no copy.
 */
int run_guard(struct run *r, const char *path);

/* run/claude.c: in an agent mode, what the mode grants for Claude Code. After r->mode, before the
 * grants. */
int run_claude_begin(struct run *r);
/* Its own settings at this place are reported if they start something else afterwards. */
void run_claude_watch(struct run *r, const char *file);
/* run/agents.c: in an agent mode, the login of the agent that is run is open to it. */
int run_agents_open(struct run *r);
void run_claude_end(struct run *r);
/*
 * Where a program is that no command put there, as the shell finds it and without links; false: it
 * is nowhere, or in a folder that this run may write, or one before in the same folder.
 */
bool run_agents_find_own(struct run *r, const char *word, char real[PATH_BYTES]);

/* run/ssh-agent.c: makes single grants of --ssh-agent. */
int run_ssh_agent(struct run *r);

/* run/grants.c: adds the single grants to the base. */
int run_grants(struct run *r);

/* run/baseline-notes.c: says which grants the baseline takes back, and what --dangerously-allow
 * lifts. After the policy. */
void run_baseline_notes(struct run *r);
/* What was probably not meant, said before the start; RUN_FORBIDDEN: the skill's entry is denied.
 */
int run_notes(struct run *r);

/* run/later.c: what the command leaves behind for other programs to run. After the base, before
 * the grants. */
int run_later_begin(struct run *r);
/* A pattern of --write that p, a layer, has got: what it names may be written. */
int run_later_allow(struct run *r, struct permissions *p, const char *pattern);
/* Is it in one of the folders? */
bool run_later_has(const struct run *r, const char *path);
void run_later_end(struct run *r);

/* The system's and the user's own policies. */
int run_ceiling(struct run *r);

/* run/run.c: the words to run: those of the call, a skill's entry, or the user's shell. */
int run_find_words(struct run *r);

/* run/live.c: reads --ceiling; after the variables have values. */
int run_live_read_ceiling(struct run *r);
/* Whether hosts may be granted later: then it has a relay from the start. */
bool run_live_may_reach_hosts(const struct run *r);
/* How long what a policy asks about waits for its answer. */
uint32_t run_live_ask_ms(const struct run *r);
/*
 * What asks about hosts, where the command wanted one and no daemon was there to pass the question
 * on; else NULL. is_unheard: it wanted one and there was no network, so which one is not known.
 */
const char *run_live_unasked(const struct run *r, bool is_unheard);
/* After run_audit_begin(). */
void run_live_begin(struct run *r);
void run_live_event(struct run *r, const struct session_event *e);
void run_live_tick(struct run *r);
int run_live_wait_ms(const struct run *r, int otherwise);
void run_live_end(struct run *r);

/* run/wasm.c: the same for a WASM skill, with its module compiled. */
int run_wasm(struct run *r);

/* run/writes.c: --tier 3: becomes the command, behind Landlock alone. Returns only on failure. */
int run_writes(struct run *r);

/* run/plain.c: mode rwx: becomes the command. Returns only on failure. */
int run_plain(struct run *r);
