/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A configuration folder of Corral, before its policies are read. A ceiling must not be lifted by a
 * slip: what exists under the name of a policy, or of a folder with policies, and cannot be read as
 * one stops the run. So does what only looks like a policy (policy.yml, team.YAML), since its
 * author relies on it. Copies of editors and packages (team.yaml~, .team.yaml.swp, team.yaml.bak)
 * and files of other kinds (README) are no policies.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/path.h"
#include "cli/output.h"
#include "cli/stored/internal.h"

static const char place_policy[] = "policy.yaml", place_folder[] = "policy.d";

bool stored_is_near(const char *file, const char *const *endings, size_t n)
{
	const char *dot = strrchr(file, '.');

	if (!dot || file[0] == '.')
		return false;
	for (size_t i = 0; i < n; i++)
		if (strcasecmp(dot, endings[i]) == 0)
			return true;
	return false;
}

/* Beside policy.yaml and policy.d: what another spelling of their names is. */
static bool place_is_misnamed(const char *file)
{
	static const char *const stems[] = { "policy", "policies" };
	static const char *const endings[] = { ".yaml", ".yml", ".json", ".d" };
	const char *dot = strrchr(file, '.');

	if (!dot || strcmp(file, place_policy) == 0 || strcmp(file, place_folder) == 0 ||
		!stored_is_near(file, endings, ROWS(endings)))
		return false;
	for (size_t i = 0; i < ROWS(stems); i++)
		if (strlen(stems[i]) == (size_t)(dot - file) &&
			strncasecmp(file, stems[i], (size_t)(dot - file)) == 0)
			return true;
	return false;
}

/* Folders */

static int place_refuse_link(struct error *e, const char *path)
{
	const struct location where = { .file = path };
	char to[PATH_BYTES];
	const ssize_t n = readlink(path, to, sizeof(to) - 1);

	to[n < 0 ? 0 : n] = '\0';
	(void)error_set(e, -ENOENT, &where, "is a symbolic link to %.200s, which does not exist",
		to[0] ? to : "nothing");
	error_hint(e,
		"policies that bind every run may be missing: restore what it leads to, or remove "
		"the link");
	return -ENOENT;
}

/* Of what is not there: whether a link above it that leads nowhere hides it. */
static int place_check_above(struct error *e, const char *path)
{
	char above[PATH_BYTES];
	struct stat st;
	char *slash;

	if (strlen(path) >= sizeof(above))
		return 0;
	memcpy(above, path, strlen(path) + 1);
	while ((slash = strrchr(above, '/')) && slash != above) {
		*slash = '\0';
		if (lstat(above, &st) < 0)
			continue;
		return S_ISLNK(st.st_mode) && stat(above, &st) < 0 && errno == ENOENT
			       ? place_refuse_link(e, above)
			       : 0;
	}
	return 0;
}

int stored_open_folder(const char *path, DIR **ret, struct error *e)
{
	const struct location where = { .file = path };
	struct stat st;
	int r;

	*ret = NULL;
	/* Below what is no folder (HOME is /dev/null, say) there can be nothing. */
	if (lstat(path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR))
		return errno == ENOENT ? place_check_above(e, path) : 0;
	*ret = opendir(path);
	if (*ret)
		return 0;
	r = -errno;
	if (r == -ENOENT)
		return place_refuse_link(e, path);
	if (r == -ENOTDIR) {
		(void)error_set(e, r, &where, "is not a folder");
		error_hint(e, "Corral looks for policies in a folder of this name: move it away");
		return r;
	}
	(void)error_set(e, r, &where, "cannot be read: %s", strerror(-r));
	error_hint(e, "it may have policies that bind every run: let this user read it");
	return r;
}

