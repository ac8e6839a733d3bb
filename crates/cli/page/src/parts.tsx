// Small parts that several views share.

import type { ComponentChildren, JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { count, length, money, shellQuoted, visible } from './format';
import { useNow } from './hooks';
import type { BudgetUse, CallMark, PageRow, PageState } from './model';
import { type Word, w } from './words';

/** Text of an agent or a file, with control characters made visible. */
export const Text = ({ children }: { children: string }): JSX.Element => <>{visible(children)}</>;

type Shape = PageState | CallMark;

// Each state has a shape of its own, so that colour is never the only sign.
const shapes: Record<Shape, JSX.Element> = {
  waiting: <path d="M8 1.5a6.5 6.5 0 1 0 0 13a6.5 6.5 0 0 0 0-13zM6 6.2a2 2 0 1 1 2.9 1.8c-.6.3-.9.6-.9 1.2M8 11.4v.2" class="line" />,
  running: <path d="M4.5 2.5v11l9-5.5z" class="full" />,
  interrupted: <path d="M9.5 1.5L4 9h4l-1.500 5.500L12 7H8z" class="full" />,
  answered: <path d="M2.500 3h11v8h-6l-3 2.500V11h-2zM5.500 7l1.800 1.800L10.800 5.300" class="line" />,
  parked: <path d="M4 2.500h3v11H4zM9 2.500h3v11H9z" class="full" />,
  completed: <path d="M2.500 8.500l3.500 3.500L13.500 4" class="bold" />,
  done: <path d="M2.500 8.500l3.500 3.500L13.500 4" class="bold" />,
  failed: <path d="M3.500 3.500l9 9M12.500 3.500l-9 9" class="bold" />,
  declined: <path d="M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13zM4.500 8h7" class="line" />,
  cancelled: <path d="M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13zM3.600 12.400l8.800-8.800" class="line" />,
  broken: <path d="M8 1.800L15 14H1zM8 6v4M8 11.800v.2" class="line" />,
  queued: <path d="M8 1.500a6.500 6.500 0 1 0 0 13a6.500 6.500 0 0 0 0-13zM8 4.500V8l2.500 1.500" class="line" />,
};

export const Icon = ({ of }: { of: Shape }): JSX.Element => (
  <svg class={`icon is-${of}`} viewBox="0 0 16 16" width="14" height="14" aria-hidden="true">
    {shapes[of]}
  </svg>
);

export const stateWord = (state: PageState): string => w(`s_${state}` as Word);
export const markWord = (mark: CallMark): string => w(`m_${mark}` as Word);

export const StateTag = ({ state }: { state: PageState }): JSX.Element => (
  <span class={`state is-${state}`}>
    <Icon of={state} />
    {stateWord(state)}
  </span>
);

const copyText = async (text: string): Promise<void> => {
  try {
    await navigator.clipboard.writeText(text);
  } catch {
    const area = document.createElement('textarea');
    area.value = text;
    document.body.append(area);
    area.select();
    document.execCommand('copy');
    area.remove();
  }
};

export const CopyButton = ({ text, name }: { text: string; name?: string }): JSX.Element => {
  const [isCopied, setCopied] = useState(false);
  useEffect(() => {
    if (!isCopied) return;
    const timer = setTimeout(() => setCopied(false), 1500);
    return () => clearTimeout(timer);
  }, [isCopied]);
  return (
    <button
      type="button"
      class="small quiet copy"
      aria-label={isCopied ? w('copied') : `${w('copy')}: ${name ?? text.slice(0, 80)}`}
      onClick={() => void copyText(text).then(() => setCopied(true))}
    >
      {isCopied ? w('copied') : w('copy')}
    </button>
  );
};

/** A command to copy. `at` is the directory that it needs, if the page shows several projects. */
export const Command = ({ text, at = null }: { text: string; at?: string | null }): JSX.Element => {
  const typed = at === null ? text : `cd ${shellQuoted(at)} && ${text}`;
  return (
    <span class="command">
      <code>
        <Text>{typed}</Text>
      </code>
      <CopyButton text={visible(typed)} />
    </span>
  );
};

export const drivenTime = (row: PageRow, now: number): number =>
  row.driven + (row.is_driven ? Math.max(0, now - row.read_at) : 0);

export const DrivenTime = ({ row }: { row: PageRow }): JSX.Element => {
  const now = useNow(row.is_driven);
  return <span class="number">{row.state === 'broken' ? '–' : length(drivenTime(row, now))}</span>;
};

export const Cost = ({ row }: { row: PageRow }): JSX.Element => {
  const isUnknown = row.unpriced.length > 0;
  const title = row.cost === null ? w('cost_unknown') : isUnknown ? w('cost_lacks', visible(row.unpriced.join(', '))) : undefined;
  return (
    <span class="number" title={title}>
      {row.state === 'broken' ? '–' : money(row.cost, isUnknown)}
    </span>
  );
};

/** Added and removed lines. Nothing is known of a run that has not stopped yet, or without git. */
export const ChangedLines = ({ row }: { row: PageRow }): JSX.Element => {
  if (row.changes === null) return <span class="soft">–</span>;
  const { files, added, removed } = row.changes;
  return (
    <span class="number" title={files === 1 ? w('one_file_changed') : w('n_files_changed', count(files))}>
      <span class="plus">+{count(added)}</span> <span class="minus">−{count(removed)}</span>
    </span>
  );
};

/** A budget as a bar with words. With a row it also shows the cost, and that a part of it is unknown. */
export const BudgetBar = ({ use, row }: { use: BudgetUse; row?: PageRow | undefined }): JSX.Element => {
  const share = use.limit > 0 ? Math.min(1, use.used / use.limit) : 1;
  const isPartial = row !== undefined && use.kind === 'usd' && row.unpriced.length > 0;
  // A sum of dollars is written like any other cost on the page.
  const words = use.kind === 'usd' ? w('used_of', money(use.used, isPartial), money(use.limit, false)) : visible(use.words);
  const level = share >= 1 ? 'is-spent' : share >= 0.8 ? 'is-near' : '';
  return (
    <span class="budget" title={visible(use.words)}>
      <span class={`bar ${level}`} aria-hidden="true">
        <span style={{ width: `${share * 100}%` }} />
      </span>
      <span class="words">
        {row && use.kind !== 'usd' && <Cost row={row} />}
        <span class={row && use.kind !== 'usd' ? 'soft' : ''} title={isPartial ? w('cost_lacks', visible(row.unpriced.join(', '))) : undefined}>
          {words}
        </span>
      </span>
    </span>
  );
};

/** Shows a text in parts, because one very long text would block the browser. */
export const LONG_TEXT = 60_000;

export const LongText = ({ text, children }: { text: string; children: (text: string) => ComponentChildren }): JSX.Element => {
  const [isWhole, setWhole] = useState(false);
  if (text.length <= LONG_TEXT || isWhole) return <>{children(text)}</>;
  return (
    <>
      {children(text.slice(0, LONG_TEXT))}
      <button type="button" class="small" onClick={() => setWhole(true)}>
        {w('show_more', count(text.length))}
      </button>
    </>
  );
};

export const Pre = ({ text, label }: { text: string; label: string }): JSX.Element => (
  <LongText text={text}>
    {(part) => (
      <pre class="text" tabIndex={0} aria-label={label} role="group">
        <Text>{part}</Text>
      </pre>
    )}
  </LongText>
);

/** A sentence of the server. Parts in backquotes are code. */
export const Sentence = ({ text }: { text: string }): JSX.Element => (
  <>{visible(text).split(/`([^`\n]+)`/).map((part, index) => (index % 2 ? <code key={index}>{part}</code> : part))}</>
);

export const ErrorLine = ({ words }: { words: string }): JSX.Element => (
  <p class="error" role="alert">
    <Icon of="broken" /> <Sentence text={words} />
  </p>
);

export const Loading = (): JSX.Element => (
  <p class="loading" role="status">
    {w('loading')}
  </p>
);

export const Empty = ({ children }: { children: ComponentChildren }): JSX.Element => <p class="empty">{children}</p>;

/** A modal dialog. Esc closes it. */
export const Dialog = ({ title, onClose, children }: { title: string; onClose: () => void; children: ComponentChildren }): JSX.Element => {
  const ref = useRef<HTMLDialogElement>(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog?.showModal();
    return () => dialog?.close();
  }, []);
  return (
    <dialog ref={ref} aria-label={title} onCancel={onClose} onClick={(event) => event.target === ref.current && onClose()}>
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" class="quiet small" onClick={onClose}>
            {w('close')}
          </button>
        </header>
        {children}
      </div>
    </dialog>
  );
};

/** A group of buttons of which one is pressed. */
export const Choice = <T extends string>({ value, options, name, onChange }: {
  value: T;
  options: readonly (readonly [T, string])[];
  name: string;
  onChange: (value: T) => void;
}): JSX.Element => (
  <div class="choice" role="group" aria-label={name}>
    {options.map(([key, words]) => (
      <button key={key} type="button" aria-pressed={key === value} onClick={() => onChange(key)}>
        {words}
      </button>
    ))}
  </div>
);
