//! The functions of the layers, which take the place of those of objects and call them.

use std::ffi::{CStr, c_char, c_void};
use std::sync::atomic::AtomicUsize;
use std::sync::{Arc, LazyLock};

use tenon::support::between::{Between, ObjectFunction, ObjectInfo, ObjectPart, Place};
use tenon_onnxruntime::between::{OBJECTS, put_in_front};

use crate::memory::{self, Request};
use crate::objects::{self, Object};
use crate::rules::Rule;
use crate::validate::report;
use crate::{FACTORY, host, settings, trace};

/// Kinds of objects that a function need not make: a factory may lack copies, streams or profiles.
const OPTIONAL: [&str; 4] = ["OrtAllocator", "OrtDataTransferImpl", "OrtSyncStreamImpl", "OrtEpProfilerImpl"];
/// The functions of allocators that give memory.
const GIVE: [&str; 3] = ["Alloc", "Reserve", "AllocOnStream"];

/// The layers in front of a function.
struct Layers;

/// A call between its begin and its end.
struct Call {
    place: Place,
    /// The address of the object's own function.
    function: usize,
    trace: trace::Call,
    request: Option<Request>,
}

/// Returns a function of a kind of object.
fn function_of(place: Place) -> (&'static str, &'static ObjectFunction) {
    let info = &OBJECTS[place.kind];
    (info.name, &info.functions[place.function])
}

/// Returns the name of a function with its struct.
fn name_of(place: Place) -> &'static str {
    static NAMES: LazyLock<Vec<Vec<String>>> = LazyLock::new(|| {
        let of = |info: &ObjectInfo| {
            info.functions.iter().map(|function| format!("{}::{}", info.name, function.name)).collect()
        };
        OBJECTS.iter().map(of).collect()
    });
    &NAMES[place.kind][place.function]
}

impl Between for Layers {
    type Call = Call;

    fn keep(place: Place, object: *mut c_void, function: usize) {
        if let Some(object) = objects::get(object) {
            object.keep(place.function, function);
        }
    }

    fn begin(place: Place, words: &mut [usize]) -> Call {
        let address = words[0] as *mut c_void;
        let (_, function) = function_of(place);
        let name = name_of(place);
        let object = objects::get_any(address);
        if let Some((_, false)) = &object {
            report(Rule::Released, name, &format!("the object {address:?} was released"));
        }
        let object = object.map(|(object, _)| object);
        let own = object.as_ref().map_or(0, |object| object.function(place.function));
        let node = object.as_ref().and_then(|object| object.node.clone());
        let mut call = trace::Call::begin(name, node.as_deref());
        let mut request = None;
        if let (Some(object), "OrtAllocator") = (&object, OBJECTS[place.kind].name) {
            if GIVE.contains(&function.name) {
                call = call.with_bytes(words[1]);
                request = Some(memory::begin(address, object, &mut words[1]));
            } else if function.name == "Free" {
                words[1] = memory::freed(name, address, words[1]);
            }
        }
        if let Some(part) = &function.releases {
            // SAFETY: the host passes as many objects as it says.
            for released in unsafe { parts(part, words, false) } {
                memory::released(released);
                objects::forget(released);
            }
        }
        Call { place, function: own, trace: call, request }
    }

    fn kept(call: &Call) -> usize {
        call.function
    }

    fn end(call: Call, words: &[usize], result: usize) -> usize {
        let (_, function) = function_of(call.place);
        let has_succeeded = !function.has_status || result == 0;
        call.trace.end(has_succeeded);
        if let Some(request) = call.request {
            return memory::given(name_of(call.place), words[0] as *mut c_void, request, result);
        }
        if has_succeeded {
            for part in function.makes {
                // SAFETY: the function has succeeded, so it has written as many objects as the host asked for.
                for made in unsafe { parts(part, words, true) } {
                    // SAFETY: an object of this kind, which nothing uses yet.
                    unsafe { adopt(part.kind, made, function.name, None) };
                }
            }
        }
        result
    }
}

