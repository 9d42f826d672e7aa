//! Gradient descent, Adam and those with accumulated squares, held against their formulas.

use super::steps::{BETAS, EPSILON, RATE, Step, assert_close, call, check};
use crate::tensor::Tensor;
use tenon_kernels::attributes::{
    AdadeltaAttributes, AdamaxAttributes, AdamwAttributes, MomentumAttributes, RmspropAttributes,
};
use tenon_kernels::{DType, Error, Number, View, optimizer as opt};

const ONE: Number = Number::Real(1.0);

#[test]
fn sgd_goes_down_the_gradient() {
    check(
        0,
        &[],
        |s| call!(sgd, s, [], [&s.param.view(), &s.rate.view(), &s.grad.view()], [s.master.is_some()]),
        |p, g, _, _| (0..p.len()).for_each(|n| p[n] -= RATE * g[n]),
    );
}

#[test]
fn a_master_parameter_keeps_steps_below_half_precision() {
    let (param, grad) = (Tensor::new(DType::F16, &[1], [ONE]), Tensor::new(DType::F16, &[1], [ONE]));
    let (master, rate) =
        (Tensor::new(DType::F32, &[1], [ONE]), Tensor::new(DType::F32, &[1], [Number::Real(1e-4)]));
    for _ in 0..1000 {
        let (mut master_out, master) = (master.view_mut(), master.view());
        opt::sgd(
            &mut param.view_mut(),
            Some(&mut master_out),
            &param.view(),
            &rate.view(),
            &grad.view(),
            Some(&master),
            true,
        )
        .unwrap();
    }
    assert_close(&[master.values()[0].to_f64()], &[0.9], 1e-4, "master");
    let rounded = Tensor::new(DType::F16, &[1], master.values());
    assert_eq!(param.values(), rounded.values());
}

#[test]
fn an_infinite_parameter_without_decay_does_not_become_nan() {
    let one = |value: f64| Tensor::new(DType::F32, &[1], [Number::Real(value)]);
    let (rate, grad) = (one(0.5), one(1.0));
    let step = |run: fn(Step<'_>) -> Result<(), Error>| {
        let (param, states, scalars) = (one(f64::INFINITY), [one(0.0), one(0.0)], [one(0.5), one(0.5)]);
        let (states, scalars) = (&states, &scalars);
        run(Step { param: &param, master: None, grad: &grad, states, scalars, rate: &rate }).unwrap();
        param.values()
    };
    assert_eq!(step(|s| run_momentum(s, false, "")), one(f64::INFINITY).values());
    assert_eq!(step(|s| run_adam(s, None, None, false)), one(f64::INFINITY).values());
}

#[test]
fn subnormal_states_become_zero() {
    let some = |values: [f64; 2]| Tensor::new(DType::F32, &[2], values.map(Number::Real));
    let one = |value: f64| Tensor::new(DType::F32, &[1], [Number::Real(value)]);
    let lowest = f64::from(f32::MIN_POSITIVE);
    let state_after = |run: fn(Step<'_>) -> Result<(), Error>| {
        let (param, grad, rate) = (some([1.0; 2]), some([0.0; 2]), one(0.5));
        let (states, scalars) = ([some([lowest, 4.0 * lowest]), some([1.0; 2])], [one(0.5), one(0.5)]);
        let (states, scalars) = (&states, &scalars);
        run(Step { param: &param, master: None, grad: &grad, states, scalars, rate: &rate }).unwrap();
        states[0].values()
    };
    assert_eq!(state_after(|s| run_momentum(s, false, "")), some([0.0, 3.0 * lowest]).values());
    assert_eq!(state_after(|s| run_adam(s, None, None, false)), some([0.0, 3.5 * lowest]).values());
}

