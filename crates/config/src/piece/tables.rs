//! Keys of a piece, as data (P-10 to P-12). Newer spellings are aliases of the older ones. Newer features
//! that Saihai lacks are refused by name.

use saihai_model::VerdictMode;

use crate::breaker::PROGRESS_FORMS;
use crate::{Field, Object, ValueKind};

pub(super) const ITERATIONS: ValueKind = ValueKind::Integer { min: 1, max: 100_000 };

pub static PIECE: Object = Object {
    title: "a piece",
    fields: &[
        Field::required("name", ValueKind::Text).about("name shown to agents"),
        Field::new("description", ValueKind::Text).about("purpose; shown by `list` and `graph`, never in a prompt"),
        Field::new("language", ValueKind::OneOf(&["ja", "en"])).about(
            "language of text that Saihai adds to prompts; absent: Japanese if a text of the piece or of its files contains kana, else English",
        ),
        // The reader checks the value itself, because `max_steps: infinite` exists.
        Field::new("max_iterations", ValueKind::Any)
            .form(ITERATIONS)
            .aliases(&["max_steps", "max_movements"])
            .default("10")
            .about("maximum movements in a run; `--max-iterations` overrides it"),
        Field::new("progress", PROGRESS_FORMS)
            .about("thresholds for cycles without progress, or `off`; absent: the defaults for cycles between an editing and a reviewing movement"),
        Field::new("initial_movement", ValueKind::Text).aliases(&["initial_step"]).about("first movement of a run; absent: the first one in the list"),
        Field::required("movements", ValueKind::Filled(&ValueKind::Object(&MOVEMENT)))
            .aliases(&["steps"])
            .synonyms(&["agents", "stages", "tasks"])
            .about("movements in order"),
        Field::new("loop_monitors", ValueKind::List(&ValueKind::Object(&MONITOR))).about("monitors of cycles"),
        Field::new("personas", TEXTS_BY_NAME).synonyms(&["agents", "roles"]).about("role texts or files by name"),
        Field::new("policies", TEXTS_BY_NAME).about("policy texts or files by name"),
        Field::new("knowledge", TEXTS_BY_NAME).about("knowledge texts or files by name"),
        Field::new("instructions", TEXTS_BY_NAME).about("templates or their files by name"),
        Field::new("report_formats", TEXTS_BY_NAME).about("report formats or their files by name"),
        Field::refused_because("answer_agent", "is read but never used by TAKT; remove it"),
        Field::new("piece_config", ValueKind::Object(&PIECE_CONFIG)).aliases(&["workflow_config"]).about("options of providers for all movements"),
        Field::new("all_steps", ValueKind::Object(&ALL_STEPS)).about("text for every prompt"),
        Field::new("subworkflow", ValueKind::Object(&SUBWORKFLOW))
            .about("parameters and results, if other workflows call this one"),
        Field::new("interactive_mode", ValueKind::Text).about("accepted without effect"),
        Field::new("capabilities", ValueKind::TEXTS).about("presets of tools for all movements"),
        Field::refused_all(&["facet_pools", "schemas", "vars", "params", "mcp", "mcp_servers", "auto_routing", "runtime", "rate_limit_fallback"]),
    ],
};

pub(super) static PIECE_CONFIG: Object = Object {
    title: "`piece_config`",
    fields: &[
        Field::new("provider_options", ValueKind::Any)
            .about("options by provider; only `allowed_tools` has an effect"),
        Field::new("provider", ValueKind::Any)
            .form(PROVIDER)
            .about("provider of movements that name none, or `{type, model}`"),
        Field::new("model", ValueKind::Text).about("model of movements that name neither provider nor model"),
        Field::refused_because("runtime", "is not supported; prepare the tools before the run"),
    ],
};

const PROVIDER: ValueKind = ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&PROVIDER_REFERENCE)]);

pub(super) static PROVIDER_REFERENCE: Object = Object {
    title: "a provider",
    fields: &[
        Field::required("type", ValueKind::Text).about("name of the provider"),
        Field::new("model", ValueKind::Text).about("its model"),
        Field::new("network_access", ValueKind::Bool)
            .about("accepted without effect: the settings of the provider decide it"),
    ],
};

