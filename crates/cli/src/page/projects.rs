//! The projects of a page, and the addresses of their runs.

use saihai::RunDirectory;
use sha2::{Digest as _, Sha256};

use super::model::ProjectName;
use crate::error::CommandError;
use crate::project::Project;

/// The projects that a page shows. Runs of two projects can have the same id, so with several projects the address of a
/// run ends with a tag of its project: `20260206-085600-fix@3f9a1c`.
pub(super) struct ServedProjects {
    projects: Vec<Project>,
    /// One tag per project; none for a single project.
    tags: Vec<String>,
}

impl ServedProjects {
    pub(super) fn new(projects: Vec<Project>) -> Self {
        let is_several = projects.len() > 1;
        let tags = projects.iter().filter(|_| is_several).map(tag).collect();
        Self { projects, tags }
    }

    pub(super) fn all(&self) -> &[Project] {
        &self.projects
    }

    pub(super) fn names(&self) -> Vec<ProjectName> {
        let names = self.projects.iter().map(|project| {
            let root = &project.places.root;
            let name = root.file_name().unwrap_or(root.as_os_str());
            ProjectName { name: name.to_string_lossy().into_owned(), path: root.display().to_string() }
        });
        names.collect()
    }

    /// Returns the address of a run of a project.
    pub(super) fn address(&self, project: usize, run: &str) -> String {
        match self.tags.get(project) {
            Some(tag) => format!("{run}@{tag}"),
            None => run.to_owned(),
        }
    }

    /// Finds a run by its address, or by any name that `saihai show` accepts.
    pub(super) fn find(&self, address: &str) -> Result<(usize, RunDirectory), CommandError> {
        let tagged = address.rsplit_once('@').and_then(|(run, tag)| {
            let project = self.tags.iter().position(|one| one == tag)?;
            Some((project, run))
        });
        if let Some((project, run)) = tagged {
            return Ok((project, self.projects[project].runs().find(run)?));
        }
        let mut last = CommandError::usage("no project");
        for (index, project) in self.projects.iter().enumerate() {
            match project.runs().find(address) {
                Ok(directory) => return Ok((index, directory)),
                Err(error) => last = error.into(),
            }
        }
        Err(last)
    }
}

/// Returns a short name for a project that stays the same from one start of the page to the next.
fn tag(project: &Project) -> String {
    let hash = Sha256::digest(project.places.root.as_os_str().as_encoded_bytes());
    hash.iter().take(4).map(|byte| format!("{byte:02x}")).collect()
}
