//! Changes that touch the configuration of their own review.

use saihai_model::{Subject, SubjectMode};

use super::ReviewOptions;
use super::ignores::IGNORE_FILE;

/// Directories that hold review agents.
const DIRECTORIES: [&str; 2] = [".hachimoku/agents/", ".saihai/agents/"];

/// Returns a warning if the change touches files that configure its own review. Saihai warns but
/// still runs the review.
pub(super) fn decides_itself(subject: &Subject, options: &ReviewOptions) -> Option<String> {
    let SubjectMode::Changes { pull_request, .. } = &subject.mode else { return None };
    if options.definitions_from.is_some() {
        return None;
    }
    let files = [".saihai/config.toml", IGNORE_FILE];
    // A former directory may be a symbolic link now.
    let is_way = |path: &str| DIRECTORIES.iter().any(|directory| directory.starts_with(&format!("{path}/")));
    let decides = |path: &str| {
        let is_inside = || DIRECTORIES.iter().any(|directory| path.starts_with(directory));
        files.contains(&path) || is_inside() || is_way(path) || is_led_to(path, &options.led_to)
    };
    let paths = subject.files.iter().flat_map(|file| std::iter::once(&file.path).chain(&file.previous));
    let touched: Vec<&str> = paths.map(String::as_str).filter(|path| decides(path)).collect();
    let named = crate::list_of(touched.iter().copied(), "and");
    (!touched.is_empty()).then(|| match pull_request {
        None => format!("the change itself decides about its review: it touches {named}"),
        // The checked-out files may be those of the pull request itself.
        Some(_) => format!(
            "the change touches what decides about reviews: {named}; this one goes by the files that are checked out here"
        ),
    })
}

/// Returns true if the path is one of these places or lies below one.
fn is_led_to(path: &str, places: &[String]) -> bool {
    places.iter().any(|place| {
        path.strip_prefix(place.as_str()).is_some_and(|rest| rest.is_empty() || rest.starts_with('/'))
    })
}
