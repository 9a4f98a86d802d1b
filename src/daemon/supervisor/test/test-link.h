/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * A supervisor with a loop, lines for people in a memfd, and a link to corrald-http whose other end
 * is the test's. All else in it is zero.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/supervisor.h"

static struct supervisor *link_s; /* of the test that runs */
static int link_peer = -1;        /* corrald-http's end */
static struct frame link_frame;
static size_t link_flushed;

static inline void link_on_flushed(struct supervisor *s)
{
	assert_ptr_equal(s, link_s);
	link_flushed++;
}

static inline void link_on_ready(struct watcher *w, uint32_t events)
{
	(void)w;
	(void)events;
}

static inline int link_setup(void **state)
{
	int pair[2];

	link_s = calloc(1, sizeof(*link_s));
	assert_non_null(link_s);
	assert_int_equal(loop_new(&link_s->loop), 0);
	assert_int_equal(frame_pair(pair), 0);
	for (size_t i = 0; i < ROWS(pair); i++)
		assert_int_equal(fcntl(pair[i], F_SETFL, O_NONBLOCK), 0);
	link_peer = pair[1];
	link_s->http = (struct http_process){ .child = { getpid(), pair[0] },
		.link = { .ready = link_on_ready, .fd = -1 },
		.out = { .socket = pair[0] },
		.flushed = link_on_flushed };
	assert_int_equal(loop_add(link_s->loop, &link_s->http.link, pair[0], EPOLLIN), 0);
	link_s->journal.fd = memfd_create("log", MFD_CLOEXEC);
	assert_true(link_s->journal.fd >= 0);
	link_s->config.level = CONFIG_DEBUG;
	link_flushed = 0;
	*state = link_s;
	return 0;
}

static inline int link_teardown(void **state)
{
	(void)state;
	frame_deinit(&link_frame);
	link_frame = (struct frame){ 0 };
	bus_deinit(&link_s->bus);
	outbox_deinit(&link_s->http.out);
	loop_remove(link_s->loop, &link_s->http.link);
	fd_close(&link_s->http.child.socket);
	fd_close(&link_peer);
	fd_close(&link_s->journal.fd);
	loop_free(link_s->loop);
	free(link_s);
	link_s = NULL;
	return 0;
}

/* corrald-http receives: the next frame, or NULL if there is none. */
static inline const struct frame *link_receive(void)
{
	const int r = frame_receive(link_peer, &link_frame);

	if (r == -EAGAIN)
		return NULL;
	assert_int_equal(r, 1);
	return &link_frame;
}

/* corrald-http receives an event with this id, type and JSON. */
static inline void link_expect_event(uint64_t id, const char *type, const char *json)
{
	const struct frame *f = link_receive();
	struct message_event m;

	assert_non_null(f);
	assert_int_equal(f->type, FRAME_API_EVENT);
	assert_int_equal(f->id, id);
	assert_int_equal(message_event_decode(&m, f->body, f->len), 0);
	assert_string_equal(m.type, type);
	if (json)
		assert_string_equal(m.json, json);
}

/* corrald-http receives this answer. */
static inline void link_expect_answer(uint64_t id, unsigned status, const char *json)
{
	const struct frame *f = link_receive();
	struct message_answer a;

	assert_non_null(f);
	assert_int_equal(f->type, FRAME_API_ANSWER);
	assert_int_equal(f->id, id);
	assert_int_equal(message_answer_decode(&a, f->body, f->len), 0);
	assert_int_equal(a.status, status);
	assert_int_equal(a.len, strlen(json));
	assert_memory_equal(a.json, json, a.len);
}

/* Whether the lines for people have this text. */
static inline bool link_said(const char *text)
{
	static char said[1 << 16];
	const ssize_t n = pread(link_s->journal.fd, said, sizeof(said) - 1, 0);

	assert_true(n >= 0);
	said[n] = '\0';
	return strstr(said, text) != NULL;
}

/* The socket takes nothing more. What fills it has the type FRAME_GONE. */
static inline void link_fill(void)
{
	int r;

	do {
		r = frame_send(link_s->http.out.socket, FRAME_GONE, 0, NULL, 0, NULL, 0);
	} while (r == 0);
	assert_int_equal(r, -EAGAIN);
}

/* corrald-http reads what link_fill() sent. */
static inline void link_drain(void)
{
	while (link_receive())
		assert_int_equal(link_frame.type, FRAME_GONE);
}

#define LINK_TEST(f) cmocka_unit_test_setup_teardown(f, link_setup, link_teardown)
