/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --ssh-agent and --ssh-sign: logins and signatures by the user's keys, for what is named and
 * nothing else. corral-ssh-agent (sshagent/server.h) stands before the user's agent. It gets three
 * descriptors from here, since it can open nothing: our socket, one that listens, and a connection
 * to the agent. The one that listens has a name in a folder that other commands do not see; it
 * is granted as every socket of the host is; the relay connects there, and no other process is let
 * in.
 *
 * SSH_AUTH_SOCK is read once and its links are followed here, so that the name that is connected to
 * is the one that was checked: a socket of this user, and by no link that an earlier command could
 * have made. The same holds for the files with the keys of hosts, which are read here.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

#include "audit/event.h"
#include "base/array.h"
#include "base/fd.h"
#include "base/file.h"
#include "base/utf8.h"
#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/run/internal.h"
#include "event/wait.h"
#include "host/links.h"
#include "host/planted.h"
#include "sshagent/ssh-setup.h"

#define AGENT "SSH_AUTH_SOCK"

enum { SSH_AGENT_MS = 60 * 1000, SSH_AGENT_BACKLOG = 1024, SSH_AGENT_END_MS = 2000 };

/* Not on the stack, and only touched with --ssh-agent. */
static struct frame ssh_agent_frame;

static int run_ssh_agent_refuse(struct run *r, int code, const char *why, const char *hint)
{
	(void)error_set(r->call->error, code, NULL, "--ssh-agent: %s", why);
	error_hint(r->call->error, "%s", hint);
	return code;
}

/* The words of the options */

int run_ssh_agent_take_login(struct call *c, const struct options_row *row, const char *value)
{
	struct ssh_login l;
	char *text;

	if (ssh_setup_login_parse(value, &l) < 0) {
		(void)error_set(c->error, -EINVAL, NULL,
			"invalid value for --ssh-agent: `%s` (expected a login such as "
			"git@github.com, or USER@HOST:PORT)",
			value);
		error_hint(c->error, "the agent is lent for the logins that are named, such as "
				     "--ssh-agent git@github.com; `git remote -v` shows them");
		return -EINVAL;
	}
	text = arena_alloc(c->arena, SSH_LOGIN_BYTES);
	if (!text)
		return error_no_memory(c->error);
	ssh_setup_login_print(&l, text);
	return options_list(c, row, text);
}

int run_ssh_agent_take_namespace(struct call *c, const struct options_row *row, const char *value)
{
	if (!ssh_setup_namespace_is_valid(value))
		return options_misused(c,
			"invalid value for --ssh-sign: `%s` (expected a namespace of signatures, "
			"such as git)",
			value);
	return options_list(c, row, value);
}

/* The user's agent */

static int run_ssh_agent_find(struct run *r, struct planted *ret)
{
	const char *path = getenv(AGENT);
	struct stat st;
	int err;

	if (!path || !*path)
		return run_ssh_agent_refuse(r, -ENOENT, AGENT " is not set, so no agent is known",
			"start one with: eval \"$(ssh-agent)\" && ssh-add");
	if (path[0] != '/' || !utf8_valid(path, strlen(path), NULL))
		return run_ssh_agent_refuse(r, -EINVAL, AGENT " is not an absolute path",
			"set it to the path of the agent's socket");
	err = planted_find(path, r->load.variables.values[VARIABLE_HOME], ret);
	if (err == 0 && stat(ret->real, &st) < 0)
		err = -errno;
	if (err < 0)
		return error_set(r->call->error, err, NULL, "--ssh-agent: " AGENT " is %s: %s",
			path, strerror(-err));
	if (err > 0) {
		(void)error_set(r->call->error, -EPERM, NULL,
			"--ssh-agent: " AGENT " leads to %s by the link %s, which an earlier "
			"command could have made",
			ret->real, ret->link);
		error_hint(r->call->error, "set " AGENT "=%s, if that is meant", ret->real);
		return -EPERM;
	}
	if (!S_ISSOCK(st.st_mode))
		return run_ssh_agent_refuse(r, -ENOTSOCK, AGENT " does not name a socket",
			"start an agent with: eval \"$(ssh-agent)\" && ssh-add");
	if (st.st_uid != geteuid())
		return run_ssh_agent_refuse(r, -EPERM, "the agent's socket belongs to another user",
			"start an agent of your own with: eval \"$(ssh-agent)\" && ssh-add");
	return 0;
}

