//! Tests of reading replies.

mod blocks;
mod directives;
mod injections;
mod quoted_text_never_steers;
mod reports;
mod structured_values;
mod tags;
mod whole_replies;
