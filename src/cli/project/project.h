/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * corral.yaml of a project: found from the working folder upwards, read once, and used if a person
 * approved just these bytes at just this path. What is hashed is what is parsed: one buffer.
 *
 * Looked at are the working folder and those above it, up to the home (not the home itself), the
 * root or another file system. A file in a folder that others can change is ignored, with a note,
 * and the search goes on; unless it was approved once: then the run is refused, because what the
 * file took away would be there again. Any other file that is not approved, is a link, has a second
 * name, or cannot be read, stops the run: it never grants, and it is never silently left out.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/buffer.h"
#include "base/path.h"
#include "cli/verb.h"
#include "policy/format/project.h"
#include "skill/approval.h"

struct output;
struct variables;

struct project {
	const char *path;    /* NULL: there is none */
	const char *folder;  /* that it is in, without links */
	const char *ignored; /* why it does not count; NULL: it does */
	/* One that is nearer and does not count, where another one does; NULL: there is none. */
	const char *passed, *passed_folder, *passed_why;
	struct buffer text;
	struct project_file file;
	struct approval approval; /* as it would have to be now */
	int outcome;              /* enum approval_outcome */
	struct approval_record record;
	bool is_written;      /* by us, for an answer, while the command ran (always.c) */
	struct buffer before; /* the text that was approved; empty if it is not known */
};

/* A folder as its real path, and the home. */
int project_named_folder(
	struct call *c, const char *named, char real[PATH_BYTES], const char **ret_home);
/*
 * Looks for the file, and opens nothing else: path, folder and ignored. from: absolute, without
 * links; home may be NULL. -EPERM with a sentence: there is one that cannot be trusted.
 */
int project_find(
	struct project *p, struct call *c, const char *from, const char *home, int *ret_fd);
/* The same, and reads it, its approval, and what was approved. p->path is NULL if there is none. */
int project_open(struct project *p, struct call *c, const char *from, const char *home);
void project_deinit(struct project *p);
#define auto_project __attribute__((cleanup(project_deinit))) struct project

/* Stores that these bytes were approved. */
int project_approve(struct project *p, struct call *c);
/* 0, or 1 if there was no approval. */
int project_revoke(const struct project *p, struct call *c);
/* "this content is approved", "it was never approved" … */
const char *project_outcome(const struct project *p);
/* Shows what is to be approved: all of it, or what changed; and in plain words what it grants. */
int project_show(const struct project *p, struct call *c, struct output *o);
/* Lines of the file as they would be on a screen. */
void project_show_text(struct output *o, const char *text, size_t len);
/* Asks on the terminal; anything but a yes is a no. */
bool project_ask(const char *question);

/*
 * append.c: the text of a project's file with more grants (lists of files, hosts, programs and
 * variables): comments and order stay. *ret is the caller's. 1: all of them are there already;
 * -ENOTSUP: the text is written so that lines cannot be added, and the error says what to do.
 * Whoever writes it shows diff_print(), asks, and calls project_write().
 */
int project_append(const struct project *p, struct call *c, const struct permissions *more,
	struct buffer *ret);
/*
 * Replaces the corral.yaml of a folder by this text, and approves what is there then if it is that.
 * -ESTALE: it was changed meanwhile; then it is not approved.
 */
int project_write(struct call *c, const char *folder, const char *home, const struct buffer *text);

/* Names of the commands of the project that the current folder is in, for a shell
 * (cli/complete.h). */
void project_offer(struct call *c, struct buffer *out);

/*
 * always.c: one more grant of a project's file that was opened just now. Writes the line and
 * approves the result; -ESTALE with a sentence if what was opened is not approved as it is. 1: the
 * grant is there already. home may be NULL.
 */
int project_add_grant(const struct project *now, struct call *c, const char *home, uint32_t op,
	const char *pattern);

struct run;
/* The same for the file of a run, and shows the line (ask/ask.h). */
int project_always(void *run, uint32_t op, const char *pattern, struct error *e);
/*
 * The project of a run: its working folder, profile, packs, grants and named command. After the
 * variables, before the base. RUN_FORBIDDEN: it is not approved.
 */
int project_attach(struct run *r);
