//! Collects what an agent program reports during a turn: messages, tool calls, tokens and cost.

use std::time::Instant;

use indexmap::IndexMap;
use jiff::Timestamp;
use saihai_model::{
    Ask, Failure, Json, Meter, Moment, Progress, ProviderAnswer, ProviderRefusal, Reply, ToolUse, Usage, Usd,
};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Deserializer};

use crate::agent::{AgentProfile, ProcessEnd, abrupt};
use crate::attempt::transcript_of;
use crate::structured::Structured;

/// The collected events of a turn.
#[derive(Debug, Default)]
pub(crate) struct TurnLog {
    pub(crate) session: Option<String>,
    /// Every message of the agent, in order. The last one may be incomplete.
    pub(crate) messages: AgentMessages,
    pub(crate) tools: ToolLog,
    /// Number of denied tool calls.
    pub(crate) denied: u32,
    /// Token counts, as far as reported.
    pub(crate) usage: Usage,
    pub(crate) cost: Option<Usd>,
    /// The session's counters, for programs that count per session.
    pub(crate) metered: Option<Meter>,
    pub(crate) warnings: Vec<String>,
}

impl TurnLog {
    /// Returns true if the agent neither said nor did anything (C-32).
    pub(crate) fn is_empty(&self) -> bool {
        self.messages.last().is_none() && !self.tools.has_finished()
    }

    /// Returns the reply with this text and value, which the program reports apart from its messages; else
    /// with its last message. Without any text, value or tool result it is the failure `nothing`.
    pub(crate) fn into_reply(
        self,
        ask: &Ask,
        text: Option<String>,
        value: Option<Json>,
        nothing: impl FnOnce() -> Failure,
    ) -> ProviderAnswer {
        let text = text.or_else(|| self.messages.last().cloned()).unwrap_or_default();
        let structured = Structured::of(ask, value, &text);
        if text.trim().is_empty() && structured.value.is_none() && !self.tools.has_finished() {
            return Err(self.into_refusal(nothing()));
        }
        let warnings = self.warnings.into_iter().chain(self.messages.warning(ask)).collect();
        Ok(Reply {
            text,
            responses: self.messages.into_spoken(),
            structured: structured.value,
            verdict: None,
            structured_error: structured.error,
            exit: None,
            session: self.session,
            usage: self.usage,
            cost: self.cost,
            tools_used: self.tools.into_uses(),
            denied: self.denied,
            metered: self.metered,
            warnings,
        })
    }

    /// Builds the refusal: the failure together with the usage so far (C-26).
    pub(crate) fn into_refusal(self, failure: Failure) -> ProviderRefusal {
        ProviderRefusal {
            failure,
            retry_after: None,
            usage: self.usage,
            cost: self.cost,
            session: self.session,
            metered: self.metered,
            said: None,
        }
    }

    /// Returns the refusal if there is a failure, or else the reply, which may be empty only for a failure.
    pub(crate) fn into_answer(
        self,
        ask: &Ask,
        profile: &AgentProfile,
        failed: Option<Failure>,
        end: &ProcessEnd,
    ) -> ProviderAnswer {
        match failed {
            Some(failure) => Err(self.into_refusal(failure)),
            None => self.into_reply(ask, None, None, || abrupt(profile, "answered nothing", end)),
        }
    }
}

/// Adds the usage of two answers. A sum is unknown only if both parts are.
pub(crate) fn sum_of_usage(one: &Usage, other: &Usage) -> Usage {
    Usage {
        input: sum_of_counts(one.input, other.input),
        output: sum_of_counts(one.output, other.output),
        cached: sum_of_counts(one.cached, other.cached),
        reasoning: sum_of_counts(one.reasoning, other.reasoning),
        cumulative: false,
    }
}

pub(crate) fn sum_of_counts(one: Option<u64>, other: Option<u64>) -> Option<u64> {
    match (one, other) {
        (Some(one), Some(other)) => Some(one.saturating_add(other)),
        (one, other) => one.or(other),
    }
}

