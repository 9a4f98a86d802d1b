/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The security watcher: when it looks, what a look changes, that a look which fails is never taken
 * for health, and the bounds of what others can make it hold. `corral` is played by the test.
 */
#include "base/link.h"
#include "daemon/supervisor/test/test-link.h"

#include <limits.h>
#include <stdio.h>
#include <sys/stat.h>

#include "base/clock.h"
#include "daemon/api/tool.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/questions.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/test/test-clock.h"
#include "daemon/watch/policies.h"
#include "daemon/watch/security-watch.h"
#include "test/failing.h"
#include "test/scratch.h"

FAILING(char *, strndup, (const char *s, size_t n), s, n)
FAILING(void *, array_grow, (void *items, size_t n, size_t *cap, size_t size), items, n, cap, size)

enum { WATCH_MS = 10 * 1000, PEER_MS = 10 * 60 * 1000, PEERS = 64, FINDINGS = 512, TEXT = 2048 };

/* A tool that runs: `corral security`, `corral audit verify`. */
struct watch_run {
	tool_taker *take;
	char argv[256];
	uint64_t ms;
};

static struct watch_run scan, verify; /* .take is NULL: it does not run */
static size_t n_scans, n_verified;
static int start_error, look_error, trail_failure;
static uint64_t trail_lost;
static size_t n_looks, n_found, n_cleared, n_statuses;
static char last_event[8192];
static struct audit_event recorded;
static const struct questions_ending *ending;
static char folder[PATH_MAX];

int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r);
int __wrap_tool_start_own(struct supervisor *s, const struct tool_request *r)
{
	const bool is_scan = strcmp(r->argv[0], "security") == 0;
	struct watch_run *run = is_scan ? &scan : &verify;
	size_t at = 0;

	assert_ptr_equal(s, link_s);
	/* Never two at once. */
	assert_null(run->take);
	if (start_error)
		return start_error;
	*run = (struct watch_run){ .take = r->take, .ms = r->ms };
	for (size_t i = 0; r->argv[i]; i++)
		at += (size_t)snprintf(
			run->argv + at, sizeof(run->argv) - at, "%s%s", i ? " " : "", r->argv[i]);
	n_scans += is_scan;
	n_verified += !is_scan;
	return 0;
}

void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json);
void __wrap_bus_publish(struct supervisor *s, const char *type, const char *json)
{
	assert_ptr_equal(s, link_s);
	if (strcmp(type, "security_status") == 0) {
		n_statuses++;
		return;
	}
	assert_string_equal(type, "finding");
	n_found += strncmp(json, "{\"state\":\"found\"", 16) == 0;
	n_cleared += strncmp(json, "{\"state\":\"cleared\"", 18) == 0;
	(void)snprintf(last_event, sizeof(last_event), "%s", json);
}

int __wrap_policies_look(struct supervisor *s);
int __wrap_policies_look(struct supervisor *s)
{
	(void)s;
	n_looks++;
	return look_error;
}

int __wrap_missed_watch(struct supervisor *s);
int __wrap_missed_watch(struct supervisor *s)
{
	(void)s;
	return 0;
}

void __wrap_questions_each_ending(struct supervisor *s, questions_taker *take);
void __wrap_questions_each_ending(struct supervisor *s, questions_taker *take)
{
	if (ending)
		take(s, ending);
}

int __wrap_audit_trail_failure(struct audit_trail *t);
int __wrap_audit_trail_failure(struct audit_trail *t)
{
	(void)t;
	return trail_failure;
}

uint64_t __wrap_audit_trail_lost(struct audit_trail *t);
uint64_t __wrap_audit_trail_lost(struct audit_trail *t)
{
	(void)t;
	return trail_lost;
}

int __wrap_audit_trail_try_flush(struct audit_trail *t, struct error *e);
int __wrap_audit_trail_try_flush(struct audit_trail *t, struct error *e)
{
	(void)t;
	(void)e;
	return -EBUSY;
}

uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e);
uint64_t __wrap_journal_record(struct supervisor *s, const struct audit_event *e)
{
	(void)s;
	recorded = *e;
	return 1;
}

