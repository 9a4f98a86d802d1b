/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral/skill.h: a folder, and the version of it that is loaded. A call holds the version that it
 * found, so a reload has only to put another in its place.
 */
#include "corral/skill.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/lock.h"
#include "lib/api/handles.h"
#include "lib/skill/version.h"
#include "wire/skill-call.h"

enum { WORKERS_DEFAULT = 16, WORKERS_MAX = 1024 };

struct corral_skill {
	char *dir;
	struct skill_settings settings;
	pthread_mutex_t reloading; /* one at a time; taken before `lock` */
	pthread_mutex_t lock;      /* guards the rest, for moments only */
	struct skill_version *current;
};

static struct skill_version *skill_hold(struct corral_skill *s)
{
	auto_lock held = lock_take(&s->lock);

	return skill_version_ref(s->current);
}

int corral_skill_load(struct corral_skill **ret, const char *dir,
	const struct corral_skill_options *options, struct corral_error **e)
{
	struct corral_skill_options known = CORRAL_SKILL_OPTIONS;
	struct corral_skill *s;
	struct error error = { 0 };
	int r = handles_read_options(&known, sizeof(known), options, "struct corral_skill_options",
		"CORRAL_SKILL_OPTIONS", &error);

	if (r == 0 && (!dir || known.workers > WORKERS_MAX))
		r = error_set(&error, -EINVAL, NULL, "%s",
			dir ? "a skill has at most 1024 workers" : "no skill folder was given");
	if (r < 0 || !dir)
		return handles_error(e, &error, r);
	s = calloc(1, sizeof(*s));
	if (s)
		s->dir = strdup(dir);
	if (!s || !s->dir) {
		free(s);
		return -ENOMEM;
	}
	s->settings = (struct skill_settings){ .dir = s->dir,
		.configure = known.configure,
		.context = known.context,
		.workers = known.workers ? known.workers : WORKERS_DEFAULT };
	(void)pthread_mutex_init(&s->reloading, NULL);
	(void)pthread_mutex_init(&s->lock, NULL);
	r = skill_version_new(&s->current, &s->settings, NULL, e);
	if (r < 0) {
		corral_skill_free(s);
		return r;
	}
	*ret = s;
	return 0;
}

/* -EINVAL, -E2BIG: what makes no sense. */
static int skill_read_request(
	struct corral_skill_request *ret, const struct corral_skill_request *from, struct error *e)
{
	int r = handles_read_options(
		ret, sizeof(*ret), from, "corral_skill_request", "CORRAL_SKILL_REQUEST", e);
	size_t args = 0;

	if (r < 0)
		return r;
	for (size_t i = 0; ret->args && ret->args[i]; i++)
		args += strlen(ret->args[i]) + 1;
	if (ret->input_len > 0 && !ret->input)
		return error_set(e, -EINVAL, NULL, "the input has a length and no bytes");
	if (ret->input_len > SKILL_CALL_INPUT_MAX || args > SKILL_CALL_ARGS_MAX)
		return error_set(e, -E2BIG, NULL, "the %s of a call has at most %d MiB",
			args > SKILL_CALL_ARGS_MAX ? "list of arguments" : "input",
			(args > SKILL_CALL_ARGS_MAX ? SKILL_CALL_ARGS_MAX : SKILL_CALL_INPUT_MAX) >>
				20);
	return 0;
}

int corral_skill_call(struct corral_skill *s, const struct corral_skill_request *request,
	struct corral_result **ret, struct corral_error **e)
{
	struct corral_skill_request known = CORRAL_SKILL_REQUEST;
	struct corral_result *result = NULL;
	struct skill_version *v;
	struct error error = { 0 };
	int r = skill_read_request(&known, request, &error);

	if (r < 0)
		return handles_error(e, &error, r);
	v = skill_hold(s);
	r = skill_version_call(v, &known, &result, e);
	skill_version_unref(v);
	if (r < 0)
		return r;
	if (ret)
		*ret = result;
	else
		corral_result_free(result);
	return 0;
}

int corral_skill_reload(struct corral_skill *s, struct corral_error **e)
{
	auto_lock held = lock_take(&s->reloading);
	struct skill_version *next = NULL, *before = skill_hold(s);
	int r = skill_version_new(&next, &s->settings, before, e);

	if (r == 1) {
		struct skill_version *old;

		(void)pthread_mutex_lock(&s->lock);
		old = s->current;
		s->current = next;
		(void)pthread_mutex_unlock(&s->lock);
		skill_version_unref(old);
	}
	skill_version_unref(before);
	return r;
}

uint64_t corral_skill_version(struct corral_skill *s)
{
	auto_lock held = lock_take(&s->lock);

	return s->current->number;
}

void corral_skill_free(struct corral_skill *s)
{
	if (!s)
		return;
	skill_version_unref(s->current);
	(void)pthread_mutex_destroy(&s->reloading);
	(void)pthread_mutex_destroy(&s->lock);
	free(s->dir);
	free(s);
}
