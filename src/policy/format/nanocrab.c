/* SPDX-License-Identifier: Apache-2.0 */
/*
 * nanocrab's manifest.yaml: what a WASM skill may call.
 *
 * A capability that is not enabled is read like any other, so that its mistakes are found, but into
 * permissions that are thrown away. Whether it is enabled must be said: a capability that is only
 * described could be meant either way.
 */
#include <errno.h>
#include <string.h>

#include "base/array.h"
#include "base/buffer.h"
#include "base/suggest.h"
#include "policy/network/host.h"
#include "policy/service-table.h"
#include "policy/format/internal.h"

/* http */

/* Where HTTP listens if nothing else is said. */
static const uint16_t http_ports[] = { 80, 443 };

static int read_http_host(const struct field *f, void *into)
{
	struct location where = field_location(f);
	struct permissions *p = into;
	struct host_pattern host = { 0 };
	const char *text = "";
	size_t len;
	int r = field_text(f, &text);

	if (r == 0)
		r = host_pattern_parse(&host, p->arena, text, &where, f->error);
	if (r < 0)
		return field_result(f, r);
	if (host.transport != TRANSPORT_TCP)
		return field_fail(f, "`%s` is not a valid HTTP host", text);
	len = strlen(text);
	if (host.port_lo != 1 || host.port_hi != UINT16_MAX ||
		(len > 2 && strcmp(text + len - 2, ":*") == 0))
		return manifest_grant(f, p, &p->network_allow, OPERATION_NET_CONNECT, text);
	for (size_t i = 0; r == 0 && i < ROWS(http_ports); i++) {
		auto_buffer one = { 0 };

		host.port_lo = host.port_hi = http_ports[i];
		host_pattern_print(&host, &one);
		r = one.failed ? -ENOMEM
			       : permissions_add(p, &p->network_allow, buffer_text(&one), &where);
	}
	return field_result(f, r);
}

/* A host, on any port, or a URL: stronger than what is allowed. */
static int read_denied_host(const struct field *f, void *into)
{
	struct permissions *p = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	return r < 0 ? r : manifest_grant(f, p, &p->network_deny, OPERATION_NET_CONNECT, text);
}

static const struct field_key http_keys[] = {
	FIELD("enabled", OTHER, field_ignore, .is.required = true),
	FIELD_EACH("allowed_hosts", read_http_host),
	FIELD_EACH("denied_hosts", read_denied_host),
	FIELD_STORE(
		"max_request_size", SIZE, FIELD_AT(struct permissions, network.max_request_size)),
	FIELD_STORE("rate_limit", RATE, FIELD_AT(struct permissions, network.rate)),
	FIELD("methods", WORDS, permissions_read_network_methods),
};

/* network_socket */

static int read_socket_host(const struct field *f, void *into)
{
	struct permissions *p = into;
	const char *text = NULL;
	int r = field_text(f, &text);

	if (r < 0)
		return r;
	return manifest_grant(f, p, &p->network_allow, OPERATION_NET_CONNECT, text);
}

/* Sockets without a list would be sockets to anywhere: leaving it out does not mean that. */
static int read_socket_enabled(const struct field *f, void *into)
{
	bool enabled = false;
	int r = field_boolean(f, &enabled);

	(void)into;
	if (r < 0 || !enabled || node_get(f->up->node, "allowed_hosts"))
		return r;
	(void)field_fail(f, "sockets require a list of `allowed_hosts`");
	error_hint(f->error, "write allowed_hosts: [\"*\"] for every public address");
	return -EINVAL;
}

static const struct field_key socket_keys[] = {
	FIELD("enabled", FLAG, read_socket_enabled, .is.required = true),
	FIELD_EACH("allowed_hosts", read_socket_host),
};

/* filesystem */

/* A folder that the guest sees is a folder of the host that is granted. */
static int read_path(const struct field *f, void *into)
{
	struct permissions *p = into;
	int r = permissions_read_guest_path(f, p);
	const struct guest_path *g;
	const char *pattern;

	if (r < 0)
		return r;
	g = &p->guest_paths[p->n_guest_paths - 1];
	pattern = arena_printf(p->arena, "%s%s**", g->host, strcmp(g->host, "/") == 0 ? "" : "/");
	r = pattern ? permissions_add(
			      p, g->writable ? &p->fs_write : &p->fs_read, pattern, &g->where)
		    : -ENOMEM;
	return field_result(f, r);
}

static const struct field_key filesystem_keys[] = {
	FIELD("enabled", OTHER, field_ignore, .is.required = true),
	FIELD_EACH("paths", read_path, .how = "$SKILL_DIR"),
};

/* email, browser: services */

