/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "sshagent/host-key.h"
#include "sshagent/known-hosts.h"
#include "sshagent/test/vectors.h"
#include "sshagent/test/wire.h"

/* K: the first key, L: the second; "$" stands for its type and its text. */
static const struct {
	const char *name, *host, *file;
	unsigned port;
	size_t keys;
	bool has_authority, has_other;
} rows[] = {
	{ "a name", "github.com", "github.com $K\n", 22, 1, false, false },
	{ "without a newline", "github.com", "github.com $K", 22, 1, false, false },
	{ "of DOS", "github.com", "github.com $K\r\n", 22, 1, false, false },
	{ "with a comment", "github.com", "github.com $K me@here\n", 22, 1, false, false },
	{ "tabs", "github.com", "\tgithub.com\t$K\n", 22, 1, false, false },
	{ "in capitals", "github.com", "GitHub.COM $K\n", 22, 1, false, false },
	{ "another", "github.com", "gitlab.com $K\n", 22, 0, false, false },
	{ "a part of it", "github.com", "github.co $K\nithub.com $K\n", 22, 0, false, false },
	{ "a comment", "github.com", "#github.com $K\n", 22, 0, false, false },
	{ "one of several", "github.com", "a,github.com,b $K\n", 22, 1, false, false },
	{ "two keys", "github.com", "github.com $K\ngithub.com $L\n", 22, 2, false, false },
	{ "one key twice", "github.com", "github.com $K\n* $K\n", 22, 1, false, false },
	{ "a pattern", "github.com", "*.example,git*.com $K\n", 22, 1, false, false },
	{ "a question mark", "github.com", "githu?.com $K\n", 22, 1, false, false },
	{ "all", "github.com", "* $K\n", 22, 1, false, false },
	{ "but one", "github.com", "*,!github.com $K\n", 22, 0, false, false },
	{ "but one, first", "github.com", "!github.com,* $K\n", 22, 0, false, false },
	{ "but another", "github.com", "!gitlab.com,* $K\n", 22, 1, false, false },
	{ "denials alone", "github.com", "!gitlab.com $K\n", 22, 0, false, false },
	{ "a port", "github.com", "[github.com]:2222 $K\n", 2222, 1, false, false },
	{ "another port", "github.com", "[github.com]:2222 $K\n", 22, 0, false, false },
	{ "no port", "github.com", "github.com $K\n", 2222, 0, false, false },
	{ "IPv6", "::1", "::1 $K\n", 22, 1, false, false },
	{ "IPv6 with a port", "::1", "[::1]:2222 $K\n", 2222, 1, false, false },
	{ "hashed", "github.com",
		"|1|Qx7DBvOhZRs41U6+LlzzoQNHBKE=|1SbUICdMMPHf9AhqnsWMCJwME0w= $K\n", 22, 1, false,
		false },
	{ "hashed, another", "gitlab.com",
		"|1|Qx7DBvOhZRs41U6+LlzzoQNHBKE=|1SbUICdMMPHf9AhqnsWMCJwME0w= $K\n", 22, 0, false,
		false },
	{ "hashed with a port", "github.com",
		"|1|B2TZK/p//0gFeA1G1GheQYn+d1A=|NkTXfMCZYth0odqdLFy54WC7Bvk= $K\n", 2222, 1, false,
		false },
	{ "half a hash", "github.com", "|1|abc $K\n|1| $K\n|2|a|b $K\n", 22, 0, false, false },
	{ "an authority", "github.com", "@cert-authority *.com $K\n", 22, 0, true, false },
	{ "another authority", "github.com", "@cert-authority x $K\n", 22, 0, false, false },
	{ "both", "github.com", "@cert-authority * $K\ngithub.com $L\n", 22, 1, true, false },
	{ "revoked", "github.com", "github.com $K\n@revoked * $K\n", 22, 0, false, false },
	{ "revoked before", "github.com", "@revoked github.com $K\n* $K\n", 22, 0, false, false },
	{ "one revoked", "github.com", "@revoked * $K\n* $K\n* $L\n", 22, 1, false, false },
	{ "revoked elsewhere", "github.com", "@revoked x $K\n* $K\n", 22, 1, false, false },
	{ "an unknown marker", "github.com", "@good github.com $K\n", 22, 0, false, false },
	{ "a marker alone", "github.com", "@revoked\n@\n", 22, 0, false, false },
	{ "another type", "github.com", "github.com ssh-rsa AAAAC3NzaC1lZDI1NTE5AAAA\n", 22, 0,
		false, false },
	{ "DSA", "github.com", "github.com ssh-dss AAAAB3NzaC1kc3MAAAABeA==\n", 22, 0, false,
		true },
	{ "no base64", "github.com", "github.com ssh-ed25519 !!!\n", 22, 0, false, false },
	{ "no key", "github.com", "github.com\ngithub.com ssh-ed25519\n", 22, 0, false, false },
	{ "of SSH 1", "github.com", "github.com 1024 35 1234567\n", 22, 0, false, false },
	{ "nothing", "github.com", "", 22, 0, false, false },
};

