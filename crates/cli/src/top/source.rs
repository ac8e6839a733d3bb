//! Reads the runs of a project for the screen, on a thread of its own. It sends only changes.

use std::collections::{BTreeMap, HashMap};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use saihai::{FollowedRun, Glimpse, Glimpses, JournalReader, LoadedRun, RunDirectory, Runs};
use saihai_model::{CallId, Hold, Moment, Workflow};
use saihai_view::{RunState, RunView};

use super::model::{
    NodeKey, NodeMark, PaneTexts, RowKind, RowRank, RunDetail, RunRow, TopEvent, TopNotice, TreeNode,
    WatchedNode,
};
use super::run_texts::{LiveTexts, pane_texts, tree_nodes};
use crate::driving::{LATE, state_style, state_words};
use crate::error::{CommandError, sentence};
use crate::quantities::{self, budget_left_words};
use crate::report::parked_words;
use crate::terminal::{style, visible_line};

/// Interval between two looks at unfinished runs. An owner that dies is noticed after this time.
const LOOK: Duration = Duration::from_millis(250);
/// Interval between two looks for new, deleted and changed finished runs.
const LIST: Duration = Duration::from_secs(1);
/// While many journals are read, the list is sent this often.
const PARTIAL: Duration = Duration::from_millis(300);

/// Follows the runs of a project, and the opened run in detail.
pub(super) struct RunSource {
    runs: Runs,
    events: Sender<TopEvent>,
    /// Newest first.
    listed: Vec<ListedRow>,
    opened: Option<OpenedSource>,
    sent: Option<Vec<RunRow>>,
    last_error: Option<String>,
}

/// A run in the list.
struct ListedRow {
    run: FollowedRun,
    /// Read once, for the budget and the gate of an unfinished run.
    workflow: Option<Workflow>,
    row: Option<RunRow>,
}

impl RunSource {
    pub(super) fn new(runs: Runs, events: Sender<TopEvent>) -> Self {
        Self { runs, events, listed: Vec::new(), opened: None, sent: None, last_error: None }
    }

