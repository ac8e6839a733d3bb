//! Keys of `review`, `work` and `distributed`. They are checked here, so that a misspelt key is an
//! error.

use super::tables::BUDGET;
use crate::fields::{Field, Kind, Object};

const TIME: Kind = Kind::Duration { zero: false };
/// The bounds check rejects zero, with a message that names the bounds.
const DEADLINE: Kind = Kind::Duration { zero: true };
const CALLS: Kind = Kind::Integer { min: 1, max: 1000 };

pub(super) static REVIEW: Object = Object {
    title: "`review`",
    fields: &[
        Field::new("provider", Kind::Text).about("who reviews; by default `provider`"),
        Field::new("model", Kind::Text).about("with which model"),
        Field::new("base", Kind::Text).about("the revision changes are compared with"),
        Field::new("concurrency", Kind::Integer { min: 1, max: 64 })
            .default("4")
            .about("how many agents review at the same time"),
        Field::new("timeout", DEADLINE).default("\"600s\"").about("the deadline of one agent"),
        Field::new("max_turns", CALLS).default("30").about("model calls of one agent"),
        Field::new("fail_on", Kind::OneOf(&["critical", "important", "suggestion", "nitpick", "never"]))
            .default("\"important\"")
            .about("the least severity that fails the review"),
        Field::new("fail_scope", Kind::OneOf(&["added", "context", "file", "all"]))
            .default("\"file\"")
            .about("how near to a change a finding must be to fail the review"),
        Field::new("min_confidence", Kind::Integer { min: 0, max: 100 })
            .default("0")
            .about("findings less certain are left out"),
        Field::new("max_diff_bytes", Kind::Integer { min: 10_000, max: i64::MAX })
            .default("300000")
            .about("a larger change is split"),
        Field::new("max_chunks", Kind::Integer { min: 1, max: 100 })
            .default("1")
            .about("into how many parts a change is split at most"),
        Field::new("budget", Kind::Object(&BUDGET)).about("what a review may cost"),
        Field::new("require_all", Kind::Bool).default("false").about("whether every agent must answer"),
        Field::new("cache", Kind::Bool)
            .default("true")
            .about("whether answers to an unchanged question are used again"),
        Field::new("web", Kind::Bool).default("false").about("whether agents may look things up on the web"),
        Field::new("allow_unconfined", Kind::Bool)
            .default("false")
            .about("whether agents that cannot be kept from writing may review"),
        Field::new("agents", Kind::Map(&Kind::Object(&REVIEW_AGENT)))
            .about("settings of single agents, by name"),
    ],
};

static REVIEW_AGENT: Object = Object {
    title: "a review agent's settings",
    fields: &[
        Field::new("enabled", Kind::Bool).about("whether it reviews"),
        Field::new("provider", Kind::Text).about("who answers for it"),
        Field::new("model", Kind::Text).about("with which model"),
        Field::new("timeout", DEADLINE).about("its deadline"),
        Field::new("max_turns", CALLS).about("its model calls"),
    ],
};

pub(super) static WORK: Object = Object {
    title: "`work`",
    fields: &[
        Field::new("definition", Kind::Text).about("how issues are worked on"),
        Field::new("definitions", Kind::Map(&Kind::Text))
            .about("the definition for issues with a label, by label"),
        Field::new("source", Kind::OneOf(&["folder", "github"])).about("where issues come from"),
        Field::new("from", Kind::Path).default("\".saihai/issues\"").about("the directory of issue files"),
        Field::new("repo", Kind::Text).about("the repository on the forge, as `owner/name`"),
        Field::new("api", Kind::Text).about("where the forge is spoken to"),
        Field::new("forge", Kind::OneOf(&["local", "github"])).about("where changes are delivered"),
        Field::new("remote", Kind::Text).default("\"origin\"").about("the git remote"),
        Field::new("base", Kind::Text).about("the branch changes go to"),
        Field::new("branch_prefix", Kind::Text)
            .default("\"feature/\"")
            .about("what names of branches begin with"),
        Field::new("jobs", Kind::Integer { min: 1, max: 256 })
            .default("1")
            .about("how many issues are worked on at the same time"),
        Field::new("gates", Kind::List(&Kind::OneOf(&["pre-loop", "post-completion", "before-pr"])))
            .default("[\"pre-loop\",\"post-completion\",\"before-pr\"]")
            .about("where a person is asked"),
        Field::new("gate_timeout", TIME).about("how long an answer is waited for"),
        Field::new("pull_request", Kind::Bool).default("true").about("whether a pull request is opened"),
        Field::new("draft", Kind::Bool).default("false").about("whether it is a draft"),
        Field::new("merge", Kind::Bool).default("false").about("whether it is merged when its checks pass"),
        Field::new("merge_method", Kind::OneOf(&["merge", "squash", "rebase"]))
            .default("\"merge\"")
            .about("how it is merged"),
        Field::new("checks_timeout", TIME).default("\"60m\"").about("how long checks are waited for"),
        Field::new("merge_without_checks", Kind::Bool)
            .default("false")
            .about("whether it is merged where there are no checks"),
        Field::new("verify", Kind::Filled(&Kind::Text))
            .about("a command that must succeed before delivery; no shell"),
        Field::new("worktree_root", Kind::Path).default("\".worktrees\"").about("where worktrees are kept"),
        Field::new("copy_files", Kind::List(&Kind::Path))
            .default("[]")
            .about("files copied into each worktree"),
        Field::new("labels", Kind::Bool).default("true").about("whether labels show how an issue stands"),
        Field::new("label_prefix", Kind::Text).default("\"saihai\"").about("what these labels begin with"),
        Field::new("comments", Kind::OneOf(&["none", "trusted"]))
            .default("\"none\"")
            .about("whose comments agents are shown"),
        Field::new("cleanup", Kind::OneOf(&["delivered", "never"]))
            .default("\"delivered\"")
            .about("when a worktree is removed"),
        Field::new("budget", Kind::Object(&BUDGET)).about("what all issues together may cost"),
        Field::new("budget_per_issue", Kind::Object(&BUDGET)).about("what one issue may cost"),
        Field::new("every", TIME).default("\"60s\"").about("how often new issues are looked for"),
    ],
};

pub(super) static DISTRIBUTED: Object = Object {
    title: "`distributed`",
    fields: &[
        Field::new("server", Kind::Text).about("the address of the server"),
        Field::new("namespace", Kind::Text).default("\"default\"").about("the namespace on it"),
        Field::new("queue", Kind::Text).default("\"saihai\"").about("the queue workers take from"),
        Field::new("slots", Kind::Integer { min: 1, max: 1024 })
            .default("1")
            .about("how many runs a worker drives at the same time"),
        Field::new("blobs", Kind::Text).about("where large texts are kept"),
        Field::new("on_busy", Kind::OneOf(&["reject", "attach", "queue"]))
            .default("\"reject\"")
            .about("what is done where the run exists already"),
    ],
};
