//! Tables of `steps_registry.json`: native shape, catalogues, gates and validators (S-8, S-13 to S-16).

use super::{PERMISSIONS, SCHEMA, field, flag, object, path, required, text, texts};
use crate::{Field, Object, ValueKind};

/// Message for a key of the later format in a registry of this one (S-17).
const LATER: &str = "belongs to a registry of the later format, which has `agentId`";

pub static REGISTRY: Object = Object {
    title: "a registry",
    fields: &[
        SCHEMA,
        required(text("version", "version of the format: `N.N.N`")),
        required(path("basePath", "directory of prompts, relative to the agent's directory")),
        text("entryStep", "first step of a run"),
        field(
            "entryStepMapping",
            ValueKind::Map(&ValueKind::Text),
            "first step by completion type or mode; overrides `entryStep`",
        ),
        field("editions", ValueKind::Map(&ValueKind::Text), "alternative names of editions"),
        required(field("steps", ValueKind::Map(&ValueKind::Object(&STEP)), "steps by id")),
        Field::refused_because("validationSteps", LATER),
        Field::refused_because("validators", LATER),
        Field::refused_because("failurePatterns", LATER),
        Field::refused_because("preflightConditions", LATER),
    ],
};

static STEP: Object = Object {
    title: "a step",
    fields: &[
        text("id", "same as the key"),
        text("name", "display name"),
        text("description", "purpose; shown by `graph`, never in a prompt"),
        required(object("prompt", &PROMPT, "prompt of the step")),
        object("iterations", &ITERATIONS, "number of turns per visit"),
        object("check", &CHECK, "question about the reply that selects the next step"),
        text("next", "next step, if there is no `check`"),
        flag("terminal", "`true`: end the flow here"),
        // The reader checks the value itself, because it may be the short form or a JSON Schema.
        Field::new("outputSchema", ValueKind::Any).form(ValueKind::Map(&ValueKind::Any)).about(
            "JSON that the reply must contain: `{KEY: {type, required, description, default}}`, or a JSON Schema",
        ),
        field("inputs", ValueKind::Any, "outputs of other steps to use")
            .form(ValueKind::Map(&ValueKind::Any)),
        texts("variables", "variables of the prompt"),
        Field::new("customVariables", ValueKind::List(&ValueKind::Object(&CUSTOM_VARIABLE)))
            .default("[]")
            .about("additional variables, written `{NAME}`"),
        text("gate", "question that a person must answer with yes before the step"),
        flag("usesStdin", "use the task as `{input_text}`").default("false"),
        text("model", "model; absent: from the settings"),
        field("permissionMode", PERMISSIONS, "permission; absent: the agent's"),
        texts("allowedTools", "tools; absent: the agent's; `[]`: none"),
        path("systemPromptPath", "file with the role; absent: the agent's"),
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
        text("path", "file below `basePath`; absent: from `c1`, `c2` and `c3`"),
        text("c1", "first directory"),
        text("c2", "second directory"),
        text("c3", "third directory"),
        text("edition", "EDITION in `f_EDITION.md`").default("\"default\""),
        text("adaptation", "ADAPTATION in `f_EDITION_ADAPTATION.md`"),
        text("fallback", "alternative file below `basePath` if the first is missing"),
    ],
};

static ITERATIONS: Object = Object {
    title: "`iterations`",
    fields: &[
        Field::new("min", ValueKind::Integer { min: 1, max: 100_000 })
            .default("1")
            .about("minimum turns before Saihai leaves or checks the step"),
        field("max", ValueKind::Integer { min: 1, max: 100_000 }, "maximum turns; one more fails the run"),
    ],
};

static CHECK: Object = Object {
    title: "a check",
    fields: &[
        required(object("prompt", &PROMPT, "prompt of the question")),
        Field::required("responseFormat", ValueKind::Map(&ValueKind::Text)).about(
            "form of the answer: `result` is `ok|ng`, `pass|fail` or `boolean`, `message` is `string` or `optional`",
        ),
        required(object("onPass", &TRANSITION, "transition if the check passes")),
        required(object("onFail", &TRANSITION, "transition if the check fails")),
    ],
};

