/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/source.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pwd.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/place.h"
#include "base/buffer.h"
#include "base/fd.h"

#define HOW_TO_WRITE \
	"`corral run --audit FILE -- COMMAND` writes one; with `--audit default`, your own"

static int audit_source_keep(struct call *c, const struct buffer *text, const char **ret)
{
	const char *copy = text->failed ? NULL : arena_strdup(c->arena, buffer_text(text));

	if (!copy)
		return error_no_memory(c->error);
	*ret = copy;
	return 0;
}

int audit_source_find(struct call *c, size_t i, const char **ret)
{
	auto_buffer place = { 0 };
	int r;

	if (i < c->n) {
		*ret = c->words[i];
		return 0;
	}
	r = audit_place(&place, c->error);
	return r < 0 ? r : audit_source_keep(c, &place, ret);
}

void audit_source_name(const char *path, const char *suffix, struct buffer *out)
{
	char real[PATH_MAX];
	struct stat st;

	if (lstat(path, &st) == 0 && S_ISLNK(st.st_mode) && realpath(path, real))
		path = real;
	buffer_printf(out, "%s%s", path, suffix);
}

int audit_source_beside(struct call *c, const char *path, const char *suffix, const char **ret)
{
	auto_buffer name = { 0 };

	audit_source_name(path, suffix, &name);
	return audit_source_keep(c, &name, ret);
}

/* Not one either: a log whose first bytes were damaged. */
static bool audit_source_is_database(const char *path)
{
	static const char magic[16] = "SQLite format 3";
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
	char head[sizeof(magic)];

	return fd >= 0 && read(fd, head, sizeof(head)) == (ssize_t)sizeof(head) &&
	       !memcmp(head, magic, sizeof(magic));
}

/* What SQLite said is right, but not what a person can act on. */
static int audit_source_explain(struct call *c, const char *path, int r)
{
	auto_buffer wal = { 0 };
	struct stat st;

	if (stat(path, &st) < 0) {
		if (errno != ENOENT && errno != ENOTDIR)
			return error_set(c->error, -errno, NULL, "%s: %s", path, strerror(errno));
		(void)error_set(c->error, -ENOENT, NULL, "there is no audit log at %s", path);
		error_hint(c->error, HOW_TO_WRITE);
		return -ENOENT;
	}
	if (!S_ISREG(st.st_mode))
		return error_set(
			c->error, -EINVAL, NULL, "%s: it is no file, so no audit log", path);
	if (access(path, R_OK) < 0) {
		const struct passwd *owner = getpwuid(st.st_uid);

		(void)error_set(c->error, -EACCES, NULL, "%s: you may not read it", path);
		if (st.st_uid != geteuid())
			error_hint(c->error, "it belongs to %s: ask as this user",
				owner ? owner->pw_name : "somebody else");
		return -EACCES;
	}
	audit_source_name(path, "-wal", &wal);
	/* SQLite keeps an index of the write-ahead log in a file beside it, also for who only
	 * reads, and has no place for it. */
	if (r != -EBADMSG && r != -ENOMEM && !wal.failed && access(wal.data, F_OK) == 0) {
		(void)error_set(c->error, r, NULL,
			"%s: beside it lies %s-wal, as while somebody writes, which cannot be read "
			"from here because the folder may not be written to",
			path, path);
		error_hint(c->error, "ask as the owner of the log; or copy both files to a folder "
				     "of your own and name the copy");
	}
	if (r == -EBADMSG && !audit_source_is_database(path)) {
		(void)error_set(c->error, r, NULL, "%s: it is %s", path,
			st.st_size ? "no audit log" : "empty, no audit log");
		error_hint(c->error, HOW_TO_WRITE);
	}
	return r;
}

int audit_source_open(struct call *c, const char *path, struct audit_log **ret)
{
	struct stat st;
	int r;

	/* A pipe or a device would keep us waiting, or do worse. */
	if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
		return audit_source_explain(c, path, -ENOENT);
	r = audit_log_open(ret, path, c->error);
	return r < 0 ? audit_source_explain(c, path, r) : 0;
}
