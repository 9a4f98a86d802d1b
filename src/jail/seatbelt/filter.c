/* SPDX-License-Identifier: Apache-2.0 */
/*
 * One pattern, one or more filters.
 *
 * Seatbelt sees a path after all links are resolved, and on macOS /tmp, /var and /etc are links
 * into /private. So a pattern that starts with one of these is written with /private before it; a
 * glob that might (`/t*`) is written both ways; one that starts with `**` covers both as it is.
 */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/array.h"
#include "base/utf8.h"
#include "jail/seatbelt/internal.h"
#include "policy/match/command.h"
#include "policy/network/host.h"
#include "policy/network/listen.h"

int seatbelt_filter_add(struct seatbelt_context *c, struct seatbelt_filters *to, const char *filter)
{
	const char *copy = arena_strdup(c->arena, filter);

	return copy ? ARENA_PUSH(c->arena, to->items, to->n, to->cap, copy) : -ENOMEM;
}

static int filter_add_buffer(
	struct seatbelt_context *c, struct seatbelt_filters *to, const struct buffer *text)
{
	return text->failed ? -ENOMEM : seatbelt_filter_add(c, to, buffer_text(text));
}

/* A path as a string, with the words of the filter before and after it. */
static int filter_add_string(struct seatbelt_context *c, struct seatbelt_filters *to,
	const char *before, const char *path, size_t len, const char *after)
{
	auto_buffer text = { 0 };

	buffer_printf(&text, "(%s \"", before);
	for (size_t i = 0; i < len; i++) {
		if (path[i] == '"' || path[i] == '\\')
			buffer_addc(&text, '\\');
		buffer_addc(&text, path[i]);
	}
	buffer_printf(&text, "\"%s", after);
	return filter_add_buffer(c, to, &text);
}

void seatbelt_filter_tidy(struct seatbelt_filters *f)
{
	size_t kept = 0;

	if (f->n)
		qsort(f->items, f->n, sizeof(*f->items), array_compare_text);
	for (size_t i = 0; i < f->n; i++) {
		if (kept == 0 || strcmp(f->items[kept - 1], f->items[i]) != 0)
			f->items[kept++] = f->items[i];
	}
	f->n = kept;
}

const char *seatbelt_filter_any(struct seatbelt_context *c, struct seatbelt_filters *f)
{
	auto_buffer text = { 0 };

	seatbelt_filter_tidy(f);
	if (f->n <= 1)
		return f->n ? f->items[0] : NULL;
	buffer_adds(&text, "(require-any");
	for (size_t i = 0; i < f->n; i++)
		buffer_printf(&text, " %s", f->items[i]);
	buffer_addc(&text, ')');
	return text.failed ? NULL : arena_strdup(c->arena, buffer_text(&text));
}

static int filter_refuse_bytes(struct seatbelt_context *c)
{
	return error_set(c->error, -EOPNOTSUPP, c->where,
		"a Seatbelt profile cannot contain a path with control characters or bytes that "
		"are not UTF-8");
}

/* Nothing in a path may end its line or its string. */
static int filter_check(struct seatbelt_context *c, const char *s, size_t len)
{
	for (size_t i = 0; i < len; i++) {
		if ((unsigned char)s[i] < 0x20 || s[i] == 0x7f)
			return filter_refuse_bytes(c);
	}
	return utf8_valid(s, len, NULL) ? 0 : filter_refuse_bytes(c);
}

/* --- globs as regular expressions --- */

static bool regex_is_holdable(unsigned b)
{
	return b >= 0x20 && b != 0x7f && b != '"';
}

/* Inside brackets these mean something, depending on where they stand. */
static bool regex_is_awkward(unsigned b)
{
	return b == ']' || b == '^' || b == '-';
}

/* All members but the awkward ones: single, or as runs like a-z. */
static void regex_print_runs(const bool in[128], struct buffer *out)
{
	for (unsigned lo = 0; lo < 128; lo++) {
		unsigned hi = lo;

		if (!in[lo] || regex_is_awkward(lo))
			continue;
		while (hi + 1 < 128 && in[hi + 1] && !regex_is_awkward(hi + 1))
			hi++;
		buffer_addc(out, (char)lo);
		if (hi > lo + 1)
			buffer_addc(out, '-');
		if (hi > lo)
			buffer_addc(out, (char)hi);
		lo = hi;
	}
}

