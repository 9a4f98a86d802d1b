/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Real servers at real paths, in a folder of the test's; the side inside is another socket in that
 * folder. Records are read as the holder of the session does.
 */
#include "net/test/test-line.h"

#include <signal.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/un.h>

#include "base/array.h"
#include "net/enter/doors.h"
#include "test/fds.h"
#include "wire/frame.h"

static char folder[] = "/tmp/test-doors-XXXXXX";
static char home[64], path[80], inside[80];
static struct recorder *recorder;
static struct doors *doors;
static int ends[2], server;

static struct sockaddr_un address_of(const char *where)
{
	struct sockaddr_un a = { .sun_family = AF_UNIX };

	assert_true(strlen(where) < sizeof(a.sun_path));
	memcpy(a.sun_path, where, strlen(where));
	return a;
}

static int serve(const char *where)
{
	const struct sockaddr_un a = address_of(where);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	assert_true(fd >= 0);
	assert_int_equal(bind(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	assert_int_equal(listen(fd, 4096), 0);
	return fd;
}

static int knock(void)
{
	const struct sockaddr_un a = address_of(inside);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(connect(fd, (const struct sockaddr *)&a, sizeof(a)), 0);
	return fd;
}

/* Turns until the server has somebody. */
static int welcome(int fd)
{
	int r;

	while ((r = accept4(fd, NULL, NULL, SOCK_CLOEXEC)) < 0) {
		assert_int_equal(errno, EAGAIN);
		turn();
	}
	return r;
}

static void close_now(int *fd)
{
	fd_close(fd);
	*fd = -1;
}

/* The next record. */
static void check_record(
	enum record_kind kind, const char *reason, uint64_t sent, uint64_t received)
{
	auto_frame f = { 0 };
	struct record r;
	char target[128];

	while (frame_receive(ends[1], &f) == -EAGAIN)
		turn();
	assert_int_equal(f.type, FRAME_RECORD);
	assert_int_equal(record_decode(&r, f.body, f.len), 0);
	(void)snprintf(target, sizeof(target), "unix:%s", path);
	assert_int_equal(r.kind, kind);
	assert_string_equal(r.target, target);
	assert_string_equal(r.reason, reason);
	assert_int_equal(r.sent, sent);
	assert_int_equal(r.received, received);
}

static int setup(void **state)
{
	struct door door;
	struct error e = { 0 };

	(void)state;
	(void)signal(SIGPIPE, SIG_IGN);
	memcpy(folder + strlen(folder) - 6, "XXXXXX", 6);
	assert_non_null(mkdtemp(folder));
	(void)snprintf(home, sizeof(home), "%s/home", folder);
	(void)snprintf(path, sizeof(path), "%s/socket", home);
	(void)snprintf(inside, sizeof(inside), "%s/inside", folder);
	assert_int_equal(mkdir(home, 0700), 0);
	server = serve(path);
	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(pump_room_new(&room, loop), 0);
	assert_int_equal(frame_pair(ends), 0);
	make_nonblocking(ends[0]);
	make_nonblocking(ends[1]);
	assert_int_equal(recorder_new(&recorder, loop, ends[0]), 0);
	assert_int_equal(door_open(&door, path, &e), 0);
	door.listener = serve(inside);
	assert_int_equal(doors_new(&doors, loop, room, recorder, &door, 1), 0);
	return 0;
}

static int teardown(void **state)
{
	char command[128];

	(void)state;
	doors_free(doors);
	pump_room_free(room);
	recorder_free(recorder);
	loop_free(loop);
	close_now(&server);
	close_now(&ends[0]);
	close_now(&ends[1]);
	(void)snprintf(command, sizeof(command), "rm -r %s", folder);
	assert_int_equal(system(command), 0); // NOLINT(cert-env33-c): the test's own folder
	return 0;
}

static void test_bytes(void **state)
{
	auto_fd client = knock(), served = welcome(server);

	(void)state;
	say(client, "request");
	hear(served, "request");
	say(served, "answer");
	hear(client, "answer");
	close_now(&served);
	hear(client, "");
	close_now(&client);
	check_record(RECORD_CLOSED, "", 7, 6);
}

/* Sent along with a byte: 1 if something of it arrived. */
static void send_fd(int to, int fd)
{
	char byte = 'x', control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&m);

	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &fd, sizeof(fd));
	assert_int_equal(sendmsg(to, &m, MSG_NOSIGNAL), 1);
}

