/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A reader that is stricter than any server. The server decides by its own reading which host
 * answers and where the next request starts; ours must come to the same, or the policy judged
 * another request than the one that is served. So there is one spelling for everything: CR LF, one
 * space, names of fields without a space behind, one host, one length. What is spelled otherwise is
 * not repaired but refused, whether or not some server would take it.
 *
 * The head is copied and cut into strings in place.
 */
#include "net/gate/http-head.h"

#include <errno.h>
#include <string.h>
#include <strings.h>

enum {
	PORT_HTTP = 80,
	LENGTH_DIGITS = 18, /* fits into 63 bits, whatever the digits */
	CHUNK_DIGITS = 16,
};

struct lines {
	char *at, *end;
};

/* The next line, cut at its CR LF; NULL: there is none, or it has a byte that no line has. */
static char *http_head_next_line(struct lines *l, size_t *ret_len)
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

static bool is_token(const char *text)
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

static unsigned effective(uint16_t port)
{
	return port ? port : PORT_HTTP;
}

static int http_head_read_host(struct http_head *h, char *value)
{
	char host[HOST_TEXT_BYTES];
	uint16_t port;
	int r = host_text_authority(value, strlen(value), host, &port);

	if (r < 0)
		return r;
	if (!h->has_authority) {
		memcpy(h->host, host, sizeof(host));
		h->request.port = port;
		return 0;
	}
	/* With CONNECT the port was said in the target; the field may leave it out. */
	if (strcmp(host, h->host) != 0)
		return -EINVAL;
	if (h->request.upgrade && port == 0)
		return 0;
	if (effective(port) != effective(h->request.port))
		return -EINVAL;
	if (h->request.port == 0)
		h->request.port = port;
	return 0;
}

static int read_length(struct http_head *h, char *value)
{
	size_t n = strspn(value, "0123456789");

	if (n == 0 || n > LENGTH_DIGITS || value[n] != '\0' || (value[0] == '0' && n > 1))
		return -EINVAL;
	for (size_t i = 0; i < n; i++)
		h->length = h->length * 10 + (uint64_t)(value[i] - '0');
	return 0;
}

static int read_coding(struct http_head *h, char *value)
{
	if (strcasecmp(value, "chunked") != 0)
		return -EINVAL;
	h->chunked = true;
	return 0;
}

static int read_connection(struct http_head *h, char *value);

static int read_upgrade(struct http_head *h, char *value)
{
	h->upgrade_to = value;
	return value[0] == '\0' ? -EINVAL : 0;
}

enum field { FIELD_HOST, FIELD_LENGTH, FIELD_CODING, FIELD_CONNECTION, FIELD_UPGRADE, FIELD_OTHER };

static const struct {
	const char *name;
	int (*read)(struct http_head *h, char *value);
	bool many;
} fields[] = {
	[FIELD_HOST] = { "host", http_head_read_host, false },
	[FIELD_LENGTH] = { "content-length", read_length, false },
	[FIELD_CODING] = { "transfer-encoding", read_coding, false },
	[FIELD_CONNECTION] = { "connection", read_connection, true },
	[FIELD_UPGRADE] = { "upgrade", read_upgrade, false },
};

static enum field http_head_find_field(const char *name)
{
	enum field i = FIELD_HOST;

	while (i < FIELD_OTHER && strcasecmp(name, fields[i].name) != 0)
		i++;
	return i;
}

/*
 * Fields that are named here end at the next server: without its host or length, the request that
 * is served behind that one would be another.
 */
static int read_connection(struct http_head *h, char *value)
{
	char *word;

	while ((word = strsep(&value, ","))) {
		word = http_head_trim(word);
		switch (http_head_find_field(word)) {
		case FIELD_HOST:
		case FIELD_LENGTH:
		case FIELD_CODING:
			return -EINVAL;
		case FIELD_UPGRADE:
			h->wants_upgrade = true;
			break;
		case FIELD_CONNECTION:
		case FIELD_OTHER:
			break;
		}
	}
	return 0;
}

/* "name: value". A folded line starts with a space, which no name has. */
static int split_field(char *line, enum field *ret, char **ret_value)
{
	char *colon = strchr(line, ':');

	if (!colon)
		return -EINVAL;
	*colon = '\0';
	if (!is_token(line))
		return -EINVAL;
	*ret = http_head_find_field(line);
	*ret_value = http_head_trim(colon + 1);
	return 0;
}

static int read_field(struct http_head *h, char *line)
{
	enum field f;
	char *value;
	int r = split_field(line, &f, &value);

	if (r < 0 || f == FIELD_OTHER)
		return r;
	if (!fields[f].many && h->seen & 1U << f)
		return -EINVAL;
	h->seen |= 1U << f;
	return fields[f].read(h, value);
}

/* The first line. */

static int read_authority(struct http_head *h, const char *text, size_t len)
{
	h->has_authority = true;
	return host_text_authority(text, len, h->host, &h->request.port);
}

static int read_connect(struct http_head *h, const char *target)
{
	int r = read_authority(h, target, strlen(target));

	h->request.upgrade = true;
	h->request.path = "";
	return r < 0 || h->request.port == 0 ? -EINVAL : 0;
}

