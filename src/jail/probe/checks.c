/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a session leans on, each thing done once in earnest.
 *
 * Namespaces are tried the way a session makes them: as this user, without privileges, each
 * together with a user namespace. To be allowed to make one says little (under Ubuntu's AppArmor
 * rules the namespace is made, and then nothing may be done in it), so each check does in it what
 * it is for.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/netfilter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "jail/nft.h"
#include "jail/probe/internal.h"
#include "jail/userns.h"

enum {
	NOEXEC_SEAL = 8,        /* MFD_NOEXEC_SEAL, Linux 6.3 */
	WAIT_KILLABLE = 1 << 5, /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
	PATIENCE_MS = 10 * 1000,
	ANSWER = 4711,
};

/* Namespaces */

int probe_enter(int namespaces, struct probe_answer *a)
{
	uid_t uid = geteuid();
	gid_t gid = getegid();
	int r;

	if (unshare(CLONE_NEWUSER) < 0)
		return probe_fail(a, errno, "making a user namespace");
	r = userns_map(uid, gid);
	if (r < 0)
		return probe_fail(a, -r, "mapping the user into a new user namespace");
	namespaces &= ~CLONE_NEWPID; /* for a child */
	if (namespaces && unshare(namespaces) < 0)
		return probe_fail(a, errno, "making a namespace in a new user namespace");
	if ((namespaces & CLONE_NEWNS) && mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return probe_fail(a, errno, "cutting a new mount namespace off from the host's");
	return 0;
}

/* /proc is a folder that is there wherever users can be mapped. */
static int probe_mountns(struct probe_answer *a)
{
	if (mount("tmpfs", "/proc", "tmpfs", MS_NOSUID | MS_NODEV, "size=64k,mode=755") < 0)
		return probe_fail(a, errno, "mounting a tmpfs in a new mount namespace");
	return 0;
}

/*
 * The mount calls that work on descriptors (Linux 5.2, mount_setattr 5.12), in the order in which a
 * tree is built: an empty file system, a detached copy made read-only, the copy put in place.
 */
static int probe_mount_calls(struct probe_answer *a)
{
	struct mount_attr attr = { .attr_set = MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID |
					       MOUNT_ATTR_NODEV | MOUNT_ATTR_NOEXEC };
	auto_fd fs = fsopen("tmpfs", FSOPEN_CLOEXEC);

	if (fs < 0)
		return probe_fail(a, errno, "fsopen");
	if (fsconfig(fs, FSCONFIG_SET_STRING, "size", "64k", 0) < 0 ||
		fsconfig(fs, FSCONFIG_CMD_CREATE, NULL, NULL, 0) < 0)
		return probe_fail(a, errno, "fsconfig");
	auto_fd empty = fsmount(fs, FSMOUNT_CLOEXEC, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV);
	if (empty < 0)
		return probe_fail(a, errno, "fsmount");
	auto_fd copy = open_tree(AT_FDCWD, "/", OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);
	if (copy < 0)
		return probe_fail(a, errno, "open_tree");
	if (mount_setattr(copy, "", AT_EMPTY_PATH | AT_RECURSIVE, &attr, sizeof(attr)) < 0)
		return probe_fail(a, errno, "mount_setattr");
	if (move_mount(empty, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0 ||
		move_mount(copy, "", AT_FDCWD, "/proc", MOVE_MOUNT_F_EMPTY_PATH) < 0)
		return probe_fail(a, errno, "move_mount");
	return 0;
}

static int probe_pivot(struct probe_answer *a)
{
	int r = probe_mountns(a);

	if (r < 0)
		return r;
	if (chdir("/proc") < 0 || syscall(SYS_pivot_root, ".", ".") < 0)
		return probe_fail(a, errno, "making a tmpfs the root");
	if (umount2(".", MNT_DETACH) < 0)
		return probe_fail(a, errno, "taking the old root away");
	if (access("/proc", F_OK) == 0)
		return probe_fail(a, EEXIST, "looking for the old root");
	return 0;
}

static int probe_pidns(struct probe_answer *a)
{
	if (getpid() != 1)
		return probe_fail(a, ESRCH, "being the first process of a pid namespace");
	if (mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL) < 0)
		return probe_fail(a, errno, "mounting /proc of a new pid namespace");
	return 0;
}

static int probe_pid_max(struct probe_answer *a)
{
	int r = probe_pidns(a);

	if (r < 0)
		return r;
	auto_fd proc = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (proc < 0)
		return probe_fail(a, errno, "opening /proc");
	r = rlimits_pid_max(proc, 1);
	return r < 0 ? probe_fail(a, -r, "setting pid_max of a pid namespace") : 0;
}

static int probe_netns(struct probe_answer *a)
{
	int r = loopback_up();

	return r < 0 ? probe_fail(a, -r, "bringing up lo in a new network namespace") : 0;
}

static int probe_utsns(struct probe_answer *a)
{
	if (sethostname("corral", 6) < 0)
		return probe_fail(a, errno, "setting the host name of a new uts namespace");
	return 0;
}

static int probe_sealed(struct probe_answer *a)
{
	int r = userns_seal();

	if (r < 0)
		return probe_fail(a, -r, "setting max_user_namespaces of a user namespace to 0");
	if (unshare(CLONE_NEWUSER) == 0)
		return probe_fail(a, EEXIST, "being refused another user namespace");
	return 0;
}

static int probe_devpts(struct probe_answer *a)
{
	if (mount("devpts", "/proc", "devpts", MS_NOSUID | MS_NOEXEC,
		    "newinstance,ptmxmode=0666,mode=0620") < 0)
		return probe_fail(a, errno, "mounting a devpts of its own");
	auto_fd master = open("/proc/ptmx", O_RDWR | O_NOCTTY | O_CLOEXEC);
	if (master < 0)
		return probe_fail(a, errno, "opening a terminal in a devpts of its own");
	return 0;
}

/* nf_tables: what grants of single hosts stand on. Connections are led to the relay by a nat chain,
 * datagrams by tproxy. */

static size_t probe_begin_rule(struct netlink *n, const struct nft_chain *chain)
{
	nft_chain(n, chain);
	return nft_rule(n, chain->name);
}

static int probe_nft(struct probe_answer *a)
{
	static const struct nft_chain untracked = { "free", "filter", NF_INET_LOCAL_OUT, -300 };
	static const struct nft_chain out = { "out", "nat", NF_INET_LOCAL_OUT, -100 };
	struct netlink n = { .len = 0 };
	size_t nest;
	int r;

	nft_begin(&n);
	nft_table(&n);
	nest = probe_begin_rule(&n, &untracked);
	nft_untrack(&n);
	nft_rule_end(&n, nest);
	nest = probe_begin_rule(&n, &out);
	nft_is_protocol(&n, IPPROTO_TCP);
	nft_redirect(&n, 1);
	nft_rule_end(&n, nest);
	r = nft_commit(&n);
	return r < 0 ? probe_fail(a, -r, "redirecting connections by nf_tables") : 0;
}

static int probe_tproxy(struct probe_answer *a)
{
	static const struct nft_chain in = { "in", "filter", NF_INET_PRE_ROUTING, -150 };
	struct netlink n = { .len = 0 };
	size_t nest;
	int r;

	nft_begin(&n);
	nft_table(&n);
	nest = probe_begin_rule(&n, &in);
	nft_is_family(&n, NFPROTO_IPV4);
	nft_is_protocol(&n, IPPROTO_UDP);
	nft_proxy(&n, NFPROTO_IPV4, 1);
	nft_rule_end(&n, nest);
	r = nft_commit(&n);
	return r < 0 ? probe_fail(a, -r, "taking datagrams by tproxy of nf_tables") : 0;
}

/* Landlock: which version, and whether it really closes a door. */

static int probe_landlock(struct probe_answer *a)
{
	int abi = landlock_version();
	auto_fd rules = abi < 0 ? abi : landlock_new(1, false);

	if (rules < 0)
		return probe_fail(a, -rules,
			abi < 0 ? "asking for Landlock's version" : "making a Landlock ruleset");
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return probe_fail(a, errno, "setting no_new_privs");
	if (landlock_enter(rules) < 0)
		return probe_fail(a, errno, "entering a Landlock ruleset");
	auto_fd fd = open("/", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (fd >= 0 || errno != EACCES)
		return probe_fail(a, EEXIST, "being refused / by Landlock");
	(void)snprintf(a->detail, sizeof(a->detail), "ABI %d", abi);
	return 0;
}

void probe_landlock_rights(int abi, char *text, size_t size)
{
	static const struct {
		int abi;
		const char *names;
	} rows[] = {
		{ 1, "execute write_file read_file read_dir remove_dir remove_file make_char "
		     "make_dir make_reg make_sock make_fifo make_block make_sym" },
		{ 2, " refer" },
		{ 3, " truncate" },
		{ 4, " bind_tcp connect_tcp" },
		{ 5, " ioctl_dev" },
		{ 6, " scope_abstract_unix_socket scope_signal" },
	};
	size_t len = 0;

	if (size > 0)
		text[0] = '\0';
	for (size_t i = 0; i < ROWS(rows) && abi >= rows[i].abi; i++) {
		size_t n = strlen(rows[i].names);

		if (n >= size - len)
			return;
		memcpy(text + len, rows[i].names, n + 1);
		len += n;
	}
}

/* System calls */

static int probe_no_new_privs(struct probe_answer *a)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return probe_fail(a, errno, "setting no_new_privs");
	return 0;
}

/* Installs a filter that does `action` for getppid() and allows the rest. */
static long probe_install_filter(uint32_t action, unsigned flags)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS, 0 /* nr */),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_getppid, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, action),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog program = { .len = ROWS(code), .filter = code };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0)
		return -1;
	return syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags, &program);
}

