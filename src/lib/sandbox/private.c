/* SPDX-License-Identifier: Apache-2.0 */
#include "lib/sandbox/private.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/array.h"
#include "base/path.h"
#include "base/tree.h"

enum { PRIVATE_LAYERS_MAX = 64, PRIVATE_MODE = 0700 };

static const struct {
	enum variable variable;
	const char *folder;
} private_folders[] = {
	{ VARIABLE_WORK_DIR, "work" },
	{ VARIABLE_SKILL_DIR, "skill" },
};

static bool private_lists(const struct grant_list *list, const char *name)
{
	const size_t len = strlen(name);

	for (size_t i = 0; i < list->n; i++)
		for (size_t k = 0; k < list->items[i].n; k++) {
			const char *text = list->items[i].all[k];

			if (text[0] == '$' && strncmp(text + 1, name, len) == 0 &&
				(!text[1 + len] || text[1 + len] == '/'))
				return true;
		}
	return false;
}

static bool private_is_in(const struct permissions *p, const char *name)
{
	const struct grant_list *const lists[] = { &p->fs_read, &p->fs_write, &p->fs_deny,
		&p->dangerously_allow, &p->exec };

	for (size_t i = 0; i < ROWS(lists); i++)
		if (private_lists(lists[i], name))
			return true;
	for (size_t i = 0; i < p->n_rules; i++)
		if (private_lists(&p->rules[i].patterns, name))
			return true;
	return false;
}

static bool private_is_named(
	const struct permissions *const *layers, size_t n, enum variable variable)
{
	const struct permissions *leaves[PRIVATE_LAYERS_MAX];

	for (size_t i = 0; i < n; i++) {
		int found = permissions_layers(layers[i], leaves, PRIVATE_LAYERS_MAX);

		for (int k = 0; k < found; k++)
			if (private_is_in(leaves[k], variable_name(variable)))
				return true;
	}
	return false;
}

static int private_make_place(struct sandbox_base *base, struct error *e)
{
	const char *named = secure_getenv("TMPDIR");
	char real[PATH_BYTES], *path;

	if (!named || !realpath(named, real))
		(void)stpcpy(real, "/tmp");
	path = arena_printf(&base->arena, "%s/corral-work-XXXXXX", real);
	if (!path)
		return -ENOMEM;
	if (!mkdtemp(path))
		return error_set(e, -errno, NULL,
			"cannot make a work folder in %s: %s; give one by "
			"corral_builder_work_dir()",
			real, strerror(errno));
	base->private = path;
	return 0;
}

int private_make(struct sandbox_base *base, const struct permissions *const *layers, size_t n,
	struct error *e)
{
	for (size_t i = 0; i < ROWS(private_folders); i++) {
		const enum variable v = private_folders[i].variable;
		const char *path;
		int r = 0;

		if (base->variables.values[v] || !private_is_named(layers, n, v))
			continue;
		if (!base->private)
			r = private_make_place(base, e);
		if (r < 0)
			return r;
		path = arena_printf(
			&base->arena, "%s/%s", base->private, private_folders[i].folder);
		if (!path)
			return -ENOMEM;
		if (mkdir(path, PRIVATE_MODE) < 0)
			return error_set(
				e, -errno, NULL, "cannot make %s: %s", path, strerror(errno));
		base->variables.values[v] = path;
	}
	return 0;
}

void private_remove(const struct sandbox_base *base)
{
	if (base->private)
		tree_remove(AT_FDCWD, base->private);
}
