//! The objects of the provider that are alive, with their own functions.

use std::collections::HashMap;
use std::ffi::c_void;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, LazyLock};

use tenon::support::Mutex;
use tenon::support::between::ObjectInfo;
use tenon_onnxruntime::between::OBJECTS;

/// An object of the provider.
#[derive(Debug)]
pub(crate) struct Object {
    pub(crate) kind: usize,
    /// The function that made it.
    pub(crate) made_by: &'static str,
    /// The node that it computes, for a kernel.
    pub(crate) node: Option<String>,
    /// The number of the release that it states.
    pub(crate) release: u32,
    /// The addresses of its functions; 0 for those that it lacks.
    pub(crate) functions: Vec<AtomicUsize>,
}

impl Object {
    pub(crate) fn info(&self) -> &'static ObjectInfo {
        &OBJECTS[self.kind]
    }

    /// Returns the address of one of its functions; 0 if it lacks it.
    pub(crate) fn function(&self, index: usize) -> usize {
        self.functions.get(index).map_or(0, |function| function.load(Ordering::Relaxed))
    }

    /// Notes the address of one of its functions.
    pub(crate) fn keep(&self, index: usize, function: usize) {
        if let Some(kept) = self.functions.get(index) {
            kept.store(function, Ordering::Relaxed);
        }
    }
}

/// Returns the position of a struct among the kinds of objects.
///
/// # Panics
/// If the spec has no object of this name.
pub(crate) fn kind(name: &str) -> usize {
    OBJECTS.iter().position(|info| info.name == name).expect("the spec has the object")
}

/// All objects, by their addresses.
#[derive(Default)]
struct Known {
    alive: HashMap<usize, Arc<Object>>,
    /// Those that were released. The address may be that of another one by now.
    released: HashMap<usize, Arc<Object>>,
}

static KNOWN: LazyLock<Mutex<Known>> = LazyLock::new(Mutex::default);

/// Adds an object. Returns it, and the one that was released at its address, if there was one; or `None` if it is known
/// already: some functions return the same one again.
pub(crate) fn add(address: *mut c_void, object: Object) -> Option<(Arc<Object>, Option<Arc<Object>>)> {
    let mut known = KNOWN.lock();
    if known.alive.contains_key(&address.addr()) {
        return None;
    }
    let before = known.released.remove(&address.addr());
    let object = Arc::new(object);
    known.alive.insert(address.addr(), object.clone());
    Some((object, before))
}

/// Returns an object that is alive.
pub(crate) fn get(address: *mut c_void) -> Option<Arc<Object>> {
    KNOWN.lock().alive.get(&address.addr()).cloned()
}

/// Returns an object, and whether it is alive.
pub(crate) fn get_any(address: *mut c_void) -> Option<(Arc<Object>, bool)> {
    let known = KNOWN.lock();
    let alive = known.alive.get(&address.addr()).map(|object| (object.clone(), true));
    alive.or_else(|| known.released.get(&address.addr()).map(|object| (object.clone(), false)))
}

/// Notes that an object is released.
pub(crate) fn forget(address: *mut c_void) {
    let mut known = KNOWN.lock();
    if let Some(object) = known.alive.remove(&address.addr()) {
        known.released.insert(address.addr(), object);
    }
}

/// Returns the objects that are alive, with their addresses.
pub(crate) fn alive() -> Vec<(usize, Arc<Object>)> {
    KNOWN.lock().alive.iter().map(|(address, object)| (*address, object.clone())).collect()
}
