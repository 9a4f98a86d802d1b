/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "daemon/api/tool-queue.h"
#include "daemon/api/tool.h"
#include "daemon/peers/acks.h"
#include "daemon/peers/missed.h"
#include "daemon/peers/orders.h"
#include "daemon/peers/sandboxes.h"
#include "daemon/supervisor/bus.h"
#include "daemon/supervisor/enclave-process.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/journal.h"
#include "daemon/supervisor/listeners.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/supervisor/systemd.h"
#include "daemon/watch/health.h"
#include "daemon/watch/policies.h"
#include "daemon/watch/security-watch.h"

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
	return s->journal.trail ? audit_trail_wait_ms(s->journal.trail) : -1;
}

int supervisor_open(struct supervisor *s, struct error *e)
{
	int r = origin_read_own(&s->own);

	if (r < 0)
		return error_set(e, r, NULL, "cannot read /proc/self: %s", strerror(-r));
	s->started_ms = clock_ms(CLOCK_REALTIME);
	bus_begin(&s->bus);
	r = runtime_folder_open(&s->folder, s->is_system, e);
	if (r == 0)
		r = runtime_folder_token(&s->folder, e);
	if (r == 0)
		r = journal_open(s, e);
	if (r == 0 && !s->is_system)
		r = runtime_folder_announce(&s->folder, buffer_text(&s->journal.path), e);
	if (r < 0)
		return r;
	tool_queue_open(s);
	r = loop_new(&s->loop);
	if (r == 0)
		r = supervisor_open_signals(s);
	if (r < 0)
		return error_set(e, r, NULL, "%s", strerror(-r));
	r = listeners_open(s, e);
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

	if (s->listeners.port)
		(void)snprintf(where, sizeof(where), "http://%s:%u",
			s->config.is_v6 ? "[::1]" : "127.0.0.1", s->listeners.port);
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
		(void)audit_trail_tick(s->journal.trail, &e);
		journal_tell_failure(s);
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
	int signals = s->signals.fd;

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
		listeners_close(s);
		loop_remove(s->loop, &s->signals);
	}
	if (signals > 0)
		(void)close(signals);
	journal_close(s);
	bus_deinit(&s->bus);
	runtime_folder_close(&s->folder);
	buffer_deinit(&s->config_folder);
	loop_free(s->loop);
}
