/* SPDX-License-Identifier: Apache-2.0 */
/*
 * corral-fetch: makes one HTTP request, and follows nothing; or is a socket
 * (broker/fetch/socket.h). The request stands on stdin (broker/fetch/request.h), the response goes
 * to stdout as records (broker/fetch/record.h). Started by the broker, in a sandbox that has the
 * hosts of the policy and no files but certificates and libraries.
 *
 * What the library could take from elsewhere is switched off: proxies and passwords of the
 * environment and of files, cookies, other protocols, redirects, HTTP/0.9. A body is counted as it
 * comes out of decompression, so that a small one that unfolds to gigabytes ends at the limit.
 */
#include <curl/curl.h>
#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

#include "base/ascii.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/utf8.h"
#include "broker/fetch/record.h"
#include "broker/fetch/request.h"
#include "broker/fetch/response.h"
#include "broker/fetch/socket.h"
#include "broker/fetch/strict.h"

enum { CONNECT_TIMEOUT_MS = 15000, MESSAGE_BYTES = 1024 };

struct transfer {
	const struct values *request;
	struct response response;
	uint64_t received; /* of the body */
	bool has_head;     /* it was written */
	bool is_cut;       /* at a redirect, of which no more is wanted */
	bool is_too_large; /* the body, or the head */
	bool is_odd;       /* the head */
	bool is_lost;      /* the monitor does not read it any more */
	char message[CURL_ERROR_SIZE];
};

/* Records */

static int fetch_write(struct buffer *out)
{
	int r = out->failed ? -ENOMEM : file_write_all(STDOUT_FILENO, out->data, out->len);

	buffer_deinit(out);
	return r;
}

__attribute__((format(printf, 2, 3))) static int fetch_fail(
	enum record_cause cause, const char *format, ...)
{
	char text[MESSAGE_BYTES];
	struct buffer out = { 0 };
	struct values v = { 0 };
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	/* It may hold words of the server. */
	for (char *c = text; *c; c++) {
		if (ascii_is_control(*c) || (unsigned char)*c > 0x7e)
			*c = '?';
	}
	v.v[RECORD_CAUSE] = value_number(SCHEMA_CHOICE, cause);
	v.v[RECORD_MESSAGE] = value_text(text, strlen(text));
	(void)record_add_values(&out, RECORD_ERROR, &v);
	(void)fetch_write(&out);
	return 1;
}

/* Where the response sends its client, by the URL that was asked for; NULL: nowhere. */
static char *fetch_location(const struct transfer *t)
{
	const char *location = response_field(&t->response, "location");
	CURLU *url = curl_url();
	char *text = NULL;

	if (location && url &&
		curl_url_set(url, CURLUPART_URL, t->request->v[FETCH_URL].text, 0) == CURLUE_OK &&
		curl_url_set(url, CURLUPART_URL, location, CURLU_NON_SUPPORT_SCHEME) == CURLUE_OK &&
		curl_url_set(url, CURLUPART_FRAGMENT, NULL, 0) == CURLUE_OK)
		(void)curl_url_get(url, CURLUPART_URL, &text, 0);
	curl_url_cleanup(url);
	return text;
}

static int fetch_write_head(struct transfer *t, CURL *curl)
{
	const struct response *r = &t->response;
	struct buffer out = { 0 };
	struct values v = { 0 };
	curl_off_t length = -1;
	char *location = response_is_redirect(r->status) ? fetch_location(t) : NULL;
	int code;

	(void)curl_easy_getinfo(curl, CURLINFO_CONTENT_LENGTH_DOWNLOAD_T, &length);
	v.v[RECORD_STATUS] = value_number(SCHEMA_NUMBER, r->status);
	v.v[RECORD_STATUS_TEXT] = value_text(r->status_text, strlen(r->status_text));
	v.v[RECORD_HEADERS] = (struct value){ .type = SCHEMA_PAIRS, .items = r->fields, .n = r->n };
	/* One that is too long, or no text, leads nowhere. */
	if (location && strlen(location) <= FETCH_URL_MAX &&
		utf8_valid(location, strlen(location), NULL)) {
		v.v[RECORD_LOCATION] = value_text(location, strlen(location));
		t->is_cut = t->request->v[FETCH_FLAGS].number & FETCH_STOPS_AT_REDIRECT;
	}
	if (length >= 0)
		v.v[RECORD_LENGTH] = value_number(SCHEMA_NUMBER, (uint64_t)length);
	code = record_add_values(&out, RECORD_HEAD, &v);
	if (code == 0)
		code = fetch_write(&out);
	else
		buffer_deinit(&out);
	t->has_head = code == 0;
	t->is_lost = code < 0;
	curl_free(location);
	return code;
}

/* What the library calls */

struct fetch_callback {
	struct transfer *transfer;
	CURL *curl;
};

static size_t fetch_on_line(char *line, size_t size, size_t n, void *context)
{
	struct fetch_callback *c = context;
	struct transfer *t = c->transfer;
	int r;

	/* Trailers come behind the body, and are left out. */
	if (t->has_head)
		return size * n;
	r = response_add_line(&t->response, line, size * n);
	t->is_too_large = r == -E2BIG;
	t->is_odd = r == -EINVAL;
	if (r == 1 && t->response.status >= 200)
		r = fetch_write_head(t, c->curl);
	return r < 0 || t->is_cut ? 0 : size * n;
}

