//! Rules that read and write elements where a mask is true.

use tenon::device::Result;
use tenon_operators::attributes::CumsumAttributes;

use crate::compute::rules::layout;
use crate::compute::rules::shared::{choose, expect_shape, kernel, single};
use crate::compute::{BOOL, COMPLEX, Call, DataType, FLOAT, INTEGER, Method, Number, Place, Tensor};

/// Copies a tensor, and sets the elements where the mask is true to one value.
pub(crate) fn masked_fill<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    mask: &Tensor<'c>,
    value: &Tensor<'c>,
) -> Result<()> {
    let value = call.to_type(&single(value)?, input.data_type())?;
    choose(call, out, mask, &value, input)
}

/// Copies a tensor, and sets the elements where the mask is true to a number.
pub(crate) fn masked_fill_number<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    mask: &Tensor<'c>,
    value: Number,
) -> Result<()> {
    choose(call, out, mask, &call.scalar(value, input.data_type())?, input)
}

/// Selects elements of one tensor where a condition is true, and of another elsewhere.
pub(crate) fn select<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    condition: &Tensor<'c>,
    input: &Tensor<'c>,
    other: &Tensor<'c>,
) -> Result<()> {
    choose(call, out, condition, input, other)
}

/// Copies a tensor, and replaces the elements where the mask is true by those of a source, in order.
///
/// The position in the source is the number of preceding true elements, so the host need not wait for the
/// mask.
pub(crate) fn masked_scatter<'c>(
    call: &'c Call,
    out: &Tensor<'c>,
    input: &Tensor<'c>,
    mask: &Tensor<'c>,
    source: &Tensor<'c>,
) -> Result<()> {
    expect_shape("out", out, input.dims())?;
    let mask = call.to_type(mask, DataType::BOOL)?.expanded(input.dims())?;
    if source.len() == 0 || input.len() == 0 {
        return layout::copy(call, out, input);
    }
    let flags = call.packed(&call.to_type(&mask, DataType::INT64)?)?.reshaped(&[input.len()])?;
    let before = call.tensor_like(&flags)?;
    kernel(
        call,
        &before,
        flags.data_type(),
        &[&flags],
        &Method::new("cumsum", INTEGER),
        &mut |device, launch, out| {
            device.cumsum(
                launch,
                out,
                flags.elements(),
                &CumsumAttributes { axis: 0, flatten: false, exclusive: true, reverse: false },
            )
        },
    )?;
    // Elements that are not selected may have any valid position, such as the first one.
    let places = call.formula(
        &Method::new("multiply", INTEGER),
        [(&before).into(), (&flags).into()],
        &mut |device, launch, out, [a, b]| device.multiply(launch, out, a, b),
    )?;
    let source = call.packed(&call.to_type(source, input.data_type())?)?.reshaped(&[source.len()])?;
    let chosen = call.temporary(source.data_type(), &[input.len()])?;
    let method = Method::new("gather", FLOAT | INTEGER | BOOL | COMPLEX);
    kernel(call, &chosen, source.data_type(), &[&source], &method, &mut |device, launch, out| {
        device.gather(launch, out, source.elements(), places.elements(), 0)
    })?;
    choose(call, out, &mask, &chosen.reshaped(input.dims())?, input)
}

/// Reads the elements where the mask is true. Waits for the mask.
pub(crate) fn masked_select<'c>(
    call: &'c Call,
    out: Place,
    input: &Tensor<'c>,
    mask: &Tensor<'c>,
) -> Result<()> {
    let mask = call.to_type(mask, DataType::BOOL)?;
    let method = Method::new("masked_select", FLOAT | INTEGER | BOOL | COMPLEX);
    let mut dims = Vec::new();
    call.run(&method, input.data_type(), &mut |device, launch| {
        dims = device.masked_select_out_shape(launch, input.elements(), mask.elements())?;
        Ok(())
    })?;
    let out = call.make(out, input.data_type(), &dims)?;
    kernel(call, &out, input.data_type(), &[input], &method, &mut |device, launch, out| {
        device.masked_select(launch, out, input.elements(), mask.elements())
    })
}

/// Computes the gradient of reading where the mask is true: zeros elsewhere.
pub(crate) fn masked_select_grad<'c>(
    call: &'c Call,
    grad_input: &Tensor<'c>,
    grad_output: &Tensor<'c>,
    input: &Tensor<'c>,
    mask: &Tensor<'c>,
) -> Result<()> {
    expect_shape("grad_input", grad_input, input.dims())?;
    let mask = call.to_type(mask, DataType::BOOL)?;
    let dout = call.to_type(grad_output, grad_input.data_type())?;
    kernel(
        call,
        grad_input,
        dout.data_type(),
        &[&dout],
        &Method::new("masked_select_grad", FLOAT),
        &mut |device, launch, out| device.masked_select_grad(launch, out, mask.elements(), dout.elements()),
    )
}
