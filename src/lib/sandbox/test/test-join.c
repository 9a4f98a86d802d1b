/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose sandboxes and enclaves join a daemon, which is the test itself. */
#include "lib/sandbox/test/test-common.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include <corral/audit.h>
#include <corral/enclave.h>

#include "audit/event.h"
#include "base/fd.h"
#include "wire/frame.h"
#include "wire/join.h"
#include "wire/question.h"

enum { PATIENCE_MS = 60000 };

static char runtime[80];
static int listener = -1;

static void daemon_start(void)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	(void)snprintf(a.sun_path, sizeof(a.sun_path), "%s/corral/join.sock", runtime);
	listener = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
	assert_true(listener >= 0);
	assert_int_equal(bind(listener, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(listener, 16), 0);
}

static void daemon_stop(void)
{
	char path[256];

	(void)snprintf(path, sizeof(path), "%s/corral/join.sock", runtime);
	(void)unlink(path);
	fd_close(&listener);
}

static int make(void **state)
{
	char path[256];

	if (test_make_folder(state) < 0)
		return -1;
	(void)snprintf(runtime, sizeof(runtime), "%s/run", test_folder);
	(void)snprintf(path, sizeof(path), "%s/corral", runtime);
	if (mkdir(runtime, 0700) < 0 || mkdir(path, 0700) < 0)
		return -1;
	return setenv("XDG_RUNTIME_DIR", runtime, 1);
}

/* A sandbox connects. */
static int daemon_accept(struct join *ret, struct frame *f)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };
	int fd;

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	assert_int_equal(frame_receive(fd, f), 1);
	assert_int_equal(f->type, FRAME_JOIN);
	assert_int_equal(join_decode(ret, f->body, f->len), 0);
	assert_int_equal(frame_send(fd, FRAME_JOINED, 0, NULL, 0, NULL, 0), 0);
	return fd;
}

/* Whether an event with that action and target comes; none has the text in it. */
static bool daemon_hears(int fd, enum audit_action action, const char *target, const char *never)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };
	auto_frame f = { 0 };
	struct audit_event e;

	while (poll(&p, 1, PATIENCE_MS) == 1 && frame_receive(fd, &f) == 1) {
		if (f.type != FRAME_JOIN_EVENT)
			continue;
		assert_int_equal(audit_event_decode(&e, f.body, f.len), 0);
		if (never)
			assert_false(memmem(f.body, f.len, never, strlen(never)));
		if (e.action == action && strstr(e.target, target))
			return true;
	}
	return false;
}

static bool daemon_is_asked(void)
{
	struct pollfd p = { .fd = listener, .events = POLLIN };

	return poll(&p, 1, 0) == 1;
}

/* A command that runs until it is killed. What is killed before it began has no result. */
#define RUNS_ON "echo up; exec sleep 600"

static int keep_up(void *context, enum corral_stream stream, const void *data, size_t len)
{
	(void)stream;
	(void)data;
	*(size_t *)context += len;
	return 0;
}

