/* SPDX-License-Identifier: Apache-2.0 */
#include "test/unit.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "sshagent/ssh-setup.h"

/* A login, and how it is printed; NULL: it is none. */
static const struct {
	const char *text, *printed;
} logins[] = {
	{ "git@github.com", "git@github.com:22" },
	{ "git@GitHub.com:22", "git@github.com:22" },
	{ "root@127.0.0.1:2222", "root@127.0.0.1:2222" },
	{ "git@[::1]:2222", "git@[::1]:2222" },
	{ "git@[2001:DB8::1]", "git@[2001:db8::1]:22" },
	{ "DOMAIN\\me@host", "DOMAIN\\me@host:22" },
	{ "a_b@my_host.local", "a_b@my_host.local:22" },
	{ "plain:git@GitHub.com", "plain:git@github.com:22" },
	{ "plain:git@[::1]:2222", "plain:git@[::1]:2222" },
	{ "plain:plain:git@a", NULL },
	{ "plain:", NULL },
	{ "plain:@a", NULL },
	{ "Plain:git@a", NULL },
	{ "--", NULL },
	{ "", NULL },
	{ "git", NULL },
	{ "github.com", NULL },
	{ "@github.com", NULL },
	{ "git@", NULL },
	{ "git@*", NULL },
	{ "*@github.com", NULL },
	{ "git@*.github.com", NULL },
	{ "git@github.com:", NULL },
	{ "git@github.com:0", NULL },
	{ "git@github.com:022", NULL },
	{ "git@github.com:65536", NULL },
	{ "git@github.com:99999", NULL },
	{ "git@github.com:22:22", NULL },
	{ "git@github.com:me/project.git", NULL },
	{ "git@::1", NULL },
	{ "git@[::1", NULL },
	{ "git@[]", NULL },
	{ "git@[github.com]:22", NULL },
	{ "git@[::1]22", NULL },
	{ "git@[fe80::1%lo]:22", NULL },
	{ "-oProxyCommand=x@github.com", NULL },
	{ "git@-oProxyCommand", NULL },
	{ "git @github.com", NULL },
	{ "a@b@github.com", NULL },
	{ "git@git hub", NULL },
	{ "ssh://git@github.com", NULL },
	{ "g\xc3\xaft@github.com", NULL },
};

static void test_logins(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(logins); i++) {
		struct ssh_login l = { .port = 7 };
		char out[SSH_LOGIN_BYTES];
		int r = ssh_setup_login_parse(logins[i].text, &l);

		if ((r == 0) != (logins[i].printed != NULL))
			fail_msg("%s: %d", logins[i].text, r);
		if (r < 0) {
			assert_int_equal(r, -EINVAL);
			assert_int_equal(l.port, 7);
			continue;
		}
		ssh_setup_login_print(&l, out);
		assert_string_equal(out, logins[i].printed);
		/* What is printed is read as the same. */
		assert_int_equal(ssh_setup_login_parse(out, &l), 0);
		ssh_setup_login_print(&l, out);
		assert_string_equal(out, logins[i].printed);
	}
}

static void test_plain(void **state)
{
	static const struct {
		const char *text;
		bool may_be_plain;
	} rows[] = { { "git@github.com", true }, { "git@GitHub.com:22", true },
		{ "git@ssh.github.com:443", true }, { "git@vs-ssh.visualstudio.com", true },
		{ "plain:root@a", true }, { "root@a", false }, { "git@a", false },
		{ "root@github.com", false }, { "git@github.com:443", false },
		{ "git@github.com.a", false }, { "git@a.github.com", false },
		{ "git@ssh.github.com", false } };
	struct ssh_login l;

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		assert_int_equal(ssh_setup_login_parse(rows[i].text, &l), 0);
		if (ssh_setup_may_be_plain(&l) != rows[i].may_be_plain)
			fail_msg("%s", rows[i].text);
	}
}

static void test_long_logins(void **state)
{
	char text[1024] = { 0 };
	struct ssh_login l;

	(void)state;
	memset(text, 'u', 255);
	memcpy(text + 255, "@h", 3);
	assert_int_equal(ssh_setup_login_parse(text, &l), 0);
	memset(text, 'u', 256);
	memcpy(text + 256, "@h", 3);
	assert_int_equal(ssh_setup_login_parse(text, &l), -EINVAL);
	memcpy(text, "u@", 2);
	memset(text + 2, 'h', 255);
	text[257] = '\0';
	assert_int_equal(ssh_setup_login_parse(text, &l), 0);
	memset(text + 2, 'h', 256);
	text[258] = '\0';
	assert_int_equal(ssh_setup_login_parse(text, &l), -EINVAL);
}

