/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-broker: serves the programs of one sandbox, for whoever holds that session and has the
 * other end of descriptor 3 (docs/protocol.md). This process is the monitor; the front, which reads
 * what programs send, is another one (broker/program/front-process.h).
 *
 * A session does not wait for more than it must. The setup comes before the sandbox's tree stands,
 * and whatever is wrong with it is reported then; what needs the tree is made when the sockets
 * come, while the first command starts; and the front is started with the first client, who waits
 * at the listener meanwhile.
 *
 * It ends with its holder, and all that it started ends with it: when the control socket is closed,
 * or when the holder's process has ended, because a process that the holder forked may have the
 * socket still. What its calls owe to the log is told first. Signals are the holder's matter.
 */
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "broker/monitor/monitor.h"
#include "broker/program/front-process.h"
#include "broker/program/telling.h"
#include "jail/privilege.h"
#include "wire/broker.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "wire/report.h"
#include "wire/sockets.h"

enum {
	CONTROL = 3,
	/* Fronts that are started in FRONTS_MS; more wait until those are over. */
	FRONTS_MAX = 5,
	FRONTS_MS = 10 * 1000,
	SETTLE_MS = 2000,
};

struct broker {
	struct loop *loop;
	struct watcher control, holder; /* the socket, and the pidfd of its other end */
	struct watcher untold;          /* an eventfd: events wait for the holder */
	struct watcher clients[2];      /* the listeners, until there is a front */
	struct frame setup_frame;       /* holds the texts of the setup */
	struct frame orders;
	struct broker_setup setup;
	struct arena arena;
	int listener, root, ledger, http;
	struct monitor *monitor;
	struct child front;
	uint64_t started[FRONTS_MAX]; /* ms: the last fronts, in a ring */
	size_t n_started;
	struct timer again;
	struct telling telling;
	bool is_over;
};

/* The front */

static int broker_start_front(struct broker *b)
{
	int r;

	b->started[b->n_started++ % FRONTS_MAX] = loop_now(b->loop);
	r = front_process_start(&b->front, &b->setup, b->listener, b->http);
	if (r == 0)
		r = monitor_connect(b->monitor, b->front.socket);
	return r;
}

static void broker_replace_front(struct broker *b);

static void broker_on_again(struct timer *t)
{
	broker_replace_front(container_of(t, struct broker, again));
}

/* Soon, or when the rate allows it. Programs wait meanwhile: the listener stays open. */
static void broker_replace_front(struct broker *b)
{
	const uint64_t now = loop_now(b->loop);
	const uint64_t oldest = b->started[b->n_started % FRONTS_MAX];
	int r = -EAGAIN;

	if (b->n_started < FRONTS_MAX || now - oldest >= FRONTS_MS)
		r = broker_start_front(b);
	if (r == 0)
		return;
	(void)monitor_connect(b->monitor, -1);
	child_end(&b->front);
	b->again.expired = broker_on_again;
	if (loop_start(b->loop, &b->again, r == -EAGAIN ? FRONTS_MS - (now - oldest) : 1000) < 0)
		b->is_over = true;
}

/* It broke a rule, or has died. */
static void broker_on_lost(void *context, int code)
{
	struct broker *b = context;

	(void)code;
	(void)monitor_connect(b->monitor, -1);
	child_end(&b->front);
	broker_replace_front(b);
}

static void broker_begin_front(struct broker *b)
{
	for (size_t i = 0; i < ROWS(b->clients); i++)
		loop_remove(b->loop, &b->clients[i]);
	broker_replace_front(b);
}

static void broker_on_client(struct watcher *w, uint32_t events)
{
	(void)events;
	broker_begin_front(container_of(w, struct broker, clients[0]));
}

static void broker_on_http_client(struct watcher *w, uint32_t events)
{
	(void)events;
	broker_begin_front(container_of(w, struct broker, clients[1]));
}

static int broker_await_clients(struct broker *b)
{
	int r;

	b->clients[0] = (struct watcher){ .ready = broker_on_client, .fd = -1 };
	b->clients[1] = (struct watcher){ .ready = broker_on_http_client, .fd = -1 };
	r = loop_add(b->loop, &b->clients[0], b->listener, EPOLLIN);
	return r < 0 || b->http < 0 ? r : loop_add(b->loop, &b->clients[1], b->http, EPOLLIN);
}

/* The holder */

static void broker_send_failure(int r, const char *text)
{
	const struct refusal refusal = { .error = r < 0 ? -r : EIO, .text = text };
	auto_buffer body = { 0 };

	if (refusal_encode(&refusal, &body) == 0)
		(void)frame_send(CONTROL, FRAME_FAILED, 0, body.data, body.len, NULL, 0);
}

