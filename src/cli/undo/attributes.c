/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Extended attributes of files: those of the user ("user.*"), which any program may set and which
 * no part of the system decides by. ACLs, capabilities and labels are not kept.
 *
 * As text: "NAME=VALUE " for each in the order of names, both in hexadecimal. "": there is none.
 */
#include <errno.h>
#include <sodium.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "base/buffer.h"
#include "cli/undo/internal.h"

enum { NAMES_BYTES = 4096, NAME_BYTES = 256, VALUE_BYTES = 4096, ATTRIBUTES_MAX = 64 };

static const char attributes_user[] = "user.";

static bool attributes_is_user(const char *name)
{
	return strncmp(name, attributes_user, strlen(attributes_user)) == 0;
}

/* Labels of the system are made again by it. */
static bool attributes_is_label(const char *name)
{
	return strncmp(name, "security.", strlen("security.")) == 0 &&
	       strcmp(name, "security.capability") != 0;
}

static void attributes_add_hex(struct buffer *out, const void *bytes, size_t len)
{
	char hex[2 * VALUE_BYTES + 1];

	buffer_adds(out, sodium_bin2hex(hex, sizeof(hex), bytes, len));
}

static int attributes_compare(const void *a, const void *b)
{
	return strcmp(*(const char *const *)a, *(const char *const *)b);
}

const char *undo_attributes_look(struct undo *u, int fd, bool *ret_more)
{
	char names[NAMES_BYTES], value[VALUE_BYTES];
	const char *own[ATTRIBUTES_MAX] = { NULL }, *text;
	ssize_t n = flistxattr(fd, names, sizeof(names));
	auto_buffer out = { 0 };
	size_t n_own = 0;

	*ret_more = n < 0 && errno != ENOTSUP;
	for (const char *at = names; at < names + (n < 0 ? 0 : n); at += strlen(at) + 1) {
		if (attributes_is_user(at) && n_own < ATTRIBUTES_MAX)
			own[n_own++] = at;
		else if (!attributes_is_label(at))
			*ret_more = true;
	}
	qsort(own, n_own, sizeof(own[0]), attributes_compare);
	for (size_t i = 0; i < n_own; i++) {
		const ssize_t len = fgetxattr(fd, own[i], value, sizeof(value));

		/* Not one of them without the others. */
		if (len < 0) {
			*ret_more = true;
			return NULL;
		}
		attributes_add_hex(&out, own[i], strlen(own[i]));
		buffer_addc(&out, '=');
		attributes_add_hex(&out, value, (size_t)len);
		buffer_addc(&out, ' ');
	}
	text = !out.failed && out.len <= u->attributes_left
		       ? arena_strdup(&u->arena, buffer_text(&out))
		       : NULL;
	u->attributes_left -= text ? out.len : 0;
	*ret_more |= !text;
	return text;
}

/* The next one; *at is what follows it. 0: there is none; -EINVAL: it was not written by us. */
static int attributes_next(
	const char **at, char name[NAME_BYTES], unsigned char value[VALUE_BYTES], size_t *ret_len)
{
	const char *equals = strchr(*at, '='), *end = equals ? strchr(equals, ' ') : NULL;
	size_t len = 0;

	if (!**at)
		return 0;
	if (!end || sodium_hex2bin((unsigned char *)name, NAME_BYTES - 1, *at,
			    (size_t)(equals - *at), NULL, &len, NULL) < 0)
		return -EINVAL;
	name[len] = '\0';
	if (!attributes_is_user(name) || strlen(name) != len ||
		sodium_hex2bin(value, VALUE_BYTES, equals + 1, (size_t)(end - equals - 1), NULL,
			ret_len, NULL) < 0)
		return -EINVAL;
	*at = end + 1;
	return 1;
}

bool undo_attributes_are_valid(const char *text)
{
	unsigned char value[VALUE_BYTES];
	char name[NAME_BYTES];
	size_t len, n = 0;
	int r = 1;

	while (r == 1 && n++ <= ATTRIBUTES_MAX)
		r = attributes_next(&text, name, value, &len);
	return r == 0;
}

/* word: "NAME=". */
static bool attributes_has(const char *text, const struct buffer *word)
{
	for (const char *at = text;; at++) {
		if (strncmp(at, buffer_text(word), word->len) == 0)
			return true;
		at = strchr(at, ' ');
		if (!at)
			return false;
	}
}

/* Removes what the text does not have. */
static int attributes_remove(const char *path, const char *text)
{
	char names[NAMES_BYTES];
	const ssize_t n = listxattr(path, names, sizeof(names));
	int r = n < 0 && errno != ENOTSUP ? -errno : 0;

	for (const char *at = names; r == 0 && at < names + (n < 0 ? 0 : n); at += strlen(at) + 1) {
		auto_buffer word = { 0 };

		if (!attributes_is_user(at))
			continue;
		attributes_add_hex(&word, at, strlen(at));
		buffer_addc(&word, '=');
		if (!attributes_has(text, &word) && removexattr(path, at) < 0)
			r = -errno;
	}
	return r;
}

int undo_attributes_put(int fd, const char *text)
{
	unsigned char value[VALUE_BYTES];
	char path[64], name[NAME_BYTES];
	size_t len = 0;
	int r;

	(void)snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	r = attributes_remove(path, text);
	while (r == 0 && attributes_next(&text, name, value, &len) == 1)
		if (setxattr(path, name, value, len, 0) < 0)
			r = -errno;
	return r;
}
