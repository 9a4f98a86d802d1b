/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/security/known.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include <sodium.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"
#include "codec/json-writer.h"

enum { KNOWN_FILE_MAX = 1 << 20, KNOWN_FILES_MAX = 2000 };

static bool known_name(const struct security_known *k, char path[PATH_BYTES])
{
	return k->s->state &&
	       snprintf(path, PATH_BYTES, "%s/security.json", k->s->state) < PATH_BYTES;
}

static void known_read(struct security_known *k, const struct node *files)
{
	struct arena *a = k->s->call->arena;

	node_for_each(n, files) {
		struct known_file f = { arena_strdup(a, n->key), arena_strdup(a, node_text(n)),
			false };

		if (k->n < KNOWN_FILES_MAX && f.path && f.path[0] == '/' && f.digest)
			(void)ARENA_PUSH(a, k->items, k->n, k->cap, f);
	}
}

void known_open(struct security_known *k, struct security *s)
{
	char path[PATH_BYTES];
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	struct error e = { 0 };
	const struct node *files;
	int r;

	*k = (struct security_known){ .s = s };
	if (!known_name(k, path) || access(path, F_OK) < 0)
		return;
	r = file_read_regular(path, KNOWN_FILE_MAX, &text);
	if (r == 0)
		r = json_read(&d, path, buffer_text(&text), text.len, &e);
	files = r == 0 ? node_get(d.root, "files") : NULL;
	if (!files || files->type != NODE_MAP) {
		security_add(s, "drift", SECURITY_MEDIUM, path,
			"the record of profiles and wrappers cannot be read",
			"look at them, then `corral security --accept` makes a new one");
		return;
	}
	node_for_each(n, files)
		if (!node_text(n))
			return;
	known_read(k, files);
}

enum known_state known_compare(
	struct security_known *k, const char *path, const char *data, size_t len)
{
	struct arena *a = k->s->call->arena;
	unsigned char hash[crypto_hash_sha256_BYTES];
	char digest[2 * sizeof(hash) + 1];
	struct known_file f = { .is_there = true };

	crypto_hash_sha256(hash, (const unsigned char *)data, len);
	encoding_hex(hash, sizeof(hash), digest);
	for (size_t i = 0; i < k->n; i++) {
		struct known_file *known = &k->items[i];

		if (strcmp(known->path, path) != 0)
			continue;
		known->is_there = true;
		if (strcmp(known->digest, digest) == 0)
			return KNOWN_SAME;
		if (!k->s->accepts)
			return KNOWN_CHANGED;
		known->digest = arena_strdup(a, digest);
		k->is_changed = true;
		return KNOWN_SAME;
	}
	f.path = arena_strdup(a, path);
	f.digest = arena_strdup(a, digest);
	if (f.path && f.digest && k->n < KNOWN_FILES_MAX &&
		ARENA_PUSH(a, k->items, k->n, k->cap, f) == 0)
		k->is_changed = true;
	return KNOWN_SAME;
}

void known_close(struct security_known *k)
{
	char path[PATH_BYTES];
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };

	for (size_t i = 0; i < k->n; i++)
		k->is_changed |= k->s->accepts && !k->items[i].is_there;
	if (!k->is_changed || !(k->s->records || k->s->accepts) || !known_name(k, path))
		return;
	json_open_map(&w, NULL);
	json_open_map(&w, "files");
	for (size_t i = 0; i < k->n; i++) {
		const struct known_file *f = &k->items[i];

		if ((k->s->accepts && !f->is_there) || !f->digest)
			continue;
		json_line(&w);
		json_put_text(&w, f->path, f->digest);
	}
	json_line(&w);
	json_end_line(&w);
	if (text.failed || file_replace(path, text.data, text.len, 0600) < 0)
		security_add(k->s, "drift", SECURITY_LOW, path,
			"what profiles and wrappers are cannot be recorded",
			"make the folder writable for you");
}
