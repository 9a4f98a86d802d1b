/* SPDX-License-Identifier: Apache-2.0 */
/* A broker that answers what it likes. */
#include "test/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "wasm/host-call.h"

/* What comes of a call if the broker sends these lines and closes. sent: what it got. */
static int call(const char *text, const char *lines, struct buffer *out, char *sent, size_t room)
{
	struct host_call h = { .number = 0 };
	ssize_t n;
	int pair[2], r;

	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM, 0, pair), 0);
	assert_int_equal(write(pair[1], lines, strlen(lines)), strlen(lines));
	assert_int_equal(shutdown(pair[1], SHUT_WR), 0);
	h.connection.fd = pair[0];
	r = host_call_make(&h, "ping", text, strlen(text), out);
	n = recv(pair[1], sent, room - 1, MSG_DONTWAIT);
	sent[n > 0 ? n : 0] = '\0';
	host_call_close(&h);
	assert_int_equal(close(pair[1]), 0);
	return r;
}

static void test_answers(void **state)
{
	static const struct {
		const char *lines;
		int result;
		const char *out;
	} rows[] = {
		{ "{\"id\": 1, \"result\": {\"a\": 1}}\n", 0, "{\"a\":1}" },
		{ "{\"id\": 1, \"error\": {\"code\": -1}}\n", 0, "{\"error\": {\"code\":-1}}" },
		/* Notes, and answers of other calls, before it. */
		{ "{\"method\": \"note\"}\n{\"id\": 7, \"result\": 2}\n{\"id\": 1, \"result\": "
		  "3}\n",
			0, "3" },
		{ "", -EPIPE, NULL },
		{ "{\"id\": 1, \"result\": 3}", -EPIPE, NULL },
		{ "{\"id\": 2, \"result\": 3}\n", -EPIPE, NULL },
		{ "nonsense\n", -EPROTO, NULL },
		{ "{\"id\": 1}\n", -EPROTO, NULL },
		{ "[]\n", -EPIPE, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer out = { 0 };
		char sent[256];

		assert_int_equal(
			call("{}", rows[i].lines, &out, sent, sizeof(sent)), rows[i].result);
		if (rows[i].out)
			assert_string_equal(buffer_text(&out), rows[i].out);
		assert_string_equal(sent, "{\"jsonrpc\": \"2.0\", \"id\": 1, \"method\": \"ping\", "
					  "\"params\": {}}\n");
	}
}

/* Nothing goes out for what is no call; and what does is one line. */
static void test_texts(void **state)
{
	static const char *const wrong[] = { "", "x", "[]", "1", "{}{}", "{\"a\": 1,}" };

	(void)state;
	for (size_t i = 0; i < ROWS(wrong); i++) {
		auto_buffer out = { 0 };
		char sent[256];

		assert_int_equal(call(wrong[i], "", &out, sent, sizeof(sent)), 0);
		assert_non_null(strstr(buffer_text(&out), "-32600"));
		assert_string_equal(sent, "");
	}
	{
		auto_buffer out = { 0 };
		char sent[256];

		assert_int_equal(call("{\"a\":\n\n \"b\\n\"}", "{\"id\": 1, \"result\": 1}\n", &out,
					 sent, sizeof(sent)),
			0);
		assert_ptr_equal(strchr(sent, '\n'), sent + strlen(sent) - 1);
		assert_non_null(strstr(sent, "{\"a\":\"b\\n\"}"));
	}
}

static void test_none(void **state)
{
	struct host_call h = { .connection = { .fd = -1 } };
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(host_call_make(&h, "ping", "{}", 2, &out), 0);
	assert_non_null(strstr(buffer_text(&out), "-32005"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_answers),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_none),
	};

	return cmocka_run_group_tests_name("wasm-host-call", tests, NULL, NULL);
}
