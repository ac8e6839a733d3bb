//! End-to-end tests of the program: arguments in; exit code, output and files out.
//!
//! All suites are one test program, so that it is linked only once. Each suite covers one promise, one dialect
//! or one kind of failure.

mod agents;
mod bad_input;
mod budgets;
mod command_line;
mod convergence;
mod crash;
mod damage;
mod drawings;
mod gates;
mod golden;
mod hats;
mod http;
mod issues;
mod journal_reads;
mod leaks;
mod limits;
mod manual;
mod mcp;
mod mutations;
mod output;
mod ownership;
mod programs;
mod prompts;
mod record;
mod recorded_agents;
mod reports;
mod resume;
mod review;
mod rules;
mod sandbox;
mod secrets;
mod serve;
mod signals;
mod steering;
mod steps;
mod steps_run;
mod storage;
mod support;
mod telemetry;
mod thousand_runs;
mod top;
mod waiting;
mod work;
mod write_order;
