/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     datagram -> a flow that is known  -> sent on, or kept while it is being dialled
 *              `-> judged, a new flow   -> dialled -> a connected socket outside
 *                  |  \                       \
 *                  |   `-----------------------`-> ICMP to the sender, with a record
 *                  `-> waits for an answer -> judged again
 *
 * The socket outside is connected, so the kernel takes datagrams only from the very address that
 * was judged and dialled, and reports ICMP errors about it. A datagram is kept no longer than the
 * answer and the dial take. If a program sends faster than that, some are lost, as on any network.
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
#include "base/hash.h"
#include "net/enter/capture.h"
#include "net/enter/packet.h"

enum {
	BATCH = 64, /* datagrams of one socket before others have their turn */
	FAILED_MS = 1000,
	DATA_BYTES = 64 << 10,
	BUCKETS = 4096,
};

/* An address of no host outside, or this sandbox's own. It is not captured; if it comes, it is
 * denied. */
static const char *const own[] = { "0.0.0.0/8", "127.0.0.0/8", "::", "::1", "fd53::/64" };
enum { N_OWN = ROWS(own), N_WATCHERS = 4 };

struct flows_watcher {
	struct flows *all;
	bool is_group; /* of a socket of CAPTURE_GROUP_* */
	struct watcher watcher;
};

struct flows {
	struct flows_options o;
	struct flows_watcher watchers[N_WATCHERS];
	struct timer idle;
	struct hash_key key;
	struct flow *buckets[BUCKETS]; /* by their two ends */
	struct flow *first, *last;     /* by use: the oldest first */
	size_t n;
	size_t waiting_bytes;
	struct prefix own[N_OWN];
	char data[DATA_BYTES];
};

/* A datagram that came before there was a socket for it. */
struct flow_datagram {
	struct flow_datagram *next;
	size_t len;
	char data[];
};

/* What only matters until it is connected. */
struct flow_dialling {
	struct dial dial;
	struct asker_wait asking; /* before that */
	struct flow *flow;
	struct flow_datagram *first, **last;
	size_t n, bytes;
};

struct flow {
	struct flows *all;
	struct capture_datagram path; /* from inside to outside */
	uint64_t used_ms;
	struct flow *chain, *next, *previous;
	struct destination destination; /* the name is the synthetic table's */
	struct owner_wait owner;
	char *program;          /* that it is of, for people; NULL: not known */
	char *agreed;           /* owns destination.agreed */
	struct address address; /* that was dialled */
	char *aliases;          /* that led there (dial.h) */
	struct quota_account *account;
	struct flow_dialling *dialling;
	struct watcher watcher; /* of the socket outside; -1: none */
	bool failed;
	uint64_t sent, received;
};

/* So its bytes are its value. */
_Static_assert(sizeof(struct capture_datagram) == 2 * sizeof(struct address) + 4, "no padding");
_Static_assert(FLOWS_WAITING_BYTES_ALL >= 2 * ASKER_FLOWS_MAX * FLOWS_ASKING_BYTES, "room is left");

static struct loop *flows_loop(const struct flows *f)
{
	return f->o.dialler->loop;
}

/* The table. */

/* Where the flow of these ends stands in its bucket, or would. */
static struct flow **flows_find(struct flows *all, const struct capture_datagram *path)
{
	uint64_t hash = hash_keyed(&all->key, 0, (const char *)path, sizeof(*path));
	struct flow **f = &all->buckets[hash % BUCKETS];

	while (*f && memcmp(&(*f)->path, path, sizeof(*path)) != 0)
		f = &(*f)->chain;
	return f;
}

static void flows_append(struct flows *all, struct flow *f)
{
	f->used_ms = loop_now(flows_loop(all));
	f->next = NULL;
	f->previous = all->last;
	*(all->last ? &all->last->next : &all->first) = f;
	all->last = f;
}

static void flows_take_out(struct flows *all, struct flow *f)
{
	if (all->first == f)
		all->first = f->next;
	else
		f->previous->next = f->next;
	*(f->next ? &f->next->previous : &all->last) = f->previous;
}

/* It is the one that was used last. */
static void flows_use(struct flow *f)
{
	flows_take_out(f->all, f);
	flows_append(f->all, f);
}

/* Records. */

