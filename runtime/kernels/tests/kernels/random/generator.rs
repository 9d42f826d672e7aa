//! Random numbers: the generator's known answers, and moments for fixed seeds.

use crate::gradient::numbers;
use crate::tensor::Tensor;
use tenon_kernels::attributes::{
    DropoutAttributes, DropoutGradAttributes, TruncatedGaussianAttributes, UniformAttributes,
};
use tenon_kernels::{DType, Error, Number, random as rd};

fn make(dtype: DType, len: usize) -> Tensor {
    Tensor::new(dtype, &[len], [])
}

/// Computes the mean, the variance, and the third and fourth moments of the standardised numbers.
fn moments(values: &[f64]) -> [f64; 4] {
    let count = values.len() as f64;
    let mean = values.iter().sum::<f64>() / count;
    let moment = |power: i32| values.iter().map(|x| (x - mean).powi(power)).sum::<f64>() / count;
    let variance = moment(2);
    [mean, variance, moment(3) / variance.powf(1.5), moment(4) / variance.powi(2)]
}

#[track_caller]
fn assert_near(found: &[f64], wanted: &[f64], tolerance: f64) {
    let near = found.iter().zip(wanted).all(|(a, b)| (a - b).abs() <= tolerance * (1.0 + b.abs()));
    assert!(near && found.len() == wanted.len(), "{found:?} is not {wanted:?}");
}

#[test]
fn the_generator_has_known_answers() {
    // From the authors' kat_vectors for philox4x32 with 10 rounds.
    let max = u32::MAX;
    for (counter, key, wanted) in [
        ([0; 4], [0; 2], [0x6627_e8d5, 0xe169_c58d, 0xbc57_ac4c, 0x9b00_dbd8]),
        ([max; 4], [max; 2], [0x408f_276d, 0x41c8_3b0e, 0xa20b_c7c6, 0x6d54_51fd]),
        (
            [0x243f_6a88, 0x85a3_08d3, 0x1319_8a2e, 0x0370_7344],
            [0xa409_3822, 0x299f_31d0],
            [0xd16c_fe09, 0x94fd_cceb, 0x5001_e420, 0x2412_6ea1],
        ),
    ] {
        assert_eq!(rd::philox(counter, key), wanted);
    }
}

#[test]
fn numbers_follow_from_seed_and_offset() {
    let run = |seed, offset, len| {
        let out = make(DType::F64, len);
        rd::uniform(&mut out.view_mut(), 0.0, 1.0, seed, offset).unwrap();
        numbers(&out)
    };
    let words = rd::philox([7, 0, 0, 0], [5, 0]);
    let first = f64::from(words[1]) / 2f64.powi(32) + f64::from(words[0] >> 11) / 2f64.powi(53);
    assert_eq!(run(5, 7, 3)[0], first);
    assert_eq!(run(5, 7, 9)[..4], run(5, 7, 4)[..]);
    assert_eq!(run(5, 7, 9)[2..], run(5, 8, 7)[..]);
    assert_ne!(run(5, 7, 9), run(6, 7, 9));
    assert_ne!(run(5 + (1 << 32), 7, 9), run(5, 7, 9));
    // In row-major order of any layout.
    let turned = Tensor { dims: vec![2, 3], strides: vec![1, 2], ..make(DType::F64, 6) };
    rd::uniform(&mut turned.view_mut(), 0.0, 1.0, 5, 7).unwrap();
    assert_eq!(numbers(&turned), run(5, 7, 6));
}

#[test]
fn uniform_numbers_fill_their_range() {
    for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64] {
        let out = make(dtype, 20_000);
        rd::uniform(&mut out.view_mut(), -1.0, 3.0, 11, 0).unwrap();
        let values = numbers(&out);
        assert!(values.iter().all(|x| (-1.0..3.0).contains(x)), "{dtype:?}");
        assert_near(&moments(&values), &[1.0, 16.0 / 12.0, 0.0, 1.8], 0.03);
    }
    let refused = rd::uniform(&mut make(DType::I32, 1).view_mut(), 0.0, 1.0, 0, 0);
    assert_eq!(refused, Err(Error::Type { dtype: DType::I32 }));
}

