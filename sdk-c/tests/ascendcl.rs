//! `libascendcl.so`: the symbols of the libraries, the libraries that programs need, and the one runtime behind them.

#[allow(dead_code, reason = "other tests compile plugins and programs of their own")]
#[path = "common/build.rs"]
mod build;

use std::collections::BTreeSet;
use std::ffi::c_void;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::{fs, ptr};

use libloading::{Library, Symbol};

/// Returns the symbols that a shared library defines.
fn symbols(library: &str) -> BTreeSet<String> {
    let mut command = Command::new("nm");
    command.args(["--dynamic", "--defined-only", "--format=posix"]).arg(build::library().join(library));
    let printed = String::from_utf8(build::run(&mut command).stdout).expect("symbols are ASCII");
    printed.lines().filter_map(|line| line.split(' ').next()).map(str::to_owned).collect()
}

/// Returns the libraries that a program needs at run time.
fn needed(program: &Path) -> Vec<String> {
    let printed = build::run(Command::new("readelf").arg("--dynamic").arg(program)).stdout;
    let printed = String::from_utf8(printed).expect("names of libraries are ASCII");
    let lines = printed.lines().filter(|line| line.contains("(NEEDED)"));
    lines.filter_map(|line| Some(line.split_once('[')?.1.split_once(']')?.0.to_owned())).collect()
}

/// Returns the functions that the headers declare.
fn declared() -> BTreeSet<String> {
    let folder = build::here().join("include/acl");
    let headers = [folder.clone(), folder.join("ops")];
    let files = headers
        .iter()
        .flat_map(|folder| fs::read_dir(folder).expect("the headers"))
        .map(|entry| entry.unwrap().path());
    let mut found = BTreeSet::new();
    for text in files.filter(|path| path.is_file()).map(|path| fs::read_to_string(path).expect("a header")) {
        // Function types are in parentheses, and comments are indented.
        let lines = text
            .lines()
            .filter(|line| !line.starts_with([' ', '#', '/', '*']) && !line.starts_with("typedef"));
        let names = lines.filter_map(|line| line.split_once('(')?.0.rsplit([' ', '*']).next());
        found.extend(names.filter(|name| name.starts_with("acl")).map(str::to_owned));
    }
    found
}

fn compile(source: &str, to: &Path, flags: &[&str]) {
    let mut command = Command::new("cc");
    command
        .args(["-std=c11", "-Wall", "-Wextra", "-Werror", "-pthread", "-I"])
        .arg(build::here().join("include"));
    command.arg(build::here().join("..").join(source)).arg("-L").arg(build::library()).args(flags);
    build::run(command.arg("-o").arg(to));
}

#[test]
fn libtenon_exports_its_own_functions_alone() {
    let foreign: Vec<_> =
        symbols("libtenon.so").into_iter().filter(|name| !name.starts_with("tenon_")).collect();
    assert_eq!(foreign, Vec::<String>::new());
}

#[test]
fn libascendcl_exports_the_functions_of_the_headers() {
    let (exported, declared) = (symbols("libascendcl.so"), declared());
    assert_eq!(exported, declared);
    assert!(exported.len() > 400, "{}", exported.len());
}

#[test]
fn program_needs_libascendcl_whatever_name_it_was_linked_with() {
    let folder = build::scratch("needed");
    for name in ["-lascendcl", "-lacl_rt"] {
        let program = folder.join(name);
        compile("examples/acl/sequence.c", &program, &[name]);
        let needed = needed(&program);
        assert!(needed.contains(&"libascendcl.so".to_owned()), "{needed:?}");
        assert!(!needed.iter().any(|library| library.contains("tenon")), "{needed:?}");
        let mut command = Command::new(&program);
        command.env("LD_LIBRARY_PATH", build::library()).env_remove("TENON_PLUGIN_PATH");
        assert_eq!(build::run(&mut command).stdout, b"there and back again\n");
    }
}

#[test]
fn library_of_a_vendor_calls_its_own_libascendcl() {
    let folder = build::scratch("vendor_acl");
    let (ascend, vendor) = (folder.join("libascendcl.so"), folder.join("libvendor.so"));
    let program = folder.join("program");
    build::plugin("ascend.c", &ascend, &["-Wl,-soname,libascendcl.so"]);
    let ascend = ascend.display().to_string();
    let rpath = build::rpath(&folder);
    let [first, second, third, path] = rpath.each_ref().map(String::as_str);
    build::plugin(
        "ascend.c",
        &vendor,
        &["-DCALLER", "-Wl,--no-as-needed", &ascend, first, second, third, path],
    );
    build::program("acl_vendor.c", &program);
    let mut command = Command::new(&program);
    command.arg(&vendor).env("LD_LIBRARY_PATH", &folder).env_remove("TENON_PLUGIN_PATH");
    assert_eq!(String::from_utf8_lossy(&build::run(&mut command).stdout), "77\n");
}

/// Copies the library for ACL into two files.
fn libraries() -> [Library; 2] {
    let folder = build::scratch("copies");
    let copy: PathBuf = folder.join(format!("libacl_rt-{}.so", std::process::id()));
    fs::copy(build::library().join("libascendcl.so"), &copy).expect("the library can be copied");
    // The copy finds libtenon beside itself if it is the first to look for it.
    build::link(&build::library().join("libtenon.so.0"), &folder.join("libtenon.so.0"));
    // SAFETY: the libraries are ours.
    let libraries = [build::library().join("libascendcl.so"), copy.clone()]
        .map(|path| unsafe { Library::new(path).expect("the library") });
    fs::remove_file(copy).expect("the copy can be removed");
    libraries
}

#[test]
fn memory_of_one_library_is_known_to_another() {
    let [first, second] = libraries();
    // SAFETY: the functions have these types, and the arguments are valid.
    unsafe {
        let set_device: Symbol<unsafe extern "C" fn(i32) -> i32> = first.get(b"aclrtSetDevice\0").unwrap();
        let malloc: Symbol<unsafe extern "C" fn(*mut *mut c_void, usize, i32) -> i32> =
            first.get(b"aclrtMalloc\0").unwrap();
        let free: Symbol<unsafe extern "C" fn(*mut c_void) -> i32> = second.get(b"aclrtFree\0").unwrap();
        let reset_device: Symbol<unsafe extern "C" fn(i32) -> i32> =
            second.get(b"aclrtResetDevice\0").unwrap();
        let mut memory = ptr::null_mut();
        assert_eq!(set_device(0), 0);
        assert_eq!(malloc(&mut memory, 64, 0), 0);
        assert_eq!(free(memory), 0);
        assert_eq!(reset_device(0), 0);
    }
}
