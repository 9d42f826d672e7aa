//! Elements chosen by indices, and assignment to them, in terms of strides: `x[[2, 0]]` and `x[[2, 0]] = value`.
//!
//! Since 3.1 PaddlePaddle takes an index apart itself, and passes the strides of the tensor as it is. Its own kernel on the
//! CPU gets a packed copy of a view of the device, and would apply the strides of the view to it: it reads and writes
//! beyond the copy.

use tenon::device::{DataType, Release};
use tenon_kernels::strided::Layout;
use tenon_kernels::{Bool, Buffer, Complex, View, ViewMut, bf16, f16, formulas, indexing};

use crate::error::{Error, Result};
use crate::kernel::{
    Any, BOOL, COMPLEX, Call, Element, FLOATS, INTEGERS, Output, Place, Registry, Run, Scalar, Tensor,
    kernel, unsigned,
};

/// Registers the kernels of 3.1 and later, for devices whose memory the host can access.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() < Release::V3_1 || !registry.has_host_memory() {
        return Ok(());
    }
    let every: Vec<DataType> = [FLOATS, INTEGERS, BOOL, COMPLEX].concat();
    // Gradients are sums, which there are none of complex numbers.
    let summed: Vec<DataType> = [FLOATS, INTEGERS].concat();
    put::<Bool>(registry)?;
    put::<u8>(registry)?;
    put::<i8>(registry)?;
    put::<i16>(registry)?;
    put::<i32>(registry)?;
    put::<i64>(registry)?;
    put::<f16>(registry)?;
    put::<bf16>(registry)?;
    put::<f32>(registry)?;
    put::<f64>(registry)?;
    put::<Complex<f32>>(registry)?;
    put::<Complex<f64>>(registry)?;
    let recent = registry.release() >= Release::V3_2;
    for &ty in &every {
        registry.add_strided::<PutWithTensor<'static>, Any>(ty)?;
        registry.add_strided::<PutGrad<'static>, Any>(ty)?;
        match recent {
            true => registry.add_strided::<Get<'static>, Any>(ty)?,
            false => registry.add_strided::<GetBefore32<'static>, Any>(ty)?,
        }
    }
    for &ty in &summed {
        registry.add_strided::<PutWithTensorGrad<'static>, Any>(ty)?;
        match recent {
            true => registry.add_strided::<GetGrad<'static>, Any>(ty)?,
            false => registry.add_strided::<GetGradBefore32<'static>, Any>(ty)?,
        }
    }
    Ok(())
}

fn put<T: Element>(registry: Registry) -> Result<()> {
    registry.add_strided::<Put<'static>, T>(T::DATA_TYPE)
}

kernel! {
    /// Assigns a number.
    struct Put<'c> = c"index_elementwise_put" {
        inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>> },
        attributes: {
            value: Scalar<'c>, dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64],
            index_strides: &'c [i64], offset: i64,
        },
        outputs: { out: Output<'c> },
    }
}

impl<T: Element> Run<T> for Put<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let value = [self.value.to::<T>()?];
        let value = View::of_slice(&value, &[1])?;
        let part = Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
        part.assign(call, self.x, &self.index, &value, self.out)
    }
}

kernel! {
    /// Assigns a tensor, which is broadcast to the chosen elements.
    struct PutWithTensor<'c> = c"index_elementwise_put_with_tensor" {
        inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>>, value: Tensor<'c> },
        attributes: {
            dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64], index_strides: &'c [i64], offset: i64,
        },
        outputs: { out: Output<'c> },
    }
}

impl Run<Any> for PutWithTensor<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let part = Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
        part.assign(call, self.x, &self.index, &self.value.host_view()?, self.out)
    }
}

kernel! {
    /// The gradient of an assignment of a number.
    struct PutGrad<'c> = c"index_elementwise_put_grad" {
        inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>>, dout: Tensor<'c> },
        attributes: {
            dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64], index_strides: &'c [i64], offset: i64,
        },
        outputs: { dx: Option<Output<'c>> },
    }
}

impl Run<Any> for PutGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let part = Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
        part.assign_grad(call, self.x, &self.index, self.dout, [self.dx, None])
    }
}

kernel! {
    /// The gradients of an assignment of a tensor.
    struct PutWithTensorGrad<'c> = c"index_elementwise_put_with_tensor_grad" {
        inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>>, value: Tensor<'c>, dout: Tensor<'c> },
        attributes: {
            dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64], index_strides: &'c [i64], offset: i64,
        },
        outputs: { dx: Option<Output<'c>>, dvalue: Option<Output<'c>> },
    }
}

