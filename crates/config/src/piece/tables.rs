//! Keys of a piece, as data (P-10 to P-12). Newer spellings are aliases of the older ones. Newer features
//! that Saihai lacks are refused by name.

use crate::{Field, Kind, Object};

pub(super) const ITERATIONS: Kind = Kind::Integer { min: 1, max: 100_000 };

pub static PIECE: Object = Object {
    title: "a piece",
    fields: &[
        Field::required("name", Kind::Text).about("its name, shown to agents"),
        Field::new("description", Kind::Text).about("what it is for; shown by `list` and `graph`, never in a prompt"),
        Field::new("language", Kind::OneOf(&["ja", "en"])).about(
            "the language of everything that is added to prompts; absent: Japanese if a text of the piece or of its files contains kana, else English",
        ),
        // The reader checks the value itself, because `max_steps: infinite` exists.
        Field::new("max_iterations", Kind::Any)
            .form(ITERATIONS)
            .aliases(&["max_steps"])
            .default("10")
            .about("how many movements a run may execute; `--max-iterations` wins"),
        Field::new("initial_movement", Kind::Text).aliases(&["initial_step"]).about("where a run begins; absent: at the first movement"),
        Field::required("movements", Kind::Filled(&Kind::Object(&MOVEMENT)))
            .aliases(&["steps"])
            .about("the movements, in order"),
        Field::new("loop_monitors", Kind::List(&Kind::Object(&MONITOR))).about("watches over cycles"),
        Field::new("personas", TEXTS_BY_NAME).about("role texts or files by name"),
        Field::new("policies", TEXTS_BY_NAME).about("policy texts or files by name"),
        Field::new("knowledge", TEXTS_BY_NAME).about("knowledge texts or files by name"),
        Field::new("instructions", TEXTS_BY_NAME).about("templates or their files by name"),
        Field::new("report_formats", TEXTS_BY_NAME).about("report formats or their files by name"),
        Field::refused_because("answer_agent", "is read but never used by TAKT; remove it"),
        Field::refused("all_steps"),
        Field::refused("facet_pools"),
        Field::refused("subworkflow"),
        Field::refused("capabilities"),
        Field::refused("schemas"),
        Field::refused("vars"),
        Field::refused("params"),
        Field::refused("interactive_mode"),
        Field::refused("workflow_config"),
        Field::refused("piece_config"),
        Field::refused("mcp"),
        Field::refused("mcp_servers"),
        Field::refused("auto_routing"),
        Field::refused("runtime"),
        Field::refused("rate_limit_fallback"),
    ],
};

const TEXTS_BY_NAME: Kind = Kind::Map(&Kind::Text);

