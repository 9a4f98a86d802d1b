/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the files of the planner share; plan.h is the contract for everybody else.
 *
 *   place   a path with a reason: a pattern, the baseline, the essentials, a program. It has
 *           an answer of the policy (what is granted there, and how much at most), and a real path
 *           that its links lead to.
 *   node    all places with one real path. Nodes make a tree; what a path gets is decided by the
 *           node at it, or the nearest above it.
 *
 * In a node the grants of its places add up and the strictest limit holds:
 *
 *     access = min(limits, max(grants, access of what is around it))
 *
 * A grant is "the policy allows", a limit "a rule or the baseline forbids"; where nothing is said
 * at all there is neither, and what is around it counts.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "base/arena.h"
#include "base/error.h"
#include "base/hash.h"
#include "base/path.h"
#include "base/shebang.h"
#include "host/links.h"
#include "host/names.h"
#include "jail/plan/plan.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"
#include "policy/policy.h"

enum plan_access { PLAN_NONE, PLAN_READ, PLAN_WRITE };

/* What the policy says of one path. */
struct plan_answer {
	enum plan_access grant, limit;
	const struct source *source; /* what limits it; NULL: the baseline, or nothing */
	const char *baseline;        /* the entry that limits it, or NULL */
};

enum plan_origin {
	PLAN_FROM_POLICY,
	PLAN_FROM_ESSENTIALS,
	PLAN_FROM_BASELINE,
	PLAN_FROM_GUARDED,
	PLAN_FROM_SKILL, /* the skill's folder, and what is live in it */
	PLAN_FROM_SOCKETS,
	PLAN_FROM_HIDDEN, /* Corral's own; a home that cannot be listed, so not be watched */
	PLAN_FROM_EXEC,   /* a program or what belongs to it */
	PLAN_FROM_ITSELF  /* TMP, FILE and private places */
};

enum plan_runs { PLAN_RUNS_AS_AROUND, PLAN_RUNS_NOT, PLAN_RUNS };

/* What a place is to be when it is not simply the host's own. */
enum plan_special {
	PLAN_ORDINARY,
	PLAN_PRIVATE,
	PLAN_OWN,
	PLAN_TEXT,
	PLAN_COVER,
	PLAN_DOOR,
	PLAN_MASKED, /* a cover where the baseline forbids the host's file, and nothing else does */
};

struct plan_place {
	const char *path; /* as named; normal */
	const char *real; /* where its links lead */
	enum plan_origin origin;
	enum plan_special special;
	enum plan_runs runs;
	bool is_program;           /* a file or nothing: a folder of that name does not count */
	bool is_found;             /* by a pattern that denies (plan/found.c) */
	struct plan_answer self;   /* of the path */
	struct plan_answer answer; /* of the path and of all in it: the lesser of both */
	struct plan_answer there;  /* behind links: the same of the real path */
	const char *text; /* PLAN_TEXT, _COVER, _MASKED: what is in it; else the pattern, or NULL */
	bool is_base64;   /* PLAN_COVER: that of bytes */
	const struct location *where;      /* of the pattern, or NULL */
	const struct baseline_path *entry; /* of the baseline that put it here, or NULL */
	bool exists, is_dir, is_socket;
	bool writes;  /* the pattern allows writing */
	bool passing; /* a socket of the host, or its folder: may be removed any time */
	/* Of a policy, and not there: asked about only if something around it can be seen; if
	 * nothing is, it does not matter. */
	bool unasked, idle;
	/* Granted by a link that commands may change, or could have made, and not where it leads: 1
	 * + its place among the hops. */
	size_t astray;
	bool hidden; /* may not even be looked at, so neither can a command */
	uint64_t dev, ino;
	uint64_t names;             /* of a file: how many it has */
	size_t first_link, n_links; /* on the way, in planner.links */
};

/* The folder of a path, by its name; is_absent: it is not there, and no link is on the way. */
struct plan_parent {
	const char *path; /* not ended */
	size_t len;
	bool is_absent, is_settled, is_seen;
};

