/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A network without rules: who listens where, and the way of a connection. The test is the command
 * and the relay at once, and the servers outside are in the same namespace.
 */
#include "policy/test/test-policy.h"

#include <fcntl.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/enter/capture.h"
#include "net/dns/server.h"
#include "net/enter/listeners.h"
#include "net/test/test-netns.h"
#include "wire/frame.h"
#include "wire/record.h"

enum { POOL = 8 }; /* of each family */

static const char yaml[] =
	"network: {allow: ['api.example.com:443', 'other.example.com:443', '*.wild.org:80-82', "
	"'big.net:1-16', 'big.net:21-36', 'big.net:41-56', 'big.net:61-76', 'big.net:81-96']}";

struct fixture {
	struct loop *loop;
	struct policy *policy;
	struct net_judge judge;
	struct lookup_config config;
	struct lookup *lookup;
	struct dialler dialler;
	struct dns_names *names;
	struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
	struct pump_room *room;
	struct connections *connections;
	struct listeners *listeners;
	int records[2]; /* ours, the recorder's */
};

static void read_hosts(struct lookup_config *ret)
{
	static const char text[] = "151.101.1.1 api.example.com\n";
	auto_fd fd = memfd_create("hosts", MFD_CLOEXEC);
	char path[64];

	assert_int_equal(write(fd, text, sizeof(text) - 1), sizeof(text) - 1);
	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	assert_int_equal(lookup_config_read(ret, "/nonexistent", path), 0);
}

static void start_connections(struct fixture *f)
{
	struct connections_options o = { .listeners = { -1, -1 } };

	f->dialler = (struct dialler){ .loop = f->loop, .lookup = f->lookup, .judge = &f->judge };
	o.dialler = &f->dialler;
	o.synthetic = f->synthetic;
	o.quota = f->quota;
	o.recorder = f->recorder;
	o.room = f->room;
	assert_int_equal(connections_new(&f->connections, &o), 0);
}

/* literal: of a listener that is bound already; NULL: none. */
static void start_listeners(struct fixture *f, const char *literal, uint16_t port)
{
	int sockets[2 * POOL + 2];
	struct listeners_options o = { .loop = f->loop,
		.connections = f->connections,
		.names = f->names,
		.sockets = sockets,
		.n = ROWS(sockets) };

	for (size_t i = 0; i < ROWS(sockets); i++) {
		sockets[i] = i < 2 * POOL ? capture_listener(i % 2 ? AF_INET6 : AF_INET) : -1;
		assert_true(i >= 2 * POOL || sockets[i] >= 0);
	}
	if (literal) {
		struct address a = netns_address(literal);

		sockets[2 * POOL + 1] = capture_listener(a.bits == 32 ? AF_INET : AF_INET6);
		assert_int_equal(capture_listen(sockets[2 * POOL + 1], &a, port), 0);
	}
	assert_int_equal(listeners_new(&f->listeners, &o), 0);
}

static void start_at(struct fixture *f, const char *literal, uint16_t port)
{
	struct error e = { 0 };

	*f = (struct fixture){ .policy = test_compile(yaml) };
	read_hosts(&f->config);
	judge_init(&f->judge, f->policy);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(lookup_new(&f->lookup, f->loop, &f->config), 0);
	assert_int_equal(names_new(&f->names, f->policy, false, &e), 0);
	assert_int_equal(synthetic_new(&f->synthetic, 0), 0);
	assert_int_equal(quota_new(&f->quota, f->policy, NULL), 0);
	assert_int_equal(frame_pair(f->records), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fcntl(f->records[i], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(recorder_new(&f->recorder, f->loop, f->records[1]), 0);
	assert_int_equal(pump_room_new(&f->room, f->loop), 0);
	start_connections(f);
	start_listeners(f, literal, port);
}

static void start(struct fixture *f)
{
	start_at(f, NULL, 0);
}

static void stop(struct fixture *f)
{
	listeners_free(f->listeners);
	connections_free(f->connections);
	pump_room_free(f->room);
	recorder_free(f->recorder);
	quota_free(f->quota);
	synthetic_free(f->synthetic);
	names_free(f->names);
	lookup_free(f->lookup);
	lookup_config_deinit(&f->config);
	loop_free(f->loop);
	policy_free(f->policy);
	(void)close(f->records[0]);
	(void)close(f->records[1]);
}

/* Lets the relay work until the socket has something (or its end) for us. */
static void wait_for(struct fixture *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 0) == 0)
		assert_int_equal(loop_turn(f->loop, 1000), 0);
}

