use std::cell::Cell;
use tenon::support::Mutex;

use super::*;
use crate::attributes::ConvAttributes;
use crate::{Activation, Arithmetic, Convolution, Launch, Layout, Optimizer, contiguous_strides};
use tenon::DevicePtr;
use tenon::device::{DeviceId, Stream};

/// A device that notes the shapes of its results.
#[derive(Default)]
struct Npu(Mutex<Vec<String>>);

impl Npu {
    fn note(&self, method: &str, out: &TensorMut<'_>) -> Result<()> {
        self.0.lock().push(format!("{method} {:?}", out.dims()));
        Ok(())
    }
}

#[tenon_operators::operators]
impl Operators for Npu {
    fn sigmoid(&self, _: Launch, out: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        self.note("sigmoid", out)
    }

    fn multiply(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        _: &TensorRef<'_>,
        _: &TensorRef<'_>,
    ) -> Result<()> {
        self.note("multiply", out)
    }

    fn add(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        _: &TensorRef<'_>,
        summand: &TensorRef<'_>,
    ) -> Result<()> {
        self.note(&format!("add {:?} to", summand.dims()), out)
    }

    fn conv(
        &self,
        _: Launch,
        out: &mut TensorMut<'_>,
        _: &TensorRef<'_>,
        _: &TensorRef<'_>,
        with: &ConvAttributes<'_>,
    ) -> Result<()> {
        self.note(&format!("conv {:?}", with.strides), out)
    }

    fn subtract(&self, _: Launch, _: &mut TensorMut<'_>, _: &TensorRef<'_>, _: &TensorRef<'_>) -> Result<()> {
        panic!("a defect of the device")
    }

    fn expand(&self, _: Launch, out: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        self.note("expand", out)
    }

    fn reduce_as(&self, _: Launch, out: &mut TensorMut<'_>, _: &TensorRef<'_>) -> Result<()> {
        self.note("reduce_as", out)
    }
}

/// Addresses that nothing uses.
#[derive(Default)]
struct Addresses(Cell<usize>);

impl Addresses {
    fn next(&self) -> DevicePtr {
        self.0.set(self.0.get() + 4096);
        DevicePtr::from_addr(self.0.get())
    }
}

impl Temporaries for Addresses {
    fn temporary(&self, ty: DataType, dims: &[usize]) -> Result<TensorMut<'_>> {
        let strides = contiguous_strides(dims)?;
        // SAFETY: nothing uses the memory.
        unsafe { TensorMut::new(self.next(), ty, Layout::new(dims, &strides)?) }
    }

    fn constant(&self, ty: DataType, _: f64) -> Result<TensorRef<'_>> {
        self.temporary(ty, &[]).map(TensorMut::into_input)
    }
}

const LAUNCH: Launch = Launch { device: DeviceId(0), stream: Stream::NULL };

/// Calls composed operators. Returns what the device noted.
fn noted(
    call: impl FnOnce(&Composed<'_>, &dyn Fn(&[usize]) -> TensorMut<'static>) -> Result<()>,
) -> Result<Vec<String>> {
    let (npu, memory) = (Npu::default(), Addresses::default());
    let compositions = Compositions::of(&npu);
    let composed = Composed::new(&npu, &compositions, &memory);
    let tensor = |dims: &[usize]| {
        let strides = contiguous_strides(dims).unwrap();
        let layout = Layout::new(dims, &strides).unwrap();
        // SAFETY: nothing uses the memory.
        unsafe { TensorMut::new(DevicePtr::from_addr(64), DataType::FLOAT32, layout) }.unwrap()
    };
    call(&composed, &tensor)?;
    Ok(npu.0.into_inner())
}

#[test]
fn steps_run_in_their_order() {
    let notes =
        noted(|composed, tensor| composed.silu(LAUNCH, &mut tensor(&[2, 3]), &tensor(&[2, 3]).into_input()));
    assert_eq!(notes.unwrap(), ["sigmoid [2, 3]", "multiply [2, 3]"]);
}

#[test]
fn results_are_repeated_to_a_larger_output() {
    let notes = noted(|composed, tensor| {
        composed.silu(LAUNCH, &mut tensor(&[4, 2, 3]), &tensor(&[2, 3]).into_input())
    });
    assert_eq!(notes.unwrap(), ["sigmoid [2, 3]", "multiply [2, 3]", "expand [4, 2, 3]"]);
}

#[test]
fn gradients_are_summed_to_the_shape_of_the_operand() {
    let gradient = |dims: [usize; 2]| {
        noted(|composed, tensor| {
            let [b, dout] = [[2, 3]; 2].map(|dims| tensor(&dims).into_input());
            composed.multiply_da(LAUNCH, &mut tensor(&dims), &b, &dout)
        })
    };
    assert_eq!(gradient([2, 3]).unwrap(), ["multiply [2, 3]"]);
    assert_eq!(gradient([1, 3]).unwrap(), ["multiply [2, 3]", "reduce_as [1, 3]"]);
}

#[test]
fn bias_is_added_to_channels_in_any_order_of_dimensions() {
    let convolve = |dims: [usize; 4], data_format| {
        let with = ConvAttributes {
            strides: &[2, 1],
            paddings: &[0, 0],
            padding_algorithm: "EXPLICIT",
            dilations: &[1, 1],
            groups: 1,
            data_format,
        };
        let notes = noted(|composed, tensor| {
            let [x, filter] = [[1, 2, 9, 9], [3, 2, 1, 1]].map(|dims| tensor(&dims).into_input());
            composed.conv_bias(LAUNCH, &mut tensor(&dims), &x, &filter, &tensor(&[3]).into_input(), &with)
        });
        notes.unwrap()
    };
    assert_eq!(convolve([1, 3, 5, 9], "NCHW"), ["conv [2, 1] [1, 3, 5, 9]", "add [3, 1, 1] to [1, 3, 5, 9]"]);
    assert_eq!(convolve([1, 5, 9, 3], "NHWC"), ["conv [2, 1] [1, 5, 9, 3]", "add [3] to [1, 5, 9, 3]"]);
}

#[test]
fn unused_tensors_are_refused_and_panics_are_errors() {
    let update = |with_master: bool| {
        noted(|composed, tensor| {
            let [param, rate, grad] = [[3], [1], [3]].map(|dims| tensor(&dims).into_input());
            let (mut out, mut master) = (tensor(&[3]), tensor(&[3]));
            let master = with_master.then_some(&mut master);
            composed.sgd(LAUNCH, &mut out, master, &param, &rate, &grad, None, false)
        })
    };
    let refused = update(true).unwrap_err();
    assert_eq!(refused.status, Status::FAILED);
    assert!(refused.message.contains("`sgd` with `master_param_out`"), "{}", refused.message);
    let panicked = update(false).unwrap_err();
    assert_eq!(
        (panicked.status, &*panicked.message),
        (Status::INTERNAL_ERROR, "panicked: a defect of the device")
    );
}
