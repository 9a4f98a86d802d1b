/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/skill.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/openat2.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/shebang.h"
#include "codec/frontmatter.h"
#include "host/runtime.h"
#include "launch/lives.h"
#include "launch/program.h"
#include "policy/format/permissions-text.h"
#include "skill/archive.h"

_Static_assert(PATH_BYTES >= PATH_MAX, "realpath() writes that much");

const char *const launch_skill_manifests[] = { "SKILL.md", "skill.md", "skill.yaml", "skill.yml",
	"manifest.yaml", NULL };

enum { MANIFEST_BYTES = 1 << 20 };

/* Opening */

/* In the folder, or once that was read, in what was read. */
static bool skill_has(const struct launch_skill *s, const char *name)
{
	const struct skill_item *item;

	return s->content.n ? skill_content_find(&s->content, name, &item) == 0
			    : faccessat(s->fd, name, F_OK, 0) == 0;
}

/* The manifests of a folder by their names; NULL: there is none. */
struct skill_files {
	const char *grants, *describes;
	const char *second; /* that grants: where there are two, a reader may have seen the other */
};

static int skill_find_manifest(
	const struct launch_skill *s, const char *folder, struct skill_files *ret, struct error *e)
{
	struct location where = { .file = folder };
	struct skill_files found = { .grants = s->named };

	if (skill_has(s, "default.json") && !s->named)
		return error_set(e, -EINVAL, &where, "contains rules, not a skill");
	for (const char *const *name = launch_skill_manifests; *name; name++) {
		if (!skill_has(s, *name) || (s->named && strcmp(*name, s->named) == 0))
			continue;
		if (!found.describes && strcasecmp(*name, LAUNCH_SKILL_DESCRIPTION) == 0)
			found.describes = *name;
		else if (!found.grants && strcasecmp(*name, LAUNCH_SKILL_DESCRIPTION) != 0)
			found.grants = *name;
		else
			found.second = *name;
	}
	if (!found.grants) {
		found.grants = found.describes;
		found.describes = NULL;
	}
	if (!found.grants) {
		(void)error_set(e, -ENOENT, &where, "is a folder that contains no manifest");
		error_hint(e, "expected a skill (SKILL.md, skill.yaml, manifest.yaml) or rules "
			      "(default.json)");
		return -ENOENT;
	}
	*ret = found;
	return 0;
}

int launch_skill_read_about(
	struct manifest *m, const char *file, const char *text, size_t len, struct error *e)
{
	auto_frontmatter f = { 0 };
	int r = frontmatter_read(&f, file, text, len, e);

	*m = (struct manifest){ 0 };
	return r < 0 || !f.present ? r : manifest_read(m, MANIFEST_SKILL_MD, file, text, len, e);
}

static int skill_read_manifest(const struct launch_skill *s, const char *folder, const char *name,
	struct manifest *m, unsigned char hash[SKILL_DIGEST_BYTES], struct error *e)
{
	struct location where = { .file = folder };
	auto_buffer text = { 0 }, shown = { 0 };
	auto_fd fd = -1;
	int r;

