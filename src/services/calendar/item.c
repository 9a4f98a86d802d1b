/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/item.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/utf8.h"
#include "services/calendar/edit.h"

static int item_add_part(struct item *i, uint32_t part)
{
	if (lines_find(&i->lines, part, "RECURRENCE-ID", NULL)) {
		if (i->n_changed == ITEM_CHANGED_MAX)
			return -EFBIG;
		i->changed[i->n_changed++] = part;
		return 0;
	}
	if (i->master != LINES_NO_PART)
		return -EINVAL;
	i->master = part;
	return 0;
}

static int item_take_uid(struct item *i, uint32_t part)
{
	const struct line *uid = lines_find(&i->lines, part, "UID", NULL);

	if (!uid || !uid->value[0] || strlen(uid->value) > ITEM_UID_MAX ||
		lines_find(&i->lines, part, "UID", uid))
		return -EINVAL;
	if (i->uid && strcmp(i->uid, uid->value) != 0)
		return -EINVAL;
	i->uid = uid->value;
	return 0;
}

static int item_collect(struct item *i)
{
	const struct lines *l = &i->lines;
	bool any = false;

	i->master = LINES_NO_PART;
	for (uint32_t p = 1; p < l->n_parts; p++) {
		const bool is_event = strcmp(l->parts[p].name, "VEVENT") == 0;
		const enum item_kind kind = is_event ? ITEM_EVENT : ITEM_TODO;
		int r;

		if (l->parts[p].parent != 0 ||
			(!is_event && strcmp(l->parts[p].name, "VTODO") != 0))
			continue;
		if (any && kind != i->kind)
			return -EINVAL;
		any = true;
		i->kind = kind;
		r = item_take_uid(i, p);
		if (r == 0)
			r = item_add_part(i, p);
		if (r < 0)
			return r;
	}
	return any ? 0 : -ENOENT;
}

int item_parse(struct item **ret, const char *text, size_t len)
{
	struct item *i = calloc(1, sizeof(*i));
	int r = i ? lines_parse(&i->lines, text, len) : -ENOMEM;

	if (r == 0) {
		i->zones.lines = &i->lines;
		r = item_collect(i);
	}
	if (r == 0)
		*ret = i;
	else
		item_drop(i);
	return r;
}

void item_drop(struct item *i)
{
	if (!i)
		return;
	zone_deinit(&i->zones);
	lines_deinit(&i->lines);
	free(i);
}

const char *item_text(
	const struct item *i, uint32_t part, const char *name, size_t max, struct arena *a)
{
	const struct line *line = lines_find(&i->lines, part, name, NULL);
	auto_buffer out = { 0 };
	size_t len;

	if (!line)
		return NULL;
	edit_unescape(line->value, &out);
	if (out.failed)
		return NULL;
	len = out.len < max ? out.len : max;
	/* No character is cut. */
	while (len > 0 && len < out.len && ((unsigned char)out.data[len] & 0xc0) == 0x80)
		len--;
	return arena_strndup(a, buffer_text(&out), len);
}

int item_moment(struct item *i, uint32_t part, const char *name, struct moment *ret)
{
	const struct line *line = lines_find(&i->lines, part, name, NULL);
	int r = line ? moment_read(ret, line, &i->zones) : 0;

	return r < 0 ? r : line != NULL;
}

/* The clock of a date so many days later. */
static int item_days_later(const struct moment *start, int days, struct moment *ret)
{
	struct icaltimetype t = start->clock;

	icaltime_adjust(&t, days, 0, 0, 0);
	return moment_make(ret, t, start->zone);
}

/* The end by DURATION, or without any. */
static int item_end_by_duration(
	struct item *i, uint32_t part, const struct moment *start, struct moment *ret)
{
	const struct line *line = lines_find(&i->lines, part, "DURATION", NULL);
	struct icaldurationtype d = icaldurationtype_null_duration();
	int64_t seconds;

	if (line) {
		if (strlen(line->value) > 64)
			return -EINVAL;
		d = icaldurationtype_from_string(line->value);
		if (icaldurationtype_is_bad_duration(d) || d.is_neg || d.weeks > 10000 ||
			d.days > 100000 || d.hours > 1000000 || d.minutes > 10000000)
			return -EINVAL;
	}
	seconds = (((int64_t)d.weeks * 7 + d.days) * 24 + d.hours) * 3600 +
		  (int64_t)d.minutes * 60 + d.seconds;
	if (start->is_date)
		return item_days_later(
			start, seconds < MOMENT_DAY ? 1 : (int)(seconds / MOMENT_DAY), ret);
	return moment_from_seconds(ret, start->at + seconds, start->zone);
}

int item_span(struct item *i, uint32_t part, struct moment *ret_start, struct moment *ret_end)
{
	int r = item_moment(i, part, "DTSTART", ret_start);

	if (r == 0)
		return -EINVAL;
	if (r > 0)
		r = item_moment(i, part, "DTEND", ret_end);
	if (r == 0)
		r = item_end_by_duration(i, part, ret_start, ret_end);
	if (r < 0)
		return r;
	/* One that ends before it begins, or as another kind of thing, ends at once. */
	if (ret_end->at < ret_start->at || ret_end->is_date != ret_start->is_date)
		*ret_end = *ret_start;
	return 0;
}

bool item_recurs(const struct item *i)
{
	return i->master == LINES_NO_PART || i->n_changed > 0 ||
	       lines_find(&i->lines, i->master, "RRULE", NULL) ||
	       lines_find(&i->lines, i->master, "RDATE", NULL);
}

unsigned item_priority(const struct item *i)
{
	const struct line *line = lines_find(&i->lines, item_part(i), "PRIORITY", NULL);

	return line && line->value[0] >= '0' && line->value[0] <= '9' && !line->value[1]
		       ? (unsigned)(line->value[0] - '0')
		       : 0;
}

bool item_is_completed(const struct item *i)
{
	const struct line *status = lines_find(&i->lines, item_part(i), "STATUS", NULL);

	return status ? strcasecmp(status->value, "COMPLETED") == 0
		      : lines_find(&i->lines, item_part(i), "COMPLETED", NULL) != NULL;
}