impl Run<Any> for PutWithTensorGrad<'_> {
    fn run(self, call: &Call) -> Result<()> {
        let part = Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
        part.assign_grad(call, self.x, &self.index, self.dout, [self.dx, self.dvalue])
    }
}

macro_rules! get {
    ($get:ident, $grad:ident, { $($combined:ident: bool)? }) => {
        kernel! {
            /// Copies the chosen elements.
            struct $get<'c> = c"index_elementwise_get" {
                inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>> },
                attributes: {
                    dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64], index_strides: &'c [i64],
                    offset: i64, _accumulate: bool $(, $combined: bool)?
                },
                outputs: { out: Output<'c> },
            }
        }

        impl Run<Any> for $get<'_> {
            fn run(self, call: &Call) -> Result<()> {
                let part =
                    Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
                part.take(call, self.x, &self.index, self.out)
            }
        }

        kernel! {
            /// The gradient of the copy of the chosen elements.
            struct $grad<'c> = c"index_elementwise_get_grad" {
                inputs: { x: Tensor<'c>, index: Vec<Tensor<'c>>, dout: Tensor<'c> },
                attributes: {
                    dims: &'c [i64], strides: &'c [i64], index_dims: &'c [i64], index_strides: &'c [i64],
                    offset: i64, _accumulate: bool $(, $combined: bool)?
                },
                outputs: { dx: Output<'c> },
            }
        }

        impl Run<Any> for $grad<'_> {
            fn run(self, call: &Call) -> Result<()> {
                let part =
                    Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
                part.take_grad(call, self.x, &self.index, self.dout, self.dx)
            }
        }
    };
}
get!(GetBefore32, GetGradBefore32, {});
get!(Get, GetGrad, { _combined: bool });

/// The chosen elements of a tensor: those of a shape with strides, where indices add to the place of each.
struct Part<'a> {
    /// The shape of what is chosen: that of the indices instead of the dimensions that have an index.
    dims: &'a [i64],
    /// In elements, zero for the dimensions of the indices.
    strides: &'a [i64],
    /// The lengths of the dimensions that have an index, then -1, then the shape of the indices.
    index_dims: &'a [i64],
    /// In bytes, one for each dimension that has an index.
    index_strides: &'a [i64],
    /// In bytes.
    offset: i64,
}

impl<'a> Part<'a> {
    fn new(
        dims: &'a [i64],
        strides: &'a [i64],
        index_dims: &'a [i64],
        index_strides: &'a [i64],
        offset: i64,
    ) -> Self {
        Part { dims, strides, index_dims, index_strides, offset }
    }

