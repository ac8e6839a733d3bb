//! Writes a Python pattern for `fancy-regex`, in one pass.

use std::collections::BTreeMap;
use std::fmt::Write as _;

use super::sets::{EVERY_I, SetMember, named_set};
use super::{BadPattern, NEVER, NecessaryLiterals, Read};

/// Maximum nesting of groups. The engine takes 64, repeats included.
const DEEPEST: usize = 60;
const MOST_REPEATS: u32 = 65_535;
/// Maximum product of nested repeat counts in a backtracking pattern. The search limit counts only backtracks, so
/// rounds that all succeed would run without a limit.
const MOST_ROUNDS: u64 = 10_000;
/// Whitespace that Python skips in a verbose pattern.
const BLANKS: [char; 6] = [' ', '\t', '\n', '\r', '\u{b}', '\u{c}'];
const ASCII_WORD: &str = "[A-Za-z0-9_]";
/// Replace `$` and `\B` until the whole pattern is known.
const DOLLAR: &str = "\u{1}";
const NOT_WORD: &str = "\u{2}";

#[derive(Debug, Clone, Copy, Default)]
pub(super) struct PythonFlags {
    pub(super) ignore_case: bool,
    lines: bool,
    dot_all: bool,
    verbose: bool,
    pub(super) ascii: bool,
}

/// Properties of an item that a repeat or a group around it needs.
#[derive(Debug, Clone, Copy)]
struct PatternItem {
    /// Rounds of counted repeats, one inside the other.
    rounds: u64,
    /// True if it matches only empty text, ignoring parentheses around it.
    is_place: bool,
    /// True if it ends with a `$` that nothing has followed yet.
    ends_in_dollar: bool,
    kind: ItemKind,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum ItemKind {
    Other,
    Anchor,
    Repeat,
}

const CHARACTER: PatternItem =
    PatternItem { rounds: 1, is_place: false, ends_in_dollar: false, kind: ItemKind::Other };
const NOTHING: PatternItem = PatternItem { is_place: true, ..CHARACTER };

/// A group that is open, or the whole pattern.
#[derive(Debug)]
struct OpenGroup {
    kind: GroupKind,
    began: usize,
    start: usize,
    /// Flags to restore behind it.
    outer: PythonFlags,
    /// The alternative so far: nothing is in it if there is no `last`.
    sum: PatternItem,
    /// Place in the output and properties of the last item of the alternative.
    last: Option<(usize, PatternItem)>,
    before: Option<PatternItem>,
    literals: NecessaryLiterals,
    branches: usize,
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum GroupKind {
    Plain,
    Capture(u32),
    Atomic,
    Ahead,
    Behind,
    Conditional,
}

pub(super) struct Translator {
    characters: Vec<char>,
    at: usize,
    flags: PythonFlags,
    /// True if `a`, or `u`, applies to the whole pattern.
    ascii_or_unicode: (bool, bool),
    names: BTreeMap<String, u32>,
    /// For each capturing group, true once it is closed.
    groups: Vec<bool>,
    /// Groups that conditions refer to, perhaps before they exist.
    conditions: Vec<(u32, usize)>,
    stack: Vec<OpenGroup>,
    out: String,
    pub(super) backtracks: bool,
    pub(super) needs_line_mode: bool,
    /// Number of parts that the backtracking engine compiles separately, at most.
    pub(super) pieces: usize,
}

impl OpenGroup {
    fn new(kind: GroupKind, began: usize, outer: PythonFlags) -> Self {
        Self {
            kind,
            began,
            start: 0,
            outer,
            sum: NOTHING,
            last: None,
            before: None,
            literals: NecessaryLiterals::default(),
            branches: 1,
        }
    }

