/* SPDX-License-Identifier: Apache-2.0 */
/* Making a session, in two steps, and taking it down. */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/timerfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "event/loop.h"
#include "jail/limits/cgroup.h"
#include "jail/plan/plan.h"
#include "jail/probe/probe.h"
#include "skill/archive.h"
#include "warden/birth.h"
#include "warden/session/internal.h"
#include "wire/ledger.h"
#include "wire/sockets.h"

enum {
	READY_MS = 30000, /* for building a session, before something is wrong */
	DIED_MS = 2000,   /* from its hang-up to its end, on a busy machine */
	PART_MS = 50,     /* for its end, before it is killed */
	KILLED_MS = 2000, /* after that: a process on a dead file system may not end at all */
	LOOK_MS = 100,    /* how often the holder looks around meanwhile */
	SOCKETS_FRAMES_MAX = 256,
};

/* Building. */

/* The command would have the keys of the user's session. */
static int session_build_keep_keys(int r, struct error *e)
{
	(void)error_set(
		e, r, NULL, "cannot leave the keys of the session behind: %s", strerror(-r));
	if (r == -EDQUOT)
		error_hint(e, "the user has as many keys as kernel.keys.maxkeys allows; /proc/keys "
			      "lists them");
	return r;
}

static int make_zygote(struct session *s, struct error *e)
{
	struct zygote z = { .single = s->o.single,
		.own_network = !s->o.host_network,
		.host_root = s->o.host_root,
		.uid = geteuid(),
		.gid = getegid() };
	int pair[2], why = 0;
	int r = frame_pair(pair);
	auto_fd inner = r < 0 ? -1 : pair[1];

	if (r < 0)
		return error_set(e, r, NULL, "cannot make a socket: %s", strerror(-r));
	s->socket = pair[0];
	z.socket = inner;
	r = zygote_begin(&z, &s->pid, &s->pidfd, &why);
	if (r == -ENOKEY)
		return session_build_keep_keys(why, e);
	if (r < 0) {
		s->pidfd = -1;
		(void)error_set(e, r, NULL, "cannot make namespaces: %s", strerror(-r));
		(void)probe_tier1(e);
	}
	return r;
}

/* It could not say why, so how it ended has to do; and what is missing here, if anything is. */
static int session_build_died(struct session *s, struct error *e)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };
	int status = 0;

	if (poll(&p, 1, DIED_MS) != 1 || waitpid(s->pid, &status, WNOHANG) != s->pid)
		(void)error_set(e, -ECONNRESET, NULL, "the sandbox's first process hung up");
	else if (WIFSIGNALED(status))
		(void)error_set(e, -ECONNRESET, NULL,
			"the sandbox's first process was killed by signal %d (%s)",
			WTERMSIG(status), strsignal(WTERMSIG(status)));
	else
		(void)error_set(e, -ECONNRESET, NULL,
			"the sandbox's first process exited with status %d and gave no reason",
			WEXITSTATUS(status));
	if (WIFSIGNALED(status) && WTERMSIG(status) == SIGKILL)
		error_hint(e,
			"another process killed it, or the machine is out of memory (see dmesg)");
	else if (WIFSIGNALED(status) && WTERMSIG(status) == SIGSYS)
		error_hint(e, "a seccomp filter around corral forbids what a sandbox needs; see "
			      "`corral doctor`");
	else
		error_hint(e, "`corral doctor` says what is missing here");
	(void)probe_tier1(e);
	return -ECONNRESET;
}

/* The zygote's socket: the session's, or that of the only command, which was sent ahead. */
static int session_build_socket(const struct session *s)
{
	if (s->socket >= 0)
		return s->socket;
	return s->n_spares > 0 ? s->spares[0].socket : s->commands ? s->commands->socket : -1;
}

/* False: it took too long. */
static bool session_build_wait(struct session *s, int fd)
{
	struct pollfd p = { .fd = fd, .events = POLLIN };

	for (int waited = 0; waited < READY_MS; waited += LOOK_MS) {
		if (poll(&p, 1, LOOK_MS) > 0)
			return true;
		if (s->handler.waits)
			s->handler.waits(s->handler.context);
	}
	return false;
}

