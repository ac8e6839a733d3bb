// A server with the fixtures, the real content security policy, and an event stream.
import { existsSync, readFileSync, readdirSync } from 'node:fs';
import { createServer } from 'node:http';
import { NOW } from '../fixtures/build.mjs';
import { hostile, large, manyRows } from '../fixtures/extreme.mjs';

const path = (name) => new URL(`../${name}`, import.meta.url).pathname;
const read = (name) => JSON.parse(readFileSync(path(`fixtures/${name}.json`), 'utf8'));
const TYPES = { html: 'text/html; charset=utf-8', js: 'text/javascript; charset=utf-8', css: 'text/css; charset=utf-8', txt: 'text/plain; charset=utf-8', svg: 'image/svg+xml' };

/** Moves all times so that the fixtures were read just now. */
export const shifted = (value, by) => {
  if (typeof value === 'number') return value > 1.6e12 && value < 2e12 ? value + by : value;
  if (Array.isArray(value)) return value.map((item) => shifted(item, by));
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, item]) => [key, shifted(item, by)]));
  return value;
};

/** Starts the server. Options: `home` replaces the list, `rows` adds rows, `isReadOnly`, `isUnauthorized`, `extreme`. */
export const start = async (options = {}) => {
  const by = Date.now() - NOW;
  const saved = new Map();
  for (const file of readdirSync(path('fixtures')).filter((name) => name.endsWith('.json'))) {
    const value = read(file.slice(0, -5));
    if (value.run) saved.set(value.run.row.id, shifted(value, by));
  }
  if (options.extreme) {
    for (const extra of [large(), hostile(read('gate'))]) saved.set(extra.run.row.id, shifted(extra, by));
  }
  const home = shifted(options.home ?? read('home'), by);
  if (options.extreme) home.runs.unshift([...saved.values()].at(-1).run.row);
  if (options.many) home.runs.push(...manyRows(home.runs.at(-1)));
  home.read_only = options.isReadOnly ?? false;
  const state = { posts: [], streams: new Set(), isUnauthorized: options.isUnauthorized ?? false, isDown: false };

  const api = (parts, query) => {
    const run = saved.get(parts[2]);
    switch (parts[1]) {
      case 'home':
        return home;
      case 'batch':
        return options.batch ?? shifted(read('batch'), by);
      case 'search': {
        const q = query.get('q').toLowerCase();
        const hits = [];
        for (const { run: page, texts } of saved.values()) {
          for (const text of texts) {
            for (const part of ['prompt', 'reply']) {
              const at = (text[part] ?? '').toLowerCase().indexOf(q);
              if (at >= 0 && hits.length < 60) hits.push({ run: page.row.id, definition: page.row.definition, started: page.row.started, call: text.call, stage: text.call.split('/')[0], part, before: text[part].slice(Math.max(0, at - 60), at), hit: text[part].slice(at, at + q.length), after: text[part].slice(at + q.length, at + 120) });
            }
          }
        }
        return { hits, has_more: hits.length === 60 };
      }
      case 'runs':
        if (!run) return null;
        if (parts.length === 3) return run.run;
        if (parts[3] === 'calls') return run.texts.find((texts) => texts.call === parts[4]) ?? null;
        if (parts[3] === 'changes') return run.changes;
        if (parts[3] === 'reports') return run.reports.find((report) => report.seq === Number(parts[4]) && report.file === query.get('file')) ?? null;
    }
    return null;
  };

  const post = (parts, body) => {
    state.posts.push({ run: parts[2], action: parts[3], body });
    if (body.text === 'refuse') return { is_done: false, words: 'the gate is closed', run: null };
    return { is_done: true, words: `${parts[3]} recorded; continue with \`saihai resume\``, run: parts[3] === 'fork' ? '20260206-090000-add-a-json-flag-2' : null };
  };

  const server = createServer((request, response) => {
    const url = new URL(request.url, 'http://localhost');
    const parts = url.pathname.split('/').filter(Boolean).map(decodeURIComponent);
    const head = { 'content-security-policy': "default-src 'self'", 'x-content-type-options': 'nosniff', 'referrer-policy': 'no-referrer' };
    const json = (status, value) => {
      response.writeHead(status, { ...head, 'content-type': 'application/json' });
      response.end(JSON.stringify(value));
    };
    if (state.isDown) return response.destroy();
    if (parts[0] !== 'api') {
      const name = parts[0] ?? 'index.html';
      const file = path(`dist/${name}`);
      if (!existsSync(file)) return json(404, { is_done: false, words: 'not found' });
      response.writeHead(200, { ...head, 'content-type': TYPES[name.split('.').at(-1)] });
      return response.end(readFileSync(file));
    }
    if (state.isUnauthorized) return json(401, { is_done: false, words: 'unauthorized' });
    if (parts[1] === 'events') {
      response.writeHead(200, { ...head, 'content-type': 'text/event-stream' });
      const stream = { run: url.searchParams.get('run'), since: Number(url.searchParams.get('since')), response };
      state.streams.add(stream);
      request.on('close', () => state.streams.delete(stream));
      response.write(`data: ${JSON.stringify({ kind: 'rows', is_whole: true, rows: home.runs, gone: [] })}\n\n`);
      return undefined;
    }
    if (request.method === 'POST') {
      let body = '';
      request.on('data', (part) => (body += part));
      request.on('end', () => {
        const reply = post(parts, JSON.parse(body));
        json(reply.is_done ? 200 : 409, reply);
      });
      return undefined;
    }
    const answer = api(parts, url.searchParams);
    return answer ? json(200, answer) : json(404, { is_done: false, words: `no run \`${parts[2]}\`` });
  });
  await new Promise((done) => server.listen(options.port ?? 0, '127.0.0.1', done));
  const send = (event) => {
    for (const { response } of state.streams) response.write(`data: ${JSON.stringify(event)}\n\n`);
  };
  return {
    url: `http://127.0.0.1:${server.address().port}/`,
    state, home, saved, send,
    breakStreams: () => {
      for (const { response } of state.streams) response.destroy();
    },
    close: () => {
      for (const { response } of state.streams) response.destroy();
      server.closeAllConnections();
      return new Promise((done) => server.close(done));
    },
  };
};

// Started by hand: keep a running run alive with output.
if (process.argv[1] === new URL(import.meta.url).pathname) {
  const server = await start({ port: Number(process.argv[2] ?? 4173) });
  console.log(server.url);
  let text = '';
  let line = 0;
  setInterval(() => server.send({ kind: 'output', call: 'review/1/tests', text: (text += `line ${++line} of the output\n`) }), 500);
}
