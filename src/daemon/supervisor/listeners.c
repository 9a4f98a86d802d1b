/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Where clients of the API come from: a Unix socket for programs, and a port of loopback for the
 * page. The port is held on both loopback addresses, because `localhost` is either of them; where
 * another program has one of them already, another port is taken. The service manager may hold them
 * while the daemon is away. Each connection is looked at here, and handed to corrald-http.
 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/http-link.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/listeners.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/supervisor/systemd.h"
#include "daemon/supervisor/tcp-peer.h"
#include "daemon/watch/security-watch.h"

enum {
	LISTENERS_ACCEPT_MAX = 32,
	LISTENERS_FDS_START = 3,
	LISTENERS_BACKLOG = 512,
	LISTENERS_TRIES = 16,
};

/* The port of a TCP socket that listens on loopback; negative: it is none. */
static int listeners_port_of(int fd)
{
	struct sockaddr_storage a = { 0 };
	socklen_t len = sizeof(a);
	const struct sockaddr_in *v4 = (const struct sockaddr_in *)&a;
	const struct sockaddr_in6 *v6 = (const struct sockaddr_in6 *)&a;

	if (getsockname(fd, (struct sockaddr *)&a, &len) < 0)
		return -errno;
	if (a.ss_family == AF_INET && v4->sin_addr.s_addr == htonl(INADDR_LOOPBACK))
		return ntohs(v4->sin_port);
	if (a.ss_family == AF_INET6 && IN6_IS_ADDR_LOOPBACK(&v6->sin6_addr))
		return ntohs(v6->sin6_port);
	return -EADDRNOTAVAIL;
}

static const char *listeners_name(bool is_v6)
{
	return is_v6 ? "::1" : "127.0.0.1";
}

static int listeners_bind(bool is_v6, uint16_t port, int *ret)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	auto_fd fd =
		socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0)
		return -errno;
	(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
		    is_v6 ? sizeof(v6) : sizeof(v4)) < 0 ||
		listen(fd, LISTENERS_BACKLOG) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

/* This machine has no such address: no program can take it, either. */
static bool listeners_has_none(int r)
{
	return r == -EADDRNOTAVAIL || r == -EAFNOSUPPORT;
}

/* Both addresses at one port, or none. */
static int listeners_bind_both(struct supervisor *s, uint16_t port)
{
	const bool first = s->config.is_v6;
	auto_fd one = -1, other = -1;
	int r = listeners_bind(first, port, &one);

	if (r < 0)
		return r;
	port = (uint16_t)listeners_port_of(one);
	r = listeners_bind(!first, port, &other);
	if (r < 0 && !listeners_has_none(r))
		return r;
	s->listeners.port = port;
	s->listeners.tcp[first].fd = fd_take(&one);
	s->listeners.tcp[!first].fd = fd_take(&other);
	return 0;
}

static int listeners_open_tcp(struct supervisor *s, struct error *e)
{
	const uint16_t port = s->config.port;
	int r = listeners_bind_both(s, port);

	if (r == -EADDRINUSE && port)
		journal_say(s, CONFIG_WARN,
			"another program listens on port %u of this machine; another port is taken",
			port);
	for (int i = 0; r == -EADDRINUSE && i < LISTENERS_TRIES; i++)
		r = listeners_bind_both(s, 0);
	if (r < 0) {
		(void)error_set(e, r, NULL, "cannot listen on %s, port %u: %s",
			listeners_name(s->config.is_v6), port, strerror(-r));
		error_hint(e, "--port 0 picks one that is free");
	}
	return r;
}

/* A service manager may hold one address alone. */
static void listeners_complete(struct supervisor *s)
{
	const bool is_missing_v6 = s->listeners.tcp[1].fd < 0;
	int r;

	if (s->listeners.tcp[0].fd >= 0 && s->listeners.tcp[1].fd >= 0)
		return;
	r = listeners_bind(is_missing_v6, s->listeners.port, &s->listeners.tcp[is_missing_v6].fd);
	if (r < 0 && !listeners_has_none(r))
		journal_say(s, CONFIG_WARN,
			"cannot listen on %s, port %u, too: %s; `localhost` may lead to another "
			"program there",
			listeners_name(is_missing_v6), s->listeners.port, strerror(-r));
}

