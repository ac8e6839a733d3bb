// The texts of one call: prompt, tool calls, reply, live output.

import type { JSX, RefObject } from 'preact';
import { useEffect, useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import type { CallEntry } from './calls';
import { CallSummary } from './call_summary';
import { findRanges, paint, reveal } from './find';
import { length, linesWord, shellQuoted, visible } from './format';
import { useNow } from './hooks';
import type { Live } from './live';
import { Markdown, RawText } from './markdown';
import type { CallTexts, RunPage, ToolText } from './model';
import { Choice, Command, Pre } from './parts';
import { sections } from './prompt';
import { w } from './words';

type Props = { live: Live; run: RunPage; entry: CallEntry; texts: CallTexts; previous: string | null; find: RefObject<HTMLInputElement | null> };

export const CallTextsView = ({ live, run, entry, texts, previous, find }: Props): JSX.Element => {
  const [isRaw, setRaw] = useState(false);
  const body = useRef<HTMLDivElement>(null);
  const now = useNow(entry.call.ended === null);
  const output = live.output.get(texts.call) ?? texts.live ?? '';
  const isRunning = entry.call.ended === null && (texts.live !== null || output !== '');
  const setAll = (isOpen: boolean): void => {
    for (const details of body.current?.querySelectorAll('details') ?? []) details.open = isOpen;
  };
  return (
    <>
      <div class="texts-head">
        <CallSummary run={run} entry={entry} now={now} />
        <div class="toolbar">
          <FindBox body={body} find={find} key={`${isRaw}`} />
          <span class="grow" />
          <Choice value={isRaw ? 'raw' : 'formatted'} name={w('rendered')} options={[['formatted', w('rendered')], ['raw', w('raw')]]}
            onChange={(value) => setRaw(value === 'raw')} />
          <button type="button" class="small" onClick={() => setAll(true)}>{w('expand_all')}</button>
          <button type="button" class="small" onClick={() => setAll(false)}>{w('collapse_all')}</button>
        </div>
      </div>
      <div ref={body} class="texts-body">
        {isRunning && <LiveOutput text={output} />}
        {texts.is_cut && <CutTexts live={live} run={run} entry={entry} texts={texts} />}
        {texts.prompt !== null && <Prompt text={texts.prompt} previous={previous} isRaw={isRaw} />}
        {texts.failures.length > 0 && (
          <section>
            <h3>{w('failures')}</h3>
            {texts.failures.map((failure, index) => <Pre key={index} text={failure} label={w('failure')} />)}
          </section>
        )}
        {texts.tools.length > 0 && <Tools tools={texts.tools} />}
        {texts.reply !== null && (
          <section>
            <h3>{w('reply')}</h3>
            <div class="reply">
              {isRaw ? <RawText text={texts.reply} quotation={entry.call.quotation} label={w('reply')} /> : <Markdown text={texts.reply} quotation={entry.call.quotation} />}
            </div>
          </section>
        )}
        {texts.reports.map((report) => (
          <section key={report.file}>
            <h3>{visible(report.file)}</h3>
            <div class="reply">{isRaw ? <RawText text={report.text} label={visible(report.file)} /> : <Markdown text={report.text} />}</div>
          </section>
        ))}
        {texts.results.length > 0 && (
          <section>
            <h3>{w('results')}</h3>
            {texts.results.map((result, index) => <Pre key={index} text={result} label={w('results')} />)}
          </section>
        )}
        {!isRunning && texts.prompt === null && texts.reply === null && texts.results.length === 0 && texts.tools.length === 0 && texts.failures.length === 0 && (
          <p class="soft">{w('no_text')}</p>
        )}
      </div>
    </>
  );
};

/** Says that texts are cut, and where all of them is. */
const CutTexts = ({ live, run, entry, texts }: Pick<Props, 'live' | 'run' | 'entry' | 'texts'>): JSX.Element => {
  const whole = (['prompt', 'reply'] as const).flatMap((part) => {
    const address = texts[part] === null ? null : live.source.wholeText(run.row.id, texts.call, part);
    return address === null ? [] : [{ part, address }];
  });
  return (
    <div class="cut-texts">
      <p class="soft">
        {w('cut')}
        {whole.map(({ part, address }) => <a key={part} href={address} download={`${part}.txt`}>{w(part === 'prompt' ? 'whole_prompt' : 'whole_reply')}</a>)}
      </p>
      <Command text={`saihai show ${run.row.run} ${shellQuoted(entry.visit?.stage ?? '')}`} at={live.directoryOf(run.row)} />
    </div>
  );
};

const Prompt = ({ text, previous, isRaw }: { text: string; previous: string | null; isRaw: boolean }): JSX.Element => {
  const parts = useMemo(() => sections(text, previous), [text, previous]);
  return (
    <section>
      <h3>{w('prompt')}</h3>
      <div class="prompt">
        {parts.map((part, index) => (
          <details key={`${index} ${part.isSame}`} open={!part.isSame && !part.isLong}>
            <summary>
              <span class="name">{visible(part.title) || w('opening')}</span>
              <span class="soft">{linesWord(part.lines)}{part.isSame && ` · ${w('same_section')}`}</span>
            </summary>
            {isRaw ? <RawText text={part.text} label={visible(part.title) || w('opening')} /> : <Markdown text={part.text} />}
          </details>
        ))}
      </div>
    </section>
  );
};

/** Shortens the input of a tool call to one line. */
const gist = (input: string): string => {
  try {
    const value: unknown = JSON.parse(input.slice(0, 100_000));
    if (value && typeof value === 'object') {
      const fields = value as Record<string, unknown>;
      const main = fields['command'] ?? fields['pattern'] ?? fields['query'] ?? fields['url'] ?? fields['file_path'] ?? fields['path'];
      if (typeof main === 'string') return visible(main).slice(0, 160);
    }
  } catch {
    // Shown as it is.
  }
  return visible(input).replaceAll('\n', ' ').slice(0, 160);
};

const pretty = (text: string): string => {
  if (text.length > 200_000 || !/^\s*[{[]/.test(text)) return text;
  try {
    return JSON.stringify(JSON.parse(text), null, 2).replaceAll('\\n', '\n');
  } catch {
    return text;
  }
};

const Tools = ({ tools }: { tools: ToolText[] }): JSX.Element => (
  <section>
    <h3>{w('tool_calls')} <span class="soft">{tools.length}</span></h3>
    <div class="tools">
      {tools.map((tool, index) => <Tool key={index} tool={tool} />)}
    </div>
  </section>
);

const Tool = ({ tool }: { tool: ToolText }): JSX.Element => (
  <details class="tool">
    <summary>
      <span class="name">{visible(tool.name)}</span>
      <code class="gist">{gist(tool.input)}</code>
      <span class="number soft">{length(tool.duration)}</span>
    </summary>
    <span class="label">{w('input')}</span>
    <Pre text={pretty(tool.input)} label={w('input')} />
    <span class="label">{w('output')}</span>
    <Pre text={pretty(tool.output)} label={w('output')} />
  </details>
);

const SHOWN_OUTPUT = 60_000;

const LiveOutput = ({ text }: { text: string }): JSX.Element => {
  const [isFollowing, setFollowing] = useState(true);
  const box = useRef<HTMLPreElement>(null);
  useLayoutEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight;
  }, [text, isFollowing]);
  const onScroll = (): void => {
    const element = box.current;
    if (element) setFollowing(element.scrollHeight - element.scrollTop - element.clientHeight < 24);
  };
  return (
    <section>
      <h3 class="live-head">
        {w('live')}
        <label class="check"><input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.currentTarget.checked)} /> {w('follow')}</label>
      </h3>
      <pre class="text live" ref={box} onScroll={onScroll} tabIndex={0} role="log" aria-label={w('live')}>{visible(text.slice(-SHOWN_OUTPUT))}</pre>
    </section>
  );
};

