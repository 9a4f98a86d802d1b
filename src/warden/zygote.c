/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/zygote.h"

#include <errno.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/fd.h"
#include "base/path.h"
#include "jail/beside.h"
#include "jail/confine.h"
#include "jail/detach.h"
#include "jail/limits/rlimits.h"
#include "jail/netns.h"
#include "jail/plan/plan.h"
#include "jail/privilege.h"
#include "jail/seccomp/seccomp.h"
#include "jail/tree.h"
#include "jail/userns.h"
#include "net/enter/capture.h"
#include "net/enter/listeners.h"
#include "process/starting.h"
#include "skill/archive.h"
#include "warden/asked.h"
#include "warden/inherited.h"
#include "warden/init.h"
#include "warden/part.h"
#include "warden/session/watch.h"
#include "wire/frame.h"
#include "wire/report.h"
#include "wire/sockets.h"

enum {
	SOCKET = 3,         /* where the zygote and each init have theirs */
	INNER_SOCKETS = 64, /* of each family: so many connections from outside at once */
	LISTENERS = PLAN_LITERALS_MAX + 2 * PLAN_LISTENERS_MAX,
};
_Static_assert((int)LISTENERS <= (int)LISTENERS_MAX, "more than the relay takes");

struct setup {
	const struct zygote *zygote;
	struct frame frame; /* FRAME_PLAN; the plan's strings are in it */
	struct plan *plan;
	struct skill_archive skill; /* of the plan */
	struct ledger *ledger;      /* or NULL */
	char oom_score[16];         /* that it had before; "": it was not changed */
	struct netns network;
	struct beside builder;
	struct error built; /* of the builder */
	int detached;       /* what became of the host's root */
	struct tree tree;
	struct watch *watch; /* NULL: nothing to watch */
	bool is_watching;    /* the builder watches folders */
	int rules;           /* of Landlock, for a single command */
	int names;           /* where commands without a network ask for them; or -1 */
	struct error error;  /* of steps that say more than an errno */
};

/*
 * Dies with its parent. Should the parent be dead already, the other end of the socket is closed,
 * and the first frame_receive() tells so.
 */
static int zygote_follow(void)
{
	return prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
}

/* Nothing that the host had open comes along, least of all its terminal. */
static int take_socket(struct setup *s)
{
	auto_fd null = -1;
	int r;

	/* First of all: else an error could not be reported. */
	if (s->zygote->socket != SOCKET && dup3(s->zygote->socket, SOCKET, O_CLOEXEC) < 0)
		return -errno;
	null = open("/dev/null", O_RDWR | O_CLOEXEC);
	if (null < 0) {
		r = error_set(
			&s->error, -errno, NULL, "cannot open /dev/null: %s", strerror(errno));
		error_hint(&s->error,
			"everybody must be able to read and write it; `corral doctor` "
			"says how to mend it");
		return r;
	}
	for (int i = 0; i < 3; i++)
		if (dup2(null, i) < 0)
			return -errno;
	fd_close(&null);
	return syscall(SYS_close_range, SOCKET + 1U, ~0U, 0U) < 0 ? -errno : 0;
}

/* Of the host's session: its terminal. Its keys stayed behind earlier (birth.c). */
static int detach(void)
{
	return setsid() < 0 ? -errno : 0;
}

static int map_user(struct setup *s)
{
	return userns_map(s->zygote->uid, s->zygote->gid);
}

static int leave_namespaces(void)
{
	return unshare(CLONE_NEWNS | CLONE_NEWIPC | CLONE_NEWUTS | CLONE_NEWCGROUP) < 0 ? -errno
											: 0;
}

static int make_network(struct setup *s)
{
	if (s->zygote->own_network)
		netns_begin(&s->network);
	return 0;
}

static int enter_network(struct setup *s)
{
	return netns_join(&s->network);
}

/* A socket belongs to the network that it was made in. */
static int enter_network_for_sockets(struct setup *s)
{
	bool needed = s->plan->network == PLAN_NETWORK_RELAY || s->plan->has_broker;

	for (size_t i = 0; !needed && i < s->plan->n; i++)
		needed = s->plan->entries[i].kind == PLAN_SOCKET;
	return needed ? enter_network(s) : 0;
}

/* Without it programs are refused at once, and their names are not recorded. */
static int open_names(struct setup *s)
{
	if (s->plan->network == PLAN_NETWORK_NONE)
		s->names = asked_open();
	return 0;
}

