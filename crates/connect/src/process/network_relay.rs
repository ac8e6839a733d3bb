//! The inner part of a limited network (B-2): our own program inside a sandbox of bubblewrap, whose network has only a
//! loopback. It starts the agent program and passes its connections to the proxy outside, through a Unix socket.
//!
//! It has no rights that the program lacks. A program that ends it only loses its network.

use std::ffi::{OsStr, OsString};
use std::io;
use std::net::{Ipv4Addr, SocketAddr};
use std::path::{Path, PathBuf};
use std::process::Command;

use rustix::process::{Pid, WaitOptions};
use saihai_model::SandboxHost;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _, copy_bidirectional};
use tokio::net::{TcpListener, TcpStream, UnixStream};
use tokio::runtime;
use tokio::signal::unix::{SignalKind, signal};

use super::launcher::{self, FAILED};

/// Address of the proxy inside.
pub(crate) const PROXY: SocketAddr = SocketAddr::new(std::net::IpAddr::V4(Ipv4Addr::LOCALHOST), 48128);

/// Argument for no servers of this machine.
const NO_SERVERS: &str = "-";

/// Returns the arguments of the relay, before those of the program.
pub(crate) fn arguments(relay: &str, socket: &str, hosts: &[SandboxHost]) -> Vec<String> {
    let servers: Vec<String> =
        hosts.iter().filter(|host| host.loopback().is_some()).map(SandboxHost::to_string).collect();
    let servers = if servers.is_empty() { NO_SERVERS.to_owned() } else { servers.join(",") };
    [relay, launcher::ARGUMENT, launcher::RELAY, socket, &servers].map(str::to_owned).to_vec()
}

/// Starts the program and relays until it ends. Returns its exit code, or the reason why it could not start.
pub(super) fn run(
    socket: &OsStr,
    servers: &OsStr,
    program: &OsStr,
    arguments: &[OsString],
) -> Result<u8, (u8, String)> {
    let failed =
        |error: io::Error| (FAILED, format!("the network of the sandbox could not be set up: {error}"));
    let runtime = runtime::Builder::new_current_thread().enable_io().build().map_err(failed)?;
    runtime.block_on(async {
        listen(PROXY, socket, None).await.map_err(failed)?;
        let servers = servers.to_string_lossy();
        for host in servers.split(',').filter_map(SandboxHost::parse) {
            if let Some(address) = host.loopback() {
                listen(address, socket, Some(host)).await.map_err(failed)?;
            }
        }
        let mut command = Command::new(program);
        command.args(arguments);
        program_ended(command).await.map_err(|error| {
            let path = Path::new(program).display();
            (launcher::code_of(&error), format!("`{path}` could not be started: {error}"))
        })
    })
}

/// Accepts connections in the background. `server` is the host that all of them are for; without one, the program says it.
async fn listen(address: SocketAddr, socket: &OsStr, server: Option<SandboxHost>) -> io::Result<()> {
    let listener = TcpListener::bind(address)
        .await
        .map_err(|error| io::Error::other(format!("cannot listen on {address}: {error}")))?;
    let socket = PathBuf::from(socket);
    tokio::spawn(async move {
        while let Ok((client, _)) = listener.accept().await {
            let (socket, server) = (socket.clone(), server.clone());
            // The program sees a closed connection.
            tokio::spawn(async move { relay(client, &socket, server.as_ref()).await });
        }
    });
    Ok(())
}

async fn relay(mut client: TcpStream, socket: &Path, server: Option<&SandboxHost>) -> io::Result<()> {
    let mut proxy = UnixStream::connect(socket).await?;
    client.set_nodelay(true)?;
    if let Some(server) = server {
        proxy.write_all(format!("CONNECT {server} HTTP/1.1\r\n\r\n").as_bytes()).await?;
        let mut head = Vec::new();
        // Byte by byte, so that nothing of the server's own words is lost.
        while !head.ends_with(b"\r\n\r\n") {
            head.push(proxy.read_u8().await?);
        }
        if !head.starts_with(b"HTTP/1.1 200 ") {
            return Ok(());
        }
    }
    copy_bidirectional(&mut client, &mut proxy).await.map(drop)
}

async fn program_ended(mut program: Command) -> io::Result<u8> {
    let mut child_ended = signal(SignalKind::child())?;
    let program = Pid::from_child(&program.spawn()?);
    launcher::let_go_of_streams()?;
    loop {
        while let Ok(Some((process, status))) = rustix::process::wait(WaitOptions::NOHANG) {
            if process == program {
                return Ok(launcher::exit_like(status));
            }
        }
        child_ended.recv().await;
    }
}
