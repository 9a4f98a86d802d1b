/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/init.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/array.h"
#include "base/clock.h"
#include "base/fd.h"
#include "jail/confine.h"
#include "jail/limits/objects.h"
#include "jail/limits/rlimits.h"
#include "jail/limits/tally.h"
#include "warden/asked.h"
#include "warden/given.h"
#include "warden/owner.h"
#include "warden/part.h"
#include "warden/socket-program.h"
#include "warden/spawn.h"
#include "wire/frame.h"
#include "wire/record.h"
#include "wire/report.h"

struct running {
	const struct init *init;
	struct frame frame; /* the START; its body holds the words of `start` */
	struct arena arena;
	struct start start;
	uint64_t id;
	pid_t pid;
	int status; /* of wait(), once it ended */
	bool ended;
	int nulls[3];           /* /dev/null, opened ahead and never used yet; or -1 */
	bool alone;             /* no process is left to wait for */
	int signals;            /* signalfd */
	struct tally_proc proc; /* if there are limits to look after; or TALLY_PROC_NONE */
	uint64_t look_at;       /* clock_ms() of the next look at them */
	struct tally_limits limits;
	struct tally tally;
	int place;                 /* in the ledger, if it has one; or -1 */
	uint64_t began;            /* clock_ns() */
	struct report report;      /* what it used so far, and what was done to it */
	bool busy;                 /* there is more to reap */
	int n_server_looks;        /* for servers that nobody can reach */
	struct asked_socket asked; /* names that it asks for, without a network */
};

enum { REAPED_AT_ONCE = 256 };

/* The descriptors that came with the START, which stays their owner. */
static int take_stdio(struct running *run, int ret[3])
{
	struct frame *f = &run->frame;

	for (size_t i = 0; i < 3; i++) {
		int own = given_inside(f->fds[i], &run->nulls[i]);

		if (own < 0 && own != -ENODEV)
			return own;
		if (own >= 0) {
			fd_close(&f->fds[i]);
			f->fds[i] = own;
		}
		ret[i] = f->fds[i];
	}
	return 0;
}

/*
 * The terminal of a single command is that of our session, and the command a job in it: Ctrl-Z
 * stops it, and whoever started us gets to know. A session of several has nobody who would let a
 * command go on, so each has its own there, and cannot be stopped by its terminal.
 */
static int init_open_terminal(
	const struct running *run, struct spawn *l, int *ret_master, int *ret_slave)
{
	int r = spawn_terminal(&run->start, ret_master, ret_slave);

	l->is_job = run->init->tree;
	if (r == 0 && l->is_job && ioctl(*ret_slave, TIOCSCTTY, 0) < 0)
		r = -errno;
	return r;
}

/* Without its covers nothing may run. */
static void init_restore(const struct init *init)
{
	struct error e = { 0 };
	int r = watch_restore(init->watch, init->tree, &e);

	if (r == 0)
		return;
	(void)refusal_send(init->socket, FRAME_GONE, r, &e);
	_exit(1);
}

/* Runs it, and tells so. */
static int init_begin(struct running *run)
{
	struct spawn l = { .start = &run->start,
		.rules = run->init->rules,
		.witness = run->init->explain ? run->init->socket : -1,
		.id = run->id };
	enum spawn_step step = SPAWN_SETUP;
	auto_fd master = -1;
	auto_fd slave = -1;
	auto_buffer body = { 0 };
	int r = 0;

	if (run->start.flags & START_TTY)
		r = init_open_terminal(run, &l, &master, &slave);
	else
		r = take_stdio(run, l.stdio);
	for (size_t i = 0; slave >= 0 && i < 3; i++)
		l.stdio[i] = slave;
	for (size_t i = 0; l.rules >= 0 && r == 0 && i < 3; i++)
		r = confine_allow(l.rules, l.stdio[i]);
	/* What appeared while nobody looked is masked before there is anybody to read it. */
	if (r == 0 && run->init->watch)
		init_restore(run->init);
	if (r == 0)
		r = spawn_program(&l, &run->pid, &step);
	if (r < 0) {
		if (spawn_refuse(&run->start, r, step, "does not exist in the sandbox", &body) == 0)
			(void)frame_send(run->init->socket, FRAME_REFUSED, run->id, body.data,
				body.len, NULL, 0);
		return r;
	}
	if (run->start.flags & START_QUIET && master < 0)
		return 0;
	/* It runs, and was not reported: it must not be there when the next one comes. */
	if (frame_send(run->init->socket, FRAME_STARTED, run->id, NULL, 0, &master, master >= 0) <
		0)
		_exit(1);
	return 0;
}

