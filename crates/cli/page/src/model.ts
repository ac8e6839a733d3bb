// Generated from crates/cli/src/page/model.rs by its tests. Do not edit.

export type HomePage = { version: number, 
/**
 * Names of the projects; a run refers to one by its index.
 */
projects: Array<ProjectName>, 
/**
 * True if the page may not change anything.
 */
read_only: boolean, 
/**
 * Runs that wait for a person first, then running ones, then the rest; newest first.
 */
runs: Array<PageRow>, 
/**
 * Errors that concern no single run.
 */
errors: Array<string>, };

export type ProjectName = { name: string, path: string, };

export type PageRow = { 
/**
 * Address of the run on this page. With several projects it differs from `run`.
 */
id: string, 
/**
 * Id of the run in its project, for commands.
 */
run: string, project: number, state: PageState, 
/**
 * The state in words, for example `parked: the budget is spent`.
 */
words: string, 
/**
 * The thing that the run waits for, if any: `you`, `resume`, or the reason for which it is parked.
 */
waits_for: string, definition: string, dialect: string, 
/**
 * First line of the task.
 */
task: string, 
/**
 * The issue that the run works on, for example `#12`.
 */
issue: string | null, 
/**
 * The current or last stage.
 */
stage: string | null, visit: number, started: number, 
/**
 * Time of the last event.
 */
last: number, 
/**
 * Time during which a process drove the run, until `read_at`.
 */
driven: number, 
/**
 * When this row was read. While the run is driven, the page counts on from here.
 */
read_at: number, 
/**
 * Process that drives the run.
 */
owner: number | null, is_driven: boolean, iterations: number, turns: number, tokens: number, 
/**
 * Absent if no provider reported a cost.
 */
cost: number | null, 
/**
 * Providers with turns of unknown cost, which `cost` lacks.
 */
unpriced: Array<string>, budget: Array<BudgetUse>, 
/**
 * Changed files and lines when the run last stopped; absent without git, and in older journals.
 */
changes: PageChangeCounts | null, providers: Array<string>, is_rehearsal: boolean, forked_from: string | null, };

export type PageState = "waiting" | "running" | "interrupted" | "answered" | "parked" | "completed" | "failed" | "declined" | "cancelled" | "broken";

export type BudgetUse = { 
/**
 * `usd`, `tokens`, `turns` or `time`.
 */
kind: string, used: number, limit: number, 
/**
 * For example `$0.0800 of $0.1000`.
 */
words: string, };

export type PageChangeCounts = { files: number, added: number, removed: number, };

export type RunPage = { version: number, row: PageRow, 
/**
 * Sequence number of the last event.
 */
last_seq: number, 
/**
 * Zero for a whole run. Else `visits`, `calls` and `exits` hold only what changed after this event.
 */
since: number, 
/**
 * The whole task.
 */
task: string, 
/**
 * The reason for the state, in a few lines.
 */
why: Array<string>, 
/**
 * Commands that continue the run, for a person to copy.
 */
next: Array<string>, directory: string, stages: Array<PageStage>, 
/**
 * Drawing of the workflow (SVG). A box has `data-stage`, an edge has `data-from` and `data-to`.
 */
graph: string, visits: Array<PageVisit>, calls: Array<PageCall>, 
/**
 * The exits of stages, in order.
 */
exits: Array<PageExit>, 
/**
 * Periods in which no process drove the run, or a person was asked.
 */
pauses: Array<PagePause>, notes: Array<PageNote>, gate: PageGate | null, reports: Array<PageReport>, findings: Array<PageFinding>, 
/**
 * The run that this one was forked from, and runs forked from it.
 */
relatives: Array<string>, };

export type PageStage = { id: string, kind: StageKind, 
/**
 * Names of its turns.
 */
turns: Array<string>, };

export type StageKind = "turns" | "gate" | "action";

export type PageVisit = { index: number, stage: string, visit: number, entered: number, left: number | null, rounds: number, 
/**
 * True if the visit came from the run that this one was forked from.
 */
is_inherited: boolean, };

export type PageCall = { id: string, 
/**
 * Index of its visit.
 */
visit: number, round: number, iteration: number, 
/**
 * Name in its stage: `tests`, `turn`, `judge`, `question to you`.
 */
name: string, kind: CallKind, mark: CallMark, called: number, ended: number | null, 
/**
 * Sequence number of the event before its first prompt; a fork there asks again.
 */
fork_at: number | null, attempts: Array<PageAttempt>, 
/**
 * The label that was read in the reply, or the person's answer.
 */
label: string | null, 
/**
 * The sentence of the reply that says why.
 */
quotation: string | null, 
/**
 * Sequence number of its last event.
 */
seq: number, };

export type CallKind = "agent" | "program" | "correction" | "judge" | "gate" | "action";

export type CallMark = "done" | "failed" | "running" | "queued" | "waiting";

