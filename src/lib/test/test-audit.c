/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The public face of the audit, as a host program uses it: in memory, with a file, and behind a
 * real sandbox. The log itself is read by its own functions.
 */
#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "audit/store/log.h"
#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "lib/sandbox/test/test-common.h"
#include "test/scratch.h"

#include <corral/audit.h>

/* A folder for a log, which no command may write to. */
struct place {
	char folder[64], log[96];
};

static struct place make_place(void)
{
	struct place p = { .folder = "/var/tmp/corral-test-audit-XXXXXX" };

	assert_non_null(mkdtemp(p.folder));
	(void)snprintf(p.log, sizeof(p.log), "%s/log", p.folder);
	return p;
}

static void remove_place(const struct place *p)
{
	assert_int_equal(scratch_remove(p->folder), 0);
}

static struct corral_audit *open_audit(const struct place *p)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *a = NULL;
	struct corral_error *e = NULL;

	o.path = p ? p->log : NULL;
	o.session = "s-1";
	o.sandbox = "box";
	if (corral_audit_new(&a, &o, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return a;
}

static void close_audit(struct corral_audit *a)
{
	struct corral_error *e = NULL;

	if (corral_audit_free(a, &e) < 0)
		fail_msg("%s", corral_error_message(e));
}

static int add(struct corral_audit *a, const char *action, const char *target, const char *decision)
{
	return corral_audit_add(
		a, &(struct corral_audit_event){ .size = sizeof(struct corral_audit_event),
			   .action = action,
			   .target = target,
			   .decision = decision });
}

/* What was seen of it in memory. */
struct seen {
	unsigned n, stop_at;
	uint64_t first, last;
	char line[4096]; /* "action target decision status;" … */
};

static int see(void *context, const struct corral_audit_event *e)
{
	struct seen *s = context;
	size_t len = strlen(s->line);

	s->first = s->n++ ? s->first : e->number;
	s->last = e->number;
	(void)snprintf(s->line + len, sizeof(s->line) - len, "%s %s %s %lld;", e->action, e->target,
		e->decision, (long long)e->status);
	return s->stop_at && s->n == s->stop_at;
}

static struct seen look(struct corral_audit *a)
{
	struct seen s = { 0 };

	(void)corral_audit_latest(a, 0, see, &s, NULL);
	return s;
}

static void expect(const struct seen *s, const char *text)
{
	if (!strstr(s->line, text))
		fail_msg("\"%s\" is not in: %s", text, s->line);
}

static void test_in_memory(void **state)
{
	struct corral_audit *a = NULL;
	struct seen s = { 0 };
	uint64_t lost;

	(void)state;
	assert_int_equal(corral_audit_new(&a, NULL, NULL), 0);
	assert_int_equal(corral_audit_latest(a, 0, see, &s, &lost), 0);
	assert_int_equal(lost, 0);
	for (unsigned i = 0; i < 5000; i++)
		assert_int_equal(add(a, "fs.read", "/x", "allowed"), 0);
	assert_int_equal(add(a, "fs.write", "/last", "denied"), 0);
	assert_true(corral_audit_latest(a, 2, see, &s, &lost) == 2);
	assert_true(s.n == 2 && s.first == 5000 && s.last == 5001);
	assert_string_equal(s.line, "fs.read /x allowed 0;fs.write /last denied 0;");
	assert_true(lost > 0);
	/* All that are there, and how many are not. */
	s = (struct seen){ 0 };
	assert_int_equal(corral_audit_latest(a, 0, see, &s, &lost), 5001 - lost);
	assert_int_equal(s.first, lost + 1);
	s = (struct seen){ .stop_at = 3 };
	assert_int_equal(corral_audit_latest(a, 0, see, &s, NULL), 3);
	/* There is nothing to wait for. */
	assert_int_equal(corral_audit_wait_ms(a), -1);
	assert_int_equal(corral_audit_tick(a, NULL), 0);
	assert_int_equal(corral_audit_flush(a, NULL), 0);
	close_audit(a);
	assert_int_equal(corral_audit_free(NULL, NULL), 0);
}

static int check_all(void *context, const struct corral_audit_event *e)
{
	(void)context;
	assert_true(e->time_ns == 7 && e->pid == 4711 && e->cost_ns == 8 && e->sent == 9);
	assert_true(e->received == 10 && e->status == -11 && e->count == 12 && e->exact == 1);
	assert_string_equal(e->session, "se");
	assert_string_equal(e->user, "us");
	assert_string_equal(e->sandbox, "sa");
	assert_string_equal(e->program, "pr");
	assert_string_equal(e->action, "service");
	assert_string_equal(e->target, "ta");
	assert_string_equal(e->decision, "asked");
	assert_string_equal(e->rule, "ru");
	assert_string_equal(e->reason, "re");
	return 0;
}

static void test_every_field(void **state)
{
	const struct corral_audit_event all = { .size = sizeof(all),
		.time_ns = 7,
		.session = "se",
		.user = "us",
		.sandbox = "sa",
		.program = "pr",
		.pid = 4711,
		.action = "service",
		.target = "ta",
		.decision = "asked",
		.rule = "ru",
		.reason = "re",
		.exact = 1,
		.cost_ns = 8,
		.sent = 9,
		.received = 10,
		.status = -11,
		.count = 12 };
	struct corral_audit *a = open_audit(NULL);

	(void)state;
	assert_int_equal(corral_audit_add(a, &all), 0);
	assert_int_equal(corral_audit_latest(a, 0, check_all, NULL, NULL), 1);
	close_audit(a);
}

static void test_what_is_refused(void **state)
{
	struct corral_audit *a = open_audit(NULL);
	struct corral_audit_event e = { .action = "exec" };
	struct corral_audit_options o = { .path = "/x" };
	struct {
		struct corral_audit_options known;
		uint64_t more;
	} newer = { { .size = sizeof(newer) }, 1 };
	struct corral_audit *none = NULL;
	struct corral_error *error = NULL;
	int key = access("/.key", F_OK), lock = access("/.lock", F_OK);

	(void)state;
	assert_int_equal(add(a, "no.such", "x", NULL), -EINVAL);
	assert_int_equal(add(a, NULL, "x", NULL), -EINVAL);
	assert_int_equal(add(a, "exec", "x", "perhaps"), -EINVAL);
	assert_int_equal(corral_audit_add(a, &e), -EINVAL);
	assert_int_equal(corral_audit_secret(a, "X", NULL), -EINVAL);
	assert_int_equal(look(a).n, 0);
	assert_int_equal(corral_audit_new(&none, &o, &error), -EINVAL);
	test_says(error, "CORRAL_AUDIT_OPTIONS");
	o = (struct corral_audit_options)CORRAL_AUDIT_OPTIONS;
	/* A folder is no log, and nothing is left beside it. */
	o.path = "/";
	assert_int_equal(corral_audit_new(&none, &o, &error), -EINVAL);
	test_says(error, "regular file");
	assert_int_equal(access("/.key", F_OK), key);
	assert_int_equal(access("/.lock", F_OK), lock);
	assert_null(none);
	/* A newer host may know more of it, but not ask for more: it would not get it. */
	newer.known.path = NULL;
	assert_int_equal(corral_audit_new(&none, &newer.known, &error), -E2BIG);
	test_says(error, "does not support");
	assert_null(none);
	newer.more = 0;
	assert_int_equal(corral_audit_new(&none, &newer.known, NULL), 0);
	close_audit(none);
	/* An older host knows less of the struct. */
	e.size = offsetof(struct corral_audit_event, count);
	assert_int_equal(corral_audit_add(a, &e), 0);
	assert_int_equal(look(a).n, 1);
	close_audit(a);
}

static int verify(const struct place *p, struct corral_audit_verdict *v)
{
	struct corral_error *e = NULL;
	int r;

	*v = (struct corral_audit_verdict){ .size = sizeof(*v) };
	r = corral_audit_verify(p->log, NULL, NULL, v, &e);
	if (r < 0)
		fail_msg("%s", corral_error_message(e));
	return r;
}

static void test_a_log(void **state)
{
	struct place p = make_place();
	struct corral_audit *a = open_audit(&p), *second = open_audit(&p);
	struct corral_audit_verdict v;
	struct corral_error *e = NULL;
	char head[112];

	(void)state;
	for (unsigned i = 0; i < 100; i++)
		assert_int_equal(add(i % 2 ? a : second, "exec", "/bin/true", "allowed"), 0);
	assert_int_equal(corral_audit_flush(a, NULL), 0);
	assert_int_equal(corral_audit_flush(second, NULL), 0);
	assert_int_equal(verify(&p, &v), 1);
	assert_string_equal(v.fault, "fine");
	assert_int_equal(v.records, 100);
	assert_int_equal(strlen(v.key), 32);
	/* A head is to be signed: in some seconds, or now, if the disk took that long. */
	assert_true(corral_audit_wait_ms(a) >= 0);
	assert_int_equal(add(a, "exec", "/bin/true", "allowed"), 0);
	close_audit(a);
	close_audit(second);
	assert_int_equal(verify(&p, &v), 1);
	assert_int_equal(v.signed_up_to, 101);
	(void)snprintf(head, sizeof(head), "%s.head", p.log);
	assert_int_equal(unlink(head), 0);
	assert_int_equal(verify(&p, &v), 0);
	assert_string_equal(v.fault, "headless");
	assert_true(v.text[0]);
	v.size = 0;
	assert_int_equal(corral_audit_verify(p.log, NULL, NULL, &v, NULL), -EINVAL);
	v.size = sizeof(v);
	assert_int_equal(corral_audit_verify("/nonexistent", NULL, NULL, &v, &e), -ENOENT);
	corral_error_free(e);
	remove_place(&p);
}

static void test_exports(void **state)
{
	static const struct {
		const char *format, *begins, *ends;
	} rows[] = {
		{ "jsonl", "{\"number\":1,", "}\n" },
		{ "json", "[\n{\"number\":1,", "}\n]\n" },
		{ "csv", "number,time,", "\r\n" },
		{ "ocsf", "{", "}\n" },
		{ "cef", "CEF:0|Corral|", "\n" },
	};
	struct place p = make_place();
	struct corral_audit *a = open_audit(NULL);
	struct corral_error *e = NULL;
	char path[128];
	struct stat st;

	(void)state;
	assert_int_equal(add(a, "exec", "/bin/true", "allowed"), 0);
	assert_int_equal(add(a, "exec", "/bin/false", "denied"), 0);
	for (size_t i = 0; i < ROWS(rows); i++) {
		auto_buffer text = { 0 };

		/* Anew each time: what was there is gone. */
		(void)snprintf(path, sizeof(path), "%s/export", p.folder);
		assert_int_equal(corral_audit_export(a, rows[i].format, path, &e), 0);
		assert_int_equal(file_read(path, 1 << 20, &text), 0);
		assert_int_equal(strncmp(text.data, rows[i].begins, strlen(rows[i].begins)), 0);
		assert_string_equal(text.data + text.len - strlen(rows[i].ends), rows[i].ends);
		assert_non_null(strstr(text.data, "/bin/true"));
		assert_non_null(strstr(text.data, "/bin/false"));
		assert_int_equal(stat(path, &st), 0);
		assert_int_equal(st.st_mode & 0777, 0600);
	}
	assert_int_equal(corral_audit_export(a, "xml", path, &e), -EINVAL);
	test_says(e, "jsonl");
	assert_int_equal(corral_audit_export(a, "csv", "/nonexistent/x", &e), -ENOENT);
	test_says(e, "/nonexistent/x");
	close_audit(a);
	remove_place(&p);
}

/* After a sandbox */

static struct corral_sandbox *open_sandbox(struct corral_audit *a, const char *env)
{
	struct corral_builder *b = test_builder();

	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, a), 0);
	if (env)
		assert_int_equal(corral_builder_allow_env(b, env), 0);
	return test_build(b);
}

