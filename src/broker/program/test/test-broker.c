/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program itself: argv[1] is corral-broker. This test holds the session, and is its programs.
 */
#include "test/unit.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "test/scratch.h"
#include "wire/broker.h"
#include "wire/ledger.h"
#include "wire/frame.h"
#include "wire/report.h"
#include "wire/sockets.h"

enum { WAIT_MS = 60000 };

static const char *program;

struct holder {
	char folder[64];
	int listener, root, control;
	pid_t broker;
	unsigned number; /* of the test's runs */
	uint32_t flags;  /* of the setup */
	struct sockaddr_un address;
	struct frame frame;
};

/* Its end of the socket becomes descriptor 3 there. */
static void holder_spawn(struct holder *h)
{
	char name[] = "corral-broker";
	char *argv[] = { name, NULL };
	posix_spawn_file_actions_t files;
	int pair[2], theirs;

	assert_int_equal(frame_pair(pair), 0);
	h->control = fcntl(pair[0], F_DUPFD_CLOEXEC, 10);
	theirs = fcntl(pair[1], F_DUPFD_CLOEXEC, 10);
	(void)close(pair[0]);
	(void)close(pair[1]);
	assert_int_equal(posix_spawn_file_actions_init(&files), 0);
	assert_int_equal(posix_spawn_file_actions_adddup2(&files, theirs, 3), 0);
	assert_int_equal(posix_spawn(&h->broker, program, &files, NULL, argv, environ), 0);
	(void)posix_spawn_file_actions_destroy(&files);
	(void)close(theirs);
}

static void holder_listen(struct holder *h)
{
	h->address.sun_family = AF_UNIX;
	(void)snprintf(
		h->address.sun_path, sizeof(h->address.sun_path), "%s/broker.sock", h->folder);
	h->listener = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(h->listener, (struct sockaddr *)&h->address, sizeof(h->address)), 0);
	assert_int_equal(listen(h->listener, 128), 0);
}

static struct frame *holder_hears(struct holder *h)
{
	struct pollfd p = { .fd = h->control, .events = POLLIN };

	assert_int_equal(poll(&p, 1, WAIT_MS), 1);
	return frame_receive(h->control, &h->frame) == 1 ? &h->frame : NULL;
}

static void holder_set_up(struct holder *h, const char *permissions)
{
	const char *const layers[] = { permissions };
	static const char *const environment[] = { "TOKEN=t0ps3cret" };
	struct broker_setup s = { .flags = h->flags,
		.layers = layers,
		.n_layers = 1,
		.environment = environment,
		.n_environment = 1,
		.folder = h->folder,
		.variables.values = { [VARIABLE_WORK_DIR] = h->folder } };
	struct ledger *ledger = NULL;
	auto_buffer body = { 0 };
	auto_fd shared = -1;

	assert_int_equal(ledger_new(&ledger, &shared), 0);
	assert_int_equal(broker_setup_encode(&s, &body), 0);
	assert_int_equal(frame_send(h->control, FRAME_BROKER, 0, body.data, body.len,
				 (const int[]){ shared }, 1),
		0);
	ledger_free(ledger);
}

/* The tree stands. */
static void holder_hand_over(struct holder *h)
{
	const int fds[] = {
		[SOCKETS_BROKER_LISTENER] = h->listener, [SOCKETS_BROKER_ROOT] = h->root
	};

	assert_int_equal(sockets_send_now(h->control, SOCKETS_BROKER, fds, ROWS(fds)), 0);
}

static int holder_begin(void **state)
{
	static unsigned number;
	struct holder *h = calloc(1, sizeof(*h));
	char path[128];
	FILE *f;

	assert_non_null(h);
	(void)snprintf(h->folder, sizeof(h->folder), "/tmp/corral-broker-XXXXXX");
	assert_non_null(mkdtemp(h->folder));
	(void)snprintf(path, sizeof(path), "%s/a", h->folder);
	f = fopen(path, "we");
	assert_non_null(f);
	assert_true(fputs("hello", f) >= 0);
	assert_int_equal(fclose(f), 0);
	h->root = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	holder_listen(h);
	holder_spawn(h);
	h->number = number++;
	*state = h;
	return 0;
}

/* It ends by itself when the holder has gone. */
static int holder_end(void **state)
{
	struct holder *h = *state;
	int status = -1;

	fd_close(&h->control);
	if (h->broker)
		assert_int_equal(waitpid(h->broker, &status, 0), h->broker);
	frame_deinit(&h->frame);
	fd_close(&h->listener);
	fd_close(&h->root);
	(void)scratch_remove(h->folder);
	free(h);
	return 0;
}

