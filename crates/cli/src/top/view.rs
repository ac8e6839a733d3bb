//! Drawing of the screen from its state. Pure: the same state gives the same cells.

use anstyle::{AnsiColor, Effects};
use ratatui::buffer::Buffer;
use ratatui::layout::Rect;
use ratatui::style::{Color, Modifier, Style};

use super::list_columns::{GAP, ListColumn, ListColumns};
use super::model::{
    NodeKey, OpenedRun, PaneFocus, PaneTab, RowKind, RowRank, RunRow, TextSearch, TopModel, TreeNode,
};
use super::text_input::TextInput;
use crate::quantities::count;
use crate::terminal::{cut, style, visible_line, width};
use crate::watching::CallMark;

/// Draws the whole screen. Without colours, meaning never depends on a colour alone.
pub(super) struct TopView<'a> {
    pub(super) model: &'a TopModel,
    pub(super) has_colors: bool,
}

const LIST_KEYS: [(&str, &str); 9] = [
    ("Enter", "open"),
    ("?", "help"),
    ("a", "answer"),
    ("t", "tell"),
    ("c", "cancel"),
    ("r", "resume"),
    ("f", "fork"),
    ("y", "copy"),
    ("q", "quit"),
];

const RUN_KEYS: [(&str, &str); 9] = [
    ("Esc", "back"),
    ("?", "help"),
    ("Tab", "pane"),
    ("←→", "tab"),
    ("/", "search"),
    ("F", "follow"),
    ("a", "answer"),
    ("t", "tell"),
    ("q", "quit"),
];

