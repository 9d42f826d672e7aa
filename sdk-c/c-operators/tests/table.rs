//! A table that a C compiler has made: its functions get the arguments of the methods, and their answers arrive.

use std::path::{Path, PathBuf};
use std::process::Command;

use tenon::DevicePtr;
use tenon::device::{DataType, DeviceId, Result, Status, Stream};
use tenon::operators::{
    Activation, Gating, Indexing, Launch, Layout, Operators, OptimizerLists, Random, Sorting, TensorMut,
    TensorRef,
};
use tenon_c_operators::{CTable, TenonOperators};

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

/// Compiles `table.c` and reads its table.
fn table(test: &str) -> CTable {
    let library = scratch(&format!("libtable_{test}.so"));
    compile("cc", "-std=c11", "table.c", &library);
    // SAFETY: the library has no initialisers, its function has this type, and it stays loaded.
    unsafe {
        let library = std::mem::ManuallyDrop::new(libloading::Library::new(&library).unwrap());
        let table = library.get::<unsafe extern "C" fn() -> *const TenonOperators>(b"table\0").unwrap();
        CTable::read(table(), "a plugin").unwrap()
    }
}

fn launch() -> Launch {
    Launch { device: DeviceId(3), stream: Stream::from_addr(70) }
}

/// Creates a tensor at an address that nothing uses.
fn input(address: usize) -> TensorRef<'static> {
    let first = DevicePtr::from_addr(address);
    let layout = Layout::new(&[2, 3], &[-3, 1]).unwrap();
    // SAFETY: no function of the table uses the memory.
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
fn functions_of_the_table_are_provided_for_their_types() {
    let table = table("provided");
    assert!(table.provides("relu", DataType::FLOAT32) && table.provides("relu", DataType::BFLOAT16));
    assert!(!table.provides("relu", DataType::FLOAT64));
    assert!(table.provides("dropout", DataType::COMPLEX128));
    assert!(!table.provides("gelu", DataType::FLOAT32) && !table.provides("no_method", DataType::FLOAT32));
}

#[test]
fn launch_tensors_and_attributes_arrive() {
    let (mut out, mut mask) = (output(96), output(128));
    let result = table("attributes").dropout(
        launch(),
        &mut out,
        Some(&mut mask),
        &input(64),
        0.5,
        true,
        "upscale",
        &[1, -1],
        7,
        8,
    );
    let message = "device 3, stream 70; out 1 at 96 4:1; mask 1 at 128 4:1; x 11 at 64 2:-3 3:1; 0.5 1 upscale \
                   axis 1 axis -1 7 8";
    assert_eq!(failure(result), (Status::ERROR, message.to_owned()));
}

#[test]
fn absent_tensors_are_null() {
    let table = table("optional");
    let result =
        table.swiglu_halves_grad(launch(), None, Some(&mut output(96)), &input(64), None, &input(65));
    let message = "dx null; dgated 1 at 96 4:1; x 11 at 64 2:-3 3:1; gated null; dout 11 at 65 2:-3 3:1; ";
    assert_eq!(failure(result), (Status::FAILED, message.to_owned()));
}

#[test]
fn lists_have_their_lengths() {
    let result = table("lists").merged_momentum(
        launch(),
        &mut [Some(output(96)), None],
        &mut [],
        &mut [None],
        &[input(64), input(65)],
        &[input(66)],
        &[],
        &[input(67), input(68), input(69)],
        None,
        0.25,
        false,
        &["l2_decay", ""],
        &[0.5, 2.0],
        true,
        4.0,
    );
    let message = "param_out 2: - 1 at 96 4:1; - null; master_param_out 1: - null; \
                   param 2: - 11 at 64 2:-3 3:1; - 11 at 65 2:-3 3:1; master_param null 0: \
                   0 1 0 3 'l2_decay' '' 0.5 2 0.25 0 1 4";
    assert_eq!(failure(result), (Status::INTERNAL_ERROR, message.to_owned()));
}

#[test]
fn shapes_are_returned_unless_they_are_too_long() {
    let table = table("shapes");
    assert_eq!(table.topk_out_shape(launch(), &input(64), 5, 0, true).unwrap(), [5, 3]);
    let message = "`nonzero_out_shape` returned a shape of 17 dimensions".to_owned();
    assert_eq!(failure(table.nonzero_out_shape(launch(), &input(64))), (Status::INTERNAL_ERROR, message));
}

#[test]
fn failures_have_a_message() {
    let table = table("messages");
    let (status, message) = failure(table.silu(launch(), &mut output(96), &input(64)));
    assert_eq!((status, message.as_str()), (Status::FAILED, "`silu` returned the status `failed`"));
    let (_, unended) = failure(table.relu(launch(), &mut output(96), &input(64)));
    assert_eq!(unended, "x".repeat(512));
    let (status, message) = failure(table.gelu(launch(), &mut output(96), &input(64), false));
    assert_eq!((status, message.as_str()), (Status::FAILED, "`gelu` is not implemented by this device"));
}

#[test]
fn text_with_a_zero_byte_is_refused() {
    let (mut out, mut mask) = (output(96), output(128));
    let result =
        table("text").dropout(launch(), &mut out, Some(&mut mask), &input(64), 0.5, true, "a\0b", &[], 7, 8);
    assert_eq!(failure(result), (Status::ERROR, "`mode` contains a zero byte".to_owned()));
}
