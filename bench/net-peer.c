/* SPDX-License-Identifier: Apache-2.0 */
#include "net-peer.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include "measure.h"

double net_work_run(void *context)
{
	const struct net_work *w = context;
	char line[64];

	if (fprintf(w->peer->in, "%s %u %u\n", w->what, w->n, w->port) < 0 ||
		fflush(w->peer->in) != 0 || !fgets(line, sizeof(line), w->peer->out))
		return -1;
	return strtod(line, NULL);
}

void net_peer_stdio(struct net_peer *p, int stdio[3])
{
	int in[2], out[2];

	if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0)
		measure_die("no pipes");
	*p = (struct net_peer){ .in = fdopen(in[1], "w"), .out = fdopen(out[0], "r") };
	if (!p->in || !p->out)
		measure_die("out of memory");
	stdio[0] = in[0];
	stdio[1] = out[1];
	stdio[2] = STDERR_FILENO;
}

void net_peer_start(struct net_peer *p, const char *const *argv)
{
	int stdio[3];

	net_peer_stdio(p, stdio);
	p->pid = measure_spawn(argv, stdio);
	if (p->pid < 0)
		measure_die("cannot start a client");
	(void)close(stdio[0]);
	(void)close(stdio[1]);
}

void net_peer_end(struct net_peer *p)
{
	(void)fclose(p->in);
	(void)fclose(p->out);
	if (p->pid > 0)
		(void)waitpid(p->pid, NULL, 0);
}
