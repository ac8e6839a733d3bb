//! `saihai serve`: answers the requests of browsers on this machine.

use std::io::Read as _;
use std::net::{IpAddr, Ipv4Addr, SocketAddr};
use std::sync::Arc;
use std::time::Duration;

use axum::body::Body;
use axum::extract::{Path, Query, Request, State};
use axum::http::header::{
    CACHE_CONTROL, CONTENT_DISPOSITION, CONTENT_SECURITY_POLICY, CONTENT_TYPE, LOCATION, REFERRER_POLICY,
    SET_COOKIE, X_CONTENT_TYPE_OPTIONS, X_FRAME_OPTIONS,
};
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode};
use axum::middleware::{self, Next};
use axum::response::sse::{KeepAlive, Sse};
use axum::response::{IntoResponse, Response};
use axum::routing::{get, post};
use axum::{Json, Router};
use saihai::{GateAnswer, LoadedRun, RunDirectory};
use saihai_model::{CallId, ExitStatus};
use serde::{Deserialize, Serialize};
use tokio::net::TcpListener;

use super::access::{PageAccess, Refusal};
use super::home::{HomeFollower, HomeRows};
use super::metrics;
use super::model::{
    BatchPage, CallTexts, HomePage, PAGE_VERSION, PageReply, ReportText, RunChanges, RunPage, SearchPage,
};
use super::projects::ServedProjects;
use super::stream::{self, StreamedRun};
use super::texts::{WholeCallText, find_call, open_whole, saved_report_text};
use crate::driving::Signals;
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::watching::{ProjectRun, WatchedRun, steering};

pub(super) const SCRIPT: &str = include_str!("../../page/dist/app.js");
pub(super) const STYLES: &str = include_str!("../../page/dist/app.css");
const INDEX: &str = include_str!("../../page/dist/index.html");
const ICON: &str = include_str!("../../page/dist/icon.svg");

/// The choices on the command line.
pub(crate) struct PageOptions {
    pub(crate) projects: Vec<Project>,
    pub(crate) host: IpAddr,
    /// Port; without one, [`USUAL_PORT`] or any free port.
    pub(crate) port: Option<u16>,
    pub(crate) read_only: bool,
}

/// The port of the page, if it is free.
const USUAL_PORT: u16 = 7247;

struct PageServer {
    access: PageAccess,
    projects: Arc<ServedProjects>,
    home: HomeFollower,
    read_only: bool,
}

type Server = State<Arc<PageServer>>;

/// Makes links to a page while it is served.
pub(crate) struct PageLinks(Arc<PageServer>);

impl PageLinks {
    /// Makes a link that works once. The link before it works no more.
    pub(crate) fn new_link(&self) -> Result<String, CommandError> {
        self.0.access.new_link().map_err(|error| no_secrets(&error))
    }

    /// Returns the part of a link that opens a run of a project.
    pub(crate) fn fragment(&self, run: &ProjectRun) -> String {
        let roots = self.0.projects.all().iter().map(|project| &project.places.root);
        let project = roots.into_iter().position(|root| *root == run.root).unwrap_or(usize::MAX);
        format!("#/run/{}", self.0.projects.address(project, &run.id))
    }
}

/// Serves the page until a signal asks to stop. Calls `ready` when it can be opened.
pub(crate) async fn serve(
    options: PageOptions,
    ready: impl FnOnce(PageLinks) -> Result<(), CommandError>,
) -> Result<ExitStatus, CommandError> {
    let mut signals = Signals::listen()?;
    let listener = listen(options.host, options.port).await?;
    let address = listener.local_addr()?;
    let projects = Arc::new(ServedProjects::new(options.projects));
    let server = Arc::new(PageServer {
        access: access(address)?,
        home: HomeFollower::start(Arc::clone(&projects))?,
        projects,
        read_only: options.read_only,
    });
    ready(PageLinks(Arc::clone(&server)))?;
    let routes = routes(server);
    tokio::select! {
        ended = axum::serve(listener, routes) => {
            ended.map_err(|error| CommandError::unavailable(format!("the page cannot be served: {error}")))?;
        }
        _ = signals.next() => {}
    }
    Ok(ExitStatus::Done)
}

