/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The last look at what a file became: it must not fail `corral policy lint` because of how it was
 * imported. What is left of lint's warnings is what the file really grants, and each is a note.
 */
#include <stdlib.h>
#include <string.h>

#include "advice/lint/lint.h"
#include "base/buffer.h"
#include "cli/import/internal.h"

static void finish_drop(struct grant_list *list, const char *pattern)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].n != 1 || strcmp(list->items[i].all[0], pattern) != 0)
			list->items[n++] = list->items[i];
	}
	list->n = n;
}

/* Variables by a pattern that takes in secrets, or what makes programs run other code. */
static bool finish_is_loose(const struct importing *im, const struct lint_finding *f)
{
	const struct grant_list *env = &im->to->env;

	for (size_t i = 0; strpbrk(f->pattern, "*?") && i < env->n; i++) {
		if (strcmp(env->items[i].all[0], f->pattern) == 0)
			return true;
	}
	return false;
}

static void finish_lint(struct importing *im)
{
	struct lint_findings found = { 0 };

	if (lint_permissions(im->to, im->call->arena, &found) < 0) {
		im->no_memory = true;
		return;
	}
	for (size_t i = 0; i < found.n; i++) {
		const struct lint_finding *f = &found.items[i];
		const bool is_loose = finish_is_loose(im, f);

		if (f->severity == LINT_NOTE || !*f->pattern)
			continue;
		import_note_at(im, &f->where,
			is_loose ? "`%s` is not passed on: %s; add env: [NAME] for those that are "
				   "needed"
				 : "`%s` is granted, as the file says; mind that %s",
			f->pattern, f->text);
		if (is_loose)
			finish_drop(&im->to->env, f->pattern);
	}
}

/* By line; what stands for notes that are left out is last. */
static int finish_compare(const void *a, const void *b)
{
	const struct import_note *one = a, *other = b;

	if (one->is_rest != other->is_rest)
		return one->is_rest ? 1 : -1;
	if (one->where.line != other->where.line)
		return one->where.line < other->where.line ? -1 : 1;
	return one->number < other->number ? -1 : one->number > other->number;
}

void import_finish(struct importing *im)
{
	/* It is the profile's own, which protects there what runs later. */
	if (im->to->extends && strcmp(im->to->extends, "workspace") == 0)
		finish_drop(&im->to->fs_write, "$WORK_DIR/**");
	finish_lint(im);
	for (size_t i = 0; i < im->n_notes; i++)
		im->notes[i].number = i;
	if (im->n_notes)
		qsort(im->notes, im->n_notes, sizeof(*im->notes), finish_compare);
}
