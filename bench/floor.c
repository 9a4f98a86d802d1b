/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The floor under a sandbox's set-up: the system calls that its guarantees need, one after the
 * other, with no policy, no plan and no check of a result that only a race could change. What
 * `corral run` and a session take more than this is ours; what this takes is the kernel's.
 *
 *     floor run FOLDER      sets up, runs /bin/true, ends as it does
 *     floor stand FOLDER    sets up, writes a byte to stdout, stays until stdin ends
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/capability.h>
#include <linux/filter.h>
#include <linux/landlock.h>
#include <linux/mount.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <net/if.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#define N(array) (sizeof(array) / sizeof((array)[0]))

/* As many as the baseline of secrets has places in /etc and in a home that are looked for. */
enum { LOOKUPS = 90, LEAVES = 102, INSTRUCTIONS = 3 * LEAVES };

static const char *const devices[] = { "null", "zero", "full", "random", "urandom", "tty" };
static const char *const links[][2] = { { "/proc/self/fd", "fd" }, { "/proc/self/fd/0", "stdin" },
	{ "/proc/self/fd/1", "stdout" }, { "/proc/self/fd/2", "stderr" }, { "pts/ptmx", "ptmx" } };
static const char *const system_folders[] = { "usr", "etc", "opt", "bin", "sbin", "lib", "lib32",
	"lib64" };
static const char *const covered[] = { "proc/interrupts", "proc/kallsyms", "proc/kcore",
	"proc/key-users", "proc/keys", "proc/kmsg", "proc/kpagecgroup", "proc/kpagecount",
	"proc/kpageflags", "proc/locks", "proc/pagetypeinfo", "proc/slabinfo", "proc/timer_list",
	"proc/vmallocinfo", "proc/zoneinfo", "etc/shadow", "etc/shadow-", "etc/gshadow",
	"etc/gshadow-", "etc/security/opasswd" };

static void must(bool is_done, const char *what)
{
	if (is_done)
		return;
	(void)fprintf(stderr, "floor: %s: %s\n", what, strerror(errno));
	_exit(2);
}

static void put(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC);

	must(fd >= 0 && write(fd, text, strlen(text)) == (ssize_t)strlen(text), path);
	(void)close(fd);
}

/* Mounts */

static int new_mount(const char *type, const char *const (*options)[2], size_t n, unsigned flags)
{
	int fs = (int)syscall(SYS_fsopen, type, FSOPEN_CLOEXEC), mount;

	for (size_t i = 0; i < n; i++)
		(void)syscall(
			SYS_fsconfig, fs, FSCONFIG_SET_STRING, options[i][0], options[i][1], 0);
	(void)syscall(SYS_fsconfig, fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0);
	mount = (int)syscall(SYS_fsmount, fs, FSMOUNT_CLOEXEC, flags);
	must(mount >= 0, type);
	(void)close(fs);
	return mount;
}

static void move_mount_to(int mount, int to, const char *name)
{
	must(syscall(SYS_move_mount, mount, "", to, name,
		     MOVE_MOUNT_F_EMPTY_PATH | (*name ? 0 : MOVE_MOUNT_T_EMPTY_PATH)) == 0,
		name);
	(void)close(mount);
}

static void copy_mount(int from, const char *source, int to, const char *name, uint64_t attributes)
{
	struct mount_attr a = { .attr_set = attributes, .propagation = MS_PRIVATE };
	int mount = (int)syscall(SYS_open_tree, from, source,
		OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE | (*source ? 0 : AT_EMPTY_PATH));

	must(mount >= 0 && syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &a,
				   sizeof(a)) == 0,
		source);
	move_mount_to(mount, to, name);
}

