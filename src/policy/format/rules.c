/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AgenShield's policy files: rules with priorities over the operations of its broker.
 *
 * One rule may list operations of several kinds, and its patterns are then tried as each of them:
 * "/etc/**" is understood as files alone. A pattern must be understood as at least one of them. Our
 * rules are of one kind, so such a rule becomes several with the same id.
 *
 * Where a pattern of theirs and one of ours do not say the same, the difference may only make
 * things stricter (rules-pattern.c). What grants less than it seems to is reported in a note.
 *
 * A file like this is a policy that its author relies on. Keys that are known to say nothing about
 * it (dates, tags) are kept; every other key that we do not know is an error.
 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"

/* Rules */

/* A rule while it is read. */
struct rules_reading {
	struct manifest *m;
	struct rule rule;
	bool kinds[RULES_KIND_COUNT];
	unsigned fs; /* which of fs.read and fs.write */
	bool lists;  /* file_list is among the operations */
	bool acted;  /* rule.action was set, by `type` or by `action` */
	const char *scope;
};

#define BIT(op) (1U << (op))

/* The operations of AgenShield's broker: what they are about. */
static const struct foreign_operation {
	const char *name;
	enum manifest_rules_kind kind;
	unsigned fs;
	bool lists;
	bool all;    /* every kind */
	bool none;   /* the broker's own business, which nothing here governs */
	bool absent; /* something that Corral does not do */
} operations[] = {
	{ .name = "*", .all = true },
	{ .name = "http_request", .kind = RULES_HOST },
	{ .name = "file_read", .kind = RULES_PATH, .fs = BIT(OPERATION_FS_READ) },
	{ .name = "file_list", .kind = RULES_PATH, .lists = true },
	{ .name = "file_write", .kind = RULES_PATH, .fs = BIT(OPERATION_FS_WRITE) },
	{ .name = "exec", .kind = RULES_COMMAND },
	{ .name = "open_url", .kind = RULES_PAGE },
	{ .name = "secret_inject", .kind = RULES_SECRET },
	{ .name = "ping", .none = true },
	{ .name = "policy_check", .none = true },
	{ .name = "events_batch", .none = true },
	{ .name = "skill_install", .absent = true },
	{ .name = "skill_uninstall", .absent = true },
	{ .name = "package_install", .absent = true },
	{ .name = "secrets_sync", .absent = true },
};

static void add_operation(struct rules_reading *r, const struct foreign_operation *row)
{
	if (row->none || row->absent)
		return;
	r->lists = r->lists || row->lists;
	r->fs |= row->all ? BIT(OPERATION_FS_READ) | BIT(OPERATION_FS_WRITE) : row->fs;
	for (int kind = 0; kind < RULES_KIND_COUNT; kind++) {
		if (row->all || (int)row->kind == kind)
			r->kinds[kind] = true;
	}
}

/*
 * An operation that Corral does not have, which nothing here does. What an allowing rule says of it
 * grants nothing; an unknown word is refused in the others, since it may be a slip for one
 * that is to be denied.
 */
static int rules_read_operation(const struct field *f, void *into)
{
	struct rules_reading *reading = into;
	const char *words[ROWS(operations)], *word = "";
	struct error why = { 0 };
	struct field quiet = *f;
	size_t i = 0;
	int r = field_text(f, &word);

	if (r < 0)
		return r;
	for (size_t n = 0; n < ROWS(operations); n++)
		words[n] = operations[n].name;
	quiet.error = &why;
	r = field_word(&quiet, words, ROWS(words), &i);
	if (r == 0)
		add_operation(reading, &operations[i]);
	if (r == 0 && !operations[i].absent)
		return 0;
	if (r < 0 && (r == -ENOMEM || reading->rule.action != VERDICT_ALLOW)) {
		if (f->error)
			*f->error = why;
		return r;
	}
	return manifest_note(f, reading->m,
		"the rule %s %s nothing for `%s`: Corral has no such operation%s%s",
		reading->rule.id,
		reading->rule.action == VERDICT_ALLOW ? "grants" : "needs to deny", word,
		why.hint[0] ? "; " : "", why.hint);
}

