//! Whole runs with scripted replies, on a clock that is paused while nothing waits.

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
