/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AgenShield's policy files: rules with priorities over the operations of its broker.
 *
 * One rule may list operations of several kinds, and its patterns are then tried as each of them:
 * "*" is every file, every host and every command, while "/etc/**" is understood as files alone. A
 * pattern must be understood as at least one of them. Our rules are of one kind, so such a rule
 * becomes several with the same id.
 *
 * Where a pattern of theirs and one of ours do not say the same, the difference may only make
 * things stricter: a pattern that has no exact counterpart is widened in a rule that denies or
 * asks, and refused in one that allows. Nothing is ever dropped. (A scope that AgenShield would
 * check by a prefix of the text becomes a folder, and commands are compared by whole words.)
 *
 * A file like this is a policy that somebody relies on. Keys that are known to say nothing about it
 * (dates, tags) are kept; every other key that we do not know is an error.
 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/network/host.h"

/* Patterns in our spelling */

/* A pattern on its way. */
struct translation {
	const struct field *f;
	struct permissions *p;
	struct grant_list *list;
	enum verdict action;
	enum operation op;
};

static int translation_add(const struct translation *t, const char *text)
{
	if (!text)
		return field_result(t->f, -ENOMEM);
	return manifest_grant(t->f, t->p, t->list, t->op, text);
}

/* Files */

static int translate_path(const struct translation *t, const char *text)
{
	static const char workspace[] = "$WORKSPACE";
	size_t n = sizeof(workspace) - 1;

	if (strncmp(text, workspace, n) == 0 && (text[n] == '/' || text[n] == '\0'))
		return translation_add(t, arena_printf(t->p->arena, "$WORK_DIR%s", text + n));
	if (strchr("/~$", text[0]) || strncmp(text, "**/", 3) == 0)
		return translation_add(t, text);
	/* A relative pattern matches no absolute path. Who denies one means it anywhere. */
	if (t->action == VERDICT_ALLOW || text[0] == '\0' || strncmp(text, "./", 2) == 0 ||
		strncmp(text, "../", 3) == 0)
		return field_fail(t->f, "`%s` does not start with /, ~/, **/ or a variable", text);
	return translation_add(t, arena_printf(t->p->arena, "/**/%s", text));
}

/* Hosts */

/* A path without a scheme, which is https. An address with a length (10.0.0.0/8) is none. */
static bool lacks_scheme(struct arena *a, const char *text)
{
	struct host_pattern prefix;

	return strchr(text, '/') && !strstr(text, "://") && strncmp(text, "unix:", 5) != 0 &&
	       host_pattern_parse(&prefix, a, text, NULL, NULL) < 0;
}

/* Who denies a path of a site means what lies below it as well. NULL when out of memory. */
static const char *widen_path(const struct translation *t, const char *url)
{
	const char *host = url ? strstr(url, "://") : NULL;
	const char *path = host ? strchr(host + 3, '/') : NULL;

	if (t->action == VERDICT_ALLOW || !path || path[1] == '\0' || strpbrk(path, "*?[{"))
		return url;
	return arena_printf(t->p->arena, "%s%s**", url, path[strlen(path) - 1] == '/' ? "" : "/");
}

/* Adds the patterns of ours that a URL pattern stands for. */
static int translate_url(const struct translation *t, const char *text,
	int (*add)(const struct translation *t, const char *text))
{
	struct arena *a = t->p->arena;
	const char *spelt[2] = { text };
	size_t n = 1;
	int r = 0;

	if (strncmp(text, "*://", 4) == 0) {
		spelt[0] = arena_printf(a, "http%s", text + 1);
		spelt[n++] = arena_printf(a, "https%s", text + 1);
	} else if (lacks_scheme(a, text)) {
		spelt[0] = arena_printf(a, "https://%s", text);
	}
	for (size_t i = 0; i < n; i++)
		spelt[i] = widen_path(t, spelt[i]);
	if (!spelt[0] || !spelt[n - 1])
		return field_result(t->f, -ENOMEM);
	for (size_t i = 0; r == 0 && i < n; i++)
		r = add(t, spelt[i]);
	return r;
}