static TRANSITION: Object = Object {
    title: "a transition",
    fields: &[
        flag("complete", "`true`: complete the flow; overrides all other keys"),
        text("next", "next step"),
        text("fallback", "next step, if there is no `next`"),
        flag("retry", "`true`: repeat this step"),
        field("maxRetries", ValueKind::Integer { min: 1, max: 100_000 }, "maximum retries per visit")
            .default("3"),
        text("onExhausted", "next step after the last retry; absent: the run fails"),
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
        required(text("name", "name, written `{NAME}`")),
        Field::required("source", ValueKind::OneOf(&["stdin", "parameter", "context", "github", "computed"]))
            .about("source: the task, a parameter, an output, or an issue"),
        text("description", "purpose"),
        flag("required", "require a value").default("false"),
    ],
};

pub static CATALOGUE: Object = Object {
    title: "a catalogue",
    fields: &[
        SCHEMA,
        text("version", "version of the format: `N.N.N`"),
        required(text("agentId", "name of the agent")),
        text("c1", "first directory of every prompt"),
        Field::new("pathTemplate", ValueKind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}_{adaptation}.md\"")
            .about("path of a prompt with an adaptation"),
        Field::new("pathTemplateNoAdaptation", ValueKind::Text)
            .default("\"{c1}/{c2}/{c3}/f_{edition}.md\"")
            .about("path of a prompt without an adaptation"),
        Field::new("userPromptsBase", ValueKind::Path)
            .default("\".agent/{agentId}/prompts\"")
            .about("directory of prompts, relative to the project root"),
        path(
            "schemasBase",
            "directory of schemas, relative to the project root; absent: `flow.schemas.base`",
        ),
        text("entryStep", "first step of a flow"),
        Field::new(
            "entryStepMapping",
            ValueKind::Map(&ValueKind::Either(&[ValueKind::Text, ValueKind::Object(&ENTRY_STEPS)])),
        )
        .about("first step by completion type or mode; overrides `entryStep`"),
        required(field("steps", ValueKind::Map(&ValueKind::Object(&ENTRY)), "prompts by id")),
        field("validators", ValueKind::Map(&ValueKind::Object(&VALIDATOR)), "programs that check the work"),
        Field::new("failurePatterns", ValueKind::Map(&ValueKind::Object(&FAILURE_PATTERN)))
            .aliases(&["completionPatterns"])
            .about("retry prompts of validators"),
        Field::new("validationSteps", ValueKind::Map(&ValueKind::Object(&VALIDATION_STEP)))
            .aliases(&["completionSteps"])
            .about("validators to run before a closure step closes"),
    ],
};

/// First prompt, and the one that follows.
static ENTRY_STEPS: Object = Object {
    title: "an entry of `entryStepMapping`",
    fields: &[
        required(text("initial", "first step")),
        text("continuation", "next prompt, if there is no flow"),
    ],
};

static ENTRY: Object = Object {
    title: "an entry",
    fields: &[
        text("stepId", "same as the key"),
        text("name", "display name"),
        text("description", "purpose"),
        text("c1", "first directory; absent: the catalogue's"),
        text("c2", "second directory"),
        text("c3", "third directory"),
        text("edition", "edition in the file name").default("\"default\""),
        text("adaptation", "adaptation in the file name"),
        object("address", &ADDRESS, "`c1` to `adaptation` in one object"),
        text("promptPath", "prompt file, instead of `c1` to `adaptation`"),
        texts("uvVariables", "variables of the prompt"),
        flag("usesStdin", "use the task as `{input_text}`").default("false"),
        Field::new("stepKind", ValueKind::OneOf(&["work", "verification", "closure"]))
            .aliases(&["kind"])
            .about("kind of step; limits the intents of its gate"),
        object("outputSchemaRef", &SCHEMA_REF, "schema of the JSON in the reply"),
        object("structuredGate", &STRUCTURED_GATE, "fields of the reply that select the next step"),
        field("transitions", ValueKind::Map(&ValueKind::Object(&TRANSITION_RULE)), "next steps by intent"),
        field("inputs", ValueKind::Any, "outputs of other steps to use")
            .form(ValueKind::Map(&ValueKind::Any)),
        text("model", "model; absent: the agent's"),
        field("type", ValueKind::OneOf(&["prompt"]), "no effect"),
        field("priority", ValueKind::Any, "no effect"),
        text("fallbackKey", "text of another program; no effect"),
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
        text("c1", "first directory; absent: the catalogue's"),
        text("c2", "second directory"),
        text("c3", "third directory"),
        text("edition", "edition in the file name").default("\"default\""),
        text("adaptation", "adaptation in the file name"),
    ],
};

