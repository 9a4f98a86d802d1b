/* SPDX-License-Identifier: Apache-2.0 */
/* What a plan has beside the grants, and single properties of entries. */
#include "jail/plan/test/test-plan.h"

#include <glob.h>
#include <sys/socket.h>
#include <sys/un.h>

#include "base/array.h"
#include "base/fd.h"
#include "policy/format/mode.h"

static const char *const files[] = {
	"@/temp/",
	"@/home/",
	"@/home/.ssh/",
	"@/home/.claude/",
	"@/home/p/",
	"@/home/p/conf/",
	"@/home/p/conf/policy.yaml",
	"@/home/p/outside>../../data/policy.yaml",
	"@/data/",
	"@/data/policy.yaml",
	"@/by-link>home",
	"@/home/itself>.",
	"@/closed/",
	"@/closed/in/",
};

static struct plan *make(const char *const *layers, struct plan_options *o, struct error *e)
{
	struct test_policy t;
	struct plan_options with;
	struct plan *plan = NULL;

	test_policy_init(&t, layers);
	with = test_policy_options(&t);
	if (o) {
		with.shell = o->shell;
		with.guarded = o->guarded;
		with.n_guarded = o->n_guarded;
		with.public_is_open = o->public_is_open;
		with.broker = o->broker;
		with.worker = o->worker;
		with.caller = o->caller;
		with.http = o->http;
		with.replaces = o->replaces;
		with.made = o->made;
		with.n_made = o->n_made;
		with.masked = o->masked;
		with.n_masked = o->n_masked;
	}
	if (plan_new(&plan, &with, e) < 0)
		plan = NULL;
	test_policy_deinit(&t);
	return plan;
}

static struct plan *make_one(const char *layer)
{
	struct error e = { 0 };
	struct plan *plan = make((const char *const[]){ layer, NULL }, NULL, &e);

	if (!plan)
		fail_msg("%s: %s", layer, e.text);
	return plan;
}

/* HTTP is for the sandbox's own loopback, and no other. */
static void test_broker_http(void **state)
{
	struct plan_options o = { .broker = true, .http = true, .public_is_open = true };
	struct error e = { 0 };
	auto_plan *plan = make((const char *const[]){ "{}", NULL }, &o, &e);
	auto_plan *open = NULL;

	(void)state;
	assert_true(plan && plan->has_http);
	open = make((const char *const[]){ "{network: {allow: ['*', 'udp://*']}}", NULL }, &o, &e);
	assert_null(open);
	assert_non_null(strstr(e.text, "the host's network"));
}

/* sandbox-call is there whatever programs are listed, unless a rule denies it by name. */
static void test_broker(void **state)
{
	static const struct {
		const char *layer, *caller;
		bool broker, is_there;
	} rows[] = {
		{ "{}", "/bin/sh", false, false },
		{ "{}", NULL, true, false },
		{ "{}", "/nowhere/sandbox-call", true, false },
		{ "{}", "/usr/bin", true, false },
		{ "{}", "/bin/sh", true, true },
		{ "{exec: []}", "/bin/sh", true, true },
		{ "{exec: [/usr/bin/env]}", "/bin/sh", true, true },
		{ "{rules: [{id: a, action: deny, operations: [exec], patterns: [/bin/sh]}]}",
			"/bin/sh", true, false },
		{ "{rules: [{id: a, action: deny, operations: [exec], patterns: "
		  "[/dev/corral/sandbox-call]}]}",
			"/bin/sh", true, false },
		/* What may not be read does not run, either; the socket is no matter of files. */
		{ "{fs: {deny: [/dev/**]}}", "/bin/sh", true, false },
		{ "{fs: {deny: [/run/**]}}", "/bin/sh", true, true },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct plan_options o = { .broker = rows[i].broker, .caller = rows[i].caller };
		struct error e = { 0 };
		auto_plan *plan = make((const char *const[]){ rows[i].layer, NULL }, &o, &e);

		if (!plan)
			fail_msg("%s: %s", rows[i].layer, e.text);
		assert_int_equal(plan->has_broker, rows[i].broker);
		if (!plan->caller.path != !rows[i].is_there)
			fail_msg("%s: %d", rows[i].layer, rows[i].is_there);
		assert_null(test_plan_at(plan, PLAN_BROKER_FOLDER));
	}
}

