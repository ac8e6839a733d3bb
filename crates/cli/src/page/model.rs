//! What the page shows, as JSON. The types of the TypeScript part are generated from these (`page/web/src/model.ts`).
//!
//! Times are milliseconds since 1970, lengths are milliseconds, money is US dollars. Words for people are finished
//! sentences. Texts of agents are raw; the page escapes them.

use serde::Serialize;

/// Version of this format. A saved page names it.
pub(crate) const PAGE_VERSION: u32 = 1;

/// The list of runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct HomePage {
    pub(crate) version: u32,
    /// Names of the projects; a run refers to one by its index.
    pub(crate) projects: Vec<ProjectName>,
    /// True if the page may not change anything.
    pub(crate) read_only: bool,
    /// Runs that wait for a person first, then running ones, then the rest; newest first.
    pub(crate) runs: Vec<PageRow>,
    /// Errors that concern no single run.
    pub(crate) errors: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ProjectName {
    pub(crate) name: String,
    pub(crate) path: String,
}

/// A run in a list, and the head of a run's own page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageRow {
    /// Address of the run on this page. With several projects it differs from `run`.
    pub(crate) id: String,
    /// Id of the run in its project, for commands.
    pub(crate) run: String,
    pub(crate) project: usize,
    pub(crate) state: PageState,
    /// The state in words, for example `parked: the budget is spent`.
    pub(crate) words: String,
    /// The thing that the run waits for, if any: `you`, `resume`, or the reason for which it is parked.
    pub(crate) waits_for: String,
    pub(crate) definition: String,
    pub(crate) dialect: String,
    /// First line of the task.
    pub(crate) task: String,
    /// The issue that the run works on, for example `#12`.
    pub(crate) issue: Option<String>,
    /// The current or last stage.
    pub(crate) stage: Option<String>,
    pub(crate) visit: u32,
    pub(crate) started: u64,
    /// Time of the last event.
    pub(crate) last: u64,
    /// Time during which a process drove the run, until `read_at`.
    pub(crate) driven: u64,
    /// When this row was read. While the run is driven, the page counts on from here.
    pub(crate) read_at: u64,
    /// Process that drives the run.
    pub(crate) owner: Option<u32>,
    pub(crate) is_driven: bool,
    pub(crate) iterations: u32,
    pub(crate) turns: u64,
    pub(crate) tokens: u64,
    /// Absent if no provider reported a cost.
    pub(crate) cost: Option<f64>,
    /// Providers with turns of unknown cost, which `cost` lacks.
    pub(crate) unpriced: Vec<String>,
    pub(crate) budget: Vec<BudgetUse>,
    /// Changed files and lines when the run last stopped; absent without git, and in older journals.
    pub(crate) changes: Option<PageChangeCounts>,
    pub(crate) providers: Vec<String>,
    pub(crate) is_rehearsal: bool,
    pub(crate) forked_from: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum PageState {
    /// A person has to answer.
    Waiting,
    Running,
    /// Its process ended without a word.
    Interrupted,
    /// Answered, and no process drives it yet.
    Answered,
    Parked,
    Completed,
    Failed,
    Declined,
    Cancelled,
    /// The journal cannot be read; `words` says why.
    Broken,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageChangeCounts {
    pub(crate) files: u64,
    pub(crate) added: u64,
    pub(crate) removed: u64,
}

/// One limit of a budget and what is used of it.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct BudgetUse {
    /// `usd`, `tokens`, `turns` or `time`.
    pub(crate) kind: String,
    pub(crate) used: f64,
    pub(crate) limit: f64,
    /// For example `$0.0800 of $0.1000`.
    pub(crate) words: String,
}

/// A run with everything but its texts.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct RunPage {
    pub(crate) version: u32,
    pub(crate) row: PageRow,
    /// Sequence number of the last event.
    pub(crate) last_seq: u64,
    /// Zero for a whole run. Else `visits`, `calls` and `exits` hold only what changed after this event.
    pub(crate) since: u64,
    /// The whole task.
    pub(crate) task: String,
    /// The reason for the state, in a few lines.
    pub(crate) why: Vec<String>,
    /// Commands that continue the run, for a person to copy.
    pub(crate) next: Vec<String>,
    pub(crate) directory: String,
    pub(crate) stages: Vec<PageStage>,
    /// Drawing of the workflow (SVG). A box has `data-stage`, an edge has `data-from` and `data-to`.
    pub(crate) graph: String,
    pub(crate) visits: Vec<PageVisit>,
    pub(crate) calls: Vec<PageCall>,
    /// The exits of stages, in order.
    pub(crate) exits: Vec<PageExit>,
    /// Periods in which no process drove the run, or a person was asked.
    pub(crate) pauses: Vec<PagePause>,
    pub(crate) notes: Vec<PageNote>,
    pub(crate) gate: Option<PageGate>,
    pub(crate) reports: Vec<PageReport>,
    pub(crate) findings: Vec<PageFinding>,
    /// The run that this one was forked from, and runs forked from it.
    pub(crate) relatives: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageStage {
    pub(crate) id: String,
    pub(crate) kind: StageKind,
    /// Names of its turns.
    pub(crate) turns: Vec<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum StageKind {
    Turns,
    Gate,
    Action,
}

/// A visit of a stage. Identified by `index`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageVisit {
    pub(crate) index: usize,
    pub(crate) stage: String,
    pub(crate) visit: u32,
    pub(crate) entered: u64,
    pub(crate) left: Option<u64>,
    pub(crate) rounds: u32,
    /// True if the visit came from the run that this one was forked from.
    pub(crate) is_inherited: bool,
}

