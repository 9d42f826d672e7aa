//! Padding of tensors.

use super::expect_type;
use super::indexed::{Map, add_back, take};
use crate::attributes::{Pad3dAttributes, Pad3dGradAttributes};
use crate::error::{Error, Result};
use crate::loops::movement;
use crate::tensor::buffer::Buffer;
use crate::tensor::{View, ViewMut};

/// The elements around a tensor.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Mode {
    /// A constant.
    Constant,
    /// The nearest element.
    Replicate,
    /// The elements on the other side.
    Circular,
    /// The elements next to the edge, in reverse order.
    Reflect,
}

impl Mode {
    fn new(name: &str) -> Result<Self> {
        match name {
            "constant" => Ok(Self::Constant),
            "replicate" => Ok(Self::Replicate),
            "circular" => Ok(Self::Circular),
            "reflect" => Ok(Self::Reflect),
            other => Err(Error::Attribute { name: "mode", value: other.to_owned() }),
        }
    }

    /// Maps an index in or around a dimension to the index of its source, or `None` for a constant.
    fn source(self, index: i64, dim: usize) -> Option<usize> {
        let len = dim as i64;
        let inside = match self {
            Self::Constant => return usize::try_from(index).ok().filter(|&index| index < dim),
            Self::Replicate => index.clamp(0, len - 1),
            Self::Circular => index.rem_euclid(len),
            Self::Reflect if index < 0 => -index,
            Self::Reflect if index >= len => 2 * (len - 1) - index,
            Self::Reflect => index,
        };
        usize::try_from(inside).ok()
    }
}

/// Computes the maps of a padded tensor. The paddings are pairs for each dimension; negative ones crop.
fn maps(x: &[usize], out: &[usize], paddings: &[[i64; 2]], mode: Mode) -> Result<Vec<Map>> {
    let mut maps = Vec::with_capacity(x.len());
    let mut expected = Vec::with_capacity(x.len());
    for (&dim, &[before, after]) in x.iter().zip(paddings) {
        let len = (dim as i64).checked_add(before).and_then(|len| len.checked_add(after));
        let refused = || Error::Attribute { name: "paddings", value: format!("[{before}, {after}]") };
        let len = len.and_then(|len| usize::try_from(len).ok()).ok_or_else(refused)?;
        expected.push(len);
        // Checked before the map is built, because the paddings may have any size.
        if out.get(maps.len()) != Some(&len) {
            break;
        }
        let most = before.max(after);
        if len > 0 && (mode == Mode::Reflect && most >= dim as i64 || mode != Mode::Constant && dim == 0) {
            return Err(refused());
        }
        maps.push((0..len).map(|index| mode.source(index as i64 - before, dim)).collect());
    }
    if expected != out {
        return Err(Error::Shape { expected, actual: out.to_vec() });
    }
    Ok(maps)
}

/// Splits a list with two numbers for each dimension into pairs.
fn pairs(rank: usize, paddings: &[i64]) -> Result<Vec<[i64; 2]>> {
    crate::expect_length("paddings", 2 * rank, paddings.len())?;
    Ok(paddings.as_chunks::<2>().0.to_vec())
}

/// Pads a tensor with a value. `paddings` holds the widths before and after each dimension, starting with the
/// first.
///
/// # Errors
/// [`Error::Shape`], [`Error::Length`], [`Error::Type`] if types differ, [`Error::Attribute`] if negative
/// paddings crop
/// more than the dimension.
pub fn pad(out: &mut ViewMut<'_>, x: &View<'_>, paddings: &[i64], value: f64) -> Result<()> {
    border(out, x, &pairs(x.dims().len(), paddings)?, Mode::Constant, value)
}

/// Computes the gradient of [`pad`] with respect to `x`.
///
/// # Errors
/// As [`pad`].
pub fn pad_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, paddings: &[i64]) -> Result<()> {
    let maps = maps(dx.dims(), dout.dims(), &pairs(dx.dims().len(), paddings)?, Mode::Constant)?;
    add_back(dx, dout, &maps)
}

