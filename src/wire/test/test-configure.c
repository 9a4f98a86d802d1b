/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "wire/configure.h"
#include "wire/question.h"

enum { ALL = (1 << VARIABLE_COUNT) - 1 };

static const char *const paths[VARIABLE_COUNT] = { "/skill", "/work", "/data", "/shared", "/home/u",
	"/tmp" };

/* Any set of variables may be known. */
static void test_round_trip(void **state)
{
	(void)state;
	for (uint32_t known = 0; known <= ALL; known++) {
		struct configure sent = { .flags = (known & CONFIGURE_FLAGS) |
						   (known % 3 == 0 ? CONFIGURE_WORKER : 0),
			.host = known,
			.ask_ms = known },
				 c;
		auto_buffer body = { 0 };

		for (uint32_t i = 0; i < VARIABLE_COUNT; i++)
			sent.variables.values[i] = known >> i & 1 ? paths[i] : NULL;
		sent.n_guarded = known % (CONFIGURE_GUARDED_MAX + 1);
		for (uint32_t i = 0; i < sent.n_guarded; i++)
			sent.guarded[i] = paths[i % VARIABLE_COUNT];
		sent.broker = sent.flags & CONFIGURE_BROKER ? "/lib/broker" : NULL;
		sent.caller = sent.flags & CONFIGURE_CALLER ? "/bin/caller" : NULL;
		for (uint32_t i = 0; known % 3 == 0 && i < CONFIGURE_WORKER_FILES; i++)
			sent.worker[i] = (struct configure_file){ paths[i], known, UINT64_MAX - i };
		assert_int_equal(configure_encode(&sent, &body), 0);
		assert_int_equal(configure_decode(&c, body.data, body.len), 0);
		assert_int_equal(c.flags, sent.flags);
		assert_string_equal(c.broker ? c.broker : "", sent.broker ? sent.broker : "");
		assert_string_equal(c.caller ? c.caller : "", sent.caller ? sent.caller : "");
		for (uint32_t i = 0; known % 3 == 0 && i < CONFIGURE_WORKER_FILES; i++) {
			assert_string_equal(c.worker[i].path, paths[i]);
			assert_true(c.worker[i].dev == known && c.worker[i].ino == UINT64_MAX - i);
		}
		assert_int_equal(c.host, known);
		assert_int_equal(c.ask_ms, known);
		for (uint32_t i = 0; i < VARIABLE_COUNT; i++) {
			if (known >> i & 1)
				assert_string_equal(c.variables.values[i], paths[i]);
			else
				assert_null(c.variables.values[i]);
		}
		assert_int_equal(c.n_guarded, sent.n_guarded);
		for (uint32_t i = 0; i < c.n_guarded; i++)
			assert_string_equal(c.guarded[i], sent.guarded[i]);
		for (size_t len = 0; len < body.len; len++) {
			c.host = 12345;
			assert_int_equal(configure_decode(&c, body.data, len), -EPROTO);
			assert_int_equal(c.host, 12345);
		}
		buffer_addc(&body, '\0');
		assert_int_equal(configure_decode(&c, body.data, body.len), -EPROTO);
	}
}

#define S(text) text, sizeof(text) - 1

/* CONFIGURE_GUARDED_MAX paths. */
#define EIGHT "/\0/\0/\0/\0/\0/\0/\0/\0"
#define ALL_GUARDED EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT EIGHT

