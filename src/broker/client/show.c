/* SPDX-License-Identifier: Apache-2.0 */
#include "broker/client/show.h"

#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "base/words.h"
#include "codec/encoding.h"
#include "codec/json.h"

/* Exit statuses of exec.run; those of `corral run`. */
enum { SHOW_TIMED_OUT = 124, SHOW_STATUS_MAX = 255 };

/* Parts */

static void show_visible(struct buffer *out, const struct node *n)
{
	if (n->type == NODE_LIST || n->type == NODE_MAP)
		json_print(out, n, JSON_COMPACT);
	else if (n->text)
		buffer_add_visible(out, n->text, strlen(n->text));
}

static int show_write(int fd, const struct buffer *out)
{
	return out->failed ? -ENOMEM : file_write_all(fd, buffer_text(out), out->len);
}

/* Writes the bytes that a field of the answer stands for. Nothing if it is not there. */
static int show_bytes(int fd, const struct node *map, const char *name)
{
	const struct node *n = node_get(map, name), *how = node_get(map, "encoding");
	int encoding = how && how->text ? words_find(method_encodings, how->text, strlen(how->text))
					: (int)ENCODING_UTF_8;
	auto_arena a = { 0 };
	const char *bytes;
	size_t len;
	int r;

	if (!n)
		return 0;
	if (n->type != NODE_STRING || encoding < 0)
		return -EPROTO;
	r = encoding_decode((enum encoding)encoding, n->text, strlen(n->text), &a, &bytes, &len);
	if (r == -EINVAL)
		return -EPROTO;
	return r < 0 ? r : file_write_all(fd, bytes, len);
}

static bool show_is_true(const struct node *map, const char *name)
{
	const struct node *n = node_get(map, name);
	bool flag = false;

	return n && node_boolean(n, &flag) == 0 && flag;
}

/* Results */

static int show_exec(const struct client_answer *a)
{
	static const char late[] = "sandbox-call: the timeout ended it\n";
	const struct node *code = node_get(a->body, "exitCode");
	int64_t status;
	int r = show_bytes(STDOUT_FILENO, a->body, "stdout");

	if (r == 0)
		r = show_bytes(STDERR_FILENO, a->body, "stderr");
	if (r < 0)
		return r;
	if (show_is_true(a->body, "timedOut")) {
		(void)file_write_all(STDERR_FILENO, late, sizeof(late) - 1);
		return SHOW_TIMED_OUT;
	}
	if (!code || node_integer(code, &status) < 0)
		return -EPROTO;
	return status < 0 || status > SHOW_STATUS_MAX ? SHOW_STATUS_MAX : (int)status;
}

static int show_http(const struct client_answer *a)
{
	const struct node *status = node_get(a->body, "status");
	int64_t number = 0;
	auto_buffer out = { 0 };

	if (status && node_integer(status, &number) == 0 && number >= 400) {
		const struct node *words = node_get(a->body, "statusText");

		buffer_printf(&out, "sandbox-call: the server answered %lld ", (long long)number);
		if (words)
			show_visible(&out, words);
		buffer_addc(&out, '\n');
		(void)show_write(STDERR_FILENO, &out);
	}
	return show_bytes(STDOUT_FILENO, a->body, "body");
}

static int show_list(const struct client_answer *a)
{
	static const char more[] = "sandbox-call: there are more entries\n";
	const struct node *entries = node_get(a->body, "entries");
	auto_buffer out = { 0 };

	if (!entries || entries->type != NODE_LIST)
		return -EPROTO;
	node_for_each(entry, entries) {
		const struct node *path = node_get(entry, "path"), *type = node_get(entry, "type");

		if (!path || path->type != NODE_STRING)
			return -EPROTO;
		buffer_add_visible(&out, path->text, strlen(path->text));
		if (type && type->text && strcmp(type->text, "directory") == 0)
			buffer_addc(&out, '/');
		buffer_addc(&out, '\n');
	}
	if (show_is_true(a->body, "truncated"))
		(void)file_write_all(STDERR_FILENO, more, sizeof(more) - 1);
	return show_write(STDOUT_FILENO, &out);
}

static int show_env(const struct client_answer *a)
{
	const struct node *value = node_get(a->body, "value");
	auto_buffer out = { 0 };

	if (!value || !value->text)
		return 1;
	buffer_printf(&out, "%s\n", value->text);
	return show_write(STDOUT_FILENO, &out);
}