/* It began. */
static struct corral_process *start_up(struct corral_sandbox *s)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_process *p = NULL;
	struct corral_error *e = NULL;
	static size_t said;

	said = 0;
	call.output = keep_up;
	call.context = &said;
	if (corral_process_start_line(&p, s, RUNS_ON, &call, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	while (said == 0)
		assert_int_equal(corral_process_wait(p, 10, NULL, NULL), -EAGAIN);
	return p;
}

static struct corral_shell *start_shell_up(struct corral_enclave *enclave)
{
	const char *const argv[] = { "sh", "-c", RUNS_ON, NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_shell *shell = NULL;
	struct corral_error *e = NULL;
	static size_t said;

	said = 0;
	call.output = keep_up;
	call.context = &said;
	if (corral_enclave_shell_start(&shell, enclave, NULL, argv, &call, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	while (said == 0)
		assert_int_equal(corral_shell_wait(shell, 10, NULL, NULL), -EAGAIN);
	return shell;
}

static void test_none(void **state)
{
	struct corral_sandbox *s = test_sandbox();

	(void)state;
	test_prints(s, "echo a", "a\n", 0);
	corral_sandbox_free(s);
}

static void test_off(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES];
	struct corral_builder *b;
	struct corral_sandbox *s;

	(void)state;
	daemon_start();
	b = test_builder();
	assert_int_equal(corral_builder_without_daemon(b), 0);
	s = test_build(b);
	test_prints(s, "echo a", "a\n", 0);
	o.no_daemon = 1;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), 0);
	assert_false(daemon_is_asked());
	corral_enclave_free(enclave);
	corral_sandbox_free(s);
	daemon_stop();
}

/* What runs, without values of variables; those that the host's own log must not have, too. */
static void test_events(void **state)
{
	const char *const env[] = { "SECRET=correct-horse-battery", NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_audit *audit = NULL;
	struct corral_builder *b;
	struct corral_sandbox *s;
	struct corral_result *r;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	assert_int_equal(corral_audit_new(&audit, NULL, NULL), 0);
	assert_int_equal(corral_audit_secret(audit, "KEY", "staple-of-the-host"), 0);
	b = test_builder();
	assert_int_equal(corral_builder_allow_env(b, "SECRET"), 0);
	assert_int_equal(corral_builder_with_audit(b, corral_audit_sandbox, audit), 0);
	s = test_build(b);
	fd = daemon_accept(&who, &f);
	assert_int_equal(who.kind, JOIN_SESSION);
	assert_string_equal(who.folder, test_folder);
	assert_int_equal(strlen(who.id), 16);
	call.env = env;
	r = test_run(s, "echo $SECRET correct-horse-battery staple-of-the-host", &call);
	assert_int_equal(corral_result_exit_code(r), 0);
	corral_result_free(r);
	assert_true(daemon_hears(fd, AUDIT_COMMAND_START, "echo", "correct-horse"));
	assert_true(daemon_hears(fd, AUDIT_COMMAND_END, "", "staple-of"));
	corral_sandbox_free(s);
	(void)corral_audit_free(audit, NULL);
	daemon_stop();
}

/* A command that runs is killed, and no other begins. */
static void test_stop(void **state)
{
	struct corral_result *r = NULL;
	struct corral_process *p;
	struct corral_error *e = NULL;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	p = start_up(s);
	assert_int_equal(frame_send(fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, &r, NULL), 0);
	assert_int_equal(corral_result_killed(r), 1);
	corral_result_free(r);
	corral_process_free(p);
	assert_int_equal(corral_sandbox_execute(s, "true", NULL, NULL, &e), -ECANCELED);
	test_says(e, "the user ended it");
	corral_sandbox_free(s);
	daemon_stop();
}

/* Its commands end while the host does not look: also the one of a lent init. */
static void test_stop_without_a_call(void **state)
{
	const char *const argv[] = { "sh", "-c", RUNS_ON, NULL };
	struct corral_call call = CORRAL_CALL;
	struct corral_process *p = NULL;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1, up = -1;
	struct pollfd polled = { .events = POLLIN };
	struct join who;
	char text[8];

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	call.flags = CORRAL_CALL_RAW;
	assert_int_equal(corral_process_start(&p, s, argv, &call, NULL), 0);
	up = corral_process_take_fd(p, CORRAL_STDOUT);
	polled.fd = up;
	assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
	assert_true(read(up, text, sizeof(text)) > 0);
	assert_int_equal(frame_send(fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), 0);
	/* The pipe ends with the command. */
	assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
	assert_int_equal(read(up, text, sizeof(text)), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, NULL, NULL), 0);
	corral_process_free(p);
	corral_sandbox_free(s);
	daemon_stop();
}

/* Orders */

/* ms: how long; 0: while it lives. */
static void daemon_order_grant_for(
	int fd, uint64_t id, enum operation op, const char *pattern, uint64_t ms)
{
	const struct live_grant grant = { .op = op, .until_ms = ms, .pattern = pattern };
	auto_buffer body = { 0 };

	assert_int_equal(live_grant_encode(&grant, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_GRANT, id, body.data, body.len, NULL, 0), 0);
}

static void daemon_order_grant(int fd, uint64_t id, enum operation op, const char *pattern)
{
	daemon_order_grant_for(fd, id, op, pattern, 0);
}

/* The next frame of that type; others are passed over. */
static void daemon_awaits(int fd, enum frame_type type, struct frame *f)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	do {
		assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
		assert_int_equal(frame_receive(fd, f), 1);
	} while (f->type != type);
}

/* The same, which comes while the host waits for that command. */
static void daemon_awaits_of(
	struct corral_process *process, int fd, enum frame_type type, struct frame *f)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (;;) {
		while (poll(&p, 1, 0) == 1) {
			assert_int_equal(frame_receive(fd, f), 1);
			if (f->type == type)
				return;
		}
		assert_int_equal(corral_process_wait(process, 50, NULL, NULL), -EAGAIN);
	}
}

/* What came of an order: 0, or an errno value, and a sentence with that text. */
static void daemon_hears_reply(int fd, uint64_t id, int error, const char *text)
{
	struct join_reply reply;
	auto_frame f = { 0 };

	daemon_awaits(fd, FRAME_JOIN_REPLY, &f);
	assert_int_equal(f.id, id);
	assert_int_equal(join_reply_decode(&reply, f.body, f.len), 0);
	if (reply.error != error || !strstr(reply.text, text))
		fail_msg("%d: %s", reply.error, reply.text);
}

static struct corral_sandbox *sandbox_of(const char *yaml, uint64_t ask_ms)
{
	struct corral_permissions *p = NULL;
	struct corral_builder *b = NULL;
	struct corral_error *e = NULL;

	if (corral_permissions_parse(&p, "test.yaml", yaml, strlen(yaml), &e) < 0)
		fail_msg("%s", corral_error_message(e));
	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	assert_int_equal(corral_builder_ask_ms(b, ask_ms), 0);
	corral_permissions_free(p);
	return test_build(b);
}