	buffer_printf(&shown, "%s%s%s", folder, folder[strlen(folder) - 1] == '/' ? "" : "/", name);
	if (shown.failed)
		return error_no_memory(e);
	where.file = buffer_text(&shown);
	fd = openat(s->fd, name, O_RDONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	r = fd < 0 ? -errno : file_read_fd(fd, MANIFEST_BYTES, &text);
	if (r == -EFBIG)
		return error_set(e, r, &where, "is larger than %d MiB, the maximum for a policy",
			MANIFEST_BYTES >> 20);
	if (r < 0)
		return error_set(e, r, &where, "cannot be read: %s", strerror(-r));
	crypto_hash_sha256(hash, (const unsigned char *)buffer_text(&text), text.len);
	if (m == &s->about)
		return launch_skill_read_about(m, where.file, buffer_text(&text), text.len, e);
	return manifest_read(m, MANIFEST_UNKNOWN, where.file, buffer_text(&text), text.len, e);
}

int launch_skill_check_pair(
	const struct manifest *grants, const struct manifest *about, struct error *e)
{
	const char *other = grants->permissions->origin,
		   *slash = other ? strrchr(other, '/') : NULL;

	if (!about->permissions_where.line)
		return 0;
	(void)error_set(e, -EINVAL, &about->permissions_where,
		"has permissions, but %s beside it is what grants", other ? other : "a manifest");
	error_hint(e, "move them to %s, or remove that file",
		slash   ? slash + 1
		: other ? other
			: "it");
	return -EINVAL;
}

/* -EINVAL: there is more than one that says what the skill may do. */
static int skill_check_files(const struct launch_skill *s, const char *folder,
	const struct skill_files *files, struct error *e)
{
	struct location where = { .file = folder };

	if (files->second) {
		(void)error_set(e, -EINVAL, &where, "contains more than one manifest");
		error_hint(e, "keep one of %s and %s", files->grants, files->second);
		return -EINVAL;
	}
	return files->describes ? launch_skill_check_pair(&s->manifest, &s->about, e) : 0;
}

/* It says what is left out, so it is read before the rest, which then must have it. */
static bool skill_has_manifest(const struct launch_skill *s, const char *name,
	const unsigned char hash[SKILL_DIGEST_BYTES])
{
	const struct skill_item *item = NULL;

	return skill_content_find(&s->content, name, &item) == 0 && item->type == SKILL_FILE &&
	       memcmp(item->hash, hash, sizeof(item->hash)) == 0;
}

static bool skill_is_same(const char *a, const char *b)
{
	return a && b ? strcmp(a, b) == 0 : a == b;
}

/* Hashes, and copies what is hashed. */
static int skill_read_content(struct launch_skill *s, enum launch_skill_use use, struct error *e)
{
	struct skill_archive_writer w = { .fd = -1 };
	int r = use == LAUNCH_SKILL_RUN ? skill_archive_begin(&w, s->path, e) : 0;

	if (r == 0)
		r = skill_content_read(
			&s->content, s->fd, &s->lives, use == LAUNCH_SKILL_RUN ? &w : NULL, e);
	if (r == 0 && use == LAUNCH_SKILL_RUN)
		r = skill_archive_finish(&w, &s->copy, e);
	skill_archive_abandon(&w);
	return r;
}

/* What is wrong with a skill: stops a run; a caller that only looks at it gets it as its fault. */
static int skill_fault(struct launch_skill *s, enum launch_skill_use use, int r, struct error *e)
{
	if (r == -EINVAL && use != LAUNCH_SKILL_RUN)
		return 0;
	if (r < 0 && e)
		*e = s->fault;
	return r;
}

/* The digest, the copy, and that the manifests are those that were read before. */
static int skill_read_rest(struct launch_skill *s, const char *folder, enum launch_skill_use use,
	const struct skill_files *files, unsigned char hashes[2][SKILL_DIGEST_BYTES],
	struct error *e)
{
	struct location where = { .file = s->path };
	struct skill_files found = { 0 };
	int r = skill_read_content(s, use, e);

	if (r == 0)
		r = skill_find_manifest(s, folder, &found, e);
	if (r < 0)
		return use == LAUNCH_SKILL_SCAN && r == -ENOENT && !files->grants ? 0 : r;
	if (!skill_is_same(found.grants, files->grants) ||
		!skill_is_same(found.describes, files->describes) ||
		!skill_is_same(found.second, files->second) ||
		(!s->unreadable && !skill_has_manifest(s, files->grants, hashes[0])) ||
		(!s->unreadable && files->describes &&
			!skill_has_manifest(s, files->describes, hashes[1])))
		return error_set(e, -ESTALE, &where, "changed while it was being read");
	return 0;
}

/*
 * To scan it, a manifest that is missing or cannot be read is a fault like another: it grants
 * nothing, and the rest of the folder is looked at all the same.
 */
static int skill_read_manifests(struct launch_skill *s, const char *folder,
	enum launch_skill_use use, struct skill_files *files,
	unsigned char hashes[2][SKILL_DIGEST_BYTES], struct error *e)
{
	struct error *into = use == LAUNCH_SKILL_SCAN ? &s->fault : e;
	/* First of all: not every folder is worth a digest. */
	int r = skill_find_manifest(s, folder, files, into);

	if (r == 0 && files->grants)
		r = skill_read_manifest(s, folder, files->grants, &s->manifest, hashes[0], into);
	if (r == 0 && files->describes)
		r = skill_read_manifest(s, folder, files->describes, &s->about, hashes[1], into);
	if (r == 0 || use != LAUNCH_SKILL_SCAN)
		return r;
	if (r == -ENOMEM || (r == -EINVAL && !files->grants)) {
		if (e)
			*e = s->fault;
		return r;
	}
	s->unreadable = true;
	if (!s->manifest.permissions)
		s->manifest.permissions = permissions_new();
	return s->manifest.permissions ? 0 : error_no_memory(e);
}

static int skill_read(struct launch_skill *s, const char *folder, enum launch_skill_use use,
	struct arena *a, struct error *e)
{
	unsigned char hashes[2][SKILL_DIGEST_BYTES] = { { 0 } };
	struct skill_files files = { 0 };
	struct error *fault = &s->fault;
	int r = skill_read_manifests(s, folder, use, &files, hashes, e);

