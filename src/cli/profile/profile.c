/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/profile/profile.h"

#include <dirent.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/file.h"
#include "base/suggest.h"
#include "cli/profile/internal.h"
#include "codec/node.h"
#include "host/account.h"

/* More profiles than this a message does not list. */
enum { NAMES_MAX = 32, NAME_LENGTH_MAX = 64 };

/* VARIABLE/corral, or HOME/FALLBACK/corral. */
static const char *profile_folder_of(struct call *c, const char *variable, const char *fallback)
{
	const char *base = getenv(variable), *home = getenv("HOME"), *path = NULL, *normal = NULL;

	if (base && base[0] == '/')
		path = arena_printf(c->arena, "%s/corral", base);
	else if ((home && home[0] == '/') ||
		 account_home("/etc/passwd", getuid(), c->arena, &home) == 0)
		path = arena_printf(c->arena, "%s/%s/corral", home, fallback);
	return path && load_absolute(c, path, &normal) == 0 ? normal : NULL;
}

const char *profile_config_folder(struct call *c)
{
	return profile_folder_of(c, "XDG_CONFIG_HOME", ".config");
}

const char *profile_state_folder(struct call *c)
{
	return profile_folder_of(c, "XDG_STATE_HOME", ".local/state");
}

/* Built in */

static const struct profile_data *find_data(const char *name)
{
	for (size_t i = 0; i < profile_data_count; i++) {
		if (strcmp(profile_data[i].name, name) == 0)
			return &profile_data[i];
	}
	return NULL;
}

struct permissions *profile_builtin(const char *name)
{
	const struct profile_data *data = find_data(name);
	auto_permissions *p = data ? permissions_new() : NULL;
	struct permissions *ret = p;
	struct location where = { 0 };

	if (!p)
		return NULL;
	p->origin = where.file = arena_printf(p->arena, "profile %s", name);
	p->line_place = LINE_NOWHERE;
	if (!p->origin)
		return NULL;
	for (size_t i = 0; i < data->n; i++) {
		struct grant_list *list = (void *)((char *)p + data->rows[i].list);

		if (permissions_add(p, list, data->rows[i].pattern, &where) < 0)
			return NULL;
	}
	p = NULL;
	return ret;
}

/* One more pattern of what may be written, absolute as far as it can be. */
static int profile_add_write(
	struct call *c, const struct load *l, const char *text, const char **to)
{
	const size_t plain = strcspn(text, "*?[]{}\\");
	const char *start = NULL;
	int r;

	*to = text;
	if (text[0] == '/')
		return 0;
	if (text[0] == '~' || text[0] == '$') {
		r = variable_expand(&l->variables, text, c->arena, to, NULL, NULL);
		return r == -ENOMEM ? r : 0;
	}
	start = arena_strndup(c->arena, text, plain);
	if (!start || load_absolute(c, *start ? start : ".", &start) < 0)
		return start ? 0 : -ENOMEM;
	*to = arena_printf(c->arena, "%s%s%s", start, plain ? "" : "/", text + plain);
	return *to ? 0 : -ENOMEM;
}

/* All that may be written beside the working folder: by --write, and by a file that extends. */
static int profile_find_writes(struct call *c, const struct load *l, struct profile_path *x)
{
	const struct grant_list *also = l->extending ? &l->extending->fs_write : NULL;
	const size_t n = (l->writes ? l->writes->n : 0) + (also ? also->n : 0);
	const char **writes;
	int r = 0;

	if (n == 0)
		return 0;
	x->writes = writes = arena_calloc(c->arena, n, sizeof(*writes));
	if (!writes)
		return -ENOMEM;
	for (size_t i = 0; r == 0 && l->writes && i < l->writes->n; i++)
		r = profile_add_write(c, l, l->writes->items[i], &writes[x->n_writes++]);
	for (size_t i = 0; r == 0 && also && i < also->n; i++)
		r = profile_add_write(c, l, also->items[i].all[0], &writes[x->n_writes++]);
	return r;
}

static int open_builtin(struct profile *p, struct call *c, const char *name, const struct load *l)
{
	struct profile_path x = { .path = getenv("PATH"),
		.home = l->variables.values[VARIABLE_HOME],
		.work_dir = l->variables.values[VARIABLE_WORK_DIR] };
	int r = l->is_anywhere ? 0 : profile_place_check(c, name, l);

	if (r < 0)
		return r;
	profile_limits(&p->limits);
	p->permissions = profile_builtin(name);
	r = p->permissions ? 0 : -ENOMEM;
	if (r == 0)
		r = profile_find_writes(c, l, &x);
	if (r == 0 && x.path && x.home)
		r = profile_path_grant(p->permissions, &x);
	return r == -ENOMEM ? error_no_memory(c->error) : 0;
}

/* Files */