async fn listen(host: IpAddr, port: Option<u16>) -> Result<TcpListener, CommandError> {
    let bind = |port: u16| TcpListener::bind(SocketAddr::new(host, port));
    let bound = match port {
        Some(port) => bind(port).await,
        None => match bind(USUAL_PORT).await {
            Ok(listener) => Ok(listener),
            Err(_) => bind(0).await,
        },
    };
    bound.map_err(|error| {
        let port = port.map(|port| format!(" port {port}")).unwrap_or_default();
        let error = CommandError::unavailable(format!("cannot listen on {host}{port}: {error}"));
        error.hint("choose another port with `--port`")
    })
}

fn access(address: SocketAddr) -> Result<PageAccess, CommandError> {
    let ip = match address.ip() {
        IpAddr::V6(ip) => format!("[{ip}]"),
        IpAddr::V4(ip) => ip.to_string(),
    };
    let mut hosts = vec![ip.as_str()];
    if address.ip() == IpAddr::V4(Ipv4Addr::LOCALHOST) {
        hosts.push("localhost");
    }
    let made = PageAccess::new(&hosts, address.port());
    made.map_err(|error| no_secrets(&error))
}

fn no_secrets(error: &getrandom::Error) -> CommandError {
    CommandError::unavailable(format!("no random numbers for the link: {error}"))
}

fn routes(server: Arc<PageServer>) -> Router {
    let data = Router::new()
        .route("/api/home", get(home))
        .route("/api/batch", get(batch))
        .route("/api/search", get(search))
        .route("/api/events", get(events))
        .route("/api/runs/{run}", get(run))
        .route("/api/runs/{run}/calls/{call}", get(call))
        .route("/api/runs/{run}/calls/{call}/whole/{text}", get(whole_text))
        .route("/api/runs/{run}/reports/{seq}", get(report))
        .route("/api/runs/{run}/changes", get(changes))
        .route("/api/runs/{run}/answer", post(answer))
        .route("/api/runs/{run}/tell", post(tell))
        .route("/api/runs/{run}/withdraw", post(withdraw))
        .route("/api/runs/{run}/cancel", post(cancel))
        .route("/api/runs/{run}/resume", post(resume))
        .route("/api/runs/{run}/fork", post(fork))
        .layer(middleware::from_fn_with_state(Arc::clone(&server), insist_on_session));
    Router::new()
        .route("/", get(index))
        .route("/app.js", get(|| async { text("text/javascript; charset=utf-8", SCRIPT) }))
        .route("/app.css", get(|| async { text("text/css; charset=utf-8", STYLES) }))
        .route("/icon.svg", get(|| async { text("image/svg+xml", ICON) }))
        // Figures only, and no texts: a program that collects metrics has no cookie.
        .route("/metrics", get(figures))
        .merge(data)
        .fallback(|| async { refused(StatusCode::NOT_FOUND, "there is no such page") })
        .layer(middleware::from_fn_with_state(Arc::clone(&server), insist_on_own_address))
        .with_state(server)
}

