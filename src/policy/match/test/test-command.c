/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/match/command.h"

/* A pattern as fields: "name|path PROGRAM [ARG]… +|." (+: more may follow, .: exactly these). */
static void describe(const struct command_pattern *p, struct buffer *out)
{
	buffer_printf(out, "%s <%s>", p->is_name ? "name" : "path", p->program);
	for (size_t i = 0; i < p->n_args; i++)
		buffer_printf(out, " <%s>", p->args[i]);
	buffer_adds(out, p->more ? " +" : " .");
}

static const struct {
	const char *text, *fields, *canonical; /* canonical NULL: the text itself */
} good[] = {
	{ "git", "name <git> +", NULL },
	{ "git:*", "name <git> +", "git" },
	{ "git:", "name <git> .", NULL },
	{ "  git  ", "name <git> +", "git" },
	{ "git push", "name <git> <push> .", "git push:" },
	{ "git push:", "name <git> <push> .", NULL },
	{ "git push:*", "name <git> <push> +", NULL },
	{ "git  push   origin :*", "name <git> <push> <origin> +", "git push origin:*" },
	{ "/usr/bin/git", "path </usr/bin/git> +", NULL },
	{ "/opt/tools/** run:*", "path </opt/tools/**> <run> +", NULL },
	{ "$HOME/bin/x", "path <$HOME/bin/x> +", NULL },
	{ "~/bin/x:", "path <~/bin/x> .", NULL },
	{ "~", "path <~> +", NULL },
	{ "~me", "name <~me> +", NULL },
	{ "*", "path </**> +", "/**" },
	{ "*:*", "path </**> +", "/**" },
	{ "* --version:", "path </**> <--version> .", "/** --version:" },
	/* Colons mean something at the very end only. */
	{ "docker run a:b", "name <docker> <run> <a:b> .", "docker run a:b:" },
	{ "docker run a:b:*", "name <docker> <run> <a:b> +", NULL },
	{ "a:b", "name <a:b> +", NULL },
	{ "a\\:", "name <a:> +", "a::*" },
	{ "a::", "name <a:> .", NULL },
	{ "x y\\:*", "name <x> <y:*> .", "x y:*:" },
	/* Escapes. */
	{ "my\\ tool", "name <my tool> +", NULL },
	{ "a\\\\b c\\\\:", "name <a\\b> <c\\> .", NULL },
	{ "echo a\\ b *.c:*", "name <echo> <a b> <*.c> +", NULL },
	{ "\\*", "name <*> +", NULL },
	{ "\\[ -f", "name <[> <-f> .", "\\[ -f:" },
	{ "\\$x", "name <$x> +", NULL },
	{ "\\~", "name <~> +", NULL },
	{ "/opt/my\\ tool\\:", "path </opt/my tool:> +", "/opt/my\\ tool::*" },
	{ "/opt/a\\*b\\\\", "path </opt/a\\*b\\\\> +", NULL },
	{ "tab\\\tbed", "name <tab\tbed> +", NULL },
};

static void test_good(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(good); i++) {
		auto_arena a = { 0 };
		auto_buffer fields = { 0 }, again = { 0 }, text = { 0 };
		struct command_pattern p, q;
		struct error e;

		assert_int_equal(command_pattern_parse(&p, &a, good[i].text, NULL, &e), 0);
		describe(&p, &fields);
		assert_string_equal(buffer_text(&fields), good[i].fields);
		command_pattern_print(&p, &text);
		assert_string_equal(
			buffer_text(&text), good[i].canonical ? good[i].canonical : good[i].text);
		assert_int_equal(command_pattern_parse(&q, &a, buffer_text(&text), NULL, &e), 0);
		describe(&q, &again);
		assert_string_equal(buffer_text(&again), good[i].fields);
	}
}

static const struct {
	const char *text, *message;
} bad[] = {
	{ "", "a command pattern needs a program" },
	{ "   ", "a command pattern needs a program" },
	{ ":", "a command pattern needs a program" },
	{ ":*", "a command pattern needs a program" },
	{ "bin/x", "'bin/x' is neither a program name nor an absolute path" },
	{ "./x y", "'./x' is neither a program name nor an absolute path" },
	{ "a\\/b", "'a/b' is neither a program name nor an absolute path" },
	{ "python*", "'*' in a command pattern needs a backslash" },
	{ "a:* b", "'*' in a command pattern needs a backslash" },
	{ "pip{,3}", "'{' in a command pattern needs a backslash" },
	{ "[", "'[' in a command pattern needs a backslash" },
	{ "g?t", "'?' in a command pattern needs a backslash" },
	{ "git\tpush", "'\\x09' in a command pattern needs a backslash" },
	{ "git pu\x7fsh", "'\\x7f' in a command pattern needs a backslash" },
	{ "git\\", "a command pattern ends with a backslash" },
	{ "git a\\", "a command pattern ends with a backslash" },
};

