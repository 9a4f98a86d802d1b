/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "base/array.h"
#include "sshagent/ssh.h"
#include "sshagent/test/wire.h"

static const uint8_t id[32] = { 1, 2, 3 };
static const struct blob session = { id, sizeof(id) };
static const struct blob key = { (const uint8_t *)"\0\0\0\4type1234", 12 };

static bool parses_data(struct blob b)
{
	struct ssh_data d;
	uint8_t *exact = malloc(b.len ? b.len : 1);
	bool r;

	memcpy(exact, b.data, b.len);
	r = ssh_data_parse((struct blob){ exact, b.len }, &d);
	free(exact);
	return r;
}

static void test_login(void **state)
{
	const struct blob host = { (const uint8_t *)"host", 4 };

	(void)state;
	for (int is_bound = 0; is_bound < 2; is_bound++) {
		auto_buffer b = { 0 };
		struct ssh_data d;

		wire_login(&b, session, "git", key, is_bound ? &host : NULL);
		assert_true(ssh_data_parse(wire_blob(&b), &d));
		assert_int_equal(d.kind, SSH_MESSAGE_OF_LOGIN);
		assert_true(blob_equal(d.session, session));
		assert_true(blob_is(d.user, "git"));
		assert_true(blob_equal(d.key, key));
		assert_int_equal(d.is_hostbound, is_bound);
		assert_true(!is_bound || blob_is(d.host_key, "host"));
		/* Shorter or longer, it is none. */
		for (size_t len = 0; len < b.len; len++)
			assert_false(parses_data((struct blob){ (const uint8_t *)b.data, len }));
		buffer_addc(&b, 0);
		assert_false(parses_data(wire_blob(&b)));
	}
}

