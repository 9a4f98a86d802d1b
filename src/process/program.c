/* SPDX-License-Identifier: Apache-2.0 */
#include "process/program.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>

static int program_explain(const struct program *p, int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return printf("%s %s\n", p->name, p->version) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return printf("%s: %s.\n"
			      "It is started by corral, with sockets as descriptors %s; there is "
			      "nothing to\nstart by hand. See %s(8) and `%s`.\n",
			       p->name, p->purpose, p->sockets, p->name, p->used_by) < 0;
	(void)fprintf(stderr,
		"%s: descriptor %d is not a socket of corral; this program is started by corral, "
		"see %s(8)\n",
		p->name, CHILD_SOCKET, p->name);
	return 2;
}

static bool program_was_handed(int fd, int type)
{
	int is = 0;
	socklen_t len = sizeof(is);

	if (type && (getsockopt(fd, SOL_SOCKET, SO_TYPE, &is, &len) < 0 || is != type))
		return false;
	return fcntl(fd, F_SETFD, FD_CLOEXEC) == 0;
}

int program_run(const struct program *p, int argc, char **argv)
{
	bool is_started = p->takes_arguments ? argc > 1 && argv[1][0] == '/' : argc == 1;
	int r;

	for (size_t i = 0; is_started && i < sizeof(p->types) / sizeof(p->types[0]); i++)
		is_started = program_was_handed(CHILD_SOCKET + (int)i, p->types[i]);
	if (!is_started)
		return program_explain(p, argc, argv);
	r = confinement_begin(p->role);
	if (r == 0)
		r = p->serve((const char *const *)argv + 1);
	return r < 0 && r != -EPIPE;
}
