// Notes of persons to the agents.

import type { JSX } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { visible, when } from './format';
import type { Live } from './live';
import type { PageNote, RunPage } from './model';
import { ErrorLine } from './parts';
import { wordsOf } from './source';
import { w } from './words';

type Props = { live: Live; run: RunPage; canAct: boolean; select: (call: string) => void };

export const NotesPanel = ({ live, run, canAct, select }: Props): JSX.Element => {
  const [error, setError] = useState<string | null>(null);
  const withdraw = async (note: number): Promise<void> => {
    try {
      const reply = await live.source.act(run.row.id, { name: 'withdraw', body: { note } });
      setError(reply.is_done ? null : reply.words);
    } catch (failure) {
      setError(wordsOf(failure));
    }
  };
  const place = (note: PageNote): JSX.Element | string => {
    if (note.is_withdrawn) return w('withdrawn');
    const [first] = note.shown_in;
    if (first === undefined) return w('not_shown');
    return <button type="button" class="link" onClick={() => select(first)}>{w('shown_in', note.shown_in.length)}</button>;
  };
  // Opens for a waiting note, and does not close by itself.
  const isOpen = useRef(false);
  isOpen.current ||= run.notes.some((note) => !note.is_withdrawn && note.shown_in.length === 0);
  return (
    <details class="notes" open={isOpen.current} onToggle={(event) => (isOpen.current = event.currentTarget.open)}>
      <summary>{w('notes')} <span class="soft">{run.notes.length}</span></summary>
      <ol>
        {run.notes.map((note) => (
          <li key={note.number} value={note.number} class={note.is_withdrawn ? 'is-withdrawn' : ''}>
            <span class="note-text">{visible(note.text)}</span>
            <span class="soft">
              {when(note.at)}{note.stage && ` · ${visible(note.stage)}`} · {place(note)}
            </span>
            {canAct && !note.is_withdrawn && note.shown_in.length === 0 && (
              <button type="button" class="small" onClick={() => void withdraw(note.number)}>{w('withdraw')}</button>
            )}
          </li>
        ))}
      </ol>
      {error && <ErrorLine words={error} />}
    </details>
  );
};
