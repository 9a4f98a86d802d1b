/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/audit/figures.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/hash.h"
#include "cli/run/terminal.h"

enum { EIGHTHS = 8 };

void audit_amount_count(struct buffer *out, uint64_t n)
{
	char digits[24];
	size_t len = (size_t)snprintf(digits, sizeof(digits), "%" PRIu64, n);

	for (size_t i = 0; i < len; i++) {
		if (i && (len - i) % 3 == 0)
			buffer_addc(out, ',');
		buffer_addc(out, digits[i]);
	}
}

void audit_amount_bytes(struct buffer *out, uint64_t n)
{
	static const char *const units[] = { "B", "kB", "MB", "GB", "TB", "PB", "EB" };
	double value = (double)n;
	size_t unit = 0;

	/* 999,950 is a megabyte when it is rounded. */
	while (value >= (unit ? 999.95 : 1000) && unit + 1 < ROWS(units)) {
		value /= 1000;
		unit++;
	}
	buffer_printf(out, "%.*f %s", unit ? 1 : 0, value, units[unit]);
}

void audit_amount_span(struct buffer *out, uint64_t ns)
{
	const uint64_t ms = ns / 1000000, seconds = ms / 1000;

	if (ms == 0)
		buffer_printf(out, "%" PRIu64 " µs", ns / 1000);
	else if (seconds == 0)
		buffer_printf(out, "%" PRIu64 " ms", ms);
	else if (seconds < 60)
		buffer_printf(out, "%" PRIu64 ".%" PRIu64 " s", seconds, ms % 1000 / 100);
	else if (seconds < 3600)
		buffer_printf(out, "%" PRIu64 " min %" PRIu64 " s", seconds / 60, seconds % 60);
	else
		buffer_printf(
			out, "%" PRIu64 " h %" PRIu64 " min", seconds / 3600, seconds % 3600 / 60);
}

struct audit_chart audit_chart_for(int fd)
{
	static const char *const names[] = { "LC_ALL", "LC_CTYPE", "LANG" };
	const char *locale = NULL;
	unsigned short rows, columns;

	/* By name, not by setlocale(): the locale that is named need not be installed. */
	for (size_t i = 0; i < ROWS(names) && !(locale && *locale); i++)
		locale = getenv(names[i]);
	terminal_size(fd, &rows, &columns);
	return (struct audit_chart){ .columns = columns,
		.has_blocks =
			locale && (strcasestr(locale, "utf-8") || strcasestr(locale, "utf8")) };
}

void audit_chart_bar(const struct audit_chart *c, struct output *o, enum output_style style,
	uint64_t n, uint64_t max, unsigned width)
{
	static const char *const blocks[] = { "", "▏", "▎", "▍", "▌", "▋", "▊", "▉" };
	auto_buffer bar = { 0 };
	const unsigned in_cell = c->has_blocks ? EIGHTHS : 1;
	const uint64_t most = (uint64_t)width * in_cell;
	uint64_t parts = 0;

	/* Rounded to the nearest; never 0 of something. */
	if (n && max)
		parts = (uint64_t)((double)n / (double)max * (double)most + 0.5);
	if (n && max && !parts)
		parts = 1;
	if (parts > most)
		parts = most;
	for (uint64_t i = 0; i < parts / in_cell; i++)
		buffer_adds(&bar, c->has_blocks ? "█" : "#");
	if (c->has_blocks)
		buffer_adds(&bar, blocks[parts % EIGHTHS]);
	if (bar.len)
		output_styled(o, style, buffer_text(&bar));
	o->text.failed |= bar.failed;
}

/*
 * All forms of a moment are read from left to right by the same few steps: a number with so many
 * digits, a character. What is left over at the end makes the whole of it wrong.
 */
#define SECOND UINT64_C(1000000000)

enum { DAY = 24 * 3600, YEAR_MAX = 2500 };

