//! Tensors in device memory.

use std::marker::PhantomData;
use std::ops::Range;

use smallvec::SmallVec;

use super::constant::Constant;
use super::layout::{Layout, row_major};
use tenon::DevicePtr;
use tenon::device::{DataType, Error, Result};

/// A tensor in device memory that an operator reads.
///
/// ```
/// use tenon::DevicePtr;
/// use tenon::device::DataType;
/// use tenon_operators::{Layout, TensorRef};
///
/// // A matrix of 2 by 3 elements, and its transpose in the same memory.
/// let elements = [0_f32, 1., 2., 3., 4., 5.];
/// let first = DevicePtr::from_addr(elements.as_ptr().addr());
/// // SAFETY: nothing reads the elements here.
/// let matrix = unsafe { TensorRef::new(first, DataType::FLOAT32, Layout::new(&[2, 3], &[3, 1])?)? };
/// // SAFETY: as above.
/// let transpose = unsafe { TensorRef::new(first, DataType::FLOAT32, Layout::new(&[3, 2], &[1, 3])?)? };
/// assert!(matrix.is_contiguous() && !transpose.is_contiguous());
/// assert_eq!((matrix.len(), transpose.dims()), (6, &[3, 2][..]));
/// # Ok::<(), tenon::device::Error>(())
/// ```
#[derive(Clone, Debug)]
pub struct TensorRef<'a> {
    tensor: Tensor,
    constant: Option<&'a Constant>,
    memory: PhantomData<&'a [u8]>,
}

/// A tensor in device memory that an operator writes.
#[derive(Debug)]
pub struct TensorMut<'a> {
    tensor: Tensor,
    memory: PhantomData<&'a mut [u8]>,
}

/// One number for each dimension: few tensors have more than four.
type PerDimension<T> = SmallVec<[T; 4]>;

#[derive(Clone, Debug)]
struct Tensor {
    first: DevicePtr,
    data_type: DataType,
    dims: PerDimension<usize>,
    strides: PerDimension<isize>,
    len: usize,
    is_contiguous: bool,
    /// The bytes from the first to the last element in memory.
    span: Range<usize>,
}

impl Tensor {
    fn new(first: DevicePtr, data_type: DataType, layout: Layout<'_>) -> Result<Self> {
        let span = span(first, data_type, layout)
            .ok_or_else(|| Error::invalid("a tensor is larger than the address space"))?;
        Ok(Self {
            first,
            data_type,
            dims: SmallVec::from_slice(layout.dims()),
            strides: SmallVec::from_slice(layout.strides()),
            len: layout.len(),
            is_contiguous: layout.is_contiguous(),
            span,
        })
    }

    /// Returns true if both have their elements at the same distances. The stride of a single element does not matter.
    fn has_layout_of(&self, other: &Self) -> bool {
        let mut strides = self.strides.iter().zip(&other.strides).zip(&self.dims);
        self.dims == other.dims && strides.all(|((stride, other), &dim)| dim == 1 || stride == other)
    }
}

/// Returns the bytes that a tensor reaches over; `None` if they are not in the address space.
fn span(first: DevicePtr, data_type: DataType, layout: Layout<'_>) -> Option<Range<usize>> {
    let size = data_type.size()?;
    let start = first.addr().checked_sub(layout.before().checked_mul(size)?)?;
    Some(start..start.checked_add(layout.extent().checked_mul(size)?)?)
}

