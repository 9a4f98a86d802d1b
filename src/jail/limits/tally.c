/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Three ways to count, each dearer than the one before, and each only where that one did not settle
 * it.
 *
 * The whole machine: what it uses is at least what the command uses, however well that is hidden,
 * and so is the number of its threads (/proc/loadavg). For memory, sysinfo() is asked first, which
 * counts what the kernel can drop; /proc/meminfo tells that apart, and costs some 20 µs.
 *
 * The cheap one reads /proc/PID/status (some 12 µs for a process): RssAnon + RssShmem + VmSwap,
 * page tables and huge pages, and Threads. Pages of files are left out: the kernel can drop them
 * whenever it wants, and programs and libraries are shared with the host. Swap is in, or a command
 * under pressure would grow without end. What is there without a process is added (objects.h).
 * After a fork all pages are shared until written, and are counted twice here, as are mapped
 * objects: the sum is an upper bound, so "within the limit" can be trusted.
 *
 * The fair one reads smaps_rollup, where each shared page is split among those that map it, and
 * takes off what is mapped of the objects. It walks page tables, some 400 µs for 100 MB, so it runs
 * only when the cheap sum is over the limit. Who forbids reading it (a process that is not
 * dumpable, if we have no CAP_SYS_PTRACE) is charged the cheap sum: hiding costs more, never less.
 *
 * Not seen by the last two: memory of the kernel for the command's pipes and sockets, and what
 * objects.c names. Between two looks a command can grow by what the machine writes in that time.
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stddef.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/getdents.h"
#include "jail/limits/internal.h"
#include "jail/limits/objects.h"
#include "jail/limits/tally.h"

enum {
	ENTRIES_MAX = 1 << 17, /* of /proc; more processes than that are over any limit */
	READS_MAX = 4096,      /* of one file; 8 MB, more than 32000 SysV objects make of it */
	FAR_MS = 1000,
	SURE_MS = 100,  /* up to here, what is left is counted in full */
	SURE_SHARE = 8, /* past it, so little of it */
	NEAR_MS = 2,
	LONGEST_MS = 500,       /* of what a look costs */
	BYTES_PER_MS = 8 << 20, /* how fast memory can be written */
	TASKS_PER_MS = 32,      /* how fast processes can be made */
	CAPPED_SHARE = 64,      /* how much longer that may take if there is a cap */
};

/* A line of a file in /proc/PID that is wanted. */
struct tally_field {
	const char *name;
	uint64_t value; /* kB, of what is memory */
	bool found;
};

/* Of one process. */
typedef int tally_reader(int proc_fd, const char *pid, struct tally *ret);

uint64_t tally_number(const char *s)
{
	uint64_t n = 0;

	while (*s == ' ' || *s == '\t')
		s++;
	while (*s >= '0' && *s <= '9' && n < UINT64_MAX / 10 - 10)
		n = n * 10 + (uint64_t)(*s++ - '0');
	return n;
}

uint64_t tally_hex(const char **s)
{
	uint64_t n = 0;

	for (;; (*s)++) {
		char c = **s;

		if (c >= '0' && c <= '9')
			n = n << 4 | (uint64_t)(c - '0');
		else if (c >= 'a' && c <= 'f')
			n = n << 4 | (uint64_t)(c - 'a' + 10);
		else
			return n;
	}
}

/* Not snprintf, which need not be safe where we run. */
void tally_path(char ret[32], const char *pid, const char *file)
{
	size_t len = strnlen(pid, 11);

	memcpy(ret, pid, len);
	ret[len++] = '/';
	memcpy(ret + len, file, strlen(file) + 1);
}

/* From its start, wherever it was read to before. */
static int tally_read_open(int fd, tally_line *take, void *context)
{
	char bytes[2048], line[TALLY_LINE_MAX] = { 0 };
	size_t len = 0;
	off_t at = 0;

	for (unsigned reads = 0; reads < READS_MAX; reads++) {
		ssize_t got = pread(fd, bytes, sizeof(bytes), at);

		if (got < 0 && errno == EINTR)
			continue;
		if (got <= 0)
			return got < 0 ? -errno : 0;
		at += got;
		for (ssize_t i = 0; i < got; i++) {
			if (bytes[i] == '\n') {
				line[len] = '\0';
				if (!take(line, context))
					return 0;
				len = 0;
			} else if (len < sizeof(line) - 1) {
				line[len++] = bytes[i];
			}
		}
	}
	return -EFBIG;
}

