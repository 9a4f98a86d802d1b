/* SPDX-License-Identifier: Apache-2.0 */
/* Codex' config.toml: sandbox_mode with sandbox_workspace_write, permission profiles, and the
 * environment of commands. */
#include <string.h>

#include "base/array.h"
#include "cli/import/internal.h"

static void codex_root(struct importing *im, const struct node *n)
{
	import_path(im, LIST_FS_WRITE, n->text, true, n);
}

static void codex_roots(struct importing *im, const struct node *n)
{
	import_each(im, n, codex_root);
}

static void codex_network(struct importing *im, const struct node *n)
{
	bool is_set = false;

	if (node_boolean(n, &is_set) < 0 || is_set)
		import_note(im, n,
			"the whole network is not granted: name the hosts that are needed, "
			"or add network: {allow: [\"*:443\"]}");
}

static void codex_workspace_write(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "writable_roots", codex_roots, NULL },
		{ "network_access", codex_network, NULL },
		{ "exclude_slash_tmp", NULL, NULL },
		{ "exclude_tmpdir_env_var", NULL, NULL },
	};

	import_map(im, n, "sandbox_workspace_write", keys, ROWS(keys));
}

/* Paths of a profile: absolute, or names of Codex' own. */
static const char *codex_path(const char *path)
{
	static const struct {
		const char *codex, *path;
	} special[] = { { ":workspace_roots", "." }, { ":project_roots", "." }, { ":cwd", "." } };

	for (size_t i = 0; i < ROWS(special); i++) {
		if (strcmp(path, special[i].codex) == 0)
			return special[i].path;
	}
	return path;
}

static void codex_deny_file(struct importing *im, const char *path, const struct node *n)
{
	const char *access = n->text ? n->text : "";

	if (strcmp(access, "deny") == 0 || strcmp(access, "none") == 0)
		import_deny_path(im, OPERATION_FS_READ, path, false, n);
	else if (strcmp(access, "read") == 0)
		/* Below a folder that may be written, too. */
		import_deny_path(im, OPERATION_FS_WRITE, path, false, n);
}

/* One entry: PATH = "read", "write" or "deny". Grants first, denials in a second pass. */
static void codex_file(struct importing *im, const char *path, const struct node *n, bool is_denial)
{
	const char *access = n->text ? n->text : "";

	path = codex_path(path);
	if (is_denial && *path != ':')
		codex_deny_file(im, path, n);
	if (is_denial)
		return;
	if (*path == ':')
		import_note(im, n, "`%s` (%s): %s", path, access,
			strcmp(path, ":root") == 0
				? "reading is not open; `corral run --explain` names what is needed"
				: "the sandbox has a /tmp and system folders of its own");
	else if (strcmp(access, "read") == 0 || strcmp(access, "write") == 0)
		import_path(im, *access == 'w' ? LIST_FS_WRITE : LIST_FS_READ, path, false, n);
	else if (strcmp(access, "deny") != 0 && strcmp(access, "none") != 0)
		import_note(im, n, "`%s`: `%s` is not read, write or deny", path, access);
}

static void codex_files_pass(struct importing *im, const struct node *n, bool is_denial)
{
	node_for_each(child, n) {
		if (strcmp(child->key, "glob_scan_max_depth") == 0)
			continue;
		if (child->type != NODE_MAP) {
			codex_file(im, child->key, child, is_denial);
			continue;
		}
		node_for_each(below, child) {
			const char *path = strcmp(below->key, ".") == 0
						   ? codex_path(child->key)
						   : arena_printf(im->call->arena, "%s/%s",
							     codex_path(child->key), below->key);

			if (path)
				codex_file(im, path, below, is_denial);
			im->no_memory |= !path;
		}
	}
}

static void codex_filesystem(struct importing *im, const struct node *n)
{
	if (n->type != NODE_MAP)
		return;
	codex_files_pass(im, n, false);
	import_choose_profile(im);
	codex_files_pass(im, n, true);
}

static void codex_domains(struct importing *im, const struct node *n)
{
	node_for_each(child, n) {
		struct node host = *child;

		host.text = child->key;
		if (child->text && strcmp(child->text, "allow") == 0)
			import_host(im, LIST_NETWORK_ALLOW, &host);
		else
			import_host(im, LIST_NETWORK_DENY, &host);
	}
}

