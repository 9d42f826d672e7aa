//! A release that does not exist yet: a copy of the spec gets one more, with a function in the middle of the
//! table and one at its end. The generated code has it without further changes, and code that lists the
//! releases does not compile.

use std::fs;
use std::path::{Path, PathBuf};
use std::process::{Command, Output};
use std::time::SystemTime;

const NEXT: &str = "3.4";

fn root() -> &'static Path {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().expect("a crate has a folder above it")
}

/// Creates a copy of the spec with the next release, in a separate folder.
fn spec_of_next_release(name: &str) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join(name);
    let _ = fs::remove_dir_all(&folder);
    copy(&root().join("spec"), &folder.join("spec"));
    edit(&folder.join("spec/device/interface.yaml"), |text| {
        let releases =
            text.replacen("groups: [", "  - release: \"3.4\"\n    hosts: [\"3.4.0\"]\ngroups: [", 1);
        let middle = "        - get_device_list\n";
        assert_eq!(releases.matches(middle).count(), 1, "the slot has moved");
        let middle = releases.replace(middle, "        - get_device_list\n        - next_in_the_middle\n");
        let end = "        - next_at_the_end\n";
        let last = middle.rfind("        - ").expect("there are slots");
        let (before, after) = middle.split_at(last);
        let line = after.find('\n').map_or(after.len(), |line| line + 1);
        format!("{before}{}{end}{}", &after[..line], &after[line..])
    });
    edit(&folder.join("spec/device/device.yaml"), |text| {
        let entry = |name: &str| {
            format!(
                "\n  - name: {name}\n    summary: Does the next thing\n    doc: Does what is next.\n    \
                 since: \"{NEXT}\"\n    params:\n      device: {{ type: DeviceId, doc: The device. }}\n    \
                 when_null: The host does without it.\n    fallback: {{ nothing: true, rule: host }}\n"
            )
        };
        text.to_owned() + &entry("next_in_the_middle") + &entry("next_at_the_end")
    });
    folder
}

fn copy(from: &Path, to: &Path) {
    fs::create_dir_all(to).expect("the folder of tests can be written");
    for entry in fs::read_dir(from).expect("the spec can be read") {
        let entry = entry.expect("the spec can be read");
        let to = to.join(entry.file_name());
        if entry.path().is_dir() {
            copy(&entry.path(), &to);
        } else {
            fs::copy(entry.path(), to).expect("the folder of tests can be written");
        }
    }
}

fn edit(path: &Path, change: impl FnOnce(&str) -> String) {
    let text = fs::read_to_string(path).expect("the copy can be read");
    fs::write(path, change(&text)).expect("the copy can be written");
}

/// Finds a library that this test was built with: the newest of its name beside the test.
fn library(prefix: &str, ending: &str) -> PathBuf {
    let test = std::env::current_exe().expect("a test has a file");
    let deps = test.parent().expect("a file has a folder");
    let files = fs::read_dir(deps).expect("the folder can be read").filter_map(Result::ok);
    let is_library = |path: &PathBuf| {
        let name = path.file_name().unwrap_or_default().to_string_lossy();
        name.starts_with(prefix) && name.ends_with(ending)
    };
    let modified =
        |path: &PathBuf| path.metadata().and_then(|data| data.modified()).unwrap_or(SystemTime::UNIX_EPOCH);
    files.map(|file| file.path()).filter(is_library).max_by_key(modified).expect("the library was built")
}

/// Compiles a crate on the copied spec, without making code of it.
fn compile(folder: &Path, source: &str) -> Output {
    let file = folder.join("next.rs");
    fs::write(&file, source).expect("the folder of tests can be written");
    let tenon = library("libtenon-", ".rlib");
    let macros = library("libtenon_spec_macros-", std::env::consts::DLL_SUFFIX);
    let deps = tenon.parent().expect("a file has a folder").display().to_string();
    Command::new(std::env::var_os("RUSTC").unwrap_or_else(|| "rustc".into()))
        .args(["--edition", "2024", "--crate-type", "lib", "--emit", "metadata", "--out-dir"])
        .arg(folder)
        .arg("--extern")
        .arg(format!("tenon={}", tenon.display()))
        .arg("--extern")
        .arg(format!("tenon_spec_macros={}", macros.display()))
        .args(["-L", &format!("dependency={deps}")])
        .arg(file)
        .env("CARGO_MANIFEST_DIR", folder)
        .output()
        .expect("the compiler runs")
}

/// Returns the interface, and what is written by hand about it.
fn source(more: &str) -> String {
    let strategies = root().join("sdk-rs/src/strategy/mod.rs");
    let data_type = root().join("sdk-rs/src/data_type.rs");
    format!(
        "#![deny(warnings)]\nmod pointer {{ pub use tenon::{{DevicePtr, HostPtr}}; }}\nmod support {{ pub use tenon::support::Mutex; }}\n#[path = {strategies:?}]\nmod strategy;\n\
         #[path = {data_type:?}]\nmod data_type;\n\
         pub mod device {{ use crate::strategy; tenon_spec_macros::interface!(\"device\", spec = \"spec\"); }}\n\
         use device::{{Function, Release, ffi}};\n{more}"
    )
}

const FOLLOWS: &str = r#"
pub fn number(release: Release) -> u32 {
    match release {
        Release::V2_6 => 26,
        Release::V3_0 => 30,
        Release::V3_1 => 31,
        Release::V3_2 => 32,
        Release::V3_3 => 33,
        Release::V3_4 => 34,
    }
}

const _: () = {
    let (old, new) = (Release::V3_3, Release::NEWEST);
    assert!(matches!(new, Release::V3_4) && Release::ALL.len() == 6);
    assert!(new.table_size() == old.table_size() + 16 && new.params_size() == old.params_size());
    assert!(size_of::<ffi::C_DeviceInterface>() == new.table_size());
    let (Some(before), Some(middle)) =
        (new.offset_of(Function::GetDeviceList), new.offset_of(Function::NextInTheMiddle)) else { panic!() };
    assert!(middle == before + 8);
    let Some(end) = new.offset_of(Function::NextAtTheEnd) else { panic!() };
    let mut index = 0;
    while index < Function::ALL.len() {
        match (new.offset_of(Function::ALL[index]), Function::ALL[index].offset_in_extension()) {
            (Some(offset), None) => assert!(offset <= end && end < new.table_size()),
            (None, Some(_)) => {}
            _ => panic!(),
        }
        index += 1;
    }
    assert!(old.offset_of(Function::NextInTheMiddle).is_none() && old.offset_of(Function::NextAtTheEnd).is_none());
    assert!(Function::NextAtTheEnd.has_fallback() && !Function::NextAtTheEnd.is_required());
};

pub fn newest<P: device::Plugin>(table: &mut ffi::C_DeviceInterface) {
    device::fill::<P>(table);
}
"#;

#[test]
fn expansion_with_next_release_compiles_and_has_its_layout() {
    let folder = spec_of_next_release("next-release");
    let output = compile(&folder, &source(FOLLOWS));
    assert!(output.status.success(), "{}", String::from_utf8_lossy(&output.stderr));
}

#[test]
fn list_without_next_release_does_not_compile() {
    let folder = spec_of_next_release("next-release-unlisted");
    let output = compile(&folder, &source(&FOLLOWS.replace("        Release::V3_4 => 34,\n", "")));
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(!output.status.success() && said.contains("V3_4` not covered"), "{said}");
}