/* Without operations the target says them. */
static int rules_read_target(const struct field *f, struct rules_reading *reading)
{
	static const char *const words[] = { "url", "command", "filesystem", "process", "skill" };
	static const struct foreign_operation meant[][2] = {
		{ { .kind = RULES_HOST }, { .kind = RULES_PAGE } },
		{ { .kind = RULES_COMMAND }, { .kind = RULES_COMMAND } },
		{ { .kind = RULES_PATH, .fs = BIT(OPERATION_FS_READ) },
			{ .kind = RULES_PATH, .fs = BIT(OPERATION_FS_WRITE) } },
		{ { .kind = RULES_COMMAND }, { .kind = RULES_COMMAND } },
		{ { .absent = true }, { .absent = true } },
	};
	const struct node *listed = node_get(f->up->node, "operations");
	size_t word = 0;
	int r = field_word(f, words, ROWS(words), &word);

	if (r < 0 || (listed && listed->count))
		return r;
	/* A process that is not killed was not allowed to start. */
	if (meant[word][0].absent ||
		(strcmp(words[word], "process") == 0 && reading->rule.action == VERDICT_ALLOW))
		return manifest_note(f, reading->m,
			"the rule %s %s nothing: Corral has no rules about the target `%s`",
			reading->rule.id,
			reading->rule.action == VERDICT_ALLOW ? "grants" : "needs to deny",
			words[word]);
	add_operation(reading, &meant[word][0]);
	add_operation(reading, &meant[word][1]);
	return 0;
}

static int set_action(const struct field *f, struct rules_reading *r, enum verdict action)
{
	if (r->acted && r->rule.action != action)
		return field_fail(f, "`type` and `action` contradict each other");
	r->rule.action = action;
	r->acted = true;
	return 0;
}

/* What a rule or a file does, in the order of enum verdict. */
static const char *const rules_actions[VERDICT_COUNT] = { "deny", "approval", "allow" };

static int rules_read_action(const struct field *f, void *into)
{
	enum verdict action;
	int r = field_verdict(f, rules_actions, &action);

	return r < 0 ? r : set_action(f, into, action);
}

static int read_type(const struct field *f, void *into)
{
	static const char *const words[] = { "denylist", "allowlist" };
	size_t word = 0;
	int r = field_word(f, words, ROWS(words), &word);

	return r < 0 ? r : set_action(f, into, word ? VERDICT_ALLOW : VERDICT_DENY);
}

static int rules_read_name(const struct field *f, void *into)
{
	struct rules_reading *reading = into;
	const char *name = NULL;
	int r = field_text(f, &name);

	reading->rule.name = name && *name ? name : NULL;
	return r;
}

static int rules_read_priority(const struct field *f, void *into)
{
	struct rules_reading *reading = into;
	int64_t priority = 0;
	int r = field_integer(f, RULES_PRIORITY_MIN, INT32_MAX, &priority);

	reading->rule.priority = (int32_t)priority;
	return r;
}

static int rules_read_methods(const struct field *f, void *into)
{
	struct rules_reading *reading = into;

	if (f->node->type == NODE_LIST && f->node->count == 0)
		return 0;
	return permissions_read_methods(f, reading->m->permissions, &reading->rule.methods);
}

static int rules_read_scope(const struct field *f, void *into)
{
	return field_text(f, &((struct rules_reading *)into)->scope);
}

static const struct field_key rule_keys[] = {
	FIELD_STORE("id", TEXT, FIELD_AT(struct rules_reading, rule.id), .is.required = true),
	FIELD("name", TEXT, rules_read_name),
	FIELD("type", OTHER, read_type),
	FIELD("action", OTHER, rules_read_action),
	/* Read when the action is known: see rules_read_rule(). */
	FIELD("target", OTHER, field_ignore),
	FIELD("operations", OTHER, field_ignore),
	FIELD("patterns", OTHER, field_ignore, .is.required = true),
	FIELD("enabled", FLAG, field_store_disabled, FIELD_AT(struct rules_reading, rule.disabled)),
	FIELD("priority", SIGNED, rules_read_priority),
	FIELD("methods", WORDS, rules_read_methods),
	FIELD("scope", OTHER, rules_read_scope),
	FIELD("description", OTHER, field_ignore),
	FIELD("comment", OTHER, field_ignore),
	FIELD("preset", OTHER, field_ignore),
	FIELD("tier", OTHER, field_ignore),
	FIELD("tags", OTHER, field_ignore),
	FIELD("metadata", OTHER, field_ignore),
	FIELD("createdAt", OTHER, field_ignore),
	FIELD("updatedAt", OTHER, field_ignore),
	FIELD("createdBy", OTHER, field_ignore),
	FIELD("updatedBy", OTHER, field_ignore),
};
static const struct field_table rule_table = FIELD_TABLE(rule_keys);

