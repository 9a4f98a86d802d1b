/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The section `rules`.
 *
 * The operations of one rule must all be about the same kind of thing, because its patterns are
 * read once: "/etc/passwd" is a file to one operation and a program to another. AgenShield's files,
 * which mix them, are split into one rule for each kind (format/rules.c).
 */
#include "policy/format/permissions-read.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "policy/format/permissions-text.h"

/* A rule while it is read; its lists grow in the arena of p. */
struct reading {
	struct permissions *p;
	struct rule rule;
};

/* What the patterns of an operation are about: those of fs.write are paths as those of fs.read. */
static enum operation permissions_read_rule_kind_of(enum operation op)
{
	return op == OPERATION_FS_WRITE ? OPERATION_FS_READ : op;
}

static int permissions_read_rule_read_text(const struct field *f, const char **ret)
{
	int r = field_text(f, ret);

	if (r == 0 && **ret == '\0')
		return field_fail(f, "is empty");
	return r;
}

static int permissions_read_rule_read_id(const struct field *f, void *into)
{
	return permissions_read_rule_read_text(f, &((struct reading *)into)->rule.id);
}

static int permissions_read_rule_read_name(const struct field *f, void *into)
{
	return permissions_read_rule_read_text(f, &((struct reading *)into)->rule.name);
}

static int permissions_read_rule_read_priority(const struct field *f, void *into)
{
	struct reading *reading = into;
	int64_t priority = 0;
	int r = field_integer(f, INT32_MIN, INT32_MAX, &priority);

	reading->rule.priority = (int32_t)priority;
	return r;
}

static int permissions_read_rule_read_action(const struct field *f, void *into)
{
	static const char *const words[] = { "deny", "ask", "allow" };
	struct reading *reading = into;
	size_t word = VERDICT_DENY;
	int r = field_word(f, words, ROWS(words), &word);

	reading->rule.action = (enum verdict)word;
	return r;
}

static int permissions_read_rule_read_operation(const struct field *f, void *into)
{
	const char *words[OPERATION_COUNT];
	struct reading *reading = into;
	size_t op = 0;
	int r;

	for (int i = 0; i < OPERATION_COUNT; i++)
		words[i] = operation_name((enum operation)i);
	r = field_word(f, words, OPERATION_COUNT, &op);
	if (r == 0)
		reading->rule.operations |= 1U << op;
	return r;
}

static int permissions_read_rule_read_operations(const struct field *f, void *into)
{
	int r = field_read_list(f, permissions_read_rule_read_operation, into);

	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty: the rule would never apply");
	return r;
}

static int permissions_read_rule_read_methods(const struct field *f, void *into)
{
	struct reading *reading = into;

	return permissions_read_methods(f, reading->p, &reading->rule.methods);
}

static int permissions_read_rule_read_enabled(const struct field *f, void *into)
{
	struct reading *reading = into;
	bool enabled = true;
	int r = field_boolean(f, &enabled);

	reading->rule.disabled = !enabled;
	return r;
}

/* `patterns` is read last, when the operations are known. */
static const struct field_key rule_keys[] = {
	FIELD("id", permissions_read_rule_read_id, .required = true),
	FIELD("name", permissions_read_rule_read_name),
	FIELD("priority", permissions_read_rule_read_priority),
	FIELD("action", permissions_read_rule_read_action, .required = true),
	FIELD("operations", permissions_read_rule_read_operations, .required = true),
	FIELD("patterns", field_ignore, .required = true),
	FIELD("methods", permissions_read_rule_read_methods),
	FIELD("enabled", permissions_read_rule_read_enabled),
};
static const struct field_table rule_table = FIELD_TABLE(rule_keys);

static int permissions_read_rule_read_patterns(const struct field *f, struct reading *reading)
{
	unsigned operations = reading->rule.operations;
	int first = 0;

	while (!(operations & 1U << first))
		first++;
	for (int op = first + 1; op < OPERATION_COUNT; op++) {
		if (operations & 1U << op &&
			permissions_read_rule_kind_of((enum operation)op) !=
				permissions_read_rule_kind_of((enum operation)first))
			return field_fail(f,
				"%s and %s have patterns of different kinds; "
				"write a rule for each",
				operation_name((enum operation)first),
				operation_name((enum operation)op));
	}
	if (f->node->type == NODE_LIST && f->node->count == 0)
		return field_fail(f, "is empty: the rule would never match");
	return permissions_read_entries(f, reading->p, &reading->rule.patterns,
		permissions_canonical, (enum operation)first);
}

static int permissions_read_rule(const struct field *f, void *into)
{
	struct reading reading = { .p = into, .rule.where = field_location(f) };
	int r = field_read_map(f, &rule_table, &reading);

	if (r == 0) {
		struct field patterns = field_child(f, node_get(f->node, "patterns"));

		r = permissions_read_rule_read_patterns(&patterns, &reading);
	}
	if (r == 0)
		r = permissions_add_rule(reading.p, &reading.rule);
	return field_result(f, r);
}

int permissions_read_rules(const struct field *f, void *into)
{
	return field_read_list(f, permissions_read_rule, into);
}