pub(super) static ALL_STEPS: Object = Object {
    title: "`all_steps`",
    fields: &[Field::new("rules", ValueKind::Either(&[ValueKind::Text, ValueKind::Filled(&ValueKind::Any)]))
        .about("text or file that every prompt contains, or names of files in `rules/` next to the piece")],
};

const TEXTS_BY_NAME: ValueKind = ValueKind::Map(&ValueKind::Text);

pub(super) static MOVEMENT: Object = Object {
    title: "a movement",
    fields: &[
        Field::required("name", ValueKind::Text)
            .about("name: up to 80 characters without `/`; not `COMPLETE` or `ABORT`"),
        Field::new("description", ValueKind::Text).about("purpose; shown by `graph`, never in a prompt"),
        Field::new("agent", ValueKind::Text)
            .aliases(&["persona"])
            .synonyms(&["agents", "role"])
            .about("role: a file or a name; its whole text starts the prompt"),
        Field::new("agent_name", ValueKind::Text)
            .aliases(&["persona_name"])
            .about("display name of the role; absent: the stem of `agent`, else the movement's name"),
        Field::new("edit", ValueKind::Bool).default("false").about("allow the agent to change files"),
        Field::new("permission_mode", ValueKind::OneOf(&["readonly", "edit", "full"]))
            .aliases(&["required_permission_mode"])
            .about("detailed permission; absent: from `edit`"),
        Field::new("sandbox", ValueKind::OneOf(&["required"]))
            .about("refuse to run the movement outside a sandbox; absent: as the settings say"),
        Field::new("verdict", ValueKind::OneOf(&VerdictMode::WORDS))
            .about("how the agent reports its verdict; absent: as the settings say"),
        // The reader checks the value itself, because newer versions allow a list.
        Field::new("instruction_template", ValueKind::Any)
            .form(ValueKind::Text)
            .aliases(&["instruction"])
            .synonyms(&["prompt", "task", "text"])
            .about("instruction: a text with variables, a file or a name"),
        Field::new("pass_previous_response", ValueKind::Bool)
            .default("true")
            .about("add the output of the previous movement"),
        Field::new("report", ValueKind::Any).form(REPORTS).about("reports that the agent must write"),
        Field::new("output_contracts", ValueKind::Object(&OUTPUT_CONTRACTS))
            .about("newer location of `report`"),
        Field::new("rules", ValueKind::List(&ValueKind::Object(&RULE)))
            .about("rules that select the next movement; at least one, except in sub-movements"),
        Field::new("parallel", ValueKind::Any)
            .synonyms(&["agents"])
            .form(ValueKind::Filled(&ValueKind::Object(&MOVEMENT)))
            .about("sub-movements, run in parallel"),
        // The reader checks the value itself, because newer versions have `compact`.
        Field::new("session", ValueKind::Any)
            .form(ValueKind::OneOf(&["refresh", "continue"]))
            .default("\"refresh\"")
            .about("start a new session, or continue the last one with the same key"),
        Field::new("session_key", ValueKind::Text)
            .about("name of the session to continue; absent: `agent`, else the movement's name"),
        Field::new("allowed_tools", ValueKind::List(&ValueKind::Text))
            .about("tools that the agent may see; never grants what the permission forbids"),
        // The reader checks the value itself, because newer versions write `{type, model}`.
        Field::new("provider", ValueKind::Any)
            .form(PROVIDER)
            .about("provider, or `{type, model}`; absent: from the settings"),
        Field::new("model", ValueKind::Text).about("model; absent: from the settings"),
        Field::new("policy", ValueKind::TEXTS).about("names of texts to add to the prompt as policies"),
        Field::new("knowledge", ValueKind::TEXTS).about("names of texts to add to the prompt as knowledge"),
        Field::new("reviewer", ValueKind::Text).about("name of a review agent that reviews the changes"),
        // The reader checks the value itself, to suggest `shell` for a text.
        Field::new("run", ValueKind::Any)
            .synonyms(&["command", "commands", "exec", "program"])
            .form(ValueKind::Filled(&ValueKind::Text))
            .about("program to run instead of an agent, with its arguments"),
        Field::new("shell", ValueKind::Text)
            .synonyms(&["bash", "sh"])
            .about("line for `sh` instead of `run`; `{checks}` inserts the checks of the settings"),
        Field::new("timeout", ValueKind::Duration { zero: false })
            .default("\"60m\"")
            .about("time limit of the program"),
        Field::new("env", ValueKind::Map(&ValueKind::Text)).about("environment variables of the program"),
        Field::new("cwd", ValueKind::Path)
            .about("directory of the program below the working directory; absent: the working directory"),
        Field::new("provider_options", ValueKind::Any)
            .about("options by provider, or `extends` with a preset; only `allowed_tools` has an effect"),
        Field::new("capabilities", ValueKind::TEXTS)
            .about("presets of tools: `readonly`, `edit`, or files in `.takt/provider-options/`"),
        Field::new("quality_gates", ValueKind::List(&ValueKind::Any))
            .form(ValueKind::List(&ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&COMMAND_GATE)])))
            .about("conditions of good work: texts for the prompt, and commands that must succeed"),
        Field::new("tags", ValueKind::List(&ValueKind::Text)).about("accepted without effect"),
        Field::new("companion", ValueKind::Any).about("accepted without effect"),
        Field::new("vars", ValueKind::Map(&ValueKind::Text))
            .about("texts by name, which replace `{NAME}` in the instruction"),
        // Replaced before the movement is read.
        Field::new("uses", ValueKind::Text).about("step fragment: a file of `.takt/steps/`; own keys win"),
        Field::new("with", ValueKind::Map(&ValueKind::Any)).about("values of the fragment's parameters"),
        // The reader checks the value itself, because newer versions have `system`.
        Field::new("kind", ValueKind::Any)
            .form(ValueKind::OneOf(&["agent", "workflow_call"]))
            .default("\"agent\"")
            .about("`workflow_call` runs the steps of another workflow"),
        Field::new("call", ValueKind::Text).about("workflow to call: a name or a file"),
        Field::new("args", ValueKind::Map(&ValueKind::Any)).about("values of the workflow's parameters"),
        Field::refused_all(&[
            "overrides",
            "team_leader",
            "arpeggio",
            "dynamic_facets",
            "mode",
            "effects",
            "system_inputs",
            "structured_output",
            "completion_retry",
            "delay_before_ms",
            "allow_git_commit",
            "promotion",
            "concurrency",
            "mcp",
            "mcp_servers",
        ]),
    ],
};

