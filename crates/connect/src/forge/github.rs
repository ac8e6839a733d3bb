//! A repository on GitHub, or on a server that speaks as it does.

use std::sync::Arc;
use std::time::Duration;

use http::header::HeaderValue;
use octocrab::service::middleware::auth_header::AuthHeaderLayer;
use octocrab::{AuthState, FromResponse, Octocrab, OctocrabBuilder};
use saihai_model::{Millis, RepositoryName};
use serde::de::DeserializeOwned;
use serde::{Deserialize, Serialize};
use serde_json::Value;

use super::address::Address;
use super::error::ForgeError;
use super::remembered::Remembered;
use super::token::Token;
use super::wire::Wire;
use crate::{Clock, RealTime};

/// The pauses between attempts at a look; there is one attempt more than there are pauses.
const PAUSES: [Millis; 3] = [Millis(1_000), Millis(4_000), Millis(16_000)];

/// What is needed to speak to a forge.
#[derive(Clone)]
pub struct Access {
    /// Where it is.
    pub address: Address,
    /// Which repository is meant.
    pub repository: RepositoryName,
    /// Who we are to it.
    pub token: Token,
    /// How long one answer may take.
    pub deadline: Millis,
    /// On which clock a look is tried again.
    pub clock: Arc<dyn Clock>,
    /// What it has answered before, to whoever shares this access.
    pub(super) remembered: Arc<Remembered>,
}

impl Access {
    /// Access with the usual patience.
    pub fn new(address: Address, repository: RepositoryName, token: Token) -> Self {
        let (clock, remembered) = (Arc::new(RealTime), Arc::default());
        Self { address, repository, token, deadline: Millis::seconds(60), clock, remembered }
    }

    /// The same to another repository of that forge.
    #[must_use]
    pub fn to(self, repository: RepositoryName) -> Self {
        Self { repository, ..self }
    }
}

/// A repository on GitHub.
#[derive(Clone)]
pub struct Github {
    client: Octocrab,
    address: Arc<Address>,
    clock: Arc<dyn Clock>,
    pub(super) repository: RepositoryName,
}

/// What is known of the repository itself.
#[derive(Debug, Clone, PartialEq, Eq, Deserialize)]
pub struct About {
    /// The branch it has where none is named.
    pub default_branch: String,
    /// The address of its pages.
    #[serde(rename = "html_url")]
    pub home: String,
}

impl Github {
    /// Opens the way to it. Nothing is sent yet. Must be called where there is a tokio runtime.
    ///
    /// # Errors
    /// This machine cannot speak HTTP, or the token cannot stand in a header.
    pub fn open(access: Access) -> Result<Self, ForgeError> {
        let cannot =
            |said: String| ForgeError::Transient { what: "opening the way to the forge".to_owned(), said };
        let Access { address, repository, token, deadline, clock, remembered } = access;
        let address = Arc::new(address);
        let wire = Wire::open(Arc::clone(&address), Duration::from_millis(deadline.0), remembered)
            .map_err(|error| cannot(error.to_string()))?;
        let mut bearer = HeaderValue::from_str(&format!("Bearer {}", token.secret()))
            .map_err(|error| cannot(error.to_string()))?;
        bearer.set_sensitive(true);
        let home: http::Uri =
            address.at("/").parse().map_err(|_| cannot("its address is none".to_owned()))?;
        let auth = AuthHeaderLayer::new(Some(bearer), home.clone(), home);
        let built = OctocrabBuilder::new_empty()
            .with_service(wire)
            .with_layer(&auth)
            .with_auth(AuthState::None)
            .build();
        let client = match built {
            Ok(client) => client,
            Err(never) => match never {},
        };
        Ok(Self { client, address, clock, repository })
    }

    /// The repository that is meant.
    pub fn repository(&self) -> &RepositoryName {
        &self.repository
    }

    /// What is known of the repository itself, its default branch among it.
    ///
    /// # Errors
    /// See [`ForgeError`].
    pub async fn about(&self) -> Result<About, ForgeError> {
        self.look(&self.path(""), &format!("the repository `{}`", self.repository)).await
    }

    /// A path below the repository, whole.
    pub(super) fn path(&self, below: &str) -> String {
        self.address.at(&format!("/repos/{}/{}{below}", self.repository.owner, self.repository.name))
    }

    /// Looks at something. Whatever may pass is tried again, for a look changes nothing.
    pub(super) async fn look<T: DeserializeOwned>(&self, address: &str, what: &str) -> Result<T, ForgeError> {
        let (answer, _) = self.look_with_links(address, what).await?;
        Ok(answer)
    }