const FindBox = ({ body, find }: { body: RefObject<HTMLDivElement | null>; find: RefObject<HTMLInputElement | null> }): JSX.Element => {
  const [wanted, setWanted] = useState('');
  const [current, setCurrent] = useState(0);
  const [hits, setHits] = useState(0);
  const ranges = useRef<Range[]>([]);
  useEffect(() => {
    ranges.current = wanted.length > 1 && body.current ? findRanges(body.current, wanted) : [];
    setHits(ranges.current.length);
    setCurrent(0);
    paint(ranges.current, 0);
    if (ranges.current.length > 0) reveal(ranges.current[0]);
    return () => paint([], 0);
  }, [wanted]);
  const step = (by: number): void => {
    if (hits === 0) return;
    const next = (current + by + hits) % hits;
    setCurrent(next);
    paint(ranges.current, next);
    reveal(ranges.current[next]);
  };
  return (
    <span class="find" role="search">
      <input ref={find} type="search" aria-label={w('find')} placeholder={w('find')} value={wanted} onInput={(event) => setWanted(event.currentTarget.value)}
        onKeyDown={(event) => {
          if (event.key === 'Enter') step(event.shiftKey ? -1 : 1);
        }} />
      {wanted.length > 1 && (
        <>
          <span class="number soft" role="status">{hits === 0 ? w('no_hits') : w('hits', current + 1, hits)}</span>
          <button type="button" class="small" aria-label={w('previous')} disabled={hits === 0} onClick={() => step(-1)}>‹</button>
          <button type="button" class="small" aria-label={w('following')} disabled={hits === 0} onClick={() => step(1)}>›</button>
        </>
      )}
    </span>
  );
};
