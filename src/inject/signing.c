/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/signing.h"

#include <errno.h>
#include <sodium.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/clock.h"
#include "codec/encoding.h"
#include "inject/sigv4.h"

enum {
	SIGNING_SKEW_S = 15 * 60, /* as hosts have it */
	SIGNING_KEY_LEAST = 40,   /* AWS's secret keys have 40 characters */
};

static const struct sigv4_text signing_field = { "Authorization", sizeof("Authorization") - 1 };

void signing_deinit(struct signing *s)
{
	buffer_deinit(&s->head);
	*s = (struct signing){ 0 };
}

/* The Authorization field of a head; false: there is none, two, or of another scheme. */
static bool signing_read(
	const char *head, size_t len, struct sigv4 *ret, struct sigv4_text *ret_value)
{
	return sigv4_field(head, len, signing_field, ret_value) == 1 &&
	       sigv4_parse(ret, ret_value->at, ret_value->len) == 0;
}

/* "?…&X-Amz-Credential=ID%2F…": it is ours to refuse only if the ID is a placeholder. */
static bool signing_is_in_url(const struct placeholders *all, const char *head, size_t len)
{
	static const char name[] = "X-Amz-Credential=";
	const char *end = memchr(head, '\n', len);
	const size_t line = end ? (size_t)(end - head) : len;
	const char *at = memmem(head, line, name, strlen(name));
	const size_t left = at ? line - (size_t)(at - head) : 0;
	const char *stop = at ? memchr(at, '&', left) : NULL;
	size_t where;

	return at && placeholders_find(all, at, stop ? (size_t)(stop - at) : left, &where);
}

int signing_begin(struct signing *s, const struct placeholders *all, const char *head, size_t len)
{
	struct sigv4_text value;
	struct sigv4 parsed;

	signing_deinit(s);
	/* Empty lines may stand in front of a request. */
	while (len > 0 && (*head == '\r' || *head == '\n'))
		head++, len--;
	if (signing_is_in_url(all, head, len))
		return -EKEYREJECTED;
	if (!signing_read(head, len, &parsed, &value))
		return 0;
	s->needs_body = sigv4_body(head, len) == SIGV4_UNSAID;
	buffer_add(&s->head, head, len);
	return s->head.failed ? -ENOMEM : 0;
}

/*
 * A signature by a weak secret is a check of guesses for whoever sees it: only what looks like a
 * key signs.
 */
static bool signing_is_key(const struct placeholder *p)
{
	for (size_t i = 0; i < p->value.len; i++)
		if (!ascii_is_alnum((char)p->value.data[i]) && !strchr("+/=", p->value.data[i]))
			return false;
	return p->value.len >= SIGNING_KEY_LEAST;
}

/* "20130524T000000Z", about now, of the day that the key is for. */
static bool signing_is_now(const struct sigv4 *s, const char *head, size_t len)
{
	static const struct sigv4_text name = { "x-amz-date", 10 };
	struct sigv4_text value;
	char text[17] = "";
	struct tm tm = { 0 };
	const char *end;
	const int64_t now = (int64_t)(clock_ms(CLOCK_REALTIME) / 1000);

	if (sigv4_field(head, len, name, &value) != 1 || value.len != sizeof(text) - 1)
		return false;
	memcpy(text, value.at, value.len);
	end = strptime(text, "%Y%m%dT%H%M%SZ", &tm);
	return end && !*end && memcmp(text, s->date.at, s->date.len) == 0 &&
	       llabs((long long)timegm(&tm) - now) <= SIGNING_SKEW_S;
}

static bool signing_has(struct sigv4_text name, const char *text)
{
	return name.len == strlen(text) && memcmp(name.at, text, name.len) == 0;
}

/* In ascending order, so each once, with those that say where to, when and what. */
static bool signing_are_fit(struct sigv4_text names, const char *head, size_t len)
{
	static const char *const wanted[] = { "host", "x-amz-content-sha256", "x-amz-date" };
	struct sigv4_text before = { "", 0 }, ignored;
	size_t found = 0, present = 0;

	for (size_t i = 0; i < ROWS(wanted); i++)
		present +=
			sigv4_field(head, len, (struct sigv4_text){ wanted[i], strlen(wanted[i]) },
				&ignored) > 0;
	while (names.len > 0) {
		const char *end = memchr(names.at, ';', names.len);
		const struct sigv4_text name = { names.at,
			end ? (size_t)(end - names.at) : names.len };
		const int order =
			memcmp(before.at, name.at, name.len < before.len ? name.len : before.len);

		if (order > 0 || (order == 0 && before.len >= name.len))
			return false;
		for (size_t i = 0; i < name.len; i++)
			if (ascii_lower(name.at[i]) != name.at[i])
				return false;
		for (size_t i = 0; i < ROWS(wanted); i++)
			found += signing_has(name, wanted[i]);
		before = name;
		names.at += name.len + (end ? 1 : 0);
		names.len -= name.len + (end ? 1 : 0);
	}
	return found == present;
}

