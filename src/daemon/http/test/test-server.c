/* SPDX-License-Identifier: Apache-2.0 */
/* The server of corrald-http between real sockets: this test is corrald, and the clients. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "daemon/http/server.h"
#include "daemon/message.h"
#include "daemon/route.h"
#include "daemon/supervisor/test/test-clock.h"
#include "wire/frame.h"

#define TOKEN "0123456789abcdef0123456789abcdef0123456789abcdef0123456789abcdef"
#define GET(path) \
	"GET " path " HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer " TOKEN "\r\n\r\n"

enum { TURNS_MAX = 10000, CLIENTS_MAX = 768 };

struct stage {
	struct server *server;
	int corrald, theirs;
	struct frame frame;
};

static int setup(void **state)
{
	const struct message_setup m = { .heartbeat_ms = 60000, .token = TOKEN };
	struct stage *s = calloc(1, sizeof(*s));
	int pair[2];

	assert_non_null(s);
	assert_int_equal(frame_pair(pair), 0);
	for (size_t i = 0; i < ROWS(pair); i++)
		assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
	s->corrald = pair[0];
	s->theirs = pair[1];
	assert_int_equal(server_new(&s->server, &(struct server_options){ .setup = &m,
							.supervisor = s->theirs,
							.version = "1.2.3" }),
		0);
	*state = s;
	return 0;
}

static int teardown(void **state)
{
	struct stage *s = *state;

	server_free(s->server);
	frame_deinit(&s->frame);
	fd_close(&s->corrald);
	fd_close(&s->theirs);
	free(s);
	return 0;
}

static void turn(struct stage *s)
{
	assert_int_equal(server_turn(s->server, 0), 0);
}

/* A client's end of a connection that corrald hands over. */
static int enter(struct stage *s, const char *refusal)
{
	int pair[2];

	assert_int_equal(
		socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair), 0);
	assert_int_equal(frame_send(s->corrald, FRAME_API_CLIENT, 0, refusal, strlen(refusal) + 1,
				 &pair[1], 1),
		0);
	(void)close(pair[1]);
	turn(s);
	return pair[0];
}

static void say(struct stage *s, int fd, const char *text)
{
	assert_int_equal(send(fd, text, strlen(text), MSG_NOSIGNAL), strlen(text));
	turn(s);
}

static void hears(int fd, const char *status, const char *part)
{
	static char text[1 << 18];
	const ssize_t n = recv(fd, text, sizeof(text) - 1, 0);

	assert_true(n > 0);
	text[n] = '\0';
	if (strncmp(text, status, strlen(status)) != 0 || !strstr(text, part))
		fail_msg("heard %s, not %s %s", text, status, part);
}

static bool is_closed(int fd)
{
	char byte;

	return recv(fd, &byte, 1, MSG_PEEK) == 0;
}

/* The next frame for corrald; NULL: there is none. */
static const struct frame *corrald_hears(struct stage *s)
{
	const int r = frame_receive(s->corrald, &s->frame);

	assert_true(r == 1 || r == -EAGAIN);
	return r == 1 ? &s->frame : NULL;
}

static void corrald_answers(struct stage *s, uint64_t id, unsigned status, const char *json)
{
	const struct message_answer a = { .status = status, .json = json, .len = strlen(json) };
	auto_buffer body = { 0 };

	assert_int_equal(message_answer_encode(&a, &body), 0);
	assert_int_equal(
		frame_send(s->corrald, FRAME_API_ANSWER, id, body.data, body.len, NULL, 0), 0);
	turn(s);
}

