/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/mount.h"
#include "jail/privilege.h"
#include "jail/seccomp/seccomp.h"

/* What the tree has beside the plan's entries. */
static const struct {
	const char *path;
	unsigned access;
} fixed[] = {
	{ ".", LANDLOCK_LIST },
	{ "proc", LANDLOCK_READ },
	{ "dev", LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE },
};

static unsigned access_of(const struct plan *plan, const struct plan_entry *entry)
{
	unsigned access = LANDLOCK_READ;

	if (entry->kind == PLAN_SOCKET)
		return LANDLOCK_CONNECT;
	if (entry->writable || entry->kind == PLAN_TMP)
		access |= LANDLOCK_WRITE;
	if (entry->exec && !plan->exec_listed)
		access |= LANDLOCK_EXECUTE;
	if (strncmp(entry->path, "/dev/", 5) == 0)
		access |= LANDLOCK_DEVICE;
	return access;
}

static int confine_grant(int rules, int version, int root, const char *path, unsigned access)
{
	auto_fd fd = mount_open(root, path);

	return fd < 0 ? fd : landlock_grant(rules, version, fd, access);
}

static bool has_rule(const struct plan_entry *entry)
{
	return entry->kind == PLAN_BIND || entry->kind == PLAN_TMP || entry->kind == PLAN_FILE ||
	       entry->kind == PLAN_SOCKET;
}

static int grant_entries(const struct plan *plan, int rules, int version, int root, struct error *e)
{
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *entry = &plan->entries[i];
		const char *path = entry->path[1] ? entry->path + 1 : ".";
		int r = 0;

		if (has_rule(entry))
			r = confine_grant(rules, version, root, path, access_of(plan, entry));
		/* The host has taken away what a cover was on. What it stands in has a rule. */
		if (r == -ENOENT && entry->over)
			r = 0;
		if (r < 0)
			return error_set(e, r, NULL, "cannot make a Landlock rule for %s: %s",
				entry->path, strerror(-r));
	}
	return 0;
}

static int grant_programs(
	const struct plan *plan, int rules, int version, int root, struct error *e)
{
	for (size_t i = 0; i < plan->n_programs; i++) {
		int r = confine_grant(
			rules, version, root, plan->programs[i] + 1, LANDLOCK_EXECUTE);

		if (r < 0)
			return error_set(e, r, NULL, "cannot make a Landlock rule for %s: %s",
				plan->programs[i], strerror(-r));
	}
	return 0;
}

static int confine_fill(const struct plan *plan, int rules, int version, struct error *e)
{
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root < 0 ? -errno : 0;

	for (size_t i = 0; r == 0 && i < ROWS(fixed); i++)
		r = confine_grant(rules, version, root, fixed[i].path, fixed[i].access);
	if (r < 0)
		return error_set(e, r, NULL, "cannot make Landlock rules: %s", strerror(-r));
	r = grant_entries(plan, rules, version, root, e);
	return r < 0 ? r : grant_programs(plan, rules, version, root, e);
}

int confine_rules(const struct plan *plan, struct error *e)
{
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, true);
	int r;

	if (rules < 0) {
		r = error_set(e, rules, NULL, "this kernel has no Landlock: %s", strerror(-rules));
		error_hint(e, "a kernel from 5.13 on has it; it may have to be switched on with "
			      "lsm=landlock,… on its command line");
		return r;
	}
	r = confine_fill(plan, rules, version, e);
	return r < 0 ? r : fd_take(&rules);
}

int confine_allow(int rules, int fd)
{
	int version = landlock_version();
	int mode = fcntl(fd, F_GETFL) & O_ACCMODE;
	struct stat st;

	if (version < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode))
		return 0;
	return landlock_grant(rules, version, fd,
		(mode != O_WRONLY ? LANDLOCK_READ : 0) | (mode != O_RDONLY ? LANDLOCK_WRITE : 0));
}

int confine_enter(int rules)
{
	int r = landlock_enter(rules);

	if (r == 0)
		r = privilege_drop();
	return r < 0 ? r : seccomp_close();
}
