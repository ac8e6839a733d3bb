// A small, safe Markdown renderer. Everything that it does not know stays text.

import type { ComponentChildren, JSX } from 'preact';
import { isWebAddress, visible } from './format';
import { LongText } from './parts';

// Private characters that mark the deciding sentence. `visible` removes them from agents' texts.
const OPEN = '\ue000';
const CLOSE = '\ue001';

/** Marks the first place of `quotation` in `text`, ignoring differences in white space. */
const markQuotation = (text: string, quotation: string | null): string => {
  const words = (quotation ?? '').trim().slice(0, 2000).split(/\s+/).filter(Boolean);
  if (words.length === 0) return text;
  const exact = text.indexOf(quotation ?? '');
  if (exact >= 0 && quotation) {
    return text.slice(0, exact) + OPEN + quotation + CLOSE + text.slice(exact + quotation.length);
  }
  const pattern = words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, '\\$&')).join('\\s+');
  return text.replace(new RegExp(pattern), (found) => OPEN + found + CLOSE);
};


type State = { isMarked: boolean; level: number };

const leaf = (text: string, state: State): ComponentChildren[] => {
  const nodes: ComponentChildren[] = [];
  for (const part of text.split(/([\ue000\ue001])/)) {
    if (part === OPEN) state.isMarked = true;
    else if (part === CLOSE) state.isMarked = false;
    else if (part) nodes.push(state.isMarked ? <mark class="decided">{part}</mark> : part);
  }
  return nodes;
};

// Every repetition is bounded, so that hostile text cannot block the browser.
const INLINE =
  /(`{1,8})([^`](?:[\s\S]{0,2000}?[^`])??)\1(?!`)|\*\*(?=\S)((?:[^*]|\*(?!\*)){1,1000}?)\*\*|(?<!\w)__(?=\S)([^_]{1,500})__(?!\w)|\*(?=[^\s*])([^*]{1,500})\*|(?<!\w)_(?=[^\s_])([^_]{1,500})_(?!\w)|!?\[([^\]\n]{0,500})\]\(([^()\s]{1,2000})(?:\s+"[^"\n]{0,200}")?\)|(https?:\/\/[^\s<>()"'`\ue000\ue001]{1,1999}[^\s<>()"'`.,;:!?\ue000\ue001])/;

const inline = (source: string, state: State, depth = 0): ComponentChildren[] => {
  const nodes: ComponentChildren[] = [];
  let rest = source;
  while (rest && depth < 6) {
    const match = INLINE.exec(rest);
    if (!match) break;
    nodes.push(...leaf(rest.slice(0, match.index), state));
    const [all, , code, strong, strong2, em, em2, label, target, address] = match;
    if (code !== undefined) nodes.push(<code>{leaf(code.replaceAll('\n', ' '), state)}</code>);
    else if (strong ?? strong2) nodes.push(<strong>{inline(strong ?? strong2 ?? '', state, depth + 1)}</strong>);
    else if (em ?? em2) nodes.push(<em>{inline(em ?? em2 ?? '', state, depth + 1)}</em>);
    else if (target !== undefined) nodes.push(link(target, inline(label || target, state, depth + 1), all, state));
    else if (address) nodes.push(link(address, [address], all, state));
    rest = rest.slice(match.index + all.length);
  }
  nodes.push(...leaf(rest, state));
  return nodes;
};

const link = (target: string, words: ComponentChildren[], source: string, state: State): ComponentChildren =>
  isWebAddress(target) ? (
    <a href={target} rel="noopener noreferrer nofollow" target="_blank">
      {words}
    </a>
  ) : (
    leaf(source, state)
  );

const LIST = /^(\s*)([-*+]|\d{1,9}[.)])\s+(.*)$/;

type Item = { indent: number; isOrdered: boolean; start: number; lines: string[] };

const list = (items: Item[], state: State): JSX.Element => {
  const first = items[0] as Item;
  const entries: JSX.Element[] = [];
  let index = 0;
  while (index < items.length) {
    const item = items[index] as Item;
    let end = index + 1;
    while (end < items.length && (items[end] as Item).indent > first.indent) end += 1;
    const children = items.slice(index + 1, end);
    const text = item.lines.join('\n');
    const box = /^\[([ xX])\]\s+/.exec(text);
    entries.push(
      <li key={index} class={box ? 'task' : undefined}>
        {box && <span class="tick">{box[1] === ' ' ? '☐ ' : '☑ '}</span>}
        {inline(box ? text.slice(box[0].length) : text, state)}
        {children.length > 0 && list(children, state)}
      </li>,
    );
    index = end;
  }
  return first.isOrdered ? <ol start={first.start}>{entries}</ol> : <ul>{entries}</ul>;
};

const cells = (line: string): string[] =>
  line.trim().replace(/^\|/, '').replace(/\|$/, '').split(/(?<!\\)\|/).map((cell) => cell.trim().replaceAll('\\|', '|'));

const isBreak = (line: string): boolean =>
  /^\s*(```|~~~)/.test(line) || /^#{1,6}\s/.test(line) || LIST.test(line) || /^\s*>/.test(line) || /^\s*([-*_])(\s*\1){2,}\s*$/.test(line);

