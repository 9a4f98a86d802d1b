/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A change of one rule reads the file, changes the tree of it, prints it, checks it as `corral
 * policy save` does, and writes it the same way: a rule is never pasted into a text, so nothing in
 * it can become a key or another rule.
 */
#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/fd.h"
#include "base/words.h"
#include "cli/stored/internal.h"
#include "codec/json.h"
#include "launch/inside.h"
#include "policy/format/manifest.h"

static const char rules_new_policy[] = "custom/rules";

/* A change under way. The lock is held. */
struct rules_edit {
	struct call *c;
	const struct rules_options *o;
	const char *policy, *id; /* of the rule: "POLICY:ID" */
	const char *named;       /* the two as they were given; NULL: it is added */
	struct stored_file file;
	bool is_new;
	struct buffer now;       /* what the file says */
	struct document doc;     /* the same as a tree, which is changed */
	struct node *list;       /* its rules */
	struct node *rule;       /* the one that is meant; NULL: it is added */
	const struct node *from; /* what it is to be; NULL: it is removed */
	const char *given;       /* the file with that; NULL: standard input */
};

static void rules_edit_deinit(struct rules_edit *e)
{
	buffer_deinit(&e->now);
	document_deinit(&e->doc);
}
#define auto_rules_edit __attribute__((cleanup(rules_edit_deinit))) struct rules_edit

static int rules_refuse(struct rules_edit *e, enum status status, const char *hint)
{
	if (hint)
		error_hint(e->c->error, "%s", hint);
	return verb_refuse(e->c, e->o->json, status);
}

static void rules_unlink(struct node *parent, struct node *child)
{
	struct node **at = &parent->first, *before = NULL;

	while (*at && *at != child) {
		before = *at;
		at = &before->next;
	}
	if (!*at)
		return;
	*at = child->next;
	if (parent->last == child)
		parent->last = before;
	child->next = NULL;
	parent->count--;
}

/* Only what the API knows can be set; what it means is checked with the whole policy. */
static int rules_check_keys(struct rules_edit *e)
{
	const bool adds = e->o->what == RULES_ADD;
	struct location at = { .file = e->given };

	if (!e->from || e->from->type != NODE_MAP) {
		(void)error_set(e->c->error, -EINVAL, &at, "a rule is an object");
		return rules_refuse(e, STATUS_NO, NULL);
	}
	node_for_each(n, e->from) {
		if (words_has(rules_keys, n->key) || (adds && strcmp(n->key, "id") == 0))
			continue;
		at.line = n->key_line;
		at.column = n->key_column;
		(void)error_set(
			e->c->error, -EINVAL, &at, "a rule has no key `%.40s` here", n->key);
		return rules_refuse(e, STATUS_NO,
			"use name, action, target, operations, patterns, methods, enabled and "
			"priority; id of a new rule");
	}
	if (adds)
		e->id = node_text(node_get(e->from, "id"));
	if (e->id && *e->id)
		return 0;
	(void)error_set(e->c->error, -EINVAL, &at, "the key `id` is missing");
	return rules_refuse(e, STATUS_NO, NULL);
}

/*
 * The first file of rules says what happens where no rule matches. One that is made for a rule must
 * not take that place.
 */
static int rules_find_place(struct rules_edit *e)
{
	struct stored_files all = { 0 };
	struct call *c = e->c;
	int r = stored_list(c, &e->o->place, &all);
	const struct stored_file *first = all.n && all.items[0].is_rules ? &all.items[0] : NULL;
	const char *text = first ? "{\"version\":\"1.0\",\"rules\":[]}"
				 : "{\"version\":\"1.0\",\"defaultAction\":\"allow\",\"rules\":[]}";

	if (r == 0)
		r = stored_name_new(c, &e->o->place, e->policy, true, &e->file);
	if (r == -EINVAL)
		return rules_refuse(e, STATUS_NO, NULL);
	if (r < 0)
		return r;
	if (first && strcmp(first->name, "default") != 0 &&
		(strcmp(e->file.name, "default") == 0 || strcmp(e->file.path, first->path) < 0)) {
		(void)error_set(c->error, -EEXIST, NULL,
			"a new policy `%s` would come before `%s`, whose defaultAction counts now",
			e->file.name, first->name);
		return rules_refuse(e, STATUS_CHANGED,
			"add the rule to a policy that there is, or store the new one as a whole");
	}
	e->is_new = true;
	r = json_read(&e->doc, e->file.path, text, strlen(text), c->error);
	return r;
}