static int show_check(const struct client_answer *a)
{
	const struct node *reason = node_get(a->body, "reason");
	const bool allowed = show_is_true(a->body, "allowed");
	auto_buffer out = { 0 };
	int r;

	buffer_adds(&out, allowed ? "allowed" : "denied");
	if (reason) {
		buffer_adds(&out, ": ");
		show_visible(&out, reason);
	}
	buffer_addc(&out, '\n');
	r = show_write(STDOUT_FILENO, &out);
	return r < 0 ? r : !allowed;
}

static void show_field(struct buffer *out, const char *name, const struct node *n)
{
	if (n->type == NODE_MAP) {
		node_for_each(child, n) {
			buffer_printf(out, "%s.", name);
			buffer_add_visible(out, child->key, strlen(child->key));
			buffer_adds(out, ": ");
			show_visible(out, child);
			buffer_addc(out, '\n');
		}
		return;
	}
	buffer_printf(out, "%s: ", name);
	show_visible(out, n);
	buffer_addc(out, '\n');
}

/* The text of a page, which is not to move the cursor; lines stay lines. */
static int show_page(const struct client_answer *a)
{
	const struct node *n = node_get(a->body, "text");
	auto_buffer out = { 0 };

	if (!n || n->type != NODE_STRING)
		return -EPROTO;
	for (const char *at = n->text; *at;) {
		const size_t len = strcspn(at, "\n");

		buffer_add_visible(&out, at, len);
		buffer_addc(&out, '\n');
		at += len + (at[len] == '\n');
	}
	return show_write(STDOUT_FILENO, &out);
}

static int show_fields(const struct method *m, bool by_shield, const struct client_answer *a)
{
	auto_buffer out = { 0 };

	for (size_t i = 0; m->results[i].name; i++) {
		const char *called = method_called_field(&m->results[i], by_shield);
		const struct node *n = called ? node_get(a->body, called) : NULL;

		if (n)
			show_field(&out, called, n);
	}
	return show_write(STDOUT_FILENO, &out);
}

int show_result(const struct method *m, bool by_shield, const struct client_answer *a)
{
	switch (m->id) {
	case METHOD_FS_READ:
		return node_get(a->body, "content") ? show_bytes(STDOUT_FILENO, a->body, "content")
						    : -EPROTO;
	case METHOD_BROWSER_SCREENSHOT:
		return node_get(a->body, "data") ? show_bytes(STDOUT_FILENO, a->body, "data")
						 : -EPROTO;
	case METHOD_BROWSER_TEXT:
		return show_page(a);
	case METHOD_FS_LIST:
		return show_list(a);
	case METHOD_NETWORK_HTTP:
		return show_http(a);
	case METHOD_EXEC_RUN:
		return show_exec(a);
	case METHOD_ENV_GET:
		return show_env(a);
	case METHOD_POLICY_CHECK:
		return show_check(a);
	default:
		return show_fields(m, by_shield, a);
	}
}

/* Errors and notes */

void show_error(const struct client_answer *a)
{
	const struct node *data = node_get(a->body, "data"), *allowed = node_get(data, "allowed");
	const struct node *rule = node_get(data, "rule"), *hint = node_get(data, "hint");
	auto_buffer out = { 0 };

	buffer_adds(&out, "sandbox-call: ");
	show_visible(&out, node_get(a->body, "message"));
	if (allowed && allowed->type == NODE_LIST && allowed->first) {
		buffer_adds(&out, "\n  allowed: ");
		node_for_each(item, allowed) {
			show_visible(&out, item);
			buffer_adds(&out, item->next ? ", " : "");
		}
	}
	if (rule) {
		buffer_adds(&out, "\n  rule: ");
		show_visible(&out, rule);
	}
	if (hint) {
		buffer_adds(&out, "\n  ");
		show_visible(&out, hint);
	}
	buffer_addc(&out, '\n');
	(void)show_write(STDERR_FILENO, &out);
}

int show_output(const struct client_answer *a)
{
	const struct node *stream = node_get(a->body, "stream");

	return show_bytes(stream && stream->text && strcmp(stream->text, "stderr") == 0
				  ? STDERR_FILENO
				  : STDOUT_FILENO,
		a->body, "data");
}

void show_progress(const struct client_answer *a)
{
	const struct node *received = node_get(a->body, "received");
	const struct node *total = node_get(a->body, "total");
	auto_buffer out = { 0 };

	buffer_adds(&out, "\r");
	if (received)
		show_visible(&out, received);
	if (total) {
		buffer_adds(&out, " of ");
		show_visible(&out, total);
	}
	buffer_adds(&out, " bytes\033[K");
	(void)show_write(STDERR_FILENO, &out);
}
