/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "vault/message.h"

static void test_round(void **state)
{
	const struct vault_message m = { .op = VAULT_SET,
		.flags = 1,
		.places = 3,
		.number = 9,
		.name = "TOKEN",
		.text = "api.github.com:443",
		.fields = "x-key",
		.programs = "/usr/bin/gh",
		.secret = "a\0b",
		.secret_len = 3 };
	char body[256];
	const size_t len = vault_message_size(&m);
	struct vault_message got;

	(void)state;
	assert_true(len < sizeof(body));
	vault_message_encode(&m, body);
	assert_int_equal(vault_message_decode(&got, body, len), 0);
	assert_int_equal(got.op, VAULT_SET);
	assert_int_equal(got.places, 3);
	assert_int_equal(got.number, 9);
	assert_string_equal(got.name, "TOKEN");
	assert_string_equal(got.text, "api.github.com:443");
	assert_string_equal(got.principal, "");
	assert_string_equal(got.fields, "x-key");
	assert_string_equal(got.programs, "/usr/bin/gh");
	assert_int_equal(got.secret_len, 3);
	assert_memory_equal(got.secret, "a\0b", 3);
	for (size_t cut = 0; cut < len; cut++)
		assert_int_equal(vault_message_decode(&got, body, cut), -EPROTO);
	body[len] = 0;
	assert_int_equal(vault_message_decode(&got, body, len + 1), -EPROTO);
	body[0] = VAULT_OPS;
	assert_int_equal(vault_message_decode(&got, body, len), -EPROTO);
}

/* A secret goes by a packet, never by a memory file. */
static void test_bounds(void **state)
{
	static uint8_t large[VAULT_SECRET_MAX + 1];
	struct vault_message m = { .op = VAULT_SET, .secret = large, .secret_len = sizeof(large) };
	struct secret room = { 0 };
	int pair[2];

	(void)state;
	assert_int_equal(secret_begin(), 0);
	assert_int_equal(secret_new(&room, FRAME_BODY_MAX), 0);
	assert_int_equal(frame_pair(pair), 0);
	assert_int_equal(vault_message_send(pair[0], FRAME_VAULT_CALL, 1, &m, &room), -EMSGSIZE);
	m.secret_len--;
	assert_int_equal(vault_message_send(pair[0], FRAME_VAULT_CALL, 1, &m, &room), 0);
	for (size_t i = 0; i < room.len; i++)
		assert_int_equal(room.data[i], 0);
	secret_free(&room);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
