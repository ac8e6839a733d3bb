//! Reads the runs of a project for the screen, on a thread of its own. It sends only changes.

use std::path::PathBuf;
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender};
use std::time::{Duration, Instant};

use saihai::{RunDirectory, Runs};
use saihai_model::Moment;
use saihai_view::{RunState, RunView};

use super::model::{
    NodeKey, PaneTexts, RowKind, RowRank, RunDetail, RunRow, TopEvent, TopNotice, TreeNode, WatchedNode,
};
use super::run_texts::{pane_texts, tree_nodes};
use crate::driving::{resume_flags, state_style};
use crate::error::CommandError;
use crate::known_projects::KnownProjects;
use crate::project::Project;
use crate::quantities::{self, budget_left_words};
use crate::terminal::{style, visible_line};
use crate::watching::{
    CallMark, FollowedRow, FollowedRuns, ProjectRun, RunStanding, SeenRun, StandingKind, WatchedRun,
    stage_name,
};

/// Interval between two looks at unfinished runs. An owner that dies is noticed after this time.
const LOOK: Duration = Duration::from_millis(250);
/// Interval between two looks for new, deleted and changed finished runs.
const LIST: Duration = Duration::from_secs(1);
/// While many journals are read, the list is sent this often.
const PARTIAL: Duration = Duration::from_millis(300);

/// The projects whose runs a screen shows.
pub(crate) enum TopScope {
    Project(Project),
    /// All projects of this machine. New ones appear while the screen is open.
    Machine(KnownProjects),
}

impl TopScope {
    pub(super) fn roots(&self) -> Vec<PathBuf> {
        match self {
            Self::Project(project) => vec![project.places.root.clone()],
            Self::Machine(known) => known.roots(),
        }
    }
}

/// Follows the runs of one or all projects, and the opened run in detail.
pub(super) struct RunSource {
    scope: Arc<TopScope>,
    roots: Vec<PathBuf>,
    followed: FollowedRuns<RunRow>,
    outlet: RowOutlet,
    opened: Option<OpenedSource>,
    last_error: Option<String>,
}

/// Sends rows to the screen if they have changed.
struct RowOutlet {
    events: Sender<TopEvent>,
    names_projects: bool,
    sent: Option<Vec<RunRow>>,
}

