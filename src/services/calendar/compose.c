/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/compose.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/words.h"
#include "services/calendar/edit.h"

int compose_uid(char ret[COMPOSE_UID])
{
	unsigned char b[16];

	if (getrandom(b, sizeof(b), 0) != sizeof(b))
		return -EIO;
	(void)snprintf(ret, COMPOSE_UID,
		"%02x%02x%02x%02x-%02x%02x-4%01x%02x-a%01x%02x-%02x%02x%02x%02x%02x%02x", b[0],
		b[1], b[2], b[3], b[4], b[5], b[6] & 15, b[7], b[8] & 15, b[9], b[10], b[11], b[12],
		b[13], b[14], b[15]);
	return 0;
}

static void compose_time(struct buffer *out, const char *name, int64_t at)
{
	struct moment m;

	if (moment_from_seconds(&m, at, icaltimezone_get_utc_timezone()) == 0)
		moment_add_line(&m, name, out);
}

/* The zone of a time that is written by its name; NULL: it needs none. */
static icaltimezone *compose_zone(const struct moment *m)
{
	return m->is_set && !m->is_date && zone_name(m->zone) ? m->zone : NULL;
}

/* The VTIMEZONEs that the times need; those of `has` are there. */
static int compose_zones(const struct composition *c, const struct lines *has, struct buffer *out)
{
	const struct moment *const times[] = { &c->start, &c->end, &c->due };
	icaltimezone *written[3] = { NULL };
	size_t n = 0;
	int r = 0;

	for (size_t i = 0; r == 0 && i < 3; i++) {
		icaltimezone *zone = compose_zone(times[i]);
		bool is_there = !zone;

		for (size_t k = 0; k < n; k++)
			is_there = is_there || written[k] == zone;
		for (uint32_t p = 0; has && !is_there && p < has->n_parts; p++) {
			const struct line *id = strcmp(has->parts[p].name, "VTIMEZONE") == 0
							? lines_find(has, p, "TZID", NULL)
							: NULL;

			is_there = id && strcmp(id->value, zone_name(zone)) == 0;
		}
		if (!is_there) {
			written[n++] = zone;
			r = zone_print(zone, out);
		}
	}
	return r;
}

/* A time that is shown by a zone without a name is written in UTC. */
static int compose_plain(struct moment *m)
{
	if (!m->is_set || m->is_date || zone_name(m->zone) ||
		m->zone == icaltimezone_get_utc_timezone())
		return 0;
	return moment_from_seconds(m, m->at, icaltimezone_get_utc_timezone());
}