/* A pattern that matches nothing as any of the rule's kinds. */
static int rules_note_nothing(
	const struct field *f, struct rules_reading *r, int kind, const char *text)
{
	bool allows = r->rule.action == VERDICT_ALLOW;

	if (!manifest_rules_kinds[kind].word || r->rule.disabled)
		return 0;
	return manifest_note(f, r->m, "the rule %s %s no %s by `%s`%s", r->rule.id,
		allows ? "grants" : "denies", manifest_rules_kinds[kind].word, text,
		!allows                  ? ", which none has"
		: strcmp(text, "*") == 0 ? ": `*` is one segment; `**` is everything"
					 : "");
}

/* One pattern as each of the rule's kinds. If none takes it, the first of them says why. */
static int rules_read_pattern(
	const struct field *f, struct rules_reading *r, struct grant_list *lists)
{
	struct error why = { 0 }, first = { 0 };
	bool tried = false, taken = false;
	struct field quiet = *f;
	const char *text = NULL;
	int ret = field_text(f, &text), nothing = -1;

	if (ret < 0)
		return ret;
	quiet.error = &why;
	for (int kind = 0; kind < RULES_KIND_COUNT; kind++) {
		if (!r->kinds[kind])
			continue;
		ret = manifest_rules_pattern(&quiet, r->m->permissions,
			&lists[manifest_rules_kinds[kind].op], (enum manifest_rules_kind)kind,
			r->rule.action, text);
		if (ret == -ENOMEM)
			return field_result(f, ret);
		taken = taken || ret == 0;
		if (ret == RULES_NOTHING && nothing < 0 && manifest_rules_kinds[kind].word)
			nothing = kind;
		if (!tried)
			first = why;
		tried = true;
	}
	/* An allowing `*` is worth a word even where it allows commands. */
	if (nothing >= 0 && (!taken || strcmp(text, "*") == 0))
		return rules_note_nothing(f, r, nothing, text);
	if (taken || !tried || nothing >= 0)
		return 0;
	if (f->error)
		*f->error = first;
	return -EINVAL;
}

/* A program without a wildcard, in a rule that is about commands alone: it matches that text and no
 * more. Who writes arguments knows that there are some. */
static bool rules_is_lone_program(const struct rules_reading *r, const char *text)
{
	for (int kind = 0; kind < RULES_KIND_COUNT; kind++) {
		if (r->kinds[kind] != (kind == RULES_COMMAND))
			return false;
	}
	return !strpbrk(text, "* ");
}

/* Who denies `git` mostly means git with arguments, too. Of several patterns the first is named. */
static int rules_note_lone(const struct field *f, struct rules_reading *r)
{
	const bool denies = r->rule.action == VERDICT_DENY;

	if (r->rule.action == VERDICT_ALLOW || r->rule.disabled)
		return 0;
	for (const struct node *n = f->node->first; n; n = n->next) {
		struct field item = field_child(f, n);
		const char *text = NULL;
		int ret = field_text(&item, &text);

		if (ret < 0)
			return ret;
		if (rules_is_lone_program(r, text))
			return manifest_note(&item, r->m,
				"the rule %s %s `%.100s` without arguments only: "
				"`%.100s:*` "
				"%s it with any",
				r->rule.id, denies ? "denies" : "asks about", text, text,
				denies ? "denies" : "asks about");
	}
	return 0;
}

static int rules_read_patterns(const struct field *f, struct rules_reading *r)
{
	struct grant_list lists[OPERATION_COUNT] = { 0 };
	int ret = 0;

	if (f->node->type != NODE_LIST)
		return field_expected(f, "a list");
	for (const struct node *n = f->node->first; ret == 0 && n; n = n->next) {
		struct field item = field_child(f, n);

		ret = rules_read_pattern(&item, r, lists);
	}
	if (ret == 0)
		ret = rules_note_lone(f, r);
	for (int op = 0; ret == 0 && op < OPERATION_COUNT; op++) {
		struct rule rule = r->rule;

		rule.operations = op == OPERATION_FS_READ ? r->fs : BIT(op);
		rule.patterns = lists[op];
		/* Who denies a method denies the host: what is inside TLS cannot be seen. */
		if (op != OPERATION_NET_CONNECT || rule.action != VERDICT_ALLOW)
			rule.methods = (struct grant_list){ 0 };
		if (lists[op].n)
			ret = permissions_add_rule(r->m->permissions, &rule);
	}
	return field_result(f, ret);
}

