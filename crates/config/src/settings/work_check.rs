//! Checks of `work` settings beyond the kinds of values.

use saihai_model::RepositoryName;

use super::ref_name;
use super::values::{Setting, Values};
use crate::diagnostic::{Diagnostic, Diagnostics, DocumentPath, quoted};

/// Maximum length of a label prefix. Forges allow 50 characters, and the longest suffix takes 11
/// with its colon.
const LABEL_PREFIX: usize = 39;

/// Returns the problem of a text and a suggested fix.
type Check = fn(&str) -> Option<(String, String)>;

/// Reports `work` values of the right kind that are still invalid.
pub(super) fn check(said: &Values, diagnostics: &mut Diagnostics) {
    let work = said.section(&DocumentPath::of_keys("work"));
    let checks: [(&str, Check); 6] = [
        ("repo", repository),
        ("api", api),
        ("branch_prefix", branch_prefix),
        ("base", base),
        ("remote", remote),
        ("label_prefix", label_prefix),
    ];
    for (key, check) in checks {
        let Some(setting) = work.get(key) else { continue };
        let wrong = setting.node.as_text().and_then(check);
        diagnostics.extend(wrong.map(|(why, hint)| refused(key, setting, &why).hint(hint)));
    }
    let (method, local) = (work.get("merge_method"), work.text("forge") == Some("local"));
    if let Some(setting) = method.filter(|method| local && method.node.as_text() != Some("merge")) {
        let why = "with the forge `local` there is only `merge`";
        diagnostics.push(refused("merge_method", setting, why));
    }
}

fn refused(key: &str, setting: &Setting, why: &str) -> Diagnostic {
    let value = quoted(setting.node.as_text().unwrap_or_default());
    setting.at.error("bad-value", format!("`{key}` cannot be {value}: {why}")).label("not allowed")
}

fn repository(text: &str) -> Option<(String, String)> {
    let wrong = RepositoryName::parse(text).is_none();
    wrong.then(|| ("it is not `OWNER/NAME`".to_owned(), "write `repo = \"me/tool\"`".to_owned()))
}

fn branch_prefix(text: &str) -> Option<(String, String)> {
    let why = ref_name::problem(&format!("{text}issue-1"))?;
    Some((format!("`{text}issue-1` is no name of a branch: {why}"), "write `feature/`".to_owned()))
}

fn base(text: &str) -> Option<(String, String)> {
    let why = ref_name::problem(text)?;
    Some((format!("it is no name of a branch: {why}"), "write the branch alone, such as `main`".to_owned()))
}

fn remote(text: &str) -> Option<(String, String)> {
    let why = ref_name::problem(text)?;
    Some((format!("it is no name of a remote: {why}"), "`git remote` lists those there are".to_owned()))
}

fn label_prefix(text: &str) -> Option<(String, String)> {
    let odd = |c: char| c.is_control() || c == ',' || c == ':';
    let why = if text.trim().is_empty() || text.trim() != text {
        "it is blank, or begins or ends with a space"
    } else if text.chars().any(odd) {
        "a comma, a colon and control characters cannot stand in it"
    } else if text.chars().count() > LABEL_PREFIX {
        "it is too long for the name of a label"
    } else {
        return None;
    };
    Some((why.to_owned(), "write a word, such as `saihai`".to_owned()))
}

/// Accepts only URLs that are safe for a token: encrypted, or on this machine.
fn api(text: &str) -> Option<(String, String)> {
    let hint = "write `https://HOST`; `http:` is for this machine alone".to_owned();
    let Some((scheme, rest)) = text.split_once("://") else {
        return Some(("it is not the address of a server".to_owned(), hint));
    };
    let place = rest.split('/').next().unwrap_or_default();
    let why = if place.is_empty() || rest.contains(['?', '#', ' ']) {
        "it is not the address of a server"
    } else if place.contains('@') {
        "a user or a password cannot stand in it"
    } else if scheme == "http" && !is_loopback(place) {
        "a token would be sent for everybody to read"
    } else if !matches!(scheme, "http" | "https") {
        "it begins neither with `https:` nor with `http:`"
    } else {
        return None;
    };
    Some((why.to_owned(), hint))
}

/// Returns true if a host, with or without a port, is this machine.
fn is_loopback(place: &str) -> bool {
    let host = match place.strip_prefix('[') {
        Some(rest) => rest.split(']').next().unwrap_or_default(),
        None => place.split(':').next().unwrap_or_default(),
    };
    let parts: Vec<Option<u8>> = host.split('.').map(|part| part.parse().ok()).collect();
    let is_own = matches!(parts.as_slice(), [Some(127), Some(_), Some(_), Some(_)]);
    is_own || host == "::1" || host.eq_ignore_ascii_case("localhost")
}
