/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What an enclave grants, and to whom it gives way: tokens, grants, ceilings, questions. Requests
 * of the network stand for all tools, because nothing but a decision comes of them.
 */
#include "base/array.h"
#include "lib/enclave/test/test-common.h"
#include "test/scratch.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define ASK                                                                  \
	"permissions:\n"                                                     \
	"  rules:\n"                                                         \
	"    - {id: all, action: ask, operations: [net.connect], patterns: " \
	"[\"*.example.com:443\"]}\n"

static int check(struct corral_enclave *enclave, const char *url)
{
	return test_enclave_get(enclave, "agent", url, NULL);
}

static char *policy_of(struct corral_enclave *enclave)
{
	char *text = NULL;

	assert_int_equal(corral_enclave_get_policy(enclave, &text), 0);
	return text;
}

/* Tokens */

static void test_token(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL), *other;
	char token[CORRAL_TOKEN_BYTES], token2[CORRAL_TOKEN_BYTES];

	(void)state;
	memcpy(token, test_enclave_token, sizeof(token));
	assert_int_equal(strlen(token), 64);
	for (size_t i = 0; i < 64; i++)
		assert_true(isxdigit((unsigned char)token[i]));
	other = test_enclave(NULL, NULL);
	assert_string_not_equal(token, test_enclave_token);
	/* A token of one enclave is none of another's. */
	memcpy(token2, test_enclave_token, sizeof(token2));
	assert_int_equal(
		corral_enclave_grant(enclave, token2, CORRAL_NET_CONNECT, HOST, NULL, NULL),
		-EPERM);
	corral_enclave_free(other);
	corral_enclave_free(enclave);
}

static void test_wrong_tokens(void **state)
{
	struct corral_enclave *enclave = test_enclave(ASK, NULL);
	struct corral_permissions *p = test_enclave_permissions("permissions: {network: {allow: "
								"[\"" HOST "\"]}}");
	char changed[CORRAL_TOKEN_BYTES], longer[CORRAL_TOKEN_BYTES + 1], shorter[64];
	const char *wrong[] = { NULL, "", changed, longer, shorter };
	char *before = policy_of(enclave), *after;
	uint64_t question = 0, approval = 0;
	unsigned tries = 0;

	(void)state;
	memcpy(changed, test_enclave_token, sizeof(changed));
	changed[63] = changed[63] == '0' ? '1' : '0';
	(void)snprintf(longer, sizeof(longer), "%s0", test_enclave_token);
	memcpy(shorter, test_enclave_token, sizeof(shorter) - 1);
	shorter[sizeof(shorter) - 1] = '\0';
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &question), -EINPROGRESS);
	for (size_t i = 0; i < 5; i++, tries += 5) {
		struct corral_error *e = NULL;

		assert_int_equal(
			corral_enclave_grant(enclave, wrong[i], CORRAL_NET_CONNECT, HOST, NULL, &e),
			-EPERM);
		assert_non_null(strstr(corral_error_message(e), "token is wrong"));
		corral_error_free(e);
		assert_int_equal(corral_enclave_revoke(
					 enclave, wrong[i], CORRAL_NET_CONNECT, HOST, NULL, NULL),
			-EPERM);
		assert_int_equal(
			corral_enclave_set_policy(enclave, wrong[i], p, NULL, NULL), -EPERM);
		assert_int_equal(corral_enclave_answer(enclave, wrong[i], question, CORRAL_ALLOW,
					 NULL, &approval, NULL),
			-EPERM);
		assert_int_equal(corral_enclave_withdraw(enclave, wrong[i], 1, NULL), -EPERM);
	}
	after = policy_of(enclave);
	assert_string_equal(before, after);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, NULL), -EINPROGRESS);
	/* Each of them is in the log; the token, right or wrong, is not. */
	assert_int_equal(
		test_enclave_told(enclave, "policy", "denied", NULL, "token is wrong"), tries);
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, shorter, NULL), 0);
	corral_free(before);
	corral_free(after);
	corral_permissions_free(p);
	corral_enclave_free(enclave);
}

/* Grants */

static void test_grant_and_revoke(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_update u = { .size = sizeof(u) };
	struct corral_error *e = NULL;
	const struct corral_denial *d;

	(void)state;
	assert_int_equal(corral_enclave_http_request(enclave, NULL, "GET", URL, &e), -EACCES);
	d = corral_error_denial(e);
	assert_non_null(d);
	assert_int_equal(d->op, CORRAL_NET_CONNECT);
	assert_non_null(strstr(corral_error_message(e), "permission denied"));
	corral_error_free(e);
	assert_int_equal(corral_enclave_grant(
				 enclave, test_enclave_token, CORRAL_NET_CONNECT, HOST, &u, NULL),
		0);
	assert_int_equal(u.generation, 2);
	assert_int_equal(u.changed, CORRAL_PART_NETWORK);
	assert_int_equal(u.at_once, CORRAL_PART_NETWORK);
	assert_int_equal(u.next, 0);
	assert_int_equal(check(enclave, URL), 0);
	/* The same once more changes nothing. */
	assert_int_equal(corral_enclave_grant(
				 enclave, test_enclave_token, CORRAL_NET_CONNECT, HOST, &u, NULL),
		0);
	assert_int_equal(u.generation, 2);
	assert_int_equal(u.changed, 0);
	assert_int_equal(corral_enclave_revoke(
				 enclave, test_enclave_token, CORRAL_NET_CONNECT, HOST, &u, NULL),
		0);
	assert_int_equal(u.generation, 3);
	assert_int_equal(check(enclave, URL), -EACCES);
	assert_int_equal(test_enclave_told(enclave, "policy", "allowed", HOST, "granted"), 1);
	assert_int_equal(
		test_enclave_told(enclave, "policy", "allowed", HOST, "revoked; generation 3"), 1);
	corral_enclave_free(enclave);
}