    /// Returns the properties of all alternatives together.
    fn whole(&self) -> PatternItem {
        match self.before {
            Some(before) => PatternItem {
                rounds: before.rounds.max(self.sum.rounds),
                ends_in_dollar: before.ends_in_dollar || self.sum.ends_in_dollar,
                ..CHARACTER
            },
            None => self.sum,
        }
    }
}

impl Translator {
    pub(super) fn translate(pattern: &str) -> Read<Self> {
        let mut translator = Self {
            characters: pattern.chars().collect(),
            at: 0,
            flags: PythonFlags::default(),
            ascii_or_unicode: (false, false),
            names: BTreeMap::new(),
            groups: Vec::new(),
            conditions: Vec::new(),
            stack: vec![OpenGroup::new(GroupKind::Plain, 0, PythonFlags::default())],
            out: String::new(),
            backtracks: false,
            needs_line_mode: false,
            pieces: 1,
        };
        while let Some(next) = translator.next() {
            translator.step(next)?;
        }
        if translator.stack.len() > 1 {
            let began = translator.top().began;
            return Err(BadPattern::at(began, "missing ), unterminated subpattern"));
        }
        let last = u32::try_from(translator.groups.len()).unwrap_or(u32::MAX);
        if let Some((group, at)) = translator.conditions.iter().find(|(group, _)| *group > last) {
            return Err(BadPattern::at(*at, format!("invalid group reference {group}")));
        }
        if translator.backtracks && translator.top().whole().rounds > MOST_ROUNDS {
            let why = format!(
                "too large: its counted repeats take more than {MOST_ROUNDS} rounds, one inside the other"
            );
            return Err(BadPattern::at(0, why).hint(
                "use smaller counts, or none together with look-around, atomic groups and references",
            ));
        }
        Ok(translator)
    }

    /// Returns the expression with this text for `\B`.
    pub(super) fn expression(&self, not_word: &str) -> String {
        // If nothing follows any `$`, the expression may consume the line feed and stays linear.
        let dollar = if self.backtracks { r"(?=\n?\z)" } else { r"(?:\n?\z)" };
        self.out.replace(DOLLAR, dollar).replace(NOT_WORD, not_word)
    }

    /// Returns literals of which every match contains at least one, if there are any.
    pub(super) fn necessary(&mut self) -> Option<Vec<String>> {
        let top = self.top_mut();
        let is_first = top.branches == 1;
        top.literals.end_alternative(is_first);
        top.literals.before.take()
    }

    fn step(&mut self, next: char) -> Read<()> {
        let began = self.at - 1;
        if self.flags.verbose && BLANKS.contains(&next) {
            return Ok(());
        }
        if self.flags.verbose && next == '#' {
            self.take_while(usize::MAX, |one| one != '\n');
            return Ok(());
        }
        match next {
            '\\' => self.escape(began)?,
            '[' => self.set(began)?,
            '.' => self.item(if self.flags.dot_all { "(?s:.)" } else { r"[^\n]" }, CHARACTER),
            '^' if self.flags.lines => self.anchor("(?m:^)"),
            '$' if self.flags.lines => self.anchor("(?m:$)"),
            '^' | '$' => {
                self.needs_line_mode = true;
                let ends_in_dollar = next == '$';
                let text = if ends_in_dollar { DOLLAR } else { r"\A" };
                self.item(text, PatternItem { kind: ItemKind::Anchor, ends_in_dollar, ..NOTHING });
            }
            '*' => self.repeat(began, 0, None)?,
            '+' => self.repeat(began, 1, None)?,
            '?' => self.repeat(began, 0, Some(1))?,
            '{' => match self.counts(began)? {
                Some((least, most)) => self.repeat(began, least, most)?,
                None => self.literal(u32::from('{')),
            },
            '(' => self.open(began)?,
            ')' => self.close()?,
            '|' => self.alternative()?,
            other => self.literal(u32::from(other)),
        }
        Ok(())
    }

    fn top(&self) -> &OpenGroup {
        self.stack.last().expect("the whole pattern stays open")
    }