/// Computes the paddings of all dimensions from those of the spatial dimensions, which are given in reverse
/// order.
fn spatial(rank: usize, paddings: &[i64], data_format: &str) -> Result<Vec<[i64; 2]>> {
    let spatial = rank.checked_sub(2).ok_or(Error::Rank { dims: rank, strides: 5 })?;
    let mut pairs = pairs(spatial, paddings)?;
    pairs.reverse();
    let first = match data_format {
        "NCDHW" | "NCHW" | "NCL" => 2,
        "NDHWC" | "NHWC" | "NLC" => 1,
        other => return Err(Error::Attribute { name: "data_format", value: other.to_owned() }),
    };
    let mut all = vec![[0, 0]; rank];
    all[first..first + spatial].copy_from_slice(&pairs);
    Ok(all)
}

/// Pads the spatial dimensions of images with one to three of them.
///
/// `paddings` are left, right, top, bottom, front and back, as far as the dimensions exist. `mode` is
/// `constant`, `reflect` (without the edge), `replicate` or `circular`; `data_format` is `NCDHW`, `NDHWC` or
/// one of their shorter forms.
///
/// # Errors
/// As [`pad`], [`Error::Rank`] for less than two dimensions, [`Error::Attribute`] for an unknown mode or
/// format, and if there are too few elements to reflect or repeat.
pub fn pad3d(out: &mut ViewMut<'_>, x: &View<'_>, with: &Pad3dAttributes<'_>) -> Result<()> {
    let Pad3dAttributes { paddings, mode, pad_value: value, data_format } = *with;
    border(out, x, &spatial(x.dims().len(), paddings, data_format)?, Mode::new(mode)?, value)
}

/// Computes the gradient of [`pad3d`] with respect to `x`.
///
/// # Errors
/// As [`pad3d`].
pub fn pad3d_grad(dx: &mut ViewMut<'_>, dout: &View<'_>, with: &Pad3dGradAttributes<'_>) -> Result<()> {
    let Pad3dGradAttributes { paddings, mode, data_format } = *with;
    let pairs = spatial(dx.dims().len(), paddings, data_format)?;
    let maps = maps(dx.dims(), dout.dims(), &pairs, Mode::new(mode)?)?;
    add_back(dx, dout, &maps)
}

fn border(out: &mut ViewMut<'_>, x: &View<'_>, paddings: &[[i64; 2]], mode: Mode, value: f64) -> Result<()> {
    expect_type(out, x)?;
    let maps = maps(x.dims(), out.dims(), paddings, mode)?;
    let mut missing = Buffer::new(out.dtype(), &[])?;
    if mode == Mode::Constant && value != 0.0 {
        movement::fill(&mut missing.view_mut()?, value)?;
    }
    take(out, x, &maps, &missing.view()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn long_rows_are_padded_and_cropped() {
        let x: Vec<f32> = (0..100).map(|n| n as f32).collect();
        for [before, after] in [[2, 3], [-4, 2], [0, -7], [30, 0]] {
            let width = (50 + before + after) as usize;
            let mut out = vec![f32::NAN; 3 * width];
            let dims = [3, width];
            let input = View::of_slice(&x, &[2, 50]).unwrap();
            let paddings = [1, 0, before, after];
            pad(&mut ViewMut::of_slice(&mut out, &dims).unwrap(), &input, &paddings, 7.0).unwrap();
            for (at, value) in out.into_iter().enumerate() {
                let (row, column) = (at / width, (at % width) as i64 - before);
                let is_inside = row > 0 && (0..50).contains(&column);
                let wanted = if is_inside { x[(row - 1) * 50 + column as usize] } else { 7.0 };
                assert_eq!(value, wanted, "{at}, padded by {before} and {after}");
            }
        }
    }
}
