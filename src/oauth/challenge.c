/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/challenge.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/buffer.h"

struct challenge_reader {
	struct oauth_challenge *out;
	struct arena *arena;
	bool is_bearer, was_bearer;
};

static size_t challenge_token(const char *at)
{
	return strspn(at, "!#$%&'*+-.^_`|~0123456789"
			  "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz");
}

static const char *challenge_skip(const char *at, const char *what)
{
	return at + strspn(at, what);
}

/* A token, or a text in quotes. Returns behind it; NULL: it is none. */
static const char *challenge_value(const char *at, struct buffer *out)
{
	if (*at != '"') {
		const size_t len = challenge_token(at);

		buffer_add(out, at, len);
		return len > 0 ? at + len : NULL;
	}
	for (at++; *at && *at != '"'; at++) {
		if (*at == '\\' && *++at == '\0')
			return NULL;
		buffer_addc(out, *at);
	}
	return *at == '"' ? at + 1 : NULL;
}

static int challenge_put(
	struct challenge_reader *r, const char *name, size_t len, const char *value)
{
	const struct {
		const char *name;
		const char **place;
	} rows[] = { { "resource_metadata", &r->out->metadata }, { "scope", &r->out->scope },
		{ "error", &r->out->error } };

	for (size_t i = 0; r->is_bearer && i < ROWS(rows); i++) {
		if (strlen(rows[i].name) != len || strncasecmp(rows[i].name, name, len) != 0)
			continue;
		if (*rows[i].place)
			return -EINVAL;
		*rows[i].place = arena_strdup(r->arena, value);
		return *rows[i].place ? 0 : -ENOMEM;
	}
	return 0;
}

/* A scheme, with the token68 that may follow it, or a parameter. Returns behind it, or NULL. */
static const char *challenge_next(struct challenge_reader *r, const char *at, int *ret)
{
	const size_t len = challenge_token(at);
	const char *name = at, *behind = challenge_skip(at + len, " \t");
	auto_buffer value = { 0 };

	if (len == 0)
		return NULL;
	if (*behind != '=') {
		r->is_bearer = len == strlen("Bearer") && strncasecmp(name, "Bearer", len) == 0;
		*ret = r->is_bearer && r->was_bearer ? -EINVAL : 0;
		r->was_bearer = r->was_bearer || r->is_bearer;
		return behind;
	}
	at = challenge_skip(behind + 1, " \t");
	/* "Negotiate YII=": text of another scheme. */
	if (*at == '=' || *at == ',' || *at == '\0')
		return r->is_bearer ? NULL : challenge_skip(at, "=");
	at = challenge_value(at, &value);
	if (!at)
		return NULL;
	*ret = value.failed ? -ENOMEM : challenge_put(r, name, len, buffer_text(&value));
	return at;
}

int oauth_challenge_read(
	struct oauth_challenge *ret, const char *field, struct arena *a, struct error *e)
{
	struct oauth_challenge found = { 0 };
	struct challenge_reader reader = { .out = &found, .arena = a };
	const char *at = strnlen(field, OAUTH_CHALLENGE_MAX) < OAUTH_CHALLENGE_MAX ? field : NULL;
	int r = 0;

	while (at && r == 0) {
		at = challenge_skip(at, " \t,");
		if (!*at)
			break;
		at = challenge_next(&reader, at, &r);
	}
	if (r == -ENOMEM)
		return error_no_memory(e);
	if (!at || r < 0)
		return error_set(e, -EINVAL, NULL,
			"the server's WWW-Authenticate is not written as RFC 9110 has it, or names "
			"something twice");
	*ret = found;
	return 0;
}