    fn top_mut(&mut self) -> &mut OpenGroup {
        self.stack.last_mut().expect("the whole pattern stays open")
    }

    fn next(&mut self) -> Option<char> {
        let next = self.characters.get(self.at).copied()?;
        self.at += 1;
        Some(next)
    }

    fn take(&mut self, wanted: char) -> bool {
        let is = self.characters.get(self.at) == Some(&wanted);
        self.at += usize::from(is);
        is
    }

    fn take_while(&mut self, most: usize, is: impl Fn(char) -> bool) -> String {
        let found: String =
            self.characters[self.at..].iter().take(most).take_while(|one| is(**one)).collect();
        self.at += found.chars().count();
        found
    }

    /// Notes a construct that the linear engine lacks. Its content and what follows are compiled separately.
    fn needs_backtracking(&mut self) {
        self.backtracks = true;
        self.pieces += 2;
    }

    /// Returns an error at the current position.
    fn bad(&self, why: impl Into<String>) -> BadPattern {
        BadPattern::at(self.at, why)
    }

    /// Adds an item and its text.
    fn item(&mut self, text: &str, item: PatternItem) {
        let start = self.out.len();
        self.out.push_str(text);
        self.follow(start, item);
    }

    /// Adds an item whose text starts there in the output.
    fn follow(&mut self, start: usize, item: PatternItem) {
        if self.top().sum.ends_in_dollar {
            self.needs_backtracking();
        }
        let top = self.top_mut();
        top.literals.settle();
        top.sum = PatternItem {
            rounds: top.sum.rounds.max(item.rounds),
            is_place: top.sum.is_place && item.is_place,
            kind: ItemKind::Other,
            ..item
        };
        top.last = Some((start, item));
    }

    fn anchor(&mut self, text: &str) {
        self.item(text, PatternItem { kind: ItemKind::Anchor, ..NOTHING });
    }

    fn alternative(&mut self) -> Read<()> {
        let at = self.at - 1;
        self.pieces += 1;
        let top = self.top_mut();
        top.branches += 1;
        if top.kind == GroupKind::Conditional && top.branches > 2 {
            return Err(BadPattern::at(at, "conditional backref with more than two branches"));
        }
        top.before = Some(top.whole());
        let is_first = top.branches == 2;
        top.literals.end_alternative(is_first);
        (top.sum, top.last) = (NOTHING, None);
        let text = if top.kind == GroupKind::Conditional { ")|(?:" } else { "|" };
        self.out.push_str(text);
        Ok(())
    }

    /// Repeats the last item. `least` and `most` are its counts.
    fn repeat(&mut self, began: usize, least: u32, most: Option<u32>) -> Read<()> {
        let bad = |why: &str| BadPattern::at(began, why);
        let (start, item) = self.top_mut().last.take().ok_or_else(|| bad("nothing to repeat"))?;
        match item.kind {
            ItemKind::Anchor => return Err(bad("nothing to repeat")),
            ItemKind::Repeat => return Err(bad("multiple repeat")),
            ItemKind::Other => {}
        }
        let is_behind = self.stack.iter().any(|open| open.kind == GroupKind::Behind);
        if is_behind && most != Some(least) {
            return Err(BadPattern::at(0, "look-behind requires fixed-width pattern"));
        }
        let literals = &mut self.top_mut().literals;
        // The last letter, or the group, is repeated.
        literals.run.pop();
        literals.of_last = literals.of_last.take().filter(|_| least > 0);
        literals.settle();
        let is_lazy = self.take('?');
        let is_possessive = !is_lazy && self.take('+');
        if is_possessive || (item.ends_in_dollar && most != Some(1)) {
            self.needs_backtracking();
        }
        let atomic = if is_possessive { "(?>" } else { "" };
        let text = self.out.split_off(start);
        if item.is_place {
            // Neither engine repeats an empty match, and one empty match equals many.
            match (least, is_lazy) {
                (1.., _) => self.out.push_str(&text),
                (0, true) => write!(self.out, "(?:|{text})").expect("a string takes everything"),
                (0, false) if is_possessive => {
                    write!(self.out, "(?>{text}|)").expect("a string takes everything");
                }
                (0, false) => write!(self.out, "(?:{text}|)").expect("a string takes everything"),
            }
        } else {
            let most = most.map(|most| most.to_string()).unwrap_or_default();
            let (lazy, end) = (if is_lazy { "?" } else { "" }, if is_possessive { ")" } else { "" });
            write!(self.out, "{atomic}(?:{text}){{{least},{most}}}{lazy}{end}")
                .expect("a string takes everything");
        }
        let rounds = u64::from(most.unwrap_or(least).max(1)).saturating_mul(item.rounds);
        let top = self.top_mut();
        top.sum.rounds = top.sum.rounds.max(rounds);
        top.last = Some((start, PatternItem { rounds, kind: ItemKind::Repeat, ..item }));
        Ok(())
    }

