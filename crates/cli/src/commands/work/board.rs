//! The live table of the issues in progress.

use std::collections::BTreeMap;

use saihai_delivery::IssueActivity;
use saihai_model::{Cost, IssueNumber, Moment};

use crate::quantities;
use crate::report::FrameLine;
use crate::terminal::{Table, visible_line};

struct BoardRow {
    title: String,
    state: String,
    since: Option<Moment>,
    cost: Cost,
}

/// All issues, in the order of the plan.
#[derive(Default)]
pub(super) struct IssueBoard {
    order: Vec<IssueNumber>,
    rows: BTreeMap<IssueNumber, BoardRow>,
}

impl IssueBoard {
    pub(super) fn add(&mut self, number: IssueNumber, title: &str) {
        if !self.rows.contains_key(&number) {
            self.order.push(number);
        }
        let (title, state) = (visible_line(title).into_owned(), "queued".to_owned());
        let row = BoardRow { title, state, since: None, cost: Cost::default() };
        self.rows.entry(number).or_insert(row);
    }

    /// Marks an issue as started or resumed.
    pub(super) fn begin(&mut self, number: IssueNumber) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.state = "begins".to_owned();
            row.since.get_or_insert(quantities::now());
        }
    }

    pub(super) fn state(&mut self, number: IssueNumber, state: &str) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.state = visible_line(state).into_owned();
        }
    }

    /// Updates the row with an event of the run.
    pub(super) fn record(&mut self, number: IssueNumber, activity: &IssueActivity) {
        let Some(row) = self.rows.get_mut(&number) else { return };
        match activity {
            IssueActivity::Stage(stage) => row.state = visible_line(stage.as_str()).into_owned(),
            IssueActivity::Turn(cost) => row.cost = row.cost.plus(*cost),
            IssueActivity::Waiting(Some(until)) => {
                row.state = format!("waiting until {}", quantities::local_until(*until, quantities::now()));
            }
            IssueActivity::MergeQueued(true) => row.state = "waiting to merge".to_owned(),
            IssueActivity::MergeQueued(false)
            | IssueActivity::Waiting(None)
            | IssueActivity::FirstTurn
            | IssueActivity::Exhausted(..)
            | IssueActivity::Warning(_)
            | IssueActivity::Delayed(_)
            | IssueActivity::TextLeftOut(_)
            | IssueActivity::StartsAgain { .. } => {}
        }
    }

    /// Renders the table within the given size. Finished issues are dropped first if space runs out.
    pub(super) fn frame(&self, columns: usize, rows: usize) -> Vec<FrameLine> {
        let now = quantities::now();
        let head = ["ISSUE", "STATE", "TURNS", "COST", "TIME", "TITLE"];
        let mut table = Table::new(&head).optional(&["TURNS", "COST"]);
        let most = rows.saturating_sub(3).max(1);
        let skipped = self.order.len().saturating_sub(most);
        for number in self.order.iter().skip(skipped) {
            let row = &self.rows[number];
            let length = row.since.map_or_else(String::new, |since| quantities::stopwatch(now.since(since)));
            table.row(vec![
                number.to_string(),
                row.state.clone(),
                row.cost.turns.to_string(),
                row.cost.usd.to_string(),
                length,
                row.title.clone(),
            ]);
        }
        let room = columns.saturating_sub(1);
        // A row stays one line: the title is cut, and an issue keeps its height.
        let lines = table.cut_lines(room).into_iter();
        lines.map(FrameLine::from).collect()
    }
}
