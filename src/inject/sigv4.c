/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/sigv4.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "codec/encoding.h"

enum { SIGV4_HEADERS_MAX = 128, SIGV4_PARAMETERS_MAX = 512, SIGV4_HASH = 32 };

#define SIGV4_UNRESERVED "-._~"

static const char sigv4_scheme[] = "AWS4-HMAC-SHA256";
static const char sigv4_empty[] =
	"e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

/* Texts */

static bool sigv4_is(struct sigv4_text t, const char *text)
{
	return t.len == strlen(text) && strncasecmp(t.at, text, t.len) == 0;
}

static struct sigv4_text sigv4_trim(struct sigv4_text t)
{
	while (t.len > 0 && (t.at[0] == ' ' || t.at[0] == '\t'))
		t.at++, t.len--;
	while (t.len > 0 && (t.at[t.len - 1] == ' ' || t.at[t.len - 1] == '\t'))
		t.len--;
	return t;
}

/* What stands before the first c; *rest is what stands behind it. */
static struct sigv4_text sigv4_cut(struct sigv4_text *rest, char c)
{
	const char *end = memchr(rest->at, c, rest->len);
	struct sigv4_text first = { rest->at, end ? (size_t)(end - rest->at) : rest->len };

	rest->at += first.len + (end ? 1 : 0);
	rest->len -= first.len + (end ? 1 : 0);
	return first;
}

/* The Authorization header */

static int sigv4_take_credential(struct sigv4 *s, struct sigv4_text value)
{
	struct sigv4_text rest = value;

	s->id = sigv4_cut(&rest, '/');
	s->scope = rest;
	s->date = sigv4_cut(&rest, '/');
	s->region = sigv4_cut(&rest, '/');
	s->service = sigv4_cut(&rest, '/');
	return s->id.len > 0 && s->date.len == 8 && s->region.len > 0 && s->service.len > 0 &&
			       sigv4_is(rest, "aws4_request")
		       ? 0
		       : -EINVAL;
}

int sigv4_parse(struct sigv4 *ret, const char *value, size_t len)
{
	struct sigv4_text rest = sigv4_trim((struct sigv4_text){ value, len });
	struct sigv4_text scheme = sigv4_cut(&rest, ' ');
	struct sigv4 s = { .id = { NULL, 0 } };
	int r = 0;

	if (scheme.len >= strlen("AWS4-") &&
		strncasecmp(scheme.at, "AWS4-", strlen("AWS4-")) == 0 &&
		!sigv4_is(scheme, sigv4_scheme))
		return -EOPNOTSUPP;
	if (!sigv4_is(scheme, sigv4_scheme))
		return -ENOENT;
	while (r == 0 && rest.len > 0) {
		struct sigv4_text field = sigv4_trim(sigv4_cut(&rest, ','));
		struct sigv4_text name = sigv4_cut(&field, '=');

		if (sigv4_is(name, "Credential") && !s.id.at)
			r = sigv4_take_credential(&s, field);
		else if (sigv4_is(name, "SignedHeaders") && !s.headers.at)
			s.headers = field;
		else if (sigv4_is(name, "Signature") && !s.signature.at)
			s.signature = field;
		else
			r = -EINVAL;
	}
	if (r == 0 && (!s.id.at || s.headers.len == 0 || s.signature.len != SIGV4_DIGITS))
		r = -EINVAL;
	if (r == 0)
		*ret = s;
	return r;
}

void sigv4_print(
	const struct sigv4 *s, struct sigv4_text id, const char *signature, struct buffer *out)
{
	buffer_printf(out, "%s Credential=", sigv4_scheme);
	buffer_add(out, id.at, id.len);
	buffer_addc(out, '/');
	buffer_add(out, s->scope.at, s->scope.len);
	buffer_adds(out, ", SignedHeaders=");
	buffer_add(out, s->headers.at, s->headers.len);
	buffer_printf(out, ", Signature=%s", signature);
}

/* The head */

/* The next line without its end; false: there is none. */
static bool sigv4_next(struct sigv4_text *rest, struct sigv4_text *ret)
{
	*ret = sigv4_cut(rest, '\n');
	if (ret->len > 0 && ret->at[ret->len - 1] == '\r')
		ret->len--;
	return ret->len > 0;
}

/* Empty lines may stand in front of a request. */
static struct sigv4_text sigv4_first(struct sigv4_text *rest)
{
	struct sigv4_text line;

	while (!sigv4_next(rest, &line) && rest->len > 0)
		;
	return line;
}

/* Adds the values of all fields with this name, with commas between them. */
static size_t sigv4_add_values(struct sigv4_text fields, struct sigv4_text name, struct buffer *out)
{
	struct sigv4_text line;
	size_t n = 0;

	while (sigv4_next(&fields, &line)) {
		struct sigv4_text value = line, found = sigv4_cut(&value, ':');

		if (found.len != name.len || strncasecmp(found.at, name.at, name.len) != 0)
			continue;
		if (n++ > 0)
			buffer_addc(out, ',');
		value = sigv4_trim(value);
		for (size_t i = 0; i < value.len; i++)
			if (value.at[i] != ' ' || i == 0 || value.at[i - 1] != ' ')
				buffer_addc(out, value.at[i]);
	}
	return n;
}