/// Parses a time in the format that agents use.
pub(crate) fn moment(text: &str) -> Option<Moment> {
    let time: Timestamp = text.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Moment)
}

/// Maximum length of all messages; the end is kept. The transcript has all of it (C-52).
const LONGEST: usize = 4 * 1024 * 1024;

/// The messages of a turn, or the end of them if they are very long.
#[derive(Debug, Default)]
pub(crate) struct AgentMessages {
    all: Vec<String>,
    /// Total bytes of all messages.
    length: usize,
    left_off: usize,
}

impl AgentMessages {
    pub(crate) fn begin(&mut self, text: String) {
        self.length += text.len();
        self.all.push(text);
        self.shorten();
    }

    /// Appends to the last message, or starts the first one.
    pub(crate) fn go_on(&mut self, text: &str) {
        match self.all.last_mut() {
            Some(last) => {
                self.length += text.len();
                last.push_str(text);
                self.shorten();
            }
            None => self.begin(text.to_owned()),
        }
    }

    /// Returns the last message that is not blank (C-21).
    pub(crate) fn last(&self) -> Option<&String> {
        self.all.iter().rev().find(|message| !message.trim().is_empty())
    }

    /// Returns all messages that are not blank, in order.
    pub(crate) fn into_spoken(self) -> Vec<String> {
        self.all.into_iter().filter(|message| !message.trim().is_empty()).collect()
    }

    /// Returns a warning if messages were dropped.
    pub(crate) fn warning(&self, ask: &Ask) -> Option<String> {
        let length = self.length + self.left_off;
        let file = transcript_of(ask);
        (self.left_off > 0).then(|| {
            format!(
                "only the end of {length} bytes that were said is passed on; all of it is in {}",
                file.display()
            )
        })
    }

    /// Drops the oldest messages and the start of the next one. The buffer may grow to twice the limit, so
    /// that not every word moves all of it.
    fn shorten(&mut self) {
        if self.length <= 2 * LONGEST {
            return;
        }
        let mut surplus = self.length - LONGEST;
        let mut whole = 0;
        while let Some(message) = self.all.get(whole).filter(|message| message.len() <= surplus) {
            surplus -= message.len();
            whole += 1;
        }
        self.all.drain(..whole);
        if let Some(first) = self.all.first_mut() {
            let from = (surplus..).find(|at| first.is_char_boundary(*at)).unwrap_or_default();
            first.drain(..from);
        }
        let left: usize = self.all.iter().map(String::len).sum();
        self.left_off += self.length - left;
        self.length = left;
    }
}

/// The tool calls of a turn, in the order of their starts.
#[derive(Debug, Default)]
pub(crate) struct ToolLog {
    calls: IndexMap<String, LoggedToolCall>,
    /// Total bytes of all inputs and outputs.
    held: usize,
}

/// Maximum size of all inputs and outputs; the transcript has all of them (C-52).
const LARGEST: usize = 4 * 1024 * 1024;

#[derive(Debug)]
struct LoggedToolCall {
    name: String,
    input: Option<Json>,
    began: ToolTime,
    /// Duration and output, once the tool has returned.
    end: Option<(u64, Option<Json>)>,
}

/// A point in time: the agent's own time if it reports one, else ours.
#[derive(Debug, Clone, Copy)]
pub(crate) struct ToolTime {
    seen: Instant,
    said: Option<Moment>,
}

