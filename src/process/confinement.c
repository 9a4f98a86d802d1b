/* SPDX-License-Identifier: Apache-2.0 */
#include "process/confinement.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/fd.h"
#include "jail/landlock.h"
#include "jail/limits/rlimits.h"
#include "jail/privilege.h"
#include "process/child.h"

/* No file is opened, no program runs, no socket is made: it works by what is open. */
#define INERT .no_memfd_exec = true, .closed = true, .no_sockets = true, .no_exec = true

static const struct confinement_place relay_places[] = {
	{ "/proc/self", LANDLOCK_READ }, /* by its fd/ a granted socket is connected to */
	{ 0 },
};
static const struct confinement_place warden_places[] = {
	{ "/proc/self", LANDLOCK_READ },
	{ "/sys/fs/cgroup", LANDLOCK_READ | LANDLOCK_WRITE },
	{ 0 },
};
static const struct confinement_place calendar_places[] = {
	{ "/usr/share/zoneinfo", LANDLOCK_READ },
	{ 0 },
};
/* What the dynamic linker and a client of a display open. */
static const struct confinement_place clipboard_places[] = {
	{ "/usr", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/bin", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/lib", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/lib64", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/nix/store", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/gnu/store", LANDLOCK_READ | LANDLOCK_EXECUTE },
	{ "/etc/ld.so.cache", LANDLOCK_READ },
	{ "/etc/ld.so.preload", LANDLOCK_READ },
	{ "/dev/null", LANDLOCK_READ | LANDLOCK_WRITE },
	{ "/tmp/.X11-unix", LANDLOCK_CONNECT },
	{ 0 },
};
/* What the resolver of the system reads: its configuration, its modules, and no other file. */
static const struct confinement_place connector_places[] = {
	{ "/etc", LANDLOCK_READ },
	{ "/lib", LANDLOCK_READ },
	{ "/lib64", LANDLOCK_READ },
	{ "/usr/lib", LANDLOCK_READ },
	{ "/usr/lib64", LANDLOCK_READ },
	{ "/run/systemd/resolve", LANDLOCK_READ },
	{ 0 },
};

const struct confinement confinements[PROCESS_ROLES] = {
	[PROCESS_FRONT] = { .name = "front",
		.program = "corral-broker",
		.task = "reads the calls of commands for the broker",
		.comm = "corral-front",
		.n_fds = CHILD_FDS + CHILD_FDS_MAX,
		.raises_files = true,
		.filter = { INERT, .shared = true },
		.no_core = true,
		.is_hidden = true },
	[PROCESS_HTTP] = { .name = "http",
		.program = "corrald-http",
		.task = "reads HTTP for the daemon",
		.comm = "corrald-http",
		.n_fds = CHILD_FDS,
		.raises_files = true,
		.filter = { INERT, .shared = true },
		.no_core = true,
		.is_hidden = true },
	/* Before its version 9, Landlock does not keep anybody from the host's Unix sockets. */
	[PROCESS_RELAY] = { .name = "relay",
		.program = "corral, corral-warden",
		.task = "connects for commands, to what their policy allows",
		.filter = { .no_memfd_exec = true,
			.closed = true,
			.shared = true,
			.pairs = true,
			.no_unix = true,
			.no_exec = true },
		.places = relay_places,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_RELAY_DOORS] = { .name = "relay with sockets",
		.program = "corral, corral-warden",
		.task = "the same, where the policy grants Unix sockets of the host",
		.filter = { .no_memfd_exec = true, .closed = true, .no_exec = true },
		.places = relay_places,
		.granted = "the folders of these sockets, to connect",
		.no_core = true,
		.is_hidden = true },
	[PROCESS_WARDEN] = { .name = "warden",
		.program = "corral-warden",
		.task = "holds one session for a host program",
		.filter = { .no_memfd_exec = true, .closed = true },
		.places = warden_places,
		.signals_others = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_HOLDER] = { .name = "holder",
		.program = "corral-warden",
		.task = "carries out what the user grants and answers for a program that joined "
			"the daemon",
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_BACKEND] = { .name = "back end",
		.program = "corral-browser, corral-desktop, corral-mail, corral-secret-service",
		.task = "serves one service of the broker, or of the vault",
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_CALENDAR] = { .name = "calendar",
		.program = "corral-calendar",
		.task = "serves calendars and reminders",
		.filter = { INERT, .shared = true },
		.places = calendar_places,
		.granted = "the folder of services.yaml, to read and write",
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	/* libxcb tries the abstract socket of a display first, and stops where that is refused. */
	[PROCESS_CLIPBOARD] = { .name = "clipboard",
		.program = "corral-desktop",
		.task = "runs the program that has the clipboard",
		.filter = { .no_memfd_exec = true, .closed = true, .only_unix = true },
		.places = clipboard_places,
		.granted = "its two programs, the display's socket and key, a private /tmp",
		.signals_others = true,
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_CONNECTOR] = { .name = "connector",
		.program = "corral-calendar, corral-mail",
		.task = "connects to the one server of a back end",
		.comm = "corral-connect",
		.n_fds = CHILD_FDS,
		.filter = { .no_memfd_exec = true,
			.closed = true,
			.shared = true,
			.no_exec = true },
		.places = connector_places,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_WORKER] = { .name = "WASM worker",
		.program = "corral-wasm",
		.task = "runs the module of a skill, inside the sandbox",
		.filter = { INERT },
		.granted = "the module, and the folders that the skill was granted",
		.is_hidden = true },
	[PROCESS_COMPILER] = { .name = "WASM compiler",
		.program = "corral-wasm",
		.task = "compiles the module of a skill, from a pipe to a pipe",
		.filter = { INERT, .shared = true },
		.is_hidden = true },
	[PROCESS_INSPECTOR] = { .name = "inspector",
		.program = "corral",
		.task = "reads skills that are not approved",
		.filter = { INERT, .shared = true },
		.granted = "the skills' folders, to read",
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_VAULT] = { .name = "vault",
		.program = "corral-vault",
		.task = "holds the user's secrets, and gives them by frames",
		.comm = "corral-vault",
		.n_fds = CHILD_FDS + CHILD_FDS_MAX,
		.filter = { INERT, .shared = true, .keys = true },
		.granted = "the folder of the vault, to read and write; the user's keyring",
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_INJECTOR] = { .name = "injector",
		.program = "corral-inject",
		.task = "puts the secrets of one sandbox into its requests to their hosts",
		.comm = "corral-inject",
		.n_fds = CHILD_FDS + CHILD_FDS_MAX,
		.raises_files = true,
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_POSTGRES] = { .name = "logins to databases",
		.program = "corral-postgres",
		.task = "logs in to PostgreSQL for one sandbox, by passwords that it alone has",
		.comm = "corral-postgres",
		.n_fds = CHILD_FDS + CHILD_FDS_MAX,
		.raises_files = true,
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_SSH_AGENT] = { .name = "ssh agent",
		.program = "corral-ssh-agent",
		.task = "lets the user's ssh agent sign for the logins that a sandbox was granted",
		.comm = "corral-ssh-agen", /* as long as a name may be */
		.n_fds = CHILD_FDS + CHILD_FDS_MAX,
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_MCP_FILTER] = { .name = "MCP filter",
		.program = "corral",
		.task = "reads what an MCP server in a sandbox and its client say to each other",
		.comm = "corral-mcp",
		.n_fds = CHILD_FDS + 4, /* both sides of both, and the control socket */
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_MCP_REMOTE] = { .name = "MCP over HTTP",
		.program = "corral-mcp-remote",
		.task = "speaks HTTP to one MCP server, inside a sandbox that reaches no other "
			"host",
		.filter = { .no_memfd_exec = true,
			.closed = true,
			.shared = true,
			.pairs = true,
			.no_unix = true,
			.no_exec = true },
		.places = connector_places,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_CALLBACK] = { .name = "call-back",
		.program = "corral",
		.task = "waits on loopback for the browser of `corral link auth`",
		.comm = "corral-callback",
		.n_fds = CHILD_FDS + 1, /* the socket of its starter, and the listener */
		.filter = { INERT, .shared = true },
		.no_ports = true,
		.no_core = true,
		.is_hidden = true },
	[PROCESS_ZYGOTE] = { .name = "zygote and init",
		.program = "corral, corral-warden",
		.task = "builds the sandbox, and is its first process",
		.steps = "namespaces of its own, a filter, no capability but CAP_SYS_ADMIN over "
			 "them; "
			 "the init of one of several commands has none, and Landlock",
		.is_hidden = true },
	[PROCESS_COMMAND] = { .name = "command",
		.program = "any",
		.task = "what the sandbox is for",
		.steps =
			"the namespaces of its sandbox, Landlock by the policy, no capability, two "
			"filters" },
	[PROCESS_NAMES] = { .name = "names",
		.program = "corral, corral-warden",
		.task = "answers a command without a network that asks for names: there is no such "
			"name",
		.steps = "as a command, from the first question on" },
	[PROCESS_COMMAND_WRITES] = { .name = "command of tier 3",
		.program = "any",
		.task = "an agent without namespaces",
		.steps = "Landlock for what it writes, no capability, two filters" },
	[PROCESS_CORRAL] = { .name = "corral",
		.program = "corral",
		.task = "holds the session of `corral run`, and is its witness for --explain; "
			"serves the "
			"tools of `corral mcp serve`" },
	[PROCESS_BROKER] = { .name = "broker",
		.program = "corral-broker",
		.task = "decides about calls, and makes those that are allowed",
		.is_hidden = true },
	[PROCESS_KEEPER] = { .name = "keeper",
		.program = "corral-warden",
		.task = "starts a broker again for a warden, which cannot",
		.is_hidden = true },
	[PROCESS_LAUNCHER] = { .name = "launcher",
		.program = "corral-desktop",
		.task = "starts the user's browser for a back end, which cannot" },
	[PROCESS_DAEMON] = { .name = "daemon",
		.program = "corrald",
		.task = "supervises sandboxes, and writes the log",
		.is_hidden = true },
	[PROCESS_ENCLAVE] = { .name = "enclave",
		.program = "corrald-enclave",
		.task = "holds the enclave of /api/invoke" },
	[PROCESS_LENDER] = { .name = "lender",
		.program = "corral",
		.task = "starts the vault, the injector and the logins to databases for `corral "
			"run --secret`",
		.is_hidden = true },
	[PROCESS_SOURCE] = { .name = "source of a secret",
		.program = "that the user named",
		.task = "prints a value for the vault, and ends" },
};

int confinement_begin(enum process_role role)
{
	const struct confinement *row = &confinements[role];

	(void)signal(SIGPIPE, SIG_IGN);
	if (prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0) < 0 ||
		prctl(PR_SET_NAME, row->comm, 0, 0, 0) < 0 ||
		syscall(SYS_close_range, row->n_fds, ~0U, 0U) < 0)
		return -errno;
	if (row->raises_files)
		rlimits_raise_files();
	return 0;
}

static int confinement_grant(int rules, int version, const struct confinement_grant *g)
{
	const int flags = O_PATH | O_CLOEXEC | (g->is_folder ? O_DIRECTORY : 0);
	auto_fd opened = g->path ? open(g->path, flags) : -1;
	const int fd = g->path ? opened : g->fd;

	if (fd < 0)
		return !g->is_needed ? 0 : g->path ? -errno : -EBADF;
	return landlock_grant(rules, version, fd, g->access);
}

static int confinement_rules(
	const struct confinement *row, const struct confinement_more *more, int *ret)
{
	const int version = landlock_version();
	auto_fd rules = version < 0     ? version
			: row->no_ports ? landlock_new_ports(version, !row->signals_others)
					: landlock_new(version, !row->signals_others);
	int r = rules < 0 ? rules : 0;

	for (const struct confinement_place *p = row->places; r == 0 && p && p->path; p++)
		r = confinement_grant(rules, version,
			&(struct confinement_grant){ .path = p->path, .access = p->access });
	for (size_t i = 0; r == 0 && more && i < more->n; i++)
		r = confinement_grant(rules, version, &more->grants[i]);
	if (r == 0)
		*ret = fd_take(&rules);
	return r;
}

int confinement_enter(enum process_role role, const struct confinement_more *more)
{
	const struct confinement *row = &confinements[role];
	auto_fd rules = -1;
	int r = role < PROCESS_CONFINED ? confinement_rules(row, more, &rules) : -EINVAL;

	if (r == 0 && row->no_core)
		r = rlimits_no_core();
	if (r == 0)
		r = privilege_renounce();
	if (r == 0 && more && more->load)
		more->load();
	if (r == 0)
		r = landlock_enter(rules);
	if (r == 0)
		r = seccomp_base(&row->filter);
	if (r == 0 && row->is_hidden)
		r = privilege_hide();
	return r;
}
