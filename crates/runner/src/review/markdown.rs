//! Renders a report as Markdown, for people.

use saihai_config::Language;
use saihai_judge::review::{Anchor, Excerpt, Report, Reported, State, Status, Suppressed};

use super::mark_up::{self, code, line};
use super::words::{Heading, Words, assessment, seconds};

/// Renders the whole report. The first line states the outcome.
pub fn to_markdown(report: &Report, language: Language) -> String {
    let mut page = Page { words: Words::of(language), text: String::new() };
    page.line(&format!("**{}**", line(&page.words.outcome(report))));
    page.warnings(report);
    page.findings(report);
    let assessments = report.assessments.iter().map(|one| line(&assessment(one)));
    page.list(Heading::Assessments, assessments.collect());
    page.agents(report);
    let errors =
        report.load_errors.iter().map(|error| format!("{}: {}", code(&error.file), line(&error.message)));
    page.list(Heading::LoadErrors, errors.collect());
    page.aside(report);
    page.text
}

/// Renders a report without agents: the reason, and notes that still matter.
pub fn to_short_markdown(why: &str, report: &Report, language: Language) -> String {
    let mut page = Page { words: Words::of(language), text: String::new() };
    page.line(&line(why));
    page.warnings(report);
    page.text
}

struct Page {
    words: Words,
    text: String,
}

impl Page {
    fn line(&mut self, line: &str) {
        self.text.push_str(line);
        self.text.push('\n');
    }

    fn paragraph(&mut self, text: &str) {
        self.text.push('\n');
        self.line(text);
    }

    fn warnings(&mut self, report: &Report) {
        for warning in &report.warnings {
            let warning = format!("> **{}** {}", self.words.warning(), line(warning));
            self.paragraph(&warning);
        }
    }

    fn list(&mut self, heading: Heading, items: Vec<String>) {
        if items.is_empty() {
            return;
        }
        self.paragraph(&format!("## {}\n", self.words.heading(heading)));
        for item in items {
            self.line(&format!("- {item}"));
        }
    }

    /// Adds the findings by file, the file with the worst finding first. Findings outside the change come
    /// separately.
    fn findings(&mut self, report: &Report) {
        let (outside, inside): (Vec<&Reported>, Vec<&Reported>) =
            report.findings.iter().partition(|one| one.anchor == Anchor::Outside);
        for (heading, findings) in [(Heading::Findings, inside), (Heading::Outside, outside)] {
            if findings.is_empty() {
                continue;
            }
            self.paragraph(&format!("## {}", self.words.heading(heading)));
            for (file, group) in by_file(findings) {
                let title = file.map_or_else(|| self.words.heading(Heading::NoPlace).to_owned(), line);
                self.paragraph(&format!("### {title}"));
                for one in group {
                    self.finding(one);
                }
            }
        }
    }

    fn finding(&mut self, one: &Reported) {
        self.paragraph(&format!("- {}", self.head(one)));
        self.block(&one.finding.message);
        if let Some(excerpt) = &one.excerpt {
            self.excerpt(excerpt);
        }
        if let Some(suggestion) = &one.finding.suggestion {
            self.block(&self.words.suggestion(suggestion));
        }
        for said in self.words.others(one) {
            self.block(&said);
        }
    }

    /// Returns the heading of a finding: severity, location, agent, confidence and remarks.
    fn head(&self, one: &Reported) -> String {
        let (finding, words) = (&one.finding, self.words);
        let place = finding.place().map(|place| code(&place));
        let claimed = finding.claimed.as_deref().map(|place| line(&words.claimed(place)));
        let parts = [
            Some(format!("**{}**", words.severity(finding.severity))),
            place,
            words.kind(finding.kind).map(str::to_owned),
            Some(one.agents().join(", ")),
            finding.category.as_deref().map(line),
            finding.confidence.map(|percent| words.certain(percent)),
            one.state.map(|state| words.state(state).to_owned()),
            (!one.counts && one.state != Some(State::Persisting)).then(|| words.does_not_count().to_owned()),
            claimed,
            Some(code(&one.fingerprint)),
        ];
        parts.into_iter().flatten().collect::<Vec<String>>().join(" · ")
    }

    /// Adds an agent's text, indented into its list item.
    fn block(&mut self, text: &str) {
        self.text.push('\n');
        for one in mark_up::lines(text) {
            self.line(format!("  {one}").trim_end());
        }
    }

