/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/answer.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "oauth/place.h"

enum { ANSWER_FIELDS_MAX = 16, ANSWER_AUDIENCES_MAX = 16, ANSWER_YEARS_S = 10 * 365 * 86400 };

static bool answer_is_visible(const char *text)
{
	for (; *text; text++)
		if (*text <= ' ' || *text >= 0x7f)
			return false;
	return true;
}

/* Of a document with tokens: its texts are in its arena. */
static void answer_wipe(const struct node *n)
{
	for (const struct node *c = n ? n->first : NULL; c; c = c->next)
		answer_wipe(c);
	if (n && n->type == NODE_STRING)
		sodium_memzero((void *)(uintptr_t)n->text, strlen(n->text));
}

static void answer_drop(struct document *d)
{
	answer_wipe(d->root);
	document_deinit(d);
}
#define auto_answer __attribute__((cleanup(answer_drop))) struct document

static int answer_read(struct document *d, const char *body, size_t len, struct error *e)
{
	struct error why = { 0 };
	int r = len > OAUTH_ANSWER_MAX ? -E2BIG : json_read(d, NULL, body, len, &why);

	if (r == -ENOMEM)
		return error_no_memory(e);
	/* The reader's words may quote what it read: a token. */
	if (r < 0 || d->root->type != NODE_MAP) {
		if (r < 0)
			d->root = NULL;
		return error_set(e, -EINVAL, NULL,
			"the authorization server's answer is no JSON object, has a name twice, or "
			"is too large");
	}
	return 0;
}

/* Visible text of bounded length. 1: it is there; 0: it is not; -EINVAL. */
static int answer_text(
	const struct node *map, const char *key, size_t most, const char **ret, struct error *e)
{
	const struct node *n = node_get(map, key);

	*ret = NULL;
	if (!n || n->type == NODE_NULL)
		return 0;
	if (n->type != NODE_STRING || !*n->text || strlen(n->text) > most ||
		!answer_is_visible(n->text))
		return error_set(e, -EINVAL, NULL,
			"`%s` of the authorization server's answer is no text of 1 to %zu visible "
			"characters",
			key, most);
	*ret = n->text;
	return 1;
}

static int answer_seconds(const struct node *map, const char *key, uint64_t *ret, struct error *e)
{
	const struct node *n = node_get(map, key);
	int64_t seconds;

	if (!n || n->type == NODE_NULL)
		return 0;
	if (node_integer(n, &seconds) < 0 || seconds < 0)
		return error_set(e, -EINVAL, NULL,
			"`%s` of the authorization server's answer is not a number of seconds",
			key);
	*ret = seconds > ANSWER_YEARS_S ? ANSWER_YEARS_S : (uint64_t)seconds;
	return 0;
}

/* Refusals */

static enum oauth_refusal answer_refusal(const char *word)
{
	static const struct {
		const char *word;
		enum oauth_refusal why;
	} rows[] = { { "authorization_pending", OAUTH_PENDING }, { "slow_down", OAUTH_SLOWER },
		{ "invalid_grant", OAUTH_LOGIN }, { "invalid_client", OAUTH_CLIENT },
		{ "unauthorized_client", OAUTH_CLIENT }, { "access_denied", OAUTH_DENIED },
		{ "expired_token", OAUTH_EXPIRED } };

	for (size_t i = 0; i < ROWS(rows); i++)
		if (strcmp(rows[i].word, word) == 0)
			return rows[i].why;
	return OAUTH_REFUSED;
}

/* Its word and its sentence; error_set() makes what is in them visible. */
static int answer_refused(const struct node *map, unsigned status, const char *what,
	enum oauth_refusal *ret, struct error *e)
{
	const char *word = node_get_text(map, "error");
	const char *words = node_get_text(map, "error_description");

	*ret = answer_refusal(word);
	return error_set(e, 1, NULL, "%s: the authorization server says %u %.64s%s%.200s", what,
		status, *word ? word : "without a reason", *words ? ": " : "", words);
}

/* Tokens */

void oauth_tokens_deinit(struct oauth_tokens *t)
{
	if (t->room)
		sodium_memzero(t->room, t->len);
	free(t->room);
	*t = (struct oauth_tokens){ 0 };
}