static int read_absolute(struct http_head *h, char *target)
{
	static const char scheme[] = "http://";
	size_t n;
	char *path;
	int r;

	if (strncasecmp(target, scheme, strlen(scheme)) != 0)
		return -EINVAL;
	target += strlen(scheme);
	n = strcspn(target, "/?");
	r = read_authority(h, target, n);
	path = target + n;
	h->request.path = path[0] == '/' ? path : "/";
	path[strcspn(path, "?")] = '\0';
	return r;
}

static int http_head_read_target(struct http_head *h, char *target)
{
	if (strpbrk(target, "\t#"))
		return -EINVAL;
	if (strcmp(h->request.method, "CONNECT") == 0)
		return read_connect(h, target);
	if (target[0] != '/' && strcmp(target, "*") != 0)
		return read_absolute(h, target);
	h->request.path = target;
	target[strcspn(target, "?")] = '\0';
	if (target[0] == '*' && strcmp(h->request.method, "OPTIONS") != 0)
		return -EINVAL;
	return 0;
}

static int http_head_read_version(struct http_head *h, const char *version)
{
	h->is_1_0 = strcmp(version, "HTTP/1.0") == 0;
	return h->is_1_0 || strcmp(version, "HTTP/1.1") == 0 ? 0 : -EINVAL;
}

static int read_first(struct http_head *h, char *line)
{
	char *method = strsep(&line, " ");
	char *target = strsep(&line, " ");

	if (!line || !is_token(method) || http_head_read_version(h, line) < 0)
		return -EINVAL;
	h->request.method = method;
	return http_head_read_target(h, target);
}

/* The whole. */

static int http_head_check(struct http_head *h)
{
	bool has_length = h->seen & 1U << FIELD_LENGTH;

	if (!h->is_1_0 && !(h->seen & 1U << FIELD_HOST))
		return -EINVAL;
	if (h->chunked && (has_length || h->is_1_0))
		return -EINVAL;
	if (h->request.upgrade)
		return h->chunked || h->length > 0 ? -EINVAL : 0;
	if (h->wants_upgrade && h->upgrade_to) {
		h->request.upgrade = true;
		h->request.upgrade_to = h->upgrade_to;
	}
	return 0;
}

static int http_head_begin(struct http_head *h, struct lines *l, const uint8_t *data, size_t len)
{
	if (len > sizeof(h->text))
		return -E2BIG;
	/* Not all of it: the text is big, and is written over. */
	memset(h, 0, offsetof(struct http_head, text));
	memcpy(h->text, data, len);
	h->request.host = h->host;
	h->request.upgrade_to = "";
	*l = (struct lines){ h->text, h->text + len };
	return 0;
}

/* All lines up to the empty one, which must be the last. */
static int http_head_read_fields(
	struct http_head *h, struct lines *l, int (*read)(struct http_head *h, char *line))
{
	for (;;) {
		size_t n;
		char *line = http_head_next_line(l, &n);
		int r;

		if (!line)
			return -EINVAL;
		if (n == 0)
			return l->at == l->end ? 0 : -EINVAL;
		r = read(h, line);
		if (r < 0)
			return r;
	}
}

int http_head_parse(struct http_head *ret, const uint8_t *data, size_t len)
{
	struct lines l;
	char *line;
	size_t n;
	int r = http_head_begin(ret, &l, data, len);

	if (r < 0)
		return r;
	do {
		line = http_head_next_line(&l, &n);
	} while (line && n == 0);
	if (!line)
		return -EINVAL;
	r = read_first(ret, line);
	if (r == 0)
		r = http_head_read_fields(ret, &l, read_field);
	return r < 0 ? r : http_head_check(ret);
}

/* What decides about the request may not come behind it. */
static int read_trailer(struct http_head *h, char *line)
{
	enum field f;
	char *value;
	int r = split_field(line, &f, &value);

	(void)h;
	return r < 0 || f != FIELD_OTHER ? -EINVAL : 0;
}

int http_head_check_trailers(const uint8_t *data, size_t len)
{
	struct http_head h;
	struct lines l;
	int r = http_head_begin(&h, &l, data, len);

	return r < 0 ? r : http_head_read_fields(&h, &l, read_trailer);
}

static int hex_digit(uint8_t c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	c |= 0x20;
	return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

int http_head_parse_chunk(const uint8_t *line, size_t len, uint64_t *ret_size)
{
	uint64_t size = 0;
	size_t n = 0;

	for (; n < len && hex_digit(line[n]) >= 0; n++) {
		if (n == CHUNK_DIGITS)
			return -EINVAL;
		size = size << 4 | (uint64_t)hex_digit(line[n]);
	}
	if (n == 0 || size > INT64_MAX || (n < len && line[n] != ';'))
		return -EINVAL;
	for (; n < len; n++)
		if ((line[n] < ' ' && line[n] != '\t') || line[n] == 0x7f)
			return -EINVAL;
	*ret_size = size;
	return 0;
}
