/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with a plan made by hand: what happens to commands, whatever the policy. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/file.h"
#include "test/fds.h"
#include "warden/session/session.h"
#include "warden/session/test/test-box.h"

static void one_command(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, true);
	assert_int_equal(box_run(s, &seen, 1, "exit 7"), 7);
	session_free(s);
}

/* A command that is sent ahead of READY runs when everything stands. */
static void sent_ahead(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e = { 0 };

	(void)state;
	box_plan(&p);
	s = box_begin(&p, &seen);
	box_start(s, 1, "test ! -e /var && ! touch /usr/x && exit 7", -1, 0);
	assert_int_equal(session_build_finish(s, &e), 0);
	box_until(s, &seen, 2);
	assert_int_equal(seen.events[0].kind, SESSION_STARTED);
	assert_int_equal(seen.events[1].kind, SESSION_EXITED);
	assert_int_equal(seen.events[1].report.exit_code, 7);
	session_free(s);
}

/* The time that it may take begins when the session stands. */
static void sent_ahead_with_a_limit(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e = { 0 };

	(void)state;
	box_plan(&p);
	s = box_begin(&p, &seen);
	box_start(s, 1, "sleep 100", -1, 300);
	(void)usleep(400000);
	assert_int_equal(session_build_finish(s, &e), 0);
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_STARTED);
	box_until(s, &seen, 2);
	assert_true(seen.events[1].report.flags & REPORT_TIMED_OUT);
	session_free(s);
}

/* If anything is not as it should be, it never runs: neither the first step nor the last may fail.
 */
static void sent_ahead_in_vain(void **state)
{
	static const char *const missing[] = { "/nonexistent/program" };
	static const char *const texts[] = { "was replaced", "Landlock rule for /nonexistent" };

	(void)state;
	for (size_t k = 0; k < 2 * ROWS(texts); k++) {
		const size_t i = k / 2;
		const bool late = k % 2;
		struct plan p;
		struct seen seen = { 0 };
		struct session *s;
		struct error e = { 0 };
		char text[16];
		int out[2];

		box_plan(&p);
		for (size_t n = 0; i == 0 && n < p.n; n++)
			p.entries[n].ino += strcmp(p.entries[n].path, "/usr") == 0;
		p.programs = i == 1 ? (const char **)missing : NULL;
		p.n_programs = i == 1;
		assert_int_equal(pipe2(out, O_CLOEXEC), 0);
		s = box_begin(&p, &seen);
		box_start(s, 1, "echo ran", out[1], 0);
		(void)close(out[1]);
		/* It may be long gone. */
		(void)usleep(late ? 200000 : 0);
		assert_true(session_build_finish(s, &e) < 0);
		assert_non_null(strstr(e.text, texts[i]));
		session_free(s);
		assert_int_equal(box_read(out[0], text, sizeof(text)), 0);
		(void)close(out[0]);
		assert_int_equal(seen.n, 0);
	}
}

static void many_commands(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (int i = 0; i < 40; i++) {
		char line[32];

		(void)snprintf(line, sizeof(line), "exit %d", i);
		assert_int_equal(box_run(s, &seen, (uint64_t)i, line), i);
	}
	session_free(s);
}

static void at_once(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	for (uint64_t i = 0; i < 10; i++)
		box_start(s, i, "exit 0", -1, 0);
	box_until(s, &seen, 20);
	assert_int_equal(session_commands(s), 0);
	session_free(s);
}

/* Without a network: whichever of several commands asks for a name, it is answered, and recorded by
 * the program that has the socket; without it, where the look takes longer than an answer waits. */
static void asked_names(void **state)
{
	static const char line[] =
		"bash -c \"exec 3<>/dev/udp/127.0.0.53/53; printf 'AB\\001\\000\\000\\001"
		"\\000\\000\\000\\000\\000\\000\\001a\\007example\\003com\\000\\000\\001\\000\\001'"
		" "
		">&3; read -r -N 1 -u 3 x; test \\$x = A\" && exit 5";
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	int n_named = 0;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	box_start(s, 1, "sleep 100", -1, 0);
	box_until(s, &seen, 1);
	for (uint64_t i = 2; i < 50 && n_named < 4; i++) {
		assert_int_equal(box_run(s, &seen, i, line), 5);
		assert_int_equal(seen.n_records, i - 1);
		assert_string_equal(seen.target, "a.example.com");
		if (*seen.program)
			assert_string_equal(seen.program, "bash");
		n_named += *seen.program != '\0';
	}
	assert_int_equal(n_named, 4);
	session_free(s);
}