/// Returns the objects among arguments. `is_out` says that the argument of a single one is its place.
///
/// # Safety
/// The arguments are those of a call.
unsafe fn parts(part: &ObjectPart, words: &[usize], is_out: bool) -> Vec<*mut c_void> {
    let argument = words[part.argument];
    let places = argument as *const *mut c_void;
    match part.count {
        None if !is_out => vec![argument as *mut c_void],
        _ if argument == 0 => Vec::new(),
        // SAFETY: the caller's promise.
        None => vec![unsafe { *places }],
        // SAFETY: as above.
        Some(count) => (0..words[count]).map(|index| unsafe { *places.add(index) }).collect(),
    }
}

/// Puts the layers in front of the functions of an object.
///
/// # Safety
/// It is null, or an object of this kind that nothing uses yet.
pub(crate) unsafe fn adopt(kind: usize, address: *mut c_void, made_by: &'static str, node: Option<String>) {
    if !settings::is_any() {
        return;
    }
    let info = &OBJECTS[kind];
    if address.is_null() {
        if !OPTIONAL.contains(&info.name) {
            report(Rule::NoObject, made_by, &format!("it succeeded without an object `{}`", info.name));
        }
        return;
    }
    // SAFETY: an object of this kind begins with its members.
    let release = info.release_at.map_or(0, |at| unsafe { address.byte_add(at).cast::<u32>().read() });
    if !memory::is_writable(address) {
        report(
            Rule::ReadOnly,
            made_by,
            &format!("an object `{}` cannot be written, and is not watched", info.name),
        );
        return;
    }
    let functions = info.functions.iter().map(|_| AtomicUsize::new(0)).collect();
    let object = Object { kind, made_by, node, release, functions };
    let Some((object, before)) = objects::add(address, object) else { return };
    // SAFETY: the caller's promise; it can be written.
    unsafe { put_in_front::<Layers>(kind, address, release) };
    if let Some(before) = before {
        // A provider that makes the same object again has left the layers in it.
        for index in 0..info.functions.len() {
            if is_of_layers(object.function(index)) {
                object.keep(index, before.function(index));
            }
        }
    }
    check(address, &object);
}

/// Returns true if a function is one of this library.
fn is_of_layers(function: usize) -> bool {
    static OWN: LazyLock<Option<usize>> = LazyLock::new(|| host::library_of(adopt as *const () as usize));
    OWN.is_some() && host::library_of(function) == *OWN
}

/// Checks what an object states.
fn check(address: *mut c_void, object: &Arc<Object>) {
    let (info, of_host) = (object.info(), host::release());
    if object.release == 0 || object.release > of_host {
        let message =
            format!("`{}` states the release {}, and the host is 1.{of_host}", info.name, object.release);
        report(Rule::Version, object.made_by, &message);
    }
    for (index, function) in info.functions.iter().enumerate() {
        if function.is_required && function.since <= object.release.max(1) && object.function(index) == 0 {
            let message = format!("`{}` has no function `{}`", info.name, function.name);
            report(Rule::MissingFunction, object.made_by, &message);
        }
    }
    if info.name == "OrtEp" {
        let factory = objects::alive().into_iter().find(|(_, other)| other.info().name == FACTORY);
        let names = factory.map(|(factory, of)| (name(factory as *mut c_void, &of), name(address, object)));
        if let Some((Some(factory), Some(own))) = names
            && factory != own
        {
            report(
                Rule::OtherName,
                object.made_by,
                &format!("the provider is `{own}`, and its factory `{factory}`"),
            );
        }
    }
}

/// Returns the name that an object states by its function `GetName`.
fn name(address: *mut c_void, object: &Object) -> Option<String> {
    type GetName = unsafe extern "C-unwind" fn(*const c_void) -> *const c_char;
    let index = object.info().functions.iter().position(|function| function.name == "GetName")?;
    let function = Some(object.function(index)).filter(|function| *function != 0)?;
    // SAFETY: the object's function of this signature, which returns a text that stays.
    unsafe {
        let get: GetName = std::mem::transmute(function);
        let name = get(address);
        (!name.is_null()).then(|| CStr::from_ptr(name).to_string_lossy().into_owned())
    }
}