/* A pattern without wildcards in such a folder. */
struct plan_absent {
	const char *text;
	const struct location *where;
	size_t len; /* of the path */
	struct plan_parent *parent;
};

/* A list whose folders are known: all of its entries in such folders were put aside at once. */
struct plan_aside {
	const struct grant_list *list;
	const struct folders *folders;
	struct plan_parent **parents; /* by folder */
};

/* A secret folder in which links are looked for: as the policy knows it, and where it is. */
struct plan_linked {
	const struct baseline_path *entry;
	const char *path, *real;
};

/* A true glob that mounts cannot hold: nothing it could match may be mounted as a whole. */
struct plan_glob {
	const struct glob_alternative *alternative;
	const char *text;
	const struct location *where;
	bool is_masked; /* but for AgenShield's: what matches is masked (plan/found.c) */
};

/* A name that was looked at (plan/seen.c), and what is there. */
struct plan_seen {
	const char *path; /* its folder has no links */
	size_t len;
	uint64_t hash;
	int code; /* 0, or a negative errno, and the rest is not known */
	mode_t mode;
	uint64_t names, dev, ino;
	const char *target;  /* of a link, once it was read */
	struct names inside; /* of a folder */
};

/* A link on the way; target NULL: a folder that the way leads into and out of again. */
struct plan_hop {
	const char *path, *target;
	bool planted; /* an earlier command could have made it (host/planted.h) */
};

struct plan_node {
	const char *path;
	enum plan_special special;
	enum plan_runs runs;
	enum plan_access grant, limit;
	bool named; /* the folder itself may be seen, whatever is in it */
	bool held;  /* limited by more than a pattern that was looked for */
	bool masks; /* PLAN_MASKED: it may be shown */
	bool exists, is_dir, hidden;
	uint64_t dev, ino;
	const char *text;
	bool is_base64;
	const struct plan_place *granter, *limiter; /* whom to name in a message; may be NULL */
	/* Computed: */
	size_t up; /* the nearest node above; itself for the root */
	enum plan_access access;
	enum plan_kind kind; /* what stands here, or around it: PLAN_DIR is the skeleton */
	bool exec, copied;
	bool listed;  /* in the plan's programs */
	size_t mount; /* the node whose mount is seen here */
};

struct planner {
	struct plan *plan;
	const struct plan_options *options;
	const struct policy *policy; /* with true globs replaced, if there were any */
	struct policy *own_policy;
	struct arena arena; /* for the time of planning */
	struct error *error;
	const struct permissions **layers; /* without nesting */
	size_t n_layers;
	const struct permissions **written; /* the same, before globs are replaced */
	struct permissions **copies;        /* layers that were written anew */
	size_t n_copies;
	char probe[32]; /* a name that no pattern has */
	struct plan_place *places;
	size_t n, cap;
	size_t n_programs; /* of them */
	size_t n_ready;    /* places that were looked at and asked about */
	size_t n_doors;    /* places that are granted sockets */
	size_t n_stand_ins;
	const char **shadows; /* folders with a shadow (plan/stand-ins.c) */
	size_t n_shadows, cap_shadows;
	bool lifts; /* some layer takes files out of the baseline */
	struct plan_glob *globs;
	size_t n_globs, cap_globs;
	size_t found_matches;
	bool found_partial;           /* there was more than the look may read */
	struct plan_glob *exec_globs; /* true globs over programs, and folders of programs */
	size_t n_exec_globs, cap_exec_globs;
	const char **exec_folders;
	size_t n_exec_folders, cap_exec_folders;
	struct plan_absent
		*absent; /* patterns about what is not there, until it is known what is seen */
	size_t n_absent, cap_absent;
	struct plan_aside *aside; /* lists with such patterns */
	size_t n_aside, cap_aside;
	struct plan_parent **parents;    /* a table of the folders that they lie in */
	struct plan_parent *last_parent; /* that was looked for */
	size_t n_parents, cap_parents;
	struct hash_key parents_key;
	struct plan_linked *linked;
	size_t n_linked, cap_linked;
	struct plan_seen **seen; /* a table of what was looked at */
	size_t n_seen, cap_seen;
	struct plan_seen last_seen; /* that found no room in it */
	struct names root_names;    /* what is not in the root */
	struct plan_hop *hops;
	size_t n_hops, cap_hops;
	const char **lives; /* what is live in the skill; absolute */
	size_t n_lives, cap_lives;
	struct plan_node *nodes;
	size_t n_nodes;
	struct plan_entry *entries; /* before they are sorted */
	size_t n_entries, cap_entries;
};

