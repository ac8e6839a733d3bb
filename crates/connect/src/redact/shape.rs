//! The shapes of keys.
//!
//! Each shape is long and has a distinctive start, so ordinary text hardly ever matches.

#[derive(Debug)]
pub(super) struct Shape {
    pub(super) name: &'static str,
    pub(super) starts: &'static [&'static str],
    body: Body,
    /// The bytes after the required minimum.
    pub(super) rest: Rest,
}

/// The required bytes after the start.
#[derive(Debug)]
enum Body {
    /// At least `least` letters of a kind. If `mixed`, not only lower-case letters and dashes.
    Letters { least: usize, of: Letters, mixed: bool },
    /// Two parts of a JSON web token.
    Token,
    /// The rest of the first line of a private key.
    Header,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Letters {
    Plain,
    Url,
    Capital,
}

/// The rest of a key.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Rest {
    /// As many of these letters as follow.
    Letters(Letters),
    Dotted,
    /// Everything up to the last line of a private key.
    PrivateKey,
}

pub(super) const SHAPES: [Shape; 8] = [
    Shape {
        name: "api-key",
        starts: &["sk-"],
        body: Body::Letters { least: 20, of: Letters::Url, mixed: true },
        rest: Rest::Letters(Letters::Url),
    },
    Shape {
        name: "github-token",
        starts: &["ghp_", "gho_", "ghu_", "ghs_", "ghr_"],
        body: Body::Letters { least: 30, of: Letters::Plain, mixed: false },
        rest: Rest::Letters(Letters::Url),
    },
    Shape {
        name: "github-token",
        starts: &["github_pat_"],
        body: Body::Letters { least: 22, of: Letters::Url, mixed: false },
        rest: Rest::Letters(Letters::Url),
    },
    Shape {
        name: "google-key",
        starts: &["AIza"],
        body: Body::Letters { least: 35, of: Letters::Url, mixed: false },
        rest: Rest::Letters(Letters::Url),
    },
    Shape {
        name: "slack-token",
        starts: &["xoxa-", "xoxb-", "xoxp-", "xoxr-", "xoxs-"],
        body: Body::Letters { least: 10, of: Letters::Url, mixed: false },
        rest: Rest::Letters(Letters::Url),
    },
    Shape {
        name: "aws-key",
        starts: &["AKIA", "ASIA"],
        body: Body::Letters { least: 16, of: Letters::Capital, mixed: false },
        rest: Rest::Letters(Letters::Plain),
    },
    Shape { name: "jwt", starts: &["eyJ"], body: Body::Token, rest: Rest::Dotted },
    Shape { name: "private-key", starts: &["-----BEGIN "], body: Body::Header, rest: Rest::PrivateKey },
];

/// The result of looking for a key at one position.
#[derive(Debug, PartialEq, Eq)]
pub(super) enum Begins {
    No,
    /// More bytes are needed to decide.
    Maybe,
    /// A key of at least this length.
    Yes(usize),
}

impl Begins {
    /// Adds the length of the part before.
    fn after(self, before: usize) -> Self {
        match self {
            Self::Yes(length) => Self::Yes(before + length),
            Self::Maybe | Self::No => self,
        }
    }
}

impl Shape {
    /// Looks for a key at this position, after the byte `before`.
    pub(super) fn begins(&self, bytes: &[u8], before: Option<u8>) -> Begins {
        let mut maybe = false;
        for start in self.starts.iter().map(|start| start.as_bytes()) {
            if let Some(rest) = bytes.strip_prefix(start) {
                // `task-…` is not a key.
                if before.is_some_and(|before| Letters::Url.has(before)) && self.rest != Rest::PrivateKey {
                    return Begins::No;
                }
                return self.body.length(rest).after(start.len());
            }
            maybe |= start.starts_with(bytes);
        }
        if maybe { Begins::Maybe } else { Begins::No }
    }
}

impl Body {
    fn length(&self, bytes: &[u8]) -> Begins {
        match self {
            Self::Letters { least, of, mixed } => letters(bytes, *least, *of, *mixed),
            Self::Token => token(bytes),
            Self::Header => header(bytes),
        }
    }
}

fn letters(bytes: &[u8], least: usize, of: Letters, mixed: bool) -> Begins {
    let there = &bytes[..least.min(bytes.len())];
    if !there.iter().all(|byte| of.has(*byte)) {
        return Begins::No;
    }
    if there.len() < least {
        return Begins::Maybe;
    }
    let is_mixed = there.iter().any(|byte| byte.is_ascii_digit() || byte.is_ascii_uppercase());
    if is_mixed || !mixed { Begins::Yes(least) } else { Begins::No }
}

/// Matches the rest of `eyJ….eyJ…`: two objects in Base64.
fn token(bytes: &[u8]) -> Begins {
    const LONGEST: usize = 1024;
    const LEAST: usize = 8;
    const SECOND: &[u8] = b".eyJ";
    let window = &bytes[..LONGEST.min(bytes.len())];
    let Some(first) = window.iter().position(|byte| !Letters::Url.has(*byte)) else {
        return if window.len() < LONGEST { Begins::Maybe } else { Begins::No };
    };
    let rest = &bytes[first..];
    if first < LEAST {
        return Begins::No;
    }
    match rest.strip_prefix(SECOND) {
        None if SECOND.starts_with(rest) => Begins::Maybe,
        None => Begins::No,
        Some(second) => letters(second, LEAST, Letters::Url, false).after(first + SECOND.len()),
    }
}

/// Matches the rest of `-----BEGIN … PRIVATE KEY-----`.
fn header(bytes: &[u8]) -> Begins {
    const LONGEST: usize = 24;
    let kind =
        bytes.iter().take(LONGEST).take_while(|byte| byte.is_ascii_uppercase() || **byte == b' ').count();
    let end = kind + 5;
    match bytes.get(..end.min(bytes.len())) {
        Some(all) if kind == LONGEST || !all[kind..].iter().all(|byte| *byte == b'-') => Begins::No,
        Some(all) if all.len() < end => Begins::Maybe,
        Some(all) if all[..kind].ends_with(b"PRIVATE KEY") => Begins::Yes(end),
        Some(_) | None => Begins::No,
    }
}

impl Letters {
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
pub(super) struct Tail {
    rest: Rest,
    /// Matched length of a private key's last line, and the number of bytes left before we give up.
    seen: usize,
    left: usize,
}

impl Tail {
    const END: &[u8] = b"PRIVATE KEY-----";
    /// Maximum length of a private key. It limits the damage in a text that only mentions one.
    const LONGEST: usize = 16 * 1024;

    pub(super) fn new(rest: Rest) -> Self {
        Self { rest, seen: 0, left: Self::LONGEST }
    }

    /// Returns the number of bytes that belong to the key, and true if it may continue after them.
    pub(super) fn hide(&mut self, bytes: &[u8]) -> (usize, bool) {
        let end = match self.rest {
            Rest::Letters(letters) => bytes.iter().position(|byte| !letters.has(*byte)),
            Rest::Dotted => bytes.iter().position(|byte| !Letters::Url.has(*byte) && *byte != b'.'),
            Rest::PrivateKey => bytes.iter().position(|byte| self.is_over(*byte)),
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
