//! Keys of a piece, as data (P-10 to P-12). Newer spellings are aliases of the older ones. Newer features
//! that Saihai lacks are refused by name.

use crate::{Field, Object, ValueKind};

pub(super) const ITERATIONS: ValueKind = ValueKind::Integer { min: 1, max: 100_000 };

pub static PIECE: Object = Object {
    title: "a piece",
    fields: &[
        Field::required("name", ValueKind::Text).about("its name, shown to agents"),
        Field::new("description", ValueKind::Text).about("what it is for; shown by `list` and `graph`, never in a prompt"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"])).about(
            "the language of everything that is added to prompts; absent: Japanese if a text of the piece or of its files contains kana, else English",
        ),
        // The reader checks the value itself, because `max_steps: infinite` exists.
        Field::new("max_iterations", ValueKind::Any)
            .form(ITERATIONS)
            .aliases(&["max_steps"])
            .default("10")
            .about("how many movements a run may execute; `--max-iterations` wins"),
        Field::new("initial_movement", ValueKind::Text).aliases(&["initial_step"]).about("the first movement of a run; absent: the first one in the list"),
        Field::required("movements", ValueKind::Filled(&ValueKind::Object(&MOVEMENT)))
            .aliases(&["steps"])
            .synonyms(&["agents", "stages", "tasks"])
            .about("the movements, in order"),
        Field::new("loop_monitors", ValueKind::List(&ValueKind::Object(&MONITOR))).about("watches over cycles"),
        Field::new("personas", TEXTS_BY_NAME).synonyms(&["agents", "roles"]).about("role texts or files by name"),
        Field::new("policies", TEXTS_BY_NAME).about("policy texts or files by name"),
        Field::new("knowledge", TEXTS_BY_NAME).about("knowledge texts or files by name"),
        Field::new("instructions", TEXTS_BY_NAME).about("templates or their files by name"),
        Field::new("report_formats", TEXTS_BY_NAME).about("report formats or their files by name"),
        Field::refused_because("answer_agent", "is read but never used by TAKT; remove it"),
        Field::refused_all(&["all_steps", "facet_pools", "subworkflow", "capabilities", "schemas", "vars", "params", "interactive_mode", "workflow_config", "piece_config", "mcp", "mcp_servers", "auto_routing", "runtime", "rate_limit_fallback"]),
    ],
};

const TEXTS_BY_NAME: ValueKind = ValueKind::Map(&ValueKind::Text);

