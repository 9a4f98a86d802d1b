/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The side outside the jail. One epoll descriptor has everything: the zygote's socket and pidfd,
 * the socket of each running command's init, a timer for the next deadline, and the watch over
 * covers. Events are taken one at a time, so that handling one may free what another would have
 * named.
 *
 * A spare init waits at any time, so that a command costs no more than a message and an exec. When
 * its command is over, an init is a spare again; the zygote makes another only if none is left.
 */
#include "warden/session.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/file.h"
#include "jail/plan-wire.h"
#include "jail/probe.h"
#include "warden/charge.h"
#include "warden/command.h"
#include "warden/given.h"
#include "warden/zygote.h"

enum {
	SPARES = 1,       /* inits that wait for a command, at least */
	SPARES_MAX = 8,   /* at most: more commands than that at once are rare */
	READY_MS = 30000, /* for building a session, before something is wrong */
	GRACE_MS = 1000,  /* between "end" and the end of the init itself */
	LOST_MAX = 3,     /* inits of one command that may die before they take it */
};

struct spare {
	int socket, pidfd;
};

struct session {
	struct session_options o;
	struct session_handler handler;
	const struct plan *plan;
	pid_t pid; /* of the zygote */
	int pidfd, socket;
	int epoll, timer;
	struct charge *charge;
	struct command *commands; /* newest first */
	struct spare spares[SPARES_MAX];
	size_t n_spares, n_asked;
	bool lent;    /* an init is with the holder of the session */
	bool starved; /* the last attempt at an init failed: none is made ahead of time */
	bool gone;
	struct frame frame;
};

/* What an event of epoll belongs to: the address of one of these, or of a command. */
#define SOURCE_ZYGOTE(s) ((void *)&(s)->socket)
#define SOURCE_DEATH(s) ((void *)&(s)->pidfd)
#define SOURCE_TIMER(s) ((void *)&(s)->timer)

static int add_source(struct session *s, int fd, void *source)
{
	struct epoll_event e = { .events = EPOLLIN, .data.ptr = source };

	return epoll_ctl(s->epoll, EPOLL_CTL_ADD, fd, &e) < 0 ? -errno : 0;
}

static void report_event(struct session *s, const struct session_event *event)
{
	s->handler.event(s->handler.context, event);
}

/* Deadlines. */

static void set_timer(struct session *s)
{
	struct itimerspec at = { 0 };
	uint64_t next = 0;

	for (const struct command *c = s->commands; c; c = c->next)
		if (c->deadline > 0 && (next == 0 || c->deadline < next))
			next = c->deadline;
	at.it_value.tv_sec = (time_t)(next / 1000);
	at.it_value.tv_nsec = (long)(next % 1000) * 1000000;
	(void)timerfd_settime(s->timer, TFD_TIMER_ABSTIME, &at, NULL);
}