static int check_end(void *context, const struct corral_audit_event *e)
{
	unsigned *n = context;

	if (strcmp(e->action, "command.end") == 0 && e->status == 3) {
		++*n;
		assert_int_equal(e->sent, 6);
		assert_true(e->cost_ns > 0);
		assert_non_null(strstr(e->reason, "command 1"));
		assert_string_equal(e->session, "s-1");
		assert_string_equal(e->sandbox, "box");
	}
	return 0;
}

static void test_commands(void **state)
{
	struct corral_audit *a = open_audit(NULL);
	struct corral_sandbox *s = open_sandbox(a, NULL);
	const char *const missing[] = { "/usr/bin/there-is-no-such-program", NULL };
	struct corral_call quick = CORRAL_CALL;
	unsigned ends = 0;
	struct seen seen;

	(void)state;
	corral_result_free(test_run(s, "echo hello; exit 3", NULL));
	corral_result_free(test_run(s, "kill -TERM $$", NULL));
	quick.timeout_ms = 200;
	corral_result_free(test_run(s, "sleep 60", &quick));
	quick = (struct corral_call)CORRAL_CALL;
	quick.output_limit = 4;
	corral_result_free(test_run(s, "echo too much", &quick));
	assert_int_equal(corral_sandbox_execute_argv(s, missing, NULL, NULL, NULL), -ENOENT);
	corral_sandbox_free(s);
	seen = look(a);
	expect(&seen, "session begin none 0;command.start echo hello; exit 3 allowed 0;"
		      "command.end echo hello; exit 3 none 3;");
	expect(&seen, "command.end kill -TERM $$ none -15;");
	expect(&seen, "limit timeout denied 0;command.end sleep 60 none ");
	expect(&seen, "limit output denied 0;command.end echo too much none 0;");
	expect(&seen, "/usr/bin/there-is-no-such-program failed 0;");
	assert_true(corral_audit_latest(a, 0, check_end, &ends, NULL) > 0);
	assert_int_equal(ends, 1);
	close_audit(a);
}

