//! Shifts of channels along time.

use super::blocks::{expect_images, layout, positive, quotient};
use super::expect_type;
use crate::attributes::TemporalShiftAttributes;
use crate::error::{Error, Result, expect_shape};
use crate::loops::movement;
use crate::tensor::{View, ViewMut};

/// Shifts channels of videos along time: the first `shift_ratio` of the channels come from the previous
/// frame, and the same number of channels after them from the next frame. There are zeros before the first
/// frame and after the last one.
///
/// The first dimension is the number of videos times `seg_num` frames (Lin et al., "TSM: Temporal shift
/// module", 2019).
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Type`] if types differ, [`Error::Attribute`].
pub fn temporal_shift(out: &mut ViewMut<'_>, x: &View<'_>, with: &TemporalShiftAttributes<'_>) -> Result<()> {
    let TemporalShiftAttributes { seg_num, shift_ratio, data_format } = *with;
    shift(out, x, seg_num, shift_ratio, data_format, 1)
}

/// Computes the gradient of [`temporal_shift`] with respect to `x`: the channels move in the opposite
/// direction.
///
/// # Errors
/// As [`temporal_shift`].
pub fn temporal_shift_grad(
    dx: &mut ViewMut<'_>,
    dout: &View<'_>,
    with: &TemporalShiftAttributes<'_>,
) -> Result<()> {
    let TemporalShiftAttributes { seg_num, shift_ratio, data_format } = *with;
    shift(dx, dout, seg_num, shift_ratio, data_format, -1)
}

fn shift(
    out: &mut ViewMut<'_>,
    x: &View<'_>,
    seg_num: i64,
    shift_ratio: f64,
    data_format: &str,
    frames: isize,
) -> Result<()> {
    expect_type(out, x)?;
    expect_images(x.dims())?;
    expect_shape(x.dims(), out.dims())?;
    if !(0.0..=0.5).contains(&shift_ratio) {
        return Err(Error::Attribute { name: "shift_ratio", value: shift_ratio.to_string() });
    }
    let seg_num = positive("seg_num", seg_num)?;
    let [batch, channel, _, _] = layout(data_format)?;
    let videos = quotient("seg_num", x.dims()[batch], seg_num)?;
    let channels = x.dims()[channel];
    // In float32 as in Paddle, where 0.3 times 10 channels is 3.
    let ends =
        [1.0, 2.0].map(|times| ((channels as f32 * times * shift_ratio as f32) as usize).min(channels));
    let mut memory = None;
    let x = movement::apart(&[out], x, &mut memory)?.split(batch, &[videos, seg_num])?;
    let out = out.reborrow().split(batch, &[videos, seg_num])?;
    let mut out = out;
    for (from, to, frames) in [(0, ends[0], frames), (ends[0], ends[1], -frames), (ends[1], channels, 0)] {
        let part = x.clone().narrow(channel + 1, from, to - from)?;
        let mut target = out.reborrow().narrow(channel + 1, from, to - from)?;
        let by = frames.unsigned_abs().min(seg_num);
        let (first, into) = if frames < 0 { (by, 0) } else { (0, by) };
        movement::zero(&mut target)?;
        let part = part.narrow(batch + 1, first, seg_num - by)?;
        movement::copy(&mut target.narrow(batch + 1, into, seg_num - by)?, &part)?;
    }
    Ok(())
}
