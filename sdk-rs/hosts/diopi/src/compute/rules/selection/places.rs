//! Rules for elements selected by index tensors and masks.

use tenon::device::{Error, Result};
use tenon_operators::broadcast;

use crate::compute::number::Category;
use crate::compute::rules::layout;
use crate::compute::rules::shared::{expect_shape, kernel, single};
use crate::compute::{BOOL, COMPLEX, Call, DataType, FLOAT, INTEGER, Method, Place, Tensor};

/// The elements that index tensors select. The rules are those of advanced indexing in NumPy.
struct Choice<'c> {
    /// The dimensions of the tensor, those with indices first.
    order: Vec<usize>,
    /// The indices for each of the first dimensions.
    indices: Vec<Tensor<'c>>,
    /// The common shape of the indices.
    common: Vec<usize>,
    /// The lengths of the dimensions without indices.
    others: Vec<usize>,
    /// The number of dimensions without indices that come first in the result.
    before: usize,
}

impl<'c> Choice<'c> {
    fn new(call: &'c Call, dims: &[usize], given: &[Option<Tensor<'c>>]) -> Result<Self> {
        let (mut indexed, mut indices) = (Vec::new(), Vec::new());
        let mut dim = 0;
        for index in given {
            match index {
                None => dim += 1,
                Some(mask) if [DataType::BOOL, DataType::UINT8].contains(&mask.data_type()) => {
                    let end = dim + mask.rank();
                    if mask.rank() == 0 || dims.get(dim..end) != Some(mask.dims()) {
                        let message = format!("a mask of the shape {:?} does not fit {dims:?}", mask.dims());
                        return Err(Error::invalid(message));
                    }
                    let found = true_places(call, mask)?;
                    for column in 0..mask.rank() {
                        indices.push(found.selected(1, column)?);
                    }
                    indexed.extend(dim..end);
                    dim = end;
                }
                Some(index) => {
                    indices.push(call.to_type(index, DataType::INT64)?);
                    indexed.push(dim);
                    dim += 1;
                }
            }
        }
        if dim > dims.len() {
            let message = format!("there are indices for {dim} dimensions, and {} dimensions", dims.len());
            return Err(Error::invalid(message));
        }
        let common = indices.iter().try_fold(Vec::new(), |common, index| broadcast(&common, index.dims()))?;
        let rest: Vec<usize> = (0..dims.len()).filter(|dim| !indexed.contains(dim)).collect();
        let are_neighbours = indexed.windows(2).all(|pair| pair[0] + 1 == pair[1]);
        Ok(Self {
            before: if are_neighbours { indexed.first().copied().unwrap_or(0) } else { 0 },
            others: rest.iter().map(|&dim| dims[dim]).collect(),
            order: [indexed, rest].concat(),
            indices,
            common,
        })
    }

    /// Returns the shape of the selected elements.
    fn dims(&self) -> Vec<usize> {
        let (before, after) = self.others.split_at(self.before);
        [before, &self.common, after].concat()
    }

    /// Returns a view of selected elements with the dimensions of the indices first.
    fn indices_first(&self, chosen: &Tensor<'c>) -> Result<Tensor<'c>> {
        let (before, count) = (self.before, self.common.len());
        let order: Vec<usize> =
            (before..before + count).chain(0..before).chain(before + count..chosen.rank()).collect();
        chosen.permuted(&order)
    }

    /// Returns the indices as one tensor, whose last dimension holds the indices of one element.
    fn joined(&self, call: &'c Call) -> Result<Tensor<'c>> {
        let joined = call.temporary(DataType::INT64, &[&self.common[..], &[self.indices.len()]].concat())?;
        for (place, index) in self.indices.iter().enumerate() {
            call.copy(&joined.selected(self.common.len(), place)?, index)?;
        }
        Ok(joined)
    }
}

/// Returns the indices of the nonzero elements, one row for each. Waits for the mask.
fn true_places<'c>(call: &'c Call, mask: &Tensor<'c>) -> Result<Tensor<'c>> {
    let found = call.temporary(DataType::INT64, &count(call, mask)?)?;
    find(call, &found, mask)?;
    Ok(found)
}

const FOUND: Method = Method::new("nonzero", FLOAT | INTEGER | BOOL);

fn count(call: &Call, input: &Tensor<'_>) -> Result<Vec<usize>> {
    let mut dims = Vec::new();
    call.run(&FOUND, input.data_type(), &mut |device, launch| {
        dims = device.nonzero_out_shape(launch, input.elements())?;
        Ok(())
    })?;
    Ok(dims)
}

fn find<'c>(call: &'c Call, found: &Tensor<'c>, input: &Tensor<'_>) -> Result<()> {
    kernel(call, found, DataType::INT64, &[input], &FOUND, &mut |device, launch, out| {
        device.nonzero(launch, out, input.elements())
    })
}

