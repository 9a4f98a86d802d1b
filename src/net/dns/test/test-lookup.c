/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Against real servers on the loopback interface, which live in the same loop and do as each test
 * says. The clock is moved forward where time must pass.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "net/dns/internal.h"
#include "net/dns/lookup.h"
#include "test/failing.h"
#include "test/fds.h"

/* The linker sends these here (--wrap). */

/* The clock can be put forward; and it can stand, where a slow machine would decide otherwise. */
static time_t ahead_s;
static struct timespec stands_at;

int __real_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	int r = __real_clock_gettime(clock, ret);

	if (stands_at.tv_sec)
		*ret = stands_at;
	ret->tv_sec += ahead_s;
	return r;
}

static void stop_clock(void)
{
	assert_int_equal(__real_clock_gettime(CLOCK_MONOTONIC, &stands_at), 0);
}

FAILING_MALLOC
FAILING_CALLOC
FAILING_REALLOC

/* A DNS server. */

enum { SERVERS = 3, HEADER = 12 };

struct message {
	struct server *server;
	bool by_stream;
	int fd;
	struct sockaddr_storage from;
	socklen_t from_len;
	char name[DNS_NAME_BYTES];
	uint16_t type;
	size_t question; /* the length of header and question */
	uint8_t bytes[DNS_MESSAGE_MAX];
	size_t len;
};

struct server {
	struct watcher datagrams, streams;
	uint16_t port;
	unsigned asked, streamed; /* how often by UDP, by TCP */
	void (*answer)(struct message *m);
};

static struct loop *loop;
static struct lookup *lookup;
static struct lookup_config config;
static struct server servers[SERVERS];
static size_t open_fds;

static void put16(struct message *m, unsigned value)
{
	m->bytes[m->len++] = (uint8_t)(value >> 8);
	m->bytes[m->len++] = (uint8_t)value;
}

static void put_name(struct message *m, const char *name)
{
	while (*name) {
		size_t n = strcspn(name, ".");

		m->bytes[m->len++] = (uint8_t)n;
		memcpy(m->bytes + m->len, name, n);
		m->len += n;
		name += n + (name[n] == '.');
	}
	m->bytes[m->len++] = 0;
}

static void read_question(struct message *m)
{
	size_t at = HEADER, out = 0;

	assert_true(m->len > HEADER);
	assert_int_equal(m->bytes[5], 1);
	while (m->bytes[at]) {
		size_t n = m->bytes[at++];

		assert_true(at + n < m->len && out + n + 1 < sizeof(m->name));
		memcpy(m->name + out, m->bytes + at, n);
		out += n;
		m->name[out++] = '.';
		at += n;
	}
	m->name[out ? out - 1 : 0] = '\0';
	m->type = (uint16_t)(m->bytes[at + 1] << 8 | m->bytes[at + 2]);
	m->question = at + 5;
	assert_true(m->question <= m->len);
}

/* Turns the question into an answer without records. */
static void reply(struct message *m, unsigned code)
{
	m->bytes[2] = 0x81;
	m->bytes[3] = (uint8_t)(0x80 | code);
	memset(m->bytes + 6, 0, 6);
	m->len = m->question;
}

static void add_record(struct message *m, const char *owner, unsigned type, unsigned ttl)
{
	m->bytes[7]++;
	put_name(m, owner);
	put16(m, type);
	put16(m, 1);
	put16(m, ttl >> 16);
	put16(m, ttl & 0xffff);
}

static void add_address(struct message *m, const char *owner, const char *text, unsigned ttl)
{
	uint8_t bytes[16];
	bool v6 = strchr(text, ':');
	size_t len = v6 ? 16 : 4;

	assert_int_equal(inet_pton(v6 ? AF_INET6 : AF_INET, text, bytes), 1);
	add_record(m, owner, v6 ? DNS_AAAA : DNS_A, ttl);
	put16(m, (unsigned)len);
	memcpy(m->bytes + m->len, bytes, len);
	m->len += len;
}

static void add_alias(struct message *m, const char *owner, const char *target, unsigned ttl)
{
	size_t length_at;

	add_record(m, owner, DNS_CNAME, ttl);
	length_at = m->len;
	put16(m, 0);
	put_name(m, target);
	m->bytes[length_at + 1] = (uint8_t)(m->len - length_at - 2);
}

static void send_from(const struct message *m, int fd)
{
	assert_int_equal(
		sendto(fd, m->bytes, m->len, 0, (const struct sockaddr *)&m->from, m->from_len),
		m->len);
}