/* The next record, or none. The texts live until the next call. */
static bool next_record(struct fixture *f, struct record *ret)
{
	static struct frame frame;

	recorder_flush(f->recorder);
	if (frame_receive(f->records[0], &frame) != 1)
		return false;
	assert_int_equal(frame.type, FRAME_RECORD);
	assert_int_equal(record_decode(ret, frame.body, frame.len), 0);
	return true;
}

static void is_refused(int type, const char *address, uint16_t port)
{
	union netns_name name;
	socklen_t len = netns_name(address, port, &name);
	auto_fd fd = socket(name.any.sa_family, type | SOCK_CLOEXEC, 0);
	int r = connect(fd, &name.any, len);

	if (type == SOCK_DGRAM) {
		assert_int_equal(r, 0);
		assert_int_equal(send(fd, "x", 1, 0), 1);
		netns_wait(fd);
		r = (int)recv(fd, &(char){ 0 }, 1, MSG_DONTWAIT);
	}
	if (r != -1 || errno != ECONNREFUSED)
		fail_msg("%s port %u: %d", address, port, r < 0 ? -errno : r);
}

/* The namespace. */

static void test_refused(void **state)
{
	static const char *const places[] = { "1.2.3.4", "8.8.8.8", "10.0.0.1", "169.254.169.254",
		"198.18.0.1", "198.19.255.1", "127.0.0.1", "127.0.0.53", "2001:db8::1",
		"fd53:0:0:1::1", "::1", "::ffff:1.2.3.4" };
	static const uint16_t ports[] = { 1, 2, 80, 443, 65535 };

	(void)state;
	for (size_t i = 0; i < ROWS(places) * ROWS(ports); i++) {
		is_refused(SOCK_STREAM, places[i / ROWS(ports)], ports[i % ROWS(ports)]);
		is_refused(SOCK_DGRAM, places[i / ROWS(ports)], ports[i % ROWS(ports)]);
	}
	is_refused(SOCK_STREAM, "8.8.8.8", 53);
	is_refused(SOCK_DGRAM, "8.8.8.8", 53);
	is_refused(SOCK_DGRAM, "127.0.0.1", 53);
}

/* Sending fails: there is no relay that would hear of it. */
static void test_groups(void **state)
{
	static const char *const groups[] = { "224.0.0.251", "239.255.255.250", "255.255.255.255",
		"ff02::fb", "ff05::c", "::ffff:224.0.0.251" };

	(void)state;
	for (size_t i = 0; i < ROWS(groups); i++) {
		union netns_name name;
		socklen_t len = netns_name(groups[i], 5353, &name);
		auto_fd fd = socket(name.any.sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);

		if (name.any.sa_family == AF_INET6)
			name.v6.sin6_scope_id = 1;
		assert_int_equal(
			setsockopt(fd, SOL_SOCKET, SO_BROADCAST, &(int){ 1 }, sizeof(int)), 0);
		assert_int_equal(sendto(fd, "x", 1, 0, &name.any, len), -1);
		assert_int_equal(errno, EHOSTUNREACH);
	}
}

