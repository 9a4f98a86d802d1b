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

#include "base/array.h"
#include "base/fd.h"
#include "jail/userns.h"
#include "net/flows.h"
#include "net/test/test-netns.h"
#include "wire/frame.h"

enum {
	PATIENCE_MS = 60000,
	LONG_MS = 10 * PATIENCE_MS,
	SHORT_MS = 50,
	PORT = 7777,
	SILENT_PORT = 7778,
	DENIED_PORT = 9999
};

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
	struct asker *asker; /* NULL: no user can be asked */
	uint32_t number;     /* of echo.example */
	int records[2], questions[2];
	struct frame frame;
	struct question question; /* the last one */
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

/* ask_ms: 0, no user can be asked. */
static void make_asking(struct world *w, const char *yaml, uint64_t idle_ms, uint32_t ask_ms)
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
	assert_int_equal(frame_pair(w->questions), 0);
	for (int i = 0; i < 2; i++)
		assert_int_equal(fcntl(w->questions[i], F_SETFL, O_NONBLOCK), 0);
	if (ask_ms > 0)
		assert_int_equal(asker_new(&w->asker, w->loop, w->questions[0], ask_ms), 0);
	o = (struct flows_options){ .dialler = &w->dialler,
		.synthetic = w->synthetic,
		.quota = w->quota,
		.recorder = w->recorder,
		.asker = w->asker,
		.udp = { copy_of(CAPTURE_UDP_4), copy_of(CAPTURE_UDP_6) },
		.groups = { copy_of(CAPTURE_GROUP_4), copy_of(CAPTURE_GROUP_6) },
		.raw = { copy_of(CAPTURE_RAW_4), copy_of(CAPTURE_RAW_6) },
		.idle_ms = idle_ms };
	assert_int_equal(flows_new(&w->flows, &o), 0);
}

static void make(struct world *w, const char *yaml, uint64_t idle_ms)
{
	make_asking(w, yaml, idle_ms, 0);
}

