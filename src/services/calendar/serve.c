/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/serve.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/clock.h"

int serve_begin(struct serving *s, struct backend_call *c)
{
	*s = (struct serving){
		.call = c, .serve = backend_state(c->backend), .params = c->call.params.v
	};
	s->serve->store->until_ms = c->until_ms;
	return s->serve->store->calls->lists(s->serve->store, &s->lists, &s->error);
}

void serve_end(struct serving *s)
{
	store_lists_deinit(&s->lists);
}

void serve_refuse(struct serving *s, int code)
{
	static const struct {
		int code;
		enum rpc_class class;
		const char *hint;
	} rows[] = {
		{ -EACCES, RPC_SCOPE, NULL },
		{ -ENOENT, RPC_PARAMS, NULL },
		{ -EINVAL, RPC_PARAMS, NULL },
		{ -EOPNOTSUPP, RPC_PARAMS, NULL },
		{ -ESTALE, RPC_SERVICE, "read it again, and repeat the change with its new etag" },
		{ -ENOTUNIQ, RPC_SERVICE, NULL },
		{ -ETIME, RPC_TIMEOUT, "ask for fewer lists or a shorter time" },
		{ -ETIMEDOUT, RPC_TIMEOUT, NULL },
		{ -ENOMEM, RPC_INTERNAL, NULL },
	};
	enum rpc_class class = RPC_SERVICE;
	const char *hint = s->error.hint[0] ? s->error.hint : NULL;

	for (size_t i = 0; i < ROWS(rows); i++) {
		if (rows[i].code == code) {
			class = rows[i].class;
			hint = hint ? hint : rows[i].hint;
		}
	}
	backend_refuse(
		s->call, class, hint, "%s", s->error.text[0] ? s->error.text : strerror(-code));
}

/* Scopes */

bool serve_allows(const struct serving *s, const char *access, const struct store_list *list)
{
	return backend_allows(s->call->backend, "%s.%s:%s", s->serve->service, access, list->name);
}

/* One that may be written, and is not there, where lists are made as they are needed. */
static int serve_make(struct serving *s, const char *access, const char *name)
{
	struct store *store = s->serve->store;
	const struct store_list list = { .name = name };

	if (!s->serve->makes_lists || !store->calls->make || strcmp(access, "write") != 0 ||
		!serve_allows(s, access, &list))
		return -ENOENT;
	return store->calls->make(store, name, &s->lists, &s->error);
}

int serve_list(
	struct serving *s, const char *access, const char *name, const struct store_list **ret)
{
	const struct store_list *list;
	int r = store_list_find(&s->lists, name, &list, &s->error);

	if (r == -ENOENT && serve_make(s, access, name) == 0) {
		s->error = (struct error){ 0 };
		r = store_list_find(&s->lists, name, &list, &s->error);
	}
	if (r < 0)
		return r;
	if (!serve_allows(s, access, list))
		return error_set(&s->error, -EACCES, NULL, "%s.%s of `%s` is not granted",
			s->serve->service, access, name);
	*ret = list;
	return 0;
}

struct value serve_names(struct serving *s)
{
	struct value_item *items =
		arena_calloc(&s->call->arena, s->lists.n ? s->lists.n : 1, sizeof(*items));
	size_t n = 0;

	for (size_t i = 0; items && i < s->lists.n; i++) {
		const struct store_list *list = &s->lists.items[i];

		if (store_lists_count(&s->lists, list->name) == 1 && serve_allows(s, "read", list))
			items[n++].text = arena_strdup(&s->call->arena, list->name);
	}
	return (struct value){ .type = SCHEMA_WORDS, .items = items, .n = n };
}

int64_t serve_now(void)
{
	return (int64_t)time(NULL);
}

struct window serve_window(
	const struct serving *s, const char *access, const struct store_list *list, int64_t now)
{
	struct service_bounds bounds = { 0 };
	auto_buffer request = { 0 };
	int64_t range;

	buffer_printf(&request, "%s.%s:%s", s->serve->service, access, list->name);
	/* Without memory to ask, nothing. */
	if (request.failed)
		return (struct window){ now, now };
	backend_bounds(s->call->backend, request.data, &bounds);
	if (bounds.range_seconds == 0)
		return (struct window){ INT64_MIN / 4, INT64_MAX / 4 };
	range = bounds.range_seconds < INT64_MAX / 4 ? (int64_t)bounds.range_seconds
						     : INT64_MAX / 4;
	return (struct window){ now - range, now + range };
}

int serve_check_time(struct serving *s)
{
	if (clock_ms(CLOCK_MONOTONIC) + 500 < s->call->until_ms)
		return 0;
	return error_set(&s->error, -ETIME, NULL, "this takes longer than the call may");
}

/* Items */

void serve_found_deinit(struct serve_found *f)
{
	item_drop(f->item.item);
	arena_deinit(&f->arena);
	*f = (struct serve_found){ 0 };
}

