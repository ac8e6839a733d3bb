//! Keys that make a catalogue a flow: gates, transitions and validators (S-14 to S-16).

use crate::{Field, Kind, Object};

/// `address`, the components of a prompt's path.
pub(in crate::steps) static ADDRESS: Object = Object {
    title: "`address`",
    fields: &[
        Field::new("c1", Kind::Text).about("the first directory; absent: the catalogue's"),
        Field::new("c2", Kind::Text).about("the second directory"),
        Field::new("c3", Kind::Text).about("the third directory"),
        Field::new("edition", Kind::Text).default("\"default\"").about("of the file's name"),
        Field::new("adaptation", Kind::Text).about("of the file's name"),
    ],
};

pub(in crate::steps) static SCHEMA_REF: Object = Object {
    title: "`outputSchemaRef`",
    fields: &[
        Field::required("file", Kind::Path).about("a file of JSON Schemas, below where schemas are"),
        Field::required("schema", Kind::Text).about("the name of one in it"),
    ],
};

const INTENTS: Kind = Kind::OneOf(&["next", "repeat", "jump", "handoff", "escalate", "closing"]);

pub(in crate::steps) static STRUCTURED_GATE: Object = Object {
    title: "`structuredGate`",
    fields: &[
        Field::required("allowedIntents", Kind::Filled(&INTENTS)).about("what a reply may say"),
        Field::required("intentField", Kind::Text)
            .about("where it says so in its JSON: `next_action.action`"),
        Field::new("targetField", Kind::Text).about("where it names the step that `jump` goes to"),
        Field::new("handoffFields", Kind::List(&Kind::Text))
            .about("what is kept as outputs, under the last name of each"),
        Field::new("failFast", Kind::Bool)
            .default("true")
            .about("`false`: a reply that says none of `allowedIntents` says `fallbackIntent`"),
        Field::new("fallbackIntent", INTENTS).about("what such a reply says"),
        Field::new("targetMode", Kind::OneOf(&["explicit", "dynamic", "conditional"]))
            .about("without effect: `targetField` and `transitions` say it"),
        Field::new("intentSchemaRef", Kind::Text).about("without effect"),
    ],
};

pub(in crate::steps) static TRANSITION_RULE: Object = Object {
    title: "a transition by intent",
    fields: &[
        // The reader checks the value itself, because it may be a string or null.
        Field::new("target", Kind::Any)
            .about("the step that follows; `null` of `closing`: the flow is complete"),
        Field::new("condition", Kind::Text).about("instead: the field whose value chooses among `targets`"),
        Field::new("targets", Kind::Map(&Kind::Any)).about("the steps that follow, by that value"),
        Field::refused_because(
            "fallback",
            "is not supported: a step that fails ends the run; let its gate allow `jump` or `repeat`, or write a \
             `check` with `onFail` in the native shape",
        ),
    ],
};

pub(in crate::steps) static VALIDATOR: Object = Object {
    title: "a validator",
    fields: &[
        Field::required("type", Kind::OneOf(&["command"])).about("how it is asked"),
        Field::new("phase", Kind::OneOf(&["postllm", "preflight"]))
            .about("after a reply, or before it is asked for"),
        Field::required("command", Kind::Text).about("a line for the shell, run where the agent works"),
        Field::required("successWhen", Kind::OneOf(&["empty", "exitCode:0"]))
            .about("it prints nothing, or its exit code is 0"),
        Field::required("failurePattern", Kind::Text).about("which retry prompt is sent where it fails"),
        Field::new("extractParams", Kind::Any).about("without effect: every parameter is what was printed"),
    ],
};

pub(in crate::steps) static FAILURE_PATTERN: Object = Object {
    title: "a failure pattern",
    fields: &[
        Field::new("description", Kind::Text).about("what has failed"),
        Field::required("edition", Kind::Text).about("the edition of its retry prompt"),
        Field::new("adaptation", Kind::Text).about("and its adaptation"),
        Field::new("params", Kind::List(&Kind::Text))
            .default("[]")
            .about("variables of the retry prompt that are what was printed"),
    ],
};

pub(in crate::steps) static VALIDATION_STEP: Object = Object {
    title: "a validation step",
    fields: &[
        Field::new("stepId", Kind::Text).about("the same as its key: a closure step"),
        Field::new("name", Kind::Text).about("its title for people"),
        Field::new("description", Kind::Text).about("what it is for"),
        Field::new("c2", Kind::Text).about("the second directory of its retry prompts"),
        Field::new("c3", Kind::Text).about("and the third"),
        Field::new("postLLMConditions", Kind::List(&Kind::Object(&VALIDATION_CONDITION)))
            .aliases(&["validationConditions"])
            .about("the validators, in order"),
        Field::new("preflightConditions", Kind::List(&Kind::Any)).about("only empty"),
        Field::new("onFailure", Kind::Object(&ON_FAILURE)).about("what follows where one fails"),
        Field::new("outputSchemaRef", Kind::Any).about("without effect: the step's own holds"),
    ],
};

pub(in crate::steps) static VALIDATION_CONDITION: Object = Object {
    title: "a validation condition",
    fields: &[
        Field::required("validator", Kind::Text).about("one of `validators`"),
        Field::new("params", Kind::Any).about("without effect"),
    ],
};

pub(in crate::steps) static ON_FAILURE: Object = Object {
    title: "`onFailure`",
    fields: &[
        Field::new("action", Kind::OneOf(&["retry", "abort", "skip"]))
            .default("\"retry\"")
            .about("the retry prompt, the end of the run, or only a warning"),
        Field::new("maxAttempts", Kind::Integer { min: 1, max: 1000 })
            .default("3")
            .about("so many retry prompts in one visit"),
    ],
};