static void test_dns(void **state)
{
	static const struct {
		const char *address;
		unsigned tcp, udp;
	} servers[] = {
		{ "198.19.255.53", CAPTURE_DNS_TCP_4, CAPTURE_DNS_UDP_4 },
		{ "fd53::53", CAPTURE_DNS_TCP_6, CAPTURE_DNS_UDP_6 },
		{ "127.0.0.53", CAPTURE_SYSTEMD_TCP, CAPTURE_SYSTEMD_UDP },
		{ "127.0.0.11", CAPTURE_DOCKER_TCP, CAPTURE_DOCKER_UDP },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(servers); i++) {
		auto_fd tcp = netns_connect(SOCK_STREAM, servers[i].address, 53);
		auto_fd accepted = netns_accept(netns_relay[servers[i].tcp]);
		auto_fd udp = netns_connect(SOCK_DGRAM, servers[i].address, 53);
		int server = netns_relay[servers[i].udp];
		union netns_name from;
		socklen_t len = sizeof(from);
		char text[8];

		/* It is connected: the answer must come from whom it asked. */
		assert_int_equal(send(udp, "query", 5, 0), 5);
		netns_wait(server);
		assert_int_equal(recvfrom(server, text, sizeof(text), 0, &from.any, &len), 5);
		assert_int_equal(sendto(server, "answer", 6, 0, &from.any, len), 6);
		netns_wait(udp);
		assert_int_equal(recv(udp, text, sizeof(text), 0), 6);
	}
}

static void test_sockets(void **state)
{
	static const unsigned none[] = { CAPTURE_TCP_4, CAPTURE_TCP_6, CAPTURE_UDP_4, CAPTURE_UDP_6,
		CAPTURE_RAW_4, CAPTURE_RAW_6 };
	auto_fd free = capture_listener(AF_INET6);

	(void)state;
	for (size_t i = 0; i < ROWS(none); i++)
		assert_int_equal(netns_relay[none[i]], -1);
	for (size_t i = 0; i < CAPTURE_COUNT; i++) {
		int fd = netns_relay[i] < 0 ? free : netns_relay[i];

		assert_true(fcntl(fd, F_GETFD) & FD_CLOEXEC);
		assert_true(fcntl(fd, F_GETFL) & O_NONBLOCK);
	}
}

/* Listeners. */

static void test_open(void **state)
{
	struct fixture f;
	uint32_t number;

	(void)state;
	start(&f);
	assert_int_equal(listeners_left(f.listeners), POOL);
	assert_int_equal(synthetic_take(f.synthetic, "api.example.com", &number), 0);
	is_refused(SOCK_STREAM, "198.18.0.1", 443);
	for (int i = 0; i < 3; i++)
		assert_int_equal(listeners_open(f.listeners, "api.example.com", number), 0);
	assert_int_equal(listeners_left(f.listeners), POOL - 1);
	is_refused(SOCK_STREAM, "198.18.0.1", 80);
	is_refused(SOCK_STREAM, "198.18.0.2", 443);
	is_refused(SOCK_STREAM, "fd53:0:0:1::2", 443);
	is_refused(SOCK_STREAM, "1.2.3.4", 443);
	is_refused(SOCK_DGRAM, "198.18.0.1", 443);
	stop(&f);
	is_refused(SOCK_STREAM, "198.18.0.1", 443);
}

/* To somebody outside and back. */
static void test_way(void **state)
{
	static const char *const by[] = { "198.18.0.1", "fd53:0:0:1::1", "::ffff:198.18.0.1" };
	struct fixture f;
	uint32_t number;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_STREAM, "151.101.1.1", 443, &port);

	(void)state;
	start(&f);
	assert_int_equal(synthetic_take(f.synthetic, "api.example.com", &number), 0);
	assert_int_equal(listeners_open(f.listeners, "api.example.com", number), 0);
	for (size_t i = 0; i < ROWS(by); i++) {
		auto_fd inside = netns_connect(SOCK_STREAM, by[i], 443);
		auto_fd outside = -1;
		char text[8];

		wait_for(&f, server);
		outside = netns_accept(server);
		assert_int_equal(send(inside, "ping\n", 5, 0), 5);
		wait_for(&f, outside);
		assert_int_equal(recv(outside, text, sizeof(text), 0), 5);
		assert_int_equal(send(outside, "pong!\n", 6, 0), 6);
		wait_for(&f, inside);
		assert_int_equal(recv(inside, text, sizeof(text), 0), 6);
	}
	stop(&f);
}

