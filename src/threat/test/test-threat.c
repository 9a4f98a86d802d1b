/* SPDX-License-Identifier: Apache-2.0 */
/* The threat tables: what must be in them whatever becomes of the data, and the look-ups. */
#include "test/unit.h"

#include <stdio.h>
#include <string.h>
/* cmocka.h needs those above. */
#include "base/array.h"
#include "policy/baseline.h"
#include "policy/match/glob.h"
#include "threat/threat.h"

static const struct threat *find(const struct threat *rows, size_t n, const char *name)
{
	for (size_t i = 0; i < n; i++) {
		if (strcmp(threat_name(&rows[i]), name) == 0)
			return &rows[i];
	}
	return NULL;
}

/* Files */

static const char *const protected[] = { ".git/hooks", ".git/config", ".git/config.worktree",
	".git/commondir", ".git/modules", ".git/remotes", ".git/branches", ".git/lazygit.yml",
	".lazygit.yml", ".git", ".hg/hgrc", ".hg/hgrc-not-shared", ".hg/sharedpath",
	".sl/sharedpath", ".jj/repo", ".jj/repo/config.toml", ".sl/config", ".husky",
	".pre-commit-config.yaml", ".lefthook.yml", ".lefthook.yaml", ".lefthook.toml",
	".lefthook.json", ".lefthook-local.yml", ".lefthook-local.yaml", ".lefthook-local.toml",
	".lefthook-local.json", "lefthook.yml", "lefthook.yaml", "lefthook.toml", "lefthook.json",
	"lefthook-local.yml", "lefthook-local.yaml", "lefthook-local.toml", "lefthook-local.json",
	".config/lefthook.yml", ".config/lefthook.yaml", ".config/lefthook.toml",
	".config/lefthook.json", ".config/lefthook-local.yml", ".config/lefthook-local.yaml",
	".config/lefthook-local.toml", ".config/lefthook-local.json", ".lefthook",
	".lefthook-local", ".overcommit.yml", "captainhook.json", "grumphp.yml", ".envrc",
	"corral.yaml", ".autoenv", ".autoenv.leave", ".autoenv.zsh", ".autoenv_leave.zsh",
	".mise.toml", ".mise.local.toml", "mise.toml", "mise.local.toml", ".mise/config.toml",
	".mise/config.local.toml", "mise/config.toml", "mise/config.local.toml",
	".config/mise.toml", ".config/mise", ".vscode", ".idea", ".zed", ".fleet", ".helix",
	".devcontainer", ".devcontainer.json", ".vimrc", ".nvimrc", ".lvimrc", ".exrc", ".nvim.lua",
	".lazy.lua", ".neoconf.json", ".ycm_extra_conf.py", ".dir-locals.el", ".dir-locals-2.el",
	".vim", ".Rprofile", ".Renviron", ".gdbinit", ".lldbinit", ".pdbrc", ".irbrc", ".pryrc",
	".ghci", ".ocamlinit", ".iex.exs", ".octaverc", ".perldb", ".claude/settings.json",
	".claude/settings.local.json", ".claude/hooks", ".github/hooks", ".clinerules/hooks",
	".claude/plugins", ".claude/local", ".claude/commands", ".claude/agents", ".claude/skills",
	".claude/output-styles", ".cursor", ".mcp.json", ".gemini", ".qwen", ".codex", ".roo",
	".kilocode", ".windsurf", ".amazonq", ".opencode", ".continue", ".factory", ".trae",
	".kiro/settings", ".kiro/hooks", ".junie/mcp", "opencode.json", "opencode.jsonc",
	".crush.json", "crush.json", ".continuerc.json", ".aider.conf.yml", ".github/workflows",
	".github/actions", ".gitlab-ci.yml", ".gitea/workflows", ".forgejo/workflows",
	".gitea/actions", ".forgejo/actions", ".circleci", ".woodpecker", ".woodpecker.yml",
	".woodpecker.yaml", ".buildkite", ".semaphore", ".teamcity", ".tekton", ".builds",
	".build.yml", "Jenkinsfile", ".azure-pipelines.yml", ".azure-pipelines.yaml",
	"azure-pipelines.yml", "azure-pipelines.yaml", ".azure-pipelines",
	"bitbucket-pipelines.yml", ".drone.yml", ".drone.yaml", ".drone.star", ".drone.jsonnet",
	".travis.yml", ".appveyor.yml", "appveyor.yml", ".cirrus.yml", ".cirrus.star",
	"codemagic.yaml", "cloudbuild.yaml", "cloudbuild.json", "buildspec.yml", ".bashrc",
	".bash_profile", ".bash_login", ".bash_logout", ".profile", ".zshrc", ".zshenv",
	".zprofile", ".zlogin", "_darcs/prefs", ".pijul/config", ".pijul/config.toml",
	".envrc.local", ".envrc.private", ".envrc.user", ".envrc.secrets", ".rtx.toml",
	".rtx.local.toml", "rtx.toml", "rtx.local.toml", ".rtx", ".rvmrc", ".ondirrc",
	".shadowenv.d", ".bash_enter", ".bash_leave", ".theia", ".vs", ".run", ".nova",
	".kateproject", ".vimspector.json", ".externalToolBuilders", ".idx", ".codesandbox",
	".gitpod.yml", ".gitpod.Dockerfile", ".gitpod", ".ona", ".stackblitzrc", ".replit",
	"replit.nix", ".devfile.yml", ".devfile.yaml", "devfile.yml", "devfile.yaml",
	"conductor.json", ".conductor", ".vimrc.local", ".local.vimrc", ".vimlocal", ".nvim",
	".gdbearlyinit", ".jdbrc", ".sbclrc", "jupyter_notebook_config.py",
	"jupyter_notebook_config.json", "jupyter_server_config.py", "jupyter_server_config.json",
	"jupyter_lab_config.py", "jupyter_lab_config.json", "jupyter_console_config.py",
	"jupyter_console_config.json", "jupyter_qtconsole_config.py",
	"jupyter_qtconsole_config.json", "jupyter_nbconvert_config.py",
	"jupyter_nbconvert_config.json", "jupyter_app_config.py", "jupyter_app_config.json",
	"jupyter_config.py", "jupyter_config.json", "ipython_config.py", "ipython_config.json",
	"ipython_kernel_config.py", "ipython_kernel_config.json", ".claude/rules", ".agents/skills",
	".agents/commands", ".agents/rules", ".github/agents", ".github/prompts",
	".github/chatmodes", ".github/instructions", ".github/skills",
	".github/copilot-instructions.md", ".cursorrules", ".windsurfrules", ".roomodes",
	".openhands", ".pi", ".amp", ".augment", ".goose", ".cline", ".copilot", ".codebuddy",
	".crush", ".devin", ".forge", ".grok", ".iflow", ".kimi", ".lingma", ".qodo", ".rovodev",
	".tabnine", ".vibe", ".warp", ".zencoder", ".kiro/agents", ".kiro/steering",
	".aider.model.settings.yml", ".plandex.json", "gptme.toml", ".serena/project.yml" };

