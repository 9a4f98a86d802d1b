// SPDX-License-Identifier: Apache-2.0
/*
 * What runs outside for a command, or waits there for a server: the services of a broker, which
 * start programs of the desktop, and the port of the daemon, which a tab of its page talks to.
 *
 * The caller's PATH leads into the workspace first, as in an activated environment. Bare, the
 * attempt itself does what a service does that looks its program up by PATH; bare, the server at
 * the port is one whose clients send a token (port.py).
 */
#include <arpa/inet.h>
#include <errno.h>
#include <netinet/in.h>
#include <poll.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include "attempt.h"

#define VENV ".venv/bin"
#define NODE "node_modules/.bin"

struct service {
	const char *folder;      /* in the workspace, and in the caller's PATH */
	const char *programs[3]; /* what is planted there */
	const char *method, *params;
	bool is_confined;   /* it can leave no mark: that the call works shows that it ran */
	const char *starts; /* bare: what a service starts, if not the first of them */
};

static void plant(const struct attempt *a, const struct service *s)
{
	const char *text = format("#!/bin/sh\n(: >%s) 2>/dev/null\n[ \"$1\" != -in ] || cat "
				  ">/dev/null\necho planted\nexit 0\n",
		out_made(a));

	for (size_t i = 0; i < 3 && s->programs[i]; i++)
		make_file(format("%s/%s", s->folder, s->programs[i]), text);
}

static int start_by_path(void *arg)
{
	char *argv[] = { arg, NULL };

	execvp(argv[0], argv);
	return 127;
}

/* The answer of the broker to one call; never freed. */
static char *call(const struct service *s)
{
	static char answer[65536];
	struct sockaddr_un un = { .sun_family = AF_UNIX };
	const char *path = getenv("SANDBOX_SOCKET"),
		   *line = format(
			   "{\"jsonrpc\":\"2.0\",\"id\":1,\"method\":\"%s\",\"params\":%s}\n",
			   s->method, s->params);
	int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	size_t n = 0;
	ssize_t got = 1;

	if (!path || strlen(path) >= sizeof(un.sun_path))
		broken("there is no broker");
	(void)stpcpy(un.sun_path, path);
	if (fd < 0 || connect(fd, (struct sockaddr *)&un, sizeof(un)) < 0 ||
		send(fd, line, strlen(line), MSG_NOSIGNAL) < 0)
		broken("the broker: %s", strerror(errno));
	while (!memchr(answer, '\n', n) && n < sizeof(answer) - 1 && got > 0) {
		got = recv(fd, answer + n, sizeof(answer) - 1 - n, 0);
		n += got > 0 ? (size_t)got : 0;
	}
	answer[n] = '\0';
	close(fd);
	return answer;
}

static int planted(const struct attempt *a)
{
	const struct service *s = a->arg;
	const char *starts = s->starts ? scene(s->starts) : s->programs[0];
	const char *answer;

	plant(a, s);
	if (!is_inside())
		return in_child(start_by_path, (void *)starts) == 0 ? DONE : HELD;
	answer = call(s);
	note("%s", answer);
	if (strstr(answer, "\"result\""))
		return s->is_confined ? ESCAPED : DONE;
	/* That it was refused for another reason would show nothing. */
	return strstr(answer, "\"class\":\"service\"") ? HELD : BROKEN;
}

/* -- the daemon's port ------------------------------------------------------------------------ */

static void reuse(int fd)
{
	int one = 1;

	if (fd < 0 || setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof(one)) < 0)
		broken("socket: %s", strerror(errno));
}

/* One request, of which what is not read yet is its body; how long it is. */
static size_t read_request(int fd, char *text, size_t size)
{
	size_t n = 0, wanted = size - 1;
	ssize_t got;

	while (n < wanted && (got = recv(fd, text + n, wanted - n, 0)) > 0) {
		char *end, *length;

		n += (size_t)got;
		text[n] = '\0';
		end = strstr(text, "\r\n\r\n");
		length = strcasestr(text, "\r\ncontent-length:");
		if (end)
			wanted = (size_t)(end + 4 - text) +
				 (length && length < end ? strtoul(length + 17, NULL, 10) : 0);
		if (wanted >= size)
			broken("a request is too long");
	}
	return n;
}