static void send_reply(const struct message *m)
{
	uint8_t prefix[2] = { (uint8_t)(m->len >> 8), (uint8_t)m->len };

	if (!m->by_stream) {
		send_from(m, m->fd);
		return;
	}
	/* In pieces, as a network may deliver it. */
	assert_int_equal(send(m->fd, prefix, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(send(m->fd, prefix + 1, 1, MSG_NOSIGNAL), 1);
	assert_int_equal(send(m->fd, m->bytes, 7, MSG_NOSIGNAL), 7);
	assert_int_equal(send(m->fd, m->bytes + 7, m->len - 7, MSG_NOSIGNAL), m->len - 7);
}

static struct message current;

static void datagram_came(struct watcher *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, datagrams);
	ssize_t n;

	(void)events;
	current = (struct message){ .server = s, .fd = w->fd, .from_len = sizeof(current.from) };
	n = recvfrom(w->fd, current.bytes, sizeof(current.bytes), 0,
		(struct sockaddr *)&current.from, &current.from_len);
	assert_true(n > 0);
	current.len = (size_t)n;
	s->asked++;
	read_question(&current);
	s->answer(&current);
}

/* Two streams at most: one for each family. */
static struct stream {
	struct watcher watcher;
	struct server *server;
} streams[2 * SERVERS];

static void stream_ready(struct watcher *w, uint32_t events)
{
	struct stream *t = container_of(w, struct stream, watcher);
	auto_fd fd = w->fd;
	uint8_t prefix[2];

	(void)events;
	loop_remove(loop, w);
	current = (struct message){ .server = t->server, .fd = fd, .by_stream = true };
	assert_int_equal(recv(fd, prefix, sizeof(prefix), MSG_WAITALL), sizeof(prefix));
	current.len = (size_t)(prefix[0] << 8 | prefix[1]);
	assert_int_equal(recv(fd, current.bytes, current.len, MSG_WAITALL), current.len);
	read_question(&current);
	t->server->answer(&current);
}

static void stream_came(struct watcher *w, uint32_t events)
{
	struct server *s = container_of(w, struct server, streams);
	struct stream *t = streams;
	int fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC);

	(void)events;
	assert_true(fd >= 0);
	s->streamed++;
	while (t < streams + 2 * SERVERS && t->watcher.fd >= 0)
		t++;
	assert_true(t < streams + 2 * SERVERS);
	*t = (struct stream){ .watcher.ready = stream_ready, .server = s };
	assert_int_equal(loop_add(loop, &t->watcher, fd, EPOLLIN), 0);
}

