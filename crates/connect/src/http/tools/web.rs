//! Pages elsewhere (R-37): `pr_view` and `issue_view` on the forge, `web_fetch` on the public web.
//!
//! `web_fetch` exists only if the settings allow it, because a model could leak project content in a URL. It
//! reaches no address of this machine or its networks.

use std::future::Future;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use reqwest::dns::{Addrs, Name, Resolve, Resolving};
use reqwest::header::ACCEPT;
use reqwest::redirect::Policy;
use reqwest::{Client, Response, Url};
use serde_json::{Value, json};

use super::{ModelTool, ToolContext, ToolInput, ToolPage, ToolStop, cut};
use crate::forge::viewer::ForgePageKind;
use crate::http::client::{client_builder, media_type, read_body, redirect_target, root_cause};

pub(super) static PR_VIEW: ModelTool = ModelTool {
    name: "pr_view",
    description: "Shows a pull request of this repository on the forge: its title, state, branches, text and comments.",
    schema: number_schema,
    run: |reach, input| view(reach, input, ForgePageKind::PullRequest),
};

pub(super) static ISSUE_VIEW: ModelTool = ModelTool {
    name: "issue_view",
    description: "Shows an issue of this repository on the forge: its title, state, labels, text and comments.",
    schema: number_schema,
    run: |reach, input| view(reach, input, ForgePageKind::Issue),
};

fn number_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "number": { "type": "integer", "minimum": 1, "description": "its number" } },
        "required": ["number"],
        "additionalProperties": false,
    })
}

fn view(reach: &ToolContext, input: &ToolInput<'_>, kind: ForgePageKind) -> Result<String, String> {
    let number = input.number("number", u64::MAX)?.ok_or("`number` is missing")?;
    let viewer = reach.viewer.as_ref().ok_or("it is not known here which repository of a forge is meant")?;
    let text = wait(&reach.stop, viewer.view(kind, number))?;
    page_of(&text, usize::MAX, &reach.stop)
}

pub(super) static WEB_FETCH: ModelTool = ModelTool {
    name: "web_fetch",
    description: "Fetches a page of the public web over https and shows its text.",
    schema: url_schema,
    run: |reach, input| fetched(input.required("url")?, WebBounds::Public, &reach.stop),
};

/// Maximum download size. The displayed text is much shorter.
const LARGEST: usize = 2 * 1024 * 1024;
const REDIRECTS: usize = 5;
const WANTED: &str = "text/html, text/plain, text/*;q=0.9, application/json;q=0.8, application/xml;q=0.7";

fn url_schema() -> Value {
    json!({
        "type": "object",
        "properties": { "url": { "type": "string", "description": "its address, beginning with `https://`" } },
        "required": ["url"],
        "additionalProperties": false,
    })
}

pub(super) fn fetched(address: &str, bounds: WebBounds, stop: &ToolStop) -> Result<String, String> {
    let text = wait(stop, fetch(address, bounds))?;
    page_of(&text, 4 * 1024, stop)
}

/// Returns the lines of a text as a page, each cut to `longest` bytes.
fn page_of(text: &str, longest: usize, stop: &ToolStop) -> Result<String, String> {
    let mut page = ToolPage::default();
    for line in text.lines() {
        stop.check()?;
        if !page.line(cut(line, longest)) {
            return Ok(page.with_note("cut: the rest is too long"));
        }
    }
    Ok(if page.is_empty() { page.with_note("there is no text") } else { page.finish() })
}

/// Fetches the text of a page and follows redirects. Every URL on the way must pass the same check.
async fn fetch(address: &str, bounds: WebBounds) -> Result<String, String> {
    let url = Url::parse(address).map_err(|error| format!("`url` is not a URL: {error}"))?;
    let mut url = bounds.allow(url)?;
    let client = client(bounds)?;
    for _ in 0..=REDIRECTS {
        let asked = client.get(url.clone()).header(ACCEPT, WANTED).send().await;
        let response = asked.map_err(root_cause)?;
        if !response.status().is_redirection() {
            return text(response).await;
        }
        let next = redirect_target(&response).ok_or("it leads elsewhere and does not say where")?;
        url = bounds.allow(next)?;
    }
    Err("it leads from one address to the next".to_owned())
}

