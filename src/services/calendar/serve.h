/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * What the methods of reminders and of calendars share: which lists a call may see, finding an item
 * in one, changing it, and how errors become refusals.
 *
 * The monitor has asked the policy about the names that a call has. Here the name of each list that
 * is really touched is asked once more, with its own bytes; and for calendars the times.
 */
#include "services/backend.h"
#include "services/calendar/compose.h"
#include "services/calendar/store.h"

enum {
	SERVE_ANSWER_MAX = 2 << 20, /* bytes of items in one answer */
	SERVE_LIMIT = 1000,         /* items in one answer, if the caller does not say */
	SERVE_LIMIT_MAX = 20000,
	SERVE_TRIES = 8,
};

/* Of one service. */
struct serve {
	struct store *store;
	const char *service; /* "reminders", "calendar" */
	enum item_kind kind;
	bool makes_lists; /* those that are granted and are not there */
};

/* A call that is handled. */
struct serving {
	struct backend_call *call;
	const struct serve *serve;
	const struct value *params;
	struct store_lists lists;
	struct error error;
};

/* One item of a list, as it was found. */
struct serve_found {
	const struct store_list *list;
	struct arena arena;
	struct store_item item; /* its own copy */
};

/* Begins a call: reads the lists. */
int serve_begin(struct serving *s, struct backend_call *c);
void serve_end(struct serving *s);
#define auto_serving __attribute__((cleanup(serve_end))) struct serving
/* Refuses the call by an error: its code, and s->error. */
void serve_refuse(struct serving *s, int code);

/* Whether the policy grants access ("read", "write") to the list. */
bool serve_allows(const struct serving *s, const char *access, const struct store_list *list);
/* The list of that name, if it is granted. */
int serve_list(
	struct serving *s, const char *access, const char *name, const struct store_list **ret);
/* The times that are granted for the calendar: all, or so far from now. */
struct window serve_window(
	const struct serving *s, const char *access, const struct store_list *list, int64_t now);
int64_t serve_now(void);
/* -ETIME once the monitor will wait no longer. */
int serve_check_time(struct serving *s);

/* The item with that id. -ENOENT; -ESTALE: not the version `tag` (NULL: any). */
int serve_find(struct serving *s, const struct store_list *list, const char *uid, const char *tag,
	struct serve_found *ret);
void serve_found_deinit(struct serve_found *f);
#define auto_serve_found __attribute__((cleanup(serve_found_deinit))) struct serve_found

/* Makes a changed object of the item that was found. */
typedef int serve_change(
	struct serving *s, struct serve_found *f, void *context, struct buffer *out);
/*
 * Finds an item and replaces it by what `change` makes of it, in `to` if that is another list. If
 * another program was faster, it is tried again with the new version, unless the caller named one.
 */
int serve_update(struct serving *s, const struct store_list *list, const struct store_list *to,
	const char *uid, const char *tag, serve_change *change, void *context,
	struct buffer *ret_tag);
int serve_delete(struct serving *s, const struct store_list *list, const char *uid, const char *tag,
	int (*check)(struct serving *s, struct serve_found *f));
/* Adds a new object, whose id is written to uid. */
int serve_add(struct serving *s, const struct store_list *list, const struct composition *c,
	char uid[COMPOSE_UID], struct buffer *ret_tag);

/* The text of a parameter; NULL: it was not given. */
static inline const char *serve_text(const struct serving *s, int at)
{
	return s->params[at].type == SCHEMA_NONE ? NULL : s->params[at].text;
}
/* The lists that may be read, as a value, in the arena of the call; those of one name are left out.
 */
struct value serve_names(struct serving *s);

extern const struct backend_method reminders_methods[], events_methods[];
