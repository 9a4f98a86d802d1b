/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "daemon/openapi.h"
#include "daemon/route.h"

static void test_table(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &routes[i];

		assert_true(r->path[0] == '/' && r->summary[0]);
		/* What changes something, or has a body, is no GET. */
		assert_true(!route_has(r, ROUTE_IN_BODY) || strcmp(r->method, "GET") != 0);
		assert_int_equal(route_has(r, ROUTE_IN_PATH), strchr(r->path, '{') != NULL);
		/* Those of the path come first. */
		for (size_t k = 1; k < ROUTE_FIELDS_MAX && r->fields[k].name; k++)
			assert_true(r->fields[k].place != ROUTE_IN_PATH ||
				    r->fields[k - 1].place == ROUTE_IN_PATH);
		/* Only these. */
		assert_int_equal(r->is_open, i == ROUTE_HEALTH || i == ROUTE_LOGIN);
	}
}

/*
 * Each row says what its call does: one that does not is never called. What changes something is no
 * GET, and every PUT, PATCH and DELETE does. Those that a POST only asks are named here.
 */
static void test_effects(void **state)
{
	static const enum route_id reads[] = { ROUTE_POLICY_CHECK, ROUTE_POLICY_LINT, ROUTE_LOGIN,
		ROUTE_LOGIN_CODE, ROUTE_FS_READ, ROUTE_FS_LIST, ROUTE_GET_POLICY,
		ROUTE_GET_AUDIT_LOG, ROUTE_EXPORT_AUDIT_LOG };
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		const struct route *r = &routes[i];
		bool is_read = strcmp(r->method, "GET") == 0;

		for (size_t k = 0; k < ROWS(reads); k++)
			is_read = is_read || i == reads[k];
		assert_int_not_equal(r->effect, ROUTE_EFFECT_UNKNOWN);
		assert_int_equal(r->effect == ROUTE_EFFECT_READS, is_read);
		n += !is_read;
	}
	assert_true(n > 10);
	/* What takes away is done even if it cannot be logged. */
	assert_int_equal(routes[ROUTE_SANDBOX_END].effect, ROUTE_EFFECT_TAKES);
	assert_int_equal(routes[ROUTE_REVOKE].effect, ROUTE_EFFECT_TAKES);
	assert_int_equal(routes[ROUTE_ANSWER].effect, ROUTE_EFFECT_GRANTS);
	assert_int_equal(routes[ROUTE_SHELL_EXEC].effect, ROUTE_EFFECT_GRANTS);
}

