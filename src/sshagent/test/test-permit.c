/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "sshagent/host-key.h"
#include "sshagent/permit.h"
#include "sshagent/test/vectors.h"
#include "sshagent/test/wire.h"

/* Host a has the first key, b the second; c has the key of a. */
static struct permit permit;
static struct arena arena;
static struct blob key_a, key_b, key_rsa, signature_a, signature_b, session, own_key;
static uint8_t id[32];

static int set_up(void **state)
{
	static struct buffer file;
	static const char *const names[] = { "a.example", "[b.example]:2222", "c.example" };
	static struct buffer own;
	struct ssh_setup s = { .logins = { "git@a.example:22", "me@b.example:2222",
				       "other@c.example", "plain:old@b.example:2222" },
		.n_logins = 4,
		.namespaces = { "git" },
		.n_namespaces = 1,
		.n_files = 1 };
	struct error e = { 0 };

	(void)state;
	arena_init(&arena, 0);
	for (size_t i = 0; i < sizeof(id); i++)
		id[i] = (uint8_t)i;
	session = (struct blob){ id, sizeof(id) };
	key_a = wire_decode(vectors[VECTOR_ED25519].key, &arena);
	key_b = wire_decode(vectors[VECTOR_P256].key, &arena);
	key_rsa = wire_decode(vectors[VECTOR_RSA].key, &arena);
	signature_a = wire_decode(vectors[VECTOR_ED25519].signature, &arena);
	signature_b = wire_decode(vectors[VECTOR_P256].signature, &arena);
	wire_text(&own, "ssh-ed25519");
	wire_text(&own, "a key of the user");
	own_key = wire_blob(&own);
	for (size_t i = 0; i < ROWS(names); i++)
		buffer_printf(&file, "%s %s %s\n", names[i],
			i == 1 ? "ecdsa-sha2-nistp256" : "ssh-ed25519",
			vectors[i == 1 ? VECTOR_P256 : VECTOR_ED25519].key);
	s.files[0] = (struct ssh_file){ "known_hosts", file.data, file.len };
	return host_key_begin() < 0 ? -1 : permit_init(&permit, &s, &arena, &e);
}

static bool binds_as(struct permit_session *s, struct blob key, struct blob about,
	struct blob signature, char forwarded, const char *reason)
{
	auto_permit_answer a = { .is_allowed = false };
	auto_buffer body = { 0 };

	wire_bind(&body, key, about, signature, forwarded);
	assert_int_equal(permit_bind(&permit, s, wire_blob(&body), &a), 0);
	if (reason && !strstr(buffer_text(&a.reason), reason))
		fail_msg("%s: %s", buffer_text(&a.target), buffer_text(&a.reason));
	assert_true(a.is_allowed == !reason);
	return a.is_allowed;
}

static bool binds(struct permit_session *s, struct blob key, struct blob signature)
{
	return binds_as(s, key, session, signature, 0, NULL);
}

static void signs(const struct permit_session *s, struct blob key, struct blob data, uint32_t flags,
	const char *target, const char *reason)
{
	auto_permit_answer a = { .is_allowed = true };
	auto_buffer body = { 0 };

	wire_sign(&body, key, data, flags);
	assert_int_equal(permit_sign(&permit, s, wire_blob(&body), &a), 0);
	if (a.is_allowed != !reason || (reason && !strstr(buffer_text(&a.reason), reason)) ||
		strcmp(buffer_text(&a.target), target) != 0)
		fail_msg("%s (%s): %s (%s)", buffer_text(&a.target), target, buffer_text(&a.reason),
			reason ? reason : "");
}

static void logs_in(
	const struct permit_session *s, const char *user, const char *target, const char *reason)
{
	auto_buffer data = { 0 };

	const struct blob host = { (const uint8_t *)s->host_key.data, s->host_key.len };

	wire_login(&data, session, user, own_key, s->is_bound ? &host : NULL);
	signs(s, own_key, wire_blob(&data), 0, target, reason);
}

static void logs_in_plainly(
	const struct permit_session *s, const char *user, const char *target, const char *reason)
{
	auto_buffer data = { 0 };

	wire_login(&data, session, user, own_key, NULL);
	signs(s, own_key, wire_blob(&data), 0, target, reason);
}