#[test]
fn a_state_of_another_shape_is_refused() {
    let some = |len: usize| Tensor::new(DType::F32, &[len], []);
    for (first, second, largest, grad) in [(2, 3, 3, 3), (3, 2, 3, 3), (3, 3, 2, 3), (3, 3, 3, 2)] {
        let (param, grad, rate) = (some(3), some(grad), some(1));
        let (states, scalars) = ([some(first), some(second), some(largest)], [some(1), some(1)]);
        let (states, scalars) = (&states, &scalars);
        let step = Step { param: &param, master: None, grad: &grad, states, scalars, rate: &rate };
        let refused = run_adam(step, None, None, true);
        assert_eq!(refused, Err(Error::Shape { expected: vec![3], actual: vec![2] }));
        assert_eq!(param.values(), some(3).values());
    }
}

fn run_momentum(s: Step<'_>, nesterov: bool, method: &str) -> Result<(), Error> {
    let v = &s.states[0];
    let mixed = s.master.is_some();
    call!(
        momentum,
        s,
        [v],
        [&s.param.view(), &s.grad.view(), &v.view(), &s.rate.view()],
        [&MomentumAttributes {
            mu: 0.75,
            use_nesterov: nesterov,
            regularization_method: method,
            regularization_coeff: 0.25,
            multi_precision: mixed,
            rescale_grad: 0.5
        }]
    )
}

#[test]
fn momentum_keeps_velocity() {
    check(
        1,
        &[],
        |s| run_momentum(s, false, ""),
        |p, g, s, _| {
            for n in 0..p.len() {
                s[0][n] = 0.75 * s[0][n] + 0.5 * g[n];
                p[n] -= RATE * s[0][n];
            }
        },
    );
    check(
        1,
        &[],
        |s| run_momentum(s, true, "l2_decay"),
        |p, g, s, _| {
            for n in 0..p.len() {
                let g = 0.5 * g[n] + 0.25 * p[n];
                s[0][n] = 0.75 * s[0][n] + g;
                p[n] -= RATE * (g + 0.75 * s[0][n]);
            }
        },
    );
    let x = Tensor::new(DType::F32, &[1], []);
    let view = x.view();
    let refused = opt::momentum(
        &mut x.view_mut(),
        &mut x.view_mut(),
        None,
        &view,
        &view,
        &view,
        &view,
        None,
        &MomentumAttributes {
            mu: 0.9,
            use_nesterov: false,
            regularization_method: "l1",
            regularization_coeff: 0.0,
            multi_precision: false,
            rescale_grad: 1.0,
        },
    );
    assert_eq!(refused, Err(Error::Attribute { name: "regularization_method", value: "l1".into() }));
}

fn adam_formula(p: &mut [f64], g: &[f64], s: &mut [Vec<f64>], powers: &mut [f64], decay: f64, amsgrad: bool) {
    for n in 0..p.len() {
        s[0][n] = BETAS[0] * s[0][n] + (1.0 - BETAS[0]) * g[n];
        s[1][n] = BETAS[1] * s[1][n] + (1.0 - BETAS[1]) * g[n] * g[n];
        let mut second = s[1][n];
        if amsgrad {
            s[2][n] = s[2][n].max(second);
            second = s[2][n];
        }
        p[n] *= 1.0 - decay;
        p[n] -= RATE * s[0][n] / (1.0 - powers[0]) / ((second / (1.0 - powers[1])).sqrt() + EPSILON);
    }
    powers.iter_mut().zip(BETAS).for_each(|(power, beta)| *power *= beta);
}

fn run_adam(s: Step<'_>, skip: Option<&View<'_>>, decay: Option<f64>, amsgrad: bool) -> Result<(), Error> {
    let mixed = s.master.is_some();
    let (mut master_out, master) = (s.master.map(Tensor::view_mut), s.master.map(Tensor::view));
    let (largest, mut largest_out) =
        (s.states.get(2).map(Tensor::view), s.states.get(2).map(Tensor::view_mut));
    opt::adamw(
        &mut s.param.view_mut(),
        &mut s.states[0].view_mut(),
        &mut s.states[1].view_mut(),
        largest_out.as_mut(),
        Some(&mut s.scalars[0].view_mut()),
        Some(&mut s.scalars[1].view_mut()),
        master_out.as_mut(),
        &s.param.view(),
        &s.grad.view(),
        &s.rate.view(),
        &s.states[0].view(),
        &s.states[1].view(),
        largest.as_ref(),
        &s.scalars[0].view(),
        &s.scalars[1].view(),
        master.as_ref(),
        skip,
        &AdamwAttributes {
            beta1: BETAS[0],
            beta2: BETAS[1],
            epsilon: EPSILON,
            lr_ratio: 1.0,
            coeff: decay.unwrap_or(9.0),
            with_decay: decay.is_some(),
            multi_precision: mixed,
            use_global_beta_pow: false,
            amsgrad,
        },
    )
}

