// SPDX-License-Identifier: Apache-2.0
// SHOTS=FOLDER: tests leave pictures of their screens there, for docs/img: light and dark, wide and narrow.
import { join } from "node:path";

const { SHOTS } = process.env;
const SIZES = { wide: { width: 1280, height: 860 }, narrow: { width: 390, height: 844 } };

export async function shoot(page, name) {
  if (!SHOTS) return;
  const before = page.viewportSize();
  for (const colorScheme of ["light", "dark"])
    for (const [size, viewport] of Object.entries(SIZES)) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize(viewport);
      await page.evaluate(() => {
        document.activeElement?.blur();
        scrollTo(0, 0);
      });
      await page.waitForTimeout(300);
      await page.screenshot({ path: join(SHOTS, `dashboard-${name}-${colorScheme}-${size}.png`) });
    }
  await page.emulateMedia({ colorScheme: null });
  await page.setViewportSize(before);
}
