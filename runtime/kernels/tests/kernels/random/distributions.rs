//! Distributions that need several random numbers for an element, held against their probabilities and moments.

use crate::gradient::numbers;
use crate::tensor::Tensor;
use tenon_kernels::{DType, Error, Number, Result, View, ViewMut, random as rd};

const COUNT: usize = 40_000;

/// Draws `COUNT` numbers by an operator with an input that is the same everywhere.
fn drawn(
    dtype: DType,
    parameter: f64,
    draw: impl Fn(&mut ViewMut<'_>, &View<'_>, i64, i64) -> Result<()>,
) -> Vec<f64> {
    let out = Tensor::new(dtype, &[COUNT], []);
    let x = Tensor::new(DType::F64, &[COUNT], (0..COUNT).map(|_| Number::Real(parameter)));
    draw(&mut out.view_mut(), &x.view(), 7, 3).unwrap();
    numbers(&out)
}

/// Checks the mean and the variance, with errors that occur once in a billion samples.
#[track_caller]
fn assert_moments(values: &[f64], mean: f64, variance: f64, kurtosis: f64) {
    let count = values.len() as f64;
    let found = values.iter().sum::<f64>() / count;
    assert!((found - mean).abs() <= 6.0 * (variance / count).sqrt(), "the mean is {found}, not {mean}");
    let spread = values.iter().map(|value| (value - mean).powi(2)).sum::<f64>() / count;
    let error = 6.0 * variance * ((kurtosis - 1.0) / count).sqrt();
    assert!((spread - variance).abs() <= error, "the variance is {spread}, not {variance}");
}

/// Checks how often each whole number occurs.
#[track_caller]
fn assert_shares(values: &[f64], probability: impl Fn(f64) -> f64) {
    let most = values.iter().copied().fold(0.0, f64::max) as usize;
    let mut counts = vec![0_u32; most + 1];
    values.iter().for_each(|&value| counts[value as usize] += 1);
    for (value, &count) in counts.iter().enumerate() {
        let expected = probability(value as f64) * values.len() as f64;
        let error = 6.0 * (expected + 1.0).sqrt();
        assert!((f64::from(count) - expected).abs() <= error, "{value}: {count} instead of {expected}");
    }
}

fn log_factorial(n: f64) -> f64 {
    libm::lgamma(n + 1.0)
}

#[test]
fn poisson_numbers_have_their_probabilities() {
    for rate in [0.0, 0.3, 4.0, 9.9, 10.0, 35.0, 250.0] {
        let values = drawn(DType::F64, rate, rd::poisson);
        assert!(values.iter().all(|value| *value >= 0.0 && value.fract() == 0.0));
        if rate == 0.0 {
            assert!(values.iter().all(|value| *value == 0.0));
            continue;
        }
        assert_moments(&values, rate, rate, 3.0 + 1.0 / rate);
        assert_shares(&values, |n| (n * rate.ln() - rate - log_factorial(n)).exp());
    }
}

#[test]
fn binomial_numbers_have_their_probabilities() {
    for (count, p) in [(20.0, 0.3), (100.0, 0.5), (1000.0, 0.005), (300.0, 0.9), (60.0, 0.97), (0.0, 0.5)] {
        let probabilities = Tensor::new(DType::F64, &[COUNT], (0..COUNT).map(|_| Number::Real(p)));
        let values = drawn(DType::I64, count, |out, counts, seed, offset| {
            rd::binomial(out, counts, &probabilities.view(), seed, offset)
        });
        assert!(values.iter().all(|value| (0.0..=count).contains(value)));
        if count == 0.0 {
            continue;
        }
        let variance = count * p * (1.0 - p);
        assert_moments(&values, count * p, variance, 3.0 + (1.0 - 6.0 * p * (1.0 - p)) / variance);
        let ways = |n: f64| log_factorial(count) - log_factorial(n) - log_factorial(count - n);
        assert_shares(&values, |n| (ways(n) + n * p.ln() + (count - n) * (1.0 - p).ln()).exp());
    }
    for (p, wanted) in [(0.0, 0.0), (1.0, 9.0)] {
        let probabilities = Tensor::new(DType::F64, &[COUNT], (0..COUNT).map(|_| Number::Real(p)));
        let values = drawn(DType::I64, 9.0, |out, counts, seed, offset| {
            rd::binomial(out, counts, &probabilities.view(), seed, offset)
        });
        assert!(values.iter().all(|value| *value == wanted));
    }
}

