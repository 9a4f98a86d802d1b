/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What is granted while the sandbox runs. Each time all of it is added to the permissions of the
 * setup, compiled and put in place, so that what is not named any more is gone. A thread does it:
 * sandboxes of exec.run have to take it over, too. It is in force when `granted` says so.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "broker/monitor/internal.h"
#include "host/resolver.h"
#include "lib/api/handles.h"

static int granting_apply(struct monitor *m, struct permissions *p)
{
	const struct policy_options o = { .variables = &m->o.setup->variables,
		.resolver = &resolver_system };
	struct granting *g = &m->granting;
	int r = 0;

	for (size_t i = 0; r == 0 && i < g->n; i++)
		r = ceiling_add(p, &g->grants[i], &o, &g->error);
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
	if (m->holder.granted)
		m->holder.granted(m->holder.context, g->id, g->code,
			g->error.text[0] ? g->error.text : strerror(-g->code));
}

int monitor_grant(struct monitor *m, uint64_t id, const struct live_grant *grants, size_t n)
{
	struct granting *g = &m->granting;

	if (g->is_busy)
		return -EBUSY;
	arena_deinit(&g->arena);
	*g = (struct granting){
		.id = id, .n = n, .job = { .work = granting_work, .done = granting_done }
	};
	g->grants = arena_calloc(&g->arena, n + 1, sizeof(*g->grants));
	for (size_t i = 0; g->grants && i < n; i++) {
		const char *text = arena_strdup(&g->arena, grants[i].pattern);

		if (!text || ceiling_grant_read(&g->grants[i], (enum operation)grants[i].op, text,
				     &g->arena) < 0)
			return -ENOMEM;
	}
	g->is_busy = g->grants && pool_add(m->pool, &g->job) == 0;
	return g->is_busy ? 0 : -ENOMEM;
}

void granting_deinit(struct monitor *m)
{
	for (size_t i = 0; i < m->n_retired; i++)
		policy_free(m->retired[i]);
	policy_free(m->granting.next);
	arena_deinit(&m->granting.arena);
}