/* Says yes to all that comes, and leaves it for the host, which sends it to the server again. */
static int port_taken(const struct attempt *a)
{
	static const char yes[] = "HTTP/1.1 200 OK\r\nContent-Type: application/json\r\n"
				  "Content-Length: 2\r\nConnection: close\r\n\r\n{}";
	struct sockaddr_in in = { .sin_family = AF_INET,
		.sin_port = htons((in_port_t)scene_number("port")),
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK) };
	int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
	static char text[65536];
	unsigned heard = 0;

	reuse(fd);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) < 0 || listen(fd, 8) < 0)
		return verdict(-1);
	make_file(work_file(a), "");
	for (int peer; (peer = accept(fd, NULL, NULL)) >= 0; close(peer)) {
		if (read_request(peer, text, sizeof(text)) == 0)
			break; /* the host has asked all that it asks */
		make_file(format("%s.heard-%u", a->name, heard++), text);
		(void)send(peer, yes, sizeof(yes) - 1, MSG_NOSIGNAL);
	}
	note("%u requests came", heard);
	return heard ? DONE : BROKEN;
}

/* Clients that resolve `localhost` may go to ::1 first. */
static int port_other(const struct attempt *a)
{
	struct sockaddr_in6 in = { .sin6_family = AF_INET6,
		.sin6_port = htons((in_port_t)scene_number("port")),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0);

	(void)a;
	if (fd < 0) {
		note("no IPv6");
		return ABSENT;
	}
	reuse(fd);
	if (bind(fd, (struct sockaddr *)&in, sizeof(in)) == 0)
		return verdict(listen(fd, 8));
	if (errno != EADDRNOTAVAIL)
		return verdict(-1);
	note("no ::1");
	return ABSENT;
}

#define PAGE "{\"url\":\"http://127.0.0.1:1/\"}"
#define SERVICE(folder, method, params, is_confined, starts, ...)            \
	&(const struct service)                                              \
	{                                                                    \
		folder, { __VA_ARGS__ }, method, params, is_confined, starts \
	}

static const struct attempt table[] = {
	{ "planted-open", "broker", "", "a planted xdg-open opens the page that a call names",
		planted, SERVICE(VENV, "browser.open", PAGE, false, NULL, "xdg-open") },
	{ "planted-open-node", "broker", "", "the same in node_modules/.bin", planted,
		SERVICE(NODE, "browser.open", PAGE, false, NULL, "xdg-open") },
	{ "planted-open-child", "broker", "", "the program that opens pages starts a planted one",
		planted, SERVICE(VENV, "browser.open", PAGE, false, "opener", "dbus-send") },
	{ "planted-open-browser", "broker", "", "BROWSER names a planted program", planted,
		SERVICE(VENV, "browser.open", PAGE, false, NULL, "browser") },
	{ "planted-copy-x11", "broker", "", "a planted xclip gets the display, to write", planted,
		SERVICE(VENV, "clipboard.write", "{\"text\":\"x\"}", true, NULL, "xclip") },
	{ "planted-paste-x11", "broker", "", "the same to read", planted,
		SERVICE(NODE, "clipboard.read", "{}", true, NULL, "xclip") },
	{ "planted-copy-wayland", "broker", "", "the same with wl-copy", planted,
		SERVICE(VENV, "clipboard.write", "{\"text\":\"x\"}", true, NULL, "wl-copy",
			"wl-paste") },
	{ "planted-notify", "broker", "", "a planted notify-send shows a notification", planted,
		SERVICE(VENV, "notifications.send", "{\"title\":\"x\"}", false, NULL, "notify-send",
			"dbus-send", "gdbus") },
	{ "port-taken", "port", "",
		"clients of a daemon that is away send their rights to who has its port",
		port_taken, NULL },
	{ "port-other-loopback", "port", "",
		"the daemon's port is free on the other loopback address", port_other, NULL },
};
THEME(outside, "What runs outside for a command", table);
