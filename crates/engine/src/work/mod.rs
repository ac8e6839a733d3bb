//! Decides the next issue to work on.
//!
//! Runs are independent of each other. This module orders them and is as pure as the run. [`order`] sorts the selected
//! issues. [`Plan::resolve`] finds the dependencies of each issue, or the obstacle that blocks it. [`schedule`] chooses
//! the items to start now, from the state of every item and the time.
//!
//! Deliberately absent: a stored queue. The next item follows from the plan and from the state of the items. A process
//! that replaces a dead one therefore needs only their journals.

mod order;
mod plan;
mod schedule;

#[cfg(test)]
mod tests;

pub use order::{Order, order};
pub use plan::{Dependencies, Impossible, Item, Known, Obstacle, Plan, Planned};
pub use schedule::{Next, Scene, Standing, Step, schedule};