impl RunSource {
    pub(super) fn new(scope: Arc<TopScope>, events: Sender<TopEvent>) -> Self {
        let names_projects = matches!(*scope, TopScope::Machine(_));
        let outlet = RowOutlet { events, names_projects, sent: None };
        let followed = FollowedRuns::new(Vec::new());
        Self { scope, roots: Vec::new(), followed, outlet, opened: None, last_error: None }
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

    /// Finds projects and runs.
    fn list(&mut self) {
        let roots = self.scope.roots();
        if roots != self.roots {
            self.followed.follow_projects(roots.iter().map(|root| Runs::of_project(root)).collect());
            self.roots = roots;
        }
        for error in self.followed.list() {
            self.say_error(error.message());
        }
    }

    /// Looks at all runs, or only at unfinished ones, and sends the list if it has changed.
    fn look(&mut self, at_all: bool) {
        let (outlet, mut begun) = (&mut self.outlet, Instant::now());
        self.followed.look(at_all, quantities::now(), |followed| {
            if begun.elapsed() >= PARTIAL {
                outlet.send_rows(followed);
                begun = Instant::now();
            }
        });
        outlet.send_rows(&self.followed);
    }

    fn watch(&mut self, watched: Option<WatchedNode>) {
        let Some(watched) = watched else {
            self.opened = None;
            return;
        };
        match &mut self.opened {
            Some(opened) if opened.run == watched.run => opened.watch(watched.node),
            _ => {
                let found = watched.run.find();
                match found.and_then(|(_, directory)| OpenedSource::open(&directory, watched)) {
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
        self.outlet.events.send(event).unwrap_or(());
    }
}

impl RowOutlet {
    /// Adds the project to a row, if the list shows several.
    fn located(&self, row: RunRow) -> RunRow {
        if !self.names_projects {
            return row;
        }
        let path = &row.run.root;
        let name = path.file_name().unwrap_or(path.as_os_str()).to_string_lossy();
        let project = visible_line(&name).into_owned();
        let root = visible_line(&path.to_string_lossy()).into_owned();
        RunRow { project, root, ..row }
    }

    fn send_rows(&mut self, followed: &FollowedRuns<RunRow>) {
        let mut rows: Vec<RunRow> = followed.rows().map(|(_, row)| self.located(row.clone())).collect();
        // A stable sort: within a rank, the newest run stays first.
        rows.sort_by_key(|row| row.rank);
        if self.sent.as_ref() != Some(&rows) {
            self.sent = Some(rows.clone());
            self.events.send(TopEvent::Runs(rows)).unwrap_or(());
        }
    }
}

impl FollowedRow for RunRow {
    fn of(run: &SeenRun<'_>) -> Self {
        let (view, state) = (run.view, run.state);
        let RunStanding { kind, waits_for, words } = RunStanding::of(run);
        let (rank, word) = match kind {
            StandingKind::Waiting => (RowRank::WaitsForPerson, "waiting"),
            StandingKind::Running => (RowRank::Running, "running"),
            StandingKind::Answered => (RowRank::Rest, "answered"),
            _ => (RowRank::Rest, state.name()),
        };
        let driven = match state {
            RunState::Running { .. } => view.driven_until(run.now),
            _ => view.driven,
        };
        let spending = run.workflow.filter(|_| !state.is_over()).and_then(|workflow| view.spending(workflow));
        let task = view.start.task.inline().unwrap_or_default();
        let line = |text: &str| visible_line(text).into_owned();
        Self {
            run: ProjectRun::of(run.directory),
            id: line(run.directory.id()),
            project: String::new(),
            root: String::new(),
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
            spark: spark(view),
            budget_left: spending.as_ref().and_then(budget_left_words).unwrap_or_default(),
            waits_for,
            resume: resume(run),
            words,
            kind: if state.is_over() { RowKind::Ended } else { RowKind::Unfinished },
        }
    }

    fn broken(run: &RunDirectory, error: &str) -> Self {
        broken_row(run, error)
    }

    fn is_settled(&self) -> bool {
        self.kind != RowKind::Unfinished
    }
}

fn resume(run: &SeenRun<'_>) -> Option<String> {
    let (view, workflow) = (run.view, run.workflow?);
    if matches!(run.state, RunState::Running { .. }) {
        return None;
    }
    let most = view.most_iterations.or(workflow.limits.rounds).unwrap_or(view.iterations);
    resume_flags(run.state, most, view.spending(workflow).as_ref())
}

/// Turns in the line of costs.
const SPARKS: usize = 8;

/// Draws the known costs of the last turns, relative to the dearest of them. Empty if there are fewer than two.
fn spark(view: &RunView) -> String {
    const BLOCKS: [char; 8] = ['▁', '▂', '▃', '▄', '▅', '▆', '▇', '█'];
    let costs = view.calls.iter().rev().filter_map(|call| call.reply()?.cost);
    let mut costs: Vec<u64> = costs.take(SPARKS).map(|cost| cost.0).collect();
    let most = costs.iter().max().copied().unwrap_or_default();
    if costs.len() < 2 || most == 0 {
        return String::new();
    }
    costs.reverse();
    let block = |cost: u64| {
        let level = (u128::from(cost) * 7).div_ceil(u128::from(most));
        BLOCKS[usize::try_from(level).unwrap_or(7).min(7)]
    };
    costs.into_iter().map(block).collect()
}

/// An unknown cost is never shown as zero.
fn cost_cell(view: &RunView) -> String {
    match view.cost {
        None => "-".to_owned(),
        Some(cost) if view.unpriced.is_empty() => cost.to_string(),
        Some(cost) => format!("{cost} + ?"),
    }
}

fn broken_row(run: &RunDirectory, error: &str) -> RunRow {
    RunRow {
        run: ProjectRun::of(run),
        id: visible_line(run.id()).into_owned(),
        project: String::new(),
        root: String::new(),
        rank: RowRank::Rest,
        state: "broken".to_owned(),
        style: style::ERROR,
        definition: String::new(),
        task: String::new(),
        stage: String::new(),
        elapsed: String::new(),
        turns: String::new(),
        cost: String::new(),
        spark: String::new(),
        budget_left: String::new(),
        waits_for: String::new(),
        resume: None,
        words: format!("cannot be read: {}", visible_line(error)),
        kind: RowKind::Broken,
    }
}

/// Returns the newest turn that runs or waits for a person, else the last node.
fn newest_node(nodes: &[TreeNode]) -> Option<&TreeNode> {
    let is_live = |node: &&TreeNode| {
        matches!(node.key, NodeKey::Call(_))
            && matches!(node.mark, CallMark::Running | CallMark::WaitsForPerson)
    };
    nodes.iter().rev().find(is_live).or(nodes.last())
}

/// The opened run, with the texts of one of its nodes.
struct OpenedSource {
    run: ProjectRun,
    watched: WatchedRun,
    /// The node to show; `None` is the newest.
    node: Option<NodeKey>,
    texts: PaneTexts,
    /// The node of `texts`.
    shown: Option<NodeKey>,
    is_stale: bool,
    sent: Option<RunDetail>,
}

impl OpenedSource {
    fn open(directory: &RunDirectory, wanted: WatchedNode) -> Result<Self, CommandError> {
        Ok(Self {
            run: wanted.run,
            watched: WatchedRun::open(directory)?,
            node: wanted.node,
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
        let news = self.watched.look()?;
        self.is_stale |= news.has_records || !news.output.is_empty();
        let nodes = tree_nodes(&self.watched.run, now);
        let newest = || newest_node(&nodes).map(|node| node.key.clone());
        let shown = self.node.clone().or_else(newest);
        if shown != self.shown || self.is_stale {
            let question = self.watched.question().cloned();
            let WatchedRun { run, live, .. } = &self.watched;
            self.texts = shown.as_ref().map_or_else(PaneTexts::default, |node| {
                pane_texts(run, node, live, question.as_ref())
                    .unwrap_or_else(|error| PaneTexts::unreadable(error.message()))
            });
            self.shown = shown;
            self.is_stale = false;
        }
        let run = self.run.clone();
        let detail = RunDetail { run, nodes, shown: self.shown.clone(), texts: self.texts.clone() };
        if self.sent.as_ref() == Some(&detail) {
            return Ok(None);
        }
        self.sent = Some(detail.clone());
        Ok(Some(detail))
    }
}