static SCHEMA_REF: Object = Object {
    title: "`outputSchemaRef`",
    fields: &[
        required(path("file", "file of JSON Schemas below the schema directory")),
        required(text("schema", "name of a schema in the file")),
    ],
};

const INTENTS: ValueKind = ValueKind::OneOf(&["next", "repeat", "jump", "handoff", "escalate", "closing"]);

static STRUCTURED_GATE: Object = Object {
    title: "`structuredGate`",
    fields: &[
        required(field("allowedIntents", ValueKind::Filled(&INTENTS), "intents that a reply may have")),
        required(text("intentField", "path of the intent in the reply's JSON: `next_action.action`")),
        text("targetField", "path of the target step of `jump` in the reply's JSON"),
        texts("handoffFields", "fields to keep as outputs, each under the last part of its path"),
        Field::new("failFast", ValueKind::Bool)
            .default("true")
            .about("`false`: use `fallbackIntent` for a reply with none of `allowedIntents`"),
        field("fallbackIntent", INTENTS, "intent of such a reply"),
        Field::new("targetMode", ValueKind::OneOf(&["explicit", "dynamic", "conditional"]))
            .about("no effect: `targetField` and `transitions` select the step"),
        text("intentSchemaRef", "no effect"),
    ],
};

static TRANSITION_RULE: Object = Object {
    title: "a transition by intent",
    fields: &[
        // The reader checks the value itself, because it may be a string or null.
        field("target", ValueKind::Any, "next step; `null` for `closing`: complete the flow"),
        text("condition", "alternative to `target`: field whose value selects one of `targets`"),
        field("targets", ValueKind::Map(&ValueKind::Any), "next steps by that value"),
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
        required(field("type", ValueKind::OneOf(&["command"]), "type of validator")),
        field(
            "phase",
            ValueKind::OneOf(&["postllm", "preflight"]),
            "run after a reply, or before the prompt",
        ),
        required(text("command", "shell line, run in the agent's working directory")),
        Field::required("successWhen", ValueKind::OneOf(&["empty", "non-empty", "exitCode:0"]))
            .about("success condition: no output, some output, or exit code 0"),
        required(text("failurePattern", "failure pattern with the retry prompt")),
        field("extractParams", ValueKind::Any, "no effect: every parameter is the printed output"),
    ],
};

static FAILURE_PATTERN: Object = Object {
    title: "a failure pattern",
    fields: &[
        text("description", "description of the failure"),
        text("edition", "edition of the retry prompt").default("\"default\""),
        text("adaptation", "adaptation of the retry prompt"),
        object(
            "address",
            &ADDRESS,
            "`c1` to `adaptation` in one object; absent parts: from the validation step",
        ),
        texts("params", "variables of the retry prompt that contain the printed output").default("[]"),
    ],
};

static VALIDATION_STEP: Object = Object {
    title: "a validation step",
    fields: &[
        text("stepId", "same as the key: a closure step"),
        text("name", "display name"),
        text("description", "purpose"),
        text("c2", "second directory of the retry prompts"),
        text("c3", "third directory of the retry prompts"),
        Field::new("postLLMConditions", ValueKind::List(&ValueKind::Object(&VALIDATION_CONDITION)))
            .aliases(&["validationConditions", "completionConditions"])
            .about("validators in order"),
        field("preflightConditions", ValueKind::List(&ValueKind::Any), "must be empty"),
        object("onFailure", &ON_FAILURE, "action if a validator fails"),
        field("outputSchemaRef", ValueKind::Any, "no effect: the step's own schema applies"),
    ],
};

static VALIDATION_CONDITION: Object = Object {
    title: "a validation condition",
    fields: &[
        required(text("validator", "one of `validators`")),
        field("params", ValueKind::Any, "no effect"),
    ],
};

static ON_FAILURE: Object = Object {
    title: "`onFailure`",
    fields: &[
        Field::new("action", ValueKind::OneOf(&["retry", "abort", "skip"]))
            .default("\"retry\"")
            .about("send the retry prompt, end the run, or only warn"),
        Field::new("maxAttempts", ValueKind::Integer { min: 1, max: 1000 })
            .default("3")
            .about("maximum retry prompts per visit"),
    ],
};
