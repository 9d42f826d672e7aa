//! Tensors whose type and layout are known at run time.
//!
//! A view consists of an address, an element type and a layout. Views that are written may share memory with
//! views that are read, because operators may run in place. Therefore no view exposes its elements as a
//! slice.

pub(crate) mod axis;
pub(crate) mod buffer;
mod layout;
mod overlap;
pub(crate) mod strided;

use std::marker::PhantomData;
use std::ops::Range;
use std::slice;

use smallvec::SmallVec;

use crate::constant::Copies;
use crate::elements::dtype::{DType, Element};
use crate::error::{Error, Result};
use crate::loops::walk::Walk;
use crate::tensor::strided::{Layout, contiguous_strides};
use crate::threads;

/// One number for each dimension.
pub(crate) type PerDimension<T> = SmallVec<[T; 4]>;

/// A read-only tensor.
#[derive(Clone, Debug)]
pub struct View<'a> {
    memory: Memory,
    /// The copies of a tensor that never changes, and the address of its first element.
    copies: Option<(&'a Copies, usize)>,
    lifetime: PhantomData<&'a [u8]>,
}

/// A writable tensor.
#[derive(Debug)]
pub struct ViewMut<'a> {
    memory: Memory,
    lifetime: PhantomData<&'a mut [u8]>,
}

/// The element type and the shape of a tensor, without its elements: for functions that run before the
/// elements exist.
#[derive(Clone, Copy, Debug)]
pub struct TensorMeta<'a> {
    dtype: DType,
    dims: &'a [usize],
}

impl<'a> TensorMeta<'a> {
    /// Describes a tensor.
    #[must_use]
    pub const fn new(dtype: DType, dims: &'a [usize]) -> Self {
        Self { dtype, dims }
    }

    /// Returns the element type.
    #[must_use]
    pub const fn dtype(self) -> DType {
        self.dtype
    }

    /// Returns the length of each dimension.
    #[must_use]
    pub const fn dims(self) -> &'a [usize] {
        self.dims
    }
}

/// The memory of a tensor, and its layout and type.
#[derive(Clone, Debug)]
struct Memory {
    /// The lowest address of an element.
    base: *mut u8,
    dtype: DType,
    dims: PerDimension<usize>,
    strides: PerDimension<isize>,
    len: usize,
    /// The offset of the first element from `base`, in elements.
    before: usize,
    /// The number of elements from the lowest to the highest address, gaps included.
    extent: usize,
    contiguous: bool,
}

// SAFETY: it is a shared borrow of plain bytes. `from_raw` makes the caller responsible for all threads.
unsafe impl Send for View<'_> {}
// SAFETY: as above; a shared reference to it only reads.
unsafe impl Sync for View<'_> {}
// SAFETY: it is an exclusive borrow of plain bytes. The caller of `from_raw` is responsible for other views
// of the same memory.
unsafe impl Send for ViewMut<'_> {}
// SAFETY: as above; a shared reference to it does not access the memory.
unsafe impl Sync for ViewMut<'_> {}

impl Memory {
    fn new(first: *mut u8, dtype: DType, dims: &[usize], strides: &[isize]) -> Result<Self> {
        let layout = Layout::new(dims, strides)?;
        let no_address =
            (first.is_null() && !layout.is_empty()) || !first.addr().is_multiple_of(dtype.align());
        let bytes = layout.extent().checked_mul(dtype.size()).filter(|&bytes| isize::try_from(bytes).is_ok());
        let before = layout.before() * dtype.size();
        if no_address || first.addr() < before {
            return Err(Error::Address { dtype, address: first.addr() });
        }
        first.addr().checked_add(bytes.ok_or(Error::Overflow)?).ok_or(Error::Overflow)?;
        Ok(Self {
            base: first.wrapping_sub(before),
            dtype,
            dims: SmallVec::from_slice(dims),
            strides: SmallVec::from_slice(strides),
            len: layout.len(),
            before: layout.before(),
            extent: layout.extent(),
            contiguous: layout.is_contiguous(),
        })
    }

