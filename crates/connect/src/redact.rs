//! Removes secrets from everything that is stored or displayed (C-55).
//!
//! A [`Redactor`] knows the secrets: the values of variables with telling names, in all their written forms,
//! and texts in the shape of a key. A [`Redaction`] removes them from a stream in pieces of any size. It
//! holds back every byte that may still belong to a secret. Overlapping secrets are removed as one, so
//! nothing of either is left.

use std::borrow::Cow;
use std::ffi::{OsStr, OsString};
use std::os::unix::ffi::OsStrExt as _;
use std::sync::Arc;

use regex::bytes::Regex;
use saihai_model::Json;

/// Parts of a variable's name that make its value a secret.
const NAMES: [&str; 4] = ["KEY", "TOKEN", "SECRET", "PASSWORD"];

/// Minimum length of a secret. Shorter values are common words.
pub const SHORTEST_SECRET: usize = 8;

/// Length of the prefix that the search uses before a full comparison.
const START: usize = 4;

#[derive(Debug)]
pub struct Redactor {
    /// Sorted by length, longest first.
    values: Vec<SecretValue>,
    starts: Vec<Vec<u8>>,
    /// Finds the prefixes; absent if there is nothing to find.
    finder: Option<Regex>,
}

#[derive(Debug, PartialEq, Eq, PartialOrd, Ord)]
struct SecretValue {
    bytes: Vec<u8>,
    name: String,
}

/// The result at one position.
enum SecretMatch<'a> {
    Nothing,
    /// More bytes are needed to decide.
    More,
    Secret {
        name: &'a str,
        length: usize,
        shape: Option<&'static KeyShape>,
    },
}

impl Redactor {
    /// Creates a redactor for the secrets among these variables, and for the shapes of keys.
    pub fn new<'a>(variables: impl IntoIterator<Item = (&'a OsStr, &'a OsStr)>) -> Self {
        let mut values: Vec<SecretValue> = Vec::new();
        for (name, value) in variables {
            let Some(name) = name.to_str().filter(|name| is_secret(name)) else { continue };
            let bytes = value.as_bytes().trim_ascii();
            // A short value is not a secret in a longer form either.
            for form in forms(bytes).into_iter().filter(|_| bytes.len() >= SHORTEST_SECRET) {
                if form.len() >= SHORTEST_SECRET && !values.iter().any(|value| value.bytes == form) {
                    values.push(SecretValue { bytes: form, name: name.to_owned() });
                }
            }
        }
        values.sort_by(|one, other| other.bytes.len().cmp(&one.bytes.len()).then_with(|| one.cmp(other)));
        let of_values = values.iter().map(|value| value.bytes[..START].to_vec());
        let of_shapes =
            SHAPES.iter().flat_map(|shape| shape.starts.iter().map(|start| start.as_bytes().to_vec()));
        let starts: Vec<_> = of_values.chain(of_shapes).collect();
        let finder = Regex::new(&alternatives(&starts)).ok();
        Self { values, starts, finder }
    }

    pub fn of_environment(environment: &[(OsString, OsString)]) -> Self {
        Self::new(environment.iter().map(|(name, value)| (name.as_os_str(), value.as_os_str())))
    }

    /// Returns the known values in all their forms.
    pub fn values(&self) -> Vec<Vec<u8>> {
        self.values.iter().map(|value| value.bytes.clone()).collect()
    }

    pub fn text<'a>(&self, text: &'a str) -> Cow<'a, str> {
        let suspicious = self.finder.as_ref().is_some_and(|finder| finder.is_match(text.as_bytes()));
        if !suspicious {
            return Cow::Borrowed(text);
        }
        let mut clean = Vec::with_capacity(text.len());
        let mut state = RedactionState::default();
        state.push(self, text.as_bytes(), &mut clean);
        state.finish(self, &mut clean);
        Cow::Owned(String::from_utf8_lossy(&clean).into_owned())
    }

    /// Redacts every text in a value, but no field names.
    pub fn json(&self, value: &mut Json) {
        match value {
            Json::String(text) => {
                if let Cow::Owned(clean) = self.text(text) {
                    *text = clean;
                }
            }
            Json::Array(items) => items.iter_mut().for_each(|item| self.json(item)),
            Json::Object(fields) => fields.values_mut().for_each(|field| self.json(field)),
            Json::Null | Json::Bool(_) | Json::Number(_) => {}
        }
    }

    /// Returns a redaction for a stream in pieces.
    pub fn stream(self: &Arc<Self>) -> Redaction {
        Redaction::new(Arc::clone(self))
    }

    /// Finds the next possible start of a secret, from a position on.
    fn next_start(&self, bytes: &[u8], from: usize) -> Option<usize> {
        self.finder.as_ref()?.find_at(bytes, from).map(|found| found.start())
    }

    /// Returns the number of bytes at the end that may be part of a prefix.
    fn unfinished(&self, bytes: &[u8]) -> usize {
        let longest = self.starts.iter().map(Vec::len).max().unwrap_or(1);
        let is_unfinished = |length: &usize| {
            let end = &bytes[bytes.len() - length..];
            self.starts.iter().any(|start| start.len() > end.len() && start.starts_with(end))
        };
        (1..longest.min(bytes.len() + 1)).rev().find(is_unfinished).unwrap_or(0)
    }

    /// Identifies the secret at this position. A known value gets its name even if it has the shape of a key.
    fn look(&self, bytes: &[u8], before: Option<u8>, is_all: bool) -> SecretMatch<'_> {
        let may_grow = |secret: &[u8]| !is_all && secret.len() > bytes.len() && secret.starts_with(bytes);
        for value in &self.values {
            if bytes.starts_with(&value.bytes) {
                return SecretMatch::Secret { name: &value.name, length: value.bytes.len(), shape: None };
            }
            if may_grow(&value.bytes) {
                return SecretMatch::More;
            }
        }
        for shape in &SHAPES {
            match shape.begins(bytes, before) {
                KeyStart::Yes(length) => {
                    return SecretMatch::Secret { name: shape.name, length, shape: Some(shape) };
                }
                KeyStart::Maybe if !is_all => return SecretMatch::More,
                KeyStart::Maybe | KeyStart::No => {}
            }
        }
        SecretMatch::Nothing
    }
}

