/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The logins of coding agents are secrets of the baseline: an agent has no business with those of
 * another. Its own it needs. So in an agent mode the file where a well-known agent keeps its login
 * is open to the command of that name.
 */
#include <string.h>
#include <unistd.h>

#include "base/array.h"
#include "cli/run/internal.h"

static const struct {
	const char *program, *login; /* below the home */
} run_agents[] = {
	{ "codex", ".codex/auth.json" },
	{ "codex", ".codex/.credentials.json" },
	{ "gemini", ".gemini/oauth_creds.json" },
	{ "gemini", ".gemini/google_accounts.json" },
	{ "gemini", ".gemini/mcp-oauth-tokens.json" },
	{ "gemini", ".gemini/.env" },
	{ "qwen", ".qwen/oauth_creds.json" },
	{ "iflow", ".iflow/oauth_creds.json" },
	{ "opencode", ".local/share/opencode/auth.json" },
	{ "opencode", ".local/share/opencode/mcp-auth.json" },
	{ "amp", ".local/share/amp/secrets.json" },
	{ "crush", ".local/share/crush/crush.json" },
	{ "goose", ".config/goose/secrets.yaml" },
	{ "kilo", ".local/share/kilo/auth.json" },
	{ "pi", ".pi/agent/auth.json" },
	{ "copilot", ".copilot/config.json" },
	{ "cursor-agent", ".config/cursor/auth.json" },
	{ "droid", ".factory/auth.json" },
	{ "droid", ".factory/auth.encrypted" },
	{ "auggie", ".augment/session.json" },
	{ "cline", ".cline/data/secrets.json" },
	{ "aider", ".aider/oauth-keys.env" },
	{ "llm", ".config/io.datasette.llm/keys.json" },
};

int run_agents_open(struct run *r)
{
	const char *word = r->call->n ? r->call->words[0] : "", *slash = strrchr(word, '/');
	const char *home = r->load.variables.values[VARIABLE_HOME];
	const struct location where = { .file = r->mode->origin };
	int ret = 0;

	if (!home || r->is_shell || r->options.skill)
		return 0;
	word = slash ? slash + 1 : word;
	for (size_t i = 0; ret == 0 && i < ROWS(run_agents); i++) {
		const char *path;

		if (strcmp(run_agents[i].program, word) != 0)
			continue;
		path = arena_printf(r->call->arena, "%s/%s", home, run_agents[i].login);
		if (path && access(path, F_OK) < 0)
			continue;
		path = path ? arena_printf(r->call->arena, "$HOME/%s", run_agents[i].login) : NULL;
		ret = path ? permissions_add(r->mode, &r->mode->dangerously_allow, path, &where)
			   : -1;
	}
	return ret < 0 ? error_no_memory(r->call->error) : 0;
}