    /// Parses `{2}`, `{2,}`, `{,3}` or `{2,3}`. Returns `None` and consumes nothing for anything else.
    fn counts(&mut self, began: usize) -> Read<Option<(u32, Option<u32>)>> {
        let start = self.at;
        if self.characters.get(start) == Some(&'}') {
            return Ok(None);
        }
        let digits = |one: char| one.is_ascii_digit();
        let low = self.take_while(usize::MAX, digits);
        let high = if self.take(',') { self.take_while(usize::MAX, digits) } else { low.clone() };
        if !self.take('}') {
            self.at = start;
            return Ok(None);
        }
        let count = |text: &str| match text.parse::<u32>() {
            _ if text.is_empty() => Ok(None),
            Ok(number) if number <= MOST_REPEATS => Ok(Some(number)),
            Ok(_) | Err(_) => Err(BadPattern::at(
                began,
                format!("too large: the most a repeat can count is {MOST_REPEATS}"),
            )),
        };
        let (least, most) = (count(&low)?.unwrap_or(0), count(&high)?);
        if most.is_some_and(|most| most < least) {
            return Err(BadPattern::at(began, "min repeat greater than max repeat"));
        }
        Ok(Some((least, most)))
    }

    /// Parses the text after an opening parenthesis, up to the content of the group.
    fn open(&mut self, began: usize) -> Read<()> {
        let outer = self.flags;
        let mut kind = None;
        let mut name = None;
        let mut text = "(?:".to_owned();
        if self.take('?') {
            match self.next() {
                None => return Err(self.bad("unexpected end of pattern")),
                Some('P') => match self.named(began)? {
                    Some(found) => name = Some(found),
                    None => return Ok(()),
                },
                Some(':') => kind = Some(GroupKind::Plain),
                Some('#') => {
                    self.take_while(usize::MAX, |one| one != ')');
                    let ended = self.take(')');
                    let bad = || BadPattern::at(began, "missing ), unterminated comment");
                    return ended.then_some(()).ok_or_else(bad);
                }
                Some(mark @ ('=' | '!')) => {
                    (kind, text) = (Some(GroupKind::Ahead), format!("(?{mark}"));
                }
                Some('<') => match self.next() {
                    Some(mark @ ('=' | '!')) => {
                        (kind, text) = (Some(GroupKind::Behind), format!("(?<{mark}"));
                    }
                    Some(other) => {
                        return Err(BadPattern::at(began, format!("unknown extension ?<{other}")));
                    }
                    None => return Err(self.bad("unexpected end of pattern")),
                },
                Some('(') => {
                    let group = self.condition()?;
                    (kind, text) = (Some(GroupKind::Conditional), format!("(?({group})(?:"));
                }
                Some('>') => (kind, text) = (Some(GroupKind::Atomic), "(?>".to_owned()),
                Some(flag) => match self.inline_flags(flag, began)? {
                    Some(flags) => (kind, self.flags) = (Some(GroupKind::Plain), flags),
                    None => return Ok(()),
                },
            }
        }
        if self.stack.len() > DEEPEST {
            return Err(self.bad(format!("too large: groups are nested deeper than {DEEPEST}")));
        }
        let kind = match kind {
            Some(kind) => kind,
            None => {
                text = "(".to_owned();
                GroupKind::Capture(self.capture(name, began)?)
            }
        };
        if !matches!(kind, GroupKind::Plain | GroupKind::Capture(_)) {
            self.needs_backtracking();
        }
        let start = self.out.len();
        self.out.push_str(&text);
        self.stack.push(OpenGroup { start, ..OpenGroup::new(kind, began, outer) });
        Ok(())
    }

