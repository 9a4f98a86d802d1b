/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/pattern.h"

#include <string.h>

#include "base/array.h"
#include "base/utf8.h"

#define LAST UINT32_C(0x10ffff)

static const struct pattern_range digits[] = { { '0', '9' } };
static const struct pattern_range words[] = { { '0', '9' }, { 'A', 'Z' }, { '_', '_' },
	{ 'a', 'z' } };
static const struct pattern_range spaces[] = { { '\t', '\r' }, { ' ', ' ' }, { 0xa0, 0xa0 },
	{ 0x1680, 0x1680 }, { 0x2000, 0x200a }, { 0x2028, 0x2029 }, { 0x202f, 0x202f },
	{ 0x205f, 0x205f }, { 0x3000, 0x3000 }, { 0xfeff, 0xfeff } };
static const struct pattern_range newlines[] = { { '\n', '\n' }, { '\r', '\r' },
	{ 0x2028, 0x2029 } };

static bool pattern_add(struct pattern *p, const struct pattern_range *r, size_t n)
{
	if (n > PATTERN_RANGES_MAX - p->n_ranges)
		return false;
	memcpy(p->ranges + p->n_ranges, r, n * sizeof(*r));
	p->n_ranges += n;
	return true;
}

/* All that is in none of them: they are in order. */
static bool pattern_add_others(struct pattern *p, const struct pattern_range *r, size_t n)
{
	uint32_t from = 0;

	for (size_t i = 0; i <= n; i++) {
		const struct pattern_range gap = { from, i < n ? r[i].first - 1 : LAST };

		if (!pattern_add(p, &gap, 1))
			return false;
		from = i < n ? r[i].last + 1 : from;
	}
	return true;
}

/* A literal character; 0 bytes: there is none. */
static size_t pattern_take(const char *at, uint32_t *ret)
{
	return utf8_decode(at, strlen(at), ret);
}

/* Behind a backslash: a class, or *single is the character that is meant. */
static const char *pattern_read_escape(struct pattern *p, const char **at, uint32_t *single)
{
	static const struct {
		char letter, opposite;
		const struct pattern_range *ranges;
		size_t n;
	} classes[] = { { 'd', 'D', digits, ROWS(digits) }, { 'w', 'W', words, ROWS(words) },
		{ 's', 'S', spaces, ROWS(spaces) } };
	static const char letters[] = "tnrfv", means[] = "\t\n\r\f\v";
	const char letter = **at, *found = letter ? strchr(letters, letter) : NULL;

	*single = 0;
	for (size_t i = 0; i < ROWS(classes); i++) {
		if (letter != classes[i].letter && letter != classes[i].opposite)
			continue;
		++*at;
		if (letter == classes[i].letter
				? pattern_add(p, classes[i].ranges, classes[i].n)
				: pattern_add_others(p, classes[i].ranges, classes[i].n))
			return NULL;
		return "it is too long";
	}
	if (!found && (!letter || !strchr("^$\\.*+?()[]{}|/-", letter)))
		return "\\ stands only before d, D, w, W, s, S, t, n, r, f, v and marks";
	*single = (unsigned char)(found ? means[found - letters] : letter);
	++*at;
	return NULL;
}

/* One end of a range in [ ]; *ret 0: it was a class. */
static const char *pattern_read_member(struct pattern *p, const char **at, uint32_t *ret)
{
	if (**at == '\\') {
		++*at;
		return pattern_read_escape(p, at, ret);
	}
	*at += pattern_take(*at, ret);
	return NULL;
}

/* Behind [. */
static const char *pattern_read_class(struct pattern *p, const char **at, struct pattern_atom *atom)
{
	atom->is_negated = **at == '^';
	*at += atom->is_negated;
	while (**at != ']') {
		struct pattern_range r;
		const char *why;

		if (!**at)
			return "[ has no ]";
		why = pattern_read_member(p, at, &r.first);
		if (why)
			return why;
		r.last = r.first;
		if (r.first && **at == '-' && (*at)[1] != ']') {
			++*at;
			if (!**at)
				return "[ has no ]";
			why = pattern_read_member(p, at, &r.last);
			if (why || r.last < r.first)
				return why ? why : "a range ends before it begins";
		}
		if (r.first && !pattern_add(p, &r, 1))
			return "it is too long";
	}
	++*at;
	return NULL;
}

