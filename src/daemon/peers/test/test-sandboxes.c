/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sandboxes that join: through a real listener, loop, trail and frames, with the parts that answer
 * their frames. The test is the holder at the other end. Where the peer runs, events for clients,
 * the folder of missed events and the clock are the test's.
 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#include "audit/test/test-audit.h"
#include "base/array.h"
#include "base/fd.h"
#include "daemon/api/api.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/peers.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/peers/test/test-journal.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/security-watch.h"
#include "test/failing.h"

#define ID_A "0123456789abcdef"
#define ID_B "fedcba9876543210"

FAILING_CALLOC
FAILING(char *, arena_strdup, (struct arena * a, const char *s), a, s)

/* Other parts */

static struct {
	uint64_t now_ms;
	size_t refused, said, left, looked, published, removed;
	int origin;
	char line[512], type[32];
	struct buffer json;
} says;

int __wrap_clock_gettime(clockid_t clock, struct timespec *ret);
int __wrap_clock_gettime(clockid_t clock, struct timespec *ret)
{
	(void)clock;
	*ret = (struct timespec){ .tv_sec = (time_t)(says.now_ms / 1000),
		.tv_nsec = (long)(says.now_ms % 1000) * 1000000 };
	return 0;
}

int __wrap_origin_check(
	const struct marks *own, int socket, struct origin_peer *ret, const char **ret_why);
int __wrap_origin_check(
	const struct marks *own, int socket, struct origin_peer *ret, const char **ret_why)
{
	(void)own;
	(void)socket;
	*ret = (struct origin_peer){ .pid = 77, .uid = geteuid() };
	*ret_why = says.origin ? "it is inside" : NULL;
	return says.origin;
}

void __wrap_security_watch_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why);
void __wrap_security_watch_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why)
{
	(void)s;
	assert_string_equal(name, "join.sock");
	assert_int_equal(peer->pid, 77);
	assert_string_equal(why, "it is inside");
	says.refused++;
}

void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json);
void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json)
{
	(void)s;
	says.published++;
	(void)snprintf(says.type, sizeof(says.type), "%s", type);
	buffer_clear(&says.json);
	buffer_adds(&says.json, json);
}

static void journal_heard(const char *line)
{
	(void)snprintf(says.line, sizeof(says.line), "%s", line);
	says.said++;
}

void __wrap_missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last);
void __wrap_missed_leave(struct supervisor *s, const char *id, uint64_t number, uint64_t last)
{
	(void)s;
	(void)last;
	assert_string_equal(id, ID_A);
	assert_int_equal(number, 9);
	says.left++;
}

void __wrap_missed_look_soon(struct supervisor *s);
void __wrap_missed_look_soon(struct supervisor *s)
{
	(void)s;
	says.looked++;
}

void __wrap_missed_prepare(struct supervisor *s);
void __wrap_missed_prepare(struct supervisor *s)
{
	(void)s;
}

void __wrap_missed_doubt(struct supervisor *s);
void __wrap_missed_doubt(struct supervisor *s)
{
	(void)s;
}

void __wrap_missed_settle(struct supervisor *s, uint64_t committed);
void __wrap_missed_settle(struct supervisor *s, uint64_t committed)
{
	(void)s;
	(void)committed;
}

void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason);
void __wrap_api_answered(struct supervisor *s, uint64_t id, unsigned status, const char *reason)
{
	(void)s;
	(void)id;
	(void)status;
	(void)reason;
}

void __wrap_http_link_flush(struct supervisor *s);
void __wrap_http_link_flush(struct supervisor *s)
{
	(void)s;
}

void __wrap_runtime_folder_remove(const struct runtime_folder *f, const char *name);
void __wrap_runtime_folder_remove(const struct runtime_folder *f, const char *name)
{
	(void)f;
	assert_string_equal(name, "join.sock");
	says.removed++;
}

/* The daemon */

struct world {
	struct supervisor s;
	struct bench *bench;
	struct sockaddr_un address;
};