pub(super) static COMMAND_GATE: Object = Object {
    title: "a command gate",
    fields: &[
        Field::required("type", ValueKind::OneOf(&["command"])).about("always `command`"),
        Field::required("command", ValueKind::Text).about("line for `sh`; exit code 0 means success"),
        Field::new("name", ValueKind::Text).about("name for people; absent: the command"),
        Field::new("cwd", ValueKind::Path).about("directory below the working directory"),
        Field::new("timeout_ms", ValueKind::Integer { min: 1, max: 86_400_000 })
            .default("1800000")
            .about("time limit in milliseconds"),
    ],
};

pub(super) static SUBWORKFLOW: Object = Object {
    title: "`subworkflow`",
    fields: &[
        Field::new("callable", ValueKind::Bool)
            .about("accepted without effect: every workflow can be called"),
        Field::new("visibility", ValueKind::OneOf(&["internal"])).about("accepted without effect"),
        Field::new("returns", ValueKind::List(&ValueKind::Text)).about("results in addition to the two ends"),
        Field::new("params", ValueKind::Map(&ValueKind::Object(&PARAMETER))).about("parameters by name"),
    ],
};

pub(super) static PARAMETER: Object = Object {
    title: "a parameter",
    fields: &[
        Field::required(
            "type",
            ValueKind::OneOf(&[
                "facet_ref",
                "facet_ref[]",
                "workflow_ref",
                "facet_pool_ref",
                "companion_ref[]",
            ]),
        )
        .about("kind of the value; `[]` stands for a list"),
        Field::new(
            "facet_kind",
            ValueKind::OneOf(&["policy", "knowledge", "instruction", "persona", "report_format"]),
        )
        .about("kind of the facet; the key that uses the parameter decides"),
        Field::new("default", ValueKind::TEXTS).about("value without an argument"),
    ],
};

/// Keys of a movement that calls a workflow.
pub(super) const CALL_KEYS: [&str; 8] =
    ["name", "description", "kind", "call", "args", "rules", "tags", "companion"];

/// Keys of a movement with a review agent (P-61).
pub(super) const REVIEWER_KEYS: [&str; 6] = ["name", "description", "reviewer", "provider", "model", "rules"];