/// A call to an agent, a person or an action. Identified by `id`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageCall {
    pub(crate) id: String,
    /// Index of its visit.
    pub(crate) visit: usize,
    pub(crate) round: u32,
    pub(crate) iteration: u32,
    /// Name in its stage: `tests`, `turn`, `judge`, `question to you`.
    pub(crate) name: String,
    pub(crate) kind: CallKind,
    pub(crate) mark: CallMark,
    pub(crate) called: u64,
    pub(crate) ended: Option<u64>,
    /// Sequence number of the event before its first prompt; a fork there asks again.
    pub(crate) fork_at: Option<u64>,
    pub(crate) attempts: Vec<PageAttempt>,
    /// The label that was read in the reply, or the person's answer.
    pub(crate) label: Option<String>,
    /// The sentence of the reply that says why.
    pub(crate) quotation: Option<String>,
    /// Sequence number of its last event.
    pub(crate) seq: u64,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallKind {
    Agent,
    /// A program in the place of an agent.
    Program,
    /// A second prompt because the form of the reply was wrong.
    Correction,
    /// A question to a model about a reply.
    Judge,
    Gate,
    Action,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum CallMark {
    Done,
    Failed,
    Running,
    Queued,
    /// Waits for a person.
    Waiting,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageAttempt {
    pub(crate) seq: u64,
    pub(crate) asked: u64,
    pub(crate) ended: Option<u64>,
    /// The reason of a failed attempt.
    pub(crate) failure: Option<String>,
    pub(crate) provider: Option<String>,
    pub(crate) model: Option<String>,
    pub(crate) tokens: TokenCounts,
    /// Absent if the provider did not report it.
    pub(crate) cost: Option<f64>,
    /// Time spent in tools.
    pub(crate) tools_ms: u64,
    pub(crate) tools: u32,
    /// True if the reply came from the cache and cost nothing.
    pub(crate) is_cached: bool,
}

#[derive(Debug, Clone, Copy, Default, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct TokenCounts {
    pub(crate) input: u64,
    pub(crate) output: u64,
    pub(crate) cached: u64,
    pub(crate) reasoning: u64,
}

/// An exit of a stage, with its reason. Identified by `seq`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageExit {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    /// Index of the visit.
    pub(crate) visit: usize,
    pub(crate) stage: String,
    pub(crate) iteration: u32,
    /// Name of the next stage, or the end of the run in words.
    pub(crate) to: String,
    /// `data-stage` of the box in the drawing that it leads to.
    pub(crate) to_box: String,
    /// The explanation of `saihai explain`, line by line.
    pub(crate) lines: Vec<String>,
    /// The rule, the method and the labels.
    pub(crate) mechanism: String,
    /// Each label of the round with its turn, in order.
    pub(crate) labels: Vec<TurnLabel>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct TurnLabel {
    pub(crate) turn: String,
    pub(crate) label: Option<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PagePause {
    pub(crate) from: u64,
    /// Absent if it lasts.
    pub(crate) until: Option<u64>,
    /// For example `the budget is spent`.
    pub(crate) why: String,
}

/// A note of a person to the agents.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageNote {
    pub(crate) number: u32,
    pub(crate) at: u64,
    pub(crate) text: String,
    pub(crate) stage: Option<String>,
    /// Calls whose prompts contain it.
    pub(crate) shown_in: Vec<String>,
    pub(crate) is_withdrawn: bool,
}

/// The question that waits for a person.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageGate {
    pub(crate) call: String,
    pub(crate) stage: String,
    /// Markdown.
    pub(crate) question: String,
    /// True if the answer is yes or no; else it is a text.
    pub(crate) is_yes_no: bool,
    pub(crate) closes: Option<u64>,
}

/// A report file with the versions that the run saved.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageReport {
    pub(crate) file: String,
    pub(crate) versions: Vec<PageReportVersion>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageReportVersion {
    pub(crate) seq: u64,
    pub(crate) at: u64,
    pub(crate) stage: String,
    pub(crate) call: String,
    pub(crate) bytes: u64,
}