pub(super) static MOVEMENT: Object = Object {
    title: "a movement",
    fields: &[
        Field::required("name", Kind::Text)
            .about("its name: up to 80 characters without `/`; `COMPLETE` and `ABORT` are taken"),
        Field::new("description", Kind::Text).about("what it is for; shown by `graph`, never in a prompt"),
        Field::new("agent", Kind::Text)
            .aliases(&["persona"])
            .about("the role, a file or a name; its whole text stands at the head of the prompt"),
        Field::new("agent_name", Kind::Text)
            .aliases(&["persona_name"])
            .about("the role's display name; absent: the stem of `agent`, else the movement's name"),
        Field::new("edit", Kind::Bool).default("false").about("whether the agent may change files"),
        Field::new("permission_mode", Kind::OneOf(&["readonly", "edit", "full"]))
            .aliases(&["required_permission_mode"])
            .about("the same in more detail; absent: as `edit` says"),
        // The reader checks the value itself, because newer versions allow a list.
        Field::new("instruction_template", Kind::Any)
            .form(Kind::Text)
            .aliases(&["instruction"])
            .about("what to do: a text with variables, a file or a name"),
        Field::new("pass_previous_response", Kind::Bool)
            .default("true")
            .about("whether the output of the movement before is added"),
        Field::new("report", Kind::Any).form(REPORTS).about("what the agent must write down"),
        Field::new("output_contracts", Kind::Object(&OUTPUT_CONTRACTS)).about("the newer place of `report`"),
        Field::new("rules", Kind::List(&Kind::Object(&RULE)))
            .about("what follows; at least one, except in sub-movements"),
        Field::new("parallel", Kind::Any)
            .form(Kind::Filled(&Kind::Object(&MOVEMENT)))
            .about("sub-movements, all asked at once"),
        // The reader checks the value itself, because newer versions have `compact`.
        Field::new("session", Kind::Any)
            .form(Kind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("whether the turn begins anew or goes on in the last session of its key"),
        Field::new("session_key", Kind::Text)
            .about("under which name a session is continued; absent: `agent`, else the movement's name"),
        Field::new("allowed_tools", Kind::List(&Kind::Text))
            .about("the only tools the agent may see; it never grants what the permission forbids"),
        Field::new("provider", Kind::Text).about("who answers; absent: as the settings say"),
        Field::new("model", Kind::Text).about("with which model; absent: as the settings say"),
        Field::new("policy", Kind::TEXTS).about("names of texts that are added to the prompt as policies"),
        Field::new("knowledge", Kind::TEXTS)
            .about("names of texts that are added to the prompt as knowledge"),
        Field::new("reviewer", Kind::Text)
            .about("the review agent that does it, by name; it looks at what has changed"),
        Field::refused("uses"),
        Field::refused("with"),
        Field::refused("kind"),
        Field::refused("call"),
        Field::refused("args"),
        Field::refused("overrides"),
        Field::refused("team_leader"),
        Field::refused("arpeggio"),
        Field::refused("companion"),
        Field::refused("dynamic_facets"),
        Field::refused("mode"),
        Field::refused("effects"),
        Field::refused("system_inputs"),
        Field::refused("structured_output"),
        Field::refused("completion_retry"),
        Field::refused("quality_gates"),
        Field::refused("delay_before_ms"),
        Field::refused("allow_git_commit"),
        Field::refused("promotion"),
        Field::refused("concurrency"),
        Field::refused("tags"),
        Field::refused("capabilities"),
        Field::refused("mcp"),
        Field::refused("mcp_servers"),
        Field::refused("provider_options"),
    ],
};

/// Keys of a movement with a review agent (P-61).
pub(super) const REVIEWER_KEYS: [&str; 6] = ["name", "description", "reviewer", "provider", "model", "rules"];

/// Keys of a movement with sub-movements (P-15).
pub(super) const PARALLEL_KEYS: [&str; 4] = ["name", "description", "parallel", "rules"];

pub(super) static OUTPUT_CONTRACTS: Object = Object {
    title: "`output_contracts`",
    fields: &[Field::new("report", Kind::Any).form(REPORTS).about("reports the turn must output")],
};

/// Forms of reports: a file, a report, or a list of reports and of `Label: file` (P-21).
const REPORTS: Kind = Kind::Either(&[
    Kind::Text,
    Kind::Object(&REPORT),
    Kind::Filled(&Kind::Either(&[Kind::Object(&REPORT), Kind::Single(&Kind::Text)])),
]);

pub(super) static REPORT: Object = Object {
    title: "a report",
    fields: &[
        Field::required("name", Kind::Text).about("its file, inside the report directory"),
        Field::new("format", Kind::Text).about("what it must look like: a text or a file"),
        Field::refused("order"),
        Field::refused("use_judge"),
    ],
};

pub(super) static RULE: Object = Object {
    title: "a rule",
    fields: &[
        Field::required("condition", Kind::Text).about("when it holds, in one line"),
        Field::new("next", Kind::Text).about(
            "`COMPLETE`, `ABORT` or a movement; required, except in sub-movements, where it has no effect",
        ),
        Field::new("requires_user_input", Kind::Bool)
            .default("false")
            .about("whether a person is asked for a text first; it joins the prompts that follow"),
        Field::new("interactive_only", Kind::Bool)
            .default("false")
            .about("not offered where no person can be asked; the numbers of the other rules stay"),
        Field::new("appendix", Kind::Text).about("what the agent must also output if it chooses this rule"),
        Field::refused("return"),
    ],
};

pub(super) static MONITOR: Object = Object {
    title: "a loop monitor",
    fields: &[
        Field::required("cycle", Kind::Filled(&Kind::Text)).about("the movements watched, in order"),
        Field::new("threshold", Kind::Integer { min: 1, max: 100_000 })
            .default("3")
            .about("how many complete cycles in a row"),
        Field::required("judge", Kind::Object(&JUDGE)).about("who decides how to go on"),
        Field::refused("ignore_steps"),
    ],
};

pub(super) static JUDGE: Object = Object {
    title: "a judge",
    fields: &[
        Field::new("agent", Kind::Text).aliases(&["persona"]).about("the role: a file or a facet"),
        Field::new("instruction_template", Kind::Any)
            .form(Kind::Text)
            .aliases(&["instruction"])
            .about("what to judge, `{cycle_count}` among its variables; absent: a sentence that names cycle and count"),
        Field::required("rules", Kind::Filled(&Kind::Object(&JUDGE_RULE))).about("what follows"),
        Field::new("provider", Kind::Text).about("who answers"),
        Field::new("model", Kind::Text).about("with which model"),
    ],
};

pub(super) static JUDGE_RULE: Object = Object {
    title: "a judge's rule",
    fields: &[
        Field::required("condition", Kind::Text).about("when it holds"),
        Field::required("next", Kind::Text).about("`COMPLETE`, `ABORT` or a movement"),
    ],
};
