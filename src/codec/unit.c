/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An amount is a whole number and the name of a unit, and both ways of it are one table: parsing
 * looks the name up, printing takes the largest unit that leaves no rest. What is printed is
 * therefore always exact, and parses to the same number.
 *
 * There are no fractions and no spaces. "1.5G" has an exact meaning only sometimes, and a limit is
 * no place to guess.
 */
#include "codec/unit.h"

#include <ctype.h>
#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buffer.h"

struct unit {
	const char *name;
	uint64_t factor;
};

#define KILO (UINT64_C(1) << 10)
#define MEGA (UINT64_C(1) << 20)
#define GIGA (UINT64_C(1) << 30)
#define TERA (UINT64_C(1) << 40)

/* clang-format off */
/* The largest first, and for each the name it is printed with first. */
static const struct unit sizes[] = {
	{ "T", TERA }, { "TB", TERA }, { "TiB", TERA },
	{ "G", GIGA }, { "GB", GIGA }, { "GiB", GIGA },
	{ "M", MEGA }, { "MB", MEGA }, { "MiB", MEGA },
	{ "K", KILO }, { "KB", KILO }, { "KiB", KILO },
	{ "", 1 }, { "B", 1 },
};

/* In milliseconds. A bare number is seconds, but is never printed: who would know? */
static const struct unit durations[] = {
	{ "d", 86400000 }, { "h", 3600000 }, { "m", 60000 }, { "min", 60000 },
	{ "s", 1000 }, { "", 1000 }, { "ms", 1 },
};

/* In seconds: what may stand behind the slash of a rate without a number. */
static const struct unit windows[] = {
	{ "day", 86400 }, { "d", 86400 },
	{ "hour", 3600 }, { "h", 3600 },
	{ "min", 60 }, { "minute", 60 }, { "m", 60 },
	{ "s", 1 }, { "sec", 1 }, { "second", 1 },
};
/* clang-format on */

/* Reads decimal digits and moves *text after them. */
static int parse_digits(const char **text, uint64_t *ret)
{
	const char *p = *text;
	uint64_t value = 0;

	if (!isdigit((unsigned char)*p))
		return -EINVAL;
	for (; isdigit((unsigned char)*p); p++) {
		if (__builtin_mul_overflow(value, 10, &value) ||
			__builtin_add_overflow(value, (uint64_t)(*p - '0'), &value))
			return -ERANGE;
	}
	*text = p;
	*ret = value;
	return 0;
}

static const struct unit *unit_find(const struct unit *units, size_t n, const char *name,
	int (*compare)(const char *, const char *))
{
	for (size_t i = 0; i < n; i++) {
		if (compare(units[i].name, name) == 0)
			return &units[i];
	}
	return NULL;
}

static int parse_amount(const char *text, const struct unit *units, size_t n,
	int (*compare)(const char *, const char *), uint64_t *ret)
{
	const struct unit *unit;
	uint64_t value;
	int r = parse_digits(&text, &value);

	if (r < 0)
		return r;
	unit = unit_find(units, n, text, compare);
	if (!unit)
		return -EINVAL;
	if (__builtin_mul_overflow(value, unit->factor, &value) || value == UINT64_MAX)
		return -ERANGE;
	*ret = value;
	return 0;
}

int unit_parse_size(const char *text, uint64_t *ret_bytes)
{
	return parse_amount(text, sizes, ROWS(sizes), strcasecmp, ret_bytes);
}

int unit_parse_duration(const char *text, uint64_t *ret_ms)
{
	return parse_amount(text, durations, ROWS(durations), strcmp, ret_ms);
}

int unit_parse_rate(const char *text, struct rate *ret)
{
	const struct unit *window;
	struct rate rate;
	uint64_t ms;
	int r = parse_digits(&text, &rate.count);

	if (r < 0)
		return r;
	/* No rate of 0: it would read as "none may pass", while a count of 0 means "no limit". */
	if (rate.count == 0 || *text != '/')
		return -EINVAL;
	/* The window in whole seconds: a word ("min"), or a duration ("30s"). */
	window = unit_find(windows, ROWS(windows), ++text, strcmp);
	if (window) {
		rate.seconds = window->factor;
	} else {
		r = unit_parse_duration(text, &ms);
		if (r < 0)
			return r;
		if (ms == 0 || ms % 1000 != 0)
			return -EINVAL;
		rate.seconds = ms / 1000;
	}
	*ret = rate;
	return 0;
}

/* The last unit of a table divides everything. */
static void print_amount(uint64_t value, const struct unit *units, size_t n, struct buffer *out)
{
	for (size_t i = 0; i < n; i++) {
		if (value % units[i].factor == 0) {
			buffer_printf(out, "%" PRIu64 "%s", value / units[i].factor, units[i].name);
			return;
		}
	}
}

void unit_print_size(uint64_t bytes, struct buffer *out)
{
	if (bytes == 0)
		buffer_adds(out, "0");
	else
		print_amount(bytes, sizes, ROWS(sizes), out);
}

void unit_print_duration(uint64_t ms, struct buffer *out)
{
	if (ms == 0)
		buffer_adds(out, "0s");
	else
		print_amount(ms, durations, ROWS(durations), out);
}

void unit_print_rate(const struct rate *r, struct buffer *out)
{
	buffer_printf(out, "%" PRIu64 "/", r->count);
	for (size_t i = 0; i < ROWS(windows); i++) {
		if (windows[i].factor == r->seconds) {
			buffer_adds(out, windows[i].name);
			return;
		}
	}
	unit_print_duration(r->seconds * 1000, out);
}
