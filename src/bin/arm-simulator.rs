//! The `arm-simulator` command.

fn main() {}