static void check_no_fd(int from)
{
	char byte, control[CMSG_SPACE(sizeof(int))] = { 0 };
	struct iovec v = { &byte, 1 };
	struct msghdr m = { .msg_iov = &v,
		.msg_iovlen = 1,
		.msg_control = control,
		.msg_controllen = sizeof(control) };
	ssize_t r;

	while ((r = recvmsg(from, &m, MSG_DONTWAIT | MSG_CMSG_CLOEXEC)) < 0) {
		assert_int_equal(errno, EAGAIN);
		turn();
	}
	assert_int_equal(r, 1);
	assert_int_equal(byte, 'x');
	assert_int_equal(m.msg_controllen, 0);
	assert_int_equal(m.msg_flags & MSG_CTRUNC, 0);
}

static void test_no_descriptors(void **state)
{
	auto_fd client = knock(), served = welcome(server);
	size_t n = count_fds();

	(void)state;
	send_fd(client, STDIN_FILENO);
	check_no_fd(served);
	send_fd(served, STDIN_FILENO);
	check_no_fd(client);
	assert_int_equal(count_fds(), n);
}

/* Nobody is there; then a new one is, at the same place. */
static void test_restart(void **state)
{
	auto_fd client = knock(), served = welcome(server);

	(void)state;
	close_now(&served);
	close_now(&server);
	close_now(&client);
	check_record(RECORD_CLOSED, "", 0, 0);
	client = knock();
	hear(client, "");
	check_record(RECORD_FAILED, "Connection refused", 0, 0);
	close_now(&client);
	assert_int_equal(unlink(path), 0);
	client = knock();
	hear(client, "");
	check_record(RECORD_FAILED, "No such file or directory", 0, 0);
	close_now(&client);
	server = serve(path);
	client = knock();
	served = welcome(server);
	say(client, "again");
	hear(served, "again");
}

/* What is there is no socket, or leads to another. */
static void test_swapped(void **state)
{
	char other[80];
	auto_fd secret = -1, client = -1, file = -1;

	(void)state;
	(void)snprintf(other, sizeof(other), "%s/secret", folder);
	secret = serve(other);
	assert_int_equal(unlink(path), 0);
	assert_int_equal(symlink(other, path), 0);
	client = knock();
	hear(client, "");
	check_record(RECORD_FAILED, "Socket operation on non-socket", 0, 0);
	assert_int_equal(accept(secret, NULL, NULL), -1);
	assert_int_equal(unlink(path), 0);
	file = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0600);
	assert_true(file >= 0);
	close_now(&client);
	client = knock();
	hear(client, "");
	assert_false(is_busy());
}

/* The folder is the one that was opened, wherever it is now. */
static void test_folder_replaced(void **state)
{
	char away[80];
	auto_fd false_server = -1, client = -1, served = -1;

	(void)state;
	(void)snprintf(away, sizeof(away), "%s/away", folder);
	assert_int_equal(rename(home, away), 0);
	assert_int_equal(mkdir(home, 0700), 0);
	false_server = serve(path);
	client = knock();
	served = welcome(server);
	assert_int_equal(accept(false_server, NULL, NULL), -1);
	say(client, "it is you");
	hear(served, "it is you");
}

static void test_visitors_max(void **state)
{
	static int clients[DOORS_VISITORS_MAX];
	struct rlimit files;
	auto_fd late = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	files.rlim_cur = files.rlim_max;
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	for (size_t i = 0; i < ROWS(clients); i++)
		clients[i] = knock();
	settle();
	late = knock();
	hear(late, "");
	check_record(RECORD_FAILED, "Too many users", 0, 0);
	/* One goes, one may come. */
	close_now(&clients[7]);
	for (size_t i = 0; i < ROWS(clients); i++) {
		auto_fd served = welcome(server);
	}
	check_record(RECORD_CLOSED, "", 0, 0);
	settle();
	close_now(&late);
	late = knock();
	say(late, "me");
	{
		auto_fd served = welcome(server);

		hear(served, "me");
	}
	for (size_t i = 0; i < ROWS(clients); i++)
		fd_close(&clients[i]);
}

