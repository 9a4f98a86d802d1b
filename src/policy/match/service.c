/* SPDX-License-Identifier: Apache-2.0 */
#include "base/array.h"
#include "policy/match/service.h"

#include <errno.h>
#include <string.h>

#include "policy/network/host.h"

static const struct {
	const char *word;
	unsigned access;
} accesses[] = {
	{ "read", SERVICE_READ },
	{ "write", SERVICE_WRITE },
	{ "readwrite", SERVICE_READ | SERVICE_WRITE },
	{ "send", SERVICE_SEND },
	{ "open", SERVICE_OPEN },
	{ "navigate", SERVICE_NAVIGATE },
	{ "screenshot", SERVICE_SCREENSHOT },
	{ "eval", SERVICE_EVAL },
	{ "login", SERVICE_LOGIN },
};

unsigned service_access_parse(const char *word, size_t len)
{
	for (size_t i = 0; i < ROWS(accesses); i++) {
		if (strlen(accesses[i].word) == len && memcmp(accesses[i].word, word, len) == 0)
			return accesses[i].access;
	}
	return 0;
}

const char *service_access_name(unsigned access)
{
	for (size_t i = 0; i < ROWS(accesses); i++) {
		if (accesses[i].access == access)
			return accesses[i].word;
	}
	return NULL;
}

int service_request_parse(struct service_request *ret, const char *text)
{
	size_t n = strcspn(text, ".:");
	const char *rest = text + n;

	*ret = (struct service_request){ .name = text, .name_len = n };
	if (n == 0)
		return -EINVAL;
	if (*rest == '.') {
		size_t len = strcspn(rest + 1, ":");

		ret->access = service_access_parse(rest + 1, len);
		if (ret->access == 0)
			return -EINVAL;
		rest += 1 + len;
	}
	if (*rest == ':')
		ret->value = rest + 1;
	return 0;
}

bool service_word_matches(const char *pattern, const char *s, size_t len)
{
	const char *star = NULL, *end = s + len, *resume = s;

	while (s < end) {
		if (*pattern == '*') {
			star = ++pattern;
			resume = s;
		} else if (*pattern == '?' || *pattern == *s) {
			pattern++;
			s++;
		} else if (star) {
			pattern = star;
			s = ++resume;
		} else {
			return false;
		}
	}
	return pattern[strspn(pattern, "*")] == '\0';
}

/* An address is in no domain, and may be written in several ways. */
static bool is_address(const char *pattern, const struct address *address)
{
	size_t len = strlen(pattern);
	const bool bracketed = len > 2 && pattern[0] == '[' && pattern[len - 1] == ']';
	struct address a;

	return strcmp(pattern, "*") == 0 ||
	       (address_parse(pattern + bracketed, len - 2 * bracketed, &a) == 0 &&
		       address_equal(&a, address));
}

static bool word_covers(
	const char *pattern, const struct service_request *r, const char *value, size_t len)
{
	/* A host by its text, as in network patterns. */
	if (r->host && strncmp(pattern, "glob:", 5) == 0)
		return host_glob_matches(pattern + 5, r->host);
	return r->host && r->host->is_address ? is_address(pattern, &r->host->address)
					      : service_word_matches(pattern, value, len);
}

/* All the patterns of one of the list's entries match the value; `named`: and one is no wildcard.
 */
static bool listed(const struct grant_list *values, const struct service_request *r,
	const char *value, size_t len, bool named)
{
	for (size_t i = 0; i < values->n; i++) {
		const struct grant *g = &values->items[i];
		bool is_named = !named;
		size_t n = 0;

		for (; n < g->n && word_covers(g->all[n], r, value, len); n++)
			is_named = is_named || !strpbrk(g->all[n], "*?");
		if (n == g->n && is_named)
			return true;
	}
	return false;
}

/*
 * The part of "key=value,key=value" that belongs to key. With one scope the value is the whole
 * text, whatever it looks like: a list may be called "Private,lists=Work".
 */
static const char *value_for(const char *text, const char *key, bool only, size_t *ret_len)
{
	size_t n = strlen(key);

	*ret_len = strlen(text);
	if (only)
		return text;
	for (const char *at = text; at; at = strchr(at, ',') ? strchr(at, ',') + 1 : NULL) {
		if (strncmp(at, key, n) == 0 && at[n] == '=') {
			*ret_len = strcspn(at + n + 1, ",");
			return at + n + 1;
		}
	}
	return NULL;
}

static bool service_takes(const struct service *s, const struct service_request *r, bool named)
{
	if (strlen(s->name) != r->name_len || memcmp(s->name, r->name, r->name_len) != 0)
		return false;
	/* A request that leaves out the access asks for all of them. */
	if (r->access == 0 || (r->access & ~s->access))
		return false;
	for (size_t i = 0; i < s->n_scopes; i++) {
		size_t len = 0;
		const char *value =
			r->value ? value_for(r->value, s->scopes[i].key, s->n_scopes == 1, &len)
				 : NULL;

		if (!value || !listed(&s->scopes[i].values, r, value, len, named))
			return false;
	}
	return !named || s->n_scopes > 0;
}

bool service_covers(const struct service *s, const struct service_request *r)
{
	return service_takes(s, r, false);
}

bool service_names(const struct service *s, const struct service_request *r)
{
	return service_takes(s, r, true);
}

bool service_pattern_covers(const char *pattern, const struct service_request *r)
{
	struct service_request p;

	if (strcmp(pattern, "*") == 0)
		return true;
	if (service_request_parse(&p, pattern) < 0)
		return false;
	if (p.name_len != r->name_len || memcmp(p.name, r->name, p.name_len) != 0)
		return false;
	if (p.access && (r->access == 0 || (r->access & ~p.access)))
		return false;
	return !p.value || (r->value && word_covers(p.value, r, r->value, strlen(r->value)));
}

bool service_pattern_names(const char *pattern, const struct service_request *r)
{
	struct service_request p;

	return service_request_parse(&p, pattern) == 0 && p.value && !strpbrk(p.value, "*?") &&
	       service_pattern_covers(pattern, r);
}