static void test_calls(void **state)
{
	struct stage *s = *state;
	auto_fd fd = enter(s, "");
	const struct frame *f;
	struct route_call c;
	uint64_t id;

	say(s, fd, "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
	hears(fd, "HTTP/1.1 200 ", "{\"status\":\"ok\",\"version\":\"1.2.3\"}");
	assert_null(corrald_hears(s));
	/* Two at once are answered one after the other. */
	say(s, fd, GET("/api/status") GET("/api/status"));
	f = corrald_hears(s);
	assert_non_null(f);
	assert_int_equal(f->type, FRAME_API_CALL);
	assert_int_equal(route_call_decode(&c, f->body, f->len), 0);
	assert_ptr_equal(c.route, &routes[ROUTE_STATUS]);
	id = f->id;
	assert_null(corrald_hears(s));
	corrald_answers(s, id, 200, "{\"a\":1}");
	hears(fd, "HTTP/1.1 200 OK\r\n", "\r\n\r\n{\"a\":1}");
	f = corrald_hears(s);
	assert_non_null(f);
	assert_int_equal(f->id, id + 1);
	corrald_answers(s, f->id, 404, "{}");
	hears(fd, "HTTP/1.1 404 ", "\r\n\r\n{}");
	assert_int_equal(server_clients(s->server), 1);
}

/* Who may not ask is refused, whatever it shows, and corrald hears of it. */
static void test_refusals(void **state)
{
	static const struct {
		const char *text, *status;
	} rows[] = {
		{ "GET /api/status HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 401 " },
		{ "GET /api/status HTTP/1.1\r\nHost: evil\r\n\r\n", "HTTP/1.1 403 " },
		{ "GET /api/health HTTP/1.1\r\nHost: localhost\r\nOrigin: \r\n\r\n",
			"HTTP/1.1 403 " },
		{ "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 404 " },
		{ "PUT /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n", "HTTP/1.1 405 " },
		{ "nonsense\r\n\r\n", "HTTP/1.1 400 " },
	};
	struct stage *s = *state;
	auto_fd inside = enter(s, "it runs in a sandbox");

	say(s, inside, GET("/api/status"));
	hears(inside, "HTTP/1.1 403 ", "it runs in a sandbox; only processes outside");
	assert_int_equal(corrald_hears(s)->type, FRAME_API_NOTE);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_fd fd = enter(s, "");
		const struct frame *f;
		struct message_note m;

		say(s, fd, rows[i].text);
		hears(fd, rows[i].status, "Connection: close\r\n");
		/* Behind it nothing is read. */
		(void)send(fd, GET("/api/status"), strlen(GET("/api/status")), MSG_NOSIGNAL);
		turn(s);
		f = corrald_hears(s);
		assert_non_null(f);
		assert_int_equal(f->type, FRAME_API_NOTE);
		assert_int_equal(message_note_decode(&m, f->body, f->len), 0);
		assert_true(m.by_unix);
		assert_null(corrald_hears(s));
		assert_true(is_closed(fd));
	}
}

/* So many refusals that corrald would be kept busy by hearing of them: 20 in a second. */
static void test_notes_are_bounded(void **state)
{
	struct stage *s = *state;
	const struct frame *f;
	struct message_note m;
	size_t n = 0;

	for (int i = 0; i < 100; i++) {
		auto_fd fd = enter(s, "");

		say(s, fd, "GET /nothing HTTP/1.1\r\nHost: localhost\r\n\r\n");
	}
	while (corrald_hears(s))
		n++;
	assert_int_equal(n, 20);
	/* The last of the others stands for all of them. */
	clock_passed += 1000;
	turn(s);
	f = corrald_hears(s);
	assert_non_null(f);
	assert_int_equal(message_note_decode(&m, f->body, f->len), 0);
	assert_int_equal(m.more, 79);
	assert_null(corrald_hears(s));
}

/* Half a request, an answer that is not read, and silence have an end; a call has none here. */
static void test_time(void **state)
{
	struct stage *s = *state;
	auto_fd half = enter(s, ""), silent = enter(s, ""), waits = enter(s, "");

	say(s, waits, GET("/api/status"));
	say(s, half, "GET /api/status HT");
	clock_passed += 9999;
	say(s, half, "T");
	assert_false(is_closed(half));
	clock_passed += 1;
	turn(s);
	assert_true(is_closed(half));
	assert_false(is_closed(silent));
	clock_passed += 50000;
	turn(s);
	assert_true(is_closed(silent));
	clock_passed += 3600000;
	turn(s);
	assert_int_equal(server_clients(s->server), 1);
	assert_false(is_closed(waits));
}

