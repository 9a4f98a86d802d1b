/* SPDX-License-Identifier: Apache-2.0 */
#include "services/calendar/dav-client.h"

#include <curl/curl.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/ascii.h"
#include "base/clock.h"
#include "base/file.h"
#include "jail/seccomp/seccomp.h"
#include "services/calendar/dav-answer.h"
#include "services/calendar/store.h"
#include "services/connector.h"

enum { DAV_CLIENT_AUTHORITIES = 8 << 20, DAV_CLIENT_HEAD = 64 << 10 };

struct dav_client {
	CURL *curl;
	struct connector connector;
	struct buffer authorities;
	char *origin, *path, *host, *user, *password;
	struct curl_slist *resolve;
	uint64_t until_ms;
	/* Of the request that is made. */
	struct dav_reply *reply;
	size_t head; /* bytes of it */
	bool is_too_large;
	int dialed; /* why there is no connection */
	char message[CURL_ERROR_SIZE];
};

/* The URL */

static int dav_part(CURLU *url, CURLUPart part, unsigned flags, char **ret)
{
	char *text = NULL;

	if (curl_url_get(url, part, &text, flags) != CURLUE_OK)
		return -EINVAL;
	*ret = strdup(text);
	curl_free(text);
	return *ret ? 0 : -ENOMEM;
}

static bool dav_is_loopback(const char *host)
{
	return strcmp(host, "localhost") == 0 || strcmp(host, "127.0.0.1") == 0 ||
	       strcmp(host, "[::1]") == 0;
}

/* Scheme, host, port and path; names without an address. */
static int dav_take_apart(struct dav_client *c, CURLU *url, uint16_t *ret_port, struct error *e)
{
	char *scheme = NULL, *port = NULL, *extra = NULL;
	int r = dav_part(url, CURLUPART_SCHEME, 0, &scheme);
	bool is_tls;

	if (r == 0)
		r = dav_part(url, CURLUPART_HOST, 0, &c->host);
	if (r == 0)
		r = dav_part(url, CURLUPART_PORT, CURLU_DEFAULT_PORT, &port);
	if (r == 0)
		r = dav_part(url, CURLUPART_PATH, 0, &c->path);
	if (r == 0 && (dav_part(url, CURLUPART_USER, 0, &extra) == 0 ||
			      dav_part(url, CURLUPART_QUERY, 0, &extra) == 0))
		r = -EINVAL;
	is_tls = r == 0 && strcmp(scheme, "https") == 0;
	if (r == 0) {
		*ret_port = (uint16_t)strtoul(port, NULL, 10);
		if (asprintf(&c->origin, "%s://%s:%s", scheme, c->host, port) < 0) {
			c->origin = NULL;
			r = -ENOMEM;
		}
	}
	if (r == 0 && !is_tls && !(strcmp(scheme, "http") == 0 && dav_is_loopback(c->host)))
		r = error_set(e, -EINVAL, NULL, "url: the server must be spoken to by https");
	else if (r < 0)
		r = error_set(e, r, NULL,
			"url: expected https://HOST[:PORT]/PATH, without user and query");
	free(scheme);
	free(port);
	free(extra);
	return r;
}

static int dav_read_url(struct dav_client *c, const char *text, uint16_t *ret_port, struct error *e)
{
	CURLU *url = curl_url();
	int r = url ? 0 : -ENOMEM;

	if (r == 0 && curl_url_set(url, CURLUPART_URL, text, 0) != CURLUE_OK)
		r = error_set(e, -EINVAL, NULL, "url: expected https://HOST[:PORT]/PATH");
	if (r == 0)
		r = dav_take_apart(c, url, ret_port, e);
	curl_url_cleanup(url);
	return r;
}

/* What the library calls */

