/* SPDX-License-Identifier: Apache-2.0 */
#include "skill/inventory.h"

#include <sodium.h>
#include <string.h>

#include "wire/reader.h"

static bool inventory_length(struct reader *r, uint64_t *ret)
{
	unsigned char bytes[8];

	*ret = 0;
	if (!reader_bytes(r, bytes, sizeof(bytes)))
		return false;
	for (size_t i = 0; i < sizeof(bytes); i++)
		*ret = *ret << 8 | bytes[i];
	return true;
}

/* A text with its length; none holds a NUL. */
static int inventory_text(struct reader *r, struct arena *a, const char **ret)
{
	uint64_t len;

	if (!inventory_length(r, &len) || len == 0 || len > r->left ||
		memchr(r->data, '\0', (size_t)len))
		return -EINVAL;
	*ret = arena_strndup(a, r->data, (size_t)len);
	r->data += len;
	r->left -= (size_t)len;
	return *ret ? 0 : -ENOMEM;
}

static int inventory_file(struct reader *r, struct skill_record *record)
{
	if (!inventory_length(r, &record->size) || r->left < SKILL_DIGEST_BYTES)
		return -EINVAL;
	record->hash = (const unsigned char *)r->data;
	r->data += SKILL_DIGEST_BYTES;
	r->left -= SKILL_DIGEST_BYTES;
	return 0;
}

static int inventory_record(struct reader *r, struct arena *a, struct skill_record *ret)
{
	char type = '\0';
	uint64_t none = 0;
	int err;

	(void)reader_bytes(r, &type, 1);
	*ret = (struct skill_record){ .executable = type == 'x' };
	err = inventory_text(r, a, &ret->path);
	if (err < 0)
		return err;
	switch (type) {
	case 'f':
	case 'x':
		ret->type = SKILL_FILE;
		return inventory_file(r, ret);
	case 'l':
		ret->type = SKILL_LINK;
		return inventory_text(r, a, &ret->target);
	case 'd':
		ret->type = SKILL_FOLDER;
		return inventory_length(r, &none) && none == 0 ? 0 : -EINVAL;
	default:
		return -EINVAL;
	}
}

int skill_inventory_read(const void *data, size_t len, const struct skill_digest *digest,
	struct arena *a, struct skill_inventory *ret)
{
	char magic[sizeof(SKILL_DIGEST_MAGIC) - 1];
	struct reader r = { data, len };
	struct skill_inventory all = { 0 };
	struct skill_digest hash;

	crypto_hash_sha256(hash.bytes, data, len);
	if (sodium_memcmp(hash.bytes, digest->bytes, sizeof(hash.bytes)) != 0)
		return -ESTALE;
	if (!reader_bytes(&r, magic, sizeof(magic)) ||
		memcmp(magic, SKILL_DIGEST_MAGIC, sizeof(magic)) != 0)
		return -EINVAL;
	while (r.left > 0) {
		struct skill_record record;
		int err = inventory_record(&r, a, &record);

		if (err == 0 && all.n && strcmp(all.items[all.n - 1].path, record.path) >= 0)
			err = -EINVAL;
		if (err == 0)
			err = ARENA_PUSH(a, all.items, all.n, all.cap, record);
		if (err < 0)
			return err;
	}
	*ret = all;
	return 0;
}

static bool inventory_is_same(const struct skill_record *was, const struct skill_item *now)
{
	if (was->type != now->type || was->executable != now->executable)
		return false;
	switch (was->type) {
	case SKILL_FILE:
		return was->size == now->size &&
		       memcmp(was->hash, now->hash, sizeof(now->hash)) == 0;
	case SKILL_LINK:
		return strcmp(was->target, now->target) == 0;
	case SKILL_FOLDER:
		break;
	}
	return true;
}

int skill_inventory_compare(const struct skill_inventory *was, const struct skill_content *now,
	struct arena *a, struct skill_changes *ret)
{
	struct skill_changes all = { 0 };
	size_t i = 0, k = 0;

	while (i < was->n || k < now->n) {
		const struct skill_record *x = i < was->n ? &was->items[i] : NULL;
		const struct skill_item *y = k < now->n ? &now->items[k] : NULL;
		const int order = x && y ? strcmp(x->path, y->path) : 0;
		struct skill_change c;

		if (y && y->live) {
			k++;
			continue;
		}
		if (x && (!y || order < 0)) {
			c = (struct skill_change){ SKILL_REMOVED, x->path, x, NULL };
			i++;
		} else if (y && (!x || order > 0)) {
			c = (struct skill_change){ SKILL_ADDED, y->path, NULL, y };
			k++;
		} else if (x && y) {
			i++;
			k++;
			if (inventory_is_same(x, y))
				continue;
			c = (struct skill_change){ SKILL_CHANGED, x->path, x, y };
		} else {
			break;
		}
		if (ARENA_PUSH(a, all.items, all.n, all.cap, c) < 0)
			return -ENOMEM;
	}
	*ret = all;
	return 0;
}