macro_rules! properties {
    ($($tensor:ident)*) => {$(
        impl<'a> $tensor<'a> {
            /// Describes a tensor whose first element is at an address.
            ///
            /// # Errors
            /// If the type has no size, or the tensor is larger than the address space.
            ///
            /// # Safety
            /// All elements are memory of the device whose operators take the tensor, or host memory that the device
            /// can access. The memory stays allocated until all work is done that these operators queue.
            pub unsafe fn new(first: DevicePtr, data_type: DataType, layout: Layout<'_>) -> Result<Self> {
                Ok(Self::of(Tensor::new(first, data_type, layout)?))
            }

            /// Describes a tensor whose elements are one after the other in row-major order.
            ///
            /// # Errors
            /// As [`new`](Self::new).
            ///
            /// # Safety
            /// As for [`new`](Self::new).
            pub unsafe fn contiguous(first: DevicePtr, data_type: DataType, dims: &[usize]) -> Result<Self> {
                let strides = row_major::<PerDimension<isize>>(dims)?;
                // SAFETY: the caller's promise.
                unsafe { Self::new(first, data_type, Layout::new(dims, &strides)?) }
            }

            /// Returns the address of the first element. An element with the indices `i` is `sum(i * strides)` elements
            /// behind it.
            #[must_use]
            pub fn first(&self) -> DevicePtr {
                self.tensor.first
            }

            /// Returns the type of the elements.
            #[must_use]
            pub fn data_type(&self) -> DataType {
                self.tensor.data_type
            }

            /// Returns the length of each dimension.
            #[must_use]
            pub fn dims(&self) -> &[usize] {
                &self.tensor.dims
            }

            /// Returns the distance between neighbours along each dimension, in elements.
            #[must_use]
            pub fn strides(&self) -> &[isize] {
                &self.tensor.strides
            }

            /// Returns the number of elements.
            #[must_use]
            pub fn len(&self) -> usize {
                self.tensor.len
            }

            /// Returns true if there are no elements.
            #[must_use]
            pub fn is_empty(&self) -> bool {
                self.len() == 0
            }

            /// Returns true if the elements are one after the other in row-major order.
            #[must_use]
            pub fn is_contiguous(&self) -> bool {
                self.tensor.is_contiguous
            }

            /// Returns the addresses of the bytes from the first to the last element in memory, gaps included.
            #[must_use]
            pub fn span(&self) -> Range<usize> {
                self.tensor.span.clone()
            }

            /// Adds dimensions of length one behind the others.
            #[must_use]
            pub fn append_dimensions(mut self, count: usize) -> Self {
                self.tensor.dims.extend(std::iter::repeat_n(1, count));
                self.tensor.strides.extend(std::iter::repeat_n(1, count));
                self
            }
        }
    )*};
}
properties!(TensorRef TensorMut);

impl<'a> TensorRef<'a> {
    fn of(tensor: Tensor) -> Self {
        Self { tensor, constant: None, memory: PhantomData }
    }

    /// Says that the elements never change, and gives the device a place for what it keeps about them.
    ///
    /// All tensors with this place must have the same elements, in the same order in memory from [`first`](Self::first)
    /// on. Otherwise devices may compute with those of another tensor.
    #[must_use]
    pub fn of_constant(self, constant: &'a Constant) -> Self {
        Self { constant: Some(constant), ..self }
    }

    /// Returns the place for what a device keeps about the tensor, if the elements never change. Views that begin at
    /// another element have none; others may have other dimensions and strides.
    #[must_use]
    pub fn constant(&self) -> Option<&'a Constant> {
        self.constant
    }

    /// Removes dimensions of length one before the others, as long as there are more than `rank` dimensions.
    #[must_use]
    pub fn drop_leading_ones(mut self, rank: usize) -> Self {
        let surplus = self.tensor.dims.len().saturating_sub(rank);
        let ones = self.tensor.dims.iter().take(surplus).take_while(|&&dim| dim == 1).count();
        self.tensor.dims.drain(..ones);
        self.tensor.strides.drain(..ones);
        self
    }
}

impl<'a> TensorMut<'a> {
    fn of(tensor: Tensor) -> Self {
        Self { tensor, memory: PhantomData }
    }