/* Nothing listens there: what counts is who refuses. */
#define SYSTEM "fs: {read: ['/usr/**', '/etc/alternatives/**', '$WORK_DIR/**']}\n"
#define ASKS                                                                     \
	SYSTEM                                                                   \
	"rules: [{id: hosts, action: ask, operations: [net.connect], patterns: " \
	"['127.0.0.1:4571', "                                                    \
	"'127.0.0.1:4572']}]\n"
#define CONNECT "bash -c 'exec 3<>/dev/tcp/127.0.0.1/4571 && cat <&3' 2>/dev/null; echo done"

/* Above the ceiling, or what no part of it can enforce; it costs nothing else. */
static void test_order(void **state)
{
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	daemon_order_grant(fd, 7, OPERATION_FS_READ, "/srv/x");
	daemon_order_grant(fd, 8, OPERATION_NET_CONNECT, "example.com:443");
	daemon_order_grant(fd, 9, OPERATION_FS_READ, "/usr/bin");
	daemon_hears_reply(fd, 7, EPERM, "above the ceiling");
	daemon_hears_reply(fd, 8, EPERM, "above the ceiling");
	daemon_hears_reply(fd, 9, EOPNOTSUPP, "keep the files");
	test_prints(s, "echo a", "a\n", 0);
	assert_true(daemon_hears(fd, AUDIT_COMMAND_END, "", NULL));
	corral_sandbox_free(s);
	daemon_stop();
}

/* A host that is granted is not asked about; revoked it is again. */
static void test_grant(void **state)
{
	const struct answer no = { .kind = ANSWER_DENY, .pattern = "" };
	const char *const argv[] = { "sh", "-c", CONNECT, NULL };
	struct corral_process *p = NULL;
	auto_buffer body = { 0 };
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	struct answer answer;
	auto_fd fd = -1;
	struct question q;
	struct join who;
	uint64_t grant;

	(void)state;
	daemon_start();
	s = sandbox_of(ASKS, PATIENCE_MS);
	fd = daemon_accept(&who, &f);
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, "127.0.0.1:4571");
	daemon_awaits(fd, FRAME_GRANTED, &f);
	grant = f.id;
	daemon_hears_reply(fd, 1, 0, "");
	/* Refused by the machine, at once; a question would wait longer than this test. */
	test_prints(s, CONNECT, "done\n", 0);
	assert_int_equal(frame_send(fd, FRAME_REVOKE, 2, &grant, sizeof(grant), NULL, 0), 0);
	daemon_awaits(fd, FRAME_GRANT_OVER, &f);
	assert_int_equal(f.id, grant);
	daemon_hears_reply(fd, 2, 0, "");
	assert_int_equal(corral_process_start(&p, s, argv, NULL, NULL), 0);
	daemon_awaits_of(p, fd, FRAME_QUESTION, &f);
	assert_int_equal(question_decode(&q, f.body, f.len), 0);
	assert_string_equal(q.target, "127.0.0.1:4571");
	answer = no;
	answer.question = f.id;
	assert_int_equal(answer_encode(&answer, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_ANSWER, 3, body.data, body.len, NULL, 0), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, NULL, NULL), 0);
	daemon_hears_reply(fd, 3, 0, "");
	corral_process_free(p);
	corral_sandbox_free(s);
	daemon_stop();
}

/* The command that the host waits for in its own way: what was open is cut when that is confirmed.
 */
static void test_grant_without_a_call(void **state)
{
	static const char script[] =
		"bash -c 'exec 3<>/dev/tcp/127.0.0.1/%u && echo up && read x <&3; echo cut'";
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	struct corral_process *p = NULL;
	struct corral_result *r = NULL;
	char pattern[64], line[256], yaml[512], byte;
	socklen_t len = sizeof(a);
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1, server = -1, client = -1;
	struct pollfd polled = { .events = POLLIN };
	struct join who;
	uint64_t grant;

	(void)state;
	server = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(server, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(server, 4), 0);
	assert_int_equal(getsockname(server, (struct sockaddr *)&a, &len), 0);
	(void)snprintf(pattern, sizeof(pattern), "127.0.0.1:%u", ntohs(a.sin_port));
	(void)snprintf(line, sizeof(line), script, ntohs(a.sin_port));
	(void)snprintf(yaml, sizeof(yaml),
		SYSTEM "rules: [{id: hosts, action: ask, operations: [net.connect], patterns: "
		       "['%s']}]\n",
		pattern);
	daemon_start();
	s = sandbox_of(yaml, PATIENCE_MS);
	fd = daemon_accept(&who, &f);
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, pattern);
	daemon_awaits(fd, FRAME_GRANTED, &f);
	grant = f.id;
	daemon_hears_reply(fd, 1, 0, "");
	assert_int_equal(corral_process_start_line(&p, s, line, NULL, NULL), 0);
	polled.fd = server;
	assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
	client = accept4(server, NULL, NULL, SOCK_CLOEXEC);
	assert_int_equal(frame_send(fd, FRAME_REVOKE, 2, &grant, sizeof(grant), NULL, 0), 0);
	daemon_awaits(fd, FRAME_GRANT_OVER, &f);
	daemon_hears_reply(fd, 2, 0, "");
	polled.fd = client;
	assert_int_equal(poll(&polled, 1, PATIENCE_MS), 1);
	assert_true(recv(client, &byte, 1, MSG_DONTWAIT) <= 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, &r, NULL), 0);
	corral_result_free(r);
	corral_process_free(p);
	corral_sandbox_free(s);
	daemon_stop();
}

