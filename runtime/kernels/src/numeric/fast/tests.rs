//! Compares each function with the standard library in `f64`, in units in the last place.

use super::{double, single};

/// The distance between tested bit patterns: a prime number, so that all exponents and fractions occur.
const STEP: usize = 3571;

/// Computes the error in units in the last place of an `f32` with an unlimited exponent range.
fn off_in_single(ours: f32, wanted: f64) -> f64 {
    let nearest = wanted as f32;
    if ours == nearest || ours.is_nan() && nearest.is_nan() {
        return 0.0;
    }
    if ours.is_nan() || nearest.is_nan() {
        return f64::INFINITY;
    }
    let bounded = if nearest.is_infinite() { f32::MAX } else { nearest.abs() };
    let unit =
        f64::from(bounded.min(f32::MAX.next_down()).next_up()) - f64::from(bounded.min(f32::MAX.next_down()));
    let ours = if ours.is_infinite() { f64::from(ours.signum()) * 2_f64.powi(128) } else { ours.into() };
    (ours - wanted).abs() / unit.max(f64::from(f32::from_bits(1)))
}

/// Tests a function of `f32` over all exponents and both signs, and on special values.
fn check(name: &str, ours: fn(f32) -> f32, wanted: fn(f64) -> f64, bound: f64) {
    let special = [
        0.0,
        -0.0,
        1.0,
        -1.0,
        f32::INFINITY,
        -f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        f32::MIN_POSITIVE,
    ];
    let all = (0..=u32::MAX).step_by(STEP).map(f32::from_bits);
    let near = (0..200_000).map(|n| (n - 100_000) as f32 * 1e-3);
    let mut worst = (0.0, 0.0);
    for x in all.chain(near).chain(special) {
        let off = off_in_single(ours(x), wanted(x.into()));
        if off > worst.0 {
            worst = (off, x);
        }
        assert!(
            x != 0.0 || wanted(0.0) != 0.0 || ours(x).is_sign_negative() == x.is_sign_negative(),
            "{name}({x})"
        );
    }
    println!("{name}: {worst:?}");
    assert!(worst.0 <= bound, "{name}({:e}) is {:e}: off by {}", worst.1, ours(worst.1), worst.0);
}

/// Calls a function of slices for one number.
fn one_of(function: fn(&mut [f32], &[f32]), x: f32) -> f32 {
    let mut out = [f32::NAN];
    function(&mut out, &[x]);
    out[0]
}

#[test]
fn angles_have_the_same_results_beside_large_ones() {
    let x: Vec<f32> = (0..600).map(|n| (n - 300) as f32 * 0.37).collect();
    for function in [single::sin_all, single::cos_all] {
        let (mut expected, mut beside) = ([0.0; 600], [0.0; 600]);
        function(&mut expected, &x);
        let mut large = x.clone();
        (large[0], large[599]) = (1e30, f32::NAN);
        function(&mut beside, &large);
        assert_eq!(beside[1..599], expected[1..599]);
        assert!(beside[0].abs() <= 1.0 && beside[599].is_nan());
    }
}

#[test]
fn single_functions_stay_within_their_bounds() {
    check("exp", single::exp, f64::exp, 1.5);
    check("expm1", single::expm1, f64::exp_m1, 2.0);
    check("log", single::log, f64::ln, 1.0);
    check("log2", single::log2, f64::log2, 2.0);
    check("log1p", single::log1p, f64::ln_1p, 1.5);
    check("tanh", single::tanh, f64::tanh, 2.5);
    check("erf", single::erf, libm::erf, 5.0);
    check("erfc", single::erfc, libm::erfc, 5.0);
    check("sin", single::sin, f64::sin, 1.5);
    check("cos", single::cos, f64::cos, 1.5);
    check("sin_all", |x| one_of(single::sin_all, x), f64::sin, 1.5);
    check("cos_all", |x| one_of(single::cos_all, x), f64::cos, 1.5);
    check("rsqrt_all", |x| one_of(single::rsqrt_all, x), |x| x.sqrt().recip(), 2.0);
    check("tan", single::tan, f64::tan, 3.5);
}

/// Computes the error in units in the last place.
fn off_in_double(ours: f64, wanted: f64) -> u64 {
    let order = |x: f64| {
        if x.is_sign_negative() { -(x.abs().to_bits().cast_signed()) } else { x.to_bits().cast_signed() }
    };
    if ours.is_nan() && wanted.is_nan() { 0 } else { order(ours).abs_diff(order(wanted)) }
}

#[test]
fn double_functions_stay_within_their_bounds() {
    type Row = (&'static str, fn(f64) -> f64, fn(f64) -> f64, u64);
    let rows: [Row; 6] = [
        ("exp", double::exp, f64::exp, 1),
        ("expm1", double::expm1, f64::exp_m1, 2),
        ("log", double::log, f64::ln, 1),
        ("log2", double::log2, f64::log2, 2),
        ("log1p", double::log1p, f64::ln_1p, 2),
        ("tanh", double::tanh, f64::tanh, 3),
    ];
    let special = [0.0, -0.0, 1.0, -1.0, f64::INFINITY, -f64::INFINITY, f64::NAN, f64::MAX, f64::MIN, 5e-324];
    // An odd step, so that the fractions differ between exponents.
    let all = (0..=u64::MAX).step_by(0x1_2345_6789_abcd).map(f64::from_bits);
    let near = (0..200_000).map(|n| f64::from(n - 100_000) * 1e-3);
    let all: Vec<f64> = all.chain(near).chain(special).collect();
    for (name, ours, wanted, bound) in rows {
        let worst = all.iter().copied().max_by_key(|&x| off_in_double(ours(x), wanted(x))).unwrap();
        let off = off_in_double(ours(worst), wanted(worst));
        println!("{name}: {off} {worst:e}");
        assert!(off <= bound, "{name}({worst:e}) is {:e}: off by {off}", ours(worst));
    }
}

#[test]
fn powers_stay_within_their_bound() {
    let mut worst = (0.0, 0.0, 0.0);
    let mut test = |x: f32, y: f32| {
        let off = off_in_single(single::pow(x, y), f64::from(x).powf(y.into()));
        if off > worst.0 {
            worst = (off, x, y);
        }
    };
    let special = [
        0.0,
        -0.0,
        0.5,
        1.0,
        -1.0,
        2.0,
        -2.0,
        3.0,
        -3.0,
        0.3,
        -0.3,
        1e9,
        -1e9,
        16_777_215.0,
        f32::INFINITY,
        -f32::INFINITY,
        f32::NAN,
        f32::MAX,
        f32::MIN,
        1e-45,
        -1e-45,
    ];
    for x in special {
        special.into_iter().for_each(|y| test(x, y));
    }
    for x in (0..0x7f80_0000).step_by(STEP).map(f32::from_bits) {
        // Results over the whole range.
        let log = f64::from(x).log2();
        for target in [-140.0, -77.7, -1.3, 0.4, 20.0, 127.4] {
            test(x, (target / log) as f32);
        }
    }
    println!("pow: {worst:?}");
    assert!(worst.0 <= 0.6, "pow({:e}, {:e}) is off by {}", worst.1, worst.2, worst.0);
}
