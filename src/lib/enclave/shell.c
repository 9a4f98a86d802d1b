/* SPDX-License-Identifier: Apache-2.0 */
/*
 * shell_exec: a command with its arguments, judged as a whole and run in a sandbox of what is
 * granted.
 *
 * It is started under the lock, after one more look at the policy. So a command never starts by a
 * grant that was taken back, and its sandbox has the policy that it was judged by: a change comes
 * before both or after both. Waiting for its end needs no lock.
 *
 * Only the program may be asked about. An answer about a folder or a variable would have to hold
 * inside the sandbox too, for all that runs there and not for this call only.
 */
#include "lib/enclave/shell.h"

#include <errno.h>
#include <string.h>

#include "lib/enclave/sandbox.h"
#include "lib/api/handles.h"

/* Telling */

/* What the jail and the relay refused, with who it was that had the command run. */
static void tell_denials(const struct enclave_call *c, const struct corral_result *result)
{
	for (size_t i = 0; i < corral_result_denials(result); i++)
		corral_audit_sandbox(c->enclave->audit,
			&(struct corral_event){ .size = sizeof(struct corral_event),
				.kind = CORRAL_EVENT_DENIED,
				.pid = c->pid,
				.actor = c->actor,
				.program = c->target,
				.message = "",
				.denial = corral_result_denial(result, i) });
}

static void enclave_shell_tell_limit(
	const struct enclave_call *c, bool reached, enum limit which, const char *why)
{
	struct enclave_call about = *c;

	if (!reached)
		return;
	about.action = AUDIT_LIMIT;
	about.target = limit_name(which);
	enclave_tell(&about, AUDIT_DENIED, NULL, why);
}

static void enclave_shell_tell_end(const struct enclave_call *c, const struct corral_result *result)
{
	int signal = corral_result_signal(result);
	const struct audit_event event = {
		.pid = c->pid,
		.program = c->actor,
		.action = AUDIT_COMMAND_END,
		.target = c->target,
		.reason = corral_result_killed(result) ? "it was killed" : NULL,
		.exact = true,
		.cost_ns = corral_result_duration_us(result) * 1000,
		.sent = corral_result_stdout_bytes(result) + corral_result_stderr_bytes(result),
		.received = c->received,
		.status = signal ? -signal : corral_result_exit_code(result),
	};

	tell_denials(c, result);
	enclave_shell_tell_limit(c, corral_result_timed_out(result), LIMIT_TIMEOUT_MS,
		"the command was ended, its time was over");
	enclave_shell_tell_limit(c, corral_result_out_of_memory(result), LIMIT_MEMORY,
		"the command used more memory than it may");
	enclave_shell_tell_limit(c, corral_result_too_many_pids(result), LIMIT_PIDS,
		"the command wanted more processes than it may have");
	(void)audit_trail_add(c->enclave->trail, &event);
}

/* It was permitted, and did not come to be. */
static int enclave_shell_fail(struct enclave_call *c, int code, const struct corral_error *e)
{
	const struct corral_denial *d = corral_error_denial(e);

	enclave_tell(c, d ? AUDIT_DENIED : AUDIT_FAILED, d ? d->rule : NULL,
		d ? d->reason : corral_error_message(e));
	return code;
}

/* Running */

/* 1: the policy of now does not permit it any more. */
static int start_locked(const struct enclave_shell *s, struct enclave_sandbox **ret_sandbox,
	struct corral_process **ret, struct corral_error **e)
{
	const char *const *argv = s->argv;
	int r;

	if (enclave_look(&s->c, s->requests, s->n_requests) <
		(s->c.approved ? VERDICT_ASK : VERDICT_ALLOW))
		return 1;
	r = enclave_sandbox_get(s->c.enclave, argv, ret_sandbox, e);
	return r < 0 ? r : corral_process_start(ret, (*ret_sandbox)->sandbox, argv, &s->call, e);
}

/* e is not NULL. */
static int enclave_shell_run(
	struct enclave_shell *s, struct corral_result **ret, struct corral_error **e)
{
	struct enclave_sandbox *sandbox = NULL;
	struct corral_process *p = NULL;
	int r;