/* The holder of this program; 0: there is none. */
static pid_t find_holder(void)
{
	char path[64], text[64], *line = NULL, *at, *end;
	FILE *children;
	size_t cap = 0;
	long pid, found = 0;

	(void)snprintf(path, sizeof(path), "/proc/self/task/%d/children", (int)getpid());
	children = fopen(path, "re");
	assert_non_null(children);
	at = getline(&line, &cap, children) > 0 ? line : text;
	for (text[0] = '\0'; (pid = strtol(at, &end, 10)) > 0; at = end) {
		FILE *comm;

		(void)snprintf(path, sizeof(path), "/proc/%ld/comm", pid);
		comm = fopen(path, "re");
		if (comm && fgets(text, sizeof(text), comm) && strstr(text, "corral-holder"))
			found = pid;
		if (comm)
			(void)fclose(comm);
	}
	free(line);
	(void)fclose(children);
	return (pid_t)found;
}

/* Nothing could take back what it granted: the session ends; another one has no grants. */
static void test_holder_dies(void **state)
{
	struct corral_sandbox *s;
	struct corral_process *p;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = sandbox_of(ASKS, 1);
	fd = daemon_accept(&who, &f);
	p = start_up(s);
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, "127.0.0.1:4571");
	daemon_hears_reply(fd, 1, 0, "");
	assert_true(find_holder() > 0);
	assert_int_equal(kill(find_holder(), SIGKILL), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, NULL, NULL), -ECONNRESET);
	corral_process_free(p);
	test_prints(s, CONNECT, "done\n", 0);
	corral_sandbox_free(s);
	daemon_stop();
}

/* The same of one that has granted nothing: commands run on. */
static void test_holder_dies_without_grants(void **state)
{
	struct corral_sandbox *s;
	struct corral_process *p;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = sandbox_of(ASKS, 1);
	fd = daemon_accept(&who, &f);
	p = start_up(s);
	while (find_holder() == 0)
		assert_int_equal(corral_process_wait(p, 10, NULL, NULL), -EAGAIN);
	assert_int_equal(kill(find_holder(), SIGKILL), 0);
	test_prints(s, "echo a", "a\n", 0);
	assert_int_equal(corral_process_kill(p), 0);
	assert_int_equal(corral_process_wait(p, PATIENCE_MS, NULL, NULL), 0);
	corral_process_free(p);
	corral_sandbox_free(s);
	daemon_stop();
}

/* Other permissions of the host end what was granted below the ones before. */
static void test_grant_and_update(void **state)
{
	struct corral_permissions *p = NULL;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = sandbox_of(ASKS, 0);
	fd = daemon_accept(&who, &f);
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, "127.0.0.1:4571");
	test_prints(s, "true", "", 0);
	daemon_hears_reply(fd, 1, 0, "");
	assert_int_equal(
		corral_permissions_parse(&p, "next.yaml", SYSTEM, strlen(SYSTEM), NULL), 0);
	assert_int_equal(corral_sandbox_update(
				 s, (const struct corral_permissions *const *)&p, 1, NULL, NULL),
		0);
	corral_permissions_free(p);
	daemon_awaits(fd, FRAME_GRANT_OVER, &f);
	daemon_order_grant(fd, 2, OPERATION_NET_CONNECT, "127.0.0.1:4571");
	test_prints(s, "true", "", 0);
	daemon_hears_reply(fd, 2, EPERM, "above the ceiling");
	corral_sandbox_free(s);
	daemon_stop();
}

/* The time of a question is its sandbox's, daemon or not. */
static void test_question_without_daemon(void **state)
{
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	struct join who;
	int fd;

	(void)state;
	daemon_start();
	s = sandbox_of(ASKS, 500);
	fd = daemon_accept(&who, &f);
	(void)close(fd);
	daemon_stop();
	test_prints(s, CONNECT, "done\n", 0);
	test_prints(s, "echo on", "on\n", 0);
	corral_sandbox_free(s);
}

/* In the host's own loop. */
static void test_stop_by_descriptor(void **state)
{
	struct corral_process *p;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	p = start_up(s);
	for (int i = 0; i < 1000; i++) {
		struct pollfd polled = { .fd = corral_process_fd(p), .events = POLLIN };

		if (i == 1)
			assert_int_equal(frame_send(fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), 0);
		assert_true(poll(&polled, 1, i ? PATIENCE_MS : 50) >= 0);
		if (corral_process_dispatch(p) == 1)
			break;
	}
	assert_int_equal(corral_process_wait(p, 0, NULL, NULL), 0);
	corral_process_free(p);
	corral_sandbox_free(s);
	daemon_stop();
}

