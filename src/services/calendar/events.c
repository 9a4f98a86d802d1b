/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The methods calendar.*: VEVENTs in calendars. Where the policy grants a range, a caller sees what
 * occurs in it, and changes what lies in it as a whole: neither an event that recurs beyond it, nor
 * one that would be moved out of it, nor one that comes into it from outside. Of an event that
 * recurs beyond it, a single occurrence may be changed that lies in it, before and after.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "services/calendar/serve.h"
#include "services/calendar/show.h"

/* Places of parameters and results, as the rows of broker/method.c have them. */
enum { LIST_CALENDAR, LIST_FROM, LIST_TO, LIST_LIMIT };
enum { LISTED_EVENTS, LISTED_CALENDARS, LISTED_TRUNCATED, LISTED_SKIPPED };
enum { GET_ID, GET_CALENDAR };
enum {
	CREATE_CALENDAR,
	CREATE_TITLE,
	CREATE_START,
	CREATE_END,
	CREATE_ZONE,
	CREATE_LOCATION,
	CREATE_NOTES,
	CREATE_RULE
};
enum {
	UPDATE_ID,
	UPDATE_CALENDAR,
	UPDATE_TITLE,
	UPDATE_START,
	UPDATE_END,
	UPDATE_ZONE,
	UPDATE_LOCATION,
	UPDATE_NOTES,
	UPDATE_RULE,
	UPDATE_MOVE,
	UPDATE_ETAG,
	UPDATE_OCCURRENCE
};
enum { DELETE_ID, DELETE_CALENDAR, DELETE_ETAG, DELETE_OCCURRENCE };
enum { CHANGED_ID, CHANGED_CALENDAR, CHANGED_ETAG };

enum { EVENTS_DAYS = 7 }; /* that are listed if the caller does not say */

/* calendar.list */

struct events_row {
	int64_t at;
	size_t n; /* in the order in which they were found */
	const char *text;
};

struct events_listing {
	struct serving *s;
	const struct store_list *list;
	struct window window; /* what is asked for, in what is granted */
	struct events_row *rows;
	size_t n, cap, limit, bytes, skipped;
	bool is_cut;
};

static int events_add_one(void *context, const struct store_item *i)
{
	struct events_listing *l = context;
	struct arena *a = &l->s->call->arena;
	struct occurrences found = { 0 };
	auto_arena own = { 0 };
	int r = expand(i->item, &l->window, &own, &found);

	if (r == -ENOMEM)
		return error_no_memory(&l->s->error);
	l->skipped += r < 0;
	l->is_cut = l->is_cut || r == 1;
	for (size_t k = 0; r >= 0 && k < found.n; k++) {
		struct events_row row = { .at = found.items[k].start.at, .n = l->n };
		auto_buffer out = { 0 };
		struct json_writer w = { .out = &out };

		show_event(i->item, &found.items[k], l->list->name, i->tag, &w);
		row.text = out.failed ? NULL : arena_strndup(a, buffer_text(&out), out.len);
		if (!row.text || ARENA_PUSH(a, l->rows, l->n, l->cap, row) < 0)
			return error_no_memory(&l->s->error);
		l->bytes += out.len + 1;
		/* More than can be answered, whichever of them come first. */
		if (l->bytes > 4 * (size_t)SERVE_ANSWER_MAX || l->n > SERVE_LIMIT_MAX)
			return error_set(&l->s->error, -EFBIG, NULL,
				"these are more events than an answer can have; ask for a shorter "
				"time");
	}
	return serve_check_time(l->s);
}

static int events_add_calendar(struct events_listing *l, const struct store_list *list,
	const struct window *wanted, int64_t now)
{
	const struct window granted = serve_window(l->s, "read", list, now);
	struct store_query q = {
		.kind = ITEM_EVENT, .window = &l->window, .each = events_add_one, .context = l
	};
	int r;

	l->list = list;
	l->window.from = wanted->from > granted.from ? wanted->from : granted.from;
	l->window.to = wanted->to < granted.to ? wanted->to : granted.to;
	if (l->window.from >= l->window.to)
		return 0;
	r = l->s->serve->store->calls->each(l->s->serve->store, list, &q, &l->s->error);
	l->skipped += q.n_skipped;
	return r;
}

