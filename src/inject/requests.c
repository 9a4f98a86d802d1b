/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/requests.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "inject/request.h"
#include "net/gate/http-requests.h"

struct inject_requests {
	struct inject_requests_options o;
	struct http_requests *http;
	struct inject_request request; /* that passes */
	bool has_length;               /* its body ends by its length */
};

/* An http_judge. */
static int inject_requests_judge(void *context, const struct http_request *q)
{
	struct inject_requests *r = context;
	uint16_t port = q->port ? q->port : r->o.usual_port;

	if (strcmp(q->host, r->o.host) != 0 || port != r->o.port)
		return -EXDEV;
	/* What else could follow is not searched, or leads elsewhere (CONNECT). */
	if (q->upgrade && strcasecmp(q->upgrade_to, "websocket") != 0)
		return -EINVAL;
	return r->o.begins(r->o.context, q);
}

int inject_requests_new(struct inject_requests **ret, const struct inject_requests_options *o)
{
	struct inject_requests *r = calloc(1, sizeof(*r));
	int error = r ? http_requests_new(&r->http, inject_requests_judge, r) : -ENOMEM;

	if (error < 0) {
		free(r);
		return error;
	}
	r->o = *o;
	inject_request_init(&r->request,
		&(struct heads){
			.placeholders = o->placeholders, .may = o->may, .context = o->context },
		o->rewrites);
	*ret = r;
	return 0;
}

void inject_requests_free(struct inject_requests *r)
{
	if (r) {
		http_requests_free(r->http);
		inject_request_deinit(&r->request);
	}
	free(r);
}

/* "… HTTP/1.0" in the first line that is not empty. */
static bool inject_is_1_0(const char *head, size_t len)
{
	const char *end;

	while (len > 0 && (*head == '\r' || *head == '\n'))
		head++, len--;
	end = memchr(head, '\r', len);
	return end && end > head && end[-1] == '0';
}

static int inject_take_head(
	struct inject_requests *r, const char *head, size_t len, struct buffer *out)
{
	/* Without a body the length may be UINT64_MAX, of another protocol. Chunks are of 1.1. */
	const bool has_body = http_requests_has_body(r->http);
	const struct inject_request_form form = { .has_body = has_body,
		.length = has_body ? http_requests_free_bytes(r->http) : 0,
		.flowing = inject_is_1_0(head, len) ? BODIES_WATCH : BODIES_CHUNK };

	r->has_length = form.length > 0;
	return inject_request_head(&r->request, head, len, &form, out);
}

/* "GET /path …" or "OPTIONS * …": a whole URL is for a proxy, which could go on in the clear. */
static bool inject_has_path(const uint8_t *head, size_t len)
{
	const uint8_t *space;

	while (len > 0 && (*head == '\r' || *head == '\n'))
		head++, len--;
	space = memchr(head, ' ', len);
	return space && (size_t)(space - head) + 1 < len && (space[1] == '/' || space[1] == '*');
}

ssize_t inject_requests_feed(
	struct inject_requests *r, const uint8_t *data, size_t len, struct buffer *out)
{
	enum http_part part;
	ssize_t n = http_requests_step(r->http, data, len, &part);
	int error = 0;

	if (n <= 0)
		return n;
	if (part == HTTP_PART_HEAD && !inject_has_path(data, (size_t)n))
		return -EINVAL;
	if (part == HTTP_PART_BODY && r->o.body)
		r->o.body(r->o.context, data, (size_t)n);
	if (r->o.is_plain) {
		buffer_add(out, data, (size_t)n);
		return out->failed ? -ENOMEM : n;
	}
	if (part == HTTP_PART_HEAD)
		error = inject_take_head(r, (const char *)data, (size_t)n, out);
	else if (part == HTTP_PART_BODY)
		error = inject_request_body(&r->request, data, (size_t)n,
			r->has_length && http_requests_free_bytes(r->http) == 0, out);
	else if (part == HTTP_PART_TRAILERS)
		error = inject_request_trailers(&r->request, data, (size_t)n, out);
	else if (part != HTTP_PART_FRAMING || r->request.bodies.mode != BODIES_CHUNK)
		buffer_add(out, data, (size_t)n);
	return error < 0 ? error : out->failed ? -ENOMEM : n;
}

void inject_requests_upgraded(struct inject_requests *r, bool accepted)
{
	http_requests_upgraded(r->http, accepted);
}

bool inject_requests_waits(const struct inject_requests *r)
{
	return http_requests_waits(r->http);
}
