/* SPDX-License-Identifier: Apache-2.0 */
/*
 *     accept -> its program is looked for -> judged -> dialled -> pumped, its first bytes through
 * the gate
 *                                            |    \          \            \
 *                                            |     `----------`------------`-> reset, with a record
 *                                            `-> waits for an answer -> judged again
 *
 * The record goes out before the reset, so that whoever hears of a command's end has heard of its
 * denials.
 */
#include "net/connections.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "base/hash.h"
#include "net/enter/capture.h"
#include "net/gate/gate.h"
#include "net/opened.h"
#include "wire/lend.h"

enum {
	CONNECTIONS_MAX = 60000,
	ACCEPTS_MAX = 64, /* before others have their turn */
	HELLO_MS = 10000, /* for a first message that began */
	HANDSHAKE = 22,   /* TLS: the first byte of a client's */
	KNOWN_MAX = 256,
	CHARGED_BYTES = sizeof("localhost:65535"),
	OPENED_BUCKETS = 1024,
};

struct connections_listener {
	struct connections *all;
	struct watcher watcher;
};

struct connections {
	struct connections_options o;
	struct connections_listener listeners[2];
	int reserve; /* given up to take and reset one more connection when there are no more */
	struct net_connection *first;
	size_t n;
	struct lent_queue lent[LENT_MAX];
	/* Whose requests are asked about, by their ids. */
	struct net_connection *opened[OPENED_BUCKETS];
	uint64_t last_opened;
	/* Destinations of which a program was found: hashes, each in its place. 0: none. */
	uint64_t known[KNOWN_MAX];
};

/* What only matters until it is connected. */
struct connection_dialling {
	struct dial dial;
	struct inner_call call;
	struct asker_wait asking; /* before either of them */
	struct net_connection *connection;
	struct watcher watcher; /* the client may go away */
};

struct net_connection {
	struct connections *all;
	struct net_connection *next, *previous;
	int inner, outer;
	bool local;                     /* `outer` is a server inside, and of the pool */
	struct destination destination; /* the name is the synthetic table's */
	struct owner_wait owner;
	bool is_held;                /* until that is over */
	char *program;               /* that it is of, for people; NULL: not known */
	struct owner_program *found; /* of a host with secrets for programs; else NULL */
	char *agreed;                /* of the destination */
	struct address address;      /* that was dialled */
	char *aliases;               /* that led there (dial.h) */
	struct connection_dialling *dialling;
	struct quota_account *account;
	struct pump pump;
	struct gate gate;
	struct asker_wait request;          /* of HTTP, which the gate holds */
	struct opened opened;               /* requests inside TLS */
	struct net_connection *next_opened; /* in its bucket */
	struct timer timer;                 /* runs while a first message is incomplete */
};

static struct loop *connections_loop(const struct net_connection *c)
{
	return c->all->o.dialler->loop;
}

/* What was judged, or that it was not (NULL): it is over. */
static void connections_record(
	const struct net_connection *c, enum record_kind kind, const struct net_judgement *j)
{
	auto_buffer address = { 0 };
	struct net_judgement none = { 0 };
	struct record r = { .kind = kind,
		.name = c->destination.name,
		.port = c->destination.port,
		.program = c->program,
		.sent = c->pump.streams[PUMP_INNER].moved,
		.received = c->pump.streams[PUMP_OUTER].moved };

	if (!j) {
		(void)judge_refuse(&c->destination, &none, "%s", "");
		j = &none;
	}
	r.target = j->target;
	r.rule = j->rule;
	r.reason = j->reason;
	r.remedy = j->remedy;
	if (c->address.bits > 0)
		address_print(&c->address, &address);
	else if (!c->destination.name)
		address_print(&c->destination.address, &address);
	r.address = buffer_text(&address);
	recorder_add(c->all->o.recorder, &r);
}

/* Ends. */

