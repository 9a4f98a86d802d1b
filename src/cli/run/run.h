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
#include "cli/ask/ask.h"
#include "cli/ask/notify.h"
#include "cli/explain/again.h"
#include "cli/load.h"
#include "cli/options.h"
#include "cli/profile/profile.h"
#include "cli/profile/runs-later.h"
#include "cli/project/project.h"
#include "cli/run/audit.h"
#include "cli/run/network.h"
#include "cli/undo/undo.h"
#include "host/replace.h"
#include "jail/plan/plan.h"
#include "launch/broker.h"
#include "holder/live.h"
#include "launch/needs.h"
#include "launch/skill.h"
#include "launch/wasm.h"
#include "process/child.h"
#include "skill/archive.h"
#include "sshagent/ssh-setup.h"
#include "warden/session/putting.h"
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

#define RUN_PROFILE_DEFAULT "workspace"
enum { RUN_LAYERS_MAX = 64, RUN_LATER_MAX = 16, RUN_ASK_MS = 60 * 1000 };

/* Folders in which files that other programs run later are kept from being written. */
struct run_later {
	struct runs_later items[RUN_LATER_MAX];
	size_t n;
	struct permissions *to;          /* the layer that says so; NULL: none does */
	struct run_later_report *report; /* of the second look; NULL: there was none */
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

/* Secrets of the vault that it uses and never sees (run/secrets.c). */
enum { RUN_COVERS_MAX = 24 };
struct run_secrets {
	bool is_on;              /* some are lent */
	struct child lender;     /* the process that lends them */
	uint64_t until;          /* then its end is not waited for any more; 0: it has not come */
	const char *certificate; /* of the authorities of those who are lent them */
	struct options_list env; /* NAME=value, whatever the policies say of variables */
	bool has_database;
	struct options_list calls;   /* NAME=HOST:PORT,PLACE that the broker may inject */
	const char *principal;       /* how grants of the vault call this sandbox */
	struct options_list inspect; /* HOST:PORT whose TLS is opened for the policy */
	bool is_inspection;          /* and nothing is lent */
	/* Of each who is lent some: a socket for the relay, and its hosts. */
	struct plan_lent lent[PLAN_LENT_MAX];
	size_t n_lent;
	struct plan_text covers[RUN_COVERS_MAX]; /* lists of authorities */
	size_t n_covers;
	struct plan_text *files; /* in which programs keep credentials, with placeholders */
	size_t n_files, cap_files;
};

/* Where less is enforced than in a sandbox: --mode rwx (plain.c), --tier 3 (writes.c). */
enum run_weaker { RUN_PLAIN, RUN_WRITES, RUN_WEAKER };

/* Logins and signatures by the user's ssh agent (run/ssh-agent.c). */
enum { RUN_SSH_TOLD = 8 };
struct run_ssh {
	struct child agent;               /* corral-ssh-agent */
	const char *folder, *path;        /* of its socket; NULL: not made */
	const char *hosts[SSH_FILES_MAX]; /* files with keys of hosts */
	size_t n_hosts;
	bool is_ending;
	const char *told[RUN_SSH_TOLD]; /* refusals, as lines for people */
	bool is_said[RUN_SSH_TOLD];
	size_t n_told;
};

/* What was asked for. */
struct run_options {
	struct options_list policies, ceilings, read, write, deny, dangerous, net, net_private,
		listen, exec, env, secrets, logins, ssh_logins, ssh_signs, with;
	const char *profile, *skill, *input, *audit, *cwd, *work_dir;
	struct agent agent;
	bool yes, is_command, json, explain, no_limits, strict, no_cache;
	bool broker, broker_http, no_broker;
	bool ask_denied;
	/* Of `corral mcp serve` alone. */
	bool client_answers;
	const char *http, *token_file;
	bool is_asked_only; /* --explain not by its name: told where it failed */
	bool is_again;      /* because the command failed here before (explain/again.h) */
	bool shared_state, seed_state, no_project, undo;
	uint64_t undo_limit; /* bytes that are kept */
	const char *tier;
	/* The first that is given and cannot be enforced there; NULL: none. */
	const char *unheld[RUN_WEAKER];
	struct limits limits;
	uint64_t ask_ms; /* how long a question waits for its answer */
};

/* Questions and grants while it runs (run/live.c). */
struct run_live {
	bool is_on; /* there is a daemon, or the user is asked on the terminal */
	struct holder_live live;
	size_t n_expired; /* questions that were not answered in time */
	struct session_putting putting;
};

/* Packs and agents of this run (cli/preset/preset.h). */
/* Pages of logins that are opened in one run (its broker counts), and the time that is counted in.
 */
enum { RUN_PAGES_MAX = 5, RUN_PAGES_SECONDS = 24 * 60 * 60 };

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
	/* NAME of the vault that is used if it may go to HOST:PORT. */
	struct run_preset_secret {
		const char *name, *host;
	} * secrets;
	size_t n_secrets, cap_secrets;
	const char **pages; /* domains whose pages of logins are opened in the user's browser */
	size_t n, cap, n_grants, cap_grants, n_words, cap_words, n_shared, cap_shared, n_pages,
		cap_pages;
	size_t n_opened; /* pages that were opened; the note of each that is not said yet, or NULL
			  */
	const char *opened[RUN_PAGES_MAX];
	bool is_offline, is_in_turn;
};