/* A capability is a service, named in `how` as in service_rows. */
static int nanocrab_grant(const struct field *f, void *into)
{
	struct permissions *p = into;
	struct service *s = permissions_service(p, f->how);

	if (!s)
		return field_result(f, -ENOMEM);
	s->access = service_row_find(s->name, strlen(s->name))->access;
	/* Its browser is one of the skill's own; it opens no pages for the user, nor logins. */
	s->access &= ~(unsigned)(SERVICE_OPEN | SERVICE_LOGIN);
	s->where = field_location(f);
	s->where.file = p->origin;
	return 0;
}

static int nanocrab_read_scope(const struct field *f, void *into)
{
	struct service *s = permissions_service(into, f->how);

	if (!s)
		return field_result(f, -ENOMEM);
	return permissions_read_scope(
		f, into, s, &service_row_find(s->name, strlen(s->name))->scopes[0]);
}

static const char email[] = "email", browser[] = "browser";

static const struct field_key email_keys[] = {
	FIELD("enabled", FLAG, nanocrab_grant, .how = email, .is.required = true),
	FIELD("allowed_recipients", WORDS, nanocrab_read_scope, .how = email),
};

static const struct field_key browser_keys[] = {
	FIELD("enabled", FLAG, nanocrab_grant, .how = browser, .is.required = true),
	FIELD("allowed_domains", WORDS, nanocrab_read_scope, .how = browser),
};

/* The table of capabilities */

static const char network_socket[] = "network_socket";

static int read_capability(const struct field *f, void *into)
{
	const struct node *switched = node_get(f->node, "enabled");
	struct manifest *m = into;
	struct permissions *to = m->permissions;
	bool enabled = false;
	int r = 0;

	if (switched) {
		struct field child = field_child(f, switched);

		r = field_boolean(&child, &enabled);
	}
	if (r == 0 && !enabled) {
		to = permissions_new_layer(m->permissions);
		r = to ? 0 : field_result(f, -ENOMEM);
	}
	if (r == 0 && enabled && strcmp(f->node->key, network_socket) == 0)
		m->has_sockets = true;
	return r < 0 ? r : field_read_map(f, f->how, to);
}

#define TABLE(keys) (&(const struct field_table)FIELD_TABLE(keys))

static const struct field_key capability_keys[] = {
	FIELD("http", MAP, read_capability, .how = TABLE(http_keys)),
	FIELD("filesystem", MAP, read_capability, .how = TABLE(filesystem_keys)),
	FIELD("email", MAP, read_capability, .how = TABLE(email_keys)),
	FIELD("browser", MAP, read_capability, .how = TABLE(browser_keys)),
	FIELD(network_socket, MAP, read_capability, .how = TABLE(socket_keys)),
};
static const struct field_table capability_table = FIELD_TABLE(capability_keys);

/* limits, wasm, and the top */

static const struct field_key limit_keys[] = {
	FIELD_STORE(
		"max_memory", SIZE, FIELD_AT(struct permissions, limits.values[LIMIT_WASM_MEMORY])),
	FIELD_STORE("max_execution_time", DURATION,
		FIELD_AT(struct permissions, limits.values[LIMIT_TIMEOUT_MS])),
	FIELD_STORE("max_fuel", NUMBER, FIELD_AT(struct permissions, limits.values[LIMIT_FUEL])),
};
static const struct field_table limit_table = FIELD_TABLE(limit_keys);

static int nanocrab_read_limits(const struct field *f, void *into)
{
	return field_read_map(f, &limit_table, ((struct manifest *)into)->permissions);
}

static const struct field_key wasm_keys[] = {
	FIELD("file", TEXT, manifest_text, .how = MANIFEST_TEXT(wasm_file)),
	FIELD("export", TEXT, manifest_text, .how = MANIFEST_TEXT(wasm_export)),
};
static const struct field_table wasm_table = {
	.keys = wasm_keys,
	.n = ROWS(wasm_keys),
	.other = field_ignore,
};

static field_reader nanocrab_read_other;

static const struct field_key crab_keys[] = {
	FIELD_MAP("capabilities", capability_table),
	FIELD("limits", MAP, nanocrab_read_limits),
	FIELD_MAP("wasm", wasm_table),
	FIELD("name", TEXT, manifest_text, .how = MANIFEST_TEXT(name)),
	FIELD("version", TEXT, manifest_text, .how = MANIFEST_TEXT(version)),
	FIELD("description", TEXT, manifest_text, .how = MANIFEST_TEXT(description)),
	FIELD("author", TEXT, manifest_text_or_keep, .how = MANIFEST_TEXT(author)),
	FIELD("signature", OTHER, manifest_refuse_signature),
};
const struct field_table manifest_nanocrab_table = {
	.keys = crab_keys,
	.n = ROWS(crab_keys),
	.other = nanocrab_read_other,
};

/* What only looks like a key that grants or limits must not pass for one that means nothing. */
static int nanocrab_read_other(const struct field *f, void *into)
{
	static const char *const guarded[] = { "capabilities", "limits", "permissions" };

	if (suggest(f->node->key, guarded, ROWS(guarded)))
		return field_unknown(f, &manifest_nanocrab_table);
	return manifest_keep(f, into);
}
