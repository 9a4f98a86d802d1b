/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Messages of a client, one behind the other as on a connection, answered by a permit for one login
 * and one namespace. What is allowed is looked at once more, by its bytes: a login has the id and
 * the key of the bound host, and a message has the namespace. The same bytes are read as
 * known_hosts, as what the agent answers, and as what `corral` hands over.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/error.h"
#include "sshagent/host-key.h"
#include "sshagent/permit.h"
#include "sshagent/test/vectors.h"
#include "sshagent/test/wire.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static const struct permit *fuzz_permit(void)
{
	static struct permit permit;
	static struct buffer file;
	static struct arena arena;
	struct ssh_setup s = { .logins = { "git@a" },
		.n_logins = 1,
		.namespaces = { "git" },
		.n_namespaces = 1,
		.n_files = 1 };
	struct error e;

	if (file.len > 0)
		return &permit;
	arena_init(&arena, 0);
	require(host_key_begin() == 0);
	buffer_printf(&file, "a ssh-ed25519 %s\n", vectors[VECTOR_ED25519].key);
	s.files[0] = (struct ssh_file){ "k", file.data, file.len };
	require(permit_init(&permit, &s, &arena, &e) == 0);
	return &permit;
}

static bool fuzz_has(struct blob in, struct blob what)
{
	return what.len > 0 && memmem(in.data, in.len, what.data, what.len);
}

static void fuzz_signed(const struct permit_session *s, struct blob body)
{
	const struct blob key = { (const uint8_t *)s->host_key.data, s->host_key.len };
	struct ssh_sign m;
	struct ssh_data d;

	require(!s->is_closed && ssh_sign_parse(body, &m) && ssh_data_parse(m.data, &d));
	if (d.kind == SSH_MESSAGE_OF_NAMESPACE) {
		require(blob_is(d.namespace, "git") && memcmp(m.data.data, "SSHSIG", 6) == 0);
		return;
	}
	require(s->is_bound && blob_is(d.user, "git") && blob_equal(d.key, m.key));
	require(m.data.len > 4 + s->id_len && memcmp(m.data.data + 4, s->id, s->id_len) == 0);
	require(d.is_hostbound && fuzz_has(m.data, key));
}

static void fuzz_connection(const uint8_t *data, size_t size)
{
	struct permit_session s = { .is_bound = false };
	struct blob all = { data, size }, one;

	for (int i = 0; i < 64 && blob_take_string(&all, &one) && one.len > 0; i++) {
		const struct blob body = { one.data + 1, one.len - 1 };
		auto_permit_answer a = { .is_allowed = false };

		if (one.data[0] == SSH_MESSAGE_SIGN_REQUEST) {
			require(permit_sign(fuzz_permit(), &s, body, &a) == 0);
			if (a.is_allowed)
				fuzz_signed(&s, body);
		} else if (one.data[0] == SSH_MESSAGE_EXTENSION && ssh_is_bind(body)) {
			const bool was_closed = s.is_closed;

			require(permit_bind(fuzz_permit(), &s, body, &a) == 0);
			require(!a.is_allowed || (s.is_bound && !was_closed));
		}
		require(a.is_allowed == (a.reason.len == 0) || a.target.len == 0);
		(void)ssh_identities_check(body);
		(void)ssh_signature_check(body);
	}
	permit_session_deinit(&s);
}

static void fuzz_files(const uint8_t *data, size_t size)
{
	static struct known_hosts k;
	struct ssh_setup s;
	auto_buffer again = { 0 };
	auto_arena a;

	arena_init(&a, 8 << 20);
	k = (struct known_hosts){ .n = 0 };
	if (known_hosts_read(&k, "a", data, size, &a) == 0) {
		require(known_hosts_count(&k) <= k.n);
		for (size_t i = 0; i < k.n; i++)
			require(host_key_is_known(k.keys[i]));
	}
	if (ssh_setup_decode(&s, data, size) == 0)
		require(ssh_setup_encode(&s, &again) == 0 && again.len == size);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	if (size > SSH_MESSAGE_MAX)
		return 0;
	fuzz_connection(data, size);
	fuzz_files(data, size);
	return 0;
}