static void holder_is_ready(struct holder *h)
{
	struct refusal refusal;

	holder_set_up(h, "{\"fs\":{\"read\":[\"$WORK_DIR/{,**}\"]}}");
	assert_non_null(holder_hears(h));
	if (h->frame.type == FRAME_FAILED &&
		refusal_decode(&refusal, h->frame.body, h->frame.len) == 0)
		fail_msg("%s", refusal.text);
	assert_int_equal(h->frame.type, FRAME_READY);
	assert_int_equal(h->frame.len, 0);
	holder_hand_over(h);
}

/* One line there, one line back; NULL: it was hung up. */
static const char *ask_line(const struct holder *h, const char *line)
{
	static char answer[8192];
	auto_fd fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t len = 0;

	if (connect(fd, (const struct sockaddr *)&h->address, sizeof(h->address)) < 0 ||
		send(fd, line, strlen(line), MSG_NOSIGNAL) != (ssize_t)strlen(line))
		return NULL;
	while (len + 1 < sizeof(answer)) {
		struct pollfd p = { .fd = fd, .events = POLLIN };
		ssize_t n = poll(&p, 1, WAIT_MS) == 1 ? recv(fd, answer + len, 1, 0) : -1;

		if (n <= 0)
			return NULL;
		if (answer[len++] == '\n')
			break;
	}
	answer[len] = '\0';
	return answer;
}

#define READ(path)                                                                                 \
	"{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"fs.read\",\"params\":{\"path\":\"" path "\"}}" \
	"\n"

static void is_served(const struct holder *h)
{
	const char *answer = ask_line(h, READ("a"));

	if (!answer || !strstr(answer, "\"content\":\"hello\""))
		fail_msg("answered: %s", answer ? answer : "nothing");
}

static pid_t front_of(const struct holder *h)
{
	char path[64], text[64] = "";
	FILE *f;

	(void)snprintf(path, sizeof(path), "/proc/%d/task/%d/children", h->broker, h->broker);
	f = fopen(path, "re");
	if (!f)
		return 0;
	if (!fgets(text, sizeof(text), f))
		text[0] = '\0';
	(void)fclose(f);
	return (pid_t)strtol(text, NULL, 10);
}

static void test_serves(void **state)
{
	struct holder *h = *state;
	const char *answer;

	holder_is_ready(h);
	is_served(h);
	answer = ask_line(h, READ("/etc/passwd"));
	assert_non_null(answer);
	assert_non_null(strstr(answer, "-32001"));
	assert_non_null(strstr(answer, "ask the user for this grant"));
	assert_non_null(strstr(answer, "\"allowed\":[\"$WORK_DIR/{,**}\"]"));
	answer = ask_line(h, "{\"jsonrpc\":\"2.0\",\"id\":2,\"method\":\"ping\"}\n");
	assert_non_null(answer);
	assert_non_null(strstr(answer, "\"pong\":true"));
	answer = ask_line(h,
		"{\"jsonrpc\":\"2.0\",\"id\":3,\"method\":\"file_read\",\"params\":{\"path\":"
		"\"/etc/passwd\"}}\n");
	assert_non_null(answer);
	assert_non_null(strstr(answer, "\"code\":1001"));
}

static bool is_refused_unread(const char *answer)
{
	return answer && strstr(answer, "-32005") && strstr(answer, "does not read");
}

/* A holder that is stopped, as by SIGTSTP: what would not be recorded is not done. */
static void test_holder_does_not_read(void **state)
{
	enum { MANY = 20000 };
	struct holder *h = *state;
	const char *answer = NULL;
	int served = 0, told = 0;

	h->flags = BROKER_TELLS;
	holder_is_ready(h);
	for (; served < MANY; served++) {
		answer = ask_line(h, READ("a"));
		if (!answer || !strstr(answer, "\"content\":\"hello\""))
			break;
	}
	if (!is_refused_unread(answer))
		fail_msg("%d served, then: %s", served, answer ? answer : "nothing");
	for (int i = 0; i < 3; i++)
		assert_true(is_refused_unread(ask_line(h, READ("a"))));
	/* It goes on: all that was done is reported, also without another call. */
	while (told < served) {
		assert_non_null(holder_hears(h));
		assert_int_equal(h->frame.type, FRAME_EVENT);
		assert_int_equal(h->frame.id, 0);
		told++;
	}
	is_served(h);
}

/* kill -9 of the front: calls fail or wait, and then go on. */
static void test_front_is_replaced(void **state)
{
	struct holder *h = *state;

	holder_is_ready(h);
	/* There is none before the first call. */
	assert_int_equal(front_of(h), 0);
	for (int i = 0; i < 3; i++) {
		pid_t front;

		is_served(h);
		front = front_of(h);
		assert_true(front > 0);
		assert_int_equal(kill(front, SIGKILL), 0);
		/* A connection that the dead one had is closed; the next is served. */
		for (int k = 0; k < WAIT_MS / 20 && !ask_line(h, READ("a")); k++)
			(void)usleep(20000);
		is_served(h);
		assert_int_not_equal(front_of(h), front);
	}
}

