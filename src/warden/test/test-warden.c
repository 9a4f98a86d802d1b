/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-warden as its host sees it, over descriptor 3: what is refused, what ends it, and that
 * nothing is left when it ended. The program is the first argument.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "jail/probe/probe.h"
#include "test/scratch.h"
#include "warden/session/test/test-box.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "wire/record.h"
#include "wire/report.h"
#include "wire/start.h"

static const char *program;
static char folder[] = "/tmp/test-warden.XXXXXX";

struct host {
	int socket;
	pid_t pid;
	struct frame frame;
};

enum { POLICY_FD = 7 };

/* In the child: the socket on 3, the policy (or -1) on 7, nothing else. */
static _Noreturn void become_warden(int socket, int policy, const char *const *env)
{
	/* The search for leaks needs what a confined process must not have. */
	const char *words[8] = { "ASAN_OPTIONS=detect_leaks=0" };
	int kept = policy >= 0 ? fcntl(policy, F_DUPFD, 20) : -1;

	if (fcntl(socket, F_DUPFD, 20) < 0 || dup2(socket, 3) < 0)
		_exit(99);
	if (kept >= 0 && dup2(kept, POLICY_FD) < 0)
		_exit(99);
	for (size_t i = 0; i < 6 && env[i]; i++)
		words[i + 1] = env[i];
	(void)close_range(kept >= 0 ? POLICY_FD + 1 : 4, ~0U, 0);
	(void)execve(
		program, (char *const[]){ (char *)"corral-warden", NULL }, (char *const *)words);
	_exit(99);
}

static void host_begin(struct host *h, int policy, const char *const *env)
{
	int pair[2];

	memset(h, 0, sizeof(*h));
	assert_int_equal(frame_pair(pair), 0);
	h->pid = fork();
	assert_true(h->pid >= 0);
	if (h->pid == 0)
		become_warden(pair[1], policy, env);
	(void)close(pair[1]);
	h->socket = pair[0];
}

/* It ends by itself, with everything inside. */
static int host_end(struct host *h)
{
	struct box_hold hold;
	int status = 0;

	box_hold(&hold, h->pid);
	(void)close(h->socket);
	(void)box_await_end(&hold);
	assert_int_equal(waitpid(h->pid, &status, 0), h->pid);
	frame_deinit(&h->frame);
	assert_true(WIFEXITED(status));
	return WEXITSTATUS(status);
}

static enum frame_type host_receive(struct host *h)
{
	struct pollfd p = { .fd = h->socket, .events = POLLIN };
	int r;

	/* An init that is lent comes at any time; this host gives all commands to the warden. */
	do {
		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		r = frame_receive(h->socket, &h->frame);
		assert_in_range(r, 0, 1);
	} while (r == 1 && h->frame.type == FRAME_INIT);
	return r == 1 ? h->frame.type : FRAME_NONE;
}

static void send_configure(struct host *h, uint32_t flags)
{
	const struct configure c = { .flags = flags,
		.host = (uint32_t)getpid(),
		.variables.values = { [VARIABLE_HOME] = "/home/nobody-here",
			[VARIABLE_WORK_DIR] = folder,
			[VARIABLE_TEMP] = "/tmp" } };
	auto_buffer body = { 0 };

	assert_int_equal(configure_encode(&c, &body), 0);
	assert_int_equal(
		frame_send(h->socket, FRAME_CONFIGURE, 0, body.data, body.len, NULL, 0), 0);
}

static void host_ready(struct host *h)
{
	struct refusal refusal;

	send_configure(h, CONFIGURE_SHELL);
	if (host_receive(h) == FRAME_READY)
		return;
	assert_int_equal(refusal_decode(&refusal, h->frame.body, h->frame.len), 0);
	fail_msg("%s", refusal.text);
}

static void open_host(struct host *h)
{
	static const char *const env[] = { "CORRAL_POLICY={\"fs\":{\"read\":[\"/usr/**\"]}}",
		NULL };

	host_begin(h, -1, env);
	host_ready(h);
}

static void send_start_with(struct host *h, uint64_t id, const char *line, int out, uint32_t flags)
{
	const char *argv[4];
	struct start start = box_shell(argv, line);
	auto_buffer body = { 0 };
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	const int fds[3] = { null, out >= 0 ? out : null, null };

	start.flags |= flags;
	assert_int_equal(start_encode(&start, &body), 0);
	assert_int_equal(frame_send(h->socket, FRAME_START, id, body.data, body.len, fds, 3), 0);
}

