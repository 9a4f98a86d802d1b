/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>

#include "base/array.h"
#include "base/fd.h"
#include "base/shebang.h"

static const struct {
	const char *text, *program, *argument; /* program NULL: no script */
} cases[] = {
	{ "#!/bin/sh\n", "/bin/sh", "" },
	{ "#!/bin/sh", "/bin/sh", "" },
	{ "#! /bin/sh\necho\n", "/bin/sh", "" },
	{ "#!\t/bin/sh \t\n", "/bin/sh", "" },
	{ "#!/bin/sh\r\necho\r\n", "/bin/sh", "" },
	{ "#!/usr/bin/env -S python3  -I \n", "/usr/bin/env", "-S python3  -I" },
	{ "#!sh -e\n", "sh", "-e" },
	{ "#!", NULL, NULL },
	{ "#!\n/bin/sh\n", NULL, NULL },
	{ "#!  \n", NULL, NULL },
	{ "# !/bin/sh\n", NULL, NULL },
	{ " #!/bin/sh\n", NULL, NULL },
	{ "\x7f"
	  "ELF",
		NULL, NULL },
	{ "#", NULL, NULL },
	{ "", NULL, NULL },
};

static void test_lines(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct shebang s = { .program = "before" };
		int r = shebang_parse(&s, cases[i].text, strlen(cases[i].text));

		assert_int_equal(r, cases[i].program ? 0 : -ENOEXEC);
		assert_string_equal(s.program, cases[i].program ? cases[i].program : "before");
		assert_string_equal(s.argument, cases[i].argument ? cases[i].argument : "");
		assert_false(s.is_cut);
	}
}

/* What the kernel does not read is not there. */
static void test_long_lines(void **state)
{
	char text[2 * SHEBANG_BYTES];
	struct shebang s;

	(void)state;
	memset(text, 'x', sizeof(text));
	memcpy(text, "#!/bin/sh ", 10);
	assert_int_equal(shebang_parse(&s, text, sizeof(text)), 0);
	assert_string_equal(s.program, "/bin/sh");
	assert_int_equal(strlen(s.argument), SHEBANG_BYTES - 10);
	assert_true(s.is_cut);
	/* Whether the name ends here, nobody knows. */
	text[9] = '/';
	assert_int_equal(shebang_parse(&s, text, sizeof(text)), -ENOEXEC);
	assert_int_equal(shebang_parse(&s, text, SHEBANG_BYTES), -ENOEXEC);
	assert_int_equal(shebang_parse(&s, text, SHEBANG_BYTES - 1), 0);
	text[SHEBANG_BYTES - 1] = '\n';
	assert_int_equal(shebang_parse(&s, text, sizeof(text)), 0);
	assert_false(s.is_cut);
	memset(text + 2, ' ', sizeof(text) - 2);
	assert_int_equal(shebang_parse(&s, text, sizeof(text)), -ENOEXEC);
}

static void test_files(void **state)
{
	static const char text[] = "#!/bin/sh -e\nexit\n";
	auto_fd fd = memfd_create("script", MFD_CLOEXEC);
	struct shebang s;

	(void)state;
	assert_int_equal(shebang_read(&s, fd), -ENOEXEC);
	assert_int_equal(write(fd, text, strlen(text)), strlen(text));
	assert_int_equal(shebang_read(&s, fd), 0);
	assert_string_equal(s.program, "/bin/sh");
	assert_string_equal(s.argument, "-e");
	assert_int_equal(shebang_read(&s, -1), -EBADF);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_lines),
		cmocka_unit_test(test_long_lines),
		cmocka_unit_test(test_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
