//! The connection to a Temporal server. The address and the namespace come from the command; keys and certificates
//! from Temporal's own environment variables and its file.

use std::time::Duration;

use saihai_cli::ServerFailure;
use temporalio_client::Url;
use temporalio_client::envconfig::LoadClientConfigProfileOptions;
use temporalio_client::errors::{ClientConnectError, WorkflowInteractionError};
use temporalio_client::grpc::WorkflowService as _;
use temporalio_client::tonic::{Code, IntoRequest as _, Status};
use temporalio_client::{Client, ClientOptions};
use temporalio_common::protos::temporal::api::workflowservice::v1::DescribeNamespaceRequest;

/// Time to reach a server before the command gives up.
const PATIENCE: Duration = Duration::from_secs(10);

/// Connects, and checks that the namespace exists.
pub(crate) async fn connect(server: &str, namespace: &str) -> Result<Client, ServerFailure> {
    let unreached = |why: String| ServerFailure::NotReached { server: server.to_owned(), why };
    let loaded = ClientOptions::load_from_config(LoadClientConfigProfileOptions::default());
    let (mut connection, mut options) = loaded.map_err(|error| unreached(error.to_string()))?;
    let scheme = if connection.tls_options.is_some() { "https" } else { "http" };
    let address = if server.contains("://") { server.to_owned() } else { format!("{scheme}://{server}") };
    connection.target = Url::parse(&address).map_err(|error| unreached(error.to_string()))?;
    connection.connect_timeout = Some(PATIENCE);
    namespace.clone_into(&mut options.namespace);
    let connecting = tokio::time::timeout(PATIENCE, Client::connect(connection, options)).await;
    let client = connecting
        .map_err(|_| unreached(format!("it did not answer within {} seconds", PATIENCE.as_secs())))?
        .map_err(|error| unreached(why(&error)))?;
    let asked = DescribeNamespaceRequest { namespace: namespace.to_owned(), ..Default::default() };
    let described = client.clone().describe_namespace(asked.into_request()).await;
    match described {
        Ok(_) => Ok(client),
        Err(status) if status.code() == Code::NotFound => {
            Err(ServerFailure::NoNamespace { server: server.to_owned(), namespace: namespace.to_owned() })
        }
        Err(status) => Err(unreached(words(&status))),
    }
}

fn why(error: &ClientConnectError) -> String {
    match error {
        ClientConnectError::SystemInfoCallError(status) => words(status),
        ClientConnectError::TonicTransportError(error) => innermost(error),
        other => other.to_string(),
    }
}

/// Returns the message of the first cause, which names the reason.
fn innermost(error: &dyn std::error::Error) -> String {
    let mut cause = error;
    while let Some(next) = cause.source() {
        cause = next;
    }
    cause.to_string()
}

pub(crate) fn words(status: &Status) -> String {
    match std::error::Error::source(status) {
        Some(source) => innermost(source),
        None => status.message().to_owned(),
    }
}

/// Turns a failed request about a run into words.
pub(crate) fn failure(server: &str, run: &str, error: &WorkflowInteractionError) -> ServerFailure {
    match error {
        WorkflowInteractionError::NotFound(_) => ServerFailure::NoRun { run: run.to_owned() },
        WorkflowInteractionError::Rpc(status) => {
            ServerFailure::NotReached { server: server.to_owned(), why: words(status) }
        }
        other => ServerFailure::NotReached { server: server.to_owned(), why: other.to_string() },
    }
}
