/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An approval is trusted because of where it lies: in a folder and a file that belong to the user
 * and that no other user can write. So both are judged on every check, the file through the
 * descriptor that is then read. What the file says is compared with what the skill is now; a file
 * that cannot be read or understood is an error, never an approval.
 */
#include "skill/approval.h"

#include <errno.h>
#include <fcntl.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "base/utf8.h"
#include "codec/json.h"

enum { FILE_MAX = 256 << 10 };

static int approval_fail(struct error *e, int code, const char *path, const char *what)
{
	return error_set(e, code, NULL, "%s: %s", path, what);
}

/* FOLDER/<SHA-256 of the skill's path>.json */
static int file_name(const struct approval *a, struct buffer *out, struct error *e)
{
	const size_t len = strlen(a->skill);
	struct skill_digest d;
	char hex[SKILL_DIGEST_HEX];

	if (!path_is_normal(a->skill, len))
		return approval_fail(e, -EINVAL, a->skill,
			"the path of a skill must be absolute, without symbolic links");
	if (!utf8_valid(a->skill, len, NULL))
		return approval_fail(e, -EILSEQ, a->skill, "the path of a skill must be UTF-8");
	crypto_hash_sha256(d.bytes, (const unsigned char *)a->skill, len);
	skill_digest_hex(&d, hex);
	buffer_printf(out, "%s/%s.json", a->folder, hex);
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
	ok = node_put(&arena, map, "path", node_new_text(&arena, a->skill)) &&
	     node_put(&arena, map, "digest", node_new_text(&arena, digest)) &&
	     node_put(&arena, map, "approved_at", node_new_text(&arena, now)) &&
	     node_put(&arena, map, "permissions", node_new_text(&arena, a->permissions));
	if (!ok)
		return -ENOMEM;
	json_print(out, map, JSON_PRETTY);
	buffer_addc(out, '\n');
	return out->failed ? -ENOMEM : 0;
}

int approval_store(const struct approval *a, struct error *e)
{
	const size_t len = strlen(a->permissions);
	auto_buffer name = { 0 }, text = { 0 };
	int r = file_name(a, &name, e);

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
	r = approval_print(a, &text);
	if (r == 0)
		r = file_replace(buffer_text(&name), text.data, text.len, 0600);
	return r < 0 ? approval_fail(e, r, buffer_text(&name), strerror(-r)) : 0;
}

/* 1 with the file's text, 0 if there is none. */
static int approval_read_file(const char *name, struct buffer *out, struct error *e)
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
	r = file_read_fd(fd, FILE_MAX, out);
	return r < 0 ? approval_fail(e, r, name, strerror(-r)) : 1;
}

static bool approval_is_text(const struct node *map, const char *key, const char *text)
{
	const struct node *n = node_get(map, key);

	return n && n->type == NODE_STRING && strcmp(n->text, text) == 0;
}

int approval_check(const struct approval *a, struct error *e)
{
	auto_buffer name = { 0 }, text = { 0 };
	auto_document document = { 0 };
	char digest[SKILL_DIGEST_HEX];
	struct location where;
	int r = file_name(a, &name, e);

	if (r < 0)
		return r;
	r = check_folder(a->folder, e);
	if (r == 1)
		r = approval_read_file(buffer_text(&name), &text, e);
	if (r <= 0)
		return r < 0 ? r : APPROVAL_NONE;
	r = json_read(&document, buffer_text(&name), buffer_text(&text), text.len, e);
	if (r < 0)
		return r;
	where = node_location(&document, document.root);
	skill_digest_hex(&a->digest, digest);
	if (!approval_is_text(document.root, "path", a->skill))
		return error_set(e, -EINVAL, &where, "the file is not an approval of %s", a->skill);
	if (!approval_is_text(document.root, "digest", digest))
		return APPROVAL_CONTENT_CHANGED;
	if (!approval_is_text(document.root, "permissions", a->permissions))
		return APPROVAL_PERMISSIONS_CHANGED;
	return APPROVAL_CURRENT;
}

int approval_remove(const struct approval *a, struct error *e)
{
	auto_buffer name = { 0 };
	int r = file_name(a, &name, e);

	if (r < 0)
		return r;
	if (unlink(buffer_text(&name)) == 0)
		return 0;
	if (errno == ENOENT || errno == ENOTDIR)
		return 1;
	return approval_fail(e, -errno, buffer_text(&name), strerror(errno));
}
