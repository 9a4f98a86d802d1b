/* SPDX-License-Identifier: Apache-2.0 */
#include <string.h>

#include "mcp/client/client.h"

const struct mcp_client clients[] = {
	{
		.name = "claude",
		.title = "Claude Code",
		.dialect = PLACES_JSON,
		.path = { "mcpServers" },
		.type = "stdio",
		.variables = "env",
		.files = { { "CLAUDE_CONFIG_DIR", ".claude.json", NULL },
			{ "HOME", ".claude.json", NULL } },
		.project = { NULL, ".mcp.json", NULL },
		.note = "new sessions of Claude Code start it; /mcp shows it",
	},
	{
		.name = "codex",
		.title = "Codex",
		.dialect = PLACES_TOML,
		.path = { "mcp_servers" },
		.variables = "env",
		.files = { { "CODEX_HOME", "config.toml", NULL },
			{ "HOME", ".codex/config.toml", NULL } },
		.project = { NULL, ".codex/config.toml", NULL },
		.note = "new sessions of Codex start it; /mcp shows it",
	},
	{
		.name = "vscode",
		.title = "Visual Studio Code",
		.dialect = PLACES_JSONC,
		.path = { "servers" },
		.type = "stdio",
		.variables = "env",
		.files = { { "XDG_CONFIG_HOME", "Code/User/mcp.json", NULL },
			{ "HOME", ".config/Code/User/mcp.json", NULL } },
		.project = { NULL, ".vscode/mcp.json", NULL },
		.note = "`MCP: List Servers` in the command palette starts it",
	},
	{
		.name = "cursor",
		.title = "Cursor",
		.dialect = PLACES_JSONC,
		.path = { "mcpServers" },
		.variables = "env",
		.files = { { "HOME", ".cursor/mcp.json", NULL } },
		.project = { NULL, ".cursor/mcp.json", NULL },
		.note = "Cursor shows it in its settings, under MCP",
	},
	{
		.name = "gemini",
		.title = "Gemini CLI",
		.dialect = PLACES_JSONC,
		.path = { "mcpServers" },
		.variables = "env",
		.files = { { "GEMINI_CLI_HOME", ".gemini/settings.json", NULL },
			{ "HOME", ".gemini/settings.json", NULL } },
		.project = { NULL, ".gemini/settings.json", NULL },
		.note = "new sessions of Gemini CLI start it; /mcp shows it",
	},
	{
		.name = "opencode",
		.title = "OpenCode",
		.dialect = PLACES_JSONC,
		.shape = CLIENT_COMMAND_LIST,
		.path = { "mcp" },
		.deeper = "servers",
		.type = "local",
		.variables = "environment",
		.says_enabled = true,
		.files = { { "XDG_CONFIG_HOME", "opencode/opencode.json",
				   "opencode/opencode.jsonc" },
			{ "HOME", ".config/opencode/opencode.json",
				".config/opencode/opencode.jsonc" } },
		.project = { NULL, "opencode.json", "opencode.jsonc" },
		.note = "new sessions of OpenCode start it",
	},
	{
		.name = "openclaw",
		.title = "OpenClaw",
		.dialect = PLACES_JSON5,
		.path = { "mcp", "servers" },
		.variables = "env",
		.files = { { "OPENCLAW_CONFIG_PATH", "", NULL },
			{ "OPENCLAW_STATE_DIR", "openclaw.json", NULL },
			{ "HOME", ".openclaw/openclaw.json", NULL } },
		.note = "restart the gateway of OpenClaw, which starts it",
	},
	{ .name = NULL },
};

const struct mcp_client *client_find(const char *name)
{
	for (const struct mcp_client *c = clients; c->name; c++)
		if (strcmp(c->name, name) == 0)
			return c;
	return NULL;
}
