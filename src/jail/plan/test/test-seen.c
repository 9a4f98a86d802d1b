/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The memory of one planning: each name is what it was at the first look, the next plan looks
 * again, and what was exchanged meanwhile is not what the tree opens.
 */
#include "jail/plan/test/test-plan.h"

#include <fcntl.h>

#include "base/fd.h"
#include "jail/mount.h"
#include "jail/plan/internal.h"

/* What plan_look_at() says now, and what the planner knows. */
static void expect(struct planner *p, const char *path, int now, int known)
{
	struct plan_place place = { 0 };
	char *full = test_plan_expand(path);

	assert_int_equal(plan_look_at(full, &place), now);
	assert_int_equal(plan_seen_at(p, full, &place), known);
	free(full);
}

static void test_same_as_a_look(void **state)
{
	static const struct {
		const char *path;
		int code;
	} rows[] = { { "/", 0 }, { "@", 0 }, { "@/data", 0 }, { "@/data/file", 0 },
		{ "@/data/nope", -ENOENT }, { "@/nope/nope", -ENOENT },
		{ "@/data/file/x", -ENOTDIR }, { "@/link", -ELOOP }, { "@/link/file", -ELOOP },
		{ "@/nowhere", -ELOOP }, { "@/nowhere/x", -ELOOP }, { "/proc/self/exe", -ELOOP } };
	struct planner p = { 0 };

	(void)state;
	/* The second time from memory. */
	for (size_t i = 0; i < 2 * ROWS(rows); i++) {
		char *full = test_plan_expand(rows[i % ROWS(rows)].path);
		struct plan_place now = { 0 }, known = { 0 };
		int code = rows[i % ROWS(rows)].code;

		assert_int_equal(plan_look_at(full, &now), code);
		assert_int_equal(plan_seen_at(&p, full, &known), code);
		assert_int_equal(now.exists, known.exists);
		assert_int_equal(now.is_dir, known.is_dir);
		assert_int_equal(now.is_socket, known.is_socket);
		assert_true(now.names == known.names);
		assert_true(now.dev == known.dev && now.ino == known.ino);
		free(full);
	}
	arena_deinit(&p.arena);
}

static int count_links(void *data, const char *link, const char *target)
{
	struct planner *p = data;

	(void)link;
	p->n_hops += target != NULL;
	return 0;
}

/* Each walk finds the links, whoever read them first. */
static void test_links(void **state)
{
	char *from = test_plan_expand("@/chain/file"), *to = test_plan_expand("@/data/file");
	char out[PATH_BYTES];
	struct planner p = { 0 };

	(void)state;
	for (size_t i = 1; i <= 3; i++) {
		assert_int_equal(plan_seen_walk(&p, from, count_links, out), 0);
		assert_string_equal(out, to);
		assert_int_equal(p.n_hops, 2 * i);
	}
	/* Where a link leads nowhere, too. */
	free(from);
	from = test_plan_expand("@/nowhere/x");
	free(to);
	to = test_plan_expand("@/gone/x");
	assert_int_equal(plan_seen_walk(&p, from, NULL, out), 0);
	assert_string_equal(out, to);
	free(from);
	free(to);
	arena_deinit(&p.arena);
}

static void test_known_once(void **state)
{
	char *path = test_plan_expand("@/new");
	struct planner p = { 0 }, next = { 0 };

	(void)state;
	expect(&p, "@/new", -ENOENT, -ENOENT);
	test_plan_make("@/new");
	expect(&p, "@/new", 0, -ENOENT);
	expect(&next, "@/new", 0, 0);
	assert_int_equal(unlink(path), 0);
	test_plan_make("@/new>data");
	expect(&next, "@/new", -ELOOP, 0);
	arena_deinit(&p.arena);
	arena_deinit(&next.arena);
	assert_int_equal(unlink(path), 0);
	free(path);
}

/* A plan that was made before does not help the next: a folder that became a link is found. */
static void test_next_plan(void **state)
{
	struct test_policy t;
	struct plan_options o;
	char *path = test_plan_expand("@/turn"), *text;

	(void)state;
	test_plan_make("@/turn/");
	test_policy_init(&t, (const char *const[]){ "fs: {read: [@/turn/**]}", NULL });
	o = test_policy_options(&t);
	text = test_plan_text(&o);
	assert_non_null(strstr(text, "bind @/turn drx"));
	free(text);
	assert_int_equal(rmdir(path), 0);
	test_plan_make("@/turn>data");
	text = test_plan_text(&o);
	assert_non_null(strstr(text, "an earlier command could have created"));
	free(text);
	test_policy_deinit(&t);
	assert_int_equal(unlink(path), 0);
	free(path);
}

