//! Tensors of any layout as slices of a type, for operators that address elements by their index.
//!
//! Contiguous tensors of that type are used in place. Others are converted before and after the call.

use std::borrow::Cow;
use std::num::Wrapping;
use std::slice;

use num_complex::Complex;
use smallvec::SmallVec;

use crate::elements::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::loops::convert::{Compute, Reader, Writer};
use crate::loops::movement;
use crate::tensor::{View, ViewMut};

/// A type that elements of tensors can be converted to and from.
pub(crate) trait Slot: Copy + Send + Sync + 'static {
    /// The value that temporary memory is first filled with.
    const EMPTY: Self;
    /// Returns true if elements of the given type are values of this type without conversion.
    fn fits(dtype: DType) -> bool;
    /// Returns true if elements of the given type can be converted to values of this type and back.
    fn converts(dtype: DType) -> bool;
    /// Reads the elements in row-major order.
    fn load(view: &View<'_>) -> Result<Vec<Self>>;
    /// Stores one value for each element, in row-major order.
    fn store(out: &mut ViewMut<'_>, values: &[Self]) -> Result<()>;
}

macro_rules! computed {
    ($($number:ty: $empty:expr;)*) => {$(
        impl Slot for $number {
            const EMPTY: Self = $empty;

            fn fits(dtype: DType) -> bool {
                dtype == <$number>::DTYPE
            }

            fn converts(dtype: DType) -> bool {
                !dtype.is_complex()
            }

            fn load(view: &View<'_>) -> Result<Vec<Self>> {
                load_numbers(view)
            }

            fn store(out: &mut ViewMut<'_>, values: &[Self]) -> Result<()> {
                store_numbers(out, values)
            }
        }
    )*};
}
computed! {
    f32: 0.0;
    f64: 0.0;
    Wrapping<i64>: Wrapping(0);
}

macro_rules! moved {
    ($($word:ty: $empty:expr;)*) => {$(
        impl Slot for $word {
            const EMPTY: Self = $empty;

            fn fits(dtype: DType) -> bool {
                movement::is_word::<$word>(dtype)
            }

            fn converts(dtype: DType) -> bool {
                movement::is_word::<$word>(dtype)
            }

            fn load(view: &View<'_>) -> Result<Vec<Self>> {
                movement::words(view)
            }

            fn store(out: &mut ViewMut<'_>, values: &[Self]) -> Result<()> {
                movement::store_words(out, values)
            }
        }
    )*};
}
moved! {
    u8: 0;
    u16: 0;
    u32: 0;
    u64: 0;
    [f32; 2]: [0.0; 2];
    [f64; 2]: [0.0; 2];
    Complex<f32>: Complex::new(0.0, 0.0);
    Complex<f64>: Complex::new(0.0, 0.0);
}

fn load_numbers<T: Compute>(view: &View<'_>) -> Result<Vec<T>> {
    let mut values = vec![T::of(0.0); view.len()];
    if view.dtype().is_complex() {
        return Err(Error::Type { dtype: view.dtype() });
    }
    if !view.is_empty() {
        Reader::new(view, view.dims())?.read(&mut values);
    }
    Ok(values)
}

fn store_numbers<T: Compute>(out: &mut ViewMut<'_>, values: &[T]) -> Result<()> {
    crate::expect_length("values", out.len(), values.len())?;
    if out.dtype().is_complex() {
        return Err(Error::Type { dtype: out.dtype() });
    }
    if !out.is_empty() {
        Writer::new(out)?.write(values);
    }
    Ok(())
}

/// Reads the elements of a floating-point tensor, such as coordinates.
///
/// # Errors
/// [`Error::Type`].
pub(crate) fn floats<'v>(view: &'v View<'_>) -> Result<Cow<'v, [f64]>> {
    if view.dtype().is_float() { elements(view) } else { Err(Error::Type { dtype: view.dtype() }) }
}

/// Reads the elements of an integer tensor, such as indices.
///
/// # Errors
/// [`Error::Type`].
pub(crate) fn integers(view: &View<'_>) -> Result<Vec<i64>> {
    if view.dtype().is_float() || view.dtype().is_complex() {
        return Err(Error::Type { dtype: view.dtype() });
    }
    Ok(bytemuck::allocation::cast_vec(load_numbers::<Wrapping<i64>>(view)?))
}

/// Stores integers in row-major order.
///
/// # Errors
/// [`Error::Length`], [`Error::Type`].
pub(crate) fn store_integers(out: &mut ViewMut<'_>, values: &[i64]) -> Result<()> {
    store_numbers::<Wrapping<i64>>(out, bytemuck::cast_slice(values))
}

/// Reads the only element of a tensor.
///
/// # Errors
/// [`Error::Length`], [`Error::Type`].
pub(crate) fn scalar(what: &'static str, view: &View<'_>) -> Result<f64> {
    crate::expect_length(what, 1, view.len())?;
    // Creating a reader takes longer than everything else that an optimiser does with its settings.
    match (view.slice::<f32>(), view.slice::<f64>()) {
        (Some(number), _) => Ok(number[0].into()),
        (_, Some(number)) => Ok(number[0]),
        _ => Ok(load_numbers::<f64>(view)?[0]),
    }
}

/// Returns a copy of the elements of an input, so that an output may overwrite them.
///
/// # Errors
/// [`Error::Type`].
pub(crate) fn owned<T: Slot>(input: &View<'_>) -> Result<Vec<T>> {
    if T::converts(input.dtype()) { T::load(input) } else { Err(Error::Type { dtype: input.dtype() }) }
}

/// Calls a function with the elements of an output in row-major order, and stores what it writes.
///
/// # Errors
/// [`Error::Type`], and the errors of the function.
pub(crate) fn write<T: Slot>(
    out: &mut ViewMut<'_>,
    function: impl FnOnce(&mut [T]) -> Result<()>,
) -> Result<()> {
    with_slices::<T, 1, 0>([out.reborrow()], [], |[out], []| function(out))
}

/// Reborrows an optional output for a call.
pub(crate) fn lend<'v>(out: Option<&'v mut ViewMut<'_>>) -> Option<ViewMut<'v>> {
    out.map(ViewMut::reborrow)
}

/// Calls a function with the elements of outputs and inputs in row-major order.
///
/// The function must write all elements of the outputs, whose values before the call are unspecified. An
/// output may share memory with any other tensor: the result is the same as for separate memory.
///
/// # Errors
/// [`Error::Type`] if a type does not convert to `T`, and the errors of the function.
pub(crate) fn with_slices<T: Slot, const M: usize, const N: usize>(
    outs: [ViewMut<'_>; M],
    inputs: [&View<'_>; N],
    function: impl FnOnce([&mut [T]; M], [&[T]; N]) -> Result<()>,
) -> Result<()> {
    let mut outs = outs.map(Some);
    let mut slices = Slices::<T>::of(&outs, &inputs.map(Some))?;
    let (targets, sources) = slices.all();
    function(targets, sources)?;
    slices.store(&mut outs)
}

/// Calls a function with slices as [`with_slices`] does, for optional tensors.
///
/// # Errors
/// As [`with_slices`].
pub(crate) fn with_optional_slices<T: Slot, const M: usize, const N: usize>(
    mut outs: [Option<ViewMut<'_>>; M],
    inputs: [Option<&View<'_>>; N],
    function: impl FnOnce([Option<&mut [T]>; M], [Option<&[T]>; N]) -> Result<()>,
) -> Result<()> {
    let mut slices = Slices::<T>::of(&outs, &inputs)?;
    let (targets, sources) = slices.some();
    function(targets, sources)?;
    slices.store(&mut outs)
}

/// The slices of a call. What prepares them does not depend on the function, so that it is compiled once for a type.
struct Slices<'v, T: Slot> {
    targets: SmallVec<[Target<'v, T>; 4]>,
    sources: SmallVec<[Option<Cow<'v, [T]>>; 4]>,
}

/// The slices of the outputs and the inputs of a call, of which some may be missing.
type Optional<'s, T, const M: usize, const N: usize> = ([Option<&'s mut [T]>; M], [Option<&'s [T]>; N]);

/// The elements of an output.
enum Target<'v, T> {
    /// There is no output.
    Absent,
    /// Its own memory.
    Direct(&'v mut [T]),
    /// Values that are stored when the function has written them.
    Staged(Vec<T>),
}

impl<T> Target<'_, T> {
    fn elements(&mut self) -> Option<&mut [T]> {
        match self {
            Target::Absent => None,
            Target::Direct(elements) => Some(elements),
            Target::Staged(values) => Some(values),
        }
    }
}

impl<'v, T: Slot> Slices<'v, T> {
    /// Takes the memory of contiguous tensors, and the values of others.
    fn of(outs: &[Option<ViewMut<'v>>], inputs: &[Option<&'v View<'_>>]) -> Result<Self> {
        let dtypes = outs.iter().flatten().map(|out| out.dtype());
        let mut dtypes = dtypes.chain(inputs.iter().flatten().map(|input| input.dtype()));
        if let Some(dtype) = dtypes.find(|&dtype| !T::converts(dtype)) {
            return Err(Error::Type { dtype });
        }
        let sources = inputs.iter().map(|input| input.map(elements).transpose()).collect::<Result<_>>()?;
        let targets = outs.iter().enumerate().map(|(n, out)| match out {
            None => Target::Absent,
            Some(out) if !is_direct::<T>(n, outs, inputs) => Target::Staged(vec![T::EMPTY; out.len()]),
            Some(out) if out.is_empty() => Target::Direct(&mut []),
            Some(out) => {
                // SAFETY: elements of type `T` are contiguous at `base`, and live by the contract of `from_raw`.
                // No input and no other output shares any of them. The function uses the slice last, while the
                // caller holds the view.
                Target::Direct(unsafe { slice::from_raw_parts_mut(out.base().cast::<T>(), out.len()) })
            }
        });
        Ok(Slices { targets: targets.collect(), sources })
    }

    /// Returns the slices of tensors of which some may be missing.
    fn some<const M: usize, const N: usize>(&mut self) -> Optional<'_, T, M, N> {
        let (mut targets, mut sources) = ([const { None }; M], [None; N]);
        for (target, slice) in targets.iter_mut().zip(&mut self.targets) {
            *target = slice.elements();
        }
        for (source, slice) in sources.iter_mut().zip(&self.sources) {
            *source = slice.as_deref();
        }
        (targets, sources)
    }

    /// Returns the slices of tensors of which none is missing.
    fn all<const M: usize, const N: usize>(&mut self) -> ([&mut [T]; M], [&[T]; N]) {
        let (targets, sources) = self.some();
        (targets.map(Option::unwrap_or_default), sources.map(Option::unwrap_or_default))
    }

    /// Stores the values that are not in the memory of the outputs.
    fn store(self, outs: &mut [Option<ViewMut<'_>>]) -> Result<()> {
        // An output may share memory with an input.
        drop(self.sources);
        for (out, target) in outs.iter_mut().zip(self.targets) {
            if let (Some(out), Target::Staged(values)) = (out, target) {
                T::store(out, &values)?;
            }
        }
        Ok(())
    }
}

/// Returns true if a function may write into the memory of an output.
fn is_direct<T: Slot>(n: usize, outs: &[Option<ViewMut<'_>>], inputs: &[Option<&View<'_>>]) -> bool {
    outs[n].as_ref().is_some_and(|out| {
        let mut others = outs.iter().enumerate().filter(|&(other, _)| other != n);
        T::fits(out.dtype())
            && out.is_contiguous()
            && !inputs.iter().flatten().any(|input| out.shares_memory(input))
            && !others
                .any(|(_, other)| other.as_ref().is_some_and(|other| out.shares_memory_with_output(other)))
    })
}

/// Returns the elements of an input, borrowed if it is contiguous.
///
/// While the caller holds them, it writes no output that shares memory with the input.
pub(crate) fn elements<'v, T: Slot>(input: &'v View<'_>) -> Result<Cow<'v, [T]>> {
    if !T::fits(input.dtype()) || !input.is_contiguous() || input.is_empty() {
        return Ok(Cow::Owned(T::load(input)?));
    }
    // SAFETY: elements of type `T` are contiguous at `base`, and live and initialised by the contract of
    // `from_raw`. Nothing writes them: callers write outputs that share memory with an input after its last
    // use.
    Ok(Cow::Borrowed(unsafe { slice::from_raw_parts(input.base().cast::<T>().cast_const(), input.len()) }))
}
