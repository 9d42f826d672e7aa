//! Indexing of elements and assignment to them, in terms of strides: `x[[2, 0]]` and `x[[2, 0]] = value`.
//!
//! Since 3.1, PaddlePaddle parses an index itself, and passes the strides of the original tensor. Its own CPU
//! kernel receives a packed copy of a device view, but applies the strides of the view to it: it reads and
//! writes past the end of the copy.

use tenon::DevicePtr;
use tenon::device::{DataType, Release};
use tenon_operators::{Layout, TensorMut, TensorRef};

use crate::error::{Error, Result};
use crate::kernel::{
    Any, BOOL, Bf16, Bool, COMPLEX, Call, Complex, Element, F16, FLOATS, INTEGERS, Output, Place, Registry,
    Run, Scalar, Tensor, kernel, layout, unsigned,
};

/// The methods that read elements.
const TAKES: &[&str] = &["gather"];
const PUTS: &[&str] = &["expand", "gather", "index_put"];
/// The methods for the gradients.
const TAKES_GRAD: &[&str] = &["expand", "gather", "gather_grad"];
const PUTS_GRAD: &[&str] = &["expand", "gather", "index_put", "index_put_grad"];

/// Registers the kernels of 3.1 and later, for devices whose memory the host can access: it reads the indices.
pub(super) fn register(registry: Registry) -> Result<()> {
    if registry.release() < Release::V3_1 || !registry.has_host_memory() {
        return Ok(());
    }
    let every: Vec<DataType> = [FLOATS, INTEGERS, BOOL, COMPLEX].concat();
    // Gradients are sums, which complex numbers do not support.
    let summed: Vec<DataType> = [FLOATS, INTEGERS].concat();
    put::<Bool>(registry)?;
    put::<u8>(registry)?;
    put::<i8>(registry)?;
    put::<i16>(registry)?;
    put::<i32>(registry)?;
    put::<i64>(registry)?;
    put::<F16>(registry)?;
    put::<Bf16>(registry)?;
    put::<f32>(registry)?;
    put::<f64>(registry)?;
    put::<Complex<f32>>(registry)?;
    put::<Complex<f64>>(registry)?;
    let recent = registry.release() >= Release::V3_2;
    for &ty in &every {
        registry.add_strided::<PutWithTensor<'static>, Any>(PUTS, ty)?;
        registry.add_strided::<PutGrad<'static>, Any>(PUTS_GRAD, ty)?;
        if recent {
            registry.add_strided::<Get<'static>, Any>(TAKES, ty)?
        } else {
            registry.add_strided::<GetBefore32<'static>, Any>(TAKES, ty)?
        }
    }
    for &ty in &summed {
        registry.add_strided::<PutWithTensorGrad<'static>, Any>(PUTS_GRAD, ty)?;
        if recent {
            registry.add_strided::<GetGrad<'static>, Any>(TAKES_GRAD, ty)?
        } else {
            registry.add_strided::<GetGradBefore32<'static>, Any>(TAKES_GRAD, ty)?
        }
    }
    Ok(())
}

fn put<T: Element>(registry: Registry) -> Result<()> {
    registry.add_strided::<Put<'static>, T>(PUTS, T::DATA_TYPE)
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
        let value = call.upload(&value, &[1])?;
        let part = Part::new(self.dims, self.strides, self.index_dims, self.index_strides, self.offset);
        part.assign(call, self.x, &self.index, &value, self.out)
    }
}

kernel! {
    /// Assigns a tensor, which is broadcast to the selected elements.
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
        part.assign(call, self.x, &self.index, &self.value.view()?, self.out)
    }
}