static int events_compare(const void *a, const void *b)
{
	const struct events_row *x = a, *y = b;

	if (x->at != y->at)
		return x->at < y->at ? -1 : 1;
	return x->n < y->n ? -1 : x->n > y->n;
}

/* The first of them, in their order, as a list. */
static void events_print(struct events_listing *l, struct buffer *out)
{
	struct json_writer w = { .out = out };
	size_t n = 0;

	if (l->n > 0)
		qsort(l->rows, l->n, sizeof(*l->rows), events_compare);
	json_open_list(&w, NULL);
	for (; n < l->n && n < l->limit; n++) {
		if (out->len + strlen(l->rows[n].text) > SERVE_ANSWER_MAX)
			break;
		json_put_raw(&w, NULL, l->rows[n].text);
	}
	json_close(&w);
	l->is_cut = l->is_cut || n < l->n;
}

/* From and to, as the caller says; else a week from now on. */
static int events_read_window(struct serving *s, int64_t now, struct window *ret)
{
	const char *from = serve_text(s, LIST_FROM), *to = serve_text(s, LIST_TO);
	struct moment m;

	ret->from = now;
	if (from && moment_parse(&m, from, NULL) < 0)
		return error_set(&s->error, -EINVAL, NULL, "from: `%s` is no date or time", from);
	if (from)
		ret->from = m.at;
	ret->to = ret->from + (int64_t)EVENTS_DAYS * MOMENT_DAY;
	if (to && moment_parse(&m, to, NULL) < 0)
		return error_set(&s->error, -EINVAL, NULL, "to: `%s` is no date or time", to);
	/* A date is in it. */
	if (to)
		ret->to = m.is_date ? m.at + MOMENT_DAY : m.at;
	if (ret->to <= ret->from)
		return error_set(&s->error, -EINVAL, NULL, "`to` must be behind `from`");
	return 0;
}

static void events_list(struct backend_call *c)
{
	auto_serving s;
	auto_buffer out = { 0 };
	int r = serve_begin(&s, c);
	const char *name = serve_text(&s, LIST_CALENDAR);
	const int64_t now = serve_now();
	struct events_listing l = { .s = &s,
		.limit = s.params[LIST_LIMIT].type ? s.params[LIST_LIMIT].number : SERVE_LIMIT };
	const struct store_list *list = NULL;
	struct window wanted = { 0 };
	struct values v = { 0 };

	if (r == 0)
		r = events_read_window(&s, now, &wanted);
	if (r == 0 && name) {
		r = serve_list(&s, "read", name, &list);
		r = r < 0 ? r : events_add_calendar(&l, list, &wanted, now);
	}
	for (size_t i = 0; r == 0 && !name && i < s.lists.n; i++) {
		list = &s.lists.items[i];
		if (store_lists_count(&s.lists, list->name) == 1 && serve_allows(&s, "read", list))
			r = events_add_calendar(&l, list, &wanted, now);
	}
	if (r >= 0)
		events_print(&l, &out);
	if (r < 0 || out.failed) {
		serve_refuse(&s, r < 0 ? r : -ENOMEM);
		return;
	}
	v.v[LISTED_EVENTS] =
		(struct value){ .type = SCHEMA_JSON, .text = out.data, .len = out.len };
	v.v[LISTED_CALENDARS] = serve_names(&s);
	v.v[LISTED_TRUNCATED] = value_number(SCHEMA_FLAG, l.is_cut);
	v.v[LISTED_SKIPPED] = value_number(SCHEMA_NUMBER, l.skipped);
	backend_answer(c, &v);
}

/* calendar.get */

/* The occurrences that may be seen: of the first year from now, where there is no range. */
static int events_occurrences(
	struct serving *s, struct serve_found *f, struct buffer *out, bool *ret_cut)
{
	const int64_t now = serve_now();
	struct window w = serve_window(s, "read", f->list, now);
	struct json_writer writer = { .out = out };
	struct occurrences found = { 0 };
	auto_arena a = { 0 };
	int r;

