/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Orders of the daemon for a sandbox of the library. They are heard with the lock held, in any
 * thread, also in one that tells the log something; so nothing is done here but to note what is to
 * be done.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/lock.h"
#include "host/resolver.h"
#include "holder/details.h"
#include "lib/api/audit-handle.h"
#include "lib/api/internal.h"

void joined_change_deinit(struct joined_change *c)
{
	for (size_t i = 0; i < c->n; i++)
		free((char *)(uintptr_t)c->grants[i].pattern);
	free(c->grants);
	buffer_deinit(&c->network);
	*c = (struct joined_change){ 0 };
}

/* Hooks of holder/live.h, with the lock held. */

static int joined_live_put(
	void *context, const struct live_grant *grants, size_t n, struct error *e)
{
	struct joined_live *l = context;
	auto_joined_change c = { .grants = calloc(n + 1, sizeof(*grants)) };
	int r = c.grants ? holder_live_network(&l->live, &c.network, e) : -ENOMEM;

	for (size_t i = 0; r == 0 && i < n; i++) {
		c.grants[i] = grants[i];
		c.grants[i].pattern = strdup(grants[i].pattern);
		c.n += c.grants[i].pattern != NULL;
		r = c.grants[i].pattern ? 0 : -ENOMEM;
	}
	if (r < 0)
		return e->text[0] ? r : error_no_memory(e);
	joined_change_deinit(&l->change);
	l->change = c;
	l->has_change = true;
	memset(&c, 0, sizeof(c)); /* it is there now */
	return 0;
}

static void joined_live_fail(void *context, const char *why)
{
	struct joined_live *l = context;

	l->must_end = true;
	(void)error_set(&l->why, -ECONNRESET, NULL,
		"the session was ended: a grant could not be taken back: %s", why);
}

/* There is room: no more questions wait than there are places. */
static void joined_live_answer(void *context, uint64_t asker, const struct answer *a)
{
	struct joined_live *l = context;
	struct answer copy = *a;

	copy.pattern = "";
	if (l->n_answers < ROWS(l->answers))
		l->answers[l->n_answers++] = (struct joined_answer){ asker, copy };
}

static void joined_live_note(void *context, const struct audit_event *e)
{
	struct joined_live *l = context;
	struct joined_note note = { .action = e->action,
		.decision = e->decision,
		.target = strdup(e->target),
		.reason = strdup(e->reason) };

	if (note.target && note.reason && ARRAY_PUSH(l->notes, l->n_notes, l->cap_notes, note) == 0)
		return;
	free(note.target);
	free(note.reason);
}

/* What it may be granted is what was declared: the lines are the same. */
static void joined_live_describe(void *context)
{
	struct joined_live *l = context;
	struct join_details *d = calloc(1, sizeof(*d));
	auto_buffer body = { 0 };
	auto_arena a = { 0 };

	if (!d || !l->declared) {
		free(d);
		return;
	}
	memcpy(d->limits, l->limits.values, sizeof(d->limits));
	holder_details_add(l->declared, l->variables, &a, d->permissions, &d->n_permissions);
	d->n_ceiling = d->n_permissions;
	memcpy(d->ceiling, d->permissions, d->n_permissions * sizeof(d->permissions[0]));
	if (join_details_encode(d, &body) == 0)
		holder_join_send(l->live.join, FRAME_JOIN_DETAILS, 0, &body);
	free(d);
}

/* What is declared */

static struct joined_live *joined_live_new(struct joined *j)
{
	struct joined_live *l = calloc(1, sizeof(*l));
	const struct holder_live_hooks hooks = { .answer = joined_live_answer,
		.put = joined_live_put,
		.fail = joined_live_fail,
		.describe = joined_live_describe,
		.note = joined_live_note,
		.context = l };

	if (l)
		holder_live_init(&l->live, &j->join, &hooks, &(struct holder_live_ceiling){ 0 });
	return l;
}

void joined_live_free(struct joined_live *l)
{
	if (!l)
		return;
	holder_live_deinit(&l->live);
	joined_change_deinit(&l->change);
	for (size_t i = 0; i < l->n_notes; i++) {
		free(l->notes[i].target);
		free(l->notes[i].reason);
	}
	free(l->notes);
	permissions_free(l->declared);
	free(l);
}