    /// Lays out a shape over a slice. The element with the lowest address is the first of the slice.
    fn of_slice<T: Element>(
        data: *mut T,
        available: usize,
        dims: &[usize],
        strides: &[isize],
    ) -> Result<Self> {
        let layout = Layout::new(dims, strides)?;
        if layout.extent() > available {
            return Err(Error::OutOfBounds { needed: layout.extent(), available });
        }
        Self::new(data.wrapping_add(layout.before()).cast(), T::DTYPE, dims, strides)
    }

    /// Returns true if the ranges of bytes of both overlap, gaps included.
    fn overlaps(&self, other: &Self) -> bool {
        let end = |memory: &Self| memory.base.addr() + memory.extent * memory.dtype.size();
        self.len > 0 && other.len > 0 && self.base.addr() < end(other) && other.base.addr() < end(self)
    }

    fn walk(&self, dims: &[usize], strides: &[isize]) -> Walk<1> {
        Walk::new(dims, [strides], [self.before])
    }
}

macro_rules! properties {
    ($($view:ident)*) => {$(
        impl $view<'_> {
            /// Returns the element type.
            #[must_use]
            pub fn dtype(&self) -> DType {
                self.memory.dtype
            }

            /// Returns the length of each dimension.
            #[must_use]
            pub fn dims(&self) -> &[usize] {
                &self.memory.dims
            }

            /// Returns the element type and the shape.
            #[must_use]
            pub fn meta(&self) -> TensorMeta<'_> {
                TensorMeta::new(self.memory.dtype, &self.memory.dims)
            }

            /// Returns the distances between neighbours along each dimension, in elements.
            #[must_use]
            pub fn strides(&self) -> &[isize] {
                &self.memory.strides
            }

            /// Returns the number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.memory.len
            }

            /// Returns true if the tensor has no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.memory.len == 0
            }

            /// Appends dimensions of length one.
            #[must_use]
            pub fn append_dimensions(mut self, count: usize) -> Self {
                self.memory.dims.extend(std::iter::repeat_n(1, count));
                self.memory.strides.extend(std::iter::repeat_n(1, count));
                self
            }

            /// Moves the last dimension to the second position. The tensor must have two or more dimensions.
            pub(crate) fn move_last_to_second(mut self) -> Self {
                let memory = &mut self.memory;
                memory.dims[1..].rotate_right(1);
                memory.strides[1..].rotate_right(1);
                memory.contiguous = Layout::new(&memory.dims, &memory.strides).is_ok_and(|l| l.is_contiguous());
                self
            }

            /// Returns the lowest address of an element.
            pub(crate) fn base(&self) -> *mut u8 {
                self.memory.base
            }

            /// Returns the offset of the first element from [`base`](Self::base), in elements.
            pub(crate) fn before(&self) -> usize {
                self.memory.before
            }

            /// Returns true if the elements are contiguous in row-major order.
            pub(crate) fn is_contiguous(&self) -> bool {
                self.memory.contiguous
            }
        }
    )*};
}
properties!(View ViewMut);

impl<'a> View<'a> {
    /// Creates a view of the tensor whose first element is at an address. Strides are in elements and may be
    /// zero or negative.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Overflow`] and [`Error::Address`].
    ///
    /// # Safety
    /// During `'a`, all elements of the layout are initialised memory. While an operator of this crate reads
    /// the view, only that operator writes elements of it, through a [`ViewMut`] among its arguments.
    pub unsafe fn from_raw(data: *const u8, dtype: DType, dims: &[usize], strides: &[isize]) -> Result<Self> {
        Ok(Self::of(Memory::new(data.cast_mut(), dtype, dims, strides)?))
    }

    fn of(memory: Memory) -> Self {
        Self { memory, copies: None, lifetime: PhantomData }
    }