/* A socket for each of UDP and TCP, on the same port of the loopback address. */
static void server_open(struct server *s, bool v6)
{
	struct sockaddr_in6 six = { .sin6_family = AF_INET6, .sin6_addr = IN6ADDR_LOOPBACK_INIT };
	struct sockaddr_in four = { .sin_family = AF_INET };
	struct sockaddr *a = v6 ? (struct sockaddr *)&six : (struct sockaddr *)&four;
	socklen_t len = v6 ? sizeof(six) : sizeof(four);
	int tcp, udp, tries = 100;

	four.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	do {
		four.sin_port = six.sin6_port = 0;
		tcp = socket(a->sa_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
		assert_int_equal(bind(tcp, a, len), 0);
		assert_int_equal(listen(tcp, 16), 0);
		assert_int_equal(getsockname(tcp, a, &len), 0);
		udp = socket(a->sa_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
		if (bind(udp, a, len) == 0)
			break;
		(void)close(udp);
		(void)close(tcp);
	} while (--tries > 0);
	assert_true(tries > 0);
	s->port = ntohs(v6 ? six.sin6_port : four.sin_port);
	s->datagrams.ready = datagram_came;
	s->streams.ready = stream_came;
	assert_int_equal(loop_add(loop, &s->datagrams, udp, EPOLLIN), 0);
	assert_int_equal(loop_add(loop, &s->streams, tcp, EPOLLIN), 0);
}

static void watcher_close(struct watcher *w)
{
	auto_fd fd = w->fd;

	loop_remove(loop, w);
}

/* The world of a test. */

static int setup(void **state)
{
	(void)state;
	open_fds = count_fds();
	ahead_s = 0;
	stands_at = (struct timespec){ 0 };
	config = (struct lookup_config){ .timeout_ms = 60 * 1000, .attempts = 2 };
	memset(servers, 0, sizeof(servers));
	for (size_t i = 0; i < SERVERS; i++)
		servers[i].datagrams.fd = servers[i].streams.fd = -1;
	for (size_t i = 0; i < 2 * SERVERS; i++)
		streams[i].watcher.fd = -1;
	return loop_new(&loop) < 0 || lookup_new(&lookup, loop, &config) < 0;
}

static int teardown(void **state)
{
	(void)state;
	lookup_free(lookup);
	lookup = NULL;
	for (size_t i = 0; i < SERVERS; i++) {
		watcher_close(&servers[i].datagrams);
		watcher_close(&servers[i].streams);
	}
	for (size_t i = 0; i < 2 * SERVERS; i++)
		watcher_close(&streams[i].watcher);
	loop_free(loop);
	lookup_config_deinit(&config);
	/* Nothing was left open. */
	return count_fds() != open_fds;
}

static struct server *add_server(void (*answer)(struct message *m))
{
	struct server *s = &servers[config.n_servers];

	server_open(s, false);
	s->answer = answer;
	config.servers[config.n_servers++] = (struct lookup_server){
		.address = { .bits = 32, .bytes = { 127, 0, 0, 1 } },
		.port = s->port,
	};
	return s;
}

struct asker {
	struct lookup_wait wait;
	bool done;
	struct lookup_result result;
	char chain[2 * DNS_CHAIN_MAX][DNS_NAME_BYTES];
};

static void asker_done(struct lookup_wait *w, const struct lookup_result *r)
{
	struct asker *a = container_of(w, struct asker, wait);

	assert_false(a->done);
	assert_null(w->query);
	a->done = true;
	a->result = *r;
	for (size_t i = 0; i < r->n_chain; i++)
		(void)snprintf(a->chain[i], sizeof(a->chain[i]), "%s", r->chain[i]);
}

static void ask(struct asker *a, const char *name)
{
	*a = (struct asker){ .wait.done = asker_done };
	assert_int_equal(lookup_ask(lookup, name, &a->wait), 0);
	assert_false(a->done);
}

static void run(struct asker *a)
{
	while (!a->done)
		assert_int_equal(loop_turn(loop, -1), 0);
}

static struct asker asker;

/* Asks, and expects these addresses in this order, with spaces between. */
static void expect(const char *name, const char *addresses)
{
	char got[2048] = "";

	ask(&asker, name);
	run(&asker);
	assert_int_equal(asker.result.error, 0);
	for (size_t i = 0; i < asker.result.n; i++) {
		const struct address *a = &asker.result.addresses[i];
		char text[INET6_ADDRSTRLEN];
		size_t len;

		(void)inet_ntop(a->bits == 32 ? AF_INET : AF_INET6, a->bytes, text, sizeof(text));
		len = strlen(got);
		(void)snprintf(got + len, sizeof(got) - len, "%s%s", i > 0 ? " " : "", text);
	}
	assert_string_equal(got, addresses);
}

static void expect_error(const char *name, int error)
{
	ask(&asker, name);
	run(&asker);
	assert_int_equal(asker.result.error, error);
	assert_int_equal(asker.result.n, 0);
}

/* What servers do. */

static unsigned reply_ttl;

static void with_both(struct message *m)
{
	reply(m, DNS_OK);
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.1" : "2001:db8::1", reply_ttl);
	send_reply(m);
}

static void with_nothing(struct message *m)
{
	(void)m;
}

static void with_code(struct message *m, unsigned code)
{
	reply(m, code);
	send_reply(m);
}

static void with_failure(struct message *m)
{
	with_code(m, DNS_SERVER_FAILURE);
}

static void with_refusal(struct message *m)
{
	with_code(m, DNS_REFUSED);
}

static void with_no_name(struct message *m)
{
	with_code(m, DNS_NO_NAME);
}

static void with_no_data(struct message *m)
{
	with_code(m, DNS_OK);
}

static void with_ipv4_only(struct message *m)
{
	if (m->type == DNS_A)
		with_both(m);
	else
		with_no_data(m);
}

static void with_ipv4_and_no_name(struct message *m)
{
	if (m->type == DNS_A)
		with_both(m);
	else
		with_no_name(m);
}

static void with_ipv4_and_silence(struct message *m)
{
	if (m->type == DNS_A)
		with_both(m);
}

static void with_ipv6_and_silence(struct message *m)
{
	if (m->type == DNS_AAAA)
		with_both(m);
}

static void with_ipv4_and_failure(struct message *m)
{
	if (m->type == DNS_A)
		with_both(m);
	else
		with_failure(m);
}

/* Answers. */

static void test_both_families(void **state)
{
	struct server *s = add_server(with_both);

	(void)state;
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 2);
	assert_int_equal(s->streamed, 0);
	assert_int_equal(asker.result.n_chain, 0);
}

static void test_ipv6_server(void **state)
{
	(void)state;
	server_open(&servers[0], true);
	servers[0].answer = with_both;
	config.servers[config.n_servers++] = (struct lookup_server){
		.address = { .bits = 128, .bytes = { [15] = 1 } },
		.port = servers[0].port,
	};
	expect("host.example", "2001:db8::1 192.0.2.1");
}

static void test_one_family(void **state)
{
	static void (*const answers[])(struct message *) = { with_ipv4_only, with_ipv4_and_no_name,
		with_ipv4_and_failure, with_ipv4_and_silence };

	(void)state;
	add_server(NULL);
	for (size_t i = 0; i < ROWS(answers); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "host%zu.example", i);
		servers[0].answer = answers[i];
		expect(name, "192.0.2.1");
	}
	servers[0].answer = with_ipv6_and_silence;
	expect("six.example", "2001:db8::1");
}

