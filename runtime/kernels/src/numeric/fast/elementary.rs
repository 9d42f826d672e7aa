//! The functions that `f32` and `f64` compute in the same way, each with its own constants.

/// Defines the functions of a floating-point type. The module must define the constants `SHIFT`, `LN_2`,
/// `EXP` and `LOG`, and the range outside which the exponential function is zero or infinite.
macro_rules! elementary {
    ($float:ident, $signed:ident) => {
        /// The number of bits of the fraction.
        const FRACTION: u32 = $float::MANTISSA_DIGITS - 1;
        const BIAS: $signed = $float::MAX_EXP as $signed - 1;

        #[inline(always)]
        pub(super) fn polynomial<const N: usize>(x: $float, factors: [$float; N]) -> $float {
            // A plain loop: the functions of an iterator may not be inlined.
            let (mut sum, mut n) = (factors[0], 1);
            while n < N {
                sum = sum.mul_add(x, factors[n]);
                n += 1;
            }
            sum
        }

        /// Returns `2^n` for exponents of normal numbers.
        #[inline(always)]
        pub(super) fn two_to(n: $signed) -> $float {
            $float::from_bits((n.wrapping_add(BIAS) << FRACTION).cast_unsigned())
        }

        /// Returns `n` and `exp(r) - 1`, where `x - low = n * ln(2) + r` and the absolute value of `r` is at most
        /// `ln(2) / 2`. The number `low` must be small.
        #[inline(always)]
        pub(super) fn reduced(x: $float, low: $float) -> ($signed, $float) {
            // The lowest bits of the sum hold the nearest integer.
            let shifted = x.mul_add(std::$float::consts::LOG2_E, SHIFT);
            let n = shifted - SHIFT;
            let r = n.mul_add(-LN_2[1], n.mul_add(-LN_2[0], x)) - low;
            let power = shifted.to_bits().wrapping_sub(SHIFT.to_bits()).cast_signed();
            (power, (r * r).mul_add(polynomial(r, EXP), r))
        }

        /// Computes the exponential function.
        #[inline(always)]
        pub fn exp(x: $float) -> $float {
            let x = if x < LOWEST { LOWEST } else { x };
            let x = if x > HIGHEST { HIGHEST } else { x };
            let (n, rest) = reduced(x, 0.0);
            // Two factors: a single one would be too small for the smallest results. For NaN, `n` is
            // arbitrary.
            let half = n >> 1;
            (1.0 + rest) * two_to(half) * two_to(n.wrapping_sub(half))
        }

        /// Computes `exp(x) - 1`.
        #[inline(always)]
        pub fn expm1(x: $float) -> $float {
            // For smaller arguments, the result rounds to -1.
            let bounded = if x < -40.0 { -40.0 } else { x };
            let bounded = if bounded > HIGHEST { HIGHEST } else { bounded };
            let (n, rest) = reduced(bounded, 0.0);
            // Half the result, because `2^n` may be infinite where the result is not.
            let scale = two_to(n.wrapping_sub(1));
            let result = scale.mul_add(rest, scale - 0.5) * 2.0;
            if x.abs() < $float::EPSILON / 4.0 { x } else { result }
        }

        /// Returns `e` and the parts of `log(m)`, where `x = 2^e * m` and `m` is between the square roots of
        /// 1/2 and 2: `log(m) = f - (half - low)`.
        #[inline(always)]
        fn logarithm(x: $float) -> ($float, [$float; 3]) {
            const ROOT: $signed = std::$float::consts::FRAC_1_SQRT_2.to_bits().cast_signed();
            let small = x < $float::MIN_POSITIVE;
            let bits = (if small { x * two_to(FRACTION as $signed + 1) } else { x }).to_bits().cast_signed();
            let power = bits.wrapping_sub(ROOT) >> FRACTION;
            let f = $float::from_bits(bits.wrapping_sub(power << FRACTION).cast_unsigned()) - 1.0;
            // The sum converts to floating-point: some processors lack this conversion for vectors of
            // integers.
            let e = $float::from_bits((SHIFT.to_bits().cast_signed() + power).cast_unsigned()) - SHIFT;
            let e = if small { e - (FRACTION as $float + 1.0) } else { e };
            let s = f / (2.0 + f);
            let z = s * s;
            let half = 0.5 * f * f;
            (e, [f, half, s * z.mul_add(polynomial(z, LOG), half)])
        }

        /// Replaces the logarithms of numbers without a finite logarithm.
        #[inline(always)]
        fn with_limits(x: $float, finite: $float) -> $float {
            let limit = if x == 0.0 { -$float::INFINITY } else { $float::NAN };
            let limit = if x == $float::INFINITY { x } else { limit };
            if x > 0.0 && x < $float::INFINITY { finite } else { limit }
        }

        /// Computes the natural logarithm.
        #[inline(always)]
        pub fn log(x: $float) -> $float {
            let (e, [f, half, low]) = logarithm(x);
            with_limits(x, e.mul_add(LN_2[0], f - (half - e.mul_add(LN_2[1], low))))
        }

        /// Computes the logarithm to base 2.
        #[inline(always)]
        pub fn log2(x: $float) -> $float {
            let (e, [f, half, low]) = logarithm(x);
            with_limits(x, (f - (half - low)).mul_add(std::$float::consts::LOG2_E, e))
        }

        /// Computes `log(1 + x)`.
        #[inline(always)]
        pub fn log1p(x: $float) -> $float {
            let sum = 1.0 + x;
            // The rounding error of the sum.
            let lost = if x > 1.0 { 1.0 - (sum - x) } else { x - (sum - 1.0) };
            let (e, [f, half, low]) = logarithm(sum);
            let low = low + e.mul_add(LN_2[1], lost / sum);
            let result = e.mul_add(LN_2[0], f - (half - low));
            with_limits(sum, if x == 0.0 { x } else { result })
        }

        /// Computes the hyperbolic tangent.
        #[inline(always)]
        pub fn tanh(x: $float) -> $float {
            // For larger arguments, the result rounds to 1.
            let bounded = if x.abs() > 20.0 { 20.0 } else { x.abs() };
            let power = expm1(2.0 * bounded);
            (power / (power + 2.0)).copysign(x)
        }
    };
}
pub(super) use elementary;
