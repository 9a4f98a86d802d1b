/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* What the tests of the engine share: permissions from a line of YAML, and verdicts for them. */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#include "base/buffer.h"
#include "codec/yaml.h"
#include "policy/format/permissions-text.h"
#include "policy/policy.h"

static const struct variables test_variables = {
	.values = {
		[VARIABLE_SKILL_DIR] = "/skill",
		[VARIABLE_WORK_DIR] = "/work",
		[VARIABLE_DATA_DIR] = "/data",
		[VARIABLE_SHARED_DIR] = "/shared",
		[VARIABLE_HOME] = "/home/me",
		[VARIABLE_TEMP] = "/tmp",
	},
};
static const struct policy_options test_options = { .variables = &test_variables };

/* Permissions as they are written; the caller frees them. */
static inline struct permissions *test_read(const char *yaml)
{
	struct permissions *p = permissions_new();
	struct error e = { 0 };
	auto_document d = { 0 };
	int r = yaml_read(&d, "test.yaml", 1, yaml, strlen(yaml), &e);

	assert_non_null(p);
	if (r == 0)
		r = permissions_read_node(p, &d, d.root, &e);
	if (r < 0)
		fail_msg("%s: %d: %s (%s)", yaml, r, e.text, e.hint);
	return p;
}

static inline struct policy *test_compile(const char *yaml)
{
	auto_permissions *p = test_read(yaml);
	const struct permissions *layer = p;
	struct policy_options options = test_options;
	auto_arena scratch = { 0 };
	struct policy *policy = NULL;
	struct error e = { 0 };
	/* As with an injector that opens what is to be inspected. */
	int r = policy_inspected(&layer, 1, &scratch, &options.opened, &options.n_opened);

	if (r == 0)
		r = policy_new(&policy, &layer, 1, &options, &e);
	if (r < 0)
		fail_msg("%s: %d: %s (%s)", yaml, r, e.text, e.hint);
	return policy;
}

/* A request from text: "fs.read /a", "exec git push -f" (the arguments are known), "exec git ?"
 * (they are not), "net.connect https://h/ POST". */
struct test_request {
	struct request request;
	char text[256];
	const char *args[8];
};

static inline void test_request(struct test_request *ret, const char *text)
{
	char *save = NULL, *word;

	*ret = (struct test_request){ 0 };
	assert_true(strlen(text) < sizeof(ret->text));
	(void)snprintf(ret->text, sizeof(ret->text), "%s", text);
	word = strtok_r(ret->text, " ", &save);
	assert_int_equal(operation_parse(word, &ret->request.op), 0);
	ret->request.target = strtok_r(NULL, " ", &save);
	if (!ret->request.target)
		ret->request.target = "";
	if (ret->request.op == OPERATION_EXEC)
		ret->request.args = ret->args;
	while ((word = strtok_r(NULL, " ", &save))) {
		if (ret->request.op == OPERATION_NET_CONNECT)
			ret->request.method = word;
		else if (strcmp(word, "?") == 0)
			ret->request.args = NULL;
		else
			ret->args[ret->request.n_args++] = word;
	}
}

/* The decision of one policy; a negative return denies. */
static inline int test_decide(const struct policy *p, const char *request, struct decision *d)
{
	struct test_request q;
	int r;

	test_request(&q, request);
	r = policy_decide(p, &q.request, d);
	assert_true(r == 0 || d->verdict == VERDICT_DENY);
	return r;
}

/* One row of a table: a policy, and requests (separated by '|') by their verdicts; NULL: none. */
struct test_row {
	const char *yaml, *allowed, *asked, *denied;
};

static inline void test_check_requests(
	const struct policy *p, const char *yaml, const char *requests, enum verdict want)
{
	char text[2048], *save = NULL;

	assert_true(strlen(requests) < sizeof(text));
	(void)snprintf(text, sizeof(text), "%s", requests);
	for (char *one = strtok_r(text, "|", &save); one; one = strtok_r(NULL, "|", &save)) {
		struct decision d;

		(void)test_decide(p, one, &d);
		if (d.verdict != want)
			fail_msg("%s: <%s>: %s, want %s", yaml, one, verdict_name(d.verdict),
				verdict_name(want));
	}
}

static inline void test_check_rows(const struct test_row *rows, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		auto_policy *p = test_compile(rows[i].yaml);

		if (rows[i].allowed)
			test_check_requests(p, rows[i].yaml, rows[i].allowed, VERDICT_ALLOW);
		if (rows[i].asked)
			test_check_requests(p, rows[i].yaml, rows[i].asked, VERDICT_ASK);
		if (rows[i].denied)
			test_check_requests(p, rows[i].yaml, rows[i].denied, VERDICT_DENY);
	}
}