	s->c.action = AUDIT_COMMAND_START;
	(void)pthread_mutex_lock(&s->c.enclave->lock);
	r = start_locked(s, &sandbox, &p, e);
	if (r == 0)
		enclave_tell(
			&s->c, AUDIT_ALLOWED, s->c.rule, s->c.approved ? "somebody agreed" : NULL);
	(void)pthread_mutex_unlock(&s->c.enclave->lock);
	if (r == 1)
		r = enclave_refuse(&s->c, -EACCES, e, "it was taken back in the meantime");
	else if (r < 0)
		r = enclave_shell_fail(&s->c, r, *e);
	if (p) {
		s->c.action = AUDIT_COMMAND_END;
		r = corral_process_wait(p, -1, ret, e);
		corral_process_free(p);
		if (r < 0)
			(void)enclave_shell_fail(&s->c, r, *e);
	}
	if (sandbox)
		enclave_sandbox_unref(sandbox);
	return r;
}

/* What a folder or a variable is asked for, nobody can agree to. */
static int enclave_shell_permit(struct enclave_shell *s, struct corral_error **e)
{
	size_t before = s->n_requests - 1;

	if (before && enclave_look(&s->c, s->requests, before) == VERDICT_ASK)
		return enclave_refuse(&s->c, -EACCES, e,
			"permission denied: its folder and its variables must be granted, and "
			"the policy says \"ask\"");
	return enclave_permit(&s->c, s->requests, s->n_requests, e);
}

/*
 * What the command is given must not be in the log, in whatever text: nor in the question whether
 * it may run.
 */
static int enclave_shell_keep_secrets(const struct enclave_shell *s)
{
	int r = 0;

	for (size_t i = 0; r == 0 && s->call.env && s->call.env[i]; i++) {
		auto_arena scratch = { 0 };
		const char *equals = strchr(s->call.env[i], '=');
		const char *name =
			arena_strndup(&scratch, s->call.env[i], (size_t)(equals - s->call.env[i]));

		r = name ? audit_trail_secret(s->c.enclave->trail, name, equals + 1) : -ENOMEM;
	}
	return r;
}

static int too_many_secrets(struct enclave_shell *s, struct corral_error **e)
{
	/* Its arguments may be these values. */
	s->c.target = s->argv[0];
	return enclave_refuse(&s->c, -E2BIG, e,
		"there were too many values of variables to keep them out of the log");
}

int corral_enclave_shell_exec(struct corral_enclave *enclave, const struct corral_by *by,
	const char *const *argv, const struct corral_call *call, struct corral_result **ret,
	struct corral_error **e)
{
	auto_enclave_shell s = { 0 };
	struct corral_result *result = NULL;
	struct corral_error *own = NULL;
	struct error error = { 0 };
	bool may_run;
	int r;

	enclave_begin(&s.c, enclave, by, AUDIT_EXEC, argv ? argv[0] : NULL);
	r = enclave_shell_read(&s, argv, call, &error);
	if (r < 0) {
		enclave_tell(&s.c, AUDIT_FAILED, NULL, error.text);
		return handles_error(e, &error, r);
	}
	/* Whoever is denied does not fill the log's memory of values. */
	may_run = enclave_look(&s.c, s.requests, s.n_requests) != VERDICT_DENY;
	if (may_run && enclave_shell_keep_secrets(&s) < 0)
		return too_many_secrets(&s, e);
	r = enclave_shell_permit(&s, e);
	if (r < 0)
		return r;
	/* The policy changed in between. */
	if (!may_run && enclave_shell_keep_secrets(&s) < 0)
		return too_many_secrets(&s, e);
	if (s.argv[0][0] != '/')
		return enclave_done(&s.c, -ENOENT, e);
	r = enclave_shell_run(&s, &result, e ? e : &own);
	corral_error_free(own);
	if (r < 0)
		return r;
	s.c.received = s.call.input_len;
	enclave_shell_tell_end(&s.c, result);
	if (ret)
		*ret = result;
	else
		corral_result_free(result);
	return 0;
}
