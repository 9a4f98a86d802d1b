/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/backend.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/arena.h"
#include "codec/encoding.h"
#include "codec/json-writer.h"

enum { LIST_ENTRIES_MAX = 10000, LOG_ENTRIES = 200 };

struct mcp_tools {
	struct mcp_backend_options o;
	struct mcp_fetcher fetcher;
	struct mcp_consent consent;
};

typedef void tools_run(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret);

static struct corral_by tools_by(const struct mcp_backend_options *o)
{
	return (struct corral_by){
		.size = sizeof(struct corral_by), .actor = "mcp", .folder = o->folder
	};
}

static const char *tools_path(const struct mcp_call *c)
{
	return node_get_text(c->arguments, "path");
}

static void tools_read(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	const struct corral_by by = tools_by(o);
	struct json_writer w = { .out = &ret->structured };
	struct corral_file file = { .size = sizeof(file) };
	struct corral_error *e = NULL;
	char *data = NULL;
	size_t len = 0;
	int r = corral_enclave_fs_read_file(o->enclave, &by, tools_path(c), &file, &data, &len, &e);
	const bool is_text = r == 0 && encoding_fits(ENCODING_UTF8, data, len);

	if (r < 0) {
		mcp_answer_refuse(o, ret, r, e);
		return;
	}
	encoding_print(is_text ? ENCODING_UTF8 : ENCODING_BASE64, data, len, &ret->text);
	json_open_map(&w, NULL);
	json_put_text(&w, "encoding", is_text ? "utf8" : "base64");
	json_put_count(&w, "size", len);
	(void)json_end(&w);
	corral_free(data);
}

static void tools_store(const struct mcp_backend_options *o, const struct mcp_call *c,
	const char *data, size_t len, const char *text, struct mcp_result *ret)
{
	const struct corral_by by = tools_by(o);
	struct corral_error *e = NULL;
	const int r = corral_enclave_fs_write(o->enclave, &by, tools_path(c), data, len, &e);

	if (r < 0)
		mcp_answer_refuse(o, ret, r, e);
	else
		buffer_printf(&ret->text, "%s (%zu bytes)\n", text, len);
}

static void tools_write(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	const bool is_base64 = mcp_tool_number(c->tool, c->arguments, "encoding", 0) == 1;
	const char *content = node_get_text(c->arguments, "content"), *data = NULL;
	auto_arena a = { 0 };
	size_t len;

	if (encoding_decode(is_base64 ? ENCODING_BASE64 : ENCODING_UTF8, content, strlen(content),
		    &a, &data, &len) < 0) {
		buffer_adds(&ret->text, "`content` is no base64\n");
		ret->is_error = true;
		return;
	}
	tools_store(o, c, data, len, "written", ret);
}

/* The file with new in the place of old; how often it was there. */
static size_t tools_replace(
	const char *data, size_t len, const char *old, const char *new, struct buffer *out)
{
	const size_t n_old = strlen(old);
	size_t count = 0;

	for (;;) {
		const char *at = memmem(data, len, old, n_old);

		if (!at)
			break;
		buffer_add(out, data, (size_t)(at - data));
		buffer_adds(out, new);
		len -= (size_t)(at - data) + n_old;
		data = at + n_old;
		count++;
	}
	buffer_add(out, data, len);
	return count;
}

static void tools_edit(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	const bool is_all = mcp_tool_number(c->tool, c->arguments, "replace_all", 0);
	const struct corral_by by = tools_by(o);
	struct corral_error *e = NULL;
	auto_buffer text = { 0 };
	char *data = NULL;
	size_t len = 0, count;
	int r = corral_enclave_fs_read(o->enclave, &by, tools_path(c), &data, &len, &e);

	if (r < 0) {
		mcp_answer_refuse(o, ret, r, e);
		return;
	}
	count = tools_replace(data, len, node_get_text(c->arguments, "old_text"),
		node_get_text(c->arguments, "new_text"), &text);
	corral_free(data);
	ret->is_error = count == 0 || (count > 1 && !is_all) || text.failed;
	if (count == 0)
		buffer_adds(&ret->text, "`old_text` is not in the file\n");
	else if (count > 1 && !is_all)
		buffer_printf(&ret->text,
			"`old_text` is in the file %zu times: give more of it, or replace_all\n",
			count);
	else if (text.failed)
		buffer_adds(&ret->text, "out of memory\n");
	else
		tools_store(o, c, buffer_text(&text), text.len, "edited", ret);
}

struct tools_list {
	struct buffer *text;
	struct json_writer w;
	size_t n;
};

static int tools_list_one(void *context, const struct corral_file *f)
{
	static const char *const kinds[] = { [CORRAL_FILE] = "file",
		[CORRAL_FOLDER] = "folder",
		[CORRAL_LINK] = "link",
		[CORRAL_OTHER] = "other" };
	struct tools_list *l = context;

	if (l->n++ >= LIST_ENTRIES_MAX)
		return 0;
	buffer_adds(l->text, f->name);
	buffer_adds(l->text, f->kind == CORRAL_FOLDER ? "/\n" : "\n");
	json_open_map(&l->w, NULL);
	json_put_text(&l->w, "name", f->name);
	json_put_text(&l->w, "kind", kinds[f->kind]);
	json_put_count(&l->w, "size", f->bytes);
	json_close(&l->w);
	return 0;
}