/* What the command starts is for the command to look after. */
static void init_stopped(const struct running *run, pid_t pid, int number)
{
	const uint32_t body = (uint32_t)number;

	if (pid == run->pid && run->init->tree && run->start.flags & START_TTY)
		(void)frame_send(
			run->init->socket, FRAME_STOPPED, run->id, &body, sizeof(body), NULL, 0);
}

/* What a process used counts with what it waited for itself: each is counted once. */
static pid_t reap_one(struct running *run, int options)
{
	struct rusage used;
	int status;
	pid_t pid = wait4(-1, &status, options, &used);

	run->alone = pid < 0 && errno == ECHILD;
	if (pid <= 0)
		return pid;
	if (WIFSTOPPED(status)) {
		init_stopped(run, pid, WSTOPSIG(status));
		return pid;
	}
	spawn_count(&run->report, &used);
	if (pid == run->pid) {
		run->status = status;
		run->ended = true;
	}
	return pid;
}

static void kill_all(struct running *run, uint32_t flag)
{
	run->report.flags |= flag;
	asked_end(&run->asked);
	(void)kill(-1, SIGKILL);
}

/* For the relay, which sees a connection and no program. */
static int init_find_owner(const struct running *run, const struct frame *f)
{
	static struct owner_program program;
	struct owner_answer a = { 0 };
	struct owner_question q;
	size_t used;
	int r = owner_question_decode(&q, f->body, f->len);

	if (r < 0)
		return r;
	a.id = q.id;
	if (q.wants_program)
		socket_program_find((uint16_t)q.port, (uint16_t)q.peer_port, &program);
	owner_find(q.is_udp, (uint16_t)q.port, a.name);
	/* A longer name may have been there before. */
	used = strnlen(a.name, sizeof(a.name));
	memset(a.name + used, 0, sizeof(a.name) - used);
	if (!q.wants_program)
		return frame_send(run->init->socket, FRAME_OWNER, run->id, &a, sizeof(a), NULL, 0);
	program.id = q.id;
	memcpy(program.name, a.name, sizeof(program.name));
	return frame_send(
		run->init->socket, FRAME_OWNER, run->id, &program, sizeof(program), NULL, 0);
}

/* Negative: hang up. */
static int init_take_frame(struct running *run)
{
	static struct frame f;
	uint32_t number = 0;
	int r = frame_receive(run->init->socket, &f);

	if (r <= 0)
		return r == 0 ? -EPIPE : r == -EAGAIN ? 0 : r;
	/* For a command that was over already. STOP is for whatever runs. */
	if (f.id != run->id && f.type != FRAME_STOP)
		return 0;
	if (f.len == sizeof(number))
		memcpy(&number, f.body, sizeof(number));
	if (f.type == FRAME_SIGNAL && f.len == sizeof(number)) {
		/* The group; a program that moved away from it is reached by its terminal, or not
		 * at all. */
		if (number > 0 && number < NSIG)
			(void)kill(-run->pid, (int)number);
	} else if ((f.type == FRAME_KILL && f.len == 0) ||
		   ((f.type == FRAME_KILL || f.type == FRAME_STOP) && f.len == sizeof(number))) {
		/* Who asks for it knows why, and may want it in the report. */
		kill_all(run, number & REPORT_FLAGS);
	} else if (f.type == FRAME_OWNER) {
		return init_find_owner(run, &f);
	} else if (f.type == FRAME_SETTLE && f.len == 0) {
		/* The name is recorded, and said: whoever asked for it may go on. */
		asked_done(&run->asked);
	} else {
		return -EPROTO;
	}
	return 0;
}

/* All that is there to reap, but not for ever: children can come faster than they are reaped, and
 * frames and limits must have their turn. */
static void reap(struct running *run)
{
	run->busy = true;
	for (int i = 0; run->busy && i < REAPED_AT_ONCE; i++)
		run->busy = reap_one(run, WNOHANG | WUNTRACED) > 0;
}

/*
 * Before the next look at who ended: what comes from now on is told once more. The hang-up of a
 * terminal is for its session's leader, and that is us: it goes on to the job.
 */