static const char *pattern_read_atom(struct pattern *p, const char **at, struct pattern_atom *atom)
{
	uint32_t single = 0;
	const char *why = NULL;

	switch (**at) {
	case '(':
	case ')':
	case '|':
	case '{':
	case '}':
	case ']':
		return "groups, | and {} are not supported; use several rules, or anyOf";
	case '*':
	case '+':
	case '?':
		return "* + ? must follow what they repeat, once";
	case '^':
	case '$':
		return "^ stands at the start alone, $ at the end";
	case '.':
		++*at;
		atom->is_negated = true;
		return pattern_add(p, newlines, ROWS(newlines)) ? NULL : "it is too long";
	case '[':
		++*at;
		return pattern_read_class(p, at, atom);
	case '\\':
		++*at;
		why = pattern_read_escape(p, at, &single);
		break;
	default:
		*at += pattern_take(*at, &single);
		break;
	}
	if (!why && single && !pattern_add(p, &(struct pattern_range){ single, single }, 1))
		why = "it is too long";
	return why;
}

const char *pattern_read(struct pattern *p, const char *text)
{
	const char *at = text;

	*p = (struct pattern){ 0 };
	if (!utf8_valid(text, strlen(text), NULL))
		return "it is no UTF-8";
	if (*at == '^') {
		p->from_start = true;
		at++;
	}
	while (*at) {
		struct pattern_atom atom = { .ranges = (uint16_t)p->n_ranges };
		const char *why;

		if (at[0] == '$' && !at[1]) {
			p->to_end = true;
			break;
		}
		if (p->n == PATTERN_ATOMS_MAX)
			return "it is too long";
		why = pattern_read_atom(p, &at, &atom);
		if (why)
			return why;
		atom.n = (uint16_t)(p->n_ranges - atom.ranges);
		if (*at && strchr("*+?", *at))
			atom.repeat = *at++;
		p->atoms[p->n++] = atom;
	}
	return NULL;
}

static bool pattern_has(const struct pattern *p, const struct pattern_atom *a, uint32_t c)
{
	for (size_t i = 0; i < a->n; i++)
		if (c >= p->ranges[a->ranges + i].first && c <= p->ranges[a->ranges + i].last)
			return !a->is_negated;
	return a->is_negated;
}

/* Where the match may be: before which atoms. What need not be there may be passed. */
static void pattern_enter(const struct pattern *p, bool *states, size_t at)
{
	/* One that was entered before has all behind it entered, too. */
	for (; !states[at]; at++) {
		states[at] = true;
		if (at == p->n || (p->atoms[at].repeat != '*' && p->atoms[at].repeat != '?'))
			return;
	}
}

/* Whether it is anywhere still. */
static bool pattern_step(const struct pattern *p, const bool *from, bool *to, uint32_t c)
{
	bool goes_on = false;

	for (size_t i = 0; i < p->n; i++) {
		const struct pattern_atom *a = &p->atoms[i];

		if (!from[i] || !pattern_has(p, a, c))
			continue;
		goes_on = true;
		pattern_enter(p, to, i + 1);
		if (a->repeat == '*' || a->repeat == '+')
			pattern_enter(p, to, i);
	}
	return goes_on;
}

bool pattern_matches(const struct pattern *p, const char *text)
{
	bool states[2][PATTERN_ATOMS_MAX + 1] = { 0 };
	size_t left = strlen(text);
	bool *now = states[0], *next = states[1], *other;

	pattern_enter(p, now, 0);
	for (;;) {
		uint32_t c;
		size_t n;

		if (now[p->n] && (!p->to_end || left == 0))
			return true;
		n = left ? utf8_decode(text, left, &c) : 0;
		if (n == 0)
			return false;
		memset(next, 0, sizeof(states[0]));
		if (!pattern_step(p, now, next, c) && p->from_start)
			return false;
		if (!p->from_start)
			pattern_enter(p, next, 0);
		text += n;
		left -= n;
		other = now;
		now = next;
		next = other;
	}
}
