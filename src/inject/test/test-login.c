/* SPDX-License-Identifier: Apache-2.0 */
/* Turns of those who log in at one host, what is handed on, and what is refused. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "inject/answers.h"
#include "inject/login.h"
#include "net/gate/http-requests.h"
#include "vault/secret.h"

#define ANSWER "{\"access_token\":\"gho_value\",\"refresh_token\":\"ghr_value\"}"

struct world {
	struct loop *loop;
	struct placeholders *placeholders;
	struct inject_login login;
	struct login_ask asks[3];
	unsigned answered[3], looked, sent;
	bool is_refresh;
	uint64_t number;
	char stand_ins[LEND_TOKENS_MAX][256];
	int result; /* of sending */
};

static struct world w;

static void world_on_answered(struct login_ask *a)
{
	w.answered[a - w.asks]++;
}

static int world_send(void *context, const struct lend_tokens *t)
{
	(void)context;
	w.sent++;
	w.is_refresh = t->is_refresh;
	w.number = t->number;
	for (size_t i = 0; i < LEND_TOKENS_MAX; i++)
		(void)snprintf(w.stand_ins[i], sizeof(w.stand_ins[i]), "%s", t->items[i].stand_in);
	return w.result;
}

static void world_look(void *context)
{
	(void)context;
	w.looked++;
}

static int setup(void **state)
{
	(void)state;
	w = (struct world){ 0 };
	assert_int_equal(loop_new(&w.loop), 0);
	assert_int_equal(placeholders_new(&w.placeholders), 0);
	w.login = (struct inject_login){ .name = "GH",
		.path = "/oauth/token",
		.loop = w.loop,
		.placeholders = w.placeholders,
		.send = world_send,
		.look = world_look };
	login_init(&w.login);
	for (size_t i = 0; i < ROWS(w.asks); i++)
		w.asks[i] = (struct login_ask){ .login = &w.login, .answered = world_on_answered };
	return 0;
}

static int teardown(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(w.asks); i++)
		login_leave(&w.asks[i]);
	loop_stop(w.loop, &w.login.wake);
	loop_stop(w.loop, &w.login.late);
	placeholders_free(w.placeholders);
	loop_free(w.loop);
	return 0;
}

static int judge(struct login_ask *a, const char *method, const char *path, const char *query)
{
	return login_judge(
		a, &(struct http_request){ .method = method, .path = path, .query = query });
}

