/* SPDX-License-Identifier: Apache-2.0 */
/* What no list of words can describe: invisible characters, blobs, and addresses. */
#include <ctype.h>
#include <string.h>

#include "advice/scan/internal.h"
#include "base/array.h"
#include "base/utf8.h"
#include "threat/threat.h"

enum {
	LONG_LINE = 2000,
	BLOB_DIGITS = 200, /* of base64 or hexadecimal in a row */
	BLOB_ESCAPES = 12, /* like \x41, in a row */
	HIDDEN_FEW = 3,    /* so many invisible characters are no accident */
	PADDING_BLANKS = 120,
	HOST_BYTES = 256,
};

/* Zero-width characters stand between letters of some scripts, and between pictures. */
static bool scan_joins(uint32_t c, uint32_t before, bool in_flag)
{
	if (c == 0x200c || c == 0x200d)
		return before >= 0x1f000 || before == 0xfe0f ||
		       (before >= 0x2190 && before <= 0x2bff) ||
		       (before >= 0x590 && before <= 0xfff);
	if (c == 0x200e || c == 0x200f)
		return before >= 0x590 && before <= 0x8ff;
	/* The flags of England, Scotland and Wales. */
	return in_flag && c >= 0xe0020 && c <= 0xe007f;
}

bool scan_find_hidden(const char *line, size_t len, size_t *ret)
{
	uint32_t before = 0;
	bool in_flag = false;
	size_t i = 0, n_hidden = 0;

	while (i < len) {
		uint32_t c = 0;
		size_t n = utf8_decode(line + i, len - i, &c);

		if (c == 0x1f3f4)
			in_flag = true;
		else if (c < 0xe0020 || c > 0xe007f)
			in_flag = false;
		if (n && utf8_is_deceptive(c) && !scan_joins(c, before, in_flag)) {
			const bool worst = (c >= 0x202a && c <= 0x202e) ||
					   (c >= 0x2066 && c <= 0x2069) || c >= 0xe0000;

			if (n_hidden++ == 0)
				*ret = i;
			if (worst || n_hidden == HIDDEN_FEW)
				return true;
		}
		before = c;
		i += n ? n : 1;
	}
	return false;
}

bool scan_find_long(const char *line, size_t len, size_t *ret)
{
	(void)line;
	*ret = 0;
	return len > LONG_LINE;
}

/* What kinds of digits a run holds. */
struct character_run {
	size_t start, len;
	bool upper, lower, digit, hex;
};

/* data:image/…;base64, and the like hold pictures; "sha512-" a hash. */
static bool scan_is_media(const char *line, size_t start)
{
	static const char *const before[] = { ";base64,", "sha512-", "sha384-", "sha256-" };

	for (size_t i = 0; i < ROWS(before); i++) {
		const size_t n = strlen(before[i]);

		if ((start >= n && memcmp(line + start - n, before[i], n) == 0) ||
			strncmp(line + start, before[i], n) == 0)
			return true;
	}
	return false;
}

bool scan_find_digits(const char *line, size_t len, size_t *ret)
{
	struct character_run r = { .hex = true };

	for (size_t i = 0; i <= len; i++) {
		const char c = i < len ? line[i] : ' ';

		if (isalnum((unsigned char)c) || (c && strchr("+/=_-", c))) {
			r.len++;
			r.upper |= isupper((unsigned char)c) != 0;
			r.lower |= islower((unsigned char)c) != 0;
			r.digit |= isdigit((unsigned char)c) != 0;
			r.hex &= isxdigit((unsigned char)c) != 0;
			continue;
		}
		/* Of digits alone, or of one letter, is a number or a line. */
		if (r.len >= BLOB_DIGITS && r.digit &&
			(r.hex ? r.upper || r.lower : r.upper && r.lower) &&
			!scan_is_media(line, r.start)) {
			*ret = r.start;
			return true;
		}
		r = (struct character_run){ .start = i + 1, .hex = true };
	}
	return false;
}

bool scan_find_escapes(const char *line, size_t len, size_t *ret)
{
	size_t n = 0, i = 0;

	while (i < len) {
		const char *s = line + i;

		if (len - i < 4 || s[0] != '\\' || s[1] != 'x' || !isxdigit((unsigned char)s[2]) ||
			!isxdigit((unsigned char)s[3])) {
			n = 0;
			i++;
			continue;
		}
		i += 4;
		if (++n == BLOB_ESCAPES) {
			*ret = i - 4 * n;
			return true;
		}
	}
	return false;
}

bool scan_find_padding(const char *line, size_t len, size_t *ret)
{
	size_t blanks = 0;
	bool any = false;

	for (size_t i = 0; i < len; i++) {
		if (line[i] == ' ' || line[i] == '\t') {
			blanks++;
			continue;
		}
		if (any && blanks >= PADDING_BLANKS && line[i] != '\r' && line[i] != '|') {
			*ret = i;
			return true;
		}
		any = true;
		blanks = 0;
	}
	return false;
}

/* Addresses */

/* Four numbers that mean this machine, a private network, documentation of DNS, or a version. */
static bool scan_is_local(const unsigned b[4])
{
	return b[0] == 0 || b[0] == 10 || b[0] == 127 || b[0] >= 224 ||
	       (b[0] == 192 && b[1] == 168) || (b[0] == 172 && b[1] >= 16 && b[1] < 32) ||
	       (b[0] == 169 && b[1] == 254) || (b[0] == 100 && b[1] >= 64 && b[1] < 128) ||
	       (b[0] == b[1] && b[1] == b[2] && b[2] == b[3]);
}

