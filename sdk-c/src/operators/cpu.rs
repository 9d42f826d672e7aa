//! The operators of the built-in device, which are in a library of their own.

use std::collections::BTreeSet;
use std::ffi::CStr;
use std::sync::OnceLock;
use std::{mem, ptr};
use tenon::support::{LibraryOf, Mutex};

use libloading::os::unix::{Library, RTLD_LOCAL, RTLD_NOW};
use tenon::device::{Device as _, DeviceId};
use tenon_cpu::Cpu;
use tenon_operators::by_name::{Argument, Calls, Export, Kind, SYMBOL, Tensor};

use super::arguments::Owned;
use super::request::{Request, call, failure, unsupported};
use crate::error::Failure;

/// The file name of the library.
const NAME: &str = "libtenon_cpu_operators.so";

/// Operators on fewer elements compute on the calling thread if the stream is idle: they take less time than to hand them
/// to another thread.
const INLINE_ELEMENTS: usize = 4096;

/// Returns the functions of the library. It is loaded once, and stays loaded.
pub(super) fn calls() -> Result<Calls, Failure> {
    static CALLS: OnceLock<Result<Calls, String>> = OnceLock::new();
    CALLS.get_or_init(load).clone().map_err(unsupported)
}

fn load() -> Result<Calls, String> {
    let folders = LibraryOf::this_code().map(|library| library.folders()).unwrap_or_default();
    let paths = folders.into_iter().map(|folder| folder.join(NAME));
    let path = paths.into_iter().find(|path| path.exists()).ok_or_else(|| {
        format!("the CPU device has no operators: there is no {NAME} in the folder of libtenon")
    })?;
    let cannot = |error: libloading::Error| format!("cannot load the operators of the CPU device: {error}");
    // SAFETY: the initialisers of the library have no preconditions.
    let library = unsafe { Library::open(Some(&path), RTLD_NOW | RTLD_LOCAL) }.map_err(cannot)?;
    // SAFETY: the function has this type in all versions of the library.
    let calls = unsafe { library.get::<Export>(SYMBOL.as_bytes()).map(|export| export()) }.map_err(cannot)?;
    mem::forget(library);
    // SAFETY: null, or a struct that lives as long as the library.
    let calls = unsafe { calls.as_ref() }.filter(|calls| calls.size >= size_of::<Calls>());
    calls.copied().ok_or_else(|| format!("{} is of another version", path.display()))
}

/// Runs a method in the order of the stream: at once if it is short and the stream is idle, on a thread of the device
/// otherwise.
///
/// # Safety
/// As for [`super::calls::run`]. The memory of the tensors stays allocated until the work is done.
pub(super) unsafe fn run(
    cpu: &Cpu,
    device: DeviceId,
    calls: Calls,
    request: Request<'_>,
) -> Result<(), Failure> {
    let is_shape = !request.shape.is_null();
    if is_shape {
        cpu.synchronize_stream(device, request.stream)?;
    }
    // SAFETY: the caller's promise.
    let is_short = || unsafe { elements(request.arguments) } < INLINE_ELEMENTS;
    if is_shape || cpu.is_idle(device, request.stream) && is_short() {
        // SAFETY: the caller's promise. The library does not use the stream.
        return unsafe { call(calls, device, request.stream, request) }.map_err(failure);
    }
    let name = name_of(request.method);
    // SAFETY: the caller's promise.
    let arguments = unsafe { Owned::copy(request.arguments) };
    let (method, stream) = (request.method.to_owned(), request.stream);
    let data_type = request.data_type;
    let kernel = move || {
        let arguments = arguments.lend();
        let request =
            Request { stream, method: &method, data_type, arguments: &arguments, shape: ptr::null_mut() };
        // SAFETY: the caller of `run` promises the memory of the tensors; the rest is a copy.
        unsafe { call(calls, device, stream, request) }.map_err(|error| error.message.to_string())
    };
    cpu.launch_kernel(device, stream, name, kernel).map_err(tenon::device::Error::from)?;
    Ok(())
}

/// Returns the number of elements of the largest tensor.
///
/// # Safety
/// The arguments are as [`Request`] promises.
unsafe fn elements(arguments: &[Argument]) -> usize {
    let tensors = arguments.iter().filter(|argument| argument.kind == Kind::TENSORS && argument.count == 1);
    let count = |argument: &Argument| {
        // SAFETY: one pointer to a tensor by the caller's promise.
        let tensor: &Tensor = unsafe { argument.values.cast::<*const Tensor>().as_ref()?.as_ref() }?;
        if tensor.rank == 0 {
            return Some(1);
        }
        // SAFETY: as many as dimensions by the caller's promise.
        let dims = unsafe { std::slice::from_raw_parts(tensor.dims, tensor.rank) };
        Some(dims.iter().fold(1_usize, |count, dim| count.saturating_mul(*dim)))
    };
    tensors.filter_map(count).max().unwrap_or_default()
}

/// Returns the name of a method for traces. There are as many as operators, so they are kept.
fn name_of(method: &CStr) -> &'static str {
    static NAMES: Mutex<BTreeSet<&'static str>> = Mutex::new(BTreeSet::new());
    let name = method.to_string_lossy();
    let mut names = NAMES.lock();
    if let Some(known) = names.get(&*name) {
        return known;
    }
    let name: &'static str = name.into_owned().leak();
    names.insert(name);
    name
}