static void test_granted(void **state)
{
	struct permit_session s = { .is_bound = false };

	(void)state;
	assert_true(binds(&s, key_a, signature_a));
	logs_in(&s, "git", "ssh.login:git@a.example:22", NULL);
	logs_in(&s, "git", "ssh.login:git@a.example:22", NULL);
	/* Two hosts with one key are one: as the user of either. */
	logs_in(&s, "other", "ssh.login:other@c.example:22", NULL);
	permit_session_deinit(&s);
	assert_true(binds(&s, key_b, signature_b));
	logs_in(&s, "me", "ssh.login:me@b.example:2222", NULL);
	permit_session_deinit(&s);
}

/* The bound session may be one with any host: it is signed by whoever has the key. */
static void test_plain(void **state)
{
	struct permit_session s = { .is_bound = false };

	(void)state;
	assert_true(binds(&s, key_a, signature_a));
	logs_in_plainly(
		&s, "git", "ssh.login:git@a.example:22", "--ssh-agent plain:git@a.example:22");
	logs_in_plainly(&s, "other", "ssh.login:other@c.example:22", "does not name the host");
	logs_in_plainly(&s, "old", "ssh.login:old@a.example:22", "not granted");
	permit_session_deinit(&s);
	assert_true(binds(&s, key_b, signature_b));
	logs_in_plainly(&s, "old", "ssh.login:old@b.example:2222", NULL);
	logs_in(&s, "old", "ssh.login:old@b.example:2222", NULL);
	logs_in_plainly(&s, "me", "ssh.login:me@b.example:2222", "does not name the host");
	permit_session_deinit(&s);
}

static void test_users(void **state)
{
	static const char *const users[] = { "root", "me", "gi", "gitt", "Git", "git ", "*" };
	struct permit_session s = { .is_bound = false };

	(void)state;
	assert_true(binds(&s, key_a, signature_a));
	for (size_t i = 0; i < ROWS(users); i++) {
		auto_buffer target = { 0 };

		buffer_adds(&target, "ssh.login:");
		buffer_add_name(&target, users[i], strlen(users[i]));
		buffer_adds(&target, "@a.example:22");
		logs_in(&s, users[i], buffer_text(&target), "this user is not granted");
	}
	permit_session_deinit(&s);
}

static void test_unbound(void **state)
{
	struct permit_session s = { .is_bound = false };

	(void)state;
	logs_in(&s, "git", "ssh.login:git@?", "has not bound");
}

/* A host with the key of another, a session that the host has not signed, a signature of another.
 */
static void test_binds(void **state)
{
	static const uint8_t other_id[32];
	const struct blob other = { other_id, sizeof(other_id) };
	struct permit_session s = { .is_bound = false };
	auto_buffer certificate = { 0 };

	(void)state;
	binds_as(&s, key_rsa, session, signature_a, 0, "no granted host");
	binds_as(&s, key_a, other, signature_a, 0, "has not signed");
	binds_as(&s, key_a, session, signature_b, 0, "has not signed");
	binds_as(&s, key_b, session, signature_a, 0, "has not signed");
	binds_as(&s, key_a, (struct blob){ id, 20 }, signature_a, 0, "has not signed");
	binds_as(&s, key_a, (struct blob){ id, 31 }, signature_a, 0, "another form");
	binds_as(&s, key_a, (struct blob){ id, 8 }, signature_a, 0, "another form");
	wire_text(&certificate, "ssh-ed25519-cert-v01@openssh.com");
	binds_as(&s, wire_blob(&certificate), session, signature_a, 0, "a certificate");
	assert_false(s.is_bound);
	logs_in(&s, "git", "ssh.login:git@?", "has not bound");
	/* And none of these has spoilt it. */
	assert_true(binds(&s, key_a, signature_a));
	assert_true(binds(&s, key_a, signature_a));
	binds_as(&s, key_b, session, signature_b, 0, "bound to another session");
	binds_as(&s, key_a, other, signature_a, 0, "bound to another session");
	logs_in(&s, "git", "ssh.login:git@a.example:22", NULL);
	logs_in(&s, "me", "ssh.login:me@a.example:22", "not granted");
	permit_session_deinit(&s);
}

