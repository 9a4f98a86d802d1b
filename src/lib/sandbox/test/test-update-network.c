/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hosts that are granted and revoked while commands run. The host is 192.0.2.1, an address of this
 * machine in a network namespace that the test makes for itself; its servers are the test.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <net/if.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#include "lib/sandbox/test/test-common.h"
#include "net/test/test-without-nft.h"
#include "test/fds.h"

enum { PATIENCE_MS = 60000 };

#define HOST "192.0.2.1"
/* A whole datagram. */
#define GET "dd bs=64 count=1 <&3 2>/dev/null"
#define SYSTEM "fs: {read: ['/usr/**', '/etc/alternatives/**', '$WORK_DIR/**']}\n"

/* Permissions */

static struct corral_permissions *parse(const char *network)
{
	char yaml[4096];
	struct corral_permissions *p = NULL;
	struct corral_error *e = NULL;

	(void)snprintf(yaml, sizeof(yaml), SYSTEM "network: {%s}\n", network);
	if (corral_permissions_parse(&p, "test.yaml", yaml, strlen(yaml), &e) < 0)
		fail_msg("%s: %s", yaml, corral_error_message(e));
	return p;
}

static struct corral_update update(struct corral_sandbox *s, const char *network)
{
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p = parse(network);
	struct corral_error *e = NULL;

	if (corral_sandbox_update(s, (const struct corral_permissions *const *)&p, 1, &u, &e) < 0)
		fail_msg("%s: %s", network, corral_error_message(e));
	corral_permissions_free(p);
	return u;
}

static struct corral_sandbox *open_with(const char *network)
{
	struct corral_permissions *p = parse(network);
	struct corral_builder *b = NULL;

	assert_int_equal(corral_builder_from_permissions(&b, p), 0);
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	corral_permissions_free(p);
	return test_build(b);
}

static void is_at_once(struct corral_sandbox *s, struct corral_update u)
{
	struct corral_stats stats;

	assert_int_equal(u.changed, CORRAL_PART_NETWORK);
	assert_int_equal(u.at_once, CORRAL_PART_NETWORK);
	assert_int_equal(u.next, 0);
	assert_int_equal(u.running, 0);
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.sessions, 1);
}

/* A command that does what it is told, line by line */

struct shell {
	struct corral_process *process;
	char out[4096];
	size_t n;
};

static int hear(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct shell *sh = context;

	(void)stream;
	assert_true(len < sizeof(sh->out) - sh->n);
	memcpy(sh->out + sh->n, data, len);
	sh->n += len;
	sh->out[sh->n] = '\0';
	return 0;
}

static void open_shell(struct shell *sh, struct corral_sandbox *s)
{
	struct corral_call call = CORRAL_CALL;
	struct corral_error *e = NULL;

	memset(sh, 0, sizeof(*sh));
	call.flags = CORRAL_CALL_INPUT | CORRAL_CALL_MERGE;
	call.output = hear;
	call.context = sh;
	if (corral_process_start_line(&sh->process, s, "exec bash", &call, &e) < 0)
		fail_msg("%s", corral_error_message(e));
}

/* Waits until it has printed that, and forgets what it printed. */
static void expect(struct shell *sh, const char *text)
{
	struct pollfd p = { .fd = corral_process_fd(sh->process), .events = POLLIN };

	while (!strstr(sh->out, text)) {
		if (corral_process_dispatch(sh->process) == 1 && !strstr(sh->out, text))
			fail_msg("\"%s\", and not \"%s\"", sh->out, text);
		if (!strstr(sh->out, text) && poll(&p, 1, PATIENCE_MS) != 1)
			fail_msg("\"%s\" for long, and not \"%s\"", sh->out, text);
	}
	sh->n = 0;
	sh->out[0] = '\0';
}

static void say(struct shell *sh, const char *format, ...) __attribute__((format(printf, 2, 3)));
static void say(struct shell *sh, const char *format, ...)
{
	char line[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	assert_int_equal(corral_process_write(sh->process, line, strlen(line)), strlen(line));
	(void)corral_process_dispatch(sh->process);
}

static struct corral_result *close_shell(struct shell *sh)
{
	struct corral_result *r = NULL;
	struct corral_error *e = NULL;

	assert_int_equal(corral_process_close_stdin(sh->process), 0);
	if (corral_process_wait(sh->process, PATIENCE_MS, &r, &e) < 0)
		fail_msg("%s", corral_error_message(e));
	corral_process_free(sh->process);
	return r;
}

/* Servers */

static int serve(int type, unsigned *ret_port)
{
	struct sockaddr_in name = { .sin_family = AF_INET };
	socklen_t len = sizeof(name);
	int fd = socket(AF_INET, type | SOCK_CLOEXEC, 0);

	assert_true(fd >= 0);
	assert_int_equal(inet_pton(AF_INET, HOST, &name.sin_addr), 1);
	assert_int_equal(bind(fd, (struct sockaddr *)&name, len), 0);
	if (type == SOCK_STREAM)
		assert_int_equal(listen(fd, 16), 0);
	assert_int_equal(getsockname(fd, (struct sockaddr *)&name, &len), 0);
	*ret_port = ntohs(name.sin_port);
	return fd;
}

static void await(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, PATIENCE_MS), 1);
}

