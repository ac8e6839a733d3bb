// The page with the real program: every dialect, live runs, gates, crashes, hostile text, foreign sites, speed.
// Needs the variable SAIHAI with the path of the program.
import assert from 'node:assert/strict';
import { readFileSync } from 'node:fs';
import { createServer, request as httpRequest } from 'node:http';
import { createRequire } from 'node:module';
import { join } from 'node:path';
import { after, before, test as plainTest } from 'node:test';
import { launch, open } from './browser.mjs';
import { cleanUp, openLink, PROGRAM, Project, saveRun, stop } from './program.mjs';
import { GATE, GATE_REPLIES, hatsProject, LOOP, LOOP_REPLIES, pieceProject, reviewProject, stepsProject, TASK } from './real_projects.mjs';

const test = (name, work) => plainTest(name, { skip: PROGRAM ? false : 'set SAIHAI to the program', timeout: 90_000 }, work);
const axe = readFileSync(createRequire(import.meta.url).resolve('axe-core/axe.min.js'), 'utf8');
const TABS = ['timeline', 'graph', 'transcript', 'changes', 'reports', 'findings', 'cost', 'why'];

let browser;
let long;
before(async () => {
  if (!PROGRAM) return;
  browser = await launch();
  long = longRun();
  long.catch(() => {});
});
after(async () => {
  await browser?.close();
  if (PROGRAM) cleanUp();
});

/** A run of 100,000 events. A slow program makes fewer in the time that a test has. */
const longRun = async () => {
  const project = new Project();
  project.piece(LOOP, LOOP_REPLIES(), { head: 'max_iterations: 100000\n' });
  await project.run(5, 'Ten thousand events', 'it', '--quiet', '--max-iterations', '1700');
  const child = project.startRun('A hundred thousand events', 'it', '--max-iterations', '16700');
  const timer = setTimeout(() => child.kill('SIGTERM'), 45_000);
  await new Promise((done) => child.once('exit', done));
  clearTimeout(timer);
  return project;
};

/** Opens the page of a project, and checks at the end that the browser had no complaint. */
const withPage = async (project, work, words = []) => {
  const server = await project.serve(...words);
  const opened = await openLink(browser, server);
  try {
    await work({ ...opened, server });
    assert.deepEqual(opened.complaints, []);
    assert.deepEqual(await opened.page.evaluate(() => window.violations), []);
  } finally {
    await opened.close();
    await server.stop();
  }
};

const goTo = (page, hash) => page.evaluate((target) => void (location.hash = target), hash);
const goToRun = (page, run, query = '') => goTo(page, `#/run/${run}${query && `?${query}`}`);
const stateLine = (page, words, timeout = 20_000) =>
  page.waitForFunction((text) => document.querySelector('.state-line')?.textContent.includes(text), words, { timeout, polling: 50 });

const assertAccessible = async (page, name) => {
  await page.evaluate(`window.axe || (() => { ${axe}; })()`);
  const found = await page.evaluate(async () => {
    const result = await window.axe.run(document, { runOnly: ['wcag2a', 'wcag2aa', 'wcag21a', 'wcag21aa', 'best-practice'], resultTypes: ['violations'] });
    return result.violations.map((rule) => `${rule.id}: ${rule.nodes.slice(0, 3).map((node) => `${node.target} ${node.failureSummary?.split('\n')[1] ?? ''}`).join(' | ')}`);
  });
  assert.deepEqual(found, [], name);
};

/** Opens every tab of the shown run. */
const everyTab = async (page, look = async () => {}) => {
  const shown = [];
  for (const tab of TABS) {
    const button = page.locator(`#tab-${tab}`);
    if ((await button.count()) === 0) continue;
    await button.click();
    await page.waitForSelector(`.view-${tab}`);
    await page.waitForFunction(() => !document.querySelector('main .loading'));
    await look(tab);
    shown.push(tab);
  }
  return shown;
};

