//! The protocol: which tools there are, calls of tools, and runs as tasks.

use rmcp::ErrorData;
use rmcp::handler::server::ServerHandler;
use rmcp::model::{
    CallToolRequestParams, CallToolResponse, CallToolResult, CancelTaskParams, ContentBlock,
    CreateTaskResult, GetTaskParams, GetTaskResult, Implementation, InputRequests, JsonObject,
    ListToolsResult, PaginatedRequestParams, ServerCapabilities, ServerConfig, Tool, ToolAnnotations,
    UpdateTaskParams,
};
use rmcp::service::{RequestContext, RoleServer, ServiceExt as _};
use rmcp::transport::async_rw::AsyncRwTransport;
use saihai::RunDirectory;
use saihai_config::{McpGateAnswers, nearest};
use serde_json::{Value, json};

use super::arguments::schema;
use super::elicitation::{answer_gate, gate_requests};
use super::run_status::RunStatus;
use super::tools::{McpTool, TOOLS, ToolKind, ToolOutcome, cancel};
use crate::error::CommandError;
use crate::project::Project;

/// The longest message that a client may send. A task of the command line may have 16 MiB.
const LONGEST_MESSAGE: usize = 20 << 20;

const INSTRUCTIONS: &str = "\
Saihai runs coding agents through a written process (a definition), with a journal, budgets and gates for people. \
Call `list_definitions`, then `start_run` with a budget; it returns at once. Poll `get_run` every few seconds until \
`state` is no longer `working`. `input_required` means that a person has to act: show them the commands and stop \
polling. Read results with `read` (report, reply, diff), and the reasons for each transition with `explain`.";

/// Serves the tools on stdin and stdout until the client closes stdin.
pub(crate) async fn serve(gates: McpGateAnswers) -> Result<(), CommandError> {
    let (reader, writer) = rmcp::transport::io::stdio_pipes();
    let transport = AsyncRwTransport::new_server(reader, writer).with_max_line_length(LONGEST_MESSAGE);
    // A client that leaves before it has said anything needs no answer.
    let Ok(service) = SaihaiMcpServer { gates }.serve(transport).await else { return Ok(()) };
    let ended = service.waiting().await;
    ended.map(drop).map_err(|error| CommandError::unavailable(format!("the MCP server stopped: {error}")))
}

struct SaihaiMcpServer {
    gates: McpGateAnswers,
}

impl ServerHandler for SaihaiMcpServer {
    fn get_info(&self) -> ServerConfig {
        let capabilities = ServerCapabilities::builder().enable_tools().enable_tasks().build();
        ServerConfig::new(capabilities)
            .with_server_info(Implementation::new("saihai", env!("CARGO_PKG_VERSION")))
            .with_instructions(INSTRUCTIONS)
    }

    async fn list_tools(
        &self,
        _request: Option<PaginatedRequestParams>,
        _context: RequestContext<RoleServer>,
    ) -> Result<ListToolsResult, ErrorData> {
        Ok(ListToolsResult::with_all_items(TOOLS.iter().map(description).collect()))
    }

    async fn call_tool(
        &self,
        request: CallToolRequestParams,
        context: RequestContext<RoleServer>,
    ) -> Result<CallToolResponse, ErrorData> {
        let tool = McpTool::find(&request.name).ok_or_else(|| unknown_tool(&request.name))?;
        let has_tasks = context.client_capabilities().is_some_and(|client| client.supports_tasks());
        let arguments = request.arguments;
        let is_task = has_tasks && matches!(tool.kind, ToolKind::StartRun | ToolKind::Review);
        let called = blocking(move || {
            Ok(match tool.call(arguments)? {
                ToolOutcome::Answer(answer) => CallToolResult::structured(answer).into(),
                ToolOutcome::Started(run) if is_task => {
                    CreateTaskResult::new(RunStatus::read(&run)?.task()).into()
                }
                ToolOutcome::Started(run) => CallToolResult::structured(started(&run)?).into(),
            })
        })
        .await?;
        Ok(called.unwrap_or_else(|error| refused(&error).into()))
    }