static void test_nothing(void **state)
{
	(void)state;
	stop_clock();
	add_server(with_no_name);
	expect_error("none.example", -ENOENT);
	servers[0].answer = with_no_data;
	expect_error("empty.example", -ENODATA);
	/* Kept for a while. */
	servers[0].answer = with_both;
	expect_error("none.example", -ENOENT);
	expect_error("empty.example", -ENODATA);
	assert_int_equal(servers[0].asked, 4);
	ahead_s += 6;
	assert_int_equal(loop_turn(loop, 0), 0);
	expect("none.example", "2001:db8::1 192.0.2.1");
}

static void with_many(struct message *m)
{
	reply(m, DNS_OK);
	for (int i = 1; i <= 20; i++) {
		char text[32];

		(void)snprintf(
			text, sizeof(text), m->type == DNS_A ? "192.0.2.%d" : "2001:db8::%d", i);
		add_address(m, m->name, text, 60);
	}
	if (!m->by_stream) {
		m->bytes[2] |= 2; /* cut off */
		m->len = m->question;
		m->bytes[7] = 0;
	}
	send_reply(m);
}

static void test_truncated(void **state)
{
	struct server *s = add_server(with_many);
	size_t six = 0;

	(void)state;
	ask(&asker, "many.example");
	run(&asker);
	assert_int_equal(asker.result.error, 0);
	assert_int_equal(s->asked, 2);
	assert_int_equal(s->streamed, 2);
	/* Neither family leaves out the other. */
	assert_int_equal(asker.result.n, LOOKUP_ADDRESSES_MAX);
	for (size_t i = 0; i < asker.result.n; i++)
		six += asker.result.addresses[i].bits == 128;
	assert_int_equal(six, LOOKUP_ADDRESSES_MAX / 2);
}

static void with_broken_stream(struct message *m)
{
	reply(m, DNS_OK);
	m->bytes[2] |= 2;
	if (!m->by_stream)
		send_reply(m);
	/* By TCP: half a length, and the end; or a length of 0; or another id. */
	else if (m->server->streamed == 1)
		assert_int_equal(send(m->fd, "\0", 1, MSG_NOSIGNAL), 1);
	else if (m->server->streamed == 2)
		assert_int_equal(send(m->fd, "\0\0", 2, MSG_NOSIGNAL), 2);
	else if (m->server->streamed == 3) {
		m->bytes[0] ^= 1;
		send_reply(m);
	}
}

static void test_broken_stream(void **state)
{
	struct server *s = add_server(with_broken_stream);

	(void)state;
	expect_error("broken.example", -EIO);
	assert_int_equal(s->asked, 4);
	assert_int_equal(s->streamed, 4);
}

/* The cache. */

static void test_kept(void **state)
{
	struct server *s = add_server(with_both);

	(void)state;
	stop_clock();
	reply_ttl = 3600;
	expect("host.example", "2001:db8::1 192.0.2.1");
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 2);
	ahead_s += 58;
	assert_int_equal(loop_turn(loop, 0), 0);
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 2);
	/* Never longer than a minute. */
	ahead_s += 3;
	assert_int_equal(loop_turn(loop, 0), 0);
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 4);
	/* Nor longer than its time. */
	reply_ttl = 10;
	expect("other.example", "2001:db8::1 192.0.2.1");
	ahead_s += 11;
	assert_int_equal(loop_turn(loop, 0), 0);
	expect("other.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 8);
}