/*
 * A set is ASCII only, or has all above ASCII: then it was written negated, and what it lacks is
 * listed (the slash is always among that).
 */
static int regex_print_class(const struct glob_class *class, struct buffer *out)
{
	bool negated = glob_class_has(class, 0xff);
	bool in[128] = { false };
	size_t start;

	for (unsigned b = 1; b < 128; b++) {
		in[b] = glob_class_has(class, (unsigned char)b) != negated;
		if (in[b] && (!regex_is_holdable(b) || b == '\\'))
			return -EDOM;
	}
	/* A ] must come first, a ^ must not, and a - is plain at either end. */
	buffer_adds(out, negated ? "[^" : "[");
	start = out->len;
	if (in[']'])
		buffer_addc(out, ']');
	regex_print_runs(in, out);
	if (in['^'] && out->len == start && !negated)
		buffer_adds(out, "-^"); /* a set of one is a byte to glob.h, so - is there too */
	else
		buffer_printf(out, "%s%s", in['^'] ? "^" : "", in['-'] ? "-" : "");
	buffer_addc(out, ']');
	return 0;
}

int seatbelt_regex_print(const struct glob_alternative *alt, struct buffer *out)
{
	static const char *const wild[] = {
		[GLOB_ANY] = "[^/]",
		[GLOB_STAR] = "[^/]*",
		[GLOB_TREE] = "/(.*/)?",
		[GLOB_TAIL] = "(/.*)?",
	};
	int r = 0;

	for (size_t i = 0; r >= 0 && i < alt->n; i++) {
		const struct glob_token *t = &alt->tokens[i];

		if (t->type == GLOB_CLASS) {
			r = regex_print_class(t->class, out);
		} else if (t->type == GLOB_BYTE) {
			if (strchr(".^$*+?()[]{}|\\", t->byte))
				buffer_addc(out, '\\');
			buffer_addc(out, (char)t->byte);
			r = regex_is_holdable(t->byte) ? 0 : -EDOM;
		} else {
			buffer_adds(out, wild[t->type]);
		}
	}
	return r;
}

/* --- paths --- */

static const char *const private_folders[] = { "/tmp", "/var", "/etc" };

enum alias { ALIAS_NO, ALIAS_YES, ALIAS_MAYBE };

/* Does what an alternative matches lie in a folder that macOS keeps in /private? */
static enum alias filter_find_alias(const struct glob_alternative *alt)
{
	bool ends = alt->literal_len == alt->n || alt->tokens[alt->literal_len].type == GLOB_TREE ||
		    alt->tokens[alt->literal_len].type == GLOB_TAIL;

	if (alt->literal_len == 0)
		return ALIAS_NO; /* starts with **, which covers both */
	for (size_t i = 0; i < ROWS(private_folders); i++) {
		const char *folder = private_folders[i];
		size_t len = strlen(folder);

		if (alt->literal_len > len ? alt->literal[len] == '/'
					   : alt->literal_len == len && ends) {
			if (memcmp(alt->literal, folder, len) == 0)
				return ALIAS_YES;
		} else if (!ends && alt->literal_len <= len &&
			   memcmp(alt->literal, folder, alt->literal_len) == 0) {
			return ALIAS_MAYBE;
		}
	}
	return ALIAS_NO;
}

static int filter_add_regex(struct seatbelt_context *c, const struct glob_alternative *alt,
	enum alias alias, struct seatbelt_filters *ret)
{
	auto_buffer text = { 0 };

	/* "/t*" also matches in /private/tmp, but not in /private/tea. */
	if (alias == ALIAS_MAYBE)
		buffer_adds(&text, "(require-all (regex #\"^/private/(tmp|var|etc)(/.*)?$\") ");
	buffer_adds(&text, "(regex #\"^");
	if (alias != ALIAS_NO)
		buffer_adds(&text, "/private");
	if (seatbelt_regex_print(alt, &text) < 0)
		return error_set(c->error, -EOPNOTSUPP, c->where,
			"a Seatbelt profile cannot contain a glob with a quotation mark, a "
			"control character, or a backslash in a set");
	buffer_adds(&text, alias == ALIAS_MAYBE ? "$\"))" : "$\")");
	if (!utf8_valid(buffer_text(&text), text.len, NULL))
		return filter_refuse_bytes(c);
	return filter_add_buffer(c, ret, &text);
}

