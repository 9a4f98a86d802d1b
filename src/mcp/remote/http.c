/* SPDX-License-Identifier: Apache-2.0 */
#include "mcp/remote/http.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include <curl/curl.h>

#include "broker/fetch/response.h"

struct http {
	struct loop *loop;
	struct remote *remote;
	struct http_options o;
	CURLM *multi;
	struct timer timer;
	char *url; /* where the server is: o.url, or where that led within its origin */
};

/* One exchange, from when it is known until it has ended. */
struct http_transfer {
	struct http *http;
	struct remote_exchange *exchange;
	CURL *easy; /* NULL: it has not begun */
	struct curl_slist *headers;
	struct response response;
	struct timer timer; /* before it begins, and after its answer */
	unsigned hops;
	bool has_head, is_redirect, is_paused;
	char message[CURL_ERROR_SIZE];
};

struct http_socket {
	struct watcher watcher;
	struct http *http;
};

/* The library's sockets and time, in the loop */

static void http_ready(struct watcher *w, uint32_t events)
{
	struct http_socket *s = container_of(w, struct http_socket, watcher);
	struct http *h = s->http;
	int mask = 0, running;

	if (events & (EPOLLIN | EPOLLHUP | EPOLLERR))
		mask |= CURL_CSELECT_IN;
	if (events & EPOLLOUT)
		mask |= CURL_CSELECT_OUT;
	if (events & EPOLLERR)
		mask |= CURL_CSELECT_ERR;
	(void)curl_multi_socket_action(h->multi, w->fd, mask, &running);
}

static int http_on_socket(CURL *easy, curl_socket_t fd, int what, void *context, void *known)
{
	static const uint32_t events[] = { [CURL_POLL_IN] = EPOLLIN,
		[CURL_POLL_OUT] = EPOLLOUT,
		[CURL_POLL_INOUT] = EPOLLIN | EPOLLOUT };
	struct http *h = context;
	struct http_socket *s = known;

	(void)easy;
	if (what == CURL_POLL_REMOVE) {
		if (s)
			loop_remove(h->loop, &s->watcher);
		free(s);
		(void)curl_multi_assign(h->multi, fd, NULL);
		return 0;
	}
	if (s)
		return loop_change(h->loop, &s->watcher, events[what]) < 0 ? -1 : 0;
	s = calloc(1, sizeof(*s));
	if (!s)
		return -1;
	*s = (struct http_socket){ .watcher = { .ready = http_ready, .fd = -1 }, .http = h };
	if (loop_add(h->loop, &s->watcher, fd, events[what]) < 0) {
		free(s);
		return -1;
	}
	(void)curl_multi_assign(h->multi, fd, s);
	return 0;
}

static void http_expired(struct timer *t)
{
	struct http *h = container_of(t, struct http, timer);
	int running;

	(void)curl_multi_socket_action(h->multi, CURL_SOCKET_TIMEOUT, 0, &running);
}

static int http_on_timer(CURLM *multi, long ms, void *context)
{
	struct http *h = context;

	(void)multi;
	loop_stop(h->loop, &h->timer);
	if (ms < 0)
		return 0;
	h->timer.expired = http_expired;
	return loop_start(h->loop, &h->timer, (uint64_t)ms) < 0 ? -1 : 0;
}

/* What the library has read */

static const char *http_field(const struct http_transfer *t, const char *name)
{
	return response_field(&t->response, name);
}

static int http_begin_answer(struct http_transfer *t, const char *location)
{
	const struct remote_head head = { .status = (unsigned)t->response.status,
		.type = http_field(t, "content-type"),
		.encoding = http_field(t, "content-encoding"),
		.session = http_field(t, "mcp-session-id"),
		.location = location,
		.challenge = http_field(t, "www-authenticate") };

	t->has_head = true;
	return remote_begun(t->http->remote, t->exchange, &head);
}

static size_t http_on_line(char *line, size_t size, size_t n, void *context)
{
	struct http_transfer *t = context;
	int r;

	/* Trailers come behind the body. */
	if (t->has_head || t->is_redirect)
		return size * n;
	r = response_add_line(&t->response, line, size * n);
	if (r != 1 || t->response.status < 200)
		return r < 0 ? 0 : size * n;
	/* Where it leads is known at its end. */
	if (response_is_redirect(t->response.status)) {
		t->is_redirect = true;
		return size * n;
	}
	return http_begin_answer(t, NULL) ? 0 : size * n;
}

