/* SPDX-License-Identifier: Apache-2.0 */
/* Sockets that are granted by their path: what of them is in a plan, and what is refused. */
#include "jail/plan/test/test-plan.h"

#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"

/* "@/run/s" and "@/run/inner/t" are listened on, so they get a mask where they are visible.
 */
static const char *const files[] = { "@/home/", "@/home/p/", "@/run/", "@/run/plain", "@/out/",
	"@/var/", "@/var/run>../run", "@/home/link>../run/s", "@/home/run>../run",
	"@/out/link>../run/s", "@/run/inner/" };

static int listeners[2] = { -1, -1 };

static int bind_at(const char *name)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	char *path = test_plan_expand(name);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 1), 0);
	free(path);
	return fd;
}

static int set_up(void **state)
{
	if (test_plan_set_up(state) < 0)
		return -1;
	for (size_t i = 0; i < ROWS(files); i++)
		test_plan_make(files[i]);
	listeners[0] = bind_at("@/run/s");
	listeners[1] = bind_at("@/run/inner/t");
	return 0;
}

static int tear_down(void **state)
{
	fd_close(&listeners[0]);
	fd_close(&listeners[1]);
	return test_plan_tear_down(state);
}

#define NO_HOME "tmp @/home dwx\n"

static const struct {
	const char *name, *layers[4], *want;
} cases[] = {
	{ "granted alone", { "network: {allow: ['unix:@/run/s']}" },
		"dir @\n" NO_HOME "dir @/run\nsocket @/run/s fr\n" },
	{ "not granted: hidden as all sockets are", { "fs: {read: [@/run/**]}" },
		"dir @\n" NO_HOME "bind @/run drx\nmask @/run/inner/t fro\nmask @/run/s fro\n" },
	{ "inside what is readable",
		{ "{fs: {read: [@/run/**]}, network: {allow: ['unix:@/run/s']}}" },
		"dir @\n" NO_HOME "bind @/run drx\nmask @/run/inner/t fro\nsocket @/run/s fro\n" },
	{ "inside what is writable",
		{ "{fs: {write: [@/run/**]}, network: {allow: ['unix:@/run/inner/t']}}" },
		"dir @\n" NO_HOME "bind @/run dwx\nbind @/run/inner dwxo\n"
		"socket @/run/inner/t fro\nmask @/run/s fro\n" },
	{ "the file is granted too",
		{ "{fs: {read: [@/run/s]}, network: {allow: ['unix:@/run/s']}}" },
		"dir @\n" NO_HOME "dir @/run\nsocket @/run/s fr\n" },
	{ "a folder of the session's own", { "network: {allow: ['unix:@/home/link']}" },
		"dir @\n" NO_HOME "link @/home/link -> ../run/s\ndir @/run\n"
		"socket @/run/s fr\n" },
	{ "by links", { "network: {allow: ['unix:@/home/run/s']}" },
		"dir @\n" NO_HOME "link @/home/run -> ../run\ndir @/run\nsocket @/run/s fr\n" },
	{ "by a link that an earlier command could have made",
		{ "network: {allow: ['unix:@/var/run/s']}" },
		"EACCES @/var/run/s resolves to @/run/s through the symbolic link @/var/run, "
		"which an earlier command could have created | grant @/run/s itself if that is "
		"intended (policy.yaml:1)\n" },
	{ "twice, under two names", { "network: {allow: ['unix:@/var/run/s', 'unix:@/run/s']}" },
		"dir @\n" NO_HOME "dir @/run\nsocket @/run/s fr\ndir @/var\n"
		"link @/var/run -> ../run\n" },
	{ "by a rule",
		{ "rules: [{id: a, action: allow, operations: [net.connect], patterns: "
		  "['unix:@/run/s']}]" },
		"dir @\n" NO_HOME "dir @/run\nsocket @/run/s fr\n" },
	{ "not by all layers",
		{ "network: {allow: ['unix:@/run/s', '*:443']}", "network: {allow: ['*:443']}" },
		"dir @\n" NO_HOME },
	{ "by all layers",
		{ "network: {allow: ['unix:@/run/s']}",
			"network: {allow: ['unix:@/run/s', '*:443']}" },
		"dir @\n" NO_HOME "dir @/run\nsocket @/run/s fr\n" },
	{ "denied", { "network: {allow: ['unix:@/run/s'], deny: ['unix:@/run/s']}" },
		"dir @\n" NO_HOME },
	{ "leads to what is denied",
		{ "network: {allow: ['unix:@/var/run/s'], deny: ['unix:@/run/s']}" },
		"EACCES @/var/run/s resolves to @/run/s, which network.deny (unix:@/run/s) denies "
		"| grant another path, or change the symbolic link (policy.yaml:1)\n" },
	{ "by a link that commands may replace",
		{ "{fs: {write: [@/out/**]}, network: {allow: ['unix:@/out/link']}}" },
		"EACCES @/out/link resolves to @/run/s through the symbolic link @/out/link, "
		"which an earlier command could have created | grant @/run/s itself if that is "
		"intended (policy.yaml:1)\n" },
	{ "behind what is denied",
		{ "{fs: {read: [@/**], deny: [@/run/**]}, network: {allow: ['unix:@/run/s']}}" },
		"EOPNOTSUPP @/run/s is allowed inside @/run, which is denied inside an allowed "
		"folder: mounts cannot enforce this | allow the folders that are needed one by "
		"one (policy.yaml:1)\n" },
	{ "not there", { "network: {allow: ['unix:@/run/none']}" },
		"ENOENT unix:@/run/none is granted, but there is no such socket | start its "
		"server first (policy.yaml:1)\n" },
	{ "no socket", { "network: {allow: ['unix:@/run/plain']}" },
		"ENOTSOCK unix:@/run/plain is granted, but it is not a socket (policy.yaml:1)\n" },
	{ "a folder", { "network: {allow: ['unix:@/run/inner']}" },
		"ENOTSOCK unix:@/run/inner is granted, but it is not a socket (policy.yaml:1)\n" },
};

