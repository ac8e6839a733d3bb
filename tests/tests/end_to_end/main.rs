//! End-to-end tests of the program: arguments in; exit code, output and files out.
//!
//! All suites are one test program, so that it is linked only once. Each suite covers one promise, one dialect
//! or one kind of failure.

mod agents;
mod budgets;
mod crash;
mod damage;
mod drawings;
mod golden;
mod hats;
mod http;
mod input;
mod issues;
mod leaks;
mod limits;
mod manual;
mod many;
mod mutations;
mod order;
mod output;
mod ownership;
mod people;
mod prompts;
mod record;
mod recorded;
mod reports;
mod resume;
mod review;
mod rules;
mod secrets;
mod signals;
mod steps;
mod steps_run;
mod storage;
mod support;
mod waiting;
mod work;
