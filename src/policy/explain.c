/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/path.h"
#include "base/utf8.h"
#include "codec/json.h"
#include "policy/match/command.h"
#include "policy/match/glob.h"
#include "policy/match/pattern.h"
#include "policy/match/secret.h"
#include "policy/network/host.h"
#include "policy/format/permissions-text.h"
#include "policy/service-table.h"

static void explain_visible(struct buffer *out, const char *text)
{
	buffer_add_visible(out, text, strlen(text));
}

static void explain_source(const struct source *s, struct buffer *out)
{
	if (s->in->id)
		buffer_adds(out, "rule ");
	explain_visible(out, s->in->id ? s->in->id : s->in->name);
	buffer_adds(out, s->in->verdict == VERDICT_DENY  ? " denies "
			 : s->in->verdict == VERDICT_ASK ? " asks about "
							 : " grants ");
	for (size_t i = 0; i < s->grant->n; i++) {
		buffer_adds(out, i ? " and " : "");
		explain_visible(out, s->grant->all[i]);
	}
}

/* What grants it is for programs that are named; the request is for another one, or for any. */
static bool explain_is_for_programs(const struct request *r, const struct layer *l)
{
	auto_arena scratch = { 0 };
	struct secret_entry wanted, one;
	const char *entry = NULL;

	if (!l || secret_spell(r->op, r->target, &scratch, &entry, NULL, NULL) < 0)
		return false;
	secret_split(entry, &wanted);
	for (size_t i = 0; i < l->sources[r->op].n; i++) {
		const struct grant *g = l->sources[r->op].items[i].grant;

		secret_split(g->all[0], &one);
		if (secret_is_same_place(&wanted, &one) && *one.program)
			return true;
	}
	return false;
}

void explain_reason(const struct request *r, const struct decision *d, struct buffer *out)
{
	static const char *const sentences[] = {
		[DECISION_SERVICE] = "services grants it",
		[DECISION_READABLE] =
			"the policy has no list of programs, and the file may be read",
		[DECISION_UNREADABLE] = "the file may not be read, so it may not be run",
		[DECISION_BAD_TARGET] = "the target is malformed",
		[DECISION_NO_LAYER] = "there is no policy",
	};

	switch (d->why) {
	case DECISION_NO_GRANT:
		/* No default and no mode lets a secret go. */
		if (r->op == OPERATION_SECRET)
			buffer_adds(out, explain_is_for_programs(r, d->layer)
						 ? "secrets grants it to programs that are named"
						 : "nothing in secrets grants it");
		else if (d->layer && d->layer->mode == MODE_AUDIT)
			buffer_adds(out,
				"no rule denies it, and this layer only blocks what a rule denies");
		else if (d->layer && d->layer->fallback != VERDICT_DENY)
			buffer_printf(out, "no rule matches, and the default is %s",
				verdict_name(d->layer->fallback));
		else
			buffer_printf(
				out, "nothing in %s grants it", operation_rows[r->op].granted_in);
		break;
	case DECISION_RULE:
		explain_source(d->source, out);
		break;
	case DECISION_SERVICE:
	case DECISION_READABLE:
	case DECISION_UNREADABLE:
	case DECISION_BAD_TARGET:
	case DECISION_NO_LAYER:
		buffer_adds(out, sentences[d->why]);
		break;
	case DECISION_BASELINE:
		buffer_printf(out, "the baseline denies %s (%s)", d->baseline, d->baseline_why);
		break;
	case DECISION_METHOD:
		buffer_adds(out, "network.methods does not include ");
		explain_visible(out, r->method ? r->method : "it");
		break;
	case DECISION_PRIVATE:
		buffer_adds(out, "nothing in network.private grants it");
		break;
	case DECISION_GUARDED:
		buffer_printf(out, "%s (%s) requires a grant that names it", d->baseline,
			d->baseline_why);
		break;
	}
	if (d->monitored)
		buffer_printf(out, "; it would be %s, but the layer only %s",
			d->would == VERDICT_DENY ? "denied" : "asked about",
			d->layer && d->layer->mode == MODE_AUDIT ? "audits" : "monitors");
}

