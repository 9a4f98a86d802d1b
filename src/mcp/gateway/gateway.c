/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/gateway/gateway.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "event/wait.h"

enum { STOP_MS = 2500 };

__attribute__((format(printf, 2, 3))) static void gateway_note(
	const struct gateway *g, const char *format, ...)
{
	auto_buffer line = { 0 };
	va_list args;

	va_start(args, format);
	buffer_vprintf(&line, format, args);
	va_end(args);
	if (g->o.note && !line.failed)
		g->o.note(g->o.context, buffer_text(&line));
}

/* Members */

static void gateway_look_again(struct gateway_member *m)
{
	struct gateway *g = m->gateway;
	const uint64_t seen[MCP_CHANGES] = { [MCP_TOOLS_CHANGED] = gateway_look(m, GATEWAY_TOOL),
		[MCP_PROMPTS_CHANGED] = gateway_look(m, GATEWAY_PROMPT),
		[MCP_RESOURCES_CHANGED] = gateway_look_resources(m) };

	for (int i = 0; i < MCP_CHANGES; i++) {
		if (seen[i] == m->seen[i])
			continue;
		m->seen[i] = seen[i];
		if (g->server)
			mcp_listen_changed(g->server, (enum mcp_change)i);
		if (g->o.changed)
			g->o.changed(g->o.context, (enum mcp_change)i);
	}
}

/* A server that began later, or changed, may have taken resources of others. */
static void gateway_note_taken(const struct gateway *g, const struct gateway_member *listed)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gateway_member *m = &g->members[i];
		auto_buffer text = { 0 };
		const size_t n = gateway_describe_taken(m, &text);

		if (n > m->taken && m != listed)
			gateway_note(g, "%s:\n%.*s", m->config->name, (int)text.len - 1, text.data);
		m->taken = n;
	}
}

static void gateway_on_listed(void *context)
{
	struct gateway_member *m = context;
	auto_buffer text = { 0 };
	const char *line;

	m->is_listed = true;
	if (gateway_resources_listed(m) < 0)
		gateway_note(m->gateway, "%s: out of memory for its resources", m->config->name);
	if (m->gateway->o.is_survey)
		return;
	gateway_describe_member(m, &text);
	line = strchr(buffer_text(&text), '\n');
	/* More than that it runs. */
	if (line && line[1])
		gateway_note(m->gateway, "%.*s", (int)text.len - 1, text.data);
	gateway_note_taken(m->gateway, m);
	gateway_look_again(m);
	gateway_calls_go(m);
}

static void gateway_ended(void *context, const char *why)
{
	struct gateway_member *m = context;

	m->is_listed = false;
	m->has_ended = true;
	(void)snprintf(m->why, sizeof(m->why), "%s", why);
	gateway_note(m->gateway, "%s: %s", m->config->name, why);
	gateway_calls_end(m, why);
	if (!m->gateway->o.is_survey)
		gateway_look_again(m);
}

static void gateway_said(void *context, const char *line, size_t len)
{
	const struct gateway_member *m = context;
	auto_buffer text = { 0 };

	buffer_add_visible(&text, line, len);
	if (!m->gateway->o.is_survey)
		gateway_note(m->gateway, "%s: %s", m->config->name, buffer_text(&text));
}

/* Life */

static int gateway_add(struct gateway *g, const struct gateway_server *s, struct error *e)
{
	struct gateway_member *m = &g->members[g->n++];

	*m = (struct gateway_member){ .gateway = g, .config = s };
	m->process = (struct gateway_process){ .config = s,
		.loop = g->o.loop,
		.ended = gateway_ended,
		.said = gateway_said,
		.context = m,
		.is_once = g->o.is_survey,
		.hidden = g->hidden,
		.in.fd = -1,
		.out.fd = -1,
		.err.fd = -1 };
	m->process.upstream.version = g->o.version;
	m->process.upstream.wants[UPSTREAM_PROMPTS] = s->rules[GATEWAY_PROMPT].is_on;
	m->process.upstream.wants[UPSTREAM_RESOURCES] = s->rules[GATEWAY_RESOURCE].is_on;
	m->process.upstream.wants[UPSTREAM_TEMPLATES] = s->rules[GATEWAY_RESOURCE].is_on;
	m->process.upstream.host = (struct upstream_host){ gateway_on_listed, gateway_answered,
		gateway_progressed, m };
	return pins_read(&m->pins, g->o.path, s, e);
}

