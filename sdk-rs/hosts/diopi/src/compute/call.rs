//! One call of a computed function.

use std::borrow::Cow;
use std::cell::Cell;

use smallvec::SmallVec;
use tenon::device::{DataType, Error, Result, Status, Stream};
use tenon_operators::{
    Composed, Launch, Operators, Temporaries, TensorMut, TensorRef, broadcast, contiguous_strides,
};

use super::list::{dimensions, missing};
use super::method::{BOOL, COMPLEX, FLOAT, INTEGER, Method};
use super::number::{Number, Operand, dtype};
use super::output::Output;
use super::tensor::Tensor;
use crate::error::{self, refused, unsupported};
use crate::host::runtime;
use crate::library::blocks;
use crate::provider::{Library, library};
use crate::runtime::{self as diopi, Context, DeviceKind, DiopiError, ffi};

/// One call of a computed function.
pub(crate) struct Call {
    pub(super) library: &'static Library,
    context: Context,
    launch: Launch,
    /// A sparse tensor among the arguments that the function has not read yet.
    sparse: Cell<Option<diopi::Tensor>>,
}

/// The shape of a sparse matrix in compressed rows, and its parts.
#[derive(Debug)]
pub(crate) struct SparseMatrix<'c> {
    pub(crate) dims: Vec<usize>,
    /// The first element of each row, and the end of the last row.
    pub(crate) starts: Tensor<'c>,
    pub(crate) columns: Tensor<'c>,
    pub(crate) values: Tensor<'c>,
}

impl std::fmt::Debug for Call {
    fn fmt(&self, formatter: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        formatter.debug_struct("Call").field("context", &self.context).finish_non_exhaustive()
    }
}

/// Creates an error for a sparse tensor in another form than compressed rows.
fn not_in_rows(name: &str) -> Error {
    unsupported(format!("`{name}` is sparse in another form than compressed rows, which is not implemented"))
}

/// The host frees temporary tensors when the context ends, after the work on its stream.
impl Temporaries for Call {
    fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        Self::temporary(self, ty, dims)?.as_output()
    }

    fn constant(&self, ty: DataType, value: f64) -> Result<TensorRef<'_>> {
        self.scalar(Number::Float(value), ty).map(|tensor| tensor.elements().clone())
    }
}

/// Runs the body of a computed function, and reports its errors to the host. A panic becomes an error.
pub(crate) fn enter(
    name: &'static str,
    context: ffi::diopiContextHandle_t,
    compute: &mut dyn FnMut(&Call) -> Result<()>,
) -> DiopiError {
    error::call(name, || {
        let computed = Call::begin(Context::from_raw(context)).and_then(|call| compute(&call));
        computed.map_err(|error| error::computed(&error))
    })
}

/// Calls the method of a formula with its output and its inputs.
pub(crate) type FormulaWork<'w, const N: usize> =
    dyn FnMut(&dyn Operators, Launch, &mut TensorMut<'_>, [&TensorRef<'_>; N]) -> Result<()> + 'w;

impl Call {
    fn begin(context: Context) -> Result<Self> {
        if context.is_null() {
            return Err(Error::invalid("the context is null"));
        }
        let library = library();
        // SAFETY: the host passes a live context.
        let stream = unsafe { runtime().get_stream(context) }.map_err(refused)?;
        let launch =
            Launch { device: library.device.get_device()?, stream: Stream::from_addr(stream.addr()) };
        Ok(Self { library, context, launch, sparse: Cell::new(None) })
    }

    /// Waits for the work on the call's stream.
    pub(crate) fn synchronize(&self) -> Result<()> {
        self.launch.synchronize(self.library.device)
    }

