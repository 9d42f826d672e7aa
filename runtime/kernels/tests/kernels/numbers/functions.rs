//! Functions of numbers, held against tables.
//!
//! Values of special functions are from mpmath with 40 digits.

use std::f64::consts::{LN_2, PI};
use std::num::Wrapping;

use tenon_kernels::numeric::{Floating, Numeric, Whole};

const INF: f64 = f64::INFINITY;
const NAN: f64 = f64::NAN;
/// The constant of Euler and Mascheroni.
const GAMMA: f64 = 0.577_215_664_901_532_9;

/// Compares with a relative tolerance, and below one with an absolute one.
#[track_caller]
fn assert_near(name: &str, x: f64, ours: f64, wanted: f64, tolerance: f64) {
    let near = ours == wanted
        || (ours.is_nan() && wanted.is_nan())
        || (ours - wanted).abs() <= tolerance * wanted.abs().max(1.0);
    assert!(near, "{name}({x}) is {ours:e}, not {wanted:e}");
}

/// A function in both types, and its values.
type Row<'a> = (&'a str, fn(f32) -> f32, fn(f64) -> f64, &'a [(f64, f64)]);

macro_rules! row {
    ($name:ident, $values:expr) => {
        (stringify!($name), <f32 as Floating>::$name, <f64 as Floating>::$name, $values)
    };
}

#[test]
fn functions_of_floats_have_the_values_of_tables() {
    let rows: [Row<'_>; 19] = [
        row!(
            erf,
            &[(0.0, 0.0), (0.5, 0.520_499_877_813_046_5), (-1.0, -0.842_700_792_949_714_9), (INF, 1.0)]
        ),
        row!(erfc, &[(0.0, 1.0), (0.5, 0.479_500_122_186_953_5), (-INF, 2.0), (NAN, NAN)]),
        row!(
            lgamma,
            &[(1.0, 0.0), (0.5, 0.572_364_942_924_700_1), (10.0, 12.801_827_480_081_467), (0.0, INF)]
        ),
        row!(lgamma, &[(-1.0, INF), (-0.5, 1.265_512_123_484_645_4), (INF, INF), (NAN, NAN)]),
        row!(
            digamma,
            &[
                (1.0, -GAMMA),
                (2.0, 1.0 - GAMMA),
                (0.5, -GAMMA - 2.0 * LN_2),
                (1e-3, -1_000.575_571_931_810_3)
            ]
        ),
        row!(
            digamma,
            &[
                (10.0, 2.251_752_589_066_721),
                (0.25, -GAMMA - PI / 2.0 - 3.0 * LN_2),
                (1e15, 34.538_776_394_910_684)
            ]
        ),
        row!(digamma, &[(-0.5, 2.0 - GAMMA - 2.0 * LN_2), (-3.75, -1.6923885983113303), (-1.0, NAN)]),
        row!(digamma, &[(0.0, -INF), (-0.0, INF), (INF, INF), (-INF, NAN), (NAN, NAN)]),
        row!(sigmoid, &[(0.0, 0.5), (1.0, 0.731_058_578_630_004_9), (-INF, 0.0), (INF, 1.0), (NAN, NAN)]),
        row!(softplus, &[(0.0, LN_2), (1000.0, 1000.0), (-1000.0, 0.0), (INF, INF), (-INF, 0.0), (NAN, NAN)]),
        row!(round, &[(0.5, 0.0), (1.5, 2.0), (-2.5, -2.0), (2.6, 3.0), (INF, INF)]),
        row!(rsqrt, &[(4.0, 0.5), (0.0, INF), (INF, 0.0), (-1.0, NAN)]),
        row!(recip, &[(4.0, 0.25), (0.0, INF), (-0.0, -INF)]),
        row!(log1p, &[(0.0, 0.0), (1.0, LN_2), (-1.0, -INF), (-2.0, NAN)]),
        row!(expm1, &[(0.0, 0.0), (LN_2, 1.0), (-INF, -1.0)]),
        row!(acosh, &[(1.0, 0.0), (2.0, 1.316_957_896_924_816_6), (0.5, NAN)]),
        row!(asinh, &[(1.0, 0.881_373_587_019_543), (-INF, -INF)]),
        row!(atanh, &[(0.5, 0.549_306_144_334_054_8), (1.0, INF), (2.0, NAN)]),
        row!(log, &[(1.0, 0.0), (0.0, -INF), (-1.0, NAN)]),
    ];
    for (name, single, double, values) in rows {
        for &(x, wanted) in values {
            assert_near(name, x, double(x), wanted, 2e-15);
            assert_near(name, x, single(x as f32).into(), wanted, 3e-7);
        }
    }
}

#[test]
fn functions_keep_small_results_exact() {
    for (name, ours, wanted) in [
        ("sigmoid", Floating::sigmoid(-700.0), 9.859_676_543_759_77e-305),
        ("softplus", Floating::softplus(-700.0), 9.859_676_543_759_77e-305),
        ("erfc", Floating::erfc(10.0), 2.088_487_583_762_545e-45),
        ("acosh", Floating::acosh(1.0 + 1e-10), 1.414_213_620_867_586_2e-5),
        ("expm1", Floating::expm1(1e-10), 1.000_000_000_05e-10),
    ] {
        assert!((ours / wanted - 1.0_f64).abs() < 1e-12, "{name} is {ours:e}, not {wanted:e}");
    }
}

