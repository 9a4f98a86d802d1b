/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Random trees, random policies of paths and folders: what a command would see through the plan's
 * mounts, the innermost of which counts, is what the policy says of each path. The seed is printed;
 * CORRAL_TEST_SEED and CORRAL_TEST_ROUNDS change it.
 *
 * Three differences are meant, and nothing else is let through:
 *   - a denied folder hides what is in it, and a folder that may not be written holds nothing that
 *     may: a mount is one thing;
 *   - a folder's own right is that of its contents: granted as a name only, it is an empty folder;
 *   - what is absent from the host is absent.
 */
#include "jail/plan/test/test-plan.h"

#include "base/array.h"
#include "host/resolver.h"

/* Folders end with a slash. All are made; policies also name paths that are not. */
static const char *const tree[] = {
	"@/t/",
	"@/t/a/",
	"@/t/a/a/",
	"@/t/a/a/f",
	"@/t/a/b/",
	"@/t/a/b/f",
	"@/t/a/f",
	"@/t/a-b/",
	"@/t/a-b/f",
	"@/t/b/",
	"@/t/b/a/",
	"@/t/b/a/f",
	"@/t/b/f",
	"@/t/f",
};

/*
 * With links in the tree names have several paths, and what a plan may show is harder to say. What
 * it must not show is plain: a path that a rule forbids by its real name.
 */
static const char *const links[] = { "@/t/l>a", "@/t/b/l>../a/b", "@/t/a/l>../b", "@/t/up>.",
	"@/t/a/b/out>../../b/a/f", "@/l>t/a" };
static const char *const linked[] = { "@/t/l", "@/t/l/a", "@/t/l/b/f", "@/t/b/l", "@/t/b/l/f",
	"@/t/a/l", "@/t/a/l/a", "@/t/up/a", "@/t/up/b/l/f", "@/t/a/b/out", "@/l", "@/l/b",
	"@/l/l/f" };
static bool with_links;

static uint64_t seed;

static unsigned pick(unsigned n)
{
	seed ^= seed << 13;
	seed ^= seed >> 7;
	seed ^= seed << 17;
	return (unsigned)((seed >> 33) % n);
}

static void add_pattern(struct buffer *out)
{
	const char *name =
		with_links && pick(2) ? linked[pick(ROWS(linked))] : tree[pick(ROWS(tree))];
	size_t len = strlen(name);

	len -= name[len - 1] == '/';
	buffer_printf(out, "'%.*s%s'", (int)len, name, pick(3) ? "/**" : "");
}

static void add_list(struct buffer *out, const char *name, unsigned max)
{
	unsigned n = pick(max + 1);

	buffer_printf(out, "%s: [", name);
	for (unsigned i = 0; i < n; i++) {
		buffer_adds(out, i ? ", " : "");
		add_pattern(out);
	}
	buffer_adds(out, "], ");
}

static void add_rule(struct buffer *out, unsigned i)
{
	static const char *const actions[] = { "deny", "allow", "ask" };
	static const char *const operations[] = { "fs.read", "fs.write", "fs.read, fs.write" };

	buffer_printf(out, "{id: r%u, action: %s, priority: %u, operations: [%s], patterns: [", i,
		actions[pick(3)], pick(3), operations[pick(3)]);
	add_pattern(out);
	buffer_adds(out, "]}, ");
}

static void make_layer(struct buffer *out)
{
	unsigned n = pick(3) ? 0 : pick(3);

	buffer_adds(out, "{fs: {");
	add_list(out, "read", 3);
	add_list(out, "write", 3);
	add_list(out, "deny", pick(2) ? 2 : 0);
	buffer_adds(out, "}, rules: [");
	for (unsigned i = 0; i < n; i++)
		add_rule(out, i);
	buffer_adds(out, "]}");
}

enum access { NONE, READ, WRITE };

static enum access by_policy(const struct policy *p, const char *path)
{
	struct request r = { .op = OPERATION_FS_READ, .target = path };
	struct decision d;

	assert_int_equal(policy_decide(p, &r, &d), 0);
	if (d.verdict != VERDICT_ALLOW)
		return NONE;
	r.op = OPERATION_FS_WRITE;
	assert_int_equal(policy_decide(p, &r, &d), 0);
	return d.verdict == VERDICT_ALLOW ? WRITE : READ;
}

/* A name in a folder that no pattern has: what new files there get. */
static enum access by_policy_inside(const struct policy *p, const char *folder)
{
	char path[5000];

	(void)snprintf(path, sizeof(path), "%.4900s/new", folder);
	return by_policy(p, path);
}

static enum access by_plan(const struct plan *plan, const char *path)
{
	const struct plan_entry *found = NULL;

	for (size_t i = 0; i < plan->n; i++) {
		const struct plan_entry *e = &plan->entries[i];
		size_t len = strlen(e->path);

		if (strncmp(path, e->path, len) == 0 && (!path[len] || path[len] == '/'))
			found = e;
	}
	if (!found || found->kind != PLAN_BIND)
		return NONE;
	return found->writable ? WRITE : READ;
}

/* The least that the policy says of the path and of all folders of the tree around it. */
static enum access expected(const struct policy *p, const char *path, bool is_dir)
{
	enum access least = by_policy(p, path);

	if (is_dir && by_policy_inside(p, path) < least)
		least = by_policy_inside(p, path);
	return least;
}

