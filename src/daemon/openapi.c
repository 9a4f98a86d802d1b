/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/openapi.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json-writer.h"
#include "daemon/route.h"

static void openapi_parameters(struct json_writer *w, const struct route *r)
{
	json_open_list(w, "parameters");
	for (const struct schema_field *f = r->fields; f->name; f++) {
		if (f->place == ROUTE_IN_BODY)
			continue;
		json_open_map(w, NULL);
		json_put_text(w, "name", f->name);
		json_put_text(w, "in", f->place == ROUTE_IN_PATH ? "path" : "query");
		json_put_flag(w, "required", f->required);
		schema_print_json(f, w, "schema");
		json_put_text(w, "description", f->help);
		json_close(w);
	}
	if (r->is_stream)
		json_put_raw(w, NULL,
			"{\"name\":\"Last-Event-ID\",\"in\":\"header\",\"required\":false,"
			"\"schema\":{\"type\":\"integer\",\"minimum\":0}}");
	json_close(w);
}

static void openapi_body(struct json_writer *w, const struct route *r)
{
	json_open_map(w, "requestBody");
	json_put_flag(w, "required", route_needs_body(r));
	json_open_map(w, "content");
	json_open_map(w, "application/json");
	json_open_map(w, "schema");
	json_put_text(w, "type", "object");
	json_put_flag(w, "additionalProperties", false);
	json_open_map(w, "properties");
	for (const struct schema_field *f = r->fields; f->name; f++)
		if (f->place == ROUTE_IN_BODY)
			schema_print_json(f, w, f->name);
	json_close(w);
	json_open_list(w, "required");
	for (const struct schema_field *f = r->fields; f->name; f++)
		if (f->place == ROUTE_IN_BODY && f->required)
			json_put_text(w, NULL, f->name);
	for (int i = 0; i < 5; i++)
		json_close(w);
}

static void openapi_responses(struct json_writer *w, const struct route *r)
{
	static const struct {
		const char *status, *about;
	} refusals[] = {
		{ "400", "the request cannot be understood, or a parameter is not allowed" },
		{ "401", "the token is missing, or wrong" },
		{ "403",
			"the Host or Origin header names another server, or the policy denies it" },
		{ "404", "there is no such object" },
		{ "405", "the path does not have this method" },
		{ "409", "the object is in another state" },
		{ "411", "the body needs a Content-Length" },
		{ "413", "the body, or the answer, is too large" },
		{ "415", "the Content-Type must be application/json" },
		{ "422", "the policy, or the rule, has a mistake; the skill cannot be read" },
		{ "429", "too many requests are under way" },
		{ "431", "the head is too large" },
		{ "500", "the daemon could not do it" },
		{ "503", "the daemon is starting, or has no room" },
		{ "504", "it took too long" },
		{ "507", "a disk is full: nothing was changed" },
	};

	json_open_map(w, "responses");
	json_open_map(w, "200");
	json_put_text(w, "description", "the answer");
	json_open_map(w, "content");
	json_put_raw(w,
		r->is_stream ? "text/event-stream"
		: r->is_text ? "text/plain"
			     : "application/json",
		"{\"schema\":{}}");
	json_close(w);
	json_close(w);
	for (size_t i = 0; i < ROWS(refusals); i++) {
		json_open_map(w, refusals[i].status);
		json_put_text(w, "description", refusals[i].about);
		if (strcmp(refusals[i].status, "429") == 0)
			json_put_raw(w, "headers",
				"{\"Retry-After\":{\"description\":\"seconds\","
				"\"schema\":{\"type\":\"integer\"}}}");
		json_put_raw(w, "content",
			"{\"application/json\":{\"schema\":{\"$ref\":"
			"\"#/components/schemas/Error\"}}}");
		json_close(w);
	}
	json_close(w);
}

static void openapi_route(struct json_writer *w, const struct route *r)
{
	static const char *const methods[][2] = { { "GET", "get" }, { "POST", "post" },
		{ "PUT", "put" }, { "PATCH", "patch" }, { "DELETE", "delete" } };

	for (size_t i = 0; i < ROWS(methods); i++)
		if (strcmp(methods[i][0], r->method) == 0)
			json_open_map(w, methods[i][1]);
	json_put_text(w, "summary", r->summary);
	openapi_parameters(w, r);
	if (route_takes_body(r))
		openapi_body(w, r);
	openapi_responses(w, r);
	if (r->is_open)
		json_put_raw(w, "security", "[]");
	json_close(w);
}

/* Whether an earlier row has the same path: it was printed with that one. */
static bool openapi_is_told(size_t i)
{
	for (size_t k = 0; k < i; k++)
		if (strcmp(routes[k].path, routes[i].path) == 0)
			return true;
	return false;
}

void openapi_print(struct buffer *out, const char *version)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, "openapi", "3.1.0");
	json_open_map(&w, "info");
	json_put_text(&w, "title", "corrald");
	json_put_text(&w, "version", version);
	json_close(&w);
	json_put_raw(&w, "security", "[{\"token\":[]}]");
	json_open_map(&w, "paths");
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		if (openapi_is_told(i))
			continue;
		json_open_map(&w, routes[i].path);
		for (size_t k = i; k < ROUTE_COUNT; k++)
			if (strcmp(routes[k].path, routes[i].path) == 0)
				openapi_route(&w, &routes[k]);
		json_close(&w);
	}
	json_close(&w);
	json_put_raw(&w, "components",
		"{\"securitySchemes\":{\"token\":{\"type\":\"http\","
		"\"scheme\":\"bearer\"}},\"schemas\":{\"Error\":{\"type\":\"object\","
		"\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"string\"},"
		"\"hint\":{\"type\":[\"string\",\"null\"]},"
		"\"file\":{\"type\":[\"string\",\"null\"]},"
		"\"line\":{\"type\":[\"integer\",\"null\"]},"
		"\"column\":{\"type\":[\"integer\",\"null\"]}}}}}");
	json_end_line(&w);
}
