/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Grants to a sandbox that runs: how one is added to its layers, and whether it lies below the
 * ceiling that its host declared.
 *
 * A grant is a rule of the layer. It stands right before the rule that asks about the same, or
 * after all rules where none does: so it answers a question and fills a gap, and whatever the layer
 * denies for another reason stays denied, deny lists and stronger rules included.
 */
#include "policy/permissions.h"
#include "policy/policy.h"

/* The id of such rules, for display only: rule.is_granted marks them, as a file may use the same
 * id. */
#define CEILING_RULE "granted-while-it-runs"

struct ceiling_grant {
	enum operation op;
	const char *pattern; /* canonical, without variables */
	const char *method;  /* of HTTP, for net.connect; NULL: any, and connections themselves */
};

/*
 * From its text: of net.connect it may have a method in front, as "GET https://host/path". The
 * pattern is not checked, and points into the text. -ENOMEM.
 */
int ceiling_grant_read(
	struct ceiling_grant *ret, enum operation op, const char *text, struct arena *a);

/* What a layer says of all that a grant covers. */
enum ceiling_says {
	CEILING_NOTHING, /* for certain: of a part of it it may say more */
	CEILING_DENIES,
	CEILING_ASKS,
	CEILING_ALLOWS,
};

/*
 * The answer of one layer, without all_of. *ret_rule (may be NULL): the rule that asks; NULL if it
 * is the fallback. -EINVAL: the pattern; -ENOMEM.
 */
int ceiling_look(const struct permissions *layer, const struct ceiling_grant *g,
	const struct policy_options *o, const struct rule **ret_rule, struct error *e);
/*
 * Adds it to each layer of p that does not allow it already. -EOPNOTSUPP: a layer has no list of
 * programs, so a single one cannot be granted.
 */
int ceiling_add(struct permissions *p, const struct ceiling_grant *g,
	const struct policy_options *o, struct error *e);
/*
 * 1: all layers allow it or ask about it. 0: not, and *ret_layer is the first that does not.
 * is_declared: these layers bound the grant and are not enforced themselves, so that what they deny
 * must not overlap with it either.
 */
int ceiling_admits(const struct permissions *const *layers, size_t n, const struct ceiling_grant *g,
	const struct policy_options *o, bool is_declared, const struct permissions **ret_layer,
	struct error *e);
/*
 * 1: the baseline denies all of it whatever these layers grant (they may lift that), and *ret_entry
 * is the entry, *ret_why the reason of it; 0: not, or not all of it.
 */
int ceiling_baseline(const struct permissions *const *layers, size_t n,
	const struct ceiling_grant *g, const struct policy_options *o, const char **ret_entry,
	const char **ret_why, struct error *e);
/* A target as the text of a grant of just that, appended. -EINVAL: it has no such pattern. */
int ceiling_pattern_of(enum operation op, const char *target, struct buffer *out);
