/* SPDX-License-Identifier: Apache-2.0 */
/*
 * exec.run: a program in a sandbox of the enclave. It is started by a thread, which may make the
 * sandbox first; from then on the loop hands on what it prints and waits for its end.
 *
 * With `stream`, output goes to the caller as notes. A caller that does not read them makes the
 * program wait, as a pipe would: nothing is read from it until there is room again.
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/clock.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "broker/monitor/lending.h"
#include "lib/enclave/share.h"
#include "policy/match/command.h"

enum {
	EXEC_RUNNING_MAX = 32,
	EXEC_OUTPUT_MAX = 2 << 20, /* of one stream, in an answer */
	EXEC_NOTE_MAX = 64 << 10,  /* bytes of one note */
	EXEC_TIMEOUT_MS = 30 * 1000,
};

/* Parameters, by the table. */
enum { COMMAND, ARGS, CWD, ENV, TIMEOUT, STDIN, ENCODING_, SHELL, STREAM };

/* Output that there was no room for. */
struct exec_chunk {
	struct exec_chunk *next;
	enum corral_stream stream;
	struct buffer data;
	size_t sent;
};

struct exec_call {
	struct monitor_call *call;
	const char **argv;
	const char **env; /* or NULL */
	char cwd[PATH_BYTES];
	struct corral_call how;
	int code;
	struct corral_error *error;
	struct corral_shell *shell;
	struct lending *lending; /* NULL: no secret was injected */
	struct watcher watcher;
	struct exec_chunk *first, *last;
	bool has_ended;
};

/* A shell that is not wanted any more: to end it may mean to wait for its sandbox. What was lent to
 * that ends after it. */
struct exec_leaving {
	struct pool_job job;
	struct corral_shell *shell;
	struct lending *lending;
};

static void exec_leave_work(struct pool_job *j)
{
	struct exec_leaving *l = container_of(j, struct exec_leaving, job);

	corral_shell_free(l->shell);
	lending_free(l->lending);
}

static void exec_leave_done(struct pool_job *j)
{
	free(container_of(j, struct exec_leaving, job));
}

static void exec_leave(struct monitor *m, struct corral_shell *shell, struct lending *lending)
{
	struct exec_leaving *l = shell || lending ? calloc(1, sizeof(*l)) : NULL;

	if (lending)
		lending_unwatch(lending);
	if (shell)
		(void)corral_shell_kill(shell);
	if (l) {
		l->job = (struct pool_job){
			.work = exec_leave_work, .done = exec_leave_done, .is_owed = lending
		};
		l->shell = shell;
		l->lending = lending;
		if (!m->is_ending && pool_add(m->pool, &l->job) == 0)
			return;
	}
	free(l);
	corral_shell_free(shell);
	lending_free(lending);
}

static void exec_free(struct monitor_call *c)
{
	struct exec_call *x = c->state;

	c->state = NULL;
	loop_remove(c->monitor->o.loop, &x->watcher);
	exec_leave(c->monitor, x->shell, x->lending);
	corral_error_free(x->error);
	while (x->first) {
		struct exec_chunk *next = x->first->next;

		buffer_deinit(&x->first->data);
		free(x->first);
		x->first = next;
	}
	free(x);
}

/* e is taken over. */
static void exec_fail(
	struct monitor_call *c, enum rpc_class class, int code, struct corral_error *e)
{
	exec_free(c);
	monitor_fail(c, class, code, e);
}

/* The end */

static void exec_answer(struct monitor_call *c, struct corral_result *result)
{
	enum { EXIT_CODE, OUT, ERR, SAYS, SIGNAL, TIMED_OUT, TRUNCATED };
	const int signal = corral_result_signal(result);
	const char *abbreviation = signal ? sigabbrev_np(signal) : NULL;
	struct values v = { 0 };
	char name[32];

	v.v[EXIT_CODE] = value_number(SCHEMA_NUMBER, (uint64_t)corral_result_exit_code(result));
	v.v[OUT].type = v.v[ERR].type = SCHEMA_DATA;
	v.v[OUT].text = corral_result_stdout(result, &v.v[OUT].len);
	v.v[ERR].text = corral_result_stderr(result, &v.v[ERR].len);
	if (signal) {
		int n = abbreviation ? snprintf(name, sizeof(name), "SIG%s", abbreviation)
				     : snprintf(name, sizeof(name), "signal %d", signal);

		v.v[SIGNAL] = value_text(name, (size_t)n);
	}
	if (corral_result_timed_out(result))
		v.v[TIMED_OUT] = value_number(SCHEMA_FLAG, 1);
	if (corral_result_stdout_truncated(result) || corral_result_stderr_truncated(result))
		v.v[TRUNCATED] = value_number(SCHEMA_FLAG, 1);
	exec_free(c);
	monitor_answer(c, &v);
	corral_result_free(result);
}

