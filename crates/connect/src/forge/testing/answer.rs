//! Answers of the forge.

use std::hash::{DefaultHasher, Hash as _, Hasher as _};

use serde_json::{Value, json};

#[derive(Debug, Clone)]
pub(super) struct Answer {
    status: u16,
    headers: Vec<(String, String)>,
    body: Vec<u8>,
}

impl Answer {
    pub(super) fn json(status: u16, body: &Value) -> Self {
        Self { status, headers: Vec::new(), body: body.to_string().into_bytes() }
    }

    pub(super) fn raw(status: u16, body: impl Into<Vec<u8>>) -> Self {
        Self { status, headers: Vec::new(), body: body.into() }
    }

    pub(super) fn refusal(status: u16, message: &str) -> Self {
        Self::json(status, &json!({"message": message}))
    }

    pub(super) fn not_found() -> Self {
        Self::refusal(404, "Not Found")
    }

    pub(super) fn with(mut self, name: &str, value: impl Into<String>) -> Self {
        self.headers.push((name.to_owned(), value.into()));
        self
    }

    /// Adds a tag. A client that sent the same tag only gets "not modified".
    pub(super) fn tagged(self, shown: Option<&str>) -> Self {
        let mut hasher = DefaultHasher::new();
        (&self.headers, &self.body).hash(&mut hasher);
        let tag = format!("\"{:016x}\"", hasher.finish());
        let answer = if shown == Some(&tag) { Self::raw(304, "") } else { self };
        answer.with("etag", tag)
    }

    pub(super) fn status(&self) -> u16 {
        self.status
    }

    pub(super) fn to_bytes(&self) -> Vec<u8> {
        let mut head = format!(
            "HTTP/1.1 {} Scripted\r\ncontent-type: application/json\r\ncontent-length: {}\r\nconnection: close\r\n",
            self.status,
            self.body.len()
        );
        for (name, value) in &self.headers {
            head.push_str(&format!("{name}: {value}\r\n"));
        }
        head.push_str("\r\n");
        let mut bytes = head.into_bytes();
        bytes.extend_from_slice(&self.body);
        bytes
    }
}
