/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of a session: how one starts, when its time is up, and what comes of it. The oldest is
 * last in the list; it is short, so it is walked.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <unistd.h>

#include "base/clock.h"
#include "base/fd.h"
#include "jail/limits/cgroup.h"
#include "warden/given.h"
#include "warden/session/internal.h"

enum {
	GRACE_MS = 1000, /* between "end" and the end of the init itself */
	DYING_MS = 1000, /* for a zygote that dies, from its first init gone to its own end */
};

/* Deadlines. */

static void session_commands_drop_output(struct session *s, struct command *c, uint32_t flag);

void session_set_timer(struct session *s)
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

void session_begin_commands(struct session *s)
{
	bool any = false;

	for (struct command *c = s->commands; c; c = c->next) {
		if (c->socket < 0 || c->timeout_ms == 0 || c->doomed)
			continue;
		c->deadline = clock_ms(CLOCK_MONOTONIC) + c->timeout_ms;
		any = true;
	}
	if (any)
		session_set_timer(s);
}

/* It may have sent its last frame before. */
static void session_commands_kill_init(struct command *c)
{
	c->init_killed = true;
	(void)syscall(SYS_pidfd_send_signal, c->pidfd, SIGKILL, NULL, 0);
}

static void doom(struct session *s, struct command *c, uint32_t flag)
{
	if (c->doomed)
		return;
	c->flags |= flag;
	c->doomed = true;
	c->deadline = clock_ms(CLOCK_MONOTONIC) + GRACE_MS;
	session_set_timer(s);
	if (c->socket >= 0 && frame_send(c->socket, FRAME_KILL, c->id, NULL, 0, NULL, 0) == 0)
		return;
	if (c->pidfd >= 0)
		session_commands_kill_init(c);
}

void session_pass_deadlines(struct session *s)
{
	uint64_t ticks;
	uint64_t now = clock_ms(CLOCK_MONOTONIC);

	(void)!read(s->timer, &ticks, sizeof(ticks));
	for (struct command *c = s->commands; c; c = c->next) {
		if (c->deadline == 0 || c->deadline > now)
			continue;
		c->deadline = now + GRACE_MS;
		if (c->ended) {
			session_commands_drop_output(s, c, c->doomed ? 0 : REPORT_TIMED_OUT);
			session_pass_deadlines(s);
			return;
		}
		if (!c->doomed)
			doom(s, c, REPORT_TIMED_OUT);
		else if (c->pidfd >= 0)
			session_commands_kill_init(c);
		else
			c->deadline = 0;
	}
	session_set_timer(s);
}

/* Limits by cgroup. */

/*
 * Limits of memory and processes by cgroup, where one can be had; else the command's init looks
 * after them. Takes those out of `start` that a cgroup of the command will hold.
 */
static void charge_prepare(struct session *s, struct command *c, struct start *start)
{
	const struct cgroup_limits limits = { .memory = c->memory, .pids = c->pids };
	struct error why = { 0 };

	if ((c->memory == 0 && c->pids == 0) || start->flags & START_NO_CGROUP)
		return;
	if (!s->looked && cgroup_home_new(&s->cgroups, &why) < 0)
		s->cgroups = NULL;
	s->looked = true;
	/* Without one, the init holds the limits: that it cannot be had is no error. */
	if (!s->cgroups || cgroup_new(&c->cgroup, s->cgroups, &limits, &why) < 0)
		return;
	/* What counts with others' is beyond the cgroup of one command: the init looks, too. */
	if (s->ledger)
		return;
	start->memory = 0;
	start->pids = 0;
}

/* The number that a process has out here, from its pidfd. */
static int pid_of(int pidfd, pid_t *ret)
{
	char path[64];
	char text[512];
	const char *line;
	ssize_t n;
	auto_fd fd = -1;

	(void)snprintf(path, sizeof(path), "/proc/self/fdinfo/%d", pidfd);
	fd = open(path, O_RDONLY | O_CLOEXEC);
	n = fd < 0 ? -1 : read(fd, text, sizeof(text) - 1);
	if (n < 0)
		return -errno;
	text[n] = '\0';
	line = strstr(text, "\nPid:");
	*ret = line ? (pid_t)strtol(line + 5, NULL, 10) : 0;
	return *ret > 0 ? 0 : -ESRCH;
}

int session_charge(const struct command *c)
{
	pid_t pid = 0;
	int r;

	if (!c->cgroup)
		return 0;
	r = pid_of(c->pidfd, &pid);
	return r < 0 ? r : cgroup_add(c->cgroup, pid);
}

