// A line diff of two texts with a bound on its work.

import type { DiffLine } from './diff';

const MOST_CELLS = 4_000_000;
const CONTEXT = 3;

type Pair = ['same' | 'add' | 'remove', string];

/** Compares the middles by longest common subsequence, or as one block if they are too long. */
const middle = (a: string[], b: string[]): { pairs: Pair[]; isCoarse: boolean } => {
  if (a.length * b.length > MOST_CELLS) {
    return { pairs: [...a.map((line): Pair => ['remove', line]), ...b.map((line): Pair => ['add', line])], isCoarse: true };
  }
  const wide = b.length + 1;
  const best = new Uint16Array((a.length + 1) * wide);
  for (let i = a.length - 1; i >= 0; i -= 1) {
    for (let j = b.length - 1; j >= 0; j -= 1) {
      const at = i * wide + j;
      best[at] = a[i] === b[j] ? (best[at + wide + 1] ?? 0) + 1 : Math.max(best[at + wide] ?? 0, best[at + 1] ?? 0);
    }
  }
  const pairs: Pair[] = [];
  let [i, j] = [0, 0];
  while (i < a.length || j < b.length) {
    if (i < a.length && j < b.length && a[i] === b[j]) {
      pairs.push(['same', a[i] ?? '']);
      i += 1;
      j += 1;
    } else if (j >= b.length || (i < a.length && (best[(i + 1) * wide + j] ?? 0) >= (best[i * wide + j + 1] ?? 0))) {
      pairs.push(['remove', a[i] ?? '']);
      i += 1;
    } else {
      pairs.push(['add', b[j] ?? '']);
      j += 1;
    }
  }
  return { pairs, isCoarse: false };
};

/** Returns the lines of a diff with a little context around each change. */
export const lineDiff = (before: string, after: string): { lines: DiffLine[]; isCoarse: boolean; isEqual: boolean } => {
  const [a, b] = [before.split('\n'), after.split('\n')];
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start += 1;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end += 1;
  const { pairs, isCoarse } = middle(a.slice(start, a.length - end), b.slice(start, b.length - end));
  const all: Pair[] = [
    ...a.slice(0, start).map((line): Pair => ['same', line]),
    ...pairs,
    ...a.slice(a.length - end).map((line): Pair => ['same', line]),
  ];
  const isNear = new Uint8Array(all.length);
  all.forEach(([kind], index) => {
    if (kind !== 'same') isNear.fill(1, Math.max(0, index - CONTEXT), index + CONTEXT + 1);
  });
  const lines: DiffLine[] = [];
  let [left, right, skipped] = [1, 1, 0];
  all.forEach(([kind, text], index) => {
    if (isNear[index]) {
      if (skipped > 0) lines.push({ kind: 'hunk', before: null, after: null, text: `⋯ ${skipped}` });
      skipped = 0;
      lines.push({ kind, before: kind === 'add' ? null : left, after: kind === 'remove' ? null : right, text });
    } else skipped += 1;
    if (kind !== 'add') left += 1;
    if (kind !== 'remove') right += 1;
  });
  return { lines, isCoarse, isEqual: lines.length === 0 };
};
