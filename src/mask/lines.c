/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Forms that are made of lines. Each has several readers that differ in their corners (quotes,
 * continuations, comments behind a value, macros); what lies in a corner is refused.
 *
 * Texts have no NUL, and no carriage return but at the end of a line, which is taken off here.
 */
#include <errno.h>
#include <string.h>

#include "base/ascii.h"
#include "codec/encoding.h"
#include "mask/internal.h"

int mask_lines_refuse(struct error *e, unsigned line, const char *why)
{
	return error_set(e, -EINVAL, NULL, "line %u %s", line, why);
}

int mask_lines_put(struct document *d, struct node *map, const char *key, const char *value)
{
	if (node_get(map, key))
		return -EINVAL;
	return node_put(&d->arena, map, key, node_new_text(&d->arena, value)) ? 0 : -ENOMEM;
}

/* Cuts the next line off, without its end. NULL: there is none. */
static char *lines_next(char **text)
{
	char *line = *text, *end;

	if (!line || !*line)
		return NULL;
	end = strchr(line, '\n');
	*text = end ? end + 1 : NULL;
	if (!end)
		end = line + strlen(line);
	if (end > line && end[-1] == '\r')
		end--;
	*end = '\0';
	return line;
}

static char *lines_trim(char *text)
{
	char *end;

	text += strspn(text, " \t");
	end = text + strlen(text);
	while (end > text && (end[-1] == ' ' || end[-1] == '\t'))
		*--end = '\0';
	return text;
}

static bool lines_is_comment(const char *trimmed)
{
	return !*trimmed || *trimmed == '#' || *trimmed == ';';
}

static void lines_lower(char *text)
{
	for (; *text; text++)
		*text = ascii_lower(*text);
}

/* Sections */

static struct node *lines_section(struct document *d, char *line)
{
	const size_t len = strlen(line);
	struct node *section;

	if (len < 3 || line[len - 1] != ']' || strcspn(line + 1, "[]") != len - 2)
		return NULL;
	line[len - 1] = '\0';
	if (node_get(d->root, line + 1))
		return NULL;
	section = node_new(&d->arena, NODE_MAP);
	return section ? node_put(&d->arena, d->root, line + 1, section) : NULL;
}

/* The rest of a value in the next line: "index-servers". A value of several lines has blanks. */
static int lines_continue(struct document *d, struct node *value, const char *line)
{
	value->text = *value->text ? arena_printf(&d->arena, "%s %s", value->text, line)
				   : arena_strdup(&d->arena, line);
	return value->text ? 0 : -ENOMEM;
}

static int lines_ini_line(struct document *d, struct node **section, struct node **last, char *raw)
{
	char *line = lines_trim(raw), *name, *value;
	const bool is_continued = line != raw;
	size_t split;

	/* With a comment between them, readers differ. */
	if (lines_is_comment(line)) {
		*last = NULL;
		return 0;
	}
	if (is_continued)
		return *last ? lines_continue(d, *last, line) : -EINVAL;
	*last = NULL;
	if (*line == '[') {
		*section = lines_section(d, line);
		return *section ? 0 : -EINVAL;
	}
	split = strcspn(line, "=:");
	if (!*section || !line[split])
		return -EINVAL;
	value = lines_trim(line + split + 1);
	line[split] = '\0';
	name = lines_trim(line);
	lines_lower(name);
	if (!*name || mask_lines_put(d, *section, name, value) < 0)
		return -EINVAL;
	*last = (*section)->last;
	return 0;
}

int mask_lines_ini(struct document *d, char *text, struct error *e)
{
	struct node *section = NULL, *last = NULL;
	unsigned number = 1;

	for (char *line; (line = lines_next(&text)); number++)
		if (lines_ini_line(d, &section, &last, line) < 0)
			return mask_lines_refuse(e, number,
				"is no section and no name = value, or stands there twice");
	return 0;
}

/* Settings */

int mask_lines_settings(struct document *d, char *text, struct error *e)
{
	unsigned number = 1;

	for (char *line; (line = lines_next(&text)); number++) {
		char *trimmed = lines_trim(line), *equals = strchr(trimmed, '=');
		char *value = equals ? lines_trim(equals + 1) : NULL, *name;

		if (lines_is_comment(trimmed))
			continue;
		if (!equals || *trimmed == '[')
			return mask_lines_refuse(e, number, "is not name=value");
		*equals = '\0';
		name = lines_trim(trimmed);
		/* The same in quotes: npm takes them off. */
		if (strlen(value) >= 2 && *value == '"' && value[strlen(value) - 1] == '"') {
			value[strlen(value) - 1] = '\0';
			value++;
		}
		if (!*name || strpbrk(name, "\"'\\ \t") ||
			mask_lines_put(d, d->root, name, value) < 0)
			return mask_lines_refuse(
				e, number, "has a name in quotes, or one that stands there twice");
	}
	return 0;
}