static int translate_host(const struct translation *t, const char *text)
{
	return translate_url(t, text, translation_add);
}

/* Pages to open: the browser is narrowed by domains alone. */

static int add_page(const struct translation *t, const char *text)
{
	struct location where = field_location(t->f);
	struct host_pattern h;
	auto_buffer domain = { 0 };
	bool own_port, all_ports;
	int r = host_pattern_parse(&h, t->p->arena, text, &where, t->f->error);

	if (r < 0)
		return field_result(t->f, r);
	if (h.transport != TRANSPORT_TCP)
		return field_fail(t->f, "`%s` is no page that a browser could open", text);
	own_port = h.port_lo == h.port_hi && (h.port_lo == 80 || h.port_lo == 443);
	all_ports = h.port_lo == 1 && h.port_hi == UINT16_MAX;
	if (t->action == VERDICT_ALLOW && (h.n_url_paths > 0 || (!own_port && !all_ports)))
		return field_fail(t->f, "`%s`: opening pages can be allowed by domain only", text);
	h.port_lo = 1;
	h.port_hi = UINT16_MAX;
	h.n_url_paths = 0;
	buffer_adds(&domain, "browser:");
	host_pattern_print(&h, &domain);
	return translation_add(t, domain.failed ? NULL : buffer_text(&domain));
}

static int translate_page(const struct translation *t, const char *text)
{
	return translate_url(t, text, add_page);
}

/* Commands */

static bool ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

static int translate_command(const struct translation *t, const char *text)
{
	size_t len = strlen(text);
	auto_buffer out = { 0 };
	bool more;

	while (len && text[len - 1] == ' ')
		len--;
	more = ends_with(text, len, ":*") || ends_with(text, len, " *");
	if (more)
		len -= 2;
	if (memchr(text, '*', len) || strcspn(text, "?[{") < strcspn(text, " ")) {
		(void)field_fail(
			t->f, "`%s`: a command has no wildcards but `:*` at its end", text);
		error_hint(t->f->error, "`git push:*` is git push with any further arguments");
		return -EINVAL;
	}
	/* Nothing in it may mean something to us. */
	for (size_t i = 0; i < len; i++) {
		if (text[i] == '\\' || text[i] == ':')
			buffer_addc(&out, '\\');
		buffer_addc(&out, text[i]);
	}
	buffer_adds(&out, more ? ":*" : ":");
	return translation_add(t, out.failed ? NULL : buffer_text(&out));
}

/* Secrets, variables, services */

static int translate_secret(const struct translation *t, const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-*?";

	if (text[strspn(text, letters)] != '\0')
		return field_fail(t->f, "`%s` is no name of a secret", text);
	return translation_add(t, arena_printf(t->p->arena, "vault:%s", text));
}

static const struct {
	enum operation op;         /* of ours; that of files stands for both */
	const char *everything[2]; /* what "*" is in our spelling */
	int (*translate)(const struct translation *t, const char *text);
} rules_kinds[RULES_KIND_COUNT] = {
	[RULES_PATH] = { OPERATION_FS_READ, { "/**" }, translate_path },
	[RULES_HOST] = { OPERATION_NET_CONNECT, { "*:*", "udp://*:*" }, translate_host },
	[RULES_COMMAND] = { OPERATION_EXEC, { "/**" }, translate_command },
	[RULES_PAGE] = { OPERATION_SERVICE, { "browser" }, translate_page },
	[RULES_SECRET] = { OPERATION_SERVICE, { "vault" }, translate_secret },
	[RULES_ENV] = { OPERATION_ENV, { "*" }, translation_add },
	[RULES_SERVICE] = { OPERATION_SERVICE, { "*" }, translation_add },
};

int manifest_rules_pattern(const struct field *f, struct permissions *p, struct grant_list *list,
	enum manifest_rules_kind kind, enum verdict action, const char *text)
{
	const struct translation t = { f, p, list, action, rules_kinds[kind].op };
	const char *const *everything = rules_kinds[kind].everything;
	int r = 0;

