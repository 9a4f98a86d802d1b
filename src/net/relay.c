/* SPDX-License-Identifier: Apache-2.0 */
#include "net/relay.h"

#include <errno.h>
#include <string.h>

#include "base/fd.h"
#include "net/enter/capture.h"
#include "net/connections.h"
#include "net/dns/server.h"
#include "net/flows.h"
#include "net/owners.h"
#include "net/enter/listeners.h"
#include "net/dns/names.h"
#include "policy/algebra/ceiling.h"
#include "policy/format/image.h"
#include "policy/format/manifest.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/report.h"
#include "wire/sockets.h"

enum { INNER_MAX = 256, DRAIN_MS = 500, LAYERS_MAX = 64, ANSWER_MS = 10 };

/* The answer to a change of the holder. */
struct relay_answer {
	struct timer timer; /* runs while its socket takes nothing */
	uint64_t id;
	struct buffer body;
};

/* The last change, as it came, if some of its grants end: what is left of it is put in force then,
 * whether the holder does anything or not. */
struct relay_kept {
	struct timer timer;
	struct buffer body;
};

struct relay {
	const struct relay_options *o;
	struct loop *loop;
	struct watcher watcher; /* of the holder */
	struct frame frame;
	int captured[CAPTURE_COUNT];
	int sockets[INNER_MAX]; /* for servers inside, as they come */
	size_t n_sockets;
	int waiting[LISTENERS_MAX]; /* for names, where there are no rules */
	bool led;                   /* there are: everything is led to us */
	bool over;
	int error;

	struct policy *policy; /* ours, if it is not that of the options any more */
	struct relay_answer answer;
	struct relay_kept kept;
	struct net_judge judge;
	struct lookup *lookup;
	struct dialler dialler;
	struct dns_names *names;
	struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
	struct owners *owners;
	struct asker *asker; /* NULL: no daemon, so no questions */
	struct pump_room *room;
	struct inner_pool *inner;

	struct connections *connections;
	struct listeners *listeners; /* NULL: rules lead everything to us */
	struct dns_server *dns;
	struct dns_server *local; /* the same on loopback, where there are no rules */
	struct flows *flows;
	struct doors *doors;
	struct publish *publish;
};

/* Knowledge first, then those who use it. Everything is set up before the first socket is there. */

static int relay_set_up(struct relay *r)
{
	const struct relay_options *o = r->o;
	struct error e = { 0 };
	int error = lookup_new(&r->lookup, r->loop, o->lookup);

	judge_init(&r->judge, o->policy);
	r->dialler = (struct dialler){ .loop = r->loop, .lookup = r->lookup, .judge = &r->judge };
	if (error == 0)
		error = names_new(&r->names, o->policy, o->ask_ms > 0, &e);
	if (error == 0)
		error = synthetic_new(&r->synthetic, 0);
	if (error == 0)
		error = quota_new(&r->quota, o->policy, o->ledger);
	if (error == 0)
		error = recorder_new(&r->recorder, r->loop, o->socket);
	if (error == 0)
		error = owners_new(&r->owners, r->loop, o->socket);
	if (error == 0 && o->ask_ms > 0)
		error = asker_new(&r->asker, r->loop, o->socket, o->ask_ms);
	return error < 0 ? error : pump_room_new(&r->room, r->loop);
}

static int relay_start_connections(struct relay *r)
{
	const struct connections_options o = { .dialler = &r->dialler,
		.synthetic = r->synthetic,
		.quota = r->quota,
		.recorder = r->recorder,
		.owners = r->owners,
		.asker = r->asker,
		.room = r->room,
		.inner = r->inner,
		.lent = r->o->lent,
		.n_lent = r->o->n_lent,
		.listeners = { fd_take(&r->captured[CAPTURE_TCP_4]),
			fd_take(&r->captured[CAPTURE_TCP_6]) } };

	return connections_new(&r->connections, &o);
}

static int relay_start_listeners(struct relay *r)
{
	const struct listeners_options o = { .loop = r->loop,
		.connections = r->connections,
		.names = r->names,
		.sockets = r->waiting,
		.n = LISTENERS_MAX };
	int error = 0;
	size_t i = 0;

	while (i < LISTENERS_MAX && r->waiting[i] < 0)
		i++;
	if (i < LISTENERS_MAX)
		error = listeners_new(&r->listeners, &o);
	for (i = 0; r->listeners && i < LISTENERS_MAX; i++)
		r->waiting[i] = -1;
	return error;
}

static int relay_on_named(void *context, const char *name, uint32_t number)
{
	return listeners_open(context, name, number);
}

