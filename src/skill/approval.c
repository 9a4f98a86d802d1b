/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An approval is trusted because of where it lies: in a folder and a file that belong to the user
 * and that no other user can write. So both are judged on every check, the file through the
 * descriptor that is then read. What the file says is compared with what the skill is now; a file
 * that cannot be read or understood is an error, never an approval.
 */
#include "skill/approval.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/formats.h"
#include "base/path.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "skill/inventory.h"

enum { FILE_MAX = 256 << 10 };

static int approval_fail(struct error *e, int code, const char *path, const char *what)
{
	return error_set(e, code, NULL, "%s: %s", path, what);
}

void approval_id(const char *path, char out[SKILL_DIGEST_HEX])
{
	struct skill_digest d;

	crypto_hash_sha256(d.bytes, (const unsigned char *)path, strlen(path));
	skill_digest_hex(&d, out);
}

/* FOLDER/<id>.json, or .entries */
static int file_name(
	const struct approval *a, const char *ending, struct buffer *out, struct error *e)
{
	const size_t len = strlen(a->skill);
	char hex[SKILL_DIGEST_HEX];

	if (!path_is_normal(a->skill, len))
		return approval_fail(
			e, -EINVAL, a->skill, "its path must be absolute, without symbolic links");
	if (!utf8_valid(a->skill, len, NULL))
		return approval_fail(e, -EILSEQ, a->skill, "its path must be UTF-8");
	approval_id(a->skill, hex);
	buffer_printf(out, "%s/%s.%s", a->folder, hex, ending);
	return out->failed ? approval_fail(e, -ENOMEM, a->skill, "out of memory") : 0;
}

/* Only we may have made it or changed it. */
static int check_owner(const struct stat *st, const char *path, struct error *e)
{
	if (st->st_uid != geteuid())
		return approval_fail(
			e, -EPERM, path, "it belongs to another user, so it is not trusted");
	if (st->st_mode & 022)
		return approval_fail(
			e, -EPERM, path, "other users can change it, so it is not trusted");
	return 0;
}

