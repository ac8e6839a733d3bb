// Takes a picture of every view. `node test/shots.mjs [DIR] [NAME…]`
import { mkdirSync } from 'node:fs';
import { launch, open, VIEWS } from './browser.mjs';
import { start } from './fake-server.mjs';

const [directory = '/tmp/page-shots', ...names] = process.argv.slice(2);
mkdirSync(directory, { recursive: true });
const server = await start();
const browser = await launch();
for (const theme of ['light', 'dark']) {
  for (const [size, width, height] of [['wide', 1280, 800], ['narrow', 360, 740]]) {
    const { page, complaints, close } = await open(browser, { width, height, theme });
    for (const [name, [hash, ready]] of Object.entries(VIEWS)) {
      if (names.length > 0 && !names.includes(name)) continue;
      await page.goto(`${server.url}${hash}`);
      await page.reload();
      await page.waitForSelector(ready, { timeout: 5000 }).catch(() => console.log(`${name} ${size} ${theme}: not ready`));
      await page.waitForTimeout(120);
      await page.screenshot({ path: `${directory}/${name}-${size}-${theme}.png` });
    }
    if (complaints.length > 0) console.log(size, theme, [...new Set(complaints)]);
    await close();
  }
}
await browser.close();
await server.close();
