/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the parts share. */
#include <dirent.h>

#include "cli/stored/history.h"
#include "cli/stored/stored.h"
#include "cli/output.h"

/* Of the system's policies and their history other users may read. */
static inline unsigned stored_mode(const struct stored_place *p)
{
	return p->is_system ? 0644 : 0600;
}

/* For cleanup. */
void stored_close_dir(DIR **d);

/* place.c */

/* What a configuration folder has. */
struct stored_found {
	bool has_policy, has_folder; /* policy.yaml, policy.d: whatever they are */
	struct stored_files misnamed;
};

/*
 * Opens a folder that may be missing: then *ret is NULL. A link that leads nowhere, at its name or
 * above, and what is no folder or cannot be read are errors.
 */
int stored_open_folder(const char *path, DIR **ret, struct error *e);
int stored_look_place(struct call *c, const struct stored_place *p, struct stored_found *ret);
/* Whether a file's ending is one of these, in capital letters or small. */
bool stored_is_near(const char *file, const char *const *endings, size_t n);
/* The first of them stops the run, if there is any. */
int stored_refuse_ignored(
	struct call *c, const struct stored_place *p, const struct stored_files *all);

/* "there is no policy NAME": STATUS_ABSENT. */
int stored_refuse_absent(struct call *c, bool json, const char *name);
/* A version of a file's history was read, written …: -errno as an error of the call. It says that
 * nothing was changed, and names what could not be. */
int stored_fail(struct call *c, const char *what, const char *path, int r);

/* How a stored policy is written: checked before, by a caller that holds the lock. */
struct save_text {
	const struct stored_file *file;
	const struct buffer *now; /* what it says, which is noted; NULL: it is not there */
	const struct buffer *text;
	enum history_by by;
};

int save_write(struct call *c, const struct stored_place *p, const struct save_text *s);

/* rules-list.c: the keys of a rule that can be set, ending with NULL; its id is no such key. */
extern const char *const rules_keys[];
/* Rows of JSON, one for each rule. */
struct rules_rows {
	struct json_tree *t;
	struct node *list;
	const char *only; /* the id "POLICY:RULE" of the one that is wanted; NULL: all */
};
/* Adds those of a text. Negative with the error: it is no policy. */
int rules_put(struct rules_rows *to, const struct stored_file *f, const struct buffer *text,
	struct error *e);
/* Two rules say the same if these are equal. */
void rules_etag(const struct node *rule, char out[STORED_ETAG]);
bool rules_is_json(const struct stored_file *f);

/* verb-rules.c: what `corral policy rules` was asked for. */
enum rules_change { RULES_LIST, RULES_ADD, RULES_REPLACE, RULES_CHANGE, RULES_REMOVE };

struct rules_options {
	bool json, system, adds;
	const char *policy, *rule, *replace, *change, *remove, *etag;
	enum rules_change what;
	struct stored_place place;
};
/* "there is no rule ID": STATUS_ABSENT. */
int rules_refuse_absent(struct call *c, const struct rules_options *o, const char *id);

/*
 * rules-edit.c: adds, replaces, changes or removes a rule, and prints what became of it. id:
 * "POLICY:RULE", or NULL for one that is added. Returns a status, or a negative error.
 */
int rules_edit(struct call *c, const struct rules_options *o, const char *id);

/* What a file says now. 0: it is there; 1: not; negative: an error. */
int save_read_now(struct call *c, const struct stored_file *f, struct buffer *ret);
/* A file that the caller named, or standard input, up to STORED_BYTES_MAX. */
int save_read_input(struct call *c, const char *path, struct buffer *ret);
