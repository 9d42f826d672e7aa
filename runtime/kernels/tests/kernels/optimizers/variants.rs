//! Variants of Adam, Rprop and ASGD, held against their formulas.

use super::steps::{BETAS, EPSILON, RATE, Step, call, check};
use crate::tensor::Tensor;
use tenon_kernels::attributes::{LambAttributes, NadamAttributes, RadamAttributes};
use tenon_kernels::{DType, Error, Number, optimizer as opt};

#[test]
fn variants_of_adam_follow_their_papers() {
    fn lamb(s: Step<'_>, decay: f64, always: bool) -> Result<(), Error> {
        let (a, b, mixed) = (&s.states[0], &s.states[1], s.master.is_some());
        let (mut master_out, master) = (s.master.map(Tensor::view_mut), s.master.map(Tensor::view));
        opt::lamb(
            &mut s.param.view_mut(),
            &mut a.view_mut(),
            &mut b.view_mut(),
            Some(&mut s.scalars[0].view_mut()),
            Some(&mut s.scalars[1].view_mut()),
            master_out.as_mut(),
            &s.param.view(),
            &s.grad.view(),
            &s.rate.view(),
            &a.view(),
            &b.view(),
            &s.scalars[0].view(),
            &s.scalars[1].view(),
            master.as_ref(),
            None,
            &LambAttributes {
                weight_decay: decay,
                beta1: BETAS[0],
                beta2: BETAS[1],
                epsilon: EPSILON,
                always_adapt: always,
                multi_precision: mixed,
            },
        )
    }
    fn formula(p: &mut [f64], g: &[f64], s: &mut [Vec<f64>], powers: &mut [f64], decay: f64, adapts: bool) {
        let mut step = vec![0.0; p.len()];
        for n in 0..p.len() {
            s[0][n] = BETAS[0] * s[0][n] + (1.0 - BETAS[0]) * g[n];
            s[1][n] = BETAS[1] * s[1][n] + (1.0 - BETAS[1]) * g[n] * g[n];
            let root = (s[1][n] / (1.0 - powers[1])).sqrt();
            step[n] = s[0][n] / (1.0 - powers[0]) / (root + EPSILON) + decay * p[n];
        }
        let norm = |list: &[f64]| list.iter().map(|x| x * x).sum::<f64>().sqrt();
        let (of_param, of_step) = (norm(p), norm(&step));
        let ratio = if adapts && of_param > 0.0 && of_step > 0.0 { of_param / of_step } else { 1.0 };
        p.iter_mut().zip(step).for_each(|(p, step)| *p -= RATE * ratio * step);
        powers.iter_mut().zip(BETAS).for_each(|(power, beta)| *power *= beta);
    }
    check(2, &BETAS, |s| lamb(s, 0.25, false), |p, g, s, o| formula(p, g, s, o, 0.25, true));
    check(2, &BETAS, |s| lamb(s, 0.0, false), |p, g, s, o| formula(p, g, s, o, 0.0, false));
    check(2, &BETAS, |s| lamb(s, 0.0, true), |p, g, s, o| formula(p, g, s, o, 0.0, true));
    check(
        2,
        &[1.0, 1.0, 1.0],
        |s| {
            let (a, b, [decay, power, product]) = (&s.states[0], &s.states[1], s.scalars) else { panic!() };
            let mixed = s.master.is_some();
            let inputs =
                (s.param.view(), s.grad.view(), s.rate.view(), decay.view(), power.view(), product.view());
            call!(
                nadam,
                s,
                [decay, power, product, a, b],
                [&inputs.0, &inputs.1, &inputs.2, &inputs.3, &inputs.4, &inputs.5, &a.view(), &b.view()],
                [&NadamAttributes {
                    beta1: BETAS[0],
                    beta2: BETAS[1],
                    epsilon: EPSILON,
                    momentum_decay: 0.5,
                    multi_precision: mixed
                }]
            )
        },
        |p, g, s, o| {
            o[0] *= 0.96;
            o[1] *= BETAS[1];
            let (mu, next) =
                (BETAS[0] * (1.0 - 0.5 * o[0].powf(0.5)), BETAS[0] * (1.0 - 0.5 * (o[0] * 0.96).powf(0.5)));
            o[2] *= mu;
            for n in 0..p.len() {
                s[0][n] = BETAS[0] * s[0][n] + (1.0 - BETAS[0]) * g[n];
                s[1][n] = BETAS[1] * s[1][n] + (1.0 - BETAS[1]) * g[n] * g[n];
                let m = next * s[0][n] / (1.0 - o[2] * next) + (1.0 - mu) * g[n] / (1.0 - o[2]);
                p[n] -= RATE * m / ((s[1][n] / (1.0 - o[1])).sqrt() + EPSILON);
            }
        },
    );
    // The fifth step is the first with a second moment for this beta.
    check(2, &[1.0, 1.0, 0.0], run_radam, radam);
    check(2, &[BETAS[0].powi(8), BETAS[1].powi(8), rho(8)], run_radam, radam);
}

