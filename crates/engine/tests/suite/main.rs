//! The engine against a world of facts: flows, the shapes of every dialect, and general laws.

mod breaking;
mod carrying;
mod completion;
mod convergence;
mod delivery;
mod dialects;
mod flow;
mod hats;
mod laws;
mod notes;
mod programs;
mod proofs;
mod sessions;
mod steps;
mod storms;
mod support;
mod trouble;
