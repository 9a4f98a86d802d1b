/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Submodules as the index has them: entries of mode 160000. `git status` looks into each that has a
 * `.git`, with another git that goes by the settings there. Whoever may write the index may make a
 * submodule of any folder. An entry of mode 040000 stands for a whole folder (a sparse index): git
 * takes what is in it from a tree, and looks at it where the folder is there.
 *
 * The index is read as documented (gitformat-index), versions 2 to 4, with names of 20 or 32 bytes
 * as the repository has them, split or not. What is none of these is reported as a whole, and so is
 * what git would read in another way than we do: names that are longer or shorter than their entry
 * says, a second file that it is split from, offsets for threads that lead elsewhere.
 *
 * It is read only if it was written since the command began, and once, after the command: what is
 * read while it runs may be written again through a mapping, and no time of the file tells. It is
 * read in pieces into memory of our own and never mapped: whoever made a mapped file shorter would
 * end us by SIGBUS. So its size costs time and no memory.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"
#include "codec/encoding.h"

/* How deep submodules are followed, and how many. */
enum { DEPTH_MAX = 10, MODULES_MAX = 256 };
/* INDEX_MAX: bytes of one index, about ten million files; a second of work. */
enum { INDEX_MAX = 1 << 30, HEADER = 12, STAT = 40, MODE_AT = 24, EXTENDED = 0x4000 };
enum { GITLINK = 0160000, FOLDER = 0040000, TYPE = 0170000, NAME_MASK = 0xfff };
enum { HASH_SHA1 = 20, HASH_SHA256 = 32, SHARED_BYTES = 2 * HASH_SHA256 + 1 };
/* What is read at once; and room for one entry, or one record of an extension. */
enum { WINDOW_BYTES = 256 << 10, PIECE_BYTES = 2 * PATH_BYTES };
/* Of an entry's length: its name does not start with a part of the one before. */
enum { WHOLE = 0x8000 };

/* A file of which a part is in memory. */
struct index_bytes {
	int fd;
	uint64_t size; /* when it was opened: what is missing later is an error */
	uint64_t start;
	size_t len;
	unsigned char *window;
};

struct index {
	struct profile_git_leads to;
	char repository[PATH_BYTES];
	struct timespec since;
	bool is_new;    /* it was written since */
	unsigned depth; /* of a submodule in a submodule … */
	unsigned *left; /* how many more may be read */
	struct index_bytes bytes;
	size_t hash;
	uint16_t *lengths; /* of the entries, for the offsets that threads begin at */
	size_t n, cap;
	char shared[SHARED_BYTES]; /* the name of the file that it is split from */
	/* A submodule takes the place of an entry of that file, which alone has its name. */
	bool has_nameless;
};

/* What starts at an offset: a piece at least, or all that is left. NULL: it is not there now. */
static const unsigned char *index_bytes_at(struct index_bytes *b, uint64_t at, size_t *ret_len)
{
	uint64_t left = at < b->size ? b->size - at : 0;
	size_t want = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
	size_t piece = want < PIECE_BYTES ? want : PIECE_BYTES;

	if (at < b->start || at - b->start > b->len || b->len - (at - b->start) < piece) {
		b->start = at;
		for (b->len = 0; b->len < want;) {
			ssize_t n = pread(
				b->fd, b->window + b->len, want - b->len, (off_t)(at + b->len));

			if (n < 0 && errno == EINTR)
				continue;
			if (n <= 0)
				return NULL;
			b->len += (size_t)n;
		}
	}
	*ret_len = b->len - (size_t)(at - b->start);
	return b->window + (at - b->start);
}

static uint32_t profile_git_index_number(const unsigned char *p)
{
	return (uint32_t)p[0] << 24 | (uint32_t)p[1] << 16 | (uint32_t)p[2] << 8 | p[3];
}

static bool is_since(const struct index *x, const struct stat *st)
{
	return look_is_since(&st->st_ctim, &x->since);
}

/* A file in memory does not get a new time when it is changed by a mapping. */
static bool profile_git_index_is_new(const struct index *x, int fd, const struct stat *st)
{
	struct statfs fs;

	return is_since(x, st) || (fstatfs(fd, &fs) == 0 && fs.f_type == TMPFS_MAGIC);
}

