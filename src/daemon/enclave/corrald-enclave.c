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

#include "daemon/enclave/internal.h"
#include "daemon/message.h"
#include "process/child.h"

const struct corral_by bridge_by = { .size = sizeof(bridge_by), .actor = "invoke" };

static const struct {
	bridge_handler *handle;
	bool runs; /* a command: it may take long */
} bridge_handlers[ROUTE_COUNT] = {
	[ROUTE_FS_READ] = { bridge_fs_read, false },
	[ROUTE_FS_WRITE] = { bridge_fs_write, false },
	[ROUTE_FS_LIST] = { bridge_fs_list, false },
	[ROUTE_SHELL_EXEC] = { bridge_shell_exec, true },
	[ROUTE_GET_POLICY] = { bridge_get_policy, false },
	[ROUTE_SET_POLICY] = { bridge_set_policy, false },
	[ROUTE_GET_AUDIT_LOG] = { bridge_get_audit_log, false },
	[ROUTE_EXPORT_AUDIT_LOG] = { bridge_export_audit_log, false },
};

bool bridge_tell(struct bridge *b, const char *type, const struct buffer *json)
{
	const struct message_event m = { type, buffer_text(json) };
	auto_buffer body = { 0 };

	/* A packet is whole, whichever thread sends it. */
	return !json->failed && message_event_encode(&m, &body) == 0 &&
	       frame_send(b->out.socket, FRAME_API_EVENT, 0, body.data, body.len, NULL, 0) == 0;
}

bool bridge_path(struct bridge_call *c, const char *name, char out[PATH_BYTES], const char **ret)
{
	const char *path = route_value(&c->call, name);
	size_t len;

	*ret = NULL;
	if (path && path_normalize(path, strlen(path), out, &len) < 0) {
		reply_fail(c, 400, "the path must be absolute, and shorter than 4096 bytes");
		return false;
	}
	if (path)
		*ret = out;
	return true;
}

/* Calls */

static void bridge_call_free(struct bridge_call *c)
{
	buffer_deinit(&c->body);
	buffer_deinit(&c->json);
	free(c);
}

static void bridge_answer(struct bridge_call *c)
{
	struct message_answer m = { .status = c->status };
	auto_buffer body = { 0 };

	if (c->json.failed)
		reply_fail(c, 503, "out of memory");
	else if (c->json.len > BRIDGE_ANSWER_MAX)
		reply_fail(c, 413, "the answer is too long");
	m.status = c->status;
	m.json = buffer_text(&c->json);
	m.len = c->json.len;
	if (message_answer_encode(&m, &body) == 0)
		outbox_add(&c->bridge->out, FRAME_API_ANSWER, c->id, body.data, body.len, -1);
	else
		c->bridge->is_over = true;
}

/* In a thread. */
static void bridge_work(struct pool_job *j)
{
	struct bridge_call *c = container_of(j, struct bridge_call, job);

	policy_refresh(c->bridge);
	bridge_handlers[c->call.route - routes].handle(c);
}

static void bridge_watch(struct bridge *b)
{
	if (b->out.broken || loop_change(b->loop, &b->link,
				     EPOLLIN | (outbox_is_empty(&b->out) ? 0 : EPOLLOUT)) < 0)
		b->is_over = true;
}

static void bridge_done(struct pool_job *j)
{
	struct bridge_call *c = container_of(j, struct bridge_call, job);

	bridge_answer(c);
	if (atomic_load(&c->bridge->is_ended))
		c->bridge->is_over = true;
	bridge_watch(c->bridge);
	bridge_call_free(c);
}

static int bridge_take(struct bridge *b, const struct frame *f)
{
	struct bridge_call *c = f->type == FRAME_API_CALL ? calloc(1, sizeof(*c)) : NULL;
	int r;

	if (!c)
		return -EPROTO;
	*c = (struct bridge_call){ .job = { .work = bridge_work, .done = bridge_done },
		.bridge = b,
		.id = f->id,
		.status = 200 };
	buffer_add(&c->body, f->body, f->len);
	r = c->body.failed ? -ENOMEM : route_call_decode(&c->call, c->body.data, c->body.len);
	if (r == 0 && !bridge_handlers[c->call.route - routes].handle)
		r = -EPROTO;
	/* The policy of an enclave before this one holds before anything else is done. */
	if (r == 0 && c->id == 0) {
		bridge_work(&c->job);
		bridge_call_free(c);
		return 0;
	}
	if (r == 0)
		r = pool_add(bridge_handlers[c->call.route - routes].runs ? b->shells : b->files,
			&c->job);
	if (r < 0)
		bridge_call_free(c);
	return r;
}

static void bridge_on_link(struct watcher *w, uint32_t events)
{
	struct bridge *b = container_of(w, struct bridge, link);
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

static int bridge_serve(struct bridge *b, const char *folder)
{
	int r = loop_new(&b->loop);

	b->out = (struct outbox){ .socket = CHILD_SOCKET };
	b->link = (struct watcher){ .ready = bridge_on_link, .fd = -1 };
	if (r == 0)
		r = policy_open(b, folder);
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
	static struct bridge b;
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
