//! Builds the HTTP client that models, forges and web pages share, and answers what all three ask about addresses and errors.

use reqwest::redirect::Policy;
use reqwest::{Client, ClientBuilder, Url};

/// A client for one server: TLS with ring, no retries, and redirects only as `redirects` says. A server on this machine is reached without a
/// proxy.
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

/// The settings that every client has. The caller decides about repeating a request, so nothing below it does.
pub(crate) fn client_builder(redirects: Policy) -> ClientBuilder {
    // Fails where a provider is installed already; it is the same one.
    let _ = rustls::crypto::ring::default_provider().install_default();
    Client::builder()
        .user_agent(concat!("saihai/", env!("CARGO_PKG_VERSION")))
        .redirect(redirects)
        .retry(reqwest::retry::never())
}

/// Plain HTTP needs no certificates, so a machine without any can still reach itself.
fn no_certificates() -> Result<rustls::ClientConfig, String> {
    let provider = rustls::crypto::ring::default_provider();
    let config =
        rustls::ClientConfig::builder_with_provider(provider.into()).with_safe_default_protocol_versions();
    let config = config.map_err(|error| error.to_string())?;
    Ok(config.with_root_certificates(rustls::RootCertStore::empty()).with_no_client_auth())
}

/// Decides without resolving any name.
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

/// The innermost message of an error, without the URL: the outer ones only say that something inside failed.
pub(crate) fn root_cause(error: reqwest::Error) -> String {
    let error = error.without_url();
    let mut cause: &dyn std::error::Error = &error;
    while let Some(inner) = cause.source() {
        cause = inner;
    }
    cause.to_string()
}
