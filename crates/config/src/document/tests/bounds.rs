use super::*;

const DEEP: &str = "error[piece/too-large]: nested more than 100 levels deep";

fn code(text: &str, format: Format) -> String {
    let (document, diagnostics) = read(text.as_bytes(), format);
    assert!(document.is_none(), "{} was read", &text[..text.len().min(20)]);
    diagnostics.lines().next().unwrap_or_default().to_owned()
}

#[test]
fn a_file_over_one_mebibyte_is_refused() {
    // K-37
    assert_snapshot!(code(&"a".repeat(1024 * 1024 + 1), YAML), @"error[piece/too-large]: cannot read `a`: it is larger than 1 MiB");
    let (document, _) = read("a".repeat(1024 * 1024).as_bytes(), YAML);
    assert!(document.is_some());
}

#[test]
fn a_hundred_levels_are_read_and_one_more_is_refused() {
    // K-37
    for format in [YAML, JSON] {
        let nested = |levels: usize| format!("{}{}", "[".repeat(levels), "]".repeat(levels));
        assert!(read(nested(100).as_bytes(), format).0.is_some());
        assert_eq!(code(&nested(101), format), DEEP);
        assert_eq!(code(&"[".repeat(100_000), format), DEEP);
        let objects = "{\"a\":".repeat(100_000);
        assert_eq!(code(&objects, format), DEEP);
    }
    let block: String = (0..200).map(|level| format!("{}a:\n", " ".repeat(level))).collect();
    assert_eq!(code(&block, YAML), DEEP);
    assert_eq!(code(&"- ".repeat(100_000), YAML), DEEP);
    assert_eq!(code(&"? ".repeat(100_000), YAML), DEEP);
}

#[test]
fn toml_as_deep_as_can_be_is_refused() {
    assert_eq!(code(&format!("a = {}", "[".repeat(100_000)), TOML), DEEP);
    assert_eq!(code(&format!("a = {}", "{a=".repeat(100_000)), TOML), DEEP);
    assert_eq!(code(&format!("{}a = 1", "a.".repeat(100_000)), TOML), DEEP);
    assert_eq!(code(&format!("[{}a]", "a.".repeat(100_000)), TOML), DEEP);
    let nested = format!("{{{}a = ", "a.".repeat(50)).repeat(10);
    assert_eq!(code(&format!("a = {nested}"), TOML), DEEP);
    let both = format!("[{}a]\n{}a = 1", "a.".repeat(60), "a.".repeat(60));
    assert_eq!(code(&both, TOML), DEEP);
}

#[test]
fn anchors_that_expand_without_end_are_refused() {
    // P-9, K-37: each line is ten times the previous one.
    let mut bomb = "a0: &a0 [lol, lol]\n".to_owned();
    for level in 1..40 {
        let before = format!("*a{},", level - 1).repeat(10);
        bomb.push_str(&format!("a{level}: &a{level} [{before}]\n"));
    }
    assert_eq!(code(&bomb, YAML), "error[piece/too-large]: larger than 10 MiB once its anchors are expanded");
    let wide = format!("a: &a [{}]\nb: [{}]\n", "x,".repeat(1000), "*a,".repeat(100_000));
    assert_eq!(code(&wide, YAML), "error[piece/too-large]: larger than 10 MiB once its anchors are expanded");
    let text = format!("a: &a \"{}\"\nb: [{}]\n", "x".repeat(1000), "*a,".repeat(11_000));
    assert_eq!(code(&text, YAML), "error[piece/too-large]: larger than 10 MiB once its anchors are expanded");
    assert_eq!(
        code("a: &a [*a]\n", YAML),
        "error[piece/syntax]: this alias is inside its own anchor and would never end"
    );
}

#[test]
fn a_hundred_thousand_aliases_of_little_are_read() {
    let text = format!("a: &a x\nb: [{}]\n", "*a,".repeat(100_000));
    let (document, diagnostics) = read(text.as_bytes(), YAML);
    assert_eq!(diagnostics, "");
    assert_eq!(document.unwrap().root.get("b").unwrap().to_json().as_array().unwrap().len(), 100_000);
}

#[test]
fn aliases_cannot_make_a_document_deeper_than_allowed() {
    let mut text = "a0: &a0 [x]\n".to_owned();
    for level in 1..200 {
        text.push_str(&format!("a{level}: &a{level} [*a{}]\n", level - 1));
    }
    assert_eq!(code(&text, YAML), DEEP);
}