/* The files of a worker are there whatever programs are listed; what was replaced is refused. */
static void test_worker(void **state)
{
	struct plan_worker_source sources[PLAN_WORKER_FILES] = { { .path = "/bin/sh" },
		{ .path = "/usr/bin/env" }, { .path = "/etc/passwd" } };
	struct plan_options o = { .worker = sources };
	struct error e = { 0 };
	auto_plan *plan = make((const char *const[]){ "{exec: []}", NULL }, &o, &e);
	static const char denied[] =
		"{rules: [{id: a, action: deny, operations: [exec], patterns: [/bin/sh]}]}";

	(void)state;
	assert_non_null(plan);
	for (size_t i = 0; i < PLAN_WORKER_FILES; i++)
		assert_true(
			plan->worker[i].path && plan->worker[i].exec && !plan->worker[i].writable);
	/* By its inode, also by one that it had before. */
	sources[PLAN_WORKER_MODULE].dev = plan->worker[PLAN_WORKER_MODULE].dev;
	sources[PLAN_WORKER_MODULE].ino = plan->worker[PLAN_WORKER_MODULE].ino + 1;
	assert_null(make((const char *const[]){ "{}", NULL }, &o, &e));
	assert_non_null(strstr(e.text, "/etc/passwd"));
	sources[PLAN_WORKER_MODULE].ino--;
	sources[PLAN_WORKER_LIBRARY].path = "/nowhere";
	assert_null(make((const char *const[]){ "{}", NULL }, &o, &e));
	sources[PLAN_WORKER_LIBRARY].path = "/usr";
	assert_null(make((const char *const[]){ "{}", NULL }, &o, &e));
	sources[PLAN_WORKER_LIBRARY].path = "/usr/bin/env";
	assert_null(make((const char *const[]){ denied, NULL }, &o, &e));
	assert_non_null(strstr(e.text, "the policy denies /bin/sh"));
}

static void test_essentials(void **state)
{
	auto_plan *plan = make_one("{}");
	const struct plan_entry *passwd = test_plan_at(plan, "/etc/passwd");
	char user[64];

	(void)state;
	(void)snprintf(user, sizeof(user), ":x:%lu:", (unsigned long)getuid());
	assert_non_null(passwd);
	assert_int_equal(passwd->kind, PLAN_FILE);
	assert_non_null(strstr(passwd->text, user));
	assert_non_null(strstr(passwd->text, plan->home));
	assert_non_null(strstr(test_plan_at(plan, "/etc/hosts")->text, "127.0.0.1 localhost\n"));
	assert_non_null(
		strstr(test_plan_at(plan, "/etc/resolv.conf")->text, "nameserver 127.0.0.53\n"));
	assert_non_null(strstr(test_plan_at(plan, "/etc/group")->text, ":x:"));
	assert_true(test_plan_is_visible(plan, "/usr/lib/x"));
	assert_true(test_plan_is_visible(plan, "/usr/share/zoneinfo/UTC"));
	assert_false(test_plan_is_visible(plan, "/usr/bin/env"));
	assert_false(test_plan_is_visible(plan, "/etc/shadow"));
	assert_false(test_plan_is_visible(plan, "/root/x"));
	assert_null(test_plan_at(plan, "/proc"));
	assert_null(test_plan_at(plan, "/dev"));
	for (size_t i = 0; i < plan->n; i++)
		assert_false(plan->entries[i].kind == PLAN_BIND && plan->entries[i].writable);
	assert_int_equal(test_plan_at(plan, "/tmp")->kind, PLAN_TMP);
	assert_int_equal(test_plan_at(plan, "/var/tmp")->kind, PLAN_TMP);
	assert_int_equal(plan->network, PLAN_NETWORK_NONE);
	assert_null(plan->work_dir);
}

/* What is denied stays denied, however essential. */
static void test_denied_essentials(void **state)
{
	auto_plan *plan = make_one("fs: {deny: [/etc/passwd, /usr/share/**, /usr/lib/locale/**]}");

	(void)state;
	assert_null(test_plan_at(plan, "/etc/passwd"));
	assert_non_null(test_plan_at(plan, "/etc/group"));
	assert_false(test_plan_is_visible(plan, "/usr/share/zoneinfo"));
	assert_true(test_plan_is_visible(plan, "/usr/lib/x"));
	assert_false(test_plan_is_visible(plan, "/usr/lib/locale"));
}