	if (item_recurs(f->item.item) && w.to > now + (int64_t)366 * MOMENT_DAY)
		w = (struct window){ now, now + (int64_t)366 * MOMENT_DAY };
	r = expand(f->item.item, &w, &a, &found);
	if (r < 0)
		return error_set(&s->error, r == -ENOMEM ? r : -EOPNOTSUPP, NULL,
			"the event has times or rules that cannot be read");
	*ret_cut = r == 1;
	/* As if it were not there: that it is outside is not to be seen either. */
	if (found.n == 0)
		return error_set(
			&s->error, -ENOENT, NULL, "`%s` has no item with this id", f->list->name);
	json_open_list(&writer, NULL);
	for (size_t i = 0; i < found.n && out->len < SERVE_ANSWER_MAX / 2; i++)
		show_event(f->item.item, &found.items[i], f->list->name, f->item.tag, &writer);
	json_close(&writer);
	return out->failed ? error_no_memory(&s->error) : 0;
}

static void events_get(struct backend_call *c)
{
	auto_serving s;
	auto_serve_found f = { 0 };
	auto_buffer out = { 0 };
	const struct store_list *list = NULL;
	struct values v = { 0 };
	bool is_cut = false;
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "read", serve_text(&s, GET_CALENDAR), &list);
	if (r == 0)
		r = serve_find(&s, list, serve_text(&s, GET_ID), NULL, &f);
	if (r == 0)
		r = events_occurrences(&s, &f, &out, &is_cut);
	if (r < 0 || !f.item.tag) {
		serve_refuse(&s, r);
		return;
	}
	v.v[0] = (struct value){ .type = SCHEMA_JSON, .text = out.data, .len = out.len };
	v.v[1] = value_number(SCHEMA_FLAG, item_recurs(f.item.item));
	v.v[2] = value_number(SCHEMA_FLAG, is_cut);
	v.v[3] = value_text(f.item.tag, strlen(f.item.tag));
	backend_answer(c, &v);
}

/* Changes */

static int events_outside(struct serving *s, const struct store_list *list)
{
	return error_set(&s->error, -EACCES, NULL,
		"the event, or one of its recurrences, is outside of the range that is granted for "
		"`%s`",
		list->name);
}

/* All of the object lies in what may be changed in that calendar. */
static int events_check_within(struct serving *s, const struct store_list *list, struct item *i)
{
	const struct window w = serve_window(s, "write", list, serve_now());
	int r;

	if (w.from <= INT64_MIN / 4)
		return 0;
	r = expand_is_within(i, &w);
	/* What cannot be counted is not inside. */
	return r == 1 ? 0 : events_outside(s, list);
}

static int events_check_text(
	struct serving *s, const struct store_list *list, const struct buffer *text)
{
	auto_item i = NULL;
	int r = item_parse(&i, buffer_text(text), text->len);

	if (r < 0)
		return error_set(&s->error, r, NULL, "the event would be too large");
	return events_check_within(s, list, i);
}

static int events_read_time(
	struct serving *s, int at, const char *name, icaltimezone *zone, struct moment *ret)
{
	const char *text = serve_text(s, at);

	if (!text || moment_parse(ret, text, zone) == 0)
		return 0;
	return error_set(&s->error, -EINVAL, NULL,
		"%s: `%s` is no date or time: write 2026-11-16 or 2026-11-16T09:00:00+01:00", name,
		text);
}

static int events_read_rule(struct serving *s, int at, const char **ret)
{
	const char *rule = serve_text(s, at);
	int r = rule && *rule ? expand_check_rule(rule) : 0;

	*ret = rule;
	if (r == -EOPNOTSUPP)
		return error_set(&s->error, r, NULL,
			"recurrence: a rule within a day cannot have BY parts, and RSCALE is not "
			"supported");
	return r < 0 ? error_set(&s->error, -EINVAL, NULL,
			       "recurrence: `%s` is no rule: write FREQ=WEEKLY;COUNT=10", rule)
		     : 0;
}

