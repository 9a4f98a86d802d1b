// SPDX-License-Identifier: Apache-2.0
// A client of MCP by the TypeScript SDK: `client.mjs v1|v2 ERA`, a job on standard input, what came of it on standard output (mcp.py).

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { pathToFileURL } from "node:url";

const [, , sdk, era] = process.argv;
const packages = createRequire(pathToFileURL(`${process.env.MCP_PACKAGES}/`));
const load = (name) => import(pathToFileURL(packages.resolve(name)));
const job = JSON.parse(readFileSync(0, "utf8"));

const modules = {
	v1: ["@modelcontextprotocol/sdk/client/index.js", "@modelcontextprotocol/sdk/client/stdio.js", "@modelcontextprotocol/sdk/client/streamableHttp.js"],
	v2: ["@modelcontextprotocol/client", "@modelcontextprotocol/client/stdio", "@modelcontextprotocol/client"],
};
const [{ Client }, { StdioClientTransport }, { StreamableHTTPClientTransport }] = await Promise.all(modules[sdk].map(load));

const forms = job.answer == null ? {} : { capabilities: { elicitation: {} } };
const options = sdk === "v2" ? { ...forms, versionNegotiation: { mode: ["auto", "legacy"].includes(era) ? era : { pin: era } } } : forms;
const client = new Client({ name: "acceptance", version: "1" }, options);
const asked = [];
if (job.answer != null)
	client.setRequestHandler(sdk === "v2" ? "elicitation/create" : (await load("@modelcontextprotocol/sdk/types.js")).ElicitRequestSchema, (request) => {
		asked.push(request.params.message);
		return { action: "accept", content: { allow: job.answer } };
	});
const transport = job.url
	? new StreamableHTTPClientTransport(new URL(job.url), { requestInit: { headers: { Authorization: `Bearer ${job.token}` } } })
	: new StdioClientTransport({ command: job.command[0], args: job.command.slice(1), cwd: job.cwd, env: job.env, stderr: "inherit" });
await client.connect(transport);
const result = { server: client.getServerVersion()?.name, era: client.getNegotiatedProtocolVersion?.() ?? transport.protocolVersion ?? null, calls: [], asked };
result.tools = (await client.listTools()).tools;
for (const [name, args] of job.calls) {
	try {
		const answer = await client.callTool({ name, arguments: args });
		result.calls.push({ isError: answer.isError ?? false, content: answer.content, structured: answer.structuredContent ?? null });
	} catch (error) {
		result.calls.push({ error: error.code ?? String(error), message: error.message });
	}
}
if (job.resources)
	result.resources = (await client.listResources()).resources;
await client.close();
console.log(JSON.stringify(result));
