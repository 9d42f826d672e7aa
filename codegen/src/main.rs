//! The command.

fn main() -> std::process::ExitCode {
    codegen::cli::run()
}
