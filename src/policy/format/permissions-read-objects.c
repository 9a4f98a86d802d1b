/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The sections whose items are maps: `guest_paths`, `services` and `rules`.
 *
 * A guest path is a folder of the host under another name, for a WASM skill. It is granted as it is
 * named, so its name must not be a pattern and must not climb: what `data/../..` is depends on
 * links that are not known here.
 *
 * Services and their keys are those of service-table.h. A scope that is absent does not narrow. One
 * that is empty narrows to nothing; it is kept and printed, because dropping it would widen the
 * grant.
 *
 * The operations of one rule must all be about the same kind of thing, because its patterns are
 * read once: "/etc/passwd" is a file to one operation and a program to another. AgenShield's files,
 * which mix them, are split into one rule for each kind (rules.c).
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/path.h"
#include "policy/format/internal.h"
#include "policy/format/permissions-text.h"
#include "policy/match/service.h"
#include "policy/service-table.h"

/* Guest paths */

/* Looked for one by one: a bound keeps a hostile list from costing its square. */
enum { GUEST_PATHS_MAX = 256 };

struct guest_fields {
	struct permissions *p;
	const char *base; /* what a relative folder stands below, or NULL */
	struct guest_path path;
};

/* The path from the root or from a variable that `text` means; NULL when out of memory. */
static const char *guest_absolute(const struct guest_fields *g, const char *text)
{
	size_t len = strlen(text);

	/* A slash at the end, also before a dot, would make it a pattern for all that lies below.
	 */
	while (len > 1 && (text[len - 1] == '/' || (text[len - 1] == '.' && text[len - 2] == '/')))
		len--;
	if (!g->base || strchr("/$~", text[0]))
		return arena_strndup(g->p->arena, text, len);
	while (len > 0 && text[0] == '.' && (len == 1 || text[1] == '/')) {
		size_t skip = len == 1 ? 1 : 2;

		text += skip;
		len -= skip;
	}
	return arena_printf(g->p->arena, "%s%s%.*s", g->base, len ? "/" : "", (int)len, text);
}

static int read_guest_host(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct guest_fields *g = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (strpbrk(text, "*?[]{}\\"))
		return field_fail(f, "`%s` must be one folder, without wildcards", text);
	for (const char *at = text; at; at = strchr(at, '/') ? strchr(at, '/') + 1 : NULL) {
		if (strncmp(at, "..", 2) == 0 && (at[2] == '/' || at[2] == '\0'))
			return field_fail(f, "`%s` must not contain `..`", text);
	}
	text = guest_absolute(g, text);
	r = text ? permissions_canonical(
			   OPERATION_FS_READ, text, g->p->arena, &g->path.host, &where, f->error)
		 : -ENOMEM;
	return field_result(f, r);
}

static int read_guest_name(const struct field *f, void *into)
{
	struct guest_fields *g = into;
	const char *text = NULL;
	char normal[PATH_BYTES];
	size_t len;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	if (path_normalize(text, strlen(text), normal, &len) < 0)
		return field_fail(f, "`%s` is not an absolute path", text);
	g->path.guest = arena_strndup(g->p->arena, normal, len);
	return field_result(f, g->path.guest ? 0 : -ENOMEM);
}

static int read_guest_mode(const struct field *f, void *into)
{
	static const char *const words[] = { "ro", "rw", "r" };
	struct guest_fields *g = into;
	size_t word = 0;
	int r = field_word(f, words, ROWS(words), &word);

	g->path.writable = word == 1;
	return r;
}

static const struct field_key guest_keys[] = {
	FIELD("guest", TEXT, read_guest_name, .is.required = true),
	FIELD("host", TEXT, read_guest_host, .is.required = true),
	FIELD("mode", OTHER, read_guest_mode, .is.required = true),
};
static const struct field_table guest_table = FIELD_TABLE(guest_keys);

int permissions_read_guest_path(const struct field *f, void *into)
{
	struct guest_fields g = { .p = into, .base = f->how, .path.where = field_location(f) };
	int r = field_read_map(f, &guest_table, &g);

	if (r < 0)
		return r;
	for (size_t i = 0; i < g.p->n_guest_paths; i++) {
		if (strcmp(g.p->guest_paths[i].guest, g.path.guest) == 0)
			return field_fail(f, "`%s` is given more than once", g.path.guest);
	}
	if (g.p->n_guest_paths == GUEST_PATHS_MAX)
		return field_fail(f, "more than %d guest paths", GUEST_PATHS_MAX);
	return field_result(f, permissions_add_guest_path(g.p, &g.path));
}

/* Services */

/* One service while it is read. */
struct service_reading {
	struct permissions *p;
	const struct service_row *row;
	struct service service;
};

static int read_access_word(const struct field *f, void *into)
{
	struct service_reading *r = into;
	const char *word = NULL;
	unsigned access;
	int ret = field_text(f, &word);

	if (ret < 0)
		return ret;
	access = service_access_parse(word, strlen(word));
	if (access == SERVICE_NONE)
		return field_fail(f, "`%s` is not one of %s", word, SERVICE_ACCESS_WORDS);
	if (access & ~r->row->access)
		return field_fail(f, "%s has no access `%s`", r->service.name, word);
	r->service.access |= access;
	return 0;
}

/* A word, a list of words, or true for all that the service has. */
static int read_access(const struct field *f, void *into)
{
	struct service_reading *r = into;
	bool all = false;

	if (f->node->type == NODE_LIST)
		return field_read_list(f, read_access_word, into);
	if (node_boolean(f->node, &all) < 0)
		return read_access_word(f, into);
	r->service.access = all ? r->row->access : SERVICE_NONE;
	return 0;
}

