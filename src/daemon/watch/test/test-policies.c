/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Stored policies: which changes of which folders make `corral policy record` run, and when; what
 * it prints; that a failure is tried again, ever later. `corral` is played by the test.
 */
#include "daemon/supervisor/test/test-link.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "daemon/api/tool.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/test/test-clock.h"
#include "daemon/watch/policies.h"
#include "test/fds.h"
#include "test/scratch.h"

enum { SETTLE_MS = 30, AGAIN_MS = 1000, FAILURES = 6 };

static char base[PATH_MAX];
static size_t n_runs, n_events, n_records;
static tool_taker *take; /* NULL: it does not run */
static char argv_text[128], last_event[256];
static int start_error, timer_error;

int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r);
int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r)
{
	size_t at = 0;

	assert_ptr_equal(s, link_s);
	/* Never two at once. */
	assert_null(take);
	n_runs++;
	if (start_error)
		return start_error;
	take = r->take;
	for (size_t i = 0; r->argv[i]; i++)
		at += (size_t)snprintf(
			argv_text + at, sizeof(argv_text) - at, "%s%s", i ? " " : "", r->argv[i]);
	return 0;
}

void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json);
void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json)
{
	assert_ptr_equal(s, link_s);
	assert_string_equal(type, "policy");
	(void)snprintf(last_event, sizeof(last_event), "%s", json);
	n_events++;
}

uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e);
uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e)
{
	assert_ptr_equal(s, link_s);
	assert_int_equal(e->action, AUDIT_POLICY);
	assert_int_equal(e->pid, getpid());
	assert_true(strlen(e->target) > 0);
	assert_null(strchr(e->target, '\n'));
	return ++n_records;
}

int __real_loop_start(struct loop *l, struct timer *t, uint64_t ms);
int __wrap_loop_start(struct loop *l, struct timer *t, uint64_t ms);
int __wrap_loop_start(struct loop *l, struct timer *t, uint64_t ms)
{
	return timer_error ? timer_error : __real_loop_start(l, t, ms);
}

static const char *at(const char *name)
{
	static char path[2][PATH_MAX + 64];
	static size_t turn;
	char *out = path[turn++ % 2];

	(void)snprintf(out, sizeof(path[0]), "%s/%s", base, name);
	return out;
}

/* Twice: a folder that is not watched any more says so itself. */
static void turn(void)
{
	for (size_t i = 0; i < 2; i++)
		assert_int_equal(loop_turn(link_s->loop, 0), 0);
}

static void make(const char *name)
{
	assert_int_equal(mkdir(at(name), 0700), 0);
	turn();
}

static void put(const char *name)
{
	FILE *f = fopen(at(name), "we");

	assert_non_null(f);
	assert_int_equal(fclose(f), 0);
	turn();
}

static void move(const char *from, const char *to)
{
	assert_int_equal(rename(at(from), at(to)), 0);
	turn();
}

static void finish(int status, const char *printed)
{
	tool_taker *taker = take;
	auto_buffer text = { 0 };

	assert_non_null(taker);
	buffer_adds(&text, printed);
	take = NULL;
	taker(link_s, status, &text);
}

static void pass(uint64_t ms)
{
	clock_pass(link_s->loop, ms);
}

/* The change before it is recorded, once. */
static void expect_run(void)
{
	const size_t before = n_runs;

	pass(SETTLE_MS - 1);
	assert_int_equal(n_runs, before);
	pass(1);
	assert_int_equal(n_runs, before + 1);
	finish(0, "");
	pass(10 * SETTLE_MS);
	assert_int_equal(n_runs, before + 1);
}

static void expect_no_run(void)
{
	const size_t before = n_runs;

	pass(10 * SETTLE_MS);
	assert_int_equal(n_runs, before);
}

static int setup(void **state)
{
	char template[] = "/tmp/corral-test-XXXXXX";

	link_setup(state);
	n_runs = n_events = n_records = 0;
	start_error = timer_error = 0;
	take = NULL;
	assert_int_equal(scratch_make(template, base), 0);
	buffer_adds(&link_s->config_folder, at("config/corral"));
	return 0;
}

