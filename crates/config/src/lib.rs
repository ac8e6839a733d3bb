//! Configuration: turns text into a validated workflow, settings or a script, or into diagnostics.
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

mod breaker;
pub mod check;
mod definition;
pub mod delivery;
mod diagnostic;
mod document;
mod fields;
mod hats;
pub mod issues;
mod lowering;
mod piece;
pub mod review;
mod scaffold;
mod schema;
mod script;
mod settings;
mod source;
mod steps;

pub use check::{Unsound, ValidatedDefinition};
pub use definition::{
    Definition, DefinitionFlag, DefinitionStanding, Dialect, ListedDefinition, LoadedDefinition, Options,
    Origin, ProjectPaths, TextUse, find, flags, list, load,
};
pub use diagnostic::{
    Area, Colour, Diagnostic, DiagnosticCode, Diagnostics, DocumentPath, Located, Location, PathStep,
    Position, Severity, SourceFile, Span, did_you_mean, list_of, nearest, quoted, quoted_path, to_github,
    to_human, to_human_within, to_sarif,
};
pub use document::{
    DEEPEST, Document, Format, LARGEST_EXPANDED, LARGEST_FILE, MapEntry, Node, Value, cannot_read,
};
pub use fields::{BadDuration, Cursor, Field, Fields, Object, ValueKind, parse_duration};
pub use hats::ORCH;
pub use lowering::Language;
pub use piece::PIECE;
pub use scaffold::{FIRST, NewFile, eject, scaffold};
pub use schema::{SCHEMAS, schema};
pub use script::{SCRIPT, load_script, of_target, read_script, script_file, script_yaml};
pub use settings::{
    BUILT_IN_PROVIDERS, BadBudget, CheckCommands, CleanUp, Comments, ForgeKind, LimitSettings, ListedSetting,
    McpGateAnswers, PYPROJECT, ReviewAgentSettings, ReviewSettings, SETTINGS, SessionDefault, SettingFlag,
    SettingOrigin, Settings, SettingsFrom, TRUST_FILE, Trust, TrustRequest, Use, Variables, WorkGate,
    WorkSettings, names_hachimoku, parse_budget, project_root,
};
pub use source::{DiskSource, FileKind, MemorySource, ReadError, RememberedSource, Source, plain};
pub use steps::{AGENT, CATALOGUE, CONFIG as AGENT_CONFIG, REGISTRY, all_format_defaults, format_defaults};
