//! PaddlePaddle's headers as `codegen import` reads them.

use codegen::emit::c::asserts::Claim;
use codegen::import::clang::ReadOptions;
use codegen::import::compare::{Comparison, compare};
use codegen::model::ReleaseId;

use super::layout::required_headers;
use crate::cli::import::{folder, import};
use crate::specs::project;
use crate::tools::has_libclang;

/// Compares the device table in a release with the header of a version.
fn of_device(release: &str, version: &str) -> Comparison {
    let spec = project();
    let interface = spec.interface("device").expect("the spec has it");
    let found = interface.releases.iter().position(|known| known.name.value == release);
    let at = (interface, Some(ReleaseId(found.expect("the spec has the release"))));
    let options = ReadOptions { include: vec![required_headers(version)], cxx: true };
    let headers = ["paddle/phi/backends/device_ext.h".to_owned()];
    compare(&spec, at, &headers, Some("9.9"), &options).unwrap_or_else(|error| panic!("{error}"))
}

#[test]
fn header_of_each_release_is_as_the_spec_says() {
    if !has_libclang("header_of_each_release_is_as_the_spec_says") {
        return;
    }
    for (release, version) in
        [("2.6", "2.6.2"), ("3.0", "3.0.0"), ("3.1", "3.1.1"), ("3.2", "3.2.2"), ("3.3", "3.3.1")]
    {
        let comparison = of_device(release, version);
        assert!(comparison.is_empty(), "{release}: {comparison:?}");
    }
}

#[test]
fn newer_header_adds_its_functions() {
    if !has_libclang("newer_header_adds_its_functions") {
        return;
    }
    let comparison = of_device("3.2", "3.3.1");
    let new: Vec<&str> = comparison.new.iter().map(|function| function.name.as_str()).collect();
    let spec = project();
    let interface = spec.interface("device").expect("the spec has it");
    let newest = interface.newest();
    let came = interface.functions.iter().filter(|function| function.availability.since == newest);
    let came: Vec<&str> = came.map(|function| function.c_name.as_str()).collect();
    assert_eq!(new.len(), 12, "{new:?}");
    assert!(new.iter().all(|name| came.contains(name)), "{new:?} and {came:?}");
    assert!(comparison.new.iter().all(|function| function.entry.contains("since: \"9.9\"")));
    assert!(comparison.gone.is_empty(), "{:?}", comparison.gone);
    let moved = Claim::Offset("C_DeviceInterface".to_owned(), "init_eigen_device".to_owned());
    assert!(comparison.changed.contains(&moved), "{:?}", comparison.changed);
}

/// The headers from 3.0 on give no length of a text that a plugin writes.
#[test]
fn draft_of_each_release_is_a_spec_after_at_most_one_edit() {
    if !has_libclang("draft_of_each_release_is_a_spec_after_at_most_one_edit") {
        return;
    }
    for version in ["2.6.2", "3.0.0", "3.1.1", "3.2.2", "3.3.1"] {
        let (folder, include) = (folder(&format!("device-{version}")), required_headers(version));
        let [spec, include] = [&folder, &include].map(|path| path.to_string_lossy());
        let header = format!("{include}/paddle/phi/backends/device_ext.h");
        let (code, out, err) = import(&[&header, "-I", &include, "--spec", &spec]);
        assert_eq!(code, 0, "{version}: {out}{err}");
        let file = folder.join("device_ext/functions.yaml");
        let text = std::fs::read_to_string(&file).expect("the draft was written");
        let (unknown, known) =
            ("comm_name: { type: pointer, ", "comm_name: { type: char, dir: out, bytes: 128, ");
        std::fs::write(&file, text.replace(unknown, known)).expect("the draft can be edited");
        let arguments = ["paddle/phi/backends/device_ext.h", "-I", &include, "--spec", &spec];
        let (_, out, err) = import(&[&arguments[..], &["--interface", "device_ext"]].concat());
        assert!(err.is_empty(), "{version}: {err}");
        for part in ["New ", "the header lacks", "Changed or moved"] {
            assert!(!out.contains(part), "{version}: {out}");
        }
    }
}