/* The deny stands in a layer after one that grants nothing. */
static void test_denied_by_another_layer(void **state)
{
	struct error e = { 0 };
	auto_plan *plan =
		make((const char *const[]){ "{}", "fs: {deny: [/etc/passwd]}", NULL }, NULL, &e);

	(void)state;
	assert_non_null(plan);
	assert_null(test_plan_at(plan, "/etc/passwd"));
}

static void test_granted_originals(void **state)
{
	auto_plan *plan = make_one("fs: {read: [/etc/**]}");

	(void)state;
	assert_int_equal(test_plan_at(plan, "/etc")->kind, PLAN_BIND);
	assert_null(test_plan_at(plan, "/etc/passwd"));
	assert_null(test_plan_at(plan, "/etc/hosts"));
	assert_int_equal(test_plan_at(plan, "/etc/resolv.conf")->kind, PLAN_FILE);
	if (access("/etc/shadow", F_OK) == 0)
		assert_int_equal(test_plan_at(plan, "/etc/shadow")->kind, PLAN_MASK);
}

static void test_temporary(void **state)
{
	auto_plan *part = make_one("fs: {write: [@/data/**]}");
	auto_plan *all = NULL;

	(void)state;
	/* Else the baseline's places in HOME could be made. */
	test_plan_home = "/nonexistent";
	all = make_one("fs: {write: [/tmp/**]}");
	test_plan_home = NULL;
	assert_int_equal(test_plan_at(all, "/tmp")->kind, PLAN_BIND);
	assert_true(test_plan_at(all, "/tmp")->writable);
	assert_int_equal(test_plan_at(part, "/tmp")->kind, PLAN_TMP);
	assert_int_equal(test_plan_at(part, "@/data")->kind, PLAN_BIND);
}

static void test_devices(void **state)
{
	auto_plan *broad = make_one("fs: {read: [/dev/**, /proc/**, /proc/cpuinfo, /dev/null]}");

	(void)state;
	for (size_t i = 0; i < broad->n; i++) {
		assert_true(strncmp(broad->entries[i].path, "/dev", 4) != 0);
		assert_true(strncmp(broad->entries[i].path, "/proc", 5) != 0);
	}
}

static void test_identity(void **state)
{
	auto_plan *plan = make_one("fs: {write: [@/data/**], deny: [@/data/policy.yaml]}");
	char *folder = test_plan_expand("@/data"), *file = test_plan_expand("@/data/policy.yaml");
	struct stat st;

	(void)state;
	assert_int_equal(stat(folder, &st), 0);
	assert_true(test_plan_at(plan, folder)->dev == st.st_dev &&
		    test_plan_at(plan, folder)->ino == st.st_ino);
	assert_int_equal(stat(file, &st), 0);
	assert_true(test_plan_at(plan, file)->dev == st.st_dev &&
		    test_plan_at(plan, file)->ino == st.st_ino);
	free(folder);
	free(file);
}

/* The baseline's places in HOME are found whatever name they are reached by. */
static void test_home_by_link(void **state)
{
	auto_plan *there = make_one("fs: {read: [~/itself/**]}");
	auto_plan *real = NULL;
	char *home = test_plan_expand("@/by-link");

	(void)state;
	assert_int_equal(test_plan_at(there, "@/home")->kind, PLAN_BIND);
	assert_int_equal(test_plan_at(there, "@/home/.ssh")->kind, PLAN_MASK);
	test_plan_home = home;
	real = make_one("fs: {read: [@/home/**]}");
	test_plan_home = NULL;
	assert_int_equal(test_plan_at(real, "@/home/.ssh")->kind, PLAN_MASK);
	/* Not visible, it is the session's own, in its real place. */
	test_plan_home = home;
	plan_free(real);
	real = make_one("{}");
	test_plan_home = NULL;
	assert_int_equal(test_plan_at(real, "@/home")->kind, PLAN_TMP);
	assert_int_equal(test_plan_at(real, "@/by-link")->kind, PLAN_LINK);
	free(home);
}

