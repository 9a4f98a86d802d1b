/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/options.h"

enum { WORDS_MAX = 8 };

static const char *const colours[] = { "red", "green" };

static int take_colour(struct call *c, const struct options_row *row, const char *value)
{
	for (size_t i = 0; i < ROWS(colours); i++) {
		if (strcmp(value, colours[i]) == 0) {
			*(const char **)row->target = colours[i];
			return 0;
		}
	}
	return options_unknown_word(c, row, value, colours, ROWS(colours));
}

/* What a parsed command line left behind. */
struct parsed {
	struct options_list policies;
	const char *colour, *op;
	bool yes;
	char **operands;
	size_t n;
	struct error error;
};

static const struct verb plain = { .name = "paint", .operand = "FILE", .min = 1, .max = 2 };
static const struct verb prefix = {
	.name = "run", .operand = "CMD", .min = 0, .max = 100, .is_prefix = true
};

/* words[0] is the verb's own word. */
static int parse(
	const struct verb *verb, const char *const *words, struct arena *a, struct parsed *p)
{
	const struct options_row rows[] = {
		{ { "policy", SCHEMA_TEXT, .help = "", .many = true }, 'p', "FILE",
			.target = &p->policies },
		{ { "colour", SCHEMA_OTHER, .help = "" }, 0, "COLOUR", .target = &p->colour,
			.take = take_colour },
		{ { "yes", SCHEMA_FLAG, .help = "" }, 'y', .target = &p->yes },
		{ { "op", SCHEMA_TEXT, verb == &plain, .help = "" }, 'o', "OP", .target = &p->op },
	};
	static char *copy[WORDS_MAX + 1];
	struct call c = {
		.verb = verb, .name = "corral paint", .words = copy, .arena = a, .error = &p->error
	};
	int r;

	while (words[c.n]) {
		assert_true(c.n < WORDS_MAX);
		copy[c.n] = arena_strdup(a, words[c.n]);
		assert_non_null(copy[c.n]);
		c.n++;
	}
	copy[c.n] = NULL;
	r = options_parse(&c, rows, ROWS(rows));
	p->operands = c.words;
	p->n = c.n;
	return r;
}

/* Long and short forms, with = or a space, before and after the operands. */
static void test_values_are_taken(void **state)
{
	static const char *const lines[][WORDS_MAX] = {
		{ "paint", "--policy", "a", "--colour", "red", "-y", "-oexec", "file" },
		{ "paint", "--policy=a", "--colour=red", "--yes", "--op=exec", "file" },
		{ "paint", "file", "-p", "a", "-yo", "exec", "--colour=red" },
		{ "paint", "-pa", "--col", "red", "-y", "--op=exec", "--", "file" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(lines); i++) {
		const char *words[WORDS_MAX + 1] = { NULL };
		auto_arena a = { 0 };
		struct parsed p = { 0 };

		memcpy(words, lines[i], sizeof(lines[i]));
		assert_int_equal(parse(&plain, words, &a, &p), 0);
		assert_int_equal(p.policies.n, 1);
		assert_string_equal(p.policies.items[0], "a");
		assert_string_equal(p.colour, "red");
		assert_string_equal(p.op, "exec");
		assert_true(p.yes);
		assert_int_equal(p.n, 1);
		assert_string_equal(p.operands[0], "file");
	}
}

static void test_a_repeated_option_keeps_all_values(void **state)
{
	const char *words[] = { "paint", "-p", "a", "--policy=", "-p", "c", NULL };
	auto_arena a = { 0 };
	struct parsed p = { 0 };

	(void)state;
	assert_int_equal(parse(&prefix, words, &a, &p), 0);
	assert_int_equal(p.policies.n, 3);
	assert_string_equal(p.policies.items[1], "");
	assert_string_equal(p.policies.items[2], "c");
}

/* The options of a command are not ours. */
static void test_options_after_a_command_are_not_parsed(void **state)
{
	static const char *const lines[][WORDS_MAX] = {
		{ "run", "-y", "ls", "--policy", "x" },
		{ "run", "-y", "--", "ls", "--policy", "x" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(lines); i++) {
		auto_arena a = { 0 };
		struct parsed p = { 0 };

		assert_int_equal(parse(&prefix, lines[i], &a, &p), 0);
		assert_true(p.yes);
		assert_int_equal(p.policies.n, 0);
		assert_int_equal(p.n, 3);
		assert_string_equal(p.operands[0], "ls");
		assert_string_equal(p.operands[1], "--policy");
	}
}

static void test_misuse_is_refused_with_a_message(void **state)
{
	static const struct {
		const char *words[WORDS_MAX], *says, *hint;
	} rows[] = {
		{ { "paint", "--op=x" }, "missing argument: FILE", "see `corral paint --help`" },
		{ { "paint", "--op=x", "a", "b", "c" }, "unexpected argument: `c`",
			"see `corral paint --help`" },
		{ { "paint", "a" }, "required option missing: --op OP",
			"see `corral paint --help`" },
		{ { "paint", "--op=x", "--op=y", "a" }, "--op was given more than once", "" },
		{ { "paint", "-y", "--yes", "--op=x", "a" }, "--yes was given more than once", "" },
		{ { "paint", "a", "--op" }, "--op needs a value: OP", "" },
		{ { "paint", "a", "-o" }, "--op needs a value: OP", "" },
		{ { "paint", "--yes=1", "--op=x", "a" }, "--yes takes no value", "" },
		{ { "paint", "-z", "a" }, "unknown option -z", "" },
		{ { "paint", "--polcy=x", "a" }, "unknown option --polcy",
			"did you mean --policy? `corral paint --help` lists the options" },
		{ { "paint", "--zzzzz", "a" }, "unknown option --zzzzz",
			"see `corral paint --help`" },
		{ { "paint", "--colour", "gren", "--op=x", "a" },
			"invalid value for --colour: `gren`",
			"did you mean green? Valid values: red, green" },
		{ { "paint", "--colour", "zzzzz", "--op=x", "a" },
			"invalid value for --colour: `zzzzz`", "valid values: red, green" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_arena a = { 0 };
		struct parsed p = { 0 };

		assert_int_equal(parse(&plain, rows[i].words, &a, &p), -EINVAL);
		assert_string_equal(p.error.text, rows[i].says);
		if (*rows[i].hint)
			assert_string_equal(p.error.hint, rows[i].hint);
	}
}

/* --json is honoured for an error of the command line itself, but not after a command. */
static void test_json_is_noted_where_parsing_failed(void **state)
{
	static const struct {
		const char *words[WORDS_MAX];
		bool is_json;
	} rows[] = {
		{ { "run", "--zzz", "--json" }, true },
		{ { "run", "--json", "--", "ls" }, true },
		{ { "run", "--zzz" }, false },
		{ { "run", "--", "ls", "--json" }, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char *words[WORDS_MAX];
		auto_arena a = { 0 };
		bool json = false;
		struct call c = {
			.verb = &prefix, .name = "corral run", .words = words, .json = &json
		};

		for (; rows[i].words[c.n]; c.n++) {
			words[c.n] = arena_strdup(&a, rows[i].words[c.n]);
			assert_non_null(words[c.n]);
		}
		options_note_json(&c);
		assert_int_equal(json, rows[i].is_json);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_values_are_taken),
		cmocka_unit_test(test_a_repeated_option_keeps_all_values),
		cmocka_unit_test(test_options_after_a_command_are_not_parsed),
		cmocka_unit_test(test_misuse_is_refused_with_a_message),
		cmocka_unit_test(test_json_is_noted_where_parsing_failed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
