/* SPDX-License-Identifier: Apache-2.0 */
#include "services/desktop/login.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/array.h"
#include "codec/encoding.h"

enum { LOGIN_PAGE, LOGIN_CLIENT, LOGIN_BACK, LOGIN_PARTS, LOGIN_VALUE_BYTES = 2048 };

struct login_part {
	const char *text;
	size_t len;
};

/* What a query has of a row, by number of the part. */
struct login_query {
	struct login_part found[LOGIN_PARTS];
	char values[LOGIN_PARTS][LOGIN_VALUE_BYTES];
};

/* Parameters that a row decides about; and those that name a request that is kept elsewhere, with
 * parameters which nothing here sees. */
static const struct {
	const char name[16];
	int part;
} login_names[] = {
	{ "client_id", LOGIN_CLIENT },
	{ "redirect_uri", LOGIN_BACK },
	{ "request", -1 },
	{ "request_uri", -1 },
};

/* Names are compared without case: some servers do. 0: the row does not decide; -1: never. */
static int login_part_of(const char *name, size_t len)
{
	for (size_t i = 0; i < ROWS(login_names); i++)
		if (strlen(login_names[i].name) == len &&
			strncasecmp(login_names[i].name, name, len) == 0)
			return login_names[i].part;
	return 0;
}

/* No escape, no brackets: names that a server could read in another way. */
static bool login_is_name(const char *name, size_t len)
{
	for (size_t i = 0; i < len; i++)
		if (!ascii_is_alnum(name[i]) && name[i] != '_' && name[i] != '-')
			return false;
	return len > 0;
}

/* -EINVAL: a bad escape, a control character, or too long. */
static int login_decode(const char *text, size_t len, char out[LOGIN_VALUE_BYTES])
{
	size_t n = 0;

	for (size_t i = 0; i < len; i++) {
		int byte = text[i] == '+' ? ' ' : text[i];

		if (text[i] == '%') {
			byte = encoding_percent_byte(text + i, len - i);
			i += 2;
		}
		if (byte < 0 || ascii_is_control((char)byte) || n + 1 >= LOGIN_VALUE_BYTES)
			return -EINVAL;
		out[n++] = (char)byte;
	}
	out[n] = '\0';
	return 0;
}

/* Scopes have the form of addresses at some providers, and lead nowhere. */
static bool login_is_plain(const char *name, size_t len, const char *value)
{
	if (strchr(value, '\\') || strchr(value, '%'))
		return false;
	return (len == 5 && memcmp(name, "scope", 5) == 0) ||
	       (!strstr(value, "//") && !strchr(value, ':'));
}

static int login_read_parameter(struct login_query *q, const char *text, size_t len)
{
	const char *equals = memchr(text, '=', len);
	const size_t name = equals ? (size_t)(equals - text) : 0;
	const int part = equals ? login_part_of(text, name) : -1;
	char value[LOGIN_VALUE_BYTES];

	if (part < 0 || !login_is_name(text, name) ||
		login_decode(equals + 1, len - name - 1, value) < 0)
		return -EINVAL;
	if (part == 0)
		return login_is_plain(text, name, value) ? 0 : -EINVAL;
	if (q->found[part].text)
		return -EINVAL;
	(void)stpcpy(q->values[part], value);
	q->found[part] = (struct login_part){ q->values[part], strlen(value) };
	return 0;
}

/* A ; parts parameters at some servers. */
static int login_read_query(struct login_query *q, const char *text, size_t len)
{
	int r = memchr(text, ';', len) || memchr(text, '#', len) ? -EINVAL : 0;

	while (r == 0 && len > 0) {
		const char *end = memchr(text, '&', len);
		const size_t n = end ? (size_t)(end - text) : len;

		r = login_read_parameter(q, text, n);
		text += n + (end != NULL);
		len -= n + (end != NULL);
	}
	return r;
}

static bool login_row_has(const char *row, const struct login_query *q)
{
	for (size_t i = 0; i < LOGIN_PARTS; i++) {
		const size_t len = strcspn(row, " ");
		const struct login_part *found = &q->found[i];

		if (!found->text || found->len != len || memcmp(found->text, row, len) != 0)
			return false;
		row += len + (row[len] == ' ');
	}
	return true;
}

int login_check(const char *page, size_t len, struct error *e)
{
	const char *query = memchr(page, '?', len);
	struct login_query q = { 0 };

	if (!query || login_read_query(&q, query + 1, (size_t)(page + len - query - 1)) < 0)
		return error_set(e, -EINVAL, NULL, "this is not the address of a login");
	q.found[LOGIN_PAGE] = (struct login_part){ page, (size_t)(query - page) };
	for (const char *row = login_rows; *row; row += strlen(row) + 1)
		if (login_row_has(row, &q))
			return 0;
	return error_set(e, -EINVAL, NULL,
		"no preset names a login with this page, this client and this way back");
}
