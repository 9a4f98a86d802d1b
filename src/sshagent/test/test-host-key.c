/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "base/array.h"
#include "sshagent/host-key.h"
#include "sshagent/test/vectors.h"
#include "sshagent/test/wire.h"

static uint8_t *message(void)
{
	static uint8_t bytes[32];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (uint8_t)i;
	return bytes;
}

static void test_vectors(void **state)
{
	const struct blob data = { message(), 32 }, other = { message(), 31 };

	(void)state;
	for (size_t i = 0; i < ROWS(vectors); i++) {
		auto_arena a;
		struct blob key, signature;

		arena_init(&a, 1 << 16);
		key = wire_decode(vectors[i].key, &a);
		signature = wire_decode(vectors[i].signature, &a);
		assert_true(host_key_is_known(key));
		/* SHA-1 is none. */
		if (host_key_verify(key, signature, data) != (i != VECTOR_SHA1))
			fail_msg("%s", vectors[i].name);
		assert_false(host_key_verify(key, signature, other));
		for (size_t k = 0; k < ROWS(vectors); k++) {
			if (strcmp(vectors[k].key, vectors[i].key) != 0)
				assert_false(host_key_verify(
					key, wire_decode(vectors[k].signature, &a), data));
		}
	}
}

/* Each byte changed, each length: no key and no signature is any other. */
static void test_changes(void **state)
{
	const struct blob data = { message(), 32 };

	(void)state;
	for (size_t i = 0; i < VECTOR_SHA1; i++) {
		auto_arena a;
		struct blob key, signature;
		uint8_t *at;

		arena_init(&a, 1 << 16);
		key = wire_decode(vectors[i].key, &a);
		signature = wire_decode(vectors[i].signature, &a);
		for (size_t k = 0; k < signature.len; k++) {
			at = (uint8_t *)(uintptr_t)signature.data + k;
			*at ^= 1;
			assert_false(host_key_verify(key, signature, data));
			*at ^= 1;
			assert_false(
				host_key_verify(key, (struct blob){ signature.data, k }, data));
		}
		for (size_t k = 0; k < key.len; k++) {
			at = (uint8_t *)(uintptr_t)key.data + k;
			*at ^= 1;
			assert_false(host_key_verify(key, signature, data));
			*at ^= 1;
			assert_false(
				host_key_verify((struct blob){ key.data, k }, signature, data));
		}
		assert_true(host_key_verify(key, signature, data));
	}
}

static void test_longer(void **state)
{
	const struct blob data = { message(), 32 };
	auto_arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	for (size_t i = 0; i < VECTOR_SHA1; i++) {
		const struct blob key = wire_decode(vectors[i].key, &a),
				  signature = wire_decode(vectors[i].signature, &a);
		auto_buffer longer = { 0 };

		buffer_add(&longer, signature.data, signature.len);
		buffer_addc(&longer, 0);
		assert_false(host_key_verify(key, wire_blob(&longer), data));
		buffer_clear(&longer);
		buffer_add(&longer, key.data, key.len);
		buffer_addc(&longer, 0);
		assert_false(host_key_verify(wire_blob(&longer), signature, data));
	}
}

static void test_types(void **state)
{
	static const char *const others[] = { "ssh-dss", "ssh-ed25519-cert-v01@openssh.com",
		"sk-ssh-ed25519@openssh.com", "rsa-sha2-256", "ssh-rsa1", "" };

	(void)state;
	for (size_t i = 0; i < ROWS(others); i++) {
		auto_buffer key = { 0 };

		wire_text(&key, others[i]);
		wire_text(&key, "x");
		assert_false(host_key_is_known(wire_blob(&key)));
		assert_false(host_key_verify(
			wire_blob(&key), wire_blob(&key), (struct blob){ message(), 32 }));
	}
}

static void test_fingerprint(void **state)
{
	char out[HOST_KEY_FINGERPRINT];
	auto_arena a;

	(void)state;
	arena_init(&a, 1 << 16);
	host_key_fingerprint(wire_decode(vectors[VECTOR_ED25519].key, &a), out);
	assert_string_equal(out, "SHA256:GQFFVyesmaVhC7165UwLTHaMSa6KZ57aSBBDs8WYc7U");
	host_key_fingerprint(wire_decode(vectors[VECTOR_RSA].key, &a), out);
	assert_string_equal(out, "SHA256:3NjTCYKwsU1KkklkPU7qI1vmB9QaItrYUTOAvu+ubU4");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_vectors),
		cmocka_unit_test(test_changes),
		cmocka_unit_test(test_longer),
		cmocka_unit_test(test_types),
		cmocka_unit_test(test_fingerprint),
	};

	return host_key_begin() < 0 || cmocka_run_group_tests(tests, NULL, NULL);
}
