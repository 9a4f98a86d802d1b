/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules of stored policies: each call is a use of `corral policy rules`, which reads the rule from
 * its standard input and checks it with its policy. What was done is a record of the log.
 */
#include <string.h>

#include "base/arena.h"
#include "base/array.h"
#include "codec/json-writer.h"
#include "daemon/api/api.h"
#include "daemon/api/tool.h"
#include "daemon/supervisor/supervisor.h"

enum { API_RULE_WORDS = 8 };

/* The values of the body that are keys of a rule, as one object. */
static void api_rule_print(struct buffer *out, const struct route_call *c)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	for (size_t i = 0; c->route->fields[i].name; i++) {
		const struct schema_field *f = &c->route->fields[i];
		const char *value = c->values[i];

		if (f->place != ROUTE_IN_BODY || !value || strcmp(f->name, "etag") == 0 ||
			strcmp(f->name, "policy") == 0)
			continue;
		if (f->type == SCHEMA_TEXT || f->type == SCHEMA_CHOICE)
			json_put_text(&w, f->name, value);
		else
			json_put_raw(&w, f->name, value);
	}
	json_close(&w);
}

/* {"policy": "custom/team", "rule": …, "state": "added"}; of one that is there, its whole id. */
static void api_rule_print_record(struct buffer *out, const struct route_call *c, const char *state)
{
	const char *policy = route_value(c, "policy");
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	if (policy)
		json_put_text(&w, "policy", policy);
	json_put_text(&w, "rule", route_value(c, "id"));
	json_put_text(&w, "state", state);
	json_close(&w);
}

/* option: NULL, or the one with the id in the path. */
static void api_rule_tool(struct supervisor *s, uint64_t id, const struct route_call *c,
	const char *option, const char *state)
{
	const char *argv[API_RULE_WORDS + 1] = { "policy", "rules", "--json" };
	const char *const optional[] = { "policy", "etag" };
	auto_buffer input = { 0 }, record = { 0 };
	auto_arena a = { 0 };
	size_t n = 3;

	if (s->is_system)
		argv[n++] = "--system";
	if (option)
		argv[n++] = tool_option(&a, option, route_value(c, "id"));
	else if (state)
		argv[n++] = "--add";
	for (size_t i = 0; i < ROWS(optional); i++)
		if (route_value(c, optional[i]))
			argv[n++] = tool_option(&a, optional[i], route_value(c, optional[i]));
	if (route_takes_body(c->route)) {
		argv[n++] = "-";
		api_rule_print(&input, c);
	}
	if (state)
		api_rule_print_record(&record, c, state);
	if (input.failed || record.failed)
		api_fail(s, id, 503, "out of memory");
	else
		tool_start(s, c,
			&(struct tool_request){ .argv = argv,
				.input = input.len ? buffer_text(&input) : NULL,
				.refuses = true,
				.record = state ? buffer_text(&record) : NULL,
				.id = id });
}

void api_rules(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, NULL, NULL);
}

void api_rule(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, "rule", NULL);
}

void api_rule_add(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, NULL, "added");
}

void api_rule_put(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, "replace", "replaced");
}

void api_rule_change(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, "change", "changed");
}

void api_rule_remove(struct supervisor *s, uint64_t id, const struct route_call *c)
{
	api_rule_tool(s, id, c, "remove", "removed");
}
