/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/skill/pool.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "lib/api/handles.h"
#include "lib/sandbox/skill.h"

/* Workers */

/* One that waits, which is the caller's then; NULL: the caller may start one. */
static struct skill_worker *skill_pool_take(struct skill_pool *p)
{
	auto_lock held = lock_take(&p->lock);
	struct skill_worker *w;

	while (!p->free && p->n >= p->most)
		(void)pthread_cond_wait(&p->changed, &p->lock);
	w = p->free;
	if (w)
		p->free = w->next;
	else
		p->n++;
	return w;
}

static void skill_pool_put(struct skill_pool *p, struct skill_worker *w)
{
	auto_lock held = lock_take(&p->lock);

	w->next = p->free;
	p->free = w;
	(void)pthread_cond_signal(&p->changed);
}

/* It is of no more use; NULL: it was never there. */
static void skill_pool_drop(struct skill_pool *p, struct skill_worker *w)
{
	skill_worker_free(w);
	auto_lock held = lock_take(&p->lock);

	p->n--;
	(void)pthread_cond_signal(&p->changed);
}

/* One that is known to wait for a call. */
static int skill_pool_take_idle(
	struct skill_pool *p, struct skill_worker **ret, struct corral_error **e)
{
	struct skill_worker *w = skill_pool_take(p);
	int r = 0;

	/* A session that was lost took its workers with it. */
	while (w && !skill_worker_is_idle(w)) {
		skill_pool_drop(p, w);
		w = skill_pool_take(p);
	}
	if (!w) {
		r = skill_worker_new(&w, p->sandbox, e);
		if (r < 0)
			skill_pool_drop(p, NULL);
	}
	*ret = w;
	return r;
}

/* Life */

int skill_pool_new(struct skill_pool **ret, struct corral_builder *b,
	const struct permissions *permissions, const char *layer, unsigned most,
	struct corral_error **e)
{
	struct skill_pool *p = calloc(1, sizeof(*p));
	struct skill_worker *w = NULL;
	int r = 0;

	if (!p)
		return -ENOMEM;
	p->most = most;
	(void)pthread_mutex_init(&p->lock, NULL);
	(void)pthread_cond_init(&p->changed, NULL);
	p->layer = layer ? strdup(layer) : NULL;
	if (layer && !p->layer)
		r = -ENOMEM;
	if (r == 0)
		r = sandbox_builder_build(b, permissions, &p->sandbox, e);
	if (r == 0)
		r = skill_pool_take_idle(p, &w, e);
	if (r < 0 || !w) {
		skill_pool_free(p);
		return r;
	}
	skill_pool_put(p, w);
	*ret = p;
	return 0;
}

void skill_pool_free(struct skill_pool *p)
{
	if (!p)
		return;
	while (p->free) {
		struct skill_worker *w = p->free;

		p->free = w->next;
		skill_worker_free(w);
	}
	corral_sandbox_free(p->sandbox);
	(void)pthread_cond_destroy(&p->changed);
	(void)pthread_mutex_destroy(&p->lock);
	free(p->layer);
	free(p);
}

/* Calls */

/* The skill's limit, or the call's, if that is narrower; -1: none. */
static int64_t skill_pool_timeout(struct skill_pool *p, const struct corral_skill_request *request)
{
	struct sandbox_setup *setup = sandbox_hold_setup(p->sandbox);
	uint64_t ms = setup->limits.values[LIMIT_TIMEOUT_MS];

	sandbox_setup_unref(setup);
	if (request->timeout_ms && request->timeout_ms < ms)
		ms = request->timeout_ms;
	return ms > INT64_MAX / 2 ? -1 : (int64_t)ms;
}

static void skill_pool_tell(struct skill_pool *p, enum corral_event_kind kind, uint64_t id,
	const char *message, const struct corral_result *result)
{
	const struct manifest *m = &p->sandbox->base.skill->skill.manifest;

	sandbox_tell(p->sandbox, (struct corral_event){ .kind = kind,
					 .command = id,
					 .program = m->name ? m->name : m->wasm_file,
					 .message = message,
					 .result = result });
}

int skill_pool_call(struct skill_pool *p, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e)
{
	struct skill_worker *w = NULL;
	struct error error = { 0 };
	uint64_t id = 0;
	int r = skill_pool_take_idle(p, &w, e);

	if (r < 0)
		return r;
	if (p->sandbox->base.sink) {
		id = sandbox_next_id(p->sandbox);
		skill_pool_tell(p, CORRAL_EVENT_STARTED, id, NULL, NULL);
	}
	r = skill_worker_call(w, request, skill_pool_timeout(p, request), ret, &error);
	if (r == 1)
		skill_pool_put(p, w);
	else
		skill_pool_drop(p, w);
	if (r < 0) {
		skill_pool_tell(p, CORRAL_EVENT_FAILED, id, error.text, NULL);
		return handles_error(e, &error, r);
	}
	skill_pool_tell(p, CORRAL_EVENT_ENDED, id, NULL, *ret);
	return 0;
}
