//! Decides which addresses belong to the public web: none of this machine or its networks.

use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use reqwest::Url;
use reqwest::dns::{Addrs, Name, Resolve, Resolving};

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Bounds {
    Public,
    /// This machine, for tests of everything after the check.
    #[cfg(test)]
    Loopback,
}

impl Bounds {
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
pub(super) struct PublicNames(pub(super) Bounds);

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
fn is_public(address: IpAddr) -> bool {
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_addresses_of_the_public_internet_are_taken() {
        let check = |address: &str, expected: bool| {
            assert_eq!(is_public(address.parse().unwrap()), expected, "{address}");
        };
        for public in
            ["1.1.1.1", "93.184.215.14", "192.0.1.1", "100.128.0.1", "2606:4700::1111", "::ffff:8.8.8.8"]
        {
            check(public, true);
        }
        let hidden = [
            "127.0.0.1",
            "127.8.9.1",
            "10.1.2.3",
            "172.16.0.1",
            "192.168.1.1",
            "169.254.169.254",
            "0.0.0.0",
            "0.1.2.3",
            "100.64.0.1",
            "192.0.0.8",
            "192.0.2.1",
            "198.18.0.1",
            "198.51.100.1",
            "203.0.113.9",
            "224.0.0.1",
            "240.0.0.1",
            "255.255.255.255",
            "192.88.99.1",
            "::",
            "::1",
            "fe80::1",
            "fc00::1",
            "fd12::1",
            "fec0::1",
            "ff02::1",
            "2001:db8::1",
            "2001::1",
            "2002:7f00:1::",
            "64:ff9b::7f00:1",
            "::ffff:127.0.0.1",
            "::127.0.0.1",
            "3fff::1",
        ];
        for hidden in hidden {
            check(hidden, false);
        }
    }

    #[test]
    fn an_address_is_https_without_a_login_and_on_the_public_web() {
        let refused = |url: &str| Bounds::Public.allow(Url::parse(url).unwrap()).unwrap_err();
        assert!(Bounds::Public.allow(Url::parse("https://example.com/a?b#c").unwrap()).is_ok());
        for url in ["http://example.com", "ftp://example.com", "file:///etc/passwd", "data:text/plain,x"] {
            assert_eq!(refused(url), "only addresses that begin with `https://` are fetched", "{url}");
        }
        for url in ["https://me@example.com", "https://me:x@example.com"] {
            assert_eq!(refused(url), "a user name or password must not stand in the address", "{url}");
        }
        // In any notation.
        for url in [
            "https://127.0.0.1",
            "https://2130706433",
            "https://0x7f.1",
            "https://[::1]:8443",
            "https://10.1",
        ] {
            assert!(refused(url).ends_with("is not on the public web"), "{url}");
        }
    }
}
