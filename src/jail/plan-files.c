/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small files that Corral writes in place of the host's own. A command sees one user, who it
 * is, root and nobody; names of hosts come from nowhere but Corral.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/file.h"
#include "jail/plan-part.h"

/* Larger files are those of a directory service; the user's number does as a name then. */
enum { ACCOUNTS_MAX = 1 << 20, NAME_BYTES = 64, NOBODY = 65534 };

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

static bool is_name(const char *name, size_t len)
{
	static const char plain[] =
		"abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";

	return len > 0 && len < NAME_BYTES && name[0] != '-' && strspn(name, plain) >= len;
}

/* The name that passwd or group has for a number. */
static void find_name(const char *text, unsigned long id, char *out, size_t size)
{
	(void)snprintf(out, size, id == 0 ? "root" : "u%lu", id);
	for (const char *line = text; *line;) {
		size_t len = strcspn(line, "\n"), n_name, n_id;
		const char *name = field(line, len, 0, &n_name);
		const char *number = field(line, len, 2, &n_id);

		if (number && n_id > 0 && strtoul(number, NULL, 10) == id &&
			is_name(name, n_name)) {
			(void)snprintf(out, size, "%.*s", (int)n_name, name);
			return;
		}
		line += len + (line[len] == '\n');
	}
}

static void find_user(struct buffer *out, const char *file, unsigned long id, char name[NAME_BYTES])
{
	auto_buffer text = { 0 };
	int r = file_read(file, ACCOUNTS_MAX, &text);

	/* A file that cannot be read names nobody; running out of memory must not look like that.
	 */
	out->failed = out->failed || r == -ENOMEM || text.failed;
	find_name(r < 0 ? "" : buffer_text(&text), id, name, NAME_BYTES);
}

/* A path that would break the line is left out. */
static const char *home_field(const struct planner *p)
{
	return strpbrk(p->plan->home, ":\n") ? "/" : p->plan->home;
}

static void print_passwd(struct planner *p, struct buffer *out)
{
	unsigned long uid = getuid(), gid = getgid();
	char name[NAME_BYTES];

	find_user(out, "/etc/passwd", uid, name);
	if (uid != 0)
		buffer_adds(out, "root:x:0:0:root:/root:/bin/sh\n");
	buffer_printf(out, "%s:x:%lu:%lu:%s:%s:/bin/sh\n", name, uid, gid, name, home_field(p));
	if (uid != NOBODY)
		buffer_adds(out, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
}

static void print_group(struct planner *p, struct buffer *out)
{
	unsigned long gid = getgid();
	char name[NAME_BYTES];

	(void)p;
	find_user(out, "/etc/group", gid, name);
	if (gid != 0)
		buffer_adds(out, "root:x:0:\n");
	buffer_printf(out, "%s:x:%lu:\n", name, gid);
	if (gid != NOBODY)
		buffer_adds(out, "nogroup:x:65534:\n");
}

static void print_hosts(struct planner *p, struct buffer *out)
{
	(void)p;
	buffer_adds(out, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
}

static void print_resolver(struct planner *p, struct buffer *out)
{
	(void)p;
	buffer_adds(out, "nameserver 127.0.0.1\noptions edns0 trust-ad\n");
}

static const struct {
	const char *path;
	void (*print)(struct planner *p, struct buffer *out);
} files[] = {
	{ "/etc/passwd", print_passwd },
	{ "/etc/group", print_group },
	{ "/etc/hosts", print_hosts },
	{ "/etc/resolv.conf", print_resolver },
};

int plan_files_text(struct planner *p, const char *path, const char **ret)
{
	auto_buffer out = { 0 };
	const char *text;

	for (size_t i = 0; i < sizeof(files) / sizeof(files[0]); i++) {
		if (strcmp(files[i].path, path) == 0)
			files[i].print(p, &out);
	}
	text = out.failed ? NULL : arena_strdup(&p->arena, buffer_text(&out));
	if (!text)
		return plan_no_memory(p);
	*ret = text;
	return 0;
}
