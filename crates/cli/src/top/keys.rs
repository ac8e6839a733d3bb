//! Keys: the changes of the state and the requests that they cause.

use crossterm::event::{KeyCode, KeyEvent, KeyModifiers};
use saihai_model::typed_command;

use super::boxes::{help_height, help_lines};
use super::layout::text_width;
use super::model::{
    ConfirmedAction, OpenedRun, PaneFocus, PaneTab, RowKind, RowRank, TextSearch, TopDialog, TopModel,
    TopNotice, TopRequest, WatchedNode,
};
use super::text_input::TextInput;
use crate::driving::parse_answer;
use crate::terminal::visible_line;

impl TopModel {
    pub(super) fn paste(&mut self, text: &str) {
        if let Some(input) = self.input() {
            input.insert_text(text);
        }
    }

    /// Returns the input line, if there is one.
    fn input(&mut self) -> Option<&mut TextInput> {
        match &mut self.dialog {
            Some(
                TopDialog::Answer { input, .. }
                | TopDialog::Tell { input, .. }
                | TopDialog::Resume { input, .. },
            ) => Some(input),
            Some(_) => None,
            None => {
                let search = self.opened.as_mut()?.search.as_mut()?;
                search.is_typing.then_some(&mut search.input)
            }
        }
    }

    pub(super) fn press(&mut self, key: KeyEvent) -> Vec<TopRequest> {
        self.notice = None;
        // From the first key on, the selection stays on its run, even if that moves in the list.
        if self.selected.is_none() {
            self.select(0);
        }
        let is_control = key.modifiers.contains(KeyModifiers::CONTROL);
        match key.code {
            KeyCode::Char('c') if is_control => return self.leave(),
            KeyCode::Char('z') if is_control => return vec![TopRequest::Suspend],
            KeyCode::Char('l') if is_control => return vec![TopRequest::Redraw],
            _ => {}
        }
        if let Some(dialog) = self.dialog.take() {
            return self.press_in_dialog(dialog, key);
        }
        if self.opened.as_ref().and_then(|opened| opened.search.as_ref()).is_some_and(|find| find.is_typing) {
            self.press_in_search(key);
            return Vec::new();
        }
        // A modified letter does nothing here, so that a mistyped shortcut of another program does nothing.
        if key.modifiers.intersects(KeyModifiers::CONTROL | KeyModifiers::ALT) {
            return Vec::new();
        }
        match key.code {
            KeyCode::Char('q') => self.leave(),
            KeyCode::Char('?') => {
                self.dialog = Some(TopDialog::Help { top: 0 });
                Vec::new()
            }
            KeyCode::Char('a' | 't' | 'c' | 'r' | 'b' | 'f' | 'w' | 'e' | 'y') => self.press_action(key.code),
            code if self.opened.is_some() => self.press_in_run(code),
            code => self.press_in_list(code),
        }
    }

    /// Leaves, or asks first if the run of this screen still works.
    fn leave(&mut self) -> Vec<TopRequest> {
        // Before its first row is read, the run has just been started.
        let works = self.driven.as_ref().is_some_and(|driven| {
            let row = self.rows.iter().find(|row| row.run == *driven);
            row.is_none_or(|row| row.rank == RowRank::Running)
        });
        if works && !matches!(self.dialog, Some(TopDialog::Leave)) {
            self.dialog = Some(TopDialog::Leave);
            return Vec::new();
        }
        vec![TopRequest::Quit]
    }

    fn press_in_list(&mut self, code: KeyCode) -> Vec<TopRequest> {
        let page = self.size.list_height().max(1);
        let index = self.selected_index();
        match code {
            KeyCode::Up | KeyCode::Char('k') => self.select(index.saturating_sub(1)),
            KeyCode::Down | KeyCode::Char('j') => self.select(index + 1),
            KeyCode::PageUp => self.select(index.saturating_sub(page)),
            KeyCode::PageDown => self.select(index + page),
            KeyCode::Home | KeyCode::Char('g') => self.select(0),
            KeyCode::End | KeyCode::Char('G') => self.select(usize::MAX),
            KeyCode::Enter | KeyCode::Right => return self.open(),
            _ => {}
        }
        Vec::new()
    }

    pub(super) fn select(&mut self, index: usize) {
        let index = index.min(self.rows.len().saturating_sub(1));
        self.selected = self.rows.get(index).map(|row| row.run.clone());
    }

    fn open(&mut self) -> Vec<TopRequest> {
        let Some(row) = self.row() else { return Vec::new() };
        if row.kind == RowKind::Broken {
            self.notice = Some(TopNotice { text: row.words.clone(), is_error: true });
            return Vec::new();
        }
        let run = row.run.clone();
        self.selected = Some(run.clone());
        self.opened = Some(OpenedRun::new(run.clone()));
        vec![TopRequest::Watch(Some(WatchedNode { run, node: None }))]
    }

