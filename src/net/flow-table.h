/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Flows by their two ends, and in the order in which they were last used. Nodes live in the structs
 * of those whose they are.
 */
#include "net/enter/capture.h"
#include "policy/network/hostset-names.h"

enum { FLOW_TABLE_BUCKETS = 4096 };

struct flow_node {
	struct capture_datagram path; /* from inside to outside */
	uint64_t used_ms;
	struct flow_node *chain, *next, *previous;
};

struct flow_table {
	struct hostset_key key;
	struct flow_node *buckets[FLOW_TABLE_BUCKETS];
	struct flow_node *first, *last; /* by use: the oldest first */
	size_t n;
};

void flow_table_init(struct flow_table *t);
/* NULL: there is none. */
struct flow_node *flow_table_find(struct flow_table *t, const struct capture_datagram *path);
/* Its path is set, and is not in the table. */
void flow_table_add(struct flow_table *t, struct flow_node *n, uint64_t now_ms);
void flow_table_use(struct flow_table *t, struct flow_node *n, uint64_t now_ms);
void flow_table_remove(struct flow_table *t, struct flow_node *n);
/* The one that was used longest ago, or NULL. */
struct flow_node *flow_table_oldest(const struct flow_table *t);
