//! Which of our variables a program is given (C-54): an allow-list, so that no key reaches it by accident.

use std::ffi::{OsStr, OsString};

const NAMES: [&str; 20] = [
    "PATH",
    "HOME",
    "USER",
    "LOGNAME",
    "SHELL",
    "LANG",
    "TZ",
    "TMPDIR",
    "http_proxy",
    "https_proxy",
    "all_proxy",
    "no_proxy",
    "HTTP_PROXY",
    "HTTPS_PROXY",
    "ALL_PROXY",
    "NO_PROXY",
    "SSL_CERT_FILE",
    "SSL_CERT_DIR",
    "CURL_CA_BUNDLE",
    "NODE_EXTRA_CA_CERTS",
];

const PREFIXES: [&str; 2] = ["LC_", "XDG_"];

/// What is passed on even less than all else: variables that raise an agent's permission (C-46).
const NEVER: [&str; 3] = ["COPILOT_ALLOW_ALL", "OPENCODE_PERMISSION", "OPENCODE_CONFIG_CONTENT"];

/// The variables a program is given: the allowed ones of ours, those named in `passed`, and no terminal.
pub(crate) fn allowed(ours: &[(OsString, OsString)], passed: &[String]) -> Vec<(OsString, OsString)> {
    let wanted = |name: &OsStr| {
        let Some(name) = name.to_str() else { return false };
        let listed = NAMES.contains(&name) || PREFIXES.iter().any(|prefix| name.starts_with(prefix));
        (listed || passed.iter().any(|pass| pass == name)) && !NEVER.contains(&name)
    };
    let mut given: Vec<_> = ours.iter().filter(|(name, _)| wanted(name)).cloned().collect();
    given.push(("NO_COLOR".into(), "1".into()));
    given.push(("TERM".into(), "dumb".into()));
    given
}
