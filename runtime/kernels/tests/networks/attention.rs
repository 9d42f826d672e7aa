use tenon_kernels::attention::{attention, attention_grad};
use tenon_kernels::swiglu::{swiglu, swiglu_grad};
use tenon_kernels::{DType, Error, View};

use crate::conv::{flat, indices};
use crate::support::{FLOATS, Random, gradient};

#[derive(Clone, Debug)]
struct Case {
    batch: usize,
    heads: [usize; 2],
    lengths: [usize; 2],
    widths: [usize; 2],
    mask: Option<Vec<usize>>,
    causal: bool,
}

const SCALE: f64 = 0.75;

impl Case {
    fn dims(&self) -> [[usize; 4]; 3] {
        let [heads, key_heads] = self.heads;
        [
            [self.batch, self.lengths[0], heads, self.widths[0]],
            [self.batch, self.lengths[1], key_heads, self.widths[0]],
            [self.batch, self.lengths[1], key_heads, self.widths[1]],
        ]
    }

    fn result(&self) -> [usize; 4] {
        [self.batch, self.lengths[0], self.heads[0], self.widths[1]]
    }

    /// Computes the result and the logarithms of the sums.
    fn forward(&self, inputs: &[Vec<f64>], mask: &[f64]) -> (Vec<f64>, Vec<f64>) {
        let [q, k, v] = self.dims();
        let mut out = vec![0.0; self.result().iter().product()];
        let mut sums = Vec::new();
        for index in indices(&[self.batch, self.heads[0], self.lengths[0]]) {
            let (sample, head, query) = (index[0], index[1], index[2]);
            let key_head = head * self.heads[1] / self.heads[0];
            let score = |key: usize| {
                let dot: f64 = (0..self.widths[0])
                    .map(|n| {
                        inputs[0][flat(&q, &[sample, query, head, n])]
                            * inputs[1][flat(&k, &[sample, key, key_head, n])]
                    })
                    .sum();
                let shift = self.mask.as_ref().map_or(0.0, |dims| {
                    let index = [sample, head, query, key];
                    let index: Vec<usize> =
                        index[4 - dims.len()..].iter().zip(dims).map(|(&n, &dim)| n % dim).collect();
                    mask[flat(dims, &index)]
                });
                let hidden = self.causal && key + self.lengths[0] > query + self.lengths[1];
                if hidden { f64::NEG_INFINITY } else { dot * SCALE + shift }
            };
            let total: f64 = (0..self.lengths[1]).map(|key| score(key).exp()).sum();
            sums.push(total.ln());
            for (key, n) in (0..self.lengths[1]).flat_map(|key| (0..self.widths[1]).map(move |n| (key, n))) {
                if total > 0.0 {
                    out[flat(&self.result(), &[sample, query, head, n])] +=
                        score(key).exp() / total * inputs[2][flat(&v, &[sample, key, key_head, n])];
                }
            }
        }
        (out, sums)
    }
}

fn cases() -> Vec<Case> {
    let case = Case { batch: 2, heads: [2, 2], lengths: [3, 3], widths: [2, 2], mask: None, causal: false };
    vec![
        case.clone(),
        Case { causal: true, ..case.clone() },
        Case { heads: [4, 2], lengths: [2, 3], widths: [3, 1], causal: true, ..case.clone() },
        Case { lengths: [4, 2], causal: true, ..case.clone() },
        Case { mask: Some(vec![2, 1, 3, 3]), ..case.clone() },
        Case { mask: Some(vec![3]), causal: true, ..case },
    ]
}

#[test]
fn attention_and_its_gradient_equal_a_loop() {
    let mut random = Random(1);
    for (case, dtype) in cases().into_iter().flat_map(|case| FLOATS.map(|dtype| (case.clone(), dtype))) {
        let tensors = case.dims().map(|dims| random.tensor(dtype, &dims));
        let inputs = tensors.each_ref().map(|tensor| tensor.values());
        let mask = case.mask.as_ref().map(|dims| random.tensor(dtype, dims));
        let mask_values = mask.as_ref().map(|mask| mask.values()).unwrap_or_default();
        let mask = mask.as_ref().map(|mask| mask.view());
        let (mut out, dout) = (random.tensor(dtype, &case.result()), random.tensor(dtype, &case.result()));
        let mut lse = random.tensor(DType::F32, &[case.batch, case.heads[0], case.lengths[0]]);
        let [q, k, v] = tensors.each_ref().map(|tensor| tensor.view());
        let mut lse_view = lse.view_mut();
        attention(&mut out.view_mut(), Some(&mut lse_view), &q, &k, &v, mask.as_ref(), SCALE, case.causal)
            .unwrap();
        let (wanted, sums) = case.forward(&inputs, &mask_values);
        out.assert_close(&wanted, &case);
        lse.assert_close(&sums, &case);
        let mut gradients = case.dims().map(|dims| random.tensor(dtype, &dims));
        let [mut dq, mut dk, mut dv] = gradients.each_mut().map(|tensor| tensor.view_mut());
        let outs = (Some(&mut dq), Some(&mut dk), Some(&mut dv));
        attention_grad(outs.0, outs.1, outs.2, &q, &k, &v, mask.as_ref(), &dout.view(), SCALE, case.causal)
            .unwrap();
        for (which, ours) in gradients.iter().enumerate() {
            let wanted =
                gradient(&inputs, which, &dout.values(), |inputs| case.forward(inputs, &mask_values).0);
            ours.assert_close(&wanted, (which, &case));
        }
    }
}

