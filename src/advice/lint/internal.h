/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the lint-*.c files share: a layer taken apart into entries, in the order in which they
 * decide (deny lists, rules, grants: permissions.h), and the questions that are asked about them.
 *
 * Two kinds of answers must not be mixed up. "This has no effect" is only said when it is certain;
 * variables without a value are then never compared with anything but themselves. "This could be
 * dangerous" is said when it may well be; a variable then stands for a folder of its own, and $HOME
 * for one below /home.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "policy/baseline.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"
#include "advice/lint/lint.h"
#include "policy/algebra/relation.h"

enum {
	LINT_COMPARE_MAX = 600,  /* entries of one operation that are compared with each other */
	LINT_PARTS_MAX = 32,     /* patterns of one {all: …} that are looked at */
	LINT_STATES_MAX = 4096,  /* of an automaton, in one search */
	LINT_WORK_MAX = 1 << 19, /* states in all searches together */
};

/* A name that no file has: a pattern that matches it takes any name. */
#define LINT_ANY "qx7kz9um"
#define LINT_INSIDE "/" LINT_ANY "/" LINT_ANY

enum lint_width { LINT_NARROW, LINT_HOME, LINT_EVERYTHING };

/* Globs that must all match. */
struct lint_globs {
	struct glob *items;
	size_t n;
};

/* One pattern of an entry. */
struct lint_part {
	const char *text;
	int variable;  /* the enum variable that has no value here, or -1 */
	bool has_glob; /* files, programs by path, names of variables as "/NAME" */
	struct glob glob;
	struct command_pattern command; /* exec */
	const char *value; /* env: what stands behind the '='; NULL: the host's own value */
};

struct lint_entry {
	enum operation op;
	enum verdict verdict;
	const char *list;        /* "fs.read" … "rules", "guest_paths" */
	const struct rule *rule; /* NULL: an entry of a list */
	const struct grant *grant;
	struct location where;
	bool implied;            /* an entry of fs.write, in its role for reading */
	bool is_private;         /* of network.private: more than the name alone */
	bool nothing;            /* an {all: …} that can match nothing */
	enum lint_width width;   /* files and programs by path */
	const char *text;        /* for people */
	struct lint_part *parts; /* all must match */
	size_t n;
	struct lint_globs globs;    /* of those parts that have one */
	struct host_pattern *hosts; /* net.connect: what the parts have in common; any may match */
	size_t n_hosts;
	const struct lint_entry *by; /* leaves this one nothing to decide: lint/useless.c */
};

struct lint_entries {
	struct lint_entry *items;
	size_t n, cap;
	size_t *shields; /* the places of those that forbid or ask, in order */
	size_t n_shields, cap_shields;
};

struct lint_check;

struct lint {
	const struct permissions *p;   /* the layer */
	const struct permissions *top; /* what was given to lint_permissions() */
	const struct variables *vars;  /* values and stand-ins: every variable has one */
	unsigned known;                /* set of 1 << variable: those with a value */
	const char *home;              /* the value of $HOME, or NULL */
	struct baseline_home own_home;
	struct glob homes, system; /* see lint/files.c */

	struct lint_entries entries[OPERATION_COUNT];
	struct lint_entries dangerous;
	bool compared;   /* `by` is set where it can be */
	bool incomplete; /* something was not compared */
	size_t *work;    /* what searches have cost so far */

	const char *rule, *rule_for; /* lint/code.c: last advised, and the entry it is for */

	const struct lint_check *check; /* the one that is being made */
	struct arena *scratch;          /* for one layer */
	struct arena *arena;            /* for the findings */
	struct lint_findings *found;
	size_t first; /* the layer's first finding */
};

/* What a finding says. */
struct lint_words {
	const char *text, *hint; /* NULL: out of memory */
};

typedef int lint_entry_fn(struct lint *l, const struct lint_entry *e);
typedef int lint_layer_fn(struct lint *l);
/* True if there is something to say about the host. */
typedef bool lint_host_fn(struct lint *l, const struct host_pattern *h, struct lint_words *w);

/*
 * A check looks at entries one by one (those that allow something of the given operations, or
 * every one), at each of their hosts, or at the layer as a whole.
 */
struct lint_check {
	struct lint_about about;
	unsigned operations; /* set of 1 << operation */
	lint_entry_fn *entry;
	lint_host_fn *host;
	lint_layer_fn *layer;
	bool every; /* also those that forbid, once all were compared with each other */
};

