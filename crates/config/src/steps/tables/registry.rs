//! Tables of `steps_registry.json`: native shape, catalogues, gates and validators (S-8, S-13 to S-16).

use super::{PERMISSIONS, SCHEMA, field, flag, object, path, required, text, texts};
use crate::{Field, Object, ValueKind};

/// Message for a key of the later format in a registry of this one (S-17).
const LATER: &str = "belongs to a registry of the later format, which has `agentId`";

pub static REGISTRY: Object = Object {
    title: "a registry",
    fields: &[
        SCHEMA,
        required(text("version", "the version of the format: `N.N.N`")),
        required(path("basePath", "where prompts are, from the agent's directory")),
        text("entryStep", "where a run begins"),
        field(
            "entryStepMapping",
            ValueKind::Map(&ValueKind::Text),
            "the same by completion type or mode, which wins",
        ),
        field("editions", ValueKind::Map(&ValueKind::Text), "other names of editions"),
        required(field("steps", ValueKind::Map(&ValueKind::Object(&STEP)), "the steps, by their ids")),
        Field::refused_because("validationSteps", LATER),
        Field::refused_because("validators", LATER),
        Field::refused_because("failurePatterns", LATER),
        Field::refused_because("preflightConditions", LATER),
    ],
};

static STEP: Object = Object {
    title: "a step",
    fields: &[
        text("id", "the same as its key"),
        text("name", "its title for people"),
        text("description", "what it is for; shown by `graph`, never in a prompt"),
        required(object("prompt", &PROMPT, "the text of the prompt")),
        object("iterations", &ITERATIONS, "how many turns a visit has"),
        object("check", &CHECK, "a question about the reply that decides what follows"),
        text("next", "the step that follows where there is no `check`"),
        flag("terminal", "`true`: the flow ends here"),
        // The reader checks the value itself, because it may be the short form or a JSON Schema.
        Field::new("outputSchema", ValueKind::Any).form(ValueKind::Map(&ValueKind::Any)).about(
            "the JSON the reply must hold: `{KEY: {type, required, description, default}}`, or a JSON Schema",
        ),
        field("inputs", ValueKind::Any, "outputs of other steps that it uses")
            .form(ValueKind::Map(&ValueKind::Any)),
        texts("variables", "the variables its prompt uses"),
        Field::new("customVariables", ValueKind::List(&ValueKind::Object(&CUSTOM_VARIABLE)))
            .default("[]")
            .about("further variables, written `{NAME}`"),
        text("gate", "a question a person must answer with yes before the step"),
        flag("usesStdin", "whether `{input_text}` is the task").default("false"),
        text("model", "the model; absent: from the settings"),
        field("permissionMode", PERMISSIONS, "absent: the agent's"),
        texts("allowedTools", "absent: the agent's; `[]` is none"),
        path("systemPromptPath", "absent: the agent's"),
        Field::refused_because("stepKind", LATER),
        Field::refused_because("kind", LATER),
        Field::refused_because("address", LATER),
        Field::refused_because("outputSchemaRef", LATER),
        Field::refused_because("structuredGate", LATER),
        Field::refused_because("transitions", LATER),
        Field::refused_because("runner", LATER),
        Field::refused_because("path", "is not a key of a step: put it into `prompt`"),
        Field::refused_because("c1", "is not a key of a step: put it into `prompt`"),
        Field::refused_because("c2", "is not a key of a step: put it into `prompt`"),
        Field::refused_because("c3", "is not a key of a step: put it into `prompt`"),
    ],
};

static PROMPT: Object = Object {
    title: "a prompt",
    fields: &[
        text("path", "its file, below `basePath`; else `c1`, `c2` and `c3`"),
        text("c1", "the first directory"),
        text("c2", "the second directory"),
        text("c3", "the third directory"),
        text("edition", "of `f_EDITION.md`").default("\"default\""),
        text("adaptation", "of `f_EDITION_ADAPTATION.md`"),
        text("fallback", "another file below `basePath`, where there is none"),
    ],
};

static ITERATIONS: Object = Object {
    title: "`iterations`",
    fields: &[
        Field::new("min", ValueKind::Integer { min: 1, max: 100_000 })
            .default("1")
            .about("so many turns before the step is left or checked"),
        field("max", ValueKind::Integer { min: 1, max: 100_000 }, "one more fails the run"),
    ],
};

static CHECK: Object = Object {
    title: "a check",
    fields: &[
        required(object("prompt", &PROMPT, "what is asked")),
        Field::required("responseFormat", ValueKind::Map(&ValueKind::Text)).about(
            "the answer: `result` is `ok|ng`, `pass|fail` or `boolean`, `message` is `string` or `optional`",
        ),
        required(object("onPass", &TRANSITION, "what follows where it passed")),
        required(object("onFail", &TRANSITION, "what follows where it did not")),
    ],
};

