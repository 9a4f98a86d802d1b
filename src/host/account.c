/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users and groups, and homes. Only the files are read: what a directory service knows
 * would need code of the host's choice (NSS) in this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/file.h"
#include "host/account.h"

/* Larger files are those of a directory service; the number does as a name then. */
enum { ACCOUNTS_MAX = 1 << 20 };

/* Field i of a line "a:b:c"; NULL and length 0 if it has fewer. */
static const char *field(const char *line, size_t len, unsigned i, size_t *ret_len)
{
	const char *end = line + len, *colon;

	for (; i > 0 && line; i--) {
		colon = memchr(line, ':', (size_t)(end - line));
		line = colon ? colon + 1 : NULL;
	}
	colon = line ? memchr(line, ':', (size_t)(end - line)) : NULL;
	*ret_len = line ? (size_t)((colon ? colon : end) - line) : 0;
	return line;
}

/* The file's next line for a number, from *rest on; *rest is what follows it. NULL: there is none.
 */
static const char *account_line(const char **rest, unsigned long id, size_t *ret_len)
{
	for (const char *line = *rest; *line; line = *rest) {
		size_t len = strcspn(line, "\n"), n;
		const char *number = field(line, len, 2, &n);

		*rest = line + len + (line[len] == '\n');
		*ret_len = len;
		if (number && n > 0 && strtoul(number, NULL, 10) == id)
			return line;
	}
	return NULL;
}

int account_name(const char *file, unsigned long id, char ret[ACCOUNT_NAME_BYTES])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	auto_buffer text = { 0 };
	int r = file_read(file, ACCOUNTS_MAX, &text);
	const char *rest, *line;
	size_t len, n;

	/* A file that cannot be read names nobody; running out of memory must not look like that.
	 */
	if (r == -ENOMEM || text.failed)
		return -ENOMEM;
	(void)snprintf(ret, ACCOUNT_NAME_BYTES, id == 0 ? "root" : "u%lu", id);
	rest = r < 0 ? "" : buffer_text(&text);
	while ((line = account_line(&rest, id, &len))) {
		const char *name = field(line, len, 0, &n);

		if (n > 0 && n < ACCOUNT_NAME_BYTES && name[0] != '-' && strspn(name, plain) >= n) {
			(void)snprintf(ret, ACCOUNT_NAME_BYTES, "%.*s", (int)n, name);
			return 0;
		}
	}
	return 0;
}

int account_home(const char *file, unsigned long id, struct arena *arena, const char **ret)
{
	auto_buffer text = { 0 };
	int r = file_read(file, ACCOUNTS_MAX, &text);
	const char *rest, *line, *home;
	size_t len, n = 0;

	if (r == -ENOMEM || text.failed)
		return -ENOMEM;
	rest = r < 0 ? "" : buffer_text(&text);
	line = account_line(&rest, id, &len);
	home = line ? field(line, len, 5, &n) : NULL;
	if (n == 0 || home[0] != '/')
		return -ENOENT;
	home = arena_strndup(arena, home, n);
	if (!home)
		return -ENOMEM;
	*ret = home;
	return 0;
}

static unsigned long account_number(const char *line, size_t len, unsigned i)
{
	size_t n;
	const char *text = field(line, len, i, &n);

	return n > 0 ? strtoul(text, NULL, 10) : ~0UL;
}

/* Members of a line of /etc/group: there are none but this one. */
static bool account_is_member_alone(const char *line, size_t len, const char *user)
{
	size_t n;
	const char *members = field(line, len, 3, &n);

	return n == 0 || (n == strlen(user) && strncmp(members, user, n) == 0);
}

bool account_is_own_group(
	const char *passwd, const char *group, unsigned long gid, unsigned long uid)
{
	auto_buffer users = { 0 }, groups = { 0 };
	char name[ACCOUNT_NAME_BYTES];
	const char *rest, *line;
	size_t len;

	if (file_read(passwd, ACCOUNTS_MAX, &users) < 0 ||
		file_read(group, ACCOUNTS_MAX, &groups) < 0 || account_name(passwd, uid, name) < 0)
		return false;
	rest = buffer_text(&groups);
	line = account_line(&rest, gid, &len);
	if (!line || !account_is_member_alone(line, len, name))
		return false;
	for (line = buffer_text(&users); *line; line += len + (line[len] == '\n')) {
		len = strcspn(line, "\n");
		if (account_number(line, len, 3) == gid && account_number(line, len, 2) != uid)
			return false;
	}
	return true;
}
