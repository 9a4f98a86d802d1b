/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submodules as the index has them: entries of mode 160000. `git status` looks into each that has a
 * `.git`, with another git that goes by the settings there. Whoever may write the index may make a
 * submodule of any folder.
 *
 * The index is read as documented (gitformat-index), versions 2 to 4, with names of 20 or 32 bytes,
 * split or not. What is none of these is told as a whole.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/profile/changed.h"
#include "cli/profile/git.h"

enum { INDEX_MAX = 64 << 20, HEADER = 12, STAT = 40, MODE_AT = 24, EXTENDED = 0x4000 };
enum { GITLINK = 0160000, TYPE = 0170000 };

struct index {
	const char *folder;
	char repository[PATH_BYTES];
	struct timespec since;
	bool is_new; /* it was written since */
	profile_git_found *found;
	void *data;
	const unsigned char *bytes;
	size_t len, hash;
	char shared[2 * 32 + 1]; /* the name of the file that it is split from */
};

static uint32_t profile_git_index_number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_since(const struct index *x, const struct stat *st)
{
	return profile_changed_stat(&st->st_ctim, &x->since);
}

static bool is_part_new(const struct index *x, const char *repository)
{
	static const char *const names[] = { "", "config", "config.worktree", "commondir",
		"hooks" };
	char path[PATH_BYTES];
	struct stat st;

	for (size_t i = 0; i < ROWS(names); i++) {
		if (profile_git_resolve(repository, names[i], path) == 0 && lstat(path, &st) == 0 &&
			is_since(x, &st))
			return true;
	}
	return false;
}

/* Those in .git/modules are kept from being written, or were told already. */
static bool profile_git_index_is_suspect(const struct index *x, const char *module)
{
	char path[PATH_BYTES], repository[PATH_BYTES], modules[PATH_BYTES];
	struct stat st;

	if (profile_git_resolve(module, ".git", path) < 0 || lstat(path, &st) < 0)
		return false;
	if (is_since(x, &st) || profile_git_folder(module, repository) != 1 ||
		profile_git_resolve(x->repository, "modules", modules) < 0)
		return true;
	if (path_is_below(repository, modules))
		return false;
	return x->is_new || is_part_new(x, repository);
}

static int profile_git_index_judge(const struct index *x, const char *name)
{
	char module[PATH_BYTES], path[PATH_BYTES];
	size_t len = strlen(x->folder);

	if (profile_git_resolve(x->folder, name, module) < 0 || !path_is_below(module, x->folder) ||
		strcmp(module, x->folder) == 0 || !profile_git_index_is_suspect(x, module) ||
		profile_git_resolve(module, ".git", path) < 0)
		return 0;
	return x->found(x->data, path + len + (len > 1),
		"git enters it as a submodule and runs the commands in it");
}

/* How many bytes of the last name are not in this one; moves at. */
static int take_strip(const struct index *x, size_t *at, size_t *ret)
{
	size_t value = 0;
	unsigned char c;

	for (bool first = true;; first = false) {
		if (*at >= x->len || value > PATH_BYTES)
			return -EBADMSG;
		c = x->bytes[(*at)++];
		value = first ? c & 127U : ((value + 1) << 7) | (c & 127U);
		if (!(c & 128))
			break;
	}
	*ret = value;
	return 0;
}

/* The entry at *at; its name goes to name, which has that of the last one. */
static int take_entry(const struct index *x, uint32_t version, size_t *at, char name[PATH_BYTES],
	uint32_t *ret_mode)
{
	size_t start = *at, pos = start + STAT + x->hash + 2, kept = 0, strip = 0, n;

	if (pos >= x->len)
		return -EBADMSG;
	*ret_mode = profile_git_index_number(x->bytes + start + MODE_AT);
	if (version > 2 && x->bytes[pos - 2] & EXTENDED >> 8)
		pos += 2;
	if (version == 4) {
		if (take_strip(x, &pos, &strip) < 0 || strip > strlen(name))
			return -EBADMSG;
		kept = strlen(name) - strip;
	}
	n = pos < x->len ? strnlen((const char *)x->bytes + pos, x->len - pos) : x->len;
	if (pos + n >= x->len || kept + n >= PATH_BYTES)
		return -EBADMSG;
	memcpy(name + kept, x->bytes + pos, n + 1);
	pos += n + 1;
	if (version < 4)
		pos = start + ((pos - start - 1) / 8 + 1) * 8;
	*at = pos;
	return 0;
}