static void test_namespaces(void **state)
{
	static const char *const good[] = { "git", "file", "git@example.com", "a.b-c_d" },
				 *const bad[] = { "", "*", "git ", "-n", "a/b", "g\nit" };
	char text[SSH_NAMESPACE_MAX + 2];

	(void)state;
	for (size_t i = 0; i < ROWS(good); i++)
		assert_true(ssh_setup_namespace_is_valid(good[i]));
	for (size_t i = 0; i < ROWS(bad); i++)
		assert_false(ssh_setup_namespace_is_valid(bad[i]));
	memset(text, 'n', sizeof(text));
	text[SSH_NAMESPACE_MAX + 1] = '\0';
	assert_false(ssh_setup_namespace_is_valid(text));
	text[SSH_NAMESPACE_MAX] = '\0';
	assert_true(ssh_setup_namespace_is_valid(text));
}

static void test_round(void **state)
{
	const struct ssh_setup s = { .logins = { "git@github.com:22", "a@b:1" },
		.n_logins = 2,
		.namespaces = { "git" },
		.n_namespaces = 1,
		.files = { { "/home/x/.ssh/known_hosts", "a\0b", 3 }, { "/etc/x", "", 0 } },
		.n_files = 2 };
	struct ssh_setup got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(ssh_setup_encode(&s, &body), 0);
	assert_int_equal(ssh_setup_decode(&got, body.data, body.len), 0);
	assert_int_equal(got.n_logins, 2);
	assert_string_equal(got.logins[1], "a@b:1");
	assert_string_equal(got.namespaces[0], "git");
	assert_int_equal(got.n_files, 2);
	assert_int_equal(got.files[0].len, 3);
	assert_memory_equal(got.files[0].data, "a\0b", 3);
	/* Cut off anywhere but behind an item, it is refused. */
	for (size_t len = 0; len < body.len; len++) {
		char *exact = malloc(len ? len : 1);

		memcpy(exact, body.data, len);
		if (ssh_setup_decode(&got, exact, len) == 0)
			assert_true(len == 19 || len == 26 || len == 31 || len == body.len - 12);
		free(exact);
	}
}

static void test_bounds(void **state)
{
	static const char too_much[1] = { 0 };
	struct ssh_setup s = { .n_logins = SSH_GRANTS_MAX + 1 };
	struct ssh_setup got;
	auto_buffer body = { 0 };

	(void)state;
	assert_int_equal(ssh_setup_encode(&s, &body), -E2BIG);
	s = (struct ssh_setup){ .n_logins = 1, .logins = { "git@*" } };
	assert_int_equal(ssh_setup_encode(&s, &body), -EINVAL);
	s = (struct ssh_setup){ .n_namespaces = 1, .namespaces = { "*" } };
	assert_int_equal(ssh_setup_encode(&s, &body), -EINVAL);
	s = (struct ssh_setup){ .n_files = 1,
		.files = { { "x", too_much, SSH_FILES_BYTES_MAX + 1 } } };
	assert_int_equal(ssh_setup_encode(&s, &body), -E2BIG);
	/* Files alone grant nothing. */
	buffer_clear(&body);
	s = (struct ssh_setup){ .n_files = 1, .files = { { "x", "y", 1 } } };
	assert_int_equal(ssh_setup_encode(&s, &body), 0);
	assert_int_equal(ssh_setup_decode(&got, body.data, body.len), -EPROTO);
	/* More of them than there is room for. */
	buffer_clear(&body);
	for (size_t i = 0; i <= SSH_GRANTS_MAX; i++)
		buffer_add(&body, "\2git", 5);
	assert_int_equal(ssh_setup_decode(&got, body.data, body.len), -EPROTO);
	assert_int_equal(ssh_setup_decode(&got, body.data, body.len - 5), 0);
	assert_int_equal(got.n_namespaces, SSH_GRANTS_MAX);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_logins),
		cmocka_unit_test(test_plain),
		cmocka_unit_test(test_long_logins),
		cmocka_unit_test(test_namespaces),
		cmocka_unit_test(test_round),
		cmocka_unit_test(test_bounds),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
