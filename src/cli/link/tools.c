/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/link/tools.h"

#include <corral/policy.h>
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>

#include "cli/link/internal.h"
#include "codec/json-writer.h"
#include "event/wait.h"
#include "vault/source-text.h"

enum { TOOLS_GRACE_MS = 3000 };

/* What the process says */

static void tools_listed(void *context)
{
	struct link_tools *t = context;

	t->is_listed = true;
}

static void tools_ended(void *context, const char *why)
{
	struct link_tools *t = context;

	(void)snprintf(t->why, sizeof(t->why), "%s", why);
}

static void tools_said(void *context, const char *line, size_t len)
{
	(void)context;
	(void)line;
	(void)len;
}

/* Texts as they are; of other contents, what they are. */
static void tools_print_content(const struct node *body, struct buffer *out)
{
	const struct node *content = node_get(body, "content");

	for (const struct node *x = content ? content->first : NULL; x; x = x->next) {
		if (strcmp(node_get_text(x, "type"), "text") == 0)
			buffer_adds(out, node_get_text(x, "text"));
		else
			buffer_printf(out, "[%.64s %.128s; --json has it]",
				node_get_text(x, "type"), node_get_text(x, "mimeType"));
		buffer_addc(out, '\n');
	}
}

static void tools_answered(void *context, void *owner, const struct mcp_message *m)
{
	struct link_tools *t = context;

	(void)owner;
	t->has_answered = t->is_error = true;
	if (m->kind != MCP_ERROR) {
		t->is_error = false;
		(void)node_boolean(node_get(m->body, "isError"), &t->is_error);
	}
	if (t->is_json) {
		json_print(t->answer, m->body, JSON_PRETTY);
		buffer_addc(t->answer, '\n');
	} else if (m->kind == MCP_ERROR) {
		buffer_printf(t->answer, "%s\n", node_get_text(m->body, "message"));
	} else {
		tools_print_content(m->body, t->answer);
	}
}

static void tools_progressed(void *context, void *owner, const struct node *params)
{
	(void)context;
	(void)owner;
	(void)params;
}

/* The server */

static int tools_read_login(struct call *c, const char *name, struct buffer *url)
{
	auto_vault_session s = { 0 };
	auto_oauth_record record = { 0 };
	int r = keep_check_name(name, c->error);

	if (r == 0)
		r = vault_session_begin(&s, c);
	if (r == 0)
		r = keep_read(&s, name, &record);
	if (r < 0)
		return r;
	buffer_adds(url, record.url);
	return url->failed ? error_no_memory(c->error) : 0;
}

static int tools_configure(struct link_tools *t, const char *name, const char *url)
{
	char secret[SOURCE_LINK_SECRET_BYTES];
	auto_buffer text = { 0 };
	struct json_writer w = { .out = &text };

	(void)source_link_secret(name, "", secret);
	json_open_map(&w, NULL);
	json_open_map(&w, "servers");
	json_open_map(&w, "link");
	json_put_text(&w, "url", url);
	json_put_text(&w, "secret", secret);
	if (json_end(&w) < 0)
		return error_no_memory(t->call->error);
	return gateway_config_read(
		&t->config, "corral tool", text.data, text.len, NULL, t->call->error);
}

static int tools_wait(struct link_tools *t, const bool *is_done)
{
	int r = 0;

	while (r >= 0 && !*is_done && !t->why[0])
		r = loop_turn(t->loop, -1);
	if (r < 0)
		return error_set(t->call->error, r, NULL, "%s", strerror(-r));
	return *is_done ? 0
			: error_set(t->call->error, -EIO, NULL, "the server cannot be used: %s",
				  t->why);
}

int link_tools_open(struct link_tools *t, struct call *c, const char *name)
{
	auto_buffer url = { 0 };
	int r = tools_read_login(c, name, &url);

	t->call = c;
	if (r == 0)
		r = tools_configure(t, name, buffer_text(&url));
	if (r == 0)
		r = loop_new(&t->loop);
	if (r < 0)
		return r;
	(void)signal(SIGPIPE, SIG_IGN);
	t->process = (struct gateway_process){ .config = &t->config.servers[0],
		.loop = t->loop,
		.ended = tools_ended,
		.said = tools_said,
		.context = t,
		.is_once = true,
		.in.fd = -1,
		.out.fd = -1,
		.err.fd = -1 };
	t->process.upstream.version = corral_version();
	t->process.upstream.host =
		(struct upstream_host){ tools_listed, tools_answered, tools_progressed, t };
	gateway_process_start(&t->process);
	return tools_wait(t, &t->is_listed);
}

void link_tools_close(struct link_tools *t)
{
	if (t->loop) {
		gateway_process_stop(&t->process);
		gateway_process_wait(&t->process, wait_until(TOOLS_GRACE_MS));
		loop_free(t->loop);
	}
	gateway_config_deinit(&t->config);
}

/* Tools */

const struct node *link_tools_all(const struct link_tools *t)
{
	return upstream_listed(&t->process.upstream, UPSTREAM_TOOLS);
}

const struct node *link_tools_find(const struct link_tools *t, const char *tool)
{
	node_for_each(x, link_tools_all(t)) {
		if (strcmp(node_get_text(x, "name"), tool) == 0)
			return x;
	}
	return NULL;
}

int link_tools_run(struct link_tools *t, const char *tool, const struct node *arguments, bool json,
	struct buffer *out)
{
	struct upstream_request request = {
		.name = tool, .arguments = arguments, .owner = (void *)(uintptr_t)tool
	};
	int r;

	t->answer = out;
	t->is_json = json;
	r = upstream_call(&t->process.upstream, &request);
	if (r < 0)
		return error_set(t->call->error, r, NULL, "the call: %s", strerror(-r));
	gateway_process_flush(&t->process);
	r = tools_wait(t, &t->has_answered);
	if (r == 0 && out->failed)
		return error_no_memory(t->call->error);
	return r < 0 ? r : t->is_error;
}