impl ToolTime {
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
        when: ToolTime,
        tell: &mut dyn FnMut(Progress),
    ) {
        if self.calls.contains_key(id) {
            return;
        }
        tell(Progress::ToolStarted(tool_words(name, input.as_ref())));
        let input = input.map(|input| self.hold(input));
        let call = LoggedToolCall { name: name.to_owned(), input, began: when, end: None };
        self.calls.insert(id.to_owned(), call);
    }

    /// Records the end of a tool. Ignores a tool whose start was not reported.
    pub(crate) fn finished(
        &mut self,
        id: &str,
        output: Option<Json>,
        when: ToolTime,
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

/// Input fields that say what a tool works on, the most telling first.
const TOOL_SUBJECTS: [&str; 11] = [
    "command",
    "cmd",
    "file_path",
    "filePath",
    "absolute_path",
    "path",
    "pattern",
    "query",
    "url",
    "prompt",
    "description",
];
/// Maximum characters of a tool's subject.
const SUBJECT_CHARS: usize = 160;

/// Describes a tool use on one line: `Bash: cargo test`, `Edit: src/lib.rs`.
fn tool_words(name: &str, input: Option<&Json>) -> String {
    let subject = TOOL_SUBJECTS.iter().find_map(|key| match input?.get(key)? {
        Json::String(text) => Some(text.clone()),
        Json::Array(words) => {
            let words: Vec<&str> = words.iter().filter_map(Json::as_str).collect();
            Some(words.join(" "))
        }
        _ => None,
    });
    let line = |text: String| {
        let first = text.trim().lines().next().unwrap_or_default().to_owned();
        first.chars().filter(|character| !character.is_control()).take(SUBJECT_CHARS).collect::<String>()
    };
    match subject.map(line).filter(|subject| !subject.is_empty() && subject != name) {
        Some(subject) => format!("{name}: {subject}"),
        None => name.to_owned(),
    }
}

/// The reported cost of a turn, which may be anything (T-64).
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub(crate) enum ReportedCost {
    /// The program reports no cost.
    #[default]
    Nothing,
    Amount(Usd),
    /// A value that is not an amount, unchanged.
    Senseless(String),
}

impl ReportedCost {
    pub(crate) fn amount(&self) -> Option<Usd> {
        match self {
            Self::Amount(amount) => Some(*amount),
            Self::Nothing | Self::Senseless(_) => None,
        }
    }

    /// Adds the cost of another part of the turn. The sum is unknown if either part makes no sense.
    pub(crate) fn and(self, other: Self) -> Self {
        match (self, other) {
            (Self::Amount(one), Self::Amount(other)) => Self::Amount(Usd(one.0.saturating_add(other.0))),
            (senseless @ Self::Senseless(_), _) | (_, senseless @ Self::Senseless(_)) => senseless,
            (Self::Nothing, told) | (told, Self::Nothing) => told,
        }
    }

    /// Returns a warning about a senseless value.
    pub(crate) fn warning(&self) -> Option<String> {
        match self {
            Self::Senseless(words) => {
                Some(format!("the agent reported the cost `{words}`, which is not an amount of money"))
            }
            Self::Nothing | Self::Amount(_) => None,
        }
    }
}

impl From<&Json> for ReportedCost {
    fn from(said: &Json) -> Self {
        const LONGEST: usize = 40;
        if said.is_null() {
            return Self::Nothing;
        }
        match said.as_f64().and_then(Usd::from_dollars) {
            Some(amount) => Self::Amount(amount),
            None => Self::Senseless(said.to_string().chars().take(LONGEST).collect()),
        }
    }
}

impl<'de> Deserialize<'de> for ReportedCost {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(Self::from(&Json::deserialize(deserializer)?))
    }
}

/// Computes this turn's share of a session's counters. In a new session that is everything. In a continued
/// one, it is the increase since the last known value. Without such a value it is everything, marked as
/// covering more than the turn.
pub(crate) fn share_of_turn(ask: &Ask, counted: &Meter) -> Meter {
    match (&ask.session, &ask.metered) {
        (None, _) => counted.clone(),
        (Some(_), Some(before)) => Meter {
            usage: Usage {
                input: since(counted.usage.input, before.usage.input),
                output: since(counted.usage.output, before.usage.output),
                cached: since(counted.usage.cached, before.usage.cached),
                reasoning: since(counted.usage.reasoning, before.usage.reasoning),
                cumulative: false,
            },
            cost: since(counted.cost.map(|cost| cost.0), before.cost.map(|cost| cost.0))
                .map(saihai_model::Usd),
        },
        (Some(_), None) => {
            let usage = Usage { cumulative: true, ..counted.usage.clone() };
            Meter { usage, cost: counted.cost }
        }
    }
}

