//! Numbers, money, budgets, times and durations, as people and programs read them.

use std::collections::BTreeSet;

use jiff::Timestamp;
use jiff::tz::TimeZone;
use saihai_model::{Budget, FileChangeCounts, Millis, Moment, ProviderName, Usage, Usd};
use saihai_view::RunSpending;
use serde::Serialize;

use crate::terminal::visible_line;

/// Formats a time for programs: RFC 3339 in UTC, with milliseconds.
pub(crate) fn rfc3339(moment: Moment) -> String {
    format!("{:.3}", timestamp(moment))
}

/// Formats a date and time for people, in the local time zone.
pub(crate) fn local(moment: Moment) -> String {
    format(moment, TimeZone::system(), "%Y-%m-%d %H:%M:%S")
}

/// Formats a time of day for people, in the local time zone.
pub(crate) fn local_clock(moment: Moment) -> String {
    format(moment, TimeZone::system(), "%H:%M:%S")
}

/// Formats a future time for people. Includes the date only on another day.
pub(crate) fn local_until(moment: Moment, now: Moment) -> String {
    until(moment, now, &TimeZone::system())
}

/// Returns the wall clock time, which serves only for display.
pub(crate) fn now() -> Moment {
    Moment(u64::try_from(Timestamp::now().as_millisecond()).unwrap_or(0))
}

/// Formats a duration: `850 ms`, `12 s`, `3 m 05 s`, `2 h 10 m`.
pub(crate) fn length(millis: Millis) -> String {
    let seconds = millis.0 / 1000;
    match (seconds / 3600, seconds / 60 % 60, seconds % 60) {
        (0, 0, 0) => format!("{} ms", millis.0),
        (0, 0, seconds) => format!("{seconds} s"),
        (0, minutes, seconds) => format!("{minutes} m {seconds:02} s"),
        (hours, minutes, _) => format!("{hours} h {minutes:02} m"),
    }
}

/// Formats a duration like a stopwatch: `0:07`, `12:40`, `1:02:03`.
pub(crate) fn stopwatch(millis: Millis) -> String {
    let seconds = millis.0 / 1000;
    match seconds / 3600 {
        0 => format!("{}:{:02}", seconds / 60, seconds % 60),
        hours => format!("{hours}:{:02}:{:02}", seconds / 60 % 60, seconds % 60),
    }
}

fn timestamp(moment: Moment) -> Timestamp {
    let millis = i64::try_from(moment.0).unwrap_or(i64::MAX);
    Timestamp::from_millisecond(millis).unwrap_or(Timestamp::MAX)
}

fn format(moment: Moment, zone: TimeZone, pattern: &str) -> String {
    timestamp(moment).to_zoned(zone).strftime(pattern).to_string()
}

fn until(moment: Moment, now: Moment, zone: &TimeZone) -> String {
    let day = |moment| timestamp(moment).to_zoned(zone.clone()).date();
    let pattern = if day(moment) == day(now) { "%H:%M:%S" } else { "%Y-%m-%d %H:%M:%S" };
    format(moment, zone.clone(), pattern)
}

pub(crate) fn grouped(number: u64) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (index, digit) in digits.chars().enumerate() {
        if index > 0 && (digits.len() - index).is_multiple_of(3) {
            text.push(',');
        }
        text.push(digit);
    }
    text
}

pub(crate) fn count(number: u64, what: &str) -> String {
    let plural = if number == 1 { "" } else { "s" };
    format!("{} {what}{plural}", grouped(number))
}

/// Formats tokens: `1,020 tokens`. Returns nothing if the provider reports none.
pub(crate) fn tokens(usage: &Usage) -> Option<String> {
    (usage.input.is_some() || usage.output.is_some()).then(|| count(usage.tokens(), "token"))
}

pub(crate) fn cost(cost: Option<Usd>) -> Option<String> {
    cost.map(|usd| usd.to_string())
}

/// Formats a total: `$0.0123 (without codex, gemini)`. The listed providers have turns without a price.
pub(crate) fn total_cost(total: Option<Usd>, unpriced: &BTreeSet<ProviderName>) -> Option<String> {
    let total = total?;
    if unpriced.is_empty() {
        return Some(total.to_string());
    }
    let names: Vec<_> = unpriced.iter().map(|name| visible_line(name.as_str())).collect();
    Some(format!("{total} (without {})", names.join(", ")))
}

