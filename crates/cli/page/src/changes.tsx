// Changed files: of the whole run, or by turn.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { DiffCounts, DiffView, parseDiff } from './diff';
import { visible } from './format';
import { useLoaded } from './hooks';
import type { ChangedFile, RunChanges } from './model';
import { Choice, Empty, ErrorLine, Loading, Sentence } from './parts';
import { changeQuery } from './route';
import type { ViewProps } from './run';
import { w } from './words';

export const ChangesView = (props: ViewProps): JSX.Element => {
  const { live, run, query } = props;
  // Read again when a turn has ended.
  const ended = run.calls.reduce((sum, call) => sum + (call.ended === null ? 0 : 1), 0);
  const { value, error } = useLoaded(`${run.row.id} ${ended}`, () => live.source.changes(run.row.id), true);
  if (error) return <ErrorLine words={error} />;
  if (!value) return <Loading />;
  const isByTurn = query.get('by') === 'turn';
  return (
    <>
      <div class="toolbar">
        <Choice value={isByTurn ? 'turn' : 'run'} name={w('t_changes')} options={[['run', w('whole_run')], ['turn', w('by_turn')]]}
          onChange={(by) => changeQuery({ by: by === 'turn' ? by : null })} />
      </div>
      {value.remarks.map((remark) => <p key={remark} class="remark"><Sentence text={remark} /></p>)}
      {isByTurn ? <ByTurn {...props} changes={value} /> : <WholeRun files={value.files} />}
    </>
  );
};

const WholeRun = ({ files }: { files: ChangedFile[] }): JSX.Element => {
  const counted = useMemo(
    () => files.map((file, index) => {
      const parsed = parseDiff(file.diff);
      const sum = (pick: 'added' | 'removed'): number => parsed.reduce((total, part) => total + part[pick], 0);
      return { file, id: `file-${index}`, added: sum('added'), removed: sum('removed') };
    }),
    [files],
  );
  if (files.length === 0) return <Empty>{w('no_changes')}</Empty>;
  const total = (pick: 'added' | 'removed'): number => counted.reduce((sum, entry) => sum + entry[pick], 0);
  return (
    <>
      <div class="file-list">
        <p>{files.length === 1 ? w('one_file') : w('files_n', files.length)} <DiffCounts added={total('added')} removed={total('removed')} /></p>
        <ul>
          {counted.map(({ file, id, added, removed }) => (
            <li key={id}>
              <button type="button" class="link" onClick={() => document.getElementById(id)?.scrollIntoView()}>{visible(file.path)}</button>
              {!file.left_out && <DiffCounts added={added} removed={removed} />}
            </li>
          ))}
        </ul>
      </div>
      {counted.map(({ file, id, added, removed }) => (
        <details key={id} id={id} class="file" open={added + removed < 800}>
          <summary>
            <span class="name">{visible(file.path)}</span>
            {file.previous !== null && <span class="soft">{w('renamed_from', visible(file.previous))}</span>}
            {!file.left_out && <DiffCounts added={added} removed={removed} />}
          </summary>
          {file.left_out ? <p class="soft">{w('left_out')}</p> : <DiffView diff={file.diff} path={file.path} />}
        </details>
      ))}
    </>
  );
};

const ByTurn = ({ changes, entries, selected, select }: ViewProps & { changes: RunChanges }): JSX.Element => {
  const names = useMemo(() => new Map(entries.map((entry) => [entry.call.id, entry])), [entries]);
  if (changes.turns.length === 0) return <Empty>{w('no_changes')}</Empty>;
  return (
    <>
      {changes.turns.map((turn) => {
        const entry = names.get(turn.call);
        const isSelected = selected?.call.id === turn.call;
        return (
          <section key={turn.call} class={`turn-changes ${isSelected ? 'is-selected' : ''}`}>
            <h3>
              <button type="button" class="link" aria-pressed={isSelected} onClick={() => select(turn.call)}>{visible(entry?.name ?? turn.call)}</button>
              {entry?.visit && entry.visit.visit > 1 && <span class="soft">{w('visit_n', entry.visit.visit)}</span>}
            </h3>
            {!turn.is_complete && <p class="remark">{w('incomplete')}</p>}
            <DiffView diff={turn.diff} />
          </section>
        );
      })}
    </>
  );
};
