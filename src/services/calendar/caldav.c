/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/caldav.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/encoding.h"
#include "services/calendar/dav-answer.h"
#include "services/calendar/dav-client.h"

#define XML "<?xml version=\"1.0\" encoding=\"utf-8\"?>"
#define SPACES "xmlns:d=\"DAV:\" xmlns:c=\"urn:ietf:params:xml:ns:caldav\""

enum { CALDAV_HASH = 16, CALDAV_HOPS = 3 };

struct caldav {
	struct store store;
	struct dav_client *client;
	enum item_kind kind;
	char *home; /* the folder of calendars, or one calendar; NULL: it was not looked for yet */
};

static struct caldav *caldav_of(struct store *s)
{
	return (struct caldav *)(void *)s;
}

/* What a status means, where the request was not done. */
static int caldav_refused(const struct dav_reply *reply, struct error *e)
{
	if (reply->status == 401 || reply->status == 403) {
		(void)error_set(e, -EPERM, NULL,
			"the server refuses the request (%ld): user name or password are wrong, or "
			"the "
			"list is read-only",
			reply->status);
		error_hint(e, "see user and password_file in services.yaml");
		return -EPERM;
	}
	if (reply->status == 412 || reply->status == 404 || reply->status == 409)
		return error_set(e, -ESTALE, NULL,
			"the item was changed on the server meanwhile (%ld)", reply->status);
	if (reply->status >= 300 && reply->status < 400)
		return error_set(e, -EPROTO, NULL,
			"the server sends elsewhere (%ld), which is not followed", reply->status);
	return error_set(e, -EIO, NULL, "the server answers with status %ld", reply->status);
}

/* A request whose answer is a multistatus. */
static int caldav_ask(struct caldav *d, const char *method, const char *path, const char *depth,
	const char *body, dav_each *each, void *context, struct error *e)
{
	const struct dav_request q = { .method = method,
		.path = path,
		.depth = depth,
		.type = "application/xml; charset=utf-8",
		.body = body,
		.len = strlen(body) };
	auto_dav_reply reply = { 0 };
	int r = dav_client_request(d->client, &q, d->store.until_ms, &reply, e);

	if (r < 0)
		return r;
	if (reply.status != 207)
		return caldav_refused(&reply, e);
	r = dav_answer_read(buffer_text(&reply.body), reply.body.len, each, context);
	if (r == -EBADMSG && !e->text[0])
		return error_set(e, r, NULL, "the server's answer is no answer of a CalDAV server");
	return r == -ENOMEM ? error_no_memory(e) : r;
}

/* Finding the calendars */

struct caldav_place {
	struct caldav *d;
	struct arena arena;
	const char *principal, *home;
	bool is_calendar;
};

static int caldav_take_place(void *context, const struct dav_response *r)
{
	struct caldav_place *p = context;
	const char *origin = dav_client_origin(p->d->client);

	if (r->principal)
		p->principal = dav_answer_path(r->principal, origin, &p->arena);
	if (r->home)
		p->home = dav_answer_path(r->home, origin, &p->arena);
	p->is_calendar = r->is_calendar;
	return 1;
}

static int caldav_find_home(struct caldav *d, struct error *e)
{
	static const char body[] = XML "<d:propfind " SPACES "><d:prop><d:resourcetype/>"
				       "<d:current-user-principal/><c:calendar-home-set/>"
				       "</d:prop></d:propfind>";
	struct caldav_place p = { .d = d };
	const char *path = dav_client_path(d->client);
	int r = 0;

	for (int i = 0; r >= 0 && i < CALDAV_HOPS; i++) {
		p.principal = p.home = NULL;
		p.is_calendar = false;
		r = caldav_ask(d, "PROPFIND", path, "0", body, caldav_take_place, &p, e);
		if (r < 0 || p.is_calendar || p.home || !p.principal ||
			strcmp(p.principal, path) == 0)
			break;
		path = p.principal;
	}
	if (r >= 0) {
		d->home = strdup(p.home ? p.home : path);
		r = d->home ? 0 : error_no_memory(e);
	}
	arena_deinit(&p.arena);
	return r;
}

struct caldav_listing {
	struct caldav *d;
	struct store_lists *lists;
};

/* The last part of a path, decoded. */
static const char *caldav_last_part(const char *path, struct arena *a)
{
	size_t len = strlen(path), n = 0;
	const char *from;
	char *out;

	while (len > 0 && path[len - 1] == '/')
		len--;
	from = path + len;
	while (from > path && from[-1] != '/')
		from--;
	out = arena_strndup(a, from, (size_t)(path + len - from));
	for (char *c = out; c && *c; c++, n++) {
		const int byte = encoding_percent_byte(c, strlen(c));

		out[n] = byte < 0 ? *c : (char)byte;
		c += byte < 0 ? 0 : 2;
	}
	if (out)
		out[n] = '\0';
	return out;
}

