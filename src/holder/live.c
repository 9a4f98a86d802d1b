/* SPDX-License-Identifier: Apache-2.0 */
#include "holder/live.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/clock.h"
#include "holder/live-ceiling.h"

/* Grants and questions end by a clock that goes on while the machine sleeps, and that setting the
 * time of the day does not touch. */
static uint64_t live_now_ms(void)
{
	return clock_ms(CLOCK_BOOTTIME);
}

/* The number of an order that no daemon gave: the user answered here. */
#define LIVE_ORDER_HERE UINT64_MAX

/* Telling the daemon */

static void live_send(struct holder_live *l, enum frame_type type, uint64_t id, struct buffer *body)
{
	if (!body->failed)
		holder_join_send(l->join, type, id, body);
}

static void live_reply(
	struct holder_live *l, uint64_t order, uint64_t made, int code, const char *text)
{
	const struct join_reply r = {
		.made = code < 0 ? 0 : made, .error = -code, .text = code < 0 ? text : ""
	};
	auto_buffer body = { 0 };

	if (order == LIVE_ORDER_HERE && code < 0 && l->hooks.refused)
		l->hooks.refused(l->hooks.context, l->here, text);
	if (order && order != LIVE_ORDER_HERE && join_reply_encode(&r, &body) == 0)
		live_send(l, FRAME_JOIN_REPLY, order, &body);
}

static void live_tell_question(struct holder_live *l, const struct holder_live_question *x)
{
	const uint64_t now = live_now_ms();
	struct question q = x->q;
	auto_buffer body = { 0 };

	q.wait_ms = (uint32_t)(x->until_ms > now ? x->until_ms - now : 0);
	if (question_encode(&q, &body) == 0)
		live_send(l, FRAME_QUESTION, x->id, &body);
}

static void live_tell_grant(struct holder_live *l, const struct holder_live_grant *g)
{
	auto_buffer body = { 0 };

	if (live_grant_encode(&g->g, &body) == 0)
		live_send(l, FRAME_GRANTED, g->id, &body);
}

static void live_note(struct holder_live *l, enum audit_action action, enum audit_decision decision,
	const char *target, const char *reason)
{
	const struct audit_event e = {
		.action = action, .decision = decision, .target = target, .reason = reason
	};

	if (l->hooks.note)
		l->hooks.note(l->hooks.context, &e);
}

/* Questions */

static struct holder_live_question *live_find_question(
	struct holder_live *l, uint64_t id, uint64_t asker)
{
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++) {
		struct holder_live_question *x = &l->questions[i];

		if (x->id && (id ? x->id == id : x->asker == asker))
			return x;
	}
	return NULL;
}

static void live_drop_question(
	struct holder_live *l, struct holder_live_question *x, enum question_end how)
{
	const uint32_t word = how;
	auto_buffer body = { 0 };

	buffer_add(&body, &word, sizeof(word));
	live_send(l, FRAME_QUESTION_OVER, x->id, &body);
	if (l->hooks.over)
		l->hooks.over(l->hooks.context, x->id, how);
	arena_deinit(&x->arena);
	*x = (struct holder_live_question){ 0 };
}

static int live_copy_question(
	struct holder_live *l, struct holder_live_question *x, const struct question *q)
{
	const char **const texts[] = { &x->q.target, &x->q.program, &x->q.rule, &x->q.reason,
		&x->q.method };

	x->q = *q;
	for (size_t i = 0; i < ROWS(texts); i++) {
		*texts[i] = arena_strdup(&x->arena, *texts[i] ? *texts[i] : "");
		if (!*texts[i])
			return -ENOMEM;
	}
	for (size_t i = 0; i < q->n_scopes; i++) {
		x->q.scopes[i] = arena_strdup(&x->arena, q->scopes[i]);
		if (!x->q.scopes[i])
			return -ENOMEM;
	}
	return live_ceiling_widen(&l->ceiling, &x->q, &x->arena);
}

/* Whether the user is asked, and if not, a record of the first one that they are not. */
static enum answer_why live_admit(struct holder_live *l, const struct question *q, bool has_room)
{
	enum answer_why why = ANSWER_TOO_MANY;
	const bool was_refusing = l->asking.is_refusing;

	if (has_room)
		why = holder_asking_admit(&l->asking, q, clock_ms(CLOCK_MONOTONIC));
	l->asking.is_refusing = why != ANSWER_BY_USER;
	if (l->asking.is_refusing && !was_refusing)
		live_note(l, AUDIT_APPROVAL, AUDIT_DENIED, q->target, answer_why_text(why));
	return why;
}

