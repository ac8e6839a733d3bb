// Plots over all runs: cost and tokens per day, success per definition.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import uPlot from 'uplot';
import { dollars, length, tokens, visible } from './format';
import type { HomePage, PageRow } from './model';
import { Empty } from './parts';
import { axis, type Colours, dayName, Plot } from './plot';
import { homeHash } from './route';
import type { Theme } from './settings';
import { w } from './words';

const COLOURS = 8;
const ENDED = new Set(['completed', 'failed', 'declined', 'cancelled']);

type Days = { days: number[]; names: string[]; data: uPlot.AlignedData };

const dayOf = (at: number): number => new Date(at).setHours(0, 0, 0, 0) / 1000;

/** Sums a figure per day and definition, stacked: the first series is the total. */
const perDay = (rows: PageRow[], names: string[], figure: (row: PageRow) => number): Days => {
  const first = Math.min(...rows.map((row) => dayOf(row.started)));
  const last = Math.max(...rows.map((row) => dayOf(row.started)));
  const days: number[] = [];
  for (let day = new Date(first * 1000); day.getTime() / 1000 <= last && days.length < 400; day.setDate(day.getDate() + 1)) days.push(day.getTime() / 1000);
  const places = new Map(days.map((day, index) => [day, index]));
  const sums = names.map(() => days.map(() => 0));
  for (const row of rows) {
    const [series, place] = [sums[names.indexOf(row.definition)], places.get(dayOf(row.started))];
    if (series && place !== undefined) series[place] = (series[place] ?? 0) + figure(row);
  }
  for (let index = sums.length - 2; index >= 0; index -= 1) {
    sums[index] = (sums[index] ?? []).map((value, day) => value + (sums[index + 1]?.[day] ?? 0));
  }
  return { days, names, data: [days, ...sums] };
};

const median = (values: number[]): number | null => {
  const sorted = values.slice().sort((a, b) => a - b);
  const middle = sorted.length >> 1;
  if (sorted.length === 0) return null;
  return sorted.length % 2 ? (sorted[middle] ?? 0) : ((sorted[middle - 1] ?? 0) + (sorted[middle] ?? 0)) / 2;
};

export const PlotsView = ({ home, theme }: { home: HomePage; theme: Theme }): JSX.Element => {
  const rows = useMemo(() => home.runs.filter((row) => row.state !== 'broken'), [home.runs]);
  const names = useMemo(() => {
    const counts = new Map<string, number>();
    for (const row of rows) counts.set(row.definition, (counts.get(row.definition) ?? 0) + 1);
    return [...counts].sort((a, b) => b[1] - a[1]).map(([name]) => name);
  }, [rows]);
  const cost = useMemo(() => perDay(rows, names, (row) => row.cost ?? 0), [rows, names]);
  const used = useMemo(() => perDay(rows, names, (row) => row.tokens), [rows, names]);
  const gaps = rows.filter((row) => row.unpriced.length > 0 || (row.cost === null && row.turns > 0)).length;
  if (rows.length === 0) return <Empty>{w('no_data')}</Empty>;
  return (
    <>
      <h1>{w('plots')}</h1>
      <ul class="legend definitions" aria-label={w('definition')}>
        {names.map((name, index) => (
          <li key={name}><span class={`swatch series-${index % COLOURS}`} />{visible(name)}</li>
        ))}
      </ul>
      <div class="plot-pair">
        <DayPlot title={w('cost_per_day')} days={cost} words={dollars} theme={theme} note={gaps > 0 ? w('cost_gap', gaps) : ''} />
        <DayPlot title={w('tokens_per_day')} days={used} words={tokens} theme={theme} note="" />
      </div>
      <Definitions rows={rows} names={names} />
    </>
  );
};

type DayProps = { title: string; days: Days; words: (value: number) => string; theme: Theme; note: string };

const DayPlot = ({ title, days, words, theme, note }: DayProps): JSX.Element => {
  const options = (colour: Colours): Omit<uPlot.Options, 'width' | 'height'> => ({
    cursor: { show: false },
    scales: {
      x: { time: false, range: (_, low, high) => [low - 43_200, high + 43_200] },
      y: { range: (_, __, high) => [0, Math.max(high, 0.0001) * 1.08] },
    },
    axes: [
      axis(colour, { grid: { show: false }, space: 60, size: 28, incrs: [1, 2, 7, 14, 28, 56].map((days_) => days_ * 86_400), splits: (_, __, low, high, step) => days.days.filter((day, index) => day >= low && day <= high && index % Math.max(1, Math.round(step / 86_400)) === 0), values: (_, ticks) => ticks.map(dayName) }),
      axis(colour, { size: 56, values: (_, ticks) => ticks.map(words) }),
    ],
    series: [
      {},
      ...days.names.map((_, index): uPlot.Series => ({
        fill: colour(`series-${index % COLOURS}`),
        stroke: colour('paper'),
        width: 1,
        points: { show: false },
        ...(uPlot.paths.bars ? { paths: uPlot.paths.bars({ size: [0.7, 46] }) } : {}),
      })),
    ],
  });
  const totals = (days.data[1] ?? []) as number[];
  return (
    <section class="panel">
      <h2>{title}</h2>
      <Plot label={`${title}: ${days.days.map((day, index) => `${dayName(day)} ${words(totals[index] ?? 0)}`).slice(-31).join(', ')}`}
        height={220} data={days.data} options={options} version={`${theme} ${days.names.join()} ${days.days.length}`} />
      {note && <p class="soft">{note}</p>}
    </section>
  );
};

const Definitions = ({ rows, names }: { rows: PageRow[]; names: string[] }): JSX.Element => (
  <section class="panel">
    <h2>{w('per_definition')}</h2>
    <div class="scroll" tabIndex={0} role="group" aria-label={w('per_definition')}>
      <table class="figures-table">
        <thead>
          <tr>
            <th scope="col">{w('definition')}</th>
            <th scope="col" class="right">{w('runs')}</th>
            <th scope="col" class="right">{w('ended_runs')}</th>
            <th scope="col" class="right">{w('success')}</th>
            <th scope="col" class="bar-column"><span class="unseen">{w('success')}</span></th>
            <th scope="col" class="right">{w('median_iterations')}</th>
            <th scope="col" class="right">{w('median_cost')}</th>
            <th scope="col" class="right">{w('median_time')}</th>
          </tr>
        </thead>
        <tbody>
          {names.map((name) => {
            const own = rows.filter((row) => row.definition === name);
            const ended = own.filter((row) => ENDED.has(row.state));
            const done = ended.filter((row) => row.state === 'completed');
            const share = ended.length > 0 ? done.length / ended.length : null;
            const cost = median(own.flatMap((row) => (row.cost === null || row.unpriced.length > 0 ? [] : [row.cost])));
            const time = median(ended.map((row) => row.driven));
            return (
              <tr key={name}>
                <th scope="row"><a href={homeHash({ definition: name })}>{visible(name)}</a></th>
                <td class="right number">{own.length}</td>
                <td class="right number">{ended.length}</td>
                <td class="right number">{share === null ? '–' : `${Math.round(share * 100)} %`}</td>
                <td class="bar-column"><span class="share">{share !== null && <span class="share-good" style={{ width: `${share * 100}%` }} />}</span></td>
                <td class="right number">{median(ended.map((row) => row.iterations)) ?? '–'}</td>
                <td class="right number">{cost === null ? '–' : dollars(cost)}</td>
                <td class="right number">{time === null ? '–' : length(time)}</td>
              </tr>
            );
          })}
        </tbody>
      </table>
    </div>
  </section>
);
