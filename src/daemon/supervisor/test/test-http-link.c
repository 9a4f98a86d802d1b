/* SPDX-License-Identifier: Apache-2.0 */
/* The link to corrald-http: what it waits for, when it is flushed, tabs of the page. */
#include "daemon/supervisor/test/test-link.h"

#include "daemon/supervisor/http-link.h"
#include "test/failing.h"

FAILING_REALLOC

static void fill_id(struct message_tab *t, size_t n)
{
	memset(t->key, (int)(n & 0xff), sizeof(t->key));
	for (size_t i = 0; i < PROOF_ID; i++, n /= 16)
		t->id[i] = "0123456789abcdef"[n % 16];
	t->id[PROOF_ID] = '\0';
}

static void test_room(void **state)
{
	(void)state;
	assert_true(http_link_has_room(link_s));
	link_fill();
	/* What the socket takes is not known before something is sent. */
	assert_true(http_link_has_room(link_s));
	outbox_add(&link_s->http.out, FRAME_API_GONE, 1, NULL, 0, -1);
	assert_false(http_link_has_room(link_s));
	link_drain();
	outbox_flush(&link_s->http.out);
	assert_true(http_link_has_room(link_s));
	link_s->http.child.pid = 0;
	assert_false(http_link_has_room(link_s));
}

/* It waits to send while something waits, and not longer: the loop would spin. */
static void test_events(void **state)
{
	(void)state;
	http_link_flush(link_s);
	assert_int_equal(link_s->http.link.events, EPOLLIN);
	link_fill();
	outbox_add(&link_s->http.out, FRAME_API_GONE, 1, NULL, 0, -1);
	http_link_flush(link_s);
	assert_int_equal(link_s->http.link.events, EPOLLIN | EPOLLOUT);
	link_drain();
	outbox_flush(&link_s->http.out);
	http_link_flush(link_s);
	assert_int_equal(link_s->http.link.events, EPOLLIN);
	assert_int_equal(link_flushed, 3);
	assert_false(link_s->http.out.broken);
}

/* While its frame is read it is not ended, so its holder is not called; the reader flushes then. */
static void test_heard(void **state)
{
	(void)state;
	link_s->http.is_heard = true;
	link_s->http.out.broken = true;
	http_link_flush(link_s);
	assert_int_equal(link_flushed, 0);
	link_s->http.is_heard = false;
	http_link_flush(link_s);
	assert_int_equal(link_flushed, 1);
}

static void test_no_process(void **state)
{
	(void)state;
	link_s->http.child.pid = 0;
	link_s->http.flushed = NULL;
	http_link_flush(link_s);
	assert_int_equal(link_flushed, 0);
}

/* A loop that does not take the change breaks the link, and the holder learns so. */
static void test_loop_fails(void **state)
{
	(void)state;
	link_fill();
	outbox_add(&link_s->http.out, FRAME_API_GONE, 1, NULL, 0, -1);
	assert_false(link_s->http.out.broken);
	/* The descriptor is closed under the loop's feet. */
	(void)close(link_s->http.child.socket);
	http_link_flush(link_s);
	assert_true(link_s->http.out.broken);
	assert_int_equal(link_flushed, 1);
	link_s->http.child.socket = -1;
	link_s->http.link.fd = -1;
}

static void expect_tab(const struct message_tab *t)
{
	struct message_tab got;

	assert_non_null(link_receive());
	assert_int_equal(link_frame.type, FRAME_API_TAB);
	assert_int_equal(message_tab_decode(&got, link_frame.body, link_frame.len), 0);
	assert_string_equal(got.id, t->id);
	assert_memory_equal(got.key, t->key, sizeof(got.key));
}

/* The ring has the latest PROOF_TABS_MAX, and the oldest goes first. */
static void test_tabs(void **state)
{
	const size_t n = PROOF_TABS_MAX + 3;
	struct message_tab t;

	(void)state;
	for (size_t i = 0; i < n; i++) {
		fill_id(&t, i);
		assert_int_equal(http_link_add_tab(link_s, &t), 0);
		expect_tab(&t);
	}
	assert_int_equal(link_s->http.tabs.n, n);
	for (size_t i = n - PROOF_TABS_MAX; i < n; i++) {
		fill_id(&t, i);
		assert_string_equal(link_s->http.tabs.rows[i % PROOF_TABS_MAX].id, t.id);
	}
	assert_null(link_receive());
}

static void test_bad_tab(void **state)
{
	struct message_tab t = { .id = "not hexadecimal" };

	(void)state;
	assert_int_equal(http_link_send_tab(link_s, &t), -EINVAL);
	assert_null(link_receive());
}

static void test_tab_memory(void **state)
{
	struct message_tab t;

	(void)state;
	fill_id(&t, 77);
	failing_start(0);
	assert_int_equal(http_link_send_tab(link_s, &t), -ENOMEM);
	assert_true(failing_stop());
	assert_null(link_receive());
	assert_int_equal(http_link_send_tab(link_s, &t), 0);
	expect_tab(&t);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		LINK_TEST(test_room),
		LINK_TEST(test_events),
		LINK_TEST(test_heard),
		LINK_TEST(test_no_process),
		LINK_TEST(test_loop_fails),
		LINK_TEST(test_tabs),
		LINK_TEST(test_bad_tab),
		LINK_TEST(test_tab_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
