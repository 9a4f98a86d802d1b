/* SPDX-License-Identifier: Apache-2.0 */
/*
 * policy_check. A check does nothing and is not recorded: it says what the policy says
 * now, in the words of `corral policy check`.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "advice/shell/shell.h"
#include "base/buffer.h"
#include "broker/monitor/handlers.h"
#include "broker/monitor/internal.h"
#include "host/resolver.h"
#include "lib/enclave/beneath.h"
#include "lib/enclave/private.h"
#include "policy/operation-names.h"
#include "policy/explain.h"

enum { OPERATION, TARGET };

/* Texts are in the call's arena. */
struct verdict_call {
	struct request request;
	struct decision decision;
	const char *reason; /* instead of the decision's: it could not be found out */
	const char *wrong;  /* a parameter is; nothing was decided */
	int code;
};

static void verdict_free(struct monitor_call *c)
{
	free(c->state);
	c->state = NULL;
}

/* It lies on a mount that is the session's own, which needs no grant. */
static bool verdict_is_private(const struct monitor *m, const struct verdict_call *x)
{
	const enum operation op = x->request.op;

	return x->decision.why == DECISION_NO_GRANT &&
	       (op == OPERATION_FS_READ || op == OPERATION_FS_WRITE) &&
	       enclave_private_reaches(m->enclave, x->request.target);
}

static int verdict_decide(const struct monitor *m, struct verdict_call *x)
{
	int r = policy_decide(m->policy, &x->request, &x->decision);

	if (r == 0 && verdict_is_private(m, x)) {
		x->decision.verdict = VERDICT_ALLOW;
		x->reason = "the folder is the session's own";
	}
	return r;
}

/* The path itself, and where links lead from it: the stricter answer counts. */
static int verdict_decide_path(struct monitor_call *c, struct verdict_call *x)
{
	struct verdict_call real = *x;
	char *path = arena_alloc(&c->arena, PATH_BYTES);
	int r = verdict_decide(c->monitor, x);

	/* What is denied by its name is not looked at. */
	if (r < 0 || x->decision.verdict == VERDICT_DENY)
		return r;
	if (!path)
		return -ENOMEM;
	/*
	 * As the command sees them, programs too: a sandbox for exec.run has the same policy, and
	 * so the same tree. Links of the host that are not in it are not for a command to ask
	 * about.
	 */
	r = beneath_follow(c->monitor->root, x->request.target, path);
	/* What is not there, or not to be seen, has its name. */
	if (r == -ENOENT || r == -ENOTDIR || r == -EACCES)
		r = 0;
	if (r < 0 || strcmp(path, x->request.target) == 0)
		return r;
	real.request.target = path;
	r = verdict_decide(c->monitor, &real);
	if (r == 0 && real.decision.verdict < x->decision.verdict)
		*x = real;
	return r;
}

static int verdict_file(struct monitor_call *c, struct verdict_call *x, const char *target)
{
	char *path = arena_alloc(&c->arena, PATH_BYTES);
	int r = path ? handlers_absolute(c, target, path) : -ENOMEM;

	if (r == -EINVAL)
		x->wrong = "target must be a path";
	if (r < 0)
		return r;
	x->request.target = path;
	return verdict_decide_path(c, x);
}

static int verdict_program(struct monitor_call *c, struct verdict_call *x, const char *target)
{
	char *path = arena_alloc(&c->arena, PATH_BYTES);

	if (!path)
		return -ENOMEM;
	if (strchr(target, '/'))
		return verdict_file(c, x, target);
	x->request.target = target;
	if (resolver_find(target, path) < 0)
		return verdict_decide(c->monitor, x);
	x->request.target = path;
	return verdict_decide_path(c, x);
}

/* A program with its arguments, as exec.run takes them. */
static int verdict_command(struct monitor_call *c, struct verdict_call *x, const char *target)
{
	struct shell_script script;
	const struct shell_command *one;
	const char **args;
	int r = shell_parse(&script, &c->arena, target, strlen(target), NULL);

	one = r == 0 && script.n_commands == 1 ? script.commands : NULL;
	if (!one || one->n_words == 0 || one->n_assignments || one->n_redirects) {
		x->wrong = "target must be one program with its arguments";
		return r == -ENOMEM ? r : -EINVAL;
	}
	args = arena_calloc(&c->arena, one->n_words, sizeof(*args));
	if (!args)
		return -ENOMEM;
	for (size_t i = 0; i < one->n_words; i++) {
		if (one->words[i].dynamic) {
			x->reason = "the command is only known at run time";
			return 0;
		}
		if (i > 0)
			args[i - 1] = one->words[i].text;
	}
	x->request.args = args;
	x->request.n_args = one->n_words - 1;
	return verdict_program(c, x, one->words[0].text);
}

