//! Frames of a video, shifted in time (Shao et al., "Temporal Interlacing Network", 2020).

use super::image;
use crate::elements::accumulate::with_number;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::{Slot, integers, with_slices};
use crate::tensor::{View, ViewMut};

/// Shifts the frames of groups of channels: `x` is `[batch, frames, channels, pixels]`, `shifts` `[batch, groups]`.
///
/// Frames shifted out of the video are dropped, and frames shifted in are zero. With `back`, the shift is in
/// the opposite direction.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`] also if the number of channels is not a multiple of the number of
/// groups, and [`Error::Type`].
pub fn shift_frames(out: &mut ViewMut<'_>, x: &View<'_>, shifts: &View<'_>, back: bool) -> Result<()> {
    let [batch, frames, channels, pixels] = image(x.dims())?;
    expect_shape(x.dims(), out.dims())?;
    let groups = shifts.dims().get(1).copied().unwrap_or(0);
    expect_shape(&[batch, groups], shifts.dims())?;
    if groups == 0 || !channels.is_multiple_of(groups) {
        return Err(Error::Shape { expected: vec![batch, channels], actual: shifts.dims().to_vec() });
    }
    let shifts = integers(shifts)?;
    with_number!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            for (row, target) in out.chunks_mut(pixels.max(1)).enumerate() {
                let (channel, frame) = (row % channels, row / channels % frames);
                let shift = shifts[row / channels / frames * groups + channel / (channels / groups)];
                let from = if back { (frame as i64).checked_add(shift) } else { (frame as i64).checked_sub(shift) };
                match from.and_then(|from| usize::try_from(from).ok()).filter(|&from| from < frames) {
                    Some(from) => {
                        let source = (row / channels / frames * frames + from) * channels + channel;
                        target.copy_from_slice(&x[source * pixels..][..pixels]);
                    }
                    None => target.fill(T::EMPTY),
                }
            }
            Ok(())
        })
    })
}
