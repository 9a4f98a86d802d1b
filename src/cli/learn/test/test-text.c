/* SPDX-License-Identifier: Apache-2.0 */
/* Lines that join the text of a policy which a person wrote. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "cli/learn/internal.h"

#define READ(name)                                                               \
	{                                                                        \
		.kind = DENIAL_READ, .path = (name), .program = "cc", .count = 2 \
	}

struct text_case {
	struct learn l;
	struct arena arena;
	struct error error;
	struct call call;
};

static void begin(struct text_case *t, const char *base)
{
	*t = (struct text_case){ 0 };
	t->call = (struct call){ .arena = &t->arena, .error = &t->error };
	t->l.call = &t->call;
	t->l.place = (struct explain_place){ .home = "/home/me", .work = "/home/me/work" };
	buffer_adds(&t->l.base, base);
}

static void end(struct text_case *t)
{
	buffer_deinit(&t->l.base);
	buffer_deinit(&t->l.text);
	arena_deinit(&t->arena);
}

static void test_insert(void **state)
{
	static const struct {
		const char *base;
		struct denial line;
		const char *result; /* NULL: it is refused */
	} rows[] = {
		{ "", READ("/a"), NULL },
		{ "env:\n  - A\n", READ("/a"),
			"env:\n  - A\nfs:\n  read:\n    - /a # cc, 2 times\n" },
		{ "extends: workspace", READ("/home/me/x"),
			"extends: workspace\nfs:\n  read:\n    - ~/x # cc, 2 times\n" },
		{ "fs:\n  # why\n  read:\n    - /b # this\nenv: [X]\n", READ("/a"),
			"fs:\n  # why\n  read:\n    - /b # this\n    - /a # cc, 2 times\nenv: "
			"[X]\n" },
		{ "fs:\n  read:\n  - /b\n", READ("/home/me/work/y"),
			"fs:\n  read:\n  - /b\n  - \"$WORK_DIR/y\" # cc, 2 times\n" },
		{ "fs:\n  write:\n    - /b\n", READ("/a"),
			"fs:\n  read:\n    - /a # cc, 2 times\n  write:\n    - /b\n" },
		{ "env: [X]\n", { .kind = DENIAL_CONNECT, .path = "a.example:443", .program = "" },
			"env: [X]\nnetwork:\n  allow:\n    - \"a.example:443\" # 0 times\n" },
		{ "exec:\n- git\n", { .kind = DENIAL_EXEC, .path = "/opt/x", .program = "" },
			"exec:\n- git\n- /opt/x # 0 times\n" },
		{ "env: [X]\n",
			{ .kind = DENIAL_READ, .path = "/d", .is_folder = true, .program = "" },
			"env: [X]\nfs:\n  read:\n    - /d/** # 0 times\n" },
		/* Not by lines. */
		{ "fs: {read: [/b]}\n", READ("/a"), NULL },
		{ "fs:\n  read: [/b]\n", READ("/a"), NULL },
		{ "{extends: workspace}\n", READ("/a"), NULL },
		{ "env:\n  - A\n...\n", READ("/a"), NULL },
		/* The text of a value looks like the list, and would get the line. */
		{ "rules:\n  - name: |\n      x\n    operations: [fs.read]\n    action: deny\n"
		  "    patterns:\n      - |-\n\n fs:\n   read:\n     - /b\n",
			READ("/a"), NULL },
		/* Another key of that name. */
		{ "fs:\n  \"read\":\n    - /b\n", READ("/a"), NULL },
		/* No policy at all. */
		{ "nonsense: 1\n", READ("/a"), NULL },
		{ "- a\n", READ("/a"), NULL },
		{ "fs:\n\tread: x\n", READ("/a"), NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct denial line = rows[i].line;
		struct text_case t;
		int r;

		begin(&t, rows[i].base);
		t.l.lines = (struct denials){ .items = &line, .n = 1 };
		r = learn_text_make(&t.l);
		if (rows[i].result ? r != 0 : r >= 0)
			fail_msg("%s: %d %s %s", rows[i].base, r, buffer_text(&t.l.text),
				t.error.text);
		if (rows[i].result)
			assert_string_equal(buffer_text(&t.l.text), rows[i].result);
		else
			assert_true(t.error.text[0]);
		end(&t);
	}
}

/* What a name may have in it: it stays one line, and means that name alone. */
static void test_names(void **state)
{
	static const struct {
		const char *path, *line;
	} rows[] = {
		{ "/a*b", "\"/a\\\\*b\"" },
		{ "/a b", "\"/a b\"" },
		{ "/a\nb: c", "\"/a\\nb: c\"" },
		{ "/a # b", "\"/a # b\"" },
		{ "/x\xe2\x80\x8by", "\"/x\\u200by\"" },
		{ "/$HOME", "\"/\\\\$HOME\"" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct denial line = READ(rows[i].path);
		auto_buffer got = { 0 };
		struct text_case t;

		begin(&t, "env: [X]\n");
		learn_text_pattern(&t.l, &line, &got);
		assert_string_equal(buffer_text(&got), rows[i].line);
		t.l.lines = (struct denials){ .items = &line, .n = 1 };
		assert_int_equal(learn_text_make(&t.l), 0);
		end(&t);
	}
}

static void test_given(void **state)
{
	const char *env[] = { "A", "B=1" }, *listen[] = { "8080" };
	struct text_case t;

	(void)state;
	begin(&t, "env:\n  - A\nnetwork:\n  allow:\n    - a.example:443\n");
	t.l.env = (struct options_list){ .items = env, .n = 2 };
	t.l.listen = (struct options_list){ .items = listen, .n = 1 };
	if (learn_text_give(&t.l) < 0)
		fail_msg("%s", t.error.text);
	assert_string_equal(buffer_text(&t.l.base),
		"env:\n  - A\n  - \"B=1\" # given\nnetwork:\n  listen:\n    - \"8080\" # given\n"
		"  allow:\n    - a.example:443\n");
	assert_true(t.l.base_has_hosts);
	end(&t);
	begin(&t, "env: [A]\n");
	t.l.env = (struct options_list){ .items = env, .n = 1 };
	assert_int_equal(learn_text_give(&t.l), 0); /* it is there */
	assert_string_equal(buffer_text(&t.l.base), "env: [A]\n");
	t.l.env.n = 2;
	assert_true(learn_text_give(&t.l) < 0);
	assert_true(t.error.text[0]);
	end(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_insert),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_given),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