#[test]
fn adam_follows_its_paper() {
    check(2, &BETAS, |s| run_adam(s, None, None, false), |p, g, s, o| adam_formula(p, g, s, o, 0.0, false));
    check(
        2,
        &BETAS,
        |s| run_adam(s, None, Some(0.5), false),
        |p, g, s, o| {
            adam_formula(p, g, s, o, 0.5 * RATE, false);
        },
    );
    check(3, &BETAS, |s| run_adam(s, None, None, true), |p, g, s, o| adam_formula(p, g, s, o, 0.0, true));
    let (yes, no) =
        (Tensor::new(DType::Bool, &[1], [Number::Integer(1)]), Tensor::new(DType::Bool, &[1], []));
    for (skip, moves) in [(&yes, false), (&no, true)] {
        let tensor = |value| Tensor::new(DType::F32, &[1], [Number::Real(value)]);
        let (param, grad, rate) = (tensor(1.0), tensor(1.0), tensor(0.5));
        let (states, scalars) = ([tensor(0.0), tensor(0.0)], [tensor(0.9), tensor(0.9)]);
        let step = Step {
            param: &param,
            master: None,
            grad: &grad,
            states: &states,
            scalars: &scalars,
            rate: &rate,
        };
        run_adam(step, Some(&skip.view()), None, false).unwrap();
        assert_eq!(param.values() != tensor(1.0).values(), moves);
        assert_eq!(scalars[0].values() != tensor(0.9).values(), moves);
    }
}

#[test]
fn accumulated_squares_shorten_steps() {
    check(
        1,
        &[],
        |s| {
            let (m, mixed) = (&s.states[0], s.master.is_some());
            let inputs = (s.param.view(), s.grad.view(), m.view(), s.rate.view());
            call!(adagrad, s, [m], [&inputs.0, &inputs.1, &inputs.2, &inputs.3], [EPSILON, mixed])
        },
        |p, g, s, _| {
            for n in 0..p.len() {
                s[0][n] += g[n] * g[n];
                p[n] -= RATE * g[n] / (s[0][n].sqrt() + EPSILON);
            }
        },
    );
    check(
        2,
        &[],
        |s| {
            let (a, b, mixed) = (&s.states[0], &s.states[1], s.master.is_some());
            call!(
                adadelta,
                s,
                [a, b],
                [&s.param.view(), &s.grad.view(), &a.view(), &b.view(), &s.rate.view()],
                [&AdadeltaAttributes { rho: 0.75, epsilon: EPSILON, multi_precision: mixed }]
            )
        },
        |p, g, s, _| {
            for n in 0..p.len() {
                s[0][n] = 0.75 * s[0][n] + 0.25 * g[n] * g[n];
                let step = g[n] * ((s[1][n] + EPSILON) / (s[0][n] + EPSILON)).sqrt();
                s[1][n] = 0.75 * s[1][n] + 0.25 * step * step;
                p[n] -= RATE * step;
            }
        },
    );
    check(
        2,
        &[0.875],
        |s| {
            let (a, b, power, mixed) = (&s.states[0], &s.states[1], &s.scalars[0], s.master.is_some());
            call!(
                adamax,
                s,
                [a, b],
                [&s.param.view(), &s.grad.view(), &s.rate.view(), &a.view(), &b.view(), &power.view()],
                [&AdamaxAttributes {
                    beta1: BETAS[0],
                    beta2: BETAS[1],
                    epsilon: EPSILON,
                    multi_precision: mixed
                }]
            )
        },
        |p, g, s, power| {
            for n in 0..p.len() {
                s[0][n] = BETAS[0] * s[0][n] + (1.0 - BETAS[0]) * g[n];
                s[1][n] = g[n].abs().max(BETAS[1] * s[1][n] + EPSILON);
                p[n] -= RATE / (1.0 - power[0]) * s[0][n] / s[1][n];
            }
        },
    );
}