/* The next word of the zygote. */
static int await_frame(struct session *s, struct error *e)
{
	struct pollfd p = { .fd = session_build_socket(s), .events = POLLIN };
	int r;

	if (p.fd < 0)
		return error_set(e, -ECONNRESET, NULL, "the command could not be handed over");
	while (s->handler.idle && poll(&p, 1, 0) == 0 && s->handler.idle(s->handler.context))
		;
	if (!session_build_wait(s, p.fd))
		return error_set(e, -ETIMEDOUT, NULL, "the sandbox could not be built in time");
	r = frame_receive(p.fd, &s->frame);
	/* It ended with our START unread, which is reported before its last words. */
	if (r == -ECONNRESET)
		r = frame_receive(p.fd, &s->frame);
	if (r == 0)
		return session_build_died(s, e);
	if (r < 0)
		return error_set(e, r, NULL, "the sandbox does not answer: %s", strerror(-r));
	return 0;
}

/* r: of a write to its socket. That of a relay that was killed says EPIPE, which explains nothing.
 */
static int session_build_relay_lost(int r, struct error *e)
{
	if (r != -EPIPE && r != -ECONNRESET)
		return error_set(e, r, NULL, "cannot set up the relay: %s", strerror(-r));
	(void)error_set(e, -ECONNRESET, NULL, "the relay ended while the sandbox was built");
	error_hint(e, "another process killed it, or the machine is out of memory (see dmesg)");
	return -ECONNRESET;
}

/* Sockets of the broker go to the broker, all others to the relay. */
static int session_build_pass_sockets(struct session *s, struct error *e)
{
	struct sockets sockets;
	int r;

	if (s->broker && sockets_decode(&sockets, &s->frame) == 0 &&
		sockets.kind == SOCKETS_BROKER) {
		const size_t n = s->plan->has_http ? SOCKETS_BROKER_COUNT : SOCKETS_BROKER_HTTP;

		for (size_t i = 0; i < n; i++)
			if (sockets.n != n || sockets.numbers[i] != i)
				return error_set(e, -EPROTO, NULL,
					"the sandbox's init sent other sockets than the broker's");
		return broker_process_serve(s->broker,
			frame_take_fd(&s->frame, SOCKETS_BROKER_LISTENER),
			frame_take_fd(&s->frame, SOCKETS_BROKER_ROOT),
			frame_take_fd(&s->frame, SOCKETS_BROKER_HTTP), e);
	}
	r = s->relay.pid == 0 ? -EPROTO : sockets_pass(s->relay.socket, &s->frame);
	return r < 0 ? session_build_relay_lost(r, e) : 0;
}

static int session_build_await_ready(struct session *s, struct error *e)
{
	int r = await_frame(s, e);
	struct refusal refusal;

	for (int i = 0; r == 0 && s->frame.type == FRAME_SOCKETS && i < SOCKETS_FRAMES_MAX; i++) {
		r = session_build_pass_sockets(s, e);
		if (r == 0)
			r = await_frame(s, e);
	}
	if (r == 0 && s->frame.type == FRAME_READY)
		s->own = frame_take_fd(&s->frame, 0);
	if (r < 0 || s->frame.type == FRAME_READY)
		return r;
	if (s->frame.type != FRAME_FAILED ||
		refusal_decode(&refusal, s->frame.body, s->frame.len) < 0)
		return error_set(e, -EPROTO, NULL, "the sandbox's init sent an unknown frame");
	(void)error_set(e, -refusal.error, NULL, "%s", refusal.text);
	if (refusal.hint[0])
		error_hint(e, "%s", refusal.hint);
	return -refusal.error;
}

/* pid 1 of a single command is that command's init. */
static int session_build_keep_init(struct session *s)
{
	int copy = fcntl(s->pidfd, F_DUPFD_CLOEXEC, 0);

	if (copy < 0)
		return -errno;
	s->spares[s->n_spares++] = (struct spare){ fd_take(&s->socket), copy };
	return 0;
}

