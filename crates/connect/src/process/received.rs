//! The time since processes last received TCP data: a sign of life if programs print whole messages.
//!
//! The kernel keeps this time per socket. `sock_diag(7)` reports it without any privilege.

use std::collections::BTreeSet;
use std::fs;

use rustix::net::{
    AddressFamily, RecvFlags, SendFlags, SocketFlags, SocketType, netlink, recv, send, socket_with,
};
use saihai_model::Millis;

const HEADER: usize = 16;
const REQUEST: usize = 56;
/// Size of `inet_diag_msg`, and the offset of its inode.
const MESSAGE: usize = 72;
const INODE: usize = 68;
/// Offset in `tcp_info` of the milliseconds since data arrived.
const LAST_DATA_RECEIVED: usize = 52;

const SOCK_DIAG_BY_FAMILY: u16 = 20;
const REQUEST_DUMP: u16 = 0x301;
const TCP: u8 = 6;
const INET_DIAG_INFO: u16 = 2;
const IPV4: u8 = 2;
const IPV6: u8 = 10;

/// Returns the time since one of these processes last received data, if the kernel can tell.
pub(super) fn since_received(processes: &[i32]) -> Option<Millis> {
    let sockets: BTreeSet<u32> = processes.iter().flat_map(|process| sockets(*process)).collect();
    if sockets.is_empty() {
        return None;
    }
    let all = [IPV4, IPV6].into_iter().flat_map(|family| tcp_sockets(family).unwrap_or_default());
    all.filter(|(inode, _)| sockets.contains(inode)).map(|(_, since)| Millis(since.into())).min()
}

/// Returns the inodes of a process's open sockets.
fn sockets(process: i32) -> Vec<u32> {
    let Ok(files) = fs::read_dir(format!("/proc/{process}/fd")) else { return Vec::new() };
    let links = files.flatten().filter_map(|file| fs::read_link(file.path()).ok());
    let inode =
        |link: std::path::PathBuf| link.to_str()?.strip_prefix("socket:[")?.strip_suffix(']')?.parse().ok();
    links.filter_map(inode).collect()
}

/// Returns every TCP socket of an address family, with the milliseconds since it received data.
fn tcp_sockets(family: u8) -> rustix::io::Result<Vec<(u32, u32)>> {
    let socket = socket_with(
        AddressFamily::NETLINK,
        SocketType::DGRAM,
        SocketFlags::CLOEXEC,
        Some(netlink::SOCK_DIAG),
    )?;
    send(&socket, &request(family), SendFlags::empty())?;
    let mut found = Vec::new();
    let mut buffer = vec![0; 64 * 1024];
    loop {
        // The kernel has the answer ready as soon as the request is sent.
        let (count, _) = recv(&socket, buffer.as_mut_slice(), RecvFlags::DONTWAIT)?;
        if count == 0 || !read(&buffer[..count], &mut found) {
            return Ok(found);
        }
    }
}

fn request(family: u8) -> Vec<u8> {
    let mut request = Vec::with_capacity(HEADER + REQUEST);
    let length = u32::try_from(HEADER + REQUEST).unwrap_or_default();
    request.extend(length.to_ne_bytes());
    request.extend(SOCK_DIAG_BY_FAMILY.to_ne_bytes());
    request.extend(REQUEST_DUMP.to_ne_bytes());
    request.extend([0; 8]);
    request.extend([family, TCP, 1 << (INET_DIAG_INFO - 1), 0]);
    // Any state and any address.
    request.extend(u32::MAX.to_ne_bytes());
    request.resize(HEADER + REQUEST, 0);
    request
}

/// Parses messages into `found`. Returns true if more follow.
fn read(mut messages: &[u8], found: &mut Vec<(u32, u32)>) -> bool {
    while let Some(length) = number(messages, 0).map(|length| length as usize) {
        let kind = messages.get(4..6).map(|kind| u16::from_ne_bytes([kind[0], kind[1]]));
        let Some(message) = messages.get(HEADER..length) else { return false };
        // Every other message is an error or the end.
        if kind != Some(SOCK_DIAG_BY_FAMILY) {
            return false;
        }
        found.extend(number(message, INODE).zip(last_received(message)));
        messages = messages.get(length.next_multiple_of(4)..).unwrap_or_default();
    }
    true
}

fn last_received(message: &[u8]) -> Option<u32> {
    let mut attributes = message.get(MESSAGE..)?;
    loop {
        let head = attributes.get(..4)?;
        let length = usize::from(u16::from_ne_bytes([head[0], head[1]]));
        if u16::from_ne_bytes([head[2], head[3]]) == INET_DIAG_INFO {
            return number(attributes.get(4..length)?, LAST_DATA_RECEIVED);
        }
        attributes = attributes.get(length.next_multiple_of(4).max(4)..)?;
    }
}

fn number(bytes: &[u8], at: usize) -> Option<u32> {
    let bytes: [u8; 4] = bytes.get(at..at + 4)?.try_into().ok()?;
    Some(u32::from_ne_bytes(bytes))
}

#[cfg(test)]
mod tests {
    use std::io::{Read as _, Write as _};
    use std::net::{TcpListener, TcpStream};

    use super::*;

    // C-36
    #[test]
    fn data_that_came_to_a_process_is_seen() {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let mut client = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        let (mut server, _) = listener.accept().unwrap();
        let us = [std::process::id().cast_signed()];
        server.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        assert!(since_received(&us).is_some_and(|since| since < Millis::seconds(60)));
        assert_eq!(since_received(&[]), None);
        assert_eq!(since_received(&[i32::MAX]), None, "nobody has that number");
    }

    #[test]
    fn what_is_cut_off_is_not_read() {
        let mut found = Vec::new();
        for length in 0..HEADER + MESSAGE {
            let mut message = vec![0; length];
            if length >= HEADER {
                message[..4].copy_from_slice(&u32::MAX.to_ne_bytes());
                message[4..6].copy_from_slice(&SOCK_DIAG_BY_FAMILY.to_ne_bytes());
            }
            read(&message, &mut found);
        }
        assert!(found.is_empty());
    }
}