/* `corral mcp wrap`: what runs is a server, and its client is not ours (run/wrapped.c). */
struct run;
struct run_wrapped {
	/* Once the command line is understood, before anything is made: puts a pipe in the place of
	 * standard input and output. */
	int (*begin)(struct run_wrapped *w, struct run *r);
	int control; /* of the filter (mcp/filter.h); -1: it has ended */
};

/* `corral mcp serve`: in place of a command, once there is a policy. Returns as run_main(). */
typedef int run_server(struct run *r);

struct run {
	struct call *call;
	struct run_options options;
	bool is_shell;
	run_server *serve;           /* or NULL */
	struct run_wrapped *wrapped; /* or NULL */
	struct run_again {
		char name[AGAIN_NAME]; /* of its record; "": it has none */
		enum again was;
	} again;

	struct load load, ceiling;
	struct load declared; /* --ceiling: what may be granted at most while it runs */
	const struct permissions *declared_layers[RUN_LAYERS_MAX];
	struct profile profile;
	struct project project;    /* its corral.yaml; .path is NULL without one */
	bool has_project;          /* it is approved, and a layer of the base */
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
	struct session *ending;      /* of a command that is over: its first process still ends */
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

	struct run_secrets secrets;
	struct run_ssh ssh;
	struct run_private private;
	struct run_replaced replaced;
	struct undo undo;            /* --undo: what the working folder was */
	struct options_list missing; /* files of --write that are not there, absolute */
	struct run_network network;  /* what it did there */
	struct run_explain *explain; /* --explain, --json: what it was denied; else NULL */
	bool is_round;               /* of `corral learn`: its report goes there, not to people */
	int report;
	bool is_told;    /* what went wrong was said at length already */
	bool is_printed; /* --json: the one object */
	struct run_audit audit;
	struct run_live live;
	struct ask_prompt prompt;
	struct ask_login login;
	struct ask_project always;
	struct ask_notify notify;
};

/* What is asked about in the end must have been seen: --explain, for --ask-denied. */
void run_watch_for_ask(struct run *r);
/* And if the command failed here before. */
void run_watch_again(struct run *r);
/* The whole of it; returns the status to exit with, and has told what went wrong. */
int run_main(struct call *c, bool is_shell);

/* The same for a round of `corral learn`: what was seen goes to the file (explain/report.h);
 * policy: what messages call the one that it runs under. */
int run_main_round(struct call *c, int report, const char *policy);

/* The same for a server whose client is behind a filter. */
int run_main_wrapped(struct call *c, struct run_wrapped *w);

/* The same for tools of ours: the options say what these may do. */
int run_main_served(struct call *c, run_server *serve);

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
/* Where a program is, as the shell finds it and without links; false: it is nowhere. */
bool run_agents_find_real(const char *word, char real[PATH_BYTES]);
/*
 * Where a program is that no command put there, as the shell finds it and without links; false: it
 * is nowhere, or in a folder that this run may write, or one before in the same folder.
 */
bool run_agents_find_own(struct run *r, const char *word, char real[PATH_BYTES]);

/* run/ssh-agent.c: starts the filter before the user's agent, and makes grants of it. */
int run_ssh_agent(struct run *r);
/* After run_grants(): shows known_hosts to the command, where its home is not granted anyway. */
int run_ssh_agent_show(struct run *r);
void run_ssh_agent_end(struct run *r);
options_taker run_ssh_agent_take_login, run_ssh_agent_take_namespace;
/* The sandbox has its relay: who may connect. */
int run_ssh_agent_serve(struct run *r);
/* -1: there is none. */
int run_ssh_agent_fd(const struct run *r);

/*
 * run/secrets.c: has secrets lent: those of --secret, of the policies and of presets. After the
 * base and the stored policies, before the grants.
 */
int run_secrets_begin(struct run *r);
/* After the policy: what programs trust inside. */
int run_secrets_trust(struct run *r);
/* After the other variables: placeholders, in place of what has their names. */
int run_secrets_variables(struct run *r);
/* What stands for a variable (NAME=value) inside, as NAME=placeholder; NULL: it itself. */
const char *run_secrets_variable(const struct run *r, const char *item);
/* Where a file that is shown masked is, behind links to the home; NULL: no memory. */
const char *run_secrets_file(const struct run *r, size_t i);
/* Of the plan: which files of theirs are not shown. */
void run_secrets_tell_files(const struct run *r);
void run_secrets_end(struct run *r);
/* -1: there are none. When it is readable: true and a record, of what failed; or false, and a
 * question about a login, if its number is not 0. */
int run_secrets_fd(const struct run *r);
bool run_secrets_dispatch(struct run *r, struct record *ret, struct lend_consent *ret_asked);
/* The answer about a login, of ask/login.c. why "": yes. */
void run_secrets_agree(struct run *r, uint64_t number, const char *why);
/* When the command has ended: what it still has to say, until there is no more. */
bool run_secrets_settle(struct run *r, struct record *ret);

/* run/grants.c: adds the single grants to the base. */
int run_grants(struct run *r);
/* The same of one file by its name, for reading; for --ssh-agent. */
int run_grants_show(struct run *r, const char *path);

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
