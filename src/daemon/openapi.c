/* SPDX-License-Identifier: Apache-2.0 */
#include "daemon/openapi.h"

#include <inttypes.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "codec/json.h"
#include "daemon/route.h"

static void openapi_text(struct buffer *out, const char *text)
{
	json_print_string(out, text, strlen(text));
}

static void openapi_schema(struct buffer *out, const struct route_field *f)
{
	switch (f->kind) {
	case ROUTE_TEXT:
		buffer_printf(out,
			"{\"type\":\"string\",\"minLength\":%d,\"maxLength\":%" PRIu64 "}",
			f->may_be_empty ? 0 : 1, f->max);
		break;
	case ROUTE_LIST:
		buffer_printf(out,
			"{\"type\":\"array\",\"maxItems\":%d,\"items\":{\"type\":\"string\"}}",
			ROUTE_ITEMS_MAX);
		break;
	case ROUTE_NUMBER:
		buffer_printf(out, "{\"type\":\"integer\",\"minimum\":0,\"maximum\":%" PRIu64 "}",
			f->max);
		break;
	case ROUTE_FLAG:
		buffer_adds(out, "{\"type\":\"boolean\"}");
		break;
	case ROUTE_WORD:
		buffer_adds(out, "{\"type\":\"string\",\"enum\":[");
		for (size_t i = 0; f->words[i]; i++) {
			buffer_adds(out, i ? "," : "");
			openapi_text(out, f->words[i]);
		}
		buffer_adds(out, "]}");
		break;
	}
}

static void openapi_parameters(struct buffer *out, const struct route *r)
{
	size_t n = 0;

	buffer_adds(out, ",\"parameters\":[");
	for (const struct route_field *f = r->fields; f->name; f++) {
		if (f->place == ROUTE_IN_BODY)
			continue;
		buffer_printf(out, "%s{\"name\":\"%s\",\"in\":\"%s\",\"required\":%s,\"schema\":",
			n++ ? "," : "", f->name, f->place == ROUTE_IN_PATH ? "path" : "query",
			f->required ? "true" : "false");
		openapi_schema(out, f);
		buffer_adds(out, ",\"description\":");
		openapi_text(out, f->about);
		buffer_addc(out, '}');
	}
	if (r->is_stream)
		buffer_printf(out,
			"%s{\"name\":\"Last-Event-ID\",\"in\":\"header\",\"required\":false,"
			"\"schema\":{\"type\":\"integer\",\"minimum\":0}}",
			n ? "," : "");
	buffer_addc(out, ']');
}

static void openapi_body(struct buffer *out, const struct route *r)
{
	size_t n = 0;

	buffer_printf(out,
		",\"requestBody\":{\"required\":%s,\"content\":{\"application/json\":{\"schema\":{"
		"\"type\":\"object\",\"additionalProperties\":false,\"properties\":{",
		route_needs_body(r) ? "true" : "false");
	for (const struct route_field *f = r->fields; f->name; f++) {
		if (f->place != ROUTE_IN_BODY)
			continue;
		buffer_printf(out, "%s\"%s\":", n++ ? "," : "", f->name);
		openapi_schema(out, f);
	}
	buffer_adds(out, "},\"required\":[");
	n = 0;
	for (const struct route_field *f = r->fields; f->name; f++)
		if (f->place == ROUTE_IN_BODY && f->required)
			buffer_printf(out, "%s\"%s\"", n++ ? "," : "", f->name);
	buffer_adds(out, "]}}}}");
}

static void openapi_responses(struct buffer *out, const struct route *r)
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

	buffer_printf(out,
		",\"responses\":{\"200\":{\"description\":\"the answer\",\"content\":{\"%s\":{"
		"\"schema\":{}}}}",
		r->is_stream ? "text/event-stream"
		: r->is_text ? "text/plain"
			     : "application/json");
	for (size_t i = 0; i < ROWS(refusals); i++) {
		buffer_printf(out, ",\"%s\":{\"description\":\"%s\"", refusals[i].status,
			refusals[i].about);
		if (strcmp(refusals[i].status, "429") == 0)
			buffer_adds(out,
				",\"headers\":{\"Retry-After\":{\"description\":\"seconds\","
				"\"schema\":{\"type\":\"integer\"}}}");
		buffer_adds(out, ",\"content\":{\"application/json\":{\"schema\":{\"$ref\":"
				 "\"#/components/schemas/Error\"}}}}");
	}
	buffer_addc(out, '}');
}

static void openapi_route(struct buffer *out, const struct route *r)
{
	static const char *const methods[][2] = { { "GET", "get" }, { "POST", "post" },
		{ "PUT", "put" }, { "PATCH", "patch" }, { "DELETE", "delete" } };

	for (size_t i = 0; i < ROWS(methods); i++)
		if (strcmp(methods[i][0], r->method) == 0)
			buffer_printf(out, "\"%s\":{\"summary\":", methods[i][1]);
	openapi_text(out, r->summary);
	openapi_parameters(out, r);
	if (route_takes_body(r))
		openapi_body(out, r);
	openapi_responses(out, r);
	if (r->is_open)
		buffer_adds(out, ",\"security\":[]");
	buffer_addc(out, '}');
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
	buffer_printf(out,
		"{\"openapi\":\"3.1.0\",\"info\":{\"title\":\"corrald\",\"version\":\"%s\"},"
		"\"security\":[{\"token\":[]}],\"paths\":{",
		version);
	for (size_t i = 0; i < ROUTE_COUNT; i++) {
		size_t n = 0;

		if (openapi_is_told(i))
			continue;
		buffer_printf(out, "%s\"%s\":{", i ? "," : "", routes[i].path);
		for (size_t k = i; k < ROUTE_COUNT; k++) {
			if (strcmp(routes[k].path, routes[i].path) != 0)
				continue;
			buffer_adds(out, n++ ? "," : "");
			openapi_route(out, &routes[k]);
		}
		buffer_addc(out, '}');
	}
	buffer_adds(out, "},\"components\":{\"securitySchemes\":{\"token\":{\"type\":\"http\","
			 "\"scheme\":\"bearer\"}},\"schemas\":{\"Error\":{\"type\":\"object\","
			 "\"required\":[\"error\"],\"properties\":{\"error\":{\"type\":\"string\"},"
			 "\"hint\":{\"type\":[\"string\",\"null\"]},"
			 "\"file\":{\"type\":[\"string\",\"null\"]},"
			 "\"line\":{\"type\":[\"integer\",\"null\"]},"
			 "\"column\":{\"type\":[\"integer\",\"null\"]}}}}}}\n");
}
