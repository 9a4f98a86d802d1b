// SPDX-License-Identifier: Apache-2.0
// For `node --import`: the conformance suite has no option for a token. Each request of its clients shows that of MCP_TOKEN.
import http from "node:http";
import path from "node:path";
import { pathToFileURL } from "node:url";

const field = `Bearer ${process.env.MCP_TOKEN}`;
const undici = await import(pathToFileURL(path.join(process.env.MCP_PACKAGES, "node_modules/undici/index.js")).href);

function add(headers) {
  if (Array.isArray(headers)) return [...headers, "authorization", field];
  if (headers && typeof headers[Symbol.iterator] === "function") return [...headers, ["authorization", field]];
  return { ...headers, authorization: field };
}

// fetch() of Node asks the same dispatcher.
const { setGlobalDispatcher, getGlobalDispatcher } = undici.default ?? undici;
setGlobalDispatcher(getGlobalDispatcher().compose((dispatch) => (options, handler) => dispatch({ ...options, headers: add(options.headers) }, handler)));

const { request } = http;
http.request = (options, ...more) => request({ ...options, headers: { ...options.headers, authorization: field } }, ...more);
