/* SPDX-License-Identifier: Apache-2.0 */
/* What the members of a gateway are: names, states, and what clients and people get to see. */
#include <stdio.h>
#include <string.h>

#include <sodium.h>

#include "base/array.h"
#include "base/hash.h"
#include "codec/json-writer.h"
#include "mcp/gateway/gateway.h"

#define SEPARATOR "__"

enum { LONG_DIGITS = 8 };

/* Names */

void gateway_name(const char *server, const char *tool, char ret[GATEWAY_TOOL_BYTES])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_-";
	const size_t head = strlen(server) + strlen(SEPARATOR), len = strlen(tool);
	const bool fits = tool[strspn(tool, plain)] == '\0' && head + len < GATEWAY_TOOL_BYTES;
	unsigned char hash[crypto_hash_sha256_BYTES];
	char digits[2 * LONG_DIGITS + 1];
	size_t at;

	at = (size_t)snprintf(ret, GATEWAY_TOOL_BYTES, "%s" SEPARATOR "%s", server, tool);
	if (fits)
		return;
	if (at > GATEWAY_TOOL_BYTES - 1 - LONG_DIGITS - 1)
		at = GATEWAY_TOOL_BYTES - 1 - LONG_DIGITS - 1;
	for (size_t i = head; i < at; i++)
		if (!strchr(plain, ret[i]))
			ret[i] = '_';
	(void)crypto_hash_sha256(hash, (const unsigned char *)tool, len);
	(void)encoding_hex(hash, LONG_DIGITS, digits);
	(void)snprintf(ret + at, GATEWAY_TOOL_BYTES - at, "_%.*s", LONG_DIGITS, digits);
}

/* What was approved of a kind, if it is of this command. */
static const struct node *gateway_pinned(const struct gateway_member *m, enum gateway_kind kind)
{
	return gateway_is_approved(m) && m->config->rules[kind].is_on ? pins_first(&m->pins, kind)
								      : NULL;
}

bool gateway_find(struct gateway *g, enum gateway_kind kind, const char *name,
	struct gateway_member **ret, const struct node **ret_pinned)
{
	const char *end = strstr(name, SEPARATOR);

	*ret_pinned = NULL;
	for (size_t i = 0; end && i < g->n; i++) {
		struct gateway_member *m = &g->members[i];
		const size_t len = (size_t)(end - name);

		if (strlen(m->config->name) != len || memcmp(m->config->name, name, len) != 0)
			continue;
		*ret = m;
		for (const struct node *t = gateway_pinned(m, kind); t; t = t->next) {
			char shown[GATEWAY_TOOL_BYTES];

			gateway_name(m->config->name, node_get_text(t, "name"), shown);
			if (strcmp(shown, name) != 0)
				continue;
			*ret_pinned = t;
			break;
		}
		return true;
	}
	return false;
}

/* States */

const struct node *gateway_first(const struct gateway_member *m, enum gateway_kind kind)
{
	static const enum upstream_list lists[PIN_KINDS] = { UPSTREAM_TOOLS, UPSTREAM_PROMPTS };
	const struct node *items =
		m->is_listed ? upstream_listed(&m->process.upstream, lists[kind]) : NULL;

	return items ? items->first : NULL;
}

const struct node *gateway_listed(
	const struct gateway_member *m, enum gateway_kind kind, const char *name)
{
	for (const struct node *t = gateway_first(m, kind); t; t = t->next)
		if (strcmp(node_get_text(t, "name"), name) == 0)
			return t;
	return NULL;
}

enum pin_state gateway_state(
	const struct gateway_member *m, enum gateway_kind kind, const struct node *pinned)
{
	const struct node *now;

	if (!m->is_listed)
		return PIN_APPROVED;
	now = gateway_listed(m, kind, node_get_text(pinned, "name"));
	return now ? pins_compare(&m->pins, kind, now) : PIN_GONE;
}

static bool gateway_shows(
	const struct gateway_member *m, enum gateway_kind kind, const struct node *pinned)
{
	return gateway_state(m, kind, pinned) == PIN_APPROVED &&
	       gateway_best(m->config, kind, node_get_text(pinned, "name")) != VERDICT_DENY;
}

uint64_t gateway_look(const struct gateway_member *m, enum gateway_kind kind)
{
	uint64_t hash = HASH_START;

	for (const struct node *t = gateway_pinned(m, kind); t; t = t->next) {
		const char *name = node_get_text(t, "name");

		if (gateway_shows(m, kind, t))
			hash = hash_bytes(hash, name, strlen(name) + 1);
	}
	return hash;
}

/* Tools */

bool gateway_has(void *context, const char *name)
{
	const struct node *pinned;
	struct gateway_member *m;

	return strcmp(name, GATEWAY_STATUS) == 0 ||
	       gateway_find(context, GATEWAY_TOOL, name, &m, &pinned);
}

bool gateway_has_prompt(void *context, const char *name)
{
	const struct node *pinned;
	struct gateway_member *m;

	return gateway_find(context, GATEWAY_PROMPT, name, &m, &pinned);
}

