/* SPDX-License-Identifier: Apache-2.0 */
#include "warden/session/relay-process.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "net/relay.h"
#include "policy/network/idna.h"
#include "process/confinement.h"
#include "process/starting.h"
#include "warden/inherited.h"
#include "wire/frame.h"

enum { SOCKET = FD_KEPT, DESCRIPTORS_MAX = 1 + PLAN_LENT_MAX + DOORS_MAX + 2 * PLAN_PORTS_MAX };

/* What the relay gets along, made before it is. */
struct outfit {
	struct lookup_config lookup;
	struct door doors[DOORS_MAX];
	size_t n_doors;
	struct publish_port ports[PLAN_PORTS_MAX];
	size_t n_ports;
	struct ledger *ledger;               /* a child has the same mapping */
	struct net_lent lent[PLAN_LENT_MAX]; /* the sockets stay their owner's */
	size_t n_lent;
};

static int outfit_make(struct outfit *o, const struct plan *plan, struct error *e)
{
	int r = lookup_config_read(&o->lookup, "/etc/resolv.conf", "/etc/hosts");

	if (r < 0)
		return error_set(
			e, r, NULL, "cannot read how the host resolves names: %s", strerror(-r));
	for (size_t i = 0; r == 0 && i < plan->n; i++) {
		if (plan->entries[i].kind != PLAN_SOCKET)
			continue;
		if (o->n_doors == DOORS_MAX)
			return error_set(e, -E2BIG, NULL,
				"at most %d sockets of the host can be granted", DOORS_MAX);
		r = door_open(&o->doors[o->n_doors], plan->entries[i].path, e);
		o->n_doors += r == 0;
	}
	for (; r == 0 && o->n_ports < plan->n_ports; o->n_ports += r == 0)
		r = publish_open(&o->ports[o->n_ports], &plan->ports[o->n_ports], e);
	return r;
}

/* In the new process. */

/* Nothing else stays open. */
static int take_descriptors(struct outfit *o, int socket)
{
	/* In the order of their numbers from SOCKET on. */
	int *list[DESCRIPTORS_MAX] = { &socket };
	size_t n = 1;

	for (size_t i = 0; i < o->n_doors; i++)
		list[n++] = &o->doors[i].folder;
	for (size_t i = 0; i < 2 * o->n_ports; i++)
		if (o->ports[i / 2].listeners[i % 2] >= 0)
			list[n++] = &o->ports[i / 2].listeners[i % 2];
	for (size_t i = 0; i < o->n_lent; i++)
		list[n++] = &o->lent[i].socket;
	return fd_keep_only(list, n);
}

/* Names that programs ask for may be international, and must not make it open files then. */
static void load_names(void)
{
	(void)idna_library_load();
}

static int shut_in(const struct outfit *o)
{
	struct confinement_grant grants[DOORS_MAX];
	const struct confinement_more more = {
		.grants = grants, .n = o->n_doors, .load = load_names
	};

	for (size_t i = 0; i < o->n_doors; i++)
		grants[i] = (struct confinement_grant){
			.fd = o->doors[i].folder, .access = LANDLOCK_CONNECT, .is_needed = true
		};
	return confinement_enter(o->n_doors ? PROCESS_RELAY_DOORS : PROCESS_RELAY, &more);
}

static _Noreturn void relay_process_run(struct outfit *o, const struct plan *plan, int socket)
{
	struct relay_options options = { .policy = plan->policy,
		.socket = SOCKET,
		.lookup = &o->lookup,
		.doors = o->doors,
		.n_doors = o->n_doors,
		.ports = o->ports,
		.n_ports = o->n_ports,
		.ask_ms = plan->ask_ms,
		.lent = o->lent,
		.n_lent = o->n_lent,
		.ledger = o->ledger };
	int r = prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ? -errno : 0;
	sigset_t none;

	inherited_reset_signals();
	(void)signal(SIGPIPE, SIG_IGN);
	(void)sigemptyset(&none);
	(void)sigprocmask(SIG_SETMASK, &none, NULL);
	(void)prctl(PR_SET_NAME, "corral-relay", 0, 0, 0);
	if (r == 0)
		r = take_descriptors(o, socket);
	if (r == 0)
		r = inherited_erase_words();
	inherited_erase_variables();
	if (r == 0 && setsid() < 0)
		r = -errno;
	rlimits_raise_files();
	if (r == 0 && fcntl(SOCKET, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r == 0)
		r = shut_in(o);
	if (r == 0)
		r = relay_serve(&options);
	_exit(r < 0);
}

/* Outside. */

static int session_relay_process_start(
	struct relay_process *ret, const struct plan *plan, struct outfit *o, struct error *e)
{
	int pair[2];
	int r = frame_pair(pair);
	auto_fd outer = r < 0 ? -1 : pair[0];
	auto_fd inner = r < 0 ? -1 : pair[1];
	int pidfd = -1;
	pid_t pid;

	if (r == 0 && fcntl(outer, F_SETFL, O_NONBLOCK) < 0)
		r = -errno;
	if (r < 0)
		return error_set(e, r, NULL, "cannot make a socket: %s", strerror(-r));
	pid = starting_copy(0, &pidfd);
	if (pid < 0)
		return error_set(e, pid, NULL, "cannot start the relay: %s", strerror(-pid));
	if (pid == 0)
		relay_process_run(o, plan, inner);
	*ret = (struct relay_process){ .pid = pid, .pidfd = pidfd, .socket = fd_take(&outer) };
	return 0;
}

int relay_process_start(
	struct relay_process *ret, const struct plan *plan, struct ledger *ledger, struct error *e)
{
	struct outfit o = { .ledger = ledger };
	int r;

	for (; o.n_lent < plan->n_lent; o.n_lent++) {
		const struct plan_lent *l = &plan->lent[o.n_lent];

		o.lent[o.n_lent] = (struct net_lent){ l->socket, l->hosts, l->by_program, l->n };
	}
	r = outfit_make(&o, plan, e);

	if (r == 0)
		r = session_relay_process_start(ret, plan, &o, e);
	lookup_config_deinit(&o.lookup);
	for (size_t i = 0; i < o.n_doors; i++)
		fd_close(&o.doors[i].folder);
	for (size_t i = 0; i < o.n_ports; i++)
		publish_close(&o.ports[i]);
	return r;
}

void relay_process_end(struct relay_process *r)
{
	if (r->pid == 0)
		return;
	(void)syscall(SYS_pidfd_send_signal, r->pidfd, SIGKILL, NULL, 0);
	while (waitpid(r->pid, NULL, 0) < 0 && errno == EINTR)
		;
	fd_close(&r->pidfd);
	fd_close(&r->socket);
	r->pid = 0;
}