static int name_host(void)
{
	static const char name[] = "corral";

	return sethostname(name, sizeof(name) - 1) < 0 ? -errno : 0;
}

/* A mask that slipped off is put back here, and appears in the namespaces of all commands. */
static int share_mounts(struct setup *s)
{
	if (s->zygote->single)
		return 0;
	return mount(NULL, "/", NULL, MS_SHARED | MS_REC, NULL) < 0 ? -errno : 0;
}

static int receive_plan(struct setup *s)
{
	size_t n_skill;
	int r;

	do
		r = frame_receive(SOCKET, &s->frame);
	while (r == -EINTR);
	/* The warden gave up: so do we, and it cannot be reported. */
	if (r == 0)
		_exit(1);
	if (r < 0 || s->frame.type != FRAME_PLAN)
		return r < 0 ? r : -EPROTO;
	r = plan_decode(&s->plan, s->frame.body, s->frame.len);
	n_skill = r == 0 && s->plan->has_skill;
	if (r < 0 || s->frame.n_fds < n_skill || s->frame.n_fds > n_skill + 1)
		return r < 0 ? r : -EPROTO;
	/* Inits are copies of us, and have the same mapping. */
	if (s->frame.n_fds > n_skill) {
		r = ledger_open(&s->ledger, s->frame.fds[n_skill]);
		fd_close(&s->frame.fds[n_skill]);
	}
	if (r == 0 && n_skill) {
		r = skill_archive_open(&s->skill, s->frame.fds[0]);
		s->plan->skill = &s->skill;
	}
	return r;
}

/* Its memory is given back: the sandbox has it unpacked, but for the path, which covers need. */
static int drop_skill(struct setup *s)
{
	static char path[PATH_BYTES];
	struct skill_archive rest = { .fd = -1, .path = path };
	int fd;

	if (!s->plan->skill)
		return 0;
	if (strlen(s->skill.path) >= sizeof(path))
		return -ENAMETOOLONG;
	memcpy(path, s->skill.path, strlen(s->skill.path) + 1);
	skill_archive_close(&s->skill);
	s->skill = rest;
	fd = frame_take_fd(&s->frame, 0);
	fd_close(&fd);
	return 0;
}

/*
 * If the machine runs out of memory in spite of all limits, commands go first, and not what the
 * user works with. It takes no privilege to be more likely to go, and /proc is not writable inside,
 * so no command takes it back. Where it cannot be had, nothing is less safe than before.
 *
 * The kernel looks at every process of the host for those that share the memory of this one, once
 * there was any. So this comes before the first of them, and before it is known what the plan says.
 */
static int go_first(struct setup *s)
{
	static const char score[] = "500"; /* as if it had half of the machine's memory more */
	auto_fd fd = open("/proc/self/oom_score_adj", O_RDWR | O_CLOEXEC);

	if (fd >= 0 && read(fd, s->oom_score, sizeof(s->oom_score) - 1) > 0 &&
		strtol(s->oom_score, NULL, 10) < strtol(score, NULL, 10) &&
		pwrite(fd, score, sizeof(score) - 1, 0) > 0)
		return 0;
	s->oom_score[0] = '\0';
	return 0;
}

/* Where memory has no limit, commands are as likely to go as any program of the user. */
static int go_with_others(struct setup *s)
{
	auto_fd fd = -1;

	if (s->plan->limits.values[LIMIT_MEMORY] != LIMIT_NONE || !s->oom_score[0])
		return 0;
	fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
	if (fd >= 0)
		(void)!write(fd, s->oom_score, strlen(s->oom_score));
	return 0;
}

/* For servers inside, if the relay is to reach any. Without IPv6 there are those of IPv4 alone. */
static int send_inner(const struct setup *s)
{
	int sockets[2 * INNER_SOCKETS];
	int r = 0;

	if (s->plan->n_ports == 0 && s->plan->n_loopback == 0)
		return 0;
	for (size_t i = 0; i < 2 * INNER_SOCKETS; i++) {
		sockets[i] = capture_inner(i % 2 ? AF_INET6 : AF_INET);
		if (sockets[i] < 0 && i % 2 == 0)
			r = sockets[i];
	}
	if (r == 0)
		r = sockets_send(SOCKET, SOCKETS_PORT, sockets, 2 * INNER_SOCKETS);
	for (size_t i = 0; i < 2 * INNER_SOCKETS; i++)
		fd_close(&sockets[i]);
	return r;
}

