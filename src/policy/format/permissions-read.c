/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tree of a document into permissions.
 *
 * A mistake in a policy must never turn into a smaller policy that is taken for the whole: a key
 * that is not known, a value of another type, a pattern that could not compile are errors, with the
 * place and with what was meant where that can be guessed. Nothing is skipped and nothing has two
 * meanings: a null is not an empty list, a single value is not a list of one, and where an empty
 * list would mean "no limit" it is refused.
 *
 * The grammar is the tables below. Each row names a key, the reader of its value and, for readers
 * that serve many keys, what is particular to this one.
 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/network/host.h"
#include "policy/network/listen.h"
#include "policy/network/one-host.h"
#include "policy/format/permissions-text.h"

/* Which list of struct permissions a key fills. */
#define LIST(which) (&(const enum permission_list){ which })

enum { EXTENDS_MAX = 64 };

/* One list while it is read. */
struct list_reading {
	struct permissions *p;
	struct grant_list *list;
	operation_spell *spell;
	enum operation op;
	/* The patterns of the entry at hand. */
	const char **patterns;
	size_t n;
};

int permissions_canonical(enum operation op, const char *text, struct arena *a, const char **ret,
	const struct location *where, struct error *e)
{
	return operation_rows[op].spell(op, text, a, ret, where, e);
}

static operation_spell *permissions_list_spell(enum permission_list which)
{
	return list_rows[which].spell ? list_rows[which].spell
				      : operation_rows[list_rows[which].op].spell;
}

int permissions_list_canonical(enum permission_list which, const char *text, struct arena *a,
	const char **ret, const struct location *where, struct error *e)
{
	return permissions_list_spell(which)(list_rows[which].op, text, a, ret, where, e);
}

/* One pattern of the entry at hand. */
static int permissions_read_pattern(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct list_reading *g = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r == 0)
		r = g->spell(g->op, text, g->p->arena, &g->patterns[g->n], &where, f->error);
	if (r < 0)
		return field_result(f, r);
	g->n++;
	return 0;
}

static int permissions_read_all(const struct field *f, void *into)
{
	int r = field_read_list(f, permissions_read_pattern, into);

	if (r == 0 && f->node->count < 2)
		return field_fail(f, "needs two patterns or more, all of which must match");
	return r;
}

static const struct field_key all_keys[] = {
	FIELD("all", WORDS, permissions_read_all, .is.required = true),
};
static const struct field_table all_table = FIELD_TABLE(all_keys);

static int permissions_read_entry(const struct field *f, void *into)
{
	struct location where = field_location(f);
	const struct node *all = node_get(f->node, "all");
	struct list_reading *g = into;
	int r;

	g->n = 0;
	g->patterns =
		arena_calloc(g->p->arena, all && all->count ? all->count : 1, sizeof(*g->patterns));
	if (!g->patterns)
		return field_result(f, -ENOMEM);
	if (f->node->type == NODE_MAP)
		r = field_read_map(f, &all_table, g);
	else
		r = permissions_read_pattern(f, g);
	if (r == 0)
		r = permissions_add_all(g->p, g->list, g->patterns, g->n, &where);
	return field_result(f, r);
}

int permissions_read_entries(const struct field *f, struct permissions *p, struct grant_list *list,
	operation_spell *spell, enum operation op)
{
	struct list_reading g = { .p = p, .list = list, .spell = spell, .op = op };

	return field_read_list(f, permissions_read_entry, &g);
}

/* The list that the table names. */
static int permissions_read_list(const struct field *f, void *into)
{
	const enum permission_list *which = f->how;

	return permissions_read_entries(f, into, permissions_list(into, *which),
		permissions_list_spell(*which), list_rows[*which].op);
}

static int read_method(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct list_reading *g = into;
	const char *word = NULL;
	int r = field_text(f, &word);

	if (r < 0)
		return r;
	if (host_method(word) == 0)
		return field_fail(
			f, "`%s` is no HTTP method; they are written in capitals: GET, POST", word);
	return field_result(f, permissions_add(g->p, g->list, word, &where));
}

int permissions_read_methods(const struct field *f, struct permissions *p, struct grant_list *list)
{
	struct list_reading g = { .p = p, .list = list };
	int r = field_read_list(f, read_method, &g);

	if (r == 0 && f->node->count == 0)
		return field_fail(f, "is empty; leave it out to allow all methods");
	return r;
}

