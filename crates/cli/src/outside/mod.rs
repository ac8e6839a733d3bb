//! External actions of a run, configured by this machine's settings.

mod issues;

use std::sync::Arc;

use saihai::{Driver, Outside};
use saihai_config::{Settings, Use, delivery};
use saihai_connect::Connections;
use saihai_model::Workflow;

use self::issues::Issues;
use crate::diagnostics;
use crate::error::Error;
use crate::issue::Tracker;
use crate::prepared::insist_on_providers;
use crate::project::Project;
use crate::terminal::Streams;

/// Creates the handler of a run's external actions. Returns nothing if the run has none.
pub(crate) async fn reach(
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    with: &Connections,
    streams: &mut Streams,
) -> Result<Option<Arc<dyn Outside>>, Error> {
    if !is_about_issue(workflow) {
        return Ok(None);
    }
    insist_on_providers(workflow, with)?;
    diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
    let tracker = Tracker::of(project, settings, with).await?;
    Ok(Some(Arc::new(Issues::new(tracker, workflow.issue))))
}

/// Creates the handler for a known tracker.
pub(crate) fn with_issues(workflow: &Workflow, tracker: Tracker) -> Option<Arc<dyn Outside>> {
    is_about_issue(workflow).then(|| Arc::new(Issues::new(tracker, workflow.issue)) as Arc<dyn Outside>)
}

/// Returns true if the workflow itself uses an issue. Actions of its delivery do not count.
fn is_about_issue(workflow: &Workflow) -> bool {
    let delivers = delivery::comments(workflow);
    let own = workflow.actions().into_iter().filter(|action| action.does.is_about_issue()).count();
    own > delivers
}

/// Adds the handler to the driver.
pub(crate) fn reaching(driver: Driver, outside: Option<Arc<dyn Outside>>) -> Driver {
    match outside {
        Some(outside) => driver.reaching(outside),
        None => driver,
    }
}
