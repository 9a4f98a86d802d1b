/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session/command.h"

#include <stdlib.h>

#include "base/fd.h"
#include "jail/limits/cgroup.h"

struct command *command_new(uint64_t id)
{
	struct command *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->id = id;
	c->socket = c->pidfd = -1;
	for (size_t i = 0; i < 3; i++)
		c->stdio[i] = -1;
	return c;
}

void command_free(struct command *c)
{
	if (!c)
		return;
	fd_close(&c->socket);
	fd_close(&c->pidfd);
	for (size_t i = 0; i < 3; i++)
		fd_close(&c->stdio[i]);
	buffer_deinit(&c->body);
	free(c->program);
	if (c->cgroup)
		cgroup_free(c->cgroup);
	free(c);
}