    /// Creates a tensor of the host that lives as long as the context, and returns its handle and a view of it.
    ///
    /// Without strides, the tensor is row-major.
    pub(super) fn require(
        &self,
        name: &str,
        ty: DataType,
        dims: &[usize],
        strides: Option<&[i64]>,
    ) -> Result<(diopi::Tensor, Tensor<'_>)> {
        let dtype = dtype(ty).ok_or_else(|| unsupported(format!("tensors of {ty:?} are not implemented")))?;
        let lengths: Vec<i64> = dims.iter().map(|&dim| dim as i64).collect();
        let size = ffi::diopiSize_t { data: lengths.as_ptr(), len: lengths.len() as i64 };
        let strides = strides.map(|strides| ffi::diopiSize_t { data: strides.as_ptr(), len: size.len });
        // SAFETY: the context is that of the call, and the lists live until the function returns.
        let made = unsafe {
            runtime().require_tensor(
                self.context,
                &raw const size,
                strides.as_ref().map_or(std::ptr::null(), std::ptr::from_ref),
                dtype,
                DeviceKind::DEVICE,
            )
        };
        let made = made.map_err(refused)?;
        if made.is_null() {
            return Err(Error::new(
                Status::INTERNAL_ERROR,
                "`diopiRequireTensor` succeeds with a null tensor",
            ));
        }
        // SAFETY: the host has just created the tensor.
        let view = unsafe { self.view(name, made) }?;
        if (view.data_type(), view.dims()) != (ty, dims) {
            let (actual, shape) = (view.data_type(), view.dims());
            let message =
                format!("`diopiRequireTensor` gives {actual:?} {shape:?} where {ty:?} {dims:?} is needed");
            return Err(Error::new(Status::INTERNAL_ERROR, message));
        }
        Ok((made, view))
    }

