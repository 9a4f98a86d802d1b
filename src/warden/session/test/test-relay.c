/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A session and the process of its relay: what it tells and when, what it is shut in by, and how
 * both end. The command is this program again, copied to where it can be seen inside.
 */
#include "test/unit.h"

#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/probe/probe.h"
#include "policy/permissions.h"
#include "policy/policy.h"
#include "test/fds.h"
#include "warden/session/internal.h"
#include "warden/session/test/test-box.h"

struct scene {
	char folder[64], program[96];
	struct plan plan;
	struct plan_entry entries[24];
	struct permissions *permissions;
	struct policy *policy;
	struct session *session;
	char told[4096]; /* "record 1.2.3.4:80 REASON|exited|" … in order */
	int code;        /* of the last command */
	bool gone;
};

/* Inside: 0: connected, and somebody said "host"; 3: reset, or refused; 4: no such address. */
static int connect_to(const char *address, const char *port)
{
	struct sockaddr_in to = { .sin_family = AF_INET,
		.sin_port = htons((uint16_t)strtoul(port, NULL, 10)) };
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	char text[8];
	ssize_t n;

	if (fd < 0 || inet_pton(AF_INET, address, &to.sin_addr) != 1)
		return 2;
	if (connect(fd, (const struct sockaddr *)&to, sizeof(to)) < 0)
		return errno == ECONNREFUSED || errno == ECONNRESET ? 3 : 4;
	n = recv(fd, text, sizeof(text), 0);
	if (n < 0)
		return errno == ECONNRESET ? 3 : 5;
	return n == 4 && memcmp(text, "host", 4) == 0 ? 0 : 6;
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

static void on_event(void *context, const struct session_event *event)
{
	struct scene *s = context;
	size_t n = strlen(s->told), left = sizeof(s->told) - n;

	if (event->kind == SESSION_RECORD)
		(void)snprintf(s->told + n, left, "%s %s %s|",
			event->record->kind == RECORD_DENIED ? "denied" : "other",
			event->record->target, event->record->reason);
	if (event->kind == SESSION_EXITED) {
		s->code = event->report.exit_code;
		(void)snprintf(s->told + n, left, "exited|");
	}
	if (event->kind == SESSION_REFUSED)
		fail_msg("%s", event->refusal.text);
	if (event->kind == SESSION_GONE)
		s->gone = true;
}

static void make_policy(struct scene *s, const char *grant)
{
	const struct policy_options o = { 0 };
	struct location where = { 0 };
	struct error e = { 0 };

	s->permissions = permissions_new();
	assert_non_null(s->permissions);
	assert_int_equal(
		permissions_add(s->permissions, &s->permissions->network_allow, grant, &where), 0);
	if (policy_new(&s->policy, (const struct permissions *const *)&s->permissions, 1, &o, &e) <
		0)
		fail_msg("%s", e.text);
}

static void make_plan(struct scene *s)
{
	size_t n;

	box_plan(&s->plan);
	n = s->plan.n;
	memcpy(s->entries, s->plan.entries, n * sizeof(s->entries[0]));
	s->entries[n] = cover_entry(PLAN_BIND, s->folder, false, false);
	s->entries[n++].exec = true;
	s->plan.entries = s->entries;
	s->plan.n = n;
	s->plan.network = PLAN_NETWORK_RELAY;
	s->plan.policy = s->policy;
}

static void open_session(struct scene *s)
{
	const struct session_options o = { 0 };
	const struct session_handler h = { .event = on_event, .context = s };
	struct error e = { 0 };

	if (session_prepare(&s->session, &o, &e) < 0 ||
		session_build(s->session, &s->plan, &h, &e) < 0)
		fail_msg("%s (%s)", e.text, e.hint);
}

static void set_up(struct scene *s, const char *grant)
{
	memset(s, 0, sizeof(*s));
	(void)snprintf(s->folder, sizeof(s->folder), "/tmp/test-relay.XXXXXX");
	assert_non_null(mkdtemp(s->folder));
	(void)snprintf(s->program, sizeof(s->program), "%s/program", s->folder);
	copy_self(s->program);
	make_policy(s, grant);
	make_plan(s);
}

static void tear_down(struct scene *s)
{
	session_free(s->session);
	policy_free(s->policy);
	permissions_free(s->permissions);
	assert_int_equal(unlink(s->program), 0);
	assert_int_equal(rmdir(s->folder), 0);
}

static void dispatch(struct scene *s)
{
	struct pollfd p = { .fd = session_fd(s->session), .events = POLLIN };

	assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
	if (session_dispatch(s->session) < 0)
		s->gone = true;
}

static int run(struct scene *s, const char *line)
{
	s->code = -1;
	box_start(s->session, 1, line, -1, 0);
	while (s->code < 0 && !s->gone)
		dispatch(s);
	return s->code;
}

static int run_connect(struct scene *s, const char *address, unsigned port)
{
	char line[256];

	(void)snprintf(line, sizeof(line), "exec %s connect %s %u", s->program, address, port);
	return run(s, line);
}

/* Whoever hears of a command's end has heard of what it was denied. */
static void tells_before_the_end(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	for (unsigned i = 1; i <= 20; i++) {
		char want[128];

		s.told[0] = '\0';
		assert_int_equal(run_connect(&s, "9.9.9.9", i), 3);
		(void)snprintf(want, sizeof(want),
			"denied 9.9.9.9:%u nothing in network.allow grants it|exited|", i);
		assert_string_equal(s.told, want);
	}
	tear_down(&s);
}

/* Also of what others were denied in the same second, and of what it was denied more than once. */
static void tells_repeats_before_the_end(void **state)
{
	static const char denied[] = "denied 9.9.9.9:80 nothing in network.allow grants it|";
	static struct scene s;
	char line[512], want[256];

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	(void)snprintf(line, sizeof(line), "for i in 1 2 3; do %s connect 9.9.9.9 80; done; exit 5",
		s.program);
	for (unsigned i = 0; i < 20; i++) {
		s.told[0] = '\0';
		assert_int_equal(run_connect(&s, "9.9.9.9", 80), 3);
		(void)snprintf(want, sizeof(want), "%sexited|", denied);
		assert_string_equal(s.told, want);
		/* The first at once, then the other two with their count. */
		s.told[0] = '\0';
		assert_int_equal(run(&s, line), 5);
		(void)snprintf(want, sizeof(want), "%s%sexited|", denied, denied);
		assert_string_equal(s.told, want);
		/* None of it is left for a command that is denied nothing. */
		s.told[0] = '\0';
		assert_int_equal(run(&s, "exit 7"), 7);
		assert_string_equal(s.told, "exited|");
	}
	assert_false(s.session->settling.is_deaf);
	tear_down(&s);
}

/* A relay that does not answer costs one command a moment, and no command its end. */
static void ends_though_its_relay_is_deaf(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	assert_int_equal(run_connect(&s, "9.9.9.9", 80), 3);
	s.session->settling.has_records = true;
	assert_int_equal(kill(s.session->relay.pid, SIGSTOP), 0);
	for (int i = 0; i < 3; i++)
		assert_int_equal(run(&s, "exit 7"), 7);
	assert_true(s.session->settling.is_deaf);
	assert_int_equal(s.session->settling.asked, 2);
	assert_int_equal(kill(s.session->relay.pid, SIGCONT), 0);
	/* It answers late, and is asked again. */
	assert_int_equal(run_connect(&s, "9.9.9.9", 81), 3);
	assert_int_equal(s.session->settling.asked, 3);
	assert_false(s.session->settling.is_deaf);
	assert_false(s.gone);
	tear_down(&s);
}

/* Nothing of the relay's or the zygote's comes with a command. */
static void leaves_no_descriptors(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	for (int i = 0; i < 12; i++)
		assert_int_equal(run(&s, "test $(ls /proc/self/fd | wc -l) -eq 4"), 0);
	assert_int_equal(run(&s, "test -z \"$(ls -l /proc/self/fd | grep socket:)\""), 0);
	tear_down(&s);
}

static int open_pid(pid_t pid)
{
	return (int)syscall(SYS_pidfd_open, pid, 0);
}

static void await_end(int pidfd)
{
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
}

static void ends_with_its_relay(void **state)
{
	static struct scene s;

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	assert_int_equal(run(&s, "exit 7"), 7);
	box_start(s.session, 2, "sleep 1000", -1, 0);
	assert_int_equal(kill(s.session->relay.pid, SIGKILL), 0);
	while (!s.gone)
		dispatch(&s);
	tear_down(&s);
}

/* The error says what happened, not what a write to the socket returned. */
static void is_killed_while_built(void **state)
{
	static struct scene s;
	const struct session_options o = { 0 };
	const struct session_handler h = { .event = on_event, .context = &s };
	struct error e = { 0 };
	int pidfd;

	(void)state;
	set_up(&s, "a.example:443");
	assert_int_equal(session_prepare(&s.session, &o, &e), 0);
	assert_int_equal(session_build_begin(s.session, &s.plan, &h, &e), 0);
	pidfd = open_pid(s.session->relay.pid);
	assert_int_equal(kill(s.session->relay.pid, SIGKILL), 0);
	await_end(pidfd);
	assert_int_equal(close(pidfd), 0);
	assert_int_equal(session_build_finish(s.session, &e), -ECONNRESET);
	assert_string_equal(e.text, "the relay ended while the sandbox was built");
	assert_non_null(strstr(e.hint, "killed it"));
	tear_down(&s);
}

static bool has_line(const char *status, const char *line)
{
	return strstr(status, line) != NULL;
}

static void is_shut_in(void **state)
{
	static struct scene s;
	char path[64], status[4096];
	auto_fd fd = -1;

	(void)state;
	set_up(&s, "a.example:443");
	open_session(&s);
	/* By then it has answered, so it is behind its walls. */
	assert_int_equal(run_connect(&s, "9.9.9.9", 1), 3);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)s.session->relay.pid);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	assert_true(fd >= 0);
	(void)box_read(fd, status, sizeof(status));
	assert_true(has_line(status, "Name:\tcorral-relay\n"));
	assert_true(has_line(status, "Seccomp:\t2\n"));
	assert_true(has_line(status, "NoNewPrivs:\t1\n"));
	assert_true(has_line(status, "CapEff:\t0000000000000000\n"));
	assert_true(has_line(status, "CapPrm:\t0000000000000000\n"));
	/* Nobody of the same user can look into it. */
	(void)snprintf(path, sizeof(path), "/proc/%d/mem", (int)s.session->relay.pid);
	if (geteuid() != 0)
		assert_int_equal(open(path, O_RDONLY | O_CLOEXEC), -1);
	tear_down(&s);
}

