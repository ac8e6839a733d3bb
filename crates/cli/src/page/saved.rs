//! A run as one HTML file, with the page and all its data inside.

use saihai::LoadedRun;
use saihai_model::RoundPosition;

use super::model::{CallTexts, PAGE_VERSION, RunChanges, RunPage, SavedPage, SavedReportText};
use super::server::{SCRIPT, STYLES};
use super::texts::saved_report_text;
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::watching::LiveTexts;

#[derive(Debug, Clone, Copy)]
pub(crate) struct SavedPageOptions {
    pub(crate) without_prompts: bool,
}

/// Renders a run as an HTML document that needs no server and loads nothing.
pub(crate) fn saved_page(
    run: &LoadedRun,
    project: &Project,
    options: SavedPageOptions,
) -> Result<String, CommandError> {
    let now = quantities::now();
    let question = saihai::open_gate(&run.directory).ok().map(|(call, question, _)| (call, question));
    let page = RunPage::of(run, question.as_ref(), now)?;
    let calls = run.view.calls.iter().filter(|call| !matches!(call.place, RoundPosition::Report(_)));
    let mut texts = Vec::new();
    for call in calls {
        let mut text = CallTexts::of(run, call, &LiveTexts::new())?;
        if options.without_prompts {
            text.prompt = None;
        }
        texts.push(text);
    }
    let mut reports = Vec::new();
    for version in run.view.reports() {
        let text = saved_report_text(run, &version.file, version.seq)?.text;
        reports.push(SavedReportText { seq: version.seq, file: version.file, text });
    }
    let saved = SavedPage {
        version: PAGE_VERSION,
        program: env!("CARGO_PKG_VERSION").to_owned(),
        saved_at: now.0,
        texts,
        reports,
        changes: RunChanges::of(run, project)?,
        is_without_prompts: options.without_prompts,
        run: page,
    };
    let json = serde_json::to_string(&saved).unwrap_or_default();
    let title = escaped(&format!("{} · {}", run.view.start.definition, run.directory.id()));
    Ok(format!(
        "<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n\
         <meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n\
         <meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; img-src data:; \
         style-src 'unsafe-inline'; script-src 'unsafe-inline'\">\n\
         <title>{title}</title>\n<style>{STYLES}</style>\n</head>\n<body>\n<div id=\"app\"></div>\n\
         <script type=\"application/json\" id=\"saved\">{}</script>\n<script>{}</script>\n</body>\n</html>\n",
        inert(&json),
        SCRIPT.replace("</script", "<\\/script"),
    ))
}

/// Escapes JSON for a script element: no text of an agent can end it.
fn inert(json: &str) -> String {
    json.replace('<', "\\u003c").replace('\u{2028}', "\\u2028").replace('\u{2029}', "\\u2029")
}

fn escaped(text: &str) -> String {
    text.replace('&', "&amp;").replace('<', "&lt;").replace('>', "&gt;")
}

#[cfg(test)]
mod tests {
    use super::*;

    // V-9, V-10
    #[test]
    fn no_text_can_end_the_script_element() {
        let json = serde_json::to_string("</script><!--<script>\u{2028}").unwrap();
        let inert = inert(&json);
        assert!(!inert.contains('<'), "{inert}");
        let back: String = serde_json::from_str(&inert).unwrap();
        assert_eq!(back, "</script><!--<script>\u{2028}");
    }
}
