/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An entry is one file, named after the policy's name and length:
 *
 *     mark       SipHash of all that follows, by the key of the folder
 *     maker      the program: device, inode, size and times of its file
 *     question   kind that was asked for, name, text
 *     answer     kind that was found, image (policy/format/image.h)
 *
 * Everything is compared as it is: the text byte by byte, so that two policies with one hash are no
 * matter. Entries are written beside their name and renamed, by as many runs at once as like to;
 * the last one stays, and each is whole. What is not synced and lost in a crash has no mark.
 *
 * Who could write here? Not a command: the folder is hidden from all of them. Other users: folder
 * and files must be ours, and writable by no other user. A program of the same user that may write
 * files here, but not read them, has no mark. One that may do both is the user.
 */
#include "host/policy-cache.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/hash.h"
#include "base/path.h"
#include "policy/format/image.h"

enum { ENTRY_MAX = 24 << 20, ENTRIES_MAX = 32, TOTAL_MAX = 64 << 20, NAME_BYTES = 32 };

static const char key_name[] = "key";

/* The folder */

/* Only we may have made it or changed it. */
static bool policy_cache_is_ours(const struct stat *st)
{
	return st->st_uid == geteuid() && !(st->st_mode & 022);
}

/* Opens a folder in another, made if it is missing and we are to; -1: there is none of ours. */
static int policy_cache_enter(int in, const char *name, bool make)
{
	auto_fd fd = -1;
	struct stat st;

	if (make && mkdirat(in, name, 0700) < 0 && errno != EEXIST)
		return -1;
	fd = openat(in, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st) < 0 || !policy_cache_is_ours(&st))
		return -1;
	return fd_take(&fd);
}

/*
 * -1: there is none, or none to be trusted. By the environment alone: what --set makes HOME may be
 * a folder that commands write.
 */
static int policy_cache_open(bool make)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");
	bool has_state = state && state[0] == '/';
	auto_fd base = -1, own = -1;
	char path[PATH_BYTES];
	struct stat st;

	if ((!has_state && (!home || home[0] != '/')) ||
		snprintf(path, sizeof(path), "%s%s", has_state ? state : home,
			has_state ? "" : "/.local/state") >= (int)sizeof(path))
		return -1;
	base = open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	/* Root in another user's home leaves nothing there. */
	if (base < 0 || fstat(base, &st) < 0 || st.st_uid != geteuid())
		return -1;
	own = policy_cache_enter(base, "corral", make);
	return own < 0 ? -1 : policy_cache_enter(own, "policy-cache", make);
}

/* Opens a file of ours, as it is. */
static int policy_cache_open_file(int folder, const char *name, size_t *ret_size)
{
	auto_fd fd =
		openat(folder, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || !policy_cache_is_ours(&st) ||
		st.st_nlink != 1 || st.st_size > ENTRY_MAX)
		return -1;
	*ret_size = (size_t)st.st_size;
	return fd_take(&fd);
}

