/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Policies from the places that the command line names: files in any format that manifest.h reads,
 * folders (of a skill, or of AgenShield's rules: default.json and custom/….json), "-" for standard
 * input, "fd:N" for a descriptor (launch/source.h); and the values of the variables in them.
 *
 *   SKILL_DIR   the folder of the skill that was read; no value if there were two
 *   WORK_DIR    the current folder
 *   HOME, TEMP  from the environment (TMPDIR, else /tmp)
 *   DATA_DIR, SHARED_DIR    corral/data and corral/shared in XDG_DATA_HOME (else ~/.local/share)
 *
 * Each can be given by --set NAME=DIR instead.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "cli/options.h"
#include "policy/format/manifest.h"
#include "policy/policy.h"
#include "policy/variable.h"

/* A built-in profile that a file extends. */
struct load_builtin {
	const char *name;                /* NULL: none does */
	struct permissions *permissions; /* the file's, with the profile's */
	struct limits limits;            /* the profile's, which an option may widen */
};

struct load {
	struct variables variables;
	bool is_set[VARIABLE_COUNT]; /* by --set: nothing else changes it */
	bool many_skills;            /* of different folders */
	struct manifest *files;      /* in the order in which they were named */
	size_t n, cap;
	bool is_anywhere; /* only looked at: profiles are not asked whether they fit the folder */
	bool uses_cache;  /* of what long files became: host/policy-cache.h */
	const char *fd_name;  /* in messages, of what comes by a descriptor; NULL: its number */
	const char **sources; /* files and folders that were read, absolute and normal */
	size_t n_sources, cap_sources;
	struct load_builtin builtin; /* of the first file that extends one */
	/* What may be written beside what profiles grant: --write; a file that is extending one. */
	const struct options_list *writes;
	const struct permissions *extending;
};

/* Takes --set NAME=DIR; the target is a struct load. */
options_taker load_set;
/* Takes --from KIND; the target is an enum manifest_kind. */
options_taker load_kind;

/* "WORK_DIR=" …, ending with NULL. */
extern const char *const load_variables[];
#define LOAD_SET(load)                                                                   \
	{                                                                                \
		{ "set", SCHEMA_OTHER, .words = load_variables,                          \
			.help = "set a path variable, such as --set WORK_DIR=/srv/work", \
			.many = true },                                                  \
			0, "NAME=DIR", .target = load, .take = load_set                  \
	}

/* Gives the variables their values. Call it before the first file is read. */
int load_begin(struct load *l, struct call *c);
/* A folder of which every file is read: commands must not add one. */
int load_note_folder(struct load *l, struct call *c, const char *path);
/* Reads one more file or folder; MANIFEST_UNKNOWN: find out what it is. */
int load_add(struct load *l, struct call *c, const char *path, enum manifest_kind kind);
/* The same for many. */
int load_add_all(struct load *l, struct call *c, const char *const *paths, size_t n,
	enum manifest_kind kind);
/*
 * A text that the caller read, in place of the file of that name; nothing is added if it is none
 * that can be read.
 */
int load_add_text(struct load *l, struct call *c, const char *path, enum manifest_kind kind,
	const struct buffer *text);
/* The same of one more file of rules, which joins the last one that was added. */
int load_join_text(struct load *l, struct call *c, const char *path, const struct buffer *text);
void load_deinit(struct load *l);
#define auto_load __attribute__((cleanup(load_deinit))) struct load

/* Values and resolver as the policy wants them. Points into l. */
struct policy_options load_options(const struct load *l);
/* Compiles all that was read, each file a layer. */
int load_compile(const struct load *l, struct call *c, struct policy **ret);

/* algebra_merge or algebra_intersect. */
typedef int load_operation(
	struct permissions **ret, const struct permissions *a, const struct permissions *b);
/* All that was read as one, combined from left to right. The caller frees it. */
int load_combine(
	const struct load *l, struct call *c, load_operation *operation, struct permissions **ret);

/* An absolute, normal path in the call's arena; a relative one is taken from the current folder. */
int load_absolute(struct call *c, const char *path, const char **ret);
