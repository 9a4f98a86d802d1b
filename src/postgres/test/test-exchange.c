/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "postgres/exchange.h"

static const char nonce[] = "rOprNGfwEbeRWgbNEkqO1234";

struct world {
	struct pg_exchange x;
	struct buffer to_server, to_client;
};

static void begin(struct world *w, bool is_tls, size_t binding)
{
	*w = (struct world){ .x = { .state = EXCHANGE_LOGIN } };
	assert_int_equal(exchange_init(&w->x, &(struct pg_exchange_options){ .is_tls = is_tls,
						      .binding = "abc",
						      .binding_len = binding,
						      .password = "pencil",
						      .password_len = 6,
						      .nonce = nonce,
						      .greeting = "hello",
						      .greeting_len = 5 }),
		0);
}

static void end(struct world *w)
{
	exchange_deinit(&w->x);
	buffer_deinit(&w->to_server);
	buffer_deinit(&w->to_client);
}

/* Whole, and before that each part of it. */
static int take(struct world *w, const char *bytes, size_t len)
{
	for (size_t n = 0; n < len; n++)
		if (exchange_take(&w->x, bytes, n, &w->to_server, &w->to_client) != 0)
			return -EACCES;
	return exchange_take(&w->x, bytes, len, &w->to_server, &w->to_client);
}

#define TAKE(w, text) take(w, text, sizeof(text) - 1)

/* Which mechanism is chosen, and what it says of the channel. */
static void test_mechanisms(void **state)
{
	static const char both[] = "R\0\0\0\x2a\0\0\0\x0aSCRAM-SHA-256-PLUS\0SCRAM-SHA-256\0",
			  one[] = "R\0\0\0\x17\0\0\0\x0aSCRAM-SHA-256\0";
	static const struct {
		bool is_tls;
		size_t binding;
		bool has_both;
		const char *sent; /* NULL: refused */
	} rows[] = {
		{ true, 3, true, "SCRAM-SHA-256-PLUS p=tls-server-end-point,,n=,r=" },
		{ true, 3, false, "SCRAM-SHA-256 y,,n=,r=" },
		{ true, 0, true, "SCRAM-SHA-256 n,,n=,r=" },
		{ false, 0, false, "SCRAM-SHA-256 n,,n=,r=" },
		{ false, 0, true, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const size_t len = rows[i].has_both ? sizeof(both) : sizeof(one);
		const char *sent = rows[i].sent, *space = sent ? strchr(sent, ' ') : NULL;
		struct world w;
		int r;

		begin(&w, rows[i].is_tls, rows[i].binding);
		r = take(&w, rows[i].has_both ? both : one, len);
		assert_int_equal(r, sent ? (int)len : -EACCES);
		if (sent) {
			const size_t name = (size_t)(space - sent);

			assert_memory_equal(w.to_server.data + 5, sent, name);
			assert_memory_equal(
				w.to_server.data + 5 + name + 5, space + 1, strlen(space + 1));
		}
		assert_int_equal(w.to_client.len, 0);
		assert_false(w.x.is_proved);
		end(&w);
	}
}

/* Nothing of these lets a client in, or gives away more than the nonce. */
static void test_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t len;
		const char *why;
	} rows[] = {
#define ROW(text, why) { text, sizeof(text) - 1, why }
		ROW("R\0\0\0\x08\0\0\0\0", "asks for no password"),
		ROW("R\0\0\0\x08\0\0\0\3", "never sent"),
		ROW("R\0\0\0\x0c\0\0\0\5salt", "MD5"),
		ROW("R\0\0\0\x08\0\0\0\7", "not by a password"),
		ROW("R\0\0\0\x0b\0\0\0\x0b...", "not the protocol"),
		ROW("R\0\0\0\x0b\0\0\0\x0c...", "not the protocol"),
		ROW("R\0\0\0\x0a\0\0\0\x0aX\0", "not the protocol"),
		ROW("R\0\0\0\x0b\0\0\0\x0aX\0\0", "no login by SCRAM"),
		ROW("R\0\0\0\x04", "not the protocol"),
		ROW("R\0\0\0\x03", "not the protocol"),
		ROW("R\x7f\xff\xff\xff", "not the protocol"),
		ROW("v\0\0\0\x08\0\0\0\0", "not the protocol"),
		ROW("Z\0\0\0\x05I", "not the protocol"),
		ROW("\0", "not the protocol"),
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct world w;

		begin(&w, true, 3);
		if (take(&w, rows[i].bytes, rows[i].len) != -EACCES ||
			!strstr(w.x.why, rows[i].why))
			fail_msg("row %zu: %s", i, w.x.why ? w.x.why : "not refused");
		assert_int_equal(w.to_server.len + w.to_client.len, 0);
		end(&w);
	}
}

static void test_error(void **state)
{
	struct world w;

	(void)state;
	begin(&w, false, 0);
	assert_int_equal(TAKE(&w, "N\0\0\0\x05\0"), 6);
	assert_int_equal(w.to_client.len, 0);
	assert_int_equal(TAKE(&w, "E\0\0\0\x08Mx\0\0"), 9);
	assert_int_equal(w.x.state, EXCHANGE_REFUSED);
	assert_memory_equal(w.to_client.data, "E\0\0\0\x08Mx\0\0", 9);
	end(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_mechanisms),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_error),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
