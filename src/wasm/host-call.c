/* SPDX-License-Identifier: Apache-2.0 */
#include "wasm/host-call.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "codec/json-writer.h"
#include "wasm/guest.h"

/* As JSON-RPC has them. */
enum { INVALID_REQUEST = -32600, UNAVAILABLE = -32005 };

static const struct node_bounds call_bounds = { GUEST_TEXT_MAX, GUEST_TEXT_MAX };
static const struct node_bounds answer_bounds = { CONNECTION_LINE_MAX, CONNECTION_LINE_MAX };

int host_call_open(struct host_call *h, struct error *e)
{
	const char *path = getenv("SANDBOX_SOCKET");
	int r;

	*h = (struct host_call){ .connection = { .fd = -1 } };
	if (!path)
		return 0;
	r = connection_open(&h->connection, path, 0);
	if (r < 0) {
		h->connection.fd = -1;
		return error_set(e, r, NULL, "cannot reach the broker: %s", strerror(-r));
	}
	return 0;
}

void host_call_close(struct host_call *h)
{
	if (h->connection.fd >= 0)
		connection_close(&h->connection);
}

static int host_call_error(struct buffer *out, int code, const char *message)
{
	struct json_writer w = { .out = out, .style = JSON_SPACED };

	json_open_map(&w, NULL);
	json_open_map(&w, "error");
	json_put_number(&w, "code", code);
	json_put_text(&w, "message", message);
	json_close(&w);
	json_close(&w);
	return json_end(&w);
}

/* The line of the call; -EINVAL with what is wrong in *e. */
static int host_call_print(struct host_call *h, const char *method, const void *text, size_t len,
	struct buffer *line, struct error *e)
{
	struct json_writer w = { .out = line, .style = JSON_SPACED };
	auto_document d = { 0 };
	const struct node *params;
	int r = json_read_within(&d, NULL, text, len, &call_bounds, e);

	if (r < 0)
		return r;
	params = d.root;
	if (!method) {
		const struct node *name = node_get(d.root, "method");

		if (!name || name->type != NODE_STRING)
			return error_set(e, -EINVAL, NULL, "the call has no `method`");
		method = name->text;
		params = node_get(d.root, "params");
	}
	if (params && params->type != NODE_MAP)
		return error_set(e, -EINVAL, NULL, "the parameters are not an object");
	h->has_opened = h->has_opened || strcmp(method, "socket_open") == 0 ||
			strcmp(method, "socket.open") == 0;
	json_open_map(&w, NULL);
	json_put_text(&w, "jsonrpc", "2.0");
	json_put_number(&w, "id", ++h->number);
	json_put_text(&w, "method", method);
	w.style = JSON_COMPACT;
	if (params)
		json_put_node(&w, "params", params);
	json_close(&w);
	return json_end(&w);
}

/* 1: the line answers this call, and *out has its result or error. 0: it is about something else.
 */
static int host_call_take(
	const struct host_call *h, const char *line, size_t len, struct buffer *out)
{
	struct json_writer w = { .out = out, .style = JSON_SPACED };
	auto_document d = { 0 };
	const struct node *result, *error;
	int64_t id = 0;
	int r = json_read_within(&d, NULL, line, len, &answer_bounds, NULL);

	if (r < 0)
		return r == -ENOMEM ? r : -EPROTO;
	if (node_integer(node_get(d.root, "id"), &id) < 0 || id != (int64_t)h->number)
		return 0;
	result = node_get(d.root, "result");
	error = node_get(d.root, "error");
	if (!result && !error)
		return -EPROTO;
	if (error)
		json_open_map(&w, NULL);
	w.style = JSON_COMPACT;
	json_put_node(&w, error ? "error" : NULL, error ? error : result);
	if (error)
		json_close(&w);
	return out->failed ? -ENOMEM : 1;
}

int host_call_make(
	struct host_call *h, const char *method, const void *text, size_t len, struct buffer *out)
{
	auto_buffer line = { 0 };
	struct error e = { 0 };
	int r = host_call_print(h, method, text, len, &line, &e);

	if (r == -EINVAL || r == -E2BIG)
		return host_call_error(out, INVALID_REQUEST, e.text);
	if (r == 0 && h->connection.fd < 0)
		return host_call_error(out, UNAVAILABLE, "there is no broker in this sandbox");
	if (r == 0)
		r = connection_send(&h->connection, line.data, line.len);
	while (r == 0) {
		const char *answer = NULL;
		size_t answer_len = 0;

		r = connection_receive(&h->connection, &answer, &answer_len);
		if (r == 0)
			return -EPIPE;
		if (r == 1)
			r = host_call_take(h, answer, answer_len, out);
	}
	return r < 0 ? r : 0;
}

int host_call_end(struct host_call *h)
{
	static const char all[] = "{}";
	auto_buffer ignored = { 0 };

	if (!h->has_opened)
		return 0;
	h->has_opened = false;
	return host_call_make(h, "socket.close", all, strlen(all), &ignored);
}