static void connections_stop_dialling(struct net_connection *c)
{
	if (!c->dialling)
		return;
	asker_leave(&c->dialling->asking, QUESTION_GIVEN_UP);
	dial_cancel(c->all->o.dialler, &c->dialling->dial);
	inner_cancel(&c->dialling->call);
	loop_remove(connections_loop(c), &c->dialling->watcher);
	free(c->dialling);
	c->dialling = NULL;
}

/* Where the connection with that id is, or would be. */
static struct net_connection **connections_opened(struct connections *all, uint64_t id)
{
	struct net_connection **at = &all->opened[id % OPENED_BUCKETS];

	while (*at && (*at)->opened.id != id)
		at = &(*at)->next_opened;
	return at;
}

static void connections_forget_opened(struct net_connection *c)
{
	if (c->opened.id == 0)
		return;
	*connections_opened(c->all, c->opened.id) = c->next_opened;
	opened_deinit(&c->opened);
	c->opened.id = 0;
}

static void connections_close(struct net_connection *c, bool orderly)
{
	owners_leave(&c->owner);
	connections_stop_dialling(c);
	connections_forget_opened(c);
	asker_leave(&c->request, QUESTION_GIVEN_UP);
	loop_stop(connections_loop(c), &c->timer);
	if (c->pump.room)
		pump_stop(&c->pump);
	gate_deinit(&c->gate);
	if (c->outer >= 0 && c->local)
		inner_release(c->all->o.inner, fd_take(&c->outer), orderly);
	/* A descriptor that is closed by now was closed in order. */
	if (orderly) {
		fd_close(&c->inner);
		fd_close(&c->outer);
	}
	if (c->inner >= 0)
		pump_reset(c->inner);
	if (c->outer >= 0)
		pump_reset(c->outer);
	if (c->next)
		c->next->previous = c->previous;
	*(c->previous ? &c->previous->next : &c->all->first) = c->next;
	c->all->n--;
	free(c->program);
	free(c->found);
	free(c->agreed);
	free(c->aliases);
	free(c);
}

/* The session ends. */
static void connections_cut(struct net_connection *c)
{
	if (c->pump.room)
		connections_record(c, RECORD_CLOSED, NULL);
	connections_close(c, false);
}

static void connections_deny(struct net_connection *c, const struct net_judgement *j)
{
	connections_record(c, RECORD_DENIED, j);
	connections_close(c, false);
}

static void connections_fail(struct net_connection *c, int error)
{
	struct net_judgement j = { 0 };

	(void)judge_refuse(&c->destination, &j, "cannot be reached: %s",
		error == -ENOENT ? "no such name" : strerror(-error));
	connections_record(c, RECORD_FAILED, &j);
	connections_close(c, false);
}

static void connections_deny_because(struct net_connection *c, const char *why)
{
	struct net_judgement j = { 0 };

	(void)judge_refuse(&c->destination, &j, "%s", why);
	connections_deny(c, &j);
}

static const char closed[] = "it was closed before the user agreed to it";

/* The pump. */

static void connections_on_done(struct pump *p, int error)
{
	struct net_connection *c = container_of(p, struct net_connection, pump);

	if (error == -EACCES) {
		connections_deny(c, c->gate.refused);
	} else if (error == -EDQUOT) {
		char reason[256];

		quota_explain(c->account, reason);
		connections_deny_because(c, reason);
	} else if (error == -ECONNABORTED && (c->request.question || c->opened.first)) {
		connections_deny_because(c, closed);
	} else {
		if (!c->local)
			connections_record(c, RECORD_CLOSED, NULL);
		connections_close(c, error == 0);
	}
}

static void connections_on_hello_late(struct timer *t)
{
	connections_deny_because(container_of(t, struct net_connection, timer),
		"no complete request was received in time");
}

