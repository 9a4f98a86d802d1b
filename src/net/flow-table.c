/* SPDX-License-Identifier: Apache-2.0 */
#include "net/flow-table.h"

#include <string.h>

/* So its bytes are its value. */
_Static_assert(sizeof(struct capture_datagram) == 2 * sizeof(struct address) + 4, "no padding");

void flow_table_init(struct flow_table *t)
{
	*t = (struct flow_table){ .key = hostset_key_make() };
}

static struct flow_node **bucket_of(struct flow_table *t, const struct capture_datagram *path)
{
	uint64_t hash = hostset_hash(&t->key, 0, (const char *)path, sizeof(*path));

	return &t->buckets[hash % FLOW_TABLE_BUCKETS];
}

struct flow_node *flow_table_find(struct flow_table *t, const struct capture_datagram *path)
{
	struct flow_node *n = *bucket_of(t, path);

	while (n && memcmp(&n->path, path, sizeof(*path)) != 0)
		n = n->chain;
	return n;
}

static void flow_table_append(struct flow_table *t, struct flow_node *n, uint64_t now_ms)
{
	n->used_ms = now_ms;
	n->next = NULL;
	n->previous = t->last;
	*(t->last ? &t->last->next : &t->first) = n;
	t->last = n;
}

static void flow_table_take_out(struct flow_table *t, struct flow_node *n)
{
	*(n->previous ? &n->previous->next : &t->first) = n->next;
	*(n->next ? &n->next->previous : &t->last) = n->previous;
}

void flow_table_add(struct flow_table *t, struct flow_node *n, uint64_t now_ms)
{
	struct flow_node **bucket = bucket_of(t, &n->path);

	n->chain = *bucket;
	*bucket = n;
	flow_table_append(t, n, now_ms);
	t->n++;
}

void flow_table_use(struct flow_table *t, struct flow_node *n, uint64_t now_ms)
{
	flow_table_take_out(t, n);
	flow_table_append(t, n, now_ms);
}

void flow_table_remove(struct flow_table *t, struct flow_node *n)
{
	struct flow_node **at = bucket_of(t, &n->path);

	while (*at != n)
		at = &(*at)->chain;
	*at = n->chain;
	flow_table_take_out(t, n);
	t->n--;
}

struct flow_node *flow_table_oldest(const struct flow_table *t)
{
	return t->first;
}
