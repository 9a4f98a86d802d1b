/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/policy/report.h"

/* More than this nobody reads. */
enum { NOTES_MAX = 12 };

static void report_notes_visible(struct buffer *out, const char *text)
{
	buffer_add_visible(out, text, strlen(text));
}

static bool is_exec(const struct judged *j)
{
	return j->kind == JUDGED_REQUEST && j->request.op == OPERATION_EXEC;
}

/* Links: where a line has many programs, only what decided is told. */

static bool has_links(const struct ask *a, const struct judged *j)
{
	return j->real && (j->by_real || !a->judgement.is_line);
}

static void print_links(const struct judged *j, struct buffer *out)
{
	buffer_adds(out, "links lead to ");
	report_notes_visible(out, j->real);
	buffer_adds(out, j->by_real                         ? ", and that path decided"
			 : j->real_verdict == VERDICT_ALLOW ? ", which is allowed, too"
							    : ", which is not allowed either");
}

/* Programs that were not found */

static bool is_not_found(const struct ask *a, const struct judged *j)
{
	(void)a;
	return j->not_found;
}

static void print_not_found(const struct judged *j, struct buffer *out)
{
	report_notes_visible(out, j->name);
	buffer_adds(out, " is in none of the folders that programs are looked for in (/usr/bin …), "
			 "so it was judged by its name alone");
}

/* A program was denied that some arguments might allow. */

static bool lacks_arguments(const struct ask *a, const struct judged *j)
{
	return is_exec(j) && !a->judgement.is_line && !a->is_whole && a->request.n_args == 0 &&
	       j->verdict != VERDICT_ALLOW && j->decision.why == DECISION_NO_GRANT;
}

static void print_lacks_arguments(const struct judged *j, struct buffer *out)
{
	(void)j;
	buffer_adds(out,
		"it was judged without arguments; entries that ask for some count only if you "
		"give them, with --arg or as a whole command line");
}

/* Arguments of a command line */

static bool is_dynamic(const struct ask *a, const struct judged *j)
{
	(void)a;
	return j->is_dynamic;
}

static void print_dynamic(const struct judged *j, struct buffer *out)
{
	report_notes_visible(out, j->text);
	buffer_adds(
		out, ": some arguments are only known when it runs; it was judged by the others");
}

/* Interpreters */

static bool is_interpreter(const struct ask *a, const struct judged *j)
{
	(void)a;
	return judge_is_interpreter(j);
}

static void print_interpreter(const struct judged *j, struct buffer *out)
{
	const char *slash = strrchr(j->request.target, '/');

	report_notes_visible(out, slash ? slash + 1 : j->request.target);
	buffer_adds(out, " runs any code that it is given: what holds then are the files and the "
			 "network that are granted, not the list of programs");
}

static const struct {
	bool (*holds)(const struct ask *a, const struct judged *j);
	void (*print)(const struct judged *j, struct buffer *out);
} kinds[] = {
	{ has_links, print_links },
	{ is_not_found, print_not_found },
	{ lacks_arguments, print_lacks_arguments },
	{ is_dynamic, print_dynamic },
	{ is_interpreter, print_interpreter },
};

/* Once is enough, however many commands it holds for. */
static int report_notes_add(
	struct options_list *notes, struct arena *arena, const struct buffer *text)
{
	const char *copy;

	for (size_t i = 0; i < notes->n; i++) {
		if (strcmp(notes->items[i], buffer_text(text)) == 0)
			return 0;
	}
	if (notes->n == NOTES_MAX)
		return 0;
	copy = text->failed ? NULL : arena_strdup(arena, buffer_text(text));
	if (!copy)
		return -ENOMEM;
	return ARENA_PUSH(arena, notes->items, notes->n, notes->cap, copy);
}

int report_notes(const struct ask *a, struct arena *arena, struct options_list *ret)
{
	int r = 0;

	for (size_t i = 0; i < a->judgement.n; i++) {
		const struct judged *j = &a->judgement.items[i];

		for (size_t k = 0; r == 0 && k < ROWS(kinds); k++) {
			auto_buffer text = { 0 };

			if (!kinds[k].holds(a, j))
				continue;
			kinds[k].print(j, &text);
			r = report_notes_add(ret, arena, &text);
		}
	}
	return r;
}