/* A link that somebody swaps leads to a refusal, never to what it leads to now. */
static void test_swapped_link(void **state)
{
	static const char *const policy[] = { "fs: {read: [~/swapped/**]}", NULL };
	struct error e = { 0 };
	struct plan *plan;
	char *path = test_plan_expand("@/home/swapped");

	(void)state;
	test_plan_make("@/home/swapped>../data");
	plan = make(policy, NULL, &e);
	assert_non_null(plan);
	assert_int_equal(test_plan_at(plan, "@/data")->kind, PLAN_BIND);
	plan_free(plan);
	assert_int_equal(unlink(path), 0);
	test_plan_make("@/home/swapped>.ssh");
	assert_null(make(policy, NULL, &e));
	assert_non_null(strstr(e.text, "resolves to"));
	assert_non_null(strstr(e.text, "the baseline (~/.ssh/**)"));
	assert_int_equal(unlink(path), 0);
	free(path);
}

/* What cannot be looked at could be opened by changing the mode of its folder. Root sees it. */
static void test_hidden(void **state)
{
	static const char *const policy[] = {
		"fs: {write: [@/closed/**], deny: [@/closed/in/secret]}", NULL
	};
	struct error e = { 0 };
	char *path = test_plan_expand("@/closed/in");

	(void)state;
	assert_int_equal(chmod(path, 0), 0);
	assert_null(make(policy, NULL, &e));
	assert_non_null(strstr(e.text, "does not exist"));
	assert_int_equal(chmod(path, 0755), 0);
	free(path);
}

static void test_guarded(void **state)
{
	char *paths[] = { test_plan_expand("@/home/p/conf/policy.yaml"),
		test_plan_expand("@/data/policy.yaml"), test_plan_expand("@/home/p/nope") };
	struct plan_options o = { .guarded = (const char *const *)paths, .n_guarded = ROWS(paths) };
	struct error e = { 0 };
	auto_plan *plan = make((const char *const[]){ "fs: {write: [@/home/p/**]}", NULL }, &o, &e);
	const struct plan_entry *entry;

	(void)state;
	assert_non_null(plan);
	entry = test_plan_at(plan, "@/home/p/conf/policy.yaml");
	assert_non_null(entry);
	assert_true(entry->kind == PLAN_BIND && !entry->writable && entry->over);
	/* Or the folder could be moved away and made anew. */
	entry = test_plan_at(plan, "@/home/p/conf");
	assert_non_null(entry);
	assert_true(entry->kind == PLAN_BIND && entry->writable && entry->over);
	/* Guarding grants nothing. */
	assert_null(test_plan_at(plan, "@/data/policy.yaml"));
	assert_null(test_plan_at(plan, "@/home/p/nope"));
	for (size_t i = 0; i < ROWS(paths); i++)
		free(paths[i]);
}

/* A link in a writable folder cannot be held. */
static void test_guarded_link(void **state)
{
	char *path = test_plan_expand("@/home/p/outside");
	struct plan_options o = { .guarded = (const char *const *)&path, .n_guarded = 1 };
	struct error e = { 0 };

	(void)state;
	assert_null(make((const char *const[]){ "fs: {write: [@/home/p/**]}", NULL }, &o, &e));
	assert_non_null(strstr(e.text, "is reached through the symbolic link"));
	assert_non_null(strstr(e.text, "/home/p/outside, which commands may change"));
	free(path);
}

/* Every hop counts, not the first alone; nor is a folder that the way leaves again to be replaced.
 */
static void test_guarded_chain(void **state)
{
	static const struct {
		const char *path, *says;
	} rows[] = {
		{ "@/chain", "through the symbolic link @/home/p/middle," },
		{ "@/through", "through the folder @/home/p/conf," },
	};

	(void)state;
	test_plan_make("@/home/p/middle>../../data");
	test_plan_make("@/chain>home/p/middle");
	test_plan_make("@/through>home/p/conf/../../../data");
	for (size_t i = 0; i < ROWS(rows); i++) {
		char *path = test_plan_expand(rows[i].path), *says = test_plan_expand(rows[i].says);
		struct plan_options o = { .guarded = (const char *const *)&path, .n_guarded = 1 };
		struct error e = { 0 };
		struct plan *plan;

		assert_null(
			make((const char *const[]){ "fs: {write: [@/home/p/**]}", NULL }, &o, &e));
		if (!strstr(e.text, says))
			fail_msg("%s", e.text);
		/* Where nothing of it can be written, nothing is wrong. */
		plan = make(
			(const char *const[]){ "fs: {write: [@/home/p/src/**]}", NULL }, &o, &e);
		assert_non_null(plan);
		plan_free(plan);
		free(path);
		free(says);
	}
}