/* 1: it is an audience that is a URL, and `is_it` says whether it is the resource's. */
static int answer_audience(const struct node *n, const struct oauth_place *of, bool *is_it)
{
	struct oauth_place p;

	if (!n || n->type != NODE_STRING || oauth_place_read(&p, n->text, "", NULL) < 0)
		return 0;
	*is_it = *is_it || oauth_place_is_same(&p, of);
	return 1;
}

/* The claims, not the signature: only the server can tell that one. */
static bool answer_claims_are_for(const struct node *claims, const struct oauth_place *of)
{
	const struct node *aud = node_get(claims, "aud");
	bool is_it = false;
	int urls = 0;

	if (aud && aud->type == NODE_LIST) {
		for (const struct node *n = aud->first; n; n = n->next)
			urls += answer_audience(n, of, &is_it);
		return is_it || urls == 0 || (size_t)urls < aud->count;
	}
	return answer_audience(aud, of, &is_it) == 0 || is_it;
}

bool oauth_answer_is_for(const char *token, const char *resource)
{
	const char *dot = strchr(token, '.'), *end = dot ? strchr(dot + 1, '.') : NULL;
	auto_arena a = { 0 };
	auto_answer d = { 0 };
	struct oauth_place of;
	const char *text = NULL;
	size_t len = 0;

	if (!end || strchr(end + 1, '.') || oauth_place_read(&of, resource, "", NULL) < 0)
		return true;
	if (encoding_decode(ENCODING_BASE64URL, dot + 1, (size_t)(end - dot - 1), &a, &text, &len) <
			0 ||
		json_read(&d, NULL, text, len, NULL) < 0) {
		d.root = NULL;
		return true;
	}
	return d.root->type != NODE_MAP || answer_claims_are_for(d.root, &of);
}

static int answer_keep(struct oauth_tokens *t, const char *access, const char *refresh,
	const char *scope, struct error *e)
{
	const char *const texts[] = { access, refresh ? refresh : "", scope ? scope : "" };
	const char *places[ROWS(texts)];
	size_t at = 0;

	for (size_t i = 0; i < ROWS(texts); i++)
		t->len += strlen(texts[i]) + 1;
	t->room = malloc(t->len);
	if (!t->room)
		return error_no_memory(e);
	for (size_t i = 0; i < ROWS(texts); i++) {
		places[i] = t->room + at;
		memcpy(t->room + at, texts[i], strlen(texts[i]) + 1);
		at += strlen(texts[i]) + 1;
	}
	t->access = places[0];
	t->refresh = refresh ? places[1] : NULL;
	t->scope = scope ? places[2] : NULL;
	return 0;
}

static int answer_take(
	struct oauth_tokens *t, const struct node *map, const char *resource, struct error *e)
{
	const char *access, *refresh, *type, *scope = node_get_text(map, "scope");
	int r = answer_text(map, "access_token", OAUTH_TOKEN_MAX, &access, e);

	if (r >= 0 && !access)
		return error_set(e, -EINVAL, NULL,
			"the authorization server's answer has no `access_token`");
	if (r > 0)
		r = answer_text(map, "refresh_token", OAUTH_TOKEN_MAX, &refresh, e);
	if (r >= 0)
		r = answer_text(map, "token_type", OAUTH_SAID_MAX, &type, e);
	if (r >= 0 && (!type || strcasecmp(type, "Bearer") != 0))
		return error_set(e, -EINVAL, NULL, "the token is of the type `%.64s`, not Bearer",
			type ? type : "");
	if (r >= 0)
		r = answer_seconds(map, "expires_in", &t->expires_in, e);
	if (r < 0)
		return r;
	if (strlen(scope) > OAUTH_TEXT_MAX)
		return error_set(e, -EINVAL, NULL, "`scope` of the answer is too long");
	if (!oauth_answer_is_for(access, resource))
		return error_set(e, -EINVAL, NULL,
			"the token is for another resource than %s: it would be good there, in the "
			"hands of this server",
			resource);
	return answer_keep(t, access, refresh, *scope ? scope : NULL, e);
}

int oauth_answer_tokens(struct oauth_tokens *ret, enum oauth_refusal *ret_why, unsigned status,
	const char *body, size_t len, const char *resource, struct error *e)
{
	struct oauth_tokens t = { 0 };
	auto_answer d = { 0 };
	int r = answer_read(&d, body, len, e);

	*ret_why = OAUTH_REFUSED;
	if (r < 0)
		return status == 200 || r == -ENOMEM
			       ? r
			       : error_set(e, 1, NULL,
					 "no token: the authorization server answers with status "
					 "%u, and with no reason",
					 status);
	if (status != 200)
		return answer_refused(d.root, status, "no token", ret_why, e);
	r = answer_take(&t, d.root, resource, e);
	if (r == 0)
		*ret = t;
	return r;
}

