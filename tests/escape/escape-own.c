// SPDX-License-Identifier: Apache-2.0
/*
 * Corral's own files, where they lie in the workspace: the policy that the command runs under
 * (`--policy policy.yaml`) and the record of what it does (`--audit audit.db`). The next run
 * would believe what this one wrote. Corral may also refuse to start.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt.h"

static int own_write(const struct attempt *a)
{
	int fd = open(a->arg, O_WRONLY | O_APPEND);

	return verdict(fd < 0 ? -1 : write(fd, "#\n", 2));
}

static int own_truncate(const struct attempt *a)
{
	return verdict(truncate(a->arg, 0));
}

static int own_replace(const struct attempt *a)
{
	make_file(work_file(a), "{}\n");
	return verdict(rename(work_file(a), a->arg));
}

static int own_unlink(const struct attempt *a)
{
	return verdict(unlink(a->arg));
}

static int own_link(const struct attempt *a)
{
	int fd;

	if (link(a->arg, work_file(a)) < 0)
		return verdict(-1);
	fd = open(work_file(a), O_WRONLY | O_APPEND);
	return verdict(fd < 0 ? -1 : write(fd, "#\n", 2));
}

static int own_chmod(const struct attempt *a)
{
	return verdict(chmod(a->arg, 0666));
}

static const struct attempt table[] = {
	{ "policy-write", "policy", "", "the policy in the workspace can be widened for next time",
		own_write, "policy.yaml" },
	{ "policy-truncate", "policy", "", "an empty policy is no policy", own_truncate,
		"policy.yaml" },
	{ "policy-link", "policy", "", "a hard link to it is writable", own_link, "policy.yaml" },
	{ "policy-chmod", "policy", "", "others can be let write it", own_chmod, "policy.yaml" },
	{ "policy-replace", "policy", "", "another file can be put in its place", own_replace,
		"policy.yaml" },
	{ "policy-unlink", "policy", "", "the policy can be removed", own_unlink, "policy.yaml" },
	{ "audit-write", "audit", "", "the record can be forged", own_write, "audit.db" },
	{ "audit-truncate", "audit", "", "the record can be emptied", own_truncate, "audit.db" },
	{ "audit-unlink", "audit", "", "the record can be removed", own_unlink, "audit.db" },
};
THEME(own, "Corral's own files", table);