static int connections_on_gate(struct pump *p, enum pump_side from, bool last)
{
	static struct net_judgement refused;
	struct net_connection *c = container_of(p, struct net_connection, pump);
	int r;

	c->gate.refused = &refused;
	r = from == PUMP_INNER ? gate_client(&c->gate, p) : gate_server(&c->gate, p, last);
	/* Another policy let it pass. */
	if (c->gate.asking == GATE_NOT_ASKED)
		asker_leave(&c->request, QUESTION_ANSWERED);
	if (c->gate.seen == 0)
		loop_stop(connections_loop(c), &c->timer);
	else if (r == -EAGAIN && c->timer.place == 0 &&
		 loop_start(connections_loop(c), &c->timer, HELLO_MS) < 0)
		return -ENOMEM;
	return r;
}

static void connections_on_request_answer(
	struct asker_wait *w, enum asker_end how, const struct net_judgement *asked)
{
	struct net_connection *c = container_of(w, struct net_connection, request);

	if (how == ASKER_REFUSED) {
		connections_deny(c, asked);
		return;
	}
	gate_answer(&c->gate, how == ASKER_AGREED);
	gate_resume(&c->pump);
}

static bool connections_ask_request(struct gate *g, const char *shown)
{
	struct net_connection *c = container_of(g, struct net_connection, gate);

	c->request.done = connections_on_request_answer;
	c->request.program = c->program;
	return asker_join(c->all->o.asker, &c->request, g->refused, shown);
}

static void connections_begin(struct net_connection *c)
{
	const int on = 1;
	int r;

	(void)setsockopt(c->inner, IPPROTO_TCP, TCP_NODELAY, &on, sizeof(on));
	c->gate.judge = c->all->o.dialler->judge;
	c->gate.destination = &c->destination;
	c->gate.ask = c->all->o.asker ? connections_ask_request : NULL;
	c->timer.expired = connections_on_hello_late;
	c->pump.done = connections_on_done;
	/* What stays inside is not checked. */
	c->pump.gate = c->local ? NULL : connections_on_gate;
	c->pump.account = c->local ? NULL : c->account;
	r = pump_start(&c->pump, c->all->o.room, c->inner, c->outer);
	if (r < 0)
		connections_fail(c, r);
}

/* Dialling. */

static void connections_on_asked(struct lent_queue *q, uint64_t id, const struct lend_request *r)
{
	struct connections *all = q->context;
	struct net_connection *c = *connections_opened(all, id);

	/* It may have ended meanwhile. */
	if (!c || id == 0 || c->opened.queue != q || !c->pump.room)
		return;
	c->opened.program = c->program;
	opened_ask(&c->opened, r);
}

static void connections_on_request_denied(struct opened *o, const struct net_judgement *j)
{
	connections_record(container_of(o, struct net_connection, opened), RECORD_DENIED, j);
}

/* From here on the injector may ask about its requests. */
static void connections_begin_opened(struct net_connection *c, struct lent_queue *q)
{
	const uint64_t id = ++c->all->last_opened;

	c->opened = (struct opened){ .denied = connections_on_request_denied,
		.judge = c->all->o.dialler->judge,
		.destination = &c->destination,
		.asker = c->all->o.asker,
		/* The client that goes away takes its questions along. */
		.asks = &c->pump.streams[PUMP_INNER].asks,
		.queue = q,
		.id = id };
	c->next_opened = NULL;
	*connections_opened(c->all, id) = c;
}

/* Who is lent secrets of the host that it goes to; NULL: it has none. j->target is that host. */
static struct lent_queue *connections_lent(const struct net_connection *c, struct net_judgement *j)
{
	struct connections *all = c->all;

	if (all->o.n_lent == 0)
		return NULL;
	(void)judge_refuse(&c->destination, j, "%s", "");
	for (size_t i = 0; i < all->o.n_lent; i++)
		if (lent_has(&all->o.lent[i], j->target))
			return &all->lent[i];
	return NULL;
}

