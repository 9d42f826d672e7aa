//! Tiles: elements of tensors in any layout, converted to the compute type and back.
//!
//! There is one conversion for each pair of types, shared by all operators.

use std::marker::PhantomData;
use std::num::Wrapping;
use std::slice;

use half::{bf16, f16};

use crate::cast::Cast;
use crate::elements::dtype::{DType, Element};
use crate::elements::element::Bool;
use crate::error::{Error, Result};
use crate::loops::simd::wide;
use crate::loops::walk::Walk;
use crate::numeric::Numeric;
use crate::tensor::{View, ViewMut};

/// The number of elements of a tile: small enough that the tiles of all tensors fit on the stack and stay in
/// the first-level cache.
pub(crate) const TILE: usize = 512;

/// Loads the next elements of a walk from memory at an address.
type Load<T> = unsafe fn(*const u8, &mut Walk<1>, &mut [T]);
/// Stores the next elements of a walk to memory at an address.
type Store<T> = unsafe fn(*mut u8, &mut Walk<1>, &[T]);

/// A compute type.
pub(crate) trait Compute: Numeric + Element {
    /// Returns the function that loads elements of a type, if they can be converted to this compute type.
    fn loader(dtype: DType) -> Option<Load<Self>>;
    /// Returns the function that stores numbers as elements of a type.
    fn storer(dtype: DType) -> Option<Store<Self>>;
}

macro_rules! compute {
    ($($compute:ty)*) => {$(
        compute! { $compute: Bool U8 u8, I8 i8, I16 i16, I32 i32, I64 i64, F16 f16, Bf16 bf16, F32 f32, F64 f64 }
    )*};
    ($compute:ty: Bool $($variant:ident $stored:ty),*) => {
        impl Compute for $compute {
            fn loader(dtype: DType) -> Option<Load<Self>> {
                Some(match dtype {
                    DType::Bool => load::<Bool, Self>,
                    $(DType::$variant => load::<$stored, Self>,)*
                    DType::Complex64 | DType::Complex128 => return None,
                })
            }

            fn storer(dtype: DType) -> Option<Store<Self>> {
                Some(match dtype {
                    DType::Bool => store::<Bool, Self>,
                    $(DType::$variant => store::<$stored, Self>,)*
                    DType::Complex64 | DType::Complex128 => return None,
                })
            }
        }
    };
}
compute!(f32 f64 Wrapping<i64>);

/// Reads the elements of an input in row-major order.
#[derive(Debug)]
pub(crate) struct Reader<'v, T> {
    base: *const u8,
    walk: Walk<1>,
    load: Load<T>,
    view: PhantomData<&'v [u8]>,
}

impl<'v, T: Compute> Reader<'v, T> {
    /// Creates a reader of an input, broadcast to a shape without zeros.
    ///
    /// # Errors
    /// [`Error::Broadcast`] and [`Error::Type`].
    pub(crate) fn new(view: &View<'v>, dims: &[usize]) -> Result<Self> {
        Self::along(view, view.walk(dims)?)
    }

    /// Creates a reader of a non-empty input. The last of the given dimensions varies fastest.
    ///
    /// # Errors
    /// [`Error::Type`].
    pub(crate) fn in_order(view: &View<'v>, axes: impl Iterator<Item = usize>) -> Result<Self> {
        Self::along(view, view.walk_in_order(axes))
    }

    /// Creates a reader that follows a walk over elements of the view.
    fn along(view: &View<'v>, walk: Walk<1>) -> Result<Self> {
        let load = T::loader(view.dtype()).ok_or(Error::Type { dtype: view.dtype() })?;
        Ok(Self { base: view.base(), walk, load, view: PhantomData })
    }

    /// Reads the next elements. Starts again after the last one.
    pub(crate) fn read(&mut self, tile: &mut [T]) {
        // SAFETY: the walk visits elements of the view, which by the contract of `View::from_raw` are live
        // and not written at this time; the loader is the one for their type.
        unsafe { (self.load)(self.base, &mut self.walk, tile) }
    }
}

