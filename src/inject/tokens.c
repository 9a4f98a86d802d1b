/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/tokens.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "inject/masking.h"
#include "vault/secret.h"

static const struct token_field {
	const char *name;
	enum lend_token_kind kind;
} token_fields[] = {
	{ "access_token", LEND_TOKEN_ACCESS },
	{ "refresh_token", LEND_TOKEN_REFRESH },
	{ "id_token", LEND_TOKEN_ID },
	{ "accessToken", LEND_TOKEN_ACCESS },
	{ "refreshToken", LEND_TOKEN_REFRESH },
	{ "idToken", LEND_TOKEN_ID },
};

enum { FORM_FIELDS_MAX = 64, FORM_NAME_MAX = 64 };

static const char why_twice[] = "a token stands in it twice";
static const char why_inner[] =
	"a token is in an inner object of it, where Corral does not replace it";
static const char why_text[] = "a token of it is no text of visible characters";
static const char why_short[] = "a token of it is shorter than 6 bytes, so it cannot be found in "
				"answers without hiding other text";
static const char why_long[] = "a token of it is longer than 8 KiB";
static const char why_json[] = "it says that it is JSON, and is not, or has a name twice";
static const char why_form[] = "it says that it is a form, and is not, or has a name twice";

/* -1: it is no name of a token. */
static int tokens_kind(const char *name)
{
	for (size_t i = 0; i < ROWS(token_fields); i++)
		if (strcmp(token_fields[i].name, name) == 0)
			return (int)token_fields[i].kind;
	return -1;
}

static bool tokens_is_type(const char *type, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(type, name, len) == 0;
}

enum tokens_form tokens_form(const char *type, size_t len)
{
	static const char json[] = "+json";
	size_t end = 0;

	while (end < len && !strchr(" \t;", type[end]))
		end++;
	if (tokens_is_type(type, end, "application/json") ||
		(end > strlen(json) &&
			strncasecmp(type + end - strlen(json), json, strlen(json)) == 0))
		return TOKENS_JSON;
	return tokens_is_type(type, end, "application/x-www-form-urlencoded") ? TOKENS_FORM
									      : TOKENS_OTHER;
}

/* A line of a head may have it: no byte of it ends that. */
static const char *tokens_check(const char *value, size_t len)
{
	if (len < MASKING_LEAST)
		return why_short;
	if (len > TOKENS_VALUE_MAX)
		return why_long;
	for (size_t i = 0; i < len; i++)
		if (value[i] <= ' ' || value[i] >= 0x7f)
			return why_text;
	return NULL;
}

/* JSON */

static bool tokens_are_below(const struct node *n, unsigned depth)
{
	for (const struct node *c = n->first; c; c = c->next)
		if ((depth > 0 && c->key && c->type != NODE_NULL && tokens_kind(c->key) >= 0) ||
			tokens_are_below(c, depth + 1))
			return true;
	return false;
}

static int tokens_read_json(struct tokens *t, const char *body, size_t len, const char **ret_why)
{
	struct error e = { 0 };
	int r = json_read(&t->document, NULL, body, len, &e), n = 0;

	if (r < 0) {
		*ret_why = why_json;
		return r == -ENOMEM ? r : -EBADMSG;
	}
	/* Of a list all that is in it is deeper. */
	if (tokens_are_below(t->document.root, t->document.root->type == NODE_MAP ? 0 : 1)) {
		*ret_why = why_inner;
		return -EINVAL;
	}
	for (struct node *c = t->document.root->first; c; c = c->next) {
		const int kind = c->key ? tokens_kind(c->key) : -1;

		if (kind < 0 || c->type == NODE_NULL)
			continue;
		*ret_why = t->nodes[kind]           ? why_twice
			   : c->type != NODE_STRING ? why_text
						    : tokens_check(c->text, strlen(c->text));
		if (*ret_why)
			return -EINVAL;
		t->nodes[kind] = c;
		t->values[kind] = c->text;
		n = 1;
	}
	return n;
}

/* Forms: a=1&b=2 */