/* By the sockets udp[0], udp[1], tcp[0], tcp[1]. */
static int relay_start_server(
	struct relay *r, struct dns_server **ret, const enum capture_socket sockets[4])
{
	struct dns_server_options o = { .loop = r->loop,
		.names = r->names,
		.synthetic = r->synthetic,
		.recorder = r->recorder,
		.owners = r->owners,
		.named = r->listeners ? relay_on_named : NULL,
		.context = r->listeners };

	for (int i = 0; i < 4; i++)
		(i < 2 ? o.udp : o.tcp)[i % 2] = fd_take(&r->captured[sockets[i]]);
	return dns_server_new(ret, &o);
}

static int relay_start_dns(struct relay *r)
{
	static const enum capture_socket everywhere[4] = { CAPTURE_DNS_UDP_4, CAPTURE_DNS_UDP_6,
		CAPTURE_DNS_TCP_4, CAPTURE_DNS_TCP_6 };
	static const enum capture_socket local[4] = { CAPTURE_SYSTEMD_UDP, CAPTURE_DOCKER_UDP,
		CAPTURE_SYSTEMD_TCP, CAPTURE_DOCKER_TCP };
	int error = relay_start_server(r, &r->dns, everywhere);

	if (error == 0 && r->captured[CAPTURE_SYSTEMD_UDP] >= 0)
		error = relay_start_server(r, &r->local, local);
	return error;
}

static int relay_start_flows(struct relay *r)
{
	const struct flows_options o = { .dialler = &r->dialler,
		.synthetic = r->synthetic,
		.quota = r->quota,
		.recorder = r->recorder,
		.owners = r->owners,
		.asker = r->asker,
		.udp = { fd_take(&r->captured[CAPTURE_UDP_4]),
			fd_take(&r->captured[CAPTURE_UDP_6]) },
		.groups = { fd_take(&r->captured[CAPTURE_GROUP_4]),
			fd_take(&r->captured[CAPTURE_GROUP_6]) },
		.raw = { fd_take(&r->captured[CAPTURE_RAW_4]),
			fd_take(&r->captured[CAPTURE_RAW_6]) } };

	return flows_new(&r->flows, &o);
}

static int relay_start(struct relay *r)
{
	const struct relay_options *o = r->o;
	struct publish_options p = { .loop = r->loop,
		.room = r->room,
		.recorder = r->recorder,
		.ports = o->ports,
		.n_ports = o->n_ports };
	int error = 0;

	r->led = r->captured[CAPTURE_TCP_4] >= 0;
	if (r->n_sockets > 0)
		error = inner_pool_new(&r->inner, r->loop, r->sockets, r->n_sockets);
	if (error < 0)
		return error;
	r->n_sockets = 0;
	p.inner = r->inner;
	error = relay_start_connections(r);
	if (error == 0)
		error = relay_start_listeners(r);
	if (error == 0)
		error = relay_start_dns(r);
	if (error == 0)
		error = relay_start_flows(r);
	if (error == 0)
		error = doors_new(&r->doors, r->loop, r->room, r->recorder, o->doors, o->n_doors);
	if (error == 0 && p.n_ports > 0)
		error = p.inner ? publish_new(&r->publish, &p) : -EPROTO;
	return error;
}

/* Another policy. */

static int relay_read_permissions(struct permissions **ret, const char *text, struct error *e)
{
	auto_manifest m = { 0 };
	int r;

	if (!image_is_text(text)) {
		r = manifest_read(&m, MANIFEST_PERMISSIONS, "policy", text, strlen(text), e);
		if (r == 0) {
			*ret = m.permissions;
			m.permissions = NULL;
		}
		return r;
	}
	*ret = permissions_new();
	r = *ret ? image_read_text(*ret, text) : -ENOMEM;
	return r < 0 ? error_set(e, r, NULL, "the permissions cannot be read") : 0;
}

/* Those whose time is not over. */
static int relay_add_grants(
	const struct relay *r, struct permissions *p, const struct change *c, struct error *e)
{
	const struct policy_options o = { 0 };
	int error = 0;

	for (uint32_t i = 0; error == 0 && i < c->n_grants; i++) {
		struct ceiling_grant g;

		if (live_grant_is_over(&c->grants[i], loop_boot_now(r->loop)))
			continue;
		error = ceiling_grant_read(
			&g, OPERATION_NET_CONNECT, c->grants[i].pattern, p->arena);
		if (error == 0)
			error = ceiling_add(p, &g, &o, e);
	}
	return error;
}

