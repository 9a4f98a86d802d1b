/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sessions with a broker. The broker is this program again, as is the command that calls it, copied
 * to where it can be seen inside.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "warden/session/test/test-box.h"
#include "wire/frame.h"
#include "wire/sockets.h"

#define SOCKET PLAN_BROKER_FOLDER "/" PLAN_BROKER_SOCKET
#define CALLER PLAN_BROKER_FOLDER "/" PLAN_BROKER_CALLER
#define FILE_INSIDE "home/u/word"

/* What the broker of a test does: the name of its sandbox. */
#define SERVE "serve"
#define FAIL "fail"
#define LEAVE "leave"
#define BABBLE "babble"
#define MUTE "mute"

/* Outside: the broker. */

/* Who asks, by the kernel, and what it has in its own home, by the root directory. */
static void broker_answer(int client, int root)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);
	auto_fd file = openat(root, FILE_INSIDE, O_RDONLY | O_CLOEXEC);
	char text[64] = "", answer[128];

	(void)!read(file, text, sizeof(text) - 1);
	(void)getsockopt(client, SOL_SOCKET, SO_PEERCRED, &peer, &len);
	(void)snprintf(answer, sizeof(answer), "%d %d %d %s", (int)getpid(), (int)peer.uid,
		peer.pid > 1 && kill(peer.pid, 0) == 0, text);
	(void)send(client, answer, strlen(answer), MSG_NOSIGNAL);
}

static _Noreturn void broker_serve(struct frame *f)
{
	struct pollfd p[] = { { .fd = 3, .events = POLLIN },
		{ .fd = f->fds[0], .events = POLLIN } };

	for (;;) {
		auto_fd client = -1;

		if (poll(p, 2, -1) < 0 || p[0].revents)
			_exit(0);
		client = accept4(f->fds[0], NULL, NULL, SOCK_CLOEXEC);
		if (client >= 0)
			broker_answer(client, f->fds[1]);
	}
}

/* The session's own folders, and where to start. */
static bool broker_is_told(const struct broker_setup *setup)
{
	bool tmp = false, home = false;

	for (size_t i = 0; i < setup->n_private; i++) {
		tmp |= strcmp(setup->private_places[i], "/tmp") == 0;
		home |= strcmp(setup->private_places[i], "/home/u") == 0;
	}
	return tmp == home && strcmp(setup->folder, "/home/u") == 0;
}

static _Noreturn void broker(void)
{
	static struct frame f;
	struct refusal refusal = { .error = ENOTSUP, .text = "no service", .hint = "none" };
	struct buffer body = { 0 };
	struct arena arena = { 0 };
	struct broker_setup setup;
	struct sockets sockets;
	/* Nothing else is open, and there are no variables. */
	bool is_clean = fcntl(4, F_GETFD) < 0 && !environ[0] && getsid(0) == getpid();

	if (frame_receive(3, &f) != 1 || f.type != FRAME_BROKER || f.n_fds != 1 ||
		broker_setup_decode(&setup, f.body, f.len, &arena) < 0)
		_exit(3);
	if (strcmp(setup.sandbox, LEAVE) == 0)
		_exit(7);
	if (strcmp(setup.sandbox, BABBLE) == 0)
		(void)frame_send(3, FRAME_GONE, 0, NULL, 0, NULL, 0);
	if ((strcmp(setup.sandbox, SERVE) == 0 || strcmp(setup.sandbox, MUTE) == 0) && is_clean &&
		broker_is_told(&setup)) {
		(void)frame_send(3, FRAME_READY, 0, NULL, 0, NULL, 0);
		if (frame_receive(3, &f) != 1 || sockets_decode(&sockets, &f) < 0 ||
			sockets.kind != SOCKETS_BROKER || sockets.n != SOCKETS_BROKER_HTTP)
			_exit(3);
		if (strcmp(setup.sandbox, MUTE) == 0)
			(void)frame_send(3, FRAME_EVENT, 0, NULL, 0, NULL, 0);
		broker_serve(&f);
	}
	(void)refusal_encode(&refusal, &body);
	(void)frame_send(3, FRAME_FAILED, 0, body.data, body.len, NULL, 0);
	_exit(1);
}

