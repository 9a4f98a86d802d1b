/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/preset/preset.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/suggest.h"
#include "cli/preset/internal.h"
#include "policy/match/glob.h"

enum { NAMES_MAX = 64, PORT_TEXT_MAX = 5 };

int preset_find(const char *name)
{
	for (size_t i = 0; i < preset_data_count; i++) {
		if (strcmp(preset_texts + preset_data[i].name, name) == 0)
			return (int)i;
	}
	return -ENOENT;
}

const char *preset_name(int preset)
{
	return preset_texts + preset_data[preset].name;
}

const char *preset_text(int preset, enum preset_key key, size_t i)
{
	const struct preset_data *d = &preset_data[preset];

	for (size_t k = d->first; k < (size_t)d->first + d->n; k++) {
		if (preset_rows[k].key == key && i-- == 0)
			return preset_texts + preset_rows[k].text;
	}
	return NULL;
}

bool preset_is_agent(int preset)
{
	return preset_text(preset, PRESET_PROGRAM, 0);
}

int preset_unknown(const char *who, const char *name, struct error *e)
{
	const char *names[NAMES_MAX], *near;
	auto_buffer list = { 0 };
	size_t n = 0;

	for (; n < preset_data_count && n < NAMES_MAX; n++) {
		names[n] = preset_name((int)n);
		buffer_printf(&list, "%s%s", n ? ", " : "", names[n]);
	}
	near = suggest(name, names, n);
	(void)error_set(e, -ENOENT, NULL, "%s: there is no pack or agent `%s`", who, name);
	if (near)
		error_hint(e, "did you mean %s? Available: %s", near, buffer_text(&list));
	else
		error_hint(e, "available: %s", buffer_text(&list));
	return -ENOENT;
}

/* Programs */

/* A glob with ~/ for the home, which is taken literally. */
static bool preset_program_matches(const char *pattern, const char *real, const char *home)
{
	auto_buffer whole = { 0 };

	if (strncmp(pattern, "~/", 2) == 0) {
		if (!home)
			return false;
		glob_print_literal(home, strlen(home), &whole);
		pattern++;
	}
	buffer_adds(&whole, pattern);
	return !whole.failed && glob_match_text(buffer_text(&whole), real);
}

int preset_of_program(const char *real, const char *home)
{
	for (int i = 0; i < (int)preset_data_count; i++) {
		const char *pattern;

		/* Every run asks, and patterns take time: all of an agent's have its name. */
		if (!strstr(real, preset_name(i)))
			continue;
		for (size_t k = 0; (pattern = preset_text(i, PRESET_PROGRAM, k)); k++) {
			if (preset_program_matches(pattern, real, home))
				return i;
		}
	}
	return -ENOENT;
}

bool preset_is_origin(const char *file)
{
	return file && strncmp(file, PRESET_ORIGIN, strlen(PRESET_ORIGIN)) == 0 &&
	       preset_find(file + strlen(PRESET_ORIGIN)) >= 0;
}

int preset_runs_later_each(const char *home, preset_runs_later *one, void *data)
{
	static const enum preset_key keys[] = { PRESET_PROTECT, PRESET_REPORT };
	int r = 0;

	for (size_t i = 0; i < preset_data_count * 2; i++) {
		const char *text;

		for (size_t k = 0; r == 0 && (text = preset_text((int)(i / 2), keys[i % 2], k));
			k++) {
			char path[PATH_BYTES];

			if (snprintf(path, sizeof(path), "%s%s", home, text + 1) <
				(int)sizeof(path))
				r = one(data, path, "its agent runs it, or obeys it", i % 2 == 0);
		}
	}
	return r;
}

/* Hosts */

const char *preset_host_of(struct arena *a, const char *url)
{
	static const struct {
		const char *scheme, *port;
	} schemes[] = { { "https://", "443" }, { "http://", "80" } };
	const char *port = NULL, *end, *colon;

	for (size_t i = 0; !port && i < sizeof(schemes) / sizeof(schemes[0]); i++) {
		if (strncmp(url, schemes[i].scheme, strlen(schemes[i].scheme)) != 0)
			continue;
		port = schemes[i].port;
		url += strlen(schemes[i].scheme);
	}
	if (!port)
		return NULL;
	end = url + strcspn(url, "/?#");
	/* A password has no business there; and what follows it is not what it looks like. */
	if (memchr(url, '@', (size_t)(end - url)) || end == url)
		return NULL;
	colon = url[0] == '[' ? memchr(url, ']', (size_t)(end - url)) : url;
	colon = colon ? memchr(colon, ':', (size_t)(end - colon)) : NULL;
	if (!colon)
		return arena_printf(a, "%.*s:%s", (int)(end - url), url, port);
	if (end - colon < 2 || end - colon > PORT_TEXT_MAX + 1 ||
		strspn(colon + 1, "0123456789") != (size_t)(end - colon - 1))
		return NULL;
	return arena_strndup(a, url, (size_t)(end - url));
}

void preset_offer(struct call *c, struct buffer *out)
{
	(void)c;
	for (size_t i = 0; i < preset_data_count; i++)
		buffer_printf(out, "%s\t\n", preset_name((int)i));
	buffer_adds(out, "none\t\n");
}
