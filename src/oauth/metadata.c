/* SPDX-License-Identifier: Apache-2.0 */
#include "oauth/metadata.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "oauth/place.h"

static int metadata_parse(
	struct document *d, const char *what, const char *body, size_t len, struct error *e)
{
	struct error why = { 0 };
	int r = len > OAUTH_ANSWER_MAX ? -E2BIG : json_read(d, NULL, body, len, &why);

	if (r == -ENOMEM)
		return error_no_memory(e);
	if (r == -E2BIG)
		return error_set(e, -EINVAL, NULL, "%s is too large", what);
	if (r < 0 || d->root->type != NODE_MAP)
		return error_set(e, -EINVAL, NULL, "%s is no JSON object: %s", what,
			r < 0 ? why.text : "it is something else");
	return 0;
}

/* A text of bounded length; NULL is not there. *ret lives in the document. */
static int metadata_text(const struct node *map, const char *key, const char **ret, struct error *e)
{
	const struct node *n = node_get(map, key);

	*ret = NULL;
	if (!n || n->type == NODE_NULL)
		return 0;
	if (n->type != NODE_STRING || strlen(n->text) > OAUTH_TEXT_MAX)
		return error_set(e, -EINVAL, NULL, "`%s` is no text, or too long", key);
	*ret = n->text;
	return 0;
}

static bool metadata_has(const struct node *list, const char *word)
{
	for (const struct node *n = list && list->type == NODE_LIST ? list->first : NULL; n;
		n = n->next)
		if (n->type == NODE_STRING && strcmp(n->text, word) == 0)
			return true;
	return false;
}

/* Resources */

bool oauth_resource_covers(const char *resource, const char *url)
{
	struct oauth_place of, at;
	size_t len;

	if (oauth_place_read(&of, resource, "", NULL) < 0 ||
		oauth_place_read(&at, url, "", NULL) < 0 || !oauth_place_is_same(&of, &at))
		return false;
	len = strlen(of.path);
	while (len > 0 && of.path[len - 1] == '/')
		len--;
	if (memchr(of.path, '?', len))
		return strcmp(of.path, at.path) == 0;
	return strncmp(of.path, at.path, len) == 0 &&
	       (at.path[len] == '\0' || at.path[len] == '/' || at.path[len] == '?');
}

static int metadata_servers(struct oauth_resource *r, const struct node *list,
	const struct oauth_place *from, struct arena *a, struct error *e)
{
	for (const struct node *n = list && list->type == NODE_LIST ? list->first : NULL; n;
		n = n->next) {
		struct oauth_place to;
		int error;

		if (n->type != NODE_STRING || r->n == OAUTH_SERVERS_MAX)
			return error_set(e, -EINVAL, NULL,
				"the server names more than %d authorization servers, or something "
				"that is none",
				OAUTH_SERVERS_MAX);
		error = oauth_place_read(&to, n->text, "the authorization server", e);
		if (error < 0)
			return error;
		if (!oauth_place_may_lead(from, &to))
			return error_set(e, -EINVAL, NULL,
				"the server leads to the authorization server %s, an address or a "
				"connection without TLS that it may not lead to",
				n->text);
		r->servers[r->n] = arena_strdup(a, n->text);
		if (!r->servers[r->n++])
			return error_no_memory(e);
	}
	return r->n > 0 ? 0
			: error_set(e, -EINVAL, NULL,
				  "the server names no authorization server "
				  "(authorization_servers)");
}

static int metadata_scopes(
	struct oauth_resource *r, const struct node *list, struct arena *a, struct error *e)
{
	auto_buffer text = { 0 };

	for (const struct node *n = list && list->type == NODE_LIST ? list->first : NULL; n;
		n = n->next) {
		if (n->type != NODE_STRING || text.len + strlen(n->text) > OAUTH_TEXT_MAX)
			return error_set(
				e, -EINVAL, NULL, "`scopes_supported` is no list of words");
		buffer_printf(&text, "%s%s", text.len ? " " : "", n->text);
	}
	if (text.len > 0)
		r->scope = arena_strdup(a, buffer_text(&text));
	return text.failed || (text.len > 0 && !r->scope) ? error_no_memory(e) : 0;
}

int oauth_resource_read(struct oauth_resource *ret, const char *url, const char *body, size_t len,
	struct arena *a, struct error *e)
{
	struct oauth_resource x = { 0 };
	auto_document d = { 0 };
	struct oauth_place from;
	const char *resource = NULL;
	int r = oauth_place_read(&from, url, "the server", e);

