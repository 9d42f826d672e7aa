//! Optimizers of several parameters, sums of parameters, and the factor of the loss.

use tenon_kernels::attributes::{
    AdamwAttributes, AverageAccumulatesAttributes, FusedAdamAttributes, LarsMomentumAttributes,
    MergedAdamAttributes, MergedMomentumAttributes, UpdateLossScalingAttributes,
};
use tenon_kernels::{DType, Error, Number, View, ViewMut, optimizer as opt};

use crate::tensor::Tensor;

fn some<const N: usize>(dtype: DType, values: [f64; N]) -> Tensor {
    Tensor::new(dtype, &[N], values.map(Number::Real))
}

fn numbers(tensor: &Tensor) -> Vec<f64> {
    tensor.values().iter().map(|x| x.to_f64()).collect()
}

fn outs(tensors: &[Tensor]) -> Vec<Option<ViewMut<'_>>> {
    tensors.iter().map(|tensor| Some(tensor.view_mut())).collect()
}

fn ins(tensors: &[Tensor]) -> Vec<View<'_>> {
    tensors.iter().map(Tensor::view).collect()
}

#[test]
fn lists_of_momentum_are_stepped_one_by_one() {
    let [p, g, v] =
        [[1.0, 2.0], [0.5, -1.0], [0.25, 0.5]].map(|x| [some(DType::F64, x), some(DType::F64, x)]);
    let rate = [some(DType::F64, [0.5])];
    let step = |methods: &[&str], coefficients: &[f64]| {
        opt::merged_momentum(
            &mut outs(&p),
            &mut outs(&v),
            &mut [],
            &ins(&p),
            &ins(&g),
            &ins(&v),
            &ins(&rate),
            None,
            &MergedMomentumAttributes {
                mu: 0.5,
                use_nesterov: false,
                regularization_method: methods,
                regularization_coeff: coefficients,
                multi_precision: false,
                rescale_grad: 1.0,
            },
        )
    };
    assert!(step(&["l2_decay"], &[0.5]).is_err());
    step(&["", "l2_decay"], &[0.0, 1.0]).unwrap();
    assert_eq!((numbers(&v[0]), numbers(&v[1])), (vec![0.625, -0.75], vec![1.625, 1.25]));
    assert_eq!((numbers(&p[0]), numbers(&p[1])), (vec![0.6875, 2.375], vec![0.1875, 1.375]));
}

#[test]
fn lists_of_adam_are_stepped_one_by_one() {
    let list = |x: [f64; 2]| [some(DType::F32, x), some(DType::F32, [x[1], x[0]])];
    let single = |x: f64| [some(DType::F32, [x]), some(DType::F32, [x])];
    let run = |fused: Option<f64>, decay: Option<f64>| {
        let (p, g, m, v) = (list([1.0, 2.0]), list([0.5, -1.0]), list([0.25, 0.5]), list([1.0, 3.0]));
        let (b1, b2, rate) = (single(0.75), single(0.5), single(0.125));
        match fused {
            Some(decay) => opt::fused_adam(
                &mut outs(&p),
                &mut outs(&m),
                &mut outs(&v),
                &mut [],
                &mut outs(&b1),
                &mut outs(&b2),
                &mut [],
                &ins(&p),
                &ins(&g),
                &rate[0].view(),
                &ins(&m),
                &ins(&v),
                None,
                &ins(&b1),
                &ins(&b2),
                None,
                None,
                &FusedAdamAttributes {
                    beta1: 0.75,
                    beta2: 0.5,
                    epsilon: 0.01,
                    weight_decay: decay,
                    use_adamw: decay > 0.0,
                    multi_precision: false,
                    use_global_beta_pow: false,
                    amsgrad: false,
                },
            )
            .unwrap(),
            None if decay.is_none() => opt::merged_adam(
                &mut outs(&p),
                &mut outs(&m),
                &mut outs(&v),
                &mut [],
                &mut outs(&b1),
                &mut outs(&b2),
                &mut [],
                &ins(&p),
                &ins(&g),
                &ins(&rate),
                &ins(&m),
                &ins(&v),
                None,
                &ins(&b1),
                &ins(&b2),
                None,
                &MergedAdamAttributes {
                    beta1: 0.75,
                    beta2: 0.5,
                    epsilon: 0.01,
                    multi_precision: false,
                    use_global_beta_pow: false,
                    amsgrad: false,
                },
            )
            .unwrap(),
            None => (0..2).for_each(|n| {
                opt::adamw(
                    &mut p[n].view_mut(),
                    &mut m[n].view_mut(),
                    &mut v[n].view_mut(),
                    None,
                    Some(&mut b1[n].view_mut()),
                    Some(&mut b2[n].view_mut()),
                    None,
                    &p[n].view(),
                    &g[n].view(),
                    &rate[n].view(),
                    &m[n].view(),
                    &v[n].view(),
                    None,
                    &b1[n].view(),
                    &b2[n].view(),
                    None,
                    None,
                    &AdamwAttributes {
                        beta1: 0.75,
                        beta2: 0.5,
                        epsilon: 0.01,
                        lr_ratio: 1.0,
                        coeff: decay.unwrap(),
                        with_decay: decay > Some(0.0),
                        multi_precision: false,
                        use_global_beta_pow: false,
                        amsgrad: false,
                    },
                )
                .unwrap();
            }),
        }
        [p, m, v, b1, b2].map(|list| [numbers(&list[0]), numbers(&list[1])])
    };
    assert_eq!(run(None, None), run(None, Some(0.0)));
    assert_eq!(run(Some(0.0), None), run(None, Some(0.0)));
    assert_eq!(run(Some(0.25), None), run(None, Some(0.25)));
    assert_ne!(run(None, Some(0.25))[0], run(None, Some(0.0))[0]);
}