/* The file can be written by its other name. */
static void test_guarded_names(void **state)
{
	char *path = test_plan_expand("@/home/p/conf/policy.yaml");
	char *other = test_plan_expand("@/home/p/other-name");
	struct plan_options o = { .guarded = (const char *const *)&path, .n_guarded = 1 };
	struct error e = { 0 };

	(void)state;
	assert_int_equal(link(path, other), 0);
	assert_null(make((const char *const[]){ "fs: {write: [@/home/p/**]}", NULL }, &o, &e));
	assert_non_null(strstr(e.text, "another hard link"));
	assert_int_equal(unlink(other), 0);
	free(path);
	free(other);
}

/*
 * A file that the baseline hides is shown as it was masked: in a home of the session's own, in the
 * host's, and in a folder that is hidden as a whole. What a policy denies stays denied, and what a
 * policy lifts is masked all the same.
 */
static void test_masked(void **state)
{
	static const struct {
		const char *layer;
		bool is_shown, is_over;
		int folder; /* kind of @/home/.aws; -1: none */
	} rows[] = {
		{ "{}", true, false, PLAN_DIR },
		{ "fs: {read: [@/home/**]}", true, true, PLAN_TMP },
		{ "fs: {read: [@/home/**], write: [@/home/p/**]}", true, true, PLAN_TMP },
		{ "fs: {read: [@/home/.netrc, @/home/.aws/**]}\ndangerously_allow: "
		  "[@/home/.netrc, @/home/.aws/**]",
			true, false, PLAN_BIND },
		{ "fs: {read: [@/home/**], deny: [@/home/.netrc]}", false, true, PLAN_TMP },
		{ "fs: {deny: [@/home/.netrc]}", false, false, PLAN_DIR },
	};
	char *netrc = test_plan_expand("@/home/.netrc");
	char *aws = test_plan_expand("@/home/.aws/credentials");
	const struct plan_text texts[] = { { netrc, "of netrc", false }, { aws, "of aws", false } };
	struct plan_options o = { .masked = texts, .n_masked = ROWS(texts) };

	(void)state;
	test_plan_make("@/home/.netrc");
	test_plan_make("@/home/.aws/");
	test_plan_make("@/home/.aws/credentials");
	test_plan_make("@/home/.aws/other");
	for (size_t i = 0; i < ROWS(rows); i++) {
		struct error e = { 0 };
		auto_plan *plan = make((const char *const[]){ rows[i].layer, NULL }, &o, &e);
		const struct plan_entry *entry = plan ? test_plan_at(plan, "@/home/.netrc") : NULL;
		const struct plan_entry *folder = plan ? test_plan_at(plan, "@/home/.aws") : NULL;

		if (!plan)
			fail_msg("%s: %s", rows[i].layer, e.text);
		assert_int_equal(entry && entry->kind == PLAN_FILE, rows[i].is_shown);
		if (rows[i].is_shown) {
			assert_string_equal(entry->text, "of netrc");
			assert_true(entry->is_masked && !entry->writable);
			assert_int_equal(entry->over, rows[i].is_over);
		} else {
			assert_true(!entry || entry->kind == PLAN_MASK);
		}
		assert_int_equal(folder ? (int)folder->kind : -1, rows[i].folder);
		entry = test_plan_at(plan, "@/home/.aws/credentials");
		assert_true(entry && entry->kind == PLAN_FILE && entry->is_masked);
		assert_string_equal(entry->text, "of aws");
		assert_true(rows[i].folder == PLAN_BIND ||
			    !test_plan_is_visible(plan, "@/home/.aws/other"));
		test_plan_check(plan);
	}
	test_plan_make("@/home/.netrc");
	free(netrc);
	free(aws);
}

