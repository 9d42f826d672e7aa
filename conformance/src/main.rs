//! The command `conformance`.

use std::process::ExitCode;

fn main() -> ExitCode {
    conformance::execute(std::env::args_os())
}