static bool sigv4_find(struct sigv4_text fields, const char *name, struct buffer *out)
{
	return sigv4_add_values(fields, (struct sigv4_text){ name, strlen(name) }, out) > 0;
}

enum sigv4_body sigv4_body(const char *head, size_t len)
{
	static const char streaming[] = "STREAMING-",
			  trailer[] = "STREAMING-UNSIGNED-PAYLOAD-TRAILER";
	struct sigv4_text rest = { head, len };
	auto_buffer said = { 0 };

	(void)sigv4_first(&rest);
	if (!sigv4_find(rest, "x-amz-content-sha256", &said))
		return SIGV4_UNSAID;
	return strncmp(buffer_text(&said), streaming, strlen(streaming)) == 0 &&
			       strcmp(buffer_text(&said), trailer) != 0
		       ? SIGV4_IN_CHUNKS
		       : SIGV4_SAID;
}

/* As a server reads it: "%58-Amz-Date" is X-Amz-Date. */
static bool sigv4_is_parameter(struct sigv4_text name)
{
	static const char *const names[] = { "X-Amz-Algorithm", "X-Amz-Credential", "X-Amz-Date",
		"X-Amz-Expires", "X-Amz-Signature", "X-Amz-SignedHeaders" };
	char text[32];
	size_t n = 0;

	for (; name.len > 0 && n < sizeof(text); n++) {
		const int byte = encoding_percent_byte(name.at, name.len);
		const size_t used = byte < 0 ? 1 : 3;

		text[n] = *name.at;
		if (byte >= 0)
			text[n] = (char)byte;
		name.at += used;
		name.len -= used;
	}
	for (size_t i = 0; name.len == 0 && i < ROWS(names); i++)
		if (sigv4_is((struct sigv4_text){ text, n }, names[i]))
			return true;
	return false;
}

bool sigv4_is_in_url(const char *head, size_t len)
{
	struct sigv4_text rest = { head, len }, target = sigv4_first(&rest);

	(void)sigv4_cut(&target, ' ');
	target = sigv4_cut(&target, ' ');
	(void)sigv4_cut(&target, '?');
	while (target.len > 0) {
		struct sigv4_text value = sigv4_cut(&target, '&');

		if (sigv4_is_parameter(sigv4_cut(&value, '=')))
			return true;
	}
	return false;
}

size_t sigv4_field(const char *head, size_t len, struct sigv4_text name, struct sigv4_text *ret)
{
	struct sigv4_text rest = { head, len }, line;
	size_t n = 0;

	(void)sigv4_first(&rest);
	while (sigv4_next(&rest, &line)) {
		struct sigv4_text value = line, found = sigv4_cut(&value, ':');

		if (found.len != name.len || strncasecmp(found.at, name.at, name.len) != 0)
			continue;
		*ret = sigv4_trim(value);
		n++;
	}
	return n;
}

/* What is signed */

/* %XX of text that may have some, written in the one form that is signed. */
static void sigv4_add_encoded(struct sigv4_text t, const char *plain, struct buffer *out)
{
	while (t.len > 0) {
		const int byte = encoding_percent_byte(t.at, t.len);
		const char c = (char)byte;
		const size_t n = byte < 0 ? 1 : 3;

		encoding_percent(byte < 0 ? t.at : &c, 1, plain, out);
		t.at += n;
		t.len -= n;
	}
}

static void sigv4_add_path(struct sigv4_text path, bool is_plain, struct buffer *out)
{
	if (is_plain)
		sigv4_add_encoded(path, "/" SIGV4_UNRESERVED, out);
	else
		encoding_percent(path.at, path.len, "/" SIGV4_UNRESERVED, out);
}

static int sigv4_compare(const void *a, const void *b)
{
	return strcmp(((const struct buffer *)a)->data, ((const struct buffer *)b)->data);
}

/* "name=value", encoded. A byte that sorts before all others stands for the sign between them, so
 * that names are compared first. */
static int sigv4_add_query(struct sigv4_text query, struct buffer *out)
{
	struct buffer *all = calloc(SIGV4_PARAMETERS_MAX, sizeof(*all));
	size_t n = 0;
	int r = all ? 0 : -ENOMEM;

	while (r == 0 && query.len > 0) {
		struct sigv4_text value = sigv4_cut(&query, '&'), name = sigv4_cut(&value, '=');

		if (n == SIGV4_PARAMETERS_MAX) {
			r = -EINVAL;
			break;
		}
		sigv4_add_encoded(name, SIGV4_UNRESERVED, &all[n]);
		buffer_addc(&all[n], '\1');
		sigv4_add_encoded(value, SIGV4_UNRESERVED, &all[n]);
		r = all[n++].failed ? -ENOMEM : 0;
	}
	if (r == 0)
		qsort(all, n, sizeof(*all), sigv4_compare);
	for (size_t i = 0; i < n; i++) {
		char *between = all[i].data ? strchr(all[i].data, '\1') : NULL;

		if (between)
			*between = '=';
		if (i > 0)
			buffer_addc(out, '&');
		buffer_adds(out, buffer_text(&all[i]));
		buffer_deinit(&all[i]);
	}
	free(all);
	return r;
}

