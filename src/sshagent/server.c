/* SPDX-License-Identifier: Apache-2.0 */
#include "sshagent/server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/array.h"
#include "base/error.h"
#include "base/fd.h"
#include "event/loop.h"
#include "event/wait.h"
#include "process/child.h"
#include "process/confinement.h"
#include "sshagent/permit.h"
#include "sshagent/host-key.h"
#include "wire/frame.h"
#include "wire/report.h"

enum {
	SERVER_LISTENER = CHILD_FDS,
	SERVER_AGENT = CHILD_FDS + 1,
	SERVER_CLIENTS_MAX = 16,
	SERVER_SETUP_MS = 30 * 1000,
	SERVER_HEAD = 4, /* the length of a message */
	SERVER_PIECE = 16 << 10,
	SERVER_KEYS_BYTES = 16 << 20,
	SERVER_REPEATED_MS = 1000,
	SERVER_REFUSALS_MAX = 64, /* that are told in that time */
};

enum client_state {
	CLIENT_NONE,
	CLIENT_READS,   /* its request is not complete */
	CLIENT_WAITS,   /* for the agent, or for its turn */
	CLIENT_IS_TOLD, /* its answer is sent */
};

struct ssh_client {
	struct ssh_server *server;
	enum client_state state;
	int fd;
	struct watcher watcher;
	struct buffer in, out;
	size_t sent;
	uint64_t turn; /* of those that wait, the smallest is the next */
	struct permit_session session;
	struct buffer target; /* of a signature, for the log */
};

/* Refusals and failures of the last second. The last one is counted if it repeats itself; those
 * that are more than may be told, or could not be sent, are counted until that could be. */
struct ssh_repeated {
	enum audit_decision decision;
	struct buffer target, reason;
	uint64_t count, n, more;
	struct timer over;
};

struct ssh_server {
	struct loop *loop;
	struct frame frame;
	struct buffer setup;
	struct arena keys;
	struct permit permit;
	uint32_t peer; /* 0: none is known yet */
	struct watcher control, listener, agent;
	struct ssh_client clients[SERVER_CLIENTS_MAX];
	uint64_t turns;
	bool is_asked, is_lost;     /* the agent: it has a request; it has gone */
	struct ssh_client *current; /* whose request it has; NULL: of one who has gone */
	struct buffer question, answer;
	size_t asked;
	struct ssh_repeated repeated;
	bool is_ending; /* the holder reads all that is left */
	int ended;
};

static struct ssh_server server;

/* The log */

static int server_send_event(
	enum audit_decision decision, const char *target, const char *reason, uint64_t count)
{
	const struct audit_event e = { .time_ns = clock_ns(CLOCK_REALTIME),
		.sequence = 1,
		.program = "corral-ssh-agent",
		.pid = (uint32_t)getpid(),
		.action = AUDIT_SERVICE,
		.target = target,
		.decision = decision,
		.reason = reason,
		.exact = true,
		.count = count };
	auto_buffer body = { 0 };

	audit_event_encode(&e, &body);
	if (body.failed)
		return -ENOMEM;
	return server.is_ending
		       ? frame_send(CHILD_SOCKET, FRAME_EVENT, 0, body.data, body.len, NULL, 0)
		       : frame_send_now(CHILD_SOCKET, FRAME_EVENT, 0, body.data, body.len, NULL, 0);
}

static void server_send_counted(struct ssh_repeated *p, enum audit_decision decision,
	const char *target, const char *reason, uint64_t count)
{
	if (server_send_event(decision, target, reason, count) < 0)
		p->more += count;
}

static void server_tell_repeated(struct ssh_server *s)
{
	struct ssh_repeated *p = &s->repeated;

	if (p->count > 0)
		server_send_counted(
			p, p->decision, buffer_text(&p->target), buffer_text(&p->reason), p->count);
	p->count = 0;
	buffer_clear(&p->target);
}

static void server_tell_refusals(struct ssh_server *s)
{
	struct ssh_repeated *p = &s->repeated;

	loop_stop(s->loop, &p->over);
	server_tell_repeated(s);
	if (p->more > 0 &&
		server_send_event(AUDIT_DENIED, "ssh.agent",
			"there were more refusals than are recorded one by one", p->more) == 0)
		p->more = 0;
	/* What could not be sent is tried again. */
	p->n = p->more > 0 && !s->is_ending &&
	       loop_start(s->loop, &p->over, SERVER_REPEATED_MS) == 0;
}