/* A daemon goes, and another one comes while a command runs: it hears what happened meanwhile. */
static void test_again(void **state)
{
	struct corral_process *p;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	char id[33];
	struct join who;
	int fd;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	(void)snprintf(id, sizeof(id), "%s", who.id);
	(void)close(fd);
	daemon_stop();
	test_prints(s, "echo meanwhile", "meanwhile\n", 0);
	daemon_start();
	p = start_up(s);
	for (int i = 0; i < PATIENCE_MS / 100 && !daemon_is_asked(); i++)
		assert_int_equal(corral_process_wait(p, 100, NULL, NULL), -EAGAIN);
	assert_int_equal(corral_process_kill(p), 0);
	assert_int_equal(corral_process_wait(p, -1, NULL, NULL), 0);
	corral_process_free(p);
	fd = daemon_accept(&who, &f);
	assert_string_equal(who.id, id);
	assert_true(daemon_hears(fd, AUDIT_COMMAND_START, "echo meanwhile", NULL));
	assert_true(daemon_hears(fd, AUDIT_COMMAND_START, "sleep", NULL));
	corral_sandbox_free(s);
	(void)close(fd);
	daemon_stop();
}

/* One that comes later is joined by the next command, when no other runs. */
static void test_late(void **state)
{
	struct corral_sandbox *s = test_sandbox();
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	test_prints(s, "echo before", "before\n", 0);
	daemon_start();
	for (int i = 0; i < PATIENCE_MS / 100 && !daemon_is_asked(); i++) {
		(void)poll(NULL, 0, 100);
		test_prints(s, "echo after", "after\n", 0);
	}
	fd = daemon_accept(&who, &f);
	assert_true(daemon_hears(fd, AUDIT_COMMAND_START, "echo after", "before"));
	corral_sandbox_free(s);
	daemon_stop();
}

static void test_enclave(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES], *data = NULL;
	struct corral_result *r = NULL;
	struct corral_shell *shell;
	struct corral_error *e = NULL;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;
	size_t len;

	(void)state;
	daemon_start();
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), 0);
	assert_int_equal(
		corral_enclave_fs_read(enclave, NULL, "/etc/shadow", &data, &len, NULL), -EACCES);
	fd = daemon_accept(&who, &f);
	assert_int_equal(who.kind, JOIN_ENCLAVE);
	assert_true(daemon_hears(fd, AUDIT_FS_READ, "/etc/shadow", NULL));
	assert_int_equal(corral_enclave_grant(enclave, token, CORRAL_EXEC, "sh", NULL, NULL), 0);
	assert_int_equal(corral_enclave_grant(enclave, token, CORRAL_EXEC, "sleep", NULL, NULL), 0);
	shell = start_shell_up(enclave);
	assert_int_equal(frame_send(fd, FRAME_JOIN_STOP, 0, NULL, 0, NULL, 0), 0);
	assert_int_equal(corral_shell_wait(shell, PATIENCE_MS, &r, NULL), 0);
	assert_int_equal(corral_result_killed(r), 1);
	corral_result_free(r);
	corral_shell_free(shell);
	assert_int_equal(
		corral_enclave_fs_read(enclave, NULL, "/etc/shadow", &data, &len, &e), -ECANCELED);
	test_says(e, "the user ended it");
	corral_enclave_free(enclave);
	/* Its sandbox did not join beside it. */
	assert_false(daemon_is_asked());
	daemon_stop();
}

static void daemon_answers(int fd, uint64_t order, uint64_t question, enum answer_kind kind)
{
	const struct answer a = { .question = question, .kind = kind, .pattern = "" };
	auto_buffer body = { 0 };

	assert_int_equal(answer_encode(&a, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_ANSWER, order, body.data, body.len, NULL, 0), 0);
}

static int read_asked(struct corral_enclave *enclave, const char *path)
{
	char *data = NULL;
	size_t len;
	int r = corral_enclave_fs_read(enclave, NULL, path, &data, &len, NULL);

	free(data);
	return r;
}

static uint64_t daemon_hears_question(int fd, const char *target)
{
	auto_frame f = { 0 };
	struct question q;

	daemon_awaits(fd, FRAME_QUESTION, &f);
	assert_int_equal(question_decode(&q, f.body, f.len), 0);
	assert_string_equal(q.target, target);
	return f.id;
}

