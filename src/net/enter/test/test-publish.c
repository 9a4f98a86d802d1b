/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two network namespaces: the host's, with the publisher and those who visit, and the sandbox's,
 * with the servers and the sockets of the pool. The test is on both sides: sockets stay where they
 * were made.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/userns.h"
#include "net/endpoint.h"
#include "net/enter/publish.h"
#include "net/test/test-netns.h"
#include "wire/frame.h"

enum { PATIENCE_MS = 60000, PORT = 8080, POOL_MAX = 16 };

static const struct listen_entry entry = { .port = PORT, .inner = PORT };
static int outside_ns, inside_ns;

struct world {
	struct loop *loop;
	struct pump_room *room;
	struct recorder *recorder;
	struct publish *publish;
	struct inner_pool *inner;
	int records[2];
	uint64_t counts[3], sent, received;
	char target[512], reason[512];
};

static void in_sandbox(void)
{
	assert_int_equal(setns(inside_ns, CLONE_NEWNET), 0);
}

static void on_host(void)
{
	assert_int_equal(setns(outside_ns, CLONE_NEWNET), 0);
}

static void make(struct world *w, size_t n_v4, size_t n_v6)
{
	struct publish_options o;
	struct publish_port port;
	struct error e = { 0 };
	int pool[POOL_MAX];

	*w = (struct world){ 0 };
	in_sandbox();
	for (size_t i = 0; i < n_v4 + n_v6; i++) {
		pool[i] = socket(i < n_v4 ? AF_INET : AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_true(pool[i] >= 0);
	}
	on_host();
	if (publish_open(&port, &entry, &e) < 0)
		fail_msg("%s", e.text);
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(pump_room_new(&w->room, w->loop), 0);
	assert_int_equal(inner_pool_new(&w->inner, w->loop, pool, n_v4 + n_v6), 0);
	assert_int_equal(frame_pair(w->records), 0);
	assert_int_equal(fcntl(w->records[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(w->records[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(recorder_new(&w->recorder, w->loop, w->records[0]), 0);
	o = (struct publish_options){ .loop = w->loop,
		.room = w->room,
		.recorder = w->recorder,
		.ports = &port,
		.n_ports = 1,
		.inner = w->inner };
	assert_int_equal(publish_new(&w->publish, &o), 0);
}

static void end(struct world *w)
{
	publish_free(w->publish);
	inner_pool_free(w->inner);
	recorder_free(w->recorder);
	pump_room_free(w->room);
	loop_free(w->loop);
	fd_close(&w->records[0]);
	fd_close(&w->records[1]);
}

static void read_records(struct world *w)
{
	static struct frame f;
	struct record r;

	recorder_flush(w->recorder);
	while (frame_receive(w->records[1], &f) == 1) {
		assert_int_equal(record_decode(&r, f.body, f.len), 0);
		w->counts[r.kind] += r.count;
		w->sent += r.sent;
		w->received += r.received;
		(void)snprintf(w->target, sizeof(w->target), "%s", r.target);
		(void)snprintf(w->reason, sizeof(w->reason), "%s", r.reason);
	}
	frame_deinit(&f);
}

static bool is_ready(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	return poll(&p, 1, 0) > 0;
}

static void turn_until(struct world *w, int fd)
{
	for (int i = 0; i < PATIENCE_MS / 10 && !is_ready(fd); i++)
		assert_int_equal(loop_turn(w->loop, 10), 0);
	assert_true(is_ready(fd));
}

/* Until all sockets are in the pool again. */
static void turn_until_free(struct world *w, size_t n)
{
	for (int i = 0; i < PATIENCE_MS / 10 && inner_pool_left(w->inner) < n; i++)
		assert_int_equal(loop_turn(w->loop, 10), 0);
	assert_int_equal(inner_pool_left(w->inner), n);
}

static int serve(const char *address)
{
	uint16_t port;
	int fd;

	in_sandbox();
	fd = netns_serve(SOCK_STREAM, address, PORT, &port);
	on_host();
	return fd;
}

/* Somebody visits, and the server inside takes it. */
static void visit(struct world *w, int server, const char *address, int *ret_client, int *ret_peer)
{
	*ret_client = netns_connect(SOCK_STREAM, address, PORT);
	turn_until(w, server);
	*ret_peer = netns_accept(server);
}

static void say(struct world *w, int from, int to, const char *text)
{
	char got[64];

	assert_int_equal(send(from, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn_until(w, to);
	assert_int_equal(recv(to, got, sizeof(got), 0), strlen(text));
	assert_memory_equal(got, text, strlen(text));
}

static void expect_end(struct world *w, int fd)
{
	char byte;

	turn_until(w, fd);
	assert_int_equal(recv(fd, &byte, 1, 0), 0);
}

static void expect_reset(struct world *w, int fd)
{
	char byte;

	turn_until(w, fd);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
}

static const char *const addresses[] = { "127.0.0.1", "::1" };

/* From either address to either. */
static void test_echo(void **state)
{
	(void)state;
	for (int i = 0; i < 4; i++) {
		struct world w;
		auto_fd server = serve(addresses[i / 2]);
		int client, peer;

		make(&w, 1, 1);
		visit(&w, server, addresses[i % 2], &client, &peer);
		say(&w, client, peer, "ping");
		say(&w, peer, client, "pong!");
		assert_int_equal(inner_pool_left(w.inner), 1);
		(void)close(client);
		expect_end(&w, peer);
		(void)close(peer);
		turn_until_free(&w, 2);
		read_records(&w);
		assert_int_equal(w.counts[RECORD_CLOSED], 1);
		assert_int_equal(w.received, 4);
		assert_int_equal(w.sent, 5);
		assert_string_equal(w.target, "listen:8080");
		end(&w);
	}
}

static void test_nobody(void **state)
{
	struct world w;

	(void)state;
	make(&w, 1, 1);
	for (int i = 0; i < 20; i++) {
		auto_fd client = netns_connect(SOCK_STREAM, addresses[i % 2], PORT);

		expect_reset(&w, client);
		turn_until_free(&w, 2);
	}
	read_records(&w);
	assert_int_equal(w.counts[RECORD_FAILED], 20);
	assert_string_equal(w.reason, "no server listens on it");
	/* And when somebody is there, the same sockets reach it. */
	auto_fd server = serve("::1");
	int client, peer;

	visit(&w, server, "127.0.0.1", &client, &peer);
	say(&w, client, peer, "ping");
	(void)close(client);
	(void)close(peer);
	end(&w);
}

static void test_all_in_use(void **state)
{
	auto_fd server = serve("127.0.0.1");
	int clients[2], peers[2];
	struct world w;

	(void)state;
	make(&w, 2, 0);
	for (int i = 0; i < 2; i++)
		visit(&w, server, "127.0.0.1", &clients[i], &peers[i]);
	auto_fd third = netns_connect(SOCK_STREAM, "127.0.0.1", PORT);
	expect_reset(&w, third);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_FAILED], 1);
	assert_string_equal(w.reason, "too many connections into the sandbox are open");
	/* Those before it do not notice. */
	for (int i = 0; i < 2; i++) {
		say(&w, clients[i], peers[i], "ping");
		(void)close(clients[i]);
		(void)close(peers[i]);
	}
	turn_until_free(&w, 2);
	end(&w);
}

static void reset(int fd)
{
	const struct linger now = { .l_onoff = 1 };

	assert_int_equal(setsockopt(fd, SOL_SOCKET, SO_LINGER, &now, sizeof(now)), 0);
	assert_int_equal(close(fd), 0);
}

/* The ways in which a connection ends. Each closes both. */

static void client_closes(struct world *w, int client, int peer)
{
	(void)close(client);
	expect_end(w, peer);
	(void)close(peer);
}

static void server_closes(struct world *w, int outside, int inside)
{
	client_closes(w, inside, outside);
}

static void client_resets(struct world *w, int client, int peer)
{
	reset(client);
	expect_reset(w, peer);
	(void)close(peer);
}

static void server_resets(struct world *w, int outside, int inside)
{
	client_resets(w, inside, outside);
}

/* One side has said all, and the other goes on. */
static void half(struct world *w, int client, int peer)
{
	assert_int_equal(shutdown(client, SHUT_WR), 0);
	expect_end(w, peer);
	say(w, peer, client, "more");
	(void)close(peer);
	expect_end(w, client);
	(void)close(client);
}

static void half_of_server(struct world *w, int outside, int inside)
{
	half(w, inside, outside);
}

/* The server leaves with bytes unread, some of them still on the way. */
static void unread(struct world *w, int client, int peer)
{
	static char data[4 << 20];

	assert_int_equal(fcntl(client, F_SETFL, O_NONBLOCK), 0);
	assert_true(send(client, data, sizeof(data), MSG_NOSIGNAL) > 0);
	turn_until(w, peer);
	(void)close(peer);
	expect_reset(w, client);
	(void)close(client);
}

static void (*const ends[])(struct world *w, int client, int peer) = { client_closes, server_closes,
	client_resets, server_resets, half, half_of_server, unread };
enum { N_ENDS = ROWS(ends) };

/* One socket, over and over, after every end of every other. */
static void check_reuse(const char *address, size_t n_v4, size_t n_v6)
{
	auto_fd server = serve(address);
	struct world w;

	make(&w, n_v4, n_v6);
	for (int i = 0; i < 2 * N_ENDS * N_ENDS; i++) {
		int client, peer;

		visit(&w, server, addresses[i % 2], &client, &peer);
		say(&w, client, peer, "ping");
		say(&w, peer, client, "pong!");
		ends[(i / 2 % N_ENDS + i % 2 * (i / 2 / N_ENDS)) % N_ENDS](&w, client, peer);
		turn_until_free(&w, 1);
	}
	end(&w);
}

static void test_reuse(void **state)
{
	(void)state;
	check_reuse("127.0.0.1", 1, 0);
	check_reuse("::1", 0, 1);
}

/* The server has said all and is slow to read: what was on its way arrives before the reuse. */
static void test_drain(void **state)
{
	enum { BYTES = 300000 };
	static char data[BYTES], got[BYTES];
	auto_fd server = serve("127.0.0.1");
	int client, peer, small = 4096;
	size_t n = 0;
	ssize_t r;
	struct world w;

	(void)state;
	make(&w, 1, 0);
	assert_int_equal(setsockopt(server, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	visit(&w, server, "127.0.0.1", &client, &peer);
	assert_int_equal(shutdown(peer, SHUT_WR), 0);
	expect_end(&w, client);
	for (size_t i = 0; i < BYTES; i++)
		data[i] = (char)i;
	while (n < BYTES) {
		r = send(client, data + n, BYTES - n, MSG_NOSIGNAL | MSG_DONTWAIT);
		n += r > 0 ? (size_t)r : 0;
		assert_int_equal(loop_turn(w.loop, 0), 0);
	}
	(void)close(client);
	/* All is with the kernel, and the publisher could be done with it. */
	for (int i = 0; i < 100; i++)
		assert_int_equal(loop_turn(w.loop, 1), 0);
	for (n = 0; n < BYTES; n += (size_t)r) {
		turn_until(&w, peer);
		r = recv(peer, got + n, BYTES - n, 0);
		assert_true(r > 0);
	}
	assert_memory_equal(got, data, BYTES);
	expect_end(&w, peer);
	(void)close(peer);
	turn_until_free(&w, 1);
	end(&w);
}

/* Ends while somebody is there. */
static void test_ended(void **state)
{
	auto_fd server = serve("127.0.0.1");
	struct world w;
	int client, peer;
	char byte;

	(void)state;
	make(&w, 2, 2);
	visit(&w, server, "::1", &client, &peer);
	publish_free(w.publish);
	w.publish = NULL;
	assert_int_equal(recv(client, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	assert_int_equal(recv(peer, &byte, 1, 0), -1);
	(void)close(client);
	(void)close(peer);
	end(&w);
}

static const struct address loopbacks[] = { { .bits = 32, .bytes = { 127, 0, 0, 1 } },
	{ .bits = 128, .bytes = { [15] = 1 } } };

static int try_connect(const struct address *a)
{
	union endpoint e;
	socklen_t len = endpoint_fill(&e, a, PORT);
	auto_fd fd = socket(e.any.sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);

	return fd < 0 || connect(fd, &e.any, len) < 0 ? -1 : fd_take(&fd);
}

static void test_ports(void **state)
{
	struct publish_port port = { .listeners = { -1, -1 } }, again;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(publish_open(&port, &(struct listen_entry){ 0 }, &e), -EINVAL);
	for (int i = 0; i < 2; i++) {
		uint16_t taken;
		auto_fd other = netns_serve(SOCK_STREAM, addresses[i], PORT, &taken);

		assert_int_equal(publish_open(&port, &entry, &e), -EADDRINUSE);
		assert_non_null(strstr(e.text, "port 8080 "));
		assert_true(strlen(e.hint) > 0);
		assert_int_equal(port.listeners[0], -1);
	}
	assert_int_equal(publish_open(&port, &entry, &e), 0);
	assert_int_equal(publish_open(&again, &entry, &e), -EADDRINUSE);
	publish_close(&port);
}

/* One address of this machine, and no other. */
static void test_hosts(void **state)
{
	static const struct {
		struct listen_entry entry;
		bool v4, v6;
	} rows[] = {
		{ { .port = PORT, .inner = PORT }, true, true },
		{ { .host = { .bits = 32, .bytes = { 127, 0, 0, 1 } }, .port = PORT, .inner = 1 },
			true, false },
		{ { .host = { .bits = 32, .bytes = { 127, 0, 0, 2 } }, .port = PORT, .inner = 1 },
			false, false },
		{ { .host = { .bits = 32 }, .port = PORT, .inner = 1 }, true, false },
		{ { .host = { .bits = 128 }, .port = PORT, .inner = 1 }, false, true },
	};
	struct publish_port port = { .listeners = { -1, -1 } };
	struct listen_entry absent = {
		.host = { .bits = 32, .bytes = { 192, 0, 2, 1 } }, .port = PORT, .inner = PORT
	};
	struct error e = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		for (int k = 0; k < 2; k++) {
			const struct address *a = &loopbacks[k];
			int fd;

			if (publish_open(&port, &rows[i].entry, &e) < 0)
				fail_msg("%s", e.text);
			fd = try_connect(a);
			assert_int_equal(fd >= 0, k ? rows[i].v6 : rows[i].v4);
			if (fd >= 0)
				(void)close(fd);
			publish_close(&port);
		}
	}
	assert_int_equal(publish_open(&port, &absent, &e), -EADDRNOTAVAIL);
	assert_string_equal(e.text,
		"cannot publish port 8080 of 192.0.2.1 on this machine: it has no such address");
}

static void test_bad(void **state)
{
	struct publish_port ports[PUBLISH_PORTS_MAX + 1];
	auto_fd datagrams = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct publish_options o = { .ports = ports, .n_ports = 2 };
	struct publish *p = NULL;

	(void)state;
	for (int i = 0; i <= PUBLISH_PORTS_MAX; i++)
		ports[i] =
			(struct publish_port){ .entry = { .port = (uint16_t)(i + 1), .inner = 1 },
				.listeners = { -1, -1 } };
	assert_int_equal(loop_new(&o.loop), 0);
	ports[1].entry.port = 1;
	assert_int_equal(publish_new(&p, &o), -EINVAL);
	ports[1].entry.port = 0;
	assert_int_equal(publish_new(&p, &o), -EINVAL);
	ports[1].entry.port = 2;
	o.n_ports = PUBLISH_PORTS_MAX + 1;
	assert_int_equal(publish_new(&p, &o), -E2BIG);
	o.n_ports = 2;
	assert_int_equal(inner_pool_new(&o.inner, o.loop, &datagrams, 1), -EINVAL);
	assert_int_equal(publish_new(&p, &o), 0);
	publish_free(p);
	publish_free(NULL);
	loop_free(o.loop);
}

static int enter(void)
{
	uid_t uid = getuid() ? getuid() : 65534;
	gid_t gid = getuid() ? getgid() : 65534;

	if (setresgid(gid, gid, gid) < 0 || setresuid(uid, uid, uid) < 0 ||
		prctl(PR_SET_DUMPABLE, 1, 0, 0, 0) < 0 || unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0)
		return -errno;
	return userns_map(uid, gid);
}

static int make_namespaces(void)
{
	if (loopback_up() < 0)
		return -errno;
	outside_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (outside_ns < 0 || unshare(CLONE_NEWNET) < 0 || loopback_up() < 0)
		return -errno;
	inside_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return inside_ns < 0 || setns(outside_ns, CLONE_NEWNET) < 0 ? -errno : 0;
}

/* Who is there is reset, and the port is free for others. */
static void test_revoked(void **state)
{
	const struct listen_entry ports[] = { { .port = 1, .inner = 1 }, entry };
	auto_fd server = serve("127.0.0.1");
	struct publish_port again;
	struct error e = { 0 };
	int client, peer;
	struct world w;

	(void)state;
	make(&w, 2, 0);
	visit(&w, server, "127.0.0.1", &client, &peer);
	publish_review(w.publish, ports, 2);
	say(&w, client, peer, "ping");
	assert_int_equal(publish_open(&again, &entry, &e), -EADDRINUSE);
	publish_review(w.publish, ports, 1);
	expect_reset(&w, client);
	expect_reset(&w, peer);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_CLOSED], 1);
	assert_int_equal(publish_open(&again, &entry, &e), 0);
	publish_close(&again);
	turn_until_free(&w, 2);
	(void)close(client);
	(void)close(peer);
	end(&w);
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_hosts),
		cmocka_unit_test(test_revoked),
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_nobody),
		cmocka_unit_test(test_all_in_use),
		cmocka_unit_test(test_reuse),
		cmocka_unit_test(test_drain),
		cmocka_unit_test(test_ended),
		cmocka_unit_test(test_ports),
		cmocka_unit_test(test_bad),
	};

	if (enter() < 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	if (make_namespaces() < 0) {
		(void)puts("Bail out! no network namespaces");
		return 1;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
