/* SPDX-License-Identifier: Apache-2.0 */
#include "services/browser/cdp.h"

#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/json-writer.h"

/* Reading */

static void cdp_stream_add(struct cdp_stream *s, const char *data, size_t len)
{
	const size_t room = CDP_MESSAGE_MAX - s->message.len;

	s->is_cut = s->is_cut || len > room;
	buffer_add(&s->message, data, len < room ? len : room);
}

int cdp_stream_take(struct cdp_stream *s, const char **data, size_t *len)
{
	const char *end = *len > 0 ? memchr(*data, '\0', *len) : NULL;
	const size_t n = end ? (size_t)(end - *data) : *len;

	if (s->is_whole) {
		buffer_clear(&s->message);
		s->is_whole = s->is_cut = false;
	}
	cdp_stream_add(s, *data, n);
	if (s->message.failed)
		return -ENOMEM;
	*data += end ? n + 1 : n;
	*len -= end ? n + 1 : n;
	s->is_whole = end;
	return end ? 1 : 0;
}

void cdp_stream_deinit(struct cdp_stream *s)
{
	buffer_deinit(&s->message);
	*s = (struct cdp_stream){ 0 };
}

/* Of a message that cannot be read: Chromium writes the id first. */
static uint64_t cdp_first_id(const char *text)
{
	static const char start[] = "{\"id\":";
	uint64_t id = 0;

	if (strncmp(text, start, sizeof(start) - 1) != 0)
		return 0;
	for (text += sizeof(start) - 1; ascii_is_digit(*text) && id < UINT32_MAX; text++)
		id = id * 10 + (uint64_t)(*text - '0');
	return id;
}

static const char *cdp_string(const struct node *map, const char *key)
{
	const struct node *n = node_get(map, key);

	return n && n->type == NODE_STRING ? n->text : "";
}

/* The parts of a message that is JSON. */
static int cdp_read_parts(struct cdp_message *m)
{
	const struct node *root = m->document.root, *id = node_get(root, "id"),
			  *error = node_get(root, "error");
	int64_t number = 0;

	if (root->type != NODE_MAP)
		return -EBADMSG;
	m->session = cdp_string(root, "sessionId");
	m->method = cdp_string(root, "method");
	if (!id) {
		m->body = node_get(root, "params");
		return m->method[0] ? 0 : -EBADMSG;
	}
	if (node_integer(id, &number) < 0 || number <= 0 || m->method[0])
		return -EBADMSG;
	m->id = (uint64_t)number;
	m->body = node_get(root, "result");
	if (error)
		m->error = cdp_string(error, "message");
	return 0;
}

int cdp_read(struct cdp_message *ret, const struct cdp_stream *s)
{
	const struct node_bounds bounds = { CDP_MESSAGE_MAX, CDP_MESSAGE_MAX };
	const char *text = buffer_text(&s->message);
	int r;

	*ret = (struct cdp_message){ .method = "", .session = "" };
	if (s->is_cut)
		r = -EMSGSIZE;
	else
		r = json_read_within(&ret->document, NULL, text, s->message.len, &bounds, NULL);
	if (r == 0)
		r = cdp_read_parts(ret);
	if (r == 0)
		return 0;
	document_deinit(&ret->document);
	*ret = (struct cdp_message){ .method = "", .session = "", .id = cdp_first_id(text) };
	return r == -E2BIG ? -EMSGSIZE : r == -EMSGSIZE || r == -ENOMEM ? r : -EBADMSG;
}

void cdp_message_deinit(struct cdp_message *m)
{
	document_deinit(&m->document);
	*m = (struct cdp_message){ .method = "", .session = "" };
}

const struct node *cdp_node(const struct cdp_message *m, const char *path)
{
	const struct node *n = m->body;
	char key[64];

	while (n && *path) {
		const size_t len = strcspn(path, ".");

		if (len >= sizeof(key))
			return NULL;
		memcpy(key, path, len);
		key[len] = '\0';
		n = node_get(n, key);
		path += len + (path[len] == '.');
	}
	return n;
}

const char *cdp_text(const struct cdp_message *m, const char *path)
{
	const struct node *n = cdp_node(m, path);

	return n && n->type == NODE_STRING ? n->text : "";
}

/* Writing */

void cdp_write(struct buffer *out, uint64_t id, const char *session, const char *method,
	const char *params)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_count(&w, "id", id);
	json_put_text(&w, "method", method);
	if (session[0])
		json_put_text(&w, "sessionId", session);
	json_put_raw(&w, "params", params);
	json_close(&w);
	buffer_addc(out, '\0');
}

void cdp_write_one(struct buffer *out, const char *key, const char *text)
{
	struct json_writer w = { .out = out };

	json_open_map(&w, NULL);
	json_put_text(&w, key, text);
	json_close(&w);
}