int stored_look_place(struct call *c, const struct stored_place *p, struct stored_found *ret)
{
	__attribute__((cleanup(stored_close_dir))) DIR *dir = NULL;
	const struct location where = { .file = p->config };
	const struct dirent *d;
	int r = p->config ? stored_open_folder(p->config, &dir, c->error) : 0;

	*ret = (struct stored_found){ 0 };
	while (r == 0 && dir && (errno = 0, d = readdir(dir))) {
		struct stored_file f = { 0 };

		ret->has_policy = ret->has_policy || strcmp(d->d_name, place_policy) == 0;
		ret->has_folder = ret->has_folder || strcmp(d->d_name, place_folder) == 0;
		if (!place_is_misnamed(d->d_name))
			continue;
		f.name = f.path = arena_printf(c->arena, "%s/%s", p->config, d->d_name);
		if (!f.path || ARENA_PUSH(c->arena, ret->misnamed.items, ret->misnamed.n,
				       ret->misnamed.cap, f) < 0)
			return error_no_memory(c->error);
	}
	if (r == 0 && dir && errno)
		r = error_set(c->error, -errno, &where, "cannot be read: %s", strerror(errno));
	return r;
}

/* Names under which it would be read */

/* FOLDER/STEM and its ending in lower case; "other-…" where that is taken. */
static const char *place_name_beside(struct call *c, const char *folder, const char *base)
{
	char *path = arena_printf(c->arena, "%s/%s", folder, base);
	char *dot = path ? strrchr(path, '.') : NULL;
	struct stat st;

	for (; dot && *dot; dot++)
		*dot = (char)tolower((unsigned char)*dot);
	if (path && lstat(path, &st) == 0)
		path = arena_printf(c->arena, "%s/other-%s", folder, strrchr(path, '/') + 1);
	return path ? path : folder;
}

const char *stored_name_ignored(
	struct call *c, const struct stored_place *p, const struct stored_file *f)
{
	const char *base = strrchr(f->path, '/') + 1, *dot = strrchr(base, '.');
	const bool is_beside = strlen(p->config) == (size_t)(base - f->path) - 1;
	struct stat st;

	if (!is_beside)
		return place_name_beside(c, p->folder, base);
	if (dot && strcasecmp(dot, ".d") == 0)
		return lstat(p->folder, &st) < 0 ? p->folder
						 : place_name_beside(c, p->folder, base);
	/* YAML takes one name only; JSON, and what is one too many, have their place below. */
	if (dot && strcasecmp(dot, ".json") != 0) {
		const char *path = arena_printf(c->arena, "%s/%s", p->config, place_policy);

		if (path && lstat(path, &st) < 0)
			return path;
	}
	return place_name_beside(c, p->folder, base);
}

const char *stored_why_ignored(const struct stored_place *p, const struct stored_file *f)
{
	static const char *const small[] = { ".yaml", ".yml", ".json" };
	const char *base = strrchr(f->path, '/') + 1, *dot = strrchr(base, '.');
	bool is_small = false;

	for (size_t i = 0; dot && i < ROWS(small); i++)
		is_small = is_small || strcmp(dot, small[i]) == 0;
	if (strlen(p->config) == (size_t)(base - f->path) - 1)
		return "the names here are policy.yaml and policy.d";
	return is_small ? "custom/ takes rules in .json only"
			: "names end in .yaml, .yml or .json, in small letters";
}

int stored_refuse_ignored(
	struct call *c, const struct stored_place *p, const struct stored_files *all)
{
	const struct stored_file *f = all->items;
	const struct location where = { .file = all->n ? f->path : NULL };
	auto_buffer hint = { 0 };

	if (all->n == 0)
		return 0;
	(void)error_set(c->error, -EINVAL, &where, "looks like a policy and is not read: %s",
		stored_why_ignored(p, f));
	buffer_adds(&hint, "mv ");
	output_shell_word(&hint, f->path);
	buffer_addc(&hint, ' ');
	output_shell_word(&hint, stored_name_ignored(c, p, f));
	error_hint(c->error, "%s; or give it another ending, such as .off",
		hint.failed ? "rename it" : buffer_text(&hint));
	return -EINVAL;
}