static void test_denials(void **state)
{
	struct corral_audit *a = open_audit(NULL);
	struct corral_builder *b = test_builder();
	const char *const argv[] = { "/usr/bin/id", NULL };
	const char *const env[] = { "WANTED=hush-hush-4711", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_sandbox *s;
	struct seen seen;

	(void)state;
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, a), 0);
	assert_int_equal(corral_builder_allow_exec(b, "cat"), 0);
	s = test_build(b);
	assert_int_equal(corral_sandbox_execute_argv(s, argv, NULL, NULL, NULL), -EACCES);
	call.env = env;
	assert_int_equal(corral_sandbox_execute(s, "cat", &call, NULL, NULL), -EACCES);
	corral_sandbox_free(s);
	seen = look(a);
	expect(&seen, "exec /usr/bin/id denied 0;");
	expect(&seen, "env WANTED denied 0;");
	assert_null(strstr(seen.line, "hush"));
	close_audit(a);
}

/* Every byte that a log or an export has. */
static void expect_nowhere(const char *path, const char *const *canaries)
{
	auto_buffer b = { 0 };

	if (access(path, F_OK) < 0)
		return;
	assert_int_equal(file_read(path, 1 << 30, &b), 0);
	for (; *canaries; canaries++) {
		if (memmem(buffer_text(&b), b.len, *canaries, strlen(*canaries)))
			fail_msg("%s is in %s", *canaries, path);
	}
}

