/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is printed can be read back and means the same; and the line that explain_line() suggests,
 * read as permissions and merged into the layer that denied, makes it allow.
 */
#include "policy/test/test-property.h"

#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/algebra/algebra.h"
#include "policy/explain.h"
#include "policy/format/permissions-text.h"

static struct permissions *read_text(const char *text, bool json)
{
	struct permissions *p = permissions_new();
	struct error e = { 0 };
	auto_document d = { 0 };
	int r = json ? json_read(&d, NULL, text, strlen(text), &e)
		     : yaml_read(&d, NULL, 1, text, strlen(text), &e);

	assert_non_null(p);
	if (r == 0)
		r = permissions_read_node(p, &d, d.root, &e);
	if (r < 0)
		fail_msg("%d: %u:%u: %s (%s) in\n%s", r, e.line, e.column, e.text, e.hint, text);
	return p;
}

static void print(const struct permissions *p, bool json, struct buffer *out)
{
	if (json)
		permissions_print_json(p, out);
	else
		permissions_print_yaml(p, out);
	assert_false(out->failed);
}

/* Reading makes spellings canonical, so the text is a fixed point from the second time on. */
static void check_print(struct random *r, const struct permissions *p, bool json)
{
	auto_buffer first = { 0 }, second = { 0 }, third = { 0 };
	auto_permissions *again = NULL, *last = NULL;
	const struct permissions *both[2] = { p, NULL };
	auto_policy *x = NULL, *y = NULL;

	print(p, json, &first);
	again = read_text(buffer_text(&first), json);
	print(again, json, &second);
	last = read_text(buffer_text(&second), json);
	print(last, json, &third);
	both[1] = again;
	if (strcmp(buffer_text(&second), buffer_text(&third)) != 0)
		random_fail("the text is no fixed point", NULL, both, 2);
	x = random_compile(&both[0], 1, &random_options);
	y = random_compile(&both[1], 1, &random_options);
	for (unsigned i = 0; i < 40; i++) {
		struct random_request q;

		random_request(r, &q);
		if (random_decide(x, &q.request) != random_decide(y, &q.request))
			random_fail("printing changed the meaning", &q.request, both, 2);
	}
}

static void test_print(void **state)
{
	struct random r = random_start(31);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 1500; i++, cases += 40) {
		auto_permissions *p = random_permissions(&r, RANDOM_METHODS);

		check_print(&r, p, i % 2);
	}
	random_report("print and read", cases);
}

/* A layer grants a service in two entries, which a policy file has no way to say yet. */
static bool has_twins(const struct permissions *p)
{
	for (size_t i = 0; i < p->n_all_of; i++) {
		if (has_twins(p->all_of[i]))
			return true;
	}
	for (size_t i = 0; i < p->n_services; i++) {
		for (size_t k = 0; k < i; k++) {
			if (strcmp(p->services[i].name, p->services[k].name) == 0)
				return true;
		}
	}
	return false;
}

/* What the algebra makes must be printable, too. */
static void test_print_algebra(void **state)
{
	struct random r = random_start(32);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 600; i++) {
		auto_permissions *a = random_permissions(&r, RANDOM_ANY);
		auto_permissions *b = random_permissions(&r, RANDOM_ANY), *p = NULL;

		if (i % 2)
			assert_int_equal(algebra_intersect(&p, a, b), 0);
		else
			assert_int_equal(algebra_merge(&p, a, b), 0);
		if (has_twins(p))
			continue;
		check_print(&r, p, i % 4 < 2);
		cases += 40;
	}
	random_report("print and read of meets and merges", cases);
}

