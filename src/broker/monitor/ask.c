/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the policy says to ask about. The enclave has the questions; here a call waits until
 * one was answered and is then made again, or until its time is over. An answer to another question
 * makes it ask again, which is the same question.
 */
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

#include "base/fd.h"
#include "broker/monitor/internal.h"
#include "lib/enclave/share.h"

void ask_forget(struct under_way *u)
{
	u->is_asking = false;
	loop_stop(u->call.monitor->o.loop, &u->patience);
	free(u->ask_text);
	u->ask_text = NULL;
}

/* Unless a call waits for it: the table of questions is bounded. */
static void ask_drop(struct monitor *m, uint64_t question, enum question_end how)
{
	for (const struct under_way *u = m->first; u; u = u->next)
		if (u->question == question)
			return;
	if (question == 0)
		return;
	(void)enclave_drop_question(m->enclave, question);
	if (m->holder.over)
		m->holder.over(m->holder.context, question, how);
}

void ask_leave(struct under_way *u, enum question_end how)
{
	const uint64_t question = u->question;

	ask_forget(u);
	u->question = 0;
	ask_drop(u->call.monitor, question, how);
}

/* Passing a question on */

struct asking {
	struct under_way *call;
	uint64_t id;
	uint32_t wait_ms;
	int code; /* -ENOENT: there is no such question */
};

/* The pattern of just what is asked for, which may be granted for longer. */
static void ask_add_scope(
	const struct monitor_call *c, const struct corral_question *q, struct buffer *out)
{
	int r = q->scope.op == CORRAL_EXEC
			? exec_pattern(c, out)
			: ceiling_pattern_of((enum operation)q->scope.op, q->scope.object, out);

	if (r < 0)
		out->len = 0;
}

enum { ASK_PROGRAM = 64 };

/* What the calling process is called, as `ps` shows it; "" if it has gone. It chose that itself. */
static void ask_read_program(uint32_t pid, char ret[static ASK_PROGRAM])
{
	char path[32];
	auto_fd fd = -1;
	ssize_t n;

	ret[0] = '\0';
	(void)snprintf(path, sizeof(path), "/proc/%" PRIu32 "/comm", pid);
	fd = pid ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	n = fd < 0 ? -1 : read(fd, ret, ASK_PROGRAM - 1);
	ret[n > 0 ? n : 0] = '\0';
	ret[strcspn(ret, "\n")] = '\0';
}

static int ask_visit(void *context, const struct corral_question *q)
{
	char program[ASK_PROGRAM];
	struct asking *a = context;
	const struct monitor_call *c = &a->call->call;
	const struct monitor_holder *h = &c->monitor->holder;
	auto_buffer scope = { 0 };
	struct question asked = { .op = (uint32_t)q->scope.op,
		.pid = c->call.pid,
		.wait_ms = a->wait_ms,
		.target = q->scope.object,
		.program = program,
		.method = c->call.method->name,
		.rule = q->rule,
		.reason = q->reason };

	if (q->id != a->id)
		return 0;
	ask_read_program(c->call.pid, program);
	ask_add_scope(c, q, &scope);
	asked.n_scopes = scope.len > 0 && !scope.failed;
	asked.scopes[0] = buffer_text(&scope);
	a->code = h->ask(h->context, a->id, &asked);
	return 1;
}

/* Negative: the question cannot be asked. -ENOENT: it was answered or dropped meanwhile. */
static int ask_pass_on(struct under_way *u, uint64_t question, uint64_t wait_ms)
{
	struct monitor *m = u->call.monitor;
	struct asking a = {
		.call = u, .id = question, .wait_ms = (uint32_t)wait_ms, .code = -ENOENT
	};
	long n;

	if (question == 0)
		return -ENOTCONN;
	n = corral_enclave_questions(m->enclave, ask_visit, &a);
	return n < 0 ? (int)n : a.code;
}

static void ask_give_up(struct under_way *u, bool is_asked)
{
	struct arena *a = &u->call.arena;
	const char *text = u->ask_text ? u->ask_text : "it must be agreed to";
	const char *what =
		is_asked ? "the user did not agree to it in time" : "the user cannot be asked here";
	struct rpc_refusal why = { .class = RPC_PERMISSION,
		.message = arena_printf(a, "%s: %.1024s", what, text),
		.hint = is_asked ? "try again when the user has agreed to it"
				 : "grant it in the policy" };

	if (!why.message)
		why.message = what;
	ask_leave(u, QUESTION_EXPIRED);
	monitor_refuse(&u->call, &why);
}

static void ask_on_patience(struct timer *t)
{
	ask_give_up(container_of(t, struct under_way, patience), true);
}