static void exec_finish(struct monitor_call *c)
{
	struct exec_call *x = c->state;
	struct corral_result *result = NULL;
	struct corral_error *e = NULL;
	int r = corral_shell_wait(x->shell, 0, &result, &e);

	if (r < 0)
		exec_fail(c, RPC_INTERNAL, r, e);
	else
		exec_answer(c, result);
}

/* Output */

/* -EAGAIN: there is no room now. */
static int exec_send_notes(struct exec_call *x)
{
	while (x->first) {
		struct exec_chunk *k = x->first;
		const size_t left = k->data.len - k->sent;
		const size_t n = left < EXEC_NOTE_MAX ? left : EXEC_NOTE_MAX;
		struct values v = { 0 };
		int r;

		v.v[0] = value_number(SCHEMA_CHOICE, k->stream == CORRAL_STDERR);
		v.v[1] = (struct value){
			.type = SCHEMA_DATA, .text = k->data.data + k->sent, .len = n
		};
		r = monitor_note(x->call, &v);
		if (r < 0)
			return r;
		k->sent += n;
		if (k->sent < k->data.len)
			continue;
		x->first = k->next;
		x->last = x->first ? x->last : NULL;
		buffer_deinit(&k->data);
		free(k);
	}
	return 0;
}

static int exec_on_output(void *context, enum corral_stream stream, const void *data, size_t len)
{
	struct exec_call *x = context;
	struct exec_chunk *k = x->last && x->last->stream == stream ? x->last : NULL;

	if (!k) {
		k = calloc(1, sizeof(*k));
		if (!k)
			return -ENOMEM;
		k->stream = stream;
		*(x->last ? &x->last->next : &x->first) = k;
		x->last = k;
	}
	buffer_add(&k->data, data, len);
	return k->data.failed ? -ENOMEM : 0;
}

/* After each dispatch, and when there is room again. */
static void exec_go_on(struct monitor_call *c)
{
	struct exec_call *x = c->state;
	int r = exec_send_notes(x);

	if (r < 0 && r != -EAGAIN)
		exec_fail(c, RPC_INTERNAL, r, NULL);
	else if (x->has_ended && r == 0)
		exec_finish(c);
	else
		(void)loop_change(
			c->monitor->o.loop, &x->watcher, r == 0 && !x->has_ended ? EPOLLIN : 0);
}

static void exec_on_ready(struct watcher *w, uint32_t events)
{
	struct exec_call *x = container_of(w, struct exec_call, watcher);
	int r = corral_shell_dispatch(x->shell);

	(void)events;
	if (r < 0) {
		exec_fail(x->call, RPC_INTERNAL, r, NULL);
		return;
	}
	x->has_ended = r == 1;
	exec_go_on(x->call);
}

/* The beginning */

static void exec_start_work(struct monitor_call *c)
{
	struct exec_call *x = c->state;

	const struct enclave_lending lending = { .text = x->lending ? lending_text(x->lending) : "",
		.lend = lending_start,
		.context = x->lending };

	x->code = enclave_shell_start(&x->shell, monitor_enclave(c->monitor), &c->by, x->argv,
		&x->how, x->lending ? &lending : NULL, &x->error);
}