// V-4, V-11, V-14
test('every view of every dialect', async () => {
  const [piece, hats, steps, review] = [await pieceProject(), hatsProject(), stepsProject(), await reviewProject()];
  await Promise.all([
    piece.run(0, TASK).then(() => piece.saihai(0, 'fork', 'last')),
    hats.run(0, 'Write a parser for dates', 'orch'),
    steps.saihai(0, 'run', 'it', '--script', 'it.script.yaml'),
    review.saihai(1, 'review', '--script', 'review.script.yaml'),
  ]);
  await withPage(piece, async ({ page }) => {
    await page.waitForSelector('.runs .run');
    assert.equal(await page.locator('.runs .run').count(), 5);
    await assertAccessible(page, 'home');
    for (const project of [piece, hats, steps, review]) {
      const [run] = project.runs();
      await goToRun(page, run);
      await page.waitForSelector('.chart .bar');
      const dialect = await page.textContent('.facts');
      const shown = await everyTab(page, async (tab) => {
        if (['graph', 'transcript'].includes(tab)) await assertAccessible(page, `${tab} of ${dialect}`);
        if (tab === 'transcript') await page.waitForSelector('.texts-body section');
        if (tab === 'graph') {
          assert.ok((await page.locator('.graph [data-stage].taken').count()) > 0, dialect);
          // The drawing of a step agent has no end if no rule leads to one.
          if (project !== steps) assert.equal(await page.locator('.graph .complete.taken, .graph .abort.taken').count(), 1, dialect);
        }
        if (tab === 'why') assert.equal(await page.locator('.exits .is-end').count(), 1, dialect);
      });
      assert.equal(shown.includes('findings'), project === review);
      assert.equal(shown.includes('reports'), project === piece);
    }
    const [parent, fork] = piece.runs();
    for (const [hash, ready] of [['#/plots', '.plot canvas'], ['#/batch', '.first, .issue'], ['#/search?q=tests', '.hits li'], [`#/compare/${parent}/${fork}`, '.compare-path']]) {
      await goTo(page, hash);
      await page.waitForSelector(ready);
      await assertAccessible(page, hash);
    }
  }, ['--projects', ...[piece, hats, steps, review].map(({ root }) => root)]);
});

// V-2, V-8
test('a live run appears, streams and ends without a reload', async () => {
  const project = new Project();
  project.piece(`
  - name: think
    rules: [{condition: go, next: say}]
  - {name: say, shell: "for i in 1 2 3 4 5 6 7 8; do echo line $i; sleep 0.25; done", rules: [{condition: exit(0), next: COMPLETE}, {condition: 'exit(1..)', next: ABORT}]}
`, '  - {for: think, delay: 1, text: "[STEP:0]"}\n');
  await project.saihai(0, 'trust', '.takt/pieces/it.yaml');
  await withPage(project, async ({ page }) => {
    await page.waitForSelector('.first');
    await page.evaluate(() => (window.isSamePage = true));
    const child = project.startRun('Say eight lines');
    await page.waitForSelector('.runs .state-running, .runs .run', { timeout: 20_000 });
    await page.getByRole('link', { name: 'Say eight lines' }).click();
    await page.waitForSelector('.chart .bar');
    await page.locator('#tab-transcript').click();
    const texts = new Set();
    for (let look = 0; look < 200; look += 1) {
      const text = await page.evaluate(() => document.querySelector('pre.live')?.textContent ?? null);
      if (text) texts.add(text);
      if (text === null && texts.size > 0) break;
      await page.waitForTimeout(40);
    }
    assert.ok(texts.size >= 3, [...texts].join('---'));
    // Each text is the end of the same output: no line appears twice.
    for (const text of texts) assert.equal(text.match(/line 1$/gm)?.length ?? 0, 1, text);
    await stateLine(page, 'completed');
    await new Promise((done) => (child.exitCode === null ? child.once('exit', done) : done()));
    await page.waitForFunction(() => /line 8/.test(document.querySelector('.texts')?.textContent ?? ''));
    assert.equal(await page.evaluate(() => window.isSamePage), true);
  });
});