static void init_take_signals(const struct running *run)
{
	struct signalfd_siginfo info;

	while (read(run->signals, &info, sizeof(info)) == (ssize_t)sizeof(info)) {
		if (info.ssi_signo != SIGHUP || run->pid <= 0)
			continue;
		(void)kill(-run->pid, SIGHUP);
		(void)kill(-run->pid, SIGCONT);
	}
}

/* A limit of its own, 0 for none, where others use some of what all may have together. */
static uint64_t init_share(uint64_t own, uint64_t all, uint64_t others)
{
	const uint64_t left = all > others ? all - others : 1;

	return all > 0 && (own == 0 || left < own) ? left : own;
}

static struct tally_limits init_shares(const struct running *run, const struct ledger_use *others)
{
	const struct ledger_use all = ledger_limits(run->init->ledger);
	struct tally_limits l = run->limits;

	l.memory = init_share(run->start.memory, all.memory, others->memory);
	l.pids = init_share(run->start.pids, all.tasks, others->tasks);
	return l;
}

/*
 * Those that came last give way, so a command may use what those before it leave. How soon it looks
 * again depends on what all leave: a later one cannot give way to what it does not know.
 *
 * What was not counted is not written down: then the whole machine uses less than is left.
 */
static int init_check_limits(struct running *run)
{
	struct ledger *ledger = run->init->ledger;
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	struct ledger_use use = { 0 }, others;
	struct tally_limits limits;
	int r;

	if (!ledger)
		return tally_check(&run->proc, &run->limits, &run->tally);
	others = ledger_before(ledger, run->place, now);
	limits = init_shares(run, &others);
	r = tally_check(&run->proc, &limits, &run->tally);
	if (r >= 0 && !run->tally.memory_is_all)
		use.memory = run->tally.memory;
	if (r >= 0 && !run->tally.tasks_is_all)
		use.tasks = run->tally.tasks;
	ledger_write(ledger, run->place, &use, now);
	others = ledger_others(ledger, run->place, now);
	run->limits = init_shares(run, &others);
	return r;
}

static void init_plan_look(struct running *run)
{
	const int wait = tally_interval_ms(&run->tally, &run->limits);

	run->look_at = clock_ms(CLOCK_MONOTONIC) + (uint64_t)wait;
}

/* How long until then; -1: there are no limits to look after. */
static int init_until_limits(const struct running *run)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);

	if (run->proc.folder < 0)
		return -1;
	return now >= run->look_at ? 0 : (int)(run->look_at - now);
}

/* When it is time: frames and processes that end are no reason to look, however many there are. */
static void init_look_at_limits(struct running *run)
{
	int over;

	if (init_until_limits(run) != 0)
		return;
	over = init_check_limits(run);
	init_plan_look(run);
	if (over < 0 || over & TALLY_MEMORY)
		kill_all(run, REPORT_OUT_OF_MEMORY);
	else if (over & TALLY_PIDS)
		kill_all(run, REPORT_TOO_MANY_PIDS);
}

/* Recorded before it is answered (FRAME_SETTLE), by the name of the program that asked and waits.
 */
static void init_hear_asked(struct running *run)
{
	struct asked_name asked = { 0 };
	int r = asked_hear(&run->asked, &asked);
	char program[OWNER_NAME_BYTES] = "";
	auto_buffer body = { 0 };
	struct record record = {
		.kind = RECORD_DENIED, .dns = true, .target = asked.name, .name = asked.name
	};

	if (r == 0)
		return;
	if (r > 0)
		owner_find(true, asked.port, program);
	else
		record = (struct record){ .kind = RECORD_DENIED,
			.dns = true,
			.target = "*",
			.name = "*",
			.reason = "a command ended the process that records names" };
	record.program = program;
	if (record_encode(&record, &body) == 0)
		(void)frame_send(
			run->init->socket, FRAME_RECORD, run->id, body.data, body.len, NULL, 0);
}

/*
 * A server that was started to be used from outside waits in vain. Looked for twice, when the
 * command has run for a while: not at all in the life of most commands.
 */
static const int server_looks_ms[] = { 1000, 4000 };