static void test_forwarding(void **state)
{
	(void)state;
	for (int is_bound = 0; is_bound < 2; is_bound++) {
		struct permit_session s = { .is_bound = false };
		auto_buffer data = { 0 };

		assert_true(!is_bound || binds(&s, key_a, signature_a));
		binds_as(&s, key_a, session, signature_a, 1, "not forwarded");
		/* It stays so. */
		binds_as(&s, key_a, session, signature_a, 0, "is forwarded");
		logs_in(&s, "git", is_bound ? "ssh.login:git@a.example:22" : "ssh.login:git@?",
			is_bound ? "is forwarded" : "has not bound");
		wire_namespace(&data, "git", "sha512", 64);
		signs(&s, own_key, wire_blob(&data), 0, "ssh.sign:git", "is forwarded");
		permit_session_deinit(&s);
	}
}

/* Bound to a, and what is to be signed is of use elsewhere. */
static void test_oracles(void **state)
{
	static const uint8_t other_id[32] = { 9 };
	const struct blob other = { other_id, sizeof(other_id) };
	struct permit_session s = { .is_bound = false };
	auto_buffer of_b = { 0 };
	auto_buffer of_host = { 0 };
	auto_buffer of_key = { 0 };
	auto_buffer longer = { 0 };
	auto_buffer text = { 0 };

	(void)state;
	assert_true(binds(&s, key_a, signature_a));
	wire_login(&of_b, other, "git", own_key, NULL);
	signs(&s, own_key, wire_blob(&of_b), 0, "ssh.login:git@a.example:22", "another session");
	wire_login(&of_host, session, "git", own_key, &key_b);
	signs(&s, own_key, wire_blob(&of_host), 0, "ssh.login:git@a.example:22", "another host");
	wire_login(&of_key, session, "git", key_b, NULL);
	signs(&s, own_key, wire_blob(&of_key), 0, "ssh.login:git@a.example:22", "another key");
	/* A part of the id, and more than it. */
	wire_login(&longer, (struct blob){ id, 20 }, "git", own_key, NULL);
	signs(&s, own_key, wire_blob(&longer), 0, "ssh.login:git@a.example:22", "another session");
	buffer_adds(&text, "anything");
	signs(&s, own_key, wire_blob(&text), 0, "ssh.sign:?", "neither a login");
	signs(&s, own_key, session, 0, "ssh.sign:?", "neither a login");
	signs(&s, own_key, (struct blob){ id, 0 }, 0, "ssh.sign:?", "neither a login");
	permit_session_deinit(&s);
}

static void test_namespaces(void **state)
{
	static const struct {
		const char *namespace, *reason;
	} rows[] = { { "git", NULL }, { "file", "not granted" }, { "gi", "not granted" },
		{ "git@example.com", "not granted" }, { "GIT", "not granted" } };
	struct permit_session bound = { .is_bound = false }, none = { .is_bound = false };

	(void)state;
	assert_true(binds(&bound, key_a, signature_a));
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer data = { 0 };
		auto_buffer target = { 0 };

		wire_namespace(&data, rows[i].namespace, "sha512", 64);
		buffer_printf(&target, "ssh.sign:%s", rows[i].namespace);
		signs(&none, own_key, wire_blob(&data), 0, buffer_text(&target), rows[i].reason);
		signs(&bound, own_key, wire_blob(&data), 0, buffer_text(&target), rows[i].reason);
	}
	permit_session_deinit(&bound);
}

static void test_sha1(void **state)
{
	static const struct {
		uint32_t flags;
		const char *reason;
	} rows[] = { { 0, "SHA-1" }, { 1, "SHA-1" }, { 2, NULL }, { 4, NULL }, { 6, "SHA-1" },
		{ 8, "SHA-1" } };
	auto_buffer data = { 0 };
	struct permit_session s = { .is_bound = false };

	(void)state;
	wire_namespace(&data, "git", "sha512", 64);
	for (size_t i = 0; i < ROWS(rows); i++)
		signs(&s, key_rsa, wire_blob(&data), rows[i].flags, "ssh.sign:git", rows[i].reason);
}

