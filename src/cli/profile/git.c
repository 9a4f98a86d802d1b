/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where a working folder's git goes by its own settings. `.git/config` and `.git/hooks` are not all
 * that makes git run something: `.git` may be a file that names another folder, `commondir` in it
 * names a third, core.hooksPath and include.path name more, and a submodule in the index is entered
 * by `git status` with the settings that lie there, and from there those that its own index names.
 *
 * Nothing here is trusted: the files may be a command's. They are read as git reads them, bounded,
 * and never followed for anything but to learn their names.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "cli/profile/internal.h"
#include "cli/profile/look.h"
#include "threat/threat.h"

/* Files of settings that one folder's git reads, and how deep they include each other. */
enum { SETTINGS_MAX = 1 << 20, FILES_MAX = 64, DEPTH_MAX = 10, WORD_MAX = 64, MODULES_MAX = 256 };
/* Of all repositories in a folder. */
enum { ALL_SETTINGS_MAX = 8 << 20, ALL_FILES_MAX = 1024 };

static const char profile_git_runs_hooks[] = "git runs what is in it";

/* Whose settings are read, and so what is looked for in them. */
enum leads_kind { LEADS_REPOSITORY, LEADS_USER, LEADS_MODULES, LEADS_FORMAT };

struct leads {
	const char *folder;   /* what is found lies below it */
	const char *worktree; /* relative paths are meant from here */
	profile_git_found *found;
	void *data;
	enum leads_kind kind;
	struct profile_git_user *user;
	unsigned files;
};

/* text, a path as git has them, from base. */
static int profile_git_resolve(const char *base, const char *text, char out[PATH_BYTES])
{
	const char *home = getenv("HOME");
	char joined[2 * PATH_BYTES];
	size_t len;
	int n;

	if (text[0] == '/')
		n = snprintf(joined, sizeof(joined), "%s", text);
	else if (text[0] == '~' && text[1] == '/' && home)
		n = snprintf(joined, sizeof(joined), "%s%s", home, text + 1);
	else
		n = snprintf(joined, sizeof(joined), "%s/%s", base, text);
	if (n >= (int)sizeof(joined))
		return -ENAMETOOLONG;
	return path_normalize(joined, (size_t)n, out, &len);
}

/* 1: read; 0: nothing that git could read. A pipe would keep us waiting. */
static int read_settings(const char *path, struct buffer *out)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
	struct stat st;
	int r;

	if (fd < 0)
		return errno == EMFILE || errno == ENFILE || errno == ENOMEM ? -errno : 0;
	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	r = file_read_fd(fd, SETTINGS_MAX, out);
	return r < 0 ? r : 1;
}

/* A file with one path in it, behind a prefix. 1: out is that path. */
static int profile_git_read_path(
	const char *file, const char *prefix, const char *base, char out[PATH_BYTES])
{
	auto_buffer text = { 0 };
	int r = read_settings(file, &text);

	if (r <= 0)
		return r;
	if (text.failed)
		return -ENOMEM;
	while (text.len > 0 && strchr("\n\r", text.data[text.len - 1]))
		text.data[--text.len] = '\0';
	if (strncmp(buffer_text(&text), prefix, strlen(prefix)) != 0)
		return 0;
	return profile_git_resolve(base, buffer_text(&text) + strlen(prefix), out) < 0 ? 0 : 1;
}

/* The folder that .git is or names: 1; 0: there is none. */
static int profile_git_folder(const char *folder, char out[PATH_BYTES])
{
	char path[PATH_BYTES];
	struct stat st;

	if (profile_git_resolve(folder, ".git", path) < 0 || stat(path, &st) < 0)
		return 0;
	if (!S_ISDIR(st.st_mode))
		return profile_git_read_path(path, "gitdir: ", folder, out);
	memcpy(out, path, strlen(path) + 1);
	return 1;
}

static int profile_git_tell(const struct leads *l, const char *path, const char *who)
{
	size_t len = strlen(l->folder);

	if (!path_is_below(path, l->folder) || strlen(path) <= len + 1)
		return 0;
	return l->found(l->data, path + len + (len > 1), who);
}

