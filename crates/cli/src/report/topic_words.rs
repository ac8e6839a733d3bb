//! Messages about published topics and closing words.

use saihai_model::{Remark, StageId, Topic, Watch, Workflow};

use crate::terminal::visible_line;

/// Maximum number of topics in a message.
const NAMED: usize = 12;

/// Describes a closing word that came too early.
pub(crate) fn refused_words(missing: &[Topic]) -> String {
    format!("not done yet: {} not published", listed(missing.iter().map(Topic::as_str)))
}

/// Describes a remark about a topic (H-29, H-42, H-50).
pub(crate) fn remark_words(topic: &Topic, remark: Remark, workflow: &Workflow) -> String {
    let shown = visible_line(topic.as_str());
    match remark {
        Remark::Orphaned => {
            let routes = workflow.topics.iter().flat_map(|topics| &topics.routes);
            // A gate for unclaimed topics does not receive them.
            let routes = routes.filter(|route| !route.orphans);
            let mut valid: Vec<&str> = Vec::new();
            for pattern in routes.map(|route| route.pattern.as_str()) {
                if !valid.contains(&pattern) {
                    valid.push(pattern);
                }
            }
            if valid.is_empty() {
                return format!("nobody takes `{shown}`, or any other topic");
            }
            format!("nobody takes `{shown}`; taken are {}", listed(valid.into_iter()))
        }
        Remark::Undeclared => format!("`{shown}` was not declared by whoever published it"),
        Remark::OutOfScope => {
            format!("`{shown}` is outside the scope of whoever published it, and leads nowhere")
        }
    }
}

/// Describes a stage that accepts no more visits (H-52).
pub(crate) fn exhausted_words(stage: &StageId, topic: &Topic, instead: Option<&StageId>) -> String {
    let (stage, topic) = (visible_line(stage.as_str()), visible_line(topic.as_str()));
    let follows = match instead {
        Some(other) => format!("`{}` goes on", visible_line(other.as_str())),
        None => "nobody takes it".to_owned(),
    };
    format!("`{stage}` has had all its visits; published `{topic}`: {follows}")
}

/// Describes the alarm of a monitor (H-49, H-51).
pub(crate) fn alarm_words(monitor: usize, count: u32, workflow: &Workflow) -> String {
    let times = super::count(u64::from(count), "time");
    match workflow.monitors.get(monitor).map(|monitor| &monitor.watches) {
        Some(Watch::Silent { .. }) => format!("nothing was reported {times} in a row"),
        Some(Watch::Same { .. }) => format!("exactly the same was said {times} in a row"),
        Some(Watch::Cycle { .. } | Watch::SelfEntries { .. }) | None => {
            format!("monitor {monitor} fired at {count}")
        }
    }
}

/// Describes a line that resembles a directive. `what` is a reason code, a colon, and the line.
pub(crate) fn near_miss_words(what: &str) -> String {
    let (code, line) = what.split_once(": ").unwrap_or((what, ""));
    let why = match code {
        "in_code_block" => "stands in a code block",
        "quoted" => "stands in a quotation",
        "echoed" => "only repeats the prompt",
        "malformed_topic" => "names no topic",
        "inside_sentence" => "stands inside a sentence",
        "wrong_case" => "is written in another case",
        _ => return visible_line(what).into_owned(),
    };
    format!("“{}” {why} and does not count", visible_line(line))
}

fn listed<'a>(topics: impl Iterator<Item = &'a str>) -> String {
    let mut shown: Vec<String> = topics.map(|topic| format!("`{}`", visible_line(topic))).collect();
    if shown.len() > NAMED {
        let more = shown.len() - NAMED;
        shown.truncate(NAMED);
        shown.push(format!("{more} more"));
    }
    shown.join(", ")
}
