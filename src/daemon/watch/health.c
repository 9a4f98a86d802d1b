/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Whether corrald-http answers, and not only whether it is there: it is asked for /api/health as
 * any client would ask, over a connection that is handed over to it. One that does not answer is
 * ended and started again; a service manager hears that all is well only while it answers.
 */
#include <errno.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

#include "base/fd.h"
#include "daemon/supervisor/http-process.h"
#include "daemon/supervisor/supervisor.h"
#include "daemon/watch/health.h"

enum {
	HEALTH_MS = 5 * 1000,       /* between an answer and the next question */
	HEALTH_SLOW_MS = 2 * 1000,  /* without an answer: WATCHDOG=1 is not sent */
	HEALTH_LATE_MS = 10 * 1000, /* it is ended */
};

static void health_close_answer(struct supervisor *s)
{
	int fd = s->watch.health.answer.fd;

	loop_remove(s->loop, &s->watch.health.answer);
	fd_close(&fd);
}

static void health_restart(struct supervisor *s, uint64_t ms)
{
	if (loop_start(s->loop, &s->watch.health.timer, ms) < 0)
		s->is_over = true;
}

static void health_on_answer(struct watcher *w, uint32_t events)
{
	static const char good[] = "HTTP/1.1 200 ";
	struct supervisor *s = container_of(
		container_of(w, struct health, answer), struct supervisor, watch.health);
	char room[1024];
	ssize_t n = recv(w->fd, room, sizeof(room), MSG_DONTWAIT);

	(void)events;
	if (n < 0 && (errno == EAGAIN || errno == EINTR))
		return;
	s->watch.health.is_good =
		n >= (ssize_t)strlen(good) && memcmp(room, good, strlen(good)) == 0;
	health_close_answer(s);
	/* One that ended is started again by who has its socket; so is this. */
	health_restart(s, s->watch.health.is_good ? HEALTH_MS : HEALTH_MS / 10);
}

static int health_ask(struct supervisor *s)
{
	static const char question[] = "GET /api/health HTTP/1.1\r\nHost: localhost\r\n\r\n";
	int pair[2], r;
	auto_fd ours = -1, theirs = -1;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, pair) < 0)
		return -errno;
	ours = pair[0];
	theirs = pair[1];
	if (send(ours, question, strlen(question), MSG_NOSIGNAL) < 0)
		return -errno;
	s->watch.health.asked = s->http.child.pid;
	s->watch.health.asked_at = loop_now(s->loop);
	r = loop_add(s->loop, &s->watch.health.answer, ours, EPOLLIN);
	if (r < 0)
		return r;
	(void)fd_take(&ours);
	http_process_hand_over(s, theirs, false, "");
	return 0;
}

/* It is time to ask; or the answer is late. */
static void health_on_timer(struct timer *t)
{
	struct supervisor *s = container_of(
		container_of(t, struct health, timer), struct supervisor, watch.health);
	struct health *h = &s->watch.health;

	if (h->answer.fd >= 0) {
		h->is_good = false;
		health_close_answer(s);
		if (h->asked == s->http.child.pid)
			http_process_lose(s, "does not answer");
		health_restart(s, HEALTH_MS / 10);
		return;
	}
	if (s->http.child.pid == 0 || health_ask(s) < 0) {
		h->is_good = false;
		health_restart(s, HEALTH_MS / 10);
		return;
	}
	health_restart(s, HEALTH_LATE_MS);
}

bool health_is_good(const struct supervisor *s)
{
	const struct health *h = &s->watch.health;

	return s->http.child.pid != 0 && h->is_good &&
	       (h->answer.fd < 0 || loop_now(s->loop) - h->asked_at < HEALTH_SLOW_MS);
}

int health_open(struct supervisor *s)
{
	s->watch.health = (struct health){ .timer = { .expired = health_on_timer },
		.answer = { .ready = health_on_answer, .fd = -1 } };
	return loop_start(s->loop, &s->watch.health.timer, 0);
}

void health_close(struct supervisor *s)
{
	loop_stop(s->loop, &s->watch.health.timer);
	health_close_answer(s);
}