static int events_compose(struct serving *s, int title, int start, int zone, int location,
	int notes, int rule, struct composition *ret)
{
	const char *zone_text = serve_text(s, zone);
	icaltimezone *in = zone_text ? zone_find(zone_text) : NULL;
	int r;

	*ret = (struct composition){ .kind = ITEM_EVENT,
		.title = serve_text(s, title),
		.notes = serve_text(s, notes),
		.location = serve_text(s, location),
		.now = serve_now() };
	if (zone_text && !in)
		return error_set(&s->error, -EINVAL, NULL,
			"timezone: `%s` is not known; write a name such as Europe/Berlin",
			zone_text);
	r = events_read_time(s, start, "start", in, &ret->start);
	/* The end stands behind the start in both rows. */
	if (r == 0)
		r = events_read_time(s, start + 1, "end", in, &ret->end);
	return r < 0 ? r : events_read_rule(s, rule, &ret->rule);
}

static void events_answer(struct backend_call *c, const char *uid, const struct store_list *list,
	const struct buffer *tag)
{
	struct values v = { 0 };

	v.v[CHANGED_ID] = value_text(uid, strlen(uid));
	v.v[CHANGED_CALENDAR] = value_text(list->name, strlen(list->name));
	v.v[CHANGED_ETAG] = value_text(buffer_text(tag), tag->len);
	backend_answer(c, &v);
}

static int events_check_new(
	struct serving *s, const struct store_list *list, const struct composition *c)
{
	auto_buffer text = { 0 };
	int r;

	if (c->end.is_set && (c->end.is_date != c->start.is_date || c->end.at < c->start.at))
		return error_set(&s->error, -EINVAL, NULL,
			"`end` must be behind `start`, and both dates or both times");
	r = compose_new(c, "new", &text);
	return r < 0 ? error_set(&s->error, r, NULL, "the event cannot be made: %s", strerror(-r))
		     : events_check_text(s, list, &text);
}

static void events_create(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL;
	struct composition want = { 0 };
	char uid[COMPOSE_UID];
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, CREATE_CALENDAR), &list);
	if (r == 0)
		r = events_compose(&s, CREATE_TITLE, CREATE_START, CREATE_ZONE, CREATE_LOCATION,
			CREATE_NOTES, CREATE_RULE, &want);
	if (r == 0)
		r = events_check_new(&s, list, &want);
	if (r == 0)
		r = serve_add(&s, list, &want, uid, &tag);
	if (r < 0 || !list)
		serve_refuse(&s, r);
	else
		events_answer(c, uid, list, &tag);
}

struct events_update {
	struct composition want;
	const struct store_list *to;
	struct moment one; /* set: this occurrence alone */
};

/* One occurrence */

static int events_read_one(struct serving *s, int at, struct moment *ret)
{
	const char *text = serve_text(s, at);

	return text ? events_read_time(s, at, "occurrence", NULL, ret) : 0;
}

/* The occurrence of that id, which lies within what may be changed. */
static int events_find_one(struct serving *s, const struct store_list *list, struct item *i,
	const struct moment *id, struct occurrence *ret)
{
	const struct window w = serve_window(s, "write", list, serve_now());
	int r = item_recurs(i) ? expand_find(i, id, ret) : -ENOENT;

	if (r == -ENOENT)
		return error_set(&s->error, -ENOENT, NULL,
			"the event has no such occurrence; calendar.list shows those that it has");
	if (r < 0)
		return error_set(&s->error, r == -ENOMEM ? r : -EOPNOTSUPP, NULL,
			"the event has times or rules that cannot be read");
	return ret->start.at >= w.from && ret->end.at <= w.to ? 0 : events_outside(s, list);
}

/* Before and after the change the occurrence lies within what is granted, wherever others are. */
static int events_change_one(
	struct serving *s, struct serve_found *f, const struct events_update *u, struct buffer *out)
{
	auto_item changed = NULL;
	struct occurrence o;
	int r = events_find_one(s, f->list, f->item.item, &u->one, &o);

