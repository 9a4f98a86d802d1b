/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One loop over the session, signals and what passes between the user and the command. Signals that
 * are meant for the command (Ctrl-C in a pipe, kill of our pid) go to the command; ours is the end
 * that follows. Nothing is blocked or ignored before the zygote is cloned, so nothing of it is
 * inherited inside.
 */

#include <errno.h>
#include <signal.h>
#include <string.h>
#include <sys/signalfd.h>
#include <unistd.h>

#include "base/array.h"
#include "base/fd.h"
#include "cli/explain/explain.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "event/wait.h"
#include "host/links.h"
#include "launch/command.h"
#include "warden/session/session.h"
#include "wire/lend.h"

/* The only command of the session. */
enum { COMMAND = 1 };
/* How often a keyboard that somebody else has taken is looked at again. */
enum { KEYBOARD_MS = 100 };
/* What is waited for beside the copies: the session, signals, calls to look at, the daemon, an
 * answer on the terminal, who lends secrets, the ssh agent, the filter of a server. */
enum { FIXED = 8 };

struct run_loop_state {
	struct run *run;
	struct run_stdio *stdio;
	struct run_outcome *outcome;
	struct session *session;
	int signals;
	bool is_stopping; /* we stopped it, and are yet to hear of that */
	bool is_stopped;  /* it stopped by itself, and we are yet to follow */
};

static const char *run_loop_keep(struct run_loop_state *l, const char *text)
{
	const char *copy = arena_strdup(l->run->call->arena, text ? text : "");

	return copy ? copy : "";
}

/* At once, unless the command draws its own screen: then it is reported in the end. */
static void run_loop_tell_record(struct run_loop_state *l)
{
	struct run_network *all = &l->run->network;
	struct record *last = all->n ? &all->items[all->n - 1] : NULL;
	auto_output o = output_for(STDERR_FILENO);

	const bool is_first = l->run->plan->network == PLAN_NETWORK_NONE && all->n == 1;

	if (!last || last->is_told || last->count > 1 || l->run->options.json || l->run->is_round ||
		!(is_first || run_network_is_granted(last, l->run->policy)) ||
		run_stdio_is_drawn(l->stdio))
		return;
	if (is_first)
		run_network_tell_first(last, l->run->options.profile, &o);
	else
		run_network_tell(&(struct run_network){ .items = last, .n = 1 }, &o);
	last->is_told = true;
	run_stdio_say(l->stdio, buffer_text(&o.text));
}

static void run_loop_tell_server(const struct run_loop_state *l, const struct record *record)
{
	auto_output o = output_for(STDERR_FILENO);
	const char *profile = l->run->options.profile;

	if (l->run->options.json || l->run->is_round || run_stdio_is_drawn(l->stdio) ||
		(profile && strcmp(profile, "offline") == 0))
		return;
	output_note(&o);
	output_foreign(&o, record->program);
	buffer_printf(&o.text,
		" waits for connections on port %u, where nothing outside can reach it: --listen "
		"%u lets programs of this machine\n",
		record->port, record->port);
	run_stdio_say(l->stdio, buffer_text(&o.text));
}

static void run_loop_on_record(struct run_loop_state *l, struct record record)
{
	struct run *r = l->run;

	/* The sandbox's init has seen a server; visitors of a published port are records, too. */
	if (strncmp(record.target, "listen:", 7) == 0 && record.kind == RECORD_FAILED &&
		!record.reason[0]) {
		run_loop_tell_server(l, &record);
		return;
	}
	if (record.dns && run_network_complete(r, &record) < 0)
		record.rule = record.reason = record.remedy = "";
	run_audit_network(r, &record);
	(void)run_network_add(&r->network, r->call->arena, &record);
	run_loop_tell_record(l);
	run_explain_heard(r->explain, &record);
}

/* A connection to a host with secrets failed, or tokens of a login wait for the user. */
static void run_loop_on_lender(struct run_loop_state *l)
{
	struct lend_consent asked = { 0 };
	struct record record;

	if (run_secrets_dispatch(l->run, &record, &asked))
		run_loop_on_record(l, record);
	if (asked.number > 0)
		ask_login_begin(l->run, &asked);
}

/* Its calls failed, or waited: which is no end of the command. */
static void run_loop_tell_broker(struct run_loop_state *l, const struct refusal *how)
{
	auto_output o = output_for(STDERR_FILENO);

	output_note(&o);
	buffer_printf(&o.text, "%s; %s\n", how->text, how->hint);
	if (!l->run->options.json)
		run_stdio_say(l->stdio, buffer_text(&o.text));
}

