//! The modules of interfaces as files: what the generator writes for specs of other fields, and for one whose names are
//! those that the files would like to have for themselves, compiles as it is, without a warning.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::SystemTime;

use codegen::emit::rust::interface_text;
use codegen::source::Folder;

/// Finds the newest library of `tenon` beside this test.
fn library() -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let deps = test.parent().expect("a file has a folder");
    let files = fs::read_dir(deps).expect("the folder can be read").filter_map(Result::ok);
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with("libtenon-") && name.ends_with(".rlib")
    };
    let modified =
        |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    files.map(|file| file.path()).filter(is_library).max_by_key(modified).expect("the library was built")
}

/// Writes the module of each interface into a file, and compiles a crate of them.
fn compiles(name: &str, spec: &str, strategy: &str) {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).expect("the folder of tests can be written");
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join(spec);
    let loaded =
        codegen::load(&Folder::new(path)).unwrap_or_else(|mistakes| panic!("{}", mistakes.render(false)));
    let mut root = format!("#![deny(warnings)]\n{strategy}\n");
    for interface in &loaded.spec.interfaces {
        let text = interface_text(&loaded.spec, interface).expect("the module is Rust");
        assert!(!text.contains("__comment"), "a comment was left: {text}");
        let module = &interface.name.value;
        fs::write(folder.join(format!("{module}.rs")), text).expect("the folder of tests can be written");
        root += &format!("pub mod {module};\n");
    }
    let file = folder.join("lib.rs");
    fs::write(&file, root).expect("the folder of tests can be written");
    let library = library();
    let output = Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
        .arg(&folder)
        .arg("--extern")
        .arg(format!("tenon={}", library.display()))
        .args(["-L", &format!("dependency={}", library.parent().expect("a file has a folder").display())])
        .arg(file)
        .output()
        .expect("the compiler runs");
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn files_of_custom_spec_compile() {
    compiles("files-custom", "../examples/custom-spec/spec", "");
}

#[test]
fn files_of_codec_spec_compile() {
    compiles("files-codec", "../examples/codec-spec/spec", "");
}

#[test]
fn files_of_known_apis_compile() {
    compiles("files-known", "../examples/known-apis/spec", "");
}

#[test]
fn files_of_library_spec_compile() {
    compiles("files-library", "../codegen/tests/library/spec", "");
}

#[test]
fn files_of_tiny_interfaces_compile() {
    compiles("files-tiny", "tests/tiny/spec", "");
}

#[test]
fn files_of_spec_with_names_of_the_prelude_compile() {
    compiles("files-names", "tests/names/spec", "");
}