/* Of a file of permissions, even in JSON, rules are one part of many (docs/decisions/0069). One
 * that cannot be read is reported later. */
static bool rules_are_all(const struct stored_file *f, const struct buffer *text)
{
	auto_manifest m = { 0 };
	struct error unused = { 0 };

	return f->is_rules ||
	       manifest_read(&m, MANIFEST_UNKNOWN, f->path, buffer_text(text), text->len, &unused) <
		       0 ||
	       m.kind == MANIFEST_RULES;
}

/* Positive: a status. */
static int rules_open(struct rules_edit *e)
{
	struct call *c = e->c;
	int r = stored_find(c, &e->o->place, e->policy, &e->file);

	if (r == 1)
		return e->o->what == RULES_ADD ? rules_find_place(e)
					       : rules_refuse_absent(c, e->o, e->named);
	if (r < 0)
		return r;
	r = save_read_now(c, &e->file, &e->now);
	if (r == 1)
		return stored_refuse_absent(c, e->o->json, e->policy);
	if (r < 0)
		return rules_refuse(e, STATUS_NO, NULL);
	if (!e->file.past || !rules_is_json(&e->file) || !rules_are_all(&e->file, &e->now)) {
		(void)error_set(c->error, -EROFS, NULL,
			"the rules of `%s` are changed with the whole policy: it is not JSON, "
			"or not of rules alone",
			e->file.name);
		return rules_refuse(e, STATUS_CHANGED,
			"`corral policy save`, or PUT /api/policies/NAME; or a rule in "
			"custom/NAME");
	}
	r = json_read(&e->doc, e->file.path, buffer_text(&e->now), e->now.len, c->error);
	return r < 0 ? rules_refuse(e, STATUS_CHANGED, "mend the policy first") : 0;
}

static int rules_find(struct rules_edit *e)
{
	size_t n_found = 0;

	e->list = node_get(e->doc.root, "rules");
	if (!e->list && e->o->what == RULES_ADD && e->doc.root->type == NODE_MAP)
		e->list = node_put(
			&e->doc.arena, e->doc.root, "rules", node_new(&e->doc.arena, NODE_LIST));
	for (struct node *n = e->list ? e->list->first : NULL; n; n = n->next) {
		const char *id = node_text(node_get(n, "id"));

		if (!id || strcmp(id, e->id) != 0)
			continue;
		e->rule = n;
		n_found++;
	}
	if (n_found > 1) {
		(void)error_set(e->c->error, -EEXIST, NULL,
			"`%s` has %zu rules with the id `%.80s`", e->file.name, n_found, e->id);
		return rules_refuse(e, STATUS_CHANGED, "give each an id of its own in the policy");
	}
	if (e->o->what == RULES_ADD && n_found) {
		(void)error_set(e->c->error, -EEXIST, NULL, "`%s` has a rule `%.80s` already",
			e->file.name, e->id);
		return rules_refuse(e, STATUS_CHANGED, "change that one, or use another id");
	}
	if (!e->list || (e->o->what != RULES_ADD && !n_found))
		return rules_refuse_absent(e->c, e->o, e->named ? e->named : e->id);
	return 0;
}

static int rules_check_etag(struct rules_edit *e)
{
	char etag[STORED_ETAG];

	if (!e->o->etag || !e->rule)
		return 0;
	rules_etag(e->rule, etag);
	if (strcmp(etag, e->o->etag) == 0)
		return 0;
	(void)error_set(
		e->c->error, -ESTALE, NULL, "the rule `%.80s` was changed meanwhile", e->id);
	return rules_refuse(
		e, STATUS_CHANGED, "read it again, and make your change to what it says now");
}

