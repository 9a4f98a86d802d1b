/* SPDX-License-Identifier: Apache-2.0 */
#include "jail/ground.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/rlimits.h"
#include "jail/mount.h"

/* Room for what is ours on the scratch file system, beside what a limit gives to commands. */
enum { SCRATCH_OURS = 1 << 20, FILES_OURS = 4096 };

void ground_init(struct ground *g)
{
	*g = (struct ground){ -1, -1, -1, -1, -1, -1, -1, -1, -1 };
}

void ground_close(struct ground *g)
{
	int *const fds[] = { &g->host, &g->scratch, &g->root, &g->own, &g->mask, &g->proc };

	for (size_t i = 0; i < ROWS(fds); i++)
		fd_close(fds[i]);
}

int ground_folder(int at, const char *name, mode_t mode)
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

int ground_file(int at, const char *name, const char *text, mode_t mode)
{
	return ground_bytes(at, name, text, strlen(text), mode);
}

int ground_bytes(int at, const char *name, const void *data, size_t len, mode_t mode)
{
	auto_fd fd = openat(at, name, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);

	if (fd < 0 || fchmod(fd, mode) < 0)
		return -errno;
	if (len > 0 && write(fd, data, len) != (ssize_t)len)
		return -EIO;
	return 0;
}

static int ground_make_dir(const struct ground *g, const char *path)
{
	return mkdirat(g->root, path, 0755) < 0 && errno != EEXIST ? -errno : 0;
}

/* The file system in memory */

static int ground_make_scratch(struct ground *g, int copy)
{
	static const char *const options[] = { "mode", "0755", "size", "50%", "nr_inodes",
		"1000000", NULL };
	auto_fd nowhere = -1;
	int r;

	(void)copy;
	g->host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	g->scratch =
		g->host < 0 ? -errno : mount_new("tmpfs", options, MOUNT_WRITABLE | MOUNT_EXEC);
	if (g->scratch < 0)
		return g->scratch;
	/* A path begins below what is mounted over the root itself. */
	r = mount_put(g->scratch, g->host, ".");
	if (r < 0)
		return r;
	g->own = ground_folder(g->scratch, "own", 0755);
	if (g->own < 0)
		return g->own;
	g->mask = ground_folder(g->scratch, "mask", 0755);
	if (g->mask < 0)
		return g->mask;
	nowhere = ground_folder(g->mask, "nowhere", 0);
	return nowhere < 0 ? nowhere : ground_file(g->mask, "nothing", "", 0);
}

/* Opened again after it was mounted on: what a descriptor from before stands for lies below. */
static int ground_make_root(struct ground *g, int copy)
{
	auto_fd skeleton = ground_folder(g->scratch, "root", 0755);
	int r;

	if (skeleton < 0)
		return skeleton;
	r = copy < 0 ? mount_put_copy(skeleton, MOUNT_WRITABLE, g->scratch, "root")
		     : mount_put(copy, g->scratch, "root");
	if (r < 0)
		return r;
	g->root = mount_open(g->scratch, "root");
	return g->root < 0 ? g->root : 0;
}

static uint64_t ground_half_of_memory(void)
{
	struct sysinfo machine;

	return sysinfo(&machine) < 0 ? LIMIT_NONE
				     : (uint64_t)machine.totalram * machine.mem_unit / 2;
}

int ground_limit(const struct ground *g, const struct limits *limits)
{
	const uint64_t memory = limits->values[LIMIT_MEMORY];
	char size[32], files[32];

	/* What is written there is memory that no process has. A file is at least a page. */
	if (memory >= ground_half_of_memory())
		return 0;
	(void)snprintf(size, sizeof(size), "%" PRIu64, memory + SCRATCH_OURS);
	(void)snprintf(files, sizeof(files), "%" PRIu64, memory / 4096 + FILES_OURS);
	return mount_change(
		g->scratch, (const char *const[]){ "size", size, "nr_inodes", files, NULL });
}

/* /dev and /proc */

