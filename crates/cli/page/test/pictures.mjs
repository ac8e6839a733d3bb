// Takes pictures of the page with the real program: `SAIHAI=… node test/pictures.mjs DIR [ja] [WORD…]`.
// `SAIHAI=… node test/pictures.mjs manual` writes the pictures of the manual; it needs pngquant.
import { execFileSync } from 'node:child_process';
import { mkdirSync } from 'node:fs';
import { launch } from './browser.mjs';
import { cleanUp, openLink, Project } from './program.mjs';
import { hatsProject, reviewProject, stepsProject } from './real_projects.mjs';

const [place = '/tmp/page-pictures', ...wanted] = process.argv.slice(2);
const isManual = place === 'manual';
const directory = isManual ? new URL('../../../../docs/images', import.meta.url).pathname : place;
mkdirSync(directory, { recursive: true });

const reply = (where, words, tag, delay, cost, more = {}) => ({
  for: where, text: `${words}\n\n[STEP:${tag}]`, delay, cost, usage: { input: Math.round(cost * 420_000), output: Math.round(cost * 26_000), cached: Math.round(cost * 290_000), reasoning: Math.round(cost * 5000) },
  tools_used: [{ name: 'Read', input: { file_path: 'src/list.rs' }, output: 'pub fn list() {', duration_ms: delay * 180 }, { name: 'Bash', input: { command: 'cargo test' }, output: 'test result: ok. 14 passed', duration_ms: delay * 260 }], ...more,
});
const work = (pace) => [
  reply('plan', 'Three files change. The text output stays as it is.', 0, 2 * pace, 0.06),
  reply('implement', 'The flag and two printers are in place.\n\nAll 14 tests pass.', 0, 5 * pace, 0.21, { writes: [{ path: 'src/list.rs', content: 'pub fn list(format: Format) {\n    match format {\n        Format::Text => print_text(),\n        Format::Json => print_json(),\n    }\n}\n' }] }),
  reply('review/correctness', 'The change does what the plan says.', 0, 3 * pace, 0.05),
  reply('review/tests', 'The empty list has no test.', 1, 4 * pace, 0.06),
  reply('review/security', 'No new input reaches a shell.', 0, 2 * pace, 0.04),
  reply('fix', 'The empty list has a test now.', 0, 3 * pace, 0.08, { writes: [{ path: 'tests/list.rs', content: '#[test]\nfn an_empty_list_prints_nothing() {}\n' }] }),
  reply('review/correctness', 'Nothing else changed.', 0, 2 * pace, 0.05),
  reply('review/tests', 'Every branch has a test now.', 0, 3 * pace, 0.05),
  reply('review/security', 'Still no new input.', 0, 2 * pace, 0.04),
  reply('supervise', '`list --json` prints one object per line, as asked.', 0, 2 * pace, 0.05),
];
const project = new Project('shop');
project.write('src/list.rs', 'pub fn list() {\n    print_text();\n}\n').write('.gitignore', '.saihai/runs\n.takt/reports\n*.json\n');
await project.repository();
const script = (name, replies, more = {}) => project.write(`${name}.json`, JSON.stringify({ script: 1, strict: false, replies, ...more }));
const run = (code, name, task, ...words) => project.saihai(code, 'run', 'default', task, '--script', `${name}.json`, '--quiet', ...words);
script('whole', work(isManual ? 1 : 0.5).map((entry) => ({ ...entry, delay: Math.max(1, Math.round(entry.delay)) })));
script('quick', work(0));
script('question', [reply('plan', 'The blank page comes from the old session cookie.\n\nMay I drop support for the old cookie? Users have to log in once more.', 1, 0, 0.05)]);
script('fails', [...work(0).slice(0, 5), reply('fix', 'The helper in tests/common.rs does not exist.', 1, 0, 0.07)]);
script('slow', [...work(0).slice(0, 2), ...work(0).slice(2, 5).map((entry, index) => ({ ...entry, delay: index === 1 ? 600 : 0 }))]);
await run(0, 'quick', 'Update the dependencies', '--budget', 'usd=2');
await run(1, 'fails', 'Remove the old importer', '--budget', 'usd=2');
await run(5, 'quick', 'Translate the manual', '--budget', 'usd=0.30');
await run(0, 'whole', 'Add a --json flag to the list command\n\nPrint one JSON object per line. Keep the text output as it is.', '--budget', 'usd=2');
await run(6, 'question', 'The page is blank after login', '--budget', 'usd=5');
const slow = project.start('run', 'default', 'Speed up the search of the shop', '--script', 'slow.json', '--quiet', '--budget', 'usd=2,turns=20');
slow.stdout.resume();
await new Promise((done) => setTimeout(done, 1200));