static void doom(struct session *s, struct command *c, uint32_t flag)
{
	if (c->doomed)
		return;
	c->flags |= flag;
	c->doomed = true;
	c->deadline = clock_ms() + GRACE_MS;
	set_timer(s);
	if (c->socket >= 0 && frame_send(c->socket, FRAME_KILL, c->id, NULL, 0, NULL, 0) == 0)
		return;
	if (c->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

static void pass_deadline(struct session *s, struct command *c)
{
	if (!c->doomed)
		doom(s, c, REPORT_TIMED_OUT);
	else if (c->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
	else
		c->deadline = 0;
}

static void on_timer(struct session *s)
{
	uint64_t ticks;
	uint64_t now = clock_ms();

	(void)!read(s->timer, &ticks, sizeof(ticks));
	for (struct command *c = s->commands; c; c = c->next)
		if (c->deadline > 0 && c->deadline <= now) {
			c->deadline = now + GRACE_MS;
			pass_deadline(s, c);
		}
	set_timer(s);
}

/* Commands. */

static struct command *find(const struct session *s, uint64_t id)
{
	struct command *c = s->commands;

	while (c && c->id != id)
		c = c->next;
	return c;
}

static void unlink_command(struct session *s, struct command *c)
{
	struct command **at = &s->commands;

	while (*at && *at != c)
		at = &(*at)->next;
	if (*at)
		*at = c->next;
	/* Closing is not enough: as long as the zygote has not closed its copy of the socket, epoll
	 * would go on to tell of it, with the address of what is no more. */
	if (c->socket >= 0)
		(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->socket, NULL);
	if (c->deadline > 0)
		set_timer(s);
}

static void forget(struct session *s, struct command *c)
{
	unlink_command(s, c);
	command_free(c);
}

/* An init whose command is over waits for the next one, unless it was put into a cgroup. */
static void give_back(struct session *s, struct command *c)
{
	if (s->o.single || c->cgroup || c->socket < 0 || s->n_spares == SPARES_MAX)
		return;
	(void)epoll_ctl(s->epoll, EPOLL_CTL_DEL, c->socket, NULL);
	s->spares[s->n_spares++] = (struct spare){ fd_take(&c->socket), fd_take(&c->pidfd) };
}

/* The caller is told first: closing what is left takes time that nobody has to wait for. */
static void tell_end(struct session *s, struct command *c, const struct session_event *event)
{
	unlink_command(s, c);
	report_event(s, event);
	command_free(c);
}

static void refuse_as(struct session *s, struct command *c, const struct refusal *refusal)
{
	const struct session_event event = {
		.kind = SESSION_REFUSED, .id = c->id, .fd = -1, .refusal = *refusal
	};

	tell_end(s, c, &event);
}

static void refuse(struct session *s, struct command *c, int error, const char *text)
{
	const struct refusal refusal = { .error = -error, .text = text, .hint = "" };

	refuse_as(s, c, &refusal);
}

static void end(struct session *s, struct command *c, struct report *report)
{
	struct session_event event = { .kind = SESSION_EXITED, .id = c->id, .fd = -1 };

	report->flags |= c->flags;
	charge_report(c, report);
	event.report = *report;
	tell_end(s, c, &event);
}

static void lose_zygote(struct session *s);

/* A zygote that dies closes its socket before the kernel kills what is inside. */
static bool zygote_is_dying(const struct session *s)
{
	struct pollfd p = { .fd = s->socket };

	return s->socket >= 0 && poll(&p, 1, 0) > 0 && p.revents & POLLHUP;
}

/* Its init is no more, and did not say why: killed from outside, or for want of memory. */
static void lose(struct session *s, struct command *c, int r)
{
	struct report report = { .signal = SIGKILL };

	if (zygote_is_dying(s))
		lose_zygote(s);
	else if (c->started)
		end(s, c, &report);
	else if (r == -EMFILE)
		refuse(s, c, r, "there are too many open files to start one more command");
	else
		refuse(s, c, -ECONNRESET, "the command's init died before it could start");
}

/* Inits. */

static void ask_for_inits(struct session *s)
{
	/* One that was lent is the next command's, most likely. */
	size_t want = s->starved || s->lent ? 0 : SPARES;

	if (s->o.single || s->gone)
		return;
	for (const struct command *c = s->commands; c; c = c->next)
		want += c->socket < 0;
	while (s->n_asked + s->n_spares < want) {
		if (frame_send(s->socket, FRAME_SPAWN, 0, NULL, 0, NULL, 0) < 0)
			return;
		s->n_asked++;
	}
}

/* What was to reach it while it waited. */
static int send_signals(struct command *c)
{
	int r = 0;

	for (uint32_t n = 1; r == 0 && c->signals > 0; n++, c->signals >>= 1)
		if (c->signals & 1)
			r = frame_send(c->socket, FRAME_SIGNAL, c->id, &n, sizeof(n), NULL, 0);
	return r;
}

/* Hands a waiting command to an init. The init's descriptors are the command's from here on. */
static int assign(struct session *s, struct command *c, struct spare *init)
{
	int r;

	c->socket = init->socket;
	c->pidfd = init->pidfd;
	*init = (struct spare){ -1, -1 };
	r = charge_begin(s->charge, c);
	if (r == 0)
		r = frame_send(c->socket, FRAME_START, c->id, c->body.data, c->body.len, c->stdio,
			c->stdio[0] >= 0 ? 3 : 0);
	if (r == 0)
		r = send_signals(c);
	if (r == 0)
		r = add_source(s, c->socket, c);
	for (size_t i = 0; i < 3; i++) {
		fd_closep(&c->stdio[i]);
		c->stdio[i] = -1;
	}
	buffer_deinit(&c->body);
	if (r == 0 && c->timeout_ms > 0 && !c->doomed) {
		c->deadline = clock_ms() + c->timeout_ms;
		set_timer(s);
	}
	return r;
}

/* The oldest command without an init. */
static struct command *next_waiting(const struct session *s)
{
	struct command *oldest = NULL;

	for (struct command *c = s->commands; c; c = c->next)
		if (c->socket < 0)
			oldest = c;
	return oldest;
}

static void spare_deinit(struct spare *init)
{
	fd_closep(&init->socket);
	fd_closep(&init->pidfd);
}

/* It waits unwatched; somebody outside may have killed it, and no command shall pay for that. */
static bool spare_is_alive(const struct spare *init)
{
	struct pollfd p = { .fd = init->pidfd, .events = POLLIN };

	return poll(&p, 1, 0) == 0;
}

static void use_spares(struct session *s)
{
	struct command *c;

	while (s->n_spares > 0 && (c = next_waiting(s))) {
		struct spare *init = &s->spares[--s->n_spares];
		int r;

		/* The only one of a single command is not replaced. */
		if (!s->o.single && !spare_is_alive(init)) {
			spare_deinit(init);
			continue;
		}
		r = assign(s, c, init);
		if (r < 0)
			refuse(s, c, r, strerror(-r));
	}
}

/*
 * An init that is dead before it was given anything: if it failed to confine itself it said why,
 * and the next would fail as well. Else somebody killed it, and another may do.
 */
static void bury(struct session *s, struct command *c, struct spare *init)
{
	struct refusal refusal;

	if (frame_receive(init->socket, &s->frame) == 1 && s->frame.type == FRAME_FAILED &&
		refusal_decode(&refusal, s->frame.body, s->frame.len) == 0)
		refuse_as(s, c, &refusal);
	else if (++c->n_lost == LOST_MAX)
		refuse(s, c, -ECONNRESET, "one init after the other died before it could start");
	spare_deinit(init);
}

static void keep_spare(struct session *s, int socket, int pidfd)
{
	struct command *c = next_waiting(s);
	struct spare init = { socket, pidfd };

	if (c && !spare_is_alive(&init)) {
		bury(s, c, &init);
	} else if (c) {
		int r = assign(s, c, &init);

		if (r < 0)
			refuse(s, c, r, strerror(-r));
	} else if (s->n_spares < SPARES_MAX) {
		s->spares[s->n_spares++] = init;
	} else {
		spare_deinit(&init);
	}
}

/* Frames of the zygote. */

static void lose_zygote(struct session *s)
{
	const struct session_event event = { .kind = SESSION_GONE,
		.fd = -1,
		.refusal = { .error = ECONNRESET,
			.text = "the sandbox ended: its first process was killed",
			.hint = "the next command builds a new one" } };

	if (s->gone)
		return;
	s->gone = true;
	while (s->commands)
		forget(s, s->commands);
	report_event(s, &event);
}

static void on_failed(struct session *s)
{
	struct refusal refusal;
	struct command *c = next_waiting(s);

	s->n_asked -= s->n_asked > 0;
	s->starved = true;
	if (c && refusal_decode(&refusal, s->frame.body, s->frame.len) == 0)
		refuse_as(s, c, &refusal);
}

/* There was an init, but no room for its descriptors here; it ends with them. */
static void miss_init(struct session *s)
{
	struct command *c = next_waiting(s);

	s->n_asked -= s->n_asked > 0;
	s->starved = true;
	if (c)
		refuse(s, c, -EMFILE, "there are too many open files to start one more command");
}

static int on_init(struct session *s)
{
	auto_fd socket = frame_take_fd(&s->frame, 0);
	auto_fd pidfd = frame_take_fd(&s->frame, 1);

	s->n_asked -= s->n_asked > 0;
	if (socket < 0 || pidfd < 0 || fcntl(socket, F_SETFL, O_NONBLOCK) < 0)
		return -EPROTO;
	s->starved = false;
	keep_spare(s, fd_take(&socket), fd_take(&pidfd));
	return 0;
}

static void on_zygote(struct session *s)
{
	int r = frame_receive(s->socket, &s->frame);

	if (r == -EAGAIN)
		return;
	if (r == 1 && s->frame.type == FRAME_INIT)
		r = on_init(s);
	else if (r == 1 && s->frame.type == FRAME_FAILED)
		on_failed(s);
	else if (r == -EMFILE) {
		miss_init(s);
		r = 0;
	} else
		r = -EPROTO;
	if (r < 0) {
		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
		lose_zygote(s);
	}
}

/* Frames of an init. */

static void on_started(struct session *s, struct command *c)
{
	struct session_event event = { .kind = SESSION_STARTED, .id = c->id };

	c->started = true;
	event.fd = frame_take_fd(&s->frame, 0);
	report_event(s, &event);
}

static int on_exited(struct session *s, struct command *c)
{
	struct report report;
	int r = report_decode(&report, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	give_back(s, c);
	end(s, c, &report);
	return 0;
}

static int on_refused(struct session *s, struct command *c)
{
	struct refusal refusal;
	int r = refusal_decode(&refusal, s->frame.body, s->frame.len);

	if (r < 0)
		return r;
	/* FAILED: it could not even become an init. */
	if (s->frame.type == FRAME_REFUSED)
		give_back(s, c);
	refuse_as(s, c, &refusal);
	return 0;
}

static void on_command(struct session *s, struct command *c)
{
	int r = frame_receive(c->socket, &s->frame);

	if (r == -EAGAIN)
		return;
	if (r == 1 && s->frame.type == FRAME_STARTED && !c->started) {
		on_started(s, c);
		return;
	}
	if (r == 1 && s->frame.type == FRAME_EXITED && c->started)
		r = on_exited(s, c);
	else if (r == 1 && (s->frame.type == FRAME_REFUSED || s->frame.type == FRAME_FAILED))
		r = on_refused(s, c);
	else
		r = -EPROTO;
	/* Also when it hung up: the pid namespace goes with the init. */
	if (r < 0) {
		(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
		lose(s, c, r);
	}
}

int session_dispatch(struct session *s)
{
	struct epoll_event e;
	int n;

	while (!s->gone && (n = epoll_wait(s->epoll, &e, 1, 0)) > 0) {
		if (e.data.ptr == SOURCE_ZYGOTE(s))
			on_zygote(s);
		else if (e.data.ptr == SOURCE_DEATH(s))
			lose_zygote(s);
		else if (e.data.ptr == SOURCE_TIMER(s))
			on_timer(s);
		else
			on_command(s, e.data.ptr);
		ask_for_inits(s);
	}
	return s->gone ? -ECONNRESET : 0;
}

/* Building. */

static pid_t clone_zygote(int flags, int *ret_pidfd)
{
	return (pid_t)syscall(
		SYS_clone, flags | CLONE_PIDFD | SIGCHLD, NULL, ret_pidfd, NULL, NULL);
}

static int make_zygote(struct session *s, struct error *e)
{
	struct zygote z = { .single = s->o.single,
		.own_network = !s->o.host_network,
		.uid = geteuid(),
		.gid = getegid() };
	int pair[2];
	int r = frame_pair(pair);
	auto_fd inner = r < 0 ? -1 : pair[1];

	if (r < 0)
		return error_set(e, r, NULL, "cannot make a socket: %s", strerror(-r));
	s->socket = pair[0];
	s->pid = clone_zygote(zygote_namespaces(), &s->pidfd);
	if (s->pid < 0) {
		r = -errno;
		s->pidfd = -1;
		(void)error_set(e, r, NULL, "cannot make namespaces: %s", strerror(-r));
		(void)probe_tier1(e);
		return r;
	}
	if (s->pid == 0) {
		z.socket = inner;
		zygote_run(&z);
	}
	return 0;
}

static int failed(struct session *s, struct error *e)
{
	struct refusal refusal;

	if (s->frame.type != FRAME_FAILED ||
		refusal_decode(&refusal, s->frame.body, s->frame.len) < 0)
		return error_set(e, -EPROTO, NULL, "the sandbox's first process talks nonsense");
	(void)error_set(e, -refusal.error, NULL, "%s", refusal.text);
	if (refusal.hint[0])
		error_hint(e, "%s", refusal.hint);
	return -refusal.error;
}

static int await_ready(struct session *s, struct error *e)
{
	struct pollfd p = { .fd = s->socket, .events = POLLIN };
	int r;

	do
		r = poll(&p, 1, READY_MS);
	while (r < 0 && errno == EINTR);
	if (r == 0)
		return error_set(e, -ETIMEDOUT, NULL, "the sandbox could not be built in time");
	r = frame_receive(s->socket, &s->frame);
	if (r == 0)
		return error_set(e, -ECONNRESET, NULL, "the sandbox's first process died");
	if (r < 0)
		return error_set(e, r, NULL, "the sandbox does not answer: %s", strerror(-r));
	return s->frame.type == FRAME_READY ? 0 : failed(s, e);
}

static int add_sources(struct session *s)
{
	int r = add_source(s, s->timer, SOURCE_TIMER(s));

	if (r == 0 && fcntl(s->socket, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (s->o.single && r == 0) {
		/* pid 1 of a single command is that command's init. */
		int copy = fcntl(s->pidfd, F_DUPFD_CLOEXEC, 0);

		if (copy < 0)
			return -errno;
		s->spares[s->n_spares++] = (struct spare){ fd_take(&s->socket), copy };
		return 0;
	}
	if (r == 0)
		r = add_source(s, s->pidfd, SOURCE_DEATH(s));
	return r < 0 ? r : add_source(s, s->socket, SOURCE_ZYGOTE(s));
}

static int open_descriptors(struct session *s, struct error *e)
{
	int r;

	s->epoll = epoll_create1(EPOLL_CLOEXEC);
	s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
	if (s->epoll < 0 || s->timer < 0)
		return error_set(e, -errno, NULL, "cannot make descriptors: %s", strerror(errno));
	r = charge_new(&s->charge);
	return r < 0 ? error_set(e, r, NULL, "out of memory") : 0;
}

int session_prepare(struct session **ret, const struct session_options *o, struct error *e)
{
	struct session *s = calloc(1, sizeof(*s));
	int r;

	if (!s)
		return error_set(e, -ENOMEM, NULL, "out of memory");
	s->o = *o;
	s->pid = -1;
	s->pidfd = s->socket = s->epoll = s->timer = -1;
	r = make_zygote(s, e);
	if (r == 0)
		r = open_descriptors(s, e);
	if (r < 0) {
		session_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

static void kill_zygote(const struct session *s)
{
	if (s->pidfd >= 0)
		(void)syscall(SYS_pidfd_send_signal, s->pidfd, SIGKILL, NULL, 0);
}

static void end_zygote(struct session *s)
{
	kill_zygote(s);
	while (s->pidfd >= 0 && waitpid(s->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_closep(&s->pidfd);
	fd_closep(&s->socket);
	s->pidfd = s->socket = -1;
}

/* The plan has another network than was guessed: once more from the start. */
static int change_network(struct session *s, const struct plan *plan, struct error *e)
{
	bool host = plan->network == PLAN_NETWORK_HOST;

	if (host == s->o.host_network)
		return 0;
	s->o.host_network = host;
	end_zygote(s);
	return make_zygote(s, e);
}

static int send_plan(struct session *s, struct error *e)
{
	auto_buffer body = { 0 };
	int r = plan_encode(s->plan, &body);

	if (r == 0)
		r = frame_send(s->socket, FRAME_PLAN, 0, body.data, body.len, NULL, 0);
	/* If nobody is there any more, it said why before it went. */
	if (r < 0 && r != -EPIPE)
		return error_set(e, r, NULL, "cannot hand over the plan: %s", strerror(-r));
	return 0;
}

int session_build(struct session *s, const struct plan *plan, const struct session_handler *h,
	struct error *e)
{
	int r = change_network(s, plan, e);

	s->plan = plan;
	s->handler = *h;
	if (r == 0)
		r = send_plan(s, e);
	if (r == 0)
		r = await_ready(s, e);
	if (r < 0)
		return r;
	r = add_sources(s);
	if (r < 0)
		return error_set(e, r, NULL, "cannot watch the sandbox: %s", strerror(-r));
	ask_for_inits(s);
	return 0;
}

static void release(struct session *s)
{
	s->gone = true;
	while (s->commands)
		forget(s, s->commands);
	for (size_t i = 0; i < s->n_spares; i++)
		spare_deinit(&s->spares[i]);
	charge_free(s->charge);
	fd_closep(&s->pidfd);
	fd_closep(&s->socket);
	fd_closep(&s->epoll);
	fd_closep(&s->timer);
	frame_deinit(&s->frame);
	free(s);
}

void session_leave(struct session *s)
{
	if (!s)
		return;
	kill_zygote(s);
	release(s);
}

void session_free(struct session *s)
{
	if (!s)
		return;
	end_zygote(s);
	release(s);
}

int session_fd(const struct session *s)
{
	return s->epoll;
}

/* Starting. */

static int keep_stdio(struct session *s, struct command *c, const int stdio[3], struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && stdio && i < 3; i++) {
		c->stdio[i] = fcntl(stdio[i], F_DUPFD_CLOEXEC, 0);
		r = c->stdio[i] < 0 ? -errno : given_check(c->stdio[i], s->o.host_network, e);
		if (r == 0)
			r = given_check_cover(c->stdio[i], s->plan, e);
	}
	return r;
}

/* What the policy sets is the most that a command gets. */
static void cap(uint64_t *value, const struct plan *plan, enum limit limit)
{
	uint64_t most = plan->limits.values[limit];

	if (most != LIMIT_NONE && (*value == 0 || *value > most))
		*value = most > 0 ? most : 1;
}

static struct start with_limits(const struct start *start, const struct plan *plan)
{
	struct start capped = *start;

	cap(&capped.timeout_ms, plan, LIMIT_TIMEOUT_MS);
	cap(&capped.memory, plan, LIMIT_MEMORY);
	cap(&capped.pids, plan, LIMIT_PIDS);
	cap(&capped.file_size, plan, LIMIT_FILE_SIZE);
	cap(&capped.open_files, plan, LIMIT_OPEN_FILES);
	return capped;
}

static int make_command(struct session *s, uint64_t id, const struct start *start,
	const int stdio[3], struct error *e)
{
	struct start copy = with_limits(start, s->plan);
	struct command *c = command_new(id);
	int r;

	if (!c)
		return -ENOMEM;
	c->timeout_ms = copy.timeout_ms;
	c->memory = copy.memory;
	c->pids = copy.pids;
	/* What a cgroup holds is not looked after by the init. */
	r = charge_prepare(s->charge, c, &copy);
	if (r == 0)
		r = start_encode(&copy, &c->body);
	if (r == 0 && c->body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = keep_stdio(s, c, stdio, e);
	if (r < 0) {
		command_free(c);
		return r;
	}
	c->next = s->commands;
	s->commands = c;
	return 0;
}

int session_start(struct session *s, uint64_t id, const struct start *start, const int stdio[3],
	struct error *e)
{
	struct error why = { 0 };
	int r;

	if (s->gone)
		return error_set(e, -ECONNRESET, NULL, "the sandbox has ended");
	if (find(s, id))
		return error_set(e, -EEXIST, NULL, "there is a command with that number");
	if (s->o.single && s->n_spares == 0)
		return error_set(e, -EBUSY, NULL, "this sandbox is for a single command");
	r = make_command(s, id, start, stdio, &why);
	if (r < 0 && why.text[0]) {
		*e = why;
		return r;
	}
	if (r < 0)
		return error_set(e, r, NULL, "the command cannot be started: %s", strerror(-r));
	use_spares(s);
	ask_for_inits(s);
	return 0;
}

int session_lend(struct session *s, int *ret_socket, int *ret_pidfd)
{
	struct spare *init;

	if (s->gone || s->o.single || s->n_spares == 0 || next_waiting(s))
		return -EAGAIN;
	init = &s->spares[--s->n_spares];
	if (!spare_is_alive(init)) {
		spare_deinit(init);
		return -EAGAIN;
	}
	*ret_socket = init->socket;
	*ret_pidfd = init->pidfd;
	s->lent = true;
	return 0;
}

void session_lost(struct session *s)
{
	s->lent = false;
	ask_for_inits(s);
}

int session_signal(struct session *s, uint64_t id, int signal)
{
	struct command *c = find(s, id);
	uint32_t number = (uint32_t)signal;

	if (!c)
		return -ESRCH;
	if (signal < 1 || signal > 64)
		return -EINVAL;
	if (c->socket < 0) {
		c->signals |= UINT64_C(1) << (signal - 1);
		return 0;
	}
	return frame_send(c->socket, FRAME_SIGNAL, id, &number, sizeof(number), NULL, 0);
}

int session_kill(struct session *s, uint64_t id)
{
	struct command *c = find(s, id);

	if (!c)
		return -ESRCH;
	if (c->socket < 0)
		refuse(s, c, -ECANCELED, "the command was ended before it started");
	else
		doom(s, c, REPORT_KILLED);
	return 0;
}

size_t session_commands(const struct session *s)
{
	size_t n = 0;

	for (const struct command *c = s->commands; c; c = c->next)
		n++;
	return n;
}
