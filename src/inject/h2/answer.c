/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/h2/answer.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "inject/h2/h2.h"
#include "inject/heads.h"

enum { HTTP_FINAL = 200, HTTP_PARTIAL = 206, HTTP_NO_CONTENT = 204, HTTP_NOT_MODIFIED = 304 };

/* Messages */

static int h2_messages_begin(struct h2_messages *m)
{
	m->n_head = 0;
	m->is_broken = m->head[0] > 1;
	m->left = (uint32_t)m->head[1] << 24 | (uint32_t)m->head[2] << 16 |
		  (uint32_t)m->head[3] << 8 | m->head[4];
	return m->head[0] == 1 ? -EOPNOTSUPP : 0;
}

int h2_messages_pass(struct h2_messages *m, const uint8_t *data, size_t len)
{
	int r = 0;

	while (r == 0 && len > 0 && !m->is_broken) {
		size_t n = m->left > 0 ? m->left : H2_MESSAGE_HEAD - m->n_head;

		n = n < len ? n : len;
		if (m->left > 0) {
			m->left -= (uint32_t)n;
		} else {
			memcpy(m->head + m->n_head, data, n);
			m->n_head += n;
			if (m->n_head == H2_MESSAGE_HEAD)
				r = h2_messages_begin(m);
		}
		data += n;
		len -= n;
	}
	return r;
}

bool h2_messages_rest(const struct h2_messages *m)
{
	return m->n_head == 0 && m->left == 0;
}

/* Answers */

void h2_answer_init(struct h2_answer *a, const struct masking *m)
{
	*a = (struct h2_answer){ .body = { .masking = m } };
}

void h2_answer_deinit(struct h2_answer *a)
{
	h2_fields_deinit(&a->fields);
	masking_stream_deinit(&a->body);
}

static int h2_answer_status(const struct h2_answer *a)
{
	const char *text;
	size_t len;
	int status = 0;

	if (h2_fields_find(&a->fields, ":status", &text, &len) != 1 || len != 3)
		return -EINVAL;
	for (size_t i = 0; i < len; i++) {
		if (text[i] < '0' || text[i] > '9')
			return -EINVAL;
		status = 10 * status + text[i] - '0';
	}
	return status;
}

/* Two fields may say that it is encoded twice. */
static bool h2_answer_is_encoded(const struct h2_answer *a)
{
	const char *text;
	size_t len;
	int n = h2_fields_find(&a->fields, "content-encoding", &text, &len);

	return n < 0 ||
	       (n > 0 && len > 0 &&
		       !(len == strlen("identity") && strncasecmp(text, "identity", len) == 0));
}

/* A part may be a part of a value; the length of compressed text tells a guess. */
static int h2_answer_read(struct h2_answer *a, int status, bool to_head, bool ended)
{
	const bool has_body =
		!to_head && !ended && status != HTTP_NO_CONTENT && status != HTTP_NOT_MODIFIED;
	const char *text;
	size_t len;

	a->has_length = h2_fields_find(&a->fields, "content-length", &text, &len) > 0;
	a->is_grpc = !a->has_length &&
		     h2_fields_find(&a->fields, "content-type", &text, &len) == 1 &&
		     heads_is_grpc(text, len);
	if (has_body && status == HTTP_PARTIAL)
		return -EOPNOTSUPP;
	return h2_answer_is_encoded(a) && (has_body || a->has_length) ? -EOPNOTSUPP : 0;
}

int h2_answer_head(struct h2_answer *a, bool to_head, bool ended)
{
	int status = h2_answer_status(a), r = 0;

	if (status < 0)
		return status;
	if (status >= HTTP_FINAL) {
		r = h2_answer_read(a, status, to_head, ended);
		a->has_begun = true;
	}
	h2_fields_mask(&a->fields, a->body.masking, &a->body.masked);
	return r < 0 ? r : a->has_begun;
}

void h2_answer_trailers(struct h2_answer *a)
{
	h2_fields_mask(&a->fields, a->body.masking, &a->body.masked);
}

static int h2_answer_add_ready(struct h2_answer *a, struct buffer *out)
{
	size_t len;
	const char *data = masking_stream_ready(&a->body, &len);

	buffer_add(out, data, len);
	masking_stream_done(&a->body);
	return out->failed ? -ENOMEM : 0;
}

int h2_answer_data(
	struct h2_answer *a, const uint8_t *data, size_t len, bool last, struct buffer *out)
{
	int r = a->is_grpc ? h2_messages_pass(&a->messages, data, len) : 0;

	a->due = 0;
	if (r == 0)
		r = masking_stream_add(&a->body, data, len, last);
	return r < 0 ? r : h2_answer_add_ready(a, out);
}

unsigned h2_answer_wait(const struct h2_answer *a)
{
	if (!masking_stream_waits(&a->body) || a->has_length)
		return 0;
	if (!a->is_grpc || a->messages.is_broken)
		return H2_WAIT_MS;
	return h2_messages_rest(&a->messages) ? H2_MESSAGE_WAIT_MS : 0;
}

void h2_answer_flush(struct h2_answer *a, struct buffer *out)
{
	a->due = 0;
	masking_stream_flush(&a->body);
	(void)h2_answer_add_ready(a, out);
}