static int setup(void **state)
{
	char template[] = "/tmp/corral-test-XXXXXX";

	link_setup(state);
	scan = verify = (struct watch_run){ 0 };
	n_scans = n_verified = n_looks = n_found = n_cleared = n_statuses = 0;
	start_error = look_error = trail_failure = 0;
	trail_lost = 0;
	ending = NULL;
	link_s->config.watch_ms = WATCH_MS;
	link_init(&link_s->peers.sandboxes);
	assert_int_equal(scratch_make(template, folder), 0);
	buffer_adds(&link_s->folder.path, folder);
	buffer_printf(&link_s->journal.path, "%s/log/audit.db", folder);
	assert_int_equal(security_watch_open(link_s), 0);
	return 0;
}

static int teardown(void **state)
{
	security_watch_close(link_s);
	assert_int_equal(link_s->watch.security.n, 0);
	buffer_deinit(&link_s->folder.path);
	buffer_deinit(&link_s->journal.path);
	(void)scratch_remove(folder);
	return link_teardown(state);
}

/* The tool ends with this status, and printed this. */
static void finish(struct watch_run *run, int status, const char *printed)
{
	tool_taker *take = run->take;
	auto_buffer text = { 0 };

	assert_non_null(take);
	buffer_adds(&text, printed);
	run->take = NULL;
	take(link_s, status, &text);
}

/* The next look, at once. */
static void look(void)
{
	clock_pass(link_s->loop, n_looks ? WATCH_MS : 0);
}

#define FINDING(severity, kind, where)                                               \
	"{\"severity\": \"" severity "\", \"kind\": \"" kind "\", \"text\": \"t\", " \
	"\"where\": \"" where "\", \"remedy\": \"r\"}"
#define FINDINGS_OF(list) "{\"findings\": [" list "]}"

static void expect_print(const char *text, bool is_there)
{
	auto_buffer out = { 0 };

	security_watch_print(link_s, &out);
	assert_false(out.failed);
	if ((strstr(out.data, text) != NULL) != is_there)
		fail_msg("%s: %s", text, out.data);
}

static size_t count(const char *severity)
{
	return security_watch_count(link_s, severity);
}

/* Looks */

static void test_first_look(void **state)
{
	(void)state;
	assert_int_equal(n_scans, 0);
	look();
	assert_int_equal(n_looks, 1);
	assert_string_equal(scan.argv, "security --json --record");
	assert_int_equal(strncmp(verify.argv, "audit verify --json -- ", 23), 0);
	assert_string_equal(verify.argv + 23, buffer_text(&link_s->journal.path));
	/* A long log may be verified for longer than other tools run. */
	assert_true(verify.ms > TOOL_MS);
	/* Nothing is fine before it was looked at. */
	expect_print("\"checked_ms\":0,\"verified_ms\":0,\"findings\":[],\"ok\":[]", true);
	finish(&scan, 0, FINDINGS_OF(""));
	expect_print("\"drift\"", true);
	expect_print("\"log_unverified\"", false);
	finish(&verify, 0, "{\"fine\": true}");
	expect_print("\"log_unverified\"", true);
	assert_int_equal(count(NULL), 0);
	/* Both changed what /api/security says. */
	assert_int_equal(n_statuses, 2);
}

static void test_system(void **state)
{
	(void)state;
	link_s->is_system = true;
	look();
	assert_string_equal(scan.argv, "security --json --record --system");
}

/* A scan that takes longer than watch_ms is not started twice; then the next look has one. */
static void test_slow_scan(void **state)
{
	(void)state;
	look();
	look();
	look();
	assert_int_equal(n_looks, 3);
	assert_int_equal(n_scans, 1);
	finish(&scan, 0, FINDINGS_OF(""));
	clock_pass(link_s->loop, WATCH_MS - 1);
	assert_int_equal(n_scans, 1);
	clock_pass(link_s->loop, 1);
	assert_int_equal(n_scans, 2);
}

