/* SPDX-License-Identifier: Apache-2.0 */
#include "launch/lives.h"

#include <errno.h>
#include <string.h>

#include "base/path.h"
#include "launch/skill.h"
#include "policy/match/glob.h"
#include "policy/variable.h"

/* What must stay as it was approved. */
struct lives_kept {
	const char *what, *file;
	const struct location *where; /* NULL: the manifest itself */
};

enum { LIVES_KEPT = 5, LIVES_MAX = 256, LIVES_LAYERS_MAX = 64 };

static void lives_kept_of(
	const struct manifest *m, const char *name, struct lives_kept ret[LIVES_KEPT])
{
	ret[0] = (struct lives_kept){ "its manifest", name, NULL };
	ret[1] = (struct lives_kept){ "its entry", m->entry, &m->entry_where };
	ret[2] = (struct lives_kept){ "its module", m->wasm_file, &m->wasm_where };
	/* Whether it is there or not: what describes a skill is not for the skill to write. */
	ret[3] = (struct lives_kept){ "its description", name ? LAUNCH_SKILL_DESCRIPTION : NULL,
		NULL };
	ret[4] = (struct lives_kept){ "its description", name ? "skill.md" : NULL, NULL };
}

static int lives_refuse(const struct lives_kept *kept, const struct location *grant,
	const char *text, struct error *e)
{
	if (kept->where)
		(void)error_set(e, -EINVAL, grant,
			"the grant to write %s includes %s `%s` (line %u), which must not change "
			"after approval",
			text, kept->what, kept->file, kept->where->line);
	else
		(void)error_set(e, -EINVAL, grant,
			"the grant to write %s includes %s (%s), which must not change after "
			"approval",
			text, kept->what, kept->file);
	error_hint(e, "grant a separate folder, such as $SKILL_DIR/data/**");
	return -EINVAL;
}

struct lives {
	struct arena *arena;
	struct lives_kept kept[LIVES_KEPT];
	struct skill_live *items;
	size_t n, cap;
	int refused; /* 0, or what is wrong with one of them */
	struct error *error;
};

static bool lives_has(const struct lives *l, const struct glob_alternative *alt)
{
	for (size_t i = 0; i < l->n; i++) {
		if (l->items[i].subtree == (alt->kind == GLOB_SUBTREE) &&
			strcmp(l->items[i].path, alt->literal + 1) == 0)
			return true;
	}
	return false;
}

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
	if (alt->kind == GLOB_TRUE || alt->literal_len < 2 || lives_has(l, alt))
		return 0;
	if (l->n == LIVES_MAX)
		return error_set(l->error, -E2BIG, where,
			"there are more than %d grants to write in the skill's folder", LIVES_MAX);
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

/*
 * The first refusal is kept, and the others are looked at all the same: what one leaves out does
 * not depend on another.
 */
static void lives_note(struct lives *l, int r)
{
	if (r == 0 || l->refused == -ENOMEM)
		return;
	l->refused = l->refused && r != -ENOMEM ? l->refused : r;
	l->error = NULL;
}

static void lives_add_list(struct lives *l, const struct grant_list *list)
{
	/* What must match several patterns is nothing that could be mounted. */
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].n == 1)
			lives_note(l, lives_add(l, list->items[i].all[0], &list->items[i].where));
	}
}

static void lives_add_layer(struct lives *l, const struct permissions *p)
{
	lives_add_list(l, &p->fs_write);
	for (size_t i = 0; i < p->n_rules; i++) {
		const struct rule *rule = &p->rules[i];

		if (!rule->disabled && rule->action == VERDICT_ALLOW &&
			rule->operations & 1 << OPERATION_FS_WRITE)
			lives_add_list(l, &rule->patterns);
	}
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		const struct guest_path *g = &p->guest_paths[i];
		const char *pattern = arena_printf(l->arena, "%s/**", g->host);

		if (g->writable)
			lives_note(l, pattern ? lives_add(l, pattern, &g->where) : -ENOMEM);
	}
}

int lives_find(const struct manifest *m, const char *name, struct arena *a, struct skill_lives *ret,
	struct error *e)
{
	const struct permissions *layers[LIVES_LAYERS_MAX];
	struct lives l = { .arena = a, .error = e };
	int n = permissions_layers(m->permissions, layers, LIVES_LAYERS_MAX);

	if (n < 0)
		return error_set(e, n, NULL, "the skill's permissions have too many layers");
	lives_kept_of(m, name, l.kept);
	for (int i = 0; i < n; i++)
		lives_add_layer(&l, layers[i]);
	*ret = (struct skill_lives){ l.items, l.n };
	return l.refused == -ENOMEM ? error_no_memory(e) : l.refused;
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
			"%s `%s` resolves to %s, which the skill may write; it must not change "
			"after approval",
			kept[i].what, kept[i].file, item->path);
		error_hint(e, "move it to a folder that fs.write does not grant");
		return -EINVAL;
	}
	return 0;
}
