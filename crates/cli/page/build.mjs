// Builds `dist/` from `src/`. The same sources give the same bytes.
import { readFileSync, writeFileSync } from 'node:fs';
import { gzipSync } from 'node:zlib';
import { build } from 'esbuild';

const here = new URL('.', import.meta.url);
const path = (name) => new URL(name, here).pathname;

await build({
  absWorkingDir: path('.'),
  entryPoints: { app: 'src/main.tsx' },
  outdir: 'dist',
  bundle: true,
  minify: true,
  format: 'iife',
  target: ['es2022', 'chrome123', 'firefox121', 'safari17.5'],
  charset: 'utf8',
  legalComments: 'none',
  jsx: 'automatic',
  jsxImportSource: 'preact',
  logLevel: 'warning',
});

for (const name of ['index.html', 'icon.svg']) writeFileSync(path(`dist/${name}`), readFileSync(path(`src/${name}`)));

const license = (name) => {
  const about = JSON.parse(readFileSync(path(`node_modules/${name}/package.json`), 'utf8'));
  return `${name} ${about.version}\n\n${readFileSync(path(`node_modules/${name}/LICENSE`), 'utf8').trim()}\n`;
};
writeFileSync(path('dist/licenses.txt'), ['preact', 'uplot'].map(license).join(`\n${'-'.repeat(72)}\n\n`));

const size = (name) => gzipSync(readFileSync(path(`dist/${name}`)), { level: 9 }).length;
const total = size('app.js') + size('app.css') + size('index.html');
console.log(`app.js ${size('app.js')} + app.css ${size('app.css')} = ${total} bytes gzip`);
if (total > 150 * 1024) throw new Error('the page is larger than 150 KB');