static int take(int listener)
{
	int fd;

	await(listener);
	fd = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
	assert_true(fd >= 0);
	return fd;
}

/* Nothing is there for it. */
static void is_silent(int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	assert_int_equal(poll(&p, 1, 0), 0);
}

/* Tests */

/* More of the network's section after it. */
static const char *grant(const char *scheme, unsigned port, const char *more)
{
	static char out[256];

	(void)snprintf(out, sizeof(out), "allow: ['%s" HOST ":%u']%s", scheme, port, more);
	return out;
}

static void test_granted_while_it_runs(void **state)
{
	struct corral_sandbox *s = open_with("allow: ['other.example:1']");
	struct corral_result *r;
	struct shell sh;
	unsigned port;
	int listener = serve(SOCK_STREAM, &port), fd;

	(void)state;
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	expect(&sh, "done 1");
	is_at_once(s, update(s, grant("", port, "")));
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	fd = take(listener);
	assert_int_equal(write(fd, "hello\n", 6), 6);
	assert_int_equal(close(fd), 0);
	expect(&sh, "hello\ndone 0");
	r = close_shell(&sh);
	assert_int_equal(corral_result_denials(r), 1);
	corral_result_free(r);
	corral_sandbox_free(s);
	assert_int_equal(close(listener), 0);
}

static void test_revoked_while_it_runs(void **state)
{
	struct corral_stats stats;
	struct corral_sandbox *s;
	struct corral_result *r;
	char byte;
	struct shell sh;
	unsigned port;
	int listener = serve(SOCK_STREAM, &port), fd;

	(void)state;
	s = open_with(grant("", port, ""));
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	fd = take(listener);
	assert_int_equal(write(fd, "hello\n", 6), 6);
	expect(&sh, "hello\n");
	is_at_once(s, update(s, "allow: ['other.example:1']"));
	/* Both ends know, without a byte that was sent. */
	await(fd);
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	assert_int_equal(errno, ECONNRESET);
	expect(&sh, "done 1");
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	expect(&sh, "done 1");
	is_silent(listener);
	r = close_shell(&sh);
	assert_int_equal(corral_result_denials(r), 2);
	assert_non_null(strstr(corral_result_denial(r, 0)->reason, "the grant was revoked"));
	assert_null(strstr(corral_result_denial(r, 1)->reason, "the grant was revoked"));
	corral_result_free(r);
	/* It counts as a connection that is over. */
	corral_sandbox_stats(s, &stats, sizeof(stats));
	assert_int_equal(stats.connections, 1);
	assert_int_equal(stats.received_bytes, 6);
	corral_sandbox_free(s);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(listener), 0);
}

/* What is granted before and after is not disturbed. */
static void test_others_go_on(void **state)
{
	struct corral_sandbox *s;
	struct shell sh;
	unsigned port;
	int listener = serve(SOCK_STREAM, &port), fd;

	(void)state;
	s = open_with(grant("", port, ""));
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	fd = take(listener);
	assert_int_equal(write(fd, "a\n", 2), 2);
	expect(&sh, "a\n");
	for (int i = 0; i < 20; i++) {
		const char *more = i % 2 ? "" : ", deny: ['*.evil.example']";

		is_at_once(s, update(s, grant("", port, more)));
	}
	assert_int_equal(write(fd, "b\n", 2), 2);
	expect(&sh, "b\n");
	assert_int_equal(close(fd), 0);
	expect(&sh, "done 0");
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
	assert_int_equal(close(listener), 0);
}

static void test_names(void **state)
{
	struct corral_sandbox *s = open_with("allow: ['one.example:443']");
	struct shell sh;

	(void)state;
	open_shell(&sh, s);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 0");
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 2");
	is_at_once(s, update(s, "allow: ['two.example:443']"));
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 0");
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 2");
	/* Nothing at all is held by a relay, too. */
	is_at_once(s, update(s, ""));
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 2");
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
}