static void server_on_repeated(struct timer *t)
{
	struct ssh_server *s = &server;

	(void)t;
	server_tell_refusals(s);
}

/* All that is recorded but signatures. How many there are is the command's choice. */
static void server_note(
	struct ssh_server *s, enum audit_decision decision, const char *target, const char *reason)
{
	struct ssh_repeated *p = &s->repeated;

	if (p->target.len > 0 && p->decision == decision &&
		strcmp(buffer_text(&p->target), target) == 0 &&
		strcmp(buffer_text(&p->reason), reason) == 0) {
		p->count++;
		return;
	}
	if (p->n >= SERVER_REFUSALS_MAX) {
		p->more++;
		return;
	}
	if (p->n > 0 || loop_start(s->loop, &p->over, SERVER_REPEATED_MS) == 0)
		p->n++;
	server_tell_repeated(s);
	server_send_counted(p, decision, target, reason, 1);
	p->decision = decision;
	buffer_clear(&p->reason);
	buffer_adds(&p->target, target);
	buffer_adds(&p->reason, reason);
}

static void server_note_refusal(struct ssh_server *s, const struct permit_answer *a)
{
	server_note(s, AUDIT_DENIED, buffer_text(&a->target), buffer_text(&a->reason));
}

/* Clients */

static void server_close_client(struct ssh_client *c)
{
	struct ssh_server *s = c->server;

	if (c->state == CLIENT_NONE)
		return;
	if (s->current == c)
		s->current = NULL;
	loop_remove(s->loop, &c->watcher);
	fd_close(&c->fd);
	buffer_deinit(&c->in);
	buffer_deinit(&c->out);
	buffer_deinit(&c->target);
	permit_session_deinit(&c->session);
	c->state = CLIENT_NONE;
	if (s->listener.fd >= 0)
		(void)loop_change(s->loop, &s->listener, EPOLLIN);
}

static void server_set_state(struct ssh_client *c, enum client_state state)
{
	static const uint32_t events[] = {
		[CLIENT_READS] = EPOLLIN, [CLIENT_WAITS] = 0, [CLIENT_IS_TOLD] = EPOLLOUT
	};

	c->state = state;
	if (loop_change(c->server->loop, &c->watcher, events[state]) < 0)
		server_close_client(c);
}

static void server_write(struct ssh_client *c)
{
	while (c->sent < c->out.len) {
		ssize_t n = send(c->fd, c->out.data + c->sent, c->out.len - c->sent,
			MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && errno != EINTR) {
			server_close_client(c);
			return;
		}
		c->sent += n > 0 ? (size_t)n : 0;
	}
	buffer_clear(&c->in);
	buffer_clear(&c->out);
	c->sent = 0;
	server_set_state(c, CLIENT_READS);
}

static void server_put_head(struct buffer *out, size_t len)
{
	const uint8_t head[SERVER_HEAD] = { (uint8_t)(len >> 24), (uint8_t)(len >> 16),
		(uint8_t)(len >> 8), (uint8_t)len };

	buffer_add(out, head, sizeof(head));
}

/* message: its type and its body. */
static void server_answer(struct ssh_client *c, const void *message, size_t len)
{
	buffer_clear(&c->out);
	c->sent = 0;
	server_put_head(&c->out, len);
	buffer_add(&c->out, message, len);
	if (c->out.failed) {
		server_close_client(c);
		return;
	}
	server_set_state(c, CLIENT_IS_TOLD);
	if (c->state == CLIENT_IS_TOLD)
		server_write(c);
}

static void server_answer_word(struct ssh_client *c, uint8_t type)
{
	server_answer(c, &type, 1);
}

/* The agent */

static void server_lose_agent(struct ssh_server *s)
{
	loop_remove(s->loop, &s->agent);
	s->is_lost = true;
	s->is_asked = false;
	s->current = NULL;
	server_note(s, AUDIT_FAILED, "ssh.agent", "the user's ssh agent hung up");
	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++)
		if (s->clients[i].state == CLIENT_WAITS)
			server_answer_word(&s->clients[i], SSH_MESSAGE_FAILURE);
}

