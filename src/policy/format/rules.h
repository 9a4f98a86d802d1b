/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The parts of the reader of AgenShield's rules: format/rules.c has the file and its rules,
 * format/rules-pattern.c what a pattern means, format/rules-constraint.c the two sections of
 * constraints.
 */
#include "policy/format/field.h"
#include "policy/format/internal.h"

/* What a pattern of AgenShield's can be about. The first of them have operations of ours. */
enum manifest_rules_kind {
	RULES_PATH,
	RULES_HOST,
	RULES_COMMAND,
	RULES_PAGE,   /* a URL to open: the service browser */
	RULES_SECRET, /* the service vault */
	RULES_ENV,    /* only by "*": AgenShield itself does not govern these two */
	RULES_SERVICE,
};
enum { RULES_KIND_COUNT = 7 };

/* The lowest priorities are those of constraints; rules lie above. */
enum {
	RULES_PRIORITY_ELSE = INT32_MIN,
	RULES_PRIORITY_ALLOWED,
	RULES_PRIORITY_DENIED,
	RULES_PRIORITY_MIN = INT32_MIN + 16,
};

/*
 * Appends to `list`, which grows in p's arena, what `text` means as a pattern of that kind in a
 * rule with this action. What an allowing rule would widen, a denying one may: see docs/formats.md.
 */
int manifest_rules_pattern(const struct field *f, struct permissions *p, struct grant_list *list,
	enum manifest_rules_kind kind, enum verdict action, const char *text);

/* `fsConstraints` and `networkConstraints`; `into` is the struct manifest. */
field_reader manifest_rules_fs_constraints;
field_reader manifest_rules_network_constraints;
