/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "cli/output.h"
#include "cli/profile/profile.h"
#include "cli/run/internal.h"
#include "host/resolver.h"
#include "launch/inside.h"
#include "launch/program.h"

/* The program that will be started, as a file; false: it is not known, and runs only by its name.
 */
bool run_inside_find(const struct run *r, char out[PATH_BYTES])
{
	const char *name = r->argv[0], *path = NULL;

	if (!strchr(name, '/'))
		return resolver_find(name, out) == 0 ||
		       launch_program_in(getenv("PATH"), name, out);
	if (load_absolute(r->call, name, &path) < 0 || strlen(path) >= PATH_BYTES)
		return false;
	memcpy(out, path, strlen(path) + 1);
	return true;
}

/* It is allowed with its arguments: then it is allowed inside, and nothing else by that rule. */
static bool run_inside_is_allowed(const struct run *r, const char *program)
{
	const struct request request = { .op = OPERATION_EXEC,
		.target = program,
		.args = (const char *const *)r->argv + 1,
		.n_args = r->n_argv - 1 };

	return policy_allows(r->policy, &request);
}

static int run_inside_tell(struct run *r)
{
	auto_output o = output_for(STDERR_FILENO);
	auto_buffer names = { 0 };
	bool found = false;

	for (size_t i = 0; i < r->n_layers; i++)
		found = launch_inside_unheld(r->layers[i], &names) || found;
	if (!found)
		return names.failed ? error_no_memory(r->call->error) : 0;
	if (r->options.strict) {
		(void)error_set(r->call->error, -EOPNOTSUPP, NULL,
			"--strict: these rules are enforced for the command but not for its "
			"child processes: %s",
			buffer_text(&names));
		error_hint(r->call->error, "write programs without arguments and hosts without "
					   "URL paths, or omit --strict");
		return -EOPNOTSUPP;
	}
	output_note(&o);
	buffer_adds(&o.text, "rules enforced for the command but not for its child processes: ");
	output_foreign(&o, buffer_text(&names));
	buffer_addc(&o.text, '\n');
	return r->options.json ? 0 : output_write(&o, STDERR_FILENO, NULL);
}

/* The system's folders */

static bool run_inside_has_shield(const struct permissions *p)
{
	bool found = p->is_shield;

	for (size_t i = 0; !found && i < p->n_all_of; i++)
		found = run_inside_has_shield(p->all_of[i]);
	return found;
}

/*
 * AgenShield's rules are about what its broker is asked for, and its agents run on the host: no
 * file lists what a program needs to start. So in the jail such a layer lets read what the built-in
 * profile has of the system, below every rule and above what is denied for want of one.
 */
static int run_inside_add_system(struct permissions *p, const struct grant_list *folders)
{
	const struct rule rule = { .id = "system",
		.action = VERDICT_ALLOW,
		.priority = INT32_MIN + 1, /* as what a constraint leaves to the default */
		.operations = 1u << OPERATION_FS_READ,
		.patterns = *folders };
	int r = p->is_shield ? permissions_add_rule(p, &rule) : 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = run_inside_add_system(p->all_of[i], folders);
	return r;
}

static int run_inside_copy(struct run *r, size_t i, const char *program)
{
	auto_permissions *profile = profile_builtin("workspace");

	r->inside[i] = launch_inside_matters(r->layers[i]) ? launch_inside(r->layers[i], program)
							   : permissions_copy(r->layers[i]);
	if (!profile || !r->inside[i] || run_inside_add_system(r->inside[i], &profile->fs_read) < 0)
		return error_no_memory(r->call->error);
	return 0;
}

int run_inside(struct run *r)
{
	struct policy_options options = load_options(&r->load);
	bool matters = false, allowed;
	char program[PATH_BYTES];
	int ret = run_inside_tell(r);

	for (size_t i = 0; i < r->n_layers; i++)
		matters = matters || launch_inside_matters(r->layers[i]) ||
			  run_inside_has_shield(r->layers[i]);
	if (ret < 0 || !matters)
		return ret;
	allowed = run_inside_find(r, program) && run_inside_is_allowed(r, program);
	for (size_t i = 0; ret == 0 && i < r->n_layers; i++)
		ret = run_inside_copy(r, i, allowed ? program : NULL);
	if (ret < 0)
		return ret;
	options.opened = policy_opened(r->policy, &options.n_opened);
	return policy_new(&r->inside_policy, (const struct permissions *const *)r->inside,
		r->n_layers, &options, r->call->error);
}

void run_inside_deinit(struct run *r)
{
	policy_free(r->inside_policy);
	for (size_t i = 0; i < r->n_layers; i++)
		permissions_free(r->inside[i]);
}