static int probe_seccomp(struct probe_answer *a)
{
	if (probe_install_filter(SECCOMP_RET_ERRNO | ANSWER % 4096, 0) < 0)
		return probe_fail(a, errno, "installing a filter");
	if (syscall(SYS_getppid) != -1 || errno != ANSWER % 4096)
		return probe_fail(a, EEXIST, "being refused a call by a filter");
	return 0;
}

/* The side that is watched: tells the listener's number through the pipe, then makes the call. */
static _Noreturn void probe_be_watched(int pipe_end)
{
	long fd = probe_install_filter(
		SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE);
	int message[2] = { (int)fd, 1 };

	if (fd < 0 && errno == EINVAL) {
		message[0] = (int)probe_install_filter(
			SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
		message[1] = 0;
	}
	if (message[0] < 0)
		message[0] = -errno;
	if (write(pipe_end, message, sizeof(message)) != sizeof(message) || message[0] < 0)
		_exit(1);
	_exit(syscall(SYS_getppid) == ANSWER ? 0 : 2);
}

static int probe_answer_call(struct probe_answer *a, int listener)
{
	struct seccomp_notif call = { 0 };
	struct seccomp_notif_resp reply = { .val = ANSWER };
	struct pollfd p = { .fd = listener, .events = POLLIN };

	if (poll(&p, 1, PATIENCE_MS) != 1)
		return probe_fail(a, ETIMEDOUT, "waiting for a notification");
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_RECV, &call) < 0)
		return probe_fail(a, errno, "receiving a notification");
	reply.id = call.id;
	if (ioctl(listener, SECCOMP_IOCTL_NOTIF_SEND, &reply) < 0)
		return probe_fail(a, errno, "answering a notification");
	return 0;
}

