/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/destinations.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* FNV-1a; who makes it collide slows down the counting of at most DESTINATIONS_MAX names. */
static uint32_t destinations_hash(const char *text)
{
	uint32_t h = 2166136261U;

	for (; *text; text++)
		h = (h ^ (unsigned char)*text) * 16777619U;
	return h;
}

/* The slot of the target, or the free one where it belongs: more than half of them are free. */
static uint16_t *find_slot(const struct destinations *d, const char *target)
{
	uint32_t i = destinations_hash(target) % DESTINATIONS_SLOTS;

	while (d->slots[i] && strcmp(d->items[d->slots[i] - 1].target, target) != 0)
		i = (i + 1) % DESTINATIONS_SLOTS;
	return &d->slots[i];
}

static int destinations_make_room(struct destinations *d)
{
	size_t cap = d->cap ? 2 * d->cap : 16;
	struct corral_destination *grown;

	if (d->n < d->cap)
		return 0;
	grown = reallocarray(d->items, cap, sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	d->items = grown;
	d->cap = cap;
	return 0;
}

static struct corral_destination *destinations_append(
	struct destinations *d, const char *target, uint16_t *slot)
{
	char *copy;

	if (d->n == DESTINATIONS_MAX || destinations_make_room(d) < 0)
		return NULL;
	copy = strdup(target);
	if (!copy)
		return NULL;
	d->items[d->n++] = (struct corral_destination){ .target = copy };
	*slot = (uint16_t)d->n;
	return &d->items[d->n - 1];
}

static struct corral_destination *destinations_find(struct destinations *d, const char *target)
{
	uint16_t *slot;

	if (!d->slots)
		d->slots = calloc(DESTINATIONS_SLOTS, sizeof(*d->slots));
	if (!d->slots)
		return NULL;
	slot = find_slot(d, target);
	return *slot ? &d->items[*slot - 1] : destinations_append(d, target, slot);
}

void destinations_add(struct destinations *d, const struct record *r)
{
	struct corral_destination *item = destinations_find(d, r->target);
	uint64_t count = r->count ? r->count : 1;

	if (!item)
		return;
	switch (r->kind) {
	case RECORD_DENIED:
		item->denied += count;
		break;
	case RECORD_FAILED:
		item->failed += count;
		break;
	case RECORD_CLOSED:
		item->connections += count;
		item->sent += r->sent;
		item->received += r->received;
		break;
	}
}

void destinations_deinit(struct destinations *d)
{
	for (size_t i = 0; i < d->n; i++)
		free((char *)d->items[i].target);
	free(d->items);
	free(d->slots);
	*d = (struct destinations){ 0 };
}
