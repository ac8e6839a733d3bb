// The list of runs: title, filters, keys, empty project, lost connection.
import assert from 'node:assert/strict';
import { after, before, test } from 'node:test';
import { launch, open, RUN } from './browser.mjs';
import { start } from './fake-server.mjs';

let browser;
before(async () => {
  browser = await launch();
});
after(() => browser.close());

const withPage = async (options, work) => {
  const server = await start(options);
  const opened = await open(browser);
  try {
    await work({ ...opened, server });
  } finally {
    await opened.close();
    await server.close();
  }
};

test('what waits for a person is on top and in the title', () =>
  withPage({}, async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector('.runs .run');
    assert.equal(await page.title(), '(1) Saihai');
    assert.match(await page.textContent('.runs .run >> nth=0'), /A page is blank/);
    const row = { ...server.home.runs.find((entry) => entry.state === 'running'), state: 'waiting', waits_for: 'you' };
    server.send({ kind: 'rows', is_whole: false, rows: [row], gone: [] });
    await page.waitForFunction(() => document.title === '(2) Saihai');
  }));

test('unknown cost is never zero, and broken runs are one row', () =>
  withPage({}, async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector('.runs .run');
    assert.match(await page.textContent('.runs'), /\$0\.0622 \+ \?/);
    assert.match(await page.textContent('.runs .is-broken'), /line 17 is not JSON/);
    assert.doesNotMatch(await page.textContent('.runs .is-broken'), /\$/);
  }));

test('filters live in the address', () =>
  withPage({}, async ({ page, server }) => {
    await page.goto(`${server.url}#/?state=completed&definition=default`);
    await page.waitForSelector('.runs .run');
    for (const text of await page.locator('.runs .run .state').allTextContents()) assert.equal(text, 'completed');
    await page.getByLabel('All states').selectOption('failed');
    await page.waitForFunction(() => location.hash.includes('state=failed'));
    await page.getByLabel('Filter by text').fill('json');
    await page.waitForFunction(() => location.hash.includes('text=json'));
    assert.equal(await page.locator('.runs .run').count(), 1);
    await page.getByRole('button', { name: 'Clear' }).click();
    await page.waitForFunction(() => location.hash === '#/');
  }));

test('everything works by keyboard', () =>
  withPage({}, async ({ page, server, complaints }) => {
    const key = (name) => page.keyboard.press(name);
    await page.goto(server.url);
    await page.waitForSelector('.runs .run');
    await key('j');
    await key('j');
    await key('k');
    assert.match(await page.textContent('.run.is-active'), /A page is blank/);
    await key('Enter');
    await page.waitForSelector('.gate');
    assert.equal(await page.evaluate(() => location.hash), `#/run/${RUN.gate}`);
    for (const [number, view] of [['2', 'graph'], ['3', 'transcript'], ['4', 'changes'], ['5', 'reports'], ['6', 'cost'], ['7', 'why'], ['1', 'timeline']]) {
      await key(number);
      await page.waitForSelector(`.view-${view}`);
    }
    await key('k');
    await page.waitForFunction(() => location.hash.includes('call=plan%2F1%2Fturn'));
    await key('+');
    await key('0');
    await key('a');
    assert.equal(await page.evaluate(() => document.activeElement.tagName), 'TEXTAREA');
    await key('Escape');
    await key('t');
    await page.waitForSelector('dialog[open]');
    await key('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await key('?');
    await page.waitForSelector('dialog[open] kbd');
    await key('Escape');
    await page.waitForSelector('dialog', { state: 'detached' });
    await key('Escape');
    await key('Escape');
    await page.waitForSelector('.runs');
    for (const [second, ready] of [['p', '.plot-pair'], ['b', '.board'], ['h', '.runs']]) {
      await key('g');
      await key(second);
      await page.waitForSelector(ready);
    }
    await key('/');
    assert.equal(await page.evaluate(() => document.activeElement.type), 'search');
    await key('Escape');
    await key('j');
    await key('x');
    await key('j');
    await key('x');
    await page.getByRole('link', { name: /Compare the 2/ }).click();
    await page.waitForSelector('.compare-path');
    assert.deepEqual(complaints, []);
  }));

test('an empty project shows how to start', () =>
  withPage({ home: { version: 1, projects: [{ name: 'shop', path: '/shop' }], read_only: false, runs: [], errors: [] }, batch: { issues: [] } }, async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector('.first');
    assert.match(await page.textContent('.first'), /saihai demo/);
    await page.goto(`${server.url}#/batch`);
    await page.waitForSelector('.first code');
    await page.goto(`${server.url}#/plots`);
    await page.waitForSelector('.empty');
  }));

test('an ended session asks for the newest link', () =>
  withPage({ isUnauthorized: true }, async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector('.error');
    assert.match(await page.textContent('.error'), /Open the newest link/);
  }));

test('a broken stream is reopened quietly', () =>
  withPage({}, async ({ page, server }) => {
    await page.goto(`${server.url}#/run/${RUN.running}`);
    await page.waitForSelector('.chart .bar');
    server.state.isDown = true;
    server.breakStreams();
    await page.waitForFunction(() => document.querySelector('.connection').textContent.includes('connection lost'));
    server.state.isDown = false;
    await page.waitForFunction(() => document.querySelector('.connection').textContent === '');
    const [stream] = server.state.streams;
    assert.equal(stream.run, RUN.running);
    assert.ok(stream.since > 0);
  }));

test('a thousand rows are windowed', () =>
  withPage({ many: true }, async ({ page, server }) => {
    await page.goto(server.url);
    await page.waitForSelector('.runs .run');
    assert.ok((await page.locator('.runs .run').count()) < 80);
    await page.keyboard.press('End');
    await page.waitForFunction(() => document.querySelector('.runs .run:last-of-type') && [...document.querySelectorAll('.runs .run')].at(-1).ariaRowIndex > 900 || [...document.querySelectorAll('.runs .run')].some((row) => Number(row.getAttribute('aria-rowindex')) > 900));
  }));
