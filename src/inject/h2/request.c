/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/h2/request.h"

#include <errno.h>
#include <string.h>

#include "vault/secret.h"

void h2_request_init(struct h2_request *q, const struct heads *heads, uint32_t rewrites)
{
	*q = (struct h2_request){ 0 };
	inject_request_init(&q->request, heads, rewrites);
}

void h2_request_deinit(struct h2_request *q)
{
	h2_fields_deinit(&q->fields);
	h2_fields_deinit(&q->trailers);
	inject_request_deinit(&q->request);
	if (q->text.data)
		secret_wipe(q->text.data, q->text.cap);
	buffer_deinit(&q->text);
}

/* The reader of HTTP/1.1 finds what is ambiguous. */
static int h2_request_judge(const struct buffer *text, const struct h2_target_host *to, bool ended,
	uint64_t *ret_length)
{
	const struct http_request *q = &to->room->request;
	int r = http_head_parse(to->room, (const uint8_t *)buffer_text(text), text->len);

	if (r < 0)
		return r;
	if (strcmp(q->host, to->host) != 0 || (q->port ? q->port : to->usual_port) != to->port)
		return -EXDEV;
	if (q->upgrade || to->room->chunked || (ended && to->room->length > 0))
		return -EINVAL;
	*ret_length = to->room->length;
	return 0;
}

int h2_request_begin(struct h2_request *q, const struct h2_target_host *to, bool ended)
{
	struct inject_request_form form = { .has_body = !ended, .flowing = BODIES_PLAIN };
	auto_buffer text = { 0 };
	int r = h2_fields_print_request(&q->fields, &text);

	if (r == 0)
		r = h2_request_judge(&text, to, ended, &form.length);
	if (r == 0)
		r = inject_request_head(&q->request, text.data, text.len, &form, &q->text);
	q->is_head = r == 0 && strcmp(to->room->request.method, "HEAD") == 0;
	q->is_complete = r == 0;
	return r;
}

int h2_request_data(
	struct h2_request *q, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	return inject_request_body(&q->request, data, len, last, q->has_gone ? out : &q->text);
}

int h2_request_go(struct h2_request *q, struct h2_fields *ret, struct buffer *out)
{
	static const char end[] = "\r\n\r\n";
	const char *head = buffer_text(&q->text);
	const char *empty = memmem(head, q->text.len, end, strlen(end));
	size_t len = empty ? (size_t)(empty - head) + strlen(end) : 0;
	int r;

	if (q->has_gone || len == 0)
		return 0;
	r = h2_fields_parse_request(ret, head, len, &q->fields);
	if (r < 0)
		return r;
	buffer_add(out, head + len, q->text.len - len);
	secret_wipe(q->text.data, q->text.cap);
	buffer_deinit(&q->text);
	h2_fields_deinit(&q->fields);
	q->has_gone = true;
	return out->failed ? -ENOMEM : 1;
}

int h2_request_end(struct h2_request *q)
{
	auto_buffer nowhere = { 0 };

	heads_replace(&q->request.heads, 0, NULL, buffer_text(&q->trailers.text),
		q->trailers.text.len, &nowhere);
	return nowhere.failed ? -ENOMEM : 0;
}

size_t h2_request_kept(const struct h2_request *q)
{
	return q->text.cap + q->fields.text.cap + q->trailers.text.cap +
	       q->request.bodies.held.cap + q->request.bodies.pending.cap;
}