static size_t http_on_body(char *data, size_t size, size_t n, void *context)
{
	struct http_transfer *t = context;
	struct remote *remote = t->http->remote;

	n *= size;
	if (t->is_redirect || !t->has_head)
		return t->is_redirect ? n : 0;
	if (remote->out.len > HTTP_OUT_MAX) {
		t->is_paused = true;
		return CURL_WRITEFUNC_PAUSE;
	}
	return remote_data(remote, t->exchange, data, n) ? 0 : n;
}

/* Requests */

static int http_add_header(struct http_transfer *t, const char *line, size_t len)
{
	const char *colon = memchr(line, ':', len);
	auto_buffer text = { 0 };
	struct curl_slist *longer;

	/* The library takes "name:" for a header to leave out, and "name;" for an empty one. */
	buffer_add(&text, line, len);
	if (colon && (size_t)(colon - line) + 2 >= len) {
		text.len = (size_t)(colon - line);
		buffer_addc(&text, ';');
	}
	longer = text.failed ? NULL : curl_slist_append(t->headers, text.data);
	if (!longer)
		return -ENOMEM;
	t->headers = longer;
	return 0;
}

static int http_make_headers(struct http_transfer *t)
{
	const struct http_options *o = &t->http->o;
	auto_buffer lines = { 0 };
	int r;

	if (o->bearer)
		buffer_printf(&lines, "Authorization: Bearer %s\n", o->bearer);
	for (size_t i = 0; i < o->n_headers; i++)
		buffer_printf(&lines, "%s\n", o->headers[i]);
	r = remote_print_headers(t->http->remote, t->exchange, &lines);
	for (size_t at = 0; r == 0 && at < lines.len;) {
		const char *line = lines.data + at;
		const size_t len = strcspn(line, "\n");

		r = http_add_header(t, line, len);
		at += len + 1;
	}
	if (r == 0) {
		/* It does not wait for a 100. */
		struct curl_slist *longer = curl_slist_append(t->headers, "Expect:");

		t->headers = longer ? longer : t->headers;
		r = longer ? 0 : -ENOMEM;
	}
	return r;
}

