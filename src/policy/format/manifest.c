/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which format is it, and the reading of it.
 *
 * A file's name decides where it says something; otherwise the keys at the top do. Each format has
 * keys that no other has, and a document that has those of two formats is refused: one of the two
 * would be taken for text without meaning. For the same reason permissions that stand at the top
 * admit no other keys beside them.
 */
#include "policy/format/manifest.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

#include "base/array.h"
#include "codec/frontmatter.h"
#include "codec/json.h"
#include "codec/yaml.h"
#include "policy/format/internal.h"
#include "policy/format/permissions-text.h"
#include "policy/format/project.h"

static const struct {
	const char *name;
	const struct field_table *table; /* NULL: permissions */
	/*
	 * Programs run only if they are granted: a WASM skill starts none, an enclave lists them,
	 * and what no rule is about is judged by defaultAction like everything else.
	 */
	bool exec_listed;
	enum line_place line_place;
} formats[] = {
	[MANIFEST_UNKNOWN] = { "unknown" },
	[MANIFEST_PERMISSIONS] = { "permissions" },
	[MANIFEST_SKILL] = { "skill", &manifest_skill_table, false, LINE_BELOW_PERMISSIONS },
	[MANIFEST_SKILL_MD] = { "skill.md", &manifest_skill_table, false, LINE_BELOW_PERMISSIONS },
	[MANIFEST_NANOCRAB] = { "manifest", &manifest_nanocrab_table, true, LINE_IN_OTHER_WORDS },
	[MANIFEST_RULES] = { "rules", &manifest_rules_table, true, LINE_IN_OTHER_WORDS },
	[MANIFEST_ENCLAVE] = { "enclave", &manifest_enclave_table, true, LINE_IN_OTHER_WORDS },
};

const char *manifest_kind_name(enum manifest_kind kind)
{
	return formats[kind].name;
}

int manifest_kind_parse(const char *word, enum manifest_kind *ret)
{
	for (size_t kind = MANIFEST_PERMISSIONS; kind < ROWS(formats); kind++) {
		if (strcmp(word, formats[kind].name) == 0) {
			*ret = (enum manifest_kind)kind;
			return 0;
		}
	}
	return -EINVAL;
}

/* What the formats share */

/* Names are looked for one by one: a bound keeps a hostile list from costing its square. */
enum { NAMES_MAX = 256 };

int manifest_text(const struct field *f, void *into)
{
	struct manifest *m = into;
	const char **member = (void *)((char *)into + *(const size_t *)f->how);
	const char *text = NULL;
	int r;

	if (f->node->type == NODE_NULL)
		return 0;
	r = field_text(f, &text);
	if (r < 0)
		return r;
	*member = arena_strdup(m->permissions->arena, text);
	if (member == &m->entry || member == &m->wasm_file) {
		struct location *where = member == &m->entry ? &m->entry_where : &m->wasm_where;

		*where = field_location(f);
		where->file = m->permissions->origin;
	}
	return field_result(f, *member ? 0 : -ENOMEM);
}

int manifest_refuse_signature(const struct field *f, void *into)
{
	(void)into;
	(void)field_fail(f, "nothing checks a signature here, and an unchecked one must not pass "
			    "for one that was");
	error_hint(f->error, "remove it: a skill is approved by its content");
	return -EINVAL;
}

int manifest_keep(const struct field *f, void *into)
{
	struct manifest *m = into;
	struct arena *a = m->permissions->arena;
	struct node *copy = node_copy(a, f->node);

	if (!m->extra)
		m->extra = node_new(a, NODE_MAP);
	if (!m->extra || !copy || !node_put(a, m->extra, f->node->key, copy))
		return field_result(f, -ENOMEM);
	return 0;
}

int manifest_text_or_keep(const struct field *f, void *into)
{
	return node_text(f->node) ? manifest_text(f, into) : manifest_keep(f, into);
}

/* An array of names that grows in an arena. */
struct name_list {
	struct arena *arena;
	const char **items;
	size_t n, cap;
};

static int manifest_add_name(const struct field *f, void *into)
{
	struct name_list *names = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	for (size_t i = 0; i < names->n; i++) {
		if (strcmp(names->items[i], text) == 0)
			return 0;
	}
	if (names->n == NAMES_MAX)
		return field_fail(f, "more than %d names", NAMES_MAX);
	text = arena_strdup(names->arena, text);
	r = text ? ARENA_PUSH(names->arena, names->items, names->n, names->cap, text) : -ENOMEM;
	return field_result(f, r);
}