#[test]
fn normal_numbers_have_their_moments() {
    for dtype in [DType::F32, DType::F64, DType::Bf16] {
        let out = make(dtype, 40_001);
        rd::gaussian(&mut out.view_mut(), 2.0, 3.0, 12, 0).unwrap();
        assert_near(&moments(&numbers(&out)), &[2.0, 9.0, 0.0, 3.0], 0.03);
    }
    // Between -1 and 3 around 1, and far in the tail.
    for (a, b, mean, std) in [(-1.0, 3.0, 1.0, 1.0), (5.0, 9.0, 0.0, 1.0), (-9.0, -5.0, 0.0, 1.0)] {
        let out = make(DType::F64, 30_000);
        rd::truncated_gaussian(&mut out.view_mut(), &TruncatedGaussianAttributes { mean, std, a, b }, 13, 0)
            .unwrap();
        let values = numbers(&out);
        assert!(values.iter().all(|x| (a..=b).contains(x)));
        // The mean by the midpoint rule.
        let steps = 20_000;
        let points = (0..steps).map(|n| a + (b - a) * (f64::from(n) + 0.5) / f64::from(steps));
        let (weight, sum) = points.fold((0.0, 0.0), |(weight, sum), x| {
            let density = (-((x - mean) / std).powi(2) / 2.0).exp();
            (weight + density, sum + density * x)
        });
        assert_near(&moments(&values)[..1], &[sum / weight], 0.01);
    }
    let out = make(DType::F64, 1);
    assert!(
        rd::truncated_gaussian(
            &mut out.view_mut(),
            &TruncatedGaussianAttributes { mean: 0.0, std: 0.0, a: -1.0, b: 1.0 },
            0,
            0
        )
        .is_err()
    );
    assert!(
        rd::truncated_gaussian(
            &mut out.view_mut(),
            &TruncatedGaussianAttributes { mean: 0.0, std: 1.0, a: 1.0, b: 1.0 },
            0,
            0
        )
        .is_err()
    );
}

#[test]
fn waits_are_exponential() {
    let out = make(DType::F32, 40_000);
    rd::exponential(&mut out.view_mut(), 2.0, 14, 0).unwrap();
    let values = numbers(&out);
    assert!(values.iter().all(|x| *x >= 0.0 && x.is_finite()));
    assert_near(&moments(&values), &[0.5, 0.25, 2.0, 9.0], 0.1);
    assert!(rd::exponential(&mut out.view_mut(), 0.0, 0, 0).is_err());
}

#[test]
fn truths_have_their_probabilities() {
    let probabilities = [0.0, 1.0, 0.25, 0.75];
    let x =
        Tensor::new(DType::F32, &[4, 10_000], (0..40_000).map(|n| Number::Real(probabilities[n / 10_000])));
    let out = Tensor::new(DType::F32, &[4, 10_000], []);
    rd::bernoulli(&mut out.view_mut(), &x.view(), 15, 0).unwrap();
    let values = numbers(&out);
    for (n, p) in probabilities.into_iter().enumerate() {
        let share = values[n * 10_000..][..10_000].iter().sum::<f64>() / 10_000.0;
        assert_near(&[share], &[p], if p == 0.0 || p == 1.0 { 0.0 } else { 0.015 });
    }
    x.set(&[0, 0], Number::Real(1.5));
    assert!(rd::bernoulli(&mut out.view_mut(), &x.view(), 15, 0).is_err());
}

#[test]
fn integers_and_orders_are_as_likely() {
    for (low, high) in [(-3, 4), (0, 2), (i64::MIN, i64::MAX)] {
        let out = make(DType::I64, 14_000);
        rd::randint(&mut out.view_mut(), low, high, 16, 0).unwrap();
        let values: Vec<i64> = out.values().iter().map(|x| x.to_i64()).collect();
        assert!(values.iter().all(|x| (low..high).contains(x)));
        if high < 10 {
            for wanted in low..high {
                let share = values.iter().filter(|x| **x == wanted).count() as f64 / 14_000.0;
                assert_near(&[share], &[1.0 / (high - low) as f64], 0.015);
            }
        }
    }
    assert!(rd::randint(&mut make(DType::I32, 1).view_mut(), 2, 2, 0, 0).is_err());
    let mut places = [[0; 4]; 4];
    for seed in 0..4000 {
        let out = make(DType::I32, 4);
        rd::randperm(&mut out.view_mut(), seed, 0).unwrap();
        let mut order = numbers(&out);
        order.iter().enumerate().for_each(|(place, value)| places[place][*value as usize] += 1);
        order.sort_by(f64::total_cmp);
        assert_eq!(order, [0.0, 1.0, 2.0, 3.0]);
    }
    assert!(places.iter().flatten().all(|count| (890..1110).contains(count)), "{places:?}");
}