static void test_every_operation(void **state)
{
	static const struct {
		enum corral_operation op;
		const char *pattern;
		unsigned part;
	} rows[] = {
		{ CORRAL_FS_READ, "/srv/a/**", CORRAL_PART_FILES },
		{ CORRAL_FS_WRITE, "/srv/b/**", CORRAL_PART_FILES },
		{ CORRAL_NET_CONNECT, "example.com:443", CORRAL_PART_NETWORK },
		{ CORRAL_EXEC, "git status:*", CORRAL_PART_PROGRAMS },
		{ CORRAL_ENV, "LANG", CORRAL_PART_VARIABLES },
		{ CORRAL_SERVICE, "reminders.read", 0 },
	};
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	char *before = policy_of(enclave), *after;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct corral_update u = { .size = sizeof(u) };

		assert_int_equal(corral_enclave_grant(enclave, test_enclave_token, rows[i].op,
					 rows[i].pattern, &u, NULL),
			0);
		assert_int_equal(u.changed, rows[i].part);
	}
	for (size_t i = 0; i < ROWS(rows); i++) {
		test_enclave_revoke(enclave, rows[i].op, rows[i].pattern);
		assert_int_equal(corral_enclave_revoke(enclave, test_enclave_token, rows[i].op,
					 rows[i].pattern, NULL, NULL),
			-ENOENT);
	}
	after = policy_of(enclave);
	assert_string_equal(before, after);
	corral_free(before);
	corral_free(after);
	corral_enclave_free(enclave);
}

static void test_revoke_takes_one_pattern(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_error *e = NULL;

	(void)state;
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, HOST);
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, "*.example.com:443");
	test_enclave_grant(enclave, CORRAL_FS_READ, "/srv/notes/**");
	test_enclave_grant(enclave, CORRAL_FS_WRITE, "/srv/notes/drafts/**");
	/* Something that was not granted is not taken back, whatever it is a part of. */
	assert_int_equal(corral_enclave_revoke(enclave, test_enclave_token, CORRAL_NET_CONNECT,
				 "api.exampel.com:443", NULL, &e),
		-ENOENT);
	assert_non_null(strstr(corral_error_message(e), "did you mean " HOST));
	corral_error_free(e);
	assert_int_equal(corral_enclave_revoke(enclave, test_enclave_token, CORRAL_FS_READ,
				 "/srv/notes/a", NULL, NULL),
		-ENOENT);
	test_enclave_revoke(enclave, CORRAL_NET_CONNECT, HOST);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(test_enclave_told(enclave, "policy", "allowed", HOST,
				 "all of it still granted by *.example.com:443"),
		1);
	test_enclave_revoke(enclave, CORRAL_FS_READ, "/srv/notes/**");
	assert_int_equal(test_enclave_told(enclave, "policy", "allowed", "/srv/notes/**",
				 "a part of it still granted by /srv/notes/drafts/**"),
		1);
	test_enclave_revoke(enclave, CORRAL_NET_CONNECT, "*.example.com:443");
	assert_int_equal(
		test_enclave_told(enclave, "policy", "allowed", "*.example.com", "still granted"),
		0);
	assert_int_equal(check(enclave, URL), -EACCES);
	corral_enclave_free(enclave);
}

static void test_a_failure_changes_nothing(void **state)
{
	static const struct {
		enum corral_operation op;
		const char *pattern;
	} bad[] = {
		{ CORRAL_FS_READ, "no/path" },
		{ CORRAL_FS_READ, "/srv/[" },
		{ CORRAL_FS_READ, "$SKILL_DIR/**" }, /* has no value here */
		{ CORRAL_FS_READ, NULL },
		{ CORRAL_NET_CONNECT, "a b" },
		{ CORRAL_EXEC, "" },
		{ CORRAL_SERVICE, "reminders" },
		{ (enum corral_operation)99, "/srv" },
	};
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_update u = { .size = sizeof(u), .generation = 77 };
	char *before, *after;

	(void)state;
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, HOST);
	before = policy_of(enclave);
	for (size_t i = 0; i < ROWS(bad); i++) {
		struct corral_error *e = NULL;
		int r = corral_enclave_grant(
			enclave, test_enclave_token, bad[i].op, bad[i].pattern, &u, &e);

		if (r >= 0)
			fail_msg("%s was granted", bad[i].pattern);
		assert_non_null(e);
		corral_error_free(e);
	}
	assert_int_equal(u.generation, 77);
	after = policy_of(enclave);
	assert_string_equal(before, after);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(test_enclave_told(enclave, "policy", "failed", NULL, NULL), ROWS(bad));
	corral_free(before);
	corral_free(after);
	corral_enclave_free(enclave);
}