/* Nothing is touched before all that can fail is done. */
static int relay_change(struct relay *r, const struct change *c, struct error *e)
{
	const struct permissions *layers[LAYERS_MAX];
	auto_permissions *permissions = NULL;
	auto_policy *policy = NULL;
	struct policy *old = r->policy;
	struct dns_names *names = NULL;
	struct policy_options options = { 0 };
	int n, error;

	if (c->flags & CHANGE_WHOLE && !r->led)
		return error_set(e, -EOPNOTSUPP, NULL,
			"this kernel lacks nf_tables: each grant needs its own listeners");
	n = relay_read_permissions(&permissions, c->text, e);
	if (n == 0)
		n = relay_add_grants(r, permissions, c, e);
	if (n == 0)
		n = permissions_layers(permissions, layers, LAYERS_MAX);
	if (n < 0)
		return n;
	/* What is inspected was settled when the session was made. */
	options.opened = policy_opened(r->o->policy, &options.n_opened);
	error = policy_new(&policy, layers, (size_t)n, &options, e);
	if (error == 0)
		error = names_new(&names, policy, r->asker, e);
	if (error == 0)
		error = quota_change(r->quota, policy);
	if (error < 0) {
		names_free(names);
		return error;
	}
	r->policy = policy;
	policy = NULL;
	judge_init(&r->judge, r->policy);
	names_free(r->names);
	r->names = names;
	/* All parts use the new one from here on, and what is open is judged by it. */
	dns_server_change(r->dns, r->names);
	if (r->local)
		dns_server_change(r->local, r->names);
	if (r->listeners)
		listeners_change(r->listeners, r->names);
	connections_review(r->connections);
	flows_review(r->flows);
	doors_review(r->doors, c->doors, c->n_doors);
	if (r->publish)
		publish_review(r->publish, c->ports, c->n_ports);
	recorder_flush(r->recorder);
	policy_free(old);
	return 0;
}

static int relay_keep_time(struct relay *r, const struct change *c)
{
	const uint64_t end = live_grants_next_end(c->grants, c->n_grants, loop_boot_now(r->loop));

	loop_stop(r->loop, &r->kept.timer);
	return end == UINT64_MAX ? 0 : loop_start_at(r->loop, &r->kept.timer, end);
}

static void relay_on_grant_over(struct timer *t)
{
	struct relay *r = container_of(t, struct relay, kept.timer);
	struct error e = { 0 };
	struct change c;
	int error = change_decode(&c, r->kept.body.data, r->kept.body.len);

	if (error == 0) {
		c.flags = 0;
		error = relay_change(r, &c, &e);
	}
	if (error == 0)
		error = relay_keep_time(r, &c);
	/* What cannot be taken back ends with the relay. */
	if (error < 0) {
		r->error = error;
		r->over = true;
	}
}

static void relay_send_answer(struct relay *r)
{
	struct relay_answer *a = &r->answer;
	int error =
		frame_send(r->o->socket, FRAME_POLICY, a->id, a->body.data, a->body.len, NULL, 0);

	/* Whatever else is wrong with the socket is reported when it is read. */
	if (error == -EAGAIN && loop_start(r->loop, &a->timer, ANSWER_MS) == 0)
		return;
	buffer_deinit(&a->body);
}

static void relay_on_answer_due(struct timer *t)
{
	relay_send_answer(container_of(t, struct relay, answer.timer));
}

/* One at a time: the holder waits for the answer. */
static int relay_take_change(struct relay *r)
{
	auto_buffer copy = { 0 };
	struct error e = { 0 };
	struct change c;
	int error = change_decode(&c, r->frame.body, r->frame.len);

	if (error < 0 || r->answer.timer.place > 0)
		return -EPROTO;
	buffer_add(&copy, r->frame.body, r->frame.len);
	error = copy.failed ? -ENOMEM : relay_change(r, &c, &e);
	if (error == 0) {
		buffer_deinit(&r->kept.body);
		r->kept.body = copy;
		copy = (struct buffer){ 0 };
		r->kept.timer.expired = relay_on_grant_over;
		error = relay_keep_time(r, &c);
		/* A grant that nothing ends must not stand. */
		if (error < 0)
			return error;
	}
	r->answer.id = r->frame.id;
	r->answer.timer.expired = relay_on_answer_due;
	if (error < 0)
		error = refusal_encode(&(struct refusal){ .error = -error,
					       .text = e.text[0] ? e.text : strerror(-error),
					       .hint = e.hint },
			&r->answer.body);
	if (error == 0)
		relay_send_answer(r);
	return error;
}

static int relay_take_sockets(struct relay *r)
{
	struct sockets s;
	int error = sockets_decode(&s, &r->frame);

	for (size_t i = 0; error == 0 && i < s.n; i++) {
		uint32_t number = s.numbers[i];
		int *place = NULL;

		if (s.kind == SOCKETS_CAPTURE && number < CAPTURE_COUNT)
			place = &r->captured[number];
		else if (s.kind == SOCKETS_PORT && r->n_sockets < INNER_MAX)
			place = &r->sockets[r->n_sockets++];
		else if (s.kind == SOCKETS_LISTENER && number < LISTENERS_MAX)
			place = &r->waiting[number];
		else if (s.kind == SOCKETS_DOOR && number < r->o->n_doors)
			place = &r->o->doors[number].listener;
		if (!place || *place >= 0)
			return -EPROTO;
		*place = frame_take_fd(&r->frame, i);
	}
	return error;
}