int manifest_names(const struct field *f, struct arena *a, const char ***names, size_t *n)
{
	struct name_list all = { .arena = a, .items = *names, .n = *n, .cap = *n };
	int r = field_read_list(f, manifest_add_name, &all);

	*names = all.items;
	*n = all.n;
	return r;
}

int manifest_grant(const struct field *f, struct permissions *p, struct grant_list *list,
	enum operation op, const char *text)
{
	struct location where = field_location(f);
	const char *pattern = NULL;
	int r = permissions_canonical(op, text, p->arena, &pattern, &where, f->error);

	if (r == 0)
		r = permissions_add(p, list, pattern, &where);
	return field_result(f, r);
}

int manifest_note(const struct field *f, struct manifest *m, const char *format, ...)
{
	struct manifest_note note = { .where = field_location(f) };
	struct arena *a = m->permissions->arena;
	char text[512];
	va_list args;

	va_start(args, format);
	(void)vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	note.text = arena_strdup(a, text);
	/* The document goes, the note stays. */
	note.where.file = m->permissions->origin;
	return field_result(
		f, note.text ? ARENA_PUSH(a, m->notes, m->n_notes, m->cap_notes, note) : -ENOMEM);
}

static bool has_suffix(const char *file, const char *suffix)
{
	size_t n = strlen(file), k = strlen(suffix);

	return n >= k && strcasecmp(file + n - k, suffix) == 0;
}

/* By keys */

/* Keys that only one format has. */
static const struct {
	const char *key;
	enum manifest_kind kind;
} marks[] = {
	{ "permissions", MANIFEST_SKILL },
	{ "capabilities", MANIFEST_NANOCRAB },
	{ "wasm", MANIFEST_NANOCRAB },
	{ "defaultAction", MANIFEST_RULES },
	{ "fsConstraints", MANIFEST_RULES },
	{ "networkConstraints", MANIFEST_RULES },
	{ "allowed_roots", MANIFEST_ENCLAVE },
	{ "allowed_commands", MANIFEST_ENCLAVE },
	{ "allowed_hosts", MANIFEST_ENCLAVE },
};

/* Keys that make a document a skill, if nothing else does. */
static const char *const skill_marks[] = { "name", "entry", "runtime", "description", "requires" };

static int unrecognised(const struct field *top)
{
	struct location where = field_location(top);

	(void)error_set(top->error, -EINVAL, &where, "unknown policy format");
	error_hint(top->error,
		"expected permissions (fs, network, exec …), a skill (name, permissions), a WASM "
		"manifest (wasm, capabilities), rules (defaultAction, rules) or enclave grants "
		"(allowed_roots …)");
	return -EINVAL;
}

/* A project's file: it has keys that no policy has. By its name alone it may be one of either. */
static bool is_project(const struct document *d)
{
	static const char *const keys[] = { "preset", "commands", "with", "ask", "version" };
	const char *slash = d->file ? strrchr(d->file, '/') : NULL;
	const char *base = slash ? slash + 1 : d->file;
	const size_t n = base && strcmp(base, PROJECT_NAME) == 0 ? ROWS(keys) : 2;
	size_t i = 0;

	while (i < n && !node_get(d->root, keys[i]))
		i++;
	return i < n;
}

static int refuse_project(const struct field *top)
{
	struct location where = field_location(top);

	(void)error_set(top->error, -EINVAL, &where, "this is the file of a project, not a policy");
	error_hint(top->error, "`corral project show` in its folder shows what it grants, and "
			       "`corral run` there uses it without --policy");
	return -EINVAL;
}

static int mark_of(const struct field *top, enum manifest_kind *ret)
{
	enum manifest_kind found = MANIFEST_UNKNOWN;
	const char *by = NULL;

	for (size_t i = 0; i < ROWS(marks); i++) {
		const struct node *n = node_get(top->node, marks[i].key);
		struct field f = field_child(top, n);

		if (!n)
			continue;
		if (found != MANIFEST_UNKNOWN && found != marks[i].kind)
			return field_fail(&f,
				"cannot be used with `%s`: the keys belong to different "
				"formats",
				by);
		found = marks[i].kind;
		by = marks[i].key;
	}
	*ret = found;
	return 0;
}