/* The two share descriptors, so the listener need not be passed. */
static int probe_notify(struct probe_answer *a)
{
	int ends[2], message[2], status, r;
	long pid;

	if (pipe2(ends, O_CLOEXEC) < 0)
		return probe_fail(a, errno, "making a pipe");
	pid = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, NULL);
	if (pid < 0)
		return probe_fail(a, errno, "making a process");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		probe_be_watched(ends[1]);
	}
	if (read(ends[0], message, sizeof(message)) != sizeof(message))
		return probe_fail(a, EIO, "hearing from a watched process");
	if (message[0] < 0)
		return probe_fail(a, -message[0], "installing a filter with a listener");
	r = probe_answer_call(a, message[0]);
	if (r < 0)
		(void)kill((pid_t)pid, SIGKILL);
	if (waitpid((pid_t)pid, &status, __WALL) < 0 || (r == 0 && status != 0))
		return probe_fail(a, EIO, "having an answer heard");
	if (r == 0)
		(void)snprintf(a->detail, sizeof(a->detail), "%s",
			message[1] ? "not disturbed by signals"
				   : "disturbed by signals (before Linux 5.19)");
	return r;
}

static int probe_pidfd(struct probe_answer *a)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int status;
	long pid = syscall(SYS_clone, CLONE_PIDFD, NULL, &p.fd, NULL, NULL);

	if (pid < 0)
		return probe_fail(a, errno, "making a process with a pidfd");
	if (pid == 0) {
		(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
		for (;;)
			(void)pause();
	}
	if (syscall(SYS_pidfd_send_signal, p.fd, SIGKILL, NULL, 0) < 0) {
		int error = errno;

		(void)kill((pid_t)pid, SIGKILL);
		(void)waitpid((pid_t)pid, &status, __WALL);
		return probe_fail(a, error, "signalling through a pidfd");
	}
	if (poll(&p, 1, PATIENCE_MS) != 1)
		return probe_fail(a, ETIMEDOUT, "waiting for a pidfd");
	(void)waitpid((pid_t)pid, &status, __WALL);
	return 0;
}

