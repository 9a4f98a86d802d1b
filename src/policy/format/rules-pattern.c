/* SPDX-License-Identifier: Apache-2.0 */
/*
 * AgenShield's patterns in our spelling. Theirs are globs over the text of a target: `*` is any
 * text without a slash, `**` any text, `?` one character, and nothing else is special.
 *
 * A pattern in a rule that denies or asks becomes patterns that match all that it matches, and
 * maybe more: it is never refused. One in a rule that allows becomes patterns that match no more
 * than it does; where there are none, it is refused, or grants nothing and is reported
 * (RULES_NOTHING). docs/formats.md lists the differences.
 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/ascii.h"
#include "base/buffer.h"
#include "policy/match/command.h"
#include "policy/network/address.h"
#include "policy/network/host.h"
#include "policy/variable.h"

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

static int translation_add_buffer(const struct translation *t, struct buffer *text)
{
	return translation_add(t, text->failed ? NULL : buffer_text(text));
}

/* The same without an error: for a denial there is always a wider pattern to fall back on. */
static int translation_try(const struct translation *t, const char *text)
{
	struct error ignored = { 0 };
	struct field quiet = *t->f;
	struct translation other = *t;

	quiet.error = &ignored;
	other.f = &quiet;
	return translation_add(&other, text);
}

/* Files */

/* Patterns that one denial may become; more are not told apart. */
enum { PATHS_MAX = 32 };

static void path_add_byte(struct buffer *out, char c)
{
	if (strchr("[]{}\\", c))
		buffer_addc(out, '\\');
	buffer_addc(out, c);
}

/* Whether `out` ends where a component begins. */
static bool path_at_start(const struct buffer *out)
{
	return out->len == 0 || out->data[out->len - 1] == '/';
}

/* A denied path while it is written: from `rest` on it is still AgenShield's. */
struct path_denial {
	const struct translation *t;
	unsigned n; /* patterns so far */
};

static int path_deny_from(struct path_denial *d, const char *done, const char *rest);

/* One more pattern that ends here, as it is or with all below. */
static int path_deny_as(struct path_denial *d, const char *out, const char *behind)
{
	const char *text = arena_printf(d->t->p->arena, "%s%s", out, behind);
	int r;

	if (!text || d->n++ > PATHS_MAX)
		return text ? -E2BIG : -ENOMEM;
	r = translation_try(d->t, text);
	return r == -ENOMEM ? r : r < 0 ? -E2BIG : 0;
}

/*
 * `**` beside other bytes is a run with slashes in it or without: two patterns of ours, or one
 * where it covers the other.
 */
static int path_deny_run(struct path_denial *d, struct buffer *out, const char *rest)
{
	bool start = path_at_start(out), end = *rest == '\0' || *rest == '/';
	struct buffer *plain = out;
	int r = 0;

	if (start && end) {
		buffer_adds(out, "**");
	} else if (start) {
		buffer_adds(out, "**/*");
	} else if (end) {
		buffer_adds(out, "*/**");
	} else {
		const char *split = arena_printf(d->t->p->arena, "%s*/**/*", buffer_text(out));

		r = split ? path_deny_from(d, split, rest) : -ENOMEM;
		buffer_addc(plain, '*');
	}
	return r < 0 ? r : path_deny_from(d, buffer_text(out), rest);
}

static int path_deny_from(struct path_denial *d, const char *done, const char *rest)
{
	auto_buffer out = { 0 };
	size_t stars;

	buffer_adds(&out, done);
	for (; *rest; rest += stars) {
		stars = strspn(rest, "*");
		if (out.failed)
			return -ENOMEM;
		if (stars >= 2)
			return path_deny_run(d, &out, rest + stars);
		if (*rest == '?') {
			/* It may be a slash, or a letter of several bytes. */
			int r = path_deny_as(d, buffer_text(&out), "/**");

			if (r < 0)
				return r;
			buffer_addc(&out, '*');
			stars = 1;
		} else if (stars) {
			buffer_addc(&out, '*');
		} else {
			path_add_byte(&out, *rest);
			stars = 1;
		}
	}
	return out.failed ? -ENOMEM : path_deny_as(d, buffer_text(&out), "");
}

