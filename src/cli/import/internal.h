/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Settings of other sandboxes, as permissions. A file of another program says what that program
 * would do; here it becomes what Corral can hold, and everything else becomes a note. Nothing is
 * granted that the file does not grant; what it leaves open (all files, the whole network) is not
 * taken over, and a note says so.
 */
#include <stdbool.h>
#include <stddef.h>

#include "cli/verb.h"
#include "codec/node.h"
#include "policy/permissions.h"

struct buffer;

struct import_note {
	struct location where;
	const char *text;
	size_t number; /* in the order in which they were found */
	bool is_rest;  /* it stands for those that are left out */
};

struct importing {
	struct call *call;
	struct document source;
	struct permissions *to;
	struct import_note *notes;
	size_t n_notes, cap_notes, n_plain, n_denials;
	unsigned denying;    /* above 0: what is noted is a denial that is not taken over */
	bool too_many;       /* such denials: the import fails */
	const char *profile; /* of Codex: which of the file's; NULL: the one it names */
	bool no_memory;
};

/* How a key of a map is taken over. All NULL: it is about something else, and needs no word. */
struct import_key {
	const char *key;
	void (*take)(struct importing *im, const struct node *n);
	const char *note; /* why it is not taken over, or what to do instead */
};

/* One program's format. */
struct import_format {
	const char *name;   /* of --format */
	const char *title;  /* in sentences */
	const char *places; /* where its files usually are */
	bool is_toml;
	/* Whether the document is likely one of these: keys that no other format has. */
	bool (*matches)(const struct node *root);
	void (*take)(struct importing *im, const struct node *root);
	/* Whether --profile NAME is in the file; NULL: the format has none. */
	bool (*has_profile)(const struct node *root, const char *name);
};

extern const struct import_format import_srt, import_claude, import_codex, import_nono;

/* Something that is not taken over, with its place. The number of notes is bounded; those about
 * denials (im->denying) are never left out. */
void import_note(struct importing *im, const struct node *n, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* The same with a place. */
void import_note_at(struct importing *im, const struct location *where, const char *format, ...)
	__attribute__((format(printf, 3, 4)));
/* After a format's take(): notes in the order of lines, and nothing that lint warns about unless
 * the file says so. */
void import_finish(struct importing *im);
/* The keys of a map, each by its row; `inside` is the map's name for notes ("" at the top). */
void import_map(struct importing *im, const struct node *map, const char *inside,
	const struct import_key *keys, size_t n);
/* Each text of a list; what is no text becomes a note. */
void import_each(struct importing *im, const struct node *list,
	void (*take)(struct importing *im, const struct node *item));

/* One more entry of a list; what the grammar refuses becomes a note with its reason. */
void import_grant(struct importing *im, enum permission_list list, const char *pattern,
	const struct node *from);
/* A rule that denies or asks. */
void import_rule(struct importing *im, enum verdict action, enum operation op, const char *pattern,
	const struct node *from);
/* A program that must not run; all others may. */
void import_deny_program(struct importing *im, const char *program, const struct node *from);

/* variables.c: NAME=value, unless the name says that the value is a secret. */
void import_variable(struct importing *im, const char *name, const struct node *value);
/*
 * Variables that are passed on, by name or pattern. A note instead: the pattern begins with a
 * wildcard or nearly so, or an entry of the list `excluded` (NULL: none) could name one of them.
 * Returns whether they are granted.
 */
bool import_variables(struct importing *im, const char *pattern, const struct node *excluded,
	const struct node *from);
/* Whether a name could match both patterns (`*` and `?`, in any case of letters). */
bool import_patterns_meet(const char *a, const char *b);

/*
 * Grants a path as the file has it: absolute, below the home (~, $HOME), or of the project. With
 * what is below it, unless the host has a file there. Not the whole machine or home; nor variables
 * that Corral does not have, nor `..`: these become notes. `is_literal`: no character is special.
 */
void import_path(struct importing *im, enum permission_list list, const char *path, bool is_literal,
	const struct node *from);
/* After the grants for writing: extends `workspace` if the project is among them, else `readonly`.
 */
void import_choose_profile(struct importing *im);
/*
 * A path that must not be read (op: OPERATION_FS_READ) or written. In folders that commands may
 * write only what exists can be denied; the rest becomes a note. Call it after all grants.
 */
void import_deny_path(struct importing *im, enum operation op, const char *path, bool is_literal,
	const struct node *from);
/* A host name, with subdomains by `*.`, with a port or without. */
void import_host(struct importing *im, enum permission_list list, const struct node *from);

/* Makes JSON of JSON with comments and commas before brackets; offsets stay. */
void import_strip_comments(struct buffer *text);