/* What the service manager listens on already: told apart by their kind. */
static int listeners_adopt(struct supervisor *s, int fd, int *ret_api, struct error *e)
{
	int type = 0, domain = 0, listens = 0, port;
	int *place;
	socklen_t len = sizeof(int);

	(void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	(void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	(void)getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len);
	place = domain == AF_UNIX ? ret_api : &s->listeners.tcp[domain == AF_INET6].fd;
	if (!listens || type != SOCK_STREAM || *place >= 0)
		return error_set(
			e, -EINVAL, NULL, "descriptor %d is not a socket that corrald can use", fd);
	/* A manager's may wait in accept(), and we with it. */
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(e, -errno, NULL, "descriptor %d: %s", fd, strerror(errno));
	port = domain == AF_UNIX ? 0 : listeners_port_of(fd);
	if (port < 0 || (port > 0 && s->listeners.port && s->listeners.port != port)) {
		(void)error_set(e, -EINVAL, NULL,
			"descriptor %d does not listen on loopback, or on another port than the "
			"one before; the API is for this machine alone",
			fd);
		error_hint(e, "in the socket unit: ListenStream=127.0.0.1:3847 and "
			      "ListenStream=[::1]:3847");
		return -EINVAL;
	}
	*place = fd;
	if (port > 0)
		s->listeners.port = (uint16_t)port;
	return 0;
}

/* All of them, or none. */
static void listeners_listen(struct supervisor *s, uint32_t events)
{
	struct watcher *const all[] = { &s->listeners.api, &s->listeners.tcp[0],
		&s->listeners.tcp[1] };

	s->listeners.is_full = events == 0;
	for (size_t i = 0; i < ROWS(all); i++)
		if (all[i]->fd >= 0 && loop_change(s->loop, all[i], events) < 0)
			s->is_over = true;
}

void listeners_go_on(struct supervisor *s)
{
	if (s->listeners.is_full)
		listeners_listen(s, EPOLLIN);
}

/* The next connection; -1: there is none, or no room for it, and it waits where it is. */
static int listeners_accept(struct supervisor *s, int listener)
{
	if (http_link_has_room(s))
		return accept4(listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
	listeners_listen(s, 0);
	return -1;
}

static void listeners_on_api(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, listeners.api);

	(void)events;
	for (int i = 0; i < LISTENERS_ACCEPT_MAX; i++) {
		auto_fd fd = listeners_accept(s, w->fd);
		struct origin_peer peer;
		const char *why;
		int r;

		if (fd < 0)
			return;
		r = origin_check(&s->own, fd, &peer, &why);
		/* It was closed before it was looked at, which says nothing of who it was. */
		if (r == -ESRCH)
			continue;
		/* It hears why. */
		http_process_hand_over(s, fd, false, r < 0 ? why : "");
		if (r < 0)
			security_watch_tell_refused(s, "api.sock", &peer, why);
	}
}

/* Why a peer by TCP is refused; "": it is not. The system's daemon is for all users: who opens its
 * page is seldom root. */
static const char *listeners_judge(const struct supervisor *s, int fd)
{
	uid_t uid;
	int r = s->is_system ? 0 : tcp_peer_uid(fd, &uid);

	if (s->is_system || (r == 0 && (uid == geteuid() || uid == 0)))
		return "";
	return r == 0 ? "the process belongs to another user"
		      : "the kernel does not say whose connection it is (modprobe tcp_diag)";
}

static void listeners_on_tcp(struct supervisor *s, int listener)
{
	for (int i = 0; i < LISTENERS_ACCEPT_MAX; i++) {
		auto_fd fd = listeners_accept(s, listener);
		const char *why;

		if (fd < 0)
			return;
		why = listeners_judge(s, fd);
		s->api.metrics.refused_peers += *why != '\0';
		/* What it asks for is in the log, at a bounded rate: all users can connect. */
		http_process_hand_over(s, fd, true, why);
	}
}

static void listeners_on_v4(struct watcher *w, uint32_t events)
{
	(void)events;
	listeners_on_tcp(container_of(w, struct supervisor, listeners.tcp[0]), w->fd);
}

static void listeners_on_v6(struct watcher *w, uint32_t events)
{
	(void)events;
	listeners_on_tcp(container_of(w, struct supervisor, listeners.tcp[1]), w->fd);
}

static int listeners_watch_tcp(struct supervisor *s)
{
	void (*const ready[])(struct watcher *, uint32_t) = { listeners_on_v4, listeners_on_v6 };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(ready); i++) {
		const int fd = s->listeners.tcp[i].fd;

		s->listeners.tcp[i] = (struct watcher){ .ready = ready[i], .fd = -1 };
		if (fd >= 0)
			r = loop_add(s->loop, &s->listeners.tcp[i], fd, EPOLLIN);
	}
	return r;
}

int listeners_open(struct supervisor *s, struct error *e)
{
	const size_t n = systemd_listen_fds();
	int api = -1, join = -1, r = 0;

	s->listeners.is_given = n > 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = listeners_adopt(s, LISTENERS_FDS_START + (int)i, &api, e);
	if (r == 0 && s->listeners.port)
		listeners_complete(s);
	if (r == 0 && !s->config.no_port && !s->listeners.is_given)
		r = listeners_open_tcp(s, e);
	if (r == 0 && api < 0)
		r = runtime_folder_listen(&s->folder, "api.sock", SOCK_STREAM, &api, e);
	if (r < 0)
		return r;
	s->listeners.api = (struct watcher){ .ready = listeners_on_api, .fd = -1 };
	r = loop_add(s->loop, &s->listeners.api, api, EPOLLIN);
	if (r == 0)
		r = listeners_watch_tcp(s);
	if (r == 0)
		r = runtime_folder_listen(&s->folder, "join.sock", SOCK_SEQPACKET, &join, e);
	return r < 0 ? r : sandboxes_open(s, join);
}

static void listeners_close_one(struct supervisor *s, struct watcher *w)
{
	int fd = w->fd;

	loop_remove(s->loop, w);
	fd_close(&fd);
}

void listeners_close(struct supervisor *s)
{
	if (s->listeners.api.fd >= 0 && !s->listeners.is_given)
		runtime_folder_remove(&s->folder, "api.sock");
	listeners_close_one(s, &s->listeners.api);
	for (size_t i = 0; i < ROWS(s->listeners.tcp); i++)
		listeners_close_one(s, &s->listeners.tcp[i]);
}