static void send_start(struct host *h, uint64_t id, const char *line, int out)
{
	send_start_with(h, id, line, out, 0);
}

static int host_run(struct host *h, const char *line)
{
	struct report report;

	send_start(h, 1, line, -1);
	assert_int_equal(host_receive(h), FRAME_STARTED);
	assert_int_equal(host_receive(h), FRAME_EXITED);
	assert_int_equal(report_decode(&report, h->frame.body, h->frame.len), 0);
	assert_int_equal(report.signal, 0);
	return report.exit_code;
}

static void answers(void **state)
{
	struct host h;

	(void)state;
	open_host(&h);
	assert_int_equal(host_run(&h, "exit 7"), 7);
	/* An id may be used again after its end. A signal to an id without a command is no error.
	 */
	assert_int_equal(frame_send(h.socket, FRAME_SIGNAL, 5, &(uint32_t){ 15 }, 4, NULL, 0), 0);
	assert_int_equal(frame_send(h.socket, FRAME_KILL, 5, NULL, 0, NULL, 0), 0);
	assert_int_equal(host_run(&h, "exit 8"), 8);
	assert_int_equal(host_end(&h), 0);
}

/* Who does not wait to hear of the start hears of the end; also of one that was killed. */
static void tells_the_end_alone(void **state)
{
	struct report report;
	struct host h;

	(void)state;
	open_host(&h);
	send_start_with(&h, 1, "exit 7", -1, START_QUIET);
	assert_int_equal(host_receive(&h), FRAME_EXITED);
	assert_int_equal(report_decode(&report, h.frame.body, h.frame.len), 0);
	assert_int_equal(report.exit_code, 7);
	send_start_with(&h, 2, "kill -9 $$", -1, START_QUIET);
	assert_int_equal(host_receive(&h), FRAME_EXITED);
	assert_int_equal(report_decode(&report, h.frame.body, h.frame.len), 0);
	assert_int_equal(report.signal, 9);
	assert_int_equal(host_run(&h, "exit 8"), 8);
	assert_int_equal(host_end(&h), 0);
}

/* The same of an init that was lent: it says nothing before the end. */
static void a_lent_init_tells_the_end_alone(void **state)
{
	const char *argv[4];
	struct start start = box_shell(argv, "exit 7");
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC), init = -1;
	const int fds[3] = { null, null, null };
	struct pollfd p = { .events = POLLIN };
	auto_buffer body = { 0 };
	struct host h;

	(void)state;
	open_host(&h);
	while (h.frame.type != FRAME_INIT) {
		p.fd = h.socket;
		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		assert_int_equal(frame_receive(h.socket, &h.frame), 1);
	}
	init = frame_take_fd(&h.frame, 0);
	p.fd = init;
	for (int i = 0; i < 2; i++) {
		buffer_clear(&body);
		start.flags = i == 0 ? START_QUIET : 0;
		assert_int_equal(start_encode(&start, &body), 0);
		assert_int_equal(frame_send(init, FRAME_START, 1, body.data, body.len, fds, 3), 0);
		assert_int_equal(poll(&p, 1, BOX_PATIENCE_MS), 1);
		assert_int_equal(frame_receive(init, &h.frame), 1);
		assert_int_equal(h.frame.type, i == 0 ? FRAME_EXITED : FRAME_STARTED);
	}
	assert_int_equal(host_end(&h), 0);
}

/* Sources of permissions. */