/* The path of a literal or a folder, as Seatbelt sees it. */
static const char *filter_real_path(struct seatbelt_context *c, const struct glob_alternative *alt)
{
	if (alt->literal_len == 0)
		return "/";
	return arena_printf(c->arena, "%s%s", filter_find_alias(alt) == ALIAS_YES ? "/private" : "",
		alt->literal);
}

static int filter_add_alternative(struct seatbelt_context *c, const struct glob_alternative *alt,
	struct seatbelt_filters *ret)
{
	const char *path = filter_real_path(c, alt);
	enum alias alias = filter_find_alias(alt);
	int r = filter_check(c, alt->literal, alt->literal_len);

	if (r < 0 || !path)
		return r < 0 ? r : -ENOMEM;
	if (alt->kind != GLOB_TRUE)
		return filter_add_string(c, ret, alt->kind == GLOB_LITERAL ? "literal" : "subpath",
			path, strlen(path), ")");
	r = filter_add_regex(c, alt, alias, ret);
	return r >= 0 && alias == ALIAS_MAYBE ? filter_add_regex(c, alt, ALIAS_NO, ret) : r;
}

static int filter_parse_path(struct seatbelt_context *c, const char *pattern, struct glob *ret)
{
	const char *expanded;
	int r = variable_expand(c->vars, pattern, c->arena, &expanded, c->where, c->error);

	return r < 0 ? r : glob_parse(ret, c->arena, expanded, c->where, c->error);
}

int seatbelt_filter_path(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret)
{
	struct glob g;
	int r = filter_parse_path(c, pattern, &g);

	for (size_t i = 0; r >= 0 && i < g.n; i++)
		r = filter_add_alternative(c, &g.alternatives[i], ret);
	return r;
}

/* The folders above what a pattern matches, the root and the last component left out. */
static int filter_add_ancestors(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret)
{
	struct glob glob;
	int r = filter_parse_path(c, pattern, &glob);

	for (size_t k = 0; r >= 0 && k < glob.n; k++) {
		const char *path = filter_real_path(c, &glob.alternatives[k]);

		if (!path)
			return -ENOMEM;
		for (const char *end = path; r >= 0 && (end = strchr(end + 1, '/'));)
			r = filter_add_string(c, ret, "literal", path, (size_t)(end - path), ")");
	}
	return r;
}

int seatbelt_filter_ancestors(
	struct seatbelt_context *c, const struct grant_list *list, struct seatbelt_filters *ret)
{
	int r = 0;

	for (size_t i = 0; i < list->n; i++) {
		const struct grant *g = &list->items[i];

		c->where = &g->where;
		for (size_t k = 0; r >= 0 && k < g->n; k++)
			r = filter_add_ancestors(c, g->all[k], ret);
	}
	return r;
}

/* --- programs --- */

int seatbelt_filter_program(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret)
{
	/* Where a bare name is looked for: the folders that macOS protects from changes. */
	static const char *const folders[] = { "/usr/bin", "/bin", "/usr/sbin", "/sbin" };
	struct command_pattern p;
	int r = command_pattern_parse(&p, c->arena, pattern, c->where, c->error);

	if (r < 0)
		return r;
	if (command_pattern_is_fine(&p)) {
		error_set(c->error, -EOPNOTSUPP, c->where,
			"Seatbelt checks only the program, not its arguments: %s", pattern);
		error_hint(c->error, "grant the program alone, or start it through the broker");
		return -EOPNOTSUPP;
	}
	if (!p.is_name)
		return seatbelt_filter_path(c, p.program, ret);
	r = filter_check(c, p.program, strlen(p.program));
	for (size_t i = 0; r >= 0 && i < ROWS(folders); i++) {
		const char *path = arena_printf(c->arena, "%s/%s", folders[i], p.program);

		r = path ? filter_add_string(c, ret, "literal", path, strlen(path), ")") : -ENOMEM;
	}
	return r;
}

/* --- hosts --- */

static int filter_refuse_host(struct seatbelt_context *c, const char *pattern, const char *why)
{
	error_set(c->error, -EOPNOTSUPP, c->where, "Seatbelt cannot enforce %s: %s", pattern, why);
	error_hint(c->error, "it supports `*` and `localhost`, one port or all, and unix:/path");
	return -EOPNOTSUPP;
}

