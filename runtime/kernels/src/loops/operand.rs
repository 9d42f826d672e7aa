//! Operands of elementwise operators, a tile at a time.

use crate::error::Result;
use crate::loops::convert::{Compute, Reader};
use crate::tensor::View;

/// The elements of an input, broadcast to the shape of the output.
pub(crate) enum Operand<'v, T> {
    /// A slice of all elements, apart from the output.
    Slice(&'v [T]),
    /// The elements of the output before they are written.
    InPlace,
    /// A slice apart from the output. Each element counts for some neighbours, and the slice is repeated.
    Repeated { elements: &'v [T], neighbours: usize },
    /// Elements in any other layout or type.
    Read(Reader<'v, T>),
}

impl<'v, T: Compute> Operand<'v, T> {
    /// Finds how to read an input, broadcast to a shape without zeros, that shares no memory with the output.
    ///
    /// # Errors
    /// [`Error::Broadcast`](crate::Error::Broadcast), [`Error::Type`](crate::Error::Type).
    pub(crate) fn new(input: &View<'v>, out: &[usize]) -> Result<Self> {
        match (input.slice(), neighbours(input.dims(), out)) {
            (Some(elements), _) if input.dims() == out => Ok(Self::Slice(elements)),
            (Some(elements), Some(neighbours)) => Ok(Self::Repeated { elements, neighbours }),
            _ => Reader::new(input, out).map(Self::Read),
        }
    }

    /// Returns the elements from a position on, where the output has some. Others are written to the
    /// tile. `out` has the elements of the output where there are operands in place.
    pub(crate) fn load<'t>(&mut self, start: usize, out: Option<&[T]>, tile: &'t mut [T]) -> &'t [T]
    where
        'v: 't,
    {
        match self {
            Self::Slice(elements) => return &elements[start..][..tile.len()],
            Self::InPlace => tile.copy_from_slice(&out.unwrap_or_default()[start..][..tile.len()]),
            Self::Repeated { elements, neighbours: 1 } => {
                let mut rest = &mut *tile;
                let mut at = start % elements.len();
                while !rest.is_empty() {
                    let (part, behind) = rest.split_at_mut(rest.len().min(elements.len() - at));
                    part.copy_from_slice(&elements[at..][..part.len()]);
                    (rest, at) = (behind, 0);
                }
            }
            Self::Repeated { elements, neighbours } => {
                let (mut rest, mut at) = (&mut *tile, start);
                while !rest.is_empty() {
                    let (part, behind) = rest.split_at_mut(rest.len().min(*neighbours - at % *neighbours));
                    part.fill(elements[at / *neighbours % elements.len()]);
                    at += part.len();
                    rest = behind;
                }
            }
            Self::Read(reader) => reader.read(tile),
        }
        tile
    }
}

/// Returns for how many neighbours each element counts that is broadcast to a shape, if the elements in their order are
/// then repeated as a whole.
fn neighbours(dims: &[usize], out: &[usize]) -> Option<usize> {
    let missing = out.len().checked_sub(dims.len())?;
    let mut pairs = dims.iter().zip(&out[missing..]).rev().peekable();
    let mut neighbours = 1;
    while let Some((_, &wanted)) = pairs.next_if(|(dim, _)| **dim == 1) {
        neighbours *= wanted;
    }
    if pairs.peek().is_none() {
        // There is one element.
        return Some(out.iter().product());
    }
    while pairs.next_if(|(dim, wanted)| dim == wanted).is_some() {}
    pairs.all(|(&dim, _)| dim == 1).then_some(neighbours)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn elements_that_are_repeated_as_a_whole() {
        for (dims, out, expected) in [
            (&[][..], &[2, 3][..], Some(6)),
            (&[3], &[2, 3], Some(1)),
            (&[1], &[2, 3], Some(6)),
            (&[1, 3], &[2, 3], Some(1)),
            (&[2, 1], &[2, 3], Some(3)),
            (&[5, 1, 1], &[2, 5, 3, 4], Some(12)),
            (&[1, 5, 3, 1], &[2, 5, 3, 4], Some(4)),
            (&[2, 1, 3], &[2, 5, 3], None),
            (&[2, 1, 3, 1], &[2, 5, 3, 4], None),
            (&[1, 1, 1], &[1, 1, 1], Some(1)),
        ] {
            assert_eq!(neighbours(dims, out), expected, "{dims:?} in {out:?}");
        }
    }
}
