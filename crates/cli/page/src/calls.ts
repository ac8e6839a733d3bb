// Calls with their visits, and figures of them.

import type { PageAttempt, PageCall, PageExit, PageVisit, RunPage, TokenCounts } from './model';

export type CallEntry = {
  call: PageCall;
  visit: PageVisit | null;
  stage: string;
  hasError: boolean;
  /** Name with its stage: `review › tests`. */
  name: string;
};

const hasFailure = (call: PageCall): boolean => call.mark === 'failed' || call.attempts.some((attempt) => attempt.failure !== null);

/** Joins calls and visits, in the order of the calls. */
export const callEntries = (run: RunPage): CallEntry[] => {
  const visits = new Map(run.visits.map((visit) => [visit.index, visit]));
  const entries = run.calls.map((call): CallEntry => {
    const visit = visits.get(call.visit) ?? null;
    const stage = visit?.stage ?? '';
    return { call, visit, stage, hasError: hasFailure(call), name: stage && call.name !== stage ? `${stage} › ${call.name}` : call.name };
  });
  return entries.sort((a, b) => a.call.visit - b.call.visit || a.call.called - b.call.called);
};

export const tokenTotal = (counts: TokenCounts): number => counts.input + counts.output;

/** Tokens of a call's attempts by kind. */
export const sumTokens = (attempts: PageAttempt[]): TokenCounts => {
  const sum: TokenCounts = { input: 0, output: 0, cached: 0, reasoning: 0 };
  for (const { tokens } of attempts) {
    sum.input += tokens.input;
    sum.output += tokens.output;
    sum.cached += tokens.cached;
    sum.reasoning += tokens.reasoning;
  }
  return sum;
};

/** Known cost and whether a part is unknown. Attempts without tokens are calls that cost nothing. */
export const sumCost = (attempts: PageAttempt[]): { cost: number | null; hasUnknown: boolean } => {
  let cost: number | null = null;
  let hasUnknown = false;
  for (const attempt of attempts) {
    if (attempt.cost !== null) cost = (cost ?? 0) + attempt.cost;
    else if (isUnpriced(attempt)) hasUnknown = true;
  }
  return { cost, hasUnknown };
};

/** True if an agent answered and its provider reported no price. */
export const isUnpriced = (attempt: PageAttempt): boolean =>
  attempt.cost === null && !attempt.is_cached && attempt.provider !== null && attempt.ended !== null && tokenTotal(attempt.tokens) > 0;

/** True if the run ended with this exit. */
export const isEnd = (exit: PageExit): boolean => exit.to_box === 'COMPLETE' || exit.to_box === 'ABORT';

/** Leaves out `plan → implement: ` from a line, because the heading says it. */
export const reasonOf = (exit: PageExit, line: string): string => {
  const start = `${exit.stage} → ${exit.to}: `;
  return line.startsWith(start) ? line.slice(start.length) : line;
};
