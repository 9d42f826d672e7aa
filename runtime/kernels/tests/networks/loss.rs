use tenon_kernels::attributes::CrossEntropyWithSoftmaxAttributes;
use tenon_kernels::loss::{
    cross_entropy_with_softmax, cross_entropy_with_softmax_grad, nll_loss, nll_loss_grad,
};
use tenon_kernels::{DType, Error};

use crate::softmax::lines;
use crate::support::{FLOATS, Random, gradient};

const IGNORED: i64 = -100;

/// Computes the losses of all lines; hard labels are classes.
fn entropy(
    x: &[f64],
    dims: &[usize],
    axis: usize,
    hard: Option<&[f64]>,
    soft: &[f64],
    logits: bool,
) -> Vec<f64> {
    let losses = lines(dims, axis).into_iter().enumerate().map(|(number, line)| {
        let total: f64 = if logits { line.iter().map(|&n| x[n].exp()).sum() } else { 1.0 };
        let log = |n: usize| if logits { x[n] - total.ln() } else { x[n].ln() };
        match hard {
            Some(labels) if labels[number] == IGNORED as f64 => 0.0,
            Some(labels) => -log(line[labels[number] as usize]),
            None => line.iter().filter(|&&n| soft[n] != 0.0).map(|&n| -soft[n] * log(n)).sum(),
        }
    });
    losses.collect()
}

#[test]
fn cross_entropy_and_its_gradient_equal_a_loop() {
    let mut random = Random(1);
    for case in 0..96 {
        let dtype = FLOATS[case % 4];
        let (soft, use_softmax) = (case / 4 % 2 == 0, case / 8 % 3 != 0);
        let (dims, axis) = [(&[4, 5][..], 1), (&[2, 5, 3], 1), (&[3, 7], 0), (&[6], 0)][case / 24];
        let mut loss_dims = dims.to_vec();
        loss_dims[axis] = 1;
        let logits = if use_softmax {
            random.tensor(dtype, dims)
        } else {
            let values: Vec<f64> = random.numbers(dims.iter().product());
            let values: Vec<f64> = values.iter().map(|x| (x + 2.5) / 8.0).collect();
            random.tensor_of(dtype, dims, &values)
        };
        let lines = lines(dims, axis);
        let label = if soft {
            // Probabilities that bfloat16 has exactly.
            let mut values = vec![0.0; dims.iter().product()];
            for line in &lines {
                (0..8).for_each(|_| values[line[random.below(line.len())]] += 0.125);
            }
            random.tensor_of(dtype, dims, &values)
        } else {
            let count = dims[axis];
            let values = lines.iter().map(|_| match random.below(count + 1) {
                class if class == count => IGNORED as f64,
                class => class as f64,
            });
            let values: Vec<f64> = values.collect();
            let mut dims = loss_dims.clone();
            if case % 3 == 0 {
                dims.remove(axis);
            }
            random.tensor_of(if case % 2 == 0 { DType::I64 } else { DType::I32 }, &dims, &values)
        };
        let labels = label.values();
        let reference = |x: &[f64]| entropy(x, dims, axis, (!soft).then_some(&labels), &labels, use_softmax);
        let (mut softmax, mut loss) = (random.tensor(dtype, dims), random.tensor(dtype, &loss_dims));
        let (mut softmax_view, mut loss_view) = (softmax.view_mut(), loss.view_mut());
        cross_entropy_with_softmax(
            Some(&mut softmax_view),
            Some(&mut loss_view),
            &logits.view(),
            &label.view(),
            &CrossEntropyWithSoftmaxAttributes {
                soft_label: soft,
                use_softmax,
                ignore_index: IGNORED,
                axis: axis as i64 - dims.len() as i64,
            },
        )
        .unwrap();
        loss.assert_close(&reference(&logits.values()), (soft, use_softmax, axis));
        let dloss = random.tensor(dtype, &loss_dims);
        let mut dlogits = random.tensor(dtype, dims);
        cross_entropy_with_softmax_grad(
            &mut dlogits.view_mut(),
            &label.view(),
            &softmax.view(),
            &dloss.view(),
            &CrossEntropyWithSoftmaxAttributes {
                soft_label: soft,
                use_softmax,
                ignore_index: IGNORED,
                axis: axis as i64,
            },
        )
        .unwrap();
        let wanted = gradient(&[logits.values()], 0, &dloss.values(), |inputs| reference(&inputs[0]));
        dlogits.assert_close(&wanted, (soft, use_softmax, axis, "gradient"));
    }
}

