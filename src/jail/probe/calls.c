/* SPDX-License-Identifier: Apache-2.0 */
/* System calls that a session leans on, each made once in earnest. */
#include <errno.h>
#include <fcntl.h>
#include <linux/filter.h>
#include <linux/openat2.h>
#include <linux/seccomp.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/ioctl.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/probe/internal.h"

enum {
	NOEXEC_SEAL = 8,        /* MFD_NOEXEC_SEAL, Linux 6.3 */
	WAIT_KILLABLE = 1 << 5, /* SECCOMP_FILTER_FLAG_WAIT_KILLABLE_RECV, Linux 5.19 */
	PATIENCE_MS = 2000,
	ANSWER = 4711,
};

int probe_no_new_privs(struct probe_answer *a)
{
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) < 0 ||
		prctl(PR_GET_NO_NEW_PRIVS, 0, 0, 0, 0) != 1)
		return probe_fail(a, errno, "setting no_new_privs");
	return 0;
}

/* Installs a filter that does `action` for getppid() and allows the rest. */
static long probe_calls_install(uint32_t action, unsigned flags)
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

int probe_seccomp(struct probe_answer *a)
{
	if (probe_calls_install(SECCOMP_RET_ERRNO | ANSWER % 4096, 0) < 0)
		return probe_fail(a, errno, "installing a filter");
	if (syscall(SYS_getppid) != -1 || errno != ANSWER % 4096)
		return probe_fail(a, EEXIST, "being refused a call by a filter");
	return 0;
}

/* The side that is watched: tells the listener's number through the pipe, then makes the call. */
static _Noreturn void be_watched(int pipe_end)
{
	long fd = probe_calls_install(
		SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER | WAIT_KILLABLE);
	int message[2] = { (int)fd, 1 };

	if (fd < 0 && errno == EINVAL) {
		message[0] = (int)probe_calls_install(
			SECCOMP_RET_USER_NOTIF, SECCOMP_FILTER_FLAG_NEW_LISTENER);
		message[1] = 0;
	}
	if (message[0] < 0)
		message[0] = -errno;
	if (write(pipe_end, message, sizeof(message)) != sizeof(message) || message[0] < 0)
		_exit(1);
	_exit(syscall(SYS_getppid) == ANSWER ? 0 : 2);
}

static int answer_call(struct probe_answer *a, int listener)
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
int probe_notify(struct probe_answer *a)
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
		be_watched(ends[1]);
	}
	if (read(ends[0], message, sizeof(message)) != sizeof(message))
		return probe_fail(a, EIO, "hearing from a watched process");
	if (message[0] < 0)
		return probe_fail(a, -message[0], "installing a filter with a listener");
	r = answer_call(a, message[0]);
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

static long clone_with_pidfd(int *ret_pidfd)
{
	return syscall(SYS_clone, CLONE_PIDFD, NULL, ret_pidfd, NULL, NULL);
}

int probe_pidfd(struct probe_answer *a)
{
	struct pollfd p = { .fd = -1, .events = POLLIN };
	int status;
	long pid = clone_with_pidfd(&p.fd);

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

int probe_getfd(struct probe_answer *a)
{
	auto_fd self = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (self < 0)
		return probe_fail(a, errno, "pidfd_open");
	auto_fd copy = (int)syscall(SYS_pidfd_getfd, self, self, 0);
	return copy < 0 ? probe_fail(a, errno, "pidfd_getfd") : 0;
}

int probe_openat2(struct probe_answer *a)
{
	struct open_how how = { .flags = O_PATH | O_CLOEXEC,
		.resolve = RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS };
	auto_fd fd = (int)syscall(SYS_openat2, AT_FDCWD, "/", &how, sizeof(how));

	return fd < 0 ? probe_fail(a, errno, "openat2") : 0;
}

int probe_memfd(struct probe_answer *a)
{
	auto_fd fd = memfd_create("corral-probe", MFD_CLOEXEC | NOEXEC_SEAL);

	if (fd < 0)
		return probe_fail(a, errno, "memfd_create with MFD_NOEXEC_SEAL");
	if (fchmod(fd, 0700) == 0)
		return probe_fail(a, EEXIST, "being refused to make a memfd executable");
	return 0;
}