/* Devices */

/* What is typed or read out: letters, digits and dashes. */
static bool answer_is_code(const char *text)
{
	for (; *text; text++)
		if (!ascii_is_alnum(*text) && *text != '-' && *text != ' ')
			return false;
	return true;
}

static int answer_page(const struct node *map, const char *key, const struct oauth_server *server,
	const char **ret, struct error *e)
{
	struct oauth_place from, page;
	int r = answer_text(map, key, OAUTH_URL_MAX, ret, e);

	if (r <= 0)
		return r;
	r = oauth_place_read(&from, server->issuer, "the issuer", e);
	if (r == 0)
		r = oauth_place_read(&page, *ret, key, e);
	if (r == 0 && !oauth_place_may_lead(&from, &page))
		r = error_set(
			e, -EINVAL, NULL, "the page `%.200s` is not one of this server", *ret);
	return r < 0 ? r : 1;
}

int oauth_answer_device(struct oauth_device *ret, const struct oauth_server *server,
	unsigned status, const char *body, size_t len, struct arena *a, struct error *e)
{
	struct oauth_device x = { .expires_in = 600, .interval = 5 };
	enum oauth_refusal why;
	auto_answer d = { 0 };
	const struct node *user;
	int r = answer_read(&d, body, len, e);

	if (r < 0)
		return r;
	if (status != 200) {
		(void)answer_refused(d.root, status, "no code for a device", &why, e);
		return -EINVAL;
	}
	user = node_get(d.root, "user_code");
	r = answer_text(d.root, "device_code", OAUTH_CODE_MAX, &x.code, e);
	if (r > 0)
		r = answer_page(d.root, "verification_uri", server, &x.page, e);
	if (r == 0 || (r > 0 && (!user || user->type != NODE_STRING || !*user->text ||
					strlen(user->text) > 64 || !answer_is_code(user->text))))
		return error_set(e, -EINVAL, NULL,
			"the answer for a device has no device_code, verification_uri, or "
			"user_code of letters and digits");
	if (r > 0)
		r = answer_page(d.root, "verification_uri_complete", server, &x.whole_page, e);
	if (r >= 0)
		r = answer_seconds(d.root, "expires_in", &x.expires_in, e);
	if (r >= 0)
		r = answer_seconds(d.root, "interval", &x.interval, e);
	if (r < 0)
		return r;
	x.code = arena_strdup(a, x.code);
	x.user_code = arena_strdup(a, user->text);
	x.page = arena_strdup(a, x.page);
	x.whole_page = x.whole_page ? arena_strdup(a, x.whole_page) : NULL;
	if (!x.code || !x.user_code || !x.page)
		return error_no_memory(e);
	*ret = x;
	return 0;
}

/* Registration */

/* The method that the server has chosen (RFC 7591, 3.2.1), if it says one that it has. */
static void answer_method(const struct node *map, unsigned *methods)
{
	const unsigned chosen = oauth_method_read(node_get_text(map, "token_endpoint_auth_method"));

	if (chosen & *methods)
		*methods = chosen;
}

int oauth_answer_client(const char **ret_id, const char **ret_secret, unsigned *methods,
	const char *redirect, unsigned status, const char *body, size_t len, struct arena *a,
	struct error *e)
{
	const char *id = NULL, *secret = NULL;
	enum oauth_refusal why;
	auto_answer d = { 0 };
	const struct node *places;
	int r = answer_read(&d, body, len, e);

	if (r < 0)
		return r;
	if (status != 200 && status != 201) {
		(void)answer_refused(d.root, status, "the client was not registered", &why, e);
		return -EINVAL;
	}
	r = answer_text(d.root, "client_id", OAUTH_TEXT_MAX, &id, e);
	if (r == 0)
		return error_set(e, -EINVAL, NULL, "the registration has no `client_id`");
	if (r > 0)
		r = answer_text(d.root, "client_secret", OAUTH_TEXT_MAX, &secret, e);
	if (r < 0)
		return r;
	places = node_get(d.root, "redirect_uris");
	for (const struct node *n = redirect && places ? places->first : NULL; n; n = n->next)
		if (n->type != NODE_STRING || strcmp(n->text, redirect) != 0)
			return error_set(e, -EINVAL, NULL,
				"the registration has another place for the call-back (`%.200s`)",
				n->text ? n->text : "");
	answer_method(d.root, methods);
	/* A secret that the token endpoint takes by no method is of no use. */
	if (*methods == OAUTH_BY_NONE)
		secret = NULL;
	*ret_id = arena_strdup(a, id);
	*ret_secret = secret ? arena_strdup(a, secret) : NULL;
	return *ret_id && (*ret_secret || !secret) ? 0 : error_no_memory(e);
}

