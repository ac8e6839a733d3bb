// Runs the real program in temporary projects, without the settings and variables of this machine.
import { execFile, spawn } from 'node:child_process';
import { mkdirSync, mkdtempSync, readFileSync, readdirSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { open, writeSaved } from './browser.mjs';

export const PROGRAM = process.env.SAIHAI;
const path = (name) => new URL(`../${name}`, import.meta.url).pathname;

/** Processes that the tests started and have to end. */
const started = new Set();
const places = [];

export const cleanUp = () => {
  for (const child of started) child.kill('SIGKILL');
  for (const place of places) rmSync(place, { recursive: true, force: true, maxRetries: 5, retryDelay: 100 });
};

const environment = (home) => ({
  HOME: home, PATH: '/usr/local/bin:/usr/bin:/bin', LANG: 'C.UTF-8', TZ: 'UTC', NO_COLOR: '1',
  GIT_CONFIG_GLOBAL: '/dev/null', GIT_CONFIG_NOSYSTEM: '1',
});

export class Project {
  constructor(name = 'shop') {
    const place = mkdtempSync(join(tmpdir(), 'saihai-real-'));
    places.push(place);
    [this.root, this.home] = [join(place, name), join(place, 'home')];
    for (const directory of [this.root, this.home]) mkdirSync(directory);
  }

  write(file, text) {
    mkdirSync(dirname(join(this.root, file)), { recursive: true });
    writeFileSync(join(this.root, file), text);
    return this;
  }

  /** Writes a piece and its replies. */
  piece(movements, replies, { name = 'it', head = '' } = {}) {
    this.write(`.takt/pieces/${name}.yaml`, `name: ${name}\n${head}movements:\n${movements}`);
    return this.write(`${name}.script.yaml`, `script: 1\nreplies:\n${replies}`);
  }

  git(...words) {
    return this.#execute('git', ['-c', 'user.name=T', '-c', 'user.email=t@example.com', '-c', 'commit.gpgSign=false', ...words]);
  }

  async repository() {
    await this.git('init', '--quiet', '--initial-branch=main');
    await this.commit();
    return this;
  }

  async commit() {
    await this.git('add', '--all');
    await this.git('commit', '--quiet', '--allow-empty', '--message', 'a commit');
  }

  /** Runs the program to its end. Fails if the exit code is another one. */
  async saihai(code, ...words) {
    const result = await this.#execute(PROGRAM, words);
    if (result.code !== code) throw new Error(`saihai ${words.join(' ')}: exit ${result.code}\n${result.stdout}${result.stderr}`);
    return result;
  }

  run(code, task = 'The task.', name = 'it', ...words) {
    return this.saihai(code, 'run', name, task, '--script', `${name}.script.yaml`, ...words);
  }

  #execute(program, words) {
    return new Promise((done) => {
      const options = { cwd: this.root, env: environment(this.home), maxBuffer: 1 << 28 };
      execFile(program, words, options, (error, stdout, stderr) => done({ code: error ? (error.code ?? error.signal) : 0, stdout, stderr }));
    });
  }

  /** Starts the program and lets it run. */
  start(...words) {
    const child = spawn(PROGRAM, words, { cwd: this.root, env: environment(this.home), stdio: ['ignore', 'pipe', 'inherit'] });
    started.add(child);
    child.once('exit', () => started.delete(child));
    child.stdout.setEncoding('utf8');
    return child;
  }

  startRun(task, name = 'it', ...words) {
    const script = words.includes('--script') ? [] : ['--script', `${name}.script.yaml`];
    const child = this.start('run', name, task, '--quiet', ...script, ...words);
    child.stdout.resume();
    return child;
  }

  /** Starts the page and returns its link. */
  async serve(...words) {
    const child = this.start('serve', '--json', ...(words.includes('--port') ? [] : ['--port', '0']), ...words);
    const line = await new Promise((done, fail) => {
      let text = '';
      child.stdout.on('data', (part) => {
        text += part;
        if (text.includes('\n')) done(text);
      });
      child.once('exit', (code) => fail(new Error(`serve ended with ${code}`)));
    });
    const link = new URL(JSON.parse(line).url);
    return { link: link.href, origin: link.origin, port: Number(link.port), stop: () => stop(child, 'SIGTERM') };
  }

  runs() {
    try {
      return readdirSync(join(this.root, '.saihai/runs')).filter((name) => /^\d/.test(name)).sort();
    } catch {
      return [];
    }
  }

  /** Events of a run, as its journal has them. */
  journal(run = this.runs().at(-1)) {
    const text = readFileSync(join(this.root, '.saihai/runs', run, 'journal.ndjson'), 'utf8');
    return text.split('\n').filter(Boolean).map((line) => JSON.parse(line));
  }
}

export const stop = (child, signal) =>
  new Promise((done) => {
    if (child.exitCode !== null || child.signalCode !== null) return done();
    child.once('exit', () => done());
    child.kill(signal);
    return undefined;
  });

/** With `DIST` set, the browser gets the files in `dist/` instead of those in the program. */
const useOwnFiles = async (page) => {
  if (!process.env.DIST) return;
  for (const [name, type] of [['app.js', 'text/javascript'], ['app.css', 'text/css']]) {
    await page.route(`**/${name}`, (route) => route.fulfill({ path: path(`dist/${name}`), contentType: `${type}; charset=utf-8` }));
  }
};

/** Opens the link of a server in a new context. */
export const openLink = async (browser, server, options = {}) => {
  const opened = await open(browser, options);
  opened.page.setDefaultTimeout(10_000);
  await useOwnFiles(opened.page);
  await opened.page.goto(server.link);
  await opened.page.waitForSelector('main h1, main .first, main .runs');
  return opened;
};

/** Saves a run as one file and returns its text. */
export const saveRun = async (project, run, file, ...words) => {
  await project.saihai(0, 'show', run, '--html', file, ...words);
  const html = readFileSync(file, 'utf8');
  if (process.env.DIST) writeSaved(JSON.parse(/<script type="application\/json" id="saved">([\s\S]*?)<\/script>/.exec(html)[1]), file);
  return html;
};
