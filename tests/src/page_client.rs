//! A browser's part of the conversation with `saihai serve`, without a browser.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::time::{Duration, Instant};

use rustix::process::Signal;
use serde_json::Value;

use crate::{Invocation, Live};

/// A running `saihai serve`, and the cookie that its link gave.
pub struct PageClient {
    live: Option<Live>,
    pub address: String,
    pub cookie: String,
    /// The path of the link, with its token.
    pub link: String,
}

/// An answer of the server.
#[derive(Debug, Clone, PartialEq)]
pub struct PageAnswer {
    pub status: u16,
    pub head: String,
    pub body: String,
}

impl PageAnswer {
    #[track_caller]
    pub fn json(&self) -> Value {
        serde_json::from_str(&self.body).unwrap_or_else(|error| panic!("{error}: {self:?}"))
    }

    /// Returns the value of a header.
    pub fn header(&self, name: &str) -> Option<&str> {
        let lines = self.head.lines().filter_map(|line| line.split_once(": "));
        lines.filter(|(found, _)| found.eq_ignore_ascii_case(name)).map(|(_, value)| value).next()
    }
}

impl PageClient {
    /// Starts the server and opens its link.
    #[track_caller]
    pub fn start(serve: Invocation) -> Self {
        Self::start_without_opening(serve).open()
    }

    #[track_caller]
    pub fn start_without_opening(serve: Invocation) -> Self {
        let mut live = serve.start();
        let printed = live.wait_for("\"serving\"");
        let line = printed.lines().find(|line| line.contains("\"serving\"")).expect("the link");
        let mut client = Self::at(line);
        client.live = Some(live);
        client
    }

    /// Opens the link of a server that was started elsewhere. `line` is what `serve --json` printed.
    #[track_caller]
    pub fn opened(line: &str) -> Self {
        Self::at(line).open()
    }

    fn at(line: &str) -> Self {
        let serving: Value = serde_json::from_str(line).expect("an object");
        let url = serving["url"].as_str().expect("a link");
        let rest = url.strip_prefix("http://").expect("a link");
        let (address, path) = rest.split_once('/').expect("a path");
        Self { live: None, address: address.to_owned(), cookie: String::new(), link: format!("/{path}") }
    }

    #[track_caller]
    fn open(mut self) -> Self {
        let opened = self.send("GET", &self.link.clone(), &[], "");
        assert_eq!(opened.status, 303, "{opened:?}");
        let cookie = opened.header("set-cookie").expect("a cookie");
        self.cookie = cookie.split(';').next().expect("a pair").to_owned();
        self
    }

    /// Sends a request with these headers, and the cookie if there is one.
    #[track_caller]
    pub fn send(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> PageAnswer {
        let mut stream = self.connect(method, path, headers, body);
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (head, body) = answer.split_once("\r\n\r\n").expect("a head");
        let status = head.split(' ').nth(1).and_then(|status| status.parse().ok()).expect("a status");
        PageAnswer { status, head: head.to_owned(), body: body.to_owned() }
    }

    fn connect(&self, method: &str, path: &str, headers: &[(&str, &str)], body: &str) -> TcpStream {
        let mut stream = TcpStream::connect(&self.address).expect("the server");
        stream.set_read_timeout(Some(Duration::from_secs(20))).expect("a timeout");
        let has_host = headers.iter().any(|(name, _)| name.eq_ignore_ascii_case("host"));
        let mut head = format!("{method} {path} HTTP/1.0\r\n");
        if !has_host {
            head.push_str(&format!("Host: {}\r\n", self.address));
        }
        if !self.cookie.is_empty() {
            head.push_str(&format!("Cookie: {}\r\n", self.cookie));
        }
        for (name, value) in headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str(&format!("Content-Length: {}\r\n\r\n{body}", body.len()));
        stream.write_all(head.as_bytes()).expect("a request");
        stream
    }

    #[track_caller]
    pub fn get(&self, path: &str) -> Value {
        let answer = self.send("GET", path, &[], "");
        assert_eq!(answer.status, 200, "{path}: {answer:?}");
        answer.json()
    }

    /// Sends what a button of the page sends.
    #[track_caller]
    pub fn post(&self, path: &str, body: &Value) -> PageAnswer {
        let headers = [("Content-Type", "application/json"), ("Sec-Fetch-Site", "same-origin")];
        self.send("POST", path, &headers, &body.to_string())
    }

    /// Follows the changes of all runs and, if the query names one, of a run.
    pub fn events(&self, query: &str, headers: &[(&str, &str)]) -> PageEvents {
        let stream = self.connect("GET", &format!("/api/events{query}"), headers, "");
        PageEvents { lines: BufReader::new(stream), last_id: String::new() }
    }

    pub fn pid(&self) -> u32 {
        self.live.as_ref().map_or(0, Live::pid)
    }
}

impl Drop for PageClient {
    fn drop(&mut self) {
        if let Some(live) = self.live.take() {
            live.signal(Signal::TERM);
        }
    }
}

/// The stream of events of one browser.
pub struct PageEvents {
    lines: BufReader<TcpStream>,
    /// Id of the last event that had one.
    pub last_id: String,
}

impl PageEvents {
    /// Waits for an event that fits.
    #[track_caller]
    pub fn wait_for(&mut self, what: &str, fits: impl Fn(&Value) -> bool) -> Value {
        let begun = Instant::now();
        let mut found = None;
        loop {
            assert!(begun.elapsed() < Duration::from_secs(30), "no event: {what}");
            let mut line = String::new();
            let read = self.lines.read_line(&mut line).expect("the stream");
            assert_ne!(read, 0, "the stream ended before: {what}");
            let line = line.trim_end();
            if let Some(id) = line.strip_prefix("id: ") {
                id.clone_into(&mut self.last_id);
            }
            if let Some(data) = line.strip_prefix("data: ") {
                let event: Value = serde_json::from_str(data).expect("an event");
                found = found.or_else(|| fits(&event).then_some(event));
            }
            // An empty line ends an event; its id may come after the data.
            if line.is_empty()
                && let Some(event) = found.take()
            {
                return event;
            }
        }
    }
}
