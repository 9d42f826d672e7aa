//! The tables of the host as the provider gets them: copies in which the functions that add kernels are others.
//!
//! A provider hands kernels to the host by a function that makes them, so the layers see a kernel only if that function is
//! theirs.

use std::ffi::{CStr, c_char, c_void};
use std::sync::OnceLock;

use tenon::support::Mutex;
use tenon_onnxruntime::between::{ep_slot, runtime_slot};

use crate::{front, objects};

/// The table by which a host gives others.
#[repr(C)]
#[derive(Clone, Copy)]
struct Base {
    get_api: unsafe extern "C-unwind" fn(u32) -> *const c_void,
    get_version: unsafe extern "C-unwind" fn() -> *const c_char,
}

type GetEpApi = unsafe extern "C-unwind" fn() -> *const c_void;
/// Makes the kernel of a node.
type Create = unsafe extern "C-unwind" fn(*mut c_void, *const c_void, *mut *mut c_void) -> *mut c_void;
type AddKernel =
    unsafe extern "C-unwind" fn(*mut c_void, *const c_void, Option<Create>, *mut c_void) -> *mut c_void;
type GetText = unsafe extern "C-unwind" fn(*const c_void, *mut c_char, *mut usize) -> *mut c_void;
type ReleaseStatus = unsafe extern "C-unwind" fn(*mut c_void);

/// The host, and what it gives.
struct Host {
    base: Base,
    /// The copies of its table, by the release that was asked for.
    tables: Mutex<Vec<(u32, usize)>>,
}

static HOST: OnceLock<Host> = OnceLock::new();
/// The table of the newest release that the provider asked for, and those of execution providers: the host's, and the copy.
static RUNTIME: OnceLock<usize> = OnceLock::new();
static OF_PROVIDERS: OnceLock<(usize, usize)> = OnceLock::new();

/// Returns a table in place of that of the host.
///
/// # Safety
/// `base` is the host's, and stays as long as the process.
pub(crate) unsafe fn behind(base: *const c_void) -> *const c_void {
    static TABLE: Base = Base { get_api, get_version };
    // SAFETY: the caller's promise.
    HOST.get_or_init(|| Host { base: unsafe { *base.cast::<Base>() }, tables: Mutex::default() });
    (&raw const TABLE).cast()
}

/// Returns the number of the host's release: the second one of its version.
pub(crate) fn release() -> u32 {
    let Some(host) = HOST.get() else { return 0 };
    // SAFETY: the host's function, which returns a text that stays.
    let version = unsafe { CStr::from_ptr((host.base.get_version)()) }.to_string_lossy();
    version.split('.').nth(1).and_then(|number| number.parse().ok()).unwrap_or_default()
}

unsafe extern "C-unwind" fn get_version() -> *const c_char {
    match HOST.get() {
        // SAFETY: the host's function.
        Some(host) => unsafe { (host.base.get_version)() },
        None => std::ptr::null(),
    }
}

unsafe extern "C-unwind" fn get_api(release: u32) -> *const c_void {
    let Some(host) = HOST.get() else { return std::ptr::null() };
    // SAFETY: the host's function.
    let table = unsafe { (host.base.get_api)(release) };
    if table.is_null() {
        return table;
    }
    let mut tables = host.tables.lock();
    if let Some((_, copy)) = tables.iter().find(|(known, _)| *known == release) {
        return *copy as *const c_void;
    }
    // SAFETY: a table of the host, which stays.
    let copy = unsafe { copied(table) };
    let _ = RUNTIME.set(table as usize);
    if let Some(slot) = runtime_slot(c"GetEpApi").filter(|slot| *slot < copy.len()) {
        copy[slot] = get_ep_api as *const () as usize;
    }
    tables.push((release, copy.as_ptr() as usize));
    copy.as_ptr().cast()
}

unsafe extern "C-unwind" fn get_ep_api() -> *const c_void {
    let (_, copy) = *OF_PROVIDERS.get_or_init(|| {
        // SAFETY: the provider got this function from a copy of the table.
        unsafe {
            let get: GetEpApi = std::mem::transmute(function(runtime_slot(c"GetEpApi")));
            let table = get();
            if table.is_null() {
                return (0, 0);
            }
            let copy = copied(table);
            if let Some(slot) = ep_slot(c"KernelRegistry_AddKernel").filter(|slot| *slot < copy.len()) {
                copy[slot] = add_kernel as *const () as usize;
            }
            (table as usize, copy.as_ptr() as usize)
        }
    });
    copy as *const c_void
}

/// Returns the address of a function of the host.
///
/// # Safety
/// The provider has asked for the table, and the function is in it.
unsafe fn function(slot: Option<usize>) -> usize {
    match (RUNTIME.get(), slot) {
        // SAFETY: the caller's promise.
        (Some(table), Some(slot)) => unsafe { *(*table as *const usize).add(slot) },
        _ => 0,
    }
}

