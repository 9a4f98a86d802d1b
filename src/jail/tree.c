/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/tree.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/arena.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/path.h"
#include "codec/encoding.h"
#include "jail/broker-folder.h"
#include "jail/mount.h"
#include "jail/own-folder.h"
#include "skill/archive.h"

/* Room for what is ours on the file system of a skill's copy. */
enum { SCRATCH_OURS = 1 << 20, FILES_OURS = 4096 };

enum { BACKLOG = 4096 };

/* While it is built. */
struct building {
	const struct plan *plan;
	struct tree *tree;
	struct ground *ground;
	int skill;     /* the copy of a skill, mounted */
	int copy;      /* of the host's root, if "/" is granted: the new root is the host's own */
	bool ours;     /* the entry at hand lies on the scratch file system */
	char name[24]; /* of what is made for the entry at hand: its number */
	struct error *error;
};

static unsigned tree_flags(const struct plan_entry *entry)
{
	bool device = strncmp(entry->path, "/dev/", 5) == 0;

	return (entry->writable || entry->kind == PLAN_TMP ? MOUNT_WRITABLE : 0) |
	       (entry->exec ? MOUNT_EXEC : 0) | (device ? MOUNT_DEVICES : 0);
}

/* Relative to a root descriptor. */
static const char *tree_inside(const struct plan_entry *entry)
{
	return entry->path[1] ? entry->path + 1 : ".";
}

