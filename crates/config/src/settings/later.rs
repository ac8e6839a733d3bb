//! The keys of `review`, `work` and `distributed`: known and checked, so that a misspelt one is an error today.

use super::tables::BUDGET;
use crate::fields::{Field, Kind, Object};

const TIME: Kind = Kind::Duration { zero: false };
const CALLS: Kind = Kind::Integer { min: 1, max: 1000 };

pub(super) static REVIEW: Object = Object {
    title: "`review`",
    fields: &[
        Field::new("provider", Kind::Text),
        Field::new("model", Kind::Text),
        Field::new("base", Kind::Text),
        Field::new("concurrency", Kind::Integer { min: 1, max: 64 }).default("4"),
        Field::new("timeout", TIME).default("\"600s\""),
        Field::new("max_turns", CALLS).default("30"),
        Field::new("fail_on", Kind::OneOf(&["critical", "important", "suggestion", "nitpick", "never"]))
            .default("\"important\""),
        Field::new("fail_scope", Kind::OneOf(&["added", "context", "file", "all"])).default("\"file\""),
        Field::new("min_confidence", Kind::Integer { min: 0, max: 100 }).default("0"),
        Field::new("max_diff_bytes", Kind::Integer { min: 10_000, max: i64::MAX }).default("300000"),
        Field::new("max_chunks", Kind::Integer { min: 1, max: 100 }).default("1"),
        Field::new("budget", Kind::Object(&BUDGET)),
        Field::new("require_all", Kind::Bool).default("false"),
        Field::new("cache", Kind::Bool).default("true"),
        Field::new("web", Kind::Bool).default("false"),
        Field::new("allow_unconfined", Kind::Bool).default("false"),
        Field::new("agents", Kind::Map(&Kind::Object(&REVIEW_AGENT))),
    ],
};

static REVIEW_AGENT: Object = Object {
    title: "a review agent's settings",
    fields: &[
        Field::new("enabled", Kind::Bool),
        Field::new("provider", Kind::Text),
        Field::new("model", Kind::Text),
        Field::new("timeout", TIME),
        Field::new("max_turns", CALLS),
    ],
};

pub(super) static WORK: Object = Object {
    title: "`work`",
    fields: &[
        Field::new("definition", Kind::Text),
        Field::new("definitions", Kind::Map(&Kind::Text)),
        Field::new("source", Kind::OneOf(&["folder", "github"])),
        Field::new("from", Kind::Path).default("\".saihai/issues\""),
        Field::new("repo", Kind::Text),
        Field::new("api", Kind::Text),
        Field::new("forge", Kind::OneOf(&["local", "github"])),
        Field::new("remote", Kind::Text).default("\"origin\""),
        Field::new("base", Kind::Text),
        Field::new("branch_prefix", Kind::Text).default("\"feature/\""),
        Field::new("jobs", Kind::Integer { min: 1, max: 256 }).default("1"),
        Field::new("gates", Kind::List(&Kind::OneOf(&["pre-loop", "post-completion", "before-pr"])))
            .default("[\"pre-loop\",\"post-completion\",\"before-pr\"]"),
        Field::new("gate_timeout", TIME),
        Field::new("pull_request", Kind::Bool).default("true"),
        Field::new("draft", Kind::Bool).default("false"),
        Field::new("merge", Kind::Bool).default("false"),
        Field::new("merge_method", Kind::OneOf(&["merge", "squash", "rebase"])).default("\"merge\""),
        Field::new("checks_timeout", TIME).default("\"60m\""),
        Field::new("merge_without_checks", Kind::Bool).default("false"),
        Field::new("verify", Kind::Filled(&Kind::Text)),
        Field::new("worktree_root", Kind::Path).default("\".worktrees\""),
        Field::new("copy_files", Kind::List(&Kind::Path)).default("[]"),
        Field::new("labels", Kind::Bool).default("true"),
        Field::new("label_prefix", Kind::Text).default("\"saihai\""),
        Field::new("comments", Kind::OneOf(&["none", "trusted"])).default("\"none\""),
        Field::new("cleanup", Kind::OneOf(&["delivered", "never"])).default("\"delivered\""),
        Field::new("budget", Kind::Object(&BUDGET)),
        Field::new("budget_per_issue", Kind::Object(&BUDGET)),
        Field::new("every", TIME).default("\"60s\""),
    ],
};

pub(super) static DISTRIBUTED: Object = Object {
    title: "`distributed`",
    fields: &[
        Field::new("server", Kind::Text),
        Field::new("namespace", Kind::Text).default("\"default\""),
        Field::new("queue", Kind::Text).default("\"saihai\""),
        Field::new("slots", Kind::Integer { min: 1, max: 1024 }).default("1"),
        Field::new("blobs", Kind::Text),
        Field::new("on_busy", Kind::OneOf(&["reject", "attach", "queue"])).default("\"reject\""),
    ],
};