#[test]
fn a_label_that_is_no_class_is_an_error() {
    let mut random = Random(2);
    let logits = random.tensor(DType::F32, &[2, 3]);
    let mut loss = random.tensor(DType::F32, &[2, 1]);
    for (label, index) in [(3.0, 3), (-1.0, -1)] {
        let label = random.tensor_of(DType::I64, &[2, 1], &[0.0, label]);
        let mut loss = loss.view_mut();
        let (logits, label) = (logits.view(), label.view());
        let result = cross_entropy_with_softmax(
            None,
            Some(&mut loss),
            &logits,
            &label,
            &CrossEntropyWithSoftmaxAttributes {
                soft_label: false,
                use_softmax: true,
                ignore_index: -100,
                axis: 1,
            },
        );
        assert_eq!(result, Err(Error::Index { index, len: 3 }));
        let mut out = random.tensor(DType::F32, &[2]);
        let label = random.tensor_of(DType::I64, &[2], &[0.0, index as f64]);
        let result = nll_loss(&mut out.view_mut(), None, &logits, &label.view(), None, -100, "none");
        assert_eq!(result, Err(Error::Index { index, len: 3 }));
    }
    let label = random.tensor_of(DType::F32, &[2, 1], &[0.0, 1.0]);
    let mut loss = loss.view_mut();
    let (logits, label) = (logits.view(), label.view());
    let result = cross_entropy_with_softmax(
        None,
        Some(&mut loss),
        &logits,
        &label,
        &CrossEntropyWithSoftmaxAttributes {
            soft_label: false,
            use_softmax: true,
            ignore_index: -100,
            axis: 1,
        },
    );
    assert_eq!(result, Err(Error::Type { dtype: DType::F32 }));
}

#[test]
fn a_probability_of_zero_has_an_infinite_loss_unless_its_label_is_zero() {
    let mut random = Random(3);
    let logits = random.tensor_of(DType::F32, &[1, 2], &[0.0, f64::NEG_INFINITY]);
    let mut loss = random.tensor(DType::F32, &[1, 1]);
    for (label, wanted) in [([1.0, 0.0], 0.0), ([0.5, 0.5], f64::INFINITY)] {
        let label = random.tensor_of(DType::F32, &[1, 2], &label);
        let mut view = loss.view_mut();
        cross_entropy_with_softmax(
            None,
            Some(&mut view),
            &logits.view(),
            &label.view(),
            &CrossEntropyWithSoftmaxAttributes {
                soft_label: true,
                use_softmax: true,
                ignore_index: -100,
                axis: 1,
            },
        )
        .unwrap();
        assert_eq!(loss.values(), [wanted]);
    }
}

#[test]
fn likelihood_and_its_gradient_equal_a_loop() {
    let mut random = Random(4);
    for case in 0..72 {
        let dtype = FLOATS[case % 4];
        let reduction = ["none", "sum", "mean"][case / 4 % 3];
        let (weighted, dims) = (case % 2 == 0, [&[5, 4][..], &[2, 4, 3], &[2, 3, 2, 2]][case / 12 % 3]);
        let label_dims = [&dims[..1], &dims[2..]].concat();
        let lines = lines(dims, 1);
        let labels: Vec<f64> = lines.iter().map(|_| random.below(dims[1] + 1) as f64 - 1.0).collect();
        let label = random.tensor_of(DType::I64, &label_dims, &labels);
        let weights: Vec<f64> = random.numbers(dims[1]).iter().map(|x| x.abs() + 0.5).collect();
        let weight = random.tensor_of(dtype, &dims[1..2], &weights);
        let of = |class: f64| match class {
            -1.0 => 0.0,
            class => {
                if weighted {
                    weights[class as usize]
                } else {
                    1.0
                }
            }
        };
        let total: f64 = labels.iter().map(|&class| of(class)).sum();
        let reference = |x: &[f64]| -> Vec<f64> {
            let terms = lines.iter().zip(&labels).map(|(line, &class)| match class {
                -1.0 => 0.0,
                _ => -of(class) * x[line[class as usize]],
            });
            match reduction {
                "none" => terms.collect(),
                "sum" => vec![terms.sum()],
                _ => vec![terms.sum::<f64>() / total],
            }
        };
        let x = random.tensor(dtype, dims);
        let out_dims = if reduction == "none" { label_dims.clone() } else { vec![] };
        let (mut out, mut total_out) = (random.tensor(dtype, &out_dims), random.tensor(dtype, &[]));
        let view = weight.view();
        let weight = weighted.then_some(&view);
        let mut total_view = total_out.view_mut();
        let mut out_view = out.view_mut();
        nll_loss(&mut out_view, Some(&mut total_view), &x.view(), &label.view(), weight, -1, reduction)
            .unwrap();
        out.assert_close(&reference(&x.values()), (reduction, dims));
        let (mut dx, dout) = (random.tensor(dtype, dims), random.tensor(dtype, &out_dims));
        let total = total_out.view();
        nll_loss_grad(&mut dx.view_mut(), &label.view(), weight, &total, &dout.view(), -1, reduction)
            .unwrap();
        let wanted = gradient(&[x.values()], 0, &dout.values(), |inputs| reference(&inputs[0]));
        dx.assert_close(&wanted, (reduction, dims, "gradient"));
    }
}

#[test]
fn the_mean_of_ignored_labels_is_zero() {
    let mut random = Random(5);
    let x = random.tensor(DType::F32, &[2, 3]);
    let label = random.tensor_of(DType::I64, &[2], &[7.0, 7.0]);
    let mut out = random.tensor(DType::F32, &[]);
    nll_loss(&mut out.view_mut(), None, &x.view(), &label.view(), None, 7, "mean").unwrap();
    assert_eq!(out.values(), [0.0]);
    let result = nll_loss(&mut out.view_mut(), None, &x.view(), &label.view(), None, 7, "median");
    assert!(matches!(result, Err(Error::Attribute { name: "reduction", .. })));
}