static TRANSITION: Object = Object {
    title: "a transition",
    fields: &[
        flag("complete", "`true`: the flow is complete; wins over all others"),
        text("next", "the step that follows"),
        text("fallback", "the same, where there is no `next`"),
        flag("retry", "`true`: this step once more"),
        field("maxRetries", ValueKind::Integer { min: 1, max: 100_000 }, "so often in one visit")
            .default("3"),
        text("onExhausted", "the step that then follows; absent: the run fails"),
    ],
};

/// Value of a key in the short form of `outputSchema`.
pub(in crate::steps) static OUTPUT_PROPERTY: Object = Object {
    title: "an output",
    fields: &[
        Field::required("type", ValueKind::OneOf(&["string", "number", "boolean", "object", "array"])),
        Field::new("required", ValueKind::Bool),
        Field::new("description", ValueKind::Text),
        Field::new("default", ValueKind::Any),
    ],
};

pub(in crate::steps) static STEP_INPUT: Object = Object {
    title: "an input",
    fields: &[
        Field::new("from", ValueKind::Text),
        Field::new("required", ValueKind::Bool),
        Field::new("default", ValueKind::Any),
        Field::new("onMissing", ValueKind::OneOf(&["error", "default", "skip"])),
    ],
};

pub(in crate::steps) static INPUTS_OF_STEPS: Object = Object {
    title: "`inputs` of other steps",
    fields: &[
        Field::new("from_step", ValueKind::Text),
        Field::new("from_steps", ValueKind::List(&ValueKind::Text)),
        Field::required("variables", ValueKind::List(&ValueKind::Text)),
    ],
};

/// A variable without the `uv-` prefix.
static CUSTOM_VARIABLE: Object = Object {
    title: "a custom variable",
    fields: &[
        required(text("name", "written `{NAME}`")),
        Field::required("source", ValueKind::OneOf(&["stdin", "parameter", "context", "github", "computed"]))
            .about("the task, a parameter, an output, or an issue"),
        text("description", "what it is for"),
        flag("required", "whether it must have a value").default("false"),
    ],
};

pub static CATALOGUE: Object = Object {
    title: "a catalogue",
    fields: &[
        SCHEMA,
        text("version", "the version of the format: `N.N.N`"),
        required(text("agentId", "the name of the agent")),
        text("c1", "the first directory of every prompt"),
        Field::new("pathTemplate", ValueKind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md\"")
            .about("where a prompt with an adaptation is"),
        Field::new("pathTemplateNoAdaptation", ValueKind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}.md\"")
            .about("where a prompt without one is"),
        Field::new("userPromptsBase", ValueKind::Path)
            .default("\".agent/{agentId}/prompts\"")
            .about("where prompts are, from the project root"),
        path("schemasBase", "where schemas are, from the project root; absent: as `flow.schemas.base` says"),
        text("entryStep", "the first step of a flow"),
        Field::new(
            "entryStepMapping",
            ValueKind::Map(&ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&ENTRY_STEPS)])),
        )
        .about("the same by completion type or mode, which wins"),
        required(field("steps", ValueKind::Map(&ValueKind::Object(&ENTRY)), "the prompts, by their ids")),
        field("validators", ValueKind::Map(&ValueKind::Object(&VALIDATOR)), "programs that look at the work"),
        Field::new("failurePatterns", ValueKind::Map(&ValueKind::Object(&FAILURE_PATTERN)))
            .aliases(&["completionPatterns"])
            .about("the retry prompts of validators"),
        Field::new("validationSteps", ValueKind::Map(&ValueKind::Object(&VALIDATION_STEP)))
            .about("which validators look before a closure step closes"),
    ],
};

/// First prompt, and the one that follows.
static ENTRY_STEPS: Object = Object {
    title: "an entry of `entryStepMapping`",
    fields: &[
        required(text("initial", "the first step")),
        text("continuation", "the next prompt, if there is no flow"),
    ],
};

static ENTRY: Object = Object {
    title: "an entry",
    fields: &[
        text("stepId", "the same as its key"),
        text("name", "its title for people"),
        text("description", "what it is for"),
        text("c1", "the first directory; absent: the catalogue's"),
        text("c2", "the second directory"),
        text("c3", "the third directory"),
        text("edition", "of the file's name").default("\"default\""),
        text("adaptation", "of the file's name"),
        object("address", &ADDRESS, "all that in one"),
        text("promptPath", "the file itself, instead of all that"),
        texts("uvVariables", "the variables it uses"),
        flag("usesStdin", "whether `{input_text}` is the task").default("false"),
        Field::new("stepKind", ValueKind::OneOf(&["work", "verification", "closure"]))
            .aliases(&["kind"])
            .about("what its gate may allow"),
        object("outputSchemaRef", &SCHEMA_REF, "the JSON the reply must hold"),
        object("structuredGate", &STRUCTURED_GATE, "how the reply says what follows"),
        field("transitions", ValueKind::Map(&ValueKind::Object(&TRANSITION_RULE)), "what follows, by intent"),
        field("inputs", ValueKind::Any, "outputs of other steps that it uses")
            .form(ValueKind::Map(&ValueKind::Any)),
        text("model", "with which model; absent: the agent's"),
        field("type", ValueKind::OneOf(&["prompt"]), "without effect"),
        field("priority", ValueKind::Any, "without effect"),
        text("fallbackKey", "a text of another program; without effect"),
        Field::refused_because(
            "runner",
            "makes a program of a step, which is not supported: run it in a validator, or before Saihai",
        ),
    ],
};

