/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Names of users and groups. Only the files are read: what a directory service knows would need
 * code of the host's choice (NSS) in this process.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

int account_name(const char *file, unsigned long id, char ret[ACCOUNT_NAME_BYTES])
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
	auto_buffer text = { 0 };
	int r = file_read(file, ACCOUNTS_MAX, &text);

	/* A file that cannot be read names nobody; running out of memory must not look like that.
	 */
	if (r == -ENOMEM || text.failed)
		return -ENOMEM;
	(void)snprintf(ret, ACCOUNT_NAME_BYTES, id == 0 ? "root" : "u%lu", id);
	for (const char *line = r < 0 ? "" : buffer_text(&text); *line;) {
		size_t len = strcspn(line, "\n"), n_name, n_id;
		const char *name = field(line, len, 0, &n_name);
		const char *number = field(line, len, 2, &n_id);

		if (number && n_id > 0 && strtoul(number, NULL, 10) == id && n_name > 0 &&
			n_name < ACCOUNT_NAME_BYTES && name[0] != '-' &&
			strspn(name, plain) >= n_name) {
			(void)snprintf(ret, ACCOUNT_NAME_BYTES, "%.*s", (int)n_name, name);
			return 0;
		}
		line += len + (line[len] == '\n');
	}
	return 0;
}