    /// Adds the copies of a tensor that never changes. All tensors with them must have the same elements, in the same
    /// order in memory from the first one on.
    #[must_use]
    pub fn with_copies(self, copies: Option<&'a Copies>) -> Self {
        let copies = copies.map(|copies| (copies, self.first_address()));
        Self { copies, ..self }
    }

    /// Returns the copies of a tensor that never changes. Views that begin at another element have none.
    pub(crate) fn copies(&self) -> Option<&'a Copies> {
        let (copies, first) = self.copies?;
        (first == self.first_address()).then_some(copies)
    }

    fn first_address(&self) -> usize {
        self.base().addr() + self.before() * self.dtype().size()
    }

    /// Creates a row-major view of a slice.
    ///
    /// # Errors
    /// [`Error::Overflow`] and [`Error::Length`] if the slice has a different length than the shape requires.
    pub fn of_slice<T: Element>(slice: &'a [T], dims: &[usize]) -> Result<Self> {
        let view = Self::of_strided(slice, dims, &contiguous_strides(dims)?)?;
        crate::expect_length("slice", view.len(), slice.len())?;
        Ok(view)
    }

    /// Creates a view of a slice in any layout; the element with the lowest address is the first of the slice.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Overflow`], and [`Error::OutOfBounds`] if the layout extends past the slice.
    pub fn of_strided<T: Element>(slice: &'a [T], dims: &[usize], strides: &[isize]) -> Result<Self> {
        Ok(Self::of(Memory::of_slice(slice.as_ptr().cast_mut(), slice.len(), dims, strides)?))
    }

    /// Removes leading dimensions of length one as long as the tensor has more than `rank` dimensions.
    #[must_use]
    pub fn drop_leading_ones(mut self, rank: usize) -> Self {
        while self.memory.dims.len() > rank && self.memory.dims[0] == 1 {
            self.memory.dims.remove(0);
            self.memory.strides.remove(0);
        }
        self
    }

    /// Returns the elements in row-major order if they are contiguous and have this type.
    ///
    /// While the caller holds them, it writes no output that shares memory with the tensor.
    pub(crate) fn slice<T: Element>(&self) -> Option<&'a [T]> {
        let memory = &self.memory;
        if !memory.contiguous || memory.dtype != T::DTYPE || memory.len == 0 {
            return None;
        }
        // SAFETY: `len` elements of type `T` are contiguous at `base`, and live and initialised during `'a`
        // by the contract of `from_raw`.
        Some(unsafe { slice::from_raw_parts(self.base().cast::<T>().cast_const(), memory.len) })
    }

    /// Returns the part of the tensor at an index along its first dimension. The index must be in range.
    pub(crate) fn part(&self, index: usize) -> Result<View<'a>> {
        let Memory { base, before, dtype, ref dims, ref strides, .. } = self.memory;
        let first = (before as isize + strides[0] * index as isize) * dtype.size() as isize;
        Ok(Self::of(Memory::new(base.wrapping_offset(first), dtype, &dims[1..], &strides[1..])?))
    }

    /// Computes the strides that broadcast the tensor to a shape by NumPy's rules.
    ///
    /// # Errors
    /// [`Error::Broadcast`].
    pub(crate) fn broadcast_strides(&self, dims: &[usize]) -> Result<PerDimension<isize>> {
        let refused = || Error::Broadcast { from: self.dims().to_vec(), to: dims.to_vec() };
        let new = dims.len().checked_sub(self.dims().len()).ok_or_else(refused)?;
        let mut strides: PerDimension<isize> = SmallVec::from_elem(0, new);
        for ((&dim, &stride), &wanted) in self.dims().iter().zip(self.strides()).zip(&dims[new..]) {
            strides.push(match dim {
                _ if dim == wanted => stride,
                1 => 0,
                _ => return Err(refused()),
            });
        }
        Ok(strides)
    }

    /// Creates a walk over the elements, broadcast to a shape without zeros. Positions count from
    /// [`base`](Self::base).
    ///
    /// # Errors
    /// [`Error::Broadcast`].
    pub(crate) fn walk(&self, dims: &[usize]) -> Result<Walk<1>> {
        Ok(self.memory.walk(dims, &self.broadcast_strides(dims)?))
    }

    /// Creates a walk over the elements of a non-empty tensor. The last of the given dimensions varies
    /// fastest.
    ///
    /// Each dimension must be given once.
    pub(crate) fn walk_in_order(&self, axes: impl Iterator<Item = usize>) -> Walk<1> {
        let (dims, strides): (PerDimension<_>, PerDimension<_>) =
            axes.map(|axis| (self.dims()[axis], self.strides()[axis])).unzip();
        self.memory.walk(&dims, &strides)
    }
}

