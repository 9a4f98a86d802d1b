/* SPDX-License-Identifier: Apache-2.0 */
/* `corral mcp`: servers of the Model Context Protocol. */
#include <stdint.h>

#include "cli/mcp/verbs.h"
#include "cli/verb.h"

static const struct verb verb_mcp_wrap = {
	.name = "wrap",
	.synopsis = "[OPTION]... -- SERVER [ARG]...",
	.summary = "run an MCP server in a sandbox, unchanged for its client",
	.description =
		"Runs SERVER, an MCP server on standard input and output, as `corral run` does, "
		"with the same options: by default it may write the current folder and read the "
		"system, and has no network. Messages pass both ways as they are. Where a call of "
		"a tool fails, and the sandbox denied something meanwhile, its answer also says "
		"what, and which option would allow it.\n"
		"Lines that are no JSON, or longer than 16 MiB, are dropped. Exit status: that of "
		"`corral run`.",
	.examples = "corral mcp wrap -- mcp-server-git --repository .\n"
		    "corral mcp wrap --read ~/notes -- mcp-server-filesystem ~/notes\n"
		    "corral mcp wrap --net api.example.com:443 --env API_KEY -- ./server.py\n",
	.operand = "SERVER",
	.min = 0,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = mcp_wrap_main,
};

static const struct verb verb_mcp_remote = {
	.name = "remote",
	.synopsis = "[OPTION]... URL [--secret NAME] [--header 'NAME: VALUE']...",
	.summary = "use an MCP server over HTTP from a client on standard input and output",
	.description =
		"Connects to the MCP server at URL (streamable HTTP), for a client that starts "
		"this command. What speaks to the server is a program in a sandbox, which reaches "
		"that host and port and no other, has no files and, with --secret, only a "
		"placeholder: the value of the vault is put into its requests outside "
		"(Authorization: Bearer). Behind URL, --header adds a header that is no secret.\n"
		"URL is https://, or http:// on this machine; it has no name, password or token "
		"in it. The options are those of `corral run`; of a host with a private address, "
		"--net-private NAME:PORT.",
	.examples = "corral mcp remote https://mcp.example.com/mcp\n"
		    "corral mcp remote https://api.example.com/mcp --secret API_TOKEN\n"
		    "corral mcp remote http://localhost:3001/mcp\n",
	.operand = "URL",
	.min = 1,
	.max = SIZE_MAX,
	.is_prefix = true,
	.run = mcp_remote_main,
};

static const struct verb verb_mcp_serve = {
	.name = "serve",
	.synopsis = "[OPTION]...",
	.summary = "offer commands and files to an MCP client, under a policy",
	.description =
		"An MCP server on standard input and output, for a client to start, or over HTTP. "
		"Its tools run "
		"commands and read, write, edit and list files in a sandbox, make HTTP requests, "
		"and say what is allowed and why something was denied. They have the permissions "
		"that `corral run` "
		"would give a command with the same options: by default the profile workspace. "
		"What a client says widens nothing; with --client-answers its user is asked, each "
		"time for one call.\n"
		"With --http it serves clients on a port of this machine, which show a token; each "
		"has sandboxes of its own.\n"
		"Of the options below, those that only a run enforces are refused: --ceiling, "
		"--skill, --mode, --listen, --secret, --with, --undo, --broker, --json "
		"and others.",
	.examples = "corral mcp serve\n"
		    "corral mcp serve --profile readonly --read ~/datasets\n"
		    "corral mcp serve --policy policy.yaml --ask-denied\n"
		    "corral mcp serve --ask-denied --client-answers\n"
		    "corral mcp serve --http 8808 --token-file ~/.config/corral/mcp.token\n",
	.operand = "CMD",
	.min = 0,
	.max = 0,
	.run = mcp_serve_main,
};

static const struct verb verb_mcp_install = {
	.name = "install",
	.synopsis = "CLIENT [OPTION]... [-- SERVE-OPTION...]",
	.summary = "put `corral mcp serve` into the configuration of a client",
	.description =
		"CLIENT is claude, codex, vscode, cursor, gemini, opencode or openclaw. Its file "
		"of "
		"servers gets one more, `corral`, which runs `corral mcp serve` with the options "
		"behind --; without any it has the profile workspace. With --wrap-existing the "
		"servers that are there run by `corral mcp wrap`; each is shown before and after. "
		"Servers over HTTP are left. All else in the file stays byte for byte, and "
		"`corral mcp uninstall` restores it.\n"
		"Wrapped servers may write the folder in which they are started, and have no "
		"network; variables that the file sets for them are passed. Give what they need "
		"by --wrap-option, or in the file afterwards. A server of another make with that "
		"name "
		"is an error. Nothing is written if the file is not as its client reads it, or is "
		"changed meanwhile.",
	.examples = "corral mcp install claude --print\n"
		    "corral mcp install codex -- --profile readonly\n"
		    "corral mcp install vscode --project --wrap-existing\n"
		    "corral mcp install gemini --wrap-existing --wrap-option=--with=npm\n",
	.operand = "CLIENT",
	.offer = mcp_offer_clients,
	.min = 1,
	.max = SIZE_MAX,
	.run = mcp_install_main,
};