    fn assign(
        &self,
        call: &Call,
        x: Tensor<'_>,
        index: &[Tensor<'_>],
        value: &View<'_>,
        out: Output<'_>,
    ) -> Result<()> {
        let source = x.host_view()?;
        out.complete(x)?;
        let mut target = out.host_view(x.data_type()?)?;
        if index.is_empty() || source.is_empty() {
            return call.compute(|| formulas::elementary::copy(&mut target, &source));
        }
        if target.is_same_memory(&source) {
            let place = out.place()?;
            let elements = self.elements(index, &place)?;
            let (from, mut to) = memory(&place)?;
            return call.compute(|| indexing::index_put(&mut to, &from, &[elements.view()?], value, false));
        }
        // The output is packed, as it is new or as Paddle will write it to the view itself.
        let strided = Strided::of(x, &source)?;
        let elements = self.elements(index, &strided.place)?;
        call.compute(|| {
            let before = strided.spread(&source)?;
            let mut after = strided.zeros()?;
            let chosen = [elements.view()?];
            indexing::index_put(&mut after.view_mut()?, &before.view()?, &chosen, value, false)?;
            strided.pack(&mut target, &after)
        })
    }

    fn assign_grad(
        &self,
        call: &Call,
        x: Tensor<'_>,
        index: &[Tensor<'_>],
        dout: Tensor<'_>,
        [dx, dvalue]: [Option<Output<'_>>; 2],
    ) -> Result<()> {
        let (ty, gradient) = (dout.data_type()?, dout.host_view()?);
        let strided = Strided::of(x, &gradient)?;
        let elements = self.elements(index, &strided.place)?;
        let packed = |out: Output<'_>| out.set_contiguous();
        [dx, dvalue].into_iter().flatten().try_for_each(packed)?;
        let mut dx = dx.map(|dx| dx.host_view(ty)).transpose()?;
        let mut dvalue = dvalue.map(|dvalue| dvalue.host_view(ty)).transpose()?;
        call.compute(|| {
            let chosen = if index.is_empty() { vec![] } else { vec![elements.view()?] };
            let from = strided.spread(&gradient)?;
            let mut rest = strided.zeros()?;
            indexing::index_put_grad(
                Some(&mut rest.view_mut()?),
                dvalue.as_mut().filter(|_| !chosen.is_empty()),
                &chosen,
                &from.view()?,
                chosen.is_empty(),
            )?;
            dx.as_mut().map_or(Ok(()), |dx| strided.pack(dx, &rest))
        })
    }

    fn take(&self, call: &Call, x: Tensor<'_>, index: &[Tensor<'_>], out: Output<'_>) -> Result<()> {
        call.settle()?;
        let ty = x.data_type()?;
        let place = x.place()?;
        let elements = self.elements(index, &place)?;
        out.reshape(&elements.dims)?;
        let mut out = out.host_view(ty)?;
        let chosen = elements.view()?;
        if place.first.is_null() || out.is_empty() {
            return Ok(());
        }
        let (from, _) = memory(&place)?;
        call.compute(|| indexing::gather(&mut out, &from, &chosen, 0))
    }

    fn take_grad(
        &self,
        call: &Call,
        x: Tensor<'_>,
        index: &[Tensor<'_>],
        dout: Tensor<'_>,
        dx: Output<'_>,
    ) -> Result<()> {
        let gradient = dout.host_view()?;
        dx.set_contiguous()?;
        let mut dx = dx.host_view(dout.data_type()?)?;
        let strided = Strided::of(x, &gradient)?;
        let elements = self.elements(index, &strided.place)?;
        call.compute(|| {
            let mut sums = strided.zeros()?;
            indexing::gather_grad(&mut sums.view_mut()?, &elements.view()?, &gradient, 0)?;
            strided.pack(&mut dx, &sums)
        })
    }

    /// Which elements are chosen, counted from the first one in memory of a tensor.
    fn elements(&self, index: &[Tensor<'_>], tensor: &Place) -> Result<Elements> {
        let size = tensor.dtype.size() as i64;
        let dims = lengths(self.dims)?;
        let first = layout(tensor)?.before() as i64 + self.offset / size;
        let mut elements = places(first, &dims, self.strides);
        let end = |dims: &[i64]| dims.iter().position(|&dim| dim == -1).unwrap_or(dims.len());
        let (lens, shape) = self.index_dims.split_at(end(self.index_dims));
        let shape = shape.get(1..).map(|shape| &shape[..end(shape)]);
        if let [mask] = index
            && mask.data_type()? == DataType::BOOL
        {
            let mask = wide::<Bool>(*mask, None, &dims)?;
            let chosen = elements.into_iter().zip(mask).filter_map(|(at, chosen)| chosen.get().then_some(at));
            let elements: Vec<i64> = chosen.collect();
            return Ok(Elements { dims: vec![elements.len()], elements });
        }
        if index.len() != lens.len() || index.len() != self.index_strides.len() {
            return Err(Error::invalid("`index` has a tensor for each of `index_dims` and `index_strides`"));
        }
        for ((&index, &len), &stride) in index.iter().zip(lens).zip(self.index_strides) {
            for (place, number) in elements.iter_mut().zip(wide::<i64>(index, shape, &dims)?) {
                if !(-len..len).contains(&number) {
                    return Err(Error::invalid(format!("the index {number} in a dimension of {len}")));
                }
                *place += (number + if number < 0 { len } else { 0 }) * (stride / size);
            }
        }
        Ok(Elements { elements, dims })
    }
}

/// Elements of memory, for a shape.
struct Elements {
    elements: Vec<i64>,
    dims: Vec<usize>,
}

impl Elements {
    fn view(&self) -> tenon_kernels::Result<View<'_>> {
        View::of_slice(&self.elements, &self.dims)
    }
}

/// A tensor whose gradient is packed, while the strides are those that it has itself.
struct Strided {
    /// Its layout, without memory.
    place: Place,
    elements: Vec<i64>,
    extent: usize,
}

impl Strided {
    fn of(x: Tensor<'_>, gradient: &View<'_>) -> Result<Self> {
        let place = Place {
            first: std::ptr::null_mut(),
            dtype: gradient.dtype(),
            dims: x.dims()?,
            strides: x.strides()?,
        };
        let (layout, strides) = (layout(&place)?, place.strides.iter().map(|&stride| stride as i64));
        let elements = places(layout.before() as i64, &place.dims, &strides.collect::<Vec<_>>());
        let extent = layout.extent();
        Ok(Self { place, elements, extent })
    }

    /// Its memory, all zeros.
    fn zeros(&self) -> tenon_kernels::Result<Buffer> {
        Buffer::new(self.place.dtype, &[self.extent])
    }

    fn own(&self) -> tenon_kernels::Result<View<'_>> {
        View::of_slice(&self.elements, &self.place.dims)
    }

    /// Its memory, with the elements of a packed tensor.
    fn spread(&self, packed: &View<'_>) -> tenon_kernels::Result<Buffer> {
        let mut memory = self.zeros()?;
        let empty = self.zeros()?;
        indexing::index_put(&mut memory.view_mut()?, &empty.view()?, &[self.own()?], packed, false)?;
        Ok(memory)
    }

    /// Packs the elements in its memory.
    fn pack(&self, packed: &mut ViewMut<'_>, memory: &Buffer) -> tenon_kernels::Result<()> {
        indexing::gather(packed, &memory.view()?, &self.own()?, 0)
    }
}

fn layout(place: &Place) -> Result<Layout<'_>> {
    Ok(Layout::new(&place.dims, &place.strides)?)
}

/// The memory of a tensor as a line: all from the element with the lowest address to that with the highest.
fn memory<'c>(place: &'c Place) -> Result<(View<'c>, ViewMut<'c>)> {
    let layout = layout(place)?;
    let first = place.first.wrapping_sub(layout.before() * place.dtype.size());
    // SAFETY: the memory of the tensor reaches over all of them, as `Place` says, and is at rest. One operator uses both.
    unsafe {
        Ok((
            View::from_raw(first, place.dtype, &[layout.extent()], &[1])?,
            ViewMut::from_raw(first, place.dtype, &[layout.extent()], &[1])?,
        ))
    }
}