/// A finding of a review run.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageFinding {
    pub(crate) severity: String,
    pub(crate) title: String,
    pub(crate) text: String,
    pub(crate) file: Option<String>,
    pub(crate) line: Option<u64>,
    pub(crate) agents: Vec<String>,
    /// The reason if it does not count (suppressed, or in the baseline).
    pub(crate) set_aside: Option<String>,
}

/// The texts of a call.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct CallTexts {
    pub(crate) call: String,
    pub(crate) prompt: Option<String>,
    pub(crate) reply: Option<String>,
    /// Output so far of a running turn.
    pub(crate) live: Option<String>,
    pub(crate) failures: Vec<String>,
    pub(crate) tools: Vec<ToolText>,
    pub(crate) reports: Vec<ReportText>,
    /// Results of an action, or the person's answer.
    pub(crate) results: Vec<String>,
    /// True if a text was too long and is cut.
    pub(crate) is_cut: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ToolText {
    pub(crate) name: String,
    /// JSON.
    pub(crate) input: String,
    /// Text, or JSON.
    pub(crate) output: String,
    pub(crate) duration: u64,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ReportText {
    pub(crate) file: String,
    pub(crate) text: String,
}

/// The changes of a run: as a whole, or by turn.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct RunChanges {
    /// Files that differ from the commit at the start of the run.
    pub(crate) files: Vec<ChangedFile>,
    /// Edits that turns made with their tools, in order.
    pub(crate) turns: Vec<TurnChanges>,
    /// Reasons why files are missing here.
    pub(crate) remarks: Vec<String>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct ChangedFile {
    pub(crate) path: String,
    pub(crate) previous: Option<String>,
    /// A unified diff.
    pub(crate) diff: String,
    pub(crate) left_out: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct TurnChanges {
    pub(crate) call: String,
    pub(crate) diff: String,
    /// False if the turn may have changed more files, for example by commands.
    pub(crate) is_complete: bool,
}

/// Places of a text in the runs.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct SearchPage {
    pub(crate) hits: Vec<SearchHit>,
    /// True if there are more hits than shown.
    pub(crate) has_more: bool,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct SearchHit {
    /// Address of the run.
    pub(crate) run: String,
    pub(crate) definition: String,
    pub(crate) started: u64,
    /// Absent for the task.
    pub(crate) call: Option<String>,
    pub(crate) stage: Option<String>,
    /// `task`, `prompt`, `reply` or `report`.
    pub(crate) part: String,
    /// The text around the hit: before, the hit itself, after.
    pub(crate) before: String,
    pub(crate) hit: String,
    pub(crate) after: String,
}

/// The issues of `saihai work`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct BatchPage {
    pub(crate) issues: Vec<BatchIssue>,
}

#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct BatchIssue {
    pub(crate) project: usize,
    pub(crate) id: String,
    pub(crate) title: String,
    pub(crate) column: BatchColumn,
    /// The state in words.
    pub(crate) words: String,
    pub(crate) run: Option<String>,
    pub(crate) branch: Option<String>,
    /// Address of the pull request.
    pub(crate) pull_request: Option<String>,
    /// Ids of issues that it waits for.
    pub(crate) depends_on: Vec<String>,
    /// Result of the checks of its pull request, in words.
    pub(crate) checks: Option<String>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(rename_all = "snake_case")]
pub(crate) enum BatchColumn {
    Waiting,
    Working,
    AtGate,
    InReview,
    Merged,
    Failed,
}

/// The result of a request from the page.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct PageReply {
    pub(crate) is_done: bool,
    /// The effect, or the reason for a refusal.
    pub(crate) words: String,
    /// Address of the new run, after a fork.
    pub(crate) run: Option<String>,
}

/// One message of the event stream.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
#[serde(tag = "kind", rename_all = "snake_case")]
pub(crate) enum PageEvent {
    /// Rows that are new or differ from before, and ids of deleted runs. The first message holds all rows.
    Rows { is_whole: bool, rows: Vec<PageRow>, gone: Vec<String> },
    /// The changes of the watched run.
    Run { page: Box<RunPage> },
    /// The end of the output so far of a running call; it replaces what was shown. May be dropped under load.
    Output { call: String, text: String },
    /// The watched run cannot be read (any more).
    Lost { words: String },
}

/// A run in one file: everything that the page would ask a server for.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct SavedPage {
    pub(crate) version: u32,
    /// Version of the program that wrote the file.
    pub(crate) program: String,
    pub(crate) saved_at: u64,
    pub(crate) run: RunPage,
    pub(crate) texts: Vec<CallTexts>,
    pub(crate) reports: Vec<SavedReportText>,
    pub(crate) changes: RunChanges,
    /// True if prompts were left out.
    pub(crate) is_without_prompts: bool,
}

/// A version of a report.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[cfg_attr(test, derive(ts_rs::TS))]
pub(crate) struct SavedReportText {
    pub(crate) seq: u64,
    pub(crate) file: String,
    pub(crate) text: String,
}
