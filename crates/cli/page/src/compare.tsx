// Two runs next to each other.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { sumCost } from './calls';
import { DiffTable } from './diff';
import { count, dollars, length, money, tokens, visible } from './format';
import { useLoaded } from './hooks';
import { lineDiff } from './line_diff';
import type { PageCall, PageExit, PageVisit, RunPage } from './model';
import { Empty, ErrorLine, Loading, StateTag } from './parts';
import { changeQuery, runHash } from './route';
import type { Source } from './source';
import { w } from './words';

type Step = { visit: PageVisit; calls: PageCall[]; exit: PageExit | null };
type Pair = { key: string; a: Step | null; b: Step | null; differs: boolean };

const stepsOf = (run: RunPage): Step[] => {
  const calls = new Map<number, PageCall[]>();
  for (const call of run.calls) calls.set(call.visit, [...(calls.get(call.visit) ?? []), call]);
  const exits = new Map(run.exits.map((exit) => [exit.visit, exit]));
  return run.visits.slice().sort((x, y) => x.index - y.index)
    .map((visit) => ({ visit, calls: calls.get(visit.index) ?? [], exit: exits.get(visit.index) ?? null }));
};

const keyOf = (step: Step): string => `${step.visit.stage}\n${step.visit.visit}`;
const endOf = (step: Step | null): string => step?.exit?.to ?? '';
const labelsOf = (step: Step): string => step.calls.map((call) => call.label ?? '').join('\n');

/** Aligns the visits of both runs by stage and visit number. */
const align = (a: Step[], b: Step[]): Pair[] => {
  const inB = new Map(b.map((step, index) => [keyOf(step), index]));
  const inA = new Set(a.map(keyOf));
  const pairs: Pair[] = [];
  let next = 0;
  const addB = (until: number): void => {
    for (; next < until; next += 1) {
      const step = b[next];
      if (step && !inA.has(keyOf(step))) pairs.push({ key: keyOf(step), a: null, b: step, differs: true });
    }
  };
  for (const step of a) {
    const place = inB.get(keyOf(step));
    if (place !== undefined && place >= next) addB(place);
    const other = place === undefined ? null : (b[place] ?? null);
    if (place !== undefined) next = Math.max(next, place + 1);
    pairs.push({ key: keyOf(step), a: step, b: other, differs: !other || endOf(step) !== endOf(other) || labelsOf(step) !== labelsOf(other) });
  }
  addB(b.length);
  return pairs;
};

type Props = { source: Source; a: string; b: string; query: URLSearchParams };

export const CompareView = ({ source, a, b, query }: Props): JSX.Element => {
  const left = useLoaded(`run ${a}`, () => source.run(a));
  const right = useLoaded(`run ${b}`, () => source.run(b));
  const error = left.error ?? right.error;
  if (error) return <ErrorLine words={error} />;
  if (!left.value || !right.value) return <Loading />;
  return <Comparison source={source} a={left.value} b={right.value} query={query} />;
};

const Comparison = ({ source, a, b, query }: { source: Source; a: RunPage; b: RunPage; query: URLSearchParams }): JSX.Element => {
  const pairs = useMemo(() => align(stepsOf(a), stepsOf(b)), [a, b]);
  const first = pairs.findIndex((pair) => pair.differs);
  const chosen = query.get('visit');
  const place = chosen === null ? Math.max(0, first) : pairs.findIndex((pair) => pair.key === chosen);
  const pair = pairs[place];
  return (
    <>
      <h1>{w('compare')}</h1>
      <Sides a={a} b={b} />
      <section class="panel">
        <h2>{w('path')}</h2>
        {first < 0 && <p class="soft">{w('same_path')}</p>}
        <div class="scroll tall" tabIndex={0} role="group" aria-label={w('path')}>
          <table class="compare-path">
            <thead>
              <tr>
                <th scope="col">{w('stage')}</th>
                <th scope="col"><span class="side">A</span> {visible(a.row.run)}</th>
                <th scope="col"><span class="side">B</span> {visible(b.row.run)}</th>
              </tr>
            </thead>
            <tbody>
              {pairs.map((entry, index) => (
                <tr key={entry.key} class={`${entry.differs ? 'differs' : ''} ${index === place ? 'is-active' : ''}`} onClick={() => changeQuery({ visit: entry.key })}>
                  <th scope="row">
                    {index === first && <span class="divergence">{w('diverges')}</span>}
                    <button type="button" class="link" aria-pressed={index === place}>{visible((entry.a ?? entry.b)?.visit.stage ?? '')}</button>
                    {((entry.a ?? entry.b)?.visit.visit ?? 1) > 1 && <span class="soft"> {w('visit_n', (entry.a ?? entry.b)?.visit.visit ?? 1)}</span>}
                  </th>
                  <StepCell step={entry.a} />
                  <StepCell step={entry.b} />
                </tr>
              ))}
            </tbody>
          </table>
        </div>
      </section>
      <section class="panel">
        <h2>{w('prompt_diff')}</h2>
        {pair ? <PromptDiff key={pair.key} source={source} a={a} b={b} pair={pair} query={query} /> : <Empty>{w('pick_pair')}</Empty>}
      </section>
    </>
  );
};

