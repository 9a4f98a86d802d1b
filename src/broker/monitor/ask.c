/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Calls that the policy says to ask about. The enclave has the questions; here a call waits until
 * one was answered and is then made again, or until its time is over. An answer to another question
 * makes it ask again, which is the same question.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>

#include "broker/monitor/internal.h"

void ask_forget(struct under_way *u)
{
	u->is_asking = false;
	loop_stop(u->call.monitor->o.loop, &u->patience);
	free(u->ask_text);
	u->ask_text = NULL;
}

static void ask_give_up(struct under_way *u)
{
	struct arena *a = &u->call.arena;
	const char *text = u->ask_text ? u->ask_text : "it must be agreed to";
	const bool is_asked = u->call.monitor->o.setup->ask_ms > 0;
	const char *what =
		is_asked ? "the user did not agree to it in time" : "the user cannot be asked here";
	struct rpc_refusal why = { .class = RPC_PERMISSION,
		.message = arena_printf(a, "%s: %.1024s", what, text),
		.hint = is_asked ? "try again when the user has agreed to it"
				 : "grant it in the policy" };

	if (!why.message)
		why.message = what;
	ask_forget(u);
	monitor_refuse(&u->call, &why);
}

static void ask_on_patience(struct timer *t)
{
	ask_give_up(container_of(t, struct under_way, patience));
}

void monitor_ask(struct monitor_call *c, struct corral_error *e)
{
	struct under_way *u = under_way_of(c);
	const uint32_t ask_ms = c->monitor->o.setup->ask_ms;
	const uint64_t now = loop_now(c->monitor->o.loop);
	const char *text = corral_error_message(e);

	/* There is nothing to end while it waits. */
	c->cancel = c->resume = NULL;
	if (!u->was_asked)
		u->ask_until = now + ask_ms;
	u->was_asked = true;
	u->ask_text = text ? strdup(text) : NULL;
	corral_error_free(e);
	u->patience.expired = ask_on_patience;
	if (now >= u->ask_until ||
		loop_start(c->monitor->o.loop, &u->patience, u->ask_until - now) < 0)
		ask_give_up(u);
	else
		u->is_asking = true;
}

/* Some question was answered. */
static void ask_on_answers(struct watcher *w, uint32_t events)
{
	struct monitor *m = container_of(w, struct monitor, answers);
	struct under_way *next;
	eventfd_t n;

	(void)events;
	(void)eventfd_read(w->fd, &n);
	/* A call that runs again may end, and may ask again; neither touches the next. */
	for (struct under_way *u = m->first; u; u = next) {
		next = u->next;
		if (!u->is_asking)
			continue;
		ask_forget(u);
		under_way_run(u);
	}
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