struct form_field {
	char name[FORM_NAME_MAX];
	size_t at, len; /* of the value, as it is written */
};

/* "%41" and "+"; NUL ends the text early, which nothing here takes for a token. */
static void form_decode(const char *text, size_t len, struct buffer *out)
{
	for (size_t i = 0; i < len; i++) {
		const int byte = encoding_percent_byte(text + i, len - i);

		buffer_addc(out, byte >= 0 ? (char)byte : text[i] == '+' ? ' ' : text[i]);
		i += byte >= 0 ? 2 : 0;
	}
}

/* A name that is too long is no name that is looked for: its end does not matter. */
static int form_read_name(const char *text, size_t len, struct form_field *f)
{
	auto_buffer name = { 0 };

	form_decode(text, len, &name);
	if (name.failed)
		return -ENOMEM;
	if (memchr(buffer_text(&name), '\0', name.len))
		return -EINVAL;
	memset(f->name, 0, sizeof(f->name));
	memcpy(f->name, buffer_text(&name),
		name.len < FORM_NAME_MAX - 1 ? name.len : FORM_NAME_MAX - 1);
	return 0;
}

/* The number of fields, or -EINVAL: too many, one without a name, or one twice; -ENOMEM. */
static int form_read(const char *body, size_t len, struct form_field fields[FORM_FIELDS_MAX])
{
	int n = 0;

	for (size_t at = 0; at < len;) {
		const char *amp = memchr(body + at, '&', len - at);
		const size_t end = amp ? (size_t)(amp - body) : len;
		const char *equals = memchr(body + at, '=', end - at);
		const size_t name = equals ? (size_t)(equals - body) : end;
		int r;

		if (n == FORM_FIELDS_MAX || name == at)
			return -EINVAL;
		r = form_read_name(body + at, name - at, &fields[n]);
		if (r < 0)
			return r;
		for (int i = 0; i < n; i++)
			if (strcmp(fields[i].name, fields[n].name) == 0)
				return -EINVAL;
		fields[n].at = name < end ? name + 1 : end;
		fields[n].len = end - fields[n].at;
		n++;
		at = end + 1;
	}
	return n;
}

static int tokens_read_form(struct tokens *t, const char *body, size_t len, const char **ret_why)
{
	struct form_field fields[FORM_FIELDS_MAX];
	int n = form_read(body, len, fields), found = 0;

	*ret_why = n < 0 ? why_form : NULL;
	for (int i = 0; i < n; i++) {
		const int kind = tokens_kind(fields[i].name);
		auto_buffer value = { 0 };

		if (kind < 0 || fields[i].len == 0)
			continue;
		form_decode(body + fields[i].at, fields[i].len, &value);
		*ret_why = value.failed      ? "memory"
			   : t->values[kind] ? why_twice
					     : tokens_check(buffer_text(&value), value.len);
		if (!*ret_why) {
			t->at[kind] = fields[i].at;
			t->len[kind] = fields[i].len;
			t->values[kind] =
				arena_strndup(&t->document.arena, buffer_text(&value), value.len);
		}
		if (value.data)
			secret_wipe(value.data, value.cap);
		if (*ret_why || !t->values[kind])
			return *ret_why ? -EINVAL : -ENOMEM;
		found = 1;
	}
	if (found)
		buffer_add(&t->text, body, len);
	return n == -EINVAL ? -EBADMSG : n < 0 ? n : t->text.failed ? -ENOMEM : found;
}

/* Both */

int tokens_read(
	struct tokens *t, enum tokens_form form, const char *body, size_t len, const char **ret_why)
{
	*ret_why = NULL;
	t->form = form;
	return form == TOKENS_JSON   ? tokens_read_json(t, body, len, ret_why)
	       : form == TOKENS_FORM ? tokens_read_form(t, body, len, ret_why)
				     : 0;
}

