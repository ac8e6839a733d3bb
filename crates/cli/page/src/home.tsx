// The list of runs.

import type { JSX } from 'preact';
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { runsWord, tokens, visible, when } from './format';
import { Filters, matchesRow, readFilters } from './home_filters';
import { heightSums, useKeys, useMedia, useWindowed } from './hooks';
import { groupOf } from './live';
import type { HomePage, PageRow } from './model';
import { BudgetBar, ChangedLines, Command, Cost, DrivenTime, Empty, ErrorLine, StateTag, Text } from './parts';
import { changeQuery, compareHash, go, runHash } from './route';
import { type Word, w } from './words';

const GROUPS: readonly Word[] = ['group_waiting', 'group_running', 'group_stopped', 'group_ended'];

type Item = { group: number; count: number } | { row: PageRow; index: number };

const itemsOf = (rows: PageRow[]): Item[] => {
  const counts = [0, 0, 0, 0];
  for (const row of rows) counts[groupOf(row)] = (counts[groupOf(row)] ?? 0) + 1;
  const items: Item[] = [];
  let group = -1;
  rows.forEach((row, index) => {
    if (groupOf(row) !== group) {
      group = groupOf(row);
      items.push({ group, count: counts[group] ?? 0 });
    }
    items.push({ row, index });
  });
  return items;
};

export const HomeView = ({ home, query }: { home: HomePage; query: URLSearchParams }): JSX.Element => {
  const filters = readFilters(query);
  const text = query.toString();
  const rows = useMemo(() => home.runs.filter((row) => matchesRow(row, filters)), [home.runs, text]);
  const picked = (query.get('pick') ?? '').split(',').filter((id) => home.runs.some((row) => row.id === id));
  const [active, setActive] = useState(-1);
  const search = useRef<HTMLInputElement>(null);

  const pick = (id: string): void => {
    const others = picked.filter((other) => other !== id);
    changeQuery({ pick: (picked.includes(id) ? others : [...others.slice(-1), id]).join(',') });
  };
  const move = (step: number): void => setActive((old) => Math.max(0, Math.min(rows.length - 1, old + step)));
  useKeys({
    j: () => move(1),
    k: () => move(-1),
    ArrowDown: () => move(1),
    ArrowUp: () => move(-1),
    Enter: () => rows[active] && go(runHash(rows[active].id)),
    x: () => rows[active] && pick(rows[active].id),
    '/': () => search.current?.focus(),
    Escape: () => (document.activeElement instanceof HTMLInputElement ? document.activeElement.blur() : setActive(-1)),
  });

  return (
    <>
      <h1 class="unseen">{w('runs')}</h1>
      {home.errors.map((words) => <ErrorLine key={words} words={words} />)}
      {home.runs.length === 0 ? (
        <FirstRun />
      ) : (
        <>
          <Filters home={home} filters={filters} search={search}>
            <span class="soft count" role="status">
              {rows.length === home.runs.length ? runsWord(rows.length) : w('n_of_m', rows.length, home.runs.length)}
            </span>
          </Filters>
          {rows.length === 0 ? <Empty>{w('none_match')}</Empty> : (
            <RunTable rows={rows} home={home} active={active} picked={picked} onPick={pick} />
          )}
        </>
      )}
      {picked.length > 0 && (
        <div class="picked" role="status">
          {picked.length === 2 ? (
            <a class="button main" href={compareHash(picked[0] ?? '', picked[1] ?? '')}>{w('compare_two')}</a>
          ) : (
            <span>{w('compare_one')}</span>
          )}
          <button type="button" class="quiet small" onClick={() => changeQuery({ pick: null })}>{w('clear')}</button>
        </div>
      )}
    </>
  );
};

const FirstRun = (): JSX.Element => (
  <section class="panel first">
    <h2>{w('empty_title')}</h2>
    <p>{w('empty_demo')}</p>
    <Command text="saihai demo" />
    <p>{w('empty_run')}</p>
    <Command text={`saihai run default "${w('example_task')}"`} />
    <p class="soft">{w('empty_follow')}</p>
  </section>
);

type TableProps = { rows: PageRow[]; home: HomePage; active: number; picked: string[]; onPick: (id: string) => void };