static int setup(void **state)
{
	struct world *w = __real_calloc(1, sizeof(*w));
	struct audit_trail_options o = { .session = "s", .user = "0", .sandbox = "box" };
	int listener;

	if (!w)
		return -1;
	memset(&says, 0, sizeof(says));
	says.now_ms = 1000000;
	w->bench = bench_new();
	o.store = &w->bench->options;
	buffer_adds(&w->s.journal.path, w->bench->path);
	w->s.peers.missed.presence = w->s.peers.missed.prepared = -1;
	w->address.sun_family = AF_UNIX;
	(void)snprintf(
		w->address.sun_path, sizeof(w->address.sun_path), "%s/join.sock", w->bench->folder);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	*state = w;
	if (bind(listener, (const struct sockaddr *)&w->address, sizeof(w->address)) < 0 ||
		listen(listener, 64) < 0 || loop_new(&w->s.loop) < 0 ||
		audit_trail_new(&w->s.journal.trail, &o, NULL) < 0)
		return -1;
	return sandboxes_open(&w->s, listener);
}

static int teardown(void **state)
{
	struct world *w = *state;

	(void)failing_stop();
	sandboxes_close(&w->s);
	assert_true(link_is_alone(&w->s.peers.sandboxes));
	assert_int_equal(w->s.peers.n_sandboxes, 0);
	assert_int_equal(says.removed, 1);
	loop_free(w->s.loop);
	assert_int_equal(audit_trail_close(w->s.journal.trail, NULL), 0);
	buffer_deinit(&w->s.journal.path);
	buffer_deinit(&says.json);
	bench_free(w->bench);
	free(w);
	return 0;
}

static void turn(struct world *w)
{
	assert_int_equal(loop_turn(w->s.loop, 0), 0);
}

/* Holders */

static int dial(struct world *w)
{
	int fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&w->address, sizeof(w->address)), 0);
	turn(w);
	return fd;
}

static void say_hello(int fd, const char *id)
{
	const struct join j = { .started_ms = 5,
		.kind = JOIN_RUN,
		.id = id,
		.name = "skill",
		.command = "run \"it\"",
		.folder = "/home/u",
		.policy = "p.yaml" };
	auto_buffer body = { 0 };

	assert_int_equal(join_encode(&j, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_JOIN, 0, body.data, body.len, NULL, 0), 0);
}

static void expect(int fd, enum frame_type type)
{
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(fd, &f), 1);
	assert_int_equal(f.type, type);
}

static bool is_open(int fd)
{
	auto_frame f = { 0 };
	int r;

	do
		r = frame_receive(fd, &f);
	while (r == 1);
	return r == -EAGAIN;
}

static int join(struct world *w, const char *id)
{
	int fd = dial(w);

	say_hello(fd, id);
	turn(w);
	expect(fd, FRAME_JOINED);
	return fd;
}

static void send_event(int fd, const struct audit_event *e, uint64_t id)
{
	auto_buffer body = { 0 };

	audit_event_encode(e, &body);
	assert_false(body.failed);
	assert_int_equal(frame_send(fd, FRAME_JOIN_EVENT, id, body.data, body.len, NULL, 0), 0);
}

static struct audit_event event_of(const char *session, uint64_t n)
{
	return (struct audit_event){ .time_ns = n * 1000000,
		.sequence = n,
		.session = session,
		.user = "0",
		.pid = 8,
		.program = "cat",
		.action = AUDIT_FS_READ,
		.target = "/x",
		.decision = AUDIT_DENIED,
		.rule = "r",
		.reason = "no",
		.count = 1 };
}

static void expect_rule_broken(struct world *w, int *fd)
{
	turn(w);
	assert_false(is_open(*fd));
	assert_int_equal(says.said, 1);
	assert_non_null(strstr(says.line, "pid 77 broke the rules of joining"));
	says.said = 0;
	fd_close(fd);
}

#define MEMBERS(events, denied, stopping)                                                          \
	"\"id\":\"" ID_A "\",\"pid\":77,\"started_ms\":5,\"events\":" events ",\"denied\":" denied \
	",\"files\":\"not watched\",\"stopping\":" stopping                                        \
	",\"name\":\"skill\",\"command\":\"run "                                                   \
	"\\\"it\\\"\",\"folder\":\"/home/"                                                         \
	"u\",\"policy\":\"p.yaml\",\"kind\":\"run\",\"questions\":0"