    fn press_in_run(&mut self, code: KeyCode) -> Vec<TopRequest> {
        let page = self.size.body_height().max(1);
        let (is_single, width) = (self.size.has_one_pane(), text_width(self.size));
        let Some(opened) = &mut self.opened else { return Vec::new() };
        let is_in_tree = opened.focus == PaneFocus::Tree;
        match code {
            KeyCode::Esc if opened.search.is_some() => opened.search = None,
            KeyCode::Esc | KeyCode::Backspace if is_single && !is_in_tree => opened.focus = PaneFocus::Tree,
            KeyCode::Esc | KeyCode::Backspace => {
                self.opened = None;
                return vec![TopRequest::Watch(None)];
            }
            KeyCode::Tab | KeyCode::BackTab => {
                opened.focus = if is_in_tree { PaneFocus::Text } else { PaneFocus::Tree };
            }
            KeyCode::Enter => opened.focus = PaneFocus::Text,
            KeyCode::Right | KeyCode::Char('l') => opened.show_tab(opened.tab.moved(1), width),
            KeyCode::Left | KeyCode::Char('h') => {
                opened.show_tab(opened.tab.moved(PaneTab::ALL.len() - 1), width)
            }
            KeyCode::Char(number @ '1'..='5') => {
                let index = usize::from(number as u8 - b'1');
                opened.show_tab(PaneTab::ALL[index], width);
            }
            KeyCode::Up | KeyCode::Char('k') if is_in_tree => return opened.step(false),
            KeyCode::Down | KeyCode::Char('j') if is_in_tree => return opened.step(true),
            KeyCode::Up | KeyCode::Char('k') => opened.scroll_up(1),
            KeyCode::Down | KeyCode::Char('j') => opened.text_top += 1,
            KeyCode::PageUp => opened.scroll_up(page),
            KeyCode::PageDown | KeyCode::Char(' ') => opened.text_top += page,
            KeyCode::Home | KeyCode::Char('g') => opened.scroll_up(usize::MAX),
            KeyCode::End | KeyCode::Char('G') => opened.text_top = usize::MAX,
            KeyCode::Char('F') => return self.toggle_follow(),
            KeyCode::Char('/') => {
                opened.focus = PaneFocus::Text;
                opened.search = Some(TextSearch { is_typing: true, ..TextSearch::default() });
            }
            KeyCode::Char('n') => opened.find_next(true),
            KeyCode::Char('N') => opened.find_next(false),
            _ => {}
        }
        Vec::new()
    }

    fn toggle_follow(&mut self) -> Vec<TopRequest> {
        let Some(opened) = &mut self.opened else { return Vec::new() };
        opened.follow = !opened.follow;
        let node = if opened.follow { None } else { opened.selected.clone() };
        let watched = WatchedNode { run: opened.run.clone(), node };
        self.follow();
        vec![TopRequest::Watch(Some(watched))]
    }

    fn press_in_search(&mut self, key: KeyEvent) {
        let Some(opened) = &mut self.opened else { return };
        let Some(search) = &mut opened.search else { return };
        match key.code {
            KeyCode::Esc => opened.search = None,
            KeyCode::Enter if search.input.is_empty() => opened.search = None,
            KeyCode::Enter => {
                search.is_typing = false;
                opened.find_first();
                if opened.search.as_ref().is_some_and(|search| search.matches.is_empty()) {
                    self.notice = Some(TopNotice { text: "no match".to_owned(), is_error: false });
                }
            }
            _ => search.input.press(key),
        }
    }

