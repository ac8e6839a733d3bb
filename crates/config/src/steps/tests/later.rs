//! Agents with `runner`, and registries whose steps name their successors.

use saihai_model::{Json, Prompt, PromptPart, SectionCondition, Text, Variable};
use serde_json::json;

use super::{Project, listed, stage, turn};

/// An agent of the later format: cut, sew, close. Tests can change its files before loading.
pub(super) struct Later {
    pub(super) agent: Json,
    pub(super) registry: Json,
    pub(super) schemas: Json,
}

pub(super) fn later() -> Later {
    let agent = json!({
        "version": "1.13.0", "name": "tailor",
        "runner": {
            "flow": {
                "systemPromptPath": "prompts/system.md", "defaultModel": "opus",
                "prompts": {"registry": "steps_registry.json", "fallbackDir": "prompts/"}
            },
            "verdict": {"type": "detect:graph", "config": {"maxIterations": 12}},
            "boundaries": {"allowedTools": ["Read", "Edit"], "permissionMode": "acceptEdits"}
        },
        "parameters": {
            "customer": {"type": "string", "description": "who orders", "required": true, "cli": "--customer"}
        }
    });
    let registry = json!({
        "agentId": "tailor", "version": "1.0.0", "c1": "steps",
        "entryStepMapping": {"detect:graph": {"initial": "initial.cut", "continuation": "sew"}},
        "failurePatterns": {
            "dirty": {"description": "not clean", "edition": "failed", "adaptation": "dirty", "params": ["files"]}
        },
        "validators": {
            "clean": {
                "type": "command", "phase": "postllm", "command": "git status --porcelain",
                "successWhen": "empty", "failurePattern": "dirty", "extractParams": {"files": "stdout"}
            },
            "tests": {
                "type": "command", "command": "make test", "successWhen": "exitCode:0", "failurePattern": "dirty"
            }
        },
        "validationSteps": {
            "close": {
                "stepId": "close", "c2": "closure", "c3": "order", "preflightConditions": [],
                "postLLMConditions": [{"validator": "clean"}, {"validator": "tests"}],
                "onFailure": {"action": "retry", "maxAttempts": 2}
            }
        },
        "steps": {
            "initial.cut": {
                "stepId": "initial.cut", "name": "Cut", "stepKind": "work",
                "c2": "initial", "c3": "cut", "uvVariables": ["customer"],
                "outputSchemaRef": {"file": "order.schema.json", "schema": "initial.cut"},
                "structuredGate": {
                    "allowedIntents": ["next", "repeat", "jump"], "intentField": "next_action.action",
                    "targetField": "next_action.target", "handoffFields": ["found.cloth"]
                },
                "transitions": {"next": {"target": "sew"}, "repeat": {"target": "initial.cut"}}
            },
            "sew": {
                "kind": "verification", "address": {"c2": "continuation", "c3": "sew"}, "model": "haiku",
                "structuredGate": {
                    "allowedIntents": ["next", "escalate"], "intentField": "intent",
                    "failFast": false, "fallbackIntent": "escalate"
                },
                "transitions": {
                    "next": {"condition": "fit", "targets": {"good": "close", "bad": "initial.cut"}},
                    "escalate": {"target": "initial.cut"}
                }
            },
            "close": {
                "stepKind": "closure", "c2": "closure", "c3": "order",
                "structuredGate": {"allowedIntents": ["closing", "repeat"], "intentField": "intent"},
                "transitions": {"closing": {"target": null}, "repeat": {"target": "sew"}}
            }
        }
    });
    let schemas = json!({
        "$defs": {"cloth": {"type": "string", "description": "what it is made of"}},
        "initial.cut": {
            "type": "object", "allOf": [{"$ref": "common.json#/$defs/reply"}],
            "required": ["found"],
            "properties": {"found": {"type": "object", "properties": {"cloth": {"$ref": "#/$defs/cloth"}}}}
        }
    });
    Later { agent, registry, schemas }
}