static int relay_take_answer(struct relay *r)
{
	struct answer a;
	int error = r->asker ? answer_decode(&a, r->frame.body, r->frame.len) : -EPROTO;

	if (error == 0)
		asker_answer(r->asker, r->frame.id, &a);
	return error;
}

/* What a connection was denied was counted before its client could know. */
static int relay_take_settle(struct relay *r)
{
	if (r->frame.id == 0 || r->frame.len != 0 || r->frame.n_fds != 0)
		return -EPROTO;
	owners_flush(r->owners);
	recorder_settle(r->recorder, r->frame.id);
	return 0;
}

static int relay_take_owner(struct relay *r)
{
	return owners_answer(r->owners, r->frame.id, r->frame.body, r->frame.len);
}

static void relay_on_holder(struct watcher *w, uint32_t events)
{
	struct relay *r = container_of(w, struct relay, watcher);
	int error = frame_receive(r->o->socket, &r->frame);

	(void)events;
	if (error == -EAGAIN || error == -EINTR)
		return;
	if (error <= 0)
		r->over = true;
	else if (r->connections)
		error = r->frame.type == FRAME_POLICY   ? relay_take_change(r)
			: r->frame.type == FRAME_ANSWER ? relay_take_answer(r)
			: r->frame.type == FRAME_SETTLE ? relay_take_settle(r)
			: r->frame.type == FRAME_OWNER  ? relay_take_owner(r)
							: -EPROTO;
	else
		error = r->frame.type == FRAME_SOCKETS ? relay_take_sockets(r)
			: r->frame.type == FRAME_READY ? relay_start(r)
						       : -EPROTO;
	if (error < 0) {
		r->error = error;
		r->over = true;
	}
}

static void relay_tear_down(struct relay *r)
{
	owners_stop(r->owners);
	publish_free(r->publish);
	doors_free(r->doors);
	flows_free(r->flows);
	dns_server_free(r->dns);
	dns_server_free(r->local);
	listeners_free(r->listeners);
	for (size_t i = 0; i < LISTENERS_MAX; i++)
		fd_close(&r->waiting[i]);
	connections_free(r->connections);
	inner_pool_free(r->inner);
	for (size_t i = 0; i < r->n_sockets; i++)
		fd_close(&r->sockets[i]);
	pump_room_free(r->room);
	asker_free(r->asker);
	owners_free(r->owners);
	recorder_free(r->recorder);
	quota_free(r->quota);
	synthetic_free(r->synthetic);
	names_free(r->names);
	policy_free(r->policy);
	loop_stop(r->loop, &r->answer.timer);
	buffer_deinit(&r->answer.body);
	loop_stop(r->loop, &r->kept.timer);
	buffer_deinit(&r->kept.body);
	lookup_free(r->lookup);
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fd_close(&r->captured[i]);
	loop_remove(r->loop, &r->watcher);
	loop_free(r->loop);
	frame_deinit(&r->frame);
}

int relay_serve(const struct relay_options *o)
{
	static struct relay r;
	int error;

	r = (struct relay){ .o = o, .watcher = { .ready = relay_on_holder, .fd = -1 } };
	memset(r.captured, -1, sizeof(r.captured));
	memset(r.sockets, -1, sizeof(r.sockets));
	memset(r.waiting, -1, sizeof(r.waiting));
	error = loop_new(&r.loop);
	if (error < 0)
		return error;
	error = relay_set_up(&r);
	if (error == 0)
		error = loop_add(r.loop, &r.watcher, o->socket, EPOLLIN);
	while (error == 0 && !r.over)
		error = loop_turn(r.loop, -1);
	/* The holder hangs up when the commands are dead. What they sent last may still be under
	 * way, as it would be without a relay. */
	if (error == 0 && r.error == 0 && r.connections) {
		uint64_t now = loop_now(r.loop), end = now + DRAIN_MS;
		size_t left = 1;

		loop_remove(r.loop, &r.watcher);
		owners_stop(r.owners);
		/* The first turn takes those that wait to be accepted. */
		for (int ms = 0; left > 0 && now < end; ms = (int)(end - now)) {
			if (loop_turn(r.loop, ms) < 0)
				break;
			now = loop_now(r.loop);
			left = connections_drain(r.connections);
		}
	}
	relay_tear_down(&r);
	return error < 0 ? error : r.error;
}