/* Rules alone are ours, unless they say what only AgenShield's do. */
static bool has_foreign_rules(const struct node *top)
{
	const struct node *rules = node_get(top, "rules"), *operations;
	const struct node *rule = rules && rules->type == NODE_LIST ? rules->first : NULL;
	enum operation op;

	if (!rules)
		return false;
	if (node_get(top, "version") || node_get(rule, "type") || node_get(rule, "target"))
		return true;
	operations = node_get(rule, "operations");
	return operations && operations->first && node_text(operations->first) &&
	       operation_parse(node_text(operations->first), &op) < 0;
}

static bool has_skill_mark(const struct node *top)
{
	size_t i = 0;

	while (i < ROWS(skill_marks) && !node_get(top, skill_marks[i]))
		i++;
	return i < ROWS(skill_marks);
}

/* A document without marks: permissions at the top, or a skill that asks for none. */
static int kind_by_rest(const struct field *top, enum manifest_kind *ret)
{
	const struct node *other = NULL;
	size_t n = 0;

	for (const struct node *child = top->node->first; child; child = child->next) {
		if (field_find_key(&permissions_read_table, child->key))
			n++;
		else if (!other)
			other = child;
	}
	if (n > 0 && other) {
		struct field f = field_child(top, other);
		int r = field_unknown(&f, &permissions_read_table);

		if (has_skill_mark(top->node))
			error_hint(top->error, "in a skill, put the grants below `permissions:`");
		return r;
	}
	if (n == 0 && !has_skill_mark(top->node))
		return unrecognised(top);
	*ret = n > 0 ? MANIFEST_PERMISSIONS : MANIFEST_SKILL;
	return 0;
}

static int kind_by_keys(const struct document *d, struct error *e, enum manifest_kind *ret)
{
	struct field top = { .document = d, .error = e, .node = d->root };
	enum manifest_kind kind = MANIFEST_UNKNOWN;
	int r;

	if (d->root->type != NODE_MAP)
		return unrecognised(&top);
	/* An empty map grants nothing and says so; an empty file says nothing. */
	if (d->root->count == 0) {
		*ret = MANIFEST_PERMISSIONS;
		return 0;
	}
	r = mark_of(&top, &kind);
	if (r < 0)
		return r;
	if (kind == MANIFEST_UNKNOWN && is_project(d))
		return refuse_project(&top);
	if (kind == MANIFEST_SKILL && d->root->count == 1)
		kind = MANIFEST_PERMISSIONS;
	else if (kind == MANIFEST_UNKNOWN && has_foreign_rules(d->root))
		kind = MANIFEST_RULES;
	else if (kind == MANIFEST_UNKNOWN)
		return kind_by_rest(&top, ret);
	*ret = kind;
	return 0;
}

/* Reading */

static int manifest_read_document(
	struct document *d, const char *file, const char *text, size_t len, struct error *e)
{
	if (file && has_suffix(file, ".json"))
		return json_read(d, file, text, len, e);
	return yaml_read(d, file, 1, text, len, e);
}

static int manifest_read_tree(
	struct manifest *m, enum manifest_kind kind, const struct document *d, struct error *e)
{
	const struct node *inner = d->root->count == 1 ? node_get(d->root, "permissions") : NULL;
	struct field top = { .document = d, .error = e, .node = d->root };
	int r = 0;

	m->permissions = permissions_new();
	if (!m->permissions)
		return error_no_memory(e);
	if (d->file) {
		m->permissions->origin = arena_strdup(m->permissions->arena, d->file);
		if (!m->permissions->origin)
			return error_no_memory(e);
	}
	if (kind == MANIFEST_UNKNOWN)
		r = kind_by_keys(d, e, &kind);
	m->permissions->line_place = kind == MANIFEST_PERMISSIONS && inner
					     ? LINE_BELOW_PERMISSIONS
					     : formats[kind].line_place;
	m->permissions->exec_listed = formats[kind].exec_listed;
	m->permissions->is_shield = kind == MANIFEST_RULES;
	if (r == 0 && formats[kind].table)
		r = field_read_map(&top, formats[kind].table, m);
	else if (r == 0)
		r = permissions_read_node(m->permissions, d, inner ? inner : d->root, e);
	m->kind = kind;
	return r;
}

static int read_skill_md(
	struct manifest *m, const char *file, const char *text, size_t len, struct error *e)
{
	auto_frontmatter f = { 0 };
	struct location start = { .file = file, .line = 1, .column = 1 };
	int r = frontmatter_read(&f, file, text, len, e);