	if (r == 0 && !s->unreadable)
		r = skill_fault(s, use, skill_check_files(s, folder, &files, fault), e);
	if (r < 0)
		return r;
	/* The first fault is the one that is reported. */
	if (fault->text[0])
		fault = NULL;
	if (!s->unreadable)
		r = skill_fault(
			s, use, lives_find(&s->manifest, files.grants, a, &s->lives, fault), e);
	if (r == 0)
		r = skill_read_rest(s, folder, use, &files, hashes, e);
	if (r == 0 && s->content.n == 0)
		return error_set(
			e, -ENOENT, &(struct location){ .file = folder }, "is an empty folder");
	if (fault && fault->text[0])
		fault = NULL;
	if (r == 0)
		r = skill_fault(s, use, lives_check_links(&s->manifest, &s->content, fault), e);
	return r;
}

/* Approvals */

int launch_skill_approvals(const char **ret, struct arena *a, struct error *e)
{
	const char *state = secure_getenv("XDG_STATE_HOME"), *home = secure_getenv("HOME");

	if (state && state[0] == '/')
		*ret = arena_printf(a, "%s/corral/approvals", state);
	else if (home && home[0] == '/')
		*ret = arena_printf(a, "%s/.local/state/corral/approvals", home);
	else
		return error_set(
			e, -ENOENT, NULL, "no folder for approvals is known: HOME is not set");
	return *ret ? 0 : error_no_memory(e);
}

/* The permissions as an approval keeps them: as text, or as a hash of it if that is very long. */
static int skill_permissions_text(
	const struct permissions *p, const char **ret, struct arena *a, struct error *e)
{
	auto_buffer text = { 0 };
	struct skill_digest hash;
	char hex[SKILL_DIGEST_HEX];

	permissions_print_yaml(p, &text);
	if (text.failed)
		return error_no_memory(e);
	if (text.len < APPROVAL_TEXT_MAX) {
		*ret = arena_strdup(a, buffer_text(&text));
	} else {
		crypto_hash_sha256(hash.bytes, (const unsigned char *)text.data, text.len);
		skill_digest_hex(&hash, hex);
		*ret = arena_printf(a, "sha256:%s", hex);
	}
	return *ret ? 0 : error_no_memory(e);
}

/* Of a manifest that is named, the folder, as the user writes it and (in real) as it is. */
static const char *skill_folder_of(
	struct launch_skill *s, const char *path, char real[PATH_BYTES], struct arena *a)
{
	const char *const *known = launch_skill_manifests;
	char *base = strrchr(real, '/'), *slash = strrchr(path, '/');
	struct stat st;

	while (*known && strcmp(*known, base + 1) != 0)
		known++;
	if (!*known || stat(real, &st) < 0 || !S_ISREG(st.st_mode))
		return path;
	s->named = *known;
	base[base == real] = '\0';
	return slash ? arena_strndup(a, path, slash == path ? 1 : (size_t)(slash - path)) : ".";
}

int launch_skill_open(struct launch_skill *s, const char *folder, enum launch_skill_use use,
	struct arena *a, struct error *e)
{
	struct location where = { .file = folder };
	char real[PATH_BYTES];
	int r;

