//! `config.json` (S-18).

use super::{PERMISSIONS, SCHEMA};
use crate::{Field, Kind, Object};

pub static CONFIG: Object = Object {
    title: "`config.json`",
    fields: &[
        SCHEMA,
        Field::new("version", Kind::Text).about("the version of the format: `N.N.N`"),
        Field::new("overrides", Kind::Object(&OVERRIDES)).about("stands above `behavior`"),
        Field::new("github", Kind::Object(&CONFIG_GITHUB)).about("stands above `github`"),
        Field::new("logging", Kind::Object(&CONFIG_LOGGING)).about("stands above `logging`"),
        Field::new("worktree", Kind::Object(&CONFIG_WORKTREE)).about("stands above `worktree`"),
    ],
};

pub(in crate::steps) static OVERRIDES: Object = Object {
    title: "`overrides`",
    fields: &[
        Field::new("permissionMode", PERMISSIONS).about("instead of the agent's"),
        Field::new("allowedTools", Kind::List(&Kind::Text))
            .about("instead of the agent's; lists never merge"),
    ],
};

pub(in crate::steps) static CONFIG_GITHUB: Object = Object {
    title: "`github` of `config.json`",
    fields: &[
        Field::new("apiVersion", Kind::Text).about("without effect"),
        Field::new("labels", Kind::Map(&Kind::Text)).about("without effect"),
    ],
};

pub(in crate::steps) static CONFIG_LOGGING: Object = Object {
    title: "`logging` of `config.json`",
    fields: &[
        Field::new("maxFiles", Kind::Integer { min: 1, max: 100_000 }).about("how many logs are kept"),
        Field::new("verbose", Kind::Bool)
            .about("`false` leaves lines of level `debug` out of the agent's log"),
    ],
};

pub(in crate::steps) static CONFIG_WORKTREE: Object = Object {
    title: "`worktree` of `config.json`",
    fields: &[
        Field::new("enabled", Kind::Bool)
            .aliases(&["forceWorktree"])
            .about("whether a run has a working tree of its own"),
        Field::new("root", Kind::Path).aliases(&["worktreeRoot"]).about("where, from the project root"),
    ],
};
