/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "test/failing.h"
#include "wire/frame.h"
#include "wire/start.h"

/* As docs/protocol.md has it. */
struct head {
	uint32_t flags;
	uint16_t rows, columns;
	uint64_t timeout_ms, memory, pids, file_size, open_files;
	uint32_t n_argv, n_env;
};

FAILING_MALLOC

static const char *const argv[] = { "sh", "-c", "", "echo $A", NULL };
static const char *const env[] = { "A=", "B=c=d", NULL };
static const struct start good = {
	.flags = START_TTY,
	.rows = 25,
	.columns = 80,
	.timeout_ms = 1,
	.memory = UINT64_MAX,
	.pids = 3,
	.file_size = 4,
	.open_files = 5,
	.cwd = "/",
	.program = "sh",
	.argv = argv,
	.env = env,
	.n_argv = 4,
	.n_env = 2,
};

static void assert_same_words(const char *const *x, const char *const *y, size_t n)
{
	for (size_t i = 0; i < n; i++)
		assert_string_equal(x[i], y[i]);
	assert_null(x[n]);
}

static void assert_same(const struct start *x, const struct start *y)
{
	assert_int_equal(x->flags, y->flags);
	assert_int_equal(x->rows, y->rows);
	assert_int_equal(x->columns, y->columns);
	assert_true(x->timeout_ms == y->timeout_ms && x->memory == y->memory);
	assert_true(x->pids == y->pids && x->file_size == y->file_size);
	assert_true(x->open_files == y->open_files);
	assert_string_equal(x->cwd, y->cwd);
	assert_string_equal(x->program, y->program);
	assert_int_equal(x->n_argv, y->n_argv);
	assert_int_equal(x->n_env, y->n_env);
	assert_same_words(x->argv, y->argv, y->n_argv);
	assert_same_words(x->env, y->env, y->n_env);
}

/* What comes back, with a check that a failure leaves the output alone. */
static int decode(struct start *ret, const void *body, size_t len, struct arena *a)
{
	struct start before;
	/* Exactly as long as it is, so that a sanitizer sees the first byte read beyond it. */
	char *copy = calloc(1, len ? len : 1);
	int r;

	assert_non_null(copy);
	memcpy(copy, body, len);
	memset(ret, 0x5a, sizeof(*ret));
	memcpy(&before, ret, sizeof(before));
	r = start_decode(ret, copy, len, a);
	if (r < 0)
		assert_memory_equal(ret, &before, sizeof(before));
	free(copy);
	return r;
}

static void test_round_trip(void **state)
{
	static const char *const one[] = { "", NULL }, *const none[] = { NULL };
	struct start least = { .cwd = "/", .program = "x", .argv = one, .n_argv = 1, .env = none };
	const struct start *all[] = { &good, &least };

	(void)state;
	for (size_t i = 0; i < 2; i++) {
		auto_buffer body = { 0 };
		auto_arena a = { 0 };
		struct start s;

		assert_int_equal(start_encode(all[i], &body), 0);
		assert_int_equal(start_decode(&s, body.data, body.len, &a), 0);
		assert_same(&s, all[i]);
		assert_true(s.cwd > body.data && s.cwd < body.data + body.len);
	}
}

/* Added to what is there, and nothing added on failure. */
static void test_appends(void **state)
{
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct start s = good;

	(void)state;
	buffer_adds(&body, "abc");
	s.cwd = "relative";
	assert_int_equal(start_encode(&s, &body), -EINVAL);
	assert_int_equal(body.len, 3);
	assert_int_equal(start_encode(&good, &body), 0);
	assert_int_equal(start_decode(&s, body.data + 3, body.len - 3, &a), 0);
	assert_same(&s, &good);
	body.failed = true;
	assert_int_equal(start_encode(&good, &body), -ENOMEM);
}

static void test_cut(void **state)
{
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct start s;

	(void)state;
	assert_int_equal(start_encode(&good, &body), 0);
	for (size_t len = 0; len < body.len; len++)
		assert_int_equal(decode(&s, body.data, len, &a), -EPROTO);
	assert_int_equal(decode(&s, body.data, body.len, &a), 0);
	buffer_addc(&body, '\0');
	assert_int_equal(decode(&s, body.data, body.len, &a), -EPROTO);
	buffer_addc(&body, 'x');
	assert_int_equal(decode(&s, body.data, body.len, &a), -EPROTO);
}

