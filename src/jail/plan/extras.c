/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan has whatever the policy grants: the essentials, folders of the session's own in place
 * of HOME and the temporary folders, the places that the tree makes itself, and files that no grant
 * makes writable.
 *
 * Some essentials are small files that Corral writes in place of the host's own. A command sees one
 * user, who it is, root and nobody; names of hosts come from nowhere but Corral.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "host/account.h"
#include "jail/essentials.h"
#include "jail/plan/internal.h"

enum { NOBODY = 65534 };

/* Running out of memory is reported by the buffer, as all of it is. */
static void plan_extras_find_user(
	struct buffer *out, const char *file, unsigned long id, char name[ACCOUNT_NAME_BYTES])
{
	name[0] = '\0';
	out->failed = account_name(file, id, name) < 0 || out->failed;
}

static void plan_extras_print_passwd(const struct planner *p, struct buffer *out)
{
	unsigned long uid = getuid(), gid = getgid();
	/* A path that would break the line is left out. */
	const char *home = strpbrk(p->plan->home, ":\n") ? "/" : p->plan->home;
	char name[ACCOUNT_NAME_BYTES];

	plan_extras_find_user(out, "/etc/passwd", uid, name);
	if (uid != 0)
		buffer_adds(out, "root:x:0:0:root:/root:/bin/sh\n");
	buffer_printf(out, "%s:x:%lu:%lu:%s:%s:/bin/sh\n", name, uid, gid, name, home);
	if (uid != NOBODY)
		buffer_adds(out, "nobody:x:65534:65534:nobody:/nonexistent:/usr/sbin/nologin\n");
}

static void plan_extras_print_group(const struct planner *p, struct buffer *out)
{
	unsigned long gid = getgid();
	char name[ACCOUNT_NAME_BYTES];

	(void)p;
	plan_extras_find_user(out, "/etc/group", gid, name);
	if (gid != 0)
		buffer_adds(out, "root:x:0:\n");
	buffer_printf(out, "%s:x:%lu:\n", name, gid);
	if (gid != NOBODY)
		buffer_adds(out, "nogroup:x:65534:\n");
}

static void plan_extras_print_hosts(const struct planner *p, struct buffer *out)
{
	buffer_adds(out, "127.0.0.1 localhost\n::1 localhost ip6-localhost ip6-loopback\n");
	buffer_adds(out, p->plan->network == PLAN_NETWORK_RELAY ? PLAN_SELF_4 : PLAN_SELF_LOCAL);
	buffer_adds(out, " corral\n");
}

static void plan_extras_print_resolver(const struct planner *p, struct buffer *out)
{
	const char *server =
		p->plan->network == PLAN_NETWORK_RELAY ? PLAN_SERVER_4 : PLAN_SERVER_LOCAL;

	buffer_printf(out, "nameserver %s\noptions edns0 trust-ad\n", server);
}

static const struct {
	const char *path;
	void (*print)(const struct planner *p, struct buffer *out);
	bool about_hosts;
	bool is_always; /* also where there is no network: it leads to who answers then */
} texts[] = {
	{ "/etc/passwd", plan_extras_print_passwd, false, false },
	{ "/etc/group", plan_extras_print_group, false, false },
	{ "/etc/hosts", plan_extras_print_hosts, true, false },
	{ "/etc/resolv.conf", plan_extras_print_resolver, true, true },
};

/*
 * Names of hosts are the host's where the network is. Elsewhere Corral answers them, and where the
 * host's files lead is of no use, though granted.
 */
static int plan_extras_add_text(struct planner *p, const char *path)
{
	struct plan_place place = { .path = path, .origin = PLAN_FROM_ESSENTIALS };
	bool about_hosts = false, is_covered = false;
	auto_buffer out = { 0 };

	for (size_t i = 0; i < ROWS(texts); i++) {
		if (strcmp(texts[i].path, path) != 0)
			continue;
		about_hosts = texts[i].about_hosts;
		is_covered = about_hosts &&
			     (texts[i].is_always || p->plan->network == PLAN_NETWORK_RELAY);
		texts[i].print(p, &out);
	}
	if (about_hosts && p->plan->network == PLAN_NETWORK_HOST)
		return plan_add_place(p, place);
	place.special = is_covered ? PLAN_COVER : PLAN_TEXT;
	place.text = out.failed ? NULL : arena_strdup(&p->arena, buffer_text(&out));
	return place.text ? plan_add_place(p, place) : -ENOMEM;
}

int plan_extras_collect(struct planner *p)
{
	const struct {
		const char *path;
		enum plan_special special;
	} folders[] = {
		{ p->plan->home, PLAN_OWN },
		{ "/tmp", PLAN_OWN },
		{ "/var/tmp", PLAN_OWN },
		{ "/dev", PLAN_PRIVATE },
		{ "/proc", PLAN_PRIVATE },
	};
	int r = 0;

	for (size_t i = 0; r == 0 && i < essentials_n; i++) {
		const struct essential *e = &essentials[i];
		const char *path = essentials_texts + e->path;

		if (e->condition && access(essentials_texts + e->condition, F_OK) < 0)
			continue;
		/* Libraries and loaders are added by plan/exec.c. */
		if (e->kind == ESSENTIAL_READ)
			r = plan_add_place(p, (struct plan_place){ .path = path,
						      .origin = PLAN_FROM_ESSENTIALS });
		else if (e->kind == ESSENTIAL_TEXT)
			r = plan_extras_add_text(p, path);
	}
	for (size_t i = 0; r == 0 && i < p->options->n_covers; i++) {
		const struct plan_text *t = &p->options->covers[i];

		r = plan_add_place(p, (struct plan_place){ .path = t->path,
					      .origin = PLAN_FROM_ESSENTIALS,
					      .special = PLAN_COVER,
					      .text = t->text,
					      .is_base64 = t->is_base64 });
	}
	for (size_t i = 0; r == 0 && i < p->options->n_masked; i++)
		r = plan_add_place(p, (struct plan_place){ .path = p->options->masked[i].path,
					      .origin = PLAN_FROM_ITSELF,
					      .special = PLAN_MASKED,
					      .text = p->options->masked[i].text });
	for (size_t i = 0; r == 0 && i < ROWS(folders); i++) {
		struct plan_place place = { .path = folders[i].path,
			.origin = PLAN_FROM_ITSELF,
			.special = folders[i].special };

		/* With HOME=/ there is nothing to put a folder on. */
		r = place.path[1] ? plan_add_place(p, place) : 0;
	}
	for (size_t i = 0; r == 0 && i < p->options->n_guarded; i++)
		r = plan_add_place(p, (struct plan_place){ .path = p->options->guarded[i],
					      .origin = PLAN_FROM_GUARDED });
	for (size_t i = 0; r == 0 && i < p->options->n_hidden; i++)
		r = plan_add_place(p, (struct plan_place){ .path = p->options->hidden[i],
					      .origin = PLAN_FROM_HIDDEN });
	return r;
}