/* The name of a loader, or what one leads to (musl's is its libc.so). */
static bool is_loader(const char *path)
{
	glob_t found = { 0 };
	bool yes = strstr(path, "/ld") != NULL;

	if (glob("/lib*/ld*.so*", 0, NULL, &found) == 0)
		for (size_t i = 0; !yes && i < found.gl_pathc; i++) {
			char real[4096];

			yes = realpath(found.gl_pathv[i], real) && strcmp(real, path) == 0;
		}
	globfree(&found);
	return yes;
}

static void test_listed(void **state)
{
	struct plan_options o = { .shell = true };
	struct error e = { 0 };
	auto_plan *plan = make((const char *const[]){ "exec: []", NULL }, &o, &e);
	auto_plan *bare = make_one("exec: []");
	char shell[4096];
	bool found = false;

	(void)state;
	assert_non_null(plan);
	assert_non_null(realpath("/bin/sh", shell));
	assert_true(plan->exec_listed && bare->exec_listed);
	for (size_t i = 0; i < plan->n_programs; i++)
		found = found || strcmp(plan->programs[i], shell) == 0;
	assert_true(found);
	assert_true(test_plan_is_visible(plan, shell) && test_plan_at(plan, shell)->exec);
	assert_false(test_plan_is_visible(bare, shell));
	assert_false(test_plan_at(plan, "/tmp")->exec);
	assert_false(test_plan_at(plan, "@/home")->exec);
	assert_false(plan_find(plan, "/usr/share/x")->exec);
	assert_false(plan_find(plan, "/etc/nsswitch.conf")->exec);
	/* Besides the shell and its loader nothing runs. */
	assert_true(bare->n_programs >= 1);
	for (size_t i = 0; i < bare->n_programs; i++)
		assert_true(is_loader(bare->programs[i]));
}

static void test_open_shell(void **state)
{
	struct plan_options o = { .shell = true };
	struct error e = { 0 };
	auto_plan *plan = make((const char *const[]){ "{}", NULL }, &o, &e);
	char shell[4096];

	(void)state;
	assert_non_null(plan);
	assert_non_null(realpath("/bin/sh", shell));
	assert_true(test_plan_is_visible(plan, shell));
	assert_false(plan->exec_listed);
	assert_true(test_plan_at(plan, "/tmp")->exec);
}

static void test_work_dir(void **state)
{
	auto_plan *plan = make_one("fs: {write: [$WORK_DIR/**]}");
	auto_plan *masked = make_one("fs: {read: [@/home/**], deny: [$WORK_DIR/**]}");
	char *work = test_plan_expand("@/home/p");

	(void)state;
	assert_string_equal(plan->work_dir, work);
	assert_null(masked->work_dir);
	free(work);
}

static void test_limits(void **state)
{
	auto_plan *plan = make_one("limits: {pids: 7, timeout: 3s}");

	(void)state;
	assert_int_equal(plan->limits.values[LIMIT_PIDS], 7);
	assert_int_equal(plan->limits.values[LIMIT_TIMEOUT_MS], 3000);
	assert_true(plan->limits.values[LIMIT_MEMORY] == LIMIT_NONE);
}

