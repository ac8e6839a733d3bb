//! The forge repository that agents may read.

use saihai_config::{Settings, Use};
use saihai_connect::Connections;
use saihai_connect::forge::{ForgeAddress, ForgePlace};
use saihai_model::{ProviderKind, RepositoryName, Stage, Turn, Workflow};

use crate::diagnostics;
use crate::error::Error;
use crate::project::Project;
use crate::repository::Repository;
use crate::terminal::Streams;

/// Tools that read from the forge.
const LOOKING: [&str; 3] = ["gh_read", "pr_view", "issue_view"];

/// Adds the readable repository to the connections, if a turn has such a tool and Saihai runs it. Saihai sends a
/// token there, so the project's settings must be trusted.
pub(crate) async fn with_forge(
    with: Connections,
    workflow: &Workflow,
    project: &Project,
    settings: &Settings,
    streams: &mut Streams,
) -> Result<Connections, Error> {
    let mut turns = workflow.stages.values().flat_map(Stage::turns);
    if !turns.any(|turn| looks(turn, settings)) {
        return Ok(with);
    }
    diagnostics::insist(&settings.check_trust(&[Use::Work]), settings.strict, streams)?;
    let address = ForgeAddress::parse(&settings.work.api).map_err(|error| {
        Error::usage(error.to_string()).hint("the setting `work.api` or `GITHUB_API_URL` says so")
    })?;
    let remote = Repository::of_project(&project.places.root, &settings.work.remote, &with).await;
    let remote = remote.filter(|remote| remote.is_on_github(&with));
    let named = remote.and_then(|remote| RepositoryName::parse(&remote.name));
    let Some(repository) = settings.work.repo.clone().or(named) else {
        streams.warning(
            "agents cannot look at issues and pull requests: it is not known which repository is meant",
        );
        streams.note("`repo = \"OWNER/NAME\"` in `[work]` says so");
        return Ok(with);
    };
    Ok(Connections { forge: Some(ForgePlace { address, repository }), ..with })
}

/// Returns true if Saihai runs such a tool for the turn. Agent programs bring their own tools.
fn looks(turn: &Turn, settings: &Settings) -> bool {
    let asks = turn.tools.iter().flatten().any(|tool| LOOKING.contains(&tool.as_str()));
    let kind = settings.provider(turn.provider.as_str()).map(|provider| provider.kind);
    asks && matches!(kind, Some(ProviderKind::Anthropic | ProviderKind::Openai))
}
