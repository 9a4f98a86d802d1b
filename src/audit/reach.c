/* SPDX-License-Identifier: Apache-2.0 */
#include "audit/reach.h"

#include <stdio.h>
#include <string.h>

#include "base/path.h"

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

/* It, or a folder on the way to it. */
static bool may_replace(const struct policy *p, char path[PATH_BYTES])
{
	char *slash;

	while ((slash = strrchr(path, '/')) && slash != path) {
		if (reach_may(p, OPERATION_FS_WRITE, path))
			return true;
		*slash = '\0';
	}
	return reach_may(p, OPERATION_FS_WRITE, path) || reach_may(p, OPERATION_FS_WRITE, "/");
}

enum audit_reach audit_reach_one(const struct policy *p, const char *path, bool hidden)
{
	char scratch[PATH_BYTES];
	size_t len = strnlen(path, PATH_BYTES);

	if (len == PATH_BYTES || !path_is_normal(path, len))
		return AUDIT_REACH_WRITE;
	memcpy(scratch, path, len + 1);
	if (may_replace(p, scratch))
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
