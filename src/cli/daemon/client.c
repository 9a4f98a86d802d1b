/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/daemon/client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/file.h"
#include "cli/output.h"
#include "codec/json.h"
#include "host/daemon-place.h"

/* A daemon that is stopped is not waited for longer than one round. */
enum {
	DAEMON_TOKEN_MAX = 256,
	DAEMON_PID_MAX = 32,
	DAEMON_STAT_MAX = 4096,
	DAEMON_ROUND_S = 2,
	DAEMON_ROUNDS = 5,
	DAEMON_PATIENCE_S = 60,
};

const char *daemon_client_program(void)
{
	const char *named = getenv("CORRALD");

	return named && *named ? named : CORRALD_PATH;
}

static int daemon_client_none(struct call *c, int code, const char *path)
{
	if (!*daemon_client_program()) {
		(void)error_set(c->error, code, NULL,
			"no daemon answers at %s, and this Corral was built without one", path);
		error_hint(c->error, "build it with the meson option -Ddaemon=enabled");
		return code;
	}
	(void)error_set(c->error, code, NULL, "no daemon answers at %s: %s", path, strerror(-code));
	/* As sd_booted(3) has it: systemctl works where this folder is. */
	error_hint(c->error, "start it with `corral dashboard`, or %s",
		access("/run/systemd/system", F_OK) == 0 ? "`systemctl --user start corrald`"
							 : "`corrald` in a terminal of its own");
	return code;
}

/* Another wait than for ever, for a daemon that is stopped or has no room. 0: for ever. */
static void daemon_client_limit(int fd, time_t seconds)
{
	const struct timeval patience = { .tv_sec = seconds };

	(void)setsockopt(fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof(patience));
	(void)setsockopt(fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof(patience));
}

/* By the file in its folder; 0: not known. */
static long daemon_client_pid(void)
{
	auto_buffer path = { 0 }, text = { 0 };

	if (daemon_place("corrald.pid", &path) < 0 ||
		file_read_regular(buffer_text(&path), DAEMON_PID_MAX, &text) < 0)
		return 0;
	return strtol(buffer_text(&text), NULL, 10);
}

/* As proc_pid_stat(5) has it, behind the name; '\0': not known. */
static char daemon_client_state(long pid)
{
	char path[64];
	auto_buffer text = { 0 };
	const char *name_end;

	(void)snprintf(path, sizeof(path), "/proc/%ld/stat", pid);
	if (pid <= 0 || file_read(path, DAEMON_STAT_MAX, &text) < 0)
		return '\0';
	name_end = strrchr(buffer_text(&text), ')');
	if (!name_end || name_end[1] != ' ')
		return '\0';
	return name_end[2];
}

static bool daemon_client_is_stopped(void)
{
	const char state = daemon_client_state(daemon_client_pid());

	return state == 'T' || state == 't';
}

static int daemon_client_silent(struct call *c)
{
	const long pid = daemon_client_pid();
	const char state = daemon_client_state(pid);
	const bool is_stopped = state == 'T' || state == 't';

	if (!state) {
		(void)error_set(c->error, -ETIMEDOUT, NULL,
			"the daemon did not answer: it is stopped, or very busy");
		error_hint(c->error,
			"the file corrald.pid beside its token has its pid: `kill -CONT PID` "
			"lets it go on if it is stopped, `kill PID` ends it");
		return -ETIMEDOUT;
	}
	(void)error_set(c->error, -ETIMEDOUT, NULL,
		"the daemon (pid %ld) did not answer: it is %s (state %c)", pid,
		is_stopped ? "stopped" : "very busy", state);
	if (is_stopped)
		error_hint(c->error, "`kill -CONT %ld` lets it go on, `kill -KILL %ld` ends it",
			pid, pid);
	else
		error_hint(c->error, "try again later; `kill %ld` ends it", pid);
	return -ETIMEDOUT;
}

static int daemon_client_foreign(struct call *c, const char *path)
{
	(void)error_set(c->error, -EPERM, NULL,
		"%s is not asked: its folder is a link, belongs to another user, or others may "
		"write there, or another user's process listens",
		path);
	error_hint(c->error, "set XDG_RUNTIME_DIR to a folder of your own: mkdir -m 700 FOLDER");
	return -EPERM;
}

static int daemon_client_connect(struct call *c, int *ret)
{
	auto_buffer path = { 0 };
	auto_fd fd = -1;
	int r = daemon_place("api.sock", &path);

	if (r < 0)
		return daemon_client_none(c, r, buffer_text(&path));
	fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	if (fd >= 0)
		daemon_client_limit(fd, DAEMON_ROUND_S);
	r = fd < 0 ? -errno : daemon_place_connect("api.sock", fd);
	for (int i = 1; r == -EAGAIN && i < DAEMON_ROUNDS && !daemon_client_is_stopped(); i++)
		r = daemon_place_connect("api.sock", fd);
	if (r == -EPERM)
		return daemon_client_foreign(c, buffer_text(&path));
	if (r < 0)
		return r == -EAGAIN ? daemon_client_silent(c)
				    : daemon_client_none(c, r, buffer_text(&path));
	*ret = fd_take(&fd);
	return 0;
}

static int daemon_client_token(struct call *c, struct buffer *ret)
{
	auto_buffer path = { 0 };
	int r = daemon_place("token", &path);

	if (r == 0)
		r = file_read_regular(buffer_text(&path), DAEMON_TOKEN_MAX, ret);
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot read the daemon's token %s: %s",
			buffer_text(&path), file_words(r));
	ret->len = strcspn(buffer_text(ret), "\r\n");
	return 0;
}