/* Neither fewer, which protects less, nor more, which stops work that went on before. */
static void profiles_protect_these(void **state)
{
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < ROWS(protected); i++) {
		const struct threat *t = find(threat_paths, threat_paths_n, protected[i]);

		if (!t || !(t->uses & THREAT_PROTECT))
			fail_msg("%s is not protected", protected[i]);
	}
	for (size_t i = 0; i < threat_paths_n; i++)
		n += (threat_paths[i].uses & THREAT_PROTECT) != 0;
	assert_int_equal(n, ROWS(protected));
}

/* What a profile protects or reports, a policy is warned about; ".git" is a folder there. */
static void lint_knows_what_profiles_know(void **state)
{
	(void)state;
	for (size_t i = 0; i < threat_paths_n; i++) {
		const struct threat *t = &threat_paths[i];

		if (t->uses & (THREAT_PROTECT | THREAT_REPORT) &&
			!(t->uses & (THREAT_LINT | THREAT_FILE)))
			fail_msg("lint does not know %s", threat_name(t));
	}
}

static bool is_for_home(const struct threat *t)
{
	return strstr(threat_what(t), "if this is a home") != NULL;
}

/* Start-up files stand in the baseline as well, which protects those of homes. */
static void baseline_knows_the_same_startup_files(void **state)
{
	struct baseline_home home = baseline_paths_home("/home/me");
	size_t n = 0;

	(void)state;
	for (size_t i = 0; i < threat_paths_n; i++) {
		char path[64];

		if (!is_for_home(&threat_paths[i]))
			continue;
		n++;
		(void)snprintf(path, sizeof(path), "/home/me/%s", threat_name(&threat_paths[i]));
		if (!baseline_paths_match(&home, true, path, strlen(path)))
			fail_msg("the baseline does not know %s", path);
	}
	assert_true(n > 20);
	for (size_t i = 0; i < baseline_n_paths; i++) {
		const struct baseline_path *b = &baseline_paths[i];

		if (strstr(baseline_path_why(b), "logs in or opens a shell") &&
			!strchr(baseline_path_pattern(b) + 2, '/') &&
			!find(threat_paths, threat_paths_n, baseline_path_pattern(b) + 2))
			fail_msg("runs-later.conf does not know %s", baseline_path_pattern(b));
	}
}