static int server_ask(struct ssh_server *s)
{
	while (s->asked < s->question.len) {
		ssize_t n = send(SERVER_AGENT, s->question.data + s->asked,
			s->question.len - s->asked, MSG_NOSIGNAL | MSG_DONTWAIT);

		if (n < 0 && errno == EAGAIN)
			return loop_change(s->loop, &s->agent, EPOLLIN | EPOLLOUT);
		if (n < 0 && errno != EINTR)
			return -errno;
		s->asked += n > 0 ? (size_t)n : 0;
	}
	return loop_change(s->loop, &s->agent, EPOLLIN);
}

/* The next one who waits. */
static void server_ask_next(struct ssh_server *s)
{
	struct ssh_client *next = NULL;

	for (size_t i = 0; i < SERVER_CLIENTS_MAX; i++) {
		struct ssh_client *c = &s->clients[i];

		if (c->state == CLIENT_WAITS && (!next || c->turn < next->turn))
			next = c;
	}
	if (!next || s->is_asked || s->is_lost)
		return;
	buffer_clear(&s->question);
	buffer_clear(&s->answer);
	buffer_add(&s->question, next->in.data, next->in.len);
	s->asked = 0;
	s->is_asked = true;
	s->current = next;
	if (s->question.failed || server_ask(s) < 0)
		server_lose_agent(s);
}

static void server_wait_for_agent(struct ssh_client *c)
{
	if (c->server->is_lost) {
		server_answer_word(c, SSH_MESSAGE_FAILURE);
		return;
	}
	c->turn = c->server->turns++;
	server_set_state(c, CLIENT_WAITS);
	server_ask_next(c->server);
}

/* A signature that is not in the log is not given. */
static bool server_may_pass(const struct ssh_client *c, struct blob message)
{
	const uint8_t asked = (uint8_t)c->in.data[SERVER_HEAD], type = message.data[0];
	const struct blob body = { message.data + 1, message.len - 1 };
	const struct blob question = { (const uint8_t *)c->in.data + SERVER_HEAD + 1,
		c->in.len - SERVER_HEAD - 1 };

	if (asked == SSH_MESSAGE_REQUEST_IDENTITIES)
		return type == SSH_MESSAGE_IDENTITIES && ssh_identities_check(body);
	if (type != SSH_MESSAGE_SIGNATURE || !permit_is_signature(question, body)) {
		server_note(c->server, AUDIT_FAILED, buffer_text(&c->target),
			"the user's ssh agent did not sign: it has no such key, or refused, or "
			"signed by another algorithm");
		return false;
	}
	return server_send_event(AUDIT_ALLOWED, buffer_text(&c->target), "", 1) == 0;
}

static void server_pass(struct ssh_server *s)
{
	const struct blob message = { (const uint8_t *)s->answer.data + SERVER_HEAD,
		s->answer.len - SERVER_HEAD };
	struct ssh_client *c = s->current;

	s->is_asked = false;
	s->current = NULL;
	if (c && server_may_pass(c, message))
		server_answer(c, message.data, message.len);
	else if (c)
		server_answer_word(c, SSH_MESSAGE_FAILURE);
	server_ask_next(s);
}

/*
 * One message is read, and nothing behind it. 1: it is complete. 0: there is none yet. Negative:
 * the other side has gone, or broke a rule.
 */
static int server_read(int fd, struct buffer *in)
{
	static char piece[SERVER_PIECE];

	for (;;) {
		size_t want = SERVER_HEAD;
		ssize_t n;

		if (in->len >= SERVER_HEAD) {
			const uint32_t len = blob_peek_u32((const uint8_t *)in->data);

			if (len == 0 || len > SSH_MESSAGE_MAX)
				return -EPROTO;
			want += len;
		}
		if (in->len > SERVER_HEAD && in->len == want)
			return 1;
		want -= in->len;
		n = recv(fd, piece, want < sizeof(piece) ? want : sizeof(piece), MSG_DONTWAIT);
		if (n < 0 && errno == EAGAIN)
			return 0;
		if (n == 0 || (n < 0 && errno != EINTR))
			return n == 0 ? -EPIPE : -errno;
		buffer_add(in, piece, n > 0 ? (size_t)n : 0);
		if (in->failed)
			return -ENOMEM;
	}
}