static int tree_make_dir(int root, const char *path)
{
	return mkdirat(root, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/*
 * Something to mount on. In a folder of the host it is there already, and nothing is ever made:
 * only what lies on the scratch file system is ours.
 */
static int tree_make_place(const struct building *b, const struct plan_entry *entry, bool is_dir)
{
	if (!b->ours)
		return 0;
	return is_dir ? tree_make_dir(b->ground->root, tree_inside(entry))
		      : ground_file(b->ground->root, tree_inside(entry), "", 0444);
}

static int tree_entry_dir(const struct building *b, const struct plan_entry *entry)
{
	return entry->path[1] ? tree_make_place(b, entry, true) : 0;
}

static int tree_entry_link(const struct building *b, const struct plan_entry *entry)
{
	if (!b->ours)
		return -EROFS;
	return symlinkat(entry->text, b->ground->root, tree_inside(entry)) < 0 ? -errno : 0;
}

/* Over a file of the host it is a mount, made beside the masks: it can be put back as these can. */
static int tree_entry_text(const struct building *b, const struct plan_entry *entry)
{
	const int at = b->ours ? b->ground->root : b->ground->mask;
	const char *name = b->ours ? tree_inside(entry) : b->name, *data = entry->text;
	size_t len = strlen(data);
	auto_arena a = { 0 };
	int r = entry->is_base64 ? encoding_decode(ENCODING_BASE64, data, len, &a, &data, &len) : 0;

	if (r == 0)
		r = ground_bytes(at, name, data, len, entry->is_masked ? 0600 : 0444);

	return r < 0 || b->ours ? r
				: mount_put_named(b->ground->mask, b->name, b->ground->root,
					  tree_inside(entry));
}

static int tree_entry_own(const struct building *b, const struct plan_entry *entry)
{
	bool shared = strcmp(entry->path, "/tmp") == 0 || strcmp(entry->path, "/var/tmp") == 0;
	int r = tree_make_place(b, entry, true);
	auto_fd fd = r < 0 ? r : ground_folder(b->ground->own, b->name, shared ? 01777 : 0700);

	return mount_put_copy(fd, tree_flags(entry), b->ground->root, tree_inside(entry));
}

/* Of the skill's copy: its path below the skill's folder. */
static const char *tree_in_skill(const struct plan *plan, const struct plan_entry *entry)
{
	const char *below = entry->path + strlen(plan->skill->path);

	return below[0] ? below + 1 : ".";
}

static int tree_entry_copied(const struct building *b, const struct plan_entry *entry)
{
	auto_fd source = -1;
	struct stat st;
	int r;

	if (b->skill < 0 || !path_is_below(entry->path, b->plan->skill->path))
		return -EINVAL;
	source = mount_open(b->skill, tree_in_skill(b->plan, entry));
	/* The plan looked at the host's: not there, or a link here, and it was changed. */
	if (source == -ENOENT || source == -ELOOP || source == -ENOTDIR)
		return -ESTALE;
	if (source < 0)
		return source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (S_ISLNK(st.st_mode) || S_ISDIR(st.st_mode) != entry->is_dir)
		return -ESTALE;
	r = tree_make_place(b, entry, entry->is_dir);
	return r < 0 ? r
		     : mount_put_copy(
			       source, tree_flags(entry), b->ground->root, tree_inside(entry));
}

/* The bytes of one file, up to a bound. -ESTALE: it has grown since it was looked at. */
static int tree_copy_bytes(int from, int to)
{
	char bytes[1 << 16];
	size_t left = PLAN_STAND_IN_BYTES;

	for (;;) {
		ssize_t n = read(from, bytes, sizeof(bytes));
		int r;

		if (n <= 0)
			return n < 0 ? -errno : 0;
		if ((size_t)n > left)
			return -ESTALE;
		left -= (size_t)n;
		r = file_write_all(to, bytes, (size_t)n);
		if (r < 0)
			return r;
	}
}

/* A copy in the folder around it, with the mode and, all but, the time of the host's file. */
static int tree_entry_stand_in(const struct building *b, const struct plan_entry *entry)
{
	auto_fd from = mount_open_file(b->ground->host, tree_inside(entry));
	auto_fd to = -1;
	struct timespec times[2];
	struct stat st;
	int r;

	if (from < 0)
		return from == -ELOOP ? -ESTALE : from;
	if (fstat(from, &st) < 0)
		return -errno;
	if (st.st_dev != entry->dev || st.st_ino != entry->ino || !S_ISREG(st.st_mode))
		return -ESTALE;
	/* Never in a folder of the host. */
	if (!b->ours)
		return -EINVAL;
	to = openat(b->ground->root, tree_inside(entry),
		O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
	if (to < 0)
		return -errno;
	r = tree_copy_bytes(from, to);
	times[0] = st.st_atim;
	times[1] = plan_stand_in_time(st.st_mtim);
	if (r == 0 && (fchmod(to, st.st_mode & 0777) < 0 || futimens(to, times) < 0))
		r = -errno;
	return r;
}

/* A name in a folder of ours: what the host has there now. Left out: it is gone, or of another
 * kind.
 */
static int tree_entry_live(const struct building *b, const struct plan_entry *entry)
{
	auto_fd source = mount_open(b->ground->host, tree_inside(entry));
	struct stat st;
	int r;

	/* Never in a folder of the host. */
	if (!b->ours)
		return -EINVAL;
	if (source < 0)
		return source == -ENOENT || source == -ENOTDIR || source == -ELOOP ? 0 : source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (entry->is_dir ? !S_ISDIR(st.st_mode) : !S_ISREG(st.st_mode))
		return 0;
	r = tree_make_place(b, entry, entry->is_dir);
	return r < 0 ? r
		     : mount_put_copy(
			       source, tree_flags(entry), b->ground->root, tree_inside(entry));
}

/* What the plan looked at must still be there: same device, same inode. */
static int tree_entry_bind(const struct building *b, const struct plan_entry *entry)
{
	auto_fd source = -1;
	struct stat st;
	int r;

	if (entry->path[1] == '\0')
		return 0; /* the root was made first */
	if (entry->copied)
		return tree_entry_copied(b, entry);
	if (entry->stands_in)
		return tree_entry_stand_in(b, entry);
	if (entry->live)
		return tree_entry_live(b, entry);
	source = mount_open(b->ground->host, tree_inside(entry));
	if (source < 0)
		return source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (st.st_dev != entry->dev || st.st_ino != entry->ino)
		return -ESTALE;
	r = tree_make_place(b, entry, entry->is_dir);
	return r < 0 ? r
		     : mount_put_copy(
			       source, tree_flags(entry), b->ground->root, tree_inside(entry));
}

static int tree_entry_mask(const struct building *b, const struct plan_entry *entry)
{
	int r = tree_make_place(b, entry, entry->is_dir);

	/* There are dozens of them. These lie in a mount that is as a mask has to be. */
	return r < 0 ? r
		     : mount_put_same(entry->is_dir ? b->ground->nowhere : b->ground->nothing,
			       b->ground->root, tree_inside(entry));
}

/* In the skeleton as over the host's: what stands there is a mount, so no command can remove it. */
static int tree_entry_socket(const struct building *b, const struct plan_entry *entry)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	struct tree *t = b->tree;
	auto_fd listener = -1;
	int r = t->n_sockets < PLAN_SOCKETS_MAX ? tree_make_place(b, entry, false) : -E2BIG;

	if (r < 0)
		return r;
	listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", b->name);
	/* There is no bindat(). */
	if (listener < 0 || fchdir(b->ground->mask) < 0 ||
		bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		fchmodat(b->ground->mask, b->name, 0666, 0) < 0 || listen(listener, BACKLOG) < 0)
		return -errno;
	r = mount_put_named(b->ground->mask, b->name, b->ground->root, tree_inside(entry));
	if (r == 0)
		t->sockets[t->n_sockets++] = fd_take(&listener);
	return r;
}

static int (*const makers[])(const struct building *b, const struct plan_entry *entry) = {
	[PLAN_DIR] = tree_entry_dir,
	[PLAN_LINK] = tree_entry_link,
	[PLAN_FILE] = tree_entry_text,
	[PLAN_TMP] = tree_entry_own,
	[PLAN_BIND] = tree_entry_bind,
	[PLAN_MASK] = tree_entry_mask,
	[PLAN_SOCKET] = tree_entry_socket,
};

/* Mounts around an entry, the innermost last. Deeper than anybody nests grants. */
enum { AROUND_MAX = 256 };

struct around {
	const struct plan_entry *entries[AROUND_MAX];
	size_t n;
};

/* Entries are sorted, so those around the next one are among those around the one before. */
static int tree_enter_entry(
	struct building *b, struct around *around, const struct plan_entry *entry)
{
	const struct plan_entry *last;

	while (around->n > 0 && !path_is_below(entry->path, around->entries[around->n - 1]->path))
		around->n--;
	last = around->n > 0 ? around->entries[around->n - 1] : NULL;
	/* What is made by name must not be made through a link. */
	if (last && last->kind == PLAN_LINK)
		return -ELOOP;
	b->ours = last ? last->kind == PLAN_TMP : b->copy < 0;
	if (entry->kind == PLAN_DIR || entry->kind == PLAN_FILE)
		return 0;
	if (around->n == AROUND_MAX)
		return -E2BIG;
	around->entries[around->n++] = entry;
	return 0;
}

static int tree_make_entries(struct building *b)
{
	struct around around = { .n = 0 };

	for (size_t i = 0; i < b->plan->n; i++) {
		const struct plan_entry *entry = &b->plan->entries[i];
		int r = tree_enter_entry(b, &around, entry);

		(void)snprintf(b->name, sizeof(b->name), "%zu", i);
		if (r == 0)
			r = makers[entry->kind](b, entry);
		/* A socket whose server has ended: there is nothing to hide. */
		if ((entry->passing || entry->is_found) && (r == -ENOENT || r == -ENOTDIR))
			r = 0;
		if (r == -ESTALE)
			return error_set(b->error, r, NULL,
				"%s was replaced while it was being set up", entry->path);
		if (r < 0)
			return error_set(b->error, r, NULL, "cannot mount %s in the sandbox: %s",
				entry->path, strerror(-r));
	}
	return 0;
}

/*
 * On a file system of its own, as large as the copy: it is not what commands may fill. It is
 * mounted in the folder of the masks, since only what is mounted can be copied to another place.
 */
static int tree_unpack_skill(struct building *b)
{
	const struct skill_archive *skill = b->plan->skill;
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	char size[32], files[32];
	const char *const options[] = { "mode", "0755", "size", size, "nr_inodes", files, NULL };
	auto_fd place = -1, mount = -1;
	int r;

	if (!skill)
		return 0;
	(void)snprintf(size, sizeof(size), "%" PRIu64,
		skill->bytes + (uint64_t)skill->entries * 4096 + SCRATCH_OURS);
	(void)snprintf(files, sizeof(files), "%" PRIu32, 2 * skill->entries + FILES_OURS);
	place = ground_folder(b->ground->mask, "skill", 0755);
	if (place < 0)
		return place;
	mount = mount_new("tmpfs", options, MOUNT_WRITABLE | MOUNT_EXEC);
	r = mount < 0 ? mount : mount_put(mount, b->ground->mask, "skill");
	if (r < 0)
		return r;
	b->skill = mount_open(b->ground->mask, "skill");
	r = b->skill < 0 ? b->skill : skill_archive_unpack(skill, b->skill);
	if (r == 0 && mount_setattr(b->skill, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		r = -errno;
	return r;
}

/* Below /proc, where covers are copied from. What is mounted in the other folder can't run. */
static int tree_keep_skill(struct building *b)
{
	int r = b->skill < 0 ? 0 : mount_put_copy(b->skill, MOUNT_EXEC, b->ground->texts, "skill");

	if (r < 0 || b->skill < 0)
		return r;
	b->tree->skill = mount_open(b->ground->texts, "skill");
	return b->tree->skill < 0 ? b->tree->skill : 0;
}

static int tree_make_ground(struct ground *g, int copy, struct error *e)
{
	const char *what = NULL;
	int r = ground_make(g, copy, &what);

	return r < 0 ? error_set(e, r, NULL, "cannot %s: %s", what, strerror(-r)) : 0;
}

/*
 * If "/" is granted, the host's root is copied before anything is mounted over it: so what was
 * prepared for other plans is taken away first.
 */
static int tree_lay_ground(struct building *b)
{
	const struct plan_entry *first = b->plan->n > 0 ? &b->plan->entries[0] : NULL;
	bool is_host = first && first->kind == PLAN_BIND && first->path[1] == '\0';
	auto_fd host = -1;
	int r = 0;

	if (!is_host)
		return b->ground->scratch < 0 ? tree_make_ground(b->ground, -1, b->error) : 0;
	r = ground_undo(b->ground);
	host = r < 0 ? r : open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	b->copy = host < 0 ? -errno : mount_copy(host, tree_flags(first));
	if (b->copy < 0)
		return error_set(b->error, b->copy, NULL, "cannot copy the root directory: %s",
			strerror(-b->copy));
	return tree_make_ground(b->ground, b->copy, b->error);
}

/*
 * The old root is taken off the new one, on which pivot_root() puts it, by umount2(), which takes
 * what lies on top. So the file system in memory moves away from over the old root first, to a
 * place that every system has and of which nothing is ever granted.
 */
static int tree_change_root(struct building *b)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	int r = mount_put(b->ground->scratch, b->ground->host, "proc");

	if (r < 0)
		return r;

	/* The skeleton was writable while it was filled. */
	if (b->copy < 0 &&
		mount_setattr(b->ground->root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return fchdir(b->ground->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ? -errno : 0;
}

static int tree_make_broker(struct building *b)
{
	if (!b->plan->has_broker)
		return 0;
	b->tree->broker = broker_folder_make(b->ground, b->plan);
	return b->tree->broker < 0 ? b->tree->broker : 0;
}

static int tree_make_worker(struct building *b)
{
	return b->plan->worker[0].path ? own_folder_make_worker(b->ground, b->plan) : 0;
}

static int tree_limit(struct building *b)
{
	return ground_limit(b->ground, &b->plan->limits);
}

static int tree_finish(struct building *b)
{
	return ground_finish(b->ground, &b->plan->limits, !b->plan->exec_listed);
}

static const struct {
	int (*run)(struct building *b);
	const char *what; /* NULL: it says itself what failed */
} steps[] = {
	{ tree_lay_ground, NULL },
	{ tree_limit, "limit the file system in memory" },
	{ tree_unpack_skill, "unpack the skill" },
	{ tree_make_entries, NULL },
	{ tree_keep_skill, "keep the copy of the skill" },
	{ tree_make_broker, "make the socket of the broker" },
	{ tree_make_worker, "mount the worker of the skill" },
	{ tree_finish, "finish /dev and /proc" },
	{ tree_change_root, "change the root directory" },
};

void tree_init(struct tree *t)
{
	*t = (struct tree){ .skill = -1, .broker = -1, .own = -1 };
	ground_init(&t->ground);
}

int tree_prepare(struct tree *t, struct error *e)
{
	return tree_make_ground(&t->ground, -1, e);
}

int tree_enter(struct tree *t, const struct plan *plan, struct error *e)
{
	struct building b = {
		.plan = plan, .tree = t, .ground = &t->ground, .skill = -1, .copy = -1, .error = e
	};
	int r = 0;

	t->plan = plan;
	for (size_t i = 0; r == 0 && i < ROWS(steps); i++) {
		r = steps[i].run(&b);
		if (r < 0 && steps[i].what)
			(void)error_set(e, r, NULL, "cannot %s: %s", steps[i].what, strerror(-r));
	}
	fd_close(&b.skill);
	fd_close(&b.copy);
	t->own = fd_take(&t->ground.own);
	ground_close(&t->ground);
	return r;
}

static int tree_cover_copied(const struct tree *t, const struct plan_entry *entry, int root)
{
	auto_fd source = mount_open(t->skill, tree_in_skill(t->plan, entry));

	return mount_put_copy(source, tree_flags(entry), root, tree_inside(entry));
}

static int tree_cover_with(const struct tree *t, size_t i, int there, bool is_dir, int root)
{
	const struct plan_entry *entry = &t->plan->entries[i];
	char name[24];

	switch (entry->kind) {
	case PLAN_MASK:
		return mount_put_copy(is_dir ? t->ground.nowhere : t->ground.nothing, 0, root,
			tree_inside(entry));
	case PLAN_BIND:
		if (entry->copied)
			return tree_cover_copied(t, entry, root);
		return mount_put_copy(there, tree_flags(entry), root, tree_inside(entry));
	case PLAN_FILE:
	case PLAN_SOCKET:
		(void)snprintf(name, sizeof(name), "%zu", i);
		return is_dir ? -EISDIR
			      : mount_put_named(t->ground.texts, name, root, tree_inside(entry));
	default:
		/* A folder of the session's own stood here; the host's must not take its place. */
		return -ESTALE;
	}
}

/* Opens what is at a path; 1: a cover stands there already, which is a mount with its root there.
 */
static int tree_look(int root, const char *path, int *ret, bool *ret_is_dir)
{
	auto_fd there = root < 0 ? -errno : mount_open(root, path);
	struct statx x;

	if (there < 0)
		return there;
	if (statx(there, "", AT_EMPTY_PATH, STATX_TYPE, &x) < 0)
		return -errno;
	if (x.stx_attributes & STATX_ATTR_MOUNT_ROOT)
		return 1;
	*ret_is_dir = S_ISDIR(x.stx_mode);
	*ret = fd_take(&there);
	return 0;
}

int tree_mask(const struct tree *t, const char *path)
{
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd there = -1;
	bool is_dir = false;
	int r = tree_look(root, path + 1, &there, &is_dir);

	if (r == 1)
		return 1;
	if (r == 0)
		r = mount_put_copy(
			is_dir ? t->ground.nowhere : t->ground.nothing, 0, root, path + 1);
	return r == -ENOENT || r == -ENOTDIR || r == -ELOOP || r == -EACCES ? 1 : r;
}

int tree_cover(const struct tree *t, size_t i)
{
	const struct plan_entry *entry = &t->plan->entries[i];
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd there = -1;
	bool is_dir = false;
	int r = tree_look(root, tree_inside(entry), &there, &is_dir);

	if (r != 0)
		return r == 1 ? 0 : r == -ENOENT ? 1 : r;
	r = tree_cover_with(t, i, there, is_dir, root);
	/* It was replaced once more, and whoever watches hears of that too. */
	return r == -ENOENT ? 1 : r;
}