static const struct field_key fs_keys[] = {
	FIELD("read", LIST, permissions_read_list, .how = LIST(LIST_FS_READ)),
	FIELD("write", LIST, permissions_read_list, .how = LIST(LIST_FS_WRITE)),
	FIELD("deny", LIST, permissions_read_list, .how = LIST(LIST_FS_DENY)),
};
static const struct field_table fs_table = FIELD_TABLE(fs_keys);

static int permissions_read_port(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct permissions *p = into;
	struct listen_entry l;
	auto_buffer text = { 0 };
	int64_t port = 0;
	int r;

	if (f->node->type == NODE_STRING) {
		r = listen_parse(f->node->text, &l, &where, f->error);
	} else {
		r = field_integer(f, 1, UINT16_MAX, &port);
		l = (struct listen_entry){ .port = (uint16_t)port, .inner = (uint16_t)port };
	}
	if (r < 0)
		return field_result(f, r);
	listen_print(&l, &text);
	return field_result(f,
		text.failed ? -ENOMEM : permissions_add(p, &p->listen, buffer_text(&text), &where));
}

/* TLS to these is opened, so that rules about paths and methods hold inside it. It grants nothing.
 */
static int permissions_read_inspected(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct permissions *p = into;
	auto_buffer host = { 0 };
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r == 0 && p->inspect.n == PERMISSIONS_INSPECT_MAX)
		return field_fail(f, "more than %d hosts", PERMISSIONS_INSPECT_MAX);
	if (r == 0)
		r = one_host_spell(text,
			"TLS is opened for hosts that are named, as in api.example.com:443", &host,
			&where, f->error);
	if (r == 0)
		r = permissions_add(p, &p->inspect, buffer_text(&host), &where);
	return field_result(f, r);
}

int permissions_read_network_methods(const struct field *f, void *into)
{
	struct permissions *p = into;

	return permissions_read_methods(f, p, &p->network.methods);
}

static const struct field_key network_keys[] = {
	FIELD("allow", LIST, permissions_read_list, .how = LIST(LIST_NETWORK_ALLOW)),
	FIELD("private", LIST, permissions_read_list, .how = LIST(LIST_NETWORK_PRIVATE)),
	FIELD("deny", LIST, permissions_read_list, .how = LIST(LIST_NETWORK_DENY)),
	FIELD_EACH("listen", permissions_read_port),
	FIELD_EACH("inspect", permissions_read_inspected),
	FIELD_STORE("rate_limit", RATE, FIELD_AT(struct permissions, network.rate)),
	FIELD_STORE("max_bytes", SIZE, FIELD_AT(struct permissions, network.max_bytes)),
	FIELD_STORE(
		"max_request_size", SIZE, FIELD_AT(struct permissions, network.max_request_size)),
	FIELD("methods", WORDS, permissions_read_network_methods),
};
static const struct field_table network_table = FIELD_TABLE(network_keys);

static int read_exec(const struct field *f, void *into)
{
	((struct permissions *)into)->exec_listed = true;
	return permissions_read_list(f, into);
}

/* NAME: value, or NAME: null for a variable that is passed on as it is. */
static int read_env_member(const struct field *f, struct permissions *p)
{
	struct location where = node_key_location(f->document, f->node);
	const char *value = node_text(f->node), *text;
	int r;

	if (!value && f->node->type != NODE_NULL)
		return field_expected(f, "text, or null to pass the variable on");
	if (strchr(f->node->key, '='))
		return field_fail(f, "a name cannot hold `=`");
	text = arena_printf(p->arena, "%s%s%s", f->node->key, value ? "=" : "", value ? value : "");
	r = text ? permissions_canonical(OPERATION_ENV, text, NULL, NULL, &where, f->error)
		 : -ENOMEM;
	if (r == 0)
		r = permissions_add(p, &p->env, text, &where);
	return field_result(f, r);
}

static int permissions_read_env(const struct field *f, void *into)
{
	int r = 0;

	if (f->node->type != NODE_MAP)
		return permissions_read_list(f, into);
	for (const struct node *n = f->node->first; r == 0 && n; n = n->next) {
		struct field member = field_child(f, n);

		r = read_env_member(&member, into);
	}
	return r;
}

#define LIMIT(which) FIELD_AT(struct permissions, limits.values[which])

