/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/folders.h"

#include <errno.h>
#include <string.h>

#include "base/hash.h"
#include "base/path.h"

int folders_init(struct folders *f, struct arena *a, const struct grant_list *list)
{
	*f = (struct folders){
		.list = list, .n_entries = list->n, .seed = hash_key_make().words[1]
	};
	f->of = arena_room(a, list->n, sizeof(*f->of));
	if (!f->of)
		return -ENOMEM;
	memset(f->of, 0xff, list->n * sizeof(*f->of));
	return 0;
}

/* Of the bytes, eight at a time; the last eight may overlap those before. */
static uint32_t *folders_bucket(const struct folders *f, const char *path, size_t len)
{
	uint64_t hash = f->seed ^ len, word = 0;
	size_t i = 0;

	for (; i + 8 < len; i += 8) {
		memcpy(&word, path + i, 8);
		hash = hash_mix(hash, word);
	}
	word = 0;
	if (len >= 8)
		memcpy(&word, path + len - 8, 8);
	else
		memcpy(&word, path, len);
	return &f->buckets[hash_mix(hash, word) & (f->n_buckets - 1)];
}

/* FOLDERS_NONE: it is not there. */
static uint32_t folders_find(const struct folders *f, const char *path, size_t len)
{
	uint32_t i = f->n_buckets ? *folders_bucket(f, path, len) : FOLDERS_NONE;

	while (i != FOLDERS_NONE &&
		(f->items[i].in.len != len || memcmp(f->items[i].path, path, len) != 0))
		i = f->items[i].next;
	return i;
}

static int folders_grow(struct folders *f, struct arena *a)
{
	size_t n = f->n_buckets ? f->n_buckets * 4 : 64;
	uint32_t *buckets = arena_room(a, n, sizeof(*buckets));

	if (!buckets)
		return -ENOMEM;
	memset(buckets, 0xff, n * sizeof(*buckets));
	f->buckets = buckets;
	f->n_buckets = n;
	for (size_t i = 0; i < f->n; i++) {
		uint32_t *bucket = folders_bucket(f, f->items[i].path, f->items[i].in.len);

		f->items[i].next = *bucket;
		*bucket = (uint32_t)i;
	}
	return 0;
}

int folders_put(struct folders *f, struct arena *a, size_t i, const char *text, size_t len,
	const struct pathset_folder *in)
{
	struct path_folder folder = { text, *in, FOLDERS_NONE };
	uint32_t *bucket;

	if (in->len == 0 || len >= PATH_BYTES)
		return 0;
	f->of[i] = folders_find(f, text, in->len);
	if (f->of[i] != FOLDERS_NONE)
		return 0;
	if (f->n >= f->n_buckets && folders_grow(f, a) < 0)
		return -ENOMEM;
	bucket = folders_bucket(f, text, in->len);
	folder.next = *bucket;
	if (ARENA_PUSH(a, f->items, f->n, f->cap, folder) < 0)
		return -ENOMEM;
	*bucket = f->of[i] = (uint32_t)f->n - 1;
	return 0;
}

const struct path_folder *folders_know(
	struct folders *f, size_t i, const char *text, size_t *ret_len, enum glob_kind *ret_kind)
{
	static const char tail[] = "/**";
	const size_t n_tail = sizeof(tail) - 1;
	size_t len = strlen(text), folder;
	const char *slash;
	uint32_t found;

	if (len > n_tail && memcmp(text + len - n_tail, tail, n_tail) == 0)
		len -= n_tail;
	slash = memrchr(text, '/', len);
	folder = slash ? (size_t)(slash - text) : 0;
	found = folder ? folders_find(f, text, folder) : FOLDERS_NONE;
	if (found == FOLDERS_NONE || len >= PATH_BYTES ||
		!glob_plain_after(text, folder, ret_len, ret_kind) || *ret_len != len)
		return NULL;
	f->of[i] = found;
	return &f->items[found];
}
