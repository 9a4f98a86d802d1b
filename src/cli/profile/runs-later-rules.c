/* SPDX-License-Identifier: Apache-2.0 */
/* Places as rules of a layer: kept from being written, but for what is granted by name. */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "base/arena.h"
#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/places.h"
#include "policy/match/glob.h"

/* A grant by name is judged before the denial. */
enum { PRIORITY_DENY = 0, PRIORITY_ALLOW = 1 };

/*
 * A link inside the folder is no thing that a mount can cover, but what it leads to is, if that
 * lies in the folder as well; elsewhere nothing is granted. A link that is replaced is noticed.
 */
static int deny_row(
	const struct runs_later *d, struct permissions *p, struct rule *rule, const char *real)
{
	auto_buffer pattern = { 0 };
	struct stat st;

	if (!path_is_below(real, d->folder) || strcmp(real, d->folder) == 0 || lstat(real, &st) < 0)
		return 0;
	glob_print_literal(real, strlen(real), &pattern);
	if (S_ISDIR(st.st_mode))
		buffer_adds(&pattern, "/**");
	return pattern.failed
		       ? -ENOMEM
		       : permissions_add(p, &rule->patterns, buffer_text(&pattern), &rule->where);
}

int runs_later_deny(const struct runs_later *d, struct permissions *p)
{
	struct rule rule = {
		.id = "runs-later",
		.name = "other programs run it later, outside of the sandbox",
		.action = VERDICT_DENY,
		.priority = PRIORITY_DENY,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = p->origin },
	};
	int r = 0;

	for (size_t i = 0; d->folder && r == 0 && i < d->places->n; i++) {
		if (d->places->items[i].uses & THREAT_PROTECT && d->places->items[i].real)
			r = deny_row(d, p, &rule, d->places->items[i].real);
	}
	/* In a folder that is kept as a whole, each by its name as well: the plan counts them. */
	for (size_t i = 0; d->folder && r == 0 && i < d->places->twins.n; i++) {
		char path[PATH_BYTES];

		if (profile_twins_is_whole(&d->places->twins, i) &&
			snprintf(path, sizeof(path), "%s/%s", d->folder,
				d->places->twins.items[i].path) < (int)sizeof(path))
			r = deny_row(d, p, &rule, path);
	}
	return r == 0 && rule.patterns.n ? permissions_add_rule(p, &rule) : r;
}

/* Is it kept, or does it lie in what is kept? path: absolute. */
static bool runs_later_is_kept(const struct runs_later *d, const char *path)
{
	char place[PATH_BYTES];

	for (size_t i = 0; i < d->places->n; i++) {
		if (d->places->items[i].uses & THREAT_PROTECT &&
			snprintf(place, sizeof(place), "%s/%s", d->folder,
				d->places->items[i].path) < (int)sizeof(place) &&
			path_is_below(path, place))
			return true;
	}
	return false;
}

int runs_later_allow(struct runs_later *d, struct permissions *p, const char *pattern)
{
	struct rule rule = {
		.id = "granted-by-name",
		.action = VERDICT_ALLOW,
		.priority = PRIORITY_ALLOW,
		.operations = 1U << OPERATION_FS_WRITE,
		.where = { .file = "--write" },
	};
	auto_arena scratch = { 0 };
	bool is_kept = true;
	struct glob g;
	int r;

	if (!d->folder)
		return 0;
	r = glob_parse(&g, &scratch, pattern, NULL, NULL);
	if (r < 0)
		return r == -ENOMEM ? r : 0; /* with a variable: not by name */
	for (size_t i = 0; i < g.n; i++) {
		const char *literal = g.alternatives[i].literal;

		is_kept = is_kept && runs_later_is_kept(d, literal);
		if (d->n_granted < RUNS_LATER_GRANTS) {
			d->granted[d->n_granted] = arena_strdup(&d->places->look.arena, literal);
			if (!d->granted[d->n_granted++])
				return -ENOMEM;
		}
	}
	if (!is_kept)
		return 0;
	r = permissions_add(p, &rule.patterns, pattern, &rule.where);
	return r < 0 ? r : permissions_add_rule(p, &rule);
}