/* Inside: the command. Prints the answer. */
static int call(void)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX, .sun_path = SOCKET };
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[128];
	ssize_t n;

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ECONNREFUSED ? 3 : errno == ENOENT ? 4 : 2;
	n = read(fd, text, sizeof(text));
	return n > 0 && write(1, text, (size_t)n) == n ? 0 : 5;
}

/* Sessions. */

struct scene {
	char folder[64], program[96];
	struct plan plan;
	struct plan_entry entries[24];
	struct session *session;
	struct seen seen;
};

static void copy_self(const char *to)
{
	static char block[1 << 16];
	auto_fd in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_fd out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0755);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, block, sizeof(block))) > 0)
		assert_int_equal(write(out, block, (size_t)n), n);
	assert_int_equal(n, 0);
}

static void plan_make(struct scene *s)
{
	struct stat st;

	memset(s, 0, sizeof(*s));
	(void)snprintf(s->folder, sizeof(s->folder), "/tmp/test-broker.XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	(void)snprintf(s->program, sizeof(s->program), "%s/program", s->folder);
	copy_self(s->program);
	assert_int_equal(stat(s->program, &st), 0);
	box_plan(&s->plan);
	memcpy(s->entries, s->plan.entries, s->plan.n * sizeof(s->entries[0]));
	s->plan.entries = s->entries;
	s->plan.has_broker = true;
	s->plan.caller = (struct plan_entry){ .kind = PLAN_BIND,
		.path = s->program,
		.exec = true,
		.dev = st.st_dev,
		.ino = st.st_ino };
}

static void on_event(void *context, const struct session_event *event)
{
	struct seen *seen = context;

	assert_true(seen->n < BOX_EVENTS);
	if (event->refusal.text)
		(void)snprintf(seen->texts[seen->n], 256, "%s", event->refusal.text);
	seen->events[seen->n++] = *event;
}

static int try_open(
	struct scene *s, const char *program, const char *what, bool single, struct error *e)
{
	const struct broker_setup setup = { .sandbox = what };
	const struct session_options o = { .single = single };
	const struct session_handler h = { .event = on_event, .context = &s->seen };
	int r = session_prepare(&s->session, &o, e);

	if (r == 0)
		r = session_broker_start(s->session, program, e);
	if (r == 0)
		r = session_build_begin(s->session, &s->plan, &h, e);
	if (r == 0)
		r = session_broker_configure(s->session, &setup, e);
	return r < 0 ? r : session_build_finish(s->session, e);
}

static void open_box(struct scene *s)
{
	struct error e = { 0 };

	if (try_open(s, "/proc/self/exe", SERVE, false, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
}

static void tear_down(struct scene *s)
{
	session_free(s->session);
	assert_int_equal(unlink(s->program), 0);
	assert_int_equal(rmdir(s->folder), 0);
	/* Nothing is left behind: neither of the sandbox nor of the broker. */
	assert_int_equal(waitpid(-1, NULL, WNOHANG), -1);
	assert_int_equal(errno, ECHILD);
}

/* By sandbox-call. Returns the broker's pid. */
static int call_inside(struct scene *s, const char *word)
{
	char line[256], answer[256], *next = answer;
	long values[3]; /* its pid, our uid, whether our pid is one of the host's */

	(void)snprintf(
		line, sizeof(line), "echo -n %s > /home/u/word && exec " CALLER " call", word);
	assert_int_equal(box_capture(s->session, &s->seen, 1, line, answer, sizeof(answer)), 0);
	for (size_t i = 0; i < 3; i++)
		values[i] = strtol(next, &next, 10);
	assert_int_equal(values[1], geteuid());
	assert_int_equal(values[2], 1);
	assert_string_equal(next + 1, word);
	return (int)values[0];
}

static void answers(void **state)
{
	static struct scene s;
	int pid;

	(void)state;
	plan_make(&s);
	open_box(&s);
	pid = call_inside(&s, "one");
	assert_int_equal(call_inside(&s, "two"), pid);
	tear_down(&s);
}

static void answers_a_single_command(void **state)
{
	static struct scene s;
	struct error e = { 0 };

	(void)state;
	plan_make(&s);
	if (try_open(&s, "/proc/self/exe", SERVE, true, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
	(void)call_inside(&s, "one");
	tear_down(&s);
}

/* The host's root, as in an agent's mode: where nothing can be made. */
static void answers_in_the_hosts_tree(void **state)
{
	static struct scene s;
	struct stat st;

	(void)state;
	plan_make(&s);
	assert_int_equal(stat("/", &st), 0);
	s.entries[0] = (struct plan_entry){ .kind = PLAN_BIND,
		.path = "/",
		.is_dir = true,
		.exec = true,
		.dev = st.st_dev,
		.ino = st.st_ino };
	s.plan.n = 1;
	open_box(&s);
	assert_int_equal(box_run(s.session, &s.seen, 1, CALLER " call >/dev/null"), 0);
	tear_down(&s);
}

/* A list of programs does not keep sandbox-call out; everything else it does. */
static void runs_beside_a_list(void **state)
{
	static const char *const names[] = { "/bin/sh", "/lib64/ld-linux-x86-64.so.2",
		"/lib/ld-linux-aarch64.so.1" };
	const char *programs[ROWS(names)];
	static struct scene s;

	(void)state;
	plan_make(&s);
	s.plan.exec_listed = true;
	s.plan.programs = programs;
	for (size_t i = 0; i < ROWS(names); i++) {
		programs[s.plan.n_programs] = realpath(names[i], NULL);
		s.plan.n_programs += programs[s.plan.n_programs] != NULL;
	}
	open_box(&s);
	(void)call_inside(&s, "one");
	assert_int_equal(box_run(s.session, &s.seen, 1, "exec /usr/bin/env 2>/dev/null"), 126);
	tear_down(&s);
	for (size_t i = 0; i < s.plan.n_programs; i++)
		free((void *)(uintptr_t)programs[i]);
}

static void is_not_to_be_changed(void **state)
{
	static const char *const lines[] = {
		"rm -f " SOCKET,
		"mv " SOCKET " " SOCKET ".old",
		"mv " PLAN_BROKER_FOLDER " /dev/other",
		"ln -sf /tmp/mine " SOCKET,
		": > " PLAN_BROKER_FOLDER "/other",
		"chmod 0 " SOCKET,
		"rm -f " CALLER,
		": >> " CALLER,
		"mkdir " PLAN_BROKER_FOLDER "/folder",
		"mount -t tmpfs none " PLAN_BROKER_FOLDER,
	};
	static struct scene s;
	char line[512];

	(void)state;
	plan_make(&s);
	open_box(&s);
	for (size_t i = 0; i < ROWS(lines); i++) {
		(void)snprintf(line, sizeof(line), "{ %s; } 2>/dev/null", lines[i]);
		assert_int_not_equal(box_run(s.session, &s.seen, 1, line), 0);
	}
	(void)call_inside(&s, "still");
	tear_down(&s);
}

static void is_not_there_unless_asked_for(void **state)
{
	static struct scene s;

	(void)state;
	plan_make(&s);
	s.plan.has_broker = false;
	s.plan.caller.path = NULL;
	s.session = box_open(&s.plan, &s.seen, false);
	assert_int_equal(box_run(s.session, &s.seen, 1, "test ! -e " PLAN_BROKER_FOLDER), 0);
	tear_down(&s);
}

/* Calls that come while nobody serves wait for the next broker; there is an end to that. */
static void is_started_again(void **state)
{
	static struct scene s;
	int last = 0, n;

	(void)state;
	plan_make(&s);
	open_box(&s);
	for (n = 0; n < 10; n++) {
		size_t before;
		int pid = call_inside(&s, "word");

		assert_int_not_equal(pid, last);
		last = pid;
		before = s.seen.n;
		assert_int_equal(kill(pid, SIGKILL), 0);
		box_until(s.session, &s.seen, before + 1);
		assert_int_equal(s.seen.events[before].kind, SESSION_BROKER);
		assert_non_null(strstr(s.seen.texts[before], "killed by signal 9"));
		if (s.seen.events[before].refusal.error)
			break;
	}
	assert_in_range(n, 1, 5);
	assert_int_equal(box_run(s.session, &s.seen, 1, CALLER " call"), 3);
	tear_down(&s);
}

/* A FRAME_EVENT without an event that counts no missing ones breaks the protocol. */
static void is_killed_for_an_empty_event(void **state)
{
	static struct scene s;
	struct error e = { 0 };

	(void)state;
	plan_make(&s);
	if (try_open(&s, "/proc/self/exe", MUTE, false, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
	box_until(s.session, &s.seen, 1);
	assert_int_equal(s.seen.events[0].kind, SESSION_BROKER);
	assert_non_null(strstr(s.seen.texts[0], "killed by signal 9"));
	tear_down(&s);
}

/* For a holder that confines itself. */
static void is_started_again_by_a_keeper(void **state)
{
	static struct scene s;
	size_t before, n;
	int last = 0;

	(void)state;
	plan_make(&s);
	open_box(&s);
	assert_int_equal(session_broker_keep(s.session), 0);
	for (n = 0; n < 10; n++) {
		int pid = call_inside(&s, "word");

		assert_int_not_equal(pid, last);
		last = pid;
		before = s.seen.n;
		assert_int_equal(kill(pid, SIGKILL), 0);
		box_until(s.session, &s.seen, before + 1);
		assert_int_equal(s.seen.events[before].kind, SESSION_BROKER);
		if (s.seen.events[before].refusal.error)
			break;
	}
	assert_in_range(n, 1, 5);
	assert_int_equal(box_run(s.session, &s.seen, 1, CALLER " call"), 3);
	tear_down(&s);
}

static void must_serve_first(void **state)
{
	static const struct {
		const char *program, *what;
		int code;
		const char *text;
	} rows[] = {
		{ "/proc/self/exe", FAIL, -ENOTSUP, "no service" },
		{ "/proc/self/exe", LEAVE, -ECONNRESET, "exited with status 7" },
		{ "/proc/self/exe", BABBLE, -EPROTO, "does not speak the broker's protocol" },
		{ "/nowhere/corral-broker", SERVE, -ENOENT, "cannot start the broker" },
	};
	static struct scene s;

	(void)state;
	for (size_t i = 0; i < 2 * ROWS(rows); i++) {
		struct error e = { 0 };

		plan_make(&s);
		assert_int_equal(try_open(&s, rows[i / 2].program, rows[i / 2].what, i % 2, &e),
			rows[i / 2].code);
		if (!strstr(e.text, rows[i / 2].text))
			fail_msg("%s", e.text);
		assert_int_equal(s.seen.n, 0);
		tear_down(&s);
	}
}

int main(int argc, char **argv)
{
	static const char *const variables[] = { "XDG_STATE_HOME", "XDG_CACHE_HOME",
		"XDG_RUNTIME_DIR", "CORRAL_FETCH", "SSL_CERT_FILE" };
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(answers_a_single_command),
		cmocka_unit_test(answers_in_the_hosts_tree),
		cmocka_unit_test(runs_beside_a_list),
		cmocka_unit_test(is_not_to_be_changed),
		cmocka_unit_test(is_not_there_unless_asked_for),
		cmocka_unit_test(is_started_again),
		cmocka_unit_test(is_killed_for_an_empty_event),
		cmocka_unit_test(is_started_again_by_a_keeper),
		cmocka_unit_test(must_serve_first),
	};

	if (strcmp(argv[0], "corral-broker") == 0)
		broker();
	/* Not return: no sanitizer can look for leaks where there is no looking at oneself. */
	if (argc == 2 && strcmp(argv[1], "call") == 0)
		_exit(call());
	/* None but those that the broker is to have. */
	for (size_t i = 0; i < ROWS(variables); i++)
		(void)unsetenv(variables[i]);
	return cmocka_run_group_tests(tests, NULL, NULL);
}
