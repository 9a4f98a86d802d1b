/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Many ranked host patterns, compiled: the cost of a match depends on the number of labels of the
 * name (or on how deeply prefixes nest), not on the number of patterns. Matching neither allocates
 * nor locks. The answer is the least rank among the entries that host_pattern_matches().
 */
#include <stddef.h>
#include <stdint.h>

#include "policy/network/host.h"
#include "policy/rank.h"

struct hostset;

struct hostset *hostset_new(void);
void hostset_free(struct hostset *s);
/* Adds an entry that must match all n (at least 1) patterns. Their data must outlive the set. */
int hostset_add(struct hostset *s, const struct host_pattern *patterns, size_t n, uint32_t rank);
/* After the last add, before the first match. -EINVAL: a URL path that is no glob. */
int hostset_build(struct hostset *s);
/* The strongest entry that matches, or RANK_NONE. */
uint32_t hostset_match(const struct hostset *s, const struct host_request *r);

static inline void hostset_freep(struct hostset **s)
{
	hostset_free(*s);
}
#define auto_hostset __attribute__((cleanup(hostset_freep))) struct hostset
