//! Steps of optimizers, held against their formulas in `f64`, element by element.

use tenon_kernels::{DType, Error, Number};

use crate::tensor::{Random, Tensor};

pub const RATE: f64 = 0.125;
pub const BETAS: [f64; 2] = [0.875, 0.9375];
pub const EPSILON: f64 = 1e-3;

/// The tensors of a step: outputs are where inputs are.
pub struct Step<'a> {
    pub param: &'a Tensor,
    pub master: Option<&'a Tensor>,
    pub grad: &'a Tensor,
    pub states: &'a [Tensor],
    pub scalars: &'a [Tensor],
    pub rate: &'a Tensor,
}

/// A step in numbers: parameter, gradient, states, and states of one element.
pub type Formula = fn(&mut [f64], &[f64], &mut [Vec<f64>], &mut [f64]);

/// Steps of random tensors, and of lists of numbers.
pub fn check(states: usize, scalars: &[f64], run: fn(Step<'_>) -> Result<(), Error>, formula: Formula) {
    let mut random = Random(7);
    for (dtype, mixed) in [
        (DType::F64, false),
        (DType::F32, false),
        (DType::F16, true),
        (DType::Bf16, true),
        (DType::F16, false),
    ] {
        for dims in [&[2, 3, 5][..], &[700], &[0], &[]] {
            let math = if dtype == DType::F64 { DType::F64 } else { DType::F32 };
            let mut some = |dtype, positive: bool| {
                let strides = random.strides(dims);
                let tensor = random.tensor(None, dtype, dims, strides);
                for index in tensor.indices() {
                    let value = random.below(33) as f64 / 8.0 - if positive { 0.0 } else { 2.0 };
                    tensor.set(&index, Number::Real(value));
                }
                tensor
            };
            let param = some(dtype, false);
            let master = mixed.then(|| some(math, false));
            if let Some(master) = &master {
                param.indices().iter().for_each(|index| master.set(index, param.get(index)));
            }
            let all: Vec<Tensor> = (0..states).map(|_| some(math, true)).collect();
            let singles: Vec<Tensor> =
                scalars.iter().map(|&value| Tensor::new(math, &[1], [Number::Real(value)])).collect();
            let rate = Tensor::new(math, &[1], [Number::Real(RATE)]);
            let numbers =
                |tensor: &Tensor| -> Vec<f64> { tensor.values().iter().map(|x| x.to_f64()).collect() };
            let mut wanted = numbers(&param);
            let mut wanted_states: Vec<Vec<f64>> = all.iter().map(numbers).collect();
            let mut wanted_scalars = scalars.to_vec();
            for _ in 0..3 {
                let grad = some(dtype, false);
                let step = Step {
                    param: &param,
                    master: master.as_ref(),
                    grad: &grad,
                    states: &all,
                    scalars: &singles,
                    rate: &rate,
                };
                run(step).unwrap();
                formula(&mut wanted, &numbers(&grad), &mut wanted_states, &mut wanted_scalars);
                if dtype == DType::F16 && !mixed {
                    // The parameter is rounded after each step.
                    wanted = numbers(&Tensor::new(dtype, dims, wanted.into_iter().map(Number::Real)));
                }
            }
            let exact = if math == DType::F64 { 1e-11 } else { 2e-5 };
            let coarse = if dtype == math || !mixed { exact } else { 0.01 };
            let coarse = if dtype == DType::F16 && !mixed { 2e-3 } else { coarse };
            assert_close(&numbers(&param), &wanted, coarse, dtype);
            if let Some(master) = &master {
                assert_close(&numbers(master), &wanted, exact, dtype);
            }
            let last = if dtype == DType::F16 && !mixed { 2e-3 } else { exact };
            for (state, wanted) in all.iter().zip(&wanted_states) {
                assert_close(&numbers(state), wanted, last, dtype);
            }
            for (single, wanted) in singles.iter().zip(&wanted_scalars) {
                assert_close(&numbers(single), &[*wanted], exact, dtype);
            }
        }
    }
}

#[track_caller]
pub fn assert_close(ours: &[f64], wanted: &[f64], tolerance: f64, what: impl std::fmt::Debug) {
    assert_eq!(ours.len(), wanted.len());
    for (n, (ours, wanted)) in ours.iter().zip(wanted).enumerate() {
        assert!(
            (ours - wanted).abs() <= tolerance * (1.0 + wanted.abs()),
            "{n}: {ours} is not {wanted}, {what:?}"
        );
    }
}

/// Calls an optimizer: outputs and optional master, inputs, attributes.
macro_rules! call {
    ($function:ident, $step:ident, [$($out:expr),*], [$($input:expr),*], [$($attribute:expr),*]) => {{
        let mut master_out = $step.master.map(Tensor::view_mut);
        let master = $step.master.map(Tensor::view);
        tenon_kernels::optimizer::$function(
            &mut $step.param.view_mut(),
            $(&mut $out.view_mut(),)*
            master_out.as_mut(),
            $($input,)*
            master.as_ref(),
            $($attribute),*
        )
    }};
}
pub(crate) use call;