static const struct {
	const char *what, *line;
} sights[] = {
	{ "nothing but what was granted", "! ls /root && ! ls /var && ! ls /srv" },
	{ "root is read-only", "! touch /x" },
	{ "the system is read-only", "! touch /usr/x" },
	{ "home is writable", "echo a >/home/u/a && test -s /home/u/a" },
	{ "temp is writable", "echo a >/tmp/a && test -s /tmp/a" },
	{ "shared memory is writable", "echo a >/dev/shm/a" },
	{ "processes of its own", "test $(ls -d /proc/[0-9]* | wc -l) -lt 6" },
	{ "/proc is read-only", "! echo a >/proc/sys/kernel/hostname" },
	{ "/dev works", "echo a >/dev/null && head -c 1 /dev/zero >/dev/null" },
	{ "no capabilities", "grep -q 'CapEff:.0000000000000000' /proc/self/status" },
	{ "none to get", "grep -q 'CapBnd:.0000000000000000' /proc/self/status" },
	{ "no new privileges", "grep -q 'NoNewPrivs:.1' /proc/self/status" },
	{ "two filters", "grep -q 'Seccomp_filters:.2' /proc/self/status" },
	{ "pid 1 shows nothing",
		"! readlink /proc/1/fd/3 && ! ls /proc/1/root/ && ! cat /proc/1/mem" },
	{ "three descriptors", "test $(ls /proc/self/fd | wc -l) -eq 4" },
	{ "a program can be made and run", "cp /usr/bin/true /tmp/t && /tmp/t" },
	{ "no core handler",
		"cores() { grep 'Max core' /proc/self/limits; } && a=$(cores) && ulimit -c 0 && "
		"test \"$a\" = \"$(cores)\" && ! echo \"$a\" | grep -q unlimited" },
	{ "another host name", "test $(uname -n) = corral" },
	{ "only loopback", "test $(wc -l </proc/net/dev) -eq 3" },
	{ "no user namespaces", "! unshare -U true" },
};

static void sees(void **state)
{
	struct plan p;

	(void)state;
	box_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = box_open(&p, &seen, single);

		for (size_t i = 0; i < ROWS(sights); i++) {
			if (single && i > 0) {
				session_free(s);
				s = box_open(&p, &seen, true);
			}
			if (box_run(s, &seen, i, sights[i].line) != 0)
				fail_msg("%s (single: %d)", sights[i].what, single);
		}
		session_free(s);
	}
}

static void times_out(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	box_start(s, 1, "setsid sleep 100 & trap '' TERM; sleep 100", -1, 100);
	box_until(s, &seen, 2);
	assert_int_equal(seen.events[1].kind, SESSION_EXITED);
	assert_int_equal(seen.events[1].report.flags, REPORT_TIMED_OUT);
	assert_int_equal(seen.events[1].report.signal, SIGKILL);
	/* The session is as warm as before. */
	assert_int_equal(box_run(s, &seen, 2, "exit 3"), 3);
	session_free(s);
}

static void leaves_nothing(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	char byte;
	int pipes[2];

	(void)state;
	box_plan(&p);
	s = box_open(&p, &seen, false);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	box_start(s, 1, "setsid sleep 1000 & exit 0", pipes[1], 0);
	(void)close(pipes[1]);
	box_until(s, &seen, 2);
	/* The daemon had the pipe, and is gone. */
	assert_int_equal(read(pipes[0], &byte, 1), 0);
	(void)close(pipes[0]);
	session_free(s);
}

static void is_refused(void **state)
{
	static const char *argv[] = { "nonesuch", NULL };
	static const char *env[] = { "PATH=/usr/bin", NULL };
	const struct start none = {
		.cwd = "/", .program = "nonesuch", .argv = argv, .n_argv = 1, .env = env, .n_env = 1
	};
	struct start nowhere = none;
	const int stdio[3] = { 0, 1, 2 };
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e;

	(void)state;
	box_plan(&p);
	nowhere.cwd = "/nowhere";
	s = box_open(&p, &seen, false);
	assert_int_equal(session_start(s, 1, &none, stdio, &e), 0);
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_REFUSED);
	assert_int_equal(seen.events[0].refusal.error, ENOENT);
	assert_string_equal(seen.texts[0], "nonesuch cannot be run: No such file or directory");
	assert_int_equal(session_start(s, 2, &nowhere, stdio, &e), 0);
	box_until(s, &seen, 2);
	assert_string_equal(seen.texts[1],
		"the folder /nowhere does not exist in the sandbox: No such file or directory");
	session_free(s);
}

