//! Objects that a host calls: a struct of the ABI, and behind it the value that implements its functions.

use std::any::Any;
use std::collections::{BTreeMap, btree_map::Entry};
use std::ffi::c_void;
use std::ops::Deref;
use std::ptr::NonNull;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use super::argument::refuse_null;
use crate::error::{Error, StatusCode};

/// The trait of a kind of object, as the type of a value that implements it: `dyn Stream`.
pub trait ObjectKind: 'static {
    /// The struct that the host knows.
    type Raw: 'static;
    /// The host that objects are made for.
    type Host: Copy + 'static;

    /// Its name in the spec.
    const NAME: &'static str;

    /// Returns the struct for a value. `owner` is the object whose function makes it, or null.
    fn raw(&self, host: Self::Host, owner: *mut c_void) -> Self::Raw;
}

/// An object. The host has the address of its first member.
#[repr(C)]
pub struct Object<K: ObjectKind + ?Sized> {
    raw: K::Raw,
    host: K::Host,
    value: Box<K>,
}

impl<K: ObjectKind + ?Sized> Object<K> {
    /// Returns the value that implements the functions.
    pub fn value(&self) -> &K {
        &self.value
    }

    /// Makes an object that this one owns.
    pub fn make<M: ObjectKind<Host = K::Host> + ?Sized>(&self, value: Box<M>) -> *mut M::Raw {
        make_object(self.host, (&raw const *self).cast_mut().cast(), value)
    }

    /// Makes as many objects as `count` says, and writes their addresses to `place`. Both come with their names.
    ///
    /// # Errors
    /// If there are more or fewer values. No object is made then.
    ///
    /// # Safety
    /// There is room for them.
    pub unsafe fn make_all<S: StatusCode, M: ObjectKind<Host = K::Host> + ?Sized>(
        &self,
        (name, place): (&str, *mut *mut M::Raw),
        (count_name, count): (&str, impl TryInto<usize> + std::fmt::Display + Copy),
        values: Vec<Box<M>>,
    ) -> Result<(), Error<S>> {
        let expected = super::argument::count(count_name, count)?;
        if values.len() != expected {
            let message = format!("`{name}` is {} objects, but `{count_name}` is {count}", values.len());
            return Err(Error::new(S::INTERNAL, message));
        }
        for (index, value) in values.into_iter().enumerate() {
            let made = self.make(value);
            // SAFETY: the caller promises the room, and the index is below the number of objects.
            unsafe { place.add(index).write(made) };
        }
        Ok(())
    }
}

/// An object that an implementation keeps, and lends to a host. It is released when this is dropped.
pub struct Made<K: ObjectKind + ?Sized>(NonNull<K::Raw>);

// SAFETY: it is a box of a value that threads may share, as the traits of objects require.
unsafe impl<K: ObjectKind + ?Sized + Send + Sync> Send for Made<K> {}
// SAFETY: as above.
unsafe impl<K: ObjectKind + ?Sized + Send + Sync> Sync for Made<K> {}

impl<K: ObjectKind + ?Sized> Made<K> {
    /// Makes an object. `owner` is the address of the object that lends it, or null.
    pub fn new(host: K::Host, owner: *mut c_void, value: Box<K>) -> Self {
        // The address of a box is not null.
        Self(NonNull::new(make_object(host, owner, value)).unwrap_or(NonNull::dangling()))
    }

    /// Returns the address that the host knows.
    pub fn as_raw(&self) -> *mut K::Raw {
        self.0.as_ptr()
    }
}

impl<K: ObjectKind + ?Sized> Deref for Made<K> {
    type Target = K;

    fn deref(&self) -> &K {
        // SAFETY: it was made for this kind, and is alive until this is dropped.
        unsafe { self.0.cast::<Object<K>>().as_ref() }.value()
    }
}

impl<K: ObjectKind + ?Sized> Drop for Made<K> {
    fn drop(&mut self) {
        // SAFETY: the host gives up what it was lent before its owner ends.
        if let Err(message) = unsafe { release::<K>("object", self.as_raw()) } {
            crate::log::write_line(format_args!("{message}"));
        }
    }
}

/// A value of an implementation's own, which a host keeps as an address.
pub type OwnValue = dyn Any + Send + Sync;

/// The name of own values among the objects.
const OWN: &str = "own value";

/// Keeps a value for the host, and returns its address.
pub fn keep_value(value: Box<OwnValue>) -> *mut c_void {
    let kept = Box::into_raw(Box::new(value));
    known().insert(kept.addr(), Known { kind: OWN, is_alive: true });
    kept.cast()
}