/* Out of descriptors: whoever knocks waits, and so does the loop. */
static void test_no_descriptors_left(void **state)
{
	struct rlimit files, none;
	auto_fd client = knock(), served = -1;

	(void)state;
	assert_int_equal(getrlimit(RLIMIT_NOFILE, &files), 0);
	none = (struct rlimit){ .rlim_cur = 3, .rlim_max = files.rlim_max };
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
	turn();
	assert_false(is_busy());
	/* By the timer only. */
	assert_int_equal(loop_turn(loop, -1), 0);
	turn();
	assert_false(is_busy());
	assert_int_equal(setrlimit(RLIMIT_NOFILE, &files), 0);
	assert_int_equal(loop_turn(loop, -1), 0);
	served = welcome(server);
	say(client, "patience");
	hear(served, "patience");
}

static void test_many_bytes(void **state)
{
	static char data[1 << 20], got[1 << 20];
	auto_fd client = knock(), served = welcome(server);
	size_t sent = 0, received = 0;

	(void)state;
	for (size_t i = 0; i < sizeof(data); i++)
		data[i] = (char)(i * 7 ^ i >> 9);
	while (received < sizeof(data)) {
		ssize_t r = send(served, data + sent, sizeof(data) - sent, MSG_DONTWAIT);

		sent += r > 0 ? (size_t)r : 0;
		if (sent == sizeof(data))
			(void)shutdown(served, SHUT_WR);
		assert_int_equal(loop_turn(loop, 0), 0);
		r = recv(client, got + received, sizeof(got) - received, MSG_DONTWAIT);
		received += r > 0 ? (size_t)r : 0;
	}
	assert_memory_equal(got, data, sizeof(data));
}

/* It is shut in front of who comes, and behind who is in; and may be opened again. */
static void test_revoked(void **state)
{
	const char *const granted[] = { "/another", path };
	auto_fd client = knock(), served = welcome(server);

	(void)state;
	say(client, "request");
	hear(served, "request");
	doors_review(doors, granted, 2);
	say(client, "more");
	hear(served, "more");
	doors_review(doors, granted, 1);
	hear(client, "");
	hear(served, "");
	check_record(RECORD_CLOSED, "", 11, 0);
	check_record(RECORD_DENIED, "the grant was revoked", 0, 0);
	close_now(&client);
	client = knock();
	hear(client, "");
	assert_int_equal(accept4(server, NULL, NULL, SOCK_CLOEXEC), -1);
	close_now(&client);
	close_now(&served);
	doors_review(doors, granted, 2);
	client = knock();
	served = welcome(server);
	say(client, "again");
	hear(served, "again");
}

/* Doors that do not open. */
static void test_open_fails(void **state)
{
	struct door door;
	struct error e = { 0 };
	char missing[80];

	(void)state;
	assert_int_equal(door_open(&door, "relative", &e), -EINVAL);
	assert_int_equal(door.folder, -1);
	(void)snprintf(missing, sizeof(missing), "%s/none/socket", folder);
	assert_int_equal(door_open(&door, missing, &e), -ENOENT);
	assert_non_null(strstr(e.text, "cannot open the folder: No such file or directory"));
	assert_int_equal(door_open(&door, "/socket", &e), 0);
	close_now(&door.folder);
	assert_int_equal(doors_new(&doors, loop, room, recorder, NULL, DOORS_MAX + 1), -E2BIG);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	static const struct CMUnitTest tests[] = {
		TEST(test_bytes),
		TEST(test_no_descriptors),
		TEST(test_restart),
		TEST(test_swapped),
		TEST(test_folder_replaced),
		TEST(test_visitors_max),
		TEST(test_no_descriptors_left),
		TEST(test_many_bytes),
		TEST(test_revoked),
		TEST(test_open_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