static void server_on_agent(struct watcher *w, uint32_t events)
{
	struct ssh_server *s = container_of(w, struct ssh_server, agent);
	int r = 0;

	if (events & EPOLLOUT)
		r = server_ask(s);
	if (r == 0 && events & ~(uint32_t)EPOLLOUT)
		r = server_read(SERVER_AGENT, &s->answer);
	/* Nobody asked, or not all of it yet. */
	if (r == 1 && (!s->is_asked || s->asked < s->question.len))
		r = -EPROTO;
	if (r < 0)
		server_lose_agent(s);
	else if (r == 1)
		server_pass(s);
}

/* Requests */

static void server_on_sign(struct ssh_client *c, struct blob body)
{
	auto_permit_answer a = { .is_allowed = false };

	if (permit_sign(&c->server->permit, &c->session, body, &a) < 0) {
		server_close_client(c);
		return;
	}
	if (!a.is_allowed) {
		server_note_refusal(c->server, &a);
		server_answer_word(c, SSH_MESSAGE_FAILURE);
		return;
	}
	buffer_clear(&c->target);
	buffer_adds(&c->target, buffer_text(&a.target));
	if (c->target.failed)
		server_close_client(c);
	else
		server_wait_for_agent(c);
}

static void server_on_bind(struct ssh_client *c, struct blob body)
{
	auto_permit_answer a = { .is_allowed = false };

	if (permit_bind(&c->server->permit, &c->session, body, &a) < 0) {
		server_close_client(c);
		return;
	}
	if (!a.is_allowed)
		server_note_refusal(c->server, &a);
	server_answer_word(c, a.is_allowed ? SSH_MESSAGE_SUCCESS : SSH_MESSAGE_FAILURE);
}

static void server_refuse(struct ssh_client *c, uint8_t type)
{
	auto_buffer target = { 0 };

	buffer_printf(&target, "ssh.request:%u", type);
	server_note(c->server, AUDIT_DENIED, buffer_text(&target),
		c->session.is_closed ? "the connection is forwarded from another machine"
				     : "the agent is lent for signatures, and for nothing else");
	server_answer_word(c, SSH_MESSAGE_FAILURE);
}

/* What is none of these changes the agent, or is not known. */
static void server_on_request(struct ssh_client *c)
{
	const uint8_t type = (uint8_t)c->in.data[SERVER_HEAD];
	const struct blob body = { (const uint8_t *)c->in.data + SERVER_HEAD + 1,
		c->in.len - SERVER_HEAD - 1 };

	if (type == SSH_MESSAGE_SIGN_REQUEST)
		server_on_sign(c, body);
	else if (type == SSH_MESSAGE_EXTENSION && ssh_is_bind(body))
		server_on_bind(c, body);
	else if (type == SSH_MESSAGE_REQUEST_IDENTITIES && body.len == 0 && !c->session.is_closed)
		server_wait_for_agent(c);
	else
		server_refuse(c, type);
}

static void server_on_client(struct watcher *w, uint32_t events)
{
	struct ssh_client *c = container_of(w, struct ssh_client, watcher);
	int r;

	if (c->state == CLIENT_IS_TOLD && events & EPOLLOUT) {
		server_write(c);
		return;
	}
	if (c->state != CLIENT_READS) {
		/* It hung up. */
		server_close_client(c);
		return;
	}
	r = server_read(c->fd, &c->in);
	if (r < 0)
		server_close_client(c);
	else if (r == 1)
		server_on_request(c);
}

static bool server_is_peer(const struct ssh_server *s, int fd)
{
	struct ucred peer;
	socklen_t len = sizeof(peer);

	return getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &len) == 0 &&
	       peer.pid == (pid_t)s->peer;
}

static void server_add_client(struct ssh_server *s, struct ssh_client *c, int fd)
{
	*c = (struct ssh_client){ .server = s, .state = CLIENT_READS, .fd = fd };
	c->watcher = (struct watcher){ .ready = server_on_client, .fd = -1 };
	if (loop_add(s->loop, &c->watcher, fd, EPOLLIN) < 0)
		server_close_client(c);
}