const find = (words, of = project) => of.runs().find((name) => name.includes(words));
const views = { home: ['#/', '.runs .run'], run: [`#/run/${find('add-a-json')}`, '.chart .bar'], graph: [`#/run/${find('add-a-json')}?view=graph${isManual ? '&size=whole' : ''}`, '.visit-count'] };
const projects = [project];
if (!isManual) {
  const stages = Array.from({ length: 20 }, (_, index) => `  - name: step-number-${index + 1}\n    rules: [{condition: done, next: ${index < 19 ? `step-number-${index + 2}` : 'COMPLETE'}}]\n`).join('');
  project.piece(stages, '  - {times: "*", text: "[STEP:0]"}\n', { name: 'twenty', head: 'max_iterations: 40\n' });
  await project.run(0, '検索画面に表示される商品の並び順を、価格・評価・発売日の三つから選べるようにして、選んだ並び順をブラウザーに保存する', 'twenty', '--quiet');
  project.piece('  - {name: only, rules: [{condition: done, next: COMPLETE}]}\n', '  - {text: "Done.\\n[STEP:0]"}\n', { name: 'one' });
  await project.run(0, `One turn with a very long title ${'that goes on and on and says every detail of the task '.repeat(5)}AndOneVeryLongWord${'x'.repeat(120)}`, 'one', '--quiet');
  const [hats, steps, review] = [hatsProject(), stepsProject(), await reviewProject()];
  await hats.run(0, 'Write a parser for dates', 'orch', '--quiet');
  await steps.saihai(0, 'run', 'it', '--script', 'it.script.yaml', '--quiet');
  await review.saihai(1, 'review', '--script', 'review.script.yaml', '--quiet');
  projects.push(hats, steps, review);
  const tab = (id, name) => `#/run/${id}?view=${name}`;
  const main = find('add-a-json');
  Object.assign(views, {
    transcript: [tab(main, 'transcript'), '.reply'], changes: [tab(main, 'changes'), '.diff'], reports: [tab(main, 'reports'), '.reply'], cost: [tab(main, 'cost'), '.plot canvas'], why: [tab(main, 'why'), '.exits li'],
    gate: [`#/run/${find('blank')}`, '.gate form'], running: [`#/run/${find('speed-up')}`, '.chart .bar'], parked: [`#/run/${find('translate')}`, '.chart .bar'], failed: [tab(find('remove'), 'graph'), '.visit-count'],
    twenty: [`#/run/${project.runs().at(-2)}`, '.chart .bar'], 'twenty-graph': [tab(project.runs().at(-2), 'graph'), '.visit-count'], one: [`#/run/${project.runs().at(-1)}`, '.chart .bar'], 'one-cost': [tab(project.runs().at(-1), 'cost'), '.view-cost'], 'one-changes': [tab(project.runs().at(-1), 'changes'), '.view-changes'],
    hats: [`#/run/${hats.runs()[0]}`, '.chart .bar'], 'hats-graph': [tab(hats.runs()[0], 'graph'), '.graph svg'], steps: [`#/run/${steps.runs()[0]}`, '.chart .bar'], 'steps-graph': [tab(steps.runs()[0], 'graph'), '.graph svg'],
    review: [`#/run/${review.runs()[0]}`, '.chart .bar'], 'review-graph': [tab(review.runs()[0], 'graph'), '.graph svg'], findings: [tab(review.runs()[0], 'findings'), '.findings'], 'review-transcript': [tab(review.runs()[0], 'transcript'), '.texts-body section'],
    plots: ['#/plots', '.plot canvas'], batch: ['#/batch', '.first'], search: ['#/search?q=list', '.hits li'], compare: [`#/compare/${main}/${find('update')}`, '.compare-path'],
  });
}
const isJapanese = wanted.includes('ja');
const names = wanted.filter((name) => name !== 'ja');
const sizes = isManual ? [['light', 1100, 640]] : ['light', 'dark'].flatMap((theme) => [[theme, 1280, 800], [theme, 360, 740]]);
const browser = await launch();
for (const [theme, width, height] of sizes) {
  const server = await project.serve(...(isManual ? [] : ['--projects', ...projects.map(({ root }) => root)]));
  const { page, complaints, close } = await openLink(browser, server, { theme, width, height, locale: isJapanese ? 'ja-JP' : 'en-US' });
  for (const [name, [hash, ready]] of Object.entries(views)) {
    if (names.length > 0 && !names.includes(name)) continue;
    await page.goto(`${server.origin}/${hash}`);
    await page.waitForSelector(ready).catch(() => console.log(`${name} ${width} ${theme}: not ready`));
    await page.waitForTimeout(250);
    const file = isManual ? `${directory}/page-${name}.png` : `${directory}/${name}-${width}-${theme}${isJapanese ? '-ja' : ''}.png`;
    if (isManual && name === 'graph') {
      await page.setViewportSize({ width: 1100, height: 1100 });
      await page.waitForTimeout(250);
    }
    await page.screenshot({ path: file });
    if (isManual) execFileSync('pngquant', ['--force', '--strip', '--speed', '1', '--output', file, '48', file]);
  }
  if (complaints.length > 0) console.log(width, theme, [...new Set(complaints)]);
  await close();
  await server.stop();
}
await browser.close();
cleanUp();
