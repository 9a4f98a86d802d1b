/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Where lists and their items are kept: folders of files (services/calendar/vdir.h) or a CalDAV
 * server (services/calendar/caldav.h). Both have lists with a name, items with a tag that changes
 * whenever the item does, and write only over the very version that was read.
 *
 * A list is named by bytes: neither case nor normal form is changed for a comparison, and names are
 * never looked up by the file system or the server, which may see it otherwise. Two lists with one
 * name are both refused.
 */
#include <stdbool.h>
#include <stddef.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/error.h"
#include "services/calendar/expand.h"
#include "services/calendar/item.h"

enum {
	STORE_LISTS_MAX = 256,
	STORE_ITEMS_MAX = 20000, /* of one list */
	STORE_NAME_MAX = 255,    /* bytes of a list's name */
	STORE_TAG_MAX = 128,     /* bytes of a tag */
};

struct store_list {
	const char *id;   /* how the store calls it: a folder, a path on the server */
	const char *name; /* for people and policies; two may have the same */
};

struct store_lists {
	struct arena arena;
	struct store_list *items;
	size_t n, cap;
};

/* An item as it was read. */
struct store_item {
	const char *id;  /* how the store calls it: a file, a path on the server */
	const char *tag; /* of this version */
	struct item *item;
};

/* Called for each item. Nothing of it stays. 0: go on; else it ends with that. */
typedef int store_each(void *context, const struct store_item *i);

struct store_query {
	enum item_kind kind;
	const struct window *window; /* only what may occur in it; NULL: all */
	const char *uid;             /* only this one; NULL: all */
	store_each *each;
	void *context;
	size_t n_skipped; /* out: what could not be read */
};

/* Errors have a sentence. -ENOENT: there is none such; -ESTALE: it was changed meanwhile. */
struct store {
	const struct store_calls {
		int (*lists)(struct store *s, struct store_lists *ret, struct error *e);
		int (*each)(struct store *s, const struct store_list *list, struct store_query *q,
			struct error *e);
		/* A new item: nothing may be there. The tag may be "" where the store has none. */
		int (*add)(struct store *s, const struct store_list *list, const char *uid,
			const char *text, size_t len, struct buffer *ret_tag, struct error *e);
		/* In place of the very version that was read. */
		int (*replace)(struct store *s, const struct store_list *list,
			const struct store_item *old, const char *text, size_t len,
			struct buffer *ret_tag, struct error *e);
		int (*remove)(struct store *s, const struct store_list *list,
			const struct store_item *old, struct error *e);
		void (*free)(struct store *s);
		/* A new list of this name, which joins `all`. NULL: the store makes none. */
		int (*make)(struct store *s, const char *name, struct store_lists *all,
			struct error *e);
	} * calls;
	uint64_t until_ms; /* CLOCK_MONOTONIC: the caller waits no longer */
};

void store_lists_deinit(struct store_lists *l);
#define auto_store_lists __attribute__((cleanup(store_lists_deinit))) struct store_lists
/* Whether a name is one that a list can have: text, not empty, no control characters. */
bool store_name_is_valid(const char *name, size_t len);
/* The list of that name. -ENOENT: there is none; -ENOTUNIQ: there are two. */
int store_list_find(const struct store_lists *l, const char *name, const struct store_list **ret,
	struct error *e);
/* How many have that name. */
size_t store_lists_count(const struct store_lists *l, const char *name);
