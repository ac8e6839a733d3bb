// Search over the texts of all runs.

import type { JSX } from 'preact';
import { useEffect, useRef, useState } from 'preact/hooks';
import { visible, when } from './format';
import { useKeys, useLoaded } from './hooks';
import type { SearchHit } from './model';
import { Empty, ErrorLine, Loading } from './parts';
import { changeQuery, runHash } from './route';
import type { Source } from './source';
import { type Word, w } from './words';

const PARTS = ['task', 'prompt', 'reply', 'report'];

const oneLine = (text: string): string => visible(text.replace(/\s+/g, ' '));

const target = (hit: SearchHit): string =>
  runHash(hit.run, hit.call === null ? {} : { view: hit.part === 'report' ? 'reports' : 'transcript', call: hit.call });

export const SearchView = ({ source, query }: { source: Source; query: URLSearchParams }): JSX.Element => {
  const q = query.get('q') ?? '';
  const [text, setText] = useState(q);
  const input = useRef<HTMLInputElement>(null);
  const list = useRef<HTMLOListElement>(null);
  useEffect(() => setText(q), [q]);
  useEffect(() => input.current?.focus(), []);
  // Ask when the typing rests.
  useEffect(() => {
    if (text === q) return;
    const timer = setTimeout(() => changeQuery({ q: text }), 300);
    return () => clearTimeout(timer);
  }, [text]);
  const { value, error } = useLoaded(q.trim().length > 1 ? q.trim() : null, () => source.search(q.trim()));
  const move = (step: number): void => {
    const links = [...(list.current?.querySelectorAll('a') ?? [])];
    const at = links.indexOf(document.activeElement as HTMLAnchorElement);
    links[Math.max(0, Math.min(links.length - 1, at + step))]?.focus();
  };
  useKeys({ '/': () => input.current?.focus(), j: () => move(1), k: () => move(-1), Escape: () => input.current?.blur() });
  return (
    <>
      <h1>{w('search_all')}</h1>
      <form role="search" class="search-form" onSubmit={(event) => {
        event.preventDefault();
        changeQuery({ q: text });
        move(1);
      }}>
        <input ref={input} type="search" value={text} aria-label={w('search_all')} placeholder={w('search')} onInput={(event) => setText(event.currentTarget.value)} />
      </form>
      {q.trim().length < 2 ? <Empty>{w('search_hint')}</Empty> : error ? <ErrorLine words={error} /> : !value ? <Loading /> : (
        <>
          <p class="soft" role="status">{value.hits.length === 0 ? w('no_hits') : w('n_hits', value.hits.length)}{value.has_more && ` · ${w('more_hits')}`}</p>
          <ol class="hits" ref={list}>
            {value.hits.map((hit, index) => (
              <li key={index}>
                <a href={target(hit)}>
                  {visible(hit.definition)}{hit.stage !== null && ` › ${visible(hit.stage)}`} · {PARTS.includes(hit.part) ? w(`p_${hit.part}` as Word) : visible(hit.part)}
                </a>
                <span class="soft">{when(hit.started)} · {visible(hit.run)}</span>
                <p>{oneLine(hit.before)}<mark>{oneLine(hit.hit)}</mark>{oneLine(hit.after)}</p>
              </li>
            ))}
          </ol>
        </>
      )}
    </>
  );
};
