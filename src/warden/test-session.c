/* SPDX-License-Identifier: Apache-2.0 */
/* Sessions with a plan made by hand: what happens to commands, whatever the policy. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "base/file.h"
#include "warden/session.h"

enum { EVENTS = 64, PATIENCE_MS = 20000 };

struct seen {
	struct session_event events[EVENTS];
	char texts[EVENTS][256];
	size_t n;
};

static struct plan_entry entries[] = {
	{ .kind = PLAN_DIR, .path = "/etc" },
	{ .kind = PLAN_FILE, .path = "/etc/passwd", .text = "u:x:0:0::/home/u:/bin/sh\n" },
	{ .kind = PLAN_DIR, .path = "/home" },
	{ .kind = PLAN_TMP, .path = "/home/u", .exec = true },
	{ .kind = PLAN_TMP, .path = "/tmp", .exec = true },
	{ .kind = PLAN_BIND, .path = "/usr", .is_dir = true, .exec = true },
};
static const char *const roots[] = { "/bin", "/lib", "/lib64", "/sbin" };
static struct plan_entry all[16];
static char targets[4][256];

/* Where the host has links into /usr the jail has the same; where it has folders, binds. */
static size_t add_root(size_t n, size_t i)
{
	struct plan_entry *e = &all[n];
	struct stat st;
	ssize_t len;

	if (lstat(roots[i], &st) < 0)
		return n;
	*e = (struct plan_entry){ .path = roots[i], .is_dir = true, .exec = true };
	e->kind = S_ISLNK(st.st_mode) ? PLAN_LINK : PLAN_BIND;
	e->dev = st.st_dev;
	e->ino = st.st_ino;
	len = S_ISLNK(st.st_mode) ? readlink(roots[i], targets[i], sizeof(targets[i]) - 1) : 0;
	targets[i][len < 0 ? 0 : len] = '\0';
	e->text = targets[i];
	return n + 1;
}

static void make_plan(struct plan *p)
{
	size_t n = sizeof(entries) / sizeof(entries[0]);
	struct stat st;

	assert_int_equal(stat("/usr", &st), 0);
	memcpy(all, entries, sizeof(entries));
	all[n - 1].dev = st.st_dev;
	all[n - 1].ino = st.st_ino;
	for (size_t i = 0; i < 4; i++)
		n = add_root(n, i);
	*p = (struct plan){ .entries = all, .n = n, .home = "/home/u" };
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		p->limits.values[i] = LIMIT_NONE;
}

static void on_event(void *context, const struct session_event *event)
{
	struct seen *seen = context;

	assert_true(seen->n < EVENTS);
	if (event->refusal.text)
		(void)snprintf(seen->texts[seen->n], 256, "%s", event->refusal.text);
	seen->events[seen->n++] = *event;
}

static void dispatch_until(struct session *s, struct seen *seen, size_t n)
{
	for (int i = 0; i < 1000 && seen->n < n; i++) {
		struct pollfd p = { .fd = session_fd(s), .events = POLLIN };

		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		if (session_dispatch(s) < 0)
			return;
	}
	assert_true(seen->n >= n);
}

static struct session *open_session(const struct plan *p, struct seen *seen, bool single)
{
	const struct session_options o = { .single = single };
	const struct session_handler h = { on_event, seen };
	struct session *s = NULL;
	struct error e = { 0 };