    /// Lends the tensor.
    #[must_use]
    pub fn reborrow(&mut self) -> TensorMut<'_> {
        TensorMut::of(self.tensor.clone())
    }

    /// Lends a part of the tensor, which a function selects as if it were read.
    pub(crate) fn part(
        &mut self,
        select: impl for<'t> FnOnce(&TensorRef<'t>) -> Result<TensorRef<'t>>,
    ) -> Result<TensorMut<'_>> {
        let part = select(&TensorRef::of(self.tensor.clone()))?;
        Ok(TensorMut::of(part.tensor))
    }

    /// Returns the tensor as one that an operator may also read: outputs may have the memory of an input.
    #[must_use]
    pub fn as_input(&self) -> TensorRef<'a> {
        TensorRef::of(self.tensor.clone())
    }

    /// Returns the tensor as one that is read.
    #[must_use]
    pub fn into_input(self) -> TensorRef<'a> {
        TensorRef::of(self.tensor)
    }

    /// Returns true if both tensors have the same elements at the same addresses.
    #[must_use]
    pub fn is_same(&self, other: &TensorRef<'_>) -> bool {
        let (this, other) = (&self.tensor, &other.tensor);
        this.first == other.first && this.data_type == other.data_type && this.has_layout_of(other)
    }

    /// Returns true if a byte between the first and the last element may belong to both tensors.
    #[must_use]
    pub fn shares_memory(&self, other: &TensorRef<'_>) -> bool {
        let (this, other) = (&self.tensor.span, &other.tensor.span);
        this.start.max(other.start) < this.end.min(other.end)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn tensor(first: usize, dims: &[usize], strides: &[isize]) -> TensorRef<'static> {
        let layout = Layout::new(dims, strides).unwrap();
        // SAFETY: the address is only a number here.
        unsafe { TensorRef::new(DevicePtr::from_addr(first), DataType::FLOAT32, layout) }.unwrap()
    }

    fn output(first: usize, dims: &[usize], strides: &[isize]) -> TensorMut<'static> {
        TensorMut::of(tensor(first, dims, strides).tensor)
    }

    #[test]
    fn memory_is_shared_between_the_first_and_the_last_element() {
        let input = tensor(64, &[4], &[1]);
        assert!(output(76, &[4], &[1]).shares_memory(&input));
        assert!(!output(80, &[4], &[1]).shares_memory(&input));
        assert!(output(88, &[4], &[-1]).shares_memory(&input));
        assert!(!output(92, &[4], &[-1]).shares_memory(&input));
        assert!(!output(64, &[0], &[1]).shares_memory(&input));
        assert!(output(64, &[4], &[1]).is_same(&input));
        assert!(!output(64, &[4], &[0]).is_same(&input));
        assert!(output(64, &[1, 4], &[9, 1]).is_same(&tensor(64, &[1, 4], &[4, 1])));
    }

    #[test]
    fn views_from_the_first_element_on_keep_what_a_device_keeps() {
        let constant = Constant::new();
        let whole = tensor(64, &[4, 6], &[6, 1]).of_constant(&constant);
        let kept = |view: &TensorRef<'_>| view.constant().is_some_and(|kept| std::ptr::eq(kept, &constant));
        for view in [
            whole.clone(),
            whole.transposed(0, 1).unwrap(),
            whole.reshaped(&[24]).unwrap(),
            whole.sliced(0, 0, 2, 1).unwrap(),
            whole.clone().append_dimensions(1),
        ] {
            assert!(kept(&view), "{view:?}");
        }
        assert!(!kept(&whole.sliced(0, 1, 2, 1).unwrap()));
        assert!(!kept(&whole.selected(1, 3).unwrap()));
        assert!(!kept(&tensor(64, &[4, 6], &[6, 1])));
    }

    #[test]
    fn layouts_beyond_the_address_space_are_refused() {
        let new = |dims: &[usize], strides: &[isize]| {
            let layout = Layout::new(dims, strides)?;
            // SAFETY: the address is only a number here.
            unsafe { TensorRef::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }
        };
        assert!(new(&[2], &[1, 1]).is_err());
        assert!(new(&[usize::MAX, 2], &[0, 0]).is_err());
        assert!(new(&[3], &[isize::MAX]).is_err());
        assert!(new(&[3], &[-17]).is_err());
        assert!(new(&[3], &[-8]).is_ok());
    }
}
