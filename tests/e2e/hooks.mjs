// SPDX-License-Identifier: Apache-2.0
// The hooks of sdk/js over a real daemon: hooks.mjs HOOKS CLIENT RUNTIME FOLDER. A runner of a few lines stands for
// React: it keeps what hooks keep, and renders again when a state is set. Prints one JSON object.
const [hooks, client, runtime, folder] = process.argv.slice(2);
const { Corral } = await import(client);
const { enclaveHooks, expose } = await import(hooks);
const out = {};

/** One component: render(props) runs it, `result` is what it returned, changed() waits for the next state. */
function component(body) {
  const cells = [];
  let at, effects, wake = null, gone = false, lastProps;
  const same = (a, b) => a && b && a.length === b.length && a.every((x, i) => Object.is(x, b[i]));
  const self = { result: null, renders: 0, late: 0 };
  const react = {
    useState(first) {
      const i = at++;
      cells[i] ??= { value: first };
      const set = (next) => {
        if (gone) return void self.late++;
        cells[i].value = typeof next === "function" ? next(cells[i].value) : next;
        queueMicrotask(() => !gone && self.render(lastProps));
      };
      return [cells[i].value, (cells[i].set ??= set)];
    },
    useRef: (first) => (cells[at] ??= { current: first }, cells[at++]),
    useCallback(f, keys) {
      const i = at++;
      if (!same(cells[i]?.keys, keys)) cells[i] = { f, keys };
      return cells[i].f;
    },
    useEffect(f, keys) {
      const i = at++;
      if (same(cells[i]?.keys, keys)) return;
      effects.push(() => {
        cells[i]?.end?.();
        cells[i] = { keys, end: f() };
      });
    },
  };
  self.render = (props) => {
    [at, effects, lastProps] = [0, [], props];
    self.result = body(react, props);
    self.renders++;
    effects.forEach((run) => run());
    wake?.();
  };
  self.until = async (what) => {
    while (!what(self.result)) await new Promise((done) => (wake = done));
  };
  self.end = () => {
    gone = true;
    cells.forEach((cell) => cell?.end?.());
  };
  return self;
}

// The main process: what it exposes crosses to the page as structured clones, as by Electron.
const channels = new Map();
const corral = new Corral({ folder: runtime });
await corral.invoke("set_policy", { policy: { fs: { read: [`${folder}/{,**}`], write: [`${folder}/{,**}`] } } });
expose(corral, (channel, run) => channels.set(channel, run), ["fs_read", "fs_write", "fs_read"]);
out.channels = [...channels.keys()];
for (const name of ["set_policy", "export_audit_log", "events", "constructor"]) {
  try {
    expose(corral, () => {}, ["fs_read", name]);
    out.exposed = name;
  } catch (error) {
    out.refused = (out.refused ?? 0) + (error instanceof TypeError);
  }
}
const gates = [];
const page = Object.fromEntries([...channels].map(([channel, run]) => [channel.slice(7), async (args) => {
  const answer = structuredClone(await run(structuredClone(args)));
  if (args.path?.endsWith("slow")) await new Promise((open) => gates.push(open));
  return answer;
}]));

const reader = component((react, path) => enclaveHooks(react, page).useEnclave("fs_read", { path }));
reader.render(`${folder}/file.txt`);
await reader.until((r) => r.value !== undefined);
out.read = reader.result.value;
out.busy = reader.result.busy;
reader.render("/etc/passwd");
await reader.until((r) => r.error);
out.denied = { message: reader.result.error.message, status: reader.result.error.status, op: reader.result.error.denial?.op, value: reader.result.value ?? null };

// The arguments change while the first call is under way: its answer, which comes last, is not shown.
await corral.invoke("fs_write", { path: `${folder}/slow`, content: "old" });
reader.render(`${folder}/slow`);
while (gates.length === 0) await new Promise((done) => setImmediate(done));
reader.render(`${folder}/file.txt`);
await reader.until((r) => r.value !== undefined && !r.busy);
gates.shift()();
await new Promise((done) => setTimeout(done, 0));
out.last = reader.result.value;

const renders = reader.renders;
reader.render(`${folder}/file.txt`);
out.calm = reader.renders - renders; // the same arguments: no other call

const writer = component((react) => enclaveHooks(react, page).useEnclaveCall("fs_write"));
writer.render();
await writer.result[0]({ path: `${folder}/by-hook`, content: "text" });
out.written = await corral.invoke("fs_read", { path: `${folder}/by-hook` });
out.thrown = await writer.result[0]({ path: "/etc/by-hook", content: "x" }).catch((error) => error.name + ": " + error.message);

const other = component((react, name) => enclaveHooks(react, page).useEnclaveCall(name));
for (const name of ["set_policy", "toString", "__proto__"]) {
  other.render(name);
  out.unexposed = (out.unexposed ?? 0) + ((await other.result[0]({}).catch((error) => error.message)) === `the shell does not expose ${name} to this page`);
}

// Gone before the answer.
reader.render(`${folder}/slow`);
while (gates.length === 0) await new Promise((done) => setImmediate(done));
reader.end();
gates.shift()();
await new Promise((done) => setTimeout(done, 0));
out.late = reader.late;
console.log(JSON.stringify(out));
