/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link/discovery.h"

#include <corral/policy.h>
#include <errno.h>
#include <string.h>

#include "codec/json-writer.h"
#include "oauth/answer.h"
#include "oauth/challenge.h"
#include "oauth/place.h"

static int discovery_get(
	struct requests *r, const char *url, struct request_answer *ret, struct error *e)
{
	return request_make(r, &(const struct request_of){ .method = "GET", .url = url }, ret, e);
}

/* The resource */

/* What a 401 names is a page of the server itself. */
static int discovery_check_metadata(const char *url, const char *metadata, struct error *e)
{
	struct oauth_place server, page;
	int r = oauth_place_read(&server, url, "the server", e);

	if (r == 0)
		r = oauth_place_read(&page, metadata, "resource_metadata", e);
	if (r == 0 && !oauth_place_is_same(&server, &page))
		r = error_set(e, -EACCES, NULL,
			"the server says that it is described at another origin (%.200s)",
			metadata);
	return r;
}

/* 1: it is not there. */
static int discovery_read_resource(struct requests *r, const char *url, const char *place,
	struct arena *a, struct oauth_resource *ret, struct error *e)
{
	auto_request_answer answer = { 0 };
	int code = discovery_get(r, place, &answer, e);

	if (code < 0)
		return code;
	if (answer.status != 200)
		return 1;
	return oauth_resource_read(ret, url, buffer_text(&answer.body), answer.body.len, a, e);
}

/* A server of before RFC 9728: it gives its tokens itself. */
static int discovery_assume(
	const char *url, struct arena *a, struct oauth_resource *ret, struct error *e)
{
	auto_buffer origin = { 0 };
	struct oauth_place p;
	int r = oauth_place_read(&p, url, "the server", e);

	if (r < 0)
		return r;
	oauth_place_print(&p, &origin);
	ret->resource = arena_strdup(a, url);
	ret->servers[0] = arena_strdup(a, buffer_text(&origin));
	ret->n = 1;
	return ret->resource && ret->servers[0] ? 0 : error_no_memory(e);
}

#define DISCOVERY_META "io.modelcontextprotocol/"

static int discovery_print_call(struct buffer *out)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_count(&w, "id", 1);
	json_put_text(&w, "method", "tools/list");
	json_open_map(&w, "params");
	json_open_map(&w, "_meta");
	json_put_text(&w, DISCOVERY_META "protocolVersion", REQUEST_MCP_VERSION);
	json_open_map(&w, DISCOVERY_META "clientInfo");
	json_put_text(&w, "name", "corral");
	json_put_text(&w, "version", corral_version());
	json_close(&w);
	json_open_map(&w, DISCOVERY_META "clientCapabilities");
	return json_end(&w);
}

/* A server of MCP may want a token for its calls alone, which no GET is. */
static void discovery_call(struct requests *r, const char *url, struct request_answer *ret)
{
	struct error ignored = { 0 };
	auto_buffer body = { 0 };

	if (discovery_print_call(&body) == 0)
		(void)request_make(r,
			&(const struct request_of){ .method = "POST",
				.url = url,
				.type = "application/json",
				.body = &body,
				.mcp = "tools/list" },
			ret, &ignored);
}

/* What the server says to one who has no token. It need not say anything: none is an error. */
static int discovery_challenge(struct requests *r, const char *url, struct arena *a,
	struct oauth_challenge *ret, struct error *e)
{
	auto_request_answer answer = { 0 };
	int code = discovery_get(r, url, &answer, e);

	if (code == 0 && answer.status != 401) {
		request_answer_deinit(&answer);
		discovery_call(r, url, &answer);
	}
	return code == 0 && answer.status == 401 ? oauth_challenge_read(ret, answer.challenge, a, e)
						 : code;
}

static int discovery_resource(struct requests *r, const char *url, struct arena *a,
	struct discovery *ret, struct error *e)
{
	struct oauth_challenge challenge = { 0 };
	int code = discovery_challenge(r, url, a, &challenge, e);

