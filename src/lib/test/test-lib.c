/* SPDX-License-Identifier: Apache-2.0 */
/* The library as a host program sees it: only the installed header, only the shared object. */
#include "test/unit.h"

#include <errno.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include <corral/policy.h>

static struct corral_permissions *parse(const char *text)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "test.yaml", text, strlen(text), &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

static struct corral_policy *compile(const struct corral_permissions *p)
{
	static const struct corral_variable vars[] = { { "WORK_DIR", "/srv/job" },
		{ "HOME", "/home/u" } };
	struct corral_policy *policy = NULL;
	struct corral_error *e = NULL;

	if (corral_policy_new(&policy, &p, 1, vars, 2, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return policy;
}

static void test_builder(void **state)
{
	struct corral_permissions *p;
	struct corral_policy *policy;
	struct corral_decision d;

	(void)state;
	assert_int_equal(corral_permissions_new(&p), 0);
	assert_int_equal(corral_permissions_is_empty(p), 1);
	assert_int_equal(corral_permissions_allow(p, CORRAL_FS_READ, "/etc/hosts", NULL), 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_FS_WRITE, "$WORK_DIR/**", NULL), 0);
	assert_int_equal(
		corral_permissions_allow(p, CORRAL_NET_CONNECT, "API.example.com:443", NULL), 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_EXEC, "git push:*", NULL), 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_ENV, "LC_*", NULL), 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_SERVICE, "clipboard.read", NULL), 0);
	assert_int_equal(corral_permissions_deny(p, CORRAL_FS_READ, "$WORK_DIR/secret", NULL), 0);
	assert_int_equal(corral_permissions_deny(p, CORRAL_NET_CONNECT, "10.0.0.0/8", NULL), 0);
	assert_int_equal(corral_permissions_is_empty(p), 0);
	policy = compile(p);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_FS_READ, "/etc/hosts", &d), CORRAL_ALLOW);
	assert_string_equal(d.pattern, "/etc/hosts");
	assert_int_equal(d.generation, 1);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_FS_WRITE, "/etc/hosts", NULL), CORRAL_DENY);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_FS_READ, "/srv/job/x", NULL), CORRAL_ALLOW);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_FS_READ, "/srv/job/secret", NULL), CORRAL_DENY);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_NET_CONNECT, "api.EXAMPLE.com.:443", NULL),
		CORRAL_ALLOW);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_NET_CONNECT, "evilapi.example.com:443", NULL),
		CORRAL_DENY);
	assert_int_equal(corral_policy_check(policy, CORRAL_ENV, "LC_ALL", NULL), CORRAL_ALLOW);
	assert_int_equal(corral_policy_check(policy, CORRAL_ENV, "PATH", NULL), CORRAL_DENY);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_SERVICE, "clipboard.read", NULL), CORRAL_ALLOW);
	assert_int_equal(
		corral_policy_check(policy, CORRAL_SERVICE, "clipboard.write", NULL), CORRAL_DENY);
	assert_true(corral_policy_check(policy, CORRAL_FS_READ, "relative", NULL) < 0);
	assert_true(corral_policy_check(policy, (enum corral_operation)99, "/", NULL) < 0);
	corral_policy_free(policy);
	corral_permissions_free(p);
}

static void test_exec_and_request(void **state)
{
	struct corral_permissions *p =
		parse("exec: ['git push:*', jq]\n"
		      "network: {allow: ['https://api.example.com/v1/**']}\n");
	struct corral_policy *policy = compile(p);

	(void)state;
	assert_int_equal(corral_policy_check_exec(
				 policy, (const char *[]){ "git", "push", "origin", NULL }, NULL),
		CORRAL_ALLOW);
	assert_int_equal(
		corral_policy_check_exec(policy, (const char *[]){ "git", "pull", NULL }, NULL),
		CORRAL_DENY);
	assert_int_equal(corral_policy_check_exec(policy, (const char *[]){ "jq", NULL }, NULL),
		CORRAL_ALLOW);
	assert_true(corral_policy_check_exec(policy, (const char *[]){ NULL }, NULL) < 0);
	assert_int_equal(corral_policy_check_request(
				 policy, "GET", "https://api.example.com/v1/items?q=1", NULL),
		CORRAL_ALLOW);
	assert_int_equal(corral_policy_check_request(
				 policy, "GET", "https://api.example.com/v2/items", NULL),
		CORRAL_DENY);
	assert_int_equal(corral_policy_check_request(
				 policy, "GET", "https://api.example.com@evil.example/v1/", NULL),
		CORRAL_DENY);
	corral_policy_free(policy);
	corral_permissions_free(p);
}