static void test_turns(void **state)
{
	(void)state;
	assert_int_equal(judge(&w.asks[0], "POST", "/oauth/token", NULL), 0);
	/* Asked once more, as where the policy is asked as well. */
	assert_int_equal(judge(&w.asks[0], "POST", "/oauth/token", NULL), 0);
	assert_int_equal(judge(&w.asks[1], "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_int_equal(judge(&w.asks[2], "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_int_equal(w.looked, 1);
	login_done(&w.asks[0]);
	assert_int_equal(loop_turn(w.loop, -1), 0);
	assert_true(w.answered[1] == 1 && w.answered[2] == 0);
	/* It has gone meanwhile: the next one's turn comes. */
	login_leave(&w.asks[1]);
	assert_int_equal(loop_turn(w.loop, -1), 0);
	assert_int_equal(w.answered[2], 1);
	assert_int_equal(judge(&w.asks[2], "POST", "/oauth/token", NULL), 0);
	assert_int_equal(w.looked, 2);
	/* Other paths do not wait. */
	assert_int_equal(judge(&w.asks[0], "GET", "/api", NULL), 0);
}

static void test_paths(void **state)
{
	static const char *const variants[] = { "/oauth//token", "/oauth/token/", "/OAuth/token",
		"/oauth/%74oken", "/oauth%2ftoken", "/oauth/token;a=b", "/oauth\\token",
		"/oauth/./token", "/x/../oauth/token", "//oauth/token", "/oauth/token." };
	static const char *const others[] = { "/", "/oauth", "/oauth/token2", "/oauth/tokens",
		"*" };

	(void)state;
	for (size_t i = 0; i < ROWS(variants); i++) {
		assert_int_equal(judge(&w.asks[0], "POST", variants[i], NULL), -EACCES);
		assert_non_null(strstr(login_why(&w.asks[0]), "another way"));
		login_leave(&w.asks[0]);
	}
	for (size_t i = 0; i < ROWS(others); i++)
		assert_int_equal(judge(&w.asks[0], "POST", others[i], NULL), 0);
	assert_false(w.login.is_busy);
}

/* A code in a URL: at the path of the login it is refused by name, elsewhere its tokens are. */
static void test_gets(void **state)
{
	static const char *const methods[] = { "GET", "HEAD", "PUT", "OPTIONS", "get" };
	static const struct {
		const char *query;
		int hold;
	} rows[] = {
		{ NULL, ANSWERS_PASS },
		{ "", ANSWERS_PASS },
		{ "page=2&per_page=100", ANSWERS_PASS },
		{ "encode=1&x=code", ANSWERS_PASS },
		{ "client_id=me&code=abc", ANSWERS_TRY },
		{ "c%6Fde=abc", ANSWERS_TRY },
		{ "x=1;Code=abc", ANSWERS_TRY },
		{ "grant_type=refresh_token", ANSWERS_TRY },
		{ "device_code", ANSWERS_TRY },
		{ "&&refresh_token=x&", ANSWERS_TRY },
	};
	struct login_ask *a = &w.asks[0];

	(void)state;
	for (size_t i = 0; i < ROWS(methods); i++) {
		assert_int_equal(judge(a, methods[i], "/oauth/token", "code=1"), -EACCES);
		assert_non_null(strstr(login_why(a), "by POST alone"));
		login_leave(a);
		assert_false(w.login.is_busy);
	}
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(judge(a, "GET", "/oauth/access", rows[i].query), 0);
		assert_int_equal(login_hold(a, 200, "application/json", 16), rows[i].hold);
	}
	assert_int_equal(login_take(a, ANSWER, strlen(ANSWER), true), -EACCES);
	assert_non_null(strstr(login_why(a), "at another path"));
}

/* Other runs */

static uint64_t runs_taken, runs_given;
static int runs_result;

static int runs_take(void *context, uint64_t number)
{
	(void)context;
	runs_taken = number;
	return runs_result;
}

static void runs_give(void *context, uint64_t number)
{
	(void)context;
	runs_given = number;
}

static void test_runs(void **state)
{
	struct login_ask *a = &w.asks[0], *b = &w.asks[1];

	(void)state;
	runs_taken = runs_given = 0;
	runs_result = 0;
	w.login.take = runs_take;
	w.login.give = runs_give;
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_int_equal(judge(b, "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_true(runs_taken == 1 && w.looked == 0 && !login_lends(a, "GH_REFRESH"));
	/* An answer to an earlier question changes nothing. */
	login_turn(&w.login, 7, "");
	assert_int_equal(w.answered[0], 0);
	login_turn(&w.login, 1, "");
	assert_true(w.answered[0] == 1 && w.answered[1] == 0);
	/* What another run has stored is looked up now. */
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), 0);
	assert_true(w.looked == 1 && runs_given == 0);
	login_done(a);
	assert_int_equal(runs_given, 1);
	assert_int_equal(loop_turn(w.loop, -1), 0);
	assert_int_equal(w.answered[1], 1);
	assert_int_equal(judge(b, "POST", "/oauth/token", NULL), HTTP_HOLD);
	assert_int_equal(runs_taken, 2);
	/* It leaves while it waits: the turn is given back, and is nobody's when it comes. */
	login_leave(b);
	assert_int_equal(runs_given, 2);
	login_turn(&w.login, 2, "");
	assert_false(w.login.is_busy);
	/* Where no order can be had, nothing goes. */
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), HTTP_HOLD);
	login_turn(&w.login, 3, "no lock");
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), -EACCES);
	assert_string_equal(login_why(a), "no lock");
	login_leave(a);
	runs_result = -EPIPE;
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), -EACCES);
	login_leave(a);
	assert_false(w.login.is_busy);
}

