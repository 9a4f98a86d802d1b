/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Out of memory, everywhere: the linker leads each call of an allocating function to the wrapper
 * here (see meson.build), and a loop fails the first call, then the second, and so on until all
 * succeed. Every one of these failures must come back as -ENOMEM, with a message and an empty
 * document; sanitizers see that nothing leaks.
 */
#include "codec/test/test.h"

#include <errno.h>
#include <locale.h>
#include <stdlib.h>

#include <yaml.h>

#include "base/buffer.h"
#include "codec/frontmatter.h"
#include "codec/json.h"
#include "codec/internal.h"
#include "codec/yaml.h"
#include "test/failing-arena.h"

FAILING(locale_t, newlocale, (int mask, const char *name, locale_t base), mask, name, base)

void __real_buffer_add(struct buffer *b, const void *data, size_t len);
void __wrap_buffer_add(struct buffer *b, const void *data, size_t len);

void __wrap_buffer_add(struct buffer *b, const void *data, size_t len)
{
	b->failed = b->failed || failing_now();
	__real_buffer_add(b, data, len);
}

void __real_buffer_addc(struct buffer *b, char c);
void __wrap_buffer_addc(struct buffer *b, char c);

void __wrap_buffer_addc(struct buffer *b, char c)
{
	b->failed = b->failed || failing_now();
	__real_buffer_addc(b, c);
}

FAILING_AS(0, int, yaml_parser_initialize, (yaml_parser_t * p), p)

int __real_yaml_parser_parse(yaml_parser_t *p, yaml_event_t *ev);
int __wrap_yaml_parser_parse(yaml_parser_t *p, yaml_event_t *ev);

int __wrap_yaml_parser_parse(yaml_parser_t *p, yaml_event_t *ev)
{
	if (!failing_now())
		return __real_yaml_parser_parse(p, ev);
	p->error = YAML_MEMORY_ERROR;
	return 0;
}

typedef int reader(struct document *d, const char *text, struct error *e);

static int read_json(struct document *d, const char *text, struct error *e)
{
	return json_read(d, "f.json", text, strlen(text), e);
}

static int read_yaml(struct document *d, const char *text, struct error *e)
{
	return yaml_read(d, "f.yaml", 1, text, strlen(text), e);
}

static int read_frontmatter(struct document *d, const char *text, struct error *e)
{
	struct frontmatter f;
	int r = frontmatter_read(&f, "f.md", text, strlen(text), e);

	assert_true(r == 0 || (!f.present && f.body == 0));
	*d = f.meta;
	return r;
}

/* Fails each call in turn; returns how many there were. */
static unsigned sweep(reader *read, const char *text)
{
	for (unsigned n = 0;; n++) {
		auto_document d = { 0 };
		struct error e = { 0 };
		int r;

		failing_start(n);
		r = read(&d, text, &e);
		if (!failing_stop()) {
			assert_int_equal(r, 0);
			return n;
		}
		assert_int_equal(r, -ENOMEM);
		assert_string_equal(e.text, "out of memory");
		assert_null(d.root);
		assert_null(d.arena.chunks);
	}
}

static void test_json(void **state)
{
	static const char text[] =
		"{\"a\": [1, \"x\\n\\u00e9\", true, null], \"b\": {\"c\": -2.5, \"d\": {}}}";

	(void)state;
	assert_true(sweep(read_json, text) > 25);
}

static void test_yaml(void **state)
{
	static const char text[] = "a: &x [1, 'b', {c: ~, d: true}]\n"
				   "e: *x\n"
				   "f: &y\n"
				   "  g: [*x]\n"
				   "  h: |\n"
				   "    text\n";

	(void)state;
	assert_true(sweep(read_yaml, text) > 60);
	assert_true(sweep(read_yaml, "") > 3);
}

static void test_frontmatter(void **state)
{
	(void)state;
	assert_true(sweep(read_frontmatter, "---\na: [1, b]\n---\nbody") > 10);
	assert_true(sweep(read_frontmatter, "body") > 3);
}

/* Builders of trees return NULL, and so does all that is built on them. */
static void test_build(void **state)
{
	(void)state;
	for (long n = 0; n < 3; n++) {
		auto_arena a = { 0 };

		failing_start(n);
		assert_null(node_put(&a, node_new(&a, NODE_MAP), "key", node_new(&a, NODE_LIST)));
		failing_stop();
	}
	for (long n = 0; n < 2; n++) {
		auto_arena a = { 0 };

		failing_start(n);
		assert_null(node_new_text(&a, "x"));
		failing_start(n);
		assert_null(node_new_integer(&a, 1));
		failing_start(0);
		assert_null(node_new_boolean(&a, true));
		failing_stop();
	}
}

/* A number that cannot be judged is not taken for a good one. */
static void test_locale(void **state)
{
	(void)state;
	assert_true(scalar_is_json_number("1e5"));
	failing_start(0);
	assert_false(scalar_is_json_number("1e5"));
	failing_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_json),
		cmocka_unit_test(test_yaml),
		cmocka_unit_test(test_frontmatter),
		cmocka_unit_test(test_build),
		cmocka_unit_test(test_locale),
	};

	return cmocka_run_group_tests_name("codec-memory", tests, NULL, NULL);
}
