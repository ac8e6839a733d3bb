//! The tool calls of a turn.

use std::time::Instant;

use indexmap::IndexMap;
use saihai_model::{Json, Moment, Progress, ToolUse};

/// The tool calls of a turn, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct ToolLog {
    calls: IndexMap<String, Call>,
    /// Total bytes of all inputs and outputs.
    held: usize,
}

/// Maximum size of all inputs and outputs; the transcript has all of them (C-52).
const LARGEST: usize = 4 * 1024 * 1024;

#[derive(Debug)]
struct Call {
    name: String,
    input: Option<Json>,
    began: When,
    /// Duration and output, once the tool has returned.
    end: Option<(u64, Option<Json>)>,
}

/// A point in time: the agent's own time if it reports one, else ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct When {
    seen: Instant,
    said: Option<Moment>,
}

impl When {
    /// Returns the current time, with the agent's own time for it.
    pub(crate) fn said(said: Option<Moment>) -> Self {
        Self { seen: Instant::now(), said }
    }

    pub(crate) fn now() -> Self {
        Self::said(None)
    }

    fn since(self, earlier: Self) -> u64 {
        match (self.said, earlier.said) {
            (Some(later), Some(earlier)) => later.since(earlier).0,
            (Some(_), None) | (None, _) => {
                let seen = self.seen.saturating_duration_since(earlier.seen);
                u64::try_from(seen.as_millis()).unwrap_or(u64::MAX)
            }
        }
    }
}

impl ToolLog {
    /// Records the start of a tool. A second report changes nothing.
    pub(crate) fn started(
        &mut self,
        id: &str,
        name: &str,
        input: Option<Json>,
        when: When,
        tell: &mut dyn FnMut(Progress),
    ) {
        if self.calls.contains_key(id) {
            return;
        }
        tell(Progress::ToolStarted(name.to_owned()));
        let input = input.map(|input| self.hold(input));
        let call = Call { name: name.to_owned(), input, began: when, end: None };
        self.calls.insert(id.to_owned(), call);
    }

    /// Records the end of a tool. Ignores a tool whose start was not reported.
    pub(crate) fn finished(
        &mut self,
        id: &str,
        output: Option<Json>,
        when: When,
        tell: &mut dyn FnMut(Progress),
    ) {
        if self.calls.get(id).is_none_or(|call| call.end.is_some()) {
            return;
        }
        let output = output.map(|output| self.hold(output));
        let Some(call) = self.calls.get_mut(id) else { return };
        tell(Progress::ToolFinished(call.name.clone()));
        call.end = Some((when.since(call.began), output));
    }

    /// Returns the value, or only its size once the limit is reached.
    fn hold(&mut self, value: Json) -> Json {
        let size = value.as_str().map_or_else(|| value.to_string().len(), str::len);
        if self.held.saturating_add(size) > LARGEST {
            return Json::String(format!("({size} bytes, left out)"));
        }
        self.held += size;
        value
    }

    /// Returns true if a tool is still running.
    pub(crate) fn is_open(&self) -> bool {
        self.calls.values().any(|call| call.end.is_none())
    }

    /// Returns true if a tool has returned.
    pub(crate) fn has_finished(&self) -> bool {
        self.calls.values().any(|call| call.end.is_some())
    }

    pub(crate) fn into_uses(self) -> Vec<ToolUse> {
        let uses = self.calls.into_values().map(|call| {
            // An absent output means that the tool never returned. A tool that returned may have an empty
            // output.
            let (duration_ms, output) = match call.end {
                Some((length, output)) => {
                    (length, Some(output.unwrap_or_else(|| Json::String(String::new()))))
                }
                None => (0, None),
            };
            ToolUse { name: call.name, input: call.input, output, duration_ms }
        });
        uses.collect()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    // C-20, C-28
    #[test]
    fn tools_are_told_while_they_run_and_kept_with_what_they_took() {
        let (mut log, mut told) = (ToolLog::default(), Vec::new());
        let mut tell = |progress| told.push(progress);
        let at = |millis| When::said(Some(Moment(millis)));
        log.started("1", "Read", Some(json!({"path": "a"})), at(1_000), &mut tell);
        log.started("2", "Bash", None, at(1_100), &mut tell);
        log.started("1", "Read", None, at(1_200), &mut tell);
        log.finished("1", Some(json!("text")), at(1_250), &mut tell);
        log.finished("3", None, at(1_300), &mut tell);
        log.finished("1", Some(json!("again")), at(1_400), &mut tell);
        assert!(log.is_open() && log.has_finished());
        let name = |name: &str| name.to_owned();
        assert_eq!(
            told,
            [
                Progress::ToolStarted(name("Read")),
                Progress::ToolStarted(name("Bash")),
                Progress::ToolFinished(name("Read")),
            ]
        );
        let read = ToolUse {
            name: name("Read"),
            input: Some(json!({"path": "a"})),
            output: Some(json!("text")),
            duration_ms: 250,
        };
        let bash = ToolUse { name: name("Bash"), input: None, output: None, duration_ms: 0 };
        assert_eq!(log.into_uses(), [read, bash]);
    }

    // C-20: a written file is a result, even without any output.
    #[test]
    fn a_tool_that_came_back_without_a_word_has_come_back() {
        let (mut log, mut tell) = (ToolLog::default(), |_| {});
        log.started("1", "write_file", None, When::now(), &mut tell);
        log.finished("1", None, When::now(), &mut tell);
        let uses = log.into_uses();
        assert_eq!(uses.iter().map(|tool| &tool.output).collect::<Vec<_>>(), [&Some(json!(""))]);
    }

    // C-52
    #[test]
    fn of_very_much_only_the_size_is_kept() {
        let (mut log, mut tell) = (ToolLog::default(), |_| {});
        for number in 0..100 {
            let id = number.to_string();
            log.started(&id, "Read", Some(json!({"path": "a"})), When::now(), &mut tell);
            log.finished(&id, Some(json!("a".repeat(1_000_000))), When::now(), &mut tell);
        }
        let outputs = log.into_uses().into_iter().filter_map(|tool| tool.output);
        let (held, left_out): (Vec<_>, Vec<_>) = outputs.partition(|output| output.to_string().len() > 100);
        assert_eq!((held.len(), left_out.len()), (4, 96));
        assert_eq!(left_out[0], json!("(1000000 bytes, left out)"));
    }
}
