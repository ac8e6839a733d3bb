// A prompt in sections, so that the repeated ones can be folded.

export type Section = { title: string; text: string; lines: number; isSame: boolean; isLong: boolean };

const LONG_LINES = 60;
const LONG_CHARACTERS = 6000;

type Part = { title: string; text: string };

/** Splits a prompt at its `## ` headings. Headings in code blocks do not count. */
const parts = (prompt: string): Part[] => {
  const found: Part[] = [];
  let current: string[] = [];
  let title = '';
  let fence: string | null = null;
  const close = (): void => {
    const text = current.join('\n').trim();
    if (text || title) found.push({ title, text });
    current = [];
  };
  for (const line of prompt.replaceAll('\r\n', '\n').split('\n')) {
    const mark = /^\s*(```+|~~~+)/.exec(line)?.[1];
    if (mark && fence === null) fence = mark;
    else if (mark && fence !== null && mark.startsWith(fence)) fence = null;
    const heading = fence === null ? /^## +(.+)$/.exec(line) : null;
    if (heading) {
      close();
      title = (heading[1] ?? '').trim();
    } else current.push(line);
  }
  close();
  return found;
};

/** Splits a prompt and marks the sections that the previous prompt had too. */
export const sections = (prompt: string, previous: string | null): Section[] => {
  const known = new Set(previous === null ? [] : parts(previous).map(({ title, text }) => `${title}\n${text}`));
  return parts(prompt).map(({ title, text }) => {
    const lines = text === '' ? 0 : text.split('\n').length;
    return {
      title,
      text,
      lines,
      isSame: known.has(`${title}\n${text}`),
      isLong: lines > LONG_LINES || text.length > LONG_CHARACTERS,
    };
  });
};