static int make_memfd(const char *text, int seals)
{
	int fd = memfd_create("policy", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	assert_true(fd >= 0);
	assert_int_equal(write(fd, text, strlen(text)), (ssize_t)strlen(text));
	assert_int_equal(fcntl(fd, F_ADD_SEALS, seals), 0);
	return fd;
}

enum { ALL_SEALS = F_SEAL_WRITE | F_SEAL_GROW | F_SEAL_SHRINK };

/* Each source grants a folder of its own, so it can be seen inside which one counted. */
struct ways {
	char folders[3][128], texts[3][256], path[128];
	char file[160], variable[300];
};

static void make_sources(struct ways *s)
{
	for (int i = 0; i < 3; i++) {
		(void)snprintf(s->folders[i], sizeof(s->folders[i]), "%s/%d", folder, i);
		(void)mkdir(s->folders[i], 0755);
		(void)snprintf(s->texts[i], sizeof(s->texts[i]), "{\"fs\":{\"read\":[\"%s/**\"]}}",
			s->folders[i]);
	}
	(void)snprintf(s->path, sizeof(s->path), "%s/policy.json", folder);
	cover_write(s->path, s->texts[1]);
	(void)snprintf(s->file, sizeof(s->file), "CORRAL_POLICY_FILE=%s", s->path);
	(void)snprintf(s->variable, sizeof(s->variable), "CORRAL_POLICY=%s", s->texts[2]);
}

static int look(const struct ways *s, int policy, const char *const *env)
{
	struct host h;
	char line[1024];
	int code;

	host_begin(&h, policy, env);
	host_ready(&h);
	(void)snprintf(line, sizeof(line),
		"n=0; test -d %s && n=$((n+1)); test -d %s && n=$((n+2)); test -d %s && "
		"n=$((n+4)); exit $n",
		s->folders[0], s->folders[1], s->folders[2]);
	code = host_run(&h, line);
	assert_int_equal(host_end(&h), 0);
	return code;
}

static void sources_in_order(void **state)
{
	struct ways s;
	auto_fd memfd = -1;

	(void)state;
	make_sources(&s);
	memfd = make_memfd(s.texts[0], ALL_SEALS);
	assert_int_equal(
		look(&s, memfd,
			(const char *const[]){ "CORRAL_POLICY_FD=7", s.file, s.variable, NULL }),
		1);
	assert_int_equal(look(&s, -1, (const char *const[]){ s.file, s.variable, NULL }), 2);
	assert_int_equal(look(&s, -1, (const char *const[]){ s.variable, NULL }), 4);
	assert_int_equal(look(&s, -1, (const char *const[]){ NULL }), 0);
}

static void expect_failure(int policy, const char *const *env, const char *words)
{
	struct host h;
	struct refusal refusal;

	host_begin(&h, policy, env);
	send_configure(&h, CONFIGURE_SHELL);
	assert_int_equal(host_receive(&h), FRAME_FAILED);
	assert_int_equal(refusal_decode(&refusal, h.frame.body, h.frame.len), 0);
	if (!strstr(refusal.text, words))
		fail_msg("\"%s\" is not in \"%s\"", words, refusal.text);
	/* No other source is taken instead, and no command. */
	assert_int_equal(host_receive(&h), FRAME_NONE);
	assert_int_equal(host_end(&h), 1);
}

static void sources_refused(void **state)
{
	struct ways s;
	auto_fd open_memfd = -1;
	auto_fd half = -1;
	auto_fd plain = -1;

	(void)state;
	make_sources(&s);
	open_memfd = make_memfd(s.texts[0], 0);
	half = make_memfd(s.texts[0], F_SEAL_GROW | F_SEAL_SHRINK);
	plain = open(s.path, O_RDONLY | O_CLOEXEC);
	expect_failure(open_memfd,
		(const char *const[]){ "CORRAL_POLICY_FD=7", s.file, s.variable, NULL }, "sealed");
	expect_failure(
		half, (const char *const[]){ "CORRAL_POLICY_FD=7", s.variable, NULL }, "sealed");
	expect_failure(
		plain, (const char *const[]){ "CORRAL_POLICY_FD=7", s.variable, NULL }, "sealed");
	expect_failure(-1, (const char *const[]){ "CORRAL_POLICY_FD=7", s.variable, NULL },
		"CORRAL_POLICY_FD");
	expect_failure(-1, (const char *const[]){ "CORRAL_POLICY_FD=x", s.variable, NULL },
		"CORRAL_POLICY_FD");
	expect_failure(-1,
		(const char *const[]){ "CORRAL_POLICY_FILE=/nowhere/x", s.variable, NULL },
		"/nowhere/x");
	expect_failure(-1, (const char *const[]){ "CORRAL_POLICY_FILE=x", s.variable, NULL },
		"CORRAL_POLICY_FILE");
	expect_failure(-1, (const char *const[]){ "CORRAL_POLICY={", NULL }, "policy");
	expect_failure(
		-1, (const char *const[]){ "CORRAL_POLICY={\"nonsense\":1}", NULL }, "nonsense");
}

/* What a command can find of the policy, and of where it came from. */
static void nothing_shows(void **state)
{
	struct ways s;
	struct host h;
	char line[1024], text[8192];
	int pipes[2];
	auto_fd memfd = -1;

	(void)state;
	make_sources(&s);
	memfd = make_memfd(
		"{\"fs\":{\"read\":[\"/usr/**\"]},\"env\":[\"PATH\",\"MARK=marked-policy\"]}",
		ALL_SEALS);
	host_begin(&h, memfd,
		(const char *const[]){
			"CORRAL_POLICY_FD=7", s.file, s.variable, "OF_HOST=secret", NULL });
	host_ready(&h);
	(void)snprintf(line, sizeof(line),
		"export; cat /proc/self/environ /proc/1/environ /proc/1/cmdline "
		"/proc/self/mountinfo; ls -l /proc/self/fd /proc/1/fd /proc/*/cwd; cat %s",
		s.path);
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	send_start(&h, 1, line, pipes[1]);
	(void)close(pipes[1]);
	for (size_t n = box_read(pipes[0], text, sizeof(text)), i = 0; i < n; i++)
		text[i] = text[i] ? text[i] : ' ';
	(void)close(pipes[0]);
	assert_non_null(strstr(text, "PATH="));
	assert_null(strstr(text, "CORRAL"));
	assert_null(strstr(text, "OF_HOST"));
	assert_null(strstr(text, "ASAN"));
	assert_null(strstr(text, "marked-policy"));
	assert_null(strstr(text, "memfd"));
	assert_null(strstr(text, "corral-warden"));
	assert_null(strstr(text, s.path));
	assert_int_equal(host_receive(&h), FRAME_STARTED);
	assert_int_equal(host_receive(&h), FRAME_EXITED);
	assert_int_equal(host_end(&h), 0);
}

/* Breaches of the protocol. */

static void send_bytes(struct host *h, const void *bytes, size_t n)
{
	assert_int_equal(send(h->socket, bytes, n, MSG_NOSIGNAL), (ssize_t)n);
}

static void breach_garbage(struct host *h)
{
	send_bytes(h, "garbage, and more of it than a header has", 41);
}

static void breach_short(struct host *h)
{
	send_bytes(h, "CRRL", 4);
}

static void breach_oversized(struct host *h)
{
	const struct {
		uint32_t magic;
		uint16_t type, protocol;
		uint64_t id;
		uint32_t len, n_fds;
	} head = { 0x4c525243, FRAME_KILL, FRAME_PROTOCOL, 1, 1U << 30, 0 };

	send_bytes(h, &head, sizeof(head));
}

static void breach_unknown(struct host *h)
{
	const struct {
		uint32_t magic;
		uint16_t type, protocol;
		uint64_t id;
		uint32_t len, n_fds;
	} head = { 0x4c525243, FRAME_TYPE_COUNT, FRAME_PROTOCOL, 1, 0, 0 };

	send_bytes(h, &head, sizeof(head));
}

static void breach_direction(struct host *h)
{
	(void)frame_send(h->socket, FRAME_EXITED, 1, NULL, 0, NULL, 0);
}

/* A socket of its own, by which a holder sends grants. */
static int attach_holder(struct host *h)
{
	auto_fd theirs = -1;
	int pair[2];

	assert_int_equal(frame_pair(pair), 0);
	theirs = pair[1];
	assert_int_equal(frame_send(h->socket, FRAME_HOLDER, 0, NULL, 0, &theirs, 1), 0);
	return pair[0];
}

/* There is one. */
static void breach_second_holder(struct host *h)
{
	auto_fd first = attach_holder(h), second = attach_holder(h);
}

static void breach_twice(struct host *h)
{
	send_configure(h, 0);
}

static void breach_body(struct host *h)
{
	(void)frame_send(h->socket, FRAME_START, 3, "bad", 3, (int[]){ 0, 1, 2 }, 3);
}

static void breach_fds(struct host *h)
{
	const char *argv[4];
	struct start start = box_shell(argv, "exit 0");
	auto_buffer body = { 0 };

	assert_int_equal(start_encode(&start, &body), 0);
	(void)frame_send(
		h->socket, FRAME_START, 3, body.data, body.len, (int[]){ h->socket, h->socket }, 2);
}

static void breach_signal(struct host *h)
{
	(void)frame_send(h->socket, FRAME_SIGNAL, 1, "x", 1, NULL, 0);
}

static void breach_spawn(struct host *h)
{
	(void)frame_send(h->socket, FRAME_SPAWN, 0, NULL, 0, NULL, 0);
}

static void breach_change(struct host *h)
{
	(void)frame_send(h->socket, FRAME_POLICY, 1, "x", 1, NULL, 0);
}

static void breach_grants(struct host *h)
{
	(void)frame_send(h->socket, FRAME_GRANTS, 1, "x", 1, NULL, 0);
}

static void breach_answer(struct host *h)
{
	(void)frame_send(h->socket, FRAME_ANSWER, 1, "x", 1, NULL, 0);
}

/* It is the warden that passes them on. */
static void breach_question(struct host *h)
{
	(void)frame_send(h->socket, FRAME_QUESTION, 1, NULL, 0, NULL, 0);
}

static void breach_hang_up(struct host *h)
{
	(void)shutdown(h->socket, SHUT_WR);
}

static void (*const breaches[])(struct host *h) = { breach_garbage, breach_short, breach_oversized,
	breach_unknown, breach_direction, breach_twice, breach_body, breach_fds, breach_signal,
	breach_spawn, breach_second_holder, breach_change, breach_grants, breach_answer,
	breach_question, breach_hang_up };

/* All that was sent before the end is read; then it ends. */
static void await_end(struct host *h)
{
	for (int i = 0; i < 10; i++)
		if (host_receive(h) == FRAME_NONE)
			return;
	fail();
}

static void ends_at_breach(void **state)
{
	(void)state;
	for (size_t i = 0; i < ROWS(breaches); i++) {
		struct host h;
		struct box_hold hold;

		open_host(&h);
		send_start(&h, 1, "(setsid sleep 1000 &); trap '' TERM HUP; sleep 1000", -1);
		assert_int_equal(host_receive(&h), FRAME_STARTED);
		box_hold(&hold, h.pid);
		assert_true(hold.n >= 3);
		breaches[i](&h);
		await_end(&h);
		(void)box_await_end(&hold);
		(void)host_end(&h);
	}
}

static void needs_configuration(void **state)
{
	struct host h;

	(void)state;
	for (size_t i = 0; i < ROWS(breaches); i++) {
		if (breaches[i] == breach_twice)
			continue;
		host_begin(&h, -1, (const char *const[]){ NULL });
		breaches[i](&h);
		await_end(&h);
		assert_int_equal(host_end(&h), 1);
	}
	/* The end before the first word, and while it builds. */
	host_begin(&h, -1, (const char *const[]){ NULL });
	assert_int_equal(host_end(&h), 1);
	host_begin(&h, -1, (const char *const[]){ NULL });
	send_configure(&h, 0);
	(void)host_end(&h);
}

static void refuses_a_used_id(void **state)
{
	struct host h;

	(void)state;
	open_host(&h);
	send_start(&h, 1, "sleep 1000", -1);
	assert_int_equal(host_receive(&h), FRAME_STARTED);
	send_start(&h, 1, "exit 0", -1);
	assert_int_equal(host_receive(&h), FRAME_REFUSED);
	assert_int_equal(frame_send(h.socket, FRAME_KILL, 1, NULL, 0, NULL, 0), 0);
	assert_int_equal(host_receive(&h), FRAME_EXITED);
	assert_int_equal(host_run(&h, "exit 9"), 9);
	assert_int_equal(host_end(&h), 0);
}

/* A body that does not fit into a packet, through the confined warden. */
static void passes_long_words(void **state)
{
	struct host h;
	const char *argv[5];
	struct start start = box_shell(argv, "");
	static char word[100001];
	auto_buffer body = { 0 };
	auto_fd null = open("/dev/null", O_RDWR | O_CLOEXEC);
	struct report report;

	(void)state;
	memset(word, 'a', sizeof(word) - 1);
	argv[2] = "test ${#0} -eq 100000 && exit 3";
	argv[3] = word;
	argv[4] = NULL;
	start.n_argv = 4;
	open_host(&h);
	assert_int_equal(start_encode(&start, &body), 0);
	assert_int_equal(frame_send(h.socket, FRAME_START, 1, body.data, body.len,
				 (int[]){ null, null, null }, 3),
		0);
	assert_int_equal(host_receive(&h), FRAME_STARTED);
	assert_int_equal(host_receive(&h), FRAME_EXITED);
	assert_int_equal(report_decode(&report, h.frame.body, h.frame.len), 0);
	assert_int_equal(report.exit_code, 3);
	assert_int_equal(host_end(&h), 0);
}

static void has_line(pid_t pid, const char *line)
{
	char path[64], text[4096];

	(void)snprintf(path, sizeof(path), "/proc/%d/status", (int)pid);
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC);
	(void)box_read(fd, text, sizeof(text));
	if (!strstr(text, line))
		fail_msg("no \"%s\" in\n%s", line, text);
}

