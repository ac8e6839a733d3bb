//! The live table of the issues in progress.

use std::collections::BTreeMap;

use saihai_model::{Cost, IssueNumber, Millis, Moment};

use super::seen::Seen;
use crate::terminal::{Table, cut, visible_line};
use crate::time;

struct Row {
    title: String,
    state: String,
    since: Option<Moment>,
    cost: Cost,
}

/// All issues, in the order of the plan.
#[derive(Default)]
pub(super) struct Board {
    order: Vec<IssueNumber>,
    rows: BTreeMap<IssueNumber, Row>,
}

impl Board {
    pub(super) fn add(&mut self, number: IssueNumber, title: &str) {
        if !self.rows.contains_key(&number) {
            self.order.push(number);
        }
        let (title, state) = (visible_line(title).into_owned(), "queued".to_owned());
        let row = Row { title, state, since: None, cost: Cost::default() };
        self.rows.entry(number).or_insert(row);
    }

    /// Marks an issue as started or resumed.
    pub(super) fn begin(&mut self, number: IssueNumber) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.state = "begins".to_owned();
            row.since.get_or_insert(time::now());
        }
    }

    pub(super) fn state(&mut self, number: IssueNumber, state: &str) {
        if let Some(row) = self.rows.get_mut(&number) {
            row.state = visible_line(state).into_owned();
        }
    }

    pub(super) fn cost(&self, number: IssueNumber) -> Cost {
        self.rows.get(&number).map_or_else(Cost::default, |row| row.cost)
    }

    /// Returns the active time of an issue.
    pub(super) fn time(&self, number: IssueNumber) -> Millis {
        let since = self.rows.get(&number).and_then(|row| row.since);
        since.map_or(Millis(0), |since| time::now().since(since))
    }

    /// Updates the row with an event of the run.
    pub(super) fn see(&mut self, number: IssueNumber, seen: &Seen) {
        let Some(row) = self.rows.get_mut(&number) else { return };
        match seen {
            Seen::Stage(stage) => row.state = visible_line(stage).into_owned(),
            Seen::Turn(cost) => row.cost = row.cost.plus(*cost),
            Seen::Waiting(Some(until)) => {
                row.state = format!("waits until {}", time::local_until(*until, time::now()));
            }
            Seen::Waiting(None)
            | Seen::FirstTurn
            | Seen::Exhausted(..)
            | Seen::Warning(_)
            | Seen::Note(_) => {}
        }
    }

    /// Renders the table within the given size. Finished issues are dropped first if space runs out.
    pub(super) fn frame(&self, columns: usize, rows: usize) -> Vec<String> {
        let now = time::now();
        let mut table = Table::new(&["ISSUE", "STATE", "TURNS", "COST", "TIME", "TITLE"]);
        let most = rows.saturating_sub(3).max(1);
        let skipped = self.order.len().saturating_sub(most);
        for number in self.order.iter().skip(skipped) {
            let row = &self.rows[number];
            let length = row.since.map_or_else(String::new, |since| time::stopwatch(now.since(since)));
            table.row(vec![
                number.to_string(),
                row.state.clone(),
                row.cost.turns.to_string(),
                row.cost.usd.to_string(),
                length,
                row.title.clone(),
            ]);
        }
        table.lines().iter().map(|line| cut(line, columns.saturating_sub(1)).into_owned()).collect()
    }
}
