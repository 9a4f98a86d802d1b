/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that is stricter than any server. The server decides by its own reading which host
 * answers and where the next request starts; ours must come to the same, or the policy judged
 * another request than the one that is served. So there is one spelling for everything: CR LF, one
 * space, names of fields without a space after, one host, one length. What is spelled otherwise is
 * not repaired but refused, whether or not some server would take it.
 *
 * The head is copied and cut into strings in place.
 */
#include "net/gate/internal.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

#include "policy/network/address.h"
#include "policy/network/host.h"

enum {
	LABEL_MAX = 63,
	NAME_MAX_BYTES = 253,
	PORT_HTTP = 80,
	LENGTH_DIGITS = 18, /* fits into 63 bits, whatever the digits */
	CHUNK_DIGITS = 16,
};

/* Names of hosts, also for TLS. */

static void host_text_copy_lower(char *out, const char *text, size_t len)
{
	for (size_t i = 0; i < len; i++)
		out[i] = text[i] >= 'A' && text[i] <= 'Z' ? (char)(text[i] | 0x20) : text[i];
	out[len] = '\0';
}

/* Labels of 1 to 63 name characters between dots. */
static bool host_text_is_name(const char *text, size_t len)
{
	size_t label = 0;

	if (len > NAME_MAX_BYTES)
		return false;
	for (size_t i = 0; i < len; i++) {
		char c = text[i];
		bool fits = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') ||
			    (c >= '0' && c <= '9') || c == '-' || c == '_';

		if (c == '.' ? label == 0 : !fits)
			return false;
		label = c == '.' ? 0 : label + 1;
		if (label > LABEL_MAX)
			return false;
	}
	return label > 0;
}

int host_text_name(const char *text, size_t len, char out[HOST_TEXT_BYTES])
{
	struct address a;
	bool is_address = address_parse(text, len, &a) == 0 && a.bits == 32;

	/* Before the dot is taken away: "1.2.3.4." is an address to some readers. */
	if (!is_address && address_parse_loose(text, len, &a) != -EINVAL)
		return -EINVAL;
	if (len > 0 && text[len - 1] == '.')
		len--;
	if (!host_text_is_name(text, len))
		return -EINVAL;
	host_text_copy_lower(out, text, len);
	return is_address;
}

int host_text_authority(const char *text, size_t len, char out[HOST_TEXT_BYTES], uint16_t *ret_port)
{
	bool brackets = len > 0 && text[0] == '[';
	const char *end = len > 0 ? memchr(text, brackets ? ']' : ':', len) : NULL;
	size_t n = end ? (size_t)(end - text) + brackets : brackets ? 0 : len;
	struct address a;
	uint16_t port = 0;

	if (n == 0 || n >= HOST_TEXT_BYTES)
		return -EINVAL;
	if (brackets && (address_parse(text + 1, n - 2, &a) < 0 || a.bits != 128))
		return -EINVAL;
	if (n < len && (text[n] != ':' || host_port_parse(text + n + 1, len - n - 1, &port) < 0))
		return -EINVAL;
	if (brackets)
		host_text_copy_lower(out, text, n);
	else if (host_text_name(text, n, out) < 0)
		return -EINVAL;
	*ret_port = port;
	return 0;
}

struct http_lines {
	char *at, *end;
};

/* The next line, cut at its CR LF; NULL: there is none, or it has a byte that no line has. */
static char *http_head_next_line(struct http_lines *l, size_t *ret_len)
{
	char *line = l->at;
	char *lf = memchr(line, '\n', (size_t)(l->end - line));

	if (!lf || lf == line || lf[-1] != '\r')
		return NULL;
	for (const char *p = line; p < lf - 1; p++)
		if (((unsigned char)*p < ' ' && *p != '\t') || *p == 0x7f)
			return NULL;
	lf[-1] = '\0';
	l->at = lf + 1;
	*ret_len = (size_t)(lf - 1 - line);
	return line;
}

static bool http_head_is_token(const char *text)
{
	static const char token[] = "!#$%&'*+-.^_`|~0123456789"
				    "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";

	return text[0] != '\0' && text[strspn(text, token)] == '\0';
}

/* Cuts what stands around it away. */
static char *http_head_trim(char *text)
{
	size_t n;

	text += strspn(text, " \t");
	n = strlen(text);
	while (n > 0 && (text[n - 1] == ' ' || text[n - 1] == '\t'))
		n--;
	text[n] = '\0';
	return text;
}

/* Fields. */

