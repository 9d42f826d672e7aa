//! One tensor of several, as recurrent layers ask for in start-up programs.
//!
//! PaddlePaddle's CPU kernel takes the context of the CPU for that of a device, and ends the process. Here the tensors
//! keep their memory, and the one of all is a copy: the layers only read the tensors.

use tenon::device::DataType;
use tenon_operators::TensorRef;

use crate::error::{Error, Result};
use crate::kernel::{Any, Call, Output, Registry, Run, Tensor, kernel, layout, outputs};

/// Registers `coalesce_tensor`.
pub(super) fn register(registry: Registry) -> Result<()> {
    registry.add_every::<Coalesce<'static>>(&["concat", "expand"])
}

kernel! {
    /// Copies tensors, and joins them.
    struct Coalesce<'c> = c"coalesce_tensor" {
        inputs: { input: Vec<Tensor<'c>> },
        attributes: {
            dtype: DataType,
            copy_data: bool,
            set_constant: bool,
            persist_output: bool,
            constant: f32,
            use_align: bool,
            align_size: i32,
            size_of_dtype: i32,
            concated_shapes: &'c [i64],
            concated_ranks: &'c [i64],
        },
        outputs: { output: Vec<Option<Output<'c>>>, fused_output: Output<'c> },
    }
}

impl Run<Any> for Coalesce<'_> {
    fn run(self, call: &Call) -> Result<()> {
        if self.set_constant || self.use_align || !self.copy_data {
            return Err(Error::invalid("tensors are only joined as they are, without gaps"));
        }
        let mut views = Vec::new();
        for (input, output) in self.input.into_iter().zip(self.output) {
            let input_view = input.view()?;
            if let Some(output) = output.filter(|output| !output.is(input)) {
                output.reshape(input_view.dims())?;
                let mut output = output.view(outputs::like(&input_view))?;
                call.run(&mut |device, launch| device.expand(launch, &mut output, &input_view))?;
            }
            views.push(flat(&input_view)?);
        }
        let len = views.iter().map(|view| view.len()).sum();
        self.fused_output.reshape(&[len])?;
        let mut fused = self.fused_output.view(outputs::like_first(views.iter())?)?;
        call.run(&mut |device, launch| device.concat(launch, &mut fused, &views, 0))
    }
}

/// Returns the elements of a tensor in one dimension.
fn flat<'v>(tensor: &TensorRef<'v>) -> Result<TensorRef<'v>> {
    let dims = [tensor.len()];
    let layout = layout(&dims, &[1])?;
    // SAFETY: its elements are those of the tensor: tensors of 2.6 are contiguous.
    Ok(unsafe { TensorRef::new(tensor.first(), tensor.data_type(), layout) }?)
}