/* The folders that come before anything special, with all below them. */
static int path_deny_folder(const struct translation *t, const char *variable, const char *rest)
{
	size_t len = strcspn(rest, "*?");
	const char *climb = strstr(rest, "/..");
	auto_buffer out = { 0 };

	if (climb && (size_t)(climb - rest) < len)
		len = 0;
	while (len > 0 && rest[len - 1] != '/')
		len--;
	buffer_adds(&out, len || !climb ? variable : "");
	for (size_t i = 0; i < len; i++)
		path_add_byte(&out, rest[i]);
	buffer_adds(&out, path_at_start(&out) && out.len ? "**" : "/**");
	if (!out.failed && translation_try(t, buffer_text(&out)) == 0)
		return 0;
	return translation_add(t, "/**");
}

/* Length of the variable that the pattern starts with, and ours for it; 0: none that is known. */
static size_t path_variable(const char *text, const char **ret)
{
	static const char workspace[] = "$WORKSPACE";
	size_t n = sizeof(workspace) - 1;
	const char *rest = text;
	enum variable v;

	*ret = "";
	if (strncmp(text, workspace, n) == 0 && (text[n] == '/' || text[n] == '\0')) {
		*ret = "$WORK_DIR";
		return n;
	}
	if (strchr("~$", text[0]) && variable_split(text, &v, &rest, NULL, NULL) == 1) {
		*ret = text[0] == '~' ? "$HOME" : text;
		return (size_t)(rest - text);
	}
	return 0;
}

/* A relative pattern matches no absolute path; who denies one means it anywhere. */
static int path_deny(const struct translation *t, const char *text)
{
	struct path_denial d = { .t = t };
	size_t len;
	const char *variable;
	int r;

	len = path_variable(text, &variable);
	variable = arena_strndup(t->p->arena, variable, variable == text ? len : strlen(variable));
	if (!variable)
		return field_result(t->f, -ENOMEM);
	text += len;
	if (!len && text[0] == '$')
		text += strcspn(text, "/");
	if (!len && text[0] != '/' && strncmp(text, "**", 2) != 0) {
		while (strncmp(text, "./", 2) == 0 || strncmp(text, "../", 3) == 0)
			text = strchr(text, '/') + 1;
		if (!text[0])
			return RULES_NOTHING;
		variable = "/**/";
	} else if (!len && text[0] == '*') {
		variable = "/";
	}
	r = path_deny_from(&d, variable, text);
	if (r != -E2BIG)
		return field_result(t->f, r);
	/* What was added stays: it denies, too. */
	return path_deny_folder(t, variable, text);
}

static int path_allow(const struct translation *t, const char *text)
{
	auto_buffer out = { 0 };
	const char *variable;
	size_t len = path_variable(text, &variable);

	if (!len && text[0] != '/' && strncmp(text, "**/", 3) != 0 && text[0] != '$')
		return field_fail(t->f, "`%s` does not start with /, ~/, **/ or a variable", text);
	if (!len && text[0] == '$')
		return translation_add(t, text); /* refused, by its name */
	buffer_add(&out, variable, variable == text ? len : strlen(variable));
	for (text += len; *text; text++)
		path_add_byte(&out, *text);
	return translation_add_buffer(t, &out);
}

static int translate_path(const struct translation *t, const char *text)
{
	if (strcmp(text, "**") == 0)
		return translation_add(t, "/**");
	if (t->action == VERDICT_ALLOW)
		return strcmp(text, "*") == 0 ? RULES_NOTHING : path_allow(t, text);
	return strcmp(text, "*") == 0 ? translation_add(t, "/**") : path_deny(t, text);
}

/* Hosts */

/* A URL pattern taken apart. */
struct url_text {
	const char *scheme, *host, *port, *path;
	size_t scheme_len, host_len, port_len; /* no port: 0 */
};

static struct url_text url_take_apart(const char *text)
{
	const char *slashes = strstr(text, "://"), *at, *colon;
	struct url_text u = { .scheme = text };
	size_t len;

