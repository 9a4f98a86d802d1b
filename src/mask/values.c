/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What may be shown, and what a secret may look like. A token can stand where a name is expected
 * (`https://TOKEN:x-oauth-basic@github.com`), so a name has no long row of letters and digits, and
 * no beginning that keys of a service have (data/secrets.conf).
 */
#include <errno.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/encoding.h"
#include "mask/internal.h"
#include "threat/threat.h"

enum {
	NAME_MAX_BYTES = 128,
	WORD_MAX_BYTES = 256,
	ROW_MAX = 20,         /* letters and digits in a row, with both among them */
	ROW_LETTERS_MAX = 40, /* or letters alone */
	PART_MAX = 16,        /* the same in a part of a URL's path */
	UUID_LENGTH = 36,
};

static bool values_has_only(const char *text, const char *others, size_t most)
{
	size_t n = 0;

	for (; text[n]; n++)
		if (n == most || (!ascii_is_alnum(text[n]) && !strchr(others, text[n])))
			return false;
	return n > 0;
}

static bool values_has_row(const char *text, size_t most)
{
	size_t row = 0, digits = 0;

	for (; *text; text++) {
		row = ascii_is_alnum(*text) ? row + 1 : 0;
		digits = row == 0 ? 0 : digits + ascii_is_digit(*text);
		if (row > ROW_LETTERS_MAX || (row >= most && digits > 0 && digits < row))
			return true;
	}
	return false;
}

static bool values_has_long_row(const char *text)
{
	return values_has_row(text, ROW_MAX);
}

/* 8-4-4-4-12 hexadecimal digits, up to the end of a part of a path. */
static bool values_is_uuid(const char *part)
{
	size_t n = 0;

	for (; part[n] && part[n] != '/'; n++) {
		const bool is_dash = n == 8 || n == 13 || n == 18 || n == 23;

		if (n == UUID_LENGTH || (is_dash ? part[n] != '-' : ascii_hex(part[n]) < 0))
			return false;
	}
	return n == UUID_LENGTH;
}

/* Registries of packages take a token in the path, too: shorter ones than those that are sent in a
 * field, and UUIDs, which elsewhere are names. */
static bool values_has_token_in_path(const char *text)
{
	const char *path = strstr(text, "//");

	path = path ? strchr(path + 2, '/') : NULL;
	if (path && values_has_row(path, PART_MAX))
		return true;
	for (; path; path = strchr(path + 1, '/'))
		if (values_is_uuid(path + 1))
			return true;
	return false;
}

/* Anywhere in it: behind a colon, a slash. */
static bool values_has_key(const char *text)
{
	for (size_t i = 0; i < threat_secrets_n; i++) {
		const struct threat *t = &threat_secrets[i];
		const char *at = t->uses & THREAT_VALUE ? strstr(text, threat_name(t)) : NULL;

		/* The beginning alone is none: "sk-" stands in many words. */
		if (at && strlen(at) >= strtoul(threat_inside(t), NULL, 10) &&
			(at == text || !ascii_is_alnum(at[-1])))
			return true;
	}
	return false;
}

bool mask_values_is_word(const char *text)
{
	return values_has_only(text, "-_.", WORD_MAX_BYTES) && !values_has_key(text);
}

/* user:password@host, with a scheme or without. */
static bool values_has_password(const char *text)
{
	const char *at = strrchr(text, '@'), *user = strstr(text, "://");
	const char *colon = strchr(user ? user + 3 : text, ':');

	return at && colon && colon < at;
}

bool mask_values_is_name(const char *text)
{
	return !values_has_password(text) &&
	       values_has_only(text, "-_.:/@+~^$%[]", NAME_MAX_BYTES) &&
	       !values_has_long_row(text) && !values_has_token_in_path(text) &&
	       !values_has_key(text);
}

bool mask_values_is_url(const char *text)
{
	return (strncmp(text, "https://", 8) == 0 || strncmp(text, "http://", 7) == 0) &&
	       !strchr(text, '@') && mask_values_is_name(text);
}

bool mask_values_is_names(const char *text)
{
	return values_has_only(text, "-_. ", NAME_MAX_BYTES) && !values_has_long_row(text) &&
	       !values_has_key(text);
}

