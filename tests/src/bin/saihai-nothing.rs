//! A program that does nothing, to measure the cost of starting any program.

fn main() {}
