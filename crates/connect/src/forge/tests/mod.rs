mod delivering;
mod reading;
mod tokens;
mod trouble;

use std::sync::Arc;

use saihai_model::{IssueNumber, Millis, RepositoryName};

use super::testing::{ForgeServer, ForgeState};
use super::{ForgeAccess, ForgeAddress, ForgeToken, Github};
use crate::NoTime;

/// A token that must appear nowhere except in its header.
const CANARY: &str = "canary-token-4711";

fn number(number: u64) -> IssueNumber {
    IssueNumber::new(number).expect("a number of an issue")
}

/// Starts a forge with this state, and a client for it.
fn forge(keep: impl FnOnce(&mut ForgeState)) -> (ForgeServer, Github) {
    let mut state = ForgeState::default();
    keep(&mut state);
    let server = ForgeServer::start(state);
    let github = open(&server, Millis::seconds(30));
    (server, github)
}

/// Returns a client with this deadline. Pauses between attempts take no time.
fn open(server: &ForgeServer, deadline: Millis) -> Github {
    let access = ForgeAccess::new(
        ForgeAddress::parse(&server.url()).expect("the loopback"),
        RepositoryName::parse("me/tool").expect("a repository"),
        ForgeToken::new(CANARY).expect("a token"),
    );
    Github::open(ForgeAccess { deadline, clock: Arc::new(NoTime), ..access }).expect("a way to the loopback")
}
