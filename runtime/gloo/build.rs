//! Compiles the shim, which the crate embeds.

use std::env;
use std::path::{Path, PathBuf};
use std::process::Command;

fn main() {
    for path in ["build.rs", "shim", "../../sdk-c/include/tenon/gloo.h"] {
        println!("cargo::rerun-if-changed={path}");
    }
    // Cargo sets the variable for build scripts.
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR")).join("libtenon_gloo_shim.so");
    let chosen = cc::Build::new().cpp(true).get_compiler();
    let mut outcome = compile(chosen.to_command(), &out);
    if outcome.is_err() && is_native() {
        // gloo is built with libstdc++. Compilers with another C++ library, such as zig, refuse the shim.
        outcome = compile(Command::new("c++"), &out).or(outcome);
    }
    if let Err(reason) = outcome {
        panic!(
            "cannot compile runtime/gloo/shim/shim.cpp with {}: {reason}\nThe build needs a C++ compiler with libstdc++; \
             on Debian and Ubuntu: apt-get install g++",
            chosen.path().display()
        );
    }
}

/// Returns true if the compiler of the system makes code for the target.
fn is_native() -> bool {
    let host = env::var("HOST").unwrap_or_default();
    let target = env::var("CARGO_CFG_TARGET_ARCH").unwrap_or_default();
    host.split('-').next() == Some(target.as_str())
}

/// Compiles the shim. It is linked to libstdc++ alone: the functions of the C library are found without the versions of the
/// system that builds it.
fn compile(mut compiler: Command, out: &Path) -> Result<(), String> {
    compiler
        .args(["-std=c++17", "-O2", "-fPIC", "-shared", "-nodefaultlibs", "-Wl,-z,nodelete", "-Wl,-s"])
        .args(["-I", "../../sdk-c/include", "shim/shim.cpp", "-lstdc++", "-o"])
        .arg(out);
    let output = compiler.output().map_err(|error| error.to_string())?;
    if output.status.success() {
        Ok(())
    } else {
        Err(format!("{}\n{}", output.status, String::from_utf8_lossy(&output.stderr)))
    }
}