static int caldav_take_list(void *context, const struct dav_response *r)
{
	struct caldav_listing *l = context;
	struct arena *a = &l->lists->arena;
	struct store_list list = { 0 };

	if (!r->is_calendar ||
		(r->has_components && !(l->d->kind == ITEM_EVENT ? r->has_events : r->has_todos)))
		return 0;
	list.id = dav_answer_path(r->href, dav_client_origin(l->d->client), a);
	if (!list.id)
		return 0;
	/* With its slash: what is in it begins so, and what is in "/list2" does not. */
	if (list.id[strlen(list.id) - 1] != '/')
		list.id = arena_printf(a, "%s/", list.id);
	if (!list.id)
		return -ENOMEM;
	list.name = r->name && *r->name ? arena_strdup(a, r->name) : caldav_last_part(list.id, a);
	if (!list.name)
		return -ENOMEM;
	if (!store_name_is_valid(list.name, strlen(list.name)))
		return 0;
	if (l->lists->n == STORE_LISTS_MAX)
		return -EBADMSG;
	return ARENA_PUSH(a, l->lists->items, l->lists->n, l->lists->cap, list);
}

static int caldav_lists(struct store *s, struct store_lists *ret, struct error *e)
{
	static const char body[] = XML "<d:propfind " SPACES "><d:prop><d:displayname/>"
				       "<d:resourcetype/><c:supported-calendar-component-set/>"
				       "</d:prop></d:propfind>";
	struct caldav *d = caldav_of(s);
	struct caldav_listing l = { d, ret };
	int r = d->home ? 0 : caldav_find_home(d, e);

	return r < 0 ? r : caldav_ask(d, "PROPFIND", d->home, "1", body, caldav_take_list, &l, e);
}

/* Items */

struct caldav_walk {
	struct caldav *d;
	const struct store_list *list;
	struct store_query *query;
	size_t n;
};

/* In the list, and not in another one, whatever the server says. */
static bool caldav_is_in(const char *path, const char *list)
{
	const size_t len = strlen(list);

	return strncmp(path, list, len) == 0 && path[len] && !strchr(path + len, '/');
}

static bool caldav_tag_is_valid(const char *tag)
{
	const size_t len = tag ? strlen(tag) : 0;

	if (len == 0 || len > STORE_TAG_MAX)
		return false;
	for (const char *c = tag; *c; c++)
		if ((unsigned char)*c <= 0x20 || (unsigned char)*c >= 0x7f)
			return false;
	return true;
}

static int caldav_take_item(void *context, const struct dav_response *r)
{
	struct caldav_walk *w = context;
	struct store_query *q = w->query;
	auto_item item = NULL;
	auto_arena a = { 0 };
	const char *path = dav_answer_path(r->href, dav_client_origin(w->d->client), &a);
	int code;

	/* The list itself, and what the server has deleted meanwhile. */
	if (!r->object)
		return 0;
	code = path && caldav_is_in(path, w->list->id) && caldav_tag_is_valid(r->tag)
		       ? item_parse(&item, r->object, strlen(r->object))
		       : -EINVAL;
	if (code == -ENOMEM)
		return code;
	if (code < 0) {
		q->n_skipped += code != -ENOENT;
		return 0;
	}
	if (++w->n > STORE_ITEMS_MAX)
		return -EBADMSG;
	if (item->kind != q->kind || (q->uid && strcmp(item->uid, q->uid) != 0))
		return 0;
	return q->each(q->context, &(struct store_item){ path, r->tag, item });
}

static void caldav_add_time(const char *name, int64_t at, struct buffer *out)
{
	struct moment m;

	if (moment_from_seconds(&m, at, icaltimezone_get_utc_timezone()) == 0)
		buffer_printf(out, " %s=\"%04d%02d%02dT%02d%02d%02dZ\"", name, m.clock.year,
			m.clock.month, m.clock.day, m.clock.hour, m.clock.minute, m.clock.second);
}

static void caldav_add_escaped(const char *text, struct buffer *out)
{
	for (const char *c = text; *c; c++) {
		if (*c == '<' || *c == '>' || *c == '&' || *c == '"')
			buffer_printf(out, "&#%d;", *c);
		else if (!ascii_is_control(*c))
			buffer_addc(out, *c);
	}
}