static void test_set_and_get_policy(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_permissions *p = test_enclave_permissions(
		"permissions: {fs: {read: [/srv/a/**]}, network: {allow: [\"" HOST "\"]}}");
	struct corral_update u = { .size = sizeof(u) };
	char *first, *second;

	(void)state;
	test_enclave_grant(enclave, CORRAL_EXEC, "git");
	assert_int_equal(corral_enclave_set_policy(enclave, test_enclave_token, p, &u, NULL), 0);
	assert_int_equal(u.changed, CORRAL_PART_FILES | CORRAL_PART_NETWORK | CORRAL_PART_PROGRAMS);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(test_enclave_told(enclave, "policy", "allowed", "set_policy",
				 "+fs.read /srv/a/**, +network.allow " HOST ", -exec git"),
		1);
	corral_permissions_free(p);
	/* What is got can be set. */
	first = policy_of(enclave);
	p = NULL;
	assert_int_equal(
		corral_permissions_parse(&p, "policy.json", first, strlen(first), NULL), 0);
	assert_int_equal(corral_enclave_set_policy(enclave, test_enclave_token, p, &u, NULL), 0);
	assert_int_equal(u.changed, 0);
	second = policy_of(enclave);
	assert_string_equal(first, second);
	assert_int_equal(
		corral_enclave_set_policy(enclave, test_enclave_token, NULL, NULL, NULL), -EINVAL);
	corral_free(first);
	corral_free(second);
	corral_permissions_free(p);
	corral_enclave_free(enclave);
}

static void test_ceiling(void **state)
{
	struct corral_permissions *roof =
		test_enclave_permissions("permissions: {network: {allow: [\"*.example.com:443\"], "
					 "deny: [\"private.example.com\"]}}");
	const struct corral_permissions *layers[] = { roof };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *all = test_enclave_permissions("permissions: {network: {allow: "
								  "[\"*\"]}}");
	struct corral_enclave *enclave;

	(void)state;
	o.ceiling = layers;
	o.n_ceiling = 1;
	enclave = test_enclave(NULL, &o);
	corral_permissions_free(roof);
	assert_int_equal(check(enclave, URL), -EACCES);
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, "*:443");
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(check(enclave, "https://other.org/"), -EACCES);
	assert_int_equal(check(enclave, "https://private.example.com/"), -EACCES);
	assert_int_equal(
		corral_enclave_set_policy(enclave, test_enclave_token, all, NULL, NULL), 0);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(check(enclave, "https://other.org/"), -EACCES);
	corral_permissions_free(all);
	corral_enclave_free(enclave);
}

static void test_permissions_of_several_layers(void **state)
{
	struct corral_enclave *enclave = test_enclave(
		"permissions: {all_of: [{network: {allow: [\"a.org:443\"]}}, {network: {allow: "
		"[\"*.org:443\"]}}]}",
		NULL);

	(void)state;
	assert_int_equal(check(enclave, "https://a.org/"), 0);
	assert_int_equal(check(enclave, "https://b.org/"), -EACCES);
	/* A grant is one in every layer, and is taken out of every layer. */
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, HOST);
	assert_int_equal(check(enclave, URL), 0);
	test_enclave_revoke(enclave, CORRAL_NET_CONNECT, HOST);
	assert_int_equal(check(enclave, URL), -EACCES);
	assert_int_equal(check(enclave, "https://a.org/"), 0);
	corral_enclave_free(enclave);
}

/* Requests */

static void test_requests(void **state)
{
	static const struct {
		const char *method, *url;
		int code;
	} rows[] = {
		{ "GET", "https://api.example.com/v1/x", 0 },
		{ "HEAD", "HTTPS://API.example.COM/v1/x", 0 },
		{ "POST", "https://api.example.com/v1/x", -EACCES },
		{ "GET", "https://api.example.com/v2", -EACCES },
		{ "GET", "https://api.example.com/v1/../v2", -EACCES },
		{ "GET", "https://api.example.com:8443/v1/x", -EACCES },
		{ "GET", "http://api.example.com/v1/x", -EACCES },
		{ "GET", "https://api.example.com@evil.org/v1/x", -EACCES },
		{ "GET", "https://evil.org;@api.example.com/v1/x", -EACCES },
		{ "GET", "https://a@evil.org@api.example.com/v1/x", -EACCES },
		{ "GET", "https://evil.org%2f@api.example.com/v1/x", -EACCES },
		{ "GET", "https://@api.example.com/v1/x", -EACCES },
		{ "GET", "https://evil.org/?https://api.example.com/v1/x", -EACCES },
		{ "GET", "https://127.0.0.1/v1/x", -EACCES },
		{ "GET", "api.example.com:443", -EINVAL },
		{ "GET", "unix:/run/x.sock", -EINVAL },
		{ "GET", "", -EINVAL },
		{ "GET", NULL, -EINVAL },
		{ NULL, "https://api.example.com/v1/x", -EINVAL },
		{ "get", "https://api.example.com/v1/x", -EINVAL },
		{ "", "https://api.example.com/v1/x", -EINVAL },
		{ "GET\r\nHost: evil", "https://api.example.com/v1/x", -EINVAL },
	};
	struct corral_enclave *enclave = test_enclave(
		"permissions:\n  rules:\n    - {id: api, action: allow, operations: [net.connect], "
		"patterns: [\"https://api.example.com/v1/**\"], methods: [GET, HEAD]}\n",
		NULL);
	unsigned blocked = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		int r = corral_enclave_http_request(
			enclave, NULL, rows[i].method, rows[i].url, NULL);

		if (r != rows[i].code)
			fail_msg("row %zu: %d", i, r);
		blocked += r < 0;
	}
	assert_int_equal(test_enclave_told(enclave, "net.connect", "denied", NULL, NULL), blocked);
	assert_int_equal(test_enclave_told(enclave, "net.connect", "allowed", NULL, NULL), 2);
	/* Secrets of a URL are not in the log. */
	(void)check(enclave, "https://me:canary-1@api.example.com/v1/x?token=canary-2");
	assert_int_equal(
		test_enclave_told(enclave, NULL, NULL, "api.example.com/v1/x?token", NULL), 1);
	(void)check(enclave, "https://me:canary-3;@api.example.com/v1/x");
	(void)check(enclave, "https://me:canary-4@x@api.example.com/v1/x");
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, "canary", NULL), 0);
	corral_enclave_free(enclave);
}

