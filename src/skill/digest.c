/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The digest is the SHA-256 of this stream, entries sorted by the bytes of their paths:
 *
 *     "corral-skill-1\n"
 *     for each entry:  type      1 byte: d folder, f file, x executable file, l link
 *                      path      its length as 8 bytes, big-endian, then its bytes
 *                      content   likewise: nothing for a folder, the SHA-256 of a file's content
 *                                behind the content's length, a link's target
 *
 * Every part has a length before it, so no two folders give the same stream. Contents enter by
 * their own digest because the walk meets files unsorted, and each is read once, when it is open.
 */
#include "skill/digest.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/arena.h"
#include "skill/walk.h"

_Static_assert(SKILL_DIGEST_BYTES == crypto_hash_sha256_BYTES, "the digest is a SHA-256");

struct item {
	const char *path;
	char type;
	uint64_t size;
	unsigned char content[SKILL_DIGEST_BYTES];
	const char *target;
};

struct items {
	struct arena arena;
	struct item *list;
	size_t n, cap;
};

/* Reads fd to its end; -ESTALE if it does not have `size` bytes. */
static int hash_content(const struct skill_entry *entry, struct item *item, struct error *e)
{
	unsigned char chunk[65536];
	crypto_hash_sha256_state hash;
	uint64_t total = 0;
	ssize_t n;

	crypto_hash_sha256_init(&hash);
	do {
		n = read(entry->fd, chunk, sizeof(chunk));
		if (n < 0 && errno == EINTR)
			continue;
		if (n < 0)
			return error_set(e, -errno, NULL, "%s: %s", entry->path, strerror(errno));
		crypto_hash_sha256_update(&hash, chunk, (size_t)n);
		total += (uint64_t)n;
	} while (n != 0 && total <= entry->size);
	crypto_hash_sha256_final(&hash, item->content);
	item->size = total;
	if (total == entry->size)
		return 0;
	return error_set(
		e, -ESTALE, NULL, "%s: it changed while it was read; try again", entry->path);
}

static int digest_collect(void *data, const struct skill_entry *entry, struct error *e)
{
	static const char types[] = {
		[SKILL_FILE] = 'f', [SKILL_FOLDER] = 'd', [SKILL_LINK] = 'l'
	};
	struct items *items = data;
	struct item item = { .type = entry->executable ? 'x' : types[entry->type] };
	int r = 0;

	item.path = arena_strdup(&items->arena, entry->path);
	if (entry->type == SKILL_LINK)
		item.target = arena_strdup(&items->arena, entry->target);
	if (entry->type == SKILL_FILE)
		r = hash_content(entry, &item, e);
	if (r < 0)
		return r;
	if (!item.path || (entry->type == SKILL_LINK && !item.target) ||
		ARENA_PUSH(&items->arena, items->list, items->n, items->cap, item) < 0)
		return error_no_memory(e);
	return 0;
}

static int compare_paths(const void *x, const void *y)
{
	const struct item *a = x, *b = y;

	return strcmp(a->path, b->path);
}

static void add_length(crypto_hash_sha256_state *hash, uint64_t n)
{
	unsigned char bytes[8];

	for (size_t i = 0; i < sizeof(bytes); i++)
		bytes[i] = (unsigned char)(n >> (56 - 8 * i));
	crypto_hash_sha256_update(hash, bytes, sizeof(bytes));
}

static void digest_add_item(crypto_hash_sha256_state *hash, const struct item *item)
{
	const size_t path_len = strlen(item->path);

	crypto_hash_sha256_update(hash, (const unsigned char *)&item->type, 1);
	add_length(hash, path_len);
	crypto_hash_sha256_update(hash, (const unsigned char *)item->path, path_len);
	switch (item->type) {
	case 'd':
		add_length(hash, 0);
		break;
	case 'l':
		add_length(hash, strlen(item->target));
		crypto_hash_sha256_update(
			hash, (const unsigned char *)item->target, strlen(item->target));
		break;
	default:
		add_length(hash, item->size);
		crypto_hash_sha256_update(hash, item->content, sizeof(item->content));
	}
}

int skill_digest(int dirfd, struct skill_digest *ret, struct error *e)
{
	static const char magic[] = "corral-skill-1\n";
	crypto_hash_sha256_state hash;
	struct items items = { 0 };
	int r = skill_walk(dirfd, digest_collect, &items, e);

	if (r == 0) {
		if (items.n)
			qsort(items.list, items.n, sizeof(items.list[0]), compare_paths);
		crypto_hash_sha256_init(&hash);
		crypto_hash_sha256_update(&hash, (const unsigned char *)magic, strlen(magic));
		for (size_t i = 0; i < items.n; i++)
			digest_add_item(&hash, &items.list[i]);
		crypto_hash_sha256_final(&hash, ret->bytes);
	}
	arena_deinit(&items.arena);
	return r;
}

void skill_digest_hex(const struct skill_digest *d, char out[SKILL_DIGEST_HEX])
{
	(void)sodium_bin2hex(out, SKILL_DIGEST_HEX, d->bytes, sizeof(d->bytes));
}
