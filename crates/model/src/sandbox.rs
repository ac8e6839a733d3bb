//! The sandbox that agent programs run in: what people can ask for (B-1).

use core::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};
use std::fmt;
use std::path::PathBuf;

/// A sandbox as a person names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum SandboxChoice {
    Off,
    /// The strongest sandbox that works on this machine.
    Auto,
    Landlock,
    Bwrap,
    /// A program of the user's, with its arguments. The command line of the agent follows them.
    Program(Vec<String>),
}

impl SandboxChoice {
    /// The names in settings and flags. A program is a list instead.
    pub const WORDS: [&'static str; 4] = ["off", "auto", "landlock", "bwrap"];

    pub fn named(word: &str) -> Option<Self> {
        match word {
            "off" => Some(Self::Off),
            "auto" => Some(Self::Auto),
            "landlock" => Some(Self::Landlock),
            "bwrap" => Some(Self::Bwrap),
            _ => None,
        }
    }

    pub fn name(&self) -> &str {
        match self {
            Self::Off => "off",
            Self::Auto => "auto",
            Self::Landlock => "landlock",
            Self::Bwrap => "bwrap",
            Self::Program(argv) => argv.first().map_or("", String::as_str),
        }
    }
}

/// Network access inside a sandbox.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub enum SandboxNetwork {
    /// The network of the machine.
    #[default]
    Open,
    /// No network, except a loopback of its own.
    Closed,
    /// Only these hosts, through a proxy.
    Hosts(Vec<SandboxHost>),
}

/// A host and port that programs inside may reach: `example.com:443`, `*.example.com:443`, `[::1]:8080`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct SandboxHost {
    /// A name in lower case, or an address without brackets.
    pub name: String,
    /// The names below `name`, and not `name` itself.
    pub only_below: bool,
    pub port: u16,
}

impl SandboxHost {
    pub fn parse(text: &str) -> Option<Self> {
        let (name, port) = text.rsplit_once(':')?;
        let port = port.parse().ok().filter(|port| *port != 0)?;
        if let Some(address) = name.strip_prefix('[') {
            let address: Ipv6Addr = address.strip_suffix(']')?.parse().ok()?;
            return Some(Self { name: address.to_string(), only_below: false, port });
        }
        let (name, only_below) = name.strip_prefix("*.").map_or((name, false), |name| (name, true));
        let name = name.strip_suffix('.').unwrap_or(name);
        let is_label = |label: &str| {
            let in_name = |byte: u8| byte.is_ascii_alphanumeric() || byte == b'-' || byte == b'_';
            !label.is_empty() && label.bytes().all(in_name)
        };
        name.split('.').all(is_label).then(|| Self { name: name.to_ascii_lowercase(), only_below, port })
    }

    /// Returns true if a rule allows the host that a client asks for.
    pub fn allows(&self, asked: &Self) -> bool {
        let fits = match asked.name.strip_suffix(&self.name) {
            Some("") => !self.only_below,
            Some(below) => self.only_below && below.ends_with('.'),
            None => false,
        };
        fits && !asked.only_below && asked.port == self.port
    }

    /// Returns the address of a server on this machine.
    pub fn loopback(&self) -> Option<SocketAddr> {
        let address = match self.name.as_str() {
            "localhost" if !self.only_below => IpAddr::V4(Ipv4Addr::LOCALHOST),
            name => name.parse().ok()?,
        };
        address.is_loopback().then(|| SocketAddr::new(address, self.port))
    }
}

impl fmt::Display for SandboxHost {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { name, only_below, port } = self;
        match (name.contains(':'), only_below) {
            (true, _) => write!(f, "[{name}]:{port}"),
            (false, true) => write!(f, "*.{name}:{port}"),
            (false, false) => write!(f, "{name}:{port}"),
        }
    }
}

