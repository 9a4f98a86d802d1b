/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Why a program was not run. Inside, what is not granted looks absent; a person wants to know
 * whether the program is missing or forbidden, so the host is looked at, and the policy is asked
 * about what is found there: 126 if the policy forbids it, 127 only if there is nothing to run.
 */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/path.h"
#include "base/shebang.h"
#include "cli/policy/ask.h"
#include "cli/output.h"
#include "cli/policy/report.h"
#include "cli/run/run.h"
#include "host/resolver.h"
#include "policy/explain.h"

static bool is_file(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0 && S_ISREG(st.st_mode);
}

bool run_find_in(const char *list, const char *name, char out[PATH_BYTES])
{
	while (list && *list) {
		size_t len = strcspn(list, ":");
		int n = len && list[0] == '/'
				? snprintf(out, PATH_BYTES, "%.*s/%s", (int)len, list, name)
				: 0;

		if (n > 0 && n < PATH_BYTES && is_file(out) && access(out, X_OK) == 0)
			return true;
		list += len;
		list += *list == ':';
	}
	return false;
}

static const char *path_inside(const struct run *r)
{
	for (size_t i = 0; i < r->n_env; i++) {
		if (strncmp(r->env[i], "PATH=", 5) == 0)
			return r->env[i] + 5;
	}
	return NULL;
}

/* The file on the host that the command's first word stands for. */
static bool run_program_find(const struct run *r, const char *name, char out[PATH_BYTES])
{
	char joined[2 * PATH_BYTES];
	size_t len;

	if (strchr(name, '/')) {
		int n = snprintf(joined, sizeof(joined), "%s%s%s", name[0] == '/' ? "" : r->cwd,
			name[0] == '/' ? "" : "/", name);

		return n < (int)sizeof(joined) &&
		       path_normalize(joined, (size_t)n, out, &len) == 0 && is_file(out);
	}
	return run_find_in(path_inside(r), name, out) || resolver_find(name, out) == 0 ||
	       run_find_in(getenv("PATH"), name, out);
}

static bool run_program_script(const char *path, struct shebang *ret)
{
	auto_fd fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);

	return fd >= 0 && shebang_read(ret, fd) == 0;
}

static int not_found(struct run *r, const char *what)
{
	(void)error_set(r->call->error, -ENOENT, NULL, "%s: there is no such program", what);
	return RUN_NOT_FOUND;
}

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
	char path[PATH_BYTES];
	struct shebang s;
	int ret;

	if (!is_about_file(refusal->error))
		return run_program_tell(r, refusal);
	if (!run_program_find(r, r->argv[0], path))
		return not_found(r, r->argv[0]);
	ret = run_program_judge(r, path, r->argv + 1, r->n_argv - 1);
	if (ret != 0)
		return ret < 0 ? RUN_FAILED : ret;
	if (access(path, X_OK) < 0) {
		(void)error_set(r->call->error, -EACCES, NULL, "%s is not executable", path);
		return RUN_FORBIDDEN;
	}
	if (!run_program_script(path, &s))
		return run_program_tell(r, refusal);
	if (!is_file(s.program))
		return not_found(r, s.program);
	ret = run_program_judge(r, s.program, NULL, 0);
	return ret < 0 ? RUN_FAILED : ret ? ret : run_program_tell(r, refusal);
}