void explain_rule(const struct decision *d, struct buffer *out)
{
	const struct location *where = d->source ? &d->source->grant->where : NULL;

	if (!where)
		return;
	if (where->file) {
		explain_visible(out, where->file);
		if (where->line)
			buffer_printf(out, ":%u", where->line);
		buffer_adds(out, ": ");
	}
	explain_visible(out, d->source->grant->all[0]);
}

/* Lines that would allow something */

/*
 * Adds a line with one pattern, unless it could not be read back as what it says: names of files
 * may hold bytes that no policy file can.
 */
static void explain_add_line(struct buffer *out, enum operation op, const char *before,
	const struct buffer *pattern, const char *after)
{
	auto_arena scratch = { 0 };
	const char *text = buffer_text(pattern);

	if (pattern->failed || !utf8_valid(text, pattern->len, NULL) ||
		permissions_canonical(op, text, &scratch, NULL, NULL, NULL) < 0)
		return;
	buffer_adds(out, before);
	json_print_string(out, text, pattern->len);
	buffer_adds(out, after);
}

static void explain_path_pattern(const char *target, struct buffer *out)
{
	char path[PATH_BYTES];
	size_t len;

	if (path_normalize(target, strlen(target), path, &len) == 0)
		glob_print_literal(path, len, out);
}

static void explain_path_line(
	const char *before, const char *target, struct buffer *out, const char *after)
{
	auto_buffer pattern = { 0 };

	explain_path_pattern(target, &pattern);
	explain_add_line(out, OPERATION_FS_READ, before, &pattern, after);
}

void explain_line_file(const struct request *r, const struct decision *d, struct buffer *out)
{
	(void)d;
	explain_path_line(r->op == OPERATION_FS_WRITE ? "fs: {write: [" : "fs: {read: [", r->target,
		out, "]}");
}

/* "https://api.example.com/v1/x"; with signs of patterns in it, it is not known as one path. */
static bool explain_url(const struct host_request *h, struct buffer *out)
{
	static const char usual[] = ":443";
	auto_buffer host = { 0 };
	size_t len;

	host_request_print(h, &host);
	len = host.len;
	if (!h->has_url_path || host.failed || strpbrk(h->url_path, "*?[]{},"))
		return false;
	if (len > strlen(usual) && strcmp(host.data + len - strlen(usual), usual) == 0)
		len -= strlen(usual);
	buffer_printf(out, "https://%.*s%s", (int)len, host.data, h->url_path);
	return true;
}

void explain_line_host(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer pattern = { 0 };
	struct host_request h;

	(void)d;
	if (host_request_parse(&h, r->target, NULL) < 0)
		return;
	if (!r->is_opened || !explain_url(&h, &pattern))
		host_request_print(&h, &pattern);
	/* An address, or a name of this machine, is granted as such, whatever leads to it. */
	if (r->to_private && pattern_private(OPERATION_NET_CONNECT, buffer_text(&pattern), NULL,
				     NULL, NULL, NULL) < 0)
		return;
	explain_add_line(out, OPERATION_NET_CONNECT,
		r->to_private ? "network: {private: [" : "network: {allow: [", &pattern, "]}");
}

/* The policy is about the arguments of this program: then a grant of all is too wide. */
static bool explain_is_granted_in_part(const struct request *r, const struct decision *d)
{
	const struct sources *all = d->layer ? &d->layer->sources[OPERATION_EXEC] : NULL;
	const char *slash = strrchr(r->target, '/'), *name = slash ? slash + 1 : r->target;

	for (size_t i = 0; all && i < all->n; i++) {
		const char *text = all->items[i].grant->all[0], *end = text + strcspn(text, " :");
		const char *start = end;

		while (start > text && start[-1] != '/')
			start--;
		if ((size_t)(end - start) == strlen(name) &&
			strncmp(start, name, (size_t)(end - start)) == 0 && *end == ' ')
			return true;
	}
	return false;
}