static int run_ssh_agent_address(const char *path, struct sockaddr_un *ret)
{
	*ret = (struct sockaddr_un){ .sun_family = AF_UNIX };
	if (strlen(path) >= sizeof(ret->sun_path))
		return -ENAMETOOLONG;
	memcpy(ret->sun_path, path, strlen(path));
	return 0;
}

static int run_ssh_agent_connect(struct run *r, int *ret)
{
	auto_fd s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
	struct sockaddr_un address;
	struct planted found;
	int err = run_ssh_agent_find(r, &found);

	if (err < 0)
		return err;
	err = run_ssh_agent_address(found.real, &address);
	if (err == 0 &&
		(s < 0 || connect(s, (const struct sockaddr *)&address, sizeof(address)) < 0))
		err = -errno;
	if (err < 0)
		return error_set(r->call->error, err, NULL,
			"--ssh-agent: cannot connect to the agent at %s: %s", found.real,
			strerror(-err));
	*ret = fd_take(&s);
	return 0;
}

/* A socket for the sandbox */

/* Whether what is in this folder is granted, but for what the command line adds. */
static int run_ssh_agent_is_granted(struct run *r, const char *folder, bool *ret)
{
	const char *probe = arena_printf(r->call->arena, "%s/.corral-probe", folder);
	const struct policy_options options = load_options(&r->load);
	struct policy *policy = NULL;
	int err;

	if (!probe)
		return error_no_memory(r->call->error);
	*ret = r->mode;
	if (*ret)
		return 0;
	err = policy_new(&policy, (const struct permissions *const *)r->base, r->n_base, &options,
		r->call->error);
	if (err < 0)
		return err;
	*ret = policy_allows(policy, &(struct request){ .op = OPERATION_FS_READ, .target = probe });
	policy_free(policy);
	return 0;
}