static void test_a_client_that_goes(void **state)
{
	struct stage *s = *state;
	auto_fd fd = enter(s, "");
	uint64_t id;

	say(s, fd, GET("/api/status"));
	id = corrald_hears(s)->id;
	fd_close(&fd);
	turn(s);
	assert_int_equal(server_clients(s->server), 0);
	assert_non_null(corrald_hears(s));
	assert_int_equal(s->frame.type, FRAME_API_GONE);
	assert_int_equal(s->frame.id, id);
	/* The answer comes too late, and is nobody's. */
	corrald_answers(s, id, 200, "{}");
}

static void corrald_tells(struct stage *s, uint64_t id, const char *json)
{
	auto_buffer body = { 0 };

	assert_int_equal(
		message_event_encode(&(struct message_event){ "decision", json }, &body), 0);
	assert_int_equal(
		frame_send(s->corrald, FRAME_API_EVENT, id, body.data, body.len, NULL, 0), 0);
	turn(s);
}

static void test_events(void **state)
{
	struct stage *s = *state;
	auto_fd fd = enter(s, ""), other = enter(s, "");

	say(s, fd, GET("/sse/events"));
	hears(fd, "HTTP/1.1 200 ", "text/event-stream");
	assert_int_equal(corrald_hears(s)->type, FRAME_API_NOTE);
	corrald_tells(s, 7, "{\"a\":1}");
	hears(fd, "id: 7\nevent: decision\ndata: {\"a\":1}\n\n", "");
	/* It is not asked any more. */
	say(s, fd, GET("/api/status"));
	assert_null(corrald_hears(s));
	/* One that does not read holds up no other. */
	for (uint64_t id = 8; id < 5000; id++)
		corrald_tells(s, id, "{\"b\":\"123456789012345678901234567890\"}");
	say(s, other, "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n");
	hears(other, "HTTP/1.1 200 ", "ok");
	assert_int_equal(server_clients(s->server), 2);
}

/* For a new one the longest silent goes, and none that listens or waits. */
static void test_many(void **state)
{
	struct stage *s = *state;
	auto_fd waits = enter(s, ""), listens = enter(s, "");
	static int fds[CLIENTS_MAX];
	struct rlimit files;

	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	say(s, waits, GET("/api/status"));
	say(s, listens, GET("/sse/events"));
	for (size_t i = 0; i < ROWS(fds); i++)
		fds[i] = enter(s, "");
	assert_int_equal(server_clients(s->server), CLIENTS_MAX);
	assert_false(is_closed(waits));
	hears(listens, "HTTP/1.1 200 ", "text/event-stream");
	assert_true(is_closed(fds[0]));
	assert_true(is_closed(fds[1]));
	assert_false(is_closed(fds[2]));
	corrald_answers(s, corrald_hears(s)->id, 200, "{}");
	hears(waits, "HTTP/1.1 200 ", "{}");
	for (size_t i = 0; i < ROWS(fds); i++)
		(void)close(fds[i]);
}

/* Whatever breaks the protocol ends the server: corrald starts another. */
static void test_a_corrald_of_another_mind(void **state)
{
	static const enum frame_type types[] = { FRAME_API_CALL, FRAME_API_ANSWER, FRAME_API_EVENT,
		FRAME_API_CLIENT, FRAME_API_TAB };
	struct stage *s = *state;

	for (size_t i = 0; i < ROWS(types); i++) {
		int r = 0;

		assert_int_equal(frame_send(s->corrald, types[i], 1, "", 1, NULL, 0), 0);
		for (int n = 0; n < TURNS_MAX && r == 0; n++)
			r = server_turn(s->server, 0);
		assert_int_equal(r, -EPIPE);
		teardown(state);
		setup(state);
		s = *state;
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(test_calls),
		TEST(test_refusals),
		TEST(test_notes_are_bounded),
		TEST(test_time),
		TEST(test_a_client_that_goes),
		TEST(test_events),
		TEST(test_many),
		TEST(test_a_corrald_of_another_mind),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
