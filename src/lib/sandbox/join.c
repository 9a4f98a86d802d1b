/* SPDX-License-Identifier: Apache-2.0 */
/* A sandbox and the daemon (lib/api/joined.h). */
#include <errno.h>

#include "base/lock.h"
#include "lib/api/audit-handle.h"
#include "lib/api/joined.h"
#include "lib/sandbox/sandbox.h"

/* Its own, or that of whoever has the sandbox. */
static struct joined *join_find(struct corral_sandbox *s)
{
	return s->base.of_others ? s->base.of_others : atomic_load(&s->joined);
}

static bool join_is_idle(struct corral_sandbox *s)
{
	auto_lock held = lock_take(&s->lock);

	return s->stats.running == 0;
}

/* The session that there is gets a holder before that hears of any order. */
static void join_begin(struct corral_sandbox *s)
{
	sandbox_live_declare(s);
	auto_lock held = lock_take(&s->lock);

	if (s->link)
		sandbox_live_begin(s, s->link);
}

static void join_look(struct corral_sandbox *s)
{
	struct joined *none = NULL, *j;

	if (s->base.no_daemon || !joined_is_due(&s->looked_ms) || !join_is_idle(s) ||
		pthread_mutex_trylock(&s->updating) != 0)
		return;
	j = joined_new(&(struct joined_options){ .kind = JOIN_SESSION,
		.folder = s->base.variables.values[VARIABLE_WORK_DIR],
		.policy = s->setup->permissions->origin,
		.warden = s->base.warden,
		.audit = s->base.sink == corral_audit_sandbox ? s->base.context : NULL });
	/* Another thread may have been faster. */
	if (j && !atomic_compare_exchange_strong(&s->joined, &none, j))
		joined_free(j);
	else if (j)
		join_begin(s);
	(void)pthread_mutex_unlock(&s->updating);
}

void sandbox_join(struct corral_sandbox *s, const char *const *env)
{
	struct joined *j;

	if (!atomic_load(&s->joined))
		join_look(s);
	j = atomic_load(&s->joined);
	if (j && env && lib_audit_learn(corral_audit_sandbox, joined_audit(j), env) < 0)
		joined_mute(j);
}

int sandbox_turn_joined(struct corral_sandbox *s, struct error *e)
{
	struct joined *j = join_find(s);

	if (!j)
		return 0;
	if (joined_turn(j)) {
		if (s->base.of_others)
			s->base.turn(s->base.turns);
		else
			sandbox_live_turn(s, j);
	}
	if (!joined_is_stopped(j))
		return 0;
	(void)corral_sandbox_kill(s);
	return error_set(e, -ECANCELED, NULL, JOINED_STOPPED);
}

int sandbox_joined_fd(struct corral_sandbox *s)
{
	struct joined *j = join_find(s);

	return j ? joined_fd(j) : -1;
}

int sandbox_joined_wait_ms(struct corral_sandbox *s, int otherwise)
{
	struct joined *j = join_find(s);

	return j ? joined_wait_ms(j, otherwise) : otherwise;
}