static int probe_getfd(struct probe_answer *a)
{
	auto_fd self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (self < 0)
		return probe_fail(a, errno, "pidfd_open");
	auto_fd copy = (int)syscall(SYS_pidfd_getfd, self, self, 0);
	return copy < 0 ? probe_fail(a, errno, "pidfd_getfd") : 0;
}

static int probe_openat2(struct probe_answer *a)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	auto_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	return fd < 0 ? probe_fail(a, errno, "openat2") : 0;
}

static int probe_memfd(struct probe_answer *a)
{
	auto_fd fd = memfd_create("corral-probe", MFD_CLOEXEC | NOEXEC_SEAL);

	if (fd < 0)
		return probe_fail(a, errno, "memfd_create with MFD_NOEXEC_SEAL");
	if (fchmod(fd, 0700) == 0)
		return probe_fail(a, EEXIST, "being refused to make a memfd executable");
	return 0;
}

/* Commands get those of the host, and so does the sandbox's first process. */
static int probe_devices(struct probe_answer *a)
{
	static const struct {
		const char *path;
		unsigned minor;
		int flags;
	} rows[] = {
		{ "/dev/null", 3, O_RDWR },
		{ "/dev/zero", 5, O_RDONLY },
		{ "/dev/full", 7, O_RDONLY },
		{ "/dev/random", 8, O_RDONLY },
		{ "/dev/urandom", 9, O_RDONLY },
	};
	enum { MEMORY = 1 }; /* the major number that they all have */

	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fd fd = open(rows[i].path, rows[i].flags | O_NOCTTY | O_CLOEXEC);
		struct stat st = { 0 };
		char step[64];

		(void)snprintf(step, sizeof(step), "opening %s", rows[i].path);
		if (fd < 0)
			return probe_fail(a, errno, step);
		if (fstat(fd, &st) < 0 || !S_ISCHR(st.st_mode) || major(st.st_rdev) != MEMORY ||
			minor(st.st_rdev) != rows[i].minor)
			return probe_fail(a, ENODEV, step);
	}
	return 0;
}

