/* SPDX-License-Identifier: Apache-2.0 */
#include <unistd.h>

#include "cli/run/run.h"
#include "host/account.h"
#include "host/environment.h"

/* The folder for temporary files: the host's where that was granted, else one of its own. */
static const char *temp_folder(const struct run *r)
{
	const char *temp = r->load.variables.values[VARIABLE_TEMP];
	struct request request = { .op = OPERATION_FS_WRITE, .target = temp };
	struct decision decision;

	if (temp && policy_decide(r->policy, &request, &decision) == 0 &&
		decision.verdict == VERDICT_ALLOW)
		return temp;
	return NULL;
}

int run_environment(struct run *r, bool terminal)
{
	char user[ACCOUNT_NAME_BYTES];
	int out_of_memory = account_name("/etc/passwd", getuid(), user);
	const struct environment_options options = {
		.policy = r->policy,
		.host_env = (const char *const *)environ,
		.home = r->plan->home,
		.tmp = temp_folder(r),
		.cwd = r->cwd,
		.user = user,
		.tty = terminal,
	};

	if (out_of_memory)
		return error_set(r->call->error, out_of_memory, NULL, "out of memory");
	return environment_build(r->call->arena, &options, &r->env, &r->n_env, r->call->error);
}