/* An agent reads other names of a type as the same key: it is asked for none of them. */
static void test_types(void **state)
{
	static const struct {
		const char *type;
		uint32_t flags;
		const char *reason;
	} rows[] = { { "RSA", 0, "this type" }, { "rsa", 2, "this type" },
		{ "rsa-sha2-256", 2, "this type" }, { "ssh-rsa ", 2, "this type" },
		{ "ssh-dss", 0, "this type" }, { "ED25519", 0, "this type" },
		{ "ssh-rsa-cert-v01@openssh.com", 0, "SHA-1" },
		{ "ssh-rsa-cert-v01@openssh.com", 4, NULL }, { "ssh-ed25519", 0, NULL },
		{ "sk-ssh-ed25519@openssh.com", 0, NULL } };
	struct permit_session s = { .is_bound = false };
	auto_buffer data = { 0 };

	(void)state;
	wire_namespace(&data, "git", "sha512", 64);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer key = { 0 };

		wire_text(&key, rows[i].type);
		wire_text(&key, "a number");
		signs(&s, wire_blob(&key), wire_blob(&data), rows[i].flags, "ssh.sign:git",
			rows[i].reason);
	}
	/* The login says another algorithm than that of the key: RSA here, Ed25519 there. */
	assert_true(binds(&s, key_a, signature_a));
	buffer_clear(&data);
	wire_login(&data, session, "git", key_rsa, &key_a);
	signs(&s, key_rsa, wire_blob(&data), 2, "ssh.login:git@a.example:22", "its algorithm");
	permit_session_deinit(&s);
}

static void test_answers(void **state)
{
	static const struct {
		uint32_t flags;
		const char *algorithm;
		bool is_good;
	} rows[] = { { 2, "rsa-sha2-256", true }, { 4, "rsa-sha2-512", true },
		{ 2, "rsa-sha2-512", false }, { 2, "ssh-rsa", false }, { 0, "ssh-rsa", false },
		{ 2, "", false } };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer request = { 0 };
		auto_buffer signature = { 0 };
		auto_buffer answer = { 0 };

		wire_sign(&request, key_rsa, session, rows[i].flags);
		wire_text(&signature, rows[i].algorithm);
		wire_text(&signature, "signature");
		wire_string(&answer, signature.data, signature.len);
		assert_true(permit_is_signature(wire_blob(&request), wire_blob(&answer)) ==
			    rows[i].is_good);
		assert_false(permit_is_signature(wire_blob(&request), wire_blob(&signature)));
	}
}

/* What a host's entries in known_hosts are, and what is said of them. */
static void test_hosts(void **state)
{
	static const struct {
		const char *begin, *end, *text;
	} rows[] = {
		{ "b.example ", "\n", "known_hosts has no key of a.example" },
		{ "@cert-authority a.example ", "\n", "@cert-authority" },
		{ "a.example ", "\n@revoked * ",
			"every key of a.example in known_hosts is revoked" },
		{ "a.example ssh-dss AAAAB3NzaC1kc3MAAAABeA==\n#", "\n", "neither Ed25519" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct ssh_setup s = { .logins = { "git@a.example" }, .n_logins = 1, .n_files = 1 };
		static struct permit other;
		struct error e = { 0 };
		auto_buffer file = { 0 };
		auto_arena a;

		arena_init(&a, 1 << 20);
		buffer_printf(&file, "%sssh-ed25519 %s%sssh-ed25519 %s\n", rows[i].begin,
			vectors[VECTOR_ED25519].key, rows[i].end, vectors[VECTOR_ED25519].key);
		s.files[0] = (struct ssh_file){ "known_hosts", file.data, file.len };
		assert_true(permit_init(&other, &s, &a, &e) < 0);
		if (!strstr(e.text, rows[i].text))
			fail_msg("%s: %s", rows[i].text, e.text);
		assert_non_null(strstr(e.hint, "ssh -p 22 git@a.example"));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_granted),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_users),
		cmocka_unit_test(test_unbound),
		cmocka_unit_test(test_binds),
		cmocka_unit_test(test_forwarding),
		cmocka_unit_test(test_oracles),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_sha1),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_hosts),
	};

	return cmocka_run_group_tests(tests, set_up, NULL);
}