void explain_line_command(const struct request *r, const struct decision *d, struct buffer *out)
{
	bool is_path = strchr(r->target, '/') != NULL;
	auto_buffer program = { 0 }, pattern = { 0 };
	struct command_pattern command = {
		.program = r->target, .is_name = !is_path, .more = true
	};

	if (d->why == DECISION_UNREADABLE && is_path) {
		explain_path_line("fs: {read: [", r->target, out, "]}");
		return;
	}
	if (is_path) {
		explain_path_pattern(r->target, &program);
		command.program = buffer_text(&program);
	}
	if (r->args && r->n_args > 0 && explain_is_granted_in_part(r, d)) {
		command.args = (const char **)r->args;
		command.n_args = 1;
	}
	command_pattern_print(&command, &pattern);
	explain_add_line(out, OPERATION_EXEC, "exec: [", &pattern, "]");
}

void explain_line_name(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer pattern = { 0 }, before = { 0 };

	(void)d;
	/* There is no way to write a star that is none. */
	if (strcspn(r->target, "*?") < strcspn(r->target, "="))
		return;
	buffer_adds(&pattern, r->target);
	buffer_printf(&before, "%s: [", list_rows[operation_rows[r->op].allow].name);
	explain_add_line(out, r->op, buffer_text(&before), &pattern, "]");
}

void explain_line_service(const struct request *r, const struct decision *d, struct buffer *out)
{
	size_t name = strcspn(r->target, ".:"), access = strcspn(r->target, ":");
	auto_arena scratch = { 0 };
	auto_buffer scope = { 0 };
	const char *pattern = arena_strndup(&scratch, r->target, access);

	const struct service_row *row = service_row_find(r->target, name);
	const char *value = r->target[access] ? r->target + access + 1 : NULL;
	struct service_request asked;
	struct host_request host;
	char normal[PATH_BYTES];

	(void)d;
	if (access <= name || !pattern || !row ||
		permissions_canonical(OPERATION_SERVICE, pattern, &scratch, NULL, NULL, NULL) < 0)
		return;
	/* As narrow as what was asked for, if it can be written: "*" would be a wildcard. */
	if (value && (!row->scopes[0].spell || strpbrk(value, "*?") ||
			     service_request_parse(&asked, r->target) < 0 ||
			     service_value_normal(&asked, normal, &host) < 0))
		value = NULL;
	if (value && asked.host && host.is_address)
		host_request_print(
			&(struct host_request){ .is_address = true, .address = host.address },
			&scope);
	else if (value)
		buffer_adds(&scope, asked.value);
	if (value && row->scopes[0].spell(OPERATION_SERVICE, buffer_text(&scope), &scratch, &value,
			     NULL, NULL) < 0)
		value = NULL;
	buffer_adds(out, "services: {");
	json_print_string(out, pattern, name);
	buffer_printf(out, ": {access: %s", pattern + name + 1);
	if (value) {
		buffer_printf(out, ", %s: [", row->scopes[0].key);
		json_print_string(out, value, strlen(value));
		buffer_addc(out, ']');
	}
	buffer_adds(out, "}}");
}

void explain_line_secret(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_arena scratch = { 0 };
	const char *entry = NULL;
	struct secret_entry s;

	(void)d;
	if (secret_spell(r->op, r->target, &scratch, &entry, NULL, NULL) < 0)
		return;
	secret_split(entry, &s);
	buffer_adds(out, "secrets: {");
	json_print_string(out, s.name, s.name_len);
	buffer_adds(out, ": {hosts: [");
	json_print_string(out, s.host, s.host_len);
	buffer_printf(out, "], in: [%s]", secret_place_names[s.place]);
	if (*s.program) {
		buffer_adds(out, ", programs: [");
		json_print_string(out, s.program, strlen(s.program));
		buffer_addc(out, ']');
	}
	buffer_adds(out, "}}");
}

