// The open question of a run, and the form to answer it.

import type { JSX } from 'preact';
import { useState } from 'preact/hooks';
import { shellQuoted, visible, when } from './format';
import type { Live } from './live';
import { Markdown } from './markdown';
import type { PageGate, RunPage } from './model';
import { Command, ErrorLine, Icon, Sentence } from './parts';
import { runHash } from './route';
import { wordsOf } from './source';
import { w } from './words';

type Props = { live: Live; run: RunPage; gate: PageGate; canAct: boolean };

export const GatePanel = ({ live, run, gate, canAct }: Props): JSX.Element => {
  const [text, setText] = useState('');
  const [result, setResult] = useState<{ isDone: boolean; words: string } | null>(null);
  const [isSending, setSending] = useState(false);
  const id = run.row.id;

  const answer = async (yes: boolean | null): Promise<void> => {
    setSending(true);
    try {
      const reply = await live.source.act(id, { name: 'answer', body: { call: gate.call, yes, text: text.trim() || null } });
      setResult({ isDone: reply.is_done, words: reply.words });
    } catch (error) {
      setResult({ isDone: false, words: wordsOf(error) });
    }
    setSending(false);
  };
  const comment = text.trim() ? ` ${shellQuoted(text.trim())}` : '';
  const command = `saihai answer ${shellQuoted(run.row.run)}${gate.is_yes_no ? ' yes' : ''}${comment || (gate.is_yes_no ? '' : ' "…"')}`;
  return (
    <section class="gate" aria-label={w('gate_title', visible(gate.stage))}>
      <header>
        <Icon of="waiting" />
        <h2>{w('gate_title', visible(gate.stage))}</h2>
        {gate.closes !== null && <span class="soft">{w('gate_closes', when(gate.closes))}</span>}
      </header>
      <div class="gate-body">
        <Markdown text={gate.question} />
        <aside>
          <span class="label">{w('see_also')}</span>
          <a href={runHash(id, { view: 'changes' })}>{w('see_changes')}</a>
          {run.reports.map((report) => (
            <a key={report.file} href={runHash(id, { view: 'reports', file: report.file })}>{visible(report.file)}</a>
          ))}
        </aside>
      </div>
      {canAct && !result?.isDone && (
        <form onSubmit={(event) => {
          event.preventDefault();
          if (!gate.is_yes_no) void answer(null);
        }}>
          <label>
            <span class="label">{gate.is_yes_no ? w('comment') : w('your_answer')}</span>
            <textarea rows={gate.is_yes_no ? 1 : 3} maxLength={10_000} value={text} required={!gate.is_yes_no}
              onInput={(event) => setText(event.currentTarget.value)} />
          </label>
          <div class="buttons">
            {gate.is_yes_no ? (
              <>
                <button type="button" class="main" disabled={isSending} onClick={() => void answer(true)}>{w('yes')}</button>
                <button type="button" disabled={isSending} onClick={() => void answer(false)}>{w('no')}</button>
              </>
            ) : (
              <button type="submit" class="main" disabled={isSending || !text.trim()}>{w('send')}</button>
            )}
            <span class="same"><span class="soft">{w('same_command')}</span> <Command text={command} at={live.directoryOf(run.row)} /></span>
          </div>
        </form>
      )}
      {!canAct && !live.source.saved && <Command text={command} at={live.directoryOf(run.row)} />}
      <div role="status">{result?.isDone && <p class="done"><Icon of="done" /> <Sentence text={result.words} /></p>}</div>
      {result && !result.isDone && <ErrorLine words={result.words} />}
    </section>
  );
};
