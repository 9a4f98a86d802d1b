/* SPDX-License-Identifier: Apache-2.0 */
/* print-processes: docs/processes.md, from the table (tools/gen-processes). */
#include <stdio.h>

#include "base/array.h"
#include "jail/landlock.h"
#include "process/confinement.h"

static const char head[] =
	"# Processes\n\n"
	"Made by `tools/gen-processes` from the table in `src/process/confinement.c`; do not "
	"edit.\n\n"
	"Corral's processes are those of the user, and each that reads what others wrote takes its "
	"rights from itself\n"
	"before it reads the first byte, for good: no new privileges, no capabilities, Landlock, a "
	"filter of system calls\n"
	"([syscalls.md](syscalls.md)), and no process of the same user may look into it. "
	"`tests/rights` starts each of\n"
	"them, of all programs but corral-browser (which needs Chromium), and compares what they "
	"can do with\n"
	"`tests/rights/root.txt` and `user.txt`.\n\n"
	"## Processes that confine themselves\n\n"
	"What is open stays open; this is what they can open and start beyond that. None may "
	"mount, make or enter namespaces,\n"
	"trace, read the memory of others, load BPF, or map a memory file as a program.\n\n"
	"| process | program | what it does | files | programs | new sockets | signals to others | "
	"System V IPC |\n"
	"|---|---|---|---|---|---|---|---|\n";
static const char middle[] = "\n"
			     "## Processes with steps of their own\n\n"
			     "| process | program | what it does | what confines it |\n"
			     "|---|---|---|---|\n";
static const char last[] =
	"\n## Processes with the rights of the user\n\n"
	"They read frames of Corral's own, policies, and files of the user.\n\n"
	"| process | program | what it does | hidden from processes of the user |\n"
	"|---|---|---|---|\n";

static void print_access(unsigned access)
{
	static const struct {
		unsigned right;
		const char *word;
	} words[] = {
		{ LANDLOCK_READ, "read" },
		{ LANDLOCK_WRITE, "write" },
		{ LANDLOCK_EXECUTE, "execute" },
		{ LANDLOCK_CONNECT, "connect" },
	};
	const char *between = " (";

	for (size_t i = 0; i < ROWS(words); i++) {
		if (!(access & words[i].right))
			continue;
		(void)printf("%s%s", between, words[i].word);
		between = ", ";
	}
	(void)printf(")");
}

static void print_files(const struct confinement *row)
{
	const char *between = "";

	for (const struct confinement_place *p = row->places; p && p->path; p++) {
		(void)printf("%s`%s`", between, p->path);
		print_access(p->access);
		between = "; ";
	}
	if (row->granted)
		(void)printf("%s%s", between, row->granted);
	else if (!row->places)
		(void)printf("none");
}

static const char *programs_of(const struct confinement *row)
{
	for (const struct confinement_place *p = row->places; p && p->path; p++)
		if (!row->filter.no_exec && p->access & LANDLOCK_EXECUTE)
			return "those of its files";
	return "none";
}

static const char *sockets_of(const struct confinement *row)
{
	const struct seccomp_options *f = &row->filter;

	if (f->no_sockets)
		return "none";
	if (f->only_unix)
		return "Unix";
	return f->no_unix || f->shared ? "TCP, UDP" : "all";
}

static void print_confined(const struct confinement *row)
{
	(void)printf("| %s | %s | %s | ", row->name, row->program, row->task);
	print_files(row);
	(void)printf(" | %s | %s | %s | %s |\n", programs_of(row), sockets_of(row),
		row->signals_others ? "yes" : "no", row->filter.shared ? "no" : "yes");
}

int main(void)
{
	(void)fputs(head, stdout);
	for (int i = 0; i < PROCESS_CONFINED; i++)
		print_confined(&confinements[i]);
	(void)fputs(middle, stdout);
	for (int i = PROCESS_CONFINED; i < PROCESS_ROLES; i++)
		if (confinements[i].steps)
			(void)printf("| %s | %s | %s | %s |\n", confinements[i].name,
				confinements[i].program, confinements[i].task,
				confinements[i].steps);
	(void)fputs(last, stdout);
	for (int i = PROCESS_CONFINED; i < PROCESS_ROLES; i++)
		if (!confinements[i].steps)
			(void)printf("| %s | %s | %s | %s |\n", confinements[i].name,
				confinements[i].program, confinements[i].task,
				confinements[i].is_hidden ? "yes" : "no");
	return ferror(stdout) != 0;
}
