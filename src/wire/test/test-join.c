/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "wire/join.h"

static const struct join whole = { .started_ms = 17,
	.kind = JOIN_ENCLAVE,
	.id = "0123456789abcdef",
	.name = "workspace",
	.command = "make",
	.folder = "/srv",
	.policy = "profile workspace" };

static void test_round(void **state)
{
	auto_buffer body = { 0 };
	struct join j;

	(void)state;
	assert_int_equal(join_encode(&whole, &body), 0);
	assert_int_equal(join_decode(&j, body.data, body.len), 0);
	assert_int_equal(j.started_ms, 17);
	assert_int_equal(j.kind, JOIN_ENCLAVE);
	assert_string_equal(j.id, whole.id);
	assert_string_equal(j.policy, whole.policy);
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(join_decode(&j, body.data, n), -EPROTO);
	buffer_addc(&body, '\0');
	assert_int_equal(join_decode(&j, body.data, body.len), -EPROTO);
}

/* An id is part of paths and of JSON. */
static void test_ids(void **state)
{
	static const char *const bad[] = { NULL, "", "0123", "0123456789abcdeF", "../0123456789",
		"0123456789abcdef\"", "0123456789abcdef0123456789abcdef0" };

	(void)state;
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct join j = whole;
		auto_buffer body = { 0 };

		j.id = bad[i];
		assert_int_equal(join_encode(&j, &body), -EINVAL);
		buffer_add(&body, &j.started_ms, sizeof(j.started_ms));
		buffer_add(&body, &j.kind, sizeof(j.kind));
		buffer_add(&body, bad[i], bad[i] ? strlen(bad[i]) + 1 : 0);
		buffer_add(&body, "a\0b\0c\0d", 8);
		assert_int_equal(join_decode(&j, body.data, body.len), -EPROTO);
	}
}

/* A command has any bytes, and as many as it likes. */
static void test_texts(void **state)
{
	static char text[3 * JOIN_TEXT_MAX];
	struct join j = whole, got;
	auto_buffer body = { 0 }, other = { 0 };

	(void)state;
	memset(text, 'x', sizeof(text) - 1);
	/* A character over the end. */
	memcpy(text + JOIN_TEXT_MAX - 1, "\xc3\xa4", 2);
	j.command = text;
	assert_int_equal(join_encode(&j, &body), 0);
	assert_int_equal(join_decode(&got, body.data, body.len), 0);
	assert_int_equal(strlen(got.command), JOIN_TEXT_MAX - 1);
	j.command = "ab\xff"
		    "c";
	j.name = NULL;
	assert_int_equal(join_encode(&j, &other), 0);
	assert_int_equal(join_decode(&got, other.data, other.len), 0);
	assert_string_equal(got.command, "ab");
	assert_string_equal(got.name, "");
}

static void test_details(void **state)
{
	static struct join_details d = { .limits = { 1, 2, [LIMIT_COUNT - 1] = 3 },
		.n_permissions = 2,
		.n_ceiling = 1,
		.permissions = { "may read /srv", "" },
		.ceiling = { "may write /srv" } };
	static struct join_details got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(join_details_encode(&d, &body), 0);
	assert_int_equal(join_details_decode(&got, body.data, body.len), 0);
	assert_int_equal(got.n_permissions, 2);
	assert_string_equal(got.permissions[0], "may read /srv");
	assert_string_equal(got.ceiling[0], "may write /srv");
	assert_int_equal(got.limits[LIMIT_COUNT - 1], 3);
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(join_details_decode(&got, body.data, n), -EPROTO);
	buffer_addc(&body, 'x');
	assert_int_equal(join_details_decode(&got, body.data, body.len), -EPROTO);
	d.n_ceiling = JOIN_LINES_MAX + 1;
	assert_int_equal(join_details_encode(&d, &body), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_details),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_ids),
		cmocka_unit_test(test_texts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
