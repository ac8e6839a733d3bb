//! Lists that a forge gives page by page.

use serde::de::DeserializeOwned;

use super::error::ForgeError;
use super::github::Github;

/// More pages than these are no list that anybody made.
const MOST: usize = 1000;

impl Github {
    /// Every item of a list, all pages of it. The address has a query already.
    pub(super) async fn all<T: DeserializeOwned>(
        &self,
        first: &str,
        what: &str,
    ) -> Result<Vec<T>, ForgeError> {
        self.all_of(first, what, |page: Vec<T>| page).await
    }

    /// The same where the list stands inside an object.
    pub(super) async fn all_of<P: DeserializeOwned, T>(
        &self,
        first: &str,
        what: &str,
        items: fn(P) -> Vec<T>,
    ) -> Result<Vec<T>, ForgeError> {
        let mut all = Vec::new();
        let mut address = first.to_owned();
        for _ in 0..MOST {
            let (page, next) = self.look_with_links(&address, what).await?;
            all.extend(items(page));
            match next {
                Some(next) => address = next,
                None => return Ok(all),
            }
        }
        let said = format!("it has more than {MOST} pages");
        Err(ForgeError::Malformed { what: what.to_owned(), field: ".".to_owned(), said })
    }
}

/// The address of the next page in a header such as `<https://…?page=2>; rel="next", <…>; rel="last"`.
pub(super) fn next_of(header: &str) -> Option<String> {
    header.split(',').find_map(|link| {
        let (address, parameters) = link.split_once(';')?;
        let is_next = parameters.split(';').any(|one| one.trim() == "rel=\"next\"");
        let address = address.trim().strip_prefix('<')?.strip_suffix('>')?;
        is_next.then(|| address.to_owned())
    })
}

/// A text as it stands in a query.
pub(super) fn encoded(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'_' | b'.' | b'~' => {
                char::from(byte).to_string()
            }
            byte => format!("%{byte:02X}"),
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_next_page_is_found_among_the_links() {
        let check = |header: &str, expected: Option<&str>| assert_eq!(next_of(header).as_deref(), expected);
        check(
            r#"<https://x/?page=1>; rel="prev", <https://x/?page=3>; rel="next""#,
            Some("https://x/?page=3"),
        );
        check(r#"<https://x/?page=1>; rel="first""#, None);
        check("nonsense", None);
    }

    #[test]
    fn what_stands_in_a_query_means_nothing_there() {
        assert_eq!(encoded("a b&c=計/:"), "a%20b%26c%3D%E8%A8%88%2F%3A");
    }
}
