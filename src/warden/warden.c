/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-warden: holds one session for a host program, which talks to it over descriptor 3
 * (docs/protocol.md). It compiles the policy, builds the session, confines itself, and then passes
 * frames between the host and the commands' inits. It ends when its host does, and everything
 * inside ends with it.
 *
 * If the first frame is FRAME_HOLD, it has no session: it holds what the program joined
 * (holder/serve.h).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "event/loop.h"
#include "event/wait.h"
#include "holder/serve.h"
#include "host/own.h"
#include "host/resolver.h"
#include "jail/limits/rlimits.h"
#include "jail/plan/plan.h"
#include "policy/explain.h"
#include "policy/network/idna.h"
#include "policy/policy.h"
#include "process/confinement.h"
#include "skill/archive.h"
#include "warden/bare.h"
#include "warden/granted.h"
#include "warden/inherited.h"
#include "warden/lease.h"
#include "warden/lent.h"
#include "warden/outbox.h"
#include "warden/session/session.h"
#include "warden/source.h"
#include "wire/configure.h"
#include "wire/frame.h"
#include "wire/question.h"
#include "wire/record.h"
#include "wire/report.h"

enum {
	CONTROL = 3,
	LAYERS_MAX = 64,
	HTTPS_PORT = 443,  /* what a name without a port is most likely asked for */
	BROKER_MS = 10000, /* for what the host has to say about a broker */
	/* With so many frames waiting for the host it does not listen: a question is refused. They
	 * are long, and commands cause them. */
	QUESTIONS_CROWDED = 64,
	/* The same for events of the broker: further ones are dropped, and counted. */
	EVENTS_CROWDED = 4096,
	FINISH_MS = 2000, /* for the host to read the last of them */
};

struct warden {
	struct frame configuration; /* its body holds the values of the variables */
	struct configure configure;
	struct permissions *permissions;
	struct policy *policy;
	struct plan *plan;
	struct skill_archive skill; /* of the plan, if the host sent one */
	struct warden_lent *lent;   /* secrets; or NULL */
	struct session *session;
	struct frame broker; /* what a broker is to know (wire/broker.h) */
	int host;            /* pidfd; -1: it could not be had */
	bool over;
	bool holds; /* no session, but what a program joined (holder/serve.h) */
	struct outbox out;
	struct lease lease;
	struct watcher control_watch, host_watch, lease_watch; /* in the session's loop */
	uint64_t n_dropped; /* events of the broker that the host has not heard of */
	struct warden_grants granted;
	struct frame frame;
};

/* Frames for the host. */

static void send_refusal(
	struct warden *w, enum frame_type type, uint64_t id, const struct refusal *refusal)
{
	auto_buffer body = { 0 };

	if (refusal_encode(refusal, &body) == 0 && !body.failed)
		outbox_add(&w->out, type, id, body.data, body.len, -1);
}

/* The place in a policy file goes along, in front of the sentence. */
static void send_error(
	struct warden *w, enum frame_type type, uint64_t id, int r, const struct error *e)
{
	struct refusal refusal = { .error = -r, .hint = e->hint };
	struct error plain = *e;
	auto_buffer text = { 0 };

	plain.hint[0] = '\0';
	error_print(&plain, &text);
	refusal.text = buffer_text(&text);
	send_refusal(w, type, id, &refusal);
}

/* Of the broker, or of the relay, whose numbers have a bit of their own. */
static void warden_tell_question(struct warden *w, const struct session_event *event)
{
	const uint32_t end = event->end;
	auto_buffer body = { 0 };

	/* The host knows how long a question waits. */
	if (event->kind == SESSION_QUESTION_OVER)
		(void)outbox_offer(&w->out, FRAME_QUESTION_OVER, event->id, &end, sizeof(end));
	else if (w->out.n >= QUESTIONS_CROWDED)
		(void)session_answer(
			w->session, event->id, &(struct answer){ .ttl_ms = 1, .pattern = "" });
	else if (question_encode(event->question, &body) == 0 && !body.failed)
		outbox_add(&w->out, FRAME_QUESTION, event->id, body.data, body.len, -1);
}

