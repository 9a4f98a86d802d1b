/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
/*
 * Service requests: "NAME.ACCESS" or "NAME.ACCESS:VALUE", such as reminders.read:Work or
 * browser.open:example.com. VALUE is what the scope narrows (a list, a calendar, a domain); with
 * several scopes it is "key=value,key=value". A grant with a scope covers only requests that name a
 * value in it. Rules use the same form as patterns, where ACCESS and VALUE may be left out and
 * VALUE is a glob. Domains are compared as hosts: a request may have a URL, or "host:port".
 */
#include <stdbool.h>
#include <stddef.h>

#include "policy/permissions.h"

/* "read" → SERVICE_READ, "readwrite" → both …; 0 for an unknown word. */
unsigned service_access_parse(const char *word, size_t len);
/* The word for just this set, or NULL if it has none. */
const char *service_access_name(unsigned access);

struct service_request {
	const char *name;
	size_t name_len;
	unsigned access;   /* one or more service_access bits; 0 where a pattern leaves it out */
	const char *value; /* NULL: none */
	/* The value is this host, and `value` its name (service_value_normal()). NULL: a text. */
	const struct host_request *host;
};

/* The words of accesses, for messages. */
#define SERVICE_ACCESS_WORDS "read, write, readwrite, send, open, navigate, screenshot, eval, login"

/* -EINVAL if the form is wrong. Points into text. */
int service_request_parse(struct service_request *ret, const char *text);
/* True if the grant covers the request. */
bool service_covers(const struct service *s, const struct service_request *r);
/* True if a rule's pattern covers the request. */
bool service_pattern_covers(const char *pattern, const struct service_request *r);
/* The same of those that name just this value, without wildcards: it is what they are about. */
bool service_names(const struct service *s, const struct service_request *r);
bool service_pattern_names(const char *pattern, const struct service_request *r);
/* One word of a scope: `*` and `?` over the bytes of a value. */
bool service_word_matches(const char *pattern, const char *value, size_t len);
