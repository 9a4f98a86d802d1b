/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corrald-enclave: what /api/invoke/… of corrald does. It is another program than corrald because
 * it reads policies and files, and another than corrald-http because it may do what the user may.
 * corrald starts it at the first call, and again if it dies; descriptor 3 is the way to it.
 *
 *     corrald-enclave FOLDER    the folder of enclave.yaml
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "broker/monitor/pool.h"
#include "daemon/enclave/bridge.h"
#include "daemon/enclave/files.h"
#include "daemon/enclave/policy.h"
#include "daemon/enclave/reply.h"
#include "daemon/enclave/shell.h"
#include "daemon/message.h"
#include "event/loop.h"
#include "process/child.h"
#include "warden/outbox.h"
#include "wire/frame.h"

enum { BRIDGE_THREADS = 8 /* for files, and as many for commands */ };

struct bridge_process {
	struct bridge bridge;
	struct loop *loop;
	struct pool *files, *shells;
	struct watcher link;
	struct outbox out;
	struct frame frame;
	bool is_over;
};

/* A call: of the loop, but while a thread works on it. */
struct bridge_call {
	struct pool_job job;
	struct bridge_process *of;
	uint64_t id;
	struct buffer body, missing; /* that the reply points into */
	struct reply reply;
};

static const struct {
	void (*handle)(struct bridge *b, struct reply *c);
	bool runs; /* a command: it may take long */
} bridge_handlers[ROUTE_COUNT] = {
	[ROUTE_FS_READ] = { files_read, false },
	[ROUTE_FS_WRITE] = { files_write, false },
	[ROUTE_FS_LIST] = { files_list, false },
	[ROUTE_SHELL_EXEC] = { shell_exec, true },
	[ROUTE_GET_POLICY] = { policy_get, false },
	[ROUTE_SET_POLICY] = { policy_set, false },
	[ROUTE_GET_AUDIT_LOG] = { policy_get_log, false },
	[ROUTE_EXPORT_AUDIT_LOG] = { policy_export_log, false },
};

static bool bridge_tell(struct bridge *b, const char *type, const struct buffer *json)
{
	const struct bridge_process *of = container_of(b, struct bridge_process, bridge);
	const struct message_event m = { type, buffer_text(json) };
	auto_buffer body = { 0 };

	/* A packet is whole, whichever thread sends it. */
	return !json->failed && message_event_encode(&m, &body) == 0 &&
	       frame_send(of->out.socket, FRAME_API_EVENT, 0, body.data, body.len, NULL, 0) == 0;
}

/* Calls */

static void bridge_call_free(struct bridge_call *c)
{
	buffer_deinit(&c->body);
	buffer_deinit(&c->missing);
	buffer_deinit(&c->reply.json);
	free(c);
}

static void bridge_answer(struct bridge_call *c)
{
	struct reply *reply = &c->reply;
	struct message_answer m;
	auto_buffer body = { 0 };

	if (reply->json.failed)
		reply_fail(reply, 503, "out of memory");
	else if (reply->json.len > BRIDGE_ANSWER_MAX)
		reply_fail(reply, 413, "the answer is too long");
	m = (struct message_answer){
		.status = reply->status, .json = buffer_text(&reply->json), .len = reply->json.len
	};
	if (message_answer_encode(&m, &body) == 0)
		outbox_add(&c->of->out, FRAME_API_ANSWER, c->id, body.data, body.len, -1);
	else
		c->of->is_over = true;
}

/* In a thread. */
static void bridge_work(struct pool_job *j)
{
	struct bridge_call *c = container_of(j, struct bridge_call, job);
	struct bridge *b = &c->of->bridge;

	policy_refresh(b);
	policy_print_missing(b, &c->missing);
	c->reply.missing = buffer_text(&c->missing);
	bridge_handlers[c->reply.call.route - routes].handle(b, &c->reply);
}

static void bridge_watch(struct bridge_process *b)
{
	if (b->out.broken || loop_change(b->loop, &b->link,
				     EPOLLIN | (outbox_is_empty(&b->out) ? 0 : EPOLLOUT)) < 0)
		b->is_over = true;
}