/* The extension that names the other half. */
static void profile_git_index_find_shared(struct index *x, size_t at)
{
	while (at + 8 + x->hash <= x->len) {
		size_t size = profile_git_index_number(x->bytes + at + 4);

		if (memcmp(x->bytes + at, "link", 4) == 0 && size >= x->hash) {
			for (size_t i = 0; i < x->hash; i++)
				(void)snprintf(x->shared + 2 * i, 3, "%02x", x->bytes[at + 8 + i]);
			return;
		}
		if (size > x->len - at - 8)
			return;
		at += 8 + size;
	}
}

/* is_trial: whether it can be read with names of this length. */
static int read_entries(struct index *x, bool is_trial)
{
	char name[PATH_BYTES] = "";
	size_t at = HEADER;
	uint32_t version, n, mode = 0;
	int r = 0;

	if (x->len < HEADER || memcmp(x->bytes, "DIRC", 4) != 0)
		return -EBADMSG;
	version = profile_git_index_number(x->bytes + 4);
	n = profile_git_index_number(x->bytes + 8);
	if (version < 2 || version > 4)
		return -EBADMSG;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = take_entry(x, version, &at, name, &mode);
		if (r == 0 && mode != 0 && !(mode & TYPE))
			r = -EBADMSG;
		if (r == 0 && !is_trial && (mode & TYPE) == GITLINK)
			r = profile_git_index_judge(x, name);
	}
	if (r == 0 && at + x->hash > x->len)
		r = -EBADMSG;
	if (r == 0)
		profile_git_index_find_shared(x, at);
	return r;
}

/* Which of the two the repository has stands elsewhere. What reads well either way is read twice.
 */
static int read_both(struct index *x)
{
	static const size_t lengths[] = { 20, 32 };
	int ret = -EBADMSG;

	x->shared[0] = '\0';
	for (size_t i = 0; i < ROWS(lengths); i++) {
		x->hash = lengths[i];
		if (read_entries(x, true) < 0)
			continue;
		ret = read_entries(x, false);
		if (ret < 0)
			break;
	}
	return ret;
}

static int read_index(struct index *x, const char *name)
{
	auto_buffer text = { 0 };
	char path[PATH_BYTES];
	struct stat st;
	auto_fd fd = -1;
	int r;

	if (profile_git_resolve(x->repository, name, path) < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? 0 : -EBADMSG;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADMSG;
	x->is_new = x->is_new || is_since(x, &st);
	r = file_read_fd(fd, INDEX_MAX, &text);
	if (r < 0 || text.failed)
		return -EBADMSG;
	x->bytes = (const unsigned char *)buffer_text(&text);
	x->len = text.len;
	return x->len > 0 ? read_both(x) : 0;
}

int profile_git_links(
	const char *folder, const struct timespec *since, profile_git_found *found, void *data)
{
	struct index x = { .folder = folder, .since = *since, .found = found, .data = data };
	char name[sizeof("sharedindex.") + sizeof(x.shared)];
	int r = profile_git_folder(folder, x.repository);

	if (r <= 0)
		return r;
	r = read_index(&x, "index");
	if (r == 0 && x.shared[0] && strspn(x.shared, "0") < strlen(x.shared)) {
		(void)snprintf(name, sizeof(name), "sharedindex.%s", x.shared);
		r = read_index(&x, name);
	}
	/* Git may understand it, or it may not. */
	if (r == -EBADMSG)
		r = !x.is_new ? 0
			      : found(data, ".git/index",
					"it cannot be read; git enters submodules that it names");
	return r;
}