static int teardown(void **state)
{
	policies_close(link_s);
	buffer_deinit(&link_s->config_folder);
	(void)scratch_remove(base);
	return link_teardown(state);
}

/* Open, with all folders, and what changed before is recorded. */
static void begin(void)
{
	make("config");
	make("config/corral");
	make("config/corral/policy.d");
	make("config/corral/policy.d/custom");
	assert_int_equal(policies_open(link_s), 0);
	pass(1);
	assert_int_equal(n_runs, 1);
	finish(0, "");
}

static void test_start(void **state)
{
	(void)state;
	begin();
	assert_string_equal(argv_text, "policy record --json");
	expect_no_run();
	link_s->is_system = true;
	put("config/corral/policy.d/a.yaml");
	pass(SETTLE_MS);
	assert_string_equal(argv_text, "policy record --json --system");
}

/* Without a folder of configuration there is nothing to watch. */
static void test_no_folder(void **state)
{
	const size_t fds = count_fds();

	(void)state;
	buffer_clear(&link_s->config_folder);
	/* Closed without being open, too. */
	policies_close(link_s);
	assert_int_equal(policies_open(link_s), 0);
	assert_int_equal(policies_look(link_s), 0);
	assert_int_equal(count_fds(), fds);
	expect_no_run();
}

static void test_closes(void **state)
{
	const size_t fds = count_fds();

	(void)state;
	begin();
	policies_close(link_s);
	assert_int_equal(count_fds(), fds);
	link_s->watch.policies.watcher.ready = NULL;
}

static void test_changes(void **state)
{
	(void)state;
	begin();
	put("config/corral/policy.d/a.yaml");
	expect_run();
	put("config/corral/policy.d/custom/b.yaml");
	expect_run();
	assert_int_equal(chmod(at("config/corral/policy.d/a.yaml"), 0600), 0);
	turn();
	expect_run();
	move("config/corral/policy.d/a.yaml", "config/corral/policy.d/c.yaml");
	expect_run();
	assert_int_equal(unlink(at("config/corral/policy.d/custom/b.yaml")), 0);
	turn();
	expect_run();
	/* Beside them is nothing of ours. */
	put("config/corral/daemon.yaml");
	make("config/corral/profiles");
	put("config/corral/profiles/x.yaml");
	put("config/other");
	expect_no_run();
}

/* An editor writes, renames and removes: all of that is one change. */
static void test_settles(void **state)
{
	(void)state;
	begin();
	for (size_t i = 0; i < 20; i++) {
		put("config/corral/policy.d/a.new");
		move("config/corral/policy.d/a.new", "config/corral/policy.d/a.yaml");
		pass(SETTLE_MS - 1);
	}
	assert_int_equal(n_runs, 1);
	pass(1);
	assert_int_equal(n_runs, 2);
}

/* What changes while corral runs is recorded behind it, once. */
static void test_change_meanwhile(void **state)
{
	(void)state;
	begin();
	put("config/corral/policy.d/a.yaml");
	pass(SETTLE_MS);
	assert_int_equal(n_runs, 2);
	for (size_t i = 0; i < 3; i++) {
		put("config/corral/policy.d/a.yaml");
		pass(SETTLE_MS);
	}
	assert_int_equal(n_runs, 2);
	finish(0, "");
	expect_run();
}

/* Folders that appear one after the other, from nothing. */
static void test_appear(void **state)
{
	(void)state;
	assert_int_equal(policies_open(link_s), 0);
	pass(1);
	finish(0, "");
	put("unrelated");
	expect_no_run();
	make("config");
	expect_run();
	make("config/corral");
	expect_run();
	make("config/corral/policy.d");
	expect_run();
	put("config/corral/policy.d/a.yaml");
	expect_run();
	make("config/corral/policy.d/custom");
	expect_run();
	put("config/corral/policy.d/custom/b.yaml");
	expect_run();
	/* Those above are not watched any more. */
	put("config/x");
	put("y");
	expect_no_run();
}