/* lint.c */

/* A sentence in the arena of the findings; foreign text in it is made visible. */
const char *lint_say(struct lint *l, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* Reports what the current check found at an entry; NULL texts are out of memory. */
int lint_report(struct lint *l, const struct lint_entry *e, const char *text, const char *hint);
/* The same about a place without an entry. */
int lint_report_at(struct lint *l, const struct location *where, const char *pattern,
	const char *text, const char *hint);
/* The same about the layer as a whole. */
int lint_report_layer(struct lint *l, const char *text, const char *hint);

/* lint/entry.c: fills entries and dangerous; patterns that do not parse are reported. */
int lint_collect(struct lint *l);
/* "fs.write" or "rule x", for sentences. */
const char *lint_source(struct lint *l, const struct lint_entry *e);

/* lint/search.c */

bool lint_all_match(const struct lint_globs *g, const char *text, size_t len);
/*
 * Is there a text that all of `in` match, and none of `out` does? 1 or 0; -E2BIG if that takes too
 * long to find out (which is remembered as `incomplete`).
 */
int lint_exists(struct lint *l, enum product_domain domain, const struct lint_globs *in,
	const struct lint_globs *out, size_t n_out);
/*
 * Does the entry allow a path that target matches, and that no stronger entry forbids or asks
 * about? Such a path to begin with makes the answer quick in most cases; it may be NULL.
 */
int lint_reaches(
	struct lint *l, const struct lint_entry *e, const struct glob *target, const char *path);
/* True, and remembered, if these are too many to compare each with another. */
bool lint_is_too_long(struct lint *l, const struct lint_entries *entries);
/* For certain: everything that b covers, a covers; nothing is covered by both. Or -ENOMEM. */
int lint_contains(struct lint *l, const struct lint_entry *a, const struct lint_entry *b);
int lint_disjoint(struct lint *l, const struct lint_entry *a, const struct lint_entry *b);
/* 1 if one of the entries may grant something that e covers; 0, -ENOMEM. */
int lint_meets(struct lint *l, const struct lint_entry *e, const struct lint_entries *all);

/* lint/files.c: how much of the file system globs take in; -ENOMEM. */
int lint_width_of(struct lint *l, const struct lint_globs *g, enum lint_width *ret);
/* True if the globs match whatever lies in `folder`, at any depth. */
bool lint_takes_all_below(const struct lint_globs *g, const char *folder);
int lint_files_init(struct lint *l);
/* lint/useless.c: sets `by` of all entries. */
int lint_compare(struct lint *l);

/* The checks, by file; lint.c has the table. */

/* files.c */
lint_entry_fn lint_too_wide, lint_write_system, lint_baseline_forbids, lint_literal_folder;
lint_layer_fn lint_dangerously_allow, lint_dangerously_unused;
/* code.c */
lint_entry_fn lint_deferred_execution, lint_write_path, lint_write_then_exec;
lint_entry_fn lint_exec_everything, lint_exec_glob, lint_exec_root, lint_exec_any_code;
/* hosts.c */
lint_entry_fn lint_net_private_name;
lint_layer_fn lint_listen_public;
lint_host_fn lint_net_everything, lint_net_public_suffix, lint_net_private, lint_net_metadata;
lint_host_fn lint_net_drop, lint_net_dns, lint_net_ports, lint_net_plain_http;
lint_host_fn lint_unix_root, lint_unix_session;
/* env.c */
lint_entry_fn lint_env_everything, lint_env_secret, lint_env_secret_value, lint_env_code;
lint_entry_fn lint_secret_host, lint_secret_program, lint_secret_variable;
lint_entry_fn lint_net_inspect;
/* layer.c */
lint_layer_fn lint_mode_monitor, lint_mode_audit, lint_default_allow, lint_service_unscoped;
lint_entry_fn lint_service_rule;
lint_layer_fn lint_no_limits, lint_grants_nothing, lint_guest_overlap;
lint_layer_fn lint_rule_disabled, lint_rule_duplicate, lint_rule_asks_files;
/* useless.c */
lint_entry_fn lint_matches_nothing, lint_covered, lint_denied, lint_rule_shadowed;
lint_entry_fn lint_deny_unused;
lint_layer_fn lint_not_compared;
