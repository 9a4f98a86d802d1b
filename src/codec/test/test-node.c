/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/test/test.h"

#include <errno.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "codec/node.h"
#include "codec/internal.h"
#include "codec/yaml.h"

static void test_type_names(void **state)
{
	static const char *const names[] = { "nothing", "true or false", "a number", "text",
		"a list", "a map" };

	(void)state;
	for (int type = NODE_NULL; type <= NODE_MAP; type++)
		assert_string_equal(node_type_name((enum node_type)type), names[type]);
}

static const struct {
	const char *text;
	enum node_type type;
	bool integer, json;
} words[] = {
	{ "", NODE_NULL, false, false },
	{ "~", NODE_NULL, false, false },
	{ "null", NODE_NULL, false, false },
	{ "Null", NODE_NULL, false, false },
	{ "NULL", NODE_NULL, false, false },
	{ "nULL", NODE_STRING, false, false },
	{ "true", NODE_BOOL, false, false },
	{ "True", NODE_BOOL, false, false },
	{ "TRUE", NODE_BOOL, false, false },
	{ "false", NODE_BOOL, false, false },
	{ "False", NODE_BOOL, false, false },
	{ "FALSE", NODE_BOOL, false, false },
	{ "tRUE", NODE_STRING, false, false },
	{ "yes", NODE_STRING, false, false },
	{ "No", NODE_STRING, false, false },
	{ "on", NODE_STRING, false, false },
	{ "OFF", NODE_STRING, false, false },
	{ "0", NODE_NUMBER, true, true },
	{ "-0", NODE_NUMBER, true, true },
	{ "-12", NODE_NUMBER, true, true },
	{ "+12", NODE_NUMBER, true, false },
	{ "007", NODE_NUMBER, true, false },
	{ "0o17", NODE_NUMBER, true, false },
	{ "0o18", NODE_STRING, false, false },
	{ "0o", NODE_STRING, false, false },
	{ "0xFf", NODE_NUMBER, true, false },
	{ "0xg", NODE_STRING, false, false },
	{ "-0x1", NODE_STRING, false, false },
	{ "0b1", NODE_STRING, false, false },
	{ "1_000", NODE_STRING, false, false },
	{ "1:30", NODE_STRING, false, false },
	{ "1.5", NODE_NUMBER, false, true },
	{ "1.", NODE_NUMBER, false, false },
	{ ".5", NODE_NUMBER, false, false },
	{ "-.5e1", NODE_NUMBER, false, false },
	{ "1.e1", NODE_NUMBER, false, false },
	{ "1e5", NODE_NUMBER, false, true },
	{ "1E-5", NODE_NUMBER, false, true },
	{ "1e999", NODE_NUMBER, false, false },
	{ "1e", NODE_STRING, false, false },
	{ "e5", NODE_STRING, false, false },
	{ ".", NODE_STRING, false, false },
	{ "-", NODE_STRING, false, false },
	{ "+.", NODE_STRING, false, false },
	{ "1.2.3", NODE_STRING, false, false },
	{ "1 ", NODE_STRING, false, false },
	{ ".inf", NODE_NUMBER, false, false },
	{ "+.Inf", NODE_NUMBER, false, false },
	{ "-.INF", NODE_NUMBER, false, false },
	{ ".iNF", NODE_STRING, false, false },
	{ "inf", NODE_STRING, false, false },
	{ ".nan", NODE_NUMBER, false, false },
	{ ".NaN", NODE_NUMBER, false, false },
	{ "-.nan", NODE_STRING, false, false },
};

static void test_words(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(words); i++) {
		const char *text = words[i].text;

		if (scalar_type(text) != words[i].type ||
			scalar_is_integer(text) != words[i].integer ||
			scalar_is_json_number(text) != words[i].json)
			fail_msg("<%s>: type %d, integer %d, JSON %d", text, scalar_type(text),
				scalar_is_integer(text), scalar_is_json_number(text));
	}
}

