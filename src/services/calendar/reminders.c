/* SPDX-License-Identifier: Apache-2.0 */
/* The methods reminders.*: VTODOs in lists. */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "services/calendar/serve.h"
#include "services/calendar/show.h"

/* Places of parameters and results, as the rows of broker/method.c have them. */
enum { LIST_LIST, LIST_COMPLETED, LIST_LIMIT };
enum { LISTED_REMINDERS, LISTED_LISTS, LISTED_TRUNCATED, LISTED_SKIPPED };
enum { ADD_LIST, ADD_TITLE, ADD_NOTES, ADD_DUE, ADD_PRIORITY };
enum {
	UPDATE_ID,
	UPDATE_LIST,
	UPDATE_TITLE,
	UPDATE_NOTES,
	UPDATE_DUE,
	UPDATE_PRIORITY,
	UPDATE_MOVE,
	UPDATE_ETAG
};
enum { CHANGE_ID, CHANGE_LIST, CHANGE_ETAG };
enum { CHANGED_ID, CHANGED_LIST, CHANGED_ETAG, CHANGED_DUE };

/* reminders.list */

struct reminders_listing {
	struct serving *s;
	const struct store_list *list;
	struct buffer out;
	struct json_writer w;
	size_t n, limit;
	bool completed, is_cut;
};

static int reminders_add_one(void *context, const struct store_item *i)
{
	struct reminders_listing *l = context;
	auto_buffer one = { 0 };
	struct json_writer w = { .out = &one };

	if (!l->completed && item_is_completed(i->item))
		return 0;
	if (l->n == l->limit) {
		l->is_cut = true;
		return 1;
	}
	show_reminder(i->item, l->list->name, i->tag, &w);
	if (l->out.len + one.len > SERVE_ANSWER_MAX) {
		l->is_cut = true;
		return 1;
	}
	json_put_raw(&l->w, NULL, buffer_text(&one));
	if (one.failed || l->out.failed)
		return error_no_memory(&l->s->error);
	l->n++;
	return serve_check_time(l->s);
}

static int reminders_add_list(
	struct reminders_listing *l, const struct store_list *list, size_t *skipped)
{
	struct store_query q = { .kind = ITEM_TODO, .each = reminders_add_one, .context = l };
	int r;

	l->list = list;
	r = l->s->serve->store->calls->each(l->s->serve->store, list, &q, &l->s->error);
	*skipped += q.n_skipped;
	return r;
}

static void reminders_list(struct backend_call *c)
{
	auto_serving s;
	int r = serve_begin(&s, c);
	const char *name = serve_text(&s, LIST_LIST);
	struct reminders_listing l = { .s = &s,
		.limit = s.params[LIST_LIMIT].type ? s.params[LIST_LIMIT].number : SERVE_LIMIT,
		.completed = s.params[LIST_COMPLETED].number,
		.w.out = &l.out };
	const struct store_list *list = NULL;
	struct values v = { 0 };
	size_t skipped = 0;

	json_open_list(&l.w, NULL);
	if (r == 0 && name) {
		r = serve_list(&s, "read", name, &list);
		r = r < 0 ? r : reminders_add_list(&l, list, &skipped);
	}
	/* All that is granted; what two lists are called is no name of one. */
	for (size_t i = 0; r == 0 && !name && i < s.lists.n; i++) {
		list = &s.lists.items[i];
		if (store_lists_count(&s.lists, list->name) == 1 && serve_allows(&s, "read", list))
			r = reminders_add_list(&l, list, &skipped);
	}
	if (r < 0) {
		serve_refuse(&s, r);
	} else {
		json_close(&l.w);
		v.v[LISTED_REMINDERS] = (struct value){
			.type = SCHEMA_JSON, .text = buffer_text(&l.out), .len = l.out.len
		};
		v.v[LISTED_LISTS] = serve_names(&s);
		v.v[LISTED_TRUNCATED] = value_number(SCHEMA_FLAG, l.is_cut);
		v.v[LISTED_SKIPPED] = value_number(SCHEMA_NUMBER, skipped);
		backend_answer(c, &v);
	}
	buffer_deinit(&l.out);
}

/* What a caller wants it to be */

static int reminders_compose(
	struct serving *s, int title, int notes, int due, int priority, struct composition *ret)
{
	static const char digits[] = "0\0001\0002\0003\0004\0005\0006\0007\0008\0009";
	const char *text = serve_text(s, due);