/* Those in .git/modules are kept from being written, or were reported already. */
static bool profile_git_index_is_suspect(const struct index *x, const char *module)
{
	static const char *const names[] = { "", "config", "config.worktree", "commondir",
		"hooks" };
	char path[PATH_BYTES], repository[PATH_BYTES], modules[PATH_BYTES];
	bool is_new = x->is_new;
	struct stat st;

	if (profile_git_resolve(module, ".git", path) < 0 || lstat(path, &st) < 0)
		return false;
	if (is_since(x, &st) || profile_git_folder(module, repository) != 1 ||
		profile_git_resolve(x->repository, "modules", modules) < 0)
		return true;
	if (path_is_below(repository, modules))
		return false;
	for (size_t i = 0; !is_new && i < ROWS(names); i++)
		is_new = profile_git_resolve(repository, names[i], path) == 0 &&
			 lstat(path, &st) == 0 && is_since(x, &st);
	return is_new;
}

/* A folder of a sparse index is not there, as long as nobody means harm. */
static int profile_git_index_judge_folder(const struct index *x, const char *name)
{
	const char *worktree = x->to.worktree;
	char folder[PATH_BYTES];
	struct stat st;

	if (profile_git_resolve(worktree, name, folder) < 0 || !path_is_below(folder, worktree) ||
		strcmp(folder, worktree) == 0 || lstat(folder, &st) < 0 || !S_ISDIR(st.st_mode))
		return 0;
	return profile_git_tell(
		&x->to, folder, "the index has a tree for it, and git enters submodules in that");
}

static int profile_git_index_enter(const struct profile_git_leads *to, const struct timespec *since,
	const char *worktree, unsigned depth, unsigned *left);

static int profile_git_index_judge(const struct index *x, const char *name)
{
	const char *worktree = x->to.worktree;
	char module[PATH_BYTES], path[PATH_BYTES];
	int r = 0;

	if (profile_git_resolve(worktree, name, module) < 0 || !path_is_below(module, worktree) ||
		strcmp(module, worktree) == 0 || profile_git_resolve(module, ".git", path) < 0)
		return 0;
	if (profile_git_index_is_suspect(x, module))
		r = profile_git_tell(
			&x->to, path, "git enters it as a submodule and runs the commands in it");
	return r < 0 ? r
		     : profile_git_index_enter(&x->to, &x->since, module, x->depth + 1, x->left);
}

/* How many bytes of the last name are not in this one; moves at. */
static int take_strip(const unsigned char *p, size_t len, size_t *at, size_t *ret)
{
	size_t value = 0;
	unsigned char c;

	for (bool first = true;; first = false) {
		if (*at >= len || value > PATH_BYTES)
			return -EBADMSG;
		c = p[(*at)++];
		value = first ? c & 127U : ((value + 1) << 7) | (c & 127U);
		if (!(c & 128))
			break;
	}
	*ret = value;
	return 0;
}

/* A name, and where the entry after it starts. */
struct index_name {
	uint64_t at;
	size_t len;
	char text[PATH_BYTES];
};

/* The entry at name->at, with the name of the one before in it. */
static int take_entry(
	struct index *x, uint32_t version, struct index_name *name, uint32_t *ret_mode)
{
	size_t pos = STAT + x->hash + 2, kept = 0, strip = 0, n, len = 0;
	const unsigned char *p = index_bytes_at(&x->bytes, name->at, &len);
	uint16_t length;
	unsigned flags;

	if (!p || pos >= len)
		return -EBADMSG;
	*ret_mode = profile_git_index_number(p + MODE_AT);
	flags = (unsigned)p[pos - 2] << 8 | p[pos - 1];
	if (flags & EXTENDED) {
		if (version == 2)
			return -EBADMSG;
		pos += 2;
	}
	if (version == 4) {
		if (take_strip(p, len, &pos, &strip) < 0 || strip > name->len)
			return -EBADMSG;
		kept = name->len - strip;
	}
	n = pos < len ? strnlen((const char *)p + pos, len - pos) : len;
	if (pos + n >= len || kept + n >= PATH_BYTES)
		return -EBADMSG;
	if ((flags & NAME_MASK) != NAME_MASK && (flags & NAME_MASK) != kept + n)
		return -EBADMSG;
	memcpy(name->text + kept, p + pos, n + 1);
	name->len = kept + n;
	pos += n + 1;
	if (version < 4)
		pos = ((pos - 1) / 8 + 1) * 8;
	name->at += pos;
	length = (uint16_t)(pos | (kept == 0 ? WHOLE : 0));
	return ARRAY_PUSH(x->lengths, x->n, x->cap, length);
}