static void test_not_kept(void **state)
{
	struct server *s = add_server(with_both);

	(void)state;
	reply_ttl = 0;
	expect("host.example", "2001:db8::1 192.0.2.1");
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->asked, 4);
	reply_ttl = 60;
}

/* Half an answer is kept for a few seconds only. */
static void test_half_kept(void **state)
{
	struct server *s = add_server(with_ipv4_and_silence);

	(void)state;
	expect("host.example", "192.0.2.1");
	stop_clock();
	s->answer = with_both;
	expect("host.example", "192.0.2.1");
	assert_int_equal(s->asked, 2);
	ahead_s += 6;
	assert_int_equal(loop_turn(loop, 0), 0);
	expect("host.example", "2001:db8::1 192.0.2.1");
}

static void test_failure_not_kept(void **state)
{
	struct server *s = add_server(with_failure);

	(void)state;
	expect_error("host.example", -EIO);
	s->answer = with_both;
	expect("host.example", "2001:db8::1 192.0.2.1");
}

static void test_cache_bounded(void **state)
{
	struct lookup_result r = { .error = -ENOENT };
	struct lookup_answer *a = lookup_answer_new(&r);
	struct lookup_cache *c = NULL;
	char name[32];

	(void)state;
	assert_non_null(a);
	assert_int_equal(lookup_cache_new(&c), 0);
	for (int i = 0; i < LOOKUP_CACHE_NAMES; i++) {
		(void)snprintf(name, sizeof(name), "n%d.example", i);
		lookup_cache_put(c, name, a, 100);
	}
	assert_int_equal(a->references, 1 + LOOKUP_CACHE_NAMES);
	/* The first was used, so the second goes. */
	assert_ptr_equal(lookup_cache_get(c, "n0.example", 99), a);
	lookup_cache_put(c, "new.example", a, 100);
	assert_int_equal(a->references, 1 + LOOKUP_CACHE_NAMES);
	assert_ptr_equal(lookup_cache_get(c, "n0.example", 99), a);
	assert_null(lookup_cache_get(c, "n1.example", 99));
	assert_ptr_equal(lookup_cache_get(c, "n2.example", 99), a);
	/* The same name again takes no second place; what is over is dropped. */
	lookup_cache_put(c, "new.example", a, 200);
	assert_int_equal(a->references, 1 + LOOKUP_CACHE_NAMES);
	assert_null(lookup_cache_get(c, "n2.example", 100));
	assert_ptr_equal(lookup_cache_get(c, "new.example", 100), a);
	assert_int_equal(a->references, LOOKUP_CACHE_NAMES);
	lookup_cache_free(c);
	assert_int_equal(a->references, 1);
	lookup_answer_unref(a);
}

/* Servers that are no use. */

static void test_next_server(void **state)
{
	static void (*const answers[])(struct message *) = { with_failure, with_refusal };

	(void)state;
	add_server(NULL);
	add_server(with_both);
	/* At once: the timeout is a minute. */
	for (size_t i = 0; i < ROWS(answers); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "host%zu.example", i);
		servers[0].answer = answers[i];
		expect(name, "2001:db8::1 192.0.2.1");
		assert_int_equal(servers[0].asked, 2 * (i + 1));
		assert_int_equal(servers[1].asked, 2 * (i + 1));
	}
	/* One that is not there at all. */
	watcher_close(&servers[0].datagrams);
	expect("host2.example", "2001:db8::1 192.0.2.1");
	watcher_close(&servers[1].datagrams);
	expect_error("host3.example", -EIO);
}

static void test_silence(void **state)
{
	(void)state;
	config.timeout_ms = 20;
	add_server(with_nothing);
	add_server(with_nothing);
	expect_error("host.example", -ETIMEDOUT);
	/* What was sent to them last may be unread. */
	for (int i = 0; i < 6000 && servers[0].asked + servers[1].asked < 8; i++)
		assert_int_equal(loop_turn(loop, 10), 0);
	assert_int_equal(servers[0].asked, 4);
	assert_int_equal(servers[1].asked, 4);
	servers[1].answer = with_both;
	config.timeout_ms = 1000;
	expect("host.example", "2001:db8::1 192.0.2.1");
}