	*ret = (struct composition){ .kind = ITEM_TODO,
		.title = serve_text(s, title),
		.notes = serve_text(s, notes),
		.now = serve_now() };
	if (s->params[priority].type != SCHEMA_NONE)
		ret->priority = digits + 2 * s->params[priority].number;
	if (text && !*text)
		ret->no_due = true;
	else if (text && moment_parse(&ret->due, text, NULL) < 0)
		return error_set(&s->error, -EINVAL, NULL,
			"`%s` is no date or time: write 2026-11-16 or 2026-11-16T09:00:00+01:00",
			text);
	return 0;
}

/* Answers with the item's id, list and tag; due may be NULL. */
static void reminders_answer(struct backend_call *c, const char *uid, const struct store_list *list,
	const struct buffer *tag, const struct moment *due)
{
	auto_buffer text = { 0 };
	struct values v = { 0 };

	v.v[CHANGED_ID] = value_text(uid, strlen(uid));
	v.v[CHANGED_LIST] = value_text(list->name, strlen(list->name));
	v.v[CHANGED_ETAG] = value_text(buffer_text(tag), tag->len);
	if (due && due->is_set) {
		moment_print(due, &text);
		v.v[CHANGED_DUE] = value_text(buffer_text(&text), text.len);
	}
	backend_answer(c, &v);
}

static void reminders_add(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL;
	struct composition want = { 0 };
	char uid[COMPOSE_UID];
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, ADD_LIST), &list);
	if (r == 0)
		r = reminders_compose(&s, ADD_TITLE, ADD_NOTES, ADD_DUE, ADD_PRIORITY, &want);
	if (r == 0)
		r = serve_add(&s, list, &want, uid, &tag);
	if (r < 0 || !list)
		serve_refuse(&s, r);
	else
		reminders_answer(c, uid, list, &tag, &want.due);
}

static int reminders_change(
	struct serving *s, struct serve_found *f, void *context, struct buffer *out)
{
	return compose_change(f->item.item, context, out, &s->error);
}

static void reminders_update(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL, *to = NULL;
	struct composition want = { 0 };
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, UPDATE_LIST), &list);
	to = list;
	if (r == 0 && serve_text(&s, UPDATE_MOVE))
		r = serve_list(&s, "write", serve_text(&s, UPDATE_MOVE), &to);
	if (r == 0)
		r = reminders_compose(
			&s, UPDATE_TITLE, UPDATE_NOTES, UPDATE_DUE, UPDATE_PRIORITY, &want);
	if (r == 0)
		r = serve_update(&s, list, to, serve_text(&s, UPDATE_ID),
			serve_text(&s, UPDATE_ETAG), reminders_change, &want, &tag);
	if (r < 0 || !to)
		serve_refuse(&s, r);
	else
		reminders_answer(c, serve_text(&s, UPDATE_ID), to, &tag, &want.due);
}

static int reminders_finish(
	struct serving *s, struct serve_found *f, void *context, struct buffer *out)
{
	int r = compose_completed(f->item.item, serve_now(), out, context);

	return r < 0 ? error_set(&s->error, r, NULL, "the reminder's times cannot be read") : 0;
}

static void reminders_complete(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL;
	struct moment next = { 0 };
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, CHANGE_LIST), &list);
	if (r == 0)
		r = serve_update(&s, list, list, serve_text(&s, CHANGE_ID),
			serve_text(&s, CHANGE_ETAG), reminders_finish, &next, &tag);
	if (r < 0 || !list)
		serve_refuse(&s, r);
	else
		reminders_answer(c, serve_text(&s, CHANGE_ID), list, &tag, &next);
}

static void reminders_delete(struct backend_call *c)
{
	auto_serving s;
	const struct store_list *list = NULL;
	struct values v = { .v = { value_number(SCHEMA_FLAG, 1) } };
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, CHANGE_LIST), &list);
	if (r == 0)
		r = serve_delete(
			&s, list, serve_text(&s, CHANGE_ID), serve_text(&s, CHANGE_ETAG), NULL);
	if (r < 0)
		serve_refuse(&s, r);
	else
		backend_answer(c, &v);
}

const struct backend_method reminders_methods[] = {
	{ METHOD_REMINDERS_LIST, reminders_list },
	{ METHOD_REMINDERS_ADD, reminders_add },
	{ METHOD_REMINDERS_UPDATE, reminders_update },
	{ METHOD_REMINDERS_COMPLETE, reminders_complete },
	{ METHOD_REMINDERS_DELETE, reminders_delete },
	{ 0 },
};