#[test]
fn heads_before_the_length_equal_a_loop() {
    let mut random = Random(3);
    let case = Case { heads: [4, 2], lengths: [2, 5], widths: [3, 2], ..cases()[1].clone() };
    let tensors = case.dims().map(|dims| random.tensor(DType::F32, &dims));
    let inputs = tensors.each_ref().map(|tensor| tensor.values());
    // As a cache has it: `[batch, heads, length, width]`.
    let turned = [0, 1, 2].map(|which| {
        let [batch, length, heads, width] = case.dims()[which];
        indices(&[batch, heads, length, width])
            .iter()
            .map(|at| inputs[which][flat(&case.dims()[which], &[at[0], at[2], at[1], at[3]])] as f32)
            .collect::<Vec<f32>>()
    });
    let [q, k, v] = [0, 1, 2].map(|which| {
        let [_, length, heads, width] = case.dims()[which].map(|dim| dim as isize);
        let strides = [heads * length * width, width, length * width, 1];
        View::of_strided(&turned[which], &case.dims()[which], &strides).unwrap()
    });
    let mut out = random.tensor(DType::F32, &case.result());
    attention(&mut out.view_mut(), None, &q, &k, &v, None, SCALE, true).unwrap();
    out.assert_close(&case.forward(&inputs, &[]).0, &case);
    let dout = random.tensor(DType::F32, &case.result());
    let mut gradients = case.dims().map(|dims| random.tensor(DType::F32, &dims));
    let [mut dq, mut dk, mut dv] = gradients.each_mut().map(|tensor| tensor.view_mut());
    let outs = (Some(&mut dq), Some(&mut dk), Some(&mut dv));
    attention_grad(outs.0, outs.1, outs.2, &q, &k, &v, None, &dout.view(), SCALE, true).unwrap();
    for (which, ours) in gradients.iter().enumerate() {
        let wanted = gradient(&inputs, which, &dout.values(), |inputs| case.forward(inputs, &[]).0);
        ours.assert_close(&wanted, (which, &case));
    }
}

#[test]
fn more_queries_than_a_block_equal_a_loop() {
    let mut random = Random(2);
    let case = Case { batch: 1, heads: [1, 1], lengths: [70, 9], widths: [3, 2], mask: None, causal: false };
    let tensors = case.dims().map(|dims| random.tensor(DType::F32, &dims));
    let mut out = random.tensor(DType::F32, &case.result());
    let [q, k, v] = tensors.each_ref().map(|tensor| tensor.view());
    attention(&mut out.view_mut(), None, &q, &k, &v, None, SCALE, false).unwrap();
    out.assert_close(&case.forward(&tensors.each_ref().map(|tensor| tensor.values()), &[]).0, &case);
    let mut odd = random.tensor(DType::F32, &[1, 9, 2, 3]);
    let refused = attention(&mut out.view_mut(), None, &q, &odd.view(), &v, None, SCALE, false);
    assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
    let refused = attention(&mut odd.view_mut(), None, &q, &k, &v, None, SCALE, false);
    assert!(matches!(refused, Err(Error::Shape { .. })), "{refused:?}");
}

#[test]
fn swiglu_and_its_gradient_equal_a_loop() {
    let mut random = Random(4);
    for (case, dtype) in FLOATS.into_iter().cycle().take(8).enumerate() {
        let (split, dims) = (case < 4, [3, 4]);
        let out_dims = if split { [3, 2] } else { dims };
        let (x, y) = (random.tensor(dtype, &dims), random.tensor(dtype, &dims));
        let reference = |inputs: &[Vec<f64>]| -> Vec<f64> {
            let pair = |n: usize| {
                if split {
                    (inputs[0][n / 2 * 4 + n % 2], inputs[0][n / 2 * 4 + 2 + n % 2])
                } else {
                    (inputs[0][n], inputs[1][n])
                }
            };
            let value = |(gate, value): (f64, f64)| gate / (1.0 + (-gate).exp()) * value;
            (0..out_dims.iter().product()).map(|n| value(pair(n))).collect()
        };
        let inputs = [x.values(), y.values()];
        let y_view = y.view();
        let given = (!split).then_some(&y_view);
        let (mut out, dout) = (random.tensor(dtype, &out_dims), random.tensor(dtype, &out_dims));
        swiglu(&mut out.view_mut(), &x.view(), given).unwrap();
        out.assert_close(&reference(&inputs), split);
        let (mut dx, mut dy) = (random.tensor(dtype, &dims), random.tensor(dtype, &dims));
        let (mut dx_view, mut dy_view) = (dx.view_mut(), dy.view_mut());
        swiglu_grad(Some(&mut dx_view), Some(&mut dy_view), &x.view(), given, &dout.view()).unwrap();
        dx.assert_close(&gradient(&inputs, 0, &dout.values(), reference), split);
        if !split {
            dy.assert_close(&gradient(&inputs, 1, &dout.values(), reference), split);
        }
    }
}