static void end(struct world *w)
{
	flows_free(w->flows);
	asker_free(w->asker);
	recorder_free(w->recorder);
	quota_free(w->quota);
	synthetic_free(w->synthetic);
	lookup_free(w->lookup);
	lookup_config_deinit(&w->config);
	loop_free(w->loop);
	policy_free(w->policy);
	fd_close(&w->records[0]);
	fd_close(&w->records[1]);
	fd_close(&w->questions[0]);
	fd_close(&w->questions[1]);
	frame_deinit(&w->frame);
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

static void turn_until_flows(struct world *w, size_t n)
{
	for (int i = 0; i < PATIENCE_MS / 10 && flows_count(w->flows) != n; i++)
		assert_int_equal(loop_turn(w->loop, 10), 0);
	assert_int_equal(flows_count(w->flows), n);
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

/* Also where nothing inside is a member, and by any grant that does not name them. */
static void test_denied_groups(void **state)
{
	static const char *const groups[] = { "224.0.0.251", "239.255.255.250", "ff05::c",
		"ff1e::1" };
	struct address a;
	struct world w;

	(void)state;
	make(&w, "network: {allow: ['udp://*:*', 'udp://0.0.0.0/1:*', 'udp://240.0.0.0/4:*']}", 0);
	for (size_t i = 0; i < ROWS(groups); i++) {
		char target[64];

		a = netns_address(groups[i]);
		(void)snprintf(target, sizeof(target),
			a.bits == 32 ? "udp://%s:5353" : "udp://[%s]:5353", groups[i]);
		check_denied(&w, &a, 5353, target, "");
	}
	a = netns_address("127.0.0.1");
	check_denied(&w, &a, 3, "udp://127.0.0.1:3", "it is an address of the sandbox itself");
	assert_int_equal(w.counts[RECORD_DENIED], ROWS(groups) + 1);
	assert_int_equal(flows_count(w.flows), 0);
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

/* Questions. */

#define ASK                                                                                \
	"network: {allow: ['udp://127.0.0.1']}\nrules: [{id: r, action: ask, operations: " \
	"[net.connect], patterns: ['udp://echo.example:7777']}]"

/* FRAME_NONE: the holder hears nothing. */
static enum frame_type hear(struct world *w)
{
	int r = frame_receive(w->questions[1], &w->frame);

	if (r == -EAGAIN)
		return FRAME_NONE;
	assert_int_equal(r, 1);
	if (w->frame.type == FRAME_QUESTION)
		assert_int_equal(question_decode(&w->question, w->frame.body, w->frame.len), 0);
	return w->frame.type;
}

/* Its number. */
static uint64_t hear_question(struct world *w, const char *target)
{
	turn_until(w, w->questions[1]);
	assert_int_equal(hear(w), FRAME_QUESTION);
	assert_int_equal(w->question.op, OPERATION_NET_CONNECT);
	assert_string_equal(w->question.target, target);
	return w->frame.id;
}

static void answer(struct world *w, uint64_t id, enum answer_kind kind)
{
	asker_answer(w->asker, id, &(struct answer){ .kind = kind, .pattern = "" });
}

static void say(int from, const char *text)
{
	assert_int_equal(send(from, text, strlen(text), 0), strlen(text));
}

/* One question for a host and port; its datagrams wait, and are passed on in order. */
static void test_ask_once(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	uint64_t id;

	(void)state;
	make_asking(&w, ASK, 0, LONG_MS);
	auto_fd from = client(&w, false, PORT), second = client(&w, true, PORT);
	for (int i = 0; i < FLOWS_WAITING_MAX + 5; i++)
		say(from, (char[]){ (char)('a' + i), '\0' });
	id = hear_question(&w, "udp://echo.example:7777");
	assert_string_equal(w.question.scopes[0], "udp://echo.example:7777");
	say(second, "6");
	turn_until_flows(&w, 2);
	assert_int_equal(hear(&w), FRAME_NONE);
	assert_false(is_ready(server) || is_ready(from) || is_ready(second));
	answer(&w, id, ANSWER_ONCE);
	for (int i = 0; i < FLOWS_WAITING_MAX; i++) {
		turn_until(&w, server);
		expect(server, (char[]){ (char)('a' + i), '\0' });
	}
	turn_until(&w, server);
	expect(server, "6");
	echo(&w, server, from, "ping", "pong");
	echo(&w, server, second, "ping", "pong");
	assert_int_equal(hear(&w), FRAME_NONE);
	/* Once was for these two. */
	auto_fd third = client(&w, false, PORT);
	say(third, "x");
	id = hear_question(&w, "udp://echo.example:7777");
	assert_false(is_ready(server));
	echo(&w, server, from, "still", "here");
	answer(&w, id, ANSWER_DENY);
	expect_refused(&w, third);
	read_records(&w);
	assert_non_null(strstr(w.reason, "did not agree"));
	assert_int_equal(w.counts[RECORD_DENIED], 1);
	/* A no is remembered, for each who sends there. */
	auto_fd fourth = client(&w, false, PORT);
	say(fourth, "x");
	expect_refused(&w, fourth);
	assert_int_equal(hear(&w), FRAME_NONE);
	assert_false(is_ready(server));
	end(&w);
}

/* No answer comes, for longer than a flow may be silent; the sandbox ends meanwhile. */
static void test_ask_time(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make_asking(&w, ASK, 0, SHORT_MS);
	auto_fd from = client(&w, false, PORT);
	say(from, "x");
	(void)hear_question(&w, "udp://echo.example:7777");
	expect_refused(&w, from);
	read_records(&w);
	assert_non_null(strstr(w.reason, "in time"));
	assert_int_equal(hear(&w), FRAME_QUESTION_OVER);
	end(&w);
	make_asking(&w, ASK, SHORT_MS, LONG_MS);
	auto_fd other = client(&w, false, PORT);
	say(other, "x");
	(void)hear_question(&w, "udp://echo.example:7777");
	for (int i = 0; i < 10; i++)
		assert_int_equal(loop_turn(w.loop, SHORT_MS), 0);
	assert_int_equal(flows_count(w.flows), 1);
	assert_int_equal(hear(&w), FRAME_NONE);
	flows_free(w.flows);
	w.flows = NULL;
	assert_int_equal(hear(&w), FRAME_QUESTION_OVER);
	read_records(&w);
	assert_non_null(strstr(w.reason, "ended before"));
	assert_false(is_ready(server));
	end(&w);
}

/* Another policy while it waits, and after it was agreed to. */
static void test_ask_review(void **state)
{
	static const struct {
		const char *policy;
		bool asks, passes;
	} cases[] = {
		{ ASK, true, true },
		{ "network: {allow: ['udp://127.0.0.1', 'udp://echo.example:7777']}", false, true },
		{ "network: {allow: ['udp://127.0.0.1']}", false, false },
	};
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct policy *before;
		struct world w;
		uint64_t id;

		make_asking(&w, ASK, 0, LONG_MS);
		auto_fd from = client(&w, false, PORT);
		say(from, "x");
		id = hear_question(&w, "udp://echo.example:7777");
		before = w.policy;
		w.policy = test_compile(cases[i].policy);
		judge_init(&w.judge, w.policy);
		assert_int_equal(quota_change(w.quota, w.policy), 0);
		flows_review(w.flows);
		assert_int_equal(hear(&w), cases[i].asks ? FRAME_NONE : FRAME_QUESTION_OVER);
		/* An answer that comes too late is none. */
		answer(&w, id, ANSWER_ONCE);
		if (cases[i].passes) {
			turn_until(&w, server);
			expect(server, "x");
			flows_review(w.flows);
			echo(&w, server, from, "ping", "pong");
		} else {
			expect_refused(&w, from);
			assert_false(is_ready(server));
		}
		end(&w);
		policy_free(before);
	}
}

/* A name that leads to where it may not, and an address that another rule denies. */
static void test_ask_elsewhere(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	make_asking(&w,
		"rules: [{id: r, action: ask, operations: [net.connect], patterns: "
		"['udp://echo.example:7777']}]",
		0, LONG_MS);
	auto_fd from = client(&w, false, PORT), denied = client(&w, false, DENIED_PORT);
	say(denied, "x");
	expect_refused(&w, denied);
	say(from, "x");
	answer(&w, hear_question(&w, "udp://echo.example:7777"), ANSWER_ONCE);
	expect_refused(&w, from);
	read_records(&w);
	assert_non_null(strstr(w.reason, "leads to"));
	assert_false(is_ready(server));
	end(&w);
}

#define ASK_ALL                                                                              \
	"network: {allow: ['udp://127.0.0.1', 'udp://echo.example:7777']}\nrules: [{id: r, " \
	"action: ask, operations: [net.connect], patterns: ['udp://8.8.8.0/24:*', 'a.com:*']}]"

/* What came to the server, from whom; the length. */
static socklen_t take_from(struct world *w, int server, const char *text, union netns_name *from)
{
	socklen_t len = sizeof(*from);
	char got[64];

	turn_until(w, server);
	assert_int_equal(recvfrom(server, got, sizeof(got), 0, &from->any, &len), strlen(text));
	assert_memory_equal(got, text, strlen(text));
	return len;
}

/* The answer is for this port of this host; and only what it sends comes back. */
static void test_ask_others(void **state)
{
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	auto_fd silent = netns_serve(SOCK_DGRAM, "127.0.0.1", SILENT_PORT, &port);
	auto_fd spoofer = netns_serve(SOCK_DGRAM, "127.0.0.2", PORT, &port);
	union netns_name to, from;
	socklen_t len, to_len;

	(void)state;
	make_asking(&w,
		"network: {allow: ['udp://127.0.0.1']}\nrules: [{id: r, action: ask, operations: "
		"[net.connect], patterns: ['udp://echo.example:*']}]",
		0, LONG_MS);
	/* One socket, two ports. */
	in_sandbox();
	auto_fd one = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	on_host();
	to_len = netns_name("198.18.0.1", PORT, &to);
	assert_int_equal(sendto(one, "x", 1, 0, &to.any, to_len), 1);
	answer(&w, hear_question(&w, "udp://echo.example:7777"), ANSWER_ONCE);
	len = take_from(&w, server, "x", &from);
	to_len = netns_name("198.18.0.1", SILENT_PORT, &to);
	assert_int_equal(sendto(one, "y", 1, 0, &to.any, to_len), 1);
	(void)hear_question(&w, "udp://echo.example:7778");
	settle(&w);
	assert_false(is_ready(silent));
	/* Another address, and another port of the same, answer in its place. */
	assert_int_equal(sendto(spoofer, "spoofed", 7, 0, &from.any, len), 7);
	assert_int_equal(sendto(silent, "spoofed", 7, 0, &from.any, len), 7);
	assert_int_equal(sendto(server, "real", 4, 0, &from.any, len), 4);
	turn_until(&w, one);
	expect(one, "real");
	settle(&w);
	assert_false(is_ready(one));
	end(&w);
}

/* What was granted while it ran is taken away: the flow ends, and the next datagram asks. */
static void test_ask_revoked(void **state)
{
	struct policy *policies[2];
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	uint64_t id;

	(void)state;
	make_asking(&w, ASK, 0, LONG_MS);
	auto_fd from = client(&w, false, PORT);
	say(from, "x");
	id = hear_question(&w, "udp://echo.example:7777");
	policies[0] = w.policy;
	policies[1] =
		test_compile("network: {allow: ['udp://127.0.0.1', 'udp://echo.example:7777']}");
	judge_init(&w.judge, policies[1]);
	assert_int_equal(quota_change(w.quota, policies[1]), 0);
	answer(&w, id, ANSWER_ALLOW);
	turn_until(&w, server);
	expect(server, "x");
	echo(&w, server, from, "ping", "pong");
	judge_init(&w.judge, policies[0]);
	assert_int_equal(quota_change(w.quota, policies[0]), 0);
	flows_review(w.flows);
	expect_refused(&w, from);
	assert_int_equal(flows_count(w.flows), 0);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_DENIED], 1);
	assert_int_equal(w.counts[RECORD_CLOSED], 1);
	say(from, "y");
	(void)hear_question(&w, "udp://echo.example:7777");
	assert_false(is_ready(server));
	end(&w);
	policy_free(policies[1]);
}