fn lengths(dims: &[i64]) -> Result<Vec<usize>> {
    dims.iter().map(|&dim| unsigned("dims", dim)).collect()
}

/// The places of the elements of a shape, in row-major order.
fn places(first: i64, dims: &[usize], strides: &[i64]) -> Vec<i64> {
    let mut places = vec![first];
    for (&dim, &stride) in dims.iter().zip(strides) {
        let along = |place: i64| (0..dim as i64).map(move |n| place.wrapping_add(n.wrapping_mul(stride)));
        places = places.into_iter().flat_map(along).collect();
    }
    places
}

/// The elements of a tensor, which may be seen in another shape, broadcast to a shape.
fn wide<T: Element>(tensor: Tensor<'_>, shape: Option<&[i64]>, dims: &[usize]) -> Result<Vec<T>> {
    tensor.expect_type(T::DATA_TYPE)?;
    let own = (tensor.dims()?, tensor.strides()?);
    let elements = tensor.read_window::<T>(Layout::new(&own.0, &own.1)?.into())?;
    let before = Layout::new(&own.0, &own.1)?.before() as i64;
    let strides: Vec<i64> = own.1.iter().map(|&stride| stride as i64).collect();
    let packed: Vec<T> =
        places(before, &own.0, &strides).into_iter().map(|place| elements[place as usize]).collect();
    let shape = shape.map_or(Ok(own.0), lengths)?;
    let mut step = 1;
    let mut strides = vec![0; dims.len()];
    let missing = dims.len().checked_sub(shape.len());
    let fits = missing
        .is_some_and(|missing| shape.iter().zip(&dims[missing..]).all(|(&len, &dim)| len == 1 || len == dim));
    if !fits || shape.iter().product::<usize>() != packed.len() {
        return Err(Error::invalid(format!("an index of the shape {shape:?} is not one for {dims:?}")));
    }
    for (stride, &len) in strides.iter_mut().rev().zip(shape.iter().rev()) {
        if len > 1 {
            *stride = step;
        }
        step *= len as i64;
    }
    Ok(places(0, dims, &strides).into_iter().map(|place| packed[place as usize]).collect())
}