/*
 * Where threads begin to read: pairs of an offset and a number of entries, which must be those that
 * we read. The first name of a block is whole.
 */
static int profile_git_index_check_blocks(struct index *x, uint64_t data, size_t size)
{
	uint64_t at = HEADER;
	size_t entry = 0;

	if (size < 4)
		return -EBADMSG;
	for (uint64_t block = data + 4; block + 8 <= data + size; block += 8) {
		size_t len = 0;
		const unsigned char *p = index_bytes_at(&x->bytes, block, &len);
		uint32_t of_block;

		if (!p || len < 8)
			return -EBADMSG;
		of_block = profile_git_index_number(p + 4);
		if (profile_git_index_number(p) != at || of_block > x->n - entry ||
			(of_block > 0 && !(x->lengths[entry] & WHOLE)))
			return -EBADMSG;
		for (uint32_t i = 0; i < of_block; i++)
			at += x->lengths[entry++] & ~(unsigned)WHOLE;
	}
	return entry < x->n ? -EBADMSG : 0;
}

/* At the end may stand where the extensions begin, which git believes if it has threads. */
static bool profile_git_index_has_end(struct index *x, uint64_t at)
{
	size_t size = 4 + x->hash, end = 8 + size + x->hash, len = 0;
	const unsigned char *p;

	if (x->bytes.size < at + end)
		return true;
	p = index_bytes_at(&x->bytes, x->bytes.size - end, &len);
	return p && (memcmp(p, "EOIE", 4) != 0 || profile_git_index_number(p + 4) != size ||
			    profile_git_index_number(p + 8) == at);
}

/* The extensions: one names the other half. Of several git takes the last, but makes only one. */
static int read_extensions(struct index *x, uint64_t at)
{
	int r = profile_git_index_has_end(x, at) ? 0 : -EBADMSG;

	x->shared[0] = '\0';
	while (r == 0 && at + 8 + x->hash <= x->bytes.size) {
		size_t len = 0, size;
		const unsigned char *p = index_bytes_at(&x->bytes, at, &len);

		if (!p)
			return -EBADMSG;
		size = profile_git_index_number(p + 4);
		if (size > x->bytes.size - at - 8)
			return -EBADMSG;
		if (memcmp(p, "link", 4) == 0) {
			if (x->shared[0] || size < x->hash)
				return -EBADMSG;
			encoding_hex(p + 8, x->hash, x->shared);
		} else if (memcmp(p, "IEOT", 4) == 0) {
			r = profile_git_index_check_blocks(x, at + 8, size);
		}
		at += 8 + size;
	}
	return r;
}

static int profile_git_index_judge_entry(struct index *x, const char *name, uint32_t mode)
{
	bool is_link = (mode & TYPE) == GITLINK;

	if (mode != 0 && !(mode & TYPE))
		return -EBADMSG;
	x->has_nameless = x->has_nameless || (is_link && !name[0]);
	if (!name[0])
		return 0;
	if (is_link || x->has_nameless)
		return profile_git_index_judge(x, name);
	return (mode & TYPE) == FOLDER ? profile_git_index_judge_folder(x, name) : 0;
}

static int read_entries(struct index *x)
{
	struct index_name name = { .at = HEADER };
	uint32_t version, n, mode = 0;
	size_t len = 0;
	const unsigned char *p = index_bytes_at(&x->bytes, 0, &len);
	int r = 0;

	if (!p || len < HEADER || memcmp(p, "DIRC", 4) != 0)
		return -EBADMSG;
	version = profile_git_index_number(p + 4);
	n = profile_git_index_number(p + 8);
	if (version < 2 || version > 4 || n > x->bytes.size / (STAT + x->hash))
		return -EBADMSG;
	x->n = 0;
	for (uint32_t i = 0; r == 0 && i < n; i++) {
		r = take_entry(x, version, &name, &mode);
		if (r == 0)
			r = profile_git_index_judge_entry(x, name.text, mode);
	}
	if (r == 0 && name.at + x->hash > x->bytes.size)
		r = -EBADMSG;
	return r == 0 ? read_extensions(x, name.at) : r;
}

static int note_format(void *data, const char *value, const char *who, unsigned uses)
{
	size_t *hash = data;

	(void)who;
	(void)uses;
	*hash = strcasecmp(value, "sha256") == 0 ? HASH_SHA256 : HASH_SHA1;
	return 0;
}

