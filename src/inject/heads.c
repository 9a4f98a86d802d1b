/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/heads.h"

#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "codec/encoding.h"
#include "codec/json.h"
#include "vault/format.h"

static const char *const heads_credential[] = {
	/* Of HTTP. */
	"Authorization",
	"Cookie",
	"Proxy-Authorization",
	/* Of many services. */
	"Api-Key",
	"Api-Token",
	"ApiKey",
	"Auth-Token",
	"X-Access-Token",
	"X-Api-Key",
	"X-Api-Token",
	"X-ApiKey",
	"X-Auth-Key",
	"X-Auth-Token",
	"X-Authorization",
	"X-Token",
	/* Of one. */
	"CF-Access-Client-Secret",
	"Circle-Token",
	"DD-API-KEY",
	"DD-APPLICATION-KEY",
	"Deploy-Token",
	"Fastly-Key",
	"Job-Token",
	"Ocp-Apim-Subscription-Key",
	"Private-Token",
	"X-Algolia-API-Key",
	"X-Amz-Security-Token",
	"X-Consul-Token",
	"X-Figma-Token",
	"X-GitHub-Token",
	"X-Goog-Api-Key",
	"X-Honeycomb-Team",
	"X-N8N-API-KEY",
	"X-NuGet-ApiKey",
	"X-Plex-Token",
	"X-Postmark-Server-Token",
	"X-RapidAPI-Key",
	"X-Redmine-API-Key",
	"X-Sentry-Auth",
	"X-Shopify-Access-Token",
	"X-Subscription-Token",
	"X-TrackerToken",
	"X-Vault-Token",
	"Xi-Api-Key",
};

static bool heads_is_credential(const char *name, size_t len)
{
	for (size_t i = 0; i < ROWS(heads_credential); i++)
		if (strlen(heads_credential[i]) == len &&
			strncasecmp(heads_credential[i], name, len) == 0)
			return true;
	return false;
}

/* A value with such a byte would end the line, and begin another one. */
static bool heads_is_line(const struct placeholder *p)
{
	for (size_t i = 0; i < p->value.len; i++) {
		uint8_t c = p->value.data[i];

		if (c == 0x7f || (c < ' ' && c != '\t'))
			return false;
	}
	return true;
}

/* A placeholders_judge. */
bool heads_judge(void *context, const struct placeholder *p)
{
	const struct heads *h = context;
	const bool is_line = h->place & (VAULT_HEADER | VAULT_FIELD);

	return h->may(
		h->context, p, is_line && !heads_is_line(p) ? 0 : h->place, h->field, h->field_len);
}

/* A placeholders_print. */
void heads_print_query(const char *value, size_t len, struct buffer *out)
{
	encoding_percent(value, len, "-._~", out);
}

/* The same, in a text of JSON. */
void heads_print_json(const char *value, size_t len, struct buffer *out)
{
	auto_buffer text = { 0 };

	json_print_string(&text, value, len);
	out->failed = out->failed || text.failed;
	if (text.len > 2)
		buffer_add(out, text.data + 1, text.len - 2);
	if (text.data)
		secret_wipe(text.data, text.cap);
}

void heads_replace(struct heads *h, uint32_t place, placeholders_print *print, const char *text,
	size_t len, struct buffer *out)
{
	h->place = place;
	(void)placeholders_replace(h->placeholders, text, len, heads_judge, h, print, out);
}

/* "METHOD target HTTP/1.1": only behind the first "?" is the query. */
static void heads_add_first(struct heads *h, const char *line, size_t len, struct buffer *out)
{
	const char *query = memchr(line, '?', len);
	const char *end = query ? memrchr(query, ' ', len - (size_t)(query - line)) : NULL;

	if (!end) {
		heads_replace(h, 0, NULL, line, len, out);
		return;
	}
	heads_replace(h, 0, NULL, line, (size_t)(query + 1 - line), out);
	heads_replace(h, VAULT_QUERY, heads_print_query, query + 1, (size_t)(end - query - 1), out);
	buffer_add(out, end, len - (size_t)(end - line));
}

/* A user and a password, with a colon between them. The first colon ends the user. */
static void heads_add_basic(struct heads *h, const char *text, size_t len, struct buffer *out)
{
	auto_arena arena = { 0 };
	auto_buffer plain = { 0 };
	const char *pair;
	size_t n;

	if (encoding_decode(ENCODING_BASE64, text, len, &arena, &pair, &n) < 0) {
		buffer_add(out, text, len);
		return;
	}
	heads_replace(h, VAULT_HEADER, NULL, pair, n, &plain);
	encoding_print(ENCODING_BASE64, buffer_text(&plain), plain.len, out);
	out->failed = out->failed || plain.failed;
	if (plain.data)
		secret_wipe(plain.data, plain.cap);
}

static bool heads_is_field(const char *line, size_t len, const char *name)
{
	return len == strlen(name) && strncasecmp(line, name, len) == 0;
}

/*
 * With these an answer could come in parts, or in a form, in which a value is not found. A host may
 * always answer as if it had not seen them.
 */