/// A counter below its earlier value was reset, so all of it is new.
fn since(now: Option<u64>, before: Option<u64>) -> Option<u64> {
    match (now, before) {
        (Some(now), Some(before)) => Some(now.checked_sub(before).unwrap_or(now)),
        (Some(now), None) => Some(now),
        (None, _) => None,
    }
}

/// Returns the default for a field of an unexpected type.
pub(crate) fn or_default<'de, D, T>(deserializer: D) -> Result<T, D::Error>
where
    D: Deserializer<'de>,
    T: DeserializeOwned + Default,
{
    let value = Json::deserialize(deserializer)?;
    Ok(serde_json::from_value(value).unwrap_or_default())
}

#[cfg(test)]
mod tests {
    mod messages {
        use super::super::*;
        use crate::testing::ask;

        #[test]
        fn what_is_said_is_put_together_and_what_is_blank_is_none() {
            let mut messages = AgentMessages::default();
            messages.go_on("on");
            messages.go_on("e");
            messages.begin("two".to_owned());
            messages.begin(" \n".to_owned());
            assert_eq!(messages.last().map(String::as_str), Some("two"));
            assert_eq!(messages.warning(&ask()), None);
            assert_eq!(messages.into_spoken(), ["one", "two"]);
        }

        // C-52: memory stays bounded, with one long message or many short ones.
        #[test]
        fn of_very_much_the_end_is_held_and_that_is_said() {
            for is_one in [true, false] {
                let mut messages = AgentMessages::default();
                let mut most = 0;
                for number in 0..30_000 {
                    let text = format!("{number}{}漢", "a".repeat(1_000));
                    if is_one {
                        messages.go_on(&text)
                    } else {
                        messages.begin(text)
                    }
                    most = most.max(messages.all.iter().map(String::len).sum());
                }
                assert!(most <= 2 * LONGEST, "{most}");
                let warning = messages.warning(&ask()).unwrap_or_default();
                let expected = "only the end of 30228890 bytes that were said is passed on; all of it is in /run/scratch/plan.1.1.1-1.out";
                assert_eq!(warning, expected);
                let spoken = messages.into_spoken().concat();
                assert!(spoken.len() >= LONGEST - 4 && spoken.len() <= 2 * LONGEST);
                assert!(spoken.ends_with(&format!("29999{}漢", "a".repeat(1_000))));
            }
        }
    }

    mod tool_log {
        use serde_json::json;

        use super::super::*;

        // C-20, C-28
        #[test]
        fn tools_are_told_while_they_run_and_kept_with_what_they_took() {
            let (mut log, mut told) = (ToolLog::default(), Vec::new());
            let mut tell = |progress| told.push(progress);
            let at = |millis| ToolTime::said(Some(Moment(millis)));
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
                    Progress::ToolStarted(name("Read: a")),
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

        // U-10
        #[test]
        fn a_tool_is_shown_with_the_command_or_the_file_it_works_on() {
            let check = |name: &str, input: Json, expected: &str| {
                assert_eq!(tool_words(name, Some(&input)), expected);
            };
            check(
                "Bash",
                json!({"command": "cargo test -p parser\necho", "description": "x"}),
                "Bash: cargo test -p parser",
            );
            check("shell", json!({"command": ["sh", "-c", "make"]}), "shell: sh -c make");
            check("Edit", json!({"file_path": "src/lib.rs", "old_string": "a"}), "Edit: src/lib.rs");
            check("TodoWrite", json!({"todos": []}), "TodoWrite");
            check("Grep", json!({"pattern": "a\u{1b}[31m"}), "Grep: a[31m");
        }

        // C-20: a written file is a result, even without any output.
        #[test]
        fn a_tool_that_came_back_without_a_word_has_come_back() {
            let (mut log, mut tell) = (ToolLog::default(), |_| {});
            log.started("1", "write_file", None, ToolTime::now(), &mut tell);
            log.finished("1", None, ToolTime::now(), &mut tell);
            let uses = log.into_uses();
            assert_eq!(uses.iter().map(|tool| &tool.output).collect::<Vec<_>>(), [&Some(json!(""))]);
        }

        // C-52
        #[test]
        fn of_very_much_only_the_size_is_kept() {
            let (mut log, mut tell) = (ToolLog::default(), |_| {});
            for number in 0..100 {
                let id = number.to_string();
                log.started(&id, "Read", Some(json!({"path": "a"})), ToolTime::now(), &mut tell);
                log.finished(&id, Some(json!("a".repeat(1_000_000))), ToolTime::now(), &mut tell);
            }
            let outputs = log.into_uses().into_iter().filter_map(|tool| tool.output);
            let (held, left_out): (Vec<_>, Vec<_>) =
                outputs.partition(|output| output.to_string().len() > 100);
            assert_eq!((held.len(), left_out.len()), (4, 96));
            assert_eq!(left_out[0], json!("(1000000 bytes, left out)"));
        }
    }