/* A name stands for the files that it is on this system. */
static void test_resolver(void **state)
{
	struct corral_permissions *p = parse("exec: [sh]\n");
	struct corral_policy *policy = compile(p);

	(void)state;
	assert_int_equal(corral_policy_check(policy, CORRAL_EXEC, "sh", NULL), CORRAL_ALLOW);
	assert_int_equal(corral_policy_check(policy, CORRAL_EXEC, "/bin/sh", NULL), CORRAL_ALLOW);
	assert_int_equal(corral_policy_check(policy, CORRAL_EXEC, "/tmp/sh", NULL), CORRAL_DENY);
	corral_policy_free(policy);
	corral_permissions_free(p);
}

static void test_errors(void **state)
{
	static const char text[] = "network:\n  alow: [x]\n";
	struct corral_permissions *p = NULL;
	struct corral_policy *policy = NULL;
	struct corral_error *e = NULL;

	(void)state;
	assert_true(corral_permissions_parse(&p, "p.yaml", text, sizeof(text) - 1, &e) < 0);
	assert_null(p);
	assert_string_equal(corral_error_file(e), "p.yaml");
	assert_int_equal(corral_error_line(e), 2);
	assert_int_equal(corral_error_column(e), 3);
	assert_non_null(strstr(corral_error_message(e), "network.allow"));
	corral_error_free(e);
	assert_true(corral_permissions_parse(&p, NULL, "x", 1, NULL) < 0);
	assert_int_equal(corral_permissions_parse(&p, "p.yaml", NULL, 5, NULL), -EINVAL);
	assert_int_equal(corral_permissions_parse(&p, "p.json", NULL, 5, NULL), -EINVAL);

	assert_int_equal(corral_permissions_new(&p), 0);
	assert_true(corral_permissions_allow(p, CORRAL_FS_READ, "a/../b", &e) < 0);
	assert_null(corral_error_file(e));
	corral_error_free(e);
	assert_true(corral_permissions_allow(p, CORRAL_ENV, "A B", NULL) < 0);
	assert_true(corral_permissions_allow(p, CORRAL_SERVICE, "clipboard", NULL) < 0);
	assert_true(corral_permissions_allow(p, (enum corral_operation)9, "x", NULL) < 0);
	assert_true(corral_permissions_deny(p, CORRAL_ENV, "X", NULL) < 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_FS_READ, "$DATA_DIR/**", NULL), 0);
	assert_int_equal(corral_policy_new(&policy, (const struct corral_permissions *[]){ p }, 1,
				 NULL, 0, &e),
		-ENOENT);
	assert_non_null(strstr(corral_error_message(e), "DATA_DIR"));
	corral_error_free(e);
	assert_int_equal(corral_policy_new(&policy, (const struct corral_permissions *[]){ p }, 1,
				 (const struct corral_variable[]){ { "NO_DIR", "/x" } }, 1, NULL),
		-EINVAL);
	assert_int_equal(corral_policy_new(&policy, (const struct corral_permissions *[]){ p }, 1,
				 (const struct corral_variable[]){ { "DATA_DIR", "x" } }, 1, NULL),
		-EINVAL);
	assert_null(policy);
	corral_permissions_free(p);
	corral_permissions_free(NULL);
	corral_policy_free(NULL);
	corral_error_free(NULL);
	corral_free(NULL);
}

static void test_texts(void **state)
{
	struct corral_permissions *p = parse("{fs: {read: [/b, /a]}, limits: {memory: 1M}}");
	struct corral_permissions *copy;
	char *yaml, *json;

	(void)state;
	assert_int_equal(corral_permissions_to_yaml(p, &yaml), 0);
	assert_non_null(strstr(yaml, "- /a\n"));
	assert_int_equal(corral_permissions_to_json(p, &json), 0);
	assert_non_null(strstr(json, "\"/a\""));
	corral_free(json);
	copy = parse(yaml);
	assert_int_equal(corral_permissions_limit(copy, CORRAL_LIMIT_MEMORY), 1 << 20);
	assert_int_equal(corral_permissions_set_limit(copy, CORRAL_LIMIT_PIDS, 7), 0);
	assert_int_equal(corral_permissions_limit(copy, CORRAL_LIMIT_PIDS), 7);
	assert_true(corral_permissions_limit(copy, CORRAL_LIMIT_FUEL) == CORRAL_LIMIT_NONE);
	assert_true(corral_permissions_set_limit(copy, (enum corral_limit)70, 7) < 0);
	assert_int_equal(corral_permissions_limit(copy, (enum corral_limit)70), 0);
	corral_free(yaml);
	corral_permissions_free(copy);
	assert_int_equal(corral_permissions_copy(&copy, p), 0);
	corral_permissions_free(copy);
	corral_permissions_free(p);
	assert_non_null(corral_version());
}

