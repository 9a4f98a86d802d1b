/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/verb.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <unistd.h>

#include "base/suggest.h"
#include "cli/help.h"
#include "cli/options.h"

/* More verbs than this no group has. */
enum { VERBS_MAX = 16 };

static const struct verb *verb_find(const struct verb *group, const char *word)
{
	for (const struct verb *const *v = group->verbs; *v; v++) {
		if (strcmp((*v)->name, word) == 0)
			return *v;
	}
	return NULL;
}

static int verb_unknown(struct call *c, const char *word)
{
	const char *names[VERBS_MAX], *near;
	size_t n = 0;

	for (const struct verb *const *v = c->verb->verbs; *v && n < VERBS_MAX; v++)
		names[n++] = (*v)->name;
	near = suggest(word, names, n);
	(void)options_misused(c, "unknown %s `%s`", word[0] == '-' ? "option" : "command", word);
	if (near)
		error_hint(c->error, "did you mean `%s %s`? `%s --help` lists the commands",
			c->name, near, c->name);
	return -EINVAL;
}

static bool asks_for_help(const char *word)
{
	return strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0;
}

/* Goes on with a verb of the group; its word becomes the first of the call. */
static int descend(struct call *c, const struct verb *v)
{
	struct call inner = *c;

	inner.verb = v;
	inner.name = arena_printf(c->arena, "%s %s", c->name, v->name);
	inner.words++;
	inner.n--;
	if (!inner.name)
		return error_no_memory(c->error);
	return v->run ? v->run(&inner) : verb_dispatch(&inner);
}

/* `help policy check` is `policy check --help`. */
static int help(struct call *c)
{
	static char option[] = "--help";
	struct call inner = *c;
	char **words = arena_calloc(c->arena, c->n + 1, sizeof(char *));

	if (!words)
		return error_no_memory(c->error);
	/* Without "help" itself, and with the option behind the rest. */
	words[0] = c->words[0];
	for (size_t i = 2; i < c->n; i++)
		words[i - 1] = c->words[i];
	words[c->n - 1] = option;
	inner.words = words;
	return verb_dispatch(&inner);
}

int verb_dispatch(struct call *c)
{
	const char *word = c->n > 1 ? c->words[1] : NULL;
	const struct verb *v;

	if (!word) {
		int r = help_print_group(c, STDERR_FILENO);

		return r < 0 ? r : STATUS_ERROR;
	}
	if (asks_for_help(word))
		return help_print_group(c, STDOUT_FILENO);
	if (strcmp(word, "help") == 0)
		return help(c);
	v = verb_find(c->verb, word);
	return v ? descend(c, v) : verb_unknown(c, word);
}
