/* SPDX-License-Identifier: Apache-2.0 */
/*
 * All forms are read from left to right by the same few steps: a number with so many digits, a
 * character. What is left over at the end makes the whole of it wrong.
 */
#include "cli/audit/time.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#define SECOND UINT64_C(1000000000)

enum { DAY = 24 * 3600, YEAR_MAX = 2500 };

/* Exactly so many digits. */
static bool take_digits(const char **s, int digits, int *ret)
{
	int n = 0;

	for (int i = 0; i < digits; i++, (*s)++) {
		if (**s < '0' || **s > '9')
			return false;
		n = 10 * n + (**s - '0');
	}
	*ret = n;
	return true;
}

static bool take_char(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	(*s)++;
	return true;
}

/* YYYY-MM-DD */
static bool take_day(const char **s, struct tm *t)
{
	if (!take_digits(s, 4, &t->tm_year) || !take_char(s, "-") ||
		!take_digits(s, 2, &t->tm_mon) || !take_char(s, "-") ||
		!take_digits(s, 2, &t->tm_mday))
		return false;
	if (t->tm_year < 1970 || t->tm_year > YEAR_MAX || t->tm_mon < 1 || t->tm_mon > 12 ||
		t->tm_mday < 1)
		return false;
	t->tm_year -= 1900;
	t->tm_mon--;
	return true;
}

/* .678: nanoseconds; digits behind the ninth do not count. */
static bool take_fraction(const char **s, uint64_t *ret)
{
	uint64_t unit = SECOND / 10;

	if (**s < '0' || **s > '9')
		return false;
	for (; **s >= '0' && **s <= '9'; (*s)++, unit /= 10)
		*ret += unit * (uint64_t)(**s - '0');
	return true;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.678 */
static bool take_clock(const char **s, struct tm *t, uint64_t *fraction)
{
	if (!take_digits(s, 2, &t->tm_hour) || !take_char(s, ":") || !take_digits(s, 2, &t->tm_min))
		return false;
	if (take_char(s, ":")) {
		if (!take_digits(s, 2, &t->tm_sec))
			return false;
		if (take_char(s, ".") && !take_fraction(s, fraction))
			return false;
	}
	return t->tm_hour < 24 && t->tm_min < 60 && t->tm_sec < 60;
}

/* Z, +01:00; false with *ret_is_there set: it is there, but wrong. */
static bool take_zone(const char **s, bool *ret_is_there, int *ret_seconds)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes;

	*ret_is_there = true;
	*ret_seconds = 0;
	if (take_char(s, "Zz"))
		return true;
	if (!take_char(s, "+-")) {
		*ret_is_there = false;
		return true;
	}
	if (!take_digits(s, 2, &hours) || !take_char(s, ":") || !take_digits(s, 2, &minutes) ||
		hours > 23 || minutes > 59)
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

/* The day may be one that there is not: 30 February. */
static bool is_same_day(const struct tm *a, const struct tm *b)
{
	return a->tm_mday == b->tm_mday && a->tm_mon == b->tm_mon;
}

static int from_seconds(time_t seconds, uint64_t fraction, uint64_t *ret_ns)
{
	if (seconds < 0)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * SECOND + fraction;
	return 0;
}

static int finish_local(const struct tm *t, uint64_t fraction, uint64_t *ret_ns)
{
	struct tm parts = *t;
	time_t seconds;

	parts.tm_isdst = -1;
	seconds = mktime(&parts);
	return is_same_day(t, &parts) ? from_seconds(seconds, fraction, ret_ns) : -EINVAL;
}

static int finish_zoned(const struct tm *t, int zone, uint64_t fraction, uint64_t *ret_ns)
{
	struct tm parts = *t;
	time_t seconds = timegm(&parts);

	return is_same_day(t, &parts) ? from_seconds(seconds - zone, fraction, ret_ns) : -EINVAL;
}

static int finish_day(const struct tm *t, enum audit_time_end end, uint64_t *ret_ns)
{
	struct tm next = *t;
	int r = finish_local(t, 0, ret_ns);

	if (r < 0 || end == AUDIT_TIME_BEGINS)
		return r;
	/* Not every day has 24 hours. */
	next.tm_mday++;
	next.tm_isdst = -1;
	*ret_ns = (uint64_t)mktime(&next) * SECOND - 1;
	return 0;
}

static int parse_date(const char *s, enum audit_time_end end, uint64_t *ret_ns)
{
	struct tm t = { 0 };
	uint64_t fraction = 0;
	bool zoned;
	int zone;

	if (!take_day(&s, &t))
		return -EINVAL;
	if (!*s)
		return finish_day(&t, end, ret_ns);
	if (!take_char(&s, "Tt ") || !take_clock(&s, &t, &fraction) ||
		!take_zone(&s, &zoned, &zone) || *s)
		return -EINVAL;
	return zoned ? finish_zoned(&t, zone, fraction, ret_ns)
		     : finish_local(&t, fraction, ret_ns);
}

/* At 01:00, 23:00 was yesterday. */
static int parse_clock(const char *s, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now = (time_t)(now_ns / SECOND);
	struct tm today, t;
	uint64_t fraction = 0;
	int r;

	(void)localtime_r(&now, &today);
	t = (struct tm){
		.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday
	};
	if (!take_clock(&s, &t, &fraction) || *s)
		return -EINVAL;
	r = finish_local(&t, fraction, ret_ns);
	if (r < 0 || *ret_ns <= now_ns)
		return r;
	t.tm_mday--;
	t.tm_isdst = -1;
	return from_seconds(mktime(&t), fraction, ret_ns);
}

static int parse_ago(const char *s, uint64_t now_ns, uint64_t *ret_ns)
{
	static const char units[] = "smhdw";
	static const uint64_t seconds[] = { 1, 60, 3600, DAY, 7 * DAY };
	const char *unit;
	uint64_t n = 0;

	if (*s < '0' || *s > '9')
		return -EINVAL;
	for (; *s >= '0' && *s <= '9'; s++) {
		n = 10 * n + (uint64_t)(*s - '0');
		if (n > UINT32_MAX)
			return -EINVAL;
	}
	unit = *s ? strchr(units, *s) : NULL;
	if (!unit || s[1])
		return -EINVAL;
	n *= seconds[unit - units];
	/* Before 1970 there is nothing: all of it. */
	*ret_ns = n < now_ns / SECOND ? now_ns - n * SECOND : 0;
	return 0;
}

int audit_time_parse(const char *text, enum audit_time_end end, uint64_t now_ns, uint64_t *ret_ns)
{
	uint64_t ns = 0;
	int r;

	if (strlen(text) > 2 && text[2] == ':')
		r = parse_clock(text, now_ns, &ns);
	else if (strlen(text) > 4 && text[4] == '-')
		r = parse_date(text, end, &ns);
	else
		r = parse_ago(text, now_ns, &ns);
	if (r == 0)
		*ret_ns = ns;
	return r;
}

const char *audit_time_print(uint64_t time_ns, char out[AUDIT_TIME_BYTES])
{
	time_t seconds = (time_t)(time_ns / SECOND);
	struct tm parts;

	(void)localtime_r(&seconds, &parts);
	if (strftime(out, AUDIT_TIME_BYTES, "%Y-%m-%d %H:%M:%S", &parts) == 0)
		(void)snprintf(out, AUDIT_TIME_BYTES, "%-19s", "?");
	return out;
}