	*s = LAUNCH_SKILL_NONE;
	s->outcome = APPROVAL_NONE;
	s->is_skill = true;
	if (realpath(folder, real)) {
		if (use == LAUNCH_SKILL_SCAN)
			folder = skill_folder_of(s, folder, real, a);
		s->path = arena_strdup(a, real);
		s->fd = folder ? open(real, O_RDONLY | O_DIRECTORY | O_CLOEXEC) : -1;
	}
	if (s->fd < 0) {
		(void)error_set(e, -ENOENT, &where, "cannot be read: %s", strerror(errno));
		if (errno == ENOTDIR)
			error_hint(e, "give the skill's folder, not a file in it");
		return -ENOENT;
	}
	if (!s->path)
		return error_no_memory(e);
	r = skill_read(s, folder, use, a, e);
	if (r < 0)
		return r;
	s->approval.skill = s->path;
	s->approval.digest = s->content.digest;
	r = skill_permissions_text(s->manifest.permissions, &s->approval.permissions, a, e);
	if (r < 0)
		return r;
	r = launch_skill_approvals(&s->approval.folder, a, e);
	/* A scan needs no home: nothing is approved then. */
	if (r == -ENOENT && use == LAUNCH_SKILL_SCAN)
		return 0;
	if (r < 0)
		return r;
	r = approval_check(&s->approval, e);
	if (r >= 0)
		s->outcome = r;
	return r < 0 ? r : 0;
}

int launch_skill_read(struct launch_skill *s, const char *path, struct arena *a, struct error *e)
{
	const char *const *known = launch_skill_manifests;
	char real[PATH_BYTES], folder[PATH_BYTES];
	auto_buffer text = { 0 };
	const char *slash;
	struct stat st;
	int r;

	*s = LAUNCH_SKILL_NONE;
	s->outcome = APPROVAL_NONE;
	if (!realpath(path, real) || stat(real, &st) < 0)
		return error_set(e, -errno, NULL, "cannot read %s: %s", path, strerror(errno));
	if (S_ISDIR(st.st_mode))
		return launch_skill_open(s, path, LAUNCH_SKILL_RUN, a, e);
	slash = strrchr(real, '/');
	memcpy(folder, real, sizeof(real));
	folder[slash == real ? 1 : slash - real] = '\0';
	while (*known && strcmp(*known, slash + 1) != 0)
		known++;
	if (*known)
		return launch_skill_open(s, folder, LAUNCH_SKILL_RUN, a, e);
	/* A file that is not the manifest of a folder. */
	s->path = arena_strdup(a, folder);
	if (!s->path)
		return error_no_memory(e);
	r = file_read(real, MANIFEST_BYTES, &text);
	if (r < 0)
		return error_set(e, r, NULL, "cannot read %s: %s", real, strerror(-r));
	r = manifest_read(&s->manifest, MANIFEST_UNKNOWN, real, buffer_text(&text), text.len, e);
	if (r < 0)
		return r;
	s->is_skill = s->manifest.kind == MANIFEST_SKILL || s->manifest.kind == MANIFEST_SKILL_MD ||
		      s->manifest.kind == MANIFEST_NANOCRAB;
	s->outcome = s->is_skill ? APPROVAL_NONE : APPROVAL_CURRENT;
	return 0;
}

void launch_skill_deinit(struct launch_skill *s)
{
	fd_close(&s->fd);
	fd_close(&s->copy);
	skill_content_deinit(&s->content);
	manifest_deinit(&s->manifest);
	manifest_deinit(&s->about);
}

const char *launch_skill_outcome(int outcome)
{
	static const char *const texts[] = {
		[APPROVAL_CURRENT] = "this content is approved",
		[APPROVAL_NONE] = "it was never approved",
		[APPROVAL_CONTENT_CHANGED] = "its files have changed since it was approved",
		[APPROVAL_PERMISSIONS_CHANGED] =
			"its permissions have changed since it was approved",
	};

	return texts[outcome];
}

int launch_skill_check(
	const struct launch_skill *s, const char *named, const char *otherwise, struct error *e)
{
	struct location where = { .file = s->path };

	if (s->outcome == APPROVAL_CURRENT)
		return 0;
	(void)error_set(
		e, -EACCES, &where, "%s, so it was not run", launch_skill_outcome(s->outcome));
	error_hint(e, "review and approve it (corral approve %s), or %s", named, otherwise);
	return -EACCES;
}

int launch_skill_unchanged(const struct launch_skill *s, struct error *e)
{
	struct location where = { .file = s->path };
	struct stat opened, named;
	const bool is_there = fstat(s->fd, &opened) == 0 && stat(s->path, &named) == 0 &&
			      opened.st_dev == named.st_dev && opened.st_ino == named.st_ino;

	return !is_there || skill_content_check(&s->content, s->fd, NULL) < 0
		       ? error_set(e, -ESTALE, &where, "changed while it was being read")
		       : 0;
}

/* The entry */

/* Its file: in the skill's folder, as it is written and wherever its links lead. */
static int skill_find_entry(const struct launch_skill *s, const char *entry,
	const struct skill_item **ret, struct error *e)
{
	struct location where = { .file = s->path };
	const struct skill_item *item = NULL;
	int r = skill_content_find(&s->content, entry, &item);

	if (r == -EXDEV)
		return error_set(e, -EACCES, &where,
			"its entry `%s` is outside of the skill's folder", entry);
	if (r == 0 && item->live)
		return error_set(e, -EACCES, &where,
			"its entry `%s` is in a folder that the skill may write (%s), so it "
			"cannot be run",
			entry, item->path);
	if (r < 0 || item->type != SKILL_FILE)
		return error_set(e, -ENOENT, &where, "its entry `%s` is not a regular file", entry);
	*ret = item;
	return 0;
}

int launch_skill_command(const struct launch_skill *s, const char *entry, const char *runtime,
	const char *const *args, size_t n_args, struct arena *a, const char ***ret, size_t *ret_n,
	struct error *e)
{
	struct location where = { .file = s->path };
	const struct manifest *m = &s->manifest;
	const char *file, **words;
	const struct skill_item *item = NULL;
	size_t n = 0;
	int r;

