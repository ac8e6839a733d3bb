// The drawing of the workflow with the path that the run took.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { CallSummary } from './call_summary';
import { clock, length, visible } from './format';
import { useNow } from './hooks';
import type { PageExit, RunPage } from './model';
import { Choice, Empty, Sentence } from './parts';
import type { ViewProps } from './run';
import { isEnd, reasonOf } from './calls';
import { changeQuery } from './route';
import { w } from './words';

const STEP_TIME = 700;
const SVG = 'http://www.w3.org/2000/svg';

/** Parses our drawing. Scripts, styles and event handlers do not belong in it and are dropped. */
const parse = (text: string): SVGSVGElement | null => {
  if (!text.trim().startsWith('<svg')) return null;
  // The policy of the page reports styles and handlers even in a document that is only parsed.
  const unstyled = text.replace(/<style[\s\S]*?<\/style>/gi, '').replace(/\s(style|on[a-z]+)\s*=\s*("[^"]*"|'[^']*')/gi, '');
  const parsed = new DOMParser().parseFromString(unstyled, 'image/svg+xml');
  const root = parsed.documentElement;
  if (root.nodeName !== 'svg' || parsed.querySelector('parsererror')) return null;
  for (const element of [...root.querySelectorAll('script,style,foreignObject,iframe,image,use,a,animate,set')]) element.remove();
  for (const element of [root, ...root.querySelectorAll('*')]) {
    for (const { name } of [...element.attributes]) {
      if (/^on/i.test(name) || name === 'style' || /href$/i.test(name)) element.removeAttribute(name);
    }
    element.classList.remove('taken', 'untaken');
    for (const child of element.childNodes) {
      if (child.nodeType === Node.TEXT_NODE && child.nodeValue?.trim()) child.nodeValue = visible(child.nodeValue);
    }
  }
  // A wide drawing stays readable on a narrow screen; it scrolls.
  root.classList.toggle('is-wide', Number(root.getAttribute('width')) > 640);
  return document.importNode(root, true) as unknown as SVGSVGElement;
};

type Path = { visits: Map<string, number>; edges: Set<string>; current: string | null; end: string | null };

const edgeOf = (exit: PageExit): string => `${exit.stage}\n${exit.to_box}`;

/** The path until an exit. */
const pathUntil = (run: RunPage, exits: PageExit[], step: number): Path => {
  const path: Path = { visits: new Map(), edges: new Set(exits.slice(0, step).map(edgeOf)), current: null, end: null };
  // The next exit leaves the visit that the run is in.
  const last = exits[step]?.visit ?? Infinity;
  for (const visit of run.visits) {
    if (visit.index > last) continue;
    path.visits.set(visit.stage, (path.visits.get(visit.stage) ?? 0) + 1);
    path.current = visit.stage;
  }
  const exit = exits[step - 1];
  if (exit && isEnd(exit)) [path.current, path.end] = [null, exit.to_box];
  return path;
};

/** Puts classes and counts of the path on the drawing. */
const trace = (svg: SVGSVGElement, path: Path, fresh: string | null, times: Map<string, number>): void => {
  for (const old of svg.querySelectorAll('.visit-count')) old.remove();
  const mark = (element: Element, isTaken: boolean, isCurrent: boolean, isFresh: boolean): void => {
    element.classList.toggle('taken', isTaken);
    element.classList.toggle('untaken', !isTaken);
    element.classList.toggle('current', isCurrent);
    element.classList.toggle('fresh', isFresh);
    const way = element.querySelector('path.way');
    const kind = ['loop', 'monitor'].find((name) => element.classList.contains(name));
    way?.setAttribute('marker-end', `url(#head${isTaken ? '-taken' : kind ? `-${kind}` : ''})`);
  };
  for (const box of svg.querySelectorAll('[data-stage]')) {
    const stage = box.getAttribute('data-stage') ?? '';
    const visits = path.visits.get(stage) ?? 0;
    mark(box, visits > 0, stage === path.current, false);
    const rect = box.querySelector('.box');
    if (visits > 0 && rect instanceof SVGGraphicsElement) addCount(box, rect, visits, times.get(stage));
  }
  for (const edge of svg.querySelectorAll('[data-from]')) {
    const name = `${edge.getAttribute('data-from') ?? ''}\n${edge.getAttribute('data-to') ?? ''}`;
    mark(edge, path.edges.has(name), false, fresh === name);
  }
  const end = path.end === null ? null : endBox(svg, path.end, fresh);
  if (end) mark(end, true, false, false);
};

/** Finds the box of an end. A drawing can have several; the arrow of the last exit points at the right one. */
const endBox = (svg: SVGSVGElement, end: string, last: string | null): Element | null => {
  const boxes = [...svg.querySelectorAll('[data-stage]')].filter((box) => box.getAttribute('data-stage') === end);
  const edge = [...svg.querySelectorAll('[data-from]')].find(
    (entry) => `${entry.getAttribute('data-from') ?? ''}\n${entry.getAttribute('data-to') ?? ''}` === last);
  const way = edge?.querySelector('path.way');
  if (boxes.length < 2 || !(way instanceof SVGPathElement)) return boxes[0] ?? null;
  const tip = way.getPointAtLength(way.getTotalLength());
  const distance = (box: Element): number => {
    const rect = box.querySelector('.box');
    const number = (name: string): number => Number(rect?.getAttribute(name) ?? NaN);
    const [x, y, right, bottom] = [number('x'), number('y'), number('x') + number('width'), number('y') + number('height')];
    return Math.hypot(Math.max(x - tip.x, 0, tip.x - right), Math.max(y - tip.y, 0, tip.y - bottom));
  };
  return boxes.sort((a, b) => distance(a) - distance(b))[0] ?? null;
};

const addCount = (box: Element, rect: SVGGraphicsElement, visits: number, time: number | undefined): void => {
  const number = (name: string): number => Number(rect.getAttribute(name) ?? NaN);
  const [x, y, width] = [number('x'), number('y'), number('width')];
  if (![x, y, width].every(Number.isFinite)) return;
  const words = `${visits}×${time ? ` ${length(time)}` : ''}`;
  const wide = words.length * 6.2 + 12;
  const group = document.createElementNS(SVG, 'g');
  group.setAttribute('class', 'visit-count');
  const back = document.createElementNS(SVG, 'rect');
  for (const [name, value] of Object.entries({ x: x + width - wide + 8, y: y - 9, width: wide, height: 18, rx: 9 })) back.setAttribute(name, String(value));
  const text = document.createElementNS(SVG, 'text');
  text.setAttribute('x', String(x + width - wide / 2 + 8));
  text.setAttribute('y', String(y + 4));
  text.setAttribute('text-anchor', 'middle');
  text.textContent = words;
  group.append(back, text);
  box.append(group);
};

export const GraphView = ({ run, query, entries, selected, select }: ViewProps): JSX.Element => {
  const exits = useMemo(() => run.exits.slice().sort((a, b) => a.seq - b.seq), [run.exits]);
  const chosen = query.get('seq');
  const found = chosen === null ? -1 : exits.findIndex((exit) => exit.seq >= Number(chosen));
  const step = chosen === '0' ? 0 : found < 0 ? exits.length : found + 1;
  const isWhole = query.get('size') === 'whole';
  const [isPlaying, setPlaying] = useState(false);
  const holder = useRef<HTMLDivElement>(null);
  const svg = useMemo(() => parse(run.graph), [run.graph]);
  const now = useNow(run.row.is_driven);

  const goTo = (next: number): void => {
    const place = Math.max(0, Math.min(exits.length, next));
    changeQuery({ seq: place === exits.length ? null : place === 0 ? '0' : (exits[place - 1]?.seq ?? null) });
  };
  useEffect(() => {
    if (!isPlaying) return;
    if (step >= exits.length) return setPlaying(false);
    const timer = setTimeout(() => goTo(step + 1), STEP_TIME);
    return () => clearTimeout(timer);
  }, [isPlaying, step, exits.length]);
  useEffect(() => {
    if (svg) holder.current?.replaceChildren(svg);
  }, [svg]);
  useEffect(() => {
    if (!svg) return;
    const times = new Map<string, number>();
    const until = exits[step - 1]?.at ?? (step === 0 ? run.row.started : Infinity);
    for (const visit of run.visits) {
      if (visit.left !== null && visit.left <= until) times.set(visit.stage, (times.get(visit.stage) ?? 0) + visit.left - visit.entered);
    }
    const last = exits[step - 1];
    trace(svg, pathUntil(run, exits, step), last ? edgeOf(last) : null, times);
  }, [svg, run.visits, exits, step]);

  // Keep the current box in view while the replay moves.
  useEffect(() => {
    const box = svg?.querySelector('.current .box') ?? svg?.querySelector('.fresh');
    const view = holder.current;
    if (!box || !view || chosen === null) return;
    const [inner, outer] = [box.getBoundingClientRect(), view.getBoundingClientRect()];
    if (inner.top < outer.top || inner.bottom > outer.bottom) view.scrollTop += inner.top - outer.top - Math.max(20, (outer.height - inner.height) / 2);
  }, [svg, step]);

  const onClick = (event: MouseEvent): void => {
    const stage = (event.target as Element).closest('[data-stage]')?.getAttribute('data-stage');
    const entry = stage == null ? undefined : entries.findLast((item) => item.stage === stage);
    if (entry) select(entry.call.id);
  };
  const exit = exits[step - 1];
  const words = exit ? `${visible(exit.stage)} → ${visible(exit.to)}` : w('start_of_run');
  if (!svg) return <Empty>{w('no_graph')}</Empty>;
  return (
    <>
      <div class="toolbar replay">
        <button type="button" class="small" aria-label={w('prev_step')} disabled={step === 0} onClick={() => goTo(step - 1)}>‹</button>
        <button type="button" class="small play" disabled={exits.length === 0} onClick={() => {
          if (!isPlaying && step >= exits.length) goTo(0);
          setPlaying(!isPlaying);
        }}>
          {isPlaying ? w('pause') : w('play')}
        </button>
        <button type="button" class="small" aria-label={w('next_step')} disabled={step >= exits.length} onClick={() => goTo(step + 1)}>›</button>
        <input type="range" min={0} max={exits.length} value={step} aria-label={w('replay')} aria-valuetext={`${w('step_n', step, exits.length)}: ${words}`}
          disabled={exits.length === 0}
          onInput={(event) => {
            setPlaying(false);
            goTo(Number(event.currentTarget.value));
          }} />
        <span class="replay-words" aria-live="polite">
          <span class="number">{w('step_n', step, exits.length)}</span>
          <strong>{words}</strong>
          {exit && <span class="soft">{clock(exit.at)}</span>}
        </span>
        <span class="grow" />
        <Choice value={isWhole ? 'whole' : 'large'} name={w('t_graph')} options={[['large', w('large_graph')], ['whole', w('whole_graph')]]}
          onChange={(size) => changeQuery({ size: size === 'whole' ? size : null })} />
      </div>
      {exit?.lines[0] && <p class="replay-why soft"><Sentence text={reasonOf(exit, exit.lines[0])} /></p>}
      <div class={isWhole ? 'graph is-whole' : 'graph'} ref={holder} onClick={onClick} tabIndex={0} role="group" aria-label={w('t_graph')} />
      <CallSummary run={run} entry={selected} now={now} />
    </>
  );
};
