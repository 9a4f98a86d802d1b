/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/skill/inspection.h"
#include "policy/format/permissions-text.h"

static struct node *lines_tree(struct tree *t, const struct description_lines *lines)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < lines->n; k++)
		tree_append_text(t, list, lines->items[k]);
	return list;
}

static struct node *sections_tree(struct tree *t, const struct description *d)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < d->n; k++) {
		struct node *section = tree_map(t);

		tree_put_text(t, section, "title", d->sections[k].title);
		tree_put(t, section, "lines", lines_tree(t, &d->sections[k].lines));
		tree_append(t, list, section);
	}
	return list;
}

static struct node *findings_tree(struct tree *t, const struct skill_findings *findings)
{
	struct node *list = tree_list(t);

	for (size_t k = 0; k < findings->n; k++) {
		const struct skill_finding *f = &findings->items[k];
		struct node *finding = tree_map(t);

		tree_put_text(t, finding, "severity", skill_severity_name(f->severity));
		tree_put_text(t, finding, "id", f->id);
		tree_put_text(t, finding, "file", f->file);
		tree_put_number(t, finding, "line", f->line);
		tree_put_text(t, finding, "text", f->what);
		tree_put_text(t, finding, "excerpt", f->excerpt);
		tree_append(t, list, finding);
	}
	return list;
}

static struct node *permissions_tree(struct tree *t, const struct permissions *p)
{
	struct node *n = permissions_to_node(p, t->arena);

	t->failed = t->failed || !n;
	return n;
}

struct node *inspection_tree(const struct inspection *i, struct tree *t)
{
	const struct manifest *m = &i->skill.manifest;
	struct node *root = tree_map(t);
	char hex[SKILL_DIGEST_HEX];

	skill_digest_hex(&i->skill.approval.digest, hex);
	tree_put_text(t, root, "name", m->name);
	tree_put_text(t, root, "version", m->version);
	tree_put_text(t, root, "description", m->description);
	tree_put_text(t, root, "author", m->author);
	tree_put_text(t, root, "path", i->skill.path);
	tree_put_text(t, root, "manifest", m->permissions->origin);
	tree_put(t, root, "permissions", permissions_tree(t, m->permissions));
	tree_put(t, root, "sections", sections_tree(t, &i->description));
	tree_put(t, root, "findings", findings_tree(t, &i->findings));
	tree_put_flag(t, root, "more_findings", i->findings.more);
	tree_put_text(t, root, "risk", describe_risk_name(i->description.risk));
	tree_put(t, root, "reasons", lines_tree(t, &i->description.reasons));
	tree_put_text(t, root, "digest", hex);
	tree_put_flag(t, root, "approved", i->skill.outcome == APPROVAL_CURRENT);
	tree_put_text(t, root, "approval", launch_skill_outcome(i->skill.outcome));
	return root;
}