static void test_find(void **state)
{
	static const struct {
		const char *method, *path;
		int row; /* -1: no such path; -2: not with this method */
	} rows[] = {
		{ "GET", "/api/status", ROUTE_STATUS },
		{ "POST", "/api/status", -2 },
		{ "get", "/api/status", -2 },
		{ "GET", "/api/status/", -1 },
		{ "GET", "//api/status", -1 },
		{ "GET", "/api/Status", -1 },
		{ "GET", "/api", -1 },
		{ "GET", "", -1 },
		{ "GET", "*", -1 },
		{ "GET", "/api/sandboxes/0123abcd", ROUTE_SANDBOX },
		{ "DELETE", "/api/sandboxes/0123abcd", ROUTE_SANDBOX_END },
		{ "PUT", "/api/sandboxes/0123abcd", -2 },
		{ "GET", "/api/sandboxes/", -1 },
		{ "GET", "/api/sandboxes/a/b", -1 },
		{ "GET", "/api/policies", ROUTE_POLICIES },
		{ "GET", "/api/policies/check", ROUTE_POLICY_GET },
		{ "POST", "/api/policies/check", ROUTE_POLICY_CHECK },
		{ "GET", "/api/policies/a/history/7", ROUTE_POLICY_VERSION },
		{ "GET", "/api/policies/a/history/", -1 },
		{ "GET", "/api/policies//history/7", -1 },
		{ "GET", "/api/policies/a/history/7/", -1 },
		{ "GET", "/api/policies/a/b/history/7", -1 },
		{ "POST", "/api/policies/a/undo", ROUTE_POLICY_UNDO },
		{ "GET", "/api/rules", ROUTE_RULES },
		{ "POST", "/api/rules", ROUTE_RULE_ADD },
		{ "PATCH", "/api/rules", -2 },
		{ "PATCH", "/api/rules/a%3Ab", ROUTE_RULE_CHANGE },
		{ "POST", "/api/rules/a", -2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct route_places places;
		bool known;
		const struct route *r = route_find(rows[i].method, rows[i].path, &places, &known);

		assert_ptr_equal(r, rows[i].row >= 0 ? &routes[rows[i].row] : NULL);
		assert_int_equal(known, rows[i].row != -1);
	}
}

static void test_call(void **state)
{
	const struct route_call given = { .route = &routes[ROUTE_POLICY_CHECK],
		.flags = ROUTE_BY_UNIX,
		.values = { "fs: {}", "fs.read", "/x" } };
	auto_buffer body = { 0 };
	struct route_call c;

	(void)state;
	assert_int_equal(route_call_encode(&given, &body), 0);
	assert_int_equal(route_call_decode(&c, body.data, body.len), 0);
	assert_ptr_equal(c.route, given.route);
	assert_int_equal(c.flags, ROUTE_BY_UNIX);
	assert_string_equal(route_value(&c, "target"), "/x");
	assert_null(route_value(&c, "method"));
	assert_null(route_value(&c, "nothing"));
	/* Each byte less is none. */
	for (size_t n = 0; n < body.len; n++)
		assert_int_equal(route_call_decode(&c, body.data, n), -EPROTO);
	buffer_addc(&body, 'x');
	assert_int_equal(route_call_decode(&c, body.data, body.len), -EPROTO);
}

static void test_call_print(void **state)
{
	static const struct {
		enum route_id row;
		const char *values[ROUTE_FIELDS_MAX], *text;
	} rows[] = {
		{ ROUTE_SANDBOX_END, { "a" }, "{\"id\":\"a\"}" },
		{ ROUTE_RULE_ADD, { "a\"b", NULL, "deny", "[\"/x\"]" },
			"{\"id\":\"a\\\"b\",\"action\":\"deny\",\"patterns\":[\"/x\"]}" },
		{ ROUTE_CONFIG_PUT, { NULL, NULL, "5", NULL, NULL, NULL, "/log" },
			"{\"heartbeat\":5,\"logFile\":\"/log\"}" },
		{ ROUTE_FS_WRITE, { "/a", "a secret" },
			"{\"path\":\"/a\",\"content\":\"8 bytes\"}" },
		{ ROUTE_LOGIN_CODE, { NULL }, "{}" },
	};
	char text[ROUTE_PRINTED_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct route_call c = { .route = &routes[rows[i].row] };
		auto_buffer out = { 0 };

		memcpy(c.values, rows[i].values, sizeof(c.values));
		route_call_print(&c, &out);
		assert_string_equal(buffer_text(&out), rows[i].text);
	}
	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = '\0';
	for (int is_longer = 0; is_longer < 2; is_longer++) {
		const struct route_call c = { .route = &routes[ROUTE_FS_READ],
			.values = { text + 1 - is_longer } };
		auto_buffer out = { 0 };

		route_call_print(&c, &out);
		assert_int_equal(strstr(buffer_text(&out), "1025 bytes") != NULL, is_longer);
	}
}

/* What corrald-http would never send, unless it was taken over. */
static void test_call_forged(void **state)
{
	const struct {
		uint32_t number, flags, given;
		const char *texts;
		size_t len;
	} rows[] = {
		{ ROUTE_COUNT, 0, 0, "", 0 },
		{ UINT32_MAX, 0, 0, "", 0 },
		{ ROUTE_HEALTH, 0, 0, "", 0 }, /* not corrald's to answer */
		{ ROUTE_STATUS, 2, 0, "", 0 },
		{ ROUTE_STATUS, 0, 1, "x", 2 },
		{ ROUTE_STATUS, 0, 1u << ROUTE_FIELDS_MAX, "", 0 },
		{ ROUTE_AUDIT, 0, 1, "1001", 5 },
		{ ROUTE_AUDIT, 0, 1, "-1", 3 },
		{ ROUTE_AUDIT, 0, 1, "1x", 3 },
		{ ROUTE_AUDIT, 0, 1, "", 1 },
		{ ROUTE_AUDIT, 0, 4, "fly", 4 },
		{ ROUTE_AUDIT, 0, 2, "\xff", 2 },
		{ ROUTE_SET_POLICY, 0, 0, "", 0 },       /* the policy is missing */
		{ ROUTE_FS_READ, 0, 1, "", 1 },          /* only a content may be empty */
		{ ROUTE_SHELL_EXEC, 0, 3, "sh\0{}", 6 }, /* no list */
		{ ROUTE_SHELL_EXEC, 0, 17, "sh\000600001", 10 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer body = { 0 };
		struct route_call c;

		buffer_add(&body, &rows[i].number, 12);
		buffer_add(&body, rows[i].texts, rows[i].len);
		assert_int_equal(route_call_decode(&c, body.data, body.len), -EPROTO);
	}
}

/* What may be empty, and what has no body at all. */
static void test_bodies(void **state)
{
	const struct route_call empty = { .route = &routes[ROUTE_FS_WRITE],
		.values = { "/x", "" } };
	auto_buffer body = { 0 };
	struct route_call c;

	(void)state;
	assert_int_equal(route_call_encode(&empty, &body), 0);
	assert_int_equal(route_call_decode(&c, body.data, body.len), 0);
	assert_string_equal(route_value(&c, "content"), "");
	assert_true(route_takes_body(&routes[ROUTE_GET_POLICY]));
	assert_false(route_needs_body(&routes[ROUTE_GET_POLICY]));
	assert_true(route_needs_body(&routes[ROUTE_SET_POLICY]));
	assert_false(route_takes_body(&routes[ROUTE_STATUS]));
}

static void test_openapi(void **state)
{
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	struct node *paths;

	(void)state;
	openapi_print(&text, "1.2.3");
	assert_int_equal(json_read(&d, NULL, text.data, text.len, NULL), 0);
	paths = node_get(d.root, "paths");
	for (size_t i = 0; i < ROUTE_COUNT; i++)
		assert_non_null(node_get(paths, routes[i].path));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_table),
		cmocka_unit_test(test_effects),
		cmocka_unit_test(test_find),
		cmocka_unit_test(test_call),
		cmocka_unit_test(test_call_print),
		cmocka_unit_test(test_call_forged),
		cmocka_unit_test(test_bodies),
		cmocka_unit_test(test_openapi),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