/* Questions */

static int answer(struct corral_enclave *enclave, uint64_t question, enum corral_verdict verdict,
	const struct corral_scope *scope, uint64_t *ret)
{
	return corral_enclave_answer(
		enclave, test_enclave_token, question, verdict, scope, ret, NULL);
}

static int note_question(void *context, const struct corral_question *q)
{
	struct corral_question *ret = context;
	static char object[64], actor[64];

	*ret = *q;
	(void)snprintf(object, sizeof(object), "%s", q->scope.object);
	(void)snprintf(actor, sizeof(actor), "%s", q->scope.actor);
	ret->scope.object = object;
	ret->scope.actor = actor;
	assert_non_null(strstr(q->rule, "example.com"));
	assert_true(q->reason[0] != '\0');
	return 0;
}

static void test_question_and_answer(void **state)
{
	struct corral_enclave *enclave = test_enclave(ASK, NULL);
	struct corral_question q = { 0 };
	uint64_t id = 0, again = 0, approval = 0;

	(void)state;
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_true(id > 0);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &again), -EINPROGRESS);
	assert_int_equal(again, id);
	assert_int_equal(corral_enclave_questions(enclave, note_question, &q), 1);
	assert_int_equal(q.id, id);
	assert_int_equal(q.scope.op, CORRAL_NET_CONNECT);
	assert_string_equal(q.scope.object, "GET " URL);
	assert_string_equal(q.scope.actor, "agent");
	assert_int_equal(q.scope.count, 1);
	assert_int_equal(q.scope.ttl_ms, 300000);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, &approval), 0);
	assert_true(approval > 0);
	assert_int_equal(corral_enclave_questions(enclave, note_question, &q), 0);
	/* Not for another actor, another method, another object; and once. */
	assert_int_equal(test_enclave_get(enclave, "other", URL, NULL), -EINPROGRESS);
	assert_int_equal(test_enclave_get(enclave, "agent", URL "/", NULL), -EINPROGRESS);
	assert_int_equal(
		corral_enclave_http_request(enclave,
			&(struct corral_by){ .size = sizeof(struct corral_by), .actor = "agent" },
			"POST", URL, NULL),
		-EINPROGRESS);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &again), -EINPROGRESS);
	assert_true(again > id);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, NULL), -ENOENT);
	assert_int_equal(test_enclave_told(enclave, "approval", "asked", URL, "asked for"), 5);
	assert_int_equal(test_enclave_told(enclave, "approval", "allowed", "given", NULL), 1);
	assert_int_equal(test_enclave_told(enclave, "approval", "allowed", URL, "used"), 1);
	assert_int_equal(test_enclave_told(enclave, "net.connect", "allowed", URL, "approved"), 1);
	corral_enclave_free(enclave);
}

/* Whoever waits for an answer sleeps until there is one. */
static void test_an_answer_wakes(void **state)
{
	struct corral_enclave *enclave = test_enclave(ASK, NULL);
	struct pollfd p = { .fd = corral_enclave_answers_fd(enclave), .events = POLLIN };
	uint64_t id = 0, n = 0;

	(void)state;
	assert_true(p.fd >= 0);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(poll(&p, 1, 0), 0);
	/* Nothing is answered with a wrong number. */
	assert_int_equal(answer(enclave, id + 1, CORRAL_ALLOW, NULL, NULL), -ENOENT);
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, NULL), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	assert_int_equal(read(p.fd, &n, sizeof(n)), sizeof(n));
	assert_int_equal(poll(&p, 1, 0), 0);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, NULL), 0);
	/* A refusal is an answer. */
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_DENY, NULL, NULL), 0);
	assert_int_equal(poll(&p, 1, 0), 1);
	corral_enclave_free(enclave);
}

static void test_answer_only_narrows(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_scope scope = { .size = sizeof(scope),
		.op = CORRAL_NET_CONNECT,
		.object = "GET " URL,
		.actor = "agent",
		.ttl_ms = 60000,
		.count = 6 };
	struct corral_enclave *enclave;
	uint64_t id = 0;

	(void)state;
	o.ask_count = 5;
	enclave = test_enclave(ASK, &o);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, &scope, NULL), -EINVAL);
	scope.count = 2;
	scope.object = "GET https://*.example.com/**";
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, &scope, NULL), -EINVAL);
	scope.object = "GET " URL;
	scope.size = 0;
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, &scope, NULL), -EINVAL);
	scope.size = sizeof(scope);
	assert_int_equal(answer(enclave, id, CORRAL_ASK, &scope, NULL), -EINVAL);
	assert_int_equal(check(enclave, URL), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, &scope, NULL), 0);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(check(enclave, URL), -EINPROGRESS);
	corral_enclave_free(enclave);
}

