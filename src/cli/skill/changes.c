/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/changes.h"

#include <errno.h>
#include <string.h>

#include "codec/yaml.h"
#include "policy/format/permissions-text.h"
#include "skill/inventory.h"

/* Files */

static const char *changes_kind(enum skill_entry_type type, bool executable)
{
	static const char *const kinds[] = {
		[SKILL_FILE] = "file", [SKILL_FOLDER] = "folder", [SKILL_LINK] = "link"
	};

	return executable ? "program" : kinds[type];
}

static void changes_put_file(
	struct json_tree *t, struct node *list, const struct skill_change *change)
{
	static const char *const words[] = {
		[SKILL_ADDED] = "added", [SKILL_REMOVED] = "removed", [SKILL_CHANGED] = "changed"
	};
	struct node *file = tree_append_map(t, list);
	const char *was =
		change->was ? changes_kind(change->was->type, change->was->executable) : NULL;
	const char *now =
		change->now ? changes_kind(change->now->type, change->now->executable) : NULL;

	tree_put_text(t, file, "path", change->path);
	tree_put_text(t, file, "change", words[change->kind]);
	tree_put_text(t, file, "kind", now ? now : was);
	/* A script that became a program is worth a look. */
	if (was && now && strcmp(was, now) != 0)
		tree_put_text(t, file, "was", was);
}

/* 1: what it held then is not known. */
static int changes_compare_files(const struct skill_inspection *i, struct call *c,
	const struct approval_record *record, struct buffer *entries, struct skill_changes *ret)
{
	struct skill_inventory was;
	struct skill_digest digest;
	int r = approval_read_entries(&i->skill.approval, entries, c->error);

	if (r != 0)
		return r;
	if (skill_digest_parse(record->digest, &digest) < 0)
		return 1;
	r = skill_inventory_read(entries->data, entries->len, &digest, c->arena, &was);
	if (r == 0)
		r = skill_inventory_compare(&was, &i->skill.content, c->arena, ret);
	return r == -ENOMEM ? error_no_memory(c->error) : r < 0;
}

static int changes_put_files(const struct skill_inspection *i, struct call *c, struct json_tree *t,
	const struct approval_record *record, struct node *root)
{
	auto_buffer entries = { 0 };
	struct skill_changes changes = { 0 };
	struct node *list;
	int r = changes_compare_files(i, c, record, &entries, &changes);

	if (r < 0)
		return r;
	tree_put_flag(t, root, "files_known", r == 0);
	list = tree_put_list(t, root, "files");
	for (size_t k = 0; k < changes.n && k < CHANGES_FILES_MAX; k++)
		changes_put_file(t, list, &changes.items[k]);
	tree_put_flag(t, root, "more_files", changes.n > CHANGES_FILES_MAX);
	return 0;
}

/* Permissions */

static bool changes_has(const struct description *d, const char *title, const char *line)
{
	for (size_t i = 0; i < d->n; i++) {
		if (strcmp(d->sections[i].title, title) != 0)
			continue;
		for (size_t k = 0; k < d->sections[i].lines.n; k++)
			if (strcmp(d->sections[i].lines.items[k], line) == 0)
				return true;
	}
	return false;
}

/* Sentences of one that the other does not have. */
static void changes_put_lines(struct json_tree *t, struct node *list, const struct description *of,
	const struct description *without)
{
	for (size_t i = 0; i < of->n; i++) {
		const struct description_section *s = &of->sections[i];

		for (size_t k = 0; k < s->lines.n; k++)
			if (strncmp(s->lines.items[k], "nothing", 7) != 0 &&
				!changes_has(without, s->title, s->lines.items[k]))
				tree_append_text(t, list, s->lines.items[k]);
	}
}

/* As the approval keeps them; a hash stands for very long ones. 1: they are not known. */
static int changes_describe(const struct skill_inspection *i, struct call *c, const char *text,
	struct permissions *into, struct description *ret)
{
	auto_document d = { 0 };

	if (strncmp(text, "sha256:", 7) == 0 ||
		yaml_read(&d, NULL, 1, text, strlen(text), NULL) < 0)
		return 1;
	if (d.root->type != NODE_NULL && permissions_read_node(into, &d, d.root, NULL) < 0)
		return 1;
	return describe_permissions(into, &i->shown, c->arena, ret) < 0 ? error_no_memory(c->error)
									: 0;
}

static int changes_put_permissions(const struct skill_inspection *i, struct call *c,
	struct json_tree *t, const struct approval_record *record, struct node *root)
{
	auto_permissions *was = permissions_new();
	struct description then = { 0 };
	struct node *map;
	int r;

	if (!was)
		return error_no_memory(c->error);
	r = changes_describe(i, c, record->permissions, was, &then);
	if (r < 0)
		return r;
	tree_put_flag(t, root, "permissions_known", r == 0);
	map = tree_put_map(t, root, "permissions");
	if (r == 0) {
		changes_put_lines(t, tree_put_list(t, map, "added"), &i->description, &then);
		changes_put_lines(t, tree_put_list(t, map, "removed"), &then, &i->description);
	} else {
		(void)tree_put_list(t, map, "added");
		(void)tree_put_list(t, map, "removed");
	}
	return 0;
}

int changes_tree(const struct skill_inspection *i, struct call *c, struct json_tree *t,
	const struct approval_record *record, struct node **ret)
{
	struct node *root = tree_map(t);
	char hex[SKILL_DIGEST_HEX];
	int r;

	skill_digest_hex(&i->skill.content.digest, hex);
	tree_put_text(t, root, "name", inspection_name(i));
	tree_put_text(t, root, "digest", hex);
	tree_put_flag(t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	r = changes_put_files(i, c, t, record, root);
	if (r == 0)
		r = changes_put_permissions(i, c, t, record, root);
	*ret = root;
	return r;
}
