// SPDX-License-Identifier: Apache-2.0
// Lists of the daemon that follow its events.
import { useEffect, useState } from "preact/hooks";
import { get } from "/api.js";
import { on, snapshot } from "/store.js";

// Makes a hook: what GET answers, {data, error, reload}, again after each event of these types and after a
// reconnect. It is asked for only while a screen shows it, or always if there is a take(), which is given each
// answer. At most one request is under way, and one more follows it, however many events come; a screen is drawn
// when the answer is there.
export function follow(path, types, take) {
  const list = { data: null, error: null, reload };
  const screens = new Set();
  let busy = false, again = false;

  async function reload() {
    again = true;
    if (busy) return;
    busy = true;
    while (again) {
      again = false;
      try {
        list.data = await get(path);
        list.error = null;
        take?.(list.data);
      } catch (error) {
        list.error = error;
      }
      for (const draw of screens) draw();
    }
    busy = false;
  }
  const touch = () => (take || screens.size > 0 ? reload() : undefined);

  for (const type of types) on(type, touch);
  snapshot(touch);
  return function useList() {
    const [, set] = useState(0);
    useEffect(() => {
      const draw = () => set((n) => n + 1);
      screens.add(draw);
      reload();
      return () => screens.delete(draw);
    }, []);
    return list;
  };
}
