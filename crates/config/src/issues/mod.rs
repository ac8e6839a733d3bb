//! Issues as text: files in a folder, what their words mean, and what of them may go where.
//!
//! The text of an issue is a stranger's. It is read for what it depends on, cleaned where it becomes a title, cut where
//! it is too long, and made inert where an agent wrote it and a forge would act on it. No name is ever made of it.

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