/// Builds the client without a proxy. A proxy would resolve names itself and could reach private addresses.
fn client(bounds: WebBounds) -> Result<Client, String> {
    let builder = client_builder(Policy::none()).no_proxy().dns_resolver(Arc::new(PublicNames(bounds)));
    builder.build().map_err(root_cause)
}

async fn text(mut response: Response) -> Result<String, String> {
    if !response.status().is_success() {
        return Err(format!("the server answers {}", response.status()));
    }
    let kind = media_type(&response);
    if !is_text(&kind) {
        return Err(format!("it is not text: `{}`", kind.escape_debug()));
    }
    let bytes = read_body(&mut response, LARGEST).await.map_err(root_cause)?;
    let text = String::from_utf8_lossy(&bytes);
    Ok(if kind.contains("html") { readable_text(&text) } else { text.into_owned() })
}

fn is_text(kind: &str) -> bool {
    let other = ["application/json", "application/xml", "application/javascript", "application/toml"];
    kind.starts_with("text/")
        || other.contains(&kind)
        || ["+json", "+xml", "/yaml", "/x-yaml"].iter().any(|end| kind.ends_with(end))
}

/// Interval between checks for a stopped tool.
const STOP_INTERVAL: Duration = Duration::from_millis(100);

/// Waits until the future is done or the tool must stop. Each tool has its own thread, and this creates a
/// runtime on it. So it never blocks the run.
pub(super) fn wait<T>(stop: &ToolStop, done: impl Future<Output = Result<T, String>>) -> Result<T, String> {
    let runtime = tokio::runtime::Builder::new_current_thread().enable_all().build();
    let runtime = runtime.map_err(|error| error.to_string())?;
    let said = runtime.block_on(async {
        tokio::select! {
            said = done => said,
            why = stopped(stop) => Err(why),
        }
    });
    // A name lookup cannot be interrupted.
    runtime.shutdown_background();
    said
}

/// Waits until the tool must stop, and returns the reason.
async fn stopped(stop: &ToolStop) -> String {
    loop {
        tokio::time::sleep(STOP_INTERVAL).await;
        if let Err(why) = stop.check() {
            return why;
        }
    }
}

const HIDDEN: [&str; 5] = ["script", "style", "template", "noscript", "svg"];
/// Elements that start and end a line.
const LINES: [&str; 22] = [
    "p", "br", "div", "li", "ul", "ol", "tr", "table", "h1", "h2", "h3", "h4", "h5", "h6", "pre", "section",
    "article", "header", "footer", "title", "dt", "dd",
];

/// Returns the readable text, line by line.
pub(super) fn readable_text(html: &str) -> String {
    let mut text = String::new();
    let mut rest = html;
    while let Some(open) = rest.find('<') {
        text.push_str(&unescaped(&rest[..open]));
        rest = &rest[open..];
        if let Some(comment) = rest.strip_prefix("<!--") {
            rest = comment.find("-->").map_or("", |end| &comment[end + 3..]);
            continue;
        }
        let Some(close) = rest.find('>') else { break };
        let inside = &rest[1..close];
        let name = tag(inside);
        rest = &rest[close + 1..];
        if HIDDEN.contains(&name.as_str()) && !inside.starts_with('/') && !inside.ends_with('/') {
            rest = behind(rest, &name);
        }
        if LINES.contains(&name.as_str()) {
            text.push('\n');
        }
    }
    if !rest.starts_with('<') {
        text.push_str(&unescaped(rest));
    }
    let lines = text.lines().map(|line| line.split_whitespace().collect::<Vec<_>>().join(" "));
    lines.filter(|line| !line.is_empty()).collect::<Vec<_>>().join("\n")
}

/// Returns the name of an element in lower case.
fn tag(inside: &str) -> String {
    let name = inside.trim_start_matches('/');
    name.chars().take_while(char::is_ascii_alphanumeric).collect::<String>().to_ascii_lowercase()
}

