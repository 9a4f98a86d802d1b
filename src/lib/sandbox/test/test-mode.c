/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The modes through the library. Each attempt runs by a bare shell first, where it must succeed, so
 * that a failure inside is the jail's work; and mode rwx, which has none, is as good as bare.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <corral/audit.h>

#include "lib/sandbox/test/test-common.h"

/* What a line of shell comes to without any sandbox. */
static int bare_shell(const char *line)
{
	int status = -1;
	pid_t pid = fork();

	if (pid == 0) {
		(void)execl("/bin/sh", "sh", "-c", line, (char *)NULL);
		_exit(127);
	}
	return pid > 0 && waitpid(pid, &status, 0) == pid ? status : -1;
}

static char data[128], extra[128], home[128];

static const char *const extras[] = { extra, NULL };

static int make_places(void **state)
{
	char path[256];

	if (test_make_folder(state) < 0)
		return -1;
	(void)snprintf(data, sizeof(data), "%s/data", test_folder);
	(void)snprintf(extra, sizeof(extra), "%s/extra", test_folder);
	(void)snprintf(home, sizeof(home), "%s/home", test_folder);
	(void)snprintf(path, sizeof(path), "%s/.ssh", home);
	if (mkdir(extra, 0700) < 0 || mkdir(home, 0700) < 0 || mkdir(path, 0700) < 0)
		return -1;
	(void)test_file("home/.ssh/id_ed25519", "secret", 0600);
	(void)test_file("outside", "before", 0600);
	(void)snprintf(path, sizeof(path), "%s/.claude", home);
	if (mkdir(path, 0700) < 0)
		return -1;
	(void)test_file("home/.claude/settings.json", "{}", 0600);
	(void)snprintf(path, sizeof(path), "%s/.claude/hooks", home);
	if (mkdir(path, 0700) < 0)
		return -1;
	/* Links in what is kept, and what they lead to. */
	(void)test_file("home/key", "secret", 0600);
	(void)test_file("home/.claude/linked", "", 0600);
	(void)snprintf(path, sizeof(path), "%s/.ssh/id_linked", home);
	if (symlink("../key", path) < 0)
		return -1;
	(void)snprintf(path, sizeof(path), "%s/.claude/hooks/start", home);
	if (symlink("../linked", path) < 0)
		return -1;
	return setenv("HOME", home, 1);
}

