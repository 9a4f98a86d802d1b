/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/* Lists through their members: a ring that begins and ends at a head. What is in none points to
 * itself, so that it can be removed at any time. */
#include <stdbool.h>

struct link {
	struct link *next, *previous;
};

static inline void link_init(struct link *l)
{
	l->next = l->previous = l;
}
/* Of a head: it has no members. */
static inline bool link_is_alone(const struct link *l)
{
	return l->next == l;
}
static inline void link_remove(struct link *l)
{
	l->next->previous = l->previous;
	l->previous->next = l->next;
	link_init(l);
}
/* Behind all others; l is in no list. */
static inline void link_append(struct link *head, struct link *l)
{
	l->next = head;
	l->previous = head->previous;
	head->previous->next = l;
	head->previous = l;
}
/* All members of `from` become those of `head`, which had none. */
static inline void link_move(struct link *head, struct link *from)
{
	if (link_is_alone(from))
		return;
	*head = *from;
	head->next->previous = head->previous->next = head;
	link_init(from);
}
