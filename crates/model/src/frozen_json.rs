//! Values that a run freezes as a JSON file.

use serde_json::Error;

use crate::{Script, Workflow};

/// A value with its own file in a run's directory. A workflow has so many types that every further copy of the generated
/// code costs seconds of build time, so all crates convert it here.
pub trait FrozenJson: Sized {
    fn to_json(&self) -> Vec<u8>;

    fn from_json(bytes: &[u8]) -> Result<Self, Error>;
}

impl FrozenJson for Workflow {
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a workflow has text keys only")
    }

    fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes)
    }
}

impl FrozenJson for Script {
    fn to_json(&self) -> Vec<u8> {
        serde_json::to_vec(self).expect("a script has text keys only")
    }

    fn from_json(bytes: &[u8]) -> Result<Self, Error> {
        serde_json::from_slice(bytes)
    }
}