int holder_live_ask(struct holder_live *l, uint64_t asker, const struct question *q)
{
	struct holder_live_question *x = live_find_question(l, 0, asker);
	uint64_t until;
	size_t i = 0;
	int r;

	if (!x) {
		while (i < HOLDER_LIVE_QUESTIONS_MAX && l->questions[i].id)
			i++;
		r = (int)live_admit(l, q, i < HOLDER_LIVE_QUESTIONS_MAX);
		if (r > 0)
			return r;
		x = &l->questions[i];
		r = live_copy_question(l, x, q);
		if (r < 0) {
			arena_deinit(&x->arena);
			*x = (struct holder_live_question){ 0 };
			return r;
		}
		x->id = ++l->next_id;
		x->asker = asker;
	}
	/* Of several who ask, the last one. */
	until = live_now_ms() + q->wait_ms;
	x->until_ms = until > x->until_ms ? until : x->until_ms;
	live_tell_question(l, x);
	return 0;
}

void holder_live_question_over(struct holder_live *l, uint64_t asker, enum question_end how)
{
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++) {
		struct holder_live_question *x = &l->questions[i];

		if (!x->id || (asker ? x->asker != asker : x->asker & QUESTION_OF_RELAY))
			continue;
		/* The relay lets go on who waited when it hears of the grant that is the answer. */
		if (l->is_busy && l->question == x->id) {
			x->is_left = true;
			x->how = how;
			continue;
		}
		live_drop_question(l, x, how);
	}
}

void holder_live_questions_over(
	struct holder_live *l, uint64_t mask, uint64_t bits, enum question_end how)
{
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (l->questions[i].id && (l->questions[i].asker & mask) == bits)
			holder_live_question_over(l, l->questions[i].asker, how);
}

/* Changes */

static struct holder_live_grant *live_find_grant(struct holder_live *l, uint64_t id)
{
	for (size_t i = 0; i < l->n_grants; i++)
		if (l->grants[i].id == id)
			return &l->grants[i];
	return NULL;
}

static void live_remove_grant(struct holder_live *l, struct holder_live_grant *g)
{
	const size_t i = (size_t)(g - l->grants);

	free((char *)(uintptr_t)g->g.pattern);
	l->n_grants--;
	memmove(g, g + 1, (l->n_grants - i) * sizeof(*g));
}

static void live_run_waiting(struct holder_live *l);

/* All grants but those that are over. */
static int live_put(struct holder_live *l, struct error *e)
{
	struct live_grant *all = calloc(l->n_grants + 1, sizeof(*all));
	size_t n = 0;
	int r;

	if (!all)
		return error_no_memory(e);
	for (size_t i = 0; i < l->n_grants; i++) {
		l->grants[i].is_out = l->grants[i].is_over;
		if (!l->grants[i].is_over)
			all[n++] = l->grants[i].g;
	}
	l->is_busy = true;
	r = l->hooks.put(l->hooks.context, all, n, e);
	if (r < 0)
		l->is_busy = false;
	free(all);
	return r;
}

static void live_answer_question(
	struct holder_live *l, struct holder_live_question *x, const struct answer *a)
{
	static const enum audit_decision decisions[] = { [ANSWER_DENY] = AUDIT_DENIED,
		[ANSWER_ONCE] = AUDIT_ALLOWED,
		[ANSWER_ALLOW] = AUDIT_ALLOWED };
	static const char *const words[] = { [ANSWER_DENY] = "the answer was no",
		[ANSWER_ONCE] = "the answer was: once",
		[ANSWER_ALLOW] = "the answer was yes" };

	live_note(l, AUDIT_APPROVAL, decisions[a->kind], x->q.target, words[a->kind]);
	holder_asking_answered(
		&l->asking, &x->q, (enum answer_kind)a->kind, clock_ms(CLOCK_MONOTONIC));
	l->hooks.answer(l->hooks.context, x->asker, a);
	live_drop_question(l, x, QUESTION_ANSWERED);
}

static void live_put_in_force(struct holder_live *l, struct holder_live_grant *g)
{
	struct holder_live_question *x = l->question ? live_find_question(l, l->question, 0) : NULL;

	g->is_new = false;
	live_note(l, AUDIT_POLICY, AUDIT_ALLOWED, g->g.pattern, "granted while it runs");
	live_tell_grant(l, g);
	if (x)
		live_answer_question(l, x, &(struct answer){ .kind = ANSWER_ALLOW, .pattern = "" });
}