static void server_on_listener(struct watcher *w, uint32_t events)
{
	struct ssh_server *s = container_of(w, struct ssh_server, listener);
	struct ssh_client *free = NULL;
	auto_fd fd = -1;

	(void)events;
	for (size_t i = 0; !free && i < SERVER_CLIENTS_MAX; i++)
		free = s->clients[i].state == CLIENT_NONE ? &s->clients[i] : NULL;
	/* The rest waits until one goes. */
	if (!free) {
		(void)loop_change(s->loop, w, 0);
		return;
	}
	fd = accept4(SERVER_LISTENER, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	if (fd < 0)
		return;
	if (server_is_peer(s, fd)) {
		server_add_client(s, free, fd_take(&fd));
		return;
	}
	server_note(s, AUDIT_DENIED, "ssh.agent",
		"a process outside of the sandbox connected to its socket");
}

/* The holder */

static int server_take_peer(struct ssh_server *s)
{
	if (s->frame.type != FRAME_SSH_PEER || s->frame.len != sizeof(s->peer) || s->peer != 0)
		return -EPROTO;
	memcpy(&s->peer, s->frame.body, sizeof(s->peer));
	return s->peer == 0 ? -EPROTO : loop_add(s->loop, &s->listener, SERVER_LISTENER, EPOLLIN);
}

static void server_on_control(struct watcher *w, uint32_t events)
{
	struct ssh_server *s = container_of(w, struct ssh_server, control);
	int r = frame_receive_now(w->fd, &s->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	r = r == 1 ? server_take_peer(s) : -EPIPE;
	if (r < 0)
		s->ended = r;
}

/* The beginning */

static int server_take_setup(struct ssh_server *s, struct error *e)
{
	struct ssh_setup setup;
	int r = wait_for_one(CHILD_SOCKET, POLLIN, wait_until(SERVER_SETUP_MS)) == 0
			? -ETIMEDOUT
			: frame_receive(CHILD_SOCKET, &s->frame);

	if (r != 1 || s->frame.type != FRAME_SSH_SETUP)
		return r < 0 ? r : r == 0 ? -EPIPE : -EPROTO;
	buffer_add(&s->setup, s->frame.body, s->frame.len);
	if (s->setup.failed)
		return -ENOMEM;
	r = ssh_setup_decode(&setup, s->setup.data, s->setup.len);
	return r < 0 ? r : permit_init(&s->permit, &setup, &s->keys, e);
}

static int server_prepare(struct ssh_server *s, struct error *e)
{
	int r = host_key_begin();

	if (r < 0)
		return error_set(e, r, NULL, "OpenSSL cannot be used");
	r = confinement_enter(PROCESS_SSH_AGENT, NULL);
	if (r < 0)
		return error_set(e, r, NULL, "cannot confine corral-ssh-agent: %s", strerror(-r));
	arena_init(&s->keys, SERVER_KEYS_BYTES);
	r = loop_new(&s->loop);
	if (r == 0)
		r = server_take_setup(s, e);
	return r < 0 && !e->text[0] ? error_set(e, r, NULL, "corral-ssh-agent: %s", strerror(-r))
				    : r;
}

int sshagent_server_main(void)
{
	struct ssh_server *s = &server;
	struct error e = { 0 };
	int r = server_prepare(s, &e);

	if (r < 0) {
		(void)refusal_send(CHILD_SOCKET, FRAME_FAILED, r, &e);
		return r;
	}
	s->control = (struct watcher){ .ready = server_on_control, .fd = -1 };
	s->listener = (struct watcher){ .ready = server_on_listener, .fd = -1 };
	s->agent = (struct watcher){ .ready = server_on_agent, .fd = -1 };
	s->repeated.over.expired = server_on_repeated;
	r = loop_add(s->loop, &s->control, CHILD_SOCKET, EPOLLIN);
	if (r == 0)
		r = loop_add(s->loop, &s->agent, SERVER_AGENT, EPOLLIN);
	if (r == 0)
		r = frame_send(CHILD_SOCKET, FRAME_READY, 0, NULL, 0, NULL, 0);
	while (r == 0 && s->ended == 0)
		r = loop_turn(s->loop, -1);
	s->is_ending = true;
	server_tell_refusals(s);
	return r;
}
