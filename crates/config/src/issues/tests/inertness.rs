use std::sync::LazyLock;

use proptest::prelude::*;
use pulldown_cmark::{Event, Options, Parser, Tag, TagEnd};
use regex::Regex;

use super::super::{inert, inert_excerpt, inert_title};

// I-25
#[test]
fn names_closing_words_comments_and_images_become_code() {
    let check = |text: &str, expected: &str| assert_eq!(inert(text), expected, "{text}");
    check("Closes #1 @admin", "`Closes #1` `@admin`");
    check(
        "fixed: #12, Resolves me/tool#3 and close GH-4",
        "`fixed: #12`, `Resolves me/tool#3` and `close GH-4`",
    );
    check("Fixes https://github.com/me/tool/issues/9.", "`Fixes https://github.com/me/tool/issues/9`.");
    check("Closes <https://github.com/me/tool/pull/9>.", "`Closes <https://github.com/me/tool/pull/9>`.");
    check("Closes [#1](https://x.example)", "`Closes [#1`](https://x.example)");
    check("fixes ([me/tool#1])", "`fixes ([me/tool#1`])");
    check("closes\n#1", "`closes #1`");
    check("ask @me/team-a, not a@b.c", "ask `@me/team-a`, not a`@b`.c");
    check("![pixel](https://x.example/?q=1)", "`![pixel](https://x.example/?q=1)`");
    check("a <!-- hidden --> b", "a `<!-- hidden -->` b");
    check("<img src=x> text", "`<img src=x>` text");
    check("This fixes the login, see #4.", "This fixes the login, see #4.");
    check(
        "It was `Closes #1` before.\n\n```\n@admin\n```\n",
        "It was `Closes #1` before.\n\n```\n@admin\n```\n",
    );
    check("\\@admin &#64;admin", "`\\@admin` `&#64;`admin");
    check("a ` @admin", "a ` ``@admin``");
    check("``\n<!-- x -->``<!-- x -->", "```\n``\n<!-- x -->``<!-- x -->\n```");
    check("x`@admin", "x` ``@admin``");
    check("", "");
}

// Titles are untrusted, and neither a commit nor a pull request title is Markdown.
#[test]
fn a_title_closes_nothing_and_calls_nobody() {
    let check = |text: &str, expected: &str| assert_eq!(inert_title(text), expected, "{text}");
    check("fixes #1 @admin", "fixes # 1 @ admin");
    check("Fixed: me/tool#12 (closes GH-4)", "Fixed: me/tool# 12 (closes GH- 4)");
    check(
        "resolve https://github.com/me/tool/issues/9 now",
        "resolve https://github.com/me/tool/issues/ 9 now",
    );
    check("`closes #1`", "`closes # 1`");
    check("(@me/team) a@b.c", "(@ me/team) a@b.c");
    check("Login fails since #12 was fixed, prefixes #3", "Login fails since #12 was fixed, prefixes #3");
    // Inert text stays unchanged.
    check("fixes # 1 @ admin", "fixes # 1 @ admin");
}

// I-52: excerpts stay short and inert, and the text after them stays text.
#[test]
fn an_excerpt_is_short_also_where_it_grew_and_leaves_nothing_open() {
    let check =
        |text: &str, most: usize, expected: &str| assert_eq!(inert_excerpt(text, most), expected, "{text}");
    check("  Done.\n", 20, "Done.");
    check("Closes #1 @admin", 20, "`Closes #1` `@admin`");
    check("Closes #1 @admin", 19, "`Closes #1` `@adm`…");
    check("`Closes #1 and a lot more` then", 20, "` ``Closes #1`` and…");
    check("See:\n\n```rust\nlet a = 1;\nlet b = 2;\n```\n", 30, "See:\n\n```rust\nlet a = 1;…\n```");
    check("~~~~\nopen", 100, "~~~~\nopen\n~~~~");
    check("- ```\n  open", 100, "- ```\n  open");
    check("@admin", 0, "…");
}

/// Finds remaining triggers outside code.
fn acted_on(text: &str) -> Option<String> {
    static WORDS: LazyLock<Regex> = LazyLock::new(|| {
        Regex::new(r"(?i)@\w|\b(?:close[sd]?|fix(?:e[sd])?|resolve[sd]?)\b[:\s]*#\d").expect("an expression")
    });
    let (mut spoken, mut in_code) = (String::new(), false);
    for event in Parser::new_ext(text, Options::ENABLE_TABLES) {
        match event {
            Event::Start(Tag::CodeBlock(_)) => in_code = true,
            Event::End(TagEnd::CodeBlock) => in_code = false,
            Event::Text(words) if !in_code => spoken.push_str(&words),
            Event::Code(_) => spoken.push('|'),
            Event::SoftBreak | Event::HardBreak => spoken.push('\n'),
            Event::End(TagEnd::Paragraph | TagEnd::Heading(_) | TagEnd::Item) => spoken.push('|'),
            Event::Html(html) | Event::InlineHtml(html) => return Some(html.into_string()),
            Event::Start(Tag::Image { .. }) => return Some("an image".to_owned()),
            _ => {}
        }
    }
    WORDS.find(&spoken).map(|found| found.as_str().to_owned())
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2000))]
    #[test]
    fn nothing_is_left_that_a_forge_acts_on(
        parts in proptest::collection::vec(
            prop_oneof![
                Just("@admin".to_owned()), Just("Closes #1".to_owned()), Just("fixes: #2".to_owned()),
                Just("`".to_owned()), Just("``".to_owned()), Just("\n```\n".to_owned()), Just("\\".to_owned()), Just("\n".to_owned()),
                Just("<!-- x -->".to_owned()), Just("![a](b)".to_owned()), Just("<b>".to_owned()),
                Just("- ".to_owned()), Just(" ".to_owned()), Just("> ".to_owned()), "[a-z*_.]{1,4}",
            ],
            0..10,
        ),
        most in 1..60usize,
    ) {
        let text = parts.concat();
        let made = inert(&text);
        prop_assert_eq!(acted_on(&made), None, "{:?} became {:?}", text, made);
        let excerpt = inert_excerpt(&text.repeat(3), most);
        prop_assert!(excerpt.chars().count() <= most, "{:?} became {:?}", text, excerpt);
        prop_assert_eq!(acted_on(&excerpt), None, "{:?} became {:?}", text, excerpt);
        let followed = format!("{excerpt}\n\n## Changes\n");
        let headings = Parser::new(&followed).filter(|event| *event == Event::Text("Changes".into())).count();
        let is_heading = Parser::new(&followed).any(|event| matches!(event, Event::Start(Tag::Heading { .. })));
        prop_assert!(headings == 1 && is_heading, "{:?} swallows what follows", excerpt);
    }
}
