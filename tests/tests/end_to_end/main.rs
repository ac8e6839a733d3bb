//! Saihai as a person or a script meets it: arguments in; exit code, output and files out.
//!
//! One program, so that it is linked once. Each suite is one promise, one dialect or one kind of trouble.

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
