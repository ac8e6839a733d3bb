//! Runs on a development server of Temporal, with the real program as submitter and worker (D-T1 to D-T6).

mod failures;
mod requests;
mod runs;
mod setting;
