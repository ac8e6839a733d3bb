mod answers;
mod conversations;
mod errors;
mod requests;
mod server;
mod stopping;
mod support;
