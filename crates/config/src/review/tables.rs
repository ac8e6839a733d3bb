use crate::fields::{Field, Kind, Object};

const TEXTS: Kind = Kind::List(&Kind::Text);

/// Keys of a review agent file.
pub static AGENT: Object = Object {
    title: "a review agent",
    fields: &[
        Field::required("name", Kind::Text).about("its identity: `a`–`z`, `0`–`9` and `-`"),
        Field::required("description", Kind::Text).about("one line for lists and reports"),
        Field::required("model", Kind::Text)
            .about("the model, `PROVIDER:MODEL`, or `default` for the provider's own"),
        Field::required("output_schema", Kind::Text).about("the name of the schema its reply must match"),
        Field::required("system_prompt", Kind::Text).about("its role, sent as it stands"),
        Field::new("allowed_tools", TEXTS)
            .default("[]")
            .about("what it may use: `file_read`, `git_read`, `gh_read`, `web_fetch`, or single tools"),
        Field::new("phase", Kind::OneOf(&["early", "main", "final"]))
            .default("\"main\"")
            .about("when in a review it is asked"),
        Field::new("timeout", Kind::Integer { min: 1, max: 86_400 }).about("its deadline in seconds"),
        Field::new("max_turns", Kind::Integer { min: 1, max: 1000 })
            .about("the most model calls inside its one turn"),
        Field::new("applicability", Kind::Object(&APPLICABILITY))
            .about("which changes it is for; without it: all of them"),
    ],
};

pub(super) static APPLICABILITY: Object = Object {
    title: "`applicability`",
    fields: &[
        Field::new("always", Kind::Bool).default("false").about("it is for every change"),
        Field::new("file_patterns", TEXTS)
            .default("[]")
            .about("patterns of file names, without their directories: `*.py`, `test_?.rs`, `[!_]*`"),
        Field::new("content_patterns", TEXTS)
            .default("[]")
            .about("regular expressions of Python, searched in the diff, or in whole files"),
        Field::new("path_patterns", TEXTS)
            .default("[]")
            .about("patterns of paths from the project's root, with `**` and `{a,b}`"),
        Field::new("exclude_patterns", TEXTS)
            .default("[]")
            .about("the same, of files that count for nothing and are not shown to it"),
    ],
};

pub static IGNORES: Object = Object {
    title: "`review-ignore.toml`",
    fields: &[Field::new("ignore", Kind::List(&Kind::Object(&IGNORE))).about("findings not to hear of")],
};

pub static IGNORE: Object = Object {
    title: "an entry of `ignore`",
    fields: &[
        Field::new("fingerprint", Kind::Text).about("the finding of this name"),
        Field::new("agent", Kind::Text).about("what this agent finds"),
        Field::new("path", Kind::Text)
            .about("what is found in files this pattern takes, with `**` and `{a,b}`"),
        Field::required("reason", Kind::Text).about("why"),
        Field::new("expires", Kind::Text).about("the last day on which it holds, as `YYYY-MM-DD`"),
    ],
};