/* Answers that are not ours, before the one that is. */

static void with_wrong_id(struct message *m)
{
	reply(m, DNS_OK);
	m->bytes[1] ^= 1;
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.66" : "2001:db8::66", 60);
	send_reply(m);
	m->bytes[1] ^= 1;
	with_both(m);
}

static void with_wrong_question(struct message *m)
{
	size_t last = m->question - 6; /* of the name's last label */

	reply(m, DNS_OK);
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.66" : "2001:db8::66", 60);
	m->bytes[last] = 'x';
	send_reply(m);
	m->bytes[last] = 'e';
	m->bytes[m->question - 3] ^= 1; /* the type */
	send_reply(m);
	m->bytes[m->question - 3] ^= 1;
	m->bytes[2] &= 0x7f; /* a question */
	send_reply(m);
	m->len = 5;
	send_reply(m);
	with_both(m);
}

static void with_wrong_source(struct message *m)
{
	auto_fd other = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);

	reply(m, DNS_OK);
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.66" : "2001:db8::66", 60);
	send_from(m, other);
	with_both(m);
}

/* What an answer says about other names. */
static void with_extras(struct message *m)
{
	const char *wrong = m->type == DNS_A ? "192.0.2.66" : "2001:db8::66";

	reply(m, DNS_OK);
	add_address(m, "other.example", wrong, 60);
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.1" : "2001:db8::1", 60);
	send_reply(m);
}

static void test_forged(void **state)
{
	static void (*const answers[])(struct message *) = { with_wrong_id, with_wrong_question,
		with_wrong_source, with_extras };

	(void)state;
	add_server(NULL);
	for (size_t i = 0; i < ROWS(answers); i++) {
		char name[32];

		(void)snprintf(name, sizeof(name), "host%zu.example", i);
		servers[0].answer = answers[i];
		expect(name, "2001:db8::1 192.0.2.1");
	}
	/* What was said about another name was not kept. */
	servers[0].answer = with_both;
	expect("other.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(servers[0].asked, 2 * (ROWS(answers) + 1));
	assert_int_equal(servers[0].streamed, 0);
}

static void with_guesses(struct message *m)
{
	if (m->by_stream) {
		with_both(m);
		return;
	}
	reply(m, DNS_OK);
	add_address(m, m->name, m->type == DNS_A ? "192.0.2.66" : "2001:db8::66", 60);
	for (unsigned i = 1; i <= 32; i++) {
		m->bytes[1] ^= (uint8_t)i;
		send_reply(m);
		m->bytes[1] ^= (uint8_t)i;
	}
	send_reply(m); /* the right guess comes too late */
}

/* Who guesses ids gets a few tries, then the question goes by TCP. */
static void test_guesses(void **state)
{
	struct server *s = add_server(with_guesses);

	(void)state;
	expect("host.example", "2001:db8::1 192.0.2.1");
	assert_int_equal(s->streamed, 2);
}

static uint16_t ids[8], ports[8];

static void with_note(struct message *m)
{
	unsigned i = m->server->asked - 1;

	if (i < 8) {
		ids[i] = (uint16_t)(m->bytes[0] << 8 | m->bytes[1]);
		ports[i] = ((struct sockaddr_in *)&m->from)->sin_port;
	}
	with_failure(m);
}

/* Each question has an id and a port of its own, also when it is asked again. */
static void test_ids(void **state)
{
	struct server *s = add_server(with_note);
	unsigned same = 0;

	(void)state;
	config.attempts = 4;
	expect_error("host.example", -EIO);
	assert_int_equal(s->asked, 8);
	for (size_t i = 1; i < 8; i++)
		same += ids[i] == ids[0] && ports[i] == ports[0];
	assert_int_equal(same, 0);
	/* All eight ids alike by chance: once in 2^112. */
	for (size_t i = 1; i < 8; i++)
		same += ids[i] == ids[0];
	assert_true(same < 7);
}

/* Chains. */

static void with_chain(struct message *m)
{
	reply(m, DNS_OK);
	add_address(m, "c.example", m->type == DNS_A ? "192.0.2.3" : "2001:db8::3", 60);
	add_alias(m, "b.example", "c.example", 60);
	add_alias(m, m->name, "b.example", 0);
	if (m->type == DNS_A)
		add_alias(m, "x.example", "y.example", 60);
	send_reply(m);
}

static void test_chain(void **state)
{
	struct server *s = add_server(with_chain);

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		expect("a.example", "2001:db8::3 192.0.2.3");
		assert_int_equal(asker.result.n_chain, 2);
		assert_string_equal(asker.chain[0], "b.example");
		assert_string_equal(asker.chain[1], "c.example");
		/* The least time on the way was none at all. */
		assert_int_equal(s->asked, 2 * i);
	}
}