static int session_build_add_sources(struct session *s)
{
	int r = session_watch_timer(s);

	if (r == 0 && fcntl(session_build_socket(s), F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (s->o.single && r == 0)
		return s->socket >= 0 ? session_build_keep_init(s) : 0;
	return r < 0 ? r : session_watch_zygote(s);
}

int session_prepare(struct session **ret, const struct session_options *o, struct error *e)
{
	struct session *s = malloc(sizeof(*s));
	int r;

	if (!s)
		return error_no_memory(e);
	/* All but the buffer at its end: the zygote is a copy of every page that was touched. */
	memset(s, 0, offsetof(struct session, frame.buffer));
	s->o = *o;
	s->pid = -1;
	s->pidfd = s->socket = s->timer = s->ledger_fd = s->own = -1;
	s->relay = (struct relay_process){ .pidfd = -1, .socket = -1 };
	s->zygote_watch.fd = s->death_watch.fd = s->timer_watch.fd = s->relay_watch.fd =
		s->broker_watch.fd = s->broker_frames_watch.fd = s->names_watch.fd = -1;
	s->names.asked = (struct asked_socket){ .server = -1, .link = -1 };
	r = make_zygote(s, e);
	if (r == 0) {
		r = loop_new(&s->loop);
		s->timer = timerfd_create(CLOCK_MONOTONIC, TFD_CLOEXEC | TFD_NONBLOCK);
		if (r == 0 && s->timer < 0)
			r = -errno;
		if (r < 0)
			(void)error_set(e, r, NULL, "cannot make descriptors: %s", strerror(-r));
	}
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

static void end_zygote(struct session *s, bool is_ended)
{
	struct pollfd p = { .fd = s->pidfd, .events = POLLIN };

	if (!is_ended)
		kill_zygote(s);
	if (s->pidfd >= 0 && (is_ended || poll(&p, 1, KILLED_MS) == 1))
		(void)waitpid(s->pid, NULL, WNOHANG);
	fd_close(&s->pidfd);
	fd_close(&s->socket);
}

static int send_plan(struct session *s, struct error *e)
{
	const struct skill_archive *skill = s->plan->skill;
	auto_buffer body = { 0 };
	int fds[2];
	size_t n = 0;
	int r = plan_encode(s->plan, &body);

	if (skill)
		fds[n++] = skill->fd;
	/* Of several commands each has its limits, and what they do by a broker has them once. */
	if (s->ledger && (s->o.single || s->ledger_is_given))
		fds[n++] = s->ledger_fd;
	if (r == 0)
		r = frame_send(s->socket, FRAME_PLAN, 0, body.data, body.len, fds, n);
	/* If nobody is there any more, it said why before it went. */
	if (r < 0 && r != -EPIPE)
		return error_set(
			e, r, NULL, "cannot pass the plan to the sandbox: %s", strerror(-r));
	return 0;
}

int session_build_begin(struct session *s, const struct plan *plan, const struct session_handler *h,
	struct error *e)
{
	bool host = plan->network == PLAN_NETWORK_HOST;
	int r = 0;

	s->plan = plan;
	s->handler = *h;
	/* The plan has another network than was guessed: once more from the start. */
	if (host != s->o.host_network) {
		s->o.host_network = host;
		end_zygote(s, false);
		r = make_zygote(s, e);
	}
	if (r == 0)
		r = send_plan(s, e);
	if (r == 0 && plan->network == PLAN_NETWORK_RELAY)
		r = relay_process_start(&s->relay, plan, s->ledger, e);
	if (r < 0)
		return r;
	s->building = true;
	/* The command may be sent ahead, unless the relay or the broker has to serve first. */
	r = s->o.single && s->relay.pid == 0 && !s->broker ? session_build_keep_init(s) : 0;
	return r < 0 ? error_set(e, r, NULL, "cannot make descriptors: %s", strerror(-r)) : 0;
}

int session_share(struct session *s, int ledger, struct error *e)
{
	int r = ledger_open(&s->ledger, ledger);

	if (r == 0)
		s->ledger_fd = fcntl(ledger, F_DUPFD_CLOEXEC, 0);
	if (r == 0 && s->ledger_fd < 0)
		r = -errno;
	s->ledger_is_given = true;
	return r < 0 ? error_set(
			       e, r, NULL, "cannot share the limits of a session: %s", strerror(-r))
		     : 0;
}

int session_broker_start(struct session *s, const char *program, struct error *e)
{
	int r = s->ledger ? 0 : ledger_new(&s->ledger, &s->ledger_fd);

	if (r < 0)
		return error_set(e, r, NULL, "cannot share limits with a broker: %s", strerror(-r));
	return broker_process_start(&s->broker, program, s->ledger_fd, e);
}

int session_broker_configure(struct session *s, const struct broker_setup *given, struct error *e)
{
	const char *places[BROKER_PRIVATE_MAX + 1] = { "/dev/shm" };
	struct broker_setup setup = *given;
	int r;

	if (!s->broker || !s->plan)
		return error_set(e, -ENOTCONN, NULL, "there is no broker to configure");
	if (!setup.folder || !setup.folder[0])
		setup.folder = s->plan->work_dir ? s->plan->work_dir : s->plan->home;
	setup.private_places = places;
	setup.n_private = 1;
	for (size_t i = 0; i < s->plan->n && setup.n_private < BROKER_PRIVATE_MAX; i++)
		if (s->plan->entries[i].kind == PLAN_TMP)
			places[setup.n_private++] = s->plan->entries[i].path;
	r = broker_process_configure(s->broker, &setup);
	return r < 0 ? error_set(e, r, NULL, "cannot tell the broker about the session: %s",
			       strerror(-r))
		     : 0;
}

void session_broker_end(struct session *s)
{
	session_unwatch_broker(s);
	broker_process_end(s->broker);
	s->broker = NULL;
}

int session_broker_keep(struct session *s)
{
	return s->broker ? broker_process_keep(s->broker) : 0;
}

/* A broker that cannot serve is reported before any command runs. */
static int session_build_await_broker(struct session *s, struct error *e)
{
	int r;

	if (!session_build_wait(s, broker_process_socket(s->broker)))
		return error_set(e, -ETIMEDOUT, NULL, "the broker does not answer");
	r = broker_process_ready(s->broker, e);
	if (r == 0)
		r = session_watch_broker(s);
	return r;
}

int session_build_finish(struct session *s, struct error *e)
{
	int r = session_build_await_ready(s, e);

	if (r < 0)
		return r;
	s->building = false;
	if (s->broker) {
		r = session_build_await_broker(s, e);
		if (r < 0)
			return r;
	}
	/* From here on the relay serves. */
	if (s->relay.pid != 0) {
		r = frame_send(s->relay.socket, FRAME_READY, 0, NULL, 0, NULL, 0);
		if (r < 0)
			return session_build_relay_lost(r, e);
		r = session_watch_relay(s);
		if (r < 0)
			return error_set(e, r, NULL, "cannot watch the relay: %s", strerror(-r));
	}
	r = session_build_add_sources(s);
	if (r < 0)
		return error_set(e, r, NULL, "cannot watch the sandbox: %s", strerror(-r));
	session_begin_commands(s);
	session_use_spares(s);
	session_ask_for_inits(s);
	return 0;
}

int session_take_own(struct session *s)
{
	return fd_take(&s->own);
}

pid_t session_relay_pid(const struct session *s)
{
	return s->relay.pid;
}

int session_build(struct session *s, const struct plan *plan, const struct session_handler *h,
	struct error *e)
{
	int r = session_build_begin(s, plan, h, e);

	return r < 0 ? r : session_build_finish(s, e);
}

static void release(struct session *s)
{
	s->gone = true;
	while (s->commands)
		session_forget(s, s->commands);
	for (size_t i = 0; i < s->n_spares; i++)
		session_spare_deinit(&s->spares[i]);
	if (s->cgroups)
		cgroup_home_free(s->cgroups);
	ledger_free(s->ledger);
	asked_end(&s->names.asked);
	session_forget_owners(s);
	fd_close(&s->ledger_fd);
	fd_close(&s->own);
	fd_close(&s->pidfd);
	fd_close(&s->socket);
	loop_free(s->loop);
	fd_close(&s->timer);
	buffer_deinit(&s->granted);
	frame_deinit(&s->frame);
	free(s);
}

bool session_is_empty(const struct session *s)
{
	return s->emptied && s->relay.pid == 0 && !s->broker;
}

void session_stop(struct session *s)
{
	kill_zygote(s);
}

/* Nothing is left behind, not for init to wait for either: not every init does. */
void session_free(struct session *s)
{
	struct pollfd p = { .fd = s ? s->pidfd : -1, .events = POLLIN };
	bool is_ended = false;

	if (!s)
		return;
	/* By itself it ends sooner (warden/part.h): that of a single command when it is over, the
	 * zygote of several when we hang up. */
	if (!s->o.single && s->socket >= 0)
		(void)shutdown(s->socket, SHUT_RDWR);
	if (!s->o.single || (s->used && !s->commands))
		is_ended = poll(&p, 1, PART_MS) == 1;
	end_zygote(s, is_ended);
	relay_process_end(&s->relay);
	broker_process_end(s->broker);
	release(s);
}
