//! The columns of the list, and those that a narrow terminal leaves out.

use super::model::RunRow;
use crate::terminal::{cut, pad, width};

/// A column of the list.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum ListColumn {
    State,
    Project,
    Run,
    Definition,
    Stage,
    Time,
    Turns,
    Cost,
    Spark,
    Left,
    WaitsFor,
}

/// Columns between two cells.
pub(super) const GAP: usize = 2;

impl ListColumn {
    /// The columns of the list, from left to right.
    const ORDER: [Self; 11] = [
        Self::State,
        Self::Project,
        Self::Run,
        Self::Definition,
        Self::Stage,
        Self::Time,
        Self::Turns,
        Self::Cost,
        Self::Spark,
        Self::Left,
        Self::WaitsFor,
    ];

    /// The order in which columns get room.
    const IMPORTANCE: [Self; 11] = [
        Self::State,
        Self::Project,
        Self::Definition,
        Self::Stage,
        Self::Time,
        Self::Cost,
        Self::WaitsFor,
        Self::Turns,
        Self::Left,
        Self::Spark,
        Self::Run,
    ];

    fn head(self) -> &'static str {
        match self {
            Self::State => "STATE",
            Self::Project => "PROJECT",
            Self::Run => "RUN",
            Self::Definition => "DEFINITION",
            Self::Stage => "STAGE",
            Self::Time => "TIME",
            Self::Turns => "TURNS",
            Self::Cost => "COST",
            Self::Spark => "TREND",
            Self::Left => "LEFT",
            Self::WaitsFor => "WAITS FOR",
        }
    }

    pub(super) fn cell(self, row: &RunRow) -> &str {
        match self {
            Self::State => &row.state,
            Self::Project => &row.project,
            Self::Run => &row.id,
            Self::Definition => &row.definition,
            Self::Stage => &row.stage,
            Self::Time => &row.elapsed,
            Self::Turns => &row.turns,
            Self::Cost => &row.cost,
            Self::Spark => &row.spark,
            Self::Left => &row.budget_left,
            Self::WaitsFor => &row.waits_for,
        }
    }

    /// Returns the widest that a cell may be.
    fn most(self) -> usize {
        match self {
            Self::State | Self::Time | Self::Turns | Self::Spark => 12,
            Self::Project | Self::Definition | Self::Cost => 16,
            Self::Stage => 22,
            Self::Left => 24,
            Self::Run => 40,
            Self::WaitsFor => 60,
        }
    }

    /// Returns the narrowest that makes sense.
    fn least(self, wanted: usize) -> usize {
        match self {
            Self::Project | Self::Definition | Self::Stage => wanted.min(8),
            Self::WaitsFor => wanted.min(14),
            Self::Run => wanted.min(24),
            Self::State | Self::Time | Self::Turns | Self::Cost | Self::Spark | Self::Left => wanted,
        }
    }
}

/// The columns that fit, with their widths.
pub(super) struct ListColumns {
    pub(super) shown: Vec<(ListColumn, usize)>,
}

impl ListColumns {
    pub(super) fn fitting(rows: &[RunRow], columns: usize) -> Self {
        // The mark of the selected row.
        let mut room = columns.saturating_sub(2);
        let mut shown: Vec<(ListColumn, usize)> = Vec::new();
        // The last three get only the room that the others leave.
        let (needed, extra) = ListColumn::IMPORTANCE.split_at(8);
        for group in [needed, extra] {
            let begin = shown.len();
            let mut lacking = Vec::new();
            for column in group {
                let widest = rows.iter().map(|row| width(column.cell(row))).max().unwrap_or(0);
                let is_optional = matches!(
                    column,
                    ListColumn::Project | ListColumn::Left | ListColumn::Spark | ListColumn::WaitsFor
                );
                let is_empty = widest == 0 && is_optional;
                let wanted = widest.max(width(column.head())).min(column.most());
                let least = column.least(wanted);
                let cost = least + if shown.is_empty() { 0 } else { GAP };
                if is_empty || cost > room {
                    continue;
                }
                room -= cost;
                shown.push((*column, least));
                lacking.push(wanted - least);
            }
            for ((_, width), lacking) in shown[begin..].iter_mut().zip(lacking) {
                let more = lacking.min(room);
                room -= more;
                *width += more;
            }
        }
        shown.sort_by_key(|(column, _)| ListColumn::ORDER.iter().position(|one| one == column));
        Self { shown }
    }

    pub(super) fn heads(&self) -> String {
        let heads = self.shown.iter().map(|(column, width)| pad(&cut(column.head(), *width), *width));
        heads.collect::<Vec<_>>().join("  ")
    }
}