static void test_mode(void **state)
{
	struct test_policy t;
	struct plan_options o;
	struct error e = { 0 };
	auto_plan *plan = NULL;
	char *data = test_plan_expand("@/data");

	(void)state;
	test_policy_init(&t, (const char *const[]){ "{}", NULL });
	(void)snprintf(t.temp, sizeof(t.temp), "%.200s/temp", test_plan_folder);
	policy_free(t.policy);
	permissions_free(t.layers[0]);
	t.layers[0] = permissions_new();
	assert_int_equal(
		agent_mode_permissions(AGENT_MODE_SANDBOX, data, NULL, 0, t.layers[0], &e), 0);
	assert_int_equal(policy_new(&t.policy, (const struct permissions *const *)t.layers, 1,
				 &(struct policy_options){ .variables = &t.variables }, &e),
		0);
	o = test_policy_options(&t);
	/* All of the public hosts are the relay's, unless that is said to be enough. */
	assert_int_equal(plan_new(&plan, &o, &e), 0);
	assert_int_equal(plan->network, PLAN_NETWORK_RELAY);
	assert_int_equal(test_plan_at(plan, "/etc/hosts")->kind, PLAN_FILE);
	plan_free(plan);
	plan = NULL;
	o.public_is_open = true;
	assert_int_equal(plan_new(&plan, &o, &e), 0);
	assert_int_equal(plan->network, PLAN_NETWORK_HOST);
	assert_string_equal(plan->entries[0].path, "/");
	assert_int_equal(plan->entries[0].kind, PLAN_BIND);
	assert_false(plan->entries[0].writable);
	assert_true(test_plan_at(plan, "@/temp")->writable);
	assert_true(test_plan_at(plan, "@/data")->writable);
	assert_true(test_plan_at(plan, "@/home/.claude")->writable);
	assert_int_equal(test_plan_at(plan, "@/home/.ssh")->kind, PLAN_MASK);
	/* Nothing can be made where the host's own folders are. */
	for (size_t i = 0; i < plan->n; i++) {
		assert_true(
			plan->entries[i].kind == PLAN_BIND || plan->entries[i].kind == PLAN_MASK);
		assert_int_equal(access(plan->entries[i].path, F_OK), 0);
	}
	test_policy_deinit(&t);
	free(data);
}

static void test_bad_variables(void **state)
{
	struct test_policy t;
	struct plan_options o;
	struct error e = { 0 };
	struct plan *plan = NULL;

	(void)state;
	test_policy_init(&t, (const char *const[]){ "{}", NULL });
	o = test_policy_options(&t);
	t.variables.values[VARIABLE_HOME] = NULL;
	assert_int_equal(plan_new(&plan, &o, &e), -EINVAL);
	t.variables.values[VARIABLE_HOME] = "home";
	assert_int_equal(plan_new(&plan, &o, &e), -EINVAL);
	t.variables.values[VARIABLE_HOME] = "/";
	t.variables.values[VARIABLE_WORK_DIR] = "../x";
	assert_int_equal(plan_new(&plan, &o, &e), -EINVAL);
	t.variables.values[VARIABLE_WORK_DIR] = NULL;
	assert_int_equal(plan_new(&plan, &o, &e), 0);
	assert_string_equal(plan->home, "/");
	plan_free(plan);
	test_policy_deinit(&t);
}

/* A program that is denied, and is there under another name: refused, unless that is denied too. */
static void test_program_names(void **state)
{
	static const char *const one[] = {
		"{fs: {read: [@/data/**]}, rules: ["
		"{id: a, action: deny, operations: [exec], patterns: [@/data/tool]},"
		"{id: b, action: allow, operations: [exec], patterns: [/**], priority: -1}]}",
		NULL
	};
	static const char *const both[] = {
		"{fs: {read: [@/data/**]}, rules: ["
		"{id: a, action: deny, operations: [exec], patterns: [@/data/tool, @/data/too]},"
		"{id: b, action: allow, operations: [exec], patterns: [/**], priority: -1}]}",
		NULL
	};
	char *path = test_plan_expand("@/data/tool"), *other = test_plan_expand("@/data/too");
	struct error e = { 0 };
	struct plan *plan;

	(void)state;
	test_plan_make("@/data/tool!x");
	plan = make(one, NULL, &e);
	assert_non_null(plan);
	assert_int_equal(test_plan_at(plan, "@/data/tool")->kind, PLAN_MASK);
	plan_free(plan);
	assert_int_equal(link(path, other), 0);
	assert_null(make(one, NULL, &e));
	assert_non_null(strstr(e.text, "another hard link"));
	plan = make(both, NULL, &e);
	assert_non_null(plan);
	assert_int_equal(test_plan_at(plan, "@/data/tool")->kind, PLAN_MASK);
	assert_int_equal(test_plan_at(plan, "@/data/too")->kind, PLAN_MASK);
	plan_free(plan);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(unlink(other), 0);
	free(path);
	free(other);
}

static int bind_at(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(strlen(path) < sizeof(address.sun_path));
	memcpy(address.sun_path, path, strlen(path) + 1);
	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	return fd;
}

