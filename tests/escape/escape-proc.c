// SPDX-License-Identifier: Apache-2.0
/*
 * /proc and /sys: other processes' roots, descriptors, memory and environment, and the switches of
 * the kernel. "The victim" is a process outside that has a canary in its memory, its environment
 * and its arguments, an open file with one, and the folder OUT as its current one. "The keeper" is
 * pid 1 inside, which knows more than the command; bare, the victim stands for it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "attempt.h"

static char *proc(const struct attempt *a, const char *rest)
{
	return format("/proc/%ld/%s", scene_number(a->arg), rest);
}

static int proc_root(const struct attempt *a)
{
	return canary_file(format("%s%s", proc(a, "root"), out_file(a)));
}

static int proc_task_root(const struct attempt *a)
{
	const char *task = format("task/%ld/root", scene_number(a->arg));

	return canary_file(format("%s%s", proc(a, task), out_file(a)));
}

static int proc_cwd(const struct attempt *a)
{
	return canary_file(format("%s/%s", proc(a, "cwd"), a->name));
}

static int proc_environ(const struct attempt *a)
{
	return canary_file(proc(a, "environ"));
}

static int proc_cmdline(const struct attempt *a)
{
	return canary_file(proc(a, "cmdline"));
}

static int scan_fds(const char *folder)
{
	DIR *d = opendir(folder);
	struct dirent *e;
	int v;

	if (!d)
		return verdict(-1);
	while ((e = readdir(d))) {
		struct stat st;
		const char *path = format("%s/%s", folder, e->d_name);

		if (stat(path, &st) < 0 || !S_ISREG(st.st_mode))
			continue;
		v = canary_file(path);
		if (v == ESCAPED)
			return v;
	}
	note("no descriptor with a canary");
	return HELD;
}

static int proc_fd(const struct attempt *a)
{
	return scan_fds(proc(a, "fd"));
}

static int proc_fdinfo(const struct attempt *a)
{
	DIR *d = opendir(proc(a, "fdinfo"));
	int n = 0;

	if (!d)
		return verdict(-1);
	while (readdir(d))
		n++;
	note("%d entries", n);
	return n > 2 ? ESCAPED : HELD;
}

static int proc_mem_read(const struct attempt *a)
{
	char data[64];
	int fd = open(proc(a, "mem"), O_RDONLY);
	ssize_t n = fd < 0 ? -1 : pread(fd, data, sizeof(data), (off_t)scene_number("memory"));

	if (n < 0)
		return verdict(-1);
	return has_canary(data, (size_t)n) ? verdict(0) : HELD;
}

static int proc_mem_write(const struct attempt *a)
{
	int fd = open(proc(a, "mem"), O_RDWR);

	/* EIO: nothing is at that address, but it may. */
	return permitted(fd < 0 ? -1 : pwrite(fd, "x", 1, (off_t)scene_number("scratch")), EIO);
}

/* The whole memory of pid 1 is readable if its maps are. */
static int proc_mem_scan(const struct attempt *a)
{
	FILE *maps = fopen(proc(a, "maps"), "re");
	int fd = open(proc(a, "mem"), O_RDONLY);
	static char data[1 << 16];
	unsigned long from, to;
	char line[512];

	if (!maps || fd < 0)
		return verdict(-1);
	while (fgets(line, sizeof(line), maps)) {
		char *end;

		from = strtoul(line, &end, 16);
		to = strtoul(end + 1, NULL, 16);
		if (to - from > 1 << 24)
			continue;
		for (; from < to; from += sizeof(data)) {
			ssize_t n = pread(fd, data, sizeof(data), (off_t)from);

			if (n > 0 && has_canary(data, (size_t)n))
				return verdict(0);
		}
	}
	note("no canary in it");
	return HELD;
}

static int proc_visible(const struct attempt *a)
{
	char comm[32] = "";
	int fd = open(proc(a, "comm"), O_RDONLY);
	ssize_t n = fd < 0 ? -1 : read(fd, comm, sizeof(comm) - 1);

	if (n < 0)
		return verdict(-1);
	note("%s", comm);
	return !strncmp(comm, "victim", 6) ? ESCAPED : HELD;
}

/* Whoever holds the file of a program that runs as someone else can write it once that has ended.
 */
static int proc_exe(const struct attempt *a)
{
	return verdict(open(proc(a, "exe"), O_PATH | O_CLOEXEC));
}