/* To a host with secrets: whoever is lent them has it from here on. */
static int connections_lend(struct net_connection *c)
{
	const struct owner_program *found = c->found;
	struct net_judgement j = { 0 };
	struct lent_queue *q = connections_lent(c, &j);
	struct lend_open open = { .host = j.target };

	if (!q)
		return 0;
	if (found && found->found == OWNER_FOUND)
		open.program = found->text;
	else if (found && found->found == OWNER_UNSURE)
		open.why = found->text;
	connections_begin_opened(c, q);
	return lent_open(q, c->opened.id, &open, &c->outer);
}

static void connections_on_dialled(struct dial *d, int fd)
{
	struct net_connection *c = container_of(d, struct connection_dialling, dial)->connection;
	int r;

	if (fd == -EACCES) {
		struct net_judgement j = d->refused;

		connections_deny(c, &j);
	} else if (fd < 0) {
		connections_fail(c, fd);
	} else {
		c->outer = fd;
		c->address = d->address;
		c->aliases = d->aliases;
		connections_stop_dialling(c);
		r = connections_lend(c);
		if (r < 0)
			connections_fail(c, r);
		else
			connections_begin(c);
	}
}

/*
 * It sends no more. Has it gone? It has if it sent nothing, or the first of several messages that
 * TLS takes; else it may have sent its request, and want the answer.
 */
static bool connections_may_still_listen(struct net_connection *c)
{
	uint8_t byte;

	return recv(c->inner, &byte, 1, MSG_PEEK | MSG_DONTWAIT) == 1 && byte != HANDSHAKE &&
	       loop_change(connections_loop(c), &c->dialling->watcher, 0) == 0;
}

/*
 * Nothing is read before there is a peer to take it; only a reset is noticed, and of one that waits
 * for an answer that it sends no more.
 */
static void connections_on_client_gone(struct watcher *w, uint32_t events)
{
	struct connection_dialling *d = container_of(w, struct connection_dialling, watcher);
	struct net_connection *c = d->connection;

	if (!(events & (EPOLLHUP | EPOLLERR)) && connections_may_still_listen(c))
		return;
	if (d->asking.question)
		connections_deny_because(c, closed);
	else
		connections_close(c, false);
}

static int connections_prepare(struct net_connection *c)
{
	c->dialling = calloc(1, sizeof(*c->dialling));
	if (!c->dialling)
		return -ENOMEM;
	c->dialling->connection = c;
	c->dialling->dial.done = connections_on_dialled;
	c->dialling->watcher = (struct watcher){ .ready = connections_on_client_gone, .fd = -1 };
	return loop_add(connections_loop(c), &c->dialling->watcher, c->inner, 0);
}

/* `localhost` means both of its addresses, whichever the program took. NULL: the address alone. */
static const char *connections_name_to_dial(const struct net_connection *c)
{
	static const char localhost[] = "localhost";
	const struct destination *d = &c->destination;
	const struct destination both = { .name = localhost, .port = d->port };
	struct net_judgement j;

	if (d->name || !capture_is_loopback(&d->address))
		return d->name;
	return judge_destination(c->all->o.dialler->judge, &both, &j) ? localhost : NULL;
}

/* The destination that it is charged to: `localhost` is one, whichever of its addresses it is. */
static const char *connections_charged(
	const struct net_connection *c, const struct net_judgement *j, char out[CHARGED_BYTES])
{
	const char *name = connections_name_to_dial(c);

	if (!name || name == c->destination.name)
		return j->target;
	(void)snprintf(out, CHARGED_BYTES, "%s:%u", name, c->destination.port);
	return out;
}

static void connections_start_dialling(struct net_connection *c)
{
	const struct destination *d = &c->destination;
	const char *name = connections_name_to_dial(c);
	int r = c->dialling ? loop_change(connections_loop(c), &c->dialling->watcher, 0)
			    : connections_prepare(c);

	if (r == 0) {
		c->dialling->dial.agreed = c->agreed;
		r = dial_start(c->all->o.dialler, &c->dialling->dial, name,
			name ? NULL : &d->address, d->port, SOCK_STREAM);
	}
	if (r < 0)
		connections_fail(c, r);
}

