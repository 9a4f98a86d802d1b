/* SPDX-License-Identifier: Apache-2.0 */
/*
 * git's own cases of its matcher, which are not part of this project. Where $CORRAL_TEST_DATA has
 * no wildmatch.txt the suite is left out by name.
 */
#include "test/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "policy/match/glob.h"

enum { CASES_MIN = 150 };

static char cases[4096];

/*
 * git's t3070: `match A B C D text pattern`, where A is wildmatch with pathnames. Both get a slash
 * in front. The rows here are the ones where Corral differs on purpose.
 */
static const struct {
	const char *text, *pattern, *why;
} differs[] = {
	{ "XXX/adobe/courier/bold/o/normal//12/120/75/75/m/70/iso8859/1",
		"XXX/*/*/*/*/*/*/12/*/*/*/m/*/*/*",
		"an empty component is not part of a normal path, so * as a component needs a "
		"byte" },
};

/* One shell word; returns what follows it, or NULL. */
static const char *word(const char *s, char *out)
{
	char quote = 0;

	s += strspn(s, " \t");
	if (!*s || *s == '\n')
		return NULL;
	for (; *s && *s != '\n' && (quote || (*s != ' ' && *s != '\t')); s++) {
		if (quote && *s == quote)
			quote = 0;
		else if (!quote && (*s == '\'' || *s == '"'))
			quote = *s;
		else
			*out++ = *s;
	}
	*out = '\0';
	return s;
}

static bool expected_difference(const char *text, const char *pattern)
{
	for (size_t i = 0; i < ROWS(differs); i++) {
		if (strcmp(differs[i].text, text) == 0 && strcmp(differs[i].pattern, pattern) == 0)
			return true;
	}
	return false;
}

static void check_wildmatch(const char *line, unsigned *count)
{
	char fields[7][512], text[600], pattern[600];
	const char *s = line;
	bool got;

	for (size_t i = 0; i < 7; i++) {
		s = word(s, fields[i]);
		if (!s)
			return; /* a case that goes on in the next line of the shell script */
	}
	(void)snprintf(text, sizeof(text), "/%s", fields[5]);
	(void)snprintf(pattern, sizeof(pattern), "/%s", fields[6]);
	got = glob_match_text(pattern, text);
	if (got != (fields[1][0] == '1') && !expected_difference(fields[5], fields[6]))
		fail_msg("%s on %s: git says %s", pattern, text, fields[1]);
	(*count)++;
}

static void test_wildmatch(void **state)
{
	unsigned count = 0;
	char line[2048];
	FILE *f = fopen(cases, "re");

	(void)state;
	assert_non_null(f);
	while (fgets(line, sizeof(line), f)) {
		if (strncmp(line, "match ", 6) == 0)
			check_wildmatch(line, &count);
	}
	(void)fclose(f);
	assert_true(count > CASES_MIN);
}

int main(void)
{
	const struct CMUnitTest tests[] = { cmocka_unit_test(test_wildmatch) };
	const char *data = getenv("CORRAL_TEST_DATA");

	(void)snprintf(cases, sizeof(cases), "%s/wildmatch.txt", data ? data : "../shared/data");
	if (access(cases, R_OK) < 0) {
		printf("1..0 # SKIP third-party cases not present: %s\n", cases);
		return EXIT_SUCCESS;
	}
	return cmocka_run_group_tests_name("glob-suite", tests, NULL, NULL);
}