int tally_read_lines(int folder, const char *path, tally_line *take, void *context)
{
	auto_fd fd = openat(folder, path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd < 0 ? -errno : tally_read_open(fd, take, context);
}

int tally_walk(int folder, tally_entry *take, void *context)
{
	_Alignas(struct getdents_entry) char buffer[8192];
	unsigned entries = 0;

	if (lseek(folder, 0, SEEK_SET) < 0)
		return -errno;
	for (;;) {
		long n = syscall(SYS_getdents64, folder, buffer, sizeof(buffer));

		if (n <= 0)
			return n < 0 ? -errno : 0;
		for (long at = 0; at < n;) {
			const struct getdents_entry *e = (const void *)(buffer + at);
			int r = take(folder, e->name, context);

			if (r < 0)
				return r;
			if (++entries > ENTRIES_MAX)
				return -EOVERFLOW;
			at += e->len;
		}
	}
}

struct tally_fields {
	struct tally_field *rows;
	size_t n, missing;
};

/*
 * The kernel escapes newlines in the names of processes, so no process can write lines of its own
 * into these files.
 */
static bool tally_take_field(const char *line, void *context)
{
	struct tally_fields *f = context;

	for (size_t i = 0; i < f->n; i++) {
		size_t len = strlen(f->rows[i].name);

		if (strncmp(line, f->rows[i].name, len) == 0 && line[len] == ':') {
			f->rows[i].value = tally_number(line + len + 1);
			f->missing -= !f->rows[i].found;
			f->rows[i].found = true;
		}
	}
	return f->missing > 0;
}

/* Fills the fields from a file, up to the last one that is wanted. */
static int tally_read_fields(int folder, const char *path, struct tally_field *rows, size_t n)
{
	struct tally_fields fields = { rows, n, n };

	return tally_read_lines(folder, path, tally_take_field, &fields);
}

/* By the links of a folder: each thread has one. */
static int tally_read_tasks(int proc_fd, const char *pid, struct tally *ret)
{
	struct stat st;
	char path[32];

	tally_path(path, pid, "task");
	if (fstatat(proc_fd, path, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	ret->tasks = st.st_nlink > 2 ? st.st_nlink - 2 : 1;
	return 0;
}

/* What /proc/PID/status has of a process, in the order of the file. */
enum tally_status { RSS_ANON, RSS_SHMEM, TABLES, SWAP, HUGE, THREADS, STATUS_FIELDS };

/* A process that has no memory any more (a dead one) has no Rss lines either. */
static int tally_read_status(int proc_fd, const char *pid, struct tally *ret, uint64_t *ret_rest)
{
	struct tally_field f[STATUS_FIELDS] = {
		[RSS_ANON] = { .name = "RssAnon" },
		[RSS_SHMEM] = { .name = "RssShmem" },
		[TABLES] = { .name = "VmPTE" },
		[SWAP] = { .name = "VmSwap" },
		[HUGE] = { .name = "HugetlbPages" },
		[THREADS] = { .name = "Threads" },
	};
	char path[32];
	int r;

	tally_path(path, pid, "status");
	r = tally_read_fields(proc_fd, path, f, ROWS(f));
	if (r < 0)
		return r;
	ret->tasks = f[THREADS].value ? f[THREADS].value : 1;
	*ret_rest = (f[TABLES].value + f[HUGE].value) * 1024;
	ret->memory = (f[RSS_ANON].value + f[RSS_SHMEM].value + f[SWAP].value) * 1024 + *ret_rest;
	return 0;
}

static int tally_read_cheap(int proc_fd, const char *pid, struct tally *ret)
{
	uint64_t rest;

	return tally_read_status(proc_fd, pid, ret, &rest);
}

/* The objects that are counted by themselves. One look at a time, so there is one of it. */
static struct objects objects;

struct tally_mapped {
	bool is_object;
	uint64_t kb;
	uint64_t pss;
};

/* What is mapped of the objects: pages of a private mapping that were written are the process's. */
static bool tally_take_mapping(const char *line, void *context)
{
	struct tally_mapped *m = context;

	if (line[0] >= 'a' || (line[0] >= '0' && line[0] <= '9')) {
		m->is_object = objects_has_mapping(&objects, line);
		m->pss = 0;
	} else if (m->is_object && strncmp(line, "Pss:", 4) == 0) {
		m->pss = tally_number(line + 4);
	} else if (m->is_object && strncmp(line, "Anonymous:", 10) == 0) {
		uint64_t own = tally_number(line + 10);

		m->kb += m->pss > own ? m->pss - own : 0;
	}
	return true;
}

static int tally_read_fair(int proc_fd, const char *pid, struct tally *ret)
{
	struct tally_field f[] = { { .name = "Pss_Anon" }, { .name = "Pss_Shmem" },
		{ .name = "SwapPss" } };
	struct tally_mapped mapped = { 0 };
	uint64_t shared, rest = 0;
	char path[32];
	int r = tally_read_status(proc_fd, pid, ret, &rest);

	if (r < 0)
		return r;
	tally_path(path, pid, "smaps_rollup");
	r = tally_read_fields(proc_fd, path, f, ROWS(f));
	if (r < 0 || !f[0].found || !f[1].found)
		return 0;
	tally_path(path, pid, "smaps");
	if (objects.bytes > 0 && f[1].value > 0)
		(void)tally_read_lines(proc_fd, path, tally_take_mapping, &mapped);
	shared = f[1].value > mapped.kb ? f[1].value - mapped.kb : 0;
	ret->memory = (f[0].value + shared + f[2].value) * 1024 + rest;
	return 0;
}

static bool tally_is_process(const char *name)
{
	return name[0] >= '1' && name[0] <= '9' && strcmp(name, "1") != 0;
}

/* It may have ended meanwhile: then there is nothing to count. */
static int tally_or_ended(int r)
{
	return r == -ENOENT || r == -ESRCH ? 0 : r;
}

static int tally_judge(const struct tally *t, const struct tally_limits *l)
{
	return (l->memory && t->memory > l->memory ? TALLY_MEMORY : 0) |
	       (l->pids && t->tasks > l->pids ? TALLY_PIDS : 0);
}

struct tally_walking {
	const struct tally_limits *limits;
	tally_reader *read_one;
	struct tally t;
};

/* -ECANCELED: a limit is passed. */
static int tally_add_process(int proc_fd, const char *name, void *context)
{
	struct tally_walking *w = context;
	struct tally one = { 0 };
	int r;

	if (!tally_is_process(name))
		return 0;
	r = w->read_one(proc_fd, name, &one);
	if (r < 0)
		return tally_or_ended(r);
	w->t.memory += one.memory;
	w->t.tasks += one.tasks;
	return tally_judge(&w->t, w->limits) == TALLY_WITHIN ? 0 : -ECANCELED;
}

static int tally_count(int proc_fd, const struct tally_limits *limits, tally_reader *read_one,
	uint64_t memory, struct tally *ret)
{
	struct tally_walking w = { limits, read_one,
		{ .memory = memory, .memory_is_all = read_one == tally_read_tasks } };
	int r = tally_walk(proc_fd, tally_add_process, &w);

	if (r < 0 && r != -ECANCELED)
		return r;
	*ret = w.t;
	return 0;
}

static int tally_add_objects(int proc_fd, const char *name, void *context)
{
	if (!tally_is_process(name))
		return 0;
	return tally_or_ended(objects_add_process(context, proc_fd, name));
}

/* Processes, and what is there without one. */
static int tally_count_memory(int proc_fd, const struct tally_limits *limits, struct tally *ret)
{
	uint64_t enough = limits->memory ? limits->memory : UINT64_MAX;
	int r = objects_begin(&objects, limits->scratch);

	if (r == 0 && objects.bytes <= enough)
		r = tally_walk(proc_fd, tally_add_objects, &objects);
	if (r == 0)
		r = tally_count(proc_fd, limits, tally_read_cheap, objects.bytes, ret);
	if (r == 0 && tally_judge(ret, limits) == TALLY_MEMORY)
		r = tally_count(proc_fd, limits, tally_read_fair, objects.bytes, ret);
	return r;
}

/* What the whole machine uses of what cannot be dropped, in bytes; UINT64_MAX: it does not say. */
static uint64_t tally_machine_used(int meminfo)
{
	/* In the order of the file. */
	struct tally_field f[] = { { .name = "MemTotal" }, { .name = "MemAvailable" },
		{ .name = "SwapTotal" }, { .name = "SwapFree" } };
	struct tally_fields fields = { f, ROWS(f), ROWS(f) };
	int r = tally_read_open(meminfo, tally_take_field, &fields);

	for (size_t i = 0; i < ROWS(f); i++)
		if (r < 0 || !f[i].found)
			return UINT64_MAX;
	if (f[1].value > f[0].value || f[3].value > f[2].value)
		return UINT64_MAX;
	return (f[0].value - f[1].value + f[2].value - f[3].value) * 1024;
}

/* The same or more, where that is far from the limit. */
static uint64_t tally_machine_memory(int meminfo, uint64_t limit)
{
	struct sysinfo i;
	uint64_t used = UINT64_MAX;

	if (sysinfo(&i) == 0)
		used = (uint64_t)(i.totalram - i.freeram + i.totalswap - i.freeswap) * i.mem_unit;
	return used < limit / 2 ? used : tally_machine_used(meminfo);
}

/* "0.00 0.00 0.00 1/234 5678": there are 234 of them. */
static bool tally_take_load(const char *line, void *context)
{
	const char *slash = strchr(line, '/');

	*(uint64_t *)context = slash ? tally_number(slash + 1) : UINT64_MAX;
	return false;
}

static uint64_t tally_machine_tasks(int loadavg)
{
	uint64_t tasks = UINT64_MAX;

	(void)tally_read_open(loadavg, tally_take_load, &tasks);
	return tasks;
}

int tally_open(struct tally_proc *ret)
{
	*ret = TALLY_PROC_NONE;
	ret->folder = open("/proc", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (ret->folder >= 0)
		ret->load = openat(ret->folder, "loadavg", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (ret->load >= 0)
		ret->memory = openat(ret->folder, "meminfo", O_RDONLY | O_CLOEXEC | O_NOFOLLOW);
	if (ret->memory >= 0)
		return 0;

	int r = -errno;
	tally_close(ret);
	return r;
}

void tally_close(struct tally_proc *proc)
{
	fd_close(&proc->folder);
	fd_close(&proc->load);
	fd_close(&proc->memory);
}

int tally_check(const struct tally_proc *proc, const struct tally_limits *limits, struct tally *ret)
{
	uint64_t began = clock_ns(CLOCK_MONOTONIC);
	struct tally machine = { 0 }, t;
	bool by_process = limits->pids == 0;
	int r = 0;

	if (limits->memory) {
		machine.memory = tally_machine_memory(proc->memory, limits->memory);
		by_process = machine.memory > limits->memory;
	}
	if (!by_process)
		machine.tasks = limits->pids ? tally_machine_tasks(proc->load) : 0;
	t = machine;
	t.memory_is_all = t.tasks_is_all = true;
	if (by_process)
		r = tally_count_memory(proc->folder, limits, &t);
	else if (limits->pids && machine.tasks > limits->pids / 2)
		/* Also where that would do: others' threads are no reason to look more often. */
		r = tally_count(proc->folder, limits, tally_read_tasks, machine.memory, &t);
	if (r < 0)
		return r;
	t.cost_us = (clock_ns(CLOCK_MONOTONIC) - began) / 1000;
	if (ret)
		*ret = t;
	return tally_judge(&t, limits);
}

/* How many ms it takes at least to use up the rest; FAR_MS where there is no limit. */
static uint64_t tally_room_ms(uint64_t used, uint64_t limit, uint64_t per_ms, uint64_t times)
{
	uint64_t ms = limit == 0 ? UINT64_MAX : used >= limit ? 0 : (limit - used) / per_ms;

	ms = ms < UINT64_MAX / times ? ms * times : UINT64_MAX;
	if (ms > SURE_MS)
		ms = SURE_MS + (ms - SURE_MS) / SURE_SHARE;
	return ms < FAR_MS ? ms : FAR_MS;
}

int tally_interval_ms(const struct tally *now, const struct tally_limits *limits)
{
	uint64_t memory = tally_room_ms(now->memory, limits->memory, BYTES_PER_MS, 1);
	uint64_t pids = tally_room_ms(
		now->tasks, limits->pids, TASKS_PER_MS, limits->capped ? CAPPED_SHARE : 1);
	uint64_t ms = memory < pids ? memory : pids;
	/* Its cost is a hundredth of the time, or a tenth. */
	uint64_t least = now->cost_us / (ms > SURE_MS / 10 ? 10 : 100);

	if (ms < least)
		ms = least < LONGEST_MS ? least : LONGEST_MS;
	return (int)(ms < NEAR_MS ? NEAR_MS : ms);
}