static int caldav_each(
	struct store *s, const struct store_list *list, struct store_query *q, struct error *e)
{
	struct caldav *d = caldav_of(s);
	struct caldav_walk w = { .d = d, .list = list, .query = q };
	auto_buffer body = { 0 };

	buffer_printf(&body,
		XML "<c:calendar-query " SPACES "><d:prop><d:getetag/><c:calendar-data/></d:prop>"
		    "<c:filter><c:comp-filter name=\"VCALENDAR\"><c:comp-filter name=\"%s\">",
		q->kind == ITEM_EVENT ? "VEVENT" : "VTODO");
	/* The server may send less than all; what it sends is looked at anyway. */
	if (q->window) {
		buffer_adds(&body, "<c:time-range");
		caldav_add_time("start", q->window->from, &body);
		caldav_add_time("end", q->window->to, &body);
		buffer_adds(&body, "/>");
	}
	if (q->uid) {
		buffer_adds(
			&body, "<c:prop-filter name=\"UID\"><c:text-match collation=\"i;octet\">");
		caldav_add_escaped(q->uid, &body);
		buffer_adds(&body, "</c:text-match></c:prop-filter>");
	}
	buffer_adds(&body, "</c:comp-filter></c:comp-filter></c:filter></c:calendar-query>");
	if (body.failed)
		return error_no_memory(e);
	return caldav_ask(d, "REPORT", list->id, "1", body.data, caldav_take_item, &w, e);
}

/* Writing */

static int caldav_write(
	struct caldav *d, const struct dav_request *q, struct buffer *ret_tag, struct error *e)
{
	auto_dav_reply reply = { 0 };
	int r = dav_client_request(d->client, q, d->store.until_ms, &reply, e);

	if (r < 0)
		return r;
	if (reply.status < 200 || reply.status > 299)
		return caldav_refused(&reply, e);
	/* One that the server changed as it wrote it has none here. */
	if (ret_tag && caldav_tag_is_valid(buffer_text(&reply.tag)))
		buffer_adds(ret_tag, buffer_text(&reply.tag));
	return 0;
}

static int caldav_add(struct store *s, const struct store_list *list, const char *uid,
	const char *text, size_t len, struct buffer *ret_tag, struct error *e)
{
	struct caldav *d = caldav_of(s);
	struct dav_request q = { .method = "PUT",
		.is_new = true,
		.type = "text/calendar; charset=utf-8",
		.body = text,
		.len = len };
	char name[2 * CALDAV_HASH + 1];
	unsigned char hash[CALDAV_HASH];
	auto_buffer path = { 0 };

	/* Never by what someone chose as an id: that may be a path. */
	(void)crypto_generichash(
		hash, sizeof(hash), (const unsigned char *)uid, strlen(uid), NULL, 0);
	encoding_hex(hash, sizeof(hash), name);
	buffer_printf(&path, "%s%s.ics", list->id, name);
	q.path = path.failed ? NULL : path.data;
	return q.path ? caldav_write(d, &q, ret_tag, e) : error_no_memory(e);
}

static int caldav_replace(struct store *s, const struct store_list *list,
	const struct store_item *old, const char *text, size_t len, struct buffer *ret_tag,
	struct error *e)
{
	const struct dav_request q = { .method = "PUT",
		.path = old->id,
		.match = old->tag,
		.type = "text/calendar; charset=utf-8",
		.body = text,
		.len = len };

	(void)list;
	return caldav_write(caldav_of(s), &q, ret_tag, e);
}

static int caldav_remove(struct store *s, const struct store_list *list,
	const struct store_item *old, struct error *e)
{
	const struct dav_request q = { .method = "DELETE", .path = old->id, .match = old->tag };

	(void)list;
	return caldav_write(caldav_of(s), &q, NULL, e);
}

static void caldav_free(struct store *s)
{
	struct caldav *d = caldav_of(s);

	dav_client_free(d->client);
	free(d->home);
	free(d);
}

int caldav_new(struct store **ret, struct dav_client *client, enum item_kind kind)
{
	static const struct store_calls calls = { caldav_lists, caldav_each, caldav_add,
		caldav_replace, caldav_remove, caldav_free, NULL };
	struct caldav *d = sodium_init() < 0 ? NULL : calloc(1, sizeof(*d));

	if (!d) {
		dav_client_free(client);
		return -ENOMEM;
	}
	d->store.calls = &calls;
	d->client = client;
	d->kind = kind;
	*ret = &d->store;
	return 0;
}
