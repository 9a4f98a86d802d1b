/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Nothing is read that cannot be passed on: while the broker does not read, the server's bytes stay
 * in the kernel, and while the server does not read, so do the broker's. Both directions end by
 * themselves.
 */
#include "broker/fetch/socket.h"

#include <errno.h>
#include <fcntl.h>
#include <netdb.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/clock.h"
#include "base/fd.h"
#include "base/file.h"
#include "broker/fetch/record.h"
#include "event/wait.h"

enum { PIECE = 32 << 10 };

/* What came on stdin and was not sent; what the server sent, as records, and was not printed. */
struct fetch_passing {
	int socket;
	bool has_input, has_server; /* there may be more of each */
	char input[PIECE];
	size_t input_len, sent;
	struct buffer output;
	size_t printed;
};

/* Appends a record without text of its own. There is no head of a response: it says "connected". */
static int fetch_socket_add(struct buffer *out, enum fetch_record_kind kind)
{
	struct values v = { 0 };

	if (kind == RECORD_HEAD) {
		v.v[RECORD_STATUS] = value_number(SCHEMA_NUMBER, 0);
		v.v[RECORD_STATUS_TEXT] = value_text("", 0);
		v.v[RECORD_HEADERS] = (struct value){ .type = SCHEMA_PAIRS };
	}
	return record_add_values(out, kind, &v);
}

/* Behind what waits. Blocks until the broker has read it, or does not any more. */
static int fetch_socket_fail(struct fetch_passing *p, enum record_cause cause, const char *message)
{
	struct values v = { 0 };

	v.v[RECORD_CAUSE] = value_number(SCHEMA_CHOICE, cause);
	v.v[RECORD_MESSAGE] = value_text(message, strlen(message));
	(void)fcntl(STDOUT_FILENO, F_SETFL, 0);
	if (record_add_values(&p->output, RECORD_ERROR, &v) == 0)
		(void)file_write_all(
			STDOUT_FILENO, p->output.data + p->printed, p->output.len - p->printed);
	return 1;
}

/* Connecting */

static int fetch_socket_wait(int fd, uint64_t until_ms)
{
	const int r = wait_for_one(fd, POLLOUT, until_ms);
	int error = 0;
	socklen_t len = sizeof(error);

	if (r <= 0)
		return r < 0 ? r : -ETIMEDOUT;
	return getsockopt(fd, SOL_SOCKET, SO_ERROR, &error, &len) < 0 ? -errno : -error;
}

static int fetch_socket_connect(const struct addrinfo *a, uint64_t until_ms, int *ret)
{
	auto_fd fd =
		socket(a->ai_family, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, a->ai_protocol);
	int r = 0;

	if (fd < 0)
		return -errno;
	if (connect(fd, a->ai_addr, a->ai_addrlen) < 0)
		r = errno == EINPROGRESS ? fetch_socket_wait(fd, until_ms) : -errno;
	if (r == 0)
		*ret = fd_take(&fd);
	return r;
}

/* 0, or the exit status after it was said why not. */
static int fetch_socket_open(
	struct fetch_passing *p, const char *host, const char *port, uint64_t until_ms)
{
	const struct addrinfo hints = { .ai_socktype = SOCK_STREAM, .ai_flags = AI_NUMERICSERV };
	struct addrinfo *list = NULL;
	int r = getaddrinfo(host, port, &hints, &list);

	if (r != 0)
		return fetch_socket_fail(p, RECORD_CAUSE_NETWORK,
			r == EAI_MEMORY ? "out of memory" : "the name was not found");
	r = -EHOSTUNREACH;
	for (const struct addrinfo *a = list; a && r < 0; a = a->ai_next)
		r = fetch_socket_connect(a, until_ms, &p->socket);
	freeaddrinfo(list);
	if (r == 0)
		return 0;
	return fetch_socket_fail(
		p, r == -ETIMEDOUT ? RECORD_CAUSE_TIMEOUT : RECORD_CAUSE_NETWORK, strerror(-r));
}