/* A datagram to 8.8.8.N, by a socket that must be closed. */
static int say_to_host(unsigned n, const char *text)
{
	char host[32];
	struct address a;
	int fd;

	(void)snprintf(host, sizeof(host), "8.8.8.%u", n);
	a = netns_address(host);
	fd = client_to(&a, PORT);
	say(fd, text);
	return fd;
}

static void on_connection(
	struct asker_wait *wait, enum asker_end how, const struct net_judgement *j)
{
	(void)wait;
	(void)how;
	(void)j;
}

/* A flood of hosts: some are asked about, the others are refused at once. Flows that are there, new
 * ones that are granted, and questions about connections do not suffer from it. */
static void test_ask_flood(void **state)
{
	struct asker_wait connection = { .done = on_connection };
	struct net_judgement tcp = { .target = "a.com:443", .rule = "r" };
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	int fds[3 * ASKER_FLOW_QUESTIONS_MAX];

	(void)state;
	make_asking(&w, ASK_ALL, 0, LONG_MS);
	auto_fd before = client(&w, false, PORT);
	echo(&w, server, before, "ping", "pong");
	for (unsigned i = 0; i < ROWS(fds); i++) {
		fds[i] = say_to_host(i + 1, "x");
		if (i < ASKER_FLOW_QUESTIONS_MAX)
			turn_until(&w, w.questions[1]);
		else
			expect_refused(&w, fds[i]);
		while (hear(&w) != FRAME_NONE)
			assert_int_equal(w.frame.type, FRAME_QUESTION);
	}
	assert_int_equal(flows_count(w.flows), ASKER_FLOW_QUESTIONS_MAX + 1);
	read_records(&w);
	assert_non_null(strstr(w.reason, "too many questions"));
	assert_int_equal(w.counts[RECORD_DENIED], ROWS(fds) - ASKER_FLOW_QUESTIONS_MAX);
	echo(&w, server, before, "still", "here");
	auto_fd after = client(&w, true, PORT);
	echo(&w, server, after, "new", "too");
	assert_true(asker_join(w.asker, &connection, &tcp, NULL));
	assert_int_equal(hear(&w), FRAME_QUESTION);
	assert_string_equal(w.question.target, "a.com:443");
	asker_leave(&connection, QUESTION_GIVEN_UP);
	for (unsigned i = 0; i < ROWS(fds); i++)
		fd_close(&fds[i]);
	end(&w);
}

