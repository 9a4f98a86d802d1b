/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A file of any client, as the first byte says. What an install accepts, an uninstall makes again
 * as it was, byte for byte, though it knows only the new text and what the install did; and a
 * second install changes nothing.
 */
#include <stdlib.h>
#include <string.h>

#include "mcp/client/client.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

enum { CLIENTS = 7 };

static void require(bool holds)
{
	if (!holds)
		abort();
}

static bool is_blank(const struct client_text *t)
{
	size_t at = t->len >= 3 && memcmp(t->text, "\xef\xbb\xbf", 3) == 0 ? 3 : 0;

	while (at < t->len && strchr(" \t\r\n", t->text[at]))
		at++;
	return at == t->len;
}

static void check_back(struct client_install *in, struct arena *a, const struct client_text *old,
	const struct buffer *new, const struct client_changes *changes)
{
	const char **wrapped = arena_calloc(a, changes->n + 1, sizeof(*wrapped));
	const struct client_text now = { "new", buffer_text(new), new->len };
	struct client_installed was = { in->client, in->name, wrapped, *old, true };
	struct client_changes undone = { 0 }, again = { 0 };
	auto_buffer back = { 0 }, twice = { 0 };
	struct error e;
	size_t n = 0;

	require(wrapped);
	for (size_t i = 0; i < changes->n; i++) {
		require(changes->items[i].kind != CLIENT_REMOVED);
		if (changes->items[i].kind == CLIENT_SAME)
			return;
		if (changes->items[i].kind == CLIENT_WRAPPED)
			wrapped[n++] = changes->items[i].server;
	}
	in->is_ours = true;
	require(client_install(in, a, &now, &twice, &again, &e) == 0);
	require(twice.len == new->len &&memcmp(buffer_text(&twice), buffer_text(new), new->len) ==
		0);
	require(client_uninstall(&was, a, &now, &back, &undone, &e) == 0);
	if (is_blank(old) && in->client->dialect != PLACES_TOML)
		return;
	require(back.len == old->len && memcmp(buffer_text(&back), old->text, old->len) == 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	static const char *const options[] = { "--profile", "readonly", NULL };
	static const char *const wrap_options[] = { "--net", "h\xc3\xa9.example:443", NULL };
	const struct client_text old = { "old", (const char *)data + 1, size ? size - 1 : 0 };
	struct client_install in = { .client = size ? &clients[data[0] % CLIENTS] : NULL,
		.name = "corral",
		.program = "/usr/bin/corral",
		.options = options,
		.has_options = true,
		.wraps = true,
		.wrap_options = wrap_options };
	struct client_changes changes = { 0 };
	auto_arena a = { 0 };
	auto_buffer out = { 0 };
	struct error e = { 0 };

	if (!size)
		return 0;
	if (client_install(&in, &a, &old, &out, &changes, &e) == 0)
		check_back(&in, &a, &old, &out, &changes);
	else
		require(e.text[0]);
	return 0;
}