static void has_terminal(void **state)
{
	const char *argv[4];
	struct start start = box_shell(argv, "tty && stty size && test -t 0 && test -t 1");
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e;
	char text[256] = "";
	ssize_t n = 0;

	(void)state;
	box_plan(&p);
	start.flags = START_TTY;
	start.rows = 33;
	start.columns = 77;
	s = box_open(&p, &seen, true);
	assert_int_equal(session_start(s, 1, &start, NULL, &e), 0);
	box_until(s, &seen, 1);
	assert_true(seen.events[0].fd >= 0);
	for (int i = 0; i < 20 && !strstr(text, "77\r\n"); i++) {
		ssize_t more = read(seen.events[0].fd, text + n, sizeof(text) - 1 - (size_t)n);

		if (more <= 0)
			break;
		n += more;
	}
	assert_string_equal(text, "/dev/pts/0\r\n33 77\r\n");
	box_until(s, &seen, 2);
	assert_int_equal(seen.events[1].report.exit_code, 0);
	(void)close(seen.events[0].fd);
	session_free(s);
}

static void covers(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	cover_make(&c);
	s = box_open(&c.plan, &seen, false);
	assert_int_equal(
		cover_run(s, &seen, &c, "! cat secret && ! rm secret && ! mv secret x"), 0);
	assert_int_equal(cover_run(s, &seen, &c, "test $(cat kept) = old && ! echo a >kept"), 0);
	assert_int_equal(cover_run(s, &seen, &c, "! rm kept && ! mv kept x && echo a >other"), 0);
	assert_int_equal(cover_run(s, &seen, &c, "rm other"), 0);
	session_free(s);
	cover_remove(&c);
}

/* The host saves both files while a command runs: it must see neither a secret nor a writable file
 * once the covers are back, and a later command never. */
static void covers_again(struct cover *c, bool single)
{
	struct seen seen = { 0 };
	struct session *s = box_open(&c->plan, &seen, single);
	char line[512];
	int pipes[2];
	char byte = 0;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	(void)snprintf(line, sizeof(line),
		"cd %s && echo >&1 && n=0; while test $n -lt 2000; do n=$((n+1)); "
		"test -r secret || ! test -s kept || exit 0; test -w kept || exit 0; sleep 0.05; "
		"done; exit 1",
		c->folder);
	box_start(s, 1, line, pipes[1], 0);
	box_until(s, &seen, 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	cover_replace(c->secret, "new secret");
	cover_replace(c->kept, "new");
	box_until(s, &seen, 2);
	assert_int_equal(seen.events[1].report.exit_code, 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	for (int i = 0; !single && i < 20; i++) {
		cover_replace(c->secret, "newer secret");
		cover_replace(c->kept, "newer");
		box_settle(s, &seen);
		assert_int_equal(
			cover_run(s, &seen, c, "! cat secret && test $(cat kept) = newer"), 0);
		assert_int_equal(cover_run(s, &seen, c, "! echo a >kept"), 0);
	}
	session_free(s);
}

static void covers_what_is_renamed(void **state)
{
	struct cover c;

	(void)state;
	cover_make(&c);
	covers_again(&c, false);
	cover_remove(&c);
	cover_make(&c);
	covers_again(&c, true);
	cover_remove(&c);
}

static void ends_when_a_folder_moves(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;
	char inner[96], moved[96], secret[128];

	(void)state;
	cover_make(&c);
	(void)snprintf(inner, sizeof(inner), "%s/inner", c.folder);
	(void)snprintf(moved, sizeof(moved), "%s/moved", c.folder);
	(void)snprintf(secret, sizeof(secret), "%s/secret", inner);
	assert_int_equal(mkdir(inner, 0700), 0);
	cover_write(secret, "deep");
	c.plan.entries[c.plan.n++] = cover_entry(PLAN_MASK, secret, false, true);
	s = box_open(&c.plan, &seen, false);
	assert_int_equal(rename(inner, moved), 0);
	seen.n = 0;
	box_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_GONE);
	session_free(s);
	(void)snprintf(secret, sizeof(secret), "%s/secret", moved);
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(rmdir(moved), 0);
	cover_remove(&c);
}

static void closes_all(void **state)
{
	size_t before = count_fds();

	many_commands(state);
	times_out(state);
	has_terminal(state);
	assert_int_equal(count_fds(), before);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_command),
		cmocka_unit_test(sent_ahead),
		cmocka_unit_test(sent_ahead_with_a_limit),
		cmocka_unit_test(sent_ahead_in_vain),
		cmocka_unit_test(many_commands),
		cmocka_unit_test(asked_names),
		cmocka_unit_test(at_once),
		cmocka_unit_test(sees),
		cmocka_unit_test(times_out),
		cmocka_unit_test(leaves_nothing),
		cmocka_unit_test(is_refused),
		cmocka_unit_test(has_terminal),
		cmocka_unit_test(covers),
		cmocka_unit_test(covers_what_is_renamed),
		cmocka_unit_test(ends_when_a_folder_moves),
		cmocka_unit_test(closes_all),
	};

	return cmocka_run_group_tests_name("session", tests, NULL, NULL);
}
