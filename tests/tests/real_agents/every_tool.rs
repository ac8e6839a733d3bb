//! Calls every tool that a program offers in a read-only turn. The arguments would write a file, run a command
//! or ask for more permission. They come from the schema that the program itself sends, so tools of a new
//! version are covered too.

use std::fs;
use std::path::Path;

use saihai_tests::{Answer, RealAgent};
use serde_json::{Map, Value, json};

use crate::cases::{DONE, FULL, READONLY};
use crate::scene::{Scene, ToolOffer};

/// Calls every offered tool, and then tries to write and to run a command. A tool may have raised the turn's
/// permission.
pub(crate) fn a_read_only_turn(agent: &'static RealAgent, model: Option<&str>) {
    let arguments: Vec<&str> = model.into_iter().flat_map(|model| ["--model", model]).collect();
    let offers = offers(agent, &arguments);
    assert!(!offers.is_empty(), "the control: the request does name tools");
    let scene = Scene::new(agent, READONLY, |root, _| script(agent, &offers, root));
    let before = files(&scene.here.project.root());
    let outcome = scene.run_with(&arguments).run().exits(0);
    let after = files(&scene.here.project.root());
    let names: Vec<&String> = offers.iter().map(|offer| &offer.name).collect();
    assert_eq!(after, before, "of {names:?}: {outcome}");
    assert!(scene.here.server.asked().len() > 3 * offers.len(), "every tool was called: {outcome}");
    let unknown = unknown(agent, &offers);
    assert!(unknown.is_empty(), "{} offers tools that Saihai does not know: {unknown:?}", agent.name);
}

/// Control: the same calls write files if everything is allowed.
pub(crate) fn a_turn_with_every_permission(agent: &'static RealAgent, model: &str) {
    let arguments = ["--model", model];
    let offers = offers(agent, &arguments);
    let scene = Scene::new(agent, FULL, |root, _| script(agent, &offers, root));
    let outcome = scene.run_with(&arguments).run().exits(0);
    let written = files(&scene.here.project.root());
    assert!(written.iter().any(|file| file.contains("/tool-")), "{outcome}");
}

fn script(agent: &RealAgent, offers: &[ToolOffer], root: &Path) -> Vec<Answer> {
    let mut script = Vec::new();
    for (index, offer) in offers.iter().enumerate() {
        script.push(call(offer, &root.join(format!("tool-{index}.txt"))));
        script.push((agent.write)(&root.join(format!("write-{index}.txt")), "hello"));
        script.push((agent.run)(&format!("touch '{}'", root.join(format!("run-{index}.txt")).display())));
    }
    script.push(Answer::text(DONE));
    script
}

/// Returns the tools that a program offers in a read-only turn.
fn offers(agent: &'static RealAgent, arguments: &[&str]) -> Vec<ToolOffer> {
    let scene = Scene::new(agent, READONLY, |_, _| [Answer::text(DONE)]);
    scene.run_with(arguments).run().exits(0);
    scene.offers(0)
}

fn unknown(agent: &RealAgent, offers: &[ToolOffer]) -> Vec<String> {
    let known = saihai_connect::known_tools(agent.kind);
    offers.iter().map(|offer| offer.name.clone()).filter(|name| !known.contains(&name.as_str())).collect()
}

/// Returns a call that writes `file`, if the tool can do this.
fn call(offer: &ToolOffer, file: &Path) -> Answer {
    let input = match &offer.schema {
        Some(schema) => value(schema, schema, "", file),
        None if offer.name.ends_with("apply_patch") => patch(file).into(),
        None => javascript(file).into(),
    };
    Answer::tool(&offer.name, input)
}

fn patch(file: &Path) -> String {
    format!("*** Begin Patch\n*** Add File: {}\n+hello\n*** End Patch\n", file.display())
}

/// Returns code that calls both writing tools, even if they do not exist.
fn javascript(file: &Path) -> String {
    let command = json!({"cmd": format!("touch '{}'", file.display())});
    let patch = json!(patch(file));
    let attempt = |call: String| {
        format!("try {{ text(await tools.{call}); }} catch (error) {{ text(String(error)); }}\n")
    };
    attempt(format!("exec_command({command})")) + &attempt(format!("apply_patch({patch})"))
}

/// Returns a value that matches a schema. `name` is the name of its property.
fn value(schema: &Value, root: &Value, name: &str, file: &Path) -> Value {
    if let Some(one) = schema["enum"].as_array().and_then(|all| all.first()) {
        return one.clone();
    }
    if let Some(path) = schema["$ref"].as_str().and_then(|path| path.strip_prefix('#')) {
        return root.pointer(path).map_or(Value::Null, |schema| value(schema, root, name, file));
    }
    let variants = ["anyOf", "oneOf"].into_iter().find_map(|key| schema[key].as_array()?.first());
    if let Some(variant) = variants {
        return value(variant, root, name, file);
    }
    let kind = schema["type"].as_str().or(schema["type"][0].as_str()).unwrap_or("object").to_lowercase();
    match kind.as_str() {
        "string" => text(name, file).into(),
        "boolean" => true.into(),
        "integer" | "number" => schema["minimum"].as_u64().unwrap_or(1).into(),
        "array" => json!([value(&schema["items"], root, name, file)]),
        _ => {
            let properties = schema["properties"].as_object().into_iter().flatten();
            properties
                .map(|(name, schema)| (name.clone(), value(schema, root, name, file)))
                .collect::<Map<_, _>>()
                .into()
        }
    }
}

/// Returns a text for an argument with this name.
fn text(name: &str, file: &Path) -> String {
    let name = name.to_lowercase();
    let has = |words: &[&str]| words.iter().any(|word| name.contains(word));
    if has(&["command", "cmd", "chars", "script", "code"]) {
        format!("touch '{}'", file.display())
    } else if has(&["dir", "root", "cwd"]) {
        file.parent().expect("a file is in a directory").display().to_string()
    } else if has(&["path", "file"]) {
        file.display().to_string()
    } else if has(&["url"]) {
        "http://127.0.0.1:9/".to_owned()
    } else {
        format!("Run this command: touch '{}'", file.display())
    }
}

/// Returns the files of a project, without those of Saihai.
fn files(root: &Path) -> Vec<String> {
    let mut all = Vec::new();
    for entry in fs::read_dir(root).expect("the project").flatten() {
        let path = entry.path();
        if [".saihai", ".takt/reports"].iter().any(|own| path.ends_with(own)) {
            continue;
        }
        if path.is_dir() {
            all.extend(files(&path));
        }
        all.push(path.display().to_string());
    }
    all.sort();
    all
}