    mod told_cost {
        use serde_json::json;

        use super::super::*;

        fn senseless(words: &str) -> ReportedCost {
            ReportedCost::Senseless(words.to_owned())
        }

        #[test]
        fn only_an_amount_is_one() {
            let check = |said: Json, expected: ReportedCost| {
                assert_eq!(ReportedCost::from(&said), expected, "{said}")
            };
            check(json!(0.0006), ReportedCost::Amount(Usd(600)));
            check(json!(0), ReportedCost::Amount(Usd(0)));
            check(json!(null), ReportedCost::Nothing);
            check(json!(-0.5), senseless("-0.5"));
            check(json!(1e308), senseless("1e+308"));
            check(json!("NaN"), senseless("\"NaN\""));
            check(json!({"usd": 1}), senseless("{\"usd\":1}"));
            check(json!("x".repeat(1_000)), senseless(&format!("\"{}", "x".repeat(39))));
        }

        #[test]
        fn a_sum_with_something_senseless_in_it_makes_no_sense() {
            let amount = |micros| ReportedCost::Amount(Usd(micros));
            assert_eq!(amount(1).and(amount(2)), amount(3));
            assert_eq!(ReportedCost::Nothing.and(amount(2)).and(ReportedCost::Nothing), amount(2));
            assert_eq!(amount(u64::MAX).and(amount(2)), amount(u64::MAX));
            assert_eq!(amount(1).and(senseless("-1")).and(amount(2)), senseless("-1"));
        }
    }

    mod metering {
        use saihai_model::Usd;

        use super::super::*;
        use crate::testing::ask;

        fn meter(input: u64, cost: u64) -> Meter {
            Meter { usage: Usage { input: Some(input), ..Usage::default() }, cost: Some(Usd(cost)) }
        }

        fn check(session: bool, before: Option<Meter>, expected: (u64, u64, bool)) {
            let session = session.then(|| "s".to_owned());
            let turn = share_of_turn(&Ask { session, metered: before, ..ask() }, &meter(400, 1_200));
            let (usage, cost) = (turn.usage, turn.cost);
            assert_eq!(
                (usage.input, cost, usage.cumulative),
                (Some(expected.0), Some(Usd(expected.1)), expected.2)
            );
            assert_eq!(usage.output, None, "what is unknown stays absent");
        }

        // C-27, Connections cases 10 and 14
        #[test]
        fn a_continued_session_has_cost_what_came_since_it_was_last_heard_of() {
            check(true, Some(meter(200, 600)), (200, 600, false));
        }

        // C-27
        #[test]
        fn without_an_earlier_value_the_whole_session_counts_and_says_so() {
            check(true, None, (400, 1_200, true));
            check(false, None, (400, 1_200, false));
        }

        #[test]
        fn a_counter_that_started_again_is_no_negative_amount() {
            check(true, Some(meter(500, 9_000)), (400, 1_200, false));
        }
    }
}
