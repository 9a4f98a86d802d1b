/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where our cgroups may live. The rules of cgroup2 and of systemd leave few places:
 *
 * - A cgroup that gives controllers to its children must not hold processes itself (the root of the
 *   whole tree may). So our own cgroup will do only if we can leave it, and no other process is in
 * it.
 * - A cgroup has one manager. We make folders only where the manager said that the place is
 * for another program to arrange: systemd marks such cgroups (Delegate=yes) with an extended
 * attribute. That we could write elsewhere, as root or in the folders of a user's own systemd,
 * gives no right: the manager may take the controllers away at any time, and our limits with them,
 * without a word.
 *
 * That makes, in this order: the root of the tree (a small machine without a manager); the marked
 * parent of our cgroup, if it holds no processes (systemd's DelegateSubgroup=); our own cgroup, if
 * it is marked, or is the root of a cgroup namespace (a container), and we are alone in it.
 * Elsewhere limits are held by other means (docs/limits.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <stdlib.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/xattr.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/file.h"
#include "jail/limits/internal.h"
#include "jail/mount.h"

#define SCOPE_HINT                                                                    \
	"systemd can delegate a cgroup: systemd-run --user --scope -p "               \
	"Delegate=yes -- corral run …, or Delegate=yes (and DelegateSubgroup=) in " \
	"the unit of a service"

#define DELETED " (deleted)"

enum { PROC_FILE_MAX = 1 << 20 };

/* The path of our cgroup, from a line "0::/path". */
static int cgroup_find_own(const char *cgroups, struct buffer *ret)
{
	for (const char *line = cgroups; *line; line += *line == '\n') {
		size_t len = strcspn(line, "\n");

		if (len > 3 && memcmp(line, "0::", 3) == 0) {
			size_t deleted = strlen(DELETED);

			buffer_add(ret, line + 3, len - 3);
			if (ret->failed)
				return -ENOMEM;
			if (ret->data[0] != '/')
				return -EINVAL;
			return ret->len > deleted &&
					       strcmp(ret->data + ret->len - deleted, DELETED) == 0
				       ? -ESTALE
				       : 0;
		}
		line += len;
	}
	return -ENOENT;
}

/* The part of own that is below root: "" if they are the same; NULL: it is not. */
static const char *cgroup_find_below(const char *own, const char *root)
{
	size_t len = strcmp(root, "/") == 0 ? 0 : strlen(root);
	bool outside = strncmp(own, "/..", 3) == 0 && (own[3] == '/' || own[3] == '\0');

	if (outside || strncmp(own, root, len) != 0)
		return NULL;
	own += strcmp(own + len, "/") == 0 ? strlen(own) : len;
	return *own == '\0' || *own == '/' ? own : NULL;
}

/*
 * The path of our cgroup counts from the root of our cgroup namespace, and starts with "/.." if we
 * are outside of that. So does the mount's root: a container may see only a part of the hierarchy.
 * What lies on top of a mount is not told; the caller finds out whether the folder really is ours
 * by looking for itself in it.
 */
int cgroup_find(const char *cgroups, const char *mounts, struct buffer *ret)
{
	auto_buffer own = { 0 }, text = { 0 };
	int r = cgroup_find_own(cgroups, &own), missing = -ENOENT;
	char *rest, *line;

	if (r < 0)
		return r;
	buffer_adds(&text, mounts);
	rest = text.data;
	while ((line = strsep(&rest, "\n"))) {
		struct mount_line m;
		const char *below;

		if (!mount_line_parse(line, &m) || strcmp(m.type, "cgroup2") != 0)
			continue;
		missing = -EXDEV;
		below = cgroup_find_below(own.data, m.root);
		if (!below)
			continue;
		buffer_printf(ret, "%s%s", m.path, below);
		return ret->failed ? -ENOMEM : 0;
	}
	return text.failed ? -ENOMEM : missing;
}

static bool cgroup_home_is_cgroup2(int fd)
{
	struct statfs fs;

	return fstatfs(fd, &fs) == 0 && fs.f_type == CGROUP2_SUPER_MAGIC;
}

/* Do both controllers stand in that file of the folder? */
static bool cgroup_home_lists_both(int folder, const char *file)
{
	char text[CGROUP_TEXT_MAX];

	return cgroup_load(folder, file, text, sizeof(text)) >= 0 &&
	       cgroup_has_word(text, "memory") && cgroup_has_word(text, "pids");
}

static bool cgroup_home_is_marked(int folder)
{
	static const char *const names[] = { "user.delegate", "trusted.delegate" };

	for (size_t i = 0; i < ROWS(names); i++) {
		char value[8];

		if (fgetxattr(folder, names[i], value, sizeof(value)) == 1 && value[0] == '1')
			return true;
	}
	return false;
}

/* Are these all the processes in it? */
static bool cgroup_home_holds(int folder, const char *processes)
{
	char text[CGROUP_TEXT_MAX];

	return cgroup_load(folder, "cgroup.procs", text, sizeof(text)) >= 0 &&
	       strcmp(text, processes) == 0;
}

static int cgroup_home_enable(struct cgroup_home *h, struct error *why)
{
	int r;

	if (cgroup_home_lists_both(h->fd, "cgroup.subtree_control"))
		return 0;
	r = cgroup_write(h->fd, "cgroup.subtree_control", "+memory +pids");
	if (r < 0)
		return error_set(why, r, NULL, "cannot enable the controllers of a cgroup: %s",
			strerror(-r));
	h->enabled = true;
	return 0;
}

/* The parent, if it is in the same tree. */
static int cgroup_home_open_parent(int own)
{
	int fd = openat(own, "..", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	struct stat a, b;

	if (fd >= 0 && cgroup_home_is_cgroup2(fd) && fstat(fd, &a) == 0 && fstat(own, &b) == 0 &&
		a.st_dev == b.st_dev && a.st_ino != b.st_ino)
		return fd;
	fd_close(&fd);
	return -1;
}

/* Takes the first place of the three that fits; h->fd is our own cgroup on entry. */
static int cgroup_home_settle(struct cgroup_home *h, bool namespace_root, struct error *why)
{
	auto_fd parent = cgroup_home_open_parent(h->fd);
	auto_fd leaf = -1;
	char us[24];
	int r;

	(void)snprintf(us, sizeof(us), "%d\n", getpid());
	/* The root of the whole tree has no type. */
	if (faccessat(h->fd, "cgroup.type", F_OK, 0) < 0 && errno == ENOENT)
		return cgroup_home_enable(h, why);
	if (parent >= 0 && cgroup_home_is_marked(parent) && cgroup_home_holds(parent, "")) {
		fd_close(&h->fd);
		h->fd = fd_take(&parent);
		return cgroup_home_enable(h, why);
	}
	if (!cgroup_home_is_marked(h->fd) && !namespace_root)
		return error_set(why, -EOPNOTSUPP, NULL,
			"the cgroup that Corral runs in is not delegated to it");
	if (!cgroup_home_holds(h->fd, us))
		return error_set(why, -EOPNOTSUPP, NULL,
			"the cgroup that Corral runs in contains other processes");
	/* Leaves the cgroup for a leaf of it. */
	r = cgroup_make(h->fd, h->leaf, &leaf);
	if (r < 0)
		return error_set(why, r, NULL, "cannot create a cgroup: %s", strerror(-r));
	r = cgroup_write(leaf, "cgroup.procs", "0");
	if (r < 0) {
		(void)cgroup_remove(h->fd, h->leaf);
		return error_set(why, r, NULL, "cannot enter a child cgroup: %s", strerror(-r));
	}
	h->moved = true;
	return cgroup_home_enable(h, why);
}

static int cgroup_home_open_own(int *ret, bool *ret_namespace_root, struct error *why)
{
	auto_buffer cgroups = { 0 }, mounts = { 0 }, folder = { 0 };
	int r = file_read("/proc/self/cgroup", PROC_FILE_MAX, &cgroups);

	if (r == 0)
		r = file_read("/proc/self/mountinfo", PROC_FILE_MAX, &mounts);
	if (r == 0)
		r = cgroup_find(buffer_text(&cgroups), buffer_text(&mounts), &folder);
	if (r < 0)
		return error_set(why, -EOPNOTSUPP, NULL,
			r == -EXDEV ? "the cgroup that Corral runs in is not visible here"
				    : "there is no cgroup2 file system here");
	auto_fd fd = open(buffer_text(&folder), O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	if (fd < 0 || !cgroup_home_is_cgroup2(fd))
		return error_set(why, -EOPNOTSUPP, NULL, "%s cannot be opened as a cgroup",
			buffer_text(&folder));
	*ret_namespace_root = strstr(buffer_text(&cgroups), "0::/\n") != NULL;
	*ret = fd_take(&fd);
	return 0;
}

/* Makes a cgroup with limits and looks whether they stand. */
static int cgroup_home_try_out(const struct cgroup_home *h, struct error *why)
{
	const struct cgroup_limits limits = { .memory = 64 << 20, .pids = 16 };
	struct cgroup *c = NULL;
	char text[64];
	int r = cgroup_new(&c, h, &limits, why);

	if (r < 0)
		return r;
	r = cgroup_load(c->fd, "memory.max", text, sizeof(text));
	if (r >= 0 && strtoull(text, NULL, 10) != limits.memory)
		r = -EOPNOTSUPP;
	cgroup_free(c);
	return r < 0 ? error_set(why, r, NULL, "a new cgroup does not accept a memory limit") : 0;
}

int cgroup_home_new(struct cgroup_home **ret, struct error *why)
{
	struct cgroup_home *h = calloc(1, sizeof(*h));
	bool namespace_root = false;
	int r;

	if (!h)
		return error_no_memory(why);
	h->fd = -1;
	r = cgroup_home_open_own(&h->fd, &namespace_root, why);
	if (r == 0 && !cgroup_home_lists_both(h->fd, "cgroup.controllers")) {
		r = error_set(why, -EOPNOTSUPP, NULL,
			"the cgroup that Corral runs in has no memory and pids controllers");
		error_hint(why, "they may be bound to cgroup v1, or not be passed down to it");
	} else if (r == 0) {
		r = cgroup_home_settle(h, namespace_root, why);
		if (r < 0)
			error_hint(why, "%s", SCOPE_HINT);
	}
	if (r == 0)
		r = cgroup_home_try_out(h, why);
	if (r < 0) {
		cgroup_home_free(h);
		return r;
	}
	*ret = h;
	return 0;
}

void cgroup_home_free(struct cgroup_home *h)
{
	char text[CGROUP_TEXT_MAX];

	if (!h)
		return;
	/* Goes back, unless another program made cgroups there as well: turning the controllers off
	 * would take their limits away. */
	if (h->moved && cgroup_load(h->fd, "cgroup.stat", text, sizeof(text)) >= 0 &&
		cgroup_key(text, "nr_descendants") == 1 &&
		(!h->enabled ||
			cgroup_write(h->fd, "cgroup.subtree_control", "-memory -pids") >= 0) &&
		cgroup_write(h->fd, "cgroup.procs", "0") == 0)
		(void)cgroup_remove(h->fd, h->leaf);
	fd_close(&h->fd);
	free(h);
}

int cgroup_probe(struct error *why)
{
	struct cgroup_home *h = NULL;
	int r = cgroup_home_new(&h, why);

	if (r == 0)
		cgroup_home_free(h);
	return r;
}