/* Changes the tree. False: out of memory. */
static bool rules_apply(struct rules_edit *e)
{
	struct arena *a = &e->doc.arena;
	bool ok = true;

	if (e->o->what == RULES_REMOVE) {
		rules_unlink(e->list, e->rule);
		return true;
	}
	if (!e->rule) {
		e->rule = node_append(e->list, node_new(a, NODE_MAP));
		ok = e->rule && node_put(a, e->rule, "id", node_new_text(a, e->id));
	}
	for (size_t i = 0; ok && rules_keys[i]; i++) {
		const struct node *to = node_get(e->from, rules_keys[i]);
		struct node *was = node_get(e->rule, rules_keys[i]);

		if (was && (to || e->o->what == RULES_REPLACE))
			rules_unlink(e->rule, was);
		if (to)
			ok = node_put(a, e->rule, rules_keys[i], node_copy(a, to));
	}
	/* The earlier word for an action would contradict the new one. */
	if (ok && node_get(e->from, "action") && node_get(e->rule, "type"))
		rules_unlink(e->rule, node_get(e->rule, "type"));
	return ok;
}

/* Where the rule stands in a text that was printed from the tree: from one line to before another.
 */
struct rules_lines {
	uint32_t from, to;
};

static struct rules_lines rules_find_lines(const struct rules_edit *e, const struct buffer *text)
{
	struct rules_lines lines = { 0 };
	auto_document d = { 0 };
	const struct node *rules;

	if (json_read(&d, NULL, buffer_text(text), text->len, NULL) < 0)
		return lines;
	rules = node_get(d.root, "rules");
	for (const struct node *n = rules ? rules->first : NULL; n; n = n->next) {
		const char *id = node_text(node_get(n, "id"));

		if (id && strcmp(id, e->id) == 0)
			lines = (struct rules_lines){ n->line,
				n->next ? n->next->line : UINT32_MAX };
	}
	return lines;
}

static bool rules_has_line(const struct rules_lines *lines, uint32_t line)
{
	return line >= lines->from && line < lines->to;
}

static bool rules_is_unheld(const struct rules_edit *e, struct permissions *p)
{
	auto_buffer names = { 0 };
	size_t n = 0;

	for (size_t i = 0; i < p->n_rules; i++)
		if (strcmp(p->rules[i].id, e->id) == 0)
			p->rules[n++] = p->rules[i];
	p->n_rules = n;
	return launch_inside_unheld(p, &names);
}

static const char rules_unheld[] = "enforced for the command but not for its child processes";

/* What it does less than it seems to: of the rule alone. */
static void rules_put_notes(const struct rules_edit *e, const struct buffer *text,
	struct json_tree *t, struct node *list)
{
	const struct rules_lines lines = rules_find_lines(e, text);
	auto_manifest m = { 0 };

	if (e->o->what == RULES_REMOVE || manifest_read(&m, MANIFEST_RULES, e->file.path,
						  buffer_text(text), text->len, NULL) < 0)
		return;
	for (size_t i = 0; i < m.n_notes; i++)
		if (rules_has_line(&lines, m.notes[i].where.line))
			tree_append_text(t, list, m.notes[i].text);
	if (rules_is_unheld(e, m.permissions))
		tree_append_text(t, list, rules_unheld);
}

/* Notes of the manifest were printed when the text was checked. */
static int rules_print_text(const struct rules_edit *e, const char *id, const struct node *notes)
{
	static const char *const done[] = { NULL, "added", "replaced", "changed" };
	auto_output out = output_for(STDOUT_FILENO), note = output_for(STDERR_FILENO);

	output_foreign(&out, id);
	if (e->o->what == RULES_REMOVE)
		buffer_adds(&out.text, ": removed, and no run from now on has it\n");
	else
		buffer_printf(&out.text, ": %s, and in force for every run from now on\n",
			done[e->o->what]);
	node_for_each(n, notes) {
		if (strcmp(node_text(n), rules_unheld) == 0)
			output_note_at(&note, &(struct location){ .file = id }, rules_unheld);
	}
	(void)output_write(&note, STDERR_FILENO, NULL);
	return output_write(&out, STDOUT_FILENO, e->c->error);
}