	if (strcmp(text, "*") != 0 && strcmp(text, "**") != 0)
		return rules_kinds[kind].translate(&t, text);
	for (size_t i = 0; r == 0 && i < 2 && everything[i]; i++)
		r = translation_add(&t, everything[i]);
	return r;
}

/* Rules */

/* A rule while it is read. */
struct rules_reading {
	struct manifest *m;
	struct rule rule;
	bool kinds[RULES_KIND_COUNT];
	unsigned fs; /* which of fs.read and fs.write */
	bool acted;  /* rule.action was set, by `type` or by `action` */
	const char *scope;
};

#define BIT(op) (1U << (op))

/* The operations of AgenShield's broker: what they are about. */
static const struct foreign_operation {
	const char *name;
	enum manifest_rules_kind kind;
	unsigned fs;
	bool all;  /* every kind */
	bool none; /* the broker's own business, which nothing here governs */
} operations[] = {
	{ .name = "*", .all = true },
	{ .name = "http_request", .kind = RULES_HOST },
	{ .name = "file_read", .kind = RULES_PATH, .fs = BIT(OPERATION_FS_READ) },
	{ .name = "file_list", .kind = RULES_PATH, .fs = BIT(OPERATION_FS_READ) },
	{ .name = "file_write", .kind = RULES_PATH, .fs = BIT(OPERATION_FS_WRITE) },
	{ .name = "exec", .kind = RULES_COMMAND },
	{ .name = "open_url", .kind = RULES_PAGE },
	{ .name = "secret_inject", .kind = RULES_SECRET },
	{ .name = "ping", .none = true },
	{ .name = "policy_check", .none = true },
	{ .name = "events_batch", .none = true },
};

static void add_operation(struct rules_reading *r, const struct foreign_operation *row)
{
	if (row->none)
		return;
	r->fs |= row->all ? BIT(OPERATION_FS_READ) | BIT(OPERATION_FS_WRITE) : row->fs;
	for (int kind = 0; kind < RULES_KIND_COUNT; kind++) {
		if (row->all || (int)row->kind == kind)
			r->kinds[kind] = true;
	}
}

static int rules_read_operation(const struct field *f, void *into)
{
	const char *words[ROWS(operations)];
	size_t i = 0;
	int r;

	for (size_t n = 0; n < ROWS(operations); n++)
		words[n] = operations[n].name;
	r = field_word(f, words, ROWS(words), &i);
	if (r == 0)
		add_operation(into, &operations[i]);
	return r;
}

/* Without operations the target says them. */
static int rules_read_target(const struct field *f, void *into)
{
	static const char *const words[] = { "url", "command", "filesystem" };
	static const struct foreign_operation meant[][2] = {
		{ { .kind = RULES_HOST }, { .kind = RULES_PAGE } },
		{ { .kind = RULES_COMMAND }, { .kind = RULES_COMMAND } },
		{ { .kind = RULES_PATH, .fs = BIT(OPERATION_FS_READ) },
			{ .kind = RULES_PATH, .fs = BIT(OPERATION_FS_WRITE) } },
	};
	const struct node *listed = node_get(f->up->node, "operations");
	size_t word = 0;
	int r = field_word(f, words, ROWS(words), &word);

	if (r < 0 || (listed && listed->count))
		return r;
	add_operation(into, &meant[word][0]);
	add_operation(into, &meant[word][1]);
	return 0;
}

