//! The part of HTTP/1.1 that the client needs: one request and one answer per connection.

use std::io::{self, BufRead, BufReader, Read};
use std::net::TcpStream;

use serde_json::Value;

#[derive(Debug, Clone, PartialEq)]
pub struct Request {
    pub method: String,
    pub path: String,
    pub query: String,
    pub headers: Vec<(String, String)>,
    /// The body as JSON; null if it is not JSON.
    pub body: Value,
}

impl Request {
    pub fn header(&self, name: &str) -> Option<&str> {
        self.headers.iter().find(|(one, _)| one == name).map(|(_, value)| value.as_str())
    }

    /// Returns a decoded value of the query.
    pub fn value(&self, name: &str) -> Option<String> {
        let value =
            self.query.split('&').find_map(|pair| pair.split_once('=').filter(|(key, _)| *key == name));
        value.map(|(_, value)| decoded(value))
    }

    /// Returns true if the request asks for a change. GraphQL queries use POST but only read.
    pub fn is_write(&self) -> bool {
        self.method != "GET" && self.path != "/graphql"
    }

    /// Returns method and path, for comparisons in tests.
    pub fn line(&self) -> String {
        format!("{} {}", self.method, self.path)
    }
}

pub(super) fn decoded(text: &str) -> String {
    let bytes = text.as_bytes();
    let (mut plain, mut at) = (Vec::new(), 0);
    while at < bytes.len() {
        let escape = text.get(at + 1..at + 3).filter(|_| bytes[at] == b'%');
        match escape.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                plain.push(byte);
                at += 3;
            }
            None => {
                plain.push(bytes[at]);
                at += 1;
            }
        }
    }
    String::from_utf8_lossy(&plain).into_owned()
}

/// Reads one request; nothing if the client closed the connection without one.
pub(super) fn read(stream: &mut TcpStream) -> io::Result<Option<Request>> {
    let mut reader = BufReader::new(stream);
    let first = line(&mut reader)?;
    let mut words = first.split(' ');
    let (Some(method), Some(target)) = (words.next(), words.next()) else { return Ok(None) };
    let (path, query) = target.split_once('?').unwrap_or((target, ""));
    let mut request = Request {
        method: method.to_owned(),
        path: path.to_owned(),
        query: query.to_owned(),
        headers: Vec::new(),
        body: Value::Null,
    };
    loop {
        let line = line(&mut reader)?;
        if line.is_empty() {
            break;
        }
        if let Some((name, value)) = line.split_once(':') {
            request.headers.push((name.to_ascii_lowercase(), value.trim().to_owned()));
        }
    }
    let chunked = request.header("transfer-encoding").is_some_and(|value| value == "chunked");
    let length = request.header("content-length").and_then(|value| value.parse().ok()).unwrap_or(0);
    let body = if chunked { chunks(&mut reader)? } else { exactly(&mut reader, length)? };
    request.body = serde_json::from_slice(&body).unwrap_or(Value::Null);
    Ok(Some(request))
}

fn exactly(reader: &mut impl Read, length: usize) -> io::Result<Vec<u8>> {
    let mut body = vec![0; length];
    reader.read_exact(&mut body)?;
    Ok(body)
}

fn chunks(reader: &mut impl BufRead) -> io::Result<Vec<u8>> {
    let mut body = Vec::new();
    loop {
        let size = usize::from_str_radix(line(reader)?.trim(), 16).map_err(io::Error::other)?;
        body.extend(exactly(reader, size)?);
        line(reader)?;
        if size == 0 {
            return Ok(body);
        }
    }
}

fn line(reader: &mut impl BufRead) -> io::Result<String> {
    let mut line = String::new();
    reader.read_line(&mut line)?;
    Ok(line.trim_end_matches(['\r', '\n']).to_owned())
}
