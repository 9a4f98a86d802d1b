/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/enclave-links.h"

#include <errno.h>
#include <string.h>

#include "lib/beneath.h"
#include "policy/glob.h"

struct looking {
	const struct enclave_links *links;
	struct permissions *contested;
	struct arena arena; /* for as long as it takes */
	int n;              /* that were taken out */
	int code;
};

static bool may_write(const struct policy *p, const char *path)
{
	const struct request r = { .op = OPERATION_FS_WRITE, .target = path };
	struct decision d;

	return policy_decide(p, &r, &d) < 0 || d.verdict != VERDICT_DENY;
}

/*
 * Whether somebody could have put a link there: who may write other names beside it, or a folder
 * above. The grant of its own name is not enough, nor of all below it (beneath-grants.c).
 */
static bool is_replaceable(const struct policy *p, const char *link)
{
	char path[PATH_BYTES + 1];
	size_t len = strlen(link);

	memcpy(path, link, len);
	memcpy(path + len, "~", 2);
	if (may_write(p, path))
		return true;
	while (len > 1) {
		while (len > 1 && path[len - 1] != '/')
			len--;
		len -= len > 1;
		path[len] = '\0';
		if (may_write(p, path))
			return true;
	}
	return false;
}

/* Whether a link on the way is not to be trusted; or what it says cannot be told. */
static bool goes_astray(const struct looking *l, const char *literal)
{
	char path[PATH_BYTES], next[PATH_BYTES], link[PATH_BYTES];
	int r = 1;

	memcpy(path, literal, strlen(literal) + 1);
	for (unsigned i = 0; r == 1 && i < BENEATH_LINKS_MAX; i++) {
		r = beneath_next(path, next, link);
		if (r == 1 && is_replaceable(l->links->ever, link))
			return true;
		if (r == 1)
			memcpy(path, next, sizeof(path));
	}
	return r != 0 && r != -ENOENT && r != -ENOTDIR && is_replaceable(l->links->ever, path);
}

/* What matches a true glob may be links, too: the folder in which it begins must be trusted. */
static bool alternative_goes_astray(
	const struct looking *l, const struct glob_alternative *alt, bool *contested)
{
	char path[PATH_BYTES];
	size_t len = alt->literal_len;

	if (len + 2 >= sizeof(path))
		return true;
	memcpy(path, alt->literal, len);
	if (alt->kind == GLOB_TRUE) {
		while (len > 0 && path[len - 1] != '/')
			len--;
		memcpy(path + len, "x", 2);
		if (is_replaceable(l->links->ever, path))
			return true;
		len -= len > 0;
	}
	path[len] = '\0';
	if (len <= 1 || !path_is_normal(path, len))
		return false;
	*contested = *contested ||
		     (is_replaceable(l->links->ever, path) && !is_replaceable(l->links->now, path));
	return goes_astray(l, path);
}

static bool pattern_goes_astray(struct looking *l, const char *text)
{
	const char *expanded;
	bool contested = false;
	struct glob g;

	if (variable_expand(l->links->variables, text, &l->arena, &expanded, NULL, NULL) < 0 ||
		glob_parse(&g, &l->arena, expanded, NULL, NULL) < 0)
		return true;
	for (size_t i = 0; i < g.n; i++) {
		if (alternative_goes_astray(l, &g.alternatives[i], &contested))
			return true;
	}
	if (contested && l->code == 0)
		l->code = permissions_add(l->contested, &l->contested->fs_read, text, NULL);
	return false;
}

static void drop_from(struct looking *l, struct grant_list *list)
{
	size_t n = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct grant g = list->items[i];
		bool astray = false;

		for (size_t k = 0; k < g.n; k++)
			astray = astray || pattern_goes_astray(l, g.all[k]);
		if (!astray)
			list->items[n++] = g;
	}
	l->n += (int)(list->n - n);
	list->n = n;
}

static void drop(struct looking *l, struct permissions *p)
{
	const unsigned files = 1u << OPERATION_FS_READ | 1u << OPERATION_FS_WRITE;

	drop_from(l, &p->fs_read);
	drop_from(l, &p->fs_write);
	drop_from(l, &p->dangerously_allow);
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		if (rule->action != VERDICT_ALLOW || !(rule->operations & files))
			continue;
		drop_from(l, &rule->patterns);
		rule->disabled = rule->disabled || rule->patterns.n == 0;
	}
	for (size_t i = 0; i < p->n_all_of; i++)
		drop(l, p->all_of[i]);
}

int enclave_links_drop(
	const struct enclave_links *l, struct permissions *p, struct permissions *contested)
{
	struct looking looking = { .links = l, .contested = contested };

	drop(&looking, p);
	arena_deinit(&looking.arena);
	return looking.code < 0 ? looking.code : looking.n;
}