/* Another folder is moved into its place: the old one counts no more, the new one does. */
static void test_replaced(void **state)
{
	(void)state;
	begin();
	move("config/corral/policy.d", "old");
	expect_run();
	put("old/a.yaml");
	put("old/custom/a.yaml");
	expect_no_run();
	make("fresh");
	move("fresh", "config/corral/policy.d");
	expect_run();
	put("config/corral/policy.d/a.yaml");
	expect_run();
}

static void test_removed(void **state)
{
	(void)state;
	begin();
	assert_int_equal(scratch_remove(at("config")), 0);
	turn();
	expect_run();
	make("config");
	make("config/corral");
	make("config/corral/policy.d");
	expect_run();
	put("config/corral/policy.d/a.yaml");
	expect_run();
}

/* Each line is an event and a record; nothing of it is parsed. */
static void test_lines(void **state)
{
	(void)state;
	assert_int_equal(policies_open(link_s), 0);
	pass(1);
	finish(0, "{\"name\":\"a\"}\n\n{\"name\":\"b\"}\nlast, without its end");
	assert_int_equal(n_events, 3);
	assert_int_equal(n_records, 3);
	assert_string_equal(last_event, "last, without its end");
	assert_true(link_said("policy: {\"name\":\"a\"}"));
}

/* Said once, tried again ever later, up to a bound; one that works begins anew. */
static void test_failures(void **state)
{
	(void)state;
	assert_int_equal(policies_open(link_s), 0);
	pass(1);
	for (unsigned i = 1; i <= FAILURES + 3; i++) {
		const uint64_t wait = (uint64_t)AGAIN_MS << (i < FAILURES ? i : FAILURES);

		/* Half of what it says is not taken for the whole. */
		finish(i % 2 ? -EIO : 1, "{\"name\":\"a\"}\n");
		assert_int_equal(link_said("corral could not record"), i == 1);
		assert_int_equal(ftruncate(link_s->journal.fd, 0), 0);
		pass(wait - 1);
		assert_int_equal(n_runs, i);
		pass(1);
		assert_int_equal(n_runs, i + 1);
	}
	assert_int_equal(n_events, 0);
	finish(0, "");
	assert_int_equal(link_s->watch.policies.failures, 0);
	pass(UINT64_C(1000000));
	assert_int_equal(n_runs, FAILURES + 4);
}

/* All places of tools are taken. */
static void test_busy(void **state)
{
	(void)state;
	start_error = -EBUSY;
	assert_int_equal(policies_open(link_s), 0);
	pass(1);
	assert_int_equal(n_runs, 1);
	start_error = 0;
	pass(2 * AGAIN_MS);
	assert_int_equal(n_runs, 2);
	finish(0, "");
}

/* Looks of the security watcher: with inotify they find nothing new; without it they look. */
static void test_look(void **state)
{
	(void)state;
	begin();
	assert_int_equal(policies_look(link_s), 0);
	expect_no_run();
	link_s->watch.unwatched = ENOSPC;
	assert_int_equal(policies_look(link_s), 0);
	expect_run();
}

static void test_no_timer(void **state)
{
	(void)state;
	begin();
	timer_error = -ENOMEM;
	put("config/corral/policy.d/a.yaml");
	assert_true(link_said("policies are not watched any more: out of memory"));
}

#define POLICIES_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		POLICIES_TEST(test_start),
		POLICIES_TEST(test_no_folder),
		POLICIES_TEST(test_closes),
		POLICIES_TEST(test_changes),
		POLICIES_TEST(test_settles),
		POLICIES_TEST(test_change_meanwhile),
		POLICIES_TEST(test_appear),
		POLICIES_TEST(test_replaced),
		POLICIES_TEST(test_removed),
		POLICIES_TEST(test_lines),
		POLICIES_TEST(test_failures),
		POLICIES_TEST(test_busy),
		POLICIES_TEST(test_look),
		POLICIES_TEST(test_no_timer),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
