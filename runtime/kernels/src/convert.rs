//! Tiles: elements of tensors in any layout, converted to the type that is computed in and back.
//!
//! There is one conversion for each pair of types, whatever the operator.

use std::marker::PhantomData;
use std::num::Wrapping;
use std::slice;

use half::{bf16, f16};

use crate::cast::Cast;
use crate::dtype::{DType, Element};
use crate::element::Bool;
use crate::error::{Error, Result};
use crate::numeric::Numeric;
use crate::simd::wide;
use crate::tensor::{View, ViewMut};
use crate::walk::Walk;

/// Elements of a tile: few enough that the tiles of all tensors stay in the first cache, on the stack.
pub(crate) const TILE: usize = 512;

/// Loads the next elements of a walk from the memory that begins at an address.
type Load<T> = unsafe fn(*const u8, &mut Walk<1>, &mut [T]);
/// Stores the next elements of a walk to the memory that begins at an address.
type Store<T> = unsafe fn(*mut u8, &mut Walk<1>, &[T]);

/// A type that is computed in.
pub(crate) trait Compute: Numeric + Element {
    /// Returns the function that loads elements of a type, if they can become numbers of this one.
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

/// The elements of an input in row-major order.
#[derive(Debug)]
pub(crate) struct Reader<'v, T> {
    base: *const u8,
    walk: Walk<1>,
    load: Load<T>,
    view: PhantomData<&'v [u8]>,
}

impl<'v, T: Compute> Reader<'v, T> {
    /// Reads an input that is repeated for a shape without zeros.
    ///
    /// # Errors
    /// [`Error::Broadcast`] and [`Error::Type`].
    pub(crate) fn new(view: &View<'v>, dims: &[usize]) -> Result<Self> {
        Self::along(view, view.walk(dims)?)
    }

    /// Reads an input that is not empty, the last of the given dimensions fastest.
    ///
    /// # Errors
    /// [`Error::Type`].
    pub(crate) fn in_order(view: &View<'v>, axes: impl Iterator<Item = usize>) -> Result<Self> {
        Self::along(view, view.walk_in_order(axes))
    }

    /// Reads along a walk over elements of the view.
    fn along(view: &View<'v>, walk: Walk<1>) -> Result<Self> {
        let load = T::loader(view.dtype()).ok_or(Error::Type { dtype: view.dtype() })?;
        Ok(Self { base: view.base(), walk, load, view: PhantomData })
    }

    /// Reads the next elements. After the last one it starts again.
    pub(crate) fn read(&mut self, tile: &mut [T]) {
        // SAFETY: the walk is one over elements of the view, which are live and not written at this time, by
        // the promise to `View::from_raw`; the loader is the one for their type.
        unsafe { (self.load)(self.base, &mut self.walk, tile) }
    }
}

/// The elements of an output in row-major order.
#[derive(Debug)]
pub(crate) struct Writer<'v, T> {
    base: *mut u8,
    walk: Walk<1>,
    store: Store<T>,
    view: PhantomData<&'v mut [u8]>,
}

impl<'v, T: Compute> Writer<'v, T> {
    /// Writes an output that is not empty.
    ///
    /// # Errors
    /// [`Error::Type`].
    pub(crate) fn new(view: &'v mut ViewMut<'_>) -> Result<Self> {
        let store = T::storer(view.dtype()).ok_or(Error::Type { dtype: view.dtype() })?;
        Ok(Self { base: view.base(), walk: view.walk(), store, view: PhantomData })
    }

    /// Writes the next elements. After the last one it starts again.
    pub(crate) fn write(&mut self, tile: &[T]) {
        // SAFETY: the walk is one over elements of the view, which are live and not accessed elsewhere at
        // this time, by the promise to `ViewMut::from_raw`; the function is the one for their type.
        unsafe { (self.store)(self.base, &mut self.walk, tile) }
    }
}

/// Converts all elements at once, if those of one of the two tensors are side by side and of the type that is computed in.
/// Returns false, with nothing written, otherwise, or if the two share memory.
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
/// The walk's positions are those of aligned, initialised elements of type `S` from `base` on, which nothing
/// writes during the call.
unsafe fn load<S: Cast<T>, T: Copy>(base: *const u8, walk: &mut Walk<1>, mut tile: &mut [T]) {
    let base = base.cast::<S>();
    walk.advance(tile.len(), |[start], row| {
        let part = tile.split_off_mut(..row.len).unwrap_or_default();
        // SAFETY: of the caller, for any position of the row.
        let element = |position: usize| unsafe { base.add(position).read() };
        match row.strides {
            [1] => {
                // SAFETY: of the caller. The elements of the row lie side by side.
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
/// The walk's positions are those of aligned elements of type `S` from `base` on, which nothing else accesses
/// during the call.
unsafe fn store<S: Cast<T>, T: Copy>(base: *mut u8, walk: &mut Walk<1>, mut tile: &[T]) {
    let base = base.cast::<S>();
    walk.advance(tile.len(), |[start], row| {
        let part = tile.split_off(..row.len).unwrap_or_default();
        if row.strides == [1] {
            // SAFETY: of the caller. The elements of the row lie side by side.
            let target = unsafe { slice::from_raw_parts_mut(base.add(start), row.len) };
            wide(
                #[inline(always)]
                || S::store_all(target, part),
            );
        } else {
            let mut part = part.iter();
            // SAFETY: of the caller, for each position of the row.
            let put = |at, value| unsafe { base.add(at).write(S::store(value)) };
            row.each([start], |[at]| part.next().into_iter().for_each(|&value| put(at, value)));
        }
    });
}