static void make_devices(int host, int root)
{
	static const char *const pts[][2] = { { "ptmxmode", "0666" }, { "mode", "0620" } };
	int dev;

	must(mkdirat(root, "dev", 0755) == 0, "dev");
	copy_mount(root, "dev", root, "dev", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	dev = openat(root, "dev", O_PATH | O_CLOEXEC);
	for (size_t i = 0; i < N(devices); i++) {
		char path[32];

		(void)snprintf(path, sizeof(path), "dev/%s", devices[i]);
		(void)close(openat(dev, devices[i], O_CREAT | O_EXCL | O_CLOEXEC, 0666));
		copy_mount(host, path, dev, devices[i],
			MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC);
	}
	for (size_t i = 0; i < N(links); i++)
		(void)symlinkat(links[i][0], dev, links[i][1]);
	(void)mkdirat(dev, "pts", 0755);
	(void)mkdirat(dev, "shm", 01777);
	move_mount_to(new_mount("devpts", pts, N(pts), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NOEXEC), dev,
		"pts");
	copy_mount(dev, "shm", dev, "shm", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	(void)close(dev);
}

static void add_folder(int host, int root, const char *name, uint64_t attributes)
{
	char target[256], path[512] = "";
	const ssize_t len = readlinkat(host, name, target, sizeof(target) - 1);
	struct stat st;

	if (len > 0) {
		target[len] = '\0';
		(void)symlinkat(target, root, name);
		return;
	}
	if (fstatat(host, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return;
	for (const char *p = name; *p; p += strspn(p, "/")) {
		p += strcspn(p, "/");
		(void)snprintf(path, sizeof(path), "%.*s", (int)(p - name), name);
		(void)mkdirat(root, path, 0755);
	}
	copy_mount(host, name, root, name, attributes | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
}

static void cover(int root)
{
	static const uint64_t hidden =
		MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC;

	(void)close(openat(root, "nothing", O_CREAT | O_EXCL | O_CLOEXEC, 0));
	for (size_t i = 0; i < N(covered); i++)
		if (faccessat(root, covered[i], F_OK, 0) == 0)
			copy_mount(root, "nothing", root, covered[i], hidden);
}

static void enter(int host, int root, int mount)
{
	struct mount_attr a = { .attr_set = MOUNT_ATTR_RDONLY };

	must(syscall(SYS_mount_setattr, root, "", AT_EMPTY_PATH, &a, sizeof(a)) == 0, "root");
	must(fchdir(root) == 0 && syscall(SYS_pivot_root, ".", ".") == 0 &&
			syscall(SYS_umount2, ".", 2 /* MNT_DETACH */) == 0,
		"pivot_root");
	(void)close(host);
	(void)close(mount);
}

static void make_tree(const char *folder)
{
	static const char *const memory[][2] = { { "mode", "0755" }, { "size", "50%" },
		{ "nr_inodes", "1000000" } };
	int host = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC), root,
	    mount = new_mount("tmpfs", memory, N(memory), MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);

	must(syscall(SYS_mount_setattr, host, "", AT_EMPTY_PATH | AT_RECURSIVE,
		     &(struct mount_attr){ .propagation = MS_PRIVATE },
		     sizeof(struct mount_attr)) == 0,
		"/");
	must(syscall(SYS_move_mount, mount, "", host, "proc", MOVE_MOUNT_F_EMPTY_PATH) == 0,
		"proc");
	(void)mkdirat(mount, "root", 0755);
	copy_mount(mount, "root", mount, "root", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	root = openat(mount, "root", O_PATH | O_CLOEXEC);
	make_devices(host, root);
	for (size_t i = 0; i < N(system_folders); i++)
		add_folder(host, root, system_folders[i], MOUNT_ATTR_RDONLY);
	(void)mkdirat(root, "tmp", 01777);
	copy_mount(root, "tmp", root, "tmp", MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	add_folder(host, root, folder + 1, 0);
	(void)mkdirat(root, "proc", 0755);
	move_mount_to(new_mount("proc", NULL, 0,
			      MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC),
		root, "proc");
	cover(root);
	enter(host, root, mount);
}

/* Names that must not appear later are looked for, and their folders watched. */
static void watch(void)
{
	static const char *const folders[] = { "/etc", "/etc/ssl", "/etc/ssh", "/etc/apt",
		"/etc/security" };
	int fd = inotify_init1(IN_CLOEXEC | IN_NONBLOCK);

	for (size_t i = 0; i < N(folders); i++)
		(void)inotify_add_watch(fd, folders[i], IN_CREATE | IN_MOVED_TO | IN_ONLYDIR);
	for (size_t i = 0; i < N(covered); i++)
		(void)inotify_add_watch(fd, covered[i], IN_DELETE_SELF | IN_MOVE_SELF | IN_ATTRIB);
	for (unsigned i = 0; i < LOOKUPS; i++) {
		char path[32];
		struct stat st;

		(void)snprintf(path, sizeof(path), "/etc/no-such-secret-%u", i);
		(void)fstatat(AT_FDCWD, path, &st, AT_SYMLINK_NOFOLLOW);
	}
}

/* Rights */

static void drop_capabilities(void)
{
	struct __user_cap_header_struct head = { .version = _LINUX_CAPABILITY_VERSION_3 };
	struct __user_cap_data_struct none[2] = { 0 };

	must(prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0, "no_new_privs");
	for (unsigned long i = 0; prctl(PR_CAPBSET_DROP, i, 0, 0, 0) == 0; i++)
		;
	(void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
	must(syscall(SYS_capset, &head, none) == 0, "capset");
}

/*
 * Ranges of numbers, halved again and again, as our own program has them (jail/seccomp/program.c):
 * the kernel walks a filter for each number when it is installed, and a line of as many comparisons
 * takes it some seven times as long.
 */
static struct sock_filter *filter_tree(struct sock_filter *at, unsigned lo, unsigned hi)
{
	static const unsigned highest = 460;
	const unsigned middle = (lo + hi) / 2;
	struct sock_filter *jump;

	if (hi - lo == 1) {
		*at = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
		return at + 1;
	}
	*at = (struct sock_filter)BPF_JUMP(
		BPF_JMP | BPF_JGE | BPF_K, middle * highest / LEAVES, 0, 1);
	jump = at + 1;
	at = filter_tree(at + 2, lo, middle);
	*jump = (struct sock_filter)BPF_STMT(BPF_JMP | BPF_JA, (uint32_t)(at - jump - 1));
	return filter_tree(at, middle, hi);
}

/* As long as ours; it allows everything. */
static void filter(void)
{
	struct sock_filter code[INSTRUCTIONS] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, arch)),
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
	};
	struct sock_fprog program = { .filter = code };

	program.len = (unsigned short)(filter_tree(code + 2, 0, LEAVES) - code);
	must(syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &program) == 0, "seccomp");
}

static void landlock(const char *folder)
{
	static const uint64_t all = (LANDLOCK_ACCESS_FS_MAKE_SYM << 1) - 1;
	const struct landlock_ruleset_attr attributes = { .handled_access_fs = all };
	const char *const paths[] = { "/", "/proc", "/dev", "/etc", "/opt", "/tmp", "/usr",
		"/dev/shm", "/dev/pts", folder };
	int rules = (int)syscall(SYS_landlock_create_ruleset, &attributes, sizeof(attributes), 0);

	must(rules >= 0, "Landlock");
	for (size_t i = 0; i < N(paths); i++) {
		struct landlock_path_beneath_attr rule = { .allowed_access = all,
			.parent_fd = open(paths[i], O_PATH | O_CLOEXEC) };

		if (rule.parent_fd >= 0)
			(void)syscall(
				SYS_landlock_add_rule, rules, LANDLOCK_RULE_PATH_BENEATH, &rule, 0);
		(void)close(rule.parent_fd);
	}
	must(syscall(SYS_landlock_restrict_self, rules, 0) == 0, "Landlock");
	(void)close(rules);
}

static void make_network(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP | IFF_RUNNING };
	int fd;

	must(unshare(CLONE_NEWNET) == 0, "network");
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	must(ioctl(fd, SIOCSIFFLAGS, &lo) == 0, "lo");
	(void)close(fd);
}

static void map(const char *path, unsigned id)
{
	char text[32];

	(void)snprintf(text, sizeof(text), "%u %u 1", id, id);
	put(path, text);
}

static uid_t user;
static gid_t group;

static void set_up(const char *folder)
{
	put("/proc/self/setgroups", "deny");
	map("/proc/self/uid_map", user);
	map("/proc/self/gid_map", group);
	must(unshare(CLONE_NEWNS | CLONE_NEWCGROUP | CLONE_NEWUTS | CLONE_NEWIPC) == 0, "unshare");
	must(sethostname("floor", 5) == 0, "sethostname");
	put("/proc/sys/user/max_user_namespaces", "0");
	put("/proc/self/oom_score_adj", "500");
	make_network();
	make_tree(folder);
	watch();
	drop_capabilities();
	filter();
	landlock(folder);
}

/* The command is a child of the first process, as it is in a sandbox. */
static uint8_t run_true(void)
{
	static char path[] = "/bin/true", *const argv[] = { path, NULL }, *const env[] = { NULL };
	pid_t pid;
	int status;

	return posix_spawn(&pid, argv[0], NULL, NULL, argv, env) == 0 &&
			       waitpid(pid, &status, 0) == pid && status == 0
		       ? 0
		       : 2;
}

static uint8_t stand(void)
{
	char byte = 0;

	must(write(1, &byte, 1) == 1, "stdout");
	(void)read(0, &byte, 1);
	return 0;
}

int main(int argc, char **argv)
{
	struct clone_args a = { .flags = CLONE_NEWUSER | CLONE_NEWPID, .exit_signal = SIGCHLD };
	uint8_t status = 0;
	int ends[2];
	pid_t pid;

	if (argc != 3 || argv[2][0] != '/' ||
		(strcmp(argv[1], "run") != 0 && strcmp(argv[1], "stand") != 0)) {
		(void)fputs("usage: floor run|stand FOLDER\n", stderr);
		return 2;
	}
	user = geteuid();
	group = getegid();
	must(pipe2(ends, O_CLOEXEC) == 0, "pipe2");
	pid = (pid_t)syscall(SYS_clone3, &a, sizeof(a));
	must(pid >= 0, "clone3");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL);
		set_up(argv[2]);
		status = argv[1][0] == 'r' ? run_true() : stand();
		_exit(write(ends[1], &status, 1) == 1 ? 0 : 2);
	}
	/* The command's end is reported. That of the first process, which waits for the kernel to
	 * give up its watches, is not waited for. */
	(void)close(ends[1]);
	return read(ends[0], &status, 1) == 1 ? status : 2;
}
