/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/process/skill-entry.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/path.h"

_Static_assert(PATH_BYTES >= PATH_MAX, "realpath() writes that much");

enum { MANIFEST_BYTES = 1 << 20 };

/* What a skill's folder may hold, the one that counts first. */
static const char *const names[] = { "skill.yaml", "skill.yml", "SKILL.md", "manifest.yaml" };

static bool exists(const char *path)
{
	struct stat st;

	return stat(path, &st) == 0;
}

/* The manifest's file: path itself, or what the folder holds. */
static int find_file(const char *path, char out[PATH_BYTES], struct error *e)
{
	struct stat st;

	if (!realpath(path, out) || stat(out, &st) < 0)
		return error_set(e, -errno, NULL, "cannot read %s: %s", path, strerror(errno));
	if (!S_ISDIR(st.st_mode))
		return 0;
	for (size_t i = 0; i < ROWS(names); i++) {
		char file[PATH_BYTES];
		int n = snprintf(file, sizeof(file), "%s/%s", out, names[i]);

		if (n > 0 && n < (int)sizeof(file) && exists(file)) {
			memcpy(out, file, sizeof(file));
			return 0;
		}
	}
	return error_set(e, -ENOENT, NULL,
		"%s holds no manifest: neither skill.yaml nor SKILL.md nor manifest.yaml", path);
}

int skill_entry_manifest(struct manifest *ret, const char *path, char *ret_folder, struct error *e)
{
	auto_buffer text = { 0 };
	char file[PATH_BYTES];
	int r = find_file(path, file, e);

	if (r < 0)
		return r;
	r = file_read(file, MANIFEST_BYTES, &text);
	if (r < 0)
		return error_set(e, r, NULL, "cannot read %s: %s", file, strerror(-r));
	r = manifest_read(ret, MANIFEST_UNKNOWN, file, buffer_text(&text), text.len, e);
	if (r < 0)
		return r;
	*strrchr(file, '/') = '\0';
	(void)snprintf(ret_folder, PATH_BYTES, "%s", file[0] ? file : "/");
	return 0;
}

/* The entry's file, which must lie in the folder, however it is linked. */
static int skill_entry_resolve(
	const char *folder, const char *entry, struct arena *a, const char **ret, struct error *e)
{
	char base[PATH_BYTES], joined[2 * PATH_BYTES], file[PATH_BYTES];

	if (!realpath(folder, base))
		return error_set(e, -errno, NULL, "cannot read %s: %s", folder, strerror(errno));
	if ((size_t)snprintf(joined, sizeof(joined), "%s/%s", base, entry) >= sizeof(joined) ||
		!realpath(joined, file))
		return error_set(
			e, -ENOENT, NULL, "the skill in %s has no entry %s", folder, entry);
	if (!path_is_below(file, base) || strcmp(file, base) == 0)
		return error_set(e, -EACCES, NULL, "the entry %s leads out of the skill in %s",
			entry, folder);
	*ret = arena_strdup(a, file);
	return *ret ? 0 : -ENOMEM;
}

int skill_entry_find(const char *folder, const char *entry, struct arena *a, const char **ret_path,
	const char **ret_runtime, struct error *e)
{
	auto_manifest m = { 0 };
	const char *path = NULL, *runtime = NULL;
	char base[PATH_BYTES];
	int r = entry ? 0 : skill_entry_manifest(&m, folder, base, e);

	if (r < 0)
		return r;
	if (!entry && !m.entry)
		return error_set(e, -ENOENT, NULL, "the manifest in %s names no entry", folder);
	r = skill_entry_resolve(folder, entry ? entry : m.entry, a, &path, e);
	if (r == 0 && m.runtime) {
		runtime = arena_strdup(a, m.runtime);
		r = runtime ? 0 : -ENOMEM;
	}
	if (r < 0)
		return r;
	*ret_path = path;
	*ret_runtime = runtime;
	return 0;
}
