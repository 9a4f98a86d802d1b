/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/moment.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "services/calendar/edit.h"

int moment_make(struct moment *ret, struct icaltimetype clock, icaltimezone *zone)
{
	struct icaltimetype normal;

	/* Only the numbers count: pointers to zones that libical keeps are not ours. */
	clock.zone = NULL;
	if (icaltime_is_null_time(clock) || clock.year < MOMENT_YEAR_FIRST ||
		clock.year > MOMENT_YEAR_LAST || clock.month < 1 || clock.month > 12 ||
		clock.day < 1 || clock.day > icaltime_days_in_month(clock.month, clock.year))
		return -EINVAL;
	if (!clock.is_date && (clock.hour < 0 || clock.hour > 23 || clock.minute < 0 ||
				      clock.minute > 59 || clock.second < 0 || clock.second > 60))
		return -EINVAL;
	normal = icaltime_normalize(clock);
	*ret = (struct moment){ .is_set = true,
		.is_date = clock.is_date,
		.clock = normal,
		.zone = clock.is_date ? zone_local() : zone };
	/* A date has no hour for libical, and no zone then. */
	normal.is_date = 0;
	if (clock.is_date)
		normal.hour = normal.minute = normal.second = 0;
	ret->at = icaltime_as_timet_with_zone(normal, ret->zone);
	return 0;
}

int moment_from_seconds(struct moment *ret, int64_t at, icaltimezone *zone)
{
	if (at < -(int64_t)70 * 366 * MOMENT_DAY || at > (int64_t)230 * 366 * MOMENT_DAY)
		return -EINVAL;
	return moment_make(ret, icaltime_from_timet_with_zone((time_t)at, 0, zone), zone);
}

/* n digits as a number; -1: they are none. */
static int moment_digits(const char *at, size_t n)
{
	int value = 0;

	for (size_t i = 0; i < n; i++) {
		if (!ascii_is_digit(at[i]))
			return -1;
		value = value * 10 + (at[i] - '0');
	}
	return value;
}

/* 20261116 or 20261116T090000, and a Z: exactly, since libical takes much else as well. */
static int moment_scan(const char *text, size_t len, struct icaltimetype *ret, bool *ret_utc)
{
	struct icaltimetype t = icaltime_null_time();

	if (len != 8 && len != 15 && len != 16)
		return -EINVAL;
	t.year = moment_digits(text, 4);
	t.month = moment_digits(text + 4, 2);
	t.day = moment_digits(text + 6, 2);
	t.is_date = len == 8;
	*ret_utc = len == 16;
	if (len > 8) {
		if (text[8] != 'T' || (len == 16 && text[15] != 'Z'))
			return -EINVAL;
		t.hour = moment_digits(text + 9, 2);
		t.minute = moment_digits(text + 11, 2);
		t.second = moment_digits(text + 13, 2);
	}
	*ret = t;
	return 0;
}

int moment_read_value(
	struct moment *ret, const struct line *line, const char *value, size_t len, struct zones *z)
{
	struct icaltimetype t;
	icaltimezone *zone = NULL;
	auto_arena a = { 0 };
	const char *name;
	bool utc = false;
	int r = moment_scan(value, len, &t, &utc);

	if (r < 0)
		return r;
	if (utc)
		zone = icaltimezone_get_utc_timezone();
	else if (t.is_date)
		zone = zone_local();
	else {
		name = lines_param(line, "TZID", &a);
		zone = name ? zone_resolve(z, name) : zone_local();
	}
	return zone ? moment_make(ret, t, zone) : -ENOENT;
}

int moment_read(struct moment *ret, const struct line *line, struct zones *z)
{
	return moment_read_value(ret, line, line->value, strlen(line->value), z);
}

