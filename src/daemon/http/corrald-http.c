/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrald-http: reads HTTP for corrald, which started it and has the other end of descriptor 3. It
 * confines itself before it hears anything: no file, no program, no new socket. It ends with
 * corrald; if it dies, corrald starts another one. Connections come from corrald.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/http/server.h"
#include "daemon/message.h"
#include "process/confinement.h"
#include "wire/frame.h"

enum { SUPERVISOR = 3 };

static int http_receive_setup(struct message_setup *ret)
{
	static struct frame f;
	int r = frame_receive(SUPERVISOR, &f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	r = f.type == FRAME_API_SETUP ? message_setup_decode(ret, f.body, f.len) : -EPROTO;
	if (r == 0 && f.n_fds != 0)
		r = -EPROTO;
	frame_deinit(&f);
	return r;
}

static int http_serve(void)
{
	struct message_setup setup = { 0 };
	struct server *s = NULL;
	int r = http_receive_setup(&setup);

	if (r < 0)
		return r;
	if (fcntl(SUPERVISOR, F_SETFL, O_NONBLOCK) < 0)
		return -errno;
	r = server_new(
		&s, &(struct server_options){
			    .setup = &setup, .supervisor = SUPERVISOR, .version = CORRAL_VERSION });
	while (r == 0)
		r = server_turn(s, -1);
	server_free(s);
	return r;
}

static int http_explain(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("corrald-http " CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return fputs("corrald-http: reads HTTP for corrald, which starts it with a socket "
			     "as descriptor 3.\nThere is nothing to start by hand. See "
			     "corrald(8).\n",
			       stdout) < 0;
	(void)fputs("corrald-http: descriptor 3 is not a control socket; this program is started "
		    "by corrald, see corrald(8)\n",
		stderr);
	return 2;
}

int main(int argc, char **argv)
{
	int r, type = 0;
	socklen_t len = sizeof(type);

	if (argc > 1 || getsockopt(SUPERVISOR, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
		type != SOCK_SEQPACKET || fcntl(SUPERVISOR, F_SETFD, FD_CLOEXEC) < 0)
		return http_explain(argc, argv);
	r = confinement_begin(PROCESS_HTTP);
	if (r == 0)
		r = confinement_enter(PROCESS_HTTP, NULL);
	if (r == 0)
		r = http_serve();
	return r < 0 && r != -EPIPE;
}