/* One that joins is shown from its hello to its end, and each is an event. */
static void test_join_and_leave(void **state)
{
	struct world *w = *state;
	auto_buffer before = { 0 }, out = { 0 }, after = { 0 };
	auto_fd fd = dial(w);

	assert_int_equal(w->s.peers.n_sandboxes, 0);
	sandboxes_print(&w->s, &before);
	assert_string_equal(before.data, "{\"sandboxes\":[]}\n");
	say_hello(fd, ID_A);
	turn(w);
	expect(fd, FRAME_JOINED);
	assert_int_equal(w->s.peers.n_sandboxes, 1);
	assert_int_equal(w->s.api.metrics.joined, 1);
	assert_string_equal(says.type, "sandbox");
	assert_string_equal(says.json.data,
		"{\"state\":\"joined\",\"sandbox\":{" MEMBERS("0", "0", "false") "}}");
	sandboxes_print(&w->s, &out);
	assert_string_equal(out.data, "{\"sandboxes\":[{" MEMBERS("0", "0", "false") "}]}\n");
	assert_non_null(peers_find(&w->s, ID_A));
	assert_null(peers_find(&w->s, ID_B));
	assert_null(peers_find(&w->s, ""));
	fd_close(&fd);
	turn(w);
	assert_string_equal(says.json.data,
		"{\"state\":\"left\",\"sandbox\":{" MEMBERS("0", "0", "false") "}}");
	assert_int_equal(w->s.peers.n_sandboxes, 0);
	assert_int_equal(says.looked, 1);
	/* To go is no breach. */
	assert_int_equal(says.said, 0);
	sandboxes_print(&w->s, &after);
	assert_string_equal(after.data, "{\"sandboxes\":[]}\n");
}

/* Texts that do not fit into an event: it names the sandbox, so that clients read the list. */
static void test_long(void **state)
{
	struct world *w = *state;
	char text[JOIN_TEXT_MAX + 1];
	const struct join j = { .id = ID_A, .command = text };
	auto_buffer body = { 0 }, out = { 0 };
	auto_fd fd = dial(w);

	/* Control characters are six bytes each in JSON. */
	memset(text, '\1', JOIN_TEXT_MAX);
	text[JOIN_TEXT_MAX] = '\0';
	assert_int_equal(join_encode(&j, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_JOIN, 0, body.data, body.len, NULL, 0), 0);
	turn(w);
	assert_string_equal(
		says.json.data, "{\"state\":\"joined\",\"sandbox\":{\"id\":\"" ID_A "\"}}");
	sandboxes_print(&w->s, &out);
	assert_true(out.len > MESSAGE_EVENT_MAX);
	fd_close(&fd);
	turn(w);
	assert_string_equal(
		says.json.data, "{\"state\":\"left\",\"sandbox\":{\"id\":\"" ID_A "\"}}");
}

/* One that does not say who it is has SANDBOX_HELLO_MS; one that did has all the time. */
static void test_no_hello(void **state)
{
	struct world *w = *state;
	auto_fd silent = dial(w), joined = join(w, ID_A);

	says.now_ms += SANDBOX_HELLO_MS - 1;
	turn(w);
	assert_true(is_open(silent));
	says.now_ms += 1;
	turn(w);
	assert_false(is_open(silent));
	assert_true(is_open(joined));
	says.now_ms += UINT64_C(1000) * SANDBOX_HELLO_MS;
	turn(w);
	assert_true(is_open(joined));
	/* It was never shown. */
	assert_int_equal(says.published, 1);
}

/* Frames before the hello, a second hello, one that is cut, another's id. */
static void test_rules(void **state)
{
	static const enum frame_type early[] = { FRAME_JOIN_EVENT, FRAME_JOIN_DETAILS,
		FRAME_JOIN_REPLY, FRAME_JOIN_LEFT, FRAME_QUESTION, FRAME_GRANTED, FRAME_JOINED,
		FRAME_START };
	struct world *w = *state;
	struct audit_event others = event_of(ID_B, 1);
	auto_fd first = -1;
	int fd;

	for (size_t i = 0; i < ROWS(early); i++) {
		fd = dial(w);
		assert_int_equal(frame_send(fd, early[i], 1, NULL, 0, NULL, 0), 0);
		expect_rule_broken(w, &fd);
	}
	fd = dial(w);
	assert_int_equal(frame_send(fd, FRAME_JOIN, 0, "x", 1, NULL, 0), 0);
	expect_rule_broken(w, &fd);
	fd = dial(w);
	assert_int_equal(send(fd, "garbage", 7, MSG_NOSIGNAL), 7);
	turn(w);
	assert_false(is_open(fd));
	fd_close(&fd);
	says.said = 0;
	fd = join(w, ID_A);
	say_hello(fd, ID_B);
	expect_rule_broken(w, &fd);
	/* Records of another session. */
	fd = join(w, ID_A);
	send_event(fd, &others, 0);
	expect_rule_broken(w, &fd);
	assert_int_equal(w->s.api.metrics.decisions[AUDIT_DENIED], 0);
	/* Two of one id: the first stays. */
	first = join(w, ID_A);
	fd = dial(w);
	say_hello(fd, ID_A);
	expect_rule_broken(w, &fd);
	assert_true(is_open(first));
	assert_int_equal(w->s.peers.n_sandboxes, 1);
}