/* An answer is handed on, waits, and is printed with what stands for its tokens. */
static void test_stored(void **state)
{
	struct login_ask *a = &w.asks[0];
	auto_buffer out = { 0 };

	(void)state;
	assert_int_equal(judge(a, "POST", "/other", NULL), 0);
	assert_false(login_lends(a, "GH_REFRESH"));
	assert_int_equal(judge(a, "POST", "/oauth/token", NULL), 0);
	assert_true(login_lends(a, "GH_REFRESH") && !login_lends(a, "GH"));
	login_body(a, "grant_type=authorization_code&code=1", 36);
	assert_int_equal(login_hold(a, 200, "application/json", 16), ANSWERS_HOLD);
	assert_int_equal(login_take(a, ANSWER, strlen(ANSWER), true), 1);
	assert_true(w.sent == 1 && !w.is_refresh && !w.answered[0]);
	login_stored(&w.login, w.number + 1, "");
	assert_int_equal(w.answered[0], 0);
	login_stored(&w.login, w.number, "");
	assert_int_equal(w.answered[0], 1);
	assert_int_equal(login_print(a, &out), 0);
	assert_null(strstr(out.data, "value"));
	assert_non_null(strstr(out.data, w.stand_ins[LEND_TOKEN_ACCESS] + PLACEHOLDER_MARK));
	assert_non_null(strstr(out.data, w.stand_ins[LEND_TOKEN_REFRESH] + PLACEHOLDER_MARK));
	login_done(a);
	/* A refresh by that placeholder. */
	assert_int_equal(placeholders_put(w.placeholders, "GH_REFRESH",
				 w.stand_ins[LEND_TOKEN_REFRESH], "ghr_value", 9),
		0);
	buffer_clear(&out);
	buffer_printf(&out, "grant_type=refresh_token&refresh_token=%s",
		w.stand_ins[LEND_TOKEN_REFRESH] + PLACEHOLDER_MARK);
	for (int i = 0; i < 2; i++) {
		/* With a query it is a login. */
		assert_int_equal(judge(a, "POST", "/oauth/token", i == 1 ? "a=b" : NULL), 0);
		login_body(a, out.data, out.len);
		assert_int_equal(login_hold(a, 200, "application/json", 16), ANSWERS_HOLD);
		assert_int_equal(login_take(a, ANSWER, strlen(ANSWER), true), 1);
		assert_int_equal(w.is_refresh, i == 0);
		login_stored(&w.login, w.number, "");
		login_done(a);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const char *type, *body, *why;
		unsigned status;
		bool is_unframed;
	} rows[] = {
		{ "text/html", NULL, "neither JSON nor a form", 200, false },
		{ "application/json", "{\"access_token\":", "not, or has a name twice", 200,
			false },
		{ "application/x-www-form-urlencoded", "access_token=012345", "where it ends", 200,
			true },
		{ "application/json", ANSWER, "cannot be handed on", 200, false },
	};

	(void)state;
	w.result = -EPIPE;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct login_ask *a = &w.asks[0];
		int r;

		assert_int_equal(judge(a, "POST", "/oauth/token", NULL), 0);
		r = login_hold(a, rows[i].status, rows[i].type, strlen(rows[i].type));
		if (rows[i].body) {
			assert_int_equal(r, ANSWERS_HOLD);
			r = login_take(a, rows[i].body, strlen(rows[i].body), !rows[i].is_unframed);
		}
		assert_int_equal(r, -EACCES);
		assert_non_null(strstr(login_why(a), rows[i].why));
		assert_int_equal(judge(a, "POST", "/oauth/token", NULL), -EACCES);
		login_leave(a);
		assert_false(w.login.is_busy);
	}
	/* The user did not agree. */
	w.result = 0;
	assert_int_equal(judge(&w.asks[0], "POST", "/oauth/token", NULL), 0);
	assert_int_equal(login_hold(&w.asks[0], 200, "application/json", 16), ANSWERS_HOLD);
	assert_int_equal(login_take(&w.asks[0], ANSWER, strlen(ANSWER), true), 1);
	login_stored(&w.login, w.number, "no");
	assert_string_equal(login_why(&w.asks[0]), "no");
	login_leave(&w.asks[0]);
	/* Its client has gone: the next one waits until the tokens are stored. */
	assert_int_equal(judge(&w.asks[0], "POST", "/oauth/token", NULL), 0);
	assert_int_equal(login_hold(&w.asks[0], 200, "application/json", 16), ANSWERS_HOLD);
	assert_int_equal(login_take(&w.asks[0], ANSWER, strlen(ANSWER), true), 1);
	login_leave(&w.asks[0]);
	assert_int_equal(judge(&w.asks[1], "POST", "/oauth/token", NULL), HTTP_HOLD);
	login_stored(&w.login, w.number, "");
	assert_int_equal(loop_turn(w.loop, -1), 0);
	assert_int_equal(judge(&w.asks[1], "POST", "/oauth/token", NULL), 0);
}

/* At other paths tokens are found, and all else passes. */
static void test_other_paths(void **state)
{
	struct login_ask *a = &w.asks[0];

	(void)state;
	assert_int_equal(judge(a, "GET", "/api", NULL), 0);
	assert_int_equal(login_hold(a, 200, "application/json", 16), ANSWERS_PASS);
	assert_int_equal(judge(a, "POST", "/api", NULL), 0);
	assert_int_equal(login_hold(a, 200, "text/html", 9), ANSWERS_PASS);
	assert_int_equal(login_hold(a, 200, "application/json", 16), ANSWERS_TRY);
	assert_int_equal(login_take(a, "{\"a\":1}", 7, true), 0);
	assert_int_equal(login_take(a, "{\"a\":", 5, true), 0);
	assert_int_equal(login_take(a, ANSWER, strlen(ANSWER), true), -EACCES);
	assert_non_null(strstr(login_why(a), "another path"));
	assert_int_equal(w.sent, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_turns, setup, teardown),
		cmocka_unit_test_setup_teardown(test_gets, setup, teardown),
		cmocka_unit_test_setup_teardown(test_runs, setup, teardown),
		cmocka_unit_test_setup_teardown(test_paths, setup, teardown),
		cmocka_unit_test_setup_teardown(test_stored, setup, teardown),
		cmocka_unit_test_setup_teardown(test_refused, setup, teardown),
		cmocka_unit_test_setup_teardown(test_other_paths, setup, teardown),
	};

	if (secret_begin() < 0)
		return 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