static void run_loop_on_event(void *context, const struct session_event *e)
{
	struct run_loop_state *l = context;

	switch (e->kind) {
	case SESSION_STARTED:
		run_audit_started(l->run);
		run_stdio_begin(l->stdio, e->fd);
		break;
	case SESSION_EXITED:
		l->outcome->end = RUN_END_EXITED;
		l->outcome->report = e->report;
		break;
	case SESSION_REFUSED:
	case SESSION_GONE:
		l->outcome->end = e->kind == SESSION_GONE ? RUN_END_GONE : RUN_END_REFUSED;
		l->outcome->refusal = (struct refusal){ .error = e->refusal.error,
			.text = run_loop_keep(l, e->refusal.text),
			.hint = run_loop_keep(l, e->refusal.hint) };
		break;
	case SESSION_STOPPED:
		l->is_stopped = !(l->is_stopping && e->report.signal == SIGSTOP);
		l->is_stopping = false;
		break;
	case SESSION_WITNESS:
		/* Without one the command's calls fail, and so does the command. */
		(void)run_explain_watch(l->run->explain, e->fd);
		break;
	case SESSION_RECORD:
		run_loop_on_record(l, *e->record);
		break;
	case SESSION_CALL:
		run_audit_call(l->run, e->call_body, e->call_len, e->id);
		run_broker_tell_page(l->run, l->stdio, e->call_body, e->call_len);
		break;
	case SESSION_BROKER:
		run_loop_tell_broker(l, &e->refusal);
		run_live_event(l->run, e);
		break;
	case SESSION_POLICY:
	case SESSION_QUESTION:
	case SESSION_QUESTION_OVER:
	case SESSION_GRANTS:
		run_live_event(l->run, e);
		break;
	}
}

/* Signals */

static int open_signals(struct run_loop_state *l)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT, SIGUSR1, SIGUSR2, SIGWINCH,
		SIGTSTP, SIGCONT };
	struct sigaction now;
	sigset_t set;

	(void)sigemptyset(&set);
	/* What somebody chose to ignore for us (nohup) stays ignored. */
	for (size_t i = 0; i < ROWS(numbers); i++) {
		if (sigaction(numbers[i], NULL, &now) == 0 && now.sa_handler != SIG_IGN)
			(void)sigaddset(&set, numbers[i]);
	}
	/* Whoever reads our output may go, and a file may be as long as we may write it; then
	 * writing fails, and that is reported by its result. */
	(void)signal(SIGPIPE, SIG_IGN);
	(void)signal(SIGXFSZ, SIG_IGN);
	if (sigprocmask(SIG_BLOCK, &set, NULL) < 0)
		return -errno;
	l->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	return l->signals < 0 ? -errno : 0;
}

/* The command is stopped, or about to be. It goes on when we do: at once, if nobody would let us go
 * on (a group without a parent in its session, or SIGTSTP that is ignored). */
static void run_loop_pause(struct run_loop_state *l)
{
	sigset_t set;

	run_stdio_stop(l->stdio);
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGTSTP);
	(void)sigprocmask(SIG_UNBLOCK, &set, NULL); /* here it stops */
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	if (l->session)
		(void)session_signal(l->session, COMMAND, SIGCONT);
}

/* Somebody stops us: the command stops first. */
static void run_loop_stop(struct run_loop_state *l)
{
	l->is_stopping = l->stdio->is_terminal;
	(void)session_signal(l->session, COMMAND, SIGSTOP);
	(void)raise(SIGTSTP);
	run_loop_pause(l);
}

/* The command stopped by itself, as by Ctrl-Z: so does our whole group, of which a script may be
 * part that waits for us. */
static void run_loop_follow(struct run_loop_state *l)
{
	l->is_stopped = false;
	(void)kill(0, SIGTSTP);
	run_loop_pause(l);
}

/* The command may have ended, and what it wrote not be read: then the signal is for that. */
static void run_loop_pass(struct run_loop_state *l, int number)
{
	if (session_signal(l->session, COMMAND, number) == -ESRCH && number != SIGCONT)
		(void)session_kill(l->session, COMMAND);
}

/* -EINTR: there is nobody left to send it to. Who asks then does not want to wait for the rest of
 * the output, which somebody outside may hold open for ever. */
