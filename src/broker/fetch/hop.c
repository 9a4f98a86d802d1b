/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/fetch/hop.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "broker/fetch/request.h"
#include "broker/fetch/response.h"

static int hop_parse(const char *url, struct url *ret)
{
	struct error e;

	return url_parse(ret, url, strlen(url), &e) < 0 ? -EINVAL : 0;
}

int hop_origin(const char *url, char out[HOP_ORIGIN_BYTES])
{
	char address[ADDRESS_TEXT_BYTES];
	struct url u;
	int r = hop_parse(url, &u);

	if (r < 0)
		return r;
	if (u.is_address)
		(void)address_text(&u.address, address);
	(void)snprintf(out, HOP_ORIGIN_BYTES,
		u.is_address && u.address.bits == 128 ? "[%s]:%u" : "%s:%u",
		u.is_address ? address : u.host, u.port);
	return 0;
}

static bool hop_is_same_origin(const struct url *a, const struct url *b)
{
	return strcmp(a->scheme, b->scheme) == 0 && a->port == b->port &&
	       a->is_address == b->is_address &&
	       (a->is_address ? address_equal(&a->address, &b->address)
			      : strcmp(a->host, b->host) == 0);
}

static bool hop_is_listed(const char *name, const char *const *list, size_t n)
{
	for (size_t i = 0; i < n; i++) {
		if (strcasecmp(name, list[i]) == 0)
			return true;
	}
	return false;
}

/* The headers that go along. */
static int hop_take_headers(struct hop *h, bool is_same_origin, bool has_body, struct arena *a)
{
	static const char *const secret[] = { "authorization", "cookie" };
	static const char *const of_body[] = { "content-type", "content-encoding",
		"content-language", "content-location" };
	struct value_item *kept = arena_calloc(a, h->n_headers + 1, sizeof(*kept));
	size_t n = 0;

	if (!kept)
		return -ENOMEM;
	for (size_t i = 0; i < h->n_headers; i++) {
		const char *name = h->headers[i].key;

		if ((is_same_origin || !hop_is_listed(name, secret, ROWS(secret))) &&
			(has_body || !hop_is_listed(name, of_body, ROWS(of_body))))
			kept[n++] = h->headers[i];
	}
	h->headers = kept;
	h->n_headers = n;
	return 0;
}

static bool hop_becomes_get(const char *method, uint64_t status)
{
	if (status == 303)
		return strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0;
	return (status == 301 || status == 302) && strcmp(method, "POST") == 0;
}

static const char *hop_fault(const struct hop *h, const char *location, const struct url *from,
	struct url *to, struct arena *a)
{
	const char *fault;

	if (h->count >= HOPS_MAX)
		return arena_printf(a, "there are more than %d redirects", HOPS_MAX);
	fault = fetch_url_fault(location);
	if (!fault && hop_parse(location, to) < 0)
		fault = "it is no URL that can be understood";
	if (!fault && strcmp(from->scheme, "https") == 0 && strcmp(to->scheme, "https") != 0)
		fault = "it leads from https to http";
	return fault ? arena_printf(a, "the redirect to %s is not followed: %s", location, fault)
		     : NULL;
}

int hop_follow(
	struct hop *h, uint64_t status, const char *location, struct arena *a, const char **why)
{
	struct url from, to = { 0 };
	int r;

	if (!response_is_redirect(status) || !location)
		return 0;
	r = hop_parse(h->url, &from);
	if (r == 0) {
		*why = hop_fault(h, location, &from, &to, a);
		r = *why ? -EINVAL : 0;
	}
	if (r < 0)
		return r;
	if (hop_becomes_get(h->method, status)) {
		h->method = "GET";
		h->has_body = false;
	}
	r = hop_take_headers(h, hop_is_same_origin(&from, &to), h->has_body, a);
	h->url = arena_strdup(a, location);
	h->count++;
	return r < 0 || !h->url ? -ENOMEM : 1;
}

bool hop_is_of(const char *origin, const char *target)
{
	const char *colon = strrchr(origin, ':'), *scheme = strstr(target, "://");
	const size_t len = colon ? (size_t)(colon - origin) : strlen(origin);
	const char *rest;
	size_t len_of_port;

	target = scheme ? scheme + 3 : target;
	if (strncmp(target, origin, len) != 0)
		return false;
	rest = target + len;
	/* A URL leaves out the usual port; a name has none. */
	if (*rest != ':')
		return *rest == '\0' || *rest == '/' || *rest == '?';
	len_of_port = strspn(rest + 1, "0123456789");
	return colon && strlen(colon + 1) == len_of_port &&
	       strncmp(rest + 1, colon + 1, len_of_port) == 0;
}
