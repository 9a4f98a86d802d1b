/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/expand.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"

/* One event that is being expanded. */
struct expansion {
	struct item *item;
	struct window window;
	struct arena *arena;
	struct occurrences *out;
	struct moment start, end; /* of the master */
	struct moment *except;    /* EXDATE, and what was changed */
	size_t n_except, cap_except;
	size_t n_dates;
	size_t n; /* occurrences of this event */
};

/* Times */

static bool expansion_overlaps(
	const struct window *w, const struct moment *s, const struct moment *e)
{
	return s->at < w->to && (e->at > w->from || (e->at == s->at && s->at >= w->from));
}

static bool expansion_same(const struct moment *a, const struct moment *b)
{
	/* Some programs write the day where the time is meant. */
	if (a->is_date != b->is_date)
		return a->clock.year == b->clock.year && a->clock.month == b->clock.month &&
		       a->clock.day == b->clock.day;
	return a->at == b->at;
}

static bool expansion_excludes(const struct expansion *x, const struct moment *m)
{
	for (size_t i = 0; i < x->n_except; i++) {
		if (expansion_same(&x->except[i], m))
			return true;
	}
	return false;
}

/* The end of an occurrence that begins then. */
static int expansion_end(const struct expansion *x, const struct moment *start, struct moment *ret)
{
	const int64_t seconds = x->end.at - x->start.at;
	struct icaltimetype t = start->clock;

	if (!start->is_date)
		return moment_from_seconds(ret, start->at + seconds, start->zone);
	/* By days: not all of them have 24 hours. */
	icaltime_adjust(&t, (int)((seconds + MOMENT_DAY / 2) / MOMENT_DAY), 0, 0, 0);
	return moment_make(ret, t, start->zone);
}

static int expansion_push(struct expansion *x, const struct occurrence *o)
{
	if (x->n == EXPAND_MAX)
		return 1;
	x->n++;
	return ARENA_PUSH(x->arena, x->out->items, x->out->n, x->out->cap, *o);
}

/* An occurrence of the master. 1: there is no room for more. */
static int expansion_add(struct expansion *x, const struct moment *start)
{
	struct occurrence o = { .start = *start, .part = x->item->master };
	int r = expansion_end(x, start, &o.end);

	/* One in a year that is refused is outside of every window. */
	if (r == -EINVAL || !expansion_overlaps(&x->window, &o.start, &o.end))
		return 0;
	if (r < 0 || expansion_excludes(x, start))
		return r;
	/* Rule and dates may have the same. */
	for (size_t i = x->out->n - x->n; i < x->out->n; i++) {
		if (x->out->items[i].part == o.part && x->out->items[i].start.at == start->at)
			return 0;
	}
	if (item_recurs(x->item))
		o.id = *start;
	return expansion_push(x, &o);
}

/* Lists of dates */

typedef int expansion_date(struct expansion *x, const struct moment *m);

static int expansion_except(struct expansion *x, const struct moment *m)
{
	return ARENA_PUSH(x->arena, x->except, x->n_except, x->cap_except, *m);
}

/* Calls back for each value of all lines of that name; of a period it is the start. */
static int expansion_dates(struct expansion *x, const char *name, expansion_date *each)
{
	const struct line *line = NULL;
	int r = 0;

	while (r == 0 && (line = lines_find(&x->item->lines, x->item->master, name, line))) {
		for (const char *at = line->value; r == 0 && *at;) {
			const size_t len = strcspn(at, ","), date = strcspn(at, ",/");
			struct moment m;

			if (++x->n_dates > EXPAND_DATES)
				return -EFBIG;
			r = moment_read_value(&m, line, at, date, &x->item->zones);
			if (r == 0)
				r = each(x, &m);
			at += len + (at[len] == ',');
		}
	}
	return r;
}

/* Rules */

enum { EXPAND_DAY_AND_MORE = 0 };