    fn close(&mut self) -> Read<()> {
        if self.stack.len() == 1 {
            return Err(BadPattern::at(self.at - 1, "unbalanced parenthesis"));
        }
        let mut group = self.stack.pop().expect("it was counted");
        group.literals.end_alternative(group.branches == 1);
        self.flags = group.outer;
        let mut whole = group.whole();
        match group.kind {
            GroupKind::Plain | GroupKind::Atomic => {}
            GroupKind::Capture(number) => self.groups[number as usize - 1] = true,
            GroupKind::Ahead | GroupKind::Behind => whole.is_place = true,
            GroupKind::Conditional => {
                self.out.push_str(if group.branches == 1 { ")|" } else { ")" });
                whole.is_place = false;
            }
        }
        self.out.push(')');
        self.follow(group.start, PatternItem { kind: ItemKind::Other, ..whole });
        let counts = matches!(group.kind, GroupKind::Plain | GroupKind::Capture(_) | GroupKind::Atomic);
        self.top_mut().literals.of_last = group.literals.before.filter(|_| counts);
        Ok(())
    }

    /// Opens a capturing group and returns its number.
    fn capture(&mut self, name: Option<String>, began: usize) -> Read<u32> {
        self.groups.push(false);
        let number = u32::try_from(self.groups.len()).unwrap_or(u32::MAX);
        if let Some(name) = name
            && let Some(before) = self.names.insert(name.clone(), number)
        {
            let why = format!("redefinition of group name '{name}' as group {number}; was group {before}");
            return Err(BadPattern::at(began, why));
        }
        Ok(number)
    }

    /// Parses `<name>` or `=name)` after `(?P`. Returns the name of a new group, or `None` for a reference.
    fn named(&mut self, began: usize) -> Read<Option<String>> {
        let at = self.at + 1;
        if self.take('<') {
            let name = self.until('>')?;
            check_name(&name, at)?;
            return Ok(Some(name));
        }
        if self.take('=') {
            let name = self.until(')')?;
            let group = self.group_named(&name, at)?;
            self.reference(group, at)?;
            return Ok(None);
        }
        Err(match self.next() {
            Some(other) => BadPattern::at(began, format!("unknown extension ?P{other}")),
            None => self.bad("unexpected end of pattern"),
        })
    }

    /// Parses the group of a condition, up to its parenthesis.
    fn condition(&mut self) -> Read<u32> {
        let at = self.at;
        let name = self.until(')')?;
        let group = match name.parse::<u32>() {
            Ok(0) => return Err(BadPattern::at(at, "bad group number")),
            Ok(number) if name.bytes().all(|one| one.is_ascii_digit()) => number,
            Ok(_) | Err(_) => self.group_named(&name, at)?,
        };
        self.conditions.push((group, at));
        // The engines and Python disagree about the state of a group inside itself.
        if self.groups.get(group as usize - 1).is_some_and(|is_closed| !is_closed) {
            return Err(BadPattern::unsupported(0, "a condition on its own group is not supported"));
        }
        Ok(group)
    }