static const char *const canaries[] = { "canary-of-the-host", "canary-of-the-grant",
	"canary-of-the-call", "canary-of-an-update", "canary-by-name", "canary+in a/form",
	"canary%2Bin%20a%2Fform", "bearer-canary", "cookie-canary", "userinfo-canary",
	"query-canary", "sig-canary", NULL };

static int no_canary(void *context, const struct corral_audit_event *e)
{
	const char *const texts[] = { e->session, e->user, e->sandbox, e->program, e->target,
		e->rule, e->reason };

	++*(unsigned *)context;
	for (size_t i = 0; i < ROWS(texts); i++) {
		for (const char *const *c = canaries; *c; c++)
			assert_null(strstr(texts[i], *c));
	}
	return 0;
}

static void run_with_canaries(struct corral_sandbox *s)
{
	static const char *const lines[] = {
		"echo canary-of-the-host canary-of-the-grant",
		"echo 'x=canary-of-the-grant&y'",
		"false https://h/?a=canary%2Dof%2Dthe%2Dgrant",
		"echo $TOKEN; test \"$TOKEN\" = canary-of-the-host",
		"echo -H 'Authorization: Bearer bearer-canary'; exit 1",
		"echo -H 'Cookie: sid=cookie-canary'",
		"echo https://me:userinfo-canary@example.com/a?token=query-canary",
		"echo 'https://x/?X-Amz-Signature=sig-canary'",
	};
	const char *const env[] = { "CALL=canary-of-the-call", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_result *r;

	for (size_t i = 0; i < ROWS(lines); i++) {
		r = test_run(s, lines[i], NULL);
		/* They reach the command, of course. */
		if (i == 3)
			assert_int_equal(corral_result_exit_code(r), 0);
		corral_result_free(r);
	}
	call.env = env;
	corral_result_free(test_run(s, "echo canary-of-the-call", &call));
	assert_int_equal(
		corral_sandbox_execute_argv(s,
			(const char *const[]){ "/no/canary-of-the-host", NULL }, NULL, NULL, NULL),
		-ENOENT);
}

/* Other variables, for the next command. */
static void update_variables(struct corral_sandbox *s)
{
	static const char text[] = "fs: {read: [/usr/**], write: [$WORK_DIR/**]}\n"
				   "env: [UPDATED=canary-of-an-update]\n";
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "policy.yaml", text, strlen(text), &e) < 0 ||
		corral_sandbox_update(
			s, (const struct corral_permissions *const[]){ p }, 1, NULL, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_permissions_free(p);
	corral_result_free(test_run(s, "echo canary-of-an-update", NULL));
}

static void test_canaries(void **state)
{
	struct place p = make_place();
	struct corral_audit *a = open_audit(&p);
	static const char *const formats[] = { "json", "jsonl", "ocsf", "cef", "csv" };
	struct corral_builder *b = test_builder();
	char path[128], target[128];
	struct corral_sandbox *s;
	unsigned n = 0;

	(void)state;
	assert_int_equal(setenv("TOKEN", "canary-of-the-host", 1), 0);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, a), 0);
	assert_int_equal(corral_builder_allow_env(b, "TOKEN"), 0);
	assert_int_equal(corral_builder_allow_env(b, "GRANT=canary-of-the-grant"), 0);
	assert_int_equal(corral_builder_allow_env(b, "CALL"), 0);
	s = test_build(b);
	run_with_canaries(s);
	update_variables(s);
	assert_int_equal(corral_audit_secret(a, "ANY", "canary-by-name"), 0);
	assert_int_equal(corral_audit_secret(a, "ANY", "canary+in a/form"), 0);
	for (size_t i = 0; canaries[i]; i++) {
		(void)snprintf(target, sizeof(target), "%s%s",
			i < 7 ? "/" : "https://me:userinfo-canary@h/?sig=", canaries[i]);
		assert_int_equal(add(a, "fs.read", target, "allowed"), 0);
	}
	assert_int_equal(corral_audit_flush(a, NULL), 0);
	expect_nowhere(p.log, canaries);
	(void)snprintf(path, sizeof(path), "%s-wal", p.log);
	assert_int_equal(access(path, F_OK), 0);
	expect_nowhere(path, canaries);
	for (size_t i = 0; i < ROWS(formats); i++) {
		(void)snprintf(path, sizeof(path), "%s/export", p.folder);
		assert_int_equal(corral_audit_export(a, formats[i], path, NULL), 0);
		expect_nowhere(path, canaries);
	}
	assert_true(corral_audit_latest(a, 0, no_canary, &n, NULL) > 30);
	corral_sandbox_free(s);
	close_audit(a);
	expect_nowhere(p.log, canaries);
	assert_int_equal(unsetenv("TOKEN"), 0);
	remove_place(&p);
}