    /// Follows the runs until the screen is gone.
    pub(super) fn follow(mut self, requests: &Receiver<Option<WatchedNode>>) {
        let mut listed: Option<Instant> = None;
        loop {
            let is_due = listed.is_none_or(|at| at.elapsed() >= LIST);
            if is_due {
                self.list();
                listed = Some(Instant::now());
            }
            self.look(is_due);
            self.look_at_opened();
            match requests.recv_timeout(LOOK) {
                Ok(watched) => {
                    // Only the last of several requests counts.
                    let last = requests.try_iter().last();
                    self.watch(last.unwrap_or(watched));
                }
                Err(RecvTimeoutError::Timeout) => {}
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    /// Finds the directories of the runs. Opens no journal.
    fn list(&mut self) {
        let directories = match self.runs.list() {
            Ok(directories) => directories,
            Err(error) => return self.say_error(&sentence(&error)),
        };
        let known = self.listed.drain(..).map(|listed| (listed.run.directory().id().to_owned(), listed));
        let mut known: HashMap<String, ListedRow> = known.collect();
        self.listed = directories
            .into_iter()
            .map(|directory| known.remove(directory.id()).unwrap_or_else(|| ListedRow::new(directory)))
            .collect();
    }

    /// Looks at all runs, or only at unfinished ones, and sends the list if it has changed.
    fn look(&mut self, at_all: bool) {
        let now = quantities::now();
        let mut begun = Instant::now();
        for index in 0..self.listed.len() {
            let listed = &mut self.listed[index];
            if at_all || listed.is_unfinished() {
                listed.look(now);
            }
            if begun.elapsed() >= PARTIAL {
                self.send_rows();
                begun = Instant::now();
            }
        }
        self.send_rows();
    }

    fn send_rows(&mut self) {
        let mut rows: Vec<RunRow> = self.listed.iter().filter_map(|listed| listed.row.clone()).collect();
        // A stable sort: within a rank, the newest run stays first.
        rows.sort_by_key(|row| row.rank);
        if self.sent.as_ref() != Some(&rows) {
            self.sent = Some(rows.clone());
            self.send(TopEvent::Runs(rows));
        }
    }

    fn watch(&mut self, watched: Option<WatchedNode>) {
        let Some(watched) = watched else {
            self.opened = None;
            return;
        };
        match &mut self.opened {
            Some(opened) if opened.loaded.directory.id() == watched.run => opened.watch(watched.node),
            _ => {
                let opened = self.runs.find(&watched.run).map_err(CommandError::from);
                match opened.and_then(|directory| OpenedSource::open(directory, watched.node)) {
                    Ok(opened) => self.opened = Some(opened),
                    Err(error) => self.say_error(error.message()),
                }
            }
        }
    }

    fn look_at_opened(&mut self) {
        let Some(opened) = &mut self.opened else { return };
        match opened.look(quantities::now()) {
            Ok(None) => {}
            Ok(Some(detail)) => self.send(TopEvent::Detail(Box::new(detail))),
            Err(error) => {
                self.opened = None;
                self.say_error(error.message());
            }
        }
    }

    /// Shows an error once, and not at every look.
    fn say_error(&mut self, text: &str) {
        let text = visible_line(text).into_owned();
        if self.last_error.as_ref() != Some(&text) {
            self.last_error = Some(text.clone());
            self.send(TopEvent::Notice(TopNotice { text, is_error: true }));
        }
    }

    /// If the screen is gone, the next wait for a request ends the thread.
    fn send(&self, event: TopEvent) {
        self.events.send(event).unwrap_or(());
    }
}

impl ListedRow {
    fn new(directory: RunDirectory) -> Self {
        Self { run: FollowedRun::new(directory), workflow: None, row: None }
    }

    fn is_unfinished(&self) -> bool {
        self.row.as_ref().is_none_or(|row| row.kind == RowKind::Unfinished)
    }

    fn look(&mut self, now: Moment) {
        if let Err(error) = self.run.look() {
            self.row = Some(broken_row(self.run.directory().id(), &sentence(&error)));
            return;
        }
        // Without a view, the run has ended or is broken, and its journal is unchanged.
        let (Some(view), Some(state)) = (self.run.view(), self.run.state()) else { return };
        if !state.is_over() && self.workflow.is_none() {
            // A row without it lacks only the budget.
            self.workflow = self.run.directory().frozen_workflow(&view.start).ok();
        }
        let row = run_row(self.run.directory().id(), view, &state, self.workflow.as_ref(), now);
        self.row = Some(row);
        if state.is_over() {
            // The records of a thousand finished runs would fill the memory.
            self.run.release();
            self.workflow = None;
        }
    }
}

/// Renders a run as a row of the list.
pub(super) fn run_row(
    id: &str,
    view: &RunView,
    state: &RunState,
    workflow: Option<&Workflow>,
    now: Moment,
) -> RunRow {
    let gate = workflow.and_then(|workflow| view.open_gate(workflow));
    let is_late = gate.is_some_and(|gate| gate.is_closed(now));
    let waits_for_person = !is_late
        && matches!(
            state,
            RunState::Running { gate: Some(_), .. } | RunState::Parked { hold: Hold::Person(_), .. }
        );
    let (rank, word) = match state {
        _ if waits_for_person => (RowRank::WaitsForPerson, "waiting"),
        RunState::Running { .. } => (RowRank::Running, "running"),
        RunState::Ready => (RowRank::Rest, "answered"),
        RunState::Interrupted | RunState::Parked { .. } | RunState::Ended { .. } => {
            (RowRank::Rest, state.name())
        }
    };
    let waits_for = match state {
        _ if waits_for_person => "you".to_owned(),
        RunState::Interrupted | RunState::Ready => "resume".to_owned(),
        RunState::Parked { .. } if is_late => "resume".to_owned(),
        RunState::Parked { hold, provider } => parked_words(hold, provider.as_ref(), now),
        RunState::Running { .. } | RunState::Ended { .. } => String::new(),
    };
    let driven = match state {
        RunState::Running { .. } => view.driven_until(now),
        _ => view.driven,
    };
    let spending = workflow.filter(|_| !state.is_over()).and_then(|workflow| view.spending(workflow));
    let task = view.start.task.inline().unwrap_or_default();
    let line = |text: &str| visible_line(text).into_owned();
    RunRow {
        id: line(id),
        rank,
        state: word.to_owned(),
        style: state_style(state),
        definition: line(&view.start.definition),
        task: line(task.lines().next().unwrap_or_default()),
        stage: view
            .visits
            .last()
            .map(|visit| stage_name(visit.stage.as_str(), visit.visit))
            .unwrap_or_default(),
        elapsed: quantities::stopwatch(driven),
        turns: view.turns.to_string(),
        cost: cost_cell(view),
        budget_left: spending.as_ref().and_then(budget_left_words).unwrap_or_default(),
        waits_for: line(&waits_for),
        words: sentence_of(view, state, is_late),
        kind: if state.is_over() { RowKind::Ended } else { RowKind::Unfinished },
    }
}

/// Names a stage, with the number of its visit from the second on.
pub(super) fn stage_name(stage: &str, visit: u32) -> String {
    let stage = visible_line(stage);
    if visit > 1 { format!("{stage} ({visit})") } else { stage.into_owned() }
}

/// An unknown cost is never shown as zero.
fn cost_cell(view: &RunView) -> String {
    match view.cost {
        None => "-".to_owned(),
        Some(cost) if view.unpriced.is_empty() => cost.to_string(),
        Some(cost) => format!("{cost} + ?"),
    }
}

fn sentence_of(view: &RunView, state: &RunState, is_late: bool) -> String {
    let mut words = state_words(state);
    if let RunState::Running { owner: Some(owner), .. } = state {
        words.push_str(&format!(", driven by process {owner}"));
    }
    if is_late {
        words.push_str(&format!("; {LATE}"));
    }
    if view.start.rehearsal {
        words.push_str(", rehearsal");
    }
    if let Some(from) = &view.start.forked_from {
        words.push_str(&format!(", forked from {}", visible_line(from)));
    }
    words
}

fn broken_row(id: &str, error: &str) -> RunRow {
    RunRow {
        id: visible_line(id).into_owned(),
        rank: RowRank::Rest,
        state: "broken".to_owned(),
        style: style::ERROR,
        definition: String::new(),
        task: String::new(),
        stage: String::new(),
        elapsed: String::new(),
        turns: String::new(),
        cost: String::new(),
        budget_left: String::new(),
        waits_for: String::new(),
        words: format!("cannot be read: {}", visible_line(error)),
        kind: RowKind::Broken,
    }
}

/// Returns the newest turn that runs or waits for a person, else the last node.
fn newest_node(nodes: &[TreeNode]) -> Option<&TreeNode> {
    let is_live = |node: &&TreeNode| {
        matches!(node.key, NodeKey::Call(_))
            && matches!(node.mark, NodeMark::Running | NodeMark::WaitsForPerson)
    };
    nodes.iter().rev().find(is_live).or(nodes.last())
}

/// The opened run: its records, and the output of its running turns.
struct OpenedSource {
    loaded: LoadedRun,
    journal: JournalReader,
    glimpses: Glimpses,
    live: LiveTexts,
    /// The node to show; `None` is the newest.
    node: Option<NodeKey>,
    /// The question of the open gate. Rendering it reads the whole run.
    question: Option<(CallId, String)>,
    texts: PaneTexts,
    /// The node of `texts`.
    shown: Option<NodeKey>,
    is_stale: bool,
    sent: Option<RunDetail>,
}

impl OpenedSource {
    fn open(directory: RunDirectory, node: Option<NodeKey>) -> Result<Self, CommandError> {
        let mut journal = directory.open_journal()?;
        let mut view: Option<RunView> = None;
        while let Some(records) = journal.next_records()? {
            for record in records {
                match &mut view {
                    Some(view) => view.apply(record),
                    None => view = RunView::begin(&record),
                }
            }
        }
        let view = view.ok_or_else(|| directory.unborn())?;
        let workflow = directory.frozen_workflow(&view.start)?;
        Ok(Self {
            glimpses: directory.glimpses(),
            loaded: LoadedRun::of_view(&directory, &workflow, view),
            journal,
            live: BTreeMap::new(),
            node,
            question: None,
            texts: PaneTexts::default(),
            shown: None,
            is_stale: true,
            sent: None,
        })
    }

    fn watch(&mut self, node: Option<NodeKey>) {
        self.node = node;
        // A repeated request is answered too.
        self.sent = None;
    }

    /// Reads new records and output. Returns the run if it looks different now.
    fn look(&mut self, now: Moment) -> Result<Option<RunDetail>, CommandError> {
        self.read_records()?;
        self.read_output();
        self.loaded.state = self.loaded.view.state(self.loaded.directory.owner());
        let nodes = tree_nodes(&self.loaded, now);
        let newest = || newest_node(&nodes).map(|node| node.key.clone());
        let shown = self.node.clone().or_else(newest);
        if shown != self.shown || self.is_stale {
            self.read_question();
            let question = self.question.as_ref();
            self.texts = shown.as_ref().map_or_else(PaneTexts::default, |node| {
                pane_texts(&self.loaded, node, &self.live, question)
                    .unwrap_or_else(|error| PaneTexts::unreadable(error.message()))
            });
            self.shown = shown;
            self.is_stale = false;
        }
        let run = self.loaded.directory.id().to_owned();
        let detail = RunDetail { run, nodes, shown: self.shown.clone(), texts: self.texts.clone() };
        if self.sent.as_ref() == Some(&detail) {
            return Ok(None);
        }
        self.sent = Some(detail.clone());
        Ok(Some(detail))
    }

    fn read_records(&mut self) -> Result<(), CommandError> {
        self.journal.catch_up()?;
        while let Some(records) = self.journal.next_records()? {
            self.is_stale = true;
            for record in records {
                self.loaded.view.apply(record);
            }
        }
        let view = &self.loaded.view;
        self.live.retain(|call, _| view.call(call).is_some_and(|call| call.reply().is_none()));
        Ok(())
    }

    fn read_output(&mut self) {
        for (call, shows) in self.glimpses.look() {
            let text = self.live.entry(call).or_default();
            match shows {
                Glimpse::Text(more) => text.push_str(&more),
                Glimpse::Does(tool) => {
                    if !text.is_empty() && !text.ends_with('\n') {
                        text.push('\n');
                    }
                    text.push_str(&format!("[{tool}]\n"));
                }
            }
            self.is_stale = true;
        }
    }

    /// Reads the question of the open gate, once per gate.
    fn read_question(&mut self) {
        let gate = self.loaded.view.open_gate(&self.loaded.workflow);
        match (gate, &self.question) {
            (None, _) => self.question = None,
            (Some(gate), Some((call, _))) if gate.call == *call => {}
            (Some(_), _) => {
                let asked = saihai::open_gate(&self.loaded.directory).ok();
                self.question = asked.map(|(call, question, _)| (call, question));
            }
        }
    }
}
