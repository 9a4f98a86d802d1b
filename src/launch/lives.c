/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/lives.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "policy/match/glob.h"
#include "policy/variable.h"

/* What must stay as it was approved. */
struct lives_kept {
	const char *what, *file;
	const struct location *where; /* NULL: the manifest itself */
};

enum { LIVES_KEPT = 3 };

static void lives_kept_of(
	const struct manifest *m, const char *name, struct lives_kept ret[LIVES_KEPT])
{
	ret[0] = (struct lives_kept){ "its manifest", name, NULL };
	ret[1] = (struct lives_kept){ "its entry", m->entry, &m->entry_where };
	ret[2] = (struct lives_kept){ "its module", m->wasm_file, &m->wasm_where };
}

static int lives_refuse(const struct lives_kept *kept, const struct location *grant,
	const char *text, struct error *e)
{
	if (kept->where)
		(void)error_set(e, -EINVAL, grant,
			"the grant to write %s covers %s `%s` (line %u), which must stay as it was "
			"approved",
			text, kept->what, kept->file, kept->where->line);
	else
		(void)error_set(e, -EINVAL, grant,
			"the grant to write %s covers %s (%s), which must stay as it was approved",
			text, kept->what, kept->file);
	error_hint(e, "grant a folder of its own, as in $SKILL_DIR/data/**");
	return -EINVAL;
}

struct lives {
	struct arena *arena;
	struct lives_kept kept[LIVES_KEPT];
	struct skill_live *items;
	size_t n, cap;
	struct error *error;
};

static int lives_add_alternative(struct lives *l, const struct glob_alternative *alt,
	const char *pattern, const struct location *where)
{
	struct skill_live live = { .subtree = alt->kind == GLOB_SUBTREE };

	for (size_t i = 0; i < LIVES_KEPT; i++) {
		char joined[PATH_BYTES], normal[PATH_BYTES];
		size_t len = l->kept[i].file ? strlen(l->kept[i].file) : 0;

		if (len == 0 || len + 2 > sizeof(joined))
			continue;
		(void)stpcpy(stpcpy(joined, "/"), l->kept[i].file);
		if (path_normalize(joined, len + 1, normal, &len) == 0 &&
			glob_alternative_match(alt, normal, len))
			return lives_refuse(&l->kept[i], where, pattern, l->error);
	}
	/* A true glob is nothing that could be mounted: the plan refuses it. */
	if (alt->kind == GLOB_TRUE || alt->literal_len < 2)
		return 0;
	live.path = arena_strndup(l->arena, alt->literal + 1, alt->literal_len - 1);
	return live.path ? ARENA_PUSH(l->arena, l->items, l->n, l->cap, live) : -ENOMEM;
}

static int lives_add(struct lives *l, const char *pattern, const struct location *where)
{
	const char *rest = NULL;
	enum variable v;
	struct glob g;
	int r = variable_split(pattern, &v, &rest, where, l->error);

	if (r <= 0 || v != VARIABLE_SKILL_DIR)
		return r < 0 ? r : 0;
	r = glob_parse(&g, l->arena, rest[0] ? rest : "/", where, l->error);
	for (size_t i = 0; r == 0 && i < g.n; i++)
		r = lives_add_alternative(l, &g.alternatives[i], pattern, where);
	return r;
}

static int lives_add_guest(struct lives *l, const struct guest_path *g)
{
	const char *pattern = arena_printf(l->arena, "%s/**", g->host);

	if (!pattern)
		return -ENOMEM;
	return g->writable ? lives_add(l, pattern, &g->where) : 0;
}

int lives_find(const struct manifest *m, const char *name, struct arena *a, struct skill_lives *ret,
	struct error *e)
{
	const struct permissions *p = m->permissions;
	struct lives l = { .arena = a, .error = e };
	int r = 0, refused = 0;

	lives_kept_of(m, name, l.kept);
	/* All of them, so that one that is refused does not change what the others leave out. */
	for (size_t i = 0; r != -ENOMEM && i < p->fs_write.n + p->n_guest_paths; i++) {
		size_t k = i - p->fs_write.n;

		if (i >= p->fs_write.n)
			r = lives_add_guest(&l, &p->guest_paths[k]);
		else if (p->fs_write.items[i].n == 1)
			r = lives_add(&l, p->fs_write.items[i].all[0], &p->fs_write.items[i].where);
		if (r < 0 && refused == 0)
			refused = r;
		l.error = refused ? NULL : e;
	}
	*ret = (struct skill_lives){ l.items, l.n };
	return r == -ENOMEM ? error_no_memory(e) : refused;
}

int lives_check_links(const struct manifest *m, const struct skill_content *c, struct error *e)
{
	struct lives_kept kept[LIVES_KEPT];

	lives_kept_of(m, NULL, kept);
	for (size_t i = 0; i < LIVES_KEPT; i++) {
		const struct skill_item *item;

		if (!kept[i].file || skill_content_find(c, kept[i].file, &item) < 0 || !item->live)
			continue;
		(void)error_set(e, -EINVAL, kept[i].where,
			"%s `%s` leads to %s, which the skill may write: it must stay as it was "
			"approved",
			kept[i].what, kept[i].file, item->path);
		error_hint(e, "move it out of what fs.write grants");
		return -EINVAL;
	}
	return 0;
}
