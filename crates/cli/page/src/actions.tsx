// What a person can do with a run. Each action shows the equal command.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import type { CallEntry } from './calls';
import { shellQuoted, visible } from './format';
import type { Live } from './live';
import type { PageReply, PageState, RunPage } from './model';
import { Command, Dialog, ErrorLine, Icon, Sentence } from './parts';
import { runHash } from './route';
import { type Action, wordsOf } from './source';
import { type Word, w } from './words';

export type ActionName = 'tell' | 'resume' | 'fork' | 'cancel';

const ENDED: readonly PageState[] = ['completed', 'failed', 'declined', 'cancelled', 'broken'];

export const offered = (run: RunPage): ActionName[] => {
  const { state, is_driven } = run.row;
  if (state === 'broken') return [];
  if (ENDED.includes(state)) return ['fork'];
  return is_driven ? ['tell', 'fork', 'cancel'] : ['tell', 'resume', 'fork', 'cancel'];
};

type Props = { live: Live; run: RunPage; selected: CallEntry | null; open: ActionName | null; setOpen: (name: ActionName | null) => void };

export const Actions = ({ live, run, selected, open, setOpen }: Props): JSX.Element | null => {
  const menu = useRef<HTMLDetailsElement>(null);
  const names = offered(run);
  // A click elsewhere or Esc closes the menu.
  useEffect(() => {
    const close = (event: Event): void => {
      const isInside = event.target instanceof Node && menu.current?.contains(event.target);
      if (menu.current && (!isInside || (event as KeyboardEvent).key === 'Escape')) menu.current.open = false;
    };
    addEventListener('click', close);
    addEventListener('keydown', close);
    return () => {
      removeEventListener('click', close);
      removeEventListener('keydown', close);
    };
  }, []);
  if (names.length === 0 && !open) return null;
  return (
    <>
      <details class="menu" ref={menu}>
        <summary class="button">{w('actions')}</summary>
        <div class="entries">
          {names.map((name) => (
            <button key={name} type="button" onClick={() => {
              if (menu.current) menu.current.open = false;
              setOpen(name);
            }}>
              {w(`a_${name}` as Word)}
            </button>
          ))}
        </div>
      </details>
      {/* The dialog stays when the run changes, to show what came of the request. */}
      {open && (
        <ActionDialog key={open} name={open} live={live} run={run} selected={selected} onClose={() => setOpen(null)} />
      )}
    </>
  );
};

type DialogProps = { name: ActionName; live: Live; run: RunPage; selected: CallEntry | null; onClose: () => void };