/* So many at once. */
static void test_full(void **state)
{
	struct world *w = *state;
	auto_fd fd = dial(w);
	auto_fd next = -1;

	w->s.peers.n_sandboxes = SANDBOXES_MAX;
	say_hello(fd, ID_A);
	turn(w);
	assert_false(is_open(fd));
	assert_int_equal(w->s.peers.n_sandboxes, SANDBOXES_MAX);
	w->s.peers.n_sandboxes = 0;
	next = join(w, ID_A);
	assert_int_equal(w->s.peers.n_sandboxes, 1);
}

/* A peer inside a sandbox is refused, and reported; one that has ended is not. */
static void test_origin(void **state)
{
	struct world *w = *state;
	auto_fd inside = -1, ended = -1, outside = -1;

	says.origin = -EACCES;
	inside = dial(w);
	assert_false(is_open(inside));
	assert_int_equal(says.refused, 1);
	says.origin = -ESRCH;
	ended = dial(w);
	assert_false(is_open(ended));
	assert_int_equal(says.refused, 1);
	assert_true(link_is_alone(&w->s.peers.sandboxes));
	says.origin = 0;
	outside = join(w, ID_A);
	assert_true(is_open(outside));
}

/* Events */

static uint64_t records(struct world *w)
{
	struct audit_log *l = NULL;
	uint64_t first, last;

	assert_int_equal(audit_trail_flush(w->s.journal.trail, NULL), 0);
	assert_int_equal(audit_log_open(&l, w->bench->path, NULL), 0);
	assert_int_equal(audit_log_range(l, &first, &last, NULL), 0);
	audit_log_close(l);
	return last;
}

/* Each is counted, in the log, and an event of its type. */
static void test_events(void **state)
{
	static const struct {
		enum audit_action action;
		const char *type;
	} rows[] = { { AUDIT_COMMAND_START, "sandbox" }, { AUDIT_COMMAND_END, "sandbox" },
		{ AUDIT_SESSION, "sandbox" }, { AUDIT_CONFINEMENT, "sandbox" },
		{ AUDIT_POLICY, "policy" }, { AUDIT_NET_CONNECT, "decision" },
		{ AUDIT_LIMIT, "decision" } };
	struct world *w = *state;
	struct audit_event e = event_of(ID_A, 3);
	const struct sandbox *b;
	auto_fd fd = join(w, ID_A);

	b = peers_find(&w->s, ID_A);
	send_event(fd, &e, 0);
	turn(w);
	assert_string_equal(says.type, "decision");
	assert_string_equal(says.json.data,
		"{\"id\":\"" ID_A "\",\"time_ms\":3,\"pid\":8,\"status\":0,\"count\":1,\"action\":"
		"\"fs.read\",\"decision\":\"denied\",\"target\":\"/x\",\"program\":\"cat\","
		"\"rule\":\"r\",\"reason\":\"no\"}");
	assert_int_equal(b->events, 1);
	assert_int_equal(b->denied, 1);
	for (size_t i = 0; i < ROWS(rows); i++) {
		e = event_of(ID_A, 4 + i);
		e.action = rows[i].action;
		e.decision = AUDIT_ALLOWED;
		send_event(fd, &e, 0);
		turn(w);
		assert_string_equal(says.type, rows[i].type);
	}
	assert_int_equal(b->events, 1 + ROWS(rows));
	assert_int_equal(b->denied, 1);
	assert_int_equal(w->s.api.metrics.decisions[AUDIT_DENIED], 1);
	assert_int_equal(w->s.api.metrics.decisions[AUDIT_ALLOWED], ROWS(rows));
	assert_int_equal(records(w), 1 + ROWS(rows));
	/* One that its holder wrote is shown, and not written again. */
	e = event_of(ID_A, 100);
	send_event(fd, &e, JOIN_EVENT_WRITTEN);
	turn(w);
	assert_int_equal(b->events, 2 + ROWS(rows));
	assert_int_equal(records(w), 1 + ROWS(rows));
	/* A look-up is one, though there are two kinds of address; what is counted is so often. */
	e = event_of(ID_A, 120);
	e.action = AUDIT_NET_NAME;
	for (int i = 0; i < 2; i++)
		send_event(fd, &e, 0);
	turn(w);
	assert_int_equal(b->denied, 3);
	e.target = "other.example";
	send_event(fd, &e, 0);
	e = event_of(ID_A, 5000);
	e.action = AUDIT_NET_NAME;
	send_event(fd, &e, 0);
	e = event_of(ID_A, 5001);
	e.count = 3;
	send_event(fd, &e, 0);
	turn(w);
	assert_int_equal(b->denied, 8);
}

