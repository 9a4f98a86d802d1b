/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Two network namespaces: one is the host's, with the relay and servers on its loopback; the other
 * is the sandbox's, captured. The test is on both sides: sockets stay where they were made.
 */
#include "policy/test/test-policy.h"

#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/userns.h"
#include "net/flows.h"
#include "net/test/test-netns.h"
#include "wire/frame.h"

enum { PATIENCE_MS = 60000, PORT = 7777, SILENT_PORT = 7778, DENIED_PORT = 9999 };

static int outside_ns, inside_ns;
static int captured[CAPTURE_COUNT];
static char hosts_path[] = "/tmp/test-flows-XXXXXX";

struct world {
	struct policy *policy;
	struct net_judge judge;
	struct loop *loop;
	struct lookup_config config;
	struct lookup *lookup;
	struct dialler dialler;
	struct synthetic *synthetic;
	struct quota *quota;
	struct recorder *recorder;
	struct flows *flows;
	uint32_t number; /* of echo.example */
	int records[2];
	/* by kind */
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

static int copy_of(enum capture_socket s)
{
	return captured[s] < 0 ? -1 : fcntl(captured[s], F_DUPFD_CLOEXEC, 0);
}

static void make(struct world *w, const char *yaml, uint64_t idle_ms)
{
	struct flows_options o;

	*w = (struct world){ .policy = test_compile(yaml) };
	judge_init(&w->judge, w->policy);
	assert_int_equal(loop_new(&w->loop), 0);
	assert_int_equal(lookup_config_read(&w->config, "/dev/null", hosts_path), 0);
	assert_int_equal(lookup_new(&w->lookup, w->loop, &w->config), 0);
	w->dialler = (struct dialler){ .loop = w->loop, .lookup = w->lookup, .judge = &w->judge };
	assert_int_equal(synthetic_new(&w->synthetic, 0), 0);
	assert_int_equal(synthetic_take(w->synthetic, "echo.example", &w->number), 0);
	assert_int_equal(quota_new(&w->quota, w->policy, NULL), 0);
	assert_int_equal(frame_pair(w->records), 0);
	assert_int_equal(fcntl(w->records[0], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(w->records[1], F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(recorder_new(&w->recorder, w->loop, w->records[0]), 0);
	o = (struct flows_options){ .dialler = &w->dialler,
		.synthetic = w->synthetic,
		.quota = w->quota,
		.recorder = w->recorder,
		.udp = { copy_of(CAPTURE_UDP_4), copy_of(CAPTURE_UDP_6) },
		.raw = { copy_of(CAPTURE_RAW_4), copy_of(CAPTURE_RAW_6) },
		.idle_ms = idle_ms };
	assert_int_equal(flows_new(&w->flows, &o), 0);
}

static void end(struct world *w)
{
	flows_free(w->flows);
	recorder_free(w->recorder);
	quota_free(w->quota);
	synthetic_free(w->synthetic);
	lookup_free(w->lookup);
	lookup_config_deinit(&w->config);
	loop_free(w->loop);
	policy_free(w->policy);
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

/* Turns the loop until there is something to read, or an error. */
static void turn_until(struct world *w, int fd)
{
	for (int i = 0; i < PATIENCE_MS / 10 && !is_ready(fd); i++)
		assert_int_equal(loop_turn(w->loop, 10), 0);
	assert_true(is_ready(fd));
}

/* All that the loop has to do now is done. */
static void settle(struct world *w)
{
	for (int i = 0; i < 20; i++)
		assert_int_equal(loop_turn(w->loop, 1), 0);
}

static int client_to(const struct address *a, uint16_t port)
{
	auto_buffer text = { 0 };
	int fd;

	address_print(a, &text);
	in_sandbox();
	fd = netns_connect(SOCK_DGRAM, buffer_text(&text), port);
	on_host();
	return fd;
}

static int client(const struct world *w, bool is_6, uint16_t port)
{
	struct address a = is_6 ? synthetic_v6(w->number) : synthetic_v4(w->number);

	return client_to(&a, port);
}

static void expect(int fd, const char *text)
{
	char got[64];
	ssize_t n = recv(fd, got, sizeof(got), MSG_DONTWAIT);

	assert_int_equal(n, strlen(text));
	assert_memory_equal(got, text, (size_t)n);
}

static void expect_refused(struct world *w, int fd)
{
	char byte;

	turn_until(w, fd);
	assert_int_equal(recv(fd, &byte, 1, MSG_DONTWAIT), -1);
	assert_int_equal(errno, ECONNREFUSED);
}

#define GRANT "allow: ['udp://echo.example', 'udp://127.0.0.1', 'udp://[::1]', 'udp://8.8.8.8:*']"

static void echo(struct world *w, int server, int from, const char *text, const char *answer)
{
	struct sockaddr_in6 name;
	socklen_t len = sizeof(name);
	char got[64];

	assert_int_equal(send(from, text, strlen(text), 0), strlen(text));
	turn_until(w, server);
	assert_int_equal(recvfrom(server, got, sizeof(got), 0, (void *)&name, &len), strlen(text));
	assert_memory_equal(got, text, strlen(text));
	assert_int_equal(
		sendto(server, answer, strlen(answer), 0, (void *)&name, len), strlen(answer));
	turn_until(w, from);
	expect(from, answer);
}

static void test_echo(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make(&w, "network: {" GRANT "}", 0);
	auto_fd v4 = client(&w, false, PORT);
	auto_fd v6 = client(&w, true, PORT);
	for (int i = 0; i < 3; i++) {
		echo(&w, server, v4, "ping", "pong!");
		echo(&w, server, v6, "PING 6", "");
	}
	assert_int_equal(flows_count(w.flows), 2);
	flows_free(w.flows);
	w.flows = NULL;
	read_records(&w);
	assert_int_equal(w.counts[RECORD_CLOSED], 2);
	assert_int_equal(w.counts[RECORD_DENIED] + w.counts[RECORD_FAILED], 0);
	assert_int_equal(w.sent, 3 * (4 + 6));
	assert_int_equal(w.received, 3 * 5);
	assert_string_equal(w.target, "udp://echo.example:7777");
	end(&w);
}

static void test_large(void **state)
{
	static char data[60000], got[65536];
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	memset(data, 'x', sizeof(data));
	make(&w, "network: {" GRANT "}", 0);
	auto_fd from = client(&w, false, PORT);
	assert_int_equal(send(from, data, sizeof(data), 0), sizeof(data));
	turn_until(&w, server);
	assert_int_equal(recvfrom(server, got, sizeof(got), 0, (void *)&name, &len), sizeof(data));
	assert_int_equal(sendto(server, data, sizeof(data), 0, (void *)&name, len), sizeof(data));
	turn_until(&w, from);
	assert_int_equal(recv(from, got, sizeof(got), MSG_DONTWAIT), sizeof(data));
	assert_memory_equal(got, data, sizeof(data));
	end(&w);
}

/* Before the dial is over, as many as there is room for are kept, in order. */
static void test_waiting(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make(&w, "network: {" GRANT "}", 0);
	auto_fd from = client(&w, false, PORT);
	for (int i = 0; i < FLOWS_WAITING_MAX + 5; i++)
		assert_int_equal(send(from, (char[]){ (char)('a' + i) }, 1, 0), 1);
	turn_until(&w, server);
	settle(&w);
	for (int i = 0; i < FLOWS_WAITING_MAX; i++)
		expect(server, (char[]){ (char)('a' + i), '\0' });
	assert_false(is_ready(server));
	end(&w);
}

static void check_denied(struct world *w, const struct address *a, uint16_t port,
	const char *target, const char *reason)
{
	auto_fd from = client_to(a, port);

	assert_int_equal(send(from, "x", 1, 0), 1);
	expect_refused(w, from);
	read_records(w);
	assert_string_equal(w->target, target);
	assert_non_null(strstr(w->reason, reason));
}

static void test_denied(void **state)
{
	struct address a;
	struct world w;

	(void)state;
	make(&w, "network: {allow: ['udp://echo.example:7777']}", 0);
	a = synthetic_v4(w.number);
	check_denied(&w, &a, DENIED_PORT, "udp://echo.example:9999", "");
	a = synthetic_v6(w.number);
	check_denied(&w, &a, DENIED_PORT, "udp://echo.example:9999", "");
	a = netns_address("8.8.8.8");
	check_denied(&w, &a, PORT, "udp://8.8.8.8:7777", "");
	a = netns_address("2001:4860::1");
	check_denied(&w, &a, PORT, "udp://[2001:4860::1]:7777", "");
	a = synthetic_v4(w.number + 1);
	check_denied(&w, &a, PORT, "udp://198.18.0.2:7777",
		"the address belongs to no name that was looked up");
	/* The name is granted, but not that it may lead to the host's loopback. */
	a = synthetic_v4(w.number);
	check_denied(&w, &a, PORT, "udp://echo.example:7777", "");
	assert_int_equal(w.counts[RECORD_DENIED], 6);
	assert_int_equal(w.counts[RECORD_FAILED] + w.counts[RECORD_CLOSED], 0);
	end(&w);
}

/* Nobody is there: what the kernel outside says is said inside. */
static void test_refused(void **state)
{
	struct world w;

	(void)state;
	make(&w, "network: {" GRANT "}", 0);
	auto_fd from = client(&w, false, SILENT_PORT);
	assert_int_equal(send(from, "x", 1, 0), 1);
	expect_refused(&w, from);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_FAILED], 1);
	assert_non_null(strstr(w.reason, "refused"));
	/* A server that comes later is found. */
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", SILENT_PORT, &port);
	echo(&w, server, from, "again", "yes");
	end(&w);
}

/* Granted, but there is no way to it; and for a moment it is not tried again. */
static void test_failed(void **state)
{
	struct address a = netns_address("8.8.8.8");
	struct world w;

	(void)state;
	make(&w, "network: {" GRANT "}", 0);
	auto_fd from = client_to(&a, PORT);
	for (int i = 0; i < 3; i++) {
		assert_int_equal(send(from, "x", 1, 0), 1);
		expect_refused(&w, from);
	}
	read_records(&w);
	assert_true(w.counts[RECORD_FAILED] >= 1);
	assert_string_equal(w.target, "udp://8.8.8.8:7777");
	assert_non_null(strstr(w.reason, "cannot be reached:"));
	end(&w);
}

static void test_idle(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make(&w, "network: {" GRANT "}", 50);
	auto_fd from = client(&w, false, PORT);
	echo(&w, server, from, "ping", "pong!");
	while (flows_count(w.flows) > 0)
		assert_int_equal(loop_turn(w.loop, -1), 0);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_CLOSED], 1);
	assert_int_equal(w.sent, 4);
	assert_int_equal(w.received, 5);
	/* And again, from the start. */
	echo(&w, server, from, "ping", "pong!");
	end(&w);
}

static void test_bytes(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make(&w, "network: {" GRANT ", max_bytes: 20}", 0);
	auto_fd from = client(&w, false, PORT);
	echo(&w, server, from, "ping", "pong!");
	echo(&w, server, from, "ping", "pong!");
	assert_int_equal(send(from, "xyz", 3, 0), 3);
	expect_refused(&w, from);
	assert_false(is_ready(server));
	assert_int_equal(flows_count(w.flows), 0);
	read_records(&w);
	assert_int_equal(w.sent, 8);
	assert_int_equal(w.received, 10);
	assert_int_equal(w.counts[RECORD_CLOSED], 1);
	assert_int_equal(w.counts[RECORD_DENIED], 1);
	/* From then on it is not even dialled. */
	assert_int_equal(send(from, "x", 1, 0), 1);
	expect_refused(&w, from);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_DENIED], 2);
	assert_non_null(strstr(w.reason, "the limit of 20 bytes "));
	end(&w);
}

