use std::path::Path;

use insta::assert_snapshot;
use saihai_model::Issue;

use super::super::load_folder;
use crate::diagnostic::{Colour, Diagnostics, to_human};
use crate::source::MemorySource;

fn load(source: &MemorySource) -> (Vec<Issue>, String) {
    let mut diagnostics = Diagnostics::new();
    let issues = load_folder(source, Path::new("/p/.saihai/issues"), ".saihai/issues", &mut diagnostics);
    (issues, to_human(&diagnostics.sorted(), Colour::Never))
}

fn folder(files: &[(&str, &str)]) -> MemorySource {
    let mut source = MemorySource::default();
    for (name, text) in files {
        source.add(format!("/p/.saihai/issues/{name}"), *text);
    }
    source
}

#[track_caller]
fn wrong(files: &[(&str, &str)]) -> String {
    load(&folder(files)).1
}

#[test]
fn an_issue_is_a_file_with_what_its_front_matter_says() {
    let (issues, said) = load(&folder(&[(
        "007-login.md",
        "---\nlabels: [bug]\ndepends_on: [3]\npriority: 2\ndefinition: tdd\nbase: next\nstate: closed\n---\n# Login fails for addresses with a plus sign\n`a+b@example.org` is refused. Add a test that fails first.\n\nNeeds #4, #3\n",
    )]));
    assert_eq!(said, "");
    let json = serde_json::to_string_pretty(&issues).expect("issues");
    assert_snapshot!(json, @r#"
    [
      {
        "source": "folder",
        "number": 7,
        "title": "Login fails for addresses with a plus sign",
        "body": "`a+b@example.org` is refused. Add a test that fails first.\n\nNeeds #4, #3",
        "labels": [
          "bug"
        ],
        "state": "closed",
        "priority": 2,
        "depends_on": [
          3,
          4
        ],
        "definition": "tdd",
        "base": "next"
      }
    ]
    "#);
}

#[test]
fn number_and_title_come_from_the_front_matter_the_file_or_its_heading() {
    let (issues, said) = load(&folder(&[
        ("12.md", "---\ntitle: Given\n---\n# A heading\ntext\n"),
        ("any.md", "---\nid: 5\n---\n\n```\n# no heading\n```\n# The heading #\ntext\n"),
        ("9-plain.md", "\u{feff}# Plain\r\n\r\ntext\r\n"),
        ("8.md", "---\n---\n# Empty front matter\n"),
    ]));
    assert_eq!(said, "");
    let shown: Vec<String> =
        issues.iter().map(|issue| format!("{} {} | {:?}", issue.number, issue.title, issue.body)).collect();
    assert_snapshot!(shown.join("\n"), @r##"
    #12 Given | "# A heading\ntext"
    #8 Empty front matter | ""
    #9 Plain | "text"
    #5 The heading | "```\n# no heading\n```\n# The heading #\ntext"
    "##);
}

// I-15
#[test]
fn other_files_subfolders_and_hidden_names_are_passed_over() {
    let (issues, said) = load(&folder(&[
        ("1-real.md", "# Real"),
        ("notes.txt", "no"),
        ("_template.md", "no"),
        (".hidden.md", "no"),
        ("2-more.md/inside.md", "# Inside"),
        ("3.MD", "no"),
    ]));
    assert_eq!((issues.len(), said.as_str()), (1, ""));
}

// I-15
#[test]
fn all_errors_of_all_files_are_told_at_once() {
    let said = wrong(&[
        ("1-a.md", "---\nlables: [bug]\nstate: done\n---\n# One\n"),
        ("2-b.md", "---\nlabels: bug\n# Two\n"),
        ("3-c.md", "---\nlabels: bug\ndepends_on: [0, x]\npriority: high\nid: 1.5\n---\n# Three\n"),
        ("d.md", "text without a heading\n"),
        ("4-e.md", "---\ntitle: \"\\u0007 \"\n---\n"),
        ("5-f.md", "---\nlabels: [a\n---\n# Five\n"),
    ]);
    assert_snapshot!(said, @r#"
    error[work/unknown-key]: unknown key `lables`
    --> .saihai/issues/1-a.md:2:1
      |
    2 | lables: [bug]
      | ^^^^^^ not a key of an issue
      = help: did you mean `labels`?

    error[work/bad-value]: `state` must be `open` or `closed`, not `done`
    --> .saihai/issues/1-a.md:3:8
      |
    3 | state: done
      |        ^^^^ not one of them

    error[work/syntax]: the front matter is not closed
    --> .saihai/issues/2-b.md:1:1
      |
    1 | ---
      | ^^^ opened here
      = help: close it with a second line `---`

    error[work/bad-type]: `labels` must be a list of text, not text
    --> .saihai/issues/3-c.md:2:9
      |
    2 | labels: bug
      |         ^^^ text
      = help: write `[bug]`

    error[work/bad-value]: `depends_on[0]` must be between 1 and 999999999, not `0`
    --> .saihai/issues/3-c.md:3:14
      |
    3 | depends_on: [0, x]
      |              ^ not allowed

    error[work/bad-type]: `depends_on[1]` must be a whole number, not text
    --> .saihai/issues/3-c.md:3:17
      |
    3 | depends_on: [0, x]
      |                 ^ text
      = help: write a whole number, between 1 and 999999999

    error[work/bad-type]: `priority` must be a whole number, not text
    --> .saihai/issues/3-c.md:4:11
      |
    4 | priority: high
      |           ^^^^ text
      = help: write a whole number, between -1000000 and 1000000

    error[work/bad-type]: `id` must be a whole number, not a number
    --> .saihai/issues/3-c.md:5:5
      |
    5 | id: 1.5
      |     ^^^ a number
      = help: write a whole number, between 1 and 999999999

    error[work/missing-key]: `.saihai/issues/4-e.md` has no title
    --> .saihai/issues/4-e.md:2:8
      |
    2 | title: "\u0007 "
      |        ^^^^^^^^^
      = help: add a `# ` heading, or `title:` to its front matter

    error[work/syntax]: this is not valid YAML: while parsing a flow sequence, expected ',' or ']'
    --> .saihai/issues/5-f.md:3:1
      |
    3 | ---
      | ^

    error[work/missing-key]: `.saihai/issues/d.md` has no number
    --> .saihai/issues/d.md
      = help: add `id: 7` to its front matter, or start the file name with it: `007-login.md`

    error[work/missing-key]: `.saihai/issues/d.md` has no title
    --> .saihai/issues/d.md
      = help: add a `# ` heading, or `title:` to its front matter
    "#);
}

#[test]
fn two_files_with_one_number_are_both_named() {
    assert_snapshot!(wrong(&[("07-a.md", "# One"), ("b.md", "---\nid: 7\n---\n# Two")]), @"
    error[work/duplicate-id]: `.saihai/issues/07-a.md` and `.saihai/issues/b.md` are both issue 7
    --> .saihai/issues/b.md:2:5
      |
    2 | id: 7
      |     ^ the second
    ::: .saihai/issues/07-a.md
      = help: give one of them another `id`
    ");
}

// I-15
#[test]
fn links_large_files_and_what_is_not_text_are_refused() {
    let mut source = folder(&[("1.md", "# One")]);
    source.add("/etc/secret", "# Secret");
    source.link("/p/.saihai/issues/2-link.md", "/etc/secret");
    source.link("/p/.saihai/issues/3-nowhere.md", "/nowhere");
    source.link("/p/.saihai/issues/6-folder.md", "/etc");
    source.add("/p/.saihai/issues/4.md", vec![b'#'; 1024 * 1024 + 1]);
    source.add("/p/.saihai/issues/5.md", b"# \xff\n".to_vec());
    assert_snapshot!(load(&source).1, @"
    error[work/bad-file]: `.saihai/issues/2-link.md` is a symbolic link
    --> .saihai/issues/2-link.md
      = help: agents follow the text of an issue; put the file itself into the folder

    error[work/bad-file]: `.saihai/issues/3-nowhere.md` is a symbolic link
    --> .saihai/issues/3-nowhere.md
      = help: agents follow the text of an issue; put the file itself into the folder

    error[work/too-large]: cannot read `.saihai/issues/4.md`: it is larger than 1 MiB
    --> .saihai/issues/4.md

    error[work/syntax]: the file is not UTF-8
    --> .saihai/issues/5.md:1:3
      |
    1 | # �
      |   ^ not a character

    error[work/bad-file]: `.saihai/issues/6-folder.md` is a symbolic link
    --> .saihai/issues/6-folder.md
      = help: agents follow the text of an issue; put the file itself into the folder
    ");
}

#[test]
fn a_folder_that_is_not_there_is_told_with_what_to_do() {
    assert_snapshot!(load(&MemorySource::default()).1, @"
    error[work/missing-file]: cannot read `.saihai/issues`: it does not exist
    --> .saihai/issues
      = help: create the folder, or set `from` or `source` in `[work]`
    ");
}

#[test]
fn an_issue_of_another_repository_is_told_and_not_followed() {
    let (issues, said) = load(&folder(&[("1.md", "# One\n\nDepends on other/repo#12\n")]));
    assert!(issues[0].depends_on.is_empty());
    assert_snapshot!(said, @"
    warning[work/not-followed]: `other/repo#12` is an issue of another repository and is not followed
    --> .saihai/issues/1.md
    ");
}

#[cfg(unix)]
#[test]
fn an_issue_whose_file_has_no_readable_name_is_said_and_not_left_out() {
    use std::os::unix::ffi::OsStrExt as _;
    let mut source = folder(&[("1-a.md", "# A\n")]);
    let name = std::ffi::OsStr::from_bytes(b"7-\xff.md");
    source.add(Path::new("/p/.saihai/issues").join(name), "# B\n");
    assert_snapshot!(load(&source).1, @"
    error[work/bad-file]: the name of `.saihai/issues/7-�.md` is not UTF-8
    --> .saihai/issues/7-�.md
      = help: give the file another name
    ");
}