static void test_refusal(void **state)
{
	struct corral_enclave *enclave = test_enclave(ASK, NULL);
	uint64_t id = 0, refusal = 0;

	(void)state;
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_DENY, NULL, &refusal), 0);
	/* The agent learns of it, and nobody is asked again for a while. */
	for (int i = 0; i < 3; i++)
		assert_int_equal(check(enclave, URL), -EACCES);
	assert_int_equal(
		test_enclave_told(enclave, "net.connect", "denied", URL, "it was refused"), 3);
	assert_int_equal(corral_enclave_withdraw(enclave, test_enclave_token, refusal, NULL), 0);
	assert_int_equal(check(enclave, URL), -EINPROGRESS);
	corral_enclave_free(enclave);
}

static void test_a_denial_is_not_asked_about(void **state)
{
	struct corral_permissions *roof = test_enclave_permissions(
		"permissions: {network: {deny: [\"" HOST "\"]}, default: allow}");
	const struct corral_permissions *layers[] = { roof };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave;
	uint64_t id = 1;

	(void)state;
	o.ceiling = layers;
	o.n_ceiling = 1;
	enclave = test_enclave(ASK, &o);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EACCES);
	assert_int_equal(id, 0);
	assert_int_equal(
		test_enclave_get(enclave, "agent", "https://b.example.com/", &id), -EINPROGRESS);
	/* What was agreed to does not help against a denial that comes later. */
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, NULL), 0);
	{
		struct corral_permissions *none = test_enclave_permissions("permissions: {}");

		assert_int_equal(
			corral_enclave_set_policy(enclave, test_enclave_token, none, NULL, NULL),
			0);
		corral_permissions_free(none);
	}
	assert_int_equal(check(enclave, "https://b.example.com/"), -EACCES);
	corral_permissions_free(roof);
	corral_enclave_free(enclave);
}

static void test_a_question_must_be_showable(void **state)
{
	struct corral_enclave *enclave = test_enclave(ASK, NULL);
	char url[6000] = { 0 };
	uint64_t id = 0;
	unsigned n = 0;

	(void)state;
	(void)snprintf(url, sizeof(url), "https://api.example.com/");
	memset(url + strlen(url), 'x', 900);
	assert_int_equal(check(enclave, url), -EINPROGRESS);
	/* The queue has a bound for each actor, and then it is a denial. */
	for (; n < 100; n++) {
		(void)snprintf(url, sizeof(url), "https://api.example.com/%u", n);
		if (test_enclave_get(enclave, "agent", url, &id) != -EINPROGRESS)
			break;
	}
	assert_true(n < 100);
	assert_int_equal(check(enclave, url), -EACCES);
	assert_int_equal(test_enclave_get(enclave, "another", url, &id), -EINPROGRESS);
	corral_enclave_free(enclave);
}

static void test_hand_on(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_scope scope = { .size = sizeof(scope),
		.op = CORRAL_NET_CONNECT,
		.object = "GET " URL,
		.actor = "helper",
		.ttl_ms = 60000,
		.count = 2 };
	struct corral_enclave *enclave;
	uint64_t id = 0, first = 0, second = 0;

	(void)state;
	o.ask_count = 3;
	enclave = test_enclave(ASK, &o);
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, &first), 0);
	scope.count = 4;
	assert_int_equal(corral_enclave_hand_on(enclave, first, &scope, &second, NULL), -EINVAL);
	scope.count = 2;
	assert_int_equal(corral_enclave_hand_on(enclave, 99, &scope, &second, NULL), -ENOENT);
	assert_int_equal(corral_enclave_hand_on(enclave, first, &scope, &second, NULL), 0);
	assert_int_equal(test_enclave_get(enclave, "helper", URL, NULL), 0);
	assert_int_equal(test_enclave_get(enclave, "helper", URL, NULL), 0);
	assert_int_equal(test_enclave_get(enclave, "helper", URL, NULL), -EINPROGRESS);
	assert_int_equal(check(enclave, URL), 0);
	assert_int_equal(check(enclave, URL), -EINPROGRESS);
	/* And ends with what it came from. */
	assert_int_equal(test_enclave_get(enclave, "agent", URL, &id), -EINPROGRESS);
	assert_int_equal(answer(enclave, id, CORRAL_ALLOW, NULL, &first), 0);
	assert_int_equal(corral_enclave_hand_on(enclave, first, &scope, &second, NULL), 0);
	assert_int_equal(corral_enclave_withdraw(enclave, test_enclave_token, first, NULL), 0);
	assert_int_equal(test_enclave_get(enclave, "helper", URL, NULL), -EINPROGRESS);
	assert_int_equal(check(enclave, URL), -EINPROGRESS);
	corral_enclave_free(enclave);
}

/* A host that forgets the size has no nameless actor, who shares what others agreed to. */
static void test_an_actor_has_a_size(void **state)
{
	static const struct corral_by bad[] = { { .actor = "agent" },
		{ .size = 8, .actor = "agent" } };
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	const char *const argv[] = { "echo", NULL };
	char *data = NULL;
	size_t len;

	(void)state;
	test_enclave_grant(enclave, CORRAL_NET_CONNECT, HOST);
	assert_int_equal(corral_enclave_http_request(enclave, NULL, "GET", URL, NULL), 0);
	test_enclave_grant(enclave, CORRAL_FS_READ, "/etc/**");
	test_enclave_grant(enclave, CORRAL_EXEC, "echo");
	for (size_t i = 0; i < ROWS(bad); i++) {
		const struct corral_by *by = &bad[i];

		assert_int_equal(
			corral_enclave_http_request(enclave, by, "GET", URL, NULL), -EINVAL);
		assert_int_equal(
			corral_enclave_fs_read(enclave, by, "/etc/passwd", &data, &len, NULL),
			-EINVAL);
		assert_int_equal(
			corral_enclave_shell_exec(enclave, by, argv, NULL, NULL, NULL), -EINVAL);
	}
	assert_int_equal(test_enclave_told(enclave, NULL, "denied", NULL, "has no size"), 6);
	corral_enclave_free(enclave);
}

