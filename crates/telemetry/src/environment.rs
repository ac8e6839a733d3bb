//! The standard `OTEL_*` variables: the collector, its headers, and the names of this service.

use saihai_model::Millis;

use crate::otlp::{AttributeList, OtlpResource};

/// Reads the variables. The caller passes them, because this crate reads no environment.
#[derive(Clone, Copy)]
pub struct OtelEnvironment<'a> {
    variable: &'a dyn Fn(&str) -> Option<String>,
}

/// A kind of telemetry; each has its own address.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum OtelSignal {
    Traces,
    Metrics,
}

/// The receiver of one kind of telemetry. The headers can contain credentials.
#[derive(Clone, PartialEq, Eq)]
pub struct SignalTarget {
    pub url: String,
    pub headers: Vec<(String, String)>,
    pub timeout: Millis,
}

/// A variable that cannot be used. The value is left out: it can contain credentials.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum OtelVariableError {
    #[error("`{variable}` is not a list of NAME=VALUE, separated by commas")]
    BadList { variable: String },
    #[error("`{variable}` is not a number of milliseconds from 1")]
    BadTimeout { variable: String },
    #[error("`{variable}` asks for gRPC, but Saihai sends OTLP over HTTP")]
    Grpc { variable: String },
}

const DEFAULT_SERVICE: &str = "saihai";
const DEFAULT_TIMEOUT: Millis = Millis::seconds(10);
const SERVICE_NAME: &str = "service.name";
const SERVICE_VERSION: &str = "service.version";

impl OtelSignal {
    fn path(self) -> &'static str {
        match self {
            Self::Traces => "/v1/traces",
            Self::Metrics => "/v1/metrics",
        }
    }

    /// Returns the names of a variable: the one for this signal alone, then the one for all.
    fn names(self, suffix: &str) -> [String; 2] {
        let signal = match self {
            Self::Traces => "TRACES",
            Self::Metrics => "METRICS",
        };
        [format!("OTEL_EXPORTER_OTLP_{signal}_{suffix}"), format!("OTEL_EXPORTER_OTLP_{suffix}")]
    }

    /// Appends the path of the signal to a base address. The address of the traces itself is one too.
    fn address_below(self, base: &str) -> String {
        let base = base.trim().trim_end_matches('/');
        format!("{}{}", base.strip_suffix(Self::Traces.path()).unwrap_or(base), self.path())
    }
}

impl<'a> OtelEnvironment<'a> {
    /// `variable` returns the value of an environment variable; an empty one counts as unset.
    pub fn new(variable: &'a dyn Fn(&str) -> Option<String>) -> Self {
        Self { variable }
    }

    /// Returns the resource of all telemetry: `OTEL_SERVICE_NAME` and `OTEL_RESOURCE_ATTRIBUTES`, with our defaults.
    pub fn resource(&self, version: &str) -> Result<OtlpResource, OtelVariableError> {
        let variable = "OTEL_RESOURCE_ATTRIBUTES";
        let given = (self.variable)(variable).map(|list| pairs(variable, &list)).transpose()?;
        let given = given.unwrap_or_default();
        let value = |key: &str| given.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        let name = (self.variable)("OTEL_SERVICE_NAME").or_else(|| value(SERVICE_NAME).cloned());
        let mut attributes = AttributeList::default()
            .with(SERVICE_NAME, name.as_deref().unwrap_or(DEFAULT_SERVICE))
            .with(SERVICE_VERSION, value(SERVICE_VERSION).map_or(version, String::as_str));
        let others = given.iter().filter(|(key, _)| key != SERVICE_NAME && key != SERVICE_VERSION);
        others.for_each(|(key, value)| attributes.add(key, value.as_str()));
        Ok(OtlpResource { attributes: attributes.0 })
    }

    /// Returns the receiver of a signal: the given base address, or that of the variables, if any.
    pub fn target(
        &self,
        signal: OtelSignal,
        endpoint: Option<&str>,
    ) -> Result<Option<SignalTarget>, OtelVariableError> {
        let [own, general] = signal.names("ENDPOINT").map(|name| (self.variable)(&name));
        let base = endpoint.map(str::to_owned);
        let url = match (base, own, general) {
            (Some(base), ..) | (None, None, Some(base)) => signal.address_below(&base),
            (None, Some(address), _) => address.trim().to_owned(),
            (None, None, None) => return Ok(None),
        };
        if let Some((variable, protocol)) = self.first(signal, "PROTOCOL")
            && endpoint.is_none()
            && protocol.trim() == "grpc"
        {
            return Err(OtelVariableError::Grpc { variable });
        }
        let headers = match self.first(signal, "HEADERS") {
            Some((variable, list)) => pairs(&variable, &list)?,
            None => Vec::new(),
        };
        let timeout = match self.first(signal, "TIMEOUT") {
            Some((variable, text)) => match text.trim().parse() {
                Ok(millis @ 1..) => Millis(millis),
                _ => return Err(OtelVariableError::BadTimeout { variable }),
            },
            None => DEFAULT_TIMEOUT,
        };
        Ok(Some(SignalTarget { url, headers, timeout }))
    }

    /// Returns the first variable that is set, with its name.
    fn first(&self, signal: OtelSignal, suffix: &str) -> Option<(String, String)> {
        signal.names(suffix).into_iter().find_map(|name| (self.variable)(&name).map(|value| (name, value)))
    }
}

