// SPDX-License-Identifier: Apache-2.0
/*
 * Other processes: to read and write their memory, take their descriptors, signal them, change how
 * the kernel treats them. The victim is a process outside of the same user; the keeper is pid 1
 * inside (bare, a process that may die stands for it).
 *
 * A signal carries no name, so each of these attempts has one of its own and the victim tells which
 * it got: signal SIGRTMIN+n is the attempt with that number in signals.h.
 */
#include <errno.h>
#include <fcntl.h>
#include <linux/kcmp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/ptrace.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "attempt.h"
#include "signals.h"

static pid_t target(const struct attempt *a)
{
	return (pid_t)scene_number(a->arg);
}

static int my_signal(const struct attempt *a)
{
	for (int i = 0; i < N_SIGNALS; i++)
		if (!strcmp(signal_names[i], a->name))
			return SIGRTMIN + i;
	broken("no signal for %s", a->name);
}

static int pt_attach(const struct attempt *a)
{
	int v = verdict(ptrace(PTRACE_ATTACH, target(a), NULL, NULL));

	if (v == ESCAPED) {
		waitpid(target(a), NULL, __WALL);
		ptrace(PTRACE_DETACH, target(a), NULL, NULL);
	}
	return v;
}

static int pt_seize(const struct attempt *a)
{
	int v = verdict(ptrace(PTRACE_SEIZE, target(a), NULL, NULL));

	if (v == ESCAPED && ptrace(PTRACE_INTERRUPT, target(a), NULL, NULL) == 0) {
		waitpid(target(a), NULL, __WALL);
		ptrace(PTRACE_DETACH, target(a), NULL, NULL);
	}
	return v;
}

static int vm_read(const struct attempt *a)
{
	char data[64];
	struct iovec here = { data, sizeof(data) };
	struct iovec there = { (void *)scene_number("memory"), sizeof(data) };
	ssize_t n = process_vm_readv(target(a), &here, 1, &there, 1, 0);

	if (n < 0) /* EFAULT comes after the question whether it may */
		return permitted(-1, EFAULT);
	return has_canary(data, (size_t)n) ? verdict(0) : HELD;
}

static int vm_write(const struct attempt *a)
{
	char data[1] = { 'x' };
	struct iovec here = { data, sizeof(data) };
	struct iovec there = { (void *)scene_number("scratch"), sizeof(data) };

	return permitted(process_vm_writev(target(a), &here, 1, &there, 1, 0), EFAULT);
}

static int kcmp_files(const struct attempt *a)
{
	return verdict(syscall(SYS_kcmp, getpid(), target(a), KCMP_VM, 0, 0));
}

static int fd_open(const struct attempt *a)
{
	return verdict(syscall(SYS_pidfd_open, target(a), 0));
}

static int fd_get(const struct attempt *a)
{
	int pidfd = (int)syscall(SYS_pidfd_open, target(a), 0);

	for (int i = 3; pidfd >= 0 && i < 64; i++) {
		int fd = (int)syscall(SYS_pidfd_getfd, pidfd, i, 0);

		if (fd < 0 && errno != EBADF)
			return verdict(-1);
		if (fd >= 0)
			return verdict(0);
	}
	return verdict(-1);
}

static int sig_kill(const struct attempt *a)
{
	return claim(kill(target(a), my_signal(a)));
}

static int sig_group(const struct attempt *a)
{
	return claim(kill(-target(a), my_signal(a)));
}

static int sig_tgkill(const struct attempt *a)
{
	return claim(syscall(SYS_tgkill, target(a), target(a), my_signal(a)));
}

static int sig_tkill(const struct attempt *a)
{
	return claim(syscall(SYS_tkill, target(a), my_signal(a)));
}

static int sig_queue(const struct attempt *a)
{
	return claim(sigqueue(target(a), my_signal(a), (union sigval){ .sival_int = 1 }));
}

static int sig_pidfd(const struct attempt *a)
{
	int fd = (int)syscall(SYS_pidfd_open, target(a), 0);

	return claim(fd < 0 ? -1 : syscall(SYS_pidfd_send_signal, fd, my_signal(a), NULL, 0));
}

static int sig_owner(const struct attempt *a)
{
	int sv[2];

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, sv) < 0)
		broken("socketpair: %s", strerror(errno));
	if (fcntl(sv[0], F_SETOWN, target(a)) < 0 || fcntl(sv[0], F_SETSIG, my_signal(a)) < 0 ||
		fcntl(sv[0], F_SETFL, O_ASYNC) < 0)
		return verdict(-1);
	return claim(write(sv[1], "x", 1));
}

/* Inside, whoever kills pid 1 kills everything, this process too: then no result comes at all. */
static int keeper_signal(const struct attempt *a)
{
	pid_t pid = (pid_t)scene_number(format("mortal-%s", a->name));
	int sig = *(const int *)a->arg;

	if (kill(pid, sig) < 0)
		return verdict(-1);
	/* Bare, it is another process, which may have to wait until it runs. */
	for (int i = 0; i < (pid == 1 ? 100 : 20000); i++) {
		char path[64], state[512] = "";
		int fd;

		snprintf(path, sizeof(path), "/proc/%d/stat", pid);
		fd = open(path, O_RDONLY);
		if (fd < 0 || read(fd, state, sizeof(state) - 1) <= 0)
			return verdict(0);
		close(fd);
		if (strstr(state, ") T") || strstr(state, ") Z") || strstr(state, ") X"))
			return verdict(0);
		poll(NULL, 0, 1);
	}
	note("pid 1 does not care");
	return HELD;
}

static int nice_other(const struct attempt *a)
{
	return verdict(setpriority(PRIO_PROCESS, (id_t)target(a), 19));
}

