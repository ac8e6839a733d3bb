mod delivering;
mod reading;
mod tokens;
mod trouble;

use std::sync::Arc;

use saihai_model::{IssueNumber, Millis, RepositoryName};

use super::testing::{ForgeServer, ForgeState};
use super::{ForgeAccess, ForgeAddress, ForgeToken, Github};
use crate::NoTime;

/// A token that must be seen nowhere but in its header.
const CANARY: &str = "canary-token-4711";

fn number(number: u64) -> IssueNumber {
    IssueNumber::new(number).expect("a number of an issue")
}

/// A forge that keeps what it is told, and the way to it.
fn forge(keep: impl FnOnce(&mut ForgeState)) -> (ForgeServer, Github) {
    let mut state = ForgeState::default();
    keep(&mut state);
    let server = ForgeServer::start(state);
    let github = open(&server, Millis::seconds(30));
    (server, github)
}

/// The way to a forge whose answers may take so long. Between attempts no time passes.
fn open(server: &ForgeServer, deadline: Millis) -> Github {
    let access = ForgeAccess::new(
        ForgeAddress::parse(&server.url()).expect("the loopback"),
        RepositoryName::parse("me/tool").expect("a repository"),
        ForgeToken::new(CANARY).expect("a token"),
    );
    Github::open(ForgeAccess { deadline, clock: Arc::new(NoTime), ..access }).expect("a way to the loopback")
}
