//! Attention masks of pixels (Zhao et al., "PSANet", 2018).

use super::{image, size};
use crate::attributes::PsaMaskAttributes;
use crate::elements::accumulate::with_float;
use crate::error::{Error, Result, expect_shape};
use crate::loops::slices::with_slices;
use crate::tensor::{TensorMeta, View, ViewMut};

/// Computes the shape of the output of [`psa_mask`].
///
/// # Errors
/// [`Error::Rank`].
pub fn psa_mask_shape(x: TensorMeta<'_>, _: &PsaMaskAttributes) -> Result<Vec<usize>> {
    let [batch, _, height, width] = image(x.dims())?;
    Ok(vec![batch, height * width, height, width])
}

/// Spreads the mask of each pixel over the image. A mask holds weights for the window of pixels around its
/// pixel.
///
/// Channel `p` of pixel `q` of the result is the weight for `p` in the mask of `q`, or with `distribute` the
/// weight for `q` in the mask of `p`. It is 0 for a pixel outside the window.
///
/// # Errors
/// [`Error::Rank`], [`Error::Shape`], [`Error::Attribute`] for a size that is not positive, and [`Error::Type`].
pub fn psa_mask(out: &mut ViewMut<'_>, x: &View<'_>, with: &PsaMaskAttributes) -> Result<()> {
    let PsaMaskAttributes { distribute, mask_height, mask_width, half_height, half_width } = *with;
    let rules = Rules::new(x.dims(), distribute, [mask_height, mask_width], [half_height, half_width])?;
    expect_shape(&rules.spread(), out.dims())?;
    expect_shape(&rules.masks(), x.dims())?;
    with_float!(x.dtype(), T => {
        with_slices::<T, 1, 1>([out.reborrow()], [x], |[out], [x]| {
            out.fill(0.0);
            rules.each(|mask, spread| out[spread] = x[mask]);
            Ok(())
        })
    })
}

/// Computes the gradient of [`psa_mask`].
///
/// # Errors
/// As [`psa_mask`].
pub fn psa_mask_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &PsaMaskAttributes) -> Result<()> {
    let PsaMaskAttributes { distribute, mask_height, mask_width, half_height, half_width } = *with;
    let rules = Rules::new(dx.dims(), distribute, [mask_height, mask_width], [half_height, half_width])?;
    expect_shape(&rules.spread(), dout.dims())?;
    expect_shape(&rules.masks(), dx.dims())?;
    with_float!(dx.dtype(), T => {
        with_slices::<T, 1, 1>([dx.reborrow()], [dout], |[dx], [dout]| {
            dx.fill(0.0);
            rules.each(|mask, spread| dx[mask] = dout[spread]);
            Ok(())
        })
    })
}

struct Rules {
    batch: usize,
    image: [usize; 2],
    mask: [usize; 2],
    /// The position of the centre pixel in a mask.
    half: [i64; 2],
    distribute: bool,
}

impl Rules {
    fn new(dims: &[usize], distribute: bool, mask: [i64; 2], half: [i64; 2]) -> Result<Self> {
        let [batch, _, height, width] = image(dims)?;
        let mask = [size("mask_height", mask[0])?, size("mask_width", mask[1])?];
        mask[0].checked_mul(mask[1]).ok_or(Error::Overflow)?;
        Ok(Self { batch, image: [height, width], mask, half, distribute })
    }

    fn masks(&self) -> [usize; 4] {
        [self.batch, self.mask[0] * self.mask[1], self.image[0], self.image[1]]
    }

    fn spread(&self) -> [usize; 4] {
        [self.batch, self.image[0] * self.image[1], self.image[0], self.image[1]]
    }

    /// Calls a function with the position of each weight in the masks and in the result.
    fn each(&self, mut visit: impl FnMut(usize, usize)) {
        let [height, width] = self.image;
        let pixels = height * width;
        for n in 0..self.batch {
            for own in 0..pixels {
                for weight in 0..self.mask[0] * self.mask[1] {
                    let other = |place: usize, from: usize, half: i64, len: usize| {
                        let other = (place as i64 + from as i64).saturating_sub(half);
                        usize::try_from(other).ok().filter(|&other| other < len)
                    };
                    let row = other(weight / self.mask[1], own / width, self.half[0], height);
                    let column = other(weight % self.mask[1], own % width, self.half[1], width);
                    let (Some(row), Some(column)) = (row, column) else { continue };
                    let seen = row * width + column;
                    let (channel, pixel) = if self.distribute { (own, seen) } else { (seen, own) };
                    let mask = (n * self.mask[0] * self.mask[1] + weight) * pixels + own;
                    visit(mask, (n * pixels + channel) * pixels + pixel);
                }
            }
        }
    }
}
