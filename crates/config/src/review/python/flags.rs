//! Inline flags: `(?ims)` and `(?i-m:…)`.

use super::BadPattern;
use super::ast::Flags;
use super::parser::Parser;

pub(super) enum Inline {
    /// The whole pattern. The parser has already applied them.
    Whole,
    /// Only the group that starts here.
    Group(Flags),
}

#[derive(Default)]
struct Written(Vec<char>);

impl Written {
    fn has(&self, flag: char) -> bool {
        self.0.contains(&flag)
    }
}

/// Reads the flags after `(?`, up to the closing parenthesis or colon.
pub(super) fn read_inline(parser: &mut Parser, first: char, began: usize) -> Result<Inline, BadPattern> {
    if first != '-' && !is_flag(first) {
        return Err(BadPattern::at(began, format!("unknown extension ?{first}")));
    }
    let mut on = Written::default();
    let mut mark = first;
    while mark != '-' {
        add(parser, &mut on, mark)?;
        mark = parser.next().ok_or_else(|| parser.bad("missing -, : or )"))?;
        match mark {
            ')' => return for_all(parser, &on),
            ':' => return Ok(Inline::Group(with(parser.flags, &on, &Written::default()))),
            '-' => {}
            flag => known(parser, flag, "missing -, : or )")?,
        }
    }
    let mut off = Written::default();
    let mut flag = parser.next().ok_or_else(|| parser.bad("missing flag"))?;
    known(parser, flag, "missing flag")?;
    loop {
        if matches!(flag, 'a' | 'u' | 'L') {
            return Err(parser.bad("bad inline flags: cannot turn off flags 'a', 'u' and 'L'"));
        }
        off.0.push(flag);
        flag = parser.next().ok_or_else(|| parser.bad("missing :"))?;
        if flag == ':' {
            break;
        }
        known(parser, flag, "missing :")?;
    }
    if off.0.iter().any(|flag| on.has(*flag)) {
        return Err(parser.bad("bad inline flags: flag turned on and off"));
    }
    Ok(Inline::Group(with(parser.flags, &on, &off)))
}

fn is_flag(letter: char) -> bool {
    "iLmsxau".contains(letter)
}

fn known(parser: &Parser, flag: char, otherwise: &str) -> Result<(), BadPattern> {
    if is_flag(flag) {
        return Ok(());
    }
    Err(parser.bad(if flag.is_alphabetic() { "unknown flag" } else { otherwise }))
}

fn add(parser: &Parser, on: &mut Written, flag: char) -> Result<(), BadPattern> {
    if flag == 'L' {
        return Err(parser.bad("bad inline flags: cannot use 'L' flag with a str pattern"));
    }
    on.0.push(flag);
    if on.has('a') && on.has('u') {
        return Err(parser.bad("bad inline flags: flags 'a', 'u' and 'L' are incompatible"));
    }
    Ok(())
}

fn for_all(parser: &mut Parser, on: &Written) -> Result<Inline, BadPattern> {
    let (ascii, unicode) = parser.ascii_or_unicode;
    parser.ascii_or_unicode = (ascii || on.has('a'), unicode || on.has('u'));
    if parser.ascii_or_unicode == (true, true) {
        return Err(parser.bad("ASCII and UNICODE flags are incompatible"));
    }
    parser.flags = with(parser.flags, on, &Written::default());
    Ok(Inline::Whole)
}

fn with(before: Flags, on: &Written, off: &Written) -> Flags {
    let is = |flag: char, before: bool| (before || on.has(flag)) && !off.has(flag);
    Flags {
        ignore_case: is('i', before.ignore_case),
        lines: is('m', before.lines),
        dot_all: is('s', before.dot_all),
        verbose: is('x', before.verbose),
        ascii: (before.ascii || on.has('a')) && !on.has('u'),
    }
}