    async fn get_task(
        &self,
        request: GetTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<GetTaskResult, ErrorData> {
        let gates = self.gates;
        let task = blocking(move || {
            let status = RunStatus::read(&task_run(&request.task_id)?)?;
            let mut result = CallToolResult::structured(status.object());
            result.is_error = Some(status.has_failed());
            let requests = match gates {
                McpGateAnswers::Person => InputRequests::new(),
                McpGateAnswers::Elicitation => gate_requests(&status),
            };
            Ok(status.detailed_task(fields(&result), requests))
        });
        let task = task.await?.map_err(|error| no_task(&error))?;
        Ok(GetTaskResult::new(task))
    }

    /// Answers a gate, if the settings allow it. Otherwise answers belong to a person at a terminal or at the page.
    async fn update_task(
        &self,
        request: UpdateTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let gates = self.gates;
        let updated = blocking(move || {
            let run = task_run(&request.task_id)?;
            if gates == McpGateAnswers::Person {
                let error =
                    CommandError::usage("only a person can answer a gate, by `saihai answer` or at the page");
                return Err(
                    error.hint("the setting `mcp.gates = \"elicitation\"` lets clients ask their users")
                );
            }
            answer_gate(&Project::find()?, &run, &request.input_responses)
        });
        updated.await?.map_err(|error| no_task(&error))
    }

    async fn cancel_task(
        &self,
        request: CancelTaskParams,
        _context: RequestContext<RoleServer>,
    ) -> Result<(), ErrorData> {
        let cancelled = blocking(move || cancel(&task_run(&request.task_id)?));
        cancelled.await?.map(drop).map_err(|error| no_task(&error))
    }
}

fn description(tool: &McpTool) -> Tool {
    let annotations = ToolAnnotations::from_raw(
        None,
        Some(tool.only_reads),
        (!tool.only_reads).then_some(tool.kind == ToolKind::CancelRun),
        None,
        Some(!tool.only_reads),
    );
    let described = Tool::new(tool.name, tool.about, schema(tool.parameters));
    described.with_title(tool.title).with_annotations(annotations)
}

/// Performs a call on a thread that may wait.
async fn blocking<T: Send + 'static>(
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Result<Result<T, CommandErrorText>, ErrorData> {
    let work = move || work().map_err(CommandErrorText::of);
    tokio::task::spawn_blocking(work)
        .await
        .map_err(|_| ErrorData::internal_error("this is a bug in Saihai", None))
}

/// The words of an error, which can cross threads.
struct CommandErrorText {
    message: String,
    hints: Vec<String>,
}

impl CommandErrorText {
    fn of(error: CommandError) -> Self {
        let message = error.message().to_owned();
        let hints = match error {
            CommandError::Refused(refusal) => refusal.hints,
            CommandError::ClosedPipe | CommandError::Said(_) => Vec::new(),
        };
        Self { message, hints }
    }

    fn text(&self) -> String {
        let hints = self.hints.iter().map(|hint| format!("\nhelp: {hint}"));
        format!("{}{}", self.message, hints.collect::<String>())
    }
}

/// The agent reads the error and can correct its call.
fn refused(error: &CommandErrorText) -> CallToolResult {
    CallToolResult::error(vec![ContentBlock::text(error.text())])
}

fn unknown_tool(name: &str) -> ErrorData {
    let names = TOOLS.iter().map(|tool| tool.name);
    let near = nearest(name, names).map(|near| format!("; did you mean `{near}`?"));
    ErrorData::invalid_params(format!("there is no tool `{name}`{}", near.unwrap_or_default()), None)
}

fn no_task(error: &CommandErrorText) -> ErrorData {
    ErrorData::invalid_params(error.text(), None)
}

/// Finds the run of a task. Only a run that a client started is a task.
fn task_run(id: &str) -> Result<RunDirectory, CommandError> {
    let no_task = || CommandError::usage(format!("there is no task `{id}`"));
    let runs = Project::find()?.runs();
    let run = runs.find(id).ok().filter(|run| run.id() == id).ok_or_else(no_task)?;
    if run.start()?.origin.mcp_request.is_none() {
        return Err(no_task());
    }
    Ok(run)
}

fn started(run: &RunDirectory) -> Result<Value, CommandError> {
    let task = RunStatus::read(run)?.task();
    Ok(json!({"run": run.id(), "state": task.status, "words": task.status_message, "next": "poll `get_run`"}))
}

fn fields(result: &CallToolResult) -> JsonObject {
    match json!(result) {
        Value::Object(fields) => fields,
        _ => JsonObject::new(),
    }
}