static const struct field_key limit_keys[] = {
	FIELD_STORE("timeout", DURATION, LIMIT(LIMIT_TIMEOUT_MS)),
	FIELD_STORE("memory", SIZE, LIMIT(LIMIT_MEMORY)),
	FIELD_STORE("pids", NUMBER, LIMIT(LIMIT_PIDS)),
	FIELD_STORE("output", SIZE, LIMIT(LIMIT_OUTPUT)),
	FIELD_STORE("file_size", SIZE, LIMIT(LIMIT_FILE_SIZE)),
	FIELD_STORE("open_files", NUMBER, LIMIT(LIMIT_OPEN_FILES)),
	FIELD_STORE("fuel", NUMBER, LIMIT(LIMIT_FUEL)),
	FIELD_STORE("wasm_memory", SIZE, LIMIT(LIMIT_WASM_MEMORY)),
};
static const struct field_table limit_table = FIELD_TABLE(limit_keys);

static int permissions_read_default(const struct field *f, void *into)
{
	return field_verdict(f, verdict_names, &((struct permissions *)into)->fallback);
}

static int permissions_read_mode(const struct field *f, void *into)
{
	return field_mode(f, &((struct permissions *)into)->mode);
}

/* The top, and layers of it */

/* The name of a profile; what it stands for is not looked up here. */
static int permissions_read_extends(const struct field *f, void *into)
{
	static const char bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
				    "0123456789._-";
	struct permissions *p = into;
	const char *name = NULL;
	int r = field_text(f, &name);

	if (r < 0)
		return r;
	if (!*name || name[strspn(name, bytes)] || name[0] == '.' || strlen(name) > EXTENDS_MAX) {
		r = field_fail(f, "`%s` is not the name of a profile", name);
		error_hint(f->error,
			"use `workspace`, `readonly`, `offline` or a profile of your own");
		return r;
	}
	p->extends = arena_strdup(p->arena, name);
	p->extends_where = field_location(f);
	/* The document goes, this stays. */
	p->extends_where.file = p->origin;
	return field_result(f, p->extends ? 0 : -ENOMEM);
}

static int permissions_read_layer(const struct field *f, struct permissions *p);

static int read_all_of_item(const struct field *f, void *into)
{
	struct permissions *p = into;
	struct permissions *layer = permissions_new_layer(p);
	int r;

	if (!layer)
		return field_result(f, -ENOMEM);
	if (node_get(f->node, "extends")) {
		struct field inner = field_child(f, node_get(f->node, "extends"));

		return field_fail(&inner, "is only allowed at the top of a file");
	}
	layer->origin = p->origin;
	layer->line_place = p->line_place;
	r = permissions_read_layer(f, layer);
	if (r == 0)
		r = ARENA_PUSH(p->arena, p->all_of, p->n_all_of, p->cap_all_of, layer);
	return field_result(f, r);
}

static int read_all_of(const struct field *f, void *into)
{
	int r = field_read_list(f, read_all_of_item, into);

	if (r == 0 && f->node->count == 0)
		return field_fail(f, "needs at least one set of permissions");
	if (r == 0 && f->up->node->count > 1) {
		r = field_fail(f, "nothing else may stand beside it");
		error_hint(f->error, "move the other keys into one more entry of the list");
	}
	return r;
}

static const struct field_key top_keys[] = {
	FIELD_MAP("fs", fs_table),
	FIELD_MAP("network", network_table),
	FIELD("exec", LIST, read_exec, .how = LIST(LIST_EXEC)),
	FIELD("env", LIST, permissions_read_env, .how = LIST(LIST_ENV)),
	FIELD("services", MAP, permissions_read_services),
	FIELD("secrets", MAP, permissions_read_secrets),
	FIELD_MAP("limits", limit_table),
	FIELD_EACH("guest_paths", permissions_read_guest_path),
	FIELD("dangerously_allow", LIST, permissions_read_list,
		.how = LIST(LIST_DANGEROUSLY_ALLOW)),
	FIELD_EACH("rules", permissions_read_rule),
	FIELD("default", OTHER, permissions_read_default),
	FIELD("mode", OTHER, permissions_read_mode),
	FIELD("all_of", LIST, read_all_of),
	FIELD("extends", OTHER, permissions_read_extends),
};
const struct field_table permissions_read_table = FIELD_TABLE(top_keys);

static int permissions_read_layer(const struct field *f, struct permissions *p)
{
	int r = field_read_map(f, &permissions_read_table, p);

	if (r < 0 && f->node->type == NODE_NULL)
		error_hint(f->error, "write {} to grant nothing");
	return r;
}

int permissions_read_node(
	struct permissions *p, const struct document *d, const struct node *n, struct error *e)
{
	struct field top = { .document = d, .error = e, .node = n };

	if (!p->origin && d->file) {
		p->origin = arena_strdup(p->arena, d->file);
		if (!p->origin)
			return field_result(&top, -ENOMEM);
	}
	return permissions_read_layer(&top, p);
}
