/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/format/image.h"
#include "policy/format/manifest.h"
#include "policy/format/permissions-text.h"

static const char *const texts[] = {
	"permissions: {}\n",
	"permissions:\n  fs: {read: [/usr/**, $HOME/x, '/a/*'], write: [/w], deny: [/d]}\n"
	"  network: {allow: ['*.example.com:443', 10.0.0.0/8], deny: [evil.com],\n"
	"    listen: [8080], rate_limit: 10/min, max_bytes: 5M, methods: [GET]}\n"
	"  exec: [git, /usr/bin/x]\n  env: [PATH, A=b]\n"
	"  limits: {timeout: 5s, memory: 1G, pids: 3}\n"
	"  services: {calendar: {access: read, calendars: [Work]}}\n"
	"  dangerously_allow: [~/.ssh/config]\n",
	"{\"version\": \"1.0.0\", \"defaultAction\": \"allow\", \"rules\": [{\"id\": \"a\", "
	"\"name\": "
	"\"n\", \"action\": \"deny\", \"target\": \"url\", \"patterns\": [\"evil.com\", "
	"\"*.bad.org\"], "
	"\"enabled\": true, \"priority\": -7, \"methods\": [\"POST\"]}]}\n",
	"permissions:\n  fs: {read: [{all: [/a/**, '/*/b']}, /x, /y], write: [/w/a, /w/b, /w/b]}\n",
};

static void make(const char *text, struct manifest *m)
{
	struct error e = { 0 };

	if (manifest_read(m, MANIFEST_UNKNOWN, "p.yaml", text, strlen(text), &e) < 0)
		fail_msg("%s\n%s", e.text, text);
}

static void check_same(const struct permissions *a, const struct permissions *b)
{
	auto_arena trees = { 0 };

	assert_true(node_equal(permissions_to_node(a, &trees), permissions_to_node(b, &trees)));
}

static void test_way_and_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_manifest m = { 0 };
		auto_permissions *p = permissions_new();
		auto_buffer bytes = { 0 }, again = { 0 };

		make(texts[i], &m);
		m.permissions->line_place = (enum line_place)(i % (LINE_NOWHERE + 1));
		assert_int_equal(image_write(m.permissions, &bytes), 0);
		assert_int_equal(image_read(p, bytes.data, bytes.len), 0);
		check_same(p, m.permissions);
		assert_string_equal(p->origin, m.permissions->origin);
		assert_int_equal(p->line_place, m.permissions->line_place);
		assert_int_equal(image_write(p, &again), 0);
		assert_int_equal(again.len, bytes.len);
		assert_memory_equal(again.data, bytes.data, bytes.len);
	}
}

static void test_places(void **state)
{
	auto_manifest m = { 0 };
	auto_permissions *p = permissions_new();
	auto_buffer bytes = { 0 };

	(void)state;
	make(texts[1], &m);
	assert_int_equal(image_write(m.permissions, &bytes), 0);
	assert_int_equal(image_read(p, bytes.data, bytes.len), 0);
	for (int l = 0; l < LIST_COUNT; l++) {
		const struct grant_list *a =
			permissions_list(m.permissions, (enum permission_list)l);
		const struct grant_list *b = permissions_list(p, (enum permission_list)l);

		assert_int_equal(a->n, b->n);
		for (size_t i = 0; i < a->n; i++) {
			assert_string_equal(a->items[i].where.file, b->items[i].where.file);
			assert_int_equal(a->items[i].where.line, b->items[i].where.line);
			assert_int_equal(a->items[i].where.column, b->items[i].where.column);
		}
	}
	/* It can be added to, as any. */
	assert_int_equal(permissions_add(p, &p->fs_read, "/more", NULL), 0);
	assert_string_equal(p->fs_read.items[p->fs_read.n - 1].all[0], "/more");
}

static void test_layers(void **state)
{
	auto_manifest m = { 0 };
	auto_permissions *p = permissions_new(), *deep = permissions_new();
	auto_permissions *top = permissions_new();
	auto_buffer bytes = { 0 }, more = { 0 };

	(void)state;
	make(texts[1], &m);
	assert_int_equal(permissions_add_layer(top, m.permissions), 0);
	assert_int_equal(permissions_add_layer(top, m.permissions), 0);
	assert_int_equal(image_write(top, &bytes), 0);
	assert_int_equal(image_read(p, bytes.data, bytes.len), 0);
	check_same(p, top);
	for (unsigned i = 0; i < 10; i++) {
		struct permissions *outer = permissions_new();

		assert_int_equal(permissions_add_layer(outer, deep), 0);
		permissions_free(deep);
		deep = outer;
	}
	assert_int_equal(image_write(deep, &more), -E2BIG);
}

