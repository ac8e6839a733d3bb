//! Warnings about valid patterns that are probably mistakes (R-66).

use super::Applicability;
use super::glob::NamePattern;
use crate::diagnostic::{Diagnostics, Located, quoted};
use crate::fields::Fields;

/// Checks `[applicability]`. The caller has already rejected invalid patterns.
pub(super) fn patterns(fields: &Fields<'_>, applicability: &Applicability, found: &mut Diagnostics) {
    if applicability.is_never() {
        let message = "nothing selects this agent: it is not `always` for every change and has no patterns";
        let warning = fields.location().warning("never-selected", message);
        found.push(warning.hint("leave `[applicability]` out, or say `always = true`"));
    }
    let texts = |key: &str| fields.texts(key).unwrap_or_default();
    for pattern in texts("file_patterns") {
        file_pattern(&pattern, applicability, found);
    }
    for (pattern, regex) in texts("content_patterns").iter().zip(&applicability.content_patterns) {
        let shown = quoted(&pattern.value);
        if regex.needs_line_mode() {
            let message = format!("in {shown}, `^` and `$` mean the beginning and the end of the whole text");
            let warning = pattern.warning("anchor", message).label("not of a line");
            found.push(warning.hint("begin the pattern with `(?m)` if lines are meant"));
        }
        if pattern.value.contains(r"\s*\.+\s*") {
            let message = format!(r"in {shown}, `\.+` means dots themselves, not anything");
            let warning = pattern.warning("literal-dots", message).label("only dots");
            found.push(warning.hint(r"write `[\s\S]+?` for any text"));
        }
        if regex.backtracks() {
            let message = format!("{shown} cannot be searched for in linear time");
            let warning = pattern.warning("backtracking", message).label("goes back and forth");
            let hint = "where a search takes too long the agent is selected; without look-around, \
                        back-references and atomic groups it never does";
            found.push(warning.hint(hint));
        }
        if regex.matches_everything() && !applicability.always {
            found.push(matches_all(pattern));
        }
    }
    for pattern in texts("path_patterns").iter().filter(|pattern| is_everything(&pattern.value)) {
        if !applicability.always {
            found.push(matches_all(pattern));
        }
    }
}

fn file_pattern(pattern: &Located<String>, applicability: &Applicability, found: &mut Diagnostics) {
    if NamePattern::new(&pattern.value).needs_slash() {
        let message = format!("{} never matches: names of files have no directories", quoted(&pattern.value));
        let warning = pattern.warning("slash-in-pattern", message).label("holds a `/`");
        found.push(warning.hint("use `path_patterns` for whole paths"));
    } else if is_everything(&pattern.value) && !applicability.always {
        found.push(matches_all(pattern));
    }
}

fn is_everything(pattern: &str) -> bool {
    matches!(pattern, "*" | "**" | "**/*")
}

fn matches_all(pattern: &Located<String>) -> crate::Diagnostic {
    let message = format!("{} matches whatever changes", quoted(&pattern.value));
    let warning = pattern.warning("matches-all", message).label("selects the agent always");
    warning.hint("say `always = true` if that is meant")
}