static void codex_profile_network(struct importing *im, const struct node *n)
{
	const struct node *enabled = n->type == NODE_MAP ? node_get(n, "enabled") : NULL;
	bool is_on = true;
	static const struct import_key keys[] = {
		{ "domains", codex_domains, NULL },
		{ "enabled", NULL, NULL },
		{ "mode", NULL, "which methods a host may see is not limited" },
		{ "unix_sockets", NULL,
			"a program behind a socket acts with your rights; add network: {allow: "
			"[\"unix:PATH\"]} if that is meant" },
		{ "dangerously_allow_all_unix_sockets", NULL,
			"all Unix sockets cannot be granted" },
		{ "allow_local_binding", NULL, "ports can always be opened inside" },
		{ "mitm", NULL, "TLS stays end to end; secrets are in the vault" },
		{ "proxy_url", NULL, "Corral needs no proxy inside" },
		{ "socks_url", NULL, "Corral needs no proxy inside" },
		{ "enable_socks5", NULL, NULL },
		{ "enable_socks5_udp", NULL, NULL },
		{ "allow_upstream_proxy", NULL, NULL },
		{ "dangerously_allow_non_loopback_proxy", NULL, NULL },
	};

	if (enabled && (node_boolean(enabled, &is_on) < 0 || !is_on))
		import_note(im, enabled, "the network is off in this profile: no host is granted");
	else
		import_map(im, n, "network", keys, ROWS(keys));
}

static void codex_extends(struct importing *im, const struct node *n)
{
	if (n->text && strcmp(n->text, ":workspace") == 0)
		import_grant(im, LIST_FS_WRITE, "$WORK_DIR/**", n);
	else if (n->text && strcmp(n->text, ":read-only") != 0)
		import_note(im, n, "what `%s` grants is not taken over: import it, too", n->text);
}

/* Whether a profile's own files take writing the project away from what it extends. */
static bool codex_narrows_project(const struct node *files)
{
	if (!files || files->type != NODE_MAP)
		return false;
	node_for_each(child, files) {
		const struct node *n = child->type == NODE_MAP ? node_get(child, ".") : child;

		if (strcmp(codex_path(child->key), ".") == 0 && n &&
			(!n->text || strcmp(n->text, "write") != 0))
			return true;
	}
	return false;
}

/* What it extends comes first: denials are about all that is granted. */
static void codex_permission_profile(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "description", NULL, NULL },
		{ "extends", NULL, NULL },
		{ "filesystem", codex_filesystem, NULL },
		{ "network", codex_profile_network, NULL },
		{ "workspace_roots", NULL, "further roots: add fs: {write: [FOLDER]}" },
	};

	const struct node *extends = n->type == NODE_MAP ? node_get(n, "extends") : NULL;

	if (extends && !codex_narrows_project(node_get(n, "filesystem")))
		codex_extends(im, extends);
	import_map(im, n, "permissions", keys, ROWS(keys));
}

/* Which variables Codex passes on before include_only chooses among them. */
static bool codex_inherits(const char *inherit, const char *name)
{
	static const char *const core[] = { "HOME", "LOGNAME", "PATH", "SHELL", "USER", "USERNAME",
		"TMPDIR", "TEMP", "TMP" };
	bool is_core = false;

	for (size_t i = 0; i < ROWS(core); i++)
		is_core |= strcmp(core[i], name) == 0;
	return !*inherit || strcmp(inherit, "all") == 0 ||
	       (is_core && strcmp(inherit, "core") == 0);
}

/* Names that are excluded unless ignore_default_excludes is set: Codex' own, and two more. */
static const char *const codex_secrets[] = { "*KEY*", "*SECRET*", "*TOKEN*", "*PASSWORD*",
	"*CREDENTIAL*", "*key*", "*secret*", "*token*", "*password*", "*credential*" };

static bool codex_is_secret(const char *name)
{
	bool is_secret = false;

	for (size_t i = 0; !strpbrk(name, "*?") && i < ROWS(codex_secrets); i++)
		is_secret |= import_patterns_meet(codex_secrets[i], name);
	return is_secret;
}

static void codex_include_one(
	struct importing *im, const struct node *env, bool excludes, const struct node *item)
{
	const char *name = item->text;

	if (!codex_inherits(node_get_text(env, "inherit"), name))
		import_note(im, item, "`%s` is not passed on: `inherit` leaves it out", name);
	else if (excludes && codex_is_secret(name))
		import_note(im, item,
			"`%s` is not passed on: by its name it is a secret, and "
			"ignore_default_excludes is not set; add env: [%s] if that is meant",
			name, name);
	else if (import_variables(im, name, node_get(env, "exclude"), item) && excludes &&
		 strpbrk(name, "*?")) {
		for (size_t i = 0; i < ROWS(codex_secrets); i++)
			import_rule(im, VERDICT_DENY, OPERATION_ENV, codex_secrets[i], item);
	}
}

