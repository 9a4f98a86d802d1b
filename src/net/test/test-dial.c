/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real sockets on the loopback interface; names come from a hosts file and from a small DNS server
 * in the same loop. Only the judge is the test's own: it refuses what the test says and writes down
 * what it was asked.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "net/dial.h"
#include "net/dns/lookup.h"
#include "test/failing.h"
#include "test/fds.h"

FAILING_CALLOC

/* The judge. */

static const char *refused_address, *refused_alias, *refused_own;
static char judged[1024];
static enum transport judged_transport;

static const char *text_of(const struct address *a)
{
	static char text[INET6_ADDRSTRLEN];

	return inet_ntop(a->bits == 32 ? AF_INET : AF_INET6, a->bytes, text, sizeof(text));
}

static bool decide(const char *what, const char *refused, const struct destination *d,
	struct net_judgement *ret)
{
	size_t len;

	*ret = (struct net_judgement){ .allowed = !refused || strcmp(what, refused) != 0 };
	len = strlen(judged);
	(void)snprintf(judged + len, sizeof(judged) - len, "%s%s", len ? " " : "", what);
	judged_transport = d->transport;
	assert_non_null(d->name);
	assert_true(d->port != 0);
	if (!ret->allowed)
		(void)snprintf(ret->reason, sizeof(ret->reason), "%s is refused", what);
	return ret->allowed;
}

bool __wrap_judge_answer(const struct net_judge *j, const struct destination *d,
	const struct address *a, struct net_judgement *ret);
bool __wrap_judge_answer(const struct net_judge *j, const struct destination *d,
	const struct address *a, struct net_judgement *ret)
{
	(void)j;
	return decide(text_of(a), refused_address, d, ret);
}

/* All that these tests dial is on this machine. */
bool __wrap_judge_own(const struct net_judge *j, const struct destination *d,
	const struct address *a, struct net_judgement *ret);
bool __wrap_judge_own(const struct net_judge *j, const struct destination *d,
	const struct address *a, struct net_judgement *ret)
{
	(void)j, (void)d;
	*ret = (struct net_judgement){ .allowed = !refused_own ||
						  strcmp(text_of(a), refused_own) != 0 };
	return ret->allowed;
}

bool __wrap_judge_alias(const struct net_judge *j, const struct destination *d, const char *alias,
	struct net_judgement *ret);
bool __wrap_judge_alias(const struct net_judge *j, const struct destination *d, const char *alias,
	struct net_judgement *ret)
{
	(void)j;
	return decide(alias, refused_alias, d, ret);
}

/* The world of a test. */

static struct loop *loop;
static struct lookup *lookup;
static struct lookup_config config;
static struct dialler dialler;
static struct watcher dns;
static size_t open_fds;

static const char hosts[] = "127.0.0.1 four.test both.test\n"
			    "127.0.0.2 pair.test\n"
			    "127.0.0.1 pair.test\n"
			    "::1 six.test both.test\n"
			    "::ffff:127.0.0.1 mapped.test\n"
			    "127.0.0.1 mapped.test\n"
			    "64:ff9b::7f00:1 nat64.test\n"
			    "100::1 nowhere.test\n"
			    "127.0.0.1 nowhere.test\n";

/* alias.test has a CNAME to other.test and one address; no other name exists. */
static void dns_ready(struct watcher *w, uint32_t events)
{
	static const uint8_t records[] = "\xc0\x0c\0\5\0\1\0\0\0\74\0\14\5other\4test\0"
					 "\5other\4test\0\0\1\0\1\0\0\0\74\0\4\x7f\0\0\1";
	struct sockaddr_in from;
	socklen_t from_len = sizeof(from);
	uint8_t m[1024];
	ssize_t n = recvfrom(w->fd, m, 512, 0, (struct sockaddr *)&from, &from_len);
	size_t len = 12;

	(void)events;
	assert_true(n > 17);
	while (m[len])
		len += 1u + m[len];
	len += 5;
	m[2] = 0x81;
	m[3] = memcmp(m + 12, "\5alias", 6) == 0 ? 0x80 : 0x83;
	memset(m + 6, 0, 6);
	if (m[3] == 0x80 && m[len - 3] == DNS_A) {
		m[7] = 2;
		memcpy(m + len, records, sizeof(records) - 1);
		len += sizeof(records) - 1;
	}
	assert_int_equal(sendto(w->fd, m, len, 0, (struct sockaddr *)&from, from_len), len);
}