/* An answer that is longer than what is left does not come in. */
static void test_bytes_in(void **state)
{
	struct sockaddr_in name;
	socklen_t len = sizeof(name);
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	char got[64];

	(void)state;
	make(&w, "network: {" GRANT ", max_bytes: 10}", 0);
	auto_fd from = client(&w, false, PORT);
	assert_int_equal(send(from, "ping", 4, 0), 4);
	turn_until(&w, server);
	assert_int_equal(recvfrom(server, got, sizeof(got), 0, (void *)&name, &len), 4);
	assert_int_equal(sendto(server, "too long", 8, 0, (void *)&name, len), 8);
	expect_refused(&w, from);
	end(&w);
}

static void test_rate(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make(&w, "network: {" GRANT ", rate_limit: 1/day}", 0);
	auto_fd first = client(&w, false, PORT);
	auto_fd second = client(&w, false, PORT);
	echo(&w, server, first, "ping", "pong!");
	assert_int_equal(send(second, "x", 1, 0), 1);
	expect_refused(&w, second);
	/* What is open goes on. */
	echo(&w, server, first, "ping", "pong!");
	read_records(&w);
	assert_non_null(strstr(w.reason, "more than 1 connections"));
	end(&w);
}

/* More than there is room for: the oldest make it. */
static void test_many(void **state)
{
	enum { MORE = 100 };
	struct rlimit files;
	struct address a;
	struct world w;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	make(&w, "network: {" GRANT "}", 0);
	a = synthetic_v4(w.number);
	in_sandbox();
	auto_fd from = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	on_host();
	for (int i = 0; i < FLOWS_MAX + MORE; i++) {
		struct sockaddr_in to = { .sin_family = AF_INET,
			.sin_port = htons((uint16_t)(20000 + i)) };

		memcpy(&to.sin_addr, a.bytes, 4);
		assert_int_equal(sendto(from, "x", 1, 0, (void *)&to, sizeof(to)), 1);
		assert_int_equal(loop_turn(w.loop, 100), 0);
	}
	for (int i = 0; i < PATIENCE_MS / 10 && flows_count(w.flows) < FLOWS_MAX; i++)
		assert_int_equal(loop_turn(w.loop, 10), 0);
	assert_int_equal(flows_count(w.flows), FLOWS_MAX);
	end(&w);
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

static int make_namespaces(struct error *e)
{
	int r = loopback_up();

	if (r < 0)
		return r;
	outside_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	if (outside_ns < 0 || unshare(CLONE_NEWNET) < 0)
		return -errno;
	r = capture_open(&(struct capture_options){ 0 }, captured, e);
	if (r < 0)
		return r;
	inside_ns = open("/proc/self/ns/net", O_RDONLY | O_CLOEXEC);
	return inside_ns < 0 || setns(outside_ns, CLONE_NEWNET) < 0 ? -errno : 0;
}

static bool write_hosts(void)
{
	static const char text[] = "127.0.0.1 echo.example\n";
	auto_fd fd = mkstemp(hosts_path);

	return fd >= 0 && write(fd, text, sizeof(text) - 1) == sizeof(text) - 1;
}

int main(void)
{
	static const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_echo),
		cmocka_unit_test(test_large),
		cmocka_unit_test(test_waiting),
		cmocka_unit_test(test_denied),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_idle),
		cmocka_unit_test(test_bytes),
		cmocka_unit_test(test_bytes_in),
		cmocka_unit_test(test_rate),
		cmocka_unit_test(test_many),
	};
	struct error e = { 0 };
	int r;

	if (enter() < 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	r = make_namespaces(&e);
	if (r == -EOPNOTSUPP || (r == 0 && captured[CAPTURE_UDP_4] < 0)) {
		(void)printf("1..0 # SKIP kernel: no tproxy: %s\n", e.text);
		return 0;
	}
	if (r < 0 || !write_hosts()) {
		(void)printf("Bail out! %s\n", e.text);
		return 1;
	}
	r = cmocka_run_group_tests(tests, NULL, NULL);
	(void)unlink(hosts_path);
	return r;
}
