// The selected call in a few lines.

import type { JSX } from 'preact';
import { type CallEntry, sumCost, sumTokens, tokenTotal } from './calls';
import { clock, length, money, tokens, visible } from './format';
import type { RunPage } from './model';
import { Empty, Icon, markWord, Sentence } from './parts';
import { runHash } from './route';
import { type Word, w } from './words';

type Props = { run: RunPage; entry: CallEntry | null; now: number };

export const CallSummary = ({ run, entry, now }: Props): JSX.Element => {
  if (!entry) return <Empty>{w('no_call')}</Empty>;
  const { call, visit } = entry;
  const used = sumTokens(call.attempts);
  const { cost, hasUnknown } = sumCost(call.attempts);
  const isAgent = call.attempts.some((attempt) => attempt.provider !== null);
  const toolTime = call.attempts.reduce((sum, attempt) => sum + attempt.tools_ms, 0);
  const tools = call.attempts.reduce((sum, attempt) => sum + attempt.tools, 0);
  const last = call.attempts.at(-1);
  return (
    <aside class="call-summary" aria-live="polite">
      <header>
        <Icon of={call.mark} />
        <strong>{visible(entry.name)}</strong>
        <span class="soft">
          {w(`k_${call.kind}` as Word)} · {markWord(call.mark)}
          {visit && visit.visit > 1 && ` · ${w('visit_n', visit.visit)}`}
          {call.round > 1 && ` · ${w('round_n', call.round)}`}
          {visit?.is_inherited && ` · ${w('inherited')}`}
        </span>
        <a href={runHash(run.row.id, { view: 'transcript', call: call.id })}>{w('open_transcript')}</a>
      </header>
      {call.label !== null && (
        <p class="verdict-line"><span class="label">{w('verdict')}</span> <strong>{visible(call.label)}</strong></p>
      )}
      {call.quotation !== null && <blockquote class="quotation"><Sentence text={call.quotation} /></blockquote>}
      <dl class="inline">
        <div><dt>{w('col_started')}</dt><dd class="number">{clock(call.called)}</dd></div>
        <div><dt>{w('time')}</dt><dd class="number">{length((call.ended ?? now) - call.called)}</dd></div>
        {tools > 0 && <div><dt>{w('tl_tools')}</dt><dd class="number">{tools} · {length(toolTime)}</dd></div>}
        {isAgent && tokenTotal(used) > 0 && <div><dt>{w('tokens')}</dt><dd class="number">{tokens(tokenTotal(used))}</dd></div>}
        {isAgent && call.ended !== null && <div><dt>{w('cost')}</dt><dd class="number">{last?.is_cached ? w('cached') : money(cost, hasUnknown)}</dd></div>}
        {last?.provider && <div><dt>{w('provider')}</dt><dd>{visible(last.provider)}{last.model && ` · ${visible(last.model)}`}</dd></div>}
        {call.attempts.length > 1 && <div><dt>{w('attempts')}</dt><dd class="number">{call.attempts.length}</dd></div>}
      </dl>
      {call.attempts.map((attempt, index) => attempt.failure !== null && (
        <p key={attempt.seq} class="failure-line"><Icon of="failed" /> {w('attempt_n', index + 1)}: {visible(attempt.failure)}</p>
      ))}
    </aside>
  );
};
