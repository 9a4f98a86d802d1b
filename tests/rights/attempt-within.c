/* SPDX-License-Identifier: Apache-2.0 */
/*
 * attempt-within PID: what a running process may do, found by letting it try. It is stopped
 * (ptrace), makes each system call of a table by an instruction of its vDSO, and goes on where it
 * was. No call of the table changes anything: arguments are invalid behind the point where a
 * filter, Landlock or a missing capability refuses. Prints one line for each.
 */
#include <ctype.h>
#include <elf.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/prctl.h>
#include <sched.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/ptrace.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>
#include <unistd.h>

enum { ROOM = 512, BELOW = 65536, BAD = 1 };

/* How a result is printed. */
enum form {
	FORM_CALL,  /* "yes" or the error's name */
	FORM_FD,    /* the same; a descriptor is closed again */
	FORM_VALUE, /* the number that is returned */
	FORM_ROOM,  /* the number that was written to the memory lent to it */
};

/* A word among the arguments that stands for something of the process. */
#define TEXT (INT64_MIN + 1)   /* the address of the row's text */
#define LENT (INT64_MIN + 2)   /* the address of memory lent to it */
#define PARENT (INT64_MIN + 3) /* the process that started it, as it sees it */

static const struct row {
	const char *name;
	enum form form;
	long number;
	const char *text;
	int64_t args[6];
} rows[] = {
	{ "parent-death signal", FORM_ROOM, SYS_prctl, NULL, { PR_GET_PDEATHSIG, LENT } },
	{ "dumpable", FORM_VALUE, SYS_prctl, NULL, { PR_GET_DUMPABLE } },
	{ "securebits", FORM_VALUE, SYS_prctl, NULL, { PR_GET_SECUREBITS } },
	{ "list /", FORM_FD, SYS_openat, "/", { AT_FDCWD, TEXT, O_RDONLY | O_DIRECTORY } },
	{ "read /etc", FORM_FD, SYS_openat, "/etc/passwd", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "read /usr", FORM_FD, SYS_openat, "/usr/bin/env", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "read /proc/self", FORM_FD, SYS_openat, "/proc/self/stat", { AT_FDCWD, TEXT, O_RDONLY } },
	{ "write /dev/null", FORM_FD, SYS_openat, "/dev/null", { AT_FDCWD, TEXT, O_WRONLY } },
	{ "write in /tmp", FORM_FD, SYS_openat, "/tmp",
		{ AT_FDCWD, TEXT, O_TMPFILE | O_RDWR, 0600 } },
	/* Arguments are read after the file was opened. */
	{ "execute /usr/bin/env", FORM_CALL, SYS_execve, "/usr/bin/env", { TEXT, BAD, BAD } },
	{ "socket of IPv4", FORM_FD, SYS_socket, NULL, { AF_INET, SOCK_STREAM } },
	{ "datagrams of IPv4", FORM_FD, SYS_socket, NULL, { AF_INET, SOCK_DGRAM } },
	{ "Unix socket", FORM_FD, SYS_socket, NULL, { AF_UNIX, SOCK_STREAM } },
	{ "Unix datagrams", FORM_FD, SYS_socket, NULL, { AF_UNIX, SOCK_DGRAM } },
	{ "netlink socket", FORM_FD, SYS_socket, NULL, { AF_NETLINK, SOCK_RAW } },
	{ "connect", FORM_CALL, SYS_connect, NULL, { -1 } },
	{ "bind", FORM_CALL, SYS_bind, NULL, { -1 } },
	{ "accept", FORM_CALL, SYS_accept4, NULL, { -1 } },
	{ "executable memory file", FORM_FD, SYS_memfd_create, "x", { TEXT, 0 } },
	{ "signal to the parent", FORM_CALL, SYS_kill, NULL, { PARENT, 0 } },
	{ "ptrace", FORM_CALL, SYS_ptrace, NULL, { PTRACE_PEEKDATA, -1 } },
	{ "read memory of others", FORM_CALL, SYS_process_vm_readv, NULL, { -1, BAD, 1, BAD, 1 } },
	{ "new namespace", FORM_CALL, SYS_unshare, NULL, { CLONE_FS | (int64_t)1 << 40 } },
	{ "enter a namespace", FORM_CALL, SYS_setns, NULL, { -1 } },
	{ "mount", FORM_CALL, SYS_mount, NULL, { BAD, BAD, BAD } },
	{ "change the root", FORM_CALL, SYS_chroot, NULL, { BAD } },
	{ "open by handle", FORM_CALL, SYS_open_by_handle_at, NULL, { -1, BAD } },
	{ "make a device", FORM_CALL, SYS_mknodat, NULL, { AT_FDCWD, BAD, 0 } },
	{ "set the hard limit of files", FORM_CALL, SYS_prlimit64, NULL, { 0, 7, BAD } },
	{ "keys", FORM_CALL, SYS_keyctl, NULL, { -1 } },
	{ "BPF", FORM_CALL, SYS_bpf, NULL, { -1 } },
	{ "System V IPC", FORM_CALL, SYS_msgctl, NULL, { -1, -1 } },
	{ "POSIX queue", FORM_CALL, SYS_mq_unlink, NULL, { BAD } },
	{ "one more filter", FORM_CALL, SYS_seccomp, NULL, { -1 } },
};

struct process {
	pid_t pid;
	long long parent;
	struct user_regs_struct saved;
	uint64_t call; /* a system call's instruction */
	uint64_t lent; /* memory below its stack */
};

static _Noreturn void fail(const char *what)
{
	(void)fprintf(stderr, "attempt-within: %s: %s\n", what, strerror(errno));
	exit(1);
}