/* The parts of a repository that is somewhere else than in .git: the table has those of .git. */
static int tell_parts(const struct leads *l, const char *repository)
{
	char path[PATH_BYTES];
	int r = 0;

	for (size_t i = 0; r == 0 && i < threat_paths_n; i++) {
		if (strncmp(threat_paths[i].name, ".git/", 5) == 0 &&
			profile_git_resolve(repository, threat_paths[i].name + 5, path) == 0)
			r = profile_git_tell(l, path, threat_paths[i].what);
	}
	return r;
}

/* Settings */

struct text {
	const char *at, *end;
};

static void skip_line(struct text *t)
{
	while (t->at < t->end && *t->at != '\n')
		t->at++;
}

/* A name of letters, digits, "-" and "."; longer ones are none that we look for. */
static void take_word(struct text *t, char out[WORD_MAX])
{
	size_t n = 0;

	for (; t->at < t->end && *t->at; t->at++) {
		if (!isalnum((unsigned char)*t->at) && !strchr("-.", *t->at))
			break;
		if (n < WORD_MAX - 1)
			out[n++] = *t->at;
	}
	out[n] = '\0';
}

/* From "[" up to and with "]"; what stands in quotes is no matter of ours. */
static void take_section(struct text *t, char out[WORD_MAX])
{
	bool quoted = false;

	t->at++;
	take_word(t, out);
	for (; t->at < t->end && *t->at != '\n' && (quoted || *t->at != ']'); t->at++) {
		if (quoted && *t->at == '\\' && t->at + 1 < t->end)
			t->at++;
		else if (*t->at == '"')
			quoted = !quoted;
	}
	if (t->at < t->end && *t->at == ']')
		t->at++;
}

/* Behind "=", as git reads it: quotes, escapes, comments, lines that go on. */
static void take_value(struct text *t, struct buffer *out)
{
	bool quoted = false;
	size_t keep = 0;

	for (; t->at < t->end && *t->at != '\n'; t->at++) {
		char c = *t->at;

		if (!quoted && (c == '#' || c == ';')) {
			skip_line(t);
			break;
		}
		if (c == '"') {
			quoted = !quoted;
			keep = out->len;
			continue;
		}
		if (c == '\\' && t->at + 1 < t->end) {
			c = *++t->at;
			if (c == '\n')
				continue;
			c = c == 'n' ? '\n' : c == 't' ? '\t' : c == 'b' ? '\b' : c;
		} else if (!quoted && isspace((unsigned char)c)) {
			if (out->len > 0)
				buffer_addc(out, c);
			continue;
		}
		buffer_addc(out, c);
		keep = out->len;
	}
	if (out->data && keep < out->len)
		out->data[out->len = keep] = '\0';
}

static int profile_git_read_file(struct leads *l, const char *path, unsigned depth);

/* An include stands for its file from the file's own folder. */
static int profile_git_judge(struct leads *l, const char *section, const char *key,
	const char *value, const char *file, unsigned depth)
{
	bool is_include = !strcasecmp(section, "include") || !strcasecmp(section, "includeif");
	bool is_hooks = !strcasecmp(section, "core") && !strcasecmp(key, "hookspath");
	char base[PATH_BYTES], path[PATH_BYTES];
	int r;

	if (l->kind == LEADS_MODULES)
		return strcasecmp(section, "submodule") != 0 || strcasecmp(key, "path") != 0 ||
				       profile_git_resolve(l->worktree, value, path) < 0
			       ? 0
			       : profile_git_tell(l, path, "a submodule");
	/* Git does not look for it in files that are included. */
	if (l->kind == LEADS_FORMAT)
		return strcasecmp(section, "extensions") != 0 ||
				       strcasecmp(key, "objectformat") != 0
			       ? 0
			       : l->found(l->data, value, "");
	if (is_hooks && l->kind == LEADS_USER && value[0] != '/' && value[0] != '~') {
		(void)snprintf(l->user->hooks, sizeof(l->user->hooks), "%s", value);
		return 0;
	}
	if (is_hooks)
		return profile_git_resolve(l->worktree, value, path) < 0
			       ? 0
			       : profile_git_tell(l, path, profile_git_runs_hooks);
	if (!is_include || strcasecmp(key, "path") != 0)
		return 0;
	(void)snprintf(base, sizeof(base), "%.*s", (int)(strrchr(file, '/') - file), file);
	if (profile_git_resolve(base, value, path) < 0)
		return 0;
	r = profile_git_tell(l, path, "git runs the commands in it");
	return r < 0 || depth == DEPTH_MAX ? r : profile_git_read_file(l, path, depth + 1);
}

