// Money and tokens of a run.

import type { JSX } from 'preact';
import { useMemo, useState } from 'preact/hooks';
import type uPlot from 'uplot';
import { type CallEntry, isUnpriced, sumCost, sumTokens, tokenTotal } from './calls';
import { clock, count, dollars, length, money, tokens, visible } from './format';
import type { PageAttempt, TokenCounts } from './model';
import { Choice, Empty } from './parts';
import { axis, type Colours, hatch, Plot } from './plot';
import type { ViewProps } from './run';
import { type Word, w } from './words';

type Spent = { entry: CallEntry; attempt: PageAttempt };
type By = 'stage' | 'provider' | 'model';

const spentOf = (entries: CallEntry[]): Spent[] =>
  entries
    .flatMap((entry) => entry.call.attempts.map((attempt) => ({ entry, attempt })))
    .filter(({ attempt }) => attempt.ended !== null && attempt.provider !== null)
    .sort((a, b) => (a.attempt.ended ?? 0) - (b.attempt.ended ?? 0));

export const CostView = ({ run, entries, theme }: ViewProps): JSX.Element => {
  const spent = useMemo(() => spentOf(entries), [entries]);
  const limit = run.row.budget.find((use) => use.kind === 'usd')?.limit ?? null;
  const data = useMemo((): uPlot.AlignedData => {
    let [cost, used] = [0, 0];
    const times = [run.row.started / 1000];
    const costs: (number | null)[] = [0];
    const useds: (number | null)[] = [0];
    for (const { attempt } of spent) {
      cost += attempt.cost ?? 0;
      used += tokenTotal(attempt.tokens);
      // Two attempts can end in the same millisecond; an axis needs rising values.
      times.push(Math.max((attempt.ended ?? 0) / 1000, (times.at(-1) ?? 0) + 0.0001));
      costs.push(cost);
      useds.push(used);
    }
    return [times, costs, useds];
  }, [spent]);
  const unpriced = useMemo(() => spent.filter(({ attempt }) => isUnpriced(attempt)), [spent]);
  const hasCost = spent.some(({ attempt }) => attempt.cost !== null);
  if (spent.length === 0) return <Empty>{w('no_attempts')}</Empty>;

  const options = (colour: Colours): Omit<uPlot.Options, 'width' | 'height'> => ({
    cursor: { y: false, points: { size: 6 } },
    scales: { x: { time: true }, y: { range: (_, __, high) => [0, Math.max(high, limit ?? 0, 0.0001) * 1.08] }, tokens: { range: (_, __, high) => [0, Math.max(high, 1) * 1.08] } },
    axes: [
      axis(colour, { space: 70, size: 28, values: (_, ticks) => ticks.map((tick) => clock(tick * 1000)) }),
      axis(colour, { size: 58, show: hasCost, values: (_, ticks) => ticks.map((tick) => dollars(tick)) }),
      axis(colour, { side: 1, scale: 'tokens', size: 52, grid: { show: false }, values: (_, ticks) => ticks.map((tick) => tokens(tick)) }),
    ],
    series: [
      {},
      { show: hasCost, stroke: colour('path'), width: 2, points: { show: spent.length < 80, size: 5 }, fill: colour('path-faint') },
      { scale: 'tokens', stroke: colour('loop'), width: 1.5, dash: [5, 3], points: { show: false } },
    ],
    hooks: {
      draw: [
        (plot) => {
          for (const { attempt } of unpriced) hatch(plot, attempt.asked / 1000, (attempt.ended ?? 0) / 1000, colour('soft'));
          if (limit === null || !hasCost) return;
          const y = plot.valToPos(limit, 'y', true);
          plot.ctx.save();
          plot.ctx.strokeStyle = colour('bad');
          plot.ctx.setLineDash([6, 4]);
          plot.ctx.lineWidth = 1.5 * devicePixelRatio;
          plot.ctx.beginPath();
          plot.ctx.moveTo(plot.bbox.left, y);
          plot.ctx.lineTo(plot.bbox.left + plot.bbox.width, y);
          plot.ctx.stroke();
          plot.ctx.restore();
        },
      ],
    },
  });

  return (
    <div class="cost-view">
      {!hasCost && spent.every(({ attempt }) => tokenTotal(attempt.tokens) === 0) ? <Empty>{w('no_use')}</Empty> : <section>
        <h3>{w('cost_over_time')}</h3>
        <ul class="legend">
          {hasCost && <li><span class="swatch swatch-cost" />{w('cost')}</li>}
          <li><span class="swatch swatch-token-line" />{w('tokens')}</li>
          {hasCost && limit !== null && <li><span class="swatch swatch-limit" />{w('budget_line')} {dollars(limit)}</li>}
          {unpriced.length > 0 && <li><span class="swatch swatch-unknown" />{w('unknown_cost')}</li>}
        </ul>
        <Plot label={w('cost_over_time')} height={240} data={data} options={options} version={`${theme} ${unpriced.length} ${limit} ${hasCost}`} />
      </section>}
      <Breakdown spent={spent} />
    </div>
  );
};