	u.scheme_len = slashes ? (size_t)(slashes - text) : 0;
	u.host = slashes ? slashes + 3 : text;
	len = strcspn(u.host, "/");
	u.path = u.host + len;
	at = memrchr(u.host, '@', len);
	if (at) {
		len -= (size_t)(at + 1 - u.host);
		u.host = at + 1;
	}
	u.host_len = len;
	colon = memrchr(u.host, ':', len);
	/* Not one inside of an IPv6 address. */
	if (colon && (memchr(u.host, ':', len) == colon || colon[-1] == ']')) {
		u.host_len = (size_t)(colon - u.host);
		u.port = colon + 1;
		u.port_len = len - u.host_len - 1;
	}
	return u;
}

static bool url_host_is_wild(const struct url_text *u)
{
	size_t n = 0;

	while (n < u->host_len && u->host[n] == '*')
		n++;
	return n > 0 && n == u->host_len;
}

/* Adds one pattern, as a host or as a page to open. */
typedef int host_adder(const struct translation *t, const char *text);

/* Denying: whatever its scheme, its port unless one is named, and by UDP too. */

static int host_deny_everything(const struct translation *t, host_adder *add)
{
	int r = add(t, "*:*");

	return r < 0 ? r : add(t, "udp://*:*");
}

/*
 * A path as a pattern of ours. From the first segment on that cannot be exact, all below is meant;
 * and who denies a page denies what lies below it.
 */