pub(super) static MOVEMENT: Object = Object {
    title: "a movement",
    fields: &[
        Field::required("name", ValueKind::Text)
            .about("its name: up to 80 characters without `/`; `COMPLETE` and `ABORT` are taken"),
        Field::new("description", ValueKind::Text)
            .about("what it is for; shown by `graph`, never in a prompt"),
        Field::new("agent", ValueKind::Text)
            .aliases(&["persona"])
            .synonyms(&["agents", "role"])
            .about("the role, a file or a name; its whole text stands at the head of the prompt"),
        Field::new("agent_name", ValueKind::Text)
            .aliases(&["persona_name"])
            .about("the role's display name; absent: the stem of `agent`, else the movement's name"),
        Field::new("edit", ValueKind::Bool).default("false").about("whether the agent may change files"),
        Field::new("permission_mode", ValueKind::OneOf(&["readonly", "edit", "full"]))
            .aliases(&["required_permission_mode"])
            .about("the permission in more detail; absent: from `edit`"),
        // The reader checks the value itself, because newer versions allow a list.
        Field::new("instruction_template", ValueKind::Any)
            .form(ValueKind::Text)
            .aliases(&["instruction"])
            .synonyms(&["prompt", "task", "text"])
            .about("what to do: a text with variables, a file or a name"),
        Field::new("pass_previous_response", ValueKind::Bool)
            .default("true")
            .about("whether the output of the movement before is added"),
        Field::new("report", ValueKind::Any).form(REPORTS).about("what the agent must write down"),
        Field::new("output_contracts", ValueKind::Object(&OUTPUT_CONTRACTS))
            .about("the newer place of `report`"),
        Field::new("rules", ValueKind::List(&ValueKind::Object(&RULE)))
            .about("what follows; at least one, except in sub-movements"),
        Field::new("parallel", ValueKind::Any)
            .synonyms(&["agents"])
            .form(ValueKind::Filled(&ValueKind::Object(&MOVEMENT)))
            .about("sub-movements, all asked at once"),
        // The reader checks the value itself, because newer versions have `compact`.
        Field::new("session", ValueKind::Any)
            .form(ValueKind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("start a new session, or continue the last one of its key"),
        Field::new("session_key", ValueKind::Text)
            .about("under which name a session is continued; absent: `agent`, else the movement's name"),
        Field::new("allowed_tools", ValueKind::List(&ValueKind::Text))
            .about("the only tools the agent may see; it never grants what the permission forbids"),
        Field::new("provider", ValueKind::Text).about("the provider; absent: from the settings"),
        Field::new("model", ValueKind::Text).about("the model; absent: from the settings"),
        Field::new("policy", ValueKind::TEXTS)
            .about("names of texts that are added to the prompt as policies"),
        Field::new("knowledge", ValueKind::TEXTS)
            .about("names of texts that are added to the prompt as knowledge"),
        Field::new("reviewer", ValueKind::Text)
            .about("the review agent that does it, by name; it looks at what has changed"),
        // The reader checks the value itself, to suggest `shell` for a text.
        Field::new("run", ValueKind::Any)
            .synonyms(&["command", "commands", "exec", "program"])
            .form(ValueKind::Filled(&ValueKind::Text))
            .about("the program that does it instead of an agent, with its arguments"),
        Field::new("shell", ValueKind::Text)
            .synonyms(&["bash", "sh"])
            .about("the same as a line for `sh`; `{checks}` stands for the checks of the settings"),
        Field::new("timeout", ValueKind::Duration { zero: false })
            .default("\"60m\"")
            .about("the time limit of the program"),
        Field::new("env", ValueKind::Map(&ValueKind::Text)).about("variables set for the program"),
        Field::new("cwd", ValueKind::Path)
            .about("the directory of the program, below the working directory; absent: that one"),
        Field::refused_all(&[
            "uses",
            "with",
            "kind",
            "call",
            "args",
            "overrides",
            "team_leader",
            "arpeggio",
            "companion",
            "dynamic_facets",
            "mode",
            "effects",
            "system_inputs",
            "structured_output",
            "completion_retry",
            "quality_gates",
            "delay_before_ms",
            "allow_git_commit",
            "promotion",
            "concurrency",
            "tags",
            "capabilities",
            "mcp",
            "mcp_servers",
            "provider_options",
        ]),
    ],
};

/// Keys of a movement with a review agent (P-61).
pub(super) const REVIEWER_KEYS: [&str; 6] = ["name", "description", "reviewer", "provider", "model", "rules"];

/// Keys of a movement with a program (U-9).
pub(super) const PROGRAM_KEYS: [&str; 10] =
    ["name", "description", "run", "shell", "timeout", "env", "cwd", "report", "output_contracts", "rules"];

/// Keys of a movement with sub-movements (P-15).
pub(super) const PARALLEL_KEYS: [&str; 4] = ["name", "description", "parallel", "rules"];

pub(super) static OUTPUT_CONTRACTS: Object = Object {
    title: "`output_contracts`",
    fields: &[Field::new("report", ValueKind::Any).form(REPORTS).about("reports the turn must output")],
};

/// Forms of reports: a file, a report, or a list of reports and of `Label: file` (P-21).
const REPORTS: ValueKind = ValueKind::Either(&[
    ValueKind::Text,
    ValueKind::Object(&REPORT),
    ValueKind::Filled(&ValueKind::Either(&[ValueKind::Object(&REPORT), ValueKind::Single(&ValueKind::Text)])),
]);

pub(super) static REPORT: Object = Object {
    title: "a report",
    fields: &[
        Field::required("name", ValueKind::Text).about("its file, inside the report directory"),
        Field::new("format", ValueKind::Text).about("what it must look like: a text or a file"),
        Field::refused_all(&["order", "use_judge"]),
    ],
};

const CONDITION_WORDS: &[&str] = &["if", "when"];
const NEXT_WORDS: &[&str] = &["then", "to", "goto", "target"];

pub(super) static RULE: Object = Object {
    title: "a rule",
    fields: &[
        Field::required("condition", ValueKind::Text)
            .synonyms(CONDITION_WORDS)
            .about("when it holds, in one line"),
        Field::new("next", ValueKind::Text).synonyms(NEXT_WORDS).about(
            "`COMPLETE`, `ABORT` or a movement; required, except in sub-movements, where it has no effect",
        ),
        Field::new("requires_user_input", ValueKind::Bool)
            .default("false")
            .about("whether a person is asked for a text first; it joins the prompts that follow"),
        Field::new("interactive_only", ValueKind::Bool)
            .default("false")
            .about("not offered where no person can be asked; the numbers of the other rules stay"),
        Field::new("appendix", ValueKind::Text)
            .about("what the agent must also output if it chooses this rule"),
        Field::refused("return"),
    ],
};

pub(super) static MONITOR: Object = Object {
    title: "a loop monitor",
    fields: &[
        Field::required("cycle", ValueKind::Filled(&ValueKind::Text))
            .about("the movements watched, in order"),
        Field::new("threshold", ValueKind::Integer { min: 1, max: 100_000 })
            .default("3")
            .about("how many complete cycles in a row"),
        Field::required("judge", ValueKind::Object(&JUDGE)).about("the agent that decides how to continue"),
        Field::refused("ignore_steps"),
    ],
};

pub(super) static JUDGE: Object = Object {
    title: "a judge",
    fields: &[
        Field::new("agent", ValueKind::Text).aliases(&["persona"]).about("the role: a file or a facet"),
        Field::new("instruction_template", ValueKind::Any)
            .form(ValueKind::Text)
            .aliases(&["instruction"])
            .synonyms(&["prompt"])
            .about("what to judge, `{cycle_count}` among its variables; absent: a sentence that names cycle and count"),
        Field::required("rules", ValueKind::Filled(&ValueKind::Object(&JUDGE_RULE))).about("what follows"),
        Field::new("provider", ValueKind::Text).about("who answers"),
        Field::new("model", ValueKind::Text).about("with which model"),
    ],
};

pub(super) static JUDGE_RULE: Object = Object {
    title: "a judge's rule",
    fields: &[
        Field::required("condition", ValueKind::Text).synonyms(CONDITION_WORDS).about("when it holds"),
        Field::required("next", ValueKind::Text)
            .synonyms(NEXT_WORDS)
            .about("`COMPLETE`, `ABORT` or a movement"),
    ],
};
