/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A layer is told in the order of its sections, and in each section in the order in which it
 * decides, turned around: first what is allowed, then what is taken away from that. "Except" is
 * only said without an "unless" where nothing in the layer is stronger.
 *
 * Where there are several layers each is told by itself. What they allow together is at most what
 * the narrowest of them does; working that out in words would be the algebra's business, and
 * leaving a layer out would hide what the others rely on.
 */
#include "advice/describe/describe.h"

#include <errno.h>
#include <inttypes.h>
#include <stdarg.h>
#include <string.h>

#include "base/array.h"
#include "codec/unit.h"
#include "policy/network/listen.h"
#include "policy/service-table.h"
#include "advice/describe/internal.h"

int describe_add(struct arena *a, struct description_lines *to, const char *format, ...)
{
	const char *line;
	va_list args;

	va_start(args, format);
	line = lint_sentence(a, format, args);
	va_end(args);
	return line ? ARENA_PUSH(a, to->items, to->n, to->cap, line) : -ENOMEM;
}

/* Sections and lines */

static void section(struct describe *c, const char *title)
{
	struct description_section s = { .title = title };

	if (c->failed)
		return;
	if (c->suffix)
		s.title = arena_printf(c->arena, "%s%s", title, c->suffix);
	if (!s.title || ARENA_PUSH(c->arena, c->d->sections, c->d->n, c->d->cap, s) < 0)
		c->failed = true;
}

static struct description_lines *lines(struct describe *c)
{
	return &c->d->sections[c->d->n - 1].lines;
}

#define LINE(c, ...)                                                                     \
	do {                                                                             \
		if (!(c)->failed && describe_add((c)->arena, lines(c), __VA_ARGS__) < 0) \
			(c)->failed = true;                                              \
	} while (0)

/* "before" + what the grant covers + "behind". */
static void line_of_grant(struct describe *c, enum operation op, const struct grant *g,
	const char *before, const char *behind)
{
	auto_buffer what = { 0 };

	describe_grant(c, op, g, &what);
	c->failed = c->failed || what.failed;
	LINE(c, "%s %s%s", before, buffer_text(&what), behind);
}

static void lines_of_list(
	struct describe *c, enum operation op, const struct grant_list *list, const char *before)
{
	for (size_t i = 0; list && i < list->n; i++)
		line_of_grant(c, op, &list->items[i], before, "");
}

/* Rules */

static bool applies(const struct rule *r, enum operation op)
{
	return !r->disabled && r->operations >> op & 1;
}

/* A rule about the operation, or only one that does not deny; stronger than `than`, if given. */
static bool has_rule(
	const struct describe *c, enum operation op, bool denials, const struct rule *than)
{
	for (size_t i = 0; i < c->p->n_rules; i++) {
		const struct rule *r = &c->p->rules[i];

		if (applies(r, op) && (denials || r->action != VERDICT_DENY) &&
			(!than || r->priority > than->priority))
			return true;
	}
	return false;
}

static void line_of_rule(struct describe *c, enum operation op, const struct rule *r)
{
	auto_buffer behind = { 0 }, before = { 0 };

	for (size_t i = 0; i < r->methods.n; i++)
		buffer_printf(&behind, "%s%s", i ? ", " : ", with the methods ",
			r->methods.items[i].all[0]);
	if (r->action == VERDICT_DENY)
		buffer_adds(&before, "except");
	else
		buffer_printf(&before, "%s%s",
			r->action == VERDICT_ASK ? "if you agree when asked: " : "",
			operation_rows[op].verb);
	if (r->action == VERDICT_DENY && has_rule(c, op, false, r))
		buffer_adds(&behind, ", unless a stronger rule lets it pass");
	buffer_printf(&behind, " (rule %s)", r->id ? r->id : "without an id");
	c->failed = c->failed || behind.failed || before.failed;
	for (size_t i = 0; i < r->patterns.n; i++)
		line_of_grant(
			c, op, &r->patterns.items[i], buffer_text(&before), buffer_text(&behind));
}