/* Programs */

static const struct {
	const char *name;
	unsigned uses; /* all of them */
} programs[] = {
	{ "sh", THREAT_CODE | THREAT_NAMED | THREAT_INTERPRETER | THREAT_STDIN },
	{ "/usr/bin/bash", THREAT_INTERPRETER | THREAT_STDIN },
	{ "busybox", THREAT_INTERPRETER },
	{ "python3.11", THREAT_CODE | THREAT_INTERPRETER | THREAT_STDIN },
	{ "node", THREAT_INTERPRETER | THREAT_STDIN },
	{ "lua5.4", THREAT_INTERPRETER },
	{ "R", THREAT_INTERPRETER },
	{ "awk", THREAT_CODE | THREAT_INTERPRETER },
	{ "find", THREAT_CODE },
	{ "xargs", THREAT_CODE },
	{ "/lib64/ld-linux-x86-64.so.2", THREAT_CODE },
	{ "npm", THREAT_CODE },
	{ "make", THREAT_CODE },
	{ "git", THREAT_CODE | THREAT_NAMED },
	{ "sudo", THREAT_ROOT },
	{ "docker", THREAT_ROOT },
	{ "mount", THREAT_ROOT },
};

static void programs_are_found(void **state)
{
	static const char *const others[] = { "ls", "pythonic", "shell", "/bin/", "", "3",
		"bashful", "/sh/ls" };

	(void)state;
	for (size_t i = 0; i < ROWS(programs); i++) {
		const struct threat *t = threat_program(programs[i].name, programs[i].uses);

		if (!t || (t->uses & programs[i].uses) != programs[i].uses)
			fail_msg("%s", programs[i].name);
	}
	for (size_t i = 0; i < ROWS(others); i++)
		assert_null(threat_program(others[i], ~0u));
	/* What is piped into these is data. */
	assert_null(threat_program("awk", THREAT_STDIN));
	assert_null(threat_program("xargs", THREAT_STDIN));
	assert_null(threat_program("sudo", THREAT_CODE));
}

/* Hosts */

static void hosts_are_found(void **state)
{
	static const char *const drops[] = { "pastebin.com", "x.ngrok.io", "transfer.sh",
		"webhook.site", "a.b.oast.fun", "dns.google", "litterbox.catbox.moe" };

	(void)state;
	for (size_t i = 0; i < ROWS(drops); i++) {
		if (!threat_host(drops[i], THREAT_DROP))
			fail_msg("%s", drops[i]);
	}
	assert_null(threat_host("notpastebin.com", ~0u));
	assert_null(threat_host("com", ~0u));
	assert_null(threat_host("pastebin.com", THREAT_SHARED));
	assert_null(threat_host("gist.github.com", THREAT_SCAN | THREAT_URL));
}

