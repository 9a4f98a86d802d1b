/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AgenShield's patterns in our spelling.
 *
 * Where the two do not say the same, the difference may only make things stricter: a pattern that
 * has no exact counterpart is widened in a rule that denies or asks, and refused in one that
 * allows. Nothing is ever dropped. (A scope that AgenShield would check by a prefix of the text
 * becomes a folder, and commands are compared by whole words.)
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/network/host.h"
#include "policy/format/internal.h"

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

const struct rules_kind rules_kinds[RULES_KIND_COUNT] = {
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
	const struct rules_kind *row = &rules_kinds[kind];
	const struct translation t = {
		.f = f, .p = p, .list = list, .action = action, .op = row->op
	};
	int r = 0;

	if (strcmp(text, "*") != 0 && strcmp(text, "**") != 0)
		return row->translate(&t, text);
	for (size_t i = 0; r == 0 && i < ROWS(row->everything) && row->everything[i]; i++)
		r = translation_add(&t, row->everything[i]);
	return r;
}