/* XDG_RUNTIME_DIR, if it is a folder of the user's alone. */
static bool run_ssh_agent_runtime(char real[PATH_BYTES])
{
	const char *runtime = getenv("XDG_RUNTIME_DIR");
	struct stat st;

	return runtime && runtime[0] == '/' && links_follow(runtime, NULL, NULL, real) == 0 &&
	       stat(real, &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == geteuid() &&
	       (st.st_mode & 022) == 0;
}

/*
 * A folder that no command sees: another one that may write there would put its own socket in the
 * place of ours, and have what this one asks for. So never /tmp. In a folder that is granted,
 * nothing of a hidden one can be shown: then it is beside that one.
 */
static int run_ssh_agent_place(struct run *r, const char **ret_folder, const char **ret_name)
{
	char real[PATH_BYTES];
	bool is_granted = false;
	int err = 0;

	*ret_name = "ssh";
	if (!run_ssh_agent_runtime(real)) {
		*ret_folder = profile_state_folder(r->call);
		return 0;
	}
	err = run_ssh_agent_is_granted(r, real, &is_granted);
	if (is_granted)
		*ret_name = "corral-ssh";
	*ret_folder = arena_printf(r->call->arena, "%s%s", real, is_granted ? "" : "/corral");
	return err;
}

static int run_ssh_agent_make_folder(struct run *r, char **ret)
{
	const char *place = NULL, *name = NULL;
	struct error *e = r->call->error;
	char real[PATH_BYTES];
	struct stat st;
	int err = run_ssh_agent_place(r, &place, &name);

	if (err < 0)
		return err;
	err = place ? file_make_folders(place) : -ENOENT;
	if (err == 0)
		err = links_follow(place, NULL, NULL, real);
	if (err == 0 && lstat(real, &st) < 0)
		err = -errno;
	if (err == 0 && (!S_ISDIR(st.st_mode) || st.st_uid != geteuid() || st.st_mode & 022))
		err = -EPERM;
	*ret = err == 0 ? arena_printf(r->call->arena, "%s/%s-XXXXXX", real, name) : NULL;
	if (err == 0 && !*ret)
		return error_no_memory(e);
	if (err == 0 && !mkdtemp(*ret))
		err = -errno;
	if (err < 0) {
		(void)error_set(e, err, NULL,
			"--ssh-agent: cannot make a folder of your own for its socket in %s: %s",
			place ? place : "Corral's state", strerror(-err));
		error_hint(e, "set XDG_RUNTIME_DIR to a folder of your own: mkdir -m 700 FOLDER");
	}
	return err;
}

static int run_ssh_agent_listen(struct run *r, int *ret)
{
	auto_fd s = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
	struct run_ssh *a = &r->ssh;
	struct sockaddr_un address;
	char *folder = NULL;
	int err = run_ssh_agent_make_folder(r, &folder);

	if (err < 0)
		return err;
	a->folder = folder;
	a->path = arena_printf(r->call->arena, "%s/agent", folder);
	if (!a->path)
		return error_no_memory(r->call->error);
	err = run_ssh_agent_address(a->path, &address);
	if (err == 0 && (s < 0 || bind(s, (const struct sockaddr *)&address, sizeof(address)) < 0 ||
				listen(s, SSH_AGENT_BACKLOG) < 0))
		err = -errno;
	if (err < 0) {
		(void)error_set(r->call->error, err, NULL, "--ssh-agent: cannot listen at %s: %s",
			a->path, strerror(-err));
		if (err == -ENAMETOOLONG)
			error_hint(r->call->error, "set XDG_RUNTIME_DIR to a shorter path");
		return err;
	}
	*ret = fd_take(&s);
	return 0;
}

/* The keys of hosts */

static int run_ssh_agent_add(
	struct run *r, const char *option, struct options_list *to, const char *text)
{
	const struct options_row row = { .is = { .name = option }, .target = to };

	return text ? options_list(r->call, &row, text) : error_no_memory(r->call->error);
}

static int run_ssh_agent_read_hosts(
	struct run *r, const char *path, struct ssh_setup *s, struct buffer *data)
{
	struct planted found;
	int err = planted_find(path, r->load.variables.values[VARIABLE_HOME], &found);

	if (err == -ENOENT || err == -ENOTDIR)
		return 0;
	if (err > 0) {
		(void)error_set(r->call->error, -EPERM, NULL,
			"--ssh-agent: %s leads to %s by the link %s, which an earlier command "
			"could have made",
			path, found.real, found.link);
		error_hint(r->call->error, "keep the file itself there");
		return -EPERM;
	}
	if (err == 0)
		err = file_read_regular(found.real, SSH_FILES_BYTES_MAX, data);
	if (err == -ENOENT)
		return 0;
	if (err < 0)
		return error_set(
			r->call->error, err, NULL, "--ssh-agent: %s: %s", path, file_words(err));
	s->files[s->n_files++] = (struct ssh_file){ path, buffer_text(data), data->len };
	r->ssh.hosts[r->ssh.n_hosts++] = path;
	return 0;
}

static int run_ssh_agent_send_setup(struct run *r)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const char *const paths[SSH_FILES_MAX] = {
		home ? arena_printf(r->call->arena, "%s/.ssh/known_hosts", home) : NULL,
		home ? arena_printf(r->call->arena, "%s/.ssh/known_hosts2", home) : NULL,
		"/etc/ssh/ssh_known_hosts",
		"/etc/ssh/ssh_known_hosts2",
	};
	const struct run_options *o = &r->options;
	struct buffer data[SSH_FILES_MAX] = { { 0 } };
	auto_buffer body = { 0 };
	struct ssh_setup s = { .n_logins = o->ssh_logins.n, .n_namespaces = o->ssh_signs.n };
	int err = s.n_logins > SSH_GRANTS_MAX || s.n_namespaces > SSH_GRANTS_MAX ? -E2BIG : 0;

	for (size_t i = 0; err == 0 && i < s.n_logins; i++)
		s.logins[i] = o->ssh_logins.items[i];
	for (size_t i = 0; err == 0 && i < s.n_namespaces; i++)
		s.namespaces[i] = o->ssh_signs.items[i];
	for (size_t i = 0; err == 0 && s.n_logins > 0 && i < ROWS(paths); i++)
		if (paths[i])
			err = run_ssh_agent_read_hosts(r, paths[i], &s, &data[i]);
	if (err == 0)
		err = ssh_setup_encode(&s, &body);
	if (err == 0)
		err = frame_send(
			r->ssh.agent.socket, FRAME_SSH_SETUP, 0, body.data, body.len, NULL, 0);
	for (size_t i = 0; i < ROWS(data); i++)
		buffer_deinit(&data[i]);
	if (err == -E2BIG && !r->call->error->text[0])
		return error_set(r->call->error, err, NULL,
			"--ssh-agent: at most %d logins and %d namespaces can be named, and "
			"known_hosts has at most %d MiB",
			SSH_GRANTS_MAX, SSH_GRANTS_MAX, SSH_FILES_BYTES_MAX >> 20);
	return err;
}

