/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "base/array.h"
#include "broker/service/grants.h"
#include "policy/format/image.h"

#define LAYER                                                                                      \
	"{\"fs\": {\"read\": [\"/srv/**\"]}, \"services\": {"                                      \
	"\"reminders\": {\"access\": \"read\", \"lists\": [\"Work\", \"Shop*\"], "                 \
	"\"rate_limit\": \"10/min\"}, "                                                            \
	"\"calendar\": {\"access\": \"readwrite\", \"calendars\": [\"Home\"], \"range\": \"7d\", " \
	"\"max_size\": 1000}}}"

static struct policy *compile(const char *const *layers, size_t n, const char *service)
{
	struct value_item items[4] = { 0 };
	struct buffer texts[4] = { 0 };
	struct policy *p = NULL;
	struct error e = { 0 };

	for (size_t i = 0; i < n; i++) {
		assert_int_equal(grants_reduce(layers[i], service, &texts[i], &e), 0);
		items[i].text = buffer_text(&texts[i]);
	}
	if (grants_compile(&p, items, n, &e) < 0)
		fail_msg("%s", e.text);
	for (size_t i = 0; i < n; i++)
		buffer_deinit(&texts[i]);
	return p;
}

static void test_scopes(void **state)
{
	static const struct {
		const char *request;
		bool want;
	} rows[] = {
		{ "reminders.read:Work", true },
		{ "reminders.read:Shopping", true },
		{ "reminders.read:work", false },
		{ "reminders.read:Work ", false },
		{ "reminders.read:Private", false },
		{ "reminders.read", false },
		{ "reminders.write:Work", false },
		/* Another service is not in it, though the layer grants it. */
		{ "calendar.read:Home", false },
		{ "reminders", false },
		{ "", false },
	};
	const char *layers[] = { LAYER };
	auto_policy *p = compile(layers, 1, "reminders");

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if (grants_allow(p, rows[i].request) != rows[i].want)
			fail_msg("%s", rows[i].request);
}

static void test_all_layers_must_allow(void **state)
{
	const char *layers[] = { LAYER,
		"{\"services\": {\"reminders\": {\"access\": \"readwrite\", \"lists\": [\"Work\"], "
		"\"max_size\": 2000, \"rate_limit\": \"5/h\"}}}" };
	auto_policy *p = compile(layers, 2, "reminders");
	struct service_bounds b;

	(void)state;
	assert_true(grants_allow(p, "reminders.read:Work"));
	assert_false(grants_allow(p, "reminders.read:Shopping"));
	assert_false(grants_allow(p, "reminders.write:Work"));
	grants_bounds(p, "reminders.read:Work", &b);
	assert_int_equal(b.max_size, 2000);
	assert_int_equal(b.rate.count, 5);
	assert_int_equal(b.rate.seconds, 3600);
	assert_int_equal(b.range_seconds, 0);
}

static void test_bounds(void **state)
{
	const char *layers[] = { LAYER };
	auto_policy *p = compile(layers, 1, "calendar");
	struct service_bounds b;

	(void)state;
	grants_bounds(p, "calendar.write:Home", &b);
	assert_int_equal(b.range_seconds, 7 * 24 * 3600);
	assert_int_equal(b.max_size, 1000);
	assert_int_equal(b.rate.count, 0);
	/* One that is not covered has none, and is not allowed. */
	grants_bounds(p, "calendar.write:Work", &b);
	assert_int_equal(b.range_seconds, 0);
	assert_false(grants_allow(p, "calendar.write:Work"));
}

/* Those about services are kept, whatever else they are about. */
static void test_rules_count(void **state)
{
	auto_permissions *given = permissions_new();
	struct rule rule = { .id = "secrets",
		.action = VERDICT_DENY,
		.operations = 1U << OPERATION_SERVICE | 1U << OPERATION_ENV };
	auto_buffer text = { 0 };
	struct service *s = permissions_service(given, "reminders");
	const char *layers[1];
	struct policy *p;

	(void)state;
	s->access = SERVICE_READ;
	assert_int_equal(permissions_add(given, &rule.patterns, "reminders:Secret", NULL), 0);
	assert_int_equal(permissions_add_rule(given, &rule), 0);
	assert_int_equal(image_write_text(given, &text), 0);
	layers[0] = buffer_text(&text);
	p = compile(layers, 1, "reminders");
	assert_true(grants_allow(p, "reminders.read:Work"));
	assert_false(grants_allow(p, "reminders.read:Secret"));
	policy_free(p);
}

static void test_nothing_denies(void **state)
{
	struct policy *p = NULL;
	struct error e = { 0 };

	(void)state;
	assert_int_equal(grants_compile(&p, NULL, 0, &e), 0);
	assert_false(grants_allow(p, "reminders.read:Work"));
	policy_free(p);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_scopes),
		cmocka_unit_test(test_all_layers_must_allow),
		cmocka_unit_test(test_bounds),
		cmocka_unit_test(test_rules_count),
		cmocka_unit_test(test_nothing_denies),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