/// Finds the nonzero elements and writes their indices, one row for each.
pub(crate) fn nonzero<'c>(call: &'c Call, out: Place, input: &Tensor<'c>) -> Result<()> {
    let found = call.make(out, DataType::INT64, &count(call, input)?)?;
    find(call, &found, input)
}

/// Reads the elements that index tensors select.
pub(crate) fn index<'c>(
    call: &'c Call,
    out: Place,
    input: &Tensor<'c>,
    indices: &[Option<Tensor<'c>>],
) -> Result<()> {
    let choice = Choice::new(call, input.dims(), indices)?;
    let out = call.make(out, input.data_type(), &choice.dims())?;
    if choice.indices.is_empty() {
        return call.copy(&out, input);
    }
    let (x, joined) = (input.permuted(&choice.order)?, choice.joined(call)?);
    let method = Method::new("gather_nd", FLOAT | INTEGER | BOOL | COMPLEX);
    kernel(call, &choice.indices_first(&out)?, x.data_type(), &[&x], &method, &mut |device, launch, out| {
        device.gather_nd(launch, out, x.elements(), joined.elements())
    })
}

/// Adds each gradient to the element that it belongs to.
pub(crate) fn index_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    zeros: &Tensor<'c>,
    indices: &[Option<Tensor<'c>>],
    grad_output: &Tensor<'c>,
) -> Result<()> {
    let choice = Choice::new(call, zeros.dims(), indices)?;
    let dout = call.to_type(grad_output, grad_input.data_type())?;
    expect_shape("grad_input", grad_input, zeros.dims())?;
    expect_shape("grad_output", &dout, &choice.dims())?;
    if choice.indices.is_empty() {
        return layout::copy(call, grad_input, &dout);
    }
    let (dout, joined) = (choice.indices_first(&dout)?, choice.joined(call)?);
    let target = grad_input.permuted(&choice.order)?;
    let method = Method::new("gather_nd_grad", FLOAT | INTEGER);
    kernel(call, &target, dout.data_type(), &[&dout], &method, &mut |device, launch, out| {
        device.gather_nd_grad(launch, out, joined.elements(), dout.elements())
    })
}

/// Writes values to the elements that index tensors select, or adds them.
pub(crate) fn index_put<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    values: &Tensor<'c>,
    indices: &[Option<Tensor<'c>>],
    accumulate: bool,
) -> Result<()> {
    let choice = Choice::new(call, input.dims(), indices)?;
    expect_shape("out", out, input.dims())?;
    let values = call.to_type(values, input.data_type())?.expanded(&choice.dims())?;
    let (mut x, mut target, mut values) = (input.clone(), out.clone(), values);
    if !choice.indices.is_empty() {
        (x, target) = (input.permuted(&choice.order)?, out.permuted(&choice.order)?);
        values = choice.indices_first(&values)?;
    }
    if Category::of(x.data_type()) == Category::Complex {
        (values, x, target) = (values.as_pairs()?, x.as_pairs()?, target.as_pairs()?);
    }
    if choice.indices.is_empty() {
        return if !accumulate {
            layout::copy(call, &target, &values)
        } else {
            call.write(
                &Method::new("add", FLOAT | INTEGER | BOOL),
                &target,
                [(&x).into(), (&values).into()],
                &mut |device, launch, out, [a, b]| device.add(launch, out, a, b),
            )
        };
    }
    let method = Method::new("index_put", FLOAT | INTEGER | BOOL);
    kernel(call, &target, x.data_type(), &[&x, &values], &method, &mut |device, launch, out| {
        let indices = call.all_elements(&choice.indices);
        device.index_put(launch, out, x.elements(), &indices, values.elements(), accumulate)
    })
}

/// Sets the slices at indices along a dimension to one value.
pub(crate) fn index_fill<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    dim: i64,
    index: &Tensor<'c>,
    value: &Tensor<'c>,
) -> Result<()> {
    let (input, out) = (input.with_a_dimension()?, out.with_a_dimension()?);
    let mut indices = vec![None; input.dimension(dim)?];
    indices.push(Some(index.with_a_dimension()?));
    index_put(call, &out, &input, &single(value)?, &indices, false)
}