static void test_found_and_cleared(void **state)
{
	(void)state;
	look();
	finish(&scan, 1,
		FINDINGS_OF(FINDING("high", "drift", "/a") ", " FINDING("low", "drift", "/b")));
	assert_int_equal(n_found, 2);
	assert_int_equal(count(NULL), 2);
	assert_int_equal(count("high"), 1);
	assert_int_equal(count("medium"), 0);
	assert_true(link_said("found: t"));
	expect_print("\"where\":\"/a\"", true);
	/* In `ok` is what has no finding. */
	expect_print("\"ok\":[\"agent_outside\",\"file_mode\",\"policy_ignored\"", true);

	/* One of them stays: that is no event. */
	look();
	finish(&scan, 1, FINDINGS_OF(FINDING("low", "drift", "/b")));
	assert_int_equal(n_found, 2);
	assert_int_equal(n_cleared, 1);
	assert_non_null(strstr(last_event, "/a"));
	assert_true(link_said("cleared: t"));
	look();
	finish(&scan, 0, FINDINGS_OF(""));
	assert_int_equal(n_cleared, 2);
	assert_int_equal(count(NULL), 0);
}

/* Nothing changed: no event at all, and its time stays. */
static void test_same(void **state)
{
	uint64_t since;

	(void)state;
	look();
	finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
	since = link_s->watch.security.findings[0].since_ms;
	n_statuses = 0;
	for (size_t i = 0; i < 3; i++) {
		look();
		finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
	}
	assert_int_equal(n_found, 1);
	assert_int_equal(n_statuses, 0);
	assert_int_equal(link_s->watch.security.findings[0].since_ms, since);
}

/* The same finding for another reason: it has the new words, since the same time. */
static void test_renewed(void **state)
{
	uint64_t since;

	(void)state;
	look();
	finish(&scan, 1, FINDINGS_OF(FINDING("low", "drift", "/a")));
	since = link_s->watch.security.findings[0].since_ms;
	n_statuses = 0;
	look();
	finish(&scan, 1,
		"{\"findings\": [{\"severity\": \"high\", \"kind\": \"drift\", "
		"\"text\": \"other words\", \"where\": \"/a\", \"remedy\": \"r2\"}]}");
	assert_int_equal(count(NULL), 1);
	assert_int_equal(count("high"), 1);
	expect_print("\"text\":\"other words\"", true);
	expect_print("\"remedy\":\"r2\"", true);
	assert_int_equal(link_s->watch.security.findings[0].since_ms, since);
	assert_int_equal(n_found, 1);
	/* Who shows it asks again. */
	assert_int_equal(n_statuses, 1);
}

/* A scan that fails changes nothing that was found before, and is a finding itself. */
static void test_scan_fails(void **state)
{
	static const struct {
		int status;
		const char *printed;
	} cases[] = { { -EIO, "" }, { 2, FINDINGS_OF("") }, { 127, "" }, { 0, "" }, { 0, "{" },
		{ 0, "[]" }, { 1, "{}" }, { 0, "{\"findings\": null}" },
		{ 0, "{\"findings\": \"none\"}" }, { 0, "{\"findings\": {}}" } };

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		uint64_t checked;

		look();
		finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
		checked = link_s->watch.security.checked_ms;
		look();
		finish(&scan, cases[i].status, cases[i].printed);
		assert_int_equal(count("high"), 1);
		assert_int_equal(count("medium"), 1);
		expect_print("\"where\":\"corral security\"", true);
		assert_int_equal(link_s->watch.security.checked_ms, checked);
		/* The next good one cures it. */
		look();
		finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
		assert_int_equal(count(NULL), 1);
	}
	assert_int_equal(n_cleared, ROWS(cases));
}

/* Neither tool can be started: both are findings, and the next look tries again. */
static void test_start_fails(void **state)
{
	(void)state;
	start_error = -EBUSY;
	look();
	assert_int_equal(count("medium"), 2);
	expect_print("\"ok\":[]", true);
	start_error = 0;
	look();
	finish(&scan, 0, FINDINGS_OF(""));
	finish(&verify, 0, "{\"fine\": true}");
	assert_int_equal(count(NULL), 0);
}

/* What is no finding of the tables is none. */
static void test_malformed_findings(void **state)
{
	(void)state;
	look();
	finish(&scan, 1,
		FINDINGS_OF(FINDING("fatal", "drift", "/a") ", " FINDING(
			"high", "boredom", "/b") ", " FINDING("", "drift",
			"/c") ", 7, null, \"x\", [], {}, "
			      "{\"severity\": \"high\", \"kind\": \"drift\", \"text\": "
			      "\"t\"}, " FINDING("low", "drift", "/d")));
	assert_int_equal(count(NULL), 1);
	expect_print("\"where\":\"/d\"", true);
}

