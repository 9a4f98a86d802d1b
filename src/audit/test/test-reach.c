/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <string.h>

#include "audit/place.h"
#include "base/array.h"

static struct policy *grant(const char *read, const char *write, const char *deny)
{
	auto_permissions *p = permissions_new();
	const struct permissions *layer = p;
	struct policy *policy = NULL;

	assert_non_null(p);
	if (read)
		assert_int_equal(permissions_add(p, &p->fs_read, read, NULL), 0);
	if (write)
		assert_int_equal(permissions_add(p, &p->fs_write, write, NULL), 0);
	if (deny)
		assert_int_equal(permissions_add(p, &p->fs_deny, deny, NULL), 0);
	assert_int_equal(policy_new(&policy, &layer, 1, NULL, NULL), 0);
	return policy;
}

static void by_grants(void **state)
{
	static const struct {
		const char *read, *write, *deny;
		enum audit_reach expected;
	} rows[] = {
		{ NULL, NULL, NULL, AUDIT_REACH_NONE },
		{ "/srv/other/**", "/srv/work/**", NULL, AUDIT_REACH_NONE },
		/* Itself, its folder, what is beside it, what is above it. */
		{ NULL, "/srv/log/audit.db", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv/log/**", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv/log/audit.db-wal", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv/log/audit.db-journal", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv/log/audit.db.head", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv/log/*.key", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/srv", NULL, AUDIT_REACH_WRITE },
		{ NULL, "/**", NULL, AUDIT_REACH_WRITE },
		/* To read is to lock, and the key signs; the head may be read by everybody. */
		{ "/srv/log/audit.db.key", NULL, NULL, AUDIT_REACH_READ },
		{ "/srv/log/audit.db.lock", NULL, NULL, AUDIT_REACH_READ },
		{ "/srv/**", NULL, NULL, AUDIT_REACH_READ },
		{ "/srv/log/audit.db.head", NULL, NULL, AUDIT_REACH_NONE },
		{ "/srv/log/audit.db.key.pub", NULL, NULL, AUDIT_REACH_NONE },
		/* Denied again. */
		{ "/**", NULL, "/srv/log/**", AUDIT_REACH_NONE },
		{ NULL, "/home/**", "/srv/log/**", AUDIT_REACH_NONE },
		/* What is above can still be moved away. */
		{ NULL, "/srv/**", "/srv/log/**", AUDIT_REACH_WRITE },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_policy *p = grant(rows[i].read, rows[i].write, rows[i].deny);
		enum audit_reach found = audit_reach(p, "/srv/log/audit.db");

		if (found != rows[i].expected)
			fail_msg("row %zu: %d", i, (int)found);
	}
}

static void bad_names(void **state)
{
	auto_policy *p = grant(NULL, NULL, NULL);
	char name[8192];

	(void)state;
	memset(name, 'a', sizeof(name));
	name[0] = '/';
	name[sizeof(name) - 1] = '\0';
	assert_int_equal(audit_reach(p, name), AUDIT_REACH_WRITE);
	assert_int_equal(audit_reach(p, "relative"), AUDIT_REACH_WRITE);
	assert_int_equal(audit_reach(p, "/a/../b"), AUDIT_REACH_WRITE);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_grants),
		cmocka_unit_test(bad_names),
	};

	return cmocka_run_group_tests_name("reach", tests, NULL, NULL);
}