static void test_cases(void **state)
{
	size_t failed = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		struct test_policy t;
		struct plan_options o;
		char *got;

		test_policy_init(&t, cases[i].layers);
		o = test_policy_options(&t);
		got = test_plan_text(&o);
		if (strcmp(got, cases[i].want) != 0) {
			failed++;
			print_error("%s:\n%s---- expected:\n%s", cases[i].name, got, cases[i].want);
		}
		free(got);
		test_policy_deinit(&t);
	}
	assert_int_equal(failed, 0);
}

/* The relay is there, even if all hosts are granted: who else would listen? */
static void test_network(void **state)
{
	static const char all[] = "network: {allow: ['*:*', 'udp://*:*', '0.0.0.0/0:*', "
				  "'udp://0.0.0.0/0:*', '[::/0]:*', 'udp://[::/0]:*', "
				  "'unix:@/run/s']}";
	static const char *const layers[][2] = { { "network: {allow: ['unix:@/run/s']}" },
		{ all } };

	(void)state;
	for (size_t i = 0; i < ROWS(layers); i++) {
		struct test_policy t;
		struct plan_options o;
		struct error e = { 0 };
		auto_plan *plan = NULL;

		test_policy_init(&t, layers[i]);
		o = test_policy_options(&t);
		o.public_is_open = true;
		assert_int_equal(plan_new(&plan, &o, &e), 0);
		assert_int_equal(plan->network, PLAN_NETWORK_RELAY);
		test_policy_deinit(&t);
	}
}

static void test_too_many(void **state)
{
	auto_buffer yaml = { 0 };
	struct test_policy t;
	struct plan_options o;
	char *got;

	(void)state;
	buffer_adds(&yaml, "network: {allow: [");
	for (int i = 0; i <= PLAN_SOCKETS_MAX; i++)
		buffer_printf(&yaml, "'unix:/run/many-%d',", i);
	buffer_adds(&yaml, "]}");
	test_policy_init(&t, (const char *const[]){ buffer_text(&yaml), NULL });
	o = test_policy_options(&t);
	got = test_plan_text(&o);
	assert_string_equal(got, "E2BIG at most 64 sockets can be granted (policy.yaml:1)\n");
	free(got);
	test_policy_deinit(&t);
}

/*
 * A folder that cannot be read is masked for the socket in it. Its server may take it away, unless
 * the mask stands for something that is denied, too.
 */
static void test_passing(void **state)
{
	static const struct {
		const char *layers[2];
		bool is_passing;
	} rows[] = {
		{ { "fs: {read: [@/out/**]}" }, true },
		{ { "fs: {read: [@/out/**], deny: [@/out/box/secret]}" }, false },
		{ { "fs: {read: [@/out/**], deny: [@/out/box/in/secret]}" }, false },
		{ { "fs: {read: [@/out/**], deny: [@/out/boxes]}" }, true },
	};
	char *box, *path;
	auto_fd fd = -1;

	(void)state;
	test_plan_make("@/out/box/");
	test_plan_make("@/out/box/secret");
	fd = bind_at("@/out/box/s");
	box = test_plan_expand("@/out/box");
	path = test_plan_expand("@/out/box/s");
	assert_int_equal(chmod(path, 0200), 0);
	assert_int_equal(chmod(box, 0311), 0);
	if (geteuid() == 0) {
		assert_int_equal(chown(path, 65534, 65534), 0);
		assert_int_equal(chown(box, 65534, 65534), 0);
	}
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct test_policy t;
		struct plan_options o;
		struct error e = { 0 };
		auto_plan *plan = NULL;
		const struct plan_entry *entry;

		test_policy_init(&t, rows[i].layers);
		o = test_policy_options(&t);
		assert_int_equal(plan_new(&plan, &o, &e), 0);
		entry = test_plan_at(plan, "@/out/box");
		assert_non_null(entry);
		assert_int_equal(entry->kind, PLAN_MASK);
		assert_int_equal(entry->passing, rows[i].is_passing);
		test_policy_deinit(&t);
	}
	assert_int_equal(chmod(box, 0700), 0);
	free(path);
	free(box);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_cases),
		cmocka_unit_test(test_network),
		cmocka_unit_test(test_too_many),
		cmocka_unit_test(test_passing),
	};

	return cmocka_run_group_tests_name("plan-sockets", tests, set_up, tear_down);
}
