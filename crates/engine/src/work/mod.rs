//! Which issue is worked on next.
//!
//! Runs know nothing of each other. What orders them stands here, beside the run and as pure as it: [`order`] says in
//! which order selected issues come, [`Plan::resolve`] what each of them waits for, or that it can never begin, and
//! [`schedule`] what is begun now, seen how every item stands and what time it is.
//!
//! Deliberately absent: a queue that is kept. What is begun next follows from the plan and from how the items stand, so
//! a process that takes over where another died needs nothing but their journals.

mod order;
mod plan;
mod schedule;

#[cfg(test)]
mod tests;

pub use order::{Order, order};
pub use plan::{Dependencies, Impossible, Item, Known, Obstacle, Plan, Planned};
pub use schedule::{Next, Scene, Standing, Step, schedule};