	if (code < 0)
		return code;
	ret->scope = challenge.scope;
	if (challenge.metadata) {
		code = discovery_check_metadata(url, challenge.metadata, e);
		if (code == 0)
			code = discovery_read_resource(
				r, url, challenge.metadata, a, &ret->resource, e);
		return code <= 0 ? code
				 : error_set(e, -EPROTO, NULL, "there is nothing at %.200s",
					   challenge.metadata);
	}
	for (unsigned n = 0;; n++) {
		auto_buffer place = { 0 };

		if (oauth_place_of_resource(url, n, &place) == 1)
			return discovery_assume(url, a, &ret->resource, e);
		code = discovery_read_resource(r, url, buffer_text(&place), a, &ret->resource, e);
		if (code <= 0)
			return code;
	}
}

/* The authorization server */

static int discovery_choose(
	const struct oauth_resource *of, const char *issuer, const char **ret, struct error *e)
{
	for (size_t i = 0; i < of->n; i++)
		if (!issuer || strcmp(of->servers[i], issuer) == 0) {
			*ret = of->servers[i];
			return 0;
		}
	(void)error_set(e, -EINVAL, NULL, "the server takes no tokens of %.200s", issuer);
	error_hint(e, "it names %.200s", of->servers[0]);
	return -EINVAL;
}

static int discovery_server(struct requests *r, const char *issuer, struct arena *a,
	struct oauth_server *ret, struct error *e)
{
	for (unsigned n = 0;; n++) {
		auto_request_answer answer = { 0 };
		auto_buffer place = { 0 };
		int code;

		if (oauth_place_of_server(issuer, n, &place) == 1)
			break;
		code = discovery_get(r, buffer_text(&place), &answer, e);
		if (code < 0)
			return code;
		if (answer.status == 200)
			return oauth_server_read(
				ret, issuer, buffer_text(&answer.body), answer.body.len, a, e);
	}
	(void)error_set(e, -EOPNOTSUPP, NULL,
		"%.200s does not describe itself as an authorization server", issuer);
	error_hint(e, "the server at this URL may need no login, or another kind of one");
	return -EOPNOTSUPP;
}

int discovery_run(struct requests *r, const char *url, const char *issuer, struct arena *a,
	struct discovery *ret, struct error *e)
{
	struct discovery d = { 0 };
	const char *chosen = NULL;
	int code = discovery_resource(r, url, a, &d, e);

	if (code == 0)
		code = discovery_choose(&d.resource, issuer, &chosen, e);
	if (code == 0)
		code = discovery_server(r, chosen, a, &d.server, e);
	if (code == 0)
		*ret = d;
	return code;
}

/* The client */

static int discovery_register_new(struct requests *r, const struct oauth_server *server,
	const struct discovery_client *of, struct arena *a, struct oauth_client *ret,
	unsigned *methods, struct error *e)
{
	auto_request_answer answer = { 0 };
	auto_buffer body = { 0 };
	int code;

	if (!server->registration) {
		(void)error_set(e, -EOPNOTSUPP, NULL,
			"%s registers no clients by itself, so it needs one that you have",
			server->issuer);
		error_hint(e,
			"register one there for the call-back http://127.0.0.1:8765/callback, "
			"and give --client-id ID, with --client-secret if it has one");
		return -EOPNOTSUPP;
	}
	code = oauth_request_registration(of->redirect, of->scope, server->methods, &body);
	if (code < 0)
		return error_no_memory(e);
	code = request_make(r,
		&(const struct request_of){ .method = "POST",
			.url = server->registration,
			.type = "application/json",
			.body = &body },
		&answer, e);
	return code < 0 ? code
			: oauth_answer_client(&ret->id, &ret->secret, methods, of->redirect,
				  answer.status, buffer_text(&answer.body), answer.body.len, a, e);
}

int discovery_register(struct requests *r, const struct oauth_server *server,
	const struct discovery_client *of, struct arena *a, struct oauth_client *ret,
	struct error *e)
{
	struct oauth_client c = { .id = of->id, .secret = of->secret };
	unsigned methods = server->methods;
	int code = 0;

	if (!c.id && of->document) {
		if (!server->has_document)
			return error_set(e, -EOPNOTSUPP, NULL,
				"%s takes no client by its document "
				"(client_id_metadata_document_supported)",
				server->issuer);
		c.id = of->document;
	}
	if (!c.id)
		code = discovery_register_new(r, server, of, a, &c, &methods, e);
	if (code == 0)
		code = oauth_client_choose(&c, methods, e);
	if (code == 0)
		*ret = c;
	return code;
}