impl TopView<'_> {
    pub(super) fn render(&self, area: Rect, buffer: &mut Buffer) {
        if area.width == 0 || area.height == 0 {
            return;
        }
        match &self.model.opened {
            Some(opened) => self.draw_run(opened, area, buffer),
            None => self.draw_list(area, buffer),
        }
        if let Some(dialog) = &self.model.dialog {
            self.draw_dialog(dialog, area, buffer);
        }
    }

    pub(super) fn style(&self, style: anstyle::Style) -> Style {
        let effects = style.get_effects();
        let modifiers = [
            (Effects::BOLD, Modifier::BOLD),
            (Effects::DIMMED, Modifier::DIM),
            (Effects::UNDERLINE, Modifier::UNDERLINED),
        ];
        let added = modifiers.into_iter().filter(|(effect, _)| effects.contains(*effect));
        let plain = added.fold(Style::new(), |style, (_, modifier)| style.add_modifier(modifier));
        match style.get_fg_color().filter(|_| self.has_colors) {
            Some(anstyle::Color::Ansi(color)) => plain.fg(terminal_color(color)),
            Some(_) | None => plain,
        }
    }

    fn draw_list(&self, area: Rect, buffer: &mut Buffer) {
        let model = self.model;
        let mut area_left = Lines::new(area);
        let (title, counts) = ("saihai top", self.counts());
        if width(title) + 2 + width(&counts) <= usize::from(area.width) {
            self.draw_title(title, &counts, area_left.next(), buffer);
        } else {
            self.draw_title(&counts, "", area_left.next(), buffer);
        }
        let columns = ListColumns::fitting(&model.rows, usize::from(area.width));
        let heads = if model.rows.is_empty() { String::new() } else { format!("  {}", columns.heads()) };
        put(buffer, area_left.next(), &heads, self.style(style::STRONG));
        let selected = model.selected_index();
        let height = model.size.list_height();
        for index in model.list_top..model.list_top + height {
            let line = area_left.next();
            match model.rows.get(index) {
                Some(row) => self.draw_row(row, index == selected, &columns, line, buffer),
                None if index == 0 => self.draw_empty(line, buffer),
                None => {}
            }
        }
        self.draw_selection(&mut area_left, buffer);
        self.draw_footer(&LIST_KEYS, area, buffer);
    }

    fn counts(&self) -> String {
        if !self.model.is_loaded {
            return String::new();
        }
        let rows = &self.model.rows;
        let with = |rank: RowRank| rows.iter().filter(|row| row.rank == rank).count();
        let mut words = vec![count(rows.len() as u64, "run")];
        match with(RowRank::WaitsForPerson) {
            0 => {}
            1 => words.push("1 waits for you".to_owned()),
            more => words.push(format!("{more} wait for you")),
        }
        match with(RowRank::Running) {
            0 => {}
            running => words.push(format!("{running} running")),
        }
        words.join(", ")
    }

    fn draw_empty(&self, line: Option<Rect>, buffer: &mut Buffer) {
        let text = if self.model.is_loaded {
            "no runs yet: `saihai run` starts one, `saihai demo` shows one"
        } else {
            "reading the runs…"
        };
        put(buffer, line, text, Style::new());
    }

    fn draw_row(
        &self,
        row: &RunRow,
        is_selected: bool,
        columns: &ListColumns,
        line: Option<Rect>,
        buffer: &mut Buffer,
    ) {
        let Some(line) = line else { return };
        put(buffer, Some(line), if is_selected { "> " } else { "  " }, Style::new());
        if row.kind == RowKind::Broken {
            put(
                buffer,
                shifted(line, 2),
                &joined(&[&row.state, &row.project, &row.id]),
                self.style(row.style),
            );
        }
        let mut x = 2;
        for (column, width) in columns.shown.iter().filter(|_| row.kind != RowKind::Broken) {
            let style = if *column == ListColumn::State { self.style(row.style) } else { Style::new() };
            put(buffer, shifted(line, x), &cut(column.cell(row), *width), style);
            x += u16::try_from(*width + GAP).unwrap_or(u16::MAX);
        }
        if is_selected {
            buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
        }
    }

    /// Draws the id, the task and the state of the selected run.
    fn draw_selection(&self, lines: &mut Lines, buffer: &mut Buffer) {
        let Some(row) = self.model.row() else { return };
        match self.model.size.selection_height() {
            0 => {}
            1 => put(buffer, lines.next(), &row.words, self.style(row.style)),
            _ => {
                let rule = lines.next();
                let dashes = "─".repeat(rule.map_or(0, |rule| usize::from(rule.width)));
                put(buffer, rule, &dashes, self.style(style::QUIET));
                put(buffer, lines.next(), &joined(&[&row.id, &row.root, &row.task]), Style::new());
                put(buffer, lines.next(), &row.words, self.style(row.style));
            }
        }
    }

    fn draw_title(&self, left: &str, right: &str, line: Option<Rect>, buffer: &mut Buffer) {
        let Some(line) = line else { return };
        let columns = usize::from(line.width);
        put(buffer, Some(line), left, self.style(style::STRONG));
        let start = columns.saturating_sub(width(right));
        if start > width(left) + 1 {
            put(buffer, shifted(line, u16::try_from(start).unwrap_or(0)), right, Style::new());
        }
    }

    /// Draws the last line: the notice, the search or the keys.
    fn draw_footer(&self, keys: &[(&str, &str)], area: Rect, buffer: &mut Buffer) {
        let line = Rect { y: area.bottom() - 1, height: 1, ..area };
        if let Some(notice) = &self.model.notice {
            let style = self.style(if notice.is_error { style::ERROR } else { style::NOTE });
            put(buffer, Some(line), &cut(&notice.text, usize::from(line.width)), style);
            return;
        }
        let search = self.model.opened.as_ref().and_then(|opened| opened.search.as_ref());
        if let Some(search) = search {
            self.draw_search(search, line, buffer);
            return;
        }
        let mut x = 0;
        for (key, does) in keys {
            let needed = u16::try_from(width(key) + 1 + width(does)).unwrap_or(u16::MAX);
            if x + needed > line.width {
                break;
            }
            put(buffer, shifted(line, x), key, self.style(style::STRONG));
            let behind = x + u16::try_from(width(key)).unwrap_or(0) + 1;
            put(buffer, shifted(line, behind), does, self.style(style::QUIET));
            x += needed + 2;
        }
    }

    fn draw_search(&self, search: &TextSearch, line: Rect, buffer: &mut Buffer) {
        put(buffer, Some(line), "/", self.style(style::STRONG));
        let Some(rest) = shifted(line, 1) else { return };
        if search.is_typing {
            self.draw_input(&search.input, rest, buffer);
            return;
        }
        let place = if search.matches.is_empty() {
            "no match".to_owned()
        } else {
            format!("match {} of {}: n next, N previous, Esc done", search.current + 1, search.matches.len())
        };
        let typed = visible_line(search.input.text());
        put(buffer, Some(rest), &joined(&[&typed, &place]), Style::new());
    }

    /// Draws the end of a long input, so that the cursor stays visible.
    pub(super) fn draw_input(&self, input: &TextInput, line: Rect, buffer: &mut Buffer) {
        let (before, after) = input.parts();
        let (before, after) = (visible_line(before), visible_line(after));
        let room = usize::from(line.width).saturating_sub(1);
        let start = before.char_indices().map(|(at, _)| at).find(|at| width(&before[*at..]) <= room);
        let before = &before[start.unwrap_or(before.len())..];
        put(buffer, Some(line), before, Style::new());
        let at = u16::try_from(width(before)).unwrap_or(0);
        let under = after.chars().next().unwrap_or(' ').to_string();
        let cursor = Style::new().add_modifier(Modifier::REVERSED);
        put(buffer, shifted(line, at), &format!("{after} "), Style::new());
        if let Some(place) = shifted(line, at) {
            let columns = u16::try_from(width(&under).max(1)).unwrap_or(1);
            buffer.set_style(Rect { width: columns.min(place.width), ..place }, cursor);
        }
    }
}