static void test_datagrams(void **state)
{
	struct sockaddr_in from;
	socklen_t len = sizeof(from);
	struct corral_sandbox *s;
	char text[16];
	struct shell sh;
	unsigned port;
	int fd = serve(SOCK_DGRAM, &port);

	(void)state;
	s = open_with(grant("udp://", port, ""));
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/udp/" HOST "/%u; echo ping >&3; " GET "\n", port);
	await(fd);
	assert_int_equal(recvfrom(fd, text, sizeof(text), 0, (struct sockaddr *)&from, &len), 5);
	assert_int_equal(sendto(fd, "pong\n", 5, 0, (struct sockaddr *)&from, len), 5);
	expect(&sh, "pong");
	is_at_once(s, update(s, "allow: ['other.example:1']"));
	/* The kernel inside knows of it already. */
	say(&sh, "echo ping >&3 2>/dev/null || echo refused\n");
	expect(&sh, "refused");
	say(&sh, "echo again >&3; getent ahosts nobody.example; echo tried\n");
	expect(&sh, "tried");
	is_silent(fd);
	is_at_once(s, update(s, grant("udp://", port, "")));
	say(&sh, "exec 3<>/dev/udp/" HOST "/%u; echo ping >&3; echo sent\n", port);
	expect(&sh, "sent");
	await(fd);
	assert_int_equal(recv(fd, text, sizeof(text), 0), 5);
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
	assert_int_equal(close(fd), 0);
}

/* Sent bytes count for a limit that comes later, too. */
static void test_limits_of_bytes(void **state)
{
	struct corral_sandbox *s;
	char byte;
	struct shell sh;
	unsigned port;
	int listener = serve(SOCK_STREAM, &port), fd;

	(void)state;
	s = open_with(grant("", port, ""));
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	fd = take(listener);
	assert_int_equal(write(fd, "0123456789\n", 11), 11);
	expect(&sh, "0123456789\n");
	is_at_once(s, update(s, grant("", port, ", max_bytes: 10")));
	expect(&sh, "done 1");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(listener), 0);
}

/* A relay of a session before this one hears of it, too. */
static void test_revoked_in_an_older_session(void **state)
{
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p;
	struct corral_sandbox *s;
	char yaml[512], byte;
	struct shell sh;
	unsigned port;
	int listener = serve(SOCK_STREAM, &port), fd;

	(void)state;
	s = open_with(grant("", port, ""));
	open_shell(&sh, s);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	fd = take(listener);
	/* Files change, hosts do not. */
	(void)snprintf(yaml, sizeof(yaml), "fs: {read: ['/usr/**', '$WORK_DIR/**']}\nnetwork: {%s}",
		grant("", port, ""));
	assert_int_equal(corral_permissions_parse(&p, "test.yaml", yaml, strlen(yaml), NULL), 0);
	assert_int_equal(
		corral_sandbox_update(s, (const struct corral_permissions *const *)&p, 1, &u, NULL),
		0);
	corral_permissions_free(p);
	assert_int_equal(u.running, 1);
	assert_int_equal(u.at_once, 0);
	assert_int_equal(write(fd, "still\n", 6), 6);
	expect(&sh, "still\n");
	/* Now both. */
	u = update(s, "allow: ['other.example:1']");
	assert_true(u.changed & CORRAL_PART_NETWORK);
	assert_true(u.next & CORRAL_PART_FILES);
	assert_int_equal(u.running, 1);
	expect(&sh, "done 1");
	assert_int_equal(recv(fd, &byte, 1, 0), -1);
	say(&sh, "exec 3<>/dev/tcp/" HOST "/%u; cat <&3; echo done $?\n", port);
	expect(&sh, "done 1");
	is_silent(listener);
	corral_result_free(close_shell(&sh));
	assert_int_equal(test_count_children("corral-warden", NULL), 1);
	corral_sandbox_free(s);
	assert_int_equal(close(fd), 0);
	assert_int_equal(close(listener), 0);
}

/* What a relay cannot know, as the value of a variable, must not be what it is asked for: a session
 * whose relay does not take a change is ended. */
static void test_exceptions_with_variables(void **state)
{
	static const char format[] = SYSTEM "dangerously_allow: ['$HOME/.ssh']\n"
					    "network: {allow: ['%s.example:443']}\n";
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p[2];
	struct corral_builder *b = NULL;
	struct corral_sandbox *s;
	struct shell sh;

	(void)state;
	for (int i = 0; i < 2; i++) {
		char yaml[512];

		(void)snprintf(yaml, sizeof(yaml), format, i ? "two" : "one");
		assert_int_equal(
			corral_permissions_parse(&p[i], "test.yaml", yaml, strlen(yaml), NULL), 0);
	}
	assert_int_equal(corral_builder_from_permissions(&b, p[0]), 0);
	assert_int_equal(corral_builder_work_dir(b, test_folder), 0);
	s = test_build(b);
	open_shell(&sh, s);
	assert_int_equal(corral_sandbox_update(
				 s, (const struct corral_permissions *const *)&p[1], 1, &u, NULL),
		0);
	is_at_once(s, u);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 2");
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 0");
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
	for (int i = 0; i < 2; i++)
		corral_permissions_free(p[i]);
}

