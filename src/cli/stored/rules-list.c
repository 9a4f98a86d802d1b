/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Rules as rows. A rule of AgenShield's files is a row as it is written. A rule of a file of
 * permissions is one, too, and an entry of a list there (fs.read, network.deny …), whose id is its
 * place in the file: both can be read here, and are changed with their policy.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/stored/internal.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/format/manifest.h"

const char *const rules_keys[] = { "name", "action", "target", "operations", "patterns", "methods",
	"enabled", "priority", NULL };

int rules_refuse_absent(struct call *c, const struct rules_options *o, const char *id)
{
	(void)error_set(c->error, -ENOENT, NULL, "there is no rule `%.120s`", id);
	error_hint(c->error, "`corral policy rules` lists those that there are, by POLICY:RULE");
	return verb_refuse(c, o->json, STATUS_ABSENT);
}

void rules_etag(const struct node *rule, char out[STORED_ETAG])
{
	auto_buffer text = { 0 };

	json_print(&text, rule, JSON_COMPACT);
	stored_etag(buffer_text(&text), text.len, out);
}

/* Whether single rules of a file can be written: YAML has comments, which would be lost. */
bool rules_is_json(const struct stored_file *f)
{
	const char *dot = strrchr(f->path, '.');

	return dot && strcmp(dot, ".json") == 0;
}

static bool rules_is_writable(const struct stored_file *f)
{
	struct stat st;

	return f->past && rules_is_json(f) && lstat(f->path, &st) == 0 && S_ISREG(st.st_mode) &&
	       access(f->path, W_OK) == 0;
}

static struct node *rules_put_head(struct rules_rows *to, const struct stored_file *f,
	const char *rule, const struct location *where)
{
	char *id = arena_printf(to->t->arena, "%s:%s", f->name, rule);
	struct node *n;

	to->t->failed = to->t->failed || !id;
	if (!id || (to->only && strcmp(to->only, id) != 0))
		return NULL;
	n = tree_append_map(to->t, to->list);
	tree_put_text(to->t, n, "id", id);
	tree_put_text(to->t, n, "policy", f->name);
	tree_put_text(to->t, n, "file", f->path);
	tree_put_number(to->t, n, "line", where->line);
	tree_put_number(to->t, n, "column", where->column);
	return n;
}

/* AgenShield's earlier word for the action. */
static const char *rules_action(const struct node *rule)
{
	const char *action = node_text(node_get(rule, "action"));
	const char *type = node_text(node_get(rule, "type"));

	return action ? action : type && strcmp(type, "allowlist") == 0 ? "allow" : "deny";
}

static void rules_put_copy(
	struct rules_rows *to, struct node *row, const struct node *rule, const char *key)
{
	const struct node *from = node_get(rule, key);
	struct node *copy = from ? node_copy(to->t->arena, from) : NULL;

	to->t->failed = to->t->failed || (from && !copy);
	tree_put(to->t, row, key, copy);
}

static void rules_put_rule(struct rules_rows *to, const struct stored_file *f,
	const struct document *d, const struct node *rule)
{
	const char *id = node_text(node_get(rule, "id"));
	const struct location where = node_location(d, rule);
	struct node *row = rules_put_head(to, f, id ? id : "", &where);
	char etag[STORED_ETAG];
	bool enabled = true;

	if (!row)
		return;
	rules_etag(rule, etag);
	(void)node_boolean(node_get(rule, "enabled"), &enabled);
	tree_put_flag(to->t, row, "is_writable", rules_is_writable(f));
	tree_put_text(to->t, row, "etag", etag);
	rules_put_copy(to, row, rule, "name");
	tree_put_flag(to->t, row, "enabled", enabled);
	tree_put_text(to->t, row, "action", rules_action(rule));
	rules_put_copy(to, row, rule, "target");
	rules_put_copy(to, row, rule, "operations");
	rules_put_copy(to, row, rule, "patterns");
	rules_put_copy(to, row, rule, "methods");
	rules_put_copy(to, row, rule, "scope");
	rules_put_copy(to, row, rule, "priority");
}

static struct node *rules_put_fixed_head(struct rules_rows *to, const struct stored_file *f,
	const char *rule, const struct location *where)
{
	struct node *row = rules_put_head(to, f, rule, where);

	if (row) {
		tree_put_flag(to->t, row, "is_writable", false);
		tree_put(to->t, row, "etag", NULL);
	}
	return row;
}