static int rules_print_done(struct rules_edit *e, const struct buffer *text)
{
	struct json_tree t = { .arena = e->c->arena };
	struct node *root = tree_map(&t), *notes;
	const char *id = arena_printf(e->c->arena, "%s:%s", e->file.name, e->id);
	char etag[STORED_ETAG];

	if (!id)
		return error_no_memory(e->c->error);
	tree_put_text(&t, root, "id", id);
	tree_put_text(&t, root, "policy", e->file.name);
	if (e->o->what == RULES_REMOVE) {
		tree_put_flag(&t, root, "removed", true);
	} else {
		rules_etag(e->rule, etag);
		tree_put_text(&t, root, "etag", etag);
	}
	notes = tree_put_list(&t, root, "notes");
	rules_put_notes(e, text, &t, notes);
	if (t.failed || !notes)
		return error_no_memory(e->c->error);
	return e->o->json ? tree_print(&t, root, e->c->error) : rules_print_text(e, id, notes);
}

/*
 * The text that was checked was never in a file, so its line numbers help no user. What is
 * wrong with the rule is wrong in the file that was given; else it was wrong in the policy before.
 */
static int rules_refuse_text(struct rules_edit *e, const struct buffer *text)
{
	static const char prefix[] = "`rules.";
	const struct rules_lines lines = rules_find_lines(e, text);
	struct error *error = e->c->error;
	const bool is_given = e->from && (!error->line || rules_has_line(&lines, error->line));

	error->line = error->column = 0;
	if (!is_given)
		return rules_refuse(e, STATUS_NO, error->hint[0] ? NULL : "mend the policy first");
	(void)snprintf(error->file, sizeof(error->file), "%s", e->given ? e->given : "");
	if (strncmp(error->text, prefix, sizeof(prefix) - 1) == 0)
		memmove(error->text + 1, error->text + sizeof(prefix) - 1,
			strlen(error->text + sizeof(prefix) - 1) + 1);
	return rules_refuse(e, STATUS_NO, NULL);
}

static int rules_write(struct rules_edit *e)
{
	struct call *c = e->c;
	auto_buffer text = { 0 };
	int r;

	if (!rules_apply(e))
		return error_no_memory(c->error);
	json_print(&text, e->doc.root, JSON_PRETTY);
	buffer_addc(&text, '\n');
	if (text.failed)
		return error_no_memory(c->error);
	r = stored_check(c, &e->file, &text, NULL, NULL, c->error);
	if (r == -ENOMEM)
		return r;
	if (r < 0)
		return rules_refuse_text(e, &text);
	r = save_write(c, &e->o->place,
		&(struct save_text){ &e->file, e->is_new ? NULL : &e->now, &text, HISTORY_SAVE });
	return r < 0 ? r : rules_print_done(e, &text);
}

/* "POLICY:RULE". False: it is none. */
static bool rules_split(struct rules_edit *e, const char *id)
{
	const char *colon = strchr(id, ':');

	e->id = colon ? colon + 1 : NULL;
	e->policy = colon ? arena_strndup(e->c->arena, id, (size_t)(colon - id)) : NULL;
	return e->policy && *e->id;
}

/* What the rule is to be. Positive: a status. */
static int rules_read_given(struct rules_edit *e, struct document *d)
{
	struct call *c = e->c;
	auto_buffer text = { 0 };
	int r = save_read_input(c, c->words[0], &text);

	if (r < 0)
		return r;
	e->given = strcmp(c->words[0], "-") == 0 ? NULL : c->words[0];
	r = json_read(
		d, e->given ? e->given : "standard input", buffer_text(&text), text.len, c->error);
	if (r < 0)
		return r == -ENOMEM ? r : rules_refuse(e, STATUS_NO, NULL);
	e->from = d->root;
	return rules_check_keys(e);
}

int rules_edit(struct call *c, const struct rules_options *o, const char *id)
{
	auto_rules_edit e = {
		.c = c, .o = o, .policy = o->policy ? o->policy : rules_new_policy, .named = id
	};
	auto_document from = { 0 };
	auto_fd lock = -1;
	int r = 0;

	if (id && !rules_split(&e, id))
		return rules_refuse_absent(c, o, id);
	if (o->what != RULES_REMOVE) {
		r = rules_read_given(&e, &from);
		if (r != 0)
			return r;
	}
	if (r == 0)
		r = history_lock(o->place.history, stored_mode(&o->place), &lock);
	if (r < 0)
		return stored_fail(c, "lock", o->place.history, r);
	if (r == 0)
		r = rules_open(&e);
	if (r == 0)
		r = rules_find(&e);
	if (r == 0)
		r = rules_check_etag(&e);
	return r == 0 ? rules_write(&e) : r;
}