/// The screen of one run.
impl TopView<'_> {
    fn draw_run(&self, opened: &OpenedRun, area: Rect, buffer: &mut Buffer) {
        let mut lines = Lines::new(area);
        let row = self.model.row();
        let figures = row.map(figures).unwrap_or_default();
        let id = visible_line(&opened.run.id);
        self.draw_title(&cut(&id, usize::from(area.width)), &figures, lines.next(), buffer);
        let (words, words_style) =
            row.map_or(("", Style::new()), |row| (row.words.as_str(), self.style(row.style)));
        put(buffer, lines.next(), words, words_style);
        let body = Rect { y: area.y + 2, height: area.height.saturating_sub(3), ..area };
        let size = self.model.size;
        if size.has_one_pane() {
            match opened.focus {
                PaneFocus::Tree => self.draw_tree(opened, body, buffer),
                PaneFocus::Text => self.draw_text(opened, body, buffer),
            }
        } else {
            let tree = size.tree_width().min(body.width);
            self.draw_tree(opened, Rect { width: tree, ..body }, buffer);
            for y in body.top()..body.bottom() {
                put(
                    buffer,
                    row_at(body, y).and_then(|line| shifted(line, tree)),
                    "│",
                    self.style(style::QUIET),
                );
            }
            if let Some(text) = shifted(body, tree + 2) {
                self.draw_text(opened, text, buffer);
            }
        }
        self.draw_footer(&RUN_KEYS, area, buffer);
    }

    fn draw_tree(&self, opened: &OpenedRun, area: Rect, buffer: &mut Buffer) {
        let mut lines = Lines::new(area);
        let title = if opened.follow { "Turns (following)" } else { "Turns" };
        put(buffer, lines.next(), title, self.title_style(opened.focus == PaneFocus::Tree));
        let selected = opened.selected_index();
        for (index, node) in opened.nodes.iter().enumerate().skip(opened.tree_top) {
            let Some(line) = lines.next() else { break };
            self.draw_node(node, line, buffer);
            if index == selected {
                put(buffer, Some(line), ">", Style::new());
                buffer.set_style(line, Style::new().add_modifier(Modifier::REVERSED));
            }
        }
        if opened.nodes.is_empty() {
            put(buffer, lines.next(), "no stage entered yet", self.style(style::QUIET));
        }
    }

    fn draw_node(&self, node: &TreeNode, line: Rect, buffer: &mut Buffer) {
        let (mark, mark_style) = match node.mark {
            CallMark::Done => ("✓", style::GOOD),
            CallMark::Failed => ("✗", style::ERROR),
            CallMark::Running => ("●", style::RUNNING),
            CallMark::WaitsForPerson => ("?", style::WAITING),
            CallMark::Queued => ("·", style::QUIET),
        };
        let is_visit = matches!(node.key, NodeKey::Visit(_));
        let start = if is_visit { 1 } else { 3 };
        put(buffer, shifted(line, start), mark, self.style(mark_style));
        let label_style = if is_visit { self.style(style::STRONG) } else { Style::new() };
        let room = usize::from(line.width).saturating_sub(usize::from(start) + 2);
        let note_room = width(&node.note) + 1;
        let fits = width(&node.label) + note_room <= room;
        let label = cut(&node.label, room);
        put(buffer, shifted(line, start + 2), &label, label_style);
        if fits && !node.note.is_empty() {
            let at = usize::from(line.width).saturating_sub(note_room);
            let place = shifted(line, u16::try_from(at).unwrap_or(0));
            put(buffer, place, &node.note, self.style(style::QUIET));
        }
    }

    fn draw_text(&self, opened: &OpenedRun, area: Rect, buffer: &mut Buffer) {
        let mut lines = Lines::new(area);
        if let Some(tabs) = lines.next() {
            let mut x = 0;
            for tab in PaneTab::ALL {
                let is_shown = tab == opened.tab;
                let title =
                    if is_shown { format!("[{}]", tab.title()) } else { format!(" {} ", tab.title()) };
                let style = if is_shown {
                    self.title_style(opened.focus == PaneFocus::Text)
                } else {
                    self.style(style::QUIET)
                };
                put(buffer, shifted(tabs, x), &title, style);
                x += u16::try_from(title.len()).unwrap_or(0);
            }
            self.draw_position(opened, area, tabs, x, buffer);
        }
        let found = opened.search.as_ref().filter(|search| !search.is_typing);
        for (number, text) in opened.lines.iter().enumerate().skip(opened.text_top) {
            let Some(line) = lines.next() else { break };
            put(buffer, Some(line), text, Style::new());
            if let Some(search) = found {
                self.mark_matches(search, number, text, line, buffer);
            }
        }
    }

    /// Draws the position in the text at the right of the tabs, if there is room.
    fn draw_position(&self, opened: &OpenedRun, area: Rect, tabs: Rect, used: u16, buffer: &mut Buffer) {
        let (height, all) = (usize::from(area.height.saturating_sub(1)), opened.lines.len());
        if all <= height {
            return;
        }
        let last = (opened.text_top + height).min(all);
        let place = format!("{last}/{all}");
        let start = tabs.width.saturating_sub(u16::try_from(place.len()).unwrap_or(u16::MAX));
        if start > used {
            put(buffer, shifted(tabs, start), &place, self.style(style::QUIET));
        }
    }

    fn mark_matches(&self, search: &TextSearch, number: usize, text: &str, line: Rect, buffer: &mut Buffer) {
        if !search.matches.contains(&number) {
            return;
        }
        let wanted = search.input.text().to_lowercase();
        let lower = text.to_lowercase();
        let is_current = search.matches.get(search.current) == Some(&number);
        let mark = if is_current { Modifier::REVERSED } else { Modifier::UNDERLINED };
        for (at, found) in lower.match_indices(&wanted) {
            // Lower case can change the length of a text, so the columns are counted in that form.
            let start = u16::try_from(width(&lower[..at])).unwrap_or(u16::MAX);
            let columns = u16::try_from(width(found)).unwrap_or(u16::MAX);
            if let Some(place) = shifted(line, start) {
                let place = Rect { width: columns.min(place.width), ..place };
                buffer.set_style(place, Style::new().add_modifier(mark | Modifier::BOLD));
            }
        }
    }

    fn title_style(&self, has_focus: bool) -> Style {
        let style = self.style(style::STRONG);
        if has_focus { style.add_modifier(Modifier::UNDERLINED) } else { style }
    }
}

