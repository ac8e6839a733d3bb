//! Where a forge is spoken to.

use reqwest::Url;

/// The address of a forge's interface, over which a token can be sent: encrypted, or to this machine.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Address(Url);

/// Why a text is no such address.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadAddress {
    /// It is none at all.
    #[error("`{0}` is not the address of a server")]
    NoAddress(String),
    /// It would send a token for everybody to read.
    #[error("`{0}` is not encrypted; `http:` is for this machine alone")]
    NotEncrypted(String),
}

impl Address {
    /// Reads an address such as `https://api.github.com`.
    ///
    /// # Errors
    /// It is no address of a server, or a token cannot be sent there.
    pub fn parse(text: &str) -> Result<Self, BadAddress> {
        let none = || BadAddress::NoAddress(text.to_owned());
        let url = Url::parse(text.trim_end_matches('/')).map_err(|_| none())?;
        let is_plain = url.username().is_empty()
            && url.password().is_none()
            && url.query().is_none()
            && url.fragment().is_none();
        if !is_plain || url.host_str().is_none() || !matches!(url.scheme(), "http" | "https") {
            return Err(none());
        }
        let address = Self(url);
        if address.0.scheme() == "http" && !address.is_local() {
            return Err(BadAddress::NotEncrypted(text.to_owned()));
        }
        Ok(address)
    }

    /// The host, by which programs keep their logins: that of the pages, not of the interface.
    pub fn host(&self) -> &str {
        let host = self.0.host_str().unwrap_or_default();
        if host == "api.github.com" { "github.com" } else { host }
    }

    /// Whether it is this machine.
    pub(super) fn is_local(&self) -> bool {
        let host = self.0.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        host == "localhost" || bare.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
    }

    /// A path of the interface, whole.
    pub(super) fn at(&self, path: &str) -> String {
        format!("{}{path}", self.0.as_str().trim_end_matches('/'))
    }

    /// Where queries of another language go: beside the versioned interface, where there is one.
    pub(super) fn graphql(&self) -> String {
        let base = self.0.as_str().trim_end_matches('/');
        format!("{}/graphql", base.strip_suffix("/v3").unwrap_or(base))
    }

    /// Whether another address is at the same place: scheme, host and port.
    pub(super) fn is_home_of(&self, other: &Url) -> bool {
        let place = |url: &Url| {
            (url.scheme().to_owned(), url.host_str().map(str::to_owned), url.port_or_known_default())
        };
        place(&self.0) == place(other)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_address_is_encrypted_or_of_this_machine() {
        let check = |text: &str, expected: &str| {
            let read = Address::parse(text).map(|address| address.at("/user"));
            assert_eq!(read.unwrap_or_else(|error| error.to_string()), expected);
        };
        check("https://api.github.com", "https://api.github.com/user");
        check("https://ghe.example/api/v3/", "https://ghe.example/api/v3/user");
        check("http://127.0.0.1:8080", "http://127.0.0.1:8080/user");
        check("http://[::1]:8080", "http://[::1]:8080/user");
        check("http://localhost", "http://localhost/user");
        check(
            "http://example.org",
            "`http://example.org` is not encrypted; `http:` is for this machine alone",
        );
        check(
            "http://127.0.0.1.example.org",
            "`http://127.0.0.1.example.org` is not encrypted; `http:` is for this machine alone",
        );
        for none in ["api.github.com", "ftp://127.0.0.1", "https://me:pw@x.org", "https://x.org/?a", ""] {
            check(none, &format!("`{none}` is not the address of a server"));
        }
    }

    #[test]
    fn logins_and_queries_have_places_of_their_own() {
        let parse = |text| Address::parse(text).expect("an address");
        assert_eq!(parse("https://api.github.com").host(), "github.com");
        assert_eq!(parse("https://ghe.example/api/v3").host(), "ghe.example");
        assert_eq!(parse("https://ghe.example/api/v3").graphql(), "https://ghe.example/api/graphql");
        assert_eq!(parse("https://api.github.com").graphql(), "https://api.github.com/graphql");
    }
}