    fn until(&mut self, end: char) -> Read<String> {
        let at = self.at;
        let found = self.take_while(usize::MAX, |one| one != end);
        let is_ended = self.take(end);
        match (found.is_empty(), is_ended) {
            (true, _) => Err(BadPattern::at(at, "missing group name")),
            (false, false) => Err(BadPattern::at(at, format!("missing {end}, unterminated name"))),
            (false, true) => Ok(found),
        }
    }

    fn group_named(&self, name: &str, at: usize) -> Read<u32> {
        check_name(name, at)?;
        let known = self.names.get(name).copied();
        known.ok_or_else(|| BadPattern::at(at, format!("unknown group name '{name}'")))
    }

    /// Adds a reference to an earlier group.
    fn reference(&mut self, group: u32, at: usize) -> Read<()> {
        match (group as usize).checked_sub(1).and_then(|index| self.groups.get(index)) {
            None => return Err(BadPattern::at(at, format!("invalid group reference {group}"))),
            Some(false) => return Err(BadPattern::at(at, "cannot refer to an open group")),
            Some(true) => {}
        }
        self.needs_backtracking();
        let open = if self.flags.ignore_case { "(?i:" } else { "(?:" };
        self.item(&format!("{open}\\{group})"), CHARACTER);
        Ok(())
    }

    /// Parses the flags after `(?`, up to the closing parenthesis or colon. Returns the flags of the group that starts
    /// here, or `None` if they apply to the whole pattern.
    fn inline_flags(&mut self, first: char, began: usize) -> Read<Option<PythonFlags>> {
        self.at -= 1;
        let on = self.take_while(usize::MAX, is_flag);
        let off = self.take('-').then(|| self.take_while(usize::MAX, is_flag));
        if on.is_empty() && off.is_none() {
            return Err(BadPattern::at(began, format!("unknown extension ?{first}")));
        }
        let both = |flag: char| on.contains(flag) && off.as_deref().is_some_and(|off| off.contains(flag));
        let wrong = match &off {
            _ if on.contains('L') => "cannot use 'L' flag with a str pattern",
            _ if on.contains('a') && on.contains('u') => "flags 'a', 'u' and 'L' are incompatible",
            Some(off) if off.contains(['a', 'u', 'L']) => "cannot turn off flags 'a', 'u' and 'L'",
            Some(off) if off.chars().any(both) => "flag turned on and off",
            Some(_) | None => "",
        };
        if !wrong.is_empty() {
            return Err(self.bad(format!("bad inline flags: {wrong}")));
        }
        match (self.next(), off.as_deref()) {
            (Some(')'), None) => self.global_flags(&on, began).map(|()| None),
            (Some(':'), None) => Ok(Some(self.flags.with(&on, ""))),
            (Some(':'), Some(off)) if !off.is_empty() => Ok(Some(self.flags.with(&on, off))),
            (Some(other), _) if other.is_alphabetic() => Err(self.bad("unknown flag")),
            (_, None) => Err(self.bad("missing -, : or )")),
            (_, Some("")) => Err(self.bad("missing flag")),
            (_, Some(_)) => Err(self.bad("missing :")),
        }
    }

    fn global_flags(&mut self, on: &str, began: usize) -> Read<()> {
        let (ascii, unicode) = self.ascii_or_unicode;
        self.ascii_or_unicode = (ascii || on.contains('a'), unicode || on.contains('u'));
        if self.ascii_or_unicode == (true, true) {
            return Err(self.bad("ASCII and UNICODE flags are incompatible"));
        }
        let top = self.top();
        if self.stack.len() > 1 || top.branches > 1 || top.last.is_some() {
            return Err(BadPattern::at(began, "global flags not at the start of the expression"));
        }
        self.flags = self.flags.with(on, "");
        Ok(())
    }