/* What the cgroup knows about a command that ended. */
static void charge_report(const struct command *c, struct report *report)
{
	struct cgroup_usage usage;

	if (!c->cgroup || cgroup_read(c->cgroup, &usage) < 0)
		return;
	if (c->memory > 0)
		report->memory_by = REPORT_BY_CGROUP;
	if (c->pids > 0)
		report->pids_by = REPORT_BY_CGROUP;
	if (usage.memory_peak > 0)
		report->peak_bytes = usage.memory_peak;
	if (usage.oom_kills > 0)
		report->flags |= REPORT_OUT_OF_MEMORY;
	if (usage.pids_refused > 0)
		report->flags |= REPORT_TOO_MANY_PIDS;
}

/* Commands. */

static void command_free(struct command *c)
{
	fd_close(&c->socket);
	fd_close(&c->pidfd);
	for (size_t i = 0; i < 3; i++) {
		fd_close(&c->stdio[i]);
		copier_close(&c->copiers[i]);
	}
	buffer_deinit(&c->body);
	free(c->program);
	if (c->cgroup)
		cgroup_free(c->cgroup);
	free(c);
}

static struct command *session_commands_find(const struct session *s, uint64_t id)
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
	loop_remove(s->loop, &c->watch);
	if (c->deadline > 0)
		session_set_timer(s);
}

void session_forget(struct session *s, struct command *c)
{
	unlink_command(s, c);
	command_free(c);
}

/* The caller is told first: closing what is left takes time that nobody has to wait for. */
static void session_commands_tell_end(
	struct session *s, struct command *c, const struct session_event *event)
{
	unlink_command(s, c);
	session_report(s, event);
	command_free(c);
}

void session_refuse_as(struct session *s, struct command *c, const struct refusal *refusal)
{
	const struct session_event event = {
		.kind = SESSION_REFUSED, .id = c->id, .fd = -1, .refusal = *refusal
	};

	session_commands_tell_end(s, c, &event);
}

void session_refuse(struct session *s, struct command *c, int error, const char *text)
{
	const struct refusal refusal = { .error = -error, .text = text, .hint = "" };

	session_refuse_as(s, c, &refusal);
}

static void session_commands_tell_exit(struct session *s, struct command *c)
{
	struct session_event event = { .kind = SESSION_EXITED, .id = c->id, .fd = -1 };

	c->report.flags |= c->flags;
	for (size_t i = 0; i < 3; i++) {
		copier_close(&c->copiers[i]);
		if (c->copiers[i].error < 0)
			c->report.output_error = (uint32_t)-c->copiers[i].error;
	}
	event.report = c->report;
	session_commands_tell_end(s, c, &event);
}

/* The reader does not read, and there is no time left to wait for it. */
static void session_commands_drop_output(struct session *s, struct command *c, uint32_t flag)
{
	c->flags |= flag;
	session_commands_tell_exit(s, c);
}

void session_copy(void *command)
{
	struct command *c = command;
	bool is_done = c->ended;

	for (size_t i = 0; i < 3; i++) {
		if (c->ended)
			is_done &= copier_finish(&c->copiers[i]);
		else
			copier_run(&c->copiers[i]);
	}
	if (is_done)
		session_commands_tell_exit(c->session, c);
}

void session_hurry(struct session *s)
{
	struct command *c = s->commands, *next;

	for (; c; c = next) {
		next = c->next;
		if (c->ended)
			session_commands_tell_exit(s, c);
	}
}

void session_end(struct session *s, struct command *c, struct report *report)
{
	charge_report(c, report);
	c->report = *report;
	c->ended = true;
	/* Its init has another command soon, or is no more. */
	loop_remove(s->loop, &c->watch);
	fd_close(&c->socket);
	session_copy(c);
}

/* Its init is no more, and did not say why: killed from outside, or for want of memory. */
void session_lose(struct session *s, struct command *c, int r)
{
	struct report report = { .signal = SIGKILL };
	struct pollfd p = { .fd = s->socket };

	/* A zygote that dies closes its socket before the kernel kills what is inside; but an init
	 * that it cloned a moment ago may hold a copy, so this waits for a moment: hardly anything
	 * but the zygote's end makes an init die without a word. */
	if (s->socket >= 0 && poll(&p, 1, DYING_MS) > 0 && p.revents & POLLHUP)
		session_lose_zygote(s);
	else if (c->started) {
		int relay = session_settle(s);

		session_end(s, c, &report);
		if (relay < 0 && !s->gone)
			session_lose_relay(s);
	} else if (r == -EMFILE)
		session_refuse(s, c, r, "there are too many open files to start one more command");
	else
		session_refuse(s, c, -ECONNRESET, "the command's init died before it could start");
}

/* Starting. */

static int dup_to(int fd, int *ret)
{
	*ret = fcntl(fd, F_DUPFD_CLOEXEC, 0);
	return *ret < 0 ? -errno : 0;
}

