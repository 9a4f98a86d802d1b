/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/place.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/path.h"

static const char *place_absolute(const char *variable)
{
	const char *value = secure_getenv(variable);

	return value && value[0] == '/' ? value : NULL;
}

int audit_place(struct buffer *out, struct error *e)
{
	const char *state = place_absolute("XDG_STATE_HOME"), *home = place_absolute("HOME");

	if (!state && !home) {
		(void)error_set(e, -ENOENT, NULL, "no location for the audit log is known");
		error_hint(e, "set HOME or XDG_STATE_HOME to an absolute path, or name a file");
		return -ENOENT;
	}
	buffer_printf(
		out, "%s%s/corral/audit.db", state ? state : home, state ? "" : "/.local/state");
	return out->failed ? error_no_memory(e) : 0;
}

static int place_fail(struct error *e, int code, const char *path)
{
	return error_set(e, code, NULL, "%s: %s", path, strerror(-code));
}

int audit_place_make(const char *file, struct error *e)
{
	const char *slash = strrchr(file, '/');
	const size_t len = slash ? (size_t)(slash - file) : 0;
	char path[PATH_BYTES];
	struct stat st;
	int r = 0;

	if (len >= sizeof(path))
		return place_fail(e, -ENAMETOOLONG, file);
	memcpy(path, file, len);
	path[len] = '\0';
	for (size_t i = 1; i <= len && r == 0; i++) {
		if (file[i] != '/')
			continue;
		path[i] = '\0';
		/* What is there already must be a folder, too. */
		if (mkdir(path, 0700) < 0) {
			if (errno != EEXIST || stat(path, &st) < 0)
				r = place_fail(e, -errno, path);
			else if (!S_ISDIR(st.st_mode))
				r = place_fail(e, -ENOTDIR, path);
		}
		if (i < len)
			path[i] = '/';
	}
	return r;
}

const struct audit_reach_file audit_reach_files[AUDIT_REACH_FILES] = {
	{ "", true },
	{ "-wal", true },
	{ "-shm", true },
	/* There is none; but SQLite would put pages of one that is there into the log. */
	{ "-journal", true },
	{ ".lock", true },
	{ ".key", true },
	{ ".key.pub", false },
	{ ".head", false },
};

static bool reach_may(const struct policy *p, enum operation op, const char *path)
{
	const struct request request = { .op = op, .target = path };
	struct decision decision;

	/* Where it cannot be told, it is as if it may. Who is asked is shown the name. */
	return policy_decide(p, &request, &decision) < 0 || decision.verdict == VERDICT_ALLOW;
}

enum audit_reach audit_reach_one(const struct policy *p, const char *path, bool hidden)
{
	char scratch[PATH_BYTES], *slash;
	size_t len = strnlen(path, PATH_BYTES);

	if (len == PATH_BYTES || !path_is_normal(path, len))
		return AUDIT_REACH_WRITE;
	memcpy(scratch, path, len + 1);
	/* It, or a folder on the way to it. */
	while ((slash = strrchr(scratch, '/')) && slash != scratch) {
		if (reach_may(p, OPERATION_FS_WRITE, scratch))
			return AUDIT_REACH_WRITE;
		*slash = '\0';
	}
	if (reach_may(p, OPERATION_FS_WRITE, scratch) || reach_may(p, OPERATION_FS_WRITE, "/"))
		return AUDIT_REACH_WRITE;
	return hidden && reach_may(p, OPERATION_FS_READ, path) ? AUDIT_REACH_READ
							       : AUDIT_REACH_NONE;
}

enum audit_reach audit_reach(const struct policy *p, const char *log)
{
	enum audit_reach worst = AUDIT_REACH_NONE;

	for (size_t i = 0; i < AUDIT_REACH_FILES; i++) {
		const struct audit_reach_file *file = &audit_reach_files[i];
		char path[PATH_BYTES];
		enum audit_reach reach;
		int n = snprintf(path, sizeof(path), "%s%s", log, file->suffix);

		if (n < 0 || n >= (int)sizeof(path))
			return AUDIT_REACH_WRITE;
		reach = audit_reach_one(p, path, file->hidden);
		worst = reach > worst ? reach : worst;
	}
	return worst;
}

int audit_place_named(struct buffer *out, bool make, struct error *e)
{
	const char *named = secure_getenv("CORRAL_AUDIT");
	int r;

	if (named && strcmp(named, "none") == 0)
		return 1;
	if (named && *named && strcmp(named, "default") != 0) {
		buffer_adds(out, named);
		return out->failed ? error_no_memory(e) : 0;
	}
	r = audit_place(out, e);
	if (r < 0)
		return r == -ENOENT ? 1 : r;
	if (make || (named && *named))
		return audit_place_make(buffer_text(out), e);
	return access(buffer_text(out), F_OK) < 0;
}
