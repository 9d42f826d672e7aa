//! A call of a kernel: its inputs, its outputs and the memory of its intermediate results.

use std::cell::RefCell;
use std::sync::OnceLock;

use tenon::device::{DataType, Error, Result, Stream};
use tenon::{AnyPtr, DevicePtr};
use tenon_operators::{Composed, Constant, Launch, Operators, Temporaries, TensorMut, TensorRef};

use super::info::of_host;
use super::kept::Kept;
use super::threads::Shared;
use super::value::{Elements, Shape, lengths};
use crate::api::runtime::{ElementType, KernelContext};
use crate::library::Memory;
use crate::session::{DeviceState, Owner, state_of};

/// The places for inputs and outputs of a node, whether they are there or not.
pub(crate) struct Places {
    /// Each input, with what the device keeps about it if it is a constant of the model.
    pub(crate) inputs: Vec<Option<Constant>>,
    /// The number of outputs.
    pub(crate) outputs: usize,
    /// The tensors that the kernel made of constants.
    pub(super) kept: OnceLock<Vec<Kept>>,
}

/// A call of a kernel.
pub(crate) struct Call<'c> {
    pub(super) device: &'c DeviceState,
    context: KernelContext,
    launch: Launch,
    owner: Owner,
    pub(super) node: &'c Places,
    /// The blocks of intermediate results, which later work of the stream can use again.
    blocks: RefCell<Vec<DevicePtr>>,
    _threads: Option<Shared>,
}

impl<'c> Call<'c> {
    pub(crate) fn new(device: &'c DeviceState, context: KernelContext, node: &'c Places) -> Result<Self> {
        let stream = match device.library.memory {
            Memory::OfTheHost => None,
            Memory::OfTheDevice => {
                let mut handle = std::ptr::null_mut();
                // SAFETY: the host passes a call that is alive, and the handle is one of this library.
                unsafe {
                    of_host(device.host.runtime.compute_stream(context, &raw mut handle))?;
                    state_of(AnyPtr::from_ptr(handle)).map(|state| state.stream)
                }
            }
        };
        let (stream, owner) = match stream {
            Some(stream) => (stream, Owner::Stream(stream)),
            None if device.library.memory == Memory::OfTheHost => (Stream::NULL, Owner::Nobody),
            None => (Stream::NULL, Owner::Anyone),
        };
        if device.library.memory == Memory::OfTheDevice {
            device.library.device.set_device(device.id)?;
        }
        let computes_here = device.library.memory == Memory::OfTheHost;
        // SAFETY: the host passes a call that is alive, and the kernel returns later than this value is dropped.
        let threads = computes_here.then(|| unsafe { Shared::of(device.host.runtime, context) });
        Ok(Self {
            device,
            context,
            launch: Launch { device: device.id, stream },
            owner,
            node,
            blocks: RefCell::default(),
            _threads: threads,
        })
    }

    /// Calls a method of the device, or one that is composed of its methods.
    pub(crate) fn run<T>(&self, work: impl FnOnce(&dyn Operators, Launch) -> Result<T>) -> Result<T> {
        let library = self.device.library;
        let compositions = library.compositions();
        if compositions.is_empty() {
            return work(library.operators, self.launch);
        }
        work(&Composed::new(library.operators, compositions, self), self.launch)
    }

    /// Returns the stream that the work of the call runs on.
    pub(super) fn stream(&self) -> Stream {
        self.launch.stream
    }

    /// Waits for the work of the stream, so that its results can be read.
    pub(crate) fn synchronize(&self) -> Result<()> {
        match self.device.library.memory {
            Memory::OfTheHost => Ok(()),
            Memory::OfTheDevice => self.launch.synchronize(&*self.device.library.device),
        }
    }