static void test_algebra(void **state)
{
	struct corral_permissions *a = parse("fs: {read: ['/srv/**']}");
	struct corral_permissions *b = parse("fs: {read: ['/srv/a/**', /etc/hosts]}");
	struct corral_permissions *both, *either;
	char *witness = NULL;

	(void)state;
	assert_int_equal(corral_permissions_intersect(&both, a, b), 0);
	assert_int_equal(corral_permissions_merge(&either, a, b), 0);
	assert_int_equal(corral_permissions_subset(both, a, NULL, 0, NULL, NULL), 1);
	assert_int_equal(corral_permissions_subset(a, either, NULL, 0, &witness, NULL), 1);
	assert_null(witness);
	assert_int_equal(corral_permissions_subset(either, a, NULL, 0, &witness, NULL), 0);
	assert_string_equal(witness, "fs.read /etc/hosts");
	corral_free(witness);
	corral_permissions_free(a);
	corral_permissions_free(b);
	corral_permissions_free(both);
	corral_permissions_free(either);
}

static void test_explain(void **state)
{
	struct corral_permissions *p = parse("fs: {read: ['/**']}");
	struct corral_policy *policy = compile(p);
	char *reason, *remedy;

	(void)state;
	assert_int_equal(corral_policy_explain(policy, CORRAL_FS_WRITE, "/srv/x", &reason, &remedy),
		CORRAL_DENY);
	assert_non_null(strstr(reason, "fs.write"));
	assert_non_null(strstr(remedy, "fs: {write: [\"/srv/x\"]}"));
	corral_free(reason);
	corral_free(remedy);
	assert_int_equal(corral_policy_explain(
				 policy, CORRAL_FS_READ, "/home/u/.ssh/id_rsa", &reason, &remedy),
		CORRAL_DENY);
	assert_non_null(strstr(reason, "baseline"));
	corral_free(reason);
	corral_free(remedy);
	assert_true(corral_policy_explain(policy, CORRAL_FS_READ, NULL, &reason, &remedy) < 0);
	corral_policy_free(policy);
	corral_permissions_free(p);
}

struct shared {
	struct corral_policy *policy;
	_Atomic int stop, wrong;
};

/* Even generations allow, odd ones deny: a decision must fit its generation. */
static void *decide(void *data)
{
	struct shared *s = data;
	uint64_t last = 0;

	while (!s->stop) {
		struct corral_decision d;
		int v = corral_policy_check(s->policy, CORRAL_FS_READ, "/srv/x", &d);

		if (v != (d.generation % 2 ? CORRAL_DENY : CORRAL_ALLOW) || d.generation < last)
			s->wrong = 1;
		last = d.generation;
	}
	return NULL;
}

static void test_swap(void **state)
{
	struct corral_permissions *none = parse("{}"), *some = parse("fs: {read: ['/srv/**']}");
	struct shared s = { .policy = compile(none) };
	pthread_t threads[3];
	uint64_t generation = 0;

	(void)state;
	for (size_t i = 0; i < 3; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, decide, &s), 0);
	for (unsigned i = 2; i < 500; i++) {
		const struct corral_permissions *next = i % 2 ? none : some;

		assert_int_equal(
			corral_policy_swap(s.policy, &next, 1, NULL, 0, &generation, NULL), 0);
		assert_int_equal(generation, i);
	}
	s.stop = 1;
	for (size_t i = 0; i < 3; i++)
		(void)pthread_join(threads[i], NULL);
	assert_int_equal(s.wrong, 0);
	assert_int_equal(corral_policy_generation(s.policy), 499);
	corral_policy_free(s.policy);
	corral_permissions_free(none);
	corral_permissions_free(some);
}

static void test_bad_swap(void **state)
{
	struct corral_permissions *p = parse("fs: {read: ['/srv/**']}");
	struct corral_permissions *bad = parse("fs: {read: ['$DATA_DIR/**']}");
	struct corral_policy *policy = compile(p);
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(corral_policy_swap(policy, (const struct corral_permissions *[]){ bad }, 1,
				 NULL, 0, NULL, &e),
		-ENOENT);
	corral_error_free(e);
	assert_int_equal(corral_policy_check(policy, CORRAL_FS_READ, "/srv/x", NULL), CORRAL_ALLOW);
	assert_int_equal(corral_policy_generation(policy), 1);
	corral_policy_free(policy);
	corral_permissions_free(p);
	corral_permissions_free(bad);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_builder),
		cmocka_unit_test(test_exec_and_request),
		cmocka_unit_test(test_resolver),
		cmocka_unit_test(test_errors),
		cmocka_unit_test(test_texts),
		cmocka_unit_test(test_algebra),
		cmocka_unit_test(test_explain),
		cmocka_unit_test(test_swap),
		cmocka_unit_test(test_bad_swap),
	};

	return cmocka_run_group_tests_name("lib", tests, NULL, NULL);
}
