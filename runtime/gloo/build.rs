//! Compiles the shim, which the crate embeds.

use std::env;
use std::path::PathBuf;

fn main() {
    for path in ["build.rs", "shim", "../../sdk-c/include/tenon/gloo.h"] {
        println!("cargo::rerun-if-changed={path}");
    }
    // Cargo sets the variable for build scripts.
    let out =
        PathBuf::from(env::var_os("OUT_DIR").expect("Cargo sets OUT_DIR")).join("libtenon_gloo_shim.so");
    let compiler = cc::Build::new().cpp(true).std("c++17").pic(true).opt_level(2).debug(false).get_compiler();
    let mut command = compiler.to_command();
    command.args([
        "-shared",
        "-Wl,-z,nodelete",
        "-Wl,-s",
        "-I",
        "../../sdk-c/include",
        "shim/shim.cpp",
        "-ldl",
        "-o",
    ]);
    command.arg(&out);
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => {
            panic!("{}: {status} while compiling runtime/gloo/shim/shim.cpp", compiler.path().display())
        }
        Err(error) => panic!(
            "cannot run {}: {error}. The build needs a C++ compiler; on Debian and Ubuntu: apt-get install g++",
            compiler.path().display()
        ),
    }
}
