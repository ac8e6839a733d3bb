//! `cargo xtask coverage`: lists the requirements that no test names.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::process::ExitCode;

use anyhow::{Result, bail};

use xtask::requirement::{self, AREAS, Area, Id};
use xtask::{mentions, source};

/// Requirements that tests name, with the files that name them.
type Tested = BTreeMap<Id, BTreeSet<String>>;

#[derive(Default)]
struct Wanted {
    area: Option<char>,
    /// Also list the tested requirements, with the files that name them.
    all: bool,
}

pub(crate) fn run(arguments: &[String]) -> Result<ExitCode> {
    let wanted = parse(arguments)?;
    let root = source::root();
    let areas = requirement::read_all(&root.join("docs/requirements"))?;
    let mut tested = Tested::new();
    for source in source::read_all(&root)?.iter().filter(|source| !source.path.starts_with("xtask")) {
        let lines = source.lines().into_iter().filter(|line| line.is_test);
        for id in lines.flat_map(|line| mentions::in_line(line.text)) {
            tested.entry(id).or_default().insert(source.path.display().to_string());
        }
    }
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

fn report(areas: &[Area], tested: &Tested, wanted: &Wanted) -> String {
    let mut text = String::new();
    let mut summary = String::new();
    for area in areas.iter().filter(|area| wanted.area.is_none_or(|letter| letter == area.letter)) {
        let total = area.requirements.len();
        let named = area.requirements.iter().filter(|one| tested.contains_key(&one.id)).count();
        let _ = writeln!(summary, "  {}  {named:3} of {total:3} named by a test", area.letter);
        if named == total && !wanted.all {
            continue;
        }
        let _ = writeln!(text, "{}", area.title);
        for one in &area.requirements {
            let id = one.id.to_string();
            match tested.get(&one.id) {
                None => _ = writeln!(text, "  no test  {id:6} {}", one.title),
                Some(files) if wanted.all => {
                    let files = files.iter().map(String::as_str).collect::<Vec<_>>().join(", ");
                    let _ = writeln!(text, "  tested   {id:6} {}: {files}", one.title);
                }
                Some(_) => {}
            }
        }
        text.push('\n');
    }
    text + "summary\n" + &summary + &unknown(areas, tested)
}

/// Lists ids in tests that no requirement list contains: a typing error or an outdated list.
fn unknown(areas: &[Area], tested: &Tested) -> String {
    let known: BTreeSet<Id> = areas.iter().flat_map(|area| &area.requirements).map(|one| one.id).collect();
    let strays: Vec<String> = tested.keys().filter(|id| !known.contains(id)).map(Id::to_string).collect();
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

    fn named(ids: &[Id]) -> Tested {
        ids.iter().map(|id| (*id, BTreeSet::from(["a.rs".to_owned()]))).collect()
    }

    #[test]
    fn requirements_without_a_test_are_listed_by_area() {
        let areas = [area('P', &["one", "two"]), area('K', &["three"])];
        let tested = named(&[id('P', 1), id('K', 1), id('K', 9)]);
        let expected = "Area P\n  no test  P-2    two\n\nsummary\n  P    1 of   2 named by a test\n  K    1 of   1 \
                        named by a test\nnamed by tests, but no requirement: K-9\n";
        assert_eq!(report(&areas, &tested, &Wanted::default()), expected);
    }

    #[test]
    fn one_area_can_be_asked_for() {
        let areas = [area('P', &["one"]), area('K', &["two"])];
        let wanted = Wanted { area: Some('K'), all: true };
        let shown = report(&areas, &named(&[id('K', 1)]), &wanted);
        assert_eq!(
            shown,
            "Area K\n  tested   K-1    two: a.rs\n\nsummary\n  K    1 of   1 named by a test\n"
        );
    }
}
