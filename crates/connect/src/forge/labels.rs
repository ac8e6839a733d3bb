//! Labels by which a forge shows how an issue stands.

use saihai_model::{IssueNumber, StatusLabel};
use serde_json::json;

use super::error::ForgeError;
use super::github::Github;
use super::issues::RawLabel;
use super::pages::encoded;

impl Github {
    /// Shows how an issue stands: it has these labels of ours afterwards, and of those that exclude each other no other.
    /// Labels that are not ours are left alone, and nothing is written where nothing has to change.
    ///
    /// # Errors
    /// See [`ForgeError`]. What was changed before stays changed; the same again makes it whole.
    pub async fn set_status(
        &self,
        number: IssueNumber,
        wanted: &[StatusLabel],
        prefix: &str,
    ) -> Result<(), ForgeError> {
        let what = format!("the labels of issue {number}");
        let path = self.path(&format!("/issues/{}/labels", number.get()));
        let has = self.names(&format!("{path}?per_page=100"), &what).await?;
        let is_there = |name: &str| has.iter().any(|one| one.eq_ignore_ascii_case(name));
        let outdated =
            StatusLabel::ALL.into_iter().filter(|label| label.is_exclusive() && !wanted.contains(label));
        // Taken away first: that none of them stands there for a moment misleads nobody, that two do does.
        for name in outdated.map(|label| label.name(prefix)).filter(|name| is_there(name)) {
            self.delete(&format!("{path}/{}", encoded(&name)), &what).await?;
        }
        let missing: Vec<StatusLabel> =
            wanted.iter().copied().filter(|label| !is_there(&label.name(prefix))).collect();
        if missing.is_empty() {
            return Ok(());
        }
        self.create_labels(&missing, prefix).await?;
        let names: Vec<String> = missing.iter().map(|label| label.name(prefix)).collect();
        let _: Vec<RawLabel> = self.post(&path, &json!({"labels": names}), &what).await?;
        Ok(())
    }

    /// Gives an issue labels and takes others away, whoever they belong to. Nothing is written where nothing has to change.
    ///
    /// # Errors
    /// See [`ForgeError`]. What was changed before stays changed; the same again makes it whole.
    pub async fn change_labels(
        &self,
        number: IssueNumber,
        add: &[String],
        remove: &[String],
    ) -> Result<(), ForgeError> {
        let what = format!("the labels of issue {number}");
        let path = self.path(&format!("/issues/{}/labels", number.get()));
        let has = self.names(&format!("{path}?per_page=100"), &what).await?;
        let is_there = |name: &&String| has.iter().any(|one| one.eq_ignore_ascii_case(name));
        for name in remove.iter().filter(is_there) {
            self.delete(&format!("{path}/{}", encoded(name)), &what).await?;
        }
        let missing: Vec<&String> = add.iter().filter(|name| !is_there(name)).collect();
        if !missing.is_empty() {
            let _: Vec<RawLabel> = self.post(&path, &json!({"labels": missing}), &what).await?;
        }
        Ok(())
    }

    /// Makes those of our labels that the repository does not have.
    async fn create_labels(&self, labels: &[StatusLabel], prefix: &str) -> Result<(), ForgeError> {
        let what = format!("the labels of `{}`", self.repository);
        let known = self.names(&self.path("/labels?per_page=100"), &what).await?;
        for label in labels {
            let name = label.name(prefix);
            if known.iter().any(|one| one.eq_ignore_ascii_case(&name)) {
                continue;
            }
            let body = json!({"name": name, "color": label.colour()});
            let made: Result<RawLabel, ForgeError> = self.post(&self.path("/labels"), &body, &what).await;
            match made {
                // Somebody else was quicker; that is all that was wanted.
                Ok(_) | Err(ForgeError::Refused { status: 422, .. }) => {}
                Err(error) => return Err(error),
            }
        }
        Ok(())
    }

    async fn names(&self, first: &str, what: &str) -> Result<Vec<String>, ForgeError> {
        let labels: Vec<RawLabel> = self.all(first, what).await?;
        Ok(labels.into_iter().map(|label| label.name).collect())
    }
}
