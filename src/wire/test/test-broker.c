/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "wire/broker.h"
#include "wire/frame.h"

#define TOKEN "0123456789abcdef0123456789abcdef"

static const char *const environment[] = { "LANG=C", "EMPTY=", "A=b=c" };
static const char *const user_environment[] = { "DISPLAY=:0" };
static const char *const places[] = { "/tmp", "/root" };
static const char *const guarded[] = { "/work/policy.yaml" };
static const char *const layers[] = { "{}", "{\"env\":[\"LANG\"]}" };

static const char *const secrets[] = { "TOKEN=api.example.com:443,header" };

static const struct broker_setup full = {
	.flags = BROKER_HTTP,
	.ask_ms = 1500,
	.variables = { .values = { [VARIABLE_WORK_DIR] = "/work", [VARIABLE_HOME] = "/root" } },
	.warden = "/usr/libexec/corral/corral-warden",
	.log = "/var/log/a.db",
	.session = "s1",
	.sandbox = "agent",
	.services = "email: {server: a}",
	.folder = "/work",
	.token = TOKEN,
	.environment = environment,
	.user_environment = user_environment,
	.private_places = places,
	.layers = layers,
	.guarded = guarded,
	.lender = "/usr/bin/corral",
	.principal = "workspace",
	.secrets = secrets,
	.n_secrets = ROWS(secrets),
	.lender_environment = user_environment,
	.n_lender_environment = ROWS(user_environment),
	.limits = { .values = { [LIMIT_MEMORY] = UINT64_C(1) << 40, [LIMIT_PIDS] = 7 } },
	.n_guarded = ROWS(guarded),
	.n_environment = ROWS(environment),
	.n_user_environment = ROWS(user_environment),
	.n_private = ROWS(places),
	.n_layers = ROWS(layers),
};

static void require_list(
	const char *const *list, size_t n, const char *const *expected, size_t n_expected)
{
	assert_int_equal(n, n_expected);
	for (size_t i = 0; i < n; i++)
		assert_string_equal(list[i], expected[i]);
	assert_null(list[n]);
}

static void test_round_trip(void **state)
{
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct broker_setup s;

	(void)state;
	assert_int_equal(broker_setup_encode(&full, &body), 0);
	assert_int_equal(broker_setup_decode(&s, body.data, body.len, &a), 0);
	assert_int_equal(s.flags, BROKER_HTTP);
	assert_int_equal(s.ask_ms, 1500);
	assert_string_equal(s.variables.values[VARIABLE_WORK_DIR], "/work");
	assert_string_equal(s.variables.values[VARIABLE_HOME], "/root");
	assert_null(s.variables.values[VARIABLE_TEMP]);
	assert_string_equal(s.warden, full.warden);
	assert_string_equal(s.log, full.log);
	assert_string_equal(s.session, "s1");
	assert_string_equal(s.sandbox, "agent");
	assert_string_equal(s.services, "email: {server: a}");
	assert_string_equal(s.folder, "/work");
	assert_string_equal(s.token, TOKEN);
	require_list(s.environment, s.n_environment, environment, ROWS(environment));
	require_list(
		s.user_environment, s.n_user_environment, user_environment, ROWS(user_environment));
	require_list(s.private_places, s.n_private, places, ROWS(places));
	require_list(s.layers, s.n_layers, layers, ROWS(layers));
	require_list(s.guarded, s.n_guarded, guarded, ROWS(guarded));
	assert_string_equal(s.lender, full.lender);
	assert_string_equal(s.principal, full.principal);
	require_list(s.secrets, s.n_secrets, secrets, ROWS(secrets));
	require_list(s.lender_environment, s.n_lender_environment, user_environment,
		ROWS(user_environment));
	assert_memory_equal(&s.limits, &full.limits, sizeof(s.limits));
	/* A part of it is nothing, and so is more of it. */
	for (size_t len = 0; len < body.len; len++) {
		s.ask_ms = 77;
		assert_int_equal(broker_setup_decode(&s, body.data, len, &a), -EPROTO);
		assert_int_equal(s.ask_ms, 77);
	}
	buffer_addc(&body, '\0');
	assert_int_equal(broker_setup_decode(&s, body.data, body.len, &a), -EPROTO);
}

