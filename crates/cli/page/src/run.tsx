// The page of a run: header, gate, and the views that share one selection.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Actions, type ActionName, offered } from './actions';
import { type CallEntry, callEntries } from './calls';
import { ChangesView } from './changes';
import { CostView } from './cost';
import { FindingsView } from './findings';
import { GatePanel } from './gate';
import { GraphView } from './graph';
import { useKeys } from './hooks';
import type { Live } from './live';
import type { RunPage } from './model';
import { NotesPanel } from './notes';
import { ErrorLine } from './parts';
import { ReportsView } from './reports';
import { changeQuery, go, homeHash, TABS, type Tab } from './route';
import { RunHeader } from './run_header';
import type { Theme } from './settings';
import { TimelineView } from './timeline';
import { TranscriptView } from './transcript';
import { WhyView } from './why';
import { type Word, w } from './words';

export type ViewProps = {
  live: Live;
  run: RunPage;
  query: URLSearchParams;
  theme: Theme;
  entries: CallEntry[];
  /** The selected call: the one in the address, else the current one. */
  selected: CallEntry | null;
  select: (call: string | null) => void;
};

/** The call that runs or waits, else the last one. */
const currentCall = (entries: CallEntry[]): CallEntry | null =>
  entries.findLast(({ call }) => call.mark === 'running' || call.mark === 'waiting') ?? entries.at(-1) ?? null;

const shownTabs = (run: RunPage): Tab[] =>
  TABS.filter((tab) => (tab === 'findings' ? run.findings.length > 0 : tab === 'reports' ? run.reports.length > 0 : true));

const VIEWS: Record<Tab, (props: ViewProps) => JSX.Element> = {
  timeline: TimelineView,
  graph: GraphView,
  transcript: TranscriptView,
  changes: ChangesView,
  reports: ReportsView,
  findings: FindingsView,
  cost: CostView,
  why: WhyView,
};

const badge = (run: RunPage, tab: Tab): number =>
  tab === 'reports' ? run.reports.length : tab === 'findings' ? run.findings.length : 0;

type Props = { live: Live; run: RunPage; query: URLSearchParams; theme: Theme };

export const RunView = ({ live, run, query, theme }: Props): JSX.Element => {
  const [action, setAction] = useState<ActionName | null>(null);
  const entries = useMemo(() => callEntries(run), [run.calls, run.visits]);
  const chosen = query.get('call');
  const selected = (chosen !== null && entries.find(({ call }) => call.id === chosen)) || currentCall(entries);
  const tabs = shownTabs(run);
  const wanted = query.get('view') as Tab | null;
  const tab: Tab = wanted && tabs.includes(wanted) ? wanted : 'timeline';
  const canAct = !live.home?.read_only && !live.source.saved;
  const strip = useRef<HTMLDivElement>(null);

  const select = (call: string | null): void => changeQuery({ call });
  const show = (next: Tab | undefined): void => {
    if (next) changeQuery({ view: next });
  };
  const jump = (step: number, matches: (entry: CallEntry) => boolean = () => true): void => {
    const start = selected ? entries.indexOf(selected) : -1;
    for (let at = start + step; at >= 0 && at < entries.length; at += step) {
      const entry = entries[at];
      if (entry && matches(entry)) return select(entry.call.id);
    }
  };
  useKeys({
    j: () => jump(1),
    k: () => jump(-1),
    v: () => jump(1, ({ call }) => call.label !== null),
    e: () => jump(1, ({ hasError }) => hasError),
    Enter: () => show('transcript'),
    t: () => canAct && offered(run).includes('tell') && setAction('tell'),
    a: () => document.querySelector<HTMLElement>('.gate textarea')?.focus(),
    Escape: () => {
      const focused = document.activeElement;
      if (focused instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(focused.tagName)) focused.blur();
      else if (chosen !== null) select(null);
      else if (!live.source.saved) go(homeHash());
    },
    ...Object.fromEntries(TABS.map((_, index) => [String(index + 1), () => show(tabs[index])])),
  });

  const onTabKey = (event: KeyboardEvent): void => {
    const step = event.key === 'ArrowRight' ? 1 : event.key === 'ArrowLeft' ? -1 : 0;
    if (step === 0) return;
    event.preventDefault();
    const next = tabs[(tabs.indexOf(tab) + step + tabs.length) % tabs.length];
    show(next);
    strip.current?.querySelector<HTMLElement>(`#tab-${next}`)?.focus();
  };
  // Scroll the strip alone, never the page.
  useEffect(() => {
    const [box, button] = [strip.current, strip.current?.querySelector<HTMLElement>(`#tab-${tab}`)];
    if (!box || !button) return;
    const left = button.offsetLeft - box.offsetLeft;
    if (left < box.scrollLeft || left + button.offsetWidth > box.scrollLeft + box.clientWidth) box.scrollLeft = left - 24;
  }, [tab]);

  const View = VIEWS[tab];
  return (
    <>
      {live.runError && <ErrorLine words={live.runError} />}
      <RunHeader live={live} run={run}>
        {canAct && <Actions live={live} run={run} selected={selected} open={action} setOpen={setAction} />}
      </RunHeader>
      {live.source.saved?.is_without_prompts && <p class="soft">{w('without_prompts')}</p>}
      {run.gate && <GatePanel key={run.gate.call} live={live} run={run} gate={run.gate} canAct={canAct} />}
      {run.notes.length > 0 && <NotesPanel live={live} run={run} canAct={canAct} select={select} />}
      <div class="tabs" role="tablist" aria-label={w('views')} ref={strip} onKeyDown={onTabKey}>
        {tabs.map((name) => (
          <button key={name} type="button" role="tab" id={`tab-${name}`} aria-selected={name === tab} aria-controls="view"
            tabIndex={name === tab ? 0 : -1} onClick={() => show(name)}>
            {w(`t_${name}` as Word)}
            {badge(run, name) > 0 && <span class="soft"> {badge(run, name)}</span>}
          </button>
        ))}
      </div>
      <section id="view" role="tabpanel" aria-labelledby={`tab-${tab}`} class={`view view-${tab}`} tabIndex={0}>
        <h2 class="unseen">{w(`t_${tab}` as Word)}</h2>
        <View live={live} run={run} query={query} theme={theme} entries={entries} selected={selected} select={select} />
      </section>
    </>
  );
};
