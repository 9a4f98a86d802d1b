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
#include <sys/sysinfo.h>
#include <sys/syscall.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/path.h"
#include "jail/mount.h"
#include "jail/limits/rlimits.h"
#include "skill/archive.h"

/* Room for what is ours on the scratch file system, beside what a limit gives to commands. */
enum { SCRATCH_OURS = 1 << 20, FILES_OURS = 4096 };

enum { BACKLOG = 4096 };

/* While it is built. Descriptors of folders on the scratch file system and of the two roots. */
struct building {
	const struct plan *plan;
	struct tree *tree;
	int host;    /* the old root */
	int scratch; /* where the scratch file system is mounted */
	int root;    /* the new root, mounted */
	int own, mask;
	int skill;     /* the copy of a skill, mounted */
	int copy;      /* of the host's root, if "/" is granted: the new root is the host's own */
	bool ours;     /* the entry at hand lies on the scratch file system */
	char name[24]; /* of what is made for the entry at hand: its number */
	struct error *error;
};

static int tree_make_folder(int at, const char *name, mode_t mode)
{
	auto_fd fd = -1;

	if (mkdirat(at, name, 0700) < 0)
		return -errno;
	fd = openat(at, name, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
	/* The umask is the caller's, so the mode is set afterwards. */
	if (fd < 0 || fchmod(fd, mode) < 0)
		return -errno;
	return fd_take(&fd);
}

static int tree_make_file(int at, const char *name, const char *text, mode_t mode)
{
	size_t len = strlen(text);
	auto_fd fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode) < 0)
		return -errno;
	if (len > 0 && write(fd, text, len) != (ssize_t)len)
		return -EIO;
	return 0;
}

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

static int tree_put_copy(int source, unsigned flags, int root, const char *path)
{
	auto_fd mount = source < 0 ? source : mount_copy(source, flags);

	return mount < 0 ? mount : mount_put(mount, root, path);
}

/* Of what is called so in a folder. */
static int tree_put_named(int folder, const char *name, int root, const char *path)
{
	auto_fd source = mount_open(folder, name);

	return tree_put_copy(source, 0, root, path);
}