/* A listener is no grant: the policy decides, and the record names the address. */
static void test_literal(void **state)
{
	static const char *const literals[] = { "10.1.2.3", "2001:db8::7" };

	(void)state;
	for (size_t i = 0; i < ROWS(literals); i++) {
		struct fixture f;
		struct record record;

		start_at(&f, literals[i], 5432);
		{
			auto_fd inside = netns_connect(SOCK_STREAM, literals[i], 5432);

			wait_for(&f, inside);
			assert_int_equal(recv(inside, &(char){ 0 }, 1, 0), -1);
			assert_int_equal(errno, ECONNRESET);
		}
		assert_true(next_record(&f, &record));
		assert_int_equal(record.kind, RECORD_DENIED);
		assert_string_equal(record.address, literals[i]);
		assert_int_equal(record.port, 5432);
		stop(&f);
	}
}

/* Servers inside: whoever comes first has the port, and nothing is half open. */
static void test_in_use(void **state)
{
	struct fixture f;
	uint16_t port;

	(void)state;
	start(&f);
	{
		auto_fd server = netns_serve(SOCK_STREAM, "0.0.0.0", 81, &port);

		for (int i = 0; i < 3; i++)
			assert_int_equal(listeners_open(f.listeners, "a.wild.org", 1), -EADDRINUSE);
		/* The port below it, once. */
		assert_int_equal(listeners_left(f.listeners), POOL - 1);
	}
	assert_int_equal(listeners_open(f.listeners, "a.wild.org", 1), 0);
	assert_int_equal(listeners_left(f.listeners), POOL - 3);
	for (uint16_t p = 80; p < 83; p++) {
		auto_fd four = netns_connect(SOCK_STREAM, "198.18.0.1", p);
		auto_fd six = netns_connect(SOCK_STREAM, "fd53:0:0:1::1", p);
	}
	is_refused(SOCK_STREAM, "198.18.0.1", 83);
	stop(&f);
}

static void test_servers(void **state)
{
	static const struct {
		const char *address;
		uint16_t port;
	} cases[] = { { "127.0.0.1", 443 }, { "198.19.255.1", 443 }, { "::1", 443 },
		{ "fd53::1", 443 }, { "0.0.0.0", 80 }, { "::", 80 }, { "0.0.0.0", 8080 },
		{ "127.0.0.1", 53 }, { "::", 1 } };
	union netns_name name;
	socklen_t len = netns_name("0.0.0.0", 443, &name);
	auto_fd blocked = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct fixture f;

	(void)state;
	start(&f);
	assert_int_equal(listeners_open(f.listeners, "api.example.com", 1), 0);
	for (size_t i = 0; i < ROWS(cases); i++) {
		uint16_t port;
		auto_fd server = netns_serve(SOCK_STREAM, cases[i].address, cases[i].port, &port);
	}
	/* The limit of this way, as it is documented. */
	assert_int_equal(bind(blocked, &name.any, len), -1);
	assert_int_equal(errno, EADDRINUSE);
	stop(&f);
}

static void test_used_up(void **state)
{
	struct fixture f;
	char name[32];

	(void)state;
	start(&f);
	for (uint32_t i = 1; i <= 2; i++) {
		(void)snprintf(name, sizeof(name), "n%u.wild.org", i);
		assert_int_equal(listeners_open(f.listeners, name, i), 0);
	}
	assert_int_equal(listeners_left(f.listeners), POOL - 6);
	assert_int_equal(listeners_open(f.listeners, "n3.wild.org", 3), -EMFILE);
	assert_int_equal(listeners_left(f.listeners), 0);
	assert_int_equal(listeners_open(f.listeners, "n3.wild.org", 3), -EMFILE);
	assert_int_equal(listeners_open(f.listeners, "n1.wild.org", 1), 0);
	assert_int_equal(listeners_open(f.listeners, "big.net", 4), -E2BIG);
	assert_int_equal(listeners_open(f.listeners, "api.example.com", 0), -EINVAL);
	assert_int_equal(listeners_open(f.listeners, "api.example.com", 1 << 17), -EINVAL);
	stop(&f);
}

