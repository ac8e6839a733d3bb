// How each stage was left, and why.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef } from 'preact/hooks';
import { isEnd, reasonOf } from './calls';
import { clock, fullTime, visible } from './format';
import { heightSums, useWindowed } from './hooks';
import type { PageExit } from './model';
import { Empty, Sentence } from './parts';
import type { ViewProps } from './run';
import { w } from './words';

const MANY = 200;

export const WhyView = ({ run, query, entries, selected, select }: ViewProps): JSX.Element => {
  const isChosen = query.get('call') !== null;
  const exits = useMemo(() => run.exits.slice().sort((a, b) => a.seq - b.seq), [run.exits]);
  const visits = useMemo(() => new Map(run.visits.map((visit) => [visit.index, visit])), [run.visits]);
  const list = useRef<HTMLOListElement>(null);
  // Few exits keep their natural height. Many are drawn only in view, at an estimated height.
  const sums = useMemo(() => heightSums(exits.map((exit) => 62 + exit.lines.length * 22)), [exits]);
  const windowed = useWindowed(sums, list, null);
  const seen = exits.length > MANY ? windowed : { first: 0, last: exits.length, before: 0, after: 0 };
  useEffect(() => {
    if (isChosen) list.current?.querySelector('.is-selected')?.scrollIntoView({ block: 'nearest' });
  }, [selected?.call.id]);

  const choose = (exit: PageExit): void => {
    const entry = entries.findLast(({ call }) => call.visit === exit.visit);
    if (entry) select(entry.call.id);
  };
  if (exits.length === 0) return <Empty>{w('no_exits')}</Empty>;
  return (
    <ol class="exits" ref={list} style={{ paddingTop: `${seen.before}px`, paddingBottom: `${seen.after}px` }}>
      {exits.slice(seen.first, seen.last).map((exit) => (
        <li key={exit.seq} class={selected?.call.visit === exit.visit ? 'is-selected' : ''}>
          <h3>
            <button type="button" class="link" onClick={() => choose(exit)}>{visible(exit.stage)}</button>
            {(visits.get(exit.visit)?.visit ?? 1) > 1 && <span class="soft">{w('visit_n', visits.get(exit.visit)?.visit ?? 1)}</span>}
            <span class="arrow">→</span>
            <span class={!isEnd(exit) ? 'to' : `to is-end is-${run.row.state}`}>{visible(exit.to)}</span>
            <time class="soft number" dateTime={new Date(exit.at).toISOString()} title={fullTime(exit.at)}>{clock(exit.at)}</time>
          </h3>
          {exit.lines.map((line, index) => <p key={index}><Sentence text={reasonOf(exit, line)} /></p>)}
          <details>
            <summary>{w('mechanism')}</summary>
            <p><code>{visible(exit.mechanism)}</code></p>
            {exit.labels.length > 0 && (
              <ul class="labels">
                {exit.labels.map((label, index) => <li key={index}>{visible(label.turn)}: <strong>{label.label === null ? '–' : visible(label.label)}</strong></li>)}
              </ul>
            )}
            <p class="soft">{w('event_n', exit.seq)}</p>
          </details>
        </li>
      ))}
    </ol>
  );
};
