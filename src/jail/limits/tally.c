/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two ways to count, a cheap one and a fair one.
 *
 * The cheap one reads /proc/PID/status (some 12 µs for a process): RssAnon + RssShmem + VmSwap, and
 * Threads. Pages of files are left out: the kernel can drop them whenever it wants, and programs
 * and libraries are shared with the host. Swap is in, or a command under pressure would grow
 * without end. After a fork all pages are shared until written, and are counted twice here: the sum
 * is an upper bound, so "within the limit" can be trusted.
 *
 * The fair one reads smaps_rollup, where each shared page is split among those that map it. It
 * walks page tables, some 400 µs for 100 MB, so it runs only when the cheap sum is over the limit.
 * Who forbids reading it (a process that is not dumpable, if we have no CAP_SYS_PTRACE) is charged
 * the cheap sum: hiding costs more, never less.
 *
 * Not seen at all: memory of the kernel on the command's behalf (page tables, pipes, sockets), and
 * files in tmpfs and memfds that are not mapped; mounts are bounded by their own size option. And
 * between two looks a command can grow by what the machine writes in that time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/limits/tally.h"

enum {
	ENTRIES_MAX = 1 << 17, /* of /proc; more processes than that are over any limit */
	READS_MAX = 1024,      /* of one file; 2 MB, far more than 65536 groups make of it */
	FAR_MS = 20,
	NEAR_MS = 2,
};

struct tally_entry {
	uint64_t ino;
	int64_t off;
	unsigned short len;
	unsigned char type;
	char name[];
};

/* A line of a file in /proc/PID that is wanted. */
struct tally_field {
	const char *name;
	uint64_t value; /* kB, of what is memory */
	bool found;
};

/* Of one process. */
typedef int tally_reader(int proc_fd, const char *pid, struct tally *ret);

static uint64_t tally_number(const char *s)
{
	uint64_t n = 0;

	while (*s == ' ' || *s == '\t')
		s++;
	while (*s >= '0' && *s <= '9' && n < UINT64_MAX / 10 - 10)
		n = n * 10 + (uint64_t)(*s++ - '0');
	return n;
}

/*
 * The kernel escapes newlines in the names of processes, so nobody can write lines of his own into
 * these files.
 */
static void tally_take_line(const char *line, struct tally_field *fields, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		size_t len = strlen(fields[i].name);

		if (strncmp(line, fields[i].name, len) == 0 && line[len] == ':') {
			fields[i].value = tally_number(line + len + 1);
			fields[i].found = true;
		}
	}
}

/* The start of the line that is being read; the rest of a long one (Groups:) is passed over. */
struct tally_line {
	char text[64];
	size_t len;
};

/* Fills the fields from a file of /proc/PID. */
static int tally_read_fields(
	int proc_fd, const char *pid, const char *file, struct tally_field *fields, size_t n)
{
	char path[32], bytes[2048];
	struct tally_line line = { .len = 0 };
	size_t len = strnlen(pid, 11);

	/* Not snprintf, which need not be safe where we run. */
	memcpy(path, pid, len);
	path[len++] = '/';
	memcpy(path + len, file, strlen(file) + 1);
	auto_fd fd = openat(proc_fd, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (fd < 0)
		return -errno;
	for (unsigned reads = 0; reads < READS_MAX; reads++) {
		ssize_t got = read(fd, bytes, sizeof(bytes));

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n') {
				line.text[line.len] = '\0';
				tally_take_line(line.text, fields, n);
				line.len = 0;
			} else if (line.len < sizeof(line.text) - 1) {
				line.text[line.len++] = bytes[i];
			}
		}
	}
	return -EFBIG;
}

/* A process that has no memory any more (a dead one) has no Rss lines either. */
static int tally_read_cheap(int proc_fd, const char *pid, struct tally *ret)
{
	struct tally_field f[] = { { .name = "Threads" }, { .name = "RssAnon" },
		{ .name = "RssShmem" }, { .name = "VmSwap" } };
	int r = tally_read_fields(proc_fd, pid, "status", f, ROWS(f));

	if (r < 0)
		return r;
	ret->tasks = f[0].value ? f[0].value : 1;
	ret->memory = (f[1].value + f[2].value + f[3].value) * 1024;
	return 0;
}