/* Addresses, in the program's own words. */
static int proc_file(const struct attempt *a, const char *name)
{
	char data[64];
	int fd = open(proc(a, name), O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? -1 : read(fd, data, sizeof(data));

	if (n < 0)
		return verdict(-1);
	note("%zd bytes", n);
	return n > 0 ? ESCAPED : HELD;
}

static int proc_auxv(const struct attempt *a)
{
	return proc_file(a, "auxv");
}

static int proc_maps(const struct attempt *a)
{
	return proc_file(a, "maps");
}

static int proc_oom(const struct attempt *a)
{
	int fd = open(proc(a, "oom_score_adj"), O_WRONLY);

	return verdict(fd < 0 ? -1 : write(fd, "1000", 4));
}

/* Every process that can be seen, whoever it is: its file NAME, looked through for a canary. */
static int scan_all(const struct attempt *a)
{
	DIR *d = opendir("/proc");
	struct dirent *e;
	int seen = 0;

	if (!d)
		return verdict(-1);
	while ((e = readdir(d))) {
		const char *path = format("/proc/%s/%s", e->d_name, (const char *)a->arg);

		if (!isdigit((unsigned char)e->d_name[0]))
			continue;
		seen++;
		if ((!strcmp(a->arg, "fd") ? scan_fds(path) : canary_file(path)) == ESCAPED)
			return ESCAPED;
	}
	note("%d processes, no canary", seen);
	return HELD;
}

static int scan_roots(const struct attempt *a)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	if (!d)
		return verdict(-1);
	while ((e = readdir(d)))
		if (isdigit((unsigned char)e->d_name[0]) &&
			canary_file(format("/proc/%s/root%s", e->d_name, out_file(a))) == ESCAPED)
			return ESCAPED;
	note("no root of a process shows it");
	return HELD;
}

/* -- switches: written back as they are, so that nothing changes where it works -- */

static int rewrite(const struct attempt *a)
{
	char value[4096];
	int fd = open(a->arg, O_RDONLY);
	ssize_t n = fd < 0 ? 0 : read(fd, value, sizeof(value));

	if (fd < 0 && errno == ENOENT && access("/proc/self", F_OK) == 0) {
		note("no such switch");
		return ABSENT;
	}
	if (fd >= 0)
		close(fd);
	fd = open(a->arg, O_WRONLY);
	return verdict(fd < 0 || n <= 0 ? -1 : write(fd, value, (size_t)n));
}

/* Opening is enough to prove the permission where writing would do harm. */
static int open_write(const struct attempt *a)
{
	int fd = open(a->arg, O_WRONLY);

	if (fd < 0 && errno == ENOENT) {
		note("ENOENT");
		return ABSENT;
	}
	return verdict(fd);
}

static int open_read(const struct attempt *a)
{
	int fd = open(a->arg, O_RDONLY | O_NONBLOCK);

	if (fd < 0 && errno == ENOENT) {
		note("ENOENT");
		return ABSENT;
	}
	return verdict(fd);
}

/* A group of one's own in the hierarchy would lift the limits. Made and removed again. */
static int cgroup_folder(const struct attempt *a)
{
	static const char *const tops[] = { "/sys/fs/cgroup", "/sys/fs/cgroup/unified",
		"/sys/fs/cgroup/memory", "/sys/fs/cgroup/pids" };

	(void)a;
	errno = ENOENT;
	for (size_t i = 0; i < sizeof(tops) / sizeof(*tops); i++) {
		const char *path = format("%s/corral-escape-%d", tops[i], getpid());

		if (access(format("%s/cgroup.procs", tops[i]), F_OK) == 0 &&
			mkdir(path, 0755) == 0) {
			rmdir(path);
			return verdict(0);
		}
	}
	return verdict(-1);
}

static int cgroup_procs(const struct attempt *a)
{
	static const char *const files[] = { "/sys/fs/cgroup/cgroup.procs",
		"/sys/fs/cgroup/unified/cgroup.procs", "/sys/fs/cgroup/memory/cgroup.procs",
		"/sys/fs/cgroup/pids/cgroup.procs" };

	(void)a;
	errno = ENOENT;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (open(files[i], O_WRONLY) >= 0)
			return verdict(0);
	return verdict(-1);
}

