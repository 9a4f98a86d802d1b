/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is one file, named after the policy's name and length:
 *
 *     mark       SipHash of all that follows (policy_cache_mark()), by the key of the folder
 *     maker      the program: device, inode, size and times of its file
 *     question   kind that was asked for, name, text
 *     answer     kind that was found, image (policy/format/image.h)
 *
 * Everything is compared as it is: the text byte by byte, so that two policies with one hash are no
 * matter. What is not synced and lost in a crash has no mark.
 */
#include "host/policy-cache.h"

#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/hash.h"
#include "host/state-cache.h"
#include "policy/format/image.h"

enum {
	ENTRY_MAX = 24 << 20,
	ENTRIES_MAX = 32,
	TOTAL_MAX = 64 << 20,
	NAME_BYTES = 32,
	PIECE_BYTES = 16 << 10
};

static const char folder_name[] = "policy-cache";

/* The maker and the question, but for the text, which follows. */
static bool policy_cache_head(const struct policy_cache_input *in, struct buffer *out)
{
	const uint64_t numbers[] = { (uint64_t)in->kind, strlen(in->file), in->len };
	struct stat st;

	if (stat("/proc/self/exe", &st) < 0)
		return false;
	buffer_add(out, &st.st_dev, sizeof(st.st_dev));
	buffer_add(out, &st.st_ino, sizeof(st.st_ino));
	buffer_add(out, &st.st_size, sizeof(st.st_size));
	buffer_add(out, &st.st_mtim, sizeof(st.st_mtim));
	buffer_add(out, &st.st_ctim, sizeof(st.st_ctim));
	buffer_add(out, numbers, sizeof(numbers));
	buffer_add(out, in->file, numbers[1]);
	return !out->failed;
}

static void policy_cache_name(
	const struct hash_key *key, const struct policy_cache_input *in, char out[NAME_BYTES])
{
	(void)snprintf(out, NAME_BYTES, "%016llx",
		(unsigned long long)hash_keyed(
			key, (uint64_t)in->kind << 32 | in->len, in->file, strlen(in->file)));
}

/* Each part is hashed with the hash of those before it. */
static uint64_t policy_cache_mark(const struct hash_key *key, const struct buffer *head,
	const struct policy_cache_input *in, const char *answer, size_t len)
{
	uint64_t mark = hash_keyed(key, 0, head->data, head->len);

	mark = hash_keyed(key, mark, in->text, in->len);
	return hash_keyed(key, mark, answer, len);
}

/* Finding */

/* What comes next in the file is just that. It is looked at in pieces, and not kept. */
static bool policy_cache_comes(int fd, const char *bytes, size_t len)
{
	char piece[PIECE_BYTES];
	size_t n;

	for (; len > 0; bytes += n, len -= n) {
		n = len < sizeof(piece) ? len : sizeof(piece);
		if (!state_cache_read(fd, piece, n) || memcmp(piece, bytes, n) != 0)
			return false;
	}
	return true;
}

/* The entry is for this question, and whole: all after it is the answer. */
static bool policy_cache_take(const struct policy_cache_input *in, const struct hash_key *key,
	int fd, size_t size, struct manifest *ret)
{
	auto_buffer head = { 0 };
	uint64_t mark, kind;
	char *answer;

	if (!policy_cache_head(in, &head) || size < sizeof(mark) + head.len + sizeof(kind) ||
		size - sizeof(mark) - head.len - sizeof(kind) < in->len)
		return false;
	size -= sizeof(mark) + head.len + in->len;
	if (!state_cache_read(fd, &mark, sizeof(mark)) ||
		!policy_cache_comes(fd, head.data, head.len) ||
		!policy_cache_comes(fd, in->text, in->len))
		return false;
	/* What is read points into it, and lives as long. */
	answer = arena_room(ret->permissions->arena, size, 1);
	if (!answer || !state_cache_read(fd, answer, size) ||
		mark != policy_cache_mark(key, &head, in, answer, size))
		return false;
	memcpy(&kind, answer, sizeof(kind));
	if (kind <= MANIFEST_UNKNOWN || kind > MANIFEST_ENCLAVE)
		return false;
	ret->kind = (enum manifest_kind)kind;
	return image_read(ret->permissions, answer + sizeof(kind), size - sizeof(kind)) == 0;
}

bool policy_cache_find(const struct policy_cache_input *in, struct manifest *ret)
{
	auto_fd folder = state_cache_open(folder_name, false), fd = -1;
	auto_manifest m = { 0 };
	char name[NAME_BYTES];
	struct hash_key key;
	size_t size = 0;

	if (folder < 0 || !state_cache_key(folder, false, &key, sizeof(key)))
		return false;
	policy_cache_name(&key, in, name);
	fd = state_cache_open_file(folder, name, ENTRY_MAX, &size);
	m.permissions = fd < 0 ? NULL : permissions_new();
	if (!m.permissions || !policy_cache_take(in, &key, fd, size, &m))
		return false;
	*ret = m;
	m = (struct manifest){ 0 };
	return true;
}

/* Keeping */

/* Nothing that an image does not have. */
static bool policy_cache_is_plain(const struct manifest *m)
{
	const char *const texts[] = { m->name, m->version, m->description, m->author, m->entry,
		m->runtime, m->wasm_file, m->wasm_export, m->session_id };
	bool plain = (m->kind == MANIFEST_PERMISSIONS || m->kind == MANIFEST_RULES) &&
		     !m->n_notes && !m->extra && !m->n_requires_bins && !m->n_requires_env &&
		     !m->body;

	for (size_t i = 0; plain && i < sizeof(texts) / sizeof(*texts); i++)
		plain = !texts[i];
	return plain;
}

void policy_cache_keep(const struct policy_cache_input *in, const struct manifest *m)
{
	auto_fd folder = -1;
	auto_buffer entry = { 0 }, head = { 0 };
	char name[NAME_BYTES];
	uint64_t mark = 0, kind = (uint64_t)m->kind;
	size_t answer;
	struct hash_key key;

	if (!policy_cache_is_plain(m))
		return;
	folder = state_cache_open(folder_name, true);
	if (folder < 0 || !state_cache_key(folder, true, &key, sizeof(key)))
		return;
	if (!policy_cache_head(in, &head))
		return;
	buffer_add(&entry, &mark, sizeof(mark));
	buffer_add(&entry, head.data, head.len);
	buffer_add(&entry, in->text, in->len);
	answer = entry.len;
	buffer_add(&entry, &kind, sizeof(kind));
	if (image_write(m->permissions, &entry) < 0 || entry.failed || entry.len > ENTRY_MAX)
		return;
	mark = policy_cache_mark(&key, &head, in, entry.data + answer, entry.len - answer);
	memcpy(entry.data, &mark, sizeof(mark));
	policy_cache_name(&key, in, name);
	state_cache_trim(folder, entry.len, ENTRIES_MAX, TOTAL_MAX);
	(void)state_cache_put(folder, name, entry.data, entry.len);
}