    fn value(&self, index: usize) -> Result<Option<Elements<'_>>> {
        let runtime = self.device.host.runtime;
        if index >= self.input_count() {
            return Ok(None);
        }
        // SAFETY: the host passes a call that is alive, and its values live as long.
        unsafe {
            let value = of_host(runtime.input(self.context, index))?;
            if value.is_null() { Ok(None) } else { Elements::of(runtime, value).map(Some) }
        }
    }

    /// Returns the number of inputs that the node has, whether they are there or not.
    pub(crate) fn input_count(&self) -> usize {
        self.node.inputs.len()
    }

    /// Returns an input that may be absent.
    pub(crate) fn optional(&self, index: usize) -> Result<Option<TensorRef<'_>>> {
        let Some(elements) = self.value(index)? else { return Ok(None) };
        // SAFETY: the host passes a tensor that is alive until the work of the call is done.
        let mut view = unsafe { elements.view(self.device.host.runtime) }?;
        if let Some(Some(constant)) = self.node.inputs.get(index) {
            view = view.of_constant(constant);
        }
        Ok(Some(view))
    }

    /// Returns an input.
    pub(crate) fn input(&self, index: usize) -> Result<TensorRef<'_>> {
        self.optional(index)?.ok_or_else(|| Error::invalid(format!("input {index} is missing")))
    }

    /// Returns all inputs, all of which are there.
    pub(crate) fn all_inputs(&self) -> Result<Vec<TensorRef<'_>>> {
        (0..self.input_count()).map(|index| self.input(index)).collect()
    }

    /// Returns the shape of an input, whose elements may be anywhere.
    pub(crate) fn input_dims(&self, index: usize) -> Result<Shape<usize>> {
        let elements = self.value(index)?;
        let elements = elements.ok_or_else(|| Error::invalid(format!("input {index} is missing")))?;
        lengths(elements.dims)
    }

    /// Returns the numbers of an input in host memory; `None` if it is absent.
    pub(crate) fn numbers(&self, index: usize) -> Result<Option<Vec<f64>>> {
        let Some(elements) = self.value(index)? else { return Ok(None) };
        let count = lengths(elements.dims)?.iter().product();
        // SAFETY: the kernel's definition demands the input in host memory, and the host passes as many elements.
        unsafe {
            let first = of_host(self.device.host.runtime.tensor_data(elements.value))?.as_ptr();
            if count == 0 {
                return Ok(Some(Vec::new()));
            }
            macro_rules! read {
                ($ty:ty) => {
                    std::slice::from_raw_parts(first.cast::<$ty>(), count)
                        .iter()
                        .map(|number| f64::from(*number))
                        .collect()
                };
            }
            Ok(Some(match elements.element {
                ElementType::FLOAT => read!(f32),
                ElementType::DOUBLE => read!(f64),
                ElementType::FLOAT16 => read!(half::f16),
                ElementType::BFLOAT16 => read!(half::bf16),
                _ => self
                    .integers(index)?
                    .unwrap_or_default()
                    .into_iter()
                    .map(|number| number as f64)
                    .collect(),
            }))
        }
    }

    /// Returns the integers of an input in host memory; `None` if it is absent.
    pub(crate) fn integers(&self, index: usize) -> Result<Option<Vec<i64>>> {
        let Some(elements) = self.value(index)? else { return Ok(None) };
        let count = lengths(elements.dims)?.iter().product();
        // SAFETY: as for numbers.
        unsafe {
            let first = of_host(self.device.host.runtime.tensor_data(elements.value))?.as_ptr();
            if count == 0 {
                return Ok(Some(Vec::new()));
            }
            macro_rules! read {
                ($ty:ty) => {
                    std::slice::from_raw_parts(first.cast::<$ty>(), count)
                        .iter()
                        .map(|number| i64::from(*number))
                        .collect()
                };
            }
            Ok(Some(match elements.element {
                ElementType::INT64 => std::slice::from_raw_parts(first.cast(), count).to_vec(),
                ElementType::INT32 => read!(i32),
                ElementType::INT16 => read!(i16),
                ElementType::INT8 => read!(i8),
                ElementType::UINT8 | ElementType::BOOL => read!(u8),
                other => {
                    return Err(Error::invalid(format!("input {index} has elements of the type {other:?}")));
                }
            }))
        }
    }

    /// Allocates an output; `None` if nobody uses it.
    pub(crate) fn optional_output(&self, index: usize, dims: &[usize]) -> Result<Option<TensorMut<'_>>> {
        let Some(elements) = self.allocate(index, dims)? else { return Ok(None) };
        // SAFETY: the host has allocated the output for this call alone.
        unsafe { elements.view_mut(self.device.host.runtime) }.map(Some)
    }

    fn allocate(&self, index: usize, dims: &[usize]) -> Result<Option<Elements<'_>>> {
        if index >= self.node.outputs {
            return Ok(None);
        }
        let runtime = self.device.host.runtime;
        let lengths: Shape<i64> = dims.iter().map(|dim| dim.cast_signed() as i64).collect();
        // SAFETY: the call is alive, and the list has as many numbers as the host is told.
        unsafe {
            let value = of_host(runtime.output(self.context, index, lengths.as_ptr(), lengths.len()))?;
            if value.is_null() { Ok(None) } else { Elements::of(runtime, value).map(Some) }
        }
    }

    /// Allocates an output.
    pub(crate) fn output(&self, index: usize, dims: &[usize]) -> Result<TensorMut<'_>> {
        let output = self.optional_output(index, dims)?;
        output.ok_or_else(|| Error::invalid(format!("output {index} is missing")))
    }

    /// Allocates an output, or memory for what nobody uses.
    pub(crate) fn output_or_temporary(
        &self,
        index: usize,
        ty: DataType,
        dims: &[usize],
    ) -> Result<TensorMut<'_>> {
        match self.optional_output(index, dims)? {
            Some(output) => Ok(output),
            None => self.temporary(ty, dims),
        }
    }

    /// Writes an output of integers in host memory.
    pub(crate) fn write_integers(&self, index: usize, dims: &[usize], values: &[i64]) -> Result<()> {
        let Some(elements) = self.allocate(index, dims)? else { return Ok(()) };
        if elements.element != ElementType::INT64 || values.len() != dims.iter().product() {
            return Err(Error::invalid(format!("output {index} has another type or size")));
        }
        // SAFETY: the kernel's definition demands the output in host memory, and it has room for the values.
        unsafe {
            let first = of_host(self.device.host.runtime.tensor_data(elements.value))?.as_ptr();
            first.cast::<i64>().copy_from_nonoverlapping(values.as_ptr(), values.len());
        }
        Ok(())
    }

    /// Makes a tensor for an intermediate result.
    pub(crate) fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        let size = ty.size().ok_or_else(|| Error::unsupported("elements of this type"))?;
        let count = dims.iter().try_fold(1_usize, |count, dim| count.checked_mul(*dim));
        let bytes = count.and_then(|count| count.checked_mul(size));
        let bytes = bytes.ok_or_else(|| Error::invalid("a tensor is larger than the address space"))?;
        let block = self.device.pool.allocate(bytes, self.owner)?;
        self.blocks.borrow_mut().push(block);
        // SAFETY: the block stays allocated, and later work of the stream alone uses it.
        unsafe { TensorMut::contiguous(block, ty, dims) }
    }

    /// Makes a tensor with the bytes of elements.
    pub(crate) fn upload(&self, ty: DataType, dims: &[usize], bytes: &[u8]) -> Result<TensorRef<'_>> {
        let made = self.temporary(ty, dims)?;
        if !bytes.is_empty() {
            // The block may be used by work of the stream that is not done.
            self.synchronize()?;
            match self.device.library.memory {
                // SAFETY: the block is host memory, has room for the bytes, and nothing else uses it.
                Memory::OfTheHost => unsafe {
                    made.first().as_ptr().cast::<u8>().copy_from_nonoverlapping(bytes.as_ptr(), bytes.len());
                },
                Memory::OfTheDevice => {
                    self.device.library.device.memory_copy_h2d(self.launch.device, made.first(), bytes)?;
                }
            }
        }
        Ok(made.into_input())
    }

    /// Makes a tensor with integers.
    pub(crate) fn upload_integers(&self, dims: &[usize], values: &[i64]) -> Result<TensorRef<'_>> {
        let bytes: Vec<u8> = values.iter().flat_map(|value| value.to_ne_bytes()).collect();
        self.upload(DataType::INT64, dims, &bytes)
    }

    /// Returns the bytes of a tensor, after the work of the stream is done. Its elements are one after the other.
    pub(crate) fn download(&self, tensor: &TensorRef<'_>) -> Result<Vec<u8>> {
        let size = tensor.data_type().size().unwrap_or(0) * tensor.len();
        let mut bytes = vec![0; size];
        if size > 0 {
            self.synchronize()?;
            match self.device.library.memory {
                // SAFETY: the elements are host memory, one after the other, and there is room for them.
                Memory::OfTheHost => unsafe {
                    bytes.as_mut_ptr().copy_from_nonoverlapping(tensor.first().as_ptr().cast(), size);
                },
                Memory::OfTheDevice => {
                    self.device.library.device.memory_copy_d2h(
                        self.launch.device,
                        &mut bytes,
                        tensor.first(),
                    )?;
                }
            }
        }
        Ok(bytes)
    }
}

impl Temporaries for Call<'_> {
    fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        Self::temporary(self, ty, dims)
    }

    fn constant(&self, ty: DataType, value: f64) -> Result<TensorRef<'_>> {
        self.filled(ty, &[], value)
    }
}

impl Drop for Call<'_> {
    fn drop(&mut self) {
        for block in self.blocks.get_mut().drain(..) {
            self.device.pool.free(block);
        }
    }
}