fn is_secret(name: &str) -> bool {
    let name = name.to_uppercase();
    NAMES.iter().any(|part| name.contains(part))
}

/// Returns a pattern that matches any of these bytes.
fn alternatives(starts: &[Vec<u8>]) -> String {
    let literal = |bytes: &Vec<u8>| bytes.iter().map(|byte| format!("\\x{byte:02x}")).collect::<String>();
    let all: Vec<String> = starts.iter().map(literal).collect();
    format!("(?-u:{})", all.join("|"))
}

/// The redaction of one stream, in pieces.
#[derive(Debug)]
pub struct Redaction {
    redactor: Arc<Redactor>,
    state: RedactionState,
}

impl Redaction {
    fn new(redactor: Arc<Redactor>) -> Self {
        Self { redactor, state: RedactionState::default() }
    }

    /// Adds a part, and appends to `clean` all bytes that are decided.
    pub fn push(&mut self, part: &[u8], clean: &mut Vec<u8>) {
        self.state.push(&self.redactor, part, clean);
    }

    /// Ends the stream, and appends the bytes that were held back.
    pub fn finish(&mut self, clean: &mut Vec<u8>) {
        self.state.finish(&self.redactor, clean);
    }
}

/// The position in a stream.
#[derive(Debug, Default)]
struct RedactionState {
    /// Bytes that are not decided yet.
    held: Vec<u8>,
    before: Option<u8>,
    /// Number of held bytes that belong to a secret.
    covered: usize,
    /// The rest of a secret that continues.
    tail: Option<KeyTail>,
}

impl RedactionState {
    fn push(&mut self, redactor: &Redactor, part: &[u8], clean: &mut Vec<u8>) {
        self.held.extend_from_slice(part);
        self.decide(redactor, false, clean);
    }