static int filter_socket(struct seatbelt_context *c, const char *path, struct seatbelt_filters *ret)
{
	const char *real;
	struct glob g;
	int r = filter_parse_path(c, path, &g);

	if (r < 0)
		return r;
	if (g.n != 1 || g.alternatives[0].kind != GLOB_LITERAL)
		return filter_refuse_host(
			c, path, "a socket is named by its path, not by a pattern");
	r = filter_check(c, g.alternatives[0].literal, g.alternatives[0].literal_len);
	real = filter_real_path(c, &g.alternatives[0]);
	if (r < 0 || !real)
		return r < 0 ? r : -ENOMEM;
	return filter_add_string(
		c, ret, "remote unix-socket (path-literal", real, strlen(real), "))");
}

int seatbelt_filter_host(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret)
{
	struct host_pattern p;
	const char *host = "*";
	auto_buffer text = { 0 };
	int r = host_pattern_parse(&p, c->arena, pattern, c->where, c->error);

	if (r < 0)
		return r;
	if (p.n_url_paths || p.methods)
		return filter_refuse_host(c, pattern, "it sees connections, not HTTP");
	if (p.kind == HOST_SOCKET)
		return filter_socket(c, p.name, ret);
	if (p.kind == HOST_NAME && strcmp(p.name, "localhost") == 0)
		host = "localhost";
	else if (p.kind != HOST_ANY)
		return filter_refuse_host(c, pattern, "it does not support names and addresses");
	if (p.port_lo != p.port_hi && !(p.port_lo == 1 && p.port_hi == 65535))
		return filter_refuse_host(c, pattern, "it does not support port ranges");
	/* `*` never covers this machine itself. */
	if (p.kind == HOST_ANY)
		buffer_adds(&text, "(require-all (require-not (remote ip \"localhost:*\")) ");
	buffer_printf(
		&text, "(remote %s \"%s:", p.transport == TRANSPORT_UDP ? "udp" : "tcp", host);
	if (p.port_lo == p.port_hi)
		buffer_printf(&text, "%u\")", (unsigned)p.port_lo);
	else
		buffer_adds(&text, "*\")");
	if (p.kind == HOST_ANY)
		buffer_addc(&text, ')');
	return filter_add_buffer(c, ret, &text);
}

int seatbelt_filter_listen(
	struct seatbelt_context *c, const char *pattern, struct seatbelt_filters *ret)
{
	char text[64];
	struct listen_entry l;

	if (listen_parse(pattern, &l, NULL, NULL) < 0 || l.host.bits || l.inner != l.port)
		return error_set(c->error, -EOPNOTSUPP, c->where,
			"Seatbelt can listen on single ports only, not on %s", pattern);
	/* Reachable from this machine, as it would be in a network of its own. */
	(void)snprintf(text, sizeof(text), "(local tcp \"localhost:%u\")", l.port);
	return seatbelt_filter_add(c, ret, text);
}

/* --- lists --- */

/* All patterns of one entry at once. An entry of which one pattern matches nothing, matches
 * nothing. */
static int filter_add_meet(struct seatbelt_context *c, seatbelt_filter_fn *one,
	const struct grant *g, struct seatbelt_filters *ret)
{
	auto_buffer text = { 0 };

	buffer_adds(&text, "(require-all");
	for (size_t i = 0; i < g->n; i++) {
		struct seatbelt_filters part = { 0 };
		const char *any;
		int r = one(c, g->all[i], &part);

		if (r < 0)
			return r;
		any = seatbelt_filter_any(c, &part);
		if (!any)
			return part.n ? -ENOMEM : 0;
		buffer_printf(&text, " %s", any);
	}
	buffer_addc(&text, ')');
	return filter_add_buffer(c, ret, &text);
}

int seatbelt_filter_list(struct seatbelt_context *c, seatbelt_filter_fn *one,
	const struct grant_list *list, struct seatbelt_filters *ret)
{
	int r = 0;

	for (size_t i = 0; r >= 0 && i < list->n; i++) {
		const struct grant *g = &list->items[i];

		c->where = &g->where;
		r = g->n == 1 ? one(c, g->all[0], ret) : filter_add_meet(c, one, g, ret);
	}
	return r;
}