const ActionDialog = ({ name, live, run, selected, onClose }: DialogProps): JSX.Element => {
  const [text, setText] = useState('');
  const [stage, setStage] = useState('');
  const [isNow, setNow] = useState(false);
  const [budget, setBudget] = useState('');
  const [iterations, setIterations] = useState('');
  const before = selected?.call.fork_at ?? null;
  const after = selected && selected.call.seq > 0 ? selected.call.seq : null;
  const [at, setAt] = useState(String(before ?? after ?? ''));
  const [reply, setReply] = useState<PageReply | null>(null);
  const [isSending, setSending] = useState(false);
  const id = shellQuoted(run.row.run);

  const place = (word: Word, seq: number): JSX.Element => (
    <label class="check">
      <input type="radio" name="place" checked={Number(at) === seq} onChange={() => setAt(String(seq))} /> {w(word, seq)}
    </label>
  );

  const form = ((): { action: Action; command: string; isReady: boolean; fields: ComponentChildren } => {
    switch (name) {
      case 'tell':
        return {
          action: { name, body: { text: text.trim(), stage: stage || null, now: isNow } },
          command: `saihai tell ${id}${stage ? ` --to ${shellQuoted(stage)}` : ''}${isNow ? ' --now' : ''} ${text.trim() ? shellQuoted(text.trim()) : '"…"'}`,
          isReady: text.trim() !== '',
          fields: (
            <>
              <label>
                <span class="label">{w('note_text')}</span>
                <textarea rows={4} maxLength={10_000} value={text} onInput={(event) => setText(event.currentTarget.value)} autoFocus />
              </label>
              <label>
                <span class="label">{w('note_stage')}</span>
                <select value={stage} onChange={(event) => setStage(event.currentTarget.value)}>
                  <option value="">{w('current_stage')}{run.row.stage ? ` (${visible(run.row.stage)})` : ''}</option>
                  {run.stages.filter((entry) => entry.kind === 'turns').map((entry) => <option key={entry.id} value={entry.id}>{visible(entry.id)}</option>)}
                </select>
              </label>
              <label class="check">
                <input type="checkbox" checked={isNow} onChange={(event) => setNow(event.currentTarget.checked)} /> {w('note_now')}
              </label>
            </>
          ),
        };
      case 'resume':
        return {
          action: { name, body: { budget: budget.trim() || null, max_iterations: Number(iterations) || null } },
          command: `saihai resume ${id}${budget.trim() ? ` --budget ${shellQuoted(budget.trim())}` : ''}${Number(iterations) ? ` --max-iterations ${Number(iterations)}` : ''}`,
          isReady: true,
          fields: (
            <>
              <label>
                <span class="label">{w('new_budget')}</span>
                <input type="text" value={budget} onInput={(event) => setBudget(event.currentTarget.value)} autoFocus />
              </label>
              <label>
                <span class="label">{w('new_iterations')}</span>
                <input type="number" min={1} max={100_000} value={iterations} onInput={(event) => setIterations(event.currentTarget.value)} />
              </label>
              <p class="soft">{w('keep_limits')}</p>
            </>
          ),
        };
      case 'fork':
        return {
          action: { name, body: { at: Number(at) || null } },
          command: `saihai fork ${id}${Number(at) ? ` --at ${Number(at)}` : ''}`,
          isReady: true,
          fields: (
            <>
              {selected && (before !== null || after !== null) && (
                <fieldset>
                  <legend class="label">{w('fork_call', visible(selected.name))}</legend>
                  {before !== null && place('fork_before', before)}
                  {after !== null && place('fork_after', after)}
                </fieldset>
              )}
              <label>
                <span class="label">{w('fork_at')}</span>
                <input type="number" min={1} max={run.last_seq} value={at} onInput={(event) => setAt(event.currentTarget.value)} />
              </label>
              <p class="soft">{w('fork_words')}</p>
            </>
          ),
        };
      case 'cancel':
        return { action: { name, body: {} }, command: `saihai cancel ${id}`, isReady: true, fields: <p>{w('cancel_words')}</p> };
    }
  })();

  const send = async (): Promise<void> => {
    setSending(true);
    try {
      setReply(await live.source.act(run.row.id, form.action));
    } catch (error) {
      setReply({ is_done: false, words: wordsOf(error), run: null });
    }
    setSending(false);
  };
  return (
    <Dialog title={w(`a_${name}` as Word)} onClose={onClose}>
      {reply?.is_done ? (
        <div role="status">
          <p class="done"><Icon of="done" /> <Sentence text={reply.words} /></p>
          {reply.run && <a class="button main" href={runHash(reply.run)} onClick={onClose}>{w('open_run')}</a>}
        </div>
      ) : (
        <form onSubmit={(event) => {
          event.preventDefault();
          void send();
        }}>
          {form.fields}
          {reply && <ErrorLine words={reply.words} />}
          <p class="same"><span class="label">{w('same_command')}</span> <Command text={form.command} at={live.directoryOf(run.row)} /></p>
          <div class="buttons">
            <button type="submit" class={name === 'cancel' ? 'main danger' : 'main'} disabled={isSending || !form.isReady}>{w(`do_${name}` as Word)}</button>
            <button type="button" onClick={onClose}>{w('keep')}</button>
          </div>
        </form>
      )}
    </Dialog>
  );
};