static void test_integers(void **state)
{
	static const struct {
		const char *text;
		int r;
		int64_t value;
	} rows[] = {
		{ "0", 0, 0 },
		{ "-0", 0, 0 },
		{ "+7", 0, 7 },
		{ "010", 0, 10 },
		{ "0o10", 0, 8 },
		{ "0x1F", 0, 31 },
		{ "9223372036854775807", 0, INT64_MAX },
		{ "-9223372036854775808", 0, INT64_MIN },
		{ "9223372036854775808", -EINVAL, 0 },
		{ "0xFFFFFFFFFFFFFFFF", -EINVAL, 0 },
		{ "1.0", -EINVAL, 0 },
		{ "1e3", -EINVAL, 0 },
		{ ".inf", -EINVAL, 0 },
		{ "'1'", -EINVAL, 0 },
		{ "true", -EINVAL, 0 },
		{ "[]", -EINVAL, 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document d = { 0 };
		int64_t value = 0;

		assert_int_equal(
			yaml_read(&d, NULL, 1, rows[i].text, strlen(rows[i].text), NULL), 0);
		assert_int_equal(node_integer(d.root, &value), rows[i].r);
		assert_int_equal(value, rows[i].value);
	}
	assert_int_equal(node_integer(NULL, NULL), -EINVAL);
}

static void test_access(void **state)
{
	static const char text[] =
		"{s: x, n: 1.0, yes: TRUE, no: false, nil: ~, l: [a], m: {k: v}}";
	auto_document d = { 0 };
	bool value = false;

	(void)state;
	assert_int_equal(yaml_read(&d, NULL, 1, TEXT(text), NULL), 0);
	assert_int_equal(d.root->count, 7);
	assert_null(d.file);
	assert_string_equal(node_text(node_get(d.root, "s")), "x");
	assert_string_equal(node_text(node_get(d.root, "n")), "1.0");
	assert_string_equal(node_text(node_get(d.root, "yes")), "true");
	assert_null(node_text(node_get(d.root, "nil")));
	assert_null(node_text(node_get(d.root, "l")));
	assert_null(node_text(node_get(d.root, "m")));
	assert_null(node_text(NULL));
	assert_null(node_get(d.root, "absent"));
	assert_null(node_get(node_get(d.root, "l"), "a"));
	assert_null(node_get(node_get(d.root, "absent"), "a"));
	assert_int_equal(node_boolean(node_get(d.root, "yes"), &value), 0);
	assert_true(value);
	assert_int_equal(node_boolean(node_get(d.root, "no"), &value), 0);
	assert_false(value);
	assert_int_equal(node_boolean(node_get(d.root, "s"), &value), -EINVAL);
	assert_int_equal(node_boolean(NULL, &value), -EINVAL);
}

static struct node *build(struct arena *a)
{
	struct node *root = node_new(a, NODE_MAP);
	struct node *list = node_put(a, root, "list", node_new(a, NODE_LIST));

	node_append(list, node_new_integer(a, INT64_MIN));
	node_append(list, node_new_boolean(a, true));
	node_append(list, node_new_boolean(a, false));
	node_append(list, node_new(a, NODE_NULL));
	node_put(a, root, "text", node_new_text(a, "a \"b\""));
	return root;
}

static void test_build(void **state)
{
	auto_arena a = { 0 };
	auto_buffer out = { 0 };

	(void)state;
	json_print(&out, build(&a), JSON_COMPACT);
	assert_string_equal(buffer_text(&out),
		"{\"list\":[-9223372036854775808,true,false,null],\"text\":\"a \\\"b\\\"\"}");
	assert_null(node_append(NULL, node_new(&a, NODE_NULL)));
	assert_null(node_append(node_new(&a, NODE_LIST), NULL));
	assert_null(node_put(&a, NULL, "k", node_new(&a, NODE_NULL)));
	assert_null(node_put(&a, node_new(&a, NODE_MAP), "k", NULL));
}

static void test_copy(void **state)
{
	static const char text[] = "{\"a\":[1,{\"b\":null}],\n\"c\":{}}";
	auto_document d = { 0 };
	auto_arena a = { 0 };
	struct node *copy, *inner;

	(void)state;
	assert_int_equal(json_read(&d, NULL, TEXT(text), NULL), 0);
	copy = node_copy(&a, d.root);
	inner = node_copy(&a, d.root->last);
	assert_true(node_equal(copy, d.root));
	assert_true(copy->last->key_line == 2 && copy->last->key_column == 1);
	assert_true(copy->last->line == 2 && copy->last->column == 5);
	/* The copy outlives its original, and a copied member has left its map. */
	document_deinit(&d);
	assert_string_equal(node_get(copy, "a")->first->text, "1");
	assert_null(inner->key);
	assert_null(inner->next);
}

static void test_equal(void **state)
{
	static const struct {
		const char *a, *b;
		bool equal;
	} rows[] = {
		{ "1", "1", true },
		{ "1", "1.0", false },
		{ "1", "'1'", false },
		{ "null", "''", false },
		{ "~", "", true },
		{ "True", "true", true },
		{ "true", "false", false },
		{ "[]", "{}", false },
		{ "[1, 2]", "[1,2]", true },
		{ "[1, 2]", "[2, 1]", false },
		{ "[1]", "[1, 1]", false },
		{ "{a: 1, b: 2}", "a: 1\nb: 2", true },
		{ "{a: 1, b: 2}", "{b: 2, a: 1}", false },
		{ "{a: 1}", "{b: 1}", false },
		{ "{a: [{b: 1}]}", "{a: [{b: 1}]}", true },
		{ "{a: [{b: 1}]}", "{a: [{b: 2}]}", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_document a = { 0 }, b = { 0 };

		assert_int_equal(yaml_read(&a, NULL, 1, rows[i].a, strlen(rows[i].a), NULL), 0);
		assert_int_equal(yaml_read(&b, NULL, 1, rows[i].b, strlen(rows[i].b), NULL), 0);
		if (node_equal(a.root, b.root) != rows[i].equal)
			fail_msg("<%s> and <%s>", rows[i].a, rows[i].b);
	}
}

/* Every budget that is too small must give NULL, and none a tree with a part missing. */
static void test_budget(void **state)
{
	auto_arena whole = { 0 };
	struct node *original = build(&whole);
	size_t budget = 1;
	bool done = false;

	(void)state;
	for (; !done; budget++) {
		auto_arena a = { .budget = budget };
		struct node *copy = node_copy(&a, original);

		done = copy && node_equal(copy, original);
		assert_true(done || !copy);
	}
	assert_true(budget > sizeof(struct node) * 7);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_type_names),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_integers),
		cmocka_unit_test(test_access),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_copy),
		cmocka_unit_test(test_equal),
		cmocka_unit_test(test_budget),
	};

	return cmocka_run_group_tests_name("node", tests, NULL, NULL);
}