static int tree_make_dir(const struct building *b, const char *path)
{
	return mkdirat(b->root, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/*
 * Something to mount on. In a folder of the host it is there already, and nothing is ever made:
 * only what lies on the scratch file system is ours.
 */
static int tree_make_place(const struct building *b, const struct plan_entry *entry, bool is_dir)
{
	if (!b->ours)
		return 0;
	return is_dir ? tree_make_dir(b, tree_inside(entry))
		      : tree_make_file(b->root, tree_inside(entry), "", 0444);
}

static int tree_entry_dir(const struct building *b, const struct plan_entry *entry)
{
	return entry->path[1] ? tree_make_place(b, entry, true) : 0;
}

static int tree_entry_link(const struct building *b, const struct plan_entry *entry)
{
	if (!b->ours)
		return -EROFS;
	return symlinkat(entry->text, b->root, tree_inside(entry)) < 0 ? -errno : 0;
}

/* Over a file of the host it is a mount, made beside the masks: it can be put back as these can. */
static int tree_entry_text(const struct building *b, const struct plan_entry *entry)
{
	int r = tree_make_file(b->ours ? b->root : b->mask, b->ours ? tree_inside(entry) : b->name,
		entry->text, 0444);

	return r < 0 || b->ours ? r : tree_put_named(b->mask, b->name, b->root, tree_inside(entry));
}

static int tree_entry_own(const struct building *b, const struct plan_entry *entry)
{
	bool shared = strcmp(entry->path, "/tmp") == 0 || strcmp(entry->path, "/var/tmp") == 0;
	int r = tree_make_place(b, entry, true);
	auto_fd fd = r < 0 ? r : tree_make_folder(b->own, b->name, shared ? 01777 : 0700);

	return tree_put_copy(fd, tree_flags(entry), b->root, tree_inside(entry));
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
	return r < 0 ? r : tree_put_copy(source, tree_flags(entry), b->root, tree_inside(entry));
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
	source = mount_open(b->host, tree_inside(entry));
	if (source < 0)
		return source;
	if (fstat(source, &st) < 0)
		return -errno;
	if (st.st_dev != entry->dev || st.st_ino != entry->ino)
		return -ESTALE;
	r = tree_make_place(b, entry, entry->is_dir);
	return r < 0 ? r : tree_put_copy(source, tree_flags(entry), b->root, tree_inside(entry));
}

static int tree_entry_mask(const struct building *b, const struct plan_entry *entry)
{
	return tree_put_named(
		b->mask, entry->is_dir ? "nowhere" : "nothing", b->root, tree_inside(entry));
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
	if (listener < 0 || fchdir(b->mask) < 0 ||
		bind(listener, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		fchmodat(b->mask, b->name, 0666, 0) < 0 || listen(listener, BACKLOG) < 0)
		return -errno;
	r = tree_put_named(b->mask, b->name, b->root, tree_inside(entry));
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
		if (r == -ESTALE)
			return error_set(b->error, r, NULL,
				"%s was replaced while it was being set up", entry->path);
		if (r < 0)
			return error_set(b->error, r, NULL, "%s cannot be put into the sandbox: %s",
				entry->path, strerror(-r));
	}
	return 0;
}

/* Taken before anything is mounted in it. */
static int tree_copy_root(struct building *b)
{
	const struct plan_entry *first = b->plan->n > 0 ? &b->plan->entries[0] : NULL;

	if (!first || first->kind != PLAN_BIND || first->path[1] != '\0')
		return 0;
	b->copy = mount_copy(b->host, tree_flags(first));
	return b->copy < 0 ? b->copy : 0;
}

static uint64_t tree_half_of_memory(void)
{
	struct sysinfo machine;

	return sysinfo(&machine) < 0 ? LIMIT_NONE
				     : (uint64_t)machine.totalram * machine.mem_unit / 2;
}

/* The scratch file system covers the host's /proc, which every system has and of which nothing is
 * ever granted. */
static int tree_mount_scratch(struct building *b)
{
	const uint64_t memory = b->plan->limits.values[LIMIT_MEMORY];
	char size[32] = "50%", files[32] = "1000000";
	const char *const options[] = { "mode", "0755", "size", size, "nr_inodes", files, NULL };
	auto_fd nowhere = -1;
	int r;

	/* What is written there is memory that no process has. A file is at least a page. */
	if (memory < tree_half_of_memory()) {
		(void)snprintf(size, sizeof(size), "%" PRIu64, memory + SCRATCH_OURS);
		(void)snprintf(files, sizeof(files), "%" PRIu64, memory / 4096 + FILES_OURS);
	}
	b->scratch = mount_new("tmpfs", options, MOUNT_WRITABLE | MOUNT_EXEC);
	if (b->scratch < 0)
		return b->scratch;
	r = mount_put(b->scratch, b->host, "proc");
	if (r < 0)
		return r;
	b->own = tree_make_folder(b->scratch, "own", 0755);
	if (b->own < 0)
		return b->own;
	b->mask = tree_make_folder(b->scratch, "mask", 0755);
	if (b->mask < 0)
		return b->mask;
	nowhere = tree_make_folder(b->mask, "nowhere", 0);
	return nowhere < 0 ? nowhere : tree_make_file(b->mask, "nothing", "", 0);
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
	place = tree_make_folder(b->mask, "skill", 0755);
	if (place < 0)
		return place;
	mount = mount_new("tmpfs", options, MOUNT_WRITABLE | MOUNT_EXEC);
	r = mount < 0 ? mount : mount_put(mount, b->mask, "skill");
	if (r < 0)
		return r;
	b->skill = mount_open(b->mask, "skill");
	r = b->skill < 0 ? b->skill : skill_archive_unpack(skill, b->skill);
	if (r == 0 && mount_setattr(b->skill, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		r = -errno;
	return r;
}

/* Opened again after it was mounted on: what a descriptor from before stands for lies below. */
static int tree_make_root(struct building *b)
{
	auto_fd skeleton = tree_make_folder(b->scratch, "root", 0755);
	int r;

	if (skeleton < 0)
		return skeleton;
	r = b->copy < 0 ? tree_put_copy(skeleton, MOUNT_WRITABLE, b->scratch, "root")
			: mount_put(b->copy, b->scratch, "root");
	if (r < 0)
		return r;
	b->root = mount_open(b->scratch, "root");
	return b->root < 0 ? b->root : 0;
}

static int tree_make_dev(struct building *b)
{
	unsigned exec = b->plan->exec_listed ? 0 : MOUNT_EXEC;
	auto_fd folder = tree_make_folder(b->scratch, "dev", 0755);
	auto_fd dev = -1, shm = -1;
	int r = folder < 0 ? folder : mount_name_devices(folder);

	if (r == 0)
		r = tree_make_dir(b, "dev");
	if (r == 0)
		r = tree_put_copy(folder, 0, b->root, "dev");
	dev = r < 0 ? r : mount_open(b->root, "dev");
	if (dev < 0)
		return dev;
	r = mount_devices(dev, b->host);
	shm = r < 0 ? r : tree_make_folder(b->own, "shm", 01777);
	return tree_put_copy(shm, MOUNT_WRITABLE | exec, b->root, "dev/shm");
}

static int tree_mount_proc_at(const struct plan *plan, int root, const char *path)
{
	const uint64_t pids = plan->limits.values[LIMIT_PIDS];
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	auto_fd mount = mount_new("proc", (const char *const[]){ NULL }, MOUNT_WRITABLE);
	int r;

	if (mount < 0)
		return mount;
	/* It is the only hard cap that binds root. On older kernels the tally has to do. */
	r = pids == LIMIT_NONE || geteuid() != 0 ? 0 : rlimits_pid_max(mount, pids);
	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	if (mount_setattr(mount, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	return mount_put(mount, root, path);
}

/*
 * What tells of the host, or of the user's other programs: keys, locks, addresses of the kernel,
 * pages of other processes. Root outside is root inside; and what anybody may read (keys are the
 * user's, in whichever namespace) is no less the host's.
 */
static const char *const host_only[] = { "interrupts", "kallsyms", "kcore", "key-users", "keys",
	"kmsg", "kpagecgroup", "kpagecount", "kpageflags", "latency_stats", "locks", "pagetypeinfo",
	"sched_debug", "slabinfo", "timer_list", "timer_stats", "vmallocinfo", "vmcore",
	"zoneinfo" };

/* Covered by a device that cannot be opened there. What this user may not read needs no cover. */
static int tree_hide_in_proc(int root)
{
	auto_fd null = mount_open(root, "dev/null");

	if (null < 0)
		return null;
	for (size_t i = 0; i < ROWS(host_only); i++) {
		char path[32];
		int r;

		(void)snprintf(path, sizeof(path), "proc/%s", host_only[i]);
		if (faccessat(root, path, R_OK, 0) < 0 && (errno == ENOENT || errno == EACCES))
			continue;
		r = tree_put_copy(null, 0, root, path);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

int tree_mount_proc(const struct plan *plan)
{
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	int r = root < 0 ? -errno : tree_mount_proc_at(plan, root, "proc");

	return r == 0 ? tree_hide_in_proc(root) : r;
}

/*
 * /proc hides the folder with the masks: so it stays in the namespace, where they can be copied
 * from it later, and nobody without capabilities ever gets below a mount.
 */
static int tree_make_proc(struct building *b)
{
	struct tree *t = b->tree;
	auto_fd place = -1;
	int r = tree_make_dir(b, "proc");

	if (r < 0)
		return r;
	r = tree_put_copy(b->mask, 0, b->root, "proc");
	if (r < 0)
		return r;
	place = mount_open(b->root, "proc");
	if (place < 0)
		return place;
	t->nothing = mount_open(place, "nothing");
	t->nowhere = mount_open(place, "nowhere");
	if (t->nothing < 0 || t->nowhere < 0)
		return -ENOENT;
	/* Once more: what came with the folder can't run. */
	if (b->skill >= 0) {
		r = tree_put_copy(b->skill, MOUNT_EXEC, place, "skill");
		t->skill = r < 0 ? r : mount_open(place, "skill");
		if (t->skill < 0)
			return t->skill;
	}
	t->texts = fd_take(&place);
	r = tree_mount_proc_at(b->plan, b->root, "proc");
	return r == 0 ? tree_hide_in_proc(b->root) : r;
}

static int tree_change_root(struct building *b)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };

	/* The skeleton was writable while it was filled. */
	if (b->copy < 0 && mount_setattr(b->root, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0)
		return -errno;
	if (fchdir(b->root) < 0 || syscall(SYS_pivot_root, ".", ".") < 0 ||
		umount2(".", MNT_DETACH) < 0 || chdir("/") < 0)
		return -errno;
	return 0;
}

static int tree_open_host(struct building *b)
{
	b->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	return b->host < 0 ? -errno : 0;
}

static const struct {
	int (*run)(struct building *b);
	const char *what; /* NULL: it says itself what failed */
} steps[] = {
	{ tree_open_host, "open the root directory" },
	{ tree_copy_root, "copy the root directory" },
	{ tree_mount_scratch, "mount a file system in memory" },
	{ tree_unpack_skill, "unpack the skill" },
	{ tree_make_root, "mount a file system in memory" },
	{ tree_make_dev, "make a private /dev" },
	{ tree_make_entries, NULL },
	{ tree_make_proc, "mount a private /proc" },
	{ tree_change_root, "change the root directory" },
};

int tree_enter(struct tree *t, const struct plan *plan, struct error *e)
{
	struct building b = { .plan = plan,
		.tree = t,
		.host = -1,
		.scratch = -1,
		.root = -1,
		.own = -1,
		.mask = -1,
		.skill = -1,
		.copy = -1,
		.error = e };
	int *const fds[] = { &b.host, &b.scratch, &b.root, &b.own, &b.mask, &b.skill, &b.copy };
	int r = 0;

	*t = (struct tree){ .plan = plan, .nothing = -1, .nowhere = -1, .texts = -1, .skill = -1 };
	for (size_t i = 0; r == 0 && i < ROWS(steps); i++) {
		r = steps[i].run(&b);
		if (r < 0 && steps[i].what)
			(void)error_set(e, r, NULL, "cannot %s: %s", steps[i].what, strerror(-r));
	}
	for (size_t i = 0; i < ROWS(fds); i++)
		fd_close(fds[i]);
	return r;
}

static int tree_cover_copied(const struct tree *t, const struct plan_entry *entry, int root)
{
	auto_fd source = mount_open(t->skill, tree_in_skill(t->plan, entry));

	return tree_put_copy(source, tree_flags(entry), root, tree_inside(entry));
}

static int tree_cover_with(const struct tree *t, size_t i, int there, bool is_dir, int root)
{
	const struct plan_entry *entry = &t->plan->entries[i];
	char name[24];

	switch (entry->kind) {
	case PLAN_MASK:
		return tree_put_copy(is_dir ? t->nowhere : t->nothing, 0, root, tree_inside(entry));
	case PLAN_BIND:
		if (entry->copied)
			return tree_cover_copied(t, entry, root);
		return tree_put_copy(there, tree_flags(entry), root, tree_inside(entry));
	case PLAN_FILE:
	case PLAN_SOCKET:
		(void)snprintf(name, sizeof(name), "%zu", i);
		return is_dir ? -EISDIR : tree_put_named(t->texts, name, root, tree_inside(entry));
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
		return 0;
	if (r == 0)
		r = tree_put_copy(is_dir ? t->nowhere : t->nothing, 0, root, path + 1);
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
