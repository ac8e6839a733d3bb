// Report files with their versions.

import type { JSX } from 'preact';
import { bytes, visible, when } from './format';
import { useLoaded } from './hooks';
import { Markdown, RawText } from './markdown';
import { Choice, Empty, ErrorLine, Loading } from './parts';
import { changeQuery } from './route';
import type { ViewProps } from './run';
import { w } from './words';

export const ReportsView = ({ live, run, query, selected, select }: ViewProps): JSX.Element => {
  const wanted = query.get('file');
  const ofCall = run.reports.find((report) => report.versions.some((version) => version.call === selected?.call.id));
  const report = run.reports.find((entry) => entry.file === wanted) ?? (query.get('call') ? ofCall : undefined) ?? run.reports[0];
  const versions = report?.versions ?? [];
  const version = versions.find((entry) => String(entry.seq) === query.get('version')) ?? versions.at(-1);
  const isRaw = query.get('raw') === '1';
  const { value, error } = useLoaded(
    report && version ? `${run.row.id} ${version.seq} ${report.file}` : null,
    () => live.source.report(run.row.id, version?.seq ?? 0, report?.file ?? ''),
  );
  if (!report || !version) return <Empty>{w('no_reports')}</Empty>;
  return (
    <div class="split">
      <nav class="report-list" aria-label={w('report_files')}>
        {run.reports.map((entry) => (
          <button key={entry.file} type="button" class="call" aria-current={entry === report ? 'true' : undefined}
            onClick={() => changeQuery({ file: entry.file, version: null })}>
            <span class="name">{visible(entry.file)}</span>
            <span class="second">{entry.versions.at(-1)?.stage && visible(entry.versions.at(-1)?.stage ?? '')}{entry.versions.length > 1 && ` · ${w('n_versions', entry.versions.length)}`}</span>
          </button>
        ))}
      </nav>
      <div class="texts">
        <div class="toolbar">
          {versions.length > 1 && (
            <select aria-label={w('version')} value={String(version.seq)} onChange={(event) => changeQuery({ version: event.currentTarget.value, file: report.file })}>
              {versions.map((entry, index) => <option key={entry.seq} value={String(entry.seq)}>{w('version_n', index + 1)} · {when(entry.at)} · {visible(entry.stage)}</option>)}
            </select>
          )}
          <span class="soft">{when(version.at)} · {bytes(version.bytes)} · <button type="button" class="link" onClick={() => select(version.call)}>{visible(version.stage)}</button></span>
          <span class="grow" />
          <Choice value={isRaw ? 'raw' : 'formatted'} name={w('rendered')} options={[['formatted', w('rendered')], ['raw', w('raw')]]}
            onChange={(value) => changeQuery({ raw: value === 'raw' ? '1' : null })} />
        </div>
        <h3>{visible(report.file)}</h3>
        {error ? <ErrorLine words={error} /> : !value ? <Loading /> : (
          <div class="reply">{isRaw ? <RawText text={value.text} label={visible(report.file)} /> : <Markdown text={value.text} />}</div>
        )}
      </div>
    </div>
  );
};
