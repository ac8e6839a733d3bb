//! Requirements: ids and titles from `docs/requirements/`.

use std::fmt;
use std::path::Path;

use anyhow::{Context, Result, bail};

/// Id of a requirement: the letter of its area and a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub struct Id {
    pub area: char,
    pub number: u32,
}

/// Letters of the areas, in display order.
pub const AREAS: &str = "PHSRICKTDUXVNBE";

impl fmt::Display for Id {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.area, self.number)
    }
}

impl Id {
    pub fn parse(text: &str) -> Option<Self> {
        let (area, number) = text.split_once('-')?;
        let mut letters = area.chars();
        let area = letters.next().filter(|letter| AREAS.contains(*letter))?;
        let number = number.parse().ok()?;
        letters.next().is_none().then_some(Self { area, number })
    }
}

#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Requirement {
    pub id: Id,
    pub title: String,
}

#[derive(Debug)]
pub struct Area {
    pub letter: char,
    pub title: String,
    pub requirements: Vec<Requirement>,
}

/// Reads every list in a directory, in the order of [`AREAS`].
pub fn read_all(directory: &Path) -> Result<Vec<Area>> {
    let mut areas = Vec::new();
    for entry in
        std::fs::read_dir(directory).with_context(|| format!("cannot read {}", directory.display()))?
    {
        let path = entry?.path();
        let text =
            std::fs::read_to_string(&path).with_context(|| format!("cannot read {}", path.display()))?;
        areas.push(read(&text).with_context(|| path.display().to_string())?);
    }
    areas.sort_by_key(|area| AREAS.find(area.letter));
    Ok(areas)
}

fn read(text: &str) -> Result<Area> {
    let mut title = None;
    let mut requirements: Vec<Requirement> = Vec::new();
    for (index, line) in text.lines().enumerate() {
        let number = index + 1;
        if let Some(heading) = line.strip_prefix("# ") {
            title = Some(heading.to_owned());
        } else if let Some(item) = line.strip_prefix("- ") {
            let (id, words) = item.split_once(' ').with_context(|| format!("line {number}: no title"))?;
            let id = Id::parse(id).with_context(|| format!("line {number}: `{id}` is not a requirement"))?;
            if requirements.last().is_some_and(|before| before.id >= id) {
                bail!("line {number}: {id} is out of order");
            }
            requirements.push(Requirement { id, title: words.to_owned() });
        } else if !line.trim().is_empty() {
            bail!("line {number}: neither a heading nor a requirement");
        }
    }
    let letter = requirements.first().context("no requirement")?.id.area;
    if let Some(stray) = requirements.iter().find(|one| one.id.area != letter) {
        bail!("{} does not belong to area {letter}", stray.id);
    }
    Ok(Area { letter, title: title.context("no heading")?, requirements })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_list_is_a_heading_and_items_in_order() {
        let area = read("# Things (P)\n\n- P-1 one thing\n- P-3 another\n").unwrap();
        assert_eq!((area.letter, area.title.as_str()), ('P', "Things (P)"));
        assert_eq!(
            area.requirements[1],
            Requirement { id: Id { area: 'P', number: 3 }, title: "another".to_owned() }
        );
    }

    #[test]
    fn a_list_out_of_order_or_of_two_areas_is_refused() {
        let wrong = |text: &str| format!("{:#}", read(text).unwrap_err());
        assert_eq!(wrong("# x\n- P-2 b\n- P-2 b\n"), "line 3: P-2 is out of order");
        assert_eq!(wrong("# x\n- P-2 b\n- S-3 b\n"), "S-3 does not belong to area P");
        assert_eq!(wrong("# x\n- Q-2 b\n"), "line 2: `Q-2` is not a requirement");
    }
}