// V-6
test('a gate is answered and the run resumed with the mouse', async () => {
  const project = new Project();
  project.piece(GATE, GATE_REPLIES);
  await project.run(6);
  await withPage(project, async ({ page }) => {
    await page.waitForFunction(() => document.title === '(1) Saihai');
    await page.locator('.runs .run .name').first().click();
    await page.locator('.gate textarea').click();
    await page.keyboard.type('Blue <b>and</b> green.');
    await page.getByRole('button', { name: 'Send answer' }).click();
    await page.waitForFunction(() => document.querySelector('.state-line').textContent.includes('answered'));
    await page.locator('.menu summary').click();
    await page.getByRole('button', { name: 'Resume the run' }).click();
    await page.locator('dialog').getByRole('button', { name: 'Resume', exact: true }).click();
    await page.waitForSelector('dialog .done, dialog .error');
    assert.equal(await page.locator('dialog .error').allTextContents().then(String), '');
    await stateLine(page, 'completed');
    assert.equal(await page.locator('dialog .done').count(), 1);
    await page.keyboard.press('Escape');
  });
  const asked = project.journal().filter((event) => event.fact?.asked).at(-1);
  assert.match(asked.fact.asked.prompt.inline, /Blue <b>and<\/b> green\./);
});

// V-2
test('a killed run is interrupted at once', async () => {
  const project = new Project();
  project.piece(LOOP, LOOP_REPLIES(', delay: 60s'));
  await withPage(project, async ({ page }) => {
    const child = project.startRun('A long turn');
    await page.getByRole('link', { name: 'A long turn' }).click();
    await page.waitForSelector('.chart .bar');
    await stateLine(page, 'running');
    const begin = performance.now();
    await stop(child, 'SIGKILL');
    await stateLine(page, 'interrupted');
    console.log(`V-2 kill -9 to \`interrupted\` in the page: ${Math.round(performance.now() - begin)} ms`);
    await goTo(page, '#/');
    await page.waitForFunction(() => document.querySelector('.runs .run .state')?.textContent === 'interrupted', null, { timeout: 20_000 });
  });
});