/// Refuses foreign addresses, and says how a browser has to treat the answer.
async fn insist_on_own_address(State(server): Server, request: Request, next: Next) -> Response {
    let mut response = match server.access.check_address(request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(refusal.status(), refusal.words()),
    };
    let policy = "default-src 'self'; img-src 'self' data:; object-src 'none'; base-uri 'none'; \
                  form-action 'none'; frame-ancestors 'none'";
    let headers = response.headers_mut();
    for (name, value) in [
        (CONTENT_SECURITY_POLICY, policy),
        (X_CONTENT_TYPE_OPTIONS, "nosniff"),
        (X_FRAME_OPTIONS, "DENY"),
        (REFERRER_POLICY, "no-referrer"),
        (CACHE_CONTROL, "no-store"),
        (HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
        (HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
    ] {
        headers.insert(name, HeaderValue::from_static(value));
    }
    response
}

async fn insist_on_session(State(server): Server, request: Request, next: Next) -> Response {
    match server.access.check_session(request.method(), request.headers()) {
        Ok(()) => next.run(request).await,
        Err(refusal) => refused(refusal.status(), refusal.words()),
    }
}

fn refused(status: StatusCode, words: &str) -> Response {
    let reply = PageReply { is_done: false, words: words.to_owned(), run: None };
    (status, Json(reply)).into_response()
}

fn text(kind: &'static str, text: &'static str) -> Response {
    ([(CONTENT_TYPE, kind)], text).into_response()
}

/// Reads or changes files on a thread that may wait.
async fn blocking<T: Serialize + Send + 'static>(
    error_status: StatusCode,
    work: impl FnOnce() -> Result<T, CommandError> + Send + 'static,
) -> Response {
    match tokio::task::spawn_blocking(work).await {
        Ok(Ok(value)) => Json(value).into_response(),
        Ok(Err(error)) => refused(error_status, error.message()),
        Err(_) => refused(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug in Saihai"),
    }
}

#[derive(Deserialize)]
struct IndexQuery {
    token: Option<String>,
}

/// Shows the page, or turns the token of the link into a cookie.
async fn index(State(server): Server, Query(query): Query<IndexQuery>, headers: HeaderMap) -> Response {
    let has_session = server.access.has_session(&headers);
    match query.token.as_deref().map(|token| server.access.redeem(token)) {
        None if has_session => text("text/html; charset=utf-8", INDEX),
        Some(Some(cookie)) => {
            (StatusCode::SEE_OTHER, [(LOCATION, "/".to_owned()), (SET_COOKIE, cookie)]).into_response()
        }
        Some(None) if has_session => (StatusCode::SEE_OTHER, [(LOCATION, "/")]).into_response(),
        None | Some(None) => {
            let words = Refusal::NoSession.words();
            (StatusCode::UNAUTHORIZED, [(CONTENT_TYPE, "text/plain; charset=utf-8")], format!("{words}\n"))
                .into_response()
        }
    }
}

impl PageServer {
    /// Finds a run, with the project that it belongs to.
    fn find(&self, run: &str) -> Result<(&Project, RunDirectory), CommandError> {
        let (project, directory) = self.projects.find(run)?;
        Ok((&self.projects.all()[project], directory))
    }

    async fn home_rows(&self) -> Result<Arc<HomeRows>, CommandError> {
        let rows = self.home.watch().await?;
        let rows = Arc::clone(&rows.borrow());
        Ok(rows)
    }
}

async fn home(State(server): Server) -> Response {
    let home = match server.home_rows().await {
        Ok(home) => home,
        Err(error) => return refused(StatusCode::SERVICE_UNAVAILABLE, error.message()),
    };
    let page = HomePage {
        version: PAGE_VERSION,
        projects: server.projects.names(),
        read_only: server.read_only,
        runs: home.rows.clone(),
        errors: home.errors.clone(),
    };
    Json(page).into_response()
}

async fn figures(State(server): Server) -> Response {
    match server.home_rows().await {
        Ok(home) => ([(CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")], metrics::text(&home.rows))
            .into_response(),
        Err(error) => refused(StatusCode::SERVICE_UNAVAILABLE, error.message()),
    }
}

async fn batch(State(server): Server) -> Response {
    blocking(StatusCode::SERVICE_UNAVAILABLE, move || BatchPage::of(&server.projects)).await
}

#[derive(Deserialize)]
struct SearchQuery {
    #[serde(default)]
    q: String,
}

async fn search(State(server): Server, Query(query): Query<SearchQuery>) -> Response {
    blocking(StatusCode::SERVICE_UNAVAILABLE, move || SearchPage::of(&server.projects, &query.q)).await
}

async fn run(State(server): Server, Path(run): Path<String>) -> Response {
    blocking(StatusCode::NOT_FOUND, move || {
        let (project, directory) = server.projects.find(&run)?;
        let mut watched = WatchedRun::open(&directory)?;
        let question = watched.question().cloned();
        let page = RunPage::of(&watched.run, question.as_ref(), quantities::now())?;
        Ok(page.located(&server.projects, project))
    })
    .await
}

async fn call(State(server): Server, Path((run, call)): Path<(String, String)>) -> Response {
    blocking(StatusCode::NOT_FOUND, move || {
        let mut watched = WatchedRun::open(&server.find(&run)?.1)?;
        watched.look()?;
        CallTexts::of(&watched.run, find_call(&watched.run, &call)?, &watched.live)
    })
    .await
}

/// Sends a text whole, as a file. Only a few parts of it are in memory at a time.
async fn whole_text(
    State(server): Server,
    Path((run, call, text)): Path<(String, String, WholeCallText)>,
) -> Response {
    let opened = tokio::task::spawn_blocking(move || {
        let run = LoadedRun::read(&server.find(&run)?.1)?;
        open_whole(&run, find_call(&run, &call)?, text)
    });
    let mut file = match opened.await {
        Ok(Ok(file)) => file,
        Ok(Err(error)) => return refused(StatusCode::NOT_FOUND, error.message()),
        Err(_) => return refused(StatusCode::INTERNAL_SERVER_ERROR, "this is a bug in Saihai"),
    };
    let (parts, queue) = tokio::sync::mpsc::channel::<std::io::Result<Vec<u8>>>(4);
    tokio::task::spawn_blocking(move || {
        loop {
            let mut part = vec![0; 64 * 1024];
            let read = file.read(&mut part).map(|bytes| {
                part.truncate(bytes);
                part
            });
            let is_last = read.as_ref().map_or(true, Vec::is_empty);
            // A browser that is gone needs no more.
            if parts.blocking_send(read).is_err() || is_last {
                return;
            }
        }
    });
    let stream = futures_util::stream::unfold(queue, |mut queue| async {
        let part = queue.recv().await?;
        Some((part, queue))
    });
    let name = match text {
        WholeCallText::Prompt => "attachment; filename=\"prompt.txt\"",
        WholeCallText::Reply => "attachment; filename=\"reply.txt\"",
    };
    let headers = [(CONTENT_TYPE, "text/plain; charset=utf-8"), (CONTENT_DISPOSITION, name)];
    (headers, Body::from_stream(stream)).into_response()
}

#[derive(Deserialize)]
struct ReportQuery {
    file: String,
}

async fn report(
    State(server): Server,
    Path((run, seq)): Path<(String, u64)>,
    Query(query): Query<ReportQuery>,
) -> Response {
    blocking(StatusCode::NOT_FOUND, move || -> Result<ReportText, CommandError> {
        saved_report_text(&LoadedRun::read(&server.find(&run)?.1)?, &query.file, seq)
    })
    .await
}

async fn changes(State(server): Server, Path(run): Path<String>) -> Response {
    blocking(StatusCode::NOT_FOUND, move || {
        let (project, directory) = server.find(&run)?;
        RunChanges::of(&LoadedRun::read(&directory)?, project)
    })
    .await
}

#[derive(Deserialize)]
struct EventsQuery {
    run: Option<String>,
    #[serde(default)]
    since: u64,
}

async fn events(State(server): Server, Query(query): Query<EventsQuery>, headers: HeaderMap) -> Response {
    let home = match server.home.watch().await {
        Ok(home) => home,
        Err(error) => return refused(StatusCode::SERVICE_UNAVAILABLE, error.message()),
    };
    // A browser that comes back names the last event that it has.
    let last = headers.get("last-event-id").and_then(|id| id.to_str().ok()?.parse().ok());
    let run = match query.run {
        None => None,
        Some(run) => match server.projects.find(&run) {
            Ok((project, directory)) => {
                let projects = Arc::clone(&server.projects);
                Some(StreamedRun { directory, projects, project, since: last.unwrap_or(query.since) })
            }
            Err(error) => return refused(StatusCode::NOT_FOUND, error.message()),
        },
    };
    let keep_alive = KeepAlive::new().interval(Duration::from_secs(15));
    Sse::new(stream::follow(home, run)).keep_alive(keep_alive).into_response()
}

/// Performs a request of a person.
async fn act<F>(server: Arc<PageServer>, run: String, action: F) -> Response
where
    F: FnOnce(&Project, &RunDirectory) -> Result<(String, Option<String>), CommandError> + Send + 'static,
{
    if server.read_only {
        return refused(StatusCode::FORBIDDEN, "the page was started with `--read-only`");
    }
    blocking(StatusCode::CONFLICT, move || {
        let (index, directory) = server.projects.find(&run)?;
        let (words, new) = action(&server.projects.all()[index], &directory)?;
        let run = new.map(|new| server.projects.address(index, &new));
        Ok(PageReply { is_done: true, words, run })
    })
    .await
}

#[derive(Deserialize)]
struct AnswerRequest {
    call: String,
    yes: Option<bool>,
    text: Option<String>,
}

async fn answer(
    State(server): Server,
    Path(run): Path<String>,
    Json(asked): Json<AnswerRequest>,
) -> Response {
    act(server, run, move |_, directory| {
        let no_call = || CommandError::usage(format!("there is no call `{}`", asked.call));
        let call = CallId::parse(&asked.call).ok_or_else(no_call)?;
        let text = asked.text.filter(|text| !text.trim().is_empty());
        let answer = match (asked.yes, text) {
            (Some(true), text) => GateAnswer::Yes(text),
            (Some(false), text) => GateAnswer::No(text),
            (None, Some(text)) => GateAnswer::Text(text),
            (None, None) => return Err(CommandError::usage("the answer is empty")),
        };
        Ok((steering::answer_gate(directory, &call, answer)?, None))
    })
    .await
}

#[derive(Deserialize)]
struct TellRequest {
    text: String,
    stage: Option<String>,
    #[serde(default)]
    now: bool,
}

async fn tell(State(server): Server, Path(run): Path<String>, Json(asked): Json<TellRequest>) -> Response {
    act(server, run, move |_, directory| {
        Ok((steering::tell(directory, asked.text, asked.stage.as_deref(), asked.now)?, None))
    })
    .await
}

#[derive(Deserialize)]
struct WithdrawRequest {
    note: u32,
}

async fn withdraw(
    State(server): Server,
    Path(run): Path<String>,
    Json(asked): Json<WithdrawRequest>,
) -> Response {
    act(server, run, move |_, directory| Ok((steering::withdraw(directory, asked.note)?, None))).await
}

async fn cancel(State(server): Server, Path(run): Path<String>) -> Response {
    act(server, run, |_, directory| Ok((steering::cancel(directory)?, None))).await
}

#[derive(Deserialize)]
struct ResumeRequest {
    budget: Option<String>,
    max_iterations: Option<u32>,
}

async fn resume(
    State(server): Server,
    Path(run): Path<String>,
    Json(asked): Json<ResumeRequest>,
) -> Response {
    act(server, run, move |project, directory| {
        let budget = asked.budget.filter(|budget| !budget.trim().is_empty());
        let mut flags: Vec<String> = Vec::new();
        flags.extend(budget.into_iter().flat_map(|budget| ["--budget".to_owned(), budget]));
        let most = asked.max_iterations.map(|most| ["--max-iterations".to_owned(), most.to_string()]);
        flags.extend(most.into_iter().flatten());
        Ok((steering::resume(project, directory, &flags)?, None))
    })
    .await
}

#[derive(Deserialize)]
struct ForkRequest {
    at: Option<u64>,
}

async fn fork(State(server): Server, Path(run): Path<String>, Json(asked): Json<ForkRequest>) -> Response {
    act(server, run, move |project, directory| {
        let (words, new) = steering::fork(project, directory, asked.at)?;
        Ok((words, Some(new)))
    })
    .await
}
