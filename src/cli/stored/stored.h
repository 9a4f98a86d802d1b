/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The policies of a folder policy.d, each of which binds every run: the user's below
 * XDG_CONFIG_HOME/corral, the system's below /etc/corral.
 *
 *     default.json        "default"     AgenShield's rules
 *     custom/NAME.json    "custom/NAME" more of them: all rules together are one layer
 *     NAME.yaml, .yml, .json  "NAME"    a layer each, in any format
 *
 * Whoever changes a file through Corral, or corrald when one was changed by hand, notes what the
 * file said in its history (cli/stored/history.h). A file that is broken then does not stop runs:
 * the last good version stays in force until it is mended.
 */
#include <stdbool.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "cli/load.h"
#include "codec/node.h"

enum {
	STORED_FILES_MAX = 1000, /* in one folder */
	STORED_NAME_MAX = 64,
	STORED_BYTES_MAX = NODE_INPUT_MAX,
	STORED_ETAG = 40,
};

struct stored_place {
	const char *folder;  /* policy.d; NULL: the user has no home to look in */
	const char *config;  /* the folder above it, with daemon.json */
	const char *history; /* of all its files */
	bool is_system;
};

struct stored_file {
	const char *name, *path;
	const char *past; /* its folder in the history; NULL: its name is none that has one */
	bool is_rules;    /* one of default.json and custom/….json */
};

struct stored_files {
	struct stored_file *items; /* the rules first, default.json before the others */
	size_t n, cap;
};

int stored_open_place(struct call *c, bool is_system, struct stored_place *ret);
/* All files that are there, in the order in which they are read. */
int stored_list(struct call *c, const struct stored_place *p, struct stored_files *ret);
/*
 * What looks like a policy, or like a folder of them, and is not read: another spelling of a name
 * or of its ending, files of custom/ that are no JSON. Each stops every run.
 */
int stored_list_ignored(struct call *c, const struct stored_place *p, struct stored_files *ret);
/* The path under which one of them would be read. */
const char *stored_name_ignored(
	struct call *c, const struct stored_place *p, const struct stored_file *f);
/* What its name lacks. */
const char *stored_why_ignored(const struct stored_place *p, const struct stored_file *f);
/* One by its name; "NAME" is also "custom/NAME" if there is no other. 1: there is none. */
int stored_find(
	struct call *c, const struct stored_place *p, const char *name, struct stored_file *ret);
struct history;
/* The same, also of one that was removed but has a history; h has it. 1: there is neither. */
int stored_find_past(struct call *c, const struct stored_place *p, const char *name,
	struct stored_file *ret, struct history *h);
/* All that have a history, whether their files are there or not. */
int stored_list_past(struct call *c, const struct stored_place *p, struct stored_files *ret);
/* The file that a new policy of this name would be; -EINVAL: it is no name. */
int stored_name_new(struct call *c, const struct stored_place *p, const char *name, bool is_json,
	struct stored_file *ret);

/*
 * Reads a file that is there: a regular one, of at most STORED_BYTES_MAX. st is of what was read.
 * follows: by symbolic links, too. -ELOOP: it is a link.
 */
int stored_read(const struct stored_file *f, bool follows, struct buffer *ret, struct stat *st,
	struct error *e);
/* Two texts are the same if these are. */
void stored_etag(const char *text, size_t len, char out[STORED_ETAG]);
/*
 * Whether a text is a policy that can be compiled: 0, or negative with the error. ret_rules: how
 * many rules or patterns it has; ret_format: in which format. Either may be NULL.
 */
int stored_check(struct call *c, const struct stored_file *f, const struct buffer *text,
	size_t *ret_rules, const char **ret_format, struct error *e);
/* Whether no command could start under it, as it does not let the system's programs be read. What
 * is no policy stops nothing. */
bool stored_stops_all(struct call *c, const struct stored_file *f, const struct buffer *text);

/*
 * Adds policy.yaml and all of policy.d to `to`, as they are in force: a broken file of policy.d as
 * it was when it was good, if that is known, else its error stops the run. So does what is there
 * and cannot be read as a policy or a folder of them.
 */
int stored_load(struct load *to, struct call *c, const struct stored_place *p);
/* The mode of all of them, by daemon.json beside the folder. False: each file has its own. */
bool stored_read_mode(const struct stored_place *p, enum mode *ret);
/* The same of one. */
int stored_load_one(struct load *to, struct call *c, const struct stored_file *f);

/* What --stored NAME … named; one that is not there is an error. */
struct stored_named {
	struct options_list names;
	bool is_system;
};
int stored_load_named(struct load *to, struct call *c, const struct stored_named *n);
#define STORED_NAMED(to)                                                                        \
	{ { "stored", SCHEMA_TEXT, .help = "a stored policy, as `corral policy list` names it", \
		  .many = true },                                                               \
		0, "NAME", .target = &(to)->names },                                            \
		STORED_SYSTEM(&(to)->is_system)

/* For verbs: --system. */
#define STORED_SYSTEM(to)                                                             \
	{                                                                             \
		{ "system", SCHEMA_FLAG,                                              \
			.help = "the policies of the system: /etc/corral/policy.d" }, \
			.target = to                                                  \
	}
