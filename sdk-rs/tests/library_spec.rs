//! A C library with a status enum, opaque handles and handles that may only be read, called through an import.

use std::ffi::{CStr, c_char, c_int, c_void};
use std::path::Path;
use std::process::Command;

mod blocks {
    tenon_spec_macros::interface!("blocks", spec = "../codegen/tests/library/spec");
}

use blocks::{BlockStatus, Blocks, Layout, ffi};

// SAFETY: these are the C library's, which every program is linked with.
unsafe extern "C" {
    fn dlopen(path: *const c_char, flags: c_int) -> *mut c_void;
    fn dlsym(library: *mut c_void, name: *const c_char) -> *mut c_void;
}

/// Compiles the library in C and loads it; each test has its own, because tests run side by side.
fn load(name: &str) -> Blocks {
    let here = Path::new(env!("CARGO_MANIFEST_DIR"));
    let codegen = here.parent().expect("a crate has a folder above it").join("codegen/tests/library");
    let library = Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("lib{name}.so"));
    let compiled = Command::new("cc")
        .args(["-std=c11", "-Wall", "-Wextra", "-Wpedantic", "-Werror", "-shared", "-fPIC", "-I"])
        .arg(codegen.join("expected/include"))
        .arg(codegen.join("library.c"))
        .arg("-o")
        .arg(&library)
        .output()
        .unwrap_or_else(|_| panic!("`cc` is not installed: apt-get install gcc libc6-dev"));
    assert!(compiled.status.success(), "{}", String::from_utf8_lossy(&compiled.stderr));
    let path = std::ffi::CString::new(library.to_str().expect("the path is text")).expect("without a zero");
    // SAFETY: the library has no constructors; symbols have the signatures of the header that it was compiled with.
    unsafe {
        let handle = dlopen(path.as_ptr(), 2);
        assert!(!handle.is_null(), "the library can be loaded");
        Blocks::load(|name: &CStr| dlsym(handle, name.as_ptr()))
    }
}

#[test]
fn handles_of_a_library_are_yielded_read_and_destroyed() {
    let library = load("blocks_handles");
    assert!(library.missing().is_empty());
    let mut numbers = [[0.0f32; 6], [1.0; 6], [2.0; 6]];
    // SAFETY: the handles are live ones, and the pointers are of this frame.
    unsafe {
        let layout: Layout = library.layout_create(2, [2, 3].as_ptr()).unwrap();
        let copy = library.layout_clone(layout).unwrap();
        assert_eq!(library.layout_query(copy).unwrap(), (2, 24));
        library.layout_destroy(layout).unwrap();
        let memories =
            numbers.each_mut().map(|data| library.memory_create(copy, data.as_mut_ptr().cast()).unwrap());
        let of_memory = library.memory_get_layout(memories[1]).unwrap();
        assert_eq!(library.layout_query(of_memory).unwrap().1, 24);
        let inputs = [memories[1].as_raw().cast_const(), memories[2].as_raw().cast_const()];
        library.sum_many(memories[0], 2, inputs.as_ptr()).unwrap();
        let arguments = [0, 1, 1, 2]
            .map(|index: usize| ffi::blk_argument_t { index: 0, memory: memories[index].as_raw() });
        library.sum_execute(4, arguments.as_ptr()).unwrap();
        for memory in memories {
            library.memory_destroy(memory).unwrap();
        }
        library.layout_destroy(copy).unwrap();
    }
    assert_eq!(numbers[0], [4.0; 6]);
}

#[test]
fn refusal_of_a_library_is_an_error_with_its_status() {
    let library = load("blocks_refusal");
    // SAFETY: the dimensions are of this frame.
    let error = unsafe { library.layout_create(1, [-1].as_ptr()) }.unwrap_err();
    assert_eq!(error.status, BlockStatus::INVALID_ARGUMENTS);
    assert!(error.message.contains("layout_create"), "{}", error.message);
}
