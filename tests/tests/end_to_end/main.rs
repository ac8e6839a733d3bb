//! Saihai as a person or a script meets it: arguments in; exit code, output and files out.
//!
//! One program, so that it is linked once. Each suite is one promise, one dialect or one kind of trouble.

mod crash;
mod damage;
mod golden;
mod input;
mod limits;
mod manual;
mod output;
mod ownership;
mod people;
mod reports;
mod resume;
mod rules;
mod signals;
mod storage;
mod support;
