/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Lines without effect. Each entry is compared with all others of its operation, once: `by` is then
 * one that covers all of it and decides first, or decides the same. What that means depends on the
 * two verdicts:
 *
 *     the same      the entry is superfluous (covered)
 *     different     a grant is taken back (denied), a rule never decides (rule-shadowed)
 *
 * Only what is certain is said: see lint/internal.h.
 */
#include <errno.h>
#include <string.h>

#include "advice/lint/internal.h"

/* Guest paths do more than grant: they name. */
static bool is_compared(const struct lint_entry *e)
{
	return !e->nothing && strcmp(e->list, "guest_paths") != 0;
}

static bool sets_value(const struct lint_entry *e)
{
	return e->op == OPERATION_ENV && strchr(e->text, '=');
}

/* Does `other` leave e nothing to decide? */
static int lint_useless_covers(
	struct lint *l, const struct lint_entry *other, const struct lint_entry *e)
{
	/* Two entries of lists with one verdict have no order. */
	bool ordered = other->rule || e->rule || other->verdict != e->verdict;
	int r;

	if (other == e || !is_compared(other) || (other > e && ordered))
		return 0;
	/* NAME lets the host's value in; NAME=value beside it still sets another one. */
	if (other->verdict == e->verdict && sets_value(e) && !sets_value(other))
		return 0;
	/* network.private grants more of a name than network.allow. */
	if (other->verdict == e->verdict && e->is_private && !other->is_private)
		return 0;
	r = lint_contains(l, other, e);
	if (r == 1 && other->is_private && !e->is_private)
		return 1;
	/* Of two that are equal the later one is superfluous, or the one that grants less. */
	if (r == 1 && other > e && !other->implied) {
		r = lint_contains(l, e, other);
		return r < 0 ? r : !r;
	}
	return r;
}

static int find_cover(struct lint *l, const struct lint_entries *all, struct lint_entry *e)
{
	const struct lint_entries *reads = &l->entries[OPERATION_FS_READ];
	/* A file that fs.deny names does not run either, whatever else is said of it. */
	bool runs = e->op == OPERATION_EXEC && e->verdict != VERDICT_DENY &&
		    !lint_is_too_long(l, reads);
	int r = 0;

	for (size_t i = 0; r == 0 && runs && i < reads->n; i++) {
		const struct lint_entry *other = &reads->items[i];

		r = other->rule || other->verdict != VERDICT_DENY ? 0 : lint_contains(l, other, e);
		if (r == 1)
			e->by = other;
	}
	for (size_t i = 0; r == 0 && i < all->n; i++) {
		r = lint_useless_covers(l, &all->items[i], e);
		if (r == 1)
			e->by = &all->items[i];
	}
	return r < 0 ? r : 0;
}

int lint_compare(struct lint *l)
{
	int r = 0;

	for (int op = 0; r == 0 && !l->compared && op < OPERATION_COUNT; op++) {
		struct lint_entries *all = &l->entries[op];

		for (size_t i = 0; r == 0 && !lint_is_too_long(l, all) && i < all->n; i++) {
			if (is_compared(&all->items[i]) && !all->items[i].implied)
				r = find_cover(l, all, &all->items[i]);
		}
	}
	l->compared = true;
	return r;
}

/* A rule about reading and writing has two entries for one pattern, which are one to its writer. */
static bool is_second(const struct lint *l, const struct lint_entry *e)
{
	const struct lint_entries *reads = &l->entries[OPERATION_FS_READ];

	if (!e->rule || e->op != OPERATION_FS_WRITE)
		return false;
	for (size_t i = 0; i < reads->n; i++) {
		const struct lint_entry *other = &reads->items[i];

		if (other->grant == e->grant && other->nothing == e->nothing &&
			(!other->by) == (!e->by) && (!e->by || other->by->grant == e->by->grant))
			return true;
	}
	return false;
}

static const char *lint_useless_place(struct lint *l, const struct lint_entry *e)
{
	if (!e->where.file || !e->where.line)
		return "";
	return lint_say(l, " (%s:%u)", e->where.file, e->where.line);
}

int lint_denied(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entry *by = e->by;

	if (!by || e->rule || by->verdict >= e->verdict)
		return 0;
	return lint_report(l, e,
		lint_say(l, "this grants nothing: %s %s all of it by %s%s", lint_source(l, by),
			by->verdict == VERDICT_DENY ? "forbids" : "asks about", by->text,
			lint_useless_place(l, by)),
		"remove one of the two");
}

int lint_rule_shadowed(struct lint *l, const struct lint_entry *e)
{
	const struct lint_entry *by = e->by;

	if (!by || !e->rule || by->verdict == e->verdict || is_second(l, e))
		return 0;
	return lint_report(l, e,
		lint_say(l, "rule %s never decides this: %s comes first, with %s%s", e->rule->id,
			lint_source(l, by), by->text, lint_useless_place(l, by)),
		"remove it, or give it a higher priority");
}

int lint_covered(struct lint *l, const struct lint_entry *e)
{
	if (!e->by || e->by->verdict != e->verdict || is_second(l, e))
		return 0;
	return lint_report(l, e,
		lint_say(l, "%s has %s, which covers all of it%s", lint_source(l, e->by),
			e->by->text, lint_useless_place(l, e->by)),
		"remove it, or narrow the other");
}

int lint_matches_nothing(struct lint *l, const struct lint_entry *e)
{
	if (!e->nothing || is_second(l, e))
		return 0;
	return lint_report(l, e,
		"nothing matches all of these patterns, so this entry has no effect",
		"remove it; for several alternatives write several entries");
}

/* Denials */

int lint_deny_unused(struct lint *l, const struct lint_entry *e)
{
	/* What fs.deny names does not run either. */
	unsigned files = 1u << OPERATION_FS_READ | 1u << OPERATION_FS_WRITE | 1u << OPERATION_EXEC;
	unsigned operations = e->rule                          ? e->rule->operations
			      : e->op == OPERATION_NET_CONNECT ? 1u << OPERATION_NET_CONNECT
							       : files;
	int r = 0;

	if (e->verdict != VERDICT_DENY || e->nothing || e->by || l->p->fallback != VERDICT_DENY ||
		l->p->mode != MODE_ENFORCE)
		return 0;
	/* A rule is looked at once, whatever the number of its operations. */
	if (e->rule && e->op != (enum operation)__builtin_ctz(e->rule->operations))
		return 0;
	for (int op = 0; op < OPERATION_COUNT; op++) {
		if (lint_is_too_long(l, &l->entries[op]))
			return 0;
	}
	if (is_second(l, e))
		return 0;
	for (int op = 0; r == 0 && op < OPERATION_COUNT; op++)
		r = operations >> op & 1 ? lint_meets(l, e, &l->entries[op]) : 0;
	if (r != 0)
		return r < 0 ? r : 0;
	return lint_report(l, e, "nothing in this layer grants what this denies",
		"remove it, unless the layer is merged with another one");
}

int lint_not_compared(struct lint *l)
{
	if (!l->incomplete)
		return 0;
	return lint_report_layer(l,
		lint_say(l,
			"there are more than %d entries, or patterns are too complex: not all of "
			"them were compared with each other",
			LINT_COMPARE_MAX),
		"split the policy, or write simpler patterns");
}