/*
 * A rule for some callers only. We cannot tell them apart here, so it must not allow anything to
 * the others: it is kept, but switched off. Denying all of them, or asking about all, is safe.
 */
static int apply_scope(const struct field *f, struct rules_reading *r)
{
	static const char *const universal[] = { "", "*", "all", "global", "universal" };
	struct arena *a = r->m->permissions->arena;
	struct node *scopes, *entry;

	for (size_t i = 0; i < ROWS(universal); i++) {
		if (!r->scope || strcmp(universal[i], r->scope) == 0)
			return 0;
	}
	if (r->rule.action == VERDICT_ALLOW)
		r->rule.disabled = true;
	if (!r->m->extra)
		r->m->extra = node_new(a, NODE_MAP);
	scopes = node_get(r->m->extra, "scopes");
	if (!scopes && r->m->extra)
		scopes = node_put(a, r->m->extra, "scopes", node_new(a, NODE_LIST));
	entry = scopes ? node_append(scopes, node_new(a, NODE_MAP)) : NULL;
	if (!entry || !node_put(a, entry, "id", node_new_text(a, r->rule.id)) ||
		!node_put(a, entry, "scope", node_new_text(a, r->scope)))
		return field_result(f, -ENOMEM);
	return 0;
}

/*
 * Who may read a folder sees what is in it, and the other way round: Corral does not tell the two
 * apart. So who denies listing denies reading, and who allows listing alone allows nothing.
 */
static int rules_settle_listing(const struct field *f, struct rules_reading *r)
{
	if (!r->lists || r->fs & BIT(OPERATION_FS_READ))
		return 0;
	if (r->rule.action != VERDICT_ALLOW) {
		r->fs |= BIT(OPERATION_FS_READ);
		return 0;
	}
	if (!r->fs)
		r->kinds[RULES_PATH] = false;
	return manifest_note(f, r->m,
		"the rule %s grants nothing for `file_list` alone: listing requires reading",
		r->rule.id);
}

static int rules_read_rule(const struct field *f, void *into)
{
	struct rules_reading r = { .m = into, .rule.where = field_location(f) };
	const struct node *operations_node = node_get(f->node, "operations");
	const struct node *target = node_get(f->node, "target");
	int ret = field_read_map(f, &rule_table, &r);
	struct field child;

	if (ret < 0)
		return ret;
	if (!r.acted)
		return field_fail(f, "the key `action` is missing");
	if (!operations_node && !target)
		return field_fail(f, "the key `operations` is missing");
	ret = apply_scope(f, &r);
	if (ret == 0 && target) {
		child = field_child(f, target);
		ret = rules_read_target(&child, &r);
	}
	if (ret == 0 && operations_node) {
		child = field_child(f, operations_node);
		ret = field_read_list(&child, rules_read_operation, &r);
	}
	if (ret == 0)
		ret = rules_settle_listing(f, &r);
	if (ret < 0)
		return ret;
	child = field_child(f, node_get(f->node, "patterns"));
	return rules_read_patterns(&child, &r);
}

static int rules_read_default(const struct field *f, void *into)
{
	return field_verdict(f, rules_actions, &((struct manifest *)into)->permissions->fallback);
}

static int rules_read_mode(const struct field *f, void *into)
{
	return field_mode(f, &((struct manifest *)into)->permissions->mode);
}

static const struct field_key top_keys[] = {
	FIELD("version", TEXT, manifest_text, .how = MANIFEST_TEXT(version)),
	FIELD("name", TEXT, manifest_text, .how = MANIFEST_TEXT(name)),
	FIELD("description", TEXT, manifest_text, .how = MANIFEST_TEXT(description)),
	FIELD("author", TEXT, manifest_text_or_keep, .how = MANIFEST_TEXT(author)),
	FIELD("defaultAction", OTHER, rules_read_default),
	FIELD("mode", OTHER, rules_read_mode),
	FIELD_EACH("rules", rules_read_rule),
	FIELD("fsConstraints", MAP, manifest_rules_fs_constraints),
	FIELD("networkConstraints", MAP, manifest_rules_network_constraints),
	FIELD("$schema", OTHER, manifest_keep),
	FIELD("id", OTHER, manifest_keep),
	FIELD("preset", OTHER, manifest_keep),
	FIELD("tags", OTHER, manifest_keep),
	FIELD("metadata", OTHER, manifest_keep),
	FIELD("createdAt", OTHER, manifest_keep),
	FIELD("updatedAt", OTHER, manifest_keep),
};
const struct field_table manifest_rules_table = FIELD_TABLE(top_keys);