int joined_declare(struct joined *j, const struct joined_declared *d)
{
	struct permissions *copy = d->permissions ? permissions_copy(d->permissions) : NULL, *old;
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = j->live;
	struct holder_live_ceiling ceiling = { .options = { .variables = d->variables,
						       .resolver = &resolver_system } };
	int n;

	if (!l)
		l = j->live = joined_live_new(j);
	n = !l || (d->permissions && !copy) ? -ENOMEM : 0;
	if (n == 0 && copy)
		n = permissions_layers(copy, l->layers, HOLDER_LIVE_CEILING_MAX);
	/* Without a ceiling nothing can be granted. */
	ceiling.layers = l ? l->layers : NULL;
	ceiling.n_layers = n < 0 ? 0 : (size_t)n;
	if (!l) {
		permissions_free(copy);
		return n;
	}
	old = l->declared;
	l->declared = copy;
	l->variables = d->variables;
	if (d->limits)
		l->limits = *d->limits;
	l->has_change = false;
	joined_change_deinit(&l->change);
	holder_live_declare(&l->live, &ceiling);
	permissions_free(old);
	return n < 0 ? n : 0;
}

/* For a thread that can wait */

bool joined_next_change(struct joined *j, struct joined_change *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = j->live;

	if (!l || !l->has_change)
		return false;
	*ret = l->change;
	l->change = (struct joined_change){ 0 };
	l->has_change = false;
	return true;
}

void joined_settle(struct joined *j, int code, const char *why)
{
	auto_lock held = lock_take(&j->lock);

	holder_live_settled(&j->live->live, code, why);
}

bool joined_must_end(struct joined *j, struct error *ret_why)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = j->live;

	if (!l || !l->must_end)
		return false;
	*ret_why = l->why;
	l->must_end = false;
	return true;
}

/* What is shown must be what is asked, whole; and what no log may have, the daemon does not get. */
static bool joined_is_plain(struct corral_audit *audit, const struct question *q)
{
	const struct audit_event asked = { .session = "",
		.user = "",
		.sandbox = "",
		.program = q->program,
		.target = q->target,
		.rule = q->rule,
		.reason = q->reason };
	bool is_plain = true;

	/* Checks each scope in the place of the target, and then the target itself. */
	for (uint32_t i = 0; audit && is_plain && i <= q->n_scopes; i++) {
		struct audit_event e = asked;
		auto_buffer texts = { 0 };

		if (i < q->n_scopes)
			e.target = q->scopes[i];
		audit_trail_redact(audit->trail, &e, &texts);
		is_plain = strcmp(e.target, i < q->n_scopes ? q->scopes[i] : q->target) == 0 &&
			   strcmp(e.program, q->program) == 0 && strcmp(e.rule, q->rule) == 0 &&
			   strcmp(e.reason, q->reason) == 0;
	}
	return is_plain;
}

int joined_ask(struct joined *j, uint64_t asker, const struct question *q)
{
	if (!joined_is_plain(j->audit, q) || !joined_is_plain(j->host, q))
		return -EPERM;
	auto_lock held = lock_take(&j->lock);

	return j->live ? holder_live_ask(&j->live->live, asker, q) : -ENOTCONN;
}

void joined_questions_over(struct joined *j, uint64_t mask, uint64_t bits, enum question_end how)
{
	auto_lock held = lock_take(&j->lock);

	if (j->live)
		holder_live_questions_over(&j->live->live, mask, bits, how);
}

bool joined_next_answer(struct joined *j, uint64_t *ret_asker, struct answer *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = j->live;

	if (!l || l->n_answers == 0)
		return false;
	*ret_asker = l->answers[0].asker;
	*ret = l->answers[0].a;
	memmove(l->answers, l->answers + 1, --l->n_answers * sizeof(l->answers[0]));
	return true;
}

static bool joined_next_note(struct joined *j, struct joined_note *ret)
{
	auto_lock held = lock_take(&j->lock);
	struct joined_live *l = j->live;

	if (!l || l->n_notes == 0)
		return false;
	*ret = l->notes[0];
	memmove(l->notes, l->notes + 1, --l->n_notes * sizeof(l->notes[0]));
	return true;
}

void joined_tell_notes(struct joined *j)
{
	struct joined_note note;

	while (joined_next_note(j, &note)) {
		const struct audit_event e = { .action = note.action,
			.decision = note.decision,
			.target = note.target,
			.reason = note.reason };

		if (j->host)
			(void)audit_trail_add(j->host->trail, &e);
		joined_add(j, &e);
		free(note.target);
		free(note.reason);
	}
}
