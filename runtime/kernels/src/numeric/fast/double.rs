//! Functions of `f64`.

use super::elementary::elementary;

/// Rounds as the `SHIFT` of `f32` does.
const SHIFT: f64 = 6_755_399_441_055_744.0;
const LN_2: [f64; 2] = [0.693_147_180_369_123_8, 1.908_214_929_270_587_7e-10];
const LOWEST: f64 = -746.0;
const HIGHEST: f64 = 710.0;
const EXP: [f64; 11] = [
    2.082_659_510_729_071_2e-9,
    2.511_206_843_880_969e-8,
    2.755_758_214_419_867e-7,
    2.755_723_477_312_494_2e-6,
    2.480_158_692_601_644_4e-5,
    0.000_198_412_698_964_702_98,
    0.001_388_888_888_911_611_9,
    0.008_333_333_333_317,
    0.041_666_666_666_666_095,
    0.166_666_666_666_666_82,
    0.5,
];
const LOG: [f64; 7] = [
    0.147_960_788_730_341_82,
    0.153_140_383_373_565_42,
    0.181_835_647_751_816_43,
    0.222_221_985_651_175_15,
    0.285_714_287_424_603_05,
    0.399_999_999_994_143_8,
    0.666_666_666_666_673_4,
];

elementary!(f64, i64);

/// Computes the reciprocal of the square root.
#[inline(always)]
pub fn rsqrt(x: f64) -> f64 {
    x.sqrt().recip()
}

/// Computes the reciprocal square roots of a slice. Both slices have the same length.
#[inline(always)]
pub fn rsqrt_all(out: &mut [f64], x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = rsqrt(*x);
    }
}

/// Computes the sines of a slice. Both slices have the same length.
pub fn sin_all(out: &mut [f64], x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = x.sin();
    }
}

/// Computes the cosines of a slice. Both slices have the same length.
pub fn cos_all(out: &mut [f64], x: &[f64]) {
    for (out, x) in out.iter_mut().zip(x) {
        *out = x.cos();
    }
}