static const struct {
	const char *name;
	uint32_t head[5]; /* flags, host, known, guarded, ask_ms */
	const char *strings;
	size_t len;
	int want;
} rows[] = {
	{ "nothing", { 0, 0, 0 }, S(""), 0 },
	{ "flags", { CONFIGURE_SHELL | CONFIGURE_SINGLE, 0, 0 }, S(""), 0 },
	{ "unknown flag", { CONFIGURE_FLAGS + 1, 0, 0 }, S(""), -EPROTO },
	{ "unknown last flag", { 1U << 31, 0, 0 }, S(""), -EPROTO },
	{ "largest pid", { 0, INT32_MAX, 0 }, S(""), 0 },
	{ "negative pid", { 0, UINT32_MAX, 0 }, S(""), -EPROTO },
	{ "pid of a group", { 0, 1U << 31, 0 }, S(""), -EPROTO },
	{ "last variable", { 0, 0, 1 << VARIABLE_TEMP }, S("/t\0"), 0 },
	{ "variable after the last", { 0, 0, 1 << VARIABLE_COUNT }, S("/t\0"), -EPROTO },
	{ "too many variables", { 0, 0, UINT32_MAX }, S("/\0/\0/\0/\0/\0/\0/\0"), -EPROTO },
	{ "value without a variable", { 0, 0, 0 }, S("/t\0"), -EPROTO },
	{ "variable without a value", { 0, 0, 3 }, S("/t\0"), -EPROTO },
	{ "relative value", { 0, 0, 1 }, S("t\0"), -EPROTO },
	{ "empty value", { 0, 0, 1 }, S("\0"), -EPROTO },
	{ "no NUL", { 0, 0, 1 }, S("/t"), -EPROTO },
	{ "NUL inside", { 0, 0, 1 }, S("/t\0u\0"), -EPROTO },
	{ "longest wait", { 0, 0, 0, 0, QUESTION_WAIT_MAX_MS }, S(""), 0 },
	{ "waits longer", { 0, 0, 0, 0, QUESTION_WAIT_MAX_MS + 1 }, S(""), -EPROTO },
	{ "guarded", { 0, 0, 1, 2 }, S("/t\0/a\0/b\0"), 0 },
	{ "one guarded path is missing", { 0, 0, 0, 2 }, S("/a\0"), -EPROTO },
	{ "a guarded path is relative", { 0, 0, 0, 1 }, S("a\0"), -EPROTO },
	{ "most guarded", { 0, 0, 0, CONFIGURE_GUARDED_MAX }, S(ALL_GUARDED), 0 },
	{ "a worker without its files", { CONFIGURE_WORKER }, S(""), -EPROTO },
	{ "a worker with a relative path", { CONFIGURE_WORKER },
		S("0123456789012345/\0"
		  "0123456789012345/\0"
		  "0123456789012345a\0"),
		-EPROTO },
	{ "a worker", { CONFIGURE_WORKER },
		S("0123456789012345/\0"
		  "0123456789012345/\0"
		  "0123456789012345/\0"),
		0 },
	{ "too many guarded", { 0, 0, 0, CONFIGURE_GUARDED_MAX + 1 }, S(ALL_GUARDED "/\0"),
		-EPROTO },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };
		struct configure c;
		int r;

		buffer_add(&body, rows[i].head, sizeof(rows[i].head));
		buffer_add(&body, rows[i].strings, rows[i].len);
		r = configure_decode(&c, body.data, body.len);
		if (r != rows[i].want)
			fail_msg("%s: %d", rows[i].name, r);
	}
}

static void test_not_encoded(void **state)
{
	struct configure flags = { .flags = CONFIGURE_FLAGS + 1 }, host = { .host = UINT32_MAX },
			 empty = { 0 }, relative = { 0 }, full = { 0 },
			 many = { .n_guarded = CONFIGURE_GUARDED_MAX + 1 },
			 missing = { .n_guarded = 1 }, worker = { .flags = CONFIGURE_WORKER };
	auto_buffer body = { 0 };

	(void)state;
	empty.variables.values[VARIABLE_HOME] = "";
	relative.variables.values[VARIABLE_TEMP] = "tmp";
	assert_int_equal(configure_encode(&flags, &body), -EINVAL);
	assert_int_equal(configure_encode(&host, &body), -EINVAL);
	assert_int_equal(configure_encode(&empty, &body), -EINVAL);
	assert_int_equal(configure_encode(&relative, &body), -EINVAL);
	assert_int_equal(configure_encode(&many, &body), -EINVAL);
	assert_int_equal(configure_encode(&missing, &body), -EINVAL);
	assert_int_equal(configure_encode(&worker, &body), -EINVAL);
	assert_int_equal(body.len, 0);
	body.failed = true;
	assert_int_equal(configure_encode(&full, &body), -ENOMEM);
}

static void test_long_value(void **state)
{
	uint32_t head[4] = { 0, 0, 1 };
	char path[PATH_BYTES + 1];
	struct configure c = { 0 };
	auto_buffer fits = { 0 }, body = { 0 };

	(void)state;
	memset(path, '/', sizeof(path));
	path[PATH_BYTES] = '\0';
	c.variables.values[0] = path;
	assert_int_equal(configure_encode(&c, &body), -EINVAL);
	buffer_add(&body, head, sizeof(head));
	buffer_add(&body, path, sizeof(path));
	assert_int_equal(configure_decode(&c, body.data, body.len), -EPROTO);
	path[PATH_BYTES - 1] = '\0';
	assert_int_equal(configure_encode(&c, &fits), 0);
	assert_int_equal(configure_decode(&c, fits.data, fits.len), 0);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_not_encoded),
		cmocka_unit_test(test_long_value),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
