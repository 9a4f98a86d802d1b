/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The small files that Corral writes in place of the host's own. A command sees one user, who it
 * is, root and nobody; names of hosts come from nowhere but Corral.
 */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "host/account.h"
#include "jail/plan/internal.h"

enum { NOBODY = 65534 };

/* Running out of memory is told by the buffer, as all of it is. */
static void find_user(
	struct buffer *out, const char *file, unsigned long id, char name[ACCOUNT_NAME_BYTES])
{
	name[0] = '\0';
	out->failed = account_name(file, id, name) < 0 || out->failed;
}

/* A path that would break the line is left out. */
static const char *home_field(const struct planner *p)
{
	return strpbrk(p->plan->home, ":\n") ? "/" : p->plan->home;
}

static void print_passwd(struct planner *p, struct buffer *out)
{
	unsigned long uid = getuid(), gid = getgid();
	char name[ACCOUNT_NAME_BYTES];

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
	char name[ACCOUNT_NAME_BYTES];

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
	buffer_adds(out, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
	if (p->plan->network == PLAN_NETWORK_RELAY)
		buffer_adds(out, PLAN_SELF_4 " corral\n");
}

static void print_resolver(struct planner *p, struct buffer *out)
{
	const char *server = p->plan->network == PLAN_NETWORK_RELAY ? PLAN_SERVER_4 : "127.0.0.1";

	buffer_printf(out, "nameserver %s\noptions edns0 trust-ad\n", server);
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

	for (size_t i = 0; i < ROWS(files); i++) {
		if (strcmp(files[i].path, path) == 0)
			files[i].print(p, &out);
	}
	text = out.failed ? NULL : arena_strdup(&p->arena, buffer_text(&out));
	if (!text)
		return plan_no_memory(p);
	*ret = text;
	return 0;
}
