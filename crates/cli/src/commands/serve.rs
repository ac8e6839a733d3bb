//! `saihai serve`: the page.

use std::net::{IpAddr, Ipv4Addr};
use std::path::PathBuf;
use std::process::{Command, Stdio};

use clap::Args;
use saihai_model::ExitStatus;
use serde::Serialize;

use crate::driving::block_on;
use crate::error::CommandError;
use crate::known_projects::KnownProjects;
use crate::page::{PageOptions, serve};
use crate::project::Project;
use crate::terminal::Streams;

/// Show all runs in the browser: watch, answer and steer them
#[derive(Debug, Args)]
#[command(after_help = "\
Prints a link that works once. The page shows the runs of all processes and stops none when it ends.
Only browsers on this machine can open it, unless `--host` says otherwise.

Examples:
  saihai serve --open
  saihai serve --all
  saihai serve --projects ~/work/api ~/work/web
  saihai serve --port 8080 --read-only")]
pub(crate) struct ServeCommand {
    /// Port to listen on [default: 7247, or a free one]
    #[arg(long, value_name = "N")]
    port: Option<u16>,

    /// Open the page in the browser
    #[arg(long)]
    open: bool,

    /// Show the runs of these projects instead of this one
    #[arg(long, value_name = "DIR", num_args = 1..)]
    projects: Vec<PathBuf>,

    /// Show the runs of all projects on this machine
    #[arg(long, conflicts_with = "projects")]
    all: bool,

    /// Only show runs: refuse answers, notes and other requests
    #[arg(long)]
    read_only: bool,

    /// Listen on this address; everybody who can reach it and has the link can use the page
    #[arg(long, value_name = "ADDRESS", default_value_t = IpAddr::V4(Ipv4Addr::LOCALHOST))]
    host: IpAddr,

    /// Print the link as a JSON object
    #[arg(long)]
    json: bool,
}

#[derive(Serialize)]
struct ServingObject<'a> {
    url: &'a str,
}

impl ServeCommand {
    pub(crate) fn execute(self, streams: &mut Streams) -> Result<ExitStatus, CommandError> {
        let projects = self.found_projects()?;
        for project in projects.iter().filter(|_| !self.read_only) {
            let refused = project.insist_on_person("only a person can answer runs in the page");
            refused.map_err(|error| error.hint("`--read-only` is allowed here"))?;
        }
        let options = PageOptions { projects, host: self.host, port: self.port, read_only: self.read_only };
        if !self.host.is_loopback() {
            streams.warning("the page is not encrypted: everybody who listens on the network can read it");
        }
        block_on(serve(options, |links| {
            let link = links.new_link()?;
            if self.json {
                streams.out.json("serving", ServingObject { url: &link })?;
            } else {
                streams.out.data(&link)?;
                streams.note("open this link in a browser; press Ctrl-C to stop the page, not the runs");
            }
            streams.out.flush()?;
            if self.open && !open_browser(&link) {
                streams.warning("no browser could be started");
            }
            Ok(())
        }))
    }

    fn found_projects(&self) -> Result<Vec<Project>, CommandError> {
        if self.all {
            let roots = KnownProjects::of_user_or_error()?.roots();
            return roots.iter().map(|root| Project::find_at(root)).collect();
        }
        if self.projects.is_empty() {
            return Ok(vec![Project::find()?]);
        }
        let found = self.projects.iter().map(|directory| {
            if !directory.is_dir() {
                let shown = directory.display();
                return Err(CommandError::usage(format!("`{shown}` is not a directory")));
            }
            Project::find_from(Some(directory))
        });
        found.collect()
    }
}

/// Opens the link in the user's browser.
pub(crate) fn open_browser(link: &str) -> bool {
    let program = if cfg!(target_os = "macos") { "open" } else { "xdg-open" };
    let mut command = Command::new(program);
    command.arg(link).stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null());
    match command.spawn() {
        Ok(mut child) => {
            // Its exit status has to be collected.
            std::thread::spawn(move || child.wait().is_ok());
            true
        }
        Err(_) => false,
    }
}