    /// Creates an uninitialised temporary tensor.
    pub(crate) fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<Tensor<'_>> {
        self.require("a temporary tensor", ty, dims, None).map(|(_, view)| view)
    }

    /// Creates a temporary tensor with the shape and the type of another tensor.
    pub(crate) fn tensor_like(&self, tensor: &Tensor<'_>) -> Result<Tensor<'_>> {
        self.temporary(tensor.data_type(), tensor.dims())
    }

    /// Creates a temporary tensor from host bytes in row-major order.
    pub(crate) fn upload(&self, ty: DataType, dims: &[usize], bytes: &[u8]) -> Result<Tensor<'_>> {
        let tensor = self.temporary(ty, dims)?;
        if tensor.len() * ty.size().unwrap_or(0) != bytes.len() {
            return Err(Error::new(
                Status::INTERNAL_ERROR,
                format!("{} bytes are given for {dims:?}", bytes.len()),
            ));
        }
        // Earlier work on the stream may still use the memory.
        self.synchronize()?;
        self.library.device.memory_copy_h2d(self.launch.device, tensor.elements().first(), bytes)?;
        Ok(tensor)
    }

    /// Creates a temporary tensor without dimensions from a number.
    pub(crate) fn scalar(&self, number: Number, ty: DataType) -> Result<Tensor<'_>> {
        let (written, bytes) = number.to_bytes(ty);
        self.to_type(&self.upload(written, &[], &bytes)?, ty)
    }

    /// Copies the elements of a tensor to the host in row-major order, after the work on the stream is done.
    pub(crate) fn download(&self, tensor: &Tensor<'_>) -> Result<Vec<u8>> {
        self.expect_dense()?;
        let packed = self.packed(tensor)?;
        let mut bytes = vec![0; packed.len() * packed.data_type().size().unwrap_or(0)];
        self.synchronize()?;
        if !bytes.is_empty() {
            self.library.device.memory_copy_d2h(self.launch.device, &mut bytes, packed.elements().first())?;
        }
        Ok(bytes)
    }

    /// Returns a contiguous tensor: the tensor itself, or a copy.
    pub(crate) fn packed<'c>(&'c self, tensor: &Tensor<'c>) -> Result<Tensor<'c>> {
        if tensor.is_contiguous() {
            return Ok(tensor.clone());
        }
        let packed = self.tensor_like(tensor)?;
        self.copy(&packed, tensor)?;
        Ok(packed)
    }

    /// Returns the tensor with the given type: the tensor itself, or a converted copy.
    pub(crate) fn to_type<'c>(&'c self, tensor: &Tensor<'c>, ty: DataType) -> Result<Tensor<'c>> {
        if tensor.data_type() == ty {
            return Ok(tensor.clone());
        }
        let converted = self.temporary(ty, tensor.dims())?;
        self.copy(&converted, tensor)?;
        Ok(converted)
    }

    /// Copies elements with conversion and broadcasting. Both tensors may have any strides.
    pub(crate) fn copy(&self, target: &Tensor<'_>, source: &Tensor<'_>) -> Result<()> {
        let mut out = target.as_output()?;
        if target.data_type() == source.data_type() {
            self.run(
                &Method::new("expand", FLOAT | INTEGER | BOOL | COMPLEX),
                source.data_type(),
                &mut |device, launch| device.expand(launch, &mut out, source.elements()),
            )
        } else {
            let source = source.expanded(target.dims())?;
            self.run(
                &Method::new("cast", FLOAT | INTEGER | BOOL | COMPLEX),
                source.data_type(),
                &mut |device, launch| device.cast(launch, &mut out, source.elements()),
            )
        }
    }

    /// Returns true if the device has a method for elements of a type.
    pub(crate) fn provides(&self, method: &Method, ty: DataType) -> bool {
        method.check(self.library, ty).is_ok()
    }

    /// Calls a method of the operators. All inputs have the given type.
    pub(crate) fn run(
        &self,
        method: &Method,
        ty: DataType,
        work: &mut dyn FnMut(&dyn Operators, Launch) -> Result<()>,
    ) -> Result<()> {
        self.expect_dense()?;
        method.check(self.library, ty)?;
        let compositions = self.library.compositions();
        if compositions.is_empty() {
            return work(self.library.operators, self.launch);
        }
        work(&Composed::new(self.library.operators, compositions, self), self.launch)
    }

    /// Computes a formula of some operands, which are converted to their common type and broadcast.
    pub(crate) fn formula<'c, 'o, const N: usize>(
        &'c self,
        method: &Method,
        operands: [Operand<'o>; N],
        work: &mut FormulaWork<'_, N>,
    ) -> Result<Tensor<'c>> {
        let mut dims = Vec::new();
        for operand in &operands {
            if let Operand::Tensor(tensor) | Operand::Condition(tensor) = operand {
                dims = broadcast(&dims, tensor.dims())?;
            }
        }
        let ty = method.result(method.working_type(&operands, None));
        let target = self.temporary(ty, &dims)?;
        self.write(method, &target, operands, work)?;
        Ok(target)
    }

    /// Computes a formula as [`formula`](Self::formula) does, and writes the result to a tensor of any type.
    pub(crate) fn write<'c, const N: usize>(
        &'c self,
        method: &Method,
        target: &Tensor<'c>,
        operands: [Operand<'c>; N],
        work: &mut FormulaWork<'_, N>,
    ) -> Result<()> {
        let ty = method.working_type(&operands, Some(target.data_type()));
        let mut inputs: SmallVec<[Cow<'_, Tensor<'_>>; 3]> = SmallVec::new();
        for operand in operands {
            inputs.push(match operand {
                Operand::Condition(tensor) => Cow::Borrowed(tensor),
                Operand::Tensor(tensor) if tensor.data_type() == ty => Cow::Borrowed(tensor),
                Operand::Tensor(tensor) => Cow::Owned(self.to_type(tensor, ty)?),
                Operand::Number(number) => Cow::Owned(self.scalar(number, ty)?),
            });
        }
        let shared: [&Tensor<'_>; N] = std::array::from_fn(|index| &*inputs[index]);
        let mut out = Output::new(self, target, method.result(ty), &shared, true)?;
        let elements = std::array::from_fn(|index| inputs[index].elements());
        self.run(method, ty, &mut |device, launch| work(device, launch, out.elements(), elements))?;
        out.finish()
    }

    /// Creates the output of an operator with the given type. The inputs may share memory with the target.
    pub(crate) fn output<'c>(
        &'c self,
        target: &Tensor<'c>,
        ty: DataType,
        inputs: &[&Tensor<'_>],
    ) -> Result<Output<'c>> {
        Output::new(self, target, ty, inputs, false)
    }

    /// Returns the elements of several tensors.
    pub(crate) fn all_elements<'c>(&self, tensors: &[Tensor<'c>]) -> Vec<TensorRef<'c>> {
        tensors.iter().map(|tensor| tensor.elements().clone()).collect()
    }

    /// Returns an error if the function was given a sparse tensor, which most functions do not take.
    fn expect_dense(&self) -> Result<()> {
        match self.sparse.get() {
            None => Ok(()),
            Some(_) => Err(unsupported("the operator does not take sparse tensors".to_owned())),
        }
    }

    /// Returns the sparse matrix among the arguments.
    pub(crate) fn sparse_matrix(&self, name: &str) -> Result<SparseMatrix<'_>> {
        let handle = self.sparse.take().ok_or_else(|| {
            unsupported(format!("`{name}` is dense; only matrices in compressed rows are implemented"))
        })?;
        let host = runtime();
        let of_other_form = |_| not_in_rows(name);
        // SAFETY: the handle is that of an argument, so the tensor lives until the call ends, and its parts with it.
        unsafe {
            let shape = host.get_tensor_shape(handle).map_err(refused)?;
            let dims = dimensions(name, &shape)?.iter().map(|&dim| usize::try_from(dim));
            let dims = dims.collect::<std::result::Result<_, _>>();
            Ok(SparseMatrix {
                dims: dims.map_err(|_| Error::invalid(format!("`{name}` has a negative dimension")))?,
                starts: self.view(name, host.get_tensor_crow_indices(handle).map_err(of_other_form)?)?,
                columns: self.view(name, host.get_tensor_col_indices(handle).map_err(of_other_form)?)?,
                values: self.view(name, host.get_tensor_values(handle).map_err(of_other_form)?)?,
            })
        }
    }

    /// Creates a view of a tensor of the host. That of a sparse tensor is a view of its values, which only
    /// [`sparse_matrix`](Self::sparse_matrix) allows the function to use.
    ///
    /// # Safety
    /// The handle must be a live tensor of the host.
    pub(super) unsafe fn view(&self, name: &str, handle: diopi::Tensor) -> Result<Tensor<'_>> {
        if handle.is_null() {
            return Err(missing(name));
        }
        let host = runtime();
        // A host without the function has no sparse tensors.
        // SAFETY: the caller's promise.
        if matches!(unsafe { host.is_tensor_sparse(handle) }, Ok(true)) {
            if self.sparse.replace(Some(handle)).is_some() {
                return Err(unsupported("the operator does not take several sparse tensors".to_owned()));
            }
            // SAFETY: as above. The values belong to the tensor.
            return unsafe {
                self.view(name, host.get_tensor_values(handle).map_err(|_| not_in_rows(name))?)
            };
        }
        // SAFETY: the caller's promise.
        let (dtype, shape, strides, first) = unsafe {
            (
                host.get_tensor_dtype(handle).map_err(refused)?,
                host.get_tensor_shape(handle).map_err(refused)?,
                host.get_tensor_stride(handle).map_err(refused)?,
                host.get_tensor_data_const(handle).map_err(refused)?,
            )
        };
        let ty = super::number::data_type(dtype).ok_or_else(|| {
            unsupported(format!("`{name}` has the type {dtype:?}, which is not implemented"))
        })?;
        // SAFETY: the lists belong to the tensor.
        let (shape, strides) = unsafe { (dimensions(name, &shape)?, dimensions(name, &strides)?) };
        let dims = shape.iter().map(|&dim| usize::try_from(dim));
        // Tensors of few dimensions need no allocations.
        let dims: SmallVec<[usize; 6]> = dims
            .collect::<std::result::Result<_, _>>()
            .map_err(|_| Error::invalid(format!("`{name}` has the shape {shape:?}")))?;
        let strides: SmallVec<[isize; 6]> = if strides.len() == dims.len() {
            strides.iter().map(|&stride| stride as isize).collect()
        } else {
            contiguous_strides(&dims)?.into()
        };
        if first.is_null() && !dims.contains(&0) {
            return Err(Error::invalid(format!("`{name}` has no memory")));
        }
        // SAFETY: the elements are device memory, which the host keeps for work on the stream.
        let tensor = unsafe { Tensor::new(tenon::DevicePtr::from_addr(first.addr()), ty, &dims, &strides) }
            .map_err(|error| Error::invalid(format!("`{name}`: {}", error.message)))?;
        blocks::check_span(name, first.addr(), tensor.elements().span())
            .map_err(|error| Error::invalid(error.message.clone()))?;
        Ok(tensor)
    }
}