static void is_confined(void **state)
{
	struct host h;
	pid_t zygote[BOX_FAMILY];

	(void)state;
	open_host(&h);
	/* The walls stand before the first frame is heard. */
	assert_int_equal(host_run(&h, "exit 0"), 0);
	has_line(h.pid, "\nSeccomp:\t2\n");
	has_line(h.pid, "\nNoNewPrivs:\t1\n");
	has_line(h.pid, "\nCapEff:\t0000000000000000\n");
	has_line(h.pid, "\nCapPrm:\t0000000000000000\n");
	/* An ordinary user cannot lower the bound of what it can never get. */
	if (geteuid() == 0)
		has_line(h.pid, "\nCapBnd:\t0000000000000000\n");
	assert_int_equal(box_children(h.pid, zygote), 1);
	has_line(zygote[0], "\nSeccomp:\t2\n");
	has_line(zygote[0], "\nNoNewPrivs:\t1\n");
	has_line(zygote[0], "\nCapEff:\t0000000000200000\n");
	has_line(zygote[0], "\nCapBnd:\t0000000000000000\n");
	assert_int_equal(host_end(&h), 0);
}

static void warden_killed(void **state)
{
	struct host h;
	struct box_hold hold;

	(void)state;
	open_host(&h);
	for (uint64_t i = 1; i < 4; i++) {
		send_start(&h, i, "(setsid sleep 1000 &); trap '' TERM HUP; sleep 1000", -1);
		assert_int_equal(host_receive(&h), FRAME_STARTED);
	}
	box_hold(&hold, h.pid);
	assert_true(hold.n >= 7);
	assert_int_equal(kill(h.pid, SIGKILL), 0);
	(void)printf("# all gone after %.1f ms\n", box_await_end(&hold));
	await_end(&h);
	(void)close(h.socket);
	assert_int_equal(waitpid(h.pid, NULL, 0), h.pid);
	frame_deinit(&h.frame);
}

