// Findings of a review and the agents that reported them.

import type { JSX } from 'preact';
import { useMemo } from 'preact/hooks';
import { visible } from './format';
import { Markdown } from './markdown';
import { Icon } from './parts';
import type { ViewProps } from './run';
import { w } from './words';

const ORDER = ['critical', 'blocker', 'high', 'error', 'major', 'medium', 'warning', 'minor', 'low', 'info', 'note'];
const rank = (severity: string): number => {
  const found = ORDER.indexOf(severity.toLowerCase());
  return found < 0 ? ORDER.length : found;
};
const level = (severity: string): string => (rank(severity) < 4 ? 'is-high' : rank(severity) < 7 ? 'is-medium' : 'is-low');

export const FindingsView = ({ run }: ViewProps): JSX.Element => {
  const agents = useMemo(() => [...new Set(run.findings.flatMap((finding) => finding.agents))].sort(), [run.findings]);
  const findings = useMemo(
    () => run.findings.slice().sort((a, b) => Number(a.set_aside !== null) - Number(b.set_aside !== null) || rank(a.severity) - rank(b.severity)),
    [run.findings],
  );
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label={w('findings_table')}>
      <table class="findings">
        <thead>
          <tr>
            <th scope="col">{w('severity')}</th>
            <th scope="col">{w('finding')}</th>
            {agents.map((agent) => <th key={agent} scope="col" class="agent">{visible(agent)}</th>)}
          </tr>
        </thead>
        <tbody>
          {findings.map((finding, index) => (
            <tr key={index} class={finding.set_aside === null ? '' : 'is-aside'}>
              <td><span class={`severity ${level(finding.severity)}`}>{visible(finding.severity)}</span></td>
              <th scope="row">
                <details>
                  <summary>
                    <span class="name">{visible(finding.title)}</span>
                    {finding.file !== null && <code class="place">{visible(finding.file)}{finding.line !== null && `:${finding.line}`}</code>}
                    {finding.set_aside !== null && <span class="soft">{w('set_aside', visible(finding.set_aside))}</span>}
                  </summary>
                  <Markdown text={finding.text} />
                </details>
              </th>
              {agents.map((agent) => (
                <td key={agent} class="agent">
                  {finding.agents.includes(agent) ? <><Icon of="done" /><span class="unseen">{w('reported_by', visible(agent))}</span></> : <span class="soft">·</span>}
                </td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
};
