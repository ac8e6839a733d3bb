//! Search in the texts of all runs.

use std::time::{Duration, Instant};

use saihai::LoadedRun;
use saihai_model::CallId;

use super::model::{SearchHit, SearchPage};
use super::projects::ServedProjects;
use crate::commands::show_stage::report_text;
use crate::error::CommandError;

const MOST_HITS: usize = 200;
/// A search in very many runs ends here and says so.
const MOST_TIME: Duration = Duration::from_secs(8);
/// Characters on each side of a hit.
const AROUND: usize = 80;

impl SearchPage {
    /// Searches from the newest run on, without regard to letter case.
    pub(super) fn of(projects: &ServedProjects, query: &str) -> Result<Self, CommandError> {
        let query = query.trim().to_lowercase();
        let page = Self { hits: Vec::new(), has_more: false };
        let mut found = Search { query, address: String::new(), began: Instant::now(), page };
        if found.query.is_empty() {
            return Ok(found.page);
        }
        for (index, project) in projects.all().iter().enumerate() {
            for directory in project.runs().list()? {
                // One broken run does not hide the others.
                let Ok(run) = LoadedRun::read(&directory) else { continue };
                found.address = projects.address(index, directory.id());
                found.search_run(&run);
                if found.is_over() {
                    found.page.has_more = true;
                    return Ok(found.page);
                }
            }
        }
        Ok(found.page)
    }
}

struct Search {
    query: String,
    address: String,
    began: Instant,
    page: SearchPage,
}

impl Search {
    fn is_over(&self) -> bool {
        self.page.hits.len() >= MOST_HITS || self.began.elapsed() >= MOST_TIME
    }

    fn search_run(&mut self, run: &LoadedRun) {
        let text = |text| run.directory.text(text).unwrap_or_default();
        self.add(run, None, "task", &text(&run.view.start.task));
        for call in &run.view.calls {
            if self.is_over() {
                return;
            }
            if let Some(prompt) = call.prompt() {
                self.add(run, Some(&call.id), "prompt", &text(prompt));
            }
            if let Some(reply) = call.reply() {
                self.add(run, Some(&call.id), "reply", &text(reply.spoken.as_ref().unwrap_or(&reply.text)));
            }
        }
        for version in run.view.reports() {
            let text = report_text(&run.directory, &version).unwrap_or_default();
            self.add(run, Some(&version.call), "report", &text);
        }
    }

    /// Adds the first hit in a text.
    fn add(&mut self, run: &LoadedRun, call: Option<&CallId>, part: &str, text: &str) {
        let Some((before, hit, after)) = cut_around(text, &self.query) else { return };
        if self.page.hits.len() >= MOST_HITS {
            return;
        }
        self.page.hits.push(SearchHit {
            run: self.address.clone(),
            definition: run.view.start.definition.clone(),
            started: run.view.started.0,
            call: call.map(ToString::to_string),
            stage: call.map(|call| call.stage.to_string()),
            part: part.to_owned(),
            before,
            hit,
            after,
        });
    }
}

/// Returns the first place of a lower-case query, with the text around it.
fn cut_around(text: &str, query: &str) -> Option<(String, String, String)> {
    // Lower case can have other lengths, so the place is counted in characters.
    let lower = text.to_lowercase();
    let at = lower.find(query)?;
    let skipped = lower[..at].chars().count();
    let length = query.chars().count();
    let part = |from: usize, many: usize| text.chars().skip(from).take(many).collect::<String>();
    let from = skipped.saturating_sub(AROUND);
    Some((part(from, skipped - from), part(skipped, length), part(skipped + length, AROUND)))
}

#[cfg(test)]
mod tests {
    use super::*;

    // V-7
    #[test]
    fn a_hit_is_shown_with_the_text_around_it() {
        let found = cut_around("Die Tests schlagen FEHL, weil", "fehl");
        let (before, hit, after) = found.expect("a hit");
        assert_eq!(
            (before.as_str(), hit.as_str(), after.as_str()),
            ("Die Tests schlagen ", "FEHL", ", weil")
        );
        assert_eq!(cut_around("nothing", "fehl"), None);
        let long = format!("{}x{}", "あ".repeat(500), "い".repeat(500));
        let (before, hit, after) = cut_around(&long, "x").expect("a hit");
        assert_eq!((before.chars().count(), hit.as_str(), after.chars().count()), (AROUND, "x", AROUND));
    }
}
