//! Review agents: specialists that are chosen by what a change holds.

mod glob;
mod python;