/* The filter */

static const char *run_ssh_agent_program(void)
{
	const char *path = secure_getenv("CORRAL_SSH_AGENT");

	return path && *path ? path : CORRAL_SSH_AGENT_PATH;
}

static int run_ssh_agent_start(struct run *r)
{
	const char *const argv[] = { "corral-ssh-agent", NULL };
	const char *program = run_ssh_agent_program();
	struct error *e = r->call->error;
	auto_fd agent = -1, listener = -1;
	int err = run_ssh_agent_connect(r, &agent);

	if (err == 0)
		err = run_ssh_agent_listen(r, &listener);
	if (err < 0)
		return err;
	err = child_start_with(
		&r->ssh.agent, program, argv, NULL, (const int[]){ listener, agent }, 2);
	if (err < 0) {
		(void)error_set(e, err, NULL, "cannot start %s: %s", program, strerror(-err));
		error_hint(e, "install OpenSSL, and Corral completely: the program is a part of "
			      "it");
	}
	return err;
}

static int run_ssh_agent_wait(struct run *r)
{
	struct error *e = r->call->error;
	struct frame *f = &ssh_agent_frame;
	struct refusal why;
	int got = wait_for_one(r->ssh.agent.socket, POLLIN, wait_until(SSH_AGENT_MS)) == 0
			  ? -ETIMEDOUT
			  : frame_receive(r->ssh.agent.socket, f);

	if (got == 1 && f->type == FRAME_READY)
		return 0;
	if (got == 1 && f->type == FRAME_FAILED && refusal_decode(&why, f->body, f->len) == 0) {
		(void)error_set(e, -why.error, NULL, "--ssh-agent: %s", why.text);
		error_hint(e, "%s", why.hint);
		return -why.error;
	}
	return error_set(e, got < 0 ? got : -EPROTO, NULL, "--ssh-agent: corral-ssh-agent: %s",
		got < 0 ? strerror(-got) : "it ended");
}

static int run_ssh_agent_grant(struct run *r)
{
	struct run_options *o = &r->options;
	struct arena *a = r->call->arena;
	int err =
		run_ssh_agent_add(r, "ssh-agent", &o->net, arena_printf(a, "unix:%s", r->ssh.path));

	if (err == 0)
		err = run_ssh_agent_add(
			r, "ssh-agent", &o->env, arena_printf(a, AGENT "=%s", r->ssh.path));
	for (size_t i = 0; err == 0 && i < o->ssh_logins.n; i++)
		err = run_ssh_agent_add(
			r, "ssh-agent", &o->net, strrchr(o->ssh_logins.items[i], '@') + 1);
	return err;
}

int run_ssh_agent(struct run *r)
{
	int err;

	if (r->options.ssh_logins.n == 0 && r->options.ssh_signs.n == 0)
		return 0;
	err = run_ssh_agent_start(r);
	if (err == 0)
		err = run_ssh_agent_send_setup(r);
	if (err == 0)
		err = run_ssh_agent_wait(r);
	if (err == 0)
		err = run_ssh_agent_grant(r);
	if (err < 0 && !r->call->error->text[0])
		(void)error_set(r->call->error, err, NULL, "--ssh-agent: %s", strerror(-err));
	return err;
}

/*
 * ssh inside looks at known_hosts, too. Where the home is granted as a whole, its folder is hidden,
 * and nothing in it can be shown: ssh asks about the host then, and the agent still knows its key.
 */
