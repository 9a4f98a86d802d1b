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
	{ "/", LANDLOCK_LIST },
	{ "/proc", LANDLOCK_READ },
	{ "/dev", LANDLOCK_READ | LANDLOCK_WRITE | LANDLOCK_DEVICE },
};

/* Rules that are being filled. */
struct confine {
	int rules, version, root;
	struct error *error;
};

static int confine_grant(const struct confine *c, const char *path, unsigned access)
{
	auto_fd fd = mount_open(c->root, path[1] ? path + 1 : ".");

	return fd < 0 ? fd : landlock_grant(c->rules, c->version, fd, access);
}

static int confine_fail(const struct confine *c, int r, const char *path)
{
	return error_set(
		c->error, r, NULL, "cannot make a Landlock rule for %s: %s", path, strerror(-r));
}

static int confine_fill_broker(const struct confine *c, const struct plan *plan)
{
	int r = confine_grant(c, PLAN_BROKER_FOLDER "/" PLAN_BROKER_SOCKET, LANDLOCK_CONNECT);

	if (r == 0 && plan->caller.path)
		r = confine_grant(c, PLAN_BROKER_FOLDER "/" PLAN_BROKER_CALLER,
			LANDLOCK_READ | LANDLOCK_EXECUTE);
	return r < 0 ? confine_fail(c, r, PLAN_BROKER_FOLDER) : 0;
}

/* Its library and its module are mapped, but not executed as programs. */
static int confine_fill_worker(const struct confine *c, const struct plan *plan)
{
	int r = plan->worker[0].path ? confine_grant(c, PLAN_WORKER_PROGRAM_PATH,
					       LANDLOCK_READ | LANDLOCK_EXECUTE)
				     : 0;

	return r < 0 ? confine_fail(c, r, PLAN_WORKER_PROGRAM_PATH) : 0;
}

static int confine_fill(const struct confine *c, const struct plan *plan)
{
	int r = c->root < 0 ? c->root : 0;

	for (size_t i = 0; r == 0 && i < ROWS(fixed); i++)
		r = confine_grant(c, fixed[i].path, fixed[i].access);
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot make Landlock rules: %s", strerror(-r));
	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *entry = &plan->entries[i];
		enum plan_kind kind = entry->kind;
		unsigned access = LANDLOCK_READ;

		if (kind != PLAN_BIND && kind != PLAN_TMP && kind != PLAN_FILE &&
			kind != PLAN_SOCKET)
			continue;
		/* The folder of ours that it is in has a rule, and its mount is read-only. */
		if (entry->live)
			continue;
		if (entry->writable || kind == PLAN_TMP)
			access |= LANDLOCK_WRITE;
		if (entry->exec && !plan->exec_listed)
			access |= LANDLOCK_EXECUTE;
		if (strncmp(entry->path, "/dev/", 5) == 0)
			access |= LANDLOCK_DEVICE;
		if (kind == PLAN_SOCKET)
			access = LANDLOCK_CONNECT;
		r = confine_grant(c, entry->path, access);
		/* The host has taken away what a cover was on. What it stands in has a rule. */
		if (r < 0 && !(r == -ENOENT && entry->over))
			return confine_fail(c, r, entry->path);
	}
	for (size_t i = 0; i < plan->n_programs; i++) {
		r = confine_grant(c, plan->programs[i], LANDLOCK_EXECUTE);
		if (r < 0)
			return confine_fail(c, r, plan->programs[i]);
	}
	r = plan->has_broker ? confine_fill_broker(c, plan) : 0;
	return r < 0 ? r : confine_fill_worker(c, plan);
}

int confine_rules(const struct plan *plan, struct error *e)
{
	int version = landlock_version();
	auto_fd rules = version < 0 ? version : landlock_new(version, true);
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	struct confine c = { rules, version, root < 0 ? -errno : root, e };
	int r;

	if (rules < 0) {
		r = error_set(e, rules, NULL, "this kernel has no Landlock: %s", strerror(-rules));
		error_hint(e, "Linux 5.13 or newer has it; it may have to be enabled with "
			      "lsm=landlock,… on the kernel command line");
		return r;
	}
	r = confine_fill(&c, plan);
	return r < 0 ? r : fd_take(&rules);
}

int confine_allow(int rules, int fd)
{
	struct stat st;
	int version;

	if (fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
		(fcntl(fd, F_GETFL) & O_ACCMODE) != O_RDONLY)
		return 0;
	version = landlock_version();
	return version < 0 ? 0 : landlock_grant(rules, version, fd, LANDLOCK_READ);
}

int confine_enter(int rules, bool watched)
{
	int r = landlock_enter(rules);

	if (r == 0)
		r = privilege_drop();
	return r < 0 ? r : seccomp_close(watched);
}
