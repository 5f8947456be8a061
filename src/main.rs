//! The `armshield` command.

use std::process::ExitCode;

fn main() -> ExitCode {
    armshield::commands::run()
}