/* Nothing of this is announced where no server of the file has it. */
static void gateway_set_features(struct gateway *g)
{
	struct mcp_features *f = &g->features;

	for (size_t i = 0; i < g->n; i++) {
		const struct gateway_rules *rules = g->members[i].config->rules;

		if (rules[GATEWAY_PROMPT].is_on) {
			f->prompts = gateway_print_prompts;
			f->has_prompt = gateway_has_prompt;
			f->has_completion = gateway_has_completion;
		}
		if (rules[GATEWAY_RESOURCE].is_on) {
			f->resources = gateway_print_resources;
			f->templates = gateway_print_templates;
			f->has_resource = gateway_has_resource;
			f->has_completion = gateway_has_completion;
		}
	}
	f->changes = true;
}

void gateway_hide(struct gateway *g, const char *path)
{
	size_t n = 0;

	while (g->hidden[n])
		n++;
	if (n < GATEWAY_HIDDEN_MAX)
		g->hidden[n] = path;
}

int gateway_new(struct gateway **ret, const struct gateway_options *o, struct error *e)
{
	struct gateway *g = calloc(1, sizeof(*g));
	int r = 0;

	if (!g)
		return error_no_memory(e);
	g->o = *o;
	gateway_hide(g, o->path);
	g->members = calloc(o->config->n, sizeof(*g->members));
	if (!g->members || skill_scanner_new(&g->scanner) < 0) {
		gateway_free(g);
		return error_no_memory(e);
	}
	for (size_t i = 0; r == 0 && i < o->config->n; i++)
		r = gateway_add(g, &o->config->servers[i], e);
	if (r < 0) {
		gateway_free(g);
		return r;
	}
	gateway_set_features(g);
	*ret = g;
	return 0;
}

static bool gateway_may_start(const struct gateway_member *m)
{
	const struct gateway_options *o = &m->gateway->o;

	return o->is_survey && o->may_start ? o->may_start(o->context, m) : gateway_is_approved(m);
}

/* Its command runs with what its options grant: who wrote the file is not the one to say so. */
static void gateway_hold(struct gateway_member *m)
{
	m->is_held = m->has_ended = true;
	(void)snprintf(m->why, sizeof(m->why), "%s",
		m->pins.exists ? "its command, URL or options changed since it was approved, so it "
				 "was not started"
			       : "it was never approved, so it was not started");
}

void gateway_start(struct gateway *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gateway_member *m = &g->members[i];
		auto_buffer text = { 0 };

		m->seen[MCP_TOOLS_CHANGED] = gateway_look(m, GATEWAY_TOOL);
		m->seen[MCP_PROMPTS_CHANGED] = gateway_look(m, GATEWAY_PROMPT);
		m->seen[MCP_RESOURCES_CHANGED] = gateway_look_resources(m);
		if (gateway_may_start(m)) {
			gateway_process_start(&m->process);
			continue;
		}
		if (g->o.is_survey) {
			gateway_hold(m);
			continue;
		}
		gateway_describe_member(m, &text);
		if (text.len)
			gateway_note(g, "%.*s", (int)text.len - 1, text.data);
	}
}

void gateway_attach(struct gateway *g, struct mcp_server *server)
{
	static const struct mcp_toolset tools = { gateway_has, gateway_print };

	if (!g->o.changed)
		g->server = server;
	server->backend = (struct mcp_backend){ .call = gateway_admit,
		.cancel = gateway_cancel,
		.context = g,
		.tools = &tools,
		.features = &g->features };
}

void gateway_free(struct gateway *g)
{
	const uint64_t until = wait_until(STOP_MS);

	if (!g)
		return;
	for (size_t i = 0; i < g->n; i++)
		gateway_process_stop(&g->members[i].process);
	for (size_t i = 0; i < g->n; i++) {
		gateway_process_wait(&g->members[i].process, until);
		pins_deinit(&g->members[i].pins);
	}
	skill_scanner_free(g->scanner);
	free(g->resources);
	free(g->members);
	free(g);
}
