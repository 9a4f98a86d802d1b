/* SPDX-License-Identifier: Apache-2.0 */
#include "host/system-links.h"

#include <errno.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "host/links.h"
#include "host/planted.h"

static const char *const names[] = { "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32" };

/* The folder of a pattern "/folder/<all>", without wildcards in it; false: it is none. */
static bool system_links_folder(const char *pattern, char out[PATH_BYTES])
{
	size_t len = strlen(pattern);

	if (len < 5 || len >= PATH_BYTES || strcmp(pattern + len - 3, "/**") != 0)
		return false;
	memcpy(out, pattern, len - 3);
	out[len - 3] = '\0';
	return !strpbrk(out, "*?[]{}\\$~") && path_is_normal(out, len - 3);
}

static bool system_links_has(const struct grant_list *list, const char *pattern)
{
	for (size_t i = 0; i < list->n; i++)
		if (list->items[i].n == 1 && strcmp(list->items[i].all[0], pattern) == 0)
			return true;
	return false;
}

/* Where the link leads, if it is one, and of the system. */
static bool system_links_follow(const char *link, char out[PATH_BYTES])
{
	struct planted planted;

	if (planted_find(link, NULL, &planted) != 0 || strcmp(planted.real, link) == 0)
		return false;
	memcpy(out, planted.real, strlen(planted.real) + 1);
	return true;
}

/* One grant of the list, by its number: the list grows meanwhile. */
static int system_links_add(struct permissions *p, size_t which)
{
	const struct location where = p->fs_read.items[which].where;
	char folder[PATH_BYTES], real[PATH_BYTES], pattern[16];
	int r = 0;

	if (p->fs_read.items[which].n != 1 ||
		!system_links_folder(p->fs_read.items[which].all[0], folder))
		return 0;
	for (size_t i = 0; r == 0 && i < ROWS(names); i++) {
		(void)snprintf(pattern, sizeof(pattern), "%s/**", names[i]);
		if (path_is_below(folder, "/usr") && !system_links_has(&p->fs_read, pattern) &&
			system_links_follow(names[i], real) && path_is_below(real, folder))
			r = permissions_add(p, &p->fs_read, pattern, &where);
	}
	return r;
}

int system_links_grant(struct permissions *p)
{
	const size_t n = p->fs_read.n;
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = system_links_grant(p->all_of[i]);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = system_links_add(p, i);
	return r;
}