static void host_add_path(struct buffer *out, const char *path)
{
	static const char plain[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				    "0123456789._~*-";
	const char *at = path;

	while (*at) {
		size_t len = strcspn(at + 1, "/");
		bool tree = len == 2 && strncmp(at + 1, "**", 2) == 0;
		const char *twice = strstr(at, "**");

		if (strspn(at + 1, plain) < len || (!tree && twice && twice < at + len))
			break;
		buffer_add(out, at, len + 1);
		at += len + 1;
	}
	buffer_adds(out, *at || !out->len || out->data[out->len - 1] != '*' ? "/**" : "");
}

/* The pages of a site that a path matches; and its connections on which no page is seen. */
static int host_deny_pages(
	const struct translation *t, const char *place, const char *path, host_adder *add)
{
	auto_buffer pages = { 0 }, unseen = { 0 };
	int r;

	buffer_printf(&pages, "http://%s", place);
	host_add_path(&pages, path);
	buffer_printf(&unseen, "http://%s%s", place, HOST_UNSEEN);
	if (pages.failed || unseen.failed)
		return -ENOMEM;
	r = add(t, buffer_text(&pages));
	return r < 0 ? r : add(t, buffer_text(&unseen));
}

static int host_deny_name(
	const struct translation *t, const struct url_text *u, const char *www, host_adder *add)
{
	uint16_t port;
	bool one = u->port_len && host_port_parse(u->port, u->port_len, &port) == 0;
	/* A page to open is known by its domain. */
	bool whole = t->op != OPERATION_NET_CONNECT || u->path[strspn(u->path, "/*")] == '\0';
	const char *text = arena_printf(t->p->arena, "%s%.*s:%.*s", www, (int)u->host_len, u->host,
		one ? (int)u->port_len : 1, one ? u->port : "*");
	const char *udp = text ? arena_printf(t->p->arena, "udp://%s", text) : NULL;
	int r = !udp ? -ENOMEM : whole ? add(t, text) : host_deny_pages(t, text, u->path, add);

	return r < 0 ? r : add(t, udp);
}

/* By its text: a letter may be of several bytes. */
static int host_deny_glob(
	const struct translation *t, const struct url_text *u, const char *www, host_adder *add)
{
	auto_buffer out = { 0 };

	buffer_printf(&out, "glob:%s", www);
	for (size_t i = 0; i < u->host_len; i++)
		buffer_addc(&out, u->host[i] == '?' ? '*' : u->host[i]);
	return out.failed ? -ENOMEM : add(t, buffer_text(&out));
}

/*
 * A path on any host: it holds where Corral speaks HTTP itself, or can read it.
 */
static int host_deny_path(const struct translation *t, const struct url_text *u, host_adder *add)
{
	auto_buffer out = { 0 };

	/* A host of two stars has slashes in it. */
	buffer_adds(&out, u->host_len > 1 ? "http://*:*/**" : "http://*:*");
	host_add_path(&out, u->path);
	return out.failed ? -ENOMEM : add(t, buffer_text(&out));
}

static int host_deny_parts(const struct translation *t, const struct url_text *u, host_adder *add)
{
	bool star = memchr(u->host, '*', u->host_len);
	bool subdomains = u->host_len > 2 && strncmp(u->host, "*.", 2) == 0 &&
			  !memchr(u->host + 2, '*', u->host_len - 2);
	bool by_text = memchr(u->host, '?', u->host_len) || (star && !subdomains);
	int r = by_text ? -EINVAL : host_deny_name(t, u, "", add);

	if (r == -EINVAL) {
		by_text = true;
		r = host_deny_glob(t, u, "", add);
	}
	/* AgenShield takes a site and its www for one. */
	if (r < 0 || star || strncmp(u->host, "www.", 4) == 0)
		return r;
	r = by_text ? host_deny_glob(t, u, "www.", add) : host_deny_name(t, u, "www.", add);
	return r == -EINVAL ? 0 : r;
}

static int host_deny(const struct translation *t, const char *text, host_adder *add)
{
	struct url_text u = url_take_apart(text);
	struct prefix prefix;
	int r;

	if (prefix_parse(text, strlen(text), &prefix) == 0)
		u = (struct url_text){ .host = text, .host_len = strlen(text), .path = "" };
	if (strcmp(text, "*") == 0 || strcmp(text, "**") == 0)
		return host_deny_everything(t, add);
	if (strncmp(text, "unix:", 5) == 0)
		return add(t, text);
	if (!url_host_is_wild(&u))
		r = host_deny_parts(t, &u, add);
	else if (u.path[strspn(u.path, "/*")] == '\0')
		r = host_deny_everything(t, add);
	else
		r = host_deny_path(t, &u, add);
	/* What is no host, no URL has: nothing is lost. */
	return r == -EINVAL ? RULES_NOTHING : r;
}

/* Allowing: by the scheme's port or the one that is named, and no more of a path than is said. */

static int host_allow_as(const struct translation *t, const char *scheme, const struct url_text *u,
	const char *path, host_adder *add)
{
	auto_buffer out = { 0 };

	buffer_printf(&out, "%s://", scheme);
	for (size_t i = 0; i < u->host_len; i++) {
		if (u->host[i] != '*' || i == 0 || u->host[i - 1] != '*')
			buffer_addc(&out, u->host[i]);
	}
	if (u->port)
		buffer_printf(&out, ":%.*s", (int)u->port_len, u->port);
	buffer_adds(&out, path);
	return out.failed ? -ENOMEM : add(t, buffer_text(&out));
}

/* `/{*,}` is one segment or none, `/{,}` none; `/ *` would be the whole host to us. */
static const char *host_allow_path(const struct url_text *u, const char *text)
{
	size_t len = strlen(text);

	if (u->path[strspn(u->path, "/")] == '\0') {
		bool cut = text[len - 1] == '*' && strcmp(text + len - 2, "**") != 0;

		return cut ? "/{,}" : "";
	}
	return strcmp(u->path, "/*") == 0 ? "/{*,}" : u->path;
}

static int host_allow(const struct translation *t, const char *text, host_adder *add)
{
	const struct url_text u = url_take_apart(text);
	bool any = u.scheme_len == 1 && u.scheme[0] == '*';
	const char *path;
	int r;

	if (strcmp(text, "*") == 0)
		return RULES_NOTHING;
	if (!u.host_len || strpbrk(text, "[]{}\\@") ||
		(u.scheme_len && !any && strncmp(text, "http://", 7) != 0 &&
			strncmp(text, "https://", 8) != 0))
		return field_fail(t->f, "`%s` is no host and no URL of http or https", text);
	path = host_allow_path(&u, text);
	if (any || u.scheme_len == 4) {
		r = host_allow_as(t, "http", &u, path, add);
		if (r < 0 || !any)
			return r;
	}
	return host_allow_as(t, "https", &u, path, add);
}

static int translate_hosts(const struct translation *t, const char *text, host_adder *add)
{
	struct error ignored = { 0 };
	struct field quiet = *t->f;
	struct translation denial = *t;
	size_t len;
	int r;

	text += strspn(text, " ");
	len = strlen(text);
	while (len > 1 && strchr("/ ", text[len - 1]))
		len--;
	text = arena_strndup(t->p->arena, text, len);
	if (!text)
		return field_result(t->f, -ENOMEM);
	if (t->action == VERDICT_ALLOW)
		return host_allow(t, text, add);
	/* What one spelling cannot say, the next one does. */
	quiet.error = &ignored;
	denial.f = &quiet;
	r = host_deny(&denial, text, add);
	return r < 0 ? field_result(t->f, r) : r;
}

static int translate_host(const struct translation *t, const char *text)
{
	return translate_hosts(t, text, translation_add);
}

/* Pages to open: the browser is narrowed by domains alone. */

static int page_add(const struct translation *t, const char *text)
{
	struct location where = field_location(t->f);
	struct host_pattern h;
	auto_buffer domain = { 0 };
	bool own_port, all_ports;
	int r = text ? host_pattern_parse(&h, t->p->arena, text, &where, t->f->error) : -ENOMEM;

	if (r < 0)
		return field_result(t->f, r);
	own_port = h.port_lo == h.port_hi && (h.port_lo == 80 || h.port_lo == 443);
	all_ports = h.port_lo == 1 && h.port_hi == UINT16_MAX;
	if (t->action == VERDICT_ALLOW && (h.n_url_paths > 0 || (!own_port && !all_ports)))
		return field_fail(t->f, "`%s`: opening pages can be allowed by domain only", text);
	/* Of a path on any host no domain is to be denied; UDP and sockets are no pages. */
	if (h.n_url_paths > 0 || h.transport != TRANSPORT_TCP)
		return 0;
	if (h.kind == HOST_ANY)
		return translation_add(t, "browser.open");
	if (h.kind == HOST_GLOB)
		return translation_add(
			t, arena_printf(t->p->arena, "browser.open:glob:%s", h.name));
	h.port_lo = 1;
	h.port_hi = UINT16_MAX;
	buffer_adds(&domain, "browser.open:");
	host_pattern_print(&h, &domain);
	return translation_add_buffer(t, &domain);
}

static int translate_page(const struct translation *t, const char *text)
{
	return translate_hosts(t, text, page_add);
}

/* Commands */

static bool text_ends_with(const char *text, size_t len, const char *end)
{
	size_t n = strlen(end);

	return len >= n && memcmp(text + len - n, end, n) == 0;
}

/* The program with any arguments, for a jail, which knows no arguments. */
static int command_deny_program(const struct translation *t, const char *text, size_t len)
{
	auto_buffer out = { 0 };
	int r;

	for (size_t i = 0; i < len; i++) {
		if (strchr("*?[{ ", text[i]))
			return 0;
		if (strchr("\\:]}", text[i]))
			buffer_addc(&out, '\\');
		buffer_addc(&out, text[i]);
	}
	r = out.failed ? -ENOMEM : translation_try(t, buffer_text(&out));
	return r == -EINVAL ? 0 : r;
}

/* A denial is about the text of the command, wherever the program is. */
static int command_deny(const struct translation *t, const char *text, size_t len, bool more)
{
	size_t first = 0, start = 0;
	auto_buffer out = { 0 };
	int r = more ? command_deny_program(t, text, len) : 0;

	while (first < len && text[first] != ' ')
		first++;
	/* A program is known by its name, wherever it is. */
	for (size_t i = 0; i < first && strcspn(text, "*?") >= first; i++)
		start = text[i] == '/' ? i + 1 : start;
	buffer_adds(&out, COMMAND_LINE_PREFIX);
	for (size_t i = start; i < len; i++) {
		if (text[i] != ' ' || i == start || text[i - 1] != ' ')
			buffer_addc(&out, text[i] == '?' ? '*' : text[i]);
	}
	buffer_adds(&out, more ? " *" : "");
	return r < 0 ? r : translation_add_buffer(t, &out);
}

static int command_allow(const struct translation *t, const char *text, size_t len, bool more)
{
	auto_buffer out = { 0 };

	if (memchr(text, '*', len) || strcspn(text, "?[{") < strcspn(text, " ") ||
		(more && text[len] == ' ')) {
		(void)field_fail(t->f,
			"`%s`: an allowed command has no wildcards but `:*` at its end", text);
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
	return translation_add_buffer(t, &out);
}

static int translate_command(const struct translation *t, const char *text)
{
	size_t len = strlen(text);
	bool more;

	if (strcmp(text, "*") == 0 || strcmp(text, "**") == 0)
		return translation_add(t, "/**");
	while (len && text[len - 1] == ' ')
		len--;
	for (; len && *text == ' '; len--)
		text++;
	more = text_ends_with(text, len, ":*") || text_ends_with(text, len, " *");
	if (more)
		len -= 2;
	if (len == 0)
		return field_fail(t->f, "a command pattern needs a program");
	return t->action == VERDICT_ALLOW ? command_allow(t, text, len, more)
					  : command_deny(t, text, len, more);
}

/* Secrets, variables, services */

static int translate_secret(const struct translation *t, const char *text)
{
	static const char letters[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
				      "0123456789_-*?";

	if (strcmp(text, "*") == 0 || strcmp(text, "**") == 0)
		return translation_add(t, "vault");
	if (text[strspn(text, letters)] != '\0')
		return field_fail(t->f, "`%s` is no name of a secret", text);
	return translation_add(t, arena_printf(t->p->arena, "vault:%s", text));
}

/* AgenShield knows neither: its `*` denies them, and allows nothing. */
static int translate_other(const struct translation *t, const char *text)
{
	bool all = strcmp(text, "*") == 0 || strcmp(text, "**") == 0;

	return all && t->action != VERDICT_ALLOW ? translation_add(t, "*") : RULES_NOTHING;
}

const struct manifest_rules_row manifest_rules_kinds[RULES_KIND_COUNT] = {
	[RULES_PATH] = { OPERATION_FS_READ, "path" },
	[RULES_HOST] = { OPERATION_NET_CONNECT, "host" },
	[RULES_COMMAND] = { OPERATION_EXEC, "command" },
	[RULES_PAGE] = { OPERATION_SERVICE, "page" },
	[RULES_SECRET] = { OPERATION_SERVICE, "secret" },
	[RULES_ENV] = { OPERATION_ENV, NULL },
	[RULES_SERVICE] = { OPERATION_SERVICE, NULL },
};

int manifest_rules_pattern(const struct field *f, struct permissions *p, struct grant_list *list,
	enum manifest_rules_kind kind, enum verdict action, const char *text)
{
	static int (*const translate[RULES_KIND_COUNT])(
		const struct translation *t, const char *text) = {
		[RULES_PATH] = translate_path,
		[RULES_HOST] = translate_host,
		[RULES_COMMAND] = translate_command,
		[RULES_PAGE] = translate_page,
		[RULES_SECRET] = translate_secret,
		[RULES_ENV] = translate_other,
		[RULES_SERVICE] = translate_other,
	};
	const struct translation t = { f, p, list, action, manifest_rules_kinds[kind].op };

	return translate[kind](&t, text);
}

int manifest_rules_site(const struct field *f, struct permissions *p, struct grant_list *list,
	enum verdict action, const char *text)
{
	const struct translation t = { f, p, list, action, OPERATION_NET_CONNECT };

	if (action != VERDICT_ALLOW || strcmp(text, "*") == 0)
		return host_deny(&t, text, translation_add);
	if (strchr(text, '*') && (strncmp(text, "*.", 2) != 0 || strchr(text + 2, '*')))
		return RULES_NOTHING;
	return translation_add(&t, text);
}
