mod answers;
mod conversations;
mod errors;
mod requests;
mod stopping;
mod support;