static void flows_record(const struct flow *f, enum record_kind kind, const struct net_judgement *j)
{
	auto_buffer address = { 0 };
	struct record r = { .kind = kind,
		.target = j->target,
		.name = f->destination.name,
		.port = f->destination.port,
		.program = f->program,
		.rule = j->rule,
		.reason = j->reason,
		.remedy = j->remedy };

	if (kind == RECORD_CLOSED) {
		r.sent = f->sent;
		r.received = f->received;
	}
	if (f->address.bits > 0)
		address_print(&f->address, &address);
	else if (!f->destination.name)
		address_print(&f->destination.address, &address);
	r.address = buffer_text(&address);
	if (f->program || kind == RECORD_CLOSED)
		recorder_add(f->all->o.recorder, &r);
	else
		owners_record(f->all->o.owners, f->all->o.recorder, true, f->path.from_port, &r,
			NULL, NULL);
}

static void flows_record_because(const struct flow *f, enum record_kind kind, const char *why)
{
	struct net_judgement j = { 0 };

	(void)judge_refuse(&f->destination, &j, "%s", why);
	flows_record(f, kind, &j);
}

static void flows_answer(const struct flow *f, size_t len)
{
	(void)packet_send_unreachable(f->all->o.raw, &f->path, len);
}

static void flows_record_failure(const struct flow *f, int error)
{
	struct net_judgement j = { 0 };

	(void)judge_refuse(&f->destination, &j, "cannot be reached: %s",
		error == -ENOENT ? "no such name" : strerror(-error));
	flows_record(f, RECORD_FAILED, &j);
}

/* Ends. */

static void flows_stop_dialling(struct flow *f)
{
	struct flow_dialling *d = f->dialling;
	struct flow_datagram *next = NULL;

	if (!d)
		return;
	f->dialling = NULL;
	asker_leave(&d->asking, QUESTION_GIVEN_UP);
	dial_cancel(f->all->o.dialler, &d->dial);
	f->all->waiting_bytes -= d->bytes;
	for (struct flow_datagram *w = d->first; w; w = next) {
		next = w->next;
		free(w);
	}
	free(d);
}

static void flows_release(struct flow *f)
{
	owners_leave(&f->owner);
	flows_stop_dialling(f);
	free(f->program);
	free(f->agreed);
	free(f->aliases);
	free(f);
}

static bool flows_asks(const struct flow *f)
{
	return f->dialling && f->dialling->asking.question;
}

static void flows_end(struct flow *f)
{
	auto_fd fd = f->watcher.fd;

	if (fd >= 0)
		flows_record_because(f, RECORD_CLOSED, "");
	loop_remove(flows_loop(f->all), &f->watcher);
	*flows_find(f->all, &f->path) = f->chain;
	flows_take_out(f->all, f);
	f->all->n--;
	flows_release(f);
}

/* first: the flow that was used longest ago, or NULL. */
static void flows_wait_for_idle(struct flows *all, const struct flow *first)
{
	uint64_t age;

	if (!first || all->idle.place > 0)
		return;
	age = loop_now(flows_loop(all)) - first->used_ms;
	(void)loop_start(
		flows_loop(all), &all->idle, age < all->o.idle_ms ? all->o.idle_ms - age : 0);
}

static void flows_on_idle(struct timer *t)
{
	struct flows *all = container_of(t, struct flows, idle);
	uint64_t now = loop_now(flows_loop(all));
	struct flow *f = all->first, *next, *waits = NULL;

	for (; f && now - f->used_ms >= all->o.idle_ms; f = next) {
		next = f->next;
		/* One that waits for an answer ends with its question. */
		if (flows_asks(f)) {
			flows_use(f);
			waits = f;
		} else {
			flows_end(f);
		}
	}
	flows_wait_for_idle(all, f ? f : waits);
}

/* If not, the flow is over: its bytes are used up, by this datagram if not before. */
static bool flows_may_pass(struct flow *f, size_t len)
{
	char reason[256];

	if (quota_left(f->account) >= len)
		return true;
	quota_charge(f->account, len, 0);
	quota_explain(f->account, reason);
	flows_record_because(f, RECORD_DENIED, reason);
	flows_answer(f, len);
	flows_end(f);
	return false;
}

/* What ICMP said outside is said inside. */
static void flows_fail(const struct flow *f, int error)
{
	flows_record_failure(f, error);
	flows_answer(f, 0);
}

