//! Methods that a C compiler has made: they get the arguments of a call, and their answers arrive.

use std::path::{Path, PathBuf};
use std::process::Command;
use tenon_operators::attributes::{DropoutAttributes, MergedMomentumAttributes, TopkAttributes};

use tenon::DevicePtr;
use tenon::device::{DataType, DeviceId, Result, Status, Stream};
use tenon_operators::by_name::{Calls, LoadedOperators, SYMBOL};
use tenon_operators::{
    Activation, Gating, Indexing, Launch, Layout, Operators, OptimizerLists, Random, Sorting, TensorMut,
    TensorRef,
};

/// Compiles a file of this folder without a warning.
fn compile(compiler: &str, standard: &str, file: &str, library: &Path) {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let compiled = Command::new(compiler)
        .args(["-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", standard, "-I"])
        .arg(here.join("../include"))
        .arg(here.join("tests").join(file))
        .arg("-o")
        .arg(library)
        .output()
        .unwrap_or_else(|_| panic!("`{compiler}` is not installed: apt-get install gcc g++"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
}

fn scratch(name: &str) -> PathBuf {
    Path::new(env!("CARGO_TARGET_TMPDIR")).join(name)
}

/// Compiles `methods.c` and reads its operators.
fn plugin(test: &str) -> LoadedOperators {
    let library = scratch(&format!("libmethods_{test}.so"));
    compile("cc", "-std=c11", "methods.c", &library);
    // SAFETY: the library has no initialisers, its function has this type, and it stays loaded.
    unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(&library).unwrap());
        let calls = library.get::<unsafe extern "C" fn() -> *const Calls>(SYMBOL.as_bytes()).unwrap();
        LoadedOperators::read(calls(), "a plugin").unwrap()
    }
}

fn launch() -> Launch {
    Launch { device: DeviceId(3), stream: Stream::from_addr(70) }
}

/// Creates a tensor at an address that nothing uses.
fn input(address: usize) -> TensorRef<'static> {
    let first = DevicePtr::from_addr(address);
    let layout = Layout::new(&[2, 3], &[-3, 1]).unwrap();
    // SAFETY: no method uses the memory.
    unsafe { TensorRef::new(first, DataType::FLOAT32, layout) }.unwrap()
}

fn output(address: usize) -> TensorMut<'static> {
    let layout = Layout::new(&[4], &[1]).unwrap();
    // SAFETY: as above.
    unsafe { TensorMut::new(DevicePtr::from_addr(address), DataType::BOOL, layout) }.unwrap()
}

/// Returns the status and the message of an error.
fn failure<T: std::fmt::Debug>(result: Result<T>) -> (Status, String) {
    let error = result.unwrap_err();
    (error.status, error.message.to_string())
}

#[test]
fn plugin_in_cpp_compiles() {
    compile("c++", "-std=c++17", "plugin.cpp", &scratch("libplugin.so"));
}

#[test]
fn methods_are_provided_for_their_types() {
    let plugin = plugin("provided");
    assert!(plugin.provides("relu", DataType::FLOAT32) && plugin.provides("relu", DataType::BFLOAT16));
    assert!(!plugin.provides("relu", DataType::FLOAT64));
    assert!(plugin.provides("dropout", DataType::COMPLEX128));
    assert!(!plugin.provides("gelu", DataType::FLOAT32) && !plugin.provides("mish", DataType::FLOAT32));
    assert!(!plugin.provides("relu", DataType(-1)) && !plugin.provides("no_method", DataType::FLOAT32));
}

#[test]
fn launch_tensors_and_attributes_arrive() {
    let (mut out, mut mask) = (output(96), output(128));
    let result = plugin("attributes").dropout(
        launch(),
        &mut out,
        Some(&mut mask),
        &input(64),
        &DropoutAttributes { p: 0.5, is_test: true, mode: "upscale", axis: &[1, -1] },
        7,
        8,
    );
    let message = "device 3, stream 70; out 1 at 96 4:1; mask 1 at 128 4:1; x 11 at 64 2:-3 3:1; 0.5 1 upscale \
                   axis 1 axis -1 7 8";
    assert_eq!(failure(result), (Status::ERROR, message.to_owned()));
}