/* A socket bound to a port of this address: any port if it is 0. */
static int bound(const char *address, uint16_t port, int type, uint16_t *ret_port)
{
	bool v6 = strchr(address, ':');
	struct sockaddr_in four = { .sin_family = AF_INET, .sin_port = htons(port) };
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_port = htons(port) };
	struct sockaddr *a = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t len = v6 ? sizeof(six) : sizeof(four);
	int fd = socket(a->sa_family, type | SOCK_CLOEXEC, 0);

	*ret_port = 0;
	assert_true(fd >= 0);
	(void)inet_pton(AF_INET, address, &four.sin_addr);
	(void)inet_pton(AF_INET6, address, &six.sin6_addr);
	if (bind(fd, a, len) < 0) {
		(void)close(fd);
		return -1;
	}
	assert_int_equal(getsockname(fd, a, &len), 0);
	*ret_port = ntohs(v6 ? six.sin6_port : four.sin_port);
	return fd;
}

/* Two sockets with the same port. */
static void bound_both(const char *a, const char *b, int ret[2], uint16_t *ret_port)
{
	for (int tries = 100;; tries--) {
		uint16_t same;

		assert_true(tries > 0);
		ret[0] = bound(a, 0, SOCK_STREAM, ret_port);
		ret[1] = bound(b, *ret_port, SOCK_STREAM, &same);
		if (ret[1] >= 0)
			return;
		(void)close(ret[0]);
	}
}

static void read_hosts(void)
{
	char path[] = "/tmp/test-dial.XXXXXX";
	auto_fd fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, hosts, sizeof(hosts) - 1), sizeof(hosts) - 1);
	assert_int_equal(lookup_hosts_read(&config.hosts, path), 0);
	assert_int_equal(unlink(path), 0);
}

static int setup(void **state)
{
	int fd;

	(void)state;
	open_fds = count_fds();
	refused_address = refused_alias = refused_own = NULL;
	judged[0] = '\0';
	config = (struct lookup_config){ .n_servers = 1, .timeout_ms = 60000, .attempts = 1 };
	config.servers[0].address = (struct address){ .bits = 32, .bytes = { 127, 0, 0, 1 } };
	read_hosts();
	if (loop_new(&loop) < 0 || lookup_new(&lookup, loop, &config) < 0)
		return -1;
	fd = bound("127.0.0.1", 0, SOCK_DGRAM, &config.servers[0].port);
	dns.ready = dns_ready;
	dialler = (struct dialler){ .loop = loop, .lookup = lookup };
	return loop_add(loop, &dns, fd, EPOLLIN);
}

static int teardown(void **state)
{
	int fd = dns.fd;

	(void)state;
	loop_remove(loop, &dns);
	(void)close(fd);
	lookup_free(lookup);
	loop_free(loop);
	lookup_config_deinit(&config);
	return count_fds() != open_fds;
}

struct call {
	struct dial dial;
	bool done;
	int fd;
};

static void call_done(struct dial *d, int fd)
{
	struct call *c = container_of(d, struct call, dial);

	assert_false(c->done);
	c->done = true;
	c->fd = fd;
}

static void call(struct call *c, const char *name, uint16_t port, int type)
{
	*c = (struct call){ .dial.done = call_done };
	assert_int_equal(dial_start(&dialler, &c->dial, name, NULL, port, type), 0);
	assert_false(c->done);
}

