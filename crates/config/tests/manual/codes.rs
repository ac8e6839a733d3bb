//! Every diagnostic code has an entry in the manual, and every entry has its examples.

use std::collections::BTreeSet;

use saihai_config::{Object, SETTINGS, ValueKind};

use crate::page::{PAGES, blocks, codes, read};
use crate::sources::{self, plain};

// K-40
#[test]
fn every_code_the_sources_can_report_has_an_entry_and_every_entry_is_of_such_a_code() {
    let pages: Vec<String> = PAGES.iter().map(|page| read(page)).collect();
    let listed: Vec<&str> = pages.iter().flat_map(|page| codes(page)).collect();
    let entries: BTreeSet<String> = listed.iter().map(|code| (*code).to_owned()).collect();
    assert_eq!(entries.len(), listed.len(), "an entry stands twice");
    let reported = sources::codes();
    assert!(reported.len() > 70, "only {reported:?}");
    let missing: Vec<&String> = reported.difference(&entries).collect();
    assert!(missing.is_empty(), "reported, but without an entry in the manual: {missing:#?}");
    let stale: Vec<&String> = entries.difference(&reported).collect();
    assert!(stale.is_empty(), "in the manual, but reported nowhere: {stale:#?}");
}

// K-40
#[test]
fn every_entry_has_a_sentence_a_wrong_example_and_a_right_one() {
    for path in PAGES {
        let page = read(path);
        let blocks = blocks(&page);
        for code in codes(&page) {
            let section = page.split(&format!("### {code}\n")).nth(1).expect("its section");
            assert!(
                !section.starts_with(['\n', '#']) && !section.starts_with("```"),
                "{code} has no sentence"
            );
            for verdict in ["wrong", "right"] {
                let is = |info: &str| {
                    let mut words = info.split(' ').skip(1);
                    words.next() == Some(verdict) && words.next().is_none()
                };
                let count = blocks.iter().filter(|block| block.heading == code && is(&block.info)).count();
                assert_eq!(count, 1, "{path}: {code} has {count} {verdict} examples");
            }
        }
    }
}

/// Files that report a slug from a variable, because they only forward it. In any other file, this would hide a
/// code from the list.
const PASSING_ON: [&str; 5] =
    ["diagnostic.rs", "diagnostic/location.rs", "document.rs", "fields.rs", "fields/cursor.rs"];

#[test]
fn slugs_are_written_out_where_they_are_reported() {
    let mut found = BTreeSet::new();
    for path in sources::sources() {
        let text = plain(&std::fs::read_to_string(&path).expect("a source file"));
        let passes = [
            ".error(slug",
            ".warning(slug",
            ".note(slug",
            ".code(slug",
            "Problem::new(slug",
            "code(self, slug",
        ];
        if passes.iter().any(|call| text.contains(call)) {
            found.insert(path.to_string_lossy().split("/src/").last().expect("below src").to_owned());
        }
    }
    assert_eq!(found.iter().map(String::as_str).collect::<Vec<_>>(), PASSING_ON, "write the slug out");
}

/// Justifies the entries of the settings in `sources::NEVER`.
#[test]
fn no_key_of_the_settings_is_required_refused_or_spelt_in_two_ways() {
    fn walk(object: &'static Object, seen: &mut Vec<&'static str>) {
        if seen.contains(&object.title) {
            return;
        }
        seen.push(object.title);
        for field in object.fields {
            assert!(!field.required && field.aliases.is_empty(), "{}.{}", object.title, field.name);
            assert!(!matches!(field.kind, ValueKind::Refused(_)), "{}.{}", object.title, field.name);
            let inner =
                field.kind.object().or_else(|| field.kind.named_values().and_then(|kind| kind.object()));
            inner.into_iter().for_each(|inner| walk(inner, seen));
        }
    }
    let mut seen = Vec::new();
    walk(&SETTINGS, &mut seen);
    assert!(seen.len() > 5, "{seen:?}");
}
