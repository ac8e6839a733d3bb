//! The list of runs, followed on a thread of its own while a browser watches.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, channel};
use std::thread;
use std::time::{Duration, Instant};

use tokio::sync::{oneshot, watch};

use super::model::PageRow;
use super::projects::ServedProjects;
use crate::error::CommandError;
use crate::project::Project;
use crate::quantities;
use crate::watching::FollowedRuns;

/// Interval between two looks at unfinished runs. An owner that dies is noticed after this time.
const LOOK: Duration = Duration::from_millis(250);
/// Interval between two looks for new, deleted and changed finished runs.
const LIST: Duration = Duration::from_secs(1);

/// The rows of all projects, in the order of the page, and errors that concern no single run.
#[derive(Debug, Default, PartialEq)]
pub(super) struct HomeRows {
    pub(super) rows: Vec<PageRow>,
    pub(super) errors: Vec<String>,
}

/// Asks the thread that follows the runs.
pub(super) struct HomeFollower {
    requests: Sender<oneshot::Sender<watch::Receiver<Arc<HomeRows>>>>,
}

impl HomeFollower {
    pub(super) fn start(projects: Arc<ServedProjects>) -> Result<Self, CommandError> {
        let (requests, asked) = channel();
        let follow = move || {
            let runs = FollowedRuns::new(projects.all().iter().map(Project::runs).collect());
            let (published, _) = watch::channel(Arc::default());
            HomeThread { projects, runs, published, errors: Vec::new() }.follow(&asked);
        };
        let started = thread::Builder::new().name("runs".to_owned()).spawn(follow);
        started.map_err(|error| CommandError::unavailable(format!("cannot start a thread: {error}")))?;
        Ok(Self { requests })
    }

    /// Returns the rows as they are now, and as they change. They are followed until the receiver is dropped.
    pub(super) async fn watch(&self) -> Result<watch::Receiver<Arc<HomeRows>>, CommandError> {
        let (reply, rows) = oneshot::channel();
        let gone = || CommandError::unavailable("the list of runs is not available any more");
        self.requests.send(reply).map_err(|_| gone())?;
        rows.await.map_err(|_| gone())
    }
}

struct HomeThread {
    projects: Arc<ServedProjects>,
    runs: FollowedRuns<PageRow>,
    published: watch::Sender<Arc<HomeRows>>,
    /// Projects that the last listing could not read.
    errors: Vec<String>,
}

impl HomeThread {
    /// Follows the runs until the server is gone. Without a watcher it only waits.
    fn follow(mut self, asked: &Receiver<oneshot::Sender<watch::Receiver<Arc<HomeRows>>>>) {
        let mut listed: Option<Instant> = None;
        loop {
            let request = match self.published.receiver_count() {
                0 => asked.recv().map_err(|_| RecvTimeoutError::Disconnected),
                _ => asked.recv_timeout(LOOK),
            };
            let is_due = listed.is_none_or(|at| at.elapsed() >= LIST);
            match request {
                Ok(request) => {
                    self.look(true);
                    listed = Some(Instant::now());
                    // The one who asked may be gone.
                    request.send(self.published.subscribe()).unwrap_or(());
                }
                Err(RecvTimeoutError::Timeout) => {
                    self.look(is_due);
                    listed = if is_due { Some(Instant::now()) } else { listed };
                }
                Err(RecvTimeoutError::Disconnected) => return,
            }
        }
    }

    fn look(&mut self, at_all: bool) {
        if at_all {
            let errors = self.runs.list();
            self.errors = errors.iter().map(|error| error.message().to_owned()).collect();
        }
        self.runs.look(at_all, quantities::now(), |_| {});
        let rows = self.runs.rows().map(|(project, row)| row.clone().located(&self.projects, project));
        let mut home = HomeRows { rows: rows.collect(), errors: self.errors.clone() };
        // A stable sort: within a rank, the newest run stays first.
        home.rows.sort_by_key(PageRow::rank);
        self.published.send_if_modified(|known| {
            let is_new = **known != home;
            if is_new {
                *known = Arc::new(home);
            }
            is_new
        });
    }
}