/* The seconds after which a rule within a day recurs; EXPAND_DAY_AND_MORE: it is none. */
static int64_t rule_step(const struct icalrecurrencetype *rule)
{
	switch (rule->freq) {
	case ICAL_SECONDLY_RECURRENCE:
		return rule->interval;
	case ICAL_MINUTELY_RECURRENCE:
		return (int64_t)rule->interval * 60;
	case ICAL_HOURLY_RECURRENCE:
		return (int64_t)rule->interval * 3600;
	default:
		return EXPAND_DAY_AND_MORE;
	}
}

static bool rule_has_parts(const char *text)
{
	return strstr(text, "BY") != NULL;
}

static int rule_read(const char *text, struct icalrecurrencetype *ret)
{
	char copy[EXPAND_RULE_BYTES];
	size_t len = strlen(text);

	if (len >= sizeof(copy))
		return -EFBIG;
	for (size_t i = 0; i <= len; i++)
		copy[i] = text[i] >= 'a' && text[i] <= 'z' ? (char)(text[i] - 0x20) : text[i];
	if (strstr(copy, "RSCALE") || strstr(copy, "SKIP"))
		return -EOPNOTSUPP;
	/* A place among the days of a week that it does not have is looked for in all years. */
	if (strstr(copy, "BYSETPOS") && strstr(copy, "BYWEEKNO"))
		return -EOPNOTSUPP;
	*ret = icalrecurrencetype_from_string(copy);
	if (ret->freq == ICAL_NO_RECURRENCE || ret->interval < 1 || ret->count < 0)
		return -EINVAL;
	if (rule_step(ret) != EXPAND_DAY_AND_MORE && rule_has_parts(copy))
		return -EOPNOTSUPP;
	return 0;
}

int expand_check_rule(const char *rule)
{
	struct icalrecurrencetype r;

	for (const char *c = rule; *c; c++)
		if (!ascii_is_alnum(*c) && !strchr("=;,+-", *c))
			return -EINVAL;
	return rule_read(rule, &r);
}

/* Until when the rule itself says; INT64_MAX: it does not. */
static int64_t rule_until(const struct icalrecurrencetype *rule, icaltimezone *zone)
{
	struct icaltimetype t = rule->until;
	struct moment m;

	if (icaltime_is_null_time(t))
		return INT64_MAX;
	if (moment_make(&m, t, icaltime_is_utc(t) ? icaltimezone_get_utc_timezone() : zone) < 0)
		return t.year < MOMENT_YEAR_FIRST ? INT64_MIN : INT64_MAX;
	/* With a whole day, that is in it. */
	return m.is_date ? m.at + MOMENT_DAY - 1 : m.at;
}

/* Within a day: the n-th is n steps behind the first. */
static int expansion_by_step(
	struct expansion *x, const struct icalrecurrencetype *rule, int64_t step, int64_t until)
{
	const int64_t first = x->start.at, length = x->end.at - first;
	int64_t n = 0;
	int r = 0;

	/* A date does not recur within its day. */
	if (x->start.is_date)
		return -EINVAL;
	if (first + length < x->window.from)
		n = (x->window.from - length - first) / step;
	for (; r == 0; n++) {
		const int64_t at = first + n * step;
		struct moment m;

		if (at >= x->window.to || at > until || (rule->count > 0 && n >= rule->count))
			return 0;
		r = moment_from_seconds(&m, at, x->start.zone);
		if (r == 0)
			r = expansion_add(x, &m);
	}
	return r;
}

/* What the clock shows so many seconds from a point in time, where that can be said. */
static struct icaltimetype rule_clock(int64_t at, const struct moment *like)
{
	struct moment m;

	if (moment_from_seconds(&m, at, like->zone) < 0)
		return icaltime_null_time();
	m.clock.is_date = like->is_date;
	if (like->is_date)
		m.clock.hour = m.clock.minute = m.clock.second = 0;
	return m.clock;
}