static int init_until_look(const struct running *run, int otherwise)
{
	const uint64_t now = (clock_ns(CLOCK_MONOTONIC) - run->began) / 1000000;
	uint64_t at;

	if (!run->init->is_unpublished || run->n_server_looks == (int)ROWS(server_looks_ms))
		return otherwise;
	at = (uint64_t)server_looks_ms[run->n_server_looks];
	if (now >= at)
		return 0;
	return otherwise < 0 || at - now < (uint64_t)otherwise ? (int)(at - now) : otherwise;
}

static void init_look_for_servers(struct running *run)
{
	char program[OWNER_NAME_BYTES] = "", target[32];
	auto_buffer body = { 0 };
	uint16_t port;

	if (init_until_look(run, 1) != 0)
		return;
	run->n_server_looks++;
	port = owner_listens(program);
	if (port == 0)
		return;
	run->n_server_looks = ROWS(server_looks_ms);
	(void)snprintf(target, sizeof(target), "listen:%u", port);
	if (record_encode(&(struct record){ .kind = RECORD_FAILED,
				  .target = target,
				  .port = port,
				  .program = program },
		    &body) == 0)
		(void)frame_send(
			run->init->socket, FRAME_RECORD, run->id, body.data, body.len, NULL, 0);
}

static void attend(struct running *run)
{
	struct pollfd fds[] = {
		{ .fd = run->init->socket, .events = POLLIN },
		{ .fd = run->signals, .events = POLLIN },
		{ .fd = run->init->watch ? watch_fd(run->init->watch) : -1, .events = POLLIN },
		{ .fd = run->asked.server, .events = POLLIN },
		{ .fd = run->asked.link, .events = POLLIN },
	};
	int wait = run->busy ? 0 : init_until_look(run, init_until_limits(run));
	int n = poll(fds, ROWS(fds), wait);

	if (n < 0)
		return;
	if (fds[2].revents)
		init_restore(run->init);
	init_look_for_servers(run);
	if (fds[4].revents)
		init_hear_asked(run);
	if (fds[3].revents)
		asked_begin(&run->asked, run->init->rules);
	/* Without the warden no command is wanted. */
	if (fds[0].revents && init_take_frame(run) < 0)
		_exit(1);
	/* A process that ended is among the signals. */
	if (n > 0 || run->busy)
		reap(run);
	/* Most often it was the command, and the last: the signal is forgotten when all is
	 * reported. */
	if (run->ended)
		return;
	if (fds[1].revents) {
		init_take_signals(run);
		reap(run);
	}
	if (!run->ended)
		init_look_at_limits(run);
}

/*
 * Whether something was sent to an address without a route; or, where nothing takes questions for
 * names, by UDP to a port on which nobody listens. The kernel counts that for the network, which is
 * the command's alone where it is the session's only one.
 */

/* A number in lines of pairs: "Udp: InDatagrams NoPorts …" and below "Udp: 0 3 …". */
static bool init_has_counted(const char *text, const char *group, const char *name)
{
	size_t len = strlen(group);
	const char *names = text, *values;

	while (names && strncmp(names, group, len) != 0)
		names = (names = strchr(names, '\n')) ? names + 1 : NULL;
	if (!names)
		return false;
	values = strchr(names, '\n');
	if (!values || strncmp(values + 1, group, len) != 0)
		return false;
	for (values++; *names != '\n';) {
		names += strcspn(names, " \n");
		values += strcspn(values, " \n");
		if (*names != ' ' || *values != ' ')
			return false;
		names++;
		values++;
		if (strncmp(names, name, strlen(name)) == 0 && names[strlen(name)] <= ' ')
			return *values != '0';
	}
	return false;
}

static bool init_was_unheard(const struct init *init)
{
	char text[4096];
	auto_fd fd = open("/proc/self/net/snmp", O_RDONLY | O_CLOEXEC);
	ssize_t n = fd < 0 ? 0 : read(fd, text, sizeof(text) - 1);

	text[n > 0 ? n : 0] = '\0';
	return init_has_counted(text, "Ip: ", "OutNoRoutes") ||
	       (init->names < 0 && init_has_counted(text, "Udp: ", "NoPorts"));
}

/*
 * Once the command is over, so is everything that it left behind. Whoever is in this namespace is a
 * descendant of init, and becomes its child when its parent ends: without a child there is nobody.
 * That is asked first, as kill(-1) looks at every process of the host. A fork that is under way
 * when all are killed fails, so the namespace is empty when nobody is left to wait for.
 */