    fn finish(&mut self, redactor: &Redactor, clean: &mut Vec<u8>) {
        self.decide(redactor, true, clean);
        *self = Self::default();
    }

    fn decide(&mut self, redactor: &Redactor, is_all: bool, clean: &mut Vec<u8>) {
        let mut at = 0;
        let decided = loop {
            let Some(start) = redactor.next_start(&self.held, at) else {
                let unfinished = if is_all { 0 } else { redactor.unfinished(&self.held[at..]) };
                let end = self.held.len() - unfinished;
                self.pass(at, end, clean);
                break end;
            };
            self.pass(at, start, clean);
            let before = start.checked_sub(1).map_or(self.before, |before| Some(self.held[before]));
            match redactor.look(&self.held[start..], before, is_all) {
                SecretMatch::More => break start,
                SecretMatch::Nothing => {}
                SecretMatch::Secret { name, length, shape } => {
                    if start >= self.covered && self.tail.is_none() {
                        clean.extend_from_slice(format!("[redacted:{name}]").as_bytes());
                    }
                    self.covered = self.covered.max(start + length);
                    self.tail = shape.map(|shape| KeyTail::new(shape.rest)).or(self.tail.take());
                }
            }
            self.pass(start, start + 1, clean);
            at = start + 1;
        };
        if decided > 0 {
            self.before = Some(self.held[decided - 1]);
            self.held.drain(..decided);
            self.covered = self.covered.saturating_sub(decided);
        }
    }

    /// Passes bytes through, except those of a secret.
    fn pass(&mut self, from: usize, to: usize, clean: &mut Vec<u8>) {
        let mut at = from.max(self.covered.min(to));
        if let Some(tail) = &mut self.tail
            && at < to
        {
            let (hidden, goes_on) = tail.hide(&self.held[at..to]);
            at += hidden;
            if !goes_on {
                self.tail = None;
            }
        }
        clean.extend_from_slice(&self.held[at..to]);
    }
}

/// Returns a secret as plain, JSON and percent-encoded text, and in base64 at every alignment.
fn forms(secret: &[u8]) -> Vec<Vec<u8>> {
    let mut forms = vec![secret.to_vec()];
    forms.extend(inside_json(secret));
    forms.extend([percent_encoded(secret, "0123456789ABCDEF"), percent_encoded(secret, "0123456789abcdef")]);
    for alphabet in [b"+/", b"-_"] {
        forms.extend((0..3).map(|before| in_base64(secret, before, *alphabet)));
    }
    forms
}

/// Escapes a value for a JSON text, if it is UTF-8.
fn inside_json(secret: &[u8]) -> Option<Vec<u8>> {
    let quoted = serde_json::to_string(std::str::from_utf8(secret).ok()?).ok()?;
    Some(quoted.get(1..quoted.len() - 1)?.as_bytes().to_vec())
}

/// Encodes all bytes that need it in any part of a URL.
fn percent_encoded(secret: &[u8], digits: &str) -> Vec<u8> {
    let digits = digits.as_bytes();
    let encode = |byte: &u8| match byte {
        b'A'..=b'Z' | b'a'..=b'z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => vec![*byte],
        byte => vec![b'%', digits[usize::from(byte >> 4)], digits[usize::from(byte & 15)]],
    };
    secret.iter().flat_map(encode).collect()
}

/// Returns the base64 letters that depend on the secret alone, after `before` other bytes. The letters at
/// both ends may depend on its neighbours.
fn in_base64(secret: &[u8], before: usize, last_letters: [u8; 2]) -> Vec<u8> {
    let letter = |value: u8| match value {
        0..=25 => b'A' + value,
        26..=51 => b'a' + value - 26,
        52..=61 => b'0' + value - 52,
        62 => last_letters[0],
        _ => last_letters[1],
    };
    let bit = |at: usize| {
        let byte = secret.get(at / 8).copied().unwrap_or_default();
        (byte >> (7 - at % 8)) & 1
    };
    let (first, end) = ((before * 8).div_ceil(6), (before + secret.len()) * 8 / 6);
    let value = |place: usize| (0..6).fold(0, |value, n| (value << 1) | bit(place * 6 + n - before * 8));
    (first..end).map(|place| letter(value(place))).collect()
}