/* An iterator that begins near the window and ends behind it; NULL: there is nothing in it. */
static icalrecur_iterator *expansion_iterator(
	const struct expansion *x, struct icalrecurrencetype *rule)
{
	/* A day more on both sides, for zones and for days of 25 hours. */
	const int64_t from = x->window.from - (x->end.at - x->start.at) - 2 * MOMENT_DAY;
	const struct icaltimetype until = rule_clock(x->window.to + 2 * MOMENT_DAY, &x->start);
	icalrecur_iterator *it;

	if (icaltime_is_null_time(until))
		return NULL;
	rule->until = until;
	it = icalrecur_iterator_new(*rule, x->start.clock);
	if (it && rule->count == 0 && from > x->start.at) {
		const struct icaltimetype near = rule_clock(from, &x->start);

		if (!icaltime_is_null_time(near) && !icalrecur_iterator_set_start(it, near)) {
			icalrecur_iterator_free(it);
			it = icalrecur_iterator_new(*rule, x->start.clock);
		}
	}
	return it;
}

static int expansion_by_rule(struct expansion *x, const char *text)
{
	struct icalrecurrencetype rule;
	icalrecur_iterator *it;
	int64_t step, until;
	int r = rule_read(text, &rule);

	if (r < 0)
		return r;
	step = rule_step(&rule);
	until = rule_until(&rule, x->start.zone);
	if (step != EXPAND_DAY_AND_MORE)
		return expansion_by_step(x, &rule, step, until);
	it = expansion_iterator(x, &rule);
	for (int n = 0; it && r == 0; n++) {
		const struct icaltimetype t = icalrecur_iterator_next(it);
		struct moment m;

		if (icaltime_is_null_time(t) || moment_make(&m, t, x->start.zone) < 0 ||
			m.at >= x->window.to || m.at > until)
			break;
		r = n == EXPAND_STEPS ? 1 : expansion_add(x, &m);
	}
	if (it)
		icalrecur_iterator_free(it);
	return r;
}

/* All of it */

static int expansion_changed(struct expansion *x)
{
	struct item *i = x->item;
	int r = 0;

	for (size_t n = 0; r == 0 && n < i->n_changed; n++) {
		struct occurrence o = { .part = i->changed[n] };

		r = item_moment(i, o.part, "RECURRENCE-ID", &o.id);
		r = r > 0 ? expansion_except(x, &o.id) : r < 0 ? r : -EINVAL;
		if (r == 0)
			r = item_span(i, o.part, &o.start, &o.end);
		if (r == 0 && expansion_overlaps(&x->window, &o.start, &o.end))
			r = expansion_push(x, &o);
	}
	return r;
}

static int expansion_master(struct expansion *x)
{
	const struct lines *l = &x->item->lines;
	const struct line *rule = NULL;
	size_t n = 0;
	int r = expansion_dates(x, "EXDATE", expansion_except);

	if (r == 0)
		r = expansion_add(x, &x->start);
	if (r == 0)
		r = expansion_dates(x, "RDATE", expansion_add);
	while (r == 0 && (rule = lines_find(l, x->item->master, "RRULE", rule)))
		r = ++n > EXPAND_RULES ? -EFBIG : expansion_by_rule(x, rule->value);
	return r;
}

int expand(struct item *i, const struct window *w, struct arena *a, struct occurrences *ret)
{
	struct expansion x = { .item = i, .window = *w, .arena = a, .out = ret };
	int r = 0;

	if (i->master != LINES_NO_PART)
		r = item_span(i, i->master, &x.start, &x.end);
	if (r == 0)
		r = expansion_changed(&x);
	if (r == 0 && i->master != LINES_NO_PART)
		r = expansion_master(&x);
	return r;
}

/* One that was changed, by its id. 1; 0: none. */
static int expansion_find_changed(struct item *i, const struct moment *id, struct occurrence *ret)
{
	for (size_t n = 0; n < i->n_changed; n++) {
		struct occurrence o = { .part = i->changed[n] };
		int r = item_moment(i, o.part, "RECURRENCE-ID", &o.id);

		if (r < 0)
			return r;
		if (r == 0 || !expansion_same(&o.id, id))
			continue;
		r = item_span(i, o.part, &o.start, &o.end);
		*ret = o;
		return r < 0 ? r : 1;
	}
	return 0;
}

