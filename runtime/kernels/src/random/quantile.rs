//! The normal distribution: probabilities and quantiles.

use std::f64::consts::{PI, SQRT_2};

/// Computes the probability that a number from the standard normal distribution is below `x`.
pub(super) fn probability(x: f64) -> f64 {
    libm::erfc(-x / SQRT_2) / 2.0
}

/// Computes the quantile of the standard normal distribution: the inverse of [`probability`].
///
/// Uses Acklam's rational approximation and one step of Halley's method, which makes it as precise as `erfc`.
pub(super) fn quantile(probability: f64) -> f64 {
    if probability <= 0.0 {
        return f64::NEG_INFINITY;
    }
    if probability >= 1.0 {
        return f64::INFINITY;
    }
    let guess = approximation(probability);
    let error = self::probability(guess) - probability;
    let step = error * (2.0 * PI).sqrt() * (guess * guess / 2.0).exp();
    guess - step / (1.0 + guess * step / 2.0)
}

fn approximation(probability: f64) -> f64 {
    const CENTRE: [f64; 6] = [
        -3.969_683_028_665_376e1,
        2.209_460_984_245_205e2,
        -2.759_285_104_469_687e2,
        1.383_577_518_672_69e2,
        -3.066_479_806_614_716e1,
        2.506_628_277_459_239,
    ];
    const CENTRE_BELOW: [f64; 6] = [
        -5.447_609_879_822_406e1,
        1.615_858_368_580_409e2,
        -1.556_989_798_598_866e2,
        6.680_131_188_771_972e1,
        -1.328_068_155_288_572e1,
        1.0,
    ];
    const TAIL: [f64; 6] = [
        -7.784_894_002_430_293e-3,
        -3.223_964_580_411_365e-1,
        -2.400_758_277_161_838,
        -2.549_732_539_343_734,
        4.374_664_141_464_968,
        2.938_163_982_698_783,
    ];
    const TAIL_BELOW: [f64; 5] = [
        7.784_695_709_041_462e-3,
        3.224_671_290_700_398e-1,
        2.445_134_137_142_996,
        3.754_408_661_907_416,
        1.0,
    ];
    const TAIL_END: f64 = 0.024_25;
    let polynomial = |coefficients: &[f64], x: f64| coefficients.iter().fold(0.0, |sum, c| sum * x + c);
    let tail = |probability: f64| {
        let x = (-2.0 * probability.ln()).sqrt();
        polynomial(&TAIL, x) / polynomial(&TAIL_BELOW, x)
    };
    if probability < TAIL_END {
        tail(probability)
    } else if probability > 1.0 - TAIL_END {
        -tail(1.0 - probability)
    } else {
        let x = probability - 0.5;
        x * polynomial(&CENTRE, x * x) / polynomial(&CENTRE_BELOW, x * x)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn quantiles_invert_probabilities() {
        for n in -60..60 {
            let x = f64::from(n) / 10.0;
            let wanted = if n < 0 { x } else { -x };
            let found = quantile(probability(wanted));
            assert!((found - wanted).abs() < 1e-13 * (1.0 + wanted.abs()), "{found} is not {wanted}");
        }
        for n in 1..100 {
            let p = f64::from(n) / 100.0;
            assert!((probability(quantile(p)) - p).abs() < 1e-15, "{p}");
        }
        assert_eq!((quantile(0.0), quantile(1.0)), (f64::NEG_INFINITY, f64::INFINITY));
    }
}