#[derive(Debug)]
struct KeyShape {
    name: &'static str,
    starts: &'static [&'static str],
    body: KeyBody,
    /// The bytes after the required minimum.
    rest: KeyRest,
}

/// The required bytes after the start.
#[derive(Debug)]
enum KeyBody {
    /// At least `least` letters of a kind. If `mixed`, not only lower-case letters and dashes.
    Letters { least: usize, of: KeyLetters, mixed: bool },
    /// Two parts of a JSON web token.
    Token,
    /// The rest of the first line of a private key.
    Header,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyLetters {
    Plain,
    Url,
    Capital,
}

/// The rest of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum KeyRest {
    /// As many of these letters as follow.
    Letters(KeyLetters),
    Dotted,
    /// Everything up to the last line of a private key.
    PrivateKey,
}

const SHAPES: [KeyShape; 8] = [
    KeyShape {
        name: "api-key",
        starts: &["sk-"],
        body: KeyBody::Letters { least: 20, of: KeyLetters::Url, mixed: true },
        rest: KeyRest::Letters(KeyLetters::Url),
    },
    KeyShape {
        name: "github-token",
        starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        body: KeyBody::Letters { least: 30, of: KeyLetters::Plain, mixed: false },
        rest: KeyRest::Letters(KeyLetters::Url),
    },
    KeyShape {
        name: "github-token",
        starts: &["github_pat_"],
        body: KeyBody::Letters { least: 22, of: KeyLetters::Url, mixed: false },
        rest: KeyRest::Letters(KeyLetters::Url),
    },
    KeyShape {
        name: "google-key",
        starts: &["AIza"],
        body: KeyBody::Letters { least: 35, of: KeyLetters::Url, mixed: false },
        rest: KeyRest::Letters(KeyLetters::Url),
    },
    KeyShape {
        name: "slack-token",
        starts: &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
        body: KeyBody::Letters { least: 10, of: KeyLetters::Url, mixed: false },
        rest: KeyRest::Letters(KeyLetters::Url),
    },
    KeyShape {
        name: "aws-key",
        starts: &["AKIA", "ASIA"],
        body: KeyBody::Letters { least: 16, of: KeyLetters::Capital, mixed: false },
        rest: KeyRest::Letters(KeyLetters::Plain),
    },
    KeyShape { name: "jwt", starts: &["eyJ"], body: KeyBody::Token, rest: KeyRest::Dotted },
    KeyShape {
        name: "private-key",
        starts: &["-----BEGIN "],
        body: KeyBody::Header,
        rest: KeyRest::PrivateKey,
    },
];

/// The result of looking for a key at one position.
#[derive(Debug, PartialEq, Eq)]
enum KeyStart {
    No,
    /// More bytes are needed to decide.
    Maybe,
    /// A key of at least this length.
    Yes(usize),
}

impl KeyStart {
    /// Adds the length of the part before.
    fn after(self, before: usize) -> Self {
        match self {
            Self::Yes(length) => Self::Yes(before + length),
            Self::Maybe | Self::No => self,
        }
    }
}

impl KeyShape {
    /// Looks for a key at this position, after the byte `before`.
    fn begins(&self, bytes: &[u8], before: Option<u8>) -> KeyStart {
        let mut maybe = false;
        for start in self.starts.iter().map(|start| start.as_bytes()) {
            if let Some(rest) = bytes.strip_prefix(start) {
                // `task-…` is not a key.
                if before.is_some_and(|before| KeyLetters::Url.has(before))
                    && self.rest != KeyRest::PrivateKey
                {
                    return KeyStart::No;
                }
                return self.body.length(rest).after(start.len());
            }
            maybe |= start.starts_with(bytes);
        }
        if maybe { KeyStart::Maybe } else { KeyStart::No }
    }
}

impl KeyBody {
    fn length(&self, bytes: &[u8]) -> KeyStart {
        match self {
            Self::Letters { least, of, mixed } => letters(bytes, *least, *of, *mixed),
            Self::Token => token(bytes),
            Self::Header => header(bytes),
        }
    }
}

