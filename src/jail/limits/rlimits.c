/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One row for each limit. All run between fork and exec, so nothing here allocates or locks.
 *
 * Memory is RLIMIT_DATA: writable private memory of one process, the heap and anonymous mappings.
 * RLIMIT_AS would count reserved address space too, which Go, Node and every sanitizer take by the
 * gigabyte and never touch. It still counts what was never touched, such as the stacks of threads
 * (8 MB each), so it is set well above the limit: it stops a leap, and the tally holds the limit.
 *
 * RLIMIT_NPROC counts per user and user namespace, so all commands of a sandbox share it, and the
 * kernel does not apply it to the real root. For that there is kernel.pid_max of the command's own
 * pid namespace. Its numbers wrap around to 300, not to 1, so after some hundreds of processes only
 * those between 300 and pid_max can be given out: the cap has to be 300 + pids at least, or a
 * script that forks 300 times in a row would stop. Numbers of dead processes stay taken while they
 * name a process group or a session, hence twice the pids.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/sysinfo.h>
#include <sys/utsname.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/rlimits.h"

enum {
	RESERVED_PIDS = 300,     /* the kernel's constant: where numbers wrap around to */
	PID_MAX_LIMIT = 4194304, /* the kernel's, on 64-bit machines */
	STACKS = 256 << 20,
};

static uint64_t rlimits_sum(uint64_t limit, uint64_t more)
{
	return limit < UINT64_MAX - more ? limit + more : UINT64_MAX;
}

static uint64_t rlimits_machine_memory(void)
{
	struct sysinfo machine;

	return sysinfo(&machine) < 0 ? UINT64_MAX : (uint64_t)machine.totalram * machine.mem_unit;
}

/*
 * The one place that trusts a version number. For pid_max trying is no option, because on an older
 * kernel root would succeed, and would have changed the whole machine.
 */
static bool rlimits_is_linux(unsigned long major, unsigned long minor)
{
	struct utsname u;
	unsigned long has_major, has_minor;
	char *end;

	if (uname(&u) < 0)
		return false;
	has_major = strtoul(u.release, &end, 10);
	has_minor = *end == '.' ? strtoul(end + 1, NULL, 10) : 0;
	return has_major > major || (has_major == major && has_minor >= minor);
}

bool rlimits_holds_processes(void)
{
	return geteuid() != 0 && rlimits_is_linux(5, 14);
}

int rlimits_apply(const struct start *s)
{
	/* Twice the memory, or room for the stacks of 32 threads, if that is more. */
	const uint64_t data =
		s->memory == 0 ? 0
			       : rlimits_sum(s->memory, s->memory < STACKS ? STACKS : s->memory);
	const struct {
		__rlimit_resource_t what;
		bool set;
		uint64_t value;
	} rows[] = {
		{ RLIMIT_FSIZE, s->file_size != 0, s->file_size },
		{ RLIMIT_NOFILE, s->open_files != 0, s->open_files },
		/* Past what the machine has it could stop no leap, only those who reserve what they
		 * never touch (sanitizers). */
		{ RLIMIT_DATA, data != 0 && data < rlimits_machine_memory(), data },
		/* Of POSIX message queues, which the tally does not see. */
		{ RLIMIT_MSGQUEUE, s->memory != 0, s->memory / 8 },
		{ RLIMIT_NPROC, s->pids != 0 && rlimits_is_linux(5, 14),
			rlimits_sum(s->pids, RLIMITS_OURS) },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		struct rlimit l;

		if (!rows[i].set)
			continue;
		if (getrlimit(rows[i].what, &l) < 0)
			return -errno;
		if (l.rlim_max == RLIM_INFINITY || l.rlim_max > rows[i].value)
			l.rlim_max = rows[i].value;
		l.rlim_cur = l.rlim_max;
		if (setrlimit(rows[i].what, &l) < 0)
			return -errno;
	}
	return 0;
}

/* What pid_max of a namespace is set to. */
static uint64_t rlimits_last_pid(uint64_t pids)
{
	return pids > PID_MAX_LIMIT / 4 ? PID_MAX_LIMIT : RESERVED_PIDS + 2 * pids;
}

int rlimits_pid_max(int proc_fd, uint64_t pids)
{
	uint64_t max = rlimits_last_pid(pids);
	char text[24];
	int len = snprintf(text, sizeof(text), "%llu\n", (unsigned long long)max + 1);

	/* The first process of a namespace, or one of the session that it leads (jail/beside.h). */
	if (getpid() != 1 && getsid(0) != 1)
		return -EPERM;
	if (!rlimits_is_linux(6, 14))
		return -EOPNOTSUPP;
	if (max == PID_MAX_LIMIT)
		return 0;
	auto_fd fd = openat(proc_fd, "sys/kernel/pid_max", O_WRONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || write(fd, text, (size_t)len) < 0)
		return -errno;
	return 0;
}

bool rlimits_caps_processes(int proc_fd, uint64_t pids)
{
	char text[24] = "";

	if (rlimits_holds_processes())
		return true;
	auto_fd fd = openat(proc_fd, "sys/kernel/pid_max", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	return strtoull(text, NULL, 10) <= rlimits_last_pid(pids) + 1;
}

int rlimits_no_core(void)
{
	const struct rlimit one = { 1, 1 }, none = { 0, 0 };

	if (setrlimit(RLIMIT_CORE, &one) == 0)
		return 0;
	/* Where the host forbade them with a hard limit of 0, there is no way up again. */
	return setrlimit(RLIMIT_CORE, &none) < 0 ? -errno : 0;
}

/* Lowers the hard limit to so many quarters. */
static int rlimits_lower(__rlimit_resource_t what, unsigned quarters)
{
	struct rlimit l;

	if (getrlimit(what, &l) < 0)
		return -errno;
	if (l.rlim_max == RLIM_INFINITY)
		return 0;
	l.rlim_max -= l.rlim_max / 4 * (4 - quarters);
	if (l.rlim_cur > l.rlim_max)
		l.rlim_cur = l.rlim_max;
	return setrlimit(what, &l) < 0 ? -errno : 0;
}

int rlimits_share(void)
{
	int r = rlimits_lower(RLIMIT_SIGPENDING, 1);

	return r < 0 ? r : rlimits_lower(RLIMIT_MSGQUEUE, 2);
}

int rlimits_keep_room(void)
{
	return rlimits_lower(RLIMIT_NOFILE, 3);
}

void rlimits_raise_files(void)
{
	struct rlimit l;

	if (getrlimit(RLIMIT_NOFILE, &l) < 0)
		return;
	l.rlim_cur = l.rlim_max;
	(void)setrlimit(RLIMIT_NOFILE, &l);
}