/* *ret: -1 where there is no IPv6, and nobody who could mean such an address. */
static int open_literal(const struct plan_literal *l, int *ret, struct error *e)
{
	auto_fd fd = capture_listener(l->address.bits == 32 ? AF_INET : AF_INET6);
	int r = fd < 0 ? fd : capture_listen(fd, &l->address, l->port);
	auto_buffer address = { 0 };

	if (r == 0 || (r == -EAFNOSUPPORT && fd < 0)) {
		*ret = r == 0 ? fd_take(&fd) : -1;
		return 0;
	}
	address_print(&l->address, &address);
	return error_set(e, r, NULL, "cannot listen at %s port %u inside: %s",
		buffer_text(&address), l->port, strerror(-r));
}

/* In small portions: descriptors are scarce, and so is room for them on the way. */
struct portion {
	int fds[LISTENERS]; /* by number; -1: not in this portion */
	size_t n, next;
};

static int send_portion(struct portion *p)
{
	int r = sockets_send(SOCKET, SOCKETS_LISTENER, p->fds, p->next);

	for (size_t i = 0; i < p->next; i++)
		fd_close(&p->fds[i]);
	p->n = 0;
	return r;
}

static int portion_add(struct portion *p, int fd)
{
	p->fds[p->next++] = fd;
	p->n += fd >= 0;
	return p->n == FRAME_FDS_MAX ? send_portion(p) : 0;
}

static int send_listeners(const struct plan *plan, struct error *e)
{
	struct portion p = { .n = 0 };
	int r = 0, also;

	for (size_t i = 0; r == 0 && i < plan->n_literals; i++) {
		int fd = -1;

		r = open_literal(&plan->literals[i], &fd, e);
		if (r == 0)
			r = portion_add(&p, fd);
	}
	/* Without IPv6 there are those of IPv4 alone. */
	for (size_t i = 0; r == 0 && i < 2 * plan->n_listeners; i++) {
		int fd = capture_listener(i % 2 ? AF_INET6 : AF_INET);

		r = fd < 0 && i % 2 == 0 ? fd : portion_add(&p, fd);
	}
	also = send_portion(&p);
	return r < 0 ? r : also;
}

/*
 * A network without rules: the sockets by which the relay listens are made here, inside. Those at
 * addresses that are granted are bound before any command is there; the others wait for names
 * (net/enter/listeners.h). -EOPNOTSUPP: the plan grants what cannot be held this way.
 */
static int capture_lazily(const struct plan *p, int ret[CAPTURE_COUNT], struct error *e)
{
	int fds[CAPTURE_COUNT];
	int r;

	if (p->unheld) {
		(void)error_set(e, -EOPNOTSUPP, NULL, "%s", p->unheld);
		error_hint(e,
			"grant single names and addresses with their ports, such as "
			"api.example.com:443; run `corral doctor` to see what the kernel lacks");
		return -EOPNOTSUPP;
	}
	*e = (struct error){ 0 };
	r = capture_open_lazy(fds, e);
	if (r < 0)
		return r;
	r = send_listeners(p, e);
	if (r == 0)
		memcpy(ret, fds, sizeof(fds));
	for (size_t i = 0; r < 0 && i < CAPTURE_COUNT; i++)
		fd_close(&fds[i]);
	return r;
}

/* The sockets go to the relay; none of them stays where commands come from. */
static int capture_network(struct setup *s)
{
	struct capture_ports ports[PLAN_RANGES_MAX];
	const struct capture_options o = { .loopback = ports, .n_loopback = s->plan->n_loopback };
	int sockets[CAPTURE_COUNT];
	int r;

	if (s->plan->network != PLAN_NETWORK_RELAY)
		return 0;
	if (!s->zygote->own_network)
		return -EINVAL;
	for (size_t i = 0; i < s->plan->n_loopback; i++) {
		const struct plan_range *range = &s->plan->loopback[i];

		ports[i] = (struct capture_ports){ .lo = range->lo,
			.hi = range->hi,
			.v4 = range->families & PLAN_FAMILY_4,
			.v6 = range->families & PLAN_FAMILY_6 };
	}
	r = capture_open(&o, sockets, &s->error);
	if (r == -EOPNOTSUPP)
		r = capture_lazily(s->plan, sockets, &s->error);
	if (r < 0)
		return r;
	r = sockets_send(SOCKET, SOCKETS_CAPTURE, sockets, CAPTURE_COUNT);
	for (size_t i = 0; i < CAPTURE_COUNT; i++)
		fd_close(&sockets[i]);
	return r < 0 ? r : send_inner(s);
}

