//! `cargo xtask coverage`: which requirements no test names.

use std::collections::BTreeSet;
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

use xtask::requirement::{self, AREAS, Area, Id};
use xtask::{mentions, source};

/// What is to be shown.
#[derive(Default)]
struct Wanted {
    area: Option<char>,
    /// Also the requirements that have a test.
    all: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let wanted = parse(arguments)?;
    let root = source::root();
    let areas = requirement::read_all(&root.join("docs/requirements"))?;
    let tested: BTreeSet<Id> = source::read_all(&root)?
        .iter()
        .filter(|source| !source.path.starts_with("xtask"))
        .flat_map(|source| source.lines())
        .filter(|line| line.is_test)
        .flat_map(|line| mentions::in_line(line.text))
        .collect();
    print!("{}", report(&areas, &tested, &wanted));
    Ok(ExitCode::SUCCESS)
}

fn parse(arguments: &[String]) -> Result<Wanted> {
    let mut wanted = Wanted::default();
    let mut rest = arguments.iter();
    while let Some(argument) = rest.next() {
        match argument.as_str() {
            "--all" => wanted.all = true,
            "--area" => match rest.next().map(String::as_str) {
                Some(letter) if letter.len() == 1 && AREAS.contains(letter) => {
                    wanted.area = letter.chars().next();
                }
                _ => bail!("`--area` takes one of the letters {AREAS}"),
            },
            other => bail!("unknown argument `{other}`; known are `--area A` and `--all`"),
        }
    }
    Ok(wanted)
}

fn report(areas: &[Area], tested: &BTreeSet<Id>, wanted: &Wanted) -> String {
    let mut text = String::new();
    let mut summary = String::new();
    for area in areas.iter().filter(|area| wanted.area.is_none_or(|letter| letter == area.letter)) {
        let total = area.requirements.len();
        let named = area.requirements.iter().filter(|one| tested.contains(&one.id)).count();
        let _ = writeln!(summary, "  {}  {named:3} of {total:3} named by a test", area.letter);
        if named == total && !wanted.all {
            continue;
        }
        let _ = writeln!(text, "{}", area.title);
        for one in &area.requirements {
            match (tested.contains(&one.id), wanted.all) {
                (false, _) => _ = writeln!(text, "  no test  {:6} {}", one.id.to_string(), one.title),
                (true, true) => _ = writeln!(text, "  tested   {:6} {}", one.id.to_string(), one.title),
                (true, false) => {}
            }
        }
        text.push('\n');
    }
    text + "summary\n" + &summary + &unknown(areas, tested)
}

/// Ids that tests name and no list has: a slip of the pen, or a list that has fallen behind.
fn unknown(areas: &[Area], tested: &BTreeSet<Id>) -> String {
    let known: BTreeSet<Id> = areas.iter().flat_map(|area| &area.requirements).map(|one| one.id).collect();
    let strays: Vec<String> = tested.difference(&known).map(Id::to_string).collect();
    match strays.as_slice() {
        [] => String::new(),
        strays => format!("named by tests, but no requirement: {}\n", strays.join(", ")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use xtask::requirement::Requirement;

    fn id(area: char, number: u32) -> Id {
        Id { area, number }
    }

    fn area(letter: char, titles: &[&str]) -> Area {
        let requirements = (1..)
            .zip(titles)
            .map(|(number, title)| Requirement { id: id(letter, number), title: (*title).to_owned() })
            .collect();
        Area { letter, title: format!("Area {letter}"), requirements }
    }

    #[test]
    fn requirements_without_a_test_are_listed_by_area() {
        let areas = [area('P', &["one", "two"]), area('K', &["three"])];
        let tested = BTreeSet::from([id('P', 1), id('K', 1), id('K', 9)]);
        let expected = "Area P\n  no test  P-2    two\n\nsummary\n  P    1 of   2 named by a test\n  K    1 of   1 \
                        named by a test\nnamed by tests, but no requirement: K-9\n";
        assert_eq!(report(&areas, &tested, &Wanted::default()), expected);
    }

    #[test]
    fn one_area_can_be_asked_for() {
        let areas = [area('P', &["one"]), area('K', &["two"])];
        let wanted = Wanted { area: Some('K'), all: true };
        let shown = report(&areas, &BTreeSet::from([id('K', 1)]), &wanted);
        assert_eq!(shown, "Area K\n  tested   K-1    two\n\nsummary\n  K    1 of   1 named by a test\n");
    }
}