static int affinity_other(const struct attempt *a)
{
	cpu_set_t set;

	if (sched_getaffinity(0, sizeof(set), &set) < 0)
		broken("affinity: %s", strerror(errno));
	return verdict(sched_setaffinity(target(a), sizeof(set), &set));
}

static int scheduler_other(const struct attempt *a)
{
	const struct sched_param param = { 0 };

	return verdict(sched_setscheduler(target(a), SCHED_BATCH, &param));
}

static int ioprio_other(const struct attempt *a)
{
	return verdict(syscall(SYS_ioprio_set, 1, target(a), 2 << 13 | 7));
}

static int prlimit_other(const struct attempt *a)
{
	struct rlimit limit;

	if (prlimit(target(a), RLIMIT_CORE, NULL, &limit) < 0)
		return verdict(-1);
	return verdict(prlimit(target(a), RLIMIT_CORE, &limit, NULL));
}

static int pages_other(const struct attempt *a)
{
	void *page = (void *)scene_number("memory");
	int status = 0;

	return verdict(syscall(SYS_move_pages, target(a), 1UL, &page, NULL, &status, 0));
}

static int madvise_other(const struct attempt *a)
{
	int fd = (int)syscall(SYS_pidfd_open, target(a), 0);
	long page = sysconf(_SC_PAGESIZE);
	struct iovec there = { (void *)(scene_number("memory") & ~(page - 1)), (size_t)page };

	return verdict(fd < 0 ? -1 : syscall(SYS_process_madvise, fd, &there, 1UL, MADV_COLD, 0));
}

static int robust_other(const struct attempt *a)
{
	void *head;
	size_t n;

	return verdict(syscall(SYS_get_robust_list, target(a), &head, &n));
}

static int getsid_other(const struct attempt *a)
{
	return verdict(getsid(target(a)));
}

static const int sig_9 = SIGKILL, sig_stop = SIGSTOP, sig_segv = SIGSEGV;

static const struct attempt table[] = {
	{ "ptrace-attach", "default", "", "a debugger takes over a process outside", pt_attach,
		"victim" },
	{ "ptrace-seize", "default", "", "the same by PTRACE_SEIZE", pt_seize, "victim" },
	{ "ptrace-keeper", "default", "", "a debugger takes over pid 1 and its rights", pt_seize,
		"keeper" },
	{ "vm-read", "default", "", "process_vm_readv reads another's memory", vm_read, "victim" },
	{ "vm-write", "default", "", "process_vm_writev writes another's memory", vm_write,
		"victim" },
	{ "vm-read-keeper", "default", "", "process_vm_readv reads the memory of pid 1", vm_read,
		"keeper" },
	{ "vm-write-keeper", "default", "", "process_vm_writev changes pid 1", vm_write, "keeper" },
	{ "kcmp-victim", "default", "", "kcmp tells where objects of another process lie",
		kcmp_files, "victim" },
	{ "kcmp-keeper", "default", "", "kcmp tells about pid 1", kcmp_files, "keeper" },
	{ "pidfd-open", "default", "", "a pidfd of a process outside", fd_open, "victim" },
	{ "pidfd-getfd", "default", "", "pidfd_getfd takes a descriptor of a process outside",
		fd_get, "victim" },
	{ "pidfd-getfd-keeper", "default", "", "pidfd_getfd takes a descriptor of pid 1", fd_get,
		"keeper" },
	{ "signal-kill", "default", "", "kill() reaches a process outside", sig_kill, "victim" },
	{ "signal-group", "default", "", "kill() reaches a process group outside", sig_group,
		"victim" },
	{ "signal-tgkill", "default", "", "tgkill() reaches a thread outside", sig_tgkill,
		"victim" },
	{ "signal-tkill", "default", "", "tkill() reaches a thread outside", sig_tkill, "victim" },
	{ "signal-queue", "default", "", "sigqueue() reaches a process outside", sig_queue,
		"victim" },
	{ "signal-pidfd", "default", "", "pidfd_send_signal() reaches a process outside", sig_pidfd,
		"victim" },
	{ "signal-owner", "default", "", "F_SETOWN lets the kernel send the signal", sig_owner,
		"victim" },
	{ "signal-keeper-kill", "default", "", "killing pid 1 ends the guard", keeper_signal,
		&sig_9 },
	{ "signal-keeper-stop", "default", "", "stopping pid 1 stops the guard", keeper_signal,
		&sig_stop },
	{ "signal-keeper-fault", "default", "", "a signal that pid 1 did not expect ends it",
		keeper_signal, &sig_segv },
	{ "sched-nice", "default", "", "a process outside can be slowed down", nice_other,
		"victim" },
	{ "sched-affinity", "default", "", "a process outside can be bound to a processor",
		affinity_other, "victim" },
	{ "sched-class", "default", "", "a process outside gets another scheduler", scheduler_other,
		"victim" },
	{ "sched-ioprio", "default", "", "a process outside gets less disk", ioprio_other,
		"victim" },
	{ "prlimit-victim", "default", "", "limits of a process outside can be set", prlimit_other,
		"victim" },
	{ "prlimit-keeper", "default", "", "limits of pid 1 can be set, so that it fails",
		prlimit_other, "keeper" },
	{ "pages-move", "default", "", "move_pages tells about memory of a process outside",
		pages_other, "victim" },
	{ "pages-madvise", "default", "SYS_NICE",
		"process_madvise pages out memory of a process outside", madvise_other, "victim" },
	{ "robust-list", "default", "", "get_robust_list gives addresses of a process outside",
		robust_other, "victim" },
	{ "session-of-other", "default", "", "getsid tells that a process outside exists",
		getsid_other, "victim" },
};
THEME(process, "Other processes", table);