static int hand_over_sockets(struct setup *s)
{
	int r = sockets_send(SOCKET, SOCKETS_DOOR, s->tree.sockets, s->tree.n_sockets);

	for (size_t i = 0; i < s->tree.n_sockets; i++)
		fd_close(&s->tree.sockets[i]);
	s->tree.n_sockets = 0;
	return r;
}

/* Before any command could take the port. */
static int open_broker_http(int *ret)
{
	const struct sockaddr_in address = { .sin_family = AF_INET,
		.sin_addr.s_addr = htonl(INADDR_LOOPBACK),
		.sin_port = htons(PLAN_BROKER_PORT) };
	auto_fd fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);

	if (fd < 0 || bind(fd, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
		listen(fd, SOMAXCONN) < 0)
		return -errno;
	*ret = fd_take(&fd);
	return 0;
}

/* No process inside has any of them: inits are made later, and the broker is outside. */
static int hand_over_broker(struct setup *s)
{
	int fds[SOCKETS_BROKER_COUNT] = {
		[SOCKETS_BROKER_LISTENER] = s->tree.broker, [SOCKETS_BROKER_HTTP] = -1
	};
	int r = 0;

	if (s->tree.broker < 0)
		return 0;
	if (s->plan->has_http)
		r = open_broker_http(&fds[SOCKETS_BROKER_HTTP]);
	fds[SOCKETS_BROKER_ROOT] = open("/", O_PATH | O_DIRECTORY | O_CLOEXEC);
	if (r == 0)
		r = fds[SOCKETS_BROKER_ROOT] < 0
			    ? -errno
			    : sockets_send(SOCKET, SOCKETS_BROKER, fds, SOCKETS_BROKER_COUNT);
	fd_close(&fds[SOCKETS_BROKER_HTTP]);
	fd_close(&fds[SOCKETS_BROKER_ROOT]);
	fd_close(&s->tree.broker);
	return r;
}

/* The holder of a single command looks into its private folders in the end. Of several commands
 * none does. */
static int keep_own(struct setup *s)
{
	if (!s->zygote->single)
		fd_close(&s->tree.own);
	return 0;
}

/* While the plan is made: it changes nothing of this. */
static int prepare_tree(struct setup *s)
{
	tree_init(&s->tree);
	return s->zygote->host_root ? 0 : tree_prepare(&s->tree, &s->error);
}

static int watch_covers(struct setup *s)
{
	return watch_new(&s->watch, s->plan, &s->error);
}

/* In a process with all capabilities and no filter. What is said of errno in jail/beside.h holds:
 * the zygote's steps meanwhile succeed, or all is over. */
static void zygote_build(struct beside *b)
{
	struct setup *s = b->data;
	int r = tree_enter(&s->tree, s->plan, &s->built);

	/* With the same capabilities as the zygote has when it watches folders. */
	if (r >= 0 && s->watch && privilege_reduce() == 0)
		s->is_watching = watch_begin_beside(s->watch, &s->tree);
	beside_report(b, r);
	if (r >= 0)
		s->detached = detach_unmount();
}

static int begin_building(struct setup *s)
{
	s->detached = -EIO;
	beside_begin(&s->builder, zygote_build, s);
	return 0;
}

static int hear_builder(struct setup *s)
{
	int r = beside_hear(&s->builder);

	if (r < 0)
		s->error = s->built;
	return r;
}

static int watch_folders(struct setup *s)
{
	return s->watch && !s->is_watching ? watch_begin(s->watch, &s->tree, &s->error) : 0;
}

static int filter(struct setup *s)
{
	const struct seccomp_options o = { .no_memfd_exec = s->plan->exec_listed,
		.listener = s->zygote->single && s->plan->is_watched };

	return seccomp_base(&o);
}

/* Of a single command. In a session of several each init has its own. */
static int make_rules(struct setup *s)
{
	return s->zygote->single ? s->rules = confine_rules(s->plan, &s->error) : 0;
}

static int end_builder(struct setup *s)
{
	int r = beside_end(&s->builder);

	if (r == 0)
		r = s->detached;
	/* Each init would inherit the stacks. The zygote of a single command ends soon. */
	if (!s->zygote->single) {
		beside_free(&s->builder);
		beside_free(&s->network.beside);
	}
	return r < 0 ? r : detach_check();
}