impl Later {
    pub(super) fn with(mut self, change: impl FnOnce(&mut Self)) -> Self {
        change(&mut self);
        self
    }

    pub(super) fn project(&self) -> Project {
        let text = |json: &Json| serde_json::to_string_pretty(json).expect("JSON");
        let common = json!({"$id": "common", "$defs": {"reply": {
            "type": "object", "required": ["summary"], "properties": {"summary": {"type": "string"}}
        }}});
        Project::tailor()
            .file("agent.json", text(&self.agent))
            .file("steps_registry.json", text(&self.registry))
            .file("schemas/order.schema.json", text(&self.schemas))
            .file("schemas/common.json", text(&common))
            .file("prompts/steps/initial/cut/f_default.md", "Cut for {uv-customer}.\n")
            .file("prompts/steps/continuation/sew/f_default.md", "Sew the {uv-initial_cut_cloth}.\n")
            .file("prompts/steps/closure/order/f_default.md", "Close.\n")
            .file("prompts/steps/closure/order/f_failed_dirty.md", "Clean up, {uv-customer}: {uv-files}\n")
    }

    pub(super) fn said(&self) -> String {
        listed(&self.project().load().diagnostics)
    }
}

/// Formats every section with its condition.
fn sections(prompt: &Prompt) -> String {
    let part = |part: &PromptPart| match part {
        PromptPart::Fixed(Text::Inline(text)) => text.to_string(),
        PromptPart::Fixed(Text::Blob { .. }) => panic!("a lowered text is inline"),
        PromptPart::Value(Variable::Output { stage, key, .. }, _) => format!("<{stage}.{key}>"),
        PromptPart::Value(variable, _) => format!("<{variable:?}>"),
    };
    let shown = prompt.sections.iter().filter(|section| section.when != SectionCondition::NewSession);
    let shown = shown.map(|section| {
        let body: String = section.body.iter().map(part).collect();
        format!("{:?}: {}", section.when, body.trim_end())
    });
    shown.collect::<Vec<_>>().join("\n")
}

fn json_of(value: &impl serde::Serialize) -> String {
    serde_json::to_string(value).expect("JSON")
}