static int run_loop_on_signal(struct run_loop_state *l)
{
	struct signalfd_siginfo info;

	while (read(l->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		const int number = (int)info.ssi_signo;
		const bool is_ours = number == SIGWINCH || number == SIGTSTP || number == SIGCONT;

		if (!l->session && !is_ours)
			return -EINTR;
		if (!l->session)
			continue;
		if (number != SIGTSTP && is_ours && l->stdio->master >= 0 &&
			l->stdio->terminal >= 0)
			terminal_copy_size(l->stdio->terminal, l->stdio->master);
		if (number == SIGTSTP)
			run_loop_stop(l);
		else if (number != SIGWINCH)
			run_loop_pass(l, number);
	}
	return 0;
}

/* Waiting */

/* What was denied is asked for: all of it that there is by now is taken in first. */
static int run_loop_dispatch(struct run_loop_state *l, bool is_explained, bool is_ready)
{
	const bool is_asked = run_wrapped_is_asked(l->run);
	int r = 0;

	if (is_explained || (is_asked && run_explain_fd(l->run->explain) >= 0))
		run_explain_dispatch(l->run->explain);
	if ((is_ready || is_asked) && l->session)
		r = session_dispatch(l->session);
	run_wrapped_answer(l->run);
	return r;
}

static int wait_once(struct run_loop_state *l)
{
	struct pollfd p[FIXED + RUN_STDIO_COPIES] = {
		{ .fd = l->session ? session_fd(l->session) : -1, .events = POLLIN },
		{ .fd = l->signals, .events = POLLIN },
		{ .fd = run_explain_fd(l->run->explain), .events = POLLIN },
		{ .fd = run_audit_fd(l->run), .events = POLLIN },
	};
	struct stdio_copy *copies[RUN_STDIO_COPIES];
	bool again = run_stdio_refresh(l->stdio);
	size_t n = 0;
	int ms, r;

	if (l->session)
		ask_prompt_refresh(l->run, l->stdio);
	p[4] = (struct pollfd){ .fd = ask_prompt_fd(l->run), .events = POLLIN };
	p[5] = (struct pollfd){ .fd = run_secrets_fd(l->run), .events = POLLIN };
	p[6] = (struct pollfd){ .fd = run_ssh_agent_fd(l->run), .events = POLLIN };
	p[7] = (struct pollfd){ .fd = run_wrapped_fd(l->run), .events = POLLIN };
	again = run_stdio_refresh(l->stdio) || again;

	(void)run_audit_dispatch(l->run, false);
	p[3].fd = run_audit_fd(l->run);
	for (size_t i = 0; i < l->stdio->n_copies; i++) {
		if (stdio_copy_poll(&l->stdio->copies[i], &p[FIXED + n]))
			copies[n++] = &l->stdio->copies[i];
	}
	ms = run_audit_wait_ms(l->run, again ? KEYBOARD_MS : -1);
	ms = ask_prompt_wait_ms(l->run, run_live_wait_ms(l->run, ms));
	r = wait_for(p, FIXED + n, wait_until(ms));
	if (r < 0)
		return r;
	/* Before anything is denied that this turn has seen. */
	if (run_wrapped_hear(l->run, l->stdio) < 0 && l->session)
		(void)session_kill(l->session, COMMAND);
	run_audit_tick(l->run);
	run_live_tick(l->run);
	if (run_audit_dispatch(l->run, p[3].revents) && l->session)
		(void)session_kill(l->session, COMMAND);
	for (size_t i = 0; i < n; i++)
		stdio_copy_run(copies[i], &p[FIXED + i]);
	run_stdio_hang_up(l->stdio);
	if (p[4].revents)
		ask_prompt_read(l->run, l->stdio);
	if (p[5].revents)
		run_loop_on_lender(l);
	if (p[6].revents)
		run_ssh_agent_dispatch(l->run, l->stdio);
	if (p[1].revents && run_loop_on_signal(l) < 0)
		return -EINTR;
	if (run_loop_dispatch(l, p[2].revents, p[0].revents) < 0 && !l->outcome->end)
		return -ECONNRESET;
	if (l->is_stopped && !l->outcome->end)
		run_loop_follow(l);
	return 0;
}

static int run_loop_wait_for_end(struct run_loop_state *l)
{
	struct record record;
	int r = 0;

	while (r == 0 && !l->outcome->end)
		r = wait_once(l);
	ask_prompt_end(l->run, l->stdio);
	if (r < 0)
		return error_set(
			l->run->call->error, r, NULL, "the sandbox ended: %s", strerror(-r));
	/* All that could connect is dead now: what it sent last leaves, and the rest is reported.
	 */
	session_finish(l->session);
	run_ssh_agent_finish(l->run, l->stdio);
	/* All that could write is dead now: what is left in the pipes is the end of the output. The
	 * kernel takes the namespaces apart while we go on. */
	if (session_is_empty(l->session) && !l->stdio->is_terminal)
		l->run->ending = l->session;
	else
		session_free(l->session);
	l->session = l->run->session = NULL;
	while (r == 0 && !run_stdio_is_done(l->stdio))
		r = wait_once(l);
	while (run_secrets_settle(l->run, &record))
		run_loop_on_record(l, record);
	return 0;
}

/* Starting */

/* What nohup and a shell's & do to a command they do to what it runs, too. Other signals that are
 * ignored are mostly so by mistake (SIGPIPE), and no program's business. */
static uint32_t run_loop_ignored(void)
{
	static const struct {
		int number;
		uint32_t flag;
	} rows[] = {
		{ SIGHUP, START_IGNORE_HUP },
		{ SIGINT, START_IGNORE_INT },
		{ SIGQUIT, START_IGNORE_QUIT },
	};
	struct sigaction now;
	uint32_t flags = 0;

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (sigaction(rows[i].number, NULL, &now) == 0 && now.sa_handler == SIG_IGN)
			flags |= rows[i].flag;
	}
	return flags;
}

