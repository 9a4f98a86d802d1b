/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Findings that a reviewer has looked at. The list is a file of the reviewer's: what a skill says
 * of itself suppresses nothing, as its author is whom the scan does not trust. A line without a
 * reason, or with an id that is no rule's, is an error.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/file.h"
#include "cli/skill/suppress.h"
#include "policy/match/service.h"

enum { SUPPRESS_BYTES = 1 << 20 };

struct suppress_line {
	const char *id, *file, *reason;
	unsigned long line; /* 0: any */
};

static bool suppress_knows(const char *id)
{
	for (size_t k = 0; k < skill_rules_count(); k++) {
		if (strcmp(skill_rules_at(k).id, id) == 0)
			return true;
	}
	return false;
}

/* Cuts a line in place. 1: a row; 0: nothing in it; -EINVAL. */
static int suppress_parse(char *text, struct suppress_line *ret)
{
	char *save = NULL, *colon;
	const char *id = strtok_r(text, " \t\r", &save);
	char *file = id && id[0] != '#' ? strtok_r(NULL, " \t\r", &save) : NULL;

	if (!id || id[0] == '#')
		return 0;
	*ret = (struct suppress_line){ .id = id, .file = file, .reason = save };
	colon = file ? strrchr(file, ':') : NULL;
	if (colon && colon[1] && strspn(colon + 1, "0123456789") == strlen(colon + 1)) {
		ret->line = strtoul(colon + 1, NULL, 10);
		*colon = '\0';
	}
	if (!file || !save || !save[strspn(save, " \t\r")] || !suppress_knows(id))
		return -EINVAL;
	return 1;
}

static void suppress_apply(struct skill_inspection *i, const struct suppress_line *row)
{
	for (size_t k = 0; k < i->findings.n; k++) {
		struct skill_finding *f = &i->findings.items[k];

		if (strcmp(f->id, row->id) == 0 && (!row->line || row->line == f->line) &&
			service_word_matches(row->file, f->file, strlen(f->file)))
			f->reason = row->reason;
	}
}

int suppress_read(struct skill_inspection *i, struct call *c, const char *file)
{
	struct location where = { .file = file };
	auto_buffer text = { 0 };
	char *next = NULL;
	int r = file_read(file, SUPPRESS_BYTES, &text);

	if (r < 0)
		return error_set(c->error, r, &where, "cannot be read: %s", strerror(-r));
	next = arena_strndup(c->arena, buffer_text(&text), text.len);
	if (!next)
		return error_no_memory(c->error);
	while (next) {
		struct suppress_line row;
		char *line = next;

		where.line++;
		next = strchr(line, '\n');
		if (next)
			*next++ = '\0';
		r = suppress_parse(line, &row);
		if (r < 0) {
			(void)error_set(
				c->error, r, &where, "is not a rule's id, a file, and the reason");
			error_hint(c->error, "write, for example: download-run scripts/setup.sh:4 "
					     "our own installer, read on Monday");
			return r;
		}
		if (r > 0)
			suppress_apply(i, &row);
	}
	return 0;
}
