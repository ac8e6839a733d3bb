//! One line of the journal. The framing is written by hand, so that the checksum is over exactly the bytes that stand
//! on disk and a line is read without building a tree of it first.

use jiff::Timestamp;
use saihai_model::{Entry, Moment, Record};

/// The format written here.
const VERSION: u64 = 1;

/// `,"sum":"` and `"}`, with eight digits between them.
const SUM: &[u8] = b",\"sum\":\"";
const END: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// A line, read and verified.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Line {
    pub(super) batch: u64,
    /// Lines still to come in the same batch.
    pub(super) left: u64,
    pub(super) record: Record,
}

/// Why a line cannot be read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Bad {
    /// It is not what was written.
    Damaged(&'static str),
    /// It is sound, and says something this version does not know.
    Unknown(String),
    /// Its format is not ours.
    Version(u64),
}

/// Writes a line with its newline. The entry is borrowed twice over: serialised once, straight into the buffer.
pub(super) fn write(buffer: &mut Vec<u8>, record: &Record, batch: u64, left: u64) {
    use std::io::Write;
    let start = buffer.len();
    let Record { seq, at, entry } = record;
    let at = timestamp(*at);
    let header =
        write!(buffer, r#"{{"v":{VERSION},"seq":{seq},"batch":{batch},"left":{left},"at":"{at:.3}","#);
    let body = match entry {
        Entry::Fact(fact) => {
            buffer.extend_from_slice(b"\"fact\":");
            serde_json::to_writer(&mut *buffer, fact)
        }
        Entry::Decision(decision) => {
            buffer.extend_from_slice(b"\"decision\":");
            serde_json::to_writer(&mut *buffer, decision)
        }
    };
    let sum = crc32fast::hash(&buffer[start..]);
    let footer = writeln!(buffer, ",\"sum\":\"{sum:08x}\"}}");
    header.and(footer).expect("a Vec takes every write");
    body.expect("facts and decisions have text keys only and a Vec takes every write");
}

/// Reads a line without its newline.
pub(super) fn read(line: &[u8]) -> Result<Line, Bad> {
    let (sealed, sum) = unseal(line).ok_or(Bad::Damaged("it does not end with a checksum"))?;
    if crc32fast::hash(sealed) != sum {
        return Err(Bad::Damaged("its checksum does not match"));
    }
    let unreadable = || Bad::Unknown("its framing is not understood".to_owned());
    let mut rest = sealed;
    let version = number(&mut rest, b"{\"v\":").ok_or_else(unreadable)?;
    if version != VERSION {
        return Err(Bad::Version(version));
    }
    let seq = number(&mut rest, b",\"seq\":").ok_or_else(unreadable)?;
    let batch = number(&mut rest, b",\"batch\":").ok_or_else(unreadable)?;
    let left = number(&mut rest, b",\"left\":").ok_or_else(unreadable)?;
    let at = moment(&mut rest).ok_or_else(unreadable)?;
    let entry = entry(rest).map_err(Bad::Unknown)?;
    Ok(Line { batch, left, record: Record { seq, at, entry } })
}

fn unseal(line: &[u8]) -> Option<(&[u8], u32)> {
    let line = line.strip_suffix(END)?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    let sealed = line.strip_suffix(SUM)?;
    // Only the digits we write ourselves: a changed case is damage too.
    let plain = digits.iter().all(|digit| matches!(digit, b'0'..=b'9' | b'a'..=b'f'));
    let digits = str::from_utf8(digits).ok().filter(|_| plain)?;
    Some((sealed, u32::from_str_radix(digits, 16).ok()?))
}

fn number(rest: &mut &[u8], key: &[u8]) -> Option<u64> {
    let after = rest.strip_prefix(key)?;
    let length = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = after.split_at(length);
    *rest = after;
    str::from_utf8(digits).ok()?.parse().ok()
}

fn moment(rest: &mut &[u8]) -> Option<Moment> {
    let after = rest.strip_prefix(b",\"at\":\"")?;
    let length = after.iter().position(|byte| *byte == b'"')?;
    let (text, after) = after.split_at(length);
    *rest = after.strip_prefix(b"\",")?;
    let time: Timestamp = str::from_utf8(text).ok()?.parse().ok()?;
    u64::try_from(time.as_millisecond()).ok().map(Moment)
}

fn entry(rest: &[u8]) -> Result<Entry, String> {
    let said = |error: serde_json::Error| format!("it says something this version does not know: {error}");
    if let Some(fact) = rest.strip_prefix(b"\"fact\":") {
        return serde_json::from_slice(fact).map(Entry::Fact).map_err(said);
    }
    match rest.strip_prefix(b"\"decision\":") {
        Some(decision) => serde_json::from_slice(decision).map(Entry::Decision).map_err(said),
        None => Err("it is neither a fact nor a decision".to_owned()),
    }
}

/// Moments beyond the calendar are shown as its last day: a clock that wrong must not end a run.
fn timestamp(at: Moment) -> Timestamp {
    let known = i64::try_from(at.0).ok().and_then(|millis| Timestamp::from_millisecond(millis).ok());
    known.unwrap_or(Timestamp::MAX)
}
