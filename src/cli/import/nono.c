/* SPDX-License-Identifier: Apache-2.0 */
/* Profiles of nono: ~/.config/nono/profiles/NAME.json. Paths and names may be objects with `when`,
 * a condition on the platform. */
#include <string.h>

#include "base/array.h"
#include "cli/import/internal.h"

/* "x", or {"KEY": "x"} without a condition; NULL with a note. */
static const char *nono_text(struct importing *im, const struct node *n, const char *key)
{
	const struct node *text = n->type == NODE_MAP ? node_get(n, key) : n;

	if (n->type == NODE_MAP && node_get(n, "when")) {
		import_note(im, n, "`%s` holds on some systems only; decide, and add it",
			text ? text->text : key);
		return NULL;
	}
	if (!text || text->type != NODE_STRING) {
		import_note(im, n, "%s where a text is expected", node_type_name(n->type));
		return NULL;
	}
	return text->text;
}

static const struct {
	const char *key;
	enum permission_list list;
} nono_lists[] = { { "allow", LIST_FS_WRITE }, { "write", LIST_FS_WRITE },
	{ "allow_file", LIST_FS_WRITE }, { "write_file", LIST_FS_WRITE }, { "read", LIST_FS_READ },
	{ "read_file", LIST_FS_READ } };

static void nono_paths(struct importing *im, const struct node *list, enum permission_list to)
{
	node_for_each(item, list) {
		const char *path = nono_text(im, item, "path");

		if (path)
			import_path(im, to, path, true, item);
	}
}

static void nono_filesystem(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "allow", NULL, NULL },
		{ "write", NULL, NULL },
		{ "read", NULL, NULL },
		{ "allow_file", NULL, NULL },
		{ "write_file", NULL, NULL },
		{ "read_file", NULL, NULL },
		{ "deny", NULL, NULL },
		{ "bypass_protection", NULL,
			"files that Corral protects stay protected; `dangerously_allow` lifts it" },
		{ "suppress_save_prompt", NULL, NULL },
		{ "ignore", NULL, NULL },
	};
	const struct node *denied = node_get(n, "deny");

	import_map(im, n, "filesystem", keys, ROWS(keys));
	for (size_t i = 0; i < ROWS(nono_lists); i++) {
		const struct node *list = node_get(n, nono_lists[i].key);

		if (list)
			nono_paths(im, list, nono_lists[i].list);
	}
	import_choose_profile(im);
	if (!denied)
		return;
	im->denying++;
	node_for_each(item, denied) {
		const char *path = nono_text(im, item, "path");

		if (path)
			import_deny_path(im, OPERATION_FS_READ, path, true, item);
	}
	im->denying--;
}

static void nono_domain(struct importing *im, const struct node *n)
{
	const char *domain = nono_text(im, n, "domain");
	struct node host = *n;

	host.text = domain;
	if (domain)
		import_host(im, LIST_NETWORK_ALLOW, &host);
	if (n->type == NODE_MAP && node_get(n, "endpoints"))
		import_note(im, n,
			"methods and paths of `%s` are not limited: TLS stays end to end",
			domain ? domain : "");
}

static void nono_domains(struct importing *im, const struct node *n)
{
	node_for_each(item, n)
		nono_domain(im, item);
}

static void nono_listen(struct importing *im, const struct node *n)
{
	node_for_each(item, n) {
		struct location where = node_location(&im->source, item);
		int64_t port = 0;

		if (node_integer(item, &port) < 0 || port < 1 || port > 65535)
			import_note(im, item, "a port is a number from 1 to 65535");
		else
			im->no_memory |=
				permissions_add(im->to, &im->to->listen, item->text, &where) < 0;
	}
}

static void nono_ports(struct importing *im, const struct node *n)
{
	node_for_each(item, n) {
		const char *host = node_text(item) ? arena_printf(im->call->arena, "localhost:%s",
							     node_text(item))
						   : NULL;

		if (host)
			import_grant(im, LIST_NETWORK_ALLOW, host, item);
	}
}

static void nono_block(struct importing *im, const struct node *n)
{
	bool is_set = false;

	if (node_boolean(n, &is_set) == 0 && is_set) {
		import_grant(im, LIST_NETWORK_DENY, "*:*", n);
		import_grant(im, LIST_NETWORK_DENY, "udp://*:*", n);
	}
}

static void nono_network(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "block", nono_block, NULL },
		{ "allow_domain", nono_domains, NULL },
		{ "proxy_allow", nono_domains, NULL },
		{ "allow_proxy", nono_domains, NULL },
		{ "listen_port", nono_listen, NULL },
		{ "open_port", nono_ports, NULL },
		{ "port_allow", nono_ports, NULL },
		{ "allow_port", nono_ports, NULL },
		{ "network_profile", NULL,
			"hosts of nono's own lists: name those that are needed" },
		{ "credentials", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "proxy_credentials", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "custom_credentials", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "allow_http2", NULL, NULL },
		{ "tls_intercept", NULL, "TLS stays end to end" },
		{ "upstream_proxy", NULL, "Corral does not connect through a proxy" },
		{ "external_proxy", NULL, "Corral does not connect through a proxy" },
		{ "upstream_bypass", NULL, NULL },
		{ "external_proxy_bypass", NULL, NULL },
	};

	import_map(im, n, "network", keys, ROWS(keys));
}