/* A flood of senders with long datagrams to one host: what is kept of them is bounded, and leaves
 * room for flows that are being dialled. */
static void test_ask_flood_of_one(void **state)
{
	enum { EACH = 4 };
	static char data[FLOWS_ASKING_BYTES + 1];
	static int fds[ASKER_FLOWS_MAX + 4];
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);

	(void)state;
	memset(data, 'x', sizeof(data) - 1);
	_Static_assert(EACH * ASKER_FLOWS_MAX * FLOWS_ASKING_BYTES > FLOWS_WAITING_BYTES_ALL, "");
	make_asking(&w, ASK_ALL, 0, LONG_MS);
	for (unsigned i = 0; i < ROWS(fds); i++) {
		fds[i] = say_to_host(1, data);
		if (i >= ASKER_FLOWS_MAX) {
			expect_refused(&w, fds[i]);
			continue;
		}
		for (int k = 1; k < EACH; k++)
			say(fds[i], data);
		turn_until_flows(&w, i + 1);
	}
	assert_int_equal(flows_count(w.flows), ASKER_FLOWS_MAX);
	assert_int_equal(hear(&w), FRAME_QUESTION);
	assert_int_equal(hear(&w), FRAME_NONE);
	auto_fd granted = client(&w, false, PORT);
	echo(&w, server, granted, "ping", "pong");
	for (unsigned i = 0; i < ROWS(fds); i++)
		fd_close(&fds[i]);
	end(&w);
}

