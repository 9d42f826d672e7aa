//! 16-bit floating-point numbers: only what attributes need, which is less than an arithmetic library
//! provides.

/// A float16 number (IEEE 754).
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct F16(u16);

/// A bfloat16 number: the upper half of a float32 number.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
#[repr(transparent)]
pub(crate) struct Bf16(u16);

const FRACTION: u16 = 0x3ff;

impl F16 {
    /// Rounds to the nearest number, ties to even.
    pub(in crate::kernel) fn from_f32(value: f32) -> Self {
        const INFINITY: u32 = 0x7f80_0000;
        let sign = (value.to_bits() >> 16) as u16 & 0x8000;
        let magnitude = value.to_bits() & !(1 << 31);
        let half = match value.abs() {
            _ if magnitude > INFINITY => 0x7e00 | (magnitude >> 13) as u16 & FRACTION,
            65536.0.. => 0x7c00,
            // The exponent has a different bias. The dropped bits determine the rounding, which may carry
            // into the exponent.
            6.103_515_6e-5.. => {
                let rebiased = magnitude - ((127 - 15) << 23);
                ((rebiased + 0xfff + (rebiased >> 13 & 1)) >> 13) as u16
            }
            // Subnormal numbers are multiples of 2^-24.
            small => (small * 16_777_216.0).round_ties_even() as u16,
        };
        Self(sign | half)
    }

    /// Returns the same number in a wider type.
    pub(in crate::kernel) fn to_f64(self) -> f64 {
        let fraction = f64::from(self.0 & FRACTION);
        let magnitude = match i32::from(self.0 >> 10 & 0x1f) {
            0 => fraction * 2_f64.powi(-24),
            31 if fraction == 0.0 => f64::INFINITY,
            31 => f64::NAN,
            exponent => (1024.0 + fraction) * 2_f64.powi(exponent - 25),
        };
        if self.0 >> 15 == 0 { magnitude } else { -magnitude }
    }
}

impl Bf16 {
    /// Rounds to the nearest number, ties to even.
    pub(in crate::kernel) fn from_f32(value: f32) -> Self {
        let bits = value.to_bits();
        Self(if value.is_nan() {
            (bits >> 16) as u16 | 0x40
        } else {
            ((bits + 0x7fff + (bits >> 16 & 1)) >> 16) as u16
        })
    }

    /// Returns the same number in a wider type.
    pub(in crate::kernel) fn to_f64(self) -> f64 {
        f32::from_bits(u32::from(self.0) << 16).into()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_widen_as_those_of_the_library() {
        let same =
            |ours: f64, theirs: f64| ours.to_bits() == theirs.to_bits() || ours.is_nan() && theirs.is_nan();
        for bits in 0..=u16::MAX {
            assert!(same(F16(bits).to_f64(), half::f16::from_bits(bits).to_f64()), "{bits:#x}");
            assert!(same(Bf16(bits).to_f64(), half::bf16::from_bits(bits).to_f64()), "{bits:#x}");
        }
    }

    #[test]
    fn numbers_are_rounded_as_those_of_the_library() {
        let check = |value: f32| {
            assert_eq!(F16::from_f32(value).0, half::f16::from_f32(value).to_bits(), "{value:e}");
            assert_eq!(Bf16::from_f32(value).0, half::bf16::from_f32(value).to_bits(), "{value:e}");
        };
        (0..u32::MAX).step_by(997).map(f32::from_bits).for_each(check);
        // Halfway between two numbers, and next to it.
        for bits in 0..0x7c00_u16 {
            let [low, high] = [bits, bits + 1].map(|bits| half::f16::from_bits(bits).to_f32());
            let middle = if high.is_finite() { low / 2.0 + high / 2.0 } else { 65520.0 };
            [middle, middle.next_up(), middle.next_down(), -middle].into_iter().for_each(check);
        }
    }
}
