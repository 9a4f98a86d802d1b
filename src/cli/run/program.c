/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a program was not run. Inside, what is not granted looks absent; a person wants to know
 * whether the program is missing or forbidden, so the host is looked at, and the policy is asked
 * about what is found there: 126 if the policy forbids it, 127 only if there is nothing to run.
 */
#include <errno.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/policy/ask.h"
#include "cli/output.h"
#include "cli/policy/report.h"
#include "cli/run/run.h"
#include "launch/program.h"
#include "policy/explain.h"

/* The option that would have helped, if there is one. */
static const char *remedy(const struct judged *j)
{
	switch (j->decision.why) {
	case DECISION_UNREADABLE:
		return "--read";
	case DECISION_NO_GRANT:
		return "--exec";
	default:
		return NULL;
	}
}

/* At length, as `policy explain` does. */
static void run_program_explain(struct run *r, struct ask *a, const char *path)
{
	const char *option = remedy(a->judgement.deciding);
	auto_output o = output_for(STDERR_FILENO);

	output_styled(&o, OUTPUT_RED, "corral:");
	buffer_adds(&o.text, " the policy does not let ");
	output_foreign(&o, path);
	buffer_adds(&o.text, " run\n\n");
	report_explain(&o, a, r->call->arena);
	if (option) {
		buffer_printf(&o.text, "\nOr for this once: corral %s %s ",
			r->is_shell ? "shell" : "run", option);
		output_foreign(&o, a->judgement.deciding->request.target);
		buffer_adds(&o.text, " …\n");
	}
	(void)output_write(&o, STDERR_FILENO, NULL);
}

/* For the record. */
static void run_program_note(struct run *r, const struct judged *item)
{
	auto_buffer rule = { 0 }, reason = { 0 };

	explain_rule(&item->decision, &rule);
	judge_reason(item, &reason);
	r->audit.rule = arena_strdup(r->call->arena, buffer_text(&rule));
	r->audit.reason = arena_strdup(r->call->arena, buffer_text(&reason));
}

/* Asks the policy about a program. 0 if it may run. */
static int run_program_judge(
	struct run *r, const char *path, const char *const *args, size_t n_args)
{
	struct ask a = {
		.request = { .op = OPERATION_EXEC, .target = path, .args = args, .n_args = n_args },
		.is_whole = true,
		.policy = r->policy,
	};
	struct judge j = { .call = r->call, .policy = r->policy, .variables = &r->load.variables };
	struct judged item = { .text = path };
	int ret = judge_program(&j, &a.request, &item);

	if (ret < 0 || item.verdict == VERDICT_ALLOW)
		return ret;
	run_program_note(r, &item);
	ret = judge_add(&j, &a.judgement, &item);
	if (ret < 0)
		return ret;
	a.judgement.deciding = &item;
	a.load.variables = r->load.variables;
	run_program_explain(r, &a, path);
	return RUN_FORBIDDEN;
}

/* Errors of execve() itself, as opposed to all that can go wrong before it. */
static bool is_about_file(int error)
{
	return error == ENOENT || error == EACCES || error == EPERM || error == ENOEXEC ||
	       error == ENOTDIR || error == EISDIR || error == ELOOP || error == ETXTBSY;
}

static int run_program_tell(struct run *r, const struct refusal *refusal)
{
	(void)error_set(r->call->error, -refusal->error, NULL, "%s", refusal->text);
	if (refusal->hint && *refusal->hint)
		error_hint(r->call->error, "%s", refusal->hint);
	return is_about_file(refusal->error) ? RUN_FORBIDDEN : RUN_FAILED;
}

int run_refused(struct run *r, const struct refusal *refusal)
{
	struct launch_program p = { .policy = r->policy,
		.argv = r->argv,
		.env = r->env,
		.host_path = getenv("PATH"),
		.cwd = r->cwd };
	int ret;

	if (!is_about_file(refusal->error))
		return run_program_tell(r, refusal);
	switch (launch_program_why(&p)) {
	case LAUNCH_ALLOWED:
		break;
	case LAUNCH_NOT_FOUND:
		(void)error_set(
			r->call->error, -ENOENT, NULL, "%s: there is no such program", p.path);
		return RUN_NOT_FOUND;
	case LAUNCH_NOT_EXECUTABLE:
		(void)error_set(r->call->error, -EACCES, NULL, "%s is not executable", p.path);
		return RUN_FORBIDDEN;
	case LAUNCH_FORBIDDEN:
		ret = run_program_judge(r, p.path, p.request.args, p.request.n_args);
		return ret < 0 ? RUN_FAILED : ret ? ret : run_program_tell(r, refusal);
	}
	return run_program_tell(r, refusal);
}