static int read_service_scope(const struct field *f, void *into)
{
	const struct service_scope_row *row = f->how;
	struct service_reading *r = into;

	return row->spell ? permissions_read_scope(f, r->p, &r->service, row)
			  : row->bound->read(f, service_bound_at(&r->service, row));
}

int permissions_read_scope(const struct field *f, struct permissions *p, struct service *s,
	const struct service_scope_row *row)
{
	struct service_scope *scope = permissions_scope(p, s, row->key);

	if (!scope)
		return field_result(f, -ENOMEM);
	return permissions_read_entries(f, p, &scope->values, row->spell, OPERATION_SERVICE);
}

static int read_service(const struct field *f, void *into)
{
	struct service_reading r = { .p = into, .row = f->how };
	struct field_key keys[1 + SERVICE_SCOPES_MAX] = {
		FIELD("access", WORDS, read_access, .is.required = true),
	};
	struct field_table table = { .keys = keys, .n = 1 };
	bool all = false;
	int ret = 0;

	for (size_t i = 0; i < SERVICE_SCOPES_MAX && r.row->scopes[i].key; i++)
		keys[table.n++] = (struct field_key)FIELD(
			r.row->scopes[i].key, OTHER, read_service_scope, .how = &r.row->scopes[i]);
	r.service.name = f->node->key;
	r.service.where = field_location(f);
	if (node_boolean(f->node, &all) == 0)
		r.service.access = all ? r.row->access : SERVICE_NONE;
	else
		ret = field_read_map(f, &table, &r);
	if (ret < 0 || r.service.access == SERVICE_NONE)
		return ret;
	return field_result(f, permissions_add_service(r.p, &r.service));
}

int permissions_read_services(const struct field *f, void *into)
{
	struct field_key keys[SERVICE_COUNT];
	struct field_table table = FIELD_TABLE(keys);

	for (size_t i = 0; i < SERVICE_COUNT; i++)
		keys[i] = (struct field_key)FIELD(
			service_rows[i].name, OTHER, read_service, .how = &service_rows[i]);
	return field_read_map(f, &table, into);
}

/* Rules */

/* A rule while it is read; its lists grow in the arena of p. */
struct rule_reading {
	struct permissions *p;
	struct rule rule;
};

static int read_rule_priority(const struct field *f, void *into)
{
	struct rule_reading *reading = into;
	int64_t priority = 0;
	int r = field_integer(f, INT32_MIN, INT32_MAX, &priority);

	reading->rule.priority = (int32_t)priority;
	return r;
}

static int read_rule_action(const struct field *f, void *into)
{
	return field_verdict(f, verdict_names, &((struct rule_reading *)into)->rule.action);
}

static int read_rule_operation(const struct field *f, void *into)
{
	const char *words[OPERATION_COUNT];
	struct rule_reading *reading = into;
	size_t op = 0;
	int r;

	for (int i = 0; i < OPERATION_COUNT; i++)
		words[i] = operation_name((enum operation)i);
	r = field_word(f, words, OPERATION_COUNT, &op);
	/* Exceptions are for patterns, which secrets have none of. */
	if (r == 0 && op == OPERATION_SECRET)
		return field_fail(f, "no rule is about secrets: write them in `secrets`");
	if (r == 0)
		reading->rule.operations |= 1U << op;
	return r;
}

static int read_rule_operations(const struct field *f, void *into)
{
	int r = field_read_list(f, read_rule_operation, into);

	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty: the rule would never apply");
	return r;
}

static int read_rule_methods(const struct field *f, void *into)
{
	struct rule_reading *reading = into;

	return permissions_read_methods(f, reading->p, &reading->rule.methods);
}

/* `patterns` is read last, when the operations are known. */
static const struct field_key rule_keys[] = {
	FIELD_STORE("id", TEXT, FIELD_AT(struct rule_reading, rule.id), .is.required = true),
	FIELD_STORE("name", TEXT, FIELD_AT(struct rule_reading, rule.name)),
	FIELD("priority", SIGNED, read_rule_priority),
	FIELD("action", OTHER, read_rule_action, .is.required = true),
	FIELD("operations", WORDS, read_rule_operations, .is.required = true),
	FIELD("patterns", OTHER, field_ignore, .is.required = true),
	FIELD("methods", WORDS, read_rule_methods),
	FIELD("enabled", FLAG, field_store_disabled, FIELD_AT(struct rule_reading, rule.disabled)),
};
static const struct field_table rule_table = FIELD_TABLE(rule_keys);

static int read_rule_patterns(const struct field *f, struct rule_reading *reading)
{
	unsigned operations = reading->rule.operations;
	int first = 0;

	while (!(operations & 1U << first))
		first++;
	for (int op = first + 1; op < OPERATION_COUNT; op++) {
		if (operations & 1U << op &&
			operation_rows[op].target != operation_rows[first].target)
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

int permissions_read_rule(const struct field *f, void *into)
{
	struct rule_reading reading = { .p = into, .rule.where = field_location(f) };
	int r = field_read_map(f, &rule_table, &reading);

	if (r == 0) {
		struct field patterns = field_child(f, node_get(f->node, "patterns"));

		r = read_rule_patterns(&patterns, &reading);
	}
	if (r == 0)
		r = permissions_add_rule(reading.p, &reading.rule);
	return field_result(f, r);
}