const keyOf = ({ entry, attempt }: Spent, by: By): string =>
  by === 'stage' ? entry.stage : by === 'provider' ? (attempt.provider ?? '') : (attempt.model ?? w('unknown'));

const KINDS = ['input', 'cached', 'output', 'reasoning'] as const;

const Breakdown = ({ spent }: { spent: Spent[] }): JSX.Element => {
  const [by, setBy] = useState<By>('stage');
  const groups = useMemo(() => {
    const map = new Map<string, PageAttempt[]>();
    for (const item of spent) {
      const key = keyOf(item, by);
      const list = map.get(key);
      if (list) list.push(item.attempt);
      else map.set(key, [item.attempt]);
    }
    return [...map].map(([name, attempts]) => ({ name, attempts, ...sumCost(attempts), tokens: sumTokens(attempts) }))
      .sort((a, b) => (b.cost ?? -1) - (a.cost ?? -1) || tokenTotal(b.tokens) - tokenTotal(a.tokens));
  }, [spent, by]);
  const all = spent.map(({ attempt }) => attempt);
  const total = { ...sumCost(all), tokens: sumTokens(all) };
  const mostCost = Math.max(0.000001, ...groups.map((group) => group.cost ?? 0));
  const mostTokens = Math.max(1, ...groups.map((group) => tokenTotal(group.tokens)));
  const time = (attempts: PageAttempt[]): number => attempts.reduce((sum, attempt) => sum + (attempt.ended ?? attempt.asked) - attempt.asked, 0);
  return (
    <section>
      <div class="toolbar">
        <Choice<By> value={by} name={w('cost')} onChange={setBy} options={[['stage', w('by_stage')], ['provider', w('by_provider')], ['model', w('by_model')]]} />
        <ul class="legend">{KINDS.map((kind) => <li key={kind}><span class={`swatch swatch-${kind}`} />{w(`tok_${kind}` as Word)}</li>)}</ul>
      </div>
      <div class="scroll" tabIndex={0} role="group" aria-label={w('cost')}>
        <table class="figures-table">
          <thead>
            <tr>
              <th scope="col">{w(by)}</th>
              <th scope="col" class="right">{w('turns')}</th>
              <th scope="col" class="right">{w('time')}</th>
              <th scope="col" class="right">{w('cost')}</th>
              <th scope="col" class="bar-column"><span class="unseen">{w('cost')}</span></th>
              <th scope="col" class="right">{w('tokens')}</th>
              <th scope="col" class="bar-column"><span class="unseen">{w('tokens_by_kind')}</span></th>
            </tr>
          </thead>
          <tbody>
            {groups.map((group) => (
              <tr key={group.name}>
                <th scope="row">{visible(group.name)}</th>
                <td class="right number">{group.attempts.length}</td>
                <td class="right number">{length(time(group.attempts))}</td>
                <td class="right number">{group.cost === null && group.hasUnknown ? '?' : money(group.cost, group.hasUnknown)}</td>
                <td class="bar-column">
                  <span class="share">
                    <span class="share-cost" style={{ width: `${((group.cost ?? 0) / mostCost) * 100}%` }} />
                    {group.hasUnknown && <span class="share-unknown" title={w('unknown_cost')} />}
                  </span>
                </td>
                <td class="right number" title={kindWords(group.tokens)}>{tokens(tokenTotal(group.tokens))}</td>
                <td class="bar-column"><TokenBar counts={group.tokens} most={mostTokens} /></td>
              </tr>
            ))}
          </tbody>
          <tfoot>
            <tr>
              <th scope="row">{w('total')}</th>
              <td class="right number">{count(all.length)}</td>
              <td class="right number">{length(time(all))}</td>
              <td class="right number">{total.cost === null && total.hasUnknown ? '?' : money(total.cost, total.hasUnknown)}</td>
              <td />
              <td class="right number">{tokens(tokenTotal(total.tokens))}</td>
              <td class="soft kinds">{kindWords(total.tokens)}</td>
            </tr>
          </tfoot>
        </table>
      </div>
    </section>
  );
};

const kindWords = (counts: TokenCounts): string =>
  KINDS.filter((kind) => counts[kind] > 0).map((kind) => `${tokens(counts[kind])} ${w(`tok_${kind}` as Word)}`).join(' · ');

/** Cached tokens are a part of the input, reasoning is a part of the output. */
const TokenBar = ({ counts, most }: { counts: TokenCounts; most: number }): JSX.Element => {
  const cached = Math.min(counts.cached, counts.input);
  const reasoning = Math.min(counts.reasoning, counts.output);
  const parts = { input: counts.input - cached, cached, output: counts.output - reasoning, reasoning };
  return (
    <span class="share">
      {KINDS.map((kind) => <span key={kind} class={`share-${kind}`} style={{ width: `${(parts[kind] / most) * 100}%` }} />)}
    </span>
  );
};
