/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host in folders that a command can see. To connect to one needs no more than to
 * see it: neither a read-only mount nor Landlock (before its version 9) is in the way, and behind
 * it may stand a database, an agent with keys, or a daemon that runs commands. The kernel lists
 * those of this network namespace with the path that they were bound to; each that is visible gets
 * a mask. Sockets that are made later, inside or outside, are not covered (docs/threat-model.md).
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/path.h"
#include "jail/plan-part.h"

enum { SOCKETS_MAX = 4096 };

/* The path is the last of eight fields; abstract names start with "@". */
static const char *path_in(const char *line)
{
	const char *path = strchr(line, '/');

	return path && path > line && path[-1] == ' ' ? path : NULL;
}

static int add_socket(struct planner *p, const char *path)
{
	char normal[PATH_BYTES];
	size_t len;

	if (path_normalize(path, strlen(path), normal, &len) < 0 ||
		plan_nodes_find(p, normal)->kind != PLAN_BIND)
		return 0;
	path = arena_strdup(&p->arena, normal);
	if (!path)
		return plan_no_memory(p);
	return plan_add_place(p, (struct plan_place){ .path = path, .origin = PLAN_FROM_SOCKETS });
}

static int read_list(struct planner *p, FILE *list)
{
	char line[PATH_BYTES + 256];
	size_t n = 0;
	int r = 0;

	while (r == 0 && fgets(line, sizeof(line), list)) {
		const char *path;

		line[strcspn(line, "\n")] = '\0';
		path = path_in(line);
		if (path && ++n > SOCKETS_MAX)
			return error_set(p->error, -E2BIG, NULL,
				"there are too many sockets on this machine to mask");
		r = path ? add_socket(p, path) : 0;
	}
	return r == 0 && ferror(list) ? -EIO : r;
}

int plan_sockets_collect(struct planner *p)
{
	FILE *list = fopen("/proc/self/net/unix", "re");
	int r;

	if (!list)
		return error_set(p->error, -errno, NULL,
			"the sockets of this machine cannot be listed: /proc/self/net/unix: %s",
			strerror(errno));
	r = read_list(p, list);
	(void)fclose(list);
	return r;
}