/* clang-format off */
const struct probe_check probe_checks[] = {
	{ PROBE_DEVICES, "/dev/null and the like, which every command has",
		PROBE_REQUIRED, PROBE_AS_IS, probe_devices },
	{ PROBE_USERNS, "every other namespace, without root",
		PROBE_REQUIRED, 0, NULL },
	{ PROBE_MOUNTNS, "a file tree with only what was granted",
		PROBE_REQUIRED, CLONE_NEWNS, probe_mountns },
	{ PROBE_MOUNT_CALLS, "read-only grants without a writable moment",
		PROBE_REQUIRED, CLONE_NEWNS, probe_mount_calls },
	{ PROBE_PIVOT, "hiding the host's file tree",
		PROBE_REQUIRED, CLONE_NEWNS, probe_pivot },
	{ PROBE_PIDNS, "hiding other processes, and stopping all processes of a command",
		PROBE_REQUIRED, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID, probe_pidns },
	{ PROBE_NETNS, "a network without access to the host's",
		PROBE_REQUIRED, CLONE_NEWNET, probe_netns },
	{ PROBE_IPCNS, "separate System V and POSIX queues",
		PROBE_REQUIRED, CLONE_NEWIPC, NULL },
	{ PROBE_UTSNS, "a separate host name",
		PROBE_REQUIRED, CLONE_NEWUTS, probe_utsns },
	{ PROBE_SEALED, "no root in nested namespaces",
		PROBE_REQUIRED, 0, probe_sealed },
	{ PROBE_DEVPTS, "terminals that are not the host's",
		PROBE_REQUIRED, CLONE_NEWNS, probe_devpts },
	{ PROBE_NNP, "disabling set-user-id programs",
		PROBE_REQUIRED, PROBE_AS_IS, probe_no_new_privs },
	{ PROBE_LANDLOCK, "a second layer behind the mounts, and lists of programs",
		PROBE_REQUIRED, PROBE_AS_IS, probe_landlock },
	{ PROBE_SECCOMP, "a list of allowed system calls",
		PROBE_REQUIRED, PROBE_AS_IS, probe_seccomp },
	{ PROBE_PIDFD, "reliable references to processes",
		PROBE_REQUIRED, PROBE_AS_IS, probe_pidfd },
	{ PROBE_OPENAT2, "opening paths without following links",
		PROBE_REQUIRED, PROBE_AS_IS, probe_openat2 },
	{ PROBE_CGROUP, "memory and process limits for a whole command",
		PROBE_USEFUL, PROBE_OURSELF, NULL },
	{ PROBE_PID_MAX, "limits of processes when run by root, without a cgroup",
		PROBE_USEFUL, CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWPID, probe_pid_max },
	{ PROBE_MEMFD, "memfds for commands whose programs are listed",
		PROBE_USEFUL, PROBE_AS_IS, probe_memfd },
	{ PROBE_NFT, "all grants of hosts; without it only names and addresses with ports: no *, "
		"no prefixes, no UDP, no host loopback, no other name servers, and no records of "
		"connections to ports that are not granted",
		PROBE_USEFUL, CLONE_NEWNET, probe_nft },
	{ PROBE_TPROXY, "UDP to single hosts",
		PROBE_USEFUL, CLONE_NEWNET, probe_tproxy },
	{ PROBE_CGROUPNS, "hiding the names of the host's cgroups",
		PROBE_LATER, CLONE_NEWCGROUP, NULL },
	{ PROBE_NOTIFY, "--explain: reporting which files a command was denied (and tier 2)",
		PROBE_USEFUL, PROBE_AS_IS, probe_notify },
	{ PROBE_GETFD, "tier 2",
		PROBE_LATER, PROBE_AS_IS, probe_getfd },
};
/* clang-format on */
const size_t probe_n_checks = ROWS(probe_checks);
_Static_assert(ROWS(probe_checks) <= PROBE_FINDINGS_MAX, "more checks than findings");