static int profile_git_read_file(struct leads *l, const char *path, unsigned depth)
{
	char section[WORD_MAX] = "", key[WORD_MAX];
	auto_buffer text = { 0 };
	struct text t;
	int r;

	if (++l->files > FILES_MAX || ++l->user->files > ALL_FILES_MAX)
		return -E2BIG;
	r = read_settings(path, &text);
	if (r <= 0)
		return r;
	if (text.failed)
		return -ENOMEM;
	l->user->bytes += text.len;
	if (l->user->bytes > ALL_SETTINGS_MAX)
		return -E2BIG;
	t = (struct text){ buffer_text(&text), buffer_text(&text) + text.len };
	r = 0;
	while (r == 0 && t.at < t.end) {
		auto_buffer value = { 0 };

		if (*t.at == '[') {
			take_section(&t, section);
		} else if (*t.at == '#' || *t.at == ';') {
			skip_line(&t);
		} else if (!isalpha((unsigned char)*t.at)) {
			t.at++;
		} else {
			take_word(&t, key);
			while (t.at < t.end && (*t.at == ' ' || *t.at == '\t'))
				t.at++;
			if (t.at == t.end || *t.at != '=')
				continue;
			t.at++;
			take_value(&t, &value);
			r = value.failed ? -ENOMEM
					 : profile_git_judge(l, section, key, buffer_text(&value),
						   path, depth);
		}
	}
	return r;
}

/* The user's own settings, once: a relative core.hooksPath in them is one in every worktree. */
static int profile_git_read_user(struct leads *l)
{
	const char *home = getenv("HOME"), *config = getenv("XDG_CONFIG_HOME");
	bool has_config = config && config[0] == '/';
	const struct {
		const char *base, *name;
	} files[] = {
		{ home, ".gitconfig" },
		{ has_config ? config : home, has_config ? "git/config" : ".config/git/config" },
	};
	char path[PATH_BYTES];
	int r = 0;

	l->kind = LEADS_USER;
	for (size_t i = 0; r == 0 && !l->user->is_read && i < ROWS(files); i++) {
		const char *base = files[i].base;

		if (base && base[0] == '/' && profile_git_resolve(base, files[i].name, path) == 0)
			r = profile_git_read_file(l, path, 0);
	}
	l->user->is_read = true;
	if (r == 0 && l->user->hooks[0] &&
		profile_git_resolve(l->worktree, l->user->hooks, path) == 0)
		r = profile_git_tell(l, path, profile_git_runs_hooks);
	return r;
}

int profile_git_leads(const char *folder, const char *worktree, bool is_bare,
	struct profile_git_user *user, profile_git_found *found, void *data)
{
	struct leads l = {
		.folder = folder, .worktree = worktree, .found = found, .data = data, .user = user
	};
	char own[PATH_BYTES], usual[PATH_BYTES], common[PATH_BYTES], path[PATH_BYTES];
	int r = is_bare ? profile_git_resolve(worktree, ".", own)
			: profile_git_folder(worktree, own);

	if (r < 0 || (r == 0 && !is_bare))
		return r;
	memcpy(common, own, strlen(own) + 1);
	if (profile_git_resolve(own, "commondir", path) == 0)
		r = profile_git_read_path(path, "", own, common);
	if (r >= 0 && profile_git_resolve(worktree, ".git", usual) == 0)
		r = strcmp(own, usual) == 0 ? 0 : tell_parts(&l, own);
	if (r == 0 && strcmp(common, own) != 0)
		r = tell_parts(&l, common);
	if (r == 0 && profile_git_resolve(common, "config", path) == 0)
		r = profile_git_read_file(&l, path, 0);
	if (r == 0 && profile_git_resolve(own, "config.worktree", path) == 0)
		r = profile_git_read_file(&l, path, 0);
	return r < 0 ? r : profile_git_read_user(&l);
}

