/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Settings of Claude Code (.claude/settings.json): `sandbox`, and the rules of `permissions`. A
 * rule is TOOL or TOOL(WHAT). Rules about files have patterns as .gitignore has them:
 *
 *     //x     the absolute path /x        /x     x in the project
 *     ~/x     below the home              x      x in the working folder, and below if it has no /
 *
 * Rules about commands (Bash) say which of them need no question; inside a sandbox each may run, so
 * only those that deny a whole program are taken over.
 */
#include <string.h>

#include "base/array.h"
#include "cli/import/srt.h"

enum claude_effect { CLAUDE_ALLOW, CLAUDE_ASK, CLAUDE_DENY };

struct claude_rule {
	char tool[32];
	const char *what; /* NULL: the tool as a whole */
	enum claude_effect effect;
	const struct node *from;
};

/* A pattern of .gitignore as one of Corral's; NULL: it has none. */
static const char *claude_pattern(struct importing *im, const char *what)
{
	struct arena *a = im->call->arena;
	size_t n = strlen(what);
	bool is_deep = !memchr(what, '/', n > 0 ? n - 1 : 0);

	if (*what == '!')
		return NULL;
	if (strncmp(what, "//", 2) == 0)
		return what + 1;
	if (*what == '~')
		return what;
	if (strncmp(what, "./", 2) == 0)
		return what;
	if (*what == '/')
		return arena_printf(a, ".%s", what);
	return is_deep ? arena_printf(a, "./**/%s", what) : arena_printf(a, "./%s", what);
}

static void claude_files(struct importing *im, const struct claude_rule *rule, enum operation op)
{
	const char *pattern = rule->what ? claude_pattern(im, rule->what) : NULL;
	bool is_plain = rule->what && !strpbrk(rule->what, "*?[{!");

	/* Without wildcards the project's own file is meant nearly always: the one that exists. */
	if (is_plain && pattern && strncmp(pattern, "./**/", 5) == 0)
		pattern = rule->what;
	if (!rule->what && rule->effect == CLAUDE_DENY)
		return; /* claude_deny_tools() */
	if (!pattern)
		import_note(im, rule->from, "`%s`: %s", rule->from->text,
			rule->what ? "a pattern that takes back others is not taken over"
				   : "a rule for all files has no meaning here: the project is "
				     "granted, and what is listed");
	else if (rule->effect == CLAUDE_DENY)
		import_deny_path(im, op, pattern, false, rule->from);
	else if (rule->effect == CLAUDE_ASK)
		import_note(im, rule->from,
			"`%s`: files are not asked about; what is not granted is "
			"denied",
			rule->from->text);
	else
		import_path(im, op == OPERATION_FS_READ ? LIST_FS_READ : LIST_FS_WRITE, pattern,
			false, rule->from);
}

static void claude_read(struct importing *im, const struct claude_rule *rule)
{
	claude_files(im, rule, OPERATION_FS_READ);
}

static void claude_edit(struct importing *im, const struct claude_rule *rule)
{
	claude_files(im, rule, OPERATION_FS_WRITE);
}

static void claude_fetch(struct importing *im, const struct claude_rule *rule)
{
	static const enum permission_list lists[] = {
		[CLAUDE_ALLOW] = LIST_NETWORK_ALLOW, [CLAUDE_DENY] = LIST_NETWORK_DENY
	};
	const char *host =
		rule->what && strncmp(rule->what, "domain:", 7) == 0 ? rule->what + 7 : NULL;

	if (!rule->what && rule->effect == CLAUDE_DENY)
		return; /* claude_deny_tools() */
	if (!host)
		import_note(im, rule->from, "`%s`: only `WebFetch(domain:HOST)` names a host",
			rule->from->text);
	else if (rule->effect == CLAUDE_ASK)
		import_rule(im, VERDICT_ASK, OPERATION_NET_CONNECT, host, rule->from);
	else
		import_grant(im, lists[rule->effect], host, rule->from);
}