#[test]
fn a_runner_says_what_a_behavior_says() {
    let later = later();
    assert_eq!(
        later.said(),
        "note steps/other-name agent.json:31:15 `detect:graph` is another name of `stepMachine`"
    );
    let workflow = later.project().workflow();
    assert_eq!(workflow.entry.as_str(), "initial.cut");
    let ids: Vec<&str> = workflow.stages.keys().map(|id| id.as_str()).collect();
    assert_eq!(ids, ["close", "initial.cut", "sew"]);
    assert_eq!(workflow.limits.rounds, Some(12));
    let cut = turn(&workflow, "initial.cut");
    assert_eq!(cut.model.as_deref(), Some("opus"));
    assert_eq!(turn(&workflow, "sew").model.as_deref(), Some("haiku"));
    assert_eq!(json_of(&cut.permission), r#"{"edit":{"commands":false}}"#);
    assert_eq!(json_of(&cut.tools), r#"["Read","Edit"]"#);
    assert_eq!(
        cut.persona.as_ref().map(|text| format!("{text:?}")).as_deref(),
        Some("Inline(\"You are a tailor.\\n\")")
    );
}

#[test]
fn a_gate_becomes_a_choice_by_a_field_and_transitions_its_rules() {
    let workflow = later().project().workflow();
    let exits = ["initial.cut", "sew", "close"].map(|id| json_of(&stage(&workflow, id).exit));
    insta::assert_snapshot!(exits.join("\n"), @r#"
    {"rules":{"rules":[{"when":{"is":"next"},"then":{"stage":"sew"}},{"when":{"is":"repeat"},"then":{"again":{"exhausted":{"end":{"failed":"step_failed initial.cut"}}}}},{"when":{"is":"jump"},"then":{"named_by":{"pointer":"/next_action/target"}}}],"otherwise":{"end":{"failed":"step_failed initial.cut"}}}}
    {"rules":{"rules":[{"when":{"is":"next (bad)"},"then":{"stage":"initial.cut"}},{"when":{"is":"next (good)"},"then":{"stage":"close"}},{"when":{"is":"escalate"},"then":{"stage":"initial.cut"}}],"otherwise":{"end":{"failed":"step_failed sew"}}}}
    {"rules":{"rules":[{"when":{"is":"closing"},"then":"complete"},{"when":{"is":"repeat"},"then":{"stage":"sew"}}],"otherwise":{"end":{"failed":"step_failed close"}}}}
    "#);
    let choices = ["initial.cut", "sew", "close"].map(|id| json_of(&turn(&workflow, id).reads.choice));
    insta::assert_snapshot!(choices.join("\n"), @r#"
    {"options":[{"number":0,"label":"next"},{"number":1,"label":"repeat"},{"number":2,"label":"jump"}],"found_by":[{"field":{"pointer":"/next_action/action","means":{"continue":"next","fail":"repeat","jump":"jump","next":"next","pass":"next","repeat":"repeat","retry":"repeat","wait":"repeat"},"narrowed":[{"label":"jump","pointer":"/next_action/target","means":{"close":"jump","initial.cut":"jump","sew":"jump"}}],"unsaid":"wrong"}}]}
    {"options":[{"number":0,"label":"next (bad)"},{"number":1,"label":"next (good)"},{"number":2,"label":"escalate"}],"found_by":[{"field":{"pointer":"/intent","means":{"continue":"next","escalate":"escalate","next":"next","pass":"next"},"narrowed":[{"label":"next","pointer":"/fit","means":{"bad":"next (bad)","good":"next (good)"}}],"unsaid":{"label":"escalate"}}}]}
    {"options":[{"number":0,"label":"closing"},{"number":1,"label":"repeat"}],"found_by":[{"field":{"pointer":"/intent","means":{"closing":"closing","done":"closing","fail":"repeat","finished":"closing","repeat":"repeat","retry":"repeat","wait":"repeat"},"unsaid":"wrong"}}]}
    "#);
}

#[test]
fn a_schema_is_found_by_file_and_name_and_made_whole() {
    let workflow = later().project().workflow();
    let output = turn(&workflow, "initial.cut").reads.output.as_ref().expect("a schema");
    insta::assert_snapshot!(json_of(output), @r###"{"schema":{"schema":{"allOf":[{"properties":{"summary":{"type":"string"}},"required":["summary"],"type":"object"}],"properties":{"found":{"properties":{"cloth":{"description":"what it is made of","type":"string"}},"type":"object"},"next_action":{"properties":{"action":{"description":"next|repeat|jump","type":"string"}},"required":["action"],"type":"object"}},"required":["found"],"type":"object"},"required":true},"corrections":1,"correction":{"sections":[{"body":[{"fixed":{"inline":"## Carried over from the previous iteration\n\n"}},{"value":["combined",{"tail":4000}]},{"fixed":{"inline":"\n\n"}},{"value":["context","plain"]},{"fixed":{"inline":"\n\n"}}],"when":"new_session"},{"body":[{"fixed":{"inline":"Your output violates the schema: "}},{"value":["violations","plain"]},{"fixed":{"inline":". Return only the corrected JSON."}}],"when":"always"}],"join":"as_is"},"still_wrong":{"go":{"end":{"failed":"step_failed initial.cut"}}},"shaping":{"fixed":{"stepId":"initial.cut"},"lifted":{"cloth":"/found/cloth"}},"names":{"prefix":"initial_cut_","collided":{"end":{"failed":"step_failed initial.cut"}}}}"###);
    insta::assert_snapshot!(sections(&turn(&workflow, "initial.cut").prompt), @r#"
    Always: Cut for (the customer).
    Always: 
    Reply with exactly one ```json block of this form:
    ```json
    {
      "allOf": [
        {
          "properties": {
            "summary": {
              "type": "string"
            }
          },
          "required": [
            "summary"
          ],
          "type": "object"
        }
      ],
      "properties": {
        "found": {
          "properties": {
            "cloth": {
              "description": "what it is made of",
              "type": "string"
            }
          },
          "type": "object"
        },
        "next_action": {
          "properties": {
            "action": {
              "description": "next|repeat|jump",
              "type": "string"
            }
          },
          "required": [
            "action"
          ],
          "type": "object"
        }
      },
      "required": [
        "found"
      ],
      "type": "object"
    }
    ```
    Filled: 
    ## Task
    <Task>
    "#);
    insta::assert_snapshot!(sections(&turn(&workflow, "sew").prompt), @r#"
    Always: Sew the <initial.cut.cloth>.
    Always: 
    Reply with exactly one ```json block of this form:
    ```json
    {
      "fit": "bad|good",
      "intent": "next|escalate"
    }
    ```
    "#);
}

#[test]
fn validators_become_proofs_of_closing_with_a_prompt_of_their_own() {
    let workflow = later().project().workflow();
    let close = turn(&workflow, "close");
    insta::assert_snapshot!(close.reads.proofs.iter().map(json_of).collect::<Vec<_>>().join("\n"), @r#"
    {"of":"closing","name":"clean","by":{"does":{"command":{"argv":["/bin/sh","-c","git status --porcelain"],"timeout":1800000,"told":"by_silence","written":"/p/.agent/tailor/steps_registry.json"}},"once":"read_only"},"refuted":{"again":{"at_most":2,"exhausted":{"end":{"failed":"retries_exhausted close 2"}}}}}
    {"of":"closing","name":"tests","by":{"does":{"command":{"argv":["/bin/sh","-c","make test"],"timeout":1800000,"told":"by_exit_code","written":"/p/.agent/tailor/steps_registry.json"}},"once":"read_only"},"refuted":{"again":{"at_most":2,"exhausted":{"end":{"failed":"retries_exhausted close 2"}}}}}
    "#);
    insta::assert_snapshot!(sections(&close.prompt), @r#"
    Unrefuted: Close.
    Refuted(0): Clean up, (the customer): <Refutation>
    Refuted(1): Clean up, (the customer): <Refutation>
    Always: 
    Reply with exactly one ```json block of this form:
    ```json
    {
      "intent": "closing|repeat"
    }
    ```
    "#);
    for (action, expected) in
        [("abort", r#"{"go":{"end":{"failed":"validation_failed close clean"}}}"#), ("skip", r#""remarked""#)]
    {
        let later = later().with(|later| {
            later.registry["validationSteps"]["close"]["onFailure"] = json!({"action": action})
        });
        let workflow = later.project().without("prompts/steps/closure/order/f_failed_dirty.md").workflow();
        assert_eq!(json_of(&turn(&workflow, "close").reads.proofs[0].refuted), expected);
    }
}

// The action of `closing` on the run's issue comes after the validators.
#[test]
fn closing_shows_on_the_issue_that_it_is_done() {
    let closes = |action: Option<&str>, verdict: &str, issue: Option<u64>| {
        let later = later().with(|later| {
            let labels =
                json!({"requirements": "docs", "completion": {"add": ["done"], "remove": ["doing"]}});
            later.agent["runner"]["integrations"] = json!({"github": {"enabled": true, "labels": labels}});
            if let Some(action) = action {
                later.agent["runner"]["integrations"]["github"]["defaultClosureAction"] = json!(action);
            }
            later.agent["runner"]["verdict"] = json!({"type": verdict, "config": {}});
            later.registry["entryStep"] = json!("sew");
        });
        let project =
            later.project().options(|options| options.issue = issue.and_then(saihai_model::IssueNumber::new));
        let workflow = project.workflow();
        let proofs = &turn(&workflow, "close").reads.proofs;
        let does: Vec<String> = proofs.iter().skip(2).map(|proof| json_of(&proof.by.does)).collect();
        format!("{} {}", does.join(" "), json_of(&workflow.completion))
    };
    let all = [
        closes(None, "poll:state", Some(7)),
        closes(Some("label-only"), "poll:state", Some(7)),
        closes(Some("label-and-close"), "detect:graph", Some(7)),
        closes(Some("close"), "detect:graph", None),
    ];
    insta::assert_snapshot!(all.join("\n"), @r#"
    {"close_issue":{"close":true}} {"outside":{"does":"issue_state","once":"read_only"}}
    {"close_issue":{"close":false,"add":["done"],"remove":["doing"]}} {"first":[{"outside":{"does":"issue_state","once":"read_only"}},"flow"]}
    {"close_issue":{"close":true,"add":["done"],"remove":["doing"]}} {"outside":{"does":"issue_state","once":"read_only"}}
     "flow"
    "#);
}

#[test]
fn what_the_earlier_keys_are_for_is_read_under_the_later_ones() {
    let keyword = later().with(|later| {
        later.agent["runner"]["verdict"] =
            json!({"type": "detect:keyword", "config": {"verdictKeyword": "DONE"}});
        later.registry["entryStep"] = json!("sew");
        later.agent["runner"]["actions"] = json!({"enabled": true, "types": ["note"]});
        later.agent["runner"]["execution"] = json!({"worktree": {"enabled": false}});
        later.registry["validationSteps"]["close"]["validationConditions"] =
            later.registry["validationSteps"]["close"]["postLLMConditions"].take();
        later.registry["validationSteps"]["close"].as_object_mut().unwrap().remove("postLLMConditions");
    });
    let workflow = keyword.project().workflow();
    assert_eq!(workflow.entry.as_str(), "sew");
    assert_eq!(turn(&workflow, "close").reads.proofs.len(), 2);
    assert!(turn(&workflow, "close").reads.blocks.is_some());
    assert!(json_of(&workflow.completion).contains(r#"{"keyword":{"word":"DONE","whole_line":false}}"#));
    let moved = later().with(|later| {
        later.agent["runner"]["flow"]["schemas"] = json!({"base": "forms", "inspection": {}});
        later.agent["runner"]["boundaries"]["askUserAutoResponse"] = json!("go on");
        later.registry["steps"]["sew"]["priority"] = json!(3);
        later.registry["steps"]["sew"]["structuredGate"]["intentSchemaRef"] = json!("#/x");
        later.registry["steps"]["close"]["structuredGate"]["intentSchemaRef"] = json!("#/x");
    });
    let project = moved
        .project()
        .file("forms/order.schema.json", r#"{"definitions": {"initial.cut": {"type": "object"}}}"#);
    insta::assert_snapshot!(listed(&project.load().diagnostics), @r"
    note steps/no-effect agent.json:28:9 `inspection` and `askUserAutoResponse` have no effect here
    note steps/other-name agent.json:36:15 `detect:graph` is another name of `stepMachine`
    note steps/no-effect steps_registry.json:31:28 `intentSchemaRef` and `priority` have no effect here
    ");
}

/// Returns the diagnostics after a change.
fn told(change: impl FnOnce(&mut Later)) -> String {
    let said = later().with(change).said();
    let said: Vec<&str> = said.lines().filter(|line| !line.contains("other-name")).collect();
    said.join("\n")
}

#[test]
fn what_is_wrong_with_a_gate_is_told() {
    let step = |id: &'static str, key: &'static str, value: Json| {
        move |later: &mut Later| later.registry["steps"][id][key] = value
    };
    let gate = |id: &'static str, key: &'static str, value: Json| {
        move |later: &mut Later| later.registry["steps"][id]["structuredGate"][key] = value
    };
    let all = [
        told(gate("initial.cut", "allowedIntents", json!(["next", "closing"]))),
        told(step("sew", "transitions", json!({"next": {"target": null}, "escalate": {"target": "sow"}}))),
        told(step(
            "close",
            "transitions",
            json!({"closing": {"target": "sew"}, "closed": {"target": "sew"}}),
        )),
        told(step(
            "sew",
            "transitions",
            json!({"next": {"target": "close", "condition": "fit"}, "jump": {"target": "sew"}}),
        )),
        told(gate("sew", "fallbackIntent", json!("jump"))),
        told(step("initial.cut", "stepKind", json!("chore"))),
        told(|later| {
            later.registry["steps"]["sew"].as_object_mut().unwrap().remove("kind");
            later.registry["steps"]["initial.cut"]["structuredGate"]
                .as_object_mut()
                .unwrap()
                .remove("targetField");
            later.registry["steps"]["close"].as_object_mut().unwrap().remove("structuredGate");
        }),
        told(gate("sew", "failFast", json!("no"))),
    ];
    insta::assert_snapshot!(all.join("\n---\n"), @"
    error steps/bad-value steps_registry.json:54:11 a step of kind `work` cannot say `closing` (it can say `next`, `repeat`, `jump` and `handoff`)
    warning steps/shadowed steps_registry.json:66:9 `repeat` is not among `allowedIntents`
    ---
    error steps/unknown-step steps_registry.json:93:21 step `sow` does not exist (did you mean `sew`?)
    error steps/bad-value steps_registry.json:96:21 `next` needs a step to go to (only `closing` ends the flow, in a step of kind `closure`)
    ---
    error steps/bad-value steps_registry.json:33:9 `closed` is not an intent
    error steps/bad-value steps_registry.json:37:21 `closing` ends the flow and leads to no step (write `null`)
    warning steps/shadowed steps_registry.json:106:5 the step `close` never says `closing`
    ---
    error steps/no-exit steps_registry.json:85:11 no next step for `escalate` (add `transitions.escalate`)
    warning steps/shadowed steps_registry.json:92:9 `jump` is not among `allowedIntents`
    error steps/bad-value steps_registry.json:95:17 a transition has either `target`, or `condition` and `targets`
    ---
    error steps/bad-value steps_registry.json:88:27 `jump` is not among `allowedIntents`
    ---
    error steps/bad-value steps_registry.json:50:19 `stepKind` must be `work`, `verification` or `closure`, not `chore`
    ---
    error steps/no-exit steps_registry.json:21:14 this step has no next step (add `structuredGate` and `transitions`)
    error steps/no-exit steps_registry.json:48:11 no next step for `jump` (add `targetField`, or `transitions.jump`)
    error steps/missing-key steps_registry.json:67:12 a step with a gate needs `stepKind` (write `work`, `verification` or `closure`)
    ---
    error steps/bad-type steps_registry.json:87:21 `failFast` must be `true` or `false`, not text (write `false`)
    ");
}

#[test]
fn what_is_wrong_with_validators_and_schemas_is_told() {
    let all = [
        told(|later| {
            later.registry["validationSteps"]["close"]["postLLMConditions"] = json!([{"validator": "clear"}])
        }),
        told(|later| later.registry["validators"]["clean"]["failurePattern"] = json!("messy")),
        told(|later| later.registry["validators"]["clean"]["phase"] = json!("preflight")),
        told(|later| {
            later.registry["validationSteps"]["close"]["preflightConditions"] =
                json!([{"validator": "clean"}])
        }),
        told(|later| later.registry["validationSteps"]["sew"] = json!({"postLLMConditions": []})),
        told(|later| later.registry["validators"]["clean"]["successWhen"] = json!("exitCode:1")),
        told(|later| {
            later.registry["steps"]["initial.cut"]["outputSchemaRef"]["schema"] = json!("initial.cot")
        }),
        told(|later| later.registry["steps"]["initial.cut"]["outputSchemaRef"]["file"] = json!("../x.json")),
        told(|later| later.registry["steps"]["initial.cut"]["outputSchemaRef"]["file"] = json!("x.json")),
        told(|later| later.schemas["$defs"]["cloth"] = json!({"items": {"$ref": "#/$defs/cloth"}})),
        told(|later| later.schemas["$defs"]["cloth"] = json!({"$ref": "https://example.com/x.json#/y"})),
        told(|later| later.schemas["$defs"]["cloth"] = json!({"$ref": "common.json#/y"})),
        told(|later| later.schemas["$defs"]["cloth"] = json!({"type": "silk"})),
    ];
    insta::assert_snapshot!(all.join("\n---\n"), @r"
    error steps/bad-value steps_registry.json:115:24 there is no validator `clear` (did you mean `clean`?)
    ---
    error steps/bad-value steps_registry.json:131:25 there is no failure pattern `messy`
    ---
    error steps/not-supported steps_registry.json:132:16 `clean` runs before a reply, which is not supported (write `postllm`)
    ---
    error steps/not-supported steps_registry.json:122:9 conditions before a reply are not supported (move them to `postLLMConditions`, or check them before you start Saihai)
    ---
    warning steps/shadowed steps_registry.json:124:5 the step `sew` never says `closing`
    ---
    error steps/bad-value steps_registry.json:133:22 `successWhen` must be `empty`, `non-empty` or `exitCode:0`, not `exitCode:1` (did you mean `exitCode:0`?)
    ---
    error steps/bad-value steps_registry.json:47:19 no schema `initial.cot` in `.agent/tailor/schemas/order.schema.json` (did you mean `initial.cut`?)
    ---
    error steps/path-escape steps_registry.json:46:17 `../x.json` leads upwards with `..` (write a path below the agent's own directory, with `/`)
    ---
    error steps/bad-file steps_registry.json:46:17 the file `.agent/tailor/schemas/x.json` does not exist
    ---
    error steps/bad-value steps_registry.json:47:19 the schema `initial.cut` cannot be used: `/$defs/cloth` contains itself
    ---
    error steps/bad-value steps_registry.json:47:19 the schema `initial.cut` cannot be used: `https://example.com/x.json#/y` is not a file
    ---
    error steps/bad-value steps_registry.json:47:19 the schema `initial.cut` cannot be used: nothing exists at `/y`
    ---
    error steps/bad-value steps_registry.json:47:19 the schema `initial.cut` cannot be used: at `/properties/found/properties/cloth/type`: `silk` is not one of the types `array`, `boolean`, `integer`, `null`, `number`, `object` and `string`
    ");
}

#[test]
fn what_cannot_be_done_is_refused_by_name() {
    let all = [
        told(|later| later.registry["steps"]["sew"]["runner"] = json!({"command": "make"})),
        told(|later| later.agent["runner"]["execution"] = json!({"finalize": {}})),
        told(|later| later.agent["behavior"] = json!({})),
        told(|later| {
            later.registry["steps"]["sew"]["transitions"]["next"] =
                json!({"target": "close", "fallback": "sew"})
        }),
    ];
    insta::assert_snapshot!(all.join("\n---\n"), @r"
    error steps/not-supported steps_registry.json:82:7 `runner` makes a program of a step, which is not supported: run it in a validator, or before Saihai
    ---
    error steps/not-supported agent.json:20:7 `finalize` is not supported: push and merge the changes of a run yourself
    ---
    error steps/mixed-shapes agent.json:12:3 an agent has either `behavior` or `runner`, not both
    ---
    error steps/not-supported steps_registry.json:96:11 `fallback` is not supported: a step that fails ends the run; let its gate allow `jump` or `repeat`, or write a `check` with `onFail` in the native shape
    ");
    let mixed = Project::tailor().registry("/steps/quote/structuredGate", json!({}));
    insta::assert_snapshot!(mixed.said(), @"error steps/not-supported steps_registry.json:50:7 `structuredGate` belongs to a registry of the later format, which has `agentId`");
}
