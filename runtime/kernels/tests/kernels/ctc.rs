//! Connectionist temporal classification, held against sums over all alignments.

use crate::gradient::{assert_close, check, empty, numbers, spaced};
use crate::tensor::{Random, Tensor};
use tenon_kernels::{DType, Error, Number, loss};

const TIMES: usize = 4;
const LABELS: usize = 3;
const TARGETS: [&[i64]; 4] = [&[1, 2], &[2, 2], &[], &[1, 1]];
/// The last sequence has no alignment: there must be a blank between two equal labels.
const LENGTHS: [i64; 4] = [4, 3, 2, 2];

fn integers(dims: &[usize], values: impl IntoIterator<Item = i64>) -> Tensor {
    Tensor::new(DType::I32, dims, values.into_iter().map(Number::Integer))
}

fn arguments() -> [Tensor; 3] {
    let padded = TARGETS.iter().flat_map(|target| [0, 1].map(|n| target.get(n).copied().unwrap_or(0)));
    let lengths = TARGETS.map(|target| target.len() as i64);
    [integers(&[4, 2], padded), integers(&[4], LENGTHS), integers(&[4], lengths)]
}

/// Computes the probability of all alignments of a sequence, whose labels have the logarithms of probabilities.
fn probability(of: impl Fn(usize, usize) -> f64, times: usize, target: &[i64]) -> f64 {
    let alignments = (0..LABELS.pow(times as u32)).map(|mut number| {
        let mut digits = vec![];
        for _ in 0..times {
            digits.push(number % LABELS);
            number /= LABELS;
        }
        digits
    });
    let fits = |labels: &Vec<usize>| {
        let mut merged = labels.clone();
        merged.dedup();
        merged.iter().filter(|&&label| label != 0).map(|&label| label as i64).eq(target.iter().copied())
    };
    let terms = alignments
        .filter(fits)
        .map(|labels| labels.iter().enumerate().map(|(time, &label)| of(time, label)).sum::<f64>().exp());
    terms.sum()
}

fn log_softmax(logits: &Tensor) -> impl Fn(&[usize]) -> f64 {
    |index| {
        let at = |label| logits.get(&[index[0], index[1], label]).to_f64();
        at(index[2]) - (0..LABELS).map(|label| at(label).exp()).sum::<f64>().ln()
    }
}

fn losses(logits: &Tensor) -> Vec<f64> {
    let of = log_softmax(logits);
    (0..4)
        .map(|n| -probability(|time, label| of(&[time, n, label]), LENGTHS[n] as usize, TARGETS[n]).ln())
        .collect()
}

#[test]
fn losses_of_logits_add_up_alignments_and_have_gradients() {
    let mut random = Random(1);
    let logits = spaced(&mut random, &[TIMES, 4, LABELS]);
    let [label, times, lengths] = arguments();
    let (times, lengths) = (times.view(), lengths.view());
    let run = || {
        let out = Tensor::new(DType::F64, &[4, 1], []);
        let gradient = Tensor::new(DType::F64, &logits.dims, []);
        loss::ctc_loss_of_logits(
            &mut out.view_mut(),
            &mut gradient.view_mut(),
            &logits.view(),
            &label.view(),
            Some(&times),
            Some(&lengths),
            0,
        )
        .unwrap();
        (out, gradient)
    };
    let mut wanted = losses(&logits);
    assert_eq!(wanted[3], f64::INFINITY);
    wanted[3] = 0.0;
    assert_close(&numbers(&run().0), &wanted, 1e-12, "losses");
    for norm_by_times in [false, true] {
        let backward = |dx: &Tensor, _: &Tensor, dout: &Tensor| {
            let weighted = empty(&mut Random(3), DType::F64, &dout.dims);
            for index in dout.indices() {
                let factor = if norm_by_times { LENGTHS[index[0]] as f64 } else { 1.0 };
                weighted.set(&index, Number::Real(dout.get(&index).to_f64() * factor));
            }
            let (dlogits, gradient) = (&mut dx.view_mut(), run().1);
            let (gradient, dloss) = (gradient.view(), weighted.view());
            loss::ctc_loss_of_logits_grad(dlogits, Some(&times), &gradient, &dloss, norm_by_times).unwrap();
        };
        check(&mut random, &logits, || run().0, backward, norm_by_times);
    }
}

#[test]
fn targets_in_one_dimension_are_those_of_rows() {
    let mut random = Random(2);
    let logits = spaced(&mut random, &[TIMES, 4, LABELS]);
    let x = Tensor::new(
        DType::F64,
        &logits.dims,
        logits.indices().iter().map(|index| Number::Real(log_softmax(&logits)(index))),
    );
    let [padded, times, lengths] = arguments();
    let flat = integers(&[6], TARGETS.into_iter().flatten().copied());
    let results = [padded, flat].map(|targets| {
        let (out, alpha) = (Tensor::new(DType::F64, &[4], []), Tensor::new(DType::F64, &[4, TIMES, 6], []));
        loss::ctc_loss(
            &mut out.view_mut(),
            Some(&mut alpha.view_mut()),
            &x.view(),
            &targets.view(),
            &times.view(),
            &lengths.view(),
            0,
            false,
        )
        .unwrap();
        // The wider output has a state more than the longest target.
        assert!(numbers(&alpha).iter().skip(5).step_by(6).all(|&value| value == f64::NEG_INFINITY));
        numbers(&out)
    });
    assert_close(&results[0], &losses(&logits), 1e-12, "losses");
    assert_eq!(results[0], results[1]);
}

#[test]
fn lengths_and_shapes_that_do_not_match_are_refused() {
    let logits = Tensor::new(DType::F32, &[TIMES, 4, LABELS], []);
    let [label, times, lengths] = arguments();
    let run = |label: &Tensor, times: Option<&Tensor>, len: usize, blank: i64| {
        let (out, gradient) =
            (Tensor::new(DType::F32, &[len], []), Tensor::new(DType::F32, &logits.dims, []));
        let times = times.map(Tensor::view);
        let (out, gradient) = (&mut out.view_mut(), &mut gradient.view_mut());
        loss::ctc_loss_of_logits(
            out,
            gradient,
            &logits.view(),
            &label.view(),
            times.as_ref(),
            Some(&lengths.view()),
            blank,
        )
    };
    assert_eq!(run(&label, Some(&times), 4, 0), Ok(()));
    assert!(matches!(run(&label, None, 4, 0), Err(Error::Missing { .. })));
    assert!(matches!(run(&label, Some(&times), 3, 0), Err(Error::Length { .. })));
    assert!(matches!(run(&label, Some(&times), 4, 3), Err(Error::Index { index: 3, .. })));
    let long = integers(&[4], [4, 3, 2, 5]);
    assert!(matches!(run(&label, Some(&long), 4, 0), Err(Error::Attribute { .. })));
    let short = integers(&[4, 1], [1, 2, 0, 1]);
    assert!(matches!(run(&short, Some(&times), 4, 0), Err(Error::Attribute { .. })));
}
