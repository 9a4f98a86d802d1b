/* SPDX-License-Identifier: Apache-2.0 */
/* Commands with a terminal: job control, its size, its end, and what cannot be done with it. */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/file.h"
#include "warden/session/test/test-box.h"

struct terminal {
	struct session *s;
	struct seen seen;
	int master;
	char text[8192];
	size_t n;
};

static struct plan plan;

static void terminal_open(struct terminal *t, const char *line, bool single)
{
	const char *argv[4];
	struct start start = box_shell(argv, line);
	struct error e = { 0 };

	memset(t, 0, sizeof(*t));
	box_plan(&plan);
	start.flags = START_TTY;
	start.rows = 24;
	start.columns = 80;
	t->s = box_open(&plan, &t->seen, single);
	if (session_start(t->s, 1, &start, NULL, &e) < 0)
		fail_msg("%s", e.text);
	box_until(t->s, &t->seen, 1);
	assert_int_equal(t->seen.events[0].kind, SESSION_STARTED);
	t->master = t->seen.events[0].fd;
	assert_true(t->master >= 0);
}

/* Reads until the words appear. */
static void expect(struct terminal *t, const char *words)
{
	for (int i = 0; i < 1000 && !strstr(t->text, words); i++) {
		struct pollfd p = { .fd = t->master, .events = POLLIN };
		ssize_t more;

		if (poll(&p, 1, BOX_PATIENCE_MS) != 1)
			break;
		more = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n);
		if (more <= 0)
			break;
		t->n += (size_t)more;
	}
	if (!strstr(t->text, words))
		fail_msg("no \"%s\" in \"%s\"", words, t->text);
	t->n = 0;
	memset(t->text, 0, sizeof(t->text));
}

static unsigned count_lines(const char *text)
{
	unsigned n = 0;

	for (; *text; text++)
		n += *text == '\n';
	return n;
}

/* Reads that many lines, or this one. What a command wrote before its end may come after it, and in
 * pieces. */
static void read_lines(struct terminal *t, unsigned n, const char *or_this)
{
	while (count_lines(t->text) < n && strcmp(t->text, or_this) != 0) {
		struct pollfd p = { .fd = t->master, .events = POLLIN };
		ssize_t more;

		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		more = read(t->master, t->text + t->n, sizeof(t->text) - 1 - t->n);
		assert_true(more > 0);
		t->n += (size_t)more;
	}
}

static void type(struct terminal *t, const char *keys)
{
	assert_int_equal(write(t->master, keys, strlen(keys)), (ssize_t)strlen(keys));
}

static struct report terminal_end(struct terminal *t)
{
	struct report report;

	box_until(t->s, &t->seen, 2);
	assert_int_equal(t->seen.events[1].kind, SESSION_EXITED);
	report = t->seen.events[1].report;
	if (t->master >= 0)
		(void)close(t->master);
	session_free(t->s);
	return report;
}

/*
 * The prompt tells what came of the last line, and that the shell reads again. Words are put
 * together by the shell, so that the echo of what was typed is not taken for them. The job forks
 * nobody: one who waits for its vfork() cannot be stopped.
 */
static void controls_jobs(void **state)
{
	static struct terminal t;

	(void)state;
	terminal_open(&t, "exec bash --norc --noediting -i", false);
	type(&t, "PS1='[$?]'\n");
	expect(&t, "[0]");
	type(&t, "sh -c 'trap \"echo re''sumed\" CONT; echo sta''rted; "
		 "while :; do read x; done'\n");
	expect(&t, "started");
	type(&t, "\032"); /* Ctrl-Z */
	expect(&t, "[148]");
	type(&t, "jobs; (exit 3)\n");
	expect(&t, "[3]");
	type(&t, "fg\n");
	expect(&t, "resumed");
	type(&t, "\003"); /* Ctrl-C */
	expect(&t, "[130]");
	type(&t, "exit 5\n");
	assert_int_equal(terminal_end(&t).exit_code, 5);
}

static void changes_size(void **state)
{
	static struct terminal t;
	const struct winsize size = { .ws_row = 11, .ws_col = 22 };

	(void)state;
	terminal_open(&t,
		"trap 'stty size; exit 6' WINCH; echo ready; while :; do sleep 0.05; done", true);
	expect(&t, "ready");
	assert_int_equal(ioctl(t.master, TIOCSWINSZ, &size), 0);
	expect(&t, "11 22");
	assert_int_equal(terminal_end(&t).exit_code, 6);
}

/* Who hangs up ends the command, as closing a window does. */
static void hangs_up(void **state)
{
	static struct terminal t;

	(void)state;
	for (int single = 0; single < 2; single++) {
		terminal_open(&t, "echo ready; exec sleep 1000", single);
		expect(&t, "ready");
		(void)close(t.master);
		t.master = -1;
		assert_int_equal(terminal_end(&t).signal, SIGHUP);
	}
}

static const char inject[] = "command -v python3 >/dev/null || { echo none; exit 0; }\n"
			     "exec python3 -c 'import fcntl,errno\n"
			     "for n in (0x5412, 0x541c):\n"
			     "    try:\n"
			     "        fcntl.ioctl(0, n, b\"x\")\n"
			     "        print(\"injec\"+\"ted\")\n"
			     "    except OSError as e:\n"
			     "        print(errno.errorcode[e.errno])\n'";

static void cannot_inject(void **state)
{
	static struct terminal t;

	(void)state;
	terminal_open(&t, inject, true);
	read_lines(&t, 2, "none\r\n");
	if (!strstr(t.text, "none"))
		assert_string_equal(t.text, "EPERM\r\nEPERM\r\n");
	assert_int_equal(terminal_end(&t).exit_code, 0);
}

/* Only its own: the first of a private instance, and no other of the host. */
static void sees_its_own(void **state)
{
	static struct terminal t;

	(void)state;
	terminal_open(&t, "tty; ls -1 /dev/pts; echo end", true);
	expect(&t, "/dev/pts/0\r\n0\r\nptmx\r\nend\r\n");
	assert_int_equal(terminal_end(&t).exit_code, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(controls_jobs),
		cmocka_unit_test(changes_size),
		cmocka_unit_test(hangs_up),
		cmocka_unit_test(cannot_inject),
		cmocka_unit_test(sees_its_own),
	};

	return cmocka_run_group_tests_name("terminal", tests, NULL, NULL);
}