// V-10, T-87
test('hostile text is inert', async () => {
  const evil = '<img src=x onerror="window.__pwned=1"></script><script>window.__pwned=1</script> [x](javascript:window.__pwned=1) \u001b[31mred\u202eevil';
  const quoted = JSON.stringify(evil);
  const project = new Project('<b>shop');
  project.piece(`
  - name: plan
    description: ${quoted}
    report: {name: "<img src=x onerror=window.__pwned=1>.md"}
    rules: [{condition: ${quoted}, next: ask}]
  - name: ask
    rules: [{condition: need words, next: COMPLETE, requires_user_input: true}]
`, `  - {for: plan, text: ${JSON.stringify(`${evil}\n\n[STEP:0]`)}, tools_used: [{name: ${quoted}, input: {command: ${quoted}}, output: ${quoted}}]}
  - {for: ask, text: ${JSON.stringify(`${evil}\n\n[STEP:0]`)}}
`);
  await project.run(6, evil);
  const look = async (page, name) => {
    assert.equal(await page.evaluate(() => window.__pwned), undefined, name);
    assert.equal(await page.locator('main img, main script, main iframe, main style').count(), 0, name);
    for (const link of await page.locator('main a').evaluateAll((links) => links.map((entry) => entry.getAttribute('href')))) assert.match(link, /^(#|https?:)/, name);
    assert.doesNotMatch(await page.textContent('main'), /[\u001b\u202e]/, name);
    assert.match(await page.textContent('main'), /<img src=x onerror="window\.__pwned=1">.*␛\[31mred⟨U\+202E⟩evil/s, name);
  };
  await withPage(project, async ({ page }) => {
    await page.waitForSelector('.runs .run');
    await look(page, 'home');
    await goToRun(page, project.runs()[0]);
    await page.waitForSelector('.gate');
    const shown = await everyTab(page, (tab) => look(page, tab));
    assert.ok(shown.includes('reports'));
    await goTo(page, '#/search?q=onerror');
    await page.waitForSelector('.hits li');
    assert.equal(await page.evaluate(() => window.__pwned), undefined);
  });
  const file = join(project.home, 'run.html');
  await saveRun(project, 'last', file);
  const { page, close } = await open(browser);
  await page.goto(`file://${file}`);
  await page.waitForSelector('.chart .bar');
  await everyTab(page, (tab) => look(page, `saved ${tab}`));
  await close();
});

// V-10
test('a foreign site changes nothing and reads nothing', async () => {
  const project = new Project();
  project.piece(GATE, GATE_REPLIES);
  await project.run(6);
  const [run] = project.runs();
  const server = await project.serve();
  const foreign = createServer((_, response) => {
    response.writeHead(200, { 'content-type': 'text/html' });
    response.end('<!doctype html><title>foreign</title>');
  });
  await new Promise((done) => foreign.listen(0, '127.0.0.1', done));
  const { page, close } = await openLink(browser, server);
  try {
    // Another port of the same host: the browser sends the cookie even if it is SameSite=Strict.
    const other = await page.context().newPage();
    for (const host of ['127.0.0.1', 'localhost']) {
      await other.goto(`http://${host}:${foreign.address().port}/`);
      const read = await other.evaluate(async ([target, id]) => {
        const found = [];
        const body = JSON.stringify({ call: 'ask/input[0].1.1.1', yes: null, text: 'Evil.' });
        for (const path of ['', 'api/home', `api/runs/${id}`, `api/runs/${id}/calls/ask.1.1.1`, 'app.js', 'metrics']) {
          for (const mode of ['cors', 'no-cors']) {
            await fetch(`${target}/${path}`, { mode, credentials: 'include' }).then(async (answer) => found.push(`${mode} ${path} ${answer.type} ${(await answer.text()).length}`), () => {});
          }
        }
        for (const [mode, type] of [['cors', 'application/json'], ['cors', 'text/plain'], ['no-cors', 'text/plain'], ['no-cors', 'application/json']]) {
          await fetch(`${target}/api/runs/${id}/answer`, { method: 'POST', mode, credentials: 'include', headers: { 'content-type': type }, body }).then(async (answer) => found.push(`POST ${mode} ${answer.type} ${(await answer.text()).length}`), () => {});
        }
        const stream = new EventSource(`${target}/api/events`, { withCredentials: true });
        stream.onmessage = (message) => found.push(`stream ${message.data}`);
        const frame = document.createElement('iframe');
        frame.src = `${target}/`;
        frame.name = 'inside';
        document.body.append(frame);
        for (const action of ['answer', 'cancel']) {
          const form = document.createElement('form');
          Object.assign(form, { method: 'post', enctype: 'text/plain', target: 'inside', action: `${target}/api/runs/${id}/${action}` });
          const field = document.createElement('input');
          Object.assign(field, { name: '{"call":"ask/input[0].1.1.1","yes":null,"text":"Evil.","x":"', value: '"}' });
          form.append(field);
          document.body.append(form);
          form.submit();
          await new Promise((done) => setTimeout(done, 150));
        }
        stream.close();
        try {
          found.push(`frame ${frame.contentDocument.body.textContent}`);
        } catch {
          // The frame is closed to this site, as it should be.
        }
        return found.filter((entry) => !/ opaque 0$/.test(entry) && entry !== 'frame null' && entry !== 'frame ');
      }, [server.origin, run]);
      assert.deepEqual(read, [], host);
    }
    const types = new Set(project.journal().map((event) => Object.keys(event.fact ?? event.decision)[0]));
    assert.ok(!types.has('answered') && !types.has('cancelled'), [...types].join());
    await goToRun(page, run);
    await page.waitForSelector('.gate form');
  } finally {
    await close();
    foreign.close();
    await server.stop();
  }
});

// V-9
test('a saved run opens from disk, offline', async () => {
  const project = await pieceProject();
  await project.run(0, TASK);
  const file = join(project.home, 'run.html');
  const whole = await saveRun(project, 'last', file);
  assert.match(whole, /## Execution Context/);
  const { page, complaints, close } = await open(browser);
  await page.context().setOffline(true);
  const requests = [];
  page.on('request', (request) => !request.url().startsWith('file:') && requests.push(request.url()));
  await page.goto(`file://${file}`);
  await page.waitForSelector('.chart .bar');
  const tabs = ['timeline', 'graph', 'transcript', 'changes', 'reports', 'cost', 'why'];
  assert.deepEqual(await everyTab(page), tabs);
  await page.locator('#tab-transcript').click();
  await page.waitForSelector('.prompt');
  const short = await saveRun(project, 'last', file, '--without-prompts');
  assert.doesNotMatch(short, /Execution Context|Movement iteration/);
  await page.goto(`file://${file}`);
  await page.waitForSelector('.chart .bar');
  assert.deepEqual(await everyTab(page), tabs);
  await page.locator('#tab-transcript').click();
  await page.waitForSelector('.reply');
  assert.equal(await page.locator('.prompt').count(), 0);
  assert.deepEqual(requests, []);
  assert.deepEqual(complaints, []);
  await close();
});

// V-6, V-20
test('a note is given and withdrawn, and a fork opens', async () => {
  const project = new Project();
  project.piece(LOOP, LOOP_REPLIES());
  await project.run(5, 'The task.', 'it', '--budget', 'turns=3');
  const [run] = project.runs();
  await withPage(project, async ({ page }) => {
    await goToRun(page, run, 'call=check.1.1.1');
    await page.waitForSelector('.chart .bar.is-selected');
    const act = async (entry, work) => {
      await page.locator('.menu summary').click();
      await page.getByRole('button', { name: entry }).click();
      await work();
      await page.waitForSelector('dialog .done');
    };
    await act('Give the agents a note', async () => {
      await page.getByLabel('Note', { exact: true }).fill('Use tabs.');
      await page.locator('dialog').getByRole('button', { name: 'Send note' }).click();
    });
    await page.keyboard.press('Escape');
    await page.waitForSelector('.notes li');
    await page.getByRole('button', { name: 'Withdraw' }).click();
    await page.waitForSelector('.notes .is-withdrawn');
    await act('Fork the run', async () => {
      assert.match(await page.textContent('dialog fieldset'), /check/);
      await page.locator('dialog').getByRole('button', { name: 'Fork', exact: true }).click();
    });
    await page.getByRole('link', { name: 'Open the new run' }).click();
    await page.waitForFunction((parent) => location.hash.startsWith('#/run/') && !location.hash.includes(`${parent}?`), run);
    await page.waitForFunction((parent) => document.querySelector('.facts')?.textContent.includes(parent), run);
    await page.waitForSelector('.chart .bar');
  });
  const fork = project.runs().at(-1);
  // The fork ends before the prompt of `check`, so it asks again.
  const asked = project.journal(fork).filter((event) => event.fact?.asked).map((event) => event.fact.asked.call.stage);
  assert.deepEqual(asked, ['build']);
});

/** A proxy that can lose its connections. The server sees its own address. */
const proxyTo = async (server) => {
  const state = { isDown: false };
  const proxy = createServer((request, response) => {
    if (state.isDown) return request.socket.destroy();
    const headers = { ...request.headers, host: new URL(server.origin).host };
    if (headers.origin) headers.origin = server.origin;
    const onward = httpRequest(`${server.origin}${request.url}`, { method: request.method, headers }, (answer) => {
      response.writeHead(answer.statusCode, answer.headers);
      answer.pipe(response);
    });
    onward.on('error', () => response.destroy());
    response.on('close', () => onward.destroy());
    request.pipe(onward);
    return undefined;
  });
  await new Promise((done) => proxy.listen(0, '127.0.0.1', done));
  return {
    origin: `http://127.0.0.1:${proxy.address().port}`,
    lose: () => {
      state.isDown = true;
      proxy.closeAllConnections();
    },
    restore: () => (state.isDown = false),
    close: () => {
      proxy.closeAllConnections();
      proxy.close();
    },
  };
};

// V-8
test('a lost connection is shown and continued', async () => {
  const project = new Project();
  project.piece(LOOP, LOOP_REPLIES());
  await project.run(5, 'The task.', 'it', '--budget', 'turns=2');
  const server = await project.serve();
  const proxy = await proxyTo(server);
  const { page, close } = await openLink(browser, { link: server.link.replace(server.origin, proxy.origin) });
  try {
    await goToRun(page, project.runs()[0]);
    await page.waitForFunction(() => document.querySelectorAll('.figures dd')[2]?.textContent === '2');
    await page.evaluate(() => (window.isSamePage = true));
    proxy.lose();
    await page.waitForFunction(() => document.querySelector('.connection').textContent.includes('connection lost'));
    await project.saihai(5, 'resume', 'last', '--budget', 'turns=6', '--quiet');
    proxy.restore();
    await page.waitForFunction(() => document.querySelector('.connection').textContent === '' && document.querySelectorAll('.figures dd')[2].textContent === '6', null, { timeout: 40_000 });
    assert.equal(await page.evaluate(() => window.isSamePage), true);
    assert.equal(await page.locator('.error').count(), 0);
  } finally {
    await close();
    proxy.close();
    await server.stop();
  }
});

// V-10
test('a server that was started again asks for its new link', async () => {
  const project = new Project();
  project.piece(GATE, GATE_REPLIES);
  await project.run(6);
  const server = await project.serve();
  const { page, close } = await openLink(browser, server);
  await page.waitForSelector('.runs .run');
  await server.stop();
  await page.waitForFunction(() => document.querySelector('.connection').textContent.includes('connection lost'));
  // Longer than the first attempts to connect again.
  await page.waitForTimeout(1800);
  const second = await project.serve('--port', String(server.port));
  await page.waitForSelector('.error', { timeout: 40_000 });
  assert.match(await page.textContent('.error'), /Open the newest link/);
  await page.goto(second.link);
  await page.waitForSelector('.runs .run');
  await close();
  await second.stop();
});

const percentile = (sorted, share) => sorted[Math.min(sorted.length - 1, Math.ceil(sorted.length * share) - 1)];

// V-12
test('events reach the screen soon', async () => {
  // The long run is made by now, so that it does not take the processor from this one.
  await long;
  const project = new Project();
  project.piece(LOOP, LOOP_REPLIES(), { head: 'max_iterations: 70\n' });
  // Delays below a second exist only in this format of scripts.
  project.write('turns.json', JSON.stringify(Array.from({ length: 70 }, () => ({ content: 'Next.\n[STEP:0]', delay_ms: 110 }))));
  await withPage(project, async ({ page }) => {
    const child = project.startRun('Many short turns', 'it', '--script', 'turns.json');
    await page.getByRole('link', { name: 'Many short turns' }).click();
    await page.waitForSelector('.figures');
    // Each round has a number. Note when the page first shows it.
    await page.evaluate(() => {
      window.seen = {};
      const look = () => {
        const value = Number(document.querySelectorAll('.figures dd')[1]?.textContent);
        if (value && !window.seen[value]) window.seen[value] = performance.timeOrigin + performance.now();
      };
      look();
      new MutationObserver(look).observe(document.body, { subtree: true, childList: true, characterData: true });
    });
    await new Promise((done) => child.once('exit', done));
    await stateLine(page, 'max_iterations');
    const seen = Object.entries(await page.evaluate(() => window.seen)).map(([iteration, at]) => [Number(iteration), at]);
    const events = project.journal();
    const times = [];
    for (const event of events) {
      const iteration = event.decision?.round?.iteration;
      // A page that opens in the middle did not wait for the rounds before.
      if (!iteration || iteration <= seen[0][0]) continue;
      const shown = seen.find(([value]) => value >= iteration);
      if (shown) times.push(shown[1] - Date.parse(event.at));
    }
    times.sort((a, b) => a - b);
    const span = (Date.parse(events.at(-1).at) - Date.parse(events[0].at)) / 1000;
    console.log(`V-12 event to pixel: p50 ${Math.round(percentile(times, 0.5))} ms, p99 ${Math.round(percentile(times, 0.99))} ms, ${times.length} updates at ${Math.round(events.length / span)} events/s`);
    assert.ok(times.length >= 40, String(times.length));
  });
});

// V-12, V-14
test('long runs are painted', async () => {
  const project = await long;
  const runs = project.runs();
  await withPage(project, async ({ page }) => {
    for (const run of runs.slice(0, 2)) {
      await goTo(page, '#/');
      await page.waitForSelector('.runs .run');
      const paint = (hash, ready) => page.evaluate(async ([target, selector]) => {
        const begin = performance.now();
        location.hash = target;
        while (!document.querySelector(selector)) await new Promise(requestAnimationFrame);
        await new Promise(requestAnimationFrame);
        return Math.round(performance.now() - begin);
      }, [hash, ready]);
      const first = await paint(`#/run/${run}`, '.chart .bar');
      const views = [];
      for (const [view, ready] of [['graph', '.graph svg'], ['transcript', '.call-list .call'], ['cost', '.view-cost'], ['why', '.exits li']]) {
        views.push(`${view} ${await paint(`#/run/${run}?view=${view}`, ready)}`);
      }
      const events = project.journal(run).length;
      console.log(`V-12 paint of ${events} events: ${first} ms with the server; then ${views.join(', ')} ms`);
      assert.ok(events > (run === runs[0] ? 10_000 : 20_000), String(events));
    }
  });
});
