//! PaddlePaddle's headers as `codegen import` reads them.

use codegen::emit::c::asserts::Claim;
use codegen::import::clang::ReadOptions;
use codegen::import::compare::{Comparison, compare};
use codegen::model::ReleaseId;

use super::layout::required_headers;
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