/* Each with one thing that is not as it must be. */
static void test_not_logins(void **state)
{
	const struct {
		const char *name;
		size_t session;
		char type;
		const char *user, *service, *method;
		char has_signature;
	} rows[] = {
		{ "as it is", 32, 50, "git", "ssh-connection", "publickey", 1 },
		{ "the id of SHA-256, cut off", 31, 50, "git", "ssh-connection", "publickey", 1 },
		{ "an id of no hash", 16, 50, "git", "ssh-connection", "publickey", 1 },
		{ "a short id", 15, 50, "git", "ssh-connection", "publickey", 1 },
		{ "no id", 0, 50, "git", "ssh-connection", "publickey", 1 },
		{ "a long id", 65, 50, "git", "ssh-connection", "publickey", 1 },
		{ "another message", 32, 51, "git", "ssh-connection", "publickey", 1 },
		{ "no user", 32, 50, "", "ssh-connection", "publickey", 1 },
		{ "another service", 32, 50, "git", "ssh-userauth", "publickey", 1 },
		{ "hostbased", 32, 50, "git", "ssh-connection", "hostbased", 1 },
		{ "password", 32, 50, "git", "ssh-connection", "password", 1 },
		{ "a question only", 32, 50, "git", "ssh-connection", "publickey", 0 },
		{ "another flag", 32, 50, "git", "ssh-connection", "publickey", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		static const char zeros[65];
		auto_buffer b = { 0 };

		wire_string(&b, zeros, rows[i].session);
		buffer_addc(&b, rows[i].type);
		wire_text(&b, rows[i].user);
		wire_text(&b, rows[i].service);
		wire_text(&b, rows[i].method);
		buffer_addc(&b, rows[i].has_signature);
		wire_text(&b, "ssh-ed25519");
		wire_string(&b, key.data, key.len);
		if (parses_data(wire_blob(&b)) != (i == 0))
			fail_msg("%s", rows[i].name);
	}
}

static void test_namespace(void **state)
{
	const struct {
		const char *namespace, *hash;
		size_t len;
		bool is_good;
	} rows[] = {
		{ "git", "sha512", 64, true },
		{ "file", "sha256", 32, true },
		{ "git", "sha512", 32, false },
		{ "git", "sha256", 64, false },
		{ "git", "sha1", 20, false },
		{ "", "sha512", 64, false },
		{ "git", "", 0, false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer b = { 0 };
		struct ssh_data d;

		wire_namespace(&b, rows[i].namespace, rows[i].hash, rows[i].len);
		assert_int_equal(ssh_data_parse(wire_blob(&b), &d), rows[i].is_good);
		if (!rows[i].is_good)
			continue;
		assert_int_equal(d.kind, SSH_MESSAGE_OF_NAMESPACE);
		assert_true(blob_is(d.namespace, rows[i].namespace));
		for (size_t len = 0; len < b.len; len++)
			assert_false(parses_data((struct blob){ (const uint8_t *)b.data, len }));
		buffer_addc(&b, 0);
		assert_false(parses_data(wire_blob(&b)));
	}
}

static void test_reserved(void **state)
{
	auto_buffer b = { 0 };

	(void)state;
	buffer_adds(&b, "SSHSIG");
	wire_text(&b, "git");
	wire_text(&b, "x");
	wire_text(&b, "sha512");
	wire_string(&b, (const char[64]){ 0 }, 64);
	assert_false(parses_data(wire_blob(&b)));
}

static void test_sign(void **state)
{
	const struct blob data = { (const uint8_t *)"data", 4 };
	auto_buffer b = { 0 };
	struct ssh_sign s;

	(void)state;
	wire_sign(&b, key, data, 4);
	assert_true(ssh_sign_parse(wire_blob(&b), &s));
	assert_true(blob_equal(s.key, key) && blob_equal(s.data, data));
	assert_int_equal(s.flags, 4);
	for (size_t len = 0; len < b.len; len++)
		assert_false(ssh_sign_parse((struct blob){ (const uint8_t *)b.data, len }, &s));
	buffer_addc(&b, 0);
	assert_false(ssh_sign_parse(wire_blob(&b), &s));
}

static void test_bind(void **state)
{
	auto_buffer b = { 0 };
	auto_buffer other = { 0 };
	struct ssh_bind got;

	(void)state;
	wire_bind(&b, key, session, key, 0);
	assert_true(ssh_is_bind(wire_blob(&b)));
	assert_true(ssh_bind_parse(wire_blob(&b), &got));
	assert_true(blob_equal(got.host_key, key) && blob_equal(got.session, session));
	assert_false(got.is_forwarding);
	for (size_t len = 0; len < b.len; len++)
		assert_false(ssh_bind_parse((struct blob){ (const uint8_t *)b.data, len }, &got));
	/* Any flag but 0 is one. */
	b.data[b.len - 1] = 2;
	assert_true(ssh_bind_parse(wire_blob(&b), &got) && got.is_forwarding);
	buffer_addc(&b, 0);
	assert_false(ssh_bind_parse(wire_blob(&b), &got));
	wire_text(&other, "query");
	assert_false(ssh_is_bind(wire_blob(&other)));
}

static void test_answers(void **state)
{
	auto_buffer b = { 0 };
	auto_buffer signature = { 0 };

	(void)state;
	wire_u32(&b, 2);
	for (int i = 0; i < 2; i++) {
		wire_string(&b, key.data, key.len);
		wire_text(&b, "comment");
	}
	assert_true(ssh_identities_check(wire_blob(&b)));
	for (size_t len = 0; len < b.len; len++)
		assert_false(ssh_identities_check((struct blob){ (const uint8_t *)b.data, len }));
	b.data[3] = 1;
	assert_false(ssh_identities_check(wire_blob(&b)));
	b.data[3] = 3;
	assert_false(ssh_identities_check(wire_blob(&b)));
	b.data[0] = 1;
	assert_false(ssh_identities_check(wire_blob(&b)));
	wire_text(&signature, "s");
	assert_true(ssh_signature_check(wire_blob(&signature)));
	buffer_addc(&signature, 0);
	assert_false(ssh_signature_check(wire_blob(&signature)));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_login),
		cmocka_unit_test(test_not_logins),
		cmocka_unit_test(test_namespace),
		cmocka_unit_test(test_reserved),
		cmocka_unit_test(test_sign),
		cmocka_unit_test(test_bind),
		cmocka_unit_test(test_answers),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
