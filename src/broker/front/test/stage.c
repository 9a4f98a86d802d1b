/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include "broker/front/test/stage.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/fd.h"
#include "broker/value.h"

static void stage_listen_http(struct stage *s)
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);

	s->http = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(s->http, (struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(getsockname(s->http, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(listen(s->http, 64), 0);
	s->port = ntohs(a.sin_port);
	/* What is sent by TCP takes a moment. */
	s->wait_ms = 1;
}

static int stage_make_with(void **state, unsigned stall_ms, bool has_http)
{
	static unsigned n;
	struct stage *s = calloc(1, sizeof(*s));
	struct front_options o = { .version = "1.2.3", .stall_ms = stall_ms };
	struct rlimit files;
	int pair[2];

	assert_non_null(s);
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	s->address.sun_family = AF_UNIX;
	/* An abstract name: nothing is left in the file system. */
	s->len = (socklen_t)offsetof(struct sockaddr_un, sun_path) +
		 (socklen_t)snprintf(s->address.sun_path, sizeof(s->address.sun_path),
			 "@corral-front-%d-%u", getpid(), n++);
	s->address.sun_path[0] = '\0';
	s->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	assert_int_equal(bind(s->listener, (struct sockaddr *)&s->address, s->len), 0);
	assert_int_equal(listen(s->listener, 1024), 0);
	assert_int_equal(frame_pair(pair), 0);
	s->monitor = pair[0];
	s->theirs = pair[1];
	assert_int_equal(fcntl(s->monitor, F_SETFL, O_NONBLOCK), 0);
	assert_int_equal(fcntl(s->theirs, F_SETFL, O_NONBLOCK), 0);
	o.listener = s->listener;
	o.monitor = s->theirs;
	s->http = -1;
	if (has_http) {
		stage_listen_http(s);
		o.http = s->http;
		o.token = TOKEN;
	}
	assert_int_equal(front_new(&s->front, &o), 0);
	*state = s;
	return 0;
}

int stage_make(void **state)
{
	return stage_make_with(state, 0, false);
}

int stage_make_impatient(void **state)
{
	return stage_make_with(state, 300, false);
}

int stage_make_http(void **state)
{
	return stage_make_with(state, 0, true);
}

int stage_make_http_impatient(void **state)
{
	return stage_make_with(state, 200, true);
}

int stage_remove(void **state)
{
	struct stage *s = *state;

	front_free(s->front);
	frame_deinit(&s->frame);
	fd_close(&s->listener);
	fd_close(&s->http);
	fd_close(&s->monitor);
	fd_close(&s->theirs);
	free(s);
	return 0;
}

int stage_connect(const struct stage *s)
{
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&s->address, s->len), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

int stage_connect_http(const struct stage *s)
{
	const struct sockaddr_in a = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(s->port) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(fcntl(fd, F_SETFL, O_NONBLOCK), 0);
	return fd;
}

void stage_turn(struct stage *s)
{
	assert_int_equal(front_turn(s->front, s->wait_ms), 0);
}

void say(struct stage *s, int fd, const char *text)
{
	size_t len = strlen(text), sent = 0;

	for (int i = 0; sent < len; i++) {
		ssize_t n = send(fd, text + sent, len - sent, MSG_NOSIGNAL);

		assert_true(i < TURNS_MAX);
		sent += n > 0 ? (size_t)n : 0;
		stage_turn(s);
	}
}

const char *hear(struct stage *s, int fd)
{
	static char line[1 << 16];
	size_t len = 0;

	for (int i = 0; i < TURNS_MAX && len + 1 < sizeof(line); i++) {
		ssize_t n = recv(fd, line + len, 1, 0);

		if (n == 0 || (n < 0 && errno == ECONNRESET))
			return NULL;
		if (n < 0)
			stage_turn(s);
		else if (line[len++] == '\n') {
			line[len - 1] = '\0';
			return line;
		}
	}
	fail_msg("no line came");
	return NULL;
}

void hears(struct stage *s, int fd, const char *part)
{
	const char *line = hear(s, fd);

	if (!line || !strstr(line, part))
		fail_msg("heard %s, not %s", line ? line : "nothing", part);
}

bool is_closed(struct stage *s, int fd)
{
	char byte;

	stage_turn(s);
	return recv(fd, &byte, 1, MSG_PEEK) == 0 || errno == ECONNRESET;
}

struct frame *monitor_hears(struct stage *s)
{
	for (int i = 0; i < TURNS_MAX; i++) {
		int r = frame_receive(s->monitor, &s->frame);

		if (r == 1)
			return &s->frame;
		assert_int_equal(r, -EAGAIN);
		stage_turn(s);
	}
	fail_msg("the monitor hears nothing");
	return NULL;
}

void monitor_answers(struct stage *s, uint64_t id, const char *content)
{
	struct values v = { 0 };
	auto_buffer body = { 0 };

	v.v[0] = (struct value){ .type = SCHEMA_DATA, .text = content, .len = strlen(content) };
	v.v[2] = value_number(SCHEMA_NUMBER, strlen(content));
	v.v[3] = value_number(SCHEMA_TIME, 0);
	assert_int_equal(values_encode(method_rows[METHOD_FS_READ].results, &v, &body), 0);
	assert_int_equal(
		frame_send(s->monitor, FRAME_CALL_ANSWER, id, body.data, body.len, NULL, 0), 0);
}
