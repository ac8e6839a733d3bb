//! `web_fetch`: a page of the public web, as text.
//!
//! The tool exists only if the settings allow it, because a model could leak project content in a URL.

mod page_text;
mod public;

#[cfg(test)]
mod tests;

use std::sync::Arc;

use reqwest::header::{ACCEPT, CONTENT_TYPE, LOCATION};
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};

use super::page::Page;
use super::waiting::wait;
use super::{Halt, Tool};
use crate::http::client::{client_builder, root_cause};
use public::{Bounds, PublicNames};

pub(super) static TOOL: Tool = Tool {
    name: "web_fetch",
    description: "Fetches a page of the public web over https and shows its text.",
    schema,
    run: |reach, input| shown(input.required("url")?, Bounds::Public, &reach.halt),
};

/// Maximum download size. The displayed text is much shorter.
const LARGEST: usize = 2 * 1024 * 1024;
const REDIRECTS: usize = 5;
const WANTED: &str = "text/html, text/plain, text/*;q=0.9, application/json;q=0.8, application/xml;q=0.7";

fn schema() -> Value {
    json!({
        "type": "object",
        "properties": { "url": { "type": "string", "description": "its address, beginning with `https://`" } },
        "required": ["url"],
        "additionalProperties": false,
    })
}

fn shown(address: &str, bounds: Bounds, halt: &Halt) -> Result<String, String> {
    let text = wait(halt, fetch(address, bounds))?;
    let mut page = Page::default();
    for line in text.lines() {
        halt.check()?;
        if !page.line(super::page::cut(line, 4 * 1024)) {
            return Ok(page.with_note("cut: the rest is too long"));
        }
    }
    if page.is_empty() { Ok(page.with_note("there is no text")) } else { Ok(page.finish()) }
}

/// Fetches the text of a page and follows redirects. Every URL on the way must pass the same check.
async fn fetch(address: &str, bounds: Bounds) -> Result<String, String> {
    let url = Url::parse(address).map_err(|error| format!("`url` is no address: {error}"))?;
    let mut url = bounds.allow(url)?;
    let client = client(bounds)?;
    for _ in 0..=REDIRECTS {
        let asked = client.get(url.clone()).header(ACCEPT, WANTED).send().await;
        let response = asked.map_err(root_cause)?;
        match next(&response)? {
            Some(next) => url = bounds.allow(next)?,
            None => return text(response).await,
        }
    }
    Err("it leads from one address to the next".to_owned())
}

/// Builds the client without a proxy. A proxy would resolve names itself and could reach private addresses.
fn client(bounds: Bounds) -> Result<Client, String> {
    let builder = client_builder(Policy::none()).no_proxy().dns_resolver(Arc::new(PublicNames(bounds)));
    builder.build().map_err(root_cause)
}

/// Returns the target of a redirect.
fn next(response: &Response) -> Result<Option<Url>, String> {
    if !response.status().is_redirection() {
        return Ok(None);
    }
    let to = response.headers().get(LOCATION).and_then(|to| to.to_str().ok());
    let to = to.and_then(|to| response.url().join(to).ok());
    to.map(Some).ok_or_else(|| "it leads elsewhere and does not say where".to_owned())
}

async fn text(mut response: Response) -> Result<String, String> {
    if !response.status().is_success() {
        return Err(format!("the server answers {}", response.status()));
    }
    let kind = response.headers().get(CONTENT_TYPE).and_then(|kind| kind.to_str().ok()).unwrap_or_default();
    let kind = kind.split(';').next().unwrap_or_default().trim().to_ascii_lowercase();
    if !is_text(&kind) {
        return Err(format!("it is no text: `{}`", kind.escape_debug()));
    }
    let mut bytes = Vec::new();
    while let Some(chunk) = response.chunk().await.map_err(root_cause)? {
        let room = LARGEST - bytes.len();
        bytes.extend_from_slice(&chunk[..chunk.len().min(room)]);
        if bytes.len() == LARGEST {
            break;
        }
    }
    let text = String::from_utf8_lossy(&bytes);
    Ok(if kind.contains("html") { page_text::of(&text) } else { text.into_owned() })
}

fn is_text(kind: &str) -> bool {
    let other = ["application/json", "application/xml", "application/javascript", "application/toml"];
    kind.starts_with("text/")
        || other.contains(&kind)
        || ["+json", "+xml", "/yaml", "/x-yaml"].iter().any(|end| kind.ends_with(end))
}
