// The header of a run, in words.

import type { ComponentChildren, JSX } from 'preact';
import { count, fullTime, tokens, visible, when } from './format';
import { Markdown } from './markdown';
import { type Live, relative } from './live';
import type { RunPage } from './model';
import { BudgetBar, ChangedLines, Command, CopyButton, Cost, DrivenTime, Icon, Sentence, stateWord, Text } from './parts';
import { compareHash, homeHash, runHash } from './route';
import { w } from './words';

export const RunHeader = ({ live, run, children }: { live: Live; run: RunPage; children: ComponentChildren }): JSX.Element => {
  const { row } = run;
  const isSaved = live.source.saved !== null;
  const first = (row.task || run.task.split('\n', 1)[0]) ?? '';
  const isLong = first.length > 110;
  const hasMore = run.task.trim() !== '' && (isLong || run.task.trim() !== first.trim());
  return (
    <header class={`run-header is-${row.state}`}>
      <div class="title">
        <h1 title={isLong ? visible(first) : undefined}><Text>{first || row.definition || row.run}</Text></h1>
        {children}
      </div>
      <p class="facts soft">
        {row.issue && <span class="chip"><Text>{row.issue}</Text></span>}
        <span><Text>{row.definition}</Text></span>
        <span><Text>{row.dialect}</Text></span>
        <span title={fullTime(row.started)}>{w('started_at', when(row.started))}</span>
        {row.owner !== null && row.is_driven && <span>{w('driven_by', row.owner)}</span>}
        {row.is_rehearsal && <span>{w('rehearsal')}</span>}
        <span class="id"><code>{visible(row.run)}</code> <CopyButton text={row.run} /></span>
        {row.forked_from && (
          <span>
            {w('forked_from')}{' '}
            {isSaved ? <code>{visible(row.forked_from)}</code> : <a href={runHash(relative(row, row.forked_from))}>{visible(row.forked_from)}</a>}
          </span>
        )}
      </p>
      <div class="summary">
        <div class="words">
          <p class="state-line">
            <Icon of={row.state} />
            <strong><Sentence text={row.words || stateWord(row.state)} /></strong>
          </p>
          {run.why.map((line, index) => <p key={index} class="why-line"><Sentence text={line} /></p>)}
          {run.next.length > 0 && (
            <div class="next">
              <span class="label">{w('next')}</span>
              {run.next.map((command) => <Command key={command} text={command} at={live.directoryOf(row)} />)}
            </div>
          )}
          {!isSaved && run.relatives.length > 0 && (
            <p class="links">
              {run.relatives.map((id) => {
                const other = relative(row, id);
                const [older, newer] = row.forked_from === id ? [other, row.id] : [row.id, other];
                return <a key={id} href={compareHash(older, newer)}>{w('compare_with', visible(id))}</a>;
              })}
            </p>
          )}
          {hasMore && (
            <details>
              <summary>{w('whole_task')}</summary>
              <Markdown text={run.task} />
            </details>
          )}
        </div>
        <Figures run={run} />
      </div>
      {isSaved ? null : <a class="unseen" href={homeHash()}>{w('runs')}</a>}
    </header>
  );
};

const Figures = ({ run: { row } }: { run: RunPage }): JSX.Element => (
  <dl class="figures">
    <div><dt>{w('elapsed')}</dt><dd><DrivenTime row={row} /></dd></div>
    <div><dt>{w('iterations')}</dt><dd class="number">{count(row.iterations)}</dd></div>
    <div><dt>{w('turns')}</dt><dd class="number">{count(row.turns)}</dd></div>
    <div><dt>{w('tokens')}</dt><dd class="number" title={count(row.tokens)}>{tokens(row.tokens)}</dd></div>
    <div><dt>{w('changed_lines')}</dt><dd><ChangedLines row={row} /></dd></div>
    <div><dt>{w('cost')}</dt><dd><Cost row={row} /></dd></div>
    <div class="wide">
      <dt>{w('budget')}</dt>
      <dd>
        {row.budget.length === 0 && <span class="soft">{w('no_budget')}</span>}
        {row.budget.map((use) => <BudgetBar key={use.kind} use={use} row={use.kind === 'usd' ? row : undefined} />)}
      </dd>
    </div>
  </dl>
);