kernel! {
    /// Computes the gradient of an assignment of a number.
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
    /// Computes the gradients of an assignment of a tensor.
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
            /// Copies the selected elements.
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
            /// Computes the gradient of the copy of the selected elements.
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

/// The selected elements of a tensor: those of a shape with strides, where indices add to the position of
/// each.
struct Part<'a> {
    /// The shape of the selection: the shape of the indices replaces the dimensions that have an index.
    dims: &'a [i64],
    /// The strides in elements; zero for the dimensions of the indices.
    strides: &'a [i64],
    /// The lengths of the dimensions that have an index, then -1, then the shape of the indices.
    index_dims: &'a [i64],
    /// The strides in bytes, one for each dimension that has an index.
    index_strides: &'a [i64],
    /// The offset in bytes.
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
        value: &TensorRef<'_>,
        out: Output<'_>,
    ) -> Result<()> {
        let source = x.view()?;
        out.complete(x)?;
        let mut target = out.view(source.data_type())?;
        if index.is_empty() || source.is_empty() {
            return call.run(&mut |device, launch| device.expand(launch, &mut target, &source));
        }
        if target.is_same(&source) {
            let place = out.place()?;
            let elements = self.elements(index, &place)?;
            let (from, mut to) = line(&place)?;
            let chosen = [elements.view(call)?];
            return call
                .run(&mut |device, launch| device.index_put(launch, &mut to, &from, &chosen, value, false));
        }
        // The output is packed: it is new, or Paddle writes it to the view afterwards.
        let strided = Strided::of(x, &source)?;
        let elements = self.elements(index, &strided.place)?;
        let before = strided.spread(call, &source)?;
        let mut after = strided.zeros(call)?;
        let chosen = [elements.view(call)?];
        call.run(&mut |device, launch| device.index_put(launch, &mut after, &before, &chosen, value, false))?;
        strided.pack(call, &mut target, &after.into_input())
    }

    fn assign_grad(
        &self,
        call: &Call,
        x: Tensor<'_>,
        index: &[Tensor<'_>],
        dout: Tensor<'_>,
        [dx, dvalue]: [Option<Output<'_>>; 2],
    ) -> Result<()> {
        let gradient = dout.view()?;
        let ty = gradient.data_type();
        let strided = Strided::of(x, &gradient)?;
        let elements = self.elements(index, &strided.place)?;
        let packed = |out: Output<'_>| out.set_contiguous();
        [dx, dvalue].into_iter().flatten().try_for_each(packed)?;
        let dx = dx.map(|dx| dx.view(ty)).transpose()?;
        let mut dvalue = dvalue.map(|dvalue| dvalue.view(ty)).transpose()?;
        let chosen = if index.is_empty() { vec![] } else { vec![elements.view(call)?] };
        let from = strided.spread(call, &gradient)?;
        let mut rest = strided.zeros(call)?;
        call.run(&mut |device, launch| {
            let dvalue = dvalue.as_mut().filter(|_| !chosen.is_empty());
            device.index_put_grad(launch, Some(&mut rest), dvalue, &chosen, &from, chosen.is_empty())
        })?;
        dx.map_or(Ok(()), |mut dx| strided.pack(call, &mut dx, &rest.into_input()))
    }

    fn take(&self, call: &Call, x: Tensor<'_>, index: &[Tensor<'_>], out: Output<'_>) -> Result<()> {
        let ty = x.data_type()?;
        let place = x.place()?;
        let elements = self.elements(index, &place)?;
        out.reshape(&elements.dims)?;
        let mut out = out.view(ty)?;
        let chosen = elements.view(call)?;
        if place.first.is_null() || out.is_empty() {
            return Ok(());
        }
        let (from, _) = line(&place)?;
        call.run(&mut |device, launch| device.gather(launch, &mut out, &from, &chosen, 0))
    }

    fn take_grad(
        &self,
        call: &Call,
        x: Tensor<'_>,
        index: &[Tensor<'_>],
        dout: Tensor<'_>,
        dx: Output<'_>,
    ) -> Result<()> {
        let gradient = dout.view()?;
        dx.set_contiguous()?;
        let mut dx = dx.view(gradient.data_type())?;
        let strided = Strided::of(x, &gradient)?;
        let elements = self.elements(index, &strided.place)?;
        let (mut sums, chosen) = (strided.zeros(call)?, elements.view(call)?);
        call.run(&mut |device, launch| device.gather_grad(launch, &mut sums, &chosen, &gradient, 0))?;
        strided.pack(call, &mut dx, &sums.into_input())
    }

    /// Returns the positions of the selected elements, counted from the first element of a tensor in memory.
    fn elements(&self, index: &[Tensor<'_>], tensor: &Place) -> Result<Elements> {
        let size = tensor.size as i64;
        let dims = lengths(self.dims)?;
        let first = layout(&tensor.dims, &tensor.strides)?.before() as i64 + self.offset / size;
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

/// Positions of elements in memory, for a shape.
struct Elements {
    elements: Vec<i64>,
    dims: Vec<usize>,
}

impl Elements {
    fn view<'v>(&'v self, call: &'v Call) -> Result<TensorRef<'v>> {
        call.upload(&self.elements, &self.dims)
    }
}

/// A tensor whose gradient is packed, while the given strides are those of the tensor itself.
struct Strided {
    /// Its layout, without memory.
    place: Place,
    elements: Vec<i64>,
    extent: usize,
}

impl Strided {
    fn of(x: Tensor<'_>, gradient: &TensorRef<'_>) -> Result<Self> {
        let data_type = gradient.data_type();
        let place = Place {
            first: std::ptr::null_mut(),
            data_type,
            size: data_type.size().unwrap_or_default(),
            dims: x.dims()?,
            strides: x.strides()?,
        };
        let strides: Vec<i64> = place.strides.iter().map(|&stride| stride as i64).collect();
        let layout = layout(&place.dims, &place.strides)?;
        let elements = places(layout.before() as i64, &place.dims, &strides);
        let extent = layout.extent();
        Ok(Self { place, elements, extent })
    }

    /// Returns memory with this layout, filled with zeros.
    fn zeros<'c>(&self, call: &'c Call) -> Result<TensorMut<'c>> {
        call.zeros(self.place.data_type, &[self.extent])
    }

    fn own<'v>(&'v self, call: &'v Call) -> Result<TensorRef<'v>> {
        call.upload(&self.elements, &self.place.dims)
    }

    /// Returns memory with this layout, filled with the elements of a packed tensor.
    fn spread<'c>(&self, call: &'c Call, packed: &TensorRef<'_>) -> Result<TensorRef<'c>> {
        let (mut memory, empty) = (self.zeros(call)?, self.zeros(call)?.into_input());
        let own = [self.own(call)?];
        call.run(&mut |device, launch| device.index_put(launch, &mut memory, &empty, &own, packed, false))?;
        Ok(memory.into_input())
    }

    /// Packs the elements of memory with this layout.
    fn pack(&self, call: &Call, packed: &mut TensorMut<'_>, memory: &TensorRef<'_>) -> Result<()> {
        let own = self.own(call)?;
        call.run(&mut |device, launch| device.gather(launch, packed, memory, &own, 0))
    }
}

/// Returns the memory of a tensor, from the element with the lowest address to the one with the highest.
fn line<'c>(place: &Place) -> Result<(TensorRef<'c>, TensorMut<'c>)> {
    let layout = layout(&place.dims, &place.strides)?;
    let first = DevicePtr::from_ptr(place.first.wrapping_sub(layout.before() * place.size));
    let dims = [layout.extent()];
    let line = Layout::new(&dims, &[1]).map_err(Error::of_operator)?;
    // SAFETY: the memory of the tensor spans all of them, as `Place` says, and Paddle keeps it for work on
    // the stream.
    unsafe {
        Ok((TensorRef::new(first, place.data_type, line)?, TensorMut::new(first, place.data_type, line)?))
    }
}

fn lengths(dims: &[i64]) -> Result<Vec<usize>> {
    dims.iter().map(|&dim| unsigned("dims", dim)).collect()
}

/// Returns the positions of the elements of a shape, in row-major order.
fn places(first: i64, dims: &[usize], strides: &[i64]) -> Vec<i64> {
    let mut places = vec![first];
    for (&dim, &stride) in dims.iter().zip(strides) {
        let along = |place: i64| (0..dim as i64).map(move |n| place.wrapping_add(n.wrapping_mul(stride)));
        places = places.into_iter().flat_map(along).collect();
    }
    places
}

/// Returns the elements of a tensor, reshaped if necessary, and broadcast to a shape.
fn wide<T: Element>(tensor: Tensor<'_>, shape: Option<&[i64]>, dims: &[usize]) -> Result<Vec<T>> {
    tensor.expect_type(T::DATA_TYPE)?;
    let own = (tensor.dims()?, tensor.strides()?);
    let layout = layout(&own.0, &own.1)?;
    let elements = tensor.read_window::<T>(layout.into())?;
    let before = layout.before() as i64;
    let strides: Vec<i64> = own.1.iter().map(|&stride| stride as i64).collect();
    let packed: Vec<T> =
        places(before, &own.0, &strides).into_iter().map(|place| elements[place as usize]).collect();
    let shape = shape.map_or(Ok(own.0.to_vec()), lengths)?;
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