static int ground_make_dev(struct ground *g, int copy)
{
	auto_fd folder = ground_folder(g->scratch, "dev", 0755);
	auto_fd dev = -1;
	int r = folder < 0 ? folder : mount_name_devices(folder);

	(void)copy;
	if (r == 0)
		r = ground_make_dir(g, "dev");
	if (r == 0)
		r = mount_put_copy(folder, 0, g->root, "dev");
	dev = r < 0 ? r : mount_open(g->root, "dev");
	return dev < 0 ? dev : mount_devices(dev, g->host);
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

/* The first cover is a copy of the device with its own flags, the others are copies of it. */
static int ground_cover_in_proc(int root, const char *path, int *cover)
{
	auto_fd null = -1;
	int r;

	if (*cover >= 0)
		return mount_put_same(*cover, root, path);
	null = mount_open(root, "dev/null");
	r = mount_put_copy(null, 0, root, path);
	if (r < 0)
		return r;
	*cover = mount_open(root, path);
	return *cover < 0 ? *cover : 0;
}

/* Covered by a device that cannot be opened there. What this user may not read needs no cover. */
static int ground_hide_in_proc(int root)
{
	auto_fd cover = -1;

	for (size_t i = 0; i < ROWS(host_only); i++) {
		char path[32];
		int r;

		(void)snprintf(path, sizeof(path), "proc/%s", host_only[i]);
		if (faccessat(root, path, R_OK, 0) < 0 && (errno == ENOENT || errno == EACCES))
			continue;
		r = ground_cover_in_proc(root, path, &cover);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

static int ground_put_proc(int root)
{
	auto_fd mount = mount_new("proc", (const char *const[]){ NULL }, MOUNT_WRITABLE);
	int r = mount < 0 ? mount : mount_put(mount, root, "proc");

	if (r == 0)
		r = ground_hide_in_proc(root);
	return r < 0 ? r : fd_take(&mount);
}

static int ground_close_proc(int proc, const struct limits *limits)
{
	const uint64_t pids = limits->values[LIMIT_PIDS];
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY };
	/* It is the only hard cap that binds root. On older kernels the tally has to do. */
	int r = pids == LIMIT_NONE || geteuid() != 0 ? 0 : rlimits_pid_max(proc, pids);

	if (r < 0 && r != -EOPNOTSUPP)
		return r;
	return mount_setattr(proc, "", AT_EMPTY_PATH, &attr, sizeof(attr)) < 0 ? -errno : 0;
}

/*
 * /proc hides the folder with the masks: so it stays in the namespace, where they can be copied
 * from it later, and no process without capabilities ever gets below a mount.
 */
static int ground_make_proc(struct ground *g, int copy)
{
	auto_fd place = -1;
	int r = ground_make_dir(g, "proc");

	(void)copy;
	if (r == 0)
		r = mount_put_copy(g->mask, 0, g->root, "proc");
	place = r < 0 ? r : mount_open(g->root, "proc");
	if (place < 0)
		return place;
	g->nothing = mount_open(place, "nothing");
	g->nowhere = mount_open(place, "nowhere");
	if (g->nothing < 0 || g->nowhere < 0)
		return -ENOENT;
	g->texts = fd_take(&place);
	g->proc = ground_put_proc(g->root);
	return g->proc < 0 ? g->proc : 0;
}

int ground_mount_proc(const struct limits *limits)
{
	auto_fd root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	auto_fd proc = root < 0 ? -errno : ground_put_proc(root);

	return proc < 0 ? proc : ground_close_proc(proc, limits);
}

/* The whole */

int ground_make(struct ground *g, int copy, const char **ret_what)
{
	static const struct {
		int (*run)(struct ground *g, int copy);
		const char *what;
	} steps[] = {
		{ ground_make_scratch, "mount a file system in memory" },
		{ ground_make_root, "mount a file system in memory" },
		{ ground_make_dev, "make a private /dev" },
		{ ground_make_proc, "mount a private /proc" },
	};

	for (size_t i = 0; i < ROWS(steps); i++) {
		int r = steps[i].run(g, copy);

		if (r < 0) {
			*ret_what = steps[i].what;
			return r;
		}
	}
	return 0;
}

int ground_undo(struct ground *g)
{
	int r = 0;

	/* All else is mounted below. */
	if (g->scratch >= 0 &&
		(fchdir(g->scratch) < 0 || umount2(".", MNT_DETACH) < 0 || chdir("/") < 0))
		r = -errno;
	fd_close(&g->nothing);
	fd_close(&g->nowhere);
	fd_close(&g->texts);
	ground_close(g);
	return r;
}

int ground_finish(const struct ground *g, const struct limits *limits, bool shared_exec)
{
	auto_fd shared = ground_folder(g->own, "shm", 01777);
	int r = mount_put_copy(
		shared, MOUNT_WRITABLE | (shared_exec ? MOUNT_EXEC : 0), g->root, "dev/shm");

	return r < 0 ? r : ground_close_proc(g->proc, limits);
}
