//! The library and what is compiled against it, with the compilers of the system.

use std::env;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::OnceLock;
use std::sync::atomic::{AtomicUsize, Ordering};

/// Returns the folder of the crate.
pub fn here() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR"))
}

/// Returns a folder for what a test compiles.
pub fn scratch(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("sdk-c").join(name);
    std::fs::create_dir_all(&folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    folder
}

/// Returns a folder with `libtenon.so` and `libascendcl.so`, which cargo has built together with the test.
pub fn library() -> &'static Path {
    static FOLDER: OnceLock<PathBuf> = OnceLock::new();
    FOLDER.get_or_init(|| {
        let test = env::current_exe().expect("the path of the test");
        let folder = scratch("lib");
        for (name, file) in [
            ("libtenon.so", "libtenon_sdk_c.so"),
            ("libtenon.so.0", "libtenon_sdk_c.so"),
            ("libascendcl.so", "libascendcl.so"),
            ("libacl_rt.so", "libascendcl.so"),
        ] {
            // Cargo builds all crate types of a library at once, for its tests and its dependencies too.
            let built = test.parent().expect("a file has a folder").join(file);
            assert!(built.exists(), "{}", built.display());
            link(&built, &folder.join(name));
        }
        folder
    })
}

/// Puts a link in a place, also where an earlier run left another one and while other tests do the same.
pub fn link(target: &Path, place: &Path) {
    static COUNT: AtomicUsize = AtomicUsize::new(0);
    let number = COUNT.fetch_add(1, Ordering::Relaxed);
    let made = place.with_extension(format!("{}-{number}", std::process::id()));
    std::os::unix::fs::symlink(target, &made).expect("the folder for tests can be written");
    std::fs::rename(&made, place).expect("a link takes the place of a link");
}

/// Runs a command that has to succeed.
pub fn run(command: &mut Command) -> Output {
    let output = command.output().unwrap_or_else(|error| match error.kind() {
        std::io::ErrorKind::NotFound => {
            panic!("{:?} is not installed; a compiler is: apt-get install gcc g++", command.get_program())
        }
        _ => panic!("{command:?}: {error}"),
    });
    assert!(
        output.status.success(),
        "{command:?}: {}\n{}{}",
        output.status,
        String::from_utf8_lossy(&output.stdout),
        String::from_utf8_lossy(&output.stderr)
    );
    output
}

/// Returns the arguments that make a program look for libraries in a folder. `-Wl` would split a path at its commas.
pub fn rpath(folder: &Path) -> [String; 4] {
    let [flag, name] = ["-Xlinker", "-rpath"].map(str::to_owned);
    [flag.clone(), name, flag, folder.display().to_string()]
}

fn compiler() -> Command {
    let mut command = Command::new("cc");
    command.args(["-std=c11", "-g", "-O1", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-I"]);
    command.arg(here().join("include"));
    command
}

/// Compiles a plugin of `tests/plugins`.
#[allow(dead_code, reason = "some tests need no plugin")]
pub fn plugin(source: &str, to: &Path, flags: &[&str]) {
    let source = here().join("tests/plugins").join(source);
    run(compiler().args(["-shared", "-fPIC"]).args(flags).arg(source).arg("-o").arg(to));
}

/// Compiles the plugin of `required.c` with a function that throws an exception of C++.
#[allow(dead_code, reason = "few tests need it")]
pub fn throwing_plugin(to: &Path, flags: &[&str]) {
    let object = to.with_extension("o");
    let folder = here().join("tests/plugins");
    let required = folder.join("required.c");
    run(compiler().args(["-fPIC", "-c", "-DInitPlugin=required_init"]).arg(required).arg("-o").arg(&object));
    let mut command = Command::new("c++");
    command.args(["-std=c++17", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-pthread"]);
    command.args(flags).arg("-I").arg(here().join("include"));
    run(command.arg(folder.join("throwing.cpp")).arg(object).arg("-o").arg(to));
}

/// Compiles a program of `tests/programs` against the shared library.
#[allow(dead_code, reason = "benchmarks compile no programs")]
pub fn program(source: &str, to: &Path) {
    sources(&[here().join("tests/programs").join(source)], to);
}

/// Compiles a program of several files against the shared library.
#[allow(dead_code, reason = "benchmarks compile no programs")]
pub fn sources(sources: &[PathBuf], to: &Path) {
    run(compiler()
        .args(sources)
        .arg("-L")
        .arg(library())
        .args(["-ltenon", "-lpthread"])
        .args(rpath(library()))
        .arg("-o")
        .arg(to));
}
