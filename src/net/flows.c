/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     datagram -> a flow that is known  -> sent on, or kept while it is being dialled
 *              `-> judged, a new flow   -> dialled -> a connected socket outside
 *                    \                        \
 *                     `------------------------`-> ICMP to the sender, with a record
 *
 * The socket outside is connected, so the kernel takes datagrams only from the very address that
 * was judged and dialled, and tells what ICMP says about it. No datagram is held longer than a dial
 * takes: who sends faster than it goes out loses some, as on any network.
 *
 * A flow whose dial failed stays for a moment and answers at once: else each datagram to a name
 * that does not exist would be a question to the host's name servers.
 */
#include "net/flows.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "net/flow-table.h"
#include "net/enter/packet.h"

enum {
	BATCH = 64, /* datagrams of one socket before others have their turn */
	FAILED_MS = 1000,
	DATA_BYTES = 64 << 10,
};

/* What is nobody's outside, or this sandbox's own. It is not captured; if it comes, it is denied.
 */
static const char *const own[] = { "0.0.0.0/8", "127.0.0.0/8", "::", "::1", "fd53::/64" };
enum { N_OWN = ROWS(own) };

struct flows {
	struct flows_options o;
	struct watcher watchers[2];
	struct timer idle;
	struct flow_table table;
	size_t waiting_bytes;
	struct prefix own[N_OWN];
	char data[DATA_BYTES];
};

/* A datagram that came before there was a socket for it. */
struct waiting {
	struct waiting *next;
	size_t len;
	char data[];
};

/* What only matters until it is connected. */
struct dialling {
	struct dial dial;
	struct flow *flow;
	struct waiting *first, **last;
	size_t n, bytes;
};

struct flow {
	struct flows *all;
	struct flow_node node;
	struct destination destination; /* the name is the synthetic table's */
	struct address address;         /* that was dialled */
	char *aliases;                  /* that led there (dial.h) */
	struct quota_account *account;
	struct dialling *dialling;
	struct watcher watcher; /* of the socket outside; -1: none */
	bool failed;
	uint64_t sent, received;
};

static struct loop *flows_loop_of(const struct flows *f)
{
	return f->o.dialler->loop;
}

/* Records. */

static void flows_record(const struct flow *f, enum record_kind kind, const struct judgement *j)
{
	auto_buffer address = { 0 };
	struct record r = { .kind = kind,
		.target = j->target,
		.name = f->destination.name ? f->destination.name : "",
		.port = f->destination.port,
		.rule = j->rule,
		.reason = j->reason,
		.remedy = j->remedy,
		.program = "" };

	if (kind == RECORD_CLOSED) {
		r.sent = f->sent;
		r.received = f->received;
	}
	if (f->address.bits > 0)
		address_print(&f->address, &address);
	else if (!f->destination.name)
		address_print(&f->destination.address, &address);
	r.address = buffer_text(&address);
	recorder_add(f->all->o.recorder, &r);
}

static void record_because(const struct flow *f, enum record_kind kind, const char *why)
{
	struct judgement j = { 0 };

	(void)judge_refuse(&f->destination, &j, "%s", why);
	flows_record(f, kind, &j);
}

static void record_failure(const struct flow *f, int error)
{
	struct judgement j = { 0 };

	(void)judge_refuse(&f->destination, &j, "it cannot be reached: %s",
		error == -ENOENT ? "no such name" : strerror(-error));
	flows_record(f, RECORD_FAILED, &j);
}

static void answer_unreachable(const struct flow *f, size_t len)
{
	(void)packet_send_unreachable(f->all->o.raw, &f->node.path, len);
}

/* Ends. */

static void flows_stop_dialling(struct flow *f)
{
	struct dialling *d = f->dialling;
	struct waiting *next = NULL;

	if (!d)
		return;
	f->dialling = NULL;
	dial_cancel(f->all->o.dialler, &d->dial);
	f->all->waiting_bytes -= d->bytes;
	for (struct waiting *w = d->first; w; w = next) {
		next = w->next;
		free(w);
	}
	free(d);
}

static void end_flow(struct flow *f)
{
	auto_fd fd = f->watcher.fd;

	if (fd >= 0)
		record_because(f, RECORD_CLOSED, "");
	flows_stop_dialling(f);
	loop_remove(flows_loop_of(f->all), &f->watcher);
	flow_table_remove(&f->all->table, &f->node);
	free(f->aliases);
	free(f);
}

static struct flow *oldest(struct flows *all)
{
	struct flow_node *n = flow_table_oldest(&all->table);

	return n ? container_of(n, struct flow, node) : NULL;
}

static void wait_for_idle(struct flows *all)
{
	struct flow *f = oldest(all);
	uint64_t now = loop_now(flows_loop_of(all)), age;

	if (!f || all->idle.place > 0)
		return;
	age = now - f->node.used_ms;
	(void)loop_start(
		flows_loop_of(all), &all->idle, age < all->o.idle_ms ? all->o.idle_ms - age : 0);
}

static void on_idle(struct timer *t)
{
	struct flows *all = container_of(t, struct flows, idle);
	uint64_t now = loop_now(flows_loop_of(all));

	for (struct flow *f = oldest(all); f && now - f->node.used_ms >= all->o.idle_ms;
		f = oldest(all))
		end_flow(f);
	wait_for_idle(all);
}

/* The flow's bytes are used up, by this datagram if not before. */
static void deny_bytes(struct flow *f, size_t len)
{
	char reason[256];

	quota_charge(f->account, len, 0);
	quota_explain(f->account, reason);
	record_because(f, RECORD_DENIED, reason);
	answer_unreachable(f, len);
	end_flow(f);
}

/* Outside to inside. */

/* What ICMP said outside is said inside. */
static void on_error(struct flow *f, int error)
{
	record_failure(f, error);
	answer_unreachable(f, 0);
}

static bool is_unreachable(int error)
{
	return error == -ECONNREFUSED || error == -EHOSTUNREACH || error == -ENETUNREACH ||
	       error == -EACCES || error == -EPERM;
}

static void pass_in(struct flow *f, size_t len)
{
	quota_charge(f->account, 0, len);
	f->received += len;
	flow_table_use(&f->all->table, &f->node, loop_now(flows_loop_of(f->all)));
	(void)packet_send_udp(f->all->o.raw, &f->node.path, f->all->data, len);
}

static void on_outside(struct watcher *w, uint32_t events)
{
	struct flow *f = container_of(w, struct flow, watcher);
	struct flows *all = f->all;

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		ssize_t n = recv(w->fd, all->data, sizeof(all->data), MSG_DONTWAIT | MSG_TRUNC);

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && is_unreachable(-errno))
			on_error(f, -errno);
		if (n < 0 || (size_t)n > PACKET_DATA_MAX)
			continue;
		if (quota_left(f->account) < (uint64_t)n) {
			deny_bytes(f, (size_t)n);
			return;
		}
		pass_in(f, (size_t)n);
	}
}

/* Inside to outside. False: the flow is over. */
static bool pass_out(struct flow *f, const void *data, size_t len)
{
	ssize_t n;

	if (quota_left(f->account) < len) {
		deny_bytes(f, len);
		return false;
	}
	n = send(f->watcher.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* That was about an earlier one. */
	if (n < 0 && is_unreachable(-errno)) {
		on_error(f, -errno);
		n = send(f->watcher.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (n >= 0) {
		quota_charge(f->account, len, 0);
		f->sent += len;
	}
	return true;
}

/* Dialling. */

static void keep_waiting(struct flow *f, const void *data, size_t len)
{
	struct dialling *d = f->dialling;
	struct waiting *w;

	if (d->n >= FLOWS_WAITING_MAX || len > FLOWS_WAITING_BYTES - d->bytes ||
		len > FLOWS_WAITING_BYTES_ALL - f->all->waiting_bytes)
		return;
	w = malloc(sizeof(*w) + len);
	if (!w)
		return;
	w->next = NULL;
	w->len = len;
	memcpy(w->data, data, len);
	*d->last = w;
	d->last = &w->next;
	d->n++;
	d->bytes += len;
	f->all->waiting_bytes += len;
}

static struct waiting *take_waiting(struct flow *f)
{
	struct waiting *w = f->dialling->first;

	f->dialling->first = NULL;
	return w;
}

static void flows_on_failed(struct flow *f, int error)
{
	if (error == -EACCES)
		flows_record(f, RECORD_DENIED, &f->dialling->dial.refused);
	else
		record_failure(f, error);
	for (const struct waiting *w = f->dialling->first; w; w = w->next)
		answer_unreachable(f, w->len);
	flows_stop_dialling(f);
	f->failed = true;
}

static void flows_on_dialled(struct dial *dial, int fd)
{
	struct flow *f = container_of(dial, struct dialling, dial)->flow;
	struct waiting *next = NULL;
	bool lives = true;
	int r;

	if (fd < 0) {
		flows_on_failed(f, fd);
		return;
	}
	f->address = dial->address;
	f->aliases = dial->aliases;
	r = loop_add(flows_loop_of(f->all), &f->watcher, fd, EPOLLIN);
	if (r < 0) {
		fd_close(&fd);
		flows_on_failed(f, r);
		return;
	}
	next = take_waiting(f);
	flows_stop_dialling(f);
	for (struct waiting *w = next; w; w = next) {
		next = w->next;
		lives = lives && pass_out(f, w->data, w->len);
		free(w);
	}
}

static int flows_start_dialling(struct flow *f)
{
	const struct destination *d = &f->destination;
	struct dialling *dialling = calloc(1, sizeof(*dialling));
	int r;

	if (!dialling)
		return -ENOMEM;
	dialling->flow = f;
	dialling->dial.done = flows_on_dialled;
	dialling->last = &dialling->first;
	r = dial_start(f->all->o.dialler, &dialling->dial, d->name, d->name ? NULL : &d->address,
		d->port, SOCK_DGRAM);
	if (r < 0)
		free(dialling);
	else
		f->dialling = dialling;
	return r;
}

/* Judging. */

static bool flows_is_own(const struct flows *all, const struct address *a)
{
	for (size_t i = 0; i < N_OWN; i++)
		if (prefix_has(&all->own[i], a))
			return true;
	return false;
}

static bool judge_flow(struct flow *f, struct judgement *j)
{
	const struct flows_options *o = &f->all->o;
	const struct destination *d = &f->destination;
	char reason[sizeof(j->reason)];

	if (flows_is_own(f->all, &d->address))
		return judge_refuse(d, j, "it is an address of the sandbox itself");
	if (!d->name && synthetic_covers(&d->address))
		return judge_refuse(d, j, "no name has this address");
	if (!judge_destination(o->dialler->judge, d, j))
		return false;
	if (quota_open(o->quota, j->target, loop_now(o->dialler->loop), &f->account, reason) < 0)
		return judge_refuse(d, j, "%s", reason);
	return true;
}

static void flows_make_room(struct flows *all)
{
	if (all->table.n >= FLOWS_MAX)
		end_flow(oldest(all));
}

static struct flow *new_flow(struct flows *all, const struct flow *from)
{
	struct flow *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = *from;
	flows_make_room(all);
	flow_table_add(&all->table, &f->node, loop_now(flows_loop_of(all)));
	wait_for_idle(all);
	return f;
}

static void take_new(struct flows *all, const struct capture_datagram *path, size_t len)
{
	struct flow tried = { .all = all,
		.node.path = *path,
		.destination = { .transport = TRANSPORT_UDP,
			.address = address_plain(&path->to),
			.port = path->to_port },
		.watcher = { .ready = on_outside, .fd = -1 } };
	struct judgement j = { 0 };
	struct flow *f;
	int r;

	tried.destination.name = synthetic_name(all->o.synthetic, &tried.destination.address);
	if (!judge_flow(&tried, &j)) {
		flows_record(&tried, RECORD_DENIED, &j);
		answer_unreachable(&tried, len);
		return;
	}
	f = new_flow(all, &tried);
	r = f ? flows_start_dialling(f) : -ENOMEM;
	if (r == 0) {
		keep_waiting(f, all->data, len);
		return;
	}
	record_failure(&tried, r);
	answer_unreachable(&tried, len);
	if (f)
		f->failed = true;
}

static void take_known(struct flow *f, size_t len)
{
	if (f->failed) {
		answer_unreachable(f, len);
		return;
	}
	flow_table_use(&f->all->table, &f->node, loop_now(flows_loop_of(f->all)));
	if (f->dialling)
		keep_waiting(f, f->all->data, len);
	else
		(void)pass_out(f, f->all->data, len);
}

static void flows_take(struct flows *all, const struct capture_datagram *path, size_t len)
{
	struct flow_node *n = flow_table_find(&all->table, path);
	struct flow *f = n ? container_of(n, struct flow, node) : NULL;

	if (f && f->failed && loop_now(flows_loop_of(all)) - n->used_ms >= FAILED_MS) {
		end_flow(f);
		f = NULL;
	}
	if (f)
		take_known(f, len);
	else
		take_new(all, path, len);
}

static void flows_receive(struct flows *all, int fd)
{
	for (int i = 0; i < BATCH; i++) {
		struct capture_datagram path;
		ssize_t n = capture_udp_receive(fd, &path, all->data, sizeof(all->data));

		if (n == -EAGAIN)
			return;
		if (n >= 0)
			flows_take(all, &path, (size_t)n);
	}
}

static void on_udp_4(struct watcher *w, uint32_t events)
{
	(void)events;
	flows_receive(container_of(w, struct flows, watchers[0]), w->fd);
}

static void on_udp_6(struct watcher *w, uint32_t events)
{
	(void)events;
	flows_receive(container_of(w, struct flows, watchers[1]), w->fd);
}

/* Another policy. */

static bool flows_judge_account(struct flow *f, struct judgement *j)
{
	char reason[sizeof(j->reason)];

	if (quota_review(f->all->o.quota, &f->account, j->target, f->sent + f->received, reason) <
		0)
		return judge_refuse(&f->destination, j, "%s", reason);
	return true;
}

static bool flows_may_stay(struct flow *f, struct judgement *j)
{
	const struct dialler *l = f->all->o.dialler;

	return judge_destination(l->judge, &f->destination, j) && flows_judge_account(f, j) &&
	       (f->dialling || dial_review(l, &f->destination, &f->address, f->aliases, j));
}

/* What was found out about where to dial was judged by another policy: once more from the start. */
static void flows_dial_again(struct flow *f)
{
	const struct destination *d = &f->destination;
	int r;

	dial_cancel(f->all->o.dialler, &f->dialling->dial);
	r = dial_start(f->all->o.dialler, &f->dialling->dial, d->name, d->name ? NULL : &d->address,
		d->port, SOCK_DGRAM);
	if (r < 0)
		flows_on_failed(f, r);
}

static void net_flows_review(struct flow *f)
{
	struct judgement j = { 0 };

	/* Whoever sends to there again may have better luck. */
	if (f->failed) {
		end_flow(f);
	} else if (!flows_may_stay(f, &j)) {
		judge_revoke(&j);
		flows_record(f, RECORD_DENIED, &j);
		answer_unreachable(f, 0);
		end_flow(f);
	} else if (f->dialling) {
		flows_dial_again(f);
	}
}

void flows_review(struct flows *all)
{
	struct flow_node *next;

	for (struct flow_node *n = all->table.first; n; n = next) {
		next = n->next;
		net_flows_review(container_of(n, struct flow, node));
	}
}

/* Making. */

static int flows_start(struct flows *f)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < N_OWN; i++)
		r = prefix_parse(own[i], strlen(own[i]), &f->own[i]);
	for (int i = 0; r == 0 && i < 2; i++)
		if (f->o.udp[i] >= 0)
			r = loop_add(flows_loop_of(f), &f->watchers[i], f->o.udp[i], EPOLLIN);
	return r;
}

static void close_sockets(const struct flows_options *o)
{
	for (int i = 0; i < 2; i++) {
		auto_fd udp = o->udp[i], raw = o->raw[i];

		(void)udp;
		(void)raw;
	}
}

int flows_new(struct flows **ret, const struct flows_options *o)
{
	struct flows *f = calloc(1, sizeof(*f));
	int r;

	if (!f) {
		close_sockets(o);
		return -ENOMEM;
	}
	f->o = *o;
	if (f->o.idle_ms == 0)
		f->o.idle_ms = FLOWS_IDLE_MS;
	f->idle.expired = on_idle;
	f->watchers[0] = (struct watcher){ .ready = on_udp_4, .fd = -1 };
	f->watchers[1] = (struct watcher){ .ready = on_udp_6, .fd = -1 };
	flow_table_init(&f->table);
	r = flows_start(f);
	if (r < 0)
		flows_free(f);
	else
		*ret = f;
	return r;
}

void flows_free(struct flows *f)
{
	if (!f)
		return;
	while (f->table.n > 0)
		end_flow(oldest(f));
	loop_stop(flows_loop_of(f), &f->idle);
	for (int i = 0; i < 2; i++)
		loop_remove(flows_loop_of(f), &f->watchers[i]);
	close_sockets(&f->o);
	free(f);
}

size_t flows_count(const struct flows *f)
{
	return f->table.n;
}
