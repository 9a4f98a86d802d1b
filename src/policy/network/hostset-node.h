/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* One host of a set (hostset.c), and what the entries for it say about ports, paths and methods. */
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/arena.h"
#include "policy/match/glob.h"
#include "policy/network/host.h"

struct hostset_entry {
	struct host_pattern pattern; /* one part: host_pattern_split() */
	uint32_t rank;
};

/* The strongest entry for these ports. */
struct hostset_ports {
	uint32_t rank;
	uint16_t lo, hi;
};

/* An entry that is narrowed by path or method. */
struct hostset_fine {
	const struct host_pattern *pattern;
	const struct glob *paths;
	uint32_t rank;
};

struct hostset_node {
	const struct hostset_ports *ports; /* disjoint, in order */
	const struct hostset_fine *fine;   /* strongest first */
	uint32_t n_ports, n_fine;
	bool in_guard; /* it covers guarded places: it lies within a guard, or is wide */
};

/* Working memory for nodes of up to n entries. */
struct hostset_scratch {
	uint32_t *edges, *ranks, *next;
};

int hostset_scratch_init(struct hostset_scratch *s, struct arena *a, size_t n);
/* Makes a node of entries for the same host, strongest first. They must outlive it. */
int hostset_node_build(struct hostset_node *node, struct arena *a, struct hostset_scratch *s,
	const struct hostset_entry *entries, size_t n);
/* The strongest of `best` and the entries of the node that match; the host is known to match. */
uint32_t hostset_node_match(
	const struct hostset_node *node, const struct host_request *r, uint32_t best);