/* Without a question to the user: it is asked for with each letter. */
bool gateway_has_completion(void *context, const char *name, bool is_prompt)
{
	const struct node *pinned = NULL;
	struct gateway_member *m;

	if (is_prompt)
		return gateway_find(context, GATEWAY_PROMPT, name, &m, &pinned) && pinned &&
		       gateway_best(m->config, GATEWAY_PROMPT, node_get_text(pinned, "name")) ==
			       VERDICT_ALLOW;
	m = gateway_route_template(context, name);
	return m && gateway_best(m->config, GATEWAY_RESOURCE, name) == VERDICT_ALLOW;
}

static void gateway_print_status_tool(struct json_writer *w)
{
	json_open_map(w, NULL);
	json_put_text(w, "name", GATEWAY_STATUS);
	json_put_text(w, "title", "State of the gateway");
	json_put_text(w, "description",
		"Says which servers are behind this gateway, how they are, which of their tools "
		"cannot be called, and what the user can do about it.");
	json_open_map(w, "inputSchema");
	json_put_text(w, "type", "object");
	json_close(w);
	json_open_map(w, "annotations");
	json_put_flag(w, "readOnlyHint", true);
	json_put_flag(w, "openWorldHint", false);
	json_close(w);
	json_close(w);
}

/* What is not here (icons, execution, _meta) asks for what the gateway does not pass on. */
static void gateway_print_one(const struct gateway_member *m, enum gateway_kind kind,
	const struct node *definition, struct json_writer *w)
{
	static const char *const keys[PIN_KINDS][6] = {
		[GATEWAY_TOOL] = { "title", "description", "inputSchema", "outputSchema",
			"annotations", NULL },
		[GATEWAY_PROMPT] = { "title", "description", "arguments", NULL },
	};
	char name[GATEWAY_TOOL_BYTES];

	gateway_name(m->config->name, node_get_text(definition, "name"), name);
	json_open_map(w, NULL);
	json_put_text(w, "name", name);
	for (const char *const *key = keys[kind]; *key; key++)
		if (node_get(definition, *key))
			json_put_node(w, *key, node_get(definition, *key));
	json_close(w);
}

static void gateway_print_all(
	const struct gateway *g, enum gateway_kind kind, struct json_writer *w)
{
	for (size_t i = 0; i < g->n; i++) {
		const struct gateway_member *m = &g->members[i];

		for (const struct node *t = gateway_pinned(m, kind); t; t = t->next)
			if (gateway_shows(m, kind, t))
				gateway_print_one(m, kind, t, w);
	}
}

void gateway_print(void *context, struct json_writer *w, const char *key)
{
	json_open_list(w, key);
	gateway_print_status_tool(w);
	gateway_print_all(context, GATEWAY_TOOL, w);
	json_close(w);
}

void gateway_print_prompts(void *context, struct json_writer *w, const char *key)
{
	json_open_list(w, key);
	gateway_print_all(context, GATEWAY_PROMPT, w);
	json_close(w);
}

/* What became of a server */

/* What is not as it was approved. */
static void gateway_describe_kind(
	const struct gateway_member *m, enum gateway_kind kind, struct buffer *out)
{
	const char *label = kind == GATEWAY_TOOL ? "" : "the prompt ";

	for (const struct node *t = gateway_first(m, kind); t; t = t->next) {
		const enum pin_state state = pins_compare(&m->pins, kind, t);
		const char *name = node_get_text(t, "name");

		if (state == PIN_APPROVED)
			continue;
		buffer_printf(out, "  quarantined: %s", label);
		buffer_add_name(out, name, strlen(name));
		buffer_printf(out, " (%s since it was approved)\n", pin_state_name(state));
	}
	for (const struct node *t = gateway_pinned(m, kind); t; t = t->next) {
		const char *name = node_get_text(t, "name");

		if (gateway_state(m, kind, t) != PIN_GONE)
			continue;
		buffer_printf(out, "  gone: %s", label);
		buffer_add_name(out, name, strlen(name));
		buffer_addc(out, '\n');
	}
}

/* What has to be approved, with the command that does. */
void gateway_describe_member(const struct gateway_member *m, struct buffer *out)
{
	const struct gateway *g = m->gateway;
	const char *name = m->config->name;
	auto_buffer held = { 0 };

	if (!gateway_is_approved(m)) {
		buffer_printf(out,
			"%s: %s; it is not started. To look at its tools and approve them: "
			"%s %s\n",
			name,
			m->pins.exists && m->config->is_remote
				? "its URL, secret, headers or options changed since it was "
				  "approved"
			: m->pins.exists ? "its command or options changed since it was approved"
			: m->pins.is_damaged
				? "what was approved of it was changed by another program"
				: "it was never approved",
			g->o.command, name);
		return;
	}
	buffer_printf(out, "%s: %s%s\n", name, m->is_listed ? "runs" : "does not run",
		m->is_listed || m->has_ended ? "" : " yet");
	if (!m->is_listed && m->has_ended)
		buffer_printf(out, "  %s; it is started again\n", m->why);
	gateway_describe_resources(m, out);
	for (int kind = 0; kind < PIN_KINDS; kind++)
		gateway_describe_kind(m, (enum gateway_kind)kind, &held);
	if (held.len)
		buffer_printf(out, "%s  To look at it and approve it: %s %s\n", buffer_text(&held),
			g->o.command, name);
}