static void bridge_done(struct pool_job *j)
{
	struct bridge_call *c = container_of(j, struct bridge_call, job);

	bridge_answer(c);
	/* The user ended it: the next call has another one. */
	if (c->reply.is_ended)
		c->of->is_over = true;
	bridge_watch(c->of);
	bridge_call_free(c);
}

static int bridge_take(struct bridge_process *b, const struct frame *f)
{
	struct bridge_call *c = f->type == FRAME_API_CALL ? calloc(1, sizeof(*c)) : NULL;
	const struct route_call *call;
	int r;

	if (!c)
		return -EPROTO;
	*c = (struct bridge_call){ .job = { .work = bridge_work, .done = bridge_done },
		.of = b,
		.id = f->id,
		.reply.status = 200 };
	call = &c->reply.call;
	buffer_add(&c->body, f->body, f->len);
	r = c->body.failed ? -ENOMEM : route_call_decode(&c->reply.call, c->body.data, c->body.len);
	if (r == 0 && !bridge_handlers[call->route - routes].handle)
		r = -EPROTO;
	/* The policy of an enclave before this one holds before anything else is done. */
	if (r == 0 && c->id == 0) {
		bridge_work(&c->job);
		bridge_call_free(c);
		return 0;
	}
	if (r == 0)
		r = pool_add(
			bridge_handlers[call->route - routes].runs ? b->shells : b->files, &c->job);
	if (r < 0)
		bridge_call_free(c);
	return r;
}

static void bridge_on_link(struct watcher *w, uint32_t events)
{
	struct bridge_process *b = container_of(w, struct bridge_process, link);
	int r = 1;

	if (events & EPOLLOUT)
		outbox_flush(&b->out);
	while (r == 1) {
		r = frame_receive(CHILD_SOCKET, &b->frame);
		if (r == 1 && bridge_take(b, &b->frame) < 0)
			r = -EPROTO;
	}
	frame_deinit(&b->frame);
	if (r != -EAGAIN)
		b->is_over = true;
	bridge_watch(b);
}

static int bridge_serve(struct bridge_process *b, const char *folder)
{
	int r = loop_new(&b->loop);

	b->bridge.tell = bridge_tell;
	b->out = (struct outbox){ .socket = CHILD_SOCKET };
	b->link = (struct watcher){ .ready = bridge_on_link, .fd = -1 };
	if (r == 0)
		r = policy_open(&b->bridge, folder);
	if (r == 0)
		r = pool_new(&b->files, b->loop, BRIDGE_THREADS);
	if (r == 0)
		r = pool_new(&b->shells, b->loop, BRIDGE_THREADS);
	if (r == 0)
		r = loop_add(b->loop, &b->link, CHILD_SOCKET, EPOLLIN);
	while (r == 0 && !b->is_over)
		r = loop_turn(b->loop, -1);
	return r;
}

static int bridge_explain(int argc, char **argv)
{
	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("corrald-enclave " CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return fputs("corrald-enclave: files and commands for corrald's /api/invoke, which "
			     "starts it with a\nsocket as descriptor 3. There is nothing to start "
			     "by "
			     "hand. See corrald(8).\n",
			       stdout) < 0;
	(void)fputs(
		"corrald-enclave: descriptor 3 is not a control socket; this program is started "
		"by corrald, see corrald(8)\n",
		stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static struct bridge_process b;
	socklen_t len = sizeof(int);
	int type = 0, r;

	if (argc != 2 || argv[1][0] != '/' ||
		getsockopt(CHILD_SOCKET, SOL_SOCKET, SO_TYPE, &type, &len) < 0 ||
		type != SOCK_SEQPACKET || fcntl(CHILD_SOCKET, F_SETFD, FD_CLOEXEC) < 0)
		return bridge_explain(argc, argv);
	r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
	(void)signal(SIGPIPE, SIG_IGN);
	if (r == 0 && fcntl(CHILD_SOCKET, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = bridge_serve(&b, argv[1]);
	/* What hangs in a thread is not waited for; wardens end with this process. */
	_exit(r < 0);
}