/// The lines of an area, from top to bottom.
pub(super) struct Lines {
    area: Rect,
    y: u16,
}

impl Lines {
    pub(super) fn new(area: Rect) -> Self {
        Self { area, y: area.y }
    }

    pub(super) fn next(&mut self) -> Option<Rect> {
        let line = row_at(self.area, self.y);
        self.y += 1;
        line
    }
}

pub(super) fn row_at(area: Rect, y: u16) -> Option<Rect> {
    (y < area.bottom()).then_some(Rect { y, height: 1, ..area })
}

/// Returns the part of an area that starts so many columns further right.
pub(super) fn shifted(area: Rect, by: u16) -> Option<Rect> {
    (by < area.width).then(|| Rect { x: area.x + by, width: area.width - by, ..area })
}

/// Writes one line of a text, cut at the end of its place.
pub(super) fn put(buffer: &mut Buffer, place: Option<Rect>, text: &str, style: Style) {
    if let Some(place) = place.filter(|place| place.height > 0) {
        buffer.set_stringn(place.x, place.y, text, usize::from(place.width), style);
    }
}

fn joined(parts: &[&str]) -> String {
    let parts: Vec<&str> = parts.iter().copied().filter(|part| !part.is_empty()).collect();
    parts.join("  ")
}

fn figures(row: &RunRow) -> String {
    let turns = match row.turns.as_str() {
        "" => String::new(),
        "1" => "1 turn".to_owned(),
        turns => format!("{turns} turns"),
    };
    let left = if row.budget_left.is_empty() { String::new() } else { format!("{} left", row.budget_left) };
    joined(&[&row.definition, &row.elapsed, &turns, row.cost.trim_matches('-'), &left])
}

fn terminal_color(color: AnsiColor) -> Color {
    match color {
        AnsiColor::Black => Color::Black,
        AnsiColor::Red => Color::Red,
        AnsiColor::Green => Color::Green,
        AnsiColor::Yellow => Color::Yellow,
        AnsiColor::Blue => Color::Blue,
        AnsiColor::Magenta => Color::Magenta,
        AnsiColor::Cyan => Color::Cyan,
        AnsiColor::White => Color::Gray,
        AnsiColor::BrightBlack => Color::DarkGray,
        AnsiColor::BrightRed => Color::LightRed,
        AnsiColor::BrightGreen => Color::LightGreen,
        AnsiColor::BrightYellow => Color::LightYellow,
        AnsiColor::BrightBlue => Color::LightBlue,
        AnsiColor::BrightMagenta => Color::LightMagenta,
        AnsiColor::BrightCyan => Color::LightCyan,
        AnsiColor::BrightWhite => Color::White,
    }
}