/* No source holds more than the bound, and no text is longer. */
static void test_bounds(void **state)
{
	auto_buffer text = { 0 };

	(void)state;
	look();
	buffer_adds(&text, "{\"findings\": [");
	for (size_t i = 0; i < FINDINGS + 10; i++)
		buffer_printf(&text, "%s" FINDING("low", "drift", "/%zu"), i ? "," : "", i);
	buffer_adds(&text, "]}");
	finish(&scan, 1, text.data);
	assert_int_equal(count(NULL), FINDINGS);
	look();
	finish(&scan, 0, FINDINGS_OF(""));
	assert_int_equal(n_cleared, FINDINGS);

	buffer_clear(&text);
	buffer_adds(
		&text, "{\"findings\": [{\"severity\": \"low\", \"kind\": \"drift\", \"text\": \"");
	for (size_t i = 0; i < 3 * TEXT; i++)
		buffer_addc(&text, 'x');
	buffer_adds(&text, "\", \"where\": \"w\", \"remedy\": \"r\"}]}");
	look();
	finish(&scan, 1, text.data);
	assert_int_equal(strlen(link_s->watch.security.findings[0].text), TEXT);
}

/* Without memory for it there is no finding and no event; the next look has it. */
static void test_memory(void **state)
{
	long n = 0;

	(void)state;
	for (;; n++) {
		const size_t before = n_found;

		look();
		failing_start(n);
		finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
		if (!failing_stop())
			break;
		assert_int_equal(count(NULL), 0);
		assert_int_equal(n_found, before);
	}
	/* Three texts and the array. */
	assert_int_equal(n, 4);
	assert_int_equal(count(NULL), 1);
	/* Known ones keep their words. */
	for (n = 0; n < 3; n++) {
		look();
		failing_start(n);
		finish(&scan, 1, FINDINGS_OF(FINDING("low", "drift", "/a")));
		assert_true(failing_stop());
		assert_int_equal(count("high"), 1);
	}
}

/* The log */

static void test_verify_fails(void **state)
{
	static const struct {
		const char *printed, *text, *remedy;
	} cases[] = {
		{ "{\"fine\": false, \"text\": \"record 5\", \"advice\": \"restore it\"}",
			"\"text\":\"record 5\"", "\"remedy\":\"restore it\"" },
		{ "{\"error\": {\"text\": \"no log\", \"hint\": \"look\"}}", "\"text\":\"no log\"",
			"\"remedy\":\"look\"" },
		{ "{}", "the audit log does not verify", "run `corral audit verify`" },
		{ "{\"fine\": \"yes\"}", "the audit log does not verify", "run `corral audit" },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(cases); i++) {
		look();
		finish(&verify, 1, cases[i].printed);
		assert_int_equal(count("high"), 1);
		expect_print("\"kind\":\"log_unverified\"", true);
		expect_print(cases[i].text, true);
		expect_print(cases[i].remedy, true);
		if (scan.take)
			finish(&scan, 0, FINDINGS_OF(""));
		/* A scan does not cure what the log's look found. */
		assert_int_equal(count("high"), 1);
	}
	look();
	finish(&verify, -EIO, "");
	assert_int_equal(count("high"), 1);
	assert_int_equal(count("medium"), 1);
	if (scan.take)
		finish(&scan, 0, FINDINGS_OF(""));
	look();
	finish(&verify, 0, "{\"fine\": true}");
	assert_int_equal(count(NULL), 0);
}

/* It takes one fiftieth of the time at most. */
static void test_verify_share(void **state)
{
	(void)state;
	look();
	clock_pass(link_s->loop, 2000);
	finish(&verify, 0, "{\"fine\": true}");
	assert_int_equal(n_verified, 1);
	for (uint64_t ms = 0; ms < UINT64_C(2000) * 50 - WATCH_MS; ms += WATCH_MS)
		clock_pass(link_s->loop, WATCH_MS);
	assert_int_equal(n_verified, 1);
	clock_pass(link_s->loop, WATCH_MS);
	clock_pass(link_s->loop, WATCH_MS);
	assert_int_equal(n_verified, 2);
}

/* What the daemon knows itself */