static void zygote_killed(void **state)
{
	struct host h;
	pid_t zygote[BOX_FAMILY];
	struct refusal refusal;

	(void)state;
	open_host(&h);
	send_start(&h, 1, "sleep 1000", -1);
	assert_int_equal(host_receive(&h), FRAME_STARTED);
	assert_int_equal(box_children(h.pid, zygote), 1);
	assert_int_equal(kill(zygote[0], SIGKILL), 0);
	assert_int_equal(host_receive(&h), FRAME_GONE);
	assert_int_equal(refusal_decode(&refusal, h.frame.body, h.frame.len), 0);
	assert_true(refusal.hint[0] != '\0');
	await_end(&h);
	assert_int_equal(host_end(&h), 0);
}

/* Its child has the control socket too, and lives on: that must not keep the session alive. */
static _Noreturn void be_host(int out)
{
	struct host h;
	pid_t pid;

	open_host(&h);
	send_start(&h, 1, "(setsid sleep 1000 &); trap '' TERM HUP; sleep 1000", -1);
	if (host_receive(&h) != FRAME_STARTED)
		_exit(1);
	pid = fork();
	if (pid == 0)
		for (;;)
			(void)pause();
	(void)!write(out, &pid, sizeof(pid));
	(void)!write(out, &h.pid, sizeof(h.pid));
	for (;;)
		(void)pause();
}