/* In one turn of the loop so many frames of one sandbox, so that others get theirs. */
static void test_turn_bound(void **state)
{
	enum { EACH = 64, MORE = 6 };
	struct world *w = *state;
	const struct sandbox *b;
	auto_fd fd = join(w, ID_A);

	b = peers_find(&w->s, ID_A);
	for (uint64_t i = 1; i <= EACH + MORE; i++) {
		const struct audit_event e = event_of(ID_A, i);

		send_event(fd, &e, 0);
	}
	turn(w);
	assert_int_equal(b->events, EACH);
	turn(w);
	assert_int_equal(b->events, EACH + MORE);
}

/* A holder that ends without having read all: what it sent is taken in any case. */
static void test_reset(void **state)
{
	struct world *w = *state;
	auto_fd fd = dial(w);

	say_hello(fd, ID_A);
	turn(w);
	for (uint64_t i = 1; i <= 3; i++) {
		const struct audit_event e = event_of(ID_A, i);

		send_event(fd, &e, 0);
	}
	/* JOINED was not read. */
	fd_close(&fd);
	turn(w);
	turn(w);
	assert_int_equal(w->s.peers.n_sandboxes, 0);
	assert_int_equal(w->s.api.metrics.decisions[AUDIT_DENIED], 3);
	assert_int_equal(records(w), 3);
	assert_int_equal(says.said, 0);
}

/* JOIN_LEFT is the last frame. */
static void test_left(void **state)
{
	struct world *w = *state;
	const struct audit_event e = event_of(ID_A, 1);
	int fd = join(w, ID_A);

	send_event(fd, &e, 0);
	assert_int_equal(frame_send(fd, FRAME_JOIN_LEFT, 9, NULL, 0, NULL, 0), 0);
	turn(w);
	assert_int_equal(says.left, 0);
	fd_close(&fd);
	turn(w);
	assert_int_equal(says.left, 1);
	assert_int_equal(says.looked, 0);
	fd = join(w, ID_A);
	assert_int_equal(frame_send(fd, FRAME_JOIN_LEFT, 9, NULL, 0, NULL, 0), 0);
	send_event(fd, &e, 0);
	expect_rule_broken(w, &fd);
	assert_int_equal(w->s.api.metrics.decisions[AUDIT_DENIED], 1);
}

/* Details */

static void send_details(int fd, const struct join_details *d)
{
	auto_buffer body = { 0 };

	assert_int_equal(join_details_encode(d, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_JOIN_DETAILS, 0, body.data, body.len, NULL, 0), 0);
}

static void expect_details(struct world *w, const char *rest)
{
	auto_buffer out = { 0 }, wanted = { 0 };

	buffer_printf(&wanted, "{" MEMBERS("0", "0", "false") ",%s,\"grants\":[]}", rest);
	sandboxes_print_details(peers_find(&w->s, ID_A), &out);
	assert_string_equal(out.data, wanted.data);
}