    fn excerpt(&mut self, excerpt: &Excerpt) {
        let fence = "`".repeat(mark_up::longest_ticks(&excerpt.lines).max(2) + 1);
        let last = (excerpt.first_line as usize + excerpt.lines.len()).saturating_sub(1);
        let width = last.to_string().len();
        self.text.push('\n');
        self.line(&format!("  {fence}"));
        for (index, text) in excerpt.lines.iter().enumerate() {
            let number = excerpt.first_line as usize + index;
            let shown = format!("  {number:>width$} | {}", mark_up::defused(text));
            self.line(shown.trim_end());
        }
        if excerpt.cut {
            self.line(&format!("  {:>width$} | …", ""));
        }
        self.line(&format!("  {fence}"));
    }

    fn agents(&mut self, report: &Report) {
        let words = self.words;
        let ran = report.results.iter().map(|result| {
            let status = line(&words.status(result));
            let cost = result.cost.map(|cost| format!(", {cost}")).unwrap_or_default();
            let mark = if matches!(result.status, Status::Success) { "" } else { "**" };
            let refused = result.refused.iter().map(|text| words.refused(text));
            let notes = result.notes.iter().cloned().chain(refused);
            let notes: String = notes.map(|note| format!("\n  - {}", line(&note))).collect();
            let name = line(&result.agent);
            format!("{mark}{name}{mark}: {status}, {}{cost}{notes}", seconds(result.elapsed_ms.0))
        });
        let left = report.selection.iter().filter(|one| !one.selected);
        let left =
            left.map(|one| format!("{}: {} ({})", line(&one.agent), words.not_selected(), line(&one.why)));
        self.list(Heading::Agents, ran.chain(left).collect());
    }

    /// Adds sections that do not affect the outcome.
    fn aside(&mut self, report: &Report) {
        let words = self.words;
        let suppressed = |one: &Suppressed| {
            let by = line(&words.suppressed_by(&one.by));
            format!("{} ({by}: {})", brief(words, &one.reported), line(&one.reason))
        };
        let (here, before): (Vec<&Suppressed>, Vec<&Suppressed>) =
            report.suppressed.iter().partition(|one| one.added_by_change);
        self.list(Heading::SuppressedHere, here.into_iter().map(suppressed).collect());
        self.list(Heading::Suppressed, before.into_iter().map(suppressed).collect());
        let filtered = report.filtered.iter().map(|one| {
            let certain = one.finding.confidence.map(|percent| words.certain(percent)).unwrap_or_default();
            format!("{} ({certain})", brief(words, one))
        });
        self.list(Heading::Filtered, filtered.collect());
        let fixed = report.fixed.iter().map(|one| {
            let place = one.file.as_deref().map(|file| format!("{} · ", code(file))).unwrap_or_default();
            format!("{place}{} · {}", line(&one.agents.join(", ")), line(&one.message))
        });
        self.list(Heading::Fixed, fixed.collect());
        let left = report.not_reviewed.iter().map(|one| {
            let agent = one.agent.as_deref().map(|agent| format!(" ({})", line(agent))).unwrap_or_default();
            format!("{}: {}{agent}", code(&one.file), one.reason.name())
        });
        self.list(Heading::NotReviewed, left.collect());
        let notices = report.notices.iter().map(|one| {
            format!(
                "{} {}: {}",
                one.level.name(),
                code(&format!("{}:{}", one.file, one.line)),
                line(&one.message)
            )
        });
        self.list(Heading::Notices, notices.collect());
    }
}

/// Formats a finding on one line, with remarks of other agents.
fn brief(words: Words, one: &Reported) -> String {
    let finding = &one.finding;
    let place = finding.place().map(|place| format!("{} · ", code(&place))).unwrap_or_default();
    let severity = words.severity(finding.severity);
    let others: String = words.others(one).iter().map(|said| format!("; {}", line(said))).collect();
    format!("**{severity}** · {place}{} · {}{others}", line(&finding.agent), line(&finding.message))
}

/// Groups findings by file, in order of first appearance. Findings without a file come last.
fn by_file(findings: Vec<&Reported>) -> Vec<(Option<&str>, Vec<&Reported>)> {
    let mut groups: Vec<(Option<&str>, Vec<&Reported>)> = Vec::new();
    for one in findings {
        let file = one.finding.file.as_deref();
        match groups.iter_mut().find(|(known, _)| *known == file) {
            Some((_, group)) => group.push(one),
            None => groups.push((file, vec![one])),
        }
    }
    groups.sort_by_key(|(file, _)| file.is_none());
    groups
}
