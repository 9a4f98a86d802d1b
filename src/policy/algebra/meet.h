/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * The meet of two grants: what both of them cover, exactly. Where one pattern can say it, it is one
 * pattern (the narrower of two, a host narrowed by a port …); where none can, the result keeps both
 * sides: {all: [a, b]}.
 */
#include "policy/permissions.h"

/*
 * Appends the meet of a and b, grants of the given operation, to one of p's lists: nothing, one or
 * two entries. effort (see relation.h) is for one pair of many: -E2BIG once it is used up; it may
 * be NULL.
 */
int meet_grants(struct permissions *p, struct grant_list *to, enum operation op,
	const struct grant *a, const struct grant *b, size_t *effort);
/* 1 if everything that b covers a covers for certain, else 0; -ENOMEM. effort may be NULL. */
int meet_contains(enum operation op, const struct grant *a, const struct grant *b, size_t *effort);
/* For words of a service's scope, where `*` and `?` are the only signs. */
int meet_words(
	struct permissions *p, struct grant_list *to, const struct grant *a, const struct grant *b);

/* The rows of operation_rows. */
operation_meet meet_hosts, meet_commands;
operation_relate meet_relate_paths, meet_relate_hosts, meet_relate_names, meet_relate_secrets;
/* Equal or unknown. */
operation_relate meet_relate_texts;

/* Whether a layer grants addresses, and not only names. */
bool meet_has_addresses(const struct permissions *p);