/* Exactly so many digits. */
static bool time_take_digits(const char **s, int digits, int *ret)
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

static bool time_take_char(const char **s, const char *any)
{
	if (!**s || !strchr(any, **s))
		return false;
	(*s)++;
	return true;
}

/* YYYY-MM-DD */
static bool time_take_day(const char **s, struct tm *t)
{
	if (!time_take_digits(s, 4, &t->tm_year) || !time_take_char(s, "-") ||
		!time_take_digits(s, 2, &t->tm_mon) || !time_take_char(s, "-") ||
		!time_take_digits(s, 2, &t->tm_mday))
		return false;
	if (t->tm_year < 1970 || t->tm_year > YEAR_MAX || t->tm_mon < 1 || t->tm_mon > 12 ||
		t->tm_mday < 1)
		return false;
	t->tm_year -= 1900;
	t->tm_mon--;
	return true;
}

/* HH:MM, HH:MM:SS, HH:MM:SS.678 */
static bool time_take_clock(const char **s, struct tm *t, uint64_t *fraction)
{
	if (!time_take_digits(s, 2, &t->tm_hour) || !time_take_char(s, ":") ||
		!time_take_digits(s, 2, &t->tm_min))
		return false;
	if (time_take_char(s, ":")) {
		if (!time_take_digits(s, 2, &t->tm_sec))
			return false;
		/* .678: nanoseconds; digits after the ninth do not count. */
		if (time_take_char(s, ".")) {
			uint64_t unit = SECOND / 10;

			if (**s < '0' || **s > '9')
				return false;
			for (; **s >= '0' && **s <= '9'; (*s)++, unit /= 10)
				*fraction += unit * (uint64_t)(**s - '0');
		}
	}
	return t->tm_hour < 24 && t->tm_min < 60 && t->tm_sec < 60;
}

/* Z, +01:00; false with *ret_is_there set: it is there, but wrong. */
static bool time_take_zone(const char **s, bool *ret_is_there, int *ret_seconds)
{
	int sign = **s == '-' ? -1 : 1, hours, minutes;

	*ret_is_there = true;
	*ret_seconds = 0;
	if (time_take_char(s, "Zz"))
		return true;
	if (!time_take_char(s, "+-")) {
		*ret_is_there = false;
		return true;
	}
	if (!time_take_digits(s, 2, &hours) || !time_take_char(s, ":") ||
		!time_take_digits(s, 2, &minutes) || hours > 23 || minutes > 59)
		return false;
	*ret_seconds = sign * (hours * 3600 + minutes * 60);
	return true;
}

static int time_from_seconds(time_t seconds, uint64_t fraction, uint64_t *ret_ns)
{
	if (seconds < 0)
		return -EINVAL;
	*ret_ns = (uint64_t)seconds * SECOND + fraction;
	return 0;
}

/* In a zone of so many seconds, or local time for NULL. */
static int time_finish(const struct tm *t, const int *zone, uint64_t fraction, uint64_t *ret_ns)
{
	struct tm parts = *t;
	time_t seconds;

	parts.tm_isdst = -1;
	seconds = zone ? timegm(&parts) - *zone : mktime(&parts);
	/* The day may be one that there is not: 30 February. */
	if (t->tm_mday != parts.tm_mday || t->tm_mon != parts.tm_mon)
		return -EINVAL;
	return time_from_seconds(seconds, fraction, ret_ns);
}

static int time_parse_date(const char *s, enum audit_time_end end, uint64_t *ret_ns)
{
	struct tm t = { 0 };
	uint64_t fraction = 0;
	bool zoned;
	int zone, r;

	if (!time_take_day(&s, &t))
		return -EINVAL;
	if (*s) {
		if (!time_take_char(&s, "Tt ") || !time_take_clock(&s, &t, &fraction) ||
			!time_take_zone(&s, &zoned, &zone) || *s)
			return -EINVAL;
		return time_finish(&t, zoned ? &zone : NULL, fraction, ret_ns);
	}
	r = time_finish(&t, NULL, 0, ret_ns);
	if (r < 0 || end == AUDIT_TIME_BEGINS)
		return r;
	/* Not every day has 24 hours. */
	t.tm_mday++;
	t.tm_isdst = -1;
	*ret_ns = (uint64_t)mktime(&t) * SECOND - 1;
	return 0;
}