#[test]
fn lars_scales_the_rate_by_norms() {
    let (p, g, v) =
        ([some(DType::F64, [3.0, 4.0])], [some(DType::F64, [6.0, 8.0])], [some(DType::F64, [1.0, 2.0])]);
    let rate = [some(DType::F64, [0.5])];
    opt::lars_momentum(
        &mut outs(&p),
        &mut outs(&v),
        &mut [],
        &ins(&p),
        &ins(&v),
        &ins(&rate),
        &ins(&g),
        None,
        &LarsMomentumAttributes {
            weight_decay: &[0.25],
            mu: 0.5,
            lars_coeff: 0.125,
            epsilon: 0.0,
            multi_precision: false,
            rescale_grad: 0.5,
        },
    )
    .unwrap();
    // Both norms are 5.
    let local = 0.5 * 0.125 * 5.0 / (5.0 + 0.25 * 5.0);
    let wanted = [0.5 + local * (3.0 + 0.25 * 3.0), 1.0 + local * (4.0 + 0.25 * 4.0)];
    let close = |a: &[f64], b: &[f64]| a.iter().zip(b).all(|(a, b)| (a - b).abs() < 1e-12);
    assert!(close(&numbers(&v[0]), &wanted), "{:?} {wanted:?}", numbers(&v[0]));
    assert!(close(&numbers(&p[0]), &[3.0 - wanted[0], 4.0 - wanted[1]]));
}

#[test]
fn averages_move_sums_when_a_window_ends() {
    let x = some(DType::F32, [1.0]);
    let sums = [0.0, 0.0, 0.0].map(|sum| some(DType::F32, [sum]));
    let [accumulates, old, updates] = [0, 1, 2].map(|_| Tensor::new(DType::I64, &[1], [Number::Integer(0)]));
    let mut seen = vec![];
    for _ in 0..4 {
        opt::average_accumulates(
            &mut sums[0].view_mut(),
            &mut sums[1].view_mut(),
            &mut sums[2].view_mut(),
            &mut accumulates.view_mut(),
            &mut old.view_mut(),
            &mut updates.view_mut(),
            &x.view(),
            &sums[0].view(),
            &sums[1].view(),
            &sums[2].view(),
            &accumulates.view(),
            &old.view(),
            &updates.view(),
            &AverageAccumulatesAttributes {
                average_window: 1.0,
                max_average_window: 3,
                min_average_window: 2,
            },
        )
        .unwrap();
        seen.push([&sums[0], &sums[2], &accumulates, &old, &updates].map(|tensor| numbers(tensor)[0]));
    }
    let wanted = [
        [1.0, 0.0, 1.0, 0.0, 1.0],
        [0.0, 2.0, 0.0, 2.0, 2.0],
        [1.0, 2.0, 1.0, 2.0, 3.0],
        [2.0, 2.0, 2.0, 2.0, 4.0],
    ];
    assert_eq!(seen, wanted);
}

#[test]
fn infinite_gradients_shrink_the_factor() {
    for dtype in [DType::F16, DType::Bf16, DType::F32, DType::F64] {
        let (x, y) =
            ([some(dtype, [2.0, 4.0]), some(dtype, [-6.0])], [some(dtype, [0.0, 0.0]), some(dtype, [0.0])]);
        let (found, scale) = (Tensor::new(DType::Bool, &[1], []), some(DType::F32, [4.0]));
        let check = || {
            opt::check_finite_and_unscale(&mut outs(&y), &mut found.view_mut(), &ins(&x), &scale.view())
                .unwrap();
            numbers(&found)[0] != 0.0
        };
        assert!(!check());
        assert_eq!((numbers(&y[0]), numbers(&y[1])), (vec![0.5, 1.0], vec![-1.5]));
        for bad in [f64::INFINITY, f64::NAN] {
            x[0].set(&[1], Number::Real(bad));
            assert!(check());
        }
    }
    let x = [some(DType::F32, [1.0])];
    let scaling = some(DType::F32, [8.0]);
    let (good, bad) = (Tensor::new(DType::I32, &[1], []), Tensor::new(DType::I32, &[1], []));
    let y = [some(DType::F32, [7.0])];
    let mut seen = vec![];
    for infinite in [false, false, true, true, false] {
        let found = Tensor::new(DType::Bool, &[1], [Number::Integer(infinite.into())]);
        opt::update_loss_scaling(
            &mut outs(&y),
            &mut scaling.view_mut(),
            &mut good.view_mut(),
            &mut bad.view_mut(),
            &ins(&x),
            &found.view(),
            &scaling.view(),
            &good.view(),
            &bad.view(),
            &UpdateLossScalingAttributes {
                incr_every_n_steps: 2,
                decr_every_n_nan_or_inf: 2,
                incr_ratio: 2.0,
                decr_ratio: 0.25,
                stop_update: false,
            },
        )
        .unwrap();
        seen.push([&scaling, &good, &bad, &y[0]].map(|tensor| numbers(tensor)[0]));
    }
    let wanted = [
        [8.0, 1.0, 0.0, 1.0],
        [16.0, 0.0, 0.0, 1.0],
        [16.0, 0.0, 1.0, 0.0],
        [4.0, 0.0, 0.0, 0.0],
        [4.0, 1.0, 0.0, 1.0],
    ];
    assert_eq!(seen, wanted);
    let short = opt::check_finite_and_unscale(&mut [], &mut good.view_mut(), &ins(&x), &scaling.view());
    assert_eq!(short, Err(Error::Length { what: "outs", expected: 1, actual: 0 }));
}