/// Parses `name=value,name=value` with percent-encoded values.
fn pairs(variable: &str, list: &str) -> Result<Vec<(String, String)>, OtelVariableError> {
    let bad = || OtelVariableError::BadList { variable: variable.to_owned() };
    let parts = list.split(',').map(str::trim).filter(|part| !part.is_empty());
    let parse = |part: &str| {
        let (name, value) = part.split_once('=').ok_or_else(bad)?;
        let (name, value) = (decoded(name.trim()), decoded(value.trim()));
        let (name, value) = (name.ok_or_else(bad)?, value.ok_or_else(bad)?);
        if name.is_empty() { Err(bad()) } else { Ok((name, value)) }
    };
    parts.map(parse).collect()
}

/// Replaces `%41` by `A`. A `%` without two digits stays. Returns `None` if the result is not text.
fn decoded(text: &str) -> Option<String> {
    let (mut bytes, mut rest) = (Vec::with_capacity(text.len()), text.as_bytes());
    while let [first, after @ ..] = rest {
        let digits = after.first_chunk::<2>().and_then(|digits| std::str::from_utf8(digits).ok());
        let is_hex = |digits: &&str| digits.bytes().all(|digit| digit.is_ascii_hexdigit());
        let escaped = digits.filter(|digits| *first == b'%' && is_hex(digits));
        match escaped.and_then(|digits| u8::from_str_radix(digits, 16).ok()) {
            Some(byte) => {
                bytes.push(byte);
                rest = &after[2..];
            }
            None => {
                bytes.push(*first);
                rest = after;
            }
        }
    }
    String::from_utf8(bytes).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reads a target with these variables set.
    fn target(
        signal: OtelSignal,
        endpoint: Option<&str>,
        set: &[(&str, &str)],
    ) -> Result<Option<SignalTarget>, OtelVariableError> {
        let variable =
            |name: &str| set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned());
        OtelEnvironment::new(&variable).target(signal, endpoint)
    }

    #[track_caller]
    fn check_url(signal: OtelSignal, endpoint: Option<&str>, set: &[(&str, &str)], url: Option<&str>) {
        let found = target(signal, endpoint, set).ok().flatten();
        assert_eq!(found.as_ref().map(|target| target.url.as_str()), url);
    }

    // V-30
    #[test]
    fn the_variable_of_a_signal_is_a_whole_address_and_the_general_one_a_base() {
        use OtelSignal::{Metrics, Traces};
        let base = ("OTEL_EXPORTER_OTLP_ENDPOINT", "http://c:4318/");
        let own = ("OTEL_EXPORTER_OTLP_TRACES_ENDPOINT", "http://t/in");
        check_url(Traces, None, &[], None);
        check_url(Traces, None, &[base], Some("http://c:4318/v1/traces"));
        check_url(Metrics, None, &[base], Some("http://c:4318/v1/metrics"));
        check_url(Traces, None, &[base, own], Some("http://t/in"));
        check_url(Metrics, None, &[own], None);
        check_url(Traces, Some("http://x"), &[base, own], Some("http://x/v1/traces"));
        check_url(Metrics, Some("http://x/otel/v1/traces"), &[], Some("http://x/otel/v1/metrics"));
    }

    // V-30
    #[test]
    fn headers_and_the_deadline_come_from_the_variables() {
        let set = [
            ("OTEL_EXPORTER_OTLP_HEADERS", "authorization=Basic%20YTpi==, x-team = a%2Cb ,"),
            ("OTEL_EXPORTER_OTLP_TIMEOUT", "250"),
        ];
        let found = target(OtelSignal::Traces, Some("http://x"), &set).ok().flatten().unwrap();
        let header = |name: &str, value: &str| (name.to_owned(), value.to_owned());
        assert_eq!(found.headers, [header("authorization", "Basic YTpi=="), header("x-team", "a,b")]);
        assert_eq!(found.timeout, Millis(250));
    }

    // V-32: no message shows a value
    #[test]
    fn a_variable_that_cannot_be_used_is_named_without_its_value() {
        let check = |name: &str, value: &str| {
            let set = [("OTEL_EXPORTER_OTLP_ENDPOINT", "http://x"), (name, value)];
            let error = target(OtelSignal::Traces, None, &set).err().unwrap().to_string();
            assert!(error.contains(name) && !error.contains("sesame"), "{error}");
        };
        check("OTEL_EXPORTER_OTLP_HEADERS", "sesame");
        check("OTEL_EXPORTER_OTLP_TRACES_HEADERS", "=sesame");
        check("OTEL_EXPORTER_OTLP_HEADERS", "sesame=%ff");
        check("OTEL_EXPORTER_OTLP_TIMEOUT", "0");
        check("OTEL_EXPORTER_OTLP_PROTOCOL", "grpc");
    }

    // V-31
    #[test]
    fn the_resource_has_the_names_of_the_variables() {
        let resource = |set: &[(&str, &str)]| {
            let variable = |name: &str| {
                set.iter().find(|(other, _)| *other == name).map(|(_, value)| (*value).to_owned())
            };
            let resource = OtelEnvironment::new(&variable).resource("1.2.3").unwrap();
            serde_json::to_string(&resource.attributes).unwrap()
        };
        insta::assert_snapshot!(
            resource(&[]),
            @r#"[{"key":"service.name","value":{"stringValue":"saihai"}},{"key":"service.version","value":{"stringValue":"1.2.3"}}]"#
        );
        let given = ("OTEL_RESOURCE_ATTRIBUTES", "service.name=a,service.version=2,team=b%20c");
        insta::assert_snapshot!(
            resource(&[given, ("OTEL_SERVICE_NAME", "ci")]),
            @r#"[{"key":"service.name","value":{"stringValue":"ci"}},{"key":"service.version","value":{"stringValue":"2"}},{"key":"team","value":{"stringValue":"b c"}}]"#
        );
    }
}