export type PageAttempt = { seq: number, asked: number, ended: number | null, 
/**
 * The reason of a failed attempt.
 */
failure: string | null, provider: string | null, model: string | null, tokens: TokenCounts, 
/**
 * Absent if the provider did not report it.
 */
cost: number | null, 
/**
 * Time spent in tools.
 */
tools_ms: number, tools: number, 
/**
 * True if the reply came from the cache and cost nothing.
 */
is_cached: boolean, };

export type TokenCounts = { input: number, output: number, cached: number, reasoning: number, };

export type PageExit = { seq: number, at: number, 
/**
 * Index of the visit.
 */
visit: number, stage: string, iteration: number, 
/**
 * Name of the next stage, or the end of the run in words.
 */
to: string, 
/**
 * `data-stage` of the box in the drawing that it leads to.
 */
to_box: string, 
/**
 * The explanation of `saihai explain`, line by line.
 */
lines: Array<string>, 
/**
 * The rule, the method and the labels.
 */
mechanism: string, 
/**
 * Each label of the round with its turn, in order.
 */
labels: Array<TurnLabel>, };

export type TurnLabel = { turn: string, label: string | null, };

export type PagePause = { from: number, 
/**
 * Absent if it lasts.
 */
until: number | null, 
/**
 * For example `the budget is spent`.
 */
why: string, };

export type PageNote = { number: number, at: number, text: string, stage: string | null, 
/**
 * Calls whose prompts contain it.
 */
shown_in: Array<string>, is_withdrawn: boolean, };

export type PageGate = { call: string, stage: string, 
/**
 * Markdown.
 */
question: string, 
/**
 * True if the answer is yes or no; else it is a text.
 */
is_yes_no: boolean, closes: number | null, };

export type PageReport = { file: string, versions: Array<PageReportVersion>, };

export type PageReportVersion = { seq: number, at: number, stage: string, call: string, bytes: number, };

export type PageFinding = { severity: string, title: string, text: string, file: string | null, line: number | null, agents: Array<string>, 
/**
 * The reason if it does not count (suppressed, or in the baseline).
 */
set_aside: string | null, };

export type CallTexts = { call: string, prompt: string | null, reply: string | null, 
/**
 * Output so far of a running turn.
 */
live: string | null, failures: Array<string>, tools: Array<ToolText>, reports: Array<ReportText>, 
/**
 * Results of an action, or the person's answer.
 */
results: Array<string>, 
/**
 * True if a text was too long and is cut.
 */
is_cut: boolean, };

export type ToolText = { name: string, 
/**
 * JSON.
 */
input: string, 
/**
 * Text, or JSON.
 */
output: string, duration: number, };

export type ReportText = { file: string, text: string, };

export type RunChanges = { 
/**
 * Files that differ from the commit at the start of the run.
 */
files: Array<ChangedFile>, 
/**
 * Edits that turns made with their tools, in order.
 */
turns: Array<TurnChanges>, 
/**
 * Reasons why files are missing here.
 */
remarks: Array<string>, };

export type ChangedFile = { path: string, previous: string | null, 
/**
 * A unified diff.
 */
diff: string, left_out: boolean, };

export type TurnChanges = { call: string, diff: string, 
/**
 * False if the turn may have changed more files, for example by commands.
 */
is_complete: boolean, };

export type SearchPage = { hits: Array<SearchHit>, 
/**
 * True if there are more hits than shown.
 */
has_more: boolean, };

export type SearchHit = { 
/**
 * Address of the run.
 */
run: string, definition: string, started: number, 
/**
 * Absent for the task.
 */
call: string | null, stage: string | null, 
/**
 * `task`, `prompt`, `reply` or `report`.
 */
part: string, 
/**
 * The text around the hit: before, the hit itself, after.
 */
before: string, hit: string, after: string, };

export type BatchPage = { issues: Array<BatchIssue>, };

export type BatchIssue = { project: number, id: string, title: string, column: BatchColumn, 
/**
 * The state in words.
 */
words: string, run: string | null, branch: string | null, 
/**
 * Address of the pull request.
 */
pull_request: string | null, 
/**
 * Ids of issues that it waits for.
 */
depends_on: Array<string>, 
/**
 * Result of the checks of its pull request, in words.
 */
checks: string | null, };

export type BatchColumn = "waiting" | "working" | "at_gate" | "in_review" | "merged" | "failed";

export type PageReply = { is_done: boolean, 
/**
 * The effect, or the reason for a refusal.
 */
words: string, 
/**
 * Address of the new run, after a fork.
 */
run: string | null, };

export type PageEvent = { "kind": "rows", is_whole: boolean, rows: Array<PageRow>, gone: Array<string>, } | { "kind": "run", page: RunPage, } | { "kind": "output", call: string, text: string, } | { "kind": "lost", words: string, };

export type SavedPage = { version: number, 
/**
 * Version of the program that wrote the file.
 */
program: string, saved_at: number, run: RunPage, texts: Array<CallTexts>, reports: Array<SavedReportText>, changes: RunChanges, 
/**
 * True if prompts were left out.
 */
is_without_prompts: boolean, };

export type SavedReportText = { seq: number, file: string, text: string, };