#[test]
fn gamma_numbers_have_their_moments() {
    for alpha in [0.0, 0.05, 0.5, 1.0, 3.7, 80.0] {
        let values = drawn(DType::F64, alpha, rd::standard_gamma);
        if alpha == 0.0 {
            assert!(values.iter().all(|value| *value == 0.0));
            continue;
        }
        assert!(values.iter().all(|value| *value >= 0.0));
        assert_moments(&values, alpha, alpha, 3.0 + 6.0 / alpha);
        // The logarithm tells small numbers apart. Its mean is the logarithmic derivative of the gamma function.
        let step = 1e-4;
        let lgamma = |n: f64| libm::lgamma(alpha + n * step);
        let mean = (lgamma(1.0) - lgamma(-1.0)) / (2.0 * step);
        let variance = (lgamma(1.0) - 2.0 * lgamma(0.0) + lgamma(-1.0)) / (step * step);
        let logarithms: Vec<f64> = values.iter().map(|value| value.ln()).collect();
        let found = logarithms.iter().sum::<f64>() / COUNT as f64;
        assert!(
            (found - mean).abs() <= 6.0 * (variance / COUNT as f64).sqrt(),
            "{alpha}: {found} is not {mean}"
        );
    }
}

#[test]
fn shares_add_up_to_one_and_have_their_means() {
    let alpha = [0.001, 0.5, 2.0, 1.5];
    let total: f64 = alpha.iter().sum();
    let rows = COUNT / 4;
    let x = Tensor::new(DType::F64, &[rows, 4], (0..COUNT).map(|n| Number::Real(alpha[n % 4])));
    let out = Tensor::new(DType::F64, &[rows, 4], []);
    rd::dirichlet(&mut out.view_mut(), &x.view(), 1, 2).unwrap();
    let values = numbers(&out);
    assert!(values.chunks(4).all(|row| (row.iter().sum::<f64>() - 1.0).abs() < 1e-14));
    for (n, alpha) in alpha.iter().enumerate() {
        let mean = alpha / total;
        let variance = mean * (1.0 - mean) / (total + 1.0);
        let found = values.iter().skip(n).step_by(4).sum::<f64>() / rows as f64;
        assert!((found - mean).abs() <= 6.0 * (variance / rows as f64).sqrt(), "{n}: {found} is not {mean}");
    }
    // All numbers of the gamma distribution with this shape are too small for a double.
    let small = Tensor::new(DType::F64, &[2], [1e-5; 2].map(Number::Real));
    let out = Tensor::new(DType::F64, &[2], []);
    rd::dirichlet(&mut out.view_mut(), &small.view(), 1, 2).unwrap();
    assert_eq!(numbers(&out).iter().sum::<f64>(), 1.0);
}

#[test]
fn an_element_has_numbers_of_its_own() {
    let run = |seed, offset, len: usize| {
        let x = Tensor::new(DType::F32, &[len], (0..len).map(|_| Number::Real(2.5)));
        let out = Tensor::new(DType::F32, &[len], []);
        rd::standard_gamma(&mut out.view_mut(), &x.view(), seed, offset).unwrap();
        numbers(&out)
    };
    assert_eq!(run(5, 7, 9), run(5, 7, 9));
    assert_eq!(run(5, 7, 9)[2..], run(5, 9, 7)[..]);
    assert_ne!(run(5, 7, 9), run(6, 7, 9));
    let mut values = run(5, 7, 100);
    values.sort_by(f64::total_cmp);
    values.dedup();
    assert_eq!(values.len(), 100);
}

#[test]
fn parameters_out_of_range_are_refused() {
    let tensor = |value| Tensor::new(DType::F64, &[1], [Number::Real(value)]);
    let refused = |result| assert!(matches!(result, Err(Error::Attribute { .. })), "{result:?}");
    for value in [-0.1, f64::NAN, f64::INFINITY] {
        let (out, x, half) = (tensor(0.0), tensor(value), tensor(0.5));
        let mut out = out.view_mut();
        refused(rd::poisson(&mut out, &x.view(), 0, 0));
        refused(rd::standard_gamma(&mut out, &x.view(), 0, 0));
        refused(rd::dirichlet(&mut out, &x.view(), 0, 0));
        refused(rd::binomial(&mut out, &x.view(), &half.view(), 0, 0));
        refused(rd::binomial(&mut out, &half.view(), &x.view(), 0, 0));
    }
    refused(rd::dirichlet(&mut tensor(0.0).view_mut(), &tensor(0.0).view(), 0, 0));
}
