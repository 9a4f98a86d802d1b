/* SPDX-License-Identifier: Apache-2.0 */
#include "policy/explain.h"

#include <string.h>

#include "base/buffer.h"
#include "base/path.h"
#include "codec/json.h"
#include "policy/glob.h"
#include "policy/host.h"
#include "policy/service.h"

static void visible(struct buffer *out, const char *text)
{
	buffer_add_visible(out, text, strlen(text));
}

static void print_source(const struct source *s, struct buffer *out)
{
	if (s->id)
		buffer_adds(out, "rule ");
	visible(out, s->id ? s->id : s->list);
	buffer_adds(out, s->verdict == VERDICT_DENY  ? " forbids "
			 : s->verdict == VERDICT_ASK ? " asks about "
						     : " grants ");
	for (size_t i = 0; i < s->grant->n; i++) {
		buffer_adds(out, i ? " and " : "");
		visible(out, s->grant->all[i]);
	}
}

static void reason_no_grant(const struct request *r, const struct decision *d, struct buffer *out)
{
	static const char *const lists[OPERATION_COUNT] = {
		[OPERATION_FS_READ] = "fs.read or fs.write",
		[OPERATION_FS_WRITE] = "fs.write",
		[OPERATION_NET_CONNECT] = "network.allow",
		[OPERATION_EXEC] = "exec",
		[OPERATION_ENV] = "env",
		[OPERATION_SERVICE] = "services",
	};

	if (d->layer && d->layer->mode != MODE_ENFORCE && d->verdict == VERDICT_ALLOW)
		buffer_adds(out, "no rule forbids it, and the layer only watches");
	else if (d->layer && d->layer->fallback != VERDICT_DENY)
		buffer_printf(out, "no rule matches, and the default is %s",
			verdict_name(d->layer->fallback));
	else
		buffer_printf(out, "nothing in %s grants it", lists[r->op]);
}

static void reason_baseline(const struct decision *d, struct buffer *out)
{
	buffer_printf(out, "the baseline forbids %s (%s)", d->baseline, d->baseline_why);
}

void explain_reason(const struct request *r, const struct decision *d, struct buffer *out)
{
	switch (d->why) {
	case DECISION_NO_GRANT:
		reason_no_grant(r, d, out);
		break;
	case DECISION_RULE:
		print_source(d->source, out);
		break;
	case DECISION_SERVICE:
		buffer_adds(out, "services grants it");
		break;
	case DECISION_READABLE:
		buffer_adds(out, "there is no exec list, and the file may be read");
		break;
	case DECISION_UNREADABLE:
		buffer_adds(out, "there is no exec list, and the file may not be read");
		break;
	case DECISION_BASELINE:
		reason_baseline(d, out);
		break;
	case DECISION_BAD_TARGET:
		buffer_adds(out, "the target is malformed");
		break;
	case DECISION_NO_LAYER:
		buffer_adds(out, "there is no policy");
		break;
	}
	if (d->monitored)
		buffer_printf(out, "; it would be %s, but the layer only watches",
			d->would == VERDICT_DENY ? "denied" : "asked about");
}

static void print_place(const struct source *s, struct buffer *out)
{
	if (!s->where.file)
		return;
	visible(out, s->where.file);
	if (s->where.line)
		buffer_printf(out, ":%u", s->where.line);
}

void explain_rule(const struct decision *d, struct buffer *out)
{
	if (!d->source)
		return;
	print_place(d->source, out);
	if (d->source->where.file)
		buffer_adds(out, ": ");
	visible(out, d->source->text);
}

/* Lines that would allow something */

static void quote(struct buffer *out, const struct buffer *text)
{
	json_print_string(out, buffer_text(text), text->len);
}

static void path_pattern(const char *target, struct buffer *out)
{
	char path[PATH_BYTES];
	size_t len;

	if (path_normalize(target, strlen(target), path, &len) == 0)
		glob_print_literal(path, len, out);
}