int profile_git_modules(const char *folder, const char *worktree, struct profile_git_user *user,
	profile_git_found *found, void *data)
{
	struct leads l = { .folder = folder,
		.worktree = worktree,
		.found = found,
		.data = data,
		.user = user,
		.kind = LEADS_MODULES };
	char path[PATH_BYTES];

	return profile_git_resolve(worktree, ".gitmodules", path) < 0
		       ? 0
		       : profile_git_read_file(&l, path, 0);
}

/*
 * Submodules as the index has them: entries of mode 160000. `git status` looks into each that has a
 * `.git`, with another git that goes by the settings there. Whoever may write the index may make a
 * submodule of any folder.
 *
 * The index is read as documented (gitformat-index), versions 2 to 4, with names of 20 or 32 bytes
 * as the repository has them, split or not. What is none of these is told as a whole, and so is
 * what git would read in another way than we do: names that are longer or shorter than their entry
 * says, a second file that it is split from, offsets for threads that lead elsewhere.
 */
enum { INDEX_MAX = 64 << 20, HEADER = 12, STAT = 40, MODE_AT = 24, EXTENDED = 0x4000 };
enum { GITLINK = 0160000, TYPE = 0170000, NAME_MASK = 0xfff };
enum { HASH_SHA1 = 20, HASH_SHA256 = 32, SHARED_BYTES = 2 * HASH_SHA256 + 1 };

struct index {
	struct leads to;
	char repository[PATH_BYTES];
	struct timespec since;
	bool is_new;    /* it was written since */
	unsigned depth; /* of a submodule in a submodule … */
	unsigned *left; /* how many more may be read */
	const unsigned char *bytes;
	size_t len, hash;
	char shared[SHARED_BYTES]; /* the name of the file that it is split from */
	/* A submodule takes the place of an entry of that file, which alone has its name. */
	bool has_nameless;
};

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

/* Those in .git/modules are kept from being written, or were told already. */
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

static int profile_git_index_enter(const struct leads *to, const struct timespec *since,
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
	unsigned flags;

	if (pos >= x->len)
		return -EBADMSG;
	*ret_mode = profile_git_index_number(x->bytes + start + MODE_AT);
	flags = (unsigned)x->bytes[pos - 2] << 8 | x->bytes[pos - 1];
	if (flags & EXTENDED) {
		if (version == 2)
			return -EBADMSG;
		pos += 2;
	}
	if (version == 4) {
		if (take_strip(x, &pos, &strip) < 0 || strip > strlen(name))
			return -EBADMSG;
		kept = strlen(name) - strip;
	}
	n = pos < x->len ? strnlen((const char *)x->bytes + pos, x->len - pos) : x->len;
	if (pos + n >= x->len || kept + n >= PATH_BYTES)
		return -EBADMSG;
	if ((flags & NAME_MASK) != NAME_MASK && (flags & NAME_MASK) != kept + n)
		return -EBADMSG;
	memcpy(name + kept, x->bytes + pos, n + 1);
	pos += n + 1;
	if (version < 4)
		pos = start + ((pos - start - 1) / 8 + 1) * 8;
	*at = pos;
	return 0;
}

/*
 * Where threads begin to read: pairs of an offset and a number of entries, which must be those that
 * we read. The first name of a block is whole.
 */
static int profile_git_index_check_blocks(const struct index *x, size_t data, size_t size)
{
	uint32_t version = profile_git_index_number(x->bytes + 4), mode;
	uint32_t n = profile_git_index_number(x->bytes + 8);
	char name[PATH_BYTES] = "";
	size_t at = HEADER;
	int r = size < 4 ? -EBADMSG : 0;

	for (size_t block = data + 4; r == 0 && block + 8 <= data + size; block += 8) {
		uint32_t of_block = profile_git_index_number(x->bytes + block + 4);

		if (profile_git_index_number(x->bytes + block) != at || of_block > n)
			return -EBADMSG;
		n -= of_block;
		memset(name, 1, strlen(name));
		for (uint32_t i = 0; r == 0 && i < of_block; i++) {
			r = take_entry(x, version, &at, name, &mode);
			if (r == 0 && i == 0 && name[0] == 1)
				return -EBADMSG;
		}
	}
	return r == 0 && n > 0 ? -EBADMSG : r;
}

