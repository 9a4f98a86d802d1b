/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a client sends before it is logged in. However the bytes are cut, the same is read; and what
 * is written of it is read as it was meant, as 3.0.
 */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "postgres/startup.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void require(bool holds)
{
	if (!holds)
		abort();
}

static void fuzz_login(const struct startup *s)
{
	auto_buffer out = { 0 }, told = { 0 };
	struct startup again;

	startup_print(s, &out);
	startup_print_negotiation(s, &told);
	require(!out.failed && out.len <= STARTUP_MAX);
	require(startup_read(&again, out.data, out.len) == (int)out.len);
	require(again.kind == STARTUP_LOGIN && again.minor == 0 && again.n_unknown == 0);
	require(again.n == s->n && strcmp(again.user, s->user) == 0);
	for (size_t i = 0; i < s->n; i++) {
		require(strcmp(s->parameters[i].name, again.parameters[i].name) == 0);
		require(strcmp(s->parameters[i].value, again.parameters[i].value) == 0);
		require(strcmp(s->parameters[i].name, "replication") != 0);
	}
}

static void fuzz_cancel(const struct startup *s)
{
	auto_buffer out = { 0 };
	struct startup again;

	startup_print_cancel(s, &out);
	require(startup_read(&again, out.data, out.len) == (int)out.len);
	require(again.kind == STARTUP_CANCEL && again.process == s->process &&
		again.key_len == s->key_len && memcmp(again.key, s->key, s->key_len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct startup s;
	int n;

	while ((n = startup_read(&s, data, size)) > 0) {
		struct startup part;

		require((size_t)n <= size && s.kind != STARTUP_BROKEN);
		require(startup_read(&part, data, (size_t)n - 1) == 0);
		if (s.kind == STARTUP_LOGIN)
			fuzz_login(&s);
		else if (s.kind == STARTUP_CANCEL)
			fuzz_cancel(&s);
		data += n;
		size -= (size_t)n;
	}
	require(n == 0 || s.kind == STARTUP_BROKEN);
	return 0;
}