int expand_find(struct item *i, const struct moment *id, struct occurrence *ret)
{
	const struct window w = { id->at, id->at + (id->is_date ? MOMENT_DAY : 1) };
	struct occurrences found = { 0 };
	auto_arena a = { 0 };
	int r = expansion_find_changed(i, id, ret);

	if (r != 0)
		return r < 0 ? r : 0;
	r = expand(i, &w, &a, &found);
	for (size_t n = 0; r >= 0 && n < found.n; n++) {
		if (!found.items[n].id.is_set || !expansion_same(&found.items[n].id, id))
			continue;
		*ret = found.items[n];
		return 0;
	}
	return r < 0 ? r : -ENOENT;
}

/* Whether it lies within */

static int within_date(struct expansion *x, const struct moment *m)
{
	struct moment end;
	int r = expansion_end(x, m, &end);

	return r < 0 ? r : m->at < x->window.from || end.at > x->window.to;
}

/* 0: the last occurrence by this rule is in the window; 1: it is not, or there is none. */
static int within_rule(struct expansion *x, const char *text)
{
	const int64_t length = x->end.at - x->start.at;
	struct icalrecurrencetype rule;
	icalrecur_iterator *it;
	int64_t until;
	int n = 0, r = rule_read(text, &rule);

	if (r < 0)
		return r;
	until = rule_until(&rule, x->start.zone);
	if (until <= x->window.to - length)
		return 0;
	if (rule.count == 0)
		return 1;
	if (rule_step(&rule) != EXPAND_DAY_AND_MORE)
		return x->start.at + (rule.count - 1) * rule_step(&rule) + length > x->window.to;
	if (rule.count > EXPAND_STEPS)
		return 1;
	it = expansion_iterator(x, &rule);
	for (; it && n < rule.count; n++) {
		const struct icaltimetype t = icalrecur_iterator_next(it);
		struct moment m;

		if (icaltime_is_null_time(t) || moment_make(&m, t, x->start.zone) < 0 ||
			m.at + length > x->window.to)
			break;
	}
	if (it)
		icalrecur_iterator_free(it);
	return !it || n < rule.count;
}

static int within_master(struct expansion *x)
{
	const struct lines *l = &x->item->lines;
	const struct line *rule = NULL;
	size_t n = 0;
	int r = within_date(x, &x->start);

	if (r == 0)
		r = expansion_dates(x, "RDATE", within_date);
	while (r == 0 && (rule = lines_find(l, x->item->master, "RRULE", rule)))
		r = ++n > EXPAND_RULES ? -EFBIG : within_rule(x, rule->value);
	return r;
}

int expand_is_within(struct item *i, const struct window *w)
{
	struct expansion x = { .item = i, .window = *w };
	int r = 0;

	if (i->master != LINES_NO_PART) {
		r = item_span(i, i->master, &x.start, &x.end);
		if (r == 0)
			r = within_master(&x);
	}
	for (size_t n = 0; r == 0 && n < i->n_changed; n++) {
		r = item_span(i, i->changed[n], &x.start, &x.end);
		if (r == 0)
			r = within_date(&x, &x.start);
	}
	return r < 0 ? r : r == 0;
}

int expand_next(struct item *i, const struct moment *after, struct moment *ret)
{
	/* Four years: so long until a 29th of February comes again. */
	const struct window w = { after->at + 1, after->at + (int64_t)5 * 366 * MOMENT_DAY };
	const uint32_t part = item_part(i);
	struct occurrences found = { 0 };
	auto_arena a = { 0 };
	struct expansion x = { .item = i, .window = w, .arena = &a, .out = &found };
	const struct line *rule = lines_find(&i->lines, part, "RRULE", NULL);
	const struct occurrence *first = NULL;
	int r;

	if (!rule || i->master == LINES_NO_PART)
		return 0;
	r = item_moment(i, part, "DTSTART", &x.start);
	if (r == 0)
		r = item_moment(i, part, "DUE", &x.start);
	x.end = x.start;
	if (r <= 0)
		return r;
	r = expansion_dates(&x, "EXDATE", expansion_except);
	if (r == 0)
		r = expansion_by_rule(&x, rule->value);
	for (size_t n = 0; n < found.n; n++) {
		if (!first || found.items[n].start.at < first->start.at)
			first = &found.items[n];
	}
	if (r < 0 || !first)
		return r < 0 ? r : 0;
	*ret = first->start;
	return 1;
}