/* Why a name is denied in a sandbox without a network (session/names.c): a relay says so itself. */
static void warden_tell_record(struct warden *w, struct record r)
{
	auto_buffer rule = { 0 }, reason = { 0 }, remedy = { 0 };
	char target[512];
	const struct request request = { .op = OPERATION_NET_CONNECT, .target = target };
	struct decision d;

	(void)snprintf(target, sizeof(target), "%s:%d", r.name, HTTPS_PORT);
	if (r.kind == RECORD_DENIED && r.dns && !*r.reason &&
		policy_decide(w->policy, &request, &d) == 0 && d.verdict != VERDICT_ALLOW) {
		explain_rule(&d, &rule);
		explain_reason(&request, &d, &reason);
		explain_remedy(&request, &d, &remedy);
		r.rule = buffer_text(&rule);
		r.reason = buffer_text(&reason);
		r.remedy = buffer_text(&remedy);
	}
	outbox_offer_record(&w->out, &r);
}

/* Calls that waited there were refused. */
static void warden_tell_broker_died(struct warden *w)
{
	const uint32_t end = QUESTION_GIVEN_UP;

	if (w->configure.ask_ms)
		outbox_add(&w->out, FRAME_QUESTION_OVER, 0, &end, sizeof(end), -1);
}

/* What the broker did, for the host's log. */
static void warden_tell_call(struct warden *w, const struct session_event *event)
{
	w->n_dropped += event->id;
	if (w->out.n >= EVENTS_CROWDED) {
		w->n_dropped += event->call_len > 0;
		return;
	}
	outbox_add(&w->out, FRAME_EVENT, w->n_dropped, event->call_body, event->call_len, -1);
	w->n_dropped = 0;
}

/* Events of the session become frames for the host. */
static void warden_on_event(void *context, const struct session_event *event)
{
	struct warden *w = context;
	auto_fd terminal = event->kind == SESSION_STARTED ? event->fd : -1;

	if (granted_event(&w->granted, event))
		return;
	switch (event->kind) {
	case SESSION_STARTED:
		outbox_add(&w->out, FRAME_STARTED, event->id, NULL, 0, terminal);
		break;
	case SESSION_EXITED:
		outbox_report_dropped(&w->out);
		outbox_add(&w->out, FRAME_EXITED, event->id, &event->report, sizeof(event->report),
			-1);
		break;
	case SESSION_REFUSED:
		send_refusal(w, FRAME_REFUSED, event->id, &event->refusal);
		break;
	case SESSION_GONE:
		send_refusal(w, FRAME_GONE, 0, &event->refusal);
		w->over = true;
		break;
	case SESSION_RECORD:
		warden_tell_record(w, *event->record);
		break;
	case SESSION_POLICY:
		/* Of a change that came with the number 0 the host does not wait to hear. */
		if (event->id == 0)
			break;
		if (event->refusal.error)
			send_refusal(w, FRAME_POLICY, event->id, &event->refusal);
		else
			outbox_add(&w->out, FRAME_POLICY, event->id, NULL, 0, -1);
		break;
	case SESSION_BROKER:
		warden_tell_broker_died(w);
		break;
	case SESSION_QUESTION:
	case SESSION_QUESTION_OVER:
		warden_tell_question(w, event);
		break;
	case SESSION_CALL:
		warden_tell_call(w, event);
		break;
	case SESSION_STOPPED: /* both of a session that was made for it, and this one is not */
	case SESSION_WITNESS:
	case SESSION_GRANTS: /* the holder's, as it heard */
		break;
	}
}

/* The host's frames. */

static int on_start(struct warden *w, struct frame *f)
{
	struct error e = { 0 };
	struct start start;
	auto_arena arena = { 0 };
	bool terminal;
	int r = start_decode(&start, f->body, f->len, &arena);

	if (r < 0)
		return r;
	terminal = start.flags & START_TTY;
	if (f->n_fds != (terminal ? 0 : 3))
		return -EPROTO;
	r = session_start(w->session, f->id, &start, terminal ? NULL : f->fds, &e);
	if (r < 0)
		send_error(w, FRAME_REFUSED, f->id, r, &e);
	return 0;
}

static int warden_on_signal(struct warden *w, struct frame *f)
{
	uint32_t number;

	if (f->len != sizeof(number))
		return -EPROTO;
	memcpy(&number, f->body, sizeof(number));
	/* It may have ended while the frame was under way. */
	(void)session_signal(w->session, f->id, (int)number);
	return 0;
}

static int on_kill(struct warden *w, struct frame *f)
{
	(void)session_kill(w->session, f->id);
	return 0;
}