static void nono_workdir(struct importing *im, const struct node *n)
{
	const char *access = node_get_text(n, "access");

	if (strcmp(access, "readwrite") == 0 || strcmp(access, "write") == 0)
		import_grant(im, LIST_FS_WRITE, "$WORK_DIR/**", n);
	else if (strcmp(access, "none") == 0)
		import_note(im, n,
			"the project can be read; run it in an empty folder if that is not "
			"meant");
}

/* deny_vars takes names out of what allow_vars lets in. */
static void nono_allow_vars(
	struct importing *im, const struct node *allowed, const struct node *denied)
{
	node_for_each(item, allowed) {
		const char *name = nono_text(im, item, "name");

		if (name)
			(void)import_variables(im, name, denied, item);
	}
}

static void nono_set_vars(struct importing *im, const struct node *n)
{
	node_for_each(child, n)
		import_variable(im, child->key, child);
}

static void nono_environment(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "allow_vars", NULL, NULL },
		{ "deny_vars", NULL, NULL },
		{ "set_vars", nono_set_vars, NULL },
	};
	const struct node *allowed;

	if (n->type == NODE_NULL)
		return;
	import_map(im, n, "environment", keys, ROWS(keys));
	allowed = node_get(n, "allow_vars");
	if (allowed)
		nono_allow_vars(im, allowed, node_get(n, "deny_vars"));
}

static void nono_commands(struct importing *im, const struct node *n)
{
	const struct node *denied = node_get(n, "deny");

	im->denying++;
	if (denied)
		node_for_each(item, denied) {
			const char *name = nono_text(im, item, "name");

			if (name)
				import_deny_program(im, name, item);
		}
	im->denying--;
	if (node_get(n, "allow"))
		import_note(im, node_get(n, "allow"), "each program that may be read may run");
}

static void nono_extends(struct importing *im, const struct node *n)
{
	import_note(im, n,
		"what the base profile grants is not taken over; for an agent, "
		"`corral run AGENT` has a preset");
}

static bool nono_matches(const struct node *root)
{
	const struct node *files = node_get(root, "filesystem"), *net = node_get(root, "network");

	return node_get(root, "workdir") || node_get(root, "meta") ||
	       node_get(root, "env_credentials") ||
	       (files && (node_get(files, "allow") || node_get(files, "allow_file") ||
				 node_get(files, "read_file"))) ||
	       (net && (node_get(net, "allow_domain") || node_get(net, "block")));
}

static void nono_take(struct importing *im, const struct node *root)
{
	static const struct import_key keys[] = {
		{ "workdir", nono_workdir, NULL },
		{ "filesystem", NULL, NULL },
		{ "network", nono_network, NULL },
		{ "environment", nono_environment, NULL },
		{ "commands", nono_commands, NULL },
		{ "extends", nono_extends, NULL },
		{ "groups", NULL,
			"nono's groups of paths have other names here; secrets are protected "
			"without them" },
		{ "env_credentials", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "secrets", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "credential_capture", NULL,
			"a command that prints a secret: `corral vault set NAME --from cmd:…`" },
		{ "command_policies", NULL, "sandboxes of single commands are not taken over" },
		{ "session_hooks", NULL, "programs before and after a run are not taken over" },
		{ "hooks", NULL, "hooks are the agent's own matter" },
		{ "open_urls", NULL, "pages are opened by services: {browser: open}" },
		{ "security", NULL, NULL },
		{ "packs", NULL, "nono's packs are not taken over; see `corral run --with`" },
		{ "command_args", NULL, "arguments belong to the command" },
		{ "rollback", NULL, NULL },
		{ "undo", NULL, NULL },
		{ "diagnostics", NULL, NULL },
		{ "linux", NULL, NULL },
		{ "interactive", NULL, NULL },
		{ "allow_gpu", NULL, "a GPU is not granted" },
		{ "allow_launch_services", NULL, NULL },
		{ "unsafe_macos_seatbelt_rules", NULL, NULL },
		{ "meta", NULL, NULL },
		{ "$schema", NULL, NULL },
	};
	const struct node *net = node_get(root, "network"), *files = node_get(root, "filesystem");

	import_map(im, root, "", keys, ROWS(keys));
	import_choose_profile(im);
	if (files)
		nono_filesystem(im, files);
	if (!net || !(node_get(net, "block") || node_get(net, "allow_domain")))
		import_note(im, net ? net : root,
			"nono leaves the network open; Corral does not: add network: {allow: "
			"[HOST:443]}");
}

const struct import_format import_nono = {
	.name = "nono",
	.title = "a profile of nono",
	.places = "~/.config/nono/profiles/NAME.json",
	.matches = nono_matches,
	.take = nono_take,
};
