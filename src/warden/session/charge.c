/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/limits/cgroup.h"
#include "warden/session/internal.h"

void charge_prepare(struct charge *charge, struct command *c, struct start *start)
{
	const struct cgroup_limits limits = { .memory = c->memory, .pids = c->pids };
	struct error why = { 0 };

	if (c->memory == 0 && c->pids == 0)
		return;
	if (!charge->looked && cgroup_home_new(&charge->home, &why) < 0)
		charge->home = NULL;
	charge->looked = true;
	/* Without one, the init holds the limits: that it cannot be had is no error. */
	if (!charge->home || cgroup_new(&c->cgroup, charge->home, &limits, &why) < 0)
		return;
	start->memory = 0;
	start->pids = 0;
}

/* The number that a process has out here, from its pidfd. */
static int pid_of(int pidfd, pid_t *ret)
{
	char path[64];
	char text[512];
	const char *line;
	ssize_t n;
	auto_fd fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strstr(text, "\nPid:");
	*ret = line ? (pid_t)strtol(line + 5, NULL, 10) : 0;
	return *ret > 0 ? 0 : -ESRCH;
}

int charge_begin(const struct command *c)
{
	pid_t pid = 0;
	int r;

	if (!c->cgroup)
		return 0;
	r = pid_of(c->pidfd, &pid);
	return r < 0 ? r : cgroup_add(c->cgroup, pid);
}

void charge_report(const struct command *c, struct report *report)
{
	struct cgroup_usage usage;

	if (!c->cgroup || cgroup_read(c->cgroup, &usage) < 0)
		return;
	if (c->memory > 0)
		report->memory_by = REPORT_BY_CGROUP;
	if (c->pids > 0)
		report->pids_by = REPORT_BY_CGROUP;
	if (usage.memory_peak > 0)
		report->peak_bytes = usage.memory_peak;
	if (usage.oom_kills > 0)
		report->flags |= REPORT_OUT_OF_MEMORY;
	if (usage.pids_refused > 0)
		report->flags |= REPORT_TOO_MANY_PIDS;
}
