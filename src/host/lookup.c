/* SPDX-License-Identifier: Apache-2.0 */
#include "host/lookup.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/words.h"
#include "host/planted.h"
#include "policy/match/env-name.h"

/* Entries of a list that are looked at: each costs some system calls. */
enum { LOOKUP_ENTRIES_MAX = 256 };

static const char lookup_usual[] = "/usr/local/bin:/usr/bin:/bin";

static const char *const lookup_lists[] = { "PATH", "XDG_CONFIG_DIRS", "XDG_DATA_DIRS", NULL };
/* Programs with their options, between colons. */
static const char *const lookup_programs[] = { "BROWSER", NULL };

/* Whether the list has the entry. */
static bool lookup_has(const char *list, const char *entry)
{
	const size_t len = strlen(entry);

	for (; *list; list += strcspn(list, ":"), list += *list == ':')
		if (strncmp(list, entry, len) == 0 && (!list[len] || list[len] == ':'))
			return true;
	return false;
}

/* The next entry that is out of reach; NULL: there is none, else where to go on. */
static const char *lookup_next(const char *list, unsigned *looked, char out[PATH_BYTES])
{
	char entry[PATH_BYTES];

	while (*list && (*looked)++ < LOOKUP_ENTRIES_MAX) {
		const size_t len = strcspn(list, ":");
		const bool fits = len > 0 && len < PATH_BYTES && list[0] == '/';

		if (fits) {
			memcpy(entry, list, len);
			entry[len] = '\0';
		}
		list += len + (list[len] == ':');
		/* What is used is what was looked at: no link is followed again. */
		if (fits && planted_is_out_of_reach(entry, out))
			return list;
	}
	return NULL;
}

void lookup_filter(const char *list, struct buffer *out)
{
	const size_t start = out->len;
	char entry[PATH_BYTES];
	unsigned looked = 0;

	while ((list = lookup_next(list, &looked, entry)) && !out->failed) {
		if (out->len > start && lookup_has(buffer_text(out) + start, entry))
			continue;
		if (out->len > start)
			buffer_addc(out, ':');
		buffer_adds(out, entry);
	}
}

static bool lookup_is_program(const char *path)
{
	char real[PATH_BYTES];
	struct stat st;

	return planted_is_out_of_reach(path, real) && stat(real, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(real, X_OK) == 0;
}

int lookup_find(const char *list, const char *name, char out[PATH_BYTES])
{
	char folder[PATH_BYTES];
	unsigned looked = 0;

	if (!*name || strchr(name, '/'))
		return -ENOENT;
	list = list && *list ? list : lookup_usual;
	while ((list = lookup_next(list, &looked, folder))) {
		const int n = snprintf(out, PATH_BYTES, "%s/%s", folder, name);

		if (n > 0 && n < PATH_BYTES && lookup_is_program(out))
			return 0;
	}
	return -ENOENT;
}

/* A program and its options: a word with a slash in it must be a program that is out of reach. */
static bool lookup_is_command(const char *text, size_t len)
{
	char word[PATH_BYTES];

	while (len > 0) {
		const size_t blank = strspn(text, " \t");
		const size_t skip = blank < len ? blank : len;
		size_t n = strcspn(text + skip, " \t");

		n = n < len - skip ? n : len - skip;
		if (n >= sizeof(word))
			return false;
		memcpy(word, text + skip, n);
		word[n] = '\0';
		if (strchr(word, '/') && !(path_is_normal(word, n) && lookup_is_program(word)))
			return false;
		text += skip + n;
		len -= skip + n;
	}
	return true;
}

static void lookup_filter_programs(const char *list, struct buffer *out)
{
	for (unsigned i = 0; *list && i < LOOKUP_ENTRIES_MAX; i++) {
		const size_t len = strcspn(list, ":");

		if (len > 0 && lookup_is_command(list, len)) {
			if (out->len > 0)
				buffer_addc(out, ':');
			buffer_add(out, list, len);
		}
		list += len + (list[len] == ':');
	}
}

bool lookup_is_list(const char *name)
{
	return words_has(lookup_lists, name);
}

int lookup_value(struct arena *a, const char *name, const char *value, const char **ret)
{
	const bool is_path = strcmp(name, "PATH") == 0;
	auto_buffer left = { 0 };

	*ret = NULL;
	if (!value && !is_path)
		return 0;
	if (lookup_is_list(name))
		lookup_filter(value && *value ? value : is_path ? lookup_usual : "", &left);
	else if (words_has(lookup_programs, name))
		lookup_filter_programs(value, &left);
	else
		buffer_adds(&left, value);
	if (!left.failed && left.len == 0 && is_path)
		buffer_adds(&left, LOOKUP_NOWHERE);
	if (left.failed)
		return -ENOMEM;
	if (left.len == 0 && (lookup_is_list(name) || words_has(lookup_programs, name)))
		return 0;
	*ret = arena_strdup(a, buffer_text(&left));
	return *ret ? 0 : -ENOMEM;
}

/* Lists in which our own programs look for skills, which have to be approved, and for no program.
 */
static bool lookup_is_data(const char *name)
{
	return lookup_is_list(name) && strcmp(name, "PATH") != 0;
}

/* One NAME=value: *ret is NULL for one that is left out. */
static int lookup_variable(struct arena *a, const char *item, const char **ret)
{
	const size_t len = strcspn(item, "=");
	const char *name = arena_strndup(a, item, len), *value;
	int r;

	*ret = NULL;
	if (!name)
		return -ENOMEM;
	if (!item[len] || env_name_is_unsafe(name, len))
		return 0;
	value = item + len + 1;
	r = lookup_is_data(name) ? 0 : lookup_value(a, name, value, &value);
	if (r < 0 || !value)
		return r;
	*ret = arena_printf(a, "%s=%s", name, value);
	return *ret ? 0 : -ENOMEM;
}

int lookup_environment(struct arena *a, const char *const *env, const char *const **ret)
{
	const char **list;
	size_t n = 0;

	while (env && env[n])
		n++;
	list = arena_calloc(a, n + 1, sizeof(*list));
	if (!list)
		return -ENOMEM;
	n = 0;
	for (; env && *env; env++) {
		const int r = lookup_variable(a, *env, &list[n]);

		if (r < 0)
			return r;
		n += list[n] != NULL;
	}
	*ret = list;
	return 0;
}