    /// Parses an escape outside a set.
    fn escape(&mut self, at: usize) -> Read<()> {
        let Some(next) = self.next() else { return Err(BadPattern::at(at, "bad escape (end of pattern)")) };
        if let Some(set) = named_set(next, self.flags.ascii) {
            self.item(&format!("[{set}]"), CHARACTER);
            return Ok(());
        }
        let word = |behind: &str, ahead: &str| format!("(?<{behind}{ASCII_WORD})(?{ahead}{ASCII_WORD})");
        match next {
            'A' => self.anchor(r"\A"),
            'Z' => self.anchor(r"\z"),
            'b' | 'B' if self.flags.ascii => {
                self.needs_backtracking();
                let (one, other) = if next == 'b' { ("!", "=") } else { ("=", "!") };
                self.anchor(&format!("(?:{}|{})", word("=", one), word("!", other)));
            }
            'b' => self.anchor(r"\b"),
            'B' => self.anchor(NOT_WORD),
            '0' => {
                let digits = self.take_while(2, |one| one.is_digit(8));
                self.literal(u32::from_str_radix(&digits, 8).unwrap_or(0));
            }
            '1'..='9' => return self.reference_or_octal(next, at),
            other => {
                let code = self.character(other, at)?;
                self.literal(code);
            }
        }
        Ok(())
    }

    /// Parses `\1` to `\99` as a group and three octal digits as a character.
    fn reference_or_octal(&mut self, first: char, at: usize) -> Read<()> {
        let mut digits = String::from(first);
        digits.push_str(&self.take_while(1, |one| one.is_ascii_digit()));
        if digits.len() == 2 && digits.chars().all(|one| one.is_digit(8)) {
            digits.push_str(&self.take_while(1, |one| one.is_digit(8)));
        }
        if digits.len() == 3 {
            let code = octal(&digits, at)?;
            self.literal(code);
            return Ok(());
        }
        self.reference(digits.parse().expect("at most two digits"), at)
    }

    /// Parses an escaped character, inside or outside a set.
    fn character(&mut self, letter: char, at: usize) -> Read<u32> {
        // Characters 7 to 13 by their letters; 8 is `\b` in sets only.
        if let Some(index) = "a tnvfr".find(letter).filter(|_| letter != ' ') {
            return Ok(u32::try_from(7 + index).expect("seven letters"));
        }
        let hexadecimal = match letter {
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'N' => {
                let bad = BadPattern::unsupported(at, "\\N{NAME} is not supported");
                return Err(bad.hint("write the character as \\uXXXX"));
            }
            other if other.is_ascii_alphanumeric() => {
                return Err(BadPattern::at(at, format!("bad escape \\{other}")));
            }
            other => return Ok(u32::from(other)),
        };
        let digits = self.take_while(hexadecimal, |one| one.is_ascii_hexdigit());
        if digits.len() < hexadecimal {
            return Err(BadPattern::at(at, format!("incomplete escape \\{letter}{digits}")));
        }
        let code = u32::from_str_radix(&digits, 16).ok().filter(|code| *code <= u32::from(char::MAX));
        code.ok_or_else(|| BadPattern::at(at, format!("bad escape \\{letter}{digits}")))
    }

    /// Adds one character. A lone surrogate never occurs in a text.
    fn literal(&mut self, code: u32) {
        let Some(one) = char::from_u32(code) else { return self.item(NEVER, CHARACTER) };
        let escaped =
            if one.is_control() { format!("\\x{{{code:x}}}") } else { regex::escape(&one.to_string()) };
        let PythonFlags { ignore_case, ascii, .. } = self.flags;
        let text = match (ignore_case, ascii) {
            (true, true) if one.is_ascii_alphabetic() => {
                format!("[{}{}]", one.to_ascii_lowercase(), one.to_ascii_uppercase())
            }
            (true, false) if EVERY_I.contains(one) => format!("[{EVERY_I}]"),
            (true, false) => format!("(?i:{escaped})"),
            (true | false, _) => escaped,
        };
        let run = std::mem::take(&mut self.top_mut().literals.run);
        let is_behind_group = self.top().literals.of_last.is_some();
        if is_behind_group {
            self.top_mut().literals.settle();
        }
        let is_exact = !ignore_case || one.is_ascii() && !one.is_ascii_alphabetic();
        if is_exact {
            self.item(&text, CHARACTER);
            self.top_mut().literals.run = run + one.encode_utf8(&mut [0; 4]);
        } else {
            self.top_mut().literals.run = run;
            self.item(&text, CHARACTER);
        }
    }