static bool is_hidden(const struct plan *plan, const struct policy *p, const char *path)
{
	size_t top = strlen(test_plan_folder);
	char folder[5000];

	(void)snprintf(folder, sizeof(folder), "%s", path);
	for (char *slash = strrchr(folder, '/'); slash > folder + top;
		slash = strrchr(folder, '/')) {
		*slash = '\0';
		/* The folder itself was denied, or not to be written, by name. */
		if (by_policy(p, folder) < by_policy_inside(p, folder) &&
			by_plan(plan, folder) <= by_policy(p, folder))
			return true;
	}
	return false;
}

static void check(const struct plan *plan, const struct policy *p, const char *yaml)
{
	for (size_t i = 0; i < ROWS(tree); i++) {
		char *path = test_plan_expand(tree[i]);
		size_t len = strlen(path);
		bool is_dir = path[len - 1] == '/';
		enum access want, got;

		if (is_dir)
			path[len - 1] = '\0';
		want = expected(p, path, is_dir);
		got = by_plan(plan, path);
		if (got != want && !(got < want && is_hidden(plan, p, path)))
			fail_msg("%s: plan %d, policy %d\n%s", path, got, want, yaml);
		/* Never more, whatever the excuse. */
		assert_true(got <= by_policy(p, path));
		if (is_dir)
			assert_true(got <= by_policy_inside(p, path));
		free(path);
	}
}

/* As if made by code: in a file, a folder's own name is refused, and half of the layers have one.
 */
static void forget_lines(struct test_policy *t)
{
	for (size_t i = 0; i < t->n; i++) {
		const struct grant_list *lists[] = { &t->layers[i]->fs_read,
			&t->layers[i]->fs_write };

		for (size_t k = 0; k < ROWS(lists); k++)
			for (size_t n = 0; n < lists[k]->n; n++)
				lists[k]->items[n].where.line = 0;
	}
}

/* 1: a plan was made and compared; 0: it was refused. */
static int round_once(void)
{
	auto_buffer a = { 0 }, b = { 0 };
	auto_plan *plan = NULL;
	struct test_policy t;
	struct plan_options o;
	struct error e = { 0 };
	int r;

	make_layer(&a);
	make_layer(&b);
	test_policy_init(&t,
		(const char *const[]){ buffer_text(&a), pick(3) ? NULL : buffer_text(&b), NULL });
	forget_lines(&t);
	o = test_policy_options(&t);
	r = plan_new(&plan, &o, &e);
	if (r < 0) {
		/* All of the tree exists, so only one thing can be wrong with such policies. */
		assert_int_equal(r, -EOPNOTSUPP);
		assert_non_null(strstr(e.text,
			", which is denied inside an allowed folder: mounts cannot enforce this"));
	} else {
		check(plan, t.policy, buffer_text(&a));
		test_plan_check(plan);
	}
	test_policy_deinit(&t);
	return r == 0;
}

static unsigned long rounds(void)
{
	const char *text = getenv("CORRAL_TEST_ROUNDS");

	return text ? strtoul(text, NULL, 10) : 3000;
}

static void test_random(void **state)
{
	unsigned long made = 0;

	(void)state;
	for (unsigned long i = 0; i < rounds(); i++)
		made += (unsigned long)round_once();
	/* The refused ones are the exception. */
	assert_true(made * 2 > rounds());
}

static enum access limit_of(const struct policy *p, const char *path)
{
	enum access least = WRITE;

	for (size_t i = 0; i < policy_layers(p); i++) {
		for (int op = OPERATION_FS_WRITE; op >= OPERATION_FS_READ; op--) {
			struct request r = { .op = (enum operation)op, .target = path };
			struct decision d;

			assert_int_equal(policy_decide_layer(p, i, &r, &d), 0);
			if (d.verdict != VERDICT_ALLOW && d.why == DECISION_RULE)
				least = op == OPERATION_FS_READ ? NONE
					: least > READ          ? READ
								: least;
		}
	}
	return least;
}

static int round_with_links(void)
{
	auto_buffer a = { 0 };
	auto_plan *plan = NULL;
	struct test_policy t;
	struct plan_options o;
	struct error e = { 0 };
	int r;

	make_layer(&a);
	test_policy_init(&t, (const char *const[]){ buffer_text(&a), NULL });
	forget_lines(&t);
	o = test_policy_options(&t);
	r = plan_new(&plan, &o, &e);
	if (r < 0)
		assert_true(r == -EOPNOTSUPP || r == -EACCES);
	else
		test_plan_check(plan);
	for (size_t i = 0; r == 0 && i < ROWS(tree); i++) {
		char *path = test_plan_expand(tree[i]);
		size_t len = strlen(path);

		if (path[len - 1] == '/')
			path[len - 1] = '\0';
		if (by_plan(plan, path) > limit_of(t.policy, path))
			fail_msg("%s: plan %d, at most %d\n%s", path, by_plan(plan, path),
				limit_of(t.policy, path), buffer_text(&a));
		free(path);
	}
	test_policy_deinit(&t);
	return r == 0;
}

static void test_links(void **state)
{
	unsigned long made = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(links); i++)
		test_plan_make(links[i]);
	with_links = true;
	for (unsigned long i = 0; i < rounds(); i++)
		made += (unsigned long)round_with_links();
	assert_true(made * 4 > rounds());
}

static int set_up(void **state)
{
	const char *text = getenv("CORRAL_TEST_SEED");
	int r = test_plan_set_up(state);

	seed = text ? strtoull(text, NULL, 10) : 20260101;
	print_message("# seed %llu\n", (unsigned long long)seed);
	test_plan_make("@/home/");
	test_plan_make("@/home/p/");
	for (size_t i = 0; r == 0 && i < ROWS(tree); i++)
		test_plan_make(tree[i]);
	return r;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_links),
	};

	return cmocka_run_group_tests_name("plan-property", tests, set_up, test_plan_tear_down);
}