/* Z, +01:00, -05:30; "" is none. */
static int moment_offset(const char *text, bool *ret_has, int *ret_seconds)
{
	int hours, minutes;

	*ret_has = *text != '\0';
	*ret_seconds = 0;
	if (!*text || strcmp(text, "Z") == 0 || strcmp(text, "z") == 0)
		return 0;
	if (strlen(text) != 6 || (text[0] != '+' && text[0] != '-') || text[3] != ':')
		return -EINVAL;
	hours = moment_digits(text + 1, 2);
	minutes = moment_digits(text + 4, 2);
	if (hours < 0 || hours > 14 || minutes < 0 || minutes > 59)
		return -EINVAL;
	*ret_seconds = (hours * 60 + minutes) * (text[0] == '-' ? -60 : 60);
	return 0;
}

static int moment_parse_time(
	struct moment *ret, const char *behind, struct icaltimetype clock, icaltimezone *zone)
{
	icaltimezone *utc = icaltimezone_get_utc_timezone();
	bool has_offset;
	int offset, r;

	/* Parts of a second are nothing that a calendar has. */
	if (*behind == '.')
		behind += 1 + strspn(behind + 1, "0123456789");
	r = moment_offset(behind, &has_offset, &offset);
	if (r < 0)
		return r;
	r = moment_make(ret, clock, has_offset ? utc : zone ? zone : zone_local());
	if (r < 0 || !has_offset)
		return r;
	return moment_from_seconds(ret, ret->at - offset, zone ? zone : utc);
}

int moment_parse(struct moment *ret, const char *text, icaltimezone *zone)
{
	const size_t len = strlen(text);
	struct icaltimetype t = icaltime_null_time();

	if (len < 10 || len > 40 || text[4] != '-' || text[7] != '-')
		return -EINVAL;
	t.year = moment_digits(text, 4);
	t.month = moment_digits(text + 5, 2);
	t.day = moment_digits(text + 8, 2);
	t.is_date = len == 10;
	if (len == 10)
		return moment_make(ret, t, zone_local());
	if (len < 19 || (text[10] != 'T' && text[10] != 't' && text[10] != ' ') ||
		text[13] != ':' || text[16] != ':')
		return -EINVAL;
	t.hour = moment_digits(text + 11, 2);
	t.minute = moment_digits(text + 14, 2);
	t.second = moment_digits(text + 17, 2);
	return moment_parse_time(ret, text + 19, t, zone);
}

void moment_print(const struct moment *m, struct buffer *out)
{
	const struct icaltimetype *t = &m->clock;
	struct icaltimetype clock = m->clock;
	int offset;

	buffer_printf(out, "%04d-%02d-%02d", t->year, t->month, t->day);
	if (m->is_date)
		return;
	buffer_printf(out, "T%02d:%02d:%02d", t->hour, t->minute, t->second);
	if (m->zone == icaltimezone_get_utc_timezone()) {
		buffer_addc(out, 'Z');
		return;
	}
	offset = icaltimezone_get_utc_offset(m->zone, &clock, NULL) / 60;
	buffer_printf(
		out, "%c%02d:%02d", offset < 0 ? '-' : '+', abs(offset) / 60, abs(offset) % 60);
}

void moment_add_line(const struct moment *m, const char *name, struct buffer *out)
{
	const struct icaltimetype *t = &m->clock;
	const bool utc = m->zone == icaltimezone_get_utc_timezone();
	char value[64], params[ZONE_NAME_MAX + 16] = "";

	if (m->is_date) {
		(void)snprintf(value, sizeof(value), "%04d%02d%02d", t->year, t->month, t->day);
		(void)stpcpy(params, ";VALUE=DATE");
	} else {
		(void)snprintf(value, sizeof(value), "%04d%02d%02dT%02d%02d%02d%s", t->year,
			t->month, t->day, t->hour, t->minute, t->second, utc ? "Z" : "");
		if (!utc)
			(void)snprintf(params, sizeof(params), ";TZID=%s", zone_name(m->zone));
	}
	edit_add_raw(out, name, params, value);
}
