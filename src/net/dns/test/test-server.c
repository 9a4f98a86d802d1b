/* SPDX-License-Identifier: Apache-2.0 */
/* Real sockets on loopback, a real loop, the real recorder; the test is the resolver. */
#include "policy/test/test-policy.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdlib.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "net/dns/message.h"
#include "net/dns/server.h"
#include "wire/frame.h"

/* The clock, which the test can put forward, and stop. */
static time_t ahead;
static struct timespec stands_at;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (stands_at.tv_sec)
		*ret = stands_at;
	ret->tv_sec += ahead;
	return r;
}

static const char yaml[] = "network: {allow: ['api.example.com:443', '*.wild.org', "
			   "'udp://ntp.net:123'], deny: ['bad.wild.org']}";

struct fixture {
	struct loop *loop;
	struct policy *policy;
	struct dns_names *names;
	struct synthetic *synthetic;
	struct recorder *recorder;
	struct dns_server *server;
	int records[2]; /* ours, the recorder's */
	struct sockaddr_in udp, tcp;
};

static int open_socket(int type, struct sockaddr_in *ret)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(*ret);
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (struct sockaddr *)&a, sizeof(a)), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 128), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)ret, &len), 0);
	return fd;
}

static void start(struct fixture *f, uint32_t max)
{
	struct dns_server_options o = { .udp = { -1, -1 }, .tcp = { -1, -1 } };
	struct error e = { 0 };

	*f = (struct fixture){ .policy = test_compile(yaml) };
	assert_int_equal(names_new(&f->names, f->policy, false, &e), 0);
	assert_int_equal(synthetic_new(&f->synthetic, max), 0);
	assert_int_equal(loop_new(&f->loop), 0);
	assert_int_equal(frame_pair(f->records), 0);
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(fcntl(f->records[i], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(recorder_new(&f->recorder, f->loop, f->records[1]), 0);
	o.loop = f->loop;
	o.names = f->names;
	o.synthetic = f->synthetic;
	o.recorder = f->recorder;
	o.udp[0] = open_socket(SOCK_DGRAM, &f->udp);
	o.tcp[0] = open_socket(SOCK_STREAM, &f->tcp);
	assert_int_equal(dns_server_new(&f->server, &o), 0);
}

static void stop(struct fixture *f)
{
	dns_server_free(f->server);
	recorder_free(f->recorder);
	loop_free(f->loop);
	synthetic_free(f->synthetic);
	names_free(f->names);
	policy_free(f->policy);
	(void)close(f->records[0]);
	(void)close(f->records[1]);
}

static int dial(const struct sockaddr_in *to, int type)
{
	int fd = socket(AF_INET, type | SOCK_NONBLOCK | SOCK_CLOEXEC, 0);
	int r = connect(fd, (const struct sockaddr *)to, sizeof(*to));

	assert_true(fd >= 0 && (r == 0 || errno == EINPROGRESS));
	return fd;
}

/* Lets the server work until the socket has something (or its end) for us. */
static void wait_for(struct fixture *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	while (poll(&p, 1, 0) == 0)
		assert_int_equal(loop_turn(f->loop, 1000), 0);
}

/* Asks by UDP; the length of the answer. */
static size_t ask(struct fixture *f, const uint8_t *query, size_t len, uint8_t out[512])
{
	int fd = dial(&f->udp, SOCK_DGRAM);
	ssize_t n;

	assert_int_equal(send(fd, query, len, 0), len);
	wait_for(f, fd);
	n = recv(fd, out, 512, 0);
	assert_true(n > 0);
	(void)close(fd);
	return (size_t)n;
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

static const struct {
	const char *name;
	unsigned type;
	enum dns_code code;
	const char *address; /* NULL: none */
	const char *reason;  /* of a record; NULL: none */
} cases[] = {
	{ "api.example.com", DNS_A, DNS_OK, "198.18.0.1", NULL },
	{ "api.example.com", DNS_AAAA, DNS_OK, "fd53:0:0:1::1", NULL },
	{ "x.wild.org", DNS_AAAA, DNS_OK, "fd53:0:0:1::2", NULL },
	{ "x.wild.org", DNS_A, DNS_OK, "198.18.0.2", NULL },
	{ "api.example.com", DNS_A, DNS_OK, "198.18.0.1", NULL },
	{ "ntp.net", DNS_A, DNS_OK, "198.18.0.3", NULL },
	{ "api.example.com", DNS_HTTPS, DNS_OK, NULL, NULL },
	{ "y.wild.org", DNS_SVCB, DNS_OK, NULL, NULL },
	{ "y.wild.org", DNS_TXT, DNS_OK, NULL, NULL },
	{ "y.wild.org", DNS_ANY, DNS_OK, NULL, NULL },
	/* Nothing was given for these. */
	{ "z.wild.org", DNS_A, DNS_OK, "198.18.0.4", NULL },
	{ "", DNS_NS, DNS_OK, NULL, NULL },
	{ "com", DNS_NS, DNS_OK, NULL, NULL },
	{ "example.com", DNS_A, DNS_OK, NULL, "nothing in network.allow grants it" },
	{ "evil.com", DNS_A, DNS_NO_NAME, NULL, "nothing in network.allow grants it" },
	{ "evil.com", DNS_TXT, DNS_NO_NAME, NULL, "nothing in network.allow grants it" },
	{ "bad.wild.org", DNS_A, DNS_NO_NAME, NULL, "network.deny denies bad.wild.org:*" },
	{ "db", DNS_A, DNS_NO_NAME, NULL, "nothing in network.allow grants it" },
	{ "localhost", DNS_A, DNS_OK, "127.0.0.1", NULL },
	{ "a.localhost", DNS_AAAA, DNS_OK, "::1", NULL },
	{ "localhost", DNS_TXT, DNS_OK, NULL, NULL },
	{ "xlocalhost", DNS_A, DNS_NO_NAME, NULL, "nothing in network.allow grants it" },
	{ "1.0.0.127.in-addr.arpa", 12, DNS_NO_NAME, NULL, NULL },
	{ "1.0.ip6.arpa", 12, DNS_NO_NAME, NULL, NULL },
};

static void check_record(struct fixture *f, const char *name, const char *reason)
{
	struct record r;
	bool told = next_record(f, &r);

	if (told != (reason != NULL))
		fail_msg("%s: %s", name, told ? r.reason : "no record");
	if (!told)
		return;
	assert_int_equal(r.kind, RECORD_DENIED);
	assert_true(r.dns);
	assert_string_equal(r.target, name);
	assert_string_equal(r.name, name);
	assert_string_equal(r.reason, reason);
	assert_true(strlen(r.remedy) > 0);
}

static void check_answer(const struct dns_answer *a, const char *name, unsigned type,
	enum dns_code code, const char *want)
{
	struct address address = { .bits = type == DNS_A ? 32 : 128 }, expected;

	if (a->code != code || a->n_addresses != (want != NULL))
		fail_msg("%s %u: %d, %zu", name, type, a->code, a->n_addresses);
	if (!want)
		return;
	memcpy(address.bytes, a->addresses[0], 16);
	assert_int_equal(address_parse(want, strlen(want), &expected), 0);
	assert_true(address_equal(&address, &expected));
	assert_int_equal(a->ttl, 60);
}

static void test_answers(void **state)
{
	struct fixture f;

	(void)state;
	start(&f, 0);
	for (size_t i = 0; i < ROWS(cases); i++) {
		uint8_t query[512], reply[512];
		struct dns_answer a;
		size_t n = dns_query_write((uint16_t)i, cases[i].name, cases[i].type, query, 512);

		n = ask(&f, query, n, reply);
		assert_int_equal(
			dns_answer_parse(&a, (uint16_t)i, cases[i].name, cases[i].type, reply, n),
			0);
		check_answer(&a, cases[i].name, cases[i].type, cases[i].code, cases[i].address);
		/* The recorder tells the same again only after a while. */
		if (i > 0 && strcmp(cases[i].name, cases[i - 1].name) == 0 && cases[i].reason)
			(void)next_record(&f, &(struct record){ 0 });
		else
			check_record(&f, cases[i].name, cases[i].reason);
	}
	stop(&f);
}

/* What is no question about a host. */
static void test_answers_the_rest(void **state)
{
	static const struct {
		const char *query;
		size_t len;
		int code;
		const char *target; /* of the record */
	} rows[] = {
#define QUERY(bytes) bytes, sizeof(bytes) - 1
		{ QUERY("\x12\x34\x01\0\0\1\0\0\0\0\0\0\7version\4bind\0\0\x10\0\3"), DNS_REFUSED,
			NULL },
		{ QUERY("\x12\x34\x28\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"), DNS_NOT_IMPLEMENTED, NULL },
		{ QUERY("\x12\x34\x01\0\0\0\0\0\0\0\0\0"), DNS_FORMAT_ERROR, NULL },
		{ QUERY("\x12\x34\x01\0\0\1\0\0\0\0\0\0\3a b\4wild\3org\0\0\1\0\1"), DNS_NO_NAME,
			"a b.wild.org" },
		{ QUERY("\x12\x34\x01\0\0\1\0\0\0\0\0\0\2a\1\3org\0\0\1\0\1"), DNS_NO_NAME,
			"a\\x01.org" },
		{ QUERY("\x12\x34\x81\0\0\1\0\0\0\0\0\0\1a\0\0\1\0\1"), -1, NULL },
		{ QUERY("\x12\x34"), -1, NULL },
		{ QUERY(""), -1, NULL },
	};
	struct fixture f;

	(void)state;
	start(&f, 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		uint8_t out[512];
		size_t n = dns_server_answer(
			f.server, (const uint8_t *)rows[i].query, rows[i].len, out, sizeof(out));
		struct record r;

		assert_int_equal(n > 0, rows[i].code >= 0);
		if (n > 0)
			assert_int_equal(out[3] & 15, rows[i].code);
		assert_int_equal(next_record(&f, &r), rows[i].target != NULL);
		if (rows[i].target)
			assert_string_equal(r.target, rows[i].target);
	}
	stop(&f);
}

static void test_tells_when_addresses_are_used_up(void **state)
{
	struct fixture f;
	uint8_t query[512], reply[512];
	struct dns_answer a;
	struct record r;
	size_t n;

	(void)state;
	start(&f, 1);
	n = dns_query_write(1, "a.wild.org", DNS_A, query, sizeof(query));
	(void)ask(&f, query, n, reply);
	assert_false(next_record(&f, &r));
	n = dns_query_write(1, "b.wild.org", DNS_A, query, sizeof(query));
	n = ask(&f, query, n, reply);
	assert_int_equal(dns_answer_parse(&a, 1, "b.wild.org", DNS_A, reply, n), 0);
	assert_int_equal(a.code, DNS_SERVER_FAILURE);
	assert_true(next_record(&f, &r));
	assert_int_equal(r.kind, RECORD_FAILED);
	assert_string_equal(r.target, "b.wild.org");
	stop(&f);
}

/* TCP */

static size_t frame_query(uint16_t id, const char *name, uint8_t *out)
{
	size_t n = dns_query_write(id, name, DNS_A, out + 2, 512);

	out[0] = (uint8_t)(n >> 8);
	out[1] = (uint8_t)n;
	return n + 2;
}

static void read_exactly(struct fixture *f, int fd, uint8_t *out, size_t len)
{
	for (size_t at = 0; at < len;) {
		ssize_t n;

		wait_for(f, fd);
		n = recv(fd, out + at, len - at, 0);
		assert_true(n > 0);
		at += (size_t)n;
	}
}

static void expect_answer(struct fixture *f, int fd, uint16_t id, const char *name)
{
	uint8_t reply[512];
	struct dns_answer a;
	size_t n;

	read_exactly(f, fd, reply, 2);
	n = (size_t)reply[0] << 8 | reply[1];
	assert_true(n <= sizeof(reply));
	read_exactly(f, fd, reply, n);
	assert_int_equal(dns_answer_parse(&a, id, name, DNS_A, reply, n), 0);
	assert_int_equal(a.n_addresses, 1);
}

static void expect_end(struct fixture *f, int fd)
{
	uint8_t byte;

	wait_for(f, fd);
	assert_true(recv(fd, &byte, 1, 0) <= 0);
}

/* Byte by byte, and many at once. */
static void test_tcp(void **state)
{
	uint8_t query[4096];
	struct fixture f;
	size_t n = frame_query(7, "api.example.com", query);
	int fd;

	(void)state;
	start(&f, 0);
	fd = dial(&f.tcp, SOCK_STREAM);
	for (size_t i = 0; i < n; i++) {
		assert_int_equal(send(fd, query + i, 1, MSG_NOSIGNAL), 1);
		assert_int_equal(loop_turn(f.loop, 0), 0);
	}
	expect_answer(&f, fd, 7, "api.example.com");
	n = 0;
	for (uint16_t i = 0; i < 50; i++)
		n += frame_query(i, "a.wild.org", query + n);
	assert_int_equal(send(fd, query, n, MSG_NOSIGNAL), n);
	for (uint16_t i = 0; i < 50; i++)
		expect_answer(&f, fd, i, "a.wild.org");
	(void)close(fd);
	stop(&f);
}

/* Too long, and no query at all: the connection is closed. */
static void test_tcp_closes_on_nonsense(void **state)
{
	static const char *const nonsense[] = { "\xff\xff", "\x08\x01", "\0\2ab" };
	static const size_t lengths[] = { 2, 2, 4 };
	struct fixture f;

	(void)state;
	start(&f, 0);
	for (size_t i = 0; i < ROWS(nonsense); i++) {
		int fd = dial(&f.tcp, SOCK_STREAM);

		assert_int_equal(send(fd, nonsense[i], lengths[i], MSG_NOSIGNAL), lengths[i]);
		expect_end(&f, fd);
		(void)close(fd);
	}
	stop(&f);
}

/* Those beyond the bound wait, and are served when others have gone. */
static void test_tcp_bounds_connections(void **state)
{
	enum { MANY = 70, SERVED = 64 };
	uint8_t query[600];
	struct fixture f;
	size_t n = frame_query(7, "api.example.com", query);
	int fds[MANY];

	(void)state;
	start(&f, 0);
	for (int i = 0; i < MANY; i++) {
		fds[i] = dial(&f.tcp, SOCK_STREAM);
		assert_int_equal(send(fds[i], query, n, MSG_NOSIGNAL), n);
	}
	for (int i = 0; i < SERVED; i++)
		expect_answer(&f, fds[i], 7, "api.example.com");
	assert_int_equal(loop_turn(f.loop, 0), 0);
	for (int i = SERVED; i < MANY; i++) {
		struct pollfd p = { .fd = fds[i], .events = POLLIN };

		assert_int_equal(poll(&p, 1, 0), 0);
	}
	for (int i = 0; i < SERVED; i++)
		(void)close(fds[i]);
	for (int i = SERVED; i < MANY; i++) {
		expect_answer(&f, fds[i], 7, "api.example.com");
		(void)close(fds[i]);
	}
	stop(&f);
}

/* Asks and never reads: it is not served any more once its buffers are full, and others are. */
static void test_tcp_slow_reader(void **state)
{
	uint8_t query[600];
	struct fixture f;
	size_t n = frame_query(7, "api.example.com", query);
	int slow, other, small = 4096, idle = 0;

	(void)state;
	start(&f, 0);
	slow = dial(&f.tcp, SOCK_STREAM);
	assert_int_equal(setsockopt(slow, SOL_SOCKET, SO_RCVBUF, &small, sizeof(small)), 0);
	while (idle < 100) {
		ssize_t sent = send(slow, query, n, MSG_NOSIGNAL);

		assert_int_equal(loop_turn(f.loop, 0), 0);
		idle = sent == (ssize_t)n ? 0 : idle + 1;
		if (sent > 0 && sent < (ssize_t)n)
			break;
	}
	other = dial(&f.tcp, SOCK_STREAM);
	assert_int_equal(send(other, query, n, MSG_NOSIGNAL), n);
	expect_answer(&f, other, 7, "api.example.com");
	(void)close(other);
	(void)close(slow);
	stop(&f);
}

static bool is_open(struct fixture *f, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(loop_turn(f->loop, 0), 0);
	return poll(&p, 1, 0) == 0;
}

/* Ten seconds without a whole query; pieces of one do not count. */
static void test_tcp_idle(void **state)
{
	uint8_t query[600];
	struct fixture f;
	size_t n = frame_query(7, "api.example.com", query);
	int fd;

	(void)state;
	assert_int_equal(__real_clock_gettime(CLOCK_MONOTONIC, &stands_at), 0);
	start(&f, 0);
	fd = dial(&f.tcp, SOCK_STREAM);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(send(fd, query, n, MSG_NOSIGNAL), n);
		expect_answer(&f, fd, 7, "api.example.com");
		ahead += 8;
		assert_true(is_open(&f, fd));
	}
	assert_int_equal(send(fd, query, 5, MSG_NOSIGNAL), 5);
	assert_true(is_open(&f, fd));
	ahead += 3;
	expect_end(&f, fd);
	(void)close(fd);
	stop(&f);
	stands_at = (struct timespec){ 0 };
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_answers_the_rest),
		cmocka_unit_test(test_tells_when_addresses_are_used_up),
		cmocka_unit_test(test_tcp),
		cmocka_unit_test(test_tcp_closes_on_nonsense),
		cmocka_unit_test(test_tcp_bounds_connections),
		cmocka_unit_test(test_tcp_slow_reader),
		cmocka_unit_test(test_tcp_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
