//! `completionConfig`, by completion type (S-60).

use crate::{Field, Kind, Object};

const COUNT: Kind = Kind::Integer { min: 1, max: 100_000 };

/// Upper limit, allowed for every type.
const MAX_ITERATIONS: Field = Field::new("maxIterations", COUNT).about("the most iterations of a run");

pub(in crate::steps) static ITERATION_BUDGET: Object = Object {
    title: "`completionConfig` of `iterationBudget`",
    fields: &[Field::required("maxIterations", COUNT).about("done after so many iterations")],
};

pub(in crate::steps) static KEYWORD_SIGNAL: Object = Object {
    title: "`completionConfig` of `keywordSignal`",
    fields: &[
        Field::required("completionKeyword", Kind::Text)
            .aliases(&["verdictKeyword"])
            .about("done when a reply says this, in this case"),
        Field::new("match", Kind::OneOf(&["contains", "line"]))
            .default("\"contains\"")
            .about("anywhere, or alone on a line"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static EXTERNAL_STATE: Object = Object {
    title: "`completionConfig` of `externalState`",
    fields: &[
        Field::new("resourceType", Kind::Text)
            .default("\"github-issue\"")
            .about("`github-issue`, the issue of the run, or `file`"),
        Field::new("targetState", Kind::Text).about("`exists` or `absent` of a file; `closed` of an issue"),
        Field::new("path", Kind::Path).about("which file, from where the agent works"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static CHECK_BUDGET: Object = Object {
    title: "`completionConfig` of `checkBudget`",
    fields: &[
        Field::required("maxChecks", COUNT).about("done after so many answered checks"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static STRUCTURED_SIGNAL: Object = Object {
    title: "`completionConfig` of `structuredSignal`",
    fields: &[
        Field::required("signalType", Kind::Text).about("done on an action block of this type"),
        Field::new("requiredFields", Kind::Any)
            .about("with these fields: a list of names, or names with values"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static PHASE_COMPLETION: Object = Object {
    title: "`completionConfig` of `phaseCompletion`",
    fields: &[
        Field::new(
            "terminalPhases",
            Kind::Filled(&Kind::OneOf(&["preparation", "processing", "review", "complete"])),
        )
        .default("[\"complete\"]")
        .about("done in one of these phases"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static STEP_MACHINE: Object = Object {
    title: "`completionConfig` of `stepMachine`",
    fields: &[
        Field::new("registryPath", Kind::Path).about("must be `prompts.registry`"),
        Field::new("entryStep", Kind::Text).about("must be the registry's"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static COMPOSITE: Object = Object {
    title: "`completionConfig` of `composite`",
    fields: &[
        Field::required("operator", Kind::OneOf(&["and", "or", "first"]))
            .about("all, any, or the first in order"),
        Field::required("conditions", Kind::Filled(&Kind::Object(&CONDITION))).about("of these"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static CONDITION: Object = Object {
    title: "a condition",
    fields: &[
        Field::required("type", Kind::Text).about("a completion type"),
        Field::new("config", Kind::Any)
            .form(Kind::Either(&COMPLETION_CONFIGS))
            .about("its `completionConfig`"),
    ],
};

pub(in crate::steps) static CUSTOM: Object = Object {
    title: "`completionConfig` of `custom`",
    fields: &[
        Field::required("handlerPath", Kind::Path)
            .about("a program below the agent's directory that says whether it is done"),
        MAX_ITERATIONS,
    ],
};

pub(in crate::steps) static COMPLETION_CONFIGS: [Kind; 9] = [
    Kind::Object(&ITERATION_BUDGET),
    Kind::Object(&KEYWORD_SIGNAL),
    Kind::Object(&EXTERNAL_STATE),
    Kind::Object(&CHECK_BUDGET),
    Kind::Object(&STRUCTURED_SIGNAL),
    Kind::Object(&PHASE_COMPLETION),
    Kind::Object(&STEP_MACHINE),
    Kind::Object(&COMPOSITE),
    Kind::Object(&CUSTOM),
];