static bool profile_is_name(const char *name)
{
	size_t len =
		strspn(name, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-");

	return len && !name[len] && len <= NAME_LENGTH_MAX && name[0] != '.';
}

/* NAME.yml, NAME.YAML: its author takes it for the profile. -EINVAL with its name, or 0. */
static int profile_check_near(struct call *c, const char *folder, const char *name)
{
	static const char *const endings[] = { ".yaml", ".yml", ".json" };
	const char *path = arena_printf(c->arena, "%s/profiles", folder);
	DIR *dir = path ? opendir(path) : NULL;
	const size_t len = strlen(name);
	const struct dirent *d;
	bool is_near = false;

	while (dir && !is_near && (d = readdir(dir)))
		for (size_t i = 0; i < ROWS(endings); i++)
			is_near = is_near || (strncmp(d->d_name, name, len) == 0 &&
						     strcasecmp(d->d_name + len, endings[i]) == 0);
	if (is_near) {
		const struct location where = { .file = arena_printf(
							c->arena, "%s/%s", path, d->d_name) };

		(void)error_set(c->error, -EINVAL, &where,
			"looks like the profile %s and is not read", name);
		error_hint(c->error, "name it %s.yaml (JSON is YAML, too)", name);
	}
	if (dir)
		(void)closedir(dir);
	return is_near ? -EINVAL : 0;
}

/* FOLDER/profiles/NAME.yaml: 1 if it is there and was read, 0 if it is not there. */
static int try_folder(struct profile *p, struct call *c, const char *folder, const char *name)
{
	auto_buffer text = { 0 };
	struct location where;
	struct stat st;
	int r;

	if (!folder)
		return 0;
	p->path = arena_printf(c->arena, "%s/profiles/%s.yaml", folder, name);
	if (!p->path)
		return error_no_memory(c->error);
	/* A link that leads nowhere is no profile that is missing: another would take its place. */
	if (lstat(p->path, &st) < 0 && (errno == ENOENT || errno == ENOTDIR)) {
		p->path = NULL;
		return profile_check_near(c, folder, name);
	}
	where = (struct location){ .file = p->path };
	r = file_read_regular(p->path, NODE_INPUT_MAX, &text);
	if (r == -EINVAL)
		return error_set(c->error, r, &where, "is not a regular file");
	if (r < 0)
		return error_set(c->error, r, &where, "cannot be read: %s", strerror(-r));
	r = manifest_read(
		&p->manifest, MANIFEST_UNKNOWN, p->path, buffer_text(&text), text.len, c->error);
	if (r < 0)
		return r;
	p->permissions = p->manifest.permissions;
	return 1;
}

static void list_folder(struct arena *a, const char *folder, const char **names, size_t *n)
{
	const char *path = folder ? arena_printf(a, "%s/profiles", folder) : NULL;
	DIR *dir = path ? opendir(path) : NULL;
	const struct dirent *d;

	while (dir && *n < NAMES_MAX && (d = readdir(dir))) {
		size_t len = strlen(d->d_name);
		const char *name = len > 5 && strcmp(d->d_name + len - 5, ".yaml") == 0
					   ? arena_strndup(a, d->d_name, len - 5)
					   : NULL;

		if (name && profile_is_name(name))
			names[(*n)++] = name;
	}
	if (dir)
		(void)closedir(dir);
}

static size_t profile_list(struct call *c, const char *names[NAMES_MAX])
{
	size_t n = 0;

	for (size_t i = 0; i < profile_data_count && n < NAMES_MAX; i++)
		names[n++] = profile_data[i].name;
	list_folder(c->arena, profile_config_folder(c), names, &n);
	list_folder(c->arena, PROFILE_SYSTEM_FOLDER, names, &n);
	return n;
}

void profile_offer(struct call *c, struct buffer *out)
{
	const char *names[NAMES_MAX];
	const size_t n = profile_list(c, names);

	for (size_t i = 0; i < n; i++)
		buffer_printf(out, "%s\t\n", names[i]);
}

static int profile_unknown(struct call *c, const char *name)
{
	const char *names[NAMES_MAX], *near;
	auto_buffer list = { 0 };
	const size_t n = profile_list(c, names);

	near = suggest(name, names, n);
	for (size_t i = 0; i < n; i++)
		buffer_printf(&list, "%s%s", i ? ", " : "", names[i]);
	(void)error_set(c->error, -ENOENT, NULL, "unknown profile `%s`", name);
	if (near)
		error_hint(c->error, "did you mean %s? Available: %s", near, buffer_text(&list));
	else
		error_hint(c->error, "available: %s", buffer_text(&list));
	return -ENOENT;
}

int profile_open(struct profile *ret, struct call *c, const char *name, struct load *l)
{
	const struct profile_chain self = { name, NULL };

	return profile_open_chain(ret, c, name, l, &self);
}

/* Built in: its name is in ret; or from a file, which was read. */
static int profile_look_up(struct profile *ret, struct call *c, const char *name)
{
	const struct profile_data *data = find_data(name);
	int r;

	if (!profile_is_name(name)) {
		(void)error_set(c->error, -EINVAL, NULL, "`%s` is not a valid profile name", name);
		error_hint(c->error, "use --policy FILE for a file with permissions");
		return -EINVAL;
	}
	if (data) {
		ret->builtin = data->name;
		return 0;
	}
	r = try_folder(ret, c, profile_config_folder(c), name);
	if (r == 0)
		r = try_folder(ret, c, PROFILE_SYSTEM_FOLDER, name);
	return r == 0 ? profile_unknown(c, name) : r < 0 ? r : 0;
}

int profile_check_name(struct call *c, const char *name)
{
	struct profile found = { 0 };
	int r = profile_look_up(&found, c, name);

	profile_deinit(&found);
	return r;
}

int profile_open_chain(struct profile *ret, struct call *c, const char *name, struct load *l,
	const struct profile_chain *chain)
{
	int r;

	ret->name = name;
	for (size_t i = 0; i < LIMIT_COUNT; i++)
		ret->limits.values[i] = LIMIT_NONE;
	r = profile_look_up(ret, c, name);
	if (r == 0 && ret->builtin)
		return open_builtin(ret, c, name, l);
	if (r < 0 || !ret->permissions->extends)
		return r;
	r = profile_extend(&ret->manifest.permissions, c, l, chain, &ret->builtin, &ret->limits);
	ret->permissions = ret->manifest.permissions;
	return r;
}

void profile_deinit(struct profile *p)
{
	if (p->manifest.permissions)
		manifest_deinit(&p->manifest);
	else
		permissions_free(p->permissions);
	*p = (struct profile){ 0 };
}
