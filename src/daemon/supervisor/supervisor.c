/* SPDX-License-Identifier: Apache-2.0 */
#include <arpa/inet.h>
#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "daemon/supervisor/internal.h"
#include "daemon/supervisor/systemd.h"

enum { SUPERVISOR_ACCEPT_MAX = 32, SUPERVISOR_FDS_START = 3, SUPERVISOR_BACKLOG = 512 };

/* Listeners */

/* The port of a TCP socket that listens on loopback; negative: it is none. */
static int supervisor_port_of(int fd)
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

static int supervisor_listen_tcp(struct supervisor *s, struct error *e)
{
	struct sockaddr_in v4 = { .sin_family = AF_INET,
		.sin_port = htons(s->config.port),
		.sin_addr = { htonl(INADDR_LOOPBACK) } };
	struct sockaddr_in6 v6 = { .sin6_family = AF_INET6,
		.sin6_port = htons(s->config.port),
		.sin6_addr = IN6ADDR_LOOPBACK_INIT };
	const bool is_v6 = s->config.is_v6;
	auto_fd fd =
		socket(is_v6 ? AF_INET6 : AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	int r = fd < 0 ? -errno : 0;

	if (r == 0)
		(void)setsockopt(fd, SOL_SOCKET, SO_REUSEADDR, &(int){ 1 }, sizeof(int));
	if (r == 0 && bind(fd, is_v6 ? (struct sockaddr *)&v6 : (struct sockaddr *)&v4,
			      is_v6 ? sizeof(v6) : sizeof(v4)) < 0)
		r = -errno;
	if (r == 0 && listen(fd, SUPERVISOR_BACKLOG) < 0)
		r = -errno;
	if (r < 0) {
		(void)error_set(e, r, NULL, "cannot listen on %s, port %u: %s",
			is_v6 ? "::1" : "127.0.0.1", s->config.port, strerror(-r));
		error_hint(e, "--port 0 picks one that is free");
		return r;
	}
	s->port = (uint16_t)supervisor_port_of(fd);
	s->tcp = fd_take(&fd);
	return 0;
}

/* What the service manager listens on already: told apart by their kind. */
static int supervisor_adopt(struct supervisor *s, int fd, int *ret_api, struct error *e)
{
	int type = 0, domain = 0, listens = 0, port;
	socklen_t len = sizeof(int);

	(void)getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &len);
	(void)getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &len);
	(void)getsockopt(fd, SOL_SOCKET, SO_ACCEPTCONN, &listens, &len);
	if (!listens || type != SOCK_STREAM || (domain == AF_UNIX ? *ret_api : s->tcp) >= 0)
		return error_set(
			e, -EINVAL, NULL, "descriptor %d is not a socket that corrald can use", fd);
	/* A manager's may wait in accept(), and we with it. */
	if (fcntl(fd, F_SETFL, O_NONBLOCK) < 0)
		return error_set(e, -errno, NULL, "descriptor %d: %s", fd, strerror(errno));
	if (domain == AF_UNIX) {
		*ret_api = fd;
		return 0;
	}
	port = supervisor_port_of(fd);
	if (port <= 0) {
		(void)error_set(e, -EINVAL, NULL,
			"descriptor %d does not listen on loopback; the API is for this machine "
			"alone",
			fd);
		error_hint(e, "in the socket unit: ListenStream=127.0.0.1:3847");
		return -EINVAL;
	}
	s->tcp = fd;
	s->port = (uint16_t)port;
	return 0;
}

/* A process inside a sandbox, or one that cannot be told from that. */
void supervisor_tell_refused(
	struct supervisor *s, const char *name, const struct origin_peer *peer, const char *why)
{
	s->metrics.refused_peers++;
	journal_record(s, &(struct audit_event){ .action = AUDIT_SERVICE,
				  .program = "corrald",
				  .pid = (uint32_t)peer->pid,
				  .target = name,
				  .decision = AUDIT_DENIED,
				  .reason = why,
				  .exact = true });
	journal_say(s, CONFIG_WARN, "refused pid %d on %s: %s", (int)peer->pid, name, why);
	security_watch_tell_peer(s, name, peer->pid, why);
}

static void supervisor_on_api(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, api);

	(void)events;
	for (int i = 0; i < SUPERVISOR_ACCEPT_MAX; i++) {
		auto_fd fd = accept4(w->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
		struct origin_peer peer;
		const char *why;

		if (fd < 0)
			return;
		if (origin_check(&s->own, fd, &peer, &why) == 0) {
			http_process_hand_over(s, fd, "");
			continue;
		}
		/* It hears why. */
		http_process_hand_over(s, fd, why);
		supervisor_tell_refused(s, "api.sock", &peer, why);
	}
}

static int supervisor_open_sockets(struct supervisor *s, struct error *e)
{
	const size_t n = systemd_listen_fds();
	int api = -1, join = -1, r = 0;

	s->is_given = n > 0;
	for (size_t i = 0; r == 0 && i < n; i++)
		r = supervisor_adopt(s, SUPERVISOR_FDS_START + (int)i, &api, e);
	if (r == 0 && s->tcp < 0 && !s->config.no_port && !s->is_given)
		r = supervisor_listen_tcp(s, e);
	if (r == 0 && api < 0)
		r = runtime_folder_listen(&s->folder, "api.sock", SOCK_STREAM, &api, e);
	if (r < 0)
		return r;
	s->api = (struct watcher){ .ready = supervisor_on_api, .fd = -1 };
	r = loop_add(s->loop, &s->api, api, EPOLLIN);
	if (r == 0)
		r = runtime_folder_listen(&s->folder, "join.sock", SOCK_SEQPACKET, &join, e);
	return r < 0 ? r : sandboxes_open(s, join);
}