/// Copies a table. It ends where no function of the host's library follows. The copy stays.
///
/// # Safety
/// The table is the host's.
unsafe fn copied(table: *const c_void) -> &'static mut [usize] {
    let table = table.cast::<usize>();
    // SAFETY: a table has a function, and ends before its library does: other data of the library follows it.
    let first = unsafe { library_of(*table) };
    let length = (0..).take_while(|index| {
        // SAFETY: as above.
        let address = unsafe { *table.add(*index) };
        first.is_some() && library_of(address) == first
    });
    let words = length.map(|index| {
        // SAFETY: as above.
        unsafe { *table.add(index) }
    });
    Box::leak(words.collect::<Vec<usize>>().into_boxed_slice())
}

/// Returns the address of the library that contains an address.
pub(crate) fn library_of(address: usize) -> Option<usize> {
    let mut found = std::mem::MaybeUninit::<libc::Dl_info>::zeroed();
    // SAFETY: any address is allowed, and the place can be written. Zeros are valid.
    let is_known = unsafe { libc::dladdr(address as *const c_void, found.as_mut_ptr()) } != 0;
    // SAFETY: zeros, or filled by the call.
    is_known.then(|| unsafe { found.assume_init() }.dli_fbase as usize)
}

/// A function of the provider that makes kernels, with its state.
struct Maker {
    create: Create,
    state: usize,
}

unsafe extern "C-unwind" fn add_kernel(
    registry: *mut c_void,
    definition: *const c_void,
    create: Option<Create>,
    state: *mut c_void,
) -> *mut c_void {
    let Some((table, slot)) = OF_PROVIDERS.get().zip(ep_slot(c"KernelRegistry_AddKernel")) else {
        return std::ptr::null_mut();
    };
    // SAFETY: the host's function of this name.
    let add: AddKernel = unsafe { std::mem::transmute(*(table.0 as *const usize).add(slot)) };
    // The host calls it as long as the registry lives, and the provider does not tell when that ends.
    let maker = create.map(|create| &*Box::leak(Box::new(Maker { create, state: state as usize })));
    let state = maker.map_or(state, |maker| (&raw const *maker).cast_mut().cast());
    // SAFETY: the arguments of the provider, but for the function, which passes its arguments on.
    unsafe { add(registry, definition, maker.map(|_| create_kernel as Create), state) }
}

unsafe extern "C-unwind" fn create_kernel(
    state: *mut c_void,
    info: *const c_void,
    kernel: *mut *mut c_void,
) -> *mut c_void {
    // SAFETY: the state that `add_kernel` has given.
    let maker = unsafe { &*state.cast::<Maker>() };
    // SAFETY: the node is the host's.
    let node = unsafe { node(info) };
    let call = crate::trace::Call::begin("OrtKernelCreateFunc", Some(&node));
    // SAFETY: the arguments of the host, with the state of the provider.
    let status = unsafe { (maker.create)(maker.state as *mut c_void, info, kernel) };
    call.end(status.is_null());
    if status.is_null() && !kernel.is_null() {
        // SAFETY: the provider has written a kernel, which nothing uses yet.
        unsafe { front::adopt(objects::kind("OrtKernelImpl"), *kernel, "OrtKernelCreateFunc", Some(node)) };
    }
    status
}

/// Returns the operator and the name of a node.
///
/// # Safety
/// `info` is the host's.
unsafe fn node(info: *const c_void) -> String {
    // SAFETY: the caller's promise.
    let texts =
        [c"KernelInfo_GetOperatorType", c"KernelInfo_GetNodeName"].map(|name| unsafe { text(name, info) });
    texts.into_iter().flatten().filter(|text| !text.is_empty()).collect::<Vec<_>>().join(" ")
}

/// # Safety
/// The function of this name takes the information, a buffer and its size.
unsafe fn text(name: &CStr, info: *const c_void) -> Option<String> {
    // SAFETY: functions of the host, of these signatures.
    unsafe {
        let get = function(runtime_slot(name));
        if get == 0 {
            return None;
        }
        let get: GetText = std::mem::transmute(get);
        let release: ReleaseStatus = std::mem::transmute(function(runtime_slot(c"ReleaseStatus")));
        let mut size = 0;
        let status = get(info, std::ptr::null_mut(), &raw mut size);
        if !status.is_null() {
            release(status);
        }
        let mut buffer = vec![0_u8; size.clamp(1, 1 << 16)];
        size = buffer.len();
        let status = get(info, buffer.as_mut_ptr().cast(), &raw mut size);
        if !status.is_null() {
            release(status);
            return None;
        }
        Some(CStr::from_bytes_until_nul(&buffer).ok()?.to_string_lossy().into_owned())
    }
}
