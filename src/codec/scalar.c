/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The readers use this to type what they read, the printers to see what they have to quote. That
 * both ask the same functions is why printing and reading cannot disagree about what a word means.
 *
 * Core schema (YAML 1.2, 10.3.2), as regular expressions:
 *
 *   null    "" | ~ | null | Null | NULL
 *   bool    true | True | TRUE | false | False | FALSE
 *   int     [-+]?[0-9]+ | 0o[0-7]+ | 0x[0-9a-fA-F]+
 *   float   [-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?
 *           [-+]?\.(inf|Inf|INF) | \.(nan|NaN|NAN)
 *
 * and the numbers of JSON (RFC 8259, 6):
 *
 *           -?(0|[1-9][0-9]*)(\.[0-9]+)?([eE][-+]?[0-9]+)?
 *
 * YAML 1.1's other words (yes, no, on, off), its 1_000, 0755 as octal and 1:30 are not in it.
 */
#include "codec/scalar.h"

#include <locale.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define DECIMAL "0123456789"
#define OCTAL "01234567"
#define HEXADECIMAL DECIMAL "abcdefABCDEF"

static bool scalar_is_one_of(const char *text, const char *const *words)
{
	for (; *words; words++) {
		if (strcmp(text, *words) == 0)
			return true;
	}
	return false;
}

/* The matchers return the rest behind what they match, or NULL. */
static const char *digits(const char *s, const char *which)
{
	size_t n = strspn(s, which);

	return n ? s + n : NULL;
}

static const char *exponent(const char *s)
{
	if (!s || (*s != 'e' && *s != 'E'))
		return s;
	s++;
	if (*s == '+' || *s == '-')
		s++;
	return digits(s, DECIMAL);
}

static bool scalar_at_end(const char *rest)
{
	return rest && *rest == '\0';
}

static const char *after_sign(const char *s)
{
	return *s == '+' || *s == '-' ? s + 1 : s;
}

bool scalar_is_integer(const char *text)
{
	if (text[0] == '0' && text[1] == 'o')
		return scalar_at_end(digits(text + 2, OCTAL));
	if (text[0] == '0' && text[1] == 'x')
		return scalar_at_end(digits(text + 2, HEXADECIMAL));
	return scalar_at_end(digits(after_sign(text), DECIMAL));
}

static bool is_float(const char *text)
{
	static const char *const infinite[] = { ".inf", ".Inf", ".INF", NULL };
	static const char *const undefined[] = { ".nan", ".NaN", ".NAN", NULL };
	const char *s = after_sign(text);

	if (scalar_is_one_of(s, infinite) || scalar_is_one_of(text, undefined))
		return true;
	if (*s == '.')
		return scalar_at_end(exponent(digits(s + 1, DECIMAL)));
	s = digits(s, DECIMAL);
	if (s && *s == '.')
		s += 1 + strspn(s + 1, DECIMAL);
	return scalar_at_end(exponent(s));
}

enum node_type scalar_type(const char *text)
{
	static const char *const null[] = { "", "~", "null", "Null", "NULL", NULL };
	static const char *const boolean[] = { "true", "True", "TRUE", "false", "False", "FALSE",
		NULL };

	if (scalar_is_one_of(text, null))
		return NODE_NULL;
	if (scalar_is_one_of(text, boolean))
		return NODE_BOOL;
	return scalar_is_integer(text) || is_float(text) ? NODE_NUMBER : NODE_STRING;
}

/* Of text in JSON's grammar. strtod() would take its decimal point from the host's locale. */
static bool is_finite(const char *text)
{
	const size_t sure = 300; /* digits without an exponent stay below 1e308 */
	locale_t c;
	double value;

	if (!strpbrk(text, "eE") && strlen(text) < sure)
		return true;
	c = newlocale(LC_ALL_MASK, "C", NULL);
	if (!c)
		return false;
	value = strtod_l(text, NULL, c);
	freelocale(c);
	return isfinite(value);
}

bool scalar_is_json_number(const char *text)
{
	const char *s = *text == '-' ? text + 1 : text;

	s = *s == '0' ? s + 1 : digits(s, DECIMAL);
	if (s && *s == '.')
		s = digits(s + 1, DECIMAL);
	return scalar_at_end(exponent(s)) && is_finite(text);
}
