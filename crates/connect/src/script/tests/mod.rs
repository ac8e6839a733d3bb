mod files;
mod player;
mod programs;
mod replies;
pub(crate) mod say;
mod stage;
mod timing;