impl<'a> ViewMut<'a> {
    /// Creates a view of the tensor whose first element is at an address. Strides are in elements and may be
    /// negative.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Overflow`] and [`Error::Address`]; [`Error::Repeated`] if elements share an
    /// address.
    ///
    /// # Safety
    /// During `'a`, all elements of the layout are initialised memory, or memory from an allocator of another
    /// language. While an operator of this crate writes the view, only that operator reads or writes elements
    /// of it, through views among its arguments.
    pub unsafe fn from_raw(data: *mut u8, dtype: DType, dims: &[usize], strides: &[isize]) -> Result<Self> {
        Self::new(Memory::new(data, dtype, dims, strides)?)
    }

    /// Creates a row-major view of a slice.
    ///
    /// # Errors
    /// [`Error::Overflow`] and [`Error::Length`] if the slice has a different length than the shape requires.
    pub fn of_slice<T: Element>(slice: &'a mut [T], dims: &[usize]) -> Result<Self> {
        let len = slice.len();
        let view = Self::of_strided(slice, dims, &contiguous_strides(dims)?)?;
        crate::expect_length("slice", view.len(), len)?;
        Ok(view)
    }

    /// Creates a view of a slice in any layout; the element with the lowest address is the first of the slice.
    ///
    /// # Errors
    /// [`Error::Rank`], [`Error::Overflow`], [`Error::OutOfBounds`] if the layout extends past the slice, and
    /// [`Error::Repeated`] if elements share an address.
    pub fn of_strided<T: Element>(slice: &'a mut [T], dims: &[usize], strides: &[isize]) -> Result<Self> {
        Self::new(Memory::of_slice(slice.as_mut_ptr(), slice.len(), dims, strides)?)
    }

    fn new(memory: Memory) -> Result<Self> {
        if !memory.contiguous && overlap::shares_elements(&memory.dims, &memory.strides) {
            return Err(Error::Repeated { dims: memory.dims.to_vec(), strides: memory.strides.to_vec() });
        }
        Ok(Self { memory, lifetime: PhantomData })
    }

