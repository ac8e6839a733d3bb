//! Whole runs with scripted replies, on a clock that is paused while nothing waits.

mod actions;
mod contexts;
mod crashes;
mod flow;
mod gates;
mod power_loss;
mod programs;
mod steps;
mod stopping;
mod storage;
mod waiting;