static void run(struct call *c)
{
	while (!c->done)
		assert_int_equal(loop_turn(loop, -1), 0);
}

/* The call must fail so, and leave nothing open. */
static void expect_error(const char *name, uint16_t port, int type, int error)
{
	size_t before = count_fds();
	struct call c;

	call(&c, name, port, type);
	run(&c);
	assert_int_equal(c.fd, error);
	assert_int_equal(count_fds(), before);
}

/* The call must reach this address, and leave only its socket open. */
static void expect(const char *name, uint16_t port, int type, const char *address)
{
	size_t before = count_fds();
	int nodelay = 0;
	socklen_t len = sizeof(nodelay);
	struct call c;

	call(&c, name, port, type);
	run(&c);
	assert_true(c.fd >= 0);
	assert_int_equal(count_fds(), before + 1);
	assert_string_equal(text_of(&c.dial.address), address);
	assert_int_equal(fcntl(c.fd, F_GETFD), FD_CLOEXEC);
	assert_true(fcntl(c.fd, F_GETFL) & O_NONBLOCK);
	if (type == SOCK_STREAM) {
		assert_int_equal(getsockopt(c.fd, IPPROTO_TCP, TCP_NODELAY, &nodelay, &len), 0);
		assert_int_equal(nodelay, 1);
	}
	(void)close(c.fd);
	free(c.dial.aliases);
}

/* Reaching. */

static void test_name(void **state)
{
	uint16_t port;
	auto_fd listener = bound("127.0.0.1", 0, SOCK_STREAM, &port);

	(void)state;
	expect_error("four.test", port, SOCK_STREAM, -ECONNREFUSED);
	assert_int_equal(listen(listener, 8), 0);
	expect("four.test", port, SOCK_STREAM, "127.0.0.1");
	assert_string_equal(judged, "127.0.0.1 127.0.0.1");
	assert_int_equal(judged_transport, TRANSPORT_TCP);
	expect_error("none.test", port, SOCK_STREAM, -ENOENT);
}

/* An address of this machine is judged once more, whoever led there. */
static void test_own(void **state)
{
	static const struct address a = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	uint16_t port;
	auto_fd server = bound("127.0.0.1", 0, SOCK_STREAM, &port);
	struct call c;

	(void)state;
	assert_int_equal(listen(server, 8), 0);
	refused_own = "127.0.0.1";
	expect_error("four.test", port, SOCK_STREAM, -EACCES);
	expect_error("four.test", port, SOCK_DGRAM, -EACCES);
	c = (struct call){ .dial.done = call_done };
	assert_int_equal(dial_start(&dialler, &c.dial, NULL, &a, port, SOCK_STREAM), 0);
	assert_false(c.done);
	run(&c);
	assert_int_equal(c.fd, -EACCES);
	refused_own = "127.0.0.2";
	expect("four.test", port, SOCK_STREAM, "127.0.0.1");
}

static void test_literal(void **state)
{
	static const struct address forms[] = {
		{ .bits = 32, .bytes = { 127, 0, 0, 1 } },
		{ .bits = 128, .bytes = { [10] = 0xff, 0xff, 127, 0, 0, 1 } },
	};
	uint16_t port;
	auto_fd listener = bound("127.0.0.1", 0, SOCK_STREAM, &port);

	(void)state;
	assert_int_equal(listen(listener, 8), 0);
	for (size_t i = 0; i < 2; i++) {
		struct call c = { .dial.done = call_done };

		assert_int_equal(
			dial_start(&dialler, &c.dial, NULL, &forms[i], port, SOCK_STREAM), 0);
		assert_false(c.done);
		run(&c);
		assert_true(c.fd >= 0);
		assert_string_equal(text_of(&c.dial.address), "127.0.0.1");
		(void)close(c.fd);
	}
}