static void test_wrong(void **state)
{
	struct fixture f;
	auto_fd good = capture_listener(AF_INET);
	auto_fd udp = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	auto_fd local = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	const int wrong[] = { udp, local };

	(void)state;
	start(&f);
	for (size_t i = 0; i < ROWS(wrong); i++) {
		const int sockets[] = { wrong[i], good };
		struct listeners_options o = { f.loop, f.connections, f.names, sockets, 2 };
		struct listeners *l = NULL;

		assert_int_equal(listeners_new(&l, &o), -EINVAL);
		assert_null(l);
		o.n = LISTENERS_MAX + 1;
		assert_int_equal(listeners_new(&l, &o), -E2BIG);
	}
	/* They are still ours. */
	assert_true(fcntl(good, F_GETFD) >= 0 && fcntl(udp, F_GETFD) >= 0);
	stop(&f);
}

/* The name server. */

static int on_named(void *context, const char *name, uint32_t number)
{
	return listeners_open(context, name, number);
}

/* The code of the answer for an address of NAME.wild.org. */
static unsigned ask(struct dns_server *s, char name)
{
	const uint8_t query[] = { 0, 1, 1, 0, 0, 1, 0, 0, 0, 0, 0, 0, 1, (uint8_t)name, 4, 'w', 'i',
		'l', 'd', 3, 'o', 'r', 'g', 0, 0, 1, 0, 1 };
	uint8_t reply[512];
	size_t n = dns_server_answer(s, query, sizeof(query), reply, sizeof(reply));

	assert_true(n >= sizeof(query));
	return reply[3] & 15;
}

static void test_told(void **state)
{
	struct fixture f;
	struct dns_server *s = NULL;
	struct record record;

	(void)state;
	start(&f);
	{
		const struct dns_server_options o = { .loop = f.loop,
			.names = f.names,
			.synthetic = f.synthetic,
			.recorder = f.recorder,
			.udp = { -1, -1 },
			.tcp = { -1, -1 },
			.named = on_named,
			.context = f.listeners };

		assert_int_equal(dns_server_new(&s, &o), 0);
	}
	assert_int_equal(ask(s, 'a'), 0);
	assert_int_equal(ask(s, 'b'), 0);
	assert_false(next_record(&f, &record));
	/* Listened for by the time that the answer is there. */
	for (uint16_t p = 80; p < 83; p++) {
		auto_fd one = netns_connect(SOCK_STREAM, "198.18.0.1", p);
		auto_fd two = netns_connect(SOCK_STREAM, "198.18.0.2", p);
	}
	assert_int_equal(ask(s, 'c'), 2);
	assert_true(next_record(&f, &record));
	assert_int_equal(record.kind, RECORD_FAILED);
	assert_string_equal(record.name, "c.wild.org");
	assert_non_null(strstr(record.reason, "the session has no listener left: this kernel lacks "
					      "nf_tables, so each name needs its own"));
	assert_int_equal(ask(s, 'a'), 0);
	dns_server_free(s);
	stop(&f);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_groups),
		cmocka_unit_test(test_dns),
		cmocka_unit_test(test_sockets),
		cmocka_unit_test(test_open),
		cmocka_unit_test(test_way),
		cmocka_unit_test(test_literal),
		cmocka_unit_test(test_in_use),
		cmocka_unit_test(test_servers),
		cmocka_unit_test(test_used_up),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_told),
	};

	netns_without_rules = true;
	if (!netns_enter())
		return 0;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