static int http_head_read_host(struct http_head *h, char *value)
{
	char host[HOST_TEXT_BYTES];
	uint16_t port, said = h->request.port;
	int r = host_text_authority(value, strlen(value), host, &port);

	if (r < 0)
		return r;
	if (!h->has_authority) {
		memcpy(h->host, host, sizeof(host));
		h->request.port = port;
		return 0;
	}
	if (strcmp(host, h->host) != 0)
		return -EINVAL;
	/* With CONNECT the port was said in the target; the field may leave it out. */
	if (h->request.upgrade && port == 0)
		return 0;
	if ((port ? port : PORT_HTTP) != (said ? said : PORT_HTTP))
		return -EINVAL;
	if (said == 0)
		h->request.port = port;
	return 0;
}

static int http_head_read_length(struct http_head *h, char *value)
{
	size_t n = strspn(value, "0123456789");

	if (n == 0 || n > LENGTH_DIGITS || value[n] != '\0' || (value[0] == '0' && n > 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		h->length = h->length * 10 + (uint64_t)(value[i] - '0');
	return 0;
}

enum http_field {
	FIELD_HOST,
	FIELD_LENGTH,
	FIELD_CODING,
	FIELD_CONNECTION,
	FIELD_UPGRADE,
	FIELD_OTHER
};

static enum http_field http_head_find_field(const char *name)
{
	static const char *const names[] = {
		[FIELD_HOST] = "host",
		[FIELD_LENGTH] = "content-length",
		[FIELD_CODING] = "transfer-encoding",
		[FIELD_CONNECTION] = "connection",
		[FIELD_UPGRADE] = "upgrade",
	};
	enum http_field i = FIELD_HOST;

	while (i < FIELD_OTHER && strcasecmp(name, names[i]) != 0)
		i++;
	return i;
}

/*
 * Fields that are named here end at the next server: without its host or length, the request that
 * is served after that one would be another.
 */
static int http_head_read_connection(struct http_head *h, char *value)
{
	char *word;

	while ((word = strsep(&value, ","))) {
		const char *name = http_head_trim(word);
		enum http_field f = http_head_find_field(name);

		h->closes = h->closes || strcasecmp(name, "close") == 0;
		if (f == FIELD_HOST || f == FIELD_LENGTH || f == FIELD_CODING)
			return -EINVAL;
		if (f == FIELD_UPGRADE)
			h->wants_upgrade = true;
	}
	return 0;
}

/*
 * "name: value". A folded line starts with a space, which no name has. What decides about the
 * request may not come after it.
 */
static int http_head_read_field(struct http_head *h, char *line, bool trailer)
{
	char *colon = strchr(line, ':'), *value;
	enum http_field f;

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	if (!http_head_is_token(line))
		return -EINVAL;
	f = http_head_find_field(line);
	if (f == FIELD_OTHER)
		return h->visit && h->visit(h->context, line, http_head_trim(colon + 1)) != 0
			       ? -EINVAL
			       : 0;
	if (trailer || (f != FIELD_CONNECTION && h->seen & 1U << f))
		return -EINVAL;
	h->seen |= 1U << f;
	value = http_head_trim(colon + 1);
	switch (f) {
	case FIELD_HOST:
		return http_head_read_host(h, value);
	case FIELD_LENGTH:
		return http_head_read_length(h, value);
	case FIELD_CODING:
		h->chunked = true;
		return strcasecmp(value, "chunked") == 0 ? 0 : -EINVAL;
	case FIELD_CONNECTION:
		return http_head_read_connection(h, value);
	case FIELD_UPGRADE:
		h->upgrade_to = value;
		return value[0] == '\0' ? -EINVAL : 0;
	case FIELD_OTHER:
		break;
	}
	return 0;
}

static void http_head_cut_query(struct http_head *h, char *path)
{
	char *question = strchr(path, '?');

	if (!question)
		return;
	*question = '\0';
	h->request.query = question + 1;
}

static int http_head_read_absolute(struct http_head *h, char *target)
{
	static const char scheme[] = "http://";
	size_t n;
	char *path;
	int r;

	if (strncasecmp(target, scheme, strlen(scheme)) != 0)
		return -EINVAL;
	target += strlen(scheme);
	n = strcspn(target, "/?");
	/* Some would look for the host after it (policy/network/url.h). */
	if (target[n] == '?' && strchr(target + n, '@'))
		return -EINVAL;
	h->has_authority = true;
	r = host_text_authority(target, n, h->host, &h->request.port);
	path = target + n;
	h->request.path = path[0] == '/' ? path : "/";
	http_head_cut_query(h, path);
	return r;
}

static int http_head_read_target(struct http_head *h, char *target)
{
	int r;

	if (strpbrk(target, "\t#"))
		return -EINVAL;
	if (strcmp(h->request.method, "CONNECT") == 0) {
		h->has_authority = true;
		r = host_text_authority(target, strlen(target), h->host, &h->request.port);
		h->request.upgrade = true;
		h->request.path = "";
		return r < 0 || h->request.port == 0 ? -EINVAL : 0;
	}
	if (target[0] != '/' && strcmp(target, "*") != 0)
		return http_head_read_absolute(h, target);
	h->request.path = target;
	http_head_cut_query(h, target);
	if (target[0] == '*' && strcmp(h->request.method, "OPTIONS") != 0)
		return -EINVAL;
	return 0;
}

static int http_head_begin(
	struct http_head *h, struct http_lines *l, const uint8_t *data, size_t len)
{
	if (len > sizeof(h->text))
		return -E2BIG;
	/* Not all of it: the text is big, and is written over. */
	memset(h, 0, offsetof(struct http_head, text));
	memcpy(h->text, data, len);
	h->request.host = h->host;
	h->request.upgrade_to = "";
	*l = (struct http_lines){ h->text, h->text + len };
	return 0;
}

/* All lines up to the empty one, which must be the last. */
static int http_head_read_fields(struct http_head *h, struct http_lines *l, bool trailers)
{
	for (;;) {
		size_t n;
		char *line = http_head_next_line(l, &n);
		int r;

		if (!line)
			return -EINVAL;
		if (n == 0)
			return l->at == l->end ? 0 : -EINVAL;
		r = http_head_read_field(h, line, trailers);
		if (r < 0)
			return r;
	}
}

int http_head_parse(struct http_head *ret, const uint8_t *data, size_t len)
{
	return http_head_parse_all(ret, data, len, NULL, NULL);
}

int http_head_parse_all(struct http_head *ret, const uint8_t *data, size_t len,
	http_head_visit *visit, void *context)
{
	struct http_lines l;
	char *line, *method, *target;
	size_t n;
	int r = http_head_begin(ret, &l, data, len);

	if (r < 0)
		return r;
	ret->visit = visit;
	ret->context = context;
	do {
		line = http_head_next_line(&l, &n);
	} while (line && n == 0);
	if (!line)
		return -EINVAL;
	method = strsep(&line, " ");
	target = strsep(&line, " ");
	if (!line || !http_head_is_token(method))
		return -EINVAL;
	ret->is_1_0 = strcmp(line, "HTTP/1.0") == 0;
	if (!ret->is_1_0 && strcmp(line, "HTTP/1.1") != 0)
		return -EINVAL;
	ret->closes = ret->is_1_0;
	ret->request.method = method;
	r = http_head_read_target(ret, target);
	if (r == 0)
		r = http_head_read_fields(ret, &l, false);
	if (r < 0)
		return r;
	if (!ret->is_1_0 && !(ret->seen & 1U << FIELD_HOST))
		return -EINVAL;
	if (ret->chunked && (ret->is_1_0 || ret->seen & 1U << FIELD_LENGTH))
		return -EINVAL;
	if (ret->request.upgrade)
		return ret->chunked || ret->length > 0 ? -EINVAL : 0;
	if (ret->wants_upgrade && ret->upgrade_to) {
		ret->request.upgrade = true;
		ret->request.upgrade_to = ret->upgrade_to;
	}
	return 0;
}

int http_head_check_trailers(const uint8_t *data, size_t len)
{
	struct http_head h;
	struct http_lines l;
	int r = http_head_begin(&h, &l, data, len);

	return r < 0 ? r : http_head_read_fields(&h, &l, true);
}

int http_head_parse_chunk(const uint8_t *line, size_t len, uint64_t *ret_size)
{
	uint64_t size = 0;
	size_t n = 0;

	for (; n < len; n++) {
		uint8_t c = line[n], low = c | 0x20;

		if (!(c >= '0' && c <= '9') && !(low >= 'a' && low <= 'f'))
			break;
		if (n == CHUNK_DIGITS)
			return -EINVAL;
		size = size << 4 | (uint64_t)(c <= '9' ? c - '0' : low - 'a' + 10);
	}
	if (n == 0 || size > INT64_MAX || (n < len && line[n] != ';'))
		return -EINVAL;
	for (; n < len; n++)
		if ((line[n] < ' ' && line[n] != '\t') || line[n] == 0x7f)
			return -EINVAL;
	*ret_size = size;
	return 0;
}
