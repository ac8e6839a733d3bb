//! The client of one repository: requests, repeated reads, pages, GraphQL, and answers parsed field by field.

use std::sync::Arc;

use reqwest::Method;
use reqwest::header::LINK;
use saihai_model::{Millis, RepositoryName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::access::ForgeAccess;
use super::transport::ForgeError;
use super::transport::{ForgeResponse, ForgeTransport};
use crate::Clock;

/// Pauses between the attempts of a read. A read has one attempt more than pauses.
const PAUSES: [Millis; 3] = [Millis(1_000), Millis(4_000), Millis(16_000)];
/// Maximum number of pages; real lists have far fewer.
const MOST_PAGES: usize = 1000;

/// A repository on GitHub, or on a server with the same API.
#[derive(Clone)]
pub struct Github {
    transport: ForgeTransport,
    clock: Arc<dyn Clock>,
    pub(super) repository: RepositoryName,
}

#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct RepositoryDetails {
    pub default_branch: String,
    /// The URL of its web page.
    #[serde(rename = "html_url")]
    pub home: String,
}

impl Github {
    /// Creates the client without sending anything. Call it inside a tokio runtime.
    pub fn open(access: ForgeAccess) -> Result<Self, ForgeError> {
        let transport = ForgeTransport::open(&access)
            .map_err(|said| ForgeError::Transient { what: "setting up the connection".to_owned(), said })?;
        Ok(Self { transport, clock: access.clock, repository: access.repository })
    }

    pub fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    /// Reads the default branch and the web address of the repository.
    pub async fn about(&self) -> Result<RepositoryDetails, ForgeError> {
        self.get(&self.path(""), &format!("the repository `{}`", self.repository)).await
    }

    /// Returns the URL of a path below the repository.
    pub(super) fn path(&self, below: &str) -> String {
        let RepositoryName { owner, name, .. } = &self.repository;
        self.transport.address.at(&format!("/repos/{owner}/{name}{below}"))
    }

    pub(super) async fn get<T: DeserializeOwned>(&self, url: &str, what: &str) -> Result<T, ForgeError> {
        parse(&self.read(Method::GET, url, None, what).await?, what)
    }

    /// Reads all items of a list, from all its pages. The URL already has a query.
    pub(super) async fn list<T: DeserializeOwned>(
        &self,
        first: &str,
        what: &str,
    ) -> Result<Vec<T>, ForgeError> {
        self.list_in(first, what, |page: Vec<T>| page).await
    }

    /// Reads a list whose pages are objects around the items.
    pub(super) async fn list_in<P: DeserializeOwned, T>(
        &self,
        first: &str,
        what: &str,
        items: fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let mut url = first.to_owned();
        for _ in 0..MOST_PAGES {
            let response = self.read(Method::GET, &url, None, what).await?;
            all.extend(items(parse(&response, what)?));
            let links = response.headers.get(LINK).and_then(|links| links.to_str().ok());
            match links.and_then(next_page) {
                Some(next) => url = next,
                None => return Ok(all),
            }
        }
        Err(ForgeError::malformed(what, ".", format!("it has more than {MOST_PAGES} pages")))
    }

    /// Sends a change once. After a lost answer, the caller checks if the change happened.
    pub(super) async fn change<T: DeserializeOwned>(
        &self,
        method: Method,
        url: &str,
        body: &(impl Serialize + ?Sized),
        what: &str,
    ) -> Result<T, ForgeError> {
        let body = encode(body, what)?;
        parse(&self.send(&method, url, Some(&body), what).await?, what)
    }