/* How long names of objects are in it. */
static int profile_git_index_find_hash(struct index *x)
{
	struct profile_git_user none = { 0 };
	struct profile_git_leads l = {
		.kind = PROFILE_GIT_FORMAT, .user = &none, .found = note_format, .data = &x->hash
	};
	char path[PATH_BYTES], common[PATH_BYTES];
	int r = 0;

	x->hash = HASH_SHA1;
	memcpy(common, x->repository, strlen(x->repository) + 1);
	if (profile_git_resolve(x->repository, "commondir", path) == 0)
		r = profile_git_read_path(path, "", x->repository, common);
	if (r >= 0 && profile_git_resolve(common, "config", path) == 0)
		r = profile_git_read_file(&l, path, 0);
	if (r >= 0 && none.why)
		return -EBADMSG;
	return r < 0 && r != -ENOMEM ? -EBADMSG : r;
}

/* Was a file written that an index may be split from? Of it, git compares the last bytes only. */
static bool profile_git_index_has_new_shared(const struct index *x)
{
	DIR *dir = opendir(x->repository);
	bool is_new = false;
	const struct dirent *d;
	struct stat st;

	while (dir && !is_new && (d = readdir(dir)))
		is_new = strncmp(d->d_name, "sharedindex.", strlen("sharedindex.")) == 0 &&
			 fstatat(dirfd(dir), d->d_name, &st, 0) == 0 &&
			 profile_git_index_is_new(x, dirfd(dir), &st);
	if (dir)
		(void)closedir(dir);
	return is_new;
}

/* -ENOENT: there is none. */
static int read_index(struct index *x, const char *name)
{
	char path[PATH_BYTES];
	struct stat st;
	auto_fd fd = -1;
	int r;

	if (profile_git_resolve(x->repository, name, path) < 0)
		return -ENAMETOOLONG;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	if (fd < 0)
		return errno == ENOENT ? -ENOENT : -EBADMSG;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return -EBADMSG;
	x->is_new = x->is_new || profile_git_index_is_new(x, fd, &st) ||
		    profile_git_index_has_new_shared(x);
	/* It names what it named before; whoever changes a submodule of those is seen by the look.
	 */
	if (!x->is_new || st.st_size == 0)
		return 0;
	r = x->hash ? 0 : profile_git_index_find_hash(x);
	if (r < 0 || st.st_size > INDEX_MAX)
		return r < 0 ? r : -EBADMSG;
	x->bytes = (struct index_bytes){
		.fd = fd, .size = (uint64_t)st.st_size, .window = malloc(WINDOW_BYTES)
	};
	r = x->bytes.window ? read_entries(x) : -EBADMSG;
	free(x->bytes.window);
	x->bytes.window = NULL;
	return r;
}

static int profile_git_index_enter(const struct profile_git_leads *to, const struct timespec *since,
	const char *worktree, unsigned depth, unsigned *left)
{
	struct index x = { .to = *to, .since = *since, .depth = depth, .left = left };
	char name[sizeof("sharedindex.") + sizeof(x.shared)], path[PATH_BYTES];
	int r = profile_git_folder(worktree, x.repository);

	if (r <= 0)
		return r;
	x.to.worktree = worktree;
	if (depth == DEPTH_MAX || *left == 0)
		return -E2BIG;
	--*left;
	r = read_index(&x, "index");
	if (r == 0 && x.shared[0] && strspn(x.shared, "0") < strlen(x.shared)) {
		(void)snprintf(name, sizeof(name), "sharedindex.%s", x.shared);
		r = read_index(&x, name);
		r = r == -ENOENT ? -EBADMSG : r;
	}
	free(x.lengths);
	/* Git may understand it, or it may not. */
	if (r == -EBADMSG)
		r = !x.is_new || profile_git_resolve(worktree, ".git/index", path) < 0
			    ? 0
			    : profile_git_tell(&x.to, path,
				      "it cannot be read; git enters submodules that it names");
	return r == -ENOENT ? 0 : r;
}

int profile_git_links(const char *folder, const char *worktree, const struct timespec *since,
	profile_git_found *found, void *data)
{
	struct profile_git_leads to = {
		.folder = folder, .worktree = worktree, .found = found, .data = data
	};
	unsigned left = MODULES_MAX;

	return profile_git_index_enter(&to, since, worktree, 0, &left);
}