static void init_finish(struct running *run)
{
	struct report *report = &run->report;

	asked_end(&run->asked);
	while (!run->alone && reap_one(run, WNOHANG) > 0)
		;
	if (!run->alone) {
		(void)kill(-1, SIGKILL);
		while (reap_one(run, 0) > 0 || errno == EINTR)
			;
	}
	spawn_end(report, run->status, run->began);
	if (run->init->tree && run->status != 0 && init_was_unheard(run->init))
		report->flags |= REPORT_UNHEARD;
	if (run->start.memory > 0)
		report->memory_by = REPORT_BY_POLLING;
	if (run->start.pids > 0)
		report->pids_by = rlimits_holds_processes() ? REPORT_BY_RLIMIT : REPORT_BY_POLLING;
	if (frame_send(run->init->socket, FRAME_EXITED, run->id, report, sizeof(*report), NULL, 0) <
		0)
		_exit(1);
}

/*
 * While nobody waits. Each is for one command alone: what a program does to an open file, such as
 * to lock it, would be there for the next. If there is none, the command opens one.
 */
static void init_open_nulls(struct running *run)
{
	for (size_t i = 0; i < 3; i++)
		if (run->nulls[i] < 0)
			run->nulls[i] = open("/dev/null", O_RDWR | O_CLOEXEC);
}

/* For the command before, which ended while they were under way. */
static bool init_is_late(enum frame_type type)
{
	return type == FRAME_SIGNAL || type == FRAME_KILL || type == FRAME_STOP ||
	       type == FRAME_SETTLE || type == FRAME_OWNER;
}

/* Waits for the next command. */
static int init_await(struct running *run)
{
	int r;

	do
		r = frame_receive(run->init->socket, &run->frame);
	while (r == -EINTR || (r == 1 && init_is_late(run->frame.type)));
	if (r != 1 || run->frame.type != FRAME_START)
		return r == 0 ? -EPIPE : r < 0 ? r : -EPROTO;
	run->began = clock_ns(CLOCK_MONOTONIC);
	run->id = run->frame.id;
	r = start_decode(&run->start, run->frame.body, run->frame.len, &run->arena);
	if (r == 0 && run->frame.n_fds != (run->start.flags & START_TTY ? 0 : 3))
		r = -EPROTO;
	return r;
}

static void run_one(struct running *run)
{
	if (init_await(run) < 0)
		_exit(1);
	if (run->start.memory > 0 || run->start.pids > 0) {
		if (tally_open(&run->proc) < 0)
			_exit(1);
		run->limits = (struct tally_limits){ run->start.memory, run->start.pids,
			objects_scratch(),
			run->start.pids > 0 &&
				rlimits_caps_processes(run->proc.folder, run->start.pids) };
		if (run->init->ledger) {
			run->place = ledger_join(run->init->ledger, clock_ms(CLOCK_MONOTONIC));
			if (run->place < 0)
				_exit(1);
		}
		init_plan_look(run);
	}
	if (init_begin(run) == 0) {
		/* Ends of pipes that the command has must be the command's alone: others wait for
		 * EOF. */
		frame_deinit(&run->frame);
		while (!run->ended)
			attend(run);
		init_finish(run);
	}
	/* Nothing of a command is left for the next one. */
	if (run->place >= 0)
		ledger_leave(run->init->ledger, run->place);
	run->place = -1;
	tally_close(&run->proc);
	frame_deinit(&run->frame);
	arena_deinit(&run->arena);
	run->start = (struct start){ 0 };
	run->tally = (struct tally){ 0 };
	run->report = (struct report){ 0 };
	run->ended = run->busy = run->alone = false;
	run->pid = run->status = 0;
	init_take_signals(run);
}

void init_run(const struct init *i)
{
	static struct running run;
	sigset_t set;

	run.init = i;
	run.proc = TALLY_PROC_NONE;
	run.place = -1;
	run.asked = (struct asked_socket){ .server = i->names, .link = -1 };
	/* Before there is a command, so that it costs none of the command's time. */
	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigaddset(&set, SIGHUP);
	(void)sigprocmask(SIG_BLOCK, &set, NULL);
	run.signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
	if (run.signals < 0)
		_exit(1);
	run.nulls[0] = run.nulls[1] = run.nulls[2] = -1;
	do {
		if (!i->tree)
			init_open_nulls(&run);
		run_one(&run);
	} while (!i->tree);
	part_begin(i->watch ? watch_fd(i->watch) : -1);
	_exit(0);
}
