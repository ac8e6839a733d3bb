//! Configuration: reads text and returns a validated workflow, settings or a script, or a list of
//! diagnostics.
//!
//! This crate finishes its work before a run starts and decides nothing about a run. It reaches
//! files only through [`Source`], so that tests need no disk. It reads neither a clock nor the
//! environment: callers pass both in as data.
//!
//! A text passes through three steps:
//! 1. [`Document`] parses YAML, JSON or TOML into a tree of nodes with positions.
//! 2. [`Fields`] checks a mapping against a table of its keys and reports all errors at once.
//! 3. Readers lower the checked fields to the types of the model.
//!
//! Every problem is a [`Diagnostic`]. One renderer each serves people, programs and GitHub.
//!
//! Deliberately absent: deserialising into structs, because it stops at the first error.

pub mod check;
mod definition;
pub mod delivery;
mod diagnostic;
mod document;
mod fields;
mod hats;
pub mod issues;
mod language;
mod lowering;
mod piece;
pub mod review;
mod scaffold;
mod schema;
mod script;
mod script_file;
mod settings;
mod source;
mod steps;
mod validated;

pub use definition::{
    Definition, DefinitionFlag, Dialect, Listed, Loaded, Options, Origin, Places, Standing, TextUse, find,
    flags, list, load,
};
pub use diagnostic::{
    Area, Code, Colour, Diagnostic, Diagnostics, DocumentPath, Located, Location, Position, Severity,
    SourceFile, Span, Step, did_you_mean, list_of, nearest, quoted, to_github, to_human, to_json, to_sarif,
};
pub use document::{
    DEEPEST, Document, Entry, Format, LARGEST_EXPANDED, LARGEST_FILE, Node, Value, cannot_read,
};
pub use fields::{BadDuration, Cursor, Field, Fields, Kind, Object, parse_duration};
pub use hats::ORCH;
pub use language::Language;
pub use piece::PIECE;
pub use scaffold::{FIRST, NewFile, eject, scaffold};
pub use schema::{SCHEMAS, schema};
pub use script::{SCRIPT, load_script, read_script};
pub use script_file::{of_target, script_file, script_yaml};
pub use settings::{
    BUILT_IN_PROVIDERS, BadBudget, CleanUp, Comments, ForgeKind, LimitSettings, ListedSetting,
    ReviewAgentSettings, ReviewSettings, SETTINGS, SessionDefault, SettingFlag, SettingOrigin, Settings,
    SettingsFrom, TRUST_FILE, Trust, TrustRequest, Use, Variables, WorkGate, WorkSettings, parse_budget,
    project_root,
};
pub use source::{DiskSource, FileKind, MemorySource, ReadError, RememberedSource, Source, plain};
pub use steps::{AGENT, CATALOGUE, CONFIG as AGENT_CONFIG, REGISTRY, all_format_defaults, format_defaults};
pub use validated::{Unsound, ValidatedDefinition};
