//! The proxy of programs that may reach only some hosts (B-2).
//!
//! Such a program has a network of its own, without a way out. Inside, the relay ([`crate::process::network_relay`])
//! listens on the loopback and passes every connection through a Unix socket to this proxy, which runs in
//! Saihai. It speaks HTTP proxy (`CONNECT`, and plain HTTP with the whole address), resolves names itself, and
//! refuses every host that the settings do not list.
//!
//! The socket lies in `/dev/shm`, because bubblewrap gives every program a `/dev` of its own: no program in
//! another sandbox finds it.

use std::collections::BTreeSet;
use std::convert::Infallible;
use std::fs::Permissions;
use std::io;
use std::os::unix::fs::PermissionsExt as _;
use std::os::unix::net::UnixListener as StdUnixListener;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use saihai_model::{Millis, SandboxHost};
use tempfile::TempDir;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixListener, UnixStream};
use tokio::runtime;
use tokio::sync::{Semaphore, mpsc, oneshot};
use tokio::time::{sleep, timeout};

const PLACE: &str = "/dev/shm";

/// Further connections wait.
const MOST_CONNECTIONS: usize = 256;

/// Maximum number of different refused hosts that are reported.
const MOST_REFUSALS: usize = 20;

const HEAD_TIME: Duration = Duration::from_secs(30);
const CONNECT_TIME: Duration = Duration::from_secs(30);

/// Maximum length of a request without its body.
const LONGEST_HEAD: usize = 64 * 1024;

/// Proxy for one program. Dropping it ends the proxy with all its connections.
pub(crate) struct NetworkProxy {
    place: TempDir,
    refused: mpsc::UnboundedReceiver<SandboxHost>,
    reported: BTreeSet<String>,
    received: Arc<LastReceived>,
    _running: oneshot::Sender<Infallible>,
}

impl NetworkProxy {
    pub(crate) fn start(hosts: &[SandboxHost]) -> io::Result<Self> {
        let mut place = tempfile::Builder::new();
        let place =
            place.prefix("agent-network-").permissions(Permissions::from_mode(0o700)).tempdir_in(PLACE)?;
        let listener = StdUnixListener::bind(place.path().join("socket"))?;
        listener.set_nonblocking(true)?;
        let (refusals, refused) = mpsc::unbounded_channel();
        let (running, stop) = oneshot::channel();
        let received = Arc::new(LastReceived { begun: Instant::now(), after: AtomicU64::new(0) });
        let rules = Arc::new(HostRules { hosts: hosts.to_vec(), refusals, received: Arc::clone(&received) });
        let runtime = runtime::Builder::new_current_thread().enable_all().build()?;
        // A thread of its own, so that a run that waits for its disk does not stop an agent.
        std::thread::Builder::new().name("agent-network".to_owned()).spawn(move || {
            runtime.block_on(async {
                tokio::select! {
                    _ = stop => {}
                    _ = serve(listener, &rules) => {}
                }
            });
            // Without waiting for names that are still being looked up.
            runtime.shutdown_background();
        })?;
        Ok(Self { place, refused, reported: BTreeSet::new(), received, _running: running })
    }

    pub(crate) fn socket(&self) -> PathBuf {
        self.place.path().join("socket")
    }

    /// Returns the time since a server sent something. The kernel can tell it only for sockets of its own network.
    pub(crate) fn since_received(&self) -> Option<Millis> {
        let after = self.received.after.load(Ordering::Relaxed);
        let now = self.received.passed();
        (after != 0).then(|| Millis(now.saturating_sub(after)))
    }

    /// Returns the hosts that were refused since the last call, each one once in the life of the program.
    pub(crate) fn take_refused(&mut self) -> Vec<String> {
        let mut new = Vec::new();
        while let Ok(host) = self.refused.try_recv() {
            let host = host.to_string();
            if self.reported.len() < MOST_REFUSALS && self.reported.insert(host.clone()) {
                new.push(host);
            }
        }
        new
    }
}

struct HostRules {
    hosts: Vec<SandboxHost>,
    refusals: mpsc::UnboundedSender<SandboxHost>,
    received: Arc<LastReceived>,
}

/// The last time that a server sent something.
struct LastReceived {
    begun: Instant,
    /// In milliseconds; 0 before anything arrived.
    after: AtomicU64,
}

