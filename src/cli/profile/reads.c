/* SPDX-License-Identifier: Apache-2.0 */
/* What a profile lets be read beside its own list: paths that were found on this machine. */
#include <errno.h>
#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "cli/profile/internal.h"
#include "policy/match/glob.h"

int profile_reads_add(struct permissions *p, const char *path, bool tree)
{
	struct location where = { .file = p->origin };
	auto_buffer pattern = { 0 };

	glob_print_literal(path, strlen(path), &pattern);
	if (tree)
		buffer_adds(&pattern, "/**");
	if (pattern.failed)
		return -ENOMEM;
	return permissions_add(p, &p->fs_read, buffer_text(&pattern), &where);
}

bool profile_reads_has(const struct permissions *p, const char *path)
{
	for (size_t i = 0; i < p->fs_read.n; i++) {
		const char *pattern = p->fs_read.items[i].all[0];
		size_t len = strlen(pattern);
		char folder[PATH_BYTES];

		if (len < 4 || len >= sizeof(folder) || strcmp(pattern + len - 3, "/**") != 0)
			continue;
		memcpy(folder, pattern, len - 3);
		folder[len - 3] = '\0';
		if (!strpbrk(folder, "*?[]{}\\$") && path_is_below(path, folder))
			return true;
	}
	return false;
}
