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

bool gateway_find(struct gateway *g, const char *name, struct gateway_member **ret,
	const struct node **ret_pinned)
{
	const char *end = strstr(name, SEPARATOR);

	*ret_pinned = NULL;
	for (size_t i = 0; end && i < g->n; i++) {
		struct gateway_member *m = &g->members[i];
		const size_t len = (size_t)(end - name);

		if (strlen(m->config->name) != len || memcmp(m->config->name, name, len) != 0)
			continue;
		*ret = m;
		for (const struct node *t =
				gateway_is_approved(m) ? pins_first(&m->pins, GATEWAY_TOOL) : NULL;
			t; t = t->next) {
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

const struct node *gateway_listed_tool(const struct gateway_member *m, const char *tool)
{
	const struct node *tools =
		m->is_listed ? upstream_listed(&m->process.upstream, UPSTREAM_TOOLS) : NULL;

	for (const struct node *t = tools ? tools->first : NULL; t; t = t->next)
		if (strcmp(node_get_text(t, "name"), tool) == 0)
			return t;
	return NULL;
}

enum pin_state gateway_state(const struct gateway_member *m, const struct node *pinned)
{
	const struct node *now;

	if (!m->is_listed)
		return PIN_APPROVED;
	now = gateway_listed_tool(m, node_get_text(pinned, "name"));
	return now ? pins_compare(&m->pins, GATEWAY_TOOL, now) : PIN_GONE;
}

static bool gateway_shows(const struct gateway_member *m, const struct node *pinned)
{
	return gateway_state(m, pinned) == PIN_APPROVED &&
	       gateway_best(m->config, GATEWAY_TOOL, node_get_text(pinned, "name")) != VERDICT_DENY;
}

/* What clients see of a member, as a number. */
uint64_t gateway_look(const struct gateway_member *m)
{
	uint64_t hash = HASH_START;

	for (const struct node *t = gateway_is_approved(m) ? pins_first(&m->pins, GATEWAY_TOOL)
							   : NULL;
		t; t = t->next) {
		const char *name = node_get_text(t, "name");

		if (gateway_shows(m, t))
			hash = hash_bytes(hash, name, strlen(name) + 1);
	}
	return hash;
}

/* Tools */

bool gateway_has(void *context, const char *name)
{
	const struct node *pinned;
	struct gateway_member *m;

	return strcmp(name, GATEWAY_STATUS) == 0 || gateway_find(context, name, &m, &pinned);
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
static void gateway_print_tool(
	const struct gateway_member *m, const struct node *tool, struct json_writer *w)
{
	static const char *const keys[] = { "title", "description", "inputSchema", "outputSchema",
		"annotations" };
	char name[GATEWAY_TOOL_BYTES];

	gateway_name(m->config->name, node_get_text(tool, "name"), name);
	json_open_map(w, NULL);
	json_put_text(w, "name", name);
	for (size_t i = 0; i < ROWS(keys); i++)
		if (node_get(tool, keys[i]))
			json_put_node(w, keys[i], node_get(tool, keys[i]));
	json_close(w);
}

void gateway_print(void *context, struct json_writer *w, const char *key)
{
	const struct gateway *g = context;

	json_open_list(w, key);
	gateway_print_status_tool(w);
	for (size_t i = 0; i < g->n; i++) {
		const struct gateway_member *m = &g->members[i];

		for (const struct node *t =
				gateway_is_approved(m) ? pins_first(&m->pins, GATEWAY_TOOL) : NULL;
			t; t = t->next)
			if (gateway_shows(m, t))
				gateway_print_tool(m, t, w);
	}
	json_close(w);
}

/* What became of a server */

/* What has to be approved, with the command that does. */
void gateway_describe_member(const struct gateway_member *m, struct buffer *out)
{
	const struct gateway *g = m->gateway;
	const char *name = m->config->name;
	const struct node *tools =
		m->is_listed ? upstream_listed(&m->process.upstream, UPSTREAM_TOOLS) : NULL;
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
	for (const struct node *t = tools ? tools->first : NULL; t; t = t->next) {
		const enum pin_state state = pins_compare(&m->pins, GATEWAY_TOOL, t);

		if (state == PIN_APPROVED)
			continue;
		buffer_printf(&held, "  quarantined: ");
		buffer_add_name(&held, node_get_text(t, "name"), strlen(node_get_text(t, "name")));
		buffer_printf(&held, " (%s since it was approved)\n", pin_state_name(state));
	}
	for (const struct node *t = pins_first(&m->pins, GATEWAY_TOOL); t; t = t->next) {
		if (gateway_state(m, t) != PIN_GONE)
			continue;
		buffer_printf(&held, "  gone: ");
		buffer_add_name(&held, node_get_text(t, "name"), strlen(node_get_text(t, "name")));
		buffer_addc(&held, '\n');
	}
	if (held.len)
		buffer_printf(out, "%s  To look at it and approve it: %s %s\n", buffer_text(&held),
			g->o.command, name);
}
