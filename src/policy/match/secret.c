/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/match/secret.h"

#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "policy/network/one-host.h"

const char *const secret_place_names[SECRET_PLACES] = { "header", "query", "body", "form",
	"postgresql" };

bool secret_name_is_valid(const char *name, size_t len)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ_"
				    "0123456789.-";

	if (len == 0 || len > SECRET_NAME_MAX || strchr("0123456789.-", name[0]))
		return false;
	for (size_t i = 0; i < len; i++)
		if (!name[i] || !strchr(bytes, name[i]))
			return false;
	return true;
}

/* SECRET_PLACES if it is none. */
static unsigned secret_find_place(const char *word, size_t len)
{
	unsigned i = 0;

	while (i < SECRET_PLACES && (strlen(secret_place_names[i]) != len ||
					    strncmp(secret_place_names[i], word, len) != 0))
		i++;
	return i;
}

/* What stands behind NAME=HOST:PORT: ",PLACE", and ",PROGRAM" behind that. */
static void secret_split_end(const char *text, unsigned *ret_place, const char **ret_program)
{
	const size_t len = text[0] ? strcspn(text + 1, ",") : 0;

	*ret_place = text[0] ? secret_find_place(text + 1, len) : 0;
	*ret_program = text[0] && text[1 + len] ? text + 2 + len : NULL;
}

static int secret_check_program(const char *program, const struct location *where, struct error *e)
{
	const size_t len = strlen(program);

	if (len > 1 && len < PATH_BYTES && path_is_plain(program, len))
		return 0;
	return error_set(e, -EINVAL, where,
		"`%.200s` is no program: write its absolute path, without a pattern, as "
		"/usr/bin/gh",
		program);
}

int secret_spell(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	const size_t len = strcspn(text, "=");
	const size_t end = text[len] ? len + 1 + strcspn(text + len + 1, ",") : len;
	auto_arena scratch = { 0 };
	auto_buffer host = { 0 };
	const char *part, *program;
	unsigned place;
	int r;

	(void)op;
	if (!secret_name_is_valid(text, len))
		return error_set(e, -EINVAL, where,
			"`%.*s` is not the name of a secret: use letters, digits, `_`, `.` and "
			"`-`, at most %d",
			len < 100 ? (int)len : 100, text, SECRET_NAME_MAX);
	if (!text[len])
		return error_set(
			e, -EINVAL, where, "`%s` names no host: write %s=HOST:PORT", text, text);
	secret_split_end(text + end, &place, &program);
	if (place == SECRET_PLACES)
		return error_set(e, -EINVAL, where,
			"`%.*s` is no place in a request: expected header, query, body, form or "
			"postgresql",
			(int)strcspn(text + end + 1, ","), text + end + 1);
	r = program ? secret_check_program(program, where, e) : 0;
	if (r < 0)
		return r;
	part = arena_strndup(&scratch, text + len + 1, end - len - 1);
	r = part ? one_host_spell(part,
			   "a secret goes to hosts that are named, as in api.github.com:443", &host,
			   where, e)
		 : -ENOMEM;
	if (r < 0 || !ret)
		return r;
	part = arena_printf(a, "%.*s=%s,%s%s%s", (int)len, text, buffer_text(&host),
		secret_place_names[place], program ? "," : "", program ? program : "");
	if (part)
		*ret = part;
	return part ? 0 : -ENOMEM;
}

void secret_split(const char *entry, struct secret_entry *ret)
{
	const size_t name = strcspn(entry, "=");
	const char *host = entry + name + (entry[name] == '=');
	const size_t len = strcspn(host, ",");
	const char *program;
	unsigned place;

	secret_split_end(host + len, &place, &program);
	*ret = (struct secret_entry){ .name = entry,
		.host = host,
		.name_len = name,
		.host_len = len,
		.place = place % SECRET_PLACES,
		.program = program ? program : "" };
}

bool secret_is_same_place(const struct secret_entry *a, const struct secret_entry *b)
{
	return a->name_len == b->name_len && memcmp(a->name, b->name, a->name_len) == 0 &&
	       a->host_len == b->host_len && memcmp(a->host, b->host, a->host_len) == 0 &&
	       a->place == b->place;
}

bool secret_contains(const char *a, const char *b)
{
	struct secret_entry x, y;

	secret_split(a, &x);
	secret_split(b, &y);
	return secret_is_same_place(&x, &y) && !*x.program && *y.program;
}

/* Requests */

int secret_request_parse(struct secret_request *ret, const char *target)
{
	const size_t name = strcspn(target, "=");
	const char *host = target + name + (target[name] == '='), *program;
	const size_t len = strcspn(host, ",");
	unsigned place;

	secret_split_end(host + len, &place, &program);
	if (!target[name] || !secret_name_is_valid(target, name) || place == SECRET_PLACES ||
		(program && secret_check_program(program, NULL, NULL) < 0))
		return -EINVAL;
	ret->name = target;
	ret->name_len = name;
	ret->place = place;
	ret->program = program ? program : "";
	return one_host_parse(host, len, &ret->host);
}

bool secret_covers(const char *entry, const struct secret_request *r)
{
	struct host_request host;
	struct secret_entry s;

	secret_split(entry, &s);
	if (s.name_len != r->name_len || memcmp(s.name, r->name, s.name_len) != 0 ||
		s.place != r->place || one_host_parse(s.host, s.host_len, &host) < 0)
		return false;
	return one_host_is(&host, &r->host) && (!*s.program || strcmp(s.program, r->program) == 0);
}
