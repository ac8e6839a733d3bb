//! Texts: small ones travel inside facts, large ones by reference.

use serde::{Deserialize, Serialize};

/// A text, or the name of the file that holds it.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Text {
    Inline(String),
    /// A file of the run directory, named by the hash of its content.
    Blob {
        /// SHA-256 of the content, in hexadecimal.
        hash: String,
        bytes: u64,
    },
}

impl Text {
    /// Texts longer than this become blobs: a journal line stays small, and an ordinary turn needs one sync.
    pub const INLINE_LIMIT: usize = 16 * 1024;

    pub fn is_empty(&self) -> bool {
        self.bytes() == 0
    }

    /// Returns the text, if it is inline.
    pub fn inline(&self) -> Option<&str> {
        match self {
            Self::Inline(text) => Some(text),
            Self::Blob { .. } => None,
        }
    }

    pub fn bytes(&self) -> u64 {
        match self {
            Self::Inline(text) => text.len() as u64,
            Self::Blob { bytes, .. } => *bytes,
        }
    }
}

impl From<&str> for Text {
    fn from(text: &str) -> Self {
        Self::Inline(text.to_owned())
    }
}

impl From<String> for Text {
    fn from(text: String) -> Self {
        Self::Inline(text)
    }
}