    /// Starts an action on the selected or opened run.
    fn press_action(&mut self, code: KeyCode) -> Vec<TopRequest> {
        let Some(row) = self.row() else { return Vec::new() };
        let (run, kind, rank, resume) = (row.run.clone(), row.kind, row.rank, row.resume.clone());
        let root = row.root.clone();
        let refusal = match (code, kind) {
            (KeyCode::Char('y' | 'w'), _) => None,
            (_, RowKind::Broken) => Some("this run cannot be read"),
            (KeyCode::Char('f' | 'e'), _) => None,
            (_, RowKind::Ended) => Some("this run has ended; f forks it"),
            (KeyCode::Char('a'), _) if rank != RowRank::WaitsForPerson => {
                Some("this run does not wait for an answer")
            }
            (KeyCode::Char('r' | 'b'), _) if resume.is_none() => Some("a process drives this run already"),
            _ => None,
        };
        if let Some(refusal) = refusal {
            self.notice = Some(TopNotice { text: refusal.to_owned(), is_error: true });
            return Vec::new();
        }
        match code {
            KeyCode::Char('a') => return vec![TopRequest::Ask { run }],
            KeyCode::Char('t') => self.dialog = Some(TopDialog::Tell { run, input: TextInput::default() }),
            KeyCode::Char('c') => {
                self.dialog = Some(TopDialog::Confirm { run, action: ConfirmedAction::Cancel });
            }
            KeyCode::Char('f') => {
                self.dialog = Some(TopDialog::Confirm { run, action: ConfirmedAction::Fork });
            }
            KeyCode::Char('e') => return vec![TopRequest::Export { run }],
            KeyCode::Char('w') => return vec![TopRequest::OpenPage { run }],
            KeyCode::Char('b') => {
                let flags = resume.unwrap_or_default();
                let flags = if flags.is_empty() { "--budget usd=".to_owned() } else { flags };
                self.dialog = Some(TopDialog::Resume { run, input: TextInput::filled(flags) });
            }
            KeyCode::Char('r') => {
                let input = TextInput::filled(resume.unwrap_or_default());
                self.dialog = Some(TopDialog::Resume { run, input });
            }
            _ => {
                let elsewhere = (!root.is_empty()).then(|| typed_command(&["cd".to_owned(), root]));
                let run = visible_line(&run.id).into_owned();
                let mut lines: Vec<String> = elsewhere.into_iter().collect();
                lines.extend([run.clone(), format!("saihai show {run}"), format!("saihai log {run} -f")]);
                lines.push(match (rank, resume) {
                    (RowRank::WaitsForPerson, _) => format!("saihai answer {run}"),
                    (_, Some(flags)) => format!("saihai resume {run} {flags}").trim_end().to_owned(),
                    (_, None) => format!("saihai explain {run}"),
                });
                self.dialog = Some(TopDialog::Commands { title: "Id and commands to copy", lines });
            }
        }
        Vec::new()
    }

    fn press_in_dialog(&mut self, dialog: TopDialog, key: KeyEvent) -> Vec<TopRequest> {
        match dialog {
            TopDialog::Help { top } => {
                // Arrows scroll on a small terminal; any other key closes the help.
                let last = help_lines(self.size).len().saturating_sub(help_height(self.size));
                let top = match key.code {
                    KeyCode::Down | KeyCode::Char('j') => Some((top + 1).min(last)),
                    KeyCode::Up | KeyCode::Char('k') => Some(top.saturating_sub(1)),
                    _ => None,
                };
                self.dialog = top.map(|top| TopDialog::Help { top });
                Vec::new()
            }
            TopDialog::Commands { .. } => Vec::new(),
            TopDialog::Leave => match key.code {
                KeyCode::Char('p') => vec![TopRequest::Park],
                KeyCode::Char('s' | 'q') => vec![TopRequest::Quit],
                _ => Vec::new(),
            },
            TopDialog::Confirm { run, action } => match (key.code, action) {
                (KeyCode::Char('y' | 'Y'), ConfirmedAction::Cancel) => vec![TopRequest::Cancel { run }],
                (KeyCode::Char('y' | 'Y'), ConfirmedAction::Fork) => vec![TopRequest::Fork { run }],
                _ => Vec::new(),
            },
            TopDialog::Resume { run, mut input } => match key.code {
                KeyCode::Esc => Vec::new(),
                KeyCode::Enter => {
                    let flags = input.text().split_whitespace().map(str::to_owned).collect();
                    vec![TopRequest::Resume { run, flags }]
                }
                _ => {
                    input.press(key);
                    self.dialog = Some(TopDialog::Resume { run, input });
                    Vec::new()
                }
            },
            TopDialog::Tell { run, mut input } => match key.code {
                KeyCode::Esc => Vec::new(),
                KeyCode::Enter if !input.text().trim().is_empty() => {
                    vec![TopRequest::Tell { run, text: input.text().to_owned() }]
                }
                _ => {
                    input.press(key);
                    self.dialog = Some(TopDialog::Tell { run, input });
                    Vec::new()
                }
            },
            TopDialog::Answer { run, gate, mut input, .. } => match key.code {
                KeyCode::Esc => Vec::new(),
                KeyCode::Enter => match parse_answer(gate.wants, input.text()) {
                    Ok(answer) => vec![TopRequest::Answer { run, call: gate.call, answer }],
                    Err(problem) => {
                        self.dialog = Some(TopDialog::Answer { run, gate, input, problem: Some(problem) });
                        Vec::new()
                    }
                },
                _ => {
                    input.press(key);
                    self.dialog = Some(TopDialog::Answer { run, gate, input, problem: None });
                    Vec::new()
                }
            },
        }
    }
}