static int run_loop_start(struct run_loop_state *l)
{
	const struct run *r = l->run;
	struct start s = {
		.flags = l->stdio->is_terminal ? START_TTY : 0,
		.cwd = r->cwd,
		.program = r->argv[0],
		.argv = r->argv,
		.env = r->env,
		.n_argv = r->n_argv,
		.n_env = r->n_env,
	};
	int ret;

	/* From here on a command may change what was looked at. */
	links_keep(false);
	launch_limits_start(&r->limits, &s);
	s.flags |= run_loop_ignored();
	for (int i = 0; i < 3; i++)
		s.flags |= l->stdio->owned[i] ? START_OWN_STDIN << i : 0;
	/* Nobody asked for these, so they must cost nothing. */
	if ((r->is_default[LIMIT_MEMORY] || s.memory == START_NONE) &&
		(r->is_default[LIMIT_PIDS] || s.pids == START_NONE))
		s.flags |= START_NO_CGROUP;
	if (l->stdio->is_terminal)
		terminal_size(l->stdio->terminal, &s.rows, &s.columns);
	ret = session_start(l->session, COMMAND, &s, l->stdio->is_terminal ? NULL : l->stdio->fds,
		r->call->error);
	run_stdio_given(l->stdio);
	return ret;
}

static bool run_loop_idle(void *context)
{
	const struct run_loop_state *l = context;

	return run_later_idle(l->run);
}

/* The sandbox takes long, and whoever waits for it may want no more of it: then what is blocked for
 * the command's sake ends us. */
static void run_loop_look(void *context)
{
	static const int numbers[] = { SIGINT, SIGTERM, SIGHUP, SIGQUIT };
	sigset_t pending, mine;

	(void)context;
	if (sigpending(&pending) < 0 || sigemptyset(&mine) < 0)
		return;
	for (size_t i = 0; i < ROWS(numbers); i++)
		if (sigismember(&pending, numbers[i]) == 1)
			(void)sigaddset(&mine, numbers[i]);
	(void)sigprocmask(SIG_UNBLOCK, &mine, NULL);
	(void)sigprocmask(SIG_BLOCK, &mine, NULL);
}

int run_loop(struct run *r, struct run_stdio *s, struct run_outcome *ret)
{
	struct run_loop_state l = { .run = r, .stdio = s, .outcome = ret, .signals = -1 };
	const struct session_handler handler = { run_loop_on_event, &l, run_loop_idle,
		run_loop_look };
	int err = session_build_begin(r->session, r->plan, &handler, r->call->error);

	l.session = r->session;
	if (err == 0)
		err = run_ssh_agent_serve(r);
	if (err == 0) {
		err = open_signals(&l);
		if (err < 0)
			(void)error_set(r->call->error, err, NULL, "signals: %s", strerror(-err));
	}
	/* Nothing is cloned from this process any more. */
	if (err == 0)
		err = run_audit_begin(r);
	if (err == 0) {
		run_live_begin(r);
		err = run_broker_configure(r);
	}
	if (err == 0)
		err = run_loop_start(&l);
	/* There is nothing to do now until the sandbox stands: the daemon has a processor. */
	if (err == 0)
		run_audit_connect(r);
	/* The command is sent ahead, and runs once everything else stands. */
	if (err == 0 && !ret->end)
		err = session_build_finish(l.session, r->call->error);
	if (err == 0)
		r->private.own = session_take_own(l.session);
	/* The sandbox has the skill unpacked. */
	skill_archive_close(&r->copy);
	fd_close(&r->skill.copy);
	if (err == 0)
		err = run_loop_wait_for_end(&l);
	fd_close(&l.signals);
	return err;
}
