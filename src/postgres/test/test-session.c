/* SPDX-License-Identifier: Apache-2.0 */
/* What a server is asked first: for TLS, unless it is granted as one of this machine. */
#include "test/unit.h"

#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>

#include "base/array.h"
#include "base/fd.h"
#include "event/wait.h"
#include "postgres/session.h"
#include "postgres/startup.h"

enum { PATIENCE_MS = 30000 };

static bool password(void *context, const char *user, const void **ret, size_t *len)
{
	(void)context;
	(void)user;
	*ret = "password";
	*len = strlen("password");
	return true;
}

static void used(void *context, const char *user)
{
	(void)context;
	(void)user;
}

static void failed(void *context, const char *text)
{
	(void)context;
	(void)text;
}

/* A connection to 127.0.0.1: whatever the host is called, it is there. */
static void connect_near(int ret[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	socklen_t len = sizeof(a);
	auto_fd listener = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);

	ret[0] = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	assert_int_equal(bind(listener, (struct sockaddr *)&a, len), 0);
	assert_int_equal(listen(listener, 1), 0);
	assert_int_equal(getsockname(listener, (struct sockaddr *)&a, &len), 0);
	assert_int_equal(connect(ret[0], (struct sockaddr *)&a, len), 0);
	ret[1] = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(ret[1] >= 0);
}

static enum startup_kind first_of(const char *host)
{
	static const struct startup login = {
		.kind = STARTUP_LOGIN, .parameters = { { "user", "app" } }, .n = 1
	};
	struct pg_sessions all = { NULL };
	struct loop *loop = NULL;
	int client[2], server[2];
	auto_buffer packet = { 0 };
	struct startup got = { 0 };
	char bytes[256];
	ssize_t n;

	assert_int_equal(loop_new(&loop), 0);
	assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, client), 0);
	connect_near(server);
	startup_print(&login, &packet);
	assert_int_equal(send(client[0], packet.data, packet.len, 0), packet.len);
	assert_int_equal(pg_session_new(&(struct pg_session_options){ .loop = loop,
						.all = &all,
						.host = host,
						.password = password,
						.used = used,
						.failed = failed },
				 client[1], server[0]),
		0);
	while (wait_for_one(server[1], POLLIN, wait_until(0)) == 0)
		assert_int_equal(loop_turn(loop, PATIENCE_MS), 0);
	n = recv(server[1], bytes, sizeof(bytes), 0);
	assert_true(n > 0 && startup_read(&got, bytes, (size_t)n) == n);
	/* Both hang up, and the session is gone. */
	fd_close(&client[0]);
	fd_close(&server[1]);
	while (all.first)
		assert_int_equal(loop_turn(loop, PATIENCE_MS), 0);
	loop_free(loop);
	return got.kind;
}

static void test_near(void **state)
{
	static const struct {
		const char *host;
		bool is_near;
	} rows[] = {
		{ "127.0.0.1", true },
		{ "127.9.9.9", true },
		{ "::1", true },
		{ "localhost", true },
		{ "db.LocalHost", true },
		/* A relay that was taken over could say that these are here. */
		{ "db.example.com", false },
		{ "10.0.0.1", false },
		{ "2001:db8::1", false },
		{ "notlocalhost", false },
		{ "localhost.example.com", false },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(rows); i++)
		if ((first_of(rows[i].host) == STARTUP_LOGIN) != rows[i].is_near)
			fail_msg("%s", rows[i].host);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_near),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
