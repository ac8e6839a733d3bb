//! Escapes and character sets.

use super::{Parser, Read};
use crate::review::python::BadPattern;
use crate::review::python::ast::{Anchor, CharKind, ClassItem, Part};

impl Parser {
    /// Parses an escape outside a set.
    pub(super) fn escape(&mut self) -> Read<Part> {
        let at = self.at - 1;
        let Some(next) = self.next() else { return Err(BadPattern::at(at, "bad escape (end of pattern)")) };
        if let Some((kind, negated)) = kind_of(next) {
            return Ok(Part::Class { negated: false, items: vec![ClassItem::Kind { kind, negated }] });
        }
        Ok(match next {
            'A' => Part::At(Anchor::Start),
            'Z' => Part::At(Anchor::End),
            'b' => Part::At(Anchor::Word),
            'B' => Part::At(Anchor::NotWord),
            '0' => {
                let digits = self.take_while(2, |one| one.is_digit(8));
                literal(u32::from_str_radix(&digits, 8).unwrap_or(0))
            }
            '1'..='9' => return self.back_or_octal(next, at),
            other => literal(self.character(other, at)?),
        })
    }

    /// Parses `\1` to `\99` as a group and three octal digits as a character.
    fn back_or_octal(&mut self, first: char, at: usize) -> Read<Part> {
        let mut digits = String::from(first);
        if let Some(second) = self.peek().filter(char::is_ascii_digit) {
            digits.push(second);
            self.at += 1;
            let third = self.peek().filter(|third| third.is_digit(8));
            if let Some(third) = third.filter(|_| first.is_digit(8) && second.is_digit(8)) {
                digits.push(third);
                self.at += 1;
                return octal(&digits, at).map(literal);
            }
        }
        let group = digits.parse().expect("at most two digits");
        self.reference(group, at).map(Part::Back)
    }

    /// Parses an escaped character, inside or outside a set.
    fn character(&mut self, letter: char, at: usize) -> Read<u32> {
        let hexadecimal = match letter {
            'a' => return Ok(7),
            'f' => return Ok(12),
            'n' => return Ok(10),
            'r' => return Ok(13),
            't' => return Ok(9),
            'v' => return Ok(11),
            'x' => 2,
            'u' => 4,
            'U' => 8,
            'N' => {
                return Err(
                    BadPattern::at(at, "\\N{NAME} is not supported").hint("write the character as \\uXXXX")
                );
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

    /// Parses the text after an opening bracket.
    pub(super) fn class(&mut self) -> Read<Part> {
        let began = self.at - 1;
        let unterminated = || BadPattern::at(began, "unterminated character set");
        let negated = self.take('^');
        let mut items = Vec::new();
        let start = self.at;
        loop {
            let at = self.at;
            let next = self.next().ok_or_else(unterminated)?;
            if next == ']' && at != start {
                return Ok(Part::Class { negated, items });
            }
            let low = self.class_item(next, at)?;
            if !self.take('-') {
                items.push(low);
                continue;
            }
            let end = self.at;
            let next = self.next().ok_or_else(unterminated)?;
            if next == ']' {
                items.extend([low, ClassItem::Range(u32::from('-'), u32::from('-'))]);
                return Ok(Part::Class { negated, items });
            }
            let high = self.class_item(next, end)?;
            let written: String = self.characters[at..self.at].iter().collect();
            let bad = || BadPattern::at(at, format!("bad character range {written}"));
            match (low, high) {
                (ClassItem::Range(low, _), ClassItem::Range(high, _)) if low <= high => {
                    items.push(ClassItem::Range(low, high));
                }
                (ClassItem::Range(..) | ClassItem::Kind { .. }, _) => return Err(bad()),
            }
        }
    }

    fn class_item(&mut self, next: char, at: usize) -> Read<ClassItem> {
        let one = |code: u32| ClassItem::Range(code, code);
        if next != '\\' {
            return Ok(one(u32::from(next)));
        }
        let Some(escaped) = self.next() else {
            return Err(BadPattern::at(at, "bad escape (end of pattern)"));
        };
        if let Some((kind, negated)) = kind_of(escaped) {
            return Ok(ClassItem::Kind { kind, negated });
        }
        match escaped {
            'b' => Ok(one(8)),
            '0'..='7' => {
                let rest = self.take_while(2, |one| one.is_digit(8));
                octal(&format!("{escaped}{rest}"), at).map(one)
            }
            other => self.character(other, at).map(one),
        }
    }
}

fn literal(code: u32) -> Part {
    Part::Literal(char::from_u32(code))
}

fn octal(digits: &str, at: usize) -> Read<u32> {
    let code = u32::from_str_radix(digits, 8).ok().filter(|code| *code <= 0o377);
    code.ok_or_else(|| BadPattern::at(at, format!("octal escape value \\{digits} outside of range 0-0o377")))
}

fn kind_of(letter: char) -> Option<(CharKind, bool)> {
    Some(match letter {
        'd' => (CharKind::Digit, false),
        'D' => (CharKind::Digit, true),
        's' => (CharKind::Space, false),
        'S' => (CharKind::Space, true),
        'w' => (CharKind::Word, false),
        'W' => (CharKind::Word, true),
        _ => return None,
    })
}