/* One that nobody listens on stays; one that is listened on under another name does not. */
static void test_renamed_socket(void **state)
{
	char *path = test_plan_expand("@/data/s"), *other = test_plan_expand("@/data/t");
	auto_fd fd = bind_at(path);
	auto_plan *plan = NULL;

	(void)state;
	(void)close(fd_take(&fd));
	plan = make_one("fs: {write: [@/data/**]}");
	assert_null(test_plan_at(plan, "@/data/s"));
	plan_free(plan);
	plan = NULL;
	assert_int_equal(unlink(path), 0);
	fd = bind_at(path);
	assert_int_equal(rename(path, other), 0);
	plan = make_one("fs: {write: [@/data/**]}");
	assert_non_null(test_plan_at(plan, "@/data/t"));
	assert_int_equal(test_plan_at(plan, "@/data/t")->kind, PLAN_MASK);
	assert_int_equal(unlink(other), 0);
	free(path);
	free(other);
}

/* A file that programs replace, in a home that can be read: its folder has a shadow. */
static void test_shadow(void **state)
{
	static const char *const layers[] = {
		"fs: {read: [/**], write: [@/home/.tool, @/home/p/made], deny: [@/home/secret]}",
		NULL
	};
	char *made = test_plan_expand("@/home/p/made"), *gone = test_plan_expand("@/home/p/gone");
	const char *const missing[] = { made, gone };
	struct plan_options o = { .replaces = true, .made = missing, .n_made = 2 };
	struct error e = { 0 };
	auto_plan *plan = NULL, *without = NULL;

	(void)state;
	test_plan_make("@/home/.tool");
	test_plan_make("@/home/secret");
	without = make(layers, NULL, &e);
	assert_non_null(without);
	assert_null(test_plan_at(without, "@/home"));
	assert_false(test_plan_at(without, "@/home/.tool")->stands_in);
	plan = make(layers, &o, &e);
	assert_non_null(plan);
	assert_int_equal(test_plan_at(plan, "@/home")->kind, PLAN_TMP);
	assert_true(test_plan_at(plan, "@/home")->over);
	assert_true(test_plan_at(plan, "@/home/.tool")->stands_in);
	assert_int_equal(test_plan_at(plan, "@/home/secret")->kind, PLAN_MASK);
	assert_int_equal(test_plan_at(plan, "@/home/.ssh")->kind, PLAN_MASK);
	assert_int_equal(test_plan_at(plan, "@/home/itself")->kind, PLAN_LINK);
	assert_true(test_plan_at(plan, "@/home/.claude")->live);
	assert_false(test_plan_at(plan, "@/home/.claude")->writable);
	/* For one that is not there, too. */
	assert_int_equal(test_plan_at(plan, "@/home/p")->kind, PLAN_TMP);
	assert_true(test_plan_at(plan, "@/home/p/conf")->live);
	/* Outside of the home files stay mounts. */
	for (size_t i = 0; i < plan->n; i++)
		assert_true(!plan->entries[i].live || strstr(plan->entries[i].path, "/home/"));
	free(made);
	free(gone);
}

static int set_up(void **state)
{
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_broker),
		cmocka_unit_test(test_worker),
		cmocka_unit_test(test_broker_http),
		cmocka_unit_test(test_essentials),
		cmocka_unit_test(test_denied_essentials),
		cmocka_unit_test(test_denied_by_another_layer),
		cmocka_unit_test(test_granted_originals),
		cmocka_unit_test(test_temporary),
		cmocka_unit_test(test_devices),
		cmocka_unit_test(test_identity),
		cmocka_unit_test(test_home_by_link),
		cmocka_unit_test(test_swapped_link),
		cmocka_unit_test(test_hidden),
		cmocka_unit_test(test_guarded),
		cmocka_unit_test(test_guarded_link),
		cmocka_unit_test(test_guarded_chain),
		cmocka_unit_test(test_guarded_names),
		cmocka_unit_test(test_masked),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_open_shell),
		cmocka_unit_test(test_work_dir),
		cmocka_unit_test(test_limits),
		cmocka_unit_test(test_mode),
		cmocka_unit_test(test_bad_variables),
		cmocka_unit_test(test_program_names),
		cmocka_unit_test(test_renamed_socket),
		cmocka_unit_test(test_shadow),
	};

	return cmocka_run_group_tests_name("plan-extras", tests, set_up, test_plan_tear_down);
}