/* Its secrets could not be lent, so it was not started. e is taken over. */
static bool exec_refuse_unlent(struct monitor_call *c, struct corral_error *e)
{
	const struct exec_call *x = c->state;
	const struct error *failure = x->lending ? lending_failure(x->lending) : NULL;
	struct rpc_refusal why = { .class = RPC_SERVICE, .message = "no secret could be lent" };

	if (!failure)
		return false;
	why.message = arena_strdup(&c->arena, failure->text);
	why.hint = failure->hint[0] ? arena_strdup(&c->arena, failure->hint) : NULL;
	if (!why.message)
		why.message = "out of memory";
	exec_free(c);
	corral_error_free(e);
	monitor_refuse(c, &why);
	return true;
}

static void exec_start_done(struct monitor_call *c)
{
	struct exec_call *x = c->state;
	struct corral_error *e = x->error;
	int r = x->code, fd;

	x->error = NULL;
	if (r < 0) {
		if (!exec_refuse_unlent(c, e))
			exec_fail(c, RPC_PATH, r, e);
		return;
	}
	fd = corral_shell_fd(x->shell);
	r = fd < 0 ? fd : loop_add(c->monitor->o.loop, &x->watcher, fd, EPOLLIN);
	if (r == 0 && x->lending)
		r = lending_watch(x->lending);
	if (r < 0)
		exec_fail(c, RPC_INTERNAL, r, NULL);
	else
		/* It may have said something before it was watched. */
		exec_on_ready(&x->watcher, EPOLLIN);
}

static int exec_read_words(struct monitor_call *c, struct exec_call *x)
{
	const struct value *p = c->call.params.v;

	x->argv = arena_calloc(&c->arena, p[ARGS].n + 2, sizeof(*x->argv));
	x->env = arena_calloc(&c->arena, p[ENV].n + 1, sizeof(*x->env));
	if (!x->argv || !x->env)
		return -ENOMEM;
	x->argv[0] = p[COMMAND].text;
	for (size_t i = 0; i < p[ARGS].n; i++)
		x->argv[i + 1] = p[ARGS].items[i].text;
	for (size_t i = 0; i < p[ENV].n; i++) {
		/* A name with = in it would be another variable than the one that is checked. */
		if (!p[ENV].items[i].key[0] || strchr(p[ENV].items[i].key, '='))
			return -EINVAL;
		x->env[i] =
			arena_printf(&c->arena, "%s=%s", p[ENV].items[i].key, p[ENV].items[i].text);
		if (!x->env[i])
			return -ENOMEM;
	}
	return 0;
}

static int exec_read(struct monitor_call *c, struct exec_call *x)
{
	const struct value *p = c->call.params.v;
	const char *folder = p[CWD].type == SCHEMA_NONE ? c->by.folder : p[CWD].text;
	int r = exec_read_words(c, x);

	if (r == 0 && folder)
		r = handlers_absolute(c, folder, x->cwd);
	x->how = (struct corral_call)CORRAL_CALL;
	x->how.cwd = folder ? x->cwd : NULL;
	x->how.env = p[ENV].n ? x->env : NULL;
	x->how.timeout_ms = p[TIMEOUT].number ? p[TIMEOUT].number : EXEC_TIMEOUT_MS;
	x->how.output_limit = EXEC_OUTPUT_MAX;
	x->how.input = p[STDIN].text;
	x->how.input_len = p[STDIN].len;
	if (p[STREAM].number) {
		x->how.output = exec_on_output;
		x->how.context = x;
	}
	return r;
}

/* Whether the session's limits leave anything for one more program. */
static bool exec_is_affordable(struct monitor_call *c, struct rpc_refusal *ret)
{
	const struct ledger *ledger = monitor_ledger(c->monitor);
	struct ledger_use all, others;

	if (!ledger)
		return true;
	all = ledger_limits(ledger);
	others = ledger_others(ledger, -1, clock_ms(CLOCK_MONOTONIC));
	*ret = (struct rpc_refusal){ .class = RPC_RATE,
		.hint = "wait until a program of this session has ended" };
	if (all.memory && others.memory >= all.memory)
		ret->message = "the limit of memory of this session is used up";
	else if (all.tasks && others.tasks >= all.tasks)
		ret->message = "the limit of pids of this session is used up";
	return !ret->message;
}