static size_t fetch_on_body(char *data, size_t size, size_t n, void *context)
{
	struct fetch_callback *c = context;
	struct transfer *t = c->transfer;
	struct buffer out = { 0 };

	n *= size;
	if (n > t->request->v[FETCH_MAX_BYTES].number - t->received) {
		t->is_too_large = true;
		return 0;
	}
	t->received += n;
	if (record_add_body(&out, data, n) < 0)
		out.failed = true;
	t->is_lost = fetch_write(&out) < 0;
	return t->is_lost ? 0 : n;
}

/* Setting up */

static int fetch_add_header(struct curl_slist **list, const char *name, const char *value)
{
	auto_buffer line = { 0 };
	struct curl_slist *longer;

	/* The library takes "name:" for a header to leave out, and "name;" for an empty one. */
	if (value[strspn(value, " \t")] == '\0')
		buffer_printf(&line, "%s;", name);
	else
		buffer_printf(&line, "%s: %s", name, value);
	longer = line.failed ? NULL : curl_slist_append(*list, line.data);
	if (!longer)
		return -ENOMEM;
	*list = longer;
	return 0;
}

static bool fetch_has_header(const struct value *headers, const char *name)
{
	for (size_t i = 0; i < headers->n; i++) {
		if (strcasecmp(headers->items[i].key, name) == 0)
			return true;
	}
	return false;
}

static int fetch_headers(const struct values *request, struct curl_slist **ret)
{
	const struct value *headers = &request->v[FETCH_HEADERS];
	int r = 0;

	for (size_t i = 0; r == 0 && i < headers->n; i++)
		r = fetch_add_header(ret, headers->items[i].key, headers->items[i].text);
	if (r == 0 && !fetch_has_header(headers, "user-agent"))
		r = fetch_add_header(ret, "User-Agent", "corral");
	/* What the library would add: to wait for 100, and a type that the caller did not name. */
	if (r == 0) {
		struct curl_slist *longer = curl_slist_append(*ret, "Expect:");

		*ret = longer ? longer : *ret;
		r = longer ? 0 : -ENOMEM;
	}
	if (r == 0 && !fetch_has_header(headers, "content-type")) {
		struct curl_slist *longer = curl_slist_append(*ret, "Content-Type:");

		*ret = longer ? longer : *ret;
		r = longer ? 0 : -ENOMEM;
	}
	return r;
}

static CURLcode fetch_set_method(CURL *curl, const struct values *v)
{
	const char *method = v->v[FETCH_METHOD].text;
	const bool has_body = v->v[FETCH_BODY].type != SCHEMA_NONE;
	CURLcode r;

	if (strcmp(method, "HEAD") == 0)
		return curl_easy_setopt(curl, CURLOPT_NOBODY, 1L);
	r = curl_easy_setopt(curl, CURLOPT_CUSTOMREQUEST, method);
	if (r == CURLE_OK && (has_body || strcmp(method, "POST") == 0)) {
		r = curl_easy_setopt(
			curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)v->v[FETCH_BODY].len);
		if (r == CURLE_OK)
			r = curl_easy_setopt(
				curl, CURLOPT_POSTFIELDS, has_body ? v->v[FETCH_BODY].text : "");
	}
	return r;
}

/* Each returns what the library says; the first that fails counts. */
#define SET(option, value)                                                   \
	do {                                                                 \
		if (r == CURLE_OK)                                           \
			r = curl_easy_setopt(curl, CURLOPT_##option, value); \
	} while (0)

static CURLcode fetch_set_up(
	CURL *curl, struct transfer *t, struct fetch_callback *c, struct curl_slist *headers)
{
	const struct value *v = t->request->v;
	const long ms = (long)v[FETCH_TIMEOUT_MS].number;
	CURLcode r = CURLE_OK;

	SET(ERRORBUFFER, t->message);
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, "http,https");
	SET(DISALLOW_USERNAME_IN_URL, 1L);
	SET(FOLLOWLOCATION, 0L);
	SET(PROXY, "");
	SET(NOPROXY, "*");
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(HTTP09_ALLOWED, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_2TLS);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	if (v[FETCH_AUTHORITIES].type != SCHEMA_NONE)
		SET(CAINFO, v[FETCH_AUTHORITIES].text);
	SET(CONNECTTIMEOUT_MS, ms < CONNECT_TIMEOUT_MS ? ms : CONNECT_TIMEOUT_MS);
	SET(TIMEOUT_MS, ms);
	SET(URL, v[FETCH_URL].text);
	SET(HTTPHEADER, headers);
	if (v[FETCH_FLAGS].number & FETCH_DECODES)
		SET(ACCEPT_ENCODING, "");
	SET(HEADERFUNCTION, fetch_on_line);
	SET(HEADERDATA, c);
	if (r == CURLE_OK && v[FETCH_TRUSTED].type != SCHEMA_NONE)
		r = strict_set_up(curl, v[FETCH_TRUSTED].text, v[FETCH_TRUSTED].len);
	SET(WRITEFUNCTION, fetch_on_body);
	SET(WRITEDATA, c);
	return r == CURLE_OK ? fetch_set_method(curl, t->request) : r;
}

