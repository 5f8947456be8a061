//! The `armshield` command.

fn main() {}