/* What stands behind "Content-Length: " in a head. */
static size_t daemon_client_length(const char *head, const char *end)
{
	static const char name[] = "\r\nContent-Length: ";
	const char *at = memmem(head, (size_t)(end - head), name, strlen(name));

	return at ? strtoul(at + strlen(name), NULL, 10) : 0;
}

/* Head and body, up to the end of the body. */
static int daemon_client_receive(int fd, struct buffer *all, size_t *ret_head)
{
	for (;;) {
		const char *end = all->len ? memmem(all->data, all->len, "\r\n\r\n", 4) : NULL;
		char room[16 << 10];
		ssize_t n;

		if (end) {
			*ret_head = (size_t)(end - all->data) + 4;
			if (all->len - *ret_head >= daemon_client_length(all->data, end))
				return 0;
		}
		if (all->len > DAEMON_ANSWER_MAX)
			return -EFBIG;
		n = read(fd, room, sizeof(room));
		if (n <= 0)
			return n == 0 ? -EPIPE : -errno;
		buffer_add(all, room, (size_t)n);
		if (all->failed)
			return -ENOMEM;
	}
}

/* The answer: its JSON as it came, and read. A refusal is -EPERM. */
static int daemon_client_hear(struct call *c, int fd, struct buffer *ret, struct document *doc)
{
	auto_buffer all = { 0 };
	size_t head = 0;
	const char *why;
	int r = daemon_client_receive(fd, &all, &head);

	if (r < 0)
		return r == -EAGAIN ? r
				    : error_set(c->error, r, NULL,
					      "the daemon gave no whole answer: %s", strerror(-r));
	buffer_add(ret, all.data + head, all.len - head);
	r = ret->failed ? -ENOMEM
			: json_read_within(doc, "the daemon's answer", buffer_text(ret), ret->len,
				  &(struct node_bounds){ DAEMON_ANSWER_MAX, NODE_SCALAR_MAX },
				  c->error);
	if (r < 0 || strncmp(buffer_text(&all), "HTTP/1.1 200 ", 13) == 0)
		return r;
	why = node_text(node_get(doc->root, "error"));
	return error_set(c->error, -EPERM, NULL, "the daemon says: %s", why ? why : "no");
}

/* Whether it is there and answers: a service manager may start it only now, and its token is made
 * by then. */
static int daemon_client_greet(struct call *c, int fd)
{
	static const char question[] = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
	auto_buffer text = { 0 };
	auto_document d = { 0 };
	struct pollfd p = { .fd = fd, .events = POLLIN };
	int r = file_write_all(fd, question, strlen(question)), n = 0;

	for (int i = 0; r == 0 && n == 0 && i < DAEMON_ROUNDS; i++) {
		n = poll(&p, 1, DAEMON_ROUND_S * 1000);
		if (n == 0 && daemon_client_is_stopped())
			break;
	}
	if (r == 0 && n == 0)
		return daemon_client_silent(c);
	/* One that refuses us may have closed it by now; what it says can still be read. */
	if (r == 0 || r == -EPIPE)
		r = daemon_client_hear(c, fd, &text, &d);
	return r == -EAGAIN ? daemon_client_silent(c) : r;
}

int daemon_client_open(
	struct call *c, const char *method, const char *path, const char *header, int *ret)
{
	auto_buffer token = { 0 }, request = { 0 };
	auto_fd fd = -1;
	int r = daemon_client_connect(c, &fd);

	if (r == 0)
		r = daemon_client_greet(c, fd);
	if (r == 0)
		r = daemon_client_token(c, &token);
	if (r < 0)
		return r;
	buffer_printf(&request,
		"%s %s HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer %.*s\r\n%s\r\n", method,
		path, (int)token.len, buffer_text(&token), header ? header : "");
	r = request.failed ? -ENOMEM : file_write_all(fd, request.data, request.len);
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot ask the daemon: %s", strerror(-r));
	daemon_client_limit(fd, 0);
	*ret = fd_take(&fd);
	return 0;
}

int daemon_client_ask(struct call *c, const char *method, const char *path, struct buffer *ret,
	struct document *doc)
{
	return daemon_client_send(c, method, path, NULL, ret, doc);
}

int daemon_client_print(struct call *c, const struct buffer *json)
{
	auto_output o = output_for(STDOUT_FILENO);

	buffer_add(&o.text, json->data, json->len);
	return output_write(&o, STDOUT_FILENO, c->error);
}

int daemon_client_send(struct call *c, const char *method, const char *path, const char *json,
	struct buffer *ret, struct document *doc)
{
	auto_buffer header = { 0 };
	auto_fd fd = -1;
	int r;

	if (json)
		buffer_printf(&header, "Content-Type: application/json\r\nContent-Length: %zu\r\n",
			strlen(json));
	r = header.failed ? error_no_memory(c->error)
			  : daemon_client_open(c, method, path, buffer_text(&header), &fd);
	if (r < 0)
		return r;
	daemon_client_limit(fd, DAEMON_PATIENCE_S);
	r = json ? file_write_all(fd, json, strlen(json)) : 0;
	if (r < 0)
		return error_set(c->error, r, NULL, "cannot ask the daemon: %s", strerror(-r));
	r = daemon_client_hear(c, fd, ret, doc);
	return r == -EAGAIN ? error_set(c->error, r, NULL, "the daemon gave no whole answer: %s",
				      strerror(ETIMEDOUT))
			    : r;
}
