//! Whole runs with scripted replies, on a clock that stands still while nothing is waited for.

mod acting;
mod crashing;
mod delivering;
mod gates;
mod going;
mod power_loss;
mod stepping;
mod stopping;
mod storage;
mod waiting;