/* "curl:*", "curl *" and "curl" are the whole program; anything else depends on arguments. */
static const char *claude_program(struct importing *im, const char *what)
{
	size_t n = strcspn(what, " :*?");

	if (n == 0 || (what[n] && strcmp(what + n, ":*") != 0 && strcmp(what + n, " *") != 0 &&
			      strcmp(what + n, " :*") != 0))
		return NULL;
	return arena_strndup(im->call->arena, what, n);
}

static void claude_bash(struct importing *im, const struct claude_rule *rule)
{
	const char *program = rule->what ? claude_program(im, rule->what) : NULL;

	if (rule->effect == CLAUDE_DENY && program)
		import_deny_program(im, program, rule->from);
	else if (rule->effect == CLAUDE_DENY)
		import_note(im, rule->from,
			"`%s` is not denied: a sandbox sees programs, not arguments; what the "
			"command may touch is what holds it",
			rule->from->text);
	else
		import_note(im, rule->from,
			"`%s`: which commands need no question is the agent's own matter; inside, "
			"each program may run",
			rule->from->text);
}

static void claude_rule(struct importing *im, const struct node *n, enum claude_effect effect)
{
	static const struct {
		const char *tool;
		void (*take)(struct importing *im, const struct claude_rule *rule);
	} tools[] = { { "Read", claude_read }, { "Grep", claude_read }, { "Glob", claude_read },
		{ "Edit", claude_edit }, { "Write", claude_edit }, { "MultiEdit", claude_edit },
		{ "NotebookEdit", claude_edit }, { "WebFetch", claude_fetch },
		{ "Bash", claude_bash } };
	struct claude_rule rule = { .effect = effect, .from = n };
	size_t name = strcspn(n->text, "("), len = strlen(n->text);

	if (n->text[name] && n->text[len - 1] == ')')
		rule.what = arena_strndup(im->call->arena, n->text + name + 1, len - name - 2);
	for (size_t i = 0; i < ROWS(tools); i++) {
		if (strlen(tools[i].tool) == name && memcmp(tools[i].tool, n->text, name) == 0) {
			tools[i].take(im, &rule);
			return;
		}
	}
	import_note(im, n, "`%s` is about a tool of the agent, not about files or hosts", n->text);
}

static void claude_allow(struct importing *im, const struct node *n)
{
	claude_rule(im, n, CLAUDE_ALLOW);
}

static void claude_ask(struct importing *im, const struct node *n)
{
	claude_rule(im, n, CLAUDE_ASK);
}

static void claude_deny(struct importing *im, const struct node *n)
{
	im->denying++;
	claude_rule(im, n, CLAUDE_DENY);
	im->denying--;
}

static void claude_folder(struct importing *im, const struct node *n)
{
	import_path(im, LIST_FS_WRITE, n->text, true, n);
}

static void claude_folders(struct importing *im, const struct node *n)
{
	import_each(im, n, claude_folder);
}

/* A tool that is denied as a whole takes back all grants of its kind. */
static void claude_deny_tools(struct importing *im, const struct node *denied)
{
	static const struct {
		const char *tool;
		enum permission_list list;
		const char *says;
	} tools[] = { { "Edit", LIST_FS_WRITE, "nothing may be written" },
		{ "Write", LIST_FS_WRITE, "nothing may be written" },
		{ "Read", LIST_FS_READ, "only the project and the system may be read" },
		{ "WebFetch", LIST_NETWORK_ALLOW, "no host may be reached" } };

	node_for_each(item, denied) {
		for (size_t i = 0; i < ROWS(tools); i++) {
			if (!item->text || strcmp(item->text, tools[i].tool) != 0)
				continue;
			permissions_list(im->to, tools[i].list)->n = 0;
			import_note(im, item, "`%s` is denied as a whole: %s", item->text,
				tools[i].says);
		}
	}
	import_choose_profile(im);
}