/*
 * The attack: a folder that was looked at becomes a link before the name in it is looked at. What
 * is noted then is a file elsewhere; neither by the link nor after the folder is back does the tree
 * open a file with that device and inode.
 */
static void test_exchanged(void **state)
{
	char *folder = test_plan_expand("@/work"), *file = test_plan_expand("@/work/file");
	char *away = test_plan_expand("@/away");
	struct plan_place noted = { 0 }, known = { 0 };
	struct planner p = { 0 };
	auto_fd root = open("/", O_PATH | O_CLOEXEC), opened = -1;
	struct stat st;

	(void)state;
	test_plan_make("@/work/");
	test_plan_make("@/work/file");
	assert_true(root >= 0);
	assert_int_equal(plan_seen_at(&p, folder, &known), 0);
	assert_int_equal(rename(folder, away), 0);
	test_plan_make("@/work>data");
	assert_int_equal(plan_seen_at(&p, file, &noted), 0);
	assert_int_equal(mount_open(root, file + 1), -ELOOP);
	assert_int_equal(unlink(folder), 0);
	assert_int_equal(rename(away, folder), 0);
	opened = mount_open(root, file + 1);
	assert_true(opened >= 0 && fstat(opened, &st) == 0);
	assert_true(st.st_dev != noted.dev || st.st_ino != noted.ino);
	arena_deinit(&p.arena);
	free(folder);
	free(file);
	free(away);
}

/* More names than are kept. */
static void test_many(void **state)
{
	struct planner p = { 0 };
	char path[64];

	(void)state;
	/* More than a listing has, so that what is missing is looked at, too. */
	test_plan_make("@/many/");
	for (unsigned i = 0; i < NAMES_LISTED; i++) {
		(void)snprintf(path, sizeof(path), "@/many/%u", i);
		test_plan_make(path);
	}
	for (unsigned i = 0; i < 10000; i++) {
		(void)snprintf(path, sizeof(path), "@/many/%u", i);
		expect(&p, path, i < NAMES_LISTED ? 0 : -ENOENT, i < NAMES_LISTED ? 0 : -ENOENT);
	}
	expect(&p, "@/data/file", 0, 0);
	expect(&p, "@/link/file", -ELOOP, -ELOOP);
	test_plan_make("@/many/9999");
	expect(&p, "@/many/9999", 0, 0);
	arena_deinit(&p.arena);
}

/* After some misses the folder is listed: what the listing has is found, of what it does not have
 * no memory is kept. */
static void test_listed(void **state)
{
	static const char *const missing[] = { "@/home/a", "@/home/b", "@/home/c", "@/home/d",
		"@/home/e", "@/home/f" };
	struct planner p = { 0 };
	size_t n;

	(void)state;
	test_plan_make("@/home/");
	test_plan_make("@/home/.netrc");
	test_plan_make("@/home/.ssh>nowhere");
	for (size_t i = 0; i < NAMES_PATIENCE; i++)
		expect(&p, missing[i], -ENOENT, -ENOENT);
	n = p.n_seen;
	for (size_t i = NAMES_PATIENCE; i < ROWS(missing); i++)
		expect(&p, missing[i], -ENOENT, -ENOENT);
	assert_int_equal(p.n_seen, n);
	expect(&p, "@/home/.netrc", 0, 0);
	expect(&p, "@/home/.ssh", -ELOOP, -ELOOP);
	assert_int_equal(p.n_seen, n + 2);
	/* It is as it was at the first look. */
	test_plan_make("@/home/.kube");
	expect(&p, "@/home/.kube", 0, -ENOENT);
	arena_deinit(&p.arena);
}

static int set_up(void **state)
{
	static const char *const files[] = { "@/data/", "@/data/file", "@/link>data",
		"@/chain>link", "@/nowhere>gone" };
	int r = test_plan_set_up(state);

	for (size_t i = 0; r == 0 && i < ROWS(files); i++)
		test_plan_make(files[i]);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_same_as_a_look),
		cmocka_unit_test(test_links),
		cmocka_unit_test(test_known_once),
		cmocka_unit_test(test_listed),
		cmocka_unit_test(test_next_plan),
		cmocka_unit_test(test_exchanged),
		cmocka_unit_test(test_many),
	};

	return cmocka_run_group_tests_name("plan-seen", tests, set_up, test_plan_tear_down);
}
