/* SPDX-License-Identifier: Apache-2.0 */
/* What was kept of an approved skill: whatever the bytes are, what is read of them lies in them. */
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "skill/inventory.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len);

static void require(bool holds)
{
	if (!holds)
		abort();
}

/* The same as a content, so that it can be written again. */
static struct skill_item item_of(const struct skill_record *r)
{
	struct skill_item item = { .path = r->path,
		.type = r->type,
		.executable = r->executable,
		.size = r->size,
		.target = r->target };

	if (r->hash)
		memcpy(item.hash, r->hash, sizeof(item.hash));
	return item;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t len)
{
	struct skill_digest digest;
	struct skill_inventory all;
	struct skill_content content = { 0 };
	struct skill_changes changes;
	auto_buffer again = { 0 };
	auto_arena a = { 0 };

	crypto_hash_sha256(digest.bytes, data, len);
	if (skill_inventory_read(data, len, &digest, &a, &all) < 0)
		return 0;
	for (size_t i = 0; i < all.n; i++)
		require(ARENA_PUSH(&a, content.items, content.n, content.cap,
				item_of(&all.items[i])) == 0);
	skill_digest_print(&content, &again);
	require(again.len == len && memcmp(again.data, data, len) == 0);
	require(skill_inventory_compare(&all, &content, &a, &changes) == 0 && changes.n == 0);
	return 0;
}
