//! The command.

fn main() -> std::process::ExitCode {
    codegen::cli::run()
}

#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;