/* Each family leads elsewhere: all names are reported, also from the cache. */
static void with_two_chains(struct message *m)
{
	const char *target = m->type == DNS_A ? "four.example" : "six.example";

	reply(m, DNS_OK);
	add_alias(m, m->name, target, 60);
	add_address(m, target, m->type == DNS_A ? "192.0.2.3" : "2001:db8::3", 60);
	send_reply(m);
}

static void test_two_chains(void **state)
{
	struct server *s = add_server(with_two_chains);

	(void)state;
	for (unsigned i = 1; i <= 2; i++) {
		expect("a.example", "2001:db8::3 192.0.2.3");
		assert_int_equal(asker.result.n_chain, 2);
		assert_string_equal(asker.chain[0], "six.example");
		assert_string_equal(asker.chain[1], "four.example");
		assert_int_equal(s->asked, 2);
	}
}

static void with_loop(struct message *m)
{
	reply(m, DNS_OK);
	add_alias(m, m->name, "b.example", 60);
	add_alias(m, "b.example", m->name, 60);
	add_address(m, "c.example", "192.0.2.66", 60);
	send_reply(m);
}

static void test_chain_loop(void **state)
{
	(void)state;
	add_server(with_loop);
	expect_error("a.example", -ELOOP);
}

/* This machine's own names. */

static void test_localhost(void **state)
{
	(void)state;
	/* No server at all. */
	expect("localhost", "::1 127.0.0.1");
	expect("a.b.localhost", "::1 127.0.0.1");
	add_server(with_both);
	expect("notlocalhost", "2001:db8::1 192.0.2.1");
	expect("localhost.example", "2001:db8::1 192.0.2.1");
}

static void write_file(char *path, const char *text)
{
	auto_fd fd = mkstemp(path);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
}

static void test_hosts(void **state)
{
	char path[] = "/tmp/test-lookup.XXXXXX";

	(void)state;
	write_file(path, "192.0.2.9 host.example\n2001:db8::9 Host.Example.\n192.0.2.8 other\n");
	assert_int_equal(lookup_hosts_read(&config.hosts, path), 0);
	assert_int_equal(unlink(path), 0);
	add_server(with_both);
	expect("host.example", "192.0.2.9 2001:db8::9");
	assert_int_equal(servers[0].asked, 0);
	expect("a.host.example", "2001:db8::1 192.0.2.1");
}

/* Those who wait. */

static void test_shared(void **state)
{
	static struct asker askers[5];
	struct server *s = add_server(with_both);

	(void)state;
	for (size_t i = 0; i < 5; i++)
		ask(&askers[i], "host.example");
	lookup_cancel(lookup, &askers[0].wait);
	lookup_cancel(lookup, &askers[2].wait);
	lookup_cancel(lookup, &askers[4].wait);
	lookup_cancel(lookup, &askers[4].wait);
	run(&askers[1]);
	run(&askers[3]);
	assert_false(askers[0].done || askers[2].done || askers[4].done);
	assert_int_equal(s->asked, 2);
	assert_int_equal(askers[1].result.n, 2);
	assert_int_equal(askers[3].result.n, 2);
}

/* The last one who cancels ends the questions: their sockets are closed at once. */
static void test_cancelled(void **state)
{
	static struct asker other;
	struct server *s = add_server(with_nothing);
	size_t before = count_fds();

	(void)state;
	ask(&asker, "host.example");
	ask(&other, "host.example");
	while (s->asked < 2)
		assert_int_equal(loop_turn(loop, -1), 0);
	assert_int_equal(count_fds(), before + 2);
	lookup_cancel(lookup, &other.wait);
	assert_int_equal(count_fds(), before + 2);
	lookup_cancel(lookup, &asker.wait);
	assert_int_equal(count_fds(), before);
	/* Before the loop turned at all, and with a known answer. */
	ask(&asker, "host.example");
	lookup_cancel(lookup, &asker.wait);
	ask(&asker, "localhost");
	lookup_cancel(lookup, &asker.wait);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_false(asker.done || other.done);
}

static struct asker victim, second;