/* Call-backs */

struct answer_query {
	const char *code, *state, *iss, *error, *description;
	bool has_token;
};

static const char *answer_decode(const char *text, size_t len, struct arena *a)
{
	char *out = arena_strndup(a, text, len);
	size_t n = 0;

	for (size_t i = 0; out && i < len; i++) {
		const int byte = encoding_percent_byte(text + i, len - i);

		if (byte == 0)
			return NULL;
		if (byte > 0)
			out[n++] = (char)byte;
		else
			out[n++] = text[i];
		if (byte < 0 && text[i] == '+')
			out[n - 1] = ' ';
		i += byte > 0 ? 2 : 0;
	}
	if (out)
		out[n] = '\0';
	return out;
}

/* -EINVAL: a name that counts stands there twice. */
static int answer_query_put(struct answer_query *q, const char *name, const char *value)
{
	static const char *const tokens[] = { "access_token", "refresh_token", "id_token" };
	const struct {
		const char *name;
		const char **place;
	} rows[] = { { "code", &q->code }, { "state", &q->state }, { "iss", &q->iss },
		{ "error", &q->error }, { "error_description", &q->description } };

	for (size_t i = 0; i < ROWS(tokens); i++)
		q->has_token = q->has_token || strcasecmp(name, tokens[i]) == 0;
	for (size_t i = 0; i < ROWS(rows); i++) {
		if (strcmp(rows[i].name, name) != 0)
			continue;
		if (*rows[i].place)
			return -EINVAL;
		*rows[i].place = value;
	}
	return 0;
}

static int answer_query_read(struct answer_query *q, const char *query, struct arena *a)
{
	unsigned n = 0;

	while (*query) {
		const size_t len = strcspn(query, "&"), name = strcspn(query, "=&");
		const char *key, *value;

		if (n++ == ANSWER_FIELDS_MAX || len > OAUTH_CODE_MAX + 64)
			return -EINVAL;
		key = answer_decode(query, name, a);
		value = name < len ? answer_decode(query + name + 1, len - name - 1, a) : "";
		if (!key || !value || answer_query_put(q, key, value) < 0)
			return -EINVAL;
		query += len + (query[len] == '&');
	}
	return 0;
}

/* Of this login: it is what we sent, which no page knows. */
static bool answer_is_ours(const struct answer_query *q, const char *state)
{
	const size_t len = strlen(state);

	return q->state && len > 0 && strlen(q->state) == len &&
	       sodium_memcmp(q->state, state, len) == 0;
}

int oauth_answer_callback(const char **ret_code, const char *query, const char *state,
	const struct oauth_server *server, struct arena *a, struct error *e)
{
	struct answer_query q = { 0 };
	int r = answer_query_read(&q, query, a);

	if (r < 0 || !answer_is_ours(&q, state))
		return error_set(e, -EACCES, NULL, "the call-back is of another login");
	if (q.iss ? strcmp(q.iss, server->issuer) != 0 : server->says_issuer)
		return error_set(e, -EINVAL, NULL,
			"the call-back is of the issuer `%.200s`, and the login began at %s: one "
			"server was mixed up with another, so the code was not used",
			q.iss ? q.iss : "", server->issuer);
	if (q.has_token)
		return error_set(e, -EINVAL, NULL,
			"the call-back has a token in its address, which is refused");
	if (q.error)
		return error_set(e, -ECANCELED, NULL, "the authorization server says %.64s%s%.200s",
			q.error, q.description ? ": " : "", q.description ? q.description : "");
	if (!q.code || !*q.code || strlen(q.code) > OAUTH_CODE_MAX || !answer_is_visible(q.code))
		return error_set(e, -EINVAL, NULL, "the call-back has no code");
	*ret_code = q.code;
	return 0;
}
