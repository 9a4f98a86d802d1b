// SPDX-License-Identifier: Apache-2.0
// Loads a file of the page that needs no browser, with those that it imports: they are modules whatever the nearest
// package.json says, and their paths are those of the page.
import { readFileSync } from "node:fs";

function url(name) {
  const text = readFileSync(new URL(`../${name}`, import.meta.url), "utf8");
  return "data:text/javascript," + encodeURIComponent(text.replace(/from "\/([\w./-]+)"/g, (_, other) => `from "${url(other)}"`));
}

export const load = (name) => import(url(name));