static void host_killed(void **state)
{
	struct box_hold hold;
	pid_t host, child, warden;
	int pipes[2];

	(void)state;
	assert_int_equal(pipe2(pipes, O_CLOEXEC), 0);
	host = fork();
	assert_true(host >= 0);
	if (host == 0)
		be_host(pipes[1]);
	(void)close(pipes[1]);
	assert_int_equal(read(pipes[0], &child, sizeof(child)), sizeof(child));
	assert_int_equal(read(pipes[0], &warden, sizeof(warden)), sizeof(warden));
	(void)close(pipes[0]);
	box_hold(&hold, warden);
	assert_true(hold.n >= 3);
	assert_int_equal(kill(host, SIGKILL), 0);
	(void)printf("# all gone after %.1f ms\n", box_await_end(&hold));
	assert_int_equal(kill(child, 0), 0);
	assert_int_equal(kill(child, SIGKILL), 0);
	assert_int_equal(waitpid(host, NULL, 0), host);
}

/* The host's limit of open files holds for commands, and not for how many there can be. */
static void has_room(void **state)
{
	struct rlimit old, tight;
	struct host h;
	size_t ended = 0;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &old), 0);
	tight = old;
	tight.rlim_cur = 64;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &tight), 0);
	open_host(&h);
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &old), 0);
	assert_int_equal(host_run(&h, "exit $(ulimit -n)"), 64);
	/* One by one: descriptors that are under way count for the limit too. */
	for (uint64_t i = 1; i <= 40; i++) {
		send_start(&h, i, "sleep 1000", -1);
		assert_int_equal(host_receive(&h), FRAME_STARTED);
	}
	for (uint64_t i = 1; i <= 40; i++)
		assert_int_equal(frame_send(h.socket, FRAME_KILL, i, NULL, 0, NULL, 0), 0);
	for (int i = 0; i < 40; i++)
		ended += host_receive(&h) == FRAME_EXITED;
	assert_int_equal(ended, 40);
	assert_int_equal(host_end(&h), 0);
}

