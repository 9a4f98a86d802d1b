// SPDX-License-Identifier: Apache-2.0
// An authorization server (npm's oidc-provider) and a resource that checks its tokens, over TLS on loopback. Arguments: a file with a
// key and a certificate, and the folder of packages. Prints their origins as JSON; each line on standard input is a command.
import { createServer } from "node:https";
import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { createInterface } from "node:readline";
import { pathToFileURL } from "node:url";

const [certificate, packages] = process.argv.slice(2);
const require = createRequire(`${packages}/`);
const { default: Provider } = await import(pathToFileURL(require.resolve("oidc-provider")));
const { createLocalJWKSet, jwtVerify } = await import(pathToFileURL(require.resolve("jose")));
const pem = readFileSync(certificate);
const tls = { key: pem, cert: pem };
let lifetime = 3600;

const listen = (server) => new Promise((done) => server.listen(0, "127.0.0.1", () => done(`https://127.0.0.1:${server.address().port}`)));
const front = createServer(tls);
const issuer = await listen(front);
const tools = createServer(tls);
const resource = await listen(tools);
const url = `${resource}/mcp`;

const provider = new Provider(issuer, {
  scopes: ["openid", "offline_access", "tools"],
  clientAuthMethods: ["none", "client_secret_basic", "client_secret_post"],
  findAccount: (_, id) => ({ accountId: id, claims: async () => ({ sub: id }) }),
  issueRefreshToken: async () => true,
  rotateRefreshToken: true,
  cookies: { keys: ["a key of the test"] },
  features: {
    devInteractions: { enabled: true },
    registration: { enabled: true },
    deviceFlow: { enabled: true },
    revocation: { enabled: true },
    resourceIndicators: {
      enabled: true,
      defaultResource: () => url,
      useGrantedResource: () => true,
      getResourceServerInfo: (_, asked) => {
        if (asked !== url) throw new Error("no such resource");
        return { scope: "tools", audience: url, accessTokenFormat: "jwt", accessTokenTTL: lifetime };
      },
    },
  },
});
const seen = { refreshes: 0, sent: [] };
provider.on("grant.success", (ctx) => {
  if (ctx.oidc.params.grant_type === "refresh_token") seen.refreshes++;
});
provider.on("server_error", (_, error) => console.error(error));
front.on("request", provider.callback());

let keys;
tools.on("request", async (request, response) => {
  const answer = (status, value, head = {}) => response.writeHead(status, { "Content-Type": "application/json", ...head }).end(JSON.stringify(value));
  if (request.url === "/.well-known/oauth-protected-resource/mcp") return answer(200, { resource: url, authorization_servers: [issuer], scopes_supported: ["tools"] });
  const token = (request.headers.authorization ?? "").replace(/^Bearer /, "");
  try {
    const { payload } = await jwtVerify(token, keys, { issuer, audience: url });
    seen.sent.push(token);
    answer(200, { you: payload.sub, scope: payload.scope, echo: token });
  } catch {
    answer(401, {}, { "WWW-Authenticate": `Bearer resource_metadata="${resource}/.well-known/oauth-protected-resource/mcp", scope="tools"` });
  }
});

// The keys as this process has them: its own certificate is not one that it would trust.
process.env.NODE_TLS_REJECT_UNAUTHORIZED = "0";
process.removeAllListeners("warning");
keys = createLocalJWKSet(await (await fetch(`${issuer}/jwks`)).json());
console.log(JSON.stringify({ issuer, url }));

createInterface({ input: process.stdin }).on("line", (line) => {
  const [word, value] = line.split(" ");
  if (word === "lifetime") lifetime = Number(value);
  console.log(JSON.stringify(seen));
});