static void codex_include(struct importing *im, const struct node *env)
{
	const struct node *list = node_get(env, "include_only");
	const struct node *ignore = node_get(env, "ignore_default_excludes");
	bool is_set = false;

	if (list && list->type != NODE_LIST)
		import_note(
			im, list, "`include_only` is %s, not a list", node_type_name(list->type));
	/* `filters` may exclude anything, and has its note. */
	if (!list || list->type != NODE_LIST || node_get(env, "filters"))
		return;
	if (ignore)
		(void)node_boolean(ignore, &is_set);
	node_for_each(item, list) {
		if (item->type == NODE_STRING)
			codex_include_one(im, env, !is_set, item);
		else
			import_note(
				im, item, "%s where text is expected", node_type_name(item->type));
	}
}

static void codex_set(struct importing *im, const struct node *n)
{
	node_for_each(child, n)
		import_variable(im, child->key, child);
}

static void codex_inherit(struct importing *im, const struct node *n)
{
	if (n->text && strcmp(n->text, "all") == 0)
		import_note(im, n,
			"not all variables are passed on: add env: [NAME] for those that "
			"are needed");
}

static void codex_environment(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "inherit", codex_inherit, NULL },
		{ "include_only", NULL, NULL },
		{ "set", codex_set, NULL },
		{ "exclude", NULL, NULL },
		{ "filters", NULL, "name variables with env: [NAME]" },
		{ "ignore_default_excludes", NULL, NULL },
		{ "experimental_use_profile", NULL, NULL },
	};

	import_map(im, n, "shell_environment_policy", keys, ROWS(keys));
	if (n->type == NODE_MAP)
		codex_include(im, n);
}

/* The value of a key, in the profile that is used or at the top. */
static const struct node *codex_get(
	const struct node *root, const struct node *profile, const char *key)
{
	const struct node *n = profile ? node_get(profile, key) : NULL;

	return n ? n : node_get(root, key);
}

static const struct node *codex_profile(struct importing *im, const struct node *root)
{
	const char *name = im->profile ? im->profile : node_get_text(root, "profile");
	const struct node *all = node_get(root, "profiles");
	const struct node *n = all && *name ? node_get(all, name) : NULL;

	if (*name && !n)
		import_note(im, root, "there is no profile `%s`", name);
	return n;
}

static bool codex_has_profile(const struct node *root, const char *name)
{
	const struct node *all = node_get(root, "profiles");

	return all && node_get(all, name);
}

static void codex_mode(struct importing *im, const struct node *n)
{
	const char *mode = n->text ? n->text : "";

	if (strcmp(mode, "workspace-write") == 0)
		import_grant(im, LIST_FS_WRITE, "$WORK_DIR/**", n);
	else if (strcmp(mode, "danger-full-access") == 0)
		import_note(im, n, "full access is not taken over: the project may be read");
	else if (strcmp(mode, "read-only") != 0)
		import_note(im, n, "`%s` is not a sandbox_mode that is known", mode);
}

static bool codex_matches(const struct node *root)
{
	static const char *const keys[] = { "sandbox_mode", "sandbox_workspace_write",
		"default_permissions", "shell_environment_policy", "approval_policy", "mcp_servers",
		"model_provider", "model" };

	for (size_t i = 0; i < ROWS(keys); i++) {
		if (node_get(root, keys[i]))
			return true;
	}
	return false;
}

/* A permission profile by its name: one of Codex' own, or of the file. */
static void codex_permissions(
	struct importing *im, const struct node *root, const struct node *name)
{
	const struct node *all = node_get(root, "permissions");
	const struct node *n = name->text && all ? node_get(all, name->text) : NULL;

	if (n)
		codex_permission_profile(im, n);
	else if (name->text && *name->text == ':')
		codex_extends(im, name);
	else
		import_note(im, name, "there are no permissions `%s`", node_text(name));
}

static void codex_take(struct importing *im, const struct node *root)
{
	const struct node *profile = codex_profile(im, root);
	const struct node *name = codex_get(root, profile, "default_permissions");
	const struct node *mode = codex_get(root, profile, "sandbox_mode");
	const struct node *write = codex_get(root, profile, "sandbox_workspace_write");
	const struct node *env = codex_get(root, profile, "shell_environment_policy");

	import_note(im, root,
		"reading is not open: commands see the project, the system's programs "
		"and what fs.read grants");
	if (name)
		codex_permissions(im, root, name);
	else if (mode)
		codex_mode(im, mode);
	if (write && name)
		import_note(im, write,
			"`sandbox_workspace_write` does not count beside default_permissions");
	else if (write && im->to->fs_write.n)
		codex_workspace_write(im, write);
	if (env)
		codex_environment(im, env);
	import_choose_profile(im);
	if (node_get(root, "mcp_servers"))
		import_note(im, node_get(root, "mcp_servers"),
			"MCP servers run inside, with what the agent is granted");
}

const struct import_format import_codex = {
	.name = "codex",
	.title = "Codex' config.toml",
	.places = "~/.codex/config.toml",
	.is_toml = true,
	.matches = codex_matches,
	.take = codex_take,
	.has_profile = codex_has_profile,
};