const blocks = (lines: string[], state: State, depth = 0): ComponentChildren[] => {
  const nodes: ComponentChildren[] = [];
  let at = 0;
  while (at < lines.length) {
    const line = lines[at] ?? '';
    const fence = /^\s*(```+|~~~+)/.exec(line);
    const heading = /^(#{1,6})\s+(.*?)\s*#*$/.exec(line);
    if (line.replace(/[\ue000\ue001]/g, '').trim() === '') {
      leaf(line, state);
      at += 1;
    } else if (fence) {
      const mark = fence[1] ?? '```';
      let end = at + 1;
      while (end < lines.length && !(lines[end] ?? '').trimStart().startsWith(mark)) end += 1;
      nodes.push(
        <pre class="text" tabIndex={0}>
          <code>{leaf(lines.slice(at + 1, end).join('\n'), state)}</code>
        </pre>,
      );
      at = end + 1;
    } else if (heading) {
      // Agents skip levels; a page must not.
      const level = Math.min(6, (heading[1] ?? '#').length + 2, state.level + 1);
      state.level = level;
      const Heading = `h${level}` as 'h3';
      nodes.push(<Heading>{inline(heading[2] ?? '', state)}</Heading>);
      at += 1;
    } else if (/^\s*([-*_])(\s*\1){2,}\s*$/.test(line)) {
      nodes.push(<hr />);
      at += 1;
    } else if (/^\s*>/.test(line) && depth < 8) {
      let end = at;
      while (end < lines.length && /^\s*>/.test(lines[end] ?? '')) end += 1;
      const inner = lines.slice(at, end).map((quoted) => quoted.replace(/^\s*> ?/, ''));
      nodes.push(<blockquote>{blocks(inner, state, depth + 1)}</blockquote>);
      at = end;
    } else if (line.includes('|') && /^\s*\|?\s*:?-+:?\s*(\|\s*:?-+:?\s*)*\|?\s*$/.test(lines[at + 1] ?? '') && (lines[at + 1] ?? '').includes('-')) {
      let end = at + 2;
      while (end < lines.length && (lines[end] ?? '').includes('|')) end += 1;
      nodes.push(
        <div class="scroll" tabIndex={0} role="group" aria-label="table">
          <table>
            <thead>
              <tr>{cells(line).map((cell, index) => <th key={index} scope="col">{inline(cell, state)}</th>)}</tr>
            </thead>
            <tbody>
              {lines.slice(at + 2, end).map((row, index) => (
                <tr key={index}>{cells(row).map((cell, column) => <td key={column}>{inline(cell, state)}</td>)}</tr>
              ))}
            </tbody>
          </table>
        </div>,
      );
      at = end;
    } else if (LIST.test(line)) {
      const items: Item[] = [];
      while (at < lines.length) {
        const found = LIST.exec(lines[at] ?? '');
        if (found) {
          const kind = found[2] ?? '-';
          items.push({ indent: (found[1] ?? '').length, isOrdered: /\d/.test(kind), start: parseInt(kind, 10) || 1, lines: [found[3] ?? ''] });
        } else if (/^\s+\S/.test(lines[at] ?? '') && !isBreak(lines[at] ?? '')) items.at(-1)?.lines.push((lines[at] ?? '').trim());
        else break;
        at += 1;
      }
      nodes.push(list(items, state));
    } else {
      let end = at + 1;
      while (end < lines.length && (lines[end] ?? '').trim() !== '' && !isBreak(lines[end] ?? '')) end += 1;
      nodes.push(<p>{inline(lines.slice(at, end).join('\n'), state)}</p>);
      at = end;
    }
  }
  return nodes;
};

const render = (text: string, quotation: string | null): ComponentChildren => {
  const safe = visible(text);
  return blocks(markQuotation(safe, quotation && visible(quotation)).split('\n'), { isMarked: false, level: 2 });
};

/** Renders Markdown of an agent. The quotation is marked. */
export const Markdown = ({ text, quotation = null }: { text: string; quotation?: string | null }): JSX.Element => (
  <LongText text={text}>{(part) => <div class="markdown">{render(part, quotation)}</div>}</LongText>
);

/** Shows the same text without formatting, with the quotation marked. */
export const RawText = ({ text, quotation = null, label }: { text: string; quotation?: string | null; label: string }): JSX.Element => (
  <LongText text={text}>
    {(part) => (
      <pre class="text" tabIndex={0} role="group" aria-label={label}>
        {leaf(markQuotation(visible(part), quotation && visible(quotation)), { isMarked: false, level: 2 })}
      </pre>
    )}
  </LongText>
);

