//! Lines that Copilot CLI itself mixes into the messages of its model.
//!
//! They look like text of the model: `Info: Operation cancelled by user`, `Error: Authentication failed …
//! (HTTP 401)`. Each line arrives as a separate chunk.

use saihai_model::{Failure, FailureClass};

use crate::agent::{class_of_status, failure};

pub(super) fn is_notice(chunk: &str) -> bool {
    ["Info: ", "Error: "].iter().any(|start| chunk.starts_with(start))
}

/// Returns the failure that ended a turn. A model may start its only message with the same word. In that case
/// the turn has counted tokens, and the text names no status.
pub(super) fn failed(notice: &str, has_counted: bool) -> Option<Failure> {
    let words = notice.strip_prefix("Error: ")?;
    let status = status_in(notice);
    let class = status.map_or(FailureClass::Crashed, class_of_status);
    (status.is_some() || !has_counted).then(|| failure(class, words))
}

/// Finds the HTTP status in a text: `(HTTP 401)`, `Last error: 500 …`, `status 403`.
pub(super) fn status_in(text: &str) -> Option<u16> {
    let text = text.to_lowercase();
    let marks = ["http ", "error: ", "status ", "status code ", "status: "];
    let numbers =
        marks.iter().flat_map(|mark| text.match_indices(mark).map(|(at, _)| &text[at + mark.len()..]));
    let statuses = numbers.filter_map(|rest| {
        let digits: String = rest.chars().take_while(char::is_ascii_digit).collect();
        (digits.len() == 3).then(|| digits.parse().ok())?
    });
    statuses.into_iter().find(|status| (400..600).contains(status))
}

#[cfg(test)]
mod tests {
    use super::*;

    // C-32, with the messages of Copilot CLI 1.0.102.
    #[test]
    fn errors_have_their_classes() {
        let class =
            |notice: &str, has_counted| failed(notice, has_counted).map(|failure| failure.class.name());
        let key = "Error: Authentication failed with provider at http://127.0.0.1:36143/v1 (HTTP 401).";
        assert_eq!(class(key, true), Some("auth"));
        assert_eq!(class("Error: 400 bad", false), Some("bad_request"));
        let retried = "Error: Failed to get response from the AI model; retried 5 times Last error: 500 down";
        assert_eq!(class(retried, true), Some("transient"));
        assert_eq!(class("Error: something else", false), Some("crashed"));
        assert_eq!(class("Error: the file is missing, says the model", true), None);
        assert_eq!(class("Info: HTTP 401", false), None);
    }
}