/* Without a relay other permissions cannot be enforced, and that is reported. */
static void has_no_relay_to_change(void **state)
{
	const struct change change = { .text = "{}" };
	struct refusal refusal;
	auto_buffer body = { 0 };
	struct host h;

	(void)state;
	assert_int_equal(change_encode(&change, &body), 0);
	open_host(&h);
	assert_int_equal(frame_send(h.socket, FRAME_POLICY, 9, body.data, body.len, NULL, 0), 0);
	assert_int_equal(host_receive(&h), FRAME_POLICY);
	assert_int_equal(h.frame.id, 9);
	assert_int_equal(refusal_decode(&refusal, h.frame.body, h.frame.len), 0);
	assert_int_equal(refusal.error, ENOTCONN);
	assert_int_equal(host_run(&h, "exit 7"), 7);
	assert_int_equal(host_end(&h), 0);
}

static void send_grants(int holder, uint64_t id, const char *host)
{
	const struct live_grant grant = { .op = OPERATION_NET_CONNECT, .pattern = host };
	auto_buffer body = { 0 };

	assert_int_equal(live_grants_encode(&grant, host ? 1 : 0, &body), 0);
	assert_int_equal(frame_send(holder, FRAME_GRANTS, id, body.data, body.len, NULL, 0), 0);
}

/* An error number, or 0. */
static int hear_granted(int holder, uint64_t id)
{
	struct refusal refusal = { 0 };
	auto_frame f = { 0 };

	assert_int_equal(frame_receive(holder, &f), 1);
	assert_int_equal(f.type, FRAME_GRANTS);
	assert_int_equal(f.id, id);
	if (f.len)
		assert_int_equal(refusal_decode(&refusal, f.body, f.len), 0);
	return refusal.error;
}

/* Where there is neither relay nor broker, no host is granted; less is always possible. An answer
 * to what was not asked is passed over. */
static void has_nothing_to_grant(void **state)
{
	const struct answer answer = { .kind = ANSWER_ONCE, .pattern = "" };
	auto_buffer body = { 0 };
	auto_fd holder = -1;
	struct host h;

	(void)state;
	assert_int_equal(answer_encode(&answer, &body), 0);
	open_host(&h);
	holder = attach_holder(&h);
	assert_int_equal(frame_send(holder, FRAME_ANSWER, 3, body.data, body.len, NULL, 0), 0);
	assert_int_equal(frame_send(h.socket, FRAME_ANSWER, 3 | QUESTION_OF_RELAY, body.data,
				 body.len, NULL, 0),
		0);
	send_grants(holder, 9, "example.com:443");
	assert_int_equal(hear_granted(holder, 9), ENOTCONN);
	send_grants(holder, 10, NULL);
	assert_int_equal(hear_granted(holder, 10), 0);
	assert_int_equal(host_run(&h, "exit 7"), 7);
	/* It has nothing to take back: commands go on without it. */
	fd_close(&holder);
	assert_int_equal(host_run(&h, "exit 8"), 8);
	assert_int_equal(host_end(&h), 0);
}

