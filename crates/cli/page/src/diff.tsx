// Unified diffs with line numbers.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import { linesWord, visible } from './format';
import { w } from './words';

export type DiffLine = { kind: 'add' | 'remove' | 'same' | 'hunk' | 'note'; before: number | null; after: number | null; text: string };
export type DiffFile = { path: string; lines: DiffLine[]; added: number; removed: number };

const cleanPath = (text: string): string => text.replace(/^"?[ab]\//, '').replace(/"?(\t.*)?$/, '');

/** Parses a unified diff of one or several files. */
export const parseDiff = (diff: string): DiffFile[] => {
  const files: DiffFile[] = [];
  let file: DiffFile | null = null;
  let [before, after, oldLeft, newLeft] = [0, 0, 0, 0];
  const open = (path: string): DiffFile => {
    const next: DiffFile = { path, lines: [], added: 0, removed: 0 };
    files.push(next);
    return next;
  };
  for (const line of diff.replace(/\n$/, '').split('\n')) {
    const isInHunk = oldLeft > 0 || newLeft > 0;
    const hunk = /^@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@/.exec(line);
    if (!isInHunk && line.startsWith('diff --git ')) file = open(cleanPath(/ b\/(.*)$/.exec(line)?.[1] ?? line.slice(11)));
    else if (!isInHunk && line.startsWith('--- ')) {
      if (!file || file.lines.length > 0) file = open(cleanPath(line.slice(4)));
    } else if (!isInHunk && line.startsWith('+++ ')) {
      const path = cleanPath(line.slice(4));
      if (file && path !== '/dev/null') file.path = path;
    } else if (hunk) {
      file ??= open('');
      [before, oldLeft] = [Number(hunk[1]), Number(hunk[2] ?? 1)];
      [after, newLeft] = [Number(hunk[3]), Number(hunk[4] ?? 1)];
      file.lines.push({ kind: 'hunk', before: null, after: null, text: line });
    } else if (file && isInHunk) {
      const text = line.slice(1);
      if (line.startsWith('+')) {
        file.lines.push({ kind: 'add', before: null, after: after++, text });
        file.added += 1;
        newLeft -= 1;
      } else if (line.startsWith('-')) {
        file.lines.push({ kind: 'remove', before: before++, after: null, text });
        file.removed += 1;
        oldLeft -= 1;
      } else if (line.startsWith('\\')) file.lines.push({ kind: 'note', before: null, after: null, text: line });
      else {
        file.lines.push({ kind: 'same', before: before++, after: after++, text });
        oldLeft -= 1;
        newLeft -= 1;
      }
    } else if (file && line !== '' && !/^(index|similarity|old mode|new mode|rename|copy) /.test(line)) {
      file.lines.push({ kind: 'note', before: null, after: null, text: line });
    }
  }
  return files;
};

const SIGNS = { add: '+', remove: '−', same: ' ', hunk: '', note: '' } as const;
const FIRST_LINES = 1500;
const LINE_LENGTH = 4000;

export const DiffTable = ({ lines, label }: { lines: DiffLine[]; label: string }): JSX.Element => {
  const [isWhole, setWhole] = useState(false);
  const shown = isWhole ? lines : lines.slice(0, FIRST_LINES);
  return (
    <div class="diff" tabIndex={0} role="group" aria-label={label}>
      <table>
        <tbody>
          {shown.map((line, index) => (
            <tr key={index} class={`diff-${line.kind}`}>
              <td class="line-number">{line.before ?? ''}</td>
              <td class="line-number">{line.after ?? ''}</td>
              <td class="sign">{SIGNS[line.kind]}</td>
              <td class="code">{visible(line.text.slice(0, LINE_LENGTH))}{line.text.length > LINE_LENGTH && '…'}</td>
            </tr>
          ))}
        </tbody>
      </table>
      {lines.length > shown.length && <button type="button" class="small" onClick={() => setWhole(true)}>{w('show_more', linesWord(lines.length))}</button>}
    </div>
  );
};

export const DiffCounts = ({ added, removed }: { added: number; removed: number }): JSX.Element => (
  <span class="number diff-counts"><span class="plus">+{added}</span> <span class="minus">−{removed}</span></span>
);

/** A diff of one file or several ones. */
export const DiffView = ({ diff, path }: { diff: string; path?: string }): JSX.Element => {
  const files = useMemo(() => parseDiff(diff), [diff]);
  return (
    <>
      {files.map((file, index) => (
        <div key={index}>
          {path === undefined && <h4 class="diff-path"><span>{visible(file.path)}</span> <DiffCounts added={file.added} removed={file.removed} /></h4>}
          <DiffTable lines={file.lines} label={w('diff_of', visible(path ?? file.path))} />
        </div>
      ))}
    </>
  );
};
