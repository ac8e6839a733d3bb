// The page of a run: gate, actions, live changes, hostile text, saved file, speed.
import assert from 'node:assert/strict';
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { after, before, test } from 'node:test';
import { launch, open, RUN, writeSaved } from './browser.mjs';
import { start } from './fake-server.mjs';

let browser;
let server;
before(async () => {
  [browser, server] = [await launch(), await start({ extreme: true })];
});
after(async () => {
  await browser.close();
  await server.close();
});

const withPage = async (hash, work, options = {}) => {
  const opened = await open(browser, options);
  try {
    await opened.page.goto(`${server.url}${hash}`);
    await work(opened);
    assert.deepEqual(opened.complaints, []);
    assert.deepEqual(await opened.page.evaluate(() => window.violations), []);
  } finally {
    await opened.close();
  }
};
const at = (name, query = '') => `#/run/${encodeURIComponent(RUN[name])}${query && `?${query}`}`;

test('a gate is answered', () =>
  withPage(at('gate'), async ({ page }) => {
    await page.waitForSelector('.gate');
    assert.equal(await page.locator('.gate a[href="https://example.com/issues/31"]').getAttribute('rel'), 'noopener noreferrer nofollow');
    await page.getByLabel('Comment (optional)').fill("it's old");
    assert.match(await page.textContent('.gate .same code'), /saihai answer 20260206-085600-a-page-is-blank yes 'it'\\''s old'/);
    await page.getByRole('button', { name: 'Yes', exact: true }).click();
    await page.waitForSelector('.gate .done');
    assert.deepEqual(server.state.posts.at(-1), { run: RUN.gate, action: 'answer', body: { call: 'plan/input[1]/1/question to you', yes: true, text: "it's old" } });
  }));

test('the actions send what their commands say', () =>
  withPage(at('parked', 'call=implement%2F1%2Fturn'), async ({ page }) => {
    const act = async (entry, work, button) => {
      await page.locator('.menu summary').click();
      await page.getByRole('button', { name: entry }).click();
      await work();
      const command = await page.textContent('dialog .command code');
      await page.locator('dialog').getByRole('button', { name: button, exact: true }).click();
      await page.waitForSelector('dialog .done');
      await page.keyboard.press('Escape');
      await page.waitForSelector('dialog', { state: 'detached' });
      return [command, server.state.posts.at(-1).body];
    };
    assert.deepEqual(await act('Give the agents a note', async () => {
      await page.getByLabel('Note', { exact: true }).fill('use the parser');
      await page.locator('dialog').getByLabel('Stage').selectOption('fix');
      await page.getByLabel(/Stop the running turn/).check();
    }, 'Send note'), ["cd /home/ada/shop && saihai tell 20260205-161000-translate-the-manual --to fix --now 'use the parser'", { text: 'use the parser', stage: 'fix', now: true }]);
    assert.deepEqual(await act('Resume the run', () => page.getByLabel(/New budget/).fill('usd=1'), 'Resume'), ['cd /home/ada/shop && saihai resume 20260205-161000-translate-the-manual --budget usd=1', { budget: 'usd=1', max_iterations: null }]);
    const { fork_at: before, seq: after } = server.saved.get(RUN.parked).run.calls.find((call) => call.id === 'implement/1/turn');
    const command = 'cd /home/ada/shop && saihai fork 20260205-161000-translate-the-manual --at';
    assert.deepEqual(await act('Fork the run', async () => {}, 'Fork'), [`${command} ${before}`, { at: before }]);
    assert.deepEqual(await act('Fork the run', () => page.getByLabel(/After this call/).check(), 'Fork'), [`${command} ${after}`, { at: after }]);
    assert.deepEqual(await act('Cancel the run', async () => {}, 'Cancel for good'), ['cd /home/ada/shop && saihai cancel 20260205-161000-translate-the-manual', {}]);
  }));

test('a note is withdrawn', () =>
  withPage(at('running'), async ({ page }) => {
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.waitForTimeout(100);
    assert.deepEqual(server.state.posts.at(-1), { run: RUN.running, action: 'withdraw', body: { note: 1 } });
  }));

test('a selection in one view is a selection in all', () =>
  withPage(at('finished'), async ({ page }) => {
    await page.locator('[data-call="review/1/tests"]').click();
    await page.waitForFunction(() => location.hash.includes('call=review%2F1%2Ftests'));
    await page.getByRole('tab', { name: 'Transcript' }).click();
    assert.match(await page.textContent('.call[aria-current]'), /tests/);
    await page.waitForSelector('mark.decided');
    assert.equal(await page.textContent('mark.decided'), 'The empty list has no test.');
    await page.getByRole('button', { name: 'Next verdict' }).click();
    await page.waitForFunction(() => location.hash.includes('security'));
    await page.getByLabel('Find in this call').fill('review');
    await page.waitForFunction(() => / of /.test(document.querySelector('.find .number')?.textContent ?? ''));
    await page.getByRole('tab', { name: 'Timeline' }).click();
    await page.waitForSelector('.bar.is-selected[data-call="review/1/security"]');
  }));

test('sections that the previous prompt had are folded', () =>
  withPage(at('finished', 'view=transcript&call=implement%2F1%2Fturn'), async ({ page }) => {
    await page.waitForFunction(() => /same as/.test(document.querySelector('.prompt')?.textContent ?? ''));
    const folded = await page.locator('.prompt details:not([open]) .name').allTextContents();
    assert.deepEqual(folded, ['Rules', 'User Request']);
  }));

test('the graph replays the run step by step', () =>
  withPage(at('finished', 'view=graph'), async ({ page }) => {
    await page.waitForSelector('.visit-count');
    assert.equal(await page.locator('.graph [data-stage="COMPLETE"].taken').count(), 1);
    assert.equal(await page.locator('.graph [data-stage="ABORT"].taken').count(), 0);
    assert.equal(await page.locator('.graph [data-from="supervise"][data-to="COMPLETE"].taken').count(), 1);
    assert.match(await page.textContent('.graph [data-stage="review"] .visit-count'), /2×/);
    await page.locator('.replay input').fill('2');
    await page.waitForSelector('[data-stage="review"].current');
    assert.equal(await page.locator('[data-stage="fix"].untaken').count(), 1);
    assert.equal(await page.locator('[data-from="implement"][data-to="review"].taken').count(), 1);
    await page.getByRole('button', { name: 'Play' }).click();
    await page.waitForSelector('[data-stage="fix"].taken');
  }));

test('changes and output arrive live', () =>
  withPage(at('running', 'view=transcript&call=review%2F1%2Ftests'), async ({ page }) => {
    await page.waitForSelector('pre.live');
    // Each message replaces what was shown.
    for (const text of ['first', 'first\na new line\u001b[0m', 'first\na new line\u001b[0m']) server.send({ kind: 'output', call: 'review/1/tests', text });
    await page.waitForFunction(() => document.querySelector('pre.live').textContent === 'first\na new line␛[0m');
    const page0 = server.saved.get(RUN.running).run;
    const call = { ...page0.calls.find((entry) => entry.name === 'tests'), mark: 'done', ended: Date.now(), label: 'Nothing to fix', seq: 9000 };
    server.send({ kind: 'run', page: { ...page0, since: page0.last_seq, last_seq: 9000, visits: [], exits: [], calls: [call], row: { ...page0.row, words: 'running: fix, visit 1' } } });
    await page.waitForFunction(() => document.querySelector('.state-line').textContent.includes('fix, visit 1'));
    assert.match(await page.textContent('.call[aria-current]'), /Nothing to fix/);
    assert.equal(await page.locator('.call-list .call').count(), page0.calls.length);
    server.send({ kind: 'lost', words: 'the run was deleted' });
    await page.waitForSelector('.error');
  }));

/** Returns the size of the page's own data in bytes. */
const heap = async (page) => {
  const session = await page.context().newCDPSession(page);
  await session.send('HeapProfiler.collectGarbage');
  const { usedSize } = await session.send('Runtime.getHeapUsage');
  await session.detach();
  return usedSize;
};

// V-8: a page that is left open for a day sees thousands of turns begin, speak and end
test('a page that stays open does not grow', () =>
  withPage(at('running', 'view=transcript&call=review%2F1%2Ftests'), async ({ page }) => {
    await page.waitForSelector('pre.live');
    const page0 = server.saved.get(RUN.running).run;
    const example = page0.calls.find((entry) => entry.name === 'tests');
    const hour = async (first) => {
      for (let turn = first; turn < first + 1000; turn += 1) {
        const call = `review/1/tests/${turn % 20}`;
        for (const text of ['a', 'b']) server.send({ kind: 'output', call: `${call}/${turn}`, text: text.repeat(8000) });
        const ended = { ...example, id: `${call}/${turn}`, mark: 'done', ended: Date.now(), seq: 9000 + turn };
        server.send({ kind: 'run', page: { ...page0, since: 8999 + turn, last_seq: 9000 + turn, visits: [], exits: [], calls: [ended] } });
        server.send({ kind: 'rows', is_whole: false, rows: [{ ...page0.row, words: `turn ${turn}` }], gone: [] });
        // Slowly enough that the page draws now and then.
        if (turn % 50 === 0) await page.waitForTimeout(20);
      }
      const last = first + 999;
      server.send({ kind: 'run', page: { ...page0, since: 8999 + last, last_seq: 9000 + last, visits: [], exits: [], calls: [], row: { ...page0.row, words: `turn ${last} is over` } } });
      await page.waitForFunction((words) => document.querySelector('.state-line').textContent.includes(words), `turn ${last} is over`);
    };
    await hour(0);
    const [size, nodes] = [await heap(page), await page.locator('*').count()];
    await hour(1000);
    await hour(2000);
    const later = await heap(page);
    // 2,000 calls with their figures are about a kilobyte each; their output would be 16 MB.
    assert.ok(later < size + 6_000_000, `${size} bytes became ${later}`);
    assert.ok((await page.locator('*').count()) < nodes + 50);
  }));

test('a cut text can be loaded whole', () =>
  withPage(at('finished', 'view=transcript&call=fix%2F1%2Fturn'), async ({ page }) => {
    await page.waitForSelector('.reply');
    assert.equal(await page.locator('.cut-texts').count(), 0);
    const texts = server.saved.get(RUN.finished).texts.find(({ call }) => call === 'fix/1/turn');
    const { reply } = texts;
    Object.assign(texts, { is_cut: true, reply: 'A line of a long reply.\n'.repeat(40_000) });
    try {
      await page.reload();
      const link = page.getByRole('link', { name: 'Download the whole reply' });
      assert.match(await link.getAttribute('href'), /^api\/runs\/.*\/calls\/fix%2F1%2Fturn\/whole\/reply$/);
      assert.match(await page.textContent('.cut-texts'), /saihai show .* fix/);
      // The browser stays usable: it draws a part of the text.
      assert.ok((await page.textContent('.reply')).length < 300_000);
      await page.locator('#tab-why').click({ timeout: 2000 });
      await page.waitForSelector('.exits li');
    } finally {
      Object.assign(texts, { is_cut: false, reply });
    }
  }));

test('hostile text is inert in every view', () =>
  withPage(at('hostile'), async ({ page }) => {
    for (const view of ['timeline', 'graph', 'transcript', 'changes', 'reports', 'findings', 'cost', 'why']) {
      await page.evaluate((hash) => (location.hash = hash), at('hostile', `view=${view}&call=plan%2F1%2Fturn`));
      await page.waitForSelector(`.view-${view}`);
      await page.waitForTimeout(150);
      assert.equal(await page.evaluate(() => window.hacked), undefined, view);
      assert.equal(await page.locator('main img, main script, main iframe, main style').count(), 0, view);
      assert.equal(await page.locator('main [onload], main [onclick], main [onerror], main [onmouseover]').count(), 0, view);
      for (const link of await page.locator('main a').evaluateAll((links) => links.map((entry) => entry.getAttribute('href')))) assert.match(link, /^(#|https?:)/, view);
      const text = await page.textContent('main');
      assert.doesNotMatch(text, /[\u001b\u202e\u2066]/, view);
      assert.match(text, /␛\[31mred⟨U\+202E⟩evil⟨U\+2066⟩/, view);
    }
    const [inner, outer] = await page.evaluate(() => [document.documentElement.scrollWidth, innerWidth]);
    assert.ok(inner <= outer, 'the page scrolls sideways');
  }));

test('a read-only page offers no actions', async () => {
  const readOnly = await start({ isReadOnly: true });
  const { page, close } = await open(browser);
  await page.goto(`${readOnly.url}${at('gate')}`);
  await page.waitForSelector('.gate .command');
  assert.equal(await page.locator('.menu, .gate form').count(), 0);
  await close();
  await readOnly.close();
});

test('a saved file works from disk without network', async () => {
  const directory = mkdtempSync(join(tmpdir(), 'saihai-page-'));
  const { page, complaints, close } = await open(browser);
  try {
    for (const name of ['finished', 'hostile']) {
      const file = join(directory, `${name}.html`);
      writeSaved(server.saved.get(RUN[name]), file);
      const requests = [];
      page.on('request', (request) => !request.url().startsWith('file:') && requests.push(request.url()));
      await page.goto(`file://${file}`);
      await page.waitForSelector('.chart .bar');
      for (const view of ['graph', 'transcript', 'changes', 'reports', 'cost', 'why']) {
        await page.locator(`#tab-${view}`).click();
        await page.waitForSelector(`.view-${view}`);
        await page.waitForTimeout(60);
      }
      assert.equal(await page.locator('.menu, .gate form, nav a').count(), 0);
      assert.equal(await page.evaluate(() => window.hacked), undefined);
      assert.deepEqual(requests, []);
    }
    assert.deepEqual(complaints, []);
  } finally {
    await close();
    rmSync(directory, { recursive: true });
  }
});

test('a run of ten thousand events is painted', () =>
  withPage('#/', async ({ page }) => {
    assert.ok(server.saved.get(RUN.large).run.last_seq > 7000);
    await page.waitForSelector('.runs .run');
    const paint = (hash, ready) =>
      page.evaluate(async ([target, selector]) => {
        const texts = await fetch(`api/runs/${target.split('/')[2].split('?')[0]}`).then((answer) => answer.text());
        const begin = performance.now();
        JSON.parse(texts);
        location.hash = target;
        while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return performance.now() - begin;
      }, [hash, ready]);
    const times = {};
    times.timeline = await paint(at('large'), '.chart .bar');
    for (const [view, ready] of [['graph', '.view-graph'], ['transcript', '.call-list .call'], ['cost', '.plot canvas'], ['why', '.exits li']]) {
      times[view] = await paint(at('large', `view=${view}`), ready);
    }
    console.log('painted in', Object.entries(times).map(([view, time]) => `${view} ${Math.round(time)} ms`).join(', '));
  }));
