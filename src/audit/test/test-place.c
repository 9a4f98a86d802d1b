/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>

#include "audit/place.h"
#include "audit/test/test-audit.h"
#include "base/array.h"

static void set(const char *name, const char *value)
{
	assert_int_equal(value ? setenv(name, value, 1) : unsetenv(name), 0);
}

static void by_the_environment(void **state)
{
	static const struct {
		const char *state, *home, *expected; /* NULL: there is none */
	} rows[] = {
		{ "/s", "/h", "/s/corral/audit.db" },
		{ NULL, "/h", "/h/.local/state/corral/audit.db" },
		{ "", "/h", "/h/.local/state/corral/audit.db" },
		{ "relative", "/h", "/h/.local/state/corral/audit.db" },
		{ "/s", NULL, "/s/corral/audit.db" },
		{ NULL, "h", NULL },
		{ NULL, NULL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer b = { 0 };
		struct error e = { 0 };
		int r;

		set("XDG_STATE_HOME", rows[i].state);
		set("HOME", rows[i].home);
		r = audit_place(&b, &e);
		assert_int_equal(r, rows[i].expected ? 0 : -ENOENT);
		if (rows[i].expected)
			assert_string_equal(b.data, rows[i].expected);
		else
			assert_non_null(strstr(e.hint, "HOME"));
	}
}

static void folders_are_made(void **state)
{
	struct bench *b = bench_new();
	char file[160], folder[200];
	struct error e = { 0 };
	struct stat st;

	(void)state;
	snprintf(file, sizeof(file), "%s/a//b/audit.db", b->folder);
	/* Twice: what is there is fine. */
	assert_int_equal(audit_place_make(file, &e), 0);
	assert_int_equal(audit_place_make(file, &e), 0);
	for (const char *const *name = (const char *const[]){ "a", "a/b", NULL }; *name; name++) {
		snprintf(folder, sizeof(folder), "%s/%s", b->folder, *name);
		assert_int_equal(stat(folder, &st), 0);
		assert_int_equal(st.st_mode, S_IFDIR | 0700);
	}
	assert_int_equal(access(file, F_OK), -1);
	/* A file is in the way. */
	assert_int_equal(file_replace(file, "x", 1, 0600), 0);
	snprintf(folder, sizeof(folder), "%s/below", file);
	assert_int_equal(audit_place_make(folder, &e), -ENOTDIR);
	assert_non_null(strstr(e.text, "audit.db"));
	/* Names without a folder, or with too long a one. */
	assert_int_equal(audit_place_make("audit.db", &e), 0);
	assert_int_equal(audit_place_make("/audit.db", &e), 0);
	bench_free(b);
}

static void names_that_are_too_long(void **state)
{
	char file[6000];

	(void)state;
	memset(file, 'x', sizeof(file));
	file[0] = '/';
	file[5000] = '/';
	file[sizeof(file) - 1] = '\0';
	assert_int_equal(audit_place_make(file, NULL), -ENAMETOOLONG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(by_the_environment),
		cmocka_unit_test(folders_are_made),
		cmocka_unit_test(names_that_are_too_long),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