/* Signals and time */

static void supervisor_on_signal(struct watcher *w, uint32_t events)
{
	struct supervisor *s = container_of(w, struct supervisor, signals);
	struct signalfd_siginfo info;

	(void)events;
	while (read(w->fd, &info, sizeof(info)) == (ssize_t)sizeof(info))
		s->is_over = true;
}

static int supervisor_open_signals(struct supervisor *s)
{
	sigset_t set;
	int fd;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTERM);
	(void)sigaddset(&set, SIGINT);
	(void)sigaddset(&set, SIGHUP);
	(void)signal(SIGPIPE, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	fd = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	s->signals = (struct watcher){ .ready = supervisor_on_signal, .fd = -1 };
	return fd < 0 ? -errno : loop_add(s->loop, &s->signals, fd, EPOLLIN);
}

/* Whoever watches us hears that we are there, and that corrald-http answers. */
static void supervisor_on_watchdog(struct timer *t)
{
	struct supervisor *s = container_of(t, struct supervisor, watchdog);

	if (health_is_good(s))
		(void)systemd_notify("WATCHDOG=1");
	if (loop_start(s->loop, t, systemd_watchdog_ms()) < 0)
		s->is_over = true;
}

static int supervisor_wait_ms(const struct supervisor *s)
{
	return s->trail ? audit_trail_wait_ms(s->trail) : -1;
}

int supervisor_open(struct supervisor *s, struct error *e)
{
	int r = origin_read_own(&s->own);

	if (r < 0)
		return error_set(e, r, NULL, "cannot read /proc/self: %s", strerror(-r));
	s->tcp = -1;
	s->started_ms = clock_ms(CLOCK_REALTIME);
	bus_begin(&s->bus);
	r = runtime_folder_open(&s->folder, s->is_system, e);
	if (r == 0)
		r = runtime_folder_token(&s->folder, e);
	if (r == 0)
		r = journal_open(s, e);
	if (r == 0 && !s->is_system)
		r = runtime_folder_announce(&s->folder, buffer_text(&s->log_path), e);
	if (r < 0)
		return r;
	tool_queue_open(s);
	r = loop_new(&s->loop);
	if (r == 0)
		r = supervisor_open_signals(s);
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	r = supervisor_open_sockets(s, e);
	if (r < 0)
		return r;
	if (systemd_watchdog_ms()) {
		s->watchdog.expired = supervisor_on_watchdog;
		r = loop_start(s->loop, &s->watchdog, systemd_watchdog_ms());
	}
	if (r == 0)
		r = security_watch_open(s);
	if (r == 0)
		r = policies_open(s);
	if (r == 0)
		r = missed_open(s);
	if (r == 0)
		security_watch_tell_unwatched(s);
	if (r == 0)
		r = health_open(s);
	if (r == 0)
		r = http_process_start(s);
	return r < 0 ? error_set(e, r, NULL, "cannot start corrald-http: %s", strerror(-r)) : 0;
}

static void supervisor_tell_ready(struct supervisor *s)
{
	char where[64] = "no port";

	if (s->port)
		(void)snprintf(where, sizeof(where), "http://%s:%u",
			s->config.is_v6 ? "[::1]" : "127.0.0.1", s->port);
	journal_say(s, CONFIG_INFO, "ready: %s and %s/api.sock; the token is in %s/token", where,
		buffer_text(&s->folder.path), buffer_text(&s->folder.path));
	journal_record(s, &(struct audit_event){ .action = AUDIT_SESSION,
				  .program = "corrald",
				  .pid = (uint32_t)getpid(),
				  .target = "begin",
				  .reason = "corrald",
				  .exact = true });
	(void)systemd_notify("READY=1");
}

int supervisor_run(struct supervisor *s)
{
	struct error e;
	int r = 0;

	supervisor_tell_ready(s);
	while (r == 0 && !s->is_over) {
		r = loop_turn(s->loop, supervisor_wait_ms(s));
		(void)audit_trail_tick(s->trail, &e);
		acks_turn(s);
	}
	(void)systemd_notify("STOPPING=1");
	journal_record(s, &(struct audit_event){ .action = AUDIT_SESSION,
				  .program = "corrald",
				  .pid = (uint32_t)getpid(),
				  .target = "end",
				  .exact = true });
	return r;
}

void supervisor_close(struct supervisor *s)
{
	int api = s->api.fd, signals = s->signals.fd;

	if (s->loop) {
		/* First: what sandboxes sent is read as ever. */
		sandboxes_close(s);
		security_watch_close(s);
		policies_close(s);
		missed_close(s);
		health_close(s);
		tool_end_all(s);
		orders_drop(s, NULL);
		http_process_end(s);
		enclave_process_close(s);
		loop_stop(s->loop, &s->http.again);
		loop_remove(s->loop, &s->api);
		loop_remove(s->loop, &s->signals);
	}
	if (api > 0 && !s->is_given)
		runtime_folder_remove(&s->folder, "api.sock");
	if (api > 0)
		(void)close(api);
	if (signals > 0)
		(void)close(signals);
	fd_close(&s->tcp);
	journal_close(s);
	bus_deinit(&s->bus);
	runtime_folder_close(&s->folder);
	buffer_deinit(&s->config_folder);
	loop_free(s->loop);
}