/// Writes the elements of an output in row-major order.
#[derive(Debug)]
pub(crate) struct Writer<'v, T> {
    base: *mut u8,
    walk: Walk<1>,
    store: Store<T>,
    view: PhantomData<&'v mut [u8]>,
}

impl<'v, T: Compute> Writer<'v, T> {
    /// Creates a writer of a non-empty output.
    ///
    /// # Errors
    /// [`Error::Type`].
    pub(crate) fn new(view: &'v mut ViewMut<'_>) -> Result<Self> {
        let store = T::storer(view.dtype()).ok_or(Error::Type { dtype: view.dtype() })?;
        Ok(Self { base: view.base(), walk: view.walk(), store, view: PhantomData })
    }

    /// Writes the next elements. Starts again after the last one.
    pub(crate) fn write(&mut self, tile: &[T]) {
        // SAFETY: the walk visits elements of the view, which by the contract of `ViewMut::from_raw` are live
        // and not accessed elsewhere at this time; the function is the one for their type.
        unsafe { (self.store)(self.base, &mut self.walk, tile) }
    }
}

/// Converts all elements at once if one of the tensors is contiguous and has the compute type. Otherwise, or
/// if the tensors share memory, returns false and writes nothing.
///
/// # Errors
/// [`Error::Type`].
pub(crate) fn convert_directly<T: Compute>(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<bool> {
    if out.shares_memory(x) {
        return Ok(false);
    }
    if let Some(numbers) = x.slice::<T>() {
        Writer::new(out)?.write(numbers);
        return Ok(true);
    }
    if let Some((numbers, [])) = out.slices::<T, 0>([]) {
        Reader::new(x, x.dims())?.read(numbers);
        return Ok(true);
    }
    Ok(false)
}

/// Loads the next elements of a walk.
///
/// # Safety
/// At each position of the walk, relative to `base`, is an aligned, initialised element of type `S`. Nothing
/// writes these elements during the call.
unsafe fn load<S: Cast<T>, T: Copy>(base: *const u8, walk: &mut Walk<1>, mut tile: &mut [T]) {
    let base = base.cast::<S>();
    walk.advance(tile.len(), |[start], row| {
        let part = tile.split_off_mut(..row.len).unwrap_or_default();
        // SAFETY: the caller's promise, for any position of the row.
        let element = |position: usize| unsafe { base.add(position).read() };
        match row.strides {
            [1] => {
                // SAFETY: the caller's promise. The elements of the row are contiguous.
                let source = unsafe { slice::from_raw_parts(base.add(start), row.len) };
                wide(
                    #[inline(always)]
                    || S::load_all(source, part),
                );
            }
            [0] => part.fill(element(start).load()),
            _ => {
                let mut part = part.iter_mut();
                row.each([start], |[at]| {
                    part.next().into_iter().for_each(|value| *value = element(at).load())
                });
            }
        }
    });
}

/// Stores the next elements of a walk.
///
/// # Safety
/// At each position of the walk, relative to `base`, is an aligned element of type `S`. Nothing else accesses
/// these elements during the call.
unsafe fn store<S: Cast<T>, T: Copy>(base: *mut u8, walk: &mut Walk<1>, mut tile: &[T]) {
    let base = base.cast::<S>();
    walk.advance(tile.len(), |[start], row| {
        let part = tile.split_off(..row.len).unwrap_or_default();
        if row.strides == [1] {
            // SAFETY: the caller's promise. The elements of the row are contiguous.
            let target = unsafe { slice::from_raw_parts_mut(base.add(start), row.len) };
            wide(
                #[inline(always)]
                || S::store_all(target, part),
            );
        } else {
            let mut part = part.iter();
            // SAFETY: the caller's promise, for each position of the row.
            let put = |at, value| unsafe { base.add(at).write(S::store(value)) };
            row.each([start], |[at]| part.next().into_iter().for_each(|&value| put(at, value)));
        }
    });
}
