//! The state of the screen, and its change by keys and news. Pure: commands to the world are values.

use crossterm::event::KeyEvent;
use saihai::GateAnswer;
use saihai_model::{CallId, Wants};

use super::layout::{ScreenSize, text_width, wrap_text};
use super::text_input::TextInput;
use crate::watching::{CallMark, ProjectRun};

/// One run in the list. All texts are safe to show.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunRow {
    pub(super) run: ProjectRun,
    pub(super) id: String,
    /// Directory name of its project, if the list shows several.
    pub(super) project: String,
    /// Path of its project, if the list shows several.
    pub(super) root: String,
    pub(super) rank: RowRank,
    pub(super) state: String,
    pub(super) style: anstyle::Style,
    pub(super) definition: String,
    pub(super) task: String,
    pub(super) stage: String,
    pub(super) elapsed: String,
    pub(super) turns: String,
    pub(super) cost: String,
    /// Cost of the last turns, as a line of blocks.
    pub(super) spark: String,
    pub(super) budget_left: String,
    pub(super) waits_for: String,
    /// Flags of `saihai resume`, if the run can be resumed.
    pub(super) resume: Option<String>,
    /// The state in a sentence, or the reason why the run cannot be read.
    pub(super) words: String,
    pub(super) kind: RowKind,
}

/// Order of the list. Within a rank, the newest run comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum RowRank {
    WaitsForPerson,
    Running,
    Rest,
}

/// Actions that a run allows.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum RowKind {
    Unfinished,
    Ended,
    /// The directory of the run cannot be read.
    Broken,
}

/// The opened run, as its files show it.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct RunDetail {
    pub(super) run: ProjectRun,
    pub(super) nodes: Vec<TreeNode>,
    /// The node whose texts follow.
    pub(super) shown: Option<NodeKey>,
    pub(super) texts: PaneTexts,
}

#[derive(Debug, Clone, PartialEq)]
pub(super) struct TreeNode {
    pub(super) key: NodeKey,
    pub(super) mark: CallMark,
    pub(super) label: String,
    /// Duration or destination, at the right.
    pub(super) note: String,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum NodeKey {
    /// Index of a visit.
    Visit(usize),
    Call(CallId),
}

#[derive(Debug, Clone, Default, PartialEq)]
pub(super) struct PaneTexts {
    pub(super) transcript: String,
    pub(super) prompt: String,
    pub(super) report: String,
    pub(super) diff: String,
    pub(super) why: String,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaneTab {
    Transcript,
    Prompt,
    Report,
    Diff,
    Why,
}

impl PaneTab {
    pub(super) const ALL: [Self; 5] = [Self::Transcript, Self::Prompt, Self::Report, Self::Diff, Self::Why];

    pub(super) fn title(self) -> &'static str {
        match self {
            Self::Transcript => "Transcript",
            Self::Prompt => "Prompt",
            Self::Report => "Report",
            Self::Diff => "Diff",
            Self::Why => "Why",
        }
    }

    /// Returns the tab so many places to the right.
    pub(super) fn moved(self, by: usize) -> Self {
        let here = Self::ALL.iter().position(|tab| *tab == self).unwrap_or(0);
        Self::ALL[(here + by) % Self::ALL.len()]
    }

