/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of packages that are one slip away from those of packages that everybody installs: a letter
 * more, less, changed or swapped. data/packages.conf has the names, and those that are near one and
 * are what they are.
 */
#include <ctype.h>
#include <string.h>
#include <strings.h>

#include "advice/scan/internal.h"
#include "base/array.h"
#include "base/words.h"
#include "threat/threat.h"

enum { PACKAGE_SHORTEST = 5, PACKAGE_LONGEST = 40 };

/* One change apart, or two neighbours swapped. */
static bool packages_is_near(const char *a, size_t n, const char *b, size_t m)
{
	size_t i = 0, tail = 0;

	if (n > m + 1 || m > n + 1)
		return false;
	while (i < n && i < m && a[i] == b[i])
		i++;
	while (tail < n - i && tail < m - i && a[n - 1 - tail] == b[m - 1 - tail])
		tail++;
	n -= i + tail;
	m -= i + tail;
	if (n + m == 0)
		return false;
	return (n <= 1 && m <= 1) || (n == 2 && m == 2 && a[i] == b[i + 1] && a[i + 1] == b[i]);
}

/* Registries do not tell these marks apart. */
static bool packages_is_same(const char *a, const char *b, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if (tolower((unsigned char)a[i]) != tolower((unsigned char)b[i]) &&
			!(strchr("-_.", a[i]) && strchr("-_.", b[i])))
			return false;
	}
	return true;
}

/* The package that a name is taken for; NULL: none. */
static const char *packages_lookalike(const char *name, size_t len, unsigned kind)
{
	const char *near = NULL;

	if (len < PACKAGE_SHORTEST || len > PACKAGE_LONGEST || name[0] == '@')
		return NULL;
	for (size_t i = 0; i < threat_packages_n; i++) {
		const struct threat *t = &threat_packages[i];
		const char *known = threat_name(t);
		const size_t n = strlen(known);

		if (n == len && packages_is_same(known, name, len))
			return NULL;
		if (!near && t->uses & kind && packages_is_near(name, len, known, n))
			near = known;
	}
	return near;
}

static bool packages_is_name(char c)
{
	return isalnum((unsigned char)c) || (c && strchr("-_.@/", c));
}

static void packages_check(
	struct scan *s, const struct scan_spot *spot, const char *name, size_t len, unsigned kind)
{
	const char *at = len ? memchr(name + 1, '@', len - 1) : NULL;

	if (at)
		len = (size_t)(at - name);
	while (len && name[len - 1] == '.')
		len--;
	if (packages_lookalike(name, len, kind))
		scan_add(s, "lookalike-package", spot);
}

void scan_packages(
	struct scan *s, enum scan_place place, uint32_t line, const char *text, size_t len)
{
	static const struct {
		const char *command;
		unsigned kind;
	} commands[] = {
		{ "pip install ", THREAT_PYPI },
		{ "pip3 install ", THREAT_PYPI },
		{ "pip add ", THREAT_PYPI },
		{ "uv add ", THREAT_PYPI },
		{ "pipx install ", THREAT_PYPI },
		{ "npm install ", THREAT_NPM },
		{ "npm i ", THREAT_NPM },
		{ "yarn add ", THREAT_NPM },
		{ "pnpm add ", THREAT_NPM },
		{ "bun add ", THREAT_NPM },
	};

	for (size_t i = 0; i < ROWS(commands); i++) {
		const size_t n = strlen(commands[i].command);
		const char *at = memmem(text, len, commands[i].command, n);
		size_t k = at ? (size_t)(at - text) + n : len;

		while (k < len && !strchr(";|&`)\"'#", text[k])) {
			const size_t start = k;

			while (k < len && packages_is_name(text[k]))
				k++;
			if (k > start && text[start] != '-' && !(k < len && text[k] == ':'))
				packages_check(s,
					&(struct scan_spot){ place, line, text, len, start, start },
					text + start, k - start, commands[i].kind);
			while (k < len && text[k] != ' ' && !strchr(";|&`)\"'#", text[k]))
				k++;
			while (k < len && text[k] == ' ')
				k++;
		}
	}
}

/* "name": "^1.0.0" below dependencies; scripts that run by themselves. */
static void packages_read_npm(struct scan *s, const char *text, size_t len)
{
	const char *end = text + len, *at = text;

	while ((at = memmem(at, (size_t)(end - at), "ependencies\"", 12))) {
		const char *open = memchr(at, '{', (size_t)(end - at));
		const char *close = open ? memchr(open, '}', (size_t)(end - open)) : NULL;
		uint32_t line = 1;

		if (!close)
			return;
		for (const char *c = text; c < open; c++)
			line += *c == '\n';
		for (const char *c = open; c < close;) {
			const char *quote = memchr(c, '"', (size_t)(close - c));
			const char *last =
				quote ? memchr(quote + 1, '"', (size_t)(close - quote - 1)) : NULL;

			if (!last)
				break;
			for (; c < last; c++)
				line += *c == '\n';
			packages_check(s,
				&(struct scan_spot){
					PLACE_CODE, line, quote, (size_t)(last - quote) + 1, 0, 0 },
				quote + 1, (size_t)(last - quote) - 1, THREAT_NPM);
			/* Behind its version. */
			c = memchr(last, ',', (size_t)(close - last));
			if (!c)
				break;
		}
		at = close;
	}
}

static void packages_read_pip(struct scan *s, const char *text, size_t len)
{
	uint32_t line = 1;

	for (size_t at = 0; at < len; line++) {
		const char *newline = memchr(text + at, '\n', len - at);
		const size_t n = newline ? (size_t)(newline - text) - at : len - at;
		size_t k = 0;

		while (k < n && packages_is_name(text[at + k]))
			k++;
		if (k && text[at] != '-')
			packages_check(s,
				&(struct scan_spot){ PLACE_CODE, line, text + at, n, 0, 0 },
				text + at, k, THREAT_PYPI);
		at += n + 1;
	}
}

void scan_package_list(struct scan *s, const char *text, size_t len)
{
	const char *slash = strrchr(s->file, '/'), *base = slash ? slash + 1 : s->file;

	if (strcmp(base, "package.json") == 0)
		packages_read_npm(s, text, len);
	else if (strncmp(base, "requirements", 12) == 0 && strstr(base, ".txt"))
		packages_read_pip(s, text, len);
}