const StepCell = ({ step }: { step: Step | null }): JSX.Element => {
  if (!step) return <td class="soft">–</td>;
  const { cost, hasUnknown } = sumCost(step.calls.flatMap((call) => call.attempts));
  const time = (step.visit.left ?? step.visit.entered) - step.visit.entered;
  return (
    <td>
      <span class="to">{step.exit ? `→ ${visible(step.exit.to)}` : ''}</span>
      <span class="second">
        {step.visit.left === null ? '–' : length(time)} · {money(cost, hasUnknown)}
        {step.visit.is_inherited && ` · ${w('inherited')}`}
      </span>
    </td>
  );
};

const Sides = ({ a, b }: { a: RunPage; b: RunPage }): JSX.Element => {
  const signed = (value: number, words: (value: number) => string): string => (value === 0 ? '=' : `${value > 0 ? '+' : '−'}${words(Math.abs(value))}`);
  const costKnown = a.row.cost !== null && b.row.cost !== null && a.row.unpriced.length + b.row.unpriced.length === 0;
  const rows: [string, string, string, string][] = [
    [w('elapsed'), length(a.row.driven), length(b.row.driven), signed(b.row.driven - a.row.driven, length)],
    [w('cost'), money(a.row.cost, a.row.unpriced.length > 0), money(b.row.cost, b.row.unpriced.length > 0), costKnown ? signed((b.row.cost ?? 0) - (a.row.cost ?? 0), dollars) : '?'],
    [w('tokens'), tokens(a.row.tokens), tokens(b.row.tokens), signed(b.row.tokens - a.row.tokens, tokens)],
    [w('turns'), count(a.row.turns), count(b.row.turns), signed(b.row.turns - a.row.turns, count)],
    [w('iterations'), count(a.row.iterations), count(b.row.iterations), signed(b.row.iterations - a.row.iterations, count)],
  ];
  const head = (run: RunPage, side: string): JSX.Element => (
    <th scope="col">
      <span class="side">{side}</span> <a href={runHash(run.row.id)}>{visible(run.row.task) || visible(run.row.run)}</a>
      <span class="second">{visible(run.row.definition)} · {visible(run.row.run)}</span>
      <StateTag state={run.row.state} />
    </th>
  );
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={w('compare_title', visible(a.row.run), visible(b.row.run))}>
      <table class="compare-sides">
        <thead><tr><th scope="col"><span class="unseen">{w('figure')}</span></th>{head(a, 'A')}{head(b, 'B')}<th scope="col">{w('difference')}</th></tr></thead>
        <tbody>
          {rows.map(([name, x, y, difference]) => (
            <tr key={name}><th scope="row">{name}</th><td class="number">{x}</td><td class="number">{y}</td><td class="number soft">{difference}</td></tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};

type DiffProps = { source: Source; a: RunPage; b: RunPage; pair: Pair; query: URLSearchParams };

const PromptDiff = ({ source, a, b, pair, query }: DiffProps): JSX.Element => {
  const names = [...new Set([...(pair.a?.calls ?? []), ...(pair.b?.calls ?? [])].map((call) => call.name))];
  const wanted = query.get('name') ?? '';
  const name = names.includes(wanted) ? wanted : (names[0] ?? '');
  const callA = pair.a?.calls.find((call) => call.name === name);
  const callB = pair.b?.calls.find((call) => call.name === name);
  const left = useLoaded(callA ? `${a.row.id} ${callA.id}` : null, () => source.texts(a.row.id, callA?.id ?? ''));
  const right = useLoaded(callB ? `${b.row.id} ${callB.id}` : null, () => source.texts(b.row.id, callB?.id ?? ''));
  const [textA, textB] = [left.value?.prompt ?? null, right.value?.prompt ?? null];
  const diff = useMemo(() => (textA !== null && textB !== null ? lineDiff(textA, textB) : null), [textA, textB]);
  const error = left.error ?? right.error;
  return (
    <>
      {names.length > 1 && (
        <select aria-label={w('calls')} value={name} onChange={(event) => changeQuery({ name: event.currentTarget.value })}>
          {names.map((entry) => <option key={entry} value={entry}>{visible(entry)}</option>)}
        </select>
      )}
      {error ? <ErrorLine words={error} />
        : !callA || !callB ? <Empty>{w('no_counterpart')}</Empty>
        : !left.value || !right.value ? <Loading />
        : !diff ? <Empty>{w('no_prompt')}</Empty>
        : diff.isEqual ? <Empty>{w('same_prompt')}</Empty>
        : (
          <>
            {diff.isCoarse && <p class="remark">{w('too_long')}</p>}
            <DiffTable lines={diff.lines} label={w('prompt_diff')} />
          </>
        )}
    </>
  );
};