/* A datagram of more than a flow may keep is lost; those behind it are not. */
static void test_ask_long(void **state)
{
	static char data[FLOWS_ASKING_BYTES + 1];
	struct world w;
	uint16_t port;
	auto_fd server = netns_serve(SOCK_DGRAM, "127.0.0.1", PORT, &port);
	uint64_t id;

	(void)state;
	memset(data, 'x', sizeof(data));
	make_asking(&w, ASK, 0, LONG_MS);
	auto_fd from = client(&w, true, PORT), last = client(&w, true, PORT);
	assert_int_equal(send(from, data, sizeof(data), 0), sizeof(data));
	say(from, "a");
	assert_int_equal(send(from, data, sizeof(data) - 1, 0), sizeof(data) - 1);
	say(from, "b");
	say(last, "c");
	id = hear_question(&w, "udp://echo.example:7777");
	turn_until_flows(&w, 2);
	answer(&w, id, ANSWER_ONCE);
	for (const char *text = "a\0b\0c\0"; *text; text += 2) {
		turn_until(&w, server);
		expect(server, text);
	}
	/* Then the bound is that of all flows. */
	assert_int_equal(send(from, data, sizeof(data), 0), sizeof(data));
	turn_until(&w, server);
	assert_int_equal(recv(server, data, sizeof(data), MSG_DONTWAIT), sizeof(data));
	/* A sender of nothing else hears of a no, too. */
	auto_fd other = client(&w, false, PORT);
	assert_int_equal(send(other, data, sizeof(data), 0), sizeof(data));
	answer(&w, hear_question(&w, "udp://echo.example:7777"), ANSWER_DENY);
	expect_refused(&w, other);
	end(&w);
}

/* No user can be asked: the sender gets an ICMP error at once. */
static void test_ask_nobody(void **state)
{
	struct world w;

	(void)state;
	make(&w, ASK, 0);
	for (int i = 0; i < 2; i++) {
		auto_fd from = client(&w, i, PORT);

		say(from, "x");
		expect_refused(&w, from);
	}
	assert_int_equal(flows_count(w.flows), 0);
	read_records(&w);
	assert_int_equal(w.counts[RECORD_DENIED], 2);
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

/* If the table is full, the oldest flows make room, also one that waits for an answer. */
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
	make_asking(&w,
		"network: {" GRANT "}\nrules: [{id: r, action: ask, operations: [net.connect], "
		"patterns: ['udp://8.8.4.4:*']}]",
		0, LONG_MS);
	a = netns_address("8.8.4.4");
	auto_fd asks = client_to(&a, PORT);
	say(asks, "x");
	(void)hear_question(&w, "udp://8.8.4.4:7777");
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
	turn_until_flows(&w, FLOWS_MAX);
	expect_refused(&w, asks);
	assert_int_equal(hear(&w), FRAME_QUESTION_OVER);
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
		cmocka_unit_test(test_denied_groups),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_failed),
		cmocka_unit_test(test_ask_once),
		cmocka_unit_test(test_ask_time),
		cmocka_unit_test(test_ask_review),
		cmocka_unit_test(test_ask_elsewhere),
		cmocka_unit_test(test_ask_others),
		cmocka_unit_test(test_ask_revoked),
		cmocka_unit_test(test_ask_flood),
		cmocka_unit_test(test_ask_flood_of_one),
		cmocka_unit_test(test_ask_long),
		cmocka_unit_test(test_ask_nobody),
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
