/* SPDX-License-Identifier: Apache-2.0 */
#include "inject/placeholder.h"

#include <errno.h>
#include <stdint.h>
#include <string.h>
#include <sys/random.h>

#include "base/array.h"

/* Of letters: all marks have them, and digits, that have it as well. */
enum { CASE_BIT = 0x20 };
typedef unsigned char placeholder_lane __attribute__((vector_size(16)));

static const char digits_mark[] = "abcdef234567";
static const char digits_hex[] = "0123456789abcdef";
static const char digits_upper[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
static const char digits_letters[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789";
static const char digits_base64url[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";
static const char digits_base64[] =
	"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/* How keys of a kind look. The longest prefix of a kind comes first. */
struct placeholder_shape {
	const char *prefix;
	const char *digits;
	uint16_t length;     /* of all of it, as it usually is */
	uint16_t divided_at; /* digits before a character of its own; 0: there is none */
	char divider;
	const char *end;
};

static const struct placeholder_shape shapes[] = {
	{ "github_pat_", digits_letters, 93, 22, '_', "" },
	{ "ghp_", digits_letters, 40, 0, 0, "" },
	{ "gho_", digits_letters, 40, 0, 0, "" },
	{ "ghu_", digits_letters, 40, 0, 0, "" },
	{ "ghs_", digits_letters, 40, 0, 0, "" },
	{ "ghr_", digits_letters, 40, 0, 0, "" },
	{ "glpat-", digits_base64url, 26, 0, 0, "" },
	{ "sk-ant-api03-", digits_base64url, 108, 0, 0, "AA" },
	{ "sk-ant-admin01-", digits_base64url, 110, 0, 0, "AA" },
	{ "sk-ant-oat01-", digits_base64url, 108, 0, 0, "AA" },
	{ "sk-ant-ort01-", digits_base64url, 108, 0, 0, "AA" },
	{ "sk-proj-", digits_base64url, 164, 0, 0, "" },
	{ "sk-or-v1-", digits_hex, 73, 0, 0, "" },
	{ "sk-", digits_letters, 51, 0, 0, "" },
	{ "sk_live_", digits_letters, 107, 0, 0, "" },
	{ "sk_test_", digits_letters, 107, 0, 0, "" },
	{ "rk_live_", digits_letters, 107, 0, 0, "" },
	{ "npm_", digits_letters, 40, 0, 0, "" },
	{ "pypi-AgEIcHlwaS5vcmc", digits_base64url, 179, 0, 0, "" },
	{ "AKIA", digits_upper, 20, 0, 0, "" },
	{ "ASIA", digits_upper, 20, 0, 0, "" },
	{ "AIza", digits_base64url, 39, 0, 0, "" },
	{ "ya29.", digits_base64url, 220, 0, 0, "" },
	{ "hf_", digits_letters, 37, 0, 0, "" },
	{ "xoxb-", digits_letters, 57, 0, 0, "" },
	{ "xoxp-", digits_letters, 77, 0, 0, "" },
	{ "SG.", digits_base64url, 69, 22, '.', "" },
	{ "dop_v1_", digits_hex, 71, 0, 0, "" },
	{ "shpat_", digits_hex, 38, 0, 0, "" },
	{ "hvs.", digits_base64url, 95, 0, 0, "" },
	{ "gsk_", digits_letters, 56, 0, 0, "" },
	{ "r8_", digits_letters, 40, 0, 0, "" },
	{ "lin_api_", digits_letters, 48, 0, 0, "" },
	{ "figd_", digits_base64url, 45, 0, 0, "" },
	{ "AGE-SECRET-KEY-1", digits_upper, 74, 0, 0, "" },
};
/* What is of no known kind. */
static const struct placeholder_shape shape_hex = { "", digits_hex, 40, 0, 0, "" };
static const struct placeholder_shape shape_other = { "", digits_letters, 40, 0, 0, "" };

enum {
	UUID_LENGTH = 36,
	SIGNATURE_LENGTH = 43,
	JWT_SIGNATURE_LEAST = 16,
	PEM_LINE = 64,
	PEM_LINES = 6
};

/* n characters, each with the same chance. */
static int placeholder_add_random(const char *digits, size_t n, struct buffer *out)
{
	const size_t count = strlen(digits), fair = 256 - 256 % count;
	uint8_t bytes[64];

	while (n > 0) {
		if (getrandom(bytes, sizeof(bytes), 0) != (ssize_t)sizeof(bytes))
			return -EIO;
		for (size_t i = 0; i < sizeof(bytes) && n > 0; i++) {
			if (bytes[i] >= fair)
				continue;
			buffer_addc(out, digits[bytes[i] % count]);
			n--;
		}
	}
	return 0;
}

int placeholder_mark_make(struct placeholder_mark *ret)
{
	auto_buffer text = { 0 };
	int r = placeholder_add_random(digits_mark, PLACEHOLDER_MARK, &text);

	if (r < 0 || text.failed)
		return r < 0 ? r : -ENOMEM;
	return placeholder_mark_read(ret, text.data) ? 0 : -EIO;
}

bool placeholder_mark_read(struct placeholder_mark *ret, const char *text)
{
	if (strnlen(text, PLACEHOLDER_MARK) < PLACEHOLDER_MARK ||
		strspn(text, digits_mark) < PLACEHOLDER_MARK)
		return false;
	for (size_t i = 0; i < PLACEHOLDER_MARK; i++) {
		char c = text[i];

		ret->lower[i] = c;
		ret->upper[i] = (char)(c >= 'a' ? c - 'a' + 'A' : c);
	}
	return true;
}

/* The mark, and n - PLACEHOLDER_MARK random characters; n is at least PLACEHOLDER_KEY. */
static int placeholder_add_body(
	const struct placeholder_mark *m, const char *digits, size_t n, struct buffer *out)
{
	buffer_add(out, digits == digits_upper ? m->upper : m->lower, PLACEHOLDER_MARK);
	return placeholder_add_random(digits, n - PLACEHOLDER_MARK, out);
}

static int placeholder_add_shape(
	const struct placeholder_mark *m, const struct placeholder_shape *s, struct buffer *out)
{
	const size_t ends = strlen(s->prefix) + strlen(s->end);
	const size_t body = s->length - ends - (s->divider ? 1 : 0);
	const size_t first = s->divider ? s->divided_at : body;
	int r;

	buffer_adds(out, s->prefix);
	r = placeholder_add_body(m, s->digits, first, out);
	if (r == 0 && s->divider) {
		buffer_addc(out, s->divider);
		r = placeholder_add_random(s->digits, body - first, out);
	}
	buffer_adds(out, s->end);
	return r;
}

/* 8-4-4-4-12 digits, with the version and the variant of a random one. */
static int placeholder_add_uuid(const struct placeholder_mark *m, struct buffer *out)
{
	static const struct {
		const char *fixed;
		size_t n;
	} groups[] = { { "-", 4 }, { "-4", 3 }, { "-a", 3 }, { "-", 12 } };
	int r = 0;

	buffer_add(out, m->lower, PLACEHOLDER_MARK);
	for (size_t i = 0; r == 0 && i < ROWS(groups); i++) {
		buffer_adds(out, groups[i].fixed);
		r = placeholder_add_random(digits_hex, groups[i].n, out);
	}
	return r;
}

static bool placeholder_is_uuid(const char *value, size_t len)
{
	if (len != UUID_LENGTH)
		return false;
	for (size_t i = 0; i < len; i++) {
		bool is_dash = i == 8 || i == 13 || i == 18 || i == 23;

		if (is_dash ? value[i] != '-' : !strchr(digits_hex, value[i] | 0x20))
			return false;
	}
	return true;
}

static bool placeholder_consists_of(const char *value, size_t len, const char *digits)
{
	for (size_t i = 0; i < len; i++) {
		if (!value[i] || !strchr(digits, value[i]))
			return false;
	}
	return true;
}

/* Header and claims, which clients read, with their dots; 0: it is no JWT. */
static size_t placeholder_jwt_claims(const char *value, size_t len)
{
	const char *first = memchr(value, '.', len), *second;

	if (len < 3 || memcmp(value, "eyJ", 3) != 0 || !first)
		return 0;
	second = memchr(first + 1, '.', len - (size_t)(first + 1 - value));
	/* Without a signature, header and claims are all of it. */
	if (!second || second == first + 1 ||
		len - (size_t)(second + 1 - value) < JWT_SIGNATURE_LEAST ||
		!placeholder_consists_of(value, (size_t)(first - value), digits_base64url) ||
		!placeholder_consists_of(
			first + 1, (size_t)(second - first - 1), digits_base64url) ||
		!placeholder_consists_of(
			second + 1, len - (size_t)(second + 1 - value), digits_base64url))
		return 0;
	return (size_t)(second + 1 - value);
}

bool placeholder_has_claims(const char *value, size_t len)
{
	return placeholder_jwt_claims(value, len) > 0;
}

/* The line "-----BEGIN X-----", without its end; 0: it is no key file. */
static size_t placeholder_pem_line(const char *value, size_t len)
{
	static const char begin[] = "-----BEGIN ", dashes[] = "-----";
	const char *end = memchr(value, '\n', len);
	size_t n = end ? (size_t)(end - value) : 0;

	if (n > 0 && value[n - 1] == '\r')
		n--;
	return n > sizeof(begin) + sizeof(dashes) && memcmp(value, begin, sizeof(begin) - 1) == 0 &&
			       memcmp(value + n - 5, dashes, 5) == 0
		       ? n
		       : 0;
}

static int placeholder_add_pem(
	const struct placeholder_mark *m, const char *value, size_t line, struct buffer *out)
{
	int r = 0;

	buffer_add(out, value, line);
	buffer_addc(out, '\n');
	for (unsigned i = 0; r == 0 && i < PEM_LINES; i++) {
		r = i == 0 ? placeholder_add_body(m, digits_base64, PEM_LINE, out)
			   : placeholder_add_random(digits_base64, PEM_LINE, out);
		buffer_addc(out, '\n');
	}
	buffer_adds(out, "-----END");
	buffer_add(out, value + strlen("-----BEGIN"), line - strlen("-----BEGIN"));
	buffer_addc(out, '\n');
	return r;
}

static const struct placeholder_shape *placeholder_shape_of(const char *value, size_t len)
{
	for (size_t i = 0; i < ROWS(shapes); i++) {
		size_t n = strlen(shapes[i].prefix);

		if (len > n && memcmp(value, shapes[i].prefix, n) == 0)
			return &shapes[i];
	}
	return placeholder_consists_of(value, len, digits_hex) ? &shape_hex : &shape_other;
}

int placeholder_make(
	const struct placeholder_mark *mark, const char *value, size_t len, struct buffer *out)
{
	size_t n;
	int r;

	if (len == 0 || len > PLACEHOLDER_MAX)
		return -EINVAL;
	if ((n = placeholder_pem_line(value, len)) > 0) {
		r = placeholder_add_pem(mark, value, n, out);
	} else if ((n = placeholder_jwt_claims(value, len)) > 0) {
		buffer_add(out, value, n);
		r = placeholder_add_body(mark, digits_base64url, SIGNATURE_LENGTH, out);
	} else if (placeholder_is_uuid(value, len)) {
		r = placeholder_add_uuid(mark, out);
	} else {
		r = placeholder_add_shape(mark, placeholder_shape_of(value, len), out);
	}
	return r < 0 ? r : out->failed ? -ENOMEM : 0;
}

/* Bytes whose next one, too, is as in the mark; in either case: the bit is of no digit. */
static inline placeholder_lane placeholder_begins(
	const char *text, unsigned char first, unsigned char second)
{
	placeholder_lane a, b;

	memcpy(&a, text, sizeof(a));
	memcpy(&b, text + 1, sizeof(b));
	return (placeholder_lane)(((a | CASE_BIT) == first) & ((b | CASE_BIT) == second));
}

static bool placeholder_is_mark(const struct placeholder_mark *m, const char *text)
{
	return memcmp(text, m->lower, PLACEHOLDER_MARK) == 0 ||
	       memcmp(text, m->upper, PLACEHOLDER_MARK) == 0;
}

const char *placeholder_mark_find(const struct placeholder_mark *m, const char *text, size_t len)
{
	const unsigned char first = (unsigned char)m->lower[0], second = (unsigned char)m->lower[1];
	const size_t lane = sizeof(placeholder_lane);
	size_t from = 0;

	while (from + lane + 1 <= len) {
		placeholder_lane found = placeholder_begins(text + from, first, second);
		uint64_t words[2];

		memcpy(words, &found, sizeof(words));
		for (size_t i = 0; (words[0] | words[1]) != 0 && i < lane; i++)
			if (found[i] && len - from - i >= PLACEHOLDER_MARK &&
				placeholder_is_mark(m, text + from + i))
				return text + from + i;
		from += lane;
	}
	for (; from + PLACEHOLDER_MARK <= len; from++)
		if (placeholder_is_mark(m, text + from))
			return text + from;
	return NULL;
}