/* Four numbers with dots between them, and no name that goes on. */
static bool scan_is_number(const char *s, size_t len)
{
	unsigned b[4] = { 0 }, n = 0;
	size_t i = 0, digits = 0;

	for (; i < len && (isdigit((unsigned char)s[i]) || s[i] == '.'); i++) {
		if (s[i] == '.') {
			if (++n > 3 || digits == 0)
				return false;
			digits = 0;
		} else {
			if (++digits > 3)
				return false;
			b[n] = b[n] * 10 + (unsigned)(s[i] - '0');
		}
	}
	if (n != 3 || digits == 0 || b[0] > 255 || b[1] > 255 || b[2] > 255 || b[3] > 255)
		return false;
	if (i < len && (isalpha((unsigned char)s[i]) || s[i] == '-' || s[i] == '{'))
		return false;
	return !scan_is_local(b);
}

bool scan_find_address(const char *line, size_t len, size_t *ret)
{
	const char *s = line, *end = line + len;

	while ((s = memmem(s, (size_t)(end - s), "://", 3))) {
		s += 3;
		/* "[2001:db8::1]", but neither this machine nor its network. */
		if (scan_is_number(s, (size_t)(end - s)) ||
			(end - s > 3 && s[0] == '[' && isxdigit((unsigned char)s[1]) &&
				strncasecmp(s, "[fe80", 5) != 0 && strncasecmp(s, "[fd", 3) != 0)) {
			*ret = (size_t)(s - line) - 3;
			return true;
		}
	}
	return false;
}

bool scan_find_hook(const char *line, size_t len, size_t *ret)
{
	static const struct {
		const char *before;
		size_t digits;
	} hooks[] = { { "/api/webhooks/", 10 }, { "api.telegram.org/bot", 6 },
		{ "hooks.slack.com/services/T0", 6 } };

	for (size_t i = 0; i < ROWS(hooks); i++) {
		const char *at = memmem(line, len, hooks[i].before, strlen(hooks[i].before));
		size_t k = at ? (size_t)(at - line) + strlen(hooks[i].before) : len, n = 0;

		while (k + n < len && isalnum((unsigned char)line[k + n]) &&
			(i == 2 || isdigit((unsigned char)line[k + n])))
			n++;
		if (n >= hooks[i].digits) {
			*ret = (size_t)(at - line);
			return true;
		}
	}
	return false;
}

/* The host behind "://", in lower case; where it ends. */
static const char *scan_host(const char *s, const char *end, char host[HOST_BYTES])
{
	const char *at = memchr(s, '@', (size_t)(end - s));
	size_t n = 0;

	/* user:password@host */
	for (const char *p = s; at && p < at; p++) {
		if (memchr("/?#\"' )", *p, 7))
			at = NULL;
	}
	if (at)
		s = at + 1;
	while (s < end && n + 1 < HOST_BYTES &&
		(isalnum((unsigned char)*s) || *s == '.' || *s == '-' || *s == '_'))
		host[n++] = (char)tolower((unsigned char)*s++);
	while (n && host[n - 1] == '.')
		n--;
	host[n] = '\0';
	return s;
}

bool scan_first_host(const char *text, size_t len, char *host, size_t room)
{
	const char *s = memmem(text, len, "://", 3);
	char found[HOST_BYTES] = "";

	if (s)
		(void)scan_host(s + 3, text + len, found);
	if (!found[0] || strlen(found) >= room)
		return false;
	memcpy(host, found, strlen(found) + 1);
	return true;
}

static bool scan_is_known_installer(const char *host, const char *rest, size_t len)
{
	for (size_t i = 0; i < threat_hosts_n; i++) {
		const struct threat *t = &threat_hosts[i];
		const char *name = threat_name(t), *slash = strchr(name, '/');
		const size_t n = slash ? (size_t)(slash - name) : strlen(name);

		if (!(t->uses & THREAT_INSTALLER) || strncmp(host, name, n) != 0 || host[n])
			continue;
		if (!slash ||
			(len >= strlen(slash) && strncasecmp(rest, slash, strlen(slash)) == 0))
			return true;
	}
	return false;
}

bool scan_is_installer(const char *line, size_t len)
{
	const char *s = line, *end = line + len;
	char host[HOST_BYTES];
	bool any = false;

	while ((s = memmem(s, (size_t)(end - s), "://", 3))) {
		if (s - line < 5 || strncasecmp(s - 5, "https", 5) != 0)
			return false;
		s = scan_host(s + 3, end, host);
		if (!scan_is_known_installer(host, s, (size_t)(end - s)))
			return false;
		any = true;
	}
	return any;
}

bool scan_is_odd_source(const char *line, size_t len)
{
	const char *s = line, *end = line + len;
	char host[HOST_BYTES];

	while ((s = memmem(s, (size_t)(end - s), "://", 3))) {
		const bool plain = s - line >= 4 && strncasecmp(s - 4, "http", 4) == 0;
		const char *name = s + 3;

		s = scan_host(name, end, host);
		if (host[0] && (scan_is_number(name, (size_t)(end - name)) ||
				       threat_host(host, THREAT_DROP)))
			return true;
		if (plain && host[0] && strchr(host, '.') && !isdigit((unsigned char)host[0]))
			return true;
	}
	return false;
}
