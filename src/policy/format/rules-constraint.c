/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Constraints are what AgenShield asks when no rule matched. They can only deny: what passes them
 * is left to `defaultAction`. So they are three rules with the lowest priorities there are, one
 * below the other: what is denied is denied, what is "allowed" gets the default action, and if
 * anything is "allowed", all else is denied. Where the default is to deny, the middle one says
 * nothing, and the last no more than the default, which is the better reason for what a constraint
 * allows; only in mode audit, which blocks what a rule denies and nothing else, it is needed.
 *
 * `deniedHosts: ["*"]` beside allowed hosts is AgenShield's way to write "everything else": it
 * denies what is not allowed, not what is.
 */
#include "policy/format/internal.h"

#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "policy/network/host.h"

/* Hosts times ports: more than this is not a policy. */
enum { PRODUCT_MAX = 4096 };

#define BIT(op) (1U << (op))
#define FS (BIT(OPERATION_FS_READ) | BIT(OPERATION_FS_WRITE))

/* A section while it is read: its lists become rules at its end. */
struct constraint {
	struct manifest *m;
	struct grant_list allowed, denied;
	struct grant_list pages, denied_pages; /* the same hosts, for open_url */
	bool only;                             /* nothing but what is allowed */
	bool everything_denied;
	uint16_t *ports;
	size_t n_ports, cap_ports;
	const struct node *hosts; /* allowedHosts, which are read when the ports are known */
	enum verdict passes;      /* the file's default action: what is said of what is allowed */
	bool is_enforced;         /* the default action blocks, too */
};

/* The default action, which may stand behind the constraints. What is no verdict is refused there.
 */
static enum verdict constraint_default(const struct field *f)
{
	const char *action = node_text(node_get(f->up->node, "defaultAction"));

	return !action                           ? VERDICT_DENY
	       : strcmp(action, "allow") == 0    ? VERDICT_ALLOW
	       : strcmp(action, "approval") == 0 ? VERDICT_ASK
						 : VERDICT_DENY;
}

static struct constraint constraint_begin(const struct field *f, void *into)
{
	const char *mode = node_text(node_get(f->up->node, "mode"));

	return (struct constraint){ .m = into,
		.passes = constraint_default(f),
		.is_enforced = !mode || strcmp(mode, mode_names[MODE_ENFORCE]) == 0 };
}

/* The three rules of a section. */
static int constraint_add_rules(const struct field *f, struct constraint *r, unsigned operations,
	enum manifest_rules_kind kind, const char *denied, const char *allowed)
{
	struct permissions *p = r->m->permissions;
	struct rule rules[] = {
		{ .id = denied, .action = VERDICT_DENY, .priority = RULES_PRIORITY_DENIED },
		{ .id = allowed, .action = r->passes, .priority = RULES_PRIORITY_ALLOWED },
		{ .id = "", .action = VERDICT_DENY, .priority = RULES_PRIORITY_ELSE },
	};
	int ret = 0;

	rules[0].patterns = r->denied;
	rules[1].patterns = r->allowed;
	if ((r->only || r->everything_denied) && !(r->passes == VERDICT_DENY && r->is_enforced))
		ret = manifest_rules_pattern(f, p, &rules[2].patterns, kind, VERDICT_DENY, "**");
	for (size_t i = 0; ret == 0 && i < ROWS(rules); i++) {
		if (rules[i].patterns.n == 0 || (i == 1 && r->passes == VERDICT_DENY))
			continue;
		rules[i].operations = operations;
		rules[i].where = field_location(f);
		rules[i].id = arena_printf(p->arena, "%s%s", f->node->key, rules[i].id);
		ret = rules[i].id ? permissions_add_rule(p, &rules[i]) : -ENOMEM;
	}
	return field_result(f, ret);
}

/* fsConstraints */

/* A folder: itself and all below it, never the paths that only start with the same letters. */
static int read_allowed_path(const struct field *f, void *into)
{
	struct constraint *r = into;
	struct permissions *p = r->m->permissions;
	const char *text = NULL, *pattern;
	size_t len;
	int ret = field_text(f, &text);

	if (ret < 0)
		return ret;
	len = strlen(text);
	if (len >= 2 && strcmp(text + len - 2, "**") == 0)
		len -= 2;
	while (len > 0 && text[len - 1] == '/')
		len--;
	if (text[0] == '\0' || strcspn(text, "*?") < len)
		return field_fail(f, "`%s` must be a folder, without wildcards", text);
	pattern = arena_printf(p->arena, "%.*s/**", (int)len, text);
	if (!pattern)
		return field_result(f, -ENOMEM);
	r->only = true;
	return manifest_rules_pattern(f, p, &r->allowed, RULES_PATH, VERDICT_ALLOW, pattern);
}

static int read_denied_pattern(const struct field *f, void *into)
{
	struct constraint *r = into;
	const char *text = NULL;
	int ret = field_text(f, &text);

	if (ret < 0)
		return ret;
	ret = manifest_rules_pattern(
		f, r->m->permissions, &r->denied, RULES_PATH, VERDICT_DENY, text);
	return ret < 0 ? ret : 0;
}

static const struct field_key fs_keys[] = {
	FIELD_EACH("allowedPaths", read_allowed_path),
	FIELD_EACH("deniedPatterns", read_denied_pattern),
};
static const struct field_table fs_table = FIELD_TABLE(fs_keys);