/* At 01:00, 23:00 was yesterday. */
static int time_parse_clock(const char *s, uint64_t now_ns, uint64_t *ret_ns)
{
	time_t now = (time_t)(now_ns / SECOND);
	struct tm today, t;
	uint64_t fraction = 0;
	int r;

	(void)localtime_r(&now, &today);
	t = (struct tm){
		.tm_year = today.tm_year, .tm_mon = today.tm_mon, .tm_mday = today.tm_mday
	};
	if (!time_take_clock(&s, &t, &fraction) || *s)
		return -EINVAL;
	r = time_finish(&t, NULL, fraction, ret_ns);
	if (r < 0 || *ret_ns <= now_ns)
		return r;
	t.tm_mday--;
	t.tm_isdst = -1;
	return time_from_seconds(mktime(&t), fraction, ret_ns);
}

static int time_parse_ago(const char *s, uint64_t now_ns, uint64_t *ret_ns)
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
		r = time_parse_clock(text, now_ns, &ns);
	else if (strlen(text) > 4 && text[4] == '-')
		r = time_parse_date(text, end, &ns);
	else
		r = time_parse_ago(text, now_ns, &ns);
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

/*
 * Finding a name and finding the rarest are both a walk over a plain array of numbers, which is
 * a few hundred nanoseconds for this size: no tree or heap to keep in order. The hash is keyed, or
 * a log could be written in which all names collide and each walk compares a thousand long texts.
 */

struct audit_top *audit_top_new(void)
{
	return calloc(1, sizeof(struct audit_top));
}

void audit_top_free(struct audit_top *t)
{
	for (size_t i = 0; t && i < t->n; i++)
		free(t->entries[i].text);
	free(t);
}

int audit_top_add(struct audit_top *t, unsigned kind, const char *text, uint64_t n)
{
	const struct hash_key key = hash_key_make();
	const uint64_t hash = hash_keyed(&key, kind, text, strlen(text));
	size_t i = 0;

	while (i < t->n && !(t->hashes[i] == hash && t->entries[i].kind == kind &&
				   strcmp(t->entries[i].text, text) == 0))
		i++;
	if (i == t->n) {
		char *copy = strdup(text);

		if (!copy)
			return -ENOMEM;
		/* A free place, or that of the rarest, whose count it takes over. */
		if (t->n < AUDIT_TOP_SIZE) {
			t->counts[t->n++] = 0;
		} else {
			t->is_approximate = true;
			i = 0;
			for (size_t k = 1; k < t->n; k++)
				i = t->counts[k] < t->counts[i] ? k : i;
			free(t->entries[i].text);
		}
		t->hashes[i] = hash;
		t->entries[i] = (struct audit_top_entry){
			.text = copy, .kind = kind, .inherited = t->counts[i]
		};
	}
	audit_amount_add(&t->counts[i], n);
	t->entries[i].count = t->counts[i];
	return 0;
}

static int audit_top_compare(const void *a, const void *b)
{
	const struct audit_top_entry *x = a, *y = b;
	const uint64_t of_x = audit_top_surely(x), of_y = audit_top_surely(y);
	int r;

	if (of_x != of_y)
		return of_x > of_y ? -1 : 1;
	/* So that the same log always gives the same list. */
	r = strcmp(x->text, y->text);
	return r ? r : (int)x->kind - (int)y->kind;
}

void audit_top_sort(struct audit_top *t)
{
	qsort(t->entries, t->n, sizeof(t->entries[0]), audit_top_compare);
}
