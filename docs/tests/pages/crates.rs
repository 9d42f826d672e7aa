//! Pages that show a device in Rust: the code and the `Cargo.toml` on a page are a crate, which is built, loaded and
//! held to the contract.

use std::collections::BTreeMap;
use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use tenon::DevicePtr;
use tenon::device::DeviceId;
use tenon_conformance::{Ending, Options, Source};
use tenon_loader::{LoadOptions, Plugin};

use crate::coverage;
use crate::page::{read, root};

/// The dependency as pages have it: for a reader it lies in a clone beside the crate.
const DEPENDENCY: &str = "\"../tenon/sdk-rs\"";

/// A crate as a page has it.
#[derive(Default)]
struct Crate {
    code: String,
    manifest: String,
}

/// Collects the crates by their pages.
fn crates() -> BTreeMap<String, Crate> {
    let mut crates: BTreeMap<String, Crate> = BTreeMap::new();
    for block in coverage::of_crates("rust") {
        crates.entry(block.page).or_default().code += &block.text;
    }
    for block in coverage::of_crates("toml") {
        crates.entry(block.page).or_default().manifest += &block.text;
    }
    crates
}

/// Builds the crate of a page without a warning, and returns the library.
///
/// The crates share a target folder, so that their dependencies are built once.
fn build(page: &str, sources: &Crate) -> PathBuf {
    let folder = Path::new(env!("CARGO_TARGET_TMPDIR")).join("pages");
    let name = page.replace(['/', '.'], "_");
    let place = folder.join(&name);
    fs::create_dir_all(place.join("src")).expect("the folder can be made");
    let write = |file: &str, text: &str| fs::write(place.join(file), text).expect("the file can be written");
    assert!(sources.manifest.contains(DEPENDENCY), "{page}: no dependency on {DEPENDENCY}");
    let here = format!("{:?}", root().join("sdk-rs"));
    write("Cargo.toml", &sources.manifest.replace(DEPENDENCY, &here));
    // The versions of the workspace are on this machine already.
    write("Cargo.lock", &read("Cargo.lock"));
    write("src/lib.rs", &sources.code);

    let target = folder.join("target");
    let mut cargo = Command::new(std::env::var_os("CARGO").unwrap_or_else(|| "cargo".into()));
    cargo.args(["build", "--quiet", "--offline", "--target-dir"]).arg(&target).current_dir(&place);
    // The crates are built once and not debugged.
    cargo.env("CARGO_PROFILE_DEV_DEBUG", "0").env("CARGO_INCREMENTAL", "0");
    let output = cargo.output().expect("cargo runs");
    let said = String::from_utf8_lossy(&output.stderr);
    assert!(output.status.success() && said.is_empty(), "the crate on {page} does not build:\n{said}");

    // Two pages may give their crates the same name.
    let library = folder.join(format!("lib{name}.so"));
    fs::copy(target.join("debug/libmy_npu.so"), &library).expect("the crate is `my-npu`, and a cdylib");
    library
}

/// Holds a plugin to what the spec promises, within this process.
fn keeps_the_contract(page: &str, library: &Path) {
    let source = Source::File { path: library.to_owned(), release: None, host: None };
    let options = Options { program: None, ..Options::default() };
    let outcome = tenon_conformance::run(&source, &options, &mut |_| {}).expect("the plugin can be tested");
    let failures: Vec<String> =
        outcome.failures().map(|(case, message)| format!("{}: {message}", case.id)).collect();
    assert!(failures.is_empty(), "{page}:\n{}", failures.join("\n"));
    let passed = outcome.cases.iter().filter(|case| matches!(case.ending, Ending::Passed)).count();
    assert!(passed > 20, "{page}: only {passed} cases were tried");
}

/// Asks for more memory than there is: an allocator that ends the process would end this test.
fn survives_too_much_and_null(library: &Path) {
    let plugin = Plugin::load(library, &LoadOptions::default()).expect("the plugin can be loaded");
    let device = plugin.device();
    let first = DeviceId(0);
    for size in [isize::MAX as usize, usize::MAX, 1 << 60] {
        assert_eq!(device.device_memory_allocate(first, size), Ok(DevicePtr::NULL), "{size}");
    }
    device.device_memory_deallocate(first, DevicePtr::NULL, 0).expect("null is freed as nothing");
}

#[test]
fn crate_on_a_page_builds_loads_and_keeps_the_contract() {
    let crates = crates();
    assert_eq!(crates.len(), 2, "{:?}", crates.keys());
    for (page, sources) in &crates {
        let library = build(page, sources);
        keeps_the_contract(page, &library);
        survives_too_much_and_null(&library);
    }
}

/// So the README's device is held to the lints of this repository, and runs in PaddlePaddle's tests.
#[test]
fn readme_shows_the_example() {
    let example = read("examples/rust-plugin/src/lib.rs");
    let code = &example[example.find("use tenon").expect("the example uses the crate")..];
    assert_eq!(crates()["README.md"].code, code);
}
