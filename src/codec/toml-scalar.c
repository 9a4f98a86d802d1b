/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a bare word of TOML is: a bool, a number, a date or a time. The word comes whole, so each
 * kind is one function that takes all of it or none.
 */
#include "codec/toml-scalar.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "base/buffer.h"

/* Exactly n digits at *s, whose value is within a range; moves behind them. */
static bool toml_digits(const char **s, int n, int min, int max, int *ret)
{
	int value = 0;

	for (int i = 0; i < n; i++) {
		if (!ascii_is_digit((*s)[i]))
			return false;
		value = value * 10 + ((*s)[i] - '0');
	}
	*s += n;
	*ret = value;
	return value >= min && value <= max;
}

static bool toml_char(const char **s, const char *set)
{
	if (!**s || !strchr(set, **s))
		return false;
	(*s)++;
	return true;
}

static bool toml_date(const char **s)
{
	static const int days[] = { 31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31 };
	int year, month, day;
	bool leap;

	if (!toml_digits(s, 4, 0, 9999, &year) || !toml_char(s, "-") ||
		!toml_digits(s, 2, 1, 12, &month) || !toml_char(s, "-") ||
		!toml_digits(s, 2, 1, days[month - 1], &day))
		return false;
	leap = year % 4 == 0 && (year % 100 != 0 || year % 400 == 0);
	return leap || month != 2 || day <= 28;
}

static bool toml_time(const char **s)
{
	int part;

	if (!toml_digits(s, 2, 0, 23, &part) || !toml_char(s, ":") ||
		!toml_digits(s, 2, 0, 59, &part) || !toml_char(s, ":") ||
		!toml_digits(s, 2, 0, 60, &part))
		return false;
	if (!toml_char(s, "."))
		return true;
	if (!ascii_is_digit(**s))
		return false;
	*s += strspn(*s, "0123456789");
	return true;
}

static bool toml_offset(const char **s)
{
	int part;

	if (toml_char(s, "Zz"))
		return true;
	return toml_char(s, "+-") && toml_digits(s, 2, 0, 23, &part) && toml_char(s, ":") &&
	       toml_digits(s, 2, 0, 59, &part);
}

static bool toml_is_moment(const char *s)
{
	const char *time = s;

	if (toml_time(&time) && !*time)
		return true;
	if (!toml_date(&s))
		return false;
	if (!*s)
		return true;
	return toml_char(&s, "Tt ") && toml_time(&s) && (!*s || (toml_offset(&s) && !*s));
}

/* Digits with single underscores between them; they are left out of `out`. */
static bool toml_add_digits(const char **s, const char *set, struct buffer *out)
{
	bool is_digit = false;

	for (;; (*s)++) {
		if (**s == '_') {
			if (!is_digit || !(*s)[1] || !strchr(set, (*s)[1]))
				return false;
			is_digit = false;
			continue;
		}
		if (!**s || !strchr(set, **s))
			return is_digit;
		is_digit = true;
		buffer_addc(out, **s);
	}
}

static bool toml_integer(const char *s, struct buffer *out)
{
	static const struct {
		const char *prefix, *set;
		int base;
	} bases[] = { { "0x", "0123456789abcdefABCDEF", 16 }, { "0o", "01234567", 8 },
		{ "0b", "01", 2 } };
	auto_buffer digits = { 0 };
	int base = 10;
	char *end;
	long long value;
	bool good = false;

	for (size_t i = 0; i < sizeof(bases) / sizeof(bases[0]) && base == 10; i++) {
		if (strncmp(s, bases[i].prefix, 2) != 0)
			continue;
		base = bases[i].base;
		s += 2;
		good = toml_add_digits(&s, bases[i].set, &digits);
	}
	if (base == 10) {
		if (*s == '-')
			buffer_addc(&digits, '-');
		s += *s == '-' || *s == '+';
		good = (s[0] != '0' || !s[1]) && toml_add_digits(&s, "0123456789", &digits);
	}
	if (!good || *s || digits.failed)
		return false;
	errno = 0;
	value = strtoll(buffer_text(&digits), &end, base);
	if (errno || *end)
		return false;
	buffer_printf(out, "%lld", value);
	return true;
}

static bool toml_float(const char *s, struct buffer *out)
{
	const char *rest = s + (*s == '-' || *s == '+');
	bool has_point, has_exponent;

	if (*s == '-')
		buffer_addc(out, '-');
	if (strcmp(rest, "inf") == 0 || strcmp(rest, "nan") == 0) {
		if (*rest == 'n')
			buffer_clear(out);
		buffer_addc(out, '.');
		buffer_adds(out, rest);
		return true;
	}
	if (rest[0] == '0' && rest[1] && !strchr(".eE", rest[1]))
		return false;
	if (!toml_add_digits(&rest, "0123456789", out))
		return false;
	has_point = *rest == '.';
	if (has_point) {
		buffer_addc(out, *rest++);
		if (!toml_add_digits(&rest, "0123456789", out))
			return false;
	}
	has_exponent = *rest == 'e' || *rest == 'E';
	if (has_exponent) {
		buffer_addc(out, *rest++);
		if (*rest == '-' || *rest == '+')
			buffer_addc(out, *rest++);
		if (!toml_add_digits(&rest, "0123456789", out))
			return false;
	}
	return !*rest && (has_point || has_exponent);
}

int toml_scalar(const char *word, struct buffer *out, enum node_type *ret)
{
	buffer_clear(out);
	*ret = NODE_NUMBER;
	if (toml_integer(word, out))
		return 0;
	buffer_clear(out);
	if (toml_float(word, out))
		return 0;
	buffer_clear(out);
	buffer_adds(out, word);
	*ret = NODE_BOOL;
	if (strcmp(word, "true") == 0 || strcmp(word, "false") == 0)
		return 0;
	*ret = NODE_STRING;
	return toml_is_moment(word) ? 0 : -EINVAL;
}
