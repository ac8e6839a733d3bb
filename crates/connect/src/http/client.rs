//! The HTTP client of models, forges, collectors and web pages, with helpers for URLs and errors.

use reqwest::header::{CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Response, Url};

/// Builds a client for one server: TLS with ring, no retries, and redirects according to `redirects`. It
/// reaches a server on this machine without a proxy.
pub(crate) fn client_for(url: &Url, redirects: Policy) -> Result<Client, String> {
    let mut builder = client_builder(redirects);
    if is_loopback(url) {
        builder = builder.no_proxy();
    }
    if url.scheme() == "http" {
        builder = builder.tls_backend_preconfigured(no_certificates()?);
    }
    builder.build().map_err(root_cause)
}

/// Returns the common settings of all clients. The caller decides about retries, so no lower layer retries.
pub(crate) fn client_builder(redirects: Policy) -> ClientBuilder {
    // Fails if a provider is already installed, which is then the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("saihai/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        .retry(reqwest::retry::never())
}

/// Returns TLS without certificates, so that a machine without any can still use plain HTTP.
fn no_certificates() -> Result<rustls::ClientConfig, String> {
    let provider = rustls::crypto::ring::default_provider();
    let config =
        rustls::ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// Returns true for an address of this machine, without resolving names.
pub(crate) fn is_loopback(url: &Url) -> bool {
    match url.host_str() {
        Some("localhost") => true,
        Some(host) => {
            let host = host.trim_start_matches('[').trim_end_matches(']');
            host.parse::<std::net::IpAddr>().is_ok_and(|address| address.is_loopback())
        }
        None => false,
    }
}

/// Compares scheme, host and port.
pub(crate) fn same_origin(one: &Url, other: &Url) -> bool {
    one.scheme() == other.scheme()
        && one.host_str() == other.host_str()
        && one.port_or_known_default() == other.port_or_known_default()
}

/// Returns the innermost message of an error, without the URL. The outer ones only say that it failed.
pub(crate) fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}

/// Returns the target of a redirect.
pub(crate) fn redirect_target(response: &Response) -> Option<Url> {
    let to = response.headers().get(LOCATION).filter(|_| response.status().is_redirection())?;
    response.url().join(to.to_str().ok()?).ok()
}

/// Returns the content type without its parameters, in lower case; empty if there is none.
pub(crate) fn media_type(response: &Response) -> String {
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase()
}

/// Reads the body, at most the first `most` bytes.
pub(crate) async fn read_body(response: &mut Response, most: usize) -> reqwest::Result<Vec<u8>> {
    let mut bytes = Vec::new();
    while bytes.len() < most
        && let Some(chunk) = response.chunk().await?
    {
        bytes.extend_from_slice(&chunk[..chunk.len().min(most - bytes.len())]);
    }
    Ok(bytes)
}

/// Returns the first line, cut to 300 characters: a server's message may be of any length.
pub(crate) fn first_line(text: &str) -> String {
    let line = text.lines().next().unwrap_or_default().chars().filter(|c| !c.is_control());
    line.take(300).collect()
}