static inline enum plan_access plan_least(enum plan_access a, enum plan_access b)
{
	return a < b ? a : b;
}

static inline enum plan_access plan_most(enum plan_access a, enum plan_access b)
{
	return a > b ? a : b;
}

/* A rule that counts, of any of these operations (bits). */
static inline bool plan_is_about(const struct rule *rule, unsigned operations)
{
	return !rule->disabled && rule->operations & operations;
}

/*
 * The steps of plan.c, and what they share. They return 0 or a negative errno with a sentence in
 * planner.error; for -ENOMEM plan_new() writes it.
 */

/* plan.c */
int plan_add_place(struct planner *p, struct plan_place place);
/* The same with a path that is the caller's. */
int plan_add_copy(struct planner *p, const char *path, struct plan_place place);
/* A note for people; the text is printed into the plan's arena. */
int plan_add_note(struct planner *p, const struct location *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* plan/patterns.c: places from the lists and rules of all layers. */
int plan_patterns_collect(struct planner *p);
/* Of those that were put aside, what lies in something that can be seen. */
int plan_patterns_settle(struct planner *p);
/* One path pattern with its variable expanded, parsed into the planner's arena. */
int plan_patterns_parse(
	struct planner *p, const char *text, const struct location *where, struct glob *ret);
/* Calls one for each pattern of a list. */
typedef int plan_patterns_one(
	struct planner *p, const char *text, const struct location *where, const void *data);
int plan_patterns_each(
	struct planner *p, const struct grant_list *list, plan_patterns_one *one, const void *data);

/* True globs that allow reading become what they match. */
int plan_globs_rewrite(struct planner *p);
/* No "**" but at the end. */
bool plan_globs_can_expand(const struct glob_alternative *alt);
/* Called for each path that is there; subtree: all below it is meant as well. */
typedef int plan_globs_found(void *data, const char *path, bool subtree);
/* The folder that a pattern is fixed to, without its links; "/" if that cannot be found out. */
void plan_globs_folder(const struct glob_alternative *alt, char out[PATH_BYTES]);
int plan_globs_expand(
	struct planner *p, const struct glob_alternative *alt, plan_globs_found *found, void *data);

/* plan/look.c: what is there, where links lead, and what the policy says of it. Looks at all places
 * that are not ready yet. */
int plan_look(struct planner *p);
/* Asks about a place that was left unasked. */
int plan_look_ask(struct planner *p, struct plan_place *place);
/* One path as it is now; -ELOOP: there is a link in it. */
int plan_look_at(const char *path, struct plan_place *ret);
/* Calls found for each name in a folder; what cannot be seen has none. */
typedef int plan_look_found(struct planner *p, const char *name, void *data);
int plan_look_each(struct planner *p, const char *folder, plan_look_found *found, void *data);
/* An errno that means: not there, as far as a command can tell. */
bool plan_look_is_absent(int code);
/* PLAN_MASKED: what the layers say of the path, as if there were no baseline. */
int plan_look_ask_masked(const struct planner *p, const char *path, struct plan_answer *ret);
/* The policy's answer about connecting to a socket: all or nothing. */
int plan_look_ask_socket(const struct planner *p, const char *path, struct plan_answer *ret);
/* "fs.deny (policy.yaml:3)": who limits; into the planner's arena. */
const char *plan_look_who(struct planner *p, const struct plan_answer *a);

/* plan/seen.c: the same, but of each name as it was when this planning first looked at it. */
int plan_seen_at(struct planner *p, const char *path, struct plan_place *ret);
/* links_walk() by these looks; data of `seen` is the planner. */
int plan_seen_walk(struct planner *p, const char *path, links_link *seen, char out[PATH_BYTES]);

/* plan/baseline.c: places of the baseline inside what the nodes make visible. */
int plan_baseline_collect(struct planner *p);
/* What is forbidden and not there, for when it appears (warden/session/late.h). */
int plan_baseline_defer(struct planner *p);

/*
 * plan/linked.c: where links at the baseline's places lead, if the home is not visible; and then,
 * when all places are looked at, where links inside secret folders lead.
 */
int plan_linked_collect(struct planner *p);
int plan_linked_inside(struct planner *p);

/* plan/sockets.c: sockets of the host that are granted; and the others inside what is visible. */
int plan_sockets_grant(struct planner *p);
int plan_sockets_check(struct planner *p, const struct plan_place *place);
int plan_sockets_hide(struct planner *p);

/*
 * plan/socket-list.c: calls a function with each path that a socket of this network namespace is
 * bound to, with some of them more than once. If it
 * returns a negative number, that ends it.
 */
typedef int plan_socket_name(void *data, const char *name);
int plan_socket_list_each(plan_socket_name *each, void *data, struct error *e);

/* plan/aliases.c: covers again where another mount shows what they cover. */
int plan_aliases_collect(struct planner *p);

/* plan/extras.c: essentials, HOME, temporary folders, guarded files. */
int plan_extras_collect(struct planner *p);

/* plan/skill.c: the skill's folder, and what is live in it; then notes on grants that it overrules.
 */
enum plan_skill { PLAN_SKILL_OUTSIDE, PLAN_SKILL_COPIED, PLAN_SKILL_LIVE };
int plan_skill_collect(struct planner *p);
enum plan_skill plan_skill_part(const struct planner *p, const char *path);
/* The #! line of a file of the copy (PLAN_SKILL_COPIED): what the sandbox will see at the path. The
 * host's folder may be another one for a moment. */
int plan_skill_script(const struct planner *p, const char *path, struct shebang *ret);
int plan_skill_note(struct planner *p);

/* plan/exec.c: programs as places; then Landlock's list of those that are visible and may run. */
int plan_exec_collect(struct planner *p);
int plan_exec_list(struct planner *p);
/* A rule of some layer denies it, not just the lack of a grant. */
bool plan_exec_is_denied(const struct planner *p, const char *path);

/* plan/broker.c: the socket of a broker, and the program that calls it. */
int plan_broker_decide(struct planner *p);

/* plan/worker.c: the files of a WASM worker. */
int plan_worker_decide(struct planner *p);

/* plan/network.c */
int plan_network_decide(struct planner *p);
/* Calls one for each grant of hosts in a layer's list and rules; or only in those that allow. */
typedef int plan_network_grant(struct planner *p, const struct grant *g, void *data);
int plan_network_each(struct planner *p, const struct permissions *l, bool allowing,
	plan_network_grant *one, void *data);

/* plan/order.c: orders paths so that a folder comes right before what is in it. */
int plan_compare_paths(const char *a, const char *b);
/* The node at path or the nearest above it. */
const struct plan_node *plan_nodes_find(const struct planner *p, const char *path);

/* plan/nodes.c: nodes from places, and the plan's entries from nodes. */
int plan_nodes_build(struct planner *p);
int plan_nodes_make_entries(struct planner *p);

/*
 * plan/stand-ins.c: which folders get a shadow; whether a file's entry is a copy; and the entries
 * of the shadows, after all others.
 */
int plan_stand_ins_find(struct planner *p);
bool plan_stand_ins_is(struct planner *p, const struct plan_node *node);
int plan_stand_ins_add_shadows(struct planner *p);

/* plan/found.c: places of what matches AgenShield's denials by pattern; what is said of it; and
 * what the session needs to mask later matches. */
int plan_found_collect(struct planner *p);
int plan_found_note(struct planner *p);
int plan_found_defer(struct planner *p);

/* plan/check.c: refuses what mounts cannot hold. */
int plan_check(struct planner *p);