static void tools_list(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	const struct node *pattern = node_get(c->arguments, "pattern");
	const struct corral_by by = tools_by(o);
	struct corral_list_options how = { .size = sizeof(how),
		.pattern = pattern ? pattern->text : NULL,
		.recursive = (int)mcp_tool_number(c->tool, c->arguments, "recursive", 0) };
	struct tools_list l = { .text = &ret->text, .w = { .out = &ret->structured } };
	struct corral_error *e = NULL;
	long n;

	json_open_map(&l.w, NULL);
	json_open_list(&l.w, "entries");
	n = corral_enclave_fs_list_matching(
		o->enclave, &by, tools_path(c), &how, tools_list_one, &l, &e);
	if (n < 0) {
		mcp_answer_refuse(o, ret, (int)n, e);
		return;
	}
	json_close(&l.w);
	json_put_flag(&l.w, "truncated", l.n > LIST_ENTRIES_MAX);
	(void)json_end(&l.w);
	if (l.n > LIST_ENTRIES_MAX)
		buffer_printf(&ret->text, "[and %zu more]\n", l.n - LIST_ENTRIES_MAX);
}

static void tools_create_sandbox(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	struct json_writer w = { .out = &ret->structured };
	const int r = o->handles->create(o->handles->context, &ret->text);

	(void)c;
	ret->is_error = r < 0;
	if (r < 0) {
		buffer_clear(&ret->text);
		buffer_adds(&ret->text,
			r == -EBUSY ? "there are too many sandboxes: end_sandbox ends one\n"
				    : "the sandbox could not be made\n");
		return;
	}
	json_open_map(&w, NULL);
	json_put_buffer(&w, MCP_TOOL_SANDBOX, &ret->text);
	(void)json_end(&w);
}

static void tools_end_sandbox(
	const struct mcp_backend_options *o, struct mcp_call *c, struct mcp_result *ret)
{
	const int r =
		o->handles->end(o->handles->context, node_get_text(c->arguments, MCP_TOOL_SANDBOX));

	ret->is_error = r < 0;
	buffer_adds(&ret->text, r < 0 ? MCP_NO_SANDBOX "\n" : "ended\n");
}

/* Those that are done at once. */
static tools_run *const runs[MCP_TOOLS] = {
	[MCP_READ_FILE] = tools_read,
	[MCP_WRITE_FILE] = tools_write,
	[MCP_EDIT_FILE] = tools_edit,
	[MCP_LIST_DIRECTORY] = tools_list,
	[MCP_CREATE_SANDBOX] = tools_create_sandbox,
	[MCP_END_SANDBOX] = tools_end_sandbox,
};

static void tools_call(void *context, struct mcp_call *c)
{
	struct mcp_tools *t = context;
	tools_run *const run = runs[c->tool - mcp_tools];
	struct mcp_result answer = { 0 };

	/* To look at a permission is not to use it: nothing comes up there. */
	if (c->tool >= &mcp_tools[MCP_CHECK_PERMISSION]) {
		mcp_permission_answer(&t->o, c);
		return;
	}
	mcp_consent_begin(&t->consent, c);
	if (c->tool == &mcp_tools[MCP_EXECUTE_COMMAND]) {
		mcp_command_start(t, &t->o, c);
	} else if (c->tool == &mcp_tools[MCP_HTTP_REQUEST]) {
		mcp_http_start(&t->fetcher, &t->o, c);
	} else {
		run(&t->o, c, &answer);
		mcp_answer_end(&t->o, c, &answer);
	}
	mcp_consent_end(&t->consent);
}

static void tools_cancel(void *context, struct mcp_call *c)
{
	(void)context;
	if (c->tool == &mcp_tools[MCP_HTTP_REQUEST])
		mcp_http_cancel(c);
	else
		mcp_command_cancel(c);
}

static int tools_log(void *context, struct buffer *out)
{
	struct mcp_tools *t = context;
	struct corral_error *e = NULL;
	char *json = NULL;
	const int r = corral_enclave_get_audit_log(t->o.enclave, LOG_ENTRIES, &json, &e);

	if (r >= 0)
		buffer_adds(out, json);
	corral_free(json);
	corral_error_free(e);
	return r;
}

int mcp_tools_new(struct mcp_tools **ret, const struct mcp_backend_options *o,
	struct mcp_backend *ret_backend)
{
	struct mcp_tools *t = calloc(1, sizeof(*t));

	if (!t)
		return -ENOMEM;
	t->o = *o;
	t->o.consent = &t->consent;
	t->consent.enclave = o->enclave;
	t->consent.rate = o->rate ? o->rate : &t->consent.own_rate;
	t->consent.rate->is_few = o->asks_few;
	*ret = t;
	*ret_backend = (struct mcp_backend){ .call = tools_call,
		.cancel = tools_cancel,
		.log = tools_log,
		.context = t,
		.has_handles = o->handles };
	return 0;
}

void mcp_tools_free(struct mcp_tools *t)
{
	if (t) {
		mcp_fetcher_deinit(&t->fetcher);
		mcp_consent_deinit(&t->consent);
	}
	free(t);
}