static bool connections_judge(struct net_connection *c, struct net_judgement *j)
{
	const struct connections_options *o = &c->all->o;
	char reason[sizeof(j->reason)], charged[CHARGED_BYTES];
	int r;

	if (!c->destination.name && synthetic_covers(&c->destination.address))
		return judge_refuse(
			&c->destination, j, "the address belongs to no name that was looked up");
	if (!judge_destination(o->dialler->judge, &c->destination, j))
		return false;
	r = quota_open(o->quota, connections_charged(c, j, charged), loop_now(o->dialler->loop),
		&c->account, reason);
	if (r == -EDQUOT)
		return judge_refuse(&c->destination, j, "%s", reason);
	return r < 0 ? judge_refuse(&c->destination, j, "%s", strerror(-r)) : true;
}

static void connections_on_answer(
	struct asker_wait *w, enum asker_end how, const struct net_judgement *asked)
{
	struct net_connection *c = container_of(w, struct connection_dialling, asking)->connection;
	struct net_judgement j = { 0 };

	/* For this connection and this rule. Without memory for it, it stays asked about. */
	if (how == ASKER_AGREED)
		c->destination.agreed = c->agreed = strdup(asked->rule);
	if (how == ASKER_REFUSED)
		connections_deny(c, asked);
	else if (connections_judge(c, &j))
		connections_start_dialling(c);
	else
		connections_deny(c, &j);
}

/* Whether it waits for an answer; if not, j's reason may say why. */
static bool connections_ask(struct net_connection *c, struct net_judgement *j)
{
	int r;

	if (!j->asks || !c->all->o.asker)
		return false;
	r = c->dialling ? 0 : connections_prepare(c);
	if (r < 0 || loop_change(connections_loop(c), &c->dialling->watcher, EPOLLRDHUP) < 0)
		return false;
	c->dialling->asking.done = connections_on_answer;
	c->dialling->asking.program = c->program;
	return asker_join(c->all->o.asker, &c->dialling->asking, j, NULL);
}

static void connections_go_out(struct net_connection *c)
{
	struct net_judgement j = { 0 };

	if (connections_judge(c, &j))
		connections_start_dialling(c);
	else if (!connections_ask(c, &j))
		connections_deny(c, &j);
}

/* For records alone, so two that have one hash do no harm. */
static uint64_t connections_hash(const struct net_connection *c)
{
	const struct destination *d = &c->destination;
	const uint64_t from = hash_bytes(HASH_START, &d->port, sizeof(d->port));

	return d->name ? hash_bytes(from, d->name, strlen(d->name))
		       : hash_bytes(from, d->address.bytes, sizeof(d->address.bytes));
}

static uint64_t *connections_known(const struct net_connection *c)
{
	return &c->all->known[connections_hash(c) % KNOWN_MAX];
}

static void connections_on_owner(struct owner_wait *w, const char *program)
{
	struct net_connection *c = container_of(w, struct net_connection, owner);

	c->program = *program ? strdup(program) : NULL;
	if (*program)
		*connections_known(c) = connections_hash(c);
	if (!c->is_held)
		return;
	c->is_held = false;
	connections_go_out(c);
}

/* The port that it comes from; 0: not known. */
static uint16_t connections_source(const struct net_connection *c)
{
	union {
		struct sockaddr any;
		struct sockaddr_in v4;
		struct sockaddr_in6 v6;
	} from = { 0 };
	socklen_t len = sizeof(from);

	if (getpeername(c->inner, &from.any, &len) < 0)
		return 0;
	return ntohs(from.any.sa_family == AF_INET6 ? from.v6.sin6_port : from.v4.sin_port);
}

/*
 * Where it matters which program connects, it is always waited for. Without an answer the
 * connection goes on as that of no program. True: it waits.
 */