/* Those that the change left out; another may be over since. */
static void live_end_grants(struct holder_live *l)
{
	auto_buffer none = { 0 };

	for (size_t i = l->n_grants; i > 0; i--) {
		struct holder_live_grant *g = &l->grants[i - 1];

		if (!g->is_out)
			continue;
		if (!g->is_new) {
			live_note(l, AUDIT_POLICY, AUDIT_ALLOWED, g->g.pattern,
				"revoked: it was granted while it ran");
			live_send(l, FRAME_GRANT_OVER, g->id, &none);
		}
		live_remove_grant(l, g);
	}
}

/* The change failed: what is new is given up, and those before it are put in force again. */
static void live_undo(struct holder_live *l, const char *why)
{
	struct error e = { 0 };
	bool is_new = false;

	for (size_t i = 0; i < l->n_grants; i++) {
		is_new = is_new || l->grants[i].is_new;
		l->grants[i].is_over = l->grants[i].is_over || l->grants[i].is_new;
	}
	l->is_undoing = is_new;
	if (!is_new)
		l->hooks.fail(l->hooks.context, why);
	else if (live_put(l, &e) < 0)
		l->hooks.fail(l->hooks.context, e.text);
}

void holder_live_settled(struct holder_live *l, int code, const char *why)
{
	struct holder_live_grant *g = live_find_grant(l, l->made);
	const uint64_t order = l->order, made = l->made;
	struct holder_live_question *x = l->question ? live_find_question(l, l->question, 0) : NULL;

	if (!l->is_busy)
		return;
	l->is_busy = false;
	if (code < 0 && l->is_undoing) {
		l->hooks.fail(l->hooks.context, why);
		return;
	}
	if (code == 0 && g && g->is_new && !l->is_undoing)
		live_put_in_force(l, g);
	else if (x && x->is_left)
		live_drop_question(l, x, x->how);
	if (code == 0)
		live_end_grants(l);
	if (!l->is_undoing)
		live_reply(l, order, made, code, why);
	l->order = l->made = l->question = 0;
	l->is_undoing = false;
	if (code < 0)
		live_undo(l, why);
	if (!l->is_busy)
		live_run_waiting(l);
}

void holder_live_declare(struct holder_live *l, const struct holder_live_ceiling *ceiling)
{
	l->ceiling = *ceiling;
	if (l->is_busy && !l->is_undoing)
		live_reply(l, l->order, 0, -ESTALE, "the host program gave other permissions");
	l->is_busy = l->is_undoing = false;
	l->order = l->made = l->question = 0;
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (l->questions[i].id && l->questions[i].is_left)
			live_drop_question(l, &l->questions[i], l->questions[i].how);
	for (size_t i = 0; i < l->n_grants; i++)
		l->grants[i].is_out = true;
	live_end_grants(l);
	live_run_waiting(l);
}

/* Orders */

/* 0: it will be settled. */
static int live_add_grant(struct holder_live *l, const struct live_grant *order,
	const struct holder_live_question *for_question, struct error *e)
{
	const uint64_t now = clock_ms(CLOCK_REALTIME);
	auto_arena scratch = { 0 };
	struct holder_live_grant g = { .is_new = true, .g = *order };
	int r = live_ceiling_check(&l->ceiling, &g.g, &scratch, e);

	if (r == 0 && l->n_grants >= QUESTION_GRANTS_MAX)
		r = error_set(
			e, -ENOSPC, NULL, "the sandbox has %d grants already", QUESTION_GRANTS_MAX);
	if (r < 0)
		return r;
	g.id = ++l->next_id;
	g.g.since_ms = now;
	g.g.until_ms = order->until_ms ? now + order->until_ms : 0;
	g.g.ends_ms = order->until_ms ? live_now_ms() + order->until_ms : 0;
	g.g.pattern = strdup(g.g.pattern);
	if (!g.g.pattern || ARRAY_PUSH(l->grants, l->n_grants, l->cap_grants, g) < 0) {
		free((char *)(uintptr_t)g.g.pattern);
		return error_no_memory(e);
	}
	l->made = g.id;
	l->question = for_question ? for_question->id : 0;
	r = live_put(l, e);
	if (r < 0)
		live_remove_grant(l, &l->grants[l->n_grants - 1]);
	return r;
}

