/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What a plan has whatever the policy grants: the essentials, folders of the session's own in place
 * of HOME and the temporary folders, the places that the tree makes itself, and files that no grant
 * makes writable.
 */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "jail/essentials.h"
#include "jail/plan/internal.h"

static const char *const private_folders[] = { "/dev", "/proc" };
static const char *const own_folders[] = { "/tmp", "/var/tmp" };

static bool is_about_hosts(const char *path)
{
	return strcmp(path, "/etc/hosts") == 0 || strcmp(path, "/etc/resolv.conf") == 0;
}

/* Names of hosts are the host's where the network is. */
static bool is_original(const struct planner *p, const char *path)
{
	return p->plan->network == PLAN_NETWORK_HOST && is_about_hosts(path);
}

/* Names that the relay answers: what the host's files say of them is of no use, though granted. */
static bool is_relays(const struct planner *p, const char *path)
{
	return p->plan->network == PLAN_NETWORK_RELAY && is_about_hosts(path);
}

static int plan_extras_add_text(struct planner *p, const char *path)
{
	struct plan_place place = { .path = path, .origin = PLAN_FROM_ESSENTIALS };
	int r = 0;

	if (!is_original(p, path)) {
		place.special = is_relays(p, path) ? PLAN_COVER : PLAN_TEXT;
		r = plan_files_text(p, path, &place.text);
	}
	return r < 0 ? r : plan_add_place(p, place);
}

static int plan_extras_add_essential(struct planner *p, const struct essential *e)
{
	struct plan_place place = { .path = e->path, .origin = PLAN_FROM_ESSENTIALS };

	if (e->condition && access(e->condition, F_OK) < 0)
		return 0;
	switch (e->kind) {
	case ESSENTIAL_READ:
		return plan_add_place(p, place);
	case ESSENTIAL_TEXT:
		return plan_extras_add_text(p, e->path);
	case ESSENTIAL_LIBRARY:
	case ESSENTIAL_LOADER:
		break; /* plan/exec.c */
	}
	return 0;
}

static int plan_extras_add_essentials(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < essentials_n; i++)
		r = plan_extras_add_essential(p, &essentials[i]);
	return r;
}

static int add_special(struct planner *p, const char *path, enum plan_special special)
{
	struct plan_place place = { .path = path, .origin = PLAN_FROM_ITSELF, .special = special };

	return plan_add_place(p, place);
}

static int add_specials(struct planner *p)
{
	/* With HOME=/ there is nothing to put a folder on. */
	int r = p->plan->home[1] ? add_special(p, p->plan->home, PLAN_OWN) : 0;

	for (size_t i = 0; r == 0 && i < ROWS(own_folders); i++)
		r = add_special(p, own_folders[i], PLAN_OWN);
	for (size_t i = 0; r == 0 && i < ROWS(private_folders); i++)
		r = add_special(p, private_folders[i], PLAN_PRIVATE);
	return r;
}

static int add_guarded(struct planner *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->options->n_guarded; i++)
		r = plan_add_place(p, (struct plan_place){ .path = p->options->guarded[i],
					      .origin = PLAN_FROM_GUARDED });
	return r;
}

int plan_extras_collect(struct planner *p)
{
	int r = plan_extras_add_essentials(p);

	if (r == 0)
		r = add_specials(p);
	return r < 0 ? r : add_guarded(p);
}
