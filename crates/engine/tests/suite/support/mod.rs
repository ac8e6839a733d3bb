//! A world of facts for the engine: small workflows from one line of text, and a simulation that answers effects. Every
//! fact also checks the invariants that must hold after any fact.

#![allow(dead_code, reason = "each suite uses its part")]

pub(crate) mod build;
pub(crate) mod sim;

pub(crate) use build::flow;
pub(crate) use sim::Sim;