static void test_families(void **state)
{
	int fds[2];
	uint16_t port;

	(void)state;
	bound_both("127.0.0.1", "::1", fds, &port);
	/* IPv6 is refused: IPv4 goes on. Then IPv6 comes first, though the file has it last. */
	assert_int_equal(listen(fds[0], 8), 0);
	expect("both.test", port, SOCK_STREAM, "127.0.0.1");
	expect_error("six.test", port, SOCK_STREAM, -ECONNREFUSED);
	assert_int_equal(listen(fds[1], 8), 0);
	expect("both.test", port, SOCK_STREAM, "::1");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* Fills the queue of a listener, whose kernel then drops who knocks. */
static void fill(int listener, uint16_t port, const char *address, int ret[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_port = htons(port) };

	(void)inet_pton(AF_INET, address, &a.sin_addr);
	assert_int_equal(listen(listener, 0), 0);
	for (int i = 0; i < 2; i++) {
		ret[i] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
		(void)connect(ret[i], (struct sockaddr *)&a, sizeof(a));
	}
}

static void test_black_hole(void **state)
{
	int fds[2], knocking[2];
	uint16_t port;
	struct call c;

	(void)state;
	bound_both("127.0.0.2", "127.0.0.1", fds, &port);
	fill(fds[0], port, "127.0.0.2", knocking);
	assert_int_equal(listen(fds[1], 8), 0);
	expect("pair.test", port, SOCK_STREAM, "127.0.0.1");
	/* Nothing but the dead one: it ends all the same. */
	refused_address = "127.0.0.1";
	dialler.timeout_ms = 30;
	expect_error("pair.test", port, SOCK_STREAM, -ETIMEDOUT);
	/* Given up half way, long before its time is over. */
	dialler.timeout_ms = 60000;
	call(&c, "pair.test", port, SOCK_STREAM);
	while (!strstr(judged, "127.0.0.1 127.0.0.2 127.0.0.1"))
		assert_int_equal(loop_turn(loop, 0), 0);
	dial_cancel(&dialler, &c.dial);
	dial_cancel(&dialler, &c.dial);
	assert_false(c.done);
	for (int i = 0; i < 2; i++) {
		(void)close(fds[i]);
		(void)close(knocking[i]);
	}
}

static void test_datagram(void **state)
{
	uint16_t port;
	char text[8] = "";
	auto_fd server = bound("127.0.0.1", 0, SOCK_DGRAM, &port);
	struct call c;

	(void)state;
	expect("four.test", port, SOCK_DGRAM, "127.0.0.1");
	assert_int_equal(judged_transport, TRANSPORT_UDP);
	call(&c, "four.test", port, SOCK_DGRAM);
	run(&c);
	assert_int_equal(send(c.fd, "hello", 5, 0), 5);
	assert_int_equal(recv(server, text, sizeof(text), 0), 5);
	assert_string_equal(text, "hello");
	(void)close(c.fd);
	refused_address = "127.0.0.1";
	expect_error("four.test", port, SOCK_DGRAM, -EACCES);
}

/* Judging. */

static void test_refused(void **state)
{
	int fds[2];
	uint16_t port;
	struct call c;

	(void)state;
	bound_both("127.0.0.1", "::1", fds, &port);
	assert_int_equal(listen(fds[0], 8), 0);
	assert_int_equal(listen(fds[1], 8), 0);
	refused_address = "::1";
	expect("both.test", port, SOCK_STREAM, "127.0.0.1");
	assert_string_equal(judged, "127.0.0.1 ::1");
	call(&c, "six.test", port, SOCK_STREAM);
	run(&c);
	assert_int_equal(c.fd, -EACCES);
	assert_false(c.dial.refused.allowed);
	assert_string_equal(c.dial.refused.reason, "::1 is refused");
	(void)close(fds[0]);
	(void)close(fds[1]);
}

/* IPv4 in other clothes is judged as IPv4, and only the mapped form is dialled as such. */
static void test_plain_forms(void **state)
{
	uint16_t port;
	auto_fd listener = bound("127.0.0.1", 0, SOCK_STREAM, &port);

	(void)state;
	assert_int_equal(listen(listener, 8), 0);
	expect("mapped.test", port, SOCK_STREAM, "127.0.0.1");
	assert_string_equal(judged, "127.0.0.1 127.0.0.1");
	refused_address = "127.0.0.1";
	expect_error("mapped.test", port, SOCK_STREAM, -EACCES);
	judged[0] = '\0';
	expect_error("nat64.test", port, SOCK_STREAM, -EACCES);
	assert_string_equal(judged, "127.0.0.1");
}

static void test_alias(void **state)
{
	uint16_t port;
	auto_fd listener = bound("127.0.0.1", 0, SOCK_STREAM, &port);
	struct call c;

	(void)state;
	assert_int_equal(listen(listener, 8), 0);
	expect("alias.test", port, SOCK_STREAM, "127.0.0.1");
	assert_string_equal(judged, "other.test 127.0.0.1");
	refused_alias = "other.test";
	call(&c, "alias.test", port, SOCK_STREAM);
	run(&c);
	assert_int_equal(c.fd, -EACCES);
	assert_string_equal(c.dial.refused.reason, "other.test is refused");
	/* No address was looked at. */
	assert_string_equal(judged, "other.test 127.0.0.1 other.test");
}

/* Another policy: the address and all names on the way are judged again. */
static void test_review(void **state)
{
	const struct destination d = { .name = "alias.test", .port = 1 };
	struct net_judgement j;
	uint16_t port;
	auto_fd listener = bound("127.0.0.1", 0, SOCK_STREAM, &port);
	struct call c;

	(void)state;
	assert_int_equal(listen(listener, 8), 0);
	call(&c, "alias.test", port, SOCK_STREAM);
	run(&c);
	assert_true(c.fd >= 0);
	assert_memory_equal(c.dial.aliases, "other.test\0", 12);
	judged[0] = '\0';
	assert_true(dial_review(&dialler, &d, &c.dial.address, c.dial.aliases, &j));
	assert_string_equal(judged, "other.test 127.0.0.1");
	refused_alias = "other.test";
	assert_false(dial_review(&dialler, &d, &c.dial.address, c.dial.aliases, &j));
	assert_true(dial_review(&dialler, &d, &c.dial.address, NULL, &j));
	refused_address = "127.0.0.1";
	assert_false(dial_review(&dialler, &d, &c.dial.address, NULL, &j));
	refused_address = NULL;
	refused_own = "127.0.0.1";
	assert_false(dial_review(&dialler, &d, &c.dial.address, NULL, &j));
	(void)close(c.fd);
	free(c.dial.aliases);
}

/* Ends. */

static void test_cancelled(void **state)
{
	struct address a = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	size_t before = count_fds();
	struct call c;

	(void)state;
	call(&c, "alias.test", 1, SOCK_STREAM);
	dial_cancel(&dialler, &c.dial);
	call(&c, "alias.test", 1, SOCK_STREAM);
	assert_int_equal(loop_turn(loop, -1), 0);
	dial_cancel(&dialler, &c.dial);
	c = (struct call){ .dial.done = call_done };
	assert_int_equal(dial_start(&dialler, &c.dial, NULL, &a, 1, SOCK_STREAM), 0);
	dial_cancel(&dialler, &c.dial);
	assert_int_equal(count_fds(), before);
	for (int i = 0; i < 3; i++)
		assert_int_equal(loop_turn(loop, 0), 0);
	assert_false(c.done);
}

static void free_call(struct dial *d, int fd)
{
	struct call *c = container_of(d, struct call, dial);

	assert_int_equal(fd, -EACCES);
	free(c);
	refused_address = NULL;
}

static void test_freed_when_done(void **state)
{
	struct call *c = calloc(1, sizeof(*c));

	(void)state;
	assert_non_null(c);
	c->dial.done = free_call;
	refused_address = "127.0.0.1";
	assert_int_equal(dial_start(&dialler, &c->dial, "four.test", NULL, 1, SOCK_STREAM), 0);
	while (refused_address)
		assert_int_equal(loop_turn(loop, -1), 0);
}

static void test_bad(void **state)
{
	struct call c = { .dial.done = call_done };
	char name[HOST_NAME_BYTES + 1];

	(void)state;
	memset(name, 'a', HOST_NAME_BYTES);
	name[HOST_NAME_BYTES] = '\0';
	assert_int_equal(dial_start(&dialler, &c.dial, name, NULL, 1, SOCK_STREAM), -EINVAL);
	assert_int_equal(dial_start(&dialler, &c.dial, NULL, NULL, 1, SOCK_STREAM), -EINVAL);
	for (int i = 0; i < 2; i++) {
		failing_start(i);
		assert_int_equal(
			dial_start(&dialler, &c.dial, "none.test", NULL, 1, SOCK_STREAM), -ENOMEM);
		failing_stop();
		assert_null(c.dial.state);
		dial_cancel(&dialler, &c.dial);
	}
}

/* Runs it in a child with a network of its own. */
static void expect_alone(int (*run_alone)(void))
{
	pid_t child = fork();
	int status;

	assert_true(child >= 0);
	if (child == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 ? 1 : run_alone());
	assert_int_equal(waitpid(child, &status, 0), child);
	assert_int_equal(status, 0);
}

/* In a network of its own, whose kernel has one port to choose from: the one that is dialled. */
static int connect_to_self(void)
{
	static const char range[] = "40000 40000";
	struct address a = { .bits = 32, .bytes = { 127, 0, 0, 1 } };
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	auto_fd file = open("/proc/sys/net/ipv4/ip_local_port_range", O_WRONLY | O_CLOEXEC);
	int types[] = { SOCK_STREAM, SOCK_DGRAM };

	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0 || write(file, range, sizeof(range) - 1) < 0)
		return 2;
	for (int i = 0; i < 2; i++) {
		struct call c = { .dial.done = call_done };

		if (dial_start(&dialler, &c.dial, NULL, &a, 40000, types[i]) < 0)
			return 3;
		while (!c.done)
			if (loop_turn(loop, -1) < 0)
				return 4;
		if (c.fd != -ECONNREFUSED)
			return 5 + i;
	}
	return 0;
}