struct row {
	const char *name;
	struct head h;
	const char *strings;
	size_t len;
	int want;
};

/* One argument and one variable, unless said. */
#define S(text) text, sizeof(text) - 1
#define COUNTS .n_argv = 1, .n_env = 1

static const struct row rows[] = {
	{ "good", { COUNTS }, S("/\0p\0a\0V=\0"), 0 },
	{ "no cgroup", { .flags = START_NO_CGROUP, COUNTS }, S("/\0p\0a\0V=\0"), 0 },
	{ "terminal", { .flags = START_TTY, COUNTS }, S("/\0p\0a\0V=\0"), 0 },
	{ "no strings", { COUNTS }, S(""), -EPROTO },
	{ "NULs only", { COUNTS }, S("\0\0\0\0"), -EPROTO },
	{ "a string missing", { COUNTS }, S("/\0p\0V=\0"), -EPROTO },
	{ "a string too many", { COUNTS }, S("/\0p\0a\0V=\0V=\0"), -EPROTO },
	{ "a NUL too many", { COUNTS }, S("/\0p\0a\0V=\0\0"), -EPROTO },
	{ "a NUL inside", { COUNTS }, S("/\0p\0a\0V=\0x\0"), -EPROTO },
	{ "last NUL missing", { COUNTS }, S("/\0p\0a\0V="), -EPROTO },
	{ "no NUL at all", { COUNTS }, S("/usr/bin"), -EPROTO },
	{ "own streams", { .flags = START_FLAGS & ~START_TTY, COUNTS }, S("/\0p\0a\0V=\0"), 0 },
	{ "unknown flag", { .flags = START_FLAGS + 1, COUNTS }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "all flags", { .flags = UINT32_MAX, COUNTS }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "no arguments", { .n_env = 1 }, S("/\0p\0V=\0"), -EPROTO },
	{ "no variables", { .n_argv = 1 }, S("/\0p\0a\0"), 0 },
	{ "nothing counted", { 0 }, S("/\0p\0"), -EPROTO },
	{ "relative folder", { COUNTS }, S("x\0p\0a\0V=\0"), -EPROTO },
	{ "folder of the process", { COUNTS }, S(".\0p\0a\0V=\0"), -EPROTO },
	{ "empty folder", { COUNTS }, S("\0p\0a\0V=\0"), -EPROTO },
	{ "empty program", { COUNTS }, S("/\0\0a\0V=\0"), -EPROTO },
	{ "empty argument", { COUNTS }, S("/\0p\0\0V=\0"), 0 },
	{ "empty variable", { COUNTS }, S("/\0p\0a\0\0"), -EPROTO },
	{ "variable without a value", { COUNTS }, S("/\0p\0a\0V\0"), -EPROTO },
	{ "variable without a name", { COUNTS }, S("/\0p\0a\0=V\0"), -EPROTO },
	{ "second variable is none", { .n_argv = 1, .n_env = 2 }, S("/\0p\0a\0V=\0W\0"), -EPROTO },
	{ "an argument counted as a variable", { .n_argv = 2 }, S("/\0p\0a\0V=\0"), 0 },
	{ "more arguments than bytes", { .n_argv = 9, .n_env = 1 }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "more variables than bytes", { .n_argv = 1, .n_env = 9 }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "60000 arguments", { .n_argv = 60000 }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "very many arguments", { .n_argv = UINT32_MAX }, S("/\0p\0a\0V=\0"), -EPROTO },
	{ "very many variables", { .n_argv = 1, .n_env = UINT32_MAX }, S("/\0p\0a\0"), -EPROTO },
	{ "the sum wraps", { .n_argv = UINT32_MAX, .n_env = 2 }, S("/\0p\0a\0V=\0"), -EPROTO },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };
		auto_arena a = { 0 };
		struct start s;
		int r;

		buffer_add(&body, &rows[i].h, sizeof(rows[i].h));
		buffer_add(&body, rows[i].strings, rows[i].len);
		r = decode(&s, body.data, body.len, &a);
		if (r != rows[i].want)
			fail_msg("%s: %d", rows[i].name, r);
		/* Who sends little makes us hold little. */
		assert_true(a.used <= (rows[i].len + 2) * 2 * sizeof(char *));
	}
}

