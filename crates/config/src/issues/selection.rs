//! Issue selections on the command line.

use std::ops::RangeInclusive;

use saihai_model::IssueNumber;

use crate::diagnostic::quoted;

/// Maximum number of selected issues, to catch typing errors.
const MOST: usize = 1000;

/// Reason why a text is not an issue selection.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum BadSelection {
    #[error("{} is not the number of an issue; write numbers and ranges such as `1,4,7-9`", quoted(.0))]
    NoNumber(String),
    #[error("the range {} ends before it begins", quoted(.0))]
    Backwards(String),
    #[error("{} names more than {MOST} issues", quoted(.0))]
    TooMany(String),
}

/// Parses `1,4,7-9`. Keeps the typed order and removes duplicates.
pub fn parse_selection(text: &str) -> Result<Vec<IssueNumber>, BadSelection> {
    let mut selected: Vec<IssueNumber> = Vec::new();
    for part in text.split(',').map(str::trim) {
        let range = range(part)?;
        let length = (range.end() - range.start()) as usize;
        if selected.len() + length >= MOST {
            return Err(BadSelection::TooMany(text.to_owned()));
        }
        for number in range.filter_map(|number| IssueNumber::new(number.into())) {
            if !selected.contains(&number) {
                selected.push(number);
            }
        }
    }
    Ok(selected)
}

fn range(part: &str) -> Result<RangeInclusive<u32>, BadSelection> {
    let number = |text: &str| {
        let number = IssueNumber::parse(text).map(IssueNumber::get);
        number.ok_or_else(|| BadSelection::NoNumber(part.to_owned()))
    };
    let Some((first, last)) = part.split_once('-') else {
        let only = number(part)?;
        return Ok(only..=only);
    };
    let (first, last) = (number(first)?, number(last)?);
    if last < first { Err(BadSelection::Backwards(part.to_owned())) } else { Ok(first..=last) }
}