/* Once, no, or for longer: what was shown. */
static void test_enclave_question(void **state)
{
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_permissions *granted = NULL;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES], path[256], yaml[512];
	struct corral_audit *audit = NULL;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;
	uint64_t id;

	(void)state;
	(void)snprintf(path, sizeof(path), "%s", test_file("asked", "text", 0600));
	(void)snprintf(yaml, sizeof(yaml),
		"rules: [{id: asks, action: ask, operations: [fs.read], patterns: ['%s/**']}]\n",
		test_folder);
	assert_int_equal(
		corral_permissions_parse(&granted, "test.yaml", yaml, strlen(yaml), NULL), 0);
	assert_int_equal(corral_audit_new(&audit, NULL, NULL), 0);
	assert_int_equal(corral_audit_secret(audit, "KEY", "staple-of-the-host"), 0);
	daemon_start();
	o.granted = granted;
	o.audit = audit;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), 0);
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	fd = daemon_accept(&who, &f);
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	id = daemon_hears_question(fd, path);
	daemon_answers(fd, 1, id, ANSWER_ALLOW);
	daemon_awaits(fd, FRAME_GRANTED, &f);
	id = f.id;
	daemon_hears_reply(fd, 1, 0, "");
	assert_true(read_asked(enclave, path) >= 0);
	/* Revoked it is over: no use is left of the answer. */
	assert_int_equal(frame_send(fd, FRAME_REVOKE, 5, &id, sizeof(id), NULL, 0), 0);
	daemon_awaits(fd, FRAME_GRANT_OVER, &f);
	daemon_hears_reply(fd, 5, 0, "");
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	id = daemon_hears_question(fd, path);
	daemon_answers(fd, 2, id, ANSWER_ONCE);
	daemon_hears_reply(fd, 2, 0, "");
	assert_true(read_asked(enclave, path) >= 0);
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	id = daemon_hears_question(fd, path);
	daemon_answers(fd, 3, id, ANSWER_DENY);
	daemon_hears_reply(fd, 3, 0, "");
	assert_int_equal(read_asked(enclave, path), -EACCES);
	/* What the host's own log must not have, the daemon is not asked about. */
	(void)snprintf(path, sizeof(path), "%s", test_file("staple-of-the-host", "text", 0600));
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	(void)snprintf(path, sizeof(path), "%s", test_file("other", "text", 0600));
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	(void)daemon_hears_question(fd, path);
	corral_enclave_free(enclave);
	corral_permissions_free(granted);
	(void)corral_audit_free(audit, NULL);
	daemon_stop();
}

/* The rule of a question names the file of a policy: it may be what no log must have, too. */
static void test_question_of_a_rule(void **state)
{
	static const char *const files[] = { "test.yaml", "staple-of-the-host.yaml" };
	struct corral_permissions *layers[2] = { NULL };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES], paths[2][256], yaml[2][1024];
	struct corral_audit *audit = NULL;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	(void)snprintf(paths[0], sizeof(paths[0]), "%s", test_file("plain", "text", 0600));
	(void)snprintf(paths[1], sizeof(paths[1]), "%s", test_file("by-rule", "text", 0600));
	/* Each layer asks about one of them, and grants the other. */
	for (size_t i = 0; i < 2; i++) {
		(void)snprintf(yaml[i], sizeof(yaml[i]),
			"{fs: {read: ['%s']}, rules: [{id: asks, action: ask, operations: "
			"[fs.read], patterns: ['%s']}]}\n",
			paths[1 - i], paths[i]);
		assert_int_equal(corral_permissions_parse(
					 &layers[i], files[i], yaml[i], strlen(yaml[i]), NULL),
			0);
	}
	assert_int_equal(corral_audit_new(&audit, NULL, NULL), 0);
	assert_int_equal(corral_audit_secret(audit, "KEY", "staple-of-the-host"), 0);
	daemon_start();
	o.granted = layers[0];
	o.ceiling = (const struct corral_permissions *const *)&layers[1];
	o.n_ceiling = 1;
	o.audit = audit;
	assert_int_equal(corral_enclave_new(&enclave, &o, token, NULL), 0);
	assert_int_equal(read_asked(enclave, "/nonexistent"), -EACCES);
	fd = daemon_accept(&who, &f);
	assert_int_equal(read_asked(enclave, paths[1]), -EINPROGRESS);
	assert_int_equal(read_asked(enclave, paths[0]), -EINPROGRESS);
	(void)daemon_hears_question(fd, paths[0]);
	corral_enclave_free(enclave);
	corral_permissions_free(layers[0]);
	corral_permissions_free(layers[1]);
	(void)corral_audit_free(audit, NULL);
	daemon_stop();
}

/* An enclave that is granted this YAML, with %s for the folder; a second one is its ceiling. */
struct scene {
	struct corral_enclave *enclave;
	struct corral_permissions *layers[2];
	char token[CORRAL_TOKEN_BYTES];
	int fd; /* of the daemon */
};

static struct corral_permissions *scene_permissions(const char *yaml)
{
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;
	auto_buffer text = { 0 };

