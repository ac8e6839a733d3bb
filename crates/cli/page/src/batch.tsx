// The board of issues that `saihai work` handles.

import type { JSX } from 'preact';
import { useEffect, useMemo, useState } from 'preact/hooks';
import { isWebAddress, visible } from './format';
import { useLoaded } from './hooks';
import type { BatchColumn, BatchIssue, HomePage } from './model';
import { Command, Empty, ErrorLine, Loading, Sentence } from './parts';
import { changeQuery, runHash } from './route';
import type { Source } from './source';
import { type Word, w } from './words';

const COLUMNS: readonly BatchColumn[] = ['waiting', 'working', 'at_gate', 'in_review', 'merged', 'failed'];

export const BatchView = ({ source, home }: { source: Source; home: HomePage }): JSX.Element => {
  // The board changes when a run does, at most every few seconds.
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const timer = setTimeout(() => setTurn((old) => old + 1), 1500);
    return () => clearTimeout(timer);
  }, [home.runs]);
  const { value, error } = useLoaded(`batch ${turn}`, () => source.batch(), true);
  const chosen = new URLSearchParams(location.hash.split('?')[1] ?? '').get('issue');
  const neededBy = useMemo(() => {
    const map = new Map<string, BatchIssue[]>();
    for (const issue of value?.issues ?? []) {
      for (const id of issue.depends_on) {
        const key = `${issue.project} ${id}`;
        map.set(key, [...(map.get(key) ?? []), issue]);
      }
    }
    return map;
  }, [value]);
  const known = useMemo(() => new Map((value?.issues ?? []).map((issue) => [`${issue.project} ${issue.id}`, issue])), [value]);
  useEffect(() => {
    if (chosen) document.querySelector('.issue.is-chosen')?.scrollIntoView({ block: 'nearest', inline: 'nearest' });
  }, [chosen, value]);

  if (error) return <ErrorLine words={error} />;
  if (!value) return <Loading />;
  if (value.issues.length === 0) {
    return (
      <section class="panel first">
        <h1>{w('b_empty')}</h1>
        <p>{w('b_start')}</p>
        <Command text="saihai work --label ready" />
      </section>
    );
  }
  const chip = (issue: BatchIssue | undefined, id: string): JSX.Element => (
    <button key={id} type="button" class={`chip link-chip ${issue ? `column-${issue.column}` : ''}`} title={issue ? visible(issue.title) : undefined}
      disabled={!issue} onClick={() => changeQuery({ issue: id === chosen ? null : id })}>
      {visible(id)}
    </button>
  );
  return (
    <>
      <h1>{w('batch')}</h1>
      <div class="board" tabIndex={0} role="group" aria-label={w('batch')}>
        {COLUMNS.map((column) => {
          const issues = value.issues.filter((issue) => issue.column === column);
          return (
            <section key={column} class={`column column-${column}`} aria-label={w(`b_${column}` as Word)}>
              <h2>{w(`b_${column}` as Word)} <span class="soft">{issues.length}</span></h2>
              {issues.length === 0 && <Empty>{w('none')}</Empty>}
              {issues.map((issue) => {
                const followers = neededBy.get(`${issue.project} ${issue.id}`) ?? [];
                const isLinked = chosen !== null && (issue.depends_on.includes(chosen) || followers.some((other) => other.id === chosen));
                return (
                  <article key={`${issue.project} ${issue.id}`} class={`issue ${issue.id === chosen ? 'is-chosen' : ''} ${isLinked ? 'is-linked' : ''}`}>
                    <h3><span class="soft">{visible(issue.id)}</span> {visible(issue.title)}</h3>
                    <p class="soft"><Sentence text={issue.words} />{home.projects.length > 1 && ` · ${visible(home.projects[issue.project]?.name ?? '')}`}</p>
                    {issue.checks !== null && <p class="checks"><span class="label">{w('checks')}</span> <Sentence text={issue.checks} /></p>}
                    {issue.depends_on.length > 0 && (
                      <p class="needs"><span class="label">{w('needs')}</span> {issue.depends_on.map((id) => chip(known.get(`${issue.project} ${id}`), id))}</p>
                    )}
                    {followers.length > 0 && (
                      <p class="needs"><span class="label">{w('needed_by')}</span> {followers.map((other) => chip(other, other.id))}</p>
                    )}
                    <p class="links">
                      {issue.run !== null && <a href={runHash(issue.run)}>{w('run')}</a>}
                      {issue.pull_request !== null && isWebAddress(issue.pull_request) && (
                        <a href={issue.pull_request} rel="noopener noreferrer" target="_blank">
                          {w('pull_request')} {/\/(?:pull|merge_requests)\/(\d+)/.exec(issue.pull_request)?.[1] ?? ''}
                        </a>
                      )}
                    </p>
                    {issue.branch !== null && <code class="branch" title={visible(issue.branch)}>{visible(issue.branch)}</code>}
                  </article>
                );
              })}
            </section>
          );
        })}
      </div>
    </>
  );
};