    /// Parses the text after an opening bracket.
    fn set(&mut self, began: usize) -> Read<()> {
        let unterminated = || BadPattern::at(began, "unterminated character set");
        let negated = if self.take('^') { "^" } else { "" };
        let mut inside = String::new();
        let start = self.at;
        loop {
            let at = self.at;
            let next = self.next().ok_or_else(unterminated)?;
            if next == ']' && at != start {
                break;
            }
            let low = self.set_member(next, at)?;
            if !self.take('-') {
                low.write(low, self.flags, &mut inside);
                continue;
            }
            let end = self.at;
            let next = self.next().ok_or_else(unterminated)?;
            if next == ']' {
                let hyphen = SetMember::Character(u32::from('-'));
                low.write(low, self.flags, &mut inside);
                hyphen.write(hyphen, self.flags, &mut inside);
                break;
            }
            let high = self.set_member(next, end)?;
            if !low.is_range_to(high) {
                let written: String = self.characters[at..self.at].iter().collect();
                return Err(BadPattern::at(at, format!("bad character range {written}")));
            }
            low.write(high, self.flags, &mut inside);
        }
        let set = match (inside.is_empty(), negated) {
            (true, "^") => r"[\s\S]".to_owned(),
            (true, _) => NEVER.to_owned(),
            (false, negated) => format!("[{negated}{inside}]"),
        };
        let ignores_case = self.flags.ignore_case && !self.flags.ascii;
        self.item(&if ignores_case { format!("(?i:{set})") } else { set }, CHARACTER);
        Ok(())
    }

    fn set_member(&mut self, next: char, at: usize) -> Read<SetMember> {
        if next != '\\' {
            return Ok(SetMember::Character(u32::from(next)));
        }
        let Some(escaped) = self.next() else {
            return Err(BadPattern::at(at, "bad escape (end of pattern)"));
        };
        if let Some(set) = named_set(escaped, self.flags.ascii) {
            return Ok(SetMember::Named(set));
        }
        let code = match escaped {
            'b' => 8,
            '0'..='7' => {
                let rest = self.take_while(2, |one| one.is_digit(8));
                octal(&format!("{escaped}{rest}"), at)?
            }
            other => self.character(other, at)?,
        };
        Ok(SetMember::Character(code))
    }
}

impl PythonFlags {
    fn with(self, on: &str, off: &str) -> Self {
        let is = |flag: char, before: bool| (before || on.contains(flag)) && !off.contains(flag);
        Self {
            ignore_case: is('i', self.ignore_case),
            lines: is('m', self.lines),
            dot_all: is('s', self.dot_all),
            verbose: is('x', self.verbose),
            ascii: (self.ascii || on.contains('a')) && !on.contains('u'),
        }
    }
}

fn is_flag(letter: char) -> bool {
    "iLmsxau".contains(letter)
}

fn octal(digits: &str, at: usize) -> Read<u32> {
    let code = u32::from_str_radix(digits, 8).ok().filter(|code| *code <= 0o377);
    code.ok_or_else(|| BadPattern::at(at, format!("octal escape value \\{digits} outside of range 0-0o377")))
}

fn check_name(name: &str, at: usize) -> Read<()> {
    let begins = |one: char| one == '_' || one.is_alphabetic();
    let fits = name.starts_with(begins) && name.chars().all(|one| begins(one) || one.is_alphanumeric());
    if fits { Ok(()) } else { Err(BadPattern::at(at, format!("bad character in group name '{name}'"))) }
}
