//! The library as programs link it, and the system's compilers.

use std::fs;
use std::io;
use std::os::unix::fs::symlink;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::sync::LazyLock;

/// A path in the repository.
pub fn repository(path: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().unwrap().join(path)
}

/// A folder with `libtenon.a` and with `libtenon.so` under each of its names. Cargo builds neither for a test by itself.
pub fn library() -> &'static Path {
    static FOLDER: LazyLock<PathBuf> = LazyLock::new(|| {
        let test = std::env::current_exe().unwrap();
        // target/PROFILE/deps/TEST
        let profile = test.ancestors().nth(2).unwrap();
        let mut cargo = Command::new(env!("CARGO"));
        cargo.args(["build", "--quiet", "--package", "tenon-sdk", "--target-dir"]);
        cargo.arg(profile.parent().unwrap()).current_dir(env!("CARGO_MANIFEST_DIR"));
        if profile.ends_with("release") {
            cargo.arg("--release");
        }
        assert!(cargo.status().unwrap().success(), "the library does not build");
        let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("libtenon");
        fs::create_dir_all(&folder).unwrap();
        for (name, file) in
            [("libtenon.so", "libtenon.so"), ("libtenon.so.0", "libtenon.so"), ("libtenon.a", "libtenon.a")]
        {
            match symlink(profile.join(file), folder.join(name)) {
                Err(error) if error.kind() != io::ErrorKind::AlreadyExists => panic!("{name}: {error}"),
                _ => {}
            }
        }
        folder
    });
    &FOLDER
}

/// Compiles a source, with the compiler and the standard that its name asks for and without a warning, and returns what
/// was made.
pub fn compile(source: &Path, flags: &[&str]) -> PathBuf {
    let cxx = source.extension().is_some_and(|extension| extension == "cpp");
    let (variable, usual, standard) =
        if cxx { ("CXX", "c++", "-std=c++17") } else { ("CC", "cc", "-std=c11") };
    let compiler = std::env::var(variable).unwrap_or_else(|_| usual.to_owned());
    let name = source.file_name().unwrap().to_string_lossy().replace('.', "_");
    let made = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let output = Command::new(&compiler)
        .args([standard, "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-g", "-I"])
        .arg(repository("sdk-c/include"))
        .arg(source)
        .arg("-o")
        .arg(&made)
        .args(flags)
        .output()
        .unwrap_or_else(|error| {
            panic!("`{compiler}`: {error}; install it: apt-get install gcc g++ libc6-dev")
        });
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
    made
}

/// Compiles a program with the shared library.
pub fn program(source: &Path) -> PathBuf {
    let folder = library().to_str().unwrap();
    compile(source, &[&format!("-L{folder}"), "-ltenon", &format!("-Wl,-rpath,{folder}")])
}

/// What a program has printed. It has to succeed.
pub struct Printed {
    /// To standard output.
    pub out: String,
    /// To standard error.
    pub err: String,
}

/// Runs a program to its end.
pub fn run(command: &mut Command) -> Printed {
    let Output { status, stdout, stderr } = command.output().unwrap();
    let (out, err) =
        (String::from_utf8_lossy(&stdout).into_owned(), String::from_utf8_lossy(&stderr).into_owned());
    assert!(status.success(), "{command:?}: {status}\n{out}\n{err}");
    Printed { out, err }
}
