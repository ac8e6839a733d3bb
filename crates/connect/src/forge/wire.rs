//! The way to a forge: bounded answers, a deadline, and one host.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use octocrab::OctoBody;
use reqwest::header::{IF_NONE_MATCH, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Body, Client, Method, Request, Response, Url};
use tower_service::Service;

use super::address::Address;
use super::remembered::Remembered;

/// The largest answer: a page of a hundred issues, each as long as a forge allows.
const LARGEST: usize = 64 * 1024 * 1024;
/// The most times a look is sent on.
const REDIRECTS: usize = 5;

/// Why there is no whole answer.
#[derive(Debug, thiserror::Error)]
pub(super) enum Broken {
    /// There is too much of it.
    #[error("the answer is too large")]
    TooLarge,
    /// It is to be had somewhere else.
    #[error("it leads elsewhere")]
    Elsewhere(String),
    /// The connection was not made, or broke, or took too long.
    #[error("{0}")]
    Connection(String),
}

/// The way to a forge. It is given requests by the client and gives back whole answers.
#[derive(Clone)]
pub(super) struct Wire {
    client: Client,
    address: Arc<Address>,
    deadline: Duration,
    remembered: Arc<Remembered>,
}

impl Wire {
    pub(super) fn open(
        address: Arc<Address>,
        deadline: Duration,
        remembered: Arc<Remembered>,
    ) -> Result<Self, Broken> {
        let mut builder = Client::builder()
            .user_agent(concat!("saihai/", env!("CARGO_PKG_VERSION")))
            .redirect(Policy::none())
            // Whether something is asked again is said by whoever asks.
            .retry(reqwest::retry::never());
        if address.is_local() {
            builder = builder.no_proxy();
        }
        let ring = rustls::crypto::ring::default_provider();
        if address.at("").starts_with("https:") {
            // Whoever was first has installed one; which makes no difference to us.
            let _ = ring.install_default();
        } else {
            builder = builder.tls_backend_preconfigured(no_certificates(ring)?);
        }
        let client = builder.build().map_err(broken)?;
        Ok(Self { client, address, deadline, remembered })
    }

    async fn send(self, request: Request) -> Result<http::Response<Vec<u8>>, Broken> {
        let limit = self.deadline;
        let answer = tokio::time::timeout(limit, self.follow(request)).await;
        answer
            .unwrap_or_else(|_| Err(Broken::Connection(format!("no answer within {} ms", limit.as_millis()))))
    }

    /// Sends a request, and a look wherever the same host sends it on to.
    async fn follow(self, mut request: Request) -> Result<http::Response<Vec<u8>>, Broken> {
        for _ in 0..=REDIRECTS {
            if !self.address.is_home_of(request.url()) {
                return Err(Broken::Elsewhere(request.url().to_string()));
            }
            let next = request.try_clone().filter(|request| *request.method() == Method::GET);
            let response = self.client.execute(request).await.map_err(broken)?;
            match (target(&response), next) {
                (None, _) => return whole(response).await,
                (Some(to), Some(mut again)) => {
                    *again.url_mut() = to;
                    request = again;
                }
                (Some(to), None) => return Err(Broken::Elsewhere(to.to_string())),
            }
        }
        Err(Broken::Elsewhere("one address after the other".to_owned()))
    }
}

/// Where an answer sends us, if it does.
fn target(response: &Response) -> Option<Url> {
    let to = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    response.url().join(to.to_str().ok()?).ok()
}

/// An answer to its end.
async fn whole(mut response: Response) -> Result<http::Response<Vec<u8>>, Broken> {
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(broken)? {
        if bytes.len() + chunk.len() > LARGEST {
            return Err(Broken::TooLarge);
        }
        bytes.extend_from_slice(&chunk);
    }
    let mut answer = http::Response::new(bytes);
    *answer.status_mut() = response.status();
    *answer.headers_mut() = std::mem::take(response.headers_mut());
    Ok(answer)
}

impl Service<http::Request<OctoBody>> for Wire {
    type Response = http::Response<Body>;
    type Error = Broken;
    type Future = Pin<Box<dyn Future<Output = Result<Self::Response, Broken>> + Send>>;

    fn poll_ready(&mut self, _: &mut Context<'_>) -> Poll<Result<(), Broken>> {
        Poll::Ready(Ok(()))
    }

    fn call(&mut self, request: http::Request<OctoBody>) -> Self::Future {
        let wire = self.clone();
        Box::pin(async move {
            let (parts, body) = request.into_parts();
            // A look has no body, and without one it can be sent on.
            let body = if parts.method == Method::GET { Body::default() } else { Body::wrap(body) };
            let request = http::Request::from_parts(parts, body);
            let mut request = Request::try_from(request).map_err(broken)?;
            let looks = (*request.method() == Method::GET).then(|| request.url().to_string());
            let remembered = Arc::clone(&wire.remembered);
            if let Some(tag) = looks.as_deref().and_then(|address| remembered.tag(address)) {
                request.headers_mut().insert(IF_NONE_MATCH, tag);
            }
            let answer = wire.send(request).await?;
            let answer = match looks {
                Some(address) => remembered.complete(&address, answer),
                None => answer,
            };
            Ok(answer.map(Body::from))
        })
    }
}

/// Where nothing is encrypted no certificate is needed, so that a machine without any can still talk to itself.
fn no_certificates(provider: rustls::crypto::CryptoProvider) -> Result<rustls::ClientConfig, Broken> {
    let config =
        rustls::ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| Broken::Connection(error.to_string()))?;
    Ok(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// What was at the bottom of an error: the layers above it only say that something below them failed.
fn broken(error: reqwest::Error) -> Broken {
    let error = error.without_url();
    let mut deepest: &dyn std::error::Error = &error;
    while let Some(cause) = deepest.source() {
        deepest = cause;
    }
    Broken::Connection(deepest.to_string())
}
