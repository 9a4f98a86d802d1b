/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is granted while the sandbox runs. Each time all of it is added to the permissions of the
 * setup, compiled and put in place, so that what is not named any more is gone. A thread does it:
 * sandboxes of exec.run have to take it over, too. It is in force when `granted` says so.
 *
 * When the time of a grant is over the same is done without it, whether the holder does anything or
 * not: a program that uses the library may be asleep.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/clock.h"
#include "broker/monitor/internal.h"
#include "host/resolver.h"
#include "lib/api/handles.h"

static int granting_apply(struct monitor *m, struct permissions *p)
{
	const struct policy_options o = { .variables = &m->o.setup->variables,
		.resolver = &resolver_system };
	struct granting *g = &m->granting;
	const struct monitor_granted *from = g->is_own ? &g->all : &g->ordered;
	int r = 0;

	for (size_t i = 0; r == 0 && i < from->n; i++) {
		const struct live_grant *given = &from->grants[i];
		struct ceiling_grant grant;

		if (live_grant_is_over(given, g->at_ms))
			continue;
		r = ceiling_grant_read(&grant, (enum operation)given->op, given->pattern, p->arena);
		if (r == 0)
			r = ceiling_add(p, &grant, &o, &g->error);
	}
	return r;
}

static void granting_work(struct pool_job *j)
{
	struct monitor *m = container_of(j, struct monitor, granting.job);
	struct granting *g = &m->granting;
	struct corral_permissions next = { .p = permissions_copy(m->base->p) };
	struct corral_error *e = NULL;

	g->code = next.p ? granting_apply(m, next.p) : -ENOMEM;
	if (g->code == 0)
		g->code = powers_compile(m, &next, &g->next, &g->error);
	if (g->code == 0)
		g->code = corral_enclave_set_policy(m->enclave, m->token, &next, NULL, &e);
	if (e && !g->error.text[0])
		(void)error_set(&g->error, g->code, NULL, "%s", corral_error_message(e));
	corral_error_free(e);
	permissions_free(next.p);
}

static bool granting_threads_work(const struct monitor *m)
{
	for (const struct under_way *u = m->first; u; u = u->next)
		if (u->is_working)
			return true;
	return false;
}

/* Threads may still look at the one before. */
static void granting_put_words(struct monitor *m, struct policy *next)
{
	if (!granting_threads_work(m)) {
		for (size_t i = 0; i < m->n_retired; i++)
			policy_free(m->retired[i]);
		m->n_retired = 0;
	}
	/* With so many left, words stay those of before; what is enforced does not depend on it. */
	if (m->n_retired == MONITOR_RETIRED_MAX) {
		policy_free(next);
		return;
	}
	m->retired[m->n_retired++] = m->policy;
	m->policy = next;
}

static void granted_take(struct monitor_granted *to, struct monitor_granted *from)
{
	arena_deinit(&to->arena);
	*to = *from;
	*from = (struct monitor_granted){ 0 };
}

static int granting_begin(struct monitor *m, bool is_own);

/* For the next that ends. */
static int granting_keep_time(struct monitor *m)
{
	struct granting *g = &m->granting;
	const uint64_t end = live_grants_next_end(g->all.grants, g->all.n, g->all.at_ms);

	loop_stop(m->o.loop, &g->over);
	return end == UINT64_MAX ? 0 : loop_start_at(m->o.loop, &g->over, end);
}

/* What came of the order. */
static void granting_tell(struct monitor *m)
{
	struct granting *g = &m->granting;
	const uint64_t id = g->ordered.id;

	g->is_ordered = false;
	if (g->code == 0)
		granted_take(&g->all, &g->ordered);
	if (m->holder.granted)
		m->holder.granted(m->holder.context, id, g->code,
			g->error.text[0] ? g->error.text : strerror(-g->code));
}

/* Once a change is in force, or has failed. */
static void granting_settle(struct monitor *m)
{
	struct granting *g = &m->granting;
	bool is_stuck = g->is_own && g->code < 0;

	if (!g->is_own)
		granting_tell(m);
	if (g->code == 0)
		g->all.at_ms = g->at_ms;
	is_stuck = is_stuck || granting_keep_time(m) < 0;
	if (is_stuck && m->holder.stuck) {
		m->holder.stuck(m->holder.context);
	} else if (g->is_ordered) {
		g->code = granting_begin(m, false);
		if (g->code < 0)
			granting_tell(m);
	}
}

static void granting_done(struct pool_job *j)
{
	struct monitor *m = container_of(j, struct monitor, granting.job);
	struct granting *g = &m->granting;

	g->is_busy = false;
	if (g->code == 0) {
		sockets_review(m, g->next);
		granting_put_words(m, g->next);
	} else {
		policy_free(g->next);
	}
	g->next = NULL;
	/* A broker that was started again may have been asked before it heard of them. */
	m->n_changes++;
	if (g->code == 0)
		ask_again(m);
	granting_settle(m);
}

static void granting_on_over(struct timer *t)
{
	struct monitor *m = container_of(t, struct monitor, granting.over);

	/* A change that is under way looks at the time when it is done. */
	if (!m->granting.is_busy && granting_begin(m, true) < 0 && m->holder.stuck)
		m->holder.stuck(m->holder.context);
}

static int granting_begin(struct monitor *m, bool is_own)
{
	struct granting *g = &m->granting;

	g->job = (struct pool_job){ .work = granting_work, .done = granting_done };
	g->over.expired = granting_on_over;
	g->is_own = is_own;
	g->at_ms = clock_ms(CLOCK_BOOTTIME);
	g->code = 0;
	g->error = (struct error){ 0 };
	g->is_busy = pool_add(m->pool, &g->job) == 0;
	return g->is_busy ? 0 : -ENOMEM;
}

int monitor_grant(struct monitor *m, uint64_t id, const struct live_grant *grants, size_t n)
{
	struct granting *g = &m->granting;
	struct monitor_granted given = { .id = id, .n = n };

	if (g->is_ordered)
		return -EBUSY;
	given.grants = arena_calloc(&given.arena, n + 1, sizeof(*given.grants));
	for (size_t i = 0; given.grants && i < n; i++) {
		given.grants[i] = grants[i];
		given.grants[i].pattern = arena_strdup(&given.arena, grants[i].pattern);
		if (!given.grants[i].pattern)
			given.grants = NULL;
	}
	if (!given.grants) {
		arena_deinit(&given.arena);
		return -ENOMEM;
	}
	granted_take(&g->ordered, &given);
	g->is_ordered = g->is_busy || granting_begin(m, false) == 0;
	return g->is_ordered ? 0 : -ENOMEM;
}

void granting_deinit(struct monitor *m)
{
	loop_stop(m->o.loop, &m->granting.over);
	for (size_t i = 0; i < m->n_retired; i++)
		policy_free(m->retired[i]);
	policy_free(m->granting.next);
	arena_deinit(&m->granting.all.arena);
	arena_deinit(&m->granting.ordered.arena);
}