/* What it may do, as it said last. */
static void test_details(void **state)
{
	static struct join_details d;
	struct world *w = *state;
	int fd = join(w, ID_A);

	expect_details(w, "\"permissions\":[],\"ceiling\":[],\"limits\":{}");
	d.n_permissions = 2;
	d.permissions[0] = "read /a";
	d.permissions[1] = "say \"x\"";
	d.n_ceiling = 1;
	d.ceiling[0] = "write /b";
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		d.limits[i] = LIMIT_NONE;
	d.limits[1] = 4096;
	send_details(fd, &d);
	turn(w);
	expect_details(w, "\"permissions\":[\"read /a\",\"say \\\"x\\\"\"],\"ceiling\":[\"write "
			  "/b\"],\"limits\":{\"memory\":4096}");
	d.n_permissions = d.n_ceiling = 0;
	d.limits[1] = LIMIT_NONE;
	send_details(fd, &d);
	turn(w);
	expect_details(w, "\"permissions\":[],\"ceiling\":[],\"limits\":{}");
	assert_int_equal(frame_send(fd, FRAME_JOIN_DETAILS, 0, "x", 1, NULL, 0), 0);
	expect_rule_broken(w, &fd);
}

/* The order to end is sent, and shown once it is. */
static void test_stop(void **state)
{
	struct world *w = *state;
	auto_buffer out = { 0 };
	auto_fd fd = join(w, ID_A);
	struct sandbox *b = peers_find(&w->s, ID_A);

	assert_int_equal(sandboxes_stop(b), 0);
	expect(fd, FRAME_JOIN_STOP);
	sandboxes_print(&w->s, &out);
	assert_string_equal(out.data, "{\"sandboxes\":[{" MEMBERS("0", "0", "true") "}]}\n");
	b->is_stopping = false;
	fd_close(&fd);
	assert_int_equal(sandboxes_stop(b), -EPIPE);
	assert_false(b->is_stopping);
}

/* The daemon ends: what was sent is read, committed and acknowledged, also of those that wait to be
 * accepted. */
static void test_close(void **state)
{
	struct world *w = *state;
	auto_fd fd = join(w, ID_A), waiting = -1;
	auto_frame f = { 0 };

	for (uint64_t i = 1; i <= 3; i++) {
		const struct audit_event e = event_of(ID_A, i);

		send_event(fd, &e, 0);
	}
	waiting = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(
		connect(waiting, (const struct sockaddr *)&w->address, sizeof(w->address)), 0);
	say_hello(waiting, ID_B);
	sandboxes_close(&w->s);
	assert_int_equal(frame_receive(fd, &f), 1);
	assert_int_equal(f.type, FRAME_JOIN_ACK);
	assert_int_equal(f.id, 3);
	assert_int_equal(frame_receive(fd, &f), 0);
	expect(waiting, FRAME_JOINED);
	assert_false(is_open(waiting));
	assert_int_equal(records(w), 3);
	assert_int_equal(w->s.peers.join.fd, -1);
	/* What comes later is not lost in a socket that is not read. */
	assert_int_equal(frame_send(fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), -EPIPE);
}

/* Without memory a connection is closed, and the next one joins. */
static void test_memory(void **state)
{
	struct world *w = *state;
	auto_fd none = -1, fd = -1;
	long n;

	failing_start(0);
	none = dial(w);
	assert_true(failing_stop());
	assert_false(is_open(none));
	for (n = 0;; n++) {
		fd_close(&fd);
		fd = dial(w);
		say_hello(fd, ID_A);
		failing_start(n);
		turn(w);
		if (!failing_stop())
			break;
		assert_false(is_open(fd));
		assert_int_equal(w->s.peers.n_sandboxes, 0);
		assert_int_equal(says.published, 0);
	}
	/* Five texts. */
	assert_int_equal(n, 5);
	expect(fd, FRAME_JOINED);
	assert_int_equal(w->s.peers.n_sandboxes, 1);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_join_and_leave, setup, teardown),
		cmocka_unit_test_setup_teardown(test_long, setup, teardown),
		cmocka_unit_test_setup_teardown(test_no_hello, setup, teardown),
		cmocka_unit_test_setup_teardown(test_rules, setup, teardown),
		cmocka_unit_test_setup_teardown(test_full, setup, teardown),
		cmocka_unit_test_setup_teardown(test_origin, setup, teardown),
		cmocka_unit_test_setup_teardown(test_events, setup, teardown),
		cmocka_unit_test_setup_teardown(test_turn_bound, setup, teardown),
		cmocka_unit_test_setup_teardown(test_reset, setup, teardown),
		cmocka_unit_test_setup_teardown(test_left, setup, teardown),
		cmocka_unit_test_setup_teardown(test_details, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stop, setup, teardown),
		cmocka_unit_test_setup_teardown(test_close, setup, teardown),
		cmocka_unit_test_setup_teardown(test_memory, setup, teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
