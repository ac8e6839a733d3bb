//! Who may use the page: browsers on this machine that opened the printed link.
//!
//! Other web sites cannot: their requests have a foreign `Host` (DNS rebinding) or `Origin`, and lack the cookie.

use std::sync::{Mutex, PoisonError};

use axum::http::header::{AUTHORIZATION, CONTENT_TYPE, COOKIE, HOST, ORIGIN};
use axum::http::{HeaderMap, HeaderName, Method, StatusCode};

/// The addresses of the page and the secrets of its visitors.
pub(super) struct PageAccess {
    /// Values of `Host` that mean this server.
    hosts: Vec<String>,
    cookie: String,
    /// The token of the last link, until a browser has opened it.
    token: Mutex<Option<String>>,
    session: String,
}

/// The reason why a request is refused.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Refusal {
    ForeignHost,
    ForeignOrigin,
    NoSession,
    NoJson,
}

impl Refusal {
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::NoSession => StatusCode::UNAUTHORIZED,
            Self::ForeignHost | Self::ForeignOrigin => StatusCode::FORBIDDEN,
            Self::NoJson => StatusCode::UNSUPPORTED_MEDIA_TYPE,
        }
    }

    pub(super) fn words(self) -> &'static str {
        match self {
            Self::ForeignHost => "this address does not belong to the page",
            Self::ForeignOrigin => "another web site sent this request",
            Self::NoSession => {
                "open the link that `saihai serve` printed; it works once, start the command again for a new one"
            }
            Self::NoJson => "a request that changes something has to be JSON",
        }
    }
}

const FETCH_SITE: HeaderName = HeaderName::from_static("sec-fetch-site");

impl PageAccess {
    /// `hosts`: names and addresses of this server, each without a port.
    pub(super) fn new(hosts: &[&str], port: u16) -> Result<Self, getrandom::Error> {
        Ok(Self {
            hosts: hosts.iter().map(|host| format!("{host}:{port}")).collect(),
            // Cookies ignore ports: two servers on one machine need two names.
            cookie: format!("saihai-{port}"),
            token: Mutex::new(None),
            session: secret()?,
        })
    }

    /// Makes a link for the person at the terminal. It works once, and replaces the link before it.
    pub(super) fn new_link(&self) -> Result<String, getrandom::Error> {
        let host = self.hosts.first().map(String::as_str).unwrap_or_default();
        let token = secret()?;
        let link = format!("http://{host}/?token={token}");
        *self.token.lock().unwrap_or_else(PoisonError::into_inner) = Some(token);
        Ok(link)
    }

    /// Takes the token of the link. Returns the cookie to set; a token works once.
    pub(super) fn redeem(&self, token: &str) -> Option<String> {
        let mut known = self.token.lock().unwrap_or_else(PoisonError::into_inner);
        known.take_if(|known| is_equal(token, known))?;
        Some(format!("{}={}; Path=/; HttpOnly; SameSite=Strict", self.cookie, self.session))
    }

    /// Checks the address of any request.
    pub(super) fn check_address(&self, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = text(headers, &HOST).ok_or(Refusal::ForeignHost)?;
        if !self.hosts.iter().any(|own| own.eq_ignore_ascii_case(host)) {
            return Err(Refusal::ForeignHost);
        }
        match text(headers, &ORIGIN) {
            None => Ok(()),
            Some(origin) => {
                let own =
                    self.hosts.iter().any(|host| origin.eq_ignore_ascii_case(&format!("http://{host}")));
                if own { Ok(()) } else { Err(Refusal::ForeignOrigin) }
            }
        }
    }

    /// Checks a request for the data of runs, or one that changes something.
    pub(super) fn check_session(&self, method: &Method, headers: &HeaderMap) -> Result<(), Refusal> {
        if !self.has_session(headers) {
            return Err(Refusal::NoSession);
        }
        if *method == Method::GET {
            return Ok(());
        }
        if text(headers, &FETCH_SITE).is_some_and(|site| site != "same-origin") {
            return Err(Refusal::ForeignOrigin);
        }
        let is_json = text(headers, &CONTENT_TYPE).is_some_and(|kind| kind.starts_with("application/json"));
        if is_json { Ok(()) } else { Err(Refusal::NoJson) }
    }