const RunTable = ({ rows, home, active, picked, onPick }: TableProps): JSX.Element => {
  const isNarrow = useMedia('(max-width: 760px)');
  const hasProjects = home.projects.length > 1;
  const items = useMemo(() => itemsOf(rows), [rows]);
  const sums = useMemo(() => heightSums(items.map((item) => ('row' in item ? (isNarrow ? 92 : 50) : 34))), [items, isNarrow]);
  const body = useRef<HTMLTableSectionElement>(null);
  const seen = useWindowed(sums, body, null);
  // Some columns are hidden on a narrower screen; a wider row would keep their place.
  const isShort = useMedia('(max-width: 1000px)');
  const columns = isShort ? 6 : hasProjects ? 10 : 9;

  // Scroll to the row that the keyboard chose.
  useEffect(() => {
    const place = items.findIndex((item) => 'row' in item && item.index === active);
    const top = body.current?.getBoundingClientRect().top;
    if (place < 0 || top === undefined) return;
    const [start, end] = [top + (sums[place] ?? 0), top + (sums[place + 1] ?? 0)];
    if (start < 90) scrollBy(0, start - 120);
    else if (end > innerHeight) scrollBy(0, end - innerHeight + 40);
  }, [active]);

  return (
    <table class={`runs ${hasProjects ? 'has-projects' : ''}`} role="table" aria-rowcount={rows.length + 1}>
      <thead role="rowgroup">
        <tr role="row">
          <th scope="col" role="columnheader" class="select"><span class="unseen">{w('col_select')}</span></th>
          <th scope="col" role="columnheader" class="state-column">{w('col_state')}</th>
          <th scope="col" role="columnheader">{w('col_task')}</th>
          {hasProjects && <th scope="col" role="columnheader" class="project">{w('col_project')}</th>}
          <th scope="col" role="columnheader" class="stage">{w('col_stage')}</th>
          <th scope="col" role="columnheader" class="right time">{w('col_time')}</th>
          <th scope="col" role="columnheader" class="right turns">{w('col_turns')}</th>
          <th scope="col" role="columnheader" class="right tokens">{w('col_tokens')}</th>
          <th scope="col" role="columnheader" class="right changes">{w('col_changes')}</th>
          <th scope="col" role="columnheader" class="cost">{w('col_cost')}</th>
        </tr>
      </thead>
      <tbody ref={body} role="rowgroup">
        {seen.before > 0 && <tr aria-hidden="true" class="spacer"><td colSpan={columns} style={{ height: `${seen.before}px` }} /></tr>}
        {items.slice(seen.first, seen.last).map((item) =>
          'row' in item ? (
            <Row key={item.row.id} row={item.row} index={item.index} isActive={item.index === active}
              isPicked={picked.includes(item.row.id)} onPick={onPick}
              project={hasProjects ? (home.projects[item.row.project]?.name ?? '') : null} />
          ) : (
            <tr key={`group ${item.group}`} class={`group group-${item.group}`} role="row">
              <th colSpan={columns} scope="colgroup" role="cell">
                {w(GROUPS[item.group] ?? 'group_ended')} <span class="soft">{item.count}</span>
              </th>
            </tr>
          ),
        )}
        {seen.after > 0 && <tr aria-hidden="true" class="spacer"><td colSpan={columns} style={{ height: `${seen.after}px` }} /></tr>}
      </tbody>
    </table>
  );
};

type RowProps = { row: PageRow; index: number; isActive: boolean; isPicked: boolean; onPick: (id: string) => void; project: string | null };

const Row = ({ row, index, isActive, isPicked, onPick, project }: RowProps): JSX.Element => {
  const isBroken = row.state === 'broken';
  const limit = row.budget.reduce<(typeof row.budget)[number] | null>(
    (worst, use) => (!worst || use.used / use.limit > worst.used / worst.limit ? use : worst), null);
  const open = (event: MouseEvent): void => {
    if (!(event.target as HTMLElement).closest('a,button,input,label')) go(runHash(row.id));
  };
  return (
    <tr class={`run ${isActive ? 'is-active' : ''} ${isBroken ? 'is-broken' : ''}`} role="row" aria-rowindex={index + 2} onClick={open}>
      <td role="cell" class="select">
        <input type="checkbox" checked={isPicked} disabled={isBroken} aria-label={w('select_run', row.run)} onChange={() => onPick(row.id)} />
      </td>
      <td role="cell" class="state-column">
        <StateTag state={row.state} />
        {row.waits_for && row.state !== 'waiting' && <span class="second" title={visible(row.waits_for)}>{w('waits_for', visible(row.waits_for))}</span>}
      </td>
      <td role="cell" class="task">
        <a href={runHash(row.id)} class="name" title={visible(row.task)}><Text>{isBroken ? row.run : row.task || row.definition || row.run}</Text></a>
        <span class="second" title={visible(row.words)}>
          {isBroken ? <Text>{row.words}</Text> : (
            <>
              {row.issue && <span class="chip"><Text>{row.issue}</Text></span>}
              <Text>{row.definition}</Text>
              {' · '}
              <time dateTime={new Date(row.started).toISOString()}>{when(row.started)}</time>
              {row.is_rehearsal && ` · ${w('rehearsal')}`}
              {row.providers.length > 0 && <> · <Text>{row.providers.join(', ')}</Text></>}
              {row.forked_from && ` · ${w('forked_from')} ${visible(row.forked_from).slice(0, 15)}`}
            </>
          )}
        </span>
      </td>
      {project !== null && <td role="cell" class="project"><Text>{project}</Text></td>}
      <td role="cell" class="stage">
        {row.stage && <span class="name" title={visible(row.stage)}><Text>{row.stage}</Text></span>}
        {row.stage && row.visit > 1 && <span class="second">{w('visit_n', row.visit)}</span>}
      </td>
      <td role="cell" class="right time"><DrivenTime row={row} /></td>
      <td role="cell" class="right turns number">{isBroken ? '–' : row.turns}</td>
      <td role="cell" class="right tokens number">{isBroken ? '–' : tokens(row.tokens)}</td>
      <td role="cell" class="right changes"><ChangedLines row={row} /></td>
      <td role="cell" class="cost">
        {limit ? <BudgetBar use={limit} row={row} /> : <Cost row={row} />}
      </td>
    </tr>
  );
};
