//! One line of the journal. The framing is written by hand. The checksum thus covers exactly the bytes on disk, and a
//! line can be verified without parsing it.

use std::ops::Range;

use saihai_model::{Moment, Record, RecordEntry};

use super::time;

const VERSION: u64 = 1;

/// `,"sum":"` and `"}`, with eight digits between them.
const SUM: &[u8] = b",\"sum\":\"";
const END: &[u8] = b"\"}";
const DIGITS: usize = 8;

/// A verified line with an unparsed body.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) struct FramedLine {
    pub(super) seq: u64,
    pub(super) batch: u64,
    /// Lines left in the same batch.
    pub(super) left: u64,
    pub(super) at: Moment,
    pub(super) kind: RecordKind,
    /// Range of the body in the line.
    pub(super) body: Range<usize>,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RecordKind {
    Fact,
    Decision,
}

/// Reason why a line is unreadable.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum BadLine {
    /// It differs from the written line.
    Damaged(&'static str),
    /// It is intact, but has unknown contents.
    Unknown,
    /// It has another format version.
    Version(u64),
}

/// Writes a line with its newline. Serialises the entry once, straight into the buffer.
pub(super) fn write(buffer: &mut Vec<u8>, record: &Record, batch: u64, left: u64) {
    use std::io::Write;
    let start = buffer.len();
    let seq = record.seq;
    let header = write!(buffer, r#"{{"v":{VERSION},"seq":{seq},"batch":{batch},"left":{left},"at":""#);
    time::write(buffer, record.at);
    let body = match &record.entry {
        RecordEntry::Fact(fact) => {
            buffer.extend_from_slice(b"\",\"fact\":");
            serde_json::to_writer(&mut *buffer, fact)
        }
        RecordEntry::Decision(decision) => {
            buffer.extend_from_slice(b"\",\"decision\":");
            serde_json::to_writer(&mut *buffer, decision)
        }
    };
    let sum = crc32fast::hash(&buffer[start..]);
    let footer = writeln!(buffer, ",\"sum\":\"{sum:08x}\"}}");
    header.and(footer).expect("a Vec takes every write");
    body.expect("facts and decisions have text keys only and a Vec takes every write");
}

/// Verifies a line without its newline, and removes its frame.
pub(super) fn frame(line: &[u8]) -> Result<FramedLine, BadLine> {
    let (sealed, sum) = unseal(line).ok_or(BadLine::Damaged("it does not end with a checksum"))?;
    if crc32fast::hash(sealed) != sum {
        return Err(BadLine::Damaged("its checksum does not match"));
    }
    let mut rest = sealed;
    let version = number(&mut rest, b"{\"v\":").ok_or(BadLine::Unknown)?;
    if version != VERSION {
        return Err(BadLine::Version(version));
    }
    framed(sealed, rest).ok_or(BadLine::Unknown)
}

fn framed(sealed: &[u8], mut rest: &[u8]) -> Option<FramedLine> {
    let seq = number(&mut rest, b",\"seq\":")?;
    let batch = number(&mut rest, b",\"batch\":")?;
    let left = number(&mut rest, b",\"left\":")?;
    let (at, rest) = rest.strip_prefix(b",\"at\":\"")?.split_first_chunk::<{ time::LENGTH }>()?;
    let at = time::read(at)?;
    let (kind, body) = match rest.strip_prefix(b"\",\"fact\":") {
        Some(fact) => (RecordKind::Fact, fact),
        None => (RecordKind::Decision, rest.strip_prefix(b"\",\"decision\":")?),
    };
    Some(FramedLine { seq, batch, left, at, kind, body: sealed.len() - body.len()..sealed.len() })
}

/// Parses the body of a line.
pub(super) fn entry(kind: RecordKind, body: &[u8]) -> Result<RecordEntry, serde_json::Error> {
    // One UTF-8 check of the whole body is faster than one per string. If it fails, the slice parser reports the error.
    match (kind, str::from_utf8(body)) {
        (RecordKind::Fact, Ok(text)) => serde_json::from_str(text).map(RecordEntry::Fact),
        (RecordKind::Decision, Ok(text)) => serde_json::from_str(text).map(RecordEntry::Decision),
        (RecordKind::Fact, Err(_)) => serde_json::from_slice(body).map(RecordEntry::Fact),
        (RecordKind::Decision, Err(_)) => serde_json::from_slice(body).map(RecordEntry::Decision),
    }
}

fn unseal(line: &[u8]) -> Option<(&[u8], u32)> {
    let line = line.strip_suffix(END)?;
    let (line, digits) = line.split_at_checked(line.len().checked_sub(DIGITS)?)?;
    let sealed = line.strip_suffix(SUM)?;
    // Accept only the digits we write ourselves: a changed case is damage too.
    let sum = digits.iter().try_fold(0_u32, |sum, digit| {
        let value = match digit {
            b'0'..=b'9' => digit - b'0',
            b'a'..=b'f' => digit - b'a' + 10,
            _ => return None,
        };
        Some(sum << 4 | u32::from(value))
    })?;
    Some((sealed, sum))
}

fn number(rest: &mut &[u8], key: &[u8]) -> Option<u64> {
    let after = rest.strip_prefix(key)?;
    let length = after.iter().take_while(|byte| byte.is_ascii_digit()).count();
    let (digits, after) = after.split_at(length);
    *rest = after;
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    (length > 0).then(|| digits.iter().try_fold(0, add))?
}
