/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/program/front-process.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/front/front.h"
#include "process/confinement.h"
#include "wire/frame.h"

/* Outside: in the monitor. */

int front_process_start(struct child *ret, const struct broker_setup *s, int listener, int http)
{
	static const char *const argv[] = { "corral-broker", FRONT_PROCESS_WORD, NULL };
	const struct broker_setup less = { .flags = s->flags & BROKER_HTTP, .token = s->token };
	const int fds[] = { listener, http };
	struct child front = CHILD_NONE;
	auto_buffer body = { 0 };
	int r = broker_setup_encode(&less, &body);

	if (r == 0)
		r = child_start_with(
			&front, "/proc/self/exe", argv, NULL, fds, s->flags & BROKER_HTTP ? 2 : 1);
	if (r == 0)
		r = frame_send(front.socket, FRAME_BROKER, 0, body.data, body.len, NULL, 0);
	if (r == 0)
		*ret = front;
	else
		child_end(&front);
	return r;
}

/* Inside: in the process of the front. */

/* Waits for it. */
static int front_process_receive(struct frame *f, struct broker_setup *ret, struct arena *a)
{
	int r = frame_receive(CHILD_SOCKET, f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	if (f->type != FRAME_BROKER)
		return -EPROTO;
	return broker_setup_decode(ret, f->body, f->len, a);
}

static int front_process_serve(const char *version)
{
	static struct frame f;
	struct broker_setup setup = { 0 };
	auto_arena a = { 0 };
	struct front_options o = { .monitor = CHILD_SOCKET, .version = version };
	struct front *front = NULL;
	auto_fd listener = CHILD_FDS, http = -1;
	int r = front_process_receive(&f, &setup, &a);

	if (r < 0)
		return r;
	o.listener = listener;
	if (setup.flags & BROKER_HTTP) {
		http = CHILD_FDS + 1;
		o.http = http;
		o.token = setup.token;
	}
	if (fcntl(listener, F_SETFL, O_NONBLOCK) < 0 ||
		fcntl(CHILD_SOCKET, F_SETFL, O_NONBLOCK) < 0 ||
		(http >= 0 && fcntl(http, F_SETFL, O_NONBLOCK) < 0))
		return -errno;
	r = front_new(&front, &o);
	while (r == 0)
		r = front_turn(front, -1);
	front_free(front);
	return r;
}

int front_process_main(const char *version)
{
	int r = confinement_begin(PROCESS_FRONT);

	if (r == 0 && fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		r = -errno;
	if (r == 0)
		r = confinement_enter(PROCESS_FRONT, NULL);
	if (r == 0)
		r = front_process_serve(version);
	return r < 0 && r != -EPIPE;
}