/// `address`, the components of a prompt's path.
static ADDRESS: Object = Object {
    title: "`address`",
    fields: &[
        text("c1", "the first directory; absent: the catalogue's"),
        text("c2", "the second directory"),
        text("c3", "the third directory"),
        text("edition", "of the file's name").default("\"default\""),
        text("adaptation", "of the file's name"),
    ],
};

static SCHEMA_REF: Object = Object {
    title: "`outputSchemaRef`",
    fields: &[
        required(path("file", "a file of JSON Schemas, below where schemas are")),
        required(text("schema", "the name of one in it")),
    ],
};

const INTENTS: ValueKind = ValueKind::OneOf(&["next", "repeat", "jump", "handoff", "escalate", "closing"]);

static STRUCTURED_GATE: Object = Object {
    title: "`structuredGate`",
    fields: &[
        required(field("allowedIntents", ValueKind::Filled(&INTENTS), "what a reply may say")),
        required(text("intentField", "where it says so in its JSON: `next_action.action`")),
        text("targetField", "where it names the step that `jump` goes to"),
        texts("handoffFields", "what is kept as outputs, under the last name of each"),
        Field::new("failFast", ValueKind::Bool)
            .default("true")
            .about("`false`: a reply that says none of `allowedIntents` says `fallbackIntent`"),
        field("fallbackIntent", INTENTS, "what such a reply says"),
        Field::new("targetMode", ValueKind::OneOf(&["explicit", "dynamic", "conditional"]))
            .about("without effect: `targetField` and `transitions` say it"),
        text("intentSchemaRef", "without effect"),
    ],
};

static TRANSITION_RULE: Object = Object {
    title: "a transition by intent",
    fields: &[
        // The reader checks the value itself, because it may be a string or null.
        field("target", ValueKind::Any, "the step that follows; `null` of `closing`: the flow is complete"),
        text("condition", "instead: the field whose value chooses among `targets`"),
        field("targets", ValueKind::Map(&ValueKind::Any), "the steps that follow, by that value"),
        Field::refused_because(
            "fallback",
            "is not supported: a step that fails ends the run; let its gate allow `jump` or `repeat`, or write a \
             `check` with `onFail` in the native shape",
        ),
    ],
};

static VALIDATOR: Object = Object {
    title: "a validator",
    fields: &[
        required(field("type", ValueKind::OneOf(&["command"]), "how it is asked")),
        field(
            "phase",
            ValueKind::OneOf(&["postllm", "preflight"]),
            "after a reply, or before it is asked for",
        ),
        required(text("command", "a line for the shell, run where the agent works")),
        Field::required("successWhen", ValueKind::OneOf(&["empty", "exitCode:0"]))
            .about("it prints nothing, or its exit code is 0"),
        required(text("failurePattern", "which retry prompt is sent where it fails")),
        field("extractParams", ValueKind::Any, "without effect: every parameter is what was printed"),
    ],
};

static FAILURE_PATTERN: Object = Object {
    title: "a failure pattern",
    fields: &[
        text("description", "what has failed"),
        required(text("edition", "the edition of its retry prompt")),
        text("adaptation", "and its adaptation"),
        texts("params", "variables of the retry prompt that are what was printed").default("[]"),
    ],
};

static VALIDATION_STEP: Object = Object {
    title: "a validation step",
    fields: &[
        text("stepId", "the same as its key: a closure step"),
        text("name", "its title for people"),
        text("description", "what it is for"),
        text("c2", "the second directory of its retry prompts"),
        text("c3", "and the third"),
        Field::new("postLLMConditions", ValueKind::List(&ValueKind::Object(&VALIDATION_CONDITION)))
            .aliases(&["validationConditions"])
            .about("the validators, in order"),
        field("preflightConditions", ValueKind::List(&ValueKind::Any), "only empty"),
        object("onFailure", &ON_FAILURE, "what follows where one fails"),
        field("outputSchemaRef", ValueKind::Any, "without effect: the step's own holds"),
    ],
};

static VALIDATION_CONDITION: Object = Object {
    title: "a validation condition",
    fields: &[
        required(text("validator", "one of `validators`")),
        field("params", ValueKind::Any, "without effect"),
    ],
};

static ON_FAILURE: Object = Object {
    title: "`onFailure`",
    fields: &[
        Field::new("action", ValueKind::OneOf(&["retry", "abort", "skip"]))
            .default("\"retry\"")
            .about("the retry prompt, the end of the run, or only a warning"),
        Field::new("maxAttempts", ValueKind::Integer { min: 1, max: 1000 })
            .default("3")
            .about("so many retry prompts in one visit"),
    ],
};