#[test]
fn choices_follow_weights() {
    let weights = [0.0, 1.0, 3.0, 0.0, 4.0, 0.0];
    let x = Tensor::new(DType::F32, &[2, 6], [weights, weights].concat().into_iter().map(Number::Real));
    let out = Tensor::new(DType::I64, &[2, 8000], []);
    rd::multinomial(&mut out.view_mut(), &x.view(), true, 17, 0).unwrap();
    let values = numbers(&out);
    assert_ne!(values[..8000], values[8000..]);
    for (n, weight) in weights.into_iter().enumerate() {
        let share = values.iter().filter(|x| **x == n as f64).count() as f64 / 16_000.0;
        assert_near(&[share], &[weight / 8.0], if weight == 0.0 { 0.0 } else { 0.015 });
    }
    let row = Tensor::new(DType::F64, &[6], weights.map(Number::Real));
    let mut firsts = [0.0; 6];
    for seed in 0..4000 {
        let out = make(DType::I64, 3);
        rd::multinomial(&mut out.view_mut(), &row.view(), false, seed, 0).unwrap();
        let mut chosen = numbers(&out);
        firsts[chosen[0] as usize] += 1.0 / 4000.0;
        chosen.sort_by(f64::total_cmp);
        assert_eq!(chosen, [1.0, 2.0, 4.0]);
    }
    assert_near(&firsts, &weights.map(|weight| weight / 8.0), 0.02);
    let many = make(DType::I64, 4);
    assert!(rd::multinomial(&mut many.view_mut(), &row.view(), false, 0, 0).is_err());
    row.set(&[0], Number::Real(-1.0));
    assert!(rd::multinomial(&mut many.view_mut(), &row.view(), true, 0, 0).is_err());
}

#[test]
fn dropped_elements_have_no_gradient() {
    for dtype in [DType::F32, DType::F64, DType::F16] {
        let x = Tensor::new(dtype, &[10_000], (0..10_000).map(|n| Number::Integer(1 + n % 7)));
        let (out, dx, mask) = (make(dtype, 10_000), make(dtype, 10_000), make(DType::U8, 10_000));
        for (mode, factor, test_factor) in [("upscale_in_train", 4.0, 1.0), ("downscale_in_infer", 1.0, 0.25)]
        {
            let mut mask_view = mask.view_mut();
            rd::dropout(
                &mut out.view_mut(),
                Some(&mut mask_view),
                &x.view(),
                &DropoutAttributes { p: 0.75, is_test: false, mode, axis: &[] },
                18,
                0,
            )
            .unwrap();
            rd::dropout_grad(
                &mut dx.view_mut(),
                &mask.view(),
                &x.view(),
                &DropoutGradAttributes { p: 0.75, is_test: false, mode },
            )
            .unwrap();
            assert_eq!(out.values(), dx.values());
            for index in x.indices() {
                let wanted = x.get(&index).to_f64() * mask.get(&index).to_f64() * factor;
                assert_eq!(out.get(&index).to_f64(), wanted);
            }
            let share = numbers(&mask).iter().sum::<f64>() / 10_000.0;
            assert_near(&[share], &[0.25], 0.015);
            rd::dropout(
                &mut out.view_mut(),
                None,
                &x.view(),
                &DropoutAttributes { p: 0.75, is_test: true, mode, axis: &[] },
                18,
                0,
            )
            .unwrap();
            rd::dropout_grad(
                &mut dx.view_mut(),
                &mask.view(),
                &x.view(),
                &DropoutGradAttributes { p: 0.75, is_test: true, mode },
            )
            .unwrap();
            assert_eq!(out.values(), dx.values());
            assert_eq!(out.get(&[3]).to_f64(), x.get(&[3]).to_f64() * test_factor);
        }
    }
    let x = Tensor::new(DType::F32, &[50, 4], [Number::Real(1.0); 200]);
    let (out, mask) = (Tensor::new(DType::F32, &[50, 4], []), Tensor::new(DType::U8, &[50, 4], []));
    let run = |p, axis: &[i64]| {
        let mode = "upscale_in_train";
        rd::dropout(
            &mut out.view_mut(),
            Some(&mut mask.view_mut()),
            &x.view(),
            &DropoutAttributes { p, is_test: false, mode, axis },
            19,
            0,
        )
    };
    run(0.5, &[0]).unwrap();
    let values = numbers(&mask);
    assert!(values.chunks(4).all(|row| row.iter().all(|x| *x == row[0])));
    assert!(values.contains(&0.0) && values.contains(&1.0));
    run(1.0, &[]).unwrap();
    assert_eq!(numbers(&out), [0.0; 200]);
    assert!(run(1.5, &[]).is_err());
}

#[test]
fn some_uniform_numbers_are_replaced() {
    let out = Tensor::new(DType::F32, &[3, 3], []);
    rd::uniform_with_diagonal(
        &mut out.view_mut(),
        &UniformAttributes { min: 0.0, max: 1.0, diag_num: 3, diag_step: 3, diag_val: 5.0 },
        1,
        0,
    )
    .unwrap();
    let replaced: Vec<bool> = out.values().iter().map(|value| value.to_f64() == 5.0).collect();
    assert_eq!(replaced, [true, false, false, false, true, false, false, false, true]);
    let refused = rd::uniform_with_diagonal(
        &mut out.view_mut(),
        &UniformAttributes { min: 0.0, max: 1.0, diag_num: 4, diag_step: 3, diag_val: 5.0 },
        1,
        0,
    );
    assert_eq!(refused, Err(Error::Index { index: 12, len: 9 }));
}