/*
 * The order matters: maps before anything that needs capabilities, the seal while the host's /proc
 * is there, all that needs no plan before the wait for it (the network takes longest, and is made
 * meanwhile), sockets after the network is entered. Then the builder does what the filter forbids,
 * watches folders if it can, and takes the host's root away; this process gets its filter beside
 * it, and hides when the other, which shares its memory, has ended.
 */
static const struct {
	const char *what;
	int (*run)(struct setup *s);
	int (*plain)(void); /* instead: it needs to know nothing */
} steps[] = {
	{ "follow the warden", .plain = zygote_follow },
	{ "close descriptors", .run = take_socket },
	/* All commands' inits are copies of this process. */
	{ "clear the command line", .plain = inherited_erase_words },
	{ "start a session", .plain = detach },
	{ "map the user into a new user namespace", .run = map_user },
	{ "make namespaces", .plain = leave_namespaces },
	{ "set the host name", .plain = name_host },
	{ "forbid further user namespaces", .plain = userns_seal },
	{ "limit the user namespace", .plain = userns_limit },
	{ "prepare the file tree", .run = prepare_tree },
	{ "bound capabilities", .plain = privilege_bound },
	{ "set the OOM score", .run = go_first },
	{ "make a network", .run = make_network },
	{ "receive the plan", .run = receive_plan },
	{ "set the OOM score", .run = go_with_others },
	{ "enter the network", .run = enter_network_for_sockets },
	{ "capture the network", .run = capture_network },
	/* Signals of dnotify go to the process that asks for them: this one. */
	{ "watch files", .run = watch_covers },
	{ "begin to build", .run = begin_building },
	{ "enter the network", .run = enter_network },
	{ "take questions for names", .run = open_names },
	{ "switch off core files", .plain = rlimits_no_core },
	{ "share limits of the user", .plain = rlimits_share },
	{ "give up capabilities", .plain = privilege_reduce },
	{ "install the filter of system calls", .run = filter },
	{ "build the file tree", .run = hear_builder },
	{ "close the copy of the skill", .run = drop_skill },
	{ "hand over sockets", .run = hand_over_sockets },
	{ "hand over the broker's socket", .run = hand_over_broker },
	{ "keep the private folders", .run = keep_own },
	{ "watch folders", .run = watch_folders },
	{ "make Landlock rules", .run = make_rules },
	{ "take the host's root away", .run = end_builder },
	{ "share the mounts", .run = share_mounts },
	{ "disable ptrace and core dumps", .plain = privilege_hide },
};

/* Signals of inits are of no interest; those of an init's children are its own to wait for. */
static void set_signals(int child)
{
	sigset_t set;

	(void)sigemptyset(&set);
	(void)sigaddset(&set, SIGCHLD);
	(void)sigprocmask(SIG_SETMASK, &set, NULL);
	(void)signal(SIGCHLD, child ? SIG_DFL : SIG_IGN);
}

/* Of the command alone: its own view of processes, and behind all walls before it is even known. */
static int confine_init(const struct plan *plan, struct error *e)
{
	auto_fd rules = -1;
	int r;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
		mount(NULL, "/", NULL, MS_SLAVE | MS_REC, NULL) < 0)
		return error_set(e, -errno, NULL, "cannot leave the zygote: %s", strerror(errno));
	r = ground_mount_proc(&plan->limits);
	if (r < 0)
		return error_set(e, r, NULL, "cannot mount a private /proc: %s", strerror(-r));
	rules = confine_rules(plan, e);
	if (rules < 0)
		return rules;
	r = confine_enter(rules, false);
	if (r == 0)
		r = privilege_hide();
	return r < 0 ? error_set(e, r, NULL, "cannot confine the command: %s", strerror(-r)) : 0;
}

static _Noreturn void become_init(const struct setup *s, int socket)
{
	struct error e = { 0 };
	const struct init init = {
		.socket = SOCKET, .rules = -1, .names = -1, .ledger = s->ledger
	};
	int r;

	set_signals(1);
	if (dup3(socket, SOCKET, O_CLOEXEC) < 0 ||
		syscall(SYS_close_range, SOCKET + 1U, ~0U, 0U) < 0)
		_exit(1);
	r = confine_init(s->plan, &e);
	if (r < 0) {
		(void)refusal_send(SOCKET, FRAME_FAILED, r, &e);
		_exit(1);
	}
	init_run(&init);
}