static struct corral_builder *from_mode(enum corral_mode mode)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	if (corral_builder_from_mode(&b, mode, data, extras, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return b;
}

/* Whether a line succeeds, in the sandbox, or bare if there is none. Each %s is the tests' folder.
 */
static bool does(struct corral_sandbox *s, const char *format)
{
	char line[512];
	struct corral_result *r;
	bool done;
	size_t n = 0;

	for (; *format; format++) {
		if (format[0] != '%') {
			line[n++] = *format;
			continue;
		}
		n += (size_t)snprintf(line + n, sizeof(line) - n, "%s", test_folder);
		format++;
	}
	(void)strcpy(line + n, " >/dev/null 2>&1");
	if (!s)
		return bare_shell(line) == 0;
	r = test_run(s, line, NULL);
	done = corral_result_exit_code(r) == 0;
	corral_result_free(r);
	return done;
}

/* What each mode lets be done; in all of them it can be done bare. */
static const struct {
	const char *line;
	bool confined; /* and what a mode with a jail makes of it */
} attempts[] = {
	{ "echo x >%s/data/file", true },
	{ "mkdir -p %s/data/a/b && rmdir %s/data/a/b", true },
	{ "echo x >%s/extra/file", true },
	{ "f=/tmp/corral-test-mode.$$; echo x >$f && rm $f", true },
	{ "cat %s/outside", true },
	{ "cat /etc/passwd", true },
	{ "echo x >%s/outside", false },
	{ "touch %s/new", false },
	{ "mv %s/outside %s/data/taken && mv %s/data/taken %s/outside", false },
	{ "chmod 0644 %s/outside", false },
	{ "ln %s/outside %s/data/link && rm %s/data/link", false },
	{ "grep secret %s/home/.ssh/id_ed25519", false },
	{ "echo x >%s/home/.profile", false },
	/* An agent's own folder, and its settings in it. */
	{ "echo x >%s/home/.claude/session", true },
	{ "echo {} >%s/home/.claude/settings.json", false },
	{ "echo {} >%s/home/.claude/x && mv %s/home/.claude/x %s/home/.claude/settings.json",
		false },
	{ "echo x >%s/home/.claude/hooks/new", false },
	{ "grep secret %s/home/key", false },
	{ "echo x >%s/home/.claude/linked", false },
};

static void check_attempts(struct corral_sandbox *s, bool jailed)
{
	for (size_t i = 0; i < sizeof(attempts) / sizeof(attempts[0]); i++) {
		bool wanted = !jailed || attempts[i].confined;

		if (does(s, attempts[i].line) != wanted)
			fail_msg("%s: %s", attempts[i].line, wanted ? "must work" : "must fail");
	}
}

static void test_sandbox_and_rx(void **state)
{
	(void)state;
	for (int mode = CORRAL_MODE_SANDBOX; mode <= CORRAL_MODE_RX; mode++) {
		struct corral_sandbox *s = test_build(from_mode((enum corral_mode)mode));
		struct corral_result *r;

		(void)mkdir(data, 0700);
		check_attempts(NULL, false);
		check_attempts(s, true);
		assert_string_equal(corral_sandbox_backend(s), "namespaces");
		assert_int_equal(corral_sandbox_tier(s), 1);
		/* Commands start in the data folder, which was made. */
		r = test_run(s, "pwd", NULL);
		assert_memory_equal(corral_result_stdout(r, NULL), data, strlen(data));
		assert_string_equal(corral_result_backend(r), "namespaces");
		corral_result_free(r);
		corral_sandbox_free(s);
	}
}

/* More can be denied, and other folders granted. */
/* Masked when it appears, in the commands' namespaces as well, which were made before. */
static void test_appears_later(void **state)
{
	struct corral_builder *b = from_mode(CORRAL_MODE_SANDBOX);
	struct corral_sandbox *s = test_build(b);
	char path[256];

	(void)state;
	assert_true(does(s, "true"));
	(void)snprintf(path, sizeof(path), "%s/.aws", home);
	assert_int_equal(mkdir(path, 0700), 0);
	(void)test_file("home/.aws/credentials", "canary", 0600);
	(void)test_file("home/.netrc", "canary", 0600);
	assert_true(does(
		NULL, "grep -q canary %s/home/.netrc && grep -q canary %s/home/.aws/credentials"));
	/* For a moment it may be seen. */
	assert_true(does(s, "for i in $(seq 2400); do grep canary %s/home/.netrc ||"
			    " grep canary %s/home/.aws/credentials || exit 0; sleep 0.05; done;"
			    " exit 1"));
	/* Corral's own folders were made before, and are hidden. */
	assert_true(does(NULL, "ls %s/home/.local/state/corral %s/home/.cache/corral >/dev/null"));
	assert_false(does(s, "ls %s/home/.local/state/corral || ls %s/home/.cache/corral"));
	corral_sandbox_free(s);
}

static void test_narrower(void **state)
{
	struct corral_builder *b = from_mode(CORRAL_MODE_RX);
	struct corral_sandbox *s;
	char pattern[256];

	(void)state;
	(void)snprintf(pattern, sizeof(pattern), "%s/outside", test_folder);
	assert_int_equal(corral_builder_deny_fs(b, pattern), 0);
	s = test_build(b);
	assert_true(does(NULL, "cat %s/outside"));
	assert_false(does(s, "cat %s/outside"));
	corral_sandbox_free(s);
}

/* What a host grants by its name may be written. */
static void test_settings(void **state)
{
	struct corral_builder *b = from_mode(CORRAL_MODE_SANDBOX);
	struct corral_sandbox *s;
	char path[256];

	(void)state;
	(void)snprintf(path, sizeof(path), "%s/.claude/settings.json", home);
	assert_int_equal(corral_builder_allow_fs_write(b, path), 0);
	s = test_build(b);
	assert_true(does(s, "echo {} >%s/home/.claude/settings.json"));
	assert_false(does(s, "echo x >%s/home/.claude/hooks/new"));
	corral_sandbox_free(s);
}

/* rwx */

static void test_rwx_enforces_nothing(void **state)
{
	struct corral_sandbox *s = test_build(from_mode(CORRAL_MODE_RWX));
	struct corral_error *e = NULL;
	struct corral_result *r;

	(void)state;
	assert_string_equal(corral_sandbox_backend(s), "none");
	assert_int_equal(corral_sandbox_tier(s), CORRAL_TIER_NONE);
	check_attempts(s, false);
	assert_int_equal(corral_sandbox_update(s, NULL, 0, NULL, &e), -EOPNOTSUPP);
	test_says(e, "does not confine anything");
	r = test_run(s, "grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status | cut -f2", NULL);
	assert_string_equal(corral_result_stdout(r, NULL), "0\n0\n");
	assert_string_equal(corral_result_backend(r), "none");
	assert_int_equal(corral_result_denials(r), 0);
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_rwx_commands(void **state)
{
	static const char *const env[] = { "CORRAL_TEST_A=called", NULL };
	struct corral_sandbox *s;
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;
	struct corral_error *e = NULL;
	char out[256];

	(void)state;
	assert_int_equal(setenv("CORRAL_TEST_A", "host", 1), 0);
	assert_int_equal(setenv("CORRAL_TEST_B", "host", 1), 0);
	s = test_build(from_mode(CORRAL_MODE_RWX));
	(void)snprintf(out, sizeof(out), "%s\ncalled host\ninput", data);
	c.env = env;
	c.input = "input";
	c.input_len = 5;
	r = test_run(s, "pwd; echo $CORRAL_TEST_A $CORRAL_TEST_B; cat; echo err >&2; exit 3", &c);
	assert_string_equal(corral_result_stdout(r, NULL), out);
	assert_string_equal(corral_result_stderr(r, NULL), "err\n");
	assert_int_equal(corral_result_exit_code(r), 3);
	assert_true(corral_result_duration_us(r) > 0 && corral_result_peak_bytes(r) > 0);
	corral_result_free(r);
	r = test_run(s, "kill -TERM $$", NULL);
	assert_int_equal(corral_result_signal(r), SIGTERM);
	corral_result_free(r);
	test_prints(s, "trap", "", 0);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "printf", "%s", "a b", NULL }, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "a b");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_execute_argv(
				 s, (const char *[]){ "/no/such/program", NULL }, NULL, NULL, &e),
		-ENOENT);
	assert_null(corral_error_denial(e));
	test_says(e, "/no/such/program");
	c = (struct corral_call)CORRAL_CALL;
	c.cwd = "/nowhere/at/all";
	assert_int_equal(corral_sandbox_execute(s, "true", &c, NULL, &e), -ENOENT);
	test_says(e, "/nowhere/at/all");
	corral_sandbox_free(s);
}