static bool heads_is_dropped(const struct heads *h, const char *line, size_t len)
{
	static const char *const names[] = { "Range", "If-Range", "A-IM",
		"Sec-WebSocket-Extensions" };
	const char *colon = memchr(line, ':', len);

	for (size_t i = 0; colon && i < ROWS(names); i++)
		if (heads_is_field(line, (size_t)(colon - line), names[i]))
			return true;
	/* HTTP/2 has no other word in it than "trailers", without which gRPC does not answer. */
	return colon && !h->keeps_te && heads_is_field(line, (size_t)(colon - line), "TE");
}

/* "Name: value", with what stands around the value. */
static void heads_add_field(struct heads *h, const char *line, size_t len, struct buffer *out)
{
	static const char basic[] = "Basic ";
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : len, at = name;

	if (heads_is_field(line, name, "Accept-Encoding")) {
		buffer_adds(out, "Accept-Encoding: identity");
		return;
	}
	if (heads_is_field(line, name, "Grpc-Accept-Encoding")) {
		buffer_adds(out, "Grpc-Accept-Encoding: identity");
		return;
	}
	at += colon ? 1 : 0;
	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	buffer_add(out, line, at);
	if ((heads_is_field(line, name, "Authorization") ||
		    heads_is_field(line, name, "Proxy-Authorization")) &&
		len - at > strlen(basic) && strncasecmp(line + at, basic, strlen(basic)) == 0) {
		buffer_add(out, line + at, strlen(basic));
		at += strlen(basic);
		while (len > at && (line[len - 1] == ' ' || line[len - 1] == '\t'))
			len--;
		heads_add_basic(h, line + at, len - at, out);
		return;
	}
	h->field = line;
	h->field_len = name;
	heads_replace(h, heads_is_credential(line, name) ? VAULT_HEADER : VAULT_FIELD, NULL,
		line + at, len - at, out);
}

/* "application/json; charset=utf-8": is the type this one? "+json" is its end. */
static bool heads_is_type(const char *value, size_t len, const char *type)
{
	const size_t n = strlen(type);
	size_t end = 0;

	while (end < len && !strchr(" \t;", value[end]))
		end++;
	return type[0] == '+' ? end > n && strncasecmp(value + end - n, type, n) == 0
			      : end == n && strncasecmp(value, type, n) == 0;
}

bool heads_is_grpc(const char *type, size_t len)
{
	static const char name[] = "application/grpc";
	const size_t n = strlen(name);

	return len >= n && strncasecmp(type, name, n) == 0 &&
	       (len == n || strchr("+-; \t", type[n]));
}

static void heads_look_at_field(const char *line, size_t len, struct heads_look *h)
{
	const char *colon = memchr(line, ':', len);
	size_t name = colon ? (size_t)(colon - line) : len, at = name + 1;

	while (at < len && (line[at] == ' ' || line[at] == '\t'))
		at++;
	if (at >= len)
		return;
	if (heads_is_field(line, name, "Expect"))
		h->expects = true;
	else if (heads_is_field(line, name, "Content-Encoding"))
		h->is_encoded = h->is_encoded || !heads_is_type(line + at, len - at, "identity");
	else if (heads_is_field(line, name, "Content-Type"))
		h->n_types++,
			h->is_form = heads_is_type(
				line + at, len - at, "application/x-www-form-urlencoded"),
			h->is_json = heads_is_type(line + at, len - at, "application/json") ||
				     heads_is_type(line + at, len - at, "+json"),
			h->is_grpc = heads_is_grpc(line + at, len - at);
}

struct heads_look heads_look(const char *head, size_t len)
{
	struct heads_look h = { 0 };
	bool is_first = true;

	while (len > 0) {
		const char *lf = memchr(head, '\n', len);
		size_t n = lf ? (size_t)(lf - head) - 1 : len;

		if (n > 0 && !is_first)
			heads_look_at_field(head, n, &h);
		is_first = is_first && n == 0;
		if (!lf)
			break;
		len -= n + 2;
		head = lf + 1;
	}
	return h;
}

/* It was parsed: each line ends with CR LF, and none is folded. Without the empty line. */
void heads_add(struct heads *h, const char *head, size_t len, bool drops_length, struct buffer *out)
{
	bool is_first = true;

	while (len > 0) {
		const char *lf = memchr(head, '\n', len);
		size_t n = lf ? (size_t)(lf - head) - 1 : len;
		const char *colon = memchr(head, ':', n);
		const bool is_dropped =
			!is_first && (heads_is_dropped(h, head, n) ||
					     (drops_length && colon &&
						     heads_is_field(head, (size_t)(colon - head),
							     "Content-Length")));

		if (n > 0 && is_first)
			heads_add_first(h, head, n, out);
		else if (n > 0 && !is_dropped)
			heads_add_field(h, head, n, out);
		if (!lf)
			return;
		/* Of empty lines those in front of the request stay. */
		if (!is_dropped && (n > 0 || is_first))
			buffer_adds(out, "\r\n");
		is_first = is_first && n == 0;
		len -= n + 2;
		head = lf + 1;
	}
}