struct serve_search {
	struct serve_found *found;
	size_t n;
};

static int serve_take(void *context, const struct store_item *i)
{
	struct serve_search *search = context;
	struct serve_found *f = search->found;

	/* Of two with one id, none is meant. */
	if (search->n++ > 0)
		return -ENOTUNIQ;
	f->item.id = arena_strdup(&f->arena, i->id);
	f->item.tag = arena_strdup(&f->arena, i->tag);
	if (!f->item.id || !f->item.tag)
		return -ENOMEM;
	return item_parse(&f->item.item, i->item->lines.source, i->item->lines.len);
}

int serve_find(struct serving *s, const struct store_list *list, const char *uid, const char *tag,
	struct serve_found *ret)
{
	struct serve_search search = { .found = ret };
	struct store_query q = {
		.kind = s->serve->kind, .uid = uid, .each = serve_take, .context = &search
	};
	int r = s->serve->store->calls->each(s->serve->store, list, &q, &s->error);

	ret->list = list;
	if (r == -ENOTUNIQ && !s->error.text[0])
		return error_set(&s->error, r, NULL, "`%s` has two items with this id", list->name);
	if (r < 0)
		return s->error.text[0] ? r : error_no_memory(&s->error);
	if (search.n == 0)
		return error_set(
			&s->error, -ENOENT, NULL, "`%s` has no item with this id", list->name);
	if (tag && strcmp(tag, ret->item.tag) != 0)
		return error_set(&s->error, -ESTALE, NULL,
			"the item in `%s` is not the version that you name: it was changed",
			list->name);
	return 0;
}

/* Into another list: it is there before it is gone here, so that no failure loses it. */
static int serve_move(struct serving *s, const struct serve_found *f, const struct store_list *to,
	const struct buffer *text, struct buffer *ret_tag)
{
	const struct store_calls *calls = s->serve->store->calls;
	const char *uid = f->item.item->uid;
	int r = calls->add(s->serve->store, to, uid, text->data, text->len, ret_tag, &s->error);
	auto_serve_found copy = { 0 };
	struct error first;

	if (r < 0)
		return r;
	r = calls->remove(s->serve->store, f->list, &f->item, &s->error);
	if (r == 0)
		return 0;
	/* It was changed there meanwhile: that version stays, and ours goes. */
	first = s->error;
	if (serve_find(s, to, uid, buffer_text(ret_tag), &copy) == 0)
		(void)calls->remove(s->serve->store, to, &copy.item, &s->error);
	s->error = first;
	buffer_clear(ret_tag);
	return r;
}

static int serve_try(struct serving *s, const struct store_list *list, const struct store_list *to,
	const char *uid, const char *tag, serve_change *change, void *context,
	struct buffer *ret_tag)
{
	auto_serve_found f = { 0 };
	auto_buffer text = { 0 };
	int r = serve_find(s, list, uid, tag, &f);

	if (r == 0)
		r = change(s, &f, context, &text);
	if (r < 0)
		return r;
	if (text.failed)
		return error_no_memory(&s->error);
	if (to != list)
		return serve_move(s, &f, to, &text, ret_tag);
	return s->serve->store->calls->replace(
		s->serve->store, list, &f.item, text.data, text.len, ret_tag, &s->error);
}

int serve_update(struct serving *s, const struct store_list *list, const struct store_list *to,
	const char *uid, const char *tag, serve_change *change, void *context,
	struct buffer *ret_tag)
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < (tag ? 1 : SERVE_TRIES); i++) {
		s->error = (struct error){ 0 };
		r = serve_try(s, list, to, uid, tag, change, context, ret_tag);
	}
	return r;
}

int serve_delete(struct serving *s, const struct store_list *list, const char *uid, const char *tag,
	int (*check)(struct serving *s, struct serve_found *f))
{
	int r = -ESTALE;

	for (int i = 0; r == -ESTALE && i < (tag ? 1 : SERVE_TRIES); i++) {
		auto_serve_found f = { 0 };

		s->error = (struct error){ 0 };
		r = serve_find(s, list, uid, tag, &f);
		if (r == 0 && check)
			r = check(s, &f);
		if (r == 0)
			r = s->serve->store->calls->remove(
				s->serve->store, list, &f.item, &s->error);
	}
	return r;
}

int serve_add(struct serving *s, const struct store_list *list, const struct composition *c,
	char uid[COMPOSE_UID], struct buffer *ret_tag)
{
	auto_buffer text = { 0 };
	int r = compose_uid(uid);

	if (r == 0)
		r = compose_new(c, uid, &text);
	if (r < 0)
		return error_set(&s->error, r, NULL, "the item cannot be made: %s", strerror(-r));
	return s->serve->store->calls->add(
		s->serve->store, list, uid, text.data, text.len, ret_tag, &s->error);
}
