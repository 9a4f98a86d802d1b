/* SPDX-License-Identifier: Apache-2.0 */
/* What is offered for a denied record: the rows that the dashboard follows, too. */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "cli/audit/offer.h"

enum { ACTION, RULE, REASON, PROGRAM, TARGET, OFFERED, FIELDS };

static enum audit_action action_of(const char *name)
{
	for (int a = 0; a < AUDIT_ACTION_COUNT; a++)
		if (strcmp(audit_action_name((enum audit_action)a), name) == 0)
			return (enum audit_action)a;
	fail_msg("no action is called %s", name);
	return AUDIT_ACTION_COUNT;
}

static void check_row(char *line)
{
	const char *field[FIELDS] = { "", "", "", "", "", "" };
	struct audit_event v = { .decision = AUDIT_DENIED };
	auto_buffer value = { 0 }, offered = { 0 };
	const char *option;
	char *rest = line;

	for (size_t i = 0; i < FIELDS && rest; i++)
		field[i] = strsep(&rest, "\t");
	v.action = action_of(field[ACTION]);
	v.rule = field[RULE];
	v.reason = field[REASON];
	v.program = field[PROGRAM];
	v.target = field[TARGET];
	option = audit_offer(&v, &value);
	if (option)
		buffer_printf(&offered, "%s %s", option, buffer_text(&value));
	assert_string_equal(buffer_text(&offered), field[OFFERED]);
	v.decision = AUDIT_ALLOWED;
	assert_null(audit_offer(&v, &value));
}

static void test_rows(void **state)
{
	const char *folder = getenv("CORRAL_TEST_AUDIT");
	char path[4096], line[1024];
	size_t n = 0;
	FILE *f;

	(void)state;
	assert_non_null(folder);
	(void)snprintf(path, sizeof(path), "%s/offered.tsv", folder);
	f = fopen(path, "re");
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (*line == '#')
			continue;
		check_row(line);
		n++;
	}
	assert_int_equal(fclose(f), 0);
	assert_true(n > 30);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_rows) };

	return cmocka_run_group_tests(tests, NULL, NULL);
}