static void tokens_print_form(
	const struct tokens *t, const char *const texts[LEND_TOKENS_MAX], struct buffer *out)
{
	size_t from = 0;

	for (;;) {
		int next = -1;

		for (int i = 0; i < LEND_TOKENS_MAX; i++)
			if (t->values[i] && t->at[i] >= from &&
				(next < 0 || t->at[i] < t->at[next]))
				next = i;
		if (next < 0)
			break;
		buffer_add(out, t->text.data + from, t->at[next] - from);
		encoding_percent(texts[next], strlen(texts[next]), "-._~", out);
		from = t->at[next] + t->len[next];
	}
	buffer_add(out, t->text.data + from, t->text.len - from);
}

int tokens_print(struct tokens *t, const char *const texts[LEND_TOKENS_MAX], struct buffer *out)
{
	if (t->form == TOKENS_FORM) {
		tokens_print_form(t, texts, out);
		return out->failed ? -ENOMEM : 0;
	}
	for (int i = 0; i < LEND_TOKENS_MAX; i++)
		if (t->nodes[i])
			t->nodes[i]->text = texts[i];
	json_print(out, t->document.root, JSON_COMPACT);
	return out->failed ? -ENOMEM : 0;
}

void tokens_deinit(struct tokens *t)
{
	for (int i = 0; i < LEND_TOKENS_MAX; i++)
		if (t->values[i])
			secret_wipe((char *)t->values[i], strlen(t->values[i]));
	if (t->text.data)
		secret_wipe(t->text.data, t->text.cap);
	buffer_deinit(&t->text);
	if (t->form != TOKENS_OTHER)
		document_deinit(&t->document);
	*t = (struct tokens){ 0 };
}

/* Requests */

/* One of these beside the refresh token does not make another login of it. */
static bool tokens_is_of_refresh(const char *name)
{
	static const char *const names[] = { "grant_type", "refresh_token", "client_id",
		"client_secret", "scope", "resource", "audience" };

	for (size_t i = 0; i < ROWS(names); i++)
		if (strcmp(names[i], name) == 0)
			return true;
	return false;
}

struct request_look {
	const char *refresh;
	bool has_others, is_grant, is_refresh, is_exchange;
};

static void request_look_at(struct request_look *l, const char *name, const char *value)
{
	static const char exchange[] = "urn:ietf:params:oauth:grant-type:token-exchange";

	if (strcmp(name, "grant_type") == 0) {
		l->is_grant = strcmp(value, "refresh_token") == 0;
		l->is_exchange = strcmp(value, exchange) == 0;
	}
	if (strcmp(name, "refresh_token") == 0)
		l->is_refresh = l->refresh && strcmp(value, l->refresh) == 0;
	l->has_others = l->has_others || !tokens_is_of_refresh(name);
}

static int request_look_json(struct request_look *l, const char *body, size_t len)
{
	auto_document d = { 0 };
	struct error e = { 0 };
	int r = json_read(&d, NULL, body, len, &e);

	if (r < 0 || d.root->type != NODE_MAP)
		return -EINVAL;
	for (const struct node *c = d.root->first; c; c = c->next)
		request_look_at(l, c->key, c->text && c->type == NODE_STRING ? c->text : "");
	return 0;
}

static int request_look_form(struct request_look *l, const char *body, size_t len)
{
	struct form_field fields[FORM_FIELDS_MAX];
	int n = form_read(body, len, fields);

	for (int i = 0; i < n; i++) {
		auto_buffer value = { 0 };

		form_decode(body + fields[i].at, fields[i].len, &value);
		if (value.failed || memchr(buffer_text(&value), '\0', value.len))
			return -EINVAL;
		request_look_at(l, fields[i].name, buffer_text(&value));
	}
	return n;
}

enum tokens_request tokens_request(const char *body, size_t len, const char *refresh)
{
	struct request_look l = { .refresh = refresh };
	const int r = len > 0 && body[0] == '{' ? request_look_json(&l, body, len)
						: request_look_form(&l, body, len);

	if (r < 0)
		return TOKENS_LOGIN;
	return l.is_exchange                                 ? TOKENS_EXCHANGE
	       : l.is_grant && l.is_refresh && !l.has_others ? TOKENS_REFRESH
							     : TOKENS_LOGIN;
}