/* From no network to one, and to a port of the host's loopback: that takes a new session. */
static void test_needs_a_session(void **state)
{
	struct corral_sandbox *s = open_with("");
	struct corral_update u;
	struct shell sh;

	(void)state;
	open_shell(&sh, s);
	u = update(s, "allow: ['one.example:443']");
	assert_int_equal(u.next, CORRAL_PART_NETWORK);
	assert_int_equal(u.running, 1);
	test_prints(s, "getent ahosts one.example >/dev/null; echo $?", "0\n", 0);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 2");
	corral_result_free(close_shell(&sh));
	open_shell(&sh, s);
	u = update(s, "allow: ['one.example:443', 'localhost:3000']");
	assert_int_equal(u.next, CORRAL_PART_NETWORK);
	u = update(s, "allow: ['two.example:443', 'localhost:3000']");
	/* The shell is of a session that does not lead to loopback. */
	assert_int_equal(u.next, CORRAL_PART_NETWORK);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 2");
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 0");
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
}

/* More than a frame holds: the relay maps it, behind its walls. */
static void test_many_hosts(void **state)
{
	enum { HOSTS = 4000 };
	struct corral_sandbox *s = open_with("allow: ['one.example:443']");
	struct corral_update u = { .size = sizeof(u) };
	struct corral_permissions *p = NULL;

	(void)state;
	assert_int_equal(corral_permissions_new(&p), 0);
	for (int i = 0; i < HOSTS; i++) {
		char host[64];

		(void)snprintf(host, sizeof(host), "host-%d.example:443", i);
		assert_int_equal(corral_permissions_allow(p, CORRAL_NET_CONNECT, host, NULL), 0);
	}
	assert_int_equal(corral_permissions_allow(p, CORRAL_FS_READ, "/usr/**", NULL), 0);
	assert_int_equal(corral_permissions_allow(p, CORRAL_FS_READ, "$WORK_DIR/**", NULL), 0);
	assert_int_equal(
		corral_permissions_allow(p, CORRAL_FS_READ, "/etc/alternatives/**", NULL), 0);
	assert_int_equal(
		corral_sandbox_update(s, (const struct corral_permissions *const *)&p, 1, &u, NULL),
		0);
	is_at_once(s, u);
	test_prints(s,
		"getent ahosts host-3999.example >/dev/null; echo $?; "
		"getent ahosts one.example >/dev/null; echo $?",
		"0\n2\n", 0);
	corral_permissions_free(p);
	corral_sandbox_free(s);
}

/* Each answer is asked for again and again, while commands begin and end. */
static void test_many_updates(void **state)
{
	struct corral_sandbox *s = open_with("allow: ['one.example:443']");
	size_t fds;

	(void)state;
	test_prints(s, "true", "", 0);
	fds = count_fds();
	for (int i = 1; i <= 100; i++) {
		is_at_once(s, update(s, i % 2 ? "allow: ['two.example:443']"
					      : "allow: ['one.example:443']"));
		if (i % 10 == 0)
			test_prints(s, "getent ahosts one.example >/dev/null; echo $?", "0\n", 0);
	}
	/* With an init that was lent meanwhile. */
	assert_true(count_fds() <= fds + 1);
	corral_sandbox_free(s);
}

/* Nothing leads to the relay but listeners of its own: each grant takes a session. */
static void test_without_rules(void **state)
{
	struct corral_sandbox *s = open_with("allow: ['one.example:443', 'two.example:443']");
	struct corral_update u;
	struct shell sh;

	(void)state;
	open_shell(&sh, s);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 0");
	u = update(s, "allow: ['two.example:443', 'three.example:443']");
	assert_int_equal(u.at_once, 0);
	assert_int_equal(u.next, CORRAL_PART_NETWORK);
	assert_int_equal(u.running, 1);
	say(&sh, "getent ahosts one.example >/dev/null; echo one $?\n");
	expect(&sh, "one 2");
	say(&sh, "getent ahosts two.example >/dev/null; echo two $?\n");
	expect(&sh, "two 0");
	test_prints(s, "getent ahosts three.example >/dev/null; echo $?", "0\n", 0);
	test_prints(s, "getent ahosts one.example >/dev/null; echo $?", "2\n", 0);
	corral_result_free(close_shell(&sh));
	corral_sandbox_free(s);
}