/* What the front may do: nothing that a program would want. */
static void test_front_is_confined(void **state)
{
	static const char *const lines[] = { "NoNewPrivs:\t1", "Seccomp:\t2",
		"CapEff:\t0000000000000000", "CapPrm:\t0000000000000000" };
	struct holder *h = *state;
	static char text[8192];
	char path[64];
	size_t n;
	FILE *f;

	holder_is_ready(h);
	is_served(h);
	(void)snprintf(path, sizeof(path), "/proc/%d/status", front_of(h));
	f = fopen(path, "re");
	assert_non_null(f);
	n = fread(text, 1, sizeof(text) - 1, f);
	(void)fclose(f);
	text[n] = '\0';
	for (size_t i = 0; i < ROWS(lines); i++)
		if (!strstr(text, lines[i]))
			fail_msg("no %s in %s", lines[i], text);
}

/* The holder hears what is wrong. */
static void test_wrong_setup(void **state)
{
	struct holder *h = *state;
	struct refusal refusal;

	holder_set_up(h, "{\"fs\":{\"raed\":[]}}");
	assert_non_null(holder_hears(h));
	assert_int_equal(h->frame.type, FRAME_FAILED);
	assert_int_equal(refusal_decode(&refusal, h->frame.body, h->frame.len), 0);
	assert_non_null(strstr(refusal.text, "raed"));
}

/* What is not the session's sockets ends it, with a sentence. */
static void test_wrong_sockets(void **state)
{
	struct holder *h = *state;
	const int one[] = { h->listener }, more[] = { h->listener, h->root, h->listener };
	struct refusal refusal;

	holder_set_up(h, "{}");
	assert_non_null(holder_hears(h));
	assert_int_equal(h->frame.type, FRAME_READY);
	if (h->number % 2)
		assert_int_equal(sockets_send_now(h->control, SOCKETS_BROKER, one, ROWS(one)), 0);
	else
		assert_int_equal(sockets_send_now(h->control, SOCKETS_BROKER, more, ROWS(more)), 0);
	assert_non_null(holder_hears(h));
	assert_int_equal(h->frame.type, FRAME_FAILED);
	assert_int_equal(refusal_decode(&refusal, h->frame.body, h->frame.len), 0);
	assert_int_equal(refusal.error, EPROTO);
}

/* The monitor dies: no call is served, and nobody waits for ever. */
static void test_monitor_dies(void **state)
{
	struct holder *h = *state;
	pid_t front;

	holder_is_ready(h);
	is_served(h);
	front = front_of(h);
	assert_int_equal(kill(h->broker, SIGKILL), 0);
	assert_int_equal(waitpid(h->broker, NULL, 0), h->broker);
	h->broker = 0;
	for (int i = 0; i < WAIT_MS / 10 && kill(front, 0) == 0; i++)
		(void)usleep(10000);
	/* Nobody has the listener but this test. */
	assert_int_equal(kill(front, 0), -1);
	fd_close(&h->listener);
	assert_null(ask_line(h, READ("a")));
}

/* Without a control socket there is nothing to do, and it says so. */
static void test_by_hand(void **state)
{
	static const struct {
		const char *word, *says;
		int status;
	} rows[] = {
		{ "--help", "corral-broker(8)", 0 },
		{ "--version", "corral-broker 0.", 0 },
		{ "--front", "descriptor 3 is not a control socket", 2 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++) {
		char line[512], text[1024];
		FILE *f;
		size_t n;
		int status;

		(void)snprintf(
			line, sizeof(line), "exec 2>&1 3<&-; exec '%s' %s", program, rows[i].word);
		f = popen(line, "re"); /* NOLINT(cert-env33-c): our own path */
		assert_non_null(f);
		n = fread(text, 1, sizeof(text) - 1, f);
		text[n] = '\0';
		status = pclose(f);
		assert_int_equal(WEXITSTATUS(status), rows[i].status);
		if (!strstr(text, rows[i].says))
			fail_msg("%s: %s", rows[i].word, text);
	}
}

#define TEST(f) cmocka_unit_test_setup_teardown(f, holder_begin, holder_end)

int main(int argc, char **argv)
{
	const struct CMUnitTest tests[] = {
		TEST(test_serves),
		TEST(test_holder_does_not_read),
		TEST(test_front_is_replaced),
		TEST(test_front_is_confined),
		TEST(test_wrong_setup),
		TEST(test_wrong_sockets),
		TEST(test_wrong_sockets),
		TEST(test_monitor_dies),
		cmocka_unit_test(test_by_hand),
	};

	if (argc < 2)
		return 2;
	program = argv[1];
	return cmocka_run_group_tests(tests, NULL, NULL);
}
