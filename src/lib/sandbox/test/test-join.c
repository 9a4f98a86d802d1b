/* SPDX-License-Identifier: Apache-2.0 */
/* A program whose sandboxes and enclaves join a daemon, which is the test itself. */
#include "lib/sandbox/test/test-common.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
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

/* Somebody connects. */
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
	const char *const argv[] = { "sleep", "30", NULL };
	struct corral_process *p = NULL;
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	assert_int_equal(corral_process_start(&p, s, argv, NULL, NULL), 0);
	assert_int_equal(corral_process_wait(p, 50, &r, NULL), -EAGAIN);
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

/* Orders */

static void daemon_order_grant(int fd, uint64_t id, enum operation op, const char *pattern)
{
	const struct live_grant grant = { .op = op, .pattern = pattern };
	auto_buffer body = { 0 };

	assert_int_equal(live_grant_encode(&grant, &body), 0);
	assert_int_equal(frame_send(fd, FRAME_GRANT, id, body.data, body.len, NULL, 0), 0);
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
	"['127.0.0.1:45671', "                                                   \
	"'127.0.0.1:45672']}]\n"
#define CONNECT "bash -c 'exec 3<>/dev/tcp/127.0.0.1/45671 && cat <&3' 2>/dev/null; echo done"

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
	test_prints(s, "echo a", "a\n", 0);
	daemon_hears_reply(fd, 7, EPERM, "above the ceiling");
	daemon_hears_reply(fd, 8, EPERM, "above the ceiling");
	daemon_hears_reply(fd, 9, EOPNOTSUPP, "keep the files");
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
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, "127.0.0.1:45671");
	test_prints(s, "true", "", 0);
	daemon_awaits(fd, FRAME_GRANTED, &f);
	grant = f.id;
	daemon_hears_reply(fd, 1, 0, "");
	/* Refused by the machine, at once; a question would wait longer than this test. */
	test_prints(s, CONNECT, "done\n", 0);
	assert_int_equal(frame_send(fd, FRAME_REVOKE, 2, &grant, sizeof(grant), NULL, 0), 0);
	assert_int_equal(corral_process_start(&p, s, argv, NULL, NULL), 0);
	daemon_awaits_of(p, fd, FRAME_GRANT_OVER, &f);
	assert_int_equal(f.id, grant);
	daemon_hears_reply(fd, 2, 0, "");
	daemon_awaits_of(p, fd, FRAME_QUESTION, &f);
	assert_int_equal(question_decode(&q, f.body, f.len), 0);
	assert_string_equal(q.target, "127.0.0.1:45671");
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
	daemon_order_grant(fd, 1, OPERATION_NET_CONNECT, "127.0.0.1:45671");
	test_prints(s, "true", "", 0);
	daemon_hears_reply(fd, 1, 0, "");
	assert_int_equal(
		corral_permissions_parse(&p, "next.yaml", SYSTEM, strlen(SYSTEM), NULL), 0);
	assert_int_equal(corral_sandbox_update(
				 s, (const struct corral_permissions *const *)&p, 1, NULL, NULL),
		0);
	corral_permissions_free(p);
	daemon_awaits(fd, FRAME_GRANT_OVER, &f);
	daemon_order_grant(fd, 2, OPERATION_NET_CONNECT, "127.0.0.1:45671");
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
	const char *const argv[] = { "sleep", "30", NULL };
	struct corral_process *p = NULL;
	struct corral_sandbox *s;
	auto_frame f = { 0 };
	auto_fd fd = -1;
	struct join who;

	(void)state;
	daemon_start();
	s = test_sandbox();
	fd = daemon_accept(&who, &f);
	assert_int_equal(corral_process_start(&p, s, argv, NULL, NULL), 0);
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
	const char *const argv[] = { "sleep", "600", NULL };
	struct corral_process *p = NULL;
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
	assert_int_equal(corral_process_start(&p, s, argv, NULL, NULL), 0);
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
	for (int i = 0; i < 100 && !daemon_is_asked(); i++) {
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
	const char *const argv[] = { "sleep", "30", NULL };
	struct corral_enclave_options o = CORRAL_ENCLAVE_OPTIONS;
	struct corral_enclave *enclave = NULL;
	char token[CORRAL_TOKEN_BYTES], *data = NULL;
	struct corral_shell *shell = NULL;
	struct corral_result *r = NULL;
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
	assert_int_equal(corral_enclave_grant(enclave, token, CORRAL_EXEC, "sleep", NULL, NULL), 0);
	assert_int_equal(corral_enclave_shell_start(&shell, enclave, NULL, argv, NULL, NULL), 0);
	assert_int_equal(corral_shell_wait(shell, 50, &r, NULL), -EAGAIN);
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

/* Once, or no: what was shown, and nothing longer. */
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
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	daemon_hears_reply(fd, 1, EOPNOTSUPP, "longer than once");
	daemon_answers(fd, 2, id, ANSWER_ONCE);
	assert_true(read_asked(enclave, path) >= 0);
	daemon_hears_reply(fd, 2, 0, "");
	assert_int_equal(read_asked(enclave, path), -EINPROGRESS);
	id = daemon_hears_question(fd, path);
	daemon_answers(fd, 3, id, ANSWER_DENY);
	assert_int_equal(read_asked(enclave, path), -EACCES);
	daemon_hears_reply(fd, 3, 0, "");
	daemon_order_grant(fd, 4, OPERATION_FS_READ, path);
	assert_int_equal(read_asked(enclave, path), -EACCES);
	daemon_hears_reply(fd, 4, EOPNOTSUPP, "no ceiling");
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

/* A daemon that does not read holds nobody up. */
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
		cmocka_unit_test(test_order),
		cmocka_unit_test(test_grant),
		cmocka_unit_test(test_grant_and_update),
		cmocka_unit_test(test_question_without_daemon),
		cmocka_unit_test(test_stop_by_descriptor),
		cmocka_unit_test(test_again),
		cmocka_unit_test(test_late),
		cmocka_unit_test(test_enclave),
		cmocka_unit_test(test_enclave_question),
		cmocka_unit_test(test_deaf),
	};

	return cmocka_run_group_tests(tests, make, test_remove_folder);
}