/* What a variable is granted to be may be a secret: no event of the policy has it. */
static void test_values_are_no_part_of_a_change(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	struct corral_permissions *p;

	(void)state;
	test_enclave_grant(enclave, CORRAL_ENV, "APP_XYZ=canary-1");
	test_enclave_grant(enclave, CORRAL_ENV, "APP_*");
	assert_int_equal(corral_enclave_revoke(enclave, test_enclave_token, CORRAL_ENV,
				 "APP_XYZ=canary-2", NULL, NULL),
		-ENOENT);
	test_enclave_revoke(enclave, CORRAL_ENV, "APP_XYZ=canary-1");
	p = test_enclave_permissions("permissions: {env: [\"APP_XYZ=canary-3\"]}");
	assert_int_equal(corral_enclave_set_policy(enclave, test_enclave_token, p, NULL, NULL), 0);
	corral_permissions_free(p);
	test_enclave_revoke(enclave, CORRAL_ENV, "APP_XYZ=canary-3");
	assert_int_equal(test_enclave_told(enclave, "policy", NULL, "APP_XYZ=", NULL), 4);
	assert_int_equal(test_enclave_told(enclave, "policy", NULL, NULL, "APP_XYZ="), 2);
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, "canary", NULL), 0);
	assert_int_equal(test_enclave_told(enclave, NULL, NULL, NULL, "canary"), 0);
	corral_enclave_free(enclave);
}

/* The callback */

struct host {
	struct corral_enclave *enclave;
	enum corral_verdict verdict;
	uint64_t count, ttl_ms; /* of the answer; 0: as it was shown */
	const char *object;     /* instead of what was shown */
	bool revokes;
	unsigned asked;
};

static enum corral_verdict reply(
	void *context, const struct corral_question *q, struct corral_scope *a)
{
	struct host *h = context;
	struct corral_permissions *none;

	h->asked++;
	assert_string_equal(q->scope.object, "GET " URL);
	assert_string_equal(a->object, "GET " URL);
	if (h->count)
		a->count = h->count;
	if (h->ttl_ms)
		a->ttl_ms = h->ttl_ms;
	if (h->object)
		a->object = h->object;
	/* No lock is held: this must not hang. */
	if (h->revokes) {
		none = test_enclave_permissions("permissions: {}");
		assert_int_equal(
			corral_enclave_set_policy(h->enclave, test_enclave_token, none, NULL, NULL),
			0);
		corral_permissions_free(none);
	}
	return h->verdict;
}