    fn text(self, texts: &PaneTexts) -> &str {
        match self {
            Self::Transcript => &texts.transcript,
            Self::Prompt => &texts.prompt,
            Self::Report => &texts.report,
            Self::Diff => &texts.diff,
            Self::Why => &texts.why,
        }
    }
}

/// A question of a gate, and the answer that it takes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct AskedGate {
    pub(super) call: CallId,
    pub(super) question: String,
    pub(super) wants: Wants,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct TopNotice {
    pub(super) text: String,
    pub(super) is_error: bool,
}

#[derive(Debug)]
pub(super) enum TopEvent {
    Key(KeyEvent),
    Pasted(String),
    Resized(ScreenSize),
    Runs(Vec<RunRow>),
    Detail(Box<RunDetail>),
    Gate {
        run: ProjectRun,
        gate: AskedGate,
    },
    Notice(TopNotice),
    /// The page is served under this link, which works once.
    Page {
        link: String,
        is_opened: bool,
    },
    /// A signal, or the end of the keyboard.
    Stop,
    /// A thread of ours panicked.
    Bug,
}

#[derive(Debug, PartialEq)]
pub(super) enum TopRequest {
    Quit,
    Suspend,
    Redraw,
    /// Follow a run and one of its nodes, or none.
    Watch(Option<WatchedNode>),
    /// Read the question of a run's gate.
    Ask {
        run: ProjectRun,
    },
    Answer {
        run: ProjectRun,
        call: CallId,
        answer: GateAnswer,
    },
    Tell {
        run: ProjectRun,
        text: String,
    },
    Cancel {
        run: ProjectRun,
    },
    Fork {
        run: ProjectRun,
    },
    Resume {
        run: ProjectRun,
        flags: Vec<String>,
    },
    /// Save the page of a run as a file.
    Export {
        run: ProjectRun,
    },
    /// Open a run in the browser.
    OpenPage {
        run: ProjectRun,
    },
    /// Stop the run that was started with this screen, and leave.
    Park,
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct WatchedNode {
    pub(super) run: ProjectRun,
    /// `None`: always the newest.
    pub(super) node: Option<NodeKey>,
}

/// A box over the screen that takes all keys.
#[derive(Debug)]
pub(super) enum TopDialog {
    Help {
        top: usize,
    },
    Answer {
        run: ProjectRun,
        gate: AskedGate,
        input: TextInput,
        problem: Option<String>,
    },
    Tell {
        run: ProjectRun,
        input: TextInput,
    },
    /// The flags of `saihai resume`, to change or to confirm.
    Resume {
        run: ProjectRun,
        input: TextInput,
    },
    /// Leaving while the run that was started with this screen still works.
    Leave,
    Confirm {
        run: ProjectRun,
        action: ConfirmedAction,
    },
    Commands {
        title: &'static str,
        lines: Vec<String>,
    },
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ConfirmedAction {
    Cancel,
    Fork,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum PaneFocus {
    Tree,
    Text,
}

/// A search in the text pane.
#[derive(Debug, Default)]
pub(super) struct TextSearch {
    pub(super) input: TextInput,
    pub(super) is_typing: bool,
    /// Numbers of the matching lines.
    pub(super) matches: Vec<usize>,
    pub(super) current: usize,
}

/// The screen of one run.
#[derive(Debug)]
pub(super) struct OpenedRun {
    pub(super) run: ProjectRun,
    pub(super) nodes: Vec<TreeNode>,
    pub(super) selected: Option<NodeKey>,
    pub(super) tree_top: usize,
    pub(super) focus: PaneFocus,
    pub(super) tab: PaneTab,
    pub(super) follow: bool,
    texts: PaneTexts,
    /// The text of the tab, wrapped to the pane.
    pub(super) lines: Vec<String>,
    pub(super) text_top: usize,
    pub(super) search: Option<TextSearch>,
}

#[derive(Debug)]
pub(super) struct TopModel {
    pub(super) size: ScreenSize,
    pub(super) rows: Vec<RunRow>,
    /// False until the runs were read for the first time.
    pub(super) is_loaded: bool,
    pub(super) selected: Option<ProjectRun>,
    pub(super) list_top: usize,
    pub(super) opened: Option<OpenedRun>,
    pub(super) dialog: Option<TopDialog>,
    pub(super) notice: Option<TopNotice>,
    /// The run that was started with this screen.
    pub(super) driven: Option<ProjectRun>,
}

impl TopModel {
    pub(super) fn new(size: ScreenSize) -> Self {
        Self {
            driven: None,
            size,
            rows: Vec::new(),
            is_loaded: false,
            selected: None,
            list_top: 0,
            opened: None,
            dialog: None,
            notice: None,
        }
    }

    /// Opens the run that was started with this screen.
    pub(super) fn open_driven(&mut self, run: ProjectRun) -> TopRequest {
        (self.selected, self.driven) = (Some(run.clone()), Some(run.clone()));
        self.opened = Some(OpenedRun { follow: true, ..OpenedRun::new(run.clone()) });
        TopRequest::Watch(Some(WatchedNode { run, node: None }))
    }

    /// Takes news and returns the requests that follow from it.
    pub(super) fn update(&mut self, event: TopEvent) -> Vec<TopRequest> {
        let commands = match event {
            TopEvent::Key(key) => self.press(key),
            TopEvent::Pasted(text) => {
                self.paste(&text);
                Vec::new()
            }
            TopEvent::Resized(size) => {
                self.size = size;
                self.rewrap();
                Vec::new()
            }
            TopEvent::Runs(rows) => {
                self.take_rows(rows);
                Vec::new()
            }
            TopEvent::Detail(detail) => {
                self.take_detail(*detail);
                Vec::new()
            }
            TopEvent::Gate { run, gate } => {
                let input = TextInput::default();
                self.dialog = Some(TopDialog::Answer { run, gate, input, problem: None });
                self.notice = None;
                Vec::new()
            }
            TopEvent::Notice(notice) => {
                self.notice = Some(notice);
                Vec::new()
            }
            TopEvent::Page { link, is_opened } => {
                let way =
                    if is_opened { "The browser opens this link" } else { "Open this link in a browser" };
                let words = format!("{way}. It works once. The page ends when you leave this screen.");
                let lines = vec![link, String::new(), words];
                self.dialog = Some(TopDialog::Commands { title: "The page", lines });
                Vec::new()
            }
            TopEvent::Stop | TopEvent::Bug => vec![TopRequest::Quit],
        };
        self.scroll_into_view();
        commands
    }

    /// Returns the selected run of the list, or the opened one.
    pub(super) fn row(&self) -> Option<&RunRow> {
        match &self.opened {
            Some(opened) => self.rows.iter().find(|row| row.run == opened.run),
            None => self.rows.get(self.selected_index()),
        }
    }

    pub(super) fn selected_index(&self) -> usize {
        let selected = self.selected.as_ref();
        selected.and_then(|run| self.rows.iter().position(|row| row.run == *run)).unwrap_or(0)
    }

    fn take_rows(&mut self, rows: Vec<RunRow>) {
        let index = self.selected_index();
        self.rows = rows;
        self.is_loaded = true;
        let is_gone = |run: &ProjectRun| !self.rows.iter().any(|row| row.run == *run);
        // If the selected run was deleted, its neighbour is selected.
        if self.selected.as_ref().is_some_and(is_gone) {
            self.select(index);
        }
    }

    fn take_detail(&mut self, detail: RunDetail) {
        let width = text_width(self.size);
        let Some(opened) = self.opened.as_mut().filter(|opened| opened.run == detail.run) else { return };
        opened.nodes = detail.nodes;
        let is_wanted = opened.follow || opened.selected.is_none() || opened.selected == detail.shown;
        if is_wanted {
            let is_new = opened.selected != detail.shown;
            opened.selected = detail.shown;
            opened.texts = detail.texts;
            opened.wrap(width);
            if is_new {
                opened.text_top = 0;
            }
        }
        self.follow();
    }

    /// Scrolls to the end of the text, if it is followed.
    pub(super) fn follow(&mut self) {
        let height = self.size.body_height();
        if let Some(opened) = self.opened.as_mut().filter(|opened| opened.follow) {
            opened.text_top = opened.lines.len().saturating_sub(height);
        }
    }

    fn rewrap(&mut self) {
        let width = text_width(self.size);
        if let Some(opened) = &mut self.opened {
            opened.wrap(width);
        }
        self.follow();
    }

    /// Keeps the selection on the screen and the scroll positions in range.
    fn scroll_into_view(&mut self) {
        let index = self.selected_index();
        self.list_top = visible_from(self.list_top, index, self.size.list_height(), self.rows.len());
        let height = self.size.body_height();
        if let Some(opened) = &mut self.opened {
            let selected = opened.selected_index();
            opened.tree_top = visible_from(opened.tree_top, selected, height, opened.nodes.len());
            opened.text_top = opened.text_top.min(opened.lines.len().saturating_sub(height));
        }
    }
}

impl OpenedRun {
    pub(super) fn new(run: ProjectRun) -> Self {
        Self {
            run,
            nodes: Vec::new(),
            selected: None,
            tree_top: 0,
            focus: PaneFocus::Tree,
            tab: PaneTab::Transcript,
            follow: false,
            texts: PaneTexts::default(),
            lines: Vec::new(),
            text_top: 0,
            search: None,
        }
    }

    pub(super) fn selected_index(&self) -> usize {
        let selected = self.selected.as_ref();
        selected.and_then(|key| self.nodes.iter().position(|node| node.key == *key)).unwrap_or(0)
    }

    fn wrap(&mut self, width: usize) {
        self.lines = wrap_text(self.tab.text(&self.texts), width);
        self.find_matches();
    }

    pub(super) fn show_tab(&mut self, tab: PaneTab, width: usize) {
        self.tab = tab;
        self.text_top = 0;
        self.wrap(width);
    }

    pub(super) fn scroll_up(&mut self, lines: usize) {
        self.follow = false;
        self.text_top = self.text_top.saturating_sub(lines);
    }

    /// Selects the next or the previous node, which ends following.
    pub(super) fn step(&mut self, is_down: bool) -> Vec<TopRequest> {
        let here = self.selected_index();
        let there = if is_down { here + 1 } else { here.saturating_sub(1) };
        let Some(node) = self.nodes.get(there).filter(|_| there != here) else { return Vec::new() };
        self.selected = Some(node.key.clone());
        self.follow = false;
        self.text_top = 0;
        vec![TopRequest::Watch(Some(WatchedNode { run: self.run.clone(), node: self.selected.clone() }))]
    }

    fn find_matches(&mut self) {
        let Some(search) = &mut self.search else { return };
        let wanted = search.input.text().to_lowercase();
        let lines = self.lines.iter().enumerate();
        let matches = lines.filter(|(_, line)| !wanted.is_empty() && line.to_lowercase().contains(&wanted));
        search.matches = matches.map(|(number, _)| number).collect();
        search.current = search.current.min(search.matches.len().saturating_sub(1));
    }

    /// Goes to the first match on the screen or below it, else to the first one.
    pub(super) fn find_first(&mut self) {
        self.find_matches();
        let top = self.text_top;
        let Some(search) = &mut self.search else { return };
        search.current = search.matches.iter().position(|line| *line >= top).unwrap_or(0);
        self.show_match();
    }

    pub(super) fn find_next(&mut self, is_forward: bool) {
        let Some(search) = self.search.as_mut().filter(|search| !search.matches.is_empty()) else { return };
        let count = search.matches.len();
        search.current = (search.current + if is_forward { 1 } else { count - 1 }) % count;
        self.show_match();
    }

    fn show_match(&mut self) {
        let found = self.search.as_ref().and_then(|search| search.matches.get(search.current));
        if let Some(line) = found {
            // A line of context above.
            self.text_top = line.saturating_sub(1);
            self.follow = false;
        }
    }
}

/// Returns the first line to show, so that `index` is visible and no room is wasted.
fn visible_from(top: usize, index: usize, height: usize, count: usize) -> usize {
    let height = height.max(1);
    let lowest = (index + 1).saturating_sub(height);
    top.clamp(lowest, index.max(lowest)).min(count.saturating_sub(height).max(lowest))
}
