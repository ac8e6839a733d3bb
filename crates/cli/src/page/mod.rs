//! The page: runs in a browser, served by `saihai serve` or saved in one file by `saihai show --html`.
//!
//! [`model`] is what the page shows, as data; `row`, `run_page`, `texts`, `batch` and `search` make it from the views
//! of runs. [`server`] answers requests, [`access`] decides who may make them, and [`stream`] sends changes. The part
//! in the browser is in `page/`, next to `src/`; its built files are embedded.
//!
//! The server holds no state of runs that the files do not have, drives no run and takes no lock. Requests of a person
//! take the path of the commands (`watching::steering`).

mod access;
mod batch;
mod home;
mod metrics;
pub(crate) mod model;
mod projects;
mod row;
mod run_page;
mod saved;
mod search;
mod server;
mod stream;
mod texts;

#[cfg(test)]
mod tests;

pub(crate) use saved::{SavedPageOptions, saved_page};
pub(crate) use server::{PageLinks, PageOptions, serve};