static void public_suffixes(void **state)
{
	static const struct {
		const char *name;
		int is;
	} names[] = {
		{ "com", 1 },
		{ "co.uk", 1 },
		{ "github.io", 1 },
		{ "x.ck", 1 },          /* *.ck */
		{ "xn--55qx5d.cn", 1 }, /* an A-label */
		{ "herokuapp.com", 1 },
		{ "amazonaws.com", 1 }, /* of the table */
		{ "s3.amazonaws.com", 1 },
		{ "ngrok.app", 1 },
		{ "nip.io", 1 },
		{ "id.vn", 1 },
		{ "gov.cz", 1 },
		{ "execute-api.eu-west-1.amazonaws.com", 1 },
		{ "execute-api.eu.west.amazonaws.com", 0 },
		{ "a.execute-api.eu-west-1.amazonaws.com", 0 },
		{ "execute-api.x.amazonaws.co", 0 },
		{ "internal", 0 },
		{ "local", 0 },
		{ "example.com", 0 },
		{ "www.ck", 0 }, /* !www.ck */
		{ "example.co.uk", 0 },
		{ "me.github.io", 0 },
		{ "x.ngrok.app", 0 },
	};

	(void)state;
	for (size_t i = 0; i < ROWS(names); i++) {
		if (threat_is_public_suffix(names[i].name) != names[i].is)
			fail_msg("%s", names[i].name);
	}
}

/* Every row says something, has a use, and is a pattern where it is used as one. */
static void rows_make_sense(void **state)
{
	static const struct {
		const struct threat *rows;
		const size_t *n;
	} tables[] = { { threat_files, &threat_files_n }, { threat_paths, &threat_paths_n },
		{ threat_programs, &threat_programs_n }, { threat_hosts, &threat_hosts_n },
		{ threat_secrets, &threat_secrets_n }, { threat_sockets, &threat_sockets_n } };

	(void)state;
	for (size_t k = 0; k < ROWS(tables); k++) {
		assert_true(*tables[k].n > 0);
		for (size_t i = 0; i < *tables[k].n; i++) {
			assert_true(threat_name(&tables[k].rows[i])[0] &&
				    threat_what(&tables[k].rows[i])[0]);
			assert_true(tables[k].rows[i].uses);
		}
	}
	for (size_t i = 0; i < threat_files_n; i++) {
		auto_arena a = { 0 };
		struct glob g;
		const char *pattern = arena_printf(&a, "/**/%s", threat_name(&threat_files[i]));

		if (threat_files[i].uses & THREAT_LINT)
			assert_int_equal(glob_parse(&g, &a, pattern, NULL, NULL), 0);
	}
}

static void secrets_and_sockets(void **state)
{
	static const char *const secrets[] = { "AWS_*", "*_TOKEN", "GITHUB_TOKEN",
		"SSH_AUTH_SOCK" };

	(void)state;
	for (size_t i = 0; i < ROWS(secrets); i++)
		assert_non_null(find(threat_secrets, threat_secrets_n, secrets[i]));
	assert_string_equal(threat_inside(find(threat_secrets, threat_secrets_n, "ghp_")), "20");
	for (size_t i = 0; i < threat_secrets_n; i++)
		assert_int_equal(threat_inside(&threat_secrets[i]) != NULL,
			(threat_secrets[i].uses & THREAT_VALUE) != 0);
	assert_true(find(threat_sockets, threat_sockets_n, "/**/docker*.sock")->uses & THREAT_ROOT);
	assert_true(
		find(threat_sockets, threat_sockets_n, "/tmp/.X11-unix/**")->uses & THREAT_SESSION);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(profiles_protect_these),
		cmocka_unit_test(lint_knows_what_profiles_know),
		cmocka_unit_test(baseline_knows_the_same_startup_files),
		cmocka_unit_test(programs_are_found),
		cmocka_unit_test(hosts_are_found),
		cmocka_unit_test(public_suffixes),
		cmocka_unit_test(secrets_and_sockets),
		cmocka_unit_test(rows_make_sense),
	};

	return cmocka_run_group_tests_name("threat", tests, NULL, NULL);
}