	if (r == 0)
		r = metadata_parse(&d, "the server's description of itself", body, len, e);
	if (r == 0)
		r = metadata_text(d.root, "resource", &resource, e);
	if (r < 0)
		return r;
	if (!resource || !oauth_resource_covers(resource, url))
		return error_set(e, -EINVAL, NULL,
			"the server's description is of another resource (`%.200s`), so a token "
			"for "
			"it would be one for others",
			resource ? resource : "");
	x.resource = arena_strdup(a, resource);
	if (!x.resource)
		return error_no_memory(e);
	r = metadata_servers(&x, node_get(d.root, "authorization_servers"), &from, a, e);
	if (r == 0)
		r = metadata_scopes(&x, node_get(d.root, "scopes_supported"), a, e);
	if (r == 0)
		*ret = x;
	return r;
}

/* Authorization servers */

static int metadata_endpoint(const struct node *map, const char *key,
	const struct oauth_place *issuer, const char **ret, struct arena *a, struct error *e)
{
	struct oauth_place p;
	const char *text;
	int r = metadata_text(map, key, &text, e);

	if (r < 0 || !text)
		return r;
	r = oauth_place_read(&p, text, key, e);
	if (r < 0)
		return r;
	if (!oauth_place_may_lead(issuer, &p))
		return error_set(e, -EINVAL, NULL,
			"%s `%.200s` is an address, or has no TLS, which this authorization server "
			"may not lead to",
			key, text);
	*ret = arena_strdup(a, text);
	return *ret ? 0 : error_no_memory(e);
}

static int metadata_endpoints(struct oauth_server *x, const struct node *map,
	const struct oauth_place *issuer, struct arena *a, struct error *e)
{
	const struct {
		const char *key;
		const char **place;
	} rows[] = { { "token_endpoint", &x->token },
		{ "authorization_endpoint", &x->authorization },
		{ "device_authorization_endpoint", &x->device },
		{ "registration_endpoint", &x->registration },
		{ "revocation_endpoint", &x->revocation } };
	int r = 0;

	for (size_t i = 0; r == 0 && i < ROWS(rows); i++)
		r = metadata_endpoint(map, rows[i].key, issuer, rows[i].place, a, e);
	if (r == 0 && !x->token)
		return error_set(
			e, -EINVAL, NULL, "the authorization server has no token_endpoint");
	return r;
}

static const struct {
	const char *name;
	enum oauth_client_method bit;
} metadata_method_names[] = { { "none", OAUTH_BY_NONE }, { "client_secret_basic", OAUTH_BY_BASIC },
	{ "client_secret_post", OAUTH_BY_POST } };

unsigned oauth_method_read(const char *name)
{
	for (size_t i = 0; i < ROWS(metadata_method_names); i++)
		if (strcmp(metadata_method_names[i].name, name) == 0)
			return metadata_method_names[i].bit;
	return 0;
}

const char *oauth_method_name(unsigned method)
{
	for (size_t i = 0; i < ROWS(metadata_method_names); i++)
		if (metadata_method_names[i].bit == method)
			return metadata_method_names[i].name;
	return "";
}

static unsigned metadata_methods(const struct node *map)
{
	const struct node *list = node_get(map, "token_endpoint_auth_methods_supported");
	unsigned methods = 0;

	/* RFC 8414: if it is omitted. */
	if (!list)
		return OAUTH_BY_NONE | OAUTH_BY_BASIC;
	for (const struct node *n = list->type == NODE_LIST ? list->first : NULL; n; n = n->next)
		methods |= n->type == NODE_STRING ? oauth_method_read(n->text) : 0;
	return methods;
}

int oauth_server_read(struct oauth_server *ret, const char *issuer, const char *body, size_t len,
	struct arena *a, struct error *e)
{
	struct oauth_server x = { 0 };
	auto_document d = { 0 };
	struct oauth_place place;
	const char *said = NULL;
	int r = oauth_place_read(&place, issuer, "the issuer", e);

	if (r == 0)
		r = metadata_parse(&d, "the authorization server's description", body, len, e);
	if (r == 0)
		r = metadata_text(d.root, "issuer", &said, e);
	if (r < 0)
		return r;
	if (!said || strcmp(said, issuer) != 0)
		return error_set(e, -EINVAL, NULL,
			"the authorization server %s describes another issuer (`%.200s`)", issuer,
			said ? said : "");
	x.issuer = arena_strdup(a, issuer);
	if (!x.issuer)
		return error_no_memory(e);
	r = metadata_endpoints(&x, d.root, &place, a, e);
	if (r < 0)
		return r;
	x.methods = metadata_methods(d.root);
	x.has_s256 = metadata_has(node_get(d.root, "code_challenge_methods_supported"), "S256");
	x.has_offline = metadata_has(node_get(d.root, "scopes_supported"), "offline_access");
	(void)node_boolean(
		node_get(d.root, "client_id_metadata_document_supported"), &x.has_document);
	(void)node_boolean(
		node_get(d.root, "authorization_response_iss_parameter_supported"), &x.says_issuer);
	*ret = x;
	return 0;
}