static void lines_of_rules(struct describe *c, enum operation op, bool denials)
{
	for (size_t i = 0; i < c->p->n_rules; i++) {
		const struct rule *r = &c->p->rules[i];

		if (applies(r, op) && (r->action == VERDICT_DENY) == denials)
			line_of_rule(c, op, r);
	}
}

/* Network */

/* "what: at most" an amount. */
static void line_of_amount(struct describe *c, const char *what, uint64_t value,
	void (*print)(uint64_t value, struct buffer *out))
{
	auto_buffer amount = { 0 };

	if (value == LIMIT_NONE)
		return;
	print(value, &amount);
	c->failed = c->failed || amount.failed;
	LINE(c, "%s %s", what, buffer_text(&amount));
}

static void lines_of_network_limits(struct describe *c)
{
	const struct network_limits *n = &c->p->network;
	auto_buffer rate = { 0 }, methods = { 0 };

	if (n->rate.count) {
		unit_print_rate(&n->rate, &rate);
		LINE(c, "new connections: at most %s", buffer_text(&rate));
	}
	line_of_amount(c, "bytes to and from each host: at most", n->max_bytes, unit_print_size);
	line_of_amount(c, "bytes of a request, where Corral itself speaks HTTP: at most",
		n->max_request_size, unit_print_size);
	for (size_t i = 0; i < n->methods.n; i++)
		buffer_printf(&methods, "%s%s", i ? ", " : "", n->methods.items[i].all[0]);
	if (n->methods.n)
		LINE(c, "methods, where Corral itself speaks HTTP: only %s", buffer_text(&methods));
	c->failed = c->failed || rate.failed || methods.failed;
}

static void line_of_port(struct describe *c, const char *text)
{
	auto_buffer inner = { 0 };
	struct listen_entry l;

	if (listen_parse(text, &l, NULL, NULL) < 0) {
		LINE(c, "accept connections on %s", text);
		return;
	}
	if (l.inner != l.port)
		buffer_printf(&inner, ", which is port %u inside", l.inner);
	c->failed = c->failed || inner.failed;
	LINE(c, "accept connections on port %u%s%s", l.port, buffer_text(&inner),
		listen_is_public(&l) ? ", also from other machines" : "");
}

/* Variables and services */

static const struct {
	unsigned access;
	const char *word;
} accesses[] = {
	{ SERVICE_READ, "read" },
	{ SERVICE_WRITE, "write" },
	{ SERVICE_SEND, "send" },
	{ SERVICE_OPEN, "open" },
	{ SERVICE_NAVIGATE, "navigate" },
	{ SERVICE_SCREENSHOT, "screenshot" },
	{ SERVICE_EVAL, "eval" },
	{ SERVICE_LOGIN, "login" },
};

static void add_scope(const struct service_scope *scope, struct buffer *out)
{
	buffer_printf(out, "; %s: ", scope->key);
	buffer_adds(out, scope->values.n ? "" : "none");
	for (size_t i = 0; i < scope->values.n; i++) {
		const struct grant *g = &scope->values.items[i];

		for (size_t k = 0; k < g->n; k++)
			buffer_printf(out, "%s%s", k ? " and also " : i ? ", " : "", g->all[k]);
	}
}

static void line_of_service(struct describe *c, const struct service *s)
{
	const struct service_row *row = service_row_find(s->name, strlen(s->name));
	auto_buffer out = { 0 };

	for (size_t i = 0; i < ROWS(accesses); i++) {
		if (s->access & accesses[i].access)
			buffer_printf(&out, "%s%s", out.len ? " and " : "", accesses[i].word);
	}
	if (!out.len)
		return;
	for (size_t i = 0; i < s->n_scopes; i++)
		add_scope(&s->scopes[i], &out);
	buffer_adds(&out, s->n_scopes ? "" : "; nothing narrows it");
	for (size_t i = 0; row && row->scopes[i].key; i++) {
		auto_buffer amount = { 0 };

		if (!row->scopes[i].bound || !service_bound_is_set(s, &row->scopes[i]))
			continue;
		row->scopes[i].bound->print(service_bound_at(s, &row->scopes[i]), &amount);
		buffer_printf(&out, "; %s%s%s", row->scopes[i].bound->before, buffer_text(&amount),
			row->scopes[i].bound->after);
	}
	c->failed = c->failed || out.failed;
	LINE(c, "use %s: %s", s->name, buffer_text(&out));
}