static void rules_put_grants(
	struct rules_rows *to, struct node *row, const char *key, const struct grant_list *from)
{
	struct node *list = tree_put_list(to->t, row, key);

	for (size_t i = 0; i < from->n; i++)
		for (size_t k = 0; k < from->items[i].n; k++)
			tree_append_text(to->t, list, from->items[i].all[k]);
}

/* One of `rules:` in a file of permissions. */
static void rules_put_own(
	struct rules_rows *to, const struct stored_file *f, const struct rule *rule)
{
	struct node *row = rules_put_fixed_head(to, f, rule->id, &rule->where), *operations;

	if (!row)
		return;
	if (rule->name)
		tree_put_text(to->t, row, "name", rule->name);
	else
		tree_put(to->t, row, "name", NULL);
	tree_put_flag(to->t, row, "enabled", !rule->disabled);
	tree_put_text(to->t, row, "action", verdict_name(rule->action));
	tree_put(to->t, row, "target", NULL);
	operations = tree_put_list(to->t, row, "operations");
	for (int op = 0; op < OPERATION_COUNT; op++)
		if (rule->operations & 1U << op)
			tree_append_text(to->t, operations, operation_name((enum operation)op));
	rules_put_grants(to, row, "patterns", &rule->patterns);
	if (rule->methods.n > 0)
		rules_put_grants(to, row, "methods", &rule->methods);
	else
		tree_put(to->t, row, "methods", NULL);
	tree_put(to->t, row, "scope", NULL);
	tree_put_number(to->t, row, "priority", rule->priority);
}

static void rules_put_entry(struct rules_rows *to, const struct stored_file *f,
	const struct list_row *list, const struct grant *g)
{
	char place[32];
	struct node *row, *patterns;

	(void)snprintf(place, sizeof(place), "%u:%u", g->where.line, g->where.column);
	row = rules_put_fixed_head(to, f, place, &g->where);
	if (!row)
		return;
	tree_put(to->t, row, "name", NULL);
	tree_put_flag(to->t, row, "enabled", true);
	tree_put_text(to->t, row, "action", list->verdict == VERDICT_ALLOW ? "allow" : "deny");
	tree_put(to->t, row, "target", NULL);
	tree_append_text(to->t, tree_put_list(to->t, row, "operations"), list->name);
	patterns = tree_put_list(to->t, row, "patterns");
	for (size_t i = 0; i < g->n; i++)
		tree_append_text(to->t, patterns, g->all[i]);
	tree_put(to->t, row, "methods", NULL);
	tree_put(to->t, row, "scope", NULL);
	tree_put(to->t, row, "priority", NULL);
}

static void rules_put_permissions(
	struct rules_rows *to, const struct stored_file *f, const struct permissions *p)
{
	for (enum permission_list i = 0; i < LIST_COUNT; i++) {
		const struct grant_list *list = permissions_list(p, i);

		for (size_t k = 0; list_rows[i].decides && k < list->n; k++)
			rules_put_entry(to, f, &list_rows[i], &list->items[k]);
	}
	for (size_t i = 0; i < p->n_rules; i++)
		rules_put_own(to, f, &p->rules[i]);
	for (size_t i = 0; i < p->n_all_of; i++)
		rules_put_permissions(to, f, p->all_of[i]);
}

int rules_put(struct rules_rows *to, const struct stored_file *f, const struct buffer *text,
	struct error *e)
{
	const struct node *rules;
	auto_manifest m = { 0 };
	auto_document d = { 0 };
	int r = manifest_read(&m, f->is_rules ? MANIFEST_RULES : MANIFEST_UNKNOWN, f->path,
		buffer_text(text), text->len, e);

	if (r < 0)
		return r;
	if (m.kind != MANIFEST_RULES) {
		rules_put_permissions(to, f, m.permissions);
		return 0;
	}
	r = rules_is_json(f) ? json_read(&d, f->path, buffer_text(text), text->len, e)
			     : yaml_read(&d, f->path, 1, buffer_text(text), text->len, e);
	rules = r == 0 ? node_get(d.root, "rules") : NULL;
	for (const struct node *n = rules ? rules->first : NULL; n; n = n->next)
		rules_put_rule(to, f, &d, n);
	return r;
}