static int live_on_grant(struct holder_live *l, const struct holder_live_order *o, struct error *e)
{
	struct live_grant g;

	if (live_grant_decode(&g, o->body.data, o->body.len) < 0)
		return -EPROTO;
	return live_add_grant(l, &g, NULL, e);
}

static int live_on_revoke(struct holder_live *l, const struct holder_live_order *o, struct error *e)
{
	struct holder_live_grant *g;
	uint64_t id;

	if (o->body.len != sizeof(id))
		return error_set(e, -ENOENT, NULL, "there is no such grant");
	memcpy(&id, o->body.data, sizeof(id));
	g = live_find_grant(l, id);
	if (!g || g->is_over)
		return error_set(e, -ENOENT, NULL, "there is no such grant any more");
	g->is_over = true;
	return live_put(l, e);
}

static int live_on_allow(struct holder_live *l, const struct holder_live_question *x,
	const struct answer *a, struct error *e)
{
	const struct live_grant g = { .op = x->q.op,
		.until_ms = a->ttl_ms,
		.by = GRANT_BY_ANSWER,
		.pattern = a->pattern[0] ? a->pattern : x->q.scopes[0] };
	size_t i = 0;

	if (x->q.n_scopes == 0)
		return error_set(e, -EOPNOTSUPP, NULL,
			"this cannot be allowed for longer than once: it has no pattern of its "
			"own");
	while (i < x->q.n_scopes && strcmp(x->q.scopes[i], g.pattern) != 0)
		i++;
	if (i == x->q.n_scopes)
		return error_set(
			e, -EINVAL, NULL, "%s is not one of the question's scopes", g.pattern);
	return live_add_grant(l, &g, x, e);
}

/* 1: it is done. */
static int live_on_answer(struct holder_live *l, const struct holder_live_order *o, struct error *e)
{
	struct holder_live_question *x;
	struct answer a;
	int r;

	if (answer_decode(&a, o->body.data, o->body.len) < 0)
		return -EPROTO;
	x = live_find_question(l, a.question, 0);
	if (!x)
		return error_set(
			e, -ENOENT, NULL, "the sandbox does not wait for this answer any more");
	if (a.kind == ANSWER_ALLOW)
		return live_on_allow(l, x, &a, e);
	r = a.kind == ANSWER_ONCE ? live_ceiling_check_once(&l->ceiling, &x->q, e) : 0;
	if (r < 0)
		return r;
	live_answer_question(l, x, &a);
	return 1;
}

static void live_run(struct holder_live *l, struct holder_live_order *o)
{
	struct error e = { 0 };
	int r;

	/* It may be settled at once. */
	l->order = o->id;
	r = o->type == FRAME_ANSWER   ? live_on_answer(l, o, &e)
	    : o->type == FRAME_GRANT  ? live_on_grant(l, o, &e)
	    : o->type == FRAME_REVOKE ? live_on_revoke(l, o, &e)
				      : live_put(l, &e);
	if (r != 0) {
		l->order = l->made = l->question = 0;
		live_reply(l, o->id, 0, r < 0 ? r : 0, e.text[0] ? e.text : strerror(-r));
	}
	if (r < 0 && (o->type == FRAME_REVOKE || o->type == FRAME_NONE) && r != -ENOENT)
		l->hooks.fail(l->hooks.context, e.text);
	buffer_deinit(&o->body);
}

static void live_run_waiting(struct holder_live *l)
{
	while (!l->is_busy && l->n_waiting > 0) {
		struct holder_live_order o = l->waiting[0];

		l->n_waiting--;
		memmove(l->waiting, l->waiting + 1, l->n_waiting * sizeof(o));
		live_run(l, &o);
	}
}

static void live_take(struct holder_live *l, struct holder_live_order *o)
{
	if (l->n_waiting >= HOLDER_LIVE_ORDERS_MAX) {
		live_reply(l, o->id, 0, -EBUSY, "too many changes are under way; try again");
		buffer_deinit(&o->body);
		return;
	}
	l->waiting[l->n_waiting++] = *o;
	live_run_waiting(l);
}

/* From the daemon */

static void live_on_order(
	void *context, enum frame_type type, uint64_t id, const void *body, size_t len)
{
	struct holder_live_order o = { .type = type, .id = id };

	buffer_add(&o.body, body, len);
	if (o.body.failed || id == LIVE_ORDER_HERE)
		buffer_deinit(&o.body);
	else
		live_take(context, &o);
}