static int keep_copier(struct session *s, struct command *c, size_t i, int fd, uint64_t limit)
{
	int r = copier_open(&c->copiers[i], fd, i == STDIN_FILENO, limit, &c->stdio[i]);

	return r < 0 ? r : copier_watch(&c->copiers[i], s->loop, session_copy, c);
}

/* What is written to output and error in one place stays in order: one pipe for both. */
static int keep_stdio(struct session *s, struct command *c, const struct start *start,
	const int stdio[3], struct error *e)
{
	int r = 0;

	for (size_t i = 0; r == 0 && stdio && i < 3; i++) {
		/* Made for this command alone, by whoever holds the session. */
		bool is_own = start->flags & (START_OWN_STDIN << i);
		bool is_copied = !is_own && given_is_copied(stdio[i]);

		r = is_copied ? 0 : given_check(stdio[i], s->o.host_network, e);
		if (r == 0)
			r = given_check_cover(stdio[i], s->plan, e);
		if (r == 0 && is_copied && i == STDERR_FILENO &&
			c->copiers[STDOUT_FILENO].to >= 0 &&
			given_is_same(stdio[STDOUT_FILENO], stdio[i]))
			r = dup_to(c->stdio[STDOUT_FILENO], &c->stdio[i]);
		else if (r == 0 && is_copied)
			r = keep_copier(s, c, i, stdio[i], start->file_size);
		else if (r == 0)
			r = dup_to(stdio[i], &c->stdio[i]);
	}
	return r;
}

/* What the policy sets is the most that a command gets. */
static void limit_to(uint64_t *value, const struct plan *plan, enum limit limit)
{
	uint64_t most = plan->limits.values[limit];

	if (most != LIMIT_NONE && (*value == 0 || *value > most))
		*value = most > 0 ? most : 1;
}

static int make_command(struct session *s, uint64_t id, const struct start *start,
	const int stdio[3], struct error *e)
{
	struct command *c = calloc(1, sizeof(*c));
	struct start copy = *start;
	int r;

	if (!c)
		return -ENOMEM;
	*c = (struct command){ .session = s,
		.watch.fd = -1,
		.id = id,
		.socket = -1,
		.pidfd = -1,
		.stdio = { -1, -1, -1 },
		.copiers = { COPIER_NONE, COPIER_NONE, COPIER_NONE } };
	/* Whether it ran has to be known here: its init may die. */
	c->quiet = copy.flags & START_QUIET;
	copy.flags &= ~(uint32_t)START_QUIET;
	limit_to(&copy.timeout_ms, s->plan, LIMIT_TIMEOUT_MS);
	limit_to(&copy.memory, s->plan, LIMIT_MEMORY);
	limit_to(&copy.pids, s->plan, LIMIT_PIDS);
	limit_to(&copy.file_size, s->plan, LIMIT_FILE_SIZE);
	limit_to(&copy.open_files, s->plan, LIMIT_OPEN_FILES);
	c->program = strdup(start->program);
	c->timeout_ms = copy.timeout_ms;
	c->memory = copy.memory;
	c->pids = copy.pids;
	/* What a cgroup holds is not looked after by the init. */
	charge_prepare(s, c, &copy);
	r = start_encode(&copy, &c->body);
	if (r == 0 && c->body.failed)
		r = -ENOMEM;
	if (r == 0)
		r = keep_stdio(s, c, &copy, stdio, e);
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
	if (session_commands_find(s, id))
		return error_set(e, -EEXIST, NULL, "a command with that number exists");
	if (s->o.single && s->used)
		return error_set(e, -EBUSY, NULL, "this sandbox is for a single command");
	r = make_command(s, id, start, stdio, &why);
	if (r < 0 && why.text[0]) {
		*e = why;
		return r;
	}
	if (r < 0)
		return error_set(e, r, NULL, "the command cannot be started: %s", strerror(-r));
	s->used = true;
	session_use_spares(s);
	session_ask_for_inits(s);
	return 0;
}

int session_signal(struct session *s, uint64_t id, int signal)
{
	struct command *c = session_commands_find(s, id);
	uint32_t number = (uint32_t)signal;

	if (!c || c->ended)
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
	struct command *c = session_commands_find(s, id);

	if (!c)
		return -ESRCH;
	if (c->ended)
		session_commands_drop_output(s, c, 0);
	else if (c->socket < 0)
		session_refuse(s, c, -ECANCELED, "the command was stopped before it started");
	else
		doom(s, c, REPORT_KILLED);
	return 0;
}

void session_kill_all(struct session *s)
{
	struct command *next;

	for (struct command *c = s->commands; c; c = next) {
		next = c->next;
		(void)session_kill(s, c->id);
	}
}

size_t session_commands(const struct session *s)
{
	size_t n = 0;

	for (const struct command *c = s->commands; c; c = c->next)
		n++;
	return n;
}