int run_ssh_agent_show(struct run *r)
{
	const char *home = r->load.variables.values[VARIABLE_HOME];
	bool is_granted = false;
	int err = 0;

	if (r->ssh.n_hosts == 0 || !home)
		return 0;
	err = run_ssh_agent_is_granted(r, home, &is_granted);
	for (size_t i = 0; err == 0 && !is_granted && i < r->ssh.n_hosts; i++)
		err = run_grants_show(r, r->ssh.hosts[i]);
	return err;
}

/* While it runs */

int run_ssh_agent_serve(struct run *r)
{
	const uint32_t peer = (uint32_t)session_relay_pid(r->session);
	int err = 0;

	if (r->ssh.agent.pid > 0)
		err = frame_send(
			r->ssh.agent.socket, FRAME_SSH_PEER, 0, &peer, sizeof(peer), NULL, 0);
	return err < 0 ? error_set(
				 r->call->error, err, NULL, "corral-ssh-agent: %s", strerror(-err))
		       : 0;
}

int run_ssh_agent_fd(const struct run *r)
{
	return r->ssh.agent.pid > 0 ? r->ssh.agent.socket : -1;
}

/* A refusal, once: how often there is one is the command's choice. */
static void run_ssh_agent_tell(
	struct run *r, const struct run_stdio *s, const struct audit_event *e)
{
	auto_output o = output_for(STDERR_FILENO);
	struct run_ssh *a = &r->ssh;

	output_note(&o);
	buffer_adds(&o.text, "the ssh agent refused ");
	output_foreign(&o, e->target);
	buffer_adds(&o.text, ": ");
	output_foreign(&o, e->reason);
	buffer_addc(&o.text, '\n');
	for (size_t i = 0; i < a->n_told; i++)
		if (strcmp(a->told[i], buffer_text(&o.text)) == 0)
			return;
	if (a->n_told == RUN_SSH_TOLD || r->options.json || r->is_round)
		return;
	a->told[a->n_told] = arena_strdup(r->call->arena, buffer_text(&o.text));
	if (!a->told[a->n_told])
		return;
	a->is_said[a->n_told++] = !run_stdio_is_drawn(s);
	if (!run_stdio_is_drawn(s))
		run_stdio_say(s, buffer_text(&o.text));
}

void run_ssh_agent_dispatch(struct run *r, const struct run_stdio *s)
{
	struct frame *f = &ssh_agent_frame;
	struct audit_event e;
	int got = frame_receive(r->ssh.agent.socket, f);

	if (got == -EAGAIN || got == -EINTR || (got == 0 && r->ssh.is_ending))
		return;
	if (got != 1 || f->type != FRAME_EVENT || audit_event_decode(&e, f->body, f->len) < 0) {
		child_end(&r->ssh.agent);
		run_audit_own(r, (struct audit_event){ .action = AUDIT_SERVICE,
					 .target = "ssh.agent",
					 .decision = AUDIT_FAILED,
					 .reason = "corral-ssh-agent ended" });
		return;
	}
	run_audit_call(r, f->body, f->len, 0);
	if (e.decision != AUDIT_ALLOWED)
		run_ssh_agent_tell(r, s, &e);
}

void run_ssh_agent_finish(struct run *r, const struct run_stdio *s)
{
	const uint64_t until = wait_until(SSH_AGENT_END_MS);
	char byte;

	if (r->ssh.agent.pid <= 0)
		return;
	/* It hears of the end, says what it has counted, and hangs up. */
	r->ssh.is_ending = true;
	(void)shutdown(r->ssh.agent.socket, SHUT_WR);
	while (r->ssh.agent.pid > 0 && wait_for_one(r->ssh.agent.socket, POLLIN, until) > 0 &&
		recv(r->ssh.agent.socket, &byte, 1, MSG_PEEK | MSG_DONTWAIT) > 0)
		run_ssh_agent_dispatch(r, s);
	child_end(&r->ssh.agent);
}

void run_ssh_agent_tell_rest(const struct run *r, struct output *o)
{
	for (size_t i = 0; i < r->ssh.n_told; i++)
		if (!r->ssh.is_said[i])
			buffer_adds(&o->text, r->ssh.told[i]);
}

void run_ssh_agent_end(struct run *r)
{
	child_end(&r->ssh.agent);
	if (r->ssh.path)
		(void)unlink(r->ssh.path);
	if (r->ssh.folder)
		(void)rmdir(r->ssh.folder);
	frame_deinit(&ssh_agent_frame);
}