impl LastReceived {
    fn passed(&self) -> u64 {
        u64::try_from(self.begun.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn renew(&self) {
        self.after.store(self.passed().max(1), Ordering::Relaxed);
    }
}

async fn serve(listener: StdUnixListener, rules: &Arc<HostRules>) -> io::Result<()> {
    let listener = UnixListener::from_std(listener)?;
    let free = Arc::new(Semaphore::new(MOST_CONNECTIONS));
    loop {
        let one = Arc::clone(&free).acquire_owned().await.map_err(io::Error::other)?;
        let Ok((client, _)) = listener.accept().await else {
            // No file descriptors are left; some will be closed.
            sleep(Duration::from_millis(50)).await;
            continue;
        };
        let rules = Arc::clone(rules);
        tokio::spawn(async move {
            // The program sees a closed connection.
            let _ = answer(client, &rules).await;
            drop(one);
        });
    }
}

async fn answer(mut client: UnixStream, rules: &HostRules) -> io::Result<()> {
    let Ok(received) = timeout(HEAD_TIME, read_head(&mut client)).await else { return Ok(()) };
    let Some((request, body)) = received?.and_then(|(head, body)| Some((ProxyRequest::parse(&head)?, body)))
    else {
        return respond(
            &mut client,
            "400 Bad Request",
            "this proxy needs CONNECT, or an address with `http://`",
        )
        .await;
    };
    let host = request.host;
    if !rules.hosts.iter().any(|rule| rule.allows(&host)) {
        let why = format!("the sandbox refused {host}; `sandbox_network` does not list it");
        // The receiver is gone if the program has ended.
        let _ = rules.refusals.send(host);
        return respond(&mut client, "403 Forbidden", &why).await;
    }
    let mut server = match timeout(CONNECT_TIME, TcpStream::connect((host.name.as_str(), host.port))).await {
        Ok(Ok(server)) => server,
        Ok(Err(error)) => {
            return respond(&mut client, "502 Bad Gateway", &format!("cannot connect to {host}: {error}"))
                .await;
        }
        Err(_) => {
            return respond(&mut client, "504 Gateway Timeout", &format!("{host} did not answer in time"))
                .await;
        }
    };
    server.set_nodelay(true)?;
    match request.forwarded {
        Some(head) => server.write_all(head.as_bytes()).await?,
        None => client.write_all(b"HTTP/1.1 200 Connection established\r\n\r\n").await?,
    }
    server.write_all(&body).await?;
    let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
        (client.split(), server.split());
    tokio::try_join!(
        pass_on(&mut from_client, &mut to_server, || {}),
        pass_on(&mut from_server, &mut to_client, || rules.received.renew()),
    )
    .map(drop)
}

/// Passes everything on, and then the end.
async fn pass_on(
    from: &mut (impl AsyncRead + Unpin),
    to: &mut (impl AsyncWrite + Unpin),
    received: impl Fn(),
) -> io::Result<()> {
    let mut buffer = vec![0; 16 * 1024];
    loop {
        let count = from.read(&mut buffer).await?;
        if count == 0 {
            return to.shutdown().await;
        }
        received();
        to.write_all(&buffer[..count]).await?;
    }
}

async fn respond(client: &mut UnixStream, status: &str, why: &str) -> io::Result<()> {
    let length = why.len() + 1;
    let answer = format!(
        "HTTP/1.1 {status}\r\nContent-Type: text/plain; charset=utf-8\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n{why}\n"
    );
    client.write_all(answer.as_bytes()).await
}

/// Reads up to the empty line. Returns the head, and what came after it.
async fn read_head(from: &mut (impl AsyncRead + Unpin)) -> io::Result<Option<(String, Vec<u8>)>> {
    let mut bytes = Vec::new();
    while bytes.len() <= LONGEST_HEAD {
        // The end may lie across two parts.
        let searched = bytes.len().saturating_sub(3);
        if from.read_buf(&mut bytes).await? == 0 {
            break;
        }
        if let Some(at) = memchr::memmem::find(&bytes[searched..], b"\r\n\r\n") {
            let body = bytes.split_off(searched + at + 4);
            return Ok(String::from_utf8(bytes).ok().map(|head| (head, body)));
        }
    }
    Ok(None)
}

#[derive(Debug, PartialEq, Eq)]
struct ProxyRequest {
    host: SandboxHost,
    /// The head for the server, unless the client wants a tunnel.
    forwarded: Option<String>,
}

impl ProxyRequest {
    fn parse(head: &str) -> Option<Self> {
        let (line, headers) = head.split_once("\r\n")?;
        let [method, target, version] = line.split(' ').collect::<Vec<_>>().try_into().ok()?;
        if !version.starts_with("HTTP/1.") {
            return None;
        }
        if method == "CONNECT" {
            return Some(Self { host: asked_host(target)?, forwarded: None });
        }
        let rest = target.strip_prefix("http://")?;
        let (authority, path) = rest.split_at(rest.find(['/', '?', '#']).unwrap_or(rest.len()));
        let host = asked_host(authority).or_else(|| asked_host(&format!("{authority}:80")))?;
        let slash = if path.starts_with('/') { "" } else { "/" };
        let mut forwarded = format!("{method} {slash}{path} {version}\r\nHost: {authority}\r\n");
        for header in headers.split("\r\n").filter(|header| !header.is_empty()) {
            let name = header.split(':').next().unwrap_or_default().trim().to_ascii_lowercase();
            // One request for each connection: the next one could be for another host.
            if !["host", "connection", "keep-alive", "proxy-connection", "proxy-authorization"]
                .contains(&&*name)
            {
                forwarded.push_str(header);
                forwarded.push_str("\r\n");
            }
        }
        forwarded.push_str("Connection: close\r\n\r\n");
        Some(Self { host, forwarded: Some(forwarded) })
    }
}

fn asked_host(authority: &str) -> Option<SandboxHost> {
    SandboxHost::parse(authority).filter(|host| !host.only_below)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn host(text: &str) -> SandboxHost {
        SandboxHost::parse(text).unwrap()
    }

    // B-2
    #[tokio::test]
    async fn a_head_may_arrive_in_parts_and_has_a_limit() {
        let all = b"CONNECT a:1 HTTP/1.1\r\n\r\nrest";
        for cut in 0..all.len() {
            let mut parts = all[..cut].chain(&all[cut..]);
            let (head, mut rest) = read_head(&mut parts).await.unwrap().unwrap();
            parts.read_to_end(&mut rest).await.unwrap();
            assert_eq!(
                (head.as_str(), rest.as_slice()),
                ("CONNECT a:1 HTTP/1.1\r\n\r\n", &b"rest"[..]),
                "{cut}"
            );
        }
        assert_eq!(read_head(&mut tokio::io::repeat(b'x')).await.unwrap(), None);
        assert_eq!(read_head(&mut &b"CONNECT"[..]).await.unwrap(), None);
    }

    // B-2
    #[test]
    fn a_request_names_its_host_and_is_made_fit_for_the_server() {
        let tunnel = ProxyRequest::parse("CONNECT Api.example.com:443 HTTP/1.1\r\nHost: other.org\r\n\r\n");
        assert_eq!(tunnel, Some(ProxyRequest { host: host("api.example.com:443"), forwarded: None }));
        let plain = "POST http://example.com?a=1 HTTP/1.1\r\nHost: other.org\r\nProxy-Connection: keep-alive\r\n\
            Connection: keep-alive\r\nContent-Length: 3\r\n\r\n";
        let forwarded =
            "POST /?a=1 HTTP/1.1\r\nHost: example.com\r\nContent-Length: 3\r\nConnection: close\r\n\r\n";
        let expected = ProxyRequest { host: host("example.com:80"), forwarded: Some(forwarded.to_owned()) };
        assert_eq!(ProxyRequest::parse(plain), Some(expected));
        for wrong in [
            "GET / HTTP/1.1\r\nHost: example.com\r\n\r\n",
            "GET http://user@example.com/ HTTP/1.1\r\n\r\n",
            "GET https://example.com/ HTTP/1.1\r\n\r\n",
            "CONNECT *.example.com:443 HTTP/1.1\r\n\r\n",
            "CONNECT example.com HTTP/1.1\r\n\r\n",
            "CONNECT a\u{1b}[2J:443 HTTP/1.1\r\n\r\n",
            "SSH-2.0\r\n\r\n",
        ] {
            assert_eq!(ProxyRequest::parse(wrong), None, "{wrong}");
        }
    }

    /// Answers every connection with `ok`, and returns its address.
    async fn server() -> SandboxHost {
        let listener = tokio::net::TcpListener::bind("127.0.0.1:0").await.unwrap();
        let port = listener.local_addr().unwrap().port();
        tokio::spawn(async move {
            while let Ok((mut stream, _)) = listener.accept().await {
                let _ = stream.read(&mut [0; 1024]).await;
                let _ = stream.write_all(b"ok").await;
            }
        });
        host(&format!("localhost:{port}"))
    }

    async fn ask(proxy: &NetworkProxy, words: &str) -> String {
        let mut stream = UnixStream::connect(proxy.socket()).await.unwrap();
        stream.write_all(words.as_bytes()).await.unwrap();
        let mut answer = String::new();
        stream.read_to_string(&mut answer).await.unwrap();
        answer
    }

    // B-2
    #[tokio::test]
    async fn a_listed_host_is_reached_and_another_one_is_refused_and_reported_once() {
        let (listed, other) = (server().await, server().await);
        let mut proxy = NetworkProxy::start(std::slice::from_ref(&listed)).unwrap();
        assert_eq!(proxy.since_received(), None);
        let tunnel = ask(&proxy, &format!("CONNECT {listed} HTTP/1.1\r\n\r\nhello")).await;
        assert_eq!(tunnel, "HTTP/1.1 200 Connection established\r\n\r\nok");
        assert_eq!(ask(&proxy, &format!("GET http://{listed}/ HTTP/1.1\r\n\r\n")).await, "ok");
        assert!(proxy.since_received().is_some());
        assert_eq!(proxy.take_refused(), Vec::<String>::new());
        for _ in 0..2 {
            let refused = ask(&proxy, &format!("CONNECT {other} HTTP/1.1\r\n\r\n")).await;
            assert!(refused.starts_with("HTTP/1.1 403 Forbidden\r\n"), "{refused}");
            assert!(refused.contains(&format!("the sandbox refused {other}")), "{refused}");
        }
        assert_eq!(proxy.take_refused(), [other.to_string()]);
        assert!(ask(&proxy, "GET / HTTP/1.1\r\n\r\n").await.starts_with("HTTP/1.1 400 "));
        let place = proxy.socket();
        drop(proxy);
        assert!(!place.exists());
    }
}