/* Requests that are hard to write down. */
static void odd_request(struct random *r, struct random_request *q)
{
	static const struct {
		enum operation op;
		const char *target;
	} rows[] = {
		{ OPERATION_FS_READ, "/a b" },
		{ OPERATION_FS_READ, "/a:" },
		{ OPERATION_FS_WRITE, "/x/$HOME" },
		{ OPERATION_FS_READ, "/*?[]{}\\" },
		{ OPERATION_FS_WRITE, "/\x01\x1f\x7f" },
		{ OPERATION_FS_READ, "/\xff" },
		{ OPERATION_FS_READ, "/\xc2\x85\xe2\x80\xa8" },
		{ OPERATION_FS_READ, "/\xef\xbb\xbf\xef\xbf\xbd" },
		{ OPERATION_FS_READ, "/~" },
		{ OPERATION_FS_READ, "/\"'#: -" },
		{ OPERATION_FS_WRITE, "/a\nb" },
		{ OPERATION_EXEC, "a b" },
		{ OPERATION_EXEC, "a:" },
		{ OPERATION_EXEC, "a:*" },
		{ OPERATION_EXEC, "*" },
		{ OPERATION_EXEC, "python*" },
		{ OPERATION_EXEC, "$HOME" },
		{ OPERATION_EXEC, "~" },
		{ OPERATION_EXEC, "a\\b" },
		{ OPERATION_EXEC, "a\tb" },
		{ OPERATION_EXEC, "/opt/a b" },
		{ OPERATION_EXEC, "/opt/a:" },
		{ OPERATION_EXEC, "/opt/a:*" },
		{ OPERATION_EXEC, "/opt/$a{b}" },
		{ OPERATION_EXEC, "/opt/\x01" },
		{ OPERATION_EXEC, "/opt/\xff" },
		{ OPERATION_ENV, "A*" },
		{ OPERATION_ENV, "A.B" },
		{ OPERATION_ENV, "A=x\ny" },
		{ OPERATION_ENV, "A= # ' \"" },
		{ OPERATION_ENV, "A=\xff" },
		{ OPERATION_NET_CONNECT, "unix:/run/a*b" },
		{ OPERATION_NET_CONNECT, "unix:/run/\xff" },
		{ OPERATION_NET_CONNECT, "b\xc3\xbc"
					 "cher.de:443" },
		{ OPERATION_NET_CONNECT, "https://u@h.com/x?y#z" },
		{ OPERATION_NET_CONNECT, "[::ffff:10.1.2.3]:1" },
		{ OPERATION_NET_CONNECT, "0x7f.1:80" },
		{ OPERATION_SERVICE, "nope.read" },
		{ OPERATION_SERVICE, "browser.read" },
		{ OPERATION_SERVICE, "vault.read:x" },
		{ OPERATION_SERVICE, "a: b.read" },
	};
	unsigned i = random_pick(r, ROWS(rows));

	*q = (struct random_request){ .request.op = rows[i].op, .request.target = q->target };
	(void)snprintf(q->target, sizeof(q->target), "%s", rows[i].target);
}

/* Merges the line for a denial into *p and decides again. */
static void apply_line(
	struct permissions **p, const char *line, const struct request *q, struct decision *ret)
{
	auto_permissions *more = read_text(line, false), *merged = NULL;
	auto_policy *policy = NULL;

	assert_int_equal(algebra_merge(&merged, *p, more), 0);
	permissions_free(*p);
	*p = merged;
	merged = NULL;
	policy = random_compile(&(const struct permissions *){ *p }, 1, &random_options);
	(void)policy_decide(policy, q, ret);
	/* The policy does not outlive this. */
	ret->layer = NULL;
	ret->source = NULL;
}

static size_t check_line(struct permissions **p, const struct request *q)
{
	auto_policy *policy =
		random_compile(&(const struct permissions *){ *p }, 1, &random_options);
	auto_permissions *was = permissions_copy(*p);
	auto_buffer line = { 0 }, grant = { 0 };
	struct decision d;

	if (policy_decide(policy, q, &d) < 0)
		return 0;
	explain_line(q, &d, &line);
	assert_true(
		line.len == 0 || (d.verdict != VERDICT_ALLOW && !d.source && !d.baseline_never));
	if (line.len == 0)
		return 0;
	if (d.why == DECISION_BASELINE) {
		/* Lifting the baseline is one thing, the grant is another. */
		struct decision plain;

		(void)policy_decide_layer(policy, 0, q, &plain);
		if (plain.source && plain.verdict != VERDICT_ALLOW)
			return 0;
		explain_line(q, &plain, &grant);
		apply_line(p, buffer_text(&line), q, &d);
		if (grant.len)
			apply_line(p, buffer_text(&grant), q, &d);
	} else {
		apply_line(p, buffer_text(&line), q, &d);
	}
	if (d.verdict != VERDICT_ALLOW) {
		print_error("line: %s\n", buffer_text(&line));
		random_fail("the line does not help", q, &(const struct permissions *){ was }, 1);
	}
	return 1;
}

static void test_line(void **state)
{
	struct random r = random_start(33);
	size_t cases = 0;

	(void)state;
	for (unsigned i = 0; i < 900; i++) {
		auto_permissions *p =
			random_permissions(&r, RANDOM_PLAIN | RANDOM_RESOLVED | RANDOM_METHODS);

		for (unsigned k = 0; k < 4; k++) {
			struct random_request q;

			if (k == 0)
				odd_request(&r, &q);
			else
				random_request(&r, &q);
			cases += check_line(&p, &q.request);
		}
	}
	assert_true(cases > 1000);
	random_report("lines that help", cases);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_print),
		cmocka_unit_test(test_print_algebra),
		cmocka_unit_test(test_line),
	};

	return cmocka_run_group_tests_name("property-explain", tests, NULL, NULL);
}