static int sys_write(const struct attempt *a)
{
	static const char *const files[] = { "/sys/kernel/mm/transparent_hugepage/enabled",
		"/sys/kernel/uevent_helper", "/sys/power/state", "/sys/kernel/mm/ksm/run",
		"/sys/module/kernel/parameters/panic" };

	(void)a;
	errno = ENOENT;
	for (size_t i = 0; i < sizeof(files) / sizeof(*files); i++)
		if (open(files[i], O_WRONLY) >= 0) {
			note("%s", files[i]);
			return ESCAPED;
		}
	return verdict(-1);
}

static int unix_list(const struct attempt *a)
{
	char line[512];
	FILE *f = fopen("/proc/net/unix", "re");

	(void)a;
	if (!f)
		return verdict(-1);
	while (fgets(line, sizeof(line), f))
		if (strstr(line, scene("abstract")))
			return verdict(0);
	note("the host's sockets are not there");
	return HELD;
}

#define SWITCH(name, file, idea)                                     \
	{                                                            \
		name, "default", "DAC_OVERRIDE", idea, rewrite, file \
	}

static const struct attempt table[] = {
	{ "proc-victim-visible", "default", "", "processes of the host can be seen", proc_visible,
		"victim" },
	{ "proc-victim-root", "default", "",
		"/proc/PID/root of a process outside is the host's root", proc_root, "victim" },
	{ "proc-victim-task-root", "default", "", "the same by /proc/PID/task/TID/root",
		proc_task_root, "victim" },
	{ "proc-victim-cwd", "default", "", "/proc/PID/cwd of a process outside leads out",
		proc_cwd, "victim" },
	{ "proc-victim-fd", "default", "", "open files of a process outside can be reopened",
		proc_fd, "victim" },
	{ "proc-victim-fdinfo", "default", "", "what a process outside has open can be listed",
		proc_fdinfo, "victim" },
	{ "proc-victim-environ", "default", "", "secrets in the environment of a process outside",
		proc_environ, "victim" },
	{ "proc-victim-cmdline", "default", "", "secrets in the arguments of a process outside",
		proc_cmdline, "victim" },
	{ "proc-victim-mem", "default", "", "/proc/PID/mem reads another's memory", proc_mem_read,
		"victim" },
	{ "proc-victim-mem-write", "default", "", "/proc/PID/mem writes another's memory",
		proc_mem_write, "victim" },
	{ "proc-victim-oom", "default", "", "a process outside can be made the first to be killed",
		proc_oom, "victim" },
	{ "proc-keeper-root", "default", "", "pid 1 inside still has the host's root", proc_root,
		"keeper" },
	{ "proc-keeper-cwd", "default", "", "pid 1 inside still stands in a folder outside",
		proc_cwd, "keeper" },
	{ "proc-keeper-fd", "default", "", "pid 1 inside holds descriptors that can be reopened",
		proc_fd, "keeper" },
	{ "proc-keeper-fdinfo", "default", "", "what pid 1 inside holds can be listed", proc_fdinfo,
		"keeper" },
	{ "proc-keeper-environ", "default", "", "pid 1 inside has the caller's environment",
		proc_environ, "keeper" },
	{ "proc-keeper-cmdline", "default", "", "pid 1 inside has the caller's arguments",
		proc_cmdline, "keeper" },
	{ "proc-keeper-exe", "default", "",
		"the program behind pid 1 can be held and overwritten later", proc_exe, "keeper" },
	{ "proc-keeper-auxv", "default", "", "the auxiliary vector of pid 1 tells where things lie",
		proc_auxv, "keeper" },
	{ "proc-keeper-maps", "default", "", "the maps of pid 1 tell where things lie", proc_maps,
		"keeper" },
	{ "proc-keeper-mem", "default", "",
		"the memory of pid 1 inside holds secrets of the caller", proc_mem_scan, "keeper" },
	{ "proc-keeper-mem-write", "default", "",
		"code can be written into pid 1, which has rights", proc_mem_write, "keeper" },
	{ "proc-all-environ", "default", "",
		"some process that can be seen has the caller's environment", scan_all, "environ" },
	{ "proc-all-cmdline", "default", "",
		"some process that can be seen has secrets in its arguments", scan_all, "cmdline" },
	{ "proc-all-fd", "default", "", "some process that can be seen holds a file with secrets",
		scan_all, "fd" },
	{ "proc-all-root", "default", "", "some process that can be seen has the host's root",
		scan_roots, NULL },
	{ "proc-net-unix", "default", "", "/proc/net/unix lists the host's sockets", unix_list,
		NULL },
	SWITCH("sys-core-pattern", "/proc/sys/kernel/core_pattern",
		"a program named there runs as root on the next crash"),
	SWITCH("sys-modprobe", "/proc/sys/kernel/modprobe",
		"a program named there runs as root for an unknown module"),
	SWITCH("sys-hostname", "/proc/sys/kernel/hostname", "the host's name can be changed"),
	SWITCH("sys-printk", "/proc/sys/kernel/printk", "the kernel's log can be silenced"),
	SWITCH("sys-overcommit", "/proc/sys/vm/overcommit_memory", "memory rules of the host"),
	SWITCH("sys-file-max", "/proc/sys/fs/file-max", "limits of the host can be changed"),
	SWITCH("sys-links", "/proc/sys/fs/protected_symlinks",
		"protections of the host can be lifted"),
	SWITCH("sys-ip-forward", "/proc/sys/net/ipv4/ip_forward", "the network's switches"),
	SWITCH("sys-random", "/proc/sys/kernel/randomize_va_space",
		"address randomisation goes off"),
	{ "sys-userns", "default", "SYS_RESOURCE", "nested user namespaces can be allowed again",
		rewrite, "/proc/sys/user/max_user_namespaces" },
	SWITCH("sys-yama", "/proc/sys/kernel/yama/ptrace_scope", "ptrace can be allowed again"),
	{ "sys-sysrq-trigger", "default", "DAC_OVERRIDE", "one letter there reboots the machine",
		open_write, "/proc/sysrq-trigger" },
	{ "sys-binfmt", "default", "DAC_OVERRIDE", "an interpreter registered there runs outside",
		open_write, "/proc/sys/fs/binfmt_misc/register" },
	{ "sys-irq", "default", "DAC_OVERRIDE", "interrupts can be moved", open_write,
		"/proc/irq/default_smp_affinity" },
	{ "sys-kcore", "default", "SYS_RAWIO", "/proc/kcore is all of the memory", open_read,
		"/proc/kcore" },
	{ "sys-kmsg", "default", "SYSLOG", "/proc/kmsg is the kernel's log", open_read,
		"/proc/kmsg" },
	{ "sys-kpageflags", "default", "SYS_ADMIN", "/proc/kpageflags tells about all memory",
		open_read, "/proc/kpageflags" },
	{ "sys-slabinfo", "default", "DAC_OVERRIDE", "/proc/slabinfo helps exploits", open_read,
		"/proc/slabinfo" },
	{ "sys-timer-list", "default", "DAC_OVERRIDE",
		"/proc/timer_list names the host's processes", open_read, "/proc/timer_list" },
	{ "sys-vmallocinfo", "default", "DAC_OVERRIDE", "/proc/vmallocinfo helps exploits",
		open_read, "/proc/vmallocinfo" },
	{ "sys-pagetypeinfo", "default", "DAC_OVERRIDE", "/proc/pagetypeinfo helps exploits",
		open_read, "/proc/pagetypeinfo" },
	{ "sys-keys", "default", "", "/proc/keys names the keys of all programs of the user",
		open_read, "/proc/keys" },
	{ "sys-key-users", "default", "", "/proc/key-users counts the keys of all users", open_read,
		"/proc/key-users" },
	{ "sys-locks", "default", "", "/proc/locks shows which files the host's programs lock",
		open_read, "/proc/locks" },
	{ "sys-interrupts", "default", "", "/proc/interrupts counts the keys that are typed",
		open_read, "/proc/interrupts" },
	{ "sys-kallsyms", "default", "", "/proc/kallsyms helps exploits", open_read,
		"/proc/kallsyms" },
	{ "sys-sched-debug", "default", "", "/proc/sched_debug names the host's processes",
		open_read, "/proc/sched_debug" },
	{ "sys-zoneinfo", "default", "", "/proc/zoneinfo tells about all memory", open_read,
		"/proc/zoneinfo" },
	{ "sys-sysfs", "default", "DAC_OVERRIDE", "a switch in /sys can be set", sys_write, NULL },
	{ "sys-cgroup-mkdir", "default", "DAC_OVERRIDE", "a cgroup of one's own lifts the limits",
		cgroup_folder, NULL },
	{ "sys-cgroup-procs", "default", "DAC_OVERRIDE", "processes can be moved to another cgroup",
		cgroup_procs, NULL },
};
THEME(proc, "/proc and /sys", table);