/* Operations */

/* What the layer grants by its lists. */
static void lines_of_grants(struct describe *c, enum operation op)
{
	const struct permissions *p = c->p;
	const char *verb = operation_rows[op].verb;

	for (int l = 0; l < LIST_COUNT; l++)
		if (list_rows[l].verdict == VERDICT_ALLOW && list_rows[l].decides & 1u << op &&
			l != LIST_NETWORK_PRIVATE)
			lines_of_list(c, op, permissions_list(p, l), verb);
	for (size_t i = 0; i < p->n_guest_paths; i++) {
		const struct guest_path *g = &p->guest_paths[i];
		auto_buffer folder = { 0 };

		if (op != OPERATION_FS_READ && !(op == OPERATION_FS_WRITE && g->writable))
			continue;
		describe_folder(c, g->host, &folder);
		c->failed = c->failed || folder.failed;
		LINE(c, "%s everything in %s, as %s", verb, buffer_text(&folder), g->guest);
	}
	for (size_t i = 0; op == OPERATION_NET_CONNECT && i < p->network_private.n; i++)
		line_of_grant(c, op, &p->network_private.items[i], verb,
			", also if it leads to a private address");
	for (size_t i = 0; op == OPERATION_NET_CONNECT && i < p->listen.n; i++)
		line_of_port(c, p->listen.items[i].all[0]);
	for (size_t i = 0; op == OPERATION_NET_CONNECT && i < p->inspect.n; i++)
		LINE(c, "of %s, HTTP requests alone, each checked inside TLS",
			p->inspect.items[i].all[0]);
	for (size_t i = 0; op == OPERATION_SERVICE && i < p->n_services; i++)
		line_of_service(c, &p->services[i]);
}

/* In the order of judgement, turned around. */
static void tell_operation(struct describe *c, enum operation op)
{
	section(c, operation_rows[op].title);
	/* No default and no mode lets a secret go. */
	if (op == OPERATION_SECRET) {
		lines_of_grants(c, op);
		if (!c->failed && lines(c)->n == 0)
			LINE(c, "nothing");
		return;
	}
	if (c->p->mode == MODE_MONITOR) {
		LINE(c, "%s anything: this layer only watches, and blocks nothing",
			operation_rows[op].verb);
		return;
	}
	if (op == OPERATION_EXEC && !c->p->exec_listed && !has_rule(c, op, true, NULL)) {
		LINE(c, "run any program that it can read, also one that it has written itself");
		return;
	}
	lines_of_grants(c, op);
	lines_of_rules(c, op, false);
	/* What happens to all that nothing names. */
	if (c->p->mode == MODE_AUDIT)
		LINE(c, "%s anything else that no rule forbids", operation_rows[op].verb);
	else if (c->p->fallback == VERDICT_ALLOW)
		LINE(c, "%s anything else that no rule names", operation_rows[op].verb);
	else if (c->p->fallback == VERDICT_ASK)
		LINE(c, "if you agree when asked: %s anything else", operation_rows[op].verb);
	if (!c->failed && lines(c)->n == 0)
		LINE(c, "nothing");
	lines_of_rules(c, op, true);
	if (operation_rows[op].deny != LIST_NONE)
		lines_of_list(c, op, permissions_list(c->p, operation_rows[op].deny), "except");
	if (op == OPERATION_NET_CONNECT)
		lines_of_network_limits(c);
	if (op != OPERATION_EXEC)
		return;
	if (c->p->exec.n > 0 || has_rule(c, op, false, NULL))
		LINE(c, "with these also the interpreters and helper programs that they need");
	/* What programs are known to do, in the words of the advice about them. */
	for (size_t i = 0; i < c->found.n; i++) {
		const struct lint_finding *f = &c->found.items[i];

		if (strcmp(f->id, "exec-any-code") == 0 || strcmp(f->id, "exec-root") == 0)
			LINE(c, "note that %s", f->text);
	}
}

/* The rest */