/* Netrc */

struct netrc {
	struct document *d;
	struct node *machine;
	const char *wants; /* what the next word is; NULL: a word of the form */
};

static int netrc_machine(struct netrc *n, const char *name)
{
	if (node_get(n->d->root, name))
		return -EINVAL;
	n->machine = node_new(&n->d->arena, NODE_MAP);
	return node_put(&n->d->arena, n->d->root, name, n->machine) ? 0 : -ENOMEM;
}

/* "default" is a machine of that name: no host is called so. */
static int netrc_word(struct netrc *n, const char *word)
{
	static const char *const words[] = { "machine", "login", "password", "account" };
	const char *wants = n->wants;

	if (strpbrk(word, "\"\\") || *word == '#')
		return -EINVAL;
	n->wants = NULL;
	if (wants == words[0])
		return strcmp(word, "default") == 0 ? -EINVAL : netrc_machine(n, word);
	if (wants)
		return n->machine ? mask_lines_put(n->d, n->machine, wants, word) : -EINVAL;
	if (strcmp(word, "default") == 0)
		return netrc_machine(n, word);
	for (size_t i = 0; i < sizeof(words) / sizeof(words[0]); i++)
		if (strcmp(word, words[i]) == 0)
			n->wants = words[i];
	/* macdef, among others: what follows are commands, to an empty line. */
	return n->wants ? 0 : -EINVAL;
}

int mask_lines_netrc(struct document *d, char *text, struct error *e)
{
	struct netrc n = { .d = d };
	unsigned number = 1;
	int r = 0;

	for (char *line; (line = lines_next(&text)); number++) {
		char *rest = NULL;

		/* A name without its value before a comment: readers differ. */
		if (*lines_trim(line) == '#') {
			if (n.wants)
				return mask_lines_refuse(e, number, "is a comment in an entry");
			continue;
		}
		for (char *word = strtok_r(line, " \t", &rest); r == 0 && word;
			word = strtok_r(NULL, " \t", &rest))
			r = netrc_word(&n, word);
		if (r < 0)
			return mask_lines_refuse(e, number,
				"has a macro, a quote, a comment behind an entry, or a word twice");
	}
	return n.wants ? mask_lines_refuse(e, number, "is missing: an entry is not complete") : 0;
}

/* URLs */

/* The bytes that %XX mean; in its place. No control characters. */
static bool lines_decode(char *text)
{
	char *to = text;

	for (; *text; text++) {
		int byte = *text == '%' ? encoding_percent_byte(text, strlen(text)) : *text;

		if (byte <= 0 && *text == '%')
			return false;
		text += *text == '%' ? 2 : 0;
		if (ascii_is_control((char)byte))
			return false;
		*to++ = (char)byte;
	}
	*to = '\0';
	return true;
}

/* scheme://user:password@host/path. The password is the value, all else the name. */
static int lines_url(struct document *d, char *line)
{
	char *user = strstr(line, "://"), *at, *password, *key;

	if (!user || strpbrk(line, "?#\\\"' \t"))
		return -EINVAL;
	user += 3;
	at = strchr(user, '@');
	password = strchr(user, ':');
	/* A second "@", or a slash before the first one: who is the host? */
	if (!at || strchr(at + 1, '@') || !password || password > at ||
		strcspn(user, "/") < (size_t)(at - user))
		return -EINVAL;
	*password++ = *at++ = '\0';
	/* The password may have colons. */
	key = arena_printf(&d->arena, "%s@%s", line, at);
	if (!key)
		return -ENOMEM;
	return lines_decode(password) ? mask_lines_put(d, d->root, key, password) : -EINVAL;
}

int mask_lines_urls(struct document *d, char *text, struct error *e)
{
	unsigned number = 1;

	for (char *line; (line = lines_next(&text)); number++)
		if (*line && lines_url(d, line) < 0)
			return mask_lines_refuse(e, number,
				"is not https://USER:PASSWORD@HOST, or stands there twice");
	return 0;
}
