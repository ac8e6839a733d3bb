// Opens pages in Chromium and collects what the browser complains about.
import { readFileSync, writeFileSync } from 'node:fs';
import { chromium } from 'playwright-core';

const path = (name) => new URL(`../${name}`, import.meta.url).pathname;

export const launch = () =>
  chromium.launch({
    executablePath: process.env.CHROMIUM ?? '/usr/bin/chromium',
    args: process.getuid?.() === 0 ? ['--no-sandbox'] : [],
  });

/** Opens a page. `complaints` collects console errors, failed policies and exceptions. */
export const open = async (browser, { width = 1280, height = 800, theme = 'light', locale = 'en-US' } = {}) => {
  const context = await browser.newContext({ viewport: { width, height }, colorScheme: theme, locale, reducedMotion: 'reduce' });
  await context.addInitScript(() => {
    window.violations = [];
    document.addEventListener('securitypolicyviolation', (event) => window.violations.push(`${event.violatedDirective} ${event.blockedURI} ${event.sample}`));
  });
  const page = await context.newPage();
  const complaints = [];
  page.on('console', (message) => ['error', 'warning'].includes(message.type()) && complaints.push(message.text()));
  page.on('pageerror', (error) => complaints.push(String(error.stack ?? error)));
  return { page, complaints, close: () => context.close() };
};

/** Writes one file with a run inside, as `saihai show --html` does. */
export const writeSaved = (saved, file) => {
  const json = JSON.stringify(saved).replaceAll('</', '<\\/').replaceAll('<!--', '<\\u0021--');
  const html = readFileSync(path('dist/index.html'), 'utf8')
    .replace(/<link rel="stylesheet"[^>]*>/, () => `<style>${readFileSync(path('dist/app.css'), 'utf8')}</style>`)
    
    .replace(/<link rel="icon"[^>]*>\n/, '')
    .replace(/<script src[^>]*><\/script>\n/, '')
    .replace('</body>', () => `<script type="application/json" id="saved">${json}</script>\n<script>${readFileSync(path('dist/app.js'), 'utf8')}</script>\n</body>`);
  writeFileSync(file, html);
};

export const RUN = {
  finished: '20260206-081500-add-a-json-flag',
  forked: '20260206-090000-add-a-json-flag-2',
  gate: '20260206-085600-a-page-is-blank',
  running: '20260206-091200-speed-up-search',
  parked: '20260205-161000-translate-the-manual',
  interrupted: '20260205-120000-rename-the-tables',
  review: '20260206-070000-review-main',
  hats: '20260206-060000-write-a-parser',
  large: '20260201-000000-large',
  hostile: '20260206-000000-hostile<b>&"',
};

const run = (name, query) => `#/run/${encodeURIComponent(RUN[name])}?${query}`;

/** Every view, with an element that shows it is ready. */
export const VIEWS = {
  home: ['#/', '.runs .run'],
  filtered: ['#/?state=completed&definition=default', '.runs .run'],
  plots: ['#/plots', '.plot canvas'],
  batch: ['#/batch', '.issue'],
  search: ['#/search?q=tests', '.hits li'],
  compare: [`#/compare/${RUN.finished}/${RUN.forked}`, '.diff'],
  timeline: [run('finished', 'view=timeline&call=review%2F1%2Ftests'), '.chart .bar'],
  graph: [run('finished', 'view=graph'), '.graph .visit-count'],
  transcript: [run('finished', 'view=transcript&call=fix%2F1%2Fturn'), '.reply'],
  changes: [run('finished', 'view=changes'), '.diff'],
  'changes-by-turn': [run('finished', 'view=changes&by=turn'), '.diff'],
  reports: [run('finished', 'view=reports'), '.reply'],
  cost: [run('finished', 'view=cost'), '.plot canvas'],
  why: [run('finished', 'view=why'), '.exits li'],
  gate: [run('gate', ''), '.gate form'],
  running: [run('running', 'view=transcript&call=review%2F1%2Ftests'), 'pre.live'],
  'running-timeline': [run('running', ''), '.chart .bar'],
  parked: [run('parked', 'view=timeline'), '.chart .cut'],
  interrupted: [run('interrupted', 'view=cost'), '.plot canvas'],
  findings: [run('review', 'view=findings'), '.findings td'],
  hats: [run('hats', 'view=timeline'), '.chart .bar'],
  'hats-graph': [run('hats', 'view=graph'), '.graph svg'],
};
