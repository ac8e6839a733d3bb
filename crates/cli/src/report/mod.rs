//! The output about a run, derived from its records: live, through a pipe, or later.

mod board;
mod budget;
mod decision_words;
mod fact_words;
mod live;
mod names;
mod numbers;
mod published;
mod spending;
mod topic_words;
mod transition;
mod words;

#[cfg(test)]
mod tests;

pub(crate) use board::Board;
pub(crate) use budget::{BudgetObject, budget_words};
pub(crate) use decision_words::{ending_words, exit_words, verdict_words};
pub(crate) use live::Live;
pub(crate) use names::Names;
pub(crate) use numbers::{cost, count, grouped, tokens, total_cost};
pub(crate) use published::Published;
pub(crate) use spending::{SpendingObject, spending_words};
pub(crate) use topic_words::{alarm_words, near_miss_words, refused_words, remark_words};
pub(crate) use transition::TransitionObject;
pub(crate) use words::{Line, Weight, parked_words, words};