/* No texts are empty ones. */
static void test_nothing(void **state)
{
	const struct broker_setup nothing = { 0 };
	auto_buffer body = { 0 };
	auto_arena a = { 0 };
	struct broker_setup s;

	(void)state;
	assert_int_equal(broker_setup_encode(&nothing, &body), 0);
	assert_int_equal(broker_setup_decode(&s, body.data, body.len, &a), 0);
	assert_string_equal(s.log, "");
	assert_string_equal(s.token, "");
	require_list(s.layers, s.n_layers, NULL, 0);
	require_list(s.environment, s.n_environment, NULL, 0);
}

enum {
	FLAGS,
	ASK,
	KNOWN,
	ENVIRONMENT,
	USER,
	PRIVATE,
	LAYERS,
	GUARDED,
	SECRETS,
	LENDER,
	LIMITED,
	HEAD
};
#define S(text) text, sizeof(text) - 1

static const struct {
	const char *name;
	uint32_t head[HEAD];
	const char *strings; /* services, warden, log, session, sandbox, folder, token, lender,
				principal, lists */
	size_t len;
	int want;
} rows[] = {
	{ "nothing", { 0 }, S("\0\0\0\0\0\0\0\0\0"), 0 },
	{ "an unknown flag", { BROKER_FLAGS + 1 }, S("\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "HTTP without a token", { BROKER_HTTP }, S("\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "a short token", { BROKER_HTTP }, S("\0\0\0\0\0\0abc\0\0\0"), -EPROTO },
	{ "a token", { BROKER_HTTP }, S("\0\0\0\0\0\0" TOKEN "\0\0\0"), 0 },
	{ "a token without HTTP", { 0 }, S("\0\0\0\0\0\0" TOKEN "\0\0\0"), -EPROTO },
	{ "a variable", { [KNOWN] = 1 }, S("/s\0\0\0\0\0\0\0\0\0\0"), 0 },
	{ "a relative variable", { [KNOWN] = 1 }, S("s\0\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "no such variable", { [KNOWN] = 1 << VARIABLE_COUNT }, S("/s\0\0\0\0\0\0\0\0\0\0"),
		-EPROTO },
	{ "a relative warden", { 0 }, S("\0w\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "a relative log", { 0 }, S("\0\0l\0\0\0\0\0\0\0"), -EPROTO },
	{ "a relative folder", { 0 }, S("\0\0\0\0\0f\0\0\0\0"), -EPROTO },
	{ "a variable's value", { [ENVIRONMENT] = 1 }, S("\0\0\0\0\0\0\0\0\0A=b\0"), 0 },
	{ "a variable without =", { [ENVIRONMENT] = 1 }, S("\0\0\0\0\0\0\0\0\0Ab\0"), -EPROTO },
	{ "a variable without a name", { [ENVIRONMENT] = 1 }, S("\0\0\0\0\0\0\0\0\0=b\0"),
		-EPROTO },
	{ "a variable is missing", { [ENVIRONMENT] = 2 }, S("\0\0\0\0\0\0\0\0\0A=b\0"), -EPROTO },
	{ "far too many", { [ENVIRONMENT] = UINT32_MAX }, S("\0\0\0\0\0\0\0\0\0A=b\0"), -EPROTO },
	{ "a user's variable", { [USER] = 1 }, S("\0\0\0\0\0\0\0\0\0A=b\0"), 0 },
	{ "one without a name", { [USER] = 1 }, S("\0\0\0\0\0\0\0\0\0=b\0"), -EPROTO },
	{ "too many of the user's", { [USER] = BROKER_USER_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0A=b\0"),
		-EPROTO },
	{ "a place", { [PRIVATE] = 1 }, S("\0\0\0\0\0\0\0\0\0/tmp\0"), 0 },
	{ "a relative place", { [PRIVATE] = 1 }, S("\0\0\0\0\0\0\0\0\0tmp\0"), -EPROTO },
	{ "too many places", { [PRIVATE] = BROKER_PRIVATE_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0/tmp\0"),
		-EPROTO },
	{ "a layer", { [LAYERS] = 1 }, S("\0\0\0\0\0\0\0\0\0{}\0"), 0 },
	{ "an empty layer", { [LAYERS] = 1 }, S("\0\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "too many layers", { [LAYERS] = BROKER_LAYERS_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0{}\0"),
		-EPROTO },
	{ "a guarded path", { [GUARDED] = 1 }, S("\0\0\0\0\0\0\0\0\0/p\0"), 0 },
	{ "a relative one", { [GUARDED] = 1 }, S("\0\0\0\0\0\0\0\0\0p\0"), -EPROTO },
	{ "too many", { [GUARDED] = BROKER_GUARDED_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0/p\0"),
		-EPROTO },
	{ "a secret", { [SECRETS] = 1 }, S("\0\0\0\0\0\0\0/c\0run\0A=b:1,header\0"), 0 },
	{ "one without a lender", { [SECRETS] = 1 }, S("\0\0\0\0\0\0\0\0run\0A=b:1,header\0"),
		-EPROTO },
	{ "one without a sandbox", { [SECRETS] = 1 }, S("\0\0\0\0\0\0\0/c\0\0A=b:1,header\0"),
		-EPROTO },
	{ "one without a host", { [SECRETS] = 1 }, S("\0\0\0\0\0\0\0/c\0run\0A\0"), -EPROTO },
	{ "a relative lender", { 0 }, S("\0\0\0\0\0\0\0c\0\0"), -EPROTO },
	{ "too many secrets", { [SECRETS] = BROKER_SECRETS_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0"),
		-EPROTO },
	{ "a lender's variable", { [LENDER] = 1 }, S("\0\0\0\0\0\0\0\0\0A=b\0"), 0 },
	{ "too many of them", { [LENDER] = BROKER_USER_MAX + 1 }, S("\0\0\0\0\0\0\0\0\0A=b\0"),
		-EPROTO },
	{ "a limit", { [LIMITED] = 1 }, S("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), 0 },
	{ "a limit of 0", { [LIMITED] = 1 }, S("\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "half a limit", { [LIMITED] = 1 }, S("\1\0\0\0"), -EPROTO },
	{ "no such limit", { [LIMITED] = UINT32_C(1) << LIMIT_COUNT },
		S("\1\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "no NUL", { 0 }, S("\0\0\0\0\0\0\0\0"), -EPROTO },
	{ "one text too many", { 0 }, S("\0\0\0\0\0\0\0\0\0\0"), -EPROTO },
};

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };
		auto_arena a = { 0 };
		struct broker_setup s;
		int r;

		buffer_add(&body, rows[i].head, sizeof(rows[i].head));
		buffer_add(&body, rows[i].strings, rows[i].len);
		r = broker_setup_decode(&s, body.data, body.len, &a);
		if (r != rows[i].want)
			fail_msg("%s: %d", rows[i].name, r);
	}
}

static void test_not_encoded(void **state)
{
	struct broker_setup flags = full, token = full, path = full, list = full, many = full,
			    large = full;
	static const char *const no_name[] = { "=x" };
	char *text = malloc(FRAME_MEMFD_MAX + 1);
	const char *const one[] = { text };
	auto_buffer body = { 0 };

	(void)state;
	assert_non_null(text);
	memset(text, 'x', FRAME_MEMFD_MAX);
	text[FRAME_MEMFD_MAX] = '\0';
	flags.flags = BROKER_FLAGS + 1;
	token.flags = 0;
	path.log = "a.db";
	list.environment = no_name;
	list.n_environment = 1;
	many.n_layers = BROKER_LAYERS_MAX + 1;
	large.layers = one;
	large.n_layers = 1;
	assert_int_equal(broker_setup_encode(&flags, &body), -EINVAL);
	assert_int_equal(broker_setup_encode(&token, &body), -EINVAL);
	assert_int_equal(broker_setup_encode(&path, &body), -EINVAL);
	assert_int_equal(broker_setup_encode(&list, &body), -EINVAL);
	assert_int_equal(broker_setup_encode(&many, &body), -E2BIG);
	assert_int_equal(body.len, 0);
	assert_int_equal(broker_setup_encode(&large, &body), -E2BIG);
	body.failed = true;
	assert_int_equal(broker_setup_encode(&full, &body), -ENOMEM);
	free(text);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_round_trip),
		cmocka_unit_test(test_nothing),
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_not_encoded),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
