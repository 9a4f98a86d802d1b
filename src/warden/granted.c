/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/granted.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "base/fd.h"
#include "holder/live.h"
#include "wire/configure.h"
#include "wire/question.h"
#include "wire/report.h"

static void granted_next(struct warden_grants *g);

static void granted_drop(struct warden_grants *g)
{
	int fd = g->watch.fd;

	loop_remove(session_loop(g->session), &g->watch);
	fd_close(&fd);
	g->is_over = g->has_grants;
}

/* Relay and broker have said what they have to. */
static void granted_settle(struct warden_grants *g)
{
	const struct session_putting *p = &g->putting;
	const struct refusal refusal = { .error = -p->code, .text = p->why.text, .hint = "" };
	const uint64_t id = g->id;
	auto_buffer body = { 0 };

	g->id = 0;
	if (p->code == 0 && g->is_empty)
		g->has_grants = false;
	if (p->code < 0 && refusal_encode(&refusal, &body) < 0)
		body.failed = true;
	if (g->watch.fd >= 0 && (body.failed || frame_send(g->watch.fd, FRAME_GRANTS, id, body.data,
							body.len, NULL, 0) < 0))
		granted_drop(g);
	granted_next(g);
}

/* The network as it is, with these grants. */
static int granted_put_network_as(struct warden_grants *g, const struct live_grant *grants,
	size_t n, bool has_hosts, struct error *e)
{
	const struct permissions *layers[HOLDER_LIVE_CEILING_MAX];
	static struct change c;
	auto_buffer text = { 0 };
	int r;

	if (g->network.len) {
		r = change_decode(&c, g->network.data, g->network.len);
	} else {
		plan_describe_network(g->plan, &c);
		r = permissions_layers(g->permissions, layers, HOLDER_LIVE_CEILING_MAX);
		if (r >= 0)
			r = holder_live_network(layers, (size_t)r, &text, e);
		c.text = buffer_text(&text);
	}
	/* What is granted is held whole, or refused; less is always possible. */
	c.flags = CHANGE_KEEPS_BROKER | (has_hosts ? CHANGE_WHOLE : 0);
	return r < 0 ? r : session_putting_network(&g->putting, g->session, &c, grants, n);
}

static void granted_put_network(
	struct warden_grants *g, const struct live_grant *grants, size_t n, bool has_hosts)
{
	struct error e = { 0 };
	const int r = granted_put_network_as(g, grants, n, has_hosts, &e);

	if (r == -ENOTCONN && has_hosts && !g->has_broker)
		session_putting_refuse(&g->putting, r,
			"this sandbox was built without a network: its permissions asked about no "
			"host, or no daemon ran");
	else if (r < 0 && r != -ENOTCONN)
		session_putting_refuse(&g->putting, r, e.text[0] ? e.text : strerror(-r));
}

/* -EPROTO: a holder would not send that. */
static int granted_put(struct warden_grants *g, uint64_t id, const void *body, size_t len)
{
	static struct live_grant grants[QUESTION_GRANTS_MAX];
	int n = live_grants_decode(grants, body, len), r;
	bool has_hosts = false;

	if (n < 0 || id == 0 || id & GRANTED_BY_HOLDER)
		return -EPROTO;
	for (int i = 0; i < n; i++)
		has_hosts = has_hosts || grants[i].op == OPERATION_NET_CONNECT;
	g->id = id;
	session_putting_begin(&g->putting, id | GRANTED_BY_HOLDER);
	/* What is given up counts until that is confirmed. */
	g->has_grants = g->has_grants || n > 0;
	if (g->has_broker) {
		/* -ENOTCONN: it has ended for good, and does nothing any more. */
		r = session_putting_grants(&g->putting, g->session, grants, (size_t)n);
		if (r < 0 && r != -ENOTCONN)
			session_putting_refuse(&g->putting, r, "the broker does not answer");
	}
	if (g->putting.code == 0)
		granted_put_network(g, grants, (size_t)n, has_hosts);
	g->is_empty = n == 0;
	if (!session_putting_waits(&g->putting))
		granted_settle(g);
	return 0;
}

/* The last of those that came meanwhile. */
static void granted_next(struct warden_grants *g)
{
	auto_buffer body = g->queued;
	const uint64_t id = g->queued_id;

	g->queued = (struct buffer){ 0 };
	g->queued_id = 0;
	if (id && g->watch.fd >= 0 && granted_put(g, id, body.data, body.len) < 0)
		granted_drop(g);
}

static int granted_on_grants(struct warden_grants *g, const struct frame *f)
{
	if (!g->id)
		return granted_put(g, f->id, f->body, f->len);
	buffer_clear(&g->queued);
	buffer_add(&g->queued, f->body, f->len);
	g->queued_id = f->id;
	return g->queued.failed ? -ENOMEM : 0;
}

static int granted_on_answer(struct warden_grants *g, const struct frame *f)
{
	struct answer a;

	if (answer_decode(&a, f->body, f->len) < 0)
		return -EPROTO;
	/* Whoever asked may have gone meanwhile. */
	(void)session_answer(g->session, f->id, &a);
	return 0;
}

static void granted_ready(struct watcher *w, uint32_t events)
{
	struct warden_grants *g = container_of(w, struct warden_grants, watch);
	int r = frame_receive(w->fd, &g->frame);

	(void)events;
	if (r == -EAGAIN || r == -EINTR)
		return;
	if (r == 1 && g->frame.n_fds == 0 && g->frame.type == FRAME_GRANTS)
		r = granted_on_grants(g, &g->frame);
	else if (r == 1 && g->frame.n_fds == 0 && g->frame.type == FRAME_ANSWER)
		r = granted_on_answer(g, &g->frame);
	else if (r == 1 && g->frame.n_fds == 0 && g->frame.type == FRAME_STOP && g->frame.len == 0)
		g->stops = true;
	else
		r = -EPROTO;
	frame_deinit(&g->frame);
	if (r < 0)
		granted_drop(g);
}

int granted_attach(struct warden_grants *g, int socket)
{
	auto_fd fd = socket;
	int r = g->watch.fd >= 0 ? -EEXIST : fcntl(fd, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;

	g->watch.ready = granted_ready;
	if (r == 0)
		r = loop_add(session_loop(g->session), &g->watch, fd, EPOLLIN);
	if (r == 0)
		(void)fd_take(&fd);
	return r;
}

void granted_expect(struct warden_grants *g, uint64_t id, const void *body, size_t len)
{
	buffer_clear(&g->next);
	buffer_add(&g->next, body, len);
	g->next_id = id;
}

bool granted_event(struct warden_grants *g, const struct session_event *e)
{
	if (session_putting_heard(&g->putting, e)) {
		granted_settle(g);
	} else if (e->kind == SESSION_POLICY && g->next_id && e->id == g->next_id) {
		g->next_id = 0;
		if (!e->refusal.error && !g->next.failed) {
			buffer_deinit(&g->network);
			g->network = g->next;
			g->next = (struct buffer){ 0 };
		}
	}
	return e->id & GRANTED_BY_HOLDER;
}