/// Computes the number of a step, times the power of the second beta, over the rest.
fn rho(step: i32) -> f64 {
    let power = BETAS[1].powi(step);
    f64::from(step) * power / (1.0 - power)
}

fn run_radam(s: Step<'_>) -> Result<(), Error> {
    let [power1, power2, rho] = s.scalars else { panic!() };
    let (a, b, mixed) = (&s.states[0], &s.states[1], s.master.is_some());
    let inputs = (s.param.view(), s.grad.view(), s.rate.view(), power1.view(), power2.view(), rho.view());
    call!(
        radam,
        s,
        [power1, power2, rho, a, b],
        [&inputs.0, &inputs.1, &inputs.2, &inputs.3, &inputs.4, &inputs.5, &a.view(), &b.view()],
        [&RadamAttributes { beta1: BETAS[0], beta2: BETAS[1], epsilon: EPSILON, multi_precision: mixed }]
    )
}

fn radam(p: &mut [f64], g: &[f64], s: &mut [Vec<f64>], o: &mut [f64]) {
    o[0] *= BETAS[0];
    o[1] *= BETAS[1];
    // The number of the step from its power.
    let step = (o[0].ln() / BETAS[0].ln()).round();
    o[2] = rho(step as i32);
    let limit = 2.0 / (1.0 - BETAS[1]) - 1.0;
    let length = limit - 2.0 * o[2];
    let rectified = (length - 4.0) * (length - 2.0) * limit / ((limit - 4.0) * (limit - 2.0) * length);
    for n in 0..p.len() {
        s[0][n] = BETAS[0] * s[0][n] + (1.0 - BETAS[0]) * g[n];
        s[1][n] = BETAS[1] * s[1][n] + (1.0 - BETAS[1]) * g[n] * g[n];
        let first = s[0][n] / (1.0 - o[0]);
        let scale = (1.0 - o[1]).sqrt() / (s[1][n].sqrt() + EPSILON);
        p[n] -= RATE * first * if length > 5.0 { rectified.sqrt() * scale } else { 1.0 };
    }
}

#[test]
fn rprop_grows_while_the_sign_stays() {
    check(
        2,
        &[],
        |s| {
            let (prev, rate, mixed) = (&s.states[0], &s.states[1], s.master.is_some());
            let dtype = prev.dtype;
            let range = Tensor::new(dtype, &[2], [0.25, 3.0].map(Number::Real));
            let etas = Tensor::new(dtype, &[2], [0.5, 1.25].map(Number::Real));
            let (mut master_out, master) = (s.master.map(Tensor::view_mut), s.master.map(Tensor::view));
            opt::rprop(
                &mut s.param.view_mut(),
                &mut prev.view_mut(),
                &mut rate.view_mut(),
                master_out.as_mut(),
                &s.param.view(),
                &s.grad.view(),
                &prev.view(),
                &rate.view(),
                master.as_ref(),
                &range.view(),
                &etas.view(),
                mixed,
            )
        },
        |p, g, s, _| {
            for n in 0..p.len() {
                let product = g[n] * s[0][n];
                let mut g = g[n];
                if product > 0.0 {
                    s[1][n] *= 1.25;
                } else if product < 0.0 {
                    s[1][n] *= 0.5;
                    g = 0.0;
                }
                s[1][n] = s[1][n].clamp(0.25, 3.0);
                p[n] -= if g == 0.0 { 0.0 } else { g.signum() } * s[1][n];
                s[0][n] = g;
            }
        },
    );
}

#[test]
fn asgd_follows_the_sum_of_gradients() {
    check(
        2,
        &[4.0],
        |s| {
            let (d, y, count, mixed) = (&s.states[0], &s.states[1], &s.scalars[0], s.master.is_some());
            let inputs = (s.param.view(), s.grad.view(), s.rate.view(), d.view(), y.view(), count.view());
            call!(
                asgd,
                s,
                [d, y],
                [&inputs.0, &inputs.1, &inputs.2, &inputs.3, &inputs.4, &inputs.5],
                [mixed]
            )
        },
        |p, g, s, _| {
            for n in 0..p.len() {
                s[0][n] += g[n] - s[1][n];
                p[n] -= RATE / 4.0 * s[0][n];
            }
            s[1].copy_from_slice(g);
        },
    );
}

#[test]
fn a_missing_master_is_an_error() {
    let x = Tensor::new(DType::F16, &[2], []);
    let rate = Tensor::new(DType::F32, &[1], []);
    let refused = opt::sgd(&mut x.view_mut(), None, &x.view(), &rate.view(), &x.view(), None, true);
    assert_eq!(refused, Err(Error::Missing { missing: "master_param", because: "multi_precision" }));
    let long = Tensor::new(DType::F16, &[3], []);
    let refused = opt::sgd(&mut x.view_mut(), None, &x.view(), &rate.view(), &long.view(), None, false);
    assert_eq!(refused, Err(Error::Shape { expected: vec![2], actual: vec![3] }));
}