static int broker_take_sockets(struct broker *b, struct frame *f)
{
	const size_t n = b->setup.flags & BROKER_HTTP ? SOCKETS_BROKER_COUNT : SOCKETS_BROKER_HTTP;
	struct sockets sockets;
	int r = sockets_decode(&sockets, f);

	if (r == 0 && (sockets.kind != SOCKETS_BROKER || sockets.n != n))
		r = -EPROTO;
	for (uint32_t i = 0; r == 0 && i < n; i++)
		if (sockets.numbers[i] != i)
			r = -EPROTO;
	if (r < 0)
		return r;
	b->listener = frame_take_fd(f, SOCKETS_BROKER_LISTENER);
	b->root = frame_take_fd(f, SOCKETS_BROKER_ROOT);
	b->http = frame_take_fd(f, SOCKETS_BROKER_HTTP);
	return 0;
}

/* The tree stands. -EPIPE: it never will. */
static int broker_enter(struct broker *b)
{
	struct corral_error *e = NULL;
	static struct frame f;
	int r = frame_receive(CONTROL, &f);

	r = r == 0 ? -EPIPE : r == 1 ? broker_take_sockets(b, &f) : r;
	frame_deinit(&f);
	if (r == 0)
		r = monitor_enter(b->monitor, b->root, &e);
	if (r == 0)
		r = broker_await_clients(b);
	if (r < 0 && r != -EPIPE)
		broker_send_failure(r, e ? corral_error_message(e) : strerror(-r));
	corral_error_free(e);
	return r;
}

/* Questions go to the holder, which passes them on; one that does not read them cannot. */
static int broker_ask(void *context, uint64_t id, const struct question *q)
{
	auto_buffer body = { 0 };
	int r = question_encode(q, &body);

	(void)context;
	return r < 0 ? r : frame_send(CONTROL, FRAME_QUESTION, id, body.data, body.len, NULL, 0);
}

static void broker_question_over(void *context, uint64_t id, enum question_end how)
{
	const uint32_t body = how;

	(void)context;
	(void)frame_send(CONTROL, FRAME_QUESTION_OVER, id, &body, sizeof(body), NULL, 0);
}

static void broker_granted(void *context, uint64_t id, int code, const char *why)
{
	const struct refusal refusal = { .error = -code, .text = why };
	auto_buffer body = { 0 };

	(void)context;
	if (code == 0 || refusal_encode(&refusal, &body) == 0)
		(void)frame_send(CONTROL, FRAME_GRANTS, id, body.data, body.len, NULL, 0);
}

static void broker_on_stuck(void *context)
{
	((struct broker *)context)->is_over = true;
}

static int broker_take_answer(struct broker *b, const struct frame *f)
{
	struct answer a;
	int r = answer_decode(&a, f->body, f->len);

	if (r == 0)
		monitor_take_answer(b->monitor, f->id, &a);
	return r;
}

static int broker_take_grants(struct broker *b, const struct frame *f)
{
	static struct live_grant grants[QUESTION_GRANTS_MAX];
	int n = live_grants_decode(grants, f->body, f->len), r;

	if (n < 0)
		return n;
	r = monitor_grant(b->monitor, f->id, grants, (size_t)n);
	if (r < 0)
		broker_granted(b, f->id, r, "the broker is busy");
	return 0;
}

/* Answers and grants. Anything else, and its end, is ours. */
static void broker_take_order(struct broker *b)
{
	int r = frame_receive(CONTROL, &b->orders);

	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1)
		r = b->orders.type == FRAME_ANSWER   ? broker_take_answer(b, &b->orders)
		    : b->orders.type == FRAME_GRANTS ? broker_take_grants(b, &b->orders)
						     : -EPROTO;
	else
		r = -EPIPE;
	b->is_over = b->is_over || r < 0;
}

/* First its sockets. */
static void broker_on_control(struct watcher *w, uint32_t events)
{
	struct broker *b = container_of(w, struct broker, control);

	/* The holder reads again. */
	if (events & EPOLLOUT && telling_flush(&b->telling) && loop_change(b->loop, w, EPOLLIN) < 0)
		b->is_over = true;
	if (!(events & ~(uint32_t)EPOLLOUT))
		return;
	if (b->listener >= 0)
		broker_take_order(b);
	else
		b->is_over = broker_enter(b) < 0;
}

static void broker_on_holder(struct watcher *w, uint32_t events)
{
	(void)events;
	container_of(w, struct broker, holder)->is_over = true;
}

/* Events wait for the holder. */
static void broker_on_untold(struct watcher *w, uint32_t events)
{
	struct broker *b = container_of(w, struct broker, untold);
	eventfd_t n;

	(void)events;
	(void)eventfd_read(w->fd, &n);
	if (loop_change(b->loop, &b->control, EPOLLIN | EPOLLOUT) < 0)
		b->is_over = true;
}