static void transfer(const struct process *p, uint64_t at, void *data, size_t n, int is_read)
{
	char path[64];
	int fd;

	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)p->pid);
	fd = open(path, O_RDWR | O_CLOEXEC);
	if (fd < 0 || (is_read ? pread(fd, data, n, (off_t)at) : pwrite(fd, data, n, (off_t)at)) !=
			      (ssize_t)n)
		fail(path);
	(void)close(fd);
}

static uint64_t find_call(const struct process *p)
{
	static const unsigned char code[] = { 0x0f, 0x05 };
	static unsigned char page[1 << 16];
	char path[64], line[512];
	unsigned long begin = 0, end = 0;
	FILE *maps;
	unsigned char *found;

	(void)snprintf(path, sizeof(path), "/proc/%d/maps", (int)p->pid);
	maps = fopen(path, "re");
	if (!maps)
		fail(path);
	while (fgets(line, sizeof(line), maps)) {
		char *rest;

		if (!strstr(line, "[vdso]"))
			continue;
		begin = strtoul(line, &rest, 16);
		end = *rest == '-' ? strtoul(rest + 1, NULL, 16) : begin;
		break;
	}
	(void)fclose(maps);
	if (end - begin == 0 || end - begin > sizeof(page))
		fail("no vDSO");
	transfer(p, begin, page, end - begin, 1);
	found = memmem(page, end - begin, code, sizeof(code));
	if (!found)
		fail("the vDSO makes no system call");
	return begin + (uint64_t)(found - page);
}

static void await_stop(const struct process *p)
{
	int status;

	if (waitpid(p->pid, &status, __WALL) != p->pid || !WIFSTOPPED(status))
		fail("the process did not stop");
}

static void stop(struct process *p)
{
	if (ptrace(PTRACE_SEIZE, p->pid, NULL, (void *)PTRACE_O_TRACESYSGOOD) < 0 ||
		ptrace(PTRACE_INTERRUPT, p->pid, NULL, NULL) < 0)
		fail("cannot stop the process");
	await_stop(p);
	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &p->saved) < 0)
		fail("registers");
	p->call = find_call(p);
	p->lent = (p->saved.rsp - BELOW) & ~UINT64_C(15);
}

/* A call that was interrupted is made again. */
static void go_on(struct process *p)
{
	enum { RESTARTSYS = 512, RESTARTBLOCK = 516 };
	const long long result = (long long)p->saved.rax;

	if ((long long)p->saved.orig_rax >= 0 && result <= -RESTARTSYS && result >= -RESTARTBLOCK) {
		p->saved.rax = p->saved.orig_rax;
		p->saved.rip -= 2;
	}
	p->saved.orig_rax = (unsigned long long)-1;
	if (ptrace(PTRACE_SETREGS, p->pid, NULL, &p->saved) < 0 ||
		ptrace(PTRACE_DETACH, p->pid, NULL, NULL) < 0)
		fail("cannot let the process go on");
}

static long long make_call(const struct process *p, long number, const int64_t args[6])
{
	struct user_regs_struct r = p->saved;

	r.rip = p->call;
	r.orig_rax = (unsigned long long)-1;
	r.rax = (unsigned long long)number;
	r.rdi = (unsigned long long)args[0];
	r.rsi = (unsigned long long)args[1];
	r.rdx = (unsigned long long)args[2];
	r.r10 = (unsigned long long)args[3];
	r.r8 = (unsigned long long)args[4];
	r.r9 = (unsigned long long)args[5];
	if (ptrace(PTRACE_SETREGS, p->pid, NULL, &r) < 0)
		fail("registers");
	/* To its entry, and to its end. */
	for (int i = 0; i < 2; i++) {
		if (ptrace(PTRACE_SYSCALL, p->pid, NULL, NULL) < 0)
			fail("cannot make a call");
		await_stop(p);
	}
	if (ptrace(PTRACE_GETREGS, p->pid, NULL, &r) < 0)
		fail("registers");
	return (long long)r.rax;
}

static int64_t replaced(const struct process *p, int64_t arg)
{
	switch (arg) {
	case TEXT:
	case LENT:
		return (int64_t)p->lent;
	case PARENT:
		return p->parent;
	default:
		return arg;
	}
}

static void attempt(const struct process *p, const struct row *row)
{
	char room[ROOM] = { 0 };
	int64_t args[6];
	long long r;
	int value;

	if (row->text)
		(void)snprintf(room, sizeof(room), "%s", row->text);
	transfer(p, p->lent, room, sizeof(room), 0);
	for (size_t i = 0; i < 6; i++)
		args[i] = replaced(p, row->args[i]);
	r = make_call(p, row->number, args);
	if (row->form == FORM_ROOM && r == 0) {
		transfer(p, p->lent, &value, sizeof(value), 1);
		(void)printf("%s: %d\n", row->name, value);
	} else if (row->form == FORM_VALUE && r >= 0) {
		(void)printf("%s: %lld\n", row->name, r);
	} else if (r < 0) {
		(void)printf("%s: %s\n", row->name, strerrorname_np((int)-r));
	} else {
		(void)printf("%s: yes\n", row->name);
		if (row->form == FORM_FD)
			(void)make_call(p, SYS_close, (int64_t[6]){ r });
	}
}

int main(int argc, char **argv)
{
	struct process p = { 0 };
	char kept[ROOM];

	if (argc != 2) {
		(void)fputs("usage: attempt-within PID\n", stderr);
		return 2;
	}
	p.pid = (pid_t)strtol(argv[1], NULL, 10);
	stop(&p);
	transfer(&p, p.lent, kept, sizeof(kept), 1);
	p.parent = make_call(&p, SYS_getppid, (int64_t[6]){ 0 });
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++)
		attempt(&p, &rows[i]);
	transfer(&p, p.lent, kept, sizeof(kept), 0);
	go_on(&p);
	return 0;
}
