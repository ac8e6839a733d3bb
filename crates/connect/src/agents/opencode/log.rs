//! Facts that appear only in its log: the model's API refused a request, and OpenCode waits to retry.

use saihai_model::Millis;

/// Maximum silence during a retry. OpenCode waits at most 40 s unless its provider asks for more. Then it
/// would sleep for hours without a word. The remaining time is for the start of the answer.
pub(super) const LONGEST_PAUSE: Millis = Millis::seconds(120);

/// Returns the error of a refused request. Requests for a title do not matter.
pub(super) fn stream_error(line: &str) -> Option<&str> {
    let (_, rest) = is_log(line).then(|| line.split_once("message=\"stream error\" "))??;
    let (about, error) = rest.split_once("error.error=")?;
    let words = error.trim().trim_matches('"');
    about.contains("small=false").then(|| words.strip_prefix("AI_APICallError: ").unwrap_or(words))
}

/// Returns standard error without the log, which contains irrelevant errors.
pub(super) fn without_log(complaints: &str) -> String {
    complaints.split_inclusive('\n').filter(|line| !is_log(line)).collect()
}

fn is_log(line: &str) -> bool {
    line.starts_with("timestamp=")
}

#[cfg(test)]
mod tests {
    use super::*;

    const REFUSED: &str = "timestamp=2026-11-17T16:49:18.999Z level=ERROR run=53d3ded1 message=\"stream error\" providerID=x modelID=m session.id=ses_1 small=false agent=build mode=primary error.error=\"AI_APICallError: slow down\"\n";

    #[test]
    fn a_refused_request_is_told_from_that_of_a_title_and_from_a_complaint() {
        assert_eq!(stream_error(REFUSED), Some("slow down"));
        assert_eq!(stream_error(&REFUSED.replace("small=false", "small=true")), None);
        assert_eq!(stream_error(REFUSED.trim_start_matches("timestamp=")), None);
        assert_eq!(stream_error("timestamp=x level=ERROR message=\"Failed to fetch models.dev\"\n"), None);
        assert_eq!(without_log(&format!("{REFUSED}boom\n{REFUSED}")), "boom\n");
    }
}