/* NULL: it may begin. `used_up` is room for a reason. */
static const struct rpc_refusal *exec_find_reason(
	struct monitor_call *c, struct rpc_refusal *used_up)
{
	static const struct rpc_refusal no_shell = { .class = RPC_PARAMS,
		.message = "shell must be false: a command is a program with its arguments",
		.hint = "call the shell itself: command \"sh\", args [\"-c\", LINE]" },
					too_many = { .class = RPC_RATE,
						.message = "too many programs of this broker run",
						.hint = "wait until one has ended" },
					too_many_lent = { .class = RPC_RATE,
						.message = "too many programs with injected "
							   "secrets run",
						.hint = "wait until one has ended" };

	if (c->call.params.v[SHELL].number)
		return &no_shell;
	if (!monitor_has_room(c, exec_free, EXEC_RUNNING_MAX))
		return &too_many;
	if (c->n_taken > 0 && c->monitor->secrets.n_lent >= LENDING_MAX)
		return &too_many_lent;
	return exec_is_affordable(c, used_up) ? NULL : used_up;
}

static struct lending *exec_borrow(const struct monitor_call *c)
{
	const struct lending_owner o = { .setup = monitor_setup(c->monitor),
		.audit = monitor_audit(c->monitor),
		.loop = c->monitor->o.loop,
		.n = &c->monitor->secrets.n_lent,
		.pid = c->call.pid };

	return lending_new(&o, c->taken, c->n_taken);
}

/* What was injected is the call's, also when it runs again after an answer. */
static int exec_take_secrets(struct monitor_call *c)
{
	if (c->has_taken)
		return 0;
	c->has_taken = true;
	return waiting_take(
		&c->monitor->secrets, c->call.connection, &c->arena, &c->taken, &c->n_taken);
}

static int exec_begin(struct monitor_call *c)
{
	struct exec_call *x = calloc(1, sizeof(*x));
	int r;

	if (!x)
		return -ENOMEM;
	x->call = c;
	x->watcher = (struct watcher){ .ready = exec_on_ready, .fd = -1 };
	c->state = x;
	c->cancel = exec_free;
	c->resume = exec_go_on;
	if (c->n_taken > 0)
		x->lending = exec_borrow(c);
	r = c->n_taken == 0 || x->lending ? exec_read(c, x) : -ENOMEM;
	if (r == 0)
		r = monitor_work(c, exec_start_work, exec_start_done);
	if (r < 0)
		exec_free(c);
	return r;
}

void exec_run(struct monitor_call *c)
{
	const struct rpc_refusal *why;
	struct rpc_refusal used_up;
	/* Whatever becomes of this call, no other one has them. */
	int r = exec_take_secrets(c);

	why = r == 0 ? exec_find_reason(c, &used_up) : NULL;
	if (why) {
		monitor_refuse(c, why);
		return;
	}
	if (r == 0)
		r = exec_begin(c);
	if (r < 0)
		monitor_fail(c, r == -EINVAL ? RPC_PARAMS : RPC_INTERNAL, r, NULL);
}

/* A pattern says nothing of input, variables, secrets and folders: it would be of any. */
static bool exec_has_surroundings(const struct monitor_call *c)
{
	const struct value *p = c->call.params.v;
	char cwd[PATH_BYTES], own[PATH_BYTES];

	if (p[STDIN].len > 0 || p[ENV].n > 0 || c->n_taken > 0)
		return true;
	return p[CWD].type != SCHEMA_NONE &&
	       (!c->by.folder || handlers_absolute(c, p[CWD].text, cwd) < 0 ||
		       handlers_absolute(c, c->by.folder, own) < 0 || strcmp(cwd, own) != 0);
}

int exec_pattern(const struct monitor_call *c, struct buffer *out)
{
	const struct value *p = c->call.params.v;
	const char **args;
	auto_arena a = { 0 };

	if (exec_has_surroundings(c))
		return -EINVAL;
	args = arena_calloc(&a, p[ARGS].n + 1, sizeof(*args));
	if (!args)
		return -ENOMEM;
	for (size_t i = 0; i < p[ARGS].n; i++)
		args[i] = p[ARGS].items[i].text;
	return command_pattern_of(p[COMMAND].text, args, p[ARGS].n, out);
}