static void test_log_lost(void **state)
{
	(void)state;
	trail_failure = -ENOSPC;
	look();
	expect_print("\"kind\":\"log_lost\"", true);
	assert_int_equal(count("high"), 1);
	trail_failure = 0;
	trail_lost = 3;
	look();
	assert_int_equal(count("high"), 1);
	assert_int_equal(n_found, 1);
	trail_lost = 0;
	look();
	assert_int_equal(count("high"), 0);
}

/* Names of files are of others: they are shown, never as control characters. */
static void test_strange_files(void **state)
{
	static char name[] = "a\033[31m\nb";

	(void)state;
	link_s->peers.missed.strange[0] = name;
	link_s->peers.missed.n_strange = 1;
	buffer_adds(&link_s->peers.missed.folder, "/missed");
	look();
	assert_int_equal(count("medium"), 1);
	assert_null(strchr(link_s->watch.security.findings[0].where, '\033'));
	assert_null(strchr(link_s->watch.security.findings[0].where, '\n'));
	assert_int_equal(strncmp(link_s->watch.security.findings[0].where, "/missed/a", 9), 0);
	link_s->peers.missed.n_strange = 0;
	look();
	assert_int_equal(count("medium"), 0);
	buffer_deinit(&link_s->peers.missed.folder);
}

static void test_unwatched(void **state)
{
	static const struct {
		int error;
		bool is_files;
		const char *where, *remedy;
	} cases[] = { { EMFILE, false, "fs.inotify.max_user_instances",
			      "sudo sysctl fs.inotify.max_user_instances=1024" },
		{ ENOSPC, false, "fs.inotify.max_user_watches",
			"sudo sysctl fs.inotify.max_user_watches=524288" },
		{ EMFILE, true, "RLIMIT_NOFILE", "LimitNOFILE=" },
		{ ENOSYS, false, "inotify", "tries again" } };

	(void)state;
	security_watch_tell_unwatched(link_s);
	assert_int_equal(count(NULL), 0);
	for (size_t i = 0; i < ROWS(cases); i++) {
		link_s->watch.unwatched = cases[i].error;
		link_s->watch.is_files_limit = cases[i].is_files;
		security_watch_tell_unwatched(link_s);
		assert_int_equal(count("low"), 1);
		assert_string_equal(link_s->watch.security.findings[0].where, cases[i].where);
		assert_non_null(strstr(link_s->watch.security.findings[0].remedy, cases[i].remedy));
		assert_non_null(strstr(link_s->watch.security.findings[0].text, "10 seconds"));
		/* The look tries again, and it works. */
		look();
		assert_int_equal(count("low"), 0);
		if (scan.take)
			finish(&scan, 0, FINDINGS_OF(""));
	}
}

/* The command that renews a grant is pasted into a shell: quotes stay quotes. */
static void test_ending(void **state)
{
	struct sandbox b = { .who = { .id = "box" } };
	struct questions_ending e = { &b, 4, 60 * 1000, "read", "/it's; rm -rf $HOME" };

	(void)state;
	ending = &e;
	look();
	assert_int_equal(count("low"), 1);
	assert_string_equal(link_s->watch.security.findings[0].where, "box.4");
	assert_string_equal(link_s->watch.security.findings[0].remedy,
		"corral grants add box read '/it'\\''s; rm -rf $HOME' --for 1h");
	e.number = 5;
	e.pattern = "/a\nrm -rf x";
	look();
	assert_int_equal(count("low"), 1);
	assert_string_equal(link_s->watch.security.findings[0].where, "box.5");
	assert_null(strstr(link_s->watch.security.findings[0].remedy, "rm -rf"));
	assert_null(strchr(link_s->watch.security.findings[0].text, '\n'));
	ending = NULL;
	look();
	assert_int_equal(count("low"), 0);
}

/* Refused peers */