static void test_callback(void **state)
{
	static const struct {
		struct host host;
		int first, second;
		unsigned asked;
	} rows[] = {
		{ { .verdict = CORRAL_ALLOW }, 0, 0, 1 }, /* the question is for two */
		{ { .verdict = CORRAL_ALLOW, .count = 1 }, 0, 0, 2 },
		{ { .verdict = CORRAL_ALLOW, .count = 3 }, -EACCES, -EACCES, 2 },
		{ { .verdict = CORRAL_ALLOW, .ttl_ms = UINT64_MAX }, -EACCES, -EACCES, 2 },
		{ { .verdict = CORRAL_ALLOW, .object = "GET https://evil.org/" }, -EACCES, -EACCES,
			2 },
		{ { .verdict = CORRAL_DENY }, -EACCES, -EACCES, 2 },
		{ { .verdict = (enum corral_verdict)77 }, -EACCES, -EACCES, 2 },
		{ { .verdict = CORRAL_ASK }, -EINPROGRESS, -EINPROGRESS, 2 },
		/* Allowed by somebody, and not by the policy any more. */
		{ { .verdict = CORRAL_ALLOW, .revokes = true }, -EACCES, -EACCES, 1 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
		struct host h = rows[i].host;
		int first, second;

		o.ask = reply;
		o.context = &h;
		o.ask_count = 2;
		h.enclave = test_enclave(ASK, &o);
		first = check(h.enclave, URL);
		second = check(h.enclave, URL);
		if (first != rows[i].first || second != rows[i].second || h.asked != rows[i].asked)
			fail_msg("row %zu: %d %d, asked %u times", i, first, second, h.asked);
		corral_enclave_free(h.enclave);
	}
}

/* The log */

static void test_log(void **state)
{
	struct corral_enclave *enclave = test_enclave(NULL, NULL);
	const struct corral_by by = { .size = sizeof(by), .actor = "tool \"x\"", .pid = 4711 };
	char *log = NULL;

	(void)state;
	assert_int_equal(corral_enclave_get_audit_log(enclave, 0, &log, NULL), 0);
	assert_string_equal(log, "[\n]\n");
	corral_free(log);
	for (int i = 0; i < 20; i++)
		(void)corral_enclave_http_request(enclave, &by, "GET", URL, NULL);
	assert_int_equal(corral_enclave_get_audit_log(enclave, 3, &log, NULL), 0);
	assert_null(strstr(log, "\"number\":17,"));
	assert_non_null(strstr(log, "\"number\":18,"));
	assert_non_null(strstr(log, "\"number\":20,"));
	assert_non_null(strstr(log, "\"pid\":4711,\"program\":\"tool \\\"x\\\"\""));
	corral_free(log);
	assert_int_equal(
		corral_enclave_export_audit_log(enclave, NULL, "/nowhere/log", NULL), -EINVAL);
	assert_int_equal(corral_enclave_export_audit_log(enclave, "json", NULL, NULL), -EINVAL);
	assert_true(corral_enclave_export_audit_log(enclave, "xml", "/nowhere/log", NULL) < 0);
	assert_int_equal(
		corral_enclave_export_audit_log(enclave, "json", "/nowhere/log", NULL), -ENOENT);
	assert_int_equal(test_enclave_told(enclave, "store", "failed", "/nowhere/log", NULL), 2);
	corral_enclave_free(enclave);
}

static void test_audit_of_the_host(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *first, *second;

	(void)state;
	assert_int_equal(corral_audit_new(&o.audit, NULL, NULL), 0);
	first = test_enclave(NULL, &o);
	second = test_enclave(NULL, &o);
	(void)check(first, URL);
	(void)check(second, URL);
	assert_int_equal(test_enclave_told(first, "net.connect", "denied", NULL, NULL), 2);
	corral_enclave_free(first);
	assert_int_equal(test_enclave_told(second, "net.connect", "denied", NULL, NULL), 2);
	corral_enclave_free(second);
	assert_int_equal(corral_audit_free(o.audit, NULL), 0);
}

/* The log of an enclave is out of reach of its tools, whatever is to be granted. */
static void test_log_out_of_reach(void **state)
{
	static const char *const suffixes[] = { "", "-wal", "-shm", ".lock", ".key", ".key.pub",
		".head" };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_audit_options ao = CORRAL_AUDIT_OPTIONS;
	char folder[] = "/var/tmp/corral-test-reach-XXXXXX", log[64], inside[64],
	     token[CORRAL_TOKEN_BYTES];
	struct corral_enclave *enclave = NULL;
	struct corral_audit *audit = NULL;
	char *before, *after;

	(void)state;
	assert_non_null(mkdtemp(folder));
	(void)snprintf(log, sizeof(log), "%s/log", folder);
	(void)snprintf(inside, sizeof(inside), "%s/**", folder);
	ao.path = log;
	assert_int_equal(corral_audit_new(&audit, &ao, NULL), 0);
	o.audit = audit;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), 0);
	before = policy_of(enclave);
	assert_int_equal(
		corral_enclave_grant(enclave, token, CORRAL_FS_READ, inside, NULL, NULL), -EPERM);
	assert_int_equal(
		corral_enclave_grant(enclave, token, CORRAL_FS_WRITE, inside, NULL, NULL), -EPERM);
	after = policy_of(enclave);
	assert_string_equal(before, after);
	corral_free(before);
	corral_free(after);
	corral_enclave_free(enclave);
	assert_int_equal(corral_audit_free(audit, NULL), 0);
	for (size_t i = 0; i < ROWS(suffixes); i++) {
		char name[96];

		(void)snprintf(name, sizeof(name), "%s%s", log, suffixes[i]);
		(void)unlink(name);
	}
	assert_int_equal(rmdir(folder), 0);
}

/* Options */

/*
 * AgenShield's file: names that match its deniedPatterns are neither read nor made, by a write or
 * by a save, which renames; and a denylist by URL denies that path.
 */