/* For a command with a timeout that the host gave to the lent init. */
static int on_lease(struct warden *w, struct frame *f)
{
	uint64_t timeout_ms;

	if (f->len != sizeof(timeout_ms) || f->id == 0)
		return -EPROTO;
	memcpy(&timeout_ms, f->body, sizeof(timeout_ms));
	w->lease.id = f->id;
	w->lease.doomed = false;
	lease_set_timer(&w->lease, timeout_ms);
	return 0;
}

static int on_return(struct warden *w, struct frame *f)
{
	if (f->len != 0)
		return -EPROTO;
	if (f->id == 0) {
		lease_drop(&w->lease);
		session_lost(w->session);
	} else if (f->id == w->lease.id) {
		w->lease.id = 0;
		lease_set_timer(&w->lease, 0);
	}
	return 0;
}

static int on_policy(struct warden *w, struct frame *f)
{
	struct error e = { 0 };
	struct change change;
	int r = change_decode(&change, f->body, f->len);

	if (r < 0 || f->n_fds != 0)
		return -EPROTO;
	/* No command keeps a host that was revoked, nor a broker that would still go there. */
	if (!(change.flags & CHANGE_KEEPS_BROKER)) {
		session_broker_end(w->session);
		warden_tell_broker_died(w);
	}
	granted_expect(&w->granted, f->id, f->body, f->len);
	r = session_change(w->session, f->id, f->body, f->len);
	if (r < 0 && f->id) {
		(void)error_set(&e, r, NULL, "cannot pass new permissions to the relay: %s",
			r == -ENOTCONN ? "there is none" : strerror(-r));
		send_error(w, FRAME_POLICY, f->id, r, &e);
	}
	return 0;
}

static int on_holder(struct warden *w, struct frame *f)
{
	return f->n_fds == 1 && f->len == 0 ? granted_attach(&w->granted, frame_take_fd(f, 0))
					    : -EPROTO;
}

static int on_answer(struct warden *w, struct frame *f)
{
	struct answer a;

	if (answer_decode(&a, f->body, f->len) < 0 || f->n_fds != 0)
		return -EPROTO;
	/* Whoever asked may have gone meanwhile. */
	(void)session_answer(w->session, f->id, &a);
	return 0;
}

/* Everything else is not for a warden whose session stands. */
static int (*const takers[FRAME_TYPE_COUNT])(struct warden *w, struct frame *f) = {
	[FRAME_START] = on_start,
	[FRAME_SIGNAL] = warden_on_signal,
	[FRAME_KILL] = on_kill,
	[FRAME_LEASE] = on_lease,
	[FRAME_RETURN] = on_return,
	[FRAME_POLICY] = on_policy,
	[FRAME_HOLDER] = on_holder,
	[FRAME_ANSWER] = on_answer,
};

static int warden_take_frame(struct warden *w)
{
	int r = frame_receive(CONTROL, &w->frame);

	if (r <= 0)
		return r == 0 ? -EPIPE : r == -EAGAIN || r == -EINTR ? 0 : r;
	if (!takers[w->frame.type])
		return -EPROTO;
	r = takers[w->frame.type](w, &w->frame);
	/* Ends of pipes that were for a command must not stay here: others wait for EOF. */
	frame_deinit(&w->frame);
	return r;
}

/*
 * As soon as an init is idle, the host may have it. Not where there is a relay or a broker: a
 * command's denials are reported before its end only if both go by us. Nor where the policy asks: a
 * host that waits for a lent init does not hear of questions.
 */
static void warden_lend(struct warden *w)
{
	int socket, pidfd;

	if (!w->plan || w->plan->network == PLAN_NETWORK_RELAY || w->configure.ask_ms ||
		w->configure.broker || w->lease.socket >= 0 ||
		session_lend(w->session, &socket, &pidfd) < 0)
		return;
	lease_drop(&w->lease);
	w->lease.socket = socket;
	w->lease.pidfd = pidfd;
	outbox_add(&w->out, FRAME_INIT, 0, NULL, 0, socket);
}

static void warden_control_ready(struct watcher *watcher, uint32_t events)
{
	struct warden *w = container_of(watcher, struct warden, control_watch);

	if (events & EPOLLOUT)
		outbox_flush(&w->out);
	if (events & ~(uint32_t)EPOLLOUT && warden_take_frame(w) < 0)
		w->over = true;
}

static void warden_host_ready(struct watcher *watcher, uint32_t events)
{
	(void)events;
	container_of(watcher, struct warden, host_watch)->over = true;
}