static bool policy_cache_read(int fd, char *out, size_t len)
{
	while (len > 0) {
		ssize_t n = read(fd, out, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			return false;
		out += n;
		len -= (size_t)n;
	}
	return true;
}

/* The key of the folder. Whoever is between making and filling it has no cache this time. */
static bool policy_cache_key(int folder, bool make, struct hash_key *ret)
{
	auto_fd fd = -1;
	size_t size = 0;

	if (make) {
		fd = openat(folder, key_name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC,
			0600);
		if (fd >= 0)
			return getrandom(ret, sizeof(*ret), 0) == (ssize_t)sizeof(*ret) &&
			       file_write_all(fd, ret, sizeof(*ret)) == 0;
	}
	fd = policy_cache_open_file(folder, key_name, &size);
	return fd >= 0 && size == sizeof(*ret) && policy_cache_read(fd, (char *)ret, sizeof(*ret));
}

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

/* Finding */

/* The entry is for this question, and whole: all behind it is the answer. */
static bool policy_cache_take(const struct policy_cache_input *in, const struct hash_key *key,
	const char *entry, size_t len, struct manifest *ret)
{
	auto_buffer head = { 0 };
	uint64_t mark, kind;
	size_t at;

	if (!policy_cache_head(in, &head))
		return false;
	at = sizeof(mark) + head.len;
	if (len < at || len - at < in->len || len - at - in->len < sizeof(kind) ||
		memcmp(entry + sizeof(mark), head.data, head.len) != 0 ||
		memcmp(entry + at, in->text, in->len) != 0)
		return false;
	at += in->len;
	memcpy(&mark, entry, sizeof(mark));
	memcpy(&kind, entry + at, sizeof(kind));
	at += sizeof(kind);
	if (mark != hash_keyed(key, 0, entry + sizeof(mark), len - sizeof(mark)) ||
		kind <= MANIFEST_UNKNOWN || kind > MANIFEST_ENCLAVE)
		return false;
	ret->kind = (enum manifest_kind)kind;
	return image_read(ret->permissions, entry + at, len - at) == 0;
}

bool policy_cache_find(const struct policy_cache_input *in, struct manifest *ret)
{
	auto_fd folder = policy_cache_open(false), fd = -1;
	auto_manifest m = { 0 };
	char name[NAME_BYTES], *entry;
	struct hash_key key;
	size_t size = 0;

	if (folder < 0 || !policy_cache_key(folder, false, &key))
		return false;
	policy_cache_name(&key, in, name);
	fd = policy_cache_open_file(folder, name, &size);
	m.permissions = fd < 0 ? NULL : permissions_new();
	/* What is read points into the entry, and lives as long. */
	entry = m.permissions ? arena_alloc(m.permissions->arena, size + 1) : NULL;
	if (!entry || !policy_cache_read(fd, entry, size) ||
		!policy_cache_take(in, &key, entry, size, &m))
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

/* Removes the oldest until there is room for one more of that size. */
static void policy_cache_trim(int folder, size_t size)
{
	for (unsigned round = 0; round < 4 * ENTRIES_MAX; round++) {
		int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
		DIR *dir = copy < 0 ? NULL : fdopendir(copy);
		char oldest[256] = "";
		struct timespec since = { 0 };
		uint64_t total = size;
		const struct dirent *d;
		struct stat st;
		unsigned n = 1;

		while (dir && (d = readdir(dir))) {
			if (d->d_name[0] == '.' || strcmp(d->d_name, key_name) == 0 ||
				fstatat(folder, d->d_name, &st, AT_SYMLINK_NOFOLLOW) < 0)
				continue;
			n++;
			total += (uint64_t)st.st_size;
			if (oldest[0] && (st.st_mtim.tv_sec > since.tv_sec ||
						 (st.st_mtim.tv_sec == since.tv_sec &&
							 st.st_mtim.tv_nsec >= since.tv_nsec)))
				continue;
			since = st.st_mtim;
			(void)snprintf(oldest, sizeof(oldest), "%s", d->d_name);
		}
		if (dir)
			(void)closedir(dir);
		else if (copy >= 0)
			(void)close(copy);
		if ((n <= ENTRIES_MAX && total <= TOTAL_MAX) || !oldest[0] ||
			unlinkat(folder, oldest, 0) < 0)
			return;
	}
}

static void policy_cache_put(int folder, const char *name, const struct buffer *entry)
{
	char temporary[2 * NAME_BYTES];
	auto_fd fd = -1;

	(void)snprintf(temporary, sizeof(temporary), "%s.%ld", name, (long)getpid());
	(void)unlinkat(folder, temporary, 0);
	fd = openat(folder, temporary, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (fd < 0)
		return;
	if (file_write_all(fd, entry->data, entry->len) < 0 ||
		renameat(folder, temporary, folder, name) < 0)
		(void)unlinkat(folder, temporary, 0);
}

void policy_cache_keep(const struct policy_cache_input *in, const struct manifest *m)
{
	auto_fd folder = -1;
	auto_buffer entry = { 0 };
	char name[NAME_BYTES];
	uint64_t mark = 0, kind = (uint64_t)m->kind;
	struct hash_key key;

	if (!policy_cache_is_plain(m))
		return;
	folder = policy_cache_open(true);
	if (folder < 0 || !policy_cache_key(folder, true, &key))
		return;
	buffer_add(&entry, &mark, sizeof(mark));
	if (!policy_cache_head(in, &entry))
		return;
	buffer_add(&entry, in->text, in->len);
	buffer_add(&entry, &kind, sizeof(kind));
	if (image_write(m->permissions, &entry) < 0 || entry.failed || entry.len > ENTRY_MAX)
		return;
	mark = hash_keyed(&key, 0, entry.data + sizeof(mark), entry.len - sizeof(mark));
	memcpy(entry.data, &mark, sizeof(mark));
	policy_cache_name(&key, in, name);
	policy_cache_trim(folder, entry.len);
	policy_cache_put(folder, name, &entry);
}
