/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/record.h"

#include <errno.h>
#include <sodium.h>
#include <stddef.h>
#include <string.h>

#include "base/array.h"
#include "codec/json-writer.h"
#include "oauth/place.h"

#define TEXT(name)                                         \
	{                                                  \
#name, offsetof(struct oauth_record, name) \
	}
static const struct record_row {
	const char *name;
	size_t place;
} record_rows[] = { TEXT(url), TEXT(resource), TEXT(issuer), TEXT(token), TEXT(revocation),
	TEXT(client_id), TEXT(client_secret), TEXT(method), TEXT(scope), TEXT(refresh),
	TEXT(refused) };

static const char **record_text(struct oauth_record *r, size_t row)
{
	return (const char **)(void *)((char *)r + record_rows[row].place);
}

int oauth_record_print(const struct oauth_record *r, struct buffer *out)
{
	struct oauth_record copy = *r;
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	for (size_t i = 0; i < ROWS(record_rows); i++) {
		const char *text = *record_text(&copy, i);

		if (text && *text)
			json_put_text(&w, record_rows[i].name, text);
	}
	json_put_count(&w, "since", r->since_s);
	json_close(&w);
	if (json_end(&w) < 0)
		return -ENOMEM;
	return out->len > OAUTH_RECORD_MAX ? -EFBIG : 0;
}

static void record_wipe(const struct node *map)
{
	for (const struct node *n = map ? map->first : NULL; n; n = n->next)
		if (n->type == NODE_STRING)
			sodium_memzero((void *)(uintptr_t)n->text, strlen(n->text));
}

void oauth_record_deinit(struct oauth_record *r)
{
	record_wipe(r->document.root);
	document_deinit(&r->document);
	*r = (struct oauth_record){ 0 };
}

/* What cannot have been written by this file is not used. */
static bool record_is_whole(const struct oauth_record *r)
{
	struct oauth_place p;

	return oauth_place_read(&p, r->url, "", NULL) == 0 &&
	       oauth_place_read(&p, r->issuer, "", NULL) == 0 &&
	       oauth_place_read(&p, r->token, "", NULL) == 0 &&
	       (!*r->revocation || oauth_place_read(&p, r->revocation, "", NULL) == 0) &&
	       oauth_resource_covers(r->resource, r->url) && *r->client_id &&
	       oauth_method_read(r->method) > 0 &&
	       (oauth_method_read(r->method) == OAUTH_BY_NONE || *r->client_secret);
}

int oauth_record_read(struct oauth_record *ret, const char *text, size_t len, struct error *e)
{
	struct oauth_record x = { 0 };
	int64_t since = 0;
	int r = len > OAUTH_RECORD_MAX ? -EINVAL : json_read(&x.document, NULL, text, len, NULL);

	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r < 0)
		return error_set(e, -EINVAL, NULL, "this is no login that Corral has kept");
	for (size_t i = 0; i < ROWS(record_rows); i++) {
		const struct node *n = node_get(x.document.root, record_rows[i].name);

		*record_text(&x, i) = n && n->type == NODE_STRING ? n->text : "";
	}
	(void)node_integer(node_get(x.document.root, "since"), &since);
	x.since_s = since > 0 ? (uint64_t)since : 0;
	if (!record_is_whole(&x)) {
		oauth_record_deinit(&x);
		return error_set(e, -EINVAL, NULL, "this is no login that Corral has kept");
	}
	*ret = x;
	return 0;
}

void oauth_record_client(const struct oauth_record *r, struct oauth_client *ret)
{
	*ret = (struct oauth_client){ .id = r->client_id,
		.secret = *r->client_secret ? r->client_secret : NULL,
		.method = oauth_method_read(r->method) };
}