static void warden_lease_ready(struct watcher *watcher, uint32_t events)
{
	(void)events;
	lease_expire(&container_of(watcher, struct warden, lease_watch)->lease);
}

static int warden_watch(struct warden *w)
{
	struct loop *l = session_loop(w->session);
	int r;

	w->control_watch.ready = warden_control_ready;
	w->host_watch.ready = warden_host_ready;
	w->lease_watch.ready = warden_lease_ready;
	r = loop_add(l, &w->control_watch, CONTROL, EPOLLIN);
	if (r == 0 && w->host >= 0)
		r = loop_add(l, &w->host_watch, w->host, EPOLLIN);
	return r < 0 ? r : loop_add(l, &w->lease_watch, w->lease.timer, EPOLLIN);
}

/* Nothing can take back what is granted. */
static void warden_end_granted(struct warden *w)
{
	send_refusal(w, FRAME_GONE, 0,
		&(struct refusal){ .error = ECONNRESET,
			.text = "the session was ended: the process that held its grants ended",
			.hint = "" });
	w->over = true;
}

/* The user ended it by the daemon. One that is started meanwhile is the host's to refuse. */
static void warden_stop(struct warden *w)
{
	const uint32_t flags = REPORT_KILLED;

	w->granted.stops = false;
	session_kill_all(w->session);
	if (w->lease.socket >= 0)
		(void)frame_send(w->lease.socket, FRAME_STOP, 0, &flags, sizeof(flags), NULL, 0);
}

static void warden_serve(struct warden *w)
{
	struct loop *l = session_loop(w->session);
	int r = warden_watch(w);

	w->granted.session = w->session;
	w->granted.plan = w->plan;
	w->granted.permissions = w->permissions;
	w->granted.has_broker = w->configure.broker;
	while (r == 0 && !w->over && !w->out.broken && !session_is_gone(w->session)) {
		warden_lend(w);
		r = loop_change(l, &w->control_watch,
			outbox_is_empty(&w->out) ? EPOLLIN : EPOLLIN | EPOLLOUT);
		if (r == 0)
			r = loop_turn(l, -1);
		if (w->granted.stops)
			warden_stop(w);
		if (w->granted.is_over)
			warden_end_granted(w);
	}
}

/* The host has hung up, and reads what the broker has to say still. */
static void warden_finish(struct warden *w)
{
	session_stop(w->session);
	if (!w->configure.broker)
		return;
	session_finish(w->session);
	if (w->n_dropped && !w->out.broken)
		outbox_add(&w->out, FRAME_EVENT, w->n_dropped, NULL, 0, -1);
	while (!outbox_is_empty(&w->out) && !w->out.broken &&
		wait_for_one(CONTROL, POLLOUT, wait_until(FINISH_MS)) > 0)
		outbox_flush(&w->out);
}

/* Building. */