/* Cut anywhere, or with another byte anywhere: an answer, and what is taken is written the same. */
static void damage(const char *text)
{
	auto_manifest m = { 0 };
	auto_buffer bytes = { 0 };

	make(text, &m);
	assert_int_equal(image_write(m.permissions, &bytes), 0);
	for (size_t i = 0; i < bytes.len; i++) {
		auto_permissions *p = permissions_new(), *q = permissions_new();
		auto_buffer again = { 0 };
		char *cut = malloc(i + 1);

		assert_non_null(cut);
		memcpy(cut, bytes.data, i);
		assert_int_equal(image_read(p, cut, i), -EBADMSG);
		free(cut);
		bytes.data[i] ^= 0x21;
		if (image_read(q, bytes.data, bytes.len) == 0) {
			assert_int_equal(image_write(q, &again), 0);
			assert_int_equal(again.len, bytes.len);
			assert_memory_equal(again.data, bytes.data, bytes.len);
		}
		bytes.data[i] ^= 0x21;
	}
	buffer_addc(&bytes, '\0');
	{
		auto_permissions *p = permissions_new();

		assert_int_equal(image_read(p, bytes.data, bytes.len), -EBADMSG);
	}
}

static void test_damage(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++)
		damage(texts[i]);
}

/* A list of patterns with a place each is runs and texts, and is read in no other way. */
static void test_flat(void **state)
{
	static const char text[] = "permissions:\n  fs:\n    read:\n    - /srv/aaa\n    - /srv/b\n"
				   "\n    - /srv/ccc\n";
	/* How many runs there are; entries, column and line of each; then the texts. */
	static const char table[] = { 2, 0, 0, 0, 0, 0, 0, 0, 2, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 4,
		0, 0, 0, 1, 0, 0, 0, 0, 0, 0, 0, 7, 0, 0, 0, 7, 0, 0, 0, '/', 's', 'r', 'v', '/',
		'a', 'a', 'a', 0, '/', 's', 'r', 'v', '/', 'b', 0, '/', 's', 'r', 'v', '/', 'c',
		'c', 'c', 0 };
	static const struct {
		size_t at;
		char byte;
	} wrong[] = { /* Runs: none, too few, too many, beyond what is left. */
		{ 0, 0 }, { 0, 1 }, { 0, 3 }, { 7, 127 },
		/* Entries: none, too few, as many as there are in all, too many. */
		{ 8, 0 }, { 8, 1 }, { 8, 3 }, { 8, 4 }, { 15, 127 }, { 24, 0 }, { 24, 2 },
		/* One that goes on in the next: 4 and 5, then 6. */
		{ 36, 6 },
		/* Texts: one more, one less, the last without an end. */
		{ 50, 0 }, { 48, '/' }, { 55, '/' }, { 64, '/' }
	};
	auto_manifest m = { 0 };
	auto_buffer bytes = { 0 };
	char *at;

	(void)state;
	make(text, &m);
	assert_int_equal(image_write(m.permissions, &bytes), 0);
	at = memmem(bytes.data, bytes.len, table, sizeof(table));
	assert_non_null(at);
	for (size_t i = 0; i < ROWS(wrong); i++) {
		auto_permissions *p = permissions_new();
		char was = at[wrong[i].at];

		at[wrong[i].at] = wrong[i].byte;
		assert_int_equal(image_read(p, bytes.data, bytes.len), -EBADMSG);
		at[wrong[i].at] = was;
	}
	/* How many there are, and whether they are flat. */
	for (unsigned n = 0; n < 10; n++) {
		auto_permissions *p = permissions_new();

		at[-8] = (char)n;
		assert_int_equal(image_read(p, bytes.data, bytes.len), n == 7 ? 0 : -EBADMSG);
	}
}

/* Among texts: the same, places included; and what is no such text is refused. */
static void test_as_text(void **state)
{
	static const char *const wrong[] = { "", "{}", "image", "image:0", "image:0g",
		"image:", "image:ff", "Image:01" };

	(void)state;
	for (size_t i = 0; i < ROWS(texts); i++) {
		auto_manifest m = { 0 };
		auto_permissions *p = permissions_new();
		auto_buffer text = { 0 }, bytes = { 0 }, again = { 0 };

		make(texts[i], &m);
		assert_int_equal(image_write_text(m.permissions, &text), 0);
		assert_true(image_is_text(buffer_text(&text)));
		assert_int_equal(image_read_text(p, buffer_text(&text)), 0);
		assert_int_equal(image_write(m.permissions, &bytes), 0);
		assert_int_equal(image_write(p, &again), 0);
		assert_int_equal(again.len, bytes.len);
		assert_memory_equal(again.data, bytes.data, bytes.len);
	}
	for (size_t i = 0; i < ROWS(wrong); i++) {
		auto_permissions *p = permissions_new();

		assert_int_equal(image_read_text(p, wrong[i]), -EBADMSG);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_way_and_back),
		cmocka_unit_test(test_places),
		cmocka_unit_test(test_layers),
		cmocka_unit_test(test_damage),
		cmocka_unit_test(test_flat),
		cmocka_unit_test(test_as_text),
	};

	return cmocka_run_group_tests_name("image", tests, NULL, NULL);
}