/* 1 if the folder is there and ours, 0 if it is not there. */
static int check_folder(const char *folder, struct error *e)
{
	struct stat st;
	int r;

	if (lstat(folder, &st) < 0)
		return errno == ENOENT ? 0 : approval_fail(e, -errno, folder, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return approval_fail(e, -EPERM, folder, "it is not a folder");
	r = check_owner(&st, folder, e);
	return r < 0 ? r : 1;
}

/* Makes the folder and those above it. */
static int approval_make_folder(const char *folder, struct error *e)
{
	char path[PATH_BYTES];
	size_t n = strlen(folder);

	if (n == 0 || folder[0] != '/' || n >= sizeof(path))
		return approval_fail(
			e, -EINVAL, folder, "the folder for approvals must be an absolute path");
	memcpy(path, folder, n + 1);
	for (size_t i = 1; i <= n; i++) {
		if (path[i] != '/' && path[i] != '\0')
			continue;
		path[i] = '\0';
		if (mkdir(path, 0700) < 0 && errno != EEXIST)
			return approval_fail(e, -errno, path, strerror(errno));
		if (i < n)
			path[i] = '/';
	}
	return 0;
}

static int approval_print(const struct approval *a, struct buffer *out)
{
	auto_arena arena = { 0 };
	struct node *map = node_new(&arena, NODE_MAP);
	char digest[SKILL_DIGEST_HEX], now[32];
	time_t seconds = time(NULL);
	struct tm tm;
	bool ok;

	skill_digest_hex(&a->digest, digest);
	(void)strftime(now, sizeof(now), "%Y-%m-%dT%H:%M:%SZ", gmtime_r(&seconds, &tm));
	ok = node_put(&arena, map, "version",
		     node_new_integer(&arena, formats_rows[FORMAT_APPROVAL].version)) &&
	     node_put(&arena, map, "path", node_new_text(&arena, a->skill)) &&
	     node_put(&arena, map, "digest", node_new_text(&arena, digest)) &&
	     node_put(&arena, map, "approved_at", node_new_text(&arena, now)) &&
	     node_put(&arena, map, "permissions", node_new_text(&arena, a->permissions));
	if (!ok)
		return -ENOMEM;
	json_print(out, map, JSON_PRETTY);
	buffer_addc(out, '\n');
	return out->failed ? -ENOMEM : 0;
}

/*
 * Before the approval itself: where only one of them comes to be, their digests differ, and the
 * list of changes is not known.
 */
static int approval_store_entries(const struct approval *a, struct error *e)
{
	auto_buffer name = { 0 };
	int r = file_name(a, "entries", &name, e);

	if (r < 0)
		return r;
	if (a->entries && !a->entries->failed && a->entries->len <= SKILL_INVENTORY_MAX)
		r = file_replace(buffer_text(&name), a->entries->data, a->entries->len, 0600);
	else if (unlink(buffer_text(&name)) < 0 && errno != ENOENT)
		r = -errno;
	return r < 0 ? approval_fail(e, r, buffer_text(&name), strerror(-r)) : 0;
}

/* 1 with the file's text, 0 if there is none. */
static int approval_read_file(const char *name, size_t max, struct buffer *out, struct error *e)
{
	auto_fd fd = open(name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int r;

	if (fd < 0 && errno == ENOENT)
		return 0;
	if (fd < 0 && errno == ELOOP)
		return approval_fail(
			e, -EPERM, name, "it is a symbolic link, so it is not trusted");
	if (fd < 0 || fstat(fd, &st) < 0)
		return approval_fail(e, -errno, name, strerror(errno));
	if (!S_ISREG(st.st_mode))
		return approval_fail(
			e, -EPERM, name, "it is not a regular file, so it is not trusted");
	r = check_owner(&st, name, e);
	if (r < 0)
		return r;
	r = file_read_fd(fd, max, out);
	return r < 0 ? approval_fail(e, r, name, strerror(-r)) : 1;
}

/* Text that a file has under this key; NULL: none. */
static const char *approval_text(const struct node *map, const char *key)
{
	const struct node *n = node_get(map, key);

	return n && n->type == NODE_STRING ? n->text : NULL;
}

/* 0: the current version, 1: an older one; negative: neither. */
static int approval_check_version(const char *name, const struct document *d, struct error *e)
{
	const struct node *n = node_get(d->root, "version");
	const struct location where = node_location(d, d->root);
	int64_t version = 0;

	if (n && (node_integer(n, &version) < 0 || version < 0))
		return error_set(e, -EINVAL, &where, "`version` must be a number");
	return formats_check(FORMAT_APPROVAL, (uint64_t)version, name, e);
}

/* There is one of version 0, which stays beside the new one. */
static bool approval_is_old(const char *name)
{
	auto_buffer text = { 0 };
	auto_document d = { 0 };

	return approval_read_file(name, FILE_MAX, &text, NULL) == 1 &&
	       json_read(&d, NULL, buffer_text(&text), text.len, NULL) == 0 &&
	       d.root->type == NODE_MAP && approval_check_version(name, &d, NULL) == 1;
}

int approval_store(const struct approval *a, struct error *e)
{
	const size_t len = strlen(a->permissions);
	auto_buffer name = { 0 }, text = { 0 };
	int r = file_name(a, "json", &name, e);

	if (r < 0)
		return r;
	if (len > APPROVAL_TEXT_MAX || !utf8_valid(a->permissions, len, NULL))
		return approval_fail(e, -EINVAL, a->skill,
			"its permissions are larger than 32 KiB of UTF-8 text; store a digest "
			"instead");
	r = approval_make_folder(a->folder, e);
	if (r == 0)
		r = check_folder(a->folder, e);
	if (r < 0)
		return r;
	r = approval_store_entries(a, e);
	if (r < 0)
		return r;
	r = approval_print(a, &text);
	if (r == 0)
		r = approval_is_old(buffer_text(&name))
			    ? formats_replace(buffer_text(&name), 0, text.data, text.len, 0600)
			    : file_replace(buffer_text(&name), text.data, text.len, 0600);
	return r < 0 ? approval_fail(e, r, buffer_text(&name), strerror(-r)) : 0;
}

/* The file of an approval. 1: there is none. */
static int approval_open(const struct approval *a, struct document *d, struct error *e)
{
	auto_buffer name = { 0 }, text = { 0 };
	struct location where;
	const char *path;
	int r = file_name(a, "json", &name, e);

	if (r < 0)
		return r;
	r = check_folder(a->folder, e);
	if (r == 1)
		r = approval_read_file(buffer_text(&name), FILE_MAX, &text, e);
	if (r <= 0)
		return r < 0 ? r : 1;
	r = json_read(d, buffer_text(&name), buffer_text(&text), text.len, e);
	if (r < 0)
		return r;
	where = node_location(d, d->root);
	path = approval_text(d->root, "path");
	/* One of version 0 has none, and is otherwise the same. Reading does not replace it: what
	 * is approved or revoked meanwhile would be undone. */
	if (d->root->type == NODE_MAP) {
		r = approval_check_version(buffer_text(&name), d, e);
		if (r < 0)
			return r;
	}
	if (!path || strcmp(path, a->skill) != 0)
		return error_set(e, -EINVAL, &where, "the file is not an approval of %s", a->skill);
	return 0;
}

static bool approval_is_text(const struct node *map, const char *key, const char *text)
{
	const char *found = approval_text(map, key);

	return found && strcmp(found, text) == 0;
}

int approval_check(const struct approval *a, struct error *e)
{
	auto_document document = { 0 };
	char digest[SKILL_DIGEST_HEX];
	int r = approval_open(a, &document, e);

	if (r != 0)
		return r < 0 ? r : APPROVAL_NONE;
	skill_digest_hex(&a->digest, digest);
	if (!approval_is_text(document.root, "digest", digest))
		return APPROVAL_CONTENT_CHANGED;
	if (!approval_is_text(document.root, "permissions", a->permissions))
		return APPROVAL_PERMISSIONS_CHANGED;
	return APPROVAL_CURRENT;
}

/* A text of the file, copied; "" if it has none. */
static const char *approval_copy(struct arena *arena, const struct node *map, const char *key)
{
	const char *text = approval_text(map, key);

	return arena_strdup(arena, text ? text : "");
}

int approval_read(
	const struct approval *a, struct arena *arena, struct approval_record *ret, struct error *e)
{
	auto_document d = { 0 };
	struct approval_record found;
	int r = approval_open(a, &d, e);

	if (r != 0)
		return r;
	found = (struct approval_record){ .path = approval_copy(arena, d.root, "path"),
		.digest = approval_copy(arena, d.root, "digest"),
		.approved_at = approval_copy(arena, d.root, "approved_at"),
		.permissions = approval_copy(arena, d.root, "permissions") };
	if (!found.path || !found.digest || !found.approved_at || !found.permissions)
		return error_no_memory(e);
	*ret = found;
	return 0;
}

int approval_read_entries(const struct approval *a, struct buffer *out, struct error *e)
{
	auto_buffer name = { 0 };
	int r = file_name(a, "entries", &name, e);

	if (r == 0)
		r = check_folder(a->folder, e);
	if (r == 1)
		r = approval_read_file(buffer_text(&name), SKILL_INVENTORY_MAX, out, e);
	return r < 0 ? r : r == 0;
}

/* "<64 digits>.json" */
static bool approval_is_name(const char *name)
{
	return strspn(name, "0123456789abcdef") == SKILL_DIGEST_HEX - 1 &&
	       strcmp(name + SKILL_DIGEST_HEX - 1, ".json") == 0;
}

/* One by the name of its file: what it says of itself must be why it is called so. */
static int approval_list_one(const char *folder, const char *name, struct arena *arena,
	struct approval_records *all, struct error *e)
{
	auto_buffer path = { 0 }, text = { 0 };
	auto_document d = { 0 };
	struct approval_record record;
	char id[SKILL_DIGEST_HEX];
	const char *skill = NULL;

	buffer_printf(&path, "%s/%s", folder, name);
	if (!path.failed && approval_read_file(buffer_text(&path), FILE_MAX, &text, NULL) == 1 &&
		json_read(&d, NULL, buffer_text(&text), text.len, NULL) == 0 &&
		d.root->type == NODE_MAP &&
		approval_check_version(buffer_text(&path), &d, NULL) >= 0)
		skill = approval_text(d.root, "path");
	if (!skill)
		return 0;
	approval_id(skill, id);
	if (strncmp(id, name, SKILL_DIGEST_HEX - 1) != 0 || !path_is_normal(skill, strlen(skill)))
		return 0;
	record = (struct approval_record){ .path = arena_strdup(arena, skill),
		.digest = approval_copy(arena, d.root, "digest"),
		.approved_at = approval_copy(arena, d.root, "approved_at"),
		.permissions = approval_copy(arena, d.root, "permissions") };
	if (!record.path || !record.digest || !record.approved_at || !record.permissions ||
		ARENA_PUSH(arena, all->items, all->n, all->cap, record) < 0)
		return error_no_memory(e);
	return 0;
}

int approval_list(
	const char *folder, struct arena *arena, struct approval_records *ret, struct error *e)
{
	struct approval_records all = { 0 };
	const struct dirent *entry;
	int r = check_folder(folder, e);
	DIR *dir = r == 1 ? opendir(folder) : NULL;

	if (r == 1 && !dir)
		return approval_fail(e, -errno, folder, strerror(errno));
	r = r < 0 ? r : 0;
	while (r == 0 && dir && all.n < APPROVALS_MAX && (entry = readdir(dir)))
		if (approval_is_name(entry->d_name))
			r = approval_list_one(folder, entry->d_name, arena, &all, e);
	if (dir)
		(void)closedir(dir);
	if (r == 0)
		*ret = all;
	return r;
}

int approval_remove(const struct approval *a, struct error *e)
{
	auto_buffer name = { 0 }, entries = { 0 };
	int r = file_name(a, "json", &name, e);

	if (r == 0)
		r = file_name(a, "entries", &entries, e);
	if (r < 0)
		return r;
	if (unlink(buffer_text(&name)) == 0) {
		(void)unlink(buffer_text(&entries));
		buffer_adds(&name, ".v0");
		(void)unlink(buffer_text(&name));
		return 0;
	}
	if (errno == ENOENT || errno == ENOTDIR)
		return 1;
	return approval_fail(e, -errno, buffer_text(&name), strerror(errno));
}