static bool connections_find_program(struct net_connection *c)
{
	struct net_judgement j = { 0 };
	const struct lent_queue *q = connections_lent(c, &j);

	if (!q || !lent_needs_program(q, j.target))
		return false;
	c->owner.found = c->found = calloc(1, sizeof(*c->found));
	c->is_held = c->found && owners_ask_program(c->all->o.owners, &c->owner,
					 connections_source(c), c->destination.port);
	return c->is_held;
}

/*
 * A program is looked for while its connection waits, so that it is still there. But the next of a
 * destination to which it may go waits for nothing: if its program is gone by then, it counts with
 * what is known.
 */
static void connections_find_owner(struct net_connection *c)
{
	struct net_judgement j = { 0 };

	c->owner.done = connections_on_owner;
	if (connections_find_program(c))
		return;
	c->is_held = owners_ask(c->all->o.owners, &c->owner, false, connections_source(c)) &&
		     (*connections_known(c) != connections_hash(c) ||
			     !judge_destination(c->all->o.dialler->judge, &c->destination, &j));
	if (!c->is_held)
		connections_go_out(c);
}

static void connections_on_called(struct inner_call *call, int fd)
{
	struct net_connection *c = container_of(call, struct connection_dialling, call)->connection;

	if (fd < 0) {
		connections_find_owner(c);
		return;
	}
	c->outer = fd;
	c->local = true;
	connections_stop_dialling(c);
	connections_begin(c);
}

static void connections_take(struct connections *all, int fd)
{
	struct net_connection *c = calloc(1, sizeof(*c));
	struct destination *d = c ? &c->destination : NULL;
	int r;

	if (!c || all->n >= CONNECTIONS_MAX) {
		free(c);
		pump_reset(fd);
		return;
	}
	*c = (struct net_connection){ .all = all, .next = all->first, .inner = fd, .outer = -1 };
	if (all->first)
		all->first->previous = c;
	all->first = c;
	all->n++;
	/* There is no such destination, and no peer to answer. */
	if (capture_destination(fd, &d->address, &d->port) < 0) {
		connections_close(c, false);
		return;
	}
	d->address = address_plain(&d->address);
	d->name = synthetic_name(all->o.synthetic, &d->address);
	/* At its own ports the relay would find itself. */
	if (!all->o.inner || !capture_is_loopback(&d->address) || capture_is_own_port(d->port)) {
		connections_find_owner(c);
		return;
	}
	r = connections_prepare(c);
	if (r < 0) {
		connections_fail(c, r);
		return;
	}
	c->dialling->call.done = connections_on_called;
	inner_connect(all->o.inner, &c->dialling->call, d->address.bits == 32 ? INNER_4 : INNER_6,
		d->port);
}

void connections_accept(struct connections *all, int listener)
{
	if (all->reserve < 0)
		all->reserve = fcntl(listener, F_DUPFD_CLOEXEC, 0);
	for (int i = 0; i < ACCEPTS_MAX; i++) {
		int fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

		if (fd >= 0) {
			connections_take(all, fd);
		} else if ((errno == EMFILE || errno == ENFILE) && all->reserve >= 0) {
			/* Out of descriptors: who waits in the queue shall not wait in vain. */
			fd_close(&all->reserve);
			fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
			if (fd >= 0)
				pump_reset(fd);
			all->reserve = fcntl(listener, F_DUPFD_CLOEXEC, 0);
			if (fd < 0)
				return;
		} else if (errno != ECONNABORTED && errno != EINTR) {
			return;
		}
	}
}

static void connections_on_listener(struct watcher *w, uint32_t events)
{
	(void)events;
	connections_accept(container_of(w, struct connections_listener, watcher)->all, w->fd);
}