/* And the first one, too, where there is a relay for something else. */
static void test_without_rules_or_listeners(void **state)
{
	struct corral_sandbox *s;
	struct corral_update u;
	char network[128];
	unsigned port;
	int fd = serve(SOCK_STREAM, &port);

	(void)state;
	assert_int_equal(close(fd), 0);
	(void)snprintf(network, sizeof(network), "listen: [%u]", port);
	s = open_with(network);
	(void)snprintf(network, sizeof(network), "listen: [%u], allow: ['one.example:443']", port);
	u = update(s, network);
	assert_int_equal(u.next, CORRAL_PART_NETWORK);
	test_prints(s, "getent ahosts one.example >/dev/null; echo $?", "0\n", 0);
	corral_sandbox_free(s);
}

/* From here on; there is no way back. */
static int lose_rules(void **state)
{
	(void)state;
	return without_nft();
}

/* The scene */

static int write_text(const char *path, const char *text)
{
	int fd = open(path, O_WRONLY | O_CLOEXEC), r = -1;

	if (fd < 0)
		return -1;
	if (write(fd, text, strlen(text)) == (ssize_t)strlen(text))
		r = 0;
	return close(fd) < 0 ? -1 : r;
}

static int map_ids(void)
{
	char uids[64], gids[64];

	(void)snprintf(uids, sizeof(uids), "%d %d 1", (int)getuid(), (int)getuid());
	(void)snprintf(gids, sizeof(gids), "%d %d 1", (int)getgid(), (int)getgid());
	if (unshare(CLONE_NEWUSER | CLONE_NEWNET) < 0 || write_text("/proc/self/setgroups", "deny"))
		return -1;
	return write_text("/proc/self/uid_map", uids) || write_text("/proc/self/gid_map", gids);
}

static int set_address(int fd, const char *name, const char *text)
{
	struct ifreq r = { 0 };
	struct sockaddr_in address = { .sin_family = AF_INET };

	(void)snprintf(r.ifr_name, sizeof(r.ifr_name), "%s", name);
	r.ifr_flags = IFF_UP | IFF_LOOPBACK | IFF_RUNNING;
	if (!text)
		return ioctl(fd, SIOCSIFFLAGS, &r);
	if (inet_pton(AF_INET, text, &address.sin_addr) != 1)
		return -1;
	memcpy(&r.ifr_addr, &address, sizeof(address));
	return ioctl(fd, SIOCSIFADDR, &r);
}

static int enter_network(void)
{
	int fd, r;

	if (map_ids() != 0)
		return -1;
	fd = socket(AF_INET, SOCK_DGRAM | SOCK_CLOEXEC, 0);
	if (fd < 0)
		return -1;
	r = set_address(fd, "lo", NULL);
	if (r == 0)
		r = set_address(fd, "lo:1", HOST);
	return close(fd) < 0 ? -1 : r;
}

static bool is_supported(void)
{
	struct corral_builder *b = NULL;
	struct corral_sandbox *s = NULL;
	int r = corral_builder_new(&b);

	if (r == 0)
		r = corral_builder_allow_network(b, "udp://192.0.2.1:1");
	if (r == 0)
		r = corral_builder_build(b, &s, NULL);
	corral_sandbox_free(s);
	corral_builder_free(b);
	return r != -EOPNOTSUPP;
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_granted_while_it_runs),
		cmocka_unit_test(test_revoked_while_it_runs),
		cmocka_unit_test(test_others_go_on),
		cmocka_unit_test(test_names),
		cmocka_unit_test(test_datagrams),
		cmocka_unit_test(test_limits_of_bytes),
		cmocka_unit_test(test_revoked_in_an_older_session),
		cmocka_unit_test(test_exceptions_with_variables),
		cmocka_unit_test(test_needs_a_session),
		cmocka_unit_test(test_many_hosts),
		cmocka_unit_test(test_many_updates),
		cmocka_unit_test_setup(test_without_rules, lose_rules),
		cmocka_unit_test_setup(test_without_rules_or_listeners, lose_rules),
	};

	if (enter_network() != 0) {
		(void)puts("1..0 # SKIP kernel: no user namespaces");
		return 0;
	}
	if (!is_supported()) {
		(void)puts("1..0 # SKIP kernel: no nf_tables");
		return 0;
	}
	return cmocka_run_group_tests_name(
		"update-network", tests, test_make_folder, test_remove_folder);
}