/* By the holder's socket nothing is started and nothing is changed but what is granted. */
static void takes_grants_alone_from_a_holder(void **state)
{
	static const enum frame_type forged[] = { FRAME_START, FRAME_POLICY, FRAME_KILL,
		FRAME_HOLDER, FRAME_CONFIGURE, FRAME_HOLD };
	auto_frame f = { 0 };

	(void)state;
	for (size_t i = 0; i < ROWS(forged) + 2; i++) {
		auto_fd holder = -1;
		struct host h;

		open_host(&h);
		holder = attach_holder(&h);
		if (i < ROWS(forged))
			assert_int_equal(frame_send(holder, forged[i], 1, NULL, 0, NULL, 0), 0);
		else if (i == ROWS(forged))
			assert_int_equal(frame_send(holder, FRAME_GRANTS, 1, "x", 1, NULL, 0), 0);
		else
			send_grants(holder, UINT64_C(1) << 62, NULL);
		assert_int_equal(frame_receive(holder, &f), 0);
		assert_int_equal(host_run(&h, "exit 7"), 7);
		assert_int_equal(host_end(&h), 0);
	}
}

static bool has_tables(void)
{
	static struct probe_result r;
	const struct probe_finding *f = probe_run(&r) < 0 ? NULL : probe_find(&r, "nf_tables");

	return f && f->held;
}

/* The id is free again: the warden has handled the end of what had it. Nothing is read for that. */
static void await_free_id(struct host *h)
{
	char byte = 0;

	while (byte != 'x') {
		int ends[2];

		assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
		send_start(h, 1, "printf x", ends[1]);
		(void)close(ends[1]);
		assert_in_range(read(ends[0], &byte, 1), 0, 1);
		(void)close(ends[0]);
	}
}

/* A command is denied more than a host that does not read is told of: it is told how much. */
static void tells_what_it_dropped(void **state)
{
	static const char *const env[] = { "CORRAL_POLICY={\"fs\":{\"read\":[\"/usr/**\"]},"
					   "\"network\":{\"allow\":[\"a.example:443\"]}}",
		NULL };
	enum { MANY = 4000 };
	uint64_t records = 0, counted = 0, lost = 0;
	struct record r;
	struct host h;
	int ends[2];
	char byte;

	(void)state;
	if (!has_tables()) {
		(void)puts("# SKIP kernel: no nf_tables");
		return;
	}
	host_begin(&h, -1, env);
	host_ready(&h);
	assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
	send_start(&h, 1,
		"exec bash -c 'for ((i = 1; i <= 4000; i++)); do echo x >/dev/udp/192.0.2.7/$i; "
		"done'",
		ends[1]);
	(void)close(ends[1]);
	assert_int_equal(read(ends[0], &byte, 1), 0);
	(void)close(ends[0]);
	await_free_id(&h);
	for (;;) {
		enum frame_type type = host_receive(&h);

		if (type == FRAME_EXITED)
			break;
		if (type != FRAME_RECORD)
			continue;
		assert_int_equal(record_decode(&r, h.frame.body, h.frame.len), 0);
		records++;
		counted += r.count;
		if (strcmp(r.target, "*") == 0 && strstr(r.reason, "network records were lost"))
			lost += strtoull(r.reason, NULL, 10);
	}
	assert_true(lost > 0);
	assert_true(records < MANY && counted > records);
	assert_in_range(counted, records + lost - 1, MANY);
	assert_int_equal(host_end(&h), 0);
}

static int make_folder(void **state)
{
	(void)state;
	return mkdtemp(folder) ? 0 : -1;
}

static int remove_folder(void **state)
{
	(void)state;
	return scratch_remove(folder);
}

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(answers),
		cmocka_unit_test(tells_the_end_alone),
		cmocka_unit_test(a_lent_init_tells_the_end_alone),
		cmocka_unit_test(sources_in_order),
		cmocka_unit_test(sources_refused),
		cmocka_unit_test(nothing_shows),
		cmocka_unit_test(ends_at_breach),
		cmocka_unit_test(needs_configuration),
		cmocka_unit_test(refuses_a_used_id),
		cmocka_unit_test(passes_long_words),
		cmocka_unit_test(is_confined),
		cmocka_unit_test(warden_killed),
		cmocka_unit_test(zygote_killed),
		cmocka_unit_test(host_killed),
		cmocka_unit_test(has_room),
		cmocka_unit_test(has_no_relay_to_change),
		cmocka_unit_test(has_nothing_to_grant),
		cmocka_unit_test(takes_grants_alone_from_a_holder),
		cmocka_unit_test(tells_what_it_dropped),
	};

	if (argc != 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests_name("warden", tests, make_folder, remove_folder);
}
