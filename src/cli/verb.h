/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A verb is what the command line asks for: `inspect`, or `check` below `policy`. Each is
 * one constant in a file verb-….c of its folder that says how it is written, what it is for and
 * what runs it. --help is made from the same constant and from the verb's table of options
 * (options.h), so the two cannot disagree.
 */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "base/error.h"

/* How the program ends. Whoever takes 2 for a yes is broken. */
enum status {
	STATUS_YES = 0, /* allowed, a subset, nothing found, approved; or simply done */
	STATUS_NO = 1,
	STATUS_ERROR = 2,
	STATUS_ASK = 3,
	STATUS_CHANGED = 4, /* it is not what the caller knew */
	STATUS_ABSENT = 5,  /* there is no such object */
};

struct buffer;
struct call;

struct verb {
	const char *name;
	const char *synopsis;    /* what follows the name: "[OPTION]... FILE..." */
	const char *summary;     /* one line, for the list of verbs */
	const char *description; /* paragraphs, with a newline between them */
	const char *examples;    /* lines, each with its newline */
	const char *operand;     /* what an operand is called in messages: "FILE" */
	/* Appends words that operands may be, each with a tab and a newline, for a shell
	 * (complete.h). NULL: none. */
	void (*offer)(struct call *c, struct buffer *out);
	size_t min, max; /* how many of them there may be; 0, 0: none */
	bool is_prefix; /* the operands are a command: what stands behind the first is its matter */
	const struct verb *const *verbs; /* of a group: its verbs, ending with NULL; else NULL */
	/* Returns a status, or a negative errno with the call's error filled. NULL in a group. */
	int (*run)(struct call *c);
};

struct load;
struct manifest;
/* Finds what a file that was read extends (cli/profile/profile.h). */
typedef int verb_extender(struct load *l, struct call *c, struct manifest *m);

/* One use of a verb. */
struct call {
	const struct verb *verb;
	const char *name; /* with all words before it: "corral policy check" */
	/* The verb's own word and what stands behind it; options_parse() leaves only the operands.
	 */
	char **words;
	size_t n;
	bool is_behind_dashes; /* options_parse(): -- stood before the first operand */
	uint64_t given;        /* options_parse(): the rows of these options, as bits */
	char **completes;      /* the first of all words: it only says what may follow them
				  (complete.h); NULL: it is done */
	struct arena *arena;   /* for what lives as long as the call */
	struct error *error;
	bool *json; /* set where --json was given, so that an error is printed as JSON, too; or NULL
		     */
	verb_extender *extend; /* NULL: files that extend a profile are refused when compiled */
	const char *unread; /* a variable with a policy, for a host and not for us; NULL: none was
			       set */
};

/* Finds the verb that the words of c ask for, below c->verb, and runs it. Returns as run() does. */
int verb_dispatch(struct call *c);
/*
 * An answer that is no: the call's error, for people on standard error, for programs also as
 * output_error_json() prints it. Returns the status.
 */
int verb_refuse(struct call *c, bool json, enum status status);

extern const struct verb verb_run;
extern const struct verb verb_shell;
extern const struct verb verb_learn;
extern const struct verb verb_mcp;
extern const struct verb verb_undo;
extern const struct verb verb_doctor;
extern const struct verb verb_ps;
extern const struct verb verb_status;
extern const struct verb verb_events;
extern const struct verb verb_questions;
extern const struct verb verb_grants;
extern const struct verb verb_dashboard;
extern const struct verb verb_security;
extern const struct verb verb_service;
extern const struct verb verb_vault;
extern const struct verb verb_link;
extern const struct verb verb_agentlink;
extern const struct verb verb_tool;
extern const struct verb verb_integrations;
extern const struct verb verb_audit;
extern const struct verb verb_audit_tail;
extern const struct verb verb_audit_stats;
extern const struct verb verb_audit_verify;
extern const struct verb verb_audit_prove;
extern const struct verb verb_audit_check_proof;
extern const struct verb verb_import;
extern const struct verb verb_policy;
extern const struct verb verb_show;
extern const struct verb verb_replay;
extern const struct verb verb_shrink;
extern const struct verb verb_merge;
extern const struct verb verb_intersect;
extern const struct verb verb_stored_list;
extern const struct verb verb_stored_history;
extern const struct verb verb_stored_record;
extern const struct verb verb_stored_save;
extern const struct verb verb_stored_remove;
extern const struct verb verb_stored_undo;
extern const struct verb verb_stored_rules;
extern const struct verb verb_inspect;
extern const struct verb verb_approve;
extern const struct verb verb_skills;
extern const struct verb verb_profile;
extern const struct verb verb_project;
extern const struct verb verb_init;
extern const struct verb verb_seatbelt;