int compose_new(const struct composition *c, const char *uid, struct buffer *out)
{
	const char *kind = c->kind == ITEM_EVENT ? "VEVENT" : "VTODO";
	int r;

	buffer_adds(
		out, "BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//Corral//corral-calendar//EN\r\n");
	r = compose_zones(c, NULL, out);
	buffer_printf(out, "BEGIN:%s\r\n", kind);
	edit_add_raw(out, "UID", "", uid);
	compose_time(out, "DTSTAMP", c->now);
	compose_time(out, "CREATED", c->now);
	compose_time(out, "LAST-MODIFIED", c->now);
	edit_add_text(out, "SUMMARY", c->title ? c->title : "");
	if (c->notes && *c->notes)
		edit_add_text(out, "DESCRIPTION", c->notes);
	if (c->location && *c->location)
		edit_add_text(out, "LOCATION", c->location);
	if (c->start.is_set)
		moment_add_line(&c->start, "DTSTART", out);
	if (c->end.is_set)
		moment_add_line(&c->end, "DTEND", out);
	if (c->due.is_set)
		moment_add_line(&c->due, "DUE", out);
	if (c->priority && strcmp(c->priority, "0") != 0)
		edit_add_raw(out, "PRIORITY", "", c->priority);
	if (c->rule && *c->rule)
		edit_add_raw(out, "RRULE", "", c->rule);
	if (c->kind == ITEM_TODO)
		buffer_adds(out, "STATUS:NEEDS-ACTION\r\n");
	buffer_printf(out, "END:%s\r\nEND:VCALENDAR\r\n", kind);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* Changes */

static int compose_set_text(struct edit *e, uint32_t part, const char *name, const char *text)
{
	auto_buffer line = { 0 };

	if (!text)
		return 0;
	edit_add_text(&line, name, text);
	return line.failed ? -ENOMEM : edit_set(e, part, name, *text ? line.data : NULL);
}

static int compose_set_raw(struct edit *e, uint32_t part, const char *name, const char *value)
{
	auto_buffer line = { 0 };

	edit_add_raw(&line, name, "", value);
	return line.failed ? -ENOMEM : edit_set(e, part, name, line.data);
}

static int compose_set_moment(
	struct edit *e, uint32_t part, const char *name, const struct moment *m)
{
	auto_buffer line = { 0 };

	if (!m->is_set)
		return 0;
	moment_add_line(m, name, &line);
	return line.failed ? -ENOMEM : edit_set(e, part, name, line.data);
}

/* When it was changed, and that it is another version. */
static int compose_touch(struct item *i, struct edit *e, uint32_t part, int64_t now)
{
	const struct line *sequence = lines_find(&i->lines, part, "SEQUENCE", NULL);
	char number[16];
	struct moment m;
	int r = moment_from_seconds(&m, now, icaltimezone_get_utc_timezone());

	if (r == 0)
		r = compose_set_moment(e, part, "DTSTAMP", &m);
	if (r == 0)
		r = compose_set_moment(e, part, "LAST-MODIFIED", &m);
	(void)snprintf(number, sizeof(number), "%u",
		sequence ? (unsigned)(strtoul(sequence->value, NULL, 10) % 1000000) + 1 : 1);
	return r < 0 ? r : compose_set_raw(e, part, "SEQUENCE", number);
}

/* Start and end of the event, or of one occurrence, as they will be. */
static int compose_span(struct item *i, uint32_t part, struct composition *c, struct error *e)
{
	struct moment start, end;
	int r;

	if (!c->start.is_set && !c->end.is_set)
		return 0;
	r = item_span(i, part, &start, &end);
	if (r < 0)
		return error_set(e, r, NULL, "the times of this event cannot be read");
	/* Only the start: it takes as long as before. */
	if (!c->end.is_set && c->start.is_date == start.is_date) {
		struct icaltimetype t = c->start.clock;

		icaltime_adjust(
			&t, (int)((end.at - start.at + MOMENT_DAY / 2) / MOMENT_DAY), 0, 0, 0);
		r = c->start.is_date ? moment_make(&c->end, t, c->start.zone)
				     : moment_from_seconds(&c->end, c->start.at + end.at - start.at,
					       c->start.zone);
	}
	if (!c->start.is_set)
		c->start = start;
	if (r == 0)
		r = compose_plain(&c->start);
	if (r == 0)
		r = compose_plain(&c->end);
	if (r == 0 && c->end.is_set &&
		(c->end.is_date != c->start.is_date || c->end.at < c->start.at))
		return error_set(e, -EINVAL, NULL,
			"the event would end before it begins, or one of "
			"both is a date and the other a time");
	return r < 0 ? error_set(e, r, NULL, "the times are out of range") : 0;
}

static int compose_edit(
	struct item *i, uint32_t part, const struct composition *c, struct edit *edit)
{
	auto_buffer zones = { 0 };
	int r = compose_zones(c, &i->lines, &zones);

	if (r == 0 && zones.len > 0)
		r = edit_insert(edit, part, buffer_text(&zones));
	if (r == 0)
		r = compose_set_text(edit, part, "SUMMARY", c->title);
	if (r == 0)
		r = compose_set_text(edit, part, "DESCRIPTION", c->notes);
	if (r == 0)
		r = compose_set_text(edit, part, "LOCATION", c->location);
	if (r == 0)
		r = compose_set_moment(edit, part, "DTSTART", &c->start);
	if (r == 0)
		r = compose_set_moment(edit, part, "DTEND", &c->end);
	if (r == 0 && (c->end.is_set || c->due.is_set || c->no_due))
		r = edit_set(edit, part, "DURATION", NULL);
	if (r == 0)
		r = compose_set_moment(edit, part, "DUE", &c->due);
	if (r == 0 && c->no_due)
		r = edit_set(edit, part, "DUE", NULL);
	if (r == 0 && c->priority)
		r = strcmp(c->priority, "0") == 0
			    ? edit_set(edit, part, "PRIORITY", NULL)
			    : compose_set_raw(edit, part, "PRIORITY", c->priority);
	if (r == 0 && c->rule)
		r = *c->rule ? compose_set_raw(edit, part, "RRULE", c->rule)
			     : edit_set(edit, part, "RRULE", NULL);
	return r < 0 ? r : compose_touch(i, edit, part, c->now);
}

static int compose_change_part(struct item *i, uint32_t part, const struct composition *c,
	struct buffer *out, struct error *e)
{
	struct composition full = *c;
	auto_edit edit = { .lines = &i->lines };
	int r = i->kind == ITEM_EVENT ? compose_span(i, part, &full, e) : 0;

	if (r < 0)
		return r;
	r = compose_edit(i, part, &full, &edit);
	if (r == 0)
		edit_print(&edit, out);
	return r < 0 || out->failed ? error_no_memory(e) : 0;
}

int compose_change(struct item *i, const struct composition *c, struct buffer *out, struct error *e)
{
	if (c->rule && i->n_changed > 0)
		return error_set(e, -EOPNOTSUPP, NULL,
			"single occurrences of this event were changed, so its rule cannot be");
	if ((c->start.is_set || c->end.is_set) && i->kind == ITEM_EVENT && i->n_changed > 0)
		return error_set(e, -EOPNOTSUPP, NULL,
			"single occurrences of this event were changed, so the times of the series "
			"cannot be");
	return compose_change_part(i, item_part(i), c, out, e);
}

/* One occurrence */

/* What a component of one occurrence does not take over from the series. */
static bool compose_is_of_series(const char *name)
{
	static const char *const names[] = { "RRULE", "RDATE", "EXDATE", "EXRULE", "DTSTART",
		"DTEND", "DURATION", "RECURRENCE-ID", NULL };

	return words_find(names, name, strlen(name)) >= 0;
}

static int compose_add_moment(struct buffer *out, const char *name, struct moment m)
{
	int r = compose_plain(&m);

	if (r == 0)
		moment_add_line(&m, name, out);
	return r;
}

/* Appends a component for the occurrence: the master's, with the times of this one. */
static int compose_add_one(struct item *i, const struct occurrence *o, struct buffer *out)
{
	const struct lines *l = &i->lines;
	const struct part *master = &l->parts[i->master];
	int r;

	for (size_t n = master->first; n < master->last; n++) {
		const struct line *line = &l->items[n];

		if (line->part != i->master || !compose_is_of_series(line->name))
			buffer_add(out, l->source + line->at, line->len);
	}
	r = compose_add_moment(out, "RECURRENCE-ID", o->id);
	if (r == 0)
		r = compose_add_moment(out, "DTSTART", o->start);
	if (r == 0)
		r = compose_add_moment(out, "DTEND", o->end);
	buffer_add(out, l->source + l->items[master->last].at, l->items[master->last].len);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* The item with a component for the occurrence, which is its last. */
static int compose_single_out(struct item *i, const struct occurrence *o, struct item **ret)
{
	auto_edit edit = { .lines = &i->lines };
	auto_buffer part = { 0 }, text = { 0 };
	int r = compose_add_one(i, o, &part);

	if (r == 0)
		r = edit_append(&edit, 0, buffer_text(&part));
	if (r == 0)
		edit_print(&edit, &text);
	if (r == 0)
		r = text.failed ? -ENOMEM : item_parse(ret, buffer_text(&text), text.len);
	return r;
}

int compose_change_one(struct item *i, const struct occurrence *o, const struct composition *c,
	struct buffer *out, struct error *e)
{
	auto_item with = NULL;
	int r;

	if (o->part != i->master)
		return compose_change_part(i, o->part, c, out, e);
	r = compose_single_out(i, o, &with);
	if (r < 0 || !with)
		return r == -ENOMEM ? error_no_memory(e)
				    : error_set(e, r, NULL, "the event would be too large");
	return compose_change_part(with, with->changed[with->n_changed - 1], c, out, e);
}

int compose_remove_one(struct item *i, const struct occurrence *o, int64_t now, struct buffer *out)
{
	const bool has_master = i->master != LINES_NO_PART;
	auto_edit edit = { .lines = &i->lines };
	auto_buffer line = { 0 };
	int r = 0;

	if (!has_master && i->n_changed < 2)
		return -ENODATA;
	if (o->part != i->master)
		r = edit_remove_part(&edit, o->part);
	if (r == 0 && has_master) {
		r = compose_add_moment(&line, "EXDATE", o->id);
		if (r == 0)
			r = line.failed ? -ENOMEM
					: edit_append(&edit, i->master, buffer_text(&line));
		if (r == 0)
			r = compose_touch(i, &edit, i->master, now);
	}
	if (r == 0)
		edit_print(&edit, out);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* The property so many seconds later, if it is there; by days if both are dates. */
static int compose_shift(struct item *i, struct edit *edit, const char *name,
	const struct moment *by, int64_t seconds)
{
	const uint32_t part = item_part(i);
	struct moment m;
	int r = item_moment(i, part, name, &m);

	if (r <= 0)
		return r;
	if (m.is_date) {
		struct icaltimetype t = m.clock;

		icaltime_adjust(&t,
			(int)((seconds + (seconds < 0 ? -1 : 1) * MOMENT_DAY / 2) / MOMENT_DAY), 0,
			0, 0);
		r = moment_make(&m, t, m.zone);
	} else
		r = moment_from_seconds(&m, m.at + seconds, by->zone);
	if (r == 0)
		r = compose_plain(&m);
	return r < 0 ? r : compose_set_moment(edit, part, name, &m);
}

/* One of so many times is over. */
static int compose_count_down(struct item *i, struct edit *edit)
{
	const struct line *rule = lines_find(&i->lines, item_part(i), "RRULE", NULL);
	const char *count = rule ? strstr(rule->value, "COUNT=") : NULL;
	auto_buffer value = { 0 };
	unsigned long n;
	char *end;

	if (!count)
		return 0;
	n = strtoul(count + strlen("COUNT="), &end, 10);
	buffer_add(&value, rule->value, (size_t)(count - rule->value));
	buffer_printf(&value, "COUNT=%lu%s", n > 1 ? n - 1 : 1, end);
	return value.failed ? -ENOMEM : compose_set_raw(edit, item_part(i), "RRULE", value.data);
}

/* A reminder that recurs: its times become those of the next time. */
static int compose_next(struct item *i, struct edit *edit, struct moment *ret_next)
{
	const uint32_t part = item_part(i);
	struct moment base = { 0 }, next = { 0 };
	int r = item_moment(i, part, "DTSTART", &base);

	if (r == 0)
		r = item_moment(i, part, "DUE", &base);
	if (r <= 0)
		return 0;
	r = expand_next(i, &base, &next);
	/* A rule that cannot be followed has no next time. */
	if (r <= 0)
		return r == -ENOMEM ? r : 0;
	r = compose_shift(i, edit, "DTSTART", &next, next.at - base.at);
	if (r == 0)
		r = compose_shift(i, edit, "DUE", &next, next.at - base.at);
	if (r == 0)
		r = compose_count_down(i, edit);
	if (r == 0 && item_moment(i, part, "DUE", ret_next) == 1 && !ret_next->is_date)
		r = moment_from_seconds(ret_next, ret_next->at + next.at - base.at, next.zone);
	else if (r == 0)
		*ret_next = next;
	return r < 0 ? r : 1;
}

int compose_completed(struct item *i, int64_t now, struct buffer *out, struct moment *ret_next)
{
	const uint32_t part = item_part(i);
	auto_edit edit = { .lines = &i->lines };
	struct moment m;
	int r = moment_from_seconds(&m, now, icaltimezone_get_utc_timezone());
	int again;

	*ret_next = (struct moment){ 0 };
	if (r < 0)
		return r;
	again = compose_next(i, &edit, ret_next);
	if (again < 0)
		return again;
	if (!again) {
		r = compose_set_raw(&edit, part, "STATUS", "COMPLETED");
		if (r == 0)
			r = compose_set_moment(&edit, part, "COMPLETED", &m);
		if (r == 0)
			r = compose_set_raw(&edit, part, "PERCENT-COMPLETE", "100");
	}
	if (r == 0)
		r = compose_touch(i, &edit, part, now);
	if (r == 0)
		edit_print(&edit, out);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}