/// Settings of the sandbox of all agents.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct SandboxSettings {
    /// Absent: off, except for stages that require a sandbox.
    pub choice: Option<SandboxChoice>,
    /// No agent runs outside a sandbox.
    pub required: bool,
    pub network: SandboxNetwork,
    /// Secret files and directories that agents may read.
    pub read: Vec<PathBuf>,
    /// More files and directories that agents may change.
    pub write: Vec<PathBuf>,
}

impl SandboxSettings {
    /// Returns the sandbox of a turn. A required sandbox that no setting names is `auto`; one that a setting turns off
    /// stays `Off`, which the caller refuses.
    pub fn effective(&self, of_provider: Option<&SandboxChoice>, required: bool) -> SandboxChoice {
        match of_provider.or(self.choice.as_ref()) {
            Some(choice) => choice.clone(),
            None if required || self.required => SandboxChoice::Auto,
            None => SandboxChoice::Off,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    // B-1
    #[test]
    fn a_required_sandbox_that_no_setting_names_is_the_strongest_one() {
        let unset = SandboxSettings::default();
        assert_eq!(unset.effective(None, false), SandboxChoice::Off);
        assert_eq!(unset.effective(None, true), SandboxChoice::Auto);
        let project = SandboxSettings { choice: Some(SandboxChoice::Bwrap), ..SandboxSettings::default() };
        assert_eq!(project.effective(None, false), SandboxChoice::Bwrap);
        assert_eq!(project.effective(Some(&SandboxChoice::Off), true), SandboxChoice::Off);
        let all = SandboxSettings { required: true, ..SandboxSettings::default() };
        assert_eq!(all.effective(None, false), SandboxChoice::Auto);
    }

    // B-2
    #[test]
    fn a_host_allows_its_name_and_port_and_nothing_similar() {
        let host = |text: &str| SandboxHost::parse(text).unwrap();
        let allows = |rule: &str, asked: &str| host(rule).allows(&host(asked));
        assert!(allows("Api.example.com:443", "api.EXAMPLE.com:443"));
        assert!(allows("api.example.com:443", "api.example.com.:443"));
        assert!(!allows("api.example.com:443", "api.example.com:80"));
        assert!(!allows("api.example.com:443", "evil-api.example.com:443"));
        assert!(!allows("api.example.com:443", "api.example.com.evil.org:443"));
        assert!(allows("*.example.com:443", "a.b.example.com:443"));
        for asked in ["example.com", "evilexample.com", "example.com.evil.org", "*.a.example.com"] {
            assert!(!allows("*.example.com:443", &format!("{asked}:443")), "{asked}");
        }
        assert!(allows("[::1]:8080", "[0::1]:8080"));
        assert!(!allows("127.0.0.1:80", "1.127.0.0.1:80"));
    }

    // B-2
    #[test]
    fn only_a_host_with_a_port_is_a_host() {
        for text in
            ["example.com", ":443", "a b:1", "example.com:0", "example.com:70000", "*:443", "a..b:1", "[x]:1"]
        {
            assert_eq!(SandboxHost::parse(text), None, "{text}");
        }
        for text in
            ["https://example.com:443", "example.com/x:443", "*.*.com:443", "*.:443", "::1:80", ".com:1"]
        {
            assert_eq!(SandboxHost::parse(text), None, "{text}");
        }
    }

    // B-2
    #[test]
    fn a_server_of_this_machine_is_known_by_its_address() {
        let loopback = |text: &str| SandboxHost::parse(text).unwrap().loopback().map(|at| at.to_string());
        assert_eq!(loopback("localhost:11434"), Some("127.0.0.1:11434".to_owned()));
        assert_eq!(loopback("127.0.0.2:80"), Some("127.0.0.2:80".to_owned()));
        assert_eq!(loopback("[::1]:80"), Some("[::1]:80".to_owned()));
        assert_eq!((loopback("example.com:80"), loopback("10.0.0.1:80")), (None, None));
    }
}
