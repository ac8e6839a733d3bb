#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Language {
    #[default]
    English,
    Japanese,
}

impl Language {
    pub fn name(self) -> &'static str {
        match self {
            Self::English => "en",
            Self::Japanese => "ja",
        }
    }

    pub fn named(name: &str) -> Option<Self> {
        [Self::English, Self::Japanese].into_iter().find(|language| language.name() == name)
    }

    /// Returns the language of a definition: Japanese if any of its texts contains kana.
    pub fn of<'a>(texts: impl IntoIterator<Item = &'a str>) -> Self {
        let japanese = texts.into_iter().any(|text| text.chars().any(is_kana));
        if japanese { Self::Japanese } else { Self::English }
    }
}

/// Matches hiragana and katakana, including half-width forms. Excludes the middle dot, which other
/// languages use too.
fn is_kana(character: char) -> bool {
    matches!(character, '\u{3041}'..='\u{309f}' | '\u{30a1}'..='\u{30fa}' | '\u{30fc}'..='\u{30ff}')
        || matches!(character, '\u{31f0}'..='\u{31ff}' | '\u{ff66}'..='\u{ff9f}')
}

#[cfg(test)]
mod tests {
    use super::Language;

    // DESIGN section 7
    #[test]
    fn kana_anywhere_makes_a_definition_japanese() {
        let check =
            |texts: &[&str], expected| assert_eq!(Language::of(texts.iter().copied()), expected, "{texts:?}");
        check(&["plan", "実装"], Language::English);
        check(&["plan", "実装する"], Language::Japanese);
        check(&["ﾃｽﾄ"], Language::Japanese);
        check(&["中文・原因"], Language::English);
        check(&[], Language::English);
    }
}