static int broker_watch_untold(struct broker *b)
{
	int r;

	b->untold = (struct watcher){ .ready = broker_on_untold, .fd = -1 };
	if (b->telling.socket < 0)
		return 0;
	b->telling.wake = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
	r = b->telling.wake < 0 ? -errno : 0;
	return r < 0 ? r : loop_add(b->loop, &b->untold, b->telling.wake, EPOLLIN);
}

static int broker_watch_holder(struct broker *b)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	int fd, r = getsockopt(CONTROL, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0 ? -errno : 0;

	b->control = (struct watcher){ .ready = broker_on_control, .fd = -1 };
	b->holder = (struct watcher){ .ready = broker_on_holder, .fd = -1 };
	if (r == 0 && fcntl(CONTROL, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = loop_add(b->loop, &b->control, CONTROL, EPOLLIN);
	if (r < 0)
		return r;
	fd = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	return fd < 0 ? -errno : loop_add(b->loop, &b->holder, fd, EPOLLIN);
}

static int broker_receive(struct broker *b)
{
	struct frame *f = &b->setup_frame;
	int r = frame_receive(CONTROL, f);

	if (r != 1)
		return r == 0 ? -EPIPE : r;
	r = f->type == FRAME_BROKER ? broker_setup_decode(&b->setup, f->body, f->len, &b->arena)
				    : -EPROTO;
	if (r == 0 && f->n_fds != 1)
		r = -EPROTO;
	if (r < 0)
		return r;
	b->ledger = frame_take_fd(f, 0);
	return 0;
}

/* Everything that may be wrong with the setup, before the holder hears that it is not. */
static int broker_build(struct broker *b)
{
	struct corral_error *e = NULL;
	int r = loop_new(&b->loop);

	if (r == 0)
		r = broker_receive(b);
	if (r == 0) {
		const struct monitor_options o = { .setup = &b->setup,
			.ledger = &b->ledger,
			.loop = b->loop,
			.tell = telling_add,
			.may_act = telling_is_ready,
			.tell_context = &b->telling };

		b->telling.socket = b->setup.flags & BROKER_TELLS ? CONTROL : -1;
		r = monitor_new(&b->monitor, &o, &e);
	}
	if (r == 0) {
		const struct monitor_holder holder = { broker_ask, broker_question_over,
			broker_granted, broker_on_stuck, b };

		monitor_on_lost(b->monitor, broker_on_lost, b);
		monitor_on_questions(b->monitor, &holder);
		r = broker_watch_holder(b);
	}
	if (r == 0)
		r = broker_watch_untold(b);
	/* Processes of the same user cannot look into it: it has the token and the environment. */
	if (r == 0)
		r = privilege_hide();
	if (r < 0 && r != -EPIPE)
		broker_send_failure(r, e ? corral_error_message(e) : strerror(-r));
	corral_error_free(e);
	return r;
}

static int broker_serve(struct broker *b)
{
	int r = frame_send(CONTROL, FRAME_READY, 0, NULL, 0, NULL, 0);

	while (r == 0 && !b->is_over)
		r = loop_turn(b->loop, -1);
	return r;
}

static int broker_explain(int argc, char **argv)
{
	static const char text[] =
		"corral-broker: serves programs inside a sandbox: files, fetching, programs.\n"
		"It is started by corral or libcorral, with a control socket as descriptor 3;\n"
		"there is nothing to start by hand. See corral-broker(8), and `corral run "
		"--broker`.\n";

	if (argc == 2 && strcmp(argv[1], "--version") == 0)
		return puts("corral-broker " CORRAL_VERSION) < 0;
	if (argc == 2 && strcmp(argv[1], "--help") == 0)
		return fputs(text, stdout) < 0;
	(void)fputs("corral-broker: descriptor 3 is not a control socket; this program is started "
		    "by corral or libcorral, see corral-broker(8)\n",
		stderr);
	return 2;
}

int main(int argc, char **argv)
{
	static struct broker b = { .listener = -1,
		.root = -1,
		.ledger = -1,
		.http = -1,
		.telling = { .socket = -1, .wake = -1, .lock = PTHREAD_MUTEX_INITIALIZER } };
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN,
		SIGTTOU, SIGUSR1, SIGUSR2 };
	int r, type = 0;
	socklen_t len = sizeof(type);

	if (getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
		fcntl(CONTROL, F_SETFD, FD_CLOEXEC) < 0)
		return broker_explain(argc, argv);
	if (argc == 2 && strcmp(argv[1], FRONT_PROCESS_WORD) == 0)
		return front_process_main(CORRAL_VERSION);
	if (argc > 1)
		return broker_explain(argc, argv);
	for (size_t i = 0; i < ROWS(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	r = broker_build(&b);
	if (r == 0)
		r = broker_serve(&b);
	child_end(&b.front);
	if (b.monitor)
		monitor_settle(b.monitor, SETTLE_MS);
	telling_finish(&b.telling);
	/* What else hangs in a thread is not waited for. */
	_exit(r < 0);
}