/// Keys of a movement with a program (U-9).
pub(super) const PROGRAM_KEYS: [&str; 10] =
    ["name", "description", "run", "shell", "timeout", "env", "cwd", "report", "output_contracts", "rules"];

/// Keys of a movement with sub-movements (P-15).
pub(super) const PARALLEL_KEYS: [&str; 6] = ["name", "description", "parallel", "rules", "tags", "companion"];

/// Keys that TAKT ignores on a movement with sub-movements, and its users write.
pub(super) const IDLE_PARALLEL_KEYS: [&str; 2] = ["edit", "session"];

pub(super) static OUTPUT_CONTRACTS: Object = Object {
    title: "`output_contracts`",
    fields: &[Field::new("report", ValueKind::Any).form(REPORTS).about("reports that the agent must write")],
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
        Field::required("name", ValueKind::Text).about("file inside the report directory"),
        Field::new("format", ValueKind::Text).about("required form: a text or a file"),
        Field::new("order", ValueKind::Text)
            .about("text or file that replaces the sentence which asks for the report"),
        Field::new("use_judge", ValueKind::Bool)
            .about("accepted without effect: reports come with the reply"),
    ],
};

const CONDITION_WORDS: &[&str] = &["if", "when"];
const NEXT_WORDS: &[&str] = &["then", "to", "goto", "target"];

pub(super) static RULE: Object = Object {
    title: "a rule",
    fields: &[
        Field::required("condition", ValueKind::Text)
            .synonyms(CONDITION_WORDS)
            .about("condition in one line"),
        Field::new("next", ValueKind::Text).synonyms(NEXT_WORDS).about(
            "`COMPLETE`, `ABORT` or a movement; required, except in sub-movements, where it has no effect",
        ),
        Field::new("requires_user_input", ValueKind::Bool)
            .default("false")
            .about("ask a person for a text first; following prompts contain it"),
        Field::new("interactive_only", ValueKind::Bool)
            .default("false")
            .about("offer the rule only if a person can answer; rule numbers stay the same"),
        Field::new("appendix", ValueKind::Text)
            .about("additional output required from the agent if it chooses this rule"),
        Field::new("return", ValueKind::Text)
            .about("result for the workflow that calls this one, instead of `next`"),
    ],
};

pub(super) static MONITOR: Object = Object {
    title: "a loop monitor",
    fields: &[
        Field::required("cycle", ValueKind::Filled(&ValueKind::Text)).about("movements to watch, in order"),
        Field::new("threshold", ValueKind::Integer { min: 1, max: 100_000 })
            .default("3")
            .about("number of complete cycles in a row"),
        Field::new("condition", ValueKind::Text)
            .about("`stalled(\"back\")`: ask the judge when this detector fires, instead of after a number of cycles"),
        Field::required("judge", ValueKind::Object(&JUDGE)).about("agent that decides how to continue"),
        Field::new("ignore_steps", ValueKind::List(&ValueKind::Text))
            .about("movements that the cycle may pass"),
    ],
};

pub(super) static JUDGE: Object = Object {
    title: "a judge",
    fields: &[
        Field::new("agent", ValueKind::Text).aliases(&["persona"]).about("role: a file or a facet"),
        Field::new("instruction_template", ValueKind::Any)
            .form(ValueKind::Text)
            .aliases(&["instruction"])
            .synonyms(&["prompt"])
            .about("question to the judge, with `{cycle_count}` as a variable; absent: a sentence with cycle and count"),
        Field::required("rules", ValueKind::Filled(&ValueKind::Object(&JUDGE_RULE)))
            .about("rules that select the next movement"),
        Field::new("provider", ValueKind::Any).form(PROVIDER).about("provider of the judge, or `{type, model}`"),
        Field::new("model", ValueKind::Text).about("model of the judge"),
        Field::new("session_key", ValueKind::Text)
            .about("accepted without effect: a judge always starts a new session"),
    ],
};

pub(super) static JUDGE_RULE: Object = Object {
    title: "a judge's rule",
    fields: &[
        Field::required("condition", ValueKind::Text).synonyms(CONDITION_WORDS).about("condition"),
        Field::required("next", ValueKind::Text)
            .synonyms(NEXT_WORDS)
            .about("`COMPLETE`, `ABORT` or a movement"),
    ],
};