/* How it ended */

static enum record_cause fetch_cause(CURLcode code)
{
	switch (code) {
	case CURLE_OPERATION_TIMEDOUT:
		return RECORD_CAUSE_TIMEOUT;
	case CURLE_FILESIZE_EXCEEDED:
		return RECORD_CAUSE_SIZE;
	case CURLE_PEER_FAILED_VERIFICATION:
	case CURLE_SSL_CACERT_BADFILE:
	case CURLE_SSL_CERTPROBLEM:
	case CURLE_SSL_CIPHER:
	case CURLE_SSL_CONNECT_ERROR:
	case CURLE_SSL_INVALIDCERTSTATUS:
	case CURLE_SSL_ISSUER_ERROR:
		return RECORD_CAUSE_TLS;
	case CURLE_URL_MALFORMAT:
	case CURLE_LOGIN_DENIED:
		return RECORD_CAUSE_REQUEST;
	case CURLE_OUT_OF_MEMORY:
	case CURLE_FAILED_INIT:
	case CURLE_UNKNOWN_OPTION:
	case CURLE_NOT_BUILT_IN:
		return RECORD_CAUSE_INTERNAL;
	default:
		return RECORD_CAUSE_NETWORK;
	}
}

static int fetch_finish(const struct transfer *t, CURLcode code)
{
	static const struct values none;
	struct buffer out = { 0 };

	if (t->is_lost)
		return 1;
	if (t->is_too_large && !t->has_head)
		return fetch_fail(RECORD_CAUSE_SIZE, "the head of the response is too large");
	if (t->is_too_large)
		return fetch_fail(RECORD_CAUSE_SIZE,
			"the response has more than %llu bytes, which is the limit here",
			(unsigned long long)t->request->v[FETCH_MAX_BYTES].number);
	if (t->is_odd)
		return fetch_fail(RECORD_CAUSE_NETWORK, "the head of the response is no head");
	if (code != CURLE_OK && !t->is_cut)
		return fetch_fail(fetch_cause(code), "%s",
			t->message[0] ? t->message : curl_easy_strerror(code));
	if (!t->has_head)
		return fetch_fail(RECORD_CAUSE_NETWORK, "the server sent no response");
	(void)record_add_values(&out, RECORD_END, &none);
	return fetch_write(&out) < 0;
}

static int fetch_perform(const struct values *request)
{
	struct transfer t = { .request = request };
	struct curl_slist *headers = NULL;
	struct fetch_callback c = { .transfer = &t };
	CURLcode code;
	int r;

	c.curl = curl_easy_init();
	if (!c.curl || fetch_headers(request, &headers) < 0)
		return fetch_fail(RECORD_CAUSE_INTERNAL, "out of memory");
	code = fetch_set_up(c.curl, &t, &c, headers);
	if (code == CURLE_OK)
		code = curl_easy_perform(c.curl);
	r = fetch_finish(&t, code);
	curl_easy_cleanup(c.curl);
	curl_slist_free_all(headers);
	response_deinit(&t.response);
	return r;
}

/* The monitor has checked it; what comes from a pipe is checked all the same. */
static const char *fetch_check(const struct values *v)
{
	const struct value *headers = &v->v[FETCH_HEADERS];
	const char *fault = fetch_url_fault(v->v[FETCH_URL].text);

	for (size_t i = 0; !fault && i < headers->n; i++)
		fault = fetch_header_fault(headers->items[i].key, headers->items[i].text);
	for (const char *c = v->v[FETCH_METHOD].text; !fault && *c; c++) {
		if (*c < 'A' || *c > 'Z')
			fault = "a method is a word in capital letters";
	}
	return fault;
}

int main(int argc, char **argv)
{
	auto_buffer in = { 0 };
	auto_arena a = { 0 };
	const char *fault;
	struct values v;
	int r;

	if (isatty(STDIN_FILENO)) {
		(void)fputs(
			"corral-fetch: started by corral-broker; see corral-broker(8)\n", stderr);
		return 2;
	}
	if (argc == 5 && strcmp(argv[1], FETCH_SOCKET) == 0)
		return fetch_socket_run(argv[2], argv[3], strtoull(argv[4], NULL, 10));
	if (curl_global_init(CURL_GLOBAL_DEFAULT) != CURLE_OK)
		return fetch_fail(RECORD_CAUSE_INTERNAL, "libcurl cannot be used");
	if (file_read_fd(STDIN_FILENO, FETCH_REQUEST_MAX, &in) < 0 ||
		values_decode(fetch_request_fields, in.data, in.len, &a, &v) < 0)
		return fetch_fail(RECORD_CAUSE_INTERNAL, "the request was not understood");
	fault = fetch_check(&v);
	r = fault ? fetch_fail(RECORD_CAUSE_REQUEST, "%s", fault) : fetch_perform(&v);
	curl_global_cleanup();
	return r;
}