bool mask_values_is_variable(const char *text)
{
	const size_t len = strlen(text);

	return len > 3 && len < NAME_MAX_BYTES && strncmp(text, "${", 2) == 0 &&
	       text[len - 1] == '}' &&
	       strspn(text + 2, "ABCDEFGHIJKLMNOPQRSTUVWXYZ_0123456789") == len - 3 &&
	       !values_has_long_row(text) && !values_has_key(text);
}

bool mask_values_is_secret(enum mask_form form, const char *text)
{
	/* What readers of these forms unquote, expand or end a value at. */
	static const char *const never[] = {
		[MASK_INI] = "%;#\"'\\ \t",
		[MASK_SETTINGS] = "${};#\"'\\ \t",
		[MASK_NETRC] = "\"'\\ \t",
		[MASK_URLS] = " \t",
	};
	/* A key file has lines. */
	const bool has_lines = form == MASK_JSON || form == MASK_YAML || form == MASK_TOML;
	const char *without = form >= MASK_INI ? never[form] : "";

	for (const char *c = text; *c; c++)
		if ((ascii_is_control(*c) && !(has_lines && *c == '\n')) || strchr(without, *c))
			return false;
	return form != MASK_NETRC || text[0] != '#';
}

/* What a text was encoded to, without the characters at its ends that depend on its neighbours. */
static int values_is_in(
	const struct buffer *b, size_t from, size_t to, const char *text, size_t len, bool *ret)
{
	if (b->failed)
		return -ENOMEM;
	if (to > from && memmem(text, len, b->data + from, to - from))
		*ret = true;
	return 0;
}

/* At each of the three alignments. */
static int values_are_in_base64(const char *value, size_t n, enum encoding encoding,
	const char *text, size_t len, bool *ret)
{
	enum { LEAST = 4 };
	int r = 0;

	for (size_t k = 0; r == 0 && k < 3; k++) {
		const size_t from = (8 * k + 5) / 6, to = 8 * (k + n) / 6;
		auto_buffer plain = { 0 }, b = { 0 };

		buffer_add(&plain, "\0\0", k);
		buffer_add(&plain, value, n);
		if (plain.failed)
			return -ENOMEM;
		encoding_print(encoding, plain.data, plain.len, &b);
		if (to >= from + LEAST)
			r = values_is_in(&b, from, to, text, len, ret);
		explicit_bzero(plain.data, plain.len);
		if (b.data)
			explicit_bzero(b.data, b.len);
	}
	return r;
}

int mask_values_are_in(const char *value, const char *text, size_t len, bool *ret)
{
	static const char *const plain[] = { "", "-._~", "-._~/:@!$&'()*+,;=" };
	const size_t n = strlen(value);
	auto_buffer b = { 0 };
	bool is_in = n > 0 && memmem(text, len, value, n);
	int r = 0;

	for (size_t i = 0; n > 0 && r == 0 && i < sizeof(plain) / sizeof(plain[0]); i++) {
		buffer_clear(&b);
		encoding_percent(value, n, plain[i], &b);
		r = values_is_in(&b, 0, b.len, text, len, &is_in);
	}
	if (n > 0 && r == 0) {
		buffer_clear(&b);
		encoding_print(ENCODING_HEX, value, n, &b);
		r = values_is_in(&b, 0, b.len, text, len, &is_in);
	}
	if (n > 0 && r == 0) {
		struct node string = { .type = NODE_STRING, .text = value };

		buffer_clear(&b);
		mask_form_print(MASK_JSON, &string, &b);
		/* Without its quotes, and the end of the line. */
		r = values_is_in(&b, 1, b.len > 2 ? b.len - 2 : 1, text, len, &is_in);
	}
	if (n > 0 && r == 0)
		r = values_are_in_base64(value, n, ENCODING_BASE64, text, len, &is_in);
	if (n > 0 && r == 0)
		r = values_are_in_base64(value, n, ENCODING_BASE64URL, text, len, &is_in);
	if (b.data)
		explicit_bzero(b.data, b.len);
	*ret = is_in;
	return r;
}