    /// Deletes something. A missing target counts as success.
    pub(super) async fn delete(&self, url: &str, what: &str) -> Result<(), ForgeError> {
        match self.send(&Method::DELETE, url, None, what).await {
            Ok(_) | Err(ForgeError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Sends a GraphQL query. It only reads, so it is repeated like any other read.
    pub(super) async fn query<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
        what: &str,
    ) -> Result<T, ForgeError> {
        let body = encode(&serde_json::json!({"query": query, "variables": variables}), what)?;
        let url = self.transport.address.graphql();
        let response = self.read(Method::POST, &url, Some(&body), what).await?;
        parse::<GraphqlAnswer<T>>(&response, what)?.data(what)
    }

    /// Sends a request that changes nothing, and repeats it after transient errors.
    async fn read(
        &self,
        method: Method,
        url: &str,
        body: Option<&[u8]>,
        what: &str,
    ) -> Result<ForgeResponse, ForgeError> {
        let mut pauses = PAUSES.iter();
        loop {
            match self.send(&method, url, body, what).await {
                Err(ForgeError::Transient { what, said }) => match pauses.next() {
                    Some(pause) => self.clock.sleep(*pause).await,
                    None => return Err(ForgeError::Transient { what, said }),
                },
                other => return other,
            }
        }
    }

    async fn send(
        &self,
        method: &Method,
        url: &str,
        body: Option<&[u8]>,
        what: &str,
    ) -> Result<ForgeResponse, ForgeError> {
        let response = self.transport.send(method, url, body).await;
        let response = response.map_err(|error| ForgeError::of_transport(error, what))?;
        if response.status.is_success() { Ok(response) } else { Err(ForgeError::of_refusal(&response, what)) }
    }
}

fn encode(body: &(impl Serialize + ?Sized), what: &str) -> Result<Vec<u8>, ForgeError> {
    serde_json::to_vec(body).map_err(|error| ForgeError::malformed(what, ".", error.to_string()))
}

/// Parses an answer. The error names the malformed field.
fn parse<T: DeserializeOwned>(response: &ForgeResponse, what: &str) -> Result<T, ForgeError> {
    let mut reader = serde_json::Deserializer::from_slice(&response.body);
    serde_path_to_error::deserialize(&mut reader)
        .map_err(|error| ForgeError::malformed(what, &error.path().to_string(), error.inner().to_string()))
}

#[derive(Deserialize)]
struct GraphqlAnswer<T> {
    data: Option<T>,
    errors: Option<Vec<GraphqlError>>,
}

#[derive(Deserialize)]
struct GraphqlError {
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl<T> GraphqlAnswer<T> {
    fn data(self, what: &str) -> Result<T, ForgeError> {
        let first = self.errors.into_iter().flatten().next();
        let Some(GraphqlError { message: said, kind }) = first else {
            let missing =
                || ForgeError::malformed(what, "data", "there is neither data nor an error".to_owned());
            return self.data.ok_or_else(missing);
        };
        let what = what.to_owned();
        Err(match kind.as_deref() {
            Some("NOT_FOUND") => ForgeError::NotFound { what },
            Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => ForgeError::NoRights { what, said },
            Some("RATE_LIMITED") => ForgeError::RateLimited { until: None },
            Some(_) | None => ForgeError::Refused { what, status: 200, said },
        })
    }
}

/// Returns the URL of the next page from a header such as `<https://…?page=2>; rel="next", <…>; rel="last"`.
fn next_page(header: &str) -> Option<String> {
    header.split(',').find_map(|link| {
        let (url, parameters) = link.split_once(';')?;
        let is_next = parameters.split(';').any(|one| one.trim() == "rel=\"next\"");
        let url = url.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| url.to_owned())
    })
}

/// Escapes a text for a query or for one segment of a path.
pub(super) fn percent_encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let check = |header: &str, expected: Option<&str>| assert_eq!(next_page(header).as_deref(), expected);
        check(
            r#"<https://x/?page=1>; rel="prev", <https://x/?page=3>; rel="next""#,
            Some("https://x/?page=3"),
        );
        check(r#"<https://x/?page=1>; rel="first""#, None);
        check("nonsense", None);
    }

    #[test]
    fn a_text_has_no_meaning_of_its_own_in_a_query() {
        assert_eq!(percent_encoded("a b&c=計/:"), "a%20b%26c%3D%E8%A8%88%2F%3A");
    }
}