	if (r < 0)
		return r;
	if (!f.present) {
		(void)error_set(e, -EINVAL, &start, "no frontmatter was found");
		error_hint(e, "start the file with a line ---, then name, description and "
			      "permissions, then a line ---");
		return -EINVAL;
	}
	r = manifest_read_tree(m, MANIFEST_SKILL_MD, &f.meta, e);
	m->body = f.body;
	return r;
}

int manifest_read(struct manifest *m, enum manifest_kind kind, const char *file, const char *text,
	size_t len, struct error *e)
{
	const char *slash = file ? strrchr(file, '/') : NULL, *base = slash ? slash + 1 : file;
	auto_document d = { 0 };
	int r;

	*m = (struct manifest){ 0 };
	if (kind == MANIFEST_UNKNOWN && base) {
		if (has_suffix(base, ".md"))
			kind = MANIFEST_SKILL_MD;
		else if (strcasecmp(base, "skill.yaml") == 0 || strcasecmp(base, "skill.yml") == 0)
			kind = MANIFEST_SKILL;
	}
	if (kind == MANIFEST_SKILL_MD) {
		r = read_skill_md(m, file, text, len, e);
	} else {
		r = manifest_read_document(&d, file, text, len, e);
		if (r == 0)
			r = manifest_read_tree(m, kind, &d, e);
	}
	if (r < 0)
		manifest_deinit(m);
	return r;
}

/*
 * What constraints of a further file leave to the default action is not left to it where the first
 * file's own constraints deny it.
 */
static bool manifest_has_constraint(const struct manifest *m, size_t n, const struct rule *like)
{
	for (size_t i = 0; i < n; i++) {
		if (m->permissions->rules[i].priority == RULES_PRIORITY_ELSE &&
			m->permissions->rules[i].operations == like->operations)
			return true;
	}
	return false;
}

static int manifest_join(struct manifest *m, const struct manifest *more)
{
	struct permissions *p = m->permissions;
	size_t before = p->n_rules;

	for (size_t i = 0; i < more->permissions->n_rules; i++) {
		const struct rule *rule = &more->permissions->rules[i];

		if (rule->priority == RULES_PRIORITY_ALLOWED &&
			manifest_has_constraint(m, before, rule))
			continue;
		if (permissions_add_rule(p, rule) < 0)
			return -ENOMEM;
	}
	for (size_t i = 0; i < more->n_notes; i++) {
		struct manifest_note note = more->notes[i];

		note.text = arena_strdup(p->arena, note.text);
		note.where.file = note.where.file ? arena_strdup(p->arena, note.where.file) : NULL;
		if (!note.text ||
			ARENA_PUSH(p->arena, m->notes, m->n_notes, m->cap_notes, note) < 0)
			return -ENOMEM;
	}
	return 0;
}

/* What constraints leave to the default action follows it. */
static void manifest_lower_default(struct permissions *p, enum verdict fallback)
{
	p->fallback = verdict_strictest(p->fallback, fallback);
	for (size_t i = 0; i < p->n_rules; i++) {
		struct rule *rule = &p->rules[i];

		if (rule->priority == RULES_PRIORITY_ALLOWED)
			rule->action = verdict_strictest(rule->action, p->fallback);
	}
}

int manifest_add_rules(
	struct manifest *m, const char *file, const char *text, size_t len, struct error *e)
{
	auto_document d = { 0 };
	auto_manifest more = { 0 };
	size_t before, notes;
	int r;

	if (m->kind != MANIFEST_RULES)
		return error_set(e, -EINVAL, NULL, "rules can only be added to rules");
	before = m->permissions->n_rules;
	notes = m->n_notes;
	r = manifest_read_document(&d, file, text, len, e);
	if (r < 0)
		return r;
	r = manifest_read_tree(&more, MANIFEST_RULES, &d, e);
	if (r < 0)
		return r;
	if (manifest_join(m, &more) < 0) {
		m->permissions->n_rules = before;
		m->n_notes = notes;
		return error_no_memory(e);
	}
	if (node_get(d.root, "defaultAction"))
		manifest_lower_default(m->permissions, more.permissions->fallback);
	/* The modes are in the order of strictness. */
	if (node_get(d.root, "mode") && more.permissions->mode < m->permissions->mode)
		m->permissions->mode = more.permissions->mode;
	return 0;
}

void manifest_deinit(struct manifest *m)
{
	permissions_free(m->permissions);
	*m = (struct manifest){ 0 };
}
