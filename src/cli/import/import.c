/* SPDX-License-Identifier: Apache-2.0 */
/* What the formats share: notes, keys by tables, and grants that are checked one by one. */
#include <stdarg.h>
#include <string.h>

#include "base/buffer.h"
#include "cli/import/internal.h"
#include "codec/schema.h"
#include "policy/format/permissions-text.h"

/* Of what is not taken over; and of denials that are not, none of which may go unread. */
enum { NOTES_MAX = 200, DENIALS_MAX = 2000 };

/* Whether one more note fits; the last of its kind stands for all others. */
static bool import_note_fits(struct importing *im)
{
	if (!im->denying)
		return im->n_plain++ < NOTES_MAX;
	im->too_many |= im->n_denials == DENIALS_MAX;
	return im->n_denials++ < DENIALS_MAX;
}

static void import_add_note(struct importing *im, const struct location *where, const char *format,
	va_list args) __attribute__((format(printf, 3, 0)));

static void import_add_note(
	struct importing *im, const struct location *where, const char *format, va_list args)
{
	struct import_note note = { .where = *where };
	auto_buffer line = { 0 };

	if (im->too_many || !import_note_fits(im))
		return;
	buffer_vprintf(&line, format, args);
	note.is_rest = !im->denying && im->n_plain == NOTES_MAX;
	note.text = arena_strdup(im->call->arena,
		note.is_rest ? "and more, which is not listed" : buffer_text(&line));
	if (!note.text ||
		ARENA_PUSH(im->call->arena, im->notes, im->n_notes, im->cap_notes, note) < 0)
		im->no_memory = true;
}

void import_note(struct importing *im, const struct node *n, const char *format, ...)
{
	const struct location where = node_location(&im->source, n);
	va_list args;

	va_start(args, format);
	import_add_note(im, &where, format, args);
	va_end(args);
}

void import_note_at(struct importing *im, const struct location *where, const char *format, ...)
{
	va_list args;

	va_start(args, format);
	import_add_note(im, where, format, args);
	va_end(args);
}

static const struct import_key *import_find(
	const struct import_key *keys, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(keys[i].key, name) == 0)
			return &keys[i];
	}
	return NULL;
}

void import_map(struct importing *im, const struct node *map, const char *inside,
	const struct import_key *keys, size_t n)
{
	const char *dot = *inside ? "." : "";

	if (map->type != NODE_MAP) {
		import_note(im, map, "`%s` is %s, not a map", inside, node_type_name(map->type));
		return;
	}
	node_for_each(child, map) {
		const struct import_key *k = import_find(keys, n, child->key);

		if (!k)
			import_note(im, child, "`%s%s%s` is not known", inside, dot, child->key);
		else if (k->take)
			k->take(im, child);
		else if (k->note)
			import_note(im, child, "`%s%s%s`: %s", inside, dot, child->key, k->note);
	}
}

void import_each(struct importing *im, const struct node *list,
	void (*take)(struct importing *im, const struct node *item))
{
	if (list->type != NODE_LIST) {
		import_note(im, list, "`%s` is %s, not a list", list->key ? list->key : "item",
			node_type_name(list->type));
		return;
	}
	node_for_each(item, list) {
		if (item->type == NODE_STRING)
			take(im, item);
		else
			import_note(
				im, item, "%s where text is expected", node_type_name(item->type));
	}
}

static bool import_has(const struct grant_list *list, const char *pattern)
{
	for (size_t i = 0; i < list->n; i++) {
		if (list->items[i].n == 1 && strcmp(list->items[i].all[0], pattern) == 0)
			return true;
	}
	return false;
}

void import_grant(struct importing *im, enum permission_list list, const char *pattern,
	const struct node *from)
{
	struct grant_list *to = permissions_list(im->to, list);
	struct location where = node_location(&im->source, from);
	struct error e = { 0 };
	const char *canonical = NULL;
	int r = permissions_list_canonical(list, pattern, im->call->arena, &canonical, NULL, &e);

	if (r == -ENOMEM)
		im->no_memory = true;
	else if (r < 0)
		import_note(im, from, "`%s`: %s", pattern, e.text);
	else if (!import_has(to, canonical))
		im->no_memory |= permissions_add(im->to, to, canonical, &where) < 0;
}

/* The rule of this action and operation, made if there is none. */
static struct rule *import_find_rule(
	struct importing *im, enum verdict action, enum operation op, const struct location *where)
{
	static const char *const actions[] = { [VERDICT_DENY] = "deny", [VERDICT_ASK] = "ask" };
	struct rule rule = { .action = action, .operations = 1u << op, .where = *where };

	for (size_t i = 0; i < im->to->n_rules; i++) {
		struct rule *r = &im->to->rules[i];

		if (r->action == action && r->operations == rule.operations)
			return r;
	}
	rule.id = arena_printf(
		im->call->arena, "imported-%s-%s", actions[action], operation_name(op));
	if (!rule.id || permissions_add_rule(im->to, &rule) < 0)
		return NULL;
	return &im->to->rules[im->to->n_rules - 1];
}

void import_rule(struct importing *im, enum verdict action, enum operation op, const char *pattern,
	const struct node *from)
{
	struct location where = node_location(&im->source, from);
	const char *canonical = NULL;
	struct error e = { 0 };
	int r = permissions_canonical(op, pattern, im->call->arena, &canonical, NULL, &e);
	struct rule *rule = r < 0 ? NULL : import_find_rule(im, action, op, &where);

	if (r < 0 && r != -ENOMEM)
		import_note(im, from, "`%s`: %s", pattern, e.text);
	else if (!rule)
		im->no_memory = true;
	else if (!import_has(&rule->patterns, canonical))
		im->no_memory |= permissions_add(im->to, &rule->patterns, canonical, &where) < 0;
}

void import_deny_program(struct importing *im, const char *program, const struct node *from)
{
	size_t rules = im->to->n_rules;

	im->denying++;
	import_rule(im, VERDICT_DENY, OPERATION_EXEC, program, from);
	im->denying--;
	if (im->to->n_rules == rules)
		return;
	/* Rules about programs are a list of them: without this nothing else would run. */
	im->to->exec_listed = true;
	import_grant(im, LIST_EXEC, "/**", from);
}