/* What may not be read may not be written. */
static void test_not_encoded(void **state)
{
	static const char *const hole[] = { "a", NULL, "b", NULL }, *const bad[] = { "X", NULL };
	struct start s[10];
	auto_buffer body = { 0 };

	(void)state;
	for (size_t i = 0; i < 10; i++)
		s[i] = good;
	s[0].flags = START_FLAGS + 1;
	s[1].cwd = "";
	s[2].cwd = NULL;
	s[3].program = "";
	s[4].program = NULL;
	s[5].n_argv = 0;
	s[6].argv = hole;
	s[6].n_argv = 3;
	s[7].env = bad;
	s[7].n_env = 1;
	s[8].argv = NULL;
	s[9].env = NULL;
	for (size_t i = 0; i < 10; i++)
		assert_int_equal(start_encode(&s[i], &body), -EINVAL);
	assert_int_equal(body.len, 0);
}

static int encode_many(size_t n_argv, size_t n_env, struct buffer *out)
{
	const char **words = calloc(START_WORDS_MAX + 2, sizeof(*words));
	struct start s = good;
	int r;

	assert_non_null(words);
	for (size_t i = 0; i <= START_WORDS_MAX; i++)
		words[i] = "a=";
	s.argv = words;
	s.env = words;
	s.n_argv = n_argv;
	s.n_env = n_env;
	r = start_encode(&s, out);
	free(words);
	return r;
}

static void test_words(void **state)
{
	auto_buffer most = { 0 }, body = { 0 };
	auto_arena a = { 0 };
	struct start s;
	struct head h;

	(void)state;
	assert_int_equal(encode_many(START_WORDS_MAX + 1, 0, &body), -E2BIG);
	assert_int_equal(encode_many(START_WORDS_MAX, 1, &body), -E2BIG);
	assert_int_equal(encode_many(1, START_WORDS_MAX, &body), -E2BIG);
	assert_int_equal(encode_many(1, SIZE_MAX, &body), -E2BIG);
	assert_int_equal(encode_many(SIZE_MAX, 2, &body), -E2BIG);
	assert_int_equal(body.len, 0);
	assert_int_equal(encode_many(START_WORDS_MAX / 2, START_WORDS_MAX / 2, &most), 0);
	assert_int_equal(start_decode(&s, most.data, most.len, &a), 0);
	assert_int_equal(s.n_argv + s.n_env, START_WORDS_MAX);
	/* One more, and said so. */
	memcpy(&h, most.data, sizeof(h));
	h.n_env++;
	memcpy(most.data, &h, sizeof(h));
	buffer_add(&most, "a=", 3);
	assert_int_equal(start_decode(&s, most.data, most.len, &a), -EPROTO);
}

static void test_bytes(void **state)
{
	const char *words[] = { NULL, NULL };
	struct start s = good;
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	char *text = malloc(FRAME_MEMFD_MAX + 1);
	size_t fits = FRAME_MEMFD_MAX - sizeof(struct head) - sizeof("/") - sizeof("sh") - 1;

	(void)state;
	assert_non_null(text);
	memset(text, 'x', FRAME_MEMFD_MAX);
	text[FRAME_MEMFD_MAX] = '\0';
	words[0] = text;
	s.argv = words;
	s.n_argv = 1;
	s.n_env = 0;
	assert_int_equal(start_encode(&s, &body), -E2BIG);
	text[fits + 1] = '\0';
	assert_int_equal(start_encode(&s, &body), -E2BIG);
	assert_int_equal(body.len, 0);
	text[fits] = '\0';
	assert_int_equal(start_encode(&s, &body), 0);
	assert_int_equal(body.len, FRAME_MEMFD_MAX);
	assert_int_equal(start_decode(&s, body.data, body.len, &a), 0);
	free(text);
}

static void test_no_memory(void **state)
{
	auto_buffer body = { 0 };
	auto_arena small = { 0 };
	int n = 0, r;

	(void)state;
	assert_int_equal(encode_many(START_WORDS_MAX / 2, START_WORDS_MAX / 2, &body), 0);
	failing_stays = true;
	do {
		auto_arena a = { 0 };
		struct start s;

		failing_start(n++);
		r = decode(&s, body.data, body.len, &a);
		failing_stop();
		assert_true(r == 0 || r == -ENOMEM);
	} while (r < 0 && n < 10);
	assert_int_equal(r, 0);
	assert_true(n > 2);
	arena_init(&small, 100000);
	assert_int_equal(decode(&(struct start){ 0 }, body.data, body.len, &small), -ENOMEM);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_appends),
		cmocka_unit_test(test_cut),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_not_encoded),
		cmocka_unit_test(test_words),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_no_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