static int sigv4_add_headers(
	struct sigv4_text headers, struct sigv4_text fields, struct buffer *out)
{
	struct sigv4_text rest = headers;
	size_t n = 0;

	for (; rest.len > 0; n++) {
		struct sigv4_text name = sigv4_cut(&rest, ';');

		if (name.len == 0 || n == SIGV4_HEADERS_MAX)
			return -EINVAL;
		buffer_add(out, name.at, name.len);
		buffer_addc(out, ':');
		if (sigv4_add_values(fields, name, out) == 0)
			return -EINVAL;
		buffer_addc(out, '\n');
	}
	buffer_addc(out, '\n');
	buffer_add(out, headers.at, headers.len);
	return 0;
}

static int sigv4_canonical(const struct sigv4 *s, const struct sigv4_request *q,
	struct sigv4_text *ret_fields, struct buffer *out)
{
	struct sigv4_text fields = { q->head, q->len }, target = sigv4_first(&fields);
	struct sigv4_text method = sigv4_cut(&target, ' '), path;
	int r;

	target = sigv4_cut(&target, ' ');
	path = sigv4_cut(&target, '?');
	buffer_add(out, method.at, method.len);
	buffer_addc(out, '\n');
	sigv4_add_path(path, q->is_path_plain, out);
	buffer_addc(out, '\n');
	r = sigv4_add_query(target, out);
	buffer_addc(out, '\n');
	if (r == 0)
		r = sigv4_add_headers(s->headers, fields, out);
	buffer_addc(out, '\n');
	if (!sigv4_find(fields, "x-amz-content-sha256", out))
		buffer_adds(out, q->body ? q->body : sigv4_empty);
	*ret_fields = fields;
	return out->failed ? -ENOMEM : r;
}

/* HMAC of one text after another, the first by "AWS4" and the key. */
static void sigv4_hmac(uint8_t key[SIGV4_HASH], const char *text, size_t len)
{
	crypto_auth_hmacsha256_state state;

	crypto_auth_hmacsha256_init(&state, key, SIGV4_HASH);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)text, len);
	crypto_auth_hmacsha256_final(&state, key);
	sodium_memzero(&state, sizeof(state));
}

static bool sigv4_key(const struct sigv4 *s, const char *key, size_t len, uint8_t ret[SIGV4_HASH])
{
	crypto_auth_hmacsha256_state state;
	auto_buffer first = { 0 };

	buffer_adds(&first, "AWS4");
	buffer_add(&first, key, len);
	if (first.failed)
		return false;
	crypto_auth_hmacsha256_init(&state, (const uint8_t *)buffer_text(&first), first.len);
	crypto_auth_hmacsha256_update(&state, (const uint8_t *)s->date.at, s->date.len);
	crypto_auth_hmacsha256_final(&state, ret);
	sodium_memzero(&state, sizeof(state));
	if (first.data)
		sodium_memzero(first.data, first.cap);
	sigv4_hmac(ret, s->region.at, s->region.len);
	sigv4_hmac(ret, s->service.at, s->service.len);
	sigv4_hmac(ret, "aws4_request", strlen("aws4_request"));
	return true;
}

int sigv4_text(const struct sigv4 *s, const struct sigv4_request *q, struct buffer *out)
{
	auto_buffer canonical = { 0 };
	uint8_t hash[SIGV4_HASH];
	char digits[SIGV4_DIGITS + 1];
	struct sigv4_text fields;
	int r = sigv4_canonical(s, q, &fields, &canonical);

	if (r == 0) {
		crypto_hash_sha256(hash, (const uint8_t *)canonical.data, canonical.len);
		buffer_printf(out, "%s\n", sigv4_scheme);
		r = sigv4_find(fields, "x-amz-date", out) ? 0 : -EINVAL;
		buffer_addc(out, '\n');
		buffer_add(out, s->scope.at, s->scope.len);
		buffer_printf(out, "\n%s", encoding_hex(hash, sizeof(hash), digits));
	}
	/* A session token may be among what is signed. */
	if (canonical.data)
		sodium_memzero(canonical.data, canonical.cap);
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

int sigv4_sign(const struct sigv4 *s, const struct buffer *text, const char *key, size_t key_len,
	char ret[SIGV4_DIGITS + 1])
{
	uint8_t signing[SIGV4_HASH];

	if (!sigv4_key(s, key, key_len, signing))
		return -ENOMEM;
	sigv4_hmac(signing, text->data, text->len);
	(void)encoding_hex(signing, sizeof(signing), ret);
	return 0;
}
