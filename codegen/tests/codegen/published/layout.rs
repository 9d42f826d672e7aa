//! Compares the spec of PaddlePaddle's ABI with the headers of its releases.
//!
//! For each release a C++ file of `static_assert`s is compiled against the headers of the wheel: every offset and
//! size, every field, every enumerator, and the whole type of every function.

use std::collections::BTreeSet;
use std::path::{Path, PathBuf};

use codegen::emit::c::asserts::assertions;
use codegen::model::{Interface, ReleaseId, Spec};

use crate::root;
use crate::specs::{self, project};

/// Returns the headers that an interface describes, relative to `paddle/include` in a wheel.
fn includes(interface: &str) -> &'static [&'static str] {
    match interface {
        "device" => &["paddle/phi/backends/device_ext.h"],
        "paddle" => &[
            "paddle/phi/backends/device_ext.h",
            "paddle/phi/capi/include/c_data_type.h",
            "paddle/phi/capi/include/c_device_context.h",
            "paddle/phi/capi/include/c_infer_meta_context.h",
            "paddle/phi/capi/include/c_int_array.h",
            "paddle/phi/capi/include/c_kernel_context.h",
            "paddle/phi/capi/include/c_kernel_factory.h",
            "paddle/phi/capi/include/c_kernel_registry.h",
            "paddle/phi/capi/include/c_meta_tensor.h",
            "paddle/phi/capi/include/c_place.h",
            "paddle/phi/capi/include/c_scalar.h",
            "paddle/phi/capi/include/c_tensor.h",
        ],
        other => panic!("the interface `{other}` is not known to this test"),
    }
}

/// Names that no header declares: callback types that Paddle spells out in place, and a symbol that its libraries
/// export without a declaration in C.
const UNDECLARED: [&str; 4] = ["PD_ArgsDefFn", "PD_GetOpMetaInfoMap", "PD_InferShapeFn", "PD_KernelFn"];

/// The header of 2.6.2 lacks these includes.
const PRELUDE: &str = "#include <array>\n#include <cstddef>\n#include <cstdint>\n#include <cstring>\n\
                       #include <string>\n#include <type_traits>\n";

fn headers(version: &str) -> Option<PathBuf> {
    let folder = match std::env::var_os("TENON_PADDLE_HEADERS") {
        Some(folder) => PathBuf::from(folder),
        None => root().join("target/paddle-headers"),
    };
    let include = folder.join(version).join("paddle/include");
    include.join("paddle/phi/backends/device_ext.h").is_file().then_some(include)
}

pub(super) fn required_headers(version: &str) -> PathBuf {
    headers(version).unwrap_or_else(|| {
        panic!("no headers of PaddlePaddle {version}; fetch them with: cargo xtask headers")
    })
}

/// Generates the C++ file for one release.
fn claims(spec: &Spec, interface: &Interface, release: ReleaseId, include: &Path) -> String {
    let texts: Vec<String> = includes(&interface.name.value)
        .iter()
        .map(|header| std::fs::read_to_string(include.join(header)).expect("the header was found before"))
        .collect();
    let is_gap = |c: char| !c.is_alphanumeric() && c != '_';
    let words: BTreeSet<&str> = texts.iter().flat_map(|text| text.split(is_gap)).collect();
    let declared = |name: &str| {
        let known = words.contains(name);
        assert!(known || UNDECLARED.contains(&name), "no header declares `{name}`");
        known
    };
    assertions(spec, interface, Some(release), &declared).iter().map(|it| format!("{it}\n")).collect()
}

/// Compiles a file; `Ok` if the assertions hold.
fn compile(name: &str, interface: &Interface, include: &Path, claims: &str) -> Result<(), String> {
    let file = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("{name}.cc"));
    let includes: String =
        includes(&interface.name.value).iter().map(|header| format!("#include \"{header}\"\n")).collect();
    std::fs::write(&file, format!("{PRELUDE}{includes}\n{claims}"))
        .expect("the folder for tests can be written");
    specs::compile("c++", &["-std=c++17", "-w"], include, &file)
}

fn hold(name: &str) {
    let spec = project();
    let interface = spec.interface(name).expect("the spec has this interface");
    let mut failures = String::new();
    for (id, release) in interface.release_ids() {
        let newest = release.hosts.last().expect("a release names a host");
        required_headers(&newest.value);
        for host in release.hosts.iter().map(|host| host.value.as_str()) {
            let Some(include) = headers(host) else { continue };
            let claims = claims(&spec, interface, id, &include);
            if let Err(reason) = compile(&format!("{name}-{host}"), interface, &include, &claims) {
                failures += &format!("PaddlePaddle {host}:\n{reason}\n");
            }
        }
    }
    assert!(failures.is_empty(), "{failures}");
}

#[test]
fn the_device_table_is_as_each_release_has_it() {
    hold("device");
}

#[test]
fn the_kernel_functions_are_as_each_release_declares_them() {
    hold("paddle");
}

#[test]
fn a_wrong_claim_is_found() {
    let spec = project();
    let interface = spec.interface("device").expect("the spec has this interface");
    let newest = interface.newest().expect("the table has releases");
    let host = interface.releases[newest.0].hosts.last().expect("a release names a host");
    let include = required_headers(&host.value);
    let claims = claims(&spec, interface, newest, &include);
    let wrong = [
        (
            "offsetof(C_DeviceInterface, set_device) == 32",
            "offsetof(C_DeviceInterface, set_device) == 40",
            "offset of C_DeviceInterface.set_device",
        ),
        (
            "sizeof(CustomRuntimeParams) == 96",
            "sizeof(CustomRuntimeParams) == 88",
            "size of CustomRuntimeParams",
        ),
        (
            "C_Status (*)(C_Device, void*, uint8_t, size_t)",
            "C_Status (*)(C_Device, void*, int8_t, size_t)",
            "type of C_DeviceInterface.device_memory_set",
        ),
        ("static_cast<long long>(STRIDED) == 5", "static_cast<long long>(STRIDED) == 6", "STRIDED"),
        (
            "std::is_same<C_Callback, void (*)(C_Device, C_Stream, void*, C_Status*)>",
            "std::is_same<C_Callback, void (*)(C_Device, C_Stream, void*)>",
            "callback C_Callback",
        ),
    ];
    for (index, (right, changed, blamed)) in wrong.into_iter().enumerate() {
        assert!(claims.contains(right), "the claims no longer say `{right}`");
        let reason = compile(&format!("wrong-{index}"), interface, &include, &claims.replace(right, changed))
            .expect_err("a wrong claim compiles");
        assert!(reason.contains(blamed), "`{blamed}` is not blamed:\n{reason}");
    }
}