#[test]
fn decayed_adagrad_forgets() {
    let some = |values: [f64; 2]| Tensor::new(DType::F64, &[2], values.map(Number::Real));
    let (param, grad, moment, rate) =
        (some([1.0, 2.0]), some([0.5, -1.0]), some([4.0, 1.0]), some([0.1, 0.0]));
    let rate = Tensor { dims: vec![1], strides: vec![1], ..rate };
    opt::decayed_adagrad(
        &mut param.view_mut(),
        &mut moment.view_mut(),
        &param.view(),
        &grad.view(),
        &moment.view(),
        &rate.view(),
        0.75,
        EPSILON,
    )
    .unwrap();
    let wanted = [0.75 * 4.0 + 0.25 * 0.25_f64, 1.0];
    assert_close(&moment.values().iter().map(|x| x.to_f64()).collect::<Vec<_>>(), &wanted, 1e-12, "");
    let wanted = [1.0 - 0.05 / (wanted[0].sqrt() + EPSILON), 2.0 + 0.1 / (1.0 + EPSILON)];
    assert_close(&param.values().iter().map(|x| x.to_f64()).collect::<Vec<_>>(), &wanted, 1e-12, "");
}

#[test]
fn rmsprop_measures_steps_by_means() {
    fn run(s: Step<'_>, centered: bool) -> Result<(), Error> {
        let (square, moment, mixed) = (&s.states[0], &s.states[1], s.master.is_some());
        let (mut mean_out, mean) = (s.states.get(2).map(Tensor::view_mut), s.states.get(2).map(Tensor::view));
        let (mut master_out, master) = (s.master.map(Tensor::view_mut), s.master.map(Tensor::view));
        opt::rmsprop(
            &mut s.param.view_mut(),
            &mut moment.view_mut(),
            &mut square.view_mut(),
            mean_out.as_mut(),
            master_out.as_mut(),
            &s.param.view(),
            &square.view(),
            &s.grad.view(),
            &moment.view(),
            &s.rate.view(),
            mean.as_ref(),
            master.as_ref(),
            &RmspropAttributes {
                epsilon: EPSILON,
                decay: 0.75,
                momentum: 0.5,
                centered,
                multi_precision: mixed,
            },
        )
    }
    fn formula(p: &mut [f64], g: &[f64], s: &mut [Vec<f64>], centered: bool) {
        for n in 0..p.len() {
            s[0][n] = 0.75 * s[0][n] + 0.25 * g[n] * g[n];
            let mut spread = s[0][n] + EPSILON;
            if centered {
                s[2][n] = 0.75 * s[2][n] + 0.25 * g[n];
                spread -= s[2][n] * s[2][n];
            }
            s[1][n] = 0.5 * s[1][n] + RATE * g[n] / spread.sqrt();
            p[n] -= s[1][n];
        }
    }
    check(2, &[], |s| run(s, false), |p, g, s, _| formula(p, g, s, false));
    // The state of the variance must be one that gradients can have.
    check(
        3,
        &[],
        |s| {
            s.states[0].indices().iter().for_each(|index| {
                let value = s.states[0].get(index).to_f64() + 0.0;
                let mean = s.states[2].get(index).to_f64();
                s.states[0].set(index, Number::Real(value.max(mean * mean)));
            });
            run(s, true)
        },
        |p, g, s, _| {
            (0..p.len()).for_each(|n| s[0][n] = s[0][n].max(s[2][n] * s[2][n]));
            formula(p, g, s, true);
        },
    );
}
