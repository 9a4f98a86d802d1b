/* SPDX-License-Identifier: Apache-2.0 */
#include "net/relay.h"

#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "base/file.h"
#include "net/capture.h"
#include "net/connections.h"
#include "net/dns-server.h"
#include "net/flows.h"
#include "net/listeners.h"
#include "net/names.h"
#include "wire/frame.h"
#include "wire/sockets.h"

enum { INNER_MAX = 256 };

enum { DRAIN_MS = 500 };

struct relay {
	const struct relay_options *o;
	struct loop *loop;
	struct watcher watcher; /* of the holder */
	struct frame frame;
	int captured[CAPTURE_COUNT];
	int sockets[INNER_MAX]; /* for servers inside, as they come */
	size_t n_sockets;
	int waiting[LISTENERS_MAX]; /* for names, where there are no rules */
	bool over;
	int error;

	struct judge judge;
	struct lookup *lookup;
	struct dialler dialler;
	struct names *names;
	struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
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

static int set_up(struct relay *r)
{
	const struct relay_options *o = r->o;
	struct error e = { 0 };
	int error = lookup_new(&r->lookup, r->loop, o->lookup);

	judge_init(&r->judge, o->policy);
	r->dialler = (struct dialler){ .loop = r->loop, .lookup = r->lookup, .judge = &r->judge };
	if (error == 0)
		error = names_new(&r->names, o->policy, &e);
	if (error == 0)
		error = synthetic_new(&r->synthetic, 0);
	if (error == 0)
		error = quota_new(&r->quota, o->policy);
	if (error == 0)
		error = recorder_new(&r->recorder, r->loop, o->socket);
	return error < 0 ? error : pump_room_new(&r->room, r->loop);
}

static int take_captured(struct relay *r, enum capture_socket number)
{
	return fd_take(&r->captured[number]);
}

static int start_inner(struct relay *r)
{
	int error = r->n_sockets == 0
			    ? 0
			    : inner_pool_new(&r->inner, r->loop, r->sockets, r->n_sockets);

	if (error == 0)
		r->n_sockets = 0;
	return error;
}

static int start_connections(struct relay *r)
{
	const struct connections_options o = { .dialler = &r->dialler,
		.synthetic = r->synthetic,
		.quota = r->quota,
		.recorder = r->recorder,
		.room = r->room,
		.inner = r->inner,
		.listeners = { take_captured(r, CAPTURE_TCP_4), take_captured(r, CAPTURE_TCP_6) } };

	return connections_new(&r->connections, &o);
}

static int start_listeners(struct relay *r)
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

static int on_named(void *context, const char *name, uint32_t number)
{
	return listeners_open(context, name, number);
}

static struct dns_server_options dns_options(struct relay *r)
{
	return (struct dns_server_options){ .loop = r->loop,
		.names = r->names,
		.synthetic = r->synthetic,
		.recorder = r->recorder,
		.named = r->listeners ? on_named : NULL,
		.context = r->listeners };
}

static int start_local_dns(struct relay *r)
{
	struct dns_server_options o = dns_options(r);

	if (r->captured[CAPTURE_SYSTEMD_UDP] < 0)
		return 0;
	o.udp[0] = take_captured(r, CAPTURE_SYSTEMD_UDP);
	o.udp[1] = take_captured(r, CAPTURE_DOCKER_UDP);
	o.tcp[0] = take_captured(r, CAPTURE_SYSTEMD_TCP);
	o.tcp[1] = take_captured(r, CAPTURE_DOCKER_TCP);
	return dns_server_new(&r->local, &o);
}

static int start_dns(struct relay *r)
{
	struct dns_server_options o = dns_options(r);

	o.udp[0] = take_captured(r, CAPTURE_DNS_UDP_4);
	o.udp[1] = take_captured(r, CAPTURE_DNS_UDP_6);
	o.tcp[0] = take_captured(r, CAPTURE_DNS_TCP_4);
	o.tcp[1] = take_captured(r, CAPTURE_DNS_TCP_6);
	return dns_server_new(&r->dns, &o);
}

static int start_flows(struct relay *r)
{
	const struct flows_options o = { .dialler = &r->dialler,
		.synthetic = r->synthetic,
		.quota = r->quota,
		.recorder = r->recorder,
		.udp = { take_captured(r, CAPTURE_UDP_4), take_captured(r, CAPTURE_UDP_6) },
		.raw = { take_captured(r, CAPTURE_RAW_4), take_captured(r, CAPTURE_RAW_6) } };

	return flows_new(&r->flows, &o);
}

static int start_doors(struct relay *r)
{
	return doors_new(&r->doors, r->loop, r->room, r->recorder, r->o->doors, r->o->n_doors);
}

static int start_publish(struct relay *r)
{
	const struct publish_options o = { .loop = r->loop,
		.room = r->room,
		.recorder = r->recorder,
		.ports = r->o->ports,
		.n_ports = r->o->n_ports,
		.inner = r->inner };

	return o.n_ports == 0 ? 0 : o.inner ? publish_new(&r->publish, &o) : -EPROTO;
}

static int (*const parts[])(struct relay *r) = {
	start_inner,
	start_connections,
	start_listeners,
	start_dns,
	start_local_dns,
	start_flows,
	start_doors,
	start_publish,
};

static int start(struct relay *r)
{
	int error = 0;

	for (size_t i = 0; error == 0 && i < sizeof(parts) / sizeof(parts[0]); i++)
		error = parts[i](r);
	return error;
}

/* The holder. */

static int *place_of(struct relay *r, uint32_t kind, uint32_t number)
{
	if (kind == SOCKETS_CAPTURE && number < CAPTURE_COUNT)
		return &r->captured[number];
	if (kind == SOCKETS_PORT && r->n_sockets < INNER_MAX)
		return &r->sockets[r->n_sockets++];
	if (kind == SOCKETS_LISTENER && number < LISTENERS_MAX)
		return &r->waiting[number];
	if (kind == SOCKETS_DOOR && number < r->o->n_doors)
		return &r->o->doors[number].listener;
	return NULL;
}

static int take_sockets(struct relay *r)
{
	struct sockets s;
	int error = sockets_decode(&s, &r->frame);

	for (size_t i = 0; error == 0 && i < s.n; i++) {
		int *place = place_of(r, s.kind, s.numbers[i]);

		if (!place || *place >= 0)
			return -EPROTO;
		*place = frame_take_fd(&r->frame, i);
	}
	return error;
}

static int take_frame(struct relay *r)
{
	int error = frame_receive(r->o->socket, &r->frame);

	if (error == -EAGAIN || error == -EINTR)
		return 0;
	if (error <= 0) {
		r->over = true;
		return error;
	}
	if (r->connections)
		return -EPROTO;
	return r->frame.type == FRAME_SOCKETS ? take_sockets(r)
	       : r->frame.type == FRAME_READY ? start(r)
					      : -EPROTO;
}

static void on_holder(struct watcher *w, uint32_t events)
{
	struct relay *r = container_of(w, struct relay, watcher);
	int error;

	(void)events;
	error = take_frame(r);
	if (error < 0) {
		r->error = error;
		r->over = true;
	}
}

static void tear_down(struct relay *r)
{
	publish_free(r->publish);
	doors_free(r->doors);
	flows_free(r->flows);
	dns_server_free(r->dns);
	dns_server_free(r->local);
	listeners_free(r->listeners);
	for (size_t i = 0; i < LISTENERS_MAX; i++)
		fd_closep(&r->waiting[i]);
	connections_free(r->connections);
	inner_pool_free(r->inner);
	for (size_t i = 0; i < r->n_sockets; i++)
		fd_closep(&r->sockets[i]);
	pump_room_free(r->room);
	recorder_free(r->recorder);
	quota_free(r->quota);
	synthetic_free(r->synthetic);
	names_free(r->names);
	lookup_free(r->lookup);
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fd_closep(&r->captured[i]);
	loop_remove(r->loop, &r->watcher);
	loop_free(r->loop);
	frame_deinit(&r->frame);
}

/*
 * The holder hangs up when the commands are dead. What they sent last may still be under way, as it
 * would be without a relay.
 */
static void drain(struct relay *r)
{
	uint64_t now = loop_now(r->loop), end = now + DRAIN_MS;
	int error = 0;

	loop_remove(r->loop, &r->watcher);
	/* The first turn takes those that wait to be accepted. */
	for (int ms = 0; error == 0 && now < end; ms = (int)(end - now)) {
		error = loop_turn(r->loop, ms);
		now = loop_now(r->loop);
		if (connections_drain(r->connections) == 0)
			return;
	}
}

int relay_serve(const struct relay_options *o)
{
	static struct relay r;
	int error;

	r = (struct relay){ .o = o, .watcher = { .ready = on_holder, .fd = -1 } };
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		r.captured[i] = -1;
	for (size_t i = 0; i < INNER_MAX; i++)
		r.sockets[i] = -1;
	for (size_t i = 0; i < LISTENERS_MAX; i++)
		r.waiting[i] = -1;
	error = loop_new(&r.loop);
	if (error < 0)
		return error;
	error = set_up(&r);
	if (error == 0)
		error = loop_add(r.loop, &r.watcher, o->socket, EPOLLIN);
	while (error == 0 && !r.over)
		error = loop_turn(r.loop, -1);
	if (error == 0 && r.error == 0 && r.connections)
		drain(&r);
	tear_down(&r);
	return error < 0 ? error : r.error;
}
