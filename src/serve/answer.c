/* SPDX-License-Identifier: Apache-2.0 */
#include "serve/answer.h"

#include "base/buffer.h"
#include "codec/json-writer.h"
#include "serve/request.h"

void serve_answer_begin(struct buffer *out, const struct serve_answer *a)
{
	buffer_printf(out,
		"HTTP/1.1 %u %s\r\nContent-Security-Policy: %s\r\n"
		"X-Content-Type-Options: nosniff\r\nReferrer-Policy: no-referrer\r\n"
		"Cross-Origin-Opener-Policy: same-origin\r\n"
		"Cross-Origin-Resource-Policy: same-origin\r\nCache-Control: %s\r\n",
		a->status, serve_request_words(a->status),
		a->csp ? a->csp : "default-src 'none'; frame-ancestors 'none'",
		a->cache ? a->cache : "no-store");
	if (a->type)
		buffer_printf(out, "Content-Type: %s\r\n", a->type);
	if (a->status == 401)
		buffer_printf(
			out, "WWW-Authenticate: %s\r\n", a->challenge ? a->challenge : "Bearer");
	if (a->status == 429)
		buffer_adds(out, "Retry-After: 1\r\n");
	if (a->fields)
		buffer_adds(out, a->fields);
	if (a->type && !a->is_stream)
		buffer_printf(out, "Content-Length: %zu\r\n", a->len);
	buffer_adds(out, a->is_last ? "Connection: close\r\n\r\n" : "\r\n");
}

void serve_answer_text(
	struct buffer *out, const struct serve_answer *a, const char *key, const char *text)
{
	auto_buffer body = { 0 };
	struct json_writer w = { .out = &body };
	struct serve_answer head = *a;

	json_open_map(&w, NULL);
	json_put_text(&w, key, text);
	json_end_line(&w);
	head.type = "application/json";
	head.len = body.len;
	serve_answer_begin(out, &head);
	buffer_add(out, buffer_text(&body), body.len);
	out->failed = out->failed || body.failed;
}