static void test_rwx_scripts(void **state)
{
	struct corral_sandbox *s = test_build(from_mode(CORRAL_MODE_RWX));
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	(void)state;
	if (corral_sandbox_execute_script(s, test_file("script", "#!/bin/sh\necho one $1\n", 0600),
		    NULL, (const char *[]){ "x", NULL }, NULL, &r, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	assert_string_equal(corral_result_stdout(r, NULL), "one x\n");
	corral_result_free(r);
	assert_int_equal(corral_sandbox_execute_script(s, test_file("plain", "echo two\n", 0600),
				 "bash", NULL, NULL, &r, &e),
		0);
	assert_string_equal(corral_result_stdout(r, NULL), "two\n");
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* Gone, or a zombie that its parent has not reaped. */
static bool is_dead(const char *pid)
{
	char line[128];

	(void)snprintf(line, sizeof(line), "! grep -q '^State:.[^Z]' /proc/%ld/status 2>/dev/null",
		strtol(pid, NULL, 10));
	for (int i = 0; i < 3000; i++) {
		if (bare_shell(line) == 0)
			return true;
		(void)usleep(20000);
	}
	return false;
}

/* Time-outs and limits that need no jail; what is left of the group dies with its command. */
static void test_rwx_limits(void **state)
{
	struct corral_builder *b = from_mode(CORRAL_MODE_RWX);
	struct corral_sandbox *s;
	struct corral_call c = CORRAL_CALL;
	struct corral_result *r;
	bool printed = false;

	(void)state;
	assert_int_equal(corral_builder_output_limit(b, 10), 0);
	assert_int_equal(corral_builder_timeout(b, 60000), 0);
	assert_int_equal(corral_builder_open_files_limit(b, 64), 0);
	s = test_build(b);
	r = test_run(s, "ulimit -n; seq 100", NULL);
	assert_string_equal(corral_result_stdout(r, NULL), "64\n1\n2\n3\n4");
	assert_int_equal(corral_result_stdout_truncated(r), 1);
	corral_result_free(r);
	/* On a busy machine the time may be over before it printed anything: then it gets more. */
	for (c.timeout_ms = 200; !printed && c.timeout_ms < 50000; c.timeout_ms *= 2) {
		r = test_run(s, "sleep 600 & echo $!; wait", &c);
		assert_int_equal(corral_result_timed_out(r), 1);
		assert_int_equal(corral_result_exit_code(r), 124);
		printed = strchr(corral_result_stdout(r, NULL), '\n') != NULL;
		assert_true(is_dead(corral_result_stdout(r, NULL)));
		corral_result_free(r);
	}
	assert_true(printed);
	r = test_run(s, "sleep 600 >/dev/null 2>&1 & echo $!", NULL);
	assert_int_equal(corral_result_exit_code(r), 0);
	assert_true(is_dead(corral_result_stdout(r, NULL)));
	corral_result_free(r);
	corral_sandbox_free(s);
}

static void test_rwx_processes(void **state)
{
	struct corral_sandbox *s = test_build(from_mode(CORRAL_MODE_RWX));
	struct corral_call c = CORRAL_CALL;
	struct corral_process *p = NULL, *other = NULL;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	(void)state;
	c.flags = CORRAL_CALL_INPUT;
	assert_int_equal(corral_process_start_line(&p, s, "read a; echo got $a", &c, &e), 0);
	assert_int_equal(corral_process_start_line(&other, s, "exec sleep 600", NULL, &e), 0);
	assert_int_equal(corral_process_write(p, "line\n", 5), 5);
	assert_int_equal(corral_process_wait(p, 60000, &r, &e), 0);
	assert_string_equal(corral_result_stdout(r, NULL), "got line\n");
	corral_result_free(r);
	corral_process_free(p);
	assert_int_equal(corral_process_wait(other, 0, &r, &e), -EAGAIN);
	corral_error_free(e);
	e = NULL;
	assert_int_equal(corral_process_signal(other, SIGUSR1), 0);
	assert_int_equal(corral_process_wait(other, 60000, &r, &e), 0);
	assert_int_equal(corral_result_signal(r), SIGUSR1);
	corral_result_free(r);
	corral_process_free(other);
	assert_int_equal(corral_process_start_line(&p, s, "exec sleep 600", NULL, &e), 0);
	assert_int_equal(corral_process_kill(p), 0);
	assert_int_equal(corral_process_wait(p, 60000, &r, &e), 0);
	assert_int_equal(corral_result_killed(r), 1);
	corral_result_free(r);
	corral_process_free(p);
	c.flags = CORRAL_CALL_TTY;
	r = test_run(s, "tty -s && stty size", &c);
	assert_string_equal(corral_result_stdout(r, NULL), "24 80\r\n");
	corral_result_free(r);
	corral_sandbox_free(s);
}

/* What runs ends with its sandbox, or with its warden. */
static void check_end(bool killed)
{
	struct corral_sandbox *s = test_build(from_mode(CORRAL_MODE_RWX));
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;
	char pid[32] = "";
	pid_t warden = 0;
	int fd;

	assert_int_equal(test_count_children("corral-warden", &warden), 1);
	assert_int_equal(corral_process_start_line(&p, s, "echo $$; exec sleep 600", NULL, &e), 0);
	fd = corral_process_take_fd(p, CORRAL_STDOUT);
	assert_true(fd >= 0);
	while (read(fd, pid, sizeof(pid) - 1) < 0 && errno == EAGAIN)
		(void)usleep(1000);
	(void)close(fd);
	if (killed)
		assert_int_equal(kill(warden, SIGKILL), 0);
	else
		corral_sandbox_free(s);
	assert_true(is_dead(pid));
	assert_int_equal(corral_process_wait(p, 60000, NULL, &e), -ECONNRESET);
	corral_error_free(e);
	corral_process_free(p);
	if (!killed)
		return;
	/* The next command has a new one. */
	test_prints(s, "echo x", "x\n", 0);
	corral_sandbox_free(s);
}

static void test_rwx_end(void **state)
{
	(void)state;
	check_end(false);
	check_end(true);
}

/* Nothing that only a jail could enforce is taken for granted. */
static void test_rwx_promises_nothing(void **state)
{
	static const struct {
		int (*call)(struct corral_builder *b, const char *pattern);
	} calls[] = { { corral_builder_deny_fs }, { corral_builder_allow_fs_read },
		{ corral_builder_allow_exec } };
	struct corral_sandbox *s = NULL;

	(void)state;
	for (size_t i = 0; i < 6; i++) {
		struct corral_builder *b = from_mode(CORRAL_MODE_RWX);
		struct corral_permissions *p = NULL;
		struct corral_error *e = NULL;

		assert_int_equal(corral_permissions_new(&p), 0);
		if (i < 3)
			assert_int_equal(calls[i].call(b, "/etc/shadow"), 0);
		else if (i == 3)
			assert_int_equal(corral_builder_restrict(b, p), 0);
		else if (i == 4)
			assert_int_equal(corral_builder_memory_limit(b, 1 << 20), 0);
		else
			assert_int_equal(corral_builder_pids_limit(b, 10), 0);
		assert_int_equal(corral_builder_build(b, &s, &e), -EOPNOTSUPP);
		test_says(e, "mode rwx does not confine anything");
		corral_permissions_free(p);
		corral_builder_free(b);
	}
}

struct heard {
	int sessions, started, ended;
	char message[64];
};

static void hear(void *context, const struct corral_event *event)
{
	struct heard *h = context;

	h->started += event->kind == CORRAL_EVENT_STARTED;
	h->ended += event->kind == CORRAL_EVENT_ENDED;
	if (event->kind != CORRAL_EVENT_SESSION)
		return;
	h->sessions++;
	(void)snprintf(h->message, sizeof(h->message), "%s", event->message);
}

static void test_rwx_is_told(void **state)
{
	struct corral_builder *b = from_mode(CORRAL_MODE_RWX);
	struct corral_sandbox *s;
	struct heard h = { 0 };

	(void)state;
	assert_int_equal(corral_builder_with_audit(b, hear, &h), 0);
	s = test_build(b);
	test_prints(s, "echo x", "x\n", 0);
	assert_int_equal(h.sessions, 1);
	assert_int_equal(h.started, 1);
	assert_int_equal(h.ended, 1);
	assert_string_equal(h.message, "mode rwx: not confined");
	corral_sandbox_free(s);
}

/* A log is kept, though a command could change it: it says that nothing is confined. */
static void test_rwx_log(void **state)
{
	struct corral_audit_options o = CORRAL_AUDIT_OPTIONS;
	struct corral_builder *b = from_mode(CORRAL_MODE_RWX);
	struct corral_audit *a = NULL;
	struct corral_sandbox *s;
	struct corral_error *e = NULL;
	char log[256], line[512];

	(void)state;
	(void)snprintf(log, sizeof(log), "%s/log", test_folder);
	o.path = log;
	assert_int_equal(corral_audit_new(&a, &o, &e), 0);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, a), 0);
	s = test_build(b);
	test_prints(s, "echo x", "x\n", 0);
	corral_sandbox_free(s);
	assert_int_equal(corral_audit_free(a, &e), 0);
	(void)snprintf(line, sizeof(line), "grep -qa 'mode rwx: not confined' %s*", log);
	assert_int_equal(bare_shell(line), 0);
}

/* Names and words */

static void test_names(void **state)
{
	static const char *const names[] = { "sandbox", "rx", "rwx" };
	enum corral_mode mode;

	(void)state;
	for (int i = 0; i < 3; i++) {
		assert_string_equal(corral_mode_name((enum corral_mode)i), names[i]);
		assert_int_equal(corral_mode_parse(names[i], &mode), 0);
		assert_int_equal(mode, i);
	}
	assert_null(corral_mode_name((enum corral_mode)3));
	assert_null(corral_mode_name((enum corral_mode) - 1));
	assert_int_equal(corral_mode_parse("root", &mode), -EINVAL);
	assert_int_equal(corral_mode_parse(NULL, &mode), -EINVAL);
}

static void test_prompts(void **state)
{
	struct corral_error *e = NULL;
	char *text = NULL;

	(void)state;
	assert_int_equal(corral_mode_prompt(CORRAL_MODE_SANDBOX, "/srv/agent", &text, &e), 0);
	assert_non_null(strstr(text, "Your folder is /srv/agent: "));
	free(text);
	assert_int_equal(corral_mode_prompt(CORRAL_MODE_RX, "/srv/agent", &text, &e), 0);
	assert_non_null(strstr(text, "write only in /srv/agent "));
	free(text);
	assert_int_equal(corral_mode_prompt(CORRAL_MODE_RWX, NULL, &text, &e), 0);
	assert_string_equal(text, "");
	free(text);
	assert_int_equal(corral_mode_prompt(CORRAL_MODE_RX, NULL, &text, &e), -EINVAL);
	test_says(e, "requires a data folder");
	assert_int_equal(corral_mode_prompt(CORRAL_MODE_RX, "/srv/a\nb", &text, &e), -EINVAL);
	test_says(e, "control characters");
}

static void test_misuse(void **state)
{
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	(void)state;
	assert_int_equal(
		corral_builder_from_mode(&b, (enum corral_mode)7, data, NULL, &e), -EINVAL);
	test_says(e, "unknown mode 7");
	assert_int_equal(
		corral_builder_from_mode(&b, CORRAL_MODE_SANDBOX, NULL, NULL, &e), -EINVAL);
	test_says(e, "data folder");
	assert_int_equal(corral_builder_from_mode(&b, CORRAL_MODE_SANDBOX, "a", NULL, &e), -EINVAL);
	test_says(e, "absolute");
	assert_int_equal(corral_builder_from_mode(&b, CORRAL_MODE_RX, "/", NULL, &e), -EINVAL);
	test_says(e, "nothing would be confined");
	assert_null(b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_sandbox_and_rx),
		cmocka_unit_test(test_appears_later),
		cmocka_unit_test(test_narrower),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_rwx_enforces_nothing),
		cmocka_unit_test(test_rwx_commands),
		cmocka_unit_test(test_rwx_scripts),
		cmocka_unit_test(test_rwx_limits),
		cmocka_unit_test(test_rwx_processes),
		cmocka_unit_test(test_rwx_end),
		cmocka_unit_test(test_rwx_promises_nothing),
		cmocka_unit_test(test_rwx_is_told),
		cmocka_unit_test(test_rwx_log),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_prompts),
		cmocka_unit_test(test_misuse),
	};

	return cmocka_run_group_tests(tests, make_places, test_remove_folder);
}