static int warden_configure(struct warden *w, struct error *e)
{
	int r = frame_receive(CONTROL, &w->configuration);
	size_t n_skill;

	w->holds = r == 1 && w->configuration.type == FRAME_HOLD;
	if (w->holds) {
		w->configure.host = (uint32_t)w->configuration.id;
		r = fcntl(CONTROL, F_SETFL, O_NONBLOCK) < 0 ? -errno : 0;
		return r < 0 ? error_set(e, r, NULL, "%s", strerror(-r)) : 0;
	}

	/* From here on, a host that does not read is not waited for. */
	if (r == 1 && fcntl(CONTROL, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r != 1 || w->configuration.type != FRAME_CONFIGURE)
		return error_set(e, -EPROTO, NULL, "the host did not configure the sandbox");
	r = configure_decode(&w->configure, w->configuration.body, w->configuration.len);
	n_skill = w->configuration.n_fds - (w->configure.flags & CONFIGURE_LEDGER ? 1 : 0);
	if (r == 0 && n_skill > (w->configure.flags & CONFIGURE_SKILL ? 1 : 0))
		r = -EPROTO;
	if (r == 0 && n_skill == 1)
		r = skill_archive_open(&w->skill, w->configuration.fds[0]);
	return r < 0 ? error_set(e, r, NULL, "the configuration from the host is invalid") : 0;
}

/* A child that the host forked may keep the socket open: the host's own end counts too. */
static int watch_host(struct warden *w)
{
	struct ucred peer = { 0 };
	socklen_t len = sizeof(peer);

	if (getsockopt(CONTROL, SOL_SOCKET, SO_PEERCRED, &peer, &len) < 0)
		return -errno;
	if (w->configure.host != 0)
		peer.pid = (pid_t)w->configure.host;
	w->host = (int)syscall(SYS_pidfd_open, peer.pid, 0);
	return w->host < 0 ? -errno : 0;
}

static int warden_compile(struct warden *w, struct error *e)
{
	const struct permissions *layers[LAYERS_MAX];
	const char *guarded[CONFIGURE_GUARDED_MAX + 1];
	const char *skill = w->configure.variables.values[VARIABLE_SKILL_DIR];
	const struct policy_options options = { .variables = &w->configure.variables,
		.resolver = &resolver_system };
	struct plan_options plan = { .layers = layers,
		.variables = &w->configure.variables,
		.resolver = &resolver_system,
		.shell = w->configure.flags & CONFIGURE_SHELL,
		.guarded = guarded };
	int n = permissions_layers(w->permissions, layers, LAYERS_MAX);
	const char *own[OWN_FOLDERS_MAX];
	struct plan_worker_source worker[PLAN_WORKER_FILES];
	auto_arena arena = { 0 };
	int r;

	if (n < 0)
		return error_set(e, n, NULL, "there are too many layers of permissions");
	r = policy_new(&w->policy, layers, (size_t)n, &options, e);
	if (r < 0)
		return r;
	plan.policy = w->policy;
	plan.n_layers = (size_t)n;
	for (uint32_t i = 0; i < w->configure.n_guarded; i++)
		guarded[plan.n_guarded++] = w->configure.guarded[i];
	if (w->configure.flags & CONFIGURE_SKILL && skill)
		guarded[plan.n_guarded++] = skill;
	plan.skill = w->skill.map ? &w->skill : NULL;
	plan.broker = w->configure.broker;
	plan.caller = w->configure.caller;
	plan.http = w->configure.flags & CONFIGURE_HTTP;
	plan.asks_hosts = w->configure.flags & CONFIGURE_HOSTS;
	plan.ask_ms = w->configure.ask_ms;
	for (size_t i = 0; i < PLAN_WORKER_FILES; i++) {
		const struct configure_file *f = &w->configure.worker[i];

		worker[i] = (struct plan_worker_source){ f->path, f->dev, f->ino };
	}
	plan.worker = w->configure.flags & CONFIGURE_WORKER ? worker : NULL;
	plan.hidden = own;
	if (w->lent)
		warden_lent_prepare(w->lent, &plan);
	r = own_folders(&arena, w->configure.variables.values[VARIABLE_HOME], w->policy, own,
		&plan.n_hidden, e);
	if (r == 0)
		r = plan_new(&w->plan, &plan, e);
	if (r == 0 && w->lent)
		warden_lent_hand_over(w->lent, w->plan);
	return r;
}

/* Sent right after the configuration. */
static int warden_configure_broker(struct warden *w, struct error *e)
{
	struct broker_setup setup;
	auto_arena arena = { 0 };
	struct pollfd p = { .fd = CONTROL, .events = POLLIN };
	int r;

	/* It may be under way. */
	do
		r = poll(&p, 1, BROKER_MS) == 1 ? frame_receive(CONTROL, &w->broker) : -ETIMEDOUT;
	while (r == -EAGAIN);
	r = r == 1 && w->broker.type == FRAME_BROKER
		    ? broker_setup_decode(&setup, w->broker.body, w->broker.len, &arena)
		    : -EPROTO;
	if (r < 0)
		return error_set(e, r, NULL, "the host did not configure the broker");
	return session_broker_configure(w->session, &setup, e);
}

static int warden_build(struct warden *w, struct error *e)
{
	const struct session_handler handler = { .event = warden_on_event, .context = w };
	struct session_options o = { 0 };
	auto_fd skill = -1;
	int r = warden_configure(w, e);

	if (r < 0)
		return r;
	r = watch_host(w);
	if (r == 0 && !w->holds)
		r = lease_init(&w->lease);
	if (r < 0)
		return error_set(e, r, NULL, "the host cannot be watched: %s", strerror(-r));
	/* Where nothing is confined, nothing is built. */
	if (w->configure.flags & CONFIGURE_NONE || w->holds)
		return 0;
	o.single = w->configure.flags & CONFIGURE_SINGLE;
	r = session_prepare(&w->session, &o, e);
	if (r == 0 && w->configure.flags & CONFIGURE_LEDGER)
		r = session_share(w->session, w->configuration.fds[w->configuration.n_fds - 1], e);
	if (r == 0 && w->configure.broker)
		r = session_broker_start(w->session, w->configure.broker, e);
	if (r == 0 && w->configure.flags & CONFIGURE_LENT)
		r = warden_lent_receive(&w->lent, CONTROL, e);
	if (r == 0)
		r = source_read(&w->permissions, e);
	if (r == 0)
		r = warden_compile(w, e);
	if (r == 0)
		r = session_build_begin(w->session, w->plan, &handler, e);
	if (r == 0 && w->configure.broker)
		r = warden_configure_broker(w, e);
	if (r == 0)
		r = session_build_finish(w->session, e);
	if (w->lent)
		warden_lent_close(w->lent);
	/* The sandbox has it unpacked. */
	if (w->skill.map) {
		skill_archive_close(&w->skill);
		skill = frame_take_fd(&w->configuration, 0);
	}
	return r;
}

/*
 * The warden's own walls. Once the session stands it needs its sockets, its watch, and its cgroups:
 * no other file, no program, no capability, none of the calls that commands do not get either.
 */
static int self_confine(enum process_role role, struct error *e)
{
	int r;

	/* A name that is not ASCII would make the policy load a library, from files. */
	idna_library_forgo();
	r = confinement_enter(role, NULL);
	return r < 0 ? error_set(e, r, NULL, "the warden cannot confine itself: %s", strerror(-r))
		     : 0;
}

/* The host need not wait for the warden's own walls; before it is heard, they stand. */
static int announce(struct warden *w, struct error *e)
{
	const struct ready ready = { .tier = 1 };
	int r;

	outbox_add(&w->out, FRAME_READY, 0, &ready, sizeof(ready), -1);
	/* Each command that runs takes two descriptors here. Commands have the host's limit: they
	 * come from the zygote, which was made before this. */
	rlimits_raise_files();
	/* Without it, the sandbox goes on if its broker dies, and calls fail. */
	(void)session_broker_keep(w->session);
	r = self_confine(PROCESS_WARDEN, e);
	if (r < 0)
		send_error(w, FRAME_GONE, 0, r, e);
	return r;
}

/* The other thing that this program is for. */
static int warden_hold(struct warden *w, struct error *e)
{
	struct holder_process *holder = NULL;
	int r = prctl(PR_SET_NAME, "corral-holder", 0, 0, 0) < 0 ? -errno : 0;

	if (r == 0)
		r = self_confine(PROCESS_HOLDER, e);
	if (r == 0)
		r = serve_new(&holder, CONTROL, w->host);
	do
		r = r < 0 ? r : serve_turn(holder, -1);
	while (r > 0);
	/* The rest goes with the process. */
	return r;
}

int main(int argc, char **argv)
{
	static struct warden w = { .host = -1, .out.socket = CONTROL, .granted.watch.fd = -1 };
	static const int ignored[] = { SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGPIPE, SIGTSTP, SIGTTIN,
		SIGTTOU, SIGUSR1, SIGUSR2 };
	struct error e = { 0 };
	int r, type = 0;
	socklen_t len = sizeof(type);

	inherited_words(argc, argv);
	if (getsockopt(CONTROL, SOL_SOCKET, SO_TYPE, &type, &len) < 0 || type != SOCK_SEQPACKET ||
		fcntl(CONTROL, F_SETFD, FD_CLOEXEC) < 0) {
		(void)fputs("corral-warden: descriptor 3 is not a control socket; this program "
			    "is started by libcorral, see corral-warden(8)\n",
			stderr);
		return 2;
	}
	/* Signals are the host's matter: it asks for what it wants. */
	for (size_t i = 0; i < ROWS(ignored); i++)
		(void)signal(ignored[i], SIG_IGN);
	(void)signal(SIGCHLD, SIG_DFL);
	r = warden_build(&w, &e);
	if (r == 0 && w.holds)
		r = warden_hold(&w, &e);
	if (r < 0)
		send_error(&w, FRAME_FAILED, 0, r, &e);
	else if (w.configure.flags & CONFIGURE_NONE)
		bare_serve(&w.out, w.host);
	else if (!w.holds)
		r = announce(&w, &e);
	if (r == 0 && w.session) {
		warden_serve(&w);
		warden_finish(&w);
	}
	/* The rest goes with the process. */
	session_free(w.session);
	return r < 0;
}
