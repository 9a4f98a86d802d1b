/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Plans of a file tree in which something else is mounted. The tests mount, in namespaces of their
 * own, so that they need not be run by root.
 */
#include "jail/plan/test/test-plan.h"

#include <sched.h>
#include <stdio.h>
#include <sys/mount.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/userns.h"

static const char *const files[] = { "@/home/", "@/home/.ssh/", "@/home/p/", "@/etc/",
	"@/etc/hosts", "@/etc/resolv.conf>../run/systemd/resolve/stub-resolv.conf", "@/run/",
	"@/run/systemd/", "@/run/systemd/resolve/", "@/run/systemd/resolve/stub-resolv.conf" };

static struct plan *make_one(const char *layer)
{
	struct error e = { 0 };
	struct plan *plan = NULL;
	struct plan_options o;
	struct test_policy t;

	test_policy_init(&t, (const char *const[]){ layer, NULL });
	o = test_policy_options(&t);
	if (plan_new(&plan, &o, &e) < 0)
		fail_msg("%s: %s", layer, e.text);
	test_policy_deinit(&t);
	return plan;
}

static void mount_at(const char *from, const char *to)
{
	char *folder = test_plan_expand(from);

	assert_int_equal(mount(folder, to, NULL, MS_BIND, NULL), 0);
	free(folder);
}

/* One that nobody listens on is like one of another network namespace: the kernel does not list it.
 */
static void test_sockets_of_run(void **state)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	auto_plan *plan = NULL;
	const struct plan_entry *entry;

	(void)state;
	mount_at("@/run", "/run");
	(void)snprintf(address.sun_path, sizeof(address.sun_path), "/run/test-plan.%d", getpid());
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	(void)close(fd_take(&fd));
	plan = make_one("fs: {read: [/run/**]}");
	(void)unlink(address.sun_path);
	entry = test_plan_at(plan, address.sun_path);
	assert_non_null(entry);
	assert_int_equal(entry->kind, PLAN_MASK);
	assert_int_equal(umount2("/run", MNT_DETACH), 0);
}

static void test_other_mount(void **state)
{
	char *from = test_plan_expand("@/home"), *to = test_plan_expand("@/al ias");
	auto_plan *plan = NULL;

	(void)state;
	test_plan_make("@/al ias/");
	assert_int_equal(mount(from, to, NULL, MS_BIND, NULL), 0);
	plan = make_one("fs: {read: [/**]}");
	assert_int_equal(test_plan_at(plan, "@/home/.ssh")->kind, PLAN_MASK);
	assert_non_null(test_plan_at(plan, "@/al ias/.ssh"));
	assert_int_equal(test_plan_at(plan, "@/al ias/.ssh")->kind, PLAN_MASK);
	assert_true(test_plan_is_visible(plan, "@/al ias/p"));
	plan_free(plan);
	plan = NULL;
	assert_int_equal(mount("/proc", to, NULL, MS_BIND | MS_REC, NULL), 0);
	plan = make_one("fs: {read: [/**]}");
	assert_non_null(test_plan_at(plan, "@/al ias"));
	assert_int_equal(test_plan_at(plan, "@/al ias")->kind, PLAN_MASK);
	assert_int_equal(umount2(to, MNT_DETACH), 0);
	assert_int_equal(umount2(to, MNT_DETACH), 0);
	free(from);
	free(to);
}

static void check_link(const char *layer, bool link_is_made)
{
	auto_plan *plan = make_one(layer);
	const struct plan_entry *link = test_plan_at(plan, "/etc/resolv.conf");
	const struct plan_entry *file = test_plan_at(plan, "/run/systemd/resolve/stub-resolv.conf");

	assert_int_equal(link != NULL, link_is_made);
	if (link) {
		assert_int_equal(link->kind, PLAN_LINK);
		assert_string_equal(link->text, "../run/systemd/resolve/stub-resolv.conf");
	}
	assert_non_null(file);
	assert_int_equal(file->kind, PLAN_FILE);
	assert_non_null(strstr(file->text, "nameserver " PLAN_SERVER_4 "\n"));
}

/* As systemd-resolved has it. */
static void test_link(void **state)
{
	const struct plan_entry *file;
	auto_plan *none = NULL;

	(void)state;
	mount_at("@/etc", "/etc");
	mount_at("@/run", "/run");
	check_link("network: {allow: ['a.example:443']}", true);
	check_link("{fs: {read: [/etc/**]}, network: {allow: ['a.example:443']}}", false);
	check_link("{fs: {read: [/etc/**, /run/**]}, network: {allow: ['a.example:443']}}", false);
	check_link("{fs: {read: [/run/**]}, network: {allow: ['a.example:443']}}", true);
	none = make_one("fs: {read: [/etc/**, /run/**]}");
	file = test_plan_at(none, "/run/systemd/resolve/stub-resolv.conf");
	assert_non_null(file);
	assert_non_null(strstr(file->text, "nameserver " PLAN_SERVER_LOCAL "\n"));
	assert_int_equal(umount2("/etc", MNT_DETACH), 0);
	assert_int_equal(umount2("/run", MNT_DETACH), 0);
}

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

/* Whoever runs it is the user inside, too. */
static int enter_namespaces(void)
{
	const uid_t uid = geteuid();
	const gid_t gid = getegid();

	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0 || userns_map(uid, gid) < 0)
		return -1;
	return mount(NULL, "/", NULL, MS_PRIVATE | MS_REC, NULL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sockets_of_run),
		cmocka_unit_test(test_other_mount),
		cmocka_unit_test(test_link),
	};

	if (enter_namespaces() < 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	return cmocka_run_group_tests_name("plan-mounted", tests, set_up, test_plan_tear_down);
}
