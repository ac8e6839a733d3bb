use saihai_model::{Issue, IssueNumber, IssueSource, IssueState};

use super::super::{NoSource, SourcesAtHand, choose_definition, choose_source};
use crate::settings::WorkSettings;

fn issue(labels: &[&str], definition: Option<&str>) -> Issue {
    Issue {
        source: IssueSource::Folder,
        number: IssueNumber::new(7).expect("a number"),
        title: "a".to_owned(),
        body: String::new(),
        labels: labels.iter().map(|label| (*label).to_owned()).collect(),
        state: IssueState::Open,
        priority: 0,
        depends_on: Vec::new(),
        definition: definition.map(str::to_owned),
        base: None,
        author: None,
        reopened: false,
    }
}

// I-10
#[test]
fn the_flag_the_issue_its_labels_and_the_settings_name_a_definition_in_this_order() {
    let pairs = [("bug", "tdd"), ("docs", "docs"), ("typo", "docs")];
    let settings = WorkSettings {
        definition: Some("default".to_owned()),
        definitions: pairs.map(|(label, name)| (label.to_owned(), name.to_owned())).into(),
        ..WorkSettings::default()
    };
    let check = |issue: &Issue, flag, expected: &str| {
        let chosen = choose_definition(issue, flag, &settings).expect("a definition");
        let overruled = chosen.overruled.map(|(label, name)| format!(", not `{label}` {name}"));
        assert_eq!(format!("{} {:?}{}", chosen.name, chosen.by, overruled.unwrap_or_default()), expected);
    };
    check(&issue(&["bug"], Some("own")), Some("flag"), "flag Flag");
    check(&issue(&["bug"], Some("own")), None, "own Issue");
    // The order of the settings file counts, not that of the labels.
    check(&issue(&["docs", "bug"], None), None, "tdd Label(\"bug\"), not `docs` docs");
    check(&issue(&["typo", "docs"], None), None, "docs Label(\"docs\")");
    check(&issue(&["other"], None), None, "default Settings");
    assert_eq!(choose_definition(&issue(&[], None), None, &WorkSettings::default()), None);
}

// I-11
#[test]
fn issues_come_from_where_flags_say_or_settings_or_the_only_source_there_is() {
    let none = SourcesAtHand::default();
    let check = |at_hand, expected| assert_eq!(choose_source(at_hand), expected, "{at_hand:?}");
    let (folder, github) = (Ok(IssueSource::Folder), Ok(IssueSource::Github));
    check(SourcesAtHand { folder_named: true, set: Some(IssueSource::Github), ..none }, folder);
    check(SourcesAtHand { github_named: true, folder_exists: true, ..none }, github);
    check(SourcesAtHand { folder_named: true, github_named: true, ..none }, Err(NoSource::Contradiction));
    check(SourcesAtHand { set: Some(IssueSource::Github), folder_exists: true, ..none }, github);
    check(SourcesAtHand { folder_exists: true, ..none }, folder);
    check(SourcesAtHand { remote_on_github: true, ..none }, github);
    check(SourcesAtHand { folder_exists: true, remote_on_github: true, ..none }, Err(NoSource::Both));
    check(none, Err(NoSource::Neither));
}
