/* SPDX-License-Identifier: Apache-2.0 */
/*
 * --ssh-agent: the user's agent, for git and ssh inside, without its keys: short for
 * --net unix:SOCKET --env SSH_AUTH_SOCK=SOCKET. The variable is read once and its links are
 * followed here, so that the name which is granted is the one that was checked: a socket of this
 * user, and by no link that an earlier command could have made. The command then signs in as the
 * user, with any key that the agent has; a note says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/utf8.h"
#include "cli/output.h"
#include "cli/run/internal.h"
#include "host/planted.h"

#define AGENT "SSH_AUTH_SOCK"

static int run_ssh_agent_refuse(struct run *r, int code, const char *why, const char *hint)
{
	(void)error_set(r->call->error, code, NULL, "--ssh-agent: %s", why);
	error_hint(r->call->error, "%s", hint);
	return code;
}

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

static void run_ssh_agent_tell(const struct run *r, const char *path)
{
	auto_output o = output_for(STDERR_FILENO);

	if (r->options.json)
		return;
	output_note(&o);
	buffer_adds(&o.text, "--ssh-agent: the command can log in with every key of the agent at ");
	output_foreign(&o, path);
	buffer_adds(&o.text, "; `ssh-add -c` makes the agent ask you each time\n");
	(void)output_write(&o, STDERR_FILENO, NULL);
}

int run_ssh_agent(struct run *r)
{
	const struct options_row net = { .is = { .name = "ssh-agent" }, .target = &r->options.net },
				 env = { .is = { .name = "ssh-agent" }, .target = &r->options.env };
	const char *host, *variable;
	struct planted found;
	int ret;

	if (!r->options.ssh_agent)
		return 0;
	ret = run_ssh_agent_find(r, &found);
	if (ret < 0)
		return ret;
	host = arena_printf(r->call->arena, "unix:%s", found.real);
	variable = arena_printf(r->call->arena, AGENT "=%s", found.real);
	if (!host || !variable)
		return error_no_memory(r->call->error);
	ret = options_list(r->call, &net, host);
	if (ret == 0)
		ret = options_list(r->call, &env, variable);
	if (ret == 0)
		run_ssh_agent_tell(r, found.real);
	return ret;
}