    /// The same, with the address of the next page.
    pub(super) async fn look_with_links<T: DeserializeOwned>(
        &self,
        address: &str,
        what: &str,
    ) -> Result<(T, Option<String>), ForgeError> {
        let mut pauses = PAUSES.iter();
        loop {
            match self.look_once(address, what).await {
                Err(ForgeError::Transient { what, said }) => match pauses.next() {
                    Some(pause) => self.clock.sleep(*pause).await,
                    None => return Err(ForgeError::Transient { what, said }),
                },
                other => return other,
            }
        }
    }

    async fn look_once<T: DeserializeOwned>(
        &self,
        address: &str,
        what: &str,
    ) -> Result<(T, Option<String>), ForgeError> {
        let failed = |error: octocrab::Error| ForgeError::of(&error, what);
        let response = self.client._get(address).await.map_err(failed)?;
        let response = octocrab::map_github_error(response).await.map_err(failed)?;
        let links = response.headers().get(http::header::LINK).and_then(|links| links.to_str().ok());
        let next = links.and_then(super::pages::next_of);
        Ok((T::from_response(response).await.map_err(failed)?, next))
    }

    /// Has an effect, once: what became of it where no answer came is for the caller to look up.
    pub(super) async fn post<T: DeserializeOwned>(
        &self,
        address: &str,
        body: &(impl Serialize + ?Sized + Sync),
        what: &str,
    ) -> Result<T, ForgeError> {
        self.client.post(address, Some(body)).await.map_err(|error| ForgeError::of(&error, what))
    }

    /// Changes something to a value.
    pub(super) async fn patch<T: DeserializeOwned>(
        &self,
        address: &str,
        body: &(impl Serialize + ?Sized + Sync),
        what: &str,
    ) -> Result<T, ForgeError> {
        self.client.patch(address, Some(body)).await.map_err(|error| ForgeError::of(&error, what))
    }

    /// Puts something somewhere.
    pub(super) async fn put<T: DeserializeOwned>(
        &self,
        address: &str,
        body: &(impl Serialize + ?Sized + Sync),
        what: &str,
    ) -> Result<T, ForgeError> {
        self.client.put(address, Some(body)).await.map_err(|error| ForgeError::of(&error, what))
    }

    /// Takes something away; that it is away already is as good.
    pub(super) async fn delete(&self, address: &str, what: &str) -> Result<(), ForgeError> {
        let failed = |error: octocrab::Error| ForgeError::of(&error, what);
        let response = self.client._delete(address, None::<&()>).await.map_err(failed)?;
        match octocrab::map_github_error(response).await.map_err(failed) {
            Ok(_) | Err(ForgeError::NotFound { .. }) => Ok(()),
            Err(error) => Err(error),
        }
    }

    /// Asks a question of the other language. It only looks, and so it is tried again.
    pub(super) async fn query<T: DeserializeOwned>(
        &self,
        query: &str,
        variables: &Value,
        what: &str,
    ) -> Result<T, ForgeError> {
        let body = serde_json::json!({"query": query, "variables": variables});
        let mut pauses = PAUSES.iter();
        loop {
            let asked: Result<Answer<T>, ForgeError> = self.post(&self.address.graphql(), &body, what).await;
            match asked {
                Ok(answer) => return answer.data(what),
                Err(ForgeError::Transient { what, said }) => match pauses.next() {
                    Some(pause) => self.clock.sleep(*pause).await,
                    None => return Err(ForgeError::Transient { what, said }),
                },
                Err(error) => return Err(error),
            }
        }
    }
}

/// An answer of the other language.
#[derive(Deserialize)]
struct Answer<T> {
    data: Option<T>,
    errors: Option<Vec<Complaint>>,
}

#[derive(Deserialize)]
struct Complaint {
    message: String,
    #[serde(rename = "type")]
    kind: Option<String>,
}

impl<T> Answer<T> {
    fn data(self, what: &str) -> Result<T, ForgeError> {
        let what = what.to_owned();
        let first = self.errors.into_iter().flatten().next();
        match (first, self.data) {
            (Some(Complaint { message, kind }), _) => Err(match kind.as_deref() {
                Some("NOT_FOUND") => ForgeError::NotFound { what },
                Some("FORBIDDEN" | "INSUFFICIENT_SCOPES") => ForgeError::NoRights { what, said: message },
                Some("RATE_LIMITED") => ForgeError::RateLimited { until: None },
                Some(_) | None => ForgeError::Refused { what, status: 200, said: message },
            }),
            (None, Some(data)) => Ok(data),
            (None, None) => {
                let said = "there is neither data nor an error".to_owned();
                Err(ForgeError::Malformed { what, field: "data".to_owned(), said })
            }
        }
    }
}