#[derive(Debug, Serialize)]
pub(crate) struct BudgetObject {
    #[serde(skip_serializing_if = "Option::is_none")]
    usd: Option<f64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    tokens: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    turns: Option<u64>,
    #[serde(skip_serializing_if = "Option::is_none")]
    time_ms: Option<u64>,
}

impl BudgetObject {
    /// Returns nothing if nothing is bounded.
    pub(crate) fn new(budget: &Budget) -> Option<Self> {
        (!budget.is_unlimited()).then(|| Self {
            usd: budget.usd.map(Usd::dollars),
            tokens: budget.tokens,
            turns: budget.turns,
            time_ms: budget.time.map(|time| time.0),
        })
    }
}

/// Formats a budget: `$5.0000, 2,000,000 tokens`. Returns nothing if nothing is bounded.
pub(crate) fn budget_words(budget: &Budget) -> Option<String> {
    let Budget { usd, tokens, turns, time: driven } = budget;
    let mut parts = Vec::new();
    parts.extend(usd.map(|usd| usd.to_string()));
    parts.extend(tokens.map(|tokens| count(tokens, "token")));
    parts.extend(turns.map(|turns| count(turns, "turn")));
    parts.extend(driven.map(length));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Formats the spending: `$1.2000 of $5.0000, 12 of 40 turns`.
pub(crate) fn spending_words(spending: &RunSpending) -> Option<String> {
    let RunSpending { budget, spent, driven, .. } = spending;
    let mut parts = Vec::new();
    parts.extend(budget.usd.map(|usd| format!("{} of {usd}", spent.usd)));
    parts.extend(
        budget.tokens.map(|tokens| format!("{} of {}", grouped(spent.tokens), count(tokens, "token"))),
    );
    parts.extend(budget.turns.map(|turns| format!("{} of {}", grouped(spent.turns), count(turns, "turn"))));
    parts.extend(budget.time.map(|most| format!("{} of {}", length(*driven), length(most))));
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Formats the rest of a budget: `$3.8000, 28 turns`.
pub(crate) fn budget_left_words(spending: &RunSpending) -> Option<String> {
    let RunSpending { budget, spent, driven, .. } = spending;
    budget_words(&Budget {
        usd: budget.usd.map(|usd| Usd(usd.0.saturating_sub(spent.usd.0))),
        tokens: budget.tokens.map(|tokens| tokens.saturating_sub(spent.tokens)),
        turns: budget.turns.map(|turns| turns.saturating_sub(spent.turns)),
        time: budget.time.map(|time| Millis(time.0.saturating_sub(driven.0))),
    })
}

/// Names the keys of the budget that do not allow the next turn: `it may cost up to $0.0500; $0.0200 left`.
pub(crate) fn over_budget_words(spending: &RunSpending) -> Option<String> {
    let RunSpending { budget, spent, driven, next } = spending;
    let next = next.unwrap_or_default();
    let mut parts = Vec::new();
    if let Some(most) = budget.usd.filter(|most| is_over(most.0, spent.usd.0, next.usd.0)) {
        let left = Usd(most.0.saturating_sub(spent.usd.0));
        parts.push(match left {
            Usd(0) => format!("all of {most} is spent"),
            left => format!("it may cost up to {}; {left} left", next.usd),
        });
    }
    if let Some(most) = budget.tokens.filter(|most| is_over(*most, spent.tokens, next.tokens)) {
        parts.push(match most.saturating_sub(spent.tokens) {
            0 => format!("all {} are used", count(most, "token")),
            left => format!("it may use up to {}; {} left", count(next.tokens, "token"), grouped(left)),
        });
    }
    if let Some(most) = budget.turns.filter(|most| spent.turns >= *most) {
        parts.push(format!("{} used", count(most, "turn")));
    }
    if let Some(most) = budget.time.filter(|most| *driven >= *most) {
        parts.push(format!("{} used", length(most)));
    }
    (!parts.is_empty()).then(|| parts.join(", "))
}

/// Returns the `--budget` that allows the next turn: twice each exceeded total, or more if needed.
pub(crate) fn raised_budget(spending: &RunSpending) -> Option<String> {
    let RunSpending { budget, spent, driven, next } = spending;
    let next = next.unwrap_or_default();
    let twice = |most: u64, needed: u64| most.saturating_mul(2).max(needed);
    let mut keys = Vec::new();
    if let Some(most) = budget.usd.filter(|most| is_over(most.0, spent.usd.0, next.usd.0)) {
        // Whole cents are enough: round up.
        let cents = twice(most.0, spent.usd.0.saturating_add(next.usd.0)).div_ceil(10_000);
        let (dollars, cents) = (cents / 100, cents % 100);
        keys.push(if cents == 0 { format!("usd={dollars}") } else { format!("usd={dollars}.{cents:02}") });
    }
    if let Some(most) = budget.tokens.filter(|most| is_over(*most, spent.tokens, next.tokens)) {
        keys.push(format!("tokens={}", twice(most, spent.tokens.saturating_add(next.tokens))));
    }
    if let Some(most) = budget.turns.filter(|most| spent.turns >= *most) {
        keys.push(format!("turns={}", twice(most, spent.turns.saturating_add(1))));
    }
    if let Some(most) = budget.time.filter(|most| *driven >= *most) {
        keys.push(format!("minutes={}", twice(most.0, driven.0.saturating_add(1)).div_ceil(60_000)));
    }
    (!keys.is_empty()).then(|| keys.join(","))
}

/// Returns true if a key of the budget is used up, or the next turn would exceed it.
fn is_over(most: u64, spent: u64, next: u64) -> bool {
    spent >= most || spent.saturating_add(next) > most
}

/// A budget with the spending of each key.
#[derive(Serialize)]
pub(crate) struct SpendingObject {
    #[serde(flatten)]
    budget: BudgetObject,
    spent: BudgetObject,
}

impl SpendingObject {
    /// Returns nothing without a bound.
    pub(crate) fn of(spending: &RunSpending) -> Option<Self> {
        let RunSpending { budget, spent, driven, .. } = spending;
        let spent = BudgetObject {
            usd: budget.usd.map(|_| spent.usd.dollars()),
            tokens: budget.tokens.map(|_| spent.tokens),
            turns: budget.turns.map(|_| spent.turns),
            time_ms: budget.time.map(|_| driven.0),
        };
        BudgetObject::new(budget).map(|budget| Self { budget, spent })
    }
}

/// Formats the changes of a run: `2 files changed (+12 −3)`.
pub(crate) fn file_change_words(changes: FileChangeCounts) -> String {
    if changes.files == 0 {
        return "no files changed".to_owned();
    }
    let (added, removed) = (grouped(changes.added), grouped(changes.removed));
    format!("{} changed (+{added} −{removed})", count(changes.files, "file"))
}

#[cfg(test)]
mod time_tests {
    use super::*;

    const MOMENT: Moment = Moment(1_770_368_160_123);

    #[test]
    fn programs_get_utc_with_milliseconds() {
        assert_eq!(rfc3339(MOMENT), "2026-02-06T08:56:00.123Z");
        assert_eq!(rfc3339(Moment(1_770_368_160_000)), "2026-02-06T08:56:00.000Z");
        // No value causes a panic.
        assert_eq!(rfc3339(Moment(u64::MAX)), "9999-12-30T22:00:00.999Z");
    }

    // U-13
    #[test]
    fn people_get_their_own_time_and_the_date_only_when_it_differs() {
        let tokyo = TimeZone::fixed(jiff::tz::offset(9));
        assert_eq!(format(MOMENT, tokyo.clone(), "%H:%M:%S"), "17:56:00");
        assert_eq!(until(MOMENT.plus(Millis::seconds(3600)), MOMENT, &tokyo), "18:56:00");
        assert_eq!(until(MOMENT.plus(Millis::seconds(8 * 3600)), MOMENT, &tokyo), "2026-02-07 01:56:00");
    }

    #[test]
    fn lengths_read_well_at_every_size() {
        let all = [0, 850, 12_400, 185_000, 7_800_000].map(|millis| length(Millis(millis)));
        assert_eq!(all, ["0 ms", "850 ms", "12 s", "3 m 05 s", "2 h 10 m"]);
        let all = [7_000, 760_000, 3_723_000].map(|millis| stopwatch(Millis(millis)));
        assert_eq!(all, ["0:07", "12:40", "1:02:03"]);
    }
}

#[cfg(test)]
mod numbers_tests {
    use super::*;

    // K-35
    #[test]
    fn a_total_names_the_providers_that_it_lacks() {
        let unpriced = |names: &[&str]| names.iter().map(|name| ProviderName::from(*name)).collect();
        assert_eq!(total_cost(Some(Usd(12_300)), &unpriced(&[])).as_deref(), Some("$0.0123"));
        let lacks = total_cost(Some(Usd(12_300)), &unpriced(&["gemini", "codex"]));
        assert_eq!(lacks.as_deref(), Some("$0.0123 (without codex, gemini)"));
        assert_eq!(total_cost(None, &unpriced(&["codex"])), None);
    }

    #[test]
    fn digits_stand_in_groups_of_three() {
        let all = [0, 7, 999, 1_000, 12_345, 1_234_567].map(grouped);
        assert_eq!(all, ["0", "7", "999", "1,000", "12,345", "1,234,567"]);
    }

    #[test]
    fn unknown_tokens_are_not_shown_as_none_used() {
        assert_eq!(tokens(&Usage::default()), None);
        assert_eq!(
            tokens(&Usage { output: Some(1500), ..Usage::default() }).as_deref(),
            Some("1,500 tokens")
        );
    }
}

#[cfg(test)]
mod spending_tests {
    use saihai_model::{Budget, Cost, Millis, Usd};

    use super::*;
    use crate::quantities::budget_words;

    // K-35
    // U-21
    #[test]
    fn a_turn_that_the_budget_does_not_allow_is_priced_and_the_new_total_allows_it() {
        let check = |budget: Budget, spent: Cost, next: Cost, words: &str, raised: &str| {
            let driven = Millis::seconds(61);
            let spending = RunSpending { budget, spent, driven, next: Some(next) };
            assert_eq!(over_budget_words(&spending).as_deref(), Some(words));
            assert_eq!(raised_budget(&spending).as_deref(), Some(raised));
        };
        let usd = |micros: u64| Cost { usd: Usd(micros), tokens: 0, turns: 0 };
        let dollars = |micros: u64| Budget { usd: Some(Usd(micros)), ..Budget::default() };
        check(
            dollars(100_000),
            usd(80_000),
            usd(50_000),
            "it may cost up to $0.0500; $0.0200 left",
            "usd=0.20",
        );
        check(dollars(100_000), usd(100_000), usd(0), "all of $0.1000 is spent", "usd=0.20");
        check(
            dollars(1_000_000),
            usd(750_000),
            usd(2_750_000),
            "it may cost up to $2.7500; $0.2500 left",
            "usd=3.50",
        );
        let tokens = |tokens: u64| Cost { usd: Usd(0), tokens, turns: 0 };
        let budget = Budget { tokens: Some(10_000), ..Budget::default() };
        let words = "it may use up to 9,800 tokens; 200 left";
        check(budget, tokens(9_800), tokens(9_800), words, "tokens=20000");
        let budget = Budget { turns: Some(3), time: Some(Millis::seconds(60)), ..Budget::default() };
        let spent = Cost { usd: Usd(0), tokens: 0, turns: 3 };
        check(budget, spent, Cost::default(), "3 turns used, 1 m 00 s used", "turns=6,minutes=2");
    }

    #[test]
    fn a_budget_is_told_by_its_keys_and_what_was_spent_of_each() {
        let budget = Budget {
            usd: Some(Usd(5_000_000)),
            tokens: Some(2_000_000),
            turns: Some(1),
            time: Some(Millis::seconds(90 * 60)),
        };
        assert_eq!(budget_words(&budget).as_deref(), Some("$5.0000, 2,000,000 tokens, 1 turn, 1 h 30 m"));
        let spent = Cost { usd: Usd(1_200_000), tokens: 1_020, turns: 1 };
        let spending = RunSpending { budget, spent, driven: Millis::seconds(61), next: None };
        assert_eq!(
            spending_words(&spending).as_deref(),
            Some("$1.2000 of $5.0000, 1,020 of 2,000,000 tokens, 1 of 1 turn, 1 m 01 s of 1 h 30 m")
        );
        let object = serde_json::to_value(SpendingObject::of(&spending)).unwrap();
        let spent = serde_json::json!({"usd": 1.2, "tokens": 1_020, "turns": 1, "time_ms": 61_000});
        assert_eq!(object["spent"], spent);
        let free = RunSpending { budget: Budget::default(), ..spending };
        assert_eq!((budget_words(&free.budget), spending_words(&free)), (None, None));
        assert!(SpendingObject::of(&free).is_none());
    }
}