void holder_live_answer(struct holder_live *l, const struct answer *a)
{
	struct holder_live_order o = { .type = FRAME_ANSWER, .id = LIVE_ORDER_HERE };

	l->here = a->question;
	if (answer_encode(a, &o.body) < 0 || o.body.failed)
		buffer_deinit(&o.body);
	else
		live_take(l, &o);
}

const struct holder_live_question *holder_live_next(const struct holder_live *l, uint64_t after)
{
	const struct holder_live_question *found = NULL;

	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++) {
		const struct holder_live_question *x = &l->questions[i];

		if (x->id > after && !x->is_left && (!found || x->id < found->id))
			found = x;
	}
	return found;
}

static void live_on_joined(void *context)
{
	struct holder_live *l = context;

	if (l->hooks.describe)
		l->describe_ms = live_now_ms() + HOLDER_LIVE_DESCRIBE_MS;
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (l->questions[i].id)
			live_tell_question(l, &l->questions[i]);
	for (size_t i = 0; i < l->n_grants; i++)
		if (!l->grants[i].is_new && !l->grants[i].is_over)
			live_tell_grant(l, &l->grants[i]);
}

void holder_live_init(struct holder_live *l, struct holder_join *join,
	const struct holder_live_hooks *hooks, const struct holder_live_ceiling *ceiling)
{
	*l = (struct holder_live){ .hooks = *hooks, .ceiling = *ceiling, .join = join };
	join->handler = (struct holder_join_handler){
		.order = live_on_order, .joined = live_on_joined, .context = l
	};
}

void holder_live_deinit(struct holder_live *l)
{
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		arena_deinit(&l->questions[i].arena);
	for (size_t i = 0; i < l->n_grants; i++)
		free((char *)(uintptr_t)l->grants[i].g.pattern);
	free(l->grants);
	for (size_t i = 0; i < l->n_waiting; i++)
		buffer_deinit(&l->waiting[i].body);
	if (l->join)
		l->join->handler = (struct holder_join_handler){ 0 };
	*l = (struct holder_live){ 0 };
}

/* Time */

/* One order is enough for all that are over by the time it is carried out. */
static void live_end_later(struct holder_live *l)
{
	for (size_t i = 0; i < l->n_waiting; i++)
		if (l->waiting[i].type == FRAME_NONE)
			return;
	l->waiting[l->n_waiting++] = (struct holder_live_order){ .type = FRAME_NONE };
	live_run_waiting(l);
}

void holder_live_tick(struct holder_live *l)
{
	const uint64_t now = live_now_ms();
	bool is_due = false;

	if (l->describe_ms && l->describe_ms <= now) {
		l->describe_ms = 0;
		l->hooks.describe(l->hooks.context);
	}
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (l->questions[i].id && l->questions[i].until_ms <= now)
			live_drop_question(l, &l->questions[i], QUESTION_EXPIRED);
	for (size_t i = 0; i < l->n_grants; i++) {
		struct holder_live_grant *g = &l->grants[i];

		if (g->is_over || g->is_new || !live_grant_is_over(&g->g, now))
			continue;
		g->is_over = is_due = true;
	}
	if (is_due)
		live_end_later(l);
}

static int live_sooner(uint64_t at, uint64_t now, int otherwise)
{
	uint64_t left = at > now ? at - now : 0;

	left = left > INT32_MAX ? INT32_MAX : left;
	return otherwise < 0 || (int)left < otherwise ? (int)left : otherwise;
}

int holder_live_wait_ms(const struct holder_live *l, int otherwise)
{
	const uint64_t now = live_now_ms();

	if (l->describe_ms)
		otherwise = live_sooner(l->describe_ms, now, otherwise);
	for (size_t i = 0; i < HOLDER_LIVE_QUESTIONS_MAX; i++)
		if (l->questions[i].id)
			otherwise = live_sooner(l->questions[i].until_ms, now, otherwise);
	for (size_t i = 0; i < l->n_grants; i++) {
		const struct holder_live_grant *g = &l->grants[i];

		/* One that is new is looked at again when its change is settled. */
		if (!g->is_over && !g->is_new && g->g.ends_ms)
			otherwise = live_sooner(g->g.ends_ms, now, otherwise);
	}
	return otherwise;
}
