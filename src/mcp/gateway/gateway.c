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
	const uint64_t seen = gateway_look(m);

	if (seen != m->seen && m->gateway->server)
		mcp_server_tools_changed(m->gateway->server);
	if (seen != m->seen && m->gateway->o.changed)
		m->gateway->o.changed(m->gateway->o.context);
	m->seen = seen;
}

static void gateway_listed(void *context)
{
	struct gateway_member *m = context;
	auto_buffer text = { 0 };
	const char *line;

	m->is_listed = true;
	if (m->gateway->o.is_survey)
		return;
	gateway_describe_member(m, &text);
	line = strchr(buffer_text(&text), '\n');
	/* More than that it runs. */
	if (line && line[1])
		gateway_note(m->gateway, "%.*s", (int)text.len - 1, text.data);
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
		.in.fd = -1,
		.out.fd = -1,
		.err.fd = -1 };
	m->process.upstream.version = g->o.version;
	m->process.upstream.host =
		(struct upstream_host){ gateway_listed, gateway_answered, gateway_progressed, m };
	return pins_read(&m->pins, g->o.path, s, e);
}

int gateway_new(struct gateway **ret, const struct gateway_options *o, struct error *e)
{
	struct gateway *g = calloc(1, sizeof(*g));
	int r = 0;

	if (!g)
		return error_no_memory(e);
	g->o = *o;
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
	*ret = g;
	return 0;
}

void gateway_start(struct gateway *g)
{
	for (size_t i = 0; i < g->n; i++) {
		struct gateway_member *m = &g->members[i];
		auto_buffer text = { 0 };

		m->seen = gateway_look(m);
		if (g->o.is_survey || gateway_is_approved(m)) {
			gateway_process_start(&m->process);
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
	server->backend = (struct mcp_backend){
		.call = gateway_call, .cancel = gateway_cancel, .context = g, .tools = &tools
	};
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
	free(g->members);
	free(g);
}