static void test_rules_of_agenshield(void **state)
{
	static const struct {
		const char *name;
		int code;
	} files[] = {
		{ "plain.txt", 0 },
		{ ".env", -EACCES },
		{ "new.key", -EACCES },
		{ "sub/.env", -EACCES },
		{ "sub/x.keys", 0 },
	};
	static const struct {
		const char *url;
		int code;
	} urls[] = {
		{ "https://api.example.com/v1", 0 },
		{ "https://api.example.com/admin", -EACCES },
		{ "https://api.example.com/admin?x=1", -EACCES },
		{ "https://api.example.com/%61dmin", -EACCES },
		{ "https://api.example.com/x/../admin", -EACCES },
		{ "https://API.example.com:443/admin", -EACCES },
		{ "https://api.example.com/administer", 0 },
		{ "https://other.example.com/admin", 0 },
	};
	char folder[] = "/tmp/test-shield.XXXXXX", rules[1024], path[128];
	struct corral_enclave *enclave;

	(void)state;
	assert_non_null(mkdtemp(folder));
	assert_true(
		snprintf(rules, sizeof(rules),
			"{\"version\": \"1.0.0\", \"defaultAction\": \"allow\", \"rules\": "
			"[{\"id\": "
			"\"admin\", \"name\": \"Admin\", \"type\": \"denylist\", \"operations\": "
			"[\"http_request\"], \"patterns\": [\"https://api.example.com/admin\"], "
			"\"enabled\": true, \"priority\": 10}], \"fsConstraints\": "
			"{\"allowedPaths\": "
			"[\"%s\"], \"deniedPatterns\": [\"**/.env\", \"**/*.key\"]}}",
			folder) > 0);
	enclave = test_enclave(rules, NULL);
	(void)snprintf(path, sizeof(path), "%s/sub", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	for (size_t i = 0; i < ROWS(files); i++) {
		struct corral_save *save = NULL;
		char *data = NULL;
		size_t len = 0;
		int r;

		(void)snprintf(path, sizeof(path), "%s/%s", folder, files[i].name);
		r = corral_enclave_fs_save(&save, enclave, NULL, path, NULL, NULL);
		if (r == 0)
			r = corral_save_write(save, "x", 1, NULL);
		if (r == 0)
			r = corral_save_commit(save, NULL);
		corral_save_free(save);
		assert_int_equal(r, files[i].code);
		assert_int_equal(
			corral_enclave_fs_write(enclave, NULL, path, "y", 1, NULL), files[i].code);
		assert_int_equal(access(path, F_OK), files[i].code ? -1 : 0);
		if (files[i].code) {
			FILE *f = fopen(path, "we");

			assert_non_null(f);
			(void)fclose(f);
		}
		assert_int_equal(corral_enclave_fs_read(enclave, NULL, path, &data, &len, NULL),
			files[i].code);
		corral_free(data);
	}
	for (size_t i = 0; i < ROWS(urls); i++)
		assert_int_equal(test_enclave_get(enclave, NULL, urls[i].url, NULL), urls[i].code);
	corral_enclave_free(enclave);
	assert_int_equal(scratch_remove(folder), 0);
}

static void test_options(void **state)
{
	struct {
		struct corral_enclave_options known;
		uint64_t more;
	} longer = { .known = CORRAL_ENCLAVE_OPTIONS };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES];

	(void)state;
	longer.known.size = sizeof(longer);
	assert_int_equal(corral_enclave_new(&enclave, &longer.known, token, NULL), 0);
	corral_enclave_free(enclave);
	longer.more = 1;
	assert_int_equal(corral_enclave_new(&enclave, &longer.known, token, NULL), -E2BIG);
	assert_int_equal(corral_enclave_new(&enclave, NULL, token, NULL), 0);
	corral_enclave_free(enclave);
	o.size = 0;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), -EINVAL);
	o.size = sizeof(o);
	o.work_dir = "not/absolute";
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), -EINVAL);
	o.work_dir = NULL;
	o.n_ceiling = 1;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), -EINVAL);
	o.n_ceiling = 1000;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), -E2BIG);
	corral_enclave_free(NULL);
}

/* What the host does itself, asked for in the same words as anything else. */
static void test_check(void **state)
{
	static const struct {
		enum corral_operation op;
		const char *target;
		int code;
	} cases[] = {
		{ CORRAL_ENV, "LANG", 0 },
		{ CORRAL_ENV, "LANGUAGE", -EACCES },
		{ CORRAL_SERVICE, "browser.open:https://docs.example.com/", 0 },
		{ CORRAL_SERVICE, "browser.open:https://example.org/.docs.example.com", -EACCES },
		{ CORRAL_SERVICE, "browser.eval:https://docs.example.com/", -EACCES },
		{ CORRAL_SERVICE, "clipboard.read", -EACCES },
		{ CORRAL_NET_CONNECT, HOST, -EACCES },
		{ CORRAL_FS_READ, "/srv/x", 0 },
		{ CORRAL_FS_WRITE, "/srv/x", -EACCES },
		{ (enum corral_operation)99, "/srv/x", -EINVAL },
		{ CORRAL_FS_READ, NULL, -EINVAL },
	};
	struct corral_enclave *enclave =
		test_enclave("{fs: {read: [/srv/**]}, env: [LANG], "
			     "services: {browser: {access: open, domains: [docs.example.com]}}}",
			NULL);

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		int r = corral_enclave_check(enclave, NULL, cases[i].op, cases[i].target, NULL);

		if (r != cases[i].code)
			fail_msg("%s: %d, not %d", cases[i].target, r, cases[i].code);
	}
	assert_int_equal(test_enclave_told(enclave, "service", "allowed", "browser.open", NULL), 1);
	assert_int_equal(test_enclave_told(enclave, "env", "denied", "LANGUAGE", NULL), 1);
	corral_enclave_free(enclave);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_token),
		cmocka_unit_test(test_wrong_tokens),
		cmocka_unit_test(test_grant_and_revoke),
		cmocka_unit_test(test_every_operation),
		cmocka_unit_test(test_revoke_takes_one_pattern),
		cmocka_unit_test(test_a_failure_changes_nothing),
		cmocka_unit_test(test_set_and_get_policy),
		cmocka_unit_test(test_ceiling),
		cmocka_unit_test(test_permissions_of_several_layers),
		cmocka_unit_test(test_requests),
		cmocka_unit_test(test_check),
		cmocka_unit_test(test_question_and_answer),
		cmocka_unit_test(test_an_answer_wakes),
		cmocka_unit_test(test_answer_only_narrows),
		cmocka_unit_test(test_refusal),
		cmocka_unit_test(test_a_denial_is_not_asked_about),
		cmocka_unit_test(test_a_question_must_be_showable),
		cmocka_unit_test(test_hand_on),
		cmocka_unit_test(test_an_actor_has_a_size),
		cmocka_unit_test(test_values_are_no_part_of_a_change),
		cmocka_unit_test(test_callback),
		cmocka_unit_test(test_log),
		cmocka_unit_test(test_audit_of_the_host),
		cmocka_unit_test(test_log_out_of_reach),
		cmocka_unit_test(test_rules_of_agenshield),
		cmocka_unit_test(test_options),
	};

	return cmocka_run_group_tests_name("enclave", tests, NULL, NULL);
}