void monitor_ask(struct monitor_call *c, struct corral_error *e)
{
	struct under_way *u = under_way_of(c);
	const uint32_t ask_ms = c->monitor->o.setup->ask_ms;
	const uint64_t now = loop_now(c->monitor->o.loop);
	const char *text = corral_error_message(e);
	const uint64_t question = corral_error_question(e), before = u->question;
	bool is_open, is_asked = ask_ms > 0;
	int r = 0;

	/* There is nothing to end while it waits. */
	c->cancel = c->resume = NULL;
	/* It was judged by what was granted before. */
	if (u->changes != c->monitor->n_changes) {
		corral_error_free(e);
		ask_drop(c->monitor, question, QUESTION_GIVEN_UP);
		under_way_run(u);
		return;
	}
	u->question = question;
	/* Where its path leads may have changed since: then no call waits for the first one. */
	if (before != question)
		ask_drop(c->monitor, before, QUESTION_GIVEN_UP);
	if (!u->was_asked)
		u->ask_until = now + ask_ms;
	u->was_asked = true;
	u->ask_text = text ? strdup(text) : NULL;
	corral_error_free(e);
	u->patience.expired = ask_on_patience;
	is_open = now < u->ask_until &&
		  loop_start(c->monitor->o.loop, &u->patience, u->ask_until - now) == 0;
	/* If it waits already, it was run again after an answer, whatever that was about. */
	if (is_open && c->monitor->holder.ask && question != before)
		r = ask_pass_on(u, question, u->ask_until - now);
	if (r == -ENOENT) {
		ask_leave(u, QUESTION_GIVEN_UP);
		under_way_run(u);
		return;
	}
	is_open = is_open && r == 0;
	is_asked = is_asked && r == 0;
	if (is_open)
		u->is_asking = true;
	else
		ask_give_up(u, is_asked);
}

/* What was answered */

static void ask_give_answer(
	struct monitor *m, const struct corral_question *q, const struct answer *a)
{
	struct corral_scope scope = q->scope;

	/* The usual time, unless another was said: then one in which it is not asked again. */
	if (a->ttl_ms && a->ttl_ms < scope.ttl_ms)
		scope.ttl_ms = a->ttl_ms;
	if (a->kind == ANSWER_ALLOW) {
		(void)enclave_drop_question(m->enclave, q->id);
		(void)eventfd_write(corral_enclave_answers_fd(m->enclave), 1);
	} else {
		(void)corral_enclave_answer(m->enclave, m->token, q->id,
			a->kind == ANSWER_ONCE ? CORRAL_ALLOW : CORRAL_DENY, &scope, NULL, NULL);
	}
}

struct ask_answering {
	struct monitor *monitor;
	uint64_t id;
	const struct answer *answer;
};

static int ask_visit_answered(void *context, const struct corral_question *q)
{
	const struct ask_answering *a = context;

	if (q->id != a->id)
		return 0;
	ask_give_answer(a->monitor, q, a->answer);
	return 1;
}

void monitor_on_questions(struct monitor *m, const struct monitor_holder *h)
{
	m->holder = *h;
}

/* The holder did not ask the user: those who wait hear why, and no answer is remembered. */
static void ask_refuse(struct monitor *m, uint64_t question, const char *text)
{
	const struct rpc_refusal why = { .class = RPC_PERMISSION,
		.message = text,
		.hint = "ask for less, or grant it in the policy" };
	struct under_way *next;

	(void)enclave_drop_question(m->enclave, question);
	for (struct under_way *u = m->first; u; u = next) {
		next = u->next;
		if (u->question != question || !u->is_asking)
			continue;
		u->question = 0;
		ask_forget(u);
		monitor_refuse(&u->call, &why);
	}
}

void monitor_take_answer(struct monitor *m, uint64_t question, const struct answer *a)
{
	struct ask_answering x = { m, question, a };
	bool is_waited_for = false;

	if (a->kind == ANSWER_DENY && answer_why_text(a->why)) {
		ask_refuse(m, question, answer_why_text(a->why));
		return;
	}

	/* Those who asked ask anew if they must: it is over. */
	for (struct under_way *u = m->first; u; u = u->next) {
		if (u->question != question)
			continue;
		u->question = 0;
		is_waited_for = true;
	}
	/* An answer without a call that waits would approve the next caller's. */
	if (is_waited_for)
		(void)corral_enclave_questions(m->enclave, ask_visit_answered, &x);
}

void ask_again(struct monitor *m)
{
	struct under_way *next;

	/* A call that runs again may end, and may ask again; neither touches the next. */
	for (struct under_way *u = m->first; u; u = next) {
		next = u->next;
		if (!u->is_asking)
			continue;
		ask_forget(u);
		under_way_run(u);
	}
}

/* Some question was answered. */
static void ask_on_answers(struct watcher *w, uint32_t events)
{
	eventfd_t n;

	(void)events;
	(void)eventfd_read(w->fd, &n);
	ask_again(container_of(w, struct monitor, answers));
}

int ask_begin(struct monitor *m)
{
	int fd = corral_enclave_answers_fd(m->enclave);

	m->answers = (struct watcher){ .ready = ask_on_answers, .fd = -1 };
	return fd < 0 ? 0 : loop_add(m->o.loop, &m->answers, fd, EPOLLIN);
}

void ask_end(struct monitor *m)
{
	loop_remove(m->o.loop, &m->answers);
}