/// Returns a value that the host keeps.
///
/// # Errors
/// If it is null; while objects are watched, also if it is not alive.
///
/// # Safety
/// It is null, or of [`keep_value`], and alive as long as the result is used.
pub unsafe fn own_value<'a, S: StatusCode>(
    name: &str,
    kept: *const c_void,
) -> Result<&'a OwnValue, Error<S>> {
    refuse_null(name, kept.is_null())?;
    if IS_WATCHED.load(Ordering::Acquire) {
        check(name, kept.addr(), OWN).map_err(Error::invalid)?;
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { &**kept.cast::<Box<OwnValue>>() })
}

/// Releases a value that the host keeps. Ignores null.
///
/// # Errors
/// If it is not alive, or not of this library. Nothing is dropped then.
///
/// # Safety
/// No thread uses the value.
pub unsafe fn release_value<S: StatusCode>(name: &str, kept: *const c_void) -> Result<(), Error<S>> {
    if kept.is_null() {
        return Ok(());
    }
    let kept_value = kept.cast_mut().cast::<Box<OwnValue>>();
    if forget(name, kept.addr(), OWN).map_err(Error::invalid)? {
        // SAFETY: it was alive, and this is the only release. Its memory stays, so that its address is not used again.
        unsafe { kept_value.drop_in_place() };
    } else {
        // SAFETY: it was alive, and this is the only release; it was made from a box.
        drop(unsafe { Box::from_raw(kept_value) });
    }
    Ok(())
}

/// The objects of this library: their addresses and kinds. Released objects stay while objects are watched.
static KNOWN: Mutex<BTreeMap<usize, Known>> = Mutex::new(BTreeMap::new());

struct Known {
    kind: &'static str,
    is_alive: bool,
}

impl Known {
    fn is_live(&self, kind: &str) -> bool {
        self.is_alive && self.kind == kind
    }
}

static IS_WATCHED: AtomicBool = AtomicBool::new(false);

fn known() -> MutexGuard<'static, BTreeMap<usize, Known>> {
    KNOWN.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Watches objects from now on: a call of a function checks that its object is alive and of the right kind, which costs a
/// lock. The memory of a released object is not used again, so that no other object takes its address.
pub fn watch_objects() {
    IS_WATCHED.store(true, Ordering::Release);
}

/// Makes an object for a host.
pub fn make_object<K: ObjectKind + ?Sized>(host: K::Host, owner: *mut c_void, value: Box<K>) -> *mut K::Raw {
    let raw = value.raw(host, owner);
    let object = Box::into_raw(Box::new(Object { raw, host, value }));
    known().insert(object.addr(), Known { kind: K::NAME, is_alive: true });
    object.cast()
}

/// Returns the object of a call, whose function is one of its own.
///
/// # Errors
/// If it is null; while objects are watched, also if it is not alive.
///
/// # Safety
/// It is null, or [`make_object`] made it for this kind, and it is alive as long as the result is used.
#[inline]
pub unsafe fn object<'a, S: StatusCode, K: ObjectKind + ?Sized>(
    name: &str,
    raw: *const K::Raw,
) -> Result<&'a Object<K>, Error<S>> {
    refuse_null(name, raw.is_null())?;
    if IS_WATCHED.load(Ordering::Acquire) {
        check(name, raw.addr(), K::NAME).map_err(Error::invalid)?;
    }
    // SAFETY: the caller's promise; the struct is the first member.
    Ok(unsafe { &*raw.cast::<Object<K>>() })
}

/// Returns the host of an object; `None` for null, and for an object that is not alive while objects are watched.
///
/// # Safety
/// As for [`object`].
pub unsafe fn host_of<K: ObjectKind + ?Sized>(raw: *const K::Raw) -> Option<K::Host> {
    let is_usable = !raw.is_null() && (!IS_WATCHED.load(Ordering::Acquire) || is_alive::<K>(raw));
    // SAFETY: the caller's promise; the struct is the first member.
    is_usable.then(|| unsafe { (*raw.cast::<Object<K>>()).host })
}