/* Each command's start and end are in the log, whichever thread ran it. */
enum { THREADS = 4, COMMANDS = 25 };

static void *run_commands(void *sandbox)
{
	for (unsigned i = 0; i < COMMANDS; i++) {
		struct corral_result *r = NULL;

		if (corral_sandbox_execute(sandbox, "true", NULL, &r, NULL) < 0)
			return sandbox;
		corral_result_free(r);
	}
	return NULL;
}

static int count(void *context, const struct audit_row *row)
{
	unsigned *counts = context;

	counts[row->event.action]++;
	return 0;
}

static void test_threads(void **state)
{
	struct place p = make_place();
	struct corral_audit *a = open_audit(&p);
	struct corral_sandbox *s = open_sandbox(a, NULL);
	const struct audit_query everything = { .action = -1, .decision = -1 };
	unsigned counts[AUDIT_ACTION_COUNT] = { 0 };
	struct corral_audit_verdict v;
	struct audit_log *log = NULL;
	pthread_t threads[THREADS];
	void *failed;

	(void)state;
	for (unsigned i = 0; i < THREADS; i++)
		assert_int_equal(pthread_create(&threads[i], NULL, run_commands, s), 0);
	for (unsigned i = 0; i < THREADS; i++) {
		assert_int_equal(pthread_join(threads[i], &failed), 0);
		assert_null(failed);
	}
	corral_sandbox_free(s);
	close_audit(a);
	assert_int_equal(verify(&p, &v), 1);
	assert_int_equal(audit_log_open(&log, p.log, NULL), 0);
	assert_int_equal(audit_log_read(log, &everything, count, counts, NULL), 0);
	audit_log_close(log);
	assert_int_equal(counts[AUDIT_COMMAND_START], THREADS * COMMANDS);
	assert_int_equal(counts[AUDIT_COMMAND_END], THREADS * COMMANDS);
	assert_int_equal(counts[AUDIT_SESSION], 1);
	remove_place(&p);
}