/* What `operation` can be, for a message. */
static const char *verdict_operations(struct arena *a)
{
	auto_buffer names = { 0 };
	const char *text;

	for (int op = 0; op < OPERATION_COUNT; op++)
		buffer_printf(&names, "%s%s", op ? ", " : "", operation_names[op]);
	text = arena_printf(a, "operation must be %s or the name of a method that is decided",
		buffer_text(&names));
	return text ? text : "operation is not known";
}

static int verdict_find(struct monitor_call *c, struct verdict_call *x)
{
	const struct value *p = c->call.params.v;
	const char *target = p[TARGET].text;
	bool by_shield;
	const struct method *m;

	if (operation_parse(p[OPERATION].text, &x->request.op) < 0) {
		m = method_find(p[OPERATION].text, p[OPERATION].len, &by_shield);
		if (!m || !(m->target || m->grant)) {
			x->wrong = verdict_operations(&c->arena);
			return -EINVAL;
		}
		x->request.op = m->op;
		if (m->op == OPERATION_SERVICE)
			target = arena_printf(
				&c->arena, target[0] ? "%s:%s" : "%s", m->grant, target);
		if (!target)
			return -ENOMEM;
	}
	switch (operation_rows[x->request.op].target) {
	case TARGET_PATH:
		return verdict_file(c, x, target);
	case TARGET_COMMAND:
		return verdict_command(c, x, target);
	case TARGET_HOST:
	case TARGET_NAME:
	case TARGET_SERVICE:
	case TARGET_SECRET:
		break;
	}
	x->request.target = target;
	return verdict_decide(c->monitor, x);
}

static void verdict_work(struct monitor_call *c)
{
	struct verdict_call *x = c->state;

	x->code = verdict_find(c, x);
	if (x->code == -EINVAL && !x->wrong)
		x->wrong = operation_rows[x->request.op].expected;
}

static struct value verdict_text(const struct buffer *b)
{
	static const struct value none;

	return b->failed || b->len == 0 ? none : value_text(buffer_text(b), b->len);
}

static void verdict_done(struct monitor_call *c)
{
	enum { ALLOWED, POLICY_ID, REASON };
	struct verdict_call x = *(struct verdict_call *)c->state;
	const struct rpc_refusal wrong = { .class = RPC_PARAMS, .message = x.wrong };
	auto_buffer rule = { 0 }, reason = { 0 };
	struct values v = { 0 };

	verdict_free(c);
	if (x.wrong || x.code < 0) {
		if (x.wrong)
			monitor_refuse(c, &wrong);
		else
			monitor_fail(c, RPC_PATH, x.code, NULL);
		return;
	}
	v.v[ALLOWED] = value_number(SCHEMA_FLAG, x.decision.verdict == VERDICT_ALLOW);
	if (x.reason) {
		buffer_adds(&reason, x.reason);
	} else {
		if (x.decision.source && x.decision.source->in->id)
			buffer_adds(&rule, x.decision.source->in->id);
		else
			explain_rule(&x.decision, &rule);
		explain_reason(&x.request, &x.decision, &reason);
		if (x.decision.verdict == VERDICT_ASK)
			buffer_adds(&reason, "; the user is asked");
	}
	v.v[POLICY_ID] = verdict_text(&rule);
	v.v[REASON] = verdict_text(&reason);
	monitor_answer(c, &v);
}

void verdict_check(struct monitor_call *c)
{
	struct verdict_call *x = calloc(1, sizeof(*x));
	int r = x ? 0 : -ENOMEM;

	if (r == 0) {
		c->state = x;
		c->cancel = verdict_free;
		r = monitor_work(c, verdict_work, verdict_done);
		if (r < 0)
			verdict_free(c);
	}
	if (r < 0)
		monitor_fail(c, RPC_INTERNAL, r, NULL);
}