/* Sockets come from the connector, whatever address the library has in mind. */
static curl_socket_t dav_on_socket(
	void *context, curlsocktype purpose, struct curl_sockaddr *address)
{
	struct dav_client *c = context;
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	int fd;

	(void)purpose;
	(void)address;
	fd = connector_connect(&c->connector, c->until_ms > now ? c->until_ms - now : 1);
	c->dialed = fd < 0 ? fd : 0;
	return fd < 0 ? CURL_SOCKET_BAD : fd;
}

static int dav_on_connected(void *context, curl_socket_t fd, curlsocktype purpose)
{
	(void)context;
	(void)fd;
	(void)purpose;
	return CURL_SOCKOPT_ALREADY_CONNECTED;
}

static size_t dav_on_body(char *data, size_t size, size_t n, void *context)
{
	struct dav_client *c = context;

	n *= size;
	if (n > DAV_ANSWER_BYTES - c->reply->body.len) {
		c->is_too_large = true;
		return 0;
	}
	buffer_add(&c->reply->body, data, n);
	return c->reply->body.failed ? 0 : n;
}

/* The value of a header, if the line is that one. */
static void dav_take_header(
	const char *line, size_t len, const char *name, size_t max, struct buffer *out)
{
	const size_t n = strlen(name);

	if (len <= n || strncasecmp(line, name, n) != 0)
		return;
	line += n;
	len -= n;
	while (len > 0 && (*line == ' ' || *line == '\t')) {
		line++;
		len--;
	}
	while (len > 0 && (unsigned char)line[len - 1] <= ' ')
		len--;
	buffer_clear(out);
	if (len <= max)
		buffer_add(out, line, len);
}

static size_t dav_on_line(char *line, size_t size, size_t n, void *context)
{
	struct dav_client *c = context;

	n *= size;
	c->head += n;
	if (c->head > DAV_CLIENT_HEAD) {
		c->is_too_large = true;
		return 0;
	}
	dav_take_header(line, n, "etag:", STORE_TAG_MAX, &c->reply->tag);
	dav_take_header(line, n, "location:", DAV_ANSWER_TEXT, &c->reply->location);
	return n;
}

/* Setting up */