/* What a host could take for another request, or at another time, is not signed. */
static bool signing_is_fit(const struct signing *s)
{
	const char *head = s->head.data;
	const size_t len = s->head.len;
	struct sigv4_text value;
	struct sigv4 parsed;

	return signing_read(head, len, &parsed, &value) &&
	       sigv4_body(head, len) != SIGV4_IN_CHUNKS && !sigv4_is_in_url(head, len) &&
	       signing_is_now(&parsed, head, len) && signing_are_fit(parsed.headers, head, len);
}

/* Who signed the client's head; NULL: no placeholder did. */
static const struct placeholder *signing_find(
	const struct signing *s, const struct placeholders *all, const char *body, bool *ret_plain)
{
	struct sigv4_text value;
	struct sigv4 parsed;

	if (!signing_read(s->head.data, s->head.len, &parsed, &value))
		return NULL;
	for (int plain = 1; plain >= 0; plain--) {
		auto_buffer text = { 0 };

		if (sigv4_text(&parsed,
			    &(struct sigv4_request){ s->head.data, s->head.len, body, plain },
			    &text) < 0)
			return NULL;
		for (size_t i = 0; i < placeholders_count(all); i++) {
			const struct placeholder *p = placeholders_at(all, i);
			char signature[SIGV4_DIGITS + 1];

			if (sigv4_sign(&parsed, &text, p->text, p->len, signature) == 0 &&
				memcmp(signature, parsed.signature.at, SIGV4_DIGITS) == 0) {
				*ret_plain = plain;
				return p;
			}
		}
	}
	return NULL;
}

/* Fields that do not go out are not signed. */
static void signing_add_headers(
	struct sigv4_text names, const char *head, size_t len, struct buffer *out)
{
	while (names.len > 0) {
		const char *end = memchr(names.at, ';', names.len);
		const struct sigv4_text name = { names.at,
			end ? (size_t)(end - names.at) : names.len };
		struct sigv4_text ignored;

		if (sigv4_field(head, len, name, &ignored) > 0) {
			if (out->len > 0)
				buffer_addc(out, ';');
			buffer_add(out, name.at, name.len);
		}
		names.at += name.len + (end ? 1 : 0);
		names.len -= name.len + (end ? 1 : 0);
	}
}

/* out->data[at] …: the new Authorization takes the place of the one that is there. */
static int signing_replace(const struct placeholder *p, bool plain, const char *body, size_t head,
	struct buffer *out, size_t at)
{
	auto_buffer headers = { 0 }, text = { 0 }, whole = { 0 };
	const char *from = out->data + at;
	char signature[SIGV4_DIGITS + 1];
	struct sigv4_text value;
	struct sigv4 parsed;
	size_t before;
	int r;

	if (!signing_read(from, head, &parsed, &value))
		return -EINVAL;
	before = (size_t)(value.at - from);
	signing_add_headers(parsed.headers, from, head, &headers);
	parsed.headers = (struct sigv4_text){ buffer_text(&headers), headers.len };
	r = sigv4_text(&parsed, &(struct sigv4_request){ from, head, body, plain }, &text);
	if (r == 0)
		r = sigv4_sign(
			&parsed, &text, (const char *)p->value.data, p->value.len, signature);
	if (r < 0)
		return r;
	buffer_add(&whole, from, before);
	sigv4_print(&parsed, parsed.id, signature, &whole);
	buffer_add(&whole, from + before + value.len, out->len - at - before - value.len);
	if (headers.failed || whole.failed)
		r = -ENOMEM;
	/* Nothing of the old one stays behind the end. */
	secret_wipe(out->data + at, out->len - at);
	out->len = at;
	buffer_add(out, buffer_text(&whole), whole.len);
	if (whole.data)
		secret_wipe(whole.data, whole.cap);
	return r;
}

int signing_finish(struct signing *s, const struct placeholders *all, placeholders_judge *judge,
	void *context, struct buffer *out, size_t at)
{
	const char *from, *end, *body = NULL;
	size_t len, head;
	uint8_t hash[crypto_hash_sha256_BYTES];
	char digits[2 * sizeof(hash) + 1];
	const struct placeholder *p;
	bool plain = false;
	int r = 0;

	while (at < out->len && (out->data[at] == '\r' || out->data[at] == '\n'))
		at++;
	from = out->data + at;
	len = out->len - at;
	end = memmem(from, len, "\r\n\r\n", 4);
	head = end ? (size_t)(end - from) + 2 : len;
	if (s->needs_body && end) {
		crypto_hash_sha256(hash, (const uint8_t *)from + head + 2, len - head - 2);
		body = encoding_hex(hash, sizeof(hash), digits);
	}
	p = signing_find(s, all, body, &plain);
	if (p && !signing_is_fit(s))
		r = -EKEYREJECTED;
	else if (p && signing_is_key(p) && judge(context, p))
		r = signing_replace(p, plain, body, head, out, at);
	signing_deinit(s);
	return r;
}