static const struct verb verb_mcp_uninstall = {
	.name = "uninstall",
	.synopsis = "CLIENT [OPTION]...",
	.summary = "restore the configuration of a client",
	.description =
		"If the file is as `corral mcp install` left it, it becomes what it was before, "
		"byte "
		"for byte; a file that came with the install is removed. If it was changed since, "
		"our server is taken out, wrapped servers get back their commands, and the rest "
		"stays as it is now.\n"
		"Exit status: 5 if nothing was installed into that file.",
	.examples = "corral mcp uninstall claude\n"
		    "corral mcp uninstall vscode --project --print\n",
	.operand = "CLIENT",
	.offer = mcp_offer_clients,
	.min = 1,
	.max = 1,
	.run = mcp_uninstall_main,
};

static const struct verb verb_mcp_gateway = {
	.name = "gateway",
	.synopsis = "[--client-answers] [--ask TIME] [--http PORT] CONFIG",
	.summary = "many MCP servers as one, each in a sandbox, under rules",
	.description =
		"An MCP server on standard input and output, for a client to start, or over HTTP. "
		"Behind it are "
		"the servers of CONFIG, each in a sandbox of its own as `corral mcp wrap` makes "
		"it; "
		"their tools are called SERVER__TOOL. Clients see the definitions that you "
		"approved "
		"with `corral mcp approve`, and no others: a tool that is new, renamed or changed "
		"cannot be called until you approve it.\n"
		"Rules of CONFIG allow, ask about or deny tools by name and arguments. Each call "
		"is "
		"in the audit log. Exit status: 0 when the client has gone, 2 an error.",
	.examples = "corral mcp gateway ~/.config/corral/gateway.yaml\n"
		    "corral mcp gateway --client-answers gateway.yaml\n"
		    "corral mcp gateway --http 8808 gateway.yaml\n",
	.operand = "CONFIG",
	.min = 1,
	.max = 1,
	.run = mcp_gateway_main,
};

static const struct verb verb_mcp_tools = {
	.name = "tools",
	.synopsis = "[--json] CONFIG",
	.summary = "list the tools of a gateway: allowed, asked, denied, quarantined",
	.description =
		"Starts the servers of CONFIG that you approved, each in its sandbox, and lists "
		"their tools: whether they may be called by the rules of CONFIG, whether they are "
		"as you approved them, "
		"and what in their definitions looks like orders to a model.\n"
		"Exit status: 0 all servers answered, 1 one did not or is not approved, 2 an "
		"error.",
	.examples = "corral mcp tools gateway.yaml\n"
		    "corral mcp tools --json gateway.yaml\n",
	.operand = "CONFIG",
	.min = 1,
	.max = 1,
	.run = mcp_tools_main,
};

static const struct verb verb_mcp_approve = {
	.name = "approve",
	.synopsis = "[--yes] CONFIG [SERVER[.TOOL]]...",
	.summary = "look at tools of a gateway that are new or changed, and approve them",
	.description = "Shows the command and the options of a server that is not approved, and "
		       "asks before it is started, in its sandbox. Then it shows what differs from "
		       "what you approved. If you agree, it is what the gateway offers from then "
		       "on. Without SERVER it asks about each of them.\n"
		       "Exit status: 0 approved, 1 you did not agree, 2 an error.",
	.examples = "corral mcp approve gateway.yaml\n"
		    "corral mcp approve gateway.yaml notes\n"
		    "corral mcp approve gateway.yaml notes.read_file\n",
	.operand = "CONFIG",
	.min = 1,
	.max = SIZE_MAX,
	.run = mcp_approve_main,
};

static const struct verb *const verbs[] = { &verb_mcp_serve, &verb_mcp_wrap, &verb_mcp_remote,
	&verb_mcp_gateway, &verb_mcp_tools, &verb_mcp_approve, &verb_mcp_install,
	&verb_mcp_uninstall, NULL };

const struct verb verb_mcp = {
	.name = "mcp",
	.synopsis = "COMMAND [OPTION]...",
	.summary = "tools of the Model Context Protocol, confined",
	.description = "Runs servers of the Model Context Protocol (MCP) in sandboxes, for any "
		       "client that speaks it over standard input and output.",
	.examples = "corral mcp serve --profile readonly\n"
		    "corral mcp wrap -- mcp-server-git --repository .\n"
		    "corral mcp install claude --wrap-existing --print\n"
		    "corral mcp gateway gateway.yaml\n",
	.verbs = verbs,
};