static int zygote_spawn(const struct setup *s)
{
	int pair[2];
	int r = frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	auto_fd pidfd = -1;
	pid_t pid;

	if (r < 0)
		return r;
	pid = starting_copy(CLONE_NEWPID | CLONE_NEWNS, &pidfd);
	if (pid < 0)
		return pid;
	if (pid == 0)
		become_init(s, inner);
	return frame_send(SOCKET, FRAME_INIT, 0, NULL, 0, (int[]){ outer, pidfd }, 2);
}

static int zygote_take_frame(const struct setup *s)
{
	static struct frame f;
	struct error e = { 0 };
	int r = frame_receive(SOCKET, &f);

	if (r != 1)
		return r == -EINTR ? 0 : -EPIPE;
	if (f.type != FRAME_SPAWN)
		return -EPROTO;
	r = zygote_spawn(s);
	if (r == -EPIPE)
		return r;
	if (r < 0) {
		(void)error_set(&e, r, NULL, "cannot start one more command: %s", strerror(-r));
		(void)refusal_send(SOCKET, FRAME_FAILED, r, &e);
	}
	return 0;
}

/* Some command asks for a name: from now on another process answers, beside the commands' own pid
 * namespaces, and the warden reads its reports. If that fails, programs are refused at once. */
static void zygote_answer_names(const struct setup *s, struct asked_socket *a)
{
	struct error e = { 0 };
	auto_fd rules = confine_rules(s->plan, &e);

	if (rules >= 0)
		asked_begin(a, rules);
	if (a->link >= 0)
		(void)frame_send(SOCKET, FRAME_NAMES, 0, NULL, 0, &a->link, 1);
	asked_end(a);
}

/* Ends when the warden does, or when a cover cannot be put back: then everything ends. */
static _Noreturn void zygote_serve(const struct setup *s)
{
	struct asked_socket asked = { .server = s->names, .link = -1, .is_shared = true };
	struct error e = { 0 };
	struct pollfd fds[] = {
		{ .fd = SOCKET, .events = POLLIN },
		{ .fd = s->watch ? watch_fd(s->watch) : -1, .events = POLLIN },
		{ .fd = s->names, .events = POLLIN },
	};

	for (;;) {
		int r = 0;

		if (poll(fds, ROWS(fds), -1) < 0)
			continue;
		/* First the covers: a command that starts now must not find one missing. */
		if (fds[1].revents)
			r = watch_restore(s->watch, &s->tree, &e);
		if (r < 0) {
			(void)refusal_send(SOCKET, FRAME_GONE, r, &e);
			/* An init that was just cloned may still hold a copy of the socket, so
			 * closing it is not enough for the warden to learn of this end before it
			 * learns of the commands'. */
			(void)shutdown(SOCKET, SHUT_RDWR);
			_exit(1);
		}
		if (fds[0].revents && zygote_take_frame(s) < 0) {
			part_begin(fds[1].fd);
			_exit(0);
		}
		if (fds[2].revents) {
			zygote_answer_names(s, &asked);
			fds[2].fd = -1;
		}
	}
}

void zygote_run(const struct zygote *z)
{
	static struct setup s;
	const struct ready ready = { .tier = 1 };
	struct init init = { .socket = SOCKET, .tree = &s.tree };
	int r = 0;

	s.zygote = z;
	s.names = -1;
	/* What the host ignores or handles is not a program's business. */
	inherited_reset_signals();
	set_signals(z->single);
	for (size_t i = 0; r >= 0 && i < ROWS(steps); i++) {
		r = steps[i].run ? steps[i].run(&s) : steps[i].plain();
		if (r < 0 && s.error.text[0] == '\0')
			(void)error_set(
				&s.error, r, NULL, "cannot %s: %s", steps[i].what, strerror(-r));
	}
	if (r < 0) {
		(void)refusal_send(SOCKET, FRAME_FAILED, r, &s.error);
		_exit(1);
	}
	if (frame_send(SOCKET, FRAME_READY, 0, &ready, sizeof(ready), &s.tree.own,
		    s.tree.own >= 0) < 0)
		_exit(1);
	fd_close(&s.tree.own);
	init.watch = s.watch;
	init.rules = s.rules;
	init.names = s.names;
	init.explain = z->single && s.plan->is_watched;
	init.is_unpublished = s.plan->network != PLAN_NETWORK_HOST && s.plan->n_ports == 0;
	init.ledger = s.ledger;
	if (z->single)
		init_run(&init);
	zygote_serve(&s);
}