static void line_path(const char *list, const char *target, struct buffer *out)
{
	auto_buffer pattern = { 0 };

	path_pattern(target, &pattern);
	buffer_printf(out, "fs: {%s: [", list);
	quote(out, &pattern);
	buffer_adds(out, "]}");
}

static void line_host(const struct request *r, struct buffer *out)
{
	auto_buffer pattern = { 0 };
	struct host_request h;

	if (host_request_parse(&h, r->target, NULL) < 0)
		return;
	host_request_print(&h, &pattern);
	buffer_adds(out, "network: {allow: [");
	quote(out, &pattern);
	buffer_adds(out, "]}");
}

static void line_exec(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer pattern = { 0 };

	if (d->why == DECISION_UNREADABLE && strchr(r->target, '/')) {
		line_path("read", r->target, out);
		return;
	}
	if (strchr(r->target, '/'))
		path_pattern(r->target, &pattern);
	else
		buffer_adds(&pattern, r->target);
	buffer_adds(out, "exec: [");
	quote(out, &pattern);
	buffer_adds(out, "]");
}

static void line_env(const struct request *r, struct buffer *out)
{
	buffer_adds(out, "env: [");
	json_print_string(out, r->target, strlen(r->target));
	buffer_adds(out, "]");
}

static void line_service(const struct request *r, struct buffer *out)
{
	size_t name = strcspn(r->target, ".:"), access;
	const char *word = r->target[name] == '.' ? r->target + name + 1 : "";

	access = strcspn(word, ":");
	if (!access)
		return;
	buffer_adds(out, "services: {");
	json_print_string(out, r->target, name);
	buffer_printf(out, ": {access: %.*s}}", (int)access, word);
}

static void line_grant(const struct request *r, const struct decision *d, struct buffer *out)
{
	switch (r->op) {
	case OPERATION_FS_READ:
		line_path("read", r->target, out);
		break;
	case OPERATION_FS_WRITE:
		line_path("write", r->target, out);
		break;
	case OPERATION_NET_CONNECT:
		line_host(r, out);
		break;
	case OPERATION_EXEC:
		line_exec(r, d, out);
		break;
	case OPERATION_ENV:
		line_env(r, out);
		break;
	case OPERATION_SERVICE:
		line_service(r, out);
		break;
	}
}

void explain_line(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer pattern = { 0 };

	if (d->verdict == VERDICT_ALLOW || d->why == DECISION_BAD_TARGET)
		return;
	if (d->why == DECISION_BASELINE) {
		if (d->baseline_never)
			return;
		path_pattern(r->target, &pattern);
		buffer_adds(out, "dangerously_allow: [");
		quote(out, &pattern);
		buffer_adds(out, "]");
		return;
	}
	/* A line cannot take back what a rule or a deny list says. */
	if (d->source)
		return;
	line_grant(r, d, out);
}

void explain_remedy(const struct request *r, const struct decision *d, struct buffer *out)
{
	auto_buffer line = { 0 };

	explain_line(r, d, &line);
	if (d->verdict == VERDICT_ALLOW || d->why == DECISION_BAD_TARGET)
		return;
	if (d->why == DECISION_BASELINE && d->baseline_never) {
		buffer_adds(out, "none: the baseline forbids it, whatever is granted");
	} else if (d->why == DECISION_BASELINE) {
		buffer_printf(out, "the baseline forbids it, unless it is granted and named: %s",
			buffer_text(&line));
	} else if (d->source) {
		buffer_adds(out, d->verdict == VERDICT_ASK ? "approve it when asked, or change "
							   : "remove or narrow ");
		explain_rule(d, out);
	} else {
		buffer_printf(out, "add %s", buffer_text(&line));
		if (d->layer && d->layer->origin) {
			buffer_adds(out, " to ");
			visible(out, d->layer->origin);
		}
	}
	if (d->n_deny > 1)
		buffer_printf(out, " (%u layers do not allow it)", d->n_deny);
}