	for (const char *at; (at = strstr(yaml, "%s")); yaml = at + 2) {
		buffer_add(&text, yaml, (size_t)(at - yaml));
		buffer_adds(&text, test_folder);
	}
	buffer_adds(&text, yaml);
	if (corral_permissions_parse(&p, "test.yaml", buffer_text(&text), text.len, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	return p;
}

static void scene_make(struct scene *s, const char *yaml, const char *ceiling)
{
	const struct corral_variable home = { "HOME", test_folder };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	auto_frame f = { 0 };
	struct join who;

	daemon_start();
	s->layers[0] = scene_permissions(yaml);
	s->layers[1] = ceiling ? scene_permissions(ceiling) : NULL;
	o.granted = s->layers[0];
	o.ceiling = (const struct corral_permissions *const *)&s->layers[1];
	o.n_ceiling = ceiling ? 1 : 0;
	o.variables = &home;
	o.n_variables = 1;
	assert_int_equal(corral_enclave_new(&s->enclave, &o, s->token, NULL), 0);
	assert_int_equal(read_asked(s->enclave, "/nonexistent"), -EACCES);
	s->fd = daemon_accept(&who, &f);
}

static void scene_remove(struct scene *s)
{
	corral_enclave_free(s->enclave);
	corral_permissions_free(s->layers[0]);
	corral_permissions_free(s->layers[1]);
	(void)close(s->fd);
	daemon_stop();
}

/* An order is carried out without a call. */
static void scene_grant(struct scene *s, uint64_t id, const char *path, int error, const char *text)
{
	daemon_order_grant(s->fd, id, OPERATION_FS_READ, path);
	daemon_hears_reply(s->fd, id, error, text);
}

#define ASKS_FILES                                                                          \
	"rules: [{id: no, action: deny, operations: [fs.read], patterns: ['%s/ask-no*'], "  \
	"priority: 9}, {id: asks, action: ask, operations: [fs.read, fs.write], patterns: " \
	"['%s/ask*']}]\n"

/* Below what the host declared, in each layer; never what one denies or does not name. */
static void test_enclave_ceiling(void **state)
{
	char asked[256], denied[256], other[256];
	struct scene s;

	(void)state;
	(void)snprintf(asked, sizeof(asked), "%s", test_file("ask-a", "text", 0600));
	(void)snprintf(denied, sizeof(denied), "%s", test_file("ask-no", "text", 0600));
	(void)snprintf(other, sizeof(other), "%s", test_file("elsewhere", "text", 0600));
	scene_make(&s, ASKS_FILES, NULL);
	scene_grant(&s, 1, denied, EPERM, "above the ceiling");
	scene_grant(&s, 2, other, EPERM, "above the ceiling");
	scene_grant(&s, 3, "/**", EPERM, "above the ceiling");
	assert_int_equal(read_asked(s.enclave, other), -EACCES);
	scene_grant(&s, 4, asked, 0, "");
	assert_true(read_asked(s.enclave, asked) >= 0);
	/* What was granted for reading is not for writing. */
	assert_int_equal(
		corral_enclave_fs_write(s.enclave, NULL, asked, "x", 1, NULL), -EINPROGRESS);
	scene_remove(&s);
	/* Granted by the host, and above its own ceiling. */
	scene_make(&s, ASKS_FILES, "fs: {read: ['/usr/**']}\n");
	scene_grant(&s, 1, asked, EPERM, "above the ceiling");
	assert_int_equal(read_asked(s.enclave, asked), -EACCES);
	scene_remove(&s);
}

/* Two layers ask: one grant answers both. Others of the host end it. */
static void test_enclave_policy_ends_grants(void **state)
{
	struct corral_permissions *next;
	struct scene s;
	char asked[256], *text = NULL;
	auto_frame f = { 0 };

	(void)state;
	(void)snprintf(asked, sizeof(asked), "%s", test_file("ask-a", "text", 0600));
	scene_make(&s, ASKS_FILES, ASKS_FILES);
	scene_grant(&s, 1, asked, 0, "");
	assert_true(read_asked(s.enclave, asked) >= 0);
	/* What the host sets again does not contain it. */
	assert_int_equal(corral_enclave_get_policy(s.enclave, &text), 0);
	assert_null(strstr(text, "granted-while-it-runs"));
	free(text);
	assert_int_equal(corral_enclave_set_policy(s.enclave, s.token, s.layers[0], NULL, NULL), 0);
	daemon_awaits(s.fd, FRAME_GRANT_OVER, &f);
	assert_int_equal(read_asked(s.enclave, asked), -EINPROGRESS);
	/* The new ones are the ceiling. */
	next = scene_permissions("fs: {read: ['/usr/**']}\n");
	assert_int_equal(corral_enclave_set_policy(s.enclave, s.token, next, NULL, NULL), 0);
	corral_permissions_free(next);
	scene_grant(&s, 2, asked, EPERM, "above the ceiling");
	assert_int_equal(read_asked(s.enclave, asked), -EACCES);
	scene_remove(&s);
}

/*
 * A path that was granted is itself and nothing else: a link of that name, which the host could
 * trust (it lies in the home, where no command makes one), leads nowhere, whether it was there
 * before the grant or came after it.
 */
static void test_enclave_grant_is_no_link(void **state)
{
	char link[256], file[256], secret[256];
	struct scene s;

	(void)state;
	(void)snprintf(secret, sizeof(secret), "%s", test_file("secret", "text", 0600));
	(void)snprintf(file, sizeof(file), "%s", test_file("ask-file", "text", 0600));
	(void)snprintf(link, sizeof(link), "%s/ask-link", test_folder);
	(void)unlink(link);
	assert_int_equal(symlink(secret, link), 0);
	/* Where it may be written, no link would be followed anyway. */
	scene_make(&s,
		"rules: [{id: asks, action: ask, operations: [fs.read], patterns: ['%s/ask*']}]\n",
		NULL);
	scene_grant(&s, 1, link, 0, "");
	assert_int_equal(read_asked(s.enclave, link), -EACCES);
	assert_int_equal(read_asked(s.enclave, secret), -EACCES);
	scene_grant(&s, 2, file, 0, "");
	assert_true(read_asked(s.enclave, file) >= 0);
	assert_int_equal(unlink(file), 0);
	assert_int_equal(symlink(secret, file), 0);
	assert_int_equal(read_asked(s.enclave, file), -EACCES);
	/* Another grant makes the policy anew, with the link there. */
	scene_grant(&s, 3, test_file("ask-other", "text", 0600), 0, "");
	assert_int_equal(read_asked(s.enclave, file), -EACCES);
	assert_int_equal(read_asked(s.enclave, secret), -EACCES);
	scene_remove(&s);
}

/* It ends by its time, and lasts without a daemon until then. */
static void test_enclave_grant_ends(void **state)
{
	struct scene s;
	char asked[256];
	int r = 0;

	(void)state;
	(void)snprintf(asked, sizeof(asked), "%s", test_file("ask-a", "text", 0600));
	scene_make(&s, ASKS_FILES, NULL);
	scene_grant(&s, 1, asked, 0, "");
	(void)close(s.fd);
	daemon_stop();
	assert_true(read_asked(s.enclave, asked) >= 0);
	s.fd = -1;
	corral_enclave_free(s.enclave);
	corral_permissions_free(s.layers[0]);
	scene_make(&s, ASKS_FILES, NULL);
	daemon_order_grant_for(s.fd, 1, OPERATION_FS_READ, asked, 100);
	for (int i = 0; i < PATIENCE_MS / 10 && r != -EINPROGRESS; i++) {
		r = read_asked(s.enclave, asked);
		(void)poll(NULL, 0, 10);
	}
	assert_int_equal(r, -EINPROGRESS);
	daemon_hears_reply(s.fd, 1, 0, "");
	scene_remove(&s);
}

/* While it waits for a command, an enclave carries out what the daemon orders. */
static void test_enclave_grant_in_wait(void **state)
{
	struct corral_shell *shell;
	struct pollfd p = { .events = POLLIN };
	char asked[256];
	auto_frame f = { 0 };
	struct scene s;

	(void)state;
	(void)snprintf(asked, sizeof(asked), "%s", test_file("ask-a", "text", 0600));
	scene_make(&s,
		"fs: {read: ['/usr/**', '/etc/alternatives/**']}\nexec: [sh, sleep]\n" ASKS_FILES,
		NULL);
	shell = start_shell_up(s.enclave);
	daemon_order_grant(s.fd, 1, OPERATION_FS_READ, asked);
	p.fd = s.fd;
	do {
		assert_int_equal(corral_shell_wait(shell, 50, NULL, NULL), -EAGAIN);
		while (f.type != FRAME_JOIN_REPLY && poll(&p, 1, 0) == 1)
			assert_int_equal(frame_receive(s.fd, &f), 1);
	} while (f.type != FRAME_JOIN_REPLY);
	assert_true(read_asked(s.enclave, asked) >= 0);
	assert_int_equal(corral_shell_kill(shell), 0);
	assert_int_equal(corral_shell_wait(shell, PATIENCE_MS, NULL, NULL), 0);
	corral_shell_free(shell);
	scene_remove(&s);
}

/* A daemon that does not read holds up no sandbox. */
static void test_deaf(void **state)
{
	struct corral_sandbox *s;

	(void)state;
	daemon_start();
	s = test_sandbox();
	for (int i = 0; i < 200; i++)
		test_prints(s, "echo a", "a\n", 0);
	corral_sandbox_free(s);
	daemon_stop();
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_none),
		cmocka_unit_test(test_off),
		cmocka_unit_test(test_events),
		cmocka_unit_test(test_stop),
		cmocka_unit_test(test_stop_without_a_call),
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_grant_without_a_call),
		cmocka_unit_test(test_holder_dies),
		cmocka_unit_test(test_holder_dies_without_grants),
		cmocka_unit_test(test_grant_and_update),
		cmocka_unit_test(test_question_without_daemon),
		cmocka_unit_test(test_stop_by_descriptor),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_enclave),
		cmocka_unit_test(test_enclave_question),
		cmocka_unit_test(test_question_of_a_rule),
		cmocka_unit_test(test_enclave_ceiling),
		cmocka_unit_test(test_enclave_policy_ends_grants),
		cmocka_unit_test(test_enclave_grant_is_no_link),
		cmocka_unit_test(test_enclave_grant_ends),
		cmocka_unit_test(test_enclave_grant_in_wait),
		cmocka_unit_test(test_deaf),
	};

	return cmocka_run_group_tests(tests, make, test_remove_folder);
}