/* At the end may stand where the extensions begin, which git believes if it has threads. */
static bool profile_git_index_has_end(const struct index *x, size_t at)
{
	size_t size = 4 + x->hash, end = 8 + size + x->hash;
	const unsigned char *p = x->bytes;

	if (x->len < at + end)
		return true;
	p += x->len - end;
	return memcmp(p, "EOIE", 4) != 0 || profile_git_index_number(p + 4) != size ||
	       profile_git_index_number(p + 8) == at;
}

/* The extensions: one names the other half. Of several git takes the last, but makes only one. */
static int read_extensions(struct index *x, size_t at)
{
	int r = profile_git_index_has_end(x, at) ? 0 : -EBADMSG;

	x->shared[0] = '\0';
	while (r == 0 && at + 8 + x->hash <= x->len) {
		const unsigned char *data = x->bytes + at + 8;
		size_t size = profile_git_index_number(x->bytes + at + 4);

		if (size > x->len - at - 8)
			return -EBADMSG;
		if (memcmp(x->bytes + at, "link", 4) == 0) {
			if (x->shared[0] || size < x->hash)
				return -EBADMSG;
			for (size_t i = 0; i < x->hash; i++)
				(void)snprintf(x->shared + 2 * i, 3, "%02x", data[i]);
		} else if (memcmp(x->bytes + at, "IEOT", 4) == 0) {
			r = profile_git_index_check_blocks(x, at + 8, size);
		}
		at += 8 + size;
	}
	return r;
}

static int read_entries(struct index *x)
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
		bool is_link;

		r = take_entry(x, version, &at, name, &mode);
		if (r == 0 && mode != 0 && !(mode & TYPE))
			r = -EBADMSG;
		is_link = (mode & TYPE) == GITLINK;
		x->has_nameless = x->has_nameless || (r == 0 && is_link && !name[0]);
		if (r == 0 && name[0] && (is_link || x->has_nameless))
			r = profile_git_index_judge(x, name);
	}
	if (r == 0 && at + x->hash > x->len)
		r = -EBADMSG;
	return r == 0 ? read_extensions(x, at) : r;
}

static int note_format(void *data, const char *value, const char *who)
{
	size_t *hash = data;

	(void)who;
	*hash = strcasecmp(value, "sha256") == 0 ? HASH_SHA256 : HASH_SHA1;
	return 0;
}

/* How long names of objects are in it. */
static int profile_git_index_find_hash(struct index *x)
{
	struct profile_git_user none = { 0 };
	struct leads l = {
		.kind = LEADS_FORMAT, .user = &none, .found = note_format, .data = &x->hash
	};
	char path[PATH_BYTES], common[PATH_BYTES];
	int r = 0;

	x->hash = HASH_SHA1;
	memcpy(common, x->repository, strlen(x->repository) + 1);
	if (profile_git_resolve(x->repository, "commondir", path) == 0)
		r = profile_git_read_path(path, "", x->repository, common);
	if (r >= 0 && profile_git_resolve(common, "config", path) == 0)
		r = profile_git_read_file(&l, path, 0);
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
	auto_buffer text = { 0 };
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
	if (!x->is_new)
		return 0;
	r = x->hash ? 0 : profile_git_index_find_hash(x);
	if (r < 0)
		return r;
	r = file_read_fd(fd, INDEX_MAX, &text);
	if (r < 0 || text.failed)
		return -EBADMSG;
	x->bytes = (const unsigned char *)buffer_text(&text);
	x->len = text.len;
	return x->len == 0 ? 0 : read_entries(x);
}

static int profile_git_index_enter(const struct leads *to, const struct timespec *since,
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
	struct leads to = { .folder = folder, .worktree = worktree, .found = found, .data = data };
	unsigned left = MODULES_MAX;

	return profile_git_index_enter(&to, since, worktree, 0, &left);
}
