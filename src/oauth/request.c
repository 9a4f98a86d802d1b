/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/request.h"

#include <errno.h>
#include <sodium.h>
#include <string.h>

#include "codec/encoding.h"
#include "codec/json-writer.h"

#define DEVICE_GRANT "urn:ietf:params:oauth:grant-type:device_code"

int oauth_client_choose(struct oauth_client *c, unsigned methods, struct error *e)
{
	/* A client without a secret has nothing to show, whatever the list says. */
	c->method = !c->secret                 ? OAUTH_BY_NONE
		    : methods & OAUTH_BY_BASIC ? OAUTH_BY_BASIC
		    : methods & OAUTH_BY_POST  ? OAUTH_BY_POST
					       : 0;
	return c->method
		       ? 0
		       : error_set(e, -EOPNOTSUPP, NULL,
				 "the authorization server takes no client secret (it has neither "
				 "client_secret_basic nor client_secret_post)");
}

void oauth_request_word(const uint8_t random[OAUTH_RANDOM_BYTES], char ret[OAUTH_WORD_BYTES])
{
	(void)sodium_bin2base64(ret, OAUTH_WORD_BYTES, random, OAUTH_RANDOM_BYTES,
		sodium_base64_VARIANT_URLSAFE_NO_PADDING);
}

void oauth_request_challenge(const char *verifier, char ret[OAUTH_WORD_BYTES])
{
	uint8_t hash[crypto_hash_sha256_BYTES];

	_Static_assert(sizeof(hash) == OAUTH_RANDOM_BYTES, "a digest is as long as a word");
	(void)crypto_hash_sha256(hash, (const uint8_t *)verifier, strlen(verifier));
	oauth_request_word(hash, ret);
}

/* Forms */

static void form_add(struct buffer *out, const char *name, const char *value)
{
	if (!value)
		return;
	if (out->len > 0 && out->data[out->len - 1] != '?')
		buffer_addc(out, '&');
	buffer_printf(out, "%s=", name);
	encoding_percent(value, strlen(value), "-._~", out);
}

static void form_wipe(struct buffer *b)
{
	if (b->data)
		sodium_memzero(b->data, b->cap);
	buffer_deinit(b);
}

void oauth_form_deinit(struct oauth_form *f)
{
	form_wipe(&f->body);
	form_wipe(&f->authorization);
}

/* RFC 6749, 2.3.1: both are escaped as in a form before they are joined. */
static void form_add_client(struct oauth_form *f, const struct oauth_client *c)
{
	struct buffer both = { 0 };

	if (c->method != OAUTH_BY_BASIC)
		form_add(&f->body, "client_id", c->id);
	if (c->method == OAUTH_BY_POST)
		form_add(&f->body, "client_secret", c->secret);
	if (c->method != OAUTH_BY_BASIC)
		return;
	encoding_percent(c->id, strlen(c->id), "-._~", &both);
	buffer_addc(&both, ':');
	encoding_percent(c->secret, strlen(c->secret), "-._~", &both);
	buffer_adds(&f->authorization, "Basic ");
	encoding_print(ENCODING_BASE64, both.data, both.len, &f->authorization);
	f->authorization.failed = f->authorization.failed || both.failed;
	form_wipe(&both);
}

static int form_end(struct oauth_form *f)
{
	return f->body.failed || f->authorization.failed ? -ENOMEM : 0;
}

/* Requests */

int oauth_request_page(const struct oauth_login *l, struct buffer *out, struct error *e)
{
	const char *page = l->server->authorization;
	char challenge[OAUTH_WORD_BYTES];

	if (!page)
		return error_set(e, -EOPNOTSUPP, NULL,
			"the authorization server has no page for a login "
			"(authorization_endpoint)");
	if (!l->server->has_s256)
		return error_set(e, -EOPNOTSUPP, NULL,
			"the authorization server does not say that it has PKCE with S256, so a "
			"code could be stolen on its way");
	oauth_request_challenge(l->verifier, challenge);
	buffer_adds(out, page);
	if (!strchr(page, '?'))
		buffer_addc(out, '?');
	form_add(out, "response_type", "code");
	form_add(out, "client_id", l->client.id);
	form_add(out, "redirect_uri", l->redirect);
	form_add(out, "code_challenge", challenge);
	form_add(out, "code_challenge_method", "S256");
	form_add(out, "state", l->state);
	form_add(out, "resource", l->resource);
	form_add(out, "scope", l->scope);
	return out->failed ? error_no_memory(e) : 0;
}

int oauth_request_code(const struct oauth_login *l, const char *code, struct oauth_form *f)
{
	form_add(&f->body, "grant_type", "authorization_code");
	form_add(&f->body, "code", code);
	form_add(&f->body, "redirect_uri", l->redirect);
	form_add(&f->body, "code_verifier", l->verifier);
	form_add(&f->body, "resource", l->resource);
	form_add_client(f, &l->client);
	return form_end(f);
}

int oauth_request_device(const struct oauth_login *l, struct oauth_form *f)
{
	form_add(&f->body, "scope", l->scope);
	form_add(&f->body, "resource", l->resource);
	form_add_client(f, &l->client);
	return form_end(f);
}

int oauth_request_poll(const struct oauth_login *l, const char *device_code, struct oauth_form *f)
{
	form_add(&f->body, "grant_type", DEVICE_GRANT);
	form_add(&f->body, "device_code", device_code);
	form_add(&f->body, "resource", l->resource);
	form_add_client(f, &l->client);
	return form_end(f);
}

int oauth_request_refresh(
	const struct oauth_client *c, const char *token, const char *resource, struct oauth_form *f)
{
	form_add(&f->body, "grant_type", "refresh_token");
	form_add(&f->body, "refresh_token", token);
	form_add(&f->body, "resource", resource);
	form_add_client(f, c);
	return form_end(f);
}

int oauth_request_revocation(
	const struct oauth_client *c, const char *token, const char *hint, struct oauth_form *f)
{
	form_add(&f->body, "token", token);
	form_add(&f->body, "token_type_hint", hint);
	form_add_client(f, c);
	return form_end(f);
}

int oauth_request_registration(
	const char *redirect, const char *scope, unsigned methods, struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, "client_name", "Corral");
	json_put_text(&w, "application_type", "native");
	json_open_list(&w, "redirect_uris");
	if (redirect)
		json_put_text(&w, NULL, redirect);
	json_close(&w);
	json_open_list(&w, "grant_types");
	json_put_text(&w, NULL, redirect ? "authorization_code" : DEVICE_GRANT);
	json_put_text(&w, NULL, "refresh_token");
	json_close(&w);
	json_open_list(&w, "response_types");
	if (redirect)
		json_put_text(&w, NULL, "code");
	json_close(&w);
	json_put_text(&w, "token_endpoint_auth_method",
		methods & OAUTH_BY_NONE    ? "none"
		: methods & OAUTH_BY_BASIC ? "client_secret_basic"
					   : "client_secret_post");
	if (scope)
		json_put_text(&w, "scope", scope);
	json_close(&w);
	return json_end(&w);
}
