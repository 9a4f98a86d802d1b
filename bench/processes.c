/* SPDX-License-Identifier: Apache-2.0 */
#include "processes.h"

#include <ctype.h>
#include <dirent.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { PIDS_MAX = 65536 };

enum { NAME_BYTES = 16 }; /* as the kernel has it */

struct seen {
	pid_t pid, parent;
	char name[NAME_BYTES];
	double processor; /* seconds */
	char state;
	bool below;
};

/* The number after the first line that starts with that name, summed over all such lines. */
static size_t sum_lines(const char *path, const char *name)
{
	FILE *f = fopen(path, "re");
	char line[512];
	size_t sum = 0;

	while (f && fgets(line, sizeof(line), f)) {
		if (strncmp(line, name, strlen(name)) == 0)
			sum += strtoul(line + strlen(name), NULL, 10);
	}
	if (f)
		(void)fclose(f);
	return sum;
}

size_t processes_private_kb(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	return sum_lines(path, "Private_Dirty:") + sum_lines(path, "Shared_Dirty:");
}

size_t processes_pss_kb(pid_t pid)
{
	char path[64];

	(void)snprintf(path, sizeof(path), "/proc/%d/smaps_rollup", pid);
	return sum_lines(path, "Pss:");
}

size_t processes_available_kb(void)
{
	return sum_lines("/proc/meminfo", "MemAvailable:");
}

size_t processes_fds(pid_t pid)
{
	char path[64];
	size_t n = 0;

	(void)snprintf(path, sizeof(path), "/proc/%d/fd", pid);
	DIR *d = opendir(path);
	for (struct dirent *e; d && (e = readdir(d));)
		n += e->d_name[0] != '.';
	if (d)
		(void)closedir(d);
	return n;
}

static size_t mounts(pid_t pid)
{
	char path[64];
	size_t n = 0;
	int c;

	(void)snprintf(path, sizeof(path), "/proc/%d/mountinfo", pid);
	FILE *f = fopen(path, "re");
	while (f && (c = getc(f)) != EOF)
		n += c == '\n';
	if (f)
		(void)fclose(f);
	return n;
}

/* "PID (NAME) STATE PPID …"; a name may hold anything but its last ")" is the last in the line. */
static bool read_stat(const char *pid, struct seen *ret)
{
	char path[64], line[512] = "";

	(void)snprintf(path, sizeof(path), "/proc/%.20s/stat", pid);
	FILE *f = fopen(path, "re");
	size_t n = f ? fread(line, 1, sizeof(line) - 1, f) : 0;
	if (f)
		(void)fclose(f);
	const char *end = n ? strrchr(line, ')') : NULL;
	if (!end || end[1] == '\0')
		return false;
	*ret = (struct seen){ .pid = (pid_t)strtol(pid, NULL, 10),
		.state = end[2],
		.parent = (pid_t)strtol(end + 3, NULL, 10) };
	const char *name = strchr(line, '(');
	(void)snprintf(ret->name, sizeof(ret->name), "%.*s", (int)(end - name - 1), name + 1);
	/* Fields 14 and 15, of which the third is at end + 2. */
	for (int field = 3; field < 14 && end; field++)
		end = strchr(end + 2, ' ');
	char *next = NULL;
	double ticks = end ? (double)strtoul(end, &next, 10) : 0;
	ticks += next ? (double)strtoul(next, NULL, 10) : 0;
	ret->processor = ticks / (double)sysconf(_SC_CLK_TCK);
	return true;
}

double processes_processor(pid_t pid)
{
	struct seen seen;
	char name[16];

	(void)snprintf(name, sizeof(name), "%d", pid);
	return read_stat(name, &seen) ? seen.processor : 0;
}

static size_t read_all(struct seen *seen)
{
	DIR *d = opendir("/proc");
	size_t n = 0;

	for (struct dirent *e; d && n < PIDS_MAX && (e = readdir(d));)
		n += isdigit((unsigned char)e->d_name[0]) && read_stat(e->d_name, &seen[n]);
	if (d)
		(void)closedir(d);
	return n;
}

static bool is_marked(const struct seen *seen, size_t n, pid_t pid)
{
	for (size_t i = 0; i < n; i++) {
		if (seen[i].pid == pid)
			return seen[i].below;
	}
	return false;
}

static void mark(struct seen *seen, size_t n, pid_t root)
{
	for (bool more = true; more;) {
		more = false;
		for (size_t i = 0; i < n; i++) {
			if (!seen[i].below &&
				(seen[i].parent == root || is_marked(seen, n, seen[i].parent)))
				more = seen[i].below = true;
		}
	}
}

void processes_below(pid_t pid, struct processes *ret)
{
	/* Not on the heap, whose growth may be what is looked for. */
	static struct seen seen[PIDS_MAX];
	size_t n = read_all(seen);

	*ret = (struct processes){ 0 };
	mark(seen, n, pid);
	for (size_t i = 0; i < n; i++) {
		if (!seen[i].below)
			continue;
		ret->n++;
		ret->zombies += seen[i].state == 'Z';
		ret->fds += processes_fds(seen[i].pid);
		ret->mounts += mounts(seen[i].pid);
		ret->private_kb += processes_private_kb(seen[i].pid);
		ret->pss_kb += processes_pss_kb(seen[i].pid);
		if (seen[i].parent == pid && !ret->child)
			ret->child = seen[i].pid;
	}
}

size_t processes_children(pid_t pid, const char *name, pid_t *ret, size_t max)
{
	static struct seen seen[PIDS_MAX];
	size_t n = read_all(seen), found = 0;

	for (size_t i = 0; i < n && found < max; i++) {
		if (seen[i].parent == pid && strncmp(seen[i].name, name, strlen(name)) == 0)
			ret[found++] = seen[i].pid;
	}
	return found;
}