static void test_bad(void **state)
{
	const struct location loc = { "policy.yaml", 3, 7 };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		auto_arena a = { 0 };
		struct command_pattern p = { .n_args = 42 };
		struct error e;

		assert_int_equal(command_pattern_parse(&p, &a, bad[i].text, &loc, &e), -EINVAL);
		assert_string_equal(e.text, bad[i].message);
		assert_int_equal(e.line, 3);
		assert_int_equal(p.n_args, 42);
		assert_int_equal(command_pattern_parse(&p, &a, bad[i].text, NULL, NULL), -EINVAL);
	}
}

static void test_out_of_memory(void **state)
{
	static const size_t budgets[] = { 8, 24, 40, 64 };

	(void)state;
	for (size_t i = 0; i < ROWS(budgets); i++) {
		auto_arena a = { .budget = budgets[i] };
		struct command_pattern p;
		int r = command_pattern_parse(&p, &a, "program argument", NULL, NULL);

		assert_int_equal(r, budgets[i] < 64 ? -ENOMEM : 0);
	}
}

static const struct {
	const char *pattern;
	const char *args[4];
	bool matches;
} matches[] = {
	{ "git", { 0 }, true },
	{ "git", { "push", "-f" }, true },
	{ "git:", { 0 }, true },
	{ "git:", { "push" }, false },
	{ "git push:", { "push" }, true },
	{ "git push:", { "push", "origin" }, false },
	{ "git push:", { 0 }, false },
	{ "git push:*", { "push" }, true },
	{ "git push:*", { "push", "origin", "x" }, true },
	{ "git push:*", { 0 }, false },
	{ "git push:*", { "pushy" }, false },
	{ "git push:*", { "pull" }, false },
	{ "git push:*", { "-c", "push" }, false },
	{ "rm *.c:*", { "a.c" }, false },
	{ "rm *.c:*", { "*.c", "b" }, true },
	{ "a b c:", { "b", "c" }, true },
	{ "a b c:", { "b" }, false },
};

static size_t count(const char *const *args)
{
	size_t n = 0;

	while (args[n])
		n++;
	return n;
}

static void test_matches(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(matches); i++) {
		auto_arena a = { 0 };
		struct command_pattern p;

		assert_int_equal(command_pattern_parse(&p, &a, matches[i].pattern, NULL, NULL), 0);
		assert_int_equal(
			command_pattern_matches_args(&p, matches[i].args, count(matches[i].args)),
			matches[i].matches);
		assert_int_equal(
			command_pattern_is_fine(&p), strcmp(matches[i].pattern, "git") != 0);
	}
}

static const struct {
	const char *a, *b, *meet; /* NULL: nothing in common */
} meets[] = {
	{ "git", "git", "git" },
	{ "git", "git:", "git:" },
	{ "git", "git push:*", "git push:*" },
	{ "git", "git push:", "git push:" },
	{ "git:", "git push:*", NULL },
	{ "git push:*", "git push origin:*", "git push origin:*" },
	{ "git push:*", "git push origin:", "git push origin:" },
	{ "git push:*", "git push:", "git push:" },
	{ "git push:", "git push:", "git push:" },
	{ "git push:", "git push origin:*", NULL },
	{ "git push:*", "git pull:*", NULL },
	{ "git a b:*", "git a c d:*", NULL },
};

static void test_meet(void **state)
{
	(void)state;
	for (size_t i = 0; i < 2 * ROWS(meets); i++) {
		const bool swap = i >= ROWS(meets);
		const size_t k = i % ROWS(meets);
		auto_arena arena = { 0 };
		auto_buffer text = { 0 };
		struct command_pattern a, b, m = { .program = "git", .is_name = true };

		assert_int_equal(command_pattern_parse(&a, &arena, meets[k].a, NULL, NULL), 0);
		assert_int_equal(command_pattern_parse(&b, &arena, meets[k].b, NULL, NULL), 0);
		assert_int_equal(command_pattern_meet_args(swap ? &b : &a, swap ? &a : &b, &m),
			meets[k].meet != NULL);
		if (!meets[k].meet)
			continue;
		command_pattern_print(&m, &text);
		assert_string_equal(buffer_text(&text), meets[k].meet);
	}
}

/* The pattern that is offered for a command matches it and no other, or there is none. */
static void test_of_a_command(void **state)
{
	static const struct {
		const char *args[2];
		size_t n;
		const char *text; /* NULL: none */
	} rows[] = {
		{ { "push", "-f" }, 2, "git push -f:" },
		{ { "push", "" }, 2, NULL },
		{ { "", "push" }, 2, NULL },
		{ { "" }, 1, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		int r = command_pattern_of("git", rows[i].args, rows[i].n, &out);

		assert_int_equal(r, rows[i].text ? 0 : -EINVAL);
		if (rows[i].text)
			assert_string_equal(buffer_text(&out), rows[i].text);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_good),
		cmocka_unit_test(test_bad),
		cmocka_unit_test(test_out_of_memory),
		cmocka_unit_test(test_matches),
		cmocka_unit_test(test_meet),
		cmocka_unit_test(test_of_a_command),
	};

	return cmocka_run_group_tests_name("command", tests, NULL, NULL);
}