static void test_refused(void **state)
{
	(void)state;
	security_watch_tell_refused(
		link_s, "join.sock", &(struct origin_peer){ 4711, 1000 }, "it is inside");
	assert_int_equal(link_s->api.metrics.refused_peers, 1);
	assert_int_equal(recorded.pid, 4711);
	assert_int_equal(recorded.decision, AUDIT_DENIED);
	assert_string_equal(recorded.target, "join.sock");
	assert_true(link_said("refused pid 4711 on join.sock: it is inside"));
	assert_int_equal(count("high"), 1);
	expect_print("pid 4711 tried the daemon's join.sock and was refused: it is inside", true);
	assert_int_equal(n_statuses, 1);

	/* It lasts for its time, whatever looks find; each further try prolongs it. */
	look();
	finish(&scan, 0, FINDINGS_OF(""));
	assert_int_equal(count("high"), 1);
	security_watch_tell_peer(link_s, "join.sock", 4711, "it is inside");
	assert_int_equal(count("high"), 1);
	assert_int_equal(n_found, 1);
	clock_pass(link_s->loop, PEER_MS - 1);
	assert_int_equal(count("high"), 1);
	clock_pass(link_s->loop, WATCH_MS);
	assert_int_equal(count("high"), 0);
	assert_int_equal(n_cleared, 1);
}

/* A sandbox that forks and tries again cannot push other findings out. */
static void test_many_peers(void **state)
{
	(void)state;
	for (pid_t pid = 1; pid < 10 * PEERS; pid++)
		security_watch_tell_peer(link_s, "api.sock", pid, "no");
	assert_int_equal(count(NULL), PEERS);
	look();
	finish(&scan, 1, FINDINGS_OF(FINDING("high", "drift", "/a")));
	assert_int_equal(count(NULL), PEERS + 1);
	clock_pass(link_s->loop, PEER_MS);
	assert_int_equal(count(NULL), 1);
}

/* Changes of folders */

static void change(void)
{
	char path[PATH_MAX + 8];

	(void)snprintf(path, sizeof(path), "%s/x", folder);
	assert_int_equal(mkdir(path, 0700), 0);
	assert_int_equal(rmdir(path), 0);
	assert_int_equal(loop_turn(link_s->loop, 0), 0);
}

/* A change is looked at soon, many at most once in a second. */
static void test_change(void **state)
{
	(void)state;
	look();
	finish(&scan, 0, FINDINGS_OF(""));
	clock_pass(link_s->loop, 2000);
	change();
	assert_int_equal(n_scans, 1);
	clock_pass(link_s->loop, 50);
	assert_int_equal(n_scans, 2);
	finish(&scan, 0, FINDINGS_OF(""));
	for (size_t i = 0; i < 9; i++) {
		change();
		clock_pass(link_s->loop, 100);
		assert_int_equal(n_scans, 2);
	}
	clock_pass(link_s->loop, 100);
	assert_int_equal(n_scans, 3);
	/* The look by the clock is as before. */
	assert_int_equal(n_looks, 1);
}

/* What changes while one looks is looked at behind it. */
static void test_change_during_scan(void **state)
{
	(void)state;
	look();
	clock_pass(link_s->loop, 1500);
	change();
	clock_pass(link_s->loop, 50);
	assert_int_equal(n_scans, 1);
	finish(&scan, 0, FINDINGS_OF(""));
	clock_pass(link_s->loop, 1000);
	assert_int_equal(n_scans, 2);
}

/* A daemon that cannot watch ends. */
static void test_give_up(void **state)
{
	(void)state;
	look_error = -ENOMEM;
	look();
	assert_true(link_s->is_over);
	assert_true(link_said("the daemon ends: it cannot watch any more"));
}

#define WATCH_TEST(f) cmocka_unit_test_setup_teardown(f, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WATCH_TEST(test_first_look),
		WATCH_TEST(test_system),
		WATCH_TEST(test_slow_scan),
		WATCH_TEST(test_found_and_cleared),
		WATCH_TEST(test_same),
		WATCH_TEST(test_renewed),
		WATCH_TEST(test_scan_fails),
		WATCH_TEST(test_start_fails),
		WATCH_TEST(test_malformed_findings),
		WATCH_TEST(test_bounds),
		WATCH_TEST(test_memory),
		WATCH_TEST(test_verify_fails),
		WATCH_TEST(test_verify_share),
		WATCH_TEST(test_log_lost),
		WATCH_TEST(test_strange_files),
		WATCH_TEST(test_unwatched),
		WATCH_TEST(test_ending),
		WATCH_TEST(test_refused),
		WATCH_TEST(test_many_peers),
		WATCH_TEST(test_change),
		WATCH_TEST(test_change_during_scan),
		WATCH_TEST(test_give_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