int connections_new(struct connections **ret, const struct connections_options *o)
{
	struct connections *c = calloc(1, sizeof(*c));
	int r = 0;

	if (!c)
		return -ENOMEM;
	c->o = *o;
	for (size_t i = 0; r == 0 && i < o->n_lent; i++)
		r = lent_queue_init(
			&c->lent[i], &o->lent[i], o->dialler->loop, connections_on_asked, c);
	c->reserve = -1;
	for (int i = 0; i < 2; i++)
		c->listeners[i] =
			(struct connections_listener){ c, { connections_on_listener, -1, 0 } };
	for (int i = 0; r == 0 && i < 2; i++) {
		if (o->listeners[i] < 0)
			continue;
		if (c->reserve < 0)
			c->reserve = fcntl(o->listeners[i], F_DUPFD_CLOEXEC, 0);
		r = loop_add(o->dialler->loop, &c->listeners[i].watcher, o->listeners[i], EPOLLIN);
	}
	if (r < 0)
		connections_free(c);
	else
		*ret = c;
	return r;
}

void connections_free(struct connections *c)
{
	if (!c)
		return;
	for (struct net_connection *one = c->first, *next; one; one = next) {
		next = one->next;
		connections_cut(one);
	}
	for (int i = 0; i < 2; i++) {
		loop_remove(c->o.dialler->loop, &c->listeners[i].watcher);
		fd_close(&c->o.listeners[i]);
	}
	for (size_t i = 0; i < c->o.n_lent; i++)
		lent_queue_deinit(&c->lent[i]);
	fd_close(&c->reserve);
	free(c);
}

/* One that waits for an answer: the change may be it. */
static void connections_review_asking(struct net_connection *c)
{
	struct net_judgement j = { 0 };

	if (connections_judge(c, &j)) {
		asker_leave(&c->dialling->asking, QUESTION_ANSWERED);
		connections_start_dialling(c);
	} else if (!j.asks) {
		connections_deny(c, &j);
	}
}

void connections_review(struct connections *all)
{
	const struct dialler *l = all->o.dialler;
	struct net_connection *next;

	for (struct net_connection *c = all->first; c; c = next) {
		const struct pump_stream *s = c->pump.streams;
		struct destination dialled = c->destination;
		struct net_judgement j = { 0 };
		char reason[sizeof(j.reason)], charged[CHARGED_BYTES];
		bool stays;

		next = c->next;
		/* It is judged later. */
		if (c->is_held)
			continue;
		if (c->dialling && c->dialling->asking.question) {
			connections_review_asking(c);
			continue;
		}
		/* Servers inside, and who is being led to one: connections_go_out() asks. */
		if (c->local || (c->dialling && !c->dialling->dial.state))
			continue;
		/* What was found out about where to dial was judged by another policy. */
		if (c->dialling)
			dial_cancel(l, &c->dialling->dial);
		stays = judge_destination(l->judge, &c->destination, &j);
		if (stays &&
			quota_review(all->o.quota, &c->account, connections_charged(c, &j, charged),
				s[PUMP_INNER].moved + s[PUMP_OUTER].moved, reason) < 0)
			stays = judge_refuse(&c->destination, &j, "%s", reason);
		if (stays && c->pump.room)
			c->pump.account = c->account;
		dialled.name = connections_name_to_dial(c);
		if (stays && !c->dialling)
			stays = dial_review(l, &dialled, &c->address, c->aliases, &j) &&
				gate_review(&c->gate, &j);
		if (!stays) {
			judge_revoke(&j);
			/* It counts as one that is over, too. */
			if (c->pump.room)
				connections_record(c, RECORD_CLOSED, NULL);
			connections_deny(c, &j);
		} else if (c->dialling) {
			connections_start_dialling(c);
		} else if (c->request.question) {
			gate_resume(&c->pump);
		} else {
			opened_review(&c->opened);
		}
	}
}

size_t connections_drain(struct connections *c)
{
	struct net_connection *next;

	for (struct net_connection *i = c->first; i; i = next) {
		next = i->next;
		if (i->pump.room && i->pump.streams[PUMP_INNER].closed)
			connections_cut(i);
		else if (i->request.question || i->opened.first ||
			 (i->dialling && i->dialling->asking.question))
			connections_deny_because(
				i, "the command ended before the user agreed to it");
	}
	return c->n;
}
