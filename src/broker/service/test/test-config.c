/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "broker/service/config.h"
#include "test/scratch.h"

static char folder[64];

static const char *path_of(const char *name)
{
	static char paths[4][128];
	static unsigned n;
	char *path = paths[n++ % 4];

	(void)snprintf(path, sizeof(paths[0]), "%s/%s", folder, name);
	return path;
}

static const char *write_file(const char *name, const char *text, size_t len, mode_t mode)
{
	const char *path = path_of(name);
	FILE *f = fopen(path, "we");

	assert_non_null(f);
	assert_int_equal(fwrite(text, 1, len, f), len);
	assert_int_equal(fclose(f), 0);
	assert_int_equal(chmod(path, mode), 0);
	return path;
}

static void test_nothing_is_there(void **state)
{
	const struct service_config_places p = { .user = path_of("none"),
		.system = path_of("no/x") };
	auto_service_config c = { 0 };

	(void)state;
	assert_int_equal(service_config_read(&c, &p, NULL), 0);
	assert_int_equal(c.n_sections, 0);
	assert_null(service_config_find(&c, "notifications"));
}

static void test_errors_have_a_place(void **state)
{
	static const struct {
		const char *text, *want, *hint;
		unsigned line;
	} rows[] = {
		{ "notification: {}\n", "unknown service `notification`", "notifications", 1 },
		{ "\nnotifications:\n  severity: 3\n", "unknown key `severity`", "", 3 },
		{ "notifications: x\n", "must be a map", "", 1 },
		{ "email:\n  port: 0\n", "`port` must be a whole number from 1 to 65535, not `0`",
			"", 2 },
		{ "email:\n  tls: startls\n", "`tls` must be one of tls, starttls, plain",
			"did you mean `starttls`?", 2 },
		{ "email:\n  server: [a]\n", "`server` must be one line of text, not a list", "",
			2 },
		{ "browser:\n  program: a/b\n",
			"`program` must be an absolute path, or begin with ~/, not `a/b`", "", 2 },
		{ "- notifications\n", "a map of services", "", 1 },
		{ "notifications: {}\nnotifications: {}\n", "", "", 2 },
		{ "notifications: {\n", "", "", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const struct service_config_places p = { .user = write_file("u.yaml", rows[i].text,
								 strlen(rows[i].text), 0600) };
		auto_service_config c = { 0 };
		struct error e = { 0 };

		assert_int_equal(service_config_read(&c, &p, &e), -EINVAL);
		if (!strstr(e.text, rows[i].want) || !strstr(e.hint, rows[i].hint) ||
			e.line != rows[i].line || strcmp(e.file, p.user) != 0)
			fail_msg(
				"%s: %s:%u: %s (%s)", rows[i].text, e.file, e.line, e.text, e.hint);
	}
}

static void test_first_place_counts(void **state)
{
	static const char text[] = "notifications: {}\n";
	const struct service_config_places p = { .text = text,
		.user = write_file("u.yaml", text, strlen(text), 0644),
		.system = write_file("s.yaml", text, strlen(text), 0644) };
	auto_service_config c = { 0 };
	const struct service_section *s;

	(void)state;
	assert_int_equal(service_config_read(&c, &p, NULL), 0);
	assert_int_equal(c.n_sections, 1);
	s = service_config_find(&c, "notifications");
	assert_non_null(s);
	assert_string_equal(s->where.file, "services");
}

static void test_a_file_that_others_change(void **state)
{
	static const mode_t modes[] = { 0620, 0602, 0666 };

	(void)state;
	for (size_t i = 0; i < ROWS(modes); i++) {
		const struct service_config_places p = { .user = write_file(
								 "u.yaml", "", 0, modes[i]) };
		auto_service_config c = { 0 };
		struct error e = { 0 };

		assert_int_equal(service_config_read(&c, &p, &e), -EPERM);
		assert_non_null(strstr(e.hint, "chmod go-w"));
	}
	/* A FIFO would make the reader wait. */
	assert_int_equal(mkfifo(path_of("fifo"), 0600), 0);
	{
		const struct service_config_places p = { .user = path_of("fifo") };
		auto_service_config c = { 0 };

		assert_int_equal(service_config_read(&c, &p, NULL), -EINVAL);
	}
}

static void test_passwords(void **state)
{
	static const struct {
		const char *text;
		size_t len;
		mode_t mode;
		int want;
		const char *password;
	} rows[] = {
		{ "secret\n", 7, 0600, 0, "secret" },
		{ "secret\r\n", 8, 0400, 0, "secret" },
		{ " a b ", 5, 0600, 0, " a b " },
		{ "secret\n", 7, 0640, -EPERM, NULL },
		{ "secret\n", 7, 0604, -EPERM, NULL },
		{ "secret\n", 7, 0620, -EPERM, NULL },
		{ "\n", 1, 0600, -EINVAL, NULL },
		{ "", 0, 0600, -EINVAL, NULL },
		{ "a\nb\n", 4, 0600, -EINVAL, NULL },
		{ "a\0b\n", 4, 0600, -EINVAL, NULL },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		const char *path = write_file("password", rows[i].text, rows[i].len, rows[i].mode);
		auto_buffer out = { 0 };
		struct error e = { 0 };

		if (service_password_read(path, &out, &e) != rows[i].want)
			fail_msg("row %zu: %s", i, e.text);
		if (rows[i].password)
			assert_string_equal(buffer_text(&out), rows[i].password);
		/* No error has the password in it. */
		assert_null(strstr(e.text, "secret"));
		assert_int_equal(unlink(path), 0);
	}
}

static void test_where_the_users_file_is(void **state)
{
	auto_arena a = { 0 };

	(void)state;
	assert_string_equal(service_config_user_file(&a, "/c", "/h"), "/c/corral/services.yaml");
	assert_string_equal(
		service_config_user_file(&a, "c", "/h"), "/h/.config/corral/services.yaml");
	assert_null(service_config_user_file(&a, NULL, NULL));
}

static int set_up(void **state)
{
	(void)state;
	(void)snprintf(folder, sizeof(folder), "/tmp/corral-services-XXXXXX");
	return mkdtemp(folder) ? 0 : -1;
}

static int tear_down(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_nothing_is_there),
		cmocka_unit_test(test_errors_have_a_place),
		cmocka_unit_test(test_first_place_counts),
		cmocka_unit_test(test_a_file_that_others_change),
		cmocka_unit_test(test_passwords),
		cmocka_unit_test(test_where_the_users_file_is),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