#define SET(option, value)                                                      \
	do {                                                                    \
		if (r == CURLE_OK)                                              \
			r = curl_easy_setopt(t->easy, CURLOPT_##option, value); \
	} while (0)

static CURLcode http_set_method(struct http_transfer *t)
{
	const struct remote_exchange *x = t->exchange;
	CURLcode r = CURLE_OK;

	if (x->kind == REMOTE_GOODBYE) {
		SET(CUSTOMREQUEST, "DELETE");
	} else if (x->body.len == 0 || x->resumes) {
		SET(HTTPGET, 1L);
	} else {
		SET(POST, 1L);
		SET(POSTFIELDSIZE_LARGE, (curl_off_t)x->body.len);
		SET(POSTFIELDS, x->body.data);
	}
	return r;
}

static long http_time(const struct remote_exchange *x)
{
	switch (x->kind) {
	case REMOTE_NOTICE:
	case REMOTE_HELLO_DONE:
	case REMOTE_RENEWAL:
	case REMOTE_RENEWAL_DONE:
		return HTTP_NOTICE_MS;
	case REMOTE_GOODBYE:
		return HTTP_GOODBYE_MS;
	case REMOTE_CALL:
	case REMOTE_HELLO:
	case REMOTE_LISTEN:
		break;
	}
	return 0; /* its client knows how long it waits */
}

static CURLcode http_set_up(struct http_transfer *t)
{
	const struct http *h = t->http;
	struct curl_blob authorities = { h->o.authorities->data, h->o.authorities->len,
		CURL_BLOB_NOCOPY };
	CURLcode r = CURLE_OK;

	SET(PRIVATE, t);
	SET(ERRORBUFFER, t->message);
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, "http,https");
	SET(DISALLOW_USERNAME_IN_URL, 1L);
	SET(FOLLOWLOCATION, 0L);
	SET(PROXY, "");
	SET(NOPROXY, "*");
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(HTTP09_ALLOWED, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (authorities.len > 0)
		SET(CAINFO_BLOB, &authorities);
	SET(CONNECTTIMEOUT_MS, (long)HTTP_CONNECT_MS);
	SET(TIMEOUT_MS, http_time(t->exchange));
	SET(TCP_KEEPALIVE, 1L);
	SET(USERAGENT, "corral-mcp-remote");
	SET(URL, h->url);
	SET(HTTPHEADER, t->headers);
	SET(HEADERFUNCTION, http_on_line);
	SET(HEADERDATA, t);
	SET(WRITEFUNCTION, http_on_body);
	SET(WRITEDATA, t);
	return r == CURLE_OK ? http_set_method(t) : r;
}

/* Transfers */

static void http_end(struct http_transfer *t)
{
	struct http *h = t->http;

	loop_stop(h->loop, &t->timer);
	if (t->easy) {
		(void)curl_multi_remove_handle(h->multi, t->easy);
		curl_easy_cleanup(t->easy);
	}
	curl_slist_free_all(t->headers);
	response_deinit(&t->response);
	t->exchange->owner = NULL;
	free(t);
}

/* t is gone then. */
static void http_finish(struct http_transfer *t, const char *why)
{
	struct remote *remote = t->http->remote;
	struct remote_exchange *x = t->exchange;
	char text[CURL_ERROR_SIZE] = "";

	if (why)
		memcpy(text, why, strnlen(why, sizeof(text) - 1));
	http_end(t);
	remote_ended(remote, x, why ? text : NULL);
}

static void http_send(struct http_transfer *t)
{
	if (http_make_headers(t) == 0)
		t->easy = curl_easy_init();
	if (!t->easy || http_set_up(t) != CURLE_OK ||
		curl_multi_add_handle(t->http->multi, t->easy) != CURLM_OK) {
		http_finish(t, "out of memory");
		return;
	}
	t->exchange->state = REMOTE_OPEN;
}

static void http_due(struct timer *t)
{
	http_send(container_of(t, struct http_transfer, timer));
}

static void http_lingered(struct timer *t)
{
	http_finish(container_of(t, struct http_transfer, timer), NULL);
}

static void http_start(struct http *h, struct remote_exchange *x)
{
	struct http_transfer *t = calloc(1, sizeof(*t));

	if (!t) {
		remote_ended(h->remote, x, "out of memory");
		return;
	}
	*t = (struct http_transfer){ .http = h, .exchange = x };
	x->owner = t;
	if (x->delay_ms == 0) {
		http_send(t);
		return;
	}
	t->timer.expired = http_due;
	if (loop_start(h->loop, &t->timer, x->delay_ms) < 0)
		http_finish(t, "out of memory");
}

/* Redirects */

static bool http_same_part(CURLU *a, CURLU *b, CURLUPart part)
{
	char *of_a = NULL, *of_b = NULL;
	bool is_same = curl_url_get(a, part, &of_a, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		       curl_url_get(b, part, &of_b, CURLU_DEFAULT_PORT) == CURLUE_OK &&
		       strcmp(of_a, of_b) == 0;

	curl_free(of_a);
	curl_free(of_b);
	return is_same;
}

static bool http_is_same_origin(const char *from, const char *to)
{
	CURLU *a = curl_url(), *b = curl_url();
	bool is_same = a && b && curl_url_set(a, CURLUPART_URL, from, 0) == CURLUE_OK &&
		       curl_url_set(b, CURLUPART_URL, to, CURLU_DISALLOW_USER) == CURLUE_OK &&
		       http_same_part(a, b, CURLUPART_SCHEME) &&
		       http_same_part(a, b, CURLUPART_HOST) && http_same_part(a, b, CURLUPART_PORT);

	curl_url_cleanup(a);
	curl_url_cleanup(b);
	return is_same;
}

/* true: it goes on there. */
static bool http_follow(struct http_transfer *t, const char *to)
{
	struct http *h = t->http;
	const bool keeps_method = t->response.status == 307 || t->response.status == 308;
	char *url;

	if (!to || !keeps_method || t->hops == HTTP_HOPS_MAX || !http_is_same_origin(h->url, to))
		return false;
	url = strdup(to);
	if (!url)
		return false;
	free(h->url);
	h->url = url;
	t->hops++;
	t->is_redirect = false;
	response_deinit(&t->response);
	t->response = (struct response){ 0 };
	(void)curl_multi_remove_handle(h->multi, t->easy);
	return curl_easy_setopt(t->easy, CURLOPT_URL, h->url) == CURLE_OK &&
	       curl_multi_add_handle(h->multi, t->easy) == CURLM_OK;
}

static void http_done(struct http_transfer *t, CURLcode code)
{
	const char *why = code == CURLE_OK ? NULL
			  : t->message[0]  ? t->message
					   : curl_easy_strerror(code);
	char *to = NULL;

	if (t->is_redirect) {
		(void)curl_easy_getinfo(t->easy, CURLINFO_REDIRECT_URL, &to);
		if (http_follow(t, to))
			return;
		(void)http_begin_answer(t, to);
	} else if (code == CURLE_OK && !t->has_head) {
		why = "it sent no answer";
	}
	http_finish(t, why);
}

/* Turns */

static void http_collect(struct http *h)
{
	CURLMsg *m;
	int left;

	while ((m = curl_multi_info_read(h->multi, &left))) {
		struct http_transfer *t = NULL;

		if (m->msg == CURLMSG_DONE && curl_easy_getinfo(m->easy_handle, CURLINFO_PRIVATE,
						      (char **)&t) == CURLE_OK)
			http_done(t, m->data.result);
	}
}

static void http_look(struct http *h, struct remote_exchange *x)
{
	struct http_transfer *t = x->owner;

	if (x->state == REMOTE_GONE) {
		if (t)
			http_end(t);
		remote_forget(h->remote, x);
	} else if (x->state == REMOTE_NEW && !t) {
		http_start(h, x);
	} else if (t && t->easy && x->is_answered && !t->timer.place) {
		t->timer.expired = http_lingered;
		if (loop_start(h->loop, &t->timer, HTTP_LINGER_MS) < 0)
			http_finish(t, NULL);
	} else if (t && t->is_paused && h->remote->out.len <= HTTP_OUT_MAX) {
		t->is_paused = false;
		(void)curl_easy_pause(t->easy, CURLPAUSE_CONT);
	}
}

/* Whether something is left to look at: what came of the last look. */
static bool http_is_due(const struct http *h)
{
	for (const struct remote_exchange *x = h->remote->exchanges; x; x = x->next)
		if (x->state == REMOTE_GONE || (x->state == REMOTE_NEW && !x->owner))
			return true;
	return false;
}

void http_turn(struct http *h)
{
	http_collect(h);
	do {
		for (struct remote_exchange *x = h->remote->exchanges, *next; x; x = next) {
			next = x->next;
			http_look(h, x);
		}
	} while (http_is_due(h));
}

int http_new(
	struct http **ret, struct loop *loop, struct remote *remote, const struct http_options *o)
{
	struct http *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	*h = (struct http){ .loop = loop, .remote = remote, .o = *o };
	h->multi = curl_multi_init();
	h->url = strdup(o->url);
	if (!h->multi || !h->url ||
		curl_multi_setopt(h->multi, CURLMOPT_SOCKETFUNCTION, http_on_socket) != CURLM_OK ||
		curl_multi_setopt(h->multi, CURLMOPT_SOCKETDATA, h) != CURLM_OK ||
		curl_multi_setopt(h->multi, CURLMOPT_TIMERFUNCTION, http_on_timer) != CURLM_OK ||
		curl_multi_setopt(h->multi, CURLMOPT_TIMERDATA, h) != CURLM_OK) {
		http_free(h);
		return -ENOMEM;
	}
	*ret = h;
	return 0;
}

void http_free(struct http *h)
{
	if (!h)
		return;
	for (struct remote_exchange *x = h->remote->exchanges; x; x = x->next)
		if (x->owner)
			http_end(x->owner);
	curl_multi_cleanup(h->multi);
	loop_stop(h->loop, &h->timer);
	free(h->url);
	free(h);
}