    /// Returns the same view for a shorter lifetime.
    #[must_use]
    pub fn reborrow(&mut self) -> ViewMut<'_> {
        ViewMut { memory: self.memory.clone(), lifetime: PhantomData }
    }

    /// Splits the tensor into up to `count` ranges of a dimension, for threads.
    ///
    /// # Errors
    /// None if there is such a dimension.
    pub(crate) fn parts(&mut self, axis: usize, count: usize) -> Result<Vec<(Range<usize>, ViewMut<'_>)>> {
        let ranges = threads::ranges(self.dims()[axis], count, 1);
        ranges
            .map(|range| {
                // Elements have different addresses, so that parts share none.
                let all = ViewMut { memory: self.memory.clone(), lifetime: PhantomData };
                Ok((range.clone(), all.narrow(axis, range.start, range.len())?))
            })
            .collect()
    }

    /// Returns true if the ranges from the first to the last byte of both overlap, so that they may share
    /// elements.
    #[must_use]
    pub fn shares_memory(&self, other: &View<'_>) -> bool {
        self.memory.overlaps(&other.memory)
    }

    /// Returns true if the ranges from the first to the last byte of both outputs overlap, so that they may
    /// share elements.
    pub(crate) fn shares_memory_with_output(&self, other: &ViewMut<'_>) -> bool {
        self.memory.overlaps(&other.memory)
    }

    /// Creates a walk over the elements of a non-empty tensor. Positions count from [`base`](Self::base).
    pub(crate) fn walk(&self) -> Walk<1> {
        self.memory.walk(&self.memory.dims, &self.memory.strides)
    }

    /// Returns true if the elements are contiguous and of type `T`.
    pub(crate) fn is_slice<T: Element>(&self) -> bool {
        self.memory.contiguous && self.memory.dtype == T::DTYPE
    }

    /// Returns the elements in row-major order if they are contiguous and have this type.
    ///
    /// While the caller holds them, it reads no input that shares memory with the output.
    pub(crate) fn slice_mut<T: Element>(&mut self) -> Option<&mut [T]> {
        if !self.is_slice::<T>() || self.memory.len == 0 {
            return None;
        }
        // SAFETY: `len` elements of type `T` are contiguous at `base`, and live and initialised by the contract of
        // `from_raw`. They are borrowed as long as the slice.
        Some(unsafe { slice::from_raw_parts_mut(self.memory.base.cast::<T>(), self.memory.len) })
    }

    /// Returns the elements of the output and the inputs as slices, if all are contiguous and of type `T`,
    /// and the output shares no memory with an input. Each input has the last dimensions of the output, and
    /// is repeated along the others.
    pub(crate) fn slices<'v, T: Element, const N: usize>(
        &'v mut self,
        inputs: [&'v View<'_>; N],
    ) -> Option<(&'v mut [T], [&'v [T]; N])> {
        let out = &self.memory;
        let suits = |memory: &Memory| {
            let ones = memory.dims.iter().take_while(|&&dim| dim == 1).count();
            let is_row = memory.dims.len() <= out.dims.len() && out.dims.ends_with(&memory.dims[ones..]);
            memory.contiguous && memory.dtype == T::DTYPE && is_row
        };
        if !suits(out) || !inputs.iter().all(|input| suits(&input.memory) && !input.memory.overlaps(out)) {
            return None;
        }
        if out.len == 0 {
            return Some((&mut [], [&[]; N]));
        }
        let inputs = inputs.map(|input| {
            // SAFETY: `len` elements of type `T` are contiguous at `base`, and live and initialised by the
            // contract of `from_raw`. During the operator only its output is written, which does not overlap.
            unsafe { slice::from_raw_parts(input.base().cast::<T>().cast_const(), input.len()) }
        });
        // SAFETY: as above. The output is borrowed as long as the slice, and the inputs of the operator do
        // not overlap it.
        let out = unsafe { slice::from_raw_parts_mut(out.base.cast::<T>(), out.len) };
        Some((out, inputs))
    }

    /// Returns true if writing the output element by element in row-major order may overwrite elements of an
    /// input before they are read. Each tile of the input is read before the tile of the output at the same
    /// position is written.
    pub(crate) fn overwrites(&self, input: &View<'_>) -> bool {
        self.memory.overlaps(&input.memory) && !self.is_same_place(input)
    }

    /// Returns true if each element of the input, broadcast to the output's shape, has the address of the
    /// corresponding output element.
    fn is_same_place(&self, input: &View<'_>) -> bool {
        let (out, input_memory) = (&self.memory, &input.memory);
        let strides = input.broadcast_strides(&out.dims);
        let mut dims = out.dims.iter().zip(&out.strides);
        input_memory.dtype.size() == out.dtype.size()
            && input_memory.base == out.base
            && input_memory.before == out.before
            && strides.is_ok_and(|strides| {
                strides
                    .iter()
                    .all(|&stride| dims.next().is_some_and(|(&dim, &own)| dim == 1 || stride == own))
            })
    }
}
