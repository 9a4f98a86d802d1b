/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Sockets of the host that are granted, in a session with its relay: the command is this program
 * again, copied to where it can be seen inside.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/probe/probe.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "warden/session/test/test-box.h"

struct scene {
	char folder[64], program[96], socket[96];
	struct plan plan;
	struct plan_entry entries[24];
	struct permissions *permissions;
	struct policy *policy;
	pid_t server;
	struct session *session;
	struct seen seen;
};

static struct sockaddr_un named(const char *path)
{
	struct sockaddr_un address = { .sun_family = AF_UNIX };

	(void)snprintf(address.sun_path, sizeof(address.sun_path), "%s", path);
	return address;
}

/* Inside: asks, and is content if the host answers. */
static int ask(const char *path)
{
	const struct sockaddr_un address = named(path);
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[8];

	if (fd < 0 || connect(fd, (const struct sockaddr *)&address, sizeof(address)) < 0)
		return errno == ECONNREFUSED || errno == EACCES ? 3 : 2;
	if (send(fd, "ask", 3, MSG_NOSIGNAL) != 3)
		return 4;
	return recv(fd, text, sizeof(text), 0) == 4 && memcmp(text, "host", 4) == 0 ? 0 : 5;
}

/* On the host, for as long as the test lives. */
static _Noreturn void serve(int listener)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	for (;;) {
		auto_fd fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
		char text[8];

		if (fd >= 0 && recv(fd, text, sizeof(text), 0) == 3)
			(void)send(fd, "host", 4, MSG_NOSIGNAL);
	}
}

static void start_server(struct scene *s)
{
	const struct sockaddr_un address = named(s->socket);
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_int_equal(bind(fd, (const struct sockaddr *)&address, sizeof(address)), 0);
	assert_int_equal(listen(fd, 8), 0);
	s->server = fork();
	assert_true(s->server >= 0);
	if (s->server == 0)
		serve(fd);
}

static void stop_server(struct scene *s)
{
	assert_int_equal(kill(s->server, SIGKILL), 0);
	assert_int_equal(waitpid(s->server, NULL, 0), s->server);
	assert_int_equal(unlink(s->socket), 0);
}

static void copy_self(const char *to)
{
	static char block[1 << 16];
	auto_fd in = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
	auto_fd out = open(to, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0700);
	ssize_t n;

	assert_true(in >= 0 && out >= 0);
	while ((n = read(in, block, sizeof(block))) > 0)
		assert_int_equal(write(out, block, (size_t)n), n);
	assert_int_equal(n, 0);
}

static void make_policy(struct scene *s)
{
	const struct policy_options o = { 0 };
	struct error e = { 0 };

	s->permissions = permissions_new();
	assert_non_null(s->permissions);
	if (policy_new(&s->policy, (const struct permissions *const *)&s->permissions, 1, &o, &e) <
		0)
		fail_msg("%s", e.text);
}

/* whole: the socket's folder is visible; else only the program and the socket are. */
static void set_up(struct scene *s, bool whole, enum plan_kind kind)
{
	size_t n;

	memset(s, 0, sizeof(*s));
	(void)snprintf(s->folder, sizeof(s->folder), "/tmp/test-doors.XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	(void)snprintf(s->program, sizeof(s->program), "%s/program", s->folder);
	(void)snprintf(s->socket, sizeof(s->socket), "%s/socket", s->folder);
	copy_self(s->program);
	start_server(s);
	make_policy(s);
	box_plan(&s->plan);
	n = s->plan.n;
	memcpy(s->entries, s->plan.entries, n * sizeof(s->entries[0]));
	s->entries[n] = whole ? cover_entry(PLAN_BIND, s->folder, true, false)
			      : (struct plan_entry){ .kind = PLAN_DIR, .path = s->folder };
	s->entries[n++].exec = true;
	if (!whole) {
		s->entries[n] = cover_entry(PLAN_BIND, s->program, false, false);
		s->entries[n++].exec = true;
	}
	s->entries[n++] = cover_entry(kind, s->socket, false, whole);
	s->plan.entries = s->entries;
	s->plan.n = n;
	s->plan.network = PLAN_NETWORK_RELAY;
	s->plan.policy = s->policy;
	s->session = box_open(&s->plan, &s->seen, false);
}

static void tear_down(struct scene *s)
{
	session_free(s->session);
	stop_server(s);
	policy_free(s->policy);
	permissions_free(s->permissions);
	assert_int_equal(unlink(s->program), 0);
	assert_int_equal(rmdir(s->folder), 0);
}

static int ask_inside(struct scene *s)
{
	char line[512];

	(void)snprintf(line, sizeof(line), "exec %s ask %s", s->program, s->socket);
	return box_run(s->session, &s->seen, 1, line);
}

static void in_the_skeleton(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, false, PLAN_SOCKET);
	assert_int_equal(ask_inside(&s), 0);
	assert_int_equal(ask_inside(&s), 0);
	tear_down(&s);
}

/* What stands over the host's socket is a mount: a command can neither remove nor replace it. */
static void over_the_hosts(void **state)
{
	static struct scene s;
	char line[512];

	(void)state;
	set_up(&s, true, PLAN_SOCKET);
	assert_int_equal(ask_inside(&s), 0);
	(void)snprintf(line, sizeof(line), "rm -f %s 2>/dev/null || mv %s %s.x 2>/dev/null",
		s.socket, s.socket, s.socket);
	assert_int_not_equal(box_run(s.session, &s.seen, 1, line), 0);
	assert_int_equal(ask_inside(&s), 0);
	tear_down(&s);
}

/* A server that starts anew has another socket of the same name. */
static void after_a_restart(void **state)
{
	static struct scene s;

	(void)state;
	for (int whole = 0; whole < 2; whole++) {
		set_up(&s, whole, PLAN_SOCKET);
		assert_int_equal(ask_inside(&s), 0);
		stop_server(&s);
		start_server(&s);
		box_settle(s.session, &s.seen);
		assert_int_equal(ask_inside(&s), 0);
		tear_down(&s);
	}
}

/* The same without the grant. */
static void behind_a_mask(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, true, PLAN_MASK);
	assert_int_equal(ask_inside(&s), 3);
	tear_down(&s);
}

static bool has_tables(void)
{
	static struct probe_result r;
	const struct probe_finding *f = probe_run(&r) < 0 ? NULL : probe_find(&r, "nf_tables");

	return f && f->held;
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_the_skeleton),
		cmocka_unit_test(over_the_hosts),
		cmocka_unit_test(after_a_restart),
		cmocka_unit_test(behind_a_mask),
	};

	/* Not return: no sanitizer can look for leaks where there is no looking at oneself. */
	if (argc == 3 && strcmp(argv[1], "ask") == 0)
		_exit(ask(argv[2]));
	if (!has_tables()) {
		(void)puts("1..0 # SKIP kernel: no nf_tables");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