/* Passing on. Each: 0, or negative if the connection broke. */

static bool fetch_socket_is_later(void)
{
	return errno == EAGAIN || errno == EINTR;
}

static int fetch_socket_take_input(struct fetch_passing *p)
{
	ssize_t n = read(STDIN_FILENO, p->input, PIECE);

	if (n < 0)
		return fetch_socket_is_later() ? 0 : -errno;
	p->has_input = n > 0;
	p->input_len = (size_t)n;
	p->sent = 0;
	return 0;
}

static int fetch_socket_send(struct fetch_passing *p)
{
	ssize_t n = send(p->socket, p->input + p->sent, p->input_len - p->sent, MSG_NOSIGNAL);

	if (n < 0)
		return fetch_socket_is_later() ? 0 : -errno;
	p->sent += (size_t)n;
	return 0;
}

static int fetch_socket_receive(struct fetch_passing *p)
{
	char data[PIECE];
	ssize_t n = recv(p->socket, data, sizeof(data), 0);

	if (n < 0)
		return fetch_socket_is_later() ? 0 : -errno;
	buffer_clear(&p->output);
	p->printed = 0;
	p->has_server = n > 0;
	return n > 0 ? record_add_body(&p->output, data, (size_t)n)
		     : fetch_socket_add(&p->output, RECORD_END);
}

/* A broker that does not read any more wants none of it; what it wrote is still sent. */
static void fetch_socket_print(struct fetch_passing *p)
{
	ssize_t n = write(STDOUT_FILENO, p->output.data + p->printed, p->output.len - p->printed);

	if (n >= 0)
		p->printed += (size_t)n;
	else if (!fetch_socket_is_later())
		p->has_server = false, p->printed = p->output.len;
}

/* Until stdin ended and was sent. The end of what the server sends does not end what is sent to it.
 */
static int fetch_socket_pass(struct fetch_passing *p)
{
	int r = 0;

	while (r == 0 && (p->has_input || p->sent < p->input_len)) {
		const bool sends = p->sent < p->input_len, prints = p->printed < p->output.len;
		const bool receives = p->has_server && !prints;
		struct pollfd polled[] = {
			{ .fd = p->has_input && !sends ? STDIN_FILENO : -1, .events = POLLIN },
			{ .fd = sends || receives ? p->socket : -1,
				.events =
					(short)((sends ? POLLOUT : 0) | (receives ? POLLIN : 0)) },
			{ .fd = prints ? STDOUT_FILENO : -1, .events = POLLOUT },
		};

		r = wait_for(polled, ROWS(polled), WAIT_FOR_EVER);
		if (r < 0)
			return r;
		r = 0;
		if (polled[0].revents)
			r = fetch_socket_take_input(p);
		if (r == 0 && sends && polled[1].revents & ~POLLIN)
			r = fetch_socket_send(p);
		if (r == 0 && receives && polled[1].revents & ~POLLOUT)
			r = fetch_socket_receive(p);
		if (polled[2].revents)
			fetch_socket_print(p);
	}
	return r;
}

int fetch_socket_run(const char *host, const char *port, uint64_t connect_ms)
{
	static struct fetch_passing p = { .socket = -1, .has_input = true, .has_server = true };
	int r;

	(void)signal(SIGPIPE, SIG_IGN);
	r = fetch_socket_open(&p, host, port, clock_ms(CLOCK_MONOTONIC) + connect_ms);
	if (r != 0)
		return r;
	r = fetch_socket_add(&p.output, RECORD_HEAD);
	if (r == 0 && fcntl(STDOUT_FILENO, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = fetch_socket_pass(&p);
	return r < 0 ? fetch_socket_fail(&p, RECORD_CAUSE_NETWORK, strerror(-r)) : 0;
}
