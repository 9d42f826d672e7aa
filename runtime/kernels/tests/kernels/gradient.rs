//! Gradients, held against finite differences in `f64`.
use tenon_kernels::{DType, Number};

use crate::tensor::{Random, Tensor};

/// Creates a tensor of doubles in any layout, no two of which are closer than 0.05, in `[-2, 2]` for up to 80 elements.
pub fn spaced(random: &mut Random, dims: &[usize]) -> Tensor {
    let tensor = empty(random, DType::F64, dims);
    let count = tensor.indices().len();
    let mut places: Vec<usize> = (0..count).collect();
    (0..count).for_each(|n| places.swap(n, random.below(count)));
    for (index, place) in tensor.indices().iter().zip(places) {
        tensor.set(index, Number::Real((place as f64 - count as f64 / 2.0 + 0.3) * 0.05));
    }
    tensor
}

/// Creates a tensor in any layout.
pub fn empty(random: &mut Random, dtype: DType, dims: &[usize]) -> Tensor {
    let strides = random.strides(dims);
    random.tensor(None, dtype, dims, strides)
}

pub fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.values().iter().map(|x| x.to_f64()).collect()
}

#[track_caller]
pub fn assert_close(ours: &[f64], wanted: &[f64], tolerance: f64, what: impl std::fmt::Debug) {
    assert_eq!(ours.len(), wanted.len(), "{what:?}");
    for (n, (ours, wanted)) in ours.iter().zip(wanted).enumerate() {
        let same = ours == wanted || (ours.is_nan() && wanted.is_nan());
        let close = (ours - wanted).abs() <= tolerance * (1.0 + wanted.abs());
        assert!(same || close, "{n}: {ours} is not {wanted}: {what:?}");
    }
}

/// Compares the gradient by `x` with differences of the weighted sum of what `forward` computes from it.
///
/// `backward` gets the gradient to write, in any layout, the output, and the weights as its gradient.
#[track_caller]
pub fn check(
    random: &mut Random,
    x: &Tensor,
    forward: impl Fn() -> Tensor,
    backward: impl FnOnce(&Tensor, &Tensor, &Tensor),
    what: impl std::fmt::Debug,
) {
    let out = forward();
    let dout = empty(random, DType::F64, &out.dims);
    for index in dout.indices() {
        dout.set(&index, Number::Real(random.below(17) as f64 / 8.0 - 0.9));
    }
    let weights = numbers(&dout);
    let value =
        || -> f64 { numbers(&forward()).iter().zip(&weights).map(|(out, weight)| out * weight).sum() };
    let mut wanted = vec![];
    for index in x.indices() {
        let before = x.get(&index).to_f64();
        let step = 1e-5;
        x.set(&index, Number::Real(before + step));
        let above = value();
        x.set(&index, Number::Real(before - step));
        let below = value();
        x.set(&index, Number::Real(before));
        wanted.push((above - below) / (2.0 * step));
    }
    let dx = empty(random, DType::F64, &x.dims);
    backward(&dx, &out, &dout);
    assert_close(&numbers(&dx), &wanted, 1e-6, what);
}