static void cancels_and_asks(struct lookup_wait *w, const struct lookup_result *r)
{
	asker_done(w, r);
	lookup_cancel(lookup, w);
	lookup_cancel(lookup, &victim.wait);
	ask(&second, "host.example");
}

static void test_cancelled_inside(void **state)
{
	static struct asker third;

	(void)state;
	add_server(with_both);
	ask(&asker, "host.example");
	asker.wait.done = cancels_and_asks;
	ask(&victim, "host.example");
	ask(&third, "host.example");
	run(&second);
	assert_true(asker.done && third.done);
	assert_false(victim.done);
}

/* The one who waits goes, and takes the last other one along. */
static void cancels_only(struct lookup_wait *w, const struct lookup_result *r)
{
	asker_done(w, r);
	lookup_cancel(lookup, &victim.wait);
}

static void test_cancelled_last(void **state)
{
	(void)state;
	add_server(with_both);
	ask(&asker, "host.example");
	asker.wait.done = cancels_only;
	ask(&victim, "host.example");
	run(&asker);
	assert_false(victim.done);
}

static void test_freed_while_waiting(void **state)
{
	(void)state;
	add_server(with_nothing);
	ask(&asker, "host.example");
	ask(&victim, "localhost");
	assert_int_equal(loop_turn(loop, 0), 0);
	ask(&second, "other.example");
	lookup_free(lookup);
	lookup = NULL;
	assert_null(asker.wait.query);
	assert_null(second.wait.query);
	assert_int_equal(loop_turn(loop, 0), 0);
	assert_false(asker.done || second.done);
}

static void test_bounded(void **state)
{
	enum { NAMES = 1024 };
	static struct asker askers[NAMES + 1];
	char name[300];

	(void)state;
	add_server(with_nothing);
	for (size_t i = 0; i < NAMES; i++) {
		(void)snprintf(name, sizeof(name), "n%zu.example", i);
		ask(&askers[i], name);
	}
	askers[NAMES].wait.done = asker_done;
	assert_int_equal(lookup_ask(lookup, "one.more", &askers[NAMES].wait), -EBUSY);
	assert_null(askers[NAMES].wait.query);
	ask(&askers[NAMES], "n7.example");
	lookup_cancel(lookup, &askers[8].wait);
	lookup_cancel(lookup, &askers[NAMES].wait);
	ask(&askers[NAMES], "one.more");
	for (size_t i = 0; i <= NAMES; i++)
		lookup_cancel(lookup, &askers[i].wait);
	memset(name, 'a', sizeof(name) - 1);
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(lookup_ask(lookup, name, &asker.wait), -EINVAL);
	/* No name of the DNS, though short enough. */
	name[100] = '\0';
	expect_error(name, -EINVAL);
}

/* Whichever allocation fails: an error, and nothing is lost. */
static void test_no_memory(void **state)
{
	int failed = 0, fine = 0;

	(void)state;
	add_server(with_many);
	for (int i = 0; fine < 3; i++) {
		struct lookup *l = NULL;
		int r;

		assert_true(i < 100);
		asker = (struct asker){ .wait.done = asker_done };
		failing_start(i);
		r = lookup_new(&l, loop, &config);
		if (r == 0)
			r = lookup_ask(l, "many.example", &asker.wait);
		while (r == 0 && !asker.done)
			assert_int_equal(loop_turn(loop, -1), 0);
		failing_stop();
		lookup_free(l);
		if (r == 0)
			r = asker.result.error;
		assert_true(r == 0 || r == -ENOMEM);
		failed += r < 0;
		fine += r == 0;
	}
	assert_true(failed >= 3);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_both_families),
		TEST(test_ipv6_server),
		TEST(test_one_family),
		TEST(test_nothing),
		TEST(test_truncated),
		TEST(test_broken_stream),
		TEST(test_kept),
		TEST(test_not_kept),
		TEST(test_half_kept),
		TEST(test_failure_not_kept),
		TEST(test_cache_bounded),
		TEST(test_next_server),
		TEST(test_silence),
		TEST(test_forged),
		TEST(test_guesses),
		TEST(test_ids),
		TEST(test_chain),
		TEST(test_two_chains),
		TEST(test_chain_loop),
		TEST(test_localhost),
		TEST(test_hosts),
		TEST(test_shared),
		TEST(test_cancelled),
		TEST(test_cancelled_inside),
		TEST(test_cancelled_last),
		TEST(test_freed_while_waiting),
		TEST(test_bounded),
		TEST(test_no_memory),
	};

	reply_ttl = 60;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
