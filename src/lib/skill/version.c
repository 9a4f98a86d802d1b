/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/skill/version.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/lock.h"
#include "launch/wasm.h"
#include "lib/api/handles.h"
#include "lib/sandbox/skill.h"
#include "policy/format/permissions-text.h"

/* Layers that are kept ready, each with a session. */
enum { POOLS_MAX = 16 };

/* Pools */

/* With the lock held: takes the last one that no call has off the list, if there are too many. */
static struct skill_pool *version_spare_pool(struct skill_version *v)
{
	struct skill_pool **at = &v->pools, **spare = NULL, *taken;
	unsigned n = 0;

	for (; *at; at = &(*at)->next) {
		n++;
		if ((*at)->users == 0)
			spare = at;
	}
	if (n < POOLS_MAX || !spare)
		return NULL;
	taken = *spare;
	*spare = taken->next;
	taken->is_listed = false;
	return taken;
}

/* With the lock held: the pool of that layer, which becomes the first; or NULL. */
static struct skill_pool *version_find_pool(struct skill_version *v, const char *layer)
{
	for (struct skill_pool **at = &v->pools; *at; at = &(*at)->next) {
		struct skill_pool *p = *at;

		if (strcmp(p->layer, layer) != 0)
			continue;
		*at = p->next;
		p->next = v->pools;
		v->pools = p;
		p->users++;
		return p;
	}
	return NULL;
}

static struct skill_pool *version_look_for_pool(struct skill_version *v, const char *layer)
{
	auto_lock held = lock_take(&v->lock);

	return version_find_pool(v, layer);
}

/* One more, for that layer; kept for others unless too many are in use. */
static int version_add_pool(struct skill_version *v, const struct permissions *permissions,
	const char *layer, struct skill_pool **ret, struct corral_error **e)
{
	struct skill_pool *p = NULL, *spare;
	int r;

	(void)pthread_mutex_lock(&v->lock);
	spare = version_spare_pool(v);
	(void)pthread_mutex_unlock(&v->lock);
	skill_pool_free(spare);
	r = skill_pool_new(&p, v->builder, permissions, layer, v->workers, e);
	if (r < 0)
		return r;
	p->users = 1;
	auto_lock held = lock_take(&v->lock);
	unsigned n = 0;

	for (const struct skill_pool *other = v->pools; other; other = other->next)
		n++;
	p->is_listed = n < POOLS_MAX;
	if (p->is_listed) {
		p->next = v->pools;
		v->pools = p;
	}
	*ret = p;
	return 0;
}

/* The pool for calls with that layer, which the caller gives back. */
static int version_get_pool(struct skill_version *v, const struct permissions *permissions,
	struct skill_pool **ret, struct corral_error **e)
{
	auto_buffer text = { 0 };
	int r = 0;

	permissions_print_json(permissions, &text);
	if (text.failed)
		return -ENOMEM;
	*ret = version_look_for_pool(v, buffer_text(&text));
	if (*ret)
		return 0;
	auto_lock held = lock_take(&v->making);

	*ret = version_look_for_pool(v, buffer_text(&text));
	if (!*ret)
		r = version_add_pool(v, permissions, buffer_text(&text), ret, e);
	return r;
}

static void version_put_pool(struct skill_version *v, struct skill_pool *p)
{
	bool is_last;

	(void)pthread_mutex_lock(&v->lock);
	is_last = --p->users == 0 && !p->is_listed;
	(void)pthread_mutex_unlock(&v->lock);
	if (is_last)
		skill_pool_free(p);
}

int skill_version_call(struct skill_version *v, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e)
{
	struct skill_pool *p = NULL;
	int r;

	if (!request->permissions)
		return skill_pool_call(v->plain, request, ret, e);
	r = version_get_pool(v, request->permissions->p, &p, e);
	if (r < 0)
		return r;
	r = skill_pool_call(p, request, ret, e);
	version_put_pool(v, p);
	return r;
}

/* Life */

static int version_complain(struct corral_error **e, int code, const char *dir, const char *what)
{
	struct error error = { 0 };

	return handles_error(e, &error, error_set(&error, code, NULL, "%s: %s", dir, what));
}

/* The builder of the folder as it is now, with what the host adds. */
static int version_new_builder(
	struct corral_builder **ret, const struct skill_settings *settings, struct corral_error **e)
{
	struct corral_builder *b = NULL;
	const struct sandbox_skill *skill;
	int r = corral_builder_from_manifest(&b, settings->dir, e);

	if (r < 0)
		return r;
	skill = sandbox_builder_skill(b);
	if (!skill || !launch_wasm_is(&skill->skill))
		r = version_complain(
			e, -ENOEXEC, settings->dir, "there is no skill with a WASM module");
	sandbox_builder_serve(b);
	if (r == 0 && launch_wasm_needs_broker(&skill->skill))
		r = corral_builder_with_broker(b, NULL);
	if (r == 0 && settings->configure) {
		r = settings->configure(settings->context, b);
		if (r != 0)
			r = version_complain(e, r < 0 ? r : -ECANCELED, settings->dir,
				"the host program does not want it");
	}
	if (r < 0)
		corral_builder_free(b);
	else
		*ret = b;
	return r;
}

int skill_version_new(struct skill_version **ret, const struct skill_settings *settings,
	const struct skill_version *before, struct corral_error **e)
{
	struct skill_version *v = calloc(1, sizeof(*v));
	int r = v ? 0 : -ENOMEM;

	if (!v)
		return r;
	v->refs = 1;
	v->number = before ? before->number + 1 : 1;
	v->workers = settings->workers;
	(void)pthread_mutex_init(&v->making, NULL);
	(void)pthread_mutex_init(&v->lock, NULL);
	r = version_new_builder(&v->builder, settings, e);
	if (r == 0)
		v->digest = sandbox_builder_skill(v->builder)->skill.content.digest;
	if (r == 0 && before && memcmp(&v->digest, &before->digest, sizeof(v->digest)) == 0) {
		skill_version_unref(v);
		return 0;
	}
	if (r == 0)
		r = skill_pool_new(&v->plain, v->builder, NULL, NULL, v->workers, e);
	if (r < 0) {
		skill_version_unref(v);
		return r;
	}
	*ret = v;
	return 1;
}

struct skill_version *skill_version_ref(struct skill_version *v)
{
	(void)atomic_fetch_add(&v->refs, 1);
	return v;
}

void skill_version_unref(struct skill_version *v)
{
	if (!v || atomic_fetch_sub(&v->refs, 1) != 1)
		return;
	while (v->pools) {
		struct skill_pool *p = v->pools;

		v->pools = p->next;
		skill_pool_free(p);
	}
	skill_pool_free(v->plain);
	corral_builder_free(v->builder);
	(void)pthread_mutex_destroy(&v->lock);
	(void)pthread_mutex_destroy(&v->making);
	free(v);
}