/* Denials wait until all grants are known. */
static void claude_permissions(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "additionalDirectories", claude_folders, NULL },
		{ "allow", NULL, NULL },
		{ "ask", NULL, NULL },
		{ "deny", NULL, NULL },
		{ "defaultMode", NULL, "how the agent asks is its own matter" },
		{ "disableBypassPermissionsMode", NULL, NULL },
	};
	static const struct {
		const char *key;
		void (*take)(struct importing *im, const struct node *n);
	} lists[] = { { "allow", claude_allow }, { "ask", claude_ask }, { "deny", claude_deny } };

	import_map(im, n, "permissions", keys, ROWS(keys));
	for (size_t i = 0; i < ROWS(lists); i++) {
		const struct node *list = node_get(n, lists[i].key);

		if (list)
			import_each(im, list, lists[i].take);
	}
	if (node_get(n, "deny"))
		claude_deny_tools(im, node_get(n, "deny"));
}

static void claude_excluded(struct importing *im, const struct node *n)
{
	import_note(im, n, "`%s` does not run outside: nothing does", n->text);
}

static void claude_excluded_all(struct importing *im, const struct node *n)
{
	import_each(im, n, claude_excluded);
}

static void claude_enabled(struct importing *im, const struct node *n)
{
	bool is_set = true;

	if (node_boolean(n, &is_set) == 0 && !is_set)
		import_note(im, n, "the sandbox is off in this file; with Corral it is on");
}

static void claude_sandbox(struct importing *im, const struct node *n)
{
	static const struct import_key keys[] = {
		{ "enabled", claude_enabled, NULL },
		{ "network", import_srt_network, NULL },
		{ "filesystem", import_srt_filesystem, NULL },
		{ "excludedCommands", claude_excluded_all, NULL },
		{ "autoAllowBashIfSandboxed", NULL, NULL },
		{ "allowUnsandboxedCommands", NULL, NULL },
		{ "failIfUnavailable", NULL, NULL },
		{ "ignoreViolations", NULL, NULL },
		{ "ripgrep", NULL, NULL },
		{ "credentials", NULL, "secrets are in the vault: `corral vault set NAME`" },
		{ "enableWeakerNestedSandbox", NULL, "a sandbox inside Corral is not weakened" },
		{ "enableWeakerNetworkIsolation", NULL, "the network is not weakened" },
	};

	import_map(im, n, "sandbox", keys, ROWS(keys));
}

static void claude_env(struct importing *im, const struct node *n)
{
	if (n->type != NODE_MAP)
		return;
	node_for_each(child, n)
		import_variable(im, child->key, child);
}

static bool claude_matches(const struct node *root)
{
	const struct node *p = node_get(root, "permissions");

	return node_get(root, "sandbox") ||
	       (p && (node_get(p, "allow") || node_get(p, "deny") || node_get(p, "ask") ||
			     node_get(p, "additionalDirectories")));
}

/* Other keys are the agent's own: models, themes, hooks. One that runs programs is worth a word. */
static void claude_take(struct importing *im, const struct node *root)
{
	static const struct {
		const char *key;
		void (*take)(struct importing *im, const struct node *n);
	} parts[] = { { "sandbox", claude_sandbox }, { "permissions", claude_permissions },
		{ "env", claude_env } };
	const struct node *hooks = node_get(root, "hooks");

	import_grant(im, LIST_FS_WRITE, "$WORK_DIR/**", root);
	import_choose_profile(im);
	import_srt_reads_note(im, root);
	for (size_t i = 0; i < ROWS(parts); i++) {
		const struct node *n = node_get(root, parts[i].key);

		if (n)
			parts[i].take(im, n);
	}
	if (hooks)
		import_note(im, hooks, "hooks run inside, with what the agent is granted");
}

const struct import_format import_claude = {
	.name = "claude",
	.title = "settings of Claude Code",
	.places = "~/.claude/settings.json, .claude/settings.json",
	.matches = claude_matches,
	.take = claude_take,
};