void explain_line(const struct request *r, const struct decision *d, struct buffer *out)
{
	if (d->verdict == VERDICT_ALLOW || d->why == DECISION_BAD_TARGET)
		return;
	if (d->why == DECISION_BASELINE) {
		if (!d->baseline_never)
			explain_path_line("dangerously_allow: [", r->target, out, "]");
	} else if (d->why == DECISION_METHOD) {
		/* The host is granted; the method is not among those that are listed. */
		if (host_method(r->method))
			buffer_printf(out, "network: {methods: [%s]}", r->method);
	} else if (!d->source) {
		/* No line takes back what a rule or a deny list says. */
		operation_rows[r->op].line(r, d, out);
	}
}

void explain_where(const struct layer *l, const char *line, struct buffer *out)
{
	enum line_place place = l ? l->line_place : LINE_AT_TOP;
	const char *origin = l && place != LINE_NOWHERE ? l->origin : NULL;

	if (place == LINE_IN_OTHER_WORDS && origin) {
		buffer_adds(out, "grant it in ");
		explain_visible(out, origin);
		return;
	}
	buffer_printf(out, "add %s", line);
	if (origin) {
		buffer_adds(out, " to ");
		explain_visible(out, origin);
	}
	if (place == LINE_BELOW_PERMISSIONS)
		buffer_adds(out, ", below permissions:");
}

const char *explain_option(const char *remedy, struct buffer *value, const char **rest)
{
	static const struct {
		const char *begin, *end, *option;
	} rows[] = {
		{ "add fs: {read: [\"", "\"]}", "--read" },
		{ "add fs: {write: [\"", "\"]}", "--write" },
		{ "add exec: [\"", "\"]", "--exec" },
		{ "add network: {allow: [\"", "\"]}", "--net" },
		{ "add network: {private: [\"", "\"]}", "--net-private" },
	};

	for (size_t i = 0; i < ROWS(rows); i++) {
		const size_t begin = strlen(rows[i].begin), end = strlen(rows[i].end);
		const char *pattern = remedy + begin, *quote;

		if (strncmp(remedy, rows[i].begin, begin) != 0)
			continue;
		quote = pattern + strcspn(pattern, "\"\\");
		if (strncmp(quote, rows[i].end, end) != 0 || strncmp(quote + end, " to ", 4) == 0 ||
			strncmp(quote + end, ", below ", 8) == 0)
			return NULL;
		buffer_add(value, pattern, (size_t)(quote - pattern));
		*rest = quote + end;
		return rows[i].option;
	}
	return NULL;
}

void explain_remedy(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer line = { 0 };

	if (d->verdict == VERDICT_ALLOW || d->why == DECISION_BAD_TARGET)
		return;
	explain_line(r, d, &line);
	if (d->why == DECISION_BASELINE && d->baseline_never) {
		buffer_adds(out, "none: the baseline denies it, and no grant overrides that");
	} else if (d->source) {
		buffer_adds(out, d->verdict == VERDICT_ASK ? "allow it in " : "remove or narrow ");
		explain_rule(d, out);
		if (d->verdict == VERDICT_ASK)
			buffer_adds(out, ", or by an answer, where the user can be asked");
	} else if (line.len == 0) {
		buffer_adds(out, "none: it cannot be written in a policy file");
	} else if (d->why == DECISION_BASELINE) {
		buffer_printf(out, "the baseline denies it unless it is granted and listed: %s",
			buffer_text(&line));
	} else {
		explain_where(d->layer, buffer_text(&line), out);
	}
	if (d->n_deny > 1)
		buffer_printf(out, " (%u layers do not allow it)", d->n_deny);
}
