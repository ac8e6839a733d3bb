// Every view renders without complaints, and axe finds no violations.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createRequire } from 'node:module';
import { after, before, test } from 'node:test';
import { launch, open, VIEWS } from './browser.mjs';
import { start } from './fake-server.mjs';

const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
let browser;
let server;
before(async () => {
  [browser, server] = [await launch(), await start()];
});
after(async () => {
  await browser.close();
  await server.close();
});

for (const theme of ['light', 'dark']) {
  test(`every view renders and is accessible, ${theme}`, async () => {
    const { page, complaints, close } = await open(browser, { theme });
    for (const [name, [hash, ready]] of Object.entries(VIEWS)) {
      await page.goto(`${server.url}${hash}`);
      await page.waitForSelector(ready, { timeout: 20_000 });
      // The policy forbids inline scripts, so axe comes through the debugger.
      await page.evaluate(`window.axe || (() => { ${axe}; })()`);
      // The themes differ in colours only, so the dark one needs no other rules.
      const rules = theme === 'dark' ? ['color-contrast', 'link-in-text-block'] : ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'];
      const found = await page.evaluate(async (runOnly) => {
        const result = await window.axe.run(document, { runOnly, resultTypes: ['violations'] });
        return result.violations.map((rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`);
      }, rules);
      assert.deepEqual(found, [], name);
    }
    assert.deepEqual(complaints, []);
    assert.deepEqual(await page.evaluate(() => window.violations), []);
    await close();
  });
}

test('no view scrolls sideways at 360 px', async () => {
  const { page, complaints, close } = await open(browser, { width: 360, height: 740 });
  for (const [name, [hash, ready]] of Object.entries(VIEWS)) {
    await page.goto(`${server.url}${hash}`);
    await page.waitForSelector(ready, { timeout: 20_000, state: 'attached' });
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(inner <= outer, `${name}: ${inner} > ${outer}`);
  }
  assert.deepEqual(complaints, []);
  await close();
});

test('the list fills its width', async () => {
  for (const width of [1280, 960, 800]) {
    const { page, close } = await open(browser, { width, height: 740 });
    await page.goto(`${server.url}#/`);
    await page.waitForSelector('.runs .run');
    const [task, last, table] = await page.evaluate(() => {
      const row = document.querySelector('.runs .run');
      return [row.querySelector('.task').clientWidth, row.lastElementChild.getBoundingClientRect().right, document.querySelector('.runs').getBoundingClientRect().right];
    });
    assert.ok(task > 120 && Math.abs(last - table) < 2, `${width}: ${task} ${last} ${table}`);
    await close();
  }
});

test('Japanese is complete and chosen by the browser', async () => {
  const { page, complaints, close } = await open(browser, { locale: 'ja-JP' });
  await page.goto(`${server.url}#/`);
  await page.waitForSelector('.runs .run');
  assert.equal(await page.evaluate(() => document.documentElement.lang), 'ja');
  assert.match(await page.textContent('nav'), /実行/);
  await page.getByRole('button', { name: 'English' }).click();
  assert.match(await page.textContent('nav'), /Runs/);
  assert.deepEqual(complaints, []);
  await close();
});

test('the theme button wins over the system', async () => {
  const { page, close } = await open(browser, { theme: 'light' });
  await page.goto(`${server.url}#/`);
  await page.waitForSelector('.runs .run');
  const paper = () => page.evaluate(() => getComputedStyle(document.documentElement).backgroundColor);
  assert.equal(await paper(), 'rgb(255, 255, 255)');
  await page.getByRole('button', { name: /Theme/ }).click();
  await page.getByRole('button', { name: /Theme/ }).click();
  assert.equal(await paper(), 'rgb(13, 17, 23)');
  await page.reload();
  assert.equal(await paper(), 'rgb(13, 17, 23)');
  await close();
});