/// Returns the text after the end of an element; empty if it has no end.
fn behind<'a>(text: &'a str, name: &str) -> &'a str {
    let mut rest = text;
    while let Some(at) = rest.find("</") {
        rest = &rest[at + 2..];
        if tag(rest) == name {
            return rest.find('>').map_or("", |end| &rest[end + 1..]);
        }
    }
    ""
}

/// Replaces the most common character references.
fn unescaped(text: &str) -> String {
    let names = [("&lt;", "<"), ("&gt;", ">"), ("&quot;", "\""), ("&#39;", "'"), ("&nbsp;", " ")];
    let text = names.iter().fold(text.to_owned(), |text, (name, letter)| text.replace(name, letter));
    text.replace("&amp;", "&")
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum WebBounds {
    Public,
    /// This machine, for tests of everything after the check.
    #[cfg(test)]
    Loopback,
}

impl WebBounds {
    /// Returns the URL if it may be requested.
    pub(super) fn allow(self, url: Url) -> Result<Url, String> {
        if url.scheme() != self.scheme() {
            return Err(format!("only addresses that begin with `{}://` are fetched", self.scheme()));
        }
        if !url.username().is_empty() || url.password().is_some() {
            return Err("a user name or password must not stand in the address".to_owned());
        }
        let host = url.host_str().unwrap_or_default();
        let bare = host.trim_start_matches('[').trim_end_matches(']');
        match bare.parse::<IpAddr>() {
            Ok(address) if !self.takes(address) => Err(not_public(host)),
            Ok(_) | Err(_) => Ok(url),
        }
    }

    fn scheme(self) -> &'static str {
        match self {
            Self::Public => "https",
            #[cfg(test)]
            Self::Loopback => "http",
        }
    }

    fn takes(self, address: IpAddr) -> bool {
        match self {
            Self::Public => is_public(address),
            #[cfg(test)]
            Self::Loopback => address.is_loopback(),
        }
    }
}

fn not_public(host: &str) -> String {
    format!("`{host}` is not on the public web")
}

/// A name resolver that returns public addresses only. The checked address is the one that is connected to.
struct PublicNames(WebBounds);

impl Resolve for PublicNames {
    fn resolve(&self, name: Name) -> Resolving {
        let bounds = self.0;
        Box::pin(async move {
            let found = tokio::net::lookup_host((name.as_str(), 0)).await?;
            let taken: Vec<SocketAddr> = found.filter(|found| bounds.takes(found.ip())).collect();
            if taken.is_empty() {
                return Err(not_public(name.as_str()).into());
            }
            Ok(Box::new(taken.into_iter()) as Addrs)
        })
    }
}

/// Returns true for an address of the public internet.
pub(super) fn is_public(address: IpAddr) -> bool {
    match address {
        IpAddr::V4(address) => is_public_v4(address),
        IpAddr::V6(address) => match address.to_ipv4_mapped() {
            Some(address) => is_public_v4(address),
            None => is_public_v6(address),
        },
    }
}

fn is_public_v4(address: Ipv4Addr) -> bool {
    let [a, b, c, _] = address.octets();
    let is_special = address.is_private()
        || address.is_loopback()
        || address.is_link_local()
        || address.is_documentation()
        // This network, carrier-grade NAT, protocol assignments, benchmarks, and everything from 224 on.
        || a == 0
        || (a == 100 && (64..128).contains(&b))
        || (a == 192 && b == 0 && c == 0)
        || (a == 192 && b == 88 && c == 99)
        || (a == 198 && (18..20).contains(&b))
        || a >= 224;
    !is_special
}

/// Returns true for global unicast addresses, except IPv4 tunnels and documentation.
fn is_public_v6(address: Ipv6Addr) -> bool {
    let [first, second, ..] = address.segments();
    let is_global = first & 0xe000 == 0x2000;
    let is_special = (first == 0x2001 && (second < 0x0200 || second == 0x0db8))
        || first == 0x2002
        || (first == 0x3fff && second < 0x1000);
    is_global && !is_special
}