#[test]
fn digamma_obeys_its_recurrence() {
    for n in 1..4000 {
        let x = f64::from(n) * 0.0137;
        let difference = Floating::digamma(x + 1.0) - Floating::digamma(x);
        assert_near("digamma", x, difference, x.recip(), 4e-15);
    }
}

/// Quotients and remainders of floats: rounded down, towards zero.
#[test]
fn floats_are_divided_as_in_numpy() {
    for (a, b, floor_div, floor_mod, trunc_div, trunc_mod) in [
        (7.0, 2.0, 3.0, 1.0, 3.0, 1.0),
        (-7.0, 2.0, -4.0, 1.0, -3.0, -1.0),
        (7.0, -2.0, -4.0, -1.0, -3.0, 1.0),
        (-7.0, -2.0, 3.0, -1.0, 3.0, -1.0),
        (6.0, 2.0, 3.0, 0.0, 3.0, 0.0),
        (1.0, 0.1, 9.0, 1.0 % 0.1, 10.0, 1.0 % 0.1),
        (1.0, 0.0, INF, NAN, INF, NAN),
        (-1.0, 0.0, -INF, NAN, -INF, NAN),
        (0.0, 0.0, NAN, NAN, NAN, NAN),
        (1.0, INF, 0.0, 1.0, 0.0, 1.0),
        (-1.0, INF, -1.0, INF, 0.0, -1.0),
        (INF, 2.0, NAN, NAN, INF, NAN),
        (NAN, 2.0, NAN, NAN, NAN, NAN),
    ] {
        let same = |ours: f64, wanted: f64| assert_near("division", a, ours, wanted, 0.0);
        same(Numeric::floor_div(a, b), floor_div);
        same(Numeric::floor_mod(a, b), floor_mod);
        same(Numeric::trunc_div(a, b), trunc_div);
        same(Numeric::trunc_mod(a, b), trunc_mod);
    }
}

#[test]
fn integers_are_divided_and_wrap() {
    for (a, b, floor_div, floor_mod, trunc_div, trunc_mod) in [
        (7, 2, 3, 1, 3, 1),
        (-7, 2, -4, 1, -3, -1),
        (7, -2, -4, -1, -3, 1),
        (-7, -2, 3, -1, 3, -1),
        (-6, 2, -3, 0, -3, 0),
        (5, 0, 0, 0, 0, 0),
        (-5, 0, 0, 0, 0, 0),
        (i64::MIN, -1, i64::MIN, 0, i64::MIN, 0),
    ] {
        let (a, b) = (Wrapping(a), Wrapping(b));
        let ours = [a.floor_div(b), a.floor_mod(b), a.trunc_div(b), a.trunc_mod(b)];
        assert_eq!(ours, [floor_div, floor_mod, trunc_div, trunc_mod].map(Wrapping), "{a} {b}");
    }
    for (base, exponent, wanted) in [
        (3, 4, 81),
        (-2, 3, -8),
        (0, 0, 1),
        (2, 64, 0),
        (3, 41, 3_i64.wrapping_pow(41)),
        (2, -1, 0),
        (0, -1, 0),
        (1, -3, 1),
        (-1, -3, -1),
        (-1, -4, 1),
        (-1, i64::MAX, -1),
    ] {
        assert_eq!(Numeric::pow(Wrapping(base), Wrapping(exponent)), Wrapping(wanted), "{base} {exponent}");
    }
    assert_eq!(Numeric::abs(Wrapping(i64::MIN)), Wrapping(i64::MIN));
    assert_eq!(Numeric::clamp(Wrapping(9), Wrapping(1), Wrapping(4)), Wrapping(4));
}

#[test]
fn shifts_by_more_than_the_type_are_as_in_numpy() {
    for (x, count, left, right) in
        [(5, 1, 10, 2), (-5, 1, -10, -3), (5, 64, 0, 0), (-5, 64, 0, -1), (5, -1, 0, 0), (-5, -1, 0, -1)]
    {
        let (x, count) = (Wrapping(x), Wrapping(count));
        assert_eq!(
            (x.shift_left(count), x.shift_right(count)),
            (Wrapping(left), Wrapping(right)),
            "{x} {count}"
        );
    }
    let (a, b) = (Wrapping(0b1100), Wrapping(0b1010));
    assert_eq!([a.bit_and(b), a.bit_or(b), a.bit_xor(b), a.bit_not()], [8, 14, 6, -13].map(Wrapping));
}

#[test]
fn nan_passes_through_comparisons() {
    fn check<T: Numeric + std::fmt::Debug>() {
        let (nan, one, two) = (T::of(NAN), T::of(1.0), T::of(2.0));
        for result in
            [nan.min(one), one.min(nan), nan.max(one), one.max(nan), nan.sign(), nan.clamp(one, two)]
        {
            assert!(result.is_nan() && result.truth(), "{result:?}");
        }
        assert!(one.clamp(nan, two).is_nan() && one.clamp(one, nan).is_nan());
        assert_eq!((one.min(two), one.max(two), two.clamp(two, one)), (one, two, one));
        assert_eq!([T::of(-3.0), T::of(0.0), T::of(0.5)].map(T::sign), [-1.0, 0.0, 1.0].map(T::of));
        assert!(T::of(INF).is_inf() && !T::of(INF).is_finite() && one.is_finite() && !nan.is_finite());
    }
    check::<f32>();
    check::<f64>();
}
