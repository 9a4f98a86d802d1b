/* SPDX-License-Identifier: Apache-2.0 */
/*
 * skill.yaml and the frontmatter of SKILL.md.
 *
 * Everything that is granted stands under `permissions`. What the file says otherwise is for people
 * and for other programs, and is kept without being judged, with two exceptions: a key that can
 * only be a part of the permissions that slipped out of them, and one that can only be
 * `permissions` misspelt. Both would otherwise leave the author with a skill that is confined, or
 * open, in another way than the file seems to say.
 *
 * `requires`, and its cousins under `metadata` that other agents read, are needs: they say what
 * must be there, and grant nothing.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/suggest.h"
#include "codec/yaml.h"
#include "policy/format/internal.h"
#include "policy/format/permissions-text.h"

/* Under whose name OpenClaw's metadata stands, which changed with the name of the program. */
static const char *const vendors[] = { "openclaw", "clawdbot", "moltbot", "clawdis" };

/* Keys of permissions that mean nothing else; `env` and `mode` do, in other people's files. */
static const char *const slipped[] = { "fs", "network", "exec", "services", "limits", "guest_paths",
	"dangerously_allow", "rules", "all_of" };

static int read_bins(const struct field *f, void *into)
{
	struct manifest *m = into;

	return manifest_names(f, m->permissions->arena, &m->requires_bins, &m->n_requires_bins);
}

static int skill_read_env(const struct field *f, void *into)
{
	struct manifest *m = into;

	return manifest_names(f, m->permissions->arena, &m->requires_env, &m->n_requires_env);
}

static const struct field_key requires_keys[] = {
	FIELD("bins", WORDS, read_bins),
	FIELD("env", LIST, skill_read_env),
};
static const struct field_table requires_table = {
	.keys = requires_keys,
	.n = ROWS(requires_keys),
	.other = field_ignore,
};

/* The needs of one document of metadata. It is another program's: what does not fit is not ours. */
static int read_vendors(const struct document *d, const struct node *meta, struct manifest *m)
{
	for (size_t i = 0; i < ROWS(vendors); i++) {
		const struct node *requires = node_get(node_get(meta, vendors[i]), "requires");
		struct field f = { .document = d, .node = requires };
		int r = requires ? field_read_map(&f, &requires_table, m) : 0;

		if (r == -ENOMEM)
			return r;
	}
	return 0;
}

/* Metadata is a map, or the text of one: flow style, nearly JSON. */
static int read_metadata(const struct field *f, void *into)
{
	auto_document inner = { 0 };
	const char *text = node_text(f->node);
	int r = 0;

	if (!text)
		r = read_vendors(f->document, f->node, into);
	else if ((r = yaml_read(&inner, NULL, 1, text, strlen(text), NULL)) == 0)
		r = read_vendors(&inner, inner.root, into);
	return r == -ENOMEM ? field_result(f, r) : manifest_keep(f, into);
}

/* What a skill may do must not depend on who reads it. */
static int skill_refuse_extends(const struct field *f)
{
	(void)field_fail(f, "is not allowed in a skill");
	error_hint(f->error, "list what the skill needs under `permissions`");
	return -EINVAL;
}

static int skill_read_permissions(const struct field *f, void *into)
{
	const struct node *extends = node_get(f->node, "extends");
	struct field inner = field_child(f, extends);
	struct manifest *m = into;

	if (extends)
		return skill_refuse_extends(&inner);

	m->permissions_where = field_location(f);
	m->permissions_where.file = m->permissions->origin;
	return permissions_read_node(m->permissions, f->document, f->node, f->error);
}

static field_reader skill_read_other;

static const struct field_key skill_keys[] = {
	FIELD("name", TEXT, manifest_text, .how = MANIFEST_TEXT(name)),
	FIELD("version", TEXT, manifest_text, .how = MANIFEST_TEXT(version)),
	FIELD("description", TEXT, manifest_text, .how = MANIFEST_TEXT(description)),
	FIELD("author", TEXT, manifest_text_or_keep, .how = MANIFEST_TEXT(author)),
	FIELD("entry", TEXT, manifest_text, .how = MANIFEST_TEXT(entry)),
	FIELD("runtime", TEXT, manifest_text, .how = MANIFEST_TEXT(runtime)),
	FIELD("signature", OTHER, manifest_refuse_signature),
	FIELD_MAP("requires", requires_table),
	FIELD("metadata", MAP, read_metadata),
	FIELD("permissions", MAP, skill_read_permissions),
};
const struct field_table manifest_skill_table = {
	.keys = skill_keys,
	.n = ROWS(skill_keys),
	.other = skill_read_other,
};

static int skill_read_other(const struct field *f, void *into)
{
	static const char *const permissions[] = { "permissions" };
	const char *key = f->node->key;

	for (size_t i = 0; i < ROWS(slipped); i++) {
		if (strcmp(key, slipped[i]) != 0)
			continue;
		(void)field_fail(f, "is outside of `permissions` and would be ignored");
		error_hint(f->error, "indent it below `permissions:`");
		return -EINVAL;
	}
	if (strcmp(key, "extends") == 0)
		return skill_refuse_extends(f);
	if (!node_get(f->up->node, "permissions") && suggest(key, permissions, 1))
		return field_unknown(f, &manifest_skill_table);
	return manifest_keep(f, into);
}