static void test_connected_to_self(void **state)
{
	(void)state;
	expect_alone(connect_to_self);
}

/* No way to IPv6 at all: the other family follows at once, and its error is the one that counts. */
static int without_ipv6(void)
{
	struct ifreq lo = { .ifr_name = "lo", .ifr_flags = IFF_UP };
	auto_fd fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	struct call c = { .dial.done = call_done };

	if (ioctl(fd, SIOCSIFFLAGS, &lo) < 0)
		return 2;
	if (dial_start(&dialler, &c.dial, "nowhere.test", NULL, 40000, SOCK_STREAM) < 0)
		return 3;
	while (!c.done)
		if (loop_turn(loop, -1) < 0)
			return 4;
	return c.fd == -ECONNREFUSED ? 0 : 5;
}

static void test_no_route(void **state)
{
	(void)state;
	expect_alone(without_ipv6);
}

static bool has_namespaces(void)
{
	pid_t child = fork();
	int status;

	if (child == 0)
		_exit(unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0);
	return waitpid(child, &status, 0) == child && status == 0;
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_name),
		TEST(test_literal),
		TEST(test_own),
		TEST(test_families),
		TEST(test_black_hole),
		TEST(test_datagram),
		TEST(test_refused),
		TEST(test_plain_forms),
		TEST(test_alias),
		TEST(test_review),
		TEST(test_cancelled),
		TEST(test_freed_when_done),
		TEST(test_bad),
		TEST(test_connected_to_self),
		TEST(test_no_route),
	};

	if (!has_namespaces()) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