fn letters(bytes: &[u8], least: usize, of: KeyLetters, mixed: bool) -> KeyStart {
    let there = &bytes[..least.min(bytes.len())];
    if !there.iter().all(|byte| of.has(*byte)) {
        return KeyStart::No;
    }
    if there.len() < least {
        return KeyStart::Maybe;
    }
    let is_mixed = there.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if is_mixed || !mixed { KeyStart::Yes(least) } else { KeyStart::No }
}

/// Matches the rest of `eyJ….eyJ…`: two objects in Base64.
fn token(bytes: &[u8]) -> KeyStart {
    const LONGEST: usize = 1024;
    const LEAST: usize = 8;
    const SECOND: &[u8] = b".eyJ";
    let window = &bytes[..LONGEST.min(bytes.len())];
    let Some(first) = window.iter().position(|byte| !KeyLetters::Url.has(*byte)) else {
        return if window.len() < LONGEST { KeyStart::Maybe } else { KeyStart::No };
    };
    let rest = &bytes[first..];
    if first < LEAST {
        return KeyStart::No;
    }
    match rest.strip_prefix(SECOND) {
        None if SECOND.starts_with(rest) => KeyStart::Maybe,
        None => KeyStart::No,
        Some(second) => letters(second, LEAST, KeyLetters::Url, false).after(first + SECOND.len()),
    }
}

/// Matches the rest of `-----BEGIN … PRIVATE KEY-----`.
fn header(bytes: &[u8]) -> KeyStart {
    const LONGEST: usize = 24;
    let kind =
        bytes.iter().take(LONGEST).take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ').count();
    let end = kind + 5;
    match bytes.get(..end.min(bytes.len())) {
        Some(all) if kind == LONGEST || !all[kind..].iter().all(|byte| *byte == b'-') => KeyStart::No,
        Some(all) if all.len() < end => KeyStart::Maybe,
        Some(all) if all[..kind].ends_with(b"PRIVATE KEY") => KeyStart::Yes(end),
        Some(_) | None => KeyStart::No,
    }
}

impl KeyLetters {
    fn has(self, byte: u8) -> bool {
        match self {
            Self::Plain => byte.is_ascii_alphanumeric(),
            Self::Url => byte.is_ascii_alphanumeric() || byte == b'_' || byte == b'-',
            Self::Capital => byte.is_ascii_uppercase() || byte.is_ascii_digit(),
        }
    }
}

/// The state inside a key that continues.
#[derive(Debug)]
struct KeyTail {
    rest: KeyRest,
    /// Matched length of a private key's last line, and the number of bytes left before we give up.
    seen: usize,
    left: usize,
}

impl KeyTail {
    const END: &[u8] = b"PRIVATE KEY-----";
    /// Maximum length of a private key. It limits the damage in a text that only mentions one.
    const LONGEST: usize = 16 * 1024;

    fn new(rest: KeyRest) -> Self {
        Self { rest, seen: 0, left: Self::LONGEST }
    }

    /// Returns the number of bytes that belong to the key, and true if it may continue after them.
    fn hide(&mut self, bytes: &[u8]) -> (usize, bool) {
        let end = match self.rest {
            KeyRest::Letters(letters) => bytes.iter().position(|byte| !letters.has(*byte)),
            KeyRest::Dotted => bytes.iter().position(|byte| !KeyLetters::Url.has(*byte) && *byte != b'.'),
            KeyRest::PrivateKey => bytes.iter().position(|byte| self.is_over(*byte)),
        };
        (end.unwrap_or(bytes.len()), end.is_none())
    }

    /// Returns true if the byte comes after the end of a private key.
    fn is_over(&mut self, byte: u8) -> bool {
        if self.seen == Self::END.len() || self.left == 0 {
            return true;
        }
        self.left -= 1;
        self.seen =
            if byte == Self::END[self.seen] { self.seen + 1 } else { usize::from(byte == Self::END[0]) };
        false
    }
}

#[cfg(test)]
mod tests;