static int set_action(const struct field *f, struct rules_reading *r, enum verdict action)
{
	if (r->acted && r->rule.action != action)
		return field_fail(f, "`type` and `action` say different things");
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
	FIELD("id", field_store_text, FIELD_AT(struct rules_reading, rule.id), .required = true),
	FIELD("name", rules_read_name),
	FIELD("type", read_type),
	FIELD("action", rules_read_action),
	FIELD("target", rules_read_target),
	FIELD_EACH("operations", rules_read_operation),
	FIELD("patterns", field_ignore,
		.required = true), /* read last: see rules_read_patterns() */
	FIELD("enabled", field_store_disabled, FIELD_AT(struct rules_reading, rule.disabled)),
	FIELD("priority", rules_read_priority),
	FIELD("methods", rules_read_methods),
	FIELD("scope", rules_read_scope),
	FIELD("description", field_ignore),
	FIELD("comment", field_ignore),
	FIELD("preset", field_ignore),
	FIELD("tier", field_ignore),
	FIELD("tags", field_ignore),
	FIELD("metadata", field_ignore),
	FIELD("createdAt", field_ignore),
	FIELD("updatedAt", field_ignore),
	FIELD("createdBy", field_ignore),
	FIELD("updatedBy", field_ignore),
};
static const struct field_table rule_table = FIELD_TABLE(rule_keys);

/* One pattern as each of the rule's kinds. If none takes it, the first of them says why. */
static int rules_read_pattern(
	const struct field *f, struct rules_reading *r, struct grant_list *lists)
{
	struct error why = { 0 }, first = { 0 };
	bool tried = false, taken = false;
	struct field quiet = *f;
	const char *text = NULL;
	int ret = field_text(f, &text);

	if (ret < 0)
		return ret;
	quiet.error = &why;
	for (int kind = 0; kind < RULES_KIND_COUNT; kind++) {
		if (!r->kinds[kind])
			continue;
		ret = manifest_rules_pattern(&quiet, r->m->permissions,
			&lists[rules_kinds[kind].op], (enum manifest_rules_kind)kind,
			r->rule.action, text);
		if (ret == -ENOMEM)
			return field_result(f, ret);
		taken = taken || ret == 0;
		if (!tried)
			first = why;
		tried = true;
	}
	if (taken || !tried)
		return 0;
	if (f->error)
		*f->error = first;
	return -EINVAL;
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
	for (int op = 0; ret == 0 && op < OPERATION_COUNT; op++) {
		struct rule rule = r->rule;

		rule.operations = op == OPERATION_FS_READ ? r->fs : BIT(op);
		rule.patterns = lists[op];
		if (op != OPERATION_NET_CONNECT)
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

static int rules_read_rule(const struct field *f, void *into)
{
	struct rules_reading r = { .m = into, .rule.where = field_location(f) };
	int ret = field_read_map(f, &rule_table, &r);
	struct field patterns;

	if (ret < 0)
		return ret;
	if (!r.acted)
		return field_fail(f, "the key `action` is missing");
	if (!node_get(f->node, "operations") && !node_get(f->node, "target"))
		return field_fail(f, "the key `operations` is missing");
	ret = apply_scope(f, &r);
	if (ret < 0)
		return ret;
	patterns = field_child(f, node_get(f->node, "patterns"));
	return rules_read_patterns(&patterns, &r);
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
	FIELD("version", manifest_text, .how = MANIFEST_TEXT(version)),
	FIELD("name", manifest_text, .how = MANIFEST_TEXT(name)),
	FIELD("description", manifest_text, .how = MANIFEST_TEXT(description)),
	FIELD("author", manifest_text_or_keep, .how = MANIFEST_TEXT(author)),
	FIELD("defaultAction", rules_read_default),
	FIELD("mode", rules_read_mode),
	FIELD_EACH("rules", rules_read_rule),
	FIELD("fsConstraints", manifest_rules_fs_constraints),
	FIELD("networkConstraints", manifest_rules_network_constraints),
	FIELD("$schema", manifest_keep),
	FIELD("id", manifest_keep),
	FIELD("preset", manifest_keep),
	FIELD("tags", manifest_keep),
	FIELD("metadata", manifest_keep),
	FIELD("createdAt", manifest_keep),
	FIELD("updatedAt", manifest_keep),
};
const struct field_table manifest_rules_table = FIELD_TABLE(top_keys);
