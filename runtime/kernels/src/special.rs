//! Special functions, computed in float64: inverse error function, Bessel, gamma and related functions.

use crate::attributes::RenormAttributes;
use std::f64::consts::PI;

use crate::error::{Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::axis;
use crate::tensor::{View, ViewMut};

fn map(out: &mut ViewMut<'_>, x: &View<'_>, function: impl Fn(f64) -> f64) -> Result<()> {
    expect_shape(x.dims(), out.dims())?;
    with_slices::<f64, 1, 1>([out.reborrow()], [x], |[out], [x]| {
        for (out, &x) in out.iter_mut().zip(x) {
            *out = function(x);
        }
        Ok(())
    })
}

/// Computes the inverse error function. It is infinite at 1 and -1, and NaN beyond.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Type`](crate::Error::Type) if a type is complex.
pub fn erfinv(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    map(out, x, inverse_erf)
}

/// Computes the inverse error function by Winitzki's approximation, followed by Newton steps on the
/// complementary error function, which keeps full precision near 1.
fn inverse_erf(x: f64) -> f64 {
    const A: f64 = 0.147;
    let size = x.abs();
    if size.is_nan() || size > 1.0 {
        return f64::NAN;
    }
    if size == 1.0 || x == 0.0 {
        return if x == 0.0 { x } else { f64::INFINITY.copysign(x) };
    }
    let log = (-size * size).ln_1p();
    let half = 2.0 / (PI * A) + log / 2.0;
    let mut y = ((half * half - log / A).sqrt() - half).sqrt();
    for _ in 0..4 {
        let error = if size < 0.5 { size - libm::erf(y) } else { libm::erfc(y) - (1.0 - size) };
        y += error * PI.sqrt() / 2.0 * (y * y).exp();
    }
    y.copysign(x)
}

/// Computes the modified Bessel function of the first kind of order 0.
///
/// # Errors
/// As [`erfinv`].
pub fn i0(out: &mut ViewMut<'_>, x: &View<'_>) -> Result<()> {
    map(out, x, |x| {
        let square = x * x / 4.0;
        let (mut term, mut sum, mut n) = (1.0, 1.0, 1.0);
        // All terms are positive, so no digits cancel. The result is infinite for arguments of 714 and more.
        while term > sum * f64::EPSILON / 4.0 && sum.is_finite() {
            term *= square / (n * n);
            sum += term;
            n += 1.0;
        }
        if x.is_infinite() { f64::INFINITY } else { sum }
    })
}

/// Computes the polygamma function: the derivative of the digamma function of the given order.
///
/// # Errors
/// As [`erfinv`].
pub fn polygamma(out: &mut ViewMut<'_>, x: &View<'_>, order: i64) -> Result<()> {
    use crate::numeric::Floating;
    map(out, x, |x| match order {
        0 => x.digamma(),
        1.. => {
            // The factorial of 171 is infinite already.
            let factorial: f64 = (1..=order.min(171)).map(|k| k as f64).product();
            let sign = if order % 2 == 0 { -1.0 } else { 1.0 };
            sign * factorial * zeta(order as f64 + 1.0, x)
        }
        _ => f64::NAN,
    })
}

/// Computes the Hurwitz zeta function, `Σ (q + k)^-s`, for an integer `s` of 2 or more.
///
/// The first terms are summed directly, the rest by the Euler–Maclaurin formula (DLMF 25.11.28). Terms with a negative
/// base are those of two sums with positive ones, but for their sign: as many as `q` is below zero may be 2^52.
fn zeta(s: f64, q: f64) -> f64 {
    /// `B_2k / (2k)!`, where `B_2k` are the Bernoulli numbers.
    const COEFFICIENTS: [f64; 6] = [
        1.0 / 12.0,
        -1.0 / 720.0,
        1.0 / 30240.0,
        -1.0 / 1_209_600.0,
        1.0 / 47_900_160.0,
        -691.0 / 1_307_674_368_000.0,
    ];
    if q <= 0.0 && q == q.floor() {
        return f64::INFINITY;
    }
    if q < 0.0 {
        let part = q - q.floor();
        let sign = if s % 2.0 == 0.0 { 1.0 } else { -1.0 };
        return zeta(s, part) + sign * (zeta(s, 1.0 - part) - zeta(s, 1.0 - q));
    }
    let (mut q, mut sum) = (q, 0.0);
    while q < 12.0 {
        sum += q.powf(-s);
        q += 1.0;
    }
    let power = q.powf(-s);
    sum += power * (q / (s - 1.0) + 0.5);
    let mut term = power * s / q;
    for (k, coefficient) in COEFFICIENTS.iter().enumerate() {
        sum += coefficient * term;
        let next = s + 2.0 * k as f64;
        term *= (next + 1.0) * (next + 2.0) / (q * q);
    }
    sum
}

/// Computes the upper incomplete gamma function `Γ(a, x) / Γ(a)`, for two inputs of the same shape.
///
/// # Errors
/// As [`erfinv`].
pub fn gammaincc(out: &mut ViewMut<'_>, a: &View<'_>, x: &View<'_>) -> Result<()> {
    expect_shape(a.dims(), out.dims())?;
    expect_shape(a.dims(), x.dims())?;
    with_slices::<f64, 1, 2>([out.reborrow()], [a, x], |[out], [a, x]| {
        for ((out, &a), &x) in out.iter_mut().zip(a).zip(x) {
            *out = upper_gamma(a, x);
        }
        Ok(())
    })
}

/// Above this parameter, sums of the incomplete gamma function would have thousands of terms.
const LARGE_PARAMETER: f64 = 1e6;

/// Computes the upper incomplete gamma function by the series of the lower one for small `x`, and by Lentz's
/// continued fraction otherwise (DLMF 8.7.1 and 8.9.2). Large parameters have an expansion of their own.
fn upper_gamma(a: f64, x: f64) -> f64 {
    if a.is_nan() || x.is_nan() || a < 0.0 || x < 0.0 || (a == 0.0 && x == 0.0) {
        return f64::NAN;
    }
    if a == 0.0 || x.is_infinite() {
        return 0.0;
    }
    if x == 0.0 || a.is_infinite() {
        return 1.0;
    }
    if a > LARGE_PARAMETER {
        return upper_gamma_of_large(a, x);
    }
    let front = front(a, x);
    if x < a + 1.0 {
        let (mut term, mut sum, mut n) = (1.0 / a, 1.0 / a, a);
        while term > sum * f64::EPSILON / 4.0 {
            n += 1.0;
            term *= x / n;
            sum += term;
        }
        return 1.0 - sum * front;
    }
    let mut b = x + 1.0 - a;
    let (mut c, mut d) = (1.0 / f64::MIN_POSITIVE, 1.0 / b);
    let mut fraction = d;
    for n in 1..10_000 {
        let step = -f64::from(n) * (f64::from(n) - a);
        b += 2.0;
        d = 1.0 / (step * d + b);
        c = b + step / c;
        fraction *= d * c;
        if (d * c - 1.0).abs() < f64::EPSILON {
            break;
        }
    }
    fraction * front
}

/// Computes `(x / a) - 1 - ln(x / a)`.
fn distance(a: f64, x: f64) -> f64 {
    let mu = (x - a) / a;
    if mu.abs() < 0.05 {
        // The difference would lose its digits: the power series of the logarithm.
        mu * mu * (2..16).rev().fold(0.0, |sum, k| f64::from(k).recip() - mu * sum)
    } else {
        mu - mu.ln_1p()
    }
}

/// Computes `x^a e^-x / Γ(a)`; for large parameters by Stirling's formula (DLMF 5.11.1), because a difference of large
/// numbers would lose its digits.
fn front(a: f64, x: f64) -> f64 {
    if a < 100.0 {
        return (a * x.ln() - x - libm::lgamma(a)).exp();
    }
    let stirling = (1.0 / 12.0 - (1.0 / 360.0 - 1.0 / (1260.0 * a * a)) / (a * a)) / a;
    (-a * distance(a, x) - stirling).exp() * (a / (2.0 * PI)).sqrt()
}

/// Computes the upper incomplete gamma function of a large parameter by Temme's expansion (DLMF 8.12.4, 8.12.8 and
/// 8.12.10), in the variable that vanishes at `x = a`. Its second part only counts near there.
fn upper_gamma_of_large(a: f64, x: f64) -> f64 {
    let half_square = distance(a, x);
    let eta = (2.0 * half_square).sqrt().copysign(x - a);
    let first = 0.5 * libm::erfc(eta * (a / 2.0).sqrt());
    if eta.abs() > 0.1 {
        return first;
    }
    let zeroth_order = [-1.0 / 3.0, 1.0 / 12.0, -2.0 / 135.0, 1.0 / 864.0, 1.0 / 2835.0];
    let first_order = [-1.0 / 540.0, -1.0 / 288.0, 1.0 / 378.0];
    let series = |terms: &[f64]| terms.iter().rev().fold(0.0, |sum, term| sum * eta + term);
    let correction = series(&zeroth_order) + series(&first_order) / a;
    first + (-a * half_square).exp() / (2.0 * PI * a).sqrt() * correction
}

/// Scales down the slices of a tensor along a dimension, so that the `p`-norm of each slice is at most
/// `max_norm`.
///
/// # Errors
/// [`Error::Shape`](crate::Error::Shape), [`Error::Axis`](crate::Error::Axis), [`Error::Type`](crate::Error::Type) if a
/// type is complex.
pub fn renorm(out: &mut ViewMut<'_>, x: &View<'_>, with: &RenormAttributes) -> Result<()> {
    let RenormAttributes { p, axis, max_norm } = *with;
    expect_shape(x.dims(), out.dims())?;
    let axis = axis::axis(axis, x.dims().len())?;
    let parts = x.dims()[axis];
    let inner: usize = x.dims()[axis + 1..].iter().product();
    with_slices::<f64, 1, 1>([out.reborrow()], [x], |[out], [x]| {
        let part = |index: usize| index / inner % parts;
        let mut sums = vec![0.0; parts];
        for (index, x) in x.iter().enumerate() {
            sums[part(index)] += x.abs().powf(p);
        }
        let factor = |sum: f64| match sum.powf(1.0 / p) {
            norm if norm > max_norm => max_norm / norm,
            _ => 1.0,
        };
        let factors: Vec<f64> = sums.into_iter().map(factor).collect();
        for (index, (out, x)) in out.iter_mut().zip(x).enumerate() {
            *out = x * factors[part(index)];
        }
        Ok(())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn assert_close(actual: f64, wanted: f64) {
        assert!((actual - wanted).abs() <= 1e-13 * wanted.abs(), "{actual} is not {wanted}");
    }

    /// Compares with values from tables (DLMF, SciPy).
    #[test]
    fn values_are_those_of_tables() {
        assert_close(inverse_erf(0.5), 0.476_936_276_204_469_9);
        assert_close(inverse_erf(-0.9), -1.163_087_153_676_674);
        assert!(inverse_erf(1.5).is_nan());
        assert_close(zeta(2.0, 1.0), PI * PI / 6.0);
        assert_close(zeta(4.0, 1.0), PI.powi(4) / 90.0);
        assert_close(upper_gamma(1.0, 0.5), (-0.5_f64).exp());
        assert_close(upper_gamma(1.0, 5.0), (-5.0_f64).exp());
        assert_close(upper_gamma(0.5, 2.0), libm::erfc(2.0_f64.sqrt()));
        let mut out = [0.0];
        i0(&mut ViewMut::of_slice(&mut out, &[1]).unwrap(), &View::of_slice(&[2.0], &[1]).unwrap()).unwrap();
        assert_close(out[0], 2.279_585_302_336_067);
    }

    /// `Q(a + 1, x) = Q(a, x) + x^a e^-x / Γ(a + 1)` (DLMF 8.8.6) joins both sides of the bound.
    #[test]
    fn incomplete_gamma_functions_of_large_parameters_continue_those_of_small_ones() {
        let a = LARGE_PARAMETER;
        for deviation in [-3.0, -0.5, 0.0, 0.001, 2.0] {
            let x = a + deviation * a.sqrt();
            let step = front(a, x) / a;
            let (below, above) = (upper_gamma(a, x), upper_gamma(a + 1.0, x));
            assert!((above - below - step).abs() < 1e-13, "{deviation}: {below} {above} {step}");
        }
        assert_close(front(100.0, 90.0), (100.0 * 90.0_f64.ln() - 90.0 - libm::lgamma(100.0)).exp());
        assert!((upper_gamma(1e300, 1e300) - 0.5).abs() < 1e-9);
        assert_eq!([upper_gamma(1e18, 1e17), upper_gamma(1e17, 1e18)], [1.0, 0.0]);
    }

    /// `ζ(s, q) = ζ(s, q + 1) + q^-s` (DLMF 25.11.3).
    #[test]
    fn zeta_functions_of_negative_arguments_are_those_of_positive_ones() {
        for s in [2.0, 3.0, 4.0] {
            for q in [-0.25_f64, -1.5, -40.75] {
                let power = q.powi(s as i32).recip();
                assert!((zeta(s, q) - zeta(s, q + 1.0) - power).abs() < 1e-12 * zeta(s, q).abs(), "{s} {q}");
            }
            assert!(zeta(s, -1e15 - 0.5).is_finite());
        }
    }
}
