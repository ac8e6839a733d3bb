//! Parses arguments as strictly as the real programs do.

use std::collections::BTreeMap;

pub(crate) struct Grammar {
    pub(crate) alone: &'static [&'static str],
    pub(crate) valued: &'static [&'static str],
}

#[derive(Debug, Default)]
pub(crate) struct Given {
    pub(crate) flags: Vec<String>,
    pub(crate) values: BTreeMap<String, String>,
    pub(crate) rest: Vec<String>,
}

impl Given {
    pub(crate) fn value(&self, flag: &str) -> Option<&str> {
        self.values.get(flag).map(String::as_str)
    }
}

impl Grammar {
    pub(crate) fn read(&self, words: &[String]) -> Result<Given, String> {
        let mut given = Given::default();
        let mut words = words.iter();
        while let Some(word) = words.next() {
            let inline = word.split_once('=').filter(|(flag, _)| self.valued.contains(flag));
            if let Some((flag, value)) = inline {
                given.values.insert(flag.to_owned(), value.to_owned());
            } else if self.alone.contains(&word.as_str()) {
                given.flags.push(word.clone());
            } else if self.valued.contains(&word.as_str()) {
                let value = words.next().ok_or_else(|| word.clone())?;
                given.values.insert(word.clone(), value.clone());
            } else if word.starts_with('-') && word != "-" {
                return Err(word.clone());
            } else {
                given.rest.push(word.clone());
            }
        }
        Ok(given)
    }
}