#define SET(option, value)                                                      \
	do {                                                                    \
		if (r == CURLE_OK)                                              \
			r = curl_easy_setopt(c->curl, CURLOPT_##option, value); \
	} while (0)

static CURLcode dav_set_up(struct dav_client *c)
{
	struct curl_blob blob = {
		.data = c->authorities.data, .len = c->authorities.len, .flags = CURL_BLOB_NOCOPY
	};
	CURLcode r = CURLE_OK;

	SET(ERRORBUFFER, c->message);
	SET(NOSIGNAL, 1L);
	SET(PROTOCOLS_STR, strncmp(c->origin, "https", 5) == 0 ? "https" : "http");
	SET(DISALLOW_USERNAME_IN_URL, 1L);
	SET(FOLLOWLOCATION, 0L);
	SET(PROXY, "");
	SET(NOPROXY, "*");
	SET(NETRC, (long)CURL_NETRC_IGNORED);
	SET(HTTP09_ALLOWED, 0L);
	SET(HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
	SET(PATH_AS_IS, 1L);
	SET(SSL_VERIFYPEER, 1L);
	SET(SSL_VERIFYHOST, 2L);
	SET(SSLVERSION, (long)CURL_SSLVERSION_TLSv1_2);
	SET(CAPATH, NULL);
	SET(CAINFO, NULL);
	if (c->authorities.len > 0)
		SET(CAINFO_BLOB, &blob);
	/* No name is looked up here. */
	SET(RESOLVE, c->resolve);
	SET(OPENSOCKETFUNCTION, dav_on_socket);
	SET(OPENSOCKETDATA, c);
	SET(SOCKOPTFUNCTION, dav_on_connected);
	SET(WRITEFUNCTION, dav_on_body);
	SET(WRITEDATA, c);
	SET(HEADERFUNCTION, dav_on_line);
	SET(HEADERDATA, c);
	SET(USERAGENT, "corral-calendar");
	if (c->user && c->password) {
		SET(HTTPAUTH, (long)CURLAUTH_BASIC);
		SET(USERNAME, c->user);
		SET(PASSWORD, c->password);
	}
	return r;
}

static int dav_read_authorities(struct dav_client *c, const char *path, struct error *e)
{
	const curl_version_info_data *info = curl_version_info(CURLVERSION_NOW);
	int r;

	if (!path)
		path = info->cainfo ? info->cainfo : "/etc/ssl/certs/ca-certificates.crt";
	r = file_read(path, DAV_CLIENT_AUTHORITIES, &c->authorities);
	if (r == 0)
		return 0;
	r = error_set(
		e, r, NULL, "the certificates in `%s` cannot be read: %s", path, strerror(-r));
	error_hint(e, "name a file by authorities, or install ca-certificates");
	return r;
}

/* host:port:address, as the library reads it; the address is never used. */
static int dav_pin(struct dav_client *c, uint16_t port)
{
	auto_buffer text = { 0 };

	buffer_printf(&text, "%s:%u:127.0.0.1", c->host, port);
	c->resolve = text.failed ? NULL : curl_slist_append(NULL, text.data);
	return c->resolve ? 0 : -ENOMEM;
}

/* An address of IPv6 stands in brackets in a URL, and without them elsewhere. */
static int dav_start_connector(struct dav_client *c, uint16_t port)
{
	const size_t len = strlen(c->host);
	char *bare = c->host[0] == '[' ? strndup(c->host + 1, len - 2) : strdup(c->host);
	int r = bare ? connector_start(&c->connector, bare, port) : -ENOMEM;

	free(bare);
	return r;
}

int dav_client_new(struct dav_client **ret, const struct dav_client_options *o, struct error *e)
{
	struct dav_client *c = calloc(1, sizeof(*c));
	uint16_t port = 0;
	int r = c && curl_global_init(CURL_GLOBAL_ALL) == CURLE_OK ? 0 : -ENOMEM;

	if (!c)
		return error_no_memory(e);
	if (r == 0)
		r = dav_read_url(c, o->url, &port, e);
	if (r == 0 && c->origin && strncmp(c->origin, "https", 5) == 0)
		r = dav_read_authorities(c, o->authorities, e);
	if (r == 0) {
		c->user = o->user ? strdup(o->user) : NULL;
		c->password = o->password ? strdup(o->password) : NULL;
		c->curl = curl_easy_init();
		r = c->curl ? dav_pin(c, port) : -ENOMEM;
	}
	if (r == 0 && dav_set_up(c) != CURLE_OK)
		r = error_set(e, -ENOSYS, NULL, "this libcurl cannot do what CalDAV needs");
	if (r == 0) {
		r = dav_start_connector(c, port);
		if (r == 0)
			r = seccomp_feign_connect();
		if (r < 0)
			(void)error_set(e, r, NULL, "no connections can be had: %s", strerror(-r));
	}
	if (r < 0) {
		dav_client_free(c);
		return r == -ENOMEM ? error_no_memory(e) : r;
	}
	*ret = c;
	return 0;
}

void dav_client_free(struct dav_client *c)
{
	if (!c)
		return;
	curl_easy_cleanup(c->curl);
	curl_slist_free_all(c->resolve);
	buffer_deinit(&c->authorities);
	free(c->origin);
	free(c->path);
	free(c->host);
	free(c->user);
	if (c->password)
		explicit_bzero(c->password, strlen(c->password));
	free(c->password);
	free(c);
}

const char *dav_client_origin(const struct dav_client *c)
{
	return c->origin;
}

const char *dav_client_path(const struct dav_client *c)
{
	return c->path;
}

/* Requests */

static int dav_add_header(struct curl_slist **list, const char *name, const char *value)
{
	auto_buffer line = { 0 };
	struct curl_slist *longer;

	if (!value)
		return 0;
	/* A tag is the server's: it must not become a header of its own. */
	for (const char *at = value; *at; at++)
		if (ascii_is_control(*at))
			return -EINVAL;
	buffer_printf(&line, "%s: %s", name, value);
	longer = line.failed ? NULL : curl_slist_append(*list, line.data);
	*list = longer ? longer : *list;
	return longer ? 0 : -ENOMEM;
}

static int dav_headers(const struct dav_request *q, struct curl_slist **ret)
{
	int r = dav_add_header(ret, "Depth", q->depth);

	if (r == 0)
		r = dav_add_header(ret, "If-Match", q->match);
	if (r == 0 && q->is_new)
		r = dav_add_header(ret, "If-None-Match", "*");
	if (r == 0)
		r = dav_add_header(ret, "Content-Type", q->type);
	if (r == 0) {
		struct curl_slist *longer = curl_slist_append(*ret, "Expect:");

		*ret = longer ? longer : *ret;
		r = longer ? 0 : -ENOMEM;
	}
	return r;
}

static CURLcode dav_set_request(struct dav_client *c, const struct dav_request *q, const char *url,
	struct curl_slist *headers)
{
	const uint64_t now = clock_ms(CLOCK_MONOTONIC);
	CURLcode r = CURLE_OK;

	SET(URL, url);
	SET(CUSTOMREQUEST, q->method);
	SET(HTTPHEADER, headers);
	SET(TIMEOUT_MS, c->until_ms > now + 200 ? (long)(c->until_ms - now - 200) : 1L);
	if (q->body) {
		SET(POSTFIELDSIZE_LARGE, (curl_off_t)q->len);
		SET(POSTFIELDS, q->body);
	} else
		SET(HTTPGET, 1L);
	SET(CUSTOMREQUEST, q->method);
	return r;
}

static int dav_failed(struct dav_client *c, CURLcode code, struct error *e)
{
	const char *why = c->message[0] ? c->message : curl_easy_strerror(code);

	if (c->is_too_large)
		return error_set(e, -E2BIG, NULL, "the server's answer is too large");
	if (code == CURLE_OPERATION_TIMEDOUT || c->dialed == -ETIMEDOUT)
		return error_set(e, -ETIMEDOUT, NULL, "the server %s does not answer", c->host);
	if (c->dialed < 0)
		return error_set(e, -EIO, NULL, "the server %s cannot be reached: %s", c->host,
			strerror(-c->dialed));
	return error_set(e, -EIO, NULL, "the server %s cannot be spoken to: %s", c->host, why);
}

int dav_client_request(struct dav_client *c, const struct dav_request *q, uint64_t until_ms,
	struct dav_reply *ret, struct error *e)
{
	struct curl_slist *headers = NULL;
	auto_buffer url = { 0 };
	CURLcode code = CURLE_OUT_OF_MEMORY;
	int r = dav_headers(q, &headers);

	dav_reply_deinit(ret);
	c->reply = ret;
	c->head = 0;
	c->is_too_large = false;
	c->dialed = 0;
	c->until_ms = until_ms;
	c->message[0] = '\0';
	buffer_printf(&url, "%s%s", c->origin, q->path);
	if (r == 0 && !url.failed)
		code = dav_set_request(c, q, url.data, headers);
	if (r == 0 && code == CURLE_OK)
		code = curl_easy_perform(c->curl);
	curl_slist_free_all(headers);
	if (r < 0)
		return error_set(e, r, NULL, "the server gave a tag that cannot be sent");
	if (code != CURLE_OK)
		return dav_failed(c, code, e);
	(void)curl_easy_getinfo(c->curl, CURLINFO_RESPONSE_CODE, &ret->status);
	return 0;
}

void dav_reply_deinit(struct dav_reply *r)
{
	buffer_deinit(&r->body);
	buffer_deinit(&r->tag);
	buffer_deinit(&r->location);
	*r = (struct dav_reply){ 0 };
}