static void print_count(uint64_t value, struct buffer *out)
{
	buffer_printf(out, "%" PRIu64, value);
}

static void describe_tell_limits(struct describe *c)
{
	static const struct {
		const char *what, *line;
		void (*print)(uint64_t value, struct buffer *out);
	} rows[LIMIT_COUNT] = {
		[LIMIT_TIMEOUT_MS] = { "time", "is stopped after", unit_print_duration },
		[LIMIT_MEMORY] = { "memory", "memory: at most", unit_print_size },
		[LIMIT_PIDS] = { "processes", "processes: at most", print_count },
		[LIMIT_OUTPUT] = { "output", "output: at most", unit_print_size },
		[LIMIT_FILE_SIZE] = { "the size of files", "size of a file: at most",
			unit_print_size },
		[LIMIT_OPEN_FILES] = { "open files", "open files: at most", print_count },
		[LIMIT_FUEL] = { "fuel (WASM)", "fuel (WASM): at most", print_count },
		[LIMIT_WASM_MEMORY] = { "memory of a WASM module",
			"memory of a WASM module: at most", unit_print_size },
	};
	auto_buffer missing = { 0 };

	section(c, "Limits");
	for (int i = 0; !c->failed && i < LIMIT_COUNT; i++) {
		if (c->p->limits.values[i] == LIMIT_NONE)
			buffer_printf(&missing, "%s%s", missing.len ? ", " : "", rows[i].what);
		else
			line_of_amount(c, rows[i].line, c->p->limits.values[i], rows[i].print);
	}
	c->failed = c->failed || missing.failed;
	if (missing.len)
		LINE(c, "no limit on %s", buffer_text(&missing));
}

/* Layers */

static size_t count_layers(const struct permissions *p)
{
	size_t n = 0;

	for (size_t i = 0; i < p->n_all_of; i++)
		n += count_layers(p->all_of[i]);
	return p->n_all_of ? n : 1;
}

struct describing {
	const struct variables *vars;
	struct arena *arena;
	struct description *d;
	size_t layer, n_layers;
	unsigned facts; /* those that are true of each layer */
};

static int tell_layer(struct describing *all, const struct permissions *p)
{
	auto_arena scratch = { 0 };
	struct describe c = { .p = p, .vars = all->vars, .arena = all->arena, .d = all->d };
	int r = lint_permissions_with(p, all->vars, &scratch, &c.found);

	if (r < 0)
		return r;
	if (all->n_layers > 1) {
		c.suffix = arena_printf(
			all->arena, " (layer %zu of %zu)", ++all->layer, all->n_layers);
		c.failed = !c.suffix;
	}
	for (int op = 0; op < OPERATION_COUNT; op++)
		tell_operation(&c, (enum operation)op);
	section(&c, "What the baseline no longer protects");
	lines_of_list(&c, OPERATION_FS_READ, &p->dangerously_allow, "if it is granted above:");
	if (!c.failed && lines(&c)->n == 0)
		LINE(&c, "nothing is lifted");
	describe_tell_limits(&c);
	all->facts &= describe_facts(&c, all->n_layers > 1);
	return c.failed ? -ENOMEM : 0;
}

static int tell_layers(struct describing *all, const struct permissions *p)
{
	int r = 0;

	for (size_t i = 0; r == 0 && i < p->n_all_of; i++)
		r = tell_layers(all, p->all_of[i]);
	return p->n_all_of ? r : tell_layer(all, p);
}

int describe_permissions(const struct permissions *p, const struct variables *vars, struct arena *a,
	struct description *ret)
{
	struct description d = { 0 };
	struct describing all = {
		.vars = vars, .arena = a, .d = &d, .n_layers = count_layers(p), .facts = ~0u
	};
	struct describe c = { .arena = a, .d = &d };
	int r;

	if (all.n_layers > 1) {
		section(&c, "Layers");
		LINE(&c, "%zu layers follow; only what all of them allow is allowed", all.n_layers);
	}
	r = c.failed ? -ENOMEM : tell_layers(&all, p);
	if (r == 0)
		r = describe_judge(&d, all.facts, a);
	if (r == 0)
		*ret = d;
	return r;
}