	if (r == 0)
		r = compose_change_one(f->item.item, &o, &u->want, out, &s->error);
	if (r < 0)
		return r;
	r = item_parse(&changed, buffer_text(out), out->len);
	return r < 0 ? error_set(&s->error, r, NULL, "the event would be too large")
		     : events_find_one(s, f->list, changed, &u->one, &o);
}

static int events_remove_one(
	struct serving *s, struct serve_found *f, void *context, struct buffer *out)
{
	const struct moment *id = context;
	struct occurrence o;
	int r = events_find_one(s, f->list, f->item.item, id, &o);

	if (r == 0)
		r = compose_remove_one(f->item.item, &o, serve_now(), out);
	if (r == -ENODATA)
		return error_set(&s->error, -EINVAL, NULL,
			"it is the only occurrence: delete the event, without `occurrence`");
	return r;
}

/* Before and after the change it lies within what is granted. */
static int events_change(
	struct serving *s, struct serve_found *f, void *context, struct buffer *out)
{
	struct events_update *u = context;
	int r;

	if (u->one.is_set)
		return events_change_one(s, f, u, out);
	r = events_check_within(s, f->list, f->item.item);

	if (r == 0)
		r = compose_change(f->item.item, &u->want, out, &s->error);
	return r < 0 ? r : events_check_text(s, u->to, out);
}

static void events_update(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL;
	struct events_update u = { 0 };
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, UPDATE_CALENDAR), &list);
	u.to = list;
	if (r == 0 && serve_text(&s, UPDATE_MOVE))
		r = serve_list(&s, "write", serve_text(&s, UPDATE_MOVE), &u.to);
	if (r == 0)
		r = events_compose(&s, UPDATE_TITLE, UPDATE_START, UPDATE_ZONE, UPDATE_LOCATION,
			UPDATE_NOTES, UPDATE_RULE, &u.want);
	if (r == 0)
		r = events_read_one(&s, UPDATE_OCCURRENCE, &u.one);
	if (r == 0 && u.one.is_set && (u.want.rule || u.to != list))
		r = error_set(&s.error, -EINVAL, NULL,
			"one occurrence has no recurrence, and stays in its calendar: leave out "
			"`recurrence` and `moveTo`");
	if (r == 0)
		r = serve_update(&s, list, u.to, serve_text(&s, UPDATE_ID),
			serve_text(&s, UPDATE_ETAG), events_change, &u, &tag);
	if (r < 0 || !u.to)
		serve_refuse(&s, r);
	else
		events_answer(c, serve_text(&s, UPDATE_ID), u.to, &tag);
}

static int events_check_found(struct serving *s, struct serve_found *f)
{
	return events_check_within(s, f->list, f->item.item);
}

static void events_delete(struct backend_call *c)
{
	auto_serving s;
	auto_buffer tag = { 0 };
	const struct store_list *list = NULL;
	struct values v = { .v = { value_number(SCHEMA_FLAG, 1) } };
	struct moment one = { 0 };
	int r = serve_begin(&s, c);

	if (r == 0)
		r = serve_list(&s, "write", serve_text(&s, DELETE_CALENDAR), &list);
	if (r == 0)
		r = events_read_one(&s, DELETE_OCCURRENCE, &one);
	if (r == 0 && one.is_set)
		r = serve_update(&s, list, list, serve_text(&s, DELETE_ID),
			serve_text(&s, DELETE_ETAG), events_remove_one, &one, &tag);
	else if (r == 0)
		r = serve_delete(&s, list, serve_text(&s, DELETE_ID), serve_text(&s, DELETE_ETAG),
			events_check_found);
	if (r < 0)
		serve_refuse(&s, r);
	else
		backend_answer(c, &v);
}

const struct backend_method events_methods[] = {
	{ METHOD_CALENDAR_LIST, events_list },
	{ METHOD_CALENDAR_GET, events_get },
	{ METHOD_CALENDAR_CREATE, events_create },
	{ METHOD_CALENDAR_UPDATE, events_update },
	{ METHOD_CALENDAR_DELETE, events_delete },
	{ 0 },
};