	/* The manifest's own entry is the same by its name. */
	if (entry && m->entry && strcmp(entry, m->entry) == 0)
		entry = NULL;
	if (!runtime && !entry)
		runtime = m->runtime;
	if (!entry && !m->entry) {
		(void)error_set(e, -ENOENT, &where, "the skill has no entry");
		error_hint(e, "give the command that is to run with its permissions, or add "
			      "`entry: FILE` to its manifest");
		return -ENOENT;
	}
	r = skill_find_entry(s, entry ? entry : m->entry, &item, e);
	if (r < 0 || !item)
		return r;
	file = arena_printf(a, "%s/%s", s->path, item->path);
	if (!file)
		return error_no_memory(e);
	if (!runtime && !item->executable) {
		(void)error_set(e, -ENOEXEC, NULL, "%s is not executable", file);
		error_hint(e, "add `runtime: bash` (or python3, node …) to its manifest");
		return -ENOEXEC;
	}
	words = arena_calloc(a, n_args + 3, sizeof(*words));
	/* The words outlive the manifest. */
	if (words && runtime)
		words[n++] = arena_strdup(a, runtime_program(runtime));
	if (!words || (runtime && !words[0]))
		return error_no_memory(e);
	words[n++] = file;
	if (n_args)
		memcpy(words + n, args, n_args * sizeof(*words));
	*ret = words;
	*ret_n = n + n_args;
	return 0;
}

/* Scripts */

/* The first bytes of a file in what the skill may write, by no link. */
static ssize_t skill_script_live(const struct launch_skill *s, const char *name, char *head)
{
	const struct open_how how = {
		.flags = O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY,
		.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS,
	};
	auto_fd fd = (int)syscall(SYS_openat2, s->fd, name, &how, sizeof(how));
	ssize_t n = fd < 0 ? -1 : pread(fd, head, SHEBANG_BYTES, 0);

	return n < 0 ? -errno : n;
}

static ssize_t skill_script_copied(
	const struct launch_skill *s, const struct skill_item *item, char *head)
{
	struct skill_archive copy = { .fd = -1 };
	struct skill_archive_entry entry = { .data = NULL };
	char path[PATH_BYTES + 1];
	int r = snprintf(path, sizeof(path), "/%s", item->path) < (int)sizeof(path)
			? skill_archive_open(&copy, s->copy)
			: -ENAMETOOLONG;

	if (r == 0)
		r = skill_archive_find(&copy, path, &entry);
	if (r == 0) {
		r = entry.size < SHEBANG_BYTES ? (int)entry.size : SHEBANG_BYTES;
		memcpy(head, entry.data, (size_t)r);
	}
	skill_archive_close(&copy);
	return r;
}

int launch_skill_script(const struct launch_skill *s, const char *path, const char *const *args,
	struct arena *a, const char *const **ret, struct error *e)
{
	const size_t len = strlen(s->path);
	const struct skill_item *item = NULL;
	char head[SHEBANG_BYTES] = "";
	ssize_t n = path_is_below(path, s->path) && path[len]
			    ? skill_content_find(&s->content, path + len + 1, &item)
			    : -ENOENT;

	if (n == 0 && item)
		n = item->live                 ? skill_script_live(s, path + len + 1, head)
		    : item->type == SKILL_FILE ? skill_script_copied(s, item, head)
					       : -EISDIR;
	if (n < 0)
		return error_set(
			e, (int)n, NULL, "cannot read the script %s: %s", path, strerror((int)-n));
	return launch_script_bytes(path, head, (size_t)n, args, a, ret, e);
}
