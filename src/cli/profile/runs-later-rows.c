/* SPDX-License-Identifier: Apache-2.0 */
/* Rows of the table in one folder, and what lies in places that are kept as a whole. */
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "cli/profile/places.h"

const char runs_later_repository[] = "git runs its hooks and commands";
const char runs_later_twin[] = "it is a hard link of a file that other programs run";
const char runs_later_bare[] = "git treats it as a repository and runs its hooks and commands";

bool runs_later_join(const char *folder, const char *name, char out[PATH_BYTES])
{
	return snprintf(out, PATH_BYTES, "%s%s%s", folder, *folder && *name ? "/" : "", name) <
	       PATH_BYTES;
}

bool runs_later_has(const struct look_folder *f, const char *name)
{
	int head = threat_head_find(name, strlen(name));

	return head >= 0 && look_has(f, (size_t)head);
}

/* Where forges and hooks look: at the top of a working copy. */
static bool runs_later_is_checkout(const struct look_folder *f)
{
	return !*f->path || f->is_bare || runs_later_has(f, ".git") || runs_later_has(f, ".hg") ||
	       runs_later_has(f, ".jj") || runs_later_has(f, ".sl");
}

/* The rows of a first name, of which so many bytes are left out. */
static int runs_later_rows_of(const struct runs_later_rows *x, int head, size_t left_out)
{
	bool is_checkout = runs_later_is_checkout(x->folder);
	char path[PATH_BYTES];
	int r = 0;

	for (uint16_t i = head < 0 ? 0 : threat_heads[head].first; r == 0 && i;
		i = threat_head_next[i - 1]) {
		const struct threat *row = &threat_paths[i - 1];

		if ((row->uses & THREAT_CHECKOUT && !is_checkout) ||
			strlen(threat_name(row)) <= left_out ||
			!runs_later_join(x->folder->path, threat_name(row) + left_out, path))
			continue;
		r = x->one(x->data, x->folder, path, row);
	}
	return r;
}

int runs_later_rows(const struct runs_later_rows *x)
{
	const char *base = x->places->base;
	int r = 0;

	for (size_t i = 0; i < ROWS(x->folder->heads); i++) {
		for (uint64_t left = x->folder->heads[i]; r == 0 && left; left &= left - 1)
			r = runs_later_rows_of(x, (int)(i * 64) + __builtin_ctzll(left), 0);
	}
	if (r == 0 && x->folder->is_bare)
		r = runs_later_rows_of(
			x, threat_head_find(".git", strlen(".git")), strlen(".git/"));
	if (r == 0 && !*x->folder->path)
		r = runs_later_rows_of(x, threat_head_find(base, strlen(base)), strlen(base) + 1);
	return r;
}

bool runs_later_is_inside(const struct runs_later_places *p, const char *path)
{
	char folder[PATH_BYTES];
	char *slash;

	(void)snprintf(folder, sizeof(folder), "%s", path);
	while ((slash = strrchr(folder, '/'))) {
		ssize_t i;

		*slash = '\0';
		i = look_index_find(&p->index, p->items, sizeof(*p->items), folder);
		if (i >= 0 && p->items[i].uses & THREAT_PROTECT &&
			p->items[i].kind != PLACE_REPOSITORY)
			return true;
	}
	return false;
}