    /// A browser has the cookie; a program may send the session in `Authorization`.
    pub(super) fn has_session(&self, headers: &HeaderMap) -> bool {
        let bearer = text(headers, &AUTHORIZATION).and_then(|value| value.strip_prefix("Bearer "));
        let cookies = headers.get_all(COOKIE).iter().filter_map(|value| value.to_str().ok());
        let mut pairs =
            cookies.flat_map(|line| line.split(';')).filter_map(|pair| pair.trim().split_once('='));
        bearer.is_some_and(|session| is_equal(session, &self.session))
            || pairs.any(|(name, value)| name == self.cookie && is_equal(value, &self.session))
    }
}

fn text<'a>(headers: &'a HeaderMap, name: &HeaderName) -> Option<&'a str> {
    headers.get(name).and_then(|value| value.to_str().ok())
}

/// Compares secrets in the same time, whatever they are.
fn is_equal(left: &str, right: &str) -> bool {
    let differs = left.bytes().zip(right.bytes()).fold(0, |sum, (left, right)| sum | (left ^ right));
    left.len() == right.len() && differs == 0
}

fn secret() -> Result<String, getrandom::Error> {
    // 128 bits; a longer link would not fit on one line of a terminal.
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes)?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn headers(pairs: &[(&'static str, String)]) -> HeaderMap {
        let pairs = pairs
            .iter()
            .map(|(name, value)| (HeaderName::from_static(name), value.parse().expect("a header")));
        pairs.collect()
    }

    // V-10, T-87
    #[test]
    fn only_own_addresses_are_answered() {
        let access = PageAccess::new(&["127.0.0.1", "localhost"], 4711).unwrap();
        let check = |pairs: &[(&'static str, String)]| access.check_address(&headers(pairs));
        assert_eq!(check(&[("host", "127.0.0.1:4711".into())]), Ok(()));
        assert_eq!(check(&[("host", "LOCALHOST:4711".into())]), Ok(()));
        for host in ["evil.example:4711", "127.0.0.1", "127.0.0.1:4712", "127.0.0.1:4711.evil.example", ""] {
            assert_eq!(check(&[("host", host.into())]), Err(Refusal::ForeignHost), "{host}");
        }
        assert_eq!(check(&[]), Err(Refusal::ForeignHost));
        let own = ("host", "127.0.0.1:4711".to_owned());
        assert_eq!(check(&[own.clone(), ("origin", "http://127.0.0.1:4711".into())]), Ok(()));
        for origin in ["http://evil.example", "null", "https://127.0.0.1:4711", "http://127.0.0.1:4712"] {
            let checked = check(&[own.clone(), ("origin", origin.into())]);
            assert_eq!(checked, Err(Refusal::ForeignOrigin), "{origin}");
        }
    }

    // V-1, V-10
    #[test]
    fn a_token_works_once_and_becomes_a_cookie() {
        let access = PageAccess::new(&["127.0.0.1"], 4711).unwrap();
        assert_eq!(access.redeem(""), None);
        let link = access.new_link().unwrap();
        let token = link.strip_prefix("http://127.0.0.1:4711/?token=").expect("a link");
        assert_eq!(access.redeem("wrong"), None);
        let cookie = access.redeem(token).expect("a cookie");
        assert_eq!(access.redeem(token), None);
        let (old, new) = (access.new_link().unwrap(), access.new_link().unwrap());
        let token_of = |link: &str| link.split_once("?token=").map(|(_, token)| token.to_owned()).unwrap();
        assert_eq!(access.redeem(&token_of(&old)), None);
        assert_eq!(access.redeem(&token_of(&new)).as_ref(), Some(&cookie));
        assert!(cookie.ends_with("; Path=/; HttpOnly; SameSite=Strict"), "{cookie}");
        assert!(!cookie.contains(token));
        let pair = cookie.split(';').next().unwrap().to_owned();
        let mut known = vec![("cookie", format!("other=1; {pair}"))];
        assert_eq!(access.check_session(&Method::GET, &headers(&known)), Ok(()));
        assert_eq!(access.check_session(&Method::POST, &headers(&known)), Err(Refusal::NoJson));
        known.push(("content-type", "application/json".into()));
        assert_eq!(access.check_session(&Method::POST, &headers(&known)), Ok(()));
        known.push(("sec-fetch-site", "cross-site".into()));
        assert_eq!(access.check_session(&Method::POST, &headers(&known)), Err(Refusal::ForeignOrigin));
        let forged = [("cookie", "saihai-4711=00".to_owned())];
        assert_eq!(access.check_session(&Method::GET, &headers(&forged)), Err(Refusal::NoSession));
    }
}