/* Where the log must not be */

static int build(struct corral_audit *a, const char *read, const char *write)
{
	struct corral_builder *b = test_builder();
	struct corral_sandbox *s = NULL;
	struct corral_error *e = NULL;
	int r;

	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, a), 0);
	if (read)
		assert_int_equal(corral_builder_allow_fs_read(b, read), 0);
	if (write)
		assert_int_equal(corral_builder_allow_fs_write(b, write), 0);
	r = corral_builder_build(b, &s, &e);
	if (r < 0)
		assert_non_null(strstr(corral_error_message(e), "the permissions allow this log"));
	corral_error_free(e);
	corral_sandbox_free(s);
	corral_builder_free(b);
	return r;
}

static void test_a_log_within_reach(void **state)
{
	struct place p = make_place();
	struct corral_audit *a = open_audit(&p);
	char link[128], inside[256];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s-link", p.folder);
	(void)snprintf(inside, sizeof(inside), "%s/{,**}", p.folder);
	assert_int_equal(build(a, NULL, NULL), 0);
	assert_int_equal(build(a, NULL, inside), -EPERM);
	assert_int_equal(build(a, inside, NULL), -EPERM);
	/* By another name of the folder. */
	assert_int_equal(symlink(p.folder, link), 0);
	(void)snprintf(inside, sizeof(inside), "%s/{,**}", link);
	assert_int_equal(build(a, NULL, inside), -EPERM);
	assert_int_equal(build(a, inside, NULL), -EPERM);
	assert_int_equal(unlink(link), 0);
	assert_int_equal(build(a, NULL, inside), 0);
	close_audit(a);
	remove_place(&p);
}