#[test]
fn absent_tensors_are_null() {
    let plugin = plugin("optional");
    let result =
        plugin.swiglu_halves_grad(launch(), None, Some(&mut output(96)), &input(64), None, &input(65));
    let message = "dx null; dgated 1 at 96 4:1; x 11 at 64 2:-3 3:1; gated null; dout 11 at 65 2:-3 3:1; ";
    assert_eq!(failure(result), (Status::FAILED, message.to_owned()));
}

#[test]
fn lists_have_their_lengths() {
    let result = plugin("lists").merged_momentum(
        launch(),
        &mut [Some(output(96)), None],
        &mut [],
        &mut [None],
        &[input(64), input(65)],
        &[input(66)],
        &[],
        &[input(67), input(68), input(69)],
        None,
        &MergedMomentumAttributes {
            mu: 0.25,
            use_nesterov: false,
            regularization_method: &["l2_decay", ""],
            regularization_coeff: &[0.5, 2.0],
            multi_precision: true,
            rescale_grad: 4.0,
        },
    );
    let message = "param_out 2: - 1 at 96 4:1; - null; master_param_out 1: - null; \
                   param 2: - 11 at 64 2:-3 3:1; - 11 at 65 2:-3 3:1; master_param null 0: \
                   0 1 0 3 'l2_decay' '' 0.5 2 0.25 0 1 4";
    assert_eq!(failure(result), (Status::INTERNAL_ERROR, message.to_owned()));
}

#[test]
fn shapes_are_returned_unless_they_are_too_long() {
    let plugin = plugin("shapes");
    assert_eq!(
        plugin
            .topk_out_shape(launch(), &input(64), &TopkAttributes { k: 5, axis: 0, largest: true })
            .unwrap(),
        [5, 3]
    );
    let message = "`nonzero_out_shape` returned a shape of 17 dimensions".to_owned();
    assert_eq!(failure(plugin.nonzero_out_shape(launch(), &input(64))), (Status::INTERNAL_ERROR, message));
}

#[test]
fn failures_have_a_message() {
    let plugin = plugin("messages");
    let (status, message) = failure(plugin.silu(launch(), &mut output(96), &input(64)));
    assert_eq!((status, message.as_str()), (Status::FAILED, "`silu` returned the status `failed`"));
    let (_, unended) = failure(plugin.relu(launch(), &mut output(96), &input(64)));
    assert_eq!(unended, "x".repeat(512));
    let (status, message) = failure(plugin.gelu(launch(), &mut output(96), &input(64), false));
    assert_eq!((status, message.as_str()), (Status::FAILED, "`gelu` is not implemented by this device"));
}

#[test]
fn text_with_a_zero_byte_arrives() {
    let (mut out, mut mask) = (output(96), output(128));
    let result = plugin("text").dropout(
        launch(),
        &mut out,
        Some(&mut mask),
        &input(64),
        &DropoutAttributes { p: 0.5, is_test: true, mode: "", axis: &[] },
        7,
        8,
    );
    assert!(failure(result).1.ends_with("; 0.5 1  7 8"));
}

#[test]
fn attributes_of_other_releases_have_their_defaults() {
    let plugin = plugin("releases");
    let (mut out, x) = (output(96), input(64));
    let mut selu = |scale, alpha| failure(plugin.selu(launch(), &mut out, &x, scale, alpha)).1;
    let alpha = 1.6732632423543772;
    assert_eq!(selu(2.0, 0.5), "2 0.5 0.25", "the plugin knows an attribute that this library does not");
    assert_eq!(selu(2.0, alpha), "2 1.5 0.25", "a last attribute with its default is left out");

    let mut relu =
        |threshold, value| failure(plugin.thresholded_relu(launch(), &mut out, &x, threshold, value));
    assert_eq!(relu(2.0, 0.0).1, "2", "the plugin does not know an attribute with its default");
    let refused = relu(2.0, 0.5);
    assert_eq!(refused, (Status::FAILED, "the method takes 3 arguments, not 4".to_owned()));
}