static void print(const char *file, struct buffer *out)
{
	for (; *file; file++) {
		const struct vector *v =
			&vectors[file[0] == '$' && file[1] == 'L' ? VECTOR_P256 : VECTOR_ED25519];

		if (*file != '$') {
			buffer_addc(out, *file);
			continue;
		}
		buffer_printf(out, "%s %s", file[1] == 'L' ? "ecdsa-sha2-nistp256" : "ssh-ed25519",
			v->key);
		file++;
	}
}

static void test_files(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		static struct known_hosts k;
		char name[KNOWN_HOSTS_NAME];
		auto_buffer file = { 0 };
		auto_arena a;

		k = (struct known_hosts){ .n = 0 };
		arena_init(&a, 1 << 20);
		print(rows[i].file, &file);
		known_hosts_name(rows[i].host, rows[i].port, name);
		assert_int_equal(known_hosts_read(&k, name, buffer_text(&file), file.len, &a), 0);
		if (known_hosts_count(&k) != rows[i].keys)
			fail_msg("%s: %zu keys", rows[i].name, known_hosts_count(&k));
		if (k.has_authority != rows[i].has_authority || k.has_other != rows[i].has_other)
			fail_msg("%s", rows[i].name);
		if (rows[i].keys == 2)
			assert_true(known_hosts_has(&k, wire_decode(vectors[VECTOR_P256].key, &a)));
		assert_false(known_hosts_has(&k, wire_decode(vectors[VECTOR_P384].key, &a)));
	}
}

/* What one file revokes, another does not bring back. */
static void test_two_files(void **state)
{
	static struct known_hosts k;
	auto_buffer good = { 0 };
	auto_buffer bad = { 0 };
	auto_arena a;

	(void)state;
	arena_init(&a, 1 << 20);
	print("github.com $K\n", &good);
	print("@revoked * $K\n", &bad);
	assert_int_equal(known_hosts_read(&k, "github.com", good.data, good.len, &a), 0);
	assert_true(known_hosts_has(&k, wire_decode(vectors[VECTOR_ED25519].key, &a)));
	assert_int_equal(known_hosts_read(&k, "github.com", bad.data, bad.len, &a), 0);
	assert_false(known_hosts_has(&k, wire_decode(vectors[VECTOR_ED25519].key, &a)));
}

static void test_bounds(void **state)
{
	static struct known_hosts k;
	auto_buffer file = { 0 };
	auto_buffer line = { 0 };
	auto_arena a;

	(void)state;
	arena_init(&a, 4 << 20);
	for (int i = 0; i <= KNOWN_HOSTS_KEYS_MAX; i++) {
		auto_buffer key = { 0 };
		auto_buffer text = { 0 };

		wire_text(&key, "ssh-ed25519");
		wire_u32(&key, (uint32_t)i);
		encoding_print(ENCODING_BASE64, key.data, key.len, &text);
		buffer_printf(&file, "h ssh-ed25519 %s\n", buffer_text(&text));
	}
	assert_int_equal(known_hosts_read(&k, "h", file.data, file.len, &a), -E2BIG);
	for (int i = 0; i < 70000; i++)
		buffer_adds(&line, "x");
	k = (struct known_hosts){ .n = 0 };
	assert_int_equal(known_hosts_read(&k, "h", line.data, line.len, &a), -E2BIG);
	assert_int_equal(known_hosts_read(&k, "h", line.data, 1000, &a), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_files),
		cmocka_unit_test(test_two_files),
		cmocka_unit_test(test_bounds),
	};

	return host_key_begin() < 0 || cmocka_run_group_tests(tests, NULL, NULL);
}
