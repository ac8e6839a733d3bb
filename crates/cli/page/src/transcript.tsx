// The transcript: calls at the left, the texts of the selected one at the right.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CallEntry } from './calls';
import { length, visible } from './format';
import { heightSums, useKeys, useLoaded, useNow, useWindowed } from './hooks';
import type { PageVisit } from './model';
import { Choice, Empty, ErrorLine, Icon, Loading, markWord } from './parts';
import { changeQuery } from './route';
import type { ViewProps } from './run';
import { CallTextsView } from './transcript_call';
import { w } from './words';

type Filter = 'all' | 'errors' | 'tools' | 'verdicts';

const matches = (entry: CallEntry, filter: Filter): boolean => {
  switch (filter) {
    case 'errors':
      return entry.hasError;
    case 'tools':
      return entry.call.attempts.some((attempt) => attempt.tools > 0);
    case 'verdicts':
      return entry.call.label !== null;
    case 'all':
      return true;
  }
};

export const TranscriptView = (props: ViewProps): JSX.Element => {
  const { live, run, query, entries, selected, select } = props;
  const filter = (query.get('calls') as Filter | null) ?? 'all';
  const shown = useMemo(() => entries.filter((entry) => matches(entry, filter)), [entries, filter]);
  const place = selected ? entries.indexOf(selected) : -1;
  const next = (test: (entry: CallEntry) => boolean): CallEntry | undefined => entries.slice(place + 1).find(test);
  const nextVerdict = next(({ call }) => call.label !== null);
  const nextError = next(({ hasError }) => hasError);
  const find = useRef<HTMLInputElement>(null);
  useKeys({ '/': () => find.current?.focus() });

  // The earlier prompt of the run, to fold what both have.
  const before = place > 0 ? entries.slice(0, place).findLast(({ call }) => call.kind === 'agent' || call.kind === 'correction') : undefined;
  const id = run.row.id;
  const call = selected?.call;
  const texts = useLoaded(call ? `${id} ${call.id} ${call.seq} ${call.mark}` : null, () => live.source.texts(id, call?.id ?? ''));
  const previous = useLoaded(before ? `${id} ${before.call.id}` : null, () => live.source.texts(id, before?.call.id ?? ''));

  if (entries.length === 0) return <Empty>{w('tl_empty')}</Empty>;
  return (
    <>
      <div class="toolbar">
        <Choice<Filter> value={filter} name={w('filters')} onChange={(value) => changeQuery({ calls: value === 'all' ? null : value })}
          options={[['all', w('f_all')], ['errors', w('f_errors')], ['tools', w('f_tools')], ['verdicts', w('f_verdicts')]]} />
        <button type="button" class="small" disabled={!nextVerdict} onClick={() => nextVerdict && select(nextVerdict.call.id)}>{w('next_verdict')}</button>
        <button type="button" class="small" disabled={!nextError} onClick={() => nextError && select(nextError.call.id)}>{w('next_error')}</button>
      </div>
      <div class="split">
        <CallList entries={shown} selected={selected} select={select} isDriven={run.row.is_driven} />
        <div class="texts">
          {texts.error ? <ErrorLine words={texts.error} /> : !texts.value || !selected ? <Loading /> : (
            <CallTextsView key={selected.call.id} live={live} run={run} entry={selected} texts={texts.value}
              previous={before && previous.value ? previous.value.prompt : null} find={find} />
          )}
        </div>
      </div>
    </>
  );
};

type Item = { visit: PageVisit } | { entry: CallEntry };
type ListProps = { entries: CallEntry[]; selected: CallEntry | null; select: (call: string) => void; isDriven: boolean };

const VISIT_HEIGHT = 30;
const CALL_HEIGHT = 44;

const CallList = ({ entries, selected, select, isDriven }: ListProps): JSX.Element => {
  const now = useNow(isDriven);
  const items = useMemo(() => {
    const list: Item[] = [];
    let visit: PageVisit | null = null;
    for (const entry of entries) {
      if (entry.visit && entry.visit !== visit) {
        visit = entry.visit;
        list.push({ visit });
      }
      list.push({ entry });
    }
    return list;
  }, [entries]);
  const sums = useMemo(() => heightSums(items.map((item) => ('visit' in item ? VISIT_HEIGHT : CALL_HEIGHT))), [items]);
  const box = useRef<HTMLDivElement>(null);
  const inner = useRef<HTMLDivElement>(null);
  const seen = useWindowed(sums, inner, box);
  const [, setReady] = useState(false);
  useEffect(() => setReady(true), []);

  useEffect(() => {
    const place = items.findIndex((item) => 'entry' in item && item.entry.call.id === selected?.call.id);
    const element = box.current;
    if (place < 0 || !element) return;
    const [top, bottom] = [sums[place] ?? 0, sums[place + 1] ?? 0];
    if (top < element.scrollTop + VISIT_HEIGHT) element.scrollTop = top - VISIT_HEIGHT;
    else if (bottom > element.scrollTop + element.clientHeight) element.scrollTop = bottom - element.clientHeight + CALL_HEIGHT;
  }, [selected?.call.id, items.length]);

  return (
    <nav class="call-list" ref={box} aria-label={w('calls')} tabIndex={0}>
      <div ref={inner} style={{ paddingTop: `${seen.before}px`, paddingBottom: `${seen.after}px` }}>
        {items.slice(seen.first, seen.last).map((item) =>
          'visit' in item ? (
            <div key={`visit ${item.visit.index}`} class="visit">
              <span class="name">{visible(item.visit.stage)}</span>
              <span class="soft">
                {item.visit.visit > 1 && `${w('visit_n', item.visit.visit)} · `}
                {length((item.visit.left ?? Math.max(now, item.visit.entered)) - item.visit.entered)}
              </span>
            </div>
          ) : (
            <button key={item.entry.call.id} type="button" class={`call mark-${item.entry.call.mark}`}
              aria-current={item.entry.call.id === selected?.call.id ? 'true' : undefined} onClick={() => select(item.entry.call.id)}>
              <Icon of={item.entry.call.mark} />
              <span class="name">{visible(item.entry.call.name)}{item.entry.call.round > 1 && <span class="soft"> {w('round_n', item.entry.call.round)}</span>}</span>
              <span class="number soft">{length((item.entry.call.ended ?? now) - item.entry.call.called)}</span>
              <span class="second">{visible(item.entry.call.label ?? (item.entry.hasError ? (item.entry.call.attempts.find((attempt) => attempt.failure)?.failure ?? '') : markWord(item.entry.call.mark)))}</span>
            </button>
          ),
        )}
      </div>
    </nav>
  );
};