	if (session_prepare(&s, &o, &e) < 0 || session_build(s, p, &h, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
	return s;
}

static struct start shell(const char **argv, const char *line)
{
	static const char *env[] = { "PATH=/usr/bin:/bin", NULL };

	argv[0] = "sh";
	argv[1] = "-c";
	argv[2] = line;
	argv[3] = NULL;
	return (struct start){
		.cwd = "/", .program = "/bin/sh", .argv = argv, .n_argv = 3, .env = env, .n_env = 1
	};
}

static void start_line(struct session *s, uint64_t id, const char *line, int out, uint64_t ms)
{
	const char *argv[4];
	struct start start = shell(argv, line);
	struct error e = { 0 };
	int null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int stdio[3] = { null, out >= 0 ? out : null, 2 };

	start.timeout_ms = ms;
	if (session_start(s, id, &start, stdio, &e) < 0)
		fail_msg("%s", e.text);
	(void)close(null);
}

static int run_line(struct session *s, struct seen *seen, uint64_t id, const char *line)
{
	seen->n = 0;
	start_line(s, id, line, -1, 0);
	dispatch_until(s, seen, 2);
	assert_int_equal(seen->events[0].kind, SESSION_STARTED);
	assert_int_equal(seen->events[1].kind, SESSION_EXITED);
	assert_int_equal(seen->events[1].report.signal, 0);
	return seen->events[1].report.exit_code;
}

static void one_command(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	make_plan(&p);
	s = open_session(&p, &seen, true);
	assert_int_equal(run_line(s, &seen, 1, "exit 7"), 7);
	session_free(s);
}

static void many_commands(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	make_plan(&p);
	s = open_session(&p, &seen, false);
	for (int i = 0; i < 40; i++) {
		char line[32];

		(void)snprintf(line, sizeof(line), "exit %d", i);
		assert_int_equal(run_line(s, &seen, (uint64_t)i, line), i);
	}
	session_free(s);
}

static void at_once(void **state)
{
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	make_plan(&p);
	s = open_session(&p, &seen, false);
	for (uint64_t i = 0; i < 10; i++)
		start_line(s, i, "exit 0", -1, 0);
	dispatch_until(s, &seen, 20);
	assert_int_equal(session_commands(s), 0);
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
	{ "processes of its own", "test $$ -lt 10 && ! ls -d /proc/[0-9][0-9][0-9]*" },
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
	{ "another host name", "test $(uname -n) = corral" },
	{ "only loopback", "test $(wc -l </proc/net/dev) -eq 3" },
	{ "no user namespaces", "! unshare -U true" },
};

static void sees(void **state)
{
	struct plan p;

	(void)state;
	make_plan(&p);
	for (int single = 0; single < 2; single++) {
		struct seen seen = { 0 };
		struct session *s = open_session(&p, &seen, single);

		for (size_t i = 0; i < sizeof(sights) / sizeof(sights[0]); i++) {
			if (single && i > 0) {
				session_free(s);
				s = open_session(&p, &seen, true);
			}
			if (run_line(s, &seen, i, sights[i].line) != 0)
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
	make_plan(&p);
	s = open_session(&p, &seen, false);
	start_line(s, 1, "setsid sleep 100 & trap '' TERM; sleep 100", -1, 100);
	dispatch_until(s, &seen, 2);
	assert_int_equal(seen.events[1].kind, SESSION_EXITED);
	assert_int_equal(seen.events[1].report.flags, REPORT_TIMED_OUT);
	assert_int_equal(seen.events[1].report.signal, SIGKILL);
	/* The session is as warm as before. */
	assert_int_equal(run_line(s, &seen, 2, "exit 3"), 3);
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
	make_plan(&p);
	s = open_session(&p, &seen, false);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	start_line(s, 1, "setsid sleep 1000 & exit 0", pipes[1], 0);
	(void)close(pipes[1]);
	dispatch_until(s, &seen, 2);
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
	make_plan(&p);
	nowhere.cwd = "/nowhere";
	s = open_session(&p, &seen, false);
	assert_int_equal(session_start(s, 1, &none, stdio, &e), 0);
	dispatch_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_REFUSED);
	assert_int_equal(seen.events[0].refusal.error, ENOENT);
	assert_string_equal(seen.texts[0], "nonesuch cannot be run: No such file or directory");
	assert_int_equal(session_start(s, 2, &nowhere, stdio, &e), 0);
	dispatch_until(s, &seen, 2);
	assert_string_equal(seen.texts[1],
		"the folder /nowhere is not there inside: No such file or directory");
	session_free(s);
}

static void has_terminal(void **state)
{
	const char *argv[4];
	struct start start = shell(argv, "tty && stty size && test -t 0 && test -t 1");
	struct plan p;
	struct seen seen = { 0 };
	struct session *s;
	struct error e;
	char text[256] = "";
	ssize_t n = 0;

	(void)state;
	make_plan(&p);
	start.flags = START_TTY;
	start.rows = 33;
	start.columns = 77;
	s = open_session(&p, &seen, true);
	assert_int_equal(session_start(s, 1, &start, NULL, &e), 0);
	dispatch_until(s, &seen, 1);
	assert_true(seen.events[0].fd >= 0);
	for (int i = 0; i < 20 && !strstr(text, "77\r\n"); i++) {
		ssize_t more = read(seen.events[0].fd, text + n, sizeof(text) - 1 - (size_t)n);

		if (more <= 0)
			break;
		n += more;
	}
	assert_string_equal(text, "/dev/pts/0\r\n33 77\r\n");
	dispatch_until(s, &seen, 2);
	assert_int_equal(seen.events[1].report.exit_code, 0);
	(void)close(seen.events[0].fd);
	session_free(s);
}

/* A file of the host that is masked, or only to be read, in a folder that may be written. */
struct cover {
	char folder[64];
	char secret[96], kept[96];
	struct plan plan;
	struct plan_entry entries[24];
};

static void write_text(const char *path, const char *text)
{
	FILE *f = fopen(path, "w");

	assert_non_null(f);
	assert_true(fputs(text, f) >= 0);
	assert_int_equal(fclose(f), 0);
}

static struct plan_entry entry_of(enum plan_kind kind, const char *path, bool writable, bool over)
{
	struct stat st;

	assert_int_equal(lstat(path, &st), 0);
	return (struct plan_entry){ .kind = kind,
		.path = path,
		.is_dir = S_ISDIR(st.st_mode),
		.writable = writable,
		.over = over,
		.dev = st.st_dev,
		.ino = st.st_ino };
}

static void make_cover(struct cover *c)
{
	size_t n;

	make_plan(&c->plan);
	n = c->plan.n;
	memcpy(c->entries, c->plan.entries, n * sizeof(c->entries[0]));
	(void)snprintf(c->folder, sizeof(c->folder), "/tmp/test-session.XXXXXX");
	assert_non_null(mkdtemp(c->folder));
	(void)snprintf(c->secret, sizeof(c->secret), "%s/secret", c->folder);
	(void)snprintf(c->kept, sizeof(c->kept), "%s/kept", c->folder);
	write_text(c->secret, "old secret");
	write_text(c->kept, "old");
	c->entries[n++] = entry_of(PLAN_BIND, c->folder, true, false);
	c->entries[n++] = entry_of(PLAN_BIND, c->kept, false, true);
	c->entries[n++] = entry_of(PLAN_MASK, c->secret, false, true);
	c->plan.entries = c->entries;
	c->plan.n = n;
}

static void remove_cover(struct cover *c)
{
	(void)unlink(c->secret);
	(void)unlink(c->kept);
	assert_int_equal(rmdir(c->folder), 0);
}

static int run_with(struct session *s, struct seen *seen, const struct cover *c, const char *format)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "cd %s && ", c->folder);
	(void)snprintf(line + strlen(line), sizeof(line) - strlen(line), "%s", format);
	return run_line(s, seen, 1, line);
}

/* As an editor saves. */
static void replace(const char *path, const char *text)
{
	char other[128];

	(void)snprintf(other, sizeof(other), "%s.new", path);
	write_text(other, text);
	assert_int_equal(rename(other, path), 0);
}

static void covers(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;

	(void)state;
	make_cover(&c);
	s = open_session(&c.plan, &seen, false);
	assert_int_equal(run_with(s, &seen, &c, "! cat secret && ! rm secret && ! mv secret x"), 0);
	assert_int_equal(run_with(s, &seen, &c, "test $(cat kept) = old && ! echo a >kept"), 0);
	assert_int_equal(run_with(s, &seen, &c, "! rm kept && ! mv kept x && echo a >other"), 0);
	assert_int_equal(run_with(s, &seen, &c, "rm other"), 0);
	session_free(s);
	remove_cover(&c);
}

/* The host saves both files while a command runs: it must see neither a secret nor a writable file
 * once the covers are back, and a later command never. */
static void covers_again(struct cover *c, bool single)
{
	struct seen seen = { 0 };
	struct session *s = open_session(&c->plan, &seen, single);
	char line[512];
	int pipes[2];
	char byte = 0;

	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	(void)snprintf(line, sizeof(line),
		"cd %s && echo >&1 && n=0; while test $n -lt 2000; do n=$((n+1)); "
		"test -r secret || ! test -s kept || exit 0; test -w kept || exit 0; done; exit 1",
		c->folder);
	start_line(s, 1, line, pipes[1], 0);
	dispatch_until(s, &seen, 1);
	assert_int_equal(read(pipes[0], &byte, 1), 1);
	replace(c->secret, "new secret");
	replace(c->kept, "new");
	dispatch_until(s, &seen, 2);
	assert_int_equal(seen.events[1].report.exit_code, 0);
	(void)close(pipes[0]);
	(void)close(pipes[1]);
	for (int i = 0; !single && i < 20; i++) {
		replace(c->secret, "newer secret");
		replace(c->kept, "newer");
		/* Wait for the covers: they are put back by frames that were sent before. */
		assert_int_equal(run_line(s, &seen, 2, "exit 0"), 0);
		assert_int_equal(
			run_with(s, &seen, c, "! cat secret && test $(cat kept) = newer"), 0);
		assert_int_equal(run_with(s, &seen, c, "! echo a >kept"), 0);
	}
	session_free(s);
}

static void covers_what_is_renamed(void **state)
{
	struct cover c;

	(void)state;
	make_cover(&c);
	covers_again(&c, false);
	remove_cover(&c);
	make_cover(&c);
	covers_again(&c, true);
	remove_cover(&c);
}

static void ends_when_a_folder_moves(void **state)
{
	struct cover c;
	struct seen seen = { 0 };
	struct session *s;
	char inner[96], moved[96], secret[128];

	(void)state;
	make_cover(&c);
	(void)snprintf(inner, sizeof(inner), "%s/inner", c.folder);
	(void)snprintf(moved, sizeof(moved), "%s/moved", c.folder);
	(void)snprintf(secret, sizeof(secret), "%s/secret", inner);
	assert_int_equal(mkdir(inner, 0700), 0);
	write_text(secret, "deep");
	c.plan.entries[c.plan.n++] = entry_of(PLAN_MASK, secret, false, true);
	s = open_session(&c.plan, &seen, false);
	assert_int_equal(rename(inner, moved), 0);
	seen.n = 0;
	dispatch_until(s, &seen, 1);
	assert_int_equal(seen.events[0].kind, SESSION_GONE);
	session_free(s);
	(void)snprintf(secret, sizeof(secret), "%s/secret", moved);
	assert_int_equal(unlink(secret), 0);
	assert_int_equal(rmdir(moved), 0);
	remove_cover(&c);
}

static size_t count_fds(void)
{
	size_t n = 0;

	for (int i = 0; i < 1024; i++)
		n += fcntl(i, F_GETFD) >= 0;
	return n;
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
		cmocka_unit_test(many_commands),
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
