//! Issues as text: files in a folder, their meaning, and their use in prompts and on forges.
//!
//! The author of an issue is untrusted. Saihai parses dependencies from the text, cleans titles and
//! cuts long texts. Before an agent's text goes to a forge, Saihai makes it inert. No file or
//! branch name comes from it.

mod body;
mod choice;
mod dependencies;
mod folder;
mod front_matter;
mod inert;
mod markdown;
mod read;
mod selection;
mod tables;
mod text;

#[cfg(test)]
mod tests;

pub use choice::{ChosenBy, ChosenDefinition, NoSource, SourcesAtHand, choose_definition, choose_source};
pub use dependencies::{Mentioned, mentioned};
pub use folder::{FOLDER, load_folder};
pub use inert::{inert, inert_excerpt, inert_title};
pub use selection::{BadSelection, parse_selection};
pub use tables::ISSUE;
pub use text::{BlankTitle, COMMIT_TITLE, PULL_REQUEST_TITLE, Task, clean_title, cut, task};