/// Returns the value of an object that is passed to a function of another one.
///
/// # Errors
/// If it is null, not alive, or not an object of this library and kind.
///
/// # Safety
/// It is not released as long as the result is used.
pub unsafe fn given_object<'a, S: StatusCode, K: ObjectKind + ?Sized>(
    name: &str,
    raw: *const K::Raw,
) -> Result<&'a K, Error<S>> {
    refuse_null(name, raw.is_null())?;
    check(name, raw.addr(), K::NAME).map_err(Error::invalid)?;
    // SAFETY: it is alive and of this kind, and the caller promises that it stays alive.
    Ok(unsafe { &*raw.cast::<Object<K>>() }.value())
}

/// Returns the value of an object as [`given_object`] does; `None` for null.
///
/// # Errors
/// If it is not alive, or not an object of this library and kind.
///
/// # Safety
/// As for [`given_object`].
pub unsafe fn given_object_or_null<'a, S: StatusCode, K: ObjectKind + ?Sized>(
    name: &str,
    raw: *const K::Raw,
) -> Result<Option<&'a K>, Error<S>> {
    if raw.is_null() {
        return Ok(None);
    }
    // SAFETY: the caller's promise.
    unsafe { given_object(name, raw) }.map(Some)
}

/// Releases an object: drops its value. Ignores null.
///
/// # Errors
/// If it is not alive, or not an object of this library and kind. Nothing is dropped then.
///
/// # Safety
/// No thread uses the object.
pub unsafe fn release_object<S: StatusCode, K: ObjectKind + ?Sized>(
    name: &str,
    raw: *const K::Raw,
) -> Result<(), Error<S>> {
    if raw.is_null() {
        return Ok(());
    }
    // SAFETY: the caller's promise.
    unsafe { release::<K>(name, raw) }.map_err(Error::invalid)
}

/// Releases an object as [`release_object`] does; the error is a message.
unsafe fn release<K: ObjectKind + ?Sized>(name: &str, raw: *const K::Raw) -> Result<(), String> {
    let object = raw.cast_mut().cast::<Object<K>>();
    if forget(name, raw.addr(), K::NAME)? {
        // SAFETY: it was alive, and this is the only release. Its memory stays, so that its address is not used again.
        unsafe { (&raw mut (*object).value).drop_in_place() };
    } else {
        // SAFETY: it was alive, and this is the only release; it was made from a box.
        drop(unsafe { Box::from_raw(object) });
    }
    Ok(())
}

/// Releases each object of an array as [`release_object`] does. Returns the first error, after all were tried.
///
/// # Errors
/// As for [`release_object`].
///
/// # Safety
/// The array has `count` addresses, and no thread uses the objects.
pub unsafe fn release_objects<S: StatusCode, K: ObjectKind + ?Sized>(
    name: &str,
    array: *const *mut K::Raw,
    count: usize,
) -> Result<(), Error<S>> {
    refuse_null(name, array.is_null() && count > 0)?;
    let mut outcome = Ok(());
    for index in 0..count {
        // SAFETY: the caller's promise.
        let released = unsafe { release_object::<S, K>(name, *array.add(index)) };
        outcome = outcome.and(released);
    }
    outcome
}

fn is_alive<K: ObjectKind + ?Sized>(raw: *const K::Raw) -> bool {
    known().get(&raw.addr()).is_some_and(|known| known.is_live(K::NAME))
}

/// Forgets an object that is released. Returns true if its memory has to stay, because objects are watched.
///
/// Another thread may release it too, so finding and forgetting it is one step.
fn forget(name: &str, address: usize, kind: &str) -> Result<bool, String> {
    let is_watched = IS_WATCHED.load(Ordering::Acquire);
    match known().entry(address) {
        Entry::Occupied(mut entry) if entry.get().is_live(kind) => {
            if is_watched {
                entry.get_mut().is_alive = false;
            } else {
                entry.remove();
            }
            Ok(is_watched)
        }
        Entry::Occupied(entry) => Err(unfit(name, address, kind, Some(entry.get()))),
        Entry::Vacant(_) => Err(unfit(name, address, kind, None)),
    }
}

fn check(name: &str, address: usize, kind: &str) -> Result<(), String> {
    let known = known();
    match known.get(&address) {
        Some(object) if object.is_live(kind) => Ok(()),
        object => Err(unfit(name, address, kind, object)),
    }
}

#[cold]
fn unfit(name: &str, address: usize, kind: &str, known: Option<&Known>) -> String {
    let is = match known {
        None => "none of this library, or it was released".to_owned(),
        Some(known) if !known.is_alive => "released".to_owned(),
        Some(known) => format!("an object of the kind `{}`", known.kind),
    };
    format!("`{name}` is no live `{kind}`: {address:#x} is {is}")
}