/* In a child that dies without a word. */
static _Noreturn void hold(struct scene *s, int out)
{
	(void)prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	open_session(s);
	if (write(out, &s->session->relay.pid, sizeof(pid_t)) != sizeof(pid_t))
		_exit(1);
	for (;;)
		(void)pause();
}

static void ends_with_its_holder(void **state)
{
	static struct scene s;
	int ends[2];
	pid_t holder, relay = 0;
	auto_fd pidfd = -1;

	(void)state;
	set_up(&s, "a.example:443");
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	holder = fork();
	assert_true(holder >= 0);
	if (holder == 0)
		hold(&s, ends[1]);
	assert_int_equal(read(ends[0], &relay, sizeof(relay)), sizeof(relay));
	pidfd = open_pid(relay);
	assert_true(relay > 0 && pidfd >= 0);
	assert_int_equal(kill(holder, SIGKILL), 0);
	await_end(pidfd);
	assert_int_equal(waitpid(holder, NULL, 0), holder);
	fd_close(&ends[0]);
	fd_close(&ends[1]);
	tear_down(&s);
}

/* And with its session, which leaves nothing open in the holder. */
static void ends_with_its_session(void **state)
{
	static struct scene s;
	size_t fds;

	(void)state;
	set_up(&s, "a.example:443");
	fds = count_fds();
	for (int i = 0; i < 3; i++) {
		auto_fd pidfd = -1;

		open_session(&s);
		pidfd = open_pid(s.session->relay.pid);
		assert_true(pidfd >= 0);
		session_free(s.session);
		s.session = NULL;
		await_end(pidfd);
	}
	assert_int_equal(count_fds(), fds);
	open_session(&s);
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
		cmocka_unit_test(tells_before_the_end),
		cmocka_unit_test(tells_repeats_before_the_end),
		cmocka_unit_test(ends_though_its_relay_is_deaf),
		cmocka_unit_test(leaves_no_descriptors),
		cmocka_unit_test(ends_with_its_relay),
		cmocka_unit_test(is_killed_while_built),
		cmocka_unit_test(is_shut_in),
		cmocka_unit_test(ends_with_its_holder),
		cmocka_unit_test(ends_with_its_session),
	};

	/* Not return: no sanitizer can look for leaks where there is no looking at oneself. */
	if (argc == 4 && strcmp(argv[1], "connect") == 0)
		_exit(connect_to(argv[2], argv[3]));
	if (!has_tables()) {
		(void)puts("1..0 # SKIP kernel: no nf_tables");
		return 0;
	}
	return cmocka_run_group_tests(tests, NULL, NULL);
}