/* Who may change a link in the middle of the way has the next program write elsewhere. */
static void test_a_link_within_reach(void **state)
{
	struct place p = make_place(), middle = make_place(), first = make_place();
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *a = NULL;
	char link[128], start[128], inside[256];

	(void)state;
	(void)snprintf(link, sizeof(link), "%s/link", middle.folder);
	(void)snprintf(start, sizeof(start), "%s/start", first.folder);
	(void)snprintf(inside, sizeof(inside), "%s/{,**}", middle.folder);
	assert_int_equal(symlink(p.folder, link), 0);
	assert_int_equal(symlink(link, start), 0);
	(void)strcat(start, "/log");
	o.path = p.log;
	assert_int_equal(corral_audit_new(&a, &o, NULL), 0);
	assert_int_equal(build(a, NULL, inside), 0);
	close_audit(a);
	o.path = start;
	assert_int_equal(corral_audit_new(&a, &o, NULL), 0);
	assert_int_equal(build(a, NULL, NULL), 0);
	assert_int_equal(build(a, NULL, inside), -EPERM);
	close_audit(a);
	remove_place(&p);
	remove_place(&middle);
	remove_place(&first);
}

static void test_a_log_comes_within_reach(void **state)
{
	struct place p = make_place();
	struct corral_audit *a = open_audit(&p);
	struct corral_sandbox *s = open_sandbox(a, NULL);
	struct corral_permissions *more = NULL;
	char inside[256];

	(void)state;
	(void)snprintf(inside, sizeof(inside), "%s/{,**}", p.folder);
	assert_int_equal(corral_permissions_new(&more), 0);
	assert_int_equal(corral_permissions_allow(more, CORRAL_FS_WRITE, inside, NULL), 0);
	assert_int_equal(corral_sandbox_update(
				 s, (const struct corral_permissions *[]){ more }, 1, NULL, NULL),
		-EPERM);
	corral_permissions_free(more);
	corral_sandbox_free(s);
	close_audit(a);
	remove_place(&p);
}

/* The key of a log need not lie beside it. */
static void test_a_key_within_reach(void **state)
{
	struct place p = make_place(), other = make_place();
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_audit *a = NULL;
	char key[128], inside[256];

	(void)state;
	(void)snprintf(key, sizeof(key), "%s/key", other.folder);
	(void)snprintf(inside, sizeof(inside), "%s/{,**}", other.folder);
	o.path = p.log;
	o.key_path = key;
	assert_int_equal(corral_audit_new(&a, &o, NULL), 0);
	assert_int_equal(build(a, inside, NULL), -EPERM);
	assert_int_equal(build(a, NULL, NULL), 0);
	close_audit(a);
	remove_place(&p);
	remove_place(&other);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_memory),
		cmocka_unit_test(test_every_field),
		cmocka_unit_test(test_what_is_refused),
		cmocka_unit_test(test_a_log),
		cmocka_unit_test(test_exports),
		cmocka_unit_test(test_commands),
		cmocka_unit_test(test_denials),
		cmocka_unit_test(test_canaries),
		cmocka_unit_test(test_threads),
		cmocka_unit_test(test_a_log_within_reach),
		cmocka_unit_test(test_a_link_within_reach),
		cmocka_unit_test(test_a_log_comes_within_reach),
		cmocka_unit_test(test_a_key_within_reach),
	};

	return cmocka_run_group_tests_name("audit", tests, test_make_folder, test_remove_folder);
}