static bool flows_is_unreachable(int error)
{
	return error == -ECONNREFUSED || error == -EHOSTUNREACH || error == -ENETUNREACH ||
	       error == -EACCES || error == -EPERM;
}

static void flows_on_outside(struct watcher *w, uint32_t events)
{
	struct flow *f = container_of(w, struct flow, watcher);
	struct flows *all = f->all;

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		ssize_t n = recv(w->fd, all->data, sizeof(all->data), MSG_DONTWAIT | MSG_TRUNC);
		size_t len = n < 0 ? 0 : (size_t)n;

		if (n < 0 && errno == EAGAIN)
			return;
		if (n < 0 && flows_is_unreachable(-errno))
			flows_fail(f, -errno);
		if (n < 0 || len > PACKET_DATA_MAX)
			continue;
		if (!flows_may_pass(f, len))
			return;
		quota_charge(f->account, 0, len);
		f->received += len;
		flows_use(f);
		(void)packet_send_udp(all->o.raw, &f->path, all->data, len);
	}
}

/* Inside to outside. False: the flow is over. */
static bool flows_pass_out(struct flow *f, const void *data, size_t len)
{
	ssize_t n;

	if (!flows_may_pass(f, len))
		return false;
	n = send(f->watcher.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	/* That was about an earlier one. */
	if (n < 0 && flows_is_unreachable(-errno)) {
		flows_fail(f, -errno);
		n = send(f->watcher.fd, data, len, MSG_DONTWAIT | MSG_NOSIGNAL);
	}
	if (n >= 0) {
		quota_charge(f->account, len, 0);
		f->sent += len;
	}
	return true;
}

/* Dialling. */

static void flows_keep(struct flow *f, const void *data, size_t len)
{
	struct flow_dialling *d = f->dialling;
	const size_t room = flows_asks(f) ? FLOWS_ASKING_BYTES : FLOWS_WAITING_BYTES;
	struct flow_datagram *w;

	if (d->n >= FLOWS_WAITING_MAX || len > room - d->bytes ||
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

/* Answers all datagrams that were kept by ICMP. The caller has recorded why. */
static void flows_give_up(struct flow *f)
{
	const struct flow_datagram *w = f->dialling->first;

	/* One answer if none was kept: its only datagram was too long. */
	if (!w)
		flows_answer(f, 0);
	for (; w; w = w->next)
		flows_answer(f, w->len);
	flows_stop_dialling(f);
	f->failed = true;
}

/* For a flow that is about to end: refuses it, with a record, if it waits for an answer. */
static void flows_leave_question(struct flow *f, const char *why)
{
	if (!flows_asks(f))
		return;
	flows_record_because(f, RECORD_DENIED, why);
	flows_give_up(f);
}

static void flows_on_failed(struct flow *f, int error)
{
	if (error == -EACCES)
		flows_record(f, RECORD_DENIED, &f->dialling->dial.refused);
	else
		flows_record_failure(f, error);
	flows_give_up(f);
}

static void flows_on_dialled(struct dial *dial, int fd)
{
	struct flow *f = container_of(dial, struct flow_dialling, dial)->flow;
	struct flow_datagram *next = NULL;
	bool lives = true;
	int r = fd;

	if (fd >= 0) {
		f->address = dial->address;
		f->aliases = dial->aliases;
		r = loop_add(flows_loop(f->all), &f->watcher, fd, EPOLLIN);
	}
	if (r < 0) {
		fd_close(&fd);
		flows_on_failed(f, r);
		return;
	}
	next = f->dialling->first;
	f->dialling->first = NULL;
	flows_stop_dialling(f);
	for (struct flow_datagram *w = next; w; w = next) {
		next = w->next;
		lives = lives && flows_pass_out(f, w->data, w->len);
		free(w);
	}
}

static int flows_dial(struct flow *f)
{
	const struct destination *d = &f->destination;

	f->dialling->dial.agreed = f->agreed;
	return dial_start(f->all->o.dialler, &f->dialling->dial, d->name,
		d->name ? NULL : &d->address, d->port, SOCK_DGRAM);
}

static bool flows_judge(struct flow *f, struct net_judgement *j)
{
	const struct flows_options *o = &f->all->o;
	const struct destination *d = &f->destination;
	char reason[sizeof(j->reason)];

	for (size_t i = 0; i < N_OWN; i++)
		if (prefix_has(&f->all->own[i], &d->address))
			return judge_refuse(d, j, "it is an address of the sandbox itself");
	if (!d->name && synthetic_covers(&d->address))
		return judge_refuse(d, j, "the address belongs to no name that was looked up");
	if (!judge_destination(o->dialler->judge, d, j))
		return false;
	if (quota_open(o->quota, j->target, loop_now(o->dialler->loop), &f->account, reason) < 0)
		return judge_refuse(d, j, "%s", reason);
	return true;
}

/* NULL: no memory. */
static struct flow *flows_make(const struct flow *from)
{
	struct flow *f = malloc(sizeof(*f));

	if (!f)
		return NULL;
	*f = *from;
	f->dialling = calloc(1, sizeof(*f->dialling));
	if (!f->dialling) {
		free(f);
		return NULL;
	}
	f->dialling->flow = f;
	f->dialling->dial.done = flows_on_dialled;
	f->dialling->last = &f->dialling->first;
	return f;
}

static void flows_add(struct flows *all, struct flow *f)
{
	if (all->n >= FLOWS_MAX) {
		flows_leave_question(
			all->first, "other flows took its place before the user agreed to it");
		flows_end(all->first);
	}
	*flows_find(all, &f->path) = f;
	flows_append(all, f);
	all->n++;
	flows_wait_for_idle(all, all->first);
}

/* Waiting for the user. */

static void flows_deny(struct flow *f, const struct net_judgement *j)
{
	flows_record(f, RECORD_DENIED, j);
	flows_give_up(f);
}

static void flows_start_dialling(struct flow *f)
{
	int r = flows_dial(f);

	if (r < 0)
		flows_on_failed(f, r);
}

static void flows_on_user(
	struct asker_wait *w, enum asker_end how, const struct net_judgement *asked)
{
	struct flow *f = container_of(w, struct flow_dialling, asking)->flow;
	struct net_judgement j = { 0 };

	/* For this flow and this rule. Without memory for it the flow is denied below. */
	if (how == ASKER_AGREED)
		f->destination.agreed = f->agreed = strdup(asked->rule);
	if (how == ASKER_REFUSED)
		flows_deny(f, asked);
	else if (flows_judge(f, &j))
		flows_start_dialling(f);
	else
		flows_deny(f, &j);
}

/* Whether it waits for an answer; if not, j's reason may say why. */
static bool flows_ask(struct flow *f, struct net_judgement *j)
{
	if (!j->asks || !f->all->o.asker)
		return false;
	f->dialling->asking.done = flows_on_user;
	f->dialling->asking.is_flow = true;
	return asker_join(f->all->o.asker, &f->dialling->asking, j, NULL);
}

/* The policy changed, which may answer the question. */
static void flows_review_asking(struct flow *f)
{
	struct net_judgement j = { 0 };

	if (flows_judge(f, &j)) {
		asker_leave(&f->dialling->asking, QUESTION_ANSWERED);
		flows_start_dialling(f);
	} else if (!j.asks) {
		flows_deny(f, &j);
	}
}

static void flows_on_owner(struct owner_wait *w, const char *program)
{
	struct flow *f = container_of(w, struct flow, owner);

	f->program = *program ? strdup(program) : NULL;
}

static void flows_take_new(struct flows *all, const struct capture_datagram *path, size_t len)
{
	struct flow tried = { .all = all,
		.path = *path,
		.destination = { .transport = TRANSPORT_UDP,
			.address = address_plain(&path->to),
			.port = path->to_port },
		.watcher = { .ready = flows_on_outside, .fd = -1 } };
	struct net_judgement j = { 0 };
	struct flow *f;
	bool allowed;

	tried.destination.name = synthetic_name(all->o.synthetic, &tried.destination.address);
	allowed = flows_judge(&tried, &j);
	f = allowed || j.asks ? flows_make(&tried) : NULL;
	/* A flow that is refused at once is not in the table. */
	if (!f || !(allowed || flows_ask(f, &j))) {
		if (allowed)
			flows_record_failure(&tried, -ENOMEM);
		else
			flows_record(&tried, RECORD_DENIED, &j);
		flows_answer(&tried, len);
		if (f)
			flows_release(f);
		return;
	}
	flows_add(all, f);
	f->owner.done = flows_on_owner;
	(void)owners_ask(all->o.owners, &f->owner, true, path->from_port);
	flows_keep(f, all->data, len);
	if (allowed)
		flows_start_dialling(f);
}

static void flows_take(struct flows *all, const struct capture_datagram *path, size_t len)
{
	struct flow *f = *flows_find(all, path);

	if (f && f->failed && loop_now(flows_loop(all)) - f->used_ms >= FAILED_MS) {
		flows_end(f);
		f = NULL;
	}
	if (!f) {
		flows_take_new(all, path, len);
		return;
	}
	if (f->failed) {
		flows_answer(f, len);
		return;
	}
	flows_use(f);
	if (f->dialling)
		flows_keep(f, all->data, len);
	else
		(void)flows_pass_out(f, all->data, len);
}

static void flows_on_inside(struct watcher *w, uint32_t events)
{
	const struct flows_watcher *socket = container_of(w, struct flows_watcher, watcher);
	struct flows *all = socket->all;

	(void)events;
	for (int i = 0; i < BATCH; i++) {
		struct capture_datagram path;
		ssize_t n = capture_udp_receive(w->fd, &path, all->data, sizeof(all->data));

		if (n == -EAGAIN)
			return;
		if (n >= 0 && socket->is_group)
			path.to = capture_group(&path.to);
		if (n >= 0)
			flows_take(all, &path, (size_t)n);
	}
}

void flows_review(struct flows *all)
{
	const struct dialler *l = all->o.dialler;
	struct flow *next;

	for (struct flow *f = all->first; f; f = next) {
		const struct destination *d = &f->destination;
		struct net_judgement j = { 0 };
		char reason[sizeof(j.reason)];
		bool stays;

		next = f->next;
		/* Whoever sends to there again may have better luck. */
		if (f->failed) {
			flows_end(f);
			continue;
		}
		if (flows_asks(f)) {
			flows_review_asking(f);
			continue;
		}
		stays = judge_destination(l->judge, d, &j);
		if (stays && quota_review(all->o.quota, &f->account, j.target,
				     f->sent + f->received, reason) < 0)
			stays = judge_refuse(d, &j, "%s", reason);
		if (stays && !f->dialling)
			stays = dial_review(l, d, &f->address, f->aliases, &j);
		if (!stays) {
			judge_revoke(&j);
			flows_record(f, RECORD_DENIED, &j);
			flows_answer(f, 0);
			flows_end(f);
		} else if (f->dialling) {
			/* Where to dial was judged by another policy: from the start. */
			dial_cancel(all->o.dialler, &f->dialling->dial);
			flows_start_dialling(f);
		}
	}
}

static void flows_close_sockets(const struct flows_options *o)
{
	for (int i = 0; i < 2; i++) {
		auto_fd udp = o->udp[i], group = o->groups[i], raw = o->raw[i];
	}
}

int flows_new(struct flows **ret, const struct flows_options *o)
{
	struct flows *f = calloc(1, sizeof(*f));
	int r = 0;

	if (!f) {
		flows_close_sockets(o);
		return -ENOMEM;
	}
	f->o = *o;
	if (f->o.idle_ms == 0)
		f->o.idle_ms = FLOWS_IDLE_MS;
	f->idle.expired = flows_on_idle;
	f->key = hash_key_make();
	for (int i = 0; i < N_WATCHERS; i++)
		f->watchers[i] = (struct flows_watcher){ f, i >= 2, { flows_on_inside, -1, 0 } };
	for (size_t i = 0; r == 0 && i < N_OWN; i++)
		r = prefix_parse(own[i], strlen(own[i]), &f->own[i]);
	for (int i = 0; r == 0 && i < N_WATCHERS; i++) {
		const int fd = i < 2 ? o->udp[i] : o->groups[i - 2];

		if (fd >= 0)
			r = loop_add(flows_loop(f), &f->watchers[i].watcher, fd, EPOLLIN);
	}
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
	for (struct flow *one = f->first, *next; one; one = next) {
		next = one->next;
		flows_leave_question(one, "the command ended before the user agreed to it");
		flows_end(one);
	}
	loop_stop(flows_loop(f), &f->idle);
	for (int i = 0; i < N_WATCHERS; i++)
		loop_remove(flows_loop(f), &f->watchers[i].watcher);
	flows_close_sockets(&f->o);
	free(f);
}

size_t flows_count(const struct flows *f)
{
	return f->n;
}