int manifest_rules_fs_constraints(const struct field *f, void *into)
{
	struct constraint r = constraint_begin(f, into);
	int ret = field_read_map(f, &fs_table, &r);

	return ret < 0 ? ret
		       : constraint_add_rules(
				 f, &r, FS, RULES_PATH, ".deniedPatterns", ".allowedPaths");
}

/* networkConstraints */

static int read_denied_host(const struct field *f, void *into)
{
	struct constraint *r = into;
	const char *text = NULL;
	int ret = field_text(f, &text);

	if (ret < 0)
		return ret;
	if (strcmp(text, "*") == 0) {
		r->everything_denied = true;
		return 0;
	}
	ret = manifest_rules_site(f, r->m->permissions, &r->denied, VERDICT_DENY, text);
	if (ret >= 0)
		ret = manifest_rules_pattern(
			f, r->m->permissions, &r->denied_pages, RULES_PAGE, VERDICT_DENY, text);
	return ret < 0 ? ret : 0;
}

static int constraint_read_port(const struct field *f, void *into)
{
	struct constraint *r = into;
	struct arena *a = r->m->permissions->arena;
	int64_t port = 0;
	int ret = field_integer(f, 1, UINT16_MAX, &port);

	if (ret < 0)
		return ret;
	return field_result(f, ARENA_PUSH(a, r->ports, r->n_ports, r->cap_ports, (uint16_t)port));
}

static int note_hosts(const struct field *f, void *into)
{
	((struct constraint *)into)->hosts = f->node;
	return 0;
}

static const struct field_key network_keys[] = {
	FIELD("allowedHosts", WORDS, note_hosts),
	FIELD_EACH("deniedHosts", read_denied_host),
	FIELD_EACH("allowedPorts", constraint_read_port),
};
static const struct field_table network_table = FIELD_TABLE(network_keys);

/* The patterns that are in `hosts`, on those of the allowed ports that they have. */
static int add_on_ports(const struct field *f, struct constraint *r, const struct grant_list *hosts)
{
	struct location where = field_location(f);
	struct permissions *p = r->m->permissions;
	int ret = 0;

	for (size_t i = 0; ret == 0 && i < hosts->n; i++) {
		struct host_pattern host, one;

		ret = host_pattern_parse(&host, p->arena, hosts->items[i].all[0], &where, f->error);
		for (size_t k = 0; ret == 0 && k < r->n_ports; k++) {
			auto_buffer text = { 0 };

			if (r->ports[k] < host.port_lo || r->ports[k] > host.port_hi)
				continue;
			if (r->allowed.n == PRODUCT_MAX)
				return field_fail(
					f, "hosts times ports are more than %d", PRODUCT_MAX);
			one = host;
			one.port_lo = one.port_hi = r->ports[k];
			host_pattern_print(&one, &text);
			ret = text.failed
				      ? -ENOMEM
				      : permissions_add(p, &r->allowed, buffer_text(&text), &where);
		}
	}
	return field_result(f, ret);
}

static int read_allowed_host(const struct field *f, void *into)
{
	struct constraint *r = into;
	struct grant_list hosts = { 0 };
	const char *text = NULL;
	int ret = field_text(f, &text);

	if (ret < 0)
		return ret;
	r->only = true;
	ret = manifest_rules_site(
		f, r->m->permissions, r->n_ports ? &hosts : &r->allowed, VERDICT_ALLOW, text);
	if (ret == RULES_NOTHING && r->passes != VERDICT_DENY)
		return manifest_note(
			f, r->m, "no host is left to the default action by `%s`", text);
	if (ret == 0 && r->n_ports)
		return add_on_ports(f, r, &hosts);
	/* A page has no port: one of several allowed ones cannot be told from the others. */
	if (ret == 0)
		ret = manifest_rules_pattern(
			f, r->m->permissions, &r->pages, RULES_PAGE, VERDICT_ALLOW, text);
	return ret < 0 ? ret : 0;
}

/*
 * Ports without hosts say only what is not allowed: the other ports. On these ports the file's
 * defaultAction decides, which needs a rule only if it allows.
 */
static int read_allowed_hosts(const struct field *f, struct constraint *r)
{
	struct grant_list everywhere = { 0 };
	int ret = 0;

	if (r->hosts) {
		struct field hosts = field_child(f, r->hosts);

		ret = field_read_list(&hosts, read_allowed_host, r);
	}
	if (ret < 0 || r->only || r->n_ports == 0)
		return ret;
	r->only = true;
	if (r->passes == VERDICT_DENY || r->everything_denied)
		return 0;
	ret = manifest_rules_site(f, r->m->permissions, &everywhere, VERDICT_ALLOW, "*");
	return ret < 0 ? ret : add_on_ports(f, r, &everywhere);
}

int manifest_rules_network_constraints(const struct field *f, void *into)
{
	struct constraint r = constraint_begin(f, into);
	int ret = field_read_map(f, &network_table, &r);

	if (ret == 0)
		ret = read_allowed_hosts(f, &r);
	if (ret == 0)
		ret = constraint_add_rules(f, &r, BIT(OPERATION_NET_CONNECT), RULES_HOST,
			".deniedHosts", ".allowedHosts");
	/* Pages that no entry grants need no denial. */
	if (ret < 0 || r.passes == VERDICT_DENY)
		return ret;
	r.allowed = r.pages;
	r.denied = r.denied_pages;
	return constraint_add_rules(
		f, &r, BIT(OPERATION_SERVICE), RULES_PAGE, ".deniedHosts", ".allowedHosts");
}
