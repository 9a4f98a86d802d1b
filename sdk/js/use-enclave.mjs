// SPDX-License-Identifier: Apache-2.0
// React hooks for pages of a desktop shell whose main process has a Corral (corral.mjs). The page has no token and no
// socket: it can call the functions that the main process exposes, one by one, and nothing else.
//
//     // main process (Electron)
//     expose(new Corral(), (channel, run) => ipcMain.handle(channel, (_event, args) => run(args)), ["fs_read", "fs_list"]);
//     // preload: each function by its name; never ipcRenderer itself
//     contextBridge.exposeInMainWorld("enclave", {
//       fs_read: (args) => ipcRenderer.invoke("corral:fs_read", args),
//       fs_list: (args) => ipcRenderer.invoke("corral:fs_list", args),
//     });
//     // page
//     const { useEnclave, useEnclaveCall } = enclaveHooks(React, window.enclave);
//     const { value, error, busy, again } = useEnclave("fs_read", { path });
//     const [write, { busy, error }] = useEnclaveCall("fs_write");
//
// React's hooks are given, so this module needs no package; Preact's do as well.

// What a page may be given. set_policy is the user's authority: whoever can call it grants itself what it likes.
const TOOLS = ["fs_read", "fs_write", "fs_list", "shell_exec", "get_policy", "get_audit_log"];

/**
 * In the main process: hands each of these tools to `handle(channel, run)` as "corral:NAME". run(args) answers
 * {value} or {error: {message, status, denial, question}}, since errors lose their fields on the way to a page.
 */
export function expose(corral, handle, tools) {
  for (const name of tools) {
    if (!TOOLS.includes(name)) throw new TypeError(`${name} cannot be exposed to a page (${TOOLS.join(", ")} can)`);
  }
  for (const name of new Set(tools)) {
    handle(`corral:${name}`, async (args) => {
      // Data alone: what came from a page has no functions and no inherited keys.
      const given = args === undefined ? {} : JSON.parse(JSON.stringify(args));
      try {
        return { value: await corral.invoke(name, given) };
      } catch (error) {
        const { message, status = null, denial = null, question = null } = error;
        return { error: { message, status, denial, question } };
      }
    });
  }
}

/** What was refused, or did not work: `message` is a sentence, `denial` has the rule and the remedy. */
export class EnclaveError extends Error {
  constructor({ message, status = null, denial = null, question = null }) {
    super(message);
    this.name = "EnclaveError";
    Object.assign(this, { status, denial, question });
  }
}

/** The hooks, of React's own and the functions that the preload script exposed. */
export function enclaveHooks({ useCallback, useEffect, useRef, useState }, functions) {
  async function call(name, args) {
    if (!Object.hasOwn(functions, name)) throw new EnclaveError({ message: `the shell does not expose ${name} to this page` });
    const answer = await functions[name](args);
    if (answer.error) throw new EnclaveError(answer.error);
    return answer.value;
  }

  /**
   * [run, {value, error, busy}]: run(args) calls the tool, and resolves to its value or throws. Of several calls the last
   * one counts; what answers after the component is gone changes nothing.
   */
  function useEnclaveCall(name) {
    const [state, setState] = useState({ value: undefined, error: null, busy: false });
    const latest = useRef(0);
    useEffect(() => () => {
      latest.current = -1;
    }, []);
    const run = useCallback(async (args) => {
      const number = latest.current < 0 ? -1 : ++latest.current;
      const isLatest = () => number > 0 && latest.current === number;
      if (number > 0) setState((was) => ({ ...was, busy: true }));
      try {
        const value = await call(name, args);
        if (isLatest()) setState({ value, error: null, busy: false });
        return value;
      } catch (error) {
        if (isLatest()) setState({ value: undefined, error, busy: false });
        throw error;
      }
    }, [name]);
    return [run, state];
  }

  /** {value, error, busy, again} of a tool that only reads, called anew when its arguments change. */
  function useEnclave(name, args) {
    const [run, state] = useEnclaveCall(name);
    const text = JSON.stringify(args ?? {});
    const again = useCallback(() => run(JSON.parse(text)).catch(() => {}), [run, text]);
    useEffect(() => {
      again();
    }, [again]);
    return { ...state, again };
  }

  return { useEnclave, useEnclaveCall };
}