static int tally_read_fair(int proc_fd, const char *pid, struct tally *ret)
{
	struct tally_field f[] = { { .name = "Pss_Anon" }, { .name = "Pss_Shmem" },
		{ .name = "SwapPss" } };
	int r = tally_read_cheap(proc_fd, pid, ret);

	if (r < 0)
		return r;
	r = tally_read_fields(proc_fd, pid, "smaps_rollup", f, ROWS(f));
	if (r == 0 && f[0].found && f[1].found)
		ret->memory = (f[0].value + f[1].value + f[2].value) * 1024;
	return 0;
}

/* One process more; not pid 1. It may have ended meanwhile: then there is nothing to count. */
static int tally_add_process(int proc_fd, const char *name, tally_reader *read_one, struct tally *t)
{
	struct tally one = { 0 };
	int r;

	if (name[0] < '1' || name[0] > '9' || strcmp(name, "1") == 0)
		return 0;
	r = read_one(proc_fd, name, &one);
	if (r < 0)
		return r == -ENOENT || r == -ESRCH ? 0 : r;
	t->memory += one.memory;
	t->tasks += one.tasks;
	return 0;
}

static int tally_judge(const struct tally *t, const struct tally_limits *l)
{
	return (l->memory && t->memory > l->memory ? TALLY_MEMORY : 0) |
	       (l->pids && t->tasks > l->pids ? TALLY_PIDS : 0);
}

static int tally_count(
	int proc_fd, const struct tally_limits *limits, tally_reader *read_one, struct tally *ret)
{
	_Alignas(struct tally_entry) char buffer[8192];
	struct tally t = { 0 };

	if (lseek(proc_fd, 0, SEEK_SET) < 0)
		return -errno;
	for (unsigned entries = 0; tally_judge(&t, limits) == TALLY_WITHIN;) {
		long n = syscall(SYS_getdents64, proc_fd, buffer, sizeof(buffer));

		if (n < 0)
			return -errno;
		if (n == 0)
			break;
		for (long at = 0; at < n;) {
			const struct tally_entry *e = (const void *)(buffer + at);
			int r = tally_add_process(proc_fd, e->name, read_one, &t);

			if (r < 0)
				return r;
			if (++entries > ENTRIES_MAX)
				return -EOVERFLOW;
			at += e->len;
		}
	}
	*ret = t;
	return 0;
}

int tally_check(int proc_fd, const struct tally_limits *limits, struct tally *ret)
{
	struct tally t = { 0 };
	int r = tally_count(proc_fd, limits, tally_read_cheap, &t);

	if (r == 0 && tally_judge(&t, limits) == TALLY_MEMORY)
		r = tally_count(proc_fd, limits, tally_read_fair, &t);
	if (r < 0)
		return r;
	if (ret)
		*ret = t;
	return tally_judge(&t, limits);
}

/* What is left of a limit, in 1/64; 64 where there is none. */
static unsigned tally_room(uint64_t used, uint64_t limit)
{
	if (limit == 0)
		return 64;
	if (used >= limit)
		return 0;
	/* Halved until the product fits. */
	for (; limit > UINT64_MAX / 64; limit /= 2)
		used /= 2;
	return (unsigned)((limit - used) * 64 / limit);
}

int tally_interval_ms(const struct tally *now, const struct tally_limits *limits)
{
	unsigned memory = tally_room(now->memory, limits->memory);
	unsigned pids = tally_room(now->tasks, limits->pids);
	/* All of the room: 20 ms; half of it: 10; under a tenth: 2. */
	unsigned ms = (memory < pids ? memory : pids) * FAR_MS / 64;
	/* A look costs some 12 µs for each process: no more than a tenth of the time is for it. */
	unsigned least =
		now->tasks / 8 > FAR_MS - NEAR_MS ? FAR_MS : NEAR_MS + (unsigned)(now->tasks / 8);

	return (int)(ms < least ? least : ms);
}
