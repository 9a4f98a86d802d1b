/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Records on their way out, as lines for people or in a format for programs. They are gathered and
 * written in pieces, and nothing of the log is held while a piece is written: a pager may keep us
 * waiting for hours, and a reader that stays keeps the log's write-ahead file growing.
 */
#include "audit/export/export.h"
#include "cli/audit/source.h"
#include "cli/output.h"

/*
 * A record as a line for a person:
 *
 *     11:29:22 denied  net.connect   evil.example.net:443                curl 1f2e3d4… #17
 *              nothing in network.allow grants it
 *
 * On a terminal it fits the width, and the day stands above the first line that is of it. Elsewhere
 * nothing is cut and each line has its date.
 */
struct audit_line {
	unsigned columns; /* 0: no terminal */
	char day[20];     /* of the line before */
	bool reasons;     /* of what was allowed, too */
};

/* For lines that go to fd. */
struct audit_line audit_line_for(int fd);
/* All that a record has to say, a field in each line. */
void audit_line_add_record(struct output *o, const struct audit_row *row);
/* The beginning of such a line: the name of the field. */
void audit_line_field(struct output *o, const char *name);

/* For people, where a format would be. */
enum { AUDIT_WRITER_LINES = -1 };

struct audit_writer {
	int fd;
	int format;
	struct audit_line line; /* for people */
	struct output row;
	struct buffer pending;
	uint64_t last; /* number of the last record that was added */
	uint64_t n;    /* how many were */
};

/* format: enum audit_format, or AUDIT_WRITER_LINES. */
void audit_writer_init(struct audit_writer *w, int fd, int format);
void audit_writer_deinit(struct audit_writer *w);
#define auto_audit_writer __attribute__((cleanup(audit_writer_deinit))) struct audit_writer

/* Writes all records that the filter lets through, of those with numbers in [from, to]. */
int audit_writer_copy(struct audit_writer *w, struct audit_log *l, const struct audit_filter *f,
	uint64_t from, uint64_t to, struct error *e);
/* The same of all that are there now. */
int audit_writer_copy_all(
	struct audit_writer *w, struct audit_log *l, const struct audit_filter *f, struct error *e);
